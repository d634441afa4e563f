//! Debug information for tests, so that they need no compiler.

use std::ops::Range;

use gimli::write::{
    Address, AttributeValue, DwarfUnit, EndianVec, LineProgram, LineString, Range as Addresses,
    RangeList, Sections, UnitEntryId,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian};

/// A function; addresses count from the contents of the code section.
pub struct Lines {
    pub name: String,
    pub addresses: Range<u32>,
    /// Addresses and lines.
    pub rows: Vec<(u32, u64)>,
    /// The outer ones first.
    pub inlined: Vec<Inlined>,
}

/// A function that was inlined.
pub struct Inlined {
    pub name: String,
    pub addresses: Range<u32>,
    /// The line of the call.
    pub line: u64,
    /// How many others are around it.
    pub depth: usize,
}

/// The module with sections that say this of the file `src/guest.c` in a directory.
pub fn with_debug_information(module: &[u8], directory: &str, functions: &[Lines]) -> Vec<u8> {
    let encoding = Encoding {
        format: Format::Dwarf32,
        version: 5,
        address_size: 4,
    };
    let mut dwarf = DwarfUnit::new(encoding);
    let text = |text: &str| LineString::String(text.into());
    let mut program = LineProgram::new(
        encoding,
        LineEncoding::default(),
        text(directory),
        None,
        text("src/guest.c"),
        None,
    );
    let own = program.default_directory();
    let file = program.add_file(text("src/guest.c"), own, None);
    for function in functions {
        program.begin_sequence(Some(Address::Constant(function.addresses.start.into())));
        for (address, line) in &function.rows {
            let row = program.row();
            row.address_offset = u64::from(address - function.addresses.start);
            row.file = file;
            row.line = *line;
            row.column = 2;
            program.generate_row();
        }
        program.end_sequence(function.addresses.len() as u64);
    }
    dwarf.unit.line_program = program;
    let root = dwarf.unit.root();
    let range = |addresses: &Range<u32>| Addresses::StartEnd {
        begin: Address::Constant(addresses.start.into()),
        end: Address::Constant(addresses.end.into()),
    };
    let all = functions.iter().map(|function| range(&function.addresses));
    let all = RangeList(all.collect());
    let all = dwarf.unit.ranges.add(all);
    let entry = dwarf.unit.get_mut(root);
    entry.set(gimli::DW_AT_ranges, AttributeValue::RangeListRef(all));
    let directory = AttributeValue::String(directory.into());
    entry.set(gimli::DW_AT_comp_dir, directory);
    for function in functions {
        let own = dwarf.unit.add(root, gimli::DW_TAG_subprogram);
        describe(&mut dwarf, own, &function.name, &function.addresses);
        let mut around = vec![own];
        for inlined in &function.inlined {
            let origin = dwarf.unit.add(root, gimli::DW_TAG_subprogram);
            let name = AttributeValue::String(inlined.name.clone().into());
            dwarf
                .unit
                .get_mut(origin)
                .set(gimli::DW_AT_linkage_name, name);
            around.truncate(inlined.depth + 1);
            let entry = dwarf
                .unit
                .add(around[inlined.depth], gimli::DW_TAG_inlined_subroutine);
            around.push(entry);
            let list = RangeList(vec![range(&inlined.addresses)]);
            let list = dwarf.unit.ranges.add(list);
            let entry = dwarf.unit.get_mut(entry);
            entry.set(
                gimli::DW_AT_abstract_origin,
                AttributeValue::UnitRef(origin),
            );
            entry.set(gimli::DW_AT_ranges, AttributeValue::RangeListRef(list));
            entry.set(
                gimli::DW_AT_call_file,
                AttributeValue::FileIndex(Some(file)),
            );
            entry.set(gimli::DW_AT_call_line, AttributeValue::Udata(inlined.line));
            entry.set(gimli::DW_AT_call_column, AttributeValue::Udata(5));
        }
    }
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut sections).unwrap();
    let mut module = module.to_vec();
    sections
        .for_each(|id, section| -> Result<(), ()> {
            if !section.slice().is_empty() {
                add_section(&mut module, id.name(), section.slice());
            }
            Ok(())
        })
        .unwrap();
    module
}

fn describe(dwarf: &mut DwarfUnit, entry: UnitEntryId, name: &str, addresses: &Range<u32>) {
    let entry = dwarf.unit.get_mut(entry);
    let name = AttributeValue::String(name.into());
    entry.set(gimli::DW_AT_name, name);
    let start = Address::Constant(addresses.start.into());
    entry.set(gimli::DW_AT_low_pc, AttributeValue::Address(start));
    let length = AttributeValue::Udata(addresses.len() as u64);
    entry.set(gimli::DW_AT_high_pc, length);
}

/// Adds a custom section.
pub fn add_section(module: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let mut section = Vec::new();
    number(&mut section, name.len());
    section.extend(name.as_bytes());
    section.extend(contents);
    module.push(0);
    number(module, section.len());
    module.extend(section);
}

fn number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Where the contents of a module's code section begin, and the bytes of its functions.
#[allow(dead_code, reason = "other tests decode modules themselves")]
pub fn body_ranges(module: &[u8]) -> (u32, Vec<Range<u32>>) {
    let mut at = 8;
    while at < module.len() {
        let id = module[at];
        at += 1;
        let size = take(module, &mut at);
        if id != 10 {
            at += size;
            continue;
        }
        let start = at as u32;
        let count = take(module, &mut at);
        let bodies = (0..count).map(|_| {
            let size = take(module, &mut at);
            let body = at as u32..(at + size) as u32;
            at += size;
            body
        });
        return (start, bodies.collect());
    }
    (0, Vec::new())
}

fn take(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return number;
        }
    }
}
