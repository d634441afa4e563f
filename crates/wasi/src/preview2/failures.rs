//! `wasi:io/error`: why an operation on a stream failed.
//!
//! A failure keeps the error of the system, for the functions that tell its code.

use canny_component::Value;
use canny_io::IoError;
use rustix::io::Errno;

use super::table::Resource;
use super::{Interface, Row};

pub const INTERFACES: &[Interface] = &[Interface {
    name: "wasi:io/error",
    functions: ROWS,
    resources: &["error"],
}];

const ROWS: &[Row] = &[("[method]error.to-debug-string", |call| {
    let failure = call.get::<Failure>(0)?;
    Ok(Some(Value::String(failure.text.clone())))
})];

/// The kind of thing that failed, with the system's number of the error.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    File(Errno),
    Socket(Errno),
    /// A message of HTTP, with its own code.
    Message(Value),
    Other,
}

/// A failure.
#[derive(Clone, Debug)]
pub struct Failure {
    pub text: String,
    pub cause: Cause,
}

impl Resource for Failure {
    const NAME: &'static str = "error";
}

/// How a stream ends.
#[derive(Clone, Debug)]
pub enum End {
    Closed,
    Failed(Failure),
}

impl End {
    /// The end that an error of a file means.
    pub fn of_file(error: Errno) -> End {
        End::Failed(Failure {
            text: error.to_string(),
            cause: Cause::File(error),
        })
    }

    /// The end that an error of a socket means.
    pub fn of_socket(error: Errno) -> End {
        match error {
            Errno::PIPE => End::Closed,
            error => End::Failed(Failure {
                text: error.to_string(),
                cause: Cause::Socket(error),
            }),
        }
    }
}

impl From<IoError> for End {
    fn from(error: IoError) -> End {
        match error {
            IoError::BrokenPipe(_) | IoError::Closed(_) => End::Closed,
            error => End::Failed(Failure {
                cause: error.os_code().map_or(Cause::Other, |code| {
                    Cause::File(Errno::from_raw_os_error(code))
                }),
                text: error.to_string(),
            }),
        }
    }
}
