//! Generated programs mean the same with and without the optimizer, and their code verifies.
//!
//! The generator is seeded, so that a failure names the seed that shows it again. Programs are
//! typed loosely: most run to the end, some raise; what they display before an error counts too.

mod support;

use std::fmt::Write;

use canny_compiler::disassemble::disassemble_unit;
use canny_compiler::optimize;
use support::{compile, machine};

/// Xorshift: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Integer,
    List,
    /// A procedure of so many integers that gives an integer.
    Procedure(usize),
}

struct Generator {
    random: Random,
    variables: Vec<(String, Type)>,
    count: usize,
    /// Globals defined so far.
    fuel: usize,
}

impl Generator {
    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    fn variable(&mut self, wanted: Type) -> Option<String> {
        let fitting: Vec<&String> = self
            .variables
            .iter()
            .filter(|(_, kind)| *kind == wanted)
            .map(|(name, _)| name)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        Some(fitting[self.random.below(fitting.len())].clone())
    }

    fn scoped<T>(&mut self, new: Vec<(String, Type)>, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.variables.len();
        self.variables.extend(new);
        let result = body(self);
        self.variables.truncate(before);
        result
    }

    fn spend(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0
    }

    fn integer(&mut self, depth: usize) -> String {
        if depth == 0 || !self.spend() {
            return match self.variable(Type::Integer) {
                Some(name) if self.random.chance(70) => name,
                _ => (self.random.below(7) as i64 - 2).to_string(),
            };
        }
        let d = depth - 1;
        match self.random.below(24) {
            0 => format!("(+ {} {})", self.integer(d), self.integer(d)),
            1 => format!("(- {} {})", self.integer(d), self.integer(d)),
            2 => format!(
                "(* {} {} {})",
                self.integer(d),
                self.integer(d),
                self.integer(0)
            ),
            3 => format!(
                "(if {} {} {})",
                self.test(d),
                self.integer(d),
                self.integer(d)
            ),
            4 => format!("(begin (display {}) {})", self.integer(d), self.integer(d)),
            5 => format!("(car {})", self.list(d)),
            6 => format!("(length {})", self.list(d)),
            7 | 8 => {
                let (name, init) = (self.fresh(), self.integer(d));
                let body = self.scoped(vec![(name.clone(), Type::Integer)], |g| g.integer(d));
                format!("(let (({name} {init})) {body})")
            }
            9 => {
                let (a, b) = (self.fresh(), self.fresh());
                let (x, y) = (self.integer(d), self.integer(d));
                let new = vec![(a.clone(), Type::Integer), (b.clone(), Type::Integer)];
                let body = self.scoped(new, |g| g.integer(d));
                format!("(let (({a} {x}) ({b} {y})) {body})")
            }
            10 | 11 => {
                let arity = self.random.below(3);
                let name = self.fresh();
                let procedure = self.procedure(arity, d);
                let new = vec![(name.clone(), Type::Procedure(arity))];
                let body = self.scoped(new, |g| g.integer(d));
                format!("(let (({name} {procedure})) {body})")
            }
            12..=14 => {
                let arity = self.random.below(3);
                let operator = match self.variable(Type::Procedure(arity)) {
                    Some(name) if self.random.chance(85) => name,
                    _ => self.procedure(arity, d),
                };
                let mut text = format!("({operator}");
                for _ in 0..arity {
                    let _ = write!(text, " {}", self.integer(d));
                }
                text + ")"
            }
            15 => match self.variable(Type::Integer) {
                Some(name) => {
                    format!(
                        "(begin (set! {name} {}) {})",
                        self.integer(d),
                        self.integer(d)
                    )
                }
                None => self.integer(d),
            },
            16 | 17 => self.counted_loop(d),
            18 => {
                let (a, b) = (self.fresh(), self.fresh());
                let values = self.two_values(d);
                let new = vec![(a.clone(), Type::Integer), (b.clone(), Type::Integer)];
                let body = self.scoped(new, |g| g.integer(d));
                if self.random.chance(50) {
                    format!("(let-values ({a} {b}) {values} {body})")
                } else {
                    format!("(call-with-values (lambda () {values}) (lambda ({a} {b}) {body}))")
                }
            }
            19 => {
                let (f, g, n) = (self.fresh(), self.fresh(), self.fresh());
                let new = vec![(n.clone(), Type::Integer)];
                let (x, y) = self.scoped(new, |g| (g.integer(d), g.integer(d)));
                let start = self.random.below(5);
                format!(
                    "(letrec (({f} (lambda ({n}) (if (> {n} 0) ({g} (- {n} 1)) {x}))) ({g} (lambda ({n}) (if \
                     (> {n} 0) ({f} (- {n} 1)) {y})))) ({f} {start}))"
                )
            }
            20 => format!("(apply {} {})", "+", self.list(d)),
            21 => {
                let (a, b) = (self.fresh(), self.fresh());
                let x = self.integer(d);
                let new = vec![(a.clone(), Type::Integer)];
                let y = self.scoped(new.clone(), |g| g.procedure(0, d));
                let new = vec![(a.clone(), Type::Integer), (b.clone(), Type::Procedure(0))];
                let body = self.scoped(new, |g| g.integer(d));
                format!("(letrec* (({a} {x}) ({b} {y})) {body})")
            }
            22 if self.random.chance(20) => "(car '())".to_owned(),
            _ => format!("(or {} {})", self.maybe(d), self.integer(d)),
        }
    }

    /// An integer or `#f`.
    fn maybe(&mut self, depth: usize) -> String {
        format!("(and {} {})", self.test(depth), self.integer(depth))
    }

    fn counted_loop(&mut self, depth: usize) -> String {
        let (name, index, sum) = (self.fresh(), self.fresh(), self.fresh());
        let start = self.integer(depth);
        let new = vec![(index.clone(), Type::Integer), (sum.clone(), Type::Integer)];
        let (step, last) = self.scoped(new, |g| (g.integer(depth), g.integer(depth)));
        let limit = self.random.below(4);
        format!(
            "(let {name} (({index} 0) ({sum} {start})) (if (< {index} {limit}) ({name} (+ {index} 1) {step}) \
             {last}))"
        )
    }

    fn two_values(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        match self.random.below(3) {
            0 => format!(
                "(if {} {} {})",
                self.test(d),
                self.pair_of_values(d),
                self.pair_of_values(d)
            ),
            1 => {
                let (name, init) = (self.fresh(), self.integer(d));
                let new = vec![(name.clone(), Type::Integer)];
                let body = self.scoped(new, |g| g.pair_of_values(d));
                format!("(let (({name} {init})) {body})")
            }
            _ => self.pair_of_values(d),
        }
    }

    fn pair_of_values(&mut self, depth: usize) -> String {
        format!("(values {} {})", self.integer(depth), self.integer(depth))
    }

    fn test(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        if depth == 0 || !self.spend() {
            return if self.random.chance(50) { "#t" } else { "#f" }.to_owned();
        }
        match self.random.below(10) {
            0 => format!("(< {} {})", self.integer(d), self.integer(d)),
            1 => format!("(= {} {})", self.integer(d), self.integer(d)),
            2 => format!("(null? {})", self.list(d)),
            3 => format!("(not {})", self.test(d)),
            4 => format!("(and {} {})", self.test(d), self.test(d)),
            5 => format!("(or {} {})", self.test(d), self.test(d)),
            6 => format!("(memv {} '(0 1 2))", self.integer(d)),
            7 => format!("(if {} {} {})", self.test(d), self.test(d), self.test(d)),
            8 => format!("(eqv? {} {})", self.integer(d), self.random.below(3)),
            _ => format!("(even? {})", self.integer(d)),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        if depth == 0 || !self.spend() {
            return "'(1 2)".to_owned();
        }
        match self.random.below(6) {
            0 => format!("(cons {} {})", self.integer(d), self.list(d)),
            1 => format!("(list {} {})", self.integer(d), self.integer(d)),
            2 => format!("(if {} {} {})", self.test(d), self.list(d), self.list(d)),
            3 => {
                let (name, init) = (self.fresh(), self.list(d));
                let body = self.scoped(vec![(name.clone(), Type::List)], |g| g.list(d));
                format!("(let (({name} {init})) {body})")
            }
            4 => self
                .variable(Type::List)
                .unwrap_or_else(|| "'(3)".to_owned()),
            _ => format!("(reverse {})", self.list(d)),
        }
    }

    fn procedure(&mut self, arity: usize, depth: usize) -> String {
        if self.random.chance(25)
            && let Some(name) = self.variable(Type::Procedure(arity))
        {
            return name;
        }
        let names: Vec<String> = (0..arity).map(|_| self.fresh()).collect();
        let new = names
            .iter()
            .map(|name| (name.clone(), Type::Integer))
            .collect();
        let body = self.scoped(new, |g| g.integer(depth.saturating_sub(1)));
        format!("(lambda ({}) {body})", names.join(" "))
    }

    fn program(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.random.below(5) {
            self.fuel = 40;
            let name = self.fresh();
            if self.random.chance(60) {
                let arity = self.random.below(3);
                let names: Vec<String> = (0..arity).map(|_| self.fresh()).collect();
                let new = names
                    .iter()
                    .map(|name| (name.clone(), Type::Integer))
                    .collect();
                let body = self.scoped(new, |g| g.integer(4));
                let parameters: String = names.iter().map(|name| format!(" {name}")).collect();
                let _ = writeln!(text, "(define ({name}{parameters}) {body})");
                self.variables.push((name, Type::Procedure(arity)));
            } else {
                let _ = writeln!(text, "(define {name} {})", self.integer(3));
                self.variables.push((name, Type::Integer));
            }
        }
        self.fuel = 60;
        let _ = writeln!(text, "{}", self.integer(6));
        text
    }
}

fn outcome(text: &str, passes: optimize::Options) -> (String, String) {
    let compilation = compile(text, passes);
    let (output, result) = machine::run(&compilation.unit);
    let end = match result {
        Ok(value) => value,
        Err(message) => format!("error: {message}"),
    };
    (
        format!("{output}|{end}"),
        disassemble_unit(&compilation.unit),
    )
}

#[test]
fn optimized_programs_mean_the_same() {
    let count = std::env::var("CANNY_FUZZ_COUNT").map_or(1500, |text| {
        text.parse().expect("CANNY_FUZZ_COUNT wants a number")
    });
    let first = std::env::var("CANNY_FUZZ_SEED").map_or(1, |text| {
        text.parse().expect("CANNY_FUZZ_SEED wants a number")
    });
    for seed in first..first + count {
        let mut generator = Generator {
            random: Random((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            variables: Vec::new(),
            count: 0,
            fuel: 0,
        };
        generator.random.next();
        let text = generator.program();
        let (plain, _) = outcome(&text, optimize::Options::none());
        let (optimized, listing) = outcome(&text, optimize::Options::default());
        // Stopping the optimizer anywhere must leave a correct program.
        let few = optimize::Options {
            limit: Some(seed as u64 % 40),
            ..Default::default()
        };
        let (partly, _) = outcome(&text, few);
        // A loop that does not end is cut off at different places.
        if plain.contains("too many steps") || optimized.contains("too many steps") {
            continue;
        }
        assert_eq!(plain, partly, "seed {seed}, few steps\n{text}");
        assert_eq!(plain, optimized, "seed {seed}\n{text}\n{listing}");
    }
}
