//! Breakpoints: what somebody asked for, and the instructions of loaded code that belong to it.
//!
//! A breakpoint has an instruction in each code, and in each copy that the compiler made of a procedure.
//! Units that are loaded later are searched when they come.

use std::collections::BTreeSet;
use std::sync::Arc;

use canny_compiler::unit::inlined_calls;
use canny_spesh::snapshot::CodeWord;
use canny_tables::kinds::Kind;
use canny_tables::opcodes::{Opcode, field_a, field_wide};
use canny_value::Value;

use super::hits::Hits;
use super::kept::Kept;
use super::places::{Place, Places, first_possible, is_file};
use super::watched::{Change, PartName, Watched};
use super::{Debugger, Verdict, patches};
use crate::code::{CodeRef, UnitMetadata};
use crate::data::symbols::symbol_name;
use crate::debug::stop::Stop;
use crate::thread::Thread;

/// Names a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BreakpointId(pub u32);

/// Where a breakpoint is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The code of a line, or the nearest code behind it. The name may be the end of the file's name.
    Line {
        /// The file.
        file: String,
        /// The line, from one.
        line: u32,
    },
    /// The beginning of every procedure with this name.
    Procedure(String),
    /// Where an object is raised, by the machine or by the program.
    Raise,
    /// Where a task begins, in that task.
    TaskBegin,
    /// Where a task has ended, in that task: with a value, a failure, or since it was cancelled.
    TaskEnd,
    /// Where a variable of the program or of a library with this name is assigned, before that happens.
    Assignment(String),
    /// Where a part of an object is changed: before a store, or behind what has changed it otherwise.
    Part(Kept, PartName),
    /// Every place of the program and of its own libraries: for tests that stop everywhere.
    Everywhere,
}

/// Looks at a stop before anybody else does: whether it is to happen.
pub type Condition = Arc<dyn Fn(&mut Stop<'_>) -> Verdict + Send + Sync>;

/// A breakpoint as it is asked for.
#[derive(Clone)]
pub struct Breakpoint {
    /// Where.
    pub location: Location,
    /// Whether to stop at it, unless always.
    pub condition: Option<Condition>,
    /// How many times it passes before it stops.
    pub passes: u64,
}

impl Breakpoint {
    /// A breakpoint that always stops.
    pub fn new(location: Location) -> Breakpoint {
        Breakpoint {
            location,
            condition: None,
            passes: 0,
        }
    }
}

/// The outcome of a request for a breakpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakpointState {
    /// Instructions that have it; none as long as no code is loaded that contains it.
    pub places: usize,
    /// The line of its code, which may be behind the one that was asked for.
    pub line: Option<u32>,
    /// How often it was met.
    pub hits: u64,
}

/// A breakpoint with what was found for it.
pub(super) struct Known {
    pub(super) id: BreakpointId,
    pub(super) breakpoint: Breakpoint,
    /// Instructions: code and word index.
    places: Vec<(CodeWord, u32)>,
    line: Option<u32>,
    pub(super) hits: Hits,
    /// The part of an object that is watched.
    pub(super) watched: Option<Arc<Watched>>,
}

impl Known {
    pub(super) fn new(id: BreakpointId, breakpoint: Breakpoint) -> Known {
        Known {
            id,
            breakpoint,
            places: Vec::new(),
            line: None,
            hits: Hits::default(),
            watched: None,
        }
    }

    /// Whether it has an instruction at an address.
    pub(super) fn is_at(&self, at: usize) -> bool {
        let address = |(code, index): &(CodeWord, u32)| {
            code_of(*code).map(|code| code.start() as usize + 4 * *index as usize)
        };
        self.places.iter().any(|place| address(place) == Some(at))
    }

    pub(super) fn state(&self) -> BreakpointState {
        BreakpointState {
            places: self.places.len(),
            line: self.line,
            hits: self.hits.total(),
        }
    }
}

/// The code that a word names, which is kept alive.
fn code_of(word: CodeWord) -> Option<CodeRef> {
    // SAFETY: code with breakpoints is kept alive, and does not move.
    CodeRef::of_value(unsafe { Value::from_bits(word.0) })
}

/// A code with its unit.
type Loaded = (Arc<UnitMetadata>, usize, CodeRef);

/// Field of a cell with its name.
const CELL_NAME: usize = 1;

/// Procedures of a unit of the library that are called where something happens.
struct Witnesses {
    unit: &'static str,
    names: &'static [&'static str],
}

impl Location {
    /// The procedures of the library that are called there, for places that are no text of the program.
    fn witnesses(&self) -> Option<Witnesses> {
        let (unit, names): (_, &[_]) = match self {
            Location::Raise => ("(canny machine control)", &["raise", "raise-continuable"]),
            Location::TaskBegin => ("(canny tasks)", &["run-task"]),
            Location::TaskEnd => ("(canny tasks)", &["%end-task"]),
            _ => return None,
        };
        Some(Witnesses { unit, names })
    }
}

impl Thread {
    /// Sets a breakpoint, in code that is loaded and in code that will be.
    pub fn set_breakpoint(&mut self, breakpoint: Breakpoint) -> BreakpointId {
        let watched = match breakpoint.location {
            Location::Part(object, part) => self.watch_part(object, part),
            _ => None,
        };
        let watched = watched.map(Arc::new);
        let object = watched
            .as_deref()
            .map(|watched| self.watched_object(watched));
        let codes = self.loaded_codes(None);
        let debugger = &self.vm.debugger;
        debugger.turn_on();
        let mut state = debugger.lock();
        state.breakpoints_made += 1;
        let id = BreakpointId(state.breakpoints_made);
        let mut known = Known::new(id, breakpoint);
        known.watched = watched;
        find(&mut known, object, &codes);
        let changed: BTreeSet<CodeWord> = known.places.iter().map(|(code, _)| *code).collect();
        state.breakpoints.push(known);
        debugger.begin_wakes(&state);
        drop(state);
        self.put_breaks(&changed);
        id
    }

    /// Takes a breakpoint away; whether there was one.
    pub fn remove_breakpoint(&mut self, id: BreakpointId) -> bool {
        let debugger = &self.vm.debugger;
        let mut state = debugger.lock();
        let at = state.breakpoints.iter().position(|known| known.id == id);
        let Some(known) = at.map(|at| state.breakpoints.remove(at)) else {
            return false;
        };
        drop(state);
        let changed: BTreeSet<CodeWord> = known.places.iter().map(|(code, _)| *code).collect();
        self.put_breaks(&changed);
        if let Some(watched) = &known.watched {
            self.unwatch_part(watched);
        }
        true
    }

    /// A unit was loaded: gives its code the breaks that belong there.
    pub(crate) fn set_breaks_of_unit(&mut self, unit: usize) {
        let codes = self.loaded_codes(Some(unit));
        let mut state = self.vm.debugger.lock();
        let mut changed = BTreeSet::new();
        for known in &mut state.breakpoints {
            let before = known.places.len();
            let watched = known.watched.as_deref();
            let object = watched.map(|watched| self.watched_object(watched));
            find(known, object, &codes);
            changed.extend(known.places[before..].iter().map(|(code, _)| *code));
        }
        drop(state);
        self.put_breaks(&changed);
    }

    /// The code that is loaded, of all units or of one.
    fn loaded_codes(&self, wanted: Option<usize>) -> Vec<Loaded> {
        let mut codes = Vec::new();
        self.vm.units.each_code(|_, number, code| {
            if wanted.is_none_or(|wanted| wanted == number) {
                codes.extend(CodeRef::of_value(code));
            }
        });
        let with_unit = codes.into_iter().filter_map(|code| {
            let (unit, index) = self.vm.metadata(code)?;
            Some((unit, index, code))
        });
        with_unit.collect()
    }

    /// Gives code the breaks that its breakpoints want, and no others.
    fn put_breaks(&self, codes: &BTreeSet<CodeWord>) {
        for word in codes {
            let Some(code) = code_of(*word) else {
                continue;
            };
            let state = self.vm.debugger.lock();
            let wanted = state.breakpoints.iter().flat_map(|known| &known.places);
            let wanted = wanted.filter(|(code, _)| code == word);
            let mut wanted: BTreeSet<usize> = wanted.map(|(_, index)| *index as usize).collect();
            // The ends of calls that the debugger has made are breaks, too, wherever they were.
            let (start, end) = (code.start() as usize, 4 * code.instructions().len());
            let calls = state.calls.values().flatten().filter(|call| call.is_break);
            let offsets = calls.map(|call| call.at.wrapping_sub(start));
            wanted.extend(
                offsets
                    .filter(|offset| *offset < end)
                    .map(|offset| offset / 4),
            );
            drop(state);
            self.vm.shared_roots.keep_code(code.value());
            let had = self.vm.specializer.breaks_of(*word);
            for index in had.iter().filter(|index| !wanted.contains(index)) {
                patches::remove(code, *index);
            }
            for index in &wanted {
                patches::put(code, *index);
            }
            let wanted: Vec<usize> = wanted.into_iter().collect();
            self.vm.specializer.set_breaks(*word, &wanted);
        }
        self.vm.debugger.note_change();
    }
}

impl Thread {
    /// The global variable that the instruction at hand assigns, its value, and the new one.
    pub(super) fn debug_assignment(&self) -> Option<(String, Value, Value)> {
        // SAFETY: the thread stands behind the first word of an instruction of a live frame.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) })?;
        let behind = (self.pc as usize).checked_sub(code.start() as usize)? / 4;
        let at = behind.checked_sub(1)?;
        let word = *code.plain_instructions().get(at)?;
        if Opcode::from_byte(word as u8) != Some(Opcode::GlobalSet) {
            return None;
        }
        let cell = cell_of(code, at, word).as_kind(Kind::Cell)?;
        // SAFETY: the instruction reads this register, so it is live.
        let new = unsafe { *self.fp.add(usize::from(field_a(word))) };
        Some((symbol_name(cell.field(CELL_NAME))?, cell.field(0), new))
    }
}

impl Thread {
    /// The change that a breakpoint on a part of an object has met here.
    pub(super) fn debug_change_at(&self, id: BreakpointId) -> Option<Change> {
        let seen = self.break_at_hand()?;
        let asked = seen.asked.iter().find(|asked| asked.id == id)?;
        self.change_of(asked.watched.as_deref()?, &seen)
    }
}

impl Debugger {
    /// The state of a breakpoint, if there is one with this name.
    pub fn breakpoint(&self, id: BreakpointId) -> Option<BreakpointState> {
        let state = self.lock();
        let known = state.breakpoints.iter().find(|known| known.id == id);
        known.map(Known::state)
    }
}

/// Adds the instructions of some codes that belong to a breakpoint. `object` is the one that is watched.
fn find(known: &mut Known, object: Option<Value>, codes: &[Loaded]) {
    match &known.breakpoint.location {
        Location::Line { file, line } => {
            let (places, line) = find_line(file, *line, known.line, codes);
            known.places.extend(places);
            known.line = line;
        }
        Location::Procedure(name) => {
            for (unit, index, code) in codes {
                let is_it = unit.codes[*index].name.as_deref() == Some(name);
                if is_it && let Some(place) = first_place(unit, *index, *code) {
                    known.places.push((CodeWord(code.word()), place));
                }
                let copies = first_of_copies(unit, *index, *code, name);
                let copies = copies.into_iter().map(|at| (CodeWord(code.word()), at));
                known.places.extend(copies);
            }
        }
        Location::Assignment(name) => {
            for (_, _, code) in codes {
                let own = assignments(*code, name).into_iter();
                known
                    .places
                    .extend(own.map(|at| (CodeWord(code.word()), at)));
            }
        }
        Location::Everywhere => {
            for (unit, index, code) in codes.iter().filter(|(_, _, code)| !code.is_library()) {
                let places = Places::of(unit, *index, *code).by_index.into_keys();
                let word = CodeWord(code.word());
                known.places.extend(places.map(|at| (word, at)));
            }
        }
        Location::Part(..) => {
            let Some((watched, object)) = known.watched.as_deref().zip(object) else {
                return;
            };
            for (_, _, code) in codes {
                let own = watched.places(object, *code).into_iter();
                known
                    .places
                    .extend(own.map(|at| (CodeWord(code.word()), at)));
            }
        }
        Location::Raise | Location::TaskBegin | Location::TaskEnd => {
            let Some(witnesses) = known.breakpoint.location.witnesses() else {
                return;
            };
            for (unit, index, code) in codes
                .iter()
                .filter(|(unit, ..)| unit.name == witnesses.unit)
            {
                let word = CodeWord(code.word());
                let name = unit.codes[*index].name.as_deref();
                if name.is_some_and(|name| witnesses.names.contains(&name)) {
                    let first = first_possible(*code);
                    known.places.extend(first.map(|first| (word, first)));
                }
                // The copy of a procedure that raises has its object anywhere.
                let copied =
                    (known.breakpoint.location != Location::Raise).then_some(witnesses.names);
                for name in copied.into_iter().flatten() {
                    let copies = first_of_copies(unit, *index, *code, name).into_iter();
                    known.places.extend(copies.map(|at| (word, at)));
                }
            }
        }
    }
}

fn first_place(unit: &UnitMetadata, index: usize, code: CodeRef) -> Option<u32> {
    let places = Places::of(unit, index, code);
    let own = places.by_index.iter().find(|(_, place)| {
        // The procedure's own code, not a copy of another one at its beginning.
        place.inlined == 0
    });
    own.map(|(index, _)| *index)
        .or_else(|| places.first())
        .or_else(|| first_possible(code))
}

/// The instructions of a code that assign a global variable of this name.
fn assignments(code: CodeRef, name: &str) -> Vec<u32> {
    let words = code.plain_instructions();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(opcode) = Opcode::from_byte(*word as u8) else {
            break;
        };
        if opcode == Opcode::GlobalSet {
            let cell = cell_of(code, at, *word).as_kind(Kind::Cell);
            let its_name = cell.and_then(|cell| symbol_name(cell.field(CELL_NAME)));
            if its_name.as_deref() == Some(name) {
                found.push(at as u32);
            }
        }
        at += opcode.words();
    }
    found
}

/// The pool's slot that an instruction names by its distance.
fn cell_of(code: CodeRef, at: usize, word: u32) -> Value {
    // SAFETY: verified distances lead from behind the instruction's first word to a pool slot.
    unsafe {
        let behind = code.start().add(at + 1);
        *behind.sub(field_wide(word) as usize).cast::<Value>()
    }
}

/// Where the copies of a procedure begin that the compiler has made in a code.
fn first_of_copies(unit: &UnitMetadata, index: usize, code: CodeRef, name: &str) -> Vec<u32> {
    let is_copied = |row: &canny_compiler::unit::InlinedCall| {
        row.procedure
            .as_ref()
            .is_some_and(|one| one.as_str() == name)
    };
    if !unit.inlinings.iter().any(is_copied) {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let places = Places::of(unit, index, code).by_index.into_iter();
    let firsts = places.filter(|(_, place)| {
        let row = (place.span.inlining as usize).checked_sub(1);
        let row = row.and_then(|row| unit.inlinings.get(row));
        row.is_some_and(is_copied) && seen.insert(place.span.inlining)
    });
    firsts.map(|(at, _)| at).collect()
}

/// The instructions of a line, or of the next line with code; `moved` is the line that was chosen in
/// other units, if there was one.
fn find_line(
    file: &str,
    line: u32,
    moved: Option<u32>,
    codes: &[Loaded],
) -> (Vec<(CodeWord, u32)>, Option<u32>) {
    let mut found: Vec<(u32, CodeWord, u32, Place)> = Vec::new();
    let mut procedures = Vec::new();
    for (unit, index, code) in codes {
        let is_asked: Vec<bool> = unit
            .sources
            .iter()
            .map(|source| is_file(&source.name, file))
            .collect();
        if !is_asked.contains(&true) {
            continue;
        }
        let places = Places::of(unit, *index, *code);
        let word = CodeWord(code.word());
        for (at, place) in &places.by_index {
            // A call that was replaced by a copy begins where the copy does.
            let calls = inlined_calls(&unit.inlinings, place.span).map(|row| row.call);
            for span in std::iter::once(place.span).chain(calls) {
                let is_asked = is_asked.get(span.source as usize) == Some(&true);
                let of_span = unit.line(is_asked.then_some(span));
                if let Some((_, of_span)) = of_span.filter(|(_, of_span)| *of_span >= line) {
                    found.push((of_span, word, *at, Place { span, ..*place }));
                }
            }
        }
        let definition = unit.codes[*index].span;
        if let Some(span) = definition.filter(|span| is_asked[span.source as usize])
            && let Some((_, from)) = unit.line(Some(span))
            && from == line
            && *index != unit.entry
            && let Some(first) = first_place(unit, *index, *code)
        {
            procedures.push((span, (word, first)));
        }
    }
    // A definition that begins there is a procedure to stop in, not the place that makes it.
    found.retain(|(_, _, _, place)| {
        let is_definition = |span: &canny_compiler::unit::UnitSpan| {
            (span.start, span.end) == (place.span.start, place.span.end)
        };
        !procedures.iter().any(|(span, _)| is_definition(span))
    });
    let mut places: Vec<(CodeWord, u32)> = procedures.iter().map(|(_, place)| *place).collect();
    let nearest = found.iter().map(|(line, ..)| *line).min();
    let chosen = if places.is_empty() {
        moved.or(nearest)
    } else {
        Some(line)
    };
    let mut seen: BTreeSet<(CodeWord, u32)> = BTreeSet::new();
    found.sort_by_key(|(_, word, at, _)| (*word, *at));
    let is_in_procedure = |word: &CodeWord| procedures.iter().any(|(_, (code, _))| code == word);
    for (at_line, word, at, place) in &found {
        let is_new = Some(*at_line) == chosen && !is_in_procedure(word);
        if is_new && seen.insert((*word, place.span.inlining)) {
            places.push((*word, *at));
        }
    }
    (places, chosen)
}
