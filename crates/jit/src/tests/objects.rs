//! Loads, stores with their barrier, and allocation.

use canny_spesh::graph::{Condition, FloatOperation, Memory, Op, Test};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{
    self, CAR, CDR, FALSE, FIELD0, FLAG_IMMUTABLE, HEADER, HEADER_FLAGS_SHIFT, TRUE, class_key,
    thread,
};

use super::machine::{
    Builder, LEFT_RESULT, Machine, RECORD_KEY, double, fixnum, flonum, peek, plain_code,
};

fn character(code: u64) -> u64 {
    code << 8 | layout::CHARACTER_LOW_BYTE
}

#[test]
fn vectors_are_read_and_written() {
    let mut machine = Machine::new();
    let code = plain_code("vector", 3);
    let mut b = Builder::new(&code);
    let (vector, index, value) = (b.slot(0), b.slot(1), b.slot(2));
    let state = b.state(1, &[(0, vector), (1, index), (2, value)]);
    let vector = b.typed(
        Op::Guard(Test::Kind(Kind::Vector), vector, state),
        Type::VECTOR,
    );
    let index = b.guard_fixnum(index, state);
    let length = b.typed(Op::Length(vector), Type::FIXNUM);
    b.push(Op::RequireIndex(index, length, state));
    b.push(Op::RequireMutable(vector, state));
    let old = b.push(Op::LoadElement(vector, index));
    b.push(Op::StoreElement(vector, index, value));
    b.give(old);
    machine.install(&b.graph, &code);
    let vector = machine.vector(&[fixnum(5), TRUE, fixnum(7)]);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[vector, fixnum(1), vector]);
    assert_eq!(result, TRUE);
    assert_eq!(peek(vector, FIELD0 + 8), vector);
    assert_eq!(machine.marked_cards(), 1);
    for index in [fixnum(3), fixnum(-1), FALSE] {
        let result = machine.call(closure, &[vector, index, TRUE]);
        assert_eq!(result, LEFT_RESULT);
    }
    let flag = u64::from(FLAG_IMMUTABLE) << HEADER_FLAGS_SHIFT;
    let header = (vector as i64 + i64::from(HEADER)) as *mut u64;
    // SAFETY: the vector is in the test's nursery.
    unsafe { *header |= flag };
    assert_eq!(
        machine.call(closure, &[vector, fixnum(0), TRUE]),
        LEFT_RESULT
    );
    assert_eq!(peek(vector, FIELD0), fixnum(5));
    for other in [fixnum(3), FALSE, closure] {
        let result = machine.call(closure, &[other, fixnum(0), TRUE]);
        assert_eq!(result, LEFT_RESULT);
    }
}

/// Stores a value of a type into a vector; gives the number of marked cards.
fn cards_of_a_store(ty: Type, float: Option<f64>, value: u64) -> usize {
    let mut machine = Machine::new();
    let code = plain_code("store", 2);
    let mut b = Builder::new(&code);
    let (vector, value_node) = (b.slot(0), b.slot(1));
    let index = b.fixnum(0);
    let node = match float {
        Some(number) => {
            let zero = b.push(Op::Float(0.0));
            let number = b.push(Op::Float(number));
            let sum = b.push(Op::FloatArithmetic(FloatOperation::Add, zero, number));
            b.typed(Op::Box(sum), Type::FLONUM)
        }
        None => b.typed(Op::Refine(value_node), ty),
    };
    b.push(Op::StoreElement(vector, index, node));
    let result = b.push(Op::LoadElement(vector, index));
    b.give(result);
    machine.install(&b.graph, &code);
    let vector = machine.vector(&[fixnum(5)]);
    let closure = machine.closure(&code, &[]);
    let result = machine.call(closure, &[vector, value]);
    match float {
        Some(number) => assert_eq!(double(result), number),
        None => assert_eq!(result, value),
    }
    machine.marked_cards()
}

#[test]
fn only_references_mark_cards() {
    assert_eq!(cards_of_a_store(Type::ANY, None, fixnum(1)), 1);
    assert_eq!(cards_of_a_store(Type::FIXNUM, None, fixnum(1)), 0);
    assert_eq!(cards_of_a_store(Type::BOOLEAN, None, TRUE), 0);
    assert_eq!(cards_of_a_store(Type::PAIR, None, 0x1001), 1);
    assert_eq!(cards_of_a_store(Type::FLONUM, Some(1.5), 0), 0);
    assert_eq!(cards_of_a_store(Type::FLONUM, Some(1e300), 0), 1);
}

#[test]
fn pairs_and_objects_are_allocated() {
    let mut machine = Machine::new();
    let code = plain_code("allocate", 2);
    let mut b = Builder::new(&code);
    let (x, y) = (b.slot(0), b.slot(1));
    let pair = b.typed(Op::Cons(x, y), Type::PAIR);
    let object = b.typed(Op::Allocate(Kind::Box, vec![pair]), Type::BOX);
    let both = b.typed(Op::Allocate(Kind::Vector, vec![object, x]), Type::VECTOR);
    b.give(both);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    for full in [false, true] {
        if full {
            let cursor = machine.get(thread::SCAN_CURSOR);
            machine.set(thread::SCAN_LIMIT, cursor + 8);
        }
        let result = machine.call(closure, &[fixnum(1), fixnum(2)]);
        // Memory for the three is taken at once.
        assert_eq!(machine.allocations(), u64::from(full));
        assert_eq!(result & 15, layout::TAG_OBJECT);
        assert_eq!(peek(result, HEADER) >> 8 & 0xff, Kind::Vector as u64);
        assert_eq!(peek(result, HEADER) >> 24, 2);
        assert_eq!(peek(result, FIELD0 + 8), fixnum(1));
        assert_eq!(peek(result, FIELD0 + 16), 0);
        let object = peek(result, FIELD0);
        let pair = peek(object, FIELD0);
        assert_eq!(pair & 15, layout::TAG_PAIR);
        assert_eq!((peek(pair, CAR), peek(pair, CDR)), (fixnum(1), fixnum(2)));
    }
}

#[test]
fn strings_and_bytes() {
    let mut machine = Machine::new();
    let data = machine.object(Kind::String8, 8, &[u64::from_le_bytes(*b"abc\xe9defg")]);
    let string = machine.object(Kind::String, 2, &[fixnum(8), data]);
    let wide = machine.object(Kind::String32, 2, &[0x0001_f600_0000_0041]);
    let wide = machine.object(Kind::String, 2, &[fixnum(2), wide]);
    let bytes = machine.object(
        Kind::Bytevector,
        8,
        &[u64::from_le_bytes([9, 8, 7, 255, 0, 0, 0, 0])],
    );

    let code = plain_code("string", 2);
    let mut b = Builder::new(&code);
    let (s, index) = (b.slot(0), b.slot(1));
    let state = b.state(1, &[(0, s), (1, index)]);
    let length = b.push(Op::StringLength(s));
    b.push(Op::RequireIndex(index, length, state));
    let letter = b.push(Op::StringRef(s, index));
    let number = b.push(Op::CharacterToFixnum(letter));
    let back = b.push(Op::FixnumToCharacter(number, state));
    b.give(back);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(machine.call(closure, &[string, fixnum(1)]), character(98));
    assert_eq!(machine.call(closure, &[string, fixnum(3)]), character(0xe9));
    assert_eq!(machine.call(closure, &[string, fixnum(8)]), LEFT_RESULT);
    assert_eq!(machine.call(closure, &[wide, fixnum(0)]), character(0x41));
    let smile = machine.call(closure, &[wide, fixnum(1)]);
    assert_eq!(smile, character(0x1_f600));
    assert_eq!(machine.call(closure, &[wide, fixnum(2)]), LEFT_RESULT);

    let code = plain_code("bytes", 3);
    let mut b = Builder::new(&code);
    let (s, index, value) = (b.slot(0), b.slot(1), b.slot(2));
    let old = b.push(Op::LoadByte(s, index));
    b.push(Op::StoreByte(s, index, value));
    b.give(old);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let arguments = [bytes, fixnum(3), fixnum(17)];
    assert_eq!(machine.call(closure, &arguments), fixnum(255));
    assert_eq!(machine.call(closure, &arguments), fixnum(17));
    assert_eq!(peek(bytes, FIELD0) & 0xffff_ffff, 0x1107_0809);

    let code = plain_code("character", 1);
    let mut b = Builder::new(&code);
    let x = b.slot(0);
    let state = b.state(1, &[(0, x)]);
    let back = b.push(Op::FixnumToCharacter(x, state));
    b.give(back);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    for (n, result) in [
        (65, character(65)),
        (0xd7ff, character(0xd7ff)),
        (0xd800, LEFT_RESULT),
        (0xdfff, LEFT_RESULT),
        (0xe000, character(0xe000)),
        (0x10_ffff, character(0x10_ffff)),
        (0x11_0000, LEFT_RESULT),
        (-1, LEFT_RESULT),
    ] {
        assert_eq!(machine.call(closure, &[fixnum(n)]), result, "{n:x}");
    }
}

#[test]
fn pairs_and_kinds_are_tested() {
    let mut machine = Machine::new();
    let other = plain_code("other", 0);
    let code = plain_code("tests", 1);
    let closure_of_other = machine.closure(&other, &[]);
    let vector = machine.vector(&[]);
    let tests = [
        (Test::Fixnum, fixnum(3)),
        (Test::Flonum, flonum(1.5)),
        (Test::Pair, 0x1001),
        (Test::Character, character(7)),
        (Test::Kind(Kind::Vector), vector),
        (Test::Word(TRUE), TRUE),
        (Test::ClosureOf(other.word), closure_of_other),
    ];
    for (test, _) in tests {
        let mut b = Builder::new(&code);
        let x = b.slot(0);
        let answer = b.push(Op::Boolean(Condition::Test(test, x)));
        b.give(answer);
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        for (same, value) in tests {
            let wanted = if same == test { TRUE } else { FALSE };
            assert_eq!(machine.call(closure, &[value]), wanted, "{test:?} {same:?}");
        }
        assert_eq!(machine.call(closure, &[closure]), FALSE);
    }
}

#[test]
fn fields_and_record_types() {
    let mut machine = Machine::new();
    let code = plain_code("record", 2);
    let record_type = machine.record_type(&[]);
    let other_type = machine.record_type(&[]);
    let derived = machine.record_type(&[record_type]);
    let record = machine.object(Kind::Record, 3, &[record_type, fixnum(4), fixnum(5)]);
    let mut b = Builder::new(&code);
    let (x, wanted) = (b.slot(0), b.slot(1));
    let state = b.state(1, &[(0, x), (1, wanted)]);
    b.push(Op::Require(Condition::RecordOf(x, wanted), state));
    let field = b.push(Op::Load(x, FIELD0 + 16, Memory::Record));
    b.push(Op::Store(x, FIELD0 + 8, field, Memory::Record));
    b.give(field);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    assert_eq!(machine.call(closure, &[record, record_type]), fixnum(5));
    assert_eq!(peek(record, FIELD0 + 8), fixnum(5));
    assert_eq!(machine.call(closure, &[record, other_type]), LEFT_RESULT);
    assert_eq!(machine.call(closure, &[record, derived]), LEFT_RESULT);
    let child = machine.object(Kind::Record, 3, &[derived, fixnum(6), fixnum(7)]);
    assert_eq!(machine.call(closure, &[child, record_type]), fixnum(7));
    assert_eq!(machine.call(closure, &[child, derived]), fixnum(7));
    assert_eq!(machine.call(closure, &[child, other_type]), LEFT_RESULT);
}

#[test]
fn class_keys() {
    let mut machine = Machine::new();
    let code = plain_code("key", 1);
    let mut b = Builder::new(&code);
    let x = b.slot(0);
    let key = b.typed(Op::ClassKey(x), Type::FIXNUM);
    b.give(key);
    machine.install(&b.graph, &code);
    let closure = machine.closure(&code, &[]);
    let record_type = machine.record_type(&[]);
    let record = machine.object(Kind::Record, 1, &[record_type]);
    let vector = machine.vector(&[]);
    for (value, key) in [
        (fixnum(-3), class_key::FIXNUM),
        (flonum(1.5), Kind::Flonum as i64),
        (flonum(0.0), Kind::Flonum as i64),
        (layout::NIL, class_key::NIL),
        (FALSE, class_key::BOOLEAN),
        (TRUE, class_key::BOOLEAN),
        (character(65), class_key::CHARACTER),
        (layout::EOF, class_key::EOF),
        (layout::UNSPECIFIED, class_key::OTHER),
        (vector, Kind::Vector as i64),
        (record_type, Kind::RecordType as i64),
        (record, RECORD_KEY),
    ] {
        assert_eq!(machine.call(closure, &[value]), fixnum(key));
    }
}
