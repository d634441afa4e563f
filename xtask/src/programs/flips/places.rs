//! Places whose values change kind after code that reads them is hot.

use std::fmt::Write;

use super::Writer;
use super::kinds::Kind;

/// A place: what defines it, reads it and sets it.
pub struct Place {
    pub definition: String,
    pub read: String,
    /// With `@` for the value.
    set: String,
    /// What it holds while code is warmed up.
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
            7 | 8 => self.field(&name, &value, &beside),
            9 => (
                format!("(define {name} (vector {beside} {value} {value}))"),
                format!("(vector-ref {name} 1)"),
                format!("(vector-set! {name} 1 @)"),
            ),
            10 => (
                format!("(define {name} (cons {value} {beside}))"),
                format!("(car {name})"),
                format!("(set-car! {name} @)"),
            ),
            11 => (
                format!("(define {name} (list {beside} {value}))"),
                format!("(cadr {name})"),
                format!("(set-car! (cdr {name}) @)"),
            ),
            12 | 13 => self.captured(&name, &value),
            14 => (
                format!("(define {name} (box {value}))"),
                format!("(unbox {name})"),
                format!("(set-box! {name} @)"),
            ),
            15 => (
                format!("(define {name} (table-of 'k {value}))"),
                format!("(hash-table-ref/default {name} 'k #f)"),
                format!("(hash-table-set! {name} 'k @)"),
            ),
            16 => (
                format!("(define ({name}) {value})"),
                format!("({name})"),
                format!("(let ((new @)) (set! {name} (lambda () new)))"),
            ),
            17 => {
                // The other way was never taken before.
                let other = Kind::unusual(&mut self.random).literal(&mut self.random);
                let now = self.now.clone();
                (
                    format!(
                        "(define {name}-end 1000000)\n(define {name}-more #f)\n\
                         (define ({name}) (if (< {now} {name}-end) {value} (if {name}-more ({name}-more) {other})))"
                    ),
                    format!("({name})"),
                    format!("(let ((new @)) (set! {name}-end {now}) (set! {name}-more (lambda () new)))"),
                )
            }
            18 => (
                // Replaced with all that it holds.
                format!("(define {name} (vector {value} {beside}))"),
                format!("(vector-ref {name} 0)"),
                format!("(set! {name} (vector @ 1 2))"),
            ),
            _ => (
                format!("(define {name} (make-point {beside} {value}))"),
                format!("(point-y {name})"),
                format!("(set! {name} (make-point 0 @))"),
            ),
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

    fn field(&mut self, name: &str, value: &str, beside: &str) -> (String, String, String) {
        match self.random.below(3) {
            0 => (
                format!("(define {name} (make-point {value} {beside}))"),
                format!("(point-x {name})"),
                format!("(set-point-x! {name} @)"),
            ),
            1 => (
                format!("(define {name} (make-pixel 1 2 {value}))"),
                format!("(pixel-x {name})"),
                format!("(set-pixel-x! {name} @)"),
            ),
            _ => (
                format!(
                    "(define-record-type {name}-type (make-{name} a b) {name}? (a {name}-a set-{name}-a!) (b {name}-b))\n\
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
