//! Strands: serial lanes. Items of one strand run one at a time and in order, on one worker while that one keeps up.
//!
//! | state of a strand | → by | → state |
//! |---|---|---|
//! | quiet | the first item | waiting, in a queue of strands |
//! | waiting | the worker that takes it from the queue, and its first item | running there |
//! | running | the same worker, when it asks for its next work and no item is left | quiet |
//! | running | the same, when one is left | waiting, in its own queue |
//!
//! Each worker has a queue of strands whose home it is; one more is everybody's. A strand without a home goes to the worker
//! with the shortest queue, if that is below a threshold that grows with the number of workers that have strands; else
//! to everybody's queue, and the steward learns that there is demand. Who takes a strand becomes its home. The steward moves
//! the queue of a worker that is stuck in a long item to everybody's. All of it is under one lock, held for moments.

use std::collections::VecDeque;

use super::queues::{Item, Line};
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::{Mutex, lock};
use super::{StrandId, WorkerId};

/// The threshold is so much for each worker that has strands.
const THRESHOLD_STEP: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not given out.
    Free,
    Quiet,
    Waiting,
    Running,
}

#[derive(Debug)]
struct Strand {
    line: Line,
    state: State,
    home: Option<WorkerId>,
    /// Free it when it is quiet.
    is_closed: bool,
    /// It is in `young`.
    is_young: bool,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<StrandId>,
    /// The worker is there and not blocked.
    is_open: bool,
    /// So many strands have their home here.
    homes: usize,
}

#[derive(Debug, Default)]
struct Table {
    strands: Vec<Strand>,
    free: Vec<u32>,
    young: Vec<u32>,
    by_worker: Vec<Queue>,
    anybodys: VecDeque<StrandId>,
}

#[derive(Debug, Default)]
pub(crate) struct Strands {
    table: Mutex<Table>,
    anybodys: AtomicUsize,
    /// Everywhere.
    waiting: AtomicUsize,
}

/// Where a strand waits now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It waited or runs already.
    Unchanged,
    Home(WorkerId),
    /// In everybody's queue.
    Anywhere,
}

impl Strands {
    pub(crate) fn make(&self) -> StrandId {
        let mut table = lock(&self.table);
        let strand = Strand {
            line: Line::default(),
            state: State::Quiet,
            home: None,
            is_closed: false,
            is_young: false,
        };
        if let Some(index) = table.free.pop() {
            table.strands[index as usize] = strand;
            return StrandId(index);
        }
        let index = u32::try_from(table.strands.len()).expect("fewer than 2^32 strands");
        table.strands.push(strand);
        StrandId(index)
    }

    /// No more items come.
    pub(crate) fn close(&self, id: StrandId) {
        let mut table = lock(&self.table);
        if let Some(strand) = table.strands.get_mut(id.0 as usize) {
            strand.is_closed = true;
            table.free_if_done(id);
        }
    }

    pub(crate) fn push(&self, id: StrandId, item: Item) -> Result<Placed, Item> {
        let mut table = lock(&self.table);
        let Some(strand) = table.strands.get_mut(id.0 as usize) else {
            return Err(item);
        };
        if strand.state == State::Free {
            return Err(item);
        }
        strand.line.push_back(item);
        let is_quiet = strand.state == State::Quiet;
        table.note_young(id);
        if !is_quiet {
            return Ok(Placed::Unchanged);
        }
        let home = table.choose_home(id);
        Ok(self.place(&mut table, id, home))
    }

    /// Puts the rest of an item before the others of its strand, by the worker that runs it.
    pub(crate) fn push_front(&self, id: StrandId, item: Item) -> Result<(), Item> {
        let mut table = lock(&self.table);
        match table.strands.get_mut(id.0 as usize) {
            Some(strand) if strand.state == State::Running => strand.line.push_front(item),
            _ => return Err(item),
        }
        table.note_young(id);
        Ok(())
    }

    fn place(&self, table: &mut Table, id: StrandId, home: Option<WorkerId>) -> Placed {
        table.set_home(id, home);
        table.strands[id.0 as usize].state = State::Waiting;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        match home {
            Some(worker) => {
                table.by_worker[worker.index()].waiting.push_back(id);
                Placed::Home(worker)
            }
            None => {
                table.anybodys.push_back(id);
                self.anybodys.fetch_add(1, Ordering::SeqCst);
                Placed::Anywhere
            }
        }
    }

    /// Takes the first item of a strand that waits for this worker or for anybody, and lets the strand run here.
    pub(crate) fn take(&self, worker: WorkerId) -> Option<(StrandId, Item)> {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut table = lock(&self.table);
        let own = table.by_worker.get_mut(worker.index());
        let id = match own.and_then(|queue| queue.waiting.pop_front()) {
            Some(id) => id,
            None => {
                let id = table.anybodys.pop_front()?;
                self.anybodys.fetch_sub(1, Ordering::SeqCst);
                id
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        table.set_home(id, Some(worker));
        let strand = &mut table.strands[id.0 as usize];
        strand.state = State::Running;
        // A strand that waits has an item.
        strand.line.pop_front().map(|item| (id, item))
    }

    /// The worker has done with the item of the strand that ran there.
    pub(crate) fn finish(&self, id: StrandId) -> Placed {
        let mut table = lock(&self.table);
        let strand = &mut table.strands[id.0 as usize];
        if strand.line.is_empty() {
            strand.state = State::Quiet;
            table.free_if_done(id);
            return Placed::Unchanged;
        }
        let home = strand
            .home
            .filter(|home| table.by_worker[home.index()].is_open);
        self.place(&mut table, id, home)
    }

    /// How many strands wait for this worker or for anybody.
    pub(crate) fn waiting_for(&self, worker: WorkerId) -> usize {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return 0;
        }
        let table = lock(&self.table);
        let own = table.by_worker.get(worker.index());
        own.map_or(0, |queue| queue.waiting.len()) + table.anybodys.len()
    }

    /// How many strands wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// How many strands wait for anybody.
    pub(crate) fn waiting_for_anybody(&self) -> usize {
        self.anybodys.load(Ordering::SeqCst)
    }

    /// The worker serves strands from now on.
    pub(crate) fn open_worker(&self, worker: WorkerId) {
        let mut table = lock(&self.table);
        if table.by_worker.len() <= worker.index() {
            table
                .by_worker
                .resize_with(worker.index() + 1, Queue::default);
        }
        table.by_worker[worker.index()].is_open = true;
    }

    /// The worker is blocked or goes: its strands find another home. Says how many waited.
    pub(crate) fn close_worker(&self, worker: WorkerId) -> usize {
        let moved = self.move_from(worker);
        if let Some(queue) = lock(&self.table).by_worker.get_mut(worker.index()) {
            queue.is_open = false;
        }
        moved + self.move_from(worker)
    }

    /// Moves the strands that wait for this worker to everybody's queue.
    pub(crate) fn move_from(&self, worker: WorkerId) -> usize {
        let mut table = lock(&self.table);
        let Some(queue) = table.by_worker.get_mut(worker.index()) else {
            return 0;
        };
        let moved = std::mem::take(&mut queue.waiting);
        for id in &moved {
            table.set_home(*id, None);
        }
        self.anybodys.fetch_add(moved.len(), Ordering::SeqCst);
        let count = moved.len();
        table.anybodys.extend(moved);
        count
    }

    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&mut u64), young_only: bool) {
        let table = &mut *lock(&self.table);
        if !young_only {
            for strand in &mut table.strands {
                strand.line.visit(visit, false);
            }
        }
        for index in table.young.drain(..) {
            let strand = &mut table.strands[index as usize];
            strand.is_young = false;
            if young_only {
                strand.line.visit(visit, true);
            }
        }
    }
}

impl Table {
    fn note_young(&mut self, id: StrandId) {
        let strand = &mut self.strands[id.0 as usize];
        if !strand.is_young {
            strand.is_young = true;
            self.young.push(id.0);
        }
    }

    fn set_home(&mut self, id: StrandId, home: Option<WorkerId>) {
        let old = std::mem::replace(&mut self.strands[id.0 as usize].home, home);
        if let Some(old) = old {
            let homes = &mut self.by_worker[old.index()].homes;
            *homes = homes.saturating_sub(1);
        }
        if let Some(new) = home {
            if self.by_worker.len() <= new.index() {
                self.by_worker.resize_with(new.index() + 1, Queue::default);
            }
            self.by_worker[new.index()].homes += 1;
        }
    }

    /// The home that the strand has, or the worker with the shortest queue if that is short enough.
    fn choose_home(&self, id: StrandId) -> Option<WorkerId> {
        let open = |worker: &WorkerId| {
            self.by_worker
                .get(worker.index())
                .is_some_and(|it| it.is_open)
        };
        if let Some(home) = self.strands[id.0 as usize].home.filter(open) {
            return Some(home);
        }
        let with_strands = self
            .by_worker
            .iter()
            .filter(|it| it.is_open && it.homes > 0);
        let threshold = THRESHOLD_STEP * with_strands.count().max(1);
        let queues = self.by_worker.iter().enumerate();
        let shortest = queues
            .filter(|(_, queue)| queue.is_open)
            .min_by_key(|(_, queue)| (queue.waiting.len(), queue.homes))?;
        (shortest.1.waiting.len() < threshold).then(|| WorkerId::from_index(shortest.0))
    }

    fn free_if_done(&mut self, id: StrandId) {
        let strand = &mut self.strands[id.0 as usize];
        if strand.is_closed && strand.state == State::Quiet {
            strand.state = State::Free;
            self.set_home(id, None);
            self.free.push(id.0);
        }
    }
}
