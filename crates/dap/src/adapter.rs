//! The process that an editor starts: it starts the program, or finds one that runs, and passes messages
//! on between the two.
//!
//! Output of the program becomes events. Messages get new numbers on their way to the editor, since
//! some are the adapter's own. The editor's requests keep theirs.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use canny_locks::Mutex;
use canny_messages::{Incoming, MessageReader, write_message};
use serde_json::{Value as Json, json};

use crate::capabilities::capabilities;
use crate::connection::Connection;
use crate::output::{Answer, Output, Request};
use crate::prompt;
use crate::shared::RERUN;
use crate::surroundings::{Service, Surroundings};

/// Time in which a program must come into being.
const START_TIME: Duration = Duration::from_secs(20);
/// Time in which a program may end by itself.
const END_TIME: Duration = Duration::from_secs(2);
/// Time between two looks.
const TICK: Duration = Duration::from_millis(10);

/// Serves one editor, until it leaves; gives the exit code.
///
/// # Errors
/// The stream to the editor fails.
pub fn serve(
    surroundings: &Surroundings,
    input: impl BufRead,
    output: Box<dyn Write + Send>,
) -> io::Result<()> {
    let mut adapter = Adapter {
        surroundings,
        output: Output::new(output),
        initialize: Json::Null,
        session: None,
    };
    let mut reader = MessageReader::new(input);
    loop {
        match reader.read()? {
            Some(Incoming::Message(message)) => {
                if let Some(request) = prompt::request_of(&message) {
                    return prompt::relay(surroundings, &adapter.output, &request, &mut reader);
                }
                if !adapter.receive(&message) {
                    return Ok(());
                }
            }
            Some(Incoming::Malformed(problem)) => adapter.output.say("stderr", &problem),
            None => {
                adapter.end(true);
                return Ok(());
            }
        }
    }
}

struct Adapter<'a> {
    surroundings: &'a Surroundings,
    output: Arc<Output>,
    /// The arguments of `initialize`, for the program.
    initialize: Json,
    session: Option<Session>,
}

/// A program that is debugged.
struct Session {
    /// It is held while another run takes the place of a program.
    to_program: ToProgram,
    /// The requests by which a program learns of breakpoints and settings, for other runs of it.
    settings: Settings,
    /// The program, if the adapter has started it.
    child: Option<SharedChild>,
    /// The adapter has had it started.
    is_own: bool,
    relay: Option<JoinHandle<()>>,
    is_ended: Arc<AtomicBool>,
    /// Requests that the program has not answered yet, by number.
    pending: Pending,
}

type Pending = Arc<Mutex<HashMap<i64, Answer>>>;
type ToProgram = Arc<Mutex<Connection>>;
type Settings = Arc<Mutex<Vec<Json>>>;
type SharedChild = Arc<Mutex<Child>>;

impl Adapter<'_> {
    /// Whether there is a program that has not ended.
    fn is_debugging(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| !session.is_ended.load(Ordering::SeqCst))
    }

    /// Handles a message; whether there may be more.
    fn receive(&mut self, message: &Json) -> bool {
        let Some(request) = Request::of(message) else {
            // Responses to requests of the adapter.
            return true;
        };
        let answer = Answer::to(&self.output, &request);
        match request.command.as_str() {
            "initialize" => {
                self.initialize = request.arguments;
                answer.give(Ok(capabilities()));
            }
            "launch" | "attach" if self.is_debugging() => {
                answer.give(Err("a program is being debugged already".to_owned()));
            }
            "launch" | "attach" => match self.open(&request) {
                Ok(session) => {
                    self.session = Some(session);
                    self.pass_on(&without_address(message), answer);
                }
                Err(message) => answer.give(Err(message)),
            },
            "disconnect" => {
                let session = self.session.as_ref();
                let is_own = session.is_some_and(|session| session.is_own);
                let ends = request.arguments["terminateDebuggee"].as_bool();
                self.end(ends.unwrap_or(is_own));
                answer.give(Ok(Json::Null));
                return false;
            }
            "terminate" => {
                let child = self.session.as_ref().and_then(|one| one.child.clone());
                match child {
                    Some(child) => {
                        ask_to_end(&child.lock());
                        answer.give(Ok(Json::Null));
                    }
                    None => self.pass_on(message, answer),
                }
            }
            _ => self.pass_on(message, answer),
        }
        true
    }

    /// Passes a request on to the program, which will answer it.
    fn pass_on(&mut self, message: &Json, answer: Answer) {
        let Some(session) = &mut self.session else {
            let text = "there is no program yet: 'launch' or 'attach' comes first";
            return answer.give(Err(text.to_owned()));
        };
        keep_setting(&mut session.settings.lock(), message);
        let number = answer.number();
        let mut to_program = session.to_program.lock();
        session.pending.lock().insert(number, answer);
        let is_sent = write_message(&mut *to_program, message).is_ok();
        drop(to_program);
        if !is_sent || session.is_ended.load(Ordering::SeqCst) {
            let answer = session.pending.lock().remove(&number);
            if let Some(answer) = answer {
                answer.give(Err("the program has ended".to_owned()));
            }
        }
    }

    /// Starts a program or finds it.
    fn open(&mut self, request: &Request) -> Result<Session, String> {
        let is_ended = Arc::new(AtomicBool::new(false));
        let remote = request.arguments["address"].as_str();
        let (stream, child, reruns) = if let Some(address) = remote {
            let token = request.arguments["token"].as_str().unwrap_or_default();
            // Terminals of the editor are on this machine.
            self.initialize["supportsRunInTerminalRequest"] = false.into();
            (Connection::to_adapter(address, token)?, None, None)
        } else if request.command == "attach" {
            let number = |name: &str| {
                let argument = &request.arguments[name];
                let text = argument.as_str().and_then(|text| text.trim().parse().ok());
                argument.as_u64().or(text)
            };
            let process = number("pid").or_else(|| number("processId"));
            let process = process.and_then(|number| u32::try_from(number).ok());
            let process = process.ok_or("'attach' wants the number of a process: 'pid'")?;
            let stream = (self.surroundings.attach)(process, Service::Editor)?;
            (Connection::Local(stream), None, None)
        } else {
            self.launch(request)?
        };
        let mut to_program = stream.try_clone().map_err(|error| error.to_string())?;
        let hello = own_request("initialize", &self.initialize);
        write_message(&mut to_program, &hello).map_err(|error| error.to_string())?;
        let to_program = Arc::new(Mutex::new(to_program));
        let settings = Arc::new(Mutex::new(vec![hello]));
        let pending = Pending::default();
        let relay = Relay {
            output: self.output.clone(),
            to_program: to_program.clone(),
            settings: settings.clone(),
            reruns,
            child: child.clone(),
            is_ended: is_ended.clone(),
            pending: pending.clone(),
            address: remote.map(str::to_owned),
            is_heard: AtomicBool::new(false),
        };
        let relay = thread::spawn(move || relay.run(stream));
        Ok(Session {
            to_program,
            settings,
            child,
            is_own: request.command == "launch",
            relay: Some(relay),
            is_ended,
            pending,
        })
    }

    /// Starts a program, as a child of the adapter or in a terminal of the editor.
    fn launch(&self, request: &Request) -> Result<Launched, String> {
        let arguments = &request.arguments;
        let program = request.text("program")?;
        std::fs::create_dir_all(&self.surroundings.directory).map_err(|error| error.to_string())?;
        let name = format!("debug-{}.socket", std::process::id());
        let path = self.surroundings.directory.join(name);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|error| error.to_string())?;
        let directory = arguments["cwd"].as_str();
        let file = directory
            .map_or_else(PathBuf::new, PathBuf::from)
            .join(program);
        let is_recording = canny_replay::is_recording(&file);
        let mut command = Command::new(&self.surroundings.command);
        let verb = if is_recording { "replay" } else { "debug" };
        command.arg(verb).arg("--connect").arg(&path);
        let texts = |value: &Json| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.filter_map(|one| one.as_str().map(str::to_owned))
                .collect()
        };
        command.args(texts(&arguments["cannyArgs"]));
        command.arg(program).args(texts(&arguments["args"]));
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        let variables = arguments["env"].as_object().into_iter().flatten();
        let variables: BTreeMap<&String, Option<&str>> = variables
            .map(|(name, value)| (name, value.as_str()))
            .collect();
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let console = arguments["console"].as_str().unwrap_or_default();
        let kind = match console {
            "integratedTerminal" => Some("integrated"),
            "externalTerminal" => Some("external"),
            _ => None,
        };
        let can = self.initialize["supportsRunInTerminalRequest"] == true;
        if let Some(kind) = kind.filter(|_| can) {
            self.ask_for_terminal(kind, &command, arguments);
            let stream = wait_for_program(&listener, None);
            let reruns = Reruns::new(listener, path, is_recording);
            return Ok((stream?, None, reruns));
        }
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn();
        let child = child.map_err(|error| {
            format!(
                "cannot run {}: {error}",
                self.surroundings.command.display()
            )
        });
        let mut child = child.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        self.show(child.stdout.take(), "stdout");
        self.show(child.stderr.take(), "stderr");
        let stream = wait_for_program(&listener, Some(&mut child));
        let reruns = Reruns::new(listener, path, is_recording);
        Ok((stream?, Some(Arc::new(Mutex::new(child))), reruns))
    }

    /// Has the editor start a command in a terminal. If it does not, the program never connects.
    fn ask_for_terminal(&self, kind: &str, command: &Command, arguments: &Json) {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let directory = command.get_current_dir();
        let directory = directory.map(|path| path.to_string_lossy().into_owned());
        let directory = directory.or_else(|| {
            let own = std::env::current_dir().ok()?;
            Some(own.to_string_lossy().into_owned())
        });
        let mut wish = json!({
            "kind": kind,
            "title": "Canny",
            "cwd": directory.unwrap_or_default(),
            "args": words,
        });
        if arguments["env"].is_object() {
            wish["env"] = arguments["env"].clone();
        }
        self.output.send(json!({
            "type": "request",
            "command": "runInTerminal",
            "arguments": wish,
        }));
    }

    /// Sends what the program writes to the editor.
    fn show(&self, stream: Option<impl Read + Send + 'static>, category: &'static str) {
        let Some(mut stream) = stream else {
            return;
        };
        let output = self.output.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut rest = Vec::new();
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                rest.extend_from_slice(&bytes[..count]);
                let whole = whole_characters(&rest);
                let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
                rest.drain(..whole);
                output.event("output", json!({"category": category, "output": text}));
            }
            if !rest.is_empty() {
                let text = String::from_utf8_lossy(&rest).into_owned();
                output.event("output", json!({"category": category, "output": text}));
            }
        });
    }

    /// Leaves the program, which ends if that is wished.
    fn end(&mut self, ends_program: bool) {
        let Some(mut session) = self.session.take() else {
            return;
        };
        session.is_ended.store(true, Ordering::SeqCst);
        let wish = json!({"terminateDebuggee": ends_program});
        let bye = own_request("disconnect", &wish);
        let _ = write_message(&mut *session.to_program.lock(), &bye);
        if ends_program && let Some(child) = &session.child {
            ask_to_end(&child.lock());
            let end = Instant::now() + END_TIME;
            while matches!(child.lock().try_wait(), Ok(None)) {
                if Instant::now() > end {
                    let _ = child.lock().kill();
                    let _ = child.lock().wait();
                    break;
                }
                thread::sleep(TICK);
            }
        }
        let stream = session.to_program.lock();
        stream.shut_down();
        drop(stream);
        if let Some(relay) = session.relay.take() {
            let _ = relay.join();
        }
    }
}

/// A program that was started: the connection, the process if it is a child, and where other runs of a
/// replay connect.
type Launched = (Connection, Option<SharedChild>, Option<Reruns>);

/// Where other runs of a replay connect.
struct Reruns {
    listener: UnixListener,
    path: PathBuf,
}

impl Reruns {
    /// None if the program is no replay: then nobody else connects.
    fn new(listener: UnixListener, path: PathBuf, is_replay: bool) -> Option<Reruns> {
        let reruns = Reruns { listener, path };
        is_replay.then_some(reruns)
    }
}

impl Drop for Reruns {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A request as an adapter on another machine gets it.
fn without_address(message: &Json) -> Json {
    let mut message = message.clone();
    if let Some(arguments) = message["arguments"].as_object_mut() {
        arguments.remove("address");
        arguments.remove("token");
    }
    message
}

/// A request of the adapter's own, whose answer goes to nobody.
fn own_request(command: &str, arguments: &Json) -> Json {
    json!({"seq": 0, "type": "request", "command": command, "arguments": arguments})
}

/// Keeps a request that another run of the program has to get, in the place of the one before.
fn keep_setting(settings: &mut Vec<Json>, message: &Json) {
    let command = message["command"].as_str().unwrap_or_default();
    let is_setting = command.starts_with("set") && command.ends_with("Breakpoints");
    if !is_setting && !["launch", "configurationDone"].contains(&command) {
        return;
    }
    let source = |message: &Json| message["arguments"]["source"]["path"].clone();
    let is_same = |other: &Json| other["command"] == command && source(other) == source(message);
    settings.retain(|other| !is_same(other));
    let kept = own_request(command, &message["arguments"]);
    // The configuration is done behind all of it.
    let end = settings
        .iter()
        .position(|other| other["command"] == "configurationDone");
    settings.insert(end.unwrap_or(settings.len()), kept);
}

/// Passes on what a program says.
struct Relay {
    output: Arc<Output>,
    to_program: ToProgram,
    settings: Settings,
    reruns: Option<Reruns>,
    child: Option<SharedChild>,
    is_ended: Arc<AtomicBool>,
    pending: Pending,
    /// The address of an adapter on another machine, and whether it has said anything.
    address: Option<String>,
    is_heard: AtomicBool,
}

impl Relay {
    /// Sends what the program says to the editor, and at the end that it has ended.
    fn run(self, stream: Connection) {
        let mut next = self.pass_on(stream, false);
        while let Some(stream) = next {
            next = self.pass_on(stream, true);
        }
        if let Some(child) = &self.child {
            let status = wait_for_end(child);
            let code = status.and_then(|status| status.code()).unwrap_or(-1);
            // Its last output is on its way.
            thread::sleep(5 * TICK);
            self.output.event("exited", json!({"exitCode": code}));
        }
        let was_ended = self.is_ended.swap(true, Ordering::SeqCst);
        self.refuse_pending();
        if !was_ended {
            self.output.event("terminated", json!({}));
        }
    }

    fn refuse_pending(&self) {
        let text = match &self.address {
            Some(address) if !self.is_heard.load(Ordering::SeqCst) => {
                format!("{address} has closed the connection: the token may be wrong")
            }
            _ => "the program has ended".to_owned(),
        };
        for (_, answer) in self.pending.lock().drain() {
            answer.give(Err(text.clone()));
        }
    }

    /// The same for one run; gives the connection of the next run if there is one. The editor need not
    /// learn that another run begins.
    fn pass_on(&self, stream: Connection, is_other: bool) -> Option<Connection> {
        let mut reader = MessageReader::new(BufReader::new(stream));
        while let Ok(Some(incoming)) = reader.read() {
            self.is_heard.store(true, Ordering::SeqCst);
            match incoming {
                // The answer to the adapter's own request.
                Incoming::Message(message) if message["request_seq"] == 0 => {}
                Incoming::Message(message) if message["event"] == RERUN => {
                    return self.next_run();
                }
                Incoming::Message(message)
                    if is_other
                        && (message["event"] == "initialized"
                            || message["event"] == "capabilities") => {}
                Incoming::Message(message) => {
                    let answered = message["request_seq"].as_i64();
                    if let Some(number) = answered
                        && let Some(answer) = self.pending.lock().remove(&number)
                    {
                        answer.leave();
                    }
                    self.output.send(message);
                }
                Incoming::Malformed(problem) => self.output.say("stderr", &problem),
            }
        }
        None
    }

    /// Another run takes the place of the program: it gets the breakpoints and settings.
    fn next_run(&self) -> Option<Connection> {
        let reruns = self.reruns.as_ref()?;
        // Requests of the editor wait.
        let mut to_program = self.to_program.lock();
        self.refuse_pending();
        let stream = wait_for_program(&reruns.listener, None);
        let stream = stream.inspect_err(|message| self.output.say("stderr", message));
        let stream = stream.ok()?;
        *to_program = stream.try_clone().ok()?;
        for message in self.settings.lock().iter() {
            write_message(&mut *to_program, message).ok()?;
        }
        Some(stream)
    }
}

/// The program connects, or fails.
fn wait_for_program(
    listener: &UnixListener,
    mut child: Option<&mut Child>,
) -> Result<Connection, String> {
    listener
        .set_nonblocking(true)
        .map_err(|error| error.to_string())?;
    let end = Instant::now() + START_TIME;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let set = stream.set_nonblocking(false);
                let stream = set.map(|()| Connection::Local(stream));
                return stream.map_err(|error| error.to_string());
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(error.to_string());
            }
            Err(_) => {}
        }
        if let Some(child) = &mut child
            && let Ok(Some(status)) = child.try_wait()
        {
            // Its messages come as events.
            thread::sleep(5 * TICK);
            return Err(format!("the program did not start: {status}"));
        }
        if Instant::now() > end {
            if let Some(child) = child {
                let _ = child.kill();
            }
            return Err("the program did not start in time".to_owned());
        }
        thread::sleep(TICK);
    }
}

fn wait_for_end(child: &Mutex<Child>) -> Option<ExitStatus> {
    loop {
        match child.lock().try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => {}
            Err(_) => return None,
        }
        thread::sleep(TICK);
    }
}

/// The program gets the signal by which services are stopped.
fn ask_to_end(child: &Child) {
    let process = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}

/// Bytes up to the last character that is whole.
fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes
        .iter()
        .rev()
        .take(4)
        .position(|byte| byte & 0xc0 != 0x80);
    let Some(back) = last else {
        return bytes.len();
    };
    let start = bytes.len() - 1 - back;
    let wanted = match bytes[start] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    if bytes.len() - start < wanted {
        start
    } else {
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_between_characters() {
        let text = "aλ→𝄞".as_bytes();
        for end in 0..=text.len() {
            let whole = whole_characters(&text[..end]);
            assert!(std::str::from_utf8(&text[..whole]).is_ok(), "{end}");
            assert!(end - whole < 4);
        }
        assert_eq!(whole_characters(b"\xff\xff"), 2);
    }
}
