//! Frames of guests between those of Scheme, for people to read: what runs guests is asked for them.
//!
//! A procedure of one library continues a guest that has called a procedure. The values in its frame say
//! which run that is. The machine does not know how.

use std::fmt;
use std::sync::{Arc, OnceLock};

use canny_value::Value;

use super::{FrameDescription, Position};
use crate::code::CodeRef;
use crate::thread::Thread;

/// A function's code as text.
#[derive(Clone, Debug)]
pub struct CodeText {
    /// A name for people.
    pub name: String,
    /// A name that no other function has.
    pub key: String,
    pub text: String,
    /// The line at which a frame is, from 1.
    pub line: u32,
}

/// How the code of a frame's function becomes text.
#[derive(Clone)]
pub struct Listing(pub Arc<dyn Fn() -> Option<CodeText> + Send + Sync>);

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listing")
    }
}

/// A frame of a guest.
#[derive(Clone, Debug)]
pub struct GuestFrame {
    /// Its name, with the offset of its instruction.
    pub name: String,
    /// Where it is in source text.
    pub position: Option<Position>,
    /// Its variables with values as text.
    pub values: Vec<(String, String)>,
    pub listing: Listing,
}

/// A run whose frames were shown: the numbers of its store and its own.
pub type ShownRun = (u64, u64);

/// How the machine asks for frames of guests.
#[derive(Clone, Copy, Debug)]
pub struct GuestStacks {
    /// The library whose procedures continue guests.
    pub library: &'static str,
    /// Gives the frames of the run that the values of a frame belong to, the newest first, unless it was
    /// shown in this walk.
    pub frames: fn(&Thread, &[Value], &mut Vec<ShownRun>) -> Vec<GuestFrame>,
}

static STACKS: OnceLock<GuestStacks> = OnceLock::new();

/// From now on, stacks have frames of guests.
pub fn set_guest_stacks(stacks: GuestStacks) {
    // It stays what it is: there is one kind of guests.
    let _ = STACKS.set(stacks);
}

impl Thread {
    /// Describes the frames of the guest that a frame continues, if it does. `live` gives the values of
    /// that frame.
    pub(crate) fn describe_guests(
        &self,
        closure: Value,
        live: impl FnOnce() -> Vec<Value>,
        shown: &mut Vec<ShownRun>,
        frames: &mut Vec<FrameDescription>,
    ) {
        let Some(stacks) = STACKS.get() else {
            return;
        };
        let unit = CodeRef::of_closure(closure).and_then(|code| self.vm.metadata(code));
        if !unit.is_some_and(|(unit, _)| unit.is_library && unit.name == stacks.library) {
            return;
        }
        let found = (stacks.frames)(self, &live(), shown).into_iter();
        frames.extend(found.map(|guest| FrameDescription {
            name: Some(guest.name),
            position: guest.position,
            is_library: false,
            is_program: false,
            listing: Some(guest.listing),
            is_stand_in: false,
            copy: None,
            tail_callers: Vec::new(),
            values: guest.values,
        }));
    }
}
