//! Flonums passed and returned as doubles between compiled code, and as words to and from everybody else.

use canny_spesh::graph::{Callee, FixnumOperation, FloatOperation, NodeId, Op};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{TRUE, thread};
use canny_tables::opcodes::{Opcode, encode_abc};

use super::machine::{
    Builder, CALLEE_FP, FakeCode, LEFT_RESULT, Machine, double, fixnum, flonum, plain_code,
};
use crate::{Installed, LinkGoal};

/// Doubles of each kind of word: usual, zero, small, and too large for a word.
const DOUBLES: [f64; 4] = [1.5, 0.0, -3.25, 1e300];

/// The word of a double.
fn word_of(machine: &mut Machine, number: f64) -> u64 {
    if number.abs() > 1e70 {
        machine.object(Kind::Flonum, 1, &[number.to_bits()])
    } else {
        flonum(number)
    }
}

fn is_double(mask: u32, argument: usize) -> bool {
    mask >> argument & 1 == 1
}

/// Flonums where the mask says, and fixnums.
fn types_of(mask: u32, count: usize) -> Vec<Type> {
    (0..count)
        .map(|argument| {
            if is_double(mask, argument) {
                Type::FLONUM
            } else {
                Type::FIXNUM
            }
        })
        .collect()
}

/// Compiled code that adds its arguments up, each times 10 more, for flonums where the mask says and
/// fixnums; as doubles if it takes them so. Its bytecode gives the first one.
fn weighted_sum(
    machine: &Machine,
    code: &FakeCode,
    (count, mask): (usize, u32),
    takes_doubles: bool,
) -> Installed {
    let mut b = Builder::new(code);
    b.graph.required = (0..).zip(types_of(mask, count)).collect();
    let arguments: Vec<NodeId> = (0..count)
        .map(|argument| {
            let register = argument as u32;
            if !is_double(mask, argument) {
                let word = b.typed(Op::Slot(register), Type::FIXNUM);
                b.typed(Op::FixnumToFloat(word), Type::FLONUM)
            } else if takes_doubles {
                b.typed(Op::FloatSlot(register), Type::FLONUM)
            } else {
                let word = b.typed(Op::Slot(register), Type::FLONUM);
                b.typed(Op::Unbox(word), Type::FLONUM)
            }
        })
        .collect();
    let mut sum = b.typed(Op::Float(0.0), Type::FLONUM);
    for (argument, node) in arguments.into_iter().enumerate() {
        let weight = b.typed(Op::Float(weight(argument)), Type::FLONUM);
        let product = Op::FloatArithmetic(FloatOperation::Multiply, node, weight);
        let product = b.typed(product, Type::FLONUM);
        let added = Op::FloatArithmetic(FloatOperation::Add, sum, product);
        sum = b.typed(added, Type::FLONUM);
    }
    b.give(sum);
    let compiled = machine.compile(&b.graph);
    machine.memory.install(&compiled, 1, &|_| None).unwrap()
}

fn weight(argument: usize) -> f64 {
    10f64.powi(argument as i32)
}

/// `(lambda (f x …) (f x …))` that knows the types of its arguments.
fn passing_caller(code: &FakeCode, callee: &FakeCode, types: &[Type]) -> Builder {
    let mut b = Builder::new(code);
    let f = b.slot(0);
    let mut arguments = Vec::new();
    for (register, ty) in (1..).zip(types) {
        b.graph.required.push((register, *ty));
        // The first ones come as doubles themselves.
        let op = if *ty == Type::FLONUM && register <= 2 {
            Op::FloatSlot(register)
        } else {
            Op::Slot(register)
        };
        arguments.push(b.typed(op, *ty));
    }
    let state = b.state(0, &[]);
    let callee = Callee::Known {
        closure: f,
        code: callee.word,
    };
    let value = b.call(callee, &arguments, state);
    b.give(value);
    b
}

/// Code with a call of so many arguments as its first instruction.
fn calling_code(count: usize) -> FakeCode {
    let words = vec![
        encode_abc(Opcode::Call, 10, count as u8, 0),
        0,
        encode_abc(Opcode::Return, 10, 0, 0),
    ];
    FakeCode::new("caller", count as u32 + 1, 20, words)
}

#[test]
fn doubles_arrive_wherever_links_lead() {
    for count in 1..=5 {
        for mask in 1..1u32 << count {
            let mut machine = Machine::new();
            let code = FakeCode::new(
                "sum",
                count as u32,
                12,
                vec![encode_abc(Opcode::Return, 0, 0, 0)],
            );
            let callee = weighted_sum(&machine, &code, (count, mask), true);
            let of_words = weighted_sum(&machine, &code, (count, mask), false);
            for candidate in [&callee, &of_words] {
                candidate.pass_on_to(canny_llint::native_to_bytecode());
            }
            let caller_code = calling_code(count);
            let types = types_of(mask, count);
            let b = passing_caller(&caller_code, &code, &types);
            let caller = machine.install(&b.graph, &caller_code);
            let mut arguments = vec![machine.closure(&code, &[])];
            let mut wanted = 0.0;
            for argument in 0..count {
                let number = if is_double(mask, argument) {
                    DOUBLES[(argument + mask as usize) % DOUBLES.len()]
                } else {
                    argument as f64 + 7.0
                };
                wanted += number * weight(argument);
                arguments.push(if is_double(mask, argument) {
                    word_of(&mut machine, number)
                } else {
                    fixnum(number as i64)
                });
            }
            let f = machine.closure(&caller_code, &[]);
            let (starts, other) = (callee.starts.unwrap(), of_words.starts.unwrap());
            for goal in [
                LinkGoal::Code,
                LinkGoal::Checked(starts),
                LinkGoal::Known(starts),
                LinkGoal::Checked(other),
                LinkGoal::Known(other),
            ] {
                code.enter_at(&callee);
                caller.lead_link(0, goal);
                let value = machine.call(f, &arguments);
                assert_eq!(double(value), wanted, "{count} {mask:b} {goal:?}");
            }
            // The bytecode gets words.
            code.enter_bytecode();
            caller.lead_link(0, LinkGoal::Code);
            let first = machine.call(f, &arguments);
            if is_double(mask, 0) {
                assert_eq!(double(first), double(arguments[1]))
            } else {
                assert_eq!(first, arguments[1])
            }
            // So it does where the callee leaves for want of room.
            caller.lead_link(0, LinkGoal::Known(starts));
            let limit = &machine.stack[CALLEE_FP] as *const u64 as u64;
            machine.set(thread::LIMIT, limit);
            let again = machine.call(f, &arguments);
            assert_eq!(double(again), double(first));
            assert_eq!(machine.times_left(), 0);
        }
    }
}

/// `(lambda (f x y) (+ (f x) y))` whose call is expected to give a flonum.
fn adding_caller(code: &FakeCode) -> Builder {
    let mut b = Builder::new(code);
    b.graph.required = vec![(2, Type::FLONUM)];
    let (f, x) = (b.slot(0), b.slot(1));
    let y = b.typed(Op::FloatSlot(2), Type::FLONUM);
    let at_call = b.state(0, &[(2, y)]);
    let value = b.call(Callee::Unknown(f), &[x], at_call);
    let behind = b.state(2, &[(2, y), (10, value)]);
    let value = b.typed(Op::FloatResult(value, behind), Type::FLONUM);
    let sum = Op::FloatArithmetic(FloatOperation::Add, value, y);
    let sum = b.typed(sum, Type::FLONUM);
    b.give(sum);
    b
}

fn adding_code() -> FakeCode {
    let words = vec![
        encode_abc(Opcode::Call, 10, 1, 0),
        1 << 2,
        encode_abc(Opcode::Add, 0, 10, 2),
        encode_abc(Opcode::Return, 0, 0, 0),
    ];
    FakeCode::new("adding", 3, 20, words)
}

#[test]
fn results_come_as_doubles_and_as_words() {
    let mut machine = Machine::new();
    let code = adding_code();
    let b = adding_caller(&code);
    let caller = machine.install(&b.graph, &code);
    caller.pass_on_to(canny_llint::native_to_bytecode());
    let f = machine.closure(&code, &[]);
    // The identity as bytecode, and as code that returns a word or a double.
    let identity = || FakeCode::new("identity", 1, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let (bytecode, of_words, of_doubles) = (identity(), identity(), identity());
    let mut b = Builder::new(&of_words);
    let x = b.slot(0);
    b.give(x);
    machine.install(&b.graph, &of_words);
    let mut b = Builder::new(&of_doubles);
    b.graph.required = vec![(0, Type::FLONUM)];
    let x = b.typed(Op::FloatSlot(0), Type::FLONUM);
    b.give(x);
    let installed = machine.install(&b.graph, &of_doubles);
    installed.pass_on_to(canny_llint::native_to_bytecode());
    for callee in [&bytecode, &of_words, &of_doubles] {
        let g = machine.closure(callee, &[]);
        for x in DOUBLES {
            for y in DOUBLES {
                let (x_word, y_word) = (word_of(&mut machine, x), word_of(&mut machine, y));
                let sum = machine.call(f, &[g, x_word, y_word]);
                assert_eq!(double(sum), x + y);
            }
        }
        assert_eq!(machine.times_left(), 0);
        // Anything else is in its slot behind the call, and so is the flonum that came as a double.
        let left = machine.call(f, &[g, fixnum(5), flonum(2.5)]);
        assert_eq!(left, LEFT_RESULT);
        let way = machine.left().unwrap();
        assert_eq!((way.fp, way.bytecode), (0, code.snapshot.address(2)));
        assert_eq!(machine.register(10), fixnum(5));
        assert_eq!(machine.register(2), flonum(2.5));
    }
    // Retired, it resumes in the bytecode with the contents of the slots; there both are fixnums.
    let g = machine.closure(&of_doubles, &[]);
    caller.retire();
    assert_eq!(machine.call(f, &[g, fixnum(5), fixnum(6)]), fixnum(11));
}

#[test]
fn a_double_that_many_states_name_is_stored_on_entry() {
    let mut machine = Machine::new();
    let code = plain_code("many", 2);
    let mut b = Builder::new(&code);
    b.graph.required = vec![(0, Type::FLONUM)];
    let x = b.typed(Op::FloatSlot(0), Type::FLONUM);
    let mut y = b.slot(1);
    for pc in 0..12 {
        let state = b.state(pc, &[(0, x), (1, y)]);
        y = b.guard_fixnum(y, state);
        let one = b.fixnum(1);
        let add = FixnumOperation::Add;
        y = b.typed(Op::Fixnum(add, y, one, state), Type::FIXNUM);
    }
    b.give(y);
    let installed = machine.install(&b.graph, &code);
    let caller_code = calling_code(2);
    let types = [Type::FLONUM, Type::ANY];
    let mut b = Builder::new(&caller_code);
    b.graph.required = vec![(1, Type::FLONUM)];
    let f = b.slot(0);
    let x = b.typed(Op::FloatSlot(1), types[0]);
    let y = b.typed(Op::Slot(2), types[1]);
    let state = b.state(0, &[]);
    let callee = Callee::Known {
        closure: f,
        code: code.word,
    };
    let value = b.call(callee, &[x, y], state);
    b.give(value);
    let caller = machine.install(&b.graph, &caller_code);
    caller.lead_link(0, LinkGoal::Known(installed.starts.unwrap()));
    let g = machine.closure(&code, &[]);
    let f = machine.closure(&caller_code, &[]);
    let sum = machine.call(f, &[g, flonum(2.5), fixnum(30)]);
    assert_eq!(sum, fixnum(42));
    let left = machine.call(f, &[g, flonum(2.5), flonum(1.0)]);
    assert_eq!(left, LEFT_RESULT);
    // The callee's frame is 12 words above.
    assert_eq!(machine.register(12), flonum(2.5));
    assert_eq!(machine.register(13), flonum(1.0));
}

/// `(lambda (f x) (+ (f x) 1))`, which asks for a fixnum right behind the call.
fn counting_caller(code: &FakeCode) -> Builder {
    let mut b = Builder::new(code);
    let (f, x) = (b.slot(0), b.slot(1));
    let y = b.slot(2);
    let at_call = b.state(0, &[(2, y)]);
    let value = b.call(Callee::Unknown(f), &[x], at_call);
    let behind = b.state(2, &[(2, y), (10, value)]);
    let value = b.guard_fixnum(value, behind);
    let one = b.fixnum(1);
    let sum = Op::Fixnum(FixnumOperation::Add, value, one, behind);
    let sum = b.typed(sum, Type::FIXNUM);
    b.give(sum);
    b
}

#[test]
fn results_that_are_known_to_be_fixnums_are_not_asked() {
    let mut machine = Machine::new();
    let code = adding_code();
    machine.install(&counting_caller(&code).graph, &code);
    let f = machine.closure(&code, &[]);
    let identity = || FakeCode::new("identity", 1, 4, vec![encode_abc(Opcode::Return, 0, 0, 0)]);
    let (bytecode, of_any, of_doubles) = (identity(), identity(), identity());
    let mut b = Builder::new(&of_any);
    let x = b.slot(0);
    b.give(x);
    machine.install(&b.graph, &of_any);
    let mut b = Builder::new(&of_doubles);
    b.graph.required = vec![(0, Type::FLONUM)];
    let x = b.typed(Op::FloatSlot(0), Type::FLONUM);
    b.give(x);
    let installed = machine.install(&b.graph, &of_doubles);
    installed.pass_on_to(canny_llint::native_to_bytecode());
    for callee in [&bytecode, &of_any, &of_doubles] {
        let g = machine.closure(callee, &[]);
        let sum = machine.call(f, &[g, fixnum(5), TRUE]);
        assert_eq!(sum, fixnum(6));
        assert_eq!(machine.times_left(), 0);
        for other in [TRUE, flonum(1.5)] {
            let left = machine.call(f, &[g, other, TRUE]);
            assert_eq!(left, LEFT_RESULT);
            let way = machine.left().unwrap();
            assert_eq!((way.fp, way.bytecode), (0, code.snapshot.address(2)));
            assert_eq!(machine.register(10), other);
            assert_eq!(machine.register(2), TRUE);
        }
    }
    // A callee that says that it returns a fixnum is believed.
    let liar = identity();
    let mut b = Builder::new(&liar);
    let x = b.typed(Op::Slot(0), Type::FIXNUM);
    b.give(x);
    machine.install(&b.graph, &liar);
    let g = machine.closure(&liar, &[]);
    assert_eq!(machine.call(f, &[g, fixnum(7), TRUE]), fixnum(8));
    let believed = machine.call(f, &[g, TRUE, TRUE]);
    assert_eq!(believed, TRUE + fixnum(1));
    // Where a flonum is wanted, a fixnum is not.
    machine.install(&adding_caller(&code).graph, &code);
    let left = machine.call(f, &[g, fixnum(7), flonum(1.0)]);
    assert_eq!(left, LEFT_RESULT);
}
