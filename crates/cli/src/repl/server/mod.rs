//! `canny repl --listen`: clients that speak nREPL.
//!
//! | thread | does |
//! |---|---|
//! | the session's | evaluates: inputs of the prompt and requests of clients, one after the other |
//! | `prompt` | reads the prompt's inputs, if standard input is a terminal |
//! | `listener` | accepts connections |
//! | one for each connection | reads its messages, answers those that need no evaluation |
//!
//! All clients and the prompt share one environment and the numbers of results. Anybody who can connect
//! can do what the user can: only this machine can, unless another address is asked for.

mod bencode;
mod connection;
mod evaluation;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use canny_lib::evaluation::EnvironmentId;
use canny_locks::{Mutex, MutexGuard};
use canny_vm::{InterruptState, Vm};

use super::history;
use super::input::{Line, Source};
use super::prompt::{Outcome, Prompt};
use crate::exit_code;
use connection::Client;
use evaluation::Request;

/// How often an idle server looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Where clients are listened to unless a host is named.
const LOOPBACK: &str = "127.0.0.1";

/// Work for the session's thread.
enum Job {
    /// A line of the prompt; the answer is what stands before the next one.
    Line(Line, Sender<(String, EnvironmentId)>),
    /// A request of a client.
    Request(Box<Request>),
}

/// The state that the threads share.
struct Shared {
    vm: Arc<Vm>,
    interrupts: Arc<InterruptState>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Sessions of clients, with the connections that opened them.
    sessions: HashMap<String, u64>,
    next_session: u64,
    /// Session and id of the request that is being evaluated.
    running: Option<(String, String)>,
    /// The client that gets what the program writes, with the request's session and id.
    listener: Option<(Client, String, String)>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Host and port of what the user wrote: `HOST:PORT`, `:PORT` or `PORT`.
fn address_of(text: &str) -> Result<(String, u16), String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host.trim_matches(['[', ']']), port),
        None => ("", text),
    };
    let port = port
        .parse()
        .map_err(|_| format!("--listen wants HOST:PORT, not '{text}'"))?;
    let host = if host.is_empty() { LOOPBACK } else { host };
    Ok((host.to_owned(), port))
}

/// Serves clients, and people if standard input is a terminal.
pub fn run(prompt: &mut Prompt, address: &str) -> u8 {
    let listener = address_of(address).and_then(|(host, port)| {
        let addresses = (host.as_str(), port).to_socket_addrs();
        let listener =
            addresses.and_then(|found| TcpListener::bind(found.collect::<Vec<_>>().as_slice()));
        listener.map_err(|error| format!("cannot listen at {host}:{port}: {error}"))
    });
    let listener = match listener {
        Ok(listener) => listener,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    if let Ok(bound) = listener.local_addr() {
        // Clients look for these words.
        println!(
            "nREPL server started on port {} on host {} - nrepl://{bound}",
            bound.port(),
            bound.ip()
        );
    }
    let shared = Arc::new(Shared {
        vm: prompt.session.vm.clone(),
        interrupts: prompt.session.thread.interrupts(),
        state: Mutex::default(),
    });
    let (sender, jobs) = channel();
    let accepting = connection::accept(listener, shared.clone(), sender.clone());
    if let Err(error) = accepting {
        eprintln!("canny: cannot start: {error}");
        return exit_code::OS;
    }
    let is_headless = !std::io::stdin().is_terminal();
    if !is_headless && let Err(error) = read_prompt(prompt, &shared, sender) {
        eprintln!("canny: cannot start: {error}");
        return exit_code::OS;
    }
    serve(prompt, &shared, &jobs, is_headless)
}

/// Reads the prompt on a thread of its own.
fn read_prompt(prompt: &Prompt, shared: &Arc<Shared>, jobs: Sender<Job>) -> std::io::Result<()> {
    let shared = shared.clone();
    let mut next = (prompt.text(), prompt.environment());
    let history = history::path(prompt.session.environment);
    let reading = move || {
        let mut source = Source::new(shared.vm.clone(), shared.interrupts.clone(), history);
        source.greet();
        loop {
            let line = match source.next(&next.0, next.1) {
                Ok(line) => line,
                Err(_) => Line::End { is_terminal: false },
            };
            let (sender, answer) = channel();
            if jobs.send(Job::Line(line, sender)).is_err() {
                return;
            }
            match answer.recv() {
                Ok(answer) => next = answer,
                // The session ended.
                Err(_) => return,
            }
        }
    };
    let thread = std::thread::Builder::new().name("prompt".into());
    thread.spawn(reading).map(drop)
}

/// Does jobs until the prompt is left, or Ctrl-C without a prompt.
fn serve(prompt: &mut Prompt, shared: &Arc<Shared>, jobs: &Receiver<Job>, is_headless: bool) -> u8 {
    let Some(evaluator) = evaluation::Evaluator::new(prompt, shared.clone()) else {
        eprintln!("canny: cannot start: the heap is too small");
        return exit_code::OS;
    };
    loop {
        let outcome = match jobs.recv_timeout(LOOK_EVERY) {
            Ok(Job::Line(line, answer)) => {
                let outcome = super::answer(prompt, line);
                if outcome == Outcome::Next {
                    let _ = answer.send((prompt.text(), prompt.environment()));
                }
                outcome
            }
            Ok(Job::Request(request)) => evaluator.answer(prompt, &request),
            Err(RecvTimeoutError::Timeout) if is_headless => {
                if shared.interrupts.take_interrupt() {
                    return exit_code::INTERRUPTED;
                }
                Outcome::Next
            }
            Err(RecvTimeoutError::Timeout) => Outcome::Next,
            Err(RecvTimeoutError::Disconnected) => return 0,
        };
        if let Outcome::Exit(code) = outcome {
            return code;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn addresses_are_of_this_machine_unless_said() {
        let address = |text| address_of(text).ok();
        assert_eq!(address("0"), Some(("127.0.0.1".to_owned(), 0)));
        assert_eq!(address(":7888"), Some(("127.0.0.1".to_owned(), 7888)));
        assert_eq!(address("0.0.0.0:1"), Some(("0.0.0.0".to_owned(), 1)));
        assert_eq!(address("[::1]:1"), Some(("::1".to_owned(), 1)));
        assert_eq!(address("localhost"), None);
        assert_eq!(address("a:70000"), None);
    }
}
