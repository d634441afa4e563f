//! Random programs with many kinds of scopes: loops, closures, assigned and captured variables, local
//! procedures, continuations, handlers. Every program ends: calls use up fuel.
//!
//! `(tick)` is called here and there. When it was called often, so that code is hot, it calls `(%late)`.

use std::fmt::Write as _;

/// The program of a seed. It becomes hot if `ticks` are many.
pub fn program(seed: u64, ticks: u64) -> String {
    let mut generator = Generator {
        state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d,
        names: 0,
        procedures: 0,
    };
    for _ in 0..4 {
        generator.next();
    }
    let mut text = format!(
        "(import (scheme base))\n\
         (define fuel 0)\n(define clock 0)\n(define total 0)\n\
         (define (tick) (set! clock (+ clock 1)) (if (= clock {ticks}) (%late)))\n\
         (define (clip x) (cond ((not (number? x)) 1) ((> x 1000000) (/ x 1048576.0)) \
         ((< x -1000000) 3) (else x)))\n"
    );
    let count = 2 + generator.below(4);
    for _ in 0..count {
        let definition = generator.procedure();
        text.push_str(&definition);
        generator.procedures += 1;
    }
    let _ = write!(
        text,
        "(define (drive n)\n  (let loop ((i 0))\n    (if (< i n)\n      (begin\n        \
         (set! fuel 60)\n        \
         (set! total (clip (+ total (f{last} i (* 0.5 i)))))\n        (loop (+ i 1))))))\n\
         (define (turn) (if (< clock {end}) (begin (drive 10) (set! clock (+ clock 1)) (turn))))\n(turn)\n",
        last = count - 1,
        end = ticks + 20,
    );
    text
}

struct Generator {
    state: u64,
    names: usize,
    procedures: usize,
}

impl Generator {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 11
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        let stem = ["x", "y", "n", "acc", "v"][self.below(5)];
        // A name may hide another one.
        format!("{stem}{}", self.names % 7)
    }

    fn procedure(&mut self) -> String {
        let mut scope = vec!["a".to_owned(), "b".to_owned()];
        let number = self.procedures;
        let mut text = format!(
            "(define (f{number} a b)\n  (tick)\n  (if (< fuel 0) (clip (+ a b))\n    (let ()\n\
             (set! fuel (- fuel 1))\n"
        );
        text = text.replace("(let ()\n", "(begin\n");
        let body = self.body(4, &mut scope);
        let _ = writeln!(text, "{body})))");
        text
    }

    /// A body with definitions.
    fn body(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        match self.below(4) {
            0 => {
                self.names += 1;
                // A definition must not see itself.
                let name = format!("d{}", self.names);
                let value = self.number(depth - 1, scope);
                let helper = format!("h{}", self.below(3));
                let parameter = self.fresh();
                scope.push(name.clone());
                scope.push(parameter.clone());
                let inner = self.number(depth - 1, scope);
                scope.pop();
                let used = self.number(depth - 1, scope);
                let other = self.number(depth - 1, scope);
                format!(
                    "(let ()\n(define {name} {value})\n(define ({helper} {parameter})\n{inner})\n\
                     (set! {name} (clip {used}))\n(clip (+ ({helper} {name})\n ({helper} {other}))))"
                )
            }
            _ => self.number(depth, scope),
        }
    }

    fn variable(&mut self, scope: &[String]) -> String {
        // Inner ones more often.
        let back = self.below(scope.len()).min(self.below(scope.len()));
        scope[scope.len() - 1 - back].clone()
    }

    /// A variable that may be assigned: counters may not, since loops end.
    fn assignable(&mut self, scope: &[String]) -> String {
        let is_counter = |name: &String| name == "i" || name == "j";
        let others = scope.iter().filter(|name| !is_counter(name)).cloned();
        self.variable(&others.collect::<Vec<_>>())
    }

    fn simple(&mut self, scope: &[String]) -> String {
        match self.below(8) {
            0 => format!("{}", self.below(100)),
            1 => format!("{}.5", self.below(10)),
            _ => self.variable(scope),
        }
    }

    fn test(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let (a, b) = (self.number(depth, scope), self.simple(scope));
        let relation = ["<", ">", "="][self.below(3)];
        format!("({relation} {a} {b})")
    }

    /// An expression whose value is a number.
    fn number(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        if depth == 0 {
            return self.simple(scope);
        }
        let before = scope.len();
        let text = match self.below(24) {
            0..=2 => {
                let operator = ["+", "-", "*"][self.below(3)];
                let (a, b) = (self.number(depth - 1, scope), self.number(depth - 1, scope));
                format!("(clip ({operator} {a} {b}))")
            }
            3..=5 => self.binding(depth, scope),
            6 | 7 => self.looping(depth, scope),
            8 => self.recursion(depth, scope),
            9 | 10 => self.assignment(depth, scope),
            11 | 12 => self.closure(depth, scope),
            13 | 14 => self.mapping(depth, scope),
            15 => self.escape(depth, scope),
            16 => self.generator(depth, scope),
            17 => self.handler(depth, scope),
            18 => {
                let test = self.test(depth - 1, scope);
                let (a, b) = (self.number(depth - 1, scope), self.number(depth - 1, scope));
                format!("(if {test}\n{a}\n{b})")
            }
            19 => {
                let (x, y) = ("p".to_owned(), "q".to_owned());
                let (a, b) = (self.number(depth - 1, scope), self.number(depth - 1, scope));
                scope.extend([x, y]);
                let body = self.number(depth - 1, scope);
                format!("(let-values (((p q) (values {a} {b})))\n{body})")
            }
            20 => {
                let name = self.fresh();
                let (a, b) = (self.number(depth - 1, scope), self.number(depth - 1, scope));
                scope.push(name.clone());
                let body = self.number(depth - 1, scope);
                format!(
                    "(let (({name} (list {a} {b})))\n(clip (+ (car {name}) \
                     (let (({name} (cadr {name}))) {body}))))"
                )
            }
            _ if self.procedures > 0 => {
                let number = self.below(self.procedures);
                let (a, b) = (self.number(depth - 1, scope), self.number(depth - 1, scope));
                format!("(f{number} {a}\n{b})")
            }
            _ => self.binding(depth, scope),
        };
        scope.truncate(before);
        text
    }

    fn binding(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let kind = ["let", "let*"][self.below(2)];
        let (first, second) = (self.fresh(), self.fresh());
        let a = self.number(depth - 1, scope);
        let b = self.number(depth - 1, scope);
        scope.push(first.clone());
        let second = if second == first {
            "other".to_owned()
        } else {
            second
        };
        scope.push(second.clone());
        let body = self.number(depth - 1, scope);
        format!("({kind} (({first} {a})\n({second} {b}))\n{body})")
    }

    fn looping(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let (i, acc) = ("i".to_owned(), self.fresh());
        let (count, start) = (1 + self.below(3), self.number(depth - 1, scope));
        scope.extend([i, acc.clone()]);
        let next = self.number(depth - 1, scope);
        match self.below(2) {
            0 => {
                let other = self.number(depth - 1, scope);
                format!(
                    "(do ((i 0 (+ i 1))\n({acc} {start} (clip {next})))\n((= i {count}) {acc})\n{other})"
                )
            }
            _ => format!(
                "(let loop ((i 0)\n({acc} {start}))\n(if (= i {count})\n{acc}\n\
                 (loop (+ i 1)\n(clip {next}))))"
            ),
        }
    }

    /// A loop that is not one, since its frames remain.
    fn recursion(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let (count, start) = (1 + self.below(3), self.number(depth - 1, scope));
        let acc = self.fresh();
        scope.extend(["j".to_owned(), acc.clone()]);
        let next = self.number(depth - 1, scope);
        let rest = self.number(depth - 1, scope);
        format!(
            "(let again ((j {count})\n({acc} {start}))\n(if (= j 0)\n{acc}\n\
             (clip (+ (again (- j 1)\n{next})\n{rest}))))"
        )
    }

    fn assignment(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let name = self.assignable(scope);
        let value = self.number(depth - 1, scope);
        let after = self.number(depth - 1, scope);
        format!("(begin (set! {name} {value})\n{after})")
    }

    fn closure(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let name = self.fresh();
        let argument = self.number(depth - 1, scope);
        let other = self.number(depth - 1, scope);
        scope.push(name.clone());
        let body = self.body(depth.max(2) - 1, scope);
        format!("(let ((g (lambda ({name})\n{body})))\n(clip (+ (g {argument})\n(g {other}))))")
    }

    fn mapping(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let name = self.fresh();
        let (a, b) = (self.number(depth - 1, scope), self.simple(scope));
        match self.below(3) {
            0 => {
                scope.push(name.clone());
                let body = self.number(depth - 1, scope);
                format!("(clip (apply + (map (lambda ({name})\n{body})\n(list {a} {b} 1))))")
            }
            1 => {
                let target = self.assignable(scope);
                scope.push(name.clone());
                let body = self.number(depth - 1, scope);
                format!(
                    "(begin (for-each (lambda ({name})\n(set! {target} (clip {body})))\n\
                     (list {a} {b}))\n{target})"
                )
            }
            _ => {
                let sum = "sum".to_owned();
                scope.extend([sum, name.clone()]);
                let body = self.number(depth - 1, scope);
                format!(
                    "(let ((sum 0))\n(vector-for-each (lambda ({name})\n(set! sum (clip (+ sum {body}))))\n\
                     (vector {a} {b}))\nsum)"
                )
            }
        }
    }

    fn escape(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let value = self.number(depth - 1, scope);
        let test = self.test(depth - 1, scope);
        let body = self.number(depth - 1, scope);
        match self.below(2) {
            0 => format!("(call/cc (lambda (k)\n(clip (+ {body} (if {test} (k {value}) 1)))))")
                .replace("call/cc", "call-with-current-continuation"),
            _ => format!(
                "(let ((in 0))\n(dynamic-wind\n(lambda () (set! in (+ in 1)))\n(lambda ()\n{body})\n\
                 (lambda () (set! in {value}))))"
            ),
        }
    }

    /// Returns several times.
    fn generator(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let value = self.number(depth - 1, scope);
        let name = self.fresh();
        scope.push(name.clone());
        let rest = self.number(depth - 1, scope);
        format!(
            "(let ((back #f) (times 0))\n(let (({name} (call-with-current-continuation (lambda (c)\n\
             (set! back c)\n{value}))))\n(set! times (+ times 1))\n\
             (if (< times 3)\n(back (clip (+ {name} {rest})))\n(clip (+ {name} times)))))"
        )
    }

    fn handler(&mut self, depth: usize, scope: &mut Vec<String>) -> String {
        let value = self.number(depth - 1, scope);
        let test = self.test(depth - 1, scope);
        scope.push("e".to_owned());
        let handled = self.number(depth - 1, scope);
        scope.pop();
        let body = self.number(depth - 1, scope);
        match self.below(2) {
            0 => format!("(guard (e (#t {handled}))\n(if {test} (raise {value}) {body}))"),
            _ => format!(
                "(with-exception-handler\n(lambda (e)\n{handled})\n(lambda ()\n\
                 (clip (+ {body} (if {test} (raise-continuable {value}) 2)))))"
            ),
        }
    }
}
