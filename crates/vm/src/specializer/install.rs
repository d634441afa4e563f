//! From a verified graph to published code: machine code, its memory, descriptors, publication.
//!
//! Runs on the worker, or on the program's own thread for `specializer::now`, beside running
//! mutators. Compiling changes nothing that others see. Publication takes the specializer's lock,
//! checks that the code, callees and globals that the graph relies on are still as they were, and
//! only then writes entry words and links; otherwise the result is dropped
//! (`InstallError::Refused`).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use canny_jit::{CodeMemory, Environment, JitError, MemoryOptions, Processor};
use canny_spesh::graph::{Block, Condition, EntryPoint, Graph, Op, Terminator, Test};
use canny_spesh::snapshot::{CodeSnapshot, CodeSource, CodeWord};
use canny_spesh::types::Type;
use canny_tables::opcodes::Opcode;

use super::ledger::Sizes;
use super::registry::Publication;
use super::retired::FORCED_SHARE;
use crate::leaf::LeafFunction;

use super::{CandidateId, Refusal, Specializer, SpecializerConfig, View, compiled};

/// Why a graph did not come into use.
#[derive(Debug)]
pub enum InstallError {
    /// No machine code.
    Jit(JitError),
    /// A fact that it relies on does not hold any more.
    Refused(Refusal),
    /// The memory for machine code is full, but a collection will find retired code in it.
    NoRoomNow,
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::Jit(error) => error.fmt(f),
            InstallError::NoRoomNow => {
                f.write_str("the memory for machine code is used up until retired code is freed")
            }
            InstallError::Refused(Refusal::UnknownCode) => f.write_str("it refers to unknown code"),
            InstallError::Refused(Refusal::Stale) => {
                f.write_str("a variable that it relies on has changed")
            }
        }
    }
}

impl std::error::Error for InstallError {}

/// How much memory there may be.
fn memory_options(config: &SpecializerConfig) -> MemoryOptions {
    let mut options = MemoryOptions {
        writes_perf_map: config.writes_perf_map,
        writes_jitdump: config.writes_jitdump,
        ..MemoryOptions::default()
    };
    if let Some(bytes) = config.code_bytes_max {
        options.code_bytes_max = bytes.clamp(CODE_BYTES_MIN, options.code_bytes_max);
        options.data_bytes_max = options.code_bytes_max / 2;
    }
    options
}

/// Fewest bytes of machine code, enough for the code that all procedures share.
const CODE_BYTES_MIN: usize = 16 << 10;

/// The memory for machine code, made at its first use.
pub(super) struct MachineCode {
    config: SpecializerConfig,
    memory: OnceLock<Result<CodeMemory, String>>,
}

impl MachineCode {
    pub(super) fn new(config: SpecializerConfig) -> MachineCode {
        MachineCode {
            config,
            memory: OnceLock::new(),
        }
    }

    /// Bytes of machine code and of descriptors in use.
    pub(super) fn used_bytes(&self) -> (usize, usize) {
        match self.memory.get() {
            Some(Ok(memory)) => (memory.used_code_bytes(), memory.used_data_bytes()),
            _ => (0, 0),
        }
    }

    pub(super) fn memory(&self) -> Result<&CodeMemory, JitError> {
        let memory = self.memory.get_or_init(|| {
            CodeMemory::new(&memory_options(&self.config)).map_err(|error| error.to_string())
        });
        memory
            .as_ref()
            .map_err(|error| JitError::CodeGenerator(error.clone()))
    }
}

impl Specializer {
    /// Addresses of all machine code and descriptors, if there are any.
    pub(crate) fn code_addresses(&self) -> Option<Range<usize>> {
        Some(self.machine_code.memory.get()?.as_ref().ok()?.addresses())
    }

    /// The place that machine code at an address was made for; if it takes memory for several objects,
    /// that of the object at an offset.
    pub(crate) fn place_of(&self, address: usize, offset: usize) -> Option<canny_jit::CodePlace> {
        let memory = self.machine_code.memory.get()?.as_ref().ok()?;
        memory.place_of_object(address, offset)
    }

    /// Whether a candidate found no room for its machine code, and nothing was freed since: making more
    /// is in vain.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// There is no room for machine code. Retired code may make some.
    fn memory_is_exhausted(&self) -> InstallError {
        let mut registry = self.lock();
        if registry.retired.bytes() == 0 {
            self.is_full.store(true, Ordering::Relaxed);
            return InstallError::Jit(JitError::MemoryExhausted);
        }
        registry.retired.want();
        drop(registry);
        self.want_collection();
        InstallError::NoRoomNow
    }
}

/// The functions and stubs of the machine that compiled code calls.
fn environment(leaves: &[LeafFunction], disassembles: bool, leaves_at_random: bool) -> Environment {
    Environment {
        leaves: leaves.iter().map(|function| *function as usize).collect(),
        call_slow_stub: canny_llint::slow_stub(Opcode::Call),
        tail_call_slow_stub: canny_llint::slow_stub(Opcode::TailCall),
        capture_apart: canny_llint::native_capture_apart(),
        allocate: compiled::allocate as *const () as usize,
        box_flonum: compiled::box_flonum as *const () as usize,
        disassembles,
        processor: Processor::Host,
        leaves_at_random,
    }
}

impl Specializer {
    /// Compiles a graph and puts it into use. `view` gave the snapshots that the graph was built from;
    /// `required` are the types that registers must have for it, which only loops may want. For any
    /// thread.
    pub fn install(
        &self,
        graph: &Graph,
        required: &[(u32, Type)],
        view: &View,
    ) -> Result<CandidateId, InstallError> {
        let number = self.next_candidate.fetch_add(1, Ordering::Relaxed);
        let id = CandidateId(number);
        let publication = Publication {
            id,
            code: graph.codes[0].word,
            entry: graph.entry,
            required: match graph.entry {
                EntryPoint::Start => graph.required.clone(),
                EntryPoint::Loop(_) => live_and_typed(graph, required),
            },
            watched: graph.watched.clone(),
            codes: codes_of(graph, view).ok_or(InstallError::Refused(Refusal::UnknownCode))?,
            leaf_calls: leaf_calls(graph),
            never_repeats: never_repeats(graph),
        };
        self.lock()
            .check(&publication)
            .map_err(InstallError::Refused)?;
        let start = Instant::now();
        let environment = environment(
            self.leaves,
            self.ledger.keeps_listings(),
            self.stress.is_some(),
        );
        let code = canny_jit::compile(graph, &environment).map_err(InstallError::Jit)?;
        let memory = self.machine_code.memory().map_err(InstallError::Jit)?;
        let codes = &publication.codes;
        let line_of = |address| self.line_of(codes, address);
        let installed = memory.install(&code, number, &line_of).map_err(|error| {
            if matches!(error, JitError::MemoryExhausted) {
                self.memory_is_exhausted()
            } else {
                InstallError::Jit(error)
            }
        })?;
        let sizes = Sizes {
            code_bytes: installed.code_bytes,
            descriptor_bytes: installed.data_bytes,
            segments: code.segment_count(),
        };
        let mut registry = self.lock();
        if let Err(refusal) = registry.check(&publication) {
            drop(registry);
            // SAFETY: the code's addresses were not published.
            unsafe { installed.free() };
            return Err(InstallError::Refused(refusal));
        }
        registry.keeps_reports = self.ledger.is_on();
        registry.publish(publication, installed);
        let has_much_retired = registry.retired.bytes() > memory.addresses().len() / FORCED_SHARE;
        let wants_collection = has_much_retired || registry.wants_collection();
        drop(registry);
        if wants_collection {
            self.want_collection();
        }
        let time = start.elapsed();
        self.ledger
            .compiled(id, graph, &sizes, time, code.disassembly());
        Ok(id)
    }
}

impl Specializer {
    /// File and line of an address behind the first word of an instruction, in one of some codes.
    pub(super) fn line_of(
        &self,
        codes: &[Arc<CodeSnapshot>],
        address: u64,
    ) -> Option<(String, u32)> {
        let code = codes.iter().find(|code| {
            let length = 4 * code.instructions.len() as u64;
            (code.entry + 1..=code.entry + length).contains(&address)
        })?;
        let pc = (address - code.entry) as usize / 4 - 1;
        self.ledger.line(code.word, pc)
    }
}

/// Where a graph calls leaf functions.
fn leaf_calls(graph: &Graph) -> HashSet<(CodeWord, usize)> {
    let nodes = graph.blocks.iter().flat_map(|block| &block.nodes);
    nodes
        .filter_map(|id| match graph.node(*id).op {
            Op::Leaf(.., state) | Op::Number(.., state) => {
                let state = graph.state(state);
                Some((graph.code_of(state.frame).word, state.pc))
            }
            _ => None,
        })
        .collect()
}

/// Whether a breakpoint ends each iteration.
fn never_repeats(graph: &Graph) -> bool {
    let has_breaks = graph.codes.iter().any(|code| !code.breaks.is_empty());
    let goes_back = |(index, block): (usize, &Block)| {
        let mut edges = block.terminator.edges();
        edges.any(|edge| edge.target.index() <= index)
    };
    has_breaks && !graph.blocks.iter().enumerate().any(goes_back)
}

/// Types to be tested in registers on entry, without dead registers: these may hold references to
/// objects that are gone.
fn live_and_typed(graph: &Graph, required: &[(u32, Type)]) -> Vec<(u32, Type)> {
    let code = &graph.codes[0];
    let live = match graph.entry {
        EntryPoint::Start => None,
        EntryPoint::Loop(pc) => Some(code.liveness.live_before(&code.instructions, pc)),
    };
    let is_live = |register: u32| {
        live.as_ref()
            .is_none_or(|live| live.contains(register as usize))
    };
    required
        .iter()
        .filter(|(register, ty)| *ty != Type::ANY && is_live(*register))
        .copied()
        .collect()
}

/// The snapshots of all code that a graph consists of or refers to.
fn codes_of(graph: &Graph, view: &View) -> Option<Vec<Arc<CodeSnapshot>>> {
    let mut codes: BTreeMap<CodeWord, Arc<CodeSnapshot>> = graph
        .codes
        .iter()
        .chain(&view.given())
        .map(|code| (code.word, code.clone()))
        .collect();
    for word in mentioned(graph) {
        if let std::collections::btree_map::Entry::Vacant(slot) = codes.entry(word) {
            slot.insert(view.snapshot(word)?);
        }
    }
    Some(codes.into_values().collect())
}

/// Code that a graph's nodes name.
fn mentioned(graph: &Graph) -> BTreeSet<CodeWord> {
    let mut words = BTreeSet::new();
    let test = |words: &mut BTreeSet<CodeWord>, test: &Test| {
        if let Test::ClosureOf(code) = test {
            words.insert(CodeWord(*code));
        }
    };
    for node in &graph.nodes {
        match &node.op {
            Op::Guard(asked, ..) => test(&mut words, asked),
            Op::Require(Condition::Test(asked, _), _) | Op::Boolean(Condition::Test(asked, _)) => {
                test(&mut words, asked);
            }
            Op::Call(callee, ..) => words.extend(callee.codes().map(CodeWord)),
            _ => {}
        }
    }
    for block in &graph.blocks {
        match &block.terminator {
            Terminator::Branch {
                condition: Condition::Test(asked, _),
                ..
            } => test(&mut words, asked),
            Terminator::TailCall(callee, ..) => words.extend(callee.codes().map(CodeWord)),
            _ => {}
        }
    }
    words
}
