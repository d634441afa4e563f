//! The surroundings of the documents: watched files, and the catalog of importable libraries.
//!
//! The client is asked to watch sources and manifests, and files that documents include. The
//! catalog of a directory is made by the worker; until then an older one serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Server, requests};
use crate::catalog::Catalog;
use crate::event::Event;
use crate::snapshot::Snapshot;

impl Server {
    /// Asks the client to tell of changes of Scheme files and of what projects say.
    pub(super) fn watch_files(&mut self) {
        if !self.watches_files {
            return;
        }
        let patterns = ["**/*.{scm,sld,sls,sps,ss}", "**/package.{scm,lock}"];
        let watchers: Vec<Value> = patterns.map(|one| json!({"globPattern": one})).into();
        self.register_watchers("canny-files", watchers);
    }

    /// Asks for files with other endings that a text is made of.
    pub(super) fn watch_more(&mut self, snapshot: &Snapshot) {
        if !self.watches_files {
            return;
        }
        let is_other = |file: &&PathBuf| {
            let ending = file.extension().and_then(|ending| ending.to_str());
            let is_covered = ending.is_some_and(|ending| requests::EXTENSIONS.contains(&ending))
                && self
                    .places
                    .roots()
                    .iter()
                    .any(|root| file.starts_with(root));
            !is_covered && !self.watched.contains(*file)
        };
        let files: Vec<PathBuf> = snapshot
            .analysis
            .files
            .iter()
            .filter(is_other)
            .cloned()
            .collect();
        if files.is_empty() {
            return;
        }
        let watchers = files
            .iter()
            .map(|file| json!({"globPattern": file.display().to_string()}))
            .collect();
        self.watched.extend(files);
        let id = format!("canny-files-{}", self.watched.len());
        self.register_watchers(&id, watchers);
    }

    fn register_watchers(&mut self, id: &str, watchers: Vec<Value>) {
        self.request(
            "client/registerCapability",
            json!({"registrations": [{
                "id": id,
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {"watchers": watchers},
            }]}),
        );
    }

    /// The catalog of libraries that a document can import; `None` while there is none yet.
    pub fn catalog(&mut self, path: &Path) -> Option<Arc<Catalog>> {
        /// For so long the user's directories are not looked through again.
        const FRESH: Duration = Duration::from_secs(10);
        let image = self.catalog.clone()?;
        let search = self.places.of(path);
        let known = self
            .full_catalog
            .as_ref()
            .filter(|(_, known, _)| *known == search);
        let is_fresh = known.is_some_and(|(since, ..)| since.elapsed() < FRESH);
        let known = known.map(|(_, _, catalog)| catalog.clone());
        if is_fresh || self.catalog_under_way.as_ref() == Some(&search) {
            return known;
        }
        // Meanwhile an older one is good enough.
        let (events, wanted) = (self.events.clone(), search.clone());
        let (of_image, started_for) = (image.clone(), search.clone());
        let started = std::thread::Builder::new()
            .name("catalog".into())
            .spawn(move || {
                let catalog = Arc::new(of_image.with_search(&wanted));
                let _ = events.send(Event::FullCatalog(wanted, catalog));
            });
        match started {
            Ok(_) => {
                self.catalog_under_way = Some(started_for);
                known
            }
            Err(_) => Some(known.unwrap_or(image)),
        }
    }
}
