//! Installs stitched code. Owns the layout of its descriptors: one for the entry, then one for each call
//! and for each head of a loop. Code and descriptors of one procedure live and die together.

use std::ptr;
use std::sync::Arc;

use canny_tables::layout::descriptor;
use canny_tables::opcodes::{Opcode, encode_abc};

use super::{Installed, NATIVE_PREFIX, NATIVE_STRIDE, ReturnDescriptor};
use crate::JitError;
use crate::places::{LineOf, PlaceTable};
use crate::region::Region;

/// Code that was put together from stencils, which do not depend on their address.
#[derive(Debug)]
pub struct StitchedCode {
    /// Name of the procedure, for people.
    pub name: String,
    /// Machine code.
    pub code: Vec<u8>,
    /// Offset for calls by compiled code.
    pub native_entry: usize,
    /// Offset for calls by the interpreter.
    pub entry: usize,
    /// Address of the first instruction of the bytecode.
    pub start: u64,
    /// Calls: the call word and live map, the return address in the bytecode, and the offset of the code
    /// there.
    pub returns: Vec<([u32; 2], u64, usize)>,
    /// Places of 64 bits in the code for the address of a call's descriptor, and the call's number.
    pub return_places: Vec<(usize, usize)>,
    /// Heads of loops: their addresses in the bytecode, and the offsets of the code there.
    pub loops: Vec<(u64, usize)>,
    /// Offsets of the code, ascending, and the address behind the first word of the instruction to which it
    /// belongs from there on.
    pub instructions: Vec<(usize, u64)>,
}

/// Stitched code in memory.
#[derive(Debug)]
pub struct InstalledStitches {
    /// Entry and calls, as of other machine code. There are no exits and no links.
    pub installed: Installed,
    /// For each head of a loop its address in the bytecode, and the descriptor that leads to the code.
    pub loops: Vec<(u64, u64)>,
}

/// Installs stitched code.
pub(crate) fn install_stitched(
    region: &Arc<Region>,
    stitched: &StitchedCode,
    line_of: LineOf,
) -> Result<InstalledStitches, JitError> {
    let count = 1 + stitched.returns.len() + stitched.loops.len();
    let data_bytes = NATIVE_STRIDE * count;
    let data = region.take_data(data_bytes)?;
    let code = match region.take_code(stitched.code.len()) {
        Ok(code) => code,
        Err(error) => {
            region.give_data(data, data_bytes);
            return Err(error);
        }
    };
    let mut bytes = vec![0; data_bytes];
    let mut addresses = Vec::with_capacity(count);
    let entry = ([0; 2], stitched.start, stitched.entry);
    let returns = stitched.returns.iter().copied();
    let loops = stitched
        .loops
        .iter()
        .map(|(head, offset)| ([0; 2], *head, *offset));
    for (index, (call, bytecode, offset)) in std::iter::once(entry)
        .chain(returns)
        .chain(loops)
        .enumerate()
    {
        let at = NATIVE_STRIDE * index + NATIVE_PREFIX;
        let mut put = |at: usize, content: &[u8]| {
            bytes[at..at + content.len()].copy_from_slice(content);
        };
        put(at - 8, &call[0].to_le_bytes());
        put(at - 4, &call[1].to_le_bytes());
        let opcode = encode_abc(Opcode::Stitched, 0, 0, 0);
        put(at, &opcode.to_le_bytes());
        let native = (code + offset) as u64;
        put(at + descriptor::NATIVE, &native.to_le_bytes());
        put(at + descriptor::BYTECODE, &bytecode.to_le_bytes());
        addresses.push(data + at);
    }
    // SAFETY: the range of data was just taken, so nobody else uses it.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data as *mut u8, bytes.len()) };
    let mut text = stitched.code.clone();
    for (place, number) in &stitched.return_places {
        let address = addresses[1 + number] as u64;
        text[*place..place + 8].copy_from_slice(&address.to_le_bytes());
    }
    // SAFETY: the range of code was just taken, and nothing refers to it yet.
    unsafe { region.write_code(code, &text) };
    let table = PlaceTable::of_instructions(&stitched.instructions);
    let name = format!("stitched {}", stitched.name);
    region.list(&name, code, &text, || {
        table.lines(code, 0..text.len(), line_of)
    });
    region.places().add(code..code + text.len(), table);
    let first_loop = 1 + stitched.returns.len();
    Ok(InstalledStitches {
        installed: Installed {
            region: region.clone(),
            native_entry: code + stitched.native_entry,
            starts: None,
            links: Vec::new(),
            entry_descriptor: addresses[0],
            return_descriptors: addresses[1..]
                .iter()
                .zip(
                    stitched
                        .returns
                        .iter()
                        .map(|there| there.1)
                        .chain(stitched.loops.iter().map(|there| there.0)),
                )
                .map(|(address, bytecode)| ReturnDescriptor {
                    address: *address,
                    bytecode,
                })
                .collect(),
            exits: Vec::new(),
            code_address: code,
            code_bytes: text.len(),
            data_address: data,
            data_bytes,
        },
        loops: stitched
            .loops
            .iter()
            .zip(&addresses[first_loop..])
            .map(|((head, _), address)| (*head, *address as u64))
            .collect(),
    })
}
