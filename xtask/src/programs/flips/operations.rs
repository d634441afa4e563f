//! Generates operations: expressions that make a value of one kind from values of others.
//!
//! Before a flip an operation succeeds; afterwards its operands may have any kind, and it may
//! raise. Only operations whose result the standard fixes are used.

use super::Writer;
use super::kinds::{KINDS, Kind};

/// Questions that every value answers.
const QUESTIONS: &[&str] = &[
    "not",
    "null?",
    "pair?",
    "number?",
    "flonum?",
    "fixnum?",
    "integer?",
    "exact-integer?",
    "real?",
    "rational?",
    "complex?",
    "char?",
    "string?",
    "symbol?",
    "vector?",
    "procedure?",
    "boolean?",
    "point?",
    "pixel?",
    "box?",
    "eof-object?",
    "bytevector?",
    "f64vector?",
    "list?",
    "promise?",
    "hash-table?",
];

/// Values that others are compared with by `eq?`: numbers may be other objects each time.
const IDENTITIES: &[&str] = &[
    "#f",
    "#t",
    "'()",
    "'a",
    "'b",
    "(eof-object)",
    "(if #f #f)",
    "car",
];

impl Writer {
    /// An operation whose value has the kind, as long as nothing flips.
    pub fn operation(&mut self, kind: Kind, depth: usize) -> String {
        let d = depth - 1;
        match kind {
            Kind::Boolean => self.question(d),
            Kind::Fixnum => self.fixnum(d),
            Kind::Flonum => self.flonum(d),
            Kind::Bignum => match self.random.below(3) {
                0 => format!("(+ {} 1)", self.expression(kind, d)),
                1 => format!("(* {} 3)", self.expression(kind, d)),
                _ => format!("(- {})", self.expression(kind, d)),
            },
            Kind::Rational => match self.random.below(3) {
                0 => format!("(+ {} 1/3)", self.expression(kind, d)),
                1 => format!("(/ {} 5)", self.expression(kind, d)),
                _ => format!("(- {})", self.expression(kind, d)),
            },
            Kind::Complex | Kind::ExactComplex => self.complex(kind, d),
            _ => self.data(kind, d),
        }
    }

    fn question(&mut self, d: usize) -> String {
        let any = self.any_kind();
        let value = self.expression(any, d);
        match self.random.below(12) {
            0..=2 => format!("({} {value})", self.random.choose(QUESTIONS)),
            3 => format!("(eq? {value} {})", self.random.choose(IDENTITIES)),
            4 => format!("(eqv? {value} {})", self.expression(any, d)),
            5 => format!("(equal? {value} {})", self.leaf(any)),
            6 => format!("(if {value} #t #f)"),
            7 => {
                let kinds = [
                    Kind::Fixnum,
                    Kind::Flonum,
                    Kind::Fixnum,
                    Kind::Rational,
                    Kind::Bignum,
                ];
                let (one, two) = (*self.random.choose(&kinds), *self.random.choose(&kinds));
                let operator = *self.random.choose(&["=", "<", ">", "<=", ">="]);
                format!(
                    "({operator} {} {})",
                    self.expression(one, d),
                    self.expression(two, d)
                )
            }
            8 => {
                let kind = *self.random.choose(&[Kind::Fixnum, Kind::Flonum]);
                let question =
                    *self
                        .random
                        .choose(&["zero?", "positive?", "negative?", "odd?", "nan?"]);
                format!("({question} {})", self.expression(kind, d))
            }
            9 => format!(
                "(char<? {} {})",
                self.expression(Kind::Character, d),
                self.leaf(Kind::Character)
            ),
            10 => format!(
                "(string=? {} {})",
                self.expression(Kind::Text, d),
                self.leaf(Kind::Text)
            ),
            _ => format!("(and {value} {})", self.expression(Kind::Boolean, d)),
        }
    }

    fn fixnum(&mut self, d: usize) -> String {
        let any = self.any_kind();
        let fixnum = Kind::Fixnum;
        match self.random.below(20) {
            0 | 1 => format!(
                "(+ {} {})",
                self.expression(fixnum, d),
                self.expression(fixnum, d)
            ),
            2 => format!("(- {} {})", self.expression(fixnum, d), self.leaf(fixnum)),
            3 => format!(
                "(* {} {})",
                self.expression(fixnum, d),
                self.random.below(4)
            ),
            4 => format!("(quotient {} 3)", self.expression(fixnum, d)),
            5 => format!("(modulo {} 17)", self.expression(fixnum, d)),
            6 => format!("(fx+ {} 1)", self.expression(fixnum, d)),
            7 => format!("(fx* {} 2)", self.expression(fixnum, d)),
            8 | 9 => format!("(if {} 1 2)", self.expression(any, d)),
            10 => format!("(length {})", self.expression(Kind::List, d)),
            11 => format!("(vector-length {})", self.expression(Kind::Vector, d)),
            12 => format!("(string-length {})", self.expression(Kind::Text, d)),
            13 => format!("(char->integer {})", self.expression(Kind::Character, d)),
            14 => format!("(bytevector-u8-ref {} 0)", self.expression(Kind::Bytes, d)),
            15 => format!("(max {} {})", self.expression(fixnum, d), self.leaf(fixnum)),
            16 => format!("(abs {})", self.expression(fixnum, d)),
            17 => format!(
                "(case {} ((1 2 3) 10) ((a b) 20) ((#t) 30) ((#f ()) 40) ((#\\a) 50) (else 60))",
                self.expression(any, d)
            ),
            18 => {
                let test = self.expression(any, d);
                format!(
                    "(cond ((not {test}) 1) (else {}))",
                    self.expression(fixnum, d)
                )
            }
            _ => {
                let generic = self.generic();
                format!("({generic} {})", self.expression(any, d))
            }
        }
    }

    /// A generic function that tells a few classes apart.
    fn generic(&mut self) -> String {
        if let Some(generic) = &self.generic
            && !self.random.once_in(4)
        {
            return generic.clone();
        }
        let name = self.name("gen");
        let classes = [
            "<integer>",
            "<real>",
            "<number>",
            "<string>",
            "<boolean>",
            "<pair>",
            "<procedure>",
            "<char>",
            "<symbol>",
            "<vector>",
        ];
        let mut text =
            format!("(define-generic ({name} x))\n(define-method ({name} (x <object>)) 0)");
        for value in 1..3 + self.random.below(3) {
            let class = *self.random.choose(&classes);
            text.push_str(&format!("\n(define-method ({name} (x {class})) {value})"));
        }
        self.definitions.push(text);
        self.generic = Some(name.clone());
        name
    }

    fn flonum(&mut self, d: usize) -> String {
        let flonum = Kind::Flonum;
        match self.random.below(18) {
            0..=2 => format!(
                "(+ {} {})",
                self.expression(flonum, d),
                self.expression(flonum, d)
            ),
            3 => format!(
                "(- {} {})",
                self.expression(flonum, d),
                self.expression(Kind::Fixnum, d)
            ),
            4 => format!("(* {} {})", self.expression(flonum, d), self.leaf(flonum)),
            5 => format!("(* 0.5 {})", self.expression(flonum, d)),
            6 => format!("(/ {} 3)", self.expression(flonum, d)),
            7 => format!("(inexact {})", self.expression(Kind::Fixnum, d)),
            8 => format!("(sqrt (abs {}))", self.expression(flonum, d)),
            9 => format!("(floor {})", self.expression(flonum, d)),
            10 => format!("(- {})", self.expression(flonum, d)),
            11 => format!("(max {} {})", self.expression(flonum, d), self.leaf(flonum)),
            12 => format!("(fl+ {} {})", self.expression(flonum, d), self.leaf(flonum)),
            13 => format!("(fl* {} 2.0)", self.expression(flonum, d)),
            14 => format!("(real-part {})", self.expression(Kind::Complex, d)),
            15 => format!("(f64vector-ref {} 0)", self.expression(Kind::Floats, d)),
            16 => format!(
                "(let ((w {})) (f64vector-set! w 1 {}) (f64vector-ref w 1))",
                "(f64vector 1.0 2.0)",
                self.expression(flonum, d)
            ),
            _ => {
                let any = self.any_kind();
                format!("(if {} 1.5 2.5)", self.expression(any, d))
            }
        }
    }

    fn complex(&mut self, kind: Kind, d: usize) -> String {
        match self.random.below(5) {
            0 => format!("(+ {} {})", self.expression(kind, d), self.leaf(kind)),
            1 => format!("(- {} 1)", self.expression(kind, d)),
            2 => format!("(* {} {})", self.expression(kind, d), self.leaf(kind)),
            3 if kind == Kind::Complex => format!(
                "(make-rectangular {} {})",
                self.expression(Kind::Flonum, d),
                self.leaf(Kind::Flonum)
            ),
            _ => format!("(- {})", self.expression(kind, d)),
        }
    }

    fn data(&mut self, kind: Kind, d: usize) -> String {
        let any = self.any_kind();
        match kind {
            Kind::List => match self.random.below(7) {
                0 | 1 => format!("(cons {} {})", self.expression(any, d), self.leaf(kind)),
                2 => format!("(list {} {})", self.expression(any, d), self.leaf(any)),
                3 => format!("(reverse {})", self.expression(kind, d)),
                4 => format!("(append {} '(9))", self.expression(kind, d)),
                5 => format!(
                    "(map (lambda (x) {}) {})",
                    self.leaf(any),
                    self.expression(kind, d)
                ),
                _ => format!("(vector->list {})", self.expression(Kind::Vector, d)),
            },
            Kind::Vector => match self.random.below(3) {
                0 => format!("(vector {} {})", self.expression(any, d), self.leaf(any)),
                1 => format!("(list->vector {})", self.expression(Kind::List, d)),
                _ => format!(
                    "(vector-map (lambda (x) {}) {})",
                    self.leaf(any),
                    self.expression(kind, d)
                ),
            },
            Kind::Text | Kind::WideText => match self.random.below(4) {
                0 => format!("(string-append {} \"x\")", self.expression(kind, d)),
                1 => format!("(string {})", self.expression(Kind::Character, d)),
                2 => format!("(symbol->string {})", self.expression(Kind::Symbol, d)),
                _ => format!("(number->string {})", self.expression(Kind::Fixnum, d)),
            },
            Kind::Character => match self.random.below(3) {
                0 => format!("(string-ref {} 0)", self.expression(Kind::Text, d)),
                1 => format!("(char-upcase {})", self.expression(kind, d)),
                _ => format!("(string-ref {} 1)", self.expression(Kind::WideText, d)),
            },
            Kind::Symbol => match self.random.below(2) {
                0 => format!("(string->symbol {})", self.expression(Kind::Text, d)),
                _ => format!("(if {} 'a 'b)", self.expression(any, d)),
            },
            Kind::Bytes => format!("(bytevector-copy {})", self.expression(kind, d)),
            Kind::Floats => format!("(f64vector {} 2.5)", self.expression(Kind::Flonum, d)),
            Kind::Closure => self.closure(),
            Kind::Record => format!(
                "(make-point {} {})",
                self.expression(any, d),
                self.leaf(any)
            ),
            Kind::OtherRecord => format!(
                "(make-pixel {} 2 {})",
                self.expression(any, d),
                self.leaf(any)
            ),
            Kind::Box => format!("(box {})", self.expression(any, d)),
            Kind::Table => format!("(table-of 'a {})", self.expression(any, d)),
            Kind::Promise => format!("(make-promise {})", self.expression(any, d)),
            _ => self.leaf(kind),
        }
    }

    /// A closure that may be kept: it calls nothing that could call it again.
    fn closure(&mut self) -> String {
        let result = *self.random.choose(KINDS);
        let x = self.local("x");
        let was = std::mem::replace(&mut self.calls_nothing, true);
        let body = self.with((x.clone(), Kind::Fixnum), |writer| {
            writer.expression(result, 2)
        });
        self.calls_nothing = was;
        format!("(lambda ({x}) {body})")
    }

    /// A value of any kind taken from another, or by calling.
    pub fn element(&mut self, kind: Kind, depth: usize) -> String {
        let d = depth - 1;
        let value = self.expression(kind, d);
        match self.random.below(6) {
            0 => format!("(car {})", self.list_around(&value)),
            1 => format!("(vector-ref (vector {value} 1) {})", "0"),
            2 => format!("(point-x (make-point {value} 1))"),
            3 if !self.calls_nothing => {
                let function = self.leaf(Kind::Closure);
                format!("(begin ({function} 1) {value})")
            }
            _ => {
                let test = self.any_kind();
                let test = self.expression(test, d);
                let other = self.leaf(kind);
                format!("(if {test} {value} {other})")
            }
        }
    }

    fn list_around(&mut self, value: &str) -> String {
        let any = self.any_kind();
        format!("(list {value} {})", self.leaf(any))
    }
}
