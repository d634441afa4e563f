//! The surroundings of an adapter, which it cannot know itself.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The adapter's surroundings.
pub struct Surroundings {
    /// The command that runs programs.
    pub command: PathBuf,
    /// A directory that only the user may open, for the socket.
    pub directory: PathBuf,
    /// Connects to a process that runs.
    pub attach: Box<dyn Fn(u32, Service) -> Result<UnixStream, String>>,
    /// The processes that could be connected to, with their programs.
    pub processes: Box<dyn Fn() -> Vec<(u32, String)>>,
}

/// The debuggers that a process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// One for an editor.
    Editor,
    /// A prompt.
    Prompt,
}
