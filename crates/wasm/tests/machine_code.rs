//! Functions of guests become machine code: which do, which do not and why, and what is seen of it.

use canny_wasm::{
    Event, Extern, Function, FunctionType, Imports, Instance, MachineCodePolicy as Policy, Module,
    Outcome, Store, Trap, ValueType, set_machine_code_policy,
};

fn exported(store: &Store, instance: Instance, name: &str) -> Function {
    match instance.export(store, name) {
        Some(Extern::Function(function)) => function,
        other => panic!("{name} is {other:?}"),
    }
}

fn instance(store: &mut Store, text: &str, imports: &Imports) -> (Module, Instance) {
    let module = Module::read(text.as_bytes().to_vec()).unwrap();
    let instance = store.instantiate(&module, imports).unwrap();
    (module, instance)
}

/// The policy is that of the process, so that there is one test.
#[test]
fn functions_become_machine_code() {
    set_machine_code_policy(Policy::Hot);
    a_long_call_changes_in_the_middle();
    short_calls_count_together();
    set_machine_code_policy(Policy::Always);
    refusals_say_why();
    backtraces_have_both_kinds_of_frames();
    a_run_is_left_and_goes_on();
    fuel_ends_loops_and_recursion();
    copies_of_loops_take_the_fuel_of_one();
    objects_are_found_in_frames();
    objects_of_a_trap_are_free();
    set_machine_code_policy(Policy::Never);
    nothing_is_compiled();
}

const LOOP: &str = "(module
  (func (export \"sum\") (param i64) (result i64)
    (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (local.get 0)))
      (br_if $next (i64.ne (local.tee 0 (i64.sub (local.get 0) (i64.const 1))) (i64.const 0))))
    (local.get $sum)))";

/// Waits for the thread of the compiler, which a loaded machine may keep waiting.
fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the compiler has not come to an end");
}

fn a_long_call_changes_in_the_middle() {
    let mut store = Store::new();
    let (module, instance) = instance(&mut store, LOOP, &Imports::default());
    let sum = exported(&store, instance, "sum");
    let mut turns: u64 = 10_000_000;
    loop {
        let result = store.call(sum, &[turns]).unwrap();
        assert_eq!(result, [turns.wrapping_mul(turns + 1) / 2]);
        if module.is_machine_code(0) {
            break;
        }
        // The compiler was slower than the call.
        turns *= 2;
        assert!(turns < 1 << 36);
    }
    assert!(module.machine_code_bytes() > 0);
    assert_eq!(module.refusals(), []);
}

fn short_calls_count_together() {
    let mut store = Store::new();
    let text = "(module (func (export \"add\") (param i32 i32) (result i32)
      (i32.add (local.get 0) (local.get 1))))";
    let (module, instance) = instance(&mut store, text, &Imports::default());
    let add = exported(&store, instance, "add");
    for number in 0..100_000 {
        assert_eq!(
            store.call(add, &[number, 5]).unwrap()[0] as u32,
            number as u32 + 5
        );
    }
    wait_until(|| module.is_machine_code(0));
    assert_eq!(store.call(add, &[7, 8]).unwrap()[0] as u32, 15);
}

fn refusals_say_why() {
    let mut store = Store::new();
    let text = "(module
      (func $many (export \"many\") (result i32 i32 i32 i32 i32)
        (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1))
      (func (export \"plain\") (result i32) (i32.const 3)))";
    let (module, instance) = instance(&mut store, text, &Imports::default());
    for name in ["many", "plain"] {
        let function = exported(&store, instance, name);
        store.call(function, &[]).unwrap();
    }
    let compiled = [0, 1].map(|index| module.is_machine_code(index));
    assert_eq!(compiled, [false, true]);
    let why: Vec<String> = module.refusals().into_iter().map(|(_, why)| why).collect();
    assert_eq!(why, ["a function has many results"]);
}

fn backtraces_have_both_kinds_of_frames() {
    let mut store = Store::new();
    let text = "(module
      (func $inner (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
      (func $many (result i32 i32 i32 i32 i32) (unreachable))
      (func $between (param i32) (result i32)
        (if (i32.eq (local.get 0) (i32.const 7))
          (then (call $many) (drop) (drop) (drop) (drop) (drop)))
        (block $b (try_table (catch_all $b) (return (call $inner (local.get 0)))))
        (i32.const 0))
      (func $outer (param i32) (result i32) (i32.add (call $between (local.get 0)) (i32.const 1)))
      (func (export \"start\") (param i32) (result i32)
        (if (i32.eq (local.get 0) (i32.const 7))
          (then (call $many) (drop) (drop) (drop) (drop) (drop)))
        (block $b (try_table (catch_all $b) (return (call $outer (local.get 0)))))
        (i32.const 0)))";
    let (module, instance) = instance(&mut store, text, &Imports::default());
    let start = exported(&store, instance, "start");
    assert_eq!(store.call(start, &[1]).unwrap()[0] as u32, 2);
    let compiled = [0, 2, 3, 4].map(|index| module.is_machine_code(index));
    assert_eq!(compiled, [true, false, true, false]);
    let trap = store.call(start, &[0]).unwrap_err();
    assert_eq!(trap.kind(), "divide-by-zero");
    let frames = store.backtrace().iter();
    let names: Vec<_> = frames.map(|frame| frame.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["inner", "between", "outer", "start"]);
    assert_eq!(store.call(start, &[1]).unwrap()[0] as u32, 2);
}

fn a_run_is_left_and_goes_on() {
    let mut store = Store::new();
    let kind = FunctionType {
        parameters: vec![ValueType::I32, ValueType::F64],
        results: vec![ValueType::I64],
    };
    let mut imports = Imports::default();
    let outside = store.outside_function(kind.clone(), 12);
    imports.add("host", "outside", Extern::Function(outside));
    let body = |store: &mut Store, arguments: &[u64], results: &mut [u64]| {
        assert!(store.newest_run().is_none());
        results[0] = arguments[0] * 2;
        Ok(Outcome::Done)
    };
    let inside = store.host_function(kind, Box::new(body));
    imports.add("host", "inside", Extern::Function(inside));
    let text = "(module
      (import \"host\" \"outside\" (func $outside (param i32 f64) (result i64)))
      (import \"host\" \"inside\" (func $inside (param i32 f64) (result i64)))
      (func $middle (param i32) (result i64)
        (i64.add (call $outside (local.get 0) (f64.const 2.5))
          (call $inside (local.get 0) (f64.const 1))))
      (func (export \"run\") (param i32) (result i64)
        (local $sum i64)
        (loop $next
          (local.set $sum (i64.add (local.get $sum) (call $middle (local.get 0))))
          (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get $sum)))";
    let (module, instance) = instance(&mut store, text, &imports);
    let run = exported(&store, instance, "run");
    let id = store.begin(run, &[100]).unwrap();
    let mut calls = 0;
    loop {
        match store.proceed(id).unwrap() {
            Event::Finished => break,
            Event::Call(number) => {
                assert_eq!(number, 12);
                let arguments = store.arguments().to_vec();
                assert_eq!(arguments[0] as u32, 100 - calls);
                assert_eq!(f64::from_bits(arguments[1]), 2.5);
                calls += 1;
                store.answer(id, &[1000]).unwrap();
            }
            Event::Pause | Event::Wait => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((calls, store.results()), (100, &[110_100][..]));
    assert!(module.is_machine_code(2) && module.is_machine_code(3));
    // A run that is abandoned in the middle leaves nothing behind.
    let id = store.begin(run, &[3]).unwrap();
    assert!(matches!(store.proceed(id).unwrap(), Event::Call(12)));
    store.abandon(id);
    let id = store.begin(run, &[1]).unwrap();
    assert!(matches!(store.proceed(id).unwrap(), Event::Call(12)));
    store.answer(id, &[5]).unwrap();
    assert!(matches!(store.proceed(id).unwrap(), Event::Finished));
    assert_eq!(store.results(), [7]);
}

fn fuel_ends_loops_and_recursion() {
    let mut store = Store::new();
    let text = "(module
      (func (export \"loop\") (loop $next (br $next)))
      (func $down (export \"down\") (param i32)
        (if (local.get 0) (then (call $down (i32.sub (local.get 0) (i32.const 1)))))))";
    let (module, instance) = instance(&mut store, text, &Imports::default());
    store.set_fuel(Some(1_000_000));
    let endless = exported(&store, instance, "loop");
    let trap = store.call(endless, &[]).unwrap_err();
    assert!(matches!(trap, Trap::OutOfFuel), "{trap:?}");
    assert_eq!(store.fuel(), Some(0));
    store.set_fuel(Some(5000));
    let down = exported(&store, instance, "down");
    store.call(down, &[1000]).unwrap();
    let left = store.fuel().unwrap();
    assert!((3900..=4000).contains(&left), "{left}");
    assert!(module.is_machine_code(0) && module.is_machine_code(1));
}

/// Short loops become several copies, and may be left in each of them.
fn copies_of_loops_take_the_fuel_of_one() {
    let mut store = Store::new();
    let (module, instance) = instance(&mut store, LOOP, &Imports::default());
    let sum = exported(&store, instance, "sum");
    store.call(sum, &[1]).unwrap();
    assert!(module.is_machine_code(0));
    for turns in 1..=20 {
        for spare in [0, 1, 2, 3, 1000] {
            store.set_fuel(Some(turns + spare));
            assert_eq!(
                store.call(sum, &[turns]).unwrap(),
                [turns * (turns + 1) / 2]
            );
            assert_eq!(store.fuel(), Some(spare), "{turns} turns, {spare} to spare");
        }
        store.set_fuel(Some(turns));
        let trap = store.call(sum, &[turns + 4]).unwrap_err();
        assert_eq!(trap.kind(), "out-of-fuel");
        assert_eq!(store.fuel(), Some(0));
    }
}

fn objects_are_found_in_frames() {
    let mut store = Store::new();
    // Each frame holds an object in a register or on its stack while others are made and forgotten.
    let text = "(module
      (type $pair (struct (field i32) (field (mut (ref null $pair)))))
      (func $make (param i32 (ref null $pair)) (result (ref $pair))
        (struct.new $pair (local.get 0) (local.get 1)))
      (func $sum (param (ref null $pair)) (result i32)
        (local $sum i32)
        (loop $next
          (if (i32.eqz (ref.is_null (local.get 0)))
            (then
              (local.set $sum
                (i32.add (local.get $sum) (struct.get $pair 0 (ref.as_non_null (local.get 0)))))
              (local.set 0 (struct.get $pair 1 (ref.as_non_null (local.get 0))))
              (br $next))))
        (local.get $sum))
      (func $waste (param i32)
        (loop $next
          (drop (call $make (local.get 0) (ref.null $pair)))
          (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
      (func $down (export \"down\") (param i32) (result i32)
        (local $own (ref null $pair))
        (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
        (local.set $own (call $make (i32.const 3) (call $make (local.get 0) (ref.null $pair))))
        (call $waste (i32.const 2000))
        (i32.add (call $down (i32.sub (local.get 0) (i32.const 1))) (call $sum (local.get $own)))))";
    let (module, instance) = instance(&mut store, text, &Imports::default());
    let down = exported(&store, instance, "down");
    assert_eq!(
        store.call(down, &[200]).unwrap()[0] as u32,
        200 * 201 / 2 + 600
    );
    assert!((0..4).all(|index| module.is_machine_code(index)));
}

/// The next run has its frames where those of one lie that ended in the middle.
fn objects_of_a_trap_are_free() {
    let mut store = Store::new();
    store.set_memory_limit(Some(64 << 10));
    let text = "(module
      (type $node (struct (field (ref null $node))))
      (func $many (result i32 i32 i32 i32 i32) (unreachable))
      (func $build (param i32) (result (ref null $node))
        (local $list (ref null $node))
        (if (i32.const 0) (then (call $many) (drop) (drop) (drop) (drop) (drop)))
        (loop $next
          (local.set $list (struct.new $node (local.get $list)))
          (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
        (local.get $list))
      (func (export \"interpreted\") (param i32) (drop (call $build (local.get 0))))
      (func (export \"compiled\") (param i32)
        (local $list (ref null $node))
        (loop $next
          (local.set $list (struct.new $node (local.get $list)))
          (br_if $next (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))";
    let (_, instance) = instance(&mut store, text, &Imports::default());
    for (first, second) in [("interpreted", "compiled"), ("compiled", "interpreted")] {
        let (first, second) = [first, second]
            .map(|name| exported(&store, instance, name))
            .into();
        let trap = store.call(first, &[1_000_000]).unwrap_err();
        assert!(matches!(trap, Trap::Reason(_)), "{trap:?}");
        store.call(second, &[500]).unwrap();
    }
}

fn nothing_is_compiled() {
    let mut store = Store::new();
    let (module, instance) = instance(&mut store, LOOP, &Imports::default());
    let sum = exported(&store, instance, "sum");
    store.call(sum, &[3_000_000]).unwrap();
    assert!(!module.is_machine_code(0));
    assert_eq!(module.machine_code_bytes(), 0);
}
