//! Forms whose operator nothing binds, and that are surely no calls: forms of other Schemes, and
//! keywords of the standard that are not imported.

use crate::core::GlobalName;
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::environment::EnvironmentKind;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::foreign_forms;
use crate::name::Name;
use crate::syntax::Syntax;

/// Parts of a form that are searched for more keywords.
const PARTS_MAX: usize = 10_000;
/// Names that a message lists.
const NAMES_MAX: usize = 3;

impl Expander<'_> {
    /// Whether a form whose operator is unbound is no call. If so, its error has been noted or
    /// reported, and its operands mean nothing.
    pub(crate) fn is_no_call(
        &mut self,
        operator: Name,
        global: &GlobalName,
        form: &Syntax,
        scope: ScopeId,
    ) -> bool {
        if global.library != *self.environment.key() {
            return false;
        }
        let knows_all_definitions = matches!(
            self.environment.kind(),
            EnvironmentKind::Library | EnvironmentKind::Program
        );
        if knows_all_definitions && is_keyword(operator) {
            self.note_missing_keywords(form, scope);
            return true;
        }
        if scope == ScopeId::TOP
            && let Some(found) = foreign_forms::found(form)
            && self.libraries.exporter(operator).is_none()
        {
            self.report(found);
            return true;
        }
        false
    }

    /// Notes every keyword that a form uses and that is not imported.
    fn note_missing_keywords(&mut self, form: &Syntax, scope: ScopeId) {
        let mut pending = vec![form.clone()];
        for _ in 0..PARTS_MAX {
            let Some(part) = pending.pop() else { return };
            let parts = part.parts();
            let Some(head) = parts.elements.first() else {
                continue;
            };
            if let Some(identifier) = head.as_identifier()
                && is_keyword(identifier.name)
                && matches!(self.resolve(identifier, scope), Denotation::Unbound(_))
            {
                self.missing_keywords.push((identifier.name, head.span));
                if matches!(identifier.name.as_str(), "quote" | "quasiquote") {
                    continue;
                }
            }
            pending.extend(parts.elements.into_iter().rev());
        }
    }

    /// One message about all keywords that are not imported, with the line to write.
    pub(crate) fn report_missing_keywords(&mut self) {
        let mut missing = std::mem::take(&mut self.missing_keywords);
        missing.sort_by_key(|(_, span)| (span.source, span.start));
        let Some(&(_, first)) = missing.first() else {
            return;
        };
        let (mut names, mut libraries): (Vec<Name>, Vec<String>) = (Vec::new(), Vec::new());
        for (name, _) in missing {
            if names.contains(&name) {
                continue;
            }
            let library = self.libraries.exporter(name);
            libraries.extend(library.filter(|library| !libraries.contains(library)));
            names.push(name);
        }
        let mut message = listed(&names);
        message.push_str(if names.len() == 1 { " is" } else { " are" });
        message.push_str(" not imported");
        let mut diagnostic =
            Diagnostic::error("missing-import", first, message).missing_name(names[0]);
        if !libraries.is_empty() {
            let libraries = libraries.join(" ");
            let note = format!("write (import {libraries}) before the first form that needs it");
            diagnostic = diagnostic.note(note);
        }
        self.report(diagnostic);
    }
}

/// Whether a name is a keyword that stands at the head of a form.
fn is_keyword(name: Name) -> bool {
    let mut forms = CoreForm::ALL.iter();
    forms.any(|form| form.name() == name.as_str() && !form.is_auxiliary())
}

/// The names, but not too many.
fn listed(names: &[Name]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => one.clone(),
        [start @ .., last] if start.len() <= NAMES_MAX => {
            format!("{} and {last}", start.join(", "))
        }
        all => {
            let rest = all.len() - NAMES_MAX;
            format!("{} and {rest} other keywords", all[..NAMES_MAX].join(", "))
        }
    }
}
