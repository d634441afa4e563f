//! Queues of ready words: a ring and a slot for each worker, and lines that all workers share.
//!
//! **The ring** is bounded and has one owner, who puts in at the tail and takes at the head; thieves
//! take at the head, half of it at once. A thief first claims what it takes, then copies, then lets go,
//! and the owner does not write over what is being copied.
//!
//! | field | low half | high half | written by |
//! |---|---|---|---|
//! | `head` | next to take | first that a thief still copies | owner and thieves, by exchange |
//! | `tail` | first that is free | | owner |
//! | `slots` | word, why and when it woke | | owner, between tail and the thief's half of head |
//!
//! While no thief steals, both halves of `head` are equal; a second thief leaves while they are not.
//! Positions count on and wrap.
//!
//! **The slot** holds what shall run next on its owner's worker.
//!
//! | state of the slot | → by | → state |
//! |---|---|---|
//! | empty | owner puts | full |
//! | full | owner or thief takes | busy, by exchange |
//! | busy | whoever made it so, after reading the word | empty, or full with the owner's new word |
//!
//! **Lines** are queues behind a lock, and remember up to where they were shown to the collector.

use std::collections::VecDeque;

use super::names::Ticket;
use super::sync::Mutex;
use super::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use super::word::Next;

/// The items of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Word(u64),
    /// A word that was parked, behind its [`Next::origin`].
    Woken(u64, u64),
    /// A word that is still where it was parked; the worker that takes the item fetches it there.
    Ticket(Ticket),
}

impl From<Next> for Item {
    fn from(next: Next) -> Item {
        match next.wake {
            None => Item::Word(next.word),
            Some(_) => Item::Woken(next.origin(), next.word),
        }
    }
}

/// A queue of items behind its owner's lock.
#[derive(Debug, Default)]
pub(crate) struct Line {
    items: VecDeque<Item>,
    /// So many at the front were shown to the collector.
    shown: usize,
}

impl Line {
    pub(crate) fn push_back(&mut self, item: Item) {
        self.items.push_back(item);
    }

    pub(crate) fn pop_front(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.shown = self.shown.saturating_sub(1);
        if self.items.is_empty() && self.items.capacity() > 4096 {
            self.items = VecDeque::new();
        }
        Some(item)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(&mut u64), young_only: bool) {
        let first = if young_only { self.shown } else { 0 };
        for item in self.items.range_mut(first..) {
            match item {
                Item::Word(word) | Item::Woken(_, word) => visit(word),
                Item::Ticket(_) => {}
            }
        }
        self.shown = self.items.len();
    }

    /// Shows all words, and leaves it open which of them a collection has seen.
    pub(crate) fn each(&self, show: &mut dyn FnMut(u64)) {
        for item in &self.items {
            match item {
                Item::Word(word) | Item::Woken(_, word) => show(*word),
                Item::Ticket(_) => {}
            }
        }
    }
}

/// A line that any thread may come to. Its length can be read without the lock. A closed one takes nothing.
#[derive(Debug, Default)]
pub(crate) struct SharedLine {
    line: Mutex<Gated>,
    length: AtomicUsize,
}

#[derive(Debug, Default)]
struct Gated {
    line: Line,
    is_closed: bool,
}

impl SharedLine {
    /// A closed line.
    pub(crate) fn closed() -> SharedLine {
        SharedLine {
            line: Mutex::new(Gated {
                line: Line::default(),
                is_closed: true,
            }),
            length: AtomicUsize::new(0),
        }
    }

    /// Whether it was taken.
    pub(crate) fn push_back(&self, item: Item) -> bool {
        let mut gated = self.line.lock();
        if gated.is_closed {
            return false;
        }
        gated.line.push_back(item);
        self.length.store(gated.line.len(), Ordering::SeqCst);
        true
    }

    pub(crate) fn push_all(&self, items: impl Iterator<Item = Item>) {
        let line = &mut self.line.lock().line;
        for item in items {
            line.push_back(item);
        }
        self.length.store(line.len(), Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        self.line.lock().is_closed = false;
    }

    /// Closes it; its items go to the other line. The collector sees each in one of the two at any time.
    pub(crate) fn close_into(&self, other: &SharedLine) {
        let mut gated = self.line.lock();
        gated.is_closed = true;
        if !gated.line.is_empty() {
            other.push_all(std::iter::from_fn(|| gated.line.pop_front()));
        }
        self.length.store(0, Ordering::SeqCst);
    }

    /// Takes so many from the front as the share of one among `sharers`, at least one, at most as
    /// `batch` has room for.
    pub(crate) fn pop_batch(&self, batch: &mut [Item], sharers: usize) -> usize {
        if self.len() == 0 {
            return 0;
        }
        let line = &mut self.line.lock().line;
        let share = line.len().div_ceil(sharers.max(1)).min(batch.len());
        let mut count = 0;
        while count < share
            && let Some(item) = line.pop_front()
        {
            batch[count] = item;
            count += 1;
        }
        self.length.store(line.len(), Ordering::SeqCst);
        count
    }

    pub(crate) fn pop_front(&self) -> Option<Item> {
        let mut batch = [Item::Word(0)];
        (self.pop_batch(&mut batch, 1) == 1).then_some(batch[0])
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::SeqCst)
    }

    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut u64), young_only: bool) {
        self.line.lock().line.visit(visit, young_only);
    }

    pub(crate) fn each(&self, show: &mut dyn FnMut(u64)) {
        self.line.lock().line.each(show);
    }
}

#[derive(Debug, Default)]
struct Slot {
    word: AtomicU64,
    /// [`Next::origin`].
    origin: AtomicU64,
}

impl Slot {
    #[inline]
    fn read(&self) -> Next {
        let word = self.word.load(Ordering::Relaxed);
        Next::with_origin(word, self.origin.load(Ordering::Relaxed))
    }
}

/// The bounded queue of a worker.
#[derive(Debug)]
pub(crate) struct Ring {
    head: AtomicU64,
    tail: AtomicU32,
    slots: Box<[Slot]>,
}

fn pack(copied: u32, next: u32) -> u64 {
    u64::from(copied) << 32 | u64::from(next)
}

fn unpack(head: u64) -> (u32, u32) {
    ((head >> 32) as u32, head as u32)
}

impl Ring {
    /// An empty ring with room for so many words, a power of two.
    pub(crate) fn new(capacity: usize) -> Ring {
        assert!(capacity.is_power_of_two(), "a ring's capacity");
        Ring {
            head: AtomicU64::new(0),
            tail: AtomicU32::new(0),
            slots: (0..capacity).map(|_| Slot::default()).collect(),
        }
    }

    #[inline]
    fn slot(&self, position: u32) -> &Slot {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    #[inline]
    fn read(&self, position: u32) -> Next {
        self.slot(position).read()
    }

    #[inline]
    fn write(&self, position: u32, next: Next) {
        let slot = self.slot(position);
        slot.word.store(next.word, Ordering::Relaxed);
        slot.origin.store(next.origin(), Ordering::Relaxed);
    }

    pub(crate) fn len(&self) -> usize {
        let (_, next) = unpack(self.head.load(Ordering::SeqCst));
        let tail = self.tail.load(Ordering::SeqCst);
        // The two were not read at one time.
        (tail.wrapping_sub(next) as i32).max(0) as usize
    }

    /// Puts one in, by the owner; gives it back if there is no room.
    #[inline]
    pub(crate) fn push(&self, next: Next) -> Result<(), Next> {
        let (copied, _) = unpack(self.head.load(Ordering::Acquire));
        let tail = self.tail.load(Ordering::Relaxed);
        if tail.wrapping_sub(copied) as usize >= self.slots.len() {
            return Err(next);
        }
        self.write(tail, next);
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// How many the owner could put in now.
    pub(crate) fn room(&self) -> usize {
        let (copied, _) = unpack(self.head.load(Ordering::Acquire));
        let tail = self.tail.load(Ordering::Relaxed);
        self.slots.len() - (tail.wrapping_sub(copied) as usize).min(self.slots.len())
    }

    /// Takes the oldest, by the owner.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Next> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let (copied, next) = unpack(head);
            if next == self.tail.load(Ordering::Relaxed) {
                return None;
            }
            let after = next.wrapping_add(1);
            let new = pack(if copied == next { after } else { copied }, after);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Some(self.read(next)),
                Err(now) => head = now,
            }
        }
    }

    /// Takes the older half out, by the owner, and hands it over; nothing while a thief steals.
    pub(crate) fn overflow(&self, line: &SharedLine) {
        let head = self.head.load(Ordering::Acquire);
        let (copied, next) = unpack(head);
        let count = self.tail.load(Ordering::Relaxed).wrapping_sub(next) / 2;
        if copied != next || count == 0 {
            return;
        }
        let after = next.wrapping_add(count);
        let claimed = self.head.compare_exchange(
            head,
            pack(after, after),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if claimed.is_ok() {
            // Nobody else writes to the slots.
            line.push_all((0..count).map(|index| self.read(next.wrapping_add(index)).into()));
        }
    }

    /// Moves half of this ring, rounded up, to `thief`'s, by the owner of that one, who gets the newest
    /// of them at once.
    pub(crate) fn steal_into(&self, thief: &Ring) -> Option<Next> {
        let mut head = self.head.load(Ordering::Acquire);
        let (first, count) = loop {
            let (copied, next) = unpack(head);
            if copied != next {
                return None;
            }
            let tail = self.tail.load(Ordering::Acquire);
            let length = tail.wrapping_sub(next);
            if length as usize > self.slots.len() {
                // The owner advanced between the two loads.
                head = self.head.load(Ordering::Acquire);
                continue;
            }
            let room = u32::try_from(thief.room()).unwrap_or(u32::MAX);
            // One of them need not be put down.
            let count = length.div_ceil(2).min(room.saturating_add(1));
            if count == 0 {
                return None;
            }
            let new = pack(copied, next.wrapping_add(count));
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break (next, count),
                Err(now) => head = now,
            }
        };
        let tail = thief.tail.load(Ordering::Relaxed);
        for index in 0..count - 1 {
            thief.write(
                tail.wrapping_add(index),
                self.read(first.wrapping_add(index)),
            );
        }
        let newest = self.read(first.wrapping_add(count - 1));
        thief
            .tail
            .store(tail.wrapping_add(count - 1), Ordering::Release);
        self.let_go();
        Some(newest)
    }

    /// A thief has copied what it claimed.
    fn let_go(&self) {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let (_, next) = unpack(head);
            let new = pack(next, next);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Shows all words while no thread puts in or takes out.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut u64)) {
        let (_, next) = unpack(self.head.load(Ordering::Acquire));
        let tail = self.tail.load(Ordering::Acquire);
        for index in 0..tail.wrapping_sub(next) {
            visit_atomic(&self.slot(next.wrapping_add(index)).word, visit);
        }
    }
}

fn visit_atomic(word: &AtomicU64, visit: &mut dyn FnMut(&mut u64)) {
    let mut value = word.load(Ordering::Relaxed);
    visit(&mut value);
    word.store(value, Ordering::Relaxed);
}

const EMPTY: u8 = 0;
const FULL: u8 = 1;
const BUSY: u8 = 2;

/// The word that a worker runs next, before its ring.
#[derive(Debug, Default)]
pub(crate) struct NextSlot {
    state: AtomicU8,
    slot: Slot,
}

impl NextSlot {
    /// Puts a word in, by the owner. Gives back what was there, or the word itself while a thief is at it.
    #[inline]
    pub(crate) fn put(&self, word: u64) -> Option<Next> {
        let new = Next::new(word);
        match self.state.load(Ordering::Acquire) {
            EMPTY => {
                self.set(new);
                None
            }
            BUSY => Some(new),
            _ if self.claim() => {
                let old = self.get();
                self.set(new);
                Some(old)
            }
            _ => Some(new),
        }
    }

    /// Takes what is there.
    #[inline]
    pub(crate) fn take(&self) -> Option<Next> {
        if self.state.load(Ordering::Acquire) != FULL || !self.claim() {
            return None;
        }
        let next = self.get();
        self.state.store(EMPTY, Ordering::Release);
        Some(next)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.state.load(Ordering::SeqCst) == FULL
    }

    fn claim(&self) -> bool {
        self.state
            .compare_exchange(FULL, BUSY, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn get(&self) -> Next {
        self.slot.read()
    }

    fn set(&self, next: Next) {
        self.slot.word.store(next.word, Ordering::Relaxed);
        self.slot.origin.store(next.origin(), Ordering::Relaxed);
        self.state.store(FULL, Ordering::Release);
    }

    /// Shows the word while no thread puts in or takes out.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut u64)) {
        if self.state.load(Ordering::Acquire) == FULL {
            visit_atomic(&self.slot.word, visit);
        }
    }
}
