//! From a plan to code in use: builds the graph, verifies it, installs it, and decides about
//! retries.
//!
//! Runs on the worker's thread and never touches the heap: code comes as snapshots. A plan that
//! needs a snapshot or room in code memory waits a bounded number of times. The number of times
//! that earlier candidates were retired decides which parts of a procedure are left to side exits.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use canny_jit::JitError;
use canny_spesh::build::{Options, build};
use canny_spesh::graph::check_text;
use canny_spesh::graph::{EntryPoint, Graph};
use canny_spesh::planner::{Plan, Selection};
use canny_spesh::snapshot::{CodeSnapshot, CodeSource, CodeWord, Profile, WithoutGuesses};
use canny_spesh::switches::{PASSES, turn_off};
use canny_spesh::types::Type;
use canny_spesh::verify::verify;

use super::worker::{Compile, Outcome, Retired};
use super::{CandidateId, InstallError, Refusal, Specializer};

/// Candidates of a code that may be retired before what was never seen is compiled too.
const COLD_RETRACTIONS_MAX: u32 = 3;

/// Candidates of an entry point that may be retired before it is compiled without guesses.
const GUESSING_RETRACTIONS_MAX: u32 = 6;

/// How often a plan waits for snapshots of what the code calls, or for room for its machine code.
const WAITS_MAX: u32 = 2;

/// The name that turns stitched code off, among those of the passes.
const STITCHING: &str = "stitching";

/// Switches of the compiler.
#[derive(Clone, Debug)]
pub struct CompilerOptions {
    /// The passes that run.
    passes: Options,
    /// Code is stitched before it is worth compiling.
    stitches: bool,
    /// Check every graph before it is compiled; debug builds always do.
    pub verifies: bool,
}

impl Default for CompilerOptions {
    fn default() -> CompilerOptions {
        CompilerOptions {
            passes: Options::default(),
            stitches: true,
            verifies: cfg!(debug_assertions),
        }
    }
}

impl CompilerOptions {
    /// The names of the passes that can be turned off.
    pub fn passes() -> Vec<&'static str> {
        let passes = PASSES.iter().map(|pass| pass.name);
        passes.chain([STITCHING]).collect()
    }

    /// Turns a pass off; the error says that there is none of this name.
    pub fn turn_off(&mut self, pass: &str) -> Result<(), String> {
        if pass == STITCHING {
            self.stitches = false;
            return Ok(());
        }
        turn_off(&mut self.passes, pass)
    }
}

/// Builds, compiles and installs plans; remembers what it installed, to tell the planner what was retired.
pub struct Compiler {
    specializer: Arc<Specializer>,
    options: Options,
    stitches: bool,
    /// Check every graph before it is compiled, which takes a good part of the time that compiling takes.
    verifies: bool,
    installed: Vec<(CandidateId, Plan)>,
    waits: HashMap<(CodeWord, EntryPoint), u32>,
    /// How often a plan found no room for its machine code.
    waits_for_room: HashMap<(CodeWord, EntryPoint), u32>,
    /// How often candidates of a code were retired.
    retractions: HashMap<(CodeWord, EntryPoint), u32>,
}

impl Compiler {
    /// The compiler of a machine's specializer.
    pub fn new(specializer: Arc<Specializer>, options: CompilerOptions) -> Compiler {
        Compiler {
            specializer,
            options: options.passes,
            stitches: options.stitches,
            verifies: options.verifies,
            installed: Vec::new(),
            waits: HashMap::new(),
            waits_for_room: HashMap::new(),
            retractions: HashMap::new(),
        }
    }
}

impl Compiler {
    /// Compiles and installs a plan.
    fn try_to_compile(
        &mut self,
        plan: &Plan,
        profile: &dyn Profile,
        log: Option<&mut dyn Write>,
        start: Instant,
    ) -> Outcome {
        if self.specializer.is_full() {
            return Outcome::Refused(JitError::MemoryExhausted.to_string());
        }
        let view = self.specializer.view();
        let Some(code) = view.snapshot(plan.code) else {
            return Outcome::TryAgain("its code is not known yet".to_owned());
        };
        let mut options = self.options.clone();
        // Code that keeps coming to what it never did before is compiled whole.
        let entry = (plan.code, plan.entry);
        let retractions = self.retractions.get(&entry).copied().unwrap_or(0);
        options.leaves_cold_code &= retractions < COLD_RETRACTIONS_MAX;
        let without_guesses = WithoutGuesses(profile);
        let profile = if retractions < GUESSING_RETRACTIONS_MAX {
            profile
        } else {
            &without_guesses
        };
        let graph = build(
            code,
            plan.entry,
            &plan.parameter_types,
            profile,
            &view,
            &options,
        );
        let graph = match graph {
            Ok(graph) => graph,
            Err(error) => return Outcome::Refused(error.to_string()),
        };
        let waits = self.waits.entry((plan.code, plan.entry)).or_default();
        if view.misses_some() && *waits < WAITS_MAX {
            *waits += 1;
            return Outcome::TryAgain("code that it calls is not known yet".to_owned());
        }
        if let Some(log) = log {
            // Trouble with the log is not the program's.
            let _ = writeln!(log, "{}", beginning(&graph));
        }
        if self.verifies
            && let Err(problem) = verify(&graph).and_then(|()| check_text(&graph))
        {
            return Outcome::Refused(format!("the graph is wrong: {problem}"));
        }
        let required = required_types(plan);
        let key = (plan.code, plan.entry);
        match self.specializer.install(&graph, &required, &view) {
            Ok(id) => {
                self.specializer.ledger().planned(id, plan, start.elapsed());
                self.installed.push((id, plan.clone()));
                Outcome::Installed(summary(&graph))
            }
            Err(InstallError::Refused(Refusal::Stale)) => {
                Outcome::TryAgain("a variable changed meanwhile".to_owned())
            }
            Err(error @ InstallError::NoRoomNow) => {
                let waits = self.waits_for_room.entry(key).or_default();
                *waits += 1;
                if *waits > WAITS_MAX {
                    Outcome::Refused(error.to_string())
                } else {
                    Outcome::TryAgain(error.to_string())
                }
            }
            Err(error) => Outcome::Refused(error.to_string()),
        }
    }
}

impl Compile for Compiler {
    fn compile(
        &mut self,
        plan: &Plan,
        profile: &dyn Profile,
        log: Option<&mut dyn Write>,
    ) -> Outcome {
        let start = Instant::now();
        let outcome = self.try_to_compile(plan, profile, log, start);
        let is_compiled = matches!(outcome, Outcome::Installed(_));
        let counters = &self.specializer.counters;
        counters.note_attempt(is_compiled, start.elapsed());
        outcome
    }

    fn stitch(&mut self, codes: &[Arc<CodeSnapshot>]) {
        if self.stitches {
            self.specializer.stitch(codes);
        }
    }

    fn restore_retractions(&mut self, code: CodeWord, entry: EntryPoint, count: u32) {
        self.retractions.insert((code, entry), count);
    }

    fn divides_by_class(&self) -> bool {
        self.options.divides_by_class
    }

    fn selection(&self) -> Selection {
        if self.options.selects_at_entry {
            Selection::Among
        } else {
            Selection::One
        }
    }

    fn forget(&mut self, dead: &[CodeWord]) {
        for code in dead {
            self.retractions.retain(|(of, _), _| of != code);
            self.waits.retain(|(of, _), _| of != code);
            self.waits_for_room.retain(|(of, _), _| of != code);
            self.installed.retain(|(_, plan)| plan.code != *code);
        }
    }

    fn retracted(&mut self) -> Vec<Retired> {
        let mut gone = Vec::new();
        let specializer = &self.specializer;
        self.installed.retain(|(id, plan)| {
            let report = specializer.exit_report(*id);
            let is_retired = report.as_ref().is_none_or(|report| report.is_retired);
            if is_retired {
                *self.retractions.entry((plan.code, plan.entry)).or_default() += 1;
                gone.push(Retired {
                    plan: plan.clone(),
                    report,
                });
            }
            !is_retired
        });
        gone
    }
}

/// Lines of a graph that are logged.
const GRAPH_LINES_MAX: usize = 5000;

/// A graph as text, without the end if it is very long.
fn beginning(graph: &Graph) -> String {
    let text = graph.to_string();
    match text.match_indices('\n').nth(GRAPH_LINES_MAX) {
        None => text,
        Some((end, _)) => {
            let more = text[end + 1..].lines().count();
            format!("{}\n  and {more} lines more\n", &text[..end])
        }
    }
}

/// Types that registers must have for a candidate that is entered at a loop.
fn required_types(plan: &Plan) -> Vec<(u32, Type)> {
    match plan.entry {
        EntryPoint::Start => Vec::new(),
        EntryPoint::Loop(_) => (0..).zip(plan.parameter_types.iter().copied()).collect(),
    }
}

/// Describes the result, for people.
fn summary(graph: &Graph) -> String {
    let inlined = graph.frames.len() - 1;
    let nodes: usize = graph.blocks.iter().map(|block| block.nodes.len()).sum();
    format!(
        "{} blocks, {nodes} nodes, {inlined} calls inlined",
        graph.blocks.len()
    )
}
