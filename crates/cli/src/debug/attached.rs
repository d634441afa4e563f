//! The prompt of somebody who is attached to this process.
//!
//! The prompt is the one of `canny debug` and runs here; lines and texts cross a socket. People have it
//! while no task stands still, too: they set breakpoints, look at tasks, and wait. When they are gone no
//! breakpoint stays, and all tasks go on.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use canny_dap::connection::Connection;
use canny_dap::prompt::{FromPeople, FromProcess, Reader};
use canny_locks::{Condvar, Mutex};
use canny_vm::debug::TaskKey;
use canny_vm::{Thread, Vm};

use super::commands::{self, Command};
use super::console::{Console, Terminal};
use super::screen::Screen;
use super::turns::Who;
use super::{served, texts};

/// Time in which people have to take a text. Nobody waits for longer.
const SEND_TIME: Duration = Duration::from_secs(10);

/// The other end of the connection.
struct Remote {
    output: Mutex<UnixStream>,
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Default)]
struct Lines {
    /// None is the end.
    waiting: VecDeque<Option<String>>,
    /// People have asked the process to stop, and it has not.
    is_interrupted: bool,
    /// They have the prompt meanwhile, and give it away when a task stops.
    is_expecting: bool,
    /// A task has stopped.
    is_given: bool,
    is_closed: bool,
}

impl Screen for Remote {
    fn show(&self, text: &str) {
        self.send(&FromProcess::Text(text.to_owned()));
    }

    fn ask(&self) -> Option<String> {
        self.ask_again();
        let mut lines = self.lines.lock();
        loop {
            if lines.is_closed || lines.is_given {
                return None;
            }
            match lines.waiting.pop_front() {
                Some(Some(line)) => return Some(line),
                Some(None) => {
                    lines.is_closed = true;
                    self.changed.notify_all();
                }
                None => lines = self.changed.wait(lines),
            }
        }
    }

    fn ask_again(&self) {
        self.send(&FromProcess::Ask);
    }

    fn gives_way(&self) -> bool {
        let mut lines = self.lines.lock();
        lines.is_given = lines.is_expecting;
        self.changed.notify_all();
        lines.is_given
    }

    fn end(&self) {
        self.lines.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl Remote {
    fn send(&self, message: &FromProcess) {
        if message.send(&mut *self.output.lock()).is_err() {
            self.end();
        }
    }

    fn put(&self, line: Option<String>) {
        self.lines.lock().waiting.push_back(line);
        self.changed.notify_all();
    }

    /// People wait for a stop, or do not.
    fn expect(&self, expects: bool) {
        let mut lines = self.lines.lock();
        lines.is_expecting = expects;
        lines.is_given = false;
    }

    /// Whether people have given their turn away.
    fn is_given(&self) -> bool {
        self.lines.lock().is_given
    }

    fn interrupt(&self) {
        self.lines.lock().is_interrupted = true;
        self.changed.notify_all();
    }

    /// Waits until people have asked the process to stop; whether they are still there.
    fn wait_for_interrupt(&self) -> bool {
        let mut lines = self.lines.lock();
        while !lines.is_interrupted && !lines.is_closed {
            lines = self.changed.wait(lines);
        }
        lines.is_interrupted = false;
        !lines.is_closed
    }
}

/// The next act after a command.
enum Next {
    Ask,
    /// Waits for a task that stops.
    Wait,
    Lend(TaskKey),
    Leave,
}

/// A prompt and its process.
struct Attached {
    vm: Arc<Vm>,
    remote: Arc<Remote>,
    console: Arc<Console>,
}

/// Serves a prompt on a stream, in threads of their own.
pub fn begin(vm: &Arc<Vm>, stream: UnixStream) -> Result<(), String> {
    let text_of = |error: std::io::Error| error.to_string();
    let output = stream.try_clone().map_err(text_of)?;
    output.set_write_timeout(Some(SEND_TIME)).map_err(text_of)?;
    let remote = Arc::new(Remote {
        output: Mutex::new(output),
        lines: Mutex::default(),
        changed: Condvar::new(),
    });
    let program = canny_lib::host::command_line_words(vm);
    let program = program.first().cloned().unwrap_or_default();
    let console = Arc::new(Console::attached(&program, remote.clone()));
    let attached = Arc::new(Attached {
        vm: vm.clone(),
        remote,
        console,
    });
    let reading = attached.clone();
    let thread = || std::thread::Builder::new().name("canny-debug".to_owned());
    let spawned = thread().spawn(move || reading.read(stream));
    spawned.map_err(text_of)?;
    let spawned = thread().spawn(move || attached.serve());
    spawned.map(drop).map_err(text_of)
}

impl Attached {
    /// Reads what people say, until they are gone.
    fn read(&self, stream: UnixStream) {
        let mut reader = Reader::new(Connection::Local(stream));
        loop {
            match reader.of_people() {
                Some(FromPeople::Line(line)) => self.remote.put(Some(line)),
                Some(FromPeople::End) => self.remote.put(None),
                Some(FromPeople::Interrupt) if self.console.turns.holder().is_some() => {
                    self.remote.ask_again();
                }
                Some(FromPeople::Interrupt) => {
                    self.vm.debugger().interrupt_all();
                    self.remote.interrupt();
                }
                Some(FromPeople::Leave) | None => {
                    self.console.turns.close();
                    self.remote.end();
                    return;
                }
            }
        }
    }

    /// The prompt while nothing stands still, and the end.
    fn serve(&self) {
        let debugger = self.vm.debugger();
        debugger.set_client(Some(self.console.clone()));
        let process = std::process::id();
        self.console.say(&format!(
            "Process {process} runs {}; 'help' lists the commands.",
            self.console.program
        ));
        while self.talk() && self.wait() {
            self.remote.expect(true);
            self.console.say(
                "No task runs code of the program. The first one that does will stop; \
                 'continue' waits for it.",
            );
        }
        self.leave();
    }

    /// Waits until people have asked the process to stop and nothing has; false if they are gone.
    fn wait(&self) -> bool {
        while self.remote.wait_for_interrupt() {
            if !self.console.turns.is_taken_soon() {
                return true;
            }
        }
        false
    }

    /// Asks people until they want to wait; whether they are still there.
    fn talk(&self) -> bool {
        let turns = &self.console.turns;
        // A task that has stopped meanwhile has it, or nobody asks any more.
        let Some(mut turn) = turns.take_if_free(Who::People) else {
            return true;
        };
        loop {
            let Some(line) = self.console.screen.ask() else {
                let is_given = self.remote.is_given();
                self.remote.expect(false);
                if !is_given {
                    turns.close();
                }
                return is_given;
            };
            if !line.trim().is_empty() {
                turn.last = line;
            }
            if turn.last.is_empty() {
                continue;
            }
            match self.perform(&mut turn) {
                Ok(Next::Ask) => {}
                Ok(Next::Wait) => {
                    self.remote.expect(false);
                    return true;
                }
                Ok(Next::Lend(task)) => {
                    let (again, is_taken) = turns.lend(turn, Who::People, task);
                    let Some(again) = again else {
                        return false;
                    };
                    self.remote.expect(!is_taken);
                    if is_taken {
                        // People have sent it on its way: they wait for the next stop.
                        return true;
                    }
                    self.console.say(&texts::stops_later(task));
                    turn = again;
                }
                Ok(Next::Leave) => {
                    turns.close();
                    return false;
                }
                Err(message) => self.console.say(&message),
            }
        }
    }

    fn perform(&self, terminal: &mut Terminal) -> Result<Next, String> {
        let command = commands::read(&terminal.last)?;
        let debugger = self.vm.debugger();
        match command {
            Command::Continue => {
                debugger.pause_all(false);
                return Ok(Next::Wait);
            }
            Command::Pause => {
                debugger.interrupt_all();
                self.remote.interrupt();
                return Ok(Next::Wait);
            }
            Command::Quit => return Ok(Next::Leave),
            _ => {}
        }
        let thread = self.vm.attach();
        let mut thread = thread.map_err(|error| error.to_string())?;
        self.perform_in(&mut thread, terminal, command)
    }

    fn perform_in(
        &self,
        thread: &mut Thread,
        terminal: &mut Terminal,
        command: Command,
    ) -> Result<Next, String> {
        let console = &self.console;
        match command {
            command @ (Command::Break(_)
            | Command::Once(_)
            | Command::Log(_)
            | Command::Catch(..)
            | Command::Watch(_)
            | Command::Breakpoints
            | Command::Delete(_)) => console.say(&console.manage(thread, terminal, command)),
            Command::Until(place) => {
                return console
                    .run_to(thread, terminal, &place)
                    .map(|()| Next::Wait);
            }
            Command::Tasks => console.say(&texts::tasks(thread, None, &console.turns.standing())),
            Command::Task(number) => {
                let task = console.find_task(thread, None, number)?;
                return Ok(Next::Lend(task));
            }
            Command::Help => console.say(&texts::help()),
            _ => {
                return Err(
                    "The process runs: 'pause', 'task NUMBER' or a breakpoint stops it \
                            first."
                        .to_owned(),
                );
            }
        }
        Ok(Next::Ask)
    }

    /// People are gone: no breakpoint stays, and all tasks go on.
    fn leave(&self) {
        self.remote.end();
        let debugger = self.vm.debugger();
        debugger.pause_all(false);
        let mut terminal = self.console.turns.take_last();
        let set = std::mem::take(&mut terminal.breakpoints);
        let set = set.into_iter().map(|(id, _)| id);
        let passing = std::mem::take(&mut terminal.passing);
        let all: Vec<_> = set.chain(passing).collect();
        // Expressions end where their tasks stop for the last time.
        let evaluating = terminal.evaluating();
        terminal.is_left = !evaluating.is_empty();
        drop(terminal);
        if let Ok(mut thread) = self.vm.attach() {
            for id in all {
                thread.remove_breakpoint(id);
            }
        }
        if evaluating.is_empty() {
            debugger.set_client(None);
        }
        for task in evaluating {
            debugger.pause(task);
        }
        served::leave();
        let stream = self.remote.output.lock();
        let mut output = &*stream;
        // Somebody who is gone needs no message.
        let _ = FromProcess::Left.send(&mut output);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}
