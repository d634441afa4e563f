//! Arguments in registers: how calls of known code pass them, and the ways into a candidate that is entered at its start.
//!
//! A call whose callee is known when it is compiled has its first arguments in registers, the others in their slots, and
//! closure and return address in the link as every call. It goes where the caller's *link word* says ([`crate::Link`]).
//! The candidate's first segment takes them there; in front of it stand, written without the code generator:
//!
//! ```text
//! others:   registers to slots; pass the call on to the next candidate
//! memory:   slots to registers          <- the interpreter, and compiled calls of who is not known
//! checked:  questions for types         <- links whose caller does not know the types
//! known:    flonums to doubles          <- links whose caller does
//! direct:   the segment                 <- links whose caller passes doubles where the segment takes them
//! ```
//!
//! An argument that the candidate wants to be a flonum comes to the segment as a double, in a register for doubles, and a caller that
//! knows an argument to be a flonum passes it that way. Where its link leads to code that does not take these very arguments as
//! doubles, the link goes by way of the caller's *boxer*, which makes flonums of them and goes on where the link's second word says.
//!
//! All ways take fp and the thread block in the registers of segments. What is in a register need not be in its slot: the
//! segment stores it where somebody may look, like any other value, or at once if many of its ways out would.

use canny_spesh::graph::{EntryPoint, Graph, NodeId, Op, SlotContent, StateId, Test};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{CHARACTER_LOW_BYTE, FIELD0, HEADER, TAG_MASK, TAG_OBJECT, TAG_PAIR};
use canny_tables::layout::{code, frame};

use crate::JitError;
use crate::doubles::{complete_jump, put_in, take_out};
use crate::machine::{Relocation, Target};
use crate::slots::Slots;

/// Most arguments that are passed in registers.
pub(crate) const REGISTERS: usize = 4;

/// Numbers of these registers, as instructions encode them: those of pc, table and word of a handler, and the next one.
/// They are the first, fourth, fifth and sixth parameter in Cranelift's `tail` convention.
const NUMBERS: [u8; REGISTERS] = [7, 1, 8, 9];

/// A register that nothing is passed in.
const SCRATCH: u8 = 11;

/// States that may name an argument before its slot gets it on entry.
const STATES_MAX: usize = 8;

/// Which of a call's arguments in registers are doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Doubles(u8);

/// The register of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A general register.
    Word(u8),
    /// A register for doubles.
    Double(u8),
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
    fn place(self, argument: usize) -> Place {
        let doubles = (0..argument)
            .filter(|before| self.contains(*before))
            .count();
        match self.contains(argument) {
            true => Place::Double(doubles as u8),
            false => Place::Word(NUMBERS[argument - doubles]),
        }
    }
}

/// How a graph takes its arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arguments {
    /// So many come in registers.
    pub(crate) count: usize,
    /// Which of these come as doubles.
    pub(crate) doubles: Doubles,
    /// Which of these are stored on entry.
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

    /// Leaves to the states what few of them name.
    pub(crate) fn spare(&mut self, graph: &Graph, slots: &Slots) {
        for register in 0..self.count as u32 {
            let is_argument = |content: &SlotContent| match content {
                SlotContent::Node(id) => match graph.node(*id).op {
                    Op::Slot(number) | Op::FloatSlot(number) => number == register,
                    _ => false,
                },
                SlotContent::Address(_) => false,
            };
            let states = (0..graph.states.len() as u32)
                .filter(|state| {
                    let mut there = slots.of_state(StateId(*state)).iter();
                    there.any(|(slot, content)| *slot == register as i32 && is_argument(content))
                })
                .count();
            self.is_stored[register as usize] = states > STATES_MAX;
        }
    }

    /// The arguments of [`crate::machine::direct_signature`]'s parameters, in their order.
    pub(crate) fn in_order<V: Copy>(&self, parameters: &[V]) -> Vec<V> {
        let words = self.count - self.doubles.count();
        let first_double = 3 + words.saturating_sub(1);
        let (mut word, mut double) = (0, first_double);
        (0..self.count)
            .map(|argument| {
                let next = match self.doubles.contains(argument) {
                    true => &mut double,
                    false => &mut word,
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

/// What stands in front of a candidate's first segment.
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
        let mut front = Front::default();
        if graph.entry != EntryPoint::Start {
            return Ok(front);
        }
        if !graph.required.is_empty() {
            front.pass_on(graph.codes[0].word.0, arguments.count);
        }
        front.memory = front.code.len();
        for (register, number) in (0..).zip(NUMBERS).take(arguments.count) {
            front.move_slot(0x8b, register, number);
        }
        front.checked = front.code.len();
        for (register, ty) in &graph.required {
            let test = Test::of_type(*ty).ok_or_else(|| {
                JitError::Invalid(format!("no test tells arguments of type {ty}"))
            })?;
            let number = match (*register as usize) < arguments.count {
                true => NUMBERS[*register as usize],
                false => {
                    front.move_slot(0x8b, *register, SCRATCH);
                    SCRATCH
                }
            };
            front.test(test, number)?;
        }
        front.known = front.code.len();
        // Words move to registers of arguments before them, whose content has moved already.
        for (argument, number) in NUMBERS.into_iter().enumerate().take(arguments.count) {
            match arguments.doubles.place(argument) {
                Place::Double(double) => take_out(&mut front.code, number, double),
                Place::Word(word) => front.move_register(word, number),
            }
        }
        Ok(front)
    }

    /// `mov` between registers.
    fn move_register(&mut self, to: u8, from: u8) {
        if to != from {
            let rex = 0x48 | from >> 3 << 2 | to >> 3;
            self.code
                .extend([rex, 0x89, 0xc0 | (from & 7) << 3 | to & 7]);
        }
    }

    /// Passes a call on that is not for this candidate.
    fn pass_on(&mut self, code: u64, count: usize) {
        for (register, number) in (0..).zip(NUMBERS).take(count) {
            self.move_slot(0x89, register, number);
        }
        // mov rdi, code; jmp [next]
        self.code.extend([0x48, 0xbf]);
        self.code.extend(code.to_le_bytes());
        self.code.extend([0xff, 0x25]);
        self.relocations.push(Relocation {
            offset: self.code.len(),
            target: Target::Next,
            addend: -4,
        });
        self.code.extend([0; 4]);
    }

    /// `mov` between a register and a slot: 0x8b loads, 0x89 stores.
    fn move_slot(&mut self, opcode: u8, slot: u32, number: u8) {
        // [rsi + displacement]
        let mode = 0x86 | (number & 7) << 3;
        self.code.extend([0x48 | number >> 3 << 2, opcode, mode]);
        self.code.extend((8 * slot).to_le_bytes());
    }

    /// Goes on if a register's value passes a test, else goes to the start of what is written: passes the call on.
    pub(crate) fn test(&mut self, test: Test, number: u8) -> Result<(), JitError> {
        match test {
            Test::Fixnum => {
                // test register, 3
                self.code
                    .extend([0x40 | number >> 3, 0xf6, 0xc0 | number & 7, 3]);
                self.others_unless_equal();
            }
            Test::Pair => {
                self.compare_masked(number, TAG_MASK as u32, TAG_PAIR as u32);
                self.others_unless_equal();
            }
            Test::Character => {
                self.compare_masked(number, 0xff, CHARACTER_LOW_BYTE as u32);
                self.others_unless_equal();
            }
            Test::Kind(kind) => {
                self.compare_masked(number, TAG_MASK as u32, TAG_OBJECT as u32);
                self.others_unless_equal();
                self.compare_kind(number, kind);
                self.others_unless_equal();
            }
            // See `flonum_test` of segments.
            Test::Flonum => {
                self.compare_masked(number, 6, 2);
                let usual = self.jump_if_equal();
                self.compare_masked(number, TAG_MASK as u32, 7);
                let tiny = self.jump_if_equal();
                self.compare_masked(number, TAG_MASK as u32, TAG_OBJECT as u32);
                self.others_unless_equal();
                self.compare_kind(number, Kind::Flonum);
                self.others_unless_equal();
                for jump in [usual, tiny] {
                    complete_jump(&mut self.code, jump);
                }
            }
            Test::Word(_) | Test::ClosureOf(_) | Test::Elements(_) => {
                return Err(JitError::Invalid("an entry asks for no type".into()));
            }
        }
        Ok(())
    }

    /// mov eax, register; and eax, mask; cmp eax, wanted
    fn compare_masked(&mut self, number: u8, mask: u32, wanted: u32) {
        self.code
            .extend([0x40 | number >> 3, 0x8b, 0xc0 | number & 7]);
        self.code.push(0x25);
        self.code.extend(mask.to_le_bytes());
        self.code.push(0x3d);
        self.code.extend(wanted.to_le_bytes());
    }

    /// cmp byte [register + header's kind], kind
    fn compare_kind(&mut self, number: u8, kind: Kind) {
        let place = (HEADER + 1) as i8 as u8;
        self.code.extend([
            0x40 | number >> 3,
            0x80,
            0x78 | number & 7,
            place,
            kind as u8,
        ]);
    }

    /// Goes to the start unless what was compared is equal.
    fn others_unless_equal(&mut self) {
        self.code.extend([0x0f, 0x85]);
        let behind = self.code.len() as i32 + 4;
        self.code.extend((-behind).to_le_bytes());
    }

    /// A short jump, to be completed; gives the place behind it.
    fn jump_if_equal(&mut self) -> usize {
        self.code.extend([0x74, 0]);
        self.code.len()
    }
}

/// Where calls with so many arguments in registers go as long as there is no candidate for them: puts them into their slots
/// and enters the code of the closure in the link.
pub(crate) fn adapter(count: usize) -> Vec<u8> {
    let mut writer = Front::default();
    for (register, number) in (0..).zip(NUMBERS).take(count) {
        writer.move_slot(0x89, register, number);
    }
    let mut code = writer.code;
    // mov rdi, [rsi + closure]; mov rdi, [rdi + code]; jmp [rdi + native]
    code.extend([0x48, 0x8b, 0x7e, (8 * frame::CLOSURE) as i8 as u8]);
    code.extend([0x48, 0x8b, 0x7f, FIELD0 as u8]);
    code.extend([0xff, 0x67, code::NATIVE as u8]);
    code
}

/// Writes the boxer of a link: makes words of the arguments that are doubles and goes where the link's second word says. `maker`
/// is [`crate::doubles::write_maker`]'s place.
pub(crate) fn write_boxer(
    code: &mut Vec<u8>,
    relocations: &mut Vec<Relocation>,
    (count, doubles): (usize, Doubles),
    link: u32,
    maker: usize,
) {
    let mut writer = Front {
        code: std::mem::take(code),
        ..Front::default()
    };
    // Words move to registers of arguments behind them, whose content has moved already.
    for (argument, number) in NUMBERS.into_iter().enumerate().take(count).rev() {
        match doubles.place(argument) {
            Place::Double(double) => put_in(&mut writer.code, double, number, maker),
            Place::Word(word) => writer.move_register(number, word),
        }
    }
    // jmp [link's second word]
    writer.code.extend([0xff, 0x25]);
    relocations.push(Relocation {
        offset: writer.code.len(),
        target: Target::LinkOfWords(link),
        addend: -4,
    });
    writer.code.extend([0; 4]);
    *code = writer.code;
}

const _: () = assert!(code::NATIVE < 128 && 8 * frame::CLOSURE >= -128);

/// How many of a call's arguments are in registers.
pub(crate) fn in_registers(arguments: usize) -> usize {
    arguments.min(REGISTERS)
}

/// What a caller knows of the arguments, as far as a candidate may ask.
pub(crate) fn known_types(graph: &Graph, arguments: &[NodeId]) -> Vec<Type> {
    arguments.iter().map(|id| graph.node(*id).ty).collect()
}

/// Which arguments in registers a caller passes as doubles that knows so much of them.
pub(crate) fn doubles_of(types: &[Type]) -> Doubles {
    let mut doubles = Doubles::default();
    for (argument, ty) in types.iter().enumerate().take(REGISTERS) {
        if *ty == Type::FLONUM {
            doubles.insert(argument);
        }
    }
    doubles
}
