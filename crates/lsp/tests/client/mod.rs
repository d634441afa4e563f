//! A client for tests: speaks to a server in the same process, over pipes.
#![allow(
    dead_code,
    reason = "each test target uses a part of this module, and each is a crate of its own"
)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// A server that says nothing for so long hangs. No test asserts that something is fast.
const TIME_LIMIT: Duration = Duration::from_secs(240);

/// The root of the working tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A fresh directory.
pub fn scratch() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("lsp-{}-{count}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("the scratch directory can be made");
    std::fs::canonicalize(&directory).expect("it is there")
}

/// A host's function that gives the project around a directory.
type Around = fn(&Path) -> canny_lsp::Project;

/// A session.
pub struct Client {
    input: Option<PipeWriter>,
    messages: Receiver<Value>,
    server: Option<JoinHandle<bool>>,
    requests: u64,
    /// Notifications of the server.
    pub notifications: Vec<Value>,
    /// The newest diagnostics by address.
    pub diagnostics: HashMap<String, Value>,
    pub directory: PathBuf,
    texts: HashMap<String, (i64, String)>,
}

fn read_messages(output: PipeReader, send: &std::sync::mpsc::Sender<Value>) -> Option<()> {
    let mut output = BufReader::new(output);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(number) = line.strip_prefix("Content-Length: ") {
                length = number.trim().parse().expect("the server writes numbers");
            }
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body).ok()?;
        let message = serde_json::from_slice(&body).expect("the server writes JSON");
        send.send(message).ok()?;
    }
}

impl Client {
    /// A server that nothing was said to. It waits for expansions, so that tests know what it knows.
    pub fn silent() -> Client {
        Client::silent_with(Duration::MAX, None)
    }

    fn silent_with(patience: Duration, around: Option<Around>) -> Client {
        let (server_input, input) = pipe().expect("there are pipes");
        let (output, server_output) = pipe().expect("there are pipes");
        let directory = scratch();
        let options = canny_lsp::Options {
            cache: directory.join("cache"),
            patience: Some(patience),
            project_around: around.map(|around| Arc::new(around) as canny_lsp::ProjectAround),
            ..canny_lsp::Options::default()
        };
        let server = std::thread::spawn(move || {
            canny_lsp::serve(server_input, server_output, options).expect("the server starts")
        });
        let (send, messages) = channel();
        std::thread::spawn(move || read_messages(output, &send));
        Client {
            input: Some(input),
            messages,
            server: Some(server),
            requests: 0,
            notifications: Vec::new(),
            diagnostics: HashMap::new(),
            directory,
            texts: HashMap::new(),
        }
    }

    /// A session that has begun, with the scratch directory as its workspace.
    pub fn new() -> Client {
        Client::with_encodings(json!(["utf-16"]))
    }

    /// A session that answers from what it knows.
    pub fn impatient() -> Client {
        Client::begun(Duration::ZERO, json!(["utf-16"]), None)
    }

    /// A session in a project.
    pub fn in_project(around: Around) -> Client {
        Client::begun(Duration::MAX, json!(["utf-16"]), Some(around))
    }

    pub fn with_encodings(encodings: Value) -> Client {
        Client::begun(Duration::MAX, encodings, None)
    }

    fn begun(patience: Duration, encodings: Value, around: Option<Around>) -> Client {
        let mut client = Client::silent_with(patience, around);
        let root = format!("file://{}", client.directory.display());
        client.request(
            "initialize",
            json!({
                "capabilities": {"general": {"positionEncodings": encodings}},
                "rootUri": root,
            }),
        );
        client.notify("initialized", json!({}));
        client
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the session has not ended");
        input.write_all(bytes).expect("the server listens");
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn receive(&mut self) -> Value {
        self.messages
            .recv_timeout(TIME_LIMIT)
            .expect("the server says something")
    }

    fn keep(&mut self, message: Value) {
        if message["method"] == "textDocument/publishDiagnostics" {
            let params = message["params"].clone();
            let uri = params["uri"].as_str().unwrap_or_default().to_owned();
            self.diagnostics.insert(uri, params);
        } else {
            self.notifications.push(message);
        }
    }

    /// Sends a request without waiting.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.keep(message);
        }
    }

    /// The result of a request; the whole answer if it is an error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(id);
        match answer.get("error") {
            Some(_) => answer["error"].take(),
            None => answer["result"].take(),
        }
    }

    pub fn uri(&self, file: &str) -> String {
        format!("file://{}/{file}", self.directory.display())
    }

    /// Writes a file without opening it.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.directory.join(file);
        std::fs::create_dir_all(path.parent().expect("it has one"))
            .expect("directories can be made");
        std::fs::write(path, text).expect("files can be written");
    }

    /// Writes a file and opens it; waits for its diagnostics.
    pub fn open(&mut self, file: &str, text: &str) -> Value {
        self.write(file, text);
        let uri = self.uri(file);
        self.texts.insert(file.to_owned(), (1, text.to_owned()));
        self.diagnostics.remove(&uri);
        let document = json!({"uri": uri, "languageId": "scheme", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
        self.wait_for_diagnostics(file)
    }

    pub fn wait_for_diagnostics(&mut self, file: &str) -> Value {
        let uri = self.uri(file);
        loop {
            if let Some(found) = self.diagnostics.remove(&uri) {
                return found["diagnostics"].clone();
            }
            let message = self.receive();
            self.keep(message);
        }
    }

    /// Replaces the first occurrence of some text.
    pub fn replace(&mut self, file: &str, old: &str, new: &str) {
        let (version, text) = self.texts.get_mut(file).expect("the file is open");
        let start = text.find(old).expect("the text is there");
        let range = json!({
            "start": position(text, start),
            "end": position(text, start + old.len()),
        });
        *text = text.replacen(old, new, 1);
        *version += 1;
        let version = *version;
        let uri = self.uri(file);
        self.diagnostics.remove(&uri);
        let document = json!({"uri": uri, "version": version});
        let change = json!({"range": range, "text": new});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [change]}),
        );
    }

    pub fn text(&self, file: &str) -> &str {
        &self.texts[file].1
    }

    /// The parameters for the place that `^` marks in a piece of the file's text.
    pub fn place(&self, file: &str, marked: &str) -> Value {
        let piece = marked.replace('^', "");
        let text = self.text(file);
        let at = text
            .find(&piece)
            .unwrap_or_else(|| panic!("{piece} is in {file}"));
        let offset = at + marked.find('^').expect("the place is marked");
        json!({"textDocument": {"uri": self.uri(file)}, "position": position(text, offset)})
    }

    /// A request about a place.
    pub fn at(&mut self, method: &str, file: &str, marked: &str) -> Value {
        self.at_with(method, file, marked, json!({}))
    }

    pub fn at_with(&mut self, method: &str, file: &str, marked: &str, more: Value) -> Value {
        let mut params = self.place(file, marked);
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        self.request(&format!("textDocument/{method}"), params)
    }

    /// A request about a whole document.
    pub fn whole(&mut self, method: &str, file: &str) -> Value {
        let uri = self.uri(file);
        self.request(
            &format!("textDocument/{method}"),
            json!({"textDocument": {"uri": uri}, "options": {}}),
        )
    }

    /// The texts of ranges, or of locations in open files.
    pub fn texts_at(&self, places: &Value) -> Vec<String> {
        let places = places.as_array().cloned().unwrap_or_default();
        let text_at = |place: &Value| {
            let uri = place["uri"].as_str().unwrap_or_default();
            let file = uri.rsplit('/').next().unwrap_or_default();
            let path = uri.trim_start_matches("file://");
            let stored = std::fs::read_to_string(path).unwrap_or_default();
            let text = self
                .texts
                .get(file)
                .map_or(stored.as_str(), |(_, text)| text);
            let (start, end) = offsets(text, &place["range"]);
            format!(
                "{file}:{}:{}",
                place["range"]["start"]["line"],
                &text[start..end]
            )
        };
        places.iter().map(text_at).collect()
    }

    /// The text of a file after a workspace edit.
    pub fn edited(&self, file: &str, edits: &Value) -> String {
        let mut text = match self.texts.get(file) {
            Some((_, text)) => text.clone(),
            None => std::fs::read_to_string(self.directory.join(file)).expect("the file is there"),
        };
        let mut edits: Vec<Value> = match edits.get("changes") {
            Some(changes) => changes[self.uri(file)]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            None => edits.as_array().cloned().unwrap_or_default(),
        };
        edits.sort_by_key(|edit| offsets(&text, &edit["range"]));
        for edit in edits.iter().rev() {
            let (start, end) = offsets(&text, &edit["range"]);
            text.replace_range(
                start..end,
                edit["newText"].as_str().expect("an edit has a text"),
            );
        }
        text
    }

    /// Ends the session; true if the server ended as it should.
    pub fn end(mut self) -> bool {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.server
            .take()
            .expect("it ends once")
            .join()
            .expect("the server does not panic")
    }

    /// Goes away without a word.
    pub fn vanish(mut self) -> bool {
        self.input = None;
        self.server
            .take()
            .expect("it ends once")
            .join()
            .expect("the server does not panic")
    }
}

/// The position of an offset in UTF-16 units.
pub fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    json!({"line": line, "character": before[start..].encode_utf16().count()})
}

fn offset(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().expect("a line") as usize;
    let mut units = position["character"].as_u64().expect("a character") as usize;
    let mut start = 0;
    for _ in 0..line {
        start += text[start..]
            .find('\n')
            .map_or(text.len() - start, |newline| newline + 1);
    }
    let mut offset = start;
    for character in text[start..].chars() {
        if units == 0 || character == '\n' {
            break;
        }
        units = units.saturating_sub(character.len_utf16());
        offset += character.len_utf8();
    }
    offset
}

fn offsets(text: &str, range: &Value) -> (usize, usize) {
    (offset(text, &range["start"]), offset(text, &range["end"]))
}

/// The codes of diagnostics with their lines.
pub fn codes(diagnostics: &Value) -> Vec<String> {
    let diagnostics = diagnostics.as_array().cloned().unwrap_or_default();
    diagnostics
        .iter()
        .map(|one| {
            format!(
                "{}:{}",
                one["range"]["start"]["line"],
                one["code"].as_str().unwrap_or("-")
            )
        })
        .collect()
}

/// The labels of completion items.
pub fn labels(completion: &Value) -> Vec<String> {
    let items = completion["items"]
        .as_array()
        .or(completion.as_array())
        .cloned()
        .unwrap_or_default();
    items
        .iter()
        .map(|item| item["label"].as_str().unwrap_or_default().to_owned())
        .collect()
}
