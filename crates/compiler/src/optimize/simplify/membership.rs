//! Membership in literal lists, which is what the clauses of `case` ask for.
//!
//! A few members are compared one by one. Many characters or integers are a few intervals of code
//! points or numbers mostly, and those are searched by halves: a question for each half, instead of one
//! for each member.

use canny_syntax::core::{Expr, ExprKind, VarId};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::number::as_integer;
use canny_syntax::span::Span;

use super::{NOTHING, Simplifier};
use crate::literals::has_word_identity;
use crate::optimize::build::{bind, local, primitive};

/// Members that are compared one by one.
pub(super) const ONE_BY_ONE_MAX: usize = 8;
/// Intervals of one type that are searched at most.
const INTERVALS_MAX: usize = 16;

/// The members of a list, by how they are looked for.
pub(super) struct Members {
    characters: Vec<Interval>,
    integers: Vec<Interval>,
    /// Compared one by one.
    others: Vec<Datum>,
}

/// From the first number to the second, both included.
type Interval = (i64, i64);

impl Members {
    /// None if the list is better left to the primitive.
    pub(super) fn new(elements: Vec<Datum>) -> Option<Members> {
        if !elements.iter().all(has_word_identity) {
            return None;
        }
        let mut members = Members {
            characters: Vec::new(),
            integers: Vec::new(),
            others: Vec::new(),
        };
        if elements.len() <= ONE_BY_ONE_MAX {
            members.others = elements;
            return Some(members);
        }
        for element in elements {
            match &element {
                Datum::Character(c) => members.characters.push((*c as i64, *c as i64)),
                Datum::Number(number) => {
                    let value = as_integer(number)?;
                    members.integers.push((value, value));
                }
                _ => members.others.push(element),
            }
        }
        merge(&mut members.characters);
        merge(&mut members.integers);
        let fits = members.characters.len().max(members.integers.len()) <= INTERVALS_MAX
            && members.others.len() <= ONE_BY_ONE_MAX;
        fits.then_some(members)
    }

    /// Times that the key is mentioned.
    fn mentions(&self) -> usize {
        2 + 2 * self.integers.len() + self.others.len()
    }
}

/// Puts intervals in order and joins those that touch.
fn merge(intervals: &mut Vec<Interval>) {
    intervals.sort_unstable();
    intervals.dedup_by(|next, before| {
        let touches = next.0 <= before.1 + 1;
        if touches {
            before.1 = before.1.max(next.1);
        }
        touches
    });
}

impl Simplifier<'_> {
    /// `(memv x '(a b))` as a test: `x` looked for among the members.
    pub(super) fn unroll_membership(&mut self, expr: &mut Expr, members: Members) {
        let span = expr.span;
        let ExprKind::Call { operands, .. } = std::mem::replace(&mut expr.kind, NOTHING) else {
            return;
        };
        let Some(key) = operands.into_iter().next() else {
            return;
        };
        let (var, binding) = self.named_key(key, members.mentions(), span);
        let mut test = one_of(var, members.others, span);
        if !members.integers.is_empty() {
            let search = within(var, &members.integers, false, span);
            let is_fixnum = call("fixnum?", vec![local(var, span)], span);
            test = Expr::conditional(span, is_fixnum, search, test);
        }
        if !members.characters.is_empty() {
            let point = self.locals.add(Name::new("code-point"), span);
            let search = within(point, &members.characters, false, span);
            let code_point = call("char->integer", vec![local(var, span)], span);
            let search = bind(vec![(point, code_point)], search, span);
            let is_character = call("char?", vec![local(var, span)], span);
            test = Expr::conditional(span, is_character, search, test);
        }
        *expr = match binding {
            Some(binding) => bind(vec![binding], test, span),
            None => test,
        };
    }
}

/// Whether the variable is one of these objects.
fn one_of(var: VarId, elements: Vec<Datum>, span: Span) -> Expr {
    let compare = |datum: Datum| {
        let operands = vec![local(var, span), Expr::constant(span, datum)];
        call("eq?", operands, span)
    };
    let mut elements = elements.into_iter().rev();
    let last = elements.next().map_or_else(|| truth(false, span), compare);
    elements.fold(last, |rest, datum| {
        Expr::conditional(span, compare(datum), truth(true, span), rest)
    })
}

/// Whether the number in a variable is in one of the intervals; `is_above` says that it is not below
/// the first.
fn within(var: VarId, intervals: &[Interval], is_above: bool, span: Span) -> Expr {
    let compare = |name: &'static str, with: i64| {
        let constant = Expr::constant(span, Datum::integer(with));
        call(name, vec![local(var, span), constant], span)
    };
    match intervals {
        [] => truth(false, span),
        [(first, last)] if first == last => compare("=", *first),
        [(_, last)] if is_above => compare("<=", *last),
        [(first, last)] => Expr::conditional(
            span,
            compare("<", *first),
            truth(false, span),
            compare("<=", *last),
        ),
        _ => {
            let (low, high) = intervals.split_at(intervals.len() / 2);
            let (low, high_side) = (
                within(var, low, is_above, span),
                within(var, high, true, span),
            );
            Expr::conditional(span, compare("<", high[0].0), low, high_side)
        }
    }
}

pub(super) fn call(name: &'static str, operands: Vec<Expr>, span: Span) -> Expr {
    Expr::call(span, primitive(name, span), operands)
}

pub(super) fn truth(value: bool, span: Span) -> Expr {
    Expr::constant(span, Datum::Boolean(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_joined() {
        let mut intervals = vec![(5, 5), (1, 1), (2, 2), (9, 9), (2, 2), (4, 4), (7, 7)];
        merge(&mut intervals);
        assert_eq!(intervals, [(1, 2), (4, 5), (7, 7), (9, 9)]);
    }
}
