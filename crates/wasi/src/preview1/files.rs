//! Functions on open descriptors: reading, writing, positions, properties.
//!
//! Files and directories are reached by the system's calls, streams as Canny's handles.

use std::io::SeekFrom as HandleSeek;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use canny_io::Handle;
use rustix::fs::{Advice, FallocateFlags, FileType, OFlags, SeekFrom, Stat, Timespec, Timestamps};

use super::Row;
use super::call::{Call, Stop, Way, put_off, sum, waiting};
use super::entries::{Entry, NON_BLOCKING, What};
use super::errno::Errno;

pub const ROWS: &[Row] = &[
    ("fd_advise", "illi", |call| {
        let file = file(call)?;
        let advice = match call.number(3) {
            0 => Advice::Normal,
            1 => Advice::Sequential,
            2 => Advice::Random,
            3 => Advice::WillNeed,
            4 => Advice::DontNeed,
            5 => Advice::NoReuse,
            _ => return Err(Errno::INVALID.into()),
        };
        let length = std::num::NonZeroU64::new(call.wide(2));
        Ok(rustix::fs::fadvise(&*file, call.wide(1), length, advice)?)
    }),
    ("fd_allocate", "ill", |call| {
        let file = changeable(call)?;
        let (offset, length) = (call.wide(1), call.wide(2));
        Ok(rustix::fs::fallocate(
            &*file,
            FallocateFlags::empty(),
            offset,
            length,
        )?)
    }),
    ("fd_close", "i", |call| {
        call.state.entries.remove(call.number(0))?;
        Ok(())
    }),
    ("fd_datasync", "i", |call| {
        Ok(rustix::fs::fdatasync(&*file(call)?)?)
    }),
    ("fd_sync", "i", |call| Ok(rustix::fs::fsync(&*file(call)?)?)),
    ("fd_fdstat_get", "ii", fdstat),
    ("fd_fdstat_set_flags", "ii", set_flags),
    ("fd_fdstat_set_rights", "ill", |call| {
        let (rights, number) = (call.wide(1), call.number(0));
        let entry = call.state.entries.get(number)?;
        // Rights can only become fewer.
        if rights & !entry.rights != 0 {
            return Err(Errno(76).into());
        }
        entry.rights = rights;
        Ok(())
    }),
    ("fd_filestat_get", "ii", |call| {
        let address = call.number(1);
        let number = call.number(0);
        let entry = call.state.entries.get(number)?;
        let stat = match &entry.what {
            What::File(descriptor) | What::Folder { descriptor, .. } => {
                rustix::fs::fstat(&**descriptor)?
            }
            what => {
                let kind = file_type(what);
                return write_plain_stat(call, address, kind);
            }
        };
        write_stat(call, address, &stat)
    }),
    ("fd_filestat_set_size", "il", |call| {
        let file = changeable(call)?;
        Ok(rustix::fs::ftruncate(&*file, call.wide(1))?)
    }),
    ("fd_filestat_set_times", "illi", |call| {
        let file = changeable(call)?;
        let times = times(call.wide(1), call.wide(2), call.number(3))?;
        Ok(rustix::fs::futimens(&*file, &times)?)
    }),
    ("fd_pread", "iiili", |call| {
        read_at(call, Some(call.wide(3)), 4)
    }),
    ("fd_read", "iiii", |call| read_at(call, None, 3)),
    ("fd_pwrite", "iiili", |call| {
        write_at(call, Some(call.wide(3)), 4)
    }),
    ("fd_write", "iiii", |call| write_at(call, None, 3)),
    ("fd_prestat_get", "ii", |call| {
        let length = given_name(call)?.len() as u32;
        call.write32(call.number(1), 0)?;
        call.write32(call.number(1).saturating_add(4), length)?;
        Ok(())
    }),
    ("fd_prestat_dir_name", "iii", |call| {
        let name = given_name(call)?;
        let length = call.number(2) as usize;
        if length < name.len() {
            return Err(Errno(37).into());
        }
        Ok(call.write_bytes(call.number(1), name.as_bytes())?)
    }),
    ("fd_readdir", "iiili", read_directory),
    ("fd_renumber", "ii", |call| {
        let (from, to) = (call.number(0), call.number(1));
        Ok(call.state.entries.renumber(from, to)?)
    }),
    ("fd_seek", "ilii", |call| {
        let offset = call.wide(1) as i64;
        let place = seek(call, offset, call.number(2))?;
        call.write64(call.number(3), place)?;
        Ok(())
    }),
    ("fd_tell", "ii", |call| {
        let place = seek(call, 0, 1)?;
        call.write64(call.number(1), place)?;
        Ok(())
    }),
];

/// The file or directory of the first argument.
fn file(call: &mut Call<'_>) -> Result<Arc<OwnedFd>, Errno> {
    call.state.entries.descriptor(call.arguments[0] as u32)
}

/// The same if it may be changed.
fn changeable(call: &mut Call<'_>) -> Result<Arc<OwnedFd>, Errno> {
    let entry = call.state.entries.get(call.arguments[0] as u32)?;
    if entry.read_only {
        return Err(Errno::READ_ONLY);
    }
    file(call)
}

fn given_name(call: &mut Call<'_>) -> Result<String, Errno> {
    match &call.state.entries.get(call.arguments[0] as u32)?.what {
        What::Folder {
            given_as: Some(name),
            ..
        } => Ok(name.clone()),
        _ => Err(Errno::BAD_DESCRIPTOR),
    }
}

/// WASI's number of a type of files.
pub fn type_number(kind: FileType) -> u8 {
    match kind {
        FileType::BlockDevice => 1,
        FileType::CharacterDevice => 2,
        FileType::Directory => 3,
        FileType::RegularFile => 4,
        FileType::Socket => 6,
        FileType::Symlink => 7,
        _ => 0,
    }
}

fn file_type(what: &What) -> u8 {
    match what {
        What::File(descriptor) => {
            let stat = rustix::fs::fstat(&**descriptor);
            stat.map_or(0, |stat| type_number(FileType::from_raw_mode(stat.st_mode)))
        }
        What::Folder { .. } => 3,
        What::Stream(handle) if handle.is_regular_file() => 4,
        // A C library takes a character device for a terminal.
        What::Stream(handle) if handle.is_terminal() => 2,
        What::Stream(_) | What::Nothing => 0,
        What::Listener(_) | What::Connection { .. } => 6,
    }
}

/// The rights of a guest to descriptors of such a type.
fn rights(entry: &Entry, kind: u8) -> u64 {
    // Positions, without which a C library takes a stream for a terminal.
    const POSITIONS: u64 = 1 << 2 | 1 << 5;
    let rights = match kind {
        2 => entry.rights & !POSITIONS,
        _ => entry.rights,
    };
    let changes = 1 << 6 | 1 << 8 | 1 << 22 | 1 << 23;
    if entry.read_only {
        rights & !changes
    } else {
        rights
    }
}

fn fdstat(call: &mut Call<'_>) -> Result<(), Stop> {
    let number = call.number(0);
    let entry = call.state.entries.get(number)?;
    let kind = file_type(&entry.what);
    let (flags, own) = (entry.flags, rights(entry, kind));
    let inherited = if kind == 3 { own } else { 0 };
    let mut bytes = [0; 24];
    bytes[0] = kind;
    bytes[2..4].copy_from_slice(&flags.to_le_bytes());
    bytes[8..16].copy_from_slice(&own.to_le_bytes());
    bytes[16..24].copy_from_slice(&inherited.to_le_bytes());
    call.write(call.number(1), bytes)?;
    Ok(())
}

fn set_flags(call: &mut Call<'_>) -> Result<(), Stop> {
    let number = call.number(0);
    let flags = call.number(1) as u16;
    let entry = call.state.entries.get(number)?;
    if let What::File(descriptor) = &entry.what {
        let mut now = rustix::fs::fcntl_getfl(&**descriptor)?;
        now.set(OFlags::APPEND, flags & 1 != 0);
        rustix::fs::fcntl_setfl(&**descriptor, now)?;
    }
    entry.flags = flags;
    Ok(())
}

pub fn write_stat(call: &mut Call<'_>, address: u32, stat: &Stat) -> Result<(), Stop> {
    let mut bytes = [0; 64];
    let mut put = |at: usize, number: u64| {
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    };
    let time = |seconds: i64, nanoseconds: u64| {
        (seconds as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(nanoseconds)
    };
    put(0, stat.st_dev);
    put(8, stat.st_ino);
    put(24, stat.st_nlink);
    put(32, stat.st_size as u64);
    put(40, time(stat.st_atime, stat.st_atime_nsec));
    put(48, time(stat.st_mtime, stat.st_mtime_nsec));
    put(56, time(stat.st_ctime, stat.st_ctime_nsec));
    bytes[16] = type_number(FileType::from_raw_mode(stat.st_mode));
    call.write(address, bytes)?;
    Ok(())
}

fn write_plain_stat(call: &mut Call<'_>, address: u32, kind: u8) -> Result<(), Stop> {
    let mut bytes = [0; 64];
    bytes[16] = kind;
    call.write(address, bytes)?;
    Ok(())
}

/// The times that a guest sets: of access and of change, and flags.
pub fn times(access: u64, change: u64, flags: u32) -> Result<Timestamps, Errno> {
    let time = |given: u64, is_given: bool, is_now: bool| match (is_given, is_now) {
        (true, true) => Err(Errno::INVALID),
        (true, false) => Ok(Timespec {
            tv_sec: (given / 1_000_000_000) as i64,
            tv_nsec: (given % 1_000_000_000) as _,
        }),
        (false, is_now) => Ok(Timespec {
            tv_sec: 0,
            tv_nsec: if is_now {
                rustix::fs::UTIME_NOW
            } else {
                rustix::fs::UTIME_OMIT
            },
        }),
    };
    Ok(Timestamps {
        last_access: time(access, flags & 1 != 0, flags & 2 != 0)?,
        last_modification: time(change, flags & 4 != 0, flags & 8 != 0)?,
    })
}

/// Most bytes that one read or write takes.
const AT_ONCE: usize = 1 << 20;

/// The first places that have so many bytes together.
fn limited(places: &[(u32, u32)], mut bytes: usize) -> Vec<(u32, u32)> {
    let mut limited = Vec::new();
    for (address, length) in places {
        let count = bytes.min(*length as usize);
        limited.push((*address, count as u32));
        bytes -= count;
    }
    limited
}

fn read_at(call: &mut Call<'_>, offset: Option<u64>, result: usize) -> Result<(), Stop> {
    let places = call.places(call.number(1), call.number(2))?;
    let places = limited(&places, AT_ONCE);
    let number = call.number(0);
    let entry = call.state.entries.get(number)?;
    let is_non_blocking = entry.flags & NON_BLOCKING != 0;
    let count = match &entry.what {
        What::File(descriptor) => {
            let descriptor = Arc::clone(descriptor);
            each_place(call, &places, Way::In, |place, done| match offset {
                Some(offset) => rustix::io::pread(&*descriptor, place, offset + done),
                None => rustix::io::read(&*descriptor, place),
            })?
        }
        What::Folder { .. } => return Err(Errno::IS_DIRECTORY.into()),
        What::Nothing => 0,
        What::Stream(handle) | What::Connection { input: handle, .. } => {
            let handle = Arc::clone(handle);
            read_stream(call, &handle, &places, offset, is_non_blocking)?
        }
        What::Listener(_) => return Err(Errno::NOT_CONNECTED.into()),
    };
    call.write32(call.number(result), count as u32)?;
    Ok(())
}

/// Reads or writes places of the memory one after the other, until one is not done as a whole. Each is given
/// with the number of bytes before it. An error behind bytes that are done is left to the next call.
fn each_place(
    call: &mut Call<'_>,
    places: &[(u32, u32)],
    way: Way,
    transfer: impl Fn(&mut [u8], u64) -> rustix::io::Result<usize>,
) -> Result<usize, Stop> {
    let mut done = 0;
    for (address, length) in places.iter().filter(|(_, length)| *length > 0) {
        let transfer = |place: &mut [u8]| transfer(place, done as u64);
        let count = match call.transfer((*address, *length), way, transfer)? {
            Err(_) if done > 0 => break,
            count => count?,
        };
        done += count;
        if count < *length as usize {
            break;
        }
    }
    Ok(done)
}

pub fn read_stream(
    call: &mut Call<'_>,
    handle: &Handle,
    places: &[(u32, u32)],
    offset: Option<u64>,
    is_non_blocking: bool,
) -> Result<usize, Stop> {
    if offset.is_some() {
        return Err(Errno::SEEK.into());
    }
    let size = sum(places);
    if size == 0 {
        return Ok(0);
    }
    let mut bytes = vec![0; size];
    let count = handle.read(&mut bytes, waiting(is_non_blocking));
    let count = count.map_err(|error| put_off(&error))?;
    call.scatter(places, &bytes[..count])?;
    Ok(count)
}

fn write_at(call: &mut Call<'_>, offset: Option<u64>, result: usize) -> Result<(), Stop> {
    let places = call.places(call.number(1), call.number(2))?;
    let places = limited(&places, AT_ONCE);
    let number = call.number(0);
    let entry = call.state.entries.get(number)?;
    let is_non_blocking = entry.flags & NON_BLOCKING != 0;
    if entry.rights & 1 << 6 == 0 {
        return Err(Errno::BAD_DESCRIPTOR.into());
    }
    let count = match &entry.what {
        What::File(descriptor) => {
            let descriptor = Arc::clone(descriptor);
            each_place(call, &places, Way::Out, |place, done| match offset {
                Some(offset) => rustix::io::pwrite(&*descriptor, place, offset + done),
                None => rustix::io::write(&*descriptor, place),
            })?
        }
        What::Folder { .. } => return Err(Errno::IS_DIRECTORY.into()),
        What::Nothing => sum(&places),
        What::Stream(handle) | What::Connection { output: handle, .. } => {
            if offset.is_some() {
                return Err(Errno::SEEK.into());
            }
            let handle = Arc::clone(handle);
            write_stream(call, &handle, &places, is_non_blocking)?
        }
        What::Listener(_) => return Err(Errno::NOT_CONNECTED.into()),
    };
    call.write32(call.number(result), count as u32)?;
    Ok(())
}

pub fn write_stream(
    call: &mut Call<'_>,
    handle: &Handle,
    places: &[(u32, u32)],
    is_non_blocking: bool,
) -> Result<usize, Stop> {
    let bytes = call.gather(places)?;
    handle
        .write(&bytes, waiting(is_non_blocking))
        .map_err(|error| put_off(&error))
}

fn seek(call: &mut Call<'_>, offset: i64, whence: u32) -> Result<u64, Stop> {
    let number = call.number(0);
    match &call.state.entries.get(number)?.what {
        What::File(descriptor) => {
            let target = match whence {
                0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::INVALID)?),
                1 => SeekFrom::Current(offset),
                2 => SeekFrom::End(offset),
                _ => return Err(Errno::INVALID.into()),
            };
            Ok(rustix::fs::seek(descriptor.as_fd(), target)?)
        }
        What::Stream(handle) if handle.is_regular_file() => {
            let target = match whence {
                0 => HandleSeek::Start(u64::try_from(offset).map_err(|_| Errno::INVALID)?),
                1 => HandleSeek::Current(offset),
                2 => HandleSeek::End(offset),
                _ => return Err(Errno::INVALID.into()),
            };
            handle.seek(target).map_err(|error| Stop::from(&error))
        }
        _ => Err(Errno::SEEK.into()),
    }
}

/// Gives as many entries behind a cookie as fit. A cookie is the number of entries before it.
fn read_directory(call: &mut Call<'_>) -> Result<(), Stop> {
    let (folder, _) = call.state.entries.folder(call.number(0))?;
    let (buffer, size) = (call.number(1), call.number(2) as usize);
    let skipped = call.wide(3) as usize;
    let mut bytes = Vec::new();
    let mut next = skipped as u64;
    for entry in rustix::fs::Dir::read_from(&*folder)?.skip(skipped) {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        next += 1;
        bytes.extend_from_slice(&next.to_le_bytes());
        bytes.extend_from_slice(&entry.ino().to_le_bytes());
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&[type_number(entry.file_type()), 0, 0, 0]);
        bytes.extend_from_slice(name);
        if bytes.len() >= size {
            break;
        }
    }
    // A part of an entry tells that there are more.
    bytes.truncate(size);
    let count = bytes.len() as u32;
    call.write_bytes(buffer, &bytes)?;
    call.write32(call.number(4), count)?;
    Ok(())
}
