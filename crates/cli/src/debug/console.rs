//! The prompt of a task that stands still.
//!
//! An expression is evaluated by the task itself, which stops again behind it. So the console keeps what
//! it was doing, by task.

use std::collections::HashMap;
use std::sync::Arc;

use canny_lib::debug::rerun::{Rerun, Resumption, Runner};
use canny_lib::debug::{self, Expression};
use canny_value::Value;
use canny_vm::Thread;
use canny_vm::debug::{
    Breakpoint, BreakpointId, Client, Granularity, Reason, Resume, StepKind, Stop, TaskKey,
};

use super::commands::{self, Command};
use super::expanded::{Opened, Way};
use super::replayed::Replayed;
use super::screen::{Screen, Standard};
use super::texts;
use super::turns::{Turns, Who};

/// The prompt.
pub struct Console {
    /// The file of the program; empty for the prompt of the language.
    pub(super) program: String,
    pub(super) screen: Arc<dyn Screen>,
    /// The prompt is at the other end of a connection.
    is_attached: bool,
    pub(super) turns: Turns<Terminal>,
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
    console: &'c Console,
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
        self.console.say(text);
    }
}

impl Replay {
    fn runner<'c>(&'c self, console: &'c Console, commands: &'c [String]) -> PromptRunner<'c> {
        PromptRunner {
            console,
            replayed: &self.replayed,
            commands,
        }
    }
}

/// State of the terminal, for one task at a time.
#[derive(Default)]
pub(super) struct Terminal {
    /// The last line, which an empty one repeats.
    pub(super) last: String,
    /// Breakpoints, how they were asked for, and the commands.
    pub(super) breakpoints: Vec<(BreakpointId, String)>,
    pub(super) commands: Vec<String>,
    /// Somebody has ended the program.
    has_quit: bool,
    /// Breakpoints that the next stop removes.
    pub(super) passing: Vec<BreakpointId>,
    /// Those that their first hit removes.
    pub(super) once: Vec<BreakpointId>,
    /// Expressions that tasks are evaluating, the innermost last.
    expressions: HashMap<TaskKey, Vec<Expression>>,
    /// People have left, but for these expressions.
    pub(super) is_left: bool,
    opened: Opened,
}

impl Terminal {
    /// The expression whose end the stop is; those that the task has escaped from are forgotten.
    fn take_evaluated(&mut self, stop: &Stop<'_>) -> Option<Expression> {
        let expressions = self.expressions.get_mut(&stop.task())?;
        let evaluated = if is_answer(stop) {
            expressions.pop()
        } else {
            None
        };
        expressions.truncate(stop.pending_calls());
        evaluated
    }

    fn is_evaluating(&self, task: TaskKey) -> bool {
        let expressions = self.expressions.get(&task);
        expressions.is_some_and(|expressions| !expressions.is_empty())
    }

    /// The tasks that evaluate expressions.
    pub(super) fn evaluating(&self) -> Vec<TaskKey> {
        let tasks = self.expressions.keys().copied();
        tasks.filter(|task| self.is_evaluating(*task)).collect()
    }

    /// The breakpoints in the order in which they were set.
    fn known(&self) -> Vec<BreakpointId> {
        self.breakpoints.iter().map(|(id, _)| *id).collect()
    }
}

/// The effect of a command on the prompt.
enum Next {
    Ask,
    Resume(Resume),
    /// Another task has the prompt.
    Lend(TaskKey),
}

impl Client for Console {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let task = stop.task();
        self.turns.note(task, true);
        let is_busy = self.is_attached && self.turns.holder() == Some(Who::People);
        if is_busy && !self.screen.gives_way() {
            self.say(&texts::waits_for_prompt(task));
            self.screen.ask_again();
        }
        let resume = self.take_turn(stop);
        self.turns.note(task, false);
        resume
    }
}

impl Console {
    /// The turn of a task at the prompt.
    fn take_turn(&self, stop: &mut Stop<'_>) -> Resume {
        let own = Who::Task(stop.task());
        let Some(mut turn) = stop.wait(|| self.turns.take(own)) else {
            return self.pass(stop);
        };
        if let Some(replay) = &self.replay
            && !is_answer(stop)
        {
            let (known, terminal) = (turn.known(), &*turn);
            let runner = replay.runner(self, &terminal.commands);
            if let Some(resume) = replay.rerun.meet(stop, &known, &runner) {
                return resume;
            }
        }
        let mut frame = self.show_stop(stop, &mut turn);
        loop {
            let Some(line) = stop.wait(|| self.screen.ask()) else {
                return self.quit(stop, &mut turn);
            };
            if !line.trim().is_empty() {
                turn.last = line;
            }
            if turn.last.is_empty() {
                continue;
            }
            let next = match commands::read(&turn.last) {
                Ok(command) => self.perform(stop, &mut turn, &mut frame, command),
                Err(message) => {
                    self.say(&message);
                    Next::Ask
                }
            };
            match next {
                Next::Ask => {}
                Next::Resume(resume) => {
                    if !matches!(resume, Resume::Continue) {
                        // Its next stop comes soon.
                        self.turns.prefer(own);
                    }
                    return resume;
                }
                Next::Lend(task) => {
                    let (again, is_taken) = stop.wait(|| self.turns.lend(turn, own, task));
                    let Some(again) = again else {
                        return self.pass(stop);
                    };
                    turn = again;
                    if is_taken {
                        self.describe(stop, &turn, frame);
                    } else {
                        self.say(&texts::stops_later(task));
                    }
                }
            }
        }
    }

    /// Shows why a task has stopped, or the value of its expression; the frame that people look at.
    fn show_stop(&self, stop: &mut Stop<'_>, terminal: &mut Terminal) -> usize {
        let evaluated = terminal.take_evaluated(stop);
        let frame = first_shown(stop);
        if let Some(expression) = evaluated {
            let outcome = debug::end(stop, &expression);
            self.say(&texts::described_outcome(stop, &outcome));
            return expression.frame();
        }
        stop.debugger().pause_all(false);
        for id in std::mem::take(&mut terminal.passing) {
            stop.thread().remove_breakpoint(id);
        }
        terminal.opened.meet(stop, frame);
        self.describe(stop, terminal, frame);
        if let Reason::Breakpoints(met) = stop.reason() {
            let met = met.into_iter().filter(|id| terminal.once.contains(id));
            for id in met.collect::<Vec<_>>() {
                delete(stop.thread(), terminal, id.0);
            }
        }
        frame
    }

    fn describe(&self, stop: &mut Stop<'_>, terminal: &Terminal, frame: usize) {
        let (breakpoints, opened) = (&terminal.breakpoints, &terminal.opened);
        self.say(&texts::described_stop(stop, frame, breakpoints, opened));
    }

    /// Nobody asks any more: the task goes on, and its expressions end.
    fn pass(&self, stop: &mut Stop<'_>) -> Resume {
        let mut terminal = stop.wait(|| self.turns.take_last());
        let is_end = terminal.take_evaluated(stop).is_some();
        let task = stop.task();
        let is_evaluating = terminal.is_evaluating(task);
        if terminal.is_left && terminal.evaluating().is_empty() {
            stop.debugger().set_client(None);
        }
        drop(terminal);
        if is_evaluating && !is_end && stop.reason() == Reason::Step {
            let text = "the debugger has cancelled the expression";
            return Resume::Raise(stop.thread().condition("cancelled", text, &[], None));
        }
        Resume::Continue
    }
}

impl Console {
    pub fn new(program: &str) -> Console {
        Console {
            program: program.to_owned(),
            screen: Arc::new(Standard::default()),
            is_attached: false,
            turns: Turns::default(),
            replay: None,
        }
    }

    /// The prompt of somebody who is attached to the program.
    pub fn attached(program: &str, screen: Arc<dyn Screen>) -> Console {
        Console {
            screen,
            is_attached: true,
            ..Console::new(program)
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
            screen: Arc::new(Standard { is_shared: true }),
            replay: Some(Replay { rerun, replayed }),
            ..Console::new(program)
        };
        let turn = console.turns.take(Who::People);
        let mut terminal = turn.expect("nobody has closed it");
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

    /// The program that was replayed has ended: people may go back.
    pub fn end(&self, thread: &mut Thread) {
        let Some(replay) = &self.replay else {
            return;
        };
        let Some(mut terminal) = self.turns.take(Who::People) else {
            return;
        };
        let runner = replay.runner(self, &terminal.commands);
        if terminal.has_quit || !replay.rerun.end(thread, &runner) {
            return;
        }
        // The recorded program wrote the rest of its output when it left.
        canny_replay::aside(|| canny_io::registry::flush_all(canny_io::Wait::Blocking));
        self.say("The program has ended.");
        loop {
            let Some(line) = self.screen.ask() else {
                return;
            };
            match commands::read(&line) {
                Ok(Command::Back(way)) => {
                    let runner = replay.runner(self, &terminal.commands);
                    self.say(&replay.rerun.go_back_from_end(thread, way, &runner));
                }
                Ok(Command::Quit | Command::Continue) => return,
                Ok(Command::Help) => self.say(&texts::help()),
                Ok(
                    command @ (Command::Break(_)
                    | Command::Watch(_)
                    | Command::Log(_)
                    | Command::Catch(..)),
                ) => {
                    let text = self.set(thread, &mut terminal, command);
                    self.say(&text.unwrap_or_else(|message| message));
                }
                Ok(_) => self.say("The program has ended: go back, or quit."),
                Err(_) if line.trim().is_empty() => {}
                Err(message) => self.say(&message),
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
                    let runner = replay.runner(self, &terminal.commands);
                    let known = terminal.known();
                    self.say(&replay.rerun.go_back(stop, *frame, way, &known, &runner));
                }
                None => self.say("Only a replay goes backwards: see 'canny record'."),
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
                Err(message) => self.say(&message),
            },
            Command::Watch(wish) => {
                let text = self.watch(stop, terminal, *frame, wish);
                self.say(&text.unwrap_or_else(|message| message));
            }
            command @ (Command::Break(_)
            | Command::Once(_)
            | Command::Log(_)
            | Command::Catch(..)
            | Command::Breakpoints
            | Command::Delete(_)) => self.say(&self.manage(stop.thread(), terminal, command)),
            Command::Until(place) => match self.run_to(stop.thread(), terminal, &place) {
                Ok(()) => return self.resume(stop, Resume::Continue),
                Err(message) => self.say(&message),
            },
            Command::Backtrace => self.say(&texts::backtrace(stop, *frame)),
            Command::Frame(number) => self.say(&go(stop, frame, number)),
            Command::Up => self.say(&go(stop, frame, *frame + 1)),
            Command::Down => self.say(&go(stop, frame, frame.saturating_sub(1))),
            Command::Locals => self.say(&texts::locals(stop, *frame)),
            Command::List => {
                let text = terminal.opened.text(stop, *frame);
                self.say(&text.unwrap_or_else(|| texts::around(stop, *frame)));
            }
            Command::Tasks => {
                let own = Some(stop.task());
                self.say(&texts::tasks(stop.thread(), own, &self.turns.standing()));
            }
            Command::Task(number) => {
                let own = stop.task();
                match self.find_task(stop.thread(), Some(own), number) {
                    Ok(task) => return Next::Lend(task),
                    Err(text) => self.say(&text),
                }
            }
            Command::Pause => self.say("This task stands still; 'task NUMBER' stops another one."),
            Command::Into(_) | Command::Expansion => return self.go_into(stop, terminal, &command),
            Command::Jump(_) if self.replay.is_some() => self.say("A replay goes on as it did."),
            Command::Jump(line) => match stop.jumps(line).first() {
                Some(place) => return Next::Resume(Resume::Jump(place.index)),
                None => self.say(&format!(
                    "The procedure cannot continue at line {line}: it is not there, or variables \
                     have no values yet."
                )),
            },
            Command::Restart if self.replay.is_some() => self.say("A replay goes on as it did."),
            Command::Restart if stop.can_restart() => return Next::Resume(Resume::Restart),
            Command::Restart => {
                self.say("The newest procedure cannot begin again: arguments are gone.")
            }
            Command::Help => self.say(&texts::help()),
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
                    self.say("There is no macro use here whose expansion is known.");
                    return Next::Ask;
                }
                index => index,
            },
        };
        let Some(index) = index.filter(|index| *index < ways.len()) else {
            self.say(&texts::ways(&ways));
            return Next::Ask;
        };
        match &ways.swap_remove(index) {
            Way::Call(_) if self.replay.is_some() => self.say("A replay goes on as it did."),
            Way::Call(call) => return self.resume(stop, Resume::Into(call.index)),
            Way::Expansion(expanded) => match terminal.opened.enter(stop, expanded) {
                Some(resume) => return self.resume(stop, resume),
                None => {
                    let text = terminal.opened.described(stop, first_shown(stop));
                    self.say(&text.unwrap_or_default());
                }
            },
        }
        Next::Ask
    }

    /// The program ends, or goes on if people are attached to it. At the prompt of the language, the
    /// evaluation ends.
    fn quit(&self, stop: &mut Stop<'_>, terminal: &mut Terminal) -> Resume {
        if self.program.is_empty() {
            let text = "the evaluation was ended in the debugger";
            return Resume::Raise(stop.thread().condition("interrupt", text, &[], None));
        }
        terminal.has_quit = true;
        if self.is_attached {
            self.turns.close();
            self.screen.end();
            return Resume::Continue;
        }
        Resume::Exit(0)
    }

    /// Keeps tasks from using the terminal, as long as the result lives.
    pub fn hold(&self) -> impl Sized {
        self.turns.take(Who::People)
    }

    /// Does a command about breakpoints where nothing stands still; gives what is to be said.
    pub fn command(&self, thread: &mut Thread, line: &str) -> String {
        let Some(mut terminal) = self.turns.take(Who::People) else {
            return String::new();
        };
        match commands::read(line) {
            Ok(command) => self.manage(thread, &mut terminal, command),
            Err(message) => message,
        }
    }

    /// Has the next stop be at a place, or before that.
    pub(super) fn run_to(
        &self,
        thread: &mut Thread,
        terminal: &mut Terminal,
        place: &str,
    ) -> Result<(), String> {
        let location = self.location(place);
        let id = thread.set_breakpoint(Breakpoint::new(location));
        let state = thread.vm().debugger().breakpoint(id).unwrap_or_default();
        if state.places == 0 {
            thread.remove_breakpoint(id);
            return Err("There is no code there.".to_owned());
        }
        terminal.passing.push(id);
        Ok(())
    }

    /// Does a command about breakpoints; gives what is to be said.
    pub(super) fn manage(
        &self,
        thread: &mut Thread,
        terminal: &mut Terminal,
        command: Command,
    ) -> String {
        match command {
            Command::Breakpoints => {
                texts::breakpoints(thread.vm().debugger(), &terminal.breakpoints)
            }
            Command::Delete(number) => delete(thread, terminal, number),
            command => {
                let text = self.set(thread, terminal, command);
                text.unwrap_or_else(|message| message)
            }
        }
    }

    /// A task that can have the prompt, now or soon; else what is to be said of it.
    pub(super) fn find_task(
        &self,
        thread: &mut Thread,
        own: Option<TaskKey>,
        number: u32,
    ) -> Result<TaskKey, String> {
        let mut task = TaskKey(Some(number.into()));
        let standing = self.turns.standing();
        if number == 0 && !standing.contains(&task) && standing.contains(&TaskKey(None)) {
            task = TaskKey(None);
        }
        if own == Some(task) {
            return Err("This is its prompt.".to_owned());
        }
        if standing.contains(&task) {
            return Ok(task);
        }
        let tasks = thread.debug_tasks();
        let found = tasks.iter().find(|one| one.key == task);
        let found = found.ok_or_else(|| format!("There is no task {number}."))?;
        if let Some(text) = texts::waiting_task(thread, found) {
            return Err(text);
        }
        thread.vm().debugger().pause(task);
        Ok(task)
    }

    /// Says something, if there is anything to say.
    pub(super) fn say(&self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            self.screen.show(text);
        }
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
    terminal.once.retain(|once| *once != id);
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

/// Looks at another frame; gives what is to be said.
fn go(stop: &Stop<'_>, frame: &mut usize, number: usize) -> String {
    match stop.frames(number, 1).pop() {
        Some(found) => {
            *frame = number;
            texts::with_source(&found)
        }
        None => "There is no such frame.".to_owned(),
    }
}
