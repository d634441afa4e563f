//! Generates places whose values change kind after code that reads them is hot.
//!
//! A place has a definition, an expression that reads it and one that sets it. Globals, fields,
//! elements, captured variables and results of procedures are places.

use std::fmt::Write;

use super::Writer;
use super::kinds::Kind;

/// A place: what defines it, reads it and sets it.
pub struct Place {
    pub definition: String,
    pub read: String,
    /// With `@` for the value.
    set: String,
    /// The kind of its value while code is warmed up.
    pub kind: Kind,
    /// Whether code outside a body can set it anew with `define`.
    pub is_variable: bool,
}

impl Place {
    /// The form that sets the place.
    pub fn set(&self, value: &str) -> String {
        self.set.replace('@', value)
    }
}

impl Writer {
    /// A place of any sort, with a value of a kind that code is warmed up with.
    pub fn place(&mut self) -> Place {
        let kind = Kind::usual(&mut self.random);
        let value = kind.literal(&mut self.random);
        let beside = Kind::usual(&mut self.random).literal(&mut self.random);
        let name = self.name("c");
        let (definition, read, set) = match self.random.below(20) {
            0..=6 => (
                format!("(define {name} {value})"),
                name.clone(),
                format!("(set! {name} @)"),
            ),
            7..=9 => self.field(&name, &value, &beside),
            10..=14 => self.element_place(&name, &value, &beside),
            15 | 16 => self.captured(&name, &value),
            17 | 18 => self.result_place(&name, &value),
            _ => return self.bare_element(name),
        };
        let is_variable = read == name;
        Place {
            definition,
            read,
            set,
            kind,
            is_variable,
        }
    }

    /// An element of a pair, list, vector, box or table.
    fn element_place(&mut self, name: &str, value: &str, beside: &str) -> (String, String, String) {
        let (made, read, set) = match self.random.below(6) {
            0 => (
                format!("(vector {beside} {value} {value})"),
                format!("(vector-ref {name} 1)"),
                format!("(vector-set! {name} 1 @)"),
            ),
            1 => (
                format!("(cons {value} {beside})"),
                format!("(car {name})"),
                format!("(set-car! {name} @)"),
            ),
            2 => (
                format!("(list {beside} {value})"),
                format!("(cadr {name})"),
                format!("(set-car! (cdr {name}) @)"),
            ),
            3 => (
                format!("(box {value})"),
                format!("(unbox {name})"),
                format!("(set-box! {name} @)"),
            ),
            4 => (
                format!("(table-of 'k {value})"),
                format!("(hash-table-ref/default {name} 'k #f)"),
                format!("(hash-table-set! {name} 'k @)"),
            ),
            // Replaced with all that it holds.
            _ => (
                format!("(vector {value} {beside})"),
                format!("(vector-ref {name} 0)"),
                format!("(set! {name} (vector @ 1 2))"),
            ),
        };
        (format!("(define {name} {made})"), read, set)
    }

    /// The result of a procedure: the procedure is replaced, or takes a way that it never took.
    fn result_place(&mut self, name: &str, value: &str) -> (String, String, String) {
        if self.random.once_in(2) {
            return (
                format!("(define ({name}) {value})"),
                format!("({name})"),
                format!("(let ((new @)) (set! {name} (lambda () new)))"),
            );
        }
        let other = Kind::unusual(&mut self.random).literal(&mut self.random);
        let now = &self.now;
        (
            format!(
                "(define {name}-end 1000000)\n(define {name}-more #f)\n\
                 (define ({name}) (if (< {now} {name}-end) {value} (if {name}-more ({name}-more) {other})))"
            ),
            format!("({name})"),
            format!("(let ((new @)) (set! {name}-end {now}) (set! {name}-more (lambda () new)))"),
        )
    }

    /// An element of a string, which may become wide, or of a vector of flonums; where a value does not
    /// fit, the container is replaced.
    fn bare_element(&mut self, name: String) -> Place {
        let (kind, made, read, set) = match self.random.below(2) {
            0 => (
                Kind::Character,
                "(make-string 3 #\\a)",
                format!("(string-ref {name} 1)"),
                format!(
                    "(let ((new @)) (cond ((string? new) (set! {name} (string-copy new))) ((not (char? new)) \
                     (set! {name} new)) ((and (string? {name}) (> (string-length {name}) 1)) (string-set! \
                     {name} 1 new)) (else (set! {name} (string #\\a new)))))"
                ),
            ),
            _ => (
                Kind::Flonum,
                "(f64vector 0.5 1.5)",
                format!("(f64vector-ref {name} 1)"),
                format!(
                    "(let ((new @)) (cond ((not (real? new)) (set! {name} new)) ((f64vector? {name}) \
                     (f64vector-set! {name} 1 (inexact new))) (else (set! {name} (f64vector 0.5 (inexact \
                     new))))))"
                ),
            ),
        };
        Place {
            definition: format!("(define {name} {made})"),
            read,
            set,
            kind,
            is_variable: false,
        }
    }

    fn field(&mut self, name: &str, value: &str, beside: &str) -> (String, String, String) {
        match self.random.below(4) {
            0 => (
                format!("(define {name} (make-point {beside} {value}))"),
                format!("(point-y {name})"),
                format!("(set! {name} (make-point 0 @))"),
            ),
            1 => (
                format!("(define {name} (make-point {value} {beside}))"),
                format!("(point-x {name})"),
                format!("(set-point-x! {name} @)"),
            ),
            2 => (
                format!("(define {name} (make-pixel 1 2 {value}))"),
                format!("(pixel-x {name})"),
                format!("(set-pixel-x! {name} @)"),
            ),
            _ => (
                format!(
                    "(define-record-type {name}-type (make-{name} a b) {name}? (a {name}-a set-{name}-a!) (b \
                     {name}-b))\n\
                     (define {name} (make-{name} {value} {beside}))"
                ),
                format!("({name}-a {name})"),
                format!("(set-{name}-a! {name} @)"),
            ),
        }
    }

    /// A variable that only closures see.
    fn captured(&mut self, name: &str, value: &str) -> (String, String, String) {
        let mut definition = format!(
            "(define {name}-both (let ((x {value})) (cons (lambda () x) (lambda (v) (set! x v)))))\n"
        );
        let _ = write!(
            definition,
            "(define {name}-get (car {name}-both))\n(define {name}-set! (cdr {name}-both))"
        );
        (
            definition,
            format!("({name}-get)"),
            format!("({name}-set! @)"),
        )
    }
}
