//! The memory that a thread has of the breaks that it has met, so that a condition which is not true costs
//! no lock, no walk and no allocation: the opcode of the instruction, the breakpoints there, and the places
//! of variables that their conditions have read. Code with breaks is kept alive, so an address never means
//! another instruction.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_compiler::unit::VariablePlace;
use canny_spesh::code_map::FastMap;
use canny_tables::opcodes::Opcode;

use super::breakpoints::{BreakpointId, Condition};
use super::hits::Counter;
use super::watched::Watched;
use super::{Debugger, patches};
use crate::thread::Thread;

/// A breakpoint at an instruction.
pub(super) struct Asked {
    pub(super) id: BreakpointId,
    pub(super) condition: Option<Condition>,
    /// The part of an object that it watches.
    pub(super) watched: Option<Arc<Watched>>,
    hits: Counter,
}

/// A break.
pub(super) struct SeenBreak {
    at: usize,
    pub(super) opcode: Opcode,
    /// In the order of their numbers.
    pub(super) asked: Vec<Asked>,
    variables: RefCell<Vec<(String, SeenVariable)>>,
}

/// A variable of the newest frame at a break.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenVariable {
    /// None if the frame has none of that name, or its code has let go of it.
    pub(super) place: Option<VariablePlace>,
    pub(super) is_boxed: bool,
}

/// The breaks that a thread has met since breakpoints have changed.
#[derive(Default)]
pub(super) struct Seen {
    version: usize,
    breaks: FastMap<usize, Rc<SeenBreak>>,
    /// The one that was met last.
    last: Option<Rc<SeenBreak>>,
    /// A list to be filled with breakpoints that are met, between two of its uses.
    met: Vec<BreakpointId>,
}

impl Debugger {
    /// Breakpoints or breaks were changed.
    pub(super) fn note_change(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }
}

impl Thread {
    /// The break at an address; none if it was taken away.
    pub(super) fn seen_break(&mut self, at: *const u32) -> Option<Rc<SeenBreak>> {
        let debugger = &self.vm.debugger;
        let version = debugger.version.load(Ordering::Acquire);
        let seen = &mut self.debug.seen;
        if seen.version != version {
            seen.breaks.clear();
            seen.last = None;
            seen.version = version;
        }
        if let Some(known) = seen.breaks.get(&(at as usize)) {
            seen.last = Some(known.clone());
            return seen.last.clone();
        }
        let opcode = patches::original(at)?;
        let state = debugger.lock();
        let known = state.breakpoints.iter();
        let asked = known.filter(|known| known.is_at(at as usize));
        let asked = asked.map(|known| Asked {
            id: known.id,
            condition: known.breakpoint.condition.clone(),
            watched: known.watched.clone(),
            hits: known.hits.counter(known.breakpoint.passes),
        });
        let known = Rc::new(SeenBreak {
            at: at as usize,
            opcode,
            asked: asked.collect(),
            variables: RefCell::default(),
        });
        seen.breaks.insert(at as usize, known.clone());
        Some(known)
    }

    /// The break at an address, if it was the last one that the thread met, and nothing has changed.
    #[inline]
    pub(super) fn seen_again(&self, at: *const u32) -> Option<Rc<SeenBreak>> {
        let seen = &self.debug.seen;
        let last = seen.last.as_ref().filter(|last| last.at == at as usize)?;
        let version = self.vm.debugger.version.load(Ordering::Acquire);
        (seen.version == version).then(|| last.clone())
    }

    /// The break at which the thread stands, if it has one.
    pub(super) fn break_at_hand(&self) -> Option<Rc<SeenBreak>> {
        // SAFETY: stubs save pc behind the first word of the instruction.
        let at = unsafe { self.pc.sub(1) };
        self.debug.seen.at(at)
    }

    /// Counts the hits of all breakpoints of a break, and adds those that have passed often enough.
    pub(super) fn meet(&mut self, seen: &SeenBreak, met: &mut Vec<BreakpointId>) {
        for asked in &seen.asked {
            if let Some(watched) = &asked.watched
                && !self.is_changed(watched, seen.opcode, seen.at as *const u32)
            {
                continue;
            }
            if asked.count() {
                met.push(asked.id);
            }
        }
    }

    /// An empty list for breakpoints, which is to be given back.
    pub(super) fn take_met(&mut self) -> Vec<BreakpointId> {
        std::mem::take(&mut self.debug.seen.met)
    }

    pub(super) fn give_met(&mut self, mut met: Vec<BreakpointId>) {
        met.clear();
        self.debug.seen.met = met;
    }
}

impl Seen {
    fn at(&self, at: *const u32) -> Option<Rc<SeenBreak>> {
        let at = at as usize;
        match &self.last {
            Some(last) if last.at == at => Some(last.clone()),
            _ => self.breaks.get(&at).cloned(),
        }
    }
}

impl Asked {
    /// Counts a hit; whether the breakpoint is asked.
    #[inline]
    pub(super) fn count(&self) -> bool {
        self.hits.count()
    }
}

impl SeenBreak {
    /// The only breakpoint, if it has a condition and watches nothing.
    #[inline]
    pub(super) fn alone(&self) -> Option<(&Asked, &Condition)> {
        match self.asked.as_slice() {
            [asked] if asked.watched.is_none() => Some((asked, asked.condition.as_ref()?)),
            _ => None,
        }
    }

    /// The place of a variable, if it is remembered.
    #[inline]
    pub(super) fn variable(&self, name: &str) -> Option<SeenVariable> {
        for (known, variable) in self.variables.borrow().iter() {
            if known == name {
                return Some(*variable);
            }
        }
        None
    }

    pub(super) fn remember(&self, name: &str, variable: SeenVariable) {
        self.variables
            .borrow_mut()
            .push((name.to_owned(), variable));
    }
}
