//! Operations that `(canny fs)` needs beside the rows of [`posix`](super::posix): kinds of files,
//! listings with kinds, copies made by the kernel, syncing, files that go when the program ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use canny_locks::{Mutex, MutexGuard};
use canny_tables::protocols::FileAccess;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};
use rustix::fs::{Access, OFlags};
use rustix::io::Errno;

use super::file_names::{name_of_text, path, path_string, text_of_name};
use super::posix::{count, integers, long_on_file, on_file};
use crate::arguments::Call;
use crate::outside::recorded_implementations;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = recorded_implementations! {
    "%file-type" => file_kind;
    "%file-access?" => is_accessible;
    "%directory-list" => directory_entries;
    "%copy-file" => copy_file;
    "%sync-file" => |thread, call| long_on_file(thread, call, "sync the file", |path| {
        File::open(path)?.sync_all()
    });
    "%delete-tree" => |thread, call| long_on_file(thread, call, "delete the directory", delete_tree);
    "%disk-space" => disk_space;
    "%delete-at-exit" => delete_at_exit;
    "%name->bytevector" => name_to_bytevector;
    "%bytevector->name" => bytevector_to_name;
};

/// The bits of a mode that tell the kind of a file.
const KIND_BITS: u32 = 0o170_000;

fn file_kind(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = path(thread, call, 0)?;
    let follow = call.at(1) != Value::FALSE;
    let found = thread.outside_heap(|| {
        if follow {
            fs::metadata(&path)
        } else {
            fs::symlink_metadata(&path)
        }
    });
    Ok(found.map_or(Value::FALSE, |info| {
        Value::fixnum(i64::from(info.mode() & KIND_BITS))
    }))
}

fn is_accessible(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = path(thread, call, 0)?;
    let flags = call.index(thread, 1)? as i64;
    let wanted = [
        (FileAccess::Read, Access::READ_OK),
        (FileAccess::Write, Access::WRITE_OK),
        (FileAccess::Execute, Access::EXEC_OK),
    ];
    let wanted = wanted.into_iter().filter(|(flag, _)| flag.is_in(flags));
    let wanted: Access = wanted.map(|(_, access)| access).collect();
    let accessible = thread.outside_heap(|| rustix::fs::access(&path, wanted).is_ok());
    Ok(Value::boolean(accessible))
}

/// The bits for the kind of a directory's entry; 0 if it is gone already.
fn bits_of_kind(entry: &fs::DirEntry) -> i64 {
    match entry.file_type() {
        Ok(kind) if kind.is_file() => 0o100_000,
        Ok(kind) if kind.is_dir() => 0o040_000,
        Ok(kind) if kind.is_symlink() => 0o120_000,
        Ok(kind) if kind.is_fifo() => 0o010_000,
        Ok(kind) if kind.is_socket() => 0o140_000,
        Ok(kind) if kind.is_block_device() => 0o060_000,
        Ok(kind) if kind.is_char_device() => 0o020_000,
        _ => 0,
    }
}

fn directory_entries(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut entries = Vec::new();
    long_on_file(thread, call, "read the directory", |path| {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            entries.push((entry.file_name(), bits_of_kind(&entry)));
        }
        Ok(())
    })?;
    entries.sort();
    let mut list = Value::NIL;
    for (name, bits) in entries.iter().rev() {
        let name = thread.string(&text_of_name(name));
        let entry = thread.cons(name, Value::fixnum(*bits));
        list = thread.cons(entry, list);
    }
    Ok(list)
}

/// Bytes that the kernel copies at once, between looks at the interrupt flag.
const COPY_BYTES: usize = 64 << 20;
/// Bytes that are copied at once where the kernel cannot do it alone.
const CHUNK_BYTES: usize = 128 << 10;

fn copy_file(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let replace = call.at(2) != Value::FALSE;
    let interrupts = thread.interrupts();
    let to = path(thread, call, 1)?;
    long_on_file(thread, call, "copy the file", |from| {
        copy(from, &to, replace, interrupts.interrupt_waiting())
    })
}

/// Copies contents and permission bits of a regular file.
fn copy(from: &Path, to: &Path, replace: bool, interrupt: &AtomicBool) -> io::Result<()> {
    // Opening a named pipe would wait for a writer.
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    let mut source = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(from)?;
    let info = source.metadata()?;
    if info.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if !info.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    let existing = fs::metadata(to).ok();
    if existing
        .as_ref()
        .is_some_and(|existing| (existing.dev(), existing.ino()) == (info.dev(), info.ino()))
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "both names are of the same file",
        ));
    }
    let mut options = OpenOptions::new();
    options.write(true).mode(info.mode() & 0o777);
    options.custom_flags(nonblocking);
    if replace {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let mut target = options.open(to)?;
    let outcome = copy_contents(&mut source, &mut target, interrupt).and_then(|()| {
        if target.metadata()?.is_file() {
            target.set_permissions(fs::Permissions::from_mode(info.mode() & 0o7777))?;
        }
        Ok(())
    });
    if outcome.is_err() && existing.is_none() {
        let _ = fs::remove_file(to);
    }
    outcome
}

fn check_interrupt(interrupt: &AtomicBool) -> io::Result<()> {
    if interrupt.load(Ordering::Acquire) {
        return Err(io::Error::other("interrupted"));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn copy_contents(source: &mut File, target: &mut File, interrupt: &AtomicBool) -> io::Result<()> {
    let mut copied = 0_u64;
    loop {
        check_interrupt(interrupt)?;
        match rustix::fs::copy_file_range(&*source, None, &*target, None, COPY_BYTES) {
            // Some file systems say so of files whose size they do not know.
            Ok(0) if copied == 0 => break,
            Ok(0) => return Ok(()),
            Ok(count) => copied += count as u64,
            Err(Errno::INTR) => {}
            // Other file systems, devices, old kernels.
            Err(_) if copied == 0 => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    copy_by_chunks(source, target, interrupt)
}

#[cfg(not(target_os = "linux"))]
fn copy_contents(source: &mut File, target: &mut File, interrupt: &AtomicBool) -> io::Result<()> {
    let _ = COPY_BYTES;
    copy_by_chunks(source, target, interrupt)
}

fn copy_by_chunks(source: &mut File, target: &mut File, interrupt: &AtomicBool) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        check_interrupt(interrupt)?;
        match source.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => target.write_all(&chunk[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Deletes a directory with everything in it, but nothing that symbolic links in it point to, or a file.
fn delete_tree(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

fn disk_space(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut numbers = [0; 3];
    on_file(thread, call, "find the space of the disk", |path| {
        let status = rustix::fs::statvfs(path)?;
        numbers = [status.f_blocks, status.f_bfree, status.f_bavail]
            .map(|blocks| count(blocks.saturating_mul(status.f_frsize)));
        Ok(())
    })?;
    Ok(integers(thread, &numbers))
}

/// Files and directories, by absolute names, that go when the program ends.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock()
}

fn delete_at_exit(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let wanted = call.at(1) != Value::FALSE;
    on_file(thread, call, "remember the file", |path| {
        let path = std::path::absolute(path)?;
        let mut paths = temporary();
        paths.retain(|known| *known != path);
        if wanted {
            paths.push(path);
        }
        Ok(())
    })
}

/// Deletes the files that were to go with the program.
pub(crate) fn delete_temporary_files() {
    let paths = std::mem::take(&mut *temporary());
    for path in paths.iter().rev() {
        // Nobody is left to hear of an error, and most of them are gone already.
        let _ = delete_tree(path);
    }
}

fn name_to_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    use std::os::unix::ffi::OsStrExt;
    let path = path(thread, call, 0)?;
    thread.bytevector(path.as_os_str().as_bytes())
}

fn bytevector_to_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    use std::os::unix::ffi::OsStringExt;
    let bytes = call.bytevector(thread, 0)?.with_bytes(<[u8]>::to_vec);
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    debug_assert_eq!(
        name_of_text(text_of_name(path.as_os_str())),
        path.as_os_str()
    );
    Ok(path_string(thread, &path))
}
