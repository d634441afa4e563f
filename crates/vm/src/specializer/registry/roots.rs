//! The collector's view of the registry. Snapshots that somebody holds keep their code alive, other
//! known code is held weakly, and candidates live as long as the code that they were compiled for.

use std::collections::HashMap;
use std::sync::Arc;

use canny_heap::{
    CollectionMode, DependentVisitor, RootLabel, RootListing, RootVisitor, Roots, WeakRoots,
    WeakVisitor,
};
use canny_spesh::snapshot::CodeSnapshot;

use super::{KnownCode, Registry};
use crate::specializer::Specializer;

/// The registry as the heap holds it.
pub(crate) struct SpecializerHandle(pub(crate) Arc<Specializer>);

impl Roots for SpecializerHandle {
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        let mut registry = self.0.lock();
        registry.watches.visit(visitor, mode);
        // Code is old from birth: only full collections decide about it.
        if mode == CollectionMode::Minor {
            return;
        }
        registry.is_collecting = true;
        for candidate in registry.candidates.values_mut() {
            candidate.is_shown = false;
        }
        let holders = registry.holders();
        for known in registry.codes.values_mut() {
            if known.is_held(&holders) {
                visitor.visit(&mut known.code);
            }
        }
    }

    unsafe fn list_roots(&mut self, listing: &mut RootListing) {
        let registry = self.0.lock();
        let watched = listing.group(RootLabel::of_family("watched variables"));
        registry
            .watches
            .each(|cell| listing.add_leftover(watched, cell));
        let compiled = listing.group(RootLabel::of_family("code being compiled"));
        let holders = registry.holders();
        for known in registry.codes.values() {
            if known.is_held(&holders) {
                listing.add(compiled, known.code);
            }
        }
    }
}

/// By snapshot, how many candidates have it.
type Holders = HashMap<*const CodeSnapshot, usize>;

impl Registry {
    fn holders(&self) -> Holders {
        let mut holders = Holders::new();
        for code in self.candidates.values().flat_map(|it| &it.codes) {
            *holders.entry(Arc::as_ptr(code)).or_default() += 1;
        }
        holders
    }
}

impl KnownCode {
    /// Whether somebody else than candidates has its snapshot.
    fn is_held(&self, holders: &Holders) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| {
            let candidates = holders.get(&Arc::as_ptr(snapshot)).copied();
            Arc::strong_count(snapshot) > 1 + candidates.unwrap_or(0)
        })
    }
}

impl WeakRoots for SpecializerHandle {
    unsafe fn visit_dependents(&mut self, visitor: &mut DependentVisitor<'_, '_>) -> bool {
        let mut registry = self.0.lock();
        let Registry {
            codes, candidates, ..
        } = &mut *registry;
        let mut progress = false;
        for candidate in candidates.values_mut().filter(|it| !it.is_shown) {
            let own = codes.get(&candidate.code);
            if own.is_none_or(|own| !visitor.is_alive(own.code)) {
                continue;
            }
            candidate.is_shown = true;
            for code in &candidate.codes {
                if let Some(known) = codes.get(&code.word)
                    && !visitor.is_alive(known.code)
                {
                    visitor.keep(known.code);
                    progress = true;
                }
            }
        }
        progress
    }

    unsafe fn list_dependents(&mut self, listing: &mut RootListing) {
        let registry = self.0.lock();
        let node = listing.group(RootLabel::of_family("compiled code"));
        for candidate in registry.candidates.values() {
            let Some(own) = registry.codes.get(&candidate.code) else {
                continue;
            };
            for code in &candidate.codes {
                if let Some(known) = registry.codes.get(&code.word) {
                    listing.add_dependent(node, own.code, known.code);
                }
            }
        }
    }

    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>) {
        if visitor.is_minor() {
            return;
        }
        let mut registry = self.0.lock();
        registry.is_collecting = false;
        let Registry {
            codes,
            places,
            dead,
            ..
        } = &mut *registry;
        codes.retain(|code, known| {
            let is_alive = visitor.forwarded_if_alive(known.code).is_some();
            if !is_alive {
                dead.push(*code);
            }
            is_alive
        });
        places.retain(|(code, _), _| codes.contains_key(code));
        registry.left = registry.codes.len();
        registry.retire_orphans();
    }
}
