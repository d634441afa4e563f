//! Profiles of programs, kept in the user's cache directory beside compiled libraries.
//!
//! A file holds what the specializer learned of one program, which is named by its path. It counts
//! only if its checksum is right, if this very build wrote it, and if the program and the libraries
//! that it loads are compiled to what they were then: a digest of their code tells. Any other file is
//! treated as absent and replaced at the end of a run. There are at most [`FILES_MAX`] files of at
//! most [`BYTES_MAX`] bytes; the oldest go first.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use canny_compiler::image;
use canny_vm::specializer::KeptProfile;
use serde::{Deserialize, Serialize};

use super::{make_room, write_whole};
use crate::evaluation::Prepared;
use crate::library_loader::standard_image_checksum;

/// Version of the contents.
const VERSION: u32 = 1;
/// Bytes of a file.
const BYTES_MAX: u64 = 1 << 20;
/// Files of profiles.
const FILES_MAX: usize = 200;
/// The directory in that of the cache.
const DIRECTORY: &str = "profiles";
/// Ending of the files' names.
const ENDING: &str = "profile";

/// Contents of a file, sealed with a checksum.
#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    build: u64,
    digest: u64,
    profile: KeptProfile,
}

/// Where the profile of a program is kept.
#[derive(Clone, Debug)]
pub struct ProfileFile {
    path: PathBuf,
    digest: u64,
}

impl ProfileFile {
    /// The place for a program, in the directory of the cache; none if its code has no digest.
    pub fn new(cache: &Path, program: &Path, prepared: &Prepared) -> Option<ProfileFile> {
        let program = fs::canonicalize(program).ok()?;
        let name = image::checksum(program.as_os_str().as_encoded_bytes());
        Some(ProfileFile {
            path: cache.join(DIRECTORY).join(format!("{name:016x}.{ENDING}")),
            digest: prepared.digest()?,
        })
    }

    /// The profile that an earlier run left; a sentence about a file that does not count, and nothing
    /// where there is none.
    pub fn read(&self) -> Result<Option<KeptProfile>, String> {
        let ignored = |why: &str| format!("The kept profile {} {why}", self.path.display());
        let Ok(file) = fs::File::open(&self.path) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        if file.take(BYTES_MAX + 1).read_to_end(&mut bytes).is_err() {
            return Err(ignored("cannot be read."));
        }
        let contents: Contents = image::unseal(&bytes)
            .ok()
            .filter(|_| bytes.len() as u64 <= BYTES_MAX)
            .and_then(|bytes| postcard::from_bytes(bytes).ok())
            .ok_or_else(|| ignored("is damaged."))?;
        if contents.version != VERSION || contents.build != standard_image_checksum() {
            return Err(ignored("is of another build of Canny."));
        }
        if contents.digest != self.digest {
            return Err(ignored("is of other code than the program has now."));
        }
        Ok(Some(contents.profile))
    }

    /// Keeps a profile, unless it cannot be written or is too large.
    pub fn write(&self, profile: KeptProfile) {
        let contents = Contents {
            version: VERSION,
            build: standard_image_checksum(),
            digest: self.digest,
            profile,
        };
        let Ok(bytes) = postcard::to_stdvec(&contents) else {
            return;
        };
        let sealed = image::seal(&bytes);
        if sealed.len() as u64 > BYTES_MAX {
            return;
        }
        if let (Some(directory), false) = (self.path.parent(), self.path.exists()) {
            make_room(directory, FILES_MAX);
        }
        write_whole(&self.path, &sealed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Evaluation, EvaluationConfig};

    /// The place of a program with this text, in a directory of its own.
    fn file_of(test: &str, text: &str) -> ProfileFile {
        let directory = std::env::temp_dir().join(format!("canny-{test}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let program = directory.join("program.scm");
        fs::write(&program, text).unwrap();
        let evaluation = Evaluation::new(&EvaluationConfig::default());
        let prepared = evaluation.prepare_program("program.scm", text.as_bytes());
        ProfileFile::new(&directory, &program, &prepared.unwrap()).unwrap()
    }

    fn profile() -> KeptProfile {
        KeptProfile {
            units: vec!["program 1".to_owned()],
            milliseconds: 17,
            ..KeptProfile::default()
        }
    }

    fn remove(file: &ProfileFile) {
        let directory = file.path.parent().and_then(Path::parent).unwrap();
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn damaged_files_do_not_count() {
        let file = file_of("damage", "(import (scheme base)) (define x 1)");
        assert_eq!(file.read(), Ok(None));
        file.write(profile());
        assert_eq!(file.read(), Ok(Some(profile())));
        let whole = fs::read(&file.path).unwrap();
        for length in 0..whole.len() {
            fs::write(&file.path, &whole[..length]).unwrap();
            assert!(file.read().unwrap_err().contains("damaged"), "{length}");
        }
        for index in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 0x10;
            fs::write(&file.path, bytes).unwrap();
            assert!(file.read().unwrap_err().contains("damaged"), "{index}");
        }
        fs::write(&file.path, vec![0; BYTES_MAX as usize + 10]).unwrap();
        assert!(file.read().is_err());
        remove(&file);
    }

    #[test]
    fn another_program_or_build_has_another_profile() {
        let file = file_of(
            "digest",
            "(import (scheme base) (scheme write)) (display 1)",
        );
        file.write(profile());
        let same = file_of(
            "digest",
            "(import (scheme base) (scheme write)) (display 1)",
        );
        assert_eq!(same.read(), Ok(Some(profile())));
        let other = file_of(
            "digest",
            "(import (scheme base) (scheme write)) (display 2)",
        );
        assert_eq!(other.path, file.path);
        assert!(other.read().unwrap_err().contains("other code"));
        let contents = Contents {
            version: VERSION,
            build: standard_image_checksum() ^ 1,
            digest: file.digest,
            profile: profile(),
        };
        let bytes = image::seal(&postcard::to_stdvec(&contents).unwrap());
        fs::write(&file.path, bytes).unwrap();
        assert!(file.read().unwrap_err().contains("another build"));
        remove(&file);
    }

    #[test]
    fn there_are_only_so_many_files() {
        let file = file_of("room", "(import (scheme base))");
        let directory = file.path.parent().unwrap().to_owned();
        fs::create_dir_all(&directory).unwrap();
        for number in 0..FILES_MAX + 5 {
            fs::write(directory.join(format!("{number}.{ENDING}")), "").unwrap();
        }
        file.write(profile());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), FILES_MAX);
        assert_eq!(file.read(), Ok(Some(profile())));
        remove(&file);
    }
}
