//! The expander: syntax objects to the core language.
//!
//! An [`Expander`] lives for one unit (library, program or form at the prompt). It works in two
//! passes over each body and top level: the first expands macros until it knows every definition,
//! the second expands the right-hand sides and expressions; so definitions may be used before they
//! stand in the text. Errors do not stop it: a bad form becomes an unspecified constant and the
//! error is kept, so that all errors of a file are found. Hygiene is explained in `scope`.
//!
//! Runaway input ends in a diagnostic: nesting is limited by [`NESTING_LIMIT`], expansion at one
//! place by a number of steps, and the size of everything that templates insert by a budget.

mod applicable;
mod body;
mod call_syntax;
mod denotation;
mod expansions;
mod expression;
mod forms;
mod libraries;
mod macros;
mod matching;
mod observation;
mod patterns;
mod procedural;
mod reference;
mod rule_patterns;
mod scope;
mod syntax_rules;
mod toplevel;
mod transcribe;
mod transform;
mod unbound_calls;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::binding::MacroName;
use crate::core::{GlobalDefinition, GlobalName, LibraryName, Unit, VarId, VarTable};
use crate::diagnostic::Diagnostic;
use crate::environment::Environment;
use crate::expander::denotation::Denotation;
use crate::expander::macros::Macro;
use crate::expander::scope::{ScopeId, Scopes};
use crate::library::Libraries;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::Identifier;

pub use denotation::lookup_primitive;
pub use libraries::FailedImport;
pub use toplevel::{
    expand_program, expand_program_in, expand_toplevel_form, expand_toplevel_forms,
};

/// Deepest nesting of code. Code that runs the expander or walks the core language recursively gives
/// it a stack of 256 MiB; this many levels fit with room to spare.
pub const NESTING_LIMIT: usize = 10_000;

/// Longest chain of macro steps that lead to one place.
const EXPANSION_STEPS_MAX: u32 = 100_000;

/// Most nodes that the templates of one unit may insert in all.
const UNIT_NODES_MAX: usize = 50_000_000;

/// Most nodes that one macro step may insert.
const STEP_NODES_MAX: usize = 2_000_000;

/// The number of the next expansion.
static NEXT_EPOCH: AtomicU64 = AtomicU64::new(1);

/// After this many errors the rest of the unit is not looked at.
const ERRORS_MAX: usize = 200;

/// How many of the last diagnostics are looked at to leave out one that was there before.
const REPEATS_MAX: usize = 20;

/// The result of expanding a unit: a unit if there was no error.
#[derive(Debug)]
pub struct Expansion {
    /// The unit; `None` after an error.
    pub unit: Option<Unit>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// A macro step, as a number in [`Expander::steps`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepId(u32);

impl StepId {
    /// No macro step: the text as written.
    const NONE: StepId = StepId(0);
}

/// A macro use that is being expanded, and the one that led to it.
struct Step {
    name: Name,
    span: Span,
    parent: StepId,
    length: u32,
    /// The macro is one that people do not know: see [`Macro`].
    is_hidden: bool,
}

/// The state of one unit's expansion.
pub(crate) struct Expander<'a> {
    libraries: &'a mut Libraries,
    environment: &'a mut Environment,
    scopes: Scopes,
    locals: VarTable,
    diagnostics: Vec<Diagnostic>,
    /// The macro steps so far; the first entry stands for none.
    steps: Vec<Step>,
    /// The step that led to the form being expanded.
    step: StepId,
    depth: usize,
    budget: usize,
    /// Set when continuing makes no sense; everything returns quickly then.
    aborted: bool,
    /// Set when an import failed for a reason that was reported elsewhere.
    incomplete: bool,
    /// Names of definitions at top level that macros inserted.
    hidden: HashMap<Identifier, Name>,
    /// Macros of top levels in the form they have during this expansion.
    opened: HashMap<MacroName, Arc<Macro>>,
    /// Macros that stand for something else in the body being expanded; the innermost replacement is
    /// the last.
    replaced: Vec<(Arc<Macro>, Denotation)>,
    /// Names of macros that this unit defines at its top level.
    new_macros: Vec<Name>,
    /// The field names of the record types that local variables hold.
    local_records: HashMap<VarId, Vec<Name>>,
    /// The call syntax of globals that were called, or `None`.
    call_syntaxes: HashMap<GlobalName, Option<Arc<Macro>>>,
    /// Globals that belong to one call each.
    call_variables: Vec<call_syntax::CallVariable>,
    globals: Vec<GlobalDefinition>,
    defined: HashSet<Name>,
    assigned: HashSet<Name>,
    /// Unbound variables that were reported.
    warned: HashSet<GlobalName>,
    /// Keywords that were used and are not imported.
    missing_keywords: Vec<(Name, Span)>,
    requires: Vec<LibraryName>,
    /// Tells this expansion from all others of the process.
    epoch: u64,
    /// How many transformer expressions are around the code being expanded.
    phase: u32,
    /// Local variables with smaller numbers belong to code that runs later than the present phase.
    first_local: u32,
    /// Where the identifiers of templates are looked up: the scope around the transformer.
    template_scope: ScopeId,
    /// Identifiers of templates that mention local bindings, and the scopes to look them up in.
    live: Vec<(Identifier, ScopeId)>,
    live_numbers: HashMap<(Identifier, ScopeId), u32>,
    /// For editors.
    observed: observation::Observed,
}

impl<'a> Expander<'a> {
    fn new(libraries: &'a mut Libraries, environment: &'a mut Environment) -> Expander<'a> {
        let none = Step {
            name: Name::new(""),
            span: Span::NONE,
            parent: StepId::NONE,
            length: 0,
            is_hidden: false,
        };
        Expander {
            libraries,
            environment,
            scopes: Scopes::new(),
            locals: VarTable::default(),
            diagnostics: Vec::new(),
            steps: vec![none],
            step: StepId::NONE,
            depth: 0,
            budget: UNIT_NODES_MAX,
            aborted: false,
            incomplete: false,
            hidden: HashMap::new(),
            opened: HashMap::new(),
            replaced: Vec::new(),
            new_macros: Vec::new(),
            local_records: HashMap::new(),
            call_syntaxes: HashMap::new(),
            call_variables: Vec::new(),
            globals: Vec::new(),
            defined: HashSet::new(),
            assigned: HashSet::new(),
            warned: HashSet::new(),
            missing_keywords: Vec::new(),
            requires: Vec::new(),
            epoch: NEXT_EPOCH.fetch_add(1, Ordering::Relaxed),
            phase: 0,
            first_local: 0,
            template_scope: ScopeId::TOP,
            live: Vec::new(),
            live_numbers: HashMap::new(),
            observed: observation::Observed::default(),
        }
    }

    /// The macro uses that led here, innermost first, without those of macros that people do not know.
    fn macro_uses(&self) -> impl Iterator<Item = (Name, Span)> {
        let steps = std::iter::successors(self.entry_of(self.step), |entry| {
            self.entry_of(entry.parent)
        });
        steps
            .filter(|entry| !entry.is_hidden || entry.parent == StepId::NONE)
            .map(|entry| (entry.name, entry.span))
    }

    fn entry_of(&self, step: StepId) -> Option<&Step> {
        (step != StepId::NONE).then(|| &self.steps[step.0 as usize])
    }

    /// Keeps a diagnostic, with the macro uses that led here; one that says the same of the same place
    /// is left out.
    fn report(&mut self, mut diagnostic: Diagnostic) {
        if self.aborted {
            return;
        }
        // A macro may make one mistake of a user's many times.
        let is_known = |known: &Diagnostic| {
            (known.code, known.span, &known.message)
                == (diagnostic.code, diagnostic.span, &diagnostic.message)
        };
        if self
            .diagnostics
            .iter()
            .rev()
            .take(REPEATS_MAX)
            .any(is_known)
        {
            return;
        }
        diagnostic.expansion.extend(self.macro_uses().take(200));
        self.diagnostics.push(diagnostic);
        if self.diagnostics.iter().filter(|one| one.is_error()).count() >= ERRORS_MAX {
            self.aborted = true;
        }
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    fn has_errors(&self) -> bool {
        self.aborted || self.incomplete || self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Goes `levels` deeper; false, with an error, when that is too deep. Every success is matched
    /// by a [`Expander::leave`] with the same number.
    fn enter(&mut self, levels: usize, span: Span) -> bool {
        if self.aborted || self.is_stopped() {
            return false;
        }
        if self.depth + levels > NESTING_LIMIT {
            let message = format!("nested too deeply: more than {NESTING_LIMIT} levels");
            let mut diagnostic = Diagnostic::error("nested-too-deeply", span, message);
            if self.step != StepId::NONE {
                diagnostic = diagnostic.note("perhaps a macro's expansion does not end");
            }
            self.report(diagnostic);
            self.aborted = true;
            return false;
        }
        self.depth += levels;
        true
    }

    /// Whether somebody wants this expansion to end; what it gives is of no use then.
    fn is_stopped(&mut self) -> bool {
        let stopped = self.libraries.is_stopped();
        if stopped && !self.aborted {
            let message = "the expansion was stopped";
            self.error("expansion-stopped", Span::NONE, message);
            self.aborted = true;
        }
        stopped
    }

    fn leave(&mut self, levels: usize) {
        self.depth -= levels;
    }
}
