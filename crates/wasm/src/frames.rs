//! Frames of a run, across the interpreter and machine code.
//!
//! Frames of machine code are a chain by their base pointers. A piece that the interpreter calls machine
//! code by has noted the interpreter's frame; an adapter has its base pointer in the link of the
//! interpreter's frame.

use canny_tables::guest::{Opcode, Plain};

use crate::activation::{Activation, Transition};
use crate::code_memory::{self, Purpose};
use crate::handlers;
use crate::module::Module;
use crate::places::{Located, Spot};
use crate::record::InstanceRecord;
use crate::switch::{LEFT_BASE, entries};

/// A frame, and the instruction of its function that has not been done yet.
#[derive(Clone, Copy, Debug)]
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

/// The caller of a function.
#[derive(Clone, Copy, Debug)]
pub enum Caller {
    /// Nobody: it is the run's first.
    None,
    Interpreted(Frame),
    /// Machine code, by an adapter with this base pointer.
    Native(*const u64),
}

/// The caller of a function with a link.
///
/// # Safety
/// The link belongs to a frame of a run that is not running now.
pub unsafe fn caller(link: *const u64, instance: *const InstanceRecord) -> Caller {
    // SAFETY: a link has a return address, which is that of an instruction, and the caller's frame. An
    // instruction that goes back to another instance has that and the address there.
    unsafe {
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
        if is_at(frame.pc, Plain::ReturnNative) {
            return Caller::Native(link.add(2).read() as *const u64);
        }
        if is_at(frame.pc, Plain::ReturnAcross) {
            frame.instance = frame.pc.add(1).read() as *const InstanceRecord;
            frame.pc = frame.pc.add(2).read() as *const u64;
        }
        if is_at(frame.pc, Plain::Finish) {
            return Caller::None;
        }
        Caller::Interpreted(frame)
    }
}

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

/// The place in a function at which a frame of machine code is.
pub fn function_at(address: usize) -> Option<Located> {
    let (piece, byte) = code_memory::find(address)?;
    let Purpose::Function(owner, own_index) = &piece.purpose else {
        return None;
    };
    Some(Located {
        module: Module::of_any(owner.upgrade()?)?,
        own_index: *own_index,
        spot: Spot::Byte(piece, byte),
    })
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
    let piece = code_memory::find(address);
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

impl Caller {
    /// Its frame.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn found(self) -> Option<Found> {
        match self {
            Caller::None => None,
            Caller::Interpreted(frame) => Some(Found::Interpreted(frame)),
            // SAFETY: the caller's promise.
            Caller::Native(base) => Some(unsafe { back(base) }),
        }
    }
}

/// Leaves a frame of machine code, the newest one that is still there; gives its caller.
///
/// # Safety
/// As above.
pub unsafe fn drop_native(
    activation: &mut Activation,
    address: usize,
    base: *const u64,
) -> Option<Found> {
    let piece = code_memory::find(address - 1);
    let is_bridge =
        piece.is_some_and(|(piece, _)| matches!(piece.purpose, Purpose::FromInterpreter));
    // SAFETY: the caller's promise.
    unsafe {
        if is_bridge {
            return drop_newest(activation).found();
        }
        (!base.is_null()).then(|| back(base))
    }
}

/// Lets the interpreter go on below the newest call of machine code; gives who called that.
///
/// # Safety
/// As above.
unsafe fn drop_newest(activation: &mut Activation) -> Caller {
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
