//! `syntax-parameterize`, as in SRFI 139: a keyword means something else in a body, and in what macros
//! insert there.
//!
//! ```text
//! (syntax-parameterize ((keyword transformer) …) body …)
//! ```
//!
//! Any macro can be parameterized. Beyond the SRFI, a transformer may be the name of a variable: then
//! the keyword stands for that variable in the body.

use std::sync::Arc;

use crate::core::Expr;
use crate::core_form::CoreForm;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::recording::Role;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

const FORM: CoreForm = CoreForm::SyntaxParameterize;

impl Expander<'_> {
    pub(crate) fn syntax_parameterize(
        &mut self,
        operands: &[Syntax],
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let [bindings, body @ ..] = operands else {
            return self.bad_expression(FORM, span, "expected bindings and a body");
        };
        let bindings = self.bindings(FORM, bindings, "keyword transformer", true);
        let mut replacements = Vec::with_capacity(bindings.len());
        for binding in bindings {
            let Denotation::Macro(keyword) = self.resolve_plainly(binding.name, scope) else {
                let message = format!("`{}` is not a macro", binding.name.name);
                self.bad_form(FORM, binding.span, message);
                continue;
            };
            let variable = self.variable(&binding.value, scope);
            let meaning = match variable {
                Some(variable) => Some(variable),
                None => self.transformer(binding.name.name, &binding.value, scope),
            };
            replacements.extend(meaning.map(|meaning| (keyword, meaning)));
        }
        let outer = self.replaced.len();
        self.replaced.extend(replacements);
        let inner = self.scopes.add_local(scope);
        let result = self.body(body.to_vec(), inner, FORM.name(), span);
        self.replaced.truncate(outer);
        result
    }

    /// The meaning of an identifier that is a variable.
    fn variable(&mut self, syntax: &Syntax, scope: ScopeId) -> Option<Denotation> {
        let identifier = syntax.as_identifier()?;
        let meaning = self.resolve(identifier, scope);
        self.note(identifier, syntax.span, Role::Reference, &meaning);
        (!matches!(meaning, Denotation::Core(_) | Denotation::Macro(_))).then_some(meaning)
    }

    /// The meaning of an identifier in a scope.
    pub(crate) fn resolve(&mut self, identifier: Identifier, scope: ScopeId) -> Denotation {
        let meaning = self.resolve_plainly(identifier, scope);
        let Denotation::Macro(keyword) = &meaning else {
            return meaning;
        };
        let mut innermost_first = self.replaced.iter().rev();
        match innermost_first.find(|(replaced, _)| Arc::ptr_eq(replaced, keyword)) {
            Some((_, replacement)) => replacement.clone(),
            None => meaning,
        }
    }
}
