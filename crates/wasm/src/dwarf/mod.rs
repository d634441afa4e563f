//! Source lines and inlined functions of guests, by the DWARF in custom sections of modules.
//!
//! Addresses are offsets from the beginning of the code section's contents. Nothing is read before the
//! first question. Tables of units are made when they are needed, and kept as long as all together are not
//! too large. Malformed sections have no places: each step is limited by their bytes or a constant.

mod unit;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::Arc;

use canny_locks::Mutex;
use gimli::{DebugInfoOffset, Dwarf, EndianSlice, LittleEndian, SectionId};

use self::unit::UnitTables;

/// A part of a section.
type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A place in source text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourcePlace {
    /// The path as the compiler has noted it.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if it is not known.
    pub column: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

/// A function at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFrame {
    /// Its name, as the compiler has noted it for linkers.
    pub function: Option<Arc<str>>,
    pub place: Option<SourcePlace>,
}

/// A module's debug information.
#[derive(Debug)]
pub struct DebugInformation {
    /// Sections by their identifiers, as ranges of bytes.
    sections: Vec<(SectionId, Range<usize>)>,
    units: Vec<UnitRange>,
    state: Mutex<State>,
}

/// Addresses of a unit.
#[derive(Clone, Copy, Debug)]
struct UnitRange {
    start: u32,
    end: u32,
    unit: usize,
}

#[derive(Default, Debug)]
struct State {
    tables: HashMap<usize, Arc<UnitTables>>,
    rows: usize,
    answers: HashMap<u32, Arc<[SourceFrame]>>,
}

/// Most ranges of addresses of all units.
const RANGES_MAX: usize = 1 << 20;
/// Most rows of tables that are kept, at some 20 bytes each.
const ROWS_MAX: usize = 4 << 20;
/// Most answers that are kept.
const ANSWERS_MAX: usize = 1 << 14;

impl DebugInformation {
    /// The debug information in sections, with their names; none without the necessary ones.
    pub fn new(
        bytes: &[u8],
        named: impl Iterator<Item = (String, Range<usize>)>,
    ) -> Option<DebugInformation> {
        let mut sections = Vec::new();
        for (name, range) in named {
            if let Some(id) = known(&name) {
                sections.push((id, range));
            }
        }
        let has = |id| sections.iter().any(|(known, _)| *known == id);
        if !has(SectionId::DebugInfo) || !has(SectionId::DebugAbbrev) {
            return None;
        }
        let mut information = DebugInformation {
            sections,
            units: Vec::new(),
            state: Mutex::default(),
        };
        information.units = information.unit_ranges(bytes);
        Some(information)
    }

    fn dwarf<'a>(&self, bytes: &'a [u8]) -> Dwarf<Slice<'a>> {
        let load = |id: SectionId| -> Result<Slice<'a>, gimli::Error> {
            let mut known = self.sections.iter();
            let range = known.find(|(known, _)| *known == id);
            let range = range.map(|(_, range)| range.clone()).unwrap_or_default();
            let bytes = bytes.get(range).unwrap_or_default();
            Ok(EndianSlice::new(bytes, LittleEndian))
        };
        // The closure does not fail.
        Dwarf::load(load).unwrap_or_default()
    }

    /// The addresses of all units, in order.
    fn unit_ranges(&self, bytes: &[u8]) -> Vec<UnitRange> {
        let dwarf = self.dwarf(bytes);
        let mut ranges = Vec::new();
        let mut budget = RANGES_MAX;
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else {
                continue;
            };
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            let mut entries = unit.entries();
            let Ok(Some(root)) = entries.next_dfs() else {
                continue;
            };
            unit::each_range(&dwarf, &unit, root, &mut budget, &mut |start, end| {
                ranges.push(UnitRange {
                    start,
                    end,
                    unit: offset,
                });
            });
            if budget == 0 {
                break;
            }
        }
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// The functions at an address, inlined ones first. The last one is the function itself.
    pub fn frames(&self, bytes: &[u8], address: u32) -> Arc<[SourceFrame]> {
        if let Some(known) = self.state.lock().answers.get(&address) {
            return Arc::clone(known);
        }
        let behind = self.units.partition_point(|range| range.start <= address);
        // Ranges of units do not overlap, unless they are malformed.
        let found = self.units[..behind].last();
        let frames: Arc<[SourceFrame]> = match found.filter(|range| address < range.end) {
            Some(range) => self.frames_in(bytes, range.unit, address).into(),
            None => Arc::new([]),
        };
        let mut state = self.state.lock();
        if state.answers.len() >= ANSWERS_MAX {
            state.answers.clear();
        }
        state.answers.insert(address, Arc::clone(&frames));
        frames
    }

    fn frames_in(&self, bytes: &[u8], offset: usize, address: u32) -> Vec<SourceFrame> {
        let dwarf = self.dwarf(bytes);
        let header = dwarf.unit_header(DebugInfoOffset(offset));
        let Ok(unit) = header.and_then(|header| dwarf.unit(header)) else {
            return Vec::new();
        };
        let known = self.state.lock().tables.get(&offset).cloned();
        let tables = known.unwrap_or_else(|| {
            let tables = Arc::new(UnitTables::new(&dwarf, &unit));
            let mut state = self.state.lock();
            if state.rows + tables.rows() > ROWS_MAX {
                state.tables.clear();
                state.rows = 0;
            }
            state.rows += tables.rows();
            state.tables.insert(offset, Arc::clone(&tables));
            tables
        });
        tables.frames(&dwarf, &unit, address)
    }
}

/// The section with a name.
fn known(name: &str) -> Option<SectionId> {
    let ids = [
        SectionId::DebugAbbrev,
        SectionId::DebugAddr,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugLineStr,
        SectionId::DebugRanges,
        SectionId::DebugRngLists,
        SectionId::DebugStr,
        SectionId::DebugStrOffsets,
    ];
    ids.into_iter().find(|id| id.name() == name)
}

/// Most bytes of a file with debug information.
const EXTERNAL_MAX: u64 = 1 << 30;

/// The bytes of a file that a section names, which has to be in a directory. A module is not trusted, so
/// that it may not name a file elsewhere.
pub fn external(section: &[u8], directory: &Path) -> Option<Vec<u8>> {
    let mut reader = wasmparser::BinaryReader::new(section, 0);
    let name = reader.read_string().ok()?;
    let name = name.strip_prefix("./").unwrap_or(name);
    let mut parts = Path::new(name).components();
    let (Some(Component::Normal(_)), None) = (parts.next(), parts.next()) else {
        return None;
    };
    let path = directory.join(name);
    let data = std::fs::symlink_metadata(&path).ok()?;
    if !data.is_file() || data.len() > EXTERNAL_MAX {
        return None;
    }
    std::fs::read(path).ok()
}
