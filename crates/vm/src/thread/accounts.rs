//! Accounts of memory, as tasks have them: `canny_heap` knows which blocks belong to which account,
//! here is who has it.
//!
//! The account of a task is a field of its record. The thread that takes the task up has its mutator
//! allocate for that account; while it runs no task it continues with the last one. A thread that is
//! notified raises the memory condition at a safepoint, though neither in a critical section nor
//! between two tasks: then it is notified when that is over.

use canny_heap::Account;
use canny_tables::kinds::Kind;
use canny_tables::protocols::task;
use canny_value::Value;

use crate::control::condition::ConditionKind;
use crate::primitive::Raise;
use crate::thread::Thread;
use crate::thread::interrupt::{HEAP, PREEMPT};

impl Thread {
    /// A new account, maybe with a limit of its own, as a number.
    pub fn new_account(&mut self, limit_bytes: Option<usize>) -> i64 {
        i64::from(self.vm.heap.new_account(limit_bytes).0)
    }

    /// The account of a task that this thread starts.
    pub fn child_account(&mut self) -> i64 {
        let parent = self.mutator().account();
        i64::from(self.vm.heap.child_account(parent).0)
    }

    /// The account is of no use any more; unless `with_limit`, one with a limit of its own stays.
    pub fn close_account(&mut self, number: i64, with_limit: bool) {
        let account = account_of_number(Some(number));
        self.vm.heap.close_account(account, with_limit);
    }

    /// The current task begins work with an account of its own, maybe with a limit.
    pub fn begin_account(&mut self, limit_bytes: Option<usize>) {
        let account = self.mutator().begin_account(limit_bytes);
        self.note_account(i64::from(account.0));
    }

    /// That work has ended; the task continues with the account that is exempt.
    pub fn end_account(&mut self) {
        self.mutator().end_account();
        self.note_account(i64::from(Account::EXEMPT.0));
    }

    /// Changes the account to which goes what this thread allocates, for the current task.
    pub fn set_account(&mut self, number: i64) {
        self.note_account(number);
        self.use_account(account_of_number(Some(number)));
    }

    fn note_account(&mut self, number: i64) {
        if let Some(record) = self.tasks.current.as_kind(Kind::Record)
            && record.length() >= task::WORDS
        {
            let task = self.tasks.current;
            self.store(task, task::ACCOUNT, Value::fixnum(number));
        }
    }

    /// Continues with the account of a task.
    pub(crate) fn use_account_of(&mut self, task: Value) {
        self.tasks.extra_slices = 0;
        self.tasks.slice_epoch = self.vm.heap.epoch();
        if let Some(record) = task.as_kind(Kind::Record)
            && record.length() >= task::WORDS
        {
            let number = record.field(task::ACCOUNT).as_fixnum();
            self.use_account(account_of_number(number));
        }
    }

    fn use_account(&mut self, account: Account) {
        if self.mutator().set_account(account) {
            self.interrupts.notify(HEAP);
        }
    }

    /// Raises, at a safepoint, if the account in use has used up the memory.
    #[inline]
    pub(crate) fn meet_heap_limit(&mut self) -> Result<(), Raise> {
        if self.mutator().is_exhausted() {
            return self.meet_heap_limit_now();
        }
        Ok(())
    }

    /// Adapts the requests to a thread, `bits`, to its account's use of memory. A task whose
    /// account has used much makes way for those that were notified and are to end, and these are
    /// not preempted for a while. A collection in a slice does not count for a task that has
    /// allocated little: it would wait for all others on behalf of those that made the collection
    /// necessary.
    pub(crate) fn with_order_of_accounts(&mut self, bits: u32) -> u32 {
        /// Slices that a task gets more, until it is taken up again.
        const EXTRA_SLICES: u32 = 4;
        if self.mutator().gives_way_to_told() {
            return bits | PREEMPT;
        }
        if bits & PREEMPT == 0 || self.tasks.extra_slices >= EXTRA_SLICES {
            return bits;
        }
        let epoch = self.vm.heap.epoch();
        let was_collected = std::mem::replace(&mut self.tasks.slice_epoch, epoch) != epoch;
        if was_collected && self.mutator().has_opened_little() || self.mutator().is_to_end() {
            self.tasks.extra_slices += 1;
            return bits & !PREEMPT;
        }
        bits
    }

    #[cold]
    #[inline(never)]
    fn meet_heap_limit_now(&mut self) -> Result<(), Raise> {
        if self.tasks.critical > 0 {
            // Raising there would leave locks held.
            self.tasks.deferred |= HEAP;
            return Ok(());
        }
        let is_between_tasks = self.tasks.worker.is_some() && !self.tasks.current.is_true();
        if is_between_tasks || !self.mutator().take_exhausted() {
            return Ok(());
        }
        let account = self.mutator().account();
        let own = self.vm.heap.own_limit_bytes(account);
        let limit = own.unwrap_or_else(|| self.vm.heap.limit_bytes());
        let message = match own {
            Some(_) => "the memory limit of the task is exceeded",
            None => "the heap limit is exceeded",
        };
        let limit = self.integer(limit as i64);
        Err(self.raise(ConditionKind::Memory, message, &[limit], None))
    }
}

fn account_of_number(number: Option<i64>) -> Account {
    Account(
        number
            .and_then(|number| number.try_into().ok())
            .unwrap_or(0),
    )
}
