//! The verifier accepts what the compiler makes, refuses known damage, and never panics on any.

mod support;

use canny_compiler::assemble::assemble_code;
use canny_compiler::disassemble::disassemble_code;
use canny_compiler::image::{decode_unit, encode_unit};
use canny_compiler::optimize;
use canny_compiler::unit::{CompiledUnit, PoolEntry};
use canny_compiler::verifier::{Problem, verify_unit};
use canny_tables::opcodes::{
    Opcode, OpcodeFlags, Operand, Slot, encode_abc, encode_far, encode_wide,
};
use support::compile;

const PROGRAM: &str = "
(define (adder n) (lambda (x) (+ x n)))
(define (counter) (let ((n 0)) (lambda () (set! n (+ n 1)) n)))
(define (f a #:optional (b a) #:key (c 5)) (list a b c))
(define g (case-lambda ((a) a) ((a b . r) (list a b r))))
(define none (case-lambda))
(define (loop n) (let next ((i 0) (l '())) (if (= i n) (reverse l) (next (+ i 1) (cons i l)))))
(define (h x) (letrec ((a (lambda () (b))) (b (lambda () (if x (a) x)))) (list a b)))
(define (late) (define x (get)) (define (get) x) x)
(define t (%make-record-type 'p '#(x) #f))
(display (list ((adder 1) 2) ((counter)) (f 1 #:c 2) (g 1 2 3) (loop 3) (%record-ref (%record t 1) t 0 'x)))
(let-values (a . r) (values 1 2 3) (apply list a r))
";

fn unit() -> CompiledUnit {
    compile(PROGRAM, optimize::Options::default()).unit
}

#[test]
fn listings_assemble_to_the_same_code() {
    let unit = unit();
    for (index, code) in unit.codes.iter().enumerate() {
        let text = disassemble_code(&unit, index);
        let words = assemble_code(&unit, index, &text)
            .unwrap_or_else(|error| panic!("{}: {}\n{text}", error.line, error.message));
        assert_eq!(words.instructions, code.instructions, "{text}");
        assert_eq!(words.wide_maps, code.wide_maps);
    }
    assert!(assemble_code(&unit, 0, "move r1").is_err());
    assert!(assemble_code(&unit, 0, "jump L7").is_err());
    assert!(assemble_code(&unit, 0, "frobnicate r1").is_err());
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

#[test]
fn flipped_bits_never_panic() {
    let unit = unit();
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut refused = 0;
    const TRIES: usize = 20_000;
    for _ in 0..TRIES {
        let mut damaged = unit.clone();
        for _ in 0..1 + random.below(3) {
            let count = damaged.codes.len();
            let code = &mut damaged.codes[random.below(count)];
            let at = random.below(code.instructions.len());
            code.instructions[at] ^= 1 << random.below(32);
        }
        refused += usize::from(verify_unit(&damaged).is_err());
    }
    assert!(
        refused > TRIES / 2,
        "only {refused} of {TRIES} were refused"
    );
}

#[test]
fn damaged_encodings_never_panic() {
    let bytes = encode_unit(&unit()).unwrap();
    assert!(decode_unit(&bytes).is_ok());
    let mut random = Random(0xfeed_beef_1234_5677);
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(damaged.len());
            damaged[at] = random.below(256) as u8;
        }
        damaged.truncate(damaged.len() - random.below(8));
        let _ = decode_unit(&damaged);
    }
}

/// An instruction of the opcode whose fields are as small as its row allows, in front of a return. Pool
/// distances lead to the only slot.
fn least(opcode: Opcode) -> Vec<u32> {
    let row = opcode.row();
    let mut first = opcode as u32;
    for (index, operand) in row.operands.iter().enumerate() {
        let field = match operand {
            Operand::Positive => 1,
            // The distance counts from the end of the first word, and a slot is two words.
            _ if operand.slot().is_some() => 3,
            _ => 0,
        };
        first |= field << (8 + 8 * index);
    }
    let mut words = vec![first];
    for (index, extension) in row.extensions.iter().enumerate() {
        words.push(match extension.slot() {
            Some(_) => index as u32 + 4,
            None => 0,
        });
    }
    words.push(encode_abc(Opcode::Return, 0, 0, 0));
    words
}

#[test]
fn what_only_the_machine_writes_is_refused() {
    let mut refused = 0;
    for &opcode in Opcode::ALL {
        let verdict = verdict(&least(opcode));
        let is_refused = verdict == Err(Problem::ForbiddenOpcode(opcode));
        assert_eq!(
            is_refused,
            opcode.has(OpcodeFlags::MACHINE.or(OpcodeFlags::COUNTS)),
            "{}: {verdict:?}",
            opcode.row().name
        );
        refused += usize::from(is_refused);
    }
    assert!(refused > 0);
}

#[test]
fn what_no_row_allows_is_refused() {
    for &opcode in Opcode::ALL {
        let row = opcode.row();
        if opcode.has(OpcodeFlags::MACHINE.or(OpcodeFlags::COUNTS)) {
            continue;
        }
        let words = least(opcode);
        for (index, operand) in row.operands.iter().enumerate() {
            let shift = 8 + 8 * index;
            let put = |field: u32| {
                let mut words = words.clone();
                words[0] = words[0] & !(0xff << shift) | field << shift;
                verdict(&words)
            };
            let name = row.name;
            let is_covered = row.operands[..index].iter().any(|it| it.is_wide());
            match operand {
                Operand::None if !is_covered => {
                    assert_eq!(put(1), Err(Problem::BadOperand), "{name}");
                }
                Operand::Positive => assert_eq!(put(0), Err(Problem::BadOperand), "{name}"),
                Operand::Flag => assert_eq!(put(2), Err(Problem::BadOperand), "{name}"),
                Operand::Captured16 => {
                    assert_eq!(put(0), Err(Problem::BadIndex("captured value")), "{name}");
                }
                // An object reference, in a word that a register would hold.
                Operand::Word16 if row.operands[0].is_written() => {
                    assert_eq!(put(5), Err(Problem::BadOperand), "{name}");
                }
                // Of a captured value the number is looked at first, and there are none.
                _ if operand.is_read() || operand.is_written() => {
                    let captures = row.operands.contains(&Operand::Captured16);
                    let is_outside = put(200) == Err(Problem::OutsideFrame);
                    assert!(is_outside != captures, "{name}: {:?}", put(200));
                }
                _ => {}
            }
            // All registers hold the argument or nothing.
            if let Operand::UseBox | Operand::UseCell | Operand::UseClosure = operand {
                assert_eq!(verdict(&words), Err(Problem::WrongType(0)), "{name}");
            }
        }
        let slots = row.operands.iter().filter_map(|it| it.slot());
        let mut slots = slots.chain(row.extensions.iter().filter_map(|it| it.slot()));
        // The only slot holds a closure, which is a value and nothing else.
        if slots.any(|slot| slot != Slot::Value) {
            assert_eq!(verdict(&words), Err(Problem::BadPoolSlot), "{}", row.name);
        }
    }
}

/// Replaces the first instruction of a procedure without captured values and checks the verdict.
#[track_caller]
fn refuses(words: &[u32], expected: fn(&Problem) -> bool) {
    let problem = verdict(words).expect_err("the code is wrong");
    assert!(expected(&problem), "{problem:?}");
}

/// The verifier's answer about a procedure of one argument that captures nothing.
fn verdict(words: &[u32]) -> Result<(), Problem> {
    let mut unit = compile("(define (f x) x) (display f)", optimize::Options::none()).unit;
    let index = unit.codes.iter().position(|code| code.arity == 1).unwrap();
    let code = &mut unit.codes[index];
    code.instructions = words.to_vec();
    code.pool = vec![PoolEntry::Closure(index as u32)];
    code.frame_words = 8;
    verify_unit(&unit).map_err(|error| error.problem)
}

#[test]
fn each_kind_of_damage_is_named() {
    let give_back = encode_abc(Opcode::Return, 0, 0, 0);
    refuses(&[255], |problem| *problem == Problem::NotAnInstruction);
    refuses(&[encode_abc(Opcode::Call, 1, 0, 0)], |p| {
        *p == Problem::NotAnInstruction
    });
    refuses(&[encode_abc(Opcode::Halt, 0, 0, 0)], |p| {
        matches!(p, Problem::ForbiddenOpcode(_))
    });
    refuses(&[encode_abc(Opcode::Return, 9, 0, 0)], |p| {
        *p == Problem::OutsideFrame
    });
    refuses(&[encode_abc(Opcode::Return, 3, 0, 0)], |p| {
        *p == Problem::Unwritten(3)
    });
    refuses(&[encode_abc(Opcode::Return, 0, 1, 0)], |p| {
        *p == Problem::BadOperand
    });
    refuses(&[encode_abc(Opcode::Move, 1, 0, 0)], |p| {
        *p == Problem::FallsOffEnd
    });
    refuses(&[encode_far(Opcode::Jump, -1)], |p| {
        *p == Problem::BadTarget
    });
    refuses(&[encode_far(Opcode::Loop, 0), give_back], |p| {
        *p == Problem::BadTarget
    });
    refuses(&[encode_far(Opcode::Jump, 7), give_back], |p| {
        *p == Problem::BadTarget
    });
    refuses(
        &[encode_wide(Opcode::LoadImmediate, 1, 5), give_back],
        |p| *p == Problem::BadOperand,
    );
    refuses(&[encode_wide(Opcode::LoadConstant, 1, 4), give_back], |p| {
        *p == Problem::BadPoolSlot
    });
    refuses(&[encode_wide(Opcode::GlobalRef, 1, 3), give_back], |p| {
        *p == Problem::BadPoolSlot
    });
    refuses(&[encode_wide(Opcode::Free, 1, 0), give_back], |p| {
        matches!(p, Problem::BadIndex(_))
    });
    refuses(&[encode_abc(Opcode::BoxRef, 1, 0, 0), give_back], |p| {
        *p == Problem::WrongType(0)
    });
    refuses(&[encode_abc(Opcode::CellRef, 1, 0, 0), give_back], |p| {
        *p == Problem::WrongType(0)
    });
    refuses(&[encode_abc(Opcode::ClosureSet, 0, 0, 0), give_back], |p| {
        *p == Problem::WrongType(0)
    });
    refuses(&[encode_abc(Opcode::Entry, 1, 0, 0), give_back], |p| {
        *p == Problem::BadEntry
    });
    refuses(
        &[
            encode_abc(Opcode::CallPrimitive1, 1, 0, 0),
            60_000,
            give_back,
        ],
        |p| *p == Problem::BadPrimitive,
    );
    // A register that only one path writes.
    refuses(
        &[
            encode_abc(Opcode::JumpFalse, 0, 0, 0),
            1,
            encode_abc(Opcode::Move, 1, 0, 0),
            encode_abc(Opcode::Return, 1, 0, 0),
        ],
        |p| *p == Problem::Unwritten(1),
    );
    // A live map that forgets, and one that keeps too much.
    let call = |map| {
        [
            encode_abc(Opcode::Move, 1, 0, 0),
            encode_abc(Opcode::Call, 1, 0, 0),
            map,
            encode_abc(Opcode::Cons, 0, 0, 1),
            give_back,
        ]
    };
    refuses(&call(0), |p| *p == Problem::WrongLiveMap);
    refuses(&call(3), |p| *p == Problem::WrongLiveMap);
}
