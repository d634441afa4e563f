//! A site about the libraries of a project.

use std::path::Path;

use super::{Failure, find, markdown};
use crate::options::Options;

/// Writes a site about what is documented in files and directories.
pub fn write(options: &Options, operands: &[String], directory: &Path) -> Result<u8, Failure> {
    let _ = (
        options,
        operands,
        directory,
        find::extractor,
        markdown::full_page,
    );
    Ok(0)
}
