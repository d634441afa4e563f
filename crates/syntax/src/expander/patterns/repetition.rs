//! Tests of patterns with a repeated part: loops over the elements of lists and vectors.
//!
//! The values of each variable are collected in a list. A loop ends with a call of the failure or
//! continues to the rest of the row, both in tail position.

use crate::core::{Expr, VarId};
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::patterns::decide::{Action, Decider, Row, bind, local};
use crate::expander::patterns::{Pattern, PatternKind, Repeated};
use crate::span::Span;

/// The operands of a repeated pattern's test: the value, the values tested afterwards (the last one
/// first), the failure procedure, and the span of the pattern.
#[derive(Clone, Copy)]
pub(super) struct Place<'v> {
    pub value: VarId,
    pub others: &'v [VarId],
    pub failure: VarId,
    pub span: Span,
}

impl Place<'_> {
    fn at(&self, variable: VarId) -> Expr {
        local(variable, self.span)
    }

    fn value(&self) -> Expr {
        self.at(self.value)
    }

    fn integer(&self, number: usize) -> Expr {
        Expr::constant(self.span, Datum::integer(number as i64))
    }
}

impl Decider {
    /// `element … after … . tail`
    pub(super) fn repeated(
        &mut self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        mut row: Row,
        repeated: Repeated,
    ) -> Expr {
        let is_list = repeated.tail.is_nil() && repeated.after.is_empty();
        match repeated.element.kind {
            PatternKind::Variable(number) if is_list => {
                row.values[number] = Some(place.value);
                self.whole_list(expander, place, row, &repeated)
            }
            PatternKind::Anything if is_list => self.whole_list(expander, place, row, &repeated),
            _ if is_list && repeated.least == 0 && !repeated.exactly => {
                self.every_element(expander, place, row, repeated)
            }
            _ => self.counted_elements(expander, place, row, repeated),
        }
    }

    /// Every list of the right length will do.
    fn whole_list(
        &mut self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        row: Row,
        repeated: &Repeated,
    ) -> Expr {
        let span = place.span;
        let mut body = self.decide(expander, place.others, vec![row], place.failure);
        if repeated.least > 0 || repeated.exactly {
            let count = self.fresh(expander, "count");
            let length = expander.primitive_call("length", vec![place.value()], span);
            let test = fits(expander, place.at(count), repeated, 0, span);
            let choice = Expr::conditional(span, test, body, self.fail(place.failure, span));
            body = bind(vec![(count, length)], choice);
        }
        let is_list = expander.primitive_call("list?", vec![place.value()], span);
        Expr::conditional(span, is_list, body, self.fail(place.failure, span))
    }

    /// A loop to the end of a proper list.
    fn every_element(
        &mut self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        mut row: Row,
        repeated: Repeated,
    ) -> Expr {
        let span = place.span;
        let rest = self.fresh(expander, "rest");
        let lists = self.accumulators(expander, &repeated);
        let next = self.fresh(expander, "loop");
        let finished = self.finished(expander, place, &mut row, &repeated, &lists);
        let leading = vec![expander.primitive_call("cdr", vec![place.at(rest)], span)];
        let car = expander.primitive_call("car", vec![place.at(rest)], span);
        let step = self.step(expander, place, &row, repeated, next, leading, car, &lists);
        let after = self.decide(expander, place.others, vec![row], place.failure);
        let at_end = expander.primitive_call("null?", vec![place.at(rest)], span);
        let body = Expr::conditional(span, at_end, bind(finished, after), step);
        let operands = vec![place.value()];
        let loops = loop_of(expander, next, vec![rest], operands, &lists, body, span);
        let is_list = expander.primitive_call("list?", vec![place.value()], span);
        Expr::conditional(span, is_list, loops, self.fail(place.failure, span))
    }

    /// A loop over so many elements that those behind them are left. A list that may be circular is
    /// measured first.
    fn counted_elements(
        &mut self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        mut row: Row,
        mut repeated: Repeated,
    ) -> Expr {
        let span = place.span;
        let rest = self.fresh(expander, "rest");
        let left = self.fresh(expander, "left");
        let count = self.fresh(expander, "count");
        let lists = self.accumulators(expander, &repeated);
        let next = self.fresh(expander, "loop");
        let behind = repeated.after.len();
        let test = fits(expander, place.at(count), &repeated, behind, span);
        let finished = self.finished(expander, place, &mut row, &repeated, &lists);
        let tail = std::mem::replace(&mut repeated.tail, Pattern::anything(span));
        let after = std::mem::take(&mut repeated.after);
        let tail = after.into_iter().rev().fold(tail, |cdr, car| {
            Pattern::new(car.span, PatternKind::Pair(Box::new([car, cdr])))
        });
        let one = place.integer(1);
        let leading = vec![
            expander.primitive_call("cdr", vec![place.at(rest)], span),
            expander.primitive_call("-", vec![place.at(left), one], span),
        ];
        let car = expander.primitive_call("car", vec![place.at(rest)], span);
        let step = self.step(expander, place, &row, repeated, next, leading, car, &lists);
        let mut inner = place.others.to_vec();
        row.patterns.push(tail);
        inner.push(rest);
        let after = self.decide(expander, &inner, vec![row], place.failure);
        let operands = vec![place.at(left), place.integer(0)];
        let at_end = expander.primitive_call("eq?", operands, span);
        let body = Expr::conditional(span, at_end, bind(finished, after), step);
        let operands = vec![place.at(count), place.integer(behind)];
        let first = expander.primitive_call("-", operands, span);
        let operands = vec![place.value(), first];
        let loops = loop_of(
            expander,
            next,
            vec![rest, left],
            operands,
            &lists,
            body,
            span,
        );
        let measured = expander.primitive_call("%pair-count", vec![place.value()], span);
        let no = Expr::constant(span, Datum::Boolean(false));
        let test = Expr::conditional(span, place.at(count), test, no);
        let result = Expr::conditional(span, test, loops, self.fail(place.failure, span));
        bind(vec![(count, measured)], result)
    }

    /// A variable for the list of each variable of the element.
    fn accumulators(&self, expander: &mut Expander<'_>, repeated: &Repeated) -> Vec<VarId> {
        let fresh = |_: &usize| self.fresh(expander, "values");
        repeated.variables.iter().map(fresh).collect()
    }

    /// The values of the variables when the loop is over. The lists stay as they are: a predicate may
    /// be returned to.
    fn finished(
        &self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        row: &mut Row,
        repeated: &Repeated,
        lists: &[VarId],
    ) -> Vec<(VarId, Expr)> {
        let mut bindings = Vec::with_capacity(lists.len());
        for (number, list) in repeated.variables.iter().zip(lists) {
            let variable = self.fresh(expander, "values");
            let value = expander.primitive_call("reverse", vec![place.at(*list)], place.span);
            bindings.push((variable, value));
            row.values[*number] = Some(variable);
        }
        bindings
    }

    /// One round: asks the pattern of the element, then calls the loop.
    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        row: &Row,
        repeated: Repeated,
        next: VarId,
        leading: Vec<Expr>,
        value: Expr,
        lists: &[VarId],
    ) -> Expr {
        let element = self.fresh(expander, "element");
        let round = Row {
            patterns: vec![repeated.element],
            later: Vec::new(),
            values: row.values.clone(),
            action: Action::Call {
                procedure: next,
                leading,
                variables: repeated.variables,
                accumulators: lists.to_vec(),
            },
        };
        let step = self.decide(expander, &[element], vec![round], place.failure);
        bind(vec![(element, value)], step)
    }

    /// A vector with repeated elements, which are visited from the last one on.
    pub(super) fn vector_repeated(
        &mut self,
        expander: &mut Expander<'_>,
        place: Place<'_>,
        mut row: Row,
        before: Vec<Pattern>,
        mut repeated: Repeated,
    ) -> Expr {
        let span = place.span;
        let count = self.fresh(expander, "count");
        let next = self.fresh(expander, "loop");
        let index = self.fresh(expander, "index");
        let (first, behind) = (before.len(), repeated.after.len());
        let test = fits(expander, place.at(count), &repeated, first + behind, span);
        let lists = self.accumulators(expander, &repeated);
        for (number, list) in repeated.variables.iter().zip(&lists) {
            row.values[*number] = Some(*list);
        }
        let operands = vec![place.at(index), place.integer(1)];
        let leading = vec![expander.primitive_call("-", operands, span)];
        let operands = vec![place.value(), place.at(index)];
        let access = expander.primitive_call("vector-ref", operands, span);
        let after = std::mem::take(&mut repeated.after);
        let step = self.step(
            expander, place, &row, repeated, next, leading, access, &lists,
        );
        // The other elements are bound when the repeated ones have fitted.
        let others = before
            .into_iter()
            .enumerate()
            .map(|(number, pattern)| (place.integer(number), pattern));
        let mut fixed: Vec<(Expr, Pattern)> = others.collect();
        for (number, pattern) in after.into_iter().enumerate() {
            let operands = vec![place.at(count), place.integer(behind - number)];
            fixed.push((expander.primitive_call("-", operands, span), pattern));
        }
        let mut bindings = Vec::with_capacity(fixed.len());
        let mut inner = place.others.to_vec();
        for (number, pattern) in fixed.into_iter().rev() {
            let variable = self.fresh(expander, "element");
            let operands = vec![place.value(), number];
            bindings.push((
                variable,
                expander.primitive_call("vector-ref", operands, span),
            ));
            inner.push(variable);
            row.patterns.push(pattern);
        }
        let after = self.decide(expander, &inner, vec![row], place.failure);
        let operands = vec![place.at(index), place.integer(first)];
        let at_end = expander.primitive_call("<", operands, span);
        let body = Expr::conditional(span, at_end, bind(bindings, after), step);
        let operands = vec![place.at(count), place.integer(behind + 1)];
        let last = expander.primitive_call("-", operands, span);
        let loops = loop_of(expander, next, vec![index], vec![last], &lists, body, span);
        let inner = Expr::conditional(span, test, loops, self.fail(place.failure, span));
        let length = expander.primitive_call("vector-length", vec![place.value()], span);
        let is_vector = expander.primitive_call("vector?", vec![place.value()], span);
        let inner = bind(vec![(count, length)], inner);
        Expr::conditional(span, is_vector, inner, self.fail(place.failure, span))
    }
}

/// A loop whose last variables are empty lists at first.
fn loop_of(
    expander: &mut Expander<'_>,
    procedure: VarId,
    mut variables: Vec<VarId>,
    mut operands: Vec<Expr>,
    lists: &[VarId],
    body: Expr,
    span: Span,
) -> Expr {
    variables.extend(lists);
    operands.extend(lists.iter().map(|_| Expr::constant(span, Datum::Nil)));
    expander.loop_expression(procedure, variables, body, operands, span, span)
}

/// Whether so many elements, of which `behind` belong to other patterns, are as many as there should be.
fn fits(
    expander: &mut Expander<'_>,
    count: Expr,
    repeated: &Repeated,
    behind: usize,
    span: Span,
) -> Expr {
    let least = Expr::constant(span, Datum::integer((repeated.least + behind) as i64));
    let name = if repeated.exactly { "=" } else { ">=" };
    expander.primitive_call(name, vec![count, least], span)
}
