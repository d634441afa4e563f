//! Exceptions on their way: the clause that catches one is looked for frame by frame.
//!
//! A frame's link says where its caller goes on. The function there is found by the address, in the module
//! of the frame's instance; calls of other instances have that instance in the link.

use canny_tables::guest::{Opcode, Plain, Reason, Runtime};

use crate::activation::Activation;
use crate::code::{self, Clause};
use crate::definitions;
use crate::error::Trap;
use crate::exceptions::{Exception, Tag};
use crate::handlers;
use crate::record::InstanceRecord;
use crate::store::Store;
use crate::types::{FunctionType, ValueType};

/// A frame, and the instruction of its function that has not been done yet.
#[derive(Clone, Copy)]
pub struct Frame {
    pub slots: *mut u64,
    pub instance: *const InstanceRecord,
    /// An instruction, or what is behind one that is a call.
    pub pc: *const u64,
    pub is_call: bool,
}

impl Frame {
    /// An address in the instruction that the frame is at: a call belongs to the blocks in which it is,
    /// not to those behind it.
    pub fn at(self) -> *const u64 {
        if self.is_call {
            self.pc.wrapping_sub(1)
        } else {
            self.pc
        }
    }
}

/// The answer of a function to an exception.
enum Found {
    /// The clause, where it goes on, and the slots of the frame.
    Clause(Clause, *const u64, usize),
    /// None; the slot of the link.
    Link(u16),
}

impl Store {
    /// Makes a tag whose exceptions have values of these types.
    pub fn tag(&mut self, parameters: Vec<ValueType>) -> Tag {
        let results = Vec::new();
        let kind = definitions::intern_function(FunctionType {
            parameters,
            results,
        });
        self.exceptions.add_tag(kind)
    }

    /// The tag with a number.
    pub fn tag_with_number(&self, number: u32) -> Option<Tag> {
        ((number as usize) < self.exceptions.tag_count()).then_some(Tag(number))
    }

    /// How many tags there are; they have the numbers below.
    pub fn tag_count(&self) -> usize {
        self.exceptions.tag_count()
    }

    /// The type of a tag, whose parameters are those of the values of its exceptions.
    pub fn tag_type(&self, tag: Tag) -> &'static FunctionType {
        definitions::function_type(self.exceptions.tag_type(tag))
    }

    /// Makes an exception; nothing if the words are not as many as the tag says.
    pub fn exception(&self, tag: Tag, words: &[u64]) -> Option<Exception> {
        let fits = words.len() == self.tag_type(tag).parameter_slots();
        fits.then(|| Exception::new(tag, words.into()))
    }
}

impl Store {
    /// Does `throw` and `throw_ref`.
    pub(crate) fn throw(
        &mut self,
        activation: &mut Activation,
        operation: Runtime,
        words: &[u64],
    ) -> Result<(), Trap> {
        let slot = code::read16(words, 10) as usize;
        // SAFETY: translated code names slots of its frame only.
        let first = unsafe { activation.frame.add(slot) };
        let exception = if operation == Runtime::Throw {
            // SAFETY: the instance belongs to this store.
            let instance = unsafe { &*activation.instance };
            let tag = Tag(instance.tag_numbers[code::read32(words, 16) as usize]);
            let count = self.tag_type(tag).parameter_slots();
            // SAFETY: the values are in the slots from the first on.
            let words = unsafe { std::slice::from_raw_parts(first, count) };
            Exception::new(tag, words.into())
        } else {
            // SAFETY: as above.
            let word = unsafe { first.read() };
            let exception = self.exceptions.referred(word);
            exception.ok_or(Trap::Reason(Reason::NullReference))?
        };
        let frame = Frame {
            slots: activation.frame,
            instance: activation.instance,
            pc: activation.pc,
            is_call: false,
        };
        self.unwind(activation, frame, exception)
    }

    /// Lets an exception come from a function of the host at whose call the run was left.
    pub(crate) fn throw_from_host(
        &mut self,
        activation: &mut Activation,
        link: usize,
        exception: Exception,
    ) -> Result<(), Trap> {
        // SAFETY: the frame of a function of the host has its link there.
        match unsafe { caller(activation.frame, activation.instance, link) } {
            Some(frame) => self.unwind(activation, frame, exception),
            None => Err(Trap::Exception(exception)),
        }
    }

    /// Goes on at the clause that catches an exception; else the run ends with it.
    fn unwind(
        &mut self,
        activation: &mut Activation,
        mut frame: Frame,
        exception: Exception,
    ) -> Result<(), Trap> {
        loop {
            match find(frame, exception.tag()) {
                Some(Found::Clause(clause, target, slots)) => {
                    activation.pc = target;
                    activation.frame = frame.slots;
                    activation.instance = frame.instance;
                    self.enter_clause(activation, &clause, slots, exception);
                    return Ok(());
                }
                Some(Found::Link(link)) => {
                    // SAFETY: the function says where its link is.
                    match unsafe { caller(frame.slots, frame.instance, link as usize) } {
                        Some(caller) => frame = caller,
                        None => return Err(Trap::Exception(exception)),
                    }
                }
                None => return Err(Trap::Reason(Reason::Unreachable)),
            }
        }
    }

    /// Gives the values of an exception to the clause that has caught it.
    fn enter_clause(
        &mut self,
        activation: &mut Activation,
        clause: &Clause,
        frame_slots: usize,
        exception: Exception,
    ) {
        let first = clause.slot as usize;
        let words = if clause.tag.is_some() {
            exception.words()
        } else {
            &[]
        };
        for (index, word) in words.iter().enumerate() {
            // SAFETY: the clause's block takes so many values there.
            unsafe { activation.frame.add(first + index).write(*word) };
        }
        if clause.takes_reference {
            let place = first + words.len();
            if self.exceptions.is_full() {
                let base = activation.base;
                // SAFETY: frames lie between the base and the end of the newest one.
                let running = unsafe {
                    let end = activation.frame.add(frame_slots);
                    let count = end.cast_const().offset_from_unsigned(base);
                    std::slice::from_raw_parts(base, count)
                };
                self.collect(&[running, exception.words()]);
            }
            let word = self.exceptions.reference(exception);
            // SAFETY: as above, it is the last value.
            unsafe { activation.frame.add(place).write(word) };
        }
    }
}

/// The clause of a frame's function that catches exceptions of a tag where it is, or its link.
fn find(frame: Frame, tag: Tag) -> Option<Found> {
    // SAFETY: instances live as long as their store.
    let instance = unsafe { &*frame.instance };
    let module = instance.module.as_ref()?;
    module.with_function_at(frame.at(), |_, body, word| {
        let catches = |clause: &&Clause| {
            let is_inside = (clause.start..clause.end).contains(&word);
            let is_wanted = clause
                .tag
                .is_none_or(|index| instance.tag_numbers[index as usize] == tag.0);
            is_inside && is_wanted
        };
        match body.clauses.iter().find(catches) {
            Some(clause) => {
                let target = &raw const body.words[clause.target as usize];
                Found::Clause(*clause, target, body.frame_slots())
            }
            None => Found::Link(body.link),
        }
    })
}

/// The caller of a frame; nothing if it is the run's first.
///
/// # Safety
/// The frame belongs to a run that is not running now, and has its link at this slot.
pub unsafe fn caller(
    slots: *mut u64,
    instance: *const InstanceRecord,
    link: usize,
) -> Option<Frame> {
    // SAFETY: a link has a return address, which is that of an instruction, and the caller's frame. An
    // instruction that goes back to another instance has that and the address there.
    unsafe {
        let link = slots.add(link);
        let mut frame = Frame {
            slots: link.add(1).read() as *mut u64,
            instance,
            pc: link.read() as *const u64,
            is_call: true,
        };
        let is_at = |pc: *const u64, op: Plain| {
            let handler = handlers::address(Opcode::Plain(op));
            pc.read() == handler as u64
        };
        if is_at(frame.pc, Plain::ReturnAcross) {
            frame.instance = frame.pc.add(1).read() as *const InstanceRecord;
            frame.pc = frame.pc.add(2).read() as *const u64;
        }
        (!is_at(frame.pc, Plain::Finish)).then_some(frame)
    }
}
