//! Gives compiled code its addresses: copies it, makes descriptors, resolves displacements, and takes
//! it all back.
//!
//! | descriptor | written by | read by |
//! |---|---|---|
//! | opcode word | `install`; `retire`, atomically | the interpreter's dispatch, compiled returns |
//! | an entry's next candidate | `pass_on_to`, atomically | compiled entries |
//! | a link | `install`; `lead_link`, atomically | compiled calls of known code |
//! | the rest | `install` | the same, and walks of frames |

mod stitched;

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use canny_spesh::graph::StateId;
use canny_spesh::types::Type;
use canny_tables::layout::descriptor;
use canny_tables::opcodes::{Opcode, encode_abc};

use crate::JitError;
use crate::arguments::{self, Doubles};
use crate::assembler::TRAP;
use crate::compiled::Compiled;
use crate::descriptors::{NEXT, RETURN_FIXNUM, RETURN_FLOAT, RETURN_NATIVE};
use crate::places::LineOf;
use crate::publication;
use crate::region::Region;
use crate::relocation::{Relocation, Target};
use crate::stubs::resumption;

pub(crate) use stitched::install_stitched;
pub use stitched::{InstalledStitches, StitchedCode};

/// Bytes from one native descriptor to the next: prefix, descriptor, and alignment.
const NATIVE_STRIDE: usize = 64;
/// Bytes before a native descriptor: the words in front of a return address, after padding.
const NATIVE_PREFIX: usize = 16;
/// Bytes from one exit descriptor to the next.
const EXIT_STRIDE: usize = 32;
/// Bytes of a link: where calls go, and where they continue behind the boxing stub.
const LINK_BYTES: usize = 16;
/// Offset of the second word.
const LINK_OF_WORDS: usize = 8;

const _: () = assert!(NATIVE_PREFIX + RETURN_FIXNUM + 8 <= NATIVE_STRIDE);

/// Where a call returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnDescriptor {
    /// Address of the descriptor: the return address in frames.
    pub address: usize,
    /// The return address in the bytecode that it stands for.
    pub bytecode: u64,
}

/// A side exit of compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitInfo {
    /// The state that the interpreter resumes from.
    pub state: StateId,
    /// Address of the exit descriptor.
    pub address: usize,
    /// Where in the bytecode.
    pub bytecode: u64,
    /// The guard that failed stands before the loop that begins there; it does not belong to the
    /// instruction there.
    pub is_before_loop: bool,
}

/// Where calls of known code continue; the caller's owner keeps the word up to date
/// ([`Installed::lead_link`]).
#[derive(Clone, Debug)]
pub struct Link {
    /// Tagged word of the code that is called.
    pub code: u64,
    /// Types that the caller knows of the arguments.
    pub types: Vec<Type>,
    address: usize,
    /// The arguments that it passes as doubles, and the stub that makes words of them if it passes
    /// some.
    doubles: Doubles,
    boxing_stub: Option<usize>,
}

/// Where calls of known code enter a candidate, with arguments in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartEntries {
    /// If they do not know that the arguments are of the types that the candidate is for.
    checked: usize,
    /// If they know.
    known: usize,
    /// If they know, and pass these as doubles.
    direct: usize,
    doubles: Doubles,
}

/// Where calls by a link are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkGoal {
    /// To whatever the code object leads to.
    Code,
    /// To a candidate that has to ask for the types of the arguments.
    Checked(StartEntries),
    /// To a candidate for the types that the caller knows of the arguments.
    Known(StartEntries),
}

/// Machine code in memory. Dropping it leaves code and descriptors where they are; see [`Installed::free`].
#[derive(Debug)]
pub struct Installed {
    region: Arc<Region>,
    /// Machine address of the entry segment: for a code object's NATIVE word.
    pub native_entry: usize,
    /// Where calls of known code enter; none if this is entered at a loop.
    pub starts: Option<StartEntries>,
    /// Where its own calls of known code go.
    pub links: Vec<Link>,
    /// Address of the entry's descriptor: for a code object's ENTRY word, or where a loop continues.
    pub entry_descriptor: usize,
    /// Return descriptors.
    pub return_descriptors: Vec<ReturnDescriptor>,
    /// Exits; the index is the number in the exit descriptor.
    pub exits: Vec<ExitInfo>,
    /// Start of the machine code.
    pub code_address: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Start of the descriptors.
    pub data_address: usize,
    /// Bytes of descriptors.
    pub data_bytes: usize,
}

/// Places of a candidate's data, from its start.
struct Layout {
    returns: usize,
    inlined: usize,
    exits: usize,
    resumptions: usize,
    links: usize,
    end: usize,
}

impl Layout {
    fn new(compiled: &Compiled) -> Layout {
        let returns = NATIVE_STRIDE;
        let inlined = returns + NATIVE_STRIDE * compiled.returns.len();
        let exits = (inlined + NATIVE_STRIDE * compiled.inlined.len()).next_multiple_of(16);
        let resumptions = exits + EXIT_STRIDE * compiled.exits.len();
        let links = resumptions + resumption::SIZE * compiled.resumptions.len();
        Layout {
            returns,
            inlined,
            exits,
            resumptions,
            links,
            end: links + LINK_BYTES * compiled.links.len(),
        }
    }

    fn return_descriptor(&self, index: usize) -> usize {
        self.returns + NATIVE_STRIDE * index + NATIVE_PREFIX
    }

    fn inlined(&self, index: usize) -> usize {
        self.inlined + NATIVE_STRIDE * index + NATIVE_PREFIX
    }

    fn exit(&self, index: usize) -> usize {
        self.exits + EXIT_STRIDE * index
    }

    fn resumption(&self, index: usize) -> usize {
        self.resumptions + resumption::SIZE * index
    }

    fn link(&self, index: usize) -> usize {
        self.links + LINK_BYTES * index
    }
}

/// Installs compiled code.
pub(crate) fn install(
    region: &Arc<Region>,
    compiled: &Compiled,
    candidate: u64,
    line_of: LineOf,
) -> Result<Installed, JitError> {
    let layout = Layout::new(compiled);
    let data = region.take_data(layout.end)?;
    let code = match region.take_code(compiled.code.len()) {
        Ok(code) => code,
        Err(error) => {
            region.give_data(data, layout.end);
            return Err(error);
        }
    };
    let mut bytes = data_bytes(compiled, &layout, candidate, code);
    for (index, plan) in compiled.links.iter().enumerate() {
        let adapter = region.adapter(arguments::in_registers(plan.types.len()));
        let first = compiled.boxing_stubs[index].map_or(adapter, |boxing_stub| code + boxing_stub);
        for (offset, native) in [(0, first), (LINK_OF_WORDS, adapter)] {
            let at = layout.link(index) + offset;
            bytes[at..at + 8].copy_from_slice(&(native as u64).to_le_bytes());
        }
    }
    // SAFETY: the range of data was just taken, so nobody else uses it.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data as *mut u8, bytes.len()) };
    let mut text = compiled.code.clone();
    for relocation in &compiled.relocations {
        let target = match relocation.target {
            Target::Return(index) => data + layout.return_descriptor(index as usize),
            Target::Inlined(index) => data + layout.inlined(index as usize),
            Target::Exit(index) => data + layout.exit(index as usize),
            Target::Resumption(index) => data + layout.resumption(index as usize),
            Target::Stub(stub) => region.stub(stub),
            Target::Segment(index) => code + compiled.segments[index as usize].offset,
            Target::Next => data + NATIVE_PREFIX + NEXT,
            Target::ExitTail(index) => code + compiled.exit_tails[index as usize],
            Target::Link(index) => data + layout.link(index as usize),
            Target::LinkOfWords(index) => data + layout.link(index as usize) + LINK_OF_WORDS,
        };
        displace(&mut text, code, relocation, target);
    }
    // SAFETY: the range of code was just taken, and nothing refers to it yet.
    unsafe { region.write_code(code, &text) };
    make_known(region, compiled, code, &text, line_of);
    Ok(Installed {
        region: region.clone(),
        native_entry: code + compiled.entry,
        starts: compiled.starts.map(|starts| StartEntries {
            checked: code + starts.checked,
            known: code + starts.known,
            direct: code + starts.direct,
            doubles: starts.doubles,
        }),
        links: compiled
            .links
            .iter()
            .enumerate()
            .map(|(index, plan)| Link {
                code: plan.code,
                types: plan.types.clone(),
                address: data + layout.link(index),
                doubles: plan.doubles(),
                boxing_stub: compiled.boxing_stubs[index].map(|boxing_stub| code + boxing_stub),
            })
            .collect(),
        entry_descriptor: data + NATIVE_PREFIX,
        return_descriptors: compiled
            .returns
            .iter()
            .enumerate()
            .map(|(index, plan)| ReturnDescriptor {
                address: data + layout.return_descriptor(index),
                bytecode: plan.bytecode,
            })
            .collect(),
        exits: compiled
            .exits
            .iter()
            .enumerate()
            .map(|(index, plan)| ExitInfo {
                state: plan.state,
                address: data + layout.exit(index),
                bytecode: plan.bytecode,
                is_before_loop: plan.is_before_loop,
            })
            .collect(),
        code_address: code,
        code_bytes: compiled.code.len(),
        data_address: data,
        data_bytes: layout.end,
    })
}

/// Tells profilers what the code of a procedure at an address is.
fn make_known(region: &Region, compiled: &Compiled, code: usize, text: &[u8], line_of: LineOf) {
    let table = compiled.places.clone();
    region.places().add(code..code + compiled.code.len(), table);
    for (index, segment) in compiled.segments.iter().enumerate() {
        let name = if index == 0 {
            compiled.name.clone()
        } else {
            format!("{}+{index}", compiled.name)
        };
        let range = segment.offset..segment.offset + segment.length;
        let bytes = &text[range.clone()];
        region.list(&name, code + segment.offset, bytes, || {
            compiled.places.lines(code, range, line_of)
        });
    }
}

fn displace(text: &mut [u8], code: usize, relocation: &Relocation, target: usize) {
    let place = (code + relocation.offset) as i64;
    let displacement = (target as i64 + relocation.addend - place) as i32;
    text[relocation.offset..relocation.offset + 4].copy_from_slice(&displacement.to_le_bytes());
}

fn data_bytes(compiled: &Compiled, layout: &Layout, candidate: u64, code: usize) -> Vec<u8> {
    let mut bytes = vec![0; layout.end];
    let mut put = |at: usize, content: &[u8]| {
        bytes[at..at + content.len()].copy_from_slice(content);
    };
    let native = encode_abc(Opcode::Native, 0, 0, 0);
    let entry = (code + compiled.entry) as u64;
    put(NATIVE_PREFIX, &native.to_le_bytes());
    put(NATIVE_PREFIX + descriptor::NATIVE, &entry.to_le_bytes());
    put(
        NATIVE_PREFIX + descriptor::BYTECODE,
        &compiled.start.to_le_bytes(),
    );
    for (index, plan) in compiled.returns.iter().enumerate() {
        let at = layout.return_descriptor(index);
        let bridge = (code + plan.bridge) as u64;
        let segment = (code + plan.native) as u64;
        put(at - 8, &plan.call_word.to_le_bytes());
        put(at - 4, &plan.live_map.to_le_bytes());
        put(at, &native.to_le_bytes());
        put(at + descriptor::NATIVE, &bridge.to_le_bytes());
        put(at + descriptor::BYTECODE, &plan.bytecode.to_le_bytes());
        put(at + RETURN_NATIVE, &segment.to_le_bytes());
        let float = (code + plan.float) as u64;
        put(at + RETURN_FLOAT, &float.to_le_bytes());
        let fixnum = (code + plan.fixnum) as u64;
        put(at + RETURN_FIXNUM, &fixnum.to_le_bytes());
    }
    let retired = encode_abc(Opcode::Retired, 0, 0, 0);
    for (index, plan) in compiled.inlined.iter().enumerate() {
        let at = layout.inlined(index);
        put(at - 8, &plan.call_word.to_le_bytes());
        put(at - 4, &plan.live_map.to_le_bytes());
        put(at, &retired.to_le_bytes());
        put(at + descriptor::BYTECODE, &plan.bytecode.to_le_bytes());
    }
    let leave = encode_abc(Opcode::Leave, 0, 0, 0);
    for (index, plan) in compiled.exits.iter().enumerate() {
        let at = layout.exit(index);
        put(at, &leave.to_le_bytes());
        put(at + descriptor::EXIT, &(index as u32).to_le_bytes());
        put(at + descriptor::CANDIDATE, &candidate.to_le_bytes());
        put(at + descriptor::BYTECODE, &plan.bytecode.to_le_bytes());
    }
    for (index, plan) in compiled.resumptions.iter().enumerate() {
        let at = layout.resumption(index);
        for (offset, word) in [
            (resumption::NEXT, plan.next.0),
            (resumption::NEXT_SEGMENT, (code + plan.next.1) as u64),
            (resumption::TAKEN, plan.taken.0),
            (resumption::TAKEN_SEGMENT, (code + plan.taken.1) as u64),
        ] {
            put(at + offset as usize, &word.to_le_bytes());
        }
    }
    bytes
}

impl Installed {
    /// Has calls that are not for this code passed on to a machine address, which takes what a code
    /// object's NATIVE takes. To be said before anything leads here, and may be said again later.
    pub fn pass_on_to(&self, native: usize) {
        let address = self.entry_descriptor + NEXT;
        // SAFETY: the descriptor is this candidate's, aligned, and in data memory while the region lives.
        let word = unsafe { AtomicU64::from_ptr(address as *mut u64) };
        publication::lead_on(word, native as u64);
    }

    /// Has calls by a link go to another candidate, or by way of the code object. To be said again
    /// before that candidate is freed, until this one is.
    pub fn lead_link(&self, index: usize, goal: LinkGoal) {
        let Some(link) = self.links.get(index) else {
            return;
        };
        let with_words = match goal {
            LinkGoal::Code => {
                let count = arguments::in_registers(link.types.len());
                self.region.adapter(count)
            }
            LinkGoal::Checked(starts) => starts.checked,
            LinkGoal::Known(starts) => starts.known,
        };
        let native = match (goal, link.boxing_stub) {
            (LinkGoal::Known(starts), _) if starts.doubles == link.doubles => starts.direct,
            (_, Some(boxing_stub)) => boxing_stub,
            (_, None) => with_words,
        };
        // A call already on its way to the boxing stub finds the right second word.
        for (offset, native) in [(LINK_OF_WORDS, with_words), (0, native)] {
            // SAFETY: the word is this candidate's, aligned, and in data memory while the region lives.
            let word = unsafe { AtomicU64::from_ptr((link.address + offset) as *mut u64) };
            publication::lead_on(word, native as u64);
        }
    }

    /// Makes every suspended frame resume in the interpreter, and every later entry by the entry's
    /// descriptor too. Code that runs now runs on to its next call, return or exit.
    pub fn retire(&self) {
        let addresses = self.return_descriptors.iter().map(|there| there.address);
        for address in addresses.chain([self.entry_descriptor]) {
            // SAFETY: the descriptor is this candidate's, aligned, and in data memory while the region lives.
            let word = unsafe { AtomicU32::from_ptr(address as *mut u32) };
            publication::retire(word);
        }
    }

    /// Gives code and descriptors back.
    ///
    /// # Safety
    /// No code object, frame or thread refers to the code or a descriptor, or will.
    pub unsafe fn free(self) {
        // A thread that jumps here in spite of that stops at once, at an address that tells why.
        // SAFETY: the ranges are this candidate's, and by the caller's word nobody else's.
        unsafe {
            let trap = vec![TRAP; self.code_bytes];
            self.region.write_code(self.code_address, &trap);
            ptr::write_bytes(self.data_address as *mut u8, TRAP, self.data_bytes);
        }
        self.region.places().remove(self.code_address);
        self.region.give_code(self.code_address, self.code_bytes);
        self.region.give_data(self.data_address, self.data_bytes);
    }

    /// The candidate's return descriptor at an address.
    pub fn return_at(&self, address: usize) -> Option<&ReturnDescriptor> {
        self.return_descriptors
            .iter()
            .find(|there| there.address == address)
    }
}
