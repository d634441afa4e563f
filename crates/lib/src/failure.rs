//! Failures that a host keeps to look into them later: the reports, the frames, and the values of
//! their variables.
//!
//! The newest failure is the last. Values are elements of vectors in the list under a root of the
//! machine, whose first vector belongs to the newest failure; the object that was raised is the first
//! element.

use std::sync::atomic::{AtomicBool, Ordering};

use canny_locks::{Mutex, MutexGuard};
use canny_value::Value;
use canny_vm::{KeptFrame, Thread, Vm};

use crate::host;
use crate::uncaught::Uncaught;

/// The root with the values.
const ROOT: &str = "kept failures";
/// Frames of a failure that are kept at most.
const FRAMES_MAX: usize = 400;
/// Failures that are kept at most; beyond that the oldest go.
const FAILURES_MAX: usize = 64;

/// A failed evaluation.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The report of the failure.
    pub uncaught: Uncaught,
    /// The newest frames, newest first.
    pub frames: Vec<KeptFrame>,
}

/// The failures that a machine keeps.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    is_on: AtomicBool,
    kept: Mutex<Vec<Failure>>,
}

impl Failures {
    fn lock(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.kept.lock()
    }
}

/// The failures of a machine.
fn failures(vm: &Vm) -> &Failures {
    host::state(vm)
}

/// Keeps failures from now on.
pub fn keep_failures(vm: &Vm) {
    failures(vm).is_on.store(true, Ordering::Relaxed);
}

/// How many failures are kept.
pub fn failure_count(vm: &Vm) -> usize {
    failures(vm).lock().len()
}

/// The newest failure.
pub fn newest_failure(vm: &Vm) -> Option<Failure> {
    failures(vm).lock().last().cloned()
}

/// Forgets the newest failures, but for the first `count`.
pub fn forget_failures(vm: &Vm, count: usize) {
    let dropped = {
        let mut kept = failures(vm).lock();
        let dropped = kept.len().saturating_sub(count);
        kept.truncate(count);
        dropped
    };
    let mut list = vm.root(ROOT).unwrap_or(Value::NIL);
    for _ in 0..dropped {
        list = list.cdr().unwrap_or(Value::NIL);
    }
    vm.set_root(ROOT, list);
}

/// A value of a variable of the newest failure, by its index.
pub fn failure_value(vm: &Vm, index: usize) -> Option<Value> {
    element(vm, index + 1)
}

/// The object that the newest failure raised.
pub fn failure_object(vm: &Vm) -> Option<Value> {
    element(vm, 0)
}

fn element(vm: &Vm, index: usize) -> Option<Value> {
    let newest = vm.root(ROOT)?.car()?;
    let pair = newest.as_pair()?;
    if index == 0 {
        return Some(pair.car());
    }
    let vector = pair.cdr().as_object()?;
    (index - 1 < vector.length()).then(|| vector.field(index - 1))
}

/// Keeps a failure whose frames still exist, if that is wanted. Parts that the heap has no room for
/// are not kept.
pub(crate) fn keep(thread: &mut Thread, uncaught: &Uncaught, object: Value) {
    if !failures(thread.vm()).is_on.load(Ordering::Relaxed) {
        return;
    }
    let (mut frames, mut values) = match thread.keep_frames(FRAMES_MAX) {
        Ok((frames, values)) => (frames, values),
        Err(_) => (Vec::new(), Value::FALSE),
    };
    if uncaught.kind.as_deref() == Some("memory") {
        // The values that filled the heap must not fill it any longer.
        values = Value::FALSE;
        let variables = frames.iter_mut().flat_map(|frame| &mut frame.variables);
        variables.for_each(|variable| variable.index = None);
    }
    let Ok(entry) = thread.try_cons(object, values) else {
        return;
    };
    let older = thread.vm().root(ROOT).unwrap_or(Value::NIL);
    let Ok(list) = thread.try_cons(entry, older) else {
        return;
    };
    thread.vm().set_root(ROOT, list);
    let count = {
        let mut kept = failures(thread.vm()).lock();
        if kept.len() >= FAILURES_MAX {
            kept.remove(0);
        }
        kept.push(Failure {
            uncaught: uncaught.clone(),
            frames,
        });
        kept.len()
    };
    // The values of failures that are no longer kept go too.
    let mut last = list;
    for _ in 1..count {
        last = last.cdr().unwrap_or(Value::NIL);
    }
    if last.is_pair() {
        thread.set_cdr(last, Value::NIL);
    }
}
