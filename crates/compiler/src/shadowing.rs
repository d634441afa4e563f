//! Where a variable is not in force: an inner one of the same name hides it, or the binding form puts it
//! around more than sees it.
//!
//! The optimizer removes variables. Without this, people who look into a frame would take the value of
//! an outer variable for that of the inner one which was removed. It is found before the optimizer runs,
//! by the places where variables are bound, which copies of them keep.

use std::collections::HashMap;

use canny_syntax::core::{Expr, ExprKind, Lambda, Unit, VarId, VarTable};
use canny_syntax::name::Name;
use canny_syntax::span::{SourceId, Span};

use crate::walk::{for_each_child, for_each_lambda_child, form_expr};

/// Names a variable and its copies.
type Key = (SourceId, u32, Name);

/// Where a variable is in force.
#[derive(Debug, Default)]
pub struct Visibility {
    /// Inner variables of the same name hide it here.
    pub hidden: Vec<Span>,
    /// It is in scope only here.
    pub limit: Option<Span>,
}

/// The variables of a unit for which there is something to say.
#[derive(Debug, Default)]
pub struct Shadowing {
    variables: HashMap<Key, Visibility>,
}

impl Shadowing {
    /// Finds them in a unit, of which variables may be removed.
    pub fn of(unit: &Unit, may_remove: bool) -> Shadowing {
        let mut pass = Pass {
            may_remove,
            locals: &unit.locals,
            scope: HashMap::new(),
            found: Shadowing::default(),
        };
        for form in &unit.body {
            pass.visit(form_expr(form));
        }
        pass.found
    }

    /// Of a variable with a name that is bound somewhere.
    pub fn of_variable(&self, name: Name, bound: Span) -> Option<&Visibility> {
        self.variables.get(&(bound.source, bound.start, name))
    }

    fn entry(&mut self, locals: &VarTable, var: VarId) -> &mut Visibility {
        let row = &locals[var];
        let key = (row.span.source, row.span.start, row.name);
        self.variables.entry(key).or_default()
    }
}

struct Pass<'u> {
    may_remove: bool,
    locals: &'u VarTable,
    /// Variables in scope by name, the innermost last.
    scope: HashMap<Name, Vec<VarId>>,
    found: Shadowing,
}

impl<'u> Pass<'u> {
    fn visit(&mut self, expr: &'u Expr) {
        if let Some((procedure, lambda, operands)) = loop_of(expr) {
            operands.iter().for_each(|operand| self.visit(operand));
            self.found.entry(self.locals, procedure).limit = covered(&lambda.body, lambda.span);
            self.within(&[procedure], &[&lambda.body], lambda.span, |pass| {
                pass.lambda(lambda);
            });
            return;
        }
        match &expr.kind {
            ExprKind::Lambda(lambda) => self.lambda(lambda),
            ExprKind::CaseLambda(clauses) => clauses.iter().for_each(|clause| self.lambda(clause)),
            ExprKind::Let { bindings, body } => {
                bindings.iter().for_each(|(_, init)| self.visit(init));
                let variables: Vec<VarId> = bindings.iter().map(|(var, _)| *var).collect();
                if self.may_remove && variables.len() > 1 {
                    // The optimizer may bind one after the other.
                    let limit = covered(body, expr.span);
                    for var in &variables {
                        self.found.entry(self.locals, *var).limit = limit;
                    }
                }
                self.within(&variables, &[body], expr.span, |pass| pass.visit(body));
            }
            ExprKind::Letrec { bindings, body, .. } => {
                let variables: Vec<VarId> = bindings.iter().map(|(var, _)| *var).collect();
                let parts = bindings.iter().map(|(_, init)| init).chain([&**body]);
                let parts: Vec<&Expr> = parts.collect();
                self.within(&variables, &parts, expr.span, |pass| {
                    parts.iter().for_each(|part| pass.visit(part));
                });
            }
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                self.visit(init);
                let variables = formals.required.iter().chain(&formals.rest);
                let variables: Vec<VarId> = variables.copied().collect();
                self.within(&variables, &[body], expr.span, |pass| pass.visit(body));
            }
            _ => for_each_child(expr, &mut |child| self.visit(child)),
        }
    }

    fn lambda(&mut self, lambda: &'u Lambda) {
        let optional = lambda.optional.iter().map(|(var, _)| *var);
        let named = lambda.keywords.iter().map(|(_, var, _)| *var);
        let variables = lambda.required.iter().copied().chain(optional).chain(named);
        let variables: Vec<VarId> = variables.chain(lambda.rest).collect();
        let mut parts = Vec::new();
        for_each_lambda_child(lambda, &mut |child| parts.push(child));
        self.within(&variables, &parts, lambda.span, |pass| {
            parts.iter().for_each(|part| pass.visit(part));
        });
    }

    /// Visits what sees some new variables.
    fn within(
        &mut self,
        variables: &[VarId],
        parts: &[&Expr],
        form: Span,
        visit: impl FnOnce(&mut Self),
    ) {
        for var in variables {
            let name = self.locals[*var].name;
            let outer = self.scope.entry(name).or_default();
            for hidden in outer.iter().filter(|_| self.may_remove) {
                let visibility = self.found.entry(self.locals, *hidden);
                let spans = parts.iter().filter_map(|part| covered(part, form));
                visibility.hidden.extend(spans);
            }
            outer.push(*var);
        }
        visit(self);
        for var in variables {
            self.scope.entry(self.locals[*var].name).or_default().pop();
        }
    }
}

/// The name, the procedure and the first arguments of a named `let`, whose name the arguments do not see.
fn loop_of(expr: &Expr) -> Option<(VarId, &Lambda, &[Expr])> {
    let ExprKind::Letrec { bindings, body, .. } = &expr.kind else {
        return None;
    };
    let ([(procedure, init)], ExprKind::Call { operator, operands }) = (&bindings[..], &body.kind)
    else {
        return None;
    };
    let is_it = matches!(operator.kind, ExprKind::LocalRef(var) if var == *procedure);
    match &init.kind {
        // The whole form is the position of both.
        ExprKind::Lambda(lambda) if is_it && lambda.span == expr.span => {
            Some((*procedure, lambda, operands))
        }
        _ => None,
    }
}

/// From the first to the last character of a part of a binding form. The expander gives the position of
/// the whole form to some parts, which are not counted.
fn covered(part: &Expr, form: Span) -> Option<Span> {
    let mut whole: Option<Span> = None;
    let mut rest = vec![part];
    while let Some(expr) = rest.pop() {
        let span = expr.span;
        let is_form = span.start <= form.start && form.end <= span.end;
        if span.source == form.source && !is_form {
            let so_far = whole.get_or_insert(span);
            so_far.start = so_far.start.min(span.start);
            so_far.end = so_far.end.max(span.end);
        }
        for_each_child(expr, &mut |child| rest.push(child));
    }
    whole
}
