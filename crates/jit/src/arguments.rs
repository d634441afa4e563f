//! Arguments in registers: how calls of known code pass them, and the ways into a candidate that is
//! entered at its start.
//!
//! A call whose callee is known when it is compiled has its first arguments in registers, the others in
//! their slots, and closure and return address in the link as every call. It goes where the caller's
//! *link word* says ([`crate::Link`]). The candidate's first segment takes them there; in front of it
//! stand, written without the code generator:
//!
//! ```text
//! others:   registers to slots; pass the call on to the next candidate
//! memory:   slots to registers          <- the interpreter, and compiled calls of unknown code
//! checked:  questions for types         <- links whose caller does not know the types
//! known:    flonums to doubles          <- links whose caller does
//! direct:   the segment                 <- links whose caller passes doubles where the segment takes them
//! ```
//!
//! An argument that the candidate wants to be a flonum comes to the segment as a double, in a register
//! for doubles, and a caller that knows an argument to be a flonum passes it that way. Where its link
//! leads to code that does not take these very arguments as doubles, the link goes by way of the
//! caller's *boxing stub*, which makes flonums of them and continues where the link's second word says.
//!
//! All entries take fp and the thread block in the registers of segments. An argument in a register
//! need not be in its slot. The segment stores it where the frame may be inspected, like any other
//! value, or on entry if many of its side exits would.

use canny_spesh::graph::{EntryPoint, Graph, NodeId, Op, Test};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{CHARACTER_LOW_BYTE, FIELD0, HEADER, TAG_MASK, TAG_OBJECT, TAG_PAIR};
use canny_tables::layout::{FIXNUM_SHIFT, class_key, code, frame, record_type};

use crate::JitError;
use crate::assembler::{
    ARGUMENTS, Assembler, Condition, DOUBLES, DoubleRegister, FP, Memory, Place, Register, SCRATCH,
    VALUE,
};
use crate::doubles::{put_in, take_out};
use crate::relocation::{Relocation, Target};

/// Most arguments that are passed in registers.
pub(crate) const REGISTERS: usize = ARGUMENTS.len();

const _: () = assert!(DOUBLES.len() == REGISTERS);

/// The set of a call's arguments in registers that are doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Doubles(u8);

/// The register of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A general register.
    Word(Register),
    /// A register for doubles.
    Double(DoubleRegister),
}

impl Doubles {
    pub(crate) fn insert(&mut self, argument: usize) {
        self.0 |= 1 << argument;
    }

    pub(crate) fn contains(self, argument: usize) -> bool {
        self.0 >> argument & 1 == 1
    }

    pub(crate) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Where an argument is. Words and doubles have registers of their own, each in order.
    fn place(self, argument: usize) -> Argument {
        let doubles = (0..argument)
            .filter(|before| self.contains(*before))
            .count();
        if self.contains(argument) {
            Argument::Double(DOUBLES[doubles])
        } else {
            Argument::Word(ARGUMENTS[argument - doubles])
        }
    }
}

/// How a graph takes its arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arguments {
    /// Number of arguments that come in registers.
    pub(crate) count: usize,
    /// Those of them that come as doubles.
    pub(crate) doubles: Doubles,
    /// Whether each of them is stored on entry.
    pub(crate) is_stored: [bool; REGISTERS],
}

impl Arguments {
    /// Those of a graph; all of them stored.
    pub(crate) fn of(graph: &Graph) -> Arguments {
        let arity = graph.codes[0].arity;
        let count = match graph.entry {
            EntryPoint::Start if arity < code::LARGE_FRAME => arity as usize,
            _ => 0,
        };
        let mut arguments = Arguments {
            count: count.min(REGISTERS),
            is_stored: [true; REGISTERS],
            doubles: Doubles::default(),
        };
        let entry = graph.blocks.first().map_or(&[][..], |block| &block.nodes);
        for (register, ty) in &graph.required {
            let is_word = |id: &NodeId| graph.node(*id).op == Op::Slot(*register);
            if *ty == Type::FLONUM
                && (*register as usize) < arguments.count
                && !entry.iter().any(is_word)
            {
                arguments.doubles.insert(*register as usize);
            }
        }
        arguments
    }

    /// The arguments of [`crate::machine::direct_signature`]'s parameters, in their order.
    pub(crate) fn in_order<V: Copy>(&self, parameters: &[V]) -> Vec<V> {
        let words = self.count - self.doubles.count();
        let first_double = 3 + words.saturating_sub(1);
        let (mut word, mut double) = (0, first_double);
        (0..self.count)
            .map(|argument| {
                let next = if self.doubles.contains(argument) {
                    &mut double
                } else {
                    &mut word
                };
                let parameter = parameters[*next];
                // fp and the thread block come behind the first word.
                *next += if *next == 0 { 3 } else { 1 };
                parameter
            })
            .collect()
    }

    /// Whether the slot of a register holds its argument once the graph is entered.
    pub(crate) fn is_in_slot(&self, register: u32) -> bool {
        register as usize >= self.count || self.is_stored[register as usize]
    }
}

/// Code in front of a candidate's first segment.
#[derive(Debug, Default)]
pub(crate) struct Front {
    pub(crate) code: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
    /// Where arguments come in slots.
    pub(crate) memory: usize,
    /// Where they come in registers, of any types.
    pub(crate) checked: usize,
    /// Where they come in registers, of the types that are wanted.
    pub(crate) known: usize,
}

impl Front {
    /// Writes it; there is none for code entered at a loop.
    pub(crate) fn new(graph: &Graph, arguments: &Arguments) -> Result<Front, JitError> {
        if graph.entry != EntryPoint::Start {
            return Ok(Front::default());
        }
        let mut to = Assembler::default();
        if !graph.required.is_empty() {
            pass_on(&mut to, graph.codes[0].word.0, arguments.count);
        }
        let memory = to.place();
        for (slot, register) in (0..).zip(ARGUMENTS).take(arguments.count) {
            to.load(register, slot_of(slot));
        }
        let checked = to.place();
        for (slot, ty) in &graph.required {
            let test = Test::of_type(*ty).ok_or_else(|| {
                JitError::Invalid(format!("no test tells arguments of type {ty}"))
            })?;
            let register = if (*slot as usize) < arguments.count {
                ARGUMENTS[*slot as usize]
            } else {
                to.load(SCRATCH, slot_of(*slot));
                SCRATCH
            };
            test_or_pass_on(&mut to, test, register)?;
        }
        let known = to.place();
        // Words move to registers of arguments before them, whose content has moved already.
        for (argument, register) in ARGUMENTS.into_iter().enumerate().take(arguments.count) {
            match arguments.doubles.place(argument) {
                Argument::Double(double) => take_out(&mut to, register, double),
                Argument::Word(word) => move_register(&mut to, word, register),
            }
        }
        let (code, relocations) = to.finish();
        Ok(Front {
            code,
            relocations,
            memory,
            checked,
            known,
        })
    }
}

/// The slot of a register.
fn slot_of(register: u32) -> Memory {
    Memory::far(FP, (8 * register) as i32)
}

fn move_register(to: &mut Assembler, register: Register, from: Register) {
    if register != from {
        to.mov(register, from);
    }
}

/// Passes a call on that is not for this candidate.
fn pass_on(to: &mut Assembler, code: u64, count: usize) {
    store_arguments(to, count);
    to.mov_constant(VALUE, code);
    to.jump_through(Target::Next);
}

/// Arguments from registers to their slots.
fn store_arguments(to: &mut Assembler, count: usize) {
    for (slot, register) in (0..).zip(ARGUMENTS).take(count) {
        to.store(slot_of(slot), register);
    }
}

/// Where what is written begins: it passes calls on, or leaves.
const OTHERS: Place = 0;

/// Continues if a register's value passes a test, else goes to the start of what is written.
pub(crate) fn test_or_pass_on(
    to: &mut Assembler,
    test: Test,
    register: Register,
) -> Result<(), JitError> {
    let others_unless_equal = |to: &mut Assembler| to.jump_back_if(Condition::NotEqual, OTHERS);
    match test {
        Test::Fixnum => to.test_bits(register, 3),
        Test::Pair => to.compare_masked(register, TAG_MASK as u32, TAG_PAIR as u32),
        Test::Character => to.compare_masked(register, 0xff, CHARACTER_LOW_BYTE as u32),
        Test::Kind(kind) => {
            to.compare_masked(register, TAG_MASK as u32, TAG_OBJECT as u32);
            others_unless_equal(to);
            compare_kind(to, register, kind);
        }
        Test::Class(class) => {
            to.compare_masked(register, TAG_MASK as u32, TAG_OBJECT as u32);
            others_unless_equal(to);
            compare_kind(to, register, Kind::Record);
            others_unless_equal(to);
            to.load(SCRATCH, Memory::near(register, FIELD0 as i8));
            to.load(SCRATCH, Memory::near(SCRATCH, CLASS_KEY as i8));
            to.compare_masked(SCRATCH, u32::MAX, class << FIXNUM_SHIFT);
        }
        // See `flonum_test` of segments.
        Test::Flonum => {
            to.compare_masked(register, 6, 2);
            let usual = to.jump_ahead_if(Condition::Equal);
            to.compare_masked(register, TAG_MASK as u32, 7);
            let tiny = to.jump_ahead_if(Condition::Equal);
            to.compare_masked(register, TAG_MASK as u32, TAG_OBJECT as u32);
            others_unless_equal(to);
            compare_kind(to, register, Kind::Flonum);
            others_unless_equal(to);
            to.land(usual);
            to.land(tiny);
            return Ok(());
        }
        Test::Word(_) | Test::ClosureOf(_) | Test::Elements(_) => {
            return Err(JitError::Invalid("an entry asks for no type".into()));
        }
    }
    others_unless_equal(to);
    Ok(())
}

/// Offset of the class key in a record type.
const CLASS_KEY: i32 = FIELD0 + 8 * record_type::SERIAL as i32;

// A class key as a fixnum is a word of 32 bits.
const _: () = assert!(CLASS_KEY < 128 && class_key::KEY_BITS + FIXNUM_SHIFT <= 32);

fn compare_kind(to: &mut Assembler, object: Register, kind: Kind) {
    to.compare_byte(Memory::near(object, (HEADER + 1) as i8), kind as u8);
}

/// Where calls with so many arguments in registers go as long as there is no candidate for them: puts
/// them into their slots and enters the code of the closure in the link.
pub(crate) fn adapter(count: usize) -> Vec<u8> {
    Assembler::bytes_of(|to| {
        store_arguments(to, count);
        to.load(VALUE, Memory::near(FP, (8 * frame::CLOSURE) as i8));
        to.load(VALUE, Memory::near(VALUE, FIELD0 as i8));
        to.jump_to(Memory::near(VALUE, code::NATIVE as i8));
    })
}

/// Writes the boxing stub of a link: makes words of the arguments that are doubles and goes where the
/// link's second word says. `maker` is [`crate::doubles::write_maker`]'s place.
pub(crate) fn write_boxing_stub(
    to: &mut Assembler,
    (count, doubles): (usize, Doubles),
    link: u32,
    maker: Place,
) {
    // Words move to registers of arguments behind them, whose content has moved already.
    for (argument, register) in ARGUMENTS.into_iter().enumerate().take(count).rev() {
        match doubles.place(argument) {
            Argument::Double(double) => put_in(to, double, register, maker),
            Argument::Word(word) => move_register(to, register, word),
        }
    }
    to.jump_through(Target::LinkOfWords(link));
}

const _: () = assert!(code::NATIVE < 128 && 8 * frame::CLOSURE >= -128);

/// How many of a call's arguments are in registers.
pub(crate) fn in_registers(arguments: usize) -> usize {
    arguments.min(REGISTERS)
}

/// Returns the types that a caller knows of the arguments; a candidate may ask for nothing else.
pub(crate) fn known_types(graph: &Graph, arguments: &[NodeId]) -> Vec<Type> {
    arguments.iter().map(|id| graph.node(*id).ty).collect()
}

/// Returns the arguments in registers that a caller passes as doubles if it knows these types.
pub(crate) fn doubles_of(types: &[Type]) -> Doubles {
    let mut doubles = Doubles::default();
    for (argument, ty) in types.iter().enumerate().take(REGISTERS) {
        if *ty == Type::FLONUM {
            doubles.insert(argument);
        }
    }
    doubles
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::assembler::tests::listing;

    #[test]
    fn an_adapter_fills_slots_and_enters_the_closure() {
        let expected = [
            "mov [rsi], rdi".to_owned(),
            "mov [rsi+0x8], rcx".to_owned(),
            "mov [rsi+0x10], r8".to_owned(),
            format!("mov rdi, [rsi-{:#x}]", -8 * frame::CLOSURE),
            format!("mov rdi, [rdi+{FIELD0:#x}]"),
            format!("jmp qword ptr [rdi+{:#x}]", code::NATIVE),
        ];
        assert_eq!(listing(&adapter(3)), expected);
    }

    #[test]
    fn a_question_for_a_kind_leads_to_the_start() {
        let code = Assembler::bytes_of(|to| {
            test_or_pass_on(to, Test::Kind(Kind::Vector), SCRATCH).expect("it is one for a type");
        });
        let kind = Kind::Vector as u8;
        let expected = [
            "mov eax, r11d".to_owned(),
            format!("and eax, {TAG_MASK:#x}"),
            format!("cmp eax, {TAG_OBJECT:#x}"),
            "jne 0x1000".to_owned(),
            format!("cmp byte ptr [r11-{:#x}], {kind:#x}", -(HEADER + 1)),
            "jne 0x1000".to_owned(),
        ];
        assert_eq!(listing(&code), expected);
    }

    #[test]
    fn a_boxing_stub_moves_words_behind_doubles() {
        let mut doubles = Doubles::default();
        doubles.insert(0);
        let mut to = Assembler::default();
        write_boxing_stub(&mut to, (2, doubles), 5, 0);
        let (code, relocations) = to.finish();
        let lines = listing(&code);
        // The word leaves the first register before that gets the flonum.
        assert_eq!(lines[0], "mov rcx, rdi");
        assert_eq!(lines[1], "movq r11, xmm0");
        assert_eq!(
            lines[lines.len() - 2..],
            ["mov rdi, r11", "jmp qword ptr [rip]"]
        );
        assert_eq!(relocations[0].target, Target::LinkOfWords(5));
    }
}
