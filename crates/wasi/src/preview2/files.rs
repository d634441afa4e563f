//! `wasi:filesystem`: descriptors of files and directories, and what is done with them.
//!
//! [`paths`](super::paths) has the functions that take a path.

use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_component::Value;
use canny_io::Handle;
use rustix::fs::{Advice, Dir, FileType, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::call::{Call, Outcome, Stop, failure_with, success, success_with};
use super::clocks::datetime;
use super::codes::{FileCode, file_error};
use super::failures::{Cause, Failure};
use super::streams::{Input, Output};
use super::system_streams::{FileSink, FileSource, HandleSink, HandleSource};
use super::table::{Counted, Opened, Resource};
use super::values::{self, Mistake};
use super::{Interface, Row, paths};

pub const INTERFACES: &[Interface] = &[
    Interface {
        name: "wasi:filesystem/preopens",
        functions: &[("get-directories", directories)],
        resources: &[],
    },
    Interface {
        name: "wasi:filesystem/types",
        functions: ROWS,
        resources: &["descriptor", "directory-entry-stream"],
    },
    Interface {
        name: "wasi:filesystem/types",
        functions: paths::ROWS,
        resources: &[],
    },
];

const ROWS: &[Row] = &[
    ("[method]descriptor.read-via-stream", |call| {
        let offset = call.wide(1)?;
        let descriptor = call.get::<Descriptor>(0)?;
        let input = match descriptor.content()? {
            Content::File(file) => Input::new(FileSource { file, offset }),
            Content::Stream(handle) => Input::new(HandleSource::new(handle)),
        };
        if !descriptor.flags.read {
            return Err(file_error(Errno::BADF));
        }
        success_with(call.give(input)?)
    }),
    ("[method]descriptor.write-via-stream", |call| {
        let offset = call.wide(1)?;
        output(call, Some(offset))
    }),
    ("[method]descriptor.append-via-stream", |call| {
        output(call, None)
    }),
    ("[method]descriptor.advise", |call| {
        let (offset, length) = (call.wide(1)?, call.wide(2)?);
        let advice = match values::case(call.value(3)?)? {
            0 => Advice::Normal,
            1 => Advice::Sequential,
            2 => Advice::Random,
            3 => Advice::WillNeed,
            4 => Advice::DontNeed,
            5 => Advice::NoReuse,
            _ => return Err(Mistake.into()),
        };
        let file = call.get::<Descriptor>(0)?.file()?;
        let length = std::num::NonZeroU64::new(length);
        finished(rustix::fs::fadvise(&*file, offset, length, advice))
    }),
    ("[method]descriptor.sync-data", |call| {
        let descriptor = call.get::<Descriptor>(0)?;
        if !descriptor.flags.write {
            return success();
        }
        finished(rustix::fs::fdatasync(&*descriptor.opened))
    }),
    ("[method]descriptor.sync", |call| {
        let descriptor = call.get::<Descriptor>(0)?;
        if !descriptor.flags.write {
            return success();
        }
        finished(rustix::fs::fsync(&*descriptor.opened))
    }),
    ("[method]descriptor.get-flags", |call| {
        let flags = call.get::<Descriptor>(0)?.flags;
        let sync = flags.sync;
        success_with(Value::Flags(vec![
            flags.read,
            flags.write,
            sync[0],
            sync[1],
            sync[2],
            flags.changes,
        ]))
    }),
    ("[method]descriptor.get-type", |call| {
        success_with(type_value(call.get::<Descriptor>(0)?.kind))
    }),
    ("[method]descriptor.set-size", |call| {
        let size = call.wide(1)?;
        let file = call.get::<Descriptor>(0)?.written_file()?;
        finished(rustix::fs::ftruncate(&*file, size))
    }),
    ("[method]descriptor.set-times", |call| {
        let times = times(call.value(1)?, call.value(2)?)?;
        let descriptor = call.get::<Descriptor>(0)?;
        if !descriptor.flags.write && !descriptor.flags.changes {
            return Err(file_error(descriptor.why_not_written()));
        }
        finished(rustix::fs::futimens(&*descriptor.opened, &times))
    }),
    ("[method]descriptor.read", read),
    ("[method]descriptor.write", write),
    ("[method]descriptor.read-directory", |call| {
        let descriptor = call.get::<Descriptor>(0)?;
        if descriptor.kind != FileType::Directory {
            return Err(file_error(Errno::NOTDIR));
        }
        let folder = Arc::clone(&descriptor.opened);
        let _counted = call.state.table.count().map_err(file_error)?;
        let directory = Dir::read_from(&*folder).map_err(file_error)?;
        let entries = Entries {
            directory,
            folder,
            _counted,
        };
        success_with(call.give(entries)?)
    }),
    (
        "[method]directory-entry-stream.read-directory-entry",
        |call| {
            let entry = call.get::<Entries>(0)?.next()?;
            success_with(values::optional(entry))
        },
    ),
    ("[method]descriptor.stat", |call| {
        let descriptor = call.get::<Descriptor>(0)?;
        let stat = rustix::fs::fstat(&*descriptor.opened).map_err(file_error)?;
        success_with(stat_value(&stat))
    }),
    ("[method]descriptor.is-same-object", |call| {
        let mut stat = |index| {
            let opened = Arc::clone(&call.get::<Descriptor>(index)?.opened);
            Ok::<_, Stop>(rustix::fs::fstat(&*opened).ok())
        };
        let both = stat(0)?.zip(stat(1)?);
        Ok(Some(Value::Bool(both.is_some_and(|(one, other)| {
            one.st_dev == other.st_dev && one.st_ino == other.st_ino
        }))))
    }),
    ("[method]descriptor.metadata-hash", |call| {
        let opened = Arc::clone(&call.get::<Descriptor>(0)?.opened);
        let stat = rustix::fs::fstat(&*opened).map_err(file_error)?;
        success_with(hash(&call.state.hashes, &stat))
    }),
    ("filesystem-error-code", |call| {
        let code = match call.get::<Failure>(0)?.cause {
            Cause::File(error) => Some(FileCode::from(error).into()),
            _ => None,
        };
        Ok(Some(values::optional(code)))
    }),
];

/// The flags of a descriptor.
#[derive(Clone, Copy)]
pub struct Flags {
    pub read: bool,
    pub write: bool,
    /// Synchronization of files, of data, and of what is read.
    pub sync: [bool; 3],
    /// The entries of a directory, and what is below it, may be changed.
    pub changes: bool,
}

/// An open file, directory or anything else that has a path.
pub struct Descriptor {
    pub opened: Arc<Opened>,
    pub kind: FileType,
    pub flags: Flags,
    /// Nothing below the directory that was given may be changed.
    pub read_only: bool,
    /// It is read and written in place of a regular file.
    pub stream: Option<Arc<Handle>>,
}

impl Resource for Descriptor {
    const NAME: &'static str = "descriptor";
}

/// The part of a descriptor that is read and written.
enum Content {
    File(Arc<Opened>),
    Stream(Arc<Handle>),
}

impl Descriptor {
    fn content(&self) -> Result<Content, Stop> {
        match (&self.stream, self.kind) {
            (Some(handle), _) => Ok(Content::Stream(Arc::clone(handle))),
            (None, FileType::Directory) => Err(file_error(Errno::ISDIR)),
            _ => Ok(Content::File(Arc::clone(&self.opened))),
        }
    }

    /// The regular file that it is.
    fn file(&self) -> Result<Arc<Opened>, Stop> {
        match self.content()? {
            Content::File(file) => Ok(file),
            Content::Stream(_) => Err(file_error(Errno::SPIPE)),
        }
    }

    /// The same, to be changed.
    fn written_file(&self) -> Result<Arc<Opened>, Stop> {
        let file = self.file()?;
        if !self.flags.write {
            return Err(file_error(self.why_not_written()));
        }
        Ok(file)
    }

    fn why_not_written(&self) -> Errno {
        if self.read_only {
            Errno::ROFS
        } else {
            Errno::BADF
        }
    }
}

/// The entries of a directory.
struct Entries {
    directory: Dir,
    folder: Arc<Opened>,
    _counted: Counted,
}

impl Resource for Entries {
    const NAME: &'static str = "directory-entry-stream";
}

impl Entries {
    fn next(&mut self) -> Result<Option<Value>, Stop> {
        loop {
            let Some(entry) = self.directory.read() else {
                return Ok(None);
            };
            let entry = entry.map_err(file_error)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                if let Ok(stat) = rustix::fs::statat(&*self.folder, name, flags) {
                    kind = FileType::from_raw_mode(stat.st_mode);
                }
            }
            let name = name.to_str();
            let name = name.map_err(|_| failure_with(FileCode::ILLEGAL_BYTES.into()))?;
            let fields = vec![type_value(kind), Value::String(name.into())];
            return Ok(Some(Value::Record(fields)));
        }
    }
}

/// The result of a call of the system that gives nothing.
pub fn finished(result: rustix::io::Result<()>) -> Outcome {
    result.map_err(file_error)?;
    success()
}

fn directories(call: &mut Call<'_>) -> Outcome {
    let mut pairs = Vec::new();
    for (opened, given) in call.state.directories.clone() {
        let descriptor = Descriptor {
            opened,
            kind: FileType::Directory,
            flags: Flags {
                read: true,
                write: false,
                sync: [false; 3],
                changes: !given.read_only,
            },
            read_only: given.read_only,
            stream: None,
        };
        let descriptor = call.give(descriptor)?;
        pairs.push(Value::Record(vec![descriptor, Value::String(given.name)]));
    }
    Ok(Some(Value::List(pairs)))
}

/// A new descriptor of something that was opened.
pub fn descriptor(
    call: &mut Call<'_>,
    opened: OwnedFd,
    mut flags: Flags,
    read_only: bool,
    path: &str,
) -> Result<Value, Stop> {
    let stat = rustix::fs::fstat(&opened).map_err(file_error)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let stream = match kind {
        FileType::Directory | FileType::RegularFile => None,
        _ => {
            let copy = rustix::io::fcntl_dupfd_cloexec(&opened, 0);
            Some(Handle::from_descriptor(copy.map_err(file_error)?, path))
        }
    };
    flags.changes = kind == FileType::Directory && !read_only;
    let opened = call.state.table.open(opened).map_err(file_error)?;
    call.give(Descriptor {
        opened,
        kind,
        flags,
        read_only,
        stream,
    })
}

fn output(call: &mut Call<'_>, offset: Option<u64>) -> Outcome {
    let descriptor = call.get::<Descriptor>(0)?;
    let output = match descriptor.content()? {
        Content::File(file) => Output::new(FileSink { file, offset }),
        Content::Stream(handle) => Output::new(HandleSink(handle)),
    };
    if !descriptor.flags.write {
        return Err(file_error(descriptor.why_not_written()));
    }
    success_with(call.give(output)?)
}

/// Most bytes of one read.
const AT_ONCE: u64 = 1 << 20;

fn read(call: &mut Call<'_>) -> Outcome {
    let (length, offset) = (call.wide(1)?, call.wide(2)?);
    let file = call.get::<Descriptor>(0)?.file()?;
    let mut bytes = vec![0; length.min(AT_ONCE) as usize];
    let count = loop {
        match rustix::io::pread(&*file, &mut bytes, offset) {
            Err(Errno::INTR) => {}
            count => break count.map_err(file_error)?,
        }
    };
    let is_end = count == 0 && length > 0;
    bytes.truncate(count);
    let pair = vec![Value::Bytes(bytes), Value::Bool(is_end)];
    success_with(Value::Record(pair))
}

fn write(call: &mut Call<'_>) -> Outcome {
    let (bytes, offset) = (call.bytes(1)?, call.wide(2)?);
    let file = call.get::<Descriptor>(0)?.written_file()?;
    loop {
        match rustix::io::pwrite(&*file, bytes, offset) {
            Err(Errno::INTR) => {}
            count => {
                let count = count.map_err(file_error)?;
                return success_with(Value::U64(count as u64));
            }
        }
    }
}

fn type_value(kind: FileType) -> Value {
    Value::Enum(match kind {
        FileType::BlockDevice => 1,
        FileType::CharacterDevice => 2,
        FileType::Directory => 3,
        FileType::Fifo => 4,
        FileType::Symlink => 5,
        FileType::RegularFile => 6,
        FileType::Socket => 7,
        FileType::Unknown => 0,
    })
}

pub fn stat_value(stat: &Stat) -> Value {
    let time = |seconds, nanoseconds: u64| {
        values::some(datetime(Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds as _,
        }))
    };
    Value::Record(vec![
        type_value(FileType::from_raw_mode(stat.st_mode)),
        Value::U64(stat.st_nlink),
        Value::U64(stat.st_size as u64),
        time(stat.st_atime, stat.st_atime_nsec),
        time(stat.st_mtime, stat.st_mtime_nsec),
        time(stat.st_ctime, stat.st_ctime_nsec),
    ])
}

/// A hash of the properties that change with the contents of a file. Its key is the guest's own.
pub fn hash(hashes: &RandomState, stat: &Stat) -> Value {
    let (seconds, change) = (stat.st_mtime, stat.st_ctime);
    let times = (seconds, stat.st_mtime_nsec, change, stat.st_ctime_nsec);
    let half = |number: u64| {
        let properties = (number, stat.st_dev, stat.st_ino, stat.st_size, times);
        Value::U64(hashes.hash_one(properties))
    };
    Value::Record(vec![half(0), half(1)])
}

/// The times that a guest sets.
pub fn times(access: &Value, change: &Value) -> Result<Timestamps, Stop> {
    let time = |value| {
        let (tv_sec, tv_nsec) = match values::variant(value)? {
            (0, None) => (0, rustix::fs::UTIME_OMIT),
            (1, None) => (0, rustix::fs::UTIME_NOW),
            (2, Some(time)) => {
                let [seconds, nanoseconds] = values::fields(time)?;
                let seconds = i64::try_from(values::wide(seconds)?);
                let nanoseconds = values::number(nanoseconds)?;
                match seconds {
                    Ok(seconds) if nanoseconds < 1_000_000_000 => (seconds, nanoseconds.into()),
                    _ => return Err(file_error(Errno::INVAL)),
                }
            }
            _ => return Err(Mistake.into()),
        };
        Ok(Timespec { tv_sec, tv_nsec })
    };
    Ok(Timestamps {
        last_access: time(access)?,
        last_modification: time(change)?,
    })
}

/// How a file is opened for flags.
pub fn access(flags: &Flags) -> OFlags {
    let mut access = match (flags.read, flags.write) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    access.set(OFlags::SYNC, flags.sync[0]);
    access.set(OFlags::DSYNC, flags.sync[1]);
    access
}
