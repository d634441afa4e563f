//! Frames of a run, across the interpreter and machine code.
//!
//! Frames of machine code are a chain by their base pointers. A piece that the interpreter calls machine
//! code by has noted the interpreter's frame; an adapter has its base pointer in the link of the
//! interpreter's frame.

use super::region::{self, Purpose};
use super::switch::{LEFT_BASE, entries};
use crate::activation::Activation;
use crate::record::InstanceRecord;
use crate::unwind::{Caller, Frame, caller};

/// A call of machine code by the interpreter, in the frame of the piece that has made it.
#[repr(C)]
#[derive(Debug)]
pub struct Transition {
    pub older: *const Transition,
    /// What `Activation::top` was.
    pub top: *mut u64,
    /// The interpreter's frame of the function, and its link.
    pub frame: *mut u64,
    pub link: *const u64,
    pub instance: *const InstanceRecord,
    /// The piece's base pointer.
    pub base: *mut u64,
}

/// Offsets in a transition.
pub mod transition {
    pub const OLDER: i32 = 0;
    pub const TOP: i32 = 8;
    pub const FRAME: i32 = 16;
    pub const LINK: i32 = 24;
    pub const INSTANCE: i32 = 32;
    pub const BASE: i32 = 40;
}

pub const TRANSITION_BYTES: u32 = size_of::<Transition>() as u32;

const _: () = assert!(std::mem::offset_of!(Transition, older) == transition::OLDER as usize);
const _: () = assert!(std::mem::offset_of!(Transition, top) == transition::TOP as usize);
const _: () = assert!(std::mem::offset_of!(Transition, frame) == transition::FRAME as usize);
const _: () = assert!(std::mem::offset_of!(Transition, link) == transition::LINK as usize);
const _: () = assert!(std::mem::offset_of!(Transition, instance) == transition::INSTANCE as usize);
const _: () = assert!(std::mem::offset_of!(Transition, base) == transition::BASE as usize);

/// A frame of a run that was left.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// One of the interpreter.
    Interpreted(Frame),
    /// One of machine code: the address at which it is, and its base pointer.
    Native(usize, *const u64),
}

/// The newest frame of a run that was left.
pub fn start(activation: &Activation) -> Found {
    let interpreted = Found::Interpreted(Frame {
        slots: activation.frame,
        instance: activation.instance,
        pc: activation.pc,
        is_call: false,
    });
    if !cfg!(target_arch = "x86_64") {
        return interpreted;
    }
    // SAFETY: code that leaves has its base pointer and its address there.
    let (base, address) = unsafe {
        let stack = activation.native_stack.add(LEFT_BASE);
        (stack.read(), stack.add(1).read() as usize)
    };
    let entries = entries();
    if entries.interpreting.contains(&address) || entries.beginning.contains(&address) {
        return interpreted;
    }
    Found::Native(address, base as *const u64)
}

/// The function of a frame of machine code, among its module's own ones.
pub fn function_at(address: usize) -> Option<(super::Owner, u32)> {
    let (piece, _) = region::find(address)?;
    match &piece.purpose {
        Purpose::Function(owner, index) => Some((owner.clone(), *index)),
        _ => None,
    }
}

/// The caller of a frame of machine code. `transition` is the newest one that is not behind it, and moves.
///
/// # Safety
/// The run was left, and the frame is one of its own.
pub unsafe fn outside(
    address: usize,
    base: *const u64,
    transition: &mut *const Transition,
) -> Option<Found> {
    let piece = region::find(address);
    let is_bridge =
        piece.is_some_and(|(piece, _)| matches!(piece.purpose, Purpose::FromInterpreter));
    // SAFETY: a piece of this purpose has noted a transition, and others have the base pointer and the
    // address of their caller where their own base pointer leads.
    unsafe {
        if is_bridge {
            let note = transition.as_ref()?;
            *transition = note.older;
            return match caller(note.link, note.instance) {
                Caller::Interpreted(frame) => Some(Found::Interpreted(frame)),
                Caller::Native(base) => Some(back(base)),
                Caller::None => None,
            };
        }
        if base.is_null() {
            return None;
        }
        Some(Found::Native(
            base.add(1).read() as usize,
            base.read() as *const u64,
        ))
    }
}

/// The caller of an adapter, by the adapter's base pointer.
///
/// # Safety
/// As above.
pub unsafe fn back(base: *const u64) -> Found {
    // SAFETY: the caller's promise.
    unsafe { Found::Native(base.add(1).read() as usize, base.read() as *const u64) }
}

/// Lets the interpreter go on below the newest call of machine code; gives who called that.
///
/// # Safety
/// As above.
pub unsafe fn drop_newest(activation: &mut Activation) -> Caller {
    // SAFETY: frames of machine code belong to a transition, whose piece's base pointer leads to that of
    // the loop of handlers, with the address there behind it.
    unsafe {
        let Some(note) = activation.transition.as_ref() else {
            return Caller::None;
        };
        // The registers that come with it are of no use to that loop.
        activation.native_stack = note.base.sub(LEFT_BASE);
        activation.top = note.top;
        activation.transition = note.older;
        caller(note.link, note.instance)
    }
}
