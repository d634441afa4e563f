//! The thread that expands documents, with the deep stack that the expander needs.
//!
//! It does one job at a time, in order. A job has a flag that cancels it when a newer version of
//! the document arrives. Requests of the client never wait for this thread except through events.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

use canny_lib::evaluation::{Analysis, OpenDocuments};
use canny_lib::{Evaluation, EvaluationConfig, Switches};
use canny_syntax::core::LibraryKey;
use canny_syntax::recording::{Meaning, Recording};

use crate::event::Event;
use crate::library_sources::LibrarySources;
use crate::places::Search;
use crate::snapshot::Snapshot;
use crate::text::Text;

/// Stack for the expander and the compiler, which recurse along the nesting of code.
const STACK_BYTES: usize = 256 << 20;

/// Something to do.
pub enum Job {
    /// Look at a version of a document.
    Analyze(Task),
    /// Anything else, until the flag is set.
    Run(Run, Arc<AtomicBool>),
}

/// Work whose answer goes wherever the closure sends it.
pub type Run = Box<dyn FnOnce(&Worker, &Arc<AtomicBool>) + Send>;

/// A version of a document.
pub struct Task {
    pub uri: String,
    pub path: PathBuf,
    pub text: Text,
    pub generation: u64,
    /// Where to look for libraries.
    pub search: Arc<Search>,
    /// Set when nobody wants the result any more.
    pub stop: Arc<AtomicBool>,
}

/// The state of the thread that expands.
pub struct Worker {
    pub evaluation: Arc<Evaluation>,
    pub documents: Arc<OpenDocuments>,
    pub library_sources: Arc<LibrarySources>,
}

impl Worker {
    /// A worker without knowledge.
    pub fn new(
        features: Vec<String>,
        optimizer: Switches,
        library_sources: Arc<LibrarySources>,
    ) -> Worker {
        let documents = Arc::new(OpenDocuments::default());
        let evaluation = Evaluation::new(&EvaluationConfig {
            features,
            optimizer,
            documents: Some(documents.clone()),
            ..EvaluationConfig::default()
        });
        Worker {
            evaluation: Arc::new(evaluation),
            documents,
            library_sources,
        }
    }

    /// Starts the thread.
    pub fn start(self, jobs: Receiver<Job>, events: Sender<Event>) -> std::io::Result<()> {
        std::thread::Builder::new()
            .name("expander".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                while let Ok(job) = jobs.recv() {
                    match job {
                        Job::Analyze(task) => {
                            let (uri, generation) = (task.uri.clone(), task.generation);
                            let snapshot = Arc::new(self.analyze(task));
                            let event = Event::Analyzed {
                                uri,
                                generation,
                                snapshot,
                            };
                            if events.send(event).is_err() {
                                return;
                            }
                        }
                        Job::Run(run, stop) => {
                            run(&self, &stop);
                            if events.send(Event::Idle).is_err() {
                                return;
                            }
                        }
                    }
                }
            })?;
        Ok(())
    }

    /// Looks at a text.
    pub fn analyze(&self, task: Task) -> Snapshot {
        let Search {
            directories,
            libraries,
        } = &*task.search;
        self.documents
            .set_search(directories.clone(), libraries.clone());
        let included = self.analyze_includer(&task);
        let analysis = included.unwrap_or_else(|| {
            self.evaluation
                .analyze(&task.path, &task.text.content, task.stop)
        });
        let mut foreign: HashMap<LibraryKey, Arc<Recording>> = HashMap::new();
        let mut pending: Vec<LibraryKey> = Vec::new();
        let own: Vec<&LibraryKey> = analysis
            .recordings
            .iter()
            .filter_map(|one| one.key.as_ref())
            .collect();
        let owners = |recording: &Recording, pending: &mut Vec<LibraryKey>| {
            for one in &recording.occurrences {
                match &one.meaning {
                    Meaning::Library(name) => pending.push(name.key()),
                    Meaning::Global(name) => pending.push(name.library.clone()),
                    Meaning::Macro(name) => pending.push(name.library.clone()),
                    _ => {}
                }
            }
        };
        for recording in &analysis.recordings {
            owners(recording, &mut pending);
        }
        pending.sort_unstable();
        pending.dedup();
        while let Some(key) = pending.pop() {
            if self.library_sources.has(key.as_str())
                || foreign.contains_key(&key)
                || own.contains(&&key)
            {
                continue;
            }
            if let Some(recording) = self.evaluation.library_recording(&key) {
                foreign.insert(key, recording);
            }
        }
        Snapshot::new(
            task.path,
            task.text,
            analysis,
            foreign,
            self.evaluation.sources().clone(),
            self.library_sources.clone(),
        )
    }

    /// A file without imports may be a part of another one beside it: then its names mean what they
    /// mean there.
    fn analyze_includer(&self, task: &Task) -> Option<Analysis> {
        let content = &task.text.content;
        if content.contains("(import") || content.contains("(define-library") {
            return None;
        }
        let name = task.path.file_name()?.to_str()?;
        let mention = format!("\"{name}\"");
        let mentions = |path: &PathBuf| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            let is_small =
                || std::fs::metadata(path).is_ok_and(|data| data.len() <= INCLUDER_BYTES_MAX);
            *path != task.path
                && matches!(ending, Some("sld" | "scm" | "sls" | "sps" | "ss"))
                && is_small()
                && self.documents.read(path).is_ok_and(|bytes| {
                    let text = String::from_utf8_lossy(&bytes);
                    text.contains(&mention) && text.contains("(include")
                })
        };
        let entries = std::fs::read_dir(task.path.parent()?).ok()?.flatten();
        let includer = entries
            .take(INCLUDERS_MAX)
            .map(|entry| entry.path())
            .find(mentions)?;
        let text = String::from_utf8(self.documents.read(&includer).ok()?).ok()?;
        let whole = self.evaluation.analyze(&includer, &text, task.stop.clone());
        let own = task.path.display().to_string();
        let sources = self.evaluation.sources();
        let mut places = whole
            .recordings
            .iter()
            .flat_map(|recording| &recording.occurrences)
            .map(|one| one.span.source)
            .chain(whole.diagnostics.iter().map(|one| one.span.source));
        let source = places.find(|id| sources.get(*id).is_some_and(|source| source.name == own))?;
        Some(Analysis { source, ..whole })
    }
}

/// So many files beside a text are looked through for one that includes it.
const INCLUDERS_MAX: usize = 300;

/// Larger ones are not.
const INCLUDER_BYTES_MAX: u64 = 1 << 20;
