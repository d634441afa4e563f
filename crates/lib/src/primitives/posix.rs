//! Primitives of the operating system: clocks, the file system, the process.
//!
//! Times are nanoseconds as exact integers. A refusal of the system becomes a condition of the file
//! system with the system's words and the names as irritants. Setting a variable of the environment
//! changes what the program sees, not the process.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use canny_io::Handle;
use canny_tables::protocols::{Clock, OpenFlag, PortKind, file_info, system_name, user_id};
use canny_value::Value;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::time::{ClockId, clock_gettime};

use super::file_names::{path, path_string, text_of_name};
use super::ports::open::{is_out_of_descriptors, with_descriptors, with_descriptors_for_long};
use super::ports::sides::port_of_both;
use super::ports::table::{port_over, with_port};
use super::ports::{failed, flag, id_of};
use crate::arguments::{Call, implementations};
use crate::list::list_at;
use crate::outside::recorded_implementations;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%script-file" => script_file;
    "%set-environment-variable!" => set_environment_variable;
    "%open-file" => open_file;
    "%descriptor-port" => descriptor_port;
    "%terminal?" => is_terminal;
};

/// Rows that ask the system for plain data.
pub(crate) const RECORDED: &[(&str, PrimitiveFunction)] = recorded_implementations! {
    "%clock-nanoseconds" => clock_nanoseconds;
    "%system-names" => system_names;
    "%user-ids" => user_ids;
    "%supplementary-groups" => supplementary_groups;
    "%nice" => nice;
    "%umask" => umask;
    "%current-directory" => current_directory;
    "%set-current-directory!" => |thread, call| {
        on_file(thread, call, "change to the directory", |path| std::env::set_current_dir(path))
    };
    "%create-directory" => create_directory;
    "%create-fifo" => create_fifo;
    "%create-hard-link" => |thread, call| {
        on_two_files(thread, call, "link the file", |old, new| fs::hard_link(old, new))
    };
    "%create-symlink" => |thread, call| {
        on_two_files(thread, call, "make the symbolic link", |old, new| {
            std::os::unix::fs::symlink(old, new)
        })
    };
    "%read-symlink" => |thread, call| name_of(thread, call, "read the symbolic link", |path| {
        fs::read_link(path)
    });
    "%rename-file" => |thread, call| {
        let replace = call.optional(2) != Some(Value::FALSE);
        on_two_files(thread, call, "rename the file", |old, new| {
            if replace {
                fs::rename(old, new)
            } else {
                rename_new(old, new)
            }
        })
    };
    "%delete-directory" => |thread, call| {
        on_file(thread, call, "delete the directory", |path| fs::remove_dir(path))
    };
    "%set-file-mode" => set_file_mode;
    "%set-file-owner" => set_file_owner;
    "%set-file-times" => set_file_times;
    "%truncate-file" => truncate_file;
    "%file-info" => file_info;
    "%directory-files" => directory_files;
    "%real-path" => |thread, call| name_of(thread, call, "resolve the name", |path| {
        fs::canonicalize(path)
    });
    "%file-space" => file_space;
};

const NANOSECONDS_IN_SECOND: i64 = 1_000_000_000;

/// The text of a string argument.
pub(crate) fn text(thread: &mut Thread, call: Call, position: usize) -> Result<String, Raise> {
    let string = call.string(thread, position)?;
    Ok(string_text(string.value()).unwrap_or_default())
}

/// A small number, such as permission bits.
fn bits(thread: &mut Thread, call: Call, position: usize) -> Result<u32, Raise> {
    let number = call.index(thread, position)?;
    match u32::try_from(number) {
        Ok(number) if number <= 0o7777 => Ok(number),
        _ => Err(call.range_error(thread, position, "permission bits, at most #o7777")),
    }
}

/// The condition: the system refused to do something with the arguments that are strings.
pub(crate) fn refused(thread: &mut Thread, call: Call, what: &str, error: &io::Error) -> Raise {
    let mut words = error.to_string();
    if error.raw_os_error().is_some()
        && let Some(start) = words.rfind(" (os error ")
    {
        words.truncate(start);
    }
    let names: Vec<Value> = (0..call.count())
        .map(|position| call.at(position))
        .filter(|&argument| string_text(argument).is_some())
        .collect();
    let message = format!("cannot {what}: {words}");
    thread.raise(ConditionKind::File, &message, &names, Some(call.who))
}

/// Does something with the file that argument 0 names.
pub(crate) fn on_file(
    thread: &mut Thread,
    call: Call,
    what: &str,
    mut operation: impl FnMut(&Path) -> io::Result<()>,
) -> Result<Value, Raise> {
    let path = path(thread, call, 0)?;
    match with_descriptors(thread, is_out_of_descriptors, || operation(&path)) {
        Ok(()) => Ok(Value::UNSPECIFIED),
        Err(error) => Err(refused(thread, call, what, &error)),
    }
}

/// The same with something that may take long.
pub(crate) fn long_on_file(
    thread: &mut Thread,
    call: Call,
    what: &str,
    mut operation: impl FnMut(&Path) -> io::Result<()>,
) -> Result<Value, Raise> {
    let path = path(thread, call, 0)?;
    match with_descriptors_for_long(thread, is_out_of_descriptors, || operation(&path)) {
        Ok(()) => Ok(Value::UNSPECIFIED),
        Err(error) => Err(refused(thread, call, what, &error)),
    }
}

/// Does something with the files that arguments 0 and 1 name.
pub(crate) fn on_two_files(
    thread: &mut Thread,
    call: Call,
    what: &str,
    mut operation: impl FnMut(&Path, &Path) -> io::Result<()>,
) -> Result<Value, Raise> {
    let second = path(thread, call, 1)?;
    on_file(thread, call, what, |first| operation(first, &second))
}

/// The name that an operation on the file of argument 0 gives.
fn name_of(
    thread: &mut Thread,
    call: Call,
    what: &str,
    mut operation: impl FnMut(&Path) -> io::Result<std::path::PathBuf>,
) -> Result<Value, Raise> {
    let mut found = None;
    on_file(thread, call, what, |path| {
        found = Some(operation(path)?);
        Ok(())
    })?;
    let name = found.unwrap_or_default();
    Ok(path_string(thread, &name))
}

/// A list of exact integers.
pub(crate) fn integers(thread: &mut Thread, numbers: &[i64]) -> Value {
    let mut list = Value::NIL;
    for &number in numbers.iter().rev() {
        let number = thread.integer(number);
        list = thread.cons(number, list);
    }
    list
}

/// A list of strings.
fn strings(thread: &mut Thread, texts: &[String]) -> Value {
    let mut list = Value::NIL;
    for text in texts.iter().rev() {
        let text = thread.string(text);
        list = thread.cons(text, list);
    }
    list
}

/// A number of the system's as one that Scheme has, saturating.
pub(crate) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn clock_nanoseconds(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let clock = match call.case(thread, 0)? {
        Clock::Realtime => ClockId::Realtime,
        Clock::Monotonic => ClockId::Monotonic,
        Clock::Process => ClockId::ProcessCPUTime,
        Clock::Thread => ClockId::ThreadCPUTime,
    };
    let time = clock_gettime(clock);
    let nanoseconds = time
        .tv_sec
        .saturating_mul(NANOSECONDS_IN_SECOND)
        .saturating_add(time.tv_nsec);
    Ok(thread.integer(nanoseconds))
}

fn system_names(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let names = rustix::system::uname();
    let names = [
        (system_name::OPERATING_SYSTEM, names.sysname()),
        (system_name::NODE, names.nodename()),
        (system_name::RELEASE, names.release()),
        (system_name::VERSION, names.version()),
        (system_name::HARDWARE, names.machine()),
    ];
    let fields = names.map(|(at, name)| (at, thread.string(&name.to_string_lossy())));
    Ok(list_at::<{ system_name::COUNT }>(thread, fields))
}

fn script_file(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    match super::system::script_file(thread.vm()).map(str::to_owned) {
        Some(name) => Ok(thread.string(&name)),
        None => Ok(Value::FALSE),
    }
}

/// The variables of the process stay as they are: the change is in what the program sees.
fn set_environment_variable(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = text(thread, call, 0)?;
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(call.range_error(thread, 0, "a name without = and null characters"));
    }
    let value = if call.at(1) == Value::FALSE {
        None
    } else {
        let value = text(thread, call, 1)?;
        if value.contains('\0') {
            return Err(call.range_error(thread, 1, "a value without null characters"));
        }
        Some(value)
    };
    super::system::set_environment_variable(thread, name, value);
    Ok(Value::UNSPECIFIED)
}

fn user_ids(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    let ids = [
        (user_id::USER, getuid().as_raw()),
        (user_id::GROUP, getgid().as_raw()),
        (user_id::EFFECTIVE_USER, geteuid().as_raw()),
        (user_id::EFFECTIVE_GROUP, getegid().as_raw()),
    ];
    let fields = ids.map(|(at, id)| (at, thread.integer(i64::from(id))));
    Ok(list_at::<{ user_id::COUNT }>(thread, fields))
}

fn supplementary_groups(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match rustix::process::getgroups() {
        Ok(groups) => {
            let numbers: Vec<i64> = groups
                .iter()
                .map(|group| i64::from(group.as_raw()))
                .collect();
            Ok(integers(thread, &numbers))
        }
        Err(errno) => Err(refused(thread, call, "read the groups", &errno.into())),
    }
}

fn nice(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let Some(increment) = call.at(0).as_fixnum() else {
        return Err(call.type_error(thread, 0, "exact integer"));
    };
    let increment = increment.clamp(-100, 100) as i32;
    match rustix::process::nice(increment) {
        Ok(niceness) => Ok(thread.integer(i64::from(niceness))),
        Err(errno) => Err(refused(thread, call, "change the niceness", &errno.into())),
    }
}

fn umask(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mask = bits(thread, call, 0)?;
    let before = rustix::process::umask(Mode::from_raw_mode(mask as _));
    Ok(thread.integer(i64::from(before.as_raw_mode())))
}

fn current_directory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match std::env::current_dir() {
        Ok(path) => Ok(path_string(thread, &path)),
        Err(error) => Err(refused(thread, call, "find the current directory", &error)),
    }
}

fn create_directory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mode = bits(thread, call, 1)?;
    on_file(thread, call, "make the directory", |path| {
        fs::DirBuilder::new().mode(mode).create(path)
    })
}

fn create_fifo(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mode = Mode::from_raw_mode(bits(thread, call, 1)? as _);
    on_file(thread, call, "make the named pipe", |path| {
        Ok(rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0)?)
    })
}

fn set_file_mode(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mode = bits(thread, call, 1)?;
    on_file(thread, call, "change the mode of the file", |path| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    })
}

fn set_file_owner(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut ids = [None, None];
    for (position, id) in ids.iter_mut().enumerate() {
        let position = position + 1;
        if call.at(position) != Value::FALSE {
            let number = call.index(thread, position)?;
            // The largest number means "no change" to the system.
            match u32::try_from(number) {
                Ok(number) if number != u32::MAX => *id = Some(number),
                _ => return Err(call.range_error(thread, position, "a number of a user or group")),
            }
        }
    }
    let [user, group] = ids;
    on_file(thread, call, "change the owner of the file", |path| {
        let user = user.map(Uid::from_raw);
        let group = group.map(Gid::from_raw);
        Ok(rustix::fs::chown(path, user, group)?)
    })
}

/// A time argument: nanoseconds since 1970, `#t` for now, `#f` for no change.
fn file_time(thread: &mut Thread, call: Call, position: usize) -> Result<Timespec, Raise> {
    let (tv_sec, tv_nsec) = match call.at(position) {
        Value::TRUE => (0, rustix::fs::UTIME_NOW),
        Value::FALSE => (0, rustix::fs::UTIME_OMIT),
        number => match number.as_fixnum() {
            Some(nanoseconds) => (
                nanoseconds.div_euclid(NANOSECONDS_IN_SECOND),
                nanoseconds.rem_euclid(NANOSECONDS_IN_SECOND),
            ),
            None => return Err(call.type_error(thread, position, "nanoseconds since 1970")),
        },
    };
    Ok(Timespec { tv_sec, tv_nsec })
}

fn set_file_times(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let times = Timestamps {
        last_access: file_time(thread, call, 1)?,
        last_modification: file_time(thread, call, 2)?,
    };
    on_file(thread, call, "change the times of the file", |path| {
        Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::empty())?)
    })
}

fn truncate_file(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.index(thread, 1)? as u64;
    on_file(thread, call, "truncate the file", |path| {
        OpenOptions::new().write(true).open(path)?.set_len(length)
    })
}

fn file_info(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let follow = call.at(1) != Value::FALSE;
    let mut found = None;
    on_file(thread, call, "get information on the file", |path| {
        found = Some(if follow {
            fs::metadata(path)?
        } else {
            fs::symlink_metadata(path)?
        });
        Ok(())
    })?;
    let Some(info) = found else {
        return Ok(Value::FALSE);
    };
    let nanoseconds = |seconds: i64, rest: i64| {
        seconds
            .saturating_mul(NANOSECONDS_IN_SECOND)
            .saturating_add(rest)
    };
    let numbers = [
        (file_info::DEVICE, count(info.dev())),
        (file_info::INODE, count(info.ino())),
        (file_info::MODE, i64::from(info.mode())),
        (file_info::LINKS, count(info.nlink())),
        (file_info::USER, i64::from(info.uid())),
        (file_info::GROUP, i64::from(info.gid())),
        (file_info::SPECIAL_DEVICE, count(info.rdev())),
        (file_info::SIZE, count(info.size())),
        (file_info::BLOCK_SIZE, count(info.blksize())),
        (file_info::BLOCKS, count(info.blocks())),
        (
            file_info::ACCESSED,
            nanoseconds(info.atime(), info.atime_nsec()),
        ),
        (
            file_info::MODIFIED,
            nanoseconds(info.mtime(), info.mtime_nsec()),
        ),
        (
            file_info::CHANGED,
            nanoseconds(info.ctime(), info.ctime_nsec()),
        ),
    ];
    // The first word of the record is its type.
    let fields = numbers.map(|(word, number)| (word - 1, thread.integer(number)));
    Ok(list_at::<{ file_info::WORDS - 1 }>(thread, fields))
}

fn directory_files(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut names = Vec::new();
    on_file(thread, call, "read the directory", |path| {
        names.clear();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name());
        }
        Ok(())
    })?;
    names.sort();
    let names: Vec<String> = names.iter().map(|name| text_of_name(name)).collect();
    Ok(strings(thread, &names))
}

fn file_space(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut free = 0;
    on_file(thread, call, "find the free space", |path| {
        let status = rustix::fs::statvfs(path)?;
        free = status.f_bavail.saturating_mul(status.f_frsize);
        Ok(())
    })?;
    Ok(thread.integer(count(free)))
}

/// Renames a file unless the new name is taken.
fn rename_new(old: &Path, new: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(CWD, old, CWD, new, RenameFlags::NOREPLACE) {
            // A file system that does not know of this.
            Err(rustix::io::Errno::INVAL) => {}
            outcome => return Ok(outcome?),
        }
    }
    if fs::symlink_metadata(new).is_ok() {
        return Err(rustix::io::Errno::EXIST.into());
    }
    fs::rename(old, new)
}

/// Opens a file as the flags of `%open-file` ask.
fn open_with(path: &Path, kind: PortKind, flags: i64, mode: u32) -> io::Result<File> {
    let has = |flag: OpenFlag| flag.is_in(flags);
    let reads = matches!(
        kind,
        PortKind::BinaryInput | PortKind::TextualInput | PortKind::Both
    );
    let writes = matches!(
        kind,
        PortKind::BinaryOutput | PortKind::TextualOutput | PortKind::Both
    );
    let mut options = OpenOptions::new();
    options.read(reads).mode(mode);
    if writes {
        options
            .append(has(OpenFlag::Append))
            .write(!has(OpenFlag::Append));
        let creates = has(OpenFlag::Create);
        options
            .create(creates)
            .create_new(creates && has(OpenFlag::Exclusive));
        options.truncate(has(OpenFlag::Truncate));
    }
    if has(OpenFlag::NoFollow) {
        options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    Ok(file)
}

fn open_file(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = path(thread, call, 0)?;
    let name = text_of_name(path.as_os_str());
    let kind = call.case(thread, 1)?;
    let flags = call.index(thread, 2)? as i64;
    let mode = bits(thread, call, 3)?;
    let opened = with_descriptors(thread, is_out_of_descriptors, || {
        open_with(&path, kind, flags, mode)
    });
    let file = match opened {
        Ok(file) => file,
        Err(error) => return Err(refused(thread, call, "open file", &error)),
    };
    port_of_descriptor(thread, call, kind, file.into(), &name)
}

/// A port over the descriptor with a number, which stays open when the port is closed.
fn descriptor_port(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = call.index(thread, 0)?;
    let kind = call.case(thread, 1)?;
    match with_descriptors(thread, is_out_of_descriptors, || {
        canny_replay::ask_for_descriptor(canny_replay::Kind::Open, || duplicate_number(number))
    }) {
        Ok(descriptor) => {
            let name = format!("descriptor {number}");
            port_of_descriptor(thread, call, kind, descriptor, &name)
        }
        Err(error) => Err(refused(thread, call, "use the descriptor", &error)),
    }
}

/// Another descriptor for what a number of ours stands for. The standard ones are at hand; for others
/// the system is asked as for a stranger's, or, if it does not do that, for the file.
fn duplicate_number(number: usize) -> io::Result<OwnedFd> {
    let standard = match number {
        0 => Some(rustix::stdio::stdin()),
        1 => Some(rustix::stdio::stdout()),
        2 => Some(rustix::stdio::stderr()),
        _ => None,
    };
    if let Some(descriptor) = standard {
        return descriptor.try_clone_to_owned();
    }
    let Ok(number) = i32::try_from(number) else {
        return Err(rustix::io::Errno::BADF.into());
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
        let copy = pidfd_open(getpid(), PidfdFlags::empty())
            .and_then(|own| pidfd_getfd(own, number, PidfdGetfdFlags::empty()));
        match copy {
            Ok(descriptor) => return Ok(descriptor),
            Err(rustix::io::Errno::BADF) => return Err(rustix::io::Errno::BADF.into()),
            Err(_) => {}
        }
    }
    let name = format!("/dev/fd/{number}");
    let file = File::open(&name).or_else(|_| OpenOptions::new().write(true).open(&name))?;
    Ok(file.into())
}

/// A port of a kind over a descriptor.
fn port_of_descriptor(
    thread: &mut Thread,
    call: Call,
    kind: PortKind,
    descriptor: OwnedFd,
    name: &str,
) -> Result<Value, Raise> {
    match flags_of_kind(kind) {
        Some(flags) => port_over(thread, Handle::from_descriptor(descriptor, name), flags),
        None => port_of_both(thread, call, Handle::pair_from_descriptor(descriptor, name)),
    }
}

/// The flags of a port of a kind; `None` for both directions.
fn flags_of_kind(kind: PortKind) -> Option<i64> {
    Some(match kind {
        PortKind::BinaryInput => flag::BINARY | flag::INPUT,
        PortKind::TextualInput => flag::TEXTUAL | flag::INPUT,
        PortKind::BinaryOutput => flag::BINARY | flag::OUTPUT,
        PortKind::TextualOutput => flag::TEXTUAL | flag::OUTPUT,
        PortKind::Both => return None,
    })
}

/// The handle of a port, if it has one.
pub(crate) fn handle_of_port(
    thread: &mut Thread,
    call: Call,
    port: Value,
) -> Result<Option<Arc<Handle>>, Raise> {
    let port = super::ports::sides::for_questions(port, thread);
    let id = id_of(thread, port);
    let handle = with_port(thread, id, |thread, host_port| {
        Ok(thread.outside_heap(|| host_port.handle()))
    });
    handle.map_err(|error| failed(thread, call.who, Some(port), &error))
}

fn is_terminal(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = call.object(thread, 0, canny_tables::kinds::Kind::Port, "port")?;
    let handle = handle_of_port(thread, call, port.value())?;
    let is_terminal = handle.is_some_and(|handle| handle.is_terminal());
    Ok(Value::boolean(is_terminal))
}
