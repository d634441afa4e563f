//! The translation of a function to register code, in one pass over its operators.
//!
//! The operand stack is a list of entries that say where a value is: in the slot that its place in the
//! stack has, still in a local variable, or nowhere yet, since it is a constant. So reading a variable or
//! a constant costs no instruction. A result that is assigned to a variable at once is computed there,
//! and a comparison that decides a branch becomes part of it.
//!
//! A result that only the next instruction uses goes to an accumulator: when an instruction takes an
//! operand that was computed just before, the other instruction is made one that keeps its result.
//!
//! The frame has the slots of parameters and results, the link, the other local variables, and the
//! operands; a vector has two of them. The bytes were validated before.

pub(crate) mod aggregates;
pub(crate) mod atomics;
mod catches;
mod control;
pub(crate) mod numeric;
pub(crate) mod operators;
mod values;
pub(crate) mod vectors;

use std::sync::atomic::AtomicU64;

use canny_tables::guest::{Compare, LINK_WORDS, Number, Opcode, Plain, Shape, Vector, VectorPlain};
use wasmparser::BinaryReader;

use crate::code::{Clause, Code, FunctionBody, Loop, Origins};
use crate::definitions;
use crate::error::Error;
use crate::module::Module;
use control::Control;
use values::Values;

/// An operand: where it is, and the slot that its place in the stack has, the first if it has two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Operand {
    entry: Entry,
    slot: u32,
    is_vector: bool,
}

impl Operand {
    /// The slot behind it.
    fn end(self) -> u32 {
        self.slot + slots_of(self.is_vector)
    }
}

/// Slots of a value.
fn slots_of(is_vector: bool) -> u32 {
    1 + u32::from(is_vector)
}

/// Where an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    /// In its own slot.
    Own,
    /// In a local variable, by its index.
    Local(u32),
    /// A constant's bits.
    Constant(u64),
}

/// The instruction that was written last, if its result went to an operand's own slot and nothing jumps
/// behind it.
#[derive(Clone, Copy)]
struct Last {
    place: usize,
    opcode: Opcode,
    slot: u16,
    /// Where what computes it begins.
    start: usize,
    /// A comparison with its operands, which a branch may take over, and what it has to give.
    comparison: Option<(Comparison, bool)>,
}

#[derive(Clone, Copy)]
struct Comparison {
    op: Compare,
    shape: Shape,
    x: u16,
    y: u16,
    constant: u64,
    /// The instruction that keeps the first operand, and what it was.
    producer: Option<(usize, Opcode)>,
}

/// Where an instruction finds an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Slot(u16),
    /// In the accumulator: the slot where it would be, the instruction that keeps it, and what it was.
    Kept(u16, usize, Opcode),
}

impl Source {
    fn slot(self) -> u16 {
        match self {
            Source::Slot(slot) | Source::Kept(slot, ..) => slot,
        }
    }
}

/// A local variable.
struct Local {
    slot: u16,
    is_vector: bool,
    /// How many operands are this variable.
    references: u32,
}

struct Translator<'m> {
    module: &'m Module,
    code: Code,
    stack: Vec<Operand>,
    control: Vec<Control>,
    locals: Vec<Local>,
    /// The slot of the first operand.
    base: u32,
    /// Slots that the frame has at least.
    frame: usize,
    link: u16,
    results: Values,
    /// Blocks that were opened in code that is not reached.
    unreachable: Option<usize>,
    last: Option<Last>,
    /// A jump back behind a branch that may lead around it, and where it leads.
    around: Option<(usize, usize)>,
    /// The branch that was written last, if nothing jumps behind it.
    newest_branch: Option<(usize, Compare, Shape, bool)>,
    /// Clauses that catch exceptions, with how many of their blocks were closed before.
    clauses: Vec<(Clause, usize)>,
    closed_tries: usize,
    loops: Vec<Loop>,
    offset: u64,
}

/// Most slots of a frame: operands of instructions have 16 bits.
const FRAME_MAX: usize = 60_000;

/// The code of one of the module's own functions, translated if that was not done before.
pub fn code(module: &Module, own_index: u32) -> Result<*const u64, Error> {
    match module.code(own_index) {
        Some(code) => Ok(code),
        None => Ok(module.set_code(own_index, function(module, own_index)?)),
    }
}

/// Translates one of the module's own functions.
pub fn function(module: &Module, own_index: u32) -> Result<FunctionBody, Error> {
    let (mut translator, entry) = translated(module, own_index, Code::default())?;
    let bytes = 8 * translator.frame as u32;
    translator.code.set32(entry, 8, bytes);
    let clauses = translator.finished_clauses();
    let words = translator.code.finish().into_vec();
    Ok(FunctionBody {
        clauses,
        words: words.into_iter().map(AtomicU64::new).collect(),
        frame_slots: translator.frame,
        link: translator.link,
        loops: translator.loops.into(),
    })
}

/// Translates one of the module's own functions again, to see where its instructions are from.
pub fn origins(module: &Module, own_index: u32) -> Result<Origins, Error> {
    let (translator, _) = translated(module, own_index, Code::with_origins())?;
    Ok(translator.code.origins())
}

/// The state behind the last operator of a function, and the place of its first instruction.
fn translated(
    module: &Module,
    own_index: u32,
    mut code: Code,
) -> Result<(Translator<'_>, usize), Error> {
    let parts = module.parts();
    let range = parts.bodies[own_index as usize].clone();
    let start = range.start as u64;
    let reader = BinaryReader::new(&module.bytes()[range], start);
    let body = wasmparser::FunctionBody::new(reader);
    let index = parts.imported_functions + own_index as usize;
    let kind = definitions::function_type(parts.functions[index]);
    let link = kind.link();
    let mut locals = Vec::new();
    let mut next = 0;
    let mut add = |next: &mut usize, is_vector: bool| {
        locals.push(Local {
            slot: *next as u16,
            is_vector,
            references: 0,
        });
        *next += slots_of(is_vector) as usize;
    };
    for parameter in &kind.parameters {
        add(&mut next, parameter.slots() == 2);
    }
    let first_local = link + LINK_WORDS;
    next = first_local;
    for group in body.get_locals_reader()? {
        let (count, kind) = group?;
        let is_vector = kind == wasmparser::ValType::V128;
        if next + count as usize * slots_of(is_vector) as usize > FRAME_MAX {
            return Err(too_large(start));
        }
        for _ in 0..count {
            add(&mut next, is_vector);
        }
    }
    let results = Values::of(&kind.results);
    code.set_origin(start);
    let mut translator = Translator {
        module,
        code,
        stack: Vec::new(),
        control: vec![Control::function(results.clone(), next as u32)],
        locals,
        base: next as u32,
        frame: next,
        link: link as u16,
        results,
        unreachable: None,
        last: None,
        around: None,
        newest_branch: None,
        clauses: Vec::new(),
        closed_tries: 0,
        loops: Vec::new(),
        offset: start,
    };
    let entry = translator.code.put(Opcode::Plain(Plain::Enter));
    translator.code.set16(entry, 12, first_local as u16);
    translator
        .code
        .set16(entry, 14, (next - first_local) as u16);
    for operator in body.get_operators_reader()?.into_iter_with_offsets() {
        let (operator, offset) = operator?;
        translator.offset = offset;
        translator.code.set_origin(offset);
        translator.operator(operator)?;
        if translator.frame > FRAME_MAX {
            return Err(too_large(start));
        }
    }
    Ok((translator, entry))
}

fn too_large(offset: u64) -> Error {
    Error::Invalid {
        text: "the function has more local variables and operands than fit a frame".into(),
        offset,
    }
}

impl Translator<'_> {
    /// The slot of the next operand.
    fn top(&self) -> u32 {
        self.stack.last().map_or(self.base, |operand| operand.end())
    }

    /// A slot as an operand of instructions, with the one behind it if it has a vector.
    fn own_slot(&mut self, slot: u32, is_vector: bool) -> u16 {
        self.frame = self.frame.max((slot + slots_of(is_vector)) as usize);
        slot as u16
    }

    /// Pushes a number or a reference.
    fn push(&mut self, entry: Entry) {
        let mut is_vector = false;
        if let Entry::Local(local) = entry {
            let local = &mut self.locals[local as usize];
            local.references += 1;
            is_vector = local.is_vector;
        }
        self.push_operand(entry, is_vector);
    }

    fn push_operand(&mut self, entry: Entry, is_vector: bool) {
        let slot = self.top();
        self.stack.push(Operand {
            entry,
            slot,
            is_vector,
        });
    }

    /// Pushes values that are in their own slots; gives the first one's.
    fn push_own(&mut self, values: &Values) -> u32 {
        let first = self.top();
        for index in 0..values.len() {
            self.push_operand(Entry::Own, values.is_vector(index));
        }
        first
    }

    fn pop(&mut self) -> Operand {
        // Validated: there is one.
        let Some(operand) = self.stack.pop() else {
            return Operand {
                entry: Entry::Own,
                slot: self.base,
                is_vector: false,
            };
        };
        if let Entry::Local(local) = operand.entry {
            self.locals[local as usize].references -= 1;
        }
        operand
    }

    /// Takes an operand; gives the slot that has it.
    fn pop_slot(&mut self) -> u16 {
        let operand = self.pop();
        self.slot_of(operand)
    }

    /// The slot that has an operand.
    fn slot_of(&mut self, operand: Operand) -> u16 {
        match operand.entry {
            Entry::Own => self.own_slot(operand.slot, operand.is_vector),
            Entry::Local(local) => self.locals[local as usize].slot,
            Entry::Constant(bits) => {
                let slot = self.own_slot(operand.slot, false);
                self.constant(slot, bits);
                slot
            }
        }
    }

    /// Where an instruction that is written next finds an operand of a kind that nothing else uses.
    fn source(&mut self, operand: Operand, kind: Number) -> Source {
        let own = operand.slot as u16;
        if operand.entry == Entry::Own
            && let Some(last) = self.last
            && last.slot == own
            && let Some(keeping) = last.opcode.keeping(kind)
        {
            self.code.set_opcode(last.place, keeping);
            self.last = None;
            return Source::Kept(own, last.place, last.opcode);
        }
        Source::Slot(self.slot_of(operand))
    }

    /// Writes a constant to a slot.
    fn constant(&mut self, slot: u16, bits: u64) {
        let place = if bits as i32 as i64 as u64 == bits {
            let place = self.code.put(Opcode::Plain(Plain::Constant32));
            self.code.set32(place, 12, bits as u32);
            place
        } else {
            let place = self.code.put(Opcode::Plain(Plain::Constant64));
            self.code.set64(place, 16, bits);
            place
        };
        self.code.set16(place, 8, slot);
        self.last = None;
    }

    fn copy(&mut self, to: u16, from: u16, is_vector: bool) {
        if to == from {
            return;
        }
        let place = self.code.put(if is_vector {
            Opcode::Vector(Vector::Plain(VectorPlain::Copy))
        } else {
            Opcode::Plain(Plain::Copy)
        });
        self.code.set16(place, 8, to);
        self.code.set16(place, 10, from);
        self.last = None;
    }

    /// Copies an operand to a slot.
    fn copy_operand(&mut self, to: u16, operand: Operand) {
        match operand.entry {
            Entry::Constant(bits) => self.constant(to, bits),
            _ => {
                let from = self.slot_of(operand);
                self.copy(to, from, operand.is_vector);
            }
        }
    }

    /// Moves an operand that is not needed any more; one that was just computed is computed there.
    fn move_result(&mut self, to: u16, operand: Operand) {
        match self.last {
            Some(last) if operand.entry == Entry::Own && last.slot == operand.slot as u16 => {
                self.code.set16(last.place, 8, to);
            }
            _ => self.copy_operand(to, operand),
        }
        self.last = None;
    }

    /// Moves the operand at a place of the stack to its own slot.
    fn settle(&mut self, place: usize) {
        let operand = self.stack[place];
        if operand.entry == Entry::Own {
            return;
        }
        if let Entry::Local(local) = operand.entry {
            self.locals[local as usize].references -= 1;
        }
        let own = self.own_slot(operand.slot, operand.is_vector);
        self.copy_operand(own, operand);
        self.stack[place].entry = Entry::Own;
    }

    /// Moves the newest operands to their own slots.
    fn settle_top(&mut self, count: usize) {
        for place in self.stack.len() - count..self.stack.len() {
            self.settle(place);
        }
    }

    /// Moves all operands that are local variables to their own slots, and so the newest ones of any kind.
    fn settle_locals(&mut self, newest: usize) {
        let count = self.stack.len();
        for place in 0..count {
            let is_new = place + newest >= count;
            if is_new || matches!(self.stack[place].entry, Entry::Local(_)) {
                self.settle(place);
            }
        }
    }

    /// Whether [`Self::settle_locals`] has nothing to do.
    fn is_settled(&self, newest: usize) -> bool {
        let count = self.stack.len();
        let mut places = 0..count;
        places.all(|place| match self.stack[place].entry {
            Entry::Own => true,
            Entry::Local(_) => false,
            Entry::Constant(_) => place + newest < count,
        })
    }

    /// Moves the operands that are a local variable to their own slots, since it is going to change.
    fn keep(&mut self, local: u32) {
        if self.locals[local as usize].references == 0 {
            return;
        }
        for place in 0..self.stack.len() {
            if self.stack[place].entry == Entry::Local(local) {
                self.settle(place);
            }
        }
    }

    /// Notes that the instruction at a place gives a new operand; its slot is the operand at 8.
    fn result(&mut self, place: usize, opcode: Opcode) {
        let is_vector = matches!(opcode, Opcode::Vector(op) if op.gives_vector());
        let top = self.top();
        let slot = self.own_slot(top, is_vector);
        self.code.set16(place, 8, slot);
        self.push_operand(Entry::Own, is_vector);
        self.last = Some(Last {
            place,
            opcode,
            slot,
            start: place,
            comparison: None,
        });
    }

    /// Assigns a local variable the newest operand.
    fn set_local(&mut self, local: u32) {
        let variable = &self.locals[local as usize];
        let (to, is_free) = (variable.slot, variable.references == 0);
        let last = self.last;
        let operand = self.pop();
        match (operand.entry, last) {
            (Entry::Local(same), _) if same == local => {}
            (Entry::Own, Some(last)) if last.slot == operand.slot as u16 && is_free => {
                self.code.set16(last.place, 8, to);
                self.last = None;
            }
            _ => {
                self.keep(local);
                self.copy_operand(to, operand);
            }
        }
    }
}
