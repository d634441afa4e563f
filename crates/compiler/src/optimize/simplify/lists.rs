//! Calls about lists of which the compiler knows something: literal lists that are searched, and lists
//! that are made only to be turned into something else.
//!
//! A part of a literal is never written as another literal, which would be another object: it is
//! taken out of the whole literal by `car` and `cdr`.

use canny_syntax::core::{Expr, ExprKind, VarId};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::calls::literal_elements;
use super::membership::{Members, ONE_BY_ONE_MAX, call, truth};
use super::{Context, Simplifier};
use crate::literals::has_word_identity;
use crate::optimize::build::{bind, local};
use crate::optimize::effects::primitive_call;

/// Most elements of a vector that is made without the list.
const VECTOR_MAX: usize = 64;

/// The result of a search: the rest of the list from the member on, or the association.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finds {
    Rest,
    Association,
}

impl Simplifier<'_> {
    /// `(memq x '(a b))` or `(assq x '((a . 1) (b . 2)))`, as comparisons.
    pub(super) fn search_literal(&mut self, expr: &mut Expr, context: Context) {
        let Some((id, [key, list])) = primitive_call(expr) else {
            return;
        };
        let finds = match id.row().name {
            "memq" | "memv" | "%member" => Finds::Rest,
            _ => Finds::Association,
        };
        let ExprKind::Constant(datum) = &list.kind else {
            return;
        };
        let keys = match finds {
            Finds::Rest => literal_elements(datum),
            Finds::Association => association_keys(datum),
        };
        let Some(keys) = keys.filter(|keys| keys.iter().all(has_word_identity)) else {
            return;
        };
        if let ExprKind::Constant(key) = &key.kind {
            let found = keys.iter().position(|one| one == key);
            let list = list.clone();
            if self.spend() {
                *expr = match found {
                    Some(index) if context == Context::Value => part(&list, index, finds),
                    _ => truth(found.is_some(), list.span),
                };
            }
        } else if context == Context::Test {
            if let Some(members) = Members::new(keys)
                && self.spend()
            {
                self.unroll_membership(expr, members);
            }
        } else if keys.len() <= ONE_BY_ONE_MAX && self.spend() {
            self.unroll_search(expr, keys, finds);
        }
    }

    fn unroll_search(&mut self, expr: &mut Expr, keys: Vec<Datum>, finds: Finds) {
        let span = expr.span;
        let ExprKind::Call { operands, .. } = &mut expr.kind else {
            return;
        };
        let [key, list] = operands.as_mut_slice() else {
            return;
        };
        let (key, list) = (super::take(key), super::take(list));
        let (var, binding) = self.named_key(key, keys.len(), span);
        let mut search = truth(false, span);
        for (index, key) in keys.into_iter().enumerate().rev() {
            let key = Expr::constant(span, key);
            let test = call("eq?", vec![local(var, span), key], span);
            search = Expr::conditional(span, test, part(&list, index, finds), search);
        }
        *expr = bind(binding.into_iter().collect(), search, span);
    }

    /// A variable for an expression, which is mentioned so many times, and its binding if it is a
    /// new one.
    pub(super) fn named_key(
        &mut self,
        key: Expr,
        mentions: usize,
        span: Span,
    ) -> (VarId, Option<(VarId, Expr)>) {
        let (var, binding) = match key.kind {
            ExprKind::LocalRef(var) if self.facts().is_stable(var) => (var, None),
            _ => {
                let var = self.locals.add(Name::new("key"), span);
                (var, Some((var, key)))
            }
        };
        if let Some(usage) = self.usage.get_mut(var.0 as usize) {
            usage.reads = usage.reads.saturating_add(mentions as u32);
        }
        (var, binding)
    }

    /// `(list->vector (list a b))` as `(vector a b)`.
    pub(super) fn vector_of_list(&mut self, expr: &mut Expr) {
        let span = expr.span;
        let ExprKind::Call { operands, .. } = &mut expr.kind else {
            return;
        };
        let [list] = operands.as_mut_slice() else {
            return;
        };
        let count = element_count(list);
        if count.is_some_and(|count| count <= VECTOR_MAX) && self.spend() {
            let mut elements = Vec::new();
            take_elements(super::take(list), &mut elements);
            *expr = call("vector", elements, span);
        }
    }

    /// The length of a literal list, or of what is behind some of its pairs.
    pub(super) fn length_of_list(&mut self, expr: &mut Expr) {
        let length = match primitive_call(expr) {
            Some((_, [list])) => literal_length(list),
            _ => None,
        };
        if let Some(length) = length
            && self.spend()
        {
            *expr = Expr::constant(expr.span, Datum::integer(length as i64));
        }
    }
}

/// The keys of a literal association list.
fn association_keys(datum: &Datum) -> Option<Vec<Datum>> {
    let mut keys = Vec::new();
    let mut rest = datum;
    while let Datum::Pair(pair) = rest {
        let Datum::Pair(association) = &pair.car else {
            return None;
        };
        if keys.len() == ONE_BY_ONE_MAX {
            return None;
        }
        keys.push(association.car.clone());
        rest = &pair.cdr;
    }
    matches!(rest, Datum::Nil).then_some(keys)
}

/// The part of a literal list that a search finds at an index.
fn part(list: &Expr, index: usize, finds: Finds) -> Expr {
    let span = list.span;
    let rest = (0..index).fold(list.clone(), |rest, _| call("cdr", vec![rest], span));
    match finds {
        Finds::Rest => rest,
        Finds::Association => call("car", vec![rest], span),
    }
}

/// The number of elements of a list that an expression makes, or whose elements are literals without
/// an identity.
fn element_count(list: &Expr) -> Option<usize> {
    if let ExprKind::Constant(datum) = &list.kind {
        return literal_elements(datum).map(|elements| elements.len());
    }
    let (id, operands) = primitive_call(list)?;
    match (id.row().name, operands) {
        ("list", _) => Some(operands.len()),
        ("cons" | "cons*", [first @ .., rest]) => Some(first.len() + element_count(rest)?),
        _ => None,
    }
}

/// The elements of a list that has an [`element_count`].
fn take_elements(list: Expr, elements: &mut Vec<Expr>) {
    let span = list.span;
    match list.kind {
        ExprKind::Constant(datum) => {
            let literals = literal_elements(&datum).unwrap_or_default();
            elements.extend(literals.into_iter().map(|one| Expr::constant(span, one)));
        }
        ExprKind::Call {
            operator,
            mut operands,
        } => {
            let is_list = match operator.kind {
                ExprKind::PrimitiveRef(id) => id.row().name == "list",
                _ => false,
            };
            let rest = if is_list { None } else { operands.pop() };
            elements.extend(operands);
            if let Some(rest) = rest {
                take_elements(rest, elements);
            }
        }
        _ => {}
    }
}

fn literal_length(list: &Expr) -> Option<usize> {
    if let ExprKind::Constant(datum) = &list.kind {
        let (mut length, mut rest) = (0, datum);
        while let Datum::Pair(pair) = rest {
            length += 1;
            rest = &pair.cdr;
        }
        return matches!(rest, Datum::Nil).then_some(length);
    }
    match primitive_call(list)? {
        (id, [inner]) if id.row().name == "cdr" => literal_length(inner)?.checked_sub(1),
        _ => None,
    }
}
