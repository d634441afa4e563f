//! The errors of this crate: one enum, each variant with what a condition object needs (operation,
//! name of the file or stream, the system's error) and a message made for people.

use std::fmt;
use std::io;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening a file by name.
    Open,
    /// Deleting a file by name.
    Delete,
    /// Reading bytes or text.
    Read,
    /// Writing bytes or text, or flushing what was buffered.
    Write,
    /// Moving to another position.
    Seek,
    /// Closing a port, or a direction of a connection.
    Close,
    /// Finding the address of a host.
    Resolve,
    /// Connecting to an address.
    Connect,
    /// Taking an address to listen or receive at.
    Listen,
    /// Taking a connection.
    Accept,
    /// Sending a datagram.
    Send,
    /// Receiving a datagram.
    Receive,
    /// Asking for or changing what a socket is set to.
    Configure,
    /// Agreeing with the other side on encryption.
    Secure,
    /// Changing the length of a file.
    Truncate,
    /// Making sure that a file is on its disk.
    Sync,
    /// Locking a file, or giving its lock up.
    Lock,
}

impl Operation {
    /// Only sockets can do this.
    pub fn is_of_sockets(self) -> bool {
        matches!(
            self,
            Operation::Resolve
                | Operation::Connect
                | Operation::Listen
                | Operation::Accept
                | Operation::Send
                | Operation::Receive
                | Operation::Configure
                | Operation::Secure
        )
    }

    /// The words that follow "cannot" in a message.
    pub fn phrase(self) -> &'static str {
        match self {
            Operation::Open => "open file",
            Operation::Delete => "delete file",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Seek => "change position",
            Operation::Close => "close",
            Operation::Resolve => "find the address of",
            Operation::Connect => "connect to",
            Operation::Listen => "listen at",
            Operation::Accept => "accept a connection",
            Operation::Send => "send",
            Operation::Receive => "receive",
            Operation::Configure => "change the settings of the socket",
            Operation::Secure => "make a secure connection with",
            Operation::Truncate => "change the length",
            Operation::Sync => "write to the disk",
            Operation::Lock => "lock",
        }
    }
}

/// An error reported by the operating system or by a [`ByteDevice`](crate::ByteDevice).
#[derive(Debug)]
pub struct SystemFailure {
    pub operation: Operation,
    /// The path, or a description such as "standard output".
    pub name: Box<str>,
    pub error: io::Error,
}

/// An operation on a handle or port that cannot perform it.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub operation: Operation,
    pub name: Box<str>,
}

/// Bytes that are no text in the port's encoding.
#[derive(Debug, PartialEq, Eq)]
pub struct MalformedInput {
    pub name: Box<str>,
    pub encoding: Box<str>,
    /// Offset of the first offending byte from the start of the source.
    pub byte_offset: u64,
    /// The offending bytes.
    pub bytes: Box<[u8]>,
    /// The source ended inside of the sequence.
    pub truncated: bool,
}

/// A character that the port's encoding cannot express.
#[derive(Debug, PartialEq, Eq)]
pub struct UnencodableOutput {
    pub name: Box<str>,
    pub encoding: Box<str>,
    pub character: char,
}

/// The need of a port with procedures as its device, before an operation can resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Make bytes, or say that there are none.
    Fill,
    /// Take the bytes that were written.
    Drain,
    /// Take them, and pass them on as far as they go.
    Flush,
    /// Close the device of the port.
    Close,
}

/// Any failure of this crate's operations.
#[derive(Debug)]
pub enum IoError {
    /// The system refused. `os_code` gives the number.
    System(Box<SystemFailure>),
    /// Nobody reads the other end of the pipe or connection any more.
    BrokenPipe(Box<Refusal>),
    /// The caller's interrupt flag was set while waiting. Nothing was consumed or accepted.
    Interrupted,
    /// The operation would have to wait and the caller said not to. Nothing was consumed or accepted.
    WouldBlock,
    /// The other side was not ready for as long as the caller, or the handle's timeout, allows. Nothing
    /// was consumed or accepted.
    TimedOut(Box<Refusal>),
    /// The hook in charge of the thread's waits has taken note of this one: do the operation again when
    /// it has ended. Nothing was consumed or accepted. Without a refusal, the end of the wait is no end
    /// of anybody's patience.
    Parked(Option<Box<Refusal>>),
    /// The bytes of the port are made or taken by somebody who has to do so first. Nothing was consumed
    /// or accepted.
    Unserved(Service),
    /// The port or handle was closed before.
    Closed(Box<Refusal>),
    /// There is no memory for what the port would have to hold. Nothing was accepted.
    MemoryUsedUp(Box<Refusal>),
    /// The handle cannot do this at all: reading an output, seeking on a pipe.
    Unsupported(Box<Refusal>),
    /// The input is malformed. Reported once for each sequence, which is then skipped.
    Malformed(Box<MalformedInput>),
    /// The text has no encoding. Nothing of it was accepted.
    Unencodable(Box<UnencodableOutput>),
}

impl IoError {
    /// Classifies an error of the system.
    pub fn from_system(operation: Operation, name: &str, error: io::Error) -> IoError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => IoError::BrokenPipe(Refusal::new(operation, name)),
            io::ErrorKind::Interrupted => IoError::Interrupted,
            io::ErrorKind::WouldBlock => IoError::WouldBlock,
            io::ErrorKind::Unsupported => IoError::Unsupported(Refusal::new(operation, name)),
            _ => IoError::System(Box::new(SystemFailure {
                operation,
                name: name.into(),
                error,
            })),
        }
    }

    pub(crate) fn closed(operation: Operation, name: &str) -> IoError {
        IoError::Closed(Refusal::new(operation, name))
    }

    /// The other side was not ready in time.
    pub fn timed_out(operation: Operation, name: &str) -> IoError {
        IoError::TimedOut(Refusal::new(operation, name))
    }

    /// The wait was put off.
    pub fn parked(operation: Operation, name: &str) -> IoError {
        IoError::Parked(Some(Refusal::new(operation, name)))
    }

    /// The wait was put off for a while only, to look again.
    pub(crate) fn parked_briefly() -> IoError {
        IoError::Parked(None)
    }

    /// The outcome of a parked wait whose time is over.
    pub fn timed_out_later(&self) -> Option<IoError> {
        match self {
            IoError::Parked(Some(refusal)) => {
                Some(IoError::timed_out(refusal.operation, &refusal.name))
            }
            _ => None,
        }
    }

    pub(crate) fn memory_used_up(operation: Operation, name: &str) -> IoError {
        IoError::MemoryUsedUp(Refusal::new(operation, name))
    }

    pub(crate) fn unsupported(operation: Operation, name: &str) -> IoError {
        IoError::Unsupported(Refusal::new(operation, name))
    }

    /// Repeating the operation later is meaningful and safe.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            IoError::Interrupted
                | IoError::WouldBlock
                | IoError::TimedOut(_)
                | IoError::Parked(_)
                | IoError::Unserved(_)
        )
    }

    /// A named file could not be opened or deleted: R7RS `file-error?`.
    pub fn is_file_error(&self) -> bool {
        matches!(self.operation(), Some(Operation::Open | Operation::Delete))
    }

    /// The operation that failed, if it is known.
    pub fn operation(&self) -> Option<Operation> {
        match self {
            IoError::System(failure) => Some(failure.operation),
            IoError::BrokenPipe(refusal)
            | IoError::Closed(refusal)
            | IoError::MemoryUsedUp(refusal)
            | IoError::TimedOut(refusal)
            | IoError::Parked(Some(refusal))
            | IoError::Unsupported(refusal) => Some(refusal.operation),
            IoError::Malformed(_) => Some(Operation::Read),
            IoError::Unencodable(_) => Some(Operation::Write),
            IoError::Interrupted
            | IoError::WouldBlock
            | IoError::Parked(None)
            | IoError::Unserved(_) => None,
        }
    }

    /// The path or the description of the stream, if the error tells.
    pub fn name(&self) -> Option<&str> {
        match self {
            IoError::System(failure) => Some(&failure.name),
            IoError::BrokenPipe(refusal)
            | IoError::Closed(refusal)
            | IoError::MemoryUsedUp(refusal)
            | IoError::TimedOut(refusal)
            | IoError::Parked(Some(refusal))
            | IoError::Unsupported(refusal) => Some(&refusal.name),
            IoError::Malformed(malformed) => Some(&malformed.name),
            IoError::Unencodable(unencodable) => Some(&unencodable.name),
            IoError::Interrupted
            | IoError::WouldBlock
            | IoError::Parked(None)
            | IoError::Unserved(_) => None,
        }
    }

    /// The system's error number.
    pub fn os_code(&self) -> Option<i32> {
        match self {
            IoError::System(failure) => failure.error.raw_os_error(),
            _ => None,
        }
    }

    /// The system refused because too many descriptors are open.
    pub fn is_out_of_descriptors(&self) -> bool {
        use rustix::io::Errno;
        let out = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
        self.os_code().is_some_and(|code| out.contains(&code))
    }

    /// The sentence without the name at its end, for a condition object that has the name as irritant.
    pub fn message(&self) -> String {
        match self {
            IoError::System(failure) => {
                format!(
                    "cannot {}: {}",
                    failure.operation.phrase(),
                    system_words(&failure.error)
                )
            }
            IoError::BrokenPipe(refusal) => {
                format!("cannot {}: Broken pipe", refusal.operation.phrase())
            }
            IoError::Interrupted => "interrupted".to_owned(),
            IoError::WouldBlock => "operation would block".to_owned(),
            IoError::Unserved(_) => "the port has no server".to_owned(),
            IoError::Parked(_) => "the wait was put off".to_owned(),
            IoError::TimedOut(refusal) => {
                format!("cannot {}: timed out", refusal.operation.phrase())
            }
            IoError::Closed(refusal) => {
                format!("cannot {}: port is closed", refusal.operation.phrase())
            }
            IoError::MemoryUsedUp(_) => {
                "the heap limit does not allow a port to hold more".to_owned()
            }
            IoError::Unsupported(refusal) => {
                let reason = match refusal.operation {
                    Operation::Read => "not open for input",
                    Operation::Write => "not open for output",
                    _ => "not supported",
                };
                format!("cannot {}: {reason}", refusal.operation.phrase())
            }
            IoError::Malformed(malformed) => malformed.message(),
            IoError::Unencodable(unencodable) => format!(
                "cannot write: {} has no character U+{:04X}",
                unencodable.encoding,
                u32::from(unencodable.character)
            ),
        }
    }
}

impl Refusal {
    fn new(operation: Operation, name: &str) -> Box<Refusal> {
        Box::new(Refusal {
            operation,
            name: name.into(),
        })
    }
}

impl MalformedInput {
    fn message(&self) -> String {
        let bytes: Vec<String> = self
            .bytes
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        let ending = if self.truncated {
            ", cut short by the end of input"
        } else {
            ""
        };
        format!(
            "cannot read: malformed {} at byte {} ({}){ending}",
            self.encoding,
            self.byte_offset,
            bytes.join(" ")
        )
    }
}

/// The system's words for an error, without the number that the standard library adds.
fn system_words(error: &io::Error) -> String {
    let mut words = error.to_string();
    if error.raw_os_error().is_some()
        && let Some(start) = words.rfind(" (os error ")
    {
        words.truncate(start);
    }
    words
}

impl fmt::Display for IoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message())?;
        match self.name() {
            Some(name) if !name.is_empty() => write!(formatter, ": {name}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            IoError::System(failure) => Some(&failure.error),
            _ => None,
        }
    }
}
