//! The places of the bytecode that machine code was made for, and where its frame is, for profilers.
//!
//! Code that runs asks none of this. The table of a candidate maps each instruction to the chain of
//! bytecode addresses that an interpreter's stack would have there: that of the innermost procedure, then
//! the return addresses of those into which it was inlined. A segment holds fp in a register of the code
//! generator's choice; the table tells by how many words the register that it was entered with is off.
//!
//! Memory for several objects is taken in one piece, for which code has a place of its own: that of the
//! first object, with the places of all of them by their offsets.

use std::ops::Range;

use canny_spesh::code_map::FastMap;
use canny_spesh::graph::{Escape, Graph, Place};

use crate::jitdump::CodeLine;

/// First of the source locations that stand for places; lower ones are exits.
const FIRST_LOCATION: u32 = 1 << 20;

/// Places that code of one procedure was made for.
#[derive(Debug, Default)]
pub(crate) struct PlaceNumbers {
    numbers: FastMap<Place, u32>,
    places: Vec<Place>,
    /// By number of a place that several objects are made for: where each of them ends, and its place.
    parts: FastMap<u32, Vec<(u32, Place)>>,
    /// Why objects are made at a place.
    escapes: FastMap<Place, Escape>,
}

impl PlaceNumbers {
    /// The source location that stands for a place.
    pub(crate) fn location(&mut self, place: Place) -> u32 {
        let places = &mut self.places;
        let number = *self.numbers.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as u32 - 1
        });
        FIRST_LOCATION + number
    }

    /// An object is made at a place for a reason.
    pub(crate) fn note_escape(&mut self, place: Place, escape: Escape) {
        self.escapes.entry(place).or_insert(escape);
    }

    /// By number of a place why objects are made there.
    pub(crate) fn escapes(&self) -> FastMap<u32, Escape> {
        let all = self.escapes.iter();
        all.filter_map(|(place, escape)| Some((*self.numbers.get(place)?, *escape)))
            .collect()
    }

    /// The source location of code that takes memory for several objects, each of which ends at an offset
    /// and is made for a place.
    pub(crate) fn location_of_parts(&mut self, parts: Vec<(u32, Place)>) -> u32 {
        let first = parts[0].1;
        if parts.iter().all(|(_, place)| *place == first) {
            return self.location(first);
        }
        for (_, place) in &parts {
            self.location(*place);
        }
        let number = self.places.len() as u32;
        self.places.push(first);
        self.parts.insert(number, parts);
        FIRST_LOCATION + number
    }

    /// For each place of several objects where they end, and the numbers of their places.
    pub(crate) fn parts(&self) -> FastMap<u32, Box<[(u32, u32)]>> {
        let numbered = |parts: &Vec<(u32, Place)>| {
            let parts = parts.iter();
            parts
                .map(|(end, place)| (*end, self.numbers[place]))
                .collect()
        };
        let all = self.parts.iter();
        all.map(|(number, parts)| (*number, numbered(parts)))
            .collect()
    }

    /// The number of the place that a source location stands for.
    pub(crate) fn number(location: u32) -> Option<u32> {
        // The location of code that has none is the greatest one.
        location
            .checked_sub(FIRST_LOCATION)
            .filter(|_| location != u32::MAX)
    }

    /// The addresses of each place, the innermost first.
    pub(crate) fn addresses(&self, graph: &Graph) -> Vec<Box<[u64]>> {
        let addresses = |place: &Place| graph.addresses(*place).into_boxed_slice();
        self.places.iter().map(addresses).collect()
    }
}

/// Code from an offset on was made for a place.
pub(crate) type PlaceRange = (u32, u32);

/// The places of a candidate's code.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceTable {
    /// Offsets of code and numbers of places, in ascending order.
    pub(crate) ranges: Vec<PlaceRange>,
    /// For each segment where it begins, and the words by which the fp that it is entered with lies above
    /// its own.
    pub(crate) segments: Vec<(u32, i32)>,
    /// By number of a place.
    pub(crate) addresses: Vec<Box<[u64]>>,
    /// By number of a place that several objects are made for: where each of them ends, and the number of
    /// its place.
    pub(crate) parts: FastMap<u32, Box<[(u32, u32)]>>,
    /// By number of a place why objects are made there.
    pub(crate) escapes: FastMap<u32, Escape>,
}

impl PlaceTable {
    /// The table of stitched code, whose instructions have no frames but their own and find fp where the
    /// interpreter does.
    pub(crate) fn of_instructions(instructions: &[(usize, u64)]) -> PlaceTable {
        let numbered = instructions.iter().zip(0..);
        PlaceTable {
            ranges: numbered
                .map(|((offset, _), number)| (*offset as u32, number))
                .collect(),
            segments: Vec::new(),
            addresses: instructions
                .iter()
                .map(|(_, address)| [*address].into())
                .collect(),
            parts: FastMap::default(),
            escapes: FastMap::default(),
        }
    }
}

impl PlaceTable {
    /// Lines of the source that a range of offsets was made for, in code at an address.
    pub(crate) fn lines(&self, code: usize, range: Range<usize>, line_of: LineOf) -> Vec<CodeLine> {
        let mut lines: Vec<CodeLine> = Vec::new();
        let first = self
            .ranges
            .partition_point(|(start, _)| *start as usize <= range.start);
        for (start, number) in &self.ranges[first.saturating_sub(1)..] {
            if *start as usize >= range.end {
                break;
            }
            let innermost = self
                .addresses
                .get(*number as usize)
                .and_then(|all| all.first());
            let Some((file, line)) = innermost.and_then(|address| line_of(*address)) else {
                continue;
            };
            let is_same = |last: &CodeLine| last.line == line && last.file == file;
            if !lines.last().is_some_and(is_same) {
                lines.push(CodeLine {
                    address: code + range.start.max(*start as usize),
                    file,
                    line,
                });
            }
        }
        lines
    }
}

/// The last row that begins at or before an offset.
fn row_at<T: Copy>(rows: &[(u32, T)], offset: usize) -> Option<T> {
    let count = rows.partition_point(|(start, _)| *start as usize <= offset);
    Some(rows[count.checked_sub(1)?].1)
}

/// File and line of an address of bytecode, as in [`CodePlace`].
pub type LineOf<'a> = &'a dyn Fn(u64) -> Option<(String, u32)>;

/// The place that code at an address was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Addresses of bytecode behind the first word of an instruction: of the innermost procedure, then the
    /// return addresses of those around it that it was inlined into; the last one is in the procedure
    /// whose frame is on the stack.
    pub addresses: Box<[u64]>,
    /// Words by which the fp that the segment was entered with lies above its own.
    pub entered_above: i32,
    /// Whether fp is in the interpreter's register.
    pub is_stitched: bool,
    /// Why an object is made there, if one is.
    pub escape: Option<Escape>,
}

/// The tables of all code in a region.
#[derive(Debug, Default)]
pub(crate) struct PlaceMap {
    /// By start of the code, with its length.
    tables: std::collections::BTreeMap<usize, (usize, PlaceTable)>,
}

impl PlaceMap {
    pub(crate) fn add(&mut self, code: Range<usize>, table: PlaceTable) {
        self.tables.insert(code.start, (code.len(), table));
    }

    pub(crate) fn remove(&mut self, code: usize) {
        self.tables.remove(&code);
    }

    /// The place of an address; for code that takes memory for several objects that of the one at an
    /// offset.
    pub(crate) fn find(&self, address: usize, offset_in_objects: usize) -> Option<CodePlace> {
        let (start, (length, table)) = self.tables.range(..=address).next_back()?;
        let offset = address - start;
        if offset >= *length {
            return None;
        }
        let mut number = row_at(&table.ranges, offset)?;
        if let Some(parts) = table.parts.get(&number)
            && let Some((_, part)) = parts
                .iter()
                .find(|(end, _)| offset_in_objects < *end as usize)
        {
            number = *part;
        }
        Some(CodePlace {
            addresses: table.addresses.get(number as usize)?.clone(),
            entered_above: row_at(&table.segments, offset).unwrap_or(0),
            is_stitched: table.segments.is_empty(),
            escape: table.escapes.get(&number).copied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_at_their_offsets() {
        let rows = [(4, 'a'), (8, 'b')];
        let found = [0, 3, 4, 7, 8, 100].map(|offset| row_at(&rows, offset));
        let expected = [None, None, Some('a'), Some('a'), Some('b'), Some('b')];
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_those_of_a_range() {
        let table = PlaceTable {
            ranges: vec![(0, 0), (8, 1), (16, 2), (24, 0)],
            segments: Vec::new(),
            addresses: vec![Box::new([100]), Box::new([108, 9]), Box::new([200])],
            ..PlaceTable::default()
        };
        let line_of = |address: u64| Some(("a.scm".to_owned(), address as u32 / 50));
        let lines = |range| {
            let lines = table.lines(1000, range, &line_of);
            let rows = lines.iter().map(|line| (line.address, line.line));
            rows.collect::<Vec<_>>()
        };
        assert_eq!(lines(0..32), [(1000, 2), (1016, 4), (1024, 2)]);
        assert_eq!(lines(12..20), [(1012, 2), (1016, 4)]);
        assert_eq!(table.lines(0, 0..32, &|_| None), []);
    }

    #[test]
    fn an_address_belongs_to_the_code_around_it() {
        let mut map = PlaceMap::default();
        let table = |address| PlaceTable {
            ranges: vec![(0, 0), (16, 1)],
            segments: vec![(0, 0), (16, 3)],
            addresses: vec![Box::new([address]), Box::new([address + 4, 99])],
            parts: FastMap::from_iter([(1, [(16, 0), (48, 1)].into())]),
            escapes: FastMap::from_iter([(1, Escape::Returned)]),
        };
        map.add(1000..1032, table(1));
        map.add(2000..2032, table(2));
        let place = |addresses: &[u64], entered_above| {
            Some(CodePlace {
                addresses: addresses.into(),
                entered_above,
                is_stitched: false,
                escape: (addresses.len() > 1).then_some(Escape::Returned),
            })
        };
        assert_eq!(map.find(999, 0), None);
        assert_eq!(map.find(1000, 0), place(&[1], 0));
        assert_eq!(map.find(1031, 16), place(&[5, 99], 3));
        assert_eq!(map.find(1031, 15), place(&[1], 3));
        assert_eq!(map.find(1032, 0), None);
        assert_eq!(map.find(2015, 0), place(&[2], 0));
        map.remove(1000);
        assert_eq!(map.find(1000, 0), None);
    }
}
