//! From a sample to the chain of places that were active: the newest frame first.
//!
//! The sample has the newest words of the stack as they were. Older frames, which continuations hold, are
//! read as they are now, if the thread has not returned to one of them since. A place is an address of
//! bytecode with the way in which the code was executed, so that nothing has to be looked up here.

use std::cell::RefCell;

use canny_jit::CodePlace;
use canny_spesh::code_map::FastMap;
use canny_spesh::graph::Escape;
use canny_tables::layout::{descriptor, frame};
use canny_tables::opcodes::Opcode;

use super::capture::{Interrupted, Sample, code_word_of, value_of};
use crate::code::CodeRef;
use crate::code::stubs::TRAP_CALL_BASE;
use crate::frames::{bytecode_of, is_retired};
use crate::thread::Thread;

/// How code was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Execution {
    Interpreted,
    Compiled,
    Inlined,
    /// It ended with a tail call.
    Left,
}

/// One place of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Link {
    /// An instruction of the machine's own code.
    Native(usize),
    /// The kernel, called from there.
    Kernel(usize),
    /// The operation that the instruction whose first word ends before an address leaves to the machine.
    Operation(u64),
    /// A frame: an address behind the first word of an instruction, or a return address.
    Frame(u64, Execution),
    /// No procedure is active.
    Loading,
    /// Frames below are missing.
    Cut,
}

/// Frames of a chain at most.
pub(super) const FRAMES_MAX: usize = 600;

/// Reads samples of one thread.
pub(super) struct Walk<'a> {
    pub(super) thread: &'a Thread,
    pub(super) links: Vec<Link>,
    /// In samples of allocations the offset of the object in memory that was taken for several.
    pub(super) offset_bytes: usize,
    returns: RefCell<ReturnPlaces>,
    /// Why compiled code made the object of the last sample.
    pub(super) escape: Option<Escape>,
}

/// The meaning of return addresses, until code is freed: to find it out takes a lock.
pub(super) type ReturnPlaces = FastMap<usize, Option<(u64, Execution, usize)>>;

impl<'a> Walk<'a> {
    pub(super) fn new(thread: &'a Thread, returns: ReturnPlaces) -> Walk<'a> {
        Walk {
            thread,
            links: Vec::new(),
            offset_bytes: 0,
            returns: RefCell::new(returns),
            escape: None,
        }
    }

    /// The meanings of return addresses, for the next walk.
    pub(super) fn into_return_places(self) -> ReturnPlaces {
        self.returns.into_inner()
    }

    /// The chain of a sample, without its native places.
    pub(super) fn read(&mut self, sample: &Sample) {
        self.links.clear();
        self.escape = None;
        let fp = match sample.interrupted {
            Interrupted::Native => self.native(sample),
            Interrupted::Interpreter => self.interpreted(sample),
            Interrupted::Compiled => self.compiled(sample),
        };
        match fp {
            Some(fp) => self.callers(sample, fp),
            None => self.links.push(Link::Cut),
        }
    }

    /// In the machine's own code: the state with which generated code was left.
    fn native(&mut self, sample: &Sample) -> Option<usize> {
        if sample.return_address != 0
            && let Some(place) = self.place_of(sample.return_address - 1)
        {
            let operation = place.addresses.first().copied();
            self.escape = place.escape;
            self.links.extend(operation.map(Link::Operation));
            self.places(&place);
            // Stitched code that has left for the machine has said where it was.
            let has_left = place.is_stitched && operation == Some(sample.pc as u64);
            let fp = match has_left {
                true => Some(sample.fp),
                false if sample.passed_fp != 0 => Some(sample.passed_fp),
                false => self.frame_of(sample, &place),
            };
            return fp;
        }
        if sample.pc == 0 {
            self.links.push(Link::Loading);
            return Some(0);
        }
        self.code(sample.pc)?;
        self.links.push(Link::Operation(sample.pc as u64));
        self.links
            .push(Link::Frame(sample.pc as u64, Execution::Interpreted));
        Some(sample.fp)
    }

    fn interpreted(&mut self, sample: &Sample) -> Option<usize> {
        let code = self.code(sample.pc);
        let candidates = &sample.candidates[..sample.candidate_count];
        let candidate = match code {
            // In the middle of a call either of the two may have changed already.
            Some(code) => candidates
                .iter()
                .find(|candidate| candidate.fp == sample.fp && candidate.code == code.word())
                .or_else(|| candidates.iter().find(|one| one.code == code.word())),
            None => candidates.iter().find(|one| one.fp == sample.fp),
        };
        if code.is_none()
            && let Some((pc, execution, _)) = self
                .return_place(sample.pc)
                .or_else(|| self.return_place(sample.pc.checked_sub(4)?))
        {
            // On the way back to compiled code.
            self.links.push(Link::Frame(pc, execution));
            return candidate.or(candidates.first()).map(|one| one.fp);
        }
        let Some(candidate) = candidate else {
            let code = code?;
            let pc = code.start() as u64 + 4;
            self.links.push(Link::Frame(pc, Execution::Interpreted));
            return None;
        };
        let pc = match code {
            Some(code) if code.word() == candidate.code => {
                // The interpreter's pc stands before or behind the first word.
                let start = code.start() as usize;
                sample.pc.max(start + 4) as u64
            }
            _ => CodeRef::of_value(self.heap_code(candidate.code)?)?.start() as u64 + 4,
        };
        self.links.push(Link::Frame(pc, Execution::Interpreted));
        Some(candidate.fp)
    }

    fn compiled(&mut self, sample: &Sample) -> Option<usize> {
        let Some(place) = self.place_of(sample.address) else {
            // A stub between two pieces of code.
            let lowest = sample.candidates[..sample.candidate_count]
                .iter()
                .filter(|one| self.is_code(one.code))
                .min_by_key(|one| one.fp)?;
            let code = CodeRef::of_value(self.heap_code(lowest.code)?)?;
            let pc = code.start() as u64 + 4;
            self.links.push(Link::Frame(pc, Execution::Compiled));
            return Some(lowest.fp);
        };
        self.places(&place);
        self.frame_of(sample, &place)
    }

    fn place_of(&self, address: usize) -> Option<CodePlace> {
        let specializer = &self.thread.vm.specializer;
        specializer.place_of(address, self.offset_bytes)
    }

    /// Adds the frames at a place of compiled code.
    fn places(&mut self, place: &CodePlace) {
        if let Some((last, inlined)) = place.addresses.split_last() {
            for address in inlined {
                self.links.push(Link::Frame(*address, Execution::Inlined));
            }
            self.links.push(Link::Frame(*last, Execution::Compiled));
        }
    }

    /// The fp of the code at a place.
    fn frame_of(&self, sample: &Sample, place: &CodePlace) -> Option<usize> {
        let last = place.addresses.last()?;
        let code = self.code(*last as usize)?;
        let candidates = &sample.candidates[..sample.candidate_count];
        let is_of_code = |fp: usize| {
            candidates
                .iter()
                .any(|one| one.fp == fp && one.code == code.word())
        };
        if place.is_stitched && is_of_code(sample.fp) {
            return Some(sample.fp);
        }
        let own = candidates.iter().filter(|one| one.code == code.word());
        if let Some(lowest) = own.map(|one| one.fp).min() {
            return Some(lowest);
        }
        // The segment may address its frame from the one that it was entered with.
        let above = 8 * place.entered_above as isize as usize;
        let entered = || candidates.iter().map(|one| one.fp.wrapping_sub(above));
        let of_code = entered()
            .filter(|fp| self.code_of_frame(sample, *fp) == Some(code.word()))
            .min();
        // A procedure that is called by its name may not have put its closure into the link yet.
        of_code.or_else(|| entered().find(|fp| self.has_link(sample, *fp)))
    }

    /// Whether a return address stands below an address of the stack.
    fn has_link(&self, sample: &Sample, fp: usize) -> bool {
        let stubs = &self.thread.vm.stubs;
        let stubs = [stubs.exit(), stubs.underflow(), stubs.barrier()];
        let word = fp.checked_sub(8).and_then(|slot| sample.word(slot));
        word.is_some_and(|word| {
            let word = word as usize;
            stubs.iter().any(|stub| *stub as usize == word) || self.return_place(word).is_some()
        })
    }

    /// The code of the closure in a frame's link, as far as it has not moved.
    fn code_of_frame(&self, sample: &Sample, fp: usize) -> Option<u64> {
        let closure = sample.word(fp.checked_sub(8 * frame::LINK_WORDS)?)?;
        code_word_of(closure, &self.thread.vm.heap.addresses())
    }

    /// Adds the frames below the one at `fp`.
    fn callers(&mut self, sample: &Sample, mut fp: usize) {
        let stubs = &self.thread.vm.stubs;
        let [exit, underflow, barrier, trap] = [
            stubs.exit(),
            stubs.underflow(),
            stubs.barrier(),
            stubs.trap(),
        ]
        .map(|stub| stub as usize);
        if fp == 0 || fp == self.thread.stack.base() as usize {
            return;
        }
        loop {
            if self.links.len() >= FRAMES_MAX {
                return self.links.push(Link::Cut);
            }
            let Some(word) = sample.word(fp - 8) else {
                return self.links.push(Link::Cut);
            };
            let mut return_pc = word as usize;
            if return_pc == barrier {
                if sample.watermark.0 != fp {
                    return self.links.push(Link::Cut);
                }
                return_pc = sample.watermark.1;
            }
            if return_pc == exit {
                return;
            }
            if return_pc == underflow {
                return self.sealed(sample);
            }
            if return_pc == trap {
                let caller = fp - 8 * (TRAP_CALL_BASE + frame::LINK_WORDS);
                let words = sample.word(caller - 8).zip(sample.word(caller));
                let interrupted = words.and_then(|(resumed, distance)| {
                    let distance = value_of(distance).as_fixnum()?;
                    Some((resumed + 4, caller.checked_sub(8 * distance as usize)?))
                });
                let Some((pc, interrupted)) = interrupted else {
                    return self.links.push(Link::Cut);
                };
                self.links.push(Link::Frame(pc, Execution::Interpreted));
                fp = interrupted;
                continue;
            }
            let Some((pc, execution, base)) = self.return_place(return_pc) else {
                return self.links.push(Link::Cut);
            };
            self.links.push(Link::Frame(pc, execution));
            let words = base + frame::LINK_WORDS;
            let caller = fp.checked_sub(8 * words);
            let caller = caller.filter(|caller| *caller > self.thread.stack.base() as usize);
            match caller {
                Some(caller) => fp = caller,
                None => return self.links.push(Link::Cut),
            }
        }
    }

    /// The meaning of a return address: the bytecode's, how the code is executed, and where the caller's
    /// frame begins.
    fn return_place(&self, return_pc: usize) -> Option<(u64, Execution, usize)> {
        if let Some(known) = self.returns.borrow().get(&return_pc) {
            return *known;
        }
        let found = self.find_return_place(return_pc);
        self.returns.borrow_mut().insert(return_pc, found);
        found
    }

    fn find_return_place(&self, return_pc: usize) -> Option<(u64, Execution, usize)> {
        let vm = &self.thread.vm;
        let is_descriptor = vm
            .specializer
            .code_addresses()
            .is_some_and(|addresses| addresses.contains(&return_pc));
        if return_pc & 3 != 0 || !is_descriptor && self.code(return_pc).is_none() {
            return None;
        }
        let pointer = return_pc as *const u32;
        if is_descriptor && return_pc % align_of::<u64>() != descriptor::BYTECODE % 8 {
            return None;
        }
        let execution = match is_descriptor {
            false => Execution::Interpreted,
            true if is_retired(pointer) => Execution::Inlined,
            true => Execution::Compiled,
        };
        // Other words are no descriptors, whatever they look like.
        let bytecode = if is_descriptor {
            bytecode_of(pointer) as usize
        } else {
            return_pc
        };
        self.code(bytecode)?;
        // SAFETY: the address is in a code object or among the descriptors, which have the call's words
        // before a return address.
        let base = unsafe { *pointer.cast::<u8>().sub(7) };
        Some((bytecode as u64, execution, base.into()))
    }

    /// Adds the frames that continuations hold.
    fn sealed(&mut self, sample: &Sample) {
        let sealed = self.thread.sealed;
        if sample.sealed.0 == 0 {
            // There are none.
            return;
        }
        if sample.sealed != (sealed.bytes, sealed.pc as usize) {
            return self.links.push(Link::Cut);
        }
        let links = &mut self.links;
        let mut is_whole = true;
        self.thread.each_sealed_frame(sealed, &mut |_, pc, opcode| {
            let execution = match opcode {
                Some(Opcode::Native | Opcode::Stitched) => Execution::Compiled,
                Some(Opcode::Retired) => Execution::Inlined,
                _ => Execution::Interpreted,
            };
            links.push(Link::Frame(pc as u64, execution));
            is_whole = links.len() < FRAMES_MAX;
            is_whole
        });
        if !is_whole {
            self.links.push(Link::Cut);
        }
    }

    /// The code that contains an address of an instruction.
    pub(super) fn code(&self, pc: usize) -> Option<CodeRef> {
        code_around(self.thread, pc)
    }

    fn is_code(&self, word: u64) -> bool {
        self.thread.vm.heap.is_code(word)
    }

    fn heap_code(&self, word: u64) -> Option<canny_value::Value> {
        self.is_code(word).then(|| value_of(word))
    }
}

/// The code that contains an address of an instruction, which may stand behind its last one.
pub(super) fn code_around(thread: &Thread, pc: usize) -> Option<CodeRef> {
    let word = thread.vm.heap.code_around(pc.checked_sub(1)?)?;
    let code = CodeRef::of_value(value_of(word))?;
    let start = code.start() as usize;
    let end = start + 4 * code.instructions().len();
    (start..=end).contains(&pc).then_some(code)
}
