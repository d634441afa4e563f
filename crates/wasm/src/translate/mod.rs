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
//! operands. The bytes were validated before.

mod control;
mod numeric;
mod operators;

use canny_tables::guest::{Compare, LINK_WORDS, Number, Opcode, Plain, Shape};
use wasmparser::{BinaryReader, FunctionBody};

use crate::code::Code;
use crate::error::Error;
use crate::module::Module;
use crate::types;
use control::Control;

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

struct Translator<'m> {
    module: &'m Module,
    code: Code,
    stack: Vec<Entry>,
    control: Vec<Control>,
    /// Slots of local variables, by index.
    locals: Vec<u16>,
    /// How many entries of the stack are a local variable's.
    references: Vec<u32>,
    /// The slot of the first operand.
    base: usize,
    /// Slots that the frame has at least.
    frame: usize,
    link: u16,
    results: usize,
    /// Blocks that were opened in code that is not reached.
    unreachable: Option<usize>,
    last: Option<Last>,
    /// A jump back behind a branch that may lead around it, and where it leads.
    around: Option<(usize, usize)>,
    /// The branch that was written last, if nothing jumps behind it.
    newest_branch: Option<(usize, Compare, Shape, bool)>,
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

/// Translates all functions of a module; gives the bytes of their code.
pub fn translate_all(module: &Module) -> Result<usize, Error> {
    let mut bytes = 0;
    for index in 0..module.parts().bodies.len() as u32 {
        let words = function(module, index)?;
        bytes += 8 * words.len();
        module.set_code(index, words);
    }
    Ok(bytes)
}

/// Translates one of the module's own functions.
fn function(module: &Module, own_index: u32) -> Result<Box<[u64]>, Error> {
    let parts = module.parts();
    let range = parts.bodies[own_index as usize].clone();
    let start = range.start as u64;
    let reader = BinaryReader::new(&module.bytes()[range], start);
    let body = FunctionBody::new(reader);
    let index = parts.imported_functions + own_index as usize;
    let kind = types::function_type(parts.functions[index]);
    let link = kind.link();
    let mut locals: Vec<u16> = (0..kind.parameters.len()).map(|slot| slot as u16).collect();
    let first_local = link + LINK_WORDS;
    let mut next = first_local;
    for group in body.get_locals_reader()? {
        let (count, _) = group?;
        if next + count as usize > FRAME_MAX {
            return Err(too_large(start));
        }
        for _ in 0..count {
            locals.push(next as u16);
            next += 1;
        }
    }
    let mut translator = Translator {
        module,
        code: Code::default(),
        stack: Vec::new(),
        control: Vec::new(),
        references: vec![0; locals.len()],
        locals,
        base: next,
        frame: next,
        link: link as u16,
        results: kind.results.len(),
        unreachable: None,
        last: None,
        around: None,
        newest_branch: None,
        offset: start,
    };
    let entry = translator.code.put(Opcode::Plain(Plain::Enter));
    translator.code.set16(entry, 12, first_local as u16);
    translator
        .code
        .set16(entry, 14, (next - first_local) as u16);
    translator
        .control
        .push(Control::function(kind.results.len()));
    for operator in body.get_operators_reader()?.into_iter_with_offsets() {
        let (operator, offset) = operator?;
        translator.offset = offset;
        translator.operator(operator)?;
        if translator.frame > FRAME_MAX {
            return Err(too_large(start));
        }
    }
    let bytes = 8 * translator.frame as u32;
    translator.code.set32(entry, 8, bytes);
    Ok(translator.code.finish())
}

fn too_large(offset: u64) -> Error {
    Error::Invalid {
        text: "the function has more local variables and operands than fit a frame".into(),
        offset,
    }
}

impl Translator<'_> {
    /// The slot of the operand at a place of the stack.
    fn own_slot(&mut self, place: usize) -> u16 {
        let slot = self.base + place;
        self.frame = self.frame.max(slot + 1);
        slot as u16
    }

    fn push(&mut self, entry: Entry) {
        if let Entry::Local(local) = entry {
            self.references[local as usize] += 1;
        }
        self.stack.push(entry);
    }

    fn pop(&mut self) -> Entry {
        // Validated: there is one.
        let entry = self.stack.pop().unwrap_or(Entry::Own);
        if let Entry::Local(local) = entry {
            self.references[local as usize] -= 1;
        }
        entry
    }

    /// Takes an operand; gives the slot that has it.
    fn pop_slot(&mut self) -> u16 {
        let entry = self.pop();
        self.slot_of(entry, self.stack.len())
    }

    /// The slot of an entry whose place in the stack is given.
    fn slot_of(&mut self, entry: Entry, place: usize) -> u16 {
        match entry {
            Entry::Own => self.own_slot(place),
            Entry::Local(local) => self.locals[local as usize],
            Entry::Constant(bits) => {
                let slot = self.own_slot(place);
                self.constant(slot, bits);
                slot
            }
        }
    }

    /// Where an instruction that is written next finds an operand of a kind that nothing else uses.
    fn source(&mut self, entry: Entry, place: usize, kind: Number) -> Source {
        let own = (self.base + place) as u16;
        if entry == Entry::Own
            && let Some(last) = self.last
            && last.slot == own
            && let Some(keeping) = last.opcode.keeping(kind)
        {
            self.code.set_opcode(last.place, keeping);
            self.last = None;
            return Source::Kept(own, last.place, last.opcode);
        }
        Source::Slot(self.slot_of(entry, place))
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

    fn copy(&mut self, to: u16, from: u16) {
        if to == from {
            return;
        }
        let place = self.code.put(Opcode::Plain(Plain::Copy));
        self.code.set16(place, 8, to);
        self.code.set16(place, 10, from);
        self.last = None;
    }

    /// Moves an operand that is not needed any more; one that was just computed is computed there.
    fn move_result(&mut self, to: u16, from: u16) {
        match self.last {
            Some(last) if last.slot == from => self.code.set16(last.place, 8, to),
            _ => self.copy(to, from),
        }
        self.last = None;
    }

    /// Moves the entry at a place of the stack to its own slot.
    fn settle(&mut self, place: usize) {
        let entry = self.stack[place];
        if entry == Entry::Own {
            return;
        }
        let own = self.own_slot(place);
        match entry {
            Entry::Own => {}
            Entry::Local(local) => {
                self.references[local as usize] -= 1;
                let from = self.locals[local as usize];
                self.copy(own, from);
            }
            Entry::Constant(bits) => self.constant(own, bits),
        }
        self.stack[place] = Entry::Own;
    }

    /// Moves the newest entries to their own slots.
    fn settle_top(&mut self, count: usize) {
        for place in self.stack.len() - count..self.stack.len() {
            self.settle(place);
        }
    }

    /// Moves all entries that are local variables to their own slots, and so the newest ones of any kind.
    fn settle_locals(&mut self, newest: usize) {
        let count = self.stack.len();
        for place in 0..count {
            let is_new = place + newest >= count;
            if is_new || matches!(self.stack[place], Entry::Local(_)) {
                self.settle(place);
            }
        }
    }

    /// Whether [`Self::settle_locals`] has nothing to do.
    fn is_settled(&self, newest: usize) -> bool {
        let count = self.stack.len();
        let mut places = 0..count;
        places.all(|place| match self.stack[place] {
            Entry::Own => true,
            Entry::Local(_) => false,
            Entry::Constant(_) => place + newest < count,
        })
    }

    /// Moves the entries that are a local variable to their own slots, since it is going to change.
    fn keep(&mut self, local: u32) {
        if self.references[local as usize] == 0 {
            return;
        }
        for place in 0..self.stack.len() {
            if self.stack[place] == Entry::Local(local) {
                self.settle(place);
            }
        }
    }

    /// Notes that the instruction at a place gives a new operand; its slot is the operand at 8.
    fn result(&mut self, place: usize, opcode: Opcode) {
        let slot = self.own_slot(self.stack.len());
        self.code.set16(place, 8, slot);
        self.stack.push(Entry::Own);
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
        let to = self.locals[local as usize];
        let last = self.last;
        let entry = self.pop();
        let place = self.stack.len();
        match (entry, last) {
            (Entry::Local(same), _) if same == local => {}
            (Entry::Own, Some(last))
                if last.slot as usize == self.base + place
                    && self.references[local as usize] == 0 =>
            {
                self.code.set16(last.place, 8, to);
                self.last = None;
            }
            (Entry::Constant(bits), _) => {
                self.keep(local);
                self.constant(to, bits);
            }
            _ => {
                self.keep(local);
                let from = self.slot_of(entry, place);
                self.copy(to, from);
            }
        }
    }
}
