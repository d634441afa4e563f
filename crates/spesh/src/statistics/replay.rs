//! Replay of a log on the simulated stack of the thread that wrote it.
//!
//! Each entry names the frame that wrote it by its position on the thread's stack, so the simulated
//! stack holds the frames that the thread had: an entry removes the frames above its own, whether they
//! returned unseen, escaped or raised an error. A frame whose call was not logged, because logging
//! began later, compiled code called, or a continuation brought it back, is added by its first entry.
//! It belongs to no callsite. Sizes are bounded by the constants here.

use std::collections::hash_map::Entry;

use canny_tables::layout::log::ARGUMENTS_MAX;
use canny_tables::opcodes::Opcode;

use super::{
    CALLEES_MAX, CLASSES_MAX, CallsiteStatistics, CodeStatistics, Histogram, Sites, Statistics,
    TUPLES_MAX, TupleStatistics, VERSIONS_MAX, extent_of,
};
use crate::log::{Event, TypeTuple, events};
use crate::snapshot::{CodeSource, CodeWord};
use crate::types::Type;

/// Frames of a simulated stack; of older ones only the position is known.
const FRAMES_MAX: usize = 1 << 16;
/// Positions of older frames; their older half is forgotten when there are more.
const POSITIONS_MAX: usize = 1 << 20;
/// [`Frame::birth`] of a frame whose call was not logged.
const NO_BIRTH: u32 = u32::MAX;
/// Iterations whose types are all counted.
const SAMPLED_WHOLE: u32 = 512;
/// Different types that are counted apart: those of single words, and some record types.
const TYPES_MAX: usize = 24 + CLASSES_MAX;

/// A log to be replayed.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// Names the thread that wrote it.
    pub thread: u32,
    /// The thread wrote everything since its last log: its simulated stack still holds.
    pub is_continued: bool,
    /// The entries.
    pub words: &'a [u64],
}

/// A simulated frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    code: CodeWord,
    /// Where the frame lies; greater than that of each frame below.
    position: u64,
    /// Address in the caller at which it continues; zero if not known.
    return_address: u64,
    callsite: u32,
    /// Index of the type tuple; there is none for a callsite with too many.
    tuple: Option<u32>,
    /// Of the statistics to which the indices belong; [`NO_BIRTH`] if the call was not logged.
    birth: u32,
}

/// The simulated stack of a thread.
#[derive(Debug, Default)]
pub(super) struct Stack {
    frames: Vec<Frame>,
    /// Positions of the frames below.
    older: Vec<u64>,
    /// The last entry was a call, of bytecode, that entered the newest frame.
    was_called: bool,
}

impl Stack {
    /// How many frames there are.
    pub(super) fn depth(&self) -> u32 {
        (self.older.len() + self.frames.len()) as u32
    }

    /// Removes the frames for which a position is too low.
    fn remove_where(&mut self, is_gone: impl Fn(u64) -> bool) {
        while self.frames.pop_if(|top| is_gone(top.position)).is_some() {}
        while self.frames.is_empty() && self.older.pop_if(|top| is_gone(*top)).is_some() {}
    }

    /// Removes the frame at a position and those above; gives that frame.
    fn remove_from(&mut self, position: u64) -> Option<Frame> {
        self.remove_where(|there| there > position);
        let frame = self.frames.pop_if(|top| top.position == position);
        self.remove_where(|there| there >= position);
        frame
    }

    fn push(&mut self, frame: Frame) {
        if self.frames.len() == FRAMES_MAX {
            let old = self.frames.drain(..FRAMES_MAX / 2);
            self.older.extend(old.map(|frame| frame.position));
            if self.older.len() > POSITIONS_MAX {
                self.older.drain(..POSITIONS_MAX / 2);
            }
        }
        self.frames.push(frame);
    }

    /// The frame of a code at a position, which becomes the newest.
    fn frame_at(&mut self, code: CodeWord, position: u64) -> Frame {
        self.remove_where(|there| there > position);
        match self.frames.last() {
            Some(top) if top.position == position && top.code == code => *top,
            _ => {
                self.remove_from(position);
                let frame = Frame {
                    code,
                    position,
                    return_address: 0,
                    callsite: 0,
                    tuple: None,
                    birth: NO_BIRTH,
                };
                self.push(frame);
                frame
            }
        }
    }

    /// The code of the frame at a position, if it is known.
    fn code_at(&mut self, position: u64) -> Option<CodeWord> {
        self.remove_where(|there| there > position);
        let top = self.frames.last()?;
        (top.position == position).then_some(top.code)
    }

    fn is_newest(&self, code: CodeWord, position: u64) -> bool {
        let top = self.frames.last();
        top.is_some_and(|top| top.code == code && top.position == position)
    }

    /// The newest frame, if it is one of a code.
    fn newest_of(&self, code: CodeWord) -> Option<Frame> {
        let top = self.frames.last()?;
        (top.code == code).then_some(*top)
    }

    /// Forgets the frames of a code, whose address may belong to another one.
    pub(super) fn forget(&mut self, code: CodeWord) {
        self.frames.retain(|frame| frame.code != code);
    }
}

/// Bytes of a call instruction.
fn call_bytes() -> u64 {
    4 * Opcode::Call.words() as u64
}

impl Statistics {
    pub(super) fn replay(&mut self, log: Log, source: &dyn CodeSource) {
        let mut stack = self.stacks.remove(&log.thread).unwrap_or_default();
        if !log.is_continued {
            stack = Stack::default();
        }
        for event in events(log.words) {
            self.take(event, &mut stack, source);
        }
        self.stacks.insert(log.thread, stack);
    }

    /// Takes one event in; nothing if the call that it belongs to is not known.
    fn take(&mut self, event: Event, stack: &mut Stack, source: &dyn CodeSource) -> Option<()> {
        let was_called = std::mem::take(&mut stack.was_called);
        match event {
            Event::Enter {
                call,
                callee,
                arguments,
                position,
                caller,
                is_tail,
            } => {
                match caller {
                    Some(caller) => {
                        self.count_callee(call, caller, callee, arguments, stack);
                    }
                    // No compiled version of the callee took the call, and passed it on.
                    None if was_called && stack.is_newest(callee, position) => return Some(()),
                    None => {}
                }
                // A tail call takes the place of its frame.
                let replaced = stack.remove_from(position);
                let return_address = if is_tail {
                    replaced.map_or(0, |frame| frame.return_address)
                } else {
                    caller.map_or(0, |_| call + call_bytes())
                };
                self.enter(callee, arguments, (position, return_address), stack, source);
                stack.was_called = caller.is_some();
            }
            Event::Return {
                address,
                position,
                ty,
                ..
            } => {
                let left = stack.remove_from(position);
                let call = address.wrapping_sub(call_bytes());
                let caller = match self.owner(call) {
                    Some(code) => code,
                    None => {
                        left.filter(|frame| frame.return_address == address)?;
                        stack.frames.last()?.code
                    }
                };
                let frame = stack.newest_of(caller);
                let sites = self.codes.get_mut(&caller)?.sites_of(frame)?;
                add_type(&mut sites.entry(call).or_default().types, ty);
            }
            Event::Loop {
                address,
                code,
                position,
                registers,
            } => {
                let frame = stack.frame_at(code, position);
                let statistics = self.update(code, source);
                statistics.loop_hits += 1;
                let site = statistics.loops.entry(address).or_default();
                site.hits += 1;
                if is_sampled(site.hits) {
                    for (histogram, ty) in site.registers.iter_mut().zip(registers.types()) {
                        histogram.add(ty, TYPES_MAX);
                    }
                }
                if frame.birth == statistics.birth {
                    let callsite = statistics.callsites.get_mut(frame.callsite as usize)?;
                    callsite.loop_hits += 1;
                    if let Some(tuple) = frame.tuple {
                        callsite.tuples.get_mut(tuple as usize)?.loop_hits += 1;
                    }
                }
            }
            Event::Result {
                address,
                code,
                position,
                ty,
            } => {
                let frame = stack.frame_at(code, position);
                let sites = self.update(code, source).sites_of(Some(frame))?;
                add_type(&mut sites.entry(address).or_default().types, ty);
            }
        }
        Some(())
    }

    /// Counts whom a call instruction entered, and with what, in the frame of its caller.
    fn count_callee(
        &mut self,
        call: u64,
        caller: u64,
        callee: CodeWord,
        arguments: TypeTuple,
        stack: &mut Stack,
    ) -> Option<()> {
        let code = match self.owner(call) {
            Some(code) => code,
            None => stack.code_at(caller)?,
        };
        let frame = stack.frame_at(code, caller);
        let sites = self.codes.get_mut(&code)?.sites_of(Some(frame))?;
        let site = sites.entry(call).or_default();
        site.callees.add(callee, CALLEES_MAX);
        site.arguments.add(arguments, CALLEES_MAX);
        Some(())
    }

    fn enter(
        &mut self,
        callee: CodeWord,
        arguments: TypeTuple,
        (position, return_address): (u64, u64),
        stack: &mut Stack,
        source: &dyn CodeSource,
    ) {
        let depth = stack.depth() + 1;
        let statistics = self.update(callee, source);
        statistics.hits += 1;
        statistics.depth_max = statistics.depth_max.max(depth);
        let (callsite, tuple) = statistics.count_call(arguments, depth);
        let birth = statistics.birth;
        stack.push(Frame {
            code: callee,
            position,
            return_address,
            callsite,
            tuple,
            birth,
        });
    }

    /// The statistics of a code that was seen just now.
    fn update(&mut self, code: CodeWord, source: &dyn CodeSource) -> &mut CodeStatistics {
        let version = self.version;
        self.events += 1;
        let statistics = match self.codes.entry(code) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let statistics = place.insert(CodeStatistics::new(version));
                if let Some(snapshot) = source.snapshot(code) {
                    let (start, end) = extent_of(&snapshot);
                    statistics.extent = Some((start, end));
                    self.extents.insert(start, (end, code));
                    self.owners.clear();
                }
                statistics
            }
        };
        if statistics.version + VERSIONS_MAX < version {
            statistics.fade();
        }
        statistics.version = version;
        statistics.events += 1;
        statistics
    }
}

/// Counts a type; a record type only if there are few others.
fn add_type(types: &mut Histogram<Type>, ty: Type) {
    let has_class = |ty: Type| ty.record_class().is_some();
    let is_rare = has_class(ty) && !types.iter().any(|(known, _)| *known == ty) && {
        let classes = types.iter().filter(|(known, _)| has_class(*known));
        classes.count() >= CLASSES_MAX
    };
    types.add(if is_rare { ty.any_record() } else { ty }, TYPES_MAX);
}

/// Whether the types of a loop's registers are counted that went back so many times: of many, each
/// fourth tells enough.
fn is_sampled(hits: u32) -> bool {
    hits <= SAMPLED_WHOLE || hits.is_multiple_of(4)
}

impl CodeStatistics {
    /// Where what happens in a frame of the code is counted.
    fn sites_of(&mut self, frame: Option<Frame>) -> Option<&mut Sites> {
        let Some(frame) = frame.filter(|frame| frame.birth == self.birth) else {
            return Some(&mut self.sites);
        };
        let callsite = self.callsites.get_mut(frame.callsite as usize)?;
        match frame.tuple {
            Some(tuple) => Some(&mut callsite.tuples.get_mut(tuple as usize)?.sites),
            None => Some(&mut self.sites),
        }
    }

    /// Counts a call; gives the indices of its callsite and type tuple.
    fn count_call(&mut self, arguments: TypeTuple, depth: u32) -> (u32, Option<u32>) {
        let count = arguments.argument_count() as u8;
        let index = self
            .callsites
            .iter()
            .position(|callsite| callsite.argument_count == count)
            .unwrap_or_else(|| {
                self.callsites.push(CallsiteStatistics::new(count));
                self.callsites.len() - 1
            });
        let callsite = &mut self.callsites[index];
        callsite.hits += 1;
        callsite.depth_max = callsite.depth_max.max(depth);
        for (histogram, ty) in callsite.positions.iter_mut().zip(arguments.types()) {
            add_type(histogram, *ty);
        }
        let arguments = callsite.counted_apart(arguments);
        let known = callsite
            .tuples
            .iter()
            .position(|tuple| tuple.types == arguments);
        let tuple = known.or_else(|| {
            (callsite.tuples.len() < TUPLES_MAX).then(|| {
                callsite.tuples.push(TupleStatistics {
                    types: arguments,
                    hits: 0,
                    loop_hits: 0,
                    depth_max: 0,
                    sites: Sites::default(),
                });
                callsite.tuples.len() - 1
            })
        });
        if let Some(tuple) = tuple {
            let tuple = &mut callsite.tuples[tuple];
            tuple.hits += 1;
            tuple.depth_max = tuple.depth_max.max(depth);
        }
        (index as u32, tuple.map(|tuple| tuple as u32))
    }
}

impl CallsiteStatistics {
    pub(super) fn new(argument_count: u8) -> CallsiteStatistics {
        CallsiteStatistics {
            argument_count,
            hits: 0,
            loop_hits: 0,
            depth_max: 0,
            positions: [const { Histogram::empty() }; ARGUMENTS_MAX],
            tuples: Vec::new(),
        }
    }

    /// The tuple by which a call is counted: without record types if there are many others with such.
    fn counted_apart(&self, arguments: TypeTuple) -> TypeTuple {
        let has_class = |tuple: &TypeTuple| {
            let mut types = tuple.types().iter();
            types.any(|ty| ty.record_class().is_some())
        };
        if !has_class(&arguments) || self.tuples.iter().any(|it| it.types == arguments) {
            return arguments;
        }
        let others = self.tuples.iter().filter(|it| has_class(&it.types));
        if others.count() < CLASSES_MAX {
            arguments
        } else {
            arguments.without_classes()
        }
    }
}
