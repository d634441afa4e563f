//! The store of fetched packages on this machine: a directory for each content, named by its
//! checksum, and copies of git repositories.
//!
//! ```text
//! STORE/tree/CHECKSUM/…     the files of a package, never changed
//! STORE/git/CHECKSUM/       repositories, by the checksums of their URLs
//! STORE/incoming/PID-N/     what is being fetched
//! ```
//!
//! A directory of `tree` appears as a whole. The store may be removed at any time; missing packages
//! are fetched again when they are needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::files::remove_directory;
use crate::problem::{Fallible, Problem};
use crate::tree;

/// An older directory was left behind by a run that was killed.
const INCOMING_AGE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The directory of fetched packages.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub struct Incoming {
    path: PathBuf,
}

impl Incoming {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // A directory that cannot be removed now is removed by a later run.
        let _ = remove_directory(&self.path);
    }
}

impl Store {
    /// The store in a directory, which need not exist.
    pub fn new(root: PathBuf) -> Store {
        Store { root }
    }

    /// Where the files with this checksum are, or would be.
    pub fn tree(&self, sha256: &str) -> PathBuf {
        self.root.join("tree").join(sha256)
    }

    /// Where a repository is, or would be.
    pub fn repository(&self, url: &str) -> PathBuf {
        self.root
            .join("git")
            .join(&tree::checksum(url.as_bytes())[..32])
    }

    fn make(&self, name: &str) -> Fallible<PathBuf> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).map_err(|error| Problem::unwritable(&path, &error))?;
        Ok(path)
    }

    /// A fresh directory for something that is being fetched.
    pub fn incoming(&self) -> Fallible<Incoming> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let directory = self.make("incoming")?;
        self.remove_old(&directory);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{}-{count}", std::process::id()));
        remove_directory(&path)
            .and_then(|()| fs::create_dir(&path))
            .map_err(|error| Problem::unwritable(&path, &error))?;
        Ok(Incoming { path })
    }

    fn remove_old(&self, directory: &Path) {
        let is_old = |path: &Path| {
            let age = fs::metadata(path)
                .and_then(|metadata| metadata.modified())
                .map(|time| time.elapsed());
            matches!(age, Ok(Ok(age)) if age > INCOMING_AGE_MAX)
        };
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if is_old(&entry.path()) {
                let _ = remove_directory(&entry.path());
            }
        }
    }

    /// Takes a directory of files into the store; gives their checksum.
    pub fn admit(&self, files: &Path) -> Fallible<String> {
        let sha256 = tree::digest(files)?;
        self.make("tree")?;
        let path = self.tree(&sha256);
        if !path.is_dir()
            && let Err(error) = fs::rename(files, &path)
            // Somebody else may have been faster.
            && !path.is_dir()
        {
            return Err(Problem::unwritable(&path, &error));
        }
        Ok(sha256)
    }

    /// Removes a content that is not what its name says.
    pub fn forget(&self, sha256: &str) -> Fallible<()> {
        let path = self.tree(sha256);
        remove_directory(&path).map_err(|error| Problem::unwritable(&path, &error))
    }
}
