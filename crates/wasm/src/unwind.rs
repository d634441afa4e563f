//! Exceptions on their way: the clause that catches one is looked for frame by frame.
//!
//! A frame's link says where its caller goes on. The function there is found by the address, in the module
//! of the frame's instance; calls of other instances have that instance in the link. A call of machine
//! code is known by its return address, and its frame has the instance if the function catches exceptions.

use canny_tables::guest::{Reason, Runtime};

use crate::activation::Activation;
use crate::code::{self, Clause};
use crate::code_memory::{self, CaughtBy};
use crate::definitions;
use crate::error::Trap;
use crate::exceptions::{Exception, Tag};
use crate::frames::{self, Frame, caller};
use crate::record::InstanceRecord;
use crate::store::Store;
use crate::switch::{LEFT_BASE, LEFT_WORDS};
use crate::types::{FunctionType, ValueType};

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
        let newest = frames::start(activation);
        self.unwind(activation, Some(newest), exception)
    }

    /// Lets an exception come from a function of the host at whose call the run was left.
    pub(crate) fn throw_from_host(
        &mut self,
        activation: &mut Activation,
        link: usize,
        exception: Exception,
    ) -> Result<(), Trap> {
        // SAFETY: the frame of a function of the host has its link there.
        let caller = unsafe { caller(activation.frame.add(link), activation.instance).found() };
        self.unwind(activation, caller, exception)
    }

    /// Goes on at the clause that catches an exception; else the run ends with it, and its frames stay.
    fn unwind(
        &mut self,
        activation: &mut Activation,
        from: Option<frames::Found>,
        exception: Exception,
    ) -> Result<(), Trap> {
        let (stack, top, transition) = (
            activation.native_stack,
            activation.top,
            activation.transition,
        );
        let outcome = self.unwind_from(activation, from, exception);
        if outcome.is_err() {
            activation.native_stack = stack;
            activation.top = top;
            activation.transition = transition;
        }
        outcome
    }

    fn unwind_from(
        &mut self,
        activation: &mut Activation,
        mut next: Option<frames::Found>,
        exception: Exception,
    ) -> Result<(), Trap> {
        loop {
            next = match next {
                None => return Err(Trap::Exception(exception)),
                Some(frames::Found::Interpreted(frame)) => match find(frame, exception.tag()) {
                    Some(Found::Clause(clause, target, slots)) => {
                        activation.pc = target;
                        activation.frame = frame.slots;
                        activation.instance = frame.instance;
                        self.enter_clause(activation, &clause, slots, exception);
                        return Ok(());
                    }
                    // SAFETY: the function says where its link is.
                    Some(Found::Link(link)) => unsafe {
                        caller(frame.slots.add(link as usize), frame.instance).found()
                    },
                    None => return Err(Trap::Reason(Reason::Unreachable)),
                },
                Some(frames::Found::Native(address, base)) => {
                    // SAFETY: the run was left, and this is its newest frame that was not dropped.
                    unsafe {
                        if let Some(landed) = find_landing(address, base, exception.tag()) {
                            self.land(activation, &landed, exception);
                            return Ok(());
                        }
                        frames::drop_native(activation, address, base)
                    }
                }
            }
        }
    }

    /// Lets machine code go on at the handler of a call.
    ///
    /// # Safety
    /// The frame is one of the run, and all newer ones were dropped.
    unsafe fn land(&mut self, activation: &mut Activation, landed: &Landed, exception: Exception) {
        // SAFETY: frames below the stack pointer were dropped, and their room is that of the words with
        // which code was left. Operands of operations have their place at the top.
        unsafe {
            let words = landed.stack.sub(LEFT_WORDS);
            words.write_bytes(0, LEFT_WORDS);
            words.add(LEFT_BASE).write(landed.base as u64);
            words.add(LEFT_BASE + 1).write(landed.handler as u64);
            activation.native_stack = words;
            activation.frame = activation.top;
            activation.frame.write(landed.number as u64);
        }
        let clause = Clause {
            start: 0,
            end: 0,
            tag: landed.clause.tag,
            takes_reference: landed.clause.takes_reference,
            target: 0,
            slot: 1,
        };
        let slots = exception.words().len() + 2;
        self.enter_clause(activation, &clause, slots, exception);
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
                let [interpreted, native] = activation.words(frame_slots);
                self.collect(&[interpreted, native, exception.words()]);
            }
            let word = self.exceptions.reference(exception);
            // SAFETY: as above, it is the last value.
            unsafe { activation.frame.add(place).write(word) };
        }
    }
}

/// A call of machine code whose handler takes an exception.
struct Landed {
    /// The stack pointer and the base pointer of its frame.
    stack: *mut u64,
    base: *const u64,
    handler: usize,
    /// The clause, and its number at this call.
    clause: CaughtBy,
    number: usize,
}

/// The clause around a call of machine code, by its return address, that catches exceptions of a tag.
///
/// # Safety
/// The run was left, and the frame with this base pointer is one of its own.
unsafe fn find_landing(address: usize, base: *const u64, tag: Tag) -> Option<Landed> {
    let (piece, offset) = code_memory::find(address - 1)?;
    let landings = &piece.landings;
    let place = landings
        .calls
        .binary_search_by_key(&(offset + 1), |call| call.after);
    let call = &landings.calls[place.ok()?];
    // SAFETY: a function with handlers keeps its instance there, which lives as long as its store.
    let (stack, instance) = unsafe {
        let stack = base.byte_sub(landings.frame_bytes as usize).cast_mut();
        let instance = stack.byte_add(landings.instance as usize);
        (stack, &**instance.cast::<*const InstanceRecord>())
    };
    let is_caught = |clause: &CaughtBy| {
        let index = clause.tag;
        index.is_none_or(|index| instance.tag_numbers[index as usize] == tag.0)
    };
    let number = call.clauses.iter().position(is_caught)?;
    Some(Landed {
        stack,
        base,
        handler: address - call.after as usize + call.handler as usize,
        clause: call.clauses[number],
        number,
    })
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
                let target = body.address().wrapping_add(clause.target as usize);
                Found::Clause(*clause, target, body.frame_slots)
            }
            None => Found::Link(body.link),
        }
    })
}
