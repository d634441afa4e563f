//! Paths that the system resolves below a directory.
//!
//! `openat2` refuses what would leave the directory, by `..`, by an absolute path or through a symbolic
//! link. Other calls of the system have no such mode. So the directory of the last name is opened in
//! that way first, and the name itself is never followed.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Opens a path below a directory.
pub fn open_beneath(
    folder: &impl AsFd,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    loop {
        match rustix::fs::openat2(folder, path, flags, mode, inside) {
            Ok(file) => return Ok(file),
            // The path leads out of the directory.
            Err(Errno::XDEV) => return Err(Errno::PERM),
            // Something was renamed meanwhile.
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error),
        }
    }
}

/// A place in the tree, to ask for its properties.
pub fn place(folder: &impl AsFd, path: &[u8], follows: bool) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::PATH;
    flags.set(OFlags::NOFOLLOW, !follows);
    open_beneath(folder, path, flags, Mode::empty())
}

/// The directory of the last name of a path, and that name.
pub fn parent(folder: &impl AsFd, path: &[u8]) -> Result<(OwnedFd, Vec<u8>), Errno> {
    let end = path.iter().rposition(|byte| *byte != b'/');
    let Some(end) = end else {
        let is_empty = path.is_empty();
        return Err(if is_empty { Errno::NOENT } else { Errno::PERM });
    };
    let start = path[..=end].iter().rposition(|byte| *byte == b'/');
    let start = start.map_or(0, |slash| slash + 1);
    let name = path[start..=end].to_vec();
    if matches!(&*name, b"." | b"..") {
        // The name would be followed. A directory that is meant by it cannot be changed so.
        open_beneath(folder, path, OFlags::PATH, Mode::empty())?;
        return Err(Errno::INVAL);
    }
    let before: &[u8] = if start == 0 { b"." } else { &path[..start] };
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let parent = open_beneath(folder, before, flags, Mode::empty())?;
    // A slash at the end asks for a directory, and would have the system follow a link.
    if end + 1 < path.len() && is_directory(&parent, &name) == Some(false) {
        return Err(Errno::NOTDIR);
    }
    Ok((parent, name))
}

/// Whether a name stands for a directory itself, if it stands for anything.
pub fn is_directory(folder: &impl AsFd, name: &[u8]) -> Option<bool> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
