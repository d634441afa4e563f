//! Signals: where they enter the machine.
//!
//! One system thread takes them all. It writes the number of each that a program watches into a
//! pipe, a byte a time. The other end is a binary input port, so that a program waits for signals
//! as for any other input. Nothing of the machine runs in a signal handler. A pipe that nobody
//! reads fills up; then the thread waits, and the system collapses signals as it always does. A
//! SIGINT that is not watched goes to the host program. Since one thread decides, each goes to one
//! of them.
//!
//! | shared state | written by | read by |
//! |---|---|---|
//! | `watched`, a bit for each number | the rows | the thread |
//! | `writer`, the end of the pipe | the row that opens the port | the thread |
//! | `on_interrupt`, `on_ask`, `on_heap` | the host program, once | the thread |
//! | `source` | who starts the thread | the rows |
//! | `LOAN` | who lends a thread, who borrows it | the same |
//!
//! The host program may lend a thread that has nothing to do but to wait, with [`run_beside`]; else one
//! is made.
//!
//! A handler of the system's is never taken away. A signal that is not watched any more does what it
//! did: the thread does it.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use canny_io::Handle;
use canny_io::process::{name_of_signal, signal_of_name};
use canny_locks::{Mutex, MutexGuard};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread, Vm};
use rustix::process::Signal;
use signal_hook::iterator;

use super::ports::flag;
use super::ports::table::port_over;
use super::posix::refused;
use crate::arguments::{Call, implementations};
use crate::host;

/// Name of the root with the procedure that is called at the end of the program.
const SHUTDOWN: &str = "shutdown procedure";

/// The signal that asks for a snapshot of the heap, if the command line says so.
const HEAP_SIGNAL: Signal = Signal::USR2;

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

/// The host program's reaction to a SIGINT that the program does not watch.
type OnInterrupt = Box<dyn Fn() + Send + Sync>;

/// The signals that a machine watches.
#[derive(Default)]
pub(crate) struct Signals {
    shared: Arc<Shared>,
    source: Mutex<Option<iterator::Handle>>,
}

/// The state shared with the thread that takes signals.
#[derive(Default)]
struct Shared {
    watched: AtomicU64,
    writer: Mutex<Option<io::PipeWriter>>,
    on_interrupt: OnceLock<OnInterrupt>,
    on_ask: OnceLock<OnInterrupt>,
    on_heap: OnceLock<OnInterrupt>,
}

impl Signals {
    fn source(&self) -> MutexGuard<'_, Option<iterator::Handle>> {
        self.source.lock()
    }

    /// Has the thread take a signal; starts it if there is none.
    fn take(&self, number: i32) -> io::Result<()> {
        let mut source = self.source();
        if let Some(source) = &*source {
            return source.add_signal(number);
        }
        let signals = iterator::Signals::new([number])?;
        let handle = signals.handle();
        let service = Service {
            signals,
            shared: self.shared.clone(),
        };
        if let Some(service) = borrow_thread(service) {
            std::thread::Builder::new()
                .name("signals".into())
                .spawn(move || service.serve())?;
        }
        *source = Some(handle);
        Ok(())
    }
}

/// The work of a thread that takes signals.
struct Service {
    signals: iterator::Signals,
    shared: Arc<Shared>,
}

impl Service {
    /// Until the handle of the signals is closed.
    fn serve(mut self) {
        for number in self.signals.forever() {
            self.shared.deliver(number);
        }
    }
}

/// A thread that the host program lends.
enum Loan {
    /// There is none, or no more.
    None,
    /// It waits for something to do.
    Offered(Sender<Service>),
    /// It takes signals until this is closed.
    Taken(iterator::Handle),
}

static LOAN: Mutex<Loan> = Mutex::new(Loan::None);

fn loan() -> MutexGuard<'static, Loan> {
    LOAN.lock()
}

/// Gives a service to the thread that was lent; gives it back if there is none.
fn borrow_thread(service: Service) -> Option<Service> {
    let mut loan = loan();
    let Loan::Offered(sender) = &*loan else {
        return Some(service);
    };
    let handle = service.signals.handle();
    if let Err(refused) = sender.send(service) {
        return Some(refused.0);
    }
    *loan = Loan::Taken(handle);
    None
}

/// Ends the loan when the thread that is waited for ends, however it does.
struct EndOfLoan;

impl Drop for EndOfLoan {
    fn drop(&mut self) {
        if let Loan::Taken(handle) = std::mem::replace(&mut *loan(), Loan::None) {
            handle.close();
        }
    }
}

/// Does some work on a thread of its own and waits for its end; meanwhile the calling thread takes
/// signals for the first machine that wants some. So a program has a thread less.
pub fn run_beside<T: Send + 'static>(
    thread: std::thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<std::thread::Result<T>> {
    let (sender, services) = channel();
    *loan() = Loan::Offered(sender);
    let end = EndOfLoan;
    let worker = thread.spawn(move || {
        let _end = end;
        work()
    })?;
    services.into_iter().for_each(Service::serve);
    Ok(worker.join())
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Option<io::PipeWriter>> {
        self.writer.lock()
    }

    fn deliver(&self, number: i32) {
        let is_ask = number == crate::ask::SIGNAL.as_raw();
        if let Some(ask) = self.on_ask.get()
            && is_ask
        {
            ask();
        }
        let is_heap = number == HEAP_SIGNAL.as_raw() && self.on_heap.get().is_some();
        if let Some(take) = self.on_heap.get()
            && is_heap
        {
            take();
        }
        if self.watched.load(Ordering::SeqCst) & bit(number) != 0 {
            if let Some(writer) = &mut *self.writer() {
                // Without a reader there is nobody to tell.
                let _ = writer.write_all(&[number as u8]);
            }
            return;
        }
        match self.on_interrupt.get() {
            Some(interrupt) if number == Signal::INT.as_raw() => interrupt(),
            _ if is_ask || is_heap => {}
            _ => {
                let _ = signal_hook::low_level::emulate_default_handler(number);
            }
        }
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

/// Has a procedure called, on the thread for signals, for each SIGINT that the program does not watch.
/// Only the first call has an effect.
pub fn handle_interrupts(vm: &Vm, on_interrupt: OnInterrupt) {
    let signals: &Signals = host::state(vm);
    if signals.shared.on_interrupt.set(on_interrupt).is_ok() {
        // Without the thread Ctrl-C is lost, which is no reason not to run.
        let _ = signals.take(Signal::INT.as_raw());
    }
}

/// Has the process answer clients from outside; see [`crate::ask`]. Costs one handler of a signal.
pub fn handle_asks(vm: &Arc<Vm>) {
    let signals: &Signals = host::state(vm);
    let machine = Arc::downgrade(vm);
    let ask = move || crate::ask::listen(machine.clone());
    if signals.shared.on_ask.set(Box::new(ask)).is_ok() {
        // Without the handler the process cannot be asked, which is no reason not to run.
        let _ = signals.take(crate::ask::SIGNAL.as_raw());
    }
}

/// Has a procedure called, on the thread for signals, for each SIGUSR2. A program that watches the signal
/// gets it, too.
///
/// # Errors
/// The system has no handler or no thread for it.
pub fn handle_heap_signal(vm: &Vm, on_heap: OnInterrupt) -> io::Result<()> {
    let signals: &Signals = host::state(vm);
    match signals.shared.on_heap.set(on_heap) {
        Ok(()) => signals.take(HEAP_SIGNAL.as_raw()),
        Err(_) => Ok(()),
    }
}

/// Takes the procedure that the program wants to be called at its end.
pub fn take_shutdown_procedure(vm: &Vm) -> Option<Value> {
    let procedure = vm.root(SHUTDOWN).filter(|procedure| procedure.is_true())?;
    vm.set_root(SHUTDOWN, Value::FALSE);
    Some(procedure)
}

fn open(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut writer = None;
    let reader = canny_replay::ask_for_descriptor(canny_replay::Kind::Open, || {
        let (reader, other) = io::pipe()?;
        writer = Some(other);
        Ok::<_, io::Error>(OwnedFd::from(reader))
    });
    match reader {
        Ok(reader) => {
            let signals: &Signals = host::state(thread.vm());
            *signals.shared.writer() = writer;
            let handle = Handle::from_descriptor(reader, "signals");
            port_over(thread, handle, flag::BINARY | flag::INPUT)
        }
        Err(error) => Err(refused(thread, call, "watch signals", &error)),
    }
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
    let signals: &Signals = host::state(thread.vm());
    // Before the first one can come.
    signals
        .shared
        .watched
        .fetch_or(bit(number), Ordering::SeqCst);
    let added = signals.take(number);
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
    let signals: &Signals = host::state(thread.vm());
    signals
        .shared
        .watched
        .fetch_and(!bit(number), Ordering::SeqCst);
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
