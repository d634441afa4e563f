//! Components of WebAssembly: the machine's side of `(canny wasm components)`.
//!
//! Arguments are lowered and results lifted here; between both the function of a module is called like
//! any other. So a component's function may wait and call procedures of Scheme. An instance is a record
//! with a host object, the record of its store, and the vector of objects that are resources.

mod convert;

pub(crate) use self::convert::GuestResource;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use canny_component::types::{FunctionType, Shape};
use canny_component::{
    Call as ComponentCall, Component, Destructor, Error, Function, Imports, Lowered, OutsideNames,
    Row, destroy, to_binary,
};
use canny_locks::{Mutex, MutexGuard};
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{ConditionKind, Raise, Thread, string_text};
use canny_wasm::{Event, Store, Trap};

use self::convert::{Conversion, Dropped};
use super::modules::vector;
use super::{Guests, Pending, number, refused, store, store_of, values};
use crate::arguments::{Call, Effort};
use crate::host::{find, keep, kept_in_table};
use crate::list::{Builder, Walk};

/// Fields of the record of an instance.
pub(super) mod field {
    pub(super) const HANDLE: usize = 1;
    pub(super) const STORE: usize = 2;
    pub(super) const OBJECTS: usize = 3;
}

/// A component as objects of Scheme have it.
pub(crate) struct GuestComponent(Component);

/// An instance of a component as objects of Scheme have it.
pub(crate) struct GuestInstance(Mutex<Parts>);

kept_in_table!(GuestComponent, |it| Some(it.0.byte_count() as u64));
kept_in_table!(GuestInstance);

/// An instance's side of Scheme.
pub(super) struct Parts {
    functions: Vec<(String, Function)>,
    /// Places where guests call procedures of Scheme.
    sites: Vec<Lowered>,
    first_site: u32,
    /// Calls of functions that have not ended, by the number of the function.
    calls: HashMap<usize, ComponentCall>,
    /// Things that guests have lent to procedures of Scheme, by the number of the site.
    lent: HashMap<usize, (Vec<u32>, Vec<Arc<GuestResource>>)>,
    dropped: Dropped,
    /// Places of objects of Scheme that guests have dropped.
    freed: Arc<Mutex<Vec<u32>>>,
    free_places: Vec<u32>,
    places: u32,
}

pub(super) fn make(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?.with_bytes(<[u8]>::to_vec);
    let effort = Effort::OutsideHeap.or_offloaded(bytes.len() >= super::modules::LONG);
    let read = move || to_binary(bytes).and_then(Component::new);
    match call.compute(thread, effort, read)? {
        Ok(component) => keep(thread, GuestComponent(component), "component"),
        Err(error) => Err(refused(thread, call, &error)),
    }
}

/// Whether bytes are those of a component in the binary format.
pub(super) fn is_component(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    Ok(Value::boolean(bytes.with_bytes(Component::is_component)))
}

fn component(thread: &mut Thread, call: Call, position: usize) -> Result<Component, Raise> {
    let found = find::<GuestComponent>(thread, call.at(position));
    match found {
        Some(component) => Ok(component.0.clone()),
        None => Err(call.type_error(thread, position, "component")),
    }
}

fn rows(thread: &mut Thread, rows: &[Row]) -> Result<Value, Raise> {
    let mut list = Builder::new();
    for row in rows {
        let texts = [&row.interface, &row.name, &row.text].map(|text| thread.string(text));
        let row = vector(thread, texts)?;
        list.push(thread, row)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

pub(super) fn imports(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let component = component(thread, call, 0)?;
    rows(thread, &component.listing().imports)
}

pub(super) fn exports(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let component = component(thread, call, 0)?;
    rows(thread, &component.listing().exports)
}

/// Functions and types of resources that the program gives.
struct Names {
    functions: HashSet<(String, String)>,
    resources: HashSet<(String, String)>,
    freed: Arc<Mutex<Vec<u32>>>,
}

impl Names {
    /// From a list of vectors of interface, name, and whether it is a type of resources.
    fn read(list: Value, freed: &Arc<Mutex<Vec<u32>>>) -> Names {
        let mut names = Names {
            functions: HashSet::new(),
            resources: HashSet::new(),
            freed: Arc::clone(freed),
        };
        for row in Walk::new(list).filter_map(|row| row.as_kind(Kind::Vector)) {
            if row.length() == 3 {
                let [interface, name] =
                    [0, 1].map(|index| string_text(row.field(index)).unwrap_or_default());
                if row.field(2).is_true() {
                    names.resources.insert((interface, name))
                } else {
                    names.functions.insert((interface, name))
                };
            }
        }
        names
    }
}

impl OutsideNames for Names {
    fn has(&self, interface: &str, name: &str) -> bool {
        let key = (interface.to_owned(), name.to_owned());
        self.functions.contains(&key)
    }

    fn resource(&self, interface: &str, name: &str) -> Option<Destructor> {
        let key = (interface.to_owned(), name.to_owned());
        let freed = Arc::clone(&self.freed);
        self.resources.contains(&key).then(|| {
            let destructor = move |_: &mut Store, place: u32| -> Result<(), Trap> {
                freed.lock().push(place);
                Ok(())
            };
            Box::new(destructor) as Destructor
        })
    }
}

pub(super) fn instantiate(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (shared, _) = store(thread, call)?;
    let component = component(thread, call, 1)?;
    let freed = Arc::default();
    let names = Names::read(call.at(3), &freed);
    let first_site = number(thread, call, 4)?;
    let mut imports = Imports::default();
    imports.set_outside(Box::new(names));
    if call.at(2).is_true() {
        let system = super::systems::system(thread, call, 2)?;
        match system.world() {
            Ok(world) => imports.add_host(Arc::new(world)),
            Err(message) => {
                return Err(thread.raise(ConditionKind::File, &message, &[], Some(call.who)));
            }
        }
    }
    let made = {
        let mut guests = shared.lock(thread);
        if guests.store.newest_run().is_none() {
            guests.owner = super::current_task(thread);
        }
        let mut make = |guests: &mut Guests| {
            component.instantiate(&mut guests.store, &mut imports, first_site)
        };
        let made = make(&mut guests);
        if matches!(made, Err(Error::NoMemory(_))) {
            drop(guests);
            super::free_stores(thread);
            make(&mut shared.lock(thread))
        } else {
            made
        }
    };
    match made {
        Ok(made) => {
            let parts = Parts {
                functions: made.instance.functions(),
                sites: made.sites,
                first_site,
                calls: HashMap::new(),
                lent: HashMap::new(),
                dropped: Dropped::default(),
                freed,
                free_places: Vec::new(),
                places: 0,
            };
            keep(thread, GuestInstance(Mutex::new(parts)), "instance")
        }
        Err(error) => Err(refused(thread, call, &error)),
    }
}

/// The instance whose record is the first argument.
fn instance(thread: &mut Thread, call: Call) -> Result<(Arc<GuestInstance>, ObjectRef), Raise> {
    let record = call.object(thread, 0, Kind::Record, "instance")?;
    let found = (record.length() > field::OBJECTS)
        .then(|| find::<GuestInstance>(thread, record.field(field::HANDLE)));
    match found.flatten() {
        Some(instance) => Ok((instance, record)),
        None => Err(call.type_error(thread, 0, "instance of a component")),
    }
}

impl GuestInstance {
    fn lock(&self, thread: &mut Thread) -> MutexGuard<'_, Parts> {
        match self.0.try_lock() {
            Some(parts) => parts,
            None => thread.block_outside_heap(|| self.0.lock()),
        }
    }
}

pub(super) fn functions(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (instance, _) = instance(thread, call)?;
    let found: Vec<(String, Function)> = instance.lock(thread).functions.clone();
    let mut list = Builder::new();
    for (name, function) in found {
        let kind = function.kind();
        let mut parameters = Builder::new();
        for (name, _) in &kind.parameters {
            let symbol = thread.symbol(name);
            parameters.push(thread, symbol)?;
        }
        let parameters = parameters.finish(thread, Value::NIL);
        let [name, text] = [name, kind.text()].map(|text| thread.string(&text));
        let row = vector(thread, [name, parameters, text, returns_result(kind)])?;
        list.push(thread, row)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

/// Whether a result stands for success or failure: `#f`, or 1 if success holds a value, else 0.
fn returns_result(kind: &FunctionType) -> Value {
    match kind.result.as_ref().map(|kind| &kind.shape) {
        Some(Shape::Result(held, _)) => Value::fixnum(i64::from(held.is_some())),
        _ => Value::FALSE,
    }
}

pub(super) fn sites(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (instance, _) = instance(thread, call)?;
    let found: Vec<(String, String, Value)> = {
        let parts = instance.lock(thread);
        let sites = parts.sites.iter();
        let sites = sites.map(|site| {
            let (interface, name) = site.names();
            (
                interface.to_owned(),
                name.to_owned(),
                returns_result(site.kind()),
            )
        });
        sites.collect()
    };
    let mut list = Builder::new();
    for (interface, name, returns) in found {
        let [interface, name] = [interface, name].map(|text| thread.string(&text));
        let row = vector(thread, [interface, name, returns])?;
        list.push(thread, row)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

/// Works on an instance and its store.
fn within<R>(
    thread: &mut Thread,
    call: Call,
    work: impl FnOnce(&mut Thread, ObjectRef, &mut Parts, &mut Guests, ObjectRef) -> Result<R, Failure>,
) -> Result<R, Raise> {
    let (instance, record) = instance(thread, call)?;
    let store_record = record.field(field::STORE);
    let store_record = store_record.as_kind(Kind::Record);
    let shared = store_record.and_then(|record| {
        let handle = (record.length() > super::field::OBJECT_TYPE)
            .then(|| record.field(super::field::HANDLE))?;
        store_of(thread, handle)
    });
    let (Some(shared), Some(store_record)) = (shared, store_record) else {
        return Err(call.type_error(thread, 0, "instance of a component"));
    };
    let outcome = {
        let mut parts = instance.lock(thread);
        let mut guests = shared.lock(thread);
        parts.clean_up(thread, record, &mut guests.store);
        work(thread, record, &mut parts, &mut guests, store_record)
    };
    outcome.map_err(|failure| match failure {
        Failure::Trap(reason) => super::trap(thread, call, &reason),
        Failure::Raise(raise) => raise,
        Failure::Type(message, object) => {
            let condition = thread.condition("type", &message, &[object], Some(call.who));
            thread.raise_object(condition)
        }
    })
}

/// The reason for which a call cannot go on.
enum Failure {
    Trap(Trap),
    Raise(Raise),
    /// An object is not of the type that was expected.
    Type(String, Value),
}

impl From<Trap> for Failure {
    fn from(trap: Trap) -> Failure {
        Failure::Trap(trap)
    }
}

impl From<Raise> for Failure {
    fn from(raise: Raise) -> Failure {
        Failure::Raise(raise)
    }
}

impl Parts {
    /// Ends resources that Scheme has forgotten, and forgets objects that guests have dropped.
    fn clean_up(&mut self, thread: &mut Thread, record: ObjectRef, store: &mut Store) {
        let dropped = std::mem::take(&mut *self.dropped.lock());
        for (resource, representation) in dropped {
            // Nobody waits for the outcome. An instance in which a call is in progress is asked later.
            if destroy(store, &resource, representation, None).is_err() {
                self.dropped.lock().push((resource, representation));
                break;
            }
        }
        let freed = std::mem::take(&mut *self.freed.lock());
        for place in freed {
            self.free(thread, record, place);
        }
    }
}

/// Begins a call of a component's function; gives the number of the module's function, or `#f` if another
/// task uses the store. The event of the store says how it goes on.
pub(super) fn begin(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let index = call.index(thread, 1)?;
    let task = super::current_task(thread);
    within(thread, call, |thread, record, parts, guests, _| {
        if guests.store.newest_run().is_some() && guests.owner != task {
            return Ok(Value::FALSE);
        }
        let Some((name, function)) = parts.functions.get(index).cloned() else {
            return Err(Trap::Host("there is no such function".into()).into());
        };
        let kind = Arc::clone(function.kind());
        let given = call.count() - 2;
        if given != kind.parameters.len() {
            let message = format!("{name}: {} was given {given} arguments", kind.text());
            let condition = thread.condition("arity", &message, &[], Some(call.who));
            return Err(thread.raise_object(condition).into());
        }
        let mut conversion = Conversion {
            record,
            parts,
            lent: Vec::new(),
        };
        let mut arguments = Vec::new();
        for (position, (parameter, kind)) in kind.parameters.iter().enumerate() {
            let object = call.at(position + 2);
            match conversion.value(thread, kind, object) {
                Ok(value) => arguments.push(value),
                Err(expected) => {
                    let message =
                        format!("{name}: argument '{parameter}' is not of type {expected}");
                    return Err(Failure::Type(message, object));
                }
            }
        }
        begin_with(parts, guests, index, task, &arguments)
    })
}

fn begin_with(
    parts: &mut Parts,
    guests: &mut Guests,
    index: usize,
    task: i64,
    arguments: &[canny_component::Value],
) -> Result<Value, Failure> {
    let Some((_, function)) = parts.functions.get(index) else {
        return Err(Trap::Host("there is no such function".into()).into());
    };
    let (lowered, words, begun) = function.begin(&mut guests.store, arguments)?;
    parts.calls.insert(index, begun);
    let run = guests.store.begin(lowered, &words)?;
    guests.owner = task;
    guests.pending = Some(Pending {
        run,
        event: Event::Pause,
        kind: None,
    });
    Ok(Value::fixnum(i64::from(lowered.number())))
}

/// Begins the call of a handler with a request that it is to answer, as [`begin`] does.
pub(super) fn begin_request(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let index = call.index(thread, 1)?;
    let exchange = super::messages::exchange(thread, call, 2)?;
    let task = super::current_task(thread);
    within(thread, call, |_, _, parts, guests, _| {
        if guests.store.newest_run().is_some() && guests.owner != task {
            return Ok(Value::FALSE);
        }
        let Some(arguments) = exchange.take_arguments() else {
            return Err(Trap::Host("a guest has got the request already".into()).into());
        };
        begin_with(parts, guests, index, task, &arguments)
    })
}

/// The result of a component's function for that of the module's.
pub(super) fn finish(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let index = call.index(thread, 1)?;
    let lowered = number(thread, call, 2)?;
    within(
        thread,
        call,
        |thread, record, parts, guests, store_record| {
            let function = parts
                .functions
                .get(index)
                .map(|(_, function)| function.clone());
            let begun = parts.calls.remove(&index);
            let lowered = guests.store.function(lowered);
            let (Some(function), Some(begun), Some(lowered)) = (function, begun, lowered) else {
                return Err(Trap::Host("the call of a guest has ended already".into()).into());
            };
            let mut words = Vec::new();
            if let [kind] = guests.store.function_type(lowered).results[..] {
                let object = call.at(3);
                let pushed = values::push(thread, guests, store_record, &mut words, kind, object);
                pushed
                    .map_err(|expected| Failure::Type(format!("{expected} is expected"), object))?;
            }
            let value = function.finish(&mut guests.store, &begun, &words)?;
            let mut conversion = Conversion {
                record,
                parts,
                lent: Vec::new(),
            };
            match (value, &function.kind().result) {
                (Some(value), Some(kind)) => Ok(conversion.object(thread, kind, &value)?),
                _ => Ok(Value::UNSPECIFIED),
            }
        },
    )
}

fn site_index(parts: &Parts, number: u32) -> Result<usize, Failure> {
    let index = number
        .checked_sub(parts.first_site)
        .map(|index| index as usize);
    let index = index.filter(|index| *index < parts.sites.len());
    index.ok_or_else(|| Trap::Host("there is no such import".into()).into())
}

/// The words of a call that a guest has made, from a list of objects.
fn words_of(
    thread: &mut Thread,
    guests: &mut Guests,
    store_record: ObjectRef,
    kinds: &[canny_wasm::ValueType],
    list: Value,
) -> Result<Vec<u64>, Failure> {
    let mut words = Vec::new();
    let mut objects = Walk::new(list);
    for kind in kinds {
        let object = objects.next().unwrap_or(Value::FALSE);
        let pushed = values::push(thread, guests, store_record, &mut words, *kind, object);
        pushed.map_err(|expected| Failure::Type(format!("{expected} is expected"), object))?;
    }
    Ok(words)
}

/// The arguments for a procedure of Scheme that a guest has called.
pub(super) fn lift(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = number(thread, call, 1)?;
    within(
        thread,
        call,
        |thread, record, parts, guests, store_record| {
            let index = site_index(parts, number)?;
            let kind = Arc::clone(parts.sites[index].kind());
            let parameters = kind.lowered().parameters;
            let words = words_of(thread, guests, store_record, &parameters, call.at(2))?;
            let (arguments, handles) = parts.sites[index].lift_arguments(&guests.store, &words)?;
            let mut conversion = Conversion {
                record,
                parts,
                lent: Vec::new(),
            };
            let mut list = Builder::new();
            for (value, (_, kind)) in arguments.iter().zip(&kind.parameters) {
                let object = conversion.object(thread, kind, value)?;
                list.push(thread, object)?;
            }
            let lent = conversion.lent;
            parts.lent.insert(index, (handles, lent));
            Ok(list.finish(thread, Value::NIL))
        },
    )
}

/// The result of a module's import for that of such a procedure.
pub(super) fn lower(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = number(thread, call, 1)?;
    within(
        thread,
        call,
        |thread, record, parts, guests, store_record| {
            let index = site_index(parts, number)?;
            let kind = Arc::clone(parts.sites[index].kind());
            let lowered = kind.lowered();
            let words = words_of(
                thread,
                guests,
                store_record,
                &lowered.parameters,
                call.at(2),
            )?;
            let object = call.at(3);
            let value = match &kind.result {
                None => None,
                Some(kind) => {
                    let mut conversion = Conversion {
                        record,
                        parts,
                        lent: Vec::new(),
                    };
                    let value = conversion.value(thread, kind, object);
                    let name = parts.sites[index].names().1;
                    Some(value.map_err(|expected| {
                        let message = format!("the result of {name} is not of type {expected}");
                        Failure::Type(message, object)
                    })?)
                }
            };
            let (handles, lent) = parts.lent.remove(&index).unwrap_or_default();
            for resource in lent {
                resource.end_loan();
            }
            let site = &parts.sites[index];
            let results = site.lower_result(&mut guests.store, value.as_ref(), &words, &handles)?;
            Ok(values::results(
                thread,
                guests,
                store_record,
                &lowered,
                &results,
            )?)
        },
    )
}

fn resource(thread: &mut Thread, call: Call, position: usize) -> Result<Arc<GuestResource>, Raise> {
    let found = find::<GuestResource>(thread, call.at(position));
    found.ok_or_else(|| call.type_error(thread, position, "resource"))
}

/// The name of a resource's type, or `#f` if an object is no resource.
pub(super) fn resource_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    Ok(match find::<GuestResource>(thread, call.at(0)) {
        Some(found) => thread.string(found.resource.name()),
        None => Value::FALSE,
    })
}

/// Ends a resource that Scheme owns; whether it did.
pub(super) fn drop_resource(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let found = resource(thread, call, 1)?;
    within(thread, call, |_, _, _, guests, _| {
        let is_owned = found.take();
        if is_owned {
            destroy(
                &mut guests.store,
                &found.resource,
                found.representation,
                None,
            )?;
        }
        Ok(Value::boolean(is_owned))
    })
}
