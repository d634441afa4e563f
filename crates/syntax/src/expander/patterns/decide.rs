//! From rows of patterns to tests.
//!
//! The method is Wadler's (chapter 5 of Peyton Jones, "The Implementation of Functional Programming
//! Languages"): rows are looked at column by column. Consecutive rows whose first patterns exclude one
//! another (pairs, vectors, literals) are taken together, so that what they ask of one place is asked
//! once. When a group has no row that fits, its *failure*, a procedure without parameters, continues
//! with the rows below. Every row's action occurs once, so code does not grow. All calls of failures
//! and loops are in tail position: the compiler makes jumps of them.
//!
//! The order of tests is not the order of the text, but a pattern behind another one of the same `and`
//! or `?` is asked only when that one fitted.

use std::collections::HashSet;

use crate::core::{Expr, ExprKind, Lambda, VarId};
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::patterns::repetition::Place;
use crate::expander::patterns::{Pattern, PatternKind, Repeated};
use crate::name::Name;
use crate::number;
use crate::span::Span;

/// The action of a row that fits.
pub(crate) enum Action {
    /// A clause's body.
    Clause(Box<Clause>),
    /// Calls a procedure with the values of variables, each consed onto another variable's if there is one.
    Call {
        procedure: VarId,
        leading: Vec<Expr>,
        variables: Vec<usize>,
        accumulators: Vec<VarId>,
    },
}

/// The body of a clause.
pub(crate) struct Clause {
    /// Its number, for the report of clauses that are never reached.
    pub number: usize,
    /// The variables of the pattern, by number.
    pub variables: Vec<VarId>,
    /// A further condition.
    pub guard: Option<Expr>,
    /// A procedure that continues with the next clause.
    pub failure: Option<VarId>,
    pub body: Expr,
}

/// Patterns for the values at hand, and what happens when they all fit.
pub(crate) struct Row {
    /// One for each value, the first one last.
    pub patterns: Vec<Pattern>,
    /// The tests to do once all columns fitted, in order.
    pub later: Vec<(VarId, Pattern)>,
    /// The variables bound so far, by number.
    pub values: Vec<Option<VarId>>,
    pub action: Action,
}

/// The test that a first pattern needs; rows with the same test go together.
enum Test {
    Anything,
    Pair,
    Vector(usize),
    Literal(Datum),
    Record(Expr),
    Predicate(Expr),
    /// A row on its own.
    Alone,
}

/// Makes tests.
pub(crate) struct Decider {
    /// The form's place, for what belongs to no pattern.
    pub span: Span,
    /// The clauses that have been reached, by number.
    pub reached: Vec<bool>,
    /// The failures that something calls.
    pub called: HashSet<VarId>,
}

pub(super) fn local(variable: VarId, span: Span) -> Expr {
    Expr::new(span, ExprKind::LocalRef(variable))
}

pub(super) fn bind(bindings: Vec<(VarId, Expr)>, body: Expr) -> Expr {
    if bindings.is_empty() {
        return body;
    }
    let span = body.span;
    let body = Box::new(body);
    Expr::new(span, ExprKind::Let { bindings, body })
}

pub(crate) fn plain_lambda(required: Vec<VarId>, body: Expr) -> Lambda {
    Lambda {
        name: None,
        required,
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        span: body.span,
        body,
    }
}

pub(super) fn procedure(required: Vec<VarId>, body: Expr) -> Expr {
    let span = body.span;
    let lambda = plain_lambda(required, body);
    Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
}

fn is_same(left: &Expr, right: &Expr) -> bool {
    match (&left.kind, &right.kind) {
        (ExprKind::LocalRef(left), ExprKind::LocalRef(right)) => left == right,
        (ExprKind::GlobalRef(left), ExprKind::GlobalRef(right)) => left == right,
        (ExprKind::PrimitiveRef(left), ExprKind::PrimitiveRef(right)) => left == right,
        _ => false,
    }
}

impl Test {
    fn of(pattern: &Pattern) -> Test {
        match &pattern.kind {
            PatternKind::Anything => Test::Anything,
            PatternKind::Pair(_) => Test::Pair,
            PatternKind::Vector(elements) => Test::Vector(elements.len()),
            PatternKind::Literal(datum) => Test::Literal(datum.clone()),
            PatternKind::Record(record_type, _) => Test::Record(record_type.clone()),
            PatternKind::Predicate(predicate, _) => Test::Predicate(predicate.clone()),
            _ => Test::Alone,
        }
    }

    /// Whether a value that fits one never fits another.
    fn is_exclusive(&self) -> bool {
        matches!(self, Test::Pair | Test::Vector(_) | Test::Literal(_))
    }

    /// Whether the two ask the same.
    fn is_same(&self, other: &Test) -> bool {
        match (self, other) {
            (Test::Anything, Test::Anything) | (Test::Pair, Test::Pair) => true,
            (Test::Vector(left), Test::Vector(right)) => left == right,
            (Test::Literal(left), Test::Literal(right)) => left == right,
            (Test::Record(left), Test::Record(right))
            | (Test::Predicate(left), Test::Predicate(right)) => is_same(left, right),
            _ => false,
        }
    }

    /// Whether rows with the two are taken together.
    fn goes_with(&self, other: &Test) -> bool {
        self.is_same(other) || self.is_exclusive() && other.is_exclusive()
    }
}

impl Row {
    fn first(&mut self) -> Option<Pattern> {
        self.patterns.pop()
    }

    /// Binds variables and takes conjunctions apart, until the first pattern asks something of the value.
    fn settle(&mut self, value: VarId) {
        while let Some(pattern) = self.patterns.pop() {
            let span = pattern.span;
            let kind = match pattern.kind {
                PatternKind::Variable(number) => {
                    self.values[number] = Some(value);
                    PatternKind::Anything
                }
                PatternKind::All(mut patterns) => {
                    let others = patterns.split_off(1.min(patterns.len()));
                    let others = others.into_iter().map(|other| (value, other));
                    self.later.splice(0..0, others);
                    match patterns.pop() {
                        Some(first) => {
                            self.patterns.push(first);
                            continue;
                        }
                        None => PatternKind::Anything,
                    }
                }
                kind => kind,
            };
            self.patterns.push(Pattern::new(span, kind));
            return;
        }
    }

    /// A row of one pattern for the same variables.
    fn of_part(&self, pattern: Pattern, action: Action) -> Row {
        Row {
            patterns: vec![pattern],
            later: Vec::new(),
            values: self.values.clone(),
            action,
        }
    }
}

impl Decider {
    /// The tests of rows for values, of which the last one is looked at first. `failure` is called when
    /// no row fits.
    pub fn decide(
        &mut self,
        expander: &mut Expander<'_>,
        values: &[VarId],
        mut rows: Vec<Row>,
        failure: VarId,
    ) -> Expr {
        let Some(&value) = values.last() else {
            return self.finish(expander, rows, failure);
        };
        rows.iter_mut().for_each(|row| row.settle(value));
        let mut groups: Vec<(Test, Vec<Row>)> = Vec::new();
        for row in rows {
            let test = row.patterns.last().map_or(Test::Anything, Test::of);
            match groups.last_mut() {
                Some((first, group)) if first.goes_with(&test) => group.push(row),
                _ => groups.push((test, vec![row])),
            }
        }
        if !expander.enter(groups.len() + 1, self.span) {
            return Expr::unspecified(self.span);
        }
        let levels = groups.len() + 1;
        let result = self.groups(expander, values, groups, failure);
        expander.leave(levels);
        result
    }

    /// Continues with the rows below.
    pub(super) fn fail(&mut self, failure: VarId, span: Span) -> Expr {
        self.called.insert(failure);
        Expr::call(span, local(failure, span), Vec::new())
    }

    /// The failure of each group but the last one continues with the next. Groups behind one that
    /// never fails are left out.
    fn groups(
        &mut self,
        expander: &mut Expander<'_>,
        values: &[VarId],
        groups: Vec<(Test, Vec<Row>)>,
        failure: VarId,
    ) -> Expr {
        let mut parts: Vec<(VarId, Expr)> = Vec::with_capacity(groups.len());
        let last = groups.len().saturating_sub(1);
        for (index, (test, rows)) in groups.into_iter().enumerate() {
            let next = if index == last {
                failure
            } else {
                self.fresh(expander, "next")
            };
            let expr = self.group(expander, values, test, rows, next);
            parts.push((next, expr));
            if !self.called.contains(&next) {
                break;
            }
        }
        let Some((_, mut result)) = parts.pop() else {
            return self.fail(failure, self.span);
        };
        while let Some((next, expr)) = parts.pop() {
            result = bind(vec![(next, procedure(Vec::new(), result))], expr);
        }
        result
    }

    pub(super) fn fresh(&self, expander: &mut Expander<'_>, name: &str) -> VarId {
        expander.locals.add(Name::new(name), self.span)
    }

    /// No value is left to look at: what was put off, then the first row's action.
    fn finish(&mut self, expander: &mut Expander<'_>, rows: Vec<Row>, failure: VarId) -> Expr {
        let mut rows = rows.into_iter();
        let Some(mut row) = rows.next() else {
            return self.fail(failure, self.span);
        };
        let may_fail = !row.later.is_empty()
            || match &row.action {
                Action::Clause(clause) => clause.guard.is_some() || clause.failure.is_some(),
                _ => false,
            };
        let rest: Vec<Row> = rows.collect();
        let next = if may_fail && !rest.is_empty() {
            self.fresh(expander, "next")
        } else {
            failure
        };
        if !expander.enter(1, self.span) {
            return Expr::unspecified(self.span);
        }
        let result = if row.later.is_empty() {
            self.act(expander, row, next)
        } else {
            let later = std::mem::take(&mut row.later);
            let (values, patterns): (Vec<VarId>, Vec<Pattern>) = later.into_iter().rev().unzip();
            row.patterns = patterns;
            self.decide(expander, &values, vec![row], next)
        };
        let result = if next != failure && self.called.contains(&next) {
            let below = self.finish(expander, rest, failure);
            bind(vec![(next, procedure(Vec::new(), below))], result)
        } else {
            result
        };
        expander.leave(1);
        result
    }

    fn act(&mut self, expander: &mut Expander<'_>, row: Row, failure: VarId) -> Expr {
        let span = self.span;
        let values = row.values;
        match row.action {
            Action::Clause(clause) => {
                self.reached[clause.number] = true;
                let mut bindings: Vec<(VarId, Expr)> = Vec::new();
                for (variable, value) in clause.variables.iter().zip(&values) {
                    let at = expander.locals[*variable].span;
                    let value = value.map_or(Expr::unspecified(at), |value| local(value, at));
                    bindings.push((*variable, value));
                }
                let mut body = clause.body;
                if let Some(variable) = clause.failure {
                    let way_on = procedure(Vec::new(), self.fail(failure, body.span));
                    body = bind(vec![(variable, way_on)], body);
                }
                if let Some(guard) = clause.guard {
                    let at = body.span;
                    body = Expr::conditional(at, guard, body, self.fail(failure, at));
                }
                bind(bindings, body)
            }
            Action::Call {
                procedure,
                leading,
                variables,
                accumulators,
            } => {
                let mut operands = leading;
                for (index, number) in variables.iter().enumerate() {
                    let value =
                        values[*number].map_or(Expr::unspecified(span), |value| local(value, span));
                    operands.push(match accumulators.get(index) {
                        Some(list) => {
                            expander.primitive_call("cons", vec![value, local(*list, span)], span)
                        }
                        None => value,
                    });
                }
                Expr::call(span, local(procedure, span), operands)
            }
        }
    }

    /// Rows that are taken together.
    fn group(
        &mut self,
        expander: &mut Expander<'_>,
        values: &[VarId],
        test: Test,
        mut rows: Vec<Row>,
        failure: VarId,
    ) -> Expr {
        match test {
            Test::Anything => {
                rows.iter_mut().for_each(|row| drop(row.first()));
                self.decide(expander, &values[..values.len() - 1], rows, failure)
            }
            Test::Alone => match rows.pop() {
                Some(row) => self.alone(expander, values, row, failure),
                None => self.fail(failure, self.span),
            },
            _ => {
                let mut parts: Vec<(Test, Vec<Row>)> = Vec::new();
                for row in rows {
                    let test = row.patterns.last().map_or(Test::Anything, Test::of);
                    match parts.iter_mut().find(|(own, _)| own.is_same(&test)) {
                        Some((_, rows)) => rows.push(row),
                        None => parts.push((test, vec![row])),
                    }
                }
                let mut result = self.fail(failure, self.span);
                for (test, rows) in parts.into_iter().rev() {
                    result = self.part(expander, values, test, rows, failure, result);
                }
                result
            }
        }
    }

    /// Rows that ask the same; `otherwise` is for values that do not fit.
    fn part(
        &mut self,
        expander: &mut Expander<'_>,
        values: &[VarId],
        test: Test,
        mut rows: Vec<Row>,
        failure: VarId,
        otherwise: Expr,
    ) -> Expr {
        let (value, others) = match values.split_last() {
            Some((value, others)) => (*value, others),
            None => return otherwise,
        };
        let span = rows
            .first()
            .and_then(|row| row.patterns.last())
            .map_or(self.span, |pattern| pattern.span);
        let at = |variable| local(variable, span);
        let test_expr = match &test {
            Test::Pair => expander.primitive_call("pair?", vec![at(value)], span),
            Test::Vector(length) => {
                let is_vector = expander.primitive_call("vector?", vec![at(value)], span);
                let own = expander.primitive_call("vector-length", vec![at(value)], span);
                let length = Expr::constant(span, Datum::integer(*length as i64));
                let is_long = expander.primitive_call("eq?", vec![own, length], span);
                let no = Expr::constant(span, Datum::Boolean(false));
                Expr::conditional(span, is_vector, is_long, no)
            }
            Test::Literal(datum) => {
                let operands = vec![at(value), Expr::constant(span, datum.clone())];
                match datum {
                    Datum::Nil => expander.primitive_call("null?", vec![at(value)], span),
                    _ => expander.primitive_call(equivalence(datum), operands, span),
                }
            }
            Test::Record(record_type) => {
                expander.primitive_call("%record?", vec![at(value), record_type.clone()], span)
            }
            Test::Predicate(predicate) => Expr::call(span, predicate.clone(), vec![at(value)]),
            Test::Anything | Test::Alone => Expr::constant(span, Datum::Boolean(true)),
        };
        let columns = columns_of(&mut rows);
        let mut bindings = Vec::with_capacity(columns.len());
        let mut inner = others.to_vec();
        for column in columns.into_iter().rev() {
            if column.patterns.iter().all(Pattern::is_anything) {
                continue;
            }
            let number = Expr::constant(span, Datum::integer(column.index as i64));
            let access = match &test {
                Test::Pair => {
                    let name = if column.index == 0 { "car" } else { "cdr" };
                    expander.primitive_call(name, vec![at(value)], span)
                }
                Test::Vector(_) => {
                    expander.primitive_call("vector-ref", vec![at(value), number], span)
                }
                Test::Record(record_type) => {
                    let name = Expr::constant(span, Datum::Symbol(column.name));
                    let operands = vec![at(value), record_type.clone(), number, name];
                    expander.primitive_call("%record-ref", operands, span)
                }
                _ => at(value),
            };
            let variable = match test {
                Test::Predicate(_) => value,
                _ => {
                    let variable = expander.locals.add(column.name, span);
                    bindings.push((variable, access));
                    variable
                }
            };
            inner.push(variable);
            for (row, pattern) in rows.iter_mut().zip(column.patterns) {
                row.patterns.push(pattern);
            }
        }
        bindings.reverse();
        let result = bind(bindings, self.decide(expander, &inner, rows, failure));
        Expr::conditional(span, test_expr, result, otherwise)
    }

    /// A row whose first pattern is like no other.
    fn alone(
        &mut self,
        expander: &mut Expander<'_>,
        values: &[VarId],
        mut row: Row,
        failure: VarId,
    ) -> Expr {
        let (Some((&value, others)), Some(pattern)) = (values.split_last(), row.first()) else {
            return self.fail(failure, self.span);
        };
        let span = pattern.span;
        match pattern.kind {
            PatternKind::Applied(function, pattern) => {
                let result = self.fresh(expander, "part");
                let call = Expr::call(span, function, vec![local(value, span)]);
                row.patterns.push(*pattern);
                let mut inner = others.to_vec();
                inner.push(result);
                let body = self.decide(expander, &inner, vec![row], failure);
                bind(vec![(result, call)], body)
            }
            PatternKind::Any(patterns) => {
                let mut numbers = Vec::new();
                patterns
                    .iter()
                    .for_each(|pattern| note_variables(pattern, &mut numbers));
                numbers.sort_unstable();
                numbers.dedup();
                let success = self.fresh(expander, "found");
                let rows = patterns
                    .into_iter()
                    .map(|pattern| row.of_part(pattern, call_with(success, numbers.clone())))
                    .collect();
                let tests = self.decide(expander, &[value], rows, failure);
                let parameters = self.parameters(expander, &mut row, &numbers);
                let body = self.decide(expander, others, vec![row], failure);
                bind(vec![(success, procedure(parameters, body))], tests)
            }
            PatternKind::Not(pattern) => {
                let success = self.fresh(expander, "differs");
                self.called.insert(failure);
                let fits = row.of_part(*pattern, call_with(failure, Vec::new()));
                let tests = self.decide(expander, &[value], vec![fits], success);
                let body = self.decide(expander, others, vec![row], failure);
                bind(vec![(success, procedure(Vec::new(), body))], tests)
            }
            PatternKind::Repeated(repeated) => {
                let place = Place {
                    value,
                    others,
                    failure,
                    span,
                };
                self.repeated(expander, place, row, *repeated)
            }
            PatternKind::VectorRepeated(before, repeated) => {
                let place = Place {
                    value,
                    others,
                    failure,
                    span,
                };
                self.vector_repeated(expander, place, row, before, *repeated)
            }
            _ => self.fail(failure, self.span),
        }
    }

    /// New variables for the values of a row's variables.
    fn parameters(
        &self,
        expander: &mut Expander<'_>,
        row: &mut Row,
        numbers: &[usize],
    ) -> Vec<VarId> {
        numbers
            .iter()
            .map(|number| {
                let variable = self.fresh(expander, "value");
                row.values[*number] = Some(variable);
                variable
            })
            .collect()
    }
}

fn call_with(procedure: VarId, variables: Vec<usize>) -> Action {
    Action::Call {
        procedure,
        leading: Vec::new(),
        variables,
        accumulators: Vec::new(),
    }
}

/// One part of a value, and what the rows ask of it.
struct Column {
    index: usize,
    name: Name,
    patterns: Vec<Pattern>,
}

/// Takes the first pattern of each row apart, by parts of the value.
fn columns_of(rows: &mut [Row]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (number, row) in rows.iter_mut().enumerate() {
        let Some(pattern) = row.first() else { continue };
        let span = pattern.span;
        let parts: Vec<(usize, Name, Pattern)> = match pattern.kind {
            PatternKind::Pair(parts) => {
                let names = ["car", "cdr"];
                let parts = parts.into_iter().zip(names).enumerate();
                parts
                    .map(|(index, (part, name))| (index, Name::new(name), part))
                    .collect()
            }
            PatternKind::Vector(elements) => elements
                .into_iter()
                .enumerate()
                .map(|(index, element)| (index, Name::new("element"), element))
                .collect(),
            PatternKind::Record(_, fields) => fields
                .into_iter()
                .map(|field| (field.index, field.name, field.pattern))
                .collect(),
            PatternKind::Predicate(_, pattern) => vec![(0, Name::new("value"), *pattern)],
            _ => Vec::new(),
        };
        for (index, name, part) in parts {
            let place = match columns.iter().position(|column| column.index == index) {
                Some(place) => place,
                None => {
                    columns.push(Column {
                        index,
                        name,
                        patterns: Vec::new(),
                    });
                    columns.len() - 1
                }
            };
            let patterns = &mut columns[place].patterns;
            // Rows before this one asked nothing of the part, and this one may ask twice.
            while patterns.len() < number {
                patterns.push(Pattern::anything(span));
            }
            let earlier = if patterns.len() > number {
                patterns.pop()
            } else {
                None
            };
            patterns.push(match earlier {
                Some(earlier) => Pattern::new(span, PatternKind::All(vec![earlier, part])),
                None => part,
            });
        }
        for column in &mut columns {
            while column.patterns.len() <= number {
                column.patterns.push(Pattern::anything(span));
            }
        }
    }
    columns
}

fn note_variables(pattern: &Pattern, numbers: &mut Vec<usize>) {
    match &pattern.kind {
        PatternKind::Variable(number) => numbers.push(*number),
        PatternKind::Pair(parts) => parts.iter().for_each(|part| note_variables(part, numbers)),
        PatternKind::Vector(parts) | PatternKind::All(parts) => {
            parts.iter().for_each(|part| note_variables(part, numbers))
        }
        PatternKind::Any(parts) => {
            if let Some(part) = parts.first() {
                note_variables(part, numbers);
            }
        }
        PatternKind::Repeated(repeated) => note_repeated(repeated, numbers),
        PatternKind::VectorRepeated(before, repeated) => {
            before.iter().for_each(|part| note_variables(part, numbers));
            note_repeated(repeated, numbers);
        }
        PatternKind::Record(_, fields) => fields
            .iter()
            .for_each(|field| note_variables(&field.pattern, numbers)),
        PatternKind::Predicate(_, pattern) | PatternKind::Applied(_, pattern) => {
            note_variables(pattern, numbers)
        }
        PatternKind::Anything | PatternKind::Literal(_) | PatternKind::Not(_) => {}
    }
}

fn note_repeated(repeated: &Repeated, numbers: &mut Vec<usize>) {
    numbers.extend(&repeated.variables);
    repeated
        .after
        .iter()
        .for_each(|part| note_variables(part, numbers));
    note_variables(&repeated.tail, numbers);
}

/// The cheapest predicate that compares rightly with a datum without parts.
fn equivalence(datum: &Datum) -> &'static str {
    match datum {
        Datum::String(_) | Datum::Bytevector(_) => "equal?",
        Datum::Number(number) => {
            // Fixnums have 62 bits.
            let is_fixnum = number::as_integer(number)
                .is_some_and(|value| (-(1_i64 << 61)..1_i64 << 61).contains(&value));
            if is_fixnum { "eq?" } else { "eqv?" }
        }
        _ => "eq?",
    }
}
