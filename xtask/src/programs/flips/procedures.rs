//! Generates procedures and their calls: parameter lists, recursion and size.
//!
//! Recursion is counted down and so always ends. Sizes lie on both sides of the inlining limit. A
//! redefinition gives a procedure another body while callers are hot.

use super::kinds::{KINDS, Kind};
use super::{COST_MAX, Writer};

/// The beginning of the step that calls twice.
const DOUBLED: &str = "(let* ((r";

/// How a procedure takes arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Plain,
    /// The last may be left out.
    Optional,
    /// The last is one of a list of rest arguments.
    Rest,
    /// The last is named `#:key`.
    Keyword,
    /// `case-lambda`, with a clause that leaves the last out.
    Cases,
    /// The first counts down.
    Counted,
}

#[derive(Clone)]
pub struct Procedure {
    name: String,
    shape: Shape,
    parameters: Vec<Kind>,
    result: Kind,
    cost: usize,
    /// Calls itself twice each time.
    doubles: bool,
}

impl Writer {
    /// Writes a procedure and takes it up.
    pub fn procedure(&mut self) {
        let count = self.random.below(4);
        let parameters: Vec<Kind> = (0..count).map(|_| self.any_kind()).collect();
        let result = match parameters.first() {
            Some(kind) if self.random.once_in(3) => *kind,
            _ => self.result_kind(),
        };
        let shape = match self.random.below(12) {
            0 if count > 0 => Shape::Optional,
            1 if count > 0 => Shape::Rest,
            2 if count > 0 => Shape::Keyword,
            3 if count > 0 => Shape::Cases,
            4..=7 => Shape::Counted,
            _ => Shape::Plain,
        };
        let name = self.name("p");
        let procedure = Procedure {
            name,
            shape,
            parameters,
            result,
            cost: 1,
            doubles: false,
        };
        let (text, cost) = self.definition(&procedure);
        let doubles = text.contains(DOUBLED);
        self.definitions.push(text);
        self.procedures.push(Procedure {
            cost,
            doubles,
            ..procedure
        });
    }

    /// The kind of a place mostly: what a procedure gives then flips with it.
    fn result_kind(&mut self) -> Kind {
        match self.random.below(4) {
            0 => self.any_kind(),
            _ => {
                let index = self.random.below(self.places.len());
                self.places[index].kind
            }
        }
    }

    fn definition(&mut self, procedure: &Procedure) -> (String, usize) {
        let names: Vec<String> = procedure
            .parameters
            .iter()
            .map(|_| self.local("a"))
            .collect();
        let scope = names
            .iter()
            .cloned()
            .zip(procedure.parameters.iter().copied());
        let outer = std::mem::replace(&mut self.scope, scope.collect());
        let cost_before = std::mem::take(&mut self.cost);
        let text = match procedure.shape {
            Shape::Counted => self.counted(procedure, &names),
            _ => {
                let depth = 1 + self.random.below(4);
                let body = self.expression(procedure.result, depth);
                let body = self.enlarged(body);
                with_shape(procedure, &names, &body, &self.leaf_of_last(procedure))
            }
        };
        self.scope = outer;
        let cost = 1 + std::mem::replace(&mut self.cost, cost_before);
        (text, cost)
    }

    fn leaf_of_last(&mut self, procedure: &Procedure) -> String {
        match procedure.parameters.last() {
            Some(kind) => {
                let outer = std::mem::take(&mut self.scope);
                let leaf = self.leaf(*kind);
                self.scope = outer;
                leaf
            }
            None => String::new(),
        }
    }

    /// Now and then a body becomes too large to be inlined, by code that never runs.
    fn enlarged(&mut self, body: String) -> String {
        if !self.random.once_in(4) {
            return body;
        }
        let mut junk = String::new();
        for _ in 0..3 + self.random.below(12) {
            let kind = *self.random.choose(KINDS);
            let leaf = self.leaf(kind);
            junk.push_str(&format!(" (note 'never {leaf})"));
        }
        format!("(if (< {} 0) (begin{junk}) {body})", self.now)
    }

    /// A procedure that calls itself, and where it takes turns with another.
    fn counted(&mut self, procedure: &Procedure, names: &[String]) -> String {
        let name = &procedure.name;
        let result = procedure.result;
        let base = match self.random.below(3) {
            0 => self.expression(result, 2),
            _ => self.leaf(result),
        };
        self.scope.push(("n".to_owned(), Kind::Fixnum));
        let multiplier = 4;
        let arguments: Vec<String> = procedure
            .parameters
            .iter()
            .zip(names)
            .map(|(kind, name)| match self.random.below(3) {
                0 => self.times(multiplier, |writer| writer.expression(*kind, 1)),
                _ => name.clone(),
            })
            .collect();
        let parameters = spaced(names);
        let arguments = spaced(&arguments);
        let turns = self.random.below(6);
        let other = format!("{name}-b");
        let callee = match turns {
            0 => other.clone(),
            _ => name.clone(),
        };
        let call = format!("({callee} (- n 1){arguments})");
        let step = self.times(multiplier, |writer| writer.step(procedure, &call));
        self.scope.pop();
        let body = self.enlarged(format!("(if (= n 0)\n      {base}\n      {step})"));
        let mut text = format!("(define ({name} n{parameters})\n  {body})");
        if turns == 0 {
            let base = match self.random.below(2) {
                0 => kind_literal(self, result),
                _ => self.leaf(result),
            };
            let step = match self.random.below(3) {
                0 => format!("({name} (- n 1){parameters})"),
                1 => format!("(let ((r ({name} (- n 1){parameters}))) r)"),
                _ => format!("(car (list ({name} (- n 1){parameters})))"),
            };
            text.push_str(&format!(
                "\n(define ({other} n{parameters})\n  (if (= n 0)\n      {base}\n      {step}))"
            ));
        }
        text
    }

    /// The use of a recursive call's value in a procedure.
    fn step(&mut self, procedure: &Procedure, call: &str) -> String {
        let kind = procedure.result;
        match self.random.below(16) {
            0 | 1 => call.to_owned(),
            2..=4 => format!("(let ((r {call})) r)"),
            5 => format!("(let ((r {call})) (if r r {}))", self.leaf(kind)),
            6 | 7 => {
                let rest = self.with(("r".to_owned(), kind), |writer| writer.expression(kind, 2));
                format!("(let ((r {call})) {rest})")
            }
            8 => {
                let any = self.any_kind();
                let used = self.with(("r".to_owned(), kind), |writer| writer.expression(any, 2));
                format!("(let ((r {call})) {used} r)")
            }
            9 => {
                let tick = self.tick();
                format!("(let ((r {call})) {tick} r)")
            }
            10 => {
                let tick = self.tick();
                format!("(begin {tick} {call})")
            }
            11 => format!("(car (cons {call} 1))"),
            12 => format!("{DOUBLED} {call}) (twice {call})) (if r twice r))"),
            13 if kind.is_number() => format!("(+ {call} {})", self.leaf(kind)),
            14 => format!("(guard (e ((string? e) e)) {call})"),
            15 => format!("(call/ec (lambda (k) (k {call})))"),
            _ => format!("(let ((r {call})) (note 'r 1) r)"),
        }
    }

    /// A call of a procedure whose result has the kind, if there is one that is not too much work.
    pub fn call(&mut self, kind: Kind, depth: usize) -> String {
        let fitting: Vec<usize> = (0..self.procedures.len())
            .filter(|index| self.procedures[*index].result == kind)
            .collect();
        if fitting.is_empty() || self.calls_nothing {
            return self.construct_or_leaf(kind, depth);
        }
        let index = *self.random.choose(&fitting);
        self.call_of(index, depth.saturating_sub(1))
    }

    fn construct_or_leaf(&mut self, kind: Kind, depth: usize) -> String {
        match depth {
            0 | 1 => self.leaf(kind),
            _ => self.construct(kind, depth - 1),
        }
    }

    /// A call of a procedure.
    pub fn call_of(&mut self, index: usize, depth: usize) -> String {
        let procedure = self.procedures[index].clone();
        let deep = match self.random.below(8) {
            0 if !procedure.doubles => 8 + self.random.below(40),
            _ => 1 + self.random.below(5),
        };
        let runs = match procedure.shape {
            Shape::Counted if procedure.doubles => procedure.cost << deep,
            Shape::Counted => procedure.cost * deep.min(5),
            _ => procedure.cost,
        };
        let cost = runs * self.multiplier;
        if self.cost + cost > COST_MAX && self.cost > 0 {
            return self.leaf(procedure.result);
        }
        self.cost += cost;
        let mut arguments: Vec<String> = procedure
            .parameters
            .iter()
            .map(|kind| self.expression(*kind, depth))
            .collect();
        let name = &procedure.name;
        let leaves_out = self.random.once_in(2);
        match procedure.shape {
            Shape::Plain => format!("({name}{})", spaced(&arguments)),
            Shape::Counted => format!("({name} {deep}{})", spaced(&arguments)),
            Shape::Optional | Shape::Cases => {
                if leaves_out {
                    arguments.pop();
                }
                format!("({name}{})", spaced(&arguments))
            }
            Shape::Rest => {
                if leaves_out {
                    arguments.push(self.random.below(9).to_string());
                }
                format!("({name}{})", spaced(&arguments))
            }
            Shape::Keyword => {
                let last = arguments.pop().unwrap_or_default();
                if leaves_out {
                    format!("({name}{})", spaced(&arguments))
                } else {
                    format!("({name}{} #:key {last})", spaced(&arguments))
                }
            }
        }
    }

    /// A procedure gets another body, whose result is of another kind.
    pub fn redefinition(&mut self) -> String {
        let index = self.random.below(self.procedures.len());
        let was = self.procedures[index].clone();
        let names: Vec<String> = was.parameters.iter().map(|_| self.local("a")).collect();
        let kind = Kind::unusual(&mut self.random);
        let value = match (names.first(), self.random.once_in(3)) {
            (Some(name), true) => name.clone(),
            _ => kind_literal(self, kind),
        };
        let default = kind_literal(self, kind);
        let shaped = match was.shape {
            Shape::Counted => format!("(define ({} n{}) {value})", was.name, spaced(&names)),
            _ => with_shape(&was, &names, &value, &default),
        };
        match (was.shape, self.random.once_in(2)) {
            (Shape::Plain, true) => {
                format!("(set! {} (lambda ({}) {value}))", was.name, names.join(" "))
            }
            (Shape::Counted, true) => {
                format!("(set! {} (lambda (n{}) {value}))", was.name, spaced(&names))
            }
            _ => shaped,
        }
    }
}

fn kind_literal(writer: &mut Writer, kind: Kind) -> String {
    kind.literal(&mut writer.random)
}

/// A definition in a shape; `default` stands for the last argument where it is left out.
fn with_shape(procedure: &Procedure, names: &[String], body: &str, default: &str) -> String {
    let name = &procedure.name;
    let Some((last, before)) = names.split_last() else {
        return format!("(define ({name})\n  {body})");
    };
    let required = spaced(before);
    match procedure.shape {
        Shape::Plain | Shape::Counted => format!("(define ({name}{})\n  {body})", spaced(names)),
        Shape::Optional => {
            format!("(define* ({name}{required} #:optional ({last} {default}))\n  {body})")
        }
        Shape::Keyword => format!(
            "(define* ({name}{required} #:key (key {default}))\n  (let (({last} key)) {body}))"
        ),
        Shape::Rest => format!(
            "(define ({name}{required} . rest)\n  (let (({last} (if (pair? rest) (car rest) {default}))) \
             {body}))"
        ),
        Shape::Cases => format!(
            "(define {name}\n  (case-lambda\n    (({}) ({name}{required} {default}))\n    (({}) {body})))",
            before.join(" "),
            names.join(" ")
        ),
    }
}

/// Words with a space before each.
fn spaced(words: &[String]) -> String {
    words.iter().map(|word| format!(" {word}")).collect()
}
