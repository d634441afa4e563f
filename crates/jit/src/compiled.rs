//! What compilation gives: position-independent machine code and what its descriptors say. Installing it
//! ([`crate::CodeMemory::install`]) gives both their addresses.

use canny_spesh::graph::StateId;
use canny_spesh::types::Type;

use crate::exits::ExitTail;
use crate::machine::{FunctionCode, Relocation};

/// Segments begin at multiples of this, for the constants behind their code.
const SEGMENT_ALIGNMENT: usize = 16;

/// Machine code of a procedure, not yet at an address.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) code: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) entry: usize,
    /// Where calls of known code come in, if it is entered at its start: types to be asked for, and types known.
    pub(crate) starts: Option<(usize, usize)>,
    /// Bytecode address that the entry stands for.
    pub(crate) start: u64,
    pub(crate) returns: Vec<ReturnPlan>,
    pub(crate) inlined: Vec<InlinedPlan>,
    pub(crate) exits: Vec<ExitPlan>,
    pub(crate) resumptions: Vec<ResumptionPlan>,
    pub(crate) links: Vec<LinkPlan>,
    /// Where the last steps of ways out begin.
    pub(crate) exit_tails: Vec<usize>,
    /// Places of the segments, for people.
    pub(crate) segments: Vec<SegmentPlace>,
    pub(crate) name: String,
    pub(crate) disassembly: String,
}

/// A return descriptor to be made.
#[derive(Clone, Debug)]
pub(crate) struct ReturnPlan {
    pub(crate) call_word: u32,
    pub(crate) live_map: u32,
    pub(crate) bytecode: u64,
    /// Where compiled returns go.
    pub(crate) native: usize,
    /// Where the interpreter's return goes.
    pub(crate) bridge: usize,
}

/// The descriptor of a call that was inlined: the return address in the inlined frame's link. Nothing returns there
/// but the interpreter, once it went on with the frame, so it is born retired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InlinedPlan {
    pub(crate) call_word: u32,
    pub(crate) live_map: u32,
    pub(crate) bytecode: u64,
}

/// An exit descriptor to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitPlan {
    pub(crate) state: StateId,
    pub(crate) bytecode: u64,
    pub(crate) is_before_loop: bool,
}

/// Where a native call of the runtime goes on: pairs of the address that the runtime gives and the segment for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumptionPlan {
    pub(crate) next: (u64, usize),
    pub(crate) taken: (u64, usize),
}

/// A link word to be made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LinkPlan {
    /// Tagged word of the code that is called.
    pub(crate) code: u64,
    /// What is known of the arguments.
    pub(crate) types: Vec<Type>,
}

/// Where a segment is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentPlace {
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) has_frame: bool,
}

impl Compiled {
    /// Bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.code.len()
    }

    /// Number of segments.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Number of segments that keep a native frame because they need more registers than there are.
    pub fn framed_segment_count(&self) -> usize {
        self.segments.iter().filter(|s| s.has_frame).count()
    }

    /// Cranelift's listing of the machine code; empty unless it was asked for.
    pub fn disassembly(&self) -> &str {
        &self.disassembly
    }

    /// Appends a segment; gives the offsets of its entry and of the bridge or front before it.
    pub(crate) fn add_segment(&mut self, function: FunctionCode, bridge: &[u8]) -> (usize, usize) {
        let start = (self.code.len() + bridge.len()).next_multiple_of(SEGMENT_ALIGNMENT);
        self.code.resize(start, 0xcc);
        self.code.extend_from_slice(&function.bytes);
        let entry = start + function.entry;
        let bridge_start = entry - bridge.len();
        self.code[bridge_start..entry].copy_from_slice(bridge);
        self.relocations
            .extend(function.relocations.iter().map(|relocation| Relocation {
                offset: relocation.offset + start,
                ..*relocation
            }));
        if let Some(text) = function.disassembly {
            let number = self.segments.len();
            self.disassembly
                .push_str(&format!("segment {number} of {}\n{text}\n", self.name));
        }
        self.segments.push(SegmentPlace {
            offset: entry,
            length: start + function.bytes.len() - entry,
            has_frame: function.has_frame,
        });
        (entry, bridge_start)
    }

    /// Appends the last steps of ways out.
    pub(crate) fn add_exit_tails(&mut self, tails: &[ExitTail]) {
        for tail in tails {
            self.exit_tails.push(self.code.len());
            tail.write(&mut self.code, &mut self.relocations);
        }
    }
}
