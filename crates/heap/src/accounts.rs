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

use crate::account::Account;
use crate::block::{Block, Space, state};

/// Record of an account, in blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// In use after the last full collection.
    pub(crate) used: usize,
    /// Its growth over the last full collections.
    pub(crate) heat: usize,
    /// The limit of its own.
    pub(crate) limit: Option<usize>,
    /// Opened by its mutators since it saw its notice, without those that are in use; `None` if it got
    /// none since there was room.
    pub(crate) opened: Option<usize>,
}

impl Entry {
    /// Whether most of it came of late.
    pub(crate) fn is_recent(&self) -> bool {
        2 * self.heat >= self.used
    }
}

/// The accounts of a heap.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) entries: HashMap<Account, Entry>,
    /// The accounts that have not seen their notice.
    pub(crate) told: Vec<Account>,
    /// The accounts that were notified and are still there: their memory is freed when they end.
    pub(crate) ending: Vec<Account>,
    /// Those that are of no use any more and may have left memory behind, which is nobody's then.
    pub(crate) closed: HashSet<Account>,
    /// When there are so many of these, those that have nothing are forgotten.
    pub(crate) closed_most: usize,
    /// How many accounts have a limit of their own.
    pub(crate) limited: usize,
}

impl Accounts {
    pub(crate) fn tell(&mut self, account: Account) {
        if !self.told.contains(&account) {
            self.told.push(account);
        }
        if !self.ending.contains(&account) {
            self.ending.push(account);
        }
        self.entries.entry(account).or_default().opened = Some(0);
    }

    /// The account sees its notice; whether there was one.
    pub(crate) fn acknowledge(&mut self, account: Account) -> bool {
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

    /// Whether an account, for which a mutator has opened so many blocks, has used so much of what is
    /// there beyond the reserve that it does well to let others run first. These were notified and are
    /// to end.
    pub(crate) fn gives_way(&self, account: Account, opened: usize, reserve: usize) -> bool {
        let least = reserve / 8;
        let entry = self.entries.get(&account);
        account != Account::EXEMPT
            && !self.was_told(account)
            && (opened >= least / 2 || entry.is_some_and(|entry| entry.heat >= least))
    }

    pub(crate) fn close(&mut self, account: Account) {
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
pub(crate) fn count(space: &Space, frontier: u32) -> HashMap<Account, usize> {
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
