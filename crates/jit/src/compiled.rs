//! The result of compilation: position-independent machine code and the contents of its
//! descriptors. Installing it ([`crate::CodeMemory::install`]) gives both their addresses.

use std::mem::take;

use canny_spesh::graph::StateId;
use canny_spesh::types::Type;

use crate::arguments::{self, Doubles, doubles_of};
use crate::assembler::{Assembler, TRAP};
use crate::doubles;
use crate::exits::ExitTail;
use crate::machine::FunctionCode;
use crate::places::PlaceTable;
use crate::relocation::Relocation;

/// Segments begin at multiples of this, for the constants behind their code.
const SEGMENT_ALIGNMENT: usize = 16;

/// The place of what is not there yet.
pub(crate) const NO_PLACE: usize = usize::MAX;

/// Machine code of a procedure, not yet at an address.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) code: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) entry: usize,
    /// Where calls of known code come in, if it is entered at its start.
    pub(crate) starts: Option<Starts>,
    /// Bytecode address that the entry stands for.
    pub(crate) start: u64,
    pub(crate) returns: Vec<ReturnPlan>,
    pub(crate) inlined: Vec<InlinedPlan>,
    pub(crate) exits: Vec<ExitPlan>,
    pub(crate) resumptions: Vec<ResumptionPlan>,
    pub(crate) links: Vec<LinkPlan>,
    /// Where the boxing stubs of links stand that pass doubles.
    pub(crate) boxing_stubs: Vec<Option<usize>>,
    /// Where the last steps of side exits begin.
    pub(crate) exit_tails: Vec<usize>,
    /// Places of the segments, for people.
    pub(crate) segments: Vec<SegmentPlace>,
    /// Where its code stands for what, for profilers.
    pub(crate) places: PlaceTable,
    pub(crate) name: String,
    pub(crate) disassembly: String,
}

/// Where calls of known code come in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starts {
    /// Types to be asked for.
    pub(crate) checked: usize,
    /// Types known.
    pub(crate) known: usize,
    /// And these arguments as doubles.
    pub(crate) direct: usize,
    pub(crate) doubles: Doubles,
}

/// A return descriptor to be made.
#[derive(Clone, Debug)]
pub(crate) struct ReturnPlan {
    pub(crate) call_word: u32,
    pub(crate) live_map: u32,
    pub(crate) bytecode: u64,
    /// Where compiled returns of words go.
    pub(crate) native: usize,
    /// Where compiled returns of doubles go.
    pub(crate) float: usize,
    /// Where compiled returns of fixnums go.
    pub(crate) fixnum: usize,
    /// Where the interpreter's return goes.
    pub(crate) bridge: usize,
}

/// The descriptor of a call that was inlined: the return address in the inlined frame's link. Nothing
/// returns there but the interpreter, once it continued with the frame, so it is born retired.
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

/// Where a native call of the runtime continues: pairs of the address that the runtime gives and the
/// segment for it.
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
    /// Types that are known of the arguments.
    pub(crate) types: Vec<Type>,
}

impl LinkPlan {
    /// The arguments that come as doubles.
    pub(crate) fn doubles(&self) -> Doubles {
        doubles_of(&self.types)
    }
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

    /// Appends a segment; gives the offsets of its entry and of the code in front of it.
    pub(crate) fn add_segment(
        &mut self,
        function: FunctionCode,
        front: &[u8],
        relocations: &[Relocation],
    ) -> (usize, usize) {
        let start = (self.code.len() + front.len()).next_multiple_of(SEGMENT_ALIGNMENT);
        self.code.resize(start, TRAP);
        self.code.extend_from_slice(&function.bytes);
        let entry = start + function.entry;
        let front_start = entry - front.len();
        self.code[front_start..entry].copy_from_slice(front);
        for (relocations, start) in [
            (&function.relocations[..], start),
            (relocations, front_start),
        ] {
            let moved = relocations.iter().map(|relocation| Relocation {
                offset: relocation.offset + start,
                ..*relocation
            });
            self.relocations.extend(moved);
        }
        let places = function.places.iter();
        let places = places.map(|(at, place)| (start as u32 + at, *place));
        self.places.ranges.extend(places);
        let segment = (front_start as u32, function.entered_above);
        self.places.segments.push(segment);
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
        (entry, front_start)
    }

    /// Appends what makes flonums of doubles that go to where words are wanted: the boxing stubs of
    /// links, and the return to calls that take words. These have no place for doubles yet.
    pub(crate) fn add_boxing_stubs(&mut self, box_flonum: usize) {
        let returns_words = |plan: &ReturnPlan| plan.float == NO_PLACE;
        let passes_doubles = |link: &LinkPlan| link.doubles().count() > 0;
        self.boxing_stubs = vec![None; self.links.len()];
        if !self.returns.iter().any(returns_words) && !self.links.iter().any(passes_doubles) {
            return;
        }
        let mut to = self.take_assembler();
        let maker = doubles::write_maker(&mut to, box_flonum);
        let place = doubles::write_return(&mut to, maker);
        for plan in self.returns.iter_mut().filter(|plan| returns_words(plan)) {
            plan.float = place;
        }
        for (index, link) in self.links.iter().enumerate() {
            if passes_doubles(link) {
                self.boxing_stubs[index] = Some(to.place());
                let arguments = (arguments::in_registers(link.types.len()), link.doubles());
                arguments::write_boxing_stub(&mut to, arguments, index as u32, maker);
            }
        }
        self.put_back(to);
    }

    /// Takes the code, to continue with it; [`Compiled::put_back`] puts it back.
    fn take_assembler(&mut self) -> Assembler {
        Assembler::behind(take(&mut self.code), take(&mut self.relocations))
    }

    fn put_back(&mut self, assembler: Assembler) {
        (self.code, self.relocations) = assembler.finish();
    }

    /// Appends the last steps of side exits.
    pub(crate) fn add_exit_tails(&mut self, tails: &[ExitTail]) {
        let mut to = self.take_assembler();
        for tail in tails {
            self.exit_tails.push(to.place());
            tail.write(&mut to);
        }
        self.put_back(to);
    }
}
