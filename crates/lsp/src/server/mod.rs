//! The life of a session: documents, their versions, and requests that wait for one.
//!
//! | state | who changes it | meaning |
//! |---|---|---|
//! | `Document::generation` | every change of the text or of a file that it depends on | what the next analysis is for |
//! | `Document::snapshot` | the worker's answer | the newest analysis; it may be of an older generation |
//! | `Document::waiting` | requests about a version that is not analysed yet | answered with the analysis |
//! | `Document::changes` | changes of the text; an analysis takes those before it away | what lies between snapshot and text |
//! | `Server::running` | when a job is handed to the worker and when it is done | at most one |
//!
//! A change begins an analysis after a pause; a request that waits begins it at once. A newer version
//! stops the analysis of an older one, and one that takes too long is stopped too. Few requests wait:
//! where expansion takes its time, they are answered from the newest analysis there is, through a
//! [`View`].

mod requests;
mod surroundings;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use canny_lib::Evaluation;
use canny_lib::evaluation::OpenDocuments;
use canny_messages::{Incoming, MessageReader, write_body, write_message};
use serde_json::{Value, json};

use crate::Options;
use crate::catalog::Catalog;
use crate::changes::{Change, Changes};
use crate::event::Event;
use crate::features::{actions, diagnostics, tokens};
use crate::library_sources::LibrarySources;
use crate::places::{Places, Search};
use crate::snapshot::Snapshot;
use crate::text::{Encoding, Text};
use crate::transport::{Failure, code, response};
use crate::uri;
use crate::view::View;
use crate::worker::{Job, Run, Task, Worker};

/// How long a text must rest before it is looked at.
const PAUSE: Duration = Duration::from_millis(150);

/// Questions wait for an analysis that takes no longer.
const SHORT_ANALYSIS: Duration = Duration::from_millis(40);

/// An analysis that takes longer is stopped: some macro does not end.
const ANALYSIS_TIME_MAX: Duration = Duration::from_secs(8);

/// Larger texts are not looked at: names and errors in them are nobody's work.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// A request that waits.
struct Waiting {
    id: Value,
    method: String,
    params: Value,
    /// Whether it waits for an analysis, and not for what can be imported.
    wants_analysis: bool,
}

/// An open document.
pub struct Document {
    pub path: PathBuf,
    pub text: Text,
    version: Value,
    generation: u64,
    pub snapshot: Option<(u64, Arc<Snapshot>)>,
    waiting: Vec<Waiting>,
    /// When to look at it; `None` when there is nothing new.
    due: Option<Instant>,
    /// How long the last look took.
    last_analysis: Duration,
    /// From the snapshot's text to the present one.
    changes: Changes,
    /// The client has colours of an older version.
    has_old_colours: bool,
}

impl Document {
    fn is_current(&self) -> bool {
        self.snapshot
            .as_ref()
            .is_some_and(|(generation, _)| *generation == self.generation)
    }

    /// The view of the present text, if some version was analysed.
    pub fn view(&self) -> Option<View> {
        let (_, snapshot) = self.snapshot.clone()?;
        Some(View::new(snapshot, self.text.clone(), self.changes.clone()))
    }
}

struct Running {
    /// The document; none for another job.
    uri: Option<String>,
    generation: u64,
    since: Instant,
    stop: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Fresh,
    Running,
    ShutDown,
}

/// A session.
pub struct Server {
    options: Options,
    output: Box<dyn Write + Send>,
    jobs: Sender<Job>,
    pub events: Sender<Event>,
    evaluation: Arc<Evaluation>,
    pub open: Arc<OpenDocuments>,
    catalog: Option<Arc<Catalog>>,
    /// With the user's libraries, and when that was made.
    full_catalog: Option<(Instant, Arc<Search>, Arc<Catalog>)>,
    /// The search whose catalog is being made.
    catalog_under_way: Option<Arc<Search>>,
    stage: Stage,
    pub encoding: Encoding,
    pub places: Arc<Places>,
    pub shows_documents: bool,
    /// Whether the client supports a refresh of its colours, and registered file watchers.
    refreshes_colours: bool,
    watches_files: bool,
    /// Files that it watches one by one.
    watched: HashSet<PathBuf>,
    pub documents: HashMap<String, Document>,
    running: Option<Running>,
    /// Jobs beside analyses: requests that look at several files.
    queue: VecDeque<(Value, Run)>,
    /// Requests that were taken back while another thread works on them.
    cancelled: Vec<Value>,
    generations: u64,
    requests_sent: u64,
    pub is_alive: bool,
}

/// Serves one client; see [`crate::serve`].
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    options: Options,
) -> std::io::Result<bool> {
    let (events, received) = mpsc::channel();
    let (jobs, work) = mpsc::channel();
    let library_sources = Arc::new(LibrarySources::new(&options.cache));
    let worker = Worker::new(
        options.features.clone(),
        options.optimizer.clone(),
        library_sources,
    );
    let evaluation = worker.evaluation.clone();
    let open = worker.documents.clone();
    worker.start(work, events.clone())?;
    read_in_background(input, events.clone())?;
    let mut server = Server {
        places: Arc::new(Places::new(&options, Vec::new())),
        options,
        output: Box::new(output),
        jobs,
        events,
        evaluation,
        open,
        catalog: None,
        full_catalog: None,
        catalog_under_way: None,
        stage: Stage::Fresh,
        encoding: Encoding::Utf16,
        shows_documents: false,
        refreshes_colours: false,
        watches_files: false,
        watched: HashSet::new(),
        documents: HashMap::new(),
        running: None,
        queue: VecDeque::new(),
        cancelled: Vec::new(),
        generations: 0,
        requests_sent: 0,
        is_alive: true,
    };
    server.run(&received);
    Ok(server.stage == Stage::ShutDown)
}

fn read_in_background(
    input: impl Read + Send + 'static,
    events: Sender<Event>,
) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("reader".into())
        .spawn(move || {
            let mut messages = MessageReader::new(BufReader::new(input));
            while let Ok(Some(incoming)) = messages.read() {
                if events.send(Event::Incoming(incoming)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::End);
        })?;
    Ok(())
}

impl Server {
    fn run(&mut self, received: &Receiver<Event>) {
        while self.is_alive {
            self.start_work();
            let wait = self
                .next_deadline()
                .map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let event = match wait {
                Some(wait) => match received.recv_timeout(wait) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout) => {
                        self.stop_what_takes_too_long();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                },
                None => match received.recv() {
                    Ok(event) => event,
                    Err(_) => return,
                },
            };
            self.event(event);
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Incoming(Incoming::Message(message)) => self.message(message),
            Event::Incoming(Incoming::Malformed(problem)) => {
                let failure = Failure {
                    code: code::PARSE,
                    message: problem,
                };
                self.send(&response(&Value::Null, Err(failure)));
            }
            Event::End => self.is_alive = false,
            Event::Analyzed {
                uri,
                generation,
                snapshot,
            } => self.analyzed(&uri, generation, snapshot),
            Event::Idle => self.running = None,
            Event::Answered { id, result } => {
                match self.cancelled.iter().position(|one| *one == id) {
                    // The client has had its answer.
                    Some(place) => drop(self.cancelled.remove(place)),
                    None => self.answer(&id, result),
                }
            }
            Event::Catalog(catalog) => {
                self.catalog = Some(catalog);
                self.full_catalog = None;
                self.ask_again();
            }
            Event::FullCatalog(search, catalog) => {
                self.full_catalog = Some((Instant::now(), search, catalog));
                self.catalog_under_way = None;
                self.ask_again();
            }
        }
    }

    fn send(&mut self, message: &Value) {
        // A client that does not listen is gone.
        if write_message(&mut self.output, message).is_err() {
            self.is_alive = false;
        }
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request whose answer does not matter.
    pub fn request(&mut self, method: &str, params: Value) {
        self.requests_sent += 1;
        let id = format!("canny-{}", self.requests_sent);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Answers a request with JSON that was written before.
    pub fn answer_text(&mut self, id: &Value, result: &str) {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}");
        if write_body(&mut self.output, &body).is_err() {
            self.is_alive = false;
        }
    }

    /// Answers a request.
    pub fn answer(&mut self, id: &Value, result: Result<Value, Failure>) {
        self.send(&response(id, result));
    }

    fn message(&mut self, message: Value) {
        if let Value::Array(messages) = message {
            // Batches are no part of the protocol, but of JSON-RPC.
            if messages.is_empty() {
                self.refuse_message(&Value::Null);
            }
            for one in messages {
                self.message(one);
            }
            return;
        }
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer to a request of ours, or nonsense.
            if message.get("result").is_none() && message.get("error").is_none() {
                self.refuse_message(&id.unwrap_or(Value::Null));
            }
            return;
        };
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        match id {
            Some(id @ (Value::Number(_) | Value::String(_))) => {
                self.incoming_request(id, method, params)
            }
            Some(_) => self.refuse_message(&Value::Null),
            None => self.notification(method, &params),
        }
    }

    fn refuse_message(&mut self, id: &Value) {
        let failure = Failure {
            code: code::INVALID_REQUEST,
            message: "this is no request".to_owned(),
        };
        self.answer(id, Err(failure));
    }

    fn incoming_request(&mut self, id: Value, method: &str, params: Value) {
        let failure = |code, message: &str| {
            Err(Failure {
                code,
                message: message.to_owned(),
            })
        };
        let result = match (self.stage, method) {
            (Stage::Fresh, "initialize") => {
                let result = self.initialize(&params);
                self.stage = Stage::Running;
                Ok(result)
            }
            (Stage::Fresh, _) => {
                failure(code::NOT_INITIALIZED, "the session begins with initialize")
            }
            (Stage::ShutDown, _) => failure(code::INVALID_REQUEST, "the session was shut down"),
            (Stage::Running, "initialize") => {
                failure(code::INVALID_REQUEST, "the session has begun already")
            }
            (Stage::Running, "shutdown") => {
                self.stage = Stage::ShutDown;
                self.stop_running();
                Ok(Value::Null)
            }
            (Stage::Running, _) => return self.ask(id, method, params),
        };
        self.answer(&id, result);
    }

    fn notification(&mut self, method: &str, params: &Value) {
        if method == "exit" {
            self.is_alive = false;
            return;
        }
        if self.stage != Stage::Running {
            return;
        }
        let uri = params["textDocument"]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let done = match method {
            "textDocument/didOpen" => self.opened(&uri, params),
            "textDocument/didChange" => self.changed(&uri, params),
            "textDocument/didClose" => self.closed(&uri),
            "initialized" => {
                self.watch_files();
                Ok(())
            }
            "textDocument/didSave"
            | "workspace/didChangeWatchedFiles"
            | "workspace/didChangeConfiguration" => {
                self.full_catalog = None;
                // A catalog that is being made may show the old state.
                self.catalog_under_way = None;
                self.places.forget();
                let uris: Vec<String> = self.documents.keys().cloned().collect();
                uris.iter().for_each(|uri| self.touch(uri, PAUSE));
                Ok(())
            }
            "$/cancelRequest" => {
                self.cancel(&params["id"]);
                Ok(())
            }
            // Others may be ignored.
            _ => Ok(()),
        };
        if let Err(failure) = done {
            let message = format!("{method}: {}", failure.message);
            self.notify("window/logMessage", json!({"type": 2, "message": message}));
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let general = &params["capabilities"]["general"]["positionEncodings"];
        let offered = general.as_array().into_iter().flatten();
        if offered.clone().any(|one| one == "utf-8") {
            self.encoding = Encoding::Utf8;
        }
        // A client may show expansions itself.
        self.shows_documents = params["capabilities"]["window"]["showDocument"]["support"] == true
            && params["initializationOptions"]["showsExpansions"] != true;
        let folders = params["workspaceFolders"].as_array().into_iter().flatten();
        let folders = folders.filter_map(|folder| folder["uri"].as_str());
        let mut roots: Vec<PathBuf> = folders
            .chain(params["rootUri"].as_str())
            .map(uri::to_path)
            .collect();
        roots.dedup();
        self.places = Arc::new(Places::new(&self.options, roots));
        let workspace = &params["capabilities"]["workspace"];
        self.refreshes_colours = workspace["semanticTokens"]["refreshSupport"] == true;
        self.watches_files = workspace["didChangeWatchedFiles"]["dynamicRegistration"] == true;
        let events = self.events.clone();
        // Completion of names that are not imported needs all of them.
        let made = std::thread::Builder::new()
            .name("catalog".into())
            .spawn(move || {
                let _ = events.send(Event::Catalog(Arc::new(Catalog::of_image())));
                // Hovering needs it; it is decoded once.
                canny_reference::documents();
            });
        if made.is_err() {
            self.catalog = Some(Arc::default());
        }
        let encoding = match self.encoding {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
        };
        json!({
            "serverInfo": {"name": "canny", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {
                "positionEncoding": encoding,
                "textDocumentSync": {"openClose": true, "change": 2, "save": true},
                "hoverProvider": true,
                "completionProvider": {"triggerCharacters": ["(", "\"", "/"]},
                "signatureHelpProvider": {"triggerCharacters": [" ", "("], "retriggerCharacters": [" "]},
                "definitionProvider": true,
                "referencesProvider": true,
                "documentHighlightProvider": true,
                "documentSymbolProvider": true,
                "workspaceSymbolProvider": true,
                "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor", "source.organizeImports"]},
                "renameProvider": {"prepareProvider": true},
                "documentFormattingProvider": true,
                "documentRangeFormattingProvider": true,
                "foldingRangeProvider": true,
                "selectionRangeProvider": true,
                "semanticTokensProvider": {"legend": tokens::legend(), "full": true, "range": true},
                "executeCommandProvider": {"commands": [actions::EXPAND]},
            },
        })
    }

    fn opened(&mut self, uri: &str, params: &Value) -> Result<(), Failure> {
        let document = &params["textDocument"];
        let Some(text) = document["text"].as_str().filter(|_| !uri.is_empty()) else {
            return Err(Failure::parameters("a document has an address and a text"));
        };
        let path = uri::to_path(uri);
        let document = Document {
            text: Text::new(text, self.encoding),
            version: document["version"].clone(),
            generation: 0,
            snapshot: None,
            waiting: Vec::new(),
            due: None,
            last_analysis: Duration::MAX,
            changes: Changes::default(),
            has_old_colours: false,
            path,
        };
        self.fail_waiting(uri, "the document was opened again");
        self.documents.insert(uri.to_owned(), document);
        self.tell_text(uri);
        self.touch(uri, Duration::ZERO);
        Ok(())
    }

    fn changed(&mut self, uri: &str, params: &Value) -> Result<(), Failure> {
        let Some(document) = self.documents.get_mut(uri) else {
            return Err(Failure::parameters("the document is not open"));
        };
        document.version = params["textDocument"]["version"].clone();
        let mut failed = Ok(());
        let mut changes: Vec<Change> = Vec::new();
        for change in params["contentChanges"].as_array().into_iter().flatten() {
            match document.text.changed(change) {
                Ok((text, change)) => {
                    document.text = text;
                    changes.push(change);
                }
                Err(failure) => failed = Err(failure),
            }
        }
        self.tell_text(uri);
        self.touch(uri, PAUSE);
        if let Some(document) = self.documents.get_mut(uri) {
            for change in changes {
                document.changes.push(document.generation, change);
            }
            if let Some((_, snapshot)) = &document.snapshot
                && document.changes.are_many()
            {
                let whole = Change::between(&snapshot.text.content, &document.text.content);
                document.changes = Changes::whole(document.generation, whole);
            }
        }
        // Others may have been looked at with the old text.
        let path = uri::to_path(uri);
        let dependents: Vec<String> = self
            .documents
            .iter()
            .filter(|(other, document)| {
                let snapshot = document.snapshot.as_ref().map(|(_, snapshot)| snapshot);
                *other != uri && snapshot.is_some_and(|one| one.depends_on(&path))
            })
            .map(|(other, _)| other.clone())
            .collect();
        for other in dependents {
            self.touch(&other, PAUSE * 3);
        }
        failed
    }

    fn closed(&mut self, uri: &str) -> Result<(), Failure> {
        self.fail_waiting(uri, "the document was closed");
        let Some(document) = self.documents.remove(uri) else {
            return Err(Failure::parameters("the document is not open"));
        };
        self.open.remove(&document.path);
        self.notify(
            "textDocument/publishDiagnostics",
            json!({"uri": uri, "diagnostics": []}),
        );
        Ok(())
    }

    fn fail_waiting(&mut self, uri: &str, why: &str) {
        let waiting = match self.documents.get_mut(uri) {
            Some(document) => std::mem::take(&mut document.waiting),
            None => return,
        };
        for one in waiting {
            self.answer(&one.id, Err(Failure::refused(why)));
        }
    }

    /// Tells whoever reads files that one has another text.
    fn tell_text(&mut self, uri: &str) {
        if let Some(document) = self.documents.get(uri)
            && uri.starts_with("file:")
        {
            self.open.set(&document.path, document.text.content.clone());
        }
    }

    /// Something about a document is new.
    fn touch(&mut self, uri: &str, pause: Duration) {
        self.generations += 1;
        let Some(document) = self.documents.get_mut(uri) else {
            return;
        };
        document.generation = self.generations;
        let is_first = document.snapshot.is_none() && document.due.is_some();
        document.due = if is_first {
            document.due
        } else {
            Some(Instant::now() + pause)
        };
        if let Some(running) = &self.running
            && running.uri.as_deref() == Some(uri)
        {
            self.stop_running();
        }
    }

    fn stop_running(&mut self) {
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
            self.evaluation.interrupt_macros();
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.running {
            // Told once more in a while, should a macro that begins just now have missed it.
            Some(running) => Some(if running.stop.load(Ordering::Relaxed) {
                Instant::now() + PAUSE
            } else {
                running.since + ANALYSIS_TIME_MAX
            }),
            None => self
                .documents
                .values()
                .filter_map(|document| document.due)
                .min(),
        }
    }

    fn stop_what_takes_too_long(&mut self) {
        let is_late = self.running.as_ref().is_some_and(|running| {
            running.stop.load(Ordering::Relaxed) || running.since.elapsed() >= ANALYSIS_TIME_MAX
        });
        if is_late {
            self.stop_running();
        }
    }

    /// Gives the worker something to do, if it has nothing.
    fn start_work(&mut self) {
        if self.running.is_some() {
            return;
        }
        let now = Instant::now();
        let due = self.documents.iter().filter_map(|(uri, document)| {
            let due = document.due?;
            let is_wanted = document.waiting.iter().any(|one| one.wants_analysis);
            (is_wanted || due <= now).then_some((!is_wanted, due, uri.clone()))
        });
        if let Some((_, _, uri)) = due.min() {
            return self.analyze(&uri);
        }
        if let Some((_, run)) = self.queue.pop_front() {
            let stop: Arc<AtomicBool> = Arc::default();
            self.running = Some(Running {
                uri: None,
                generation: 0,
                since: now,
                stop: stop.clone(),
            });
            self.give(Job::Run(run, stop));
        }
    }

    fn give(&mut self, job: Job) {
        if self.jobs.send(job).is_err() {
            // Its thread has ended, which only a defect of ours can do.
            self.notify(
                "window/logMessage",
                json!({"type": 1, "message": "the expander has ended"}),
            );
            self.is_alive = false;
        }
    }

    fn analyze(&mut self, uri: &str) {
        let stop = Arc::new(AtomicBool::new(false));
        let Some(document) = self.documents.get_mut(uri) else {
            return;
        };
        document.due = None;
        let path = document.path.clone();
        let mut text = document.text.clone();
        let generation = document.generation;
        if text.content.len() > TEXT_BYTES_MAX {
            text = text.like("");
        }
        let task = Task {
            uri: uri.to_owned(),
            search: self.places.of(&path),
            path,
            text,
            generation,
            stop: stop.clone(),
        };
        self.running = Some(Running {
            uri: Some(uri.to_owned()),
            generation,
            since: Instant::now(),
            stop,
        });
        self.give(Job::Analyze(task));
    }

    fn analyzed(&mut self, uri: &str, generation: u64, snapshot: Arc<Snapshot>) {
        let took = self
            .running
            .take()
            .map(|running| (running.since.elapsed(), running.generation));
        let was_late = took.is_some_and(|(time, _)| time >= ANALYSIS_TIME_MAX);
        let source = snapshot.analysis.source;
        let Some(document) = self.documents.get_mut(uri) else {
            self.evaluation.release(source);
            return;
        };
        let is_current = document.generation == generation;
        document.last_analysis = took.map_or(Duration::MAX, |(time, _)| time);
        if snapshot.analysis.is_stopped && !is_current && document.snapshot.is_some() {
            self.evaluation.release(source);
            return;
        }
        document.changes.forget_until(generation);
        if document.changes.is_whole() {
            // It leads from another text.
            let whole = Change::between(&snapshot.text.content, &document.text.content);
            document.changes = Changes::whole(document.generation, whole);
        }
        let old = document.snapshot.replace((generation, snapshot.clone()));
        if let Some((_, old)) = old {
            self.evaluation.release(old.analysis.source);
            // Taking it apart takes a while.
            let _ = std::thread::Builder::new().spawn(move || drop(old));
        }
        if !is_current {
            return;
        }
        let has_old_colours = std::mem::take(&mut document.has_old_colours);
        let version = document.version.clone();
        let is_too_large = document.text.content.len() > TEXT_BYTES_MAX;
        let waiting = std::mem::take(&mut document.waiting);
        let mut shown = diagnostics::of(&snapshot, uri);
        let zero = snapshot.text.range(0, 0);
        let remark = |message: String| {
            json!({"range": zero, "severity": 3, "source": "canny",
            "message": message})
        };
        if is_too_large {
            shown = vec![remark(format!(
                "a text of more than {} MiB is not looked at",
                TEXT_BYTES_MAX >> 20
            ))];
        } else if was_late {
            let seconds = ANALYSIS_TIME_MAX.as_secs();
            shown.push(remark(format!(
                "after {seconds} seconds the expansion was stopped: perhaps a macro does not end"
            )));
        }
        let mut params = json!({"uri": uri, "diagnostics": shown});
        if version.is_number() {
            params["version"] = version;
        }
        self.notify("textDocument/publishDiagnostics", params);
        if has_old_colours && self.refreshes_colours {
            self.request("workspace/semanticTokens/refresh", Value::Null);
        }
        self.watch_more(&snapshot);
        for one in waiting {
            self.ask(one.id, &one.method, one.params);
        }
    }

    /// Requests that wait may have what they waited for.
    fn ask_again(&mut self) {
        let waiting: Vec<Waiting> = self
            .documents
            .values_mut()
            .flat_map(|document| std::mem::take(&mut document.waiting))
            .collect();
        for one in waiting {
            self.ask(one.id, &one.method, one.params);
        }
    }

    /// Takes a request back.
    fn cancel(&mut self, id: &Value) {
        let cancelled = || {
            Err(Failure {
                code: code::CANCELLED,
                message: "the request was taken back".to_owned(),
            })
        };
        for document in self.documents.values_mut() {
            if let Some(place) = document.waiting.iter().position(|one| one.id == *id) {
                document.waiting.remove(place);
                self.answer(id, cancelled());
                return;
            }
        }
        if let Some(place) = self.queue.iter().position(|(waiting, _)| waiting == id) {
            self.queue.remove(place);
            self.answer(id, cancelled());
        }
    }

    /// Lets the worker answer a request.
    pub fn enqueue(&mut self, id: Value, run: Run) {
        self.queue.push_back((id, run));
    }

    fn ask(&mut self, id: Value, method: &str, params: Value) {
        let Some(needs) = requests::needs(method) else {
            let failure = Failure {
                code: code::METHOD_NOT_FOUND,
                message: format!("there is no method {method}"),
            };
            return self.answer(&id, Err(failure));
        };
        if needs == requests::Needs::Nothing {
            return requests::of_workspace(self, id, method, &params);
        }
        let uri = params["textDocument"]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let Some(document) = self.documents.get_mut(&uri) else {
            return self.answer(&id, Err(Failure::parameters("the document is not open")));
        };
        let needs_catalog = matches!(
            method,
            "textDocument/completion" | "textDocument/codeAction"
        );
        let path = document.path.clone();
        let lacks_catalog = needs_catalog && self.catalog(&path).is_none();
        let patience = self.options.patience.unwrap_or(SHORT_ANALYSIS);
        let Some(document) = self.documents.get_mut(&uri) else {
            return;
        };
        let wants_analysis = match needs {
            requests::Needs::Snapshot => !document.is_current(),
            // A new one is better, if it does not take long.
            requests::Needs::AnySnapshot => {
                document.snapshot.is_none()
                    || (!document.is_current() && document.last_analysis <= patience)
            }
            _ => false,
        };
        let must_wait = lacks_catalog || wants_analysis;
        if !must_wait && method.starts_with("textDocument/semanticTokens") {
            document.has_old_colours |= !document.is_current();
        }
        if must_wait {
            let method = method.to_owned();
            document.waiting.push(Waiting {
                id,
                method,
                params,
                wants_analysis,
            });
            // It may rest on a text that is being looked at already.
            if wants_analysis
                && !document.is_current()
                && document.due.is_none()
                && self
                    .running
                    .as_ref()
                    .is_none_or(|one| one.uri.as_deref() != Some(uri.as_str()))
            {
                document.due = Some(Instant::now());
            }
            return;
        }
        requests::of_document(self, id, &uri, method, &params);
    }
}
