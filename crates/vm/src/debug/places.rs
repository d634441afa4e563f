//! Places in code at which a thread can stop, by line and by expression.
//!
//! A place is the first instruction with a position of its own. Some instructions are no places: those
//! before the parameters are in their registers, `loop`, which other parts of the machine patch, and
//! what fills a new closure, which no collection may see half filled. Their positions move to the next
//! instruction that can be one.

use std::collections::BTreeMap;

use canny_compiler::unit::{UnitSpan, inlined_calls, position_records};
use canny_tables::opcodes::{Flow, Opcode, OpcodeFlags, field_b};

use super::expansions::Link;
use crate::code::{CodeRef, UnitMetadata};

/// A place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) span: UnitSpan,
    /// Line of the first character, from one.
    pub(super) line: u32,
    /// Procedures of the program that were inlined around it.
    pub(super) inlined: u32,
}

/// The places of a code, by word index.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) by_index: BTreeMap<u32, Place>,
    /// Where chains of places in expansions begin.
    pub(super) expanded: BTreeMap<u32, Vec<Link>>,
}

impl Places {
    pub(super) fn of(unit: &UnitMetadata, index: usize, code: CodeRef) -> Places {
        let words = code.plain_instructions();
        let mut places = Places::default();
        let possible = possible_places(&words);
        let metadata = &unit.codes[index];
        for (pc, span) in position_records(&metadata.positions) {
            let next = possible.partition_point(|at| *at < pc);
            let Some(at) = possible.get(next) else {
                continue;
            };
            let line = unit.sources.get(span.source as usize);
            let line = line.and_then(|source| source.line_and_column(span.start));
            let Some((line, _)) = line else {
                continue;
            };
            let calls = inlined_calls(&unit.inlinings, span);
            let inlined = calls.filter(|call| !call.is_imported).count() as u32;
            // The last one that comes to an instruction is its own.
            let place = Place {
                span,
                line,
                inlined,
            };
            places.by_index.insert(*at, place);
        }
        for (pc, place) in &metadata.expanded {
            let next = possible.partition_point(|at| at < pc);
            if let Some(at) = possible.get(next) {
                places.expanded.insert(*at, unit.links(*place));
            }
        }
        places
    }

    /// The first place of a procedure.
    pub(super) fn first(&self) -> Option<u32> {
        self.by_index.keys().next().copied()
    }

    /// The place in force at an instruction.
    pub(super) fn in_force(&self, index: u32) -> Option<Place> {
        let mut before = self.by_index.range(..=index);
        before.next_back().map(|(_, place)| *place)
    }
}

/// Word indices of the instructions that can be places.
pub(super) fn possible_places(words: &[u32]) -> Vec<u32> {
    let mut possible = Vec::new();
    let (mut at, mut to_fill) = (0, 0);
    while let Some(opcode) = words
        .get(at)
        .and_then(|word| Opcode::from_byte(*word as u8))
    {
        let is_before_entry = opcode.has(OpcodeFlags::BEFORE_ENTRY);
        if to_fill == 0 && !is_before_entry && opcode.row().flow != Flow::Loop {
            possible.push(at as u32);
        }
        match opcode {
            Opcode::MakeClosure => to_fill += usize::from(field_b(words[at])),
            Opcode::ClosureSet => to_fill = to_fill.saturating_sub(1),
            _ => {}
        }
        at += opcode.words();
    }
    possible
}

/// The first possible place of a code without positions, or with none before its first instruction.
pub(super) fn first_possible(code: CodeRef) -> Option<u32> {
    possible_places(&code.plain_instructions()).first().copied()
}

/// Whether the name of a source in a unit is the file that somebody asks for: they are the same, or one
/// is the end of the other.
pub(super) fn is_file(name: &str, asked: &str) -> bool {
    let is_end = |long: &str, short: &str| {
        let rest = long.strip_suffix(short);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let trim = |name: &str| name.trim_start_matches("./").to_owned();
    let (name, asked) = (trim(name), trim(asked));
    !name.is_empty() && (is_end(&name, &asked) || is_end(&asked, &name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_tables::opcodes::{encode_abc, encode_far};

    #[test]
    fn files_are_found_by_the_end_of_their_names() {
        assert!(is_file("/src/lib/a.scm", "lib/a.scm"));
        assert!(is_file("a.scm", "/src/a.scm"));
        assert!(is_file("./a.scm", "a.scm"));
        assert!(!is_file("/src/aa.scm", "a.scm"));
        assert!(!is_file("", "a.scm"));
    }

    #[test]
    fn closures_are_filled_before_anybody_looks() {
        let words = [
            encode_abc(Opcode::Entry, 1, 0, 1),
            encode_abc(Opcode::MakeClosure, 1, 2, 0),
            0,
            encode_abc(Opcode::ClosureSet, 1, 0, 0),
            encode_abc(Opcode::ClosureSet, 1, 0, 1),
            encode_abc(Opcode::Cons, 2, 0, 1),
            encode_far(Opcode::Loop, -6),
        ];
        assert_eq!(possible_places(&words), [1, 5]);
    }
}
