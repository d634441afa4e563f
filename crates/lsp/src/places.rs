//! Where the libraries of a document are.
//!
//! Looking at a project takes time, so the result is kept until a file is saved or changed on the
//! disk, or for a while. Any thread may ask.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_locks::Mutex;

use crate::{Options, ProjectAround};

/// For so long a project is not looked at again.
const FRESH: Duration = Duration::from_secs(30);

/// Where to look for libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Directories, in order.
    pub directories: Vec<PathBuf>,
    /// Libraries of packages by their names, which are not found by their paths.
    pub libraries: Arc<HashMap<String, PathBuf>>,
}

/// The directories of libraries, as the host and the client give them.
pub struct Places {
    roots: Vec<PathBuf>,
    first: Vec<PathBuf>,
    last: Vec<PathBuf>,
    around: Option<ProjectAround>,
    known: Mutex<HashMap<PathBuf, (Instant, Arc<Search>)>>,
}

impl Places {
    /// With the roots of the client's workspace.
    pub fn new(options: &Options, roots: Vec<PathBuf>) -> Places {
        Places {
            roots,
            first: options.first_directories.clone(),
            last: options.last_directories.clone(),
            around: options.project_around.clone(),
            known: Mutex::default(),
        }
    }

    /// The roots of the client's workspace.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Forgets what was found, since files have changed.
    pub fn forget(&self) {
        let mut known = self.known.lock();
        known.clear();
    }

    /// Where to look for libraries of a document: where the command line says, then beside the document
    /// and above it, then in the project around it.
    pub fn of(&self, path: &Path) -> Arc<Search> {
        let parent = path.parent().unwrap_or(Path::new("")).to_owned();
        let known = || self.known.lock();
        if let Some((since, search)) = known().get(&parent)
            && since.elapsed() < FRESH
        {
            return search.clone();
        }
        // The lock is not held meanwhile.
        let search = Arc::new(self.look(path));
        known().insert(parent, (Instant::now(), search.clone()));
        search
    }

    fn look(&self, path: &Path) -> Search {
        let mut found = self.first.clone();
        let root = self
            .roots
            .iter()
            .filter(|root| path.starts_with(root))
            .max_by_key(|root| root.as_os_str().len());
        for directory in path.ancestors().skip(1) {
            let is_inside = root.is_some_and(|root| directory.starts_with(root));
            if found.len() > self.first.len() && !is_inside {
                break;
            }
            for place in [
                directory.to_owned(),
                directory.join("lib"),
                directory.join("src"),
            ] {
                if place == directory || place.is_dir() {
                    found.push(place);
                }
            }
        }
        let mut libraries = HashMap::new();
        if let (Some(around), Some(parent)) = (&self.around, path.parent()) {
            let project = around(parent);
            found.extend(project.directories);
            libraries.extend(project.libraries);
        }
        found.extend(self.last.iter().cloned());
        Search {
            directories: found,
            libraries: Arc::new(libraries),
        }
    }
}
