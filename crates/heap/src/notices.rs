//! The choice of the accounts that are notified when there is too much memory in use.
//!
//! Collections count the accounts and tell those that are hot, or above a limit of their own. All of
//! it happens under the heap's lock. The flags of [`Heap`] say without the lock whether there are any.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use crate::account::Account;
use crate::accounts::{Accounts, Entry, count};
use crate::block::BLOCK_BYTES;
use crate::heap::{Heap, HeapState};
use crate::mutator_entry::Status;

/// An account is hot if it has at least this part of the heat of the hottest.
const HOT_SHARE: usize = 4;

/// Blocks below the limit that a full collection is to leave. Where several accounts have grown, it
/// would be full again at once, and another full collection would find out nothing new.
fn room_wanted(accounts: &Accounts, heap: &Heap) -> usize {
    let recent = |(account, entry): (&Account, &Entry)| {
        (*account != Account::EXEMPT && entry.is_recent()).then_some(entry.heat)
    };
    let heats = accounts.entries.iter().filter_map(recent);
    let hottest = heats.clone().max().unwrap_or(0);
    let least = (heap.limit_blocks / 64).max(hottest.div_ceil(HOT_SHARE));
    let several = heats.filter(|heat| *heat >= least).count() > 1;
    heap.reserve_blocks * if several { 2 } else { 1 }
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
    let is_roomy = room >= room_wanted(accounts, heap);
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
