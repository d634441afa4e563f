//! Objects whose death somebody wants to hear of: guarded objects and externals.
//!
//! Registrations are kept in two lists, those made since the last collection and the older ones,
//! whose objects a minor collection cannot kill.

use canny_value::Value;

use crate::shape;
use crate::tracer::{CollectionMode, Tracer};

/// A guarded object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded {
    object: u64,
    guardian: u64,
}

/// An object that stands for something of the host's.
#[derive(Clone, Copy, Debug)]
struct External {
    object: u64,
    id: u64,
}

/// All registrations, and the collector's findings.
#[derive(Default)]
pub(crate) struct Finalization {
    guarded_young: Vec<Guarded>,
    guarded_old: Vec<Guarded>,
    pub(crate) externals: Watched,
    pub(crate) samples: Watched,
}

/// Objects with numbers that are told when the objects are dead.
#[derive(Default)]
pub(crate) struct Watched {
    young: Vec<External>,
    old: Vec<External>,
    pub(crate) dead: Vec<u64>,
}

impl Watched {
    pub(crate) fn register(&mut self, object: Value, id: u64) {
        if object.is_reference() {
            self.young.push(External {
                object: object.bits(),
                id,
            });
        }
    }

    /// Queues the numbers of dead objects.
    fn sweep(&mut self, tracer: &Tracer<'_>) {
        let mut candidates = std::mem::take(&mut self.young);
        if tracer.mode() == CollectionMode::Full {
            let mut all = std::mem::take(&mut self.old);
            all.append(&mut candidates);
            candidates = all;
        }
        for External { object, id } in candidates {
            match tracer.forwarded_if_alive(object) {
                Some(object) => self.old.push(External { object, id }),
                None => self.dead.push(id),
            }
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.young.iter().chain(&self.old).map(|entry| entry.object)
    }

    /// The addresses of the objects with their numbers. Some are of objects that have died since the last
    /// collection.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let all = self.young.iter().chain(&self.old);
        all.map(|entry| (shape::address_of(entry.object), entry.id))
    }
}

impl Finalization {
    pub(crate) fn register_guardian(&mut self, object: Value, guardian: Value) {
        if !object.is_reference() || !guardian.is_reference() {
            // A value that is no reference never dies.
            return;
        }
        self.guarded_young.push(Guarded {
            object: object.bits(),
            guardian: guardian.bits(),
        });
    }

    /// Decides about guarded objects: the dead ones of live guardians are brought back and put on
    /// their guardians' lists. Everything reachable otherwise has been traced.
    pub(crate) fn guard(&mut self, tracer: &mut Tracer<'_>) {
        let mut undecided = std::mem::take(&mut self.guarded_young);
        if tracer.mode() == CollectionMode::Full {
            let mut all = std::mem::take(&mut self.guarded_old);
            all.append(&mut undecided);
            undecided = all;
        }
        loop {
            let mut dead = Vec::new();
            let mut waiting = Vec::new();
            for entry in undecided {
                let Some(guardian) = tracer.forwarded_if_alive(entry.guardian) else {
                    waiting.push(entry);
                    continue;
                };
                match tracer.forwarded_if_alive(entry.object) {
                    Some(object) => self.guarded_old.push(Guarded { object, guardian }),
                    None => dead.push(Guarded { guardian, ..entry }),
                }
            }
            if dead.is_empty() {
                // The guardians of those that wait are dead, and their registrations with them.
                return;
            }
            for entry in &mut dead {
                entry.object = tracer.trace(entry.object);
            }
            // The sort is stable: each guardian keeps its order.
            dead.sort_by_key(|entry| entry.guardian);
            for group in dead.chunk_by(|a, b| a.guardian == b.guardian) {
                deliver(tracer, group);
            }
            tracer.drain_with_ephemerons();
            undecided = waiting;
        }
    }

    /// Queues the numbers of dead externals and samples.
    pub(crate) fn sweep_watched(&mut self, tracer: &Tracer<'_>) {
        self.externals.sweep(tracer);
        self.samples.sweep(tracer);
    }

    /// Guarded objects and their guardians.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        let guarded = self.guarded_young.iter().chain(&self.guarded_old);
        // SAFETY: registrations hold words of values, which every collection updates.
        guarded.map(|entry| unsafe { (shape::value(entry.object), shape::value(entry.guardian)) })
    }

    /// Words that registrations hold, for the verifier.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let guarded = self.guarded_young.iter().chain(&self.guarded_old);
        guarded
            .flat_map(|entry| [entry.object, entry.guardian])
            .chain(self.externals.words())
            .chain(self.samples.words())
    }
}

/// Appends objects to the `ready` list of their common guardian. All words are up to date.
fn deliver(tracer: &mut Tracer<'_>, group: &[Guarded]) {
    let mut slot = last_link(shape::address_of(group[0].guardian) + 8, tracer);
    for entry in group {
        let pair = tracer.promoted_pair(entry.object, Value::NIL.bits());
        // SAFETY: the slot is a guardian's field or the cdr of a pair of its list, all live.
        unsafe { shape::write(slot, pair) };
        slot = shape::address_of(pair) + 8;
    }
}

/// The slot at the end of the list in `slot`, which holds the empty list.
fn last_link(mut slot: usize, tracer: &mut Tracer<'_>) -> usize {
    loop {
        // SAFETY: a field of a live guardian, or the cdr of a live pair.
        let word = unsafe { shape::read(slot) };
        if !Value::is_pair(
            // SAFETY: the word was read out of a live object.
            unsafe { shape::value(word) },
        ) {
            return slot;
        }
        let word = tracer.trace(word);
        // SAFETY: as above; tracing gave the word that names the pair from now on.
        unsafe { shape::write(slot, word) };
        slot = shape::address_of(word) + 8;
    }
}
