//! Exceptions on their way: the clause that catches one is looked for frame by frame.
//!
//! A frame's link says where its caller goes on. The function there is found by the address, in the module
//! of the frame's instance; calls of other instances have that instance in the link. Functions that catch
//! or throw are never machine code, so that frames of that are dropped.

use canny_tables::guest::{Reason, Runtime};

use crate::activation::Activation;
use crate::code::{self, Clause};
use crate::definitions;
use crate::error::Trap;
use crate::exceptions::{Exception, Tag};
use crate::frames::{Caller, Frame, caller, drop_newest};
use crate::store::Store;
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
        let frame = Frame {
            slots: activation.frame,
            instance: activation.instance,
            pc: activation.pc,
            is_call: false,
        };
        self.unwind(activation, Caller::Interpreted(frame), exception)
    }

    /// Lets an exception come from a function of the host at whose call the run was left.
    pub(crate) fn throw_from_host(
        &mut self,
        activation: &mut Activation,
        link: usize,
        exception: Exception,
    ) -> Result<(), Trap> {
        // SAFETY: the frame of a function of the host has its link there.
        let caller = unsafe { caller(activation.frame.add(link), activation.instance) };
        self.unwind(activation, caller, exception)
    }

    /// Goes on at the clause that catches an exception; else the run ends with it, and its frames stay.
    fn unwind(
        &mut self,
        activation: &mut Activation,
        from: Caller,
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
        from: Caller,
        exception: Exception,
    ) -> Result<(), Trap> {
        let Some(mut frame) = outside(activation, from) else {
            return Err(Trap::Exception(exception));
        };
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
                    let caller = unsafe { caller(frame.slots.add(link as usize), frame.instance) };
                    match outside(activation, caller) {
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
                let [interpreted, native] = activation.words(frame_slots);
                self.collect(&[interpreted, native, exception.words()]);
            }
            let word = self.exceptions.reference(exception);
            // SAFETY: as above, it is the last value.
            unsafe { activation.frame.add(place).write(word) };
        }
    }
}

/// The newest interpreted frame from a caller on. Frames of machine code, which catch nothing, are dropped.
fn outside(activation: &mut Activation, mut caller: Caller) -> Option<Frame> {
    loop {
        match caller {
            Caller::None => return None,
            Caller::Interpreted(frame) => return Some(frame),
            // SAFETY: the run has been left; its newest call of machine code is the adapter's.
            Caller::Native(_) => caller = unsafe { drop_newest(activation) },
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
                let target = body.address().wrapping_add(clause.target as usize);
                Found::Clause(*clause, target, body.frame_slots)
            }
            None => Found::Link(body.link),
        }
    })
}
