//! The specializer's knowledge of a program as a profile for its next start, and back.
//!
//! A profile names code by its unit, its index there and a fingerprint of its instructions. The
//! first unit of a name counts: of forms that are evaluated one after another all but the first have
//! no names. The code of a primitive as a value has the primitive's number. Both directions read
//! code objects, so a thread of the machine does them; the host reads and writes files.

use std::collections::HashMap;

use canny_spesh::code_map::CodeMap;
use canny_spesh::kept::{
    CLASSES_MAX, CODES_MAX, Classes, KeptCode, KeptPlace, KeptPlan, KeptProfile, KeptRetractions,
    PLACES_MAX, PLANS_MAX, PRIMITIVES, ResolvedCode, fingerprint, kept_head,
};
use canny_spesh::snapshot::CodeWord;
use canny_value::Value;

use super::worker::kept::Restored;
use crate::Vm;
use crate::code::{CodeRef, UnitMetadata};
use crate::thread::Thread;

/// Codes that a profile names.
const NAMES_MAX: usize = 4 * CODES_MAX;

/// Where a code comes from: the number of its unit, or none for a primitive, and its index.
type Origin = (Option<usize>, u32);

fn origin(metadata: &UnitMetadata, number: usize, code: CodeRef) -> Option<Origin> {
    let (_, index) = code.metadata_index()?;
    match metadata.codes.get(index)?.primitive {
        Some(primitive) => Some((None, primitive.into())),
        None => Some((Some(number), index as u32)),
    }
}

fn fingerprint_of(code: CodeRef) -> u64 {
    fingerprint(&code.plain_instructions(), code.frame_words() as u32)
}

/// The names that a profile gives to codes.
struct Names {
    /// The codes that can have a name.
    origins: CodeMap<(Origin, Value)>,
    unit_names: HashMap<usize, String>,
    /// Rows of units in the profile.
    units: HashMap<Option<usize>, u32>,
    rows: CodeMap<u32>,
    profile: KeptProfile,
}

impl Names {
    fn new(vm: &Vm) -> Names {
        let mut first: HashMap<String, usize> = HashMap::new();
        let mut origins = CodeMap::default();
        vm.units.each_code(|metadata, number, value| {
            let Some(code) = CodeRef::of_value(value) else {
                return;
            };
            let Some(origin) = origin(metadata, number, code) else {
                return;
            };
            if origin.0.is_some() {
                let known = first.get(&metadata.name).copied();
                if known.is_none() {
                    first.insert(metadata.name.clone(), number);
                } else if known != Some(number) {
                    return;
                }
            }
            origins.insert(CodeWord(code.word()), (origin, value));
        });
        Names {
            origins,
            unit_names: first
                .into_iter()
                .map(|(name, number)| (number, name))
                .collect(),
            units: HashMap::new(),
            rows: CodeMap::default(),
            profile: KeptProfile::default(),
        }
    }

    fn row(&mut self, word: CodeWord) -> Option<u32> {
        if let Some(row) = self.rows.get(&word) {
            return Some(*row);
        }
        if self.profile.codes.len() >= NAMES_MAX {
            return None;
        }
        let ((unit, index), value) = *self.origins.get(&word)?;
        let code = CodeRef::of_value(value)?;
        let unit = match self.units.get(&unit) {
            Some(row) => *row,
            None => {
                let name = match unit {
                    Some(number) => self.unit_names.get(&number)?.clone(),
                    None => PRIMITIVES.to_owned(),
                };
                self.profile.units.push(name);
                let row = self.profile.units.len() as u32 - 1;
                self.units.insert(unit, row);
                row
            }
        };
        self.profile.codes.push(KeptCode {
            unit,
            index,
            fingerprint: fingerprint_of(code),
        });
        let row = self.profile.codes.len() as u32 - 1;
        self.rows.insert(word, row);
        Some(row)
    }
}

impl Thread {
    /// The profile that the specializer has of the program; nothing if that is little, or if an earlier
    /// profile told the same.
    pub fn learned_profile(&mut self) -> Option<KeptProfile> {
        let vm = self.vm.clone();
        let learned = vm.log_worker.learned()?;
        // The worker takes both in this order.
        let statistics = learned.statistics.read();
        let used = learned.used.lock();
        let time = used.birth.map(|birth| birth.elapsed())?;
        if used.news == 0 {
            return None;
        }
        let mut names = Names::new(&vm);
        let mut classes = Classes::default();
        let mut record_types: Vec<_> = vm.specializer.named_record_types().into_iter().collect();
        record_types.sort();
        record_types.truncate(CLASSES_MAX);
        for (row, (name, class)) in (0..).zip(record_types) {
            names.profile.record_types.push(name);
            classes.0.insert(class, row);
        }
        let kept = statistics.kept(&used.statistics, &classes, &mut |word| names.row(word));
        let registry = vm.specializer.lock();
        let mut plans: Vec<KeptPlan> = Vec::new();
        for used in &used.plans {
            let plan = &used.plan;
            if plans.len() < PLANS_MAX
                && registry.is_in_use(plan.code, plan.entry)
                && let Some(row) = names.row(plan.code)
            {
                plans.push(KeptPlan {
                    logs: used.logs,
                    microseconds: used.time.as_micros().min(u32::MAX.into()) as u32,
                    ..KeptPlan::of(plan, row, &classes)
                });
            }
        }
        let mut retractions: Vec<KeptRetractions> = Vec::new();
        for ((code, entry), count) in &used.retractions {
            if let Some(row) = names.row(*code) {
                retractions.push(KeptRetractions {
                    code: row,
                    head: kept_head(*entry),
                    count: *count,
                });
            }
        }
        retractions.sort_by_key(|row| (row.code, row.head));
        let mut places: Vec<KeptPlace> = Vec::new();
        for (code, pc, operands, flags) in registry.kept_places() {
            if places.len() < PLACES_MAX
                && let Some(row) = names.row(code)
            {
                places.push(KeptPlace {
                    code: row,
                    pc: pc as u32,
                    operands,
                    flags,
                });
            }
        }
        let time = (used.time_before + time).as_millis();
        (!plans.is_empty() || !retractions.is_empty()).then(|| KeptProfile {
            statistics: kept,
            plans,
            retractions,
            places,
            milliseconds: u32::try_from(time).unwrap_or(u32::MAX),
            ..names.profile
        })
    }

    /// Takes a profile of earlier runs over: the program's code is loaded and has not run yet. Gives
    /// the number of codes that it names and that there are.
    pub fn restore_profile(&mut self, profile: KeptProfile) -> usize {
        let rows = profile.codes.iter().enumerate();
        let wanted: HashMap<(u32, u32), usize> = rows
            .map(|(row, code)| ((code.unit, code.index), row))
            .collect();
        let units: HashMap<&str, u32> = (0..)
            .zip(&profile.units)
            .map(|(row, name)| (&**name, row))
            .collect();
        let mut codes: Vec<Option<ResolvedCode>> = vec![None; profile.codes.len()];
        self.vm.units.each_code(|metadata, number, value| {
            let Some(code) = CodeRef::of_value(value) else {
                return;
            };
            let is_machine = metadata
                .codes
                .first()
                .is_some_and(|code| code.primitive.is_some());
            let name = if is_machine {
                PRIMITIVES
            } else {
                &metadata.name
            };
            if let Some(unit) = units.get(name)
                && let Some((_, index)) = origin(metadata, number, code)
                && let Some(row) = wanted.get(&(*unit, index))
                && codes[*row].is_none()
                && fingerprint_of(code) == profile.codes[*row].fingerprint
            {
                codes[*row] = Some(ResolvedCode {
                    word: CodeWord(code.word()),
                    start: code.start() as u64,
                    words: code.instructions().len(),
                });
            }
        });
        let count = codes.iter().flatten().count();
        let mut registry = self.vm.specializer.lock();
        for place in profile.places.iter().take(PLACES_MAX) {
            let code = codes.get(place.code as usize).copied().flatten();
            if let Some(code) = code.filter(|code| (place.pc as usize) < code.words) {
                registry.restore_place(code.word, place.pc as usize, place.operands, place.flags);
            }
        }
        drop(registry);
        self.vm.log_worker.restore(Restored { profile, codes });
        count
    }

    /// Writes a line to the specializer's log, if there is one.
    pub fn note_for_specializer(&self, text: &str) {
        self.vm.log_worker.note(text);
    }
}
