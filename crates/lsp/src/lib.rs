//! A language server: answers editors' questions about Scheme programs, over the Language Server
//! Protocol 3.17.
//!
//! Three threads share the work. One reads messages ([`transport`]); one keeps the documents and
//! answers ([`server`]); one expands ([`worker`]). The result of expanding a version of a document
//! is a [`snapshot`] that does not change. So answers are looked up while the next version is being
//! expanded: a [`view`] carries them over the changes since. Names and their meanings are the
//! expander's own: it records them ([`canny_syntax::recording`]), this crate looks them up.
//!
//! Nothing that a client sends ends the server before `exit`: a message that is not understood gets
//! an error as its answer.
#![forbid(unsafe_code)]

mod catalog;
mod changes;
mod describe;
mod event;
mod features;
mod library_sources;
mod places;
mod scan;
mod server;
mod snapshot;
mod text;
mod transport;
mod uri;
mod view;
mod worker;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use canny_lib::Switches;

/// The libraries of a project.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Directories with libraries, the project's own and those of its packages.
    pub directories: Vec<PathBuf>,
    /// Libraries of packages by their printed names, with their files.
    pub libraries: Vec<(String, PathBuf)>,
}

/// Gives the project around a directory; an empty one if there is none.
pub type ProjectAround = Arc<dyn Fn(&Path) -> Project + Send + Sync>;

/// The options of a host.
#[derive(Clone, Default)]
pub struct Options {
    /// Directories to search for libraries before those of the document.
    pub first_directories: Vec<PathBuf>,
    /// Directories to search last.
    pub last_directories: Vec<PathBuf>,
    /// Gives the project around a directory; an empty one if there is none.
    pub project_around: Option<ProjectAround>,
    /// Features that `cond-expand` knows beyond the built-in ones.
    pub features: Vec<String>,
    /// Where the sources of standard libraries are written for editors to show.
    pub cache: PathBuf,
    /// A question about a text that was changed waits for its expansion if the last one did not take
    /// longer; 40 ms unless given. Others are answered from what was known before.
    pub patience: Option<Duration>,
    /// Passes of the optimizer that are turned off, and its limit.
    pub optimizer: Switches,
}

/// Serves one client until it says `exit` or goes away. True if it said `shutdown` before.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    options: Options,
) -> std::io::Result<bool> {
    server::serve(input, output, options)
}
