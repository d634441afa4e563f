//! Tables of one unit: its lines, and the functions that are inlined into others.
//!
//! Names and paths are read when an address is asked for.

use std::sync::Arc;

use gimli::{
    AttributeValue, ColumnType, DebugInfoOffset, DebuggingInformationEntry, Dwarf, Unit, UnitOffset,
};

use super::{Slice, SourceFrame, SourcePlace};

/// The lines and functions of a unit.
#[derive(Debug)]
pub struct UnitTables {
    /// By address. A line of 0 has none.
    lines: Box<[Line]>,
    /// By their first address, functions before those that are inlined there.
    scopes: Box<[Scope]>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    address: u32,
    file: u32,
    line: u32,
    column: u32,
}

/// Addresses of a function, or of one that is inlined.
#[derive(Clone, Copy, Debug)]
struct Scope {
    start: u32,
    end: u32,
    /// Functions around it.
    depth: u32,
    entry: usize,
    /// The place of the call, if it is inlined.
    call: Line,
}

/// Most lines of a unit.
const LINES_MAX: usize = 2 << 20;
/// Most ranges of addresses of all functions of a unit.
const RANGES_MAX: usize = 2 << 20;
/// Most steps from an entry to the one that has its name.
const ORIGINS_MAX: usize = 8;
/// Longest path or name, in bytes.
const TEXT_MAX: usize = 4096;
/// Deepest inlined functions.
const DEPTH_MAX: usize = 256;

impl UnitTables {
    pub fn new(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>) -> UnitTables {
        let mut lines = lines(unit);
        lines.sort_by_key(|line| line.address);
        let mut scopes = scopes(dwarf, unit);
        scopes.sort_by_key(|scope| (scope.start, scope.depth));
        UnitTables {
            lines: lines.into(),
            scopes: scopes.into(),
        }
    }

    /// Rows of both tables.
    pub fn rows(&self) -> usize {
        self.lines.len() + 2 * self.scopes.len()
    }

    /// The functions at an address, inlined ones first.
    pub fn frames(
        &self,
        dwarf: &Dwarf<Slice>,
        unit: &Unit<Slice>,
        address: u32,
    ) -> Vec<SourceFrame> {
        let mut place = self
            .line(address)
            .and_then(|line| source_place(dwarf, unit, line));
        let mut frames = Vec::new();
        let mut around = self.around(address);
        while let Some(scope) = around.pop() {
            let call = scope.call;
            frames.push(SourceFrame {
                function: name(dwarf, unit, UnitOffset(scope.entry)),
                place: place.take(),
            });
            place = source_place(dwarf, unit, call);
        }
        if frames.is_empty() && place.is_some() {
            let function = None;
            frames.push(SourceFrame { function, place });
        }
        frames
    }

    fn line(&self, address: u32) -> Option<Line> {
        let behind = self.lines.partition_point(|line| line.address <= address);
        self.lines[..behind].last().copied()
    }

    /// The function at an address, and those inlined into it there, the outermost first.
    fn around(&self, address: u32) -> Vec<Scope> {
        let behind = self.scopes.partition_point(|scope| scope.start <= address);
        let mut found: Vec<Scope> = Vec::new();
        for scope in self.scopes[..behind].iter().rev() {
            if address < scope.end && found.iter().all(|known| known.depth != scope.depth) {
                found.push(*scope);
            }
            if scope.depth == 0 || found.len() >= DEPTH_MAX {
                break;
            }
        }
        found.sort_by_key(|scope| scope.depth);
        found
    }
}

/// The rows of a unit's line program.
fn lines(unit: &Unit<Slice>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let Some(program) = unit.line_program.clone() else {
        return lines;
    };
    let mut rows = program.rows();
    // The first row of the current sequence, whose function may not be in the module any more.
    let mut first = 0;
    while let Ok(Some((_, row))) = rows.next_row() {
        if lines.len() >= LINES_MAX {
            break;
        }
        let narrow = |number: u64| u32::try_from(number).unwrap_or(0);
        let column = match row.column() {
            ColumnType::LeftEdge => 0,
            ColumnType::Column(column) => narrow(column.get()),
        };
        let is_end = row.end_sequence();
        lines.push(Line {
            address: u32::try_from(row.address()).unwrap_or(u32::MAX),
            file: u32::try_from(row.file_index()).unwrap_or(u32::MAX),
            line: match row.line() {
                Some(line) if !is_end => narrow(line.get()),
                _ => 0,
            },
            column,
        });
        if is_end {
            if lines[first].address == 0 {
                lines.truncate(first);
            }
            first = lines.len();
        }
    }
    lines
}

/// The functions of a unit and those inlined into them.
fn scopes(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::new();
    // Depths in the tree of the functions around the current entry.
    let mut around: Vec<isize> = Vec::new();
    let mut entries = unit.entries();
    let mut budget = RANGES_MAX;
    while let Ok(Some(entry)) = entries.next_dfs() {
        let is_inlined = match entry.tag() {
            gimli::DW_TAG_subprogram => false,
            gimli::DW_TAG_inlined_subroutine => true,
            _ => continue,
        };
        while around.last().is_some_and(|depth| *depth >= entry.depth()) {
            around.pop();
        }
        if !is_inlined {
            around.clear();
        } else if around.is_empty() || around.len() >= DEPTH_MAX {
            continue;
        }
        let number = |name| {
            let value = entry.attr_value(name).and_then(|value| value.udata_value());
            value.and_then(|value| u32::try_from(value).ok())
        };
        let file = match entry.attr_value(gimli::DW_AT_call_file) {
            Some(AttributeValue::FileIndex(file)) => u32::try_from(file).ok(),
            value => value
                .and_then(|value| value.udata_value())
                .and_then(|file| u32::try_from(file).ok()),
        };
        let call = Line {
            address: 0,
            file: file.unwrap_or(u32::MAX),
            line: number(gimli::DW_AT_call_line).unwrap_or(0),
            column: number(gimli::DW_AT_call_column).unwrap_or(0),
        };
        let depth = around.len() as u32;
        let offset = entry.offset().0;
        each_range(dwarf, unit, entry, &mut budget, &mut |start, end| {
            scopes.push(Scope {
                start,
                end,
                depth,
                entry: offset,
                call,
            });
        });
        if budget == 0 {
            break;
        }
        around.push(entry.depth());
    }
    scopes
}

/// Shows the ranges of addresses of an entry, without those of functions that the linker has left out. Each
/// takes one off the budget: many entries may have the same long list.
pub fn each_range(
    dwarf: &Dwarf<Slice>,
    unit: &Unit<Slice>,
    entry: &DebuggingInformationEntry<Slice>,
    budget: &mut usize,
    visit: &mut dyn FnMut(u32, u32),
) {
    let mut show = |start: u64, end: u64| {
        // No function begins with the section.
        if let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end))
            && 0 < start
            && start < end
        {
            visit(start, end);
        }
    };
    if let Some(value) = entry.attr_value(gimli::DW_AT_ranges)
        && let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, value)
    {
        while *budget > 0
            && let Ok(Some(range)) = ranges.next()
        {
            *budget -= 1;
            show(range.begin, range.end);
        }
        return;
    }
    let address = |name| {
        let value = entry.attr_value(name)?;
        dwarf.attr_address(unit, value).ok().flatten()
    };
    let Some(start) = address(gimli::DW_AT_low_pc) else {
        return;
    };
    let size = entry.attr_value(gimli::DW_AT_high_pc);
    let end = match size.and_then(|value| value.udata_value()) {
        Some(size) => start.checked_add(size),
        None => address(gimli::DW_AT_high_pc),
    };
    if let Some(end) = end {
        *budget = budget.saturating_sub(1);
        show(start, end);
    }
}

fn source_place(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>, line: Line) -> Option<SourcePlace> {
    if line.line == 0 {
        return None;
    }
    Some(SourcePlace {
        file: path(dwarf, unit, u64::from(line.file))?.into(),
        line: line.line,
        column: line.column,
    })
}

/// The path of a file of a unit.
fn path(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>, file: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(file)?;
    let text = |value| Some(text_of(dwarf.attr_string(unit, value).ok()?));
    let mut path = String::new();
    // In the older versions the directory of the compilation has no number.
    if let Some(directory) = unit.comp_dir {
        join(&mut path, &text_of(directory));
    }
    if let Some(directory) = file.directory(header).and_then(text) {
        join(&mut path, &directory);
    }
    join(&mut path, &text(file.path_name())?);
    Some(path)
}

/// Adds a part to a path, or makes it the path if it is absolute.
fn join(path: &mut String, part: &str) {
    let has_drive = part.as_bytes().get(1) == Some(&b':');
    if part.starts_with(['/', '\\']) || has_drive {
        path.clear();
    } else if !path.is_empty() && !part.is_empty() && !path.ends_with(['/', '\\']) {
        path.push('/');
    }
    path.push_str(part);
}

fn text_of(slice: Slice) -> String {
    let bytes = slice.slice();
    let shown = &bytes[..bytes.len().min(TEXT_MAX)];
    String::from_utf8_lossy(shown).into_owned()
}

/// The name of the function of an entry, from the one that it refers to if it has none.
fn name(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>, entry: UnitOffset) -> Option<Arc<str>> {
    let mut other;
    let (mut unit, mut offset) = (unit, entry);
    let mut plain = None;
    for _ in 0..ORIGINS_MAX {
        let entry = unit.entry(offset).ok()?;
        let text = |name| {
            let value = entry.attr_value(name)?;
            dwarf.attr_string(unit, value).ok().map(text_of)
        };
        let linked = text(gimli::DW_AT_linkage_name);
        if let Some(linked) = linked.or_else(|| text(gimli::DW_AT_MIPS_linkage_name)) {
            return Some(linked.into());
        }
        plain = plain.or_else(|| text(gimli::DW_AT_name));
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        match origin.or_else(|| entry.attr_value(gimli::DW_AT_specification)) {
            Some(AttributeValue::UnitRef(next)) => offset = next,
            Some(AttributeValue::DebugInfoRef(place)) => {
                let header = header_around(dwarf, place)?;
                offset = place.to_unit_offset(&header)?;
                other = dwarf.unit(header).ok()?;
                unit = &other;
            }
            _ => break,
        }
    }
    plain.map(Arc::from)
}

/// The header of the unit that has an entry.
fn header_around<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    place: DebugInfoOffset,
) -> Option<gimli::UnitHeader<Slice<'a>>> {
    let mut headers = dwarf.units();
    let mut found = None;
    while let Ok(Some(header)) = headers.next() {
        if header.debug_info_offset()?.0 > place.0 {
            break;
        }
        found = Some(header);
    }
    found
}
