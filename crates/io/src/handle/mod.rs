//! Byte handles: one type for files, pipes, terminals, the standard streams and devices in memory.
//!
//! A handle carries bytes only and is bound to no thread. The access to its parts:
//!
//! | field | touched | condition |
//! |---|---|---|
//! | `name`, `access`, `terminal`, `regular` | read by anyone | fixed at creation |
//! | `backend` | any operation | under its lock, and never while sleeping |
//! | `transferred` | any operation | only written under the lock; read freely |
//! | `timeout` | anyone | read when an operation begins to wait |
//! | `changed` | any operation | given after a write and after `close` |
//!
//! Sleeping happens outside of the lock and goes through `canny_sched`, with a second reference to a
//! descriptor, so that its number is not reused meanwhile. Therefore a reader that waits delays neither
//! a writer nor `close`, and notices the latter soon.
//!
//! An error that a file system reports only when a descriptor is closed is an error of `close`, unless
//! another operation is just waiting for the descriptor, which then goes with that.

mod closing;
mod device;
mod files;
mod pending;
#[cfg(test)]
mod tests;
mod transfer;

pub use device::{Awaited, ByteDevice};

use std::fmt;
use std::io::{self, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canny_locks::{Mutex, MutexGuard};
use canny_replay::Kind;
use canny_sched::{Interest, Notice, Seen, Wake};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use crate::error::{IoError, Operation, Service};
use crate::wait::Wait;
use device::{ChannelDevice, MemoryDevice};
use transfer::Transfer;

pub use files::FileLock;
pub use pending::Pending;

/// How long a device that would block is left alone.
const DEVICE_SLICE: Duration = Duration::from_millis(100);

/// The directions in which a handle was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

impl Access {
    /// Reading is allowed.
    pub fn reads(self) -> bool {
        self != Access::Write
    }

    /// Writing is allowed.
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

/// An open, or no longer open, source or sink of bytes.
pub struct Handle {
    name: Box<str>,
    access: Access,
    terminal: bool,
    regular: bool,
    transferred: AtomicU64,
    /// In milliseconds; 0 is none.
    timeout: AtomicU64,
    backend: Mutex<Backend>,
    changed: Notice,
}

enum Backend {
    Descriptor {
        descriptor: Arc<Descriptor>,
        transfer: Transfer,
    },
    Device(Box<dyn ByteDevice>),
    Channel(ChannelDevice),
    Closed,
}

enum Descriptor {
    Owned(OwnedFd),
    /// One direction of two, in which a connection or a file is used.
    Shared(Arc<OwnedFd>),
    /// Descriptors 0 to 2 stay open when their handle is closed: their numbers must not be reused.
    Standard(BorrowedFd<'static>),
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Descriptor::Owned(descriptor) => descriptor.as_fd(),
            Descriptor::Shared(descriptor) => descriptor.as_fd(),
            Descriptor::Standard(descriptor) => *descriptor,
        }
    }
}

impl Handle {
    /// The process's standard input.
    pub fn standard_input() -> Arc<Handle> {
        Handle::standard(rustix::stdio::stdin(), "standard input", Access::Read)
    }

    /// The process's standard output.
    pub fn standard_output() -> Arc<Handle> {
        Handle::standard(rustix::stdio::stdout(), "standard output", Access::Write)
    }

    /// The process's standard error.
    pub fn standard_error() -> Arc<Handle> {
        Handle::standard(rustix::stdio::stderr(), "standard error", Access::Write)
    }

    fn standard(descriptor: BorrowedFd<'static>, name: &str, access: Access) -> Arc<Handle> {
        Handle::from_any_descriptor(Descriptor::Standard(descriptor), name, access)
    }

    /// A handle that owns an open descriptor: a file, pipe, terminal or socket. `name` is for messages.
    pub fn from_descriptor(descriptor: impl Into<OwnedFd>, name: &str) -> Arc<Handle> {
        let descriptor = descriptor.into();
        let flags = canny_replay::ask(Kind::Descriptor, || {
            rustix::fs::fcntl_getfl(&descriptor).map(|flags| flags.bits())
        });
        let access = match flags.map(OFlags::from_bits_retain) {
            Ok(flags) if flags.contains(OFlags::RDWR) => Access::ReadWrite,
            Ok(flags) if flags.contains(OFlags::WRONLY) => Access::Write,
            Ok(_) => Access::Read,
            // The operations themselves will report what is wrong with it.
            Err(_) => Access::ReadWrite,
        };
        Handle::from_any_descriptor(Descriptor::Owned(descriptor), name, access)
    }

    /// Two handles on one descriptor, the first to read and the second to write, with one position if it has
    /// any. It is closed with the last of them; closing the second one of a connection shows the other side
    /// that nothing follows.
    pub fn pair_from_descriptor(
        descriptor: impl Into<OwnedFd>,
        name: &str,
    ) -> (Arc<Handle>, Arc<Handle>) {
        let descriptor = Arc::new(descriptor.into());
        let [input, output] = [Access::Read, Access::Write].map(|access| {
            Handle::from_any_descriptor(Descriptor::Shared(Arc::clone(&descriptor)), name, access)
        });
        (input, output)
    }

    /// A handle for one direction of a connection whose descriptor does not block. The descriptor is closed
    /// with the last handle on it; closing that for output shows the other side that nothing follows.
    pub(crate) fn from_socket(descriptor: Arc<OwnedFd>, name: &str, access: Access) -> Arc<Handle> {
        Handle::with_backend(
            Backend::Descriptor {
                descriptor: Arc::new(Descriptor::Shared(descriptor)),
                transfer: Transfer::Plain,
            },
            name,
            access,
        )
    }

    fn from_any_descriptor(descriptor: Descriptor, name: &str, access: Access) -> Arc<Handle> {
        let (mode, terminal) = canny_replay::ask(Kind::Descriptor, || {
            let mode = rustix::fs::fstat(&descriptor).map(|status| status.st_mode);
            (mode, io::IsTerminal::is_terminal(&descriptor.as_fd()))
        });
        let file_type = mode.map(FileType::from_raw_mode);
        let transfer = match file_type {
            Ok(FileType::Fifo | FileType::CharacterDevice | FileType::Socket) => {
                Transfer::MAY_BLOCK
            }
            _ => Transfer::Plain,
        };
        Arc::new(Handle {
            name: name.into(),
            access,
            terminal,
            regular: matches!(file_type, Ok(FileType::RegularFile)),
            transferred: AtomicU64::new(0),
            timeout: AtomicU64::new(0),
            backend: Mutex::new(Backend::Descriptor {
                descriptor: Arc::new(descriptor),
                transfer,
            }),
            changed: Notice::new(),
        })
    }

    /// A handle over any device.
    pub fn from_device(device: Box<dyn ByteDevice>, name: &str, access: Access) -> Arc<Handle> {
        Handle::with_backend(Backend::Device(device), name, access)
    }

    /// A file in memory with the given contents, readable, writable and seekable.
    pub fn memory(bytes: Vec<u8>) -> Arc<Handle> {
        Handle::from_device(
            Box::new(MemoryDevice::new(bytes)),
            "memory",
            Access::ReadWrite,
        )
    }

    /// A pipe in memory: bytes that are written to the handle are read from it, once and in order.
    pub fn channel(name: &str) -> Arc<Handle> {
        Handle::with_backend(
            Backend::Channel(ChannelDevice::default()),
            name,
            Access::ReadWrite,
        )
    }

    /// A channel whose other side is a procedure: an operation that would wait fails with
    /// [`IoError::Unserved`] instead.
    pub fn served_channel(name: &str) -> Arc<Handle> {
        Handle::with_backend(
            Backend::Channel(ChannelDevice::served()),
            name,
            Access::ReadWrite,
        )
    }

    fn with_backend(backend: Backend, name: &str, access: Access) -> Arc<Handle> {
        Arc::new(Handle {
            name: name.into(),
            access,
            terminal: false,
            regular: false,
            transferred: AtomicU64::new(0),
            timeout: AtomicU64::new(0),
            backend: Mutex::new(backend),
            changed: Notice::new(),
        })
    }

    /// The path, or a description such as "standard output".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of memory that the device behind the handle holds, as far as that is known now.
    pub fn device_memory_bytes(&self) -> usize {
        match self.backend.try_lock().as_deref() {
            Some(Backend::Device(device)) => device.memory_bytes(),
            _ => 0,
        }
    }

    /// The directions in which the handle was opened.
    pub fn access(&self) -> Access {
        self.access
    }

    /// A person sits at the other end.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// A regular file: reading never waits.
    pub fn is_regular_file(&self) -> bool {
        self.regular
    }

    /// `close` was called.
    pub fn is_closed(&self) -> bool {
        matches!(*self.lock(), Backend::Closed)
    }

    /// The descriptor, which stays open while the result is held; `None` for devices and when closed.
    pub(crate) fn descriptor(&self) -> Option<Arc<impl AsFd + use<>>> {
        match &*self.lock() {
            Backend::Descriptor { descriptor, .. } => Some(Arc::clone(descriptor)),
            _ => None,
        }
    }

    /// Another descriptor for the same thing, for a process or a second handle.
    pub fn duplicate(&self) -> Result<OwnedFd, IoError> {
        if self.is_closed() {
            return Err(IoError::closed(Operation::Open, &self.name));
        }
        let Some(descriptor) = self.descriptor() else {
            return Err(IoError::unsupported(Operation::Open, &self.name));
        };
        let copy = descriptor.as_fd().try_clone_to_owned();
        copy.map_err(|error| IoError::from_system(Operation::Open, &self.name, error))
    }

    /// Reads at least one byte into `buffer`, which must not be empty; 0 means the end of input. A
    /// terminal may deliver more after its end of input.
    pub fn read(&self, buffer: &mut [u8], wait: Wait<'_>) -> Result<usize, IoError> {
        if !self.access.reads() {
            return Err(IoError::unsupported(Operation::Read, &self.name));
        }
        match self.transfer(Operation::Read, wait, |backend| backend.read(buffer)) {
            // A terminal that has gone away, or whose other side is closed.
            Err(error) if self.terminal && error.os_code() == Some(Errno::IO.raw_os_error()) => {
                Ok(0)
            }
            outcome => outcome,
        }
    }

    /// Writes a prefix of `bytes` and returns its length: at least 1 unless `bytes` is empty.
    pub fn write(&self, bytes: &[u8], wait: Wait<'_>) -> Result<usize, IoError> {
        if !self.access.writes() {
            return Err(IoError::unsupported(Operation::Write, &self.name));
        }
        if bytes.is_empty() {
            return Ok(0);
        }
        let count = self.transfer(Operation::Write, wait, |backend| backend.write(bytes))?;
        if count == 0 {
            let error = io::ErrorKind::WriteZero.into();
            return Err(IoError::from_system(Operation::Write, &self.name, error));
        }
        Ok(count)
    }

    /// Whether it is open and holds nothing back, so that there is nothing to flush.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&*self.lock(), Backend::Descriptor { .. })
    }

    /// Hands on what a device holds back. Handles buffer nothing themselves, so that there is nothing
    /// to do for descriptors.
    pub fn flush(&self, wait: Wait<'_>) -> Result<(), IoError> {
        if let Backend::Channel(channel) = &mut *self.lock()
            && channel.is_served
            && !std::mem::take(&mut channel.is_acknowledged)
        {
            return Err(IoError::Unserved(Service::Flush));
        }
        let flush = |backend: &mut Backend| match backend {
            Backend::Device(device) => device.flush().map(|()| 0),
            Backend::Descriptor { .. } | Backend::Channel(_) | Backend::Closed => Ok(0),
        };
        self.transfer(Operation::Write, wait, flush).map(|_| ())
    }

    /// Moves to another position and returns it, counted in bytes from the start.
    pub fn seek(&self, target: SeekFrom) -> Result<u64, IoError> {
        let outcome = match &mut *self.lock() {
            Backend::Descriptor { descriptor, .. } => {
                let target = match target {
                    SeekFrom::Start(offset) => rustix::fs::SeekFrom::Start(offset),
                    SeekFrom::End(offset) => rustix::fs::SeekFrom::End(offset),
                    SeekFrom::Current(offset) => rustix::fs::SeekFrom::Current(offset),
                };
                let moved =
                    canny_replay::ask(Kind::Seek, || rustix::fs::seek(descriptor.as_fd(), target));
                match moved {
                    // A pipe, socket or terminal.
                    Err(Errno::SPIPE) => {
                        return Err(IoError::unsupported(Operation::Seek, &self.name));
                    }
                    outcome => outcome.map_err(io::Error::from),
                }
            }
            Backend::Device(device) => device.seek(target),
            Backend::Channel(_) => Err(io::ErrorKind::Unsupported.into()),
            Backend::Closed => return Err(IoError::closed(Operation::Seek, &self.name)),
        };
        outcome.map_err(|error| IoError::from_system(Operation::Seek, &self.name, error))
    }

    /// The position in bytes from the start. A descriptor that cannot seek counts the bytes it has carried.
    pub fn tell(&self) -> Result<u64, IoError> {
        match self.seek(SeekFrom::Current(0)) {
            Err(IoError::Unsupported(_)) => Ok(self.transferred.load(Ordering::Relaxed)),
            outcome => outcome,
        }
    }

    /// Ends a channel: its reader sees the end of input once everything written has been read. Has no
    /// effect on other handles.
    pub fn end_input(&self) {
        if let Backend::Channel(channel) = &mut *self.lock() {
            channel.ended = true;
        }
        self.changed.give();
    }

    /// Ends what was written to a channel so far: its reader sees an end of input there, and may find
    /// more behind it.
    pub fn end_input_for_now(&self) {
        if let Backend::Channel(channel) = &mut *self.lock() {
            channel.end_for_now();
        }
        self.changed.give();
    }

    /// Gives the reader of a channel bytes, however much is there already.
    pub fn feed_channel(&self, bytes: &[u8]) -> Result<(), IoError> {
        match &mut *self.lock() {
            Backend::Channel(channel) if !channel.ended => channel.feed(bytes),
            Backend::Closed => return Err(IoError::closed(Operation::Write, &self.name)),
            _ => return Err(IoError::unsupported(Operation::Write, &self.name)),
        }
        self.changed.give();
        Ok(())
    }

    /// Takes everything that was written to a channel and not read.
    pub fn take_channel(&self) -> Vec<u8> {
        match &mut *self.lock() {
            Backend::Channel(channel) => channel.take(),
            _ => Vec::new(),
        }
    }

    /// The other side is a procedure.
    pub fn is_served(&self) -> bool {
        matches!(&*self.lock(), Backend::Channel(channel) if channel.is_served)
    }

    /// Says that a flush or a close was served: the next one of the port is to complete.
    pub fn acknowledge(&self) {
        if let Backend::Channel(channel) = &mut *self.lock() {
            channel.is_acknowledged = true;
        }
    }

    /// Whether a closing of the port must be served first.
    pub fn wants_close(&self) -> bool {
        matches!(&*self.lock(), Backend::Channel(channel) if channel.is_served && !channel.is_acknowledged)
    }

    /// Closes the handle. Closing twice is no error. Operations that wait in other threads end with
    /// [`IoError::Closed`].
    pub fn close(&self) -> Result<(), IoError> {
        let backend = std::mem::replace(&mut *self.lock(), Backend::Closed);
        self.changed.give();
        match backend {
            Backend::Device(mut device) => device
                .close()
                .map_err(|error| IoError::from_system(Operation::Close, &self.name, error)),
            Backend::Descriptor { descriptor, .. } => {
                if let Descriptor::Shared(connection) = &*descriptor
                    && self.access.writes()
                {
                    // It may have ended already, which is no error of who ends it.
                    let _ = canny_replay::ask(Kind::Socket, || {
                        rustix::net::shutdown(connection, rustix::net::Shutdown::Write)
                    });
                }
                let owned = match Arc::into_inner(descriptor) {
                    Some(Descriptor::Owned(owned)) => Some(owned),
                    Some(Descriptor::Shared(shared)) => Arc::into_inner(shared),
                    Some(Descriptor::Standard(_)) | None => None,
                };
                owned
                    .map_or(Ok(()), closing::close)
                    .map_err(|error| IoError::from_system(Operation::Close, &self.name, error))
            }
            Backend::Channel(_) | Backend::Closed => Ok(()),
        }
    }

    /// Takes the handle from its users, which find it closed. The other side is not notified.
    pub(crate) fn detach(&self) {
        let backend = std::mem::replace(&mut *self.lock(), Backend::Closed);
        self.changed.give();
        drop(backend);
    }

    /// Whether what is written goes to another program, or to this one, by a connection. The standard
    /// descriptors do not, whatever they are.
    pub(crate) fn is_connection(&self) -> bool {
        let awaited = self.lock().awaited(Operation::Write);
        match awaited {
            Some(Source::Descriptor(descriptor, _)) => {
                !matches!(*descriptor, Descriptor::Standard(_))
                    && canny_replay::ask(Kind::Descriptor, || {
                        rustix::net::sockopt::socket_type(&*descriptor).is_ok()
                    })
            }
            Some(Source::Notice(..)) => true,
            None => false,
        }
    }

    /// Whether what was written is complete only when the handle is closed.
    pub fn completes_when_closed(&self) -> bool {
        matches!(&*self.lock(), Backend::Device(device) if device.completes_when_closed())
    }

    fn lock(&self) -> MutexGuard<'_, Backend> {
        self.backend.lock()
    }

    /// The longest time that an operation waits for the other side while nothing happens.
    pub fn timeout(&self) -> Option<Duration> {
        match self.timeout.load(Ordering::Relaxed) {
            0 => None,
            milliseconds => Some(Duration::from_millis(milliseconds)),
        }
    }

    /// Changes it for operations that begin to wait from now on; `None` is no limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        let milliseconds = timeout.map_or(0, |timeout| {
            u64::try_from(timeout.as_millis())
                .unwrap_or(u64::MAX)
                .max(1)
        });
        self.timeout.store(milliseconds, Ordering::Relaxed);
    }

    /// When a wait that begins now ends at the latest.
    fn deadline(&self, wait: Wait<'_>) -> Option<Instant> {
        let limit = self
            .timeout()
            .and_then(|timeout| canny_replay::now().checked_add(timeout));
        match (wait.deadline(), limit) {
            (Some(deadline), Some(limit)) => Some(deadline.min(limit)),
            (deadline, limit) => deadline.or(limit),
        }
    }

    /// Repeats `attempt` under the lock until it is neither interrupted nor would block, or until the
    /// caller's patience ends.
    fn transfer(
        &self,
        operation: Operation,
        wait: Wait<'_>,
        mut attempt: impl FnMut(&mut Backend) -> io::Result<usize>,
    ) -> Result<usize, IoError> {
        let mut backend = self.lock();
        let mut deadline = None;
        loop {
            if matches!(*backend, Backend::Closed) {
                return Err(IoError::closed(operation, &self.name));
            }
            let error = match attempt(&mut backend) {
                Ok(count) => {
                    self.transferred.fetch_add(count as u64, Ordering::Relaxed);
                    if operation == Operation::Write {
                        self.changed.give();
                    }
                    return Ok(count);
                }
                Err(error) => error,
            };
            match error.kind() {
                io::ErrorKind::Interrupted => {
                    if wait.is_interrupted() {
                        return Err(IoError::Interrupted);
                    }
                }
                io::ErrorKind::WouldBlock => {
                    if wait.is_interrupted() {
                        return Err(IoError::Interrupted);
                    }
                    if matches!(&*backend, Backend::Channel(channel) if channel.is_served) {
                        return Err(IoError::Unserved(match operation {
                            Operation::Read => Service::Fill,
                            _ => Service::Drain,
                        }));
                    }
                    if wait.is_non_blocking() {
                        return Err(IoError::WouldBlock);
                    }
                    let deadline = *deadline.get_or_insert_with(|| self.deadline(wait));
                    let (wake, is_brief);
                    (backend, wake, is_brief) = self.sleep(backend, operation, deadline, wait);
                    match wake {
                        // Another attempt finds out, also whether the handle was closed meanwhile.
                        Wake::Ready(_) => {}
                        _ if matches!(*backend, Backend::Closed) => {}
                        Wake::TimedOut => return Err(IoError::timed_out(operation, &self.name)),
                        Wake::Interrupted => return Err(IoError::Interrupted),
                        Wake::Parked if is_brief => return Err(IoError::parked_briefly()),
                        Wake::Parked => return Err(IoError::parked(operation, &self.name)),
                    }
                }
                _ => return Err(IoError::from_system(operation, &self.name, error)),
            }
        }
    }

    /// Sleeps without the lock until the backend may be ready or changed, or until the caller's
    /// patience ends. The last result is whether it sleeps for a slice only.
    fn sleep<'a>(
        &'a self,
        backend: MutexGuard<'a, Backend>,
        operation: Operation,
        deadline: Option<Instant>,
        wait: Wait<'_>,
    ) -> (MutexGuard<'a, Backend>, Wake, bool) {
        let changed = Interest::Notice(&self.changed, self.changed.look());
        let awaited = backend.awaited(operation);
        // A device that waits for nothing we know of gives no notice of its own accord: look at it now
        // and then.
        let look_again = (awaited.is_none() && matches!(&*backend, Backend::Device(_)))
            .then(|| canny_replay::now() + DEVICE_SLICE)
            .filter(|soon| deadline.is_none_or(|deadline| *soon < deadline));
        drop(backend);
        let interrupt = wait.interrupt();
        let limit = look_again.or(deadline);
        let wake = match &awaited {
            Some(source) => canny_sched::wait(&[source.interest(), changed], limit, interrupt),
            None => canny_sched::wait(&[changed], limit, interrupt),
        };
        let wake = match wake {
            Wake::TimedOut if look_again.is_some() => Wake::Ready(0),
            wake => wake,
        };
        (self.lock(), wake, look_again.is_some())
    }
}

/// The purpose of a wait.
enum Source {
    /// A descriptor, and whether it must be writable.
    Descriptor(Arc<Descriptor>, bool),
    Notice(Arc<Notice>, Seen),
}

impl Source {
    fn interest(&self) -> Interest<'_> {
        match self {
            Source::Descriptor(descriptor, true) => Interest::Writable(descriptor.as_fd()),
            Source::Descriptor(descriptor, false) => Interest::Readable(descriptor.as_fd()),
            Source::Notice(notice, seen) => Interest::Notice(notice, *seen),
        }
    }
}

impl Backend {
    /// The purpose of a wait. That of a device is behind it.
    fn awaited(&self, operation: Operation) -> Option<Source> {
        match self {
            Backend::Descriptor { descriptor, .. } => {
                let descriptor = Arc::clone(descriptor);
                Some(Source::Descriptor(descriptor, operation != Operation::Read))
            }
            Backend::Device(device) => match device.waits_for()? {
                Awaited::Handle(handle) => handle.lock().awaited(operation),
                Awaited::Readable(descriptor) => {
                    let descriptor = Arc::new(Descriptor::Shared(descriptor));
                    Some(Source::Descriptor(descriptor, false))
                }
                Awaited::Writable(descriptor) => {
                    let descriptor = Arc::new(Descriptor::Shared(descriptor));
                    Some(Source::Descriptor(descriptor, true))
                }
                Awaited::Notice(notice, seen) => Some(Source::Notice(notice, seen)),
            },
            Backend::Channel(_) | Backend::Closed => None,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Backend::Descriptor {
                descriptor,
                transfer,
            } => transfer.read(descriptor.as_fd(), buffer),
            Backend::Device(device) => device.read(buffer),
            Backend::Channel(channel) => channel.read(buffer),
            Backend::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Backend::Descriptor {
                descriptor,
                transfer,
            } => transfer.write(descriptor.as_fd(), bytes),
            Backend::Device(device) => device.write(bytes),
            Backend::Channel(channel) => channel.write(bytes),
            Backend::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Handle")
            .field("name", &self.name)
            .field("access", &self.access)
            .finish()
    }
}
