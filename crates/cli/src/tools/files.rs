//! Files that tools work on: finding sources, and replacing a file as a whole.
//!
//! A replacement is written beside the file and renamed, so that no reader sees half of it, and a
//! failure leaves the old file. Permissions stay. Directories of other people's code (`vendor` and
//! the like) are skipped.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Endings of Scheme source files.
const EXTENSIONS: [&str; 5] = ["scm", "sld", "sls", "sps", "ss"];

/// Directories whose content belongs to others.
const SKIPPED: [&str; 3] = ["target", "node_modules", "vendor"];

/// Whether a directory of that name has other people's code.
pub fn is_skipped(name: &str) -> bool {
    SKIPPED.contains(&name)
}

/// Whether files with that ending are Scheme sources.
pub fn is_source(extension: &OsStr) -> bool {
    EXTENSIONS.iter().any(|source| extension == *source)
}

/// Adds a file, or all Scheme sources below a directory, in the order of their names. A failure to
/// read one place does not keep the others from being added.
pub fn collect(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    collect_ending(path, &EXTENSIONS, found)
}

/// Adds a file, or all files below a directory that end so.
pub fn collect_ending(
    path: &Path,
    extensions: &[&str],
    found: &mut Vec<PathBuf>,
) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    entries.sort();
    let mut result = Ok(());
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        // Neither hidden directories nor loops of links.
        let is_directory = fs::symlink_metadata(&entry).is_ok_and(|data| data.is_dir());
        if name.starts_with('.') || (is_directory && SKIPPED.contains(&name.as_ref())) {
            continue;
        }
        let extension = entry.extension().and_then(|extension| extension.to_str());
        if is_directory {
            result = result.and(collect_ending(&entry, extensions, found));
        } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
            found.push(entry);
        }
    }
    result
}

/// A directory for temporary files, which others cannot read; removed at the end.
pub struct TemporaryDirectory {
    pub path: PathBuf,
}

impl TemporaryDirectory {
    /// Makes one whose name begins so.
    pub fn new(prefix: &str) -> io::Result<TemporaryDirectory> {
        use std::os::unix::fs::DirBuilderExt;
        for attempt in 0_u32.. {
            let name = format!("{prefix}-{}-{attempt}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(TemporaryDirectory { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // A directory for temporary files is emptied by others, too.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A path as it is shown: without the directory where one is.
pub fn shown(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// Replaces a file's content as a whole: whoever reads it sees the old or the new text. Keeps the
/// permissions; writes through a link to the file that it names.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    put(&path, content, |file| file.set_permissions(permissions))
}

/// Writes a file as a whole, be it there or not.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        // Something like `/dev/stdout` takes what is written and is not replaced.
        Ok(_) if fs::metadata(path).is_ok_and(|data| !data.is_file()) => fs::write(path, content),
        Ok(_) => replace(path, content),
        Err(_) => put(path, content, |_| Ok(())),
    }
}

/// Writes an executable file as a whole. One that is there is replaced, not written to: it may be running.
pub fn write_executable(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    put(path, content, make_executable)
}

/// Writes beside the file and gives what is written its name in one step. `finish` sees the file before that.
fn put(
    path: &Path,
    content: &[u8],
    finish: impl FnOnce(&fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = fs::File::create_new(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        finish(&file)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        // The message about the first failure is the useful one.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

#[cfg(unix)]
fn make_executable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    // Everybody who may read it may run it.
    let mode = permissions.mode();
    permissions.set_mode(mode | ((mode & 0o444) >> 2));
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &fs::File) -> io::Result<()> {
    Ok(())
}
