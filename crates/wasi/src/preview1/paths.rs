//! Functions on paths, which the system resolves below a directory of the guest; see [`beneath`].
//!
//! A path that is to be changed is the directory of its last name and that name.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_io::Handle;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno as System;

use super::Row;
use super::call::{Call, Stop};
use super::entries::{Entry, What};
use super::errno::Errno;
use super::files::{times, write_stat};
use crate::beneath::{self, is_directory, open_beneath};

pub const ROWS: &[Row] = &[
    ("path_create_directory", "iii", |call| {
        let (folder, name) = parent(call, 0, 1, true)?;
        Ok(rustix::fs::mkdirat(
            &folder,
            &*name,
            Mode::from_raw_mode(0o777),
        )?)
    }),
    ("path_filestat_get", "iiiii", |call| {
        let (folder, _) = call.state.entries.folder(call.number(0))?;
        let path = call.text(2)?;
        let stat = rustix::fs::fstat(&beneath::place(
            &folder,
            &path,
            call.number(1) & FOLLOW != 0,
        )?)?;
        write_stat(call, call.number(4), &stat)
    }),
    ("path_filestat_set_times", "iiiilli", |call| {
        let (folder, name) = parent(call, 0, 2, true)?;
        let times = times(call.wide(4), call.wide(5), call.number(6))?;
        if call.number(1) & FOLLOW == 0 {
            return Ok(rustix::fs::utimensat(
                &folder,
                &*name,
                &times,
                AtFlags::SYMLINK_NOFOLLOW,
            )?);
        }
        let (folder, _) = call.state.entries.folder(call.number(0))?;
        let path = call.text(2)?;
        let file = open_beneath(
            &folder,
            &path,
            OFlags::RDONLY | OFlags::NONBLOCK,
            Mode::empty(),
        )?;
        Ok(rustix::fs::futimens(&file, &times)?)
    }),
    ("path_link", "iiiiiii", |call| {
        let (old_folder, old) = parent(call, 0, 2, true)?;
        let (new_folder, new) = parent(call, 4, 5, true)?;
        if call.number(1) & FOLLOW != 0 {
            return Err(Errno::INVALID.into());
        }
        Ok(rustix::fs::linkat(
            &old_folder,
            &*old,
            &new_folder,
            &*new,
            AtFlags::empty(),
        )?)
    }),
    ("path_open", "iiiiillii", open),
    ("path_readlink", "iiiiii", |call| {
        let (folder, name) = parent(call, 0, 1, false)?;
        let target = rustix::fs::readlinkat(&folder, &*name, Vec::new())?;
        let target = target.to_bytes();
        let count = target.len().min(call.number(4) as usize);
        call.write_bytes(call.number(3), &target[..count])?;
        call.write32(call.number(5), count as u32)?;
        Ok(())
    }),
    ("path_remove_directory", "iii", |call| {
        let (folder, name) = parent(call, 0, 1, true)?;
        Ok(rustix::fs::unlinkat(&folder, &*name, AtFlags::REMOVEDIR)?)
    }),
    ("path_rename", "iiiiii", |call| {
        let (old_folder, old) = parent(call, 0, 1, true)?;
        let (new_folder, new) = parent(call, 3, 4, true)?;
        Ok(rustix::fs::renameat(
            &old_folder,
            &*old,
            &new_folder,
            &*new,
        )?)
    }),
    ("path_symlink", "iiiii", |call| {
        let target = call.text(0)?;
        let (folder, name) = parent(call, 2, 3, true)?;
        // Others may follow it who are not bound to a directory.
        if target.first() == Some(&b'/') {
            return Err(Errno::NOT_PERMITTED.into());
        }
        Ok(rustix::fs::symlinkat(&*target, &folder, &*name)?)
    }),
    ("path_unlink_file", "iii", |call| {
        let (folder, name) = parent(call, 0, 1, true)?;
        if is_directory(&folder, &name) == Some(true) {
            return Err(Errno::IS_DIRECTORY.into());
        }
        Ok(rustix::fs::unlinkat(&folder, &*name, AtFlags::empty())?)
    }),
];

/// A flag of lookups: a symbolic link at the end is followed.
const FOLLOW: u32 = 1;

/// The directory and the last name of a path: the arguments that are the directory and the path.
fn parent(
    call: &mut Call<'_>,
    folder: usize,
    path: usize,
    changes: bool,
) -> Result<(OwnedFd, Vec<u8>), Errno> {
    let (folder, read_only) = call.state.entries.folder(call.number(folder))?;
    if changes && read_only {
        return Err(Errno::READ_ONLY);
    }
    Ok(beneath::parent(&folder, &call.text(path)?)?)
}

/// Rights of which one tells that a file is to be read.
const READS: u64 = 1 << 1 | 1 << 14;
/// The same for writing: data, synchronisation of it, allocation, size.
const WRITES: u64 = 1 << 6 | 1 << 8 | 1 << 22;

fn open(call: &mut Call<'_>) -> Result<(), Stop> {
    let (folder, read_only) = call.state.entries.folder(call.number(0))?;
    let path = call.text(2)?;
    let (lookup, how) = (call.number(1), call.number(4));
    let (rights, descriptor_flags) = (call.wide(5), call.number(7) as u16);
    let creates = how & 1 != 0 || how & 8 != 0;
    let is_folder = how & 2 != 0;
    let writes = rights & WRITES != 0 && !is_folder;
    if read_only && (writes || creates) {
        return Err(Errno::READ_ONLY.into());
    }
    let mut flags = match (rights & READS != 0, writes) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    let given = [
        (how & 1 != 0, OFlags::CREATE),
        (is_folder, OFlags::DIRECTORY),
        (how & 4 != 0, OFlags::EXCL),
        (how & 8 != 0, OFlags::TRUNC),
        (descriptor_flags & 1 != 0, OFlags::APPEND),
        (descriptor_flags & 2 != 0, OFlags::DSYNC),
        (descriptor_flags & 16 != 0, OFlags::SYNC),
        (lookup & FOLLOW == 0, OFlags::NOFOLLOW),
    ];
    for (_, flag) in given.iter().filter(|(is_given, _)| *is_given) {
        flags |= *flag;
    }
    let mode = if how & 1 != 0 { 0o666 } else { 0 };
    // Opening a named pipe must not wait for its other end.
    flags |= OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match open_beneath(&folder, &path, flags, Mode::from_raw_mode(mode)) {
        // A directory that a guest means to write cannot be opened so; its C library tells from this.
        Err(System::ISDIR) if how == 0 && !writes => {
            open_beneath(&folder, &path, flags | OFlags::DIRECTORY, Mode::empty())?
        }
        opened => opened?,
    };
    let stat = rustix::fs::fstat(&file)?;
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => What::Folder {
            descriptor: Arc::new(file),
            given_as: None,
        },
        FileType::RegularFile => What::File(Arc::new(file)),
        _ => {
            let name = String::from_utf8_lossy(&path).into_owned();
            What::Stream(Handle::from_descriptor(file, &name))
        }
    };
    let entry = Entry {
        what,
        flags: descriptor_flags,
        rights,
        read_only,
    };
    let number = call.state.entries.add(entry)?;
    call.write32(call.number(8), number)?;
    Ok(())
}
