//! Opens files by name and gives handles.
//!
//! All opens close the descriptor on `exec`. Opening a named pipe may block until the other end is opened; a
//! thread of its own does it, so that a task can wait and stop waiting. The thread ends with the open, even
//! if the outcome is not needed any more.

#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_replay::Kind;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::answer::Answer;
use crate::error::{IoError, Operation};
use crate::handle::Handle;
use crate::wait::Wait;

/// The treatment of a file that is opened for output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// Create the file, or empty it.
    Truncate,
    /// Create the file, or write behind its contents, even if others do so as well.
    Append,
    /// Create the file, or overwrite its contents from the start.
    Overwrite,
    /// Create the file; it is an error if it exists.
    CreateNew,
}

impl OutputMode {
    fn flags(self) -> OFlags {
        match self {
            OutputMode::Truncate => OFlags::CREATE | OFlags::TRUNC,
            OutputMode::Append => OFlags::CREATE | OFlags::APPEND,
            OutputMode::Overwrite => OFlags::CREATE,
            OutputMode::CreateNew => OFlags::CREATE | OFlags::EXCL,
        }
    }
}

/// Whether something has that name, and its directory can be searched. A symbolic link that points
/// nowhere does not count.
pub fn file_exists(path: &Path) -> bool {
    canny_replay::ask(Kind::File, || path.exists())
}

/// Whether it is a pipe that has a name: opening one waits until another process opens its other end.
pub fn is_named_pipe(path: &Path) -> bool {
    canny_replay::ask(Kind::File, || {
        rustix::fs::stat(path)
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Fifo)
    })
}

/// A named pipe that is being opened, by a thread that ends when another process opens the other end, even if
/// the outcome is not needed any more. [`Opening::proceed`] may end with `Parked`, `WouldBlock` or
/// `Interrupted` and be called again.
#[derive(Debug)]
pub struct Opening<R> {
    path: PathBuf,
    answer: Arc<Answer<Result<R, IoError>>>,
}

impl<R: Send + 'static> Opening<R> {
    /// Begins to open the file in the way that `open` does.
    pub fn begin(
        path: &Path,
        open: impl FnOnce(&Path, Wait<'_>) -> Result<R, IoError> + Send + 'static,
    ) -> Result<Opening<R>, IoError> {
        let answer = Arc::new(Answer::default());
        let (given, path) = (Arc::downgrade(&answer), path.to_owned());
        let name = path.clone();
        let opener = std::thread::Builder::new().name("opener".to_owned());
        let started = opener.spawn(move || {
            let opened = open(&name, Wait::Blocking);
            if let Some(answer) = given.upgrade() {
                answer.give(opened);
            }
        });
        match started {
            Ok(_) => Ok(Opening { path, answer }),
            Err(error) => Err(IoError::from_system(
                Operation::Open,
                &path.to_string_lossy(),
                error,
            )),
        }
    }

    /// Whether this file is being opened.
    pub fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// The result of opening, once it is there. It is given once.
    pub fn proceed(&mut self, wait: Wait<'_>) -> Result<R, IoError> {
        let name = self.path.to_string_lossy();
        self.answer.take(wait, Operation::Open, &name)?
    }
}

/// Deletes a file, but not a directory.
pub fn delete_file(path: &Path) -> Result<(), IoError> {
    canny_replay::ask(Kind::File, || rustix::fs::unlink(path)).map_err(|errno| {
        IoError::from_system(Operation::Delete, &path.to_string_lossy(), errno.into())
    })
}

/// Opens a file for reading. Opening waits only for named pipes, until someone writes to them.
pub fn open_input(path: &Path, wait: Wait<'_>) -> Result<Arc<Handle>, IoError> {
    let descriptor = open(path, OFlags::RDONLY, wait)?;
    Ok(handle(descriptor, path))
}

/// Opens a file for writing.
pub fn open_output(path: &Path, mode: OutputMode, wait: Wait<'_>) -> Result<Arc<Handle>, IoError> {
    let descriptor = open(path, OFlags::WRONLY | mode.flags(), wait)?;
    Ok(handle(descriptor, path))
}

/// Opens a file for reading and writing.
pub fn open_input_output(
    path: &Path,
    mode: OutputMode,
    wait: Wait<'_>,
) -> Result<Arc<Handle>, IoError> {
    let descriptor = open(path, OFlags::RDWR | mode.flags(), wait)?;
    Ok(handle(descriptor, path))
}

/// Opens a file for reading and writing, with a handle for each; see [`Handle::pair_from_descriptor`].
pub fn open_pair(
    path: &Path,
    mode: OutputMode,
    wait: Wait<'_>,
) -> Result<(Arc<Handle>, Arc<Handle>), IoError> {
    let descriptor = open(path, OFlags::RDWR | mode.flags(), wait)?;
    let name = path.to_string_lossy();
    Ok(Handle::pair_from_descriptor(descriptor, &name))
}

fn handle(descriptor: OwnedFd, path: &Path) -> Arc<Handle> {
    Handle::from_descriptor(descriptor, &path.to_string_lossy())
}

fn open(path: &Path, flags: OFlags, wait: Wait<'_>) -> Result<OwnedFd, IoError> {
    let name = path.to_string_lossy();
    let mode = Mode::from_raw_mode(0o666);
    let descriptor = loop {
        let opened = canny_replay::ask_for_descriptor(Kind::Open, || {
            rustix::fs::open(path, flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode)
        });
        match opened {
            Ok(descriptor) => break descriptor,
            Err(Errno::INTR) if wait.is_interrupted() => return Err(IoError::Interrupted),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(IoError::from_system(Operation::Open, &name, errno.into())),
        }
    };
    // The system opens directories for reading and complains only later.
    let mode = canny_replay::ask(Kind::Descriptor, || {
        rustix::fs::fstat(&descriptor).map(|status| status.st_mode)
    });
    if mode.is_ok_and(|mode| FileType::from_raw_mode(mode) == FileType::Directory) {
        return Err(IoError::from_system(
            Operation::Open,
            &name,
            Errno::ISDIR.into(),
        ));
    }
    Ok(descriptor)
}
