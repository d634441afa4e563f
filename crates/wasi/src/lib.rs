//! WASI: the functions by which guests reach files, clocks, streams and the network.
//!
//! A guest sees only what its [`Settings`] name: arguments, variables, streams, and the directories
//! that were opened for it. Paths are resolved by the system below those directories, so that neither
//! `..` nor a symbolic link leads out of them. Streams are Canny's handles.
//!
//! [`preview1`] has the functions of modules, [`preview2`] those of components; [`beneath`] opens paths
//! for both.

#![forbid(unsafe_code)]

mod beneath;
mod patience;
mod preview1;
pub mod preview2;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use canny_io::Handle;
use canny_io::socket::Socket;

pub use preview1::{MODULE, Wasi};

/// A directory that a guest may use.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Where it is.
    pub path: PathBuf,
    /// Its name for the guest.
    pub name: String,
    /// Whether the guest may change nothing in it.
    pub read_only: bool,
}

/// The world of a guest.
pub struct Settings {
    /// Its arguments, the name of the program first.
    pub arguments: Vec<OsString>,
    /// Variables and their values.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories, from descriptor 3 on.
    pub directories: Vec<Directory>,
    /// Listening sockets, behind the directories.
    pub listeners: Vec<Socket>,
    /// Descriptors 0 to 2; none is a stream that is always at its end and takes everything.
    pub streams: [Option<Arc<Handle>>; 3],
}
