//! The directory of sockets that only its user may open.
//!
//! It is `canny` in the directory of the session (`XDG_RUNTIME_DIR`), or else `/tmp/canny-UID`. Both sides
//! find it by the environment with which the process that is asked was started.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The path of the socket of a process, and whether its directory is there and safe; else why not.
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) socket: PathBuf,
}

/// Where a process has its socket.
pub(super) fn place_of(process: u32) -> Place {
    let user = rustix::process::geteuid().as_raw();
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let session = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(b"XDG_RUNTIME_DIR="))
        .map(|value| PathBuf::from(std::ffi::OsString::from_vec(value.to_vec())))
        .filter(|path| path.is_absolute() && path.is_dir());
    let directory = match session {
        Some(session) => session.join("canny"),
        None => PathBuf::from(format!("/tmp/canny-{user}")),
    };
    let socket = directory.join(format!("{process}.socket"));
    Place { directory, socket }
}

/// Fails unless a directory belongs to this user and nobody else may look into it.
pub(super) fn check(directory: &Path) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let data = fs::symlink_metadata(directory)?;
    if data.is_dir() && data.uid() == user && data.mode() & 0o077 == 0 {
        return Ok(());
    }
    let text = format!(
        "{} is no directory that its user alone may open",
        directory.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Makes the directory if it is missing, and deletes sockets of processes that have ended.
pub(super) fn prepare(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => check(directory)?,
    }
    for entry in fs::read_dir(directory)?.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_suffix(".socket"));
        let process = process.and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}
