//! Random programs whose values change kind after their code is hot.
//!
//! A program has *places* (globals, fields, elements, captured variables …), procedures that read them,
//! a procedure `entry` that is called often, and parts. The first part warms the code up; between
//! parts, or at some count within one, places get values of other kinds. Each line of output begins
//! with the program's tag.
//!
//! Every program ends: loops and recursion count with numbers that no place holds, procedures call
//! earlier ones only, and closures that are kept call nothing. The work of one call of `entry` is
//! bounded by [`COST_MAX`].

mod constructs;
mod kinds;
mod operations;
mod places;
mod procedures;

use std::fmt::Write;

use super::random::Random;
use kinds::Kind;
use places::Place;
use procedures::Procedure;

/// The start of every program, or of every batch of them.
pub const PRELUDE: &str = include_str!("prelude.scm");

/// Calls of procedures in one call of `entry`, at most, about.
const COST_MAX: usize = 60;

/// One program, in pieces, so that many can share a file.
pub struct Program {
    pub tag: u64,
    /// Forms that come first.
    pub definitions: String,
    /// The program's work, part by part.
    pub parts: Vec<String>,
}

/// Where warming up ends, and how it is called.
struct Schedule {
    warm: usize,
    probe: usize,
    /// Errors are caught for each call, not for a whole part.
    catches_each: bool,
}

pub struct Writer {
    random: Random,
    tag: u64,
    /// Counts calls of `entry`.
    now: String,
    names: usize,
    places: Vec<Place>,
    procedures: Vec<Procedure>,
    /// Forms that come before what is being written.
    definitions: Vec<String>,
    /// Local variables.
    scope: Vec<(String, Kind)>,
    generic: Option<String>,
    calls_nothing: bool,
    /// How often what is being written runs in one call.
    multiplier: usize,
    /// Calls that what is being written makes.
    cost: usize,
    warm: usize,
}

/// The program of a seed and a number; all its global names end with the tag.
pub fn program(seed: u64, case: u64) -> Program {
    let mut random = Random::new(seed ^ 0xf11b5, case);
    let warm = Pace::of(case).warm_calls(&mut random);
    let writer = Writer {
        random,
        tag: case,
        now: format!("now-{case}"),
        names: 0,
        places: Vec::new(),
        procedures: Vec::new(),
        definitions: Vec::new(),
        scope: Vec::new(),
        generic: None,
        calls_nothing: false,
        multiplier: 1,
        cost: 0,
        warm,
    };
    writer.program()
}

/// Programs of one pace follow each other, so many at a time.
const PACE_LENGTH: u64 = 100;

/// How soon a program's values flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// After as many calls as make code worth compiling.
    Hot,
    /// After a few calls: for modes that compile whatever ran twice.
    Eager,
}

impl Pace {
    /// That of a program, by its number.
    pub fn of(case: u64) -> Pace {
        match case / PACE_LENGTH % 2 {
            0 => Pace::Hot,
            _ => Pace::Eager,
        }
    }

    /// Calls that code is warmed up with: near the count that compiles it, or well above.
    fn warm_calls(self, random: &mut Random) -> usize {
        match (self, random.below(20)) {
            (Pace::Hot, 0) => 800 + random.below(1500),
            (Pace::Hot, 1 | 2) => 330 + random.below(400),
            (Pace::Hot, 3..=7) => 210 + random.below(120),
            (Pace::Hot, _) => 150 + random.below(60),
            (Pace::Eager, 0) => 100 + random.below(3900),
            (Pace::Eager, 1 | 2) => 60 + random.below(200),
            (Pace::Eager, _) => 8 + random.below(50),
        }
    }
}

impl Writer {
    /// A kind for what stands somewhere within: mostly that of a place.
    fn any_kind(&mut self) -> Kind {
        match self.random.below(5) {
            0 | 1 => Kind::usual(&mut self.random),
            _ => {
                let index = self.random.below(self.places.len());
                self.places[index].kind
            }
        }
    }

    /// A fresh global name.
    fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}-{}", self.names, self.tag)
    }

    /// A fresh local name.
    fn local(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    /// Writes something in the scope of a variable.
    fn with<T>(&mut self, variable: (String, Kind), write: impl FnOnce(&mut Writer) -> T) -> T {
        self.scope.push(variable);
        let written = write(self);
        self.scope.pop();
        written
    }

    /// Writes something that runs so many times.
    fn times<T>(&mut self, times: usize, write: impl FnOnce(&mut Writer) -> T) -> T {
        self.multiplier *= times;
        let written = write(self);
        self.multiplier /= times;
        written
    }

    /// An expression whose value has the kind as long as nothing flips.
    fn expression(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.random.once_in(5) {
            return self.leaf(kind);
        }
        match self.random.below(10) {
            0..=3 => self.construct(kind, depth),
            4..=6 => self.operation(kind, depth),
            7 => self.element(kind, depth),
            _ => self.call(kind, depth),
        }
    }

    /// A variable, a place or a literal.
    fn leaf(&mut self, kind: Kind) -> String {
        let choice = self.random.below(10);
        if choice < 4 {
            let fitting = |(_, known): &&(String, Kind)| *known == kind;
            let locals: Vec<&String> = self
                .scope
                .iter()
                .filter(fitting)
                .map(|(name, _)| name)
                .collect();
            if !locals.is_empty() {
                return (*self.random.choose(&locals)).clone();
            }
        }
        if choice < 9 {
            let places: Vec<&String> = self
                .places
                .iter()
                .filter(|place| place.kind == kind)
                .map(|place| &place.read)
                .collect();
            if !places.is_empty() {
                return (*self.random.choose(&places)).clone();
            }
        }
        match kind {
            Kind::Boolean => self.test(),
            _ => kind.literal(&mut self.random),
        }
    }

    /// A question whose answer may change with what flips, or when it does.
    fn test(&mut self) -> String {
        let place = &self.places[self.random.below(self.places.len())];
        match self.random.below(8) {
            0 | 1 => format!("(not {})", place.read),
            2 | 3 => format!("(if {} #t #f)", place.read),
            4 => format!("(even? {})", self.now),
            5 | 6 => format!("(< {} {})", self.now, self.warm + self.random.below(3)),
            _ => Kind::Boolean.literal(&mut self.random),
        }
    }

    /// Stores a value in a place of its kind and reads it again.
    fn store(&mut self, kind: Kind, value: &str) -> Option<String> {
        let fitting: Vec<usize> = (0..self.places.len())
            .filter(|index| self.places[*index].kind == kind)
            .collect();
        if fitting.is_empty() || self.calls_nothing {
            return None;
        }
        let place = &self.places[*self.random.choose(&fitting)];
        Some(format!(
            "(begin {} {})",
            place.set(&format!("(bound {value})")),
            place.read
        ))
    }

    /// A global variable that is a place, and its kind.
    fn variable(&mut self) -> Option<(String, Kind)> {
        let variables: Vec<(String, Kind)> = self
            .places
            .iter()
            .filter(|place| place.is_variable)
            .map(|place| (place.read.clone(), place.kind))
            .collect();
        (!variables.is_empty()).then(|| self.random.choose(&variables).clone())
    }

    /// A form that flips a place, once, at some count, in the midst of what runs.
    fn tick(&mut self) -> String {
        if self.places.is_empty() || self.calls_nothing {
            return "(if #f #f)".to_owned();
        }
        let index = self.random.below(self.places.len());
        let (first, second) = (self.flip(index), self.flip_back(index));
        let name = self.name("tick");
        let at = self.warm + self.random.below(12);
        let at = if self.random.once_in(4) { at / 2 } else { at };
        let back = match self.random.below(3) {
            0 => format!(
                "\n(if (= {} {}) {second})",
                self.now,
                at + 1 + self.random.below(3)
            ),
            _ => String::new(),
        };
        self.definitions.push(format!(
            "(define ({name}) (if (= {} {at}) {first}){back})",
            self.now
        ));
        format!("({name})")
    }

    /// A form that gives a place a value of another kind.
    fn flip(&mut self, index: usize) -> String {
        let kind = Kind::unusual(&mut self.random);
        let value = kind.literal(&mut self.random);
        self.places[index].set(&value)
    }

    fn flip_back(&mut self, index: usize) -> String {
        let kind = self.places[index].kind;
        let value = kind.literal(&mut self.random);
        self.places[index].set(&value)
    }

    fn program(mut self) -> Program {
        // Most are small, so that many can be run.
        let is_small = !self.random.once_in(4);
        for _ in 0..1 + self.random.below(if is_small { 2 } else { 4 }) {
            let place = self.place();
            self.definitions.push(place.definition.clone());
            self.places.push(place);
        }
        for _ in 0..1 + self.random.below(if is_small { 2 } else { 5 }) {
            self.procedure();
        }
        let schedule = Schedule {
            warm: self.warm,
            probe: 3 + self.random.below(12),
            catches_each: self.random.once_in(2),
        };
        self.driver(&schedule);
        let parts = self.parts(&schedule);
        let mut definitions = format!("(define {} 0)\n", self.now);
        for definition in &self.definitions {
            definitions.push_str(definition);
            definitions.push('\n');
        }
        let tag = self.tag;
        // In a body its globals are local, captured variables.
        let in_body = self.random.once_in(5);
        if in_body && !definitions.contains("define-generic") && !redefines(&parts) {
            return in_a_body(tag, &definitions, &parts);
        }
        Program {
            tag,
            definitions,
            parts,
        }
    }

    /// The loop that calls `entry`, again and again.
    fn driver(&mut self, schedule: &Schedule) {
        let tag = self.tag;
        self.cost = 0;
        let kind = self.any_kind();
        let depth = 1 + self.random.below(3);
        let body = self.with(("i".to_owned(), Kind::Fixnum), |writer| {
            writer.entry_body(kind, depth)
        });
        self.definitions
            .push(format!("(define (entry-{tag} i)\n  {body})"));
        let now = &self.now;
        let call = if schedule.catches_each {
            format!("(note {tag} (try (entry-{tag} i)))")
        } else {
            format!("(note {tag} (entry-{tag} i))")
        };
        let run = match self.random.below(4) {
            0 => format!(
                "(define (run-{tag} from to)\n  (do ((i from (+ i 1))) ((= i to))\n    (set! {now} i)\n    \
                 {call}))"
            ),
            1 => format!(
                "(define (run-{tag} from to)\n  (if (< from to)\n      (let ((i from))\n        (set! {now} \
                 i)\n        {call}\n        (run-{tag} (+ from 1) to))))"
            ),
            2 => format!(
                "(define (run-{tag} from to)\n  (let loop ((i from) (value #f))\n    (if (< i to)\n        \
                 (begin (set! {now} i) (loop (+ i 1) {call}))\n        value)))"
            ),
            // Counts what is true, as in the program that found the first fault of this sort.
            _ => format!(
                "(define (step-{tag} i n) (set! {now} i) (if (entry-{tag} i) n (+ n 1)))\n\
                 (define (loop-{tag} i to n) (if (= i to) n (loop-{tag} (+ i 1) to (step-{tag} i n))))\n\
                 (define (run-{tag} from to)\n  (note {tag} (try (loop-{tag} from to 0))))"
            ),
        };
        self.definitions.push(run);
    }

    /// Calls the procedures, so that none is left out.
    fn entry_body(&mut self, kind: Kind, depth: usize) -> String {
        let mut body = String::new();
        let count = self.procedures.len();
        for index in 0..count {
            let is_last = index + 1 == count;
            if is_last || !self.random.once_in(4) {
                let call = self.call_of(index, 1);
                if is_last && self.random.once_in(2) {
                    return format!("{body}{call}");
                }
                // The result is noted now and then, not only thrown away.
                let _ = match self.random.below(3) {
                    0 => write!(body, "(note {} {call})\n  ", self.tag),
                    1 => write!(body, "(if {call} #t (note {} i))\n  ", self.tag),
                    _ => write!(body, "{call}\n  "),
                };
            }
        }
        let value = self.expression(kind, depth);
        format!("{body}{value}")
    }

    fn parts(&mut self, schedule: &Schedule) -> Vec<String> {
        let tag = self.tag;
        let mut parts = Vec::new();
        let mut at = 0;
        let mut run = |changes: &str, count: usize| {
            let run = if schedule.catches_each {
                format!("(run-{tag} {at} {})", at + count)
            } else {
                format!("(note {tag} (try (run-{tag} {at} {})))", at + count)
            };
            at += count;
            parts.push(format!("{changes}(begin-part)\n{run}\n(end-part {tag})\n"));
        };
        run("", schedule.warm);
        for _ in 0..1 + self.random.below(3) {
            let changes = self.changes();
            run(&changes, schedule.probe);
            match self.random.below(6) {
                // Everything back.
                0 => {
                    let back: String = (0..self.places.len())
                        .map(|index| format!("{}\n", self.flip_back(index)))
                        .collect();
                    run(&back, schedule.probe);
                }
                // Hot again with what came.
                1 => run("", schedule.warm),
                _ => {}
            }
        }
        parts
    }

    /// Forms that flip places, or redefine procedures.
    fn changes(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.random.below(2) {
            let redefines = self.random.once_in(6);
            let form = if self.procedures.is_empty() || !redefines {
                let index = self.random.below(self.places.len());
                let place = &self.places[index];
                if place.is_variable && self.random.once_in(6) {
                    let kind = Kind::unusual(&mut self.random);
                    let value = kind.literal(&mut self.random);
                    format!("(define {} {value})", self.places[index].read)
                } else {
                    self.flip(index)
                }
            } else {
                self.redefinition()
            };
            text.push_str(&form);
            text.push('\n');
        }
        text
    }
}

/// A program whose globals are variables of one body.
fn in_a_body(tag: u64, definitions: &str, parts: &[String]) -> Program {
    let mut text = format!("(define parts-{tag}\n(let ()\n{definitions}(list\n");
    for part in parts {
        let _ = writeln!(text, "(lambda ()\n{part})");
    }
    text.push_str(")))\n");
    let called = (0..parts.len()).map(|index| format!("((list-ref parts-{tag} {index}))\n"));
    Program {
        tag,
        definitions: text,
        parts: called.collect(),
    }
}

/// Whether a part defines something anew, which bodies cannot.
fn redefines(parts: &[String]) -> bool {
    parts
        .iter()
        .any(|part| part.starts_with("(define") || part.contains("\n(define"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(case: u64) -> String {
        let program = program(3, case);
        format!("{}{}", program.definitions, program.parts.concat())
    }

    #[test]
    fn programs_depend_on_nothing_but_the_seed() {
        for case in 0..200 {
            assert_eq!(text(case), text(case));
        }
    }

    #[test]
    fn global_names_end_with_the_tag() {
        for case in 0..200 {
            for line in text(case)
                .lines()
                .filter(|line| line.starts_with("(define "))
            {
                let name = line["(define ".len()..].trim_start_matches('(');
                let name = name.split([' ', ')']).next().unwrap_or("");
                let tag = format!("-{case}");
                let holds = name.ends_with(&tag) || name.contains(&format!("{tag}-"));
                assert!(holds, "{name} in program {case}");
            }
        }
    }

    #[test]
    fn every_program_flips_something_after_warming_up() {
        for case in 0..200 {
            let program = program(3, case);
            assert!(program.parts.len() > 1, "program {case}");
            let all = text(case);
            // One of them counts the calls.
            let changes = all.matches("set").count();
            assert!(changes > 1 || redefines(&program.parts), "{all}");
        }
    }

    #[test]
    fn places_of_every_sort_and_values_of_every_kind_occur() {
        let all: String = (0..600).map(text).collect();
        let wanted = [
            "(set! c1-",
            "(set-point-x! c",
            "(vector-set! c",
            "(set-car! c",
            "(set-car! (cdr c",
            "(set-box! c",
            "(hash-table-set! c",
            "-set! ",
            "-more (lambda",
            "(string-set! c",
            "(f64vector-set! c",
            "call/cc",
            "call/ec",
            "dynamic-wind",
            "raise-continuable",
            "values",
            "apply",
            "case-lambda",
            "#:optional",
            "#:key",
            ". rest",
            "parameterize",
            "fluid-let",
            "vector-map",
            "for-each",
            "define-generic",
            "(tick",
        ];
        for what in wanted {
            assert!(all.contains(what), "{what}");
        }
        for kind in kinds::KINDS {
            let occurs = kind.literals().iter().any(|literal| all.contains(literal));
            assert!(occurs, "{kind:?}");
        }
    }
}
