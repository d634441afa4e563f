//! Files in the user's cache directory: compiled libraries, compiled programs and profiles.
//!
//! A file counts only if it is whole, if this very build wrote it, and if it was made from what is
//! there now; its [`Origins`] tell. Any other file is treated as absent and replaced. A reader sees
//! the old file or the new one, never half of one. Nobody is told of a file that cannot be written.

pub(crate) mod libraries;
pub(crate) mod profiles;
pub(crate) mod programs;

use std::fs;
use std::path::{Path, PathBuf};

use canny_compiler::image;
use canny_syntax::core::LibraryName;
use serde::{Deserialize, Serialize};

use crate::library_loader::{standard_image_checksum, standard_library};

/// The questions that the cache asks about other libraries.
pub(crate) trait OtherLibraries {
    /// The stamp of a library outside the image, which tells its compiled form from others.
    fn stamp(&mut self, key: &str) -> Option<u64>;

    /// Whether there is such a library.
    fn is_there(&mut self, name: &LibraryName) -> bool;
}

/// The texts, libraries and features that code was compiled from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Origins {
    build: u64,
    /// Features that `cond-expand` knew.
    features: Vec<String>,
    /// Source files and the checksums of their contents.
    files: Vec<(PathBuf, u64)>,
    /// Imported libraries outside the standard ones, and their stamps.
    imports: Vec<(String, u64)>,
    /// Libraries of whose existence was asked, and the answers.
    asked: Vec<(LibraryName, bool)>,
}

impl Origins {
    /// The origins of code that was compiled just now; nothing if a file or a stamp is missing.
    fn new(
        features: &[String],
        files: &[PathBuf],
        requires: &[LibraryName],
        asked: &[(LibraryName, bool)],
        mut stamp: impl FnMut(&str) -> Option<u64>,
    ) -> Option<Origins> {
        let files = files
            .iter()
            .map(|path| Some((path.clone(), file_checksum(path)?)))
            .collect::<Option<_>>()?;
        let imports = requires
            .iter()
            .map(|name| name.key())
            .filter(|key| standard_library(key.as_str()).is_none() && !is_built_in(key.as_str()))
            .map(|key| Some((key.as_str().to_owned(), stamp(key.as_str())?)))
            .collect::<Option<_>>()?;
        Some(Origins {
            build: standard_image_checksum(),
            features: features.to_owned(),
            files,
            imports,
            asked: asked.to_owned(),
        })
    }

    /// The source files.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, _)| path.as_path())
    }

    /// Whether compiling again would begin with the same.
    fn hold(&self, features: &[String], others: &mut dyn OtherLibraries) -> bool {
        let same_file = |(path, sum): &(PathBuf, u64)| file_checksum(path) == Some(*sum);
        self.build == standard_image_checksum()
            && self.features == features
            && self.files.iter().all(same_file)
            && self
                .imports
                .iter()
                .all(|(import, stamp)| others.stamp(import) == Some(*stamp))
            && self
                .asked
                .iter()
                .all(|(name, answer)| others.is_there(name) == *answer)
    }
}

/// The pseudo-libraries, which are part of the build.
fn is_built_in(key: &str) -> bool {
    key == "(canny syntax)" || key == "(canny primitives)"
}

fn file_checksum(path: &Path) -> Option<u64> {
    fs::read(path).ok().map(|bytes| image::checksum(&bytes))
}

/// Writes a file, and its directory if need be; tells whether it did.
fn write_whole(path: &Path, bytes: &[u8]) -> bool {
    let made = path.parent().map(fs::create_dir_all);
    if made.is_none_or(|made| made.is_err()) {
        return false;
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&temporary, bytes).is_ok() && fs::rename(&temporary, path).is_ok();
    if !written {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes the oldest files of a directory, so that there is room for one more among so many.
fn make_room(directory: &Path, files_max: usize) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let excess = (files.len() + 1).saturating_sub(files_max);
    for (_, path) in files.into_iter().take(excess) {
        let _ = fs::remove_file(path);
    }
}
