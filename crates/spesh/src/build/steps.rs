//! The builder's steps for the opcodes.
//!
//! Every opcode has exactly one meaning: a step of [`special`], or a flag of its row that stands for
//! one. A new opcode does not build before it has one. The operands of an instruction tell the rest
//! of its meaning.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, CAR, CDR};
use canny_tables::opcodes::{Opcode, OpcodeFlags};

use crate::graph::{Comparison, Memory, Test};

/// Condition that a branch tests on a register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Test(Test),
    /// Whether it is the word in the instruction.
    Word,
    /// Whether it is an object of the kind in the instruction.
    Kind,
}

/// How the builder follows an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Nothing,
    Return,
    Jump,
    Loop,
    /// A branch by a property of one register; branches if it does not hold if negated.
    TypeTest {
        test: Asked,
        is_negated: bool,
    },
    SameTest,
    RecordTest,
    /// A branch by an order of two numbers, of which the second may be in the instruction; branches if
    /// it does not hold if negated.
    Comparison {
        comparison: Comparison,
        is_negated: bool,
        is_immediate: bool,
    },
    CharacterComparison {
        comparison: Comparison,
        is_negated: bool,
    },
    Entry,
    KeywordEntry,
    CaseEntry,
    Move,
    LoadImmediate,
    LoadConstant,
    GlobalRef,
    GlobalSet,
    SelfRef,
    Free,
    MakeClosure,
    ClosureSet,
    MakeBox,
    BoxRef,
    BoxSet,
    CheckDefined,
    Cons,
    /// Loads along pairs.
    ListRef(&'static [(i32, Memory)]),
    /// Stores in a pair.
    SetPair(i32, Memory),
    Arithmetic,
    ElementRef(Kind),
    ElementSet(Kind),
    Length(Kind),
    CharacterToInteger,
    IntegerToCharacter,
    RecordRef,
    RecordSet,
    MakeRecord,
    ClassKey,
    Unpack,
    Call,
    Count,
    CountCall,
    /// A call of the primitive of the extension word.
    Primitive,
    /// Left to a call of the opcode's runtime entry.
    Runtime,
    /// Left to the interpreter: a side exit.
    Interpreter,
}

/// The step of an opcode whose row has none.
const fn special(opcode: Opcode) -> Option<Step> {
    use Opcode::*;
    Some(match opcode {
        Nop => Step::Nothing,
        Return => Step::Return,
        Jump => Step::Jump,
        Loop => Step::Loop,
        JumpEq | JumpNotEq => Step::SameTest,
        JumpRecord | JumpNotRecord => Step::RecordTest,
        Entry => Step::Entry,
        KeywordEntry => Step::KeywordEntry,
        CaseEntry => Step::CaseEntry,
        Move => Step::Move,
        LoadImmediate => Step::LoadImmediate,
        LoadConstant | LoadConstantFar => Step::LoadConstant,
        GlobalRef => Step::GlobalRef,
        GlobalSet => Step::GlobalSet,
        SelfRef => Step::SelfRef,
        Free => Step::Free,
        MakeClosure => Step::MakeClosure,
        ClosureSet => Step::ClosureSet,
        MakeBox => Step::MakeBox,
        BoxRef => Step::BoxRef,
        BoxSet => Step::BoxSet,
        CheckDefined => Step::CheckDefined,
        Cons => Step::Cons,
        Car => Step::ListRef(&[(CAR, Memory::Car)]),
        Cdr => Step::ListRef(&[(CDR, Memory::Cdr)]),
        Cadr => Step::ListRef(&[(CDR, Memory::Cdr), (CAR, Memory::Car)]),
        Cddr => Step::ListRef(&[(CDR, Memory::Cdr), (CDR, Memory::Cdr)]),
        SetCar => Step::SetPair(CAR, Memory::Car),
        SetCdr => Step::SetPair(CDR, Memory::Cdr),
        Add | Subtract | Multiply | Divide | AddImmediate | Quotient | Remainder | Modulo
        | BitAnd | BitOr | BitXor | ShiftLeft => Step::Arithmetic,
        VectorRef => Step::ElementRef(Kind::Vector),
        StringRef => Step::ElementRef(Kind::String),
        BytevectorRef => Step::ElementRef(Kind::Bytevector),
        VectorSet => Step::ElementSet(Kind::Vector),
        BytevectorSet => Step::ElementSet(Kind::Bytevector),
        VectorLength => Step::Length(Kind::Vector),
        StringLength => Step::Length(Kind::String),
        BytevectorLength => Step::Length(Kind::Bytevector),
        CharacterToInteger => Step::CharacterToInteger,
        IntegerToCharacter => Step::IntegerToCharacter,
        RecordRef => Step::RecordRef,
        RecordSet => Step::RecordSet,
        MakeRecord => Step::MakeRecord,
        ClassKey => Step::ClassKey,
        Unpack => Step::Unpack,
        Call | TailCall => Step::Call,
        Count => Step::Count,
        CountCall => Step::CountCall,
        _ => return branch(opcode),
    })
}

/// The step of a branch by a test, or by a comparison of numbers or characters.
const fn branch(opcode: Opcode) -> Option<Step> {
    use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual};
    use Opcode::*;
    const fn asked(test: Asked, is_negated: bool) -> Step {
        Step::TypeTest { test, is_negated }
    }
    const fn registers(comparison: Comparison, is_negated: bool) -> Step {
        Step::Comparison {
            comparison,
            is_negated,
            is_immediate: false,
        }
    }
    const fn immediate(comparison: Comparison, is_negated: bool) -> Step {
        Step::Comparison {
            comparison,
            is_negated,
            is_immediate: true,
        }
    }
    const fn characters(comparison: Comparison, is_negated: bool) -> Step {
        Step::CharacterComparison {
            comparison,
            is_negated,
        }
    }
    Some(match opcode {
        JumpFalse => asked(Asked::Test(Test::Word(layout::FALSE)), false),
        JumpTrue => asked(Asked::Test(Test::Word(layout::FALSE)), true),
        JumpEqImmediate => asked(Asked::Word, false),
        JumpNotEqImmediate => asked(Asked::Word, true),
        JumpPair => asked(Asked::Test(Test::Pair), false),
        JumpNotPair => asked(Asked::Test(Test::Pair), true),
        JumpFixnum => asked(Asked::Test(Test::Fixnum), false),
        JumpNotFixnum => asked(Asked::Test(Test::Fixnum), true),
        JumpFlonum => asked(Asked::Test(Test::Flonum), false),
        JumpNotFlonum => asked(Asked::Test(Test::Flonum), true),
        JumpCharacter => asked(Asked::Test(Test::Character), false),
        JumpNotCharacter => asked(Asked::Test(Test::Character), true),
        JumpKind => asked(Asked::Kind, false),
        JumpNotKind => asked(Asked::Kind, true),
        JumpLess => registers(Less, false),
        JumpNotLess => registers(Less, true),
        JumpLessEqual => registers(LessEqual, false),
        JumpNotLessEqual => registers(LessEqual, true),
        JumpNumberEqual => registers(Equal, false),
        JumpNotNumberEqual => registers(Equal, true),
        JumpLessImmediate => immediate(Less, false),
        JumpNotLessImmediate => immediate(Less, true),
        JumpLessEqualImmediate => immediate(LessEqual, false),
        JumpNotLessEqualImmediate => immediate(LessEqual, true),
        JumpGreaterImmediate => immediate(Greater, false),
        JumpNotGreaterImmediate => immediate(Greater, true),
        JumpGreaterEqualImmediate => immediate(GreaterEqual, false),
        JumpNotGreaterEqualImmediate => immediate(GreaterEqual, true),
        JumpNumberEqualImmediate => immediate(Equal, false),
        JumpNotNumberEqualImmediate => immediate(Equal, true),
        JumpCharacterEqual => characters(Equal, false),
        JumpNotCharacterEqual => characters(Equal, true),
        JumpCharacterLess => characters(Less, false),
        JumpNotCharacterLess => characters(Less, true),
        _ => return None,
    })
}

/// Flags of rows that stand for a step.
const FLAGGED: [(OpcodeFlags, Step); 3] = [
    (OpcodeFlags::CALLS_PRIMITIVE, Step::Primitive),
    (OpcodeFlags::RUNTIME_CALL, Step::Runtime),
    (OpcodeFlags::INTERPRETER, Step::Interpreter),
];

/// The steps, by opcode. The build fails here for an opcode that has no meaning or two: name its step
/// in [`special`], or give its row one of the flags of [`FLAGGED`].
const STEPS: [Step; Opcode::ALL.len()] = {
    let mut steps = [Step::Interpreter; Opcode::ALL.len()];
    let mut number = 0;
    while number < steps.len() {
        let opcode = Opcode::ALL[number];
        let mut meanings = 0;
        if let Some(step) = special(opcode) {
            steps[number] = step;
            meanings += 1;
        }
        let mut flagged = 0;
        while flagged < FLAGGED.len() {
            if opcode.has(FLAGGED[flagged].0) {
                steps[number] = FLAGGED[flagged].1;
                meanings += 1;
            }
            flagged += 1;
        }
        let calls_missing_entry =
            matches!(steps[number], Step::Runtime) && !opcode.has_runtime_entry();
        if meanings != 1 || calls_missing_entry {
            panic!("{}", opcode.row().name);
        }
        number += 1;
    }
    steps
};

/// How the builder follows an instruction of this opcode.
pub(super) fn step(opcode: Opcode) -> Step {
    STEPS[opcode as usize]
}
