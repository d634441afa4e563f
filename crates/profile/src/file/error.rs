//! Why bytes are no profile.

use std::fmt;

/// A line that is wrong. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub line: usize,
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The first line is not that of a profile.
    NotAProfile,
    /// The first line names a version that this reader does not know.
    Version(u64),
    /// No JSON, or a member has a value of the wrong kind.
    Json(String),
    /// The columns of a table do not have the same length.
    Columns { table: &'static str },
    /// A row refers to one that no earlier line defines.
    Reference {
        from: &'static str,
        to: &'static str,
        row: u64,
        rows: usize,
    },
    /// The times of samples fall before the start of the profile or leave 63 bits.
    Time,
    /// The compressed bytes are damaged.
    Compressed(String),
    /// The bytes decompress to more than this reader accepts.
    TooLarge { bytes_max: usize },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { line, problem } = self;
        match problem {
            Problem::NotAProfile => {
                write!(
                    f,
                    "line {line}: not a profile of Canny; expected the member `profile`"
                )
            }
            Problem::Version(version) => write!(
                f,
                "line {line}: version {version} of the profile format; expected version 1"
            ),
            Problem::Json(message) => write!(f, "line {line}: {message}"),
            Problem::Columns { table } => {
                write!(f, "line {line}: the columns of `{table}` differ in length")
            }
            Problem::Reference {
                from,
                to,
                row,
                rows,
            } => write!(
                f,
                "line {line}: `{from}` refers to row {row} of `{to}`, which has {rows} rows so far"
            ),
            Problem::Time => write!(
                f,
                "line {line}: the time of a sample is before the start of the profile or too large"
            ),
            Problem::Compressed(message) => write!(f, "the gzip data is damaged: {message}"),
            Problem::TooLarge { bytes_max } => write!(
                f,
                "the profile decompresses to more than {bytes_max} bytes, which no profile does"
            ),
        }
    }
}

impl std::error::Error for Error {}
