//! Requests by their methods: what each one needs, and who answers it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_syntax::recording::Meaning;
use serde_json::{Value, json};

use crate::features::{
    actions, completion, formatting, hover, navigation, rename, signature, structure, symbols,
    tokens,
};
use crate::server::{Event, Server, TEXT_BYTES_MAX};
use crate::snapshot::Snapshot;
use crate::text::Text;
use crate::transport::Failure;
use crate::uri;
use crate::worker::{Job, Task, Worker};

/// What an answer is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No document.
    Nothing,
    /// The text alone.
    Text,
    /// What was known of some version.
    AnySnapshot,
    /// What is known of this version.
    Snapshot,
}

/// What a method needs; `None` for one that nobody knows.
pub fn needs(method: &str) -> Option<Needs> {
    Some(match method {
        "workspace/symbol" | "workspace/executeCommand" => Needs::Nothing,
        "textDocument/formatting"
        | "textDocument/rangeFormatting"
        | "textDocument/foldingRange" => Needs::Text,
        "textDocument/completion" | "textDocument/signatureHelp" => Needs::AnySnapshot,
        "textDocument/hover"
        | "textDocument/definition"
        | "textDocument/references"
        | "textDocument/documentHighlight"
        | "textDocument/documentSymbol"
        | "textDocument/codeAction"
        | "textDocument/prepareRename"
        | "textDocument/rename"
        | "textDocument/selectionRange"
        | "textDocument/semanticTokens/full"
        | "textDocument/semanticTokens/range" => Needs::Snapshot,
        _ => return None,
    })
}

/// Answers a request about a document; what it needs is there.
pub fn of_document(server: &mut Server, id: Value, uri: &str, method: &str, params: &Value) {
    let Some(document) = server.documents.get(uri) else {
        return server.answer(&id, Err(Failure::parameters("the document is not open")));
    };
    let text = document.text.clone();
    let path = document.path.clone();
    let snapshot = document
        .snapshot
        .as_ref()
        .map(|(_, snapshot)| snapshot.clone());
    let result = match (method, snapshot) {
        ("textDocument/formatting", _) => formatting::whole(&text),
        ("textDocument/rangeFormatting", _) => text
            .offsets(&params["range"])
            .and_then(|(start, end)| formatting::range(&text, start, end)),
        ("textDocument/foldingRange", _) => Ok(structure::folding(&text)),
        (_, None) => Err(Failure::refused("nothing is known of the document")),
        (_, Some(snapshot))
            if snapshot.text.content.is_empty() && text.content.len() > TEXT_BYTES_MAX =>
        {
            drop(snapshot);
            Ok(Value::Null)
        }
        ("textDocument/references", Some(snapshot)) => {
            return references(server, id, uri, &snapshot, params);
        }
        ("textDocument/rename", Some(snapshot)) => {
            return renaming(server, id, uri, &snapshot, params);
        }
        (_, Some(snapshot)) => answer(server, method, params, uri, &path, &text, &snapshot),
    };
    server.answer(&id, result);
}

fn answer(
    server: &mut Server,
    method: &str,
    params: &Value,
    uri: &str,
    path: &Path,
    text: &Text,
    snapshot: &Snapshot,
) -> Result<Value, Failure> {
    let offset = || text.offset(&params["position"]);
    Ok(match method {
        "textDocument/hover" => hover::hover(snapshot, offset()?),
        "textDocument/definition" => navigation::definition(snapshot, uri, offset()?),
        "textDocument/documentHighlight" => navigation::highlights(snapshot, offset()?),
        "textDocument/documentSymbol" => snapshot
            .outline
            .get_or_init(|| symbols::outline(snapshot))
            .clone(),
        "textDocument/prepareRename" => rename::prepare(snapshot, offset()?)?,
        "textDocument/completion" => {
            let catalog = server.catalog(path);
            completion::complete(snapshot, text, offset()?, &catalog)
        }
        "textDocument/signatureHelp" => signature::help(snapshot, text, offset()?),
        "textDocument/codeAction" => {
            let (start, end) = text.offsets(&params["range"])?;
            let catalog = server.catalog(path);
            actions::actions(snapshot, uri, (start, end), &params["context"], &catalog)
        }
        "textDocument/selectionRange" => {
            let positions = params["positions"].as_array().into_iter().flatten();
            let offsets: Vec<usize> = positions
                .map(|one| text.offset(one))
                .collect::<Result<_, _>>()?;
            structure::selections(text, &snapshot.forms, &offsets)
        }
        "textDocument/semanticTokens/full" => {
            let all = || tokens::tokens_between(snapshot, 0, text.content.len());
            snapshot.colours.get_or_init(all).clone()
        }
        "textDocument/semanticTokens/range" => {
            let (start, end) = text.offsets(&params["range"])?;
            tokens::tokens_between(snapshot, start, end)
        }
        _ => return Err(Failure::refused("the method needs no document")),
    })
}

/// Answers a request that is about no document.
pub fn of_workspace(server: &mut Server, id: Value, method: &str, params: &Value) {
    if method == "workspace/executeCommand" {
        let result = command(server, params);
        return server.answer(&id, result);
    }
    let query = params["query"].as_str().unwrap_or_default().to_owned();
    let files = Files::of(server, None);
    let events = server.events.clone();
    let answer_id = id.clone();
    let run = move |worker: &Worker| {
        let mut found: Vec<Value> = Vec::new();
        for file in files.all() {
            if found.len() >= SYMBOLS_MAX {
                break;
            }
            if let Some(snapshot) = files.look_at(worker, &file) {
                found.extend(symbols::matching(&snapshot, &query));
                worker.evaluation.release(snapshot.analysis.source);
            }
        }
        found.truncate(SYMBOLS_MAX);
        let result = Ok(Value::Array(found));
        let _ = events.send(Event::Answered {
            id: answer_id,
            result,
        });
    };
    server.enqueue(id, Job::Run(Box::new(run)));
}

/// More symbols than these are of no use.
const SYMBOLS_MAX: usize = 1_000;

fn command(server: &mut Server, params: &Value) -> Result<Value, Failure> {
    if params["command"] != actions::EXPAND {
        return Err(Failure::parameters("there is no such command"));
    }
    let [uri, position] = params["arguments"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
    else {
        return Err(Failure::parameters(
            "the command takes an address and a position",
        ));
    };
    let uri = uri.as_str().unwrap_or_default();
    let document = server
        .documents
        .get(uri)
        .ok_or_else(|| Failure::parameters("the document is not open"))?;
    let Some((_, snapshot)) = document.snapshot.clone() else {
        return Err(Failure::refused("nothing is known of the document"));
    };
    let offset = snapshot.text.offset(position)?;
    let used = actions::macro_use_at(&snapshot, offset)
        .ok_or_else(|| Failure::refused("there is no macro use here"))?;
    let text = actions::expansion(used);
    if server.shows_documents {
        let file = std::env::temp_dir().join(format!("canny-expansion-{}.scm", std::process::id()));
        if std::fs::write(&file, format!("{text}\n")).is_ok() {
            server.request(
                "window/showDocument",
                json!({"uri": uri::of_path(&file), "takeFocus": false}),
            );
        }
    }
    Ok(text.into())
}

/// The Scheme files of a workspace that may mention a name.
struct Files {
    paths: Vec<(PathBuf, Vec<PathBuf>)>,
    word: Option<String>,
    template: Text,
    open: Arc<canny_lib::evaluation::OpenDocuments>,
}

/// So many files of a workspace are looked at.
const FILES_MAX: usize = 2_000;

/// Endings of Scheme source files.
const EXTENSIONS: [&str; 5] = ["scm", "sld", "sls", "sps", "ss"];

impl Files {
    fn of(server: &Server, word: Option<String>) -> Files {
        let mut paths: Vec<PathBuf> = Vec::new();
        for root in &server.roots {
            collect(root, &mut paths, 0);
        }
        let open = server
            .documents
            .iter()
            .filter(|(uri, _)| uri.starts_with("file:"));
        paths.extend(open.map(|(_, document)| document.path.clone()));
        paths.sort_unstable();
        paths.dedup();
        let paths = paths
            .into_iter()
            .map(|path| {
                let directories = server.directories(&path);
                (path, directories)
            })
            .collect();
        Files {
            paths,
            word,
            template: Text::new("", server.encoding),
            open: server.open.clone(),
        }
    }

    fn all(&self) -> Vec<PathBuf> {
        self.paths.iter().map(|(path, _)| path.clone()).collect()
    }

    /// A file's snapshot, if it mentions the word.
    fn look_at(&self, worker: &Worker, path: &Path) -> Option<Snapshot> {
        let bytes = self.open.read(path).ok()?;
        if bytes.len() > TEXT_BYTES_MAX {
            return None;
        }
        let content = String::from_utf8(bytes).ok()?;
        if self
            .word
            .as_ref()
            .is_some_and(|word| !content.contains(word.as_str()))
        {
            return None;
        }
        Some(self.look_at_text(worker, path, content))
    }

    fn look_at_text(&self, worker: &Worker, path: &Path, content: String) -> Snapshot {
        let found = self.paths.iter().find(|(known, _)| known == path);
        let directories = found.map(|(_, directories)| directories.clone());
        worker.analyze(Task {
            uri: String::new(),
            path: path.to_owned(),
            text: self.template.like(content),
            generation: 0,
            directories: directories.unwrap_or_default(),
            stop: Arc::default(),
        })
    }
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>, depth: usize) {
    const DEPTH_MAX: usize = 12;
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if found.len() >= FILES_MAX {
            return;
        }
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if name.starts_with('.') || ["target", "node_modules", "vendor"].contains(&name.as_str()) {
            continue;
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        if is_directory && depth < DEPTH_MAX {
            collect(&path, found, depth + 1);
        } else if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
            found.push(path);
        }
    }
}

/// Whether other files may mention it.
fn is_shared(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Global(name) => name.library.as_str().starts_with('('),
        Meaning::Macro(name) => name.library.as_str().starts_with('('),
        Meaning::Library(_) => true,
        _ => false,
    }
}

/// The part of a name that every mention of it contains.
fn word_of(meaning: &Meaning) -> String {
    match meaning {
        Meaning::Global(name) => name.name.to_string(),
        Meaning::Macro(name) => name.name.to_string(),
        Meaning::Library(name) => name
            .parts()
            .last()
            .map(ToString::to_string)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

fn address(path: &Path, own: &Path, own_uri: &str) -> String {
    match path == own {
        true => own_uri.to_owned(),
        false => uri::of_path(path),
    }
}

fn references(server: &mut Server, id: Value, uri: &str, snapshot: &Arc<Snapshot>, params: &Value) {
    let offset = match snapshot.text.offset(&params["position"]) {
        Ok(offset) => offset,
        Err(failure) => return server.answer(&id, Err(failure)),
    };
    let Some(one) = snapshot.occurrence_at(offset) else {
        return server.answer(&id, Ok(Value::Null));
    };
    let with_definition = params["context"]["includeDeclaration"] != false;
    let meaning = one.meaning.clone();
    let own: Vec<Value> = navigation::references(snapshot, &meaning, with_definition)
        .into_iter()
        .map(|range| json!({"uri": uri, "range": range}))
        .collect();
    if !is_shared(&meaning) {
        return server.answer(&id, Ok(own.into()));
    }
    let files = Files::of(server, Some(word_of(&meaning)));
    let (events, own_path, answer_id) = (server.events.clone(), snapshot.path.clone(), id.clone());
    let run = move |worker: &Worker| {
        let mut found = own;
        for file in files.all() {
            if file == own_path {
                continue;
            }
            let Some(snapshot) = files.look_at(worker, &file) else {
                continue;
            };
            let address = uri::of_path(&file);
            let ranges = navigation::references(&snapshot, &meaning, with_definition);
            found.extend(
                ranges
                    .into_iter()
                    .map(|range| json!({"uri": address, "range": range})),
            );
            worker.evaluation.release(snapshot.analysis.source);
        }
        let result = Ok(found.into());
        let _ = events.send(Event::Answered {
            id: answer_id,
            result,
        });
    };
    server.enqueue(id, Job::Run(Box::new(run)));
}

fn renaming(server: &mut Server, id: Value, uri: &str, snapshot: &Arc<Snapshot>, params: &Value) {
    let new = params["newName"].as_str().unwrap_or_default().to_owned();
    let target = snapshot
        .text
        .offset(&params["position"])
        .and_then(|offset| rename::target(snapshot, offset))
        .and_then(|target| rename::check_name(&new).map(|()| target));
    let target = match target {
        Ok((target, _)) => target,
        Err(failure) => return server.answer(&id, Err(failure)),
    };
    let files = Files::of(server, Some(word_of(&target.meaning)));
    let (events, answer_id) = (server.events.clone(), id.clone());
    let (own, own_uri) = (snapshot.clone(), uri.to_owned());
    let run = move |worker: &Worker| {
        let result = rename_everywhere(worker, &files, &target, &new, &own, &own_uri);
        let _ = events.send(Event::Answered {
            id: answer_id,
            result,
        });
    };
    server.enqueue(id, Job::Run(Box::new(run)));
}

/// The edits of a renaming, if every name keeps its meaning.
fn rename_everywhere(
    worker: &Worker,
    files: &Files,
    target: &rename::Target,
    new: &str,
    own: &Arc<Snapshot>,
    own_uri: &str,
) -> Result<Value, Failure> {
    let mut touched = vec![(own.clone(), rename::places(own, target))];
    if target.is_exported {
        for file in files.all() {
            if file == own.path {
                continue;
            }
            let Some(snapshot) = files.look_at(worker, &file) else {
                continue;
            };
            let places = rename::places(&snapshot, target);
            if !places.is_empty() {
                touched.push((Arc::new(snapshot), places));
            }
        }
    }
    let mut changes = serde_json::Map::new();
    for (snapshot, places) in &touched {
        let edits: Vec<Value> = places
            .iter()
            .map(|(start, end)| snapshot.text.edit(*start, *end, new))
            .collect();
        changes.insert(address(&snapshot.path, &own.path, own_uri), edits.into());
    }
    // All texts have their new names while each one is looked at.
    let new_texts: Vec<String> = touched
        .iter()
        .map(|(snapshot, places)| rename::renamed(&snapshot.text.content, places, new))
        .collect();
    let before: Vec<Option<Vec<u8>>> = touched
        .iter()
        .map(|(snapshot, _)| {
            files
                .open
                .is_open(&snapshot.path)
                .then(|| files.open.read(&snapshot.path).ok())
                .flatten()
        })
        .collect();
    for ((snapshot, _), text) in touched.iter().zip(&new_texts) {
        files.open.set(&snapshot.path, text.as_str().into());
    }
    let mut checked = Ok(());
    for ((snapshot, places), text) in touched.iter().zip(&new_texts) {
        let after = files.look_at_text(worker, &snapshot.path, text.clone());
        checked = rename::check(snapshot, &after, places, new);
        worker.evaluation.release(after.analysis.source);
        if checked.is_err() {
            break;
        }
    }
    for ((snapshot, _), text) in touched.iter().zip(before) {
        match text.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => files.open.set(&snapshot.path, text.into()),
            None => files.open.remove(&snapshot.path),
        }
    }
    checked.map(|()| json!({"changes": changes}))
}
