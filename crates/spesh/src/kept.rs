//! Profiles that outlive a process: statistics and plans of a program as plain numbers.
//!
//! ```text
//! profile
//!  ├─ units, codes          names of code: unit, index in the unit, fingerprint
//!  ├─ statistics            of the hottest codes, the hottest first
//!  ├─ plans                 of the specializations that were in use at the end
//!  ├─ retractions           how often such an entry point was retired
//!  └─ places                instructions at which guesses failed
//! ```
//!
//! Code is named by the number of its row in `codes`, an instruction by its word index in the code.
//! Nothing refers to the heap. Record types are told apart by their names, if no two have the same,
//! since their class keys differ from run to run. A profile is a hint, and its numbers may have been
//! written by anybody: a number without a meaning is left out.

use serde::{Deserialize, Serialize};

use crate::code_map::FastMap;
use crate::graph::EntryPoint;
use crate::snapshot::CodeWord;
use crate::types::Type;

/// Codes whose statistics are kept.
pub const CODES_MAX: usize = 512;
/// Plans that are kept.
pub const PLANS_MAX: usize = 512;
/// Places that are kept.
pub const PLACES_MAX: usize = 4096;
/// Name of the unit whose codes are those of the primitives as values, by number.
pub const PRIMITIVES: &str = "";

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptProfile {
    /// Names of units.
    pub units: Vec<String>,
    /// Names of record types.
    pub record_types: Vec<String>,
    /// The codes that the profile names.
    pub codes: Vec<KeptCode>,
    /// Observations of them, the hottest first.
    pub statistics: Vec<KeptStatistics>,
    /// Specializations in use.
    pub plans: Vec<KeptPlan>,
    /// Retired ones, by entry point.
    pub retractions: Vec<KeptRetractions>,
    /// Where guesses failed.
    pub places: Vec<KeptPlace>,
    /// How long the program ran, in all runs that the profile is of, up to a limit.
    pub milliseconds: u32,
}

/// The name of a code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeptCode {
    /// Row of its unit.
    pub unit: u32,
    /// Its index there.
    pub index: u32,
    /// Of its instructions.
    pub fingerprint: u64,
}

/// Counts of a few items, as [`crate::statistics::Histogram`] has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCounts {
    /// Types, as [`Classes`] writes them, or codes.
    pub counts: Vec<(u32, u32)>,
    /// Count of all others.
    pub others: u32,
}

/// Observations at an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSite {
    /// The instruction.
    pub pc: u32,
    /// Types of its results.
    pub types: KeptCounts,
    /// Code that it entered.
    pub callees: KeptCounts,
}

/// Calls with certain types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTuple {
    /// Types of the arguments.
    pub types: Vec<u32>,
    /// Calls, iterations of loops in them, greatest depth.
    pub counts: [u32; 3],
    /// Observations.
    pub sites: Vec<KeptSite>,
}

/// Calls with a number of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCallsite {
    /// Number of arguments.
    pub argument_count: u8,
    /// Calls, iterations of loops in them, greatest depth.
    pub counts: [u32; 3],
    /// Types by position.
    pub positions: Vec<KeptCounts>,
    /// By types.
    pub tuples: Vec<KeptTuple>,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLoop {
    /// The loop instruction.
    pub pc: u32,
    /// Times that it went back.
    pub hits: u32,
    /// Types of registers, without those at the end that have none.
    pub registers: Vec<KeptCounts>,
}

/// Statistics of a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptStatistics {
    /// The code.
    pub code: u32,
    /// Calls, iterations of loops, greatest depth.
    pub counts: [u32; 3],
    /// Entries of logs about it.
    pub events: u32,
    /// Its loops.
    pub loops: Vec<KeptLoop>,
    /// By number of arguments.
    pub callsites: Vec<KeptCallsite>,
    /// Observations that belong to no callsite.
    pub sites: Vec<KeptSite>,
}

/// A specialization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlan {
    /// The code.
    pub code: u32,
    /// Head of the loop; `None` for the start.
    pub head: Option<u32>,
    /// Types of the parameters.
    pub types: Vec<u32>,
    /// Calls that it served, those of the callsite or loop, depth.
    pub counts: [u32; 3],
    /// Logs before it was planned: what is hot is planned early.
    pub logs: u32,
    /// Time to compile it.
    pub microseconds: u32,
}

/// Retired specializations of an entry point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRetractions {
    /// The code.
    pub code: u32,
    /// Head of the loop; `None` for the start.
    pub head: Option<u32>,
    /// How many.
    pub count: u32,
}

/// An instruction at which guesses failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlace {
    /// The code.
    pub code: u32,
    /// The instruction.
    pub pc: u32,
    /// Kinds of the operands with which guesses failed.
    pub operands: u32,
    /// A bit for each sort of guess; the machine's registry of compiled code knows them.
    pub flags: u8,
}

/// A code of this process that a row of [`KeptProfile::codes`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedCode {
    /// The code.
    pub word: CodeWord,
    /// Address of its first instruction.
    pub start: u64,
    /// Words of its instructions.
    pub words: usize,
}

impl ResolvedCode {
    /// The address of an instruction.
    pub(crate) fn address(&self, pc: u32) -> Option<u64> {
        let is_inside = (pc as usize) < self.words;
        is_inside.then(|| self.start + 4 * u64::from(pc))
    }
}

/// The meaning of a profile's rows in this process.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// Codes by row; none for rows that name none.
    pub codes: Vec<Option<ResolvedCode>>,
    /// Class keys of record types by row.
    pub classes: Vec<Option<u32>>,
}

impl Resolved {
    /// Finds a code by its row.
    pub fn code(&self, row: u32) -> Option<ResolvedCode> {
        self.codes.get(row as usize).copied().flatten()
    }

    /// The type that a number stands for, never that of no value.
    pub(crate) fn ty(&self, bits: u32) -> Type {
        let kinds = match Type::of_kind_bits(bits) {
            Type::NONE => Type::ANY,
            kinds => kinds,
        };
        let row = (bits >> CLASS_SHIFT) as usize;
        let class = row.checked_sub(1).and_then(|row| self.classes.get(row));
        match class.copied().flatten() {
            // Records of one type, and whatever else there is.
            Some(class) => kinds.and(Type::record_of(class.into()).or(Type::RECORD_FREE)),
            None => kinds,
        }
    }
}

/// Bits of a number that stands for a type: the kinds, and above them a record type's row, counted
/// from one.
const CLASS_SHIFT: u32 = 24;
/// Record types that are told apart.
pub const CLASSES_MAX: usize = 255;

/// Rows of record types by class key.
#[derive(Clone, Debug, Default)]
pub struct Classes(pub FastMap<u32, u8>);

impl Classes {
    /// The number that stands for a type.
    pub(crate) fn bits(&self, ty: Type) -> u32 {
        let row = ty.record_class().and_then(|class| self.0.get(&class));
        let row = row.map_or(0, |row| u32::from(*row) + 1);
        ty.kind_bits() | row << CLASS_SHIFT
    }
}

/// An entry point as it is kept.
pub fn kept_head(entry: EntryPoint) -> Option<u32> {
    match entry {
        EntryPoint::Start => None,
        EntryPoint::Loop(pc) => Some(pc as u32),
    }
}

/// The entry point that was kept.
pub fn entry_of(head: Option<u32>) -> EntryPoint {
    head.map_or(EntryPoint::Start, |pc| EntryPoint::Loop(pc as usize))
}

/// Mixes the words of a code into a number that tells it from other code.
pub fn fingerprint(instructions: &[u32], frame_words: u32) -> u64 {
    instructions
        .iter()
        .chain([&frame_words])
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
            let mixed = (hash ^ u64::from(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        })
}
