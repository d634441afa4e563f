//! Counting the places that a program passes, so that it can be brought to one of them again.
//!
//! A program that is replayed in the interpreter passes the same places in the same order. A place is
//! named by how many were passed since a point that everybody finds again, such as the first safepoint
//! after an answer of the recording. To go backwards, a debugger runs the program anew and looks, up to
//! the place where it was, for the last place of the wanted kind.
//!
//! | state | written by | read by |
//! |---|---|---|
//! | `Counting` of a thread | this thread | the same |
//! | `CountOrder` in the debugger | whoever gives the answers | the thread, at its next safepoint |

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::TaskKey;
use super::places::Places;
use crate::code::CodeRef;
use crate::thread::Thread;

/// The kind of place to which somebody goes back: where another line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// Of this task, in any procedure.
    In(TaskKey),
    /// Of this task, in a frame of this depth or an older one.
    Over(TaskKey, usize),
    /// Of this task, in a frame that is older than one of this depth.
    Out(TaskKey, usize),
}

/// An order to a thread that counts, or shall count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountOrder {
    /// It begins to count, stops at the place with this number, and looks for places meanwhile.
    Begin(Option<u64>, Option<Back>),
    /// It stops after so many more places.
    StopAfter(u64),
}

/// A thread's count.
pub(super) struct Counting {
    count: u64,
    until: Option<u64>,
    back: Option<Back>,
    found: Option<u64>,
    /// The one that was found before that.
    found_before: Option<u64>,
    /// Depth, source and line of the place at which each task was last.
    last: HashMap<TaskKey, (usize, u32, u32)>,
    places: HashMap<u64, Arc<Places>>,
}

impl Counting {
    /// The present place is of the kind that is looked for.
    fn find(&mut self) {
        if self.found != Some(self.count) {
            self.found_before = self.found;
            self.found = Some(self.count);
        }
    }
}

/// A count as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Places that were passed, the present one included.
    pub count: u64,
    /// The number of the last place of the kind that was looked for, before the present one.
    pub found: Option<u64>,
    /// The same, where the present one counts too: at the end of the program it is behind.
    pub last: Option<u64>,
    /// The place at which the thread was to stop.
    pub is_end: bool,
}

impl Thread {
    /// Carries an order out.
    pub fn count_places(&mut self, order: CountOrder) {
        match order {
            CountOrder::Begin(until, back) => {
                self.vm.debugger.turn_on();
                self.debug.counting = Some(Box::new(Counting {
                    count: 0,
                    until,
                    back,
                    found: None,
                    found_before: None,
                    last: HashMap::new(),
                    places: HashMap::new(),
                }));
                self.discard_log();
                self.use_table(self.specializer.log.table());
            }
            CountOrder::StopAfter(places) => {
                if let Some(counting) = &mut self.debug.counting {
                    counting.until = Some(counting.count + places);
                }
            }
        }
    }

    /// Counts no longer.
    pub fn end_count(&mut self) {
        if self.debug.counting.take().is_some() {
            self.discard_log();
            self.use_table(self.specializer.log.table());
        }
    }

    /// The count, if this thread counts.
    pub fn counted(&self) -> Option<Counted> {
        let counting = self.debug.counting.as_ref()?;
        Some(Counted {
            count: counting.count,
            found: counting
                .found
                .filter(|found| *found < counting.count)
                .or(counting.found_before),
            last: counting.found,
            is_end: counting.until == Some(counting.count),
        })
    }

    /// Keeps the present place as the one that was looked for.
    pub fn find_counted(&mut self) {
        if let Some(counting) = &mut self.debug.counting {
            counting.find();
        }
    }

    /// At a safepoint: what was asked of this thread.
    pub(super) fn take_count_orders(&mut self) {
        let orders = std::mem::take(&mut self.vm.debugger.lock().count_orders);
        for order in orders {
            self.count_places(order);
        }
    }

    /// Counts the place of an instruction, if it is one. Whether the thread stops there.
    pub(super) fn count_place(&mut self, at: *const u32) -> bool {
        // The debugger's own calls are no part of the program.
        if self.debug.counting.is_none() || self.vm.debugger.calls.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if !self.is_in_program() || self.is_critical() {
            return false;
        }
        // SAFETY: an instruction is executed in a frame whose closure is alive.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) });
        let (Some(code), Some(mut counting)) = (code, self.debug.counting.take()) else {
            return false;
        };
        let places = counting.places.entry(code.word()).or_insert_with(|| {
            let metadata = self.vm.metadata(code);
            let places = metadata.map(|(unit, index)| Places::of(&unit, index, code));
            Arc::new(places.unwrap_or_default())
        });
        // SAFETY: the instruction is one of the frame's code.
        let index = unsafe { at.offset_from(code.start()) } as u32;
        let mut stops = false;
        if let Some(place) = places.by_index.get(&index).copied() {
            counting.count += 1;
            stops = counting.until == Some(counting.count);
            let (task, depth) = (self.task_key(), self.depth());
            let here = (depth, place.span.source, place.line);
            let is_line = counting.last.insert(task, here) != Some(here);
            let is_wanted = match counting.back {
                None => false,
                Some(Back::In(of)) => task == of,
                Some(Back::Over(of, limit)) => task == of && depth <= limit,
                Some(Back::Out(of, limit)) => task == of && depth < limit,
            };
            if is_line && is_wanted && !stops {
                counting.find();
            }
        }
        self.debug.counting = Some(counting);
        stops
    }
}

impl super::Debugger {
    /// Gives an order to the thread that comes to a safepoint next.
    pub fn order_count(&self, order: CountOrder) {
        self.turn_on();
        self.lock().count_orders.push(order);
        self.ask_threads();
    }
}
