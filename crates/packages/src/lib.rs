//! Packages of programs: what a project needs of others, where it comes from, and where it lies.
//!
//! A project is a directory with a `package.scm`. Its dependencies are directories, archives, revisions
//! of git repositories, or versions that an index offers. [`workplace`] brings them together and writes
//! `package.lock`, which says exactly what was taken; [`project`] tells a program that is about to run
//! where its libraries are, from the manifest and the lockfile alone.
//!
//! Invariants:
//! - Nothing of a package is run. Files are read, compared and copied.
//! - A fetched package lies in the [`store`] under the checksum of its content and never changes.
//! - A file of the project is replaced as a whole or not at all, and only by the process that holds the
//!   project's lock.
//!
//! | module | owns |
//! |---|---|
//! | [`name`], [`version`] | names of packages; versions and ranges of them |
//! | [`source`] | where a package comes from, as data and as text |
//! | [`fields`] | reading files that hold data, with positions |
//! | [`manifest`], [`akku`] | `package.scm`, of Canny's and Snow's; the files of Akku |
//! | [`index`] | lists of packages with versions |
//! | [`edit`] | adding a dependency to the text of a manifest, and taking it out |
//! | [`archive`], [`tree`] | archives to files; checksums, copies and libraries of directories |
//! | [`store`], [`fetch`] | what was fetched; `curl` and `git` |
//! | [`resolve`], [`lock`] | which packages at which versions; the lockfile |
//! | [`workplace`], [`project`] | what the commands do; what a run needs |
//!
//! It knows nothing of the expander, of the search for libraries, or of the command line.
#![forbid(unsafe_code)]
#![allow(
    clippy::result_large_err,
    reason = "a diagnostic ends a command; nothing here is called often"
)]

pub mod akku;
pub mod archive;
pub mod edit;
pub mod fetch;
pub mod fields;
pub mod files;
pub mod index;
pub mod lock;
pub mod manifest;
pub mod name;
pub mod problem;
pub mod project;
pub mod resolve;
pub mod source;
pub mod store;
pub mod tree;
pub mod version;
pub mod workplace;

pub use problem::{Fallible, Problem};

/// The file that makes a directory a project.
pub const MANIFEST_FILE: &str = "package.scm";

/// The file that says which packages exactly a project uses.
pub const LOCK_FILE: &str = "package.lock";

/// The directory of copies of all packages of a project.
pub const VENDOR_DIRECTORY: &str = "vendor";
