//! Signals: where they enter the machine.
//!
//! A system thread takes the signals that a program watches and writes the number of each into a pipe, a byte a time. The other
//! end is a binary input port, so that who waits for signals waits as for any other input, and nothing of the machine runs in a
//! signal handler. A pipe that nobody reads fills up; then the thread waits, and the system collapses signals as it
//! always does.
//!
//! | shared state | written by | read by |
//! |---|---|---|
//! | `watched`, a bit for each number | the rows | the thread; the host program, for SIGINT |
//! | `source` | the row that opens the port | the rows |
//!
//! A handler of the system's is never taken away. A signal that is not watched any more does what it did: the thread
//! does it, except for SIGINT, which is the host program's.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canny_io::Handle;
use canny_io::process::{name_of_signal, signal_of_name};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread, Vm};
use rustix::process::Signal;
use signal_hook::iterator;

use super::posix::{port_of_kind, refused};
use crate::arguments::{Call, implementations};
use crate::host::Host;

/// Name of the root with the procedure that is called at the end of the program.
const SHUTDOWN: &str = "shutdown procedure";

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%signal-port" => open;
    "%watch-signal!" => watch;
    "%unwatch-signal!" => unwatch;
    "%raise-signal" => raise_signal;
    "%set-shutdown-procedure!" => |thread, call: Call| {
        thread.vm().set_root(SHUTDOWN, call.at(0));
        Ok(Value::UNSPECIFIED)
    };
};

/// The signals that a machine watches.
#[derive(Default)]
pub(crate) struct Signals {
    watched: Arc<AtomicU64>,
    source: Mutex<Option<iterator::Handle>>,
}

impl Signals {
    fn source(&self) -> MutexGuard<'_, Option<iterator::Handle>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_watched(&self, number: i32) -> bool {
        self.watched.load(Ordering::SeqCst) & bit(number) != 0
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Some(source) = &*self.source() {
            source.close();
        }
    }
}

fn bit(number: i32) -> u64 {
    u32::try_from(number)
        .ok()
        .and_then(|number| 1_u64.checked_shl(number))
        .unwrap_or(0)
}

/// Whether a program of the machine takes this signal, so that the host program should not.
pub fn is_watched(vm: &Vm, number: i32) -> bool {
    Host::of_machine(vm).signals.is_watched(number)
}

/// What the program wants to be called at its end. Asking takes it.
pub fn take_shutdown_procedure(vm: &Vm) -> Option<Value> {
    let procedure = vm.root(SHUTDOWN).filter(|procedure| procedure.is_true())?;
    vm.set_root(SHUTDOWN, Value::FALSE);
    Some(procedure)
}

fn open(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let signals = &Host::of(thread).signals;
    let watched = signals.watched.clone();
    let opened = io::pipe().and_then(|(reader, writer)| {
        let source = start(writer, watched)?;
        Ok((reader, source))
    });
    match opened {
        Ok((reader, source)) => {
            if let Some(old) = signals.source().replace(source) {
                old.close();
            }
            let handle = Handle::from_descriptor(OwnedFd::from(reader), "signals");
            port_of_kind(thread, call, 0, handle)
        }
        Err(error) => Err(refused(thread, call, "watch signals", &error)),
    }
}

/// Starts the thread that takes signals.
fn start(mut writer: io::PipeWriter, watched: Arc<AtomicU64>) -> io::Result<iterator::Handle> {
    let mut signals = iterator::Signals::new([] as [i32; 0])?;
    let source = signals.handle();
    std::thread::Builder::new()
        .name("watched-signals".into())
        .spawn(move || {
            for number in signals.forever() {
                if watched.load(Ordering::SeqCst) & bit(number) != 0 {
                    // Without a reader there is nobody to tell.
                    let _ = writer.write_all(&[number as u8]);
                } else if number != Signal::INT.as_raw() {
                    let _ = signal_hook::low_level::emulate_default_handler(number);
                }
            }
        })?;
    Ok(source)
}

fn watch(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = match call.at(0).as_fixnum() {
        Some(number) => i32::try_from(number).ok().and_then(name_of_signal),
        None => symbol_name(call.at(0)),
    };
    let Some(signal) = name.as_deref().and_then(signal_of_name) else {
        return Err(call.range_error(thread, 0, "a signal, such as sigterm"));
    };
    let number = signal.as_raw();
    if signal_hook::consts::FORBIDDEN.contains(&number) {
        return Err(call.range_error(thread, 0, "a signal that a program can take"));
    }
    let signals = &Host::of(thread).signals;
    let added = match &*signals.source() {
        Some(source) => {
            signals.watched.fetch_or(bit(number), Ordering::SeqCst);
            source.add_signal(number)
        }
        None => Err(io::ErrorKind::NotConnected.into()),
    };
    match added {
        Ok(()) => Ok(Value::fixnum(i64::from(number))),
        Err(error) => Err(refused(thread, call, "watch the signal", &error)),
    }
}

fn number_of_signal(thread: &mut Thread, call: Call) -> Result<i32, Raise> {
    let number = i32::try_from(call.index(thread, 0)?).unwrap_or(0);
    match name_of_signal(number) {
        Some(_) => Ok(number),
        None => Err(call.range_error(thread, 0, "the number of a signal")),
    }
}

fn unwatch(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = number_of_signal(thread, call)?;
    let signals = &Host::of(thread).signals;
    signals.watched.fetch_and(!bit(number), Ordering::SeqCst);
    Ok(Value::UNSPECIFIED)
}

fn raise_signal(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = number_of_signal(thread, call)?;
    let signal = name_of_signal(number).as_deref().and_then(signal_of_name);
    let sent = match signal {
        Some(signal) => rustix::process::kill_process(rustix::process::getpid(), signal),
        None => Ok(()),
    };
    match sent {
        Ok(()) => Ok(Value::UNSPECIFIED),
        Err(errno) => Err(refused(thread, call, "send the signal", &errno.into())),
    }
}
