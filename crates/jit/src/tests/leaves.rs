//! Calls of leaf functions: registers survive, and a function that declines leaves with the state of the instruction.

use canny_spesh::graph::{FloatOperation, Op};
use canny_spesh::types::Type;
use canny_tables::layout::DECLINED;
use canny_tables::leaves::{self, LeafId};

use super::machine::{Builder, LEFT_RESULT, Machine, fixnum, flonum, plain_code};

/// Overwrites what a function of the platform may overwrite; the sum of its words, unless the first one is zero.
extern "C" fn sum(thread: *mut u64, x: u64, y: u64, z: u64) -> u64 {
    // SAFETY: only registers that are free in this convention are written.
    unsafe {
        core::arch::asm!(
            "mov r10, -1", "mov r11, -1",
            "xorps xmm0, xmm0", "xorps xmm1, xmm1", "xorps xmm2, xmm2", "xorps xmm3, xmm3",
            "xorps xmm4, xmm4", "xorps xmm5, xmm5", "xorps xmm6, xmm6", "xorps xmm7, xmm7",
            out("rax") _, out("rcx") _, out("r10") _, out("r11") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
        );
    }
    assert!(!thread.is_null());
    if x == 0 {
        return DECLINED;
    }
    x.wrapping_add(y).wrapping_add(z)
}

extern "C" fn decline(_: u64, _: u64, _: u64, _: u64) -> u64 {
    canny_tables::layout::DECLINED
}

/// The made-up machine's functions: all the same but one.
pub fn functions() -> Vec<usize> {
    let mut functions = vec![sum as *const () as usize; leaves::ROWS.len()];
    // What the runtime is asked next for; see the tests of ports.
    let write_char = leaves::lookup("write-char", 2).unwrap();
    functions[usize::from(write_char.0)] = decline as *const () as usize;
    functions
}

fn leaf_of_three() -> LeafId {
    leaves::lookup("string-set!", 3).unwrap()
}

#[test]
fn values_survive_a_leaf_call() {
    let mut machine = Machine::new();
    let code = plain_code("leaf", 3);
    let mut b = Builder::new(&code);
    let (x, y, z) = (b.slot(0), b.slot(1), b.slot(2));
    let state = b.state(1, &[(0, x), (1, y), (2, z)]);
    let first = b.typed(
        Op::Leaf(leaf_of_three(), vec![x, y, z], state),
        Type::FIXNUM,
    );
    let second = b.typed(
        Op::Leaf(leaf_of_three(), vec![first, x, y], state),
        Type::FIXNUM,
    );
    let third = b.typed(
        Op::Leaf(leaf_of_three(), vec![second, first, z], state),
        Type::FIXNUM,
    );
    b.give(third);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    // 6, 6 + 1 + 2, 9 + 6 + 3
    let arguments = [fixnum(1), fixnum(2), fixnum(3)];
    assert_eq!(machine.call(closure, &arguments), fixnum(18));
    let declined = [fixnum(0), fixnum(2), fixnum(3)];
    assert_eq!(machine.call(closure, &declined), LEFT_RESULT);
    assert_eq!(machine.left().unwrap().bytecode, code.snapshot.address(1));
}

#[test]
fn doubles_survive_a_leaf_call() {
    let mut machine = Machine::new();
    let code = plain_code("leaf", 2);
    let mut b = Builder::new(&code);
    let (x, y) = (b.slot(0), b.slot(1));
    let state = b.state(1, &[(0, x), (1, y)]);
    let double = b.typed(Op::Unbox(y), Type::FLONUM);
    let twice = b.push(Op::FloatArithmetic(FloatOperation::Add, double, double));
    b.typed(
        Op::Leaf(leaf_of_three(), vec![x, x, x], state),
        Type::FIXNUM,
    );
    let sum = b.push(Op::FloatArithmetic(FloatOperation::Add, twice, double));
    let boxed = b.typed(Op::Box(sum), Type::FLONUM);
    b.give(boxed);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(
        machine.call(closure, &[fixnum(1), flonum(1.5)]),
        flonum(4.5)
    );
}
