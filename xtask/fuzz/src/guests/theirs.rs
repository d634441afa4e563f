//! A module in wasmi: imports, an instance, calls of all exported functions, the state afterwards.
//!
//! It does the same as `ours`, by wasmi's interface.

use wasmi::errors::{ErrorKind, InstantiationError};
use wasmi::{
    CompilationMode, Config, Engine, Extern, ExternRef, ExternType, F32, F64, Func, FuncType,
    Global, Instance, Memory, Module, Nullable, Ref, Store, Table, TrapCode, V128, Val, ValType,
};

use super::{CALLS, Kind, Plan, Record, Value, hash};

/// Everything that one engine does with a module.
pub fn run(bytes: &[u8], plan: &Plan) -> Result<Record, String> {
    let mut config = Config::default();
    config.compilation_mode(CompilationMode::Eager);
    let engine = Engine::new(&config);
    let module =
        Module::new(&engine, bytes).map_err(|error| format!("wasmi refuses it: {error}"))?;
    let mut store = Store::new(&engine, Record::default());
    let mut imports = Vec::new();
    for import in module.imports() {
        imports.push(import_of(&mut store, import.ty(), plan)?);
    }
    let mut names: Vec<String> = module
        .exports()
        .map(|export| export.name().to_owned())
        .collect();
    names.sort();
    let first = run_instance(&mut store, (&module, &imports), &names, plan)?;
    if let Some(first) = first
        && let Some(imports) = linked(&store, &imports, &names, first)
    {
        run_instance(&mut store, (&module, &imports), &names, plan)?;
    }
    Ok(store.into_data())
}

/// Makes an instance and calls its functions. None if one cannot go on.
fn run_instance(
    store: &mut Store<Record>,
    (module, imports): (&Module, &[Extern]),
    names: &[String],
    plan: &Plan,
) -> Result<Option<Instance>, String> {
    let instance = match Instance::new(&mut *store, module, imports) {
        Ok(instance) => instance,
        Err(error) => {
            let kind = trap_kind(&error)?;
            store.data_mut().trap("start", kind);
            return Ok(None);
        }
    };
    for call in 0..CALLS {
        for name in names {
            let Some(Extern::Func(function)) = instance.get_export(&*store, name) else {
                continue;
            };
            if !call_one(store, (name, function), call, plan)? {
                return Ok(None);
            }
        }
    }
    note_state(store, instance, names);
    Ok(Some(instance))
}

/// The imports of another instance: functions of the first one where they fit. None if none fits.
fn linked(
    store: &Store<Record>,
    imports: &[Extern],
    names: &[String],
    first: Instance,
) -> Option<Vec<Extern>> {
    let mut linked = imports.to_vec();
    let mut fits = false;
    for import in &mut linked {
        let Extern::Func(wanted) = import else {
            continue;
        };
        let wanted = wanted.ty(store);
        let functions = names.iter().filter_map(|name| first.get_func(store, name));
        if let Some(function) = functions
            .into_iter()
            .find(|found| found.ty(store) == wanted)
        {
            *import = Extern::Func(function);
            fits = true;
        }
    }
    fits.then_some(linked)
}

/// Calls a function; whether one can go on.
fn call_one(
    store: &mut Store<Record>,
    (name, function): (&str, Func),
    call: u64,
    plan: &Plan,
) -> Result<bool, String> {
    let signature = function.ty(&*store);
    let arguments = plan.arguments(name, call, &kinds(signature.params()));
    let arguments: Vec<Val> = arguments.iter().map(|value| given(store, *value)).collect();
    let mut results: Vec<Val> = signature
        .results()
        .iter()
        .map(|of| Val::default_for_ty(*of))
        .collect();
    match function.call(&mut *store, &arguments, &mut results) {
        Ok(()) => {
            let results: Vec<Value> = results
                .iter()
                .map(|result| value(&*store, result))
                .collect();
            store.data_mut().note(name, results);
            Ok(true)
        }
        Err(error) => {
            let kind = trap_kind(&error).map_err(|error| format!("{name}: {error}"))?;
            Ok(store.data_mut().trap(name, kind))
        }
    }
}

/// Our word for a trap.
fn trap_kind(error: &wasmi::Error) -> Result<&'static str, String> {
    if let ErrorKind::Instantiation(InstantiationError::ElementSegmentDoesNotFit { .. }) =
        error.kind()
    {
        return Ok("out-of-bounds-table");
    }
    let Some(code) = error.as_trap_code() else {
        return Err(format!("an error of wasmi: {error}"));
    };
    Ok(match code {
        TrapCode::UnreachableCodeReached => "unreachable",
        TrapCode::MemoryOutOfBounds => "out-of-bounds-memory",
        TrapCode::TableOutOfBounds => "out-of-bounds-table",
        TrapCode::IndirectCallToNull => "uninitialized-element",
        TrapCode::IntegerDivisionByZero => "divide-by-zero",
        TrapCode::IntegerOverflow => "integer-overflow",
        TrapCode::BadConversionToInteger => "invalid-conversion",
        TrapCode::StackOverflow => "stack-exhausted",
        TrapCode::BadSignature => "indirect-type-mismatch",
        TrapCode::OutOfFuel | TrapCode::GrowthOperationLimited | TrapCode::OutOfSystemMemory => {
            "out-of-memory"
        }
    })
}

fn kinds(of: &[ValType]) -> Vec<Kind> {
    of.iter().map(|of| kind(*of)).collect()
}

fn kind(of: ValType) -> Kind {
    match of {
        ValType::I32 => Kind::I32,
        ValType::I64 => Kind::I64,
        ValType::F32 => Kind::F32,
        ValType::F64 => Kind::F64,
        ValType::V128 => Kind::V128,
        ValType::FuncRef => Kind::Function,
        ValType::ExternRef => Kind::Extern,
    }
}

/// A value for a guest.
fn given(store: &mut Store<Record>, value: Value) -> Val {
    match value {
        Value::I32(bits) => Val::I32(bits as i32),
        Value::I64(bits) => Val::I64(bits as i64),
        Value::F32(bits) => Val::F32(F32::from_bits(bits)),
        Value::F64(bits) => Val::F64(F64::from_bits(bits)),
        Value::V128(bits) => Val::V128(V128::from(bits)),
        Value::Function(_) => Val::FuncRef(Nullable::Null),
        Value::Extern(0) => Val::ExternRef(Nullable::Null),
        Value::Extern(number) => Val::ExternRef(Nullable::Val(ExternRef::new(store, number))),
    }
}

/// A value of a guest.
fn value<'a>(store: impl Into<wasmi::StoreContext<'a, Record>>, of: &Val) -> Value {
    match of {
        Val::I32(value) => Value::I32(*value as u32),
        Val::I64(value) => Value::I64(*value as u64),
        Val::F32(value) => Value::F32(value.to_bits()),
        Val::F64(value) => Value::F64(value.to_bits()),
        Val::V128(value) => Value::V128(value.as_u128()),
        Val::FuncRef(function) => Value::Function(!function.is_null()),
        Val::ExternRef(Nullable::Null) => Value::Extern(0),
        Val::ExternRef(Nullable::Val(object)) => {
            let number = object.data(store).downcast_ref::<u32>();
            Value::Extern(number.copied().unwrap_or(u32::MAX))
        }
    }
}

fn import_of(store: &mut Store<Record>, of: &ExternType, plan: &Plan) -> Result<Extern, String> {
    let refused = |error: &dyn std::fmt::Display| format!("wasmi makes no import: {error}");
    Ok(match of {
        ExternType::Func(signature) => {
            let results: Vec<Value> = kinds(signature.results())
                .iter()
                .map(|kind| plan.given(*kind))
                .collect();
            let results: Vec<Val> = results.iter().map(|value| given(store, *value)).collect();
            Extern::Func(host_function(store, signature.clone(), results))
        }
        ExternType::Table(of) => {
            let null = Ref::null(of.element());
            Extern::Table(Table::new(store, *of, null).map_err(|error| refused(&error))?)
        }
        ExternType::Memory(of) => {
            Extern::Memory(Memory::new(store, *of).map_err(|error| refused(&error))?)
        }
        ExternType::Global(of) => {
            let value = given(store, plan.given(kind(of.content())));
            Extern::Global(Global::new(store, value, of.mutability()))
        }
    })
}

fn host_function(store: &mut Store<Record>, signature: FuncType, given: Vec<Val>) -> Func {
    Func::new(store, signature, move |mut caller, arguments, results| {
        let arguments: Vec<Value> = arguments
            .iter()
            .map(|argument| value(&caller, argument))
            .collect();
        caller.data_mut().note("host", arguments);
        results.clone_from_slice(&given);
        Ok(())
    })
}

fn note_state(store: &mut Store<Record>, instance: Instance, names: &[String]) {
    for name in names {
        let values: Vec<Value> = match instance.get_export(&*store, name) {
            Some(Extern::Global(global)) => vec![value(&*store, &global.get(&*store))],
            Some(Extern::Memory(memory)) => {
                let bytes = memory.data(&*store);
                [bytes.len() as u64, hash(bytes)].map(Value::I64).to_vec()
            }
            Some(Extern::Table(table)) => (0..table.size(&*store))
                .filter_map(|index| table.get(&*store, index))
                .map(|element| match element {
                    Ref::Func(function) => value(&*store, &Val::FuncRef(function)),
                    Ref::Extern(object) => value(&*store, &Val::ExternRef(object)),
                })
                .collect(),
            Some(Extern::Func(_)) | None => continue,
        };
        store.data_mut().note(name.clone(), values);
    }
}
