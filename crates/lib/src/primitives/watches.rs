//! Primitives that watch files and directories for changes, by `inotify` of Linux.
//!
//! A watch is a queue of the system's; tasks wait for its descriptor. Events are given as the
//! system tells them, and the library makes its own events of them. On other systems no watch can
//! be made.

#[cfg(target_os = "linux")]
pub(crate) use linux::{IMPLEMENTATIONS, Watch};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{IMPLEMENTATIONS, Watch};

use crate::host::kept_in_table;

kept_in_table!(Watch);

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::sync::Arc;

    use canny_io::{IoError, Operation};
    use canny_locks::{Mutex, MutexGuard};
    use canny_sched::{Interest, Notice, Wake};
    use canny_value::Value;
    use canny_vm::{PrimitiveFunction, Raise, Thread};
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;

    use crate::arguments::{Call, implementations};
    use crate::host::{find, keep};
    use crate::primitives::file_names::text_of_name;
    use crate::primitives::posix::refused;
    use crate::primitives::tasks::resumable;

    pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
        "%watch-open" => open;
        "%open-watcher" => add;
        "%watch-remove" => remove;
        "%watch-read" => read;
        "%watch-close" => close;
    };

    /// A queue of the system's, until it is closed.
    #[derive(Default)]
    pub(crate) struct Watch {
        queue: Mutex<Option<Arc<OwnedFd>>>,
        closed: Notice,
    }

    impl Watch {
        fn lock(&self) -> MutexGuard<'_, Option<Arc<OwnedFd>>> {
            self.queue.lock()
        }
    }

    /// Room for events that are read at once, each with a name of at most 255 bytes.
    const EVENT_BYTES: usize = 16 * 1024;

    fn open(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|errno| refused(thread, call, "watch files", &errno.into()))?;
        let watch = Watch {
            queue: Mutex::new(Some(Arc::new(queue))),
            closed: Notice::new(),
        };
        keep(thread, watch, "watch")
    }

    fn watch(thread: &mut Thread, call: Call) -> Result<Arc<Watch>, Raise> {
        find(thread, call.at(0)).ok_or_else(|| call.type_error(thread, 0, "watch"))
    }

    /// The queue of the watch that argument 0 is.
    fn queue(thread: &mut Thread, call: Call) -> Result<Arc<OwnedFd>, Raise> {
        let queue = watch(thread, call)?.lock().clone();
        queue.ok_or_else(|| call.range_error(thread, 0, "an open watch"))
    }

    fn add(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
        let queue = queue(thread, call)?;
        let path = super::super::file_names::path(thread, call, 1)?;
        let events = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVE
            | WatchFlags::MOVE_SELF;
        match thread.outside_heap(|| inotify::add_watch(&*queue, &path, events)) {
            Ok(number) => Ok(Value::fixnum(i64::from(number))),
            Err(errno) => Err(refused(thread, call, "watch the file", &errno.into())),
        }
    }

    fn remove(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
        let queue = queue(thread, call)?;
        let number = call.index(thread, 1)?;
        // The system removes watches of what is gone by itself.
        let _ = inotify::remove_watch(&*queue, i32::try_from(number).unwrap_or(-1));
        Ok(Value::UNSPECIFIED)
    }

    /// Number of the watch, bits, number that joins the two parts of a move, name.
    type Event = (i32, u32, u32, String);

    fn pending(queue: &OwnedFd) -> io::Result<Vec<Event>> {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut reader = inotify::Reader::new(queue, &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map_or(String::new(), |name| {
                        text_of_name(std::ffi::OsStr::from_bytes(name.to_bytes()))
                    });
                    events.push((event.wd(), event.events().bits(), event.cookie(), name));
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(events),
                Err(errno) => return Err(errno.into()),
            }
            if reader.is_buffer_empty() {
                return Ok(events);
            }
        }
    }

    fn read(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
        let watch = watch(thread, call)?;
        let seen = watch.closed.look();
        let queue = queue(thread, call)?;
        let deadline = call.deadline(thread, 1)?;
        let outcome = resumable(
            thread,
            call,
            deadline,
            |()| true,
            || Ok(()),
            |(), wait| {
                let closed = Interest::Notice(&watch.closed, seen);
                let interests = [Interest::Readable(queue.as_fd()), closed];
                match canny_sched::wait(&interests, wait.deadline(), wait.interrupt()) {
                    Wake::Ready(_) => Ok(pending(&queue).map(Some)),
                    Wake::TimedOut => Ok(Ok(None)),
                    Wake::Interrupted => Err(IoError::Interrupted),
                    Wake::Parked => Err(IoError::parked(Operation::Read, "watch")),
                }
            },
        )?;
        let events = match outcome {
            Ok(Some(events)) => events,
            Ok(None) => return Ok(Value::FALSE),
            Err(error) => return Err(refused(thread, call, "watch files", &error)),
        };
        let mut list = Value::NIL;
        for (watch, bits, cookie, name) in events.iter().rev() {
            let name = thread.string(name);
            let mut event = thread.cons(name, Value::NIL);
            for number in [i64::from(*cookie), i64::from(*bits), i64::from(*watch)] {
                event = thread.cons(Value::fixnum(number), event);
            }
            list = thread.cons(event, list);
        }
        Ok(list)
    }

    fn close(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
        let watch = watch(thread, call)?;
        let queue = watch.lock().take();
        if queue.is_some() {
            watch.closed.give();
        }
        Ok(Value::UNSPECIFIED)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use canny_value::Value;
    use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

    use crate::arguments::{Call, implementations};

    #[derive(Default)]
    pub(crate) struct Watch;

    pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
        "%watch-open" => unknown;
        "%open-watcher" => unknown;
        "%watch-remove" => unknown;
        "%watch-read" => unknown;
        "%watch-close" => unknown;
    };

    fn unknown(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
        let message = "this system does not tell of changes in a way that Canny knows";
        Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)))
    }
}
