//! Calls, returns and tail calls, between compiled code and with the interpreter.

use canny_spesh::graph::{Callee, Comparison, Condition, FixnumOperation, Op, Terminator, Test};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{CHARACTER_LOW_BYTE, TAG_OBJECT, TAG_PAIR, TRUE, code, thread};
use canny_tables::opcodes::{Opcode, encode_abc, encode_far, encode_wide};

use super::machine::{
    Builder, CALLEE_FP, FakeCode, LEFT_RESULT, Machine, UNEXPECTED_RESULT, edge, fixnum, flonum,
    plain_code,
};
use crate::{Installed, LinkGoal};

/// `(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))` with the closure calling itself.
fn fib_code() -> FakeCode {
    let words = vec![
        // 0: if n < 2 return n
        encode_wide(Opcode::JumpNotLessImmediate, 0, 2),
        1,
        encode_abc(Opcode::Return, 0, 0, 0),
        // 3: R1 = self; R3 = n - 1; call
        encode_abc(Opcode::SelfRef, 1, 0, 0),
        encode_abc(Opcode::AddImmediate, 3, 0, -1i8 as u8),
        encode_abc(Opcode::Call, 1, 1, 0),
        0b1,
        // 7: R2 = self; R4 = n - 2; call
        encode_abc(Opcode::SelfRef, 2, 0, 0),
        encode_abc(Opcode::AddImmediate, 4, 0, -2i8 as u8),
        encode_abc(Opcode::Call, 2, 1, 0),
        0b10,
        // 11
        encode_abc(Opcode::Add, 0, 1, 2),
        encode_abc(Opcode::Return, 0, 0, 0),
    ];
    FakeCode::new("fib", 1, 8, words)
}

fn fib_graph(code: &FakeCode, known: bool) -> Builder {
    let mut b = Builder::new(code);
    let n = b.slot(0);
    let closure = b.graph.frames[0].closure;
    let start = b.state(0, &[(0, n)]);
    let n = b.guard_fixnum(n, start);
    let (small, _) = b.new_block(&[]);
    let (large, _) = b.new_block(&[]);
    let two = b.fixnum(2);
    let is_small = Condition::Fixnums(Comparison::Less, n, two);
    b.branch(is_small, edge(small, &[]), edge(large, &[]));
    b.block = small;
    b.give(n);
    b.block = large;
    let callee = if known {
        Callee::Known {
            closure,
            code: code.word,
        }
    } else {
        Callee::Unknown(closure)
    };
    let one = b.fixnum(1);
    let before = b.state(4, &[(0, n), (1, closure)]);
    let less = b.push(Op::Fixnum(FixnumOperation::Subtract, n, one, before));
    let at_first = b.state(5, &[(0, n)]);
    let first = b.call(callee, &[less], at_first);
    let before = b.state(8, &[(0, n), (1, first), (2, closure)]);
    let less = b.push(Op::Fixnum(FixnumOperation::Subtract, n, two, before));
    let at_second = b.state(9, &[(1, first)]);
    let second = b.call(callee, &[less], at_second);
    let sum_state = b.state(11, &[(1, first), (2, second)]);
    let first = b.guard_fixnum(first, sum_state);
    let second = b.guard_fixnum(second, sum_state);
    let sum = b.push(Op::Fixnum(FixnumOperation::Add, first, second, sum_state));
    b.give(sum);
    b
}

#[test]
fn a_recursive_procedure_calls_itself() {
    for known in [true, false] {
        let mut machine = Machine::new();
        let code = fib_code();
        let b = fib_graph(&code, known);
        let compiled = machine.compile(&b.graph);
        assert_eq!(compiled.segment_count(), 3);
        assert_eq!(compiled.framed_segment_count(), 0);
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        assert_eq!(machine.call(closure, &[fixnum(20)]), fixnum(6765));
        assert_eq!(machine.times_left(), 0);
    }
}

#[test]
fn compiled_code_and_bytecode_call_each_other() {
    // Two codes that recurse into each other: fib where one half runs interpreted.
    let mut machine = Machine::new();
    let compiled_code = fib_code();
    let closure = machine.closure(&compiled_code, &[]);
    // The interpreter runs the start of the same code when the compiled entry is left out.
    machine.resumes = true;
    assert_eq!(machine.call(closure, &[fixnum(15)]), fixnum(610));
    let b = fib_graph(&compiled_code, false);
    let installed = machine.install(&b.graph, &compiled_code);
    assert_eq!(machine.call(closure, &[fixnum(15)]), fixnum(610));
    assert_eq!(machine.times_left(), 0);
    // Bytecode calls compiled code through ENTRY; compiled code calls bytecode through NATIVE.
    compiled_code.enter_bytecode();
    compiled_code.set_entry(installed.entry_descriptor as u64);
    assert_eq!(machine.call(closure, &[fixnum(15)]), fixnum(610));
    // Retired, everything resumes in the bytecode.
    installed.retire();
    assert_eq!(machine.call(closure, &[fixnum(15)]), fixnum(610));
    assert_eq!(machine.times_left(), 0);
    assert_eq!(installed.return_descriptors.len(), 2);
    let first = installed.return_descriptors[0];
    assert_eq!(installed.return_at(first.address), Some(&first));
}

#[test]
fn frames_above_the_limit_go_to_the_interpreter() {
    let mut machine = Machine::new();
    let code = apply_code();
    let b = apply_graph(&code);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    // Compiled it doubles; the bytecode is the identity.
    let identity = FakeCode::new("identity", 1, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let mut b = Builder::new(&identity);
    let x = b.slot(0);
    let state = b.state(0, &[(0, x)]);
    let x = b.guard_fixnum(x, state);
    let twice = b.push(Op::Fixnum(FixnumOperation::Add, x, x, state));
    b.give(twice);
    machine.install(&b.graph, &identity);
    let callee = machine.closure(&identity, &[]);
    assert_eq!(machine.call(closure, &[callee, fixnum(4)]), fixnum(12));
    let limit = &machine.stack[CALLEE_FP] as *const u64 as u64;
    machine.set(thread::LIMIT, limit);
    assert_eq!(machine.call(closure, &[callee, fixnum(4)]), fixnum(8));
}

/// A candidate that gives this number, for arguments of a type.
fn candidate_for(machine: &Machine, code: &FakeCode, types: &[(u32, Type)], n: i64) -> Installed {
    let mut b = Builder::new(code);
    b.graph.required = types.to_vec();
    let answer = b.fixnum(n);
    b.give(answer);
    machine.install(&b.graph, code)
}

#[test]
fn calls_are_passed_on_to_the_candidate_for_their_arguments() {
    let mut machine = Machine::new();
    // The bytecode gives its first argument back.
    let code = FakeCode::new("choose", 2, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let types = [
        Type::FIXNUM,
        Type::FLONUM,
        Type::PAIR,
        Type::CHARACTER,
        Type::VECTOR,
    ];
    let candidates: Vec<Installed> = types
        .iter()
        .zip(1..)
        .map(|(ty, n)| candidate_for(&machine, &code, &[(0, *ty), (1, Type::FIXNUM)], n))
        .collect();
    let bytecode = canny_llint::native_to_bytecode();
    let link = |chain: &[usize]| {
        let mut next = bytecode;
        for at in chain.iter().rev() {
            candidates[*at].pass_on_to(next);
            next = candidates[*at].native_entry;
        }
    };
    link(&[0, 1, 2, 3, 4]);
    code.enter_at(&candidates[0]);
    let vector = machine.vector(&[]);
    let record = machine.object(Kind::Record, 0, &[]);
    let boxed = machine.object(Kind::Flonum, 0, &[1e300f64.to_bits()]);
    // A boxed flonum and one in the word, tiny and usual; a pair's address does not matter.
    let arguments = [
        (fixnum(7), 1),
        (flonum(1.5), 2),
        (flonum(0.0), 2),
        (boxed, 2),
        (vector - TAG_OBJECT + TAG_PAIR, 3),
        (u64::from(b'a') << 8 | CHARACTER_LOW_BYTE, 4),
        (vector, 5),
    ];
    let closure = machine.closure(&code, &[]);
    for (argument, n) in arguments {
        let answer = machine.call(closure, &[argument, fixnum(0)]);
        assert_eq!(answer, fixnum(n), "{argument:#x}");
        // No candidate takes another second argument, whatever the first one is.
        let answer = machine.call(closure, &[argument, TRUE]);
        assert_eq!(answer, argument);
    }
    for argument in [record, TRUE] {
        assert_eq!(machine.call(closure, &[argument, fixnum(0)]), argument);
    }
    // Compiled calls come in by the machine address and are passed on alike.
    let caller_code = apply_code();
    let mut b = Builder::new(&caller_code);
    let (f, x) = (b.slot(0), b.slot(1));
    let zero = b.fixnum(0);
    let state = b.state(2, &[(1, x)]);
    let value = b.call(Callee::Unknown(f), &[x, zero], state);
    b.give(value);
    machine.install(&b.graph, &caller_code);
    let caller = machine.closure(&caller_code, &[]);
    for (argument, n) in [
        (vector, fixnum(5)),
        (fixnum(1), fixnum(1)),
        (record, record),
    ] {
        assert_eq!(machine.call(caller, &[closure, argument]), n);
    }
    // Without one in the middle.
    link(&[0, 2, 3, 4]);
    candidates[1].retire();
    assert_eq!(
        machine.call(closure, &[flonum(1.5), fixnum(0)]),
        flonum(1.5)
    );
    assert_eq!(machine.call(closure, &[vector, fixnum(0)]), fixnum(5));
    assert_eq!(machine.times_left(), 0);
}

/// A caller of known code, `(lambda (f x) (f x 0 … 0))` with so many arguments in all, of which `x` is
/// known to be of a type.
fn known_caller(code: &FakeCode, callee: &FakeCode, ty: Type, count: usize) -> Builder {
    let mut b = Builder::new(code);
    b.graph.required = match Test::of_type(ty) {
        Some(_) => vec![(1, ty)],
        None => Vec::new(),
    };
    let f = b.slot(0);
    let x = b.typed(Op::Slot(1), ty);
    let mut arguments = vec![x];
    arguments.extend((1..count).map(|n| b.fixnum(n as i64)));
    let state = b.state(2, &[(1, x)]);
    let callee = Callee::Known {
        closure: f,
        code: callee.word,
    };
    let value = b.call(callee, &arguments, state);
    b.give(value);
    b
}

#[test]
fn calls_of_known_code_enter_where_their_links_lead() {
    let mut machine = Machine::new();
    let code = FakeCode::new("choose", 1, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let candidate = candidate_for(&machine, &code, &[(0, Type::FIXNUM)], 1);
    candidate.pass_on_to(canny_llint::native_to_bytecode());
    let starts = candidate.starts.unwrap();
    let caller_code = apply_code();
    let b = known_caller(&caller_code, &code, Type::ANY, 1);
    let caller = machine.install(&b.graph, &caller_code);
    let [link] = &caller.links[..] else {
        panic!("one link is wanted: {:?}", caller.links);
    };
    assert_eq!((link.code, &link.types[..]), (code.word, &[Type::ANY][..]));
    let closure = machine.closure(&code, &[]);
    let f = machine.closure(&caller_code, &[]);
    let mut call = |x| machine.call(f, &[closure, x]);
    // By way of the code object, which asks.
    assert_eq!([call(fixnum(5)), call(TRUE)], [fixnum(1), TRUE]);
    // Straight to the questions: a call that they do not want is passed on, with its argument in
    // its slot.
    caller.lead_link(0, LinkGoal::Checked(starts));
    code.enter_bytecode();
    assert_eq!([call(fixnum(5)), call(TRUE)], [fixnum(1), TRUE]);
    // Behind them nobody asks.
    caller.lead_link(0, LinkGoal::Known(starts));
    assert_eq!([call(fixnum(5)), call(TRUE)], [fixnum(1), fixnum(1)]);
    // Retired: the link leads to the code object again, and from there to the bytecode.
    caller.lead_link(0, LinkGoal::Code);
    candidate.retire();
    assert_eq!([call(fixnum(5)), call(TRUE)], [fixnum(5), TRUE]);
    assert_eq!(machine.times_left(), 0);
}

#[test]
fn arguments_arrive_in_registers_and_slots() {
    for count in 1..=6 {
        let mut machine = Machine::new();
        // The bytecode gives the last argument back, compiled code the sum of all.
        let last = encode_abc(Opcode::Return, count as u8 - 1, 0, 0);
        let code = FakeCode::new("sum", count as u32, 12, vec![last]);
        let mut b = Builder::new(&code);
        let slots: Vec<_> = (0..count as u32).map(|register| b.slot(register)).collect();
        let registers: Vec<_> = (0..).zip(slots.iter().copied()).collect();
        let state = b.state(0, &registers);
        let mut sum = b.fixnum(0);
        for slot in slots {
            let addend = b.guard_fixnum(slot, state);
            sum = b.push(Op::Fixnum(FixnumOperation::Add, sum, addend, state));
        }
        b.give(sum);
        let callee = machine.install(&b.graph, &code);
        let caller_code = apply_code();
        let b = known_caller(&caller_code, &code, Type::FIXNUM, count);
        let caller = machine.install(&b.graph, &caller_code);
        caller.pass_on_to(canny_llint::native_to_bytecode());
        let closure = machine.closure(&code, &[]);
        let f = machine.closure(&caller_code, &[]);
        let wanted = fixnum(100 + (1..count as i64).sum::<i64>());
        for goal in [LinkGoal::Code, LinkGoal::Known(callee.starts.unwrap())] {
            caller.lead_link(0, goal);
            assert_eq!(machine.call(f, &[closure, fixnum(100)]), wanted);
        }
        assert_eq!(machine.times_left(), 0);
        // Above the limit the arguments are in their slots for the bytecode.
        let limit = &machine.stack[CALLEE_FP] as *const u64 as u64;
        machine.set(thread::LIMIT, limit);
        let last = match count {
            1 => fixnum(100),
            _ => fixnum(count as i64 - 1),
        };
        assert_eq!(machine.call(f, &[closure, fixnum(100)]), last);
    }
}

#[test]
fn a_wrong_argument_in_a_register_leaves_in_its_slot() {
    let mut machine = Machine::new();
    machine.resumes = true;
    let code = fib_code();
    let b = fib_graph(&code, true);
    let installed = machine.install(&b.graph, &code);
    installed.lead_link(0, LinkGoal::Known(installed.starts.unwrap()));
    let closure = machine.closure(&code, &[]);
    assert_eq!(machine.call(closure, &[fixnum(20)]), fixnum(6765));
    assert_eq!(machine.times_left(), 0);
    // The bytecode resumes with a flonum that nobody stored before.
    machine.resumes = false;
    machine.call(closure, &[flonum(1.5)]);
    assert_eq!(machine.times_left(), 1);
    assert_eq!(machine.register(0), flonum(1.5));
}

/// Code whose one call is of what its first argument is, with the second: `(lambda (f x) (+ (f x) x))`.
fn apply_code() -> FakeCode {
    let words = vec![
        encode_abc(Opcode::Move, 2, 0, 0),
        encode_abc(Opcode::Move, 4, 1, 0),
        encode_abc(Opcode::Call, 2, 1, 0),
        0b10,
        encode_abc(Opcode::Add, 0, 1, 2),
        encode_abc(Opcode::Return, 0, 0, 0),
    ];
    FakeCode::new("apply", 2, 8, words)
}

fn apply_graph(code: &FakeCode) -> Builder {
    let mut b = Builder::new(code);
    let f = b.slot(0);
    let x = b.slot(1);
    let state = b.state(2, &[(1, x)]);
    let value = b.call(Callee::Unknown(f), &[x], state);
    let state = b.state(4, &[(1, x), (2, value)]);
    let value = b.guard_fixnum(value, state);
    let x = b.guard_fixnum(x, state);
    let sum = b.push(Op::Fixnum(FixnumOperation::Add, x, value, state));
    b.give(sum);
    b
}

#[test]
fn unknown_callees_are_checked() {
    let mut machine = Machine::new();
    let code = apply_code();
    let b = apply_graph(&code);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    // An interpreted callee of one argument.
    let identity = FakeCode::new("identity", 1, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let callee = machine.closure(&identity, &[]);
    assert_eq!(machine.call(closure, &[callee, fixnum(4)]), fixnum(8));
    assert_eq!(machine.slow_calls(), 0);
    // A variadic callee sees the number of arguments.
    let variadic = FakeCode::new(
        "variadic",
        code::VARIADIC,
        4,
        vec![
            encode_abc(Opcode::Entry, 1, 0, 1),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let callee = machine.closure(&variadic, &[]);
    assert_eq!(machine.call(closure, &[callee, fixnum(5)]), fixnum(10));
    assert_eq!(machine.get(thread::ARGUMENT_COUNT), 1);
    assert_eq!(machine.slow_calls(), 0);
    // Anything but a procedure of one argument is left to the machine, which resumes in the interpreter.
    machine.resumes = true;
    assert_eq!(machine.call(closure, &[fixnum(3), fixnum(5)]), fixnum(8));
    assert_eq!(machine.slow_calls(), 1);
    let pair = FakeCode::new("pair", 2, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let callee = machine.closure(&pair, &[]);
    machine.resumes = false;
    // The made-up machine gives the callee back, which the interpreter cannot add.
    let result = machine.call(closure, &[callee, fixnum(5)]);
    assert_eq!(result, UNEXPECTED_RESULT);
    assert_eq!(machine.slow_calls(), 2);
}

#[test]
fn values_of_the_wrong_type_leave_with_the_call_done() {
    let mut machine = Machine::new();
    let code = apply_code();
    let b = apply_graph(&code);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let truth = FakeCode::new(
        "truth",
        1,
        4,
        vec![
            encode_wide(Opcode::LoadImmediate, 0, TRUE as u16),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let callee = machine.closure(&truth, &[]);
    assert_eq!(machine.call(closure, &[callee, fixnum(4)]), LEFT_RESULT);
    let left = machine.left().unwrap();
    assert_eq!((left.fp, left.bytecode), (0, code.snapshot.address(4)));
    assert_eq!(machine.register(1), fixnum(4));
    assert_eq!(machine.register(2), TRUE);
}

/// `(lambda (n sum f) (if (= n 0) sum (f (- n 1) (+ sum n) f)))`, the last call a tail call.
fn count_code() -> FakeCode {
    let words = vec![
        encode_abc(Opcode::Nop, 0, 0, 0),
        encode_wide(Opcode::JumpNotNumberEqualImmediate, 0, 0),
        1,
        encode_abc(Opcode::Return, 1, 0, 0),
        // 4
        encode_abc(Opcode::Move, 3, 2, 0),
        encode_abc(Opcode::AddImmediate, 5, 0, -1i8 as u8),
        encode_abc(Opcode::Add, 6, 1, 0),
        encode_abc(Opcode::Move, 7, 2, 0),
        encode_abc(Opcode::TailCall, 3, 3, 0),
        encode_far(Opcode::Jump, 0),
        encode_abc(Opcode::Return, 1, 0, 0),
    ];
    FakeCode::new("count", 3, 12, words)
}

#[test]
fn tail_calls_take_the_frame_over() {
    let mut machine = Machine::new();
    let code = count_code();
    let mut b = Builder::new(&code);
    let (n, sum, f) = (b.slot(0), b.slot(1), b.slot(2));
    let state = b.state(1, &[(0, n), (1, sum), (2, f)]);
    let n = b.guard_fixnum(n, state);
    let sum = b.guard_fixnum(sum, state);
    let (done, _) = b.new_block(&[]);
    let (more, _) = b.new_block(&[]);
    let zero = b.fixnum(0);
    b.branch(
        Condition::Fixnums(Comparison::Equal, n, zero),
        edge(done, &[]),
        edge(more, &[]),
    );
    b.block = done;
    b.give(sum);
    b.block = more;
    let one = b.fixnum(1);
    let less = b.push(Op::Fixnum(FixnumOperation::Subtract, n, one, state));
    let more = b.push(Op::Fixnum(FixnumOperation::Add, sum, n, state));
    let window = b.state(8, &[(3, f), (5, less), (6, more), (7, f)]);
    b.end(Terminator::TailCall(
        Callee::Unknown(f),
        vec![less, more, f],
        window,
    ));
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[fixnum(100_000), fixnum(0), closure]);
    assert_eq!(result, fixnum(5_000_050_000));
    // Another callee: its arguments and closure are in the frame.
    let second = FakeCode::new(
        "second",
        3,
        12,
        vec![
            encode_abc(Opcode::SelfRef, 0, 0, 0),
            encode_abc(Opcode::JumpEq, 0, 2, 0),
            1,
            encode_abc(Opcode::Return, 0, 0, 0),
            encode_abc(Opcode::Return, 1, 0, 0),
        ],
    );
    let callee = machine.closure(&second, &[]);
    let result = machine.call(closure, &[fixnum(3), fixnum(4), callee]);
    assert_eq!(result, fixnum(7));
    // No procedure: the window of the instruction is filled for the slow stub.
    let result = machine.call(closure, &[fixnum(3), fixnum(4), TRUE]);
    assert_eq!(result, TRUE);
    assert_eq!(machine.slow_calls(), 1);
    assert_eq!(machine.register(3), TRUE);
    assert_eq!(machine.register(5), fixnum(2));
    assert_eq!(machine.register(6), fixnum(7));
    assert_eq!(machine.register(7), TRUE);
}

#[test]
fn arguments_of_a_tail_call_change_places() {
    let mut machine = Machine::new();
    let code = FakeCode::new(
        "swap",
        2,
        8,
        vec![
            encode_abc(Opcode::Nop, 0, 0, 0),
            encode_abc(Opcode::TailCall, 2, 2, 0),
        ],
    );
    let minus = FakeCode::new(
        "minus",
        2,
        4,
        vec![
            encode_abc(Opcode::Subtract, 0, 0, 1),
            encode_abc(Opcode::Return, 0, 0, 0),
        ],
    );
    let mut b = Builder::new(&code);
    let (x, y) = (b.slot(0), b.slot(1));
    let closure = b.graph.frames[0].closure;
    let callee = b.typed(
        Op::Load(
            closure,
            canny_tables::layout::FIELD0 + 8,
            canny_spesh::graph::Memory::Constant,
        ),
        Type::CLOSURE,
    );
    let window = b.state(1, &[(2, callee), (4, y), (5, x)]);
    let known = Callee::Known {
        closure: callee,
        code: minus.word,
    };
    b.end(Terminator::TailCall(known, vec![y, x], window));
    machine.install(&b.graph, &code);
    let target = machine.closure(&minus, &[]);
    let closure = machine.closure(&code, &[target]);
    assert_eq!(machine.call(closure, &[fixnum(3), fixnum(10)]), fixnum(7));
}

#[test]
fn a_boxed_float_is_returned_by_its_word() {
    let mut machine = Machine::new();
    let code = plain_code("float", 0);
    let mut b = Builder::new(&code);
    let number = b.push(Op::Float(2.5));
    b.give(number);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(super::machine::double(machine.call(closure, &[])), 2.5);
}
