//! Characters of ports, through a loan and in the runtime.

use canny_spesh::graph::{Op, Terminator};
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, EOF, FALSE, thread};
use canny_tables::opcodes::{Opcode, encode_abc};

use super::machine::{Builder, FakeCode, LEFT_RESULT, MOVE, Machine, fixnum};

/// What a pair's register holds; the made-up collector moves it.
const PAIR: u64 = 0x4001;

fn character(code: u64) -> u64 {
    code << 8 | layout::CHARACTER_LOW_BYTE
}

/// A loan: owner, cursor, limit.
type Loan = Box<[u64; 3]>;

/// A machine with a port that is lent `bytes`, and code for an instruction on it: (port, pair, operand).
struct Lent {
    machine: Machine,
    flag: Box<u64>,
    loan: Loan,
    bytes: Vec<u8>,
    port: u64,
    closure: u64,
}

impl Lent {
    fn new(instruction: u32, bytes: &[u8]) -> Lent {
        let mut machine = Machine::new();
        let words = [Opcode::Nop, Opcode::Nop, Opcode::Return];
        let mut words = words.map(|opcode| encode_abc(opcode, 0, 0, 0)).to_vec();
        words.insert(1, instruction);
        let code = FakeCode::new("lent", 3, 16, words);
        let mut b = Builder::new(&code);
        let (port, pair, operand) = (b.slot(0), b.slot(1), b.slot(2));
        // The float is needed behind the instruction and lies in no slot.
        let number = b.push(Op::Float(0.5));
        let two = b.push(Op::Float(2.0));
        let product = b.push(Op::FloatArithmetic(
            canny_spesh::graph::FloatOperation::Multiply,
            number,
            two,
        ));
        let state = b.state(1, &[(0, port), (1, pair), (2, operand)]);
        let value = b.push(Op::Runtime(state));
        let boxed = b.push(Op::Box(product));
        let mut registers = vec![(0, pair), (1, port), (4, boxed)];
        if instruction as u8 != Opcode::WriteCharacter as u8 {
            registers.push((3, value));
        }
        let state = b.state(2, &registers);
        b.end(Terminator::Exit(state));
        assert_eq!(machine.compile(&b.graph).segment_count(), 1);
        machine.install(&b.graph, &code);
        let closure = machine.closure(&code, &[]);
        let flag = Box::new(0);
        let owner = &raw const *flag as u64;
        machine.set(thread::LOAN_FLAG, owner);
        let bytes = bytes.to_vec();
        let cursor = bytes.as_ptr() as u64;
        let loan = Box::new([owner, cursor, cursor + bytes.len() as u64]);
        let address = &raw const *loan as u64;
        let port = machine.object(Kind::Port, 4, &[fixnum(1), fixnum(5), FALSE, address]);
        Lent {
            machine,
            flag,
            loan,
            bytes,
            port,
            closure,
        }
    }

    /// Runs; gives the value and whether the runtime was asked. Everything else is as it should be in either case.
    fn run(&mut self, port: u64, operand: u64) -> (u64, bool) {
        let before = self.machine.collections();
        let result = self.machine.call(self.closure, &[port, PAIR, operand]);
        assert_eq!(result, LEFT_RESULT);
        let was_asked = self.machine.collections() > before;
        let moved = if was_asked { PAIR + MOVE } else { PAIR };
        assert_eq!(self.machine.register(0), moved);
        assert_eq!(self.machine.register(1), port);
        assert_eq!(self.machine.register(4), super::machine::flonum(1.0));
        assert_eq!(*std::hint::black_box(&self.flag), Box::new(0));
        (self.machine.register(3), was_asked)
    }

    fn used(&self) -> u64 {
        std::hint::black_box(&self.loan)[1] - self.bytes.as_ptr() as u64
    }
}

#[test]
fn characters_are_read_from_a_loan() {
    let mut lent = Lent::new(encode_abc(Opcode::ReadCharacter, 3, 0, 0), b"a\x7f\0");
    for (number, code) in [(1, 0x61), (2, 0x7f), (3, 0)] {
        assert_eq!(lent.run(lent.port, FALSE), (character(code), false));
        assert_eq!(lent.used(), number);
    }
    assert_eq!(lent.run(lent.port, FALSE), (EOF, true));
    assert_eq!(lent.used(), 3);
}

#[test]
fn characters_are_peeked_at_in_a_loan() {
    let mut lent = Lent::new(encode_abc(Opcode::PeekCharacter, 3, 0, 0), b"ab");
    for _ in 0..3 {
        assert_eq!(lent.run(lent.port, FALSE), (character(0x61), false));
        assert_eq!(lent.used(), 0);
    }
}

#[test]
fn characters_are_written_to_a_loan() {
    let mut lent = Lent::new(encode_abc(Opcode::WriteCharacter, 2, 0, 0), b"..");
    for other in [
        character(0x80),
        character(0x1_0061),
        fixnum(97),
        FALSE,
        PAIR,
    ] {
        assert!(lent.run(lent.port, other).1);
        assert_eq!(lent.used(), 0);
    }
    assert!(!lent.run(lent.port, character(0x61)).1);
    assert!(!lent.run(lent.port, character(0x0a)).1);
    assert_eq!(std::hint::black_box(&lent.bytes), b"a\n");
    assert!(lent.run(lent.port, character(0x62)).1);
    assert_eq!(lent.used(), 2);
}

#[test]
fn what_is_not_lent_is_left_to_the_runtime() {
    for opcode in [Opcode::ReadCharacter, Opcode::PeekCharacter] {
        let mut lent = Lent::new(encode_abc(opcode, 3, 0, 0), b"abc");
        let vector = lent.machine.vector(&[0, 0, 0, 0]);
        for other in [fixnum(3), FALSE, vector, character(0x61)] {
            assert_eq!(lent.run(other, FALSE), (EOF, true));
        }
        for owner in [0, lent.loan[0] + 64] {
            lent.loan[0] = owner;
            assert_eq!(lent.run(lent.port, FALSE), (EOF, true));
        }
        assert_eq!(lent.used(), 0);
    }
}
