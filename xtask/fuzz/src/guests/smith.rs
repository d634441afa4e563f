//! Modules of `wasm-smith`, with parts of the standard.

use arbitrary::Unstructured;
use wasm_smith::{Config, InstructionKind, InstructionKinds, MemoryOffsetChoices, Module};

/// Turns of loops and calls, after which all functions trap.
const FUEL: u32 = 800;

/// Small memories and tables, whose growth fails in both engines at the same size.
const PAGES_MAX: u64 = 4;

/// The module that the bytes stand for, if they stand for one. It may have exceptions, atomic accesses and
/// relaxed vector operations if it is for us alone.
pub fn module(bytes: &[u8], is_alone: bool) -> Option<Vec<u8>> {
    let mut bytes = Unstructured::new(bytes);
    let kinds = [
        InstructionKind::Numeric,
        InstructionKind::Vector,
        InstructionKind::Reference,
        InstructionKind::Parametric,
        InstructionKind::Variable,
        InstructionKind::Table,
        InstructionKind::Memory,
        InstructionKind::Control,
        InstructionKind::Aggregate,
    ];
    // With fewer kinds, those that are left meet each other more often.
    let chosen: u16 = if bytes.arbitrary().ok()? {
        u16::MAX
    } else {
        bytes.arbitrary().ok()?
    };
    let kinds: Vec<InstructionKind> = kinds
        .iter()
        .enumerate()
        .filter(|(index, _)| chosen >> index & 1 == 1)
        .map(|(_, kind)| *kind)
        .collect();
    let config = Config {
        allowed_instructions: InstructionKinds::new(&kinds),
        allow_start_export: bytes.ratio(1, 8).ok()?,
        canonicalize_nans: true,
        compact_imports_enabled: false,
        custom_descriptors_enabled: false,
        custom_page_sizes_enabled: false,
        exceptions_enabled: is_alone,
        export_everything: true,
        gc_enabled: false,
        max_funcs: 6,
        max_imports: 4,
        max_instructions: bytes.int_in_range(20..=400).ok()?,
        max_memories: 3,
        max_memory32_bytes: PAGES_MAX << 16,
        max_memory64_bytes: u128::from(PAGES_MAX << 16),
        max_table_elements: 100,
        max_tables: 3,
        max_types: 8,
        max_elements: 10,
        max_data_segments: 4,
        max_element_segments: 4,
        max_globals: 8,
        memory_max_size_required: true,
        memory_offset_choices: MemoryOffsetChoices(90, 9, 1),
        min_funcs: 1,
        min_types: 1,
        relaxed_simd_enabled: is_alone,
        shared_everything_threads_enabled: false,
        table_max_size_required: true,
        threads_enabled: is_alone,
        wide_arithmetic_enabled: false,
        ..Config::default()
    };
    let mut module = Module::new(config, &mut bytes).ok()?;
    module.ensure_termination(FUEL).ok()?;
    Some(module.to_bytes())
}
