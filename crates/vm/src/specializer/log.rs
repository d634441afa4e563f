//! The logs that threads write for the specializer, and when they write.
//!
//! A thread that logs has the logging handlers in its dispatch table and a buffer that its block's
//! cursor and limit delimit. A full buffer goes to the worker and costs one of the thread's quota;
//! without quota left the plain handlers come back and nothing is logged. The worker gives quota back
//! when it is done with a buffer, later and later while logs lead to nothing new.
//!
//! | [`LogQuota`] field | changed by |
//! |---|---|
//! | `left`, `max`, `free` | the thread when it hands a buffer over or takes one; the worker when it gives one back |
//! | `turn` | worker and thread in turns, when the thread waits for the worker |
//!
//! A thread begins to log when it begins to run something that is not of the standard library, with a
//! quota of one and a short first log, after which it rests: a short program is hardly slowed. Quota
//! grows while logs lead to plans. Programs and forms typed at a prompt, which may hold the hottest
//! loop and are entered once, get an extra buffer when they begin, [`BONUS_MAX`] times at most.
//!
//! The log holds code words that nothing keeps alive, so a full collection empties it. A buffer at the
//! worker may name dead code: the worker only compares such words.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use canny_llint::DispatchTable;
use canny_locks::{Condvar, Mutex};
use canny_spesh::log::BUFFER_WORDS;
use canny_tables::layout::log::ENTRY_WORDS_MAX;
use canny_tables::opcodes::Opcode;

use super::ledger::{Began, PauseCause};
use super::worker::FullLog;
use crate::thread::Thread;
use crate::thread::interrupt::{InterruptState, LOG};

/// Buffers that the first thread may have on their way to the worker.
const QUOTA_MAX_MAIN: u32 = 3;
/// The same for other threads.
const QUOTA_MAX_OTHERS: u32 = 2;
/// Extra buffers for programs that begin.
const BONUS_MAX: u32 = 5;
/// Words of a thread's first log, enough to find what is hot.
const FIRST_WORDS: usize = BUFFER_WORDS / 8;

/// Cursor and limit of a log that takes nothing.
const NO_CURSOR: usize = 1;
const NO_LIMIT: usize = 0;

/// The party that acts next while a thread waits for the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The worker has not finished.
    Worker,
    /// The worker wants the snapshots that it wished for.
    Snapshots,
    /// The worker is done with the log.
    Done,
}

/// State of a thread's log that the thread and the worker share.
pub(super) struct LogQuota {
    /// Names the thread.
    pub(super) thread: u32,
    interrupts: Arc<InterruptState>,
    quota: Mutex<Quota>,
    turn: Mutex<Turn>,
    turn_changed: Condvar,
}

struct Quota {
    left: u32,
    max: u32,
    /// Buffers to be written again.
    free: Vec<Vec<u64>>,
    /// The thread has no buffer for want of quota.
    is_waiting: bool,
}

impl LogQuota {
    pub(super) fn new(thread: u32, interrupts: Arc<InterruptState>) -> LogQuota {
        LogQuota {
            thread,
            interrupts,
            quota: Mutex::new(Quota {
                left: 1,
                max: 1,
                free: Vec::new(),
                is_waiting: false,
            }),
            turn: Mutex::new(Turn::Worker),
            turn_changed: Condvar::new(),
        }
    }

    /// An empty buffer if the quota allows one.
    pub(super) fn take(&self) -> Option<Vec<u64>> {
        let mut quota = self.quota.lock();
        if quota.left == 0 {
            quota.is_waiting = true;
            return None;
        }
        quota.is_waiting = false;
        Some(quota.free.pop().unwrap_or_else(|| vec![0; BUFFER_WORDS]))
    }

    pub(super) fn spend(&self) {
        let mut quota = self.quota.lock();
        quota.left = quota.left.saturating_sub(1);
    }

    fn grant_bonus(&self) {
        self.quota.lock().left += 1;
    }

    /// The worker is done with a buffer; `was_useful` lets the thread have more of them at a time.
    pub(super) fn give_back(&self, buffer: Vec<u64>, was_useful: bool) {
        let wakes = {
            let mut quota = self.quota.lock();
            let most = if self.thread == 0 {
                QUOTA_MAX_MAIN
            } else {
                QUOTA_MAX_OTHERS
            };
            if was_useful && quota.max < most {
                quota.max += 1;
                quota.left += 1;
            }
            if quota.left < quota.max {
                quota.left += 1;
            }
            if quota.free.len() < most as usize && buffer.len() == BUFFER_WORDS {
                quota.free.push(buffer);
            }
            std::mem::take(&mut quota.is_waiting)
        };
        if wakes {
            self.interrupts.notify_if_alive(LOG);
        }
    }

    // Taking turns.

    /// The worker lets the waiting thread make snapshots.
    pub(super) fn ask_for_snapshots(&self) {
        let mut turn = self.turn.lock();
        *turn = Turn::Snapshots;
        self.turn_changed.notify_all();
        while *turn == Turn::Snapshots {
            turn = self.turn_changed.wait(turn);
        }
    }

    /// The worker is done with the log that the thread waits for.
    pub(super) fn finish_turn(&self) {
        *self.turn.lock() = Turn::Done;
        self.turn_changed.notify_all();
    }

    /// The thread waits until something is for it to do; false when the worker is done.
    pub(super) fn wait(&self) -> bool {
        let mut turn = self.turn.lock();
        while *turn == Turn::Worker {
            turn = self.turn_changed.wait(turn);
        }
        *turn != Turn::Done
    }

    pub(super) fn give_turn_to_worker(&self) {
        *self.turn.lock() = Turn::Worker;
        self.turn_changed.notify_all();
    }
}

/// A thread's side of its log.
#[derive(Default)]
pub(crate) struct ThreadLog {
    quota: Option<Arc<LogQuota>>,
    /// In use if not empty.
    buffer: Vec<u64>,
    /// Nothing is missing between the last buffer that was handed over and this one.
    is_continued: bool,
    /// At least one buffer was handed over.
    has_handed_over: bool,
    bonuses: u32,
}

impl ThreadLog {
    /// Where the block's cursor and limit are before anything is logged.
    pub(crate) const NOWHERE: (usize, usize) = (NO_CURSOR, NO_LIMIT);

    /// The dispatch table in force, requests apart.
    pub(crate) fn table(&self) -> &'static DispatchTable {
        if self.buffer.is_empty() {
            canny_llint::fast_table()
        } else {
            canny_llint::logging_table()
        }
    }
}

impl Thread {
    /// Something begins to run on the empty stack that may hold a hot loop: sees to it that it is logged.
    pub(crate) fn begin_log(&mut self) {
        if !self.vm.log_worker.is_wanted() {
            return;
        }
        if self.specializer.log.quota.is_none() {
            let thread = self.vm.log_worker.new_thread_number();
            let quota = LogQuota::new(thread, self.interrupts.clone());
            self.specializer.log.quota = Some(Arc::new(quota));
            self.resume_log();
            return;
        }
        if self.specializer.log.buffer.is_empty() && self.specializer.log.bonuses < BONUS_MAX {
            self.specializer.log.bonuses += 1;
            if let Some(quota) = &self.specializer.log.quota {
                quota.grant_bonus();
            }
            self.resume_log();
        }
    }

    /// Whether what is interpreted is logged.
    pub(crate) fn logs(&self) -> bool {
        !self.specializer.log.buffer.is_empty()
    }

    /// Begins a new buffer if the quota allows, else stops logging.
    pub(crate) fn resume_log(&mut self) {
        if !self.specializer.log.buffer.is_empty() {
            return;
        }
        let Some(quota) = &self.specializer.log.quota else {
            return;
        };
        match quota.take() {
            Some(buffer) => {
                self.specializer.log.buffer = buffer;
                self.empty_log();
            }
            None => {
                self.specializer.log.is_continued = false;
                (self.log_cursor, self.log_limit) = ThreadLog::NOWHERE;
            }
        }
        self.use_table(self.specializer.log.table());
        if !self.logs() {
            self.poll_at_next_loop();
        }
    }

    /// A loop that was interpreted because it was logged may have better code by now.
    fn poll_at_next_loop(&mut self) {
        let entry = &raw mut self.dispatch[Opcode::Loop as usize];
        // SAFETY: the entry is a valid word of this thread's table; other threads write it atomically too.
        unsafe { AtomicUsize::from_ptr(entry) }
            .store(canny_llint::slow_stub(Opcode::Loop), Ordering::Relaxed);
    }

    fn empty_log(&mut self) {
        let start = self.specializer.log.buffer.as_mut_ptr() as usize;
        self.log_cursor = start;
        let words = if self.specializer.log.has_handed_over {
            BUFFER_WORDS
        } else {
            FIRST_WORDS
        };
        // An entry has to fit between the limit and the end.
        self.log_limit = start + 8 * (words - ENTRY_WORDS_MAX);
    }

    /// The code words in the log may be dead from now on.
    pub(crate) fn discard_log(&mut self) {
        if !self.specializer.log.buffer.is_empty() {
            self.empty_log();
            self.specializer.log.is_continued = false;
        }
    }

    /// The log is full: hands it over and continues logging if there is quota left.
    pub(crate) fn hand_log_over(&mut self) {
        let Some(quota) = self
            .specializer
            .log
            .quota
            .clone()
            .filter(|_| !self.specializer.log.buffer.is_empty())
        else {
            // Nothing logs without a buffer.
            (self.log_cursor, self.log_limit) = ThreadLog::NOWHERE;
            self.use_table(canny_llint::fast_table());
            return;
        };
        let ledger_is_on = self.vm.specializer.ledger().is_on();
        let began = ledger_is_on.then(|| Began::now(PauseCause::HandLogOver));
        let buffer = std::mem::take(&mut self.specializer.log.buffer);
        let used_words = (self.log_cursor - buffer.as_ptr() as usize) / 8;
        debug_assert!(used_words <= buffer.len());
        quota.spend();
        let is_continued = std::mem::replace(&mut self.specializer.log.is_continued, true);
        let is_first = !std::mem::replace(&mut self.specializer.log.has_handed_over, true);
        let waits = self.vm.log_worker.is_blocking();
        if waits {
            quota.give_turn_to_worker();
        }
        let sent = self.vm.log_worker.send(FullLog {
            quota: quota.clone(),
            buffer,
            used_words,
            is_continued,
            is_first,
            waits,
        });
        if waits && sent {
            self.wait_for_worker(&quota);
        }
        self.resume_log();
        if let Some(began) = began {
            self.vm
                .specializer
                .ledger()
                .ended(PauseCause::HandLogOver, &began);
        }
    }

    /// Serves the worker until it is done with this thread's log.
    fn wait_for_worker(&mut self, quota: &LogQuota) {
        loop {
            let has_work = {
                let _region = self.mutator().enter_native();
                quota.wait()
            };
            if !has_work {
                return;
            }
            self.grant_wishes();
            quota.give_turn_to_worker();
        }
    }

    /// The dispatch table in force, requests apart.
    pub(crate) fn table_in_force(&self) -> &'static DispatchTable {
        self.stepping_table()
            .unwrap_or_else(|| self.specializer.log.table())
    }

    /// Puts a table's handlers into force, unless the thread is stepped through. A request that stands at
    /// `loop` stays there.
    pub(crate) fn use_table(&mut self, table: &'static DispatchTable) {
        let table = self.stepping_table().unwrap_or(table);
        for (byte, handler) in table.iter().enumerate() {
            if byte != Opcode::Loop as usize {
                self.dispatch[byte] = *handler;
            }
        }
        let request = canny_llint::slow_stub(Opcode::Loop);
        let entry = &raw mut self.dispatch[Opcode::Loop as usize];
        // SAFETY: the entry is a valid word of this thread's table; other threads write it atomically too.
        let entry = unsafe { AtomicUsize::from_ptr(entry) };
        let now = entry.load(Ordering::Relaxed);
        if now != request {
            // Fails if a request came in between, which then stays.
            let _ = entry.compare_exchange(
                now,
                table[Opcode::Loop as usize],
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        self.lead_to_debugger();
    }

    /// The thread ends: its last buffer is of no use any more.
    pub(crate) fn end_log(&mut self) {
        if let Some(quota) = self.specializer.log.quota.take() {
            self.vm.log_worker.end_thread(quota.thread);
        }
    }
}
