//! The files of another commit, for `--against-commit`: a worktree of git in a temporary directory.
//!
//! The worktree is removed at the end. Nothing else of the repository changes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::files::TemporaryDirectory;

/// A commit that is checked out.
pub struct Worktree {
    /// The root of the repository.
    top: PathBuf,
    /// The short name of the commit.
    pub commit: String,
    /// Contains the worktree, and is removed after it.
    directory: TemporaryDirectory,
}

impl Worktree {
    /// Checks out a commit of the repository that a file is in.
    pub fn new(revision: &str, file: &Path) -> Result<Worktree, String> {
        let file =
            fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let beside = file.parent().unwrap_or(&file);
        let top = git(beside, &["rev-parse", "--show-toplevel"])
            .map_err(|error| format!("{} is in no repository of git: {error}", file.display()))?;
        let top = PathBuf::from(top);
        let commit = format!("{revision}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--short",
            "--end-of-options",
            &commit,
        ];
        let commit = git(&top, &words)
            .map_err(|_| format!("there is no commit '{revision}' in {}", top.display()))?;
        let directory = TemporaryDirectory::new("canny-bench-commit")
            .map_err(|error| format!("cannot make a directory for the commit: {error}"))?;
        let worktree = Worktree {
            top,
            commit,
            directory,
        };
        let path = worktree.path();
        let words = ["worktree", "add", "--detach", "--quiet"].map(OsStr::new);
        let words = [&words[..], &[path.as_os_str(), worktree.commit.as_ref()]].concat();
        git(&worktree.top, &words).map_err(|error| format!("cannot check out: {error}"))?;
        Ok(worktree)
    }

    fn path(&self) -> PathBuf {
        self.directory.path.join("tree")
    }

    /// The place of a path in the commit; `None` if it is outside of the repository.
    pub fn counterpart(&self, path: &Path) -> Option<PathBuf> {
        let path = fs::canonicalize(path).ok()?;
        let inner = path.strip_prefix(&self.top).ok()?;
        Some(self.path().join(inner))
    }

    /// The same options with the directories of the commit.
    pub fn options(&self, options: &[OsString]) -> Vec<OsString> {
        let mut mapped: Vec<OsString> = Vec::with_capacity(options.len());
        for option in options {
            let names_directory = mapped
                .last()
                .is_some_and(|last| last == "-I" || last == "-A");
            let counterpart = names_directory.then(|| self.counterpart(Path::new(option)));
            mapped.push(match counterpart.flatten() {
                Some(path) => path.into_os_string(),
                None if names_directory => std::path::absolute(option)
                    .map_or_else(|_| option.clone(), PathBuf::into_os_string),
                None => option.clone(),
            });
        }
        mapped
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let path = self.path();
        let words = ["worktree", "remove", "--force"].map(OsStr::new);
        // The directory goes anyway, and `git worktree prune` forgets one that is gone.
        let _ = git(&self.top, &[&words[..], &[path.as_os_str()]].concat());
    }
}

/// Runs git in a directory; gives what it prints, or its error message.
fn git(directory: &Path, words: &[impl AsRef<OsStr>]) -> Result<String, String> {
    let output = Command::new("git")
        // A hook of git, which may run this, names its own repository by these.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .arg("-C")
        .arg(directory)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.trim_end_matches('\n').to_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned())
}
