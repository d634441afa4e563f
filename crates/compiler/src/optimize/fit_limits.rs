//! Rewrites what would not fit the bytecode's limits: too many operands, parameters or variables.
//!
//! Registers are numbered with a byte, so that a frame has room for about 250 values. On exit
//! - no call has more than [`OPERANDS_MAX`] operands: longer argument lists are built in pieces
//!   and applied;
//! - no procedure has more than [`OPERANDS_MAX`] required parameters: the others are taken from a
//!   rest list by an inner procedure;
//! - where more than [`DEPTH_MAX`] values would be alive at once, the expression at hand moves to
//!   a procedure of its own, called at once, which captures what it needs.
//!
//! Not optional, and the last pass before code generation: inlining would undo it.

use canny_syntax::core::{Expr, ExprKind, Lambda, Unit, VarId, VarTable};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::build::{local, primitive, thunk};
use super::sort_letrec::is_fixed;
use super::walk::for_each_child_mut;
use crate::contify::find_labels;

/// Greatest number of operands of a call and of required parameters of a procedure.
pub const OPERANDS_MAX: usize = 80;

/// Greatest number of variables that one `let` binds.
const BINDINGS_MAX: usize = 40;

/// Greatest number of values that an expression may find alive.
pub const DEPTH_MAX: usize = 110;

/// Rewrites a unit.
pub fn run(unit: &mut Unit) {
    let labels = find_labels(unit);
    let mut pass = Fitting {
        locals: &mut unit.locals,
        labels,
    };
    for form in &mut unit.body {
        pass.visit(super::form_expr_mut(form), 0);
    }
}

struct Fitting<'a> {
    locals: &'a mut VarTable,
    /// Procedures that may become labels, whose parameters then need registers here.
    labels: Vec<bool>,
}

impl Fitting<'_> {
    fn is_label(&self, var: VarId) -> bool {
        self.labels.get(var.0 as usize) == Some(&true)
    }

    /// Visits an expression that is evaluated while `depth` values are alive.
    fn visit(&mut self, expr: &mut Expr, depth: usize) {
        if depth > DEPTH_MAX && !is_small(expr) {
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
            ExprKind::Letrec { bindings, body, .. } => {
                let labels = is_fixed(bindings, self.locals)
                    && bindings.iter().all(|(var, _)| self.is_label(*var));
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
            ExprKind::Call { operands, .. } => {
                if operands.len() > OPERANDS_MAX {
                    self.split_call(expr);
                    return self.visit(expr, depth);
                }
                let ExprKind::Call { operator, operands } = &mut expr.kind else {
                    return;
                };
                self.visit(operator, depth);
                for (index, operand) in operands.iter_mut().enumerate() {
                    self.visit(operand, depth + 2 + index);
                }
            }
            _ => for_each_child_mut(expr, &mut |child| self.visit(child, depth)),
        }
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
        if lambda.required.len() > OPERANDS_MAX {
            self.split_parameters(lambda);
        }
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

    /// Makes the surplus parameters those of an inner procedure, applied to a rest list.
    fn split_parameters(&mut self, lambda: &mut Lambda) {
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
        let inner = Expr::new(span, ExprKind::Lambda(Box::new(inner)));
        lambda.body = Expr::call(
            span,
            primitive("%apply", span),
            vec![inner, local(rest, span)],
        );
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
}

const NOTHING: ExprKind = ExprKind::Constant(Datum::Nil);

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::new(Span::NONE, NOTHING))
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
