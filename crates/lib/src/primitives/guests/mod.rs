//! WebAssembly guests: the machine's side of `(canny wasm)`.
//!
//! A store has a lock of its own, which is held while one of its guests runs for a slice. A call that is
//! left, for a procedure of Scheme or at the end of its slice, leaves a note. Scheme code takes
//! that, and continues the call. So no frame of Rust is between two frames
//! of Scheme, and a guest can be interrupted, parked and abandoned.
//!
//! A store belongs to the task that has begun a call of it until the call has ended. Other tasks are
//! told that it is in use.

mod components;
mod exceptions;
mod messages;
mod modules;
mod numbers;
mod objects;
mod profiles;
mod references;
mod stacks;
mod systems;
mod values;
mod waits;

pub(crate) use self::components::{GuestComponent, GuestInstance, GuestResource};
pub(crate) use self::messages::{GuestBodyReader, GuestBodyWriter, GuestExchange, GuestRequest};
pub(crate) use self::numbers::{quick_ref, quick_set};
pub use self::profiles::take_part;
pub(crate) use self::references::GuestReference;
pub(crate) use self::systems::GuestSystem;

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use canny_locks::{Mutex, MutexGuard};
use canny_profile::model::WaitKind;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread};
use canny_wasm::{Error, Event, Function, FunctionType, GuestFrame, Module, RunId, Store, Trap};

use self::references::References;
use self::values::{Externs, function_type_of, integer, types_of};
use super::control::values_of;
use super::tasks::{Then, suspend};
use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table, number_of_value, sweep_dead, take};
use crate::list::Walk;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%wasm-module" => modules::make;
    "%wasm-module-imports" => modules::imports;
    "%wasm-module-exports" => modules::exports;
    "%wasm-module-section" => modules::section;
    "%wasm-store" => make_store;
    "%wasm-release!" => release;
    "%wasm-import-function" => import_function;
    "%wasm-make-function" => make_function;
    "%wasm-instantiate" => modules::instantiate;
    "%wasm-exports" => modules::exports_of_instance;
    "%wasm-function-type" => function_type;
    "%wasm-function-name" => function_name;
    "%wasm-call" => call_function;
    "%wasm-event" => event;
    "%wasm-resume" => resume;
    "%wasm-raise" => exceptions::raise;
    "%wasm-outside?" => exceptions::is_outside;
    "%wasm-runner" => runner;
    "%wasm-abandon!" => abandon;
    "%wasm-fuel" => |thread, call| {
        let (guests, _) = store(thread, call)?;
        let fuel = guests.lock(thread).store.fuel();
        Ok(fuel.map_or(Value::FALSE, |fuel| thread.integer(fuel as i64)))
    };
    "%wasm-set-fuel!" => |thread, call: Call| {
        let (guests, _) = store(thread, call)?;
        let fuel = limit(thread, call, 1)?;
        guests.lock(thread).store.set_fuel(fuel);
        Ok(Value::UNSPECIFIED)
    };
    "%component" => components::make;
    "%component-bytes?" => components::is_component;
    "%component-imports" => components::imports;
    "%component-exports" => components::exports;
    "%component-instantiate" => components::instantiate;
    "%component-functions" => components::functions;
    "%component-sites" => components::sites;
    "%component-begin" => components::begin;
    "%component-begin-request" => components::begin_request;
    "%component-finish" => components::finish;
    "%component-lift" => components::lift;
    "%component-lower" => components::lower;
    "%component-resource-type" => components::resource_type;
    "%component-drop-resource!" => components::drop_resource;
    "%wasi" => systems::make;
    "%wasi-function" => systems::function;
    "%wasi-bind!" => systems::bind;
    "%wasi-finish" => systems::finish;
    "%wasi-output" => |thread, call| systems::taken(thread, call, 0);
    "%wasi-error-output" => |thread, call| systems::taken(thread, call, 1);
    "%wasi-release!" => systems::release;
    "%wasi-receive" => messages::receive;
    "%wasi-requests?" => messages::makes_requests;
    "%wasi-next-request" => messages::next_request;
    "%guest-response" => messages::response;
    "%guest-exchange-close!" => messages::close_exchange;
    "%guest-request-body" => messages::request_body;
    "%guest-request-answer!" => messages::answer;
    "%guest-request-fail!" => messages::fail;
    "%guest-request-abandoned?" => messages::is_abandoned;
    "%guest-body-output" => messages::output;
    "%guest-body-end!" => messages::end_output;
    "%guest-body-input" => messages::input;
    "%guest-body-whole" => messages::whole;
    "%guest-body-await" => messages::await_end;
    "%guest-body-trailers" => messages::trailers;
    "%guest-body-close!" => messages::close_input;
    "%wasm-memory" => objects::make_memory;
    "%wasm-memory-pages" => objects::memory_pages;
    "%wasm-memory-grow!" => objects::grow_memory;
    "%wasm-memory-ref" => numbers::memory_ref;
    "%wasm-memory-set!" => numbers::set_memory;
    "%wasm-memory-bytes" => objects::memory_bytes;
    "%wasm-memory-copy!" => objects::copy_to_memory;
    "%wasm-memory-shared?" => objects::is_shared_memory;
    "%wasm-share-memory" => objects::share_memory;
    "%wasm-memory-notify" => objects::notify_memory;
    "%wasm-memory-copy-out!" => objects::copy_from_memory;
    "%wasm-memory-string" => objects::memory_string;
    "%wasm-memory-string-set!" => objects::set_memory_string;
    "%wasm-memory-find" => objects::find_in_memory;
    "%wasm-tag" => exceptions::make_tag;
    "%wasm-tag-types" => exceptions::tag_types;
    "%wasm-tag-count" => exceptions::tag_count;
    "%wasm-table" => objects::make_table;
    "%wasm-table-type" => objects::table_type;
    "%wasm-table-size" => objects::table_size;
    "%wasm-table-ref" => objects::table_ref;
    "%wasm-table-set!" => objects::set_table;
    "%wasm-table-grow!" => objects::grow_table;
    "%wasm-field-count" => references::field_count;
    "%wasm-field-type" => references::field_type;
    "%wasm-field" => references::field_value;
    "%wasm-set-field!" => references::set_field_value;
    "%wasm-global" => objects::make_global;
    "%wasm-global-type" => objects::global_type;
    "%wasm-global-value" => objects::global_value;
    "%wasm-set-global-value!" => objects::set_global_value;
};

/// A module as objects of Scheme have it.
pub(crate) struct GuestModule(Module);

/// A store as objects of Scheme have it.
pub(crate) struct GuestStore(Mutex<Guests>);

kept_in_table!(GuestModule, |module| Some(module.0.byte_count() as u64));
kept_in_table!(GuestStore, |store| {
    Some(store.0.try_lock()?.store.memory_bytes())
});

/// A store, and what it has to do with Scheme.
struct Guests {
    store: Store,
    /// The task whose calls are in progress.
    owner: i64,
    /// The event that the newest call was left for, until Scheme asks for it.
    pending: Option<Pending>,
    externs: Externs,
    references: References,
    /// Bits of arguments or results that are being converted.
    words: Vec<u64>,
}

/// A call that was left.
struct Pending {
    run: RunId,
    event: Event,
    /// The type of the function that is to be called.
    kind: Option<&'static FunctionType>,
}

impl GuestStore {
    /// Takes the lock, for which a slice of a guest may have to be waited.
    fn lock(&self, thread: &mut Thread) -> MutexGuard<'_, Guests> {
        match self.0.try_lock() {
            Some(guests) => guests,
            None => thread.block_outside_heap(|| self.0.lock()),
        }
    }
}

/// Fields of the record of a store.
mod field {
    pub(super) const HANDLE: usize = 1;
    pub(super) const EXTERNS: usize = 2;
    pub(super) const TAGS: usize = 3;
    /// Weak pairs with the objects of guests that Scheme has.
    pub(super) const REFERENCES: usize = 4;
    /// The record type of objects of guests.
    pub(super) const OBJECT_TYPE: usize = 5;
}

thread_local! {
    /// The store that was used last, by its number: calls come in rows.
    static LAST: RefCell<(u64, Weak<GuestStore>)> = const { RefCell::new((0, Weak::new())) };
}

/// The store that a host object stands for.
fn store_of(thread: &Thread, handle: Value) -> Option<Arc<GuestStore>> {
    let number = number_of_value(handle)?;
    LAST.with_borrow_mut(|last| {
        if last.0 == number
            && let Some(store) = last.1.upgrade()
        {
            return Some(store);
        }
        let store = find::<GuestStore>(thread, handle)?;
        *last = (number, Arc::downgrade(&store));
        Some(store)
    })
}

/// The store of a record, if it is the one that the thread has used last.
pub(super) fn last_store(record: Value) -> Option<Arc<GuestStore>> {
    let record = record.as_kind(Kind::Record)?;
    let handle = (record.length() > field::OBJECT_TYPE).then(|| record.field(field::HANDLE))?;
    let number = number_of_value(handle)?;
    LAST.with_borrow(|last| {
        if last.0 == number {
            last.1.upgrade()
        } else {
            None
        }
    })
}

/// The store whose record is the first argument.
fn store(thread: &mut Thread, call: Call) -> Result<(Arc<GuestStore>, ObjectRef), Raise> {
    store_at(thread, call, 0)
}

/// The store whose record is an argument.
fn store_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<(Arc<GuestStore>, ObjectRef), Raise> {
    let record = call.object(thread, position, Kind::Record, "store")?;
    let found = (record.length() > field::OBJECT_TYPE)
        .then(|| store_of(thread, record.field(field::HANDLE)));
    match found.flatten() {
        Some(guests) => Ok((guests, record)),
        None => Err(call.type_error(thread, position, "store")),
    }
}

/// An index of something in a store.
fn number(thread: &mut Thread, call: Call, position: usize) -> Result<u32, Raise> {
    Ok(u32::try_from(call.index(thread, position)?).unwrap_or(u32::MAX))
}

/// A natural number, or none for `#f`.
fn limit(thread: &mut Thread, call: Call, position: usize) -> Result<Option<u64>, Raise> {
    if call.at(position) == Value::FALSE {
        return Ok(None);
    }
    match integer(call.at(position)) {
        Some((false, limit)) => Ok(Some(limit)),
        _ => Err(call.type_error(thread, position, "natural number")),
    }
}

/// Raises a trap that no frame of a guest belongs to.
fn trap(thread: &mut Thread, call: Call, trap: &Trap) -> Raise {
    trap_in(thread, call, trap, &[])
}

/// Raises a trap. The irritants are names and values in turn: its kind, the code of an exit, and the names
/// of functions from the innermost one out.
fn trap_in(thread: &mut Thread, call: Call, trap: &Trap, frames: &[GuestFrame]) -> Raise {
    let functions = names_of(thread, frames);
    let [name, within] = ["trap", "in"].map(|name| thread.symbol(name));
    let kind = thread.symbol(trap.kind());
    let last = match trap {
        Trap::Exit(code) => Value::fixnum(i64::from(*code)),
        _ => functions,
    };
    let irritants = [name, kind, within, last];
    let count = if functions.is_nil() { 2 } else { 4 };
    let irritants = match trap {
        Trap::Exit(_) => &[name, kind, last],
        _ => &irritants[..count],
    };
    let condition = thread.condition("wasm", &trap.to_string(), irritants, Some(call.who));
    thread.raise_object(condition)
}

/// The list of the names of functions.
fn names_of(thread: &mut Thread, frames: &[GuestFrame]) -> Value {
    let mut functions = Value::NIL;
    for frame in frames.iter().rev() {
        let name = thread.string(&frame.text());
        functions = thread.cons(name, functions);
    }
    functions
}

/// Raises that a module or an instance could not be made.
fn refused(thread: &mut Thread, call: Call, error: &Error) -> Raise {
    if let Error::Trap(reason) = error {
        return trap(thread, call, reason);
    }
    let condition = thread.condition("wasm", &error.to_string(), &[], Some(call.who));
    thread.raise_object(condition)
}

/// Raises that the store does not have what a number stands for.
fn unknown(thread: &mut Thread, call: Call, what: &str) -> Raise {
    call.range_error(thread, 1, &format!("the number of a {what} of the store"))
}

/// Stores that were made since a collection was asked for on their behalf.
static STORES_MADE: AtomicUsize = AtomicUsize::new(0);

/// So many stores are made until one is. Each may have gigabytes of address space, of which the collector
/// knows nothing.
const STORES_BETWEEN: usize = 4096;

/// Frees the stores that nobody can reach any more.
fn free_stores(thread: &mut Thread) {
    STORES_MADE.store(0, Ordering::Relaxed);
    thread.collect_garbage(true);
    sweep_dead(thread);
}

fn make_store(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if STORES_MADE.fetch_add(1, Ordering::Relaxed) >= STORES_BETWEEN {
        free_stores(thread);
    }
    let fuel = limit(thread, call, 0)?;
    let memory_limit = limit(thread, call, 1)?;
    let stack_bytes = call.index(thread, 2)?;
    take_part();
    stacks::show();
    let mut store = Store::new();
    store.set_fuel(fuel);
    store.set_memory_limit(memory_limit);
    store.set_stack_bytes(stack_bytes);
    let guests = Guests {
        store,
        owner: 0,
        pending: None,
        externs: Externs::default(),
        references: References::default(),
        words: Vec::new(),
    };
    keep(thread, GuestStore(Mutex::new(guests)), "store")
}

/// Frees a store at once, which nobody uses any more.
fn release(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (_, record) = store(thread, call)?;
    let _ = STORES_MADE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |made| {
        made.checked_sub(1)
    });
    take::<GuestStore>(thread, record.field(field::HANDLE));
    Ok(Value::UNSPECIFIED)
}

fn import_function(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let module = modules::module(thread, call, 1)?;
    let index = call.index_below(thread, 2, module.0.imports().len())?;
    let outside = number(thread, call, 3)?;
    let canny_wasm::ExternType::Function(kind) = module.0.imports()[index].kind else {
        return Err(call.range_error(thread, 2, "the index of an imported function"));
    };
    let kind = canny_wasm::function_type(kind).clone();
    let function = guests.lock(thread).store.outside_function(kind, outside);
    Ok(Value::fixnum(i64::from(function.number())))
}

fn make_function(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let kind = FunctionType {
        parameters: types_of(thread, call, 1)?,
        results: types_of(thread, call, 2)?,
    };
    let outside = number(thread, call, 3)?;
    let function = guests.lock(thread).store.outside_function(kind, outside);
    Ok(Value::fixnum(i64::from(function.number())))
}

/// The function whose number is the second argument, and its type.
fn function(
    thread: &mut Thread,
    call: Call,
    guests: &GuestStore,
) -> Result<(Function, &'static FunctionType), Raise> {
    let number = number(thread, call, 1)?;
    let found = {
        let guests = guests.lock(thread);
        let function = guests.store.function(number);
        function.map(|function| (function, guests.store.function_type(function)))
    };
    found.ok_or_else(|| unknown(thread, call, "function"))
}

fn function_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let (_, kind) = function(thread, call, &guests)?;
    function_type_of(thread, kind)
}

fn function_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let (function, _) = function(thread, call, &guests)?;
    let name = guests.lock(thread).store.function_name(function);
    Ok(name.map_or(Value::FALSE, |name| thread.string(&name)))
}

/// The number of the current task, or 0.
fn current_task(thread: &Thread) -> i64 {
    thread.task_number().unwrap_or(0)
}

fn call_function(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (shared, record) = store(thread, call)?;
    let handle = record.field(field::HANDLE);
    let number = number(thread, call, 1)?;
    let Some(mut guests) = shared.0.try_lock() else {
        return Ok(handle);
    };
    let task = current_task(thread);
    if guests.store.newest_run().is_some() && guests.owner != task {
        return Ok(handle);
    }
    let Some(function) = guests.store.function(number) else {
        drop(guests);
        return Err(unknown(thread, call, "function"));
    };
    let kind = guests.store.function_type(function);
    let given = call.count() - 2;
    if given != kind.parameters.len() {
        drop(guests);
        return Err(wrong_count(thread, call, &shared, function, given));
    }
    let mut words = std::mem::take(&mut guests.words);
    words.clear();
    for (position, kind) in kind.parameters.iter().enumerate() {
        let value = call.at(position + 2);
        if let Some(word) = values::plain(*kind, value) {
            words.push(word);
            continue;
        }
        if let Err(expected) = values::push(thread, &mut guests, record, &mut words, *kind, value) {
            guests.words = words;
            let name = guests.store.function_name(function);
            drop(guests);
            let name = name.unwrap_or_else(|| "the function".to_owned());
            let position = position + 1;
            let message = format!("argument {position} of {name} is not of type {expected}");
            let condition = thread.condition("type", &message, &[value], None);
            return Err(thread.raise_object(condition));
        }
    }
    references::release_dead(&mut guests);
    let begun = guests.store.begin(function, &words);
    guests.words = words;
    guests.owner = task;
    match begun {
        // A call that waits is repeated, which must not begin another run.
        Ok(run) if guests.store.may_wait() => {
            let event = Event::Pause;
            let kind = None;
            guests.pending = Some(Pending { run, event, kind });
            Ok(handle)
        }
        Ok(run) => go_on(thread, call, record, (&shared, guests), run, true),
        Err(reason) => {
            drop(guests);
            Err(trap(thread, call, &reason))
        }
    }
}

fn wrong_count(
    thread: &mut Thread,
    call: Call,
    guests: &GuestStore,
    function: Function,
    given: usize,
) -> Raise {
    let (name, kind) = {
        let guests = guests.lock(thread);
        let name = guests.store.function_name(function);
        (name, guests.store.function_type(function))
    };
    let message = format!("a function {} was given {given} arguments", kind.text());
    let message = match name {
        Some(name) => format!("{name}: {message}"),
        None => message,
    };
    let condition = thread.condition("arity", &message, &[], Some(call.who));
    thread.raise_object(condition)
}

/// Continues a run; gives its results, or the host object if it has been left.
fn go_on<'a>(
    thread: &mut Thread,
    call: Call,
    record: ObjectRef,
    (shared, guests): (&'a GuestStore, MutexGuard<'a, Guests>),
    run: RunId,
    is_first: bool,
) -> Result<Value, Raise> {
    let mut held = Some(guests);
    // Guests do not touch the heap. Leaving it costs more than many a call takes.
    let (outcome, ticket) = if is_first {
        (proceed(shared, &mut held, run), None)
    } else {
        thread.wait_outside_heap(|| {
            let outcome = proceed(shared, &mut held, run);
            if let Ok(Event::WaitFor(waiter)) = &outcome {
                // Others may use the store meanwhile.
                held = None;
                waits::wait(waiter);
            }
            outcome
        })
    };
    if let (Ok(Event::Wait | Event::WaitFor(_)), Some(ticket)) = (&outcome, ticket) {
        if matches!(outcome, Ok(Event::WaitFor(_))) {
            thread.note_operation(WaitKind::Lock, Some("memory of guests"));
        }
        drop(held);
        return Err(suspend(thread, call.who, ticket, Then::Repeat(None)));
    }
    let mut guests = match held {
        Some(guests) => guests,
        None => shared.lock(thread),
    };
    if let Some(ticket) = ticket {
        thread.disarm_ticket(ticket);
    }
    match outcome {
        Ok(Event::Finished) => {
            let mut words = std::mem::take(&mut guests.words);
            words.clear();
            words.extend_from_slice(guests.store.results());
            let kind = guests.store.results_type();
            let result = values::results(thread, &mut guests, record, kind, &words);
            guests.words = words;
            result
        }
        Ok(event) => {
            let kind = match event {
                Event::Call(_) => guests.store.called_type(),
                _ => None,
            };
            guests.pending = Some(Pending { run, event, kind });
            Ok(record.field(field::HANDLE))
        }
        Err(reason) => Err(ended(thread, call, record, guests, &reason)),
    }
}

/// Continues a run under the lock of its store.
fn proceed<'a>(
    shared: &'a GuestStore,
    held: &mut Option<MutexGuard<'a, Guests>>,
    run: RunId,
) -> Result<Event, Trap> {
    let guests = held.get_or_insert_with(|| shared.0.lock());
    guests.store.proceed(run)
}

/// Raises the reason for which a run has ended.
fn ended(
    thread: &mut Thread,
    call: Call,
    record: ObjectRef,
    guests: MutexGuard<'_, Guests>,
    reason: &Trap,
) -> Raise {
    let frames = guests.store.backtrace().to_vec();
    if let Trap::Exception(exception) = reason {
        return exceptions::uncaught(thread, call, record, guests, exception, &frames);
    }
    drop(guests);
    trap_in(thread, call, reason, &frames)
}

fn event(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, record) = store(thread, call)?;
    let task = current_task(thread);
    let guests_of = &mut *guests.lock(thread);
    if guests_of.owner != task {
        return Ok(Value::FALSE);
    }
    let Some(pending) = guests_of.pending.take() else {
        return Ok(Value::FALSE);
    };
    let run = Value::fixnum(pending.run.0 as i64);
    match (pending.event, pending.kind) {
        (Event::Call(procedure), Some(kind)) => {
            let words = guests_of.store.arguments().to_vec();
            let list = values::list(thread, guests_of, record, &kind.parameters, &words)?;
            let vector = thread.try_object(Kind::Vector, 0, 3, list)?;
            thread.store(vector, 0, run);
            thread.store(vector, 1, Value::fixnum(i64::from(procedure)));
            Ok(vector)
        }
        _ => thread.try_object(Kind::Vector, 0, 1, run),
    }
}

fn resume(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (shared, record) = store(thread, call)?;
    let run = RunId(call.index(thread, 1)? as u64);
    let mut guests = shared.lock(thread);
    let called = guests.store.called_type();
    let called = called.filter(|_| guests.store.newest_run() == Some(run));
    if let Some(kind) = called {
        let given = call.at(2);
        let mut words = std::mem::take(&mut guests.words);
        words.clear();
        let converted = answers(thread, &mut guests, record, kind, given, &mut words);
        let answered = match converted {
            Ok(()) => guests.store.answer(run, &words),
            Err(_) => Ok(()),
        };
        guests.words = words;
        if let Err(message) = converted {
            drop(guests);
            let condition = thread.condition("type", &message, &[given], Some(call.who));
            return Err(thread.raise_object(condition));
        }
        if let Err(reason) = answered {
            drop(guests);
            return Err(trap(thread, call, &reason));
        }
    }
    // The slice behind an answer is like the first one of a call. It does not wait.
    let is_first = called.is_some() && !guests.store.may_wait();
    go_on(thread, call, record, (&shared, guests), run, is_first)
}

/// The bits of what a procedure of Scheme has returned.
fn answers(
    thread: &mut Thread,
    guests: &mut Guests,
    record: ObjectRef,
    kind: &FunctionType,
    given: Value,
    words: &mut Vec<u64>,
) -> Result<(), String> {
    let wrong = |expected: &str| format!("a result of the procedure is not of type {expected}");
    match kind.results.as_slice() {
        [] => Ok(()),
        [result] => {
            values::push(thread, guests, record, words, *result, given).map_err(|it| wrong(&it))
        }
        results => {
            let object = given.as_kind(Kind::Values);
            let object = object.filter(|object| object.length() == results.len());
            let Some(object) = object else {
                return Err(format!(
                    "the procedure has not returned {} values",
                    results.len()
                ));
            };
            for (index, result) in results.iter().enumerate() {
                let value = object.field(index);
                values::push(thread, guests, record, words, *result, value)
                    .map_err(|it| wrong(&it))?;
            }
            Ok(())
        }
    }
}

fn runner(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let owner = {
        let guests = guests.lock(thread);
        guests.store.newest_run().map(|_| guests.owner)
    };
    Ok(match owner {
        Some(owner) if owner == current_task(thread) => thread.symbol("own"),
        Some(_) => thread.symbol("other"),
        None => Value::FALSE,
    })
}

fn abandon(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let run = RunId(call.index(thread, 1)? as u64);
    let guests = &mut *guests.lock(thread);
    guests.store.abandon(run);
    // An event may be of another task's call, which began when this one had ended.
    let Guests { store, pending, .. } = guests;
    if pending
        .as_ref()
        .is_some_and(|event| !store.has_run(event.run))
    {
        *pending = None;
    }
    Ok(Value::UNSPECIFIED)
}
