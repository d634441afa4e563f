//! Literal data: what `quote` and self-evaluating expressions carry into the compiler.
//!
//! Data are immutable and shared (`Arc`). Cycles and shared parts are written down with
//! [`Datum::Labelled`] and [`Datum::LabelRef`]; a reference occurs only inside or after its label in
//! the left-to-right order of one literal. Nothing here recurses natively along a datum's depth:
//! dropping, comparing, printing and serialising are loops, so 200,000 nested parens are harmless.

use std::fmt;
use std::sync::Arc;

use canny_number::elements::ElementType;

use crate::name::Name;
use crate::number::{self, Number};

/// A literal datum.
#[derive(Clone)]
pub enum Datum {
    /// The empty list.
    Nil,
    /// `#t` or `#f`.
    Boolean(bool),
    /// A character.
    Character(char),
    /// A number of any kind.
    Number(Arc<Number>),
    /// A string literal.
    String(Arc<str>),
    /// A symbol.
    Symbol(Name),
    /// `#:name`; the name is without the prefix.
    Keyword(Name),
    /// A pair.
    Pair(Arc<Pair>),
    /// A vector.
    Vector(Arc<Elements>),
    /// A bytevector.
    Bytevector(Arc<[u8]>),
    /// A homogeneous numeric vector, as its bytes.
    NumericVector(ElementType, Arc<[u8]>),
    /// `#!eof`
    Eof,
    /// `#!unspecific`
    Unspecified,
    /// `#!default`
    DefaultObject,
    /// `#n=datum`: names the datum for references inside or after it.
    Labelled(u32, Arc<Labelled>),
    /// `#n#`
    LabelRef(u32),
    /// An object of the running machine that no text denotes, by the number that the machine knows it
    /// by: `eval` may be given procedures and the like. Never in code that is kept.
    Object(u32),
}

/// The two halves of a pair.
pub struct Pair {
    /// The first half.
    pub car: Datum,
    /// The second half.
    pub cdr: Datum,
}

/// The elements of a vector. A type of its own so that dropping it is a loop.
pub struct Elements(Vec<Datum>);

/// The content of a labelled datum. A type of its own so that dropping it is a loop.
pub struct Labelled(Datum);

impl Elements {
    /// The elements in order.
    pub fn as_slice(&self) -> &[Datum] {
        &self.0
    }
}

impl std::ops::Deref for Elements {
    type Target = [Datum];
    fn deref(&self) -> &[Datum] {
        &self.0
    }
}

impl Labelled {
    /// The datum that carries the label.
    pub fn content(&self) -> &Datum {
        &self.0
    }
}

impl Datum {
    /// A pair.
    pub fn cons(car: Datum, cdr: Datum) -> Datum {
        Datum::Pair(Arc::new(Pair { car, cdr }))
    }

    /// A proper list.
    pub fn list(elements: Vec<Datum>) -> Datum {
        Datum::list_with_tail(elements, Datum::Nil)
    }

    /// A list that ends with `tail`.
    pub fn list_with_tail(elements: Vec<Datum>, tail: Datum) -> Datum {
        elements
            .into_iter()
            .rev()
            .fold(tail, |cdr, car| Datum::cons(car, cdr))
    }

    /// A vector.
    pub fn vector(elements: Vec<Datum>) -> Datum {
        Datum::Vector(Arc::new(Elements(elements)))
    }

    /// A datum with a label.
    pub fn labelled(label: u32, content: Datum) -> Datum {
        Datum::Labelled(label, Arc::new(Labelled(content)))
    }

    /// A symbol.
    pub fn symbol(text: &str) -> Datum {
        Datum::Symbol(Name::new(text))
    }

    /// An exact integer.
    pub fn integer(value: i64) -> Datum {
        Datum::Number(Arc::new(number::integer(value)))
    }

    /// Whether this is a pair, vector or label, that is, whether it has parts.
    fn has_parts(&self) -> bool {
        matches!(
            self,
            Datum::Pair(_) | Datum::Vector(_) | Datum::Labelled(..)
        )
    }

    /// Whether a label reference has no label around it in this datum.
    pub fn has_open_labels(&self) -> bool {
        let mut labels = std::collections::HashSet::new();
        let mut references = Vec::new();
        let mut pending = vec![self];
        while let Some(mut datum) = pending.pop() {
            while let Datum::Labelled(label, content) = datum {
                labels.insert(*label);
                datum = content.content();
            }
            match datum {
                Datum::LabelRef(label) => references.push(*label),
                Datum::Pair(pair) => pending.extend([&pair.cdr, &pair.car]),
                Datum::Vector(elements) => pending.extend(elements.iter()),
                _ => {}
            }
        }
        references.iter().any(|label| !labels.contains(label))
    }

    /// Whether the literal contains labels, so that building it needs patching.
    pub fn has_labels(&self) -> bool {
        let mut pending = vec![self];
        while let Some(datum) = pending.pop() {
            match datum {
                Datum::Labelled(..) | Datum::LabelRef(_) => return true,
                Datum::Pair(pair) => pending.extend([&pair.cdr, &pair.car]),
                Datum::Vector(elements) => pending.extend(elements.iter()),
                _ => {}
            }
        }
        false
    }
}

/// Moves the parts of `datum` that nobody else owns to `pending`, so that its own drop is shallow.
fn dismantle(datum: Datum, pending: &mut Vec<Datum>) {
    match datum {
        Datum::Pair(pair) => {
            if let Some(mut pair) = Arc::into_inner(pair) {
                pending.push(std::mem::replace(&mut pair.car, Datum::Nil));
                pending.push(std::mem::replace(&mut pair.cdr, Datum::Nil));
            }
        }
        Datum::Vector(elements) => {
            if let Some(mut elements) = Arc::into_inner(elements) {
                pending.append(&mut elements.0);
            }
        }
        Datum::Labelled(_, labelled) => {
            if let Some(mut labelled) = Arc::into_inner(labelled) {
                pending.push(std::mem::replace(&mut labelled.0, Datum::Nil));
            }
        }
        _ => {}
    }
}

fn drop_all(mut pending: Vec<Datum>) {
    while let Some(datum) = pending.pop() {
        dismantle(datum, &mut pending);
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if self.car.has_parts() || self.cdr.has_parts() {
            let car = std::mem::replace(&mut self.car, Datum::Nil);
            let cdr = std::mem::replace(&mut self.cdr, Datum::Nil);
            drop_all(vec![car, cdr]);
        }
    }
}

impl Drop for Elements {
    fn drop(&mut self) {
        if self.0.iter().any(Datum::has_parts) {
            drop_all(std::mem::take(&mut self.0));
        }
    }
}

impl Drop for Labelled {
    fn drop(&mut self) {
        if self.0.has_parts() {
            drop_all(vec![std::mem::replace(&mut self.0, Datum::Nil)]);
        }
    }
}

impl PartialEq for Datum {
    /// Structural equality; numbers compare as `eqv?` does.
    fn eq(&self, other: &Datum) -> bool {
        let mut pending = vec![(self, other)];
        while let Some((left, right)) = pending.pop() {
            let same = match (left, right) {
                (Datum::Pair(left), Datum::Pair(right)) => {
                    pending.push((&left.cdr, &right.cdr));
                    pending.push((&left.car, &right.car));
                    true
                }
                (Datum::Vector(left), Datum::Vector(right)) => {
                    pending.extend(left.iter().zip(right.iter()));
                    left.len() == right.len()
                }
                (Datum::Labelled(left, inner), Datum::Labelled(right, other)) => {
                    pending.push((&inner.0, &other.0));
                    left == right
                }
                _ => atoms_equal(left, right),
            };
            if !same {
                return false;
            }
        }
        true
    }
}

/// Equality of data without parts.
fn atoms_equal(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Boolean(left), Datum::Boolean(right)) => left == right,
        (Datum::Character(left), Datum::Character(right)) => left == right,
        (Datum::Number(left), Datum::Number(right)) => number::equivalent(left, right),
        (Datum::String(left), Datum::String(right)) => left == right,
        (Datum::Symbol(left), Datum::Symbol(right)) => left == right,
        (Datum::Keyword(left), Datum::Keyword(right)) => left == right,
        (Datum::Bytevector(left), Datum::Bytevector(right)) => left == right,
        (Datum::NumericVector(left_type, left), Datum::NumericVector(right_type, right)) => {
            left_type == right_type && left == right
        }
        (Datum::LabelRef(left), Datum::LabelRef(right)) => left == right,
        (Datum::Object(left), Datum::Object(right)) => left == right,
        (Datum::Nil, Datum::Nil)
        | (Datum::Eof, Datum::Eof)
        | (Datum::Unspecified, Datum::Unspecified)
        | (Datum::DefaultObject, Datum::DefaultObject) => true,
        _ => false,
    }
}

impl fmt::Debug for Datum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
