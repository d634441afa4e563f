//! A client of the debug adapter, as editors are.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use canny_messages::{Incoming, MessageReader, write_message};
use serde_json::{Value as Json, json};

/// A message that has not come after this time does not come.
const TIME_LIMIT: Duration = Duration::from_secs(120);

pub struct Client {
    adapter: Child,
    input: ChildStdin,
    incoming: Receiver<Json>,
    /// Messages that nobody has asked for yet.
    kept: Vec<Json>,
    sequence: i64,
}

impl Client {
    /// Starts an adapter and greets it.
    pub fn new() -> Client {
        let mut adapter = Command::new(env!("CARGO_BIN_EXE_canny"))
            .arg("dap")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let input = adapter.stdin.take().expect("its input");
        let output = adapter.stdout.take().expect("its output");
        let (sender, incoming) = channel();
        std::thread::spawn(move || {
            let mut reader = MessageReader::new(BufReader::new(output));
            while let Ok(Some(Incoming::Message(message))) = reader.read() {
                keep(&message);
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Client {
            adapter,
            input,
            incoming,
            kept: Vec::new(),
            sequence: 0,
        };
        let body = client.ask("initialize", json!({"adapterID": "canny"}));
        assert_eq!(body["supportsConfigurationDoneRequest"], true);
        client
    }

    /// Starts a program that stands in a file of a directory, up to the setting of breakpoints.
    pub fn launch(program: &Path, wishes: Json) -> Client {
        let mut client = Client::new();
        let mut arguments = json!({"program": program, "cwd": program.parent()});
        for (name, value) in wishes.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        client.ask("launch", arguments);
        client.event("initialized");
        client
    }

    /// Launches a program that stands at a line, where no breakpoint is left; its task and frame.
    pub fn at_line(program: &Path, line: u32) -> (Client, i64, i64) {
        let mut client = Client::launch(program, json!({}));
        client.set(program, json!([{"line": line}]));
        client.ask("configurationDone", json!({}));
        let (_, thread) = client.stop();
        client.set(program, json!([]));
        let frame = client.frame(thread);
        (client, thread, frame)
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).expect("the adapter reads");
    }

    /// Sends a request; gives its number.
    pub fn send(&mut self, command: &str, arguments: Json) -> i64 {
        self.sequence += 1;
        let message = json!({
            "seq": self.sequence,
            "type": "request",
            "command": command,
            "arguments": arguments,
        });
        write_message(&mut self.input, &message).expect("the adapter reads");
        self.sequence
    }

    /// The body of a request's answer.
    #[track_caller]
    pub fn ask(&mut self, command: &str, arguments: Json) -> Json {
        let number = self.send(command, arguments);
        let response = self.response(number);
        assert_eq!(response["success"], true, "{response}");
        assert_eq!(response["command"], command);
        response["body"].clone()
    }

    /// The message of a request that fails.
    #[track_caller]
    pub fn refused(&mut self, command: &str, arguments: Json) -> String {
        let number = self.send(command, arguments);
        let response = self.response(number);
        assert_eq!(response["success"], false, "{response}");
        response["message"].as_str().expect("a message").to_owned()
    }

    /// The answer to a request, whatever it is.
    pub fn answer(&mut self, number: i64) -> Json {
        self.response(number)
    }

    #[track_caller]
    fn response(&mut self, number: i64) -> Json {
        self.wait(|message| message["type"] == "response" && message["request_seq"] == number)
    }

    /// The arguments of a request that the adapter makes.
    #[track_caller]
    pub fn asked(&mut self, command: &str) -> Json {
        let is_it = |message: &Json| message["type"] == "request" && message["command"] == command;
        self.wait(is_it)["arguments"].clone()
    }

    /// The body of the next event with a name.
    #[track_caller]
    pub fn event(&mut self, name: &str) -> Json {
        self.wait(|message| message["type"] == "event" && message["event"] == name)["body"].clone()
    }

    /// The next stop: why, and the task.
    #[track_caller]
    pub fn stop(&mut self) -> (String, i64) {
        let body = self.event("stopped");
        let reason = body["reason"].as_str().expect("a reason").to_owned();
        (reason, body["threadId"].as_i64().expect("a task"))
    }

    #[track_caller]
    fn wait(&mut self, is_wanted: impl Fn(&Json) -> bool) -> Json {
        if let Some(at) = self.kept.iter().position(&is_wanted) {
            return self.kept.remove(at);
        }
        loop {
            let next = self.incoming.recv_timeout(TIME_LIMIT);
            let message = next.unwrap_or_else(|_| panic!("no such message among {:?}", self.kept));
            if is_wanted(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    /// The text that the program or the debugger has written by now.
    pub fn output(&self, category: &str) -> String {
        let events = self.kept.iter().filter(|one| one["event"] == "output");
        let own = events.filter(|one| one["body"]["category"] == category);
        own.filter_map(|one| one["body"]["output"].as_str())
            .collect()
    }

    /// Sets breakpoints in a file; gives their descriptions.
    pub fn set(&mut self, file: &Path, wishes: Json) -> Json {
        let arguments = json!({"source": {"path": file}, "breakpoints": wishes});
        self.ask("setBreakpoints", arguments)["breakpoints"].clone()
    }

    /// Names and lines of the frames of a task that are not of the standard library.
    pub fn frames(&mut self, thread: i64) -> Vec<(String, i64)> {
        let body = self.ask("stackTrace", json!({"threadId": thread}));
        let frames = body["stackFrames"].as_array().expect("frames").iter();
        let own = frames.filter(|frame| frame["presentationHint"] != "subtle");
        own.map(|frame| {
            let name = frame["name"].as_str().expect("a name");
            (name.to_owned(), frame["line"].as_i64().expect("a line"))
        })
        .collect()
    }

    /// The number of the newest frame of the program.
    pub fn frame(&mut self, thread: i64) -> i64 {
        let body = self.ask("stackTrace", json!({"threadId": thread}));
        let mut frames = body["stackFrames"].as_array().expect("frames").iter();
        let own = frames.find(|frame| frame["presentationHint"] != "subtle");
        own.expect("a frame")["id"].as_i64().expect("its number")
    }

    /// Names and values of a frame's variables.
    pub fn variables(&mut self, frame: i64) -> Vec<(String, String)> {
        let scopes = self.ask("scopes", json!({"frameId": frame}))["scopes"].clone();
        let mut found = Vec::new();
        for scope in scopes.as_array().expect("scopes") {
            found.extend(self.parts(&scope["variablesReference"], json!({})));
        }
        found
    }

    /// Names and values of the parts of something.
    pub fn parts(&mut self, number: &Json, wishes: Json) -> Vec<(String, String)> {
        let mut arguments = wishes;
        arguments["variablesReference"] = number.clone();
        let body = self.ask("variables", arguments);
        let parts = body["variables"].as_array().expect("parts").iter();
        parts
            .map(|part| {
                let text = |name: &str| part[name].as_str().expect("a text").to_owned();
                (text("name"), text("value"))
            })
            .collect()
    }

    /// The value of an expression in a frame.
    #[track_caller]
    pub fn evaluate(&mut self, frame: i64, text: &str) -> Json {
        let arguments = json!({"expression": text, "frameId": frame, "context": "repl"});
        self.ask("evaluate", arguments)
    }

    /// Lets the program go on to its end; gives its exit code.
    pub fn run_to_end(&mut self, thread: i64) -> i64 {
        self.ask("continue", json!({"threadId": thread}));
        self.end()
    }

    /// The exit code of the program.
    pub fn end(&mut self) -> i64 {
        let code = self.event("exited")["exitCode"].as_i64().expect("a code");
        self.event("terminated");
        code
    }

    /// The adapter is gone without a word.
    pub fn kill(mut self) {
        self.adapter.kill().expect("it runs");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.adapter.kill();
        let _ = self.adapter.wait();
    }
}

/// Keeps a message for the check of all messages against the schema of the protocol, if that is wanted:
/// in a file for each process in the directory `CANNY_DAP_LOG`.
fn keep(message: &Json) {
    let Some(directory) = std::env::var_os("CANNY_DAP_LOG").map(PathBuf::from) else {
        return;
    };
    let path = directory.join(format!("{}.jsonl", std::process::id()));
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    let mut file = file.expect("the directory is there");
    file.write_all(format!("{message}\n").as_bytes())
        .expect("it can be written");
}
