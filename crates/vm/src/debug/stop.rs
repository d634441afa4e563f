//! A task that stands still, as its client sees it: the reason, the frames, the variables, and what may be
//! done with them. It owns nothing but the protection of the values that it has given.

use canny_syntax::core::GlobalName;
use canny_syntax::library_name::LibraryKey;
use canny_syntax::name::Name;
use canny_tables::kinds::Kind as ObjectKind;
use canny_value::Value;

use super::breakpoints::BreakpointId;
use super::expansions::{Expanded, ExpansionId, ExpansionView};
use super::frames::{Assignment, DebugFrame, DebugVariable, Origin};
use super::jumps::Ahead;
use super::seen::SeenBreak;
use super::watched::Change;
use super::{Debugger, Resume, TaskKey};
use crate::frames::Position;
use crate::thread::{Protected, Thread};

/// The procedure that runs what a debugger has compiled.
const RUNNER: &str = "%run-for-debugger";
const RUNNER_LIBRARY: &str = "(canny machine debugging)";

/// Why a task stopped, with the values of the machine apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Breakpoints(Vec<BreakpointId>),
    /// The condition of a breakpoint is asked.
    Asked(BreakpointId),
    Step,
}

/// Why a task stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It came to breakpoints.
    Breakpoints(Vec<BreakpointId>),
    /// A step or a pause came to its end.
    Step,
}

/// A task that stands still. Values that it gives are protected as long as it does.
pub struct Stop<'t> {
    thread: &'t mut Thread,
    reason: Kind,
    /// Protected values from here on are those of the stop.
    first: usize,
    /// The argument of the call that the client made before, if it made one.
    argument: Option<Protected>,
    /// The break at which the task stands, if its memory is at hand.
    seen: Option<&'t SeenBreak>,
}

impl Drop for Stop<'_> {
    #[inline]
    fn drop(&mut self) {
        self.thread.release_from(self.first);
    }
}

impl<'t> Stop<'t> {
    pub(super) fn new(thread: &'t mut Thread, reason: Kind, argument: Value) -> Stop<'t> {
        let first = thread.protected_count();
        // Most stops have none.
        let argument = (argument != Value::FALSE).then(|| thread.protect(argument));
        Stop {
            thread,
            reason,
            first,
            argument,
            seen: None,
        }
    }

    /// A breakpoint is asked that was met for the first time at this stop.
    #[inline]
    pub(super) fn asking(
        thread: &'t mut Thread,
        id: BreakpointId,
        seen: &'t SeenBreak,
    ) -> Stop<'t> {
        let first = thread.protected_count();
        Stop {
            thread,
            reason: Kind::Asked(id),
            first,
            argument: None,
            seen: Some(seen),
        }
    }

    /// Why it stopped.
    pub fn reason(&self) -> Reason {
        match &self.reason {
            Kind::Breakpoints(ids) => Reason::Breakpoints(ids.clone()),
            Kind::Asked(id) => Reason::Breakpoints(vec![*id]),
            Kind::Step => Reason::Step,
        }
    }

    /// The argument of the call that was made here before, or `#f`.
    pub fn argument(&self) -> Value {
        let argument = self.argument.map(|place| self.thread.protected(place));
        argument.unwrap_or(Value::FALSE)
    }

    /// How many calls of the debugger the task is in the middle of. Those that it has escaped from do not
    /// count.
    pub fn pending_calls(&self) -> usize {
        let state = self.thread.vm.debugger.lock();
        state.calls.get(&self.task()).map_or(0, Vec::len)
    }

    /// The task.
    pub fn task(&self) -> TaskKey {
        self.thread.task_key()
    }

    /// Its thread, whose stack must be left as it is.
    pub fn thread(&mut self) -> &mut Thread {
        self.thread
    }

    /// The machine's debugger.
    pub fn debugger(&self) -> &Debugger {
        &self.thread.vm.debugger
    }

    /// Waits outside of the heap: collections and other tasks go on.
    pub fn wait<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.thread.block_outside_heap(work)
    }

    /// The frames, newest first, from one on and so many of them.
    pub fn frames(&self, first: usize, count: usize) -> Vec<DebugFrame> {
        self.thread.debug_frames(Origin::Thread, first, count)
    }

    /// The depth of a frame: bytes of all frames below it.
    pub fn depth(&self, frame: usize) -> Option<usize> {
        self.thread.debug_depth(frame)
    }

    /// The address of the instruction before which the task stands.
    pub fn address(&self) -> usize {
        self.thread.pc as usize - size_of::<u32>()
    }

    /// Where the task stands.
    pub fn position(&self) -> Option<Position> {
        self.frames(0, 1).pop()?.position
    }

    /// The variables of a frame, innermost first; those with the same name further out are left out.
    pub fn variables(&mut self, frame: usize) -> Vec<DebugVariable> {
        self.thread.debug_variables(Origin::Thread, frame)
    }

    /// The value of a variable of a frame.
    pub fn value(&mut self, frame: usize, name: &str) -> Option<Value> {
        match self.seen {
            Some(seen) if frame == 0 => self.thread.debug_value_at(seen, name),
            _ => self.thread.debug_value(frame, name),
        }
    }

    /// The box of a variable of a frame, if it has one.
    pub fn holder(&self, frame: usize, name: &str) -> Option<Value> {
        self.thread.debug_holder(frame, name)
    }

    /// The object that is about to be raised, at a breakpoint where objects are raised.
    pub fn raised(&self) -> Value {
        // SAFETY: the procedure that raises has its object in the first register.
        unsafe { *self.thread.fp }
    }

    /// The global variable that is about to be assigned, with its value and the new one, if the task
    /// stands before such an instruction.
    pub fn assignment(&self) -> Option<(String, Value, Value)> {
        self.thread.debug_assignment()
    }

    /// The change of a part of an object that a breakpoint has met here.
    pub fn change(&self, id: BreakpointId) -> Option<Change> {
        self.thread.debug_change_at(id)
    }

    /// Whether a handler of the program will be called with it.
    pub fn has_handlers(&self) -> bool {
        self.thread.dynamic.handlers.is_pair()
    }

    /// Changes a variable of a frame.
    pub fn assign(&mut self, frame: usize, name: &str, value: Value) -> Assignment {
        self.thread.debug_assign(Origin::Thread, frame, name, value)
    }

    /// How the task calls code that was loaded for the debugger. `request` is a vector whose first element
    /// is the list of thunks; the value of the last one is called with the vector. Its second element
    /// gets a list of what was raised. None before the library is there.
    pub fn call(&mut self, request: Value) -> Option<Resume> {
        let place = self.thread.protect(request);
        let runner = GlobalName {
            library: LibraryKey::new(RUNNER_LIBRARY),
            name: Name::new(RUNNER),
        };
        let runner = self.thread.global_value(&runner);
        let runner = runner.filter(|runner| runner.is_kind(ObjectKind::Closure));
        let request = self.thread.protected(place);
        self.thread.release(place);
        Some(Resume::Call(runner?, request))
    }

    /// The calls of procedures that are still to come on the line at hand.
    pub fn calls(&self) -> Vec<Ahead> {
        self.thread.debug_calls()
    }

    /// The macro uses of the line at hand that have code still to come, and those around the place, with
    /// their positions. In an opened expansion the line is one of its text.
    pub fn expansions_ahead(&self, opened: Option<ExpansionId>) -> Vec<Expanded> {
        self.thread.debug_expansions_ahead(opened)
    }

    /// Whether the task stands in an expansion.
    pub fn is_in_expansion(&self, id: ExpansionId) -> bool {
        self.thread.debug_is_in_expansion(id)
    }

    /// A frame as people see it who have opened an expansion.
    pub fn expansion_view(&self, frame: usize, opened: ExpansionId) -> ExpansionView {
        self.thread.debug_expansion_view(frame, opened)
    }

    /// Where on a line of its own code the newest frame can continue.
    pub fn jumps(&self, line: u32) -> Vec<Ahead> {
        self.thread.debug_jumps(line)
    }

    /// Whether the newest frame can begin again with the arguments that it was called with.
    pub fn can_restart(&self) -> bool {
        self.thread.arguments_to_restart().is_some()
    }
}
