//! Arithmetic: results, exits, and the representations of numbers.

use canny_spesh::graph::{
    Comparison, Condition, FixnumOperation, FloatFunction, FloatOperation, Op, Representation, Test,
};
use canny_spesh::types::Type;
use canny_tables::layout::{FALSE, TRUE};
use proptest::prelude::*;

use super::machine::{Builder, LEFT_RESULT, Machine, double, edge, fixnum, flonum, plain_code};

fn binary(operation: FixnumOperation, x: i64, y: i64, constant: bool) -> Option<i64> {
    let mut machine = Machine::new();
    let code = plain_code("binary", 2);
    let mut b = Builder::new(&code);
    let first = b.slot(0);
    let second = if constant { b.fixnum(y) } else { b.slot(1) };
    let state = b.state(3, &[(0, first), (1, second)]);
    let result = b.push(Op::Fixnum(operation, first, second, state));
    b.give(result);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[fixnum(x), fixnum(y)]);
    if result == LEFT_RESULT {
        let left = machine.left().unwrap();
        assert_eq!((left.exit, left.candidate, left.fp), (0, 77, 0));
        assert_eq!(left.bytecode, code.snapshot.address(3));
        assert_eq!(machine.register(0), fixnum(x));
        assert_eq!(machine.register(1), fixnum(y));
        None
    } else {
        assert_eq!(result & 3, 0, "{operation:?} {x} {y}");
        Some(result as i64 >> 2)
    }
}

fn expected(operation: FixnumOperation, x: i64, y: i64) -> Option<i64> {
    use FixnumOperation::*;
    let (x, y) = (i128::from(x), i128::from(y));
    let result = match operation {
        Add => x + y,
        Subtract => x - y,
        Multiply => x * y,
        Quotient => (y != 0).then(|| x / y)?,
        Remainder => (y != 0).then(|| x % y)?,
        Modulo => (y != 0).then(|| ((x % y) + y) % y)?,
        And => x & y,
        Or => x | y,
        Xor => x ^ y,
        Shift if !(-61..=61).contains(&y) => return None,
        Shift if y < 0 => x >> -y,
        Shift => x << y,
    };
    let range = -(1i128 << 61)..(1i128 << 61);
    range.contains(&result).then_some(result as i64)
}

const OPERATIONS: [FixnumOperation; 10] = [
    FixnumOperation::Add,
    FixnumOperation::Subtract,
    FixnumOperation::Multiply,
    FixnumOperation::Quotient,
    FixnumOperation::Remainder,
    FixnumOperation::Modulo,
    FixnumOperation::And,
    FixnumOperation::Or,
    FixnumOperation::Xor,
    FixnumOperation::Shift,
];

#[test]
fn fixnum_operations_agree_with_wide_integers() {
    const MAX: i64 = (1 << 61) - 1;
    const MIN: i64 = -(1 << 61);
    let numbers = [
        0,
        1,
        -1,
        2,
        -3,
        7,
        8,
        60,
        61,
        62,
        -61,
        -62,
        1 << 32,
        MAX,
        MIN,
    ];
    for operation in OPERATIONS {
        for x in [0, 1, -1, 5, -7, 1 << 31, MAX, MIN] {
            for y in numbers {
                for constant in [false, true] {
                    let result = binary(operation, x, y, constant);
                    let wanted = expected(operation, x, y);
                    assert_eq!(result, wanted, "{operation:?} {x} {y} {constant}");
                }
            }
        }
    }
}

#[test]
fn a_loop_of_floats_keeps_them_unboxed() {
    let mut machine = Machine::new();
    let code = plain_code("sum", 1);
    let mut b = Builder::new(&code);
    let limit = b.slot(0);
    let entry_state = b.state(1, &[(0, limit)]);
    let limit = b.guard_fixnum(limit, entry_state);
    let zero = b.fixnum(0);
    let start = b.push(Op::Float(0.0));
    let (head, parameters) = b.new_block(&[Representation::Tagged, Representation::Float]);
    let (body, _) = b.new_block(&[]);
    let (done, _) = b.new_block(&[]);
    b.jump(head, &[zero, start]);
    b.block = head;
    let state = b.state(2, &[(0, limit), (1, parameters[0]), (2, parameters[1])]);
    b.push(Op::Poll(state));
    let condition = Condition::Fixnums(Comparison::Less, parameters[0], limit);
    b.branch(condition, edge(body, &[]), edge(done, &[]));
    b.block = body;
    let half = b.push(Op::Float(0.5));
    let number = b.push(Op::FixnumToFloat(parameters[0]));
    let scaled = b.push(Op::FloatArithmetic(FloatOperation::Multiply, number, half));
    let sum = b.push(Op::FloatArithmetic(
        FloatOperation::Add,
        parameters[1],
        scaled,
    ));
    let one = b.fixnum(1);
    let next = b.push(Op::Fixnum(FixnumOperation::Add, parameters[0], one, state));
    b.jump(head, &[next, sum]);
    b.block = done;
    let boxed = b.push(Op::Box(parameters[1]));
    b.give(boxed);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[fixnum(1000)]);
    assert_eq!(double(result), 499_500.0 / 2.0);
    // Not a fixnum: leaves before anything happened.
    assert_eq!(machine.call(closure, &[TRUE]), LEFT_RESULT);
    assert_eq!(machine.left().unwrap().bytecode, code.snapshot.address(1));
    assert_eq!(machine.register(0), TRUE);
}

/// Runs a graph of one operand, which is a tagged number; gives the word, and the double if it is one.
fn run_unary(
    write: impl FnOnce(&mut Builder, canny_spesh::graph::NodeId),
    argument: u64,
) -> (u64, Option<f64>) {
    let mut machine = Machine::new();
    let code = plain_code("unary", 1);
    let mut b = Builder::new(&code);
    let x = b.slot(0);
    write(&mut b, x);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[argument]);
    let is_flonum = matches!(result & 7, 2 | 3 | 5 | 7);
    (result, is_flonum.then(|| double(result)))
}

fn unary(write: impl FnOnce(&mut Builder, canny_spesh::graph::NodeId), argument: u64) -> u64 {
    run_unary(write, argument).0
}

#[test]
fn every_double_survives_boxing() {
    for number in [
        0.0,
        -0.0,
        1.0,
        -1.5,
        1e300,
        -1e300,
        1e-300,
        f64::MIN_POSITIVE / 8.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e77,
        1e-77,
    ] {
        let (_, result) = run_unary(
            |b, x| {
                let zero = b.push(Op::NumberToFloat(x));
                let constant = b.push(Op::Float(number));
                let sum = b.push(Op::FloatArithmetic(FloatOperation::Add, zero, constant));
                let boxed = b.push(Op::Box(sum));
                let again = b.push(Op::Unbox(boxed));
                let boxed = b.push(Op::Box(again));
                b.give(boxed);
            },
            flonum(-0.0),
        );
        let result = result.unwrap();
        assert!(
            result.to_bits() == number.to_bits() || result.is_nan() && number.is_nan(),
            "{result} {number}"
        );
    }
}

#[test]
fn floats_become_fixnums_when_they_are_integers() {
    let convert = |argument: f64| {
        unary(
            |b, x| {
                let state = b.state(1, &[(0, x)]);
                let number = b.push(Op::NumberToFloat(x));
                let fixnum = b.push(Op::FloatToFixnum(number, state));
                b.give(fixnum);
            },
            flonum(argument),
        )
    };
    assert_eq!(convert(3.0), fixnum(3));
    assert_eq!(convert(-0.0), fixnum(0));
    assert_eq!(convert(-4096.0), fixnum(-4096));
    assert_eq!(convert(0.5), LEFT_RESULT);
    assert_eq!(convert((1u64 << 61) as f64), LEFT_RESULT);
    assert_eq!(convert(-((1u64 << 61) as f64)), fixnum(-(1 << 61)));
    assert_eq!(convert(1e30), LEFT_RESULT);
}

#[test]
fn float_functions() {
    let apply = |function: FloatFunction, argument: f64| {
        unary(
            |b, x| {
                let state = b.state(1, &[(0, x)]);
                let number = b.push(Op::NumberToFloat(x));
                let result = b.push(Op::FloatFunction(function, number, Some(state)));
                let boxed = b.push(Op::Box(result));
                b.give(boxed);
            },
            flonum(argument),
        )
    };
    assert_eq!(double(apply(FloatFunction::SquareRoot, 2.0)), 2f64.sqrt());
    assert_eq!(apply(FloatFunction::SquareRoot, -2.0), LEFT_RESULT);
    assert_eq!(double(apply(FloatFunction::Floor, -1.5)), -2.0);
    assert_eq!(double(apply(FloatFunction::Ceiling, 1.25)), 2.0);
    assert_eq!(double(apply(FloatFunction::Truncate, -1.5)), -1.0);
    assert_eq!(double(apply(FloatFunction::Round, 2.5)), 2.0);
    assert_eq!(double(apply(FloatFunction::Absolute, -2.5)), 2.5);
    assert_eq!(double(apply(FloatFunction::Negate, 2.5)), -2.5);
}

#[test]
fn flonums_are_told_from_everything_else() {
    let is_flonum = |argument: u64| {
        unary(
            |b, x| {
                let answer = b.typed(Op::Boolean(Condition::Test(Test::Flonum, x)), Type::BOOLEAN);
                b.give(answer);
            },
            argument,
        )
    };
    for word in [flonum(0.0), flonum(1.5), flonum(-1e10), flonum(1e-70)] {
        assert_eq!(is_flonum(word), TRUE);
    }
    for word in [fixnum(0), fixnum(-1), TRUE, 'x' as u64 * 256 + 14, 0x1001] {
        assert_eq!(is_flonum(word), FALSE);
    }
    let mut machine = Machine::new();
    let vector = machine.vector(&[]);
    assert_eq!(is_flonum(vector), FALSE);
}

/// A step of a straight line of arithmetic on values that exist already.
#[derive(Clone, Copy, Debug)]
struct Step {
    operation: FixnumOperation,
    x: usize,
    y: usize,
    constant: Option<i64>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = prop_oneof![
        -9i64..9,
        any::<i32>().prop_map(i64::from),
        -(1i64 << 61)..(1i64 << 61)
    ];
    let step = (
        prop::sample::select(&OPERATIONS[..]),
        any::<usize>(),
        any::<usize>(),
        prop::option::of(number),
    )
        .prop_map(|(operation, x, y, constant)| Step {
            operation,
            x,
            y,
            constant,
        });
    prop::collection::vec(step, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every value has a register of its own, so the exit of a step shows all before it.
    #[test]
    fn straight_lines_agree_with_an_evaluator(
        steps in steps(),
        x in -(1i64 << 61)..(1i64 << 61),
        y in -100i64..100,
    ) {
        let mut machine = Machine::new();
        let code = plain_code("line", 2);
        let mut b = Builder::new(&code);
        let mut nodes = vec![b.slot(0), b.slot(1)];
        let mut values = vec![x, y];
        let mut left = None;
        for (index, step) in steps.iter().enumerate() {
            let (first, second) = (step.x % nodes.len(), step.y % nodes.len());
            let registers: Vec<_> = (0..).zip(nodes.iter().copied()).collect();
            let state = b.state(index + 1, &registers);
            let operand = match step.constant {
                Some(n) => b.fixnum(n),
                None => nodes[second],
            };
            nodes.push(b.push(Op::Fixnum(step.operation, nodes[first], operand, state)));
            if left.is_none() {
                let operand = step.constant.unwrap_or_else(|| values[second]);
                match expected(step.operation, values[first], operand) {
                    Some(value) => values.push(value),
                    None => left = Some(index),
                }
            }
            // Values behind the exit are never made.
            if left.is_some() && values.len() <= nodes.len() {
                values.resize(nodes.len().max(values.len()), 0);
            }
        }
        let last = nodes[nodes.len() - 1];
        b.give(last);
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        let result = machine.call(closure, &[fixnum(x), fixnum(y)]);
        match left {
            None => prop_assert_eq!(result as i64 >> 2, values[values.len() - 1]),
            Some(step) => {
                prop_assert_eq!(result, LEFT_RESULT);
                prop_assert_eq!(
                    machine.left().unwrap().bytecode,
                    code.snapshot.address(step + 1)
                );
                for (register, value) in values.iter().enumerate().take(step + 2) {
                    prop_assert_eq!(machine.register(register as i32), fixnum(*value));
                }
            }
        }
    }
}
