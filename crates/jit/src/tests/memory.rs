//! Code memory: exhaustion, reuse, descriptors.

use canny_spesh::graph::Op;
use canny_tables::layout::descriptor;
use canny_tables::opcodes::Opcode;

use super::machine::{Builder, Machine, fixnum, plain_code};
use crate::{CodeMemory, JitError, MemoryOptions};

fn constant(code: &super::machine::FakeCode, n: i64) -> Builder {
    let mut b = Builder::new(code);
    let x = b.slot(0);
    let state = b.state(1, &[(0, x)]);
    b.guard_fixnum(x, state);
    let result = b.fixnum(n);
    b.give(result);
    b
}

#[test]
fn exhausted_memory_is_an_error_and_freed_memory_is_used_again() {
    let mut machine = Machine::new();
    machine.memory = CodeMemory::new(&MemoryOptions {
        code_bytes_max: 4096,
        data_bytes_max: 4096,
        writes_perf_map: false,
        writes_jitdump: false,
    })
    .unwrap();
    let code = plain_code("constant", 1);
    let before = machine.memory.used_code_bytes();
    let compiled = machine.compile(&constant(&code, 1).graph);
    let mut installed = Vec::new();
    let error = loop {
        match machine.memory.install(&compiled, 1, &|_| None) {
            Ok(there) => installed.push(there),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, JitError::MemoryExhausted));
    assert!(installed.len() > 4);
    for there in installed {
        // SAFETY: the code was not published.
        unsafe { there.free() };
    }
    assert_eq!(machine.memory.used_code_bytes(), before);
    assert_eq!(machine.memory.used_data_bytes(), 0);
    machine.install(&constant(&code, 9).graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(machine.call(closure, &[fixnum(1)]), fixnum(9));
}

#[test]
fn code_is_never_writable_where_it_runs() {
    let machine = Machine::new();
    let code = plain_code("constant", 1);
    let installed = machine.install(&constant(&code, 1).graph, &code);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps
        .lines()
        .find(|line| {
            let range = line.split(' ').next().unwrap_or_default();
            let (start, end) = range.split_once('-').unwrap_or_default();
            let parse = |text: &str| usize::from_str_radix(text, 16).unwrap_or(0);
            (parse(start)..parse(end)).contains(&installed.native_entry)
        })
        .unwrap();
    assert!(line.contains(" r-x"), "{line}");
}

#[test]
fn descriptors_say_what_the_contract_says() {
    let machine = Machine::new();
    let code = plain_code("constant", 1);
    let installed = machine.install(&constant(&code, 1).graph, &code);
    let word = |address: usize| {
        // SAFETY: descriptors are readable.
        unsafe { *(address as *const u64) }
    };
    let entry = installed.entry_descriptor;
    assert_eq!(entry % 16, 0);
    assert_eq!(word(entry), Opcode::Native as u64);
    assert_eq!(
        word(entry + descriptor::NATIVE),
        installed.native_entry as u64
    );
    assert_eq!(word(entry + descriptor::BYTECODE), code.snapshot.entry);
    let exit = installed.exits[0].address;
    assert_eq!(word(exit), Opcode::Leave as u64);
    assert_eq!(word(exit + descriptor::CANDIDATE), 77);
    assert_eq!(word(exit + descriptor::BYTECODE), code.snapshot.address(1));
    installed.retire();
    assert_eq!(word(entry), Opcode::Retired as u64);
}

#[test]
fn broken_graphs_are_refused() {
    let machine = Machine::new();
    let code = plain_code("broken", 1);
    let mut b = Builder::new(&code);
    let x = b.slot(0);
    let compile = |b: &Builder| crate::compile(&b.graph, &machine.environment());
    assert!(matches!(compile(&b), Err(JitError::Invalid(_))));
    // A value that is needed behind a call and has no slot there.
    let state = b.state(1, &[]);
    let value = b.push(Op::Runtime(state));
    let state = b.state(2, &[]);
    b.push(Op::Fixnum(
        canny_spesh::graph::FixnumOperation::Add,
        x,
        value,
        state,
    ));
    b.give(x);
    assert!(matches!(compile(&b), Err(JitError::Invalid(_))));
}
