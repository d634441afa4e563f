//! A replay in a debugger: knows where the program is, and has it run anew to go backwards.
//!
//! While a run is on its way to its goal it stops at nothing, and nothing is said. The places are
//! named in [`backwards`]. A client asks people, and replaces the process by another run.

mod backwards;

use std::collections::HashMap;

use canny_locks::Mutex;
use canny_vm::Thread;
use canny_vm::debug::{Back, BreakpointId, CountOrder, Reason, Resume, Stop};

use backwards::{Base, Position, Wanted};
pub use backwards::{Goal, Resumption};

/// A way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the line before, in any procedure of the task.
    Step,
    /// To the line before in this procedure, or its call.
    Next,
    /// To where this procedure was called.
    Finish,
    /// To the breakpoint before.
    Continue,
}

/// The client's part of a replay.
pub trait Runner: Send + Sync {
    /// Commands or the like by which the next run gets the same breakpoints.
    fn breakpoints(&self) -> Vec<String>;

    /// Replaces this process by a run with that resumption; comes back with a message if that is not
    /// possible.
    fn run(&self, resumption: &Resumption) -> String;

    /// Says something to people.
    fn say(&self, text: &str);
}

/// The answer to who wants to go back from a place that another run does not find: it was a pause, or
/// the breakpoint is gone.
pub const UNKNOWN_PLACE: &str = "It is not known where this is: go on to a breakpoint first.";

/// A replay.
pub struct Rerun {
    state: Mutex<State>,
}

struct State {
    /// Where the run goes to; nothing once it is there.
    goal: Option<Goal>,
    note: Option<String>,
    /// The point from which places are counted, if they are.
    base: Option<Base>,
    /// How often each breakpoint was met since there were so many answers.
    hits: HashMap<BreakpointId, u64>,
    answers: u64,
    /// Where the program stands, if that is known. Breakpoints are named by their numbers here, since
    /// others may come and go before the next run.
    here: Option<Position>,
}

impl Rerun {
    /// A replay that goes to the goal of a resumption, if there is one.
    pub fn new(resumption: Option<&Resumption>) -> Rerun {
        if let Some(resumption) = resumption {
            canny_replay::set_shown(resumption.shown);
        }
        Rerun {
            state: Mutex::new(State {
                goal: resumption.map(|resumption| resumption.goal),
                note: resumption.and_then(|resumption| resumption.note.clone()),
                base: None,
                hits: HashMap::new(),
                answers: canny_replay::answers(),
                here: None,
            }),
        }
    }

    /// Gives the orders that lead to the goal, where the program begins. Without a goal it may be its
    /// first place.
    pub fn prepare(&self, thread: &mut Thread, stops_on_entry: bool) {
        let goal = {
            let mut state = self.state.lock();
            if stops_on_entry && state.goal.is_none() {
                state.goal = Some(Goal::BEGINNING);
            }
            state.goal
        };
        if let Some(goal) = goal {
            prepare(thread, goal);
        }
    }

    /// The program has stopped. `known` are the breakpoints, in an order that is the same in each run.
    /// Gives how it goes on if it is not at its goal.
    pub fn meet(
        &self,
        stop: &mut Stop<'_>,
        known: &[BreakpointId],
        runner: &dyn Runner,
    ) -> Option<Resume> {
        let mut state = self.state.lock();
        let answers = canny_replay::answers();
        if answers != state.answers {
            state.answers = answers;
            state.hits.clear();
        }
        let ids = match stop.reason() {
            Reason::Breakpoints(ids) => ids,
            Reason::Step => Vec::new(),
        };
        for id in &ids {
            *state.hits.entry(*id).or_default() += 1;
        }
        let counted = stop.thread().counted();
        match state.goal {
            Some(goal @ Goal::Before { end, wanted, .. }) => {
                let ends_at_hit = hit_ends(&state, end.base, known, &ids);
                if ends_at_hit && end.count > 0 && counted.is_some() {
                    stop.thread().count_places(CountOrder::StopAfter(end.count));
                    return Some(Resume::Continue);
                }
                if ends_at_hit || counted.is_some_and(|counted| counted.is_end) {
                    drop(state);
                    let found = counted.and_then(|counted| counted.found);
                    let message = stop.wait(|| next_run(goal, found, runner));
                    runner.say(&message);
                    return None;
                }
                if wanted == Wanted::Breakpoint && !ids.is_empty() {
                    stop.thread().find_counted();
                }
                return Some(Resume::Continue);
            }
            Some(Goal::At(position)) => {
                if !counted.is_some_and(|counted| counted.is_end) {
                    return Some(Resume::Continue);
                }
                state.base = Some(position.base);
                state.goal = None;
                if let Some(note) = state.note.take() {
                    runner.say(&note);
                }
            }
            None => {}
        }
        state.here = match (counted, state.base, ids.first()) {
            (Some(counted), Some(base), _) => Some(Position {
                base,
                count: counted.count,
            }),
            (_, _, Some(id)) => Some(Position {
                base: Base::Hit {
                    answers,
                    breakpoint: id.0 as usize,
                    hits: state.hits.get(id).copied().unwrap_or(1),
                },
                count: 0,
            }),
            _ => None,
        };
        None
    }

    /// The program goes on from a stop, by a step or to the next breakpoint.
    pub fn go_on(&self, stop: &mut Stop<'_>, is_step: bool) {
        let mut state = self.state.lock();
        if !is_step {
            stop.thread().end_count();
            state.base = None;
        } else if state.base.is_none()
            && let Some(here) = state.here
        {
            // From a breakpoint on.
            state.base = Some(here.base);
            stop.thread().count_places(CountOrder::Begin(None, None));
        }
    }

    /// Where the program stands, as another run with these breakpoints finds it.
    fn here(&self, known: &[BreakpointId]) -> Option<Position> {
        let mut here = self.state.lock().here?;
        if let Base::Hit { breakpoint, .. } = &mut here.base {
            *breakpoint = known.iter().position(|id| id.0 as usize == *breakpoint)?;
        }
        Some(here)
    }

    /// Whether another run with these breakpoints finds the place where the program stands.
    pub fn knows_place(&self, known: &[BreakpointId]) -> bool {
        self.here(known).is_some()
    }

    /// Runs the program anew to a place before the one of a frame; comes back with a message if that is
    /// not possible.
    pub fn go_back(
        &self,
        stop: &mut Stop<'_>,
        frame: usize,
        way: Way,
        known: &[BreakpointId],
        runner: &dyn Runner,
    ) -> String {
        let Some(here) = self.here(known) else {
            return UNKNOWN_PLACE.to_owned();
        };
        let task = stop.task();
        let depth = stop.depth(frame).unwrap_or(0);
        let wanted = match way {
            Way::Step => Wanted::Line(Back::In(task)),
            Way::Next => Wanted::Line(Back::Over(task, depth)),
            Way::Finish => Wanted::Line(Back::Out(task, depth)),
            Way::Continue => Wanted::Breakpoint,
        };
        stop.wait(|| replace(Goal::before(here, wanted), None, runner))
    }

    /// The program has come to its end: continues a search that ends there. Whether people are to be
    /// asked.
    pub fn end(&self, thread: &mut Thread, runner: &dyn Runner) -> bool {
        let goal = self.state.lock().goal;
        match goal {
            None => true,
            Some(goal @ Goal::Before { end, .. }) if end.base == Base::End => {
                let found = thread.counted().and_then(|counted| counted.last);
                runner.say(&next_run(goal, found, runner));
                false
            }
            Some(_) => {
                runner.say("The place was not found again.");
                false
            }
        }
    }

    /// Runs the program anew, from its end back; comes back with a message if that is not possible.
    pub fn go_back_from_end(&self, thread: &Thread, way: Way, runner: &dyn Runner) -> String {
        let wanted = match way {
            Way::Continue => Wanted::Breakpoint,
            _ => Wanted::Line(Back::In(thread.task_key())),
        };
        let end = Position {
            base: Base::End,
            count: 0,
        };
        replace(Goal::before(end, wanted), None, runner)
    }
}

/// Gives the orders that lead to a goal.
fn prepare(thread: &mut Thread, goal: Goal) {
    let before = canny_replay::answers();
    let is_start = |base| match base {
        Base::Start => true,
        Base::Answers(answers) => answers <= before,
        Base::Hit { .. } | Base::End => false,
    };
    let (from, until, back) = match goal {
        Goal::At(position) => (position.base, Some(position.count), None),
        Goal::Before {
            from, end, wanted, ..
        } => {
            let back = match wanted {
                Wanted::Line(back) => Some(back),
                Wanted::Breakpoint => None,
            };
            let is_same = from == end.base || is_start(from) && is_start(end.base);
            (from, is_same.then_some(end.count), back)
        }
    };
    let mut orders = Vec::new();
    let begin = CountOrder::Begin(until, back);
    match from {
        Base::Answers(answers) if !is_start(from) => orders.push((answers, begin)),
        _ => thread.count_places(begin),
    }
    if let Goal::Before { from, end, .. } = goal
        && from != end.base
        && !is_start(end.base)
        && let Base::Answers(answers) = end.base
    {
        orders.push((answers, CountOrder::StopAfter(end.count)));
    }
    if orders.is_empty() {
        return;
    }
    let machine = std::sync::Arc::downgrade(thread.vm());
    canny_replay::observe(Box::new(move |before| {
        let due = orders.iter().filter(|(answers, _)| *answers == before + 1);
        for (_, order) in due {
            if let Some(vm) = machine.upgrade() {
                vm.debugger().order_count(*order);
            }
        }
    }));
}

/// The run after a search.
fn next_run(goal: Goal, found: Option<u64>, runner: &dyn Runner) -> String {
    let (goal, note) = match goal.after_search(found) {
        Some(goal) => (goal, None),
        None => (Goal::BEGINNING, Some("This is the beginning.".to_owned())),
    };
    replace(goal, note, runner)
}

/// Replaces this process by another run.
fn replace(goal: Goal, note: Option<String>, runner: &dyn Runner) -> String {
    runner.run(&Resumption {
        goal,
        breakpoints: runner.breakpoints(),
        shown: canny_replay::shown(),
        note,
    })
}

/// Whether this stop is the one from which places are counted.
fn hit_ends(state: &State, base: Base, known: &[BreakpointId], ids: &[BreakpointId]) -> bool {
    let Base::Hit {
        answers,
        breakpoint,
        hits,
    } = base
    else {
        return false;
    };
    let is_it = known.get(breakpoint).filter(|id| ids.contains(id));
    is_it.is_some_and(|id| state.answers == answers && state.hits.get(id) == Some(&hits))
}
