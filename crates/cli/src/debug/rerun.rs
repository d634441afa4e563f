//! A replay under the prompt: knows where the program is, and runs it anew to go backwards.
//!
//! While a run is on its way to its goal it stops at nothing, and nothing is said. The places are
//! named in [`super::backwards`].

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use canny_locks::Mutex;
use canny_vm::Thread;
use canny_vm::debug::{Back, BreakpointId, CountOrder, Reason, Resume, Stop};

use super::backwards::{Base, Goal, Position, Resumption, Wanted};
use super::commands::Backwards;
use super::console::Console;

/// A replay.
pub struct Rerun {
    /// The recording.
    file: PathBuf,
    /// Commands that set breakpoints at the beginning.
    commands: Vec<String>,
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
    /// Where the program stands, if that is known.
    here: Option<Position>,
}

/// Has a replay stop at its goal, the beginning of the program if there is no other, and go backwards from
/// there on. None if the goal cannot be read.
pub fn begin_replay(
    thread: &mut Thread,
    program: &str,
    recording: &Path,
    resumption: Option<&str>,
) -> Option<Arc<Console>> {
    let resumption = match resumption.map(Resumption::read) {
        Some(Some(resumption)) => resumption,
        Some(None) => return None,
        None => Resumption {
            goal: Goal::BEGINNING,
            breakpoints: vec!["catch uncaught".to_owned()],
            shown: [0; 2],
            note: None,
        },
    };
    canny_replay::set_shown(resumption.shown);
    let goal = resumption.goal;
    let rerun = Rerun {
        file: recording.to_owned(),
        commands: resumption.breakpoints,
        state: Mutex::new(State {
            goal: Some(goal),
            note: resumption.note,
            base: None,
            hits: HashMap::new(),
            answers: canny_replay::answers(),
            here: None,
        }),
    };
    let console = Arc::new(Console::of_replay(program, thread, rerun));
    let debugger = thread.vm().debugger();
    debugger.set_client(Some(console.clone()));
    prepare(thread, goal);
    Some(console)
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
    let machine = Arc::downgrade(thread.vm());
    canny_replay::observe(Box::new(move |before| {
        let due = orders.iter().filter(|(answers, _)| *answers == before + 1);
        for (_, order) in due {
            if let Some(vm) = machine.upgrade() {
                vm.debugger().order_count(*order);
            }
        }
    }));
}

impl Rerun {
    /// The commands that set the breakpoints at the beginning.
    pub fn commands(&self) -> Vec<String> {
        self.commands.clone()
    }

    /// The program has stopped. Gives how it goes on if it is not at its goal.
    pub fn meet(
        &self,
        stop: &mut Stop<'_>,
        known: &[(BreakpointId, String)],
        commands: &[String],
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
                    self.after_search(stop, goal, found, commands);
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
                    eprintln!("{note}");
                }
            }
            None => {}
        }
        state.here = match (counted, state.base, ids.first()) {
            (Some(counted), Some(base), _) => Some(Position {
                base,
                count: counted.count,
            }),
            (_, _, Some(id)) => {
                let breakpoint = known.iter().position(|(known, _)| known == id);
                breakpoint.map(|breakpoint| Position {
                    base: Base::Hit {
                        answers,
                        breakpoint,
                        hits: state.hits.get(id).copied().unwrap_or(1),
                    },
                    count: 0,
                })
            }
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

    /// Runs the program anew to an earlier place; comes back with a message if that is not possible.
    pub fn go_back(
        &self,
        stop: &mut Stop<'_>,
        frame: usize,
        way: Backwards,
        commands: &[String],
    ) -> String {
        let Some(here) = self.state.lock().here else {
            return "It is not known where this is: go on to a breakpoint first.".to_owned();
        };
        let task = stop.task();
        let depth = stop.depth(frame).unwrap_or(0);
        let wanted = match way {
            Backwards::Step => Wanted::Line(Back::In(task)),
            Backwards::Next => Wanted::Line(Back::Over(task, depth)),
            Backwards::Finish => Wanted::Line(Back::Out(task, depth)),
            Backwards::Continue => Wanted::Breakpoint,
        };
        stop.wait(|| self.replace(Goal::before(here, wanted), None, commands))
    }

    /// The program has come to its end: continues a search that ends there. Whether people are to be
    /// asked.
    pub fn end(&self, thread: &mut Thread, commands: &[String]) -> bool {
        let goal = self.state.lock().goal;
        match goal {
            None => true,
            Some(goal @ Goal::Before { end, .. }) if end.base == Base::End => {
                let found = thread.counted().and_then(|counted| counted.found);
                eprintln!("{}", self.next_run(goal, found, commands));
                false
            }
            Some(_) => {
                eprintln!("The place was not found again.");
                false
            }
        }
    }

    /// Runs the program anew, from its end back; comes back with a message if that is not possible.
    pub fn go_back_from_end(&self, thread: &Thread, way: Backwards, commands: &[String]) -> String {
        let wanted = match way {
            Backwards::Continue => Wanted::Breakpoint,
            _ => Wanted::Line(Back::In(thread.task_key())),
        };
        let end = Position {
            base: Base::End,
            count: 0,
        };
        self.replace(Goal::before(end, wanted), None, commands)
    }

    fn after_search(
        &self,
        stop: &mut Stop<'_>,
        goal: Goal,
        found: Option<u64>,
        commands: &[String],
    ) {
        let message = stop.wait(|| self.next_run(goal, found, commands));
        eprintln!("{message}");
    }

    /// The run after a search.
    fn next_run(&self, goal: Goal, found: Option<u64>, commands: &[String]) -> String {
        let (goal, note) = match goal.after_search(found) {
            Some(goal) => (goal, None),
            None => (Goal::BEGINNING, Some("This is the beginning.".to_owned())),
        };
        self.replace(goal, note, commands)
    }

    /// Replaces this process by another run.
    fn replace(&self, goal: Goal, note: Option<String>, commands: &[String]) -> String {
        let resumption = Resumption {
            goal,
            breakpoints: commands.to_vec(),
            shown: canny_replay::shown(),
            note,
        };
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return format!("This program is not found: {error}"),
        };
        let error = Command::new(program)
            .args(["replay", "-t", "--resume", &resumption.text()])
            .arg(&self.file)
            .exec();
        format!("The program cannot be run anew: {error}")
    }
}

/// Whether this stop is the one from which places are counted.
fn hit_ends(
    state: &State,
    base: Base,
    known: &[(BreakpointId, String)],
    ids: &[BreakpointId],
) -> bool {
    let Base::Hit {
        answers,
        breakpoint,
        hits,
    } = base
    else {
        return false;
    };
    let id = known.get(breakpoint).map(|(id, _)| *id);
    let is_it = id.filter(|id| ids.contains(id));
    is_it.is_some_and(|id| state.answers == answers && state.hits.get(&id) == Some(&hits))
}

/// A line of standard input, and nothing behind it; none at its end.
pub fn read_line() -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(1) => line.push(byte[0]),
            Err(rustix::io::Errno::INTR) => continue,
            _ if line.is_empty() => return None,
            _ => break,
        }
        if byte[0] == b'\n' {
            break;
        }
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}
