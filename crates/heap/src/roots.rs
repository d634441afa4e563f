//! The interface through which hosts show the collector references outside of the heap.
//!
//! Roots are precise: the collector may move what they name, and updates them. They are visited on
//! the collecting thread while every mutator is stopped, so an implementation must neither allocate
//! nor call into the heap. An object that has survived a collection stays where it is, so a minor
//! collection need not visit roots that have not changed since the last one.

use std::ops::Range;

use canny_value::Value;

use crate::listing::RootListing;
use crate::shape;
use crate::tracer::{CollectionMode, Tracer};

/// Something outside the heap that holds references precisely.
pub trait Roots {
    /// Visits every reference held.
    ///
    /// # Safety
    /// Called by the collector only, on the thread that collects, while every mutator is stopped;
    /// it must neither allocate nor call into the heap.
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode);

    /// Lists every reference held, by reason, for a survey. It changes nothing.
    ///
    /// # Safety
    /// As for [`Roots::visit_roots`].
    unsafe fn list_roots(&mut self, listing: &mut RootListing);
}

/// Shows roots to the collector, which updates them when it moves what they refer to.
pub struct RootVisitor<'a, 'h> {
    pub(crate) tracer: &'a mut Tracer<'h>,
}

impl RootVisitor<'_, '_> {
    /// Whether the collection takes the nursery only.
    pub fn is_minor(&self) -> bool {
        self.tracer.mode() == CollectionMode::Minor
    }

    /// Visits one word, a reference or not.
    #[inline]
    pub fn visit(&mut self, slot: &mut Value) {
        let word = slot.bits();
        if shape::is_reference(word) {
            // SAFETY: a `Value` that is a reference names a live object, and the tracer returns the
            // word that names it from now on.
            *slot = unsafe { Value::from_bits(self.tracer.trace(word)) };
        }
    }

    /// Visits `length` adjacent words.
    ///
    /// # Safety
    /// The words are initialized, and the caller may write them.
    #[inline]
    pub unsafe fn visit_slice(&mut self, first: *mut Value, length: usize) {
        for index in 0..length {
            // SAFETY: the caller's contract.
            self.visit(unsafe { &mut *first.add(index) });
        }
    }

    /// Keeps alive the code object that an address lies in, if there is one; code does not move.
    /// For return addresses and other raw pointers into code.
    pub fn visit_code_address(&mut self, address: usize) {
        self.tracer.keep_code_at(address);
    }
}

/// A table that holds references without keeping their objects alive, such as the symbol table.
pub trait WeakRoots {
    /// Drops the references that died and updates the others. Called after each marking, once the
    /// collector knows what is alive (guarded objects included).
    ///
    /// # Safety
    /// As for [`Roots::visit_roots`].
    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>);

    /// In a full collection, shows what is to be kept only because something else is alive, once
    /// everything reachable was found; called again until it shows nothing new. Whether it showed
    /// anything that was not alive before.
    ///
    /// # Safety
    /// As for [`Roots::visit_roots`].
    unsafe fn visit_dependents(&mut self, _visitor: &mut DependentVisitor<'_, '_>) -> bool {
        false
    }

    /// Lists for a survey what [`WeakRoots::visit_dependents`] would keep, by what it depends on.
    ///
    /// # Safety
    /// As for [`Roots::visit_roots`].
    unsafe fn list_dependents(&mut self, _listing: &mut RootListing) {}
}

/// Shows the collector what lives as long as something else does.
pub struct DependentVisitor<'a, 'h> {
    pub(crate) tracer: &'a mut Tracer<'h>,
}

impl DependentVisitor<'_, '_> {
    /// Whether an object is known to be alive by now.
    pub fn is_alive(&self, value: Value) -> bool {
        self.tracer.forwarded_if_alive(value.bits()).is_some()
    }

    /// Keeps an object alive that does not move.
    pub fn keep(&mut self, value: Value) {
        let word = value.bits();
        if shape::is_reference(word) {
            let kept = self.tracer.trace(word);
            debug_assert_eq!(kept, word, "what depends on something else does not move");
        }
    }
}

/// Memory beside the heap to which native stacks and objects refer by raw addresses, such as machine
/// code. Full collections tell its owner which addresses somebody still has. Frames, which the heap
/// does not know, are the owner's to look at.
pub trait RawReferences {
    /// A full collection begins, before any root is visited: the addresses to look for, or none this time.
    fn begin(&mut self) -> Option<Range<usize>>;

    /// A word in that range was found on a native stack, in a register or in a closure.
    fn see(&mut self, address: usize);

    /// Everything was looked at. Every mutator is still stopped.
    fn end(&mut self);
}

/// Tells weak tables what is alive.
pub struct WeakVisitor<'a, 'h> {
    pub(crate) tracer: &'a Tracer<'h>,
}

impl WeakVisitor<'_, '_> {
    /// Whether the collection took the nursery only, so that references which survived an earlier
    /// collection are alive and have not moved.
    pub fn is_minor(&self) -> bool {
        self.tracer.mode() == CollectionMode::Minor
    }

    /// The value to hold from now on, or `None` if its object died. Values that are not references
    /// are alive.
    pub fn forwarded_if_alive(&self, value: Value) -> Option<Value> {
        self.tracer.forwarded_if_alive(value.bits()).map(|word| {
            // SAFETY: the tracer says that the object is alive and named by this word.
            unsafe { shape::value(word) }
        })
    }
}
