//! Stepping: a thread asks at every instruction whether the step of its task is over.
//!
//! The depth of a frame is the number of bytes of all frames below it, on the stack and in
//! continuations, so that captures do not change it. A step over ends when its own frame, or an older
//! one, comes to another line: deeper frames do not count. A tail call ends the frame, unless it is a
//! call of the same procedure, which is a loop. An escape leads to an older frame. While the task
//! waits, the step is kept by the debugger, and goes with the task to whatever thread resumes it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use canny_llint::DispatchTable;
use canny_tables::opcodes::{
    Flow, NATIVE_ENTER_ENTRY, Opcode, OpcodeFlags, TABLE_ENTRIES, field_a,
};
use canny_value::Value;

use super::TaskKey;
use super::callees::Rests;
use super::expansions::{ExpansionId, Opened};
use super::places::{Place, Places};
use super::tasks::key_of;
use crate::code::CodeRef;
use crate::thread::Thread;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// To the next place, in whatever procedure of the program.
    In,
    /// To the next place of this procedure, or of an older one.
    Over,
    /// To an older frame.
    Out,
}

/// The unit of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Another line.
    Line,
    /// Another expression.
    Expression,
}

/// The reason why a thread is stepped through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Step(StepKind, Granularity),
    /// Into the call by the instruction with this word index in the frame where the step began.
    Into(u32),
    /// Into the expansion that the step knows.
    Enter,
    /// Out of it.
    Leave,
    /// Any place.
    Pause,
    /// The instruction at an address, in a frame of this depth, after a call that the debugger made.
    Return(usize, usize),
}

/// Where a step began.
#[derive(Clone, Copy, Debug)]
struct Start {
    depth: usize,
    code: u64,
    /// None after a loop has begun again: each place is another one.
    place: Option<Place>,
    inlined: u32,
    /// The frame has ended with a tail call.
    is_gone: bool,
}

/// The step of a task.
#[derive(Debug)]
pub(super) struct Step {
    task: TaskKey,
    goal: Goal,
    start: Start,
    /// The expansion that it enters or leaves.
    expansion: Option<Opened>,
    /// The one by whose text it goes.
    opened: Option<Opened>,
    /// How often everything was told to stop before it began.
    interrupts: usize,
    /// Places of code, by its word.
    places: HashMap<u64, Arc<Places>>,
    pub(super) rests: Rests,
}

impl Step {
    /// Whether it cannot end in a frame of this depth, nor in what that calls.
    pub(super) fn passes(&self, depth: usize) -> bool {
        let start = &self.start;
        match self.goal {
            // In a frame with copies of procedures it may end there.
            Goal::Step(StepKind::Out, _) if start.inlined == 0 => depth >= start.depth,
            Goal::Step(StepKind::Over | StepKind::Out, _)
            | Goal::Into(_)
            | Goal::Enter
            | Goal::Leave => depth > start.depth,
            Goal::Return(_, of) => depth > of,
            Goal::Step(StepKind::In, _) | Goal::Pause => false,
        }
    }
}

/// Where an instruction is about to be executed.
#[derive(Clone, Copy)]
struct Here {
    at: *const u32,
    opcode: Opcode,
    depth: usize,
    code: CodeRef,
}

/// The dispatch table of threads that are stepped through.
static STEPPING: LazyLock<DispatchTable> = LazyLock::new(|| {
    let mut table: DispatchTable = [canny_llint::slow_stub(Opcode::Break); TABLE_ENTRIES];
    table[NATIVE_ENTER_ENTRY] = canny_llint::fast_table()[NATIVE_ENTER_ENTRY];
    table
});

impl Thread {
    /// The table in force while the thread is stepped through.
    pub(crate) fn stepping_table(&self) -> Option<&'static DispatchTable> {
        self.is_stepping().then(|| &*STEPPING)
    }

    /// The task that runs.
    pub fn task_key(&self) -> TaskKey {
        key_of(self.tasks.current)
    }

    /// Bytes of the frames below fp.
    pub(super) fn depth(&self) -> usize {
        self.depth_of(self.fp)
    }

    /// The same for another frame on the stack.
    pub(super) fn depth_of(&self, fp: *mut Value) -> usize {
        self.sealed.bytes + (fp as usize - self.stack.base() as usize)
    }

    /// The task has changed, or somebody wants something of it: sees whether it is stepped through.
    pub(crate) fn meet_debugger(&mut self) {
        self.take_count_orders();
        let task = self.task_key();
        let mut state = self.vm.debugger.lock();
        if let Some(step) = self.debug.step.take() {
            state.steps.insert(step.task, step);
        }
        let is_asked = state.pauses.remove(&task);
        let pauses = is_asked || state.pauses_all;
        let step = state.steps.remove(&task);
        let is_older = step
            .as_ref()
            .is_some_and(|step| step.interrupts < state.interrupts);
        drop(state);
        self.debug.step = step;
        // A step over a long call ends with a pause of its task, or of everything.
        if is_asked || pauses && (is_older || self.debug.step.is_none()) {
            self.begin(Goal::Pause);
        }
        self.use_table(self.specializer.log.table());
    }

    /// Stops the task that this thread runs, or is about to run, at the first place of the program.
    pub fn pause(&mut self) {
        self.vm.debugger.turn_on();
        self.begin(Goal::Pause);
    }

    /// A pause that was wanted, and to which nothing has come, is wanted no more.
    pub fn end_pause(&mut self) {
        let step = self.debug.step.as_ref();
        if step.is_some_and(|step| step.goal == Goal::Pause) {
            self.end_step();
        }
    }

    fn begin(&mut self, goal: Goal) {
        self.begin_in(goal, None);
    }

    /// Begins a step that knows an expansion.
    fn begin_in(&mut self, goal: Goal, id: Option<ExpansionId>) {
        let starts_in_frame = matches!(
            goal,
            Goal::Step(..) | Goal::Into(_) | Goal::Enter | Goal::Leave
        );
        let code = if starts_in_frame {
            // SAFETY: a thread steps where it stands in a frame, whose closure is alive.
            CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) })
        } else {
            None
        };
        let interrupts = self.vm.debugger.lock().interrupts;
        let mut step = Box::new(Step {
            task: self.task_key(),
            goal,
            interrupts,
            start: Start {
                depth: self.depth(),
                code: code.map_or(0, CodeRef::word),
                place: None,
                inlined: 0,
                is_gone: false,
            },
            expansion: None,
            opened: None,
            places: HashMap::new(),
            rests: Rests::default(),
        });
        if let Some(code) = code {
            let places = self.places_of(&mut step, code);
            let unit = id.and_then(|_| self.vm.metadata(code));
            let expansion = unit.and_then(|(unit, _)| unit.opened(id?));
            step.opened = match goal {
                Goal::Enter => expansion.as_ref().and_then(Opened::outer),
                _ => expansion.clone(),
            };
            step.expansion = expansion;
            // SAFETY: pc is in the bytecode of the frame's code.
            let index = unsafe { self.pc.sub(1).offset_from(code.start()) };
            step.start.place = places.viewed(index as u32, step.opened.as_ref());
            step.start.inlined = step.start.place.map_or(0, |place| place.inlined);
        }
        // The log up to here does not fit the log from the end of the step on.
        self.discard_log();
        self.debug.step = Some(step);
        self.use_table(self.specializer.log.table());
    }

    /// Begins a step from where the thread stands.
    pub(super) fn step_from_here(&mut self, kind: StepKind, granularity: Granularity) {
        self.begin(Goal::Step(kind, granularity));
    }

    /// Begins a step in an opened expansion.
    pub(super) fn step_in_expansion(
        &mut self,
        kind: StepKind,
        granularity: Granularity,
        id: ExpansionId,
    ) {
        self.begin_in(Goal::Step(kind, granularity), Some(id));
    }

    /// Begins a step into an expansion.
    pub(super) fn step_into_expansion(&mut self, id: ExpansionId) {
        self.begin_in(Goal::Enter, Some(id));
    }

    /// Begins a step out of an expansion.
    pub(super) fn step_out_of_expansion(&mut self, id: ExpansionId) {
        self.begin_in(Goal::Leave, Some(id));
    }

    /// Begins a step into one of the calls of the line at hand.
    pub(super) fn step_into(&mut self, index: u32) {
        self.begin(Goal::Into(index));
    }

    /// Waits for the end of a call that the debugger makes here.
    pub(super) fn await_return(&mut self, at: usize, depth: usize) {
        self.begin(Goal::Return(at, depth));
    }

    /// The task runs at a depth, in its own code: a call that the debugger made in a frame that is as deep
    /// has been left by an escape, and is not waited for any more.
    pub(super) fn forget_return(&mut self, depth: usize) {
        let step = self.debug.step.as_ref();
        if matches!(step.map(|step| step.goal), Some(Goal::Return(_, of)) if of >= depth) {
            self.end_step();
        }
    }

    /// Whether the thread stands in code of the program, in a frame that has begun.
    pub(super) fn is_in_program(&self) -> bool {
        // SAFETY: an instruction is executed in a frame whose closure is alive.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) });
        code.is_some_and(|code| !code.is_library() && !code.is_entry(self.pc))
    }

    pub(super) fn end_step(&mut self) {
        if self.debug.step.take().is_some() {
            self.use_table(self.specializer.log.table());
        }
    }

    fn places_of(&self, step: &mut Step, code: CodeRef) -> Arc<Places> {
        let places = step.places.entry(code.word()).or_insert_with(|| {
            let metadata = self.vm.metadata(code);
            let places = metadata.map(|(unit, index)| Places::of(&unit, index, code));
            Arc::new(places.unwrap_or_default())
        });
        places.clone()
    }

    /// Whether the step of the task ends before an instruction; what the step knows is brought up to date.
    pub(super) fn step_ends(&mut self, at: *const u32, opcode: Opcode) -> bool {
        if opcode.has(OpcodeFlags::MACHINE) || !self.is_stepping() {
            // Stubs of the machine may have no frame.
            return false;
        }
        let Some(mut step) = self.debug.step.take() else {
            return false;
        };
        // SAFETY: an instruction is executed in a frame whose closure is alive.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) });
        let ends = code.is_some_and(|code| {
            let depth = self.depth();
            let here = Here {
                at,
                opcode,
                depth,
                code,
            };
            self.ends_here(&mut step, &here)
        });
        self.debug.step = Some(step);
        ends
    }

    fn ends_here(&mut self, step: &mut Step, here: &Here) -> bool {
        if matches!(step.goal, Goal::Return(..)) {
            // The end of the call is noticed by itself.
            return false;
        }
        let has_begun = !here.code.is_entry(self.pc);
        if !has_begun || here.code.is_library() || self.is_critical() {
            return false;
        }
        let is_deeper = here.depth > step.start.depth;
        let counts_deeper = matches!(step.goal, Goal::Pause | Goal::Step(StepKind::In, _));
        if is_deeper && !counts_deeper {
            return false;
        }
        let places = self.places_of(step, here.code);
        // SAFETY: the instruction is one of the frame's code.
        let index = unsafe { here.at.offset_from(here.code.start()) } as u32;
        let own = places.own_viewed(index, step.opened.as_ref());
        let start = step.start;
        if step.goal == Goal::Into(index)
            && here.depth == start.depth
            && here.code.word() == start.code
        {
            // From here on it is a step in: the next place of the program is in the callee.
            step.goal = Goal::Step(StepKind::In, Granularity::Line);
            step.start.place = places.in_force(index);
            self.note_loops(step, here);
            return false;
        }
        let ends = match step.goal {
            Goal::Pause => own.is_some(),
            Goal::Step(StepKind::Out, _) => start.is_older(here, places.in_force(index)),
            Goal::Step(StepKind::Over, _) if start.is_older(here, places.in_force(index)) => true,
            Goal::Into(_) | Goal::Enter | Goal::Leave
                if start.is_older(here, places.in_force(index)) =>
            {
                true
            }
            Goal::Enter | Goal::Leave => ends_at_expansion(step, here, &places, index),
            Goal::Step(StepKind::Over, _) | Goal::Into(_) => {
                let granularity = match step.goal {
                    Goal::Step(_, granularity) => granularity,
                    _ => Granularity::Line,
                };
                let is_same = here.depth == start.depth && here.code.word() == start.code;
                is_same && !start.is_gone && own.is_some_and(|own| start.is_left(own, granularity))
            }
            Goal::Step(StepKind::In, granularity) => {
                let is_same = here.depth == start.depth && here.code.word() == start.code;
                start.is_older(here, places.in_force(index))
                    || own.is_some_and(|own| !is_same || start.is_left(own, granularity))
            }
            Goal::Return(..) => false,
        };
        if !ends {
            self.note_loops(step, here);
        }
        ends
    }

    /// A loop or a tail call in the frame where the step began.
    fn note_loops(&self, step: &mut Step, here: &Here) {
        let start = &mut step.start;
        if (here.depth, here.code.word()) != (start.depth, start.code) || start.is_gone {
            return;
        }
        if here.opcode.row().flow == Flow::Loop {
            start.place = None;
        } else if here.opcode == Opcode::TailCall {
            // SAFETY: the instruction is about to be executed, so the registers that it reads are live.
            let callee = unsafe {
                let word = *here.at;
                *self.fp.add(usize::from(field_a(word)))
            };
            let is_itself = CodeRef::of_closure(callee).map(CodeRef::word) == Some(start.code);
            start.place = None;
            start.is_gone = !is_itself;
        }
    }
}

/// Whether a step into or out of an expansion ends at an instruction.
fn ends_at_expansion(step: &Step, here: &Here, places: &Places, index: u32) -> bool {
    let start = &step.start;
    let is_same = here.depth == start.depth && here.code.word() == start.code;
    let is_own = places.by_index.contains_key(&index) || places.expanded.contains_key(&index);
    let Some(own) = places.viewed(index, step.opened.as_ref()) else {
        return false;
    };
    if !is_own || !is_same || start.is_gone {
        return false;
    }
    let Some(expansion) = &step.expansion else {
        return start.is_left(own, Granularity::Line);
    };
    let links = places.links_at(index);
    let written = places.in_force(index).unwrap_or(own);
    let is_part = expansion.has_part(links, written.span);
    match (step.goal, expansion.has_made(links)) {
        (Goal::Leave, has_made) => !has_made && !is_part,
        (_, true) => true,
        // Parts of the use come before the code that the macro made.
        (_, false) => !is_part && start.is_left(own, Granularity::Line),
    }
}

impl Start {
    /// Whether the frame is older than the one where the step began, or the one around a copy in it.
    fn is_older(&self, here: &Here, place: Option<Place>) -> bool {
        let is_same = here.depth == self.depth && here.code.word() == self.code;
        let leaves_copy =
            is_same && !self.is_gone && place.is_some_and(|place| place.inlined < self.inlined);
        here.depth < self.depth || leaves_copy
    }

    /// Whether a place of the same frame is another one.
    fn is_left(&self, now: Place, granularity: Granularity) -> bool {
        let Some(before) = self.place else {
            return now.inlined <= self.inlined;
        };
        if now.inlined > self.inlined && granularity == Granularity::Line {
            // In a copy of a procedure that it calls.
            return false;
        }
        match granularity {
            Granularity::Line => {
                (now.span.source, now.line) != (before.span.source, before.line)
                    || now.inlined < self.inlined
            }
            Granularity::Expression => now.span != before.span,
        }
    }
}
