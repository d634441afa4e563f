//! Leaf functions of locks, waiters and clocks. A lock that another thread has is declined, and so is
//! the end of a section in which somebody asked for something: the primitives then wait, or do what was
//! asked for.

use canny_value::Value;
use canny_vm::InPlace;

use super::{Word, or_decline, stored, truth};
use crate::primitives::system::{jiffies, recent_jiffies};

pub(super) extern "C" fn current_jiffy(_: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    or_decline(Value::try_fixnum(jiffies()))
}

pub(super) extern "C" fn recent_jiffy(_: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    or_decline(Value::try_fixnum(recent_jiffies()))
}

pub(super) extern "C" fn current_task(thread: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    thread.current_task()
}

pub(super) extern "C" fn set_current_task(
    thread: &mut InPlace,
    task: Word,
    _: Word,
    _: Word,
) -> Word {
    thread.set_current_task(task);
    Value::UNSPECIFIED
}

pub(super) extern "C" fn enter_critical(thread: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    thread.enter_critical();
    Value::UNSPECIFIED
}

pub(super) extern "C" fn leave_critical(thread: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    stored(thread.leave_critical())
}

pub(super) extern "C" fn lock(thread: &mut InPlace, record: Word, _: Word, _: Word) -> Word {
    stored(thread.lock_record(record))
}

pub(super) extern "C" fn unlock(thread: &mut InPlace, record: Word, _: Word, _: Word) -> Word {
    stored(thread.unlock_record(record))
}

pub(super) extern "C" fn claim(thread: &mut InPlace, waiter: Word, _: Word, _: Word) -> Word {
    truth(thread.claim(waiter))
}

pub(super) extern "C" fn make_ready(
    thread: &mut InPlace,
    waiter: Word,
    behind: Word,
    _: Word,
) -> Word {
    stored(thread.make_ready(waiter, behind.is_true()))
}
