//! Changes files of a project: one process at a time, and each file as a whole.
//!
//! A command holds the project's lock while it works. All new contents are written beside the files
//! first, and renamed only when all have been written, so that a failure before that changes
//! nothing.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::problem::{Fallible, Problem};

/// Holds a project, so that no other process changes it. Given back when dropped.
#[derive(Debug)]
pub struct Hold {
    _directory: File,
}

/// Takes hold of a directory; fails when another process has it.
pub fn hold(directory: &Path) -> Fallible<Hold> {
    let file = File::open(directory).map_err(|error| Problem::unreadable(directory, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Hold { _directory: file }),
        Err(TryLockError::WouldBlock) => Err(Problem::plain(
            "project-busy",
            format!(
                "another run is changing the project in `{}`",
                directory.display()
            ),
        )
        .note("try again when it is done")),
        // Some file systems know no locks; there the user has to look out.
        Err(TryLockError::Error(_)) => Ok(Hold { _directory: file }),
    }
}

/// The name of a file's next content while it is written.
fn next_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

/// The next contents of files, written beside them.
#[derive(Debug, Default)]
pub struct Changes {
    pending: Vec<(PathBuf, PathBuf)>,
}

impl Changes {
    /// Writes the next content of a file beside it. The file itself stays as it is.
    pub fn add(&mut self, path: &Path, content: &[u8]) -> Fallible<()> {
        let next = next_name(path);
        let written = write_new(&next, content, path);
        self.pending.push((next, path.to_owned()));
        written.map_err(|error| Problem::unwritable(path, &error))
    }

    /// Puts all files in place, in the order in which they were added.
    pub fn commit(mut self) -> Fallible<()> {
        for (next, path) in std::mem::take(&mut self.pending) {
            if let Err(error) = fs::rename(&next, &path) {
                let _ = fs::remove_file(&next);
                return Err(Problem::unwritable(&path, &error));
            }
        }
        Ok(())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for (next, _) in &self.pending {
            let _ = fs::remove_file(next);
        }
    }
}

/// Writes a file that an earlier run may have left behind; with the permissions of another, if that is there.
fn write_new(next: &Path, content: &[u8], path: &Path) -> io::Result<()> {
    match fs::remove_file(next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(next)?;
    file.write_all(content)?;
    if let Ok(metadata) = fs::metadata(path) {
        file.set_permissions(metadata.permissions())?;
    }
    file.sync_all()
}

/// Puts a directory in the place of another, which is removed. Nobody sees neither, where the system
/// can exchange two names.
pub fn replace_directory(next: &Path, path: &Path) -> io::Result<()> {
    if !path.exists() {
        return fs::rename(next, path);
    }
    if exchange(next, path).is_err() {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".old");
        let old = path.with_file_name(name);
        remove_directory(&old)?;
        fs::rename(path, &old)?;
        if let Err(error) = fs::rename(next, path) {
            // Better the old than none.
            let _ = fs::rename(&old, path);
            return Err(error);
        }
        return remove_directory(&old);
    }
    remove_directory(next)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Removes a directory with its content, if it is there.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_are_not_committed_leave_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("package.scm");
        fs::write(&file, "old").unwrap();
        let mut changes = Changes::default();
        changes.add(&file, b"new").unwrap();
        drop(changes);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let mut changes = Changes::default();
        fs::write(
            directory.path().join(".package.scm.new"),
            "left by a run that was killed",
        )
        .unwrap();
        changes.add(&file, b"new").unwrap();
        changes.commit().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_project_is_held_once() {
        let directory = tempfile::tempdir().unwrap();
        let first = hold(directory.path()).unwrap();
        assert_eq!(hold(directory.path()).unwrap_err().code(), "project-busy");
        drop(first);
        assert!(hold(directory.path()).is_ok());
    }

    #[test]
    fn directories_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (next, path) = (
            directory.path().join("next"),
            directory.path().join("vendor"),
        );
        for content in ["1", "2"] {
            fs::create_dir(&next).unwrap();
            fs::write(next.join("file"), content).unwrap();
            replace_directory(&next, &path).unwrap();
            assert_eq!(fs::read_to_string(path.join("file")).unwrap(), content);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
