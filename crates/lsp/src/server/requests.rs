//! Requests by their methods: what each one needs, and the function that answers it.
//!
//! `Needs` says whether a method needs no document, its text, or an analysis of some or of this
//! version; the server waits for that before it calls the answer here. Searches of a workspace are
//! limited in files and results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use canny_syntax::reader::read_text_leniently;
use canny_syntax::recording::Meaning;
use canny_syntax::span::SourceId;
use serde_json::{Value, json};

use super::{Server, TEXT_BYTES_MAX};
use crate::changes::Changes;
use crate::event::Event;
use crate::features::{
    actions, completion, formatting, hover, navigation, rename, signature, structure, symbols,
    tokens,
};
use crate::places::Places;
use crate::snapshot::Snapshot;
use crate::text::Text;
use crate::transport::Failure;
use crate::uri;
use crate::view::View;
use crate::worker::{Task, Worker};

/// The data from which an answer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No document.
    Nothing,
    /// The text alone.
    Text,
    /// An analysis of some version.
    AnySnapshot,
    /// The analysis of this version.
    Snapshot,
}

/// The data that a method needs; `None` for an unknown method.
pub fn needs(method: &str) -> Option<Needs> {
    Some(match method {
        "workspace/symbol" | "workspace/executeCommand" => Needs::Nothing,
        "textDocument/formatting"
        | "textDocument/rangeFormatting"
        | "textDocument/foldingRange"
        | "textDocument/selectionRange" => Needs::Text,
        "textDocument/hover"
        | "textDocument/definition"
        | "textDocument/references"
        | "textDocument/documentHighlight"
        | "textDocument/documentSymbol"
        | "textDocument/codeAction"
        | "textDocument/completion"
        | "textDocument/prepareRename"
        | "textDocument/semanticTokens/full"
        | "textDocument/semanticTokens/range"
        | "textDocument/signatureHelp" => Needs::AnySnapshot,
        // Nothing but the present text may be changed.
        "textDocument/rename" => Needs::Snapshot,
        _ => return None,
    })
}

/// Answers a request about a document; the data that it needs is there.
pub fn of_document(server: &mut Server, id: Value, uri: &str, method: &str, params: &Value) {
    let Some(document) = server.documents.get(uri) else {
        return server.answer(&id, Err(Failure::parameters("the document is not open")));
    };
    let text = document.text.clone();
    let path = document.path.clone();
    let result = match (method, document.view()) {
        ("textDocument/formatting", _) => formatting::whole(&text),
        ("textDocument/rangeFormatting", _) => text
            .offsets(&params["range"])
            .and_then(|(start, end)| formatting::range(&text, start, end)),
        ("textDocument/foldingRange", _) => Ok(structure::folding(&text)),
        ("textDocument/selectionRange", view) => selections(&text, view.as_ref(), params),
        (_, None) => Err(Failure::refused("nothing is known of the document")),
        (_, Some(view))
            if view.snapshot.text.content.is_empty() && text.content.len() > TEXT_BYTES_MAX =>
        {
            Ok(Value::Null)
        }
        ("textDocument/references", Some(view)) => {
            return references(server, id, uri, &view, params);
        }
        ("textDocument/rename", Some(view)) => {
            return renaming(server, id, uri, &view.snapshot, params);
        }
        ("textDocument/documentSymbol", Some(view)) => {
            let make = || symbols::outline(&view);
            return if view.is_current {
                server.answer_text(&id, view.snapshot.outline.get_or_init(make))
            } else {
                server.answer_text(&id, &make())
            };
        }
        ("textDocument/semanticTokens/full", Some(view)) => {
            let make = || tokens::tokens_between(&view, 0, text.content.len()).to_string();
            return if view.is_current {
                server.answer_text(&id, view.snapshot.colours.get_or_init(make))
            } else {
                server.answer_text(&id, &make())
            };
        }
        (_, Some(view)) => answer(server, method, params, uri, &path, &view),
    };
    server.answer(&id, result);
}

fn answer(
    server: &mut Server,
    method: &str,
    params: &Value,
    uri: &str,
    path: &Path,
    view: &View,
) -> Result<Value, Failure> {
    let text = &view.text;
    let offset = || text.offset(&params["position"]);
    Ok(match method {
        "textDocument/hover" => hover::hover(view, offset()?),
        "textDocument/definition" => navigation::definition(view, uri, offset()?),
        "textDocument/documentHighlight" => navigation::highlights(view, offset()?),
        "textDocument/prepareRename" => rename::prepare(view, offset()?)?,
        "textDocument/completion" => {
            let catalog = server.catalog(path).unwrap_or_default();
            completion::complete(view, offset()?, &catalog)
        }
        "textDocument/signatureHelp" => signature::help(view, offset()?),
        "textDocument/codeAction" => {
            let (start, end) = text.offsets(&params["range"])?;
            let catalog = server.catalog(path).unwrap_or_default();
            actions::actions(view, uri, (start, end), &params["context"], &catalog)
        }
        "textDocument/semanticTokens/range" => {
            let (start, end) = text.offsets(&params["range"])?;
            tokens::tokens_between(view, start, end)
        }
        _ => return Err(Failure::refused("the method needs no document")),
    })
}

/// The forms around places.
fn selections(text: &Text, view: Option<&View>, params: &Value) -> Result<Value, Failure> {
    let positions = params["positions"].as_array().into_iter().flatten();
    let offsets: Vec<usize> = positions
        .map(|one| text.offset(one))
        .collect::<Result<_, _>>()?;
    if text.content.len() > TEXT_BYTES_MAX {
        return Ok(Value::Null);
    }
    Ok(match view.filter(|view| view.is_current) {
        Some(view) => structure::selections(text, &view.snapshot.forms, &offsets),
        None => {
            let read = read_text_leniently(&text.content, SourceId::NONE, false);
            structure::selections(text, &read.forms, &offsets)
        }
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
    let run = move |worker: &Worker, stop: &Arc<AtomicBool>| {
        let mut found: Vec<Value> = Vec::new();
        for file in files.all() {
            if found.len() >= SYMBOLS_MAX || stop.load(Ordering::Relaxed) {
                break;
            }
            if let Some(snapshot) = files.look_at(worker, &file, stop) {
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
    server.enqueue(id, Box::new(run));
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
    let Some(view) = document.view() else {
        return Err(Failure::refused("nothing is known of the document"));
    };
    let offset = view.text.offset(position)?;
    let used = actions::macro_use_at(&view.snapshot, view.back(offset))
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
    opened: Vec<PathBuf>,
    places: Arc<Places>,
    word: Option<String>,
    template: Text,
    open: Arc<canny_lib::evaluation::OpenDocuments>,
}

/// So many files of a workspace are looked at.
const FILES_MAX: usize = 2_000;

/// Endings of Scheme source files.
pub const EXTENSIONS: [&str; 5] = ["scm", "sld", "sls", "sps", "ss"];

impl Files {
    fn of(server: &Server, word: Option<String>) -> Files {
        let opened = server
            .documents
            .iter()
            .filter(|(uri, _)| uri.starts_with("file:"));
        Files {
            opened: opened.map(|(_, document)| document.path.clone()).collect(),
            places: server.places.clone(),
            word,
            template: Text::new("", server.encoding),
            open: server.open.clone(),
        }
    }

    /// All of them, which takes its time.
    fn all(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for root in self.places.roots() {
            collect(root, &mut paths, 0);
        }
        paths.extend(self.opened.iter().cloned());
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// A file's snapshot, if it mentions the word.
    fn look_at(&self, worker: &Worker, path: &Path, stop: &Arc<AtomicBool>) -> Option<Snapshot> {
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
        Some(self.look_at_text(worker, path, content, stop))
    }

    fn look_at_text(
        &self,
        worker: &Worker,
        path: &Path,
        content: String,
        stop: &Arc<AtomicBool>,
    ) -> Snapshot {
        worker.analyze(Task {
            uri: String::new(),
            path: path.to_owned(),
            text: self.template.like(content),
            generation: 0,
            search: self.places.of(path),
            stop: stop.clone(),
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
    if path == own {
        own_uri.to_owned()
    } else {
        uri::of_path(path)
    }
}

fn references(server: &mut Server, id: Value, uri: &str, view: &View, params: &Value) {
    let offset = match view.text.offset(&params["position"]) {
        Ok(offset) => offset,
        Err(failure) => return server.answer(&id, Err(failure)),
    };
    let Some(found) = view.occurrence_at(offset) else {
        return server.answer(&id, Ok(Value::Null));
    };
    let with_definition = params["context"]["includeDeclaration"] != false;
    let meaning = found.one.meaning;
    let own: Vec<Value> = navigation::references(view, &meaning, with_definition)
        .into_iter()
        .map(|range| json!({"uri": uri, "range": range}))
        .collect();
    if !is_shared(&meaning) {
        return server.answer(&id, Ok(own.into()));
    }
    let files = Files::of(server, Some(word_of(&meaning)));
    let own_path = view.snapshot.path.clone();
    let (events, answer_id) = (server.events.clone(), id.clone());
    let run = move |worker: &Worker, stop: &Arc<AtomicBool>| {
        let mut found = own;
        for file in files.all() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if file == own_path {
                continue;
            }
            let Some(snapshot) = files.look_at(worker, &file, stop) else {
                continue;
            };
            let address = uri::of_path(&file);
            let source = snapshot.analysis.source;
            let text = snapshot.text.clone();
            let view = View::new(Arc::new(snapshot), text, Changes::default());
            let ranges = navigation::references(&view, &meaning, with_definition);
            found.extend(
                ranges
                    .into_iter()
                    .map(|range| json!({"uri": address, "range": range})),
            );
            worker.evaluation.release(source);
        }
        let result = Ok(found.into());
        let _ = events.send(Event::Answered {
            id: answer_id,
            result,
        });
    };
    server.enqueue(id, Box::new(run));
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
    let places = rename::places(snapshot, &target);
    if !target.is_exported && rename::changes_nothing_else(snapshot, &target, &places, &new) {
        let edits = edits(snapshot, &places, &new);
        return server.answer(&id, Ok(json!({"changes": {uri: edits}})));
    }
    let files = Files::of(server, Some(word_of(&target.meaning)));
    let (events, answer_id) = (server.events.clone(), id.clone());
    let (own, own_uri) = (snapshot.clone(), uri.to_owned());
    let run = move |worker: &Worker, stop: &Arc<AtomicBool>| {
        let result = rename_everywhere(worker, &files, &target, &new, (&own, &own_uri), stop);
        let result = if stop.load(Ordering::Relaxed) {
            Err(Failure::refused(
                "the renaming took too long; nothing was renamed",
            ))
        } else {
            result
        };
        let _ = events.send(Event::Answered {
            id: answer_id,
            result,
        });
    };
    server.enqueue(id, Box::new(run));
}

fn edits(snapshot: &Snapshot, places: &[(usize, usize)], new: &str) -> Vec<Value> {
    places
        .iter()
        .map(|(start, end)| snapshot.text.edit(*start, *end, new))
        .collect()
}

/// The edits of a renaming, if every name keeps its meaning.
fn rename_everywhere(
    worker: &Worker,
    files: &Files,
    target: &rename::Target,
    new: &str,
    (own, own_uri): (&Arc<Snapshot>, &str),
    stop: &Arc<AtomicBool>,
) -> Result<Value, Failure> {
    let mut touched = vec![(own.clone(), rename::places(own, target))];
    if target.is_exported {
        for file in files.all() {
            if file == own.path {
                continue;
            }
            let Some(snapshot) = files.look_at(worker, &file, stop) else {
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
        let edits = edits(snapshot, places, new);
        changes.insert(address(&snapshot.path, &own.path, own_uri), edits.into());
    }
    let is_plain = |(snapshot, places): &(Arc<Snapshot>, Vec<(usize, usize)>)| {
        rename::changes_nothing_else(snapshot, target, places, new)
    };
    if touched.iter().all(is_plain) {
        for (snapshot, _) in &touched[1..] {
            worker.evaluation.release(snapshot.analysis.source);
        }
        return Ok(json!({"changes": changes}));
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
        let after = files.look_at_text(worker, &snapshot.path, text.clone(), stop);
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
    for (snapshot, _) in &touched[1..] {
        worker.evaluation.release(snapshot.analysis.source);
    }
    checked.map(|()| json!({"changes": changes}))
}
