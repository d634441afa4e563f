//! The search for what guests can still reach: objects, and exceptions that are kept.
//!
//! It begins with the words of frames, tables, global variables and segments, of which some only look like
//! references. Objects and exceptions refer to each other, so that both are searched at once.

use crate::activation::Activation;
use crate::error::Trap;
use crate::heap::Heap;
use crate::store::Store;

use canny_tables::guest::Reason;

use crate::definitions::Definition;

/// A search, with marks for everything that it has found.
struct Search<'a> {
    store: &'a Store,
    objects: Vec<bool>,
    exceptions: Vec<bool>,
    pending: Vec<Found>,
    count: usize,
}

enum Found {
    Object(usize),
    Exception(usize),
}

impl Search<'_> {
    /// Notes what a word refers to.
    fn see(&mut self, word: u64) {
        let (found, marks, number) = if let Some(number) = self.store.heap.number(word) {
            (Found::Object(number), &mut self.objects, number)
        } else if let Some(number) = self.store.exceptions.number(word) {
            (Found::Exception(number), &mut self.exceptions, number)
        } else {
            return;
        };
        if !std::mem::replace(&mut marks[number], true) {
            self.pending.push(found);
        }
    }

    /// Finds what is reached from what was found.
    fn finish(&mut self, visit: &mut dyn FnMut(u64)) {
        let store = self.store;
        while let Some(found) = self.pending.pop() {
            self.count += 1;
            match found {
                Found::Object(number) => {
                    let Some(object) = store.heap.object(number) else {
                        continue;
                    };
                    object.each_reference(|word| {
                        visit(word);
                        self.see(word);
                    });
                }
                Found::Exception(number) => {
                    for word in store.exceptions.words(number) {
                        visit(*word);
                        self.see(*word);
                    }
                }
            }
        }
    }
}

impl Store {
    /// Looks for everything that can be reached from the store and some more words.
    fn search(&self, more: &[&[u64]], visit: &mut dyn FnMut(u64)) -> Search<'_> {
        let mut search = Search {
            store: self,
            objects: vec![false; self.heap.len()],
            exceptions: vec![false; self.exceptions.kept_count()],
            pending: Vec::new(),
            count: 0,
        };
        self.each_root(&mut |word| {
            visit(word);
            search.see(word);
        });
        for word in more.iter().copied().flatten() {
            visit(*word);
            search.see(*word);
        }
        search.finish(visit);
        search
    }

    /// Gives all words that may be references to objects of the host: those in tables, global variables,
    /// segments and the frames of runs, and in objects and exceptions that are reached from there. Some
    /// of the words are something else.
    pub fn each_word(&self, mut visit: impl FnMut(u64)) {
        self.search(&[], &mut visit);
    }

    /// Frees objects and exceptions that guests cannot reach; frames that are not in `runs` have these
    /// words. Gives how many objects there are left.
    pub(crate) fn collect(&mut self, more: &[&[u64]]) -> usize {
        if self.depth > self.runs.len() + 1 {
            // A function of the host has called a guest again: frames of the first one are not known here.
            return 0;
        }
        let search = self.search(more, &mut |_| {});
        let Search {
            objects,
            exceptions,
            count,
            ..
        } = search;
        self.heap.sweep(&objects);
        self.exceptions.forget(&exceptions);
        count
    }

    /// Makes an object of zeros in the function at which the run was left; gives its word.
    pub(crate) fn allocate(
        &mut self,
        activation: &mut Activation,
        definition: &'static Definition,
        length: u32,
    ) -> Result<u64, Trap> {
        let bytes = Heap::bytes_for(definition, length).ok_or(Reason::HeapExhausted)?;
        if self.heap.is_full(bytes) || !self.may_grow(bytes) {
            let count = self.collect(&running(activation));
            charge(activation, &mut self.fuel, count);
        }
        self.add_object(definition, length, bytes)
    }

    /// Makes an object of zeros without looking for ones that are not needed.
    pub(crate) fn add_object(
        &mut self,
        definition: &'static Definition,
        length: u32,
        bytes: u64,
    ) -> Result<u64, Trap> {
        let made = self
            .may_grow(bytes)
            .then(|| self.heap.add(definition, length));
        made.flatten().ok_or(Trap::Reason(Reason::HeapExhausted))
    }
}

/// Most slots that machine code uses for the operands of an operation of the runtime.
pub const OPERAND_SLOTS: usize = 128;

/// The words of all frames of a run that was left in the middle of a function.
fn running(activation: &Activation) -> [&[u64]; 2] {
    // SAFETY: instances live as long as their store.
    let module = unsafe { &(*activation.instance).module };
    let slots = module
        .as_ref()
        .and_then(|module| module.with_function_at(activation.pc, |_, body, _| body.frame_slots));
    activation.words(slots.unwrap_or(OPERAND_SLOTS))
}

/// A jump costs as much as the search for so many objects.
const OBJECTS_PER_JUMP: usize = 4;

/// Lets a run pay for a search, so that it is preempted and limited like any other work.
fn charge(activation: &mut Activation, fuel: &mut Option<u64>, count: usize) {
    let jumps = count / OBJECTS_PER_JUMP;
    activation.budget -= jumps as i64;
    if let Some(fuel) = fuel {
        let unpaid = activation.budget.min(0).unsigned_abs();
        *fuel = fuel.saturating_sub(unpaid.min(jumps as u64));
    }
}
