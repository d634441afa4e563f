//! `include`, `include-ci` and `cond-expand`.

use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::span::Span;
use crate::syntax::Syntax;

impl Expander<'_> {
    /// The forms of the included files; errors are reported.
    pub(crate) fn include(
        &mut self,
        operands: &[Syntax],
        fold_case: bool,
        span: Span,
    ) -> Vec<Syntax> {
        let form = if fold_case {
            CoreForm::IncludeCi
        } else {
            CoreForm::Include
        };
        if operands.is_empty() {
            self.bad_form(form, span, "a file name is missing");
        }
        let mut forms = Vec::new();
        for operand in operands {
            let Some(Datum::String(file)) = operand.as_atom() else {
                self.bad_form(
                    form,
                    operand.span,
                    format!("`{operand}` is not a string, the name of a file"),
                );
                continue;
            };
            let mut diagnostics = Vec::new();
            forms.extend(
                self.libraries
                    .include(file, operand.span, fold_case, &mut diagnostics),
            );
            for diagnostic in diagnostics {
                self.report(diagnostic);
            }
        }
        forms
    }

    /// The forms of the clause that applies; `None` after an error. No clause means no forms.
    pub(crate) fn cond_expand(&mut self, operands: &[Syntax], _span: Span) -> Option<Vec<Syntax>> {
        match self.libraries.cond_expand(operands) {
            Ok(forms) => Some(forms),
            Err(diagnostic) => {
                self.report(*diagnostic);
                None
            }
        }
    }
}
