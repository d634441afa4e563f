//! Characters of ports, through a loan and in the runtime.

use canny_spesh::graph::{Op, Terminator};
use canny_tables::kinds::Kind;
use canny_tables::layout::{self, EOF, FALSE, loan, port, port_flag, thread};
use canny_tables::opcodes::{Opcode, encode_abc};

use super::machine::{Builder, FakeCode, LEFT_RESULT, MOVE, Machine, fixnum, peek};

/// The word in a pair's register; the made-up collector moves it.
const PAIR: u64 = 0x4001;

fn character(code: u64) -> u64 {
    code << 8 | layout::CHARACTER_LOW_BYTE
}

/// A loan: owner, cursor, limit, whether lines are plain, limit of the text.
type Loan = Box<[u64; 5]>;

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
        let opcode = Opcode::from_byte(instruction as u8);
        let puts = matches!(opcode, Some(Opcode::WriteCharacter | Opcode::WriteByte));
        if !puts {
            registers.push((3, value));
        }
        let lends = match opcode {
            Some(Opcode::WriteCharacter) => loan::TEXT_OUTPUT,
            Some(Opcode::ReadByte | Opcode::PeekByte) => loan::BYTE_INPUT,
            Some(Opcode::WriteByte) => loan::BYTE_OUTPUT,
            _ => loan::TEXT_INPUT,
        };
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
        let ascii = bytes.iter().take_while(|byte| byte.is_ascii()).count();
        let limit = if lends == loan::TEXT_INPUT {
            ascii
        } else {
            bytes.len()
        };
        let end = cursor + bytes.len() as u64;
        let loan = Box::new([owner + lends, cursor, cursor + limit as u64, 0, end]);
        let address = &raw const *loan as u64;
        let mut fields = [FALSE; port::COUNT];
        fields[port::ID] = fixnum(1);
        fields[port::FLAGS] = fixnum(5);
        fields[port::LOAN] = address;
        let port = machine.object(Kind::Port, port::COUNT as u64, &fields);
        Lent {
            machine,
            flag,
            loan,
            bytes,
            port,
            closure,
        }
    }

    /// Runs; gives the value and whether the runtime was asked. Everything else is as it should be in
    /// either case.
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
fn wide_characters_are_read_from_a_loan() {
    for (opcode, advances) in [
        (Opcode::ReadCharacter, true),
        (Opcode::PeekCharacter, false),
    ] {
        let text = "aé→b\u{1d11e}";
        let mut lent = Lent::new(encode_abc(opcode, 3, 0, 0), text.as_bytes());
        let mut used = 0;
        for code in text.chars().take(if advances { 4 } else { 1 }) {
            let expected = (character(u64::from(u32::from(code))), false);
            assert_eq!(lent.run(lent.port, FALSE), expected);
            used += if advances { code.len_utf8() as u64 } else { 0 };
            assert_eq!(lent.used(), used);
        }
        if advances {
            assert_eq!(lent.run(lent.port, FALSE), (EOF, true));
            assert_eq!(lent.used(), used);
        }
    }
}

#[test]
fn bytes_are_read_from_a_loan_and_written_to_one() {
    let mut lent = Lent::new(encode_abc(Opcode::ReadByte, 3, 0, 0), &[0, 200, 255]);
    for (number, byte) in [(1, 0), (2, 200), (3, 255)] {
        assert_eq!(lent.run(lent.port, FALSE), (fixnum(byte), false));
        assert_eq!(lent.used(), number);
    }
    assert_eq!(lent.run(lent.port, FALSE), (EOF, true));
    let mut lent = Lent::new(encode_abc(Opcode::PeekByte, 3, 0, 0), &[200, 1]);
    for _ in 0..2 {
        assert_eq!(lent.run(lent.port, FALSE), (fixnum(200), false));
        assert_eq!(lent.used(), 0);
    }
    let mut lent = Lent::new(encode_abc(Opcode::WriteByte, 2, 0, 0), &[1, 2]);
    for other in [fixnum(256), fixnum(-1), character(0x61), FALSE, PAIR] {
        assert!(lent.run(lent.port, other).1);
        assert_eq!(lent.used(), 0);
    }
    assert!(!lent.run(lent.port, fixnum(255)).1);
    assert!(!lent.run(lent.port, fixnum(0)).1);
    assert_eq!(std::hint::black_box(&lent.bytes), &[255, 0]);
    assert!(lent.run(lent.port, fixnum(1)).1);
}

/// A port of a string or bytevector that has its text in the heap is used where it is this thread's,
/// open, and has more.
#[test]
fn texts_of_the_heap_are_read_and_written() {
    use port_flag::{BINARY, CLOSED, INPUT, MEMORY, OUTPUT, TEXTUAL};
    let byte = |byte: u8| fixnum(i64::from(byte));
    let letter = |byte: u8| character(u64::from(byte));
    let field = |index: usize| layout::FIELD0 + 8 * index as i32;
    for (opcode, flags, kind, puts) in [
        (Opcode::ReadCharacter, TEXTUAL | INPUT, Kind::String8, false),
        (Opcode::PeekCharacter, TEXTUAL | INPUT, Kind::String8, false),
        (
            Opcode::WriteCharacter,
            TEXTUAL | OUTPUT,
            Kind::Bytevector,
            true,
        ),
        (Opcode::ReadByte, BINARY | INPUT, Kind::Bytevector, false),
        (Opcode::WriteByte, BINARY | OUTPUT, Kind::Bytevector, true),
    ] {
        let target = if puts { 2 } else { 3 };
        let mut lent = Lent::new(encode_abc(opcode, target, 0, 0), b"");
        let word = |x: u8| match opcode {
            Opcode::ReadByte | Opcode::WriteByte => byte(x),
            _ => letter(x),
        };
        let owner = &raw const *lent.flag as u64;
        let nobody = Box::new([0u64; 5]);
        let make = |lent: &mut Lent, flags: i64, owner: u64, kind: Kind, used: i64| {
            let text = lent
                .machine
                .object(kind, 2, &[u64::from_le_bytes(*b"AB......")]);
            let mut fields = [FALSE; port::COUNT];
            fields[port::ID] = fixnum(0);
            fields[port::FLAGS] = fixnum(flags);
            fields[port::LOAN] = &raw const *nobody as u64;
            fields[port::TEXT] = text;
            fields[port::USED] = fixnum(used);
            fields[port::OWNER] = owner;
            (
                lent.machine.object(Kind::Port, port::COUNT as u64, &fields),
                text,
            )
        };
        let (port, text) = make(&mut lent, flags | MEMORY, owner, kind, 0);
        let peeks = opcode == Opcode::PeekCharacter;
        for (number, x) in [(1, b'A'), (2, if peeks { b'A' } else { b'B' })] {
            let (value, was_asked) = lent.run(port, if puts { word(x + 2) } else { FALSE });
            assert!(!was_asked, "{opcode:?}");
            if !puts {
                assert_eq!(value, word(x), "{opcode:?}");
            }
            let used = peek(port, field(port::USED));
            assert_eq!(used, fixnum(if peeks { 0 } else { number }), "{opcode:?}");
        }
        if puts {
            let written = u64::from_le_bytes(*b"CD......");
            assert_eq!(peek(text, field(0)), written);
        }
        let (closed, _) = make(&mut lent, flags | MEMORY | CLOSED, owner, kind, 0);
        let (foreign, _) = make(&mut lent, flags | MEMORY, owner + 64, kind, 0);
        let (wide, _) = make(&mut lent, flags | MEMORY, owner, Kind::String32, 0);
        let (over, _) = make(&mut lent, flags | MEMORY, owner, kind, 2);
        let (backward, _) = make(
            &mut lent,
            (flags ^ (INPUT | OUTPUT)) | MEMORY,
            owner,
            kind,
            0,
        );
        let mut others = vec![closed, foreign, over, backward];
        // Wide text is read like narrow text.
        if !matches!(opcode, Opcode::ReadCharacter | Opcode::PeekCharacter) {
            others.push(wide);
        }
        for other in others {
            assert!(lent.run(other, word(b'x')).1, "{opcode:?}");
        }
    }
}

#[test]
fn what_is_not_lent_is_left_to_the_runtime() {
    for opcode in [
        Opcode::ReadCharacter,
        Opcode::PeekCharacter,
        Opcode::ReadByte,
    ] {
        let mut lent = Lent::new(encode_abc(opcode, 3, 0, 0), b"abc");
        let vector = lent.machine.vector(&[0, 0, 0, 0]);
        for other in [fixnum(3), FALSE, vector, character(0x61)] {
            assert_eq!(lent.run(other, FALSE), (EOF, true));
        }
        for owner in [0, lent.loan[0] + 64, lent.loan[0] + 1, lent.loan[0] ^ 2] {
            lent.loan[0] = owner;
            assert_eq!(lent.run(lent.port, FALSE), (EOF, true));
        }
        assert_eq!(lent.used(), 0);
    }
}
