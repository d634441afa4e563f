//! A module in Canny: imports, an instance, calls of all exported functions, the state afterwards.
//!
//! It does the same as `theirs`, by our interface.

use std::collections::HashMap;
use std::sync::Arc;

use canny_locks::Mutex;
use canny_wasm::{
    Error, Event, Extern, ExternType, Function, FunctionType, HeapType, Import, Imports, Instance,
    MachineCodePolicy, Module, Outcome, Store, Trap, ValueType, function_type,
    set_machine_code_policy,
};

use super::{CALLS, Kind, Plan, Record, Value, hash};

/// Everything that one engine does with a module.
pub fn run(bytes: &[u8], plan: &Plan) -> Result<Record, String> {
    choose_policy(bytes);
    let module = Module::new(bytes.to_vec()).map_err(|error| format!("we refuse it: {error}"))?;
    let imports = module.imports();
    let has_tags = imports
        .iter()
        .any(|import| matches!(import.kind, ExternType::Tag(_)));
    if has_tags || has_ambiguous_imports(&module) {
        let limit = Some("imports".to_owned());
        return Ok(Record {
            limit,
            ..Record::default()
        });
    }
    let mut store = Store::new();
    let record = Arc::new(Mutex::new(Record::default()));
    let mut imports = Imports::default();
    for import in module.imports() {
        let item = import_of(&mut store, import, plan, &record)?;
        imports.add(&import.module, &import.name, item);
    }
    let Some(first) = run_instance(&mut store, (&module, &imports), plan, &record)? else {
        return Ok(take(&record));
    };
    if let Some(imports) = linked(&store, &module, &imports, first) {
        run_instance(&mut store, (&module, &imports), plan, &record)?;
    }
    Ok(take(&record))
}

/// Chooses how a module runs: interpreted, as machine code, or both with a change at loops.
/// `CANNY_GUEST_CODE` may say that of all modules.
pub fn choose_policy(bytes: &[u8]) {
    let all = [
        ("never", MachineCodePolicy::Never),
        ("always", MachineCodePolicy::Always),
        ("loops", MachineCodePolicy::Loops),
    ];
    let wanted = std::env::var("CANNY_GUEST_CODE").unwrap_or_default();
    let named = all.into_iter().find(|(name, _)| *name == wanted);
    let sum: usize = bytes.iter().map(|byte| usize::from(*byte)).sum();
    set_machine_code_policy(named.unwrap_or(all[sum % all.len()]).1);
}

/// Makes an instance and calls its functions. None if one cannot go on.
fn run_instance(
    store: &mut Store,
    (module, imports): (&Module, &Imports),
    plan: &Plan,
    record: &Mutex<Record>,
) -> Result<Option<Instance>, String> {
    let instance = match made(store, module, imports) {
        Ok(instance) => instance,
        Err(Error::Trap(trap)) => {
            record.lock().trap("start", trap_kind(&trap));
            return Ok(None);
        }
        Err(Error::NoMemory(_)) => {
            record.lock().trap("start", "out-of-memory");
            return Ok(None);
        }
        Err(error) => return Err(format!("we make no instance: {error}")),
    };
    for call in 0..CALLS {
        for (name, item) in exports(store, instance) {
            let Extern::Function(function) = item else {
                continue;
            };
            if !call_one(store, (&name, function), call, plan, record)? {
                return Ok(None);
            }
        }
    }
    note_state(store, instance, &mut record.lock());
    Ok(Some(instance))
}

/// The imports of another instance: functions of the first one where they fit. None if none fits.
fn linked(store: &Store, module: &Module, imports: &Imports, first: Instance) -> Option<Imports> {
    let exports = exports(store, first);
    let mut linked = imports.clone();
    let mut fits = false;
    for import in module.imports() {
        let item = exports.iter().map(|(_, item)| *item).find(|item| {
            matches!(item, Extern::Function(_)) && store.extern_type(*item) == import.kind
        });
        if let Some(item) = item {
            linked.add(&import.module, &import.name, item);
            fits = true;
        }
    }
    fits.then_some(linked)
}

/// Whether imports of one name would be one thing here, and several in wasmi.
fn has_ambiguous_imports(module: &Module) -> bool {
    let mut seen: HashMap<(&str, &str), &ExternType> = HashMap::new();
    module.imports().iter().any(|import| {
        let earlier = seen.insert((&import.module, &import.name), &import.kind);
        earlier.is_some_and(|earlier| {
            *earlier != import.kind || !matches!(earlier, ExternType::Function(_))
        })
    })
}

fn take(record: &Mutex<Record>) -> Record {
    std::mem::take(&mut record.lock())
}

/// Calls a function; whether one can go on.
fn call_one(
    store: &mut Store,
    (name, function): (&str, Function),
    call: u64,
    plan: &Plan,
    record: &Mutex<Record>,
) -> Result<bool, String> {
    let signature = store.function_type(function);
    let kinds = kinds(&signature.parameters);
    let arguments = words(&plan.arguments(name, call, &kinds));
    match results_of(store, function, &arguments) {
        Ok(results) => {
            record
                .lock()
                .note(name, values(&signature.results, &results));
            Ok(true)
        }
        Err(Trap::Host(text)) => Err(format!("{name} ends in our engine: {text}")),
        Err(trap) => Ok(record.lock().trap(name, trap_kind(&trap))),
    }
}

/// Makes an instance and runs its start function.
fn made(store: &mut Store, module: &Module, imports: &Imports) -> Result<Instance, Error> {
    let items = module.imports().iter();
    let items = items.map(|import| imports.item(&import.module, &import.name));
    let (instance, start) = store.prepare(module, &items.collect::<Vec<_>>())?;
    if let Some(start) = start {
        results_of(store, start, &[])?;
    }
    Ok(instance)
}

/// The results of a call. One that waits for another thread is ended as if its fuel were used up.
fn results_of(store: &mut Store, function: Function, arguments: &[u64]) -> Result<Vec<u64>, Trap> {
    let run = store.begin(function, arguments)?;
    loop {
        match store.proceed(run)? {
            Event::Finished => return Ok(store.results().to_vec()),
            Event::Pause | Event::Wait => {}
            Event::WaitFor(_) | Event::Call(_) => {
                store.abandon(run);
                return Err(Trap::OutOfFuel);
            }
        }
    }
}

/// The word for a trap; wasmi has one for both accesses to tables.
fn trap_kind(trap: &Trap) -> &'static str {
    match trap.kind() {
        "undefined-element" => "out-of-bounds-table",
        kind => kind,
    }
}

fn kind(of: ValueType) -> Kind {
    match of {
        ValueType::I32 => Kind::I32,
        ValueType::I64 => Kind::I64,
        ValueType::F32 => Kind::F32,
        ValueType::F64 => Kind::F64,
        ValueType::V128 => Kind::V128,
        ValueType::Reference { heap, .. } => match heap {
            HeapType::Extern | HeapType::NoExtern => Kind::Extern,
            _ => Kind::Function,
        },
    }
}

fn kinds(of: &[ValueType]) -> Vec<Kind> {
    of.iter().map(|of| kind(*of)).collect()
}

fn words(values: &[Value]) -> Vec<u64> {
    let mut words = Vec::new();
    for value in values {
        match *value {
            Value::I32(bits) | Value::F32(bits) | Value::Extern(bits) => {
                words.push(u64::from(bits));
            }
            Value::I64(bits) | Value::F64(bits) => words.push(bits),
            Value::V128(bits) => words.extend([bits as u64, (bits >> 64) as u64]),
            Value::Function(_) => words.push(0),
        }
    }
    words
}

/// The upper bits of a slot with a number of 32 bits are unknown.
fn value(of: ValueType, bits: u128) -> Value {
    match kind(of) {
        Kind::I32 => Value::I32(bits as u32),
        Kind::I64 => Value::I64(bits as u64),
        Kind::F32 => Value::F32(bits as u32),
        Kind::F64 => Value::F64(bits as u64),
        Kind::V128 => Value::V128(bits),
        Kind::Function => Value::Function(bits as u64 != 0),
        Kind::Extern => Value::Extern(bits as u32),
    }
}

fn values(types: &[ValueType], words: &[u64]) -> Vec<Value> {
    let mut words = words.iter().copied();
    let mut next = || u128::from(words.next().unwrap_or(0));
    let one = |of: &ValueType| {
        let low = next();
        let high = if of.slots() == 2 { next() } else { 0 };
        value(*of, low | high << 64)
    };
    types.iter().map(one).collect()
}

fn import_of(
    store: &mut Store,
    import: &Import,
    plan: &Plan,
    record: &Arc<Mutex<Record>>,
) -> Result<Extern, String> {
    let refused = |error: Error| format!("we make no import: {error}");
    Ok(match &import.kind {
        ExternType::Function(number) => {
            let signature: &'static FunctionType = function_type(*number);
            let given: Vec<Value> = kinds(&signature.results)
                .iter()
                .map(|kind| plan.given(*kind))
                .collect();
            let given = words(&given);
            let record = Arc::clone(record);
            Extern::Function(store.host_function(
                signature.clone(),
                Box::new(move |_, arguments, results| {
                    let arguments = values(&signature.parameters, arguments);
                    record.lock().note("host", arguments);
                    results.copy_from_slice(&given);
                    Ok(Outcome::Done)
                }),
            ))
        }
        ExternType::Table(kind) => Extern::Table(store.table(*kind).map_err(refused)?),
        ExternType::Memory(kind) => Extern::Memory(store.memory(*kind).map_err(refused)?),
        ExternType::Global(of) => {
            let given = words(&[plan.given(kind(of.value))]);
            let high = given.get(1).copied().unwrap_or(0);
            let bits = u128::from(given[0]) | u128::from(high) << 64;
            Extern::Global(store.global(*of, bits))
        }
        ExternType::Tag(_) => return Err("the module has a tag".into()),
    })
}

/// In an order that both engines can have.
fn exports(store: &Store, instance: Instance) -> Vec<(String, Extern)> {
    let mut exports = instance.exports(store);
    exports.sort_by(|one, other| one.0.cmp(&other.0));
    exports
}

fn note_state(store: &Store, instance: Instance, record: &mut Record) {
    for (name, item) in exports(store, instance) {
        match item {
            Extern::Global(global) => {
                let of = store.global_type(global).value;
                record.note(name, [value(of, store.global_value(global))]);
            }
            Extern::Memory(number) => {
                let memory = store.memory_at(number);
                let bytes = memory.and_then(|memory| memory.copy(0, memory.size()));
                let bytes = bytes.unwrap_or_default();
                let facts = [bytes.len() as u64, hash(&bytes)].map(Value::I64);
                record.note(name, facts);
            }
            Extern::Table(number) => {
                let Some(table) = store.table_at(number) else {
                    continue;
                };
                let of = table.kind().element;
                let elements = table.elements().iter();
                record.note(name, elements.map(|word| value(of, u128::from(*word))));
            }
            Extern::Function(_) | Extern::Tag(_) => {}
        }
    }
}
