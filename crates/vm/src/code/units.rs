//! Metadata of the loaded units, by number: names, positions and parameters of their code.
//!
//! A unit is forgotten once the last of its code objects died, and its number is used again. Full
//! collections tell: code does not move and only they free it. A unit that is still being loaded has
//! code objects yet to come and stays.

use std::sync::Arc;

use canny_heap::{WeakRoots, WeakVisitor};
use canny_locks::{Mutex, MutexGuard};
use canny_value::Value;

use crate::code::UnitMetadata;

/// The units of a machine.
#[derive(Debug, Default)]
pub(crate) struct Units {
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    units: Vec<Option<Unit>>,
    free: Vec<usize>,
    /// Units added since the last full collection, and those that it left.
    fresh: usize,
    left: usize,
}

/// Units after which a full collection is worth it, if there are not more than that from before:
/// their metadata outside of the heap does not make the heap want one.
const FRESH_MAX: usize = 16384;

#[derive(Debug)]
struct Unit {
    metadata: Arc<UnitMetadata>,
    /// The code objects that are alive; none as long as the unit is being loaded.
    codes: Option<Vec<Value>>,
}

/// The units as the heap holds them.
pub(crate) struct UnitsHandle(pub(crate) Arc<Units>);

impl Units {
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock()
    }

    /// Keeps a unit's metadata; gives its number.
    pub(crate) fn add(&self, metadata: UnitMetadata) -> usize {
        let mut places = self.lock();
        places.fresh += 1;
        let unit = Some(Unit {
            metadata: Arc::new(metadata),
            codes: None,
        });
        match places.free.pop() {
            Some(number) => {
                places.units[number] = unit;
                number
            }
            None => {
                places.units.push(unit);
                places.units.len() - 1
            }
        }
    }

    /// Whether so many units were loaded that a full collection is worth it.
    pub(crate) fn want_collection(&self) -> bool {
        let places = self.lock();
        places.fresh > FRESH_MAX.max(places.left)
    }

    /// Says which code objects the unit has; no others will come.
    pub(crate) fn finish(&self, number: usize, codes: &[Value]) {
        if let Some(Some(unit)) = self.lock().units.get_mut(number) {
            unit.codes = Some(codes.to_vec());
        }
    }

    /// The metadata of a unit.
    pub(crate) fn get(&self, number: usize) -> Option<Arc<UnitMetadata>> {
        let places = self.lock();
        let unit = places.units.get(number)?.as_ref()?;
        Some(unit.metadata.clone())
    }

    /// The metadata of all units, by number.
    pub(crate) fn all(&self) -> Vec<Option<Arc<UnitMetadata>>> {
        let places = self.lock();
        let units = places.units.iter();
        let metadata = units.map(|unit| Some(unit.as_ref()?.metadata.clone()));
        metadata.collect()
    }

    /// Shows every code object that is alive, with the metadata of its unit. The code of a unit that is
    /// being loaded is left out.
    pub(crate) fn each_code(&self, mut visit: impl FnMut(&UnitMetadata, usize, Value)) {
        let places = self.lock();
        for (number, unit) in places.units.iter().enumerate() {
            if let Some(Unit {
                metadata,
                codes: Some(codes),
            }) = unit
            {
                codes.iter().for_each(|code| visit(metadata, number, *code));
            }
        }
    }

    /// Units that are known.
    pub(crate) fn count(&self) -> usize {
        self.lock().units.iter().flatten().count()
    }
}

impl WeakRoots for UnitsHandle {
    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>) {
        if visitor.is_minor() {
            return;
        }
        let mut places = self.0.lock();
        let Places {
            units,
            free,
            fresh,
            left,
        } = &mut *places;
        for (number, place) in units.iter_mut().enumerate() {
            let Some(Unit {
                codes: Some(codes), ..
            }) = place
            else {
                continue;
            };
            codes.retain(|code| visitor.forwarded_if_alive(*code).is_some());
            if codes.is_empty() {
                *place = None;
                free.push(number);
            }
        }
        *left = units.len() - free.len();
        *fresh = 0;
    }
}
