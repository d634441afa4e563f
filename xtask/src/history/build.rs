//! A worktree in which one commit after the other is built.
//!
//! It is the same directory for all of them, with a target directory beside it, so that cargo builds
//! anew only what changed from one commit to the next. The binaries are kept.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::commits::git;
use crate::workspace;

/// Where the binaries of commits are.
fn binaries() -> PathBuf {
    workspace::target_directory()
        .join("history")
        .join("binaries")
}

fn place_of(commit: &str) -> PathBuf {
    binaries().join(format!("canny-{commit}"))
}

/// The binary of a commit that was built before.
pub fn kept(commit: &str) -> Option<PathBuf> {
    Some(place_of(commit)).filter(|path| path.is_file())
}

pub struct Worktree {
    tree: PathBuf,
    target: PathBuf,
    log: PathBuf,
}

impl Worktree {
    /// Makes the worktree, or takes the one that an interrupted run left.
    pub fn open(commit: &str) -> Result<Worktree, String> {
        let directory = workspace::target_directory().join("history");
        std::fs::create_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let worktree = Worktree {
            tree: directory.join("tree"),
            target: directory.join("target"),
            log: directory.join("build.log"),
        };
        if !worktree.tree.join(".git").exists() {
            let tree = worktree.tree.to_string_lossy();
            // Twice forced: one may be registered whose directory is gone, locked or not.
            git(&[
                "worktree", "add", "--force", "--force", "--detach", &tree, commit,
            ])?;
        }
        Ok(worktree)
    }

    /// Builds a commit: the binary, or the inner error, which is what cargo complains of.
    pub fn build(&self, commit: &str) -> Result<Result<PathBuf, String>, String> {
        let tree = self.tree.to_string_lossy();
        git(&[
            "-C", &tree, "checkout", "--quiet", "--force", "--detach", commit,
        ])?;
        let log =
            File::create(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))?;
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(program)
            .args(["build", "--release", "--package", "canny-cli"])
            .args(["--bin", "canny"])
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .status()
            .map_err(|error| format!("cargo does not start: {error}"))?;
        if status.success() {
            let kept = place_of(commit);
            let built = self.target.join("release").join("canny");
            // Half a binary is none.
            let copy = kept.with_extension("part");
            std::fs::create_dir_all(binaries())
                .and_then(|()| std::fs::copy(built, &copy))
                .and_then(|_| std::fs::rename(&copy, &kept))
                .map_err(|error| format!("{}: {error}", kept.display()))?;
            Ok(Ok(kept))
        } else {
            Ok(Err(complaint(&read_log(&self.log))))
        }
    }

    /// Takes the worktree away; what was built stays for the next time.
    pub fn remove(&self) {
        let tree = self.tree.to_string_lossy();
        if let Err(error) = git(&["worktree", "remove", "--force", &tree]) {
            eprintln!("xtask history: {error}");
        }
    }
}

fn read_log(path: &Path) -> String {
    std::fs::read(path).map_or(String::new(), |bytes| {
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The first error that cargo reports, in one line.
fn complaint(log: &str) -> String {
    let is_error = |line: &&str| line.starts_with("error");
    let mut lines = log.lines();
    let line = lines.find(is_error).or_else(|| log.lines().last());
    workspace::shortened(line.unwrap_or("no message"), 200)
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn the_first_error_is_told() {
        let log = "   Compiling a\nwarning: unused\nerror[E0425]: cannot find `x`\n --> f.rs\nerror: more\n";
        assert_eq!(complaint(log), "error[E0425]: cannot find `x`");
        assert_eq!(complaint("   Compiling a\nkilled\n"), "killed");
        assert_eq!(complaint(""), "no message");
    }
}
