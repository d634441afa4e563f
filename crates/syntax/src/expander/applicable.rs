//! Calls where objects other than procedures may be called.
//!
//! Code that imports `(canny applicable)` has the marker `%applicable-calls`, and each of its calls
//! whose operator is not certainly a procedure becomes
//!
//! ```text
//! (if (or (procedure? f) (not (%applicable? f))) (f operand …) (%apply-objectN f operand …))
//! ```
//!
//! where N is the number of operands, or nothing for three and more. With one operand vectors have a
//! way of their own, on which nothing is asked twice:
//!
//! ```text
//! (cond ((procedure? f) (f operand))
//!       ((vector? f) (vector-ref f operand))
//!       ((%applicable? f) (%apply-object1 f operand))
//!       (else (f operand)))
//! ```
//!
//! A call of something that nobody can call stays the call that it was, so the machine reports it, and
//! a tail call stays one. The identifiers of a call's operator say which code it belongs to: what a
//! macro inserts belongs to the macro's library.

use crate::binding::Binding;
use crate::core::{Expr, ExprKind, GlobalName, LibraryKey};
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::scope::{ScopeId, ScopeKind};
use crate::name::Name;
use crate::span::Span;
use crate::syntax::{AliasId, Identifier, Syntax};

/// The library that has the procedures and, as a macro without a meaning, the marker. Its own calls are
/// plain.
const LIBRARY: &str = "(canny applicable)";
/// The marker.
pub(crate) const MARKER: &str = "%applicable-calls";

impl Expander<'_> {
    /// Whether the call with this operator stands in code that imports the library.
    pub(super) fn has_applicable_calls(&self, operator: &Syntax, scope: ScopeId) -> bool {
        // Without the library no code has the marker; looking for whose code this is takes as long as
        // the operator is large.
        if self.aborted
            || self
                .libraries
                .interface_by_key(&LibraryKey::new(LIBRARY))
                .is_none()
        {
            return false;
        }
        let (mut identifier, mut scope) = match representative(operator) {
            Some(identifier) => (identifier, scope),
            None => return self.is_marked(scope),
        };
        while let Some(alias) = self.scopes.alias(identifier) {
            (identifier, scope) = (alias.inner, alias.scope);
        }
        self.is_marked(scope)
    }

    /// Whether the top level around a scope has the marker.
    fn is_marked(&self, scope: ScopeId) -> bool {
        let marker = Name::new(MARKER);
        let (home, binding) = match self.scopes.kind(self.scopes.outermost(scope)) {
            ScopeKind::Foreign(library) => {
                let interface = self.libraries.interface_by_key(library);
                let internal = interface.and_then(|interface| interface.internal.get(&marker));
                (library, internal)
            }
            _ => (self.environment.key(), self.environment.lookup(marker)),
        };
        match binding {
            Some(Binding::Macro(name)) => &name.library != home && name.library.as_str() == LIBRARY,
            _ => false,
        }
    }

    pub(super) fn applicable_call(
        &mut self,
        operator: Expr,
        operands: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if matches!(
            operator.kind,
            ExprKind::Lambda(_) | ExprKind::CaseLambda(_) | ExprKind::PrimitiveRef(_)
        ) {
            return Expr::call(span, operator, operands);
        }
        let mut bindings = Vec::new();
        let operator = self.once(operator, "operator", &mut bindings);
        let operands: Vec<Expr> = operands
            .into_iter()
            .map(|operand| self.once(operand, "operand", &mut bindings))
            .collect();
        let is_procedure = self.primitive_call("procedure?", vec![operator.clone()], span);
        let is_applicable = Expr::call(span, global("%applicable?", span), vec![operator.clone()]);
        let choose = |parts| Expr::new(span, ExprKind::If(Box::new(parts)));
        let apply = match operands.len() {
            0 => "%apply-object0",
            1 => "%apply-object1",
            2 => "%apply-object2",
            _ => "%apply-object",
        };
        let mut all = vec![operator.clone()];
        all.extend(operands.iter().cloned());
        let other = Expr::call(span, global(apply, span), all.clone());
        let plain = Expr::call(span, operator.clone(), operands);
        let choice = if all.len() == 2 {
            let is_vector = self.primitive_call("vector?", vec![operator], span);
            let element = self.primitive_call("vector-ref", all, span);
            let no_vector = choose([is_applicable, other, plain.clone()]);
            let no_procedure = choose([is_vector, element, no_vector]);
            choose([is_procedure, plain, no_procedure])
        } else {
            let is_not = self.primitive_call("not", vec![is_applicable], span);
            let is_true = Expr::constant(span, Datum::Boolean(true));
            choose([choose([is_procedure, is_true, is_not]), plain, other])
        };
        if bindings.is_empty() {
            return choice;
        }
        let body = Box::new(choice);
        Expr::new(span, ExprKind::Let { bindings, body })
    }

    /// An expression that stands for the value of another one and may be copied.
    fn once(
        &mut self,
        expression: Expr,
        name: &str,
        bindings: &mut Vec<(crate::core::VarId, Expr)>,
    ) -> Expr {
        let may_be_copied = match &expression.kind {
            ExprKind::LocalRef(_) | ExprKind::GlobalRef(_) | ExprKind::PrimitiveRef(_) => true,
            ExprKind::Constant(datum) => matches!(
                datum,
                Datum::Boolean(_)
                    | Datum::Character(_)
                    | Datum::Nil
                    | Datum::Number(_)
                    | Datum::Symbol(_)
            ),
            _ => false,
        };
        if may_be_copied {
            return expression;
        }
        let span = expression.span;
        let variable = self.locals.add(Name::new(name), span);
        bindings.push((variable, expression));
        Expr::new(span, ExprKind::LocalRef(variable))
    }
}

fn global(name: &str, span: Span) -> Expr {
    let name = GlobalName {
        library: LibraryKey::new(LIBRARY),
        name: Name::new(name),
    };
    Expr::new(span, ExprKind::GlobalRef(name))
}

/// The identifier of an operator that tells whose code it is: one of the program's text if there is any.
fn representative(operator: &Syntax) -> Option<Identifier> {
    if let Some(identifier) = operator.as_identifier() {
        return Some(identifier);
    }
    let mut inserted = None;
    let mut pending: Vec<Syntax> = vec![operator.clone()];
    while let Some(syntax) = pending.pop() {
        if let Some(identifier) = syntax.as_identifier() {
            if identifier.alias == AliasId::NONE {
                return Some(identifier);
            }
            inserted = inserted.or(Some(identifier));
        } else if syntax.as_pair().is_some() {
            pending.extend(syntax.parts().elements);
        }
    }
    inserted
}
