//! Why a file is no series of snapshots, or cannot be continued.

use std::fmt;
use std::io;

#[derive(Debug)]
pub enum Error {
    /// The first bytes are not those of the format.
    NotASnapshot,
    /// A version that this reader does not know.
    Version(u64),
    /// The snapshots are those of another process.
    OtherProcess {
        pid: u64,
    },
    /// Something at an offset of the file is damaged.
    Damaged {
        offset: u64,
        problem: String,
    },
    /// There is no snapshot with this number.
    Missing {
        number: usize,
        count: usize,
    },
    Io(io::Error),
}

impl Error {
    pub(crate) fn damaged(offset: u64, problem: impl Into<String>) -> Error {
        let problem = problem.into();
        Error::Damaged { offset, problem }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotASnapshot => write!(
                f,
                "not a heap snapshot of Canny; expected a file that `canny heap` wrote"
            ),
            Error::Version(version) => write!(
                f,
                "format {version} of heap snapshots is newer than this version of Canny; \
                 expected format {}",
                super::FORMAT
            ),
            Error::OtherProcess { pid } => write!(
                f,
                "the file has snapshots of another process, {pid}; expected a new file"
            ),
            Error::Damaged { offset, problem } => {
                write!(f, "the snapshot is damaged at byte {offset}: {problem}")
            }
            Error::Missing { number, count } => {
                write!(f, "there is no snapshot {number}; the file has {count}")
            }
            Error::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}
