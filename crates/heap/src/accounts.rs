//! *Accounts* of the memory that tasks and requests use, and the choice of those that are notified
//! when there is too much of it.
//!
//! A block belongs to the account of the mutator that opened it, a block of copies to the account of
//! the object that was the first not to fit the one before. So the blocks of an account are a sample of
//! its objects that survived, one for each 32 KB, and counting them costs nothing while there is room.
//!
//! At the limit the accounts that have grown the most of late are *told*. An account has *heat*:
//! its growth from one full collection to the next. Each full collection forgets a part of the
//! heat, the larger the more all accounts have grown. So memory that was there before others came
//! is not held against anybody. An account that has a limit of its own is notified when its blocks
//! are above that after a full collection.
//!
//! | state | changed by | under |
//! |---|---|---|
//! | known accounts, told, ending and closed ones | collections, mutators | the heap's lock |
//! | `any_told`, `any_ending`, `any_limited`: whether there are any | the same | the same; read without it |
//! | a mutator's account | its thread | read by collections while it is stopped |

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use crate::block::{BLOCK_BYTES, Block, Space, state};
use crate::heap::{Heap, HeapState};
use crate::mutator::Mutator;
use crate::nursery::LocalAreas;
use crate::safepoint::Status;

/// The number of an account. It is used again after four billion others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(pub u32);

impl Account {
    /// The program itself, as far as nobody has another account. It is notified only if it runs.
    pub const PROGRAM: Account = Account(0);
    /// Work that must be done whatever the others have used: it is never told.
    pub const EXEMPT: Account = Account(u32::MAX);
}

/// An account is hot if it has at least this part of the heat of the hottest.
const HOT_SHARE: usize = 4;

/// Record of an account, in blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// In use after the last full collection.
    used: usize,
    /// Its growth over the last full collections.
    heat: usize,
    /// The limit of its own.
    limit: Option<usize>,
    /// Opened by its mutators since it saw its notice, without those that are in use; `None` if it got
    /// none since there was room.
    opened: Option<usize>,
}

impl Entry {
    /// Whether most of it came of late.
    fn is_recent(&self) -> bool {
        2 * self.heat >= self.used
    }
}

/// The accounts of a heap.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    entries: HashMap<Account, Entry>,
    /// The accounts that have not seen their notice.
    told: Vec<Account>,
    /// The accounts that were notified and are still there: their memory is freed when they end.
    ending: Vec<Account>,
    /// Those that are of no use any more and may have left memory behind, which is nobody's then.
    closed: HashSet<Account>,
    /// When there are so many of these, those that have nothing are forgotten.
    closed_most: usize,
    /// How many accounts have a limit of their own.
    limited: usize,
}

impl Accounts {
    fn tell(&mut self, account: Account) {
        if !self.told.contains(&account) {
            self.told.push(account);
        }
        if !self.ending.contains(&account) {
            self.ending.push(account);
        }
        self.entries.entry(account).or_default().opened = Some(0);
    }

    /// The account sees its notice; whether there was one.
    fn acknowledge(&mut self, account: Account) -> bool {
        let before = self.told.len();
        self.told.retain(|other| *other != account);
        if let Some(entry) = self.entries.get_mut(&account) {
            entry.opened = Some(0);
        }
        self.told.len() < before
    }

    /// A mutator opens a block for an account.
    pub(crate) fn note_opened(&mut self, account: Account) {
        if let Some(entry) = self.entries.get_mut(&account)
            && let Some(opened) = &mut entry.opened
        {
            *opened += 1;
        }
    }

    /// Whether an account has a notice that it uses too much.
    pub(crate) fn is_told(&self, account: Account) -> bool {
        self.told.contains(&account)
    }

    /// Whether it was notified, and there is no room since.
    pub(crate) fn was_told(&self, account: Account) -> bool {
        let entry = self.entries.get(&account);
        entry.is_some_and(|entry| entry.opened.is_some()) || self.is_told(account)
    }

    /// Blocks that have been there for long, of all accounts but those that were notified: the
    /// memory of these is about to be freed.
    pub(crate) fn cold(&self) -> usize {
        let entries = self.entries.values();
        let entries = entries.filter(|entry| entry.opened.is_none());
        entries.map(|entry| entry.used - entry.heat).sum()
    }

    pub(crate) fn limit_of(&self, account: Account) -> Option<usize> {
        if self.limited == 0 {
            return None;
        }
        self.entries.get(&account)?.limit
    }

    /// Whether memory is to be freed by an account that was notified.
    pub(crate) fn is_any_ending(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Whether a mutator's account has used so much that it does well to let others run first, which
    /// were notified and are to end.
    pub(crate) fn gives_way(&self, local: &LocalAreas, heap: &Heap) -> bool {
        let least = heap.reserve_blocks / 8;
        let (account, entry) = (local.account, self.entries.get(&local.account));
        account != Account::EXEMPT
            && !self.was_told(account)
            && (local.opened >= least / 2 || entry.is_some_and(|entry| entry.heat >= least))
    }

    /// Blocks below the limit that a full collection is to leave. Where several accounts have grown, it
    /// would be full again at once, and another full collection would find out nothing new.
    fn room_wanted(&self, heap: &Heap) -> usize {
        let recent = |(account, entry): (&Account, &Entry)| {
            (*account != Account::EXEMPT && entry.is_recent()).then_some(entry.heat)
        };
        let heats = self.entries.iter().filter_map(recent);
        let hottest = heats.clone().max().unwrap_or(0);
        let least = (heap.limit_blocks / 64).max(hottest.div_ceil(HOT_SHARE));
        let several = heats.filter(|heat| *heat >= least).count() > 1;
        heap.reserve_blocks * if several { 2 } else { 1 }
    }

    fn close(&mut self, account: Account) {
        self.closed.insert(account);
        self.told.retain(|told| *told != account);
        self.ending.retain(|ending| *ending != account);
        if let Some(entry) = self.entries.get_mut(&account) {
            entry.opened = None;
            self.limited -= usize::from(entry.limit.take().is_some());
        }
    }
}

/// Counts the blocks of every account.
fn count(space: &Space, frontier: u32) -> HashMap<Account, usize> {
    let mut used = HashMap::new();
    let mut run = (Account::PROGRAM, 0);
    for number in 0..frontier {
        let block = Block(number);
        let content = space.state(block) & state::CONTENT;
        let blocks = match content {
            state::FREE | state::TAIL => continue,
            _ if space.state(block) & state::LARGE != 0 => space.info(block).span as usize,
            _ => 1,
        };
        let account = space.info(block).account;
        if account != run.0 {
            *used.entry(run.0).or_insert(0) += run.1;
            run = (account, 0);
        }
        run.1 += blocks;
    }
    *used.entry(run.0).or_insert(0) += run.1;
    used
}

/// After a minor collection: a full one comes next if an account seems to be above its own limit.
pub(crate) fn look_at_limits(heap: &Heap, state: &mut HeapState) {
    if state.accounts.limited == 0 {
        return;
    }
    let used = count(&heap.space, state.pool.frontier());
    let is_above = |(account, entry): (&Account, &Entry)| {
        entry.limit.is_some_and(|limit| {
            let now = used.get(account).copied().unwrap_or(0);
            now > limit && now >= entry.used + limit.div_ceil(4)
        })
    };
    if state.accounts.entries.iter().any(is_above) {
        state.full_next = true;
    }
}

/// After a full collection: counts the accounts again, and tells those above a limit of their own.
/// Where there is room again, accounts that continue do not count as told any more. Returns whether
/// there is room, with that many blocks below the limit.
pub(crate) fn take_stock(heap: &Heap, state: &mut HeapState, room: usize) -> bool {
    let used = count(&heap.space, state.pool.frontier());
    let accounts = &mut state.accounts;
    for account in used.keys() {
        accounts.entries.entry(*account).or_default();
    }
    let now_of = |account: &Account| used.get(account).copied().unwrap_or(0);
    let growth_of =
        |(account, entry): (&Account, &Entry)| now_of(account).saturating_sub(entry.used);
    let growth_of_all: usize = accounts.entries.iter().map(growth_of).sum();
    let kept = heap.limit_blocks - growth_of_all.min(heap.limit_blocks);
    let mut above = Vec::new();
    for (account, entry) in &mut accounts.entries {
        let now = now_of(account);
        let growth = growth_of((account, entry));
        entry.heat = if accounts.closed.contains(account) {
            0
        } else {
            (entry.heat * kept / heap.limit_blocks + growth).min(now)
        };
        entry.used = now;
    }
    let is_roomy = room >= accounts.room_wanted(heap);
    for (account, entry) in &mut accounts.entries {
        let now = entry.used;
        match entry.limit {
            Some(limit) if now > limit => {
                let is_due = |opened: usize| opened >= limit.div_ceil(8);
                above.extend(entry.opened.is_none_or(is_due).then_some(*account));
            }
            // An account that has opened few may still be on the way to the handler of the condition.
            _ if is_roomy && entry.opened >= Some(heap.reserve_blocks / 4) => entry.opened = None,
            _ => {}
        }
    }
    for account in above {
        accounts.tell(account);
    }
    let Accounts {
        entries,
        told,
        ending,
        closed,
        ..
    } = accounts;
    entries.retain(|_, entry| entry.used > 0 || entry.limit.is_some() || entry.opened.is_some());
    told.retain(|account| entries.contains_key(account));
    closed.retain(|account| entries.contains_key(account));
    ending.retain(|account| !is_roomy && entries.contains_key(account));
    is_roomy
}

/// Where the limit is nearly reached: tells the hottest accounts, so many that the least of `wanted`
/// blocks are to be had, of those who were notified before or now, and beyond that, up to the most of
/// it, those most of whose memory came of late: the more end now, the later is everything collected
/// again. With `again` those do not count, and are notified again if they have opened so many blocks
/// since. If nobody is hot, the account of the mutator that collects is notified, unless it was.
pub(crate) fn tell_hottest(
    state: &mut HeapState,
    wanted: RangeInclusive<usize>,
    again: Option<usize>,
) {
    let program_runs = state.mutators.iter().any(|entry| {
        // SAFETY: the mutators are stopped, and their areas outlive their entries.
        let account = unsafe { entry.local.as_ref() }.account;
        account == Account::PROGRAM
            && (entry.status != Status::InNative || entry.id == state.collector)
    });
    let collector = state.collector;
    // SAFETY: as above.
    let collecting = unsafe { state.entry(collector).local.as_ref() }.account;
    let accounts = &mut state.accounts;
    let mut found = 0;
    let mut hot = Vec::new();
    for (account, entry) in &accounts.entries {
        let is_new = match (entry.opened, again) {
            (None, _) => true,
            (Some(_), None) => {
                found += entry.used;
                false
            }
            // Unless it has not reached a safepoint; it may be waiting for something.
            (Some(opened), Some(more)) => opened >= more && !accounts.is_told(*account),
        };
        if is_new
            && entry.heat > 0
            && *account != Account::EXEMPT
            && (*account != Account::PROGRAM || program_runs)
        {
            hot.push((entry.heat, *account, *entry));
        }
    }
    hot.sort_unstable_by_key(|(heat, account, _)| (std::cmp::Reverse(*heat), *account));
    let hottest = hot.first().map_or(0, |(heat, ..)| *heat);
    for (heat, account, entry) in hot {
        // An account with much less heat than the hottest is not to blame.
        if found >= *wanted.end() || HOT_SHARE * heat < hottest {
            break;
        }
        if found < *wanted.start() || entry.is_recent() {
            found += entry.used;
            accounts.tell(account);
        }
    }
    let least = again.unwrap_or(0);
    let is_due = |entry: &Entry| entry.opened.is_none_or(|opened| opened >= least);
    if found == 0
        && accounts.told.is_empty()
        && collecting != Account::EXEMPT
        && accounts.entries.get(&collecting).is_none_or(is_due)
    {
        accounts.tell(collecting);
    }
}

/// Asks the mutators of notified accounts for a safepoint.
pub(crate) fn ask_told(heap: &Heap, state: &HeapState) {
    let any = !state.accounts.told.is_empty();
    heap.any_told.store(any, Ordering::Relaxed);
    let any_ending = state.accounts.is_any_ending();
    heap.any_ending.store(any_ending, Ordering::Relaxed);
    for entry in &state.mutators {
        // SAFETY: the mutators are stopped, and their areas outlive their entries.
        let account = unsafe { entry.local.as_ref() }.account;
        if any && state.accounts.is_told(account) {
            entry.request.request();
        }
    }
}

impl Heap {
    /// An account that nobody has, maybe with a limit of its own, which collections look at.
    pub fn new_account(&self, limit_bytes: Option<usize>) -> Account {
        let number = self.next_account.fetch_add(1, Ordering::Relaxed);
        // Two numbers mean something else.
        let account = Account(number % (u32::MAX - 1) + 1);
        if let Some(bytes) = limit_bytes {
            let mut state = self.lock();
            let limit = bytes.div_ceil(BLOCK_BYTES).max(1);
            let entry = state.accounts.entries.entry(account).or_default();
            if entry.limit.replace(limit).is_none() {
                state.accounts.limited += 1;
                self.any_limited.store(true, Ordering::Relaxed);
            }
        }
        account
    }

    /// An account is of no use any more: it is not notified any more, and its limit goes. Unless
    /// `with_limit`, one that has a limit stays, since others share it.
    pub fn close_account(&self, account: Account, with_limit: bool) {
        let mut state = self.lock();
        if !with_limit && state.accounts.limit_of(account).is_some() {
            return;
        }
        let was_ending = state.accounts.is_any_ending();
        state.accounts.close(account);
        self.forget_empty(&mut state);
        if was_ending && !state.accounts.is_any_ending() {
            state.full_next = true;
        }
        let any = state.accounts.limited > 0;
        self.any_limited.store(any, Ordering::Relaxed);
        let any = !state.accounts.told.is_empty();
        self.any_told.store(any, Ordering::Relaxed);
        let any = state.accounts.is_any_ending();
        self.any_ending.store(any, Ordering::Relaxed);
    }

    /// Forgets closed accounts that have no memory, when there are many.
    fn forget_empty(&self, state: &mut HeapState) {
        const MANY: usize = 4096;
        if state.accounts.closed.len() >= state.accounts.closed_most.max(MANY) {
            let used = count(&self.space, state.pool.frontier());
            let closed = &mut state.accounts.closed;
            closed.retain(|account| used.contains_key(account));
            state.accounts.closed_most = 2 * closed.len();
        }
    }

    /// Whether an account has not seen its notice that the memory is used up.
    pub fn is_any_told(&self) -> bool {
        self.any_told.load(Ordering::Relaxed)
    }

    /// The account for work that somebody with this account begins: the same one if it has a limit of
    /// its own, else a new one.
    pub fn child_account(&self, parent: Account) -> Account {
        if self.any_limited.load(Ordering::Relaxed) && self.own_limit_bytes(parent).is_some() {
            parent
        } else {
            self.new_account(None)
        }
    }

    /// The limit of an account's own.
    pub fn own_limit_bytes(&self, account: Account) -> Option<usize> {
        let limit = self.lock().accounts.limit_of(account)?;
        Some(limit * BLOCK_BYTES)
    }

    /// Whether what has been there for long takes most of the heap, so that new work had better wait.
    /// Full collections say so.
    pub fn is_short(&self) -> bool {
        self.short.load(Ordering::Relaxed)
    }
}

impl Mutator {
    /// The account to which goes what this mutator allocates.
    pub fn account(&mut self) -> Account {
        self.local().account
    }

    /// Changes it; whether that account uses too much and was not told yet.
    pub fn set_account(&mut self, account: Account) -> bool {
        let local = self.local();
        local.account = account;
        local.opened = 0;
        local.is_untouched = false;
        let heap = self.heap();
        heap.any_told.load(Ordering::Relaxed) && heap.lock().accounts.is_told(account)
    }

    /// A new account for work that this mutator begins, maybe with a limit of its own. It takes the
    /// one that [`Mutator::end_account`] kept, if it can: short work begins and ends by the thousand and
    /// rarely opens a block.
    pub fn begin_account(&mut self, limit_bytes: Option<usize>) -> Account {
        let account = match (limit_bytes, self.local().spare_account.take()) {
            (None, Some(spare)) => spare,
            (limit, _) => self.heap().new_account(limit),
        };
        self.set_account(account);
        self.local().is_untouched = limit_bytes.is_none();
        account
    }

    /// The work of this mutator's account has ended; continues as exempt.
    pub fn end_account(&mut self) {
        let account = self.account();
        let is_untouched = self.local().is_untouched;
        self.set_account(Account::EXEMPT);
        let heap = self.heap();
        if account == Account::EXEMPT {
        } else if is_untouched
            && !heap.any_told.load(Ordering::Relaxed)
            && !heap.any_ending.load(Ordering::Relaxed)
        {
            self.local().spare_account = Some(account);
        } else {
            heap.close_account(account, true);
        }
    }

    /// The account to which a large object goes.
    pub(crate) fn account_of_large(&mut self) -> Account {
        let local = self.local();
        local.is_untouched = false;
        local.account
    }

    /// Whether this mutator's account uses too much: true once for each notice. The mutator is asked to
    /// come to a safepoint when that becomes true; the machine then raises a condition, whose handler
    /// runs on the reserve.
    pub fn take_exhausted(&mut self) -> bool {
        if !self.is_exhausted() {
            return false;
        }
        let account = self.account();
        let heap = self.heap();
        let accounts = &mut heap.lock().accounts;
        let was_told = accounts.acknowledge(account);
        let any = !accounts.told.is_empty();
        heap.any_told.store(any, Ordering::Relaxed);
        was_told
    }

    /// Whether this mutator had better let others run, which were notified and are to end.
    pub fn gives_way_to_told(&mut self) -> bool {
        if !self.heap().any_ending.load(Ordering::Relaxed) {
            return false;
        }
        let heap = self.heap().clone();
        let state = heap.lock();
        state.accounts.gives_way(self.local(), &heap)
    }

    /// Whether this mutator has opened few blocks since it has its account.
    pub fn has_opened_little(&mut self) -> bool {
        let few = self.heap().reserve_blocks / 8;
        self.local().opened < few
    }

    /// Whether this mutator's account was notified and is to end, so that others had better let it.
    pub fn is_to_end(&mut self) -> bool {
        if !self.heap().any_ending.load(Ordering::Relaxed) {
            return false;
        }
        let account = self.account();
        self.heap().lock().accounts.ending.contains(&account)
    }

    /// The same without taking note of it.
    pub fn is_exhausted(&mut self) -> bool {
        let account = self.account();
        let heap = self.heap();
        heap.any_told.load(Ordering::Relaxed) && heap.lock().accounts.is_told(account)
    }

    /// Whether so many blocks more are above the limit of this mutator's account.
    pub(crate) fn is_above_own_limit(&mut self, state: &HeapState, blocks: usize) -> bool {
        let account = self.account();
        let accounts = &state.accounts;
        accounts.limit_of(account).is_some_and(|limit| {
            let used = accounts.entries.get(&account).map_or(0, |entry| entry.used);
            used + blocks > limit
        })
    }
}
