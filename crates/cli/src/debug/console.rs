//! The prompt of a task that stands still.
//!
//! An expression is evaluated by the task itself, which stops again behind it. So the console keeps what
//! it was doing, by task.

use std::collections::HashMap;

use canny_lib::debug::rerun::{Rerun, Resumption, Runner};
use canny_lib::debug::{self, Expression};
use canny_locks::Mutex;
use canny_value::Value;
use canny_vm::Thread;
use canny_vm::debug::{
    Breakpoint, BreakpointId, Client, Granularity, Resume, StepKind, Stop, TaskKey,
};

use super::commands::{self, Command};
use super::expanded::{Opened, Way};
use super::replayed::{self, Replayed};
use super::texts;

/// The prompt.
pub struct Console {
    /// The file of the program; empty for the prompt of the language.
    pub(super) program: String,
    terminal: Mutex<Terminal>,
    /// The program is replayed.
    pub(super) replay: Option<Replay>,
}

/// A replay at the prompt.
pub(super) struct Replay {
    rerun: Rerun,
    replayed: Replayed,
}

/// How the next run of a replay comes to its breakpoints.
struct PromptRunner<'c> {
    replayed: &'c Replayed,
    commands: &'c [String],
}

impl Runner for PromptRunner<'_> {
    fn breakpoints(&self) -> Vec<String> {
        self.commands.to_vec()
    }

    fn run(&self, resumption: &Resumption) -> String {
        self.replayed.run(resumption)
    }

    fn say(&self, text: &str) {
        say(text);
    }
}

impl Replay {
    fn runner<'c>(&'c self, commands: &'c [String]) -> PromptRunner<'c> {
        PromptRunner {
            replayed: &self.replayed,
            commands,
        }
    }
}

/// State of the terminal, for one task at a time.
#[derive(Default)]
pub(super) struct Terminal {
    /// The last line, which an empty one repeats.
    last: String,
    /// Breakpoints, how they were asked for, and the commands.
    pub(super) breakpoints: Vec<(BreakpointId, String)>,
    pub(super) commands: Vec<String>,
    /// Somebody has ended the program.
    has_quit: bool,
    /// Breakpoints that the next stop removes.
    passing: Vec<BreakpointId>,
    /// Expressions that tasks are evaluating, the innermost last.
    expressions: HashMap<TaskKey, Vec<Expression>>,
    opened: Opened,
}

impl Terminal {
    /// The breakpoints in the order in which they were set.
    fn known(&self) -> Vec<BreakpointId> {
        self.breakpoints.iter().map(|(id, _)| *id).collect()
    }
}

/// The effect of a command on the prompt.
enum Next {
    Ask,
    Resume(Resume),
}

impl Client for Console {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let mut terminal = stop.wait(|| self.terminal.lock());
        if let Some(replay) = &self.replay
            && !is_answer(stop)
        {
            let known = terminal.known();
            let runner = replay.runner(&terminal.commands);
            if let Some(resume) = replay.rerun.meet(stop, &known, &runner) {
                return resume;
            }
        }
        let task = stop.task();
        let evaluated = terminal
            .expressions
            .get_mut(&task)
            .filter(|_| is_answer(stop));
        let evaluated = evaluated.and_then(Vec::pop);
        if let Some(expressions) = terminal.expressions.get_mut(&task) {
            // The task has escaped from others.
            expressions.truncate(stop.pending_calls());
        }
        let mut frame = first_shown(stop);
        match evaluated {
            Some(expression) => {
                let outcome = debug::end(stop, &expression);
                say(&texts::described_outcome(stop, &outcome));
                frame = expression.frame();
            }
            None => {
                stop.debugger().pause_all(false);
                for id in std::mem::take(&mut terminal.passing) {
                    stop.thread().remove_breakpoint(id);
                }
                terminal.opened.meet(stop, frame);
                let (breakpoints, opened) = (&terminal.breakpoints, &terminal.opened);
                say(&texts::described_stop(stop, frame, breakpoints, opened));
            }
        }
        loop {
            eprint!("(debug) ");
            let line = stop.wait(|| self.read_line());
            let Some(line) = line else {
                return self.quit(stop, &mut terminal);
            };
            if !line.trim().is_empty() {
                terminal.last = line;
            }
            if terminal.last.is_empty() {
                continue;
            }
            let next = match commands::read(&terminal.last) {
                Ok(command) => self.perform(stop, &mut terminal, &mut frame, command),
                Err(message) => {
                    say(&message);
                    Next::Ask
                }
            };
            if let Next::Resume(resume) = next {
                return resume;
            }
        }
    }
}

impl Console {
    pub fn new(program: &str) -> Console {
        Console {
            program: program.to_owned(),
            terminal: Mutex::default(),
            replay: None,
        }
    }

    /// The prompt of a replay. Breakpoints that it had before are set again.
    pub fn of_replay(
        program: &str,
        thread: &mut Thread,
        rerun: Rerun,
        replayed: Replayed,
        commands: &[String],
    ) -> Console {
        let console = Console {
            replay: Some(Replay { rerun, replayed }),
            ..Console::new(program)
        };
        let mut terminal = console.terminal.lock();
        for command in commands {
            if let Ok(command) = commands::read(command) {
                // Conditions were right when they were set.
                let _ = console.set(thread, &mut terminal, command);
            }
        }
        drop(terminal);
        console
    }

    /// Gives the orders that lead to the goal of a replay.
    pub fn prepare(&self, thread: &mut Thread) {
        if let Some(replay) = &self.replay {
            replay.rerun.prepare(thread, false);
        }
    }

    /// A line of standard input; none at its end. In a replay no more than a line is taken from there: the
    /// next run reads on.
    fn read_line(&self) -> Option<String> {
        if self.replay.is_some() {
            replayed::read_line()
        } else {
            read_line()
        }
    }

    /// The program that was replayed has ended: people may go back.
    pub fn end(&self, thread: &mut Thread) {
        let Some(replay) = &self.replay else {
            return;
        };
        let mut terminal = self.terminal.lock();
        let runner = replay.runner(&terminal.commands);
        if terminal.has_quit || !replay.rerun.end(thread, &runner) {
            return;
        }
        // The recorded program wrote the rest of its output when it left.
        canny_replay::aside(|| canny_io::registry::flush_all(canny_io::Wait::Blocking));
        say("The program has ended.");
        loop {
            eprint!("(debug) ");
            let Some(line) = self.read_line() else {
                return;
            };
            match commands::read(&line) {
                Ok(Command::Back(way)) => {
                    let runner = replay.runner(&terminal.commands);
                    say(&replay.rerun.go_back_from_end(thread, way, &runner));
                }
                Ok(Command::Quit | Command::Continue) => return,
                Ok(Command::Help) => say(&texts::help()),
                Ok(
                    command @ (Command::Break(_)
                    | Command::Watch(_)
                    | Command::Log(_)
                    | Command::Catch(..)),
                ) => {
                    let text = self.set(thread, &mut terminal, command);
                    say(&text.unwrap_or_else(|message| message));
                }
                Ok(_) => say("The program has ended: go back, or quit."),
                Err(_) if line.trim().is_empty() => {}
                Err(message) => say(&message),
            }
        }
    }

    fn perform(
        &self,
        stop: &mut Stop<'_>,
        terminal: &mut Terminal,
        frame: &mut usize,
        command: Command,
    ) -> Next {
        match command {
            Command::Continue
            | Command::Step
            | Command::StepExpression
            | Command::Next
            | Command::Finish => {
                let resume = way_on(stop, &mut terminal.opened, &command);
                return self.resume(stop, resume);
            }
            Command::Back(way) => match &self.replay {
                Some(replay) => {
                    let runner = replay.runner(&terminal.commands);
                    let known = terminal.known();
                    say(&replay.rerun.go_back(stop, *frame, way, &known, &runner));
                }
                None => say("Only a replay goes backwards: see 'canny record'."),
            },
            Command::Quit => return Next::Resume(self.quit(stop, terminal)),
            Command::Print(text) => match debug::begin(stop, *frame, &text) {
                Ok((resume, expression)) => {
                    let task = stop.task();
                    terminal
                        .expressions
                        .entry(task)
                        .or_default()
                        .push(expression);
                    return Next::Resume(resume);
                }
                Err(message) => say(&message),
            },
            Command::Watch(wish) => {
                let text = self.watch(stop, terminal, *frame, wish);
                say(&text.unwrap_or_else(|message| message));
            }
            command @ (Command::Break(_) | Command::Log(_) | Command::Catch(..)) => {
                let text = self.set(stop.thread(), terminal, command);
                say(&text.unwrap_or_else(|message| message));
            }
            Command::Until(place) => {
                let location = self.location(&place);
                let id = stop.thread().set_breakpoint(Breakpoint::new(location));
                if stop.debugger().breakpoint(id).unwrap_or_default().places == 0 {
                    stop.thread().remove_breakpoint(id);
                    say("There is no code there.");
                } else {
                    terminal.passing.push(id);
                    return self.resume(stop, Resume::Continue);
                }
            }
            Command::Breakpoints => {
                say(&texts::breakpoints(stop.debugger(), &terminal.breakpoints));
            }
            Command::Delete(number) => say(&delete(stop.thread(), terminal, number)),
            Command::Backtrace => say(&texts::backtrace(stop, *frame)),
            Command::Frame(number) => go(stop, frame, number),
            Command::Up => go(stop, frame, *frame + 1),
            Command::Down => go(stop, frame, frame.saturating_sub(1)),
            Command::Locals => say(&texts::locals(stop, *frame)),
            Command::List => {
                let text = terminal.opened.text(stop, *frame);
                say(&text.unwrap_or_else(|| texts::around(stop, *frame)));
            }
            Command::Tasks => say(&texts::tasks(stop)),
            Command::Into(_) | Command::Expansion => return self.go_into(stop, terminal, &command),
            Command::Jump(_) if self.replay.is_some() => say("A replay goes on as it did."),
            Command::Jump(line) => match stop.jumps(line).first() {
                Some(place) => return Next::Resume(Resume::Jump(place.index)),
                None => say(&format!(
                    "The procedure cannot continue at line {line}: it is not there, or variables \
                     have no values yet."
                )),
            },
            Command::Restart if self.replay.is_some() => say("A replay goes on as it did."),
            Command::Restart if stop.can_restart() => return Next::Resume(Resume::Restart),
            Command::Restart => say("The newest procedure cannot begin again: arguments are gone."),
            Command::Help => say(&texts::help()),
        }
        Next::Ask
    }

    /// Into a call or an expansion of the line.
    fn go_into(&self, stop: &mut Stop<'_>, terminal: &mut Terminal, command: &Command) -> Next {
        let mut ways = terminal.opened.ways(stop);
        let is_expansion = |way: &Way| matches!(way, Way::Expansion(_));
        let index = match command {
            Command::Into(Some(number)) => number.checked_sub(1),
            Command::Into(None) => None,
            _ => match ways.iter().position(is_expansion) {
                None => {
                    say("There is no macro use here whose expansion is known.");
                    return Next::Ask;
                }
                index => index,
            },
        };
        let Some(index) = index.filter(|index| *index < ways.len()) else {
            say(&texts::ways(&ways));
            return Next::Ask;
        };
        match &ways.swap_remove(index) {
            Way::Call(_) if self.replay.is_some() => say("A replay goes on as it did."),
            Way::Call(call) => return self.resume(stop, Resume::Into(call.index)),
            Way::Expansion(expanded) => match terminal.opened.enter(stop, expanded) {
                Some(resume) => return self.resume(stop, resume),
                None => {
                    let text = terminal.opened.described(stop, first_shown(stop));
                    say(&text.unwrap_or_default());
                }
            },
        }
        Next::Ask
    }

    /// The program ends; at the prompt of the language, the evaluation does.
    fn quit(&self, stop: &mut Stop<'_>, terminal: &mut Terminal) -> Resume {
        if self.program.is_empty() {
            let text = "the evaluation was ended in the debugger";
            return Resume::Raise(stop.thread().condition("interrupt", text, &[], None));
        }
        terminal.has_quit = true;
        Resume::Exit(0)
    }

    /// Keeps tasks from using the terminal, as long as the result lives.
    pub fn hold(&self) -> impl Sized {
        self.terminal.lock()
    }

    /// Does a command about breakpoints where nothing stands still; gives what is to be said.
    pub fn command(&self, thread: &mut Thread, line: &str) -> String {
        let mut terminal = self.terminal.lock();
        let text = match commands::read(line) {
            Ok(Command::Breakpoints) => Ok(texts::breakpoints(
                thread.vm().debugger(),
                &terminal.breakpoints,
            )),
            Ok(Command::Delete(number)) => Ok(delete(thread, &mut terminal, number)),
            Ok(command) => self.set(thread, &mut terminal, command),
            Err(message) => Err(message),
        };
        text.unwrap_or_else(|message| message)
    }

    /// The program goes on.
    fn resume(&self, stop: &mut Stop<'_>, resume: Resume) -> Next {
        if let Some(replay) = &self.replay {
            replay.rerun.go_on(stop, is_step(&resume));
        }
        Next::Resume(resume)
    }
}

/// The way on that a command about steps means.
fn way_on(stop: &Stop<'_>, opened: &mut Opened, command: &Command) -> Resume {
    match command {
        Command::Step => opened.step(stop, StepKind::In, Granularity::Line),
        Command::StepExpression => opened.step(stop, StepKind::In, Granularity::Expression),
        Command::Next => opened.step(stop, StepKind::Over, Granularity::Line),
        Command::Finish => opened.finish(stop, first_shown(stop)),
        _ => {
            opened.close(stop);
            Resume::Continue
        }
    }
}

fn is_step(resume: &Resume) -> bool {
    matches!(
        resume,
        Resume::Step(..)
            | Resume::StepExpanded(..)
            | Resume::EnterExpansion(_)
            | Resume::LeaveExpansion(_)
    )
}

/// Removes a breakpoint; gives what is to be said.
fn delete(thread: &mut Thread, terminal: &mut Terminal, number: u32) -> String {
    let id = BreakpointId(number);
    let known = terminal.breakpoints.iter();
    let known = known.map(|(known, _)| *known).position(|known| known == id);
    if let Some(index) = known {
        terminal.breakpoints.remove(index);
        terminal.commands.remove(index);
    }
    if thread.remove_breakpoint(id) {
        String::new()
    } else {
        format!("There is no breakpoint {number}.")
    }
}

/// Whether the stop is the end of a call that the console has made.
fn is_answer(stop: &Stop<'_>) -> bool {
    stop.argument() != Value::FALSE
}

/// The newest frame that is not of the standard library.
fn first_shown(stop: &Stop<'_>) -> usize {
    let frames = stop.frames(0, texts::FRAMES_MAX);
    let shown = frames.iter().position(|frame| !frame.is_library);
    shown.unwrap_or(0)
}

/// Says something, if there is anything to say.
pub(super) fn say(text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        eprintln!("{text}");
    }
}

/// A line of standard input; none at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

fn go(stop: &Stop<'_>, frame: &mut usize, number: usize) {
    match stop.frames(number, 1).pop() {
        Some(found) => {
            *frame = number;
            say(&texts::with_source(&found));
        }
        None => say("There is no such frame."),
    }
}
