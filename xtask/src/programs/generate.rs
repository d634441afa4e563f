//! Random programs.
//!
//! A program is a set of global procedures that call those defined before them, and a driver that calls
//! each of them many times with arguments whose types change on the way. Expressions are generated for
//! a wanted type, so that most of what a program does succeeds; now and then another type is taken, and
//! the error that follows is caught and printed. Loops count, recursion is bounded by a counter, and
//! numbers are kept from growing without bound, so every program ends.

use std::fmt::Write;

use super::random::Random;

/// Types that expressions are generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Integer,
    Double,
    Number,
    /// An inexact complex number.
    Complex,
    Boolean,
    List,
    Vector,
    Text,
    Character,
    /// A procedure from one number to a number.
    Function,
    Point,
}

const TYPES: &[Type] = &[
    Type::Integer,
    Type::Integer,
    Type::Integer,
    Type::Double,
    Type::Number,
    Type::Complex,
    Type::Boolean,
    Type::List,
    Type::Vector,
    Type::Text,
    Type::Character,
    Type::Function,
    Type::Point,
];

/// The start of every program. `clip` keeps numbers small enough, `try` prints errors.
const PRELUDE: &str = "\
(import (scheme base) (scheme write) (scheme char) (scheme complex) (scheme inexact) (scheme case-lambda))
(define-record-type point (make-point x y) point? (x point-x set-point-x!) (y point-y))
(define total 0)
(define counter 0)
(define (clip n)
  (cond ((not (number? n)) 0)
        ((not (real? n)) 1)
        ((and (inexact? n) (not (= n n))) 0.5)
        ((> n 1e15) (if (exact? n) (modulo n 1000003) 1e3))
        ((< n -1e15) (if (exact? n) (modulo n 1000033) -1e3))
        ((and (exact? n) (not (integer? n))) (floor n))
        (else n)))
(define (apply-1 f x) (clip (f x)))
(define (spread f items) (clip (apply f items)))
(define (spread-behind f x items) (clip (apply f x items)))
(define (first-of x . others) (if (pair? others) (clip (car others)) x))
(define (count-of . items) (length items))
(define (fold-left-1 f start items)
  (let loop ((value start) (items items))
    (if (pair? items) (loop (clip (f value (car items))) (cdr items)) value)))
(define (note value)
  (set! counter (+ counter 1))
  (when (= 0 (modulo counter 37)) (write value) (newline))
  (when (real? value) (set! total (clip (+ total value))))
  value)
(define-syntax try
  (syntax-rules ()
    ((_ body)
     (guard (e ((error-object? e)
                (set! counter (+ counter 1))
                (when (= 0 (modulo counter 11))
                  (display (error-object-message e)) (write (error-object-irritants e)) (newline))
                0)
               (else (write (list 'raised e)) (newline) 1))
       body))))
";

struct Procedure {
    name: String,
    parameters: Vec<Type>,
    result: Type,
    /// How many of the parameters may be left out.
    optional: usize,
}

struct Generator {
    random: Random,
    procedures: Vec<Procedure>,
    names: usize,
    /// Variables in scope.
    scope: Vec<(String, Type)>,
    /// Variables that may be assigned.
    mutable: Vec<(String, Type)>,
    /// An escape procedure in scope.
    escapes: Vec<String>,
}

/// The program of a seed and a number.
pub fn program(seed: u64, case: u64) -> String {
    let mut generator = Generator {
        random: Random::new(seed, case),
        procedures: Vec::new(),
        names: 0,
        scope: Vec::new(),
        mutable: Vec::new(),
        escapes: Vec::new(),
    };
    let mut text = format!(";; Program {case} of seed {seed}.\n{PRELUDE}");
    let count = 2 + generator.random.below(6);
    for index in 0..count {
        let definition = generator.procedure(index);
        text.push_str(&definition);
    }
    if generator.random.once_in(2) {
        let definitions = generator.float_family();
        text.push_str(&definitions);
    }
    text.push_str(&generator.driver());
    text
}

impl Generator {
    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn any_type(&mut self) -> Type {
        *self.random.choose(TYPES)
    }

    fn procedure(&mut self, index: usize) -> String {
        let count = self.random.below(4);
        let parameters: Vec<Type> = (0..count).map(|_| self.any_type()).collect();
        let result = self.any_type();
        let optional = if count > 0 && self.random.once_in(5) {
            1
        } else {
            0
        };
        let name = format!("p{index}");
        let names: Vec<String> = (0..count).map(|_| self.fresh("a")).collect();
        self.scope = names
            .iter()
            .cloned()
            .zip(parameters.iter().copied())
            .collect();
        self.mutable.clear();
        self.escapes.clear();
        let mut text = String::new();
        if self.random.once_in(3) {
            text.push_str(&self.recursive(&name, &names, result));
        } else if optional == 1 {
            let last = parameters[count - 1];
            let default = self.expression(last, 2);
            let body = self.expression(result, 5);
            let (required, left_out) = names.split_at(count - 1);
            let _ = write!(
                text,
                "(define {name}\n  (case-lambda\n    (({}) ({name} {} {default}))\n    (({})\n     \
                 {body})))\n",
                required.join(" "),
                required.join(" "),
                names.join(" "),
            );
            // The default stands where the last parameter is not bound.
            if default.contains(&left_out[0]) {
                text = text.replacen(&default, &literal(last), 1);
            }
        } else {
            let body = self.expression(result, 6);
            let _ = write!(text, "(define ({name} {})\n  {body})\n", names.join(" "));
        }
        let is_optional = text.contains("case-lambda\n    ((");
        self.procedures.push(Procedure {
            name,
            parameters,
            result,
            optional: if is_optional { 1 } else { 0 },
        });
        text
    }

    /// A procedure that calls itself, not in tail position, with a counter that goes down.
    fn recursive(&mut self, name: &str, names: &[String], result: Type) -> String {
        let step = self.fresh("step");
        let depth = self.fresh("depth");
        let limit = 3 + self.random.below(12);
        let base = self.expression(result, 2);
        self.scope.push((depth.clone(), Type::Integer));
        let arguments: Vec<String> = self
            .scope
            .clone()
            .iter()
            .take(names.len())
            .map(|(_, ty)| self.expression(*ty, 2))
            .collect();
        let value = self.fresh("r");
        self.scope.push((value.clone(), result));
        let combined = self.expression(result, 3);
        self.scope.truncate(names.len());
        let names = names.join(" ");
        format!(
            "(define ({name} {names})\n  (let {step} (({depth} {limit}){})\n    (if (= {depth} 0)\n        \
             {base}\n        (let (({value} ({step} (- {depth} 1) {})))\n          {combined}))))\n",
            names
                .split_whitespace()
                .map(|name| format!(" ({name} {name})"))
                .collect::<String>(),
            arguments.join(" "),
        )
    }

    /// Procedures that pass each other flonums and give flonums, or now and then something else, and
    /// one that calls them.
    fn float_family(&mut self) -> String {
        let count = 1 + self.random.below(3);
        let doubles = 1 + self.random.below(5);
        let names: Vec<String> = (0..count).map(|_| self.fresh("f")).collect();
        let mut text = String::from("(define floats (make-vector 3 0.5))\n");
        self.mutable.clear();
        self.escapes.clear();
        for name in &names {
            let parameters: Vec<String> = (0..doubles).map(|_| self.fresh("d")).collect();
            self.scope = vec![("n".to_owned(), Type::Integer)];
            let typed = parameters.iter().map(|name| (name.clone(), Type::Double));
            self.scope.extend(typed);
            let base = match self.random.below(8) {
                0 => self.leaf(Type::Number),
                1 => self.expression(Type::Double, 2),
                _ => self.random.choose(&parameters).clone(),
            };
            let body = self.float_body(&names, doubles);
            let _ = writeln!(
                text,
                "(define ({name} n {})\n  (if (< n 1)\n      {base}\n      {body}))",
                parameters.join(" ")
            );
        }
        let parameters: Vec<String> = (0..doubles).map(|_| self.fresh("a")).collect();
        let depth = 3 + self.random.below(3);
        let entry = self.fresh("q");
        let arguments = parameters.join(" ");
        let _ = writeln!(
            text,
            "(define ({entry} {arguments})\n  ({} {depth} {arguments}))",
            names[0]
        );
        self.procedures.push(Procedure {
            name: entry,
            parameters: vec![Type::Double; doubles],
            result: Type::Double,
            optional: 0,
        });
        text
    }

    /// The body of one of them, with calls of the others.
    fn float_body(&mut self, names: &[String], doubles: usize) -> String {
        let call = |generator: &mut Generator, less: usize| {
            let name = generator.random.choose(names).clone();
            let arguments: Vec<String> = (0..doubles)
                .map(|_| {
                    if generator.random.once_in(20) {
                        generator.leaf(Type::Integer)
                    } else {
                        generator.expression(Type::Double, 1)
                    }
                })
                .collect();
            format!("({name} (- n {less}) {})", arguments.join(" "))
        };
        let (first, second) = (call(self, 1), call(self, 2));
        let operator = *self.random.choose(&["+", "-", "*", "max", "list", "cons"]);
        match self.random.below(7) {
            0 => first,
            1 => {
                self.scope.push(("r".to_owned(), Type::Double));
                self.scope.push(("s".to_owned(), Type::Double));
                let value = self.expression(Type::Double, 3);
                self.scope.truncate(self.scope.len() - 2);
                format!("(let* ((r {first}) (s {second}))\n        (clip {value}))")
            }
            2 => format!(
                "(begin (vector-set! floats (modulo n 3) {first})\n        (clip (+ (vector-ref floats 0) \
                 {second})))"
            ),
            3 => format!(
                "(let loop ((i 0) (s 0.0))\n        (if (< i 2) (loop (+ i 1) (clip (+ s {second}))) s))"
            ),
            4 => {
                let test = self.expression(Type::Boolean, 2);
                format!("(if {test}\n          {first}\n          (clip (* 0.5 {second})))")
            }
            5 => format!("(clip (apply-1 (lambda (x) (+ x {second})) {first}))"),
            _ => format!("(clip ({operator} {first} {second}))"),
        }
    }

    /// Calls every procedure often, with arguments of the right types and now and then of others.
    fn driver(&mut self) -> String {
        self.scope = vec![("i".to_owned(), Type::Integer)];
        self.mutable.clear();
        self.escapes.clear();
        let mut text = String::new();
        let rounds = 60 + self.random.below(300);
        let mut calls = String::new();
        for index in 0..self.procedures.len() {
            let types = self.procedures[index].parameters.clone();
            let usual: Vec<String> = types.iter().map(|ty| self.expression(*ty, 1)).collect();
            let other: Vec<String> = types
                .iter()
                .map(|ty| {
                    let ty = if self.random.once_in(3) {
                        self.any_type()
                    } else {
                        *ty
                    };
                    self.expression(ty, 1)
                })
                .collect();
            let name = &self.procedures[index].name;
            let turn = 10 + self.random.below(rounds);
            let _ = writeln!(
                calls,
                "  (note (try (if (< i {turn}) ({name} {}) ({name} {}))))",
                usual.join(" "),
                other.join(" ")
            );
        }
        let _ = write!(
            text,
            "(do ((i 0 (+ i 1))) ((= i {rounds}))\n{calls})\n(write (list counter total))\n(newline)\n"
        );
        text
    }

    /// An expression whose value has the type, if nothing goes wrong.
    fn expression(&mut self, wanted: Type, depth: usize) -> String {
        let mut ty = wanted;
        if self.random.once_in(60) {
            ty = self.any_type();
        }
        if depth == 0 || self.random.once_in(6) {
            return self.leaf(ty);
        }
        match self.random.below(14) {
            0 => {
                let test = self.expression(Type::Boolean, depth - 1);
                let yes = self.expression(ty, depth - 1);
                let no = self.expression(ty, depth - 1);
                format!("(if {test} {yes} {no})")
            }
            1 | 2 => self.let_form(ty, depth),
            3 => self.call(ty, depth).unwrap_or_else(|| self.leaf(ty)),
            4 => self.loop_form(ty, depth),
            5 => self.assignment(ty, depth),
            6 => self.control(ty, depth),
            _ => self.operation(ty, depth),
        }
    }

    fn leaf(&mut self, ty: Type) -> String {
        let fitting: Vec<String> = self
            .scope
            .iter()
            .filter(|(_, known)| *known == ty || is_wider(ty, *known))
            .map(|(name, _)| name.clone())
            .collect();
        if !fitting.is_empty() && !self.random.once_in(4) {
            return self.random.choose(&fitting).clone();
        }
        let choices: &[&str] = match ty {
            Type::Integer => &[
                "0",
                "1",
                "-1",
                "2",
                "7",
                "100",
                "-13",
                "2305843009213693951",
                "65536",
            ],
            Type::Double => &[
                "0.0", "1.5", "-2.25", "1e10", "-0.0", "1e-300", "3.0", "1e300",
            ],
            Type::Number => &["3", "2.5", "-4", "1/2", "0", "100000000000000000000"],
            Type::Complex => &[
                "1.5+2.5i",
                "-0.5-0.0i",
                "1e200+1e-200i",
                "(make-rectangular 0.25 -1.0)",
            ],
            Type::Boolean => &["#t", "#f"],
            Type::List => &["'()", "'(1 2 3)", "'(4 5.5 6)", "(list 1 2)"],
            Type::Vector => &["(vector 1 2 3)", "(vector 1.5 2.5)", "(make-vector 4 7)"],
            Type::Text => &["\"abc\"", "\"\"", "\"h\u{e9}llo\"", "(make-string 2 #\\z)"],
            Type::Character => &["#\\a", "#\\Z", "#\\x3bb", "#\\0"],
            Type::Function => &[
                "(lambda (x) (+ x 1))",
                "(lambda (x) (* x x))",
                "-",
                "+",
                "abs",
                "floor",
                "max",
                "first-of",
                "count-of",
            ],
            Type::Point => &["(make-point 1 2)", "(make-point 0.5 'none)"],
        };
        (*self.random.choose(choices)).to_owned()
    }

    fn let_form(&mut self, ty: Type, depth: usize) -> String {
        let bound = self.any_type();
        let name = self.fresh("v");
        let value = self.expression(bound, depth - 1);
        self.scope.push((name.clone(), bound));
        let is_mutable = self.random.once_in(3);
        if is_mutable {
            self.mutable.push((name.clone(), bound));
        }
        let body = self.expression(ty, depth - 1);
        self.scope.pop();
        if is_mutable {
            self.mutable.pop();
        }
        format!("(let (({name} {value}))\n  {body})")
    }

    fn call(&mut self, ty: Type, depth: usize) -> Option<String> {
        let fitting: Vec<usize> = (0..self.procedures.len())
            .filter(|index| {
                let result = self.procedures[*index].result;
                result == ty || is_wider(ty, result)
            })
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let index = *self.random.choose(&fitting);
        let mut types = self.procedures[index].parameters.clone();
        if self.procedures[index].optional > 0 && self.random.once_in(2) {
            types.pop();
        }
        let arguments: Vec<String> = types
            .iter()
            .map(|ty| self.expression(*ty, (depth - 1).min(2)))
            .collect();
        let name = self.procedures[index].name.clone();
        let spread = self.random.once_in(8);
        Some(if spread {
            format!("(apply {name} (list {}))", arguments.join(" "))
        } else {
            format!("({name} {})", arguments.join(" "))
        })
    }

    /// A loop that counts up and carries a value.
    fn loop_form(&mut self, ty: Type, depth: usize) -> String {
        let (name, index, value) = (self.fresh("loop"), self.fresh("i"), self.fresh("s"));
        let limit = 1 + self.random.below(9);
        let start = self.expression(ty, depth - 1);
        self.scope.push((index.clone(), Type::Integer));
        self.scope.push((value.clone(), ty));
        let step = self.expression(ty, depth - 1);
        let step = match ty {
            Type::Integer | Type::Double | Type::Number => format!("(clip {step})"),
            Type::Text => format!("(let ((s {step})) (if (> (string-length s) 40) \"x\" s))"),
            Type::List => format!("(let ((s {step})) (if (> (length s) 20) '(9) s))"),
            _ => step,
        };
        self.scope.truncate(self.scope.len() - 2);
        format!(
            "(let {name} (({index} 0) ({value} {start}))\n  (if (< {index} {limit}) ({name} (+ {index} 1) \
             {step}) {value}))"
        )
    }

    fn assignment(&mut self, ty: Type, depth: usize) -> String {
        if self.mutable.is_empty() {
            let value = self.expression(Type::Number, depth - 1);
            let rest = self.expression(ty, depth - 1);
            return format!("(begin (note {value}) {rest})");
        }
        let mutable = self.mutable.clone();
        let (name, bound) = self.random.choose(&mutable).clone();
        let value = self.expression(bound, depth - 1);
        let rest = self.expression(ty, depth - 1);
        let captured = self.random.once_in(3);
        let value = match bound {
            Type::Integer | Type::Double | Type::Number => format!("(clip {value})"),
            _ => value,
        };
        if captured {
            format!("(begin (apply-1 (lambda (x) (set! {name} {value}) x) 1) {rest})")
        } else {
            format!("(begin (set! {name} {value}) {rest})")
        }
    }

    /// Escapes, handlers, winders, several values.
    fn control(&mut self, ty: Type, depth: usize) -> String {
        match self.random.below(6) {
            0 => {
                let name = self.fresh("k");
                self.escapes.push(name.clone());
                let body = self.expression(ty, depth - 1);
                self.escapes.pop();
                format!("(call/cc (lambda ({name})\n  {body}))")
            }
            1 if !self.escapes.is_empty() => {
                // The value may not fit where the escape leads; that is an error like another.
                let escapes = self.escapes.clone();
                let name = self.random.choose(&escapes).clone();
                let value = self.expression(ty, depth - 1);
                let test = self.expression(Type::Boolean, depth - 1);
                let rest = self.expression(ty, depth - 1);
                format!("(if {test} ({name} {value}) {rest})")
            }
            2 => {
                let value = self.expression(ty, depth - 1);
                let raised = self.expression(Type::Integer, depth - 1);
                let test = self.expression(Type::Boolean, depth - 1);
                let handled = self.expression(ty, depth - 1);
                format!("(guard (e (#t {handled}))\n  (if {test} (raise {raised}) {value}))")
            }
            3 => {
                let (first, second) = (self.fresh("x"), self.fresh("y"));
                let (one, two) = (self.any_type(), self.any_type());
                let a = self.expression(one, depth - 1);
                let b = self.expression(two, depth - 1);
                self.scope.push((first.clone(), one));
                self.scope.push((second.clone(), two));
                let body = self.expression(ty, depth - 1);
                self.scope.truncate(self.scope.len() - 2);
                format!(
                    "(call-with-values (lambda () (values {a} {b}))\n  (lambda ({first} {second}) {body}))"
                )
            }
            4 => {
                let body = self.expression(ty, depth - 1);
                format!(
                    "(dynamic-wind (lambda () (set! counter (+ counter 1)))\n  (lambda () {body})\n  (lambda \
                     () (set! counter (+ counter 2))))"
                )
            }
            _ => {
                let value = self.expression(ty, depth - 1);
                let name = self.fresh("f");
                format!(
                    "(letrec (({name} (lambda (n) (if (> n 0) ({name} (- n 1)) {value})))) ({name} 3))"
                )
            }
        }
    }

    fn operation(&mut self, ty: Type, depth: usize) -> String {
        let d = depth - 1;
        let of = |generator: &mut Generator, ty| generator.expression(ty, d);
        match ty {
            Type::Integer => match self.random.below(12) {
                0 | 1 => format!("(+ {} {})", of(self, ty), of(self, ty)),
                2 => format!("(- {} {})", of(self, ty), of(self, ty)),
                3 => format!("(* (clip {}) (clip {}))", of(self, ty), of(self, ty)),
                4 => format!("(quotient {} {})", of(self, ty), of(self, ty)),
                5 => format!("(remainder {} 17)", of(self, ty)),
                6 => format!("(modulo {} {})", of(self, ty), of(self, ty)),
                7 => format!("(length {})", of(self, Type::List)),
                8 => format!("(vector-length {})", of(self, Type::Vector)),
                9 => format!("(string-length {})", of(self, Type::Text)),
                10 => format!("(char->integer {})", of(self, Type::Character)),
                _ => format!("(abs {})", of(self, ty)),
            },
            Type::Double => match self.random.below(10) {
                8 => format!("(real-part {})", of(self, Type::Complex)),
                9 => format!("(imag-part {})", of(self, Type::Complex)),
                0 => format!("(+ {} {})", of(self, ty), of(self, ty)),
                1 => format!("(- {} {})", of(self, ty), of(self, Type::Number)),
                2 => format!("(* {} {})", of(self, ty), of(self, ty)),
                3 => format!("(/ {} {})", of(self, ty), of(self, ty)),
                4 => format!("(inexact {})", of(self, Type::Integer)),
                5 => format!("(sqrt (abs {}))", of(self, ty)),
                6 => format!("(floor {})", of(self, ty)),
                _ => format!("(- {})", of(self, ty)),
            },
            Type::Number => match self.random.below(9) {
                0 => format!("(+ {} {})", of(self, Type::Integer), of(self, Type::Double)),
                1 => format!("(* (clip {}) (clip {}))", of(self, ty), of(self, ty)),
                2 => format!("(max {} {})", of(self, ty), of(self, ty)),
                3 => format!("(car {})", of(self, Type::List)),
                4 => format!(
                    "(vector-ref {} {})",
                    of(self, Type::Vector),
                    of(self, Type::Integer)
                ),
                5 => format!(
                    "(spread {} {})",
                    of(self, Type::Function),
                    of(self, Type::List)
                ),
                6 => format!(
                    "(spread-behind {} {} {})",
                    of(self, Type::Function),
                    of(self, ty),
                    of(self, Type::List)
                ),
                7 => format!(
                    "(apply {} {} (list {} {}))",
                    of(self, Type::Function),
                    of(self, ty),
                    of(self, Type::Integer),
                    of(self, ty)
                ),
                _ => format!("(apply-1 {} {})", of(self, Type::Function), of(self, ty)),
            },
            Type::Complex => match self.random.below(8) {
                0 | 1 => format!("(+ {} {})", of(self, ty), of(self, ty)),
                2 => format!("(- {} {})", of(self, ty), of(self, ty)),
                3 => format!("(* {} {})", of(self, ty), of(self, ty)),
                4 => format!("(+ {} {})", of(self, Type::Double), of(self, ty)),
                5 => format!("(- {} {})", of(self, Type::Double), of(self, ty)),
                6 => format!("(* {} {})", of(self, ty), of(self, Type::Double)),
                _ => format!(
                    "(make-rectangular {} {})",
                    of(self, Type::Double),
                    of(self, Type::Double)
                ),
            },
            _ => self.data_operation(ty, d),
        }
    }

    /// A question that a leaf function answers.
    fn question(&mut self, d: usize) -> String {
        let item = self.any_type();
        let item = self.expression(item, d);
        let character = self.expression(Type::Character, d);
        match self.random.below(8) {
            0 => format!("(equal? {item} {})", self.expression(Type::List, d)),
            1 => format!(
                "(string=? {} {})",
                self.expression(Type::Text, d),
                self.expression(Type::Text, d)
            ),
            2 => format!(
                "(string<? {} {})",
                self.expression(Type::Text, d),
                self.expression(Type::Text, d)
            ),
            3 => format!("(list? {item})"),
            4 => format!("(integer? {item})"),
            5 => format!("(char-alphabetic? {character})"),
            6 => format!("(char-whitespace? {character})"),
            _ => format!("(eqv? {item} {})", self.expression(Type::Number, d)),
        }
    }

    /// A list that a leaf function finds or makes.
    fn list_operation(&mut self, d: usize) -> String {
        let (list, other) = (
            self.expression(Type::List, d),
            self.expression(Type::List, d),
        );
        let number = self.expression(Type::Number, d);
        match self.random.below(8) {
            0 => format!("(append {list} {other})"),
            1 => format!("(list-copy {list})"),
            2 => format!("(list-tail {list} {})", self.random.below(3)),
            3 => format!("(or (memv {number} {list}) {other})"),
            4 => format!("(or (member {number} {list}) {other})"),
            5 => format!("(or (assv {number} (map (lambda (x) (cons x {other})) {list})) '())"),
            6 => format!("(let ((q (memq {number} {list}))) (if q (cdr q) {other}))"),
            _ => format!(
                "(let ((q (assoc {number} (list (cons 2.5 {other}))))) (if q (cdr q) {list}))"
            ),
        }
    }

    /// An operation that gives something else than a number.
    fn data_operation(&mut self, ty: Type, d: usize) -> String {
        let of = |generator: &mut Generator, ty| generator.expression(ty, d);
        match ty {
            Type::Integer | Type::Double | Type::Number | Type::Complex => self.leaf(ty),
            Type::Boolean => match self.random.below(14) {
                10.. => self.question(d),
                0 => format!(
                    "(< {} {})",
                    of(self, Type::Integer),
                    of(self, Type::Integer)
                ),
                1 => format!("(<= {} {})", of(self, Type::Number), of(self, Type::Number)),
                2 => format!("(= {} {})", of(self, Type::Number), of(self, Type::Integer)),
                3 => format!("(pair? {})", of(self, Type::List)),
                4 => format!(
                    "(eqv? {} {})",
                    of(self, Type::Integer),
                    of(self, Type::Number)
                ),
                5 => format!(
                    "(char<? {} {})",
                    of(self, Type::Character),
                    of(self, Type::Character)
                ),
                6 => format!("(not {})", of(self, ty)),
                7 => format!("(point? {})", of(self, Type::Point)),
                8 => format!("(and {} {})", of(self, ty), of(self, ty)),
                _ => format!("(> {} {})", of(self, Type::Double), of(self, Type::Double)),
            },
            Type::List => match self.random.below(10) {
                6.. => self.list_operation(d),
                0 | 1 => format!("(cons {} {})", of(self, Type::Number), of(self, ty)),
                2 => format!("(map {} {})", of(self, Type::Function), of(self, ty)),
                3 => format!("(reverse {})", of(self, ty)),
                4 => format!("(let ((l {})) (if (pair? l) (cdr l) l))", of(self, ty)),
                _ => format!("(vector->list {})", of(self, Type::Vector)),
            },
            Type::Vector => match self.random.below(4) {
                0 => format!(
                    "(vector {} {} {})",
                    of(self, Type::Number),
                    of(self, Type::Integer),
                    of(self, Type::Double)
                ),
                1 => format!("(vector-map {} {})", of(self, Type::Function), of(self, ty)),
                2 => format!(
                    "(let ((w {})) (vector-set! w 0 {}) w)",
                    of(self, ty),
                    of(self, Type::Number)
                ),
                _ => format!("(list->vector {})", of(self, Type::List)),
            },
            Type::Text => match self.random.below(6) {
                4 => format!("(symbol->string (string->symbol {}))", of(self, ty)),
                5 => format!(
                    "(let ((t {})) (string-set! t {} {}) t)",
                    of(self, ty),
                    self.random.below(3),
                    of(self, Type::Character)
                ),
                0 => format!("(string-append \"q\" {})", of(self, Type::Text)),
                1 => format!("(string {})", of(self, Type::Character)),
                2 => format!("(number->string {})", of(self, Type::Integer)),
                _ => format!(
                    "(let ((t {})) (substring t 0 (quotient (string-length t) 2)))",
                    of(self, ty)
                ),
            },
            Type::Character => match self.random.below(3) {
                2 => format!("(char-downcase {})", of(self, ty)),
                0 => format!(
                    "(string-ref {} {})",
                    of(self, Type::Text),
                    of(self, Type::Integer)
                ),
                _ => format!("(char-upcase {})", of(self, ty)),
            },
            Type::Function => {
                let name = self.fresh("x");
                self.scope.push((name.clone(), Type::Number));
                let body = self.expression(Type::Number, d);
                self.scope.pop();
                format!("(lambda ({name}) (clip {body}))")
            }
            Type::Point => match self.random.below(2) {
                0 => format!(
                    "(make-point {} {})",
                    of(self, Type::Number),
                    of(self, Type::Double)
                ),
                _ => format!(
                    "(let ((p {})) (set-point-x! p (point-y p)) p)",
                    of(self, ty)
                ),
            },
        }
    }
}

/// Whether every value of `narrow` will do for `wide`.
fn is_wider(wide: Type, narrow: Type) -> bool {
    wide == Type::Number && matches!(narrow, Type::Integer | Type::Double)
}

/// A value of a type that needs nothing in scope.
fn literal(ty: Type) -> String {
    match ty {
        Type::Integer | Type::Number => "5",
        Type::Double => "5.5",
        Type::Complex => "5.5+0.5i",
        Type::Boolean => "#t",
        Type::List => "'(5)",
        Type::Vector => "(vector 5)",
        Type::Text => "\"five\"",
        Type::Character => "#\\5",
        Type::Function => "-",
        Type::Point => "(make-point 5 5)",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_depend_on_nothing_but_the_seed_and_balance() {
        for case in 0..50 {
            let text = program(3, case);
            assert_eq!(text, program(3, case));
            let mut depth = 0i64;
            let mut characters = text.chars().peekable();
            let mut in_text = false;
            while let Some(character) = characters.next() {
                match character {
                    '"' => in_text = !in_text,
                    '\\' => {
                        characters.next();
                    }
                    ';' if !in_text => while characters.next_if(|c| *c != '\n').is_some() {},
                    '(' if !in_text => depth += 1,
                    ')' if !in_text => depth -= 1,
                    _ => {}
                }
                assert!(depth >= 0, "{text}");
            }
            assert_eq!(depth, 0, "{text}");
        }
    }
}
