//! Support for the unit tests of primitives: a bare machine, and calls by name.

use canny_heap::HeapConfig;
use canny_tables::primitives::lookup;
use canny_value::Value;
use canny_vm::condition::field;
use canny_vm::strings::string_text;
use canny_vm::symbols::symbol_name;
use canny_vm::{Thread, Vm, VmConfig};

/// A thread of a machine of its own, without any Scheme code.
pub(crate) fn machine() -> Box<Thread> {
    machine_with(HeapConfig::default())
}

/// The same on a heap that collects at every few allocations, now and then fully.
pub(crate) fn stressed_machine() -> Box<Thread> {
    machine_with(HeapConfig {
        stress_every: 7,
        stress_full_every: 5,
        verify: true,
        poison: true,
        ..HeapConfig::default()
    })
}

fn machine_with(heap: HeapConfig) -> Box<Thread> {
    let config = VmConfig {
        heap,
        ..VmConfig::default()
    };
    let machine =
        Vm::new(config, crate::primitive_table(), crate::leaf_table()).expect("address space");
    machine.attach().expect("a stack")
}

/// Calls a primitive that must not raise.
pub(crate) fn call<const COUNT: usize>(
    thread: &mut Thread,
    name: &str,
    arguments: [Value; COUNT],
) -> Value {
    let id = lookup(name).expect("a row");
    match thread.apply_primitive(id, arguments) {
        Ok(value) => value,
        Err(raise) => {
            let condition = thread.take_raised(raise);
            panic!("{name} raised {}", describe(condition));
        }
    }
}

/// Calls a primitive that must raise; gives "kind who: message".
pub(crate) fn failure<const COUNT: usize>(
    thread: &mut Thread,
    name: &str,
    arguments: [Value; COUNT],
) -> String {
    let id = lookup(name).expect("a row");
    match thread.apply_primitive(id, arguments) {
        Ok(value) => panic!("{name} gave {value:?}"),
        Err(raise) => {
            let condition = thread.take_raised(raise);
            describe(condition)
        }
    }
}

fn describe(condition: Value) -> String {
    let condition = condition.as_object().expect("a condition");
    let kind = symbol_name(condition.field(field::KIND)).unwrap_or_default();
    let who = symbol_name(condition.field(field::WHO)).unwrap_or_default();
    let message = string_text(condition.field(field::MESSAGE)).unwrap_or_default();
    format!("{kind} {who}: {message}")
}

/// Reads one datum.
pub(crate) fn read(thread: &mut Thread, text: &str) -> Value {
    let text = thread.string(text);
    let port = call(thread, "open-input-string", [text]);
    call(thread, "read", [port])
}

/// The written form of an object.
pub(crate) fn written(thread: &mut Thread, value: Value) -> String {
    crate::printer::written(thread, value)
}
