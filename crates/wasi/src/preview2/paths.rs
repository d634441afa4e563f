//! Functions of `wasi:filesystem` that take a path below a directory.
//!
//! A path that is to be changed is the directory of its last name and that name; see
//! [`beneath`](crate::beneath).

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_component::Value;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Row;
use super::call::{Call, Outcome, Stop, failure_with, success_with};
use super::codes::{FileCode, file_error};
use super::files::{self, Descriptor, Flags, finished, hash, stat_value, times};
use super::table::Opened;
use super::values;
use crate::beneath::{self, is_directory, open_beneath};

pub const ROWS: &[Row] = &[
    ("[method]descriptor.create-directory-at", |call| {
        let (folder, name) = changed(call, 0, 1)?;
        let mode = Mode::from_raw_mode(0o777);
        finished(rustix::fs::mkdirat(&folder, &*name, mode))
    }),
    ("[method]descriptor.stat-at", |call| {
        let place = place(call)?;
        let stat = rustix::fs::fstat(&place).map_err(file_error)?;
        success_with(stat_value(&stat))
    }),
    ("[method]descriptor.metadata-hash-at", |call| {
        let place = place(call)?;
        let stat = rustix::fs::fstat(&place).map_err(file_error)?;
        success_with(hash(&call.state.hashes, &stat))
    }),
    ("[method]descriptor.set-times-at", |call| {
        let times = times(call.value(3)?, call.value(4)?)?;
        let [follows] = values::flags(call.value(1)?)?;
        let (folder, name) = changed(call, 0, 2)?;
        if !follows {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            return finished(rustix::fs::utimensat(&folder, &*name, &times, flags));
        }
        let path = call.text(2)?.as_bytes();
        let (folder, _) = directory(call, 0)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = open_beneath(&folder, path, flags, Mode::empty());
        finished(rustix::fs::futimens(file.map_err(file_error)?, &times))
    }),
    ("[method]descriptor.link-at", |call| {
        let [follows] = values::flags(call.value(1)?)?;
        let (old_folder, old) = changed(call, 0, 2)?;
        let (new_folder, new) = changed(call, 3, 4)?;
        if follows {
            return Err(file_error(Errno::INVAL));
        }
        if is_directory(&old_folder, &old) == Some(true) {
            return Err(file_error(Errno::PERM));
        }
        let flags = AtFlags::empty();
        finished(rustix::fs::linkat(
            &old_folder,
            &*old,
            &new_folder,
            &*new,
            flags,
        ))
    }),
    ("[method]descriptor.open-at", open),
    ("[method]descriptor.readlink-at", |call| {
        let (folder, _) = directory(call, 0)?;
        let (folder, name) = parent(&folder, call.text(1)?)?;
        let target = rustix::fs::readlinkat(&folder, &*name, Vec::new());
        let target = target.map_err(file_error)?;
        if target.to_bytes().first() == Some(&b'/') {
            return Err(file_error(Errno::PERM));
        }
        let target = target.into_string();
        let target = target.map_err(|_| failure_with(FileCode::ILLEGAL_BYTES.into()))?;
        success_with(Value::String(target))
    }),
    ("[method]descriptor.remove-directory-at", |call| {
        let (folder, name) = changed(call, 0, 1)?;
        finished(rustix::fs::unlinkat(&folder, &*name, AtFlags::REMOVEDIR))
    }),
    ("[method]descriptor.rename-at", |call| {
        let (old_folder, old) = changed(call, 0, 1)?;
        let (new_folder, new) = changed(call, 2, 3)?;
        finished(rustix::fs::renameat(&old_folder, &*old, &new_folder, &*new))
    }),
    ("[method]descriptor.symlink-at", |call| {
        let target = call.text(1)?;
        let (folder, name) = changed(call, 0, 2)?;
        // Others may follow it who are not bound to a directory.
        if target.starts_with('/') {
            return Err(file_error(Errno::PERM));
        }
        finished(rustix::fs::symlinkat(target, &folder, &*name))
    }),
    ("[method]descriptor.unlink-file-at", |call| {
        let (folder, name) = changed(call, 0, 1)?;
        if is_directory(&folder, &name) == Some(true) {
            return Err(file_error(Errno::ISDIR));
        }
        finished(rustix::fs::unlinkat(&folder, &*name, AtFlags::empty()))
    }),
];

/// The directory that an argument is, and whether it is read only.
fn directory(call: &mut Call<'_>, index: usize) -> Result<(Arc<Opened>, bool), Stop> {
    let descriptor = call.get::<Descriptor>(index)?;
    if descriptor.kind != FileType::Directory {
        return Err(file_error(Errno::NOTDIR));
    }
    Ok((Arc::clone(&descriptor.opened), descriptor.read_only))
}

fn parent(folder: &Opened, path: &str) -> Result<(OwnedFd, Vec<u8>), Stop> {
    beneath::parent(folder, path.as_bytes()).map_err(file_error)
}

/// The directory of the last name of a path, and that name, to change what it stands for.
fn changed(call: &mut Call<'_>, folder: usize, path: usize) -> Result<(OwnedFd, Vec<u8>), Stop> {
    let path = call.text(path)?;
    let (folder, read_only) = directory(call, folder)?;
    if read_only {
        return Err(file_error(Errno::ROFS));
    }
    parent(&folder, path)
}

/// The place that the arguments name: a directory, whether links are followed, a path.
fn place(call: &mut Call<'_>) -> Result<OwnedFd, Stop> {
    let [follows] = values::flags(call.value(1)?)?;
    let path = call.text(2)?.as_bytes();
    let (folder, _) = directory(call, 0)?;
    beneath::place(&*folder, path, follows).map_err(file_error)
}

fn open(call: &mut Call<'_>) -> Outcome {
    let [follows] = values::flags(call.value(1)?)?;
    let path = call.text(2)?;
    let [creates, is_folder, exclusive, truncates] = values::flags(call.value(3)?)?;
    let [read, write, sync_file, sync_data, sync_reads, changes] = values::flags(call.value(4)?)?;
    let (folder, read_only) = directory(call, 0)?;
    if read_only && (write || changes || creates || truncates) {
        return Err(file_error(Errno::ROFS));
    }
    let flags = Flags {
        read,
        write,
        sync: [sync_file, sync_data, sync_reads],
        changes,
    };
    let mut how = files::access(&flags);
    how.set(OFlags::CREATE, creates);
    how.set(OFlags::DIRECTORY, is_folder);
    how.set(OFlags::EXCL, exclusive);
    how.set(OFlags::TRUNC, truncates);
    how.set(OFlags::NOFOLLOW, !follows);
    // Opening a named pipe must not wait for its other end.
    how |= OFlags::NONBLOCK | OFlags::NOCTTY;
    let mode = if creates { 0o666 } else { 0 };
    let mode = Mode::from_raw_mode(mode);
    let opened = open_beneath(&*folder, path.as_bytes(), how, mode).map_err(file_error)?;
    success_with(files::descriptor(call, opened, flags, read_only, path)?)
}
