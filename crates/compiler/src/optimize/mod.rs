//! Passes over the core language.

pub mod sort_letrec;
pub mod walk;

use canny_syntax::core::Unit;

use canny_syntax::diagnostic::Diagnostic;

/// Which passes run.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// Runs all passes.
pub fn optimize_unit(unit: &mut Unit, _options: &Options) -> Vec<Diagnostic> {
    sort_letrec::run(unit);
    Vec::new()
}
