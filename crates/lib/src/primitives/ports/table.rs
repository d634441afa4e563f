//! The io ports behind port objects, by id.
//!
//! Ids are never used twice in a process, so that each system thread may keep the ports that it used
//! last in a small cache of its own, whatever machine they belong to. A port leaves the table when its
//! object died, or never; its entry in a cache may last longer, which is why the sweep closes it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use canny_io::error::SystemFailure;
use canny_io::lending::Borrower;
use canny_io::port::EncodeOptions;
use canny_io::{
    BinaryInput, BinaryOutput, DecodeOptions, Handle, IoError, Lender, Lent, Loan, Operation,
    SharedPort, TextInput, TextOutput, Wait,
};
use canny_locks::{Mutex, MutexGuard};
use canny_tables::kinds::Kind;
use canny_tables::layout::{loan, port as field};
use canny_value::Value;
use canny_vm::{Raise, Thread, Vm};

use super::{flag, id_of};
use crate::host::{self, HostKind, sweep_dead};

/// A textual input with what `read` remembers of it.
pub(crate) struct TextSource {
    pub(crate) text: TextInput,
    /// `read` folds symbols to lower case.
    pub(crate) folds_case: bool,
}

impl Lender for TextSource {
    const LENT: Lent = Lent::TextInput;

    fn lend(&mut self) -> Range<usize> {
        self.text.lend()
    }

    fn take_back(&mut self, count: usize) {
        self.text.take_back(count);
    }

    fn text_limit(&self, lent: &Range<usize>) -> usize {
        self.text.text_limit(lent)
    }

    fn has_plain_lines(&self) -> bool {
        self.text.has_plain_lines()
    }
}

/// The port behind a port object. Generated code knows the addresses of the loans, so that shared
/// ports stay where they are.
pub(crate) enum HostPort {
    TextInput(Box<SharedPort<TextSource>>),
    TextOutput(Arc<SharedPort<TextOutput>>),
    BinaryInput(Box<SharedPort<BinaryInput>>),
    BinaryOutput(Arc<SharedPort<BinaryOutput>>),
}

const _: () = {
    let [owner, cursor, limit, has_plain_lines, text_limit] = Loan::OFFSETS;
    assert!(owner == loan::OWNER as usize);
    assert!(cursor == loan::CURSOR as usize);
    assert!(limit == loan::LIMIT as usize);
    assert!(has_plain_lines == loan::HAS_PLAIN_LINES as usize);
    assert!(text_limit == loan::TEXT_LIMIT as usize);
    assert!(Lent::TextInput as u64 == loan::TEXT_INPUT);
    assert!(Lent::TextOutput as u64 == loan::TEXT_OUTPUT);
    assert!(Lent::ByteInput as u64 == loan::BYTE_INPUT);
    assert!(Lent::ByteOutput as u64 == loan::BYTE_OUTPUT);
};

impl HostPort {
    pub(crate) fn text_input(text: TextInput) -> HostPort {
        HostPort::text_source(TextSource {
            text,
            folds_case: false,
        })
    }

    pub(crate) fn text_source(source: TextSource) -> HostPort {
        HostPort::TextInput(Box::new(SharedPort::new(source)))
    }

    pub(crate) fn text_output(output: TextOutput) -> HostPort {
        HostPort::TextOutput(output.share())
    }

    pub(crate) fn binary_input(input: BinaryInput) -> HostPort {
        HostPort::BinaryInput(Box::new(SharedPort::new(input)))
    }

    pub(crate) fn binary_output(output: BinaryOutput) -> HostPort {
        HostPort::BinaryOutput(output.share())
    }

    /// Closes the port, after writing out what it holds.
    pub(crate) fn close(&self, wait: Wait<'_>) -> Result<(), IoError> {
        match self {
            HostPort::TextInput(port) => port.lock().text.close(),
            HostPort::TextOutput(port) => port.lock().close(wait),
            HostPort::BinaryInput(port) => port.lock().close(),
            HostPort::BinaryOutput(port) => port.lock().close(wait),
        }
    }

    /// Closes the port, without what it holds.
    pub(crate) fn discard(&self) -> Result<(), IoError> {
        match self {
            HostPort::TextInput(port) => port.lock().text.close(),
            HostPort::TextOutput(port) => port.lock().discard(),
            HostPort::BinaryInput(port) => port.lock().close(),
            HostPort::BinaryOutput(port) => port.lock().discard(),
        }
    }

    /// Closes the port when its object died, unless an output has other users. It does not wait for
    /// a reader of the port's remaining output.
    fn abandon(&self) -> Result<(), IoError> {
        match self {
            // Another owner writes the rest.
            HostPort::TextOutput(port) if Arc::strong_count(port) > 1 => {
                let _ = port.lock().flush(Wait::NonBlocking);
                Ok(())
            }
            HostPort::BinaryOutput(port) if Arc::strong_count(port) > 1 => {
                let _ = port.lock().flush(Wait::NonBlocking);
                Ok(())
            }
            _ => self.close(Wait::NonBlocking),
        }
    }

    /// Whether the port was not closed.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            HostPort::TextInput(port) => port.lock().text.is_open(),
            HostPort::TextOutput(port) => port.lock().is_open(),
            HostPort::BinaryInput(port) => port.lock().is_open(),
            HostPort::BinaryOutput(port) => port.lock().is_open(),
        }
    }

    /// The handle, unless the bytes are in memory.
    pub(crate) fn handle(&self) -> Option<Arc<Handle>> {
        match self {
            HostPort::TextInput(port) => port.lock().text.handle().cloned(),
            HostPort::TextOutput(port) => port.lock().handle().cloned(),
            HostPort::BinaryInput(port) => port.lock().handle().cloned(),
            HostPort::BinaryOutput(port) => port.lock().handle().cloned(),
        }
    }

    /// Bytes of the buffers, and the handle, if no thread holds the port.
    fn look(&self) -> Option<(usize, Option<Arc<Handle>>)> {
        match self {
            HostPort::TextInput(port) => {
                port.look(|port| (port.text.memory_bytes(), port.text.handle().cloned()))
            }
            HostPort::TextOutput(port) => {
                port.look(|port| (port.memory_bytes(), port.handle().cloned()))
            }
            HostPort::BinaryInput(port) => {
                port.look(|port| (port.memory_bytes(), port.handle().cloned()))
            }
            HostPort::BinaryOutput(port) => {
                port.look(|port| (port.memory_bytes(), port.handle().cloned()))
            }
        }
    }

    /// The loan through which generated code reads and writes.
    fn loan(&self) -> &Loan {
        match self {
            HostPort::TextInput(port) => port.loan(),
            HostPort::TextOutput(port) => port.loan(),
            HostPort::BinaryInput(port) => port.loan(),
            HostPort::BinaryOutput(port) => port.loan(),
        }
    }
}

/// The ports of a machine.
#[derive(Default)]
pub(crate) struct PortTable {
    ports: Mutex<PortsById>,
    /// With so many ports a collection looks for dead ones: what is behind a port is no part of the
    /// heap's budget.
    collect_at: AtomicUsize,
    /// Ports whose objects are dead, and whose other side has not taken yet what they hold.
    late: Mutex<Vec<LatePort>>,
    /// Set to report ports on standard error that were left open when nothing holds them any more.
    open_port_notices: OnceLock<()>,
}

impl HostKind for HostPort {
    const KIND: Kind = Kind::Port;

    type Table = PortTable;

    fn sweep(thread: &mut Thread, dead: &[u64]) {
        close_dead_ports(thread, dead);
    }

    fn held_bytes(table: &PortTable, number: u64) -> Option<u64> {
        let ports = table.ports.try_lock()?;
        let (buffers, handle) = ports.get(&number)?.look()?;
        let device = handle.map_or(0, |handle| handle.device_memory_bytes());
        Some((buffers + device) as u64)
    }

    fn has_more_to_sweep(table: &PortTable) -> bool {
        table.has_late()
    }
}

/// Reports ports on standard error that are closed because nothing holds them any more.
pub fn report_open_ports(vm: &Vm) {
    let _ = host::table_of_machine::<HostPort>(vm)
        .open_port_notices
        .set(());
}

/// A port that waits to be closed, but not for longer than the time that its operations have.
struct LatePort {
    port: Arc<HostPort>,
    until: Option<Instant>,
}

type PortsById = HashMap<u64, Arc<HostPort>, BuildHasherDefault<IdHasher>>;

/// Ids are counted, so that they need no hash that spreads them well over everything.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 | u64::from(*byte));
        }
    }

    /// The table takes its place from the low bits, and a tag from the high ones.
    fn write_u64(&mut self, id: u64) {
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Ports for whose sake no collection is made.
const PORTS_MIN: usize = 2048;

/// Ports that a thread keeps at hand.
const RECENT_PORTS: usize = 8;

type Recent = [Option<(u64, Arc<HostPort>)>; RECENT_PORTS];

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new([const { None }; RECENT_PORTS]) };
}

impl PortTable {
    fn lock(&self) -> MutexGuard<'_, PortsById> {
        self.ports.lock()
    }

    fn insert(&self, port: HostPort) -> u64 {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(id, Arc::new(port));
        id
    }

    fn late(&self) -> MutexGuard<'_, Vec<LatePort>> {
        self.late.lock()
    }

    /// Whether dead ports wait for readers of their remaining output.
    fn has_late(&self) -> bool {
        !self.late().is_empty()
    }

    fn is_crowded(&self) -> bool {
        self.lock().len() >= self.collect_at.load(Ordering::Relaxed).max(PORTS_MIN)
    }

    fn expect_as_many_again(&self) {
        let count = self.lock().len();
        self.collect_at.store(2 * count, Ordering::Relaxed);
    }

    fn find(&self, id: u64) -> Option<Arc<HostPort>> {
        self.lock().get(&id).cloned()
    }

    fn remove(&self, id: u64) -> Option<Arc<HostPort>> {
        self.lock().remove(&id)
    }
}

/// Runs `work` on the io port with this id. `work` must not come back here.
#[inline]
pub(crate) fn with_port<R>(
    thread: &mut Thread,
    id: Option<u64>,
    work: impl FnOnce(&mut Thread, &HostPort) -> Result<R, IoError>,
) -> Result<R, IoError> {
    let Some(id) = id else {
        return Err(unknown_port());
    };
    RECENT.with_borrow_mut(|recent| {
        let slot = &mut recent[id as usize % RECENT_PORTS];
        match slot {
            Some((known, port)) if *known == id => work(thread, port),
            _ => match find_slowly(thread, id) {
                Some(port) => work(thread, &slot.insert((id, port)).1),
                None => Err(unknown_port()),
            },
        }
    })
}

/// Writes ASCII to a textual output port that this thread used lately, if it takes that at once, and
/// whether it did. Looks at no thread but the one of the borrower, which runs this.
#[inline]
pub(crate) fn put_ascii(borrower: &Borrower, port: Value, text: &[u8]) -> bool {
    on_recent_port(port, |port| match port {
        HostPort::TextOutput(output) => output.put_at_once(borrower, text),
        _ => false,
    })
}

/// The same of text in UTF-8.
pub(crate) fn put_text(borrower: &Borrower, port: Value, text: &[u8]) -> bool {
    on_recent_port(port, |port| match port {
        HostPort::TextOutput(output) => output.put_text_at_once(borrower, text),
        _ => false,
    })
}

/// The same of bytes, for a binary output port.
pub(crate) fn put_bytes(borrower: &Borrower, port: Value, bytes: &[u8]) -> bool {
    on_recent_port(port, |port| match port {
        HostPort::BinaryOutput(output) => output.put_at_once(borrower, bytes),
        _ => false,
    })
}

/// Whether an output port that this thread used lately is open and everything written to it is out.
pub(crate) fn is_flushed(borrower: &Borrower, port: Value) -> bool {
    on_recent_port(port, |port| match port {
        HostPort::TextOutput(output) => output.is_flushed(borrower),
        HostPort::BinaryOutput(output) => output.is_flushed(borrower),
        _ => false,
    })
}

/// Runs `work`, which says whether it did something, on what is behind a port object if the thread has
/// it at hand.
#[inline]
fn on_recent_port(port: Value, work: impl FnOnce(&HostPort) -> bool) -> bool {
    let id = port
        .as_kind(Kind::Port)
        .and_then(|port| port.field(field::ID).as_index());
    id.and_then(|id| with_recent_port(id as u64, |port| work(port).then_some(())))
        .is_some()
}

/// Runs `work` on the io port with this id, if the thread has it at hand. `work` must not come back here.
#[inline]
pub(crate) fn with_recent_port<R>(id: u64, work: impl FnOnce(&HostPort) -> Option<R>) -> Option<R> {
    RECENT.with_borrow(|recent| match &recent[id as usize % RECENT_PORTS] {
        Some((known, port)) if *known == id => work(port),
        _ => None,
    })
}

#[cold]
#[inline(never)]
fn find_slowly(thread: &Thread, id: u64) -> Option<Arc<HostPort>> {
    host::table::<HostPort>(thread).find(id)
}

/// The failure of an operation on a port object that has nothing behind it.
#[cold]
pub(crate) fn unknown_port() -> IoError {
    IoError::System(Box::new(SystemFailure {
        operation: Operation::Open,
        name: "port".into(),
        error: std::io::Error::other("no such port"),
    }))
}

/// The failure of an operation that needs a handle.
#[cold]
pub(crate) fn unsupported(operation: Operation) -> IoError {
    IoError::Unsupported(Box::new(canny_io::error::Refusal {
        operation,
        name: "port".into(),
    }))
}

/// Gives a port object the io port behind it, without a safepoint. [`make_room`] comes before it.
pub(crate) fn give_object(thread: &mut Thread, object: Value, port: HostPort) {
    let loan = Value::from_aligned_address(port.loan().address());
    let id = host::table::<HostPort>(thread).insert(port);
    thread.store(object, field::ID, Value::fixnum(id as i64));
    thread.store(object, field::LOAN, loan);
    host::register::<HostPort>(thread, object, id);
}

/// Forgets dead ports; looks for them if there are many ports.
pub(super) fn make_room(thread: &mut Thread) {
    sweep_dead(thread);
    if host::table::<HostPort>(thread).is_crowded() {
        thread.collect_garbage(false);
        sweep_dead(thread);
        host::table::<HostPort>(thread).expect_as_many_again();
    }
}

/// Makes the port object for an io port.
pub(crate) fn make_port(
    thread: &mut Thread,
    port: HostPort,
    flags: i64,
    name: &str,
) -> Result<Value, Raise> {
    let object = bare_object(thread, flags, name)?;
    make_room(thread);
    give_object(thread, object, port);
    Ok(object)
}

/// Makes a port over a handle with the usual options; the flags say which kind of port.
pub(crate) fn port_over(
    thread: &mut Thread,
    handle: Arc<Handle>,
    flags: i64,
) -> Result<Value, Raise> {
    let name = handle.name().to_owned();
    let port = match (flags & flag::TEXTUAL != 0, flags & flag::OUTPUT != 0) {
        (false, false) => HostPort::binary_input(BinaryInput::new(handle)),
        (false, true) => HostPort::binary_output(BinaryOutput::new(handle)),
        (true, false) => HostPort::text_input(TextInput::new(handle, DecodeOptions::default())),
        (true, true) => HostPort::text_output(TextOutput::new(handle, EncodeOptions::default())),
    };
    make_port(thread, port, flags, &name)
}

/// A port object with nothing behind it.
pub(super) fn bare_object(thread: &mut Thread, flags: i64, name: &str) -> Result<Value, Raise> {
    let name = thread.literal_string(name);
    let fields = Kind::Port.row().fields.len();
    let object = thread.try_object(Kind::Port, 0, fields, Value::ZERO)?;
    thread.store(object, field::FLAGS, Value::fixnum(flags));
    thread.store(object, field::NAME, name);
    thread.store(object, field::SERVICE, Value::FALSE);
    // Compiled code looks at the loan; the object is not seen before it has its own.
    thread.store(object, field::LOAN, loan_of_none());
    Ok(object)
}

/// Whether a port of one direction was not closed.
pub(crate) fn is_open(thread: &mut Thread, port: Value) -> bool {
    let id = id_of(thread, port);
    let outcome = with_port(thread, id, |thread, host_port| {
        Ok(thread.outside_heap(|| host_port.is_open()))
    });
    outcome.unwrap_or(false)
}

fn loan_of_none() -> Value {
    Value::from_aligned_address(Loan::never().address())
}

/// Closes the ports with these ids, whose objects are dead, and those that could not be closed
/// before. Nobody is left to hear of an error. A collection waits for nobody: a port whose other
/// side does not take its output is tried again later, for as long as its time limit allows. Output
/// that remains when the program ends is written then, as by all open ports.
fn close_dead_ports(thread: &mut Thread, ids: &[u64]) {
    let table = host::table::<HostPort>(thread);
    let tells = table.open_port_notices.get().is_some();
    let ports: Vec<Arc<HostPort>> = ids.iter().filter_map(|id| table.remove(*id)).collect();
    let late = std::mem::take(&mut *table.late());
    let mut waiting = Vec::new();
    thread.outside_heap(|| {
        for port in ports {
            let handle = port.handle();
            if tells
                && port.is_open()
                && let Some(handle) = &handle
            {
                eprintln!(
                    "canny: a port was left open and is closed now: {}",
                    handle.name()
                );
            }
            let patience = handle.and_then(|handle| handle.timeout());
            let until = patience.and_then(|patience| canny_replay::now().checked_add(patience));
            waiting.extend(LatePort { port, until }.close(tells));
        }
        for port in late {
            waiting.extend(port.close(tells));
        }
    });
    if !waiting.is_empty() {
        host::table::<HostPort>(thread).late().extend(waiting);
    }
}

impl LatePort {
    /// Closes the port unless it has to be tried again.
    fn close(self, tells: bool) -> Option<LatePort> {
        let is_over = self.until.is_some_and(|until| until <= canny_replay::now());
        let outcome = match self.port.abandon() {
            Err(IoError::WouldBlock) if !is_over => return Some(self),
            Err(IoError::WouldBlock) => self.port.discard(),
            outcome => outcome,
        };
        if let Err(error) = outcome
            && tells
        {
            eprintln!("canny: {error}");
        }
        None
    }
}
