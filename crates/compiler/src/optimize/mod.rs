//! Passes over the core language.

pub mod build;
pub mod expand_values;
pub mod fit_limits;
pub mod sort_letrec;
pub mod walk;

use canny_syntax::core::{Expr, TopForm, Unit};
use canny_syntax::diagnostic::Diagnostic;

/// Which passes run.
#[derive(Clone, Debug, Default)]
pub struct Options {}

impl Options {
    /// No optional pass at all.
    pub fn none() -> Options {
        Options {}
    }
}

/// Runs all passes.
pub fn optimize_unit(unit: &mut Unit, _options: &Options) -> Vec<Diagnostic> {
    expand_values::run(unit);
    sort_letrec::run(unit);
    fit_limits::run(unit);
    Vec::new()
}

/// The expression of a top-level form.
pub(crate) fn form_expr_mut(form: &mut TopForm) -> &mut Expr {
    match form {
        TopForm::Define(_, expr) | TopForm::Expression(expr) => expr,
    }
}
