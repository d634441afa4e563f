//! Exceptions between guests and functions of the host, and how many of them are kept.

use canny_wasm::{
    Event, Exception, Extern, Function, FunctionType, Imports, Instance, Limits, Module, Outcome,
    Store, Tag, Trap, ValueType,
};

/// Makes an instance of the guest.
fn instance(store: &mut Store, imports: &Imports) -> Instance {
    let module = Module::read(GUEST.as_bytes().to_vec()).unwrap();
    store.instantiate(&module, imports).unwrap()
}

/// The function that an instance exports under a name.
fn function(store: &Store, instance: Instance, name: &str) -> Function {
    let Some(Extern::Function(function)) = instance.export(store, name) else {
        panic!("there is no function {name}");
    };
    function
}

fn numbers(parameters: usize, results: usize) -> FunctionType {
    FunctionType {
        parameters: vec![ValueType::I32; parameters],
        results: vec![ValueType::I32; results],
    }
}

const GUEST: &str = r#"(module
    (import "host" "tag" (tag $tag (param i32 i64)))
    (import "host" "call" (func $host (param i32) (result i32)))
    (func (export "catch") (param i32) (result i32 i64)
        (block $caught (result i32 i64)
            (try_table (catch $tag $caught)
                (return (call $host (local.get 0)) (i64.const 0)))
            (unreachable)))
    (func (export "pass") (param i32) (result i32)
        (i32.add (call $host (local.get 0)) (i32.const 1)))
    (func (export "throw") (param i32) (result i32)
        (throw $tag (local.get 0) (i64.const -1)))
    (func (export "throw-and-catch") (param i32) (result i64)
        (drop (block $caught (result i32 i64)
            (try_table (catch $tag $caught) (throw $tag (local.get 0) (i64.const 8)))
            (unreachable)))
        (i64.extend_i32_u))
    (func (export "forever")
        (loop $again
            (try_table (catch_all $again) (throw $tag (i32.const 0) (i64.const 0)))))
)"#;

/// A store with a tag and the guest; the function of the host throws its argument if it is odd.
fn guest() -> (Store, Tag, Instance) {
    let mut store = Store::new();
    let tag = store.tag(vec![ValueType::I32, ValueType::I64]);
    let host = store.host_function(
        numbers(1, 1),
        Box::new(move |store, arguments, results| {
            if arguments[0] % 2 == 1 {
                let exception = store.exception(tag, &[arguments[0], 99]).unwrap();
                return Err(Trap::Exception(exception));
            }
            results[0] = 10 * arguments[0];
            Ok(Outcome::Done)
        }),
    );
    let mut imports = Imports::default();
    imports.add("host", "tag", Extern::Tag(tag));
    imports.add("host", "call", Extern::Function(host));
    let guest = instance(&mut store, &imports);
    (store, tag, guest)
}

fn raised(result: Result<Vec<u64>, Trap>) -> Exception {
    match result {
        Err(Trap::Exception(exception)) => exception,
        other => panic!("no exception: {other:?}"),
    }
}

#[test]
fn functions_of_the_host_raise_what_guests_catch() {
    let (mut store, tag, guest) = guest();
    let catch = function(&store, guest, "catch");
    assert_eq!(store.call(catch, &[4]).unwrap(), [40, 0]);
    assert_eq!(store.call(catch, &[5]).unwrap(), [5, 99]);
    let within = function(&store, guest, "throw-and-catch");
    assert_eq!(store.call(within, &[5]).unwrap(), [5]);
    // Nothing is there to catch.
    let pass = function(&store, guest, "pass");
    assert_eq!(store.call(pass, &[4]).unwrap(), [41]);
    let exception = raised(store.call(pass, &[7]));
    assert_eq!((exception.tag(), exception.words()), (tag, &[7, 99][..]));
}

#[test]
fn the_host_catches_what_guests_throw() {
    let (mut store, tag, guest) = guest();
    let throw = function(&store, guest, "throw");
    let exception = raised(store.call(throw, &[3]));
    assert_eq!(exception.tag(), tag);
    assert_eq!(exception.words(), [3, u64::MAX]);
    assert_eq!(Trap::Exception(exception).kind(), "exception");
    assert!(
        store.exception(tag, &[1]).is_none(),
        "the tag has two values"
    );
}

#[test]
fn exceptions_go_through_runs_inside_of_each_other() {
    let (mut store, tag, guest) = guest();
    let throw = function(&store, guest, "throw");
    let through = store.host_function(
        numbers(1, 1),
        Box::new(move |store, arguments, results| {
            results.copy_from_slice(&store.call(throw, arguments)?);
            Ok(Outcome::Done)
        }),
    );
    let mut imports = Imports::default();
    imports.add("host", "tag", Extern::Tag(tag));
    imports.add("host", "call", Extern::Function(through));
    let outer = instance(&mut store, &imports);
    let catch = function(&store, outer, "catch");
    for number in 0..1000 {
        assert_eq!(store.call(catch, &[number]).unwrap(), [number, u64::MAX]);
    }
}

#[test]
fn calls_outside_of_the_store_are_answered_with_exceptions() {
    let mut store = Store::new();
    let tag = store.tag(vec![ValueType::I32, ValueType::I64]);
    let outside = store.outside_function(numbers(1, 1), 3);
    let mut imports = Imports::default();
    imports.add("host", "tag", Extern::Tag(tag));
    imports.add("host", "call", Extern::Function(outside));
    let guest = instance(&mut store, &imports);
    let exception = store.exception(tag, &[1, 2]).unwrap();

    let run = store.begin(function(&store, guest, "catch"), &[6]).unwrap();
    assert!(matches!(store.proceed(run), Ok(Event::Call(3))));
    store.raise(run, exception.clone()).unwrap();
    assert!(matches!(store.proceed(run), Ok(Event::Finished)));
    assert_eq!(store.results(), [1, 2]);

    let run = store.begin(function(&store, guest, "pass"), &[6]).unwrap();
    assert!(matches!(store.proceed(run), Ok(Event::Call(3))));
    let trap = store.raise(run, exception.clone()).unwrap_err();
    assert_eq!(trap, Trap::Exception(exception.clone()));
    assert!(store.raise(run, exception).is_err(), "the run has ended");
    assert!(store.newest_run().is_none());
}

#[test]
fn catching_uses_fuel() {
    let (mut store, _, guest) = guest();
    let forever = function(&store, guest, "forever");
    let limits = Limits {
        fuel: Some(10_000),
        ..Limits::default()
    };
    assert_eq!(
        store.call_within(forever, &[], limits),
        Err(Trap::OutOfFuel)
    );
}

/// An embedder may end a call a second time, when another one has begun.
#[test]
fn a_call_that_has_ended_does_not_end_later_ones() {
    let mut store = Store::new();
    let tag = store.tag(vec![ValueType::I32, ValueType::I64]);
    let host = store.outside_function(numbers(1, 1), 0);
    let mut imports = Imports::default();
    imports.add("host", "tag", Extern::Tag(tag));
    imports.add("host", "call", Extern::Function(host));
    let instance = instance(&mut store, &imports);
    let pass = function(&store, instance, "pass");
    let first = store.begin(pass, &[1]).unwrap();
    assert!(matches!(store.proceed(first), Ok(Event::Call(0))));
    store.answer(first, &[5]).unwrap();
    assert!(matches!(store.proceed(first), Ok(Event::Finished)));
    let second = store.begin(pass, &[2]).unwrap();
    assert!(matches!(store.proceed(second), Ok(Event::Call(0))));
    store.abandon(first);
    assert!(store.has_run(second) && !store.has_run(first));
    store.answer(second, &[6]).unwrap();
    assert!(matches!(store.proceed(second), Ok(Event::Finished)));
    assert_eq!(store.results(), [7]);
    // Calls inside of one that is ended end with it.
    let outer = store.begin(pass, &[1]).unwrap();
    assert!(matches!(store.proceed(outer), Ok(Event::Call(0))));
    let inner = store.begin(pass, &[1]).unwrap();
    store.abandon(outer);
    assert!(!store.has_run(inner) && store.newest_run().is_none());
}
