//! The call that each copy of a procedure's body replaces, so that backtraces can name procedures
//! that have no frame of their own.
//!
//! A copy's expressions carry a number in [`Span::inlining`]: that of an [`Inlined`] row, which names
//! the procedure and the call that the copy replaced. The call's own span may carry a number again: the
//! rows form a forest, children after their parents. Zero stands for no copy.

use std::collections::HashMap;

use canny_syntax::core::{Expr, ExprKind, Lambda};
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use crate::walk::{for_each_child_mut, for_each_lambda_child_mut};

/// Copies within copies that are distinguished; what lies deeper counts as part of the last.
const DEPTH_MAX: u32 = 40;

/// Expressions that are marked at most: marking walks over what it marks, and nested procedures are
/// marked once for each level.
const MARKS_MAX: usize = 1 << 20;

/// A call that was replaced by a copy of the procedure's body.
#[derive(Clone, Copy, Debug)]
pub struct Inlined {
    /// The procedure's name.
    pub procedure: Option<Name>,
    /// The call.
    pub call: Span,
    /// The procedure was imported, and its expressions have the position of the call.
    pub is_imported: bool,
    depth: u32,
}

/// All rows of a unit.
#[derive(Clone, Debug)]
pub struct Inlinings {
    rows: Vec<Inlined>,
    marks_left: usize,
}

impl Default for Inlinings {
    fn default() -> Inlinings {
        Inlinings {
            rows: Vec::new(),
            marks_left: MARKS_MAX,
        }
    }
}

/// The marks of one copy: for the number that an expression had, the one that it gets.
#[derive(Debug)]
pub struct Marks {
    row: Inlined,
    numbers: HashMap<u32, u32>,
}

impl Inlinings {
    /// The row of a number that is not zero.
    pub fn row(&self, number: u32) -> Option<&Inlined> {
        self.rows.get((number as usize).checked_sub(1)?)
    }

    /// Whether this is code that an imported procedure brought.
    pub fn is_imported(&self, span: Span) -> bool {
        self.row(span.inlining).is_some_and(|row| row.is_imported)
    }

    fn add(&mut self, row: Inlined) -> u32 {
        self.rows.push(row);
        self.rows.len() as u32
    }

    fn depth(&self, number: u32) -> u32 {
        self.row(number).map_or(0, |row| row.depth)
    }

    /// The position of everything in a copy of an imported procedure.
    pub fn imported(&mut self, procedure: Option<Name>, call: Span) -> Span {
        let depth = self.depth(call.inlining) + 1;
        if !call.is_some() || depth > DEPTH_MAX {
            return call;
        }
        let inlining = self.add(Inlined {
            procedure,
            call,
            is_imported: true,
            depth,
        });
        Span { inlining, ..call }
    }

    /// Begins a copy of a procedure at a call.
    pub fn copy(&self, procedure: Option<Name>, call: Span) -> Marks {
        Marks {
            row: Inlined {
                procedure,
                call,
                is_imported: false,
                depth: self.depth(call.inlining) + 1,
            },
            numbers: HashMap::new(),
        }
    }

    /// The position that an expression of the original has in the copy.
    pub fn mark(&mut self, marks: &mut Marks, span: Span) -> Span {
        if !span.is_some() || !marks.row.call.is_some() {
            return span;
        }
        let inlining = self.mark_number(marks, span.inlining);
        Span { inlining, ..span }
    }

    fn mark_number(&mut self, marks: &mut Marks, number: u32) -> u32 {
        if let Some(known) = marks.numbers.get(&number) {
            return *known;
        }
        let fresh = match self.row(number).copied() {
            None if marks.row.depth > DEPTH_MAX => marks.row.call.inlining,
            None => self.add(marks.row),
            Some(row) => {
                let inlining = self.mark_number(marks, row.call.inlining);
                let depth = self.depth(inlining) + 1;
                let call = Span {
                    inlining,
                    ..row.call
                };
                if depth > DEPTH_MAX {
                    inlining
                } else {
                    self.add(Inlined { call, depth, ..row })
                }
            }
        };
        marks.numbers.insert(number, fresh);
        fresh
    }

    /// Marks a procedure that moves to its only call.
    pub fn mark_lambda(&mut self, marks: &mut Marks, lambda: &mut Lambda) {
        lambda.span = self.mark(marks, lambda.span);
        for_each_lambda_child_mut(lambda, &mut |child| self.mark_expr(marks, child));
    }

    fn mark_expr(&mut self, marks: &mut Marks, expr: &mut Expr) {
        if self.marks_left == 0 {
            return;
        }
        self.marks_left -= 1;
        expr.span = self.mark(marks, expr.span);
        match &mut expr.kind {
            ExprKind::Lambda(lambda) => lambda.span = self.mark(marks, lambda.span),
            ExprKind::CaseLambda(clauses) => {
                for clause in clauses {
                    clause.span = self.mark(marks, clause.span);
                }
            }
            _ => {}
        }
        for_each_child_mut(expr, &mut |child| self.mark_expr(marks, child));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_syntax::span::SourceId;

    #[test]
    fn copies_of_copies_keep_the_chain() {
        let at = |start| Span::new(SourceId(0), start, start + 1);
        let (inner, outer) = (Some(Name::new("inner")), Some(Name::new("outer")));
        let mut inlinings = Inlinings::default();
        let mut first = inlinings.copy(inner, at(10));
        let in_inner = inlinings.mark(&mut first, at(1));
        let mut second = inlinings.copy(outer, at(20));
        let twice = inlinings.mark(&mut second, in_inner);
        let row = *inlinings.row(twice.inlining).unwrap();
        assert_eq!((row.procedure, row.call.start), (inner, 10));
        let row = *inlinings.row(row.call.inlining).unwrap();
        assert_eq!((row.procedure, row.call), (outer, at(20)));
        assert_eq!(inlinings.mark(&mut second, in_inner), twice);
    }

    #[test]
    fn chains_are_bounded() {
        let call = Span::new(SourceId(0), 0, 1);
        let mut inlinings = Inlinings::default();
        let mut span = call;
        for _ in 0..200 {
            let mut marks = inlinings.copy(None, call);
            span = inlinings.mark(&mut marks, span);
        }
        assert!(inlinings.depth(span.inlining) <= DEPTH_MAX);
    }
}
