//! `match` and the forms around it. `patterns` reads the patterns and makes the tests.
//!
//! ```text
//! (match expression clause …)
//! (match-lambda clause …)    (match-lambda* clause …)
//! (match-let [name] ((pattern expression) …) body …)    match-let*    match-letrec
//! (match-define pattern expression)
//! <clause>  (pattern [(=> failure)] [(where expression …)] body …)
//! ```
//!
//! A value that nothing takes is given to the primitive `%match-failure`, whose call stands where the
//! form does.

use std::collections::HashSet;

use crate::core::{Expr, ExprKind, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::body::{DeferredKind, Item, Scan};
use crate::expander::denotation::Denotation;
use crate::expander::patterns::Pattern;
use crate::expander::patterns::decide::{Action, Clause, Decider, Row, plain_lambda};
use crate::expander::patterns::parse::Parser;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::Syntax;

/// `(match-define pattern expression)` to be expanded in the second pass.
pub(crate) struct MatchSource {
    pattern: Syntax,
    value: Syntax,
    span: Span,
}

/// A clause read and expanded, and its patterns.
struct ReadClause {
    patterns: Vec<Pattern>,
    clause: Clause,
    span: Span,
}

impl Expander<'_> {
    /// `(match expression clause …)`
    pub(crate) fn match_form(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::Match;
        let Some((subject, clauses)) = operands.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return self.bad_expression(
                form,
                span,
                "expected an expression and at least one clause",
            );
        };
        let value = self.expand(subject, scope);
        let variable = self.locals.add(Name::new("value"), subject.span);
        let body = self.match_clauses(form, variable, clauses, scope, span);
        bind(vec![(variable, value)], body, span)
    }

    /// `(match-lambda clause …)`; with `star` the pattern is for the list of arguments.
    pub(crate) fn match_lambda(
        &mut self,
        operands: &[Syntax],
        star: bool,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = if star {
            CoreForm::MatchLambdaStar
        } else {
            CoreForm::MatchLambda
        };
        if operands.is_empty() {
            return self.bad_expression(form, span, "expected at least one clause");
        }
        let name = if star { "arguments" } else { "value" };
        let variable = self.locals.add(Name::new(name), span);
        let body = self.match_clauses(form, variable, operands, scope, span);
        let mut lambda = plain_lambda(Vec::new(), body);
        lambda.span = span;
        if star {
            lambda.rest = Some(variable);
        } else {
            lambda.required.push(variable);
        }
        Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
    }

    fn match_clauses(
        &mut self,
        form: CoreForm,
        variable: VarId,
        clauses: &[Syntax],
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let clauses: Vec<ReadClause> = clauses
            .iter()
            .enumerate()
            .filter_map(|(index, clause)| self.match_clause(form, clause, index, scope))
            .collect();
        self.match_rows(form, &[variable], clauses, span)
    }

    fn match_clause(
        &mut self,
        form: CoreForm,
        syntax: &Syntax,
        index: usize,
        scope: ScopeId,
    ) -> Option<ReadClause> {
        let Some(elements) = syntax.elements().filter(|elements| elements.len() >= 2) else {
            let message = format!("clause {} is not (pattern expression …)", index + 1);
            self.bad_form(form, syntax.span, message);
            return None;
        };
        let mut parser = Parser::new(form, scope);
        let pattern = parser.pattern(self, &elements[0]);
        let inner = self.scopes.add_local(scope);
        let variables = self.bind_pattern_variables(&parser, inner);
        let mut body = &elements[1..];
        let failure = self.clause_failure(&body[0], inner);
        if failure.is_some() {
            body = &body[1..];
        }
        let guard = self.clause_guard(form, &mut body, inner);
        let body = self.body(body.to_vec(), inner, form.name(), syntax.span);
        let clause = Clause {
            number: index,
            variables,
            guard,
            failure,
            body,
        };
        Some(ReadClause {
            patterns: vec![pattern],
            clause,
            span: elements[0].span,
        })
    }

    fn bind_pattern_variables(&mut self, parser: &Parser, scope: ScopeId) -> Vec<VarId> {
        parser
            .variables
            .iter()
            .map(|(identifier, span)| self.bind_variable(*identifier, *span, scope))
            .collect()
    }

    /// `(=> name)`
    fn clause_failure(&mut self, syntax: &Syntax, scope: ScopeId) -> Option<VarId> {
        let parts = syntax.elements().filter(|parts| parts.len() == 2)?;
        let name = parts[1].as_identifier()?;
        self.is_auxiliary(&parts[0], CoreForm::Arrow, scope)
            .then(|| self.bind_variable(name, parts[1].span, scope))
    }

    /// `(where expression …)` or `#:when expression`; takes it off the body.
    fn clause_guard(
        &mut self,
        form: CoreForm,
        body: &mut &[Syntax],
        scope: ScopeId,
    ) -> Option<Expr> {
        let first = body.first()?;
        if let Some(Datum::Keyword(name)) = first.as_atom()
            && name.as_str() == "when"
        {
            let Some(test) = body.get(1) else {
                self.bad_form(form, first.span, "an expression must follow #:when");
                return None;
            };
            *body = &body[2..];
            return Some(self.expand(test, scope));
        }
        let elements = first.elements().filter(|elements| elements.len() >= 2)?;
        let name = elements[0].as_identifier()?;
        if name.name.as_str() != "where"
            || !matches!(self.resolve(name, scope), Denotation::Unbound(_))
        {
            return None;
        }
        *body = &body[1..];
        Some(self.and(&elements[1..], scope, first.span))
    }

    /// The tests of clauses for values, which come in the order of the patterns.
    fn match_rows(
        &mut self,
        form: CoreForm,
        values: &[VarId],
        clauses: Vec<ReadClause>,
        span: Span,
    ) -> Expr {
        if !self.enter(clauses.len() + 1, span) {
            return Expr::unspecified(span);
        }
        let levels = clauses.len() + 1;
        let failure = self.locals.add(Name::new(form.name()), span);
        let spans: Vec<(usize, Span)> = clauses
            .iter()
            .map(|clause| (clause.clause.number, clause.span))
            .collect();
        let rows = clauses.into_iter().map(|mut read| {
            read.patterns.reverse();
            Row {
                patterns: read.patterns,
                later: Vec::new(),
                values: vec![None; read.clause.variables.len()],
                action: Action::Clause(Box::new(read.clause)),
            }
        });
        let count = spans.iter().map(|(number, _)| number + 1).max();
        let mut decider = Decider {
            span,
            reached: vec![false; count.unwrap_or(0)],
            called: HashSet::new(),
        };
        let columns: Vec<VarId> = values.iter().rev().copied().collect();
        let tests = decider.decide(self, &columns, rows.collect(), failure);
        self.leave(levels);
        for (number, at) in spans {
            if !decider.reached[number] && !self.has_errors() {
                let message = format!(
                    "{}: this clause is never reached: the patterns before it take everything that it takes",
                    form.name()
                );
                self.report(Diagnostic::warning("unreachable-clause", at, message));
            }
        }
        let reference = |variable: &VarId| Expr::new(span, ExprKind::LocalRef(*variable));
        let mut operands: Vec<Expr> = values.iter().map(reference).collect();
        let value = match operands.len() {
            1 => operands.remove(0),
            _ => self.primitive_call("list", operands, span),
        };
        let name = Expr::constant(span, Datum::Symbol(Name::new(form.name())));
        let raise = self.primitive_call("%match-failure", vec![value, name], span);
        let raise = plain_lambda(Vec::new(), raise);
        let raise = Expr::new(span, ExprKind::Lambda(Box::new(raise)));
        bind(vec![(failure, raise)], tests, span)
    }

    /// `((pattern expression) …)` taken apart.
    fn match_bindings(&mut self, form: CoreForm, syntax: &Syntax) -> Vec<(Syntax, Syntax)> {
        let Some(elements) = syntax.elements() else {
            let message = "the bindings must be a list of (pattern expression)";
            self.bad_form(form, syntax.span, message);
            return Vec::new();
        };
        let mut bindings = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            match element.elements().as_deref() {
                Some([pattern, value]) => bindings.push((pattern.clone(), value.clone())),
                _ => {
                    let message = format!(
                        "binding {} is not (pattern expression): `{element}`",
                        index + 1
                    );
                    self.bad_form(form, element.span, message);
                }
            }
        }
        bindings
    }

    /// `(match-let ((pattern expression) …) body …)` or `(match-let name bindings body …)`
    pub(crate) fn match_let(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::MatchLet;
        let (name, rest) = match operands {
            [name, rest @ ..] if name.as_identifier().is_some() => (Some(name), rest),
            rest => (None, rest),
        };
        let [bindings, body @ ..] = rest else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.match_bindings(form, bindings);
        let values: Vec<Expr> = bindings
            .iter()
            .map(|(_, value)| self.expand(value, scope))
            .collect();
        let around = self.scopes.add_local(scope);
        let procedure = name.and_then(|name| {
            let identifier = name.as_identifier()?;
            Some((self.bind_variable(identifier, name.span, around), name.span))
        });
        let mut parser = Parser::new(form, around);
        let patterns: Vec<Pattern> = bindings
            .iter()
            .map(|(pattern, _)| parser.pattern(self, pattern))
            .collect();
        let inner = self.scopes.add_local(around);
        let variables = self.bind_pattern_variables(&parser, inner);
        let body = self.body(body.to_vec(), inner, form.name(), span);
        let subjects: Vec<VarId> = bindings
            .iter()
            .map(|(pattern, _)| self.locals.add(Name::new("value"), pattern.span))
            .collect();
        let clause = ReadClause {
            patterns,
            clause: Clause {
                number: 0,
                variables,
                guard: None,
                failure: None,
                body,
            },
            span,
        };
        let result = self.match_rows(form, &subjects, vec![clause], span);
        match procedure {
            Some((procedure, at)) => {
                self.loop_expression(procedure, subjects, result, values, at, span)
            }
            None => bind(subjects.into_iter().zip(values).collect(), result, span),
        }
    }

    /// `(match-let* ((pattern expression) …) body …)`
    pub(crate) fn match_let_star(
        &mut self,
        operands: &[Syntax],
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = CoreForm::MatchLetStar;
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.match_bindings(form, bindings);
        if !self.enter(bindings.len(), span) {
            return Expr::unspecified(span);
        }
        let mut scope = scope;
        let mut parts = Vec::with_capacity(bindings.len());
        for (pattern, value) in &bindings {
            let value = self.expand(value, scope);
            let mut parser = Parser::new(form, scope);
            let pattern = parser.pattern(self, pattern);
            scope = self.scopes.add_local(scope);
            let variables = self.bind_pattern_variables(&parser, scope);
            parts.push((pattern, variables, value));
        }
        let mut result = self.body(body.to_vec(), scope, form.name(), span);
        for (pattern, variables, value) in parts.into_iter().rev() {
            let at = pattern.span;
            let body = result;
            result = self.match_one(form, pattern, variables, value, body, at);
        }
        self.leave(bindings.len());
        result
    }

    /// `body` with the variables of one pattern for one value.
    fn match_one(
        &mut self,
        form: CoreForm,
        pattern: Pattern,
        variables: Vec<VarId>,
        value: Expr,
        body: Expr,
        span: Span,
    ) -> Expr {
        let subject = self.locals.add(Name::new("value"), span);
        let clause = ReadClause {
            patterns: vec![pattern],
            clause: Clause {
                number: 0,
                variables,
                guard: None,
                failure: None,
                body,
            },
            span,
        };
        let result = self.match_rows(form, &[subject], vec![clause], span);
        bind(vec![(subject, value)], result, span)
    }

    /// `(match-letrec ((pattern expression) …) body …)`: a body that begins with definitions.
    pub(crate) fn match_letrec(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::MatchLetrec;
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(form, span, "expected bindings and a body");
        };
        let bindings = self.match_bindings(form, bindings);
        let inner = self.scopes.add_local(scope);
        let mut scan = Scan {
            scope: inner,
            current: inner,
            pending: Vec::new(),
            items: Vec::new(),
            keywords: Vec::new(),
        };
        for (pattern, value) in bindings {
            let at = pattern.span;
            self.define_pattern(form, pattern, value, at, &mut scan);
        }
        let mut parts = Vec::with_capacity(scan.items.len());
        for item in scan.items {
            if let Item::Define { target, value, .. } = item {
                let value = self.force(value);
                if let crate::expander::body::Target::Local(variable) = target {
                    parts.push((variable, value));
                }
            }
        }
        let body = self.body(body.to_vec(), inner, form.name(), span);
        Expr::new(
            span,
            ExprKind::Letrec {
                star: true,
                bindings: parts,
                body: Box::new(body),
            },
        )
    }

    /// `(match-define pattern expression)`
    pub(crate) fn match_define(&mut self, operands: &[Syntax], span: Span, scan: &mut Scan) {
        match operands {
            [pattern, value] => {
                let (pattern, value) = (pattern.clone(), value.clone());
                self.define_pattern(CoreForm::MatchDefine, pattern, value, span, scan);
            }
            _ => self.bad_form(
                CoreForm::MatchDefine,
                span,
                "expected a pattern and an expression",
            ),
        }
    }

    /// A hidden variable holds a vector of the values of the pattern's variables.
    fn define_pattern(
        &mut self,
        form: CoreForm,
        pattern: Syntax,
        value: Syntax,
        span: Span,
        scan: &mut Scan,
    ) {
        // Errors in the pattern are reported in the second pass.
        let errors_before = self.diagnostics.len();
        let mut parser = Parser::of_variables(form, scan.current);
        parser.pattern(self, &pattern);
        self.forget_errors(errors_before);
        let source = MatchSource {
            pattern,
            value,
            span,
        };
        let hidden = self.declare_hidden("match", span, scan);
        let value = self.deferred(DeferredKind::Match(source), scan.current);
        scan.items.push(Item::Define {
            target: hidden.clone(),
            value,
            span,
        });
        for (index, (identifier, at)) in parser.variables.into_iter().enumerate() {
            let name = Syntax::identifier(at, identifier);
            let Some(target) = self.declare(&name, form.name(), scan) else {
                continue;
            };
            let vector = Self::target_reference(&hidden, at);
            let index = Expr::constant(at, Datum::integer(index as i64));
            let element = self.primitive_call("vector-ref", vec![vector, index], at);
            let value = self.deferred(DeferredKind::Ready(element), scan.current);
            scan.items.push(Item::Define {
                target,
                value,
                span,
            });
        }
    }

    /// A vector of the values of the pattern's variables.
    pub(crate) fn match_vector(&mut self, source: &MatchSource, scope: ScopeId) -> Expr {
        let form = CoreForm::MatchDefine;
        let span = source.span;
        let value = self.expand(&source.value, scope);
        let mut parser = Parser::new(form, scope);
        let pattern = parser.pattern(self, &source.pattern);
        // The names belong to the definitions; these variables are the expander's own.
        let variables: Vec<VarId> = parser
            .variables
            .iter()
            .map(|(identifier, at)| self.locals.add(identifier.name, *at))
            .collect();
        let operands = variables
            .iter()
            .map(|variable| Expr::new(span, ExprKind::LocalRef(*variable)))
            .collect();
        let body = self.primitive_call("vector", operands, span);
        self.match_one(form, pattern, variables, value, body, span)
    }
}

fn bind(bindings: Vec<(VarId, Expr)>, body: Expr, span: Span) -> Expr {
    if bindings.is_empty() {
        return body;
    }
    let body = Box::new(body);
    Expr::new(span, ExprKind::Let { bindings, body })
}
