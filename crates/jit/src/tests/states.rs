//! States: stores at exits, loads behind calls and the runtime, inlined frames.

use canny_spesh::graph::{
    Callee, Comparison, Condition, FixnumOperation, FloatOperation, Frame, FrameId, Memory, Op,
    Representation, Terminator, Test,
};
use canny_spesh::types::Type;
use canny_tables::layout::{CAR, CDR, FALSE, TRUE, descriptor};
use canny_tables::opcodes::{Opcode, encode_abc};

use super::machine::{
    Builder, FakeCode, LEFT_RESULT, MOVE, Machine, double, edge, fixnum, flonum, peek, plain_code,
};

/// Code with a `call-primitive-1 R[3] = R[0]` at 1 and a `jump-less R[0] R[1]` at 3.
fn runtime_code() -> FakeCode {
    FakeCode::new(
        "runtime",
        3,
        16,
        vec![
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::CallPrimitive1, 3, 0, 0),
            0,
            encode_abc(Opcode::JumpLess, 0, 1, 0),
            1,
            encode_abc(Opcode::Return, 0, 0, 0),
            encode_abc(Opcode::Return, 3, 0, 0),
        ],
    )
}

#[test]
fn slots_are_exact_where_a_guard_leaves() {
    let mut machine = Machine::new();
    let code = plain_code("exact", 2);
    let mut b = Builder::new(&code);
    let (x, y) = (b.slot(0), b.slot(1));
    let constant = b.word(TRUE);
    let float = b.push(Op::Float(1.25));
    let huge = b.push(Op::Float(1e200));
    let state = b.state(
        5,
        &[(0, y), (1, x), (2, constant), (3, float), (4, y), (6, huge)],
    );
    let y = b.push(Op::Guard(Test::Pair, y, state));
    b.give(y);
    let compiled = machine.compile(&b.graph);
    // The exit calls the boxing function, and needs no native frame for it.
    assert_eq!(compiled.framed_segment_count(), 0);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(machine.call(closure, &[fixnum(1), 0x2001]), 0x2001);
    machine.stack[super::machine::CALLEE_FP + 5] = 12345;
    assert_eq!(machine.call(closure, &[fixnum(1), fixnum(2)]), LEFT_RESULT);
    assert_eq!(machine.left().unwrap().bytecode, code.snapshot.address(5));
    let registers: Vec<u64> = (-2..6).map(|r| machine.register(r)).collect();
    assert_eq!(registers[0], closure);
    assert_eq!(
        registers[2..],
        [fixnum(2), fixnum(1), TRUE, flonum(1.25), fixnum(2), 12345]
    );
    assert_eq!(double(machine.register(6)), 1e200);
    assert_eq!(machine.boxes(), 1);
}

#[test]
fn objects_that_only_exits_need_are_made_there() {
    let mut machine = Machine::new();
    let code = plain_code("sunk", 2);
    let mut b = Builder::new(&code);
    let (x, y) = (b.slot(0), b.slot(1));
    let float = b.push(Op::Float(1e200));
    let inner = b.push(Op::Cons(x, float));
    let outer = b.push(Op::Cons(inner, inner));
    let used = b.push(Op::Cons(y, x));
    let state = b.state(5, &[(0, outer), (1, y), (2, outer), (3, inner), (4, used)]);
    let y = b.push(Op::Guard(Test::Fixnum, y, state));
    let there = b.push(Op::Load(used, CDR, Memory::Cdr));
    let state = b.state(6, &[(0, y), (1, there)]);
    let x = b.push(Op::Guard(Test::Fixnum, x, state));
    b.give(x);
    canny_spesh::sink::sink(&mut b.graph);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let before = machine.bytes_taken();
    assert_eq!(machine.call(closure, &[fixnum(1), fixnum(2)]), fixnum(1));
    assert_eq!(machine.bytes_taken() - before, 16, "the pair that is read");
    assert_eq!(machine.call(closure, &[fixnum(1), TRUE]), LEFT_RESULT);
    assert_eq!(machine.bytes_taken() - before, 32 + 2 * 16);
    let outer = machine.register(0);
    assert_eq!(
        machine.register(2),
        outer,
        "made once, though two slots name it"
    );
    let inner = machine.register(3);
    assert_eq!([peek(outer, CAR), peek(outer, CDR)], [inner, inner]);
    assert_eq!(peek(inner, CAR), fixnum(1));
    assert_eq!(double(peek(inner, CDR)), 1e200);
    assert_eq!(machine.boxes(), 1);
    assert_eq!(peek(machine.register(4), CAR), TRUE);
}

#[test]
fn block_parameters_move_in_parallel() {
    let mut machine = Machine::new();
    let code = plain_code("rotate", 4);
    let mut b = Builder::new(&code);
    let slots: Vec<_> = (0..4).map(|register| b.slot(register)).collect();
    let (head, p) = b.new_block(&[Representation::Tagged; 4]);
    let (body, _) = b.new_block(&[]);
    let (done, _) = b.new_block(&[]);
    b.jump(head, &slots);
    b.block = head;
    let zero = b.fixnum(0);
    b.branch(
        Condition::Fixnums(Comparison::Greater, p[3], zero),
        edge(body, &[]),
        edge(done, &[]),
    );
    b.block = body;
    let one = b.fixnum(1);
    let state = b.state(2, &[(0, p[0]), (1, p[1]), (2, p[2]), (3, p[3])]);
    let less = b.push(Op::Fixnum(FixnumOperation::Subtract, p[3], one, state));
    b.jump(head, &[p[1], p[2], p[0], less]);
    b.block = done;
    let state = b.state(7, &[(0, p[0]), (1, p[1]), (2, p[2]), (5, p[0])]);
    b.end(Terminator::Exit(state));
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let arguments = [fixnum(10), fixnum(11), fixnum(12), fixnum(4)];
    assert_eq!(machine.call(closure, &arguments), LEFT_RESULT);
    let registers: Vec<u64> = [0, 1, 2, 5].map(|r| machine.register(r)).into();
    assert_eq!(registers, [fixnum(11), fixnum(12), fixnum(10), fixnum(11)]);
}

#[test]
fn values_are_loaded_again_behind_the_runtime() {
    for with_lost_float in [false, true] {
        let mut machine = Machine::new();
        let code = runtime_code();
        let mut b = Builder::new(&code);
        let (x, pair) = (b.slot(0), b.slot(1));
        let half = b.push(Op::Float(0.5));
        let number = b.push(Op::NumberToFloat(x));
        let scaled = b.push(Op::FloatArithmetic(FloatOperation::Multiply, number, half));
        let registers = if with_lost_float {
            vec![(0, x), (1, pair)]
        } else {
            vec![(0, x), (1, pair), (5, scaled)]
        };
        let state = b.state(1, &registers);
        let value = b.push(Op::Runtime(state));
        let boxed = b.push(Op::Box(scaled));
        let state = b.state(3, &[(0, pair), (1, value), (2, boxed), (4, x)]);
        b.end(Terminator::Exit(state));
        let compiled = machine.compile(&b.graph);
        assert_eq!(compiled.segment_count(), 2 - usize::from(with_lost_float));
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        let result = machine.call(closure, &[fixnum(7), 0x4001, FALSE]);
        assert_eq!(result, LEFT_RESULT);
        assert_eq!(machine.collections(), 1);
        assert_eq!(machine.left().unwrap().bytecode, code.snapshot.address(3));
        assert_eq!(machine.register(0), 0x4001 + MOVE);
        assert_eq!(machine.register(1), fixnum(8));
        assert_eq!(machine.register(2), flonum(3.5));
        assert_eq!(machine.register(4), fixnum(7));
        // The runtime leaves the machine.
        if !with_lost_float {
            let mut b = Builder::new(&code);
            let x = b.slot(0);
            let state = b.state(1, &[(0, x)]);
            let value = b.push(Op::Runtime(state));
            b.give(value);
            machine.install(&b.graph, &code);
            assert_eq!(machine.call(closure, &[FALSE, 0, 0]), LEFT_RESULT);
            assert_eq!(machine.call(closure, &[TRUE, 0, 0]), TRUE);
        }
    }
}

#[test]
fn branches_in_the_runtime_go_both_ways() {
    for with_lost_float in [false, true] {
        let mut machine = Machine::new();
        let code = runtime_code();
        let mut b = Builder::new(&code);
        let (x, y, pair) = (b.slot(0), b.slot(1), b.slot(2));
        let number = b.push(Op::NumberToFloat(x));
        let mut registers = vec![(0, x), (1, y), (2, pair)];
        if !with_lost_float {
            registers.push((4, number));
        }
        let state = b.state(3, &registers);
        let (taken, t) = b.new_block(&[Representation::Tagged, Representation::Float]);
        let (fall, f) = b.new_block(&[Representation::Tagged]);
        b.end(Terminator::RuntimeBranch {
            state,
            taken: edge(taken, &[pair, number]),
            fall: edge(fall, &[y]),
        });
        b.block = taken;
        let boxed = b.push(Op::Box(t[1]));
        let state = b.state(5, &[(0, t[0]), (1, boxed)]);
        b.end(Terminator::Exit(state));
        b.block = fall;
        b.give(f[0]);
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        let result = machine.call(closure, &[fixnum(1), fixnum(2), 0x4001]);
        assert_eq!(result, LEFT_RESULT);
        assert_eq!(machine.register(0), 0x4001 + MOVE);
        assert_eq!(machine.register(1), flonum(1.0));
        let result = machine.call(closure, &[fixnum(2), fixnum(1), 0x4001]);
        assert_eq!(result, fixnum(1));
    }
}

#[test]
fn inlined_frames_are_rebuilt() {
    let mut machine = Machine::new();
    let outer = FakeCode::new(
        "outer",
        2,
        16,
        vec![
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::Call, 4, 1, 0),
            0b11,
            encode_abc(Opcode::Add, 0, 1, 4),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let inner = FakeCode::new(
        "inner",
        1,
        8,
        vec![
            encode_abc(Opcode::AddImmediate, 0, 0, 1),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let callee = machine.closure(&inner, &[]);
    let mut b = Builder::new(&outer);
    let (x, y) = (b.slot(0), b.slot(1));
    let at_call = b.state(1, &[(1, y)]);
    b.graph.codes.push(inner.snapshot.clone());
    let inlined = b.word(callee);
    let frame = b.graph.add_frame(Frame {
        code: 1,
        caller: Some(at_call),
        base: 6,
        closure: inlined,
        return_address: Some(outer.snapshot.address(3)),
    });
    let state = b.state_in(frame, 0, &[(0, x)]);
    let x = b.guard_fixnum(x, state);
    let one = b.fixnum(1);
    let sum = b.push(Op::Fixnum(FixnumOperation::Add, x, one, state));
    let state = b.state_in(FrameId(0), 3, &[(1, y), (4, sum)]);
    let y = b.guard_fixnum(y, state);
    let sum = b.push(Op::Fixnum(FixnumOperation::Add, y, sum, state));
    b.give(sum);
    machine.install(&b.graph, &outer);
    let closure = machine.closure(&outer, &[]);
    assert_eq!(machine.call(closure, &[fixnum(1), fixnum(2)]), fixnum(4));
    // The interpreter returns through the rebuilt frame, which raises where the made-up machine stops.
    assert_eq!(machine.call(closure, &[TRUE, fixnum(2)]), LEFT_RESULT);
    let left = machine.left().unwrap();
    assert_eq!((left.fp, left.bytecode), (6, inner.snapshot.entry));
    assert_eq!(machine.register(6), TRUE);
    // The link of an inlined frame is a descriptor, born retired, of the return address.
    let link = machine.register(5) as *const u64;
    // SAFETY: the candidate's descriptors stay where they are.
    let (opcode, bytecode) = unsafe { (*link as u8, *link.byte_add(descriptor::BYTECODE)) };
    assert_eq!(opcode, Opcode::Retired as u8);
    assert_eq!(bytecode, outer.snapshot.address(3));
    assert_eq!(machine.register(4), callee);
    assert_eq!(machine.register(1), fixnum(2));
    // An overflow resumes in the interpreter, whose return finds the outer frame.
    machine.resumes = true;
    let great = (1 << 61) - 1;
    let outer_state = machine.call(closure, &[fixnum(great - 1), fixnum(-5)]);
    assert_eq!(outer_state, fixnum(great - 5));
    assert_eq!(machine.times_left(), 0);
}

#[test]
fn a_call_in_an_inlined_frame_suspends_both() {
    let mut machine = Machine::new();
    let outer = FakeCode::new(
        "outer",
        2,
        16,
        vec![
            encode_abc(Opcode::Call, 4, 1, 0),
            0b10,
            encode_abc(Opcode::Add, 0, 1, 4),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    // Calls its argument with itself.
    let inner = FakeCode::new(
        "inner",
        1,
        8,
        vec![
            encode_abc(Opcode::Move, 1, 0, 0),
            encode_abc(Opcode::Move, 3, 0, 0),
            encode_abc(Opcode::Call, 1, 1, 0),
            0,
            encode_abc(Opcode::Return, 1, 0, 0),
        ],
    );
    let nine = FakeCode::new(
        "nine",
        1,
        4,
        vec![
            encode_abc(Opcode::LoadImmediate, 0, 36, 0),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let inner_closure = machine.closure(&inner, &[]);
    let callee = machine.closure(&nine, &[]);
    let mut b = Builder::new(&outer);
    let (x, y) = (b.slot(0), b.slot(1));
    let at_call = b.state(0, &[(1, y)]);
    b.graph.codes.push(inner.snapshot.clone());
    let inlined = b.word(inner_closure);
    let frame = b.graph.add_frame(Frame {
        code: 1,
        caller: Some(at_call),
        base: 6,
        closure: inlined,
        return_address: Some(outer.snapshot.address(2)),
    });
    let state = b.state_in(frame, 2, &[]);
    let value = b.call(Callee::Unknown(x), &[x], state);
    let state = b.state(2, &[(1, y), (4, value)]);
    let value = b.guard_fixnum(value, state);
    let y = b.guard_fixnum(y, state);
    let sum = b.push(Op::Fixnum(FixnumOperation::Add, y, value, state));
    b.give(sum);
    let installed = machine.install(&b.graph, &outer);
    let closure = machine.closure(&outer, &[]);
    assert_eq!(machine.call(closure, &[callee, fixnum(2)]), fixnum(11));
    // Frames suspended at the call resume in the interpreter when the code is retired: in both frames.
    outer.enter_bytecode();
    outer.set_native(installed.native_entry as u64);
    outer.set_entry(installed.entry_descriptor as u64);
    let tag = |descriptor: usize| {
        // SAFETY: the descriptor is readable, and written by nobody now.
        unsafe { *(descriptor as *const u8) }
    };
    let there = installed.return_descriptors[0];
    assert_eq!(tag(there.address), Opcode::Native as u8);
    assert_eq!(there.bytecode, inner.snapshot.address(4));
    // Retire only the return descriptor: the entry still runs compiled code, its call returns to bytecode.
    // SAFETY: nothing runs.
    unsafe { *(there.address as *mut u32) = Opcode::Retired as u32 };
    assert_eq!(machine.call(closure, &[callee, fixnum(2)]), fixnum(11));
}

#[test]
fn a_poll_leaves_when_a_safepoint_is_asked_for() {
    let mut machine = Machine::new();
    let code = plain_code("poll", 1);
    let mut b = Builder::new(&code);
    let x = b.slot(0);
    let state = b.state(4, &[(0, x)]);
    b.push(Op::Poll(state));
    let one = b.fixnum(1);
    let x = b.typed(Op::Refine(x), Type::FIXNUM);
    let sum = b.push(Op::Fixnum(FixnumOperation::Add, x, one, state));
    b.give(sum);
    // Entered as a loop, so that the entry does not look at the limit.
    b.graph.entry = canny_spesh::graph::EntryPoint::Loop(0);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(machine.call(closure, &[fixnum(1)]), fixnum(2));
    // The interpreter's own call would see a limit of zero: entered by a compiled call.
    let caller = FakeCode::new(
        "caller",
        1,
        8,
        vec![
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::TailCall, 1, 1, 0),
        ],
    );
    let mut b = Builder::new(&caller);
    let x = b.slot(0);
    let callee = b.word(closure);
    let window = b.state(1, &[(1, callee), (3, x)]);
    let cell = b.word(machine.block.as_ptr() as u64);
    let zero = b.fixnum(0);
    b.typed(
        Op::Store(
            cell,
            canny_tables::layout::thread::LIMIT,
            zero,
            canny_spesh::graph::Memory::Box,
        ),
        Type::ANY,
    );
    let known = Callee::Known {
        closure: callee,
        code: code.word,
    };
    b.end(Terminator::TailCall(known, vec![x], window));
    machine.install(&b.graph, &caller);
    let closure = machine.closure(&caller, &[]);
    assert_eq!(machine.call(closure, &[fixnum(8)]), LEFT_RESULT);
    assert_eq!(machine.left().unwrap().bytecode, code.snapshot.address(4));
    assert_eq!(machine.register(0), fixnum(8));
}

#[test]
fn many_instructions_in_the_runtime_do_not_cut() {
    let mut machine = Machine::new();
    let code = runtime_code();
    let mut b = Builder::new(&code);
    let x = b.slot(0);
    let (tail, parameters) = b.new_block(&[Representation::Tagged]);
    let mut value = x;
    for _ in 0..80 {
        let state = b.state(1, &[(0, value)]);
        value = b.push(Op::Runtime(state));
        let (next, _) = b.new_block(&[]);
        let is_pair = Condition::Test(Test::Pair, value);
        b.branch(is_pair, edge(tail, &[value]), edge(next, &[]));
        b.block = next;
    }
    b.jump(tail, &[value]);
    b.block = tail;
    let mut sum = parameters[0];
    for n in 0..400 {
        let state = b.state(3, &[(0, sum)]);
        let n = b.fixnum(n);
        sum = b.push(Op::Fixnum(FixnumOperation::Add, sum, n, state));
    }
    b.give(sum);
    let compiled = machine.compile(&b.graph);
    assert_eq!(compiled.segment_count(), 1);
    assert_eq!(compiled.framed_segment_count(), 0);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[fixnum(5), 0, 0]);
    assert_eq!(result, fixnum(5 + 80 + 399 * 200));
    assert_eq!(machine.collections(), 80);
}
