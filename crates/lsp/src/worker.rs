//! The thread that expands programs. It has the deep stack that this needs, and does one thing at a time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

use canny_lib::evaluation::OpenDocuments;
use canny_lib::{Evaluation, EvaluationConfig};
use canny_syntax::core::LibraryKey;
use canny_syntax::recording::{Meaning, Recording};

use crate::library_sources::LibrarySources;
use crate::server::Event;
use crate::snapshot::Snapshot;
use crate::text::Text;

/// Stack for the expander and the compiler, which recurse along the nesting of code.
const STACK_BYTES: usize = 256 << 20;

/// Something to do.
pub enum Job {
    /// Look at a version of a document.
    Analyze(Task),
    /// Anything else; the answer goes wherever the closure sends it.
    Run(Box<dyn FnOnce(&Worker) + Send>),
}

/// A version of a document.
pub struct Task {
    pub uri: String,
    pub path: PathBuf,
    pub text: Text,
    pub generation: u64,
    /// Where to look for libraries.
    pub directories: Vec<PathBuf>,
    /// Set when nobody wants the result any more.
    pub stop: Arc<AtomicBool>,
}

/// What the thread works with.
pub struct Worker {
    pub evaluation: Arc<Evaluation>,
    pub documents: Arc<OpenDocuments>,
    pub library_sources: Arc<LibrarySources>,
}

impl Worker {
    /// A worker without knowledge.
    pub fn new(features: Vec<String>, library_sources: Arc<LibrarySources>) -> Worker {
        let documents = Arc::new(OpenDocuments::default());
        let evaluation = Evaluation::new(&EvaluationConfig {
            features,
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
                        Job::Run(run) => {
                            run(&self);
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
        self.documents.set_directories(task.directories);
        let analysis = self
            .evaluation
            .analyze(&task.path, &task.text.content, task.stop);
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
}
