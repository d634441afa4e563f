//! Rewrites what would not fit the bytecode's limits: too many operands, parameters or variables.
//!
//! Registers are numbered with a byte, so that a frame has room for about 250 values. On exit
//! - no call has more than [`OPERANDS_MAX`] operands: longer argument lists are built in pieces
//!   and applied;
//! - no procedure has more than [`OPERANDS_MAX`] required parameters, and nothing takes more values
//!   at once: the others are taken from a rest list by an inner procedure;
//! - no group of closures has more than [`OPERANDS_MAX`] members: larger ones live in boxes;
//! - where more than [`DEPTH_MAX`] values would be alive at once, the expression at hand moves to
//!   a procedure of its own, called at once, which captures what it needs.
//!
//! Optional and keyword parameters are not split: a procedure with more than some 150 of them is
//! refused.
//!
//! Calls and parameters come first, since splitting them changes which procedures are labels; then
//! depth is measured. Not optional, and the last pass before code generation: inlining would undo it.

use canny_syntax::core::{Expr, ExprKind, Lambda, Unit, VarId, VarTable};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::build::{local, primitive, thunk};
use super::large_clauses;
use super::limits::OPERANDS_MAX;
use crate::contify::find_labels;
use crate::walk::is_fixed;
use crate::walk::{for_each_child_mut, form_expr_mut};

/// Greatest number of variables that one `let` binds.
const BINDINGS_MAX: usize = 40;

/// Greatest number of values that an expression may find alive.
pub const DEPTH_MAX: usize = 110;

/// Greatest number of values alive where operands are evaluated.
const FRAME_MAX: usize = DEPTH_MAX + BINDINGS_MAX;

/// Rewrites a unit.
pub fn run(unit: &mut Unit) {
    let mut pass = Splitting {
        locals: &mut unit.locals,
    };
    for form in &mut unit.body {
        pass.visit(form_expr_mut(form));
    }
    let labels = find_labels(unit);
    let mut pass = Fitting {
        locals: &mut unit.locals,
        labels,
    };
    for form in &mut unit.body {
        pass.visit(form_expr_mut(form), 0);
    }
}

/// Shortens calls, parameter lists and formals.
struct Splitting<'a> {
    locals: &'a mut VarTable,
}

impl Splitting<'_> {
    fn visit(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Lambda(lambda) => self.split_parameters(lambda),
            ExprKind::CaseLambda(clauses) if clauses.iter().any(large_clauses::is_large) => {
                let clauses = std::mem::take(clauses);
                *expr = large_clauses::merge(self.locals, clauses, expr.span);
            }
            ExprKind::LetValues { .. } => self.split_formals(expr),
            ExprKind::Call { operands, .. } if operands.len() > OPERANDS_MAX => {
                self.split_call(expr);
            }
            _ => {}
        }
        for_each_child_mut(expr, &mut |child| self.visit(child));
    }

    /// Makes the surplus parameters those of an inner procedure, applied to a rest list.
    fn split_parameters(&mut self, lambda: &mut Lambda) {
        if lambda.required.len() <= OPERANDS_MAX {
            return;
        }
        let span = lambda.span;
        let required = lambda.required.split_off(OPERANDS_MAX);
        let rest = self.locals.add(Name::new("rest"), span);
        let inner = Lambda {
            name: lambda.name,
            required,
            optional: std::mem::take(&mut lambda.optional),
            keywords: std::mem::take(&mut lambda.keywords),
            rest: lambda.rest.replace(rest),
            allow_other_keys: std::mem::take(&mut lambda.allow_other_keys),
            body: take(&mut lambda.body),
            span,
        };
        lambda.body = apply(inner, rest);
    }

    /// `(f a …)` as `(let* ((f f) (l (list a …)) …) (%apply f (append l …)))`.
    fn split_call(&mut self, expr: &mut Expr) {
        let span = expr.span;
        let ExprKind::Call { operator, operands } = std::mem::replace(&mut expr.kind, NOTHING)
        else {
            return;
        };
        let mut bindings = Vec::new();
        let operator = match operator.kind {
            ExprKind::PrimitiveRef(_) => *operator,
            _ => {
                let var = self.locals.add(Name::new("operator"), span);
                bindings.push((var, *operator));
                local(var, span)
            }
        };
        let mut pieces = Vec::new();
        let mut operands = operands.into_iter().peekable();
        while operands.peek().is_some() {
            let piece = operands.by_ref().take(OPERANDS_MAX).collect();
            let var = self.locals.add(Name::new("operands"), span);
            bindings.push((var, Expr::call(span, primitive("list", span), piece)));
            pieces.push(local(var, span));
        }
        let list = Expr::call(span, primitive("append", span), pieces);
        let body = Expr::call(span, primitive("%apply", span), vec![operator, list]);
        expr.kind = ExprKind::Let {
            bindings,
            body: Box::new(body),
        };
    }

    /// As [`Self::split_parameters`] for the variables of a `let-values`.
    fn split_formals(&mut self, expr: &mut Expr) {
        let span = expr.span;
        let ExprKind::LetValues { formals, body, .. } = &mut expr.kind else {
            return;
        };
        if formals.required.len() <= OPERANDS_MAX {
            return;
        }
        let required = formals.required.split_off(OPERANDS_MAX);
        let rest = self.locals.add(Name::new("rest"), span);
        let inner = Lambda {
            name: None,
            required,
            optional: Vec::new(),
            keywords: Vec::new(),
            rest: formals.rest.replace(rest),
            allow_other_keys: false,
            body: take(body),
            span,
        };
        **body = apply(inner, rest);
    }
}

/// Moves what would need too many registers at once.
struct Fitting<'a> {
    locals: &'a mut VarTable,
    /// Procedures that may become labels, whose parameters then need registers here.
    labels: Vec<bool>,
}

impl Fitting<'_> {
    fn is_label(&self, var: VarId) -> bool {
        self.labels.get(var.0 as usize) == Some(&true)
    }

    fn are_labels(&self, bindings: &[(VarId, Expr)]) -> bool {
        is_fixed(bindings, self.locals) && bindings.iter().all(|(var, _)| self.is_label(*var))
    }

    /// Whether a group needs so many registers that its procedures have to live in boxes. Labels
    /// count as closures too: they become closures where a call of one moves into another procedure.
    fn is_oversized(&self, bindings: &[(VarId, Expr)]) -> bool {
        let count = bindings
            .iter()
            .filter(|(_, init)| is_procedure(init))
            .count();
        if self.are_labels(bindings) {
            count.max(label_words(bindings)) > FRAME_MAX
        } else {
            count > OPERANDS_MAX
        }
    }

    /// Registers for the variables that the expression binds all at once.
    fn bound_words(&self, expr: &Expr) -> usize {
        match &expr.kind {
            ExprKind::Letrec { bindings, .. } if self.are_labels(bindings) => label_words(bindings),
            ExprKind::Letrec { bindings, .. } => bindings.len(),
            ExprKind::LetValues { formals, .. } => formals.required.len() + 1,
            _ => 0,
        }
    }

    /// Visits an expression that is evaluated while `depth` values are alive.
    fn visit(&mut self, expr: &mut Expr, depth: usize) {
        let crowded = depth > DEPTH_MAX || depth + self.bound_words(expr) > FRAME_MAX;
        if crowded && depth > 0 && !is_small(expr) {
            let span = expr.span;
            let body = take(expr);
            *expr = Expr::call(span, thunk(body), Vec::new());
            if let ExprKind::Call { operator, .. } = &mut expr.kind {
                self.visit(operator, 0);
            }
            return;
        }
        match &mut expr.kind {
            ExprKind::Lambda(lambda) => self.visit_lambda(lambda),
            ExprKind::CaseLambda(clauses) => clauses.iter_mut().for_each(|c| self.visit_lambda(c)),
            ExprKind::Let { .. } => self.visit_let(expr, depth),
            ExprKind::Letrec { bindings, .. } if self.is_oversized(bindings) => {
                self.box_procedures(expr);
                self.visit(expr, depth);
            }
            ExprKind::Letrec { bindings, body, .. } => {
                let labels = self.are_labels(bindings);
                let inner = depth
                    + if labels {
                        label_words(bindings)
                    } else {
                        bindings.len()
                    };
                for (_, init) in bindings.iter_mut() {
                    self.visit_init(init, labels, inner);
                }
                self.visit(body, inner);
            }
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                let count = formals.required.len() + usize::from(formals.rest.is_some());
                self.visit(init, depth);
                self.visit(body, depth + count);
            }
            ExprKind::Call { operator, operands } => {
                self.visit(operator, depth);
                for (index, operand) in operands.iter_mut().enumerate() {
                    self.visit(operand, depth + 2 + index);
                }
            }
            _ => for_each_child_mut(expr, &mut |child| self.visit(child, depth)),
        }
    }

    /// `(letrec ((p (lambda …)) … (v init) …) body)` as
    /// `(let ((p #f) …) (letrec ((first (begin (set! p (lambda …)) …)) (v init) …) body))`.
    fn box_procedures(&mut self, expr: &mut Expr) {
        let span = expr.span;
        let ExprKind::Letrec { bindings, body, .. } = &mut expr.kind else {
            return;
        };
        let mut variables = Vec::new();
        let mut steps = Vec::new();
        let mut values = Vec::new();
        for (var, init) in std::mem::take(bindings) {
            if is_procedure(&init) {
                let at = init.span;
                self.locals[var].assigned = true;
                variables.push((var, Expr::new(at, NOTHING)));
                steps.push(Expr::new(at, ExprKind::LocalSet(var, Box::new(init))));
            } else {
                values.push((var, init));
            }
        }
        let inner = if values.is_empty() {
            steps.push(take(body));
            Expr::new(span, ExprKind::Sequence(steps))
        } else {
            let first = self.locals.add(Name::new("procedures"), span);
            values.insert(0, (first, Expr::new(span, ExprKind::Sequence(steps))));
            *bindings = values;
            take(expr)
        };
        *expr = Expr::new(
            span,
            ExprKind::Let {
                bindings: variables,
                body: Box::new(inner),
            },
        );
    }

    /// An initial value; the body of a label runs in this frame.
    fn visit_init(&mut self, init: &mut Expr, label: bool, depth: usize) {
        match &mut init.kind {
            ExprKind::Lambda(lambda) if label => self.visit(&mut lambda.body, depth),
            _ => self.visit(init, depth),
        }
    }

    fn visit_let(&mut self, expr: &mut Expr, depth: usize) {
        let span = expr.span;
        let ExprKind::Let { bindings, body } = &mut expr.kind else {
            return;
        };
        if bindings.len() > BINDINGS_MAX {
            // In one unit no initial value can see the other variables, so nesting changes nothing.
            let bindings_rest = bindings.split_off(BINDINGS_MAX);
            let inner = ExprKind::Let {
                bindings: bindings_rest,
                body: Box::new(take(body)),
            };
            **body = Expr::new(span, inner);
        }
        let mut words = 0;
        for (var, init) in bindings.iter_mut() {
            if self.is_label(*var) {
                words += if let ExprKind::Lambda(lambda) = &init.kind {
                    lambda.required.len()
                } else {
                    1
                };
            } else {
                self.visit(init, depth + words);
                words += 1;
            }
        }
        for (var, init) in bindings.iter_mut() {
            if self.is_label(*var) {
                self.visit_init(init, true, depth + words);
            }
        }
        self.visit(body, depth + words);
    }

    fn visit_lambda(&mut self, lambda: &mut Lambda) {
        let count = lambda.required.len()
            + lambda.optional.len()
            + lambda.keywords.len()
            + usize::from(lambda.rest.is_some());
        for (_, default) in &mut lambda.optional {
            self.visit(default, count);
        }
        for (_, _, default) in &mut lambda.keywords {
            self.visit(default, count);
        }
        self.visit(&mut lambda.body, count);
    }
}

const NOTHING: ExprKind = ExprKind::Constant(Datum::Nil);

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::new(Span::NONE, NOTHING))
}

/// Applies a procedure to the elements of the list in a variable.
fn apply(procedure: Lambda, list: VarId) -> Expr {
    let span = procedure.span;
    let procedure = Expr::new(span, ExprKind::Lambda(Box::new(procedure)));
    Expr::call(
        span,
        primitive("%apply", span),
        vec![procedure, local(list, span)],
    )
}

fn is_procedure(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_))
}

/// Registers for the parameters of a group of labels.
fn label_words(bindings: &[(VarId, Expr)]) -> usize {
    let words = |init: &Expr| match &init.kind {
        ExprKind::Lambda(lambda) => lambda.required.len(),
        _ => 1,
    };
    bindings.iter().map(|(_, init)| words(init)).sum()
}

/// Whether the expression needs at most a few registers of its own.
fn is_small(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::LocalRef(_)
        | ExprKind::GlobalRef(_)
        | ExprKind::PrimitiveRef(_)
        | ExprKind::Lambda(_)
        | ExprKind::CaseLambda(_) => true,
        ExprKind::Call { operator, operands } => {
            // Moving a call that only passes variables on would gain nothing.
            operands.len() <= 8
                && std::iter::once(&**operator)
                    .chain(operands)
                    .all(|part| !matches!(part.kind, ExprKind::Call { .. }) && is_small(part))
        }
        _ => false,
    }
}
