//! Values that a debugger keeps while the program runs: those it has shown, and procedures that it has
//! compiled. They are the elements of a vector among the machine's roots.

use canny_tables::kinds::Kind;
use canny_value::Value;

use crate::thread::Thread;

/// Name of the root.
const VALUES: &str = "values of the debugger";

/// Elements that are added at once, at least.
const ROOM_MIN: usize = 64;

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kept(usize);

/// The places that are in use.
#[derive(Debug, Default)]
pub(super) struct Places {
    free: Vec<usize>,
    count: usize,
}

impl Thread {
    /// Keeps a value; none if the heap has no room for it.
    pub fn debug_keep(&mut self, value: Value) -> Option<Kept> {
        let protected = self.protect(value);
        let kept = self.place_for_kept();
        let value = self.protected(protected);
        self.release(protected);
        let kept = kept?;
        self.debug_change(kept, value);
        Some(kept)
    }

    /// A value that is kept.
    pub fn debug_kept(&self, kept: Kept) -> Value {
        let vector = self
            .vm
            .root(VALUES)
            .and_then(|all| all.as_kind(Kind::Vector));
        vector
            .filter(|vector| kept.0 < vector.length())
            .map_or(Value::FALSE, |vector| vector.field(kept.0))
    }

    /// Puts another value in the place of one that is kept.
    pub fn debug_change(&mut self, kept: Kept, value: Value) {
        let vector = self
            .vm
            .root(VALUES)
            .and_then(|all| all.as_kind(Kind::Vector));
        if let Some(vector) = vector.filter(|vector| kept.0 < vector.length()) {
            self.store(vector.value(), kept.0, value);
        }
    }

    /// Forgets a value.
    pub fn debug_forget(&mut self, kept: Kept) {
        self.debug_change(kept, Value::FALSE);
        self.vm.debugger.lock().kept.free.push(kept.0);
    }

    fn place_for_kept(&mut self) -> Option<Kept> {
        // Only one thread at a time makes the vector longer.
        let vm = self.vm.clone();
        let mut state = vm.debugger.lock();
        if let Some(index) = state.kept.free.pop() {
            return Some(Kept(index));
        }
        let old = state.kept.count;
        let all = 2 * old.max(ROOM_MIN / 2);
        state.kept.count = all;
        drop(state);
        let first = self.protect(Value::FALSE);
        let vector = vm.root(VALUES).and_then(|all| all.as_kind(Kind::Vector));
        for index in 0..all {
            let known = vector.filter(|vector| index < vector.length());
            let value = known.map_or(Value::FALSE, |vector| vector.field(index));
            self.scratch.push(value);
        }
        self.scratch.remove(first.index());
        let longer = self.vector_of_protected(first);
        self.release(first);
        let longer = longer.ok()?;
        vm.set_root(VALUES, longer);
        let mut state = vm.debugger.lock();
        state.kept.free.extend((old + 1..all).rev());
        Some(Kept(old))
    }
}
