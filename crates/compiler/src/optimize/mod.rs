//! Passes over the core language.
//!
//! | pass | effect | can be disabled |
//! |---|---|---|
//! | [`check_calls`] | warns of calls with the wrong number of arguments | `check-calls` |
//! | [`expand_values`] | `call-with-values` as binding forms | no |
//! | [`sort_letrec`] | recursive bindings in their simplest form | no |
//! | [`simplify`] | copy propagation, folding, dead code, direct application | `simplify` |
//! | [`inline`] | copies small procedures to their calls | `inline` |
//! | [`workers`] | splits procedures with optional or keyword parameters | `split-entries` |
//! | [`propagate`] | tests whose answer is known, values that a variable has already | `propagate` |
//! | [`remove_globals`] | drops definitions that nobody mentions | `remove-globals` |
//! | [`fit_limits`] | what would not fit the bytecode | no |
//!
//! [`Switches`] turn passes off and limit the rewriting steps, to find the one that breaks a program by
//! bisection. The command sets them from `CANNY_COMPILE_DISABLE` and `CANNY_COMPILE_LIMIT`.

pub mod beta;
pub mod build;
pub mod check_calls;
pub mod copy;
pub mod effects;
pub mod expand_values;
pub mod fit_limits;
pub mod fold;
pub(crate) mod forms;
pub mod globals;
pub mod inline;
pub mod inlinings;
pub mod known;
mod large_clauses;
pub mod limits;
pub mod portable;
pub mod propagate;
pub mod remove_globals;
pub mod simplify;
pub mod size;
pub mod sort_letrec;
pub mod usage;
pub mod workers;

use std::fmt;

use canny_syntax::core::Unit;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::name::Name;

use fold::{Folder, LiteralFolder};
use forms::Forms;
use globals::{Globals, Imports};
use inlinings::Inlinings;
use limits::Budget;

/// Rounds of simplifying and inlining.
const ROUNDS: usize = 4;

/// Passes that can be turned off.
pub const PASSES: &[&str] = &[
    "check-calls",
    "split-entries",
    "simplify",
    "inline",
    "propagate",
    "remove-globals",
];

/// Passes that do not run, and how many steps the others may take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Names of passes that do not run, each one of [`PASSES`].
    pub disabled: Vec<String>,
    /// Greatest number of rewriting steps.
    pub limit: Option<u64>,
}

/// The limits of the optimizer, and its knowledge of other libraries.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Names of passes that do not run.
    pub disabled: Vec<String>,
    /// Greatest number of rewriting steps.
    pub limit: Option<u64>,
    /// The source of facts about the exports of other libraries.
    pub imports: Option<&'a dyn Imports>,
    /// The unit belongs to the standard library, whose frames no backtrace shows. Copies of its
    /// procedures do not keep their names either.
    pub is_standard: bool,
    /// Evaluates primitives on literals; by default a [`LiteralFolder`].
    pub folder: Option<&'a dyn Folder>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("disabled", &self.disabled)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Options<'_> {
    /// No optional pass at all.
    pub fn none() -> Self {
        let disabled = PASSES.iter().map(|pass| (*pass).to_owned()).collect();
        Options {
            disabled,
            ..Options::default()
        }
    }

    /// Options with these switches.
    pub fn with(switches: &Switches) -> Self {
        Options {
            disabled: switches.disabled.clone(),
            limit: switches.limit,
            ..Options::default()
        }
    }

    fn runs(&self, pass: &str) -> bool {
        !self.disabled.iter().any(|disabled| disabled == pass)
    }
}

/// The findings of the optimizer.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Warnings about the source.
    pub warnings: Vec<Diagnostic>,
    /// The facts about the exports for other units, by global name.
    pub exports: Vec<(Name, Vec<u8>)>,
    /// The calls that copies of procedures replaced.
    pub inlinings: Inlinings,
}

/// Optimizes a unit in place. The result is what the code generator expects, whatever passes ran.
pub fn optimize_unit(unit: &mut Unit, options: &Options) -> Report {
    let mut budget = Budget::new(options.limit);
    let folder = options.folder.unwrap_or(&LiteralFolder);
    let mut report = Report::default();
    let mut globals = Globals::collect(unit, options.imports);
    if options.runs("check-calls") {
        report.warnings = check_calls::run(unit, &globals);
    }
    expand_values::run(unit);
    let mut active = Forms::all(unit.body.len());
    sort_letrec::run(unit, &active);
    let workers = if options.runs("split-entries") {
        workers::run(unit, &globals, &mut budget)
    } else {
        workers::Workers::default()
    };
    if !workers.is_empty() {
        globals = globals.collect_again(unit, options.imports);
        active = Forms::all(unit.body.len());
    }
    let mut growth = inline::Growth::of(unit);
    let mut portable = portable::Portable::new();
    for round in 0..ROUNDS {
        let mut changed = Forms::none(unit.body.len());
        if options.runs("simplify") {
            simplify::run(
                unit,
                &active,
                &globals,
                folder,
                &mut report.inlinings,
                &mut budget,
                &mut changed,
            );
        }
        if round == 0 {
            portable = portable::collect_portable(unit, &workers, options.is_standard);
        }
        if options.runs("inline") && round + 1 < ROUNDS {
            globals = globals.collect_again(unit, options.imports);
            // In the first round no form was looked at yet.
            if round > 0 {
                active = changed.with_users(globals.mentioned());
            }
            inline::run(
                unit,
                &active,
                &globals,
                &workers,
                &mut growth,
                &mut report.inlinings,
                &mut budget,
                &mut changed,
            );
        }
        if changed.is_empty() {
            break;
        }
        sort_letrec::run(unit, &changed);
        globals = globals.collect_again(unit, options.imports);
        active = changed.with_users(globals.mentioned());
    }
    if options.runs("propagate") {
        let changed = propagate::run(unit, &globals, &mut budget);
        if options.runs("simplify") {
            simplify::run(
                unit,
                &changed,
                &globals,
                folder,
                &mut report.inlinings,
                &mut budget,
                &mut Forms::none(unit.body.len()),
            );
        }
        sort_letrec::run(unit, &changed);
    }
    let kept = portable::mentioned_globals(&portable);
    report.exports = portable::describe_exports(unit, &globals, portable, &kept);
    if options.runs("remove-globals") {
        remove_globals::run(unit, &kept, &mut budget);
    }
    fit_limits::run(unit);
    report
}

/// The warnings that optimizing a unit would give.
pub fn warnings(unit: &Unit, options: &Options) -> Vec<Diagnostic> {
    if options.runs("check-calls") {
        check_calls::run(unit, &Globals::collect(unit, options.imports))
    } else {
        Vec::new()
    }
}
