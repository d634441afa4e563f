//! Patterns of `match` and its relatives.
//!
//! [`parse`] makes a [`Pattern`] of what stands in the program and reports what is wrong there;
//! [`decide`] makes the tests of rows of patterns. Neither knows which form the patterns belong to
//! beyond its name.
//!
//! The operators (`?`, `and`, `$` …) are names that are not local variables, so that a library need not
//! export them.

pub(crate) mod decide;
pub(crate) mod parse;
mod repetition;

use crate::core::Expr;
use crate::datum::Datum;
use crate::name::Name;
use crate::span::Span;

/// A pattern with its place.
pub(crate) struct Pattern {
    pub span: Span,
    pub kind: PatternKind,
}

/// The kinds of pattern, with the values that they match.
pub(crate) enum PatternKind {
    /// Every value.
    Anything,
    /// Every value; the variable with this number in the row is bound to it.
    Variable(usize),
    /// A value equal to a datum without parts.
    Literal(Datum),
    Pair(Box<[Pattern; 2]>),
    /// Pairs whose cars match one pattern, then others.
    Repeated(Box<Repeated>),
    /// A vector of exactly these elements.
    Vector(Vec<Pattern>),
    /// A vector that begins with these elements and continues with repeated ones and those after them.
    VectorRepeated(Vec<Pattern>, Box<Repeated>),
    /// A record of a type, and some of its fields.
    Record(Expr, Vec<Field>),
    /// A value that satisfies a predicate.
    Predicate(Expr, Box<Pattern>),
    /// A value for which the result of a procedure matches.
    Applied(Expr, Box<Pattern>),
    All(Vec<Pattern>),
    /// Each pattern binds the same variables.
    Any(Vec<Pattern>),
    /// The pattern binds nothing.
    Not(Box<Pattern>),
}

/// A field of a record pattern.
pub(crate) struct Field {
    pub index: usize,
    pub name: Name,
    pub pattern: Pattern,
}

/// `element … after … . tail`
pub(crate) struct Repeated {
    pub element: Pattern,
    /// The variables of the element, each of which becomes a list.
    pub variables: Vec<usize>,
    pub least: usize,
    /// Whether `least` is also the greatest number.
    pub exactly: bool,
    pub after: Vec<Pattern>,
    pub tail: Pattern,
}

impl Pattern {
    pub fn new(span: Span, kind: PatternKind) -> Pattern {
        Pattern { span, kind }
    }

    fn anything(span: Span) -> Pattern {
        Pattern::new(span, PatternKind::Anything)
    }

    fn is_anything(&self) -> bool {
        matches!(self.kind, PatternKind::Anything)
    }

    fn is_nil(&self) -> bool {
        matches!(self.kind, PatternKind::Literal(Datum::Nil))
    }
}
