//! Asking a running process from outside.
//!
//! A process prepares nothing but the handler of a signal. When the signal comes, a thread listens on a
//! socket for some seconds ([`server`]). The socket lies in a directory that only its user may open
//! ([`directory`]), and both sides check who the other one is. A request is one frame with the name of a
//! [command](commands::COMMANDS) and its arguments; replies are frames, too ([`frames`]). [`client`] is the
//! side that asks, which looks first whether the process catches the signal.

mod client;
mod commands;
mod directory;
mod frames;
mod server;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use rustix::process::Signal;

pub use self::client::{AskError, Reply, ask, ask_with_file, processes};
pub use self::commands::{Debugger, Debuggers, set_debuggers};
pub use self::frames::Request;
pub(crate) use self::server::listen;

/// The signal after which a process listens. Hardly any program uses it, and a process that does not catch
/// it takes no notice.
pub(crate) const SIGNAL: Signal = Signal::URG;
/// Name of the thread that runs programs, by which a process of Canny is known.
pub const PROGRAM_THREAD: &str = "canny";

/// A directory that only the user may open, for sockets.
///
/// # Errors
/// It cannot be made, or somebody else may open it.
pub fn private_directory() -> io::Result<PathBuf> {
    let directory = directory::place_of(std::process::id()).directory;
    directory::prepare(&directory)?;
    Ok(directory)
}
