//! Syntax objects: data with positions, whose symbols are identifiers.
//!
//! An [`Identifier`] is a symbol together with the expansion step that introduced it (see
//! `expander::scope` for what that means); the reader makes only identifiers of step zero. As with
//! [`Datum`], dropping and stripping are loops, never native recursion.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::datum::Datum;
use crate::name::Name;
use crate::span::Span;

/// The number of an alias in the expander's table; zero for what stands in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AliasId(pub u32);

impl AliasId {
    /// The alias of identifiers that no macro introduced.
    pub const NONE: AliasId = AliasId(0);
}

/// A symbol in a program. Two identifiers are `bound-identifier=?` exactly when they are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identifier {
    /// The symbol that `quote` gives.
    pub name: Name,
    /// The alias that a macro step gave it; `NONE` if no macro introduced it.
    pub alias: AliasId,
}

impl Identifier {
    /// The identifier of a symbol in the source.
    pub fn plain(name: Name) -> Identifier {
        Identifier {
            name,
            alias: AliasId::NONE,
        }
    }
}

/// A datum with a position.
#[derive(Clone)]
pub struct Syntax {
    /// Where it stands, or where the macro use stands that inserted it.
    pub span: Span,
    /// The kind of syntax object, with its parts.
    pub kind: SyntaxKind,
}

/// The kinds of syntax object.
#[derive(Clone)]
pub enum SyntaxKind {
    /// A symbol.
    Identifier(Identifier),
    /// A pair.
    Pair(Arc<SyntaxPair>),
    /// A vector.
    Vector(Arc<SyntaxElements>),
    /// A datum with a label.
    Labelled(u32, Arc<SyntaxElements>),
    /// A datum without parts that is not a symbol; also the empty list and label references.
    Atom(Datum),
}

/// The halves of a pair.
pub struct SyntaxPair {
    /// The first half.
    pub car: Syntax,
    /// The second half.
    pub cdr: Syntax,
}

/// The parts of a vector, or the one part of a labelled datum.
pub struct SyntaxElements(Vec<Syntax>);

impl SyntaxElements {
    /// The parts in order.
    pub fn as_slice(&self) -> &[Syntax] {
        &self.0
    }
}

/// A part of a syntax object that has no parts itself.
pub enum Leaf<'a> {
    /// A symbol.
    Identifier(Identifier),
    /// Anything else.
    Atom(&'a Datum),
}

/// A list taken apart: its elements and what follows the last pair (the empty list if proper).
pub struct ListParts {
    /// The elements.
    pub elements: Vec<Syntax>,
    /// The datum after the last pair; the empty list if the list is proper.
    pub tail: Syntax,
}

impl Syntax {
    /// A syntax object.
    pub fn new(span: Span, kind: SyntaxKind) -> Syntax {
        Syntax { span, kind }
    }

    /// A datum without parts.
    pub fn atom(span: Span, datum: Datum) -> Syntax {
        Syntax::new(span, SyntaxKind::Atom(datum))
    }

    /// The empty list.
    pub fn nil(span: Span) -> Syntax {
        Syntax::atom(span, Datum::Nil)
    }

    /// An identifier.
    pub fn identifier(span: Span, identifier: Identifier) -> Syntax {
        Syntax::new(span, SyntaxKind::Identifier(identifier))
    }

    /// A symbol as the reader makes it.
    pub fn symbol(span: Span, text: &str) -> Syntax {
        Syntax::identifier(span, Identifier::plain(Name::new(text)))
    }

    /// A pair.
    pub fn cons(span: Span, car: Syntax, cdr: Syntax) -> Syntax {
        Syntax::new(span, SyntaxKind::Pair(Arc::new(SyntaxPair { car, cdr })))
    }

    /// A proper list.
    pub fn list(span: Span, elements: Vec<Syntax>) -> Syntax {
        let tail = Syntax::nil(Span {
            start: span.end,
            ..span
        });
        Syntax::list_with_tail(span, elements, tail)
    }

    /// A list that ends with `tail`. The inner pairs span from their element to the list's end.
    pub fn list_with_tail(span: Span, elements: Vec<Syntax>, tail: Syntax) -> Syntax {
        let count = elements.len();
        let mut result = tail;
        for (index, element) in elements.into_iter().enumerate().rev() {
            let start = if index == 0 || element.span.source != span.source {
                span.start
            } else {
                element.span.start
            };
            result = Syntax::cons(Span { start, ..span }, element, result);
        }
        if count > 0 {
            result.span = span;
        }
        result
    }

    /// A vector.
    pub fn vector(span: Span, elements: Vec<Syntax>) -> Syntax {
        Syntax::new(span, SyntaxKind::Vector(Arc::new(SyntaxElements(elements))))
    }

    /// A datum with a label.
    pub fn labelled(span: Span, label: u32, content: Syntax) -> Syntax {
        Syntax::new(
            span,
            SyntaxKind::Labelled(label, Arc::new(SyntaxElements(vec![content]))),
        )
    }

    /// The same without the labels around it.
    pub fn unlabelled(&self) -> &Syntax {
        let mut syntax = self;
        while let SyntaxKind::Labelled(_, content) = &syntax.kind {
            syntax = &content.0[0];
        }
        syntax
    }

    /// The identifier, if it is one.
    pub fn as_identifier(&self) -> Option<Identifier> {
        match &self.unlabelled().kind {
            SyntaxKind::Identifier(identifier) => Some(*identifier),
            _ => None,
        }
    }

    /// The pair, if it is one.
    pub fn as_pair(&self) -> Option<&SyntaxPair> {
        match &self.unlabelled().kind {
            SyntaxKind::Pair(pair) => Some(pair),
            _ => None,
        }
    }

    /// The elements, if it is a vector.
    pub fn as_vector(&self) -> Option<&[Syntax]> {
        match &self.unlabelled().kind {
            SyntaxKind::Vector(elements) => Some(elements.as_slice()),
            _ => None,
        }
    }

    /// The datum without parts, if it is one.
    pub fn as_atom(&self) -> Option<&Datum> {
        match &self.unlabelled().kind {
            SyntaxKind::Atom(datum) => Some(datum),
            _ => None,
        }
    }

    /// Whether it is the empty list.
    pub fn is_nil(&self) -> bool {
        matches!(self.as_atom(), Some(Datum::Nil))
    }

    /// Takes a list apart; what is not a pair is a tail without elements.
    pub fn parts(&self) -> ListParts {
        let mut elements = Vec::new();
        let mut rest = self;
        while let Some(pair) = rest.as_pair() {
            elements.push(pair.car.clone());
            rest = &pair.cdr;
        }
        ListParts {
            elements,
            tail: rest.clone(),
        }
    }

    /// The elements of a proper list.
    pub fn elements(&self) -> Option<Vec<Syntax>> {
        let parts = self.parts();
        parts.tail.is_nil().then_some(parts.elements)
    }

    fn has_parts(&self) -> bool {
        !matches!(self.kind, SyntaxKind::Identifier(_) | SyntaxKind::Atom(_))
    }

    /// The plain datum: identifiers become their symbols. A labelled part that occurs twice is
    /// written once and referred to by its label the second time.
    pub fn to_datum(&self) -> Datum {
        self.to_datum_with(&mut |leaf| match leaf {
            Leaf::Identifier(identifier) => Datum::Symbol(identifier.name),
            Leaf::Atom(datum) => datum.clone(),
        })
    }

    /// The datum whose parts that are neither pairs nor vectors are made by `leaf`. A labelled part
    /// that occurs twice is written once and referred to by its label the second time.
    pub fn to_datum_with(&self, leaf: &mut dyn FnMut(Leaf<'_>) -> Datum) -> Datum {
        enum Work<'a> {
            Visit(&'a Syntax),
            Pair,
            Vector(usize),
            Label(u32),
        }
        let mut seen = HashSet::new();
        let mut pending = vec![Work::Visit(self)];
        let mut finished: Vec<Datum> = Vec::new();
        while let Some(work) = pending.pop() {
            match work {
                Work::Visit(syntax) => match &syntax.kind {
                    SyntaxKind::Identifier(identifier) => {
                        finished.push(leaf(Leaf::Identifier(*identifier)))
                    }
                    SyntaxKind::Atom(datum) => finished.push(leaf(Leaf::Atom(datum))),
                    SyntaxKind::Pair(pair) => {
                        pending.extend([
                            Work::Pair,
                            Work::Visit(&pair.cdr),
                            Work::Visit(&pair.car),
                        ]);
                    }
                    SyntaxKind::Vector(elements) => {
                        pending.push(Work::Vector(elements.0.len()));
                        pending.extend(elements.0.iter().rev().map(Work::Visit));
                    }
                    SyntaxKind::Labelled(label, _) if !seen.insert(*label) => {
                        finished.push(Datum::LabelRef(*label))
                    }
                    SyntaxKind::Labelled(label, content) => {
                        pending.extend([Work::Label(*label), Work::Visit(&content.0[0])]);
                    }
                },
                Work::Pair => {
                    let cdr = finished.pop().unwrap_or(Datum::Nil);
                    let car = finished.pop().unwrap_or(Datum::Nil);
                    finished.push(Datum::cons(car, cdr));
                }
                Work::Vector(count) => {
                    let first = finished.len() - count;
                    let elements = finished.split_off(first);
                    finished.push(Datum::vector(elements));
                }
                Work::Label(label) => {
                    let content = finished.pop().unwrap_or(Datum::Nil);
                    finished.push(Datum::labelled(label, content));
                }
            }
        }
        finished.pop().unwrap_or(Datum::Nil)
    }

    /// The same with other identifiers.
    pub fn map_identifiers(&self, new: &mut dyn FnMut(Identifier) -> Identifier) -> Syntax {
        enum Work<'a> {
            Visit(&'a Syntax),
            Pair(Span),
            Vector(Span, usize),
            Label(Span, u32),
        }
        let mut pending = vec![Work::Visit(self)];
        let mut finished: Vec<Syntax> = Vec::new();
        while let Some(work) = pending.pop() {
            match work {
                Work::Visit(syntax) => match &syntax.kind {
                    SyntaxKind::Identifier(identifier) => {
                        finished.push(Syntax::identifier(syntax.span, new(*identifier)));
                    }
                    SyntaxKind::Atom(_) => finished.push(syntax.clone()),
                    SyntaxKind::Pair(pair) => pending.extend([
                        Work::Pair(syntax.span),
                        Work::Visit(&pair.cdr),
                        Work::Visit(&pair.car),
                    ]),
                    SyntaxKind::Vector(elements) => {
                        pending.push(Work::Vector(syntax.span, elements.0.len()));
                        pending.extend(elements.0.iter().rev().map(Work::Visit));
                    }
                    SyntaxKind::Labelled(label, content) => pending
                        .extend([Work::Label(syntax.span, *label), Work::Visit(&content.0[0])]),
                },
                Work::Pair(span) => {
                    let cdr = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                    let car = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                    finished.push(Syntax::cons(span, car, cdr));
                }
                Work::Vector(span, count) => {
                    let elements = finished.split_off(finished.len() - count);
                    finished.push(Syntax::vector(span, elements));
                }
                Work::Label(span, label) => {
                    let content = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                    finished.push(Syntax::labelled(span, label, content));
                }
            }
        }
        finished.pop().unwrap_or_else(|| Syntax::nil(self.span))
    }

    /// A datum as syntax, every part with the same span and plain identifiers.
    pub fn from_datum(span: Span, datum: &Datum) -> Syntax {
        enum Work<'a> {
            Visit(&'a Datum),
            Pair,
            Vector(usize),
            Label(u32),
        }
        let mut pending = vec![Work::Visit(datum)];
        let mut finished: Vec<Syntax> = Vec::new();
        while let Some(work) = pending.pop() {
            match work {
                Work::Visit(Datum::Symbol(name)) => {
                    finished.push(Syntax::identifier(span, Identifier::plain(*name)));
                }
                Work::Visit(Datum::Pair(pair)) => {
                    pending.extend([Work::Pair, Work::Visit(&pair.cdr), Work::Visit(&pair.car)]);
                }
                Work::Visit(Datum::Vector(elements)) => {
                    pending.push(Work::Vector(elements.len()));
                    pending.extend(elements.iter().rev().map(Work::Visit));
                }
                Work::Visit(Datum::Labelled(label, content)) => {
                    pending.extend([Work::Label(*label), Work::Visit(content.content())]);
                }
                Work::Visit(atom) => finished.push(Syntax::atom(span, atom.clone())),
                Work::Pair => {
                    let cdr = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                    let car = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                    finished.push(Syntax::cons(span, car, cdr));
                }
                Work::Vector(count) => {
                    let first = finished.len() - count;
                    let elements = finished.split_off(first);
                    finished.push(Syntax::vector(span, elements));
                }
                Work::Label(label) => {
                    let content = finished.pop().unwrap_or_else(|| Syntax::nil(span));
                    finished.push(Syntax::labelled(span, label, content));
                }
            }
        }
        finished.pop().unwrap_or_else(|| Syntax::nil(span))
    }
}

fn dismantle(syntax: Syntax, pending: &mut Vec<Syntax>) {
    match syntax.kind {
        SyntaxKind::Pair(pair) => {
            if let Some(mut pair) = Arc::into_inner(pair) {
                pending.push(std::mem::replace(&mut pair.car, Syntax::nil(Span::NONE)));
                pending.push(std::mem::replace(&mut pair.cdr, Syntax::nil(Span::NONE)));
            }
        }
        SyntaxKind::Vector(elements) | SyntaxKind::Labelled(_, elements) => {
            if let Some(mut elements) = Arc::into_inner(elements) {
                pending.append(&mut elements.0);
            }
        }
        SyntaxKind::Identifier(_) | SyntaxKind::Atom(_) => {}
    }
}

fn drop_all(mut pending: Vec<Syntax>) {
    while let Some(syntax) = pending.pop() {
        dismantle(syntax, &mut pending);
    }
}

impl Drop for SyntaxPair {
    fn drop(&mut self) {
        if self.car.has_parts() || self.cdr.has_parts() {
            let car = std::mem::replace(&mut self.car, Syntax::nil(Span::NONE));
            let cdr = std::mem::replace(&mut self.cdr, Syntax::nil(Span::NONE));
            drop_all(vec![car, cdr]);
        }
    }
}

impl Drop for SyntaxElements {
    fn drop(&mut self) {
        if self.0.iter().any(Syntax::has_parts) {
            drop_all(std::mem::take(&mut self.0));
        }
    }
}

impl fmt::Debug for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.name)?;
        if self.alias == AliasId::NONE {
            Ok(())
        } else {
            write!(formatter, "~{}", self.alias.0)
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_datum(), formatter)
    }
}

impl fmt::Debug for Syntax {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
