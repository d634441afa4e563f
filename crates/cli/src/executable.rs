//! The file of this process: `canny` itself, or a program that `canny compile` made.
//!
//! A compiled program is a copy of `canny` with the program behind it. The copy says so in a *mark*, a
//! part of the image that the system loads, which holds length and checksum of the program. So a
//! compiled program knows that it is one before it has found its file, and never acts as `canny`:
//! without its file it says what is wrong.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Length and checksum of a program behind an executable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    pub length: u64,
    pub checksum: u64,
}

impl Carried {
    pub const BYTES: usize = 16;

    pub fn to_bytes(self) -> [u8; Carried::BYTES] {
        let mut bytes = [0; Carried::BYTES];
        bytes[..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Carried> {
        let (length, checksum) = bytes.split_at_checked(8)?;
        Some(Carried {
            length: u64::from_le_bytes(length.try_into().ok()?),
            checksum: u64::from_le_bytes(checksum.try_into().ok()?),
        })
    }
}

const NAME: [u8; 32] = *b"canny: what this file carries\0\0\0";

/// [`NAME`], then a [`Carried`]; zeros in `canny` itself.
static MARK: [u8; NAME.len() + Carried::BYTES] = {
    let mut mark = [0; NAME.len() + Carried::BYTES];
    let mut index = 0;
    while index < NAME.len() {
        mark[index] = NAME[index];
        index += 1;
    }
    mark
};

/// The mark as it stands in the file. The compiler must not know what is in it.
fn mark() -> &'static [u8; NAME.len() + Carried::BYTES] {
    std::hint::black_box(&MARK)
}

/// The program that the file of this process carries; `None` when it is just `canny`.
pub fn carried() -> Option<Carried> {
    Carried::from_bytes(&mark()[NAME.len()..]).filter(|carried| carried.length > 0)
}

/// Has a copy of the file say what it carries; false if the copy has no mark.
pub fn set_mark(content: &mut [u8], carried: Carried) -> bool {
    let name = &mark()[..NAME.len()];
    let mut places = content
        .windows(name.len())
        .enumerate()
        .filter(|(_, window)| window == &name)
        .map(|(at, _)| at);
    let (Some(at), None) = (places.next(), places.next()) else {
        return false;
    };
    let numbers = at + NAME.len()..at + NAME.len() + Carried::BYTES;
    let Some(numbers) = content.get_mut(numbers) else {
        return false;
    };
    numbers.copy_from_slice(&carried.to_bytes());
    true
}

/// Names by which the file of this process may be reached, the best first. Without `/proc` the system's
/// word on what it was asked to execute is left, and the first word of the command line: that of a
/// program that a loader was called for.
pub fn own_names() -> Vec<PathBuf> {
    let mut names = vec![PathBuf::from("/proc/self/exe")];
    names.extend(env::current_exe());
    let executed = Path::new(OsStr::from_bytes(rustix::param::linux_execfn().to_bytes()));
    let word = env::args_os().next().map(PathBuf::from);
    let by_path = |name: &PathBuf| name.as_os_str().as_bytes().contains(&b'/');
    names.extend(
        [executed.to_owned()]
            .into_iter()
            .chain(word)
            .filter(by_path),
    );
    names
}

/// The file of this process by a name that other processes can use.
pub fn own_file() -> io::Result<PathBuf> {
    let error = match env::current_exe() {
        Ok(path) => return Ok(path),
        Err(error) => error,
    };
    let mut names = own_names().into_iter().skip(1);
    match names.find(|name| fs::File::open(name).is_ok()) {
        Some(name) => std::path::absolute(name),
        None => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_set_where_there_is_one() {
        let carried = Carried {
            length: 7,
            checksum: 9,
        };
        assert_eq!(Carried::from_bytes(&carried.to_bytes()), Some(carried));
        let mut content = [&b"before"[..], &NAME, &[0; Carried::BYTES], b"behind"].concat();
        assert!(set_mark(&mut content, carried));
        let at = content.len() - 6 - Carried::BYTES;
        assert_eq!(Carried::from_bytes(&content[at..at + 16]), Some(carried));
        assert!(!set_mark(&mut [NAME, NAME].concat(), carried));
        assert!(!set_mark(&mut NAME.to_vec(), carried));
        assert!(!set_mark(&mut b"nothing".to_vec(), carried));
    }

    #[test]
    fn this_process_is_found_without_proc() {
        assert_eq!(super::carried(), None);
        let names = own_names();
        assert!(names.len() > 2, "{names:?}");
        assert!(
            names
                .iter()
                .skip(2)
                .any(|name| fs::File::open(name).is_ok()),
            "{names:?}"
        );
    }
}
