//! Calls of leaf functions: registers survive, and a function that declines leaves with the state of
//! the instruction.

use canny_spesh::graph::{FloatOperation, Op};
use canny_spesh::types::Type;
use canny_tables::layout::{DECLINED, FALSE, NIL, TRUE};
use canny_tables::leaves::{self, LeafId};

use super::machine::{Builder, LEFT_RESULT, Machine, fixnum, flonum, plain_code};

/// Overwrites what a function of the platform may overwrite; the sum of its words, unless the first one
/// is zero.
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

/// Never does anything itself.
extern "C" fn decline(_thread: *mut u64, _x: u64, _y: u64, _z: u64) -> u64 {
    DECLINED
}

/// Result of arithmetic on operands of kinds that compiled code does not compute with.
fn mixed(x: u64, y: u64) -> u64 {
    x.rotate_left(8) ^ y
}

/// That, unless the first operand is the empty list.
extern "C" fn arithmetic(_thread: *mut u64, x: u64, y: u64, _z: u64) -> u64 {
    if x == NIL { DECLINED } else { mixed(x, y) }
}

/// The made-up machine's functions: all the same, except those of arithmetic, and that characters and
/// bytes are left to the runtime.
pub fn functions() -> Vec<usize> {
    let mut functions = vec![sum as *const () as usize; leaves::ROWS.len()];
    for primitive in ["+", "*", "quotient", "modulo", "<", ">="] {
        if let Some(LeafId(row)) = leaves::lookup(primitive, 2) {
            functions[usize::from(row)] = arithmetic as *const () as usize;
        }
    }
    let of_ports = [
        ("read-char", 1),
        ("peek-char", 1),
        ("write-char", 2),
        ("read-u8", 1),
        ("peek-u8", 1),
        ("write-u8", 2),
    ];
    for (primitive, arguments) in of_ports {
        if let Some(LeafId(row)) = leaves::lookup(primitive, arguments) {
            functions[usize::from(row)] = decline as *const () as usize;
        }
    }
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

/// Arithmetic on other numbers is left to the function; compiled code computes with fixnums as long
/// as the result is one, and compares fixnums and flonums.
#[test]
fn numbers_of_other_kinds_are_left_to_the_function() {
    let mut machine = Machine::new();
    let code = plain_code("number", 2);
    let large = (1 << 60) + 8;
    let half = flonum(0.5);
    let by_function = [mixed(half, fixnum(2)), mixed(fixnum(2), half)];
    for (primitive, of_fixnums, of_large, of_half) in [
        (
            "+",
            fixnum(9),
            mixed(fixnum(large), fixnum(large)),
            by_function,
        ),
        (
            "*",
            fixnum(14),
            mixed(fixnum(large), fixnum(large)),
            by_function,
        ),
        ("quotient", fixnum(3), fixnum(1), by_function),
        ("<", FALSE, FALSE, [TRUE, FALSE]),
        (">=", TRUE, TRUE, [FALSE, TRUE]),
    ] {
        let mut b = Builder::new(&code);
        let (x, y) = (b.slot(0), b.slot(1));
        let state = b.state(1, &[(0, x), (1, y)]);
        let leaf = leaves::lookup(primitive, 2).unwrap();
        let number = b.push(Op::Number(leaf, x, y, state));
        b.give(number);
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        let mut call = |x, y| machine.call(closure, &[x, y]);
        assert_eq!(call(fixnum(7), fixnum(2)), of_fixnums, "{primitive}");
        assert_eq!(call(fixnum(large), fixnum(large)), of_large, "{primitive}");
        assert_eq!(call(half, fixnum(2)), of_half[0], "{primitive}");
        assert_eq!(call(fixnum(2), half), of_half[1], "{primitive}");
        assert_eq!(call(NIL, half), LEFT_RESULT, "{primitive}");
    }
}

/// A division by zero is no work for fixnums.
#[test]
fn a_division_by_zero_is_left_to_the_function() {
    let mut machine = Machine::new();
    let code = plain_code("number", 2);
    let mut b = Builder::new(&code);
    let (x, y) = (b.slot(0), b.slot(1));
    let state = b.state(1, &[(0, x), (1, y)]);
    let leaf = leaves::lookup("modulo", 2).unwrap();
    let number = b.push(Op::Number(leaf, x, y, state));
    b.give(number);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let arguments = [fixnum(7), fixnum(0)];
    assert_eq!(
        machine.call(closure, &arguments),
        mixed(fixnum(7), fixnum(0))
    );
    assert_eq!(machine.call(closure, &[fixnum(7), fixnum(4)]), fixnum(3));
}

/// The result of a function of one operand or more, called with its operands in slots.
fn call_function(primitive: &str, operands: &[u64]) -> u64 {
    let mut machine = Machine::new();
    let code = plain_code("function", operands.len() as u32);
    let mut b = Builder::new(&code);
    let slots: Vec<_> = (0..operands.len())
        .map(|slot| b.slot(slot as u32))
        .collect();
    let registers: Vec<_> = (0..).zip(slots.iter().copied()).collect();
    let state = b.state(1, &registers);
    let leaf = leaves::lookup(primitive, operands.len()).unwrap();
    let value = b.push(Op::Leaf(leaf, slots, state));
    b.give(value);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    machine.call(closure, operands)
}

#[test]
fn kinds_answer_without_a_call() {
    let (two, half, less) = (fixnum(2), flonum(0.5), flonum(-2.5));
    for (primitive, operand, value) in [
        ("number?", half, TRUE),
        ("number?", NIL, FALSE),
        ("exact?", two, TRUE),
        ("exact?", half, FALSE),
        ("nan?", half, FALSE),
        ("exact-integer?", half, FALSE),
        ("floor", two, two),
        ("floor", less, flonum(-3.0)),
        ("exact", flonum(-3.0), fixnum(-3)),
        ("inexact", two, flonum(2.0)),
        ("abs", less, flonum(2.5)),
        ("abs", fixnum(-7), fixnum(7)),
        ("-", half, flonum(-0.5)),
    ] {
        assert_eq!(call_function(primitive, &[operand]), value, "{primitive}");
    }
}

#[test]
fn bits_of_fixnums_need_no_call() {
    for (primitive, operands, value) in [
        ("bit-set?", vec![2, 5], TRUE),
        ("bit-set?", vec![1, 5], FALSE),
        ("bit-set?", vec![61, -1], TRUE),
        ("bit-field", vec![-1, 3, 63], fixnum((1 << 60) - 1)),
        ("bit-field", vec![0b110100, 2, 5], fixnum(0b101)),
        ("bitwise-if", vec![0b1100, 0b1010, 0b0101], fixnum(0b1001)),
    ] {
        let operands: Vec<u64> = operands.into_iter().map(fixnum).collect();
        assert_eq!(call_function(primitive, &operands), value, "{primitive}");
    }
    let copied = call_function("copy-bit", &[fixnum(1), fixnum(4), TRUE]);
    assert_eq!(copied, fixnum(6));
}
