//! Frames on the VM stack: how they are walked, shown to the collector, inspected and described.
//!
//! Below: the stack's memory; the collector's roots; frames of guests; the variables of frames for a
//! debugger; the places of a condition; tail calls that left no frame. Nothing here changes which frame
//! runs next: `control` and `thread` do.
//!
//! ```text
//! … | closure | return pc | R0 R1 … Ra-1 | closure | return pc | R0 …        (stack grows up)
//!   '-- caller's link ----'              ^ a       '-- callee's link ---' ^ callee's fp
//! ```
//!
//! The return pc points after the live-map word of the call, so the word before it is the map of
//! the caller's registers below `a`, and the byte seven before it is `a` itself. Return addresses that
//! are machine stubs end or bend the walk: exit and underflow end it, the barrier stands for the address
//! in the thread's watermark, and a trap frame leads to the frame that it interrupted.
//!
//! Frames of compiled code are the same. Their return addresses are native descriptors, before which there is
//! what stands before a return address of the bytecode, and which name that ([`bytecode_of`]).

pub mod guests;
pub(crate) mod inspect;
pub(crate) mod places;
pub(crate) mod roots;
pub(crate) mod stack;
mod tail_calls;

use std::sync::Arc;

use canny_compiler::liveness::{RegisterSet, decode_live_map};
use canny_compiler::unit::{SourceFile, UnitSpan};
use canny_tables::layout::{descriptor, frame};
use canny_tables::opcodes::Opcode;
use canny_value::Value;

use crate::code::{CodeRef, LivenessCache};
use crate::thread::Thread;
use guests::Listing;

/// The address of bytecode that a return address or entry stands for: the one in a descriptor of
/// compiled code, else the address itself.
pub(crate) fn bytecode_of(pc: *const u32) -> *const u32 {
    const NATIVE: u8 = Opcode::Native as u8;
    const RETIRED: u8 = Opcode::Retired as u8;
    const STITCHED: u8 = Opcode::Stitched as u8;
    // SAFETY: a return address or entry is an instruction or a descriptor, whose opcode says which; the
    // address is in its place, which descriptors have aligned.
    unsafe {
        match *pc.cast::<u8>() {
            NATIVE | RETIRED | STITCHED => *pc.byte_add(descriptor::BYTECODE).cast::<*const u32>(),
            _ => pc,
        }
    }
}

/// The address of bytecode that a return address stands for, and the opcode of its descriptor if it is one.
pub(crate) fn described(pc: *const u32) -> (*const u32, Option<Opcode>) {
    let bytecode = bytecode_of(pc);
    // SAFETY: as for `bytecode_of`.
    let opcode = || Opcode::from_byte(unsafe { *pc.cast::<u8>() });
    (bytecode, (bytecode != pc).then(opcode).flatten())
}

/// Whether a return address is a retired descriptor, as that of every inlined frame is: the frame above
/// may belong together with the one below.
pub(crate) fn is_retired(pc: *const u32) -> bool {
    // SAFETY: as for `bytecode_of`.
    unsafe { *pc.cast::<u8>() == Opcode::Retired as u8 }
}

/// The live registers of a frame.
pub(crate) enum Live {
    /// A narrow map.
    Narrow(u32),
    /// A set.
    Set(RegisterSet),
    /// The first so many.
    First(usize),
}

impl Live {
    /// Calls `visit` for each live register.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(usize)) {
        match self {
            Live::Narrow(map) => {
                let mut map = *map;
                while map != 0 {
                    visit(map.trailing_zeros() as usize);
                    map &= map - 1;
                }
            }
            Live::Set(set) => set.iter().for_each(visit),
            Live::First(count) => (0..*count).for_each(visit),
        }
    }
}

/// One frame of a walk.
pub(crate) struct Step {
    pub(crate) fp: *mut Value,
    /// Where the frame returns to: in bytecode, at a stub of the machine, or at a descriptor of
    /// compiled code.
    pub(crate) return_pc: *const u32,
    /// Where the frame resumes, or the instruction that it is in the middle of.
    pub(crate) pc: *const u32,
    pub(crate) live: Live,
    /// The frame is an ordinary one whose return address the barrier may replace.
    pub(crate) may_hold_barrier: bool,
    /// The frame was pushed by the machine to make a call in the middle of an instruction.
    pub(crate) is_trap: bool,
}

/// A walk from the newest frame to the oldest on the stack.
pub(crate) struct FrameWalk {
    stubs: StubAddresses,
    watermark_fp: *mut Value,
    watermark_pc: *const u32,
    base: *mut Value,
    /// None if nobody asks which registers live.
    liveness: Option<Arc<LivenessCache>>,
    next: Next,
}

#[derive(Clone, Copy)]
struct StubAddresses {
    exit: *const u32,
    underflow: *const u32,
    barrier: *const u32,
    trap: *const u32,
}

#[derive(Clone, Copy)]
enum Next {
    /// A frame stopped in the middle of the instruction whose first word ends before `pc`.
    Inside {
        fp: *mut Value,
        pc: *const u32,
        arguments: usize,
    },
    /// A frame that resumes at a return address.
    At {
        fp: *mut Value,
        pc: *const u32,
        base: usize,
    },
    Done,
}

impl FrameWalk {
    /// Starts at the state that the last slow stub saved.
    pub(crate) fn new(thread: &Thread) -> FrameWalk {
        let stubs = &thread.vm.stubs;
        let next = if thread.pc.is_null() {
            Next::Done
        } else {
            Next::Inside {
                fp: thread.fp,
                pc: thread.pc,
                arguments: thread.argument_count as usize,
            }
        };
        FrameWalk {
            stubs: StubAddresses {
                exit: stubs.exit(),
                underflow: stubs.underflow(),
                barrier: stubs.barrier(),
                trap: stubs.trap(),
            },
            watermark_fp: thread.watermark.fp,
            watermark_pc: thread.watermark.return_pc,
            base: thread.stack.base(),
            liveness: Some(thread.vm.liveness.clone()),
            next,
        }
    }

    /// The same for those who want to know the places only: no register is said to live.
    pub(crate) fn without_liveness(thread: &Thread) -> FrameWalk {
        FrameWalk {
            liveness: None,
            ..FrameWalk::new(thread)
        }
    }

    /// The next older frame.
    pub(crate) fn next(&mut self) -> Option<Step> {
        self.next_settled(|_| ())
    }

    /// The next older frame; `settle` is given its closure before anything is read of that. In a
    /// collection the closure may have been moved on behalf of another frame, perhaps another thread's:
    /// then only its new place tells the code.
    pub(crate) fn next_settled(&mut self, settle: impl FnOnce(&mut Value)) -> Option<Step> {
        if let Next::Inside { fp, .. } | Next::At { fp, .. } = self.next {
            // SAFETY: a live frame has its link words.
            settle(unsafe { &mut *fp.offset(frame::CLOSURE as isize) });
        }
        let (fp, pc, live) = match self.next {
            Next::Done => return None,
            Next::Inside { fp, pc, arguments } => (fp, pc, self.live_inside(fp, pc, arguments)),
            Next::At { fp, pc, base } => {
                let live = match self.liveness {
                    Some(_) => live_after_call(fp, pc, base),
                    None => Live::First(0),
                };
                (fp, bytecode_of(pc), live)
            }
        };
        // SAFETY: a live frame has its link words.
        let mut return_pc = unsafe { (*fp.offset(frame::RETURN_PC as isize)).bits() as *const u32 };
        if return_pc == self.stubs.barrier {
            debug_assert_eq!(fp, self.watermark_fp);
            return_pc = self.watermark_pc;
        }
        let is_trap = matches!(self.next, Next::At { pc, .. } if pc == self.stubs.trap);
        let mut may_hold_barrier = false;
        self.next = if is_trap {
            // R0 is the distance to the interrupted frame; the return address is where it resumes.
            // SAFETY: trap frames are built by the machine and hold the distance as a fixnum.
            let distance = unsafe { (*fp).as_fixnum() }.unwrap_or(0) as usize;
            // SAFETY: the interrupted frame lies so many words below.
            let fp = unsafe { fp.sub(distance) };
            // It resumes at the start of the instruction, whose first word counts as read.
            // SAFETY: an instruction is at least one word long.
            let pc = unsafe { return_pc.add(1) };
            Next::Inside {
                fp,
                pc,
                arguments: 0,
            }
        } else if return_pc == self.stubs.exit || return_pc == self.stubs.underflow {
            Next::Done
        } else {
            // SAFETY: a return address lies behind a call instruction and its live map.
            let base = unsafe { *return_pc.cast::<u8>().sub(7) } as usize;
            // SAFETY: the caller's frame begins that far below the callee's link.
            let caller = unsafe { fp.sub(base + frame::LINK_WORDS) };
            // Compiled code does not return through the links of frames that it inlined.
            may_hold_barrier = return_pc != self.stubs.trap && !is_retired(return_pc);
            Next::At {
                fp: caller,
                pc: return_pc,
                base,
            }
        };
        debug_assert!(fp >= self.base);
        Some(Step {
            fp,
            return_pc,
            pc,
            live,
            may_hold_barrier,
            is_trap,
        })
    }

    fn live_inside(&self, fp: *mut Value, pc: *const u32, arguments: usize) -> Live {
        let Some(liveness) = &self.liveness else {
            return Live::First(0);
        };
        // SAFETY: the frame is live, so its closure is.
        let closure = unsafe { Thread::closure_of(fp) };
        CodeRef::of_closure(closure)
            .map_or(Live::First(0), |code| code.live_at(pc, arguments, liveness))
    }
}

fn live_after_call(fp: *mut Value, return_pc: *const u32, base: usize) -> Live {
    // SAFETY: the live map is the word before the return address.
    let map = unsafe { *return_pc.sub(1) };
    if map & frame::WIDE_MAP == 0 {
        return Live::Narrow(map);
    }
    // SAFETY: the frame is live, so its closure is.
    let closure = unsafe { Thread::closure_of(fp) };
    CodeRef::of_closure(closure)
        .and_then(|code| decode_live_map(map, base, code.wide_maps()))
        .map_or(Live::First(base), Live::Set)
}

/// A place in a source; lines and columns, in characters, count from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file as the user named it.
    pub file: String,
    /// Line of the first character.
    pub line: u32,
    /// Column of the first character.
    pub column: u32,
    /// Line of the character behind the last one.
    pub end_line: u32,
    /// Column of the character behind the last one.
    pub end_column: u32,
}

impl Position {
    /// The place of a span in a unit with these sources.
    pub fn of(sources: &[SourceFile], span: UnitSpan) -> Option<Position> {
        let source = sources.get(span.source as usize)?;
        let (line, column) = source.line_and_column(span.start)?;
        let (end_line, end_column) = source.line_and_column(span.end)?;
        Some(Position {
            file: source.name.clone(),
            line,
            column,
            end_line,
            end_column,
        })
    }

    /// The text there, on one line and at most so many characters of it; `source` is that of the file.
    pub fn text_in(&self, source: &str, characters_max: usize) -> String {
        let line = source.lines().nth(self.line as usize - 1);
        let own = line
            .unwrap_or_default()
            .chars()
            .skip(self.column as usize - 1);
        let is_whole = self.end_line == self.line;
        let length = if is_whole {
            self.end_column.saturating_sub(self.column) as usize
        } else {
            usize::MAX
        };
        let text: String = own.take(length.min(characters_max)).collect();
        let is_cut = !is_whole || length > characters_max;
        format!("{}{}", text.trim_end(), if is_cut { "…" } else { "" })
    }
}

/// A frame for people to read. A procedure that was inlined has one too, though the stack has none.
#[derive(Clone, Debug)]
pub struct FrameDescription {
    /// The procedure's name.
    pub name: Option<String>,
    /// Where it stands.
    pub position: Option<Position>,
    /// Whether the procedure belongs to the standard library.
    pub is_library: bool,
    /// Whether it is the body of a program or of a form at the prompt.
    pub is_program: bool,
    /// The code of a function of a guest.
    pub listing: Option<Listing>,
    /// The name is that of the procedure around it: the library made this one, by inlining.
    pub is_stand_in: bool,
    /// The unit's number of the copy, for a procedure that was inlined.
    pub(crate) copy: Option<u32>,
    /// Procedures between this one and the one of the next older frame that ended with a tail call, the
    /// last one first, as far as they are known.
    pub tail_callers: Vec<TailCaller>,
    /// Variables with values that are still there, as text; only if that was asked for.
    pub values: Vec<(String, String)>,
}

/// A procedure that ended with a tail call and so has no frame.
#[derive(Clone, Debug)]
pub struct TailCaller {
    /// Its name.
    pub name: Option<String>,
    /// Where the tail call stands.
    pub position: Option<Position>,
    /// Whether the procedure belongs to the standard library.
    pub is_library: bool,
    /// Whether the code leaves no other way.
    pub is_certain: bool,
}

/// The frame that was described last: its code, and where its description is.
#[derive(Clone, Copy)]
pub(crate) struct Newer {
    code: CodeRef,
    index: usize,
}

impl Thread {
    /// Describes the newest `count_max` frames, newest first. A procedure that still checks its
    /// arguments has not begun and has no frame.
    pub fn describe_frames(&self, count_max: usize) -> Vec<FrameDescription> {
        self.describe(count_max, false)
    }

    /// The same with the tail calls between the frames, which takes a search through the code.
    pub fn describe_frames_and_tail_calls(&self, count_max: usize) -> Vec<FrameDescription> {
        self.describe(count_max, true)
    }

    fn describe(&self, count_max: usize, with_tail_calls: bool) -> Vec<FrameDescription> {
        let mut frames = Vec::new();
        let mut newer = None;
        let mut walk = FrameWalk::without_liveness(self);
        while let Some(step) = walk.next() {
            if frames.len() >= count_max {
                break;
            }
            if step.is_trap {
                // The machine made the call.
                newer = None;
                continue;
            }
            // SAFETY: the frame is live.
            let closure = unsafe { Thread::closure_of(step.fp) };
            self.describe_frame(closure, step.pc, with_tail_calls, &mut newer, &mut frames);
        }
        self.each_sealed_frame(self.sealed, &mut |closure, pc, _| {
            if frames.len() < count_max {
                self.describe_frame(closure, pc, with_tail_calls, &mut newer, &mut frames);
            }
            frames.len() < count_max
        });
        frames.truncate(count_max);
        hide_stand_ins(&mut frames);
        frames
    }

    /// Describes the newest frames of a continuation, as [`Thread::describe_frames`] does; `None` if it
    /// is something else.
    pub fn describe_frames_of(
        &self,
        continuation: Value,
        count_max: usize,
    ) -> Option<Vec<FrameDescription>> {
        let sealed = self.sealed_of(continuation)?;
        let (mut frames, mut newer) = (Vec::new(), None);
        self.each_sealed_frame(sealed, &mut |closure, pc, _| {
            self.describe_frame(closure, pc, false, &mut newer, &mut frames);
            frames.len() < count_max
        });
        frames.truncate(count_max);
        hide_stand_ins(&mut frames);
        Some(frames)
    }

    pub(crate) fn describe_frame(
        &self,
        closure: Value,
        pc: *const u32,
        with_tail_calls: bool,
        newer: &mut Option<Newer>,
        frames: &mut Vec<FrameDescription>,
    ) {
        let Some(code) = CodeRef::of_closure(closure) else {
            *newer = None;
            return;
        };
        if with_tail_calls
            && let Some(newer) = newer.take()
            && let Some(frame) = frames.get_mut(newer.index)
        {
            frame.tail_callers = self.tail_callers(closure, pc, newer.code);
        }
        if code.is_entry(pc) {
            return;
        }
        self.describe_code(code, pc, self.vm.procedure_name(closure), frames);
        // The last one is the procedure's own, behind those inlined in it.
        let index = frames.len().checked_sub(1);
        *newer = index.map(|index| Newer { code, index });
    }
}

/// Hides stand-ins for procedures that have a frame of their own as well.
pub(crate) fn hide_stand_ins(frames: &mut [FrameDescription]) {
    for index in 0..frames.len() {
        let (newer, older) = frames.split_at_mut(index + 1);
        let frame = &mut newer[index];
        frame.is_library |= frame.is_stand_in
            && older
                .iter()
                .any(|other| !other.is_library && other.name == frame.name);
    }
}
