//! Call syntax: what calls of a global variable by its name become.
//!
//! `(%define-call-syntax name transformer)` at the top level of a library or program attaches a macro
//! to a variable that is defined there. The variable stays a variable; but a call `(name operand …)`,
//! in this unit or one that imports the name, becomes the use
//!
//! ```text
//! (name (state variable …) name operand …)
//! ```
//!
//! of the macro. `state` and the `variable`s are global variables that belong to this one call. There
//! are `2 * (1 + the number of operands, 3 at most)` variables, and what the macro does not mention is
//! not made. They are `#f` at first. `state` is `#t` if the unit assigns `name`, so that the macro must
//! not rely on its value.
//!
//! Code at the prompt and in `eval` has plain calls, whose variables would never be freed, and so have
//! transformers, which run elsewhere. `((begin name) operand …)` is a plain call everywhere.

use std::sync::Arc;

use crate::binding::Binding;
use crate::core::{Expr, ExprKind, GlobalName, TopForm};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::environment::{Entry, Environment, EnvironmentKind, Origin};
use crate::expander::Expander;
use crate::expander::body::Scan;
use crate::expander::denotation::Denotation;
use crate::expander::macros::Macro;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// More operands than these do not get variables.
const OPERANDS_MAX: usize = 3;

/// A variable that belongs to one call.
pub(super) struct CallVariable {
    variable: GlobalName,
    /// The procedure that is called, if this is the state.
    state_of: Option<GlobalName>,
    span: Span,
}

/// The name under which an environment has the call syntax of a global. No other hidden name has this number.
fn keyword_of(global: Name) -> Name {
    Name::new(&format!("{global}·0"))
}

/// The call syntax of a library's global, as its interface tells it to others.
pub(crate) fn call_syntax_of(
    environment: &Environment,
    binding: &Binding,
) -> Option<(Name, Binding)> {
    let Binding::Global(global) = binding else {
        return None;
    };
    if global.library != *environment.key() {
        return None;
    }
    let keyword = keyword_of(global.name);
    Some((keyword, environment.lookup(keyword)?.clone()))
}

impl Expander<'_> {
    fn has_call_variables(&self) -> bool {
        let kind = self.environment.kind();
        self.phase == 0 && matches!(kind, EnvironmentKind::Library | EnvironmentKind::Program)
    }

    /// `(%define-call-syntax name transformer)`. In a body it says nothing.
    pub(super) fn define_call_syntax(&mut self, operands: &[Syntax], span: Span, scan: &Scan) {
        let form = CoreForm::DefineCallSyntax;
        let [name, spec] = operands else {
            return self.bad_form(form, span, "expected a variable and a transformer");
        };
        if scan.scope != ScopeId::TOP || !self.has_call_variables() {
            return;
        }
        let Some(identifier) = name.as_identifier() else {
            return self.bad_form(form, name.span, format!("`{name}` is not a name"));
        };
        let Denotation::Global {
            name: global,
            home: true,
        } = self.resolve(identifier, scan.current)
        else {
            let message = format!("`{name}` is not a variable that is defined here");
            return self.bad_form(form, name.span, message);
        };
        let transformer = self.transformer(identifier.name, spec, scan.current);
        if let Some(Denotation::Macro(opened)) = transformer {
            let keyword = keyword_of(global.name);
            let key = self.add_macro(keyword, opened);
            let entry = Entry {
                binding: Binding::Macro(key),
                origin: Origin::Defined(span),
            };
            self.environment.bind(keyword, entry);
        }
    }

    /// The call of a global as its call syntax has it, if it has one.
    pub(super) fn call_by_syntax(
        &mut self,
        global: &GlobalName,
        syntax: &Syntax,
        scope: ScopeId,
    ) -> Option<Expr> {
        if !self.has_call_variables() {
            return None;
        }
        let used = self.call_syntax(global)?;
        let elements = syntax.elements()?;
        let count = 2 * (1 + (elements.len() - 1).min(OPERANDS_MAX));
        let variables = (0..=count)
            .map(|index| {
                let state_of = (index == 0).then(|| global.clone());
                self.call_variable(global.name, state_of, syntax.span)
            })
            .collect();
        let mut form = vec![elements[0].clone(), Syntax::list(syntax.span, variables)];
        form.extend(elements);
        let form = Syntax::list(syntax.span, form);
        let expanded = self.expand_macro(&used, &form, scope);
        Some(match expanded {
            Some(expanded) => self.expand(&expanded, scope),
            None => Expr::unspecified(syntax.span),
        })
    }

    fn call_variable(&mut self, base: Name, state_of: Option<GlobalName>, span: Span) -> Syntax {
        let variable = self.hidden_global(base, span);
        let identifier = Identifier::plain(variable.name);
        self.call_variables.push(CallVariable {
            variable,
            state_of,
            span,
        });
        Syntax::identifier(span, identifier)
    }

    /// The macro attached to a global, if its home does not assign it. Bindings of top levels are all
    /// known when expressions are expanded, so the answer is kept.
    fn call_syntax(&mut self, global: &GlobalName) -> Option<Arc<Macro>> {
        if let Some(known) = self.call_syntaxes.get(global) {
            return known.clone();
        }
        let keyword = keyword_of(global.name);
        let binding = if global.library == *self.environment.key() {
            self.environment.lookup(keyword).cloned()
        } else {
            let interface = self.libraries.interface_by_key(&global.library);
            let interface = interface.filter(|home| !home.assigned.contains(&global.name));
            interface.and_then(|home| home.internal.get(&keyword).cloned())
        };
        let home = global.library.clone();
        let denotation = binding.and_then(|binding| self.denotation_of(&binding, &home));
        let used = match denotation {
            Some(Denotation::Macro(used)) => Some(used),
            _ => None,
        };
        self.call_syntaxes.insert(global.clone(), used.clone());
        used
    }

    /// Definitions of the variables of calls, to be executed before everything else.
    pub(super) fn definitions_of_call_variables(&mut self) -> Vec<TopForm> {
        let variables = std::mem::take(&mut self.call_variables);
        let define = |it: CallVariable| {
            let is_closed = it.state_of.is_some_and(|callee| {
                callee.library == *self.environment.key() && self.assigned.contains(&callee.name)
            });
            let value = ExprKind::Constant(Datum::Boolean(is_closed));
            TopForm::Define(it.variable, Expr::new(it.span, value))
        };
        variables.into_iter().map(define).collect()
    }
}
