//! Showing the machine's references to the collector.
//!
//! A thread's frames are walked from the newest: the top frame's live registers come from a
//! liveness analysis at its pc, those of the others from the live map in front of their return address.
//! Collections of the nursery stop at the watermark, below which nothing changed since the last
//! collection; afterwards the return barrier is put a little below the top.

use std::collections::HashMap;
use std::sync::Arc;

use canny_heap::{CollectionMode, RootLabel, RootListing, RootVisitor, Roots};
use canny_locks::Mutex;
use canny_value::Value;

use crate::frames::{FrameWalk, Step};
use crate::thread::Thread;

/// Values that Rust structures of the machine keep, by slot and by name.
#[derive(Debug, Default)]
pub(crate) struct SharedRoots {
    inner: Mutex<SharedValues>,
}

#[derive(Debug, Default)]
struct SharedValues {
    named: HashMap<&'static str, Value>,
    procedures: Vec<Value>,
    /// Code whose calls were counted.
    counted_code: Vec<Value>,
}

impl SharedRoots {
    pub(crate) fn set_named(&self, name: &'static str, value: Value) {
        self.inner.lock().named.insert(name, value);
    }

    /// The value with a name, which is this one if there is none.
    pub(crate) fn named_or_set(&self, name: &'static str, value: Value) -> Value {
        let mut inner = self.inner.lock();
        *inner.named.entry(name).or_insert(value)
    }

    pub(crate) fn named(&self, name: &'static str) -> Option<Value> {
        self.inner.lock().named.get(name).copied()
    }

    /// Keeps code alive until the machine ends.
    pub(crate) fn keep_code(&self, code: Value) {
        self.inner.lock().counted_code.push(code);
    }

    /// The procedure object of a primitive, if it was made.
    pub(crate) fn procedure(&self, id: usize) -> Option<Value> {
        let inner = self.inner.lock();
        inner
            .procedures
            .get(id)
            .copied()
            .filter(|value| value.is_true())
    }

    /// The procedure object of a primitive, which is this one if none was made.
    pub(crate) fn procedure_or_set(&self, id: usize, value: Value) -> Value {
        let mut inner = self.inner.lock();
        if inner.procedures.len() <= id {
            inner.procedures.resize(id + 1, Value::FALSE);
        }
        if !inner.procedures[id].is_true() {
            inner.procedures[id] = value;
        }
        inner.procedures[id]
    }
}

impl Roots for SharedRootsHandle {
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, _mode: CollectionMode) {
        let mut inner = self.0.inner.lock();
        for value in inner.named.values_mut() {
            visitor.visit(value);
        }
        for value in &mut inner.counted_code {
            visitor.visit(value);
        }
        for value in &mut inner.procedures {
            visitor.visit(value);
        }
    }

    unsafe fn list_roots(&mut self, listing: &mut RootListing) {
        let inner = self.0.inner.lock();
        let machine = listing.group(RootLabel::of_family("machine"));
        let mut named: Vec<_> = inner.named.iter().collect();
        named.sort_unstable_by_key(|(name, _)| **name);
        for (name, value) in named {
            listing.add_named(machine, *name, *value);
        }
        let primitives = listing.group(RootLabel::of_family("primitives"));
        let counted = listing.group(RootLabel::of_family("counted code"));
        for (node, values) in [
            (primitives, &inner.procedures),
            (counted, &inner.counted_code),
        ] {
            values.iter().for_each(|value| listing.add(node, *value));
        }
    }
}

/// The shared roots as the heap holds them.
pub(crate) struct SharedRootsHandle(pub(crate) Arc<SharedRoots>);

impl Roots for Thread {
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        let dynamic = &mut self.dynamic;
        for value in [
            &mut dynamic.winders,
            &mut dynamic.handlers,
            &mut dynamic.parameters,
        ] {
            visitor.visit(value);
        }
        for value in &mut dynamic.default_ports {
            visitor.visit(value);
        }
        visitor.visit(&mut self.tasks.current);
        visitor.visit(&mut self.profile.parked);
        visitor.visit(&mut self.pending);
        visitor.visit(&mut self.sealed.continuation);
        visitor.visit(&mut self.continuation_code);
        visitor.visit(&mut self.escape_code);
        for value in self.embedded.values_mut() {
            visitor.visit(value);
        }
        for value in &mut self.scratch {
            visitor.visit(value);
        }
        self.visit_frames(visitor, mode);
        if mode == CollectionMode::Full {
            self.show_return_addresses();
        }
        if mode == CollectionMode::Full {
            self.vm.liveness.clear();
            self.vm.profiler.code_was_freed();
            self.discard_log();
        }
    }

    unsafe fn list_roots(&mut self, listing: &mut RootListing) {
        let name = match self.tasks.worker {
            Some(worker) => format!("worker {}", worker.index()),
            None => "helper".to_owned(),
        };
        let node = listing.group(RootLabel::named("thread", name));
        let dynamic = &self.dynamic;
        for (name, value) in [
            ("winders", dynamic.winders),
            ("handlers", dynamic.handlers),
            ("parameters", dynamic.parameters),
            ("input port", dynamic.default_ports[0]),
            ("output port", dynamic.default_ports[1]),
            ("error port", dynamic.default_ports[2]),
            ("task", self.tasks.current),
            ("tasks that wait", self.profile.parked),
            ("condition", self.pending),
            ("continuation", self.sealed.continuation),
            ("code of continuations", self.continuation_code),
            ("code of escapes", self.escape_code),
        ] {
            listing.add_named(node, name, value);
        }
        let held = listing.group_in(node, RootLabel::of_family("primitive"));
        for value in self.scratch.iter().chain(self.embedded.values()) {
            listing.add(held, *value);
        }
        self.list_frames(listing, node);
    }
}

/// Frames that a minor collection visits again although they may not have run since the last one.
const REVISITED_FRAMES: usize = 32;

impl Thread {
    /// Shows where the frames on the stack and the newest sealed one resume, if retired code is looked
    /// for; the heap shows what continuations hold.
    fn show_return_addresses(&self) {
        self.vm.specializer.show_return_addresses(|show| {
            show(self.sealed.pc as usize);
            let mut walk = FrameWalk::new(self);
            while let Some(step) = walk.next() {
                show(step.return_pc as usize);
            }
        });
    }

    fn visit_frames(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        let old_watermark = self.watermark.fp;
        let mut barrier_at: Option<*mut Value> = None;
        let mut depth = 0usize;
        let mut walk = FrameWalk::new(self);
        while let Some(step) = walk.next_settled(|closure| visitor.visit(closure)) {
            let Step { fp, live, .. } = step;
            // SAFETY: the walk gives live frames; their live registers hold values.
            unsafe { live.each(|register| visitor.visit(&mut *fp.add(register))) };
            depth += 1;
            if depth >= REVISITED_FRAMES && barrier_at.is_none() && step.may_hold_barrier {
                barrier_at = Some(fp);
            }
            // Everything below the frame that returns through the barrier was visited last time.
            if mode == CollectionMode::Minor && fp == old_watermark && !old_watermark.is_null() {
                return;
            }
        }
        if depth > 4 * REVISITED_FRAMES
            && let Some(fp) = barrier_at
        {
            self.place_barrier(fp);
        }
    }
}
