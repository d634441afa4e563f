//! Replay of a log on the simulated stack of the thread that wrote it.
//!
//! Entries of a log carry no caller. The replay keeps a stack of frames for each thread and
//! attributes each entry to the frame that its return address fits, so that types and callees are
//! counted by callsite and type tuple. A thread may lose entries: then the stack is searched near
//! its top, and an event that no frame fits is not attributed. Sizes are bounded by the constants
//! here; statistics are approximate, and nothing but performance depends on them.

use std::collections::hash_map::Entry;

use canny_tables::layout::log::ARGUMENTS_MAX;
use canny_tables::opcodes::Opcode;

use super::{
    CALLEES_MAX, CallsiteStatistics, CodeStatistics, SiteStatistics, Sites, Statistics, TUPLES_MAX,
    TupleStatistics, VERSIONS_MAX, extent_of,
};
use crate::log::{Event, TypeTuple, events};
use crate::snapshot::{CodeSource, CodeWord};

/// Frames of a simulated stack; the older half goes when there are more.
const FRAMES_MAX: usize = 1 << 16;
/// Frames at the top among which one is looked for that fits an event.
const SEARCHED_FRAMES: usize = 32;
/// Iterations whose types are all counted.
const SAMPLED_WHOLE: u32 = 512;
/// Different types that are counted apart: more than there are.
const TYPES_MAX: usize = 32;

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
pub(super) struct Frame {
    pub(super) code: CodeWord,
    /// Address in the caller at which it continues.
    return_address: u64,
    callsite: u32,
    /// Index of the type tuple; there is none for a callsite with too many.
    tuple: Option<u32>,
    /// Of the statistics to which the indices belong.
    birth: u32,
}

/// Bytes of a call instruction.
fn call_bytes() -> u64 {
    4 * Opcode::Call.words() as u64
}

impl Statistics {
    pub(super) fn replay(&mut self, log: Log, source: &dyn CodeSource) {
        let mut stack = self.stacks.remove(&log.thread).unwrap_or_default();
        if !log.is_continued {
            stack.clear();
        }
        for event in events(log.words) {
            self.take(event, &mut stack, source);
            if stack.len() > FRAMES_MAX {
                stack.drain(..FRAMES_MAX / 2);
            }
        }
        self.stacks.insert(log.thread, stack);
    }

    /// Takes one event in; nothing if what it belongs to is not known.
    fn take(
        &mut self,
        event: Event,
        stack: &mut Vec<Frame>,
        source: &dyn CodeSource,
    ) -> Option<()> {
        match event {
            Event::Enter {
                call,
                callee,
                arguments,
                is_tail,
            } => {
                self.enter(call, callee, arguments, is_tail, stack, source);
            }
            Event::Return { address, ty, .. } => {
                let call = address.wrapping_sub(call_bytes());
                if let Some(at) = find(stack, |frame| frame.return_address == address) {
                    stack.truncate(at);
                } else if self.owner(call).is_none() {
                    return None;
                }
                if let Some(site) = self.site_of_caller(call, stack) {
                    site.types.add(ty, TYPES_MAX);
                }
            }
            Event::Loop {
                address,
                code,
                registers,
            } => {
                let place = settle(stack, code).copied();
                let statistics = self.update(code, source);
                statistics.loop_hits += 1;
                let site = statistics.loops.entry(address).or_default();
                site.hits += 1;
                if is_sampled(site.hits) {
                    for (histogram, ty) in site.registers.iter_mut().zip(registers.types()) {
                        histogram.add(ty, TYPES_MAX);
                    }
                }
                if let Some(frame) = place.filter(|frame| frame.birth == statistics.birth) {
                    let callsite = statistics.callsites.get_mut(frame.callsite as usize)?;
                    callsite.loop_hits += 1;
                    if let Some(tuple) = frame.tuple {
                        callsite.tuples.get_mut(tuple as usize)?.loop_hits += 1;
                    }
                }
            }
            Event::Result { address, code, ty } => {
                let place = settle(stack, code).copied();
                let sites = self.update(code, source).sites_of(place)?;
                sites.entry(address).or_default().types.add(ty, TYPES_MAX);
            }
        }
        Some(())
    }

    fn enter(
        &mut self,
        call: u64,
        callee: CodeWord,
        arguments: TypeTuple,
        is_tail: bool,
        stack: &mut Vec<Frame>,
        source: &dyn CodeSource,
    ) {
        // Compiled code does not tell where it calls from, nor what became of the frames above its own.
        if call != 0
            && let Some(site) = self.site_of_caller(call, stack)
        {
            site.callees.add(callee, CALLEES_MAX);
            site.arguments.add(arguments, CALLEES_MAX);
        }
        let return_address = if is_tail {
            stack.pop().map_or(0, |frame| frame.return_address)
        } else if call == 0 {
            0
        } else {
            call + call_bytes()
        };
        let depth = stack.len() as u32 + 1;
        let statistics = self.update(callee, source);
        statistics.hits += 1;
        statistics.depth_max = statistics.depth_max.max(depth);
        let (callsite, tuple) = statistics.count_call(arguments, depth);
        let birth = statistics.birth;
        stack.push(Frame {
            code: callee,
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

    /// The site of a call instruction in its caller, whose frame becomes the top of the stack if it is there.
    fn site_of_caller(&mut self, call: u64, stack: &mut Vec<Frame>) -> Option<&mut SiteStatistics> {
        let caller = match self.owner(call) {
            Some(code) => code,
            None => stack.last()?.code,
        };
        let place = settle(stack, caller).copied();
        let sites = self.codes.get_mut(&caller)?.sites_of(place)?;
        Some(sites.entry(call).or_default())
    }
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
            histogram.add(*ty, TYPES_MAX);
        }
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
    fn new(argument_count: u8) -> CallsiteStatistics {
        CallsiteStatistics {
            argument_count,
            hits: 0,
            loop_hits: 0,
            depth_max: 0,
            positions: [const { super::Histogram::empty() }; ARGUMENTS_MAX],
            tuples: Vec::new(),
        }
    }
}

/// Index of the newest frame that fits, if it is not far down.
fn find(stack: &[Frame], fits: impl Fn(&Frame) -> bool) -> Option<usize> {
    let lowest = stack.len().saturating_sub(SEARCHED_FRAMES);
    (lowest..stack.len()).rev().find(|at| fits(&stack[*at]))
}

/// Makes the newest frame of the code the top of the stack, if it is not far down: those above returned
/// without being logged.
fn settle(stack: &mut Vec<Frame>, code: CodeWord) -> Option<&Frame> {
    let at = find(stack, |frame| frame.code == code)?;
    stack.truncate(at + 1);
    stack.last()
}
