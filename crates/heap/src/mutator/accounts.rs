//! The account that a mutator allocates for, as its thread sees it.
//!
//! The account is in the mutator's areas, and changes on its own thread only. Notices to it are looked
//! at without the heap's lock first.

use std::sync::atomic::Ordering;

use super::Mutator;
use crate::account::Account;
use crate::heap::HeapState;

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
        let (account, opened) = (self.local().account, self.local().opened);
        state
            .accounts
            .gives_way(account, opened, heap.reserve_blocks)
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
