//! Expands `do` to a call of a local procedure, as named `let` does.
//!
//! Each iteration binds the variables anew, so that closures made in different iterations do not
//! share them. Later passes turn the procedure into a loop.

use crate::core::{Expr, ExprKind, VarId};
use crate::core_form::CoreForm;
use crate::expander::Expander;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::Syntax;

impl Expander<'_> {
    /// `(do ((name init [step]) …) (test expression …) command …)`
    pub(crate) fn do_loop(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::Do;
        let [specifications, exit, commands @ ..] = operands else {
            return self.bad_expression(
                form,
                span,
                "expected ((name init step) …) (test expression …) command …",
            );
        };
        let Some(elements) = specifications.elements() else {
            return self.bad_expression(
                form,
                specifications.span,
                "the variables must be a list of (name init step)",
            );
        };
        let Some(exit_parts) = exit.elements().filter(|parts| !parts.is_empty()) else {
            return self.bad_expression(
                form,
                exit.span,
                "the second part must be (test expression …)",
            );
        };
        let mut names = Vec::new();
        let mut variables: Vec<(Syntax, Option<Syntax>)> = Vec::new();
        let mut operands = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            let parts = element
                .elements()
                .filter(|parts| matches!(parts.len(), 2 | 3));
            let name = parts.as_ref().and_then(|parts| parts[0].as_identifier());
            let (Some(parts), Some(name)) = (parts, name) else {
                let message = format!(
                    "variable {} is not (name init) or (name init step): `{element}`",
                    index + 1
                );
                self.bad_form(form, element.span, message);
                continue;
            };
            names.push((name, parts[0].span));
            operands.push(self.expand_named(&parts[1], Some(name.name), scope));
            variables.push((parts[0].clone(), parts.get(2).cloned()));
        }
        self.check_distinct(form, &names);
        let procedure = self.locals.add(Name::new("do"), span);
        let inner = self.scopes.add_local(scope);
        let required: Vec<VarId> = names
            .iter()
            .map(|(name, at)| self.bind_variable(*name, *at, inner))
            .collect();
        let test = self.expand(&exit_parts[0], inner);
        let result = self.sequence(&exit_parts[1..], inner, exit.span);
        let mut body: Vec<Expr> = commands
            .iter()
            .map(|command| self.expand(command, inner))
            .collect();
        let mut next = Vec::with_capacity(variables.len());
        for ((name, step), variable) in variables.iter().zip(&required) {
            next.push(match step {
                Some(step) => self.expand(step, inner),
                None => Expr::new(name.span, ExprKind::LocalRef(*variable)),
            });
        }
        body.push(Expr::call(
            span,
            Expr::new(span, ExprKind::LocalRef(procedure)),
            next,
        ));
        let body = Expr::conditional(span, test, result, Expr::sequence(span, body));
        self.loop_expression(procedure, required, body, operands, span, span)
    }
}
