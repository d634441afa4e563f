//! Modules that were validated before, by the digests of their bytes.
//!
//! A directory has an empty file for each, whose name is the digest of the module's bytes and of what the
//! answer depends on: the version, and the features that are on. So the second run of a large module
//! validates its declarations only. A digest that somebody could meet with another module would let that
//! module run without validation; this is one for cryptography. The directory counts only if its owner is
//! the user of this process, and nobody else may write there.

use std::fs::{self, DirBuilder, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::module::{self, Module};

/// Modules that are validated faster than their files are found.
const BYTES_MIN: usize = 64 << 10;

/// Files in the directory.
const FILES_MAX: usize = 1000;

/// A directory that says which modules are valid.
#[derive(Clone, Debug)]
pub struct ValidModules {
    directory: PathBuf,
}

impl ValidModules {
    /// Those that a cache directory says. Their own directory there is made when the first is noted.
    pub fn in_cache(cache: &Path) -> ValidModules {
        ValidModules {
            directory: cache.join("modules"),
        }
    }

    /// The module with these bytes, like [`Module::read`]. Bodies of functions are not validated if the
    /// directory says that they are valid; it says so the next time otherwise.
    pub fn read(&self, bytes: Vec<u8>) -> Result<Module, Error> {
        if bytes.len() < BYTES_MIN || !module::is_binary(&bytes) {
            return Module::read(bytes);
        }
        let file = self.directory.join(name_of(&bytes));
        if is_own(&self.directory) && is_own(&file) {
            return Module::read_valid(bytes);
        }
        let module = Module::read(bytes)?;
        self.note(&file);
        Ok(module)
    }

    /// The same, of a file that gives its name to a module without one.
    pub fn read_from(&self, bytes: Vec<u8>, file: Option<String>) -> Result<Module, Error> {
        Ok(self.read(bytes)?.or_named(file))
    }

    /// Notes that a module is valid. It is no error if that fails.
    fn note(&self, file: &Path) {
        if !self.directory.exists() {
            make(&self.directory);
        }
        if is_own(&self.directory) {
            make_room(&self.directory);
            let _ = File::create(file);
        }
    }
}

/// The name of the file for a module.
fn name_of(bytes: &[u8]) -> String {
    let mut digest = Sha256::new();
    digest.update(env!("CARGO_PKG_VERSION"));
    digest.update(module::features().bits().to_le_bytes());
    digest.update(bytes);
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether something is there that this user has made, and only this user may change.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: a call of the system without arguments.
    let user = unsafe { libc::geteuid() };
    let data = fs::symlink_metadata(path);
    data.is_ok_and(|data| data.uid() == user && data.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_own(_path: &Path) -> bool {
    false
}

fn make(directory: &Path) {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    // It is asked for again.
    let _ = builder.create(directory);
}

/// Removes the oldest files, so that there is room for one more.
fn make_room(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let excess = (files.len() + 1).saturating_sub(FILES_MAX);
    for (_, path) in files.into_iter().take(excess) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::{BYTES_MIN, ValidModules, is_own, name_of};

    /// A module with a function, whose result is an `i32`, and enough bytes to be noted.
    fn module(body: &str) -> Vec<u8> {
        let data = "x".repeat(BYTES_MIN);
        let text = format!("(module (memory 9) (func (result i32) {body}) (data \"{data}\"))");
        let buffer = wast::parser::ParseBuffer::new(&text).unwrap();
        wast::parser::parse::<wast::Wat>(&buffer)
            .unwrap()
            .encode()
            .unwrap()
    }

    #[test]
    fn only_valid_modules_are_noted() {
        let cache = std::env::temp_dir().join(format!("canny-modules-{}", std::process::id()));
        let modules = ValidModules::in_cache(&cache);
        let directory = cache.join("modules");
        let (valid, invalid) = (module("i32.const 1"), module("i64.const 1"));
        modules.read(valid.clone()).unwrap();
        assert!(is_own(&directory.join(name_of(&valid))));
        modules.read(valid).unwrap();
        for _ in 0..2 {
            modules.read(invalid.clone()).unwrap_err();
        }
        assert!(!directory.join(name_of(&invalid)).exists());

        // A note is believed, but not in a directory where others may write.
        fs::write(directory.join(name_of(&invalid)), "").unwrap();
        modules.read(invalid.clone()).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        modules.read(invalid).unwrap_err();
        fs::remove_dir_all(&cache).unwrap();
    }

    #[test]
    fn declarations_are_validated_always() {
        let cache = std::env::temp_dir().join(format!("canny-declared-{}", std::process::id()));
        let modules = ValidModules::in_cache(&cache);
        let directory = cache.join("modules");
        let mut damaged = module("i32.const 1");
        damaged.push(77);
        modules.read(damaged.clone()).unwrap_err();
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        fs::write(directory.join(name_of(&damaged)), "").unwrap();
        modules.read(damaged).unwrap_err();
        fs::remove_dir_all(&cache).unwrap();
    }
}
