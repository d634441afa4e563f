//! Sources of the standard library, analysed on demand, and as files that an editor can open.
//!
//! The texts are in the binary. A library is expanded at most once, when a document needs it. Files
//! are written to a directory of the cache that is named by the texts' hash, and are for reading
//! only.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_lib::evaluation::analysis::analyze_standard_library;
use canny_locks::Mutex;
use canny_syntax::reader::read_text;
use canny_syntax::recording::Recording;
use canny_syntax::syntax::Syntax;

/// Path below the library's root and text of each file.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Stack for the expander.
const STACK_BYTES: usize = 256 << 20;

/// A library's text and what the expander saw of it.
#[derive(Debug)]
pub struct LibrarySource {
    /// A file with the text, if one could be written.
    pub path: PathBuf,
    /// The text.
    pub text: Arc<str>,
    /// The forms of the text.
    pub forms: Vec<Syntax>,
    /// The expander's recording of the library.
    pub recording: Arc<Recording>,
}

/// The standard libraries, each looked at when it is asked for.
#[derive(Debug)]
pub struct LibrarySources {
    directory: PathBuf,
    /// Positions in the table of sources by key.
    keys: HashMap<String, usize>,
    known: Mutex<HashMap<String, Option<Arc<LibrarySource>>>>,
}

/// The key of the library in a file: `(srfi 1)` for `srfi/1.sld`.
fn key_of(file: &str) -> String {
    format!("({})", file.trim_end_matches(".sld").replace('/', " "))
}

impl LibrarySources {
    /// Files are written below `cache`, in a directory that belongs to these very texts.
    pub fn new(cache: &Path) -> LibrarySources {
        let mut hasher = DefaultHasher::new();
        SOURCES.hash(&mut hasher);
        LibrarySources {
            directory: cache.join(format!("library-{:016x}", hasher.finish())),
            keys: SOURCES
                .iter()
                .enumerate()
                .map(|(index, (file, _))| (key_of(file), index))
                .collect(),
            known: Mutex::default(),
        }
    }

    /// A library of the image.
    pub fn find(&self, key: &str) -> Option<Arc<LibrarySource>> {
        let lock = || self.known.lock();
        if let Some(known) = lock().get(key) {
            return known.clone();
        }
        let found = self.load(key);
        lock().insert(key.to_owned(), found.clone());
        found
    }

    fn load(&self, key: &str) -> Option<Arc<LibrarySource>> {
        let (file, text) = SOURCES[*self.keys.get(key)?];
        let path = self.directory.join(file);
        let looked_at = {
            let (key, path) = (key.to_owned(), path.clone());
            std::thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || analyze_standard_library(&key, &path, text))
        };
        let (recording, source, _) = looked_at.ok()?.join().ok()?;
        let forms = read_text(text, source, false).forms;
        Some(Arc::new(LibrarySource {
            path,
            text: Arc::from(text),
            forms,
            recording: recording?,
        }))
    }

    /// Writes the file of a library, unless it is there. It is for reading only.
    pub fn write(&self, library: &LibrarySource) -> std::io::Result<()> {
        if fs::read(&library.path).is_ok_and(|found| found == library.text.as_bytes()) {
            return Ok(());
        }
        if let Some(parent) = library.path.parent() {
            fs::create_dir_all(parent)?;
        }
        let temporary = library
            .path
            .with_extension(format!("{}", std::process::id()));
        fs::write(&temporary, library.text.as_bytes())?;
        let mut permissions = fs::metadata(&temporary)?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&temporary, permissions)?;
        fs::rename(&temporary, &library.path)
    }

    /// Whether a library belongs to the image.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_syntax::recording::Role;

    #[test]
    fn every_standard_library_can_be_looked_at() {
        let sources = LibrarySources::new(Path::new("/nowhere"));
        for key in [
            "(scheme base)",
            "(srfi 1)",
            "(canny machine control)",
            "(canny match)",
        ] {
            let found = sources.find(key).unwrap_or_else(|| panic!("{key}"));
            let exports = found.recording.occurrences.iter();
            assert!(
                exports.filter(|one| one.role == Role::Export).count() > 0,
                "{key}"
            );
        }
        assert!(sources.find("(no such)").is_none());
    }
}
