//! Samples of runs: a signal asks for the functions that are active, whatever way they run, and changes
//! nothing else.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use canny_wasm::{
    Extern, Imports, Instance, MachineCodePolicy, Module, SampleAnswer, SampleRegisters,
    SampledFrame, Store, answers, ask, set_machine_code_policy,
};

/// Functions that do the same work once, twice and four times; one that calls itself, and one that ends
/// at once.
const GUEST: &str = r#"(module $shares
  (func $burn (param $n i32) (result i32)
    (local $x i32)
    (loop $again
      (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1103)) (i32.const 12345)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))
    (local.get $x))
  (func $a (result i32) (i32.add (call $burn (i32.const 20000)) (i32.const 1)))
  (func $b (result i32) (i32.add (call $burn (i32.const 40000)) (i32.const 1)))
  (func $c (result i32) (i32.add (call $burn (i32.const 80000)) (i32.const 1)))
  (func (export "work") (param $rounds i32) (result i32)
    (local $sum i32)
    (loop $again
      (local.set $sum
        (i32.add (local.get $sum) (i32.add (call $a) (i32.add (call $b) (call $c)))))
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $again (local.get $rounds)))
    (local.get $sum))
  (func $deep (export "deep") (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (i32.add (call $deep (i32.sub (local.get $n) (i32.const 1))) (i32.const 1)))
      (else (call $burn (i32.const 20000000)))))
  (func (export "leaf") (param $n i32) (result i32) (i32.add (local.get $n) (i32.const 1))))"#;

extern "C" fn on_signal(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system hands out the context.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let word = |register: i32| registers[register as usize] as usize;
    ask(SampleRegisters {
        instruction: word(libc::REG_RIP),
        stack: word(libc::REG_RSP),
        base: word(libc::REG_RBP),
    });
}

/// Runs something while signals come to this thread.
fn sampled<T>(work: impl FnOnce() -> T) -> (T, Vec<SampleAnswer>) {
    // SAFETY: the action is complete, and its handler does only what handlers may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut());
    }
    answers();
    // SAFETY: only asks.
    let thread = unsafe { libc::pthread_self() };
    let is_done = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                // SAFETY: the thread waits for this one, so that it is there.
                unsafe { libc::pthread_kill(thread, libc::SIGPROF) };
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let result = work();
        is_done.store(true, Ordering::Relaxed);
        result
    });
    (result, answers())
}

struct Guest {
    store: Store,
    instance: Instance,
}

impl Guest {
    fn new() -> Guest {
        let mut store = Store::new();
        let module = Module::read(GUEST.as_bytes().to_vec()).unwrap();
        let instance = store.instantiate(&module, &Imports::default()).unwrap();
        Guest { store, instance }
    }

    /// Calls a function; gives its result and the fuel that it has used.
    fn call(&mut self, name: &str, argument: u64) -> (u64, u64) {
        const FUEL: u64 = 1 << 40;
        let Some(Extern::Function(function)) = self.instance.export(&self.store, name) else {
            panic!("{name} is no function");
        };
        self.store.set_fuel(Some(FUEL));
        let results = self.store.call(function, &[argument]).unwrap();
        (results[0], FUEL - self.store.fuel().unwrap())
    }
}

/// Names of an answer, the oldest first.
fn names(answer: &SampleAnswer) -> Vec<&str> {
    let names = answer.frames.iter().rev();
    names.map(|frame| frame.name.as_str()).collect()
}

/// The policy is that of the process, so that there is one test.
#[test]
fn active_functions_are_told() {
    for policy in [
        MachineCodePolicy::Never,
        MachineCodePolicy::Always,
        MachineCodePolicy::Hot,
    ] {
        set_machine_code_policy(policy);
        shares_are_those_of_the_work(policy);
        the_newest_frames_are_told(policy);
        short_calls_are_told(policy);
    }
}

fn shares_are_those_of_the_work(policy: MachineCodePolicy) {
    const ROUNDS: u64 = 400;
    let plain = Guest::new().call("work", ROUNDS);
    let mut guest = Guest::new();
    let (sampled_call, answers) = sampled(|| guest.call("work", ROUNDS));
    assert_eq!(sampled_call.0, plain.0, "{policy:?}");
    if policy != MachineCodePolicy::Hot {
        // A few more or less otherwise, since the compiler may take its time.
        assert_eq!(sampled_call.1, plain.1, "{policy:?}");
    }
    let mut counts = BTreeMap::new();
    let mut requests = 0;
    for answer in &answers {
        let count = answer.last_request - requests.max(answers[0].last_request - 1);
        requests = answer.last_request;
        let names = names(answer);
        assert_eq!(names.first(), Some(&"work"), "{policy:?}: {names:?}");
        assert!(names.len() <= 3, "{policy:?}: {names:?}");
        if let [_, caller, "burn"] = names[..] {
            *counts.entry(caller).or_insert(0) += count;
        }
        let module = |frame: &SampledFrame| frame.module.as_deref() == Some("shares");
        assert!(answer.frames.iter().all(module));
    }
    let sum: u64 = counts.values().sum();
    assert!(sum > 40, "{policy:?}: {counts:?}");
    for (name, part) in [("a", 1), ("b", 2), ("c", 4)] {
        let share = counts.get(name).copied().unwrap_or(0) as f64 / sum as f64;
        let wanted = f64::from(part) / 7.0;
        // Five times the standard deviation.
        let slack = 5.0 * (wanted * (1.0 - wanted) / sum as f64).sqrt();
        let is_near = (share - wanted).abs() < slack + 0.02;
        assert!(is_near, "{policy:?}: {name} has {share} of {sum}");
    }
}

fn the_newest_frames_are_told(policy: MachineCodePolicy) {
    let (_, answers) = sampled(|| Guest::new().call("deep", 1000));
    assert!(!answers.is_empty(), "{policy:?}");
    for answer in &answers {
        let mut names = names(answer);
        // The last answers may be those of the way back.
        if names.last() == Some(&"burn") {
            names.pop();
        }
        assert!(
            names.iter().all(|name| *name == "deep"),
            "{policy:?}: {names:?}"
        );
    }
    let longest = answers.iter().map(|answer| answer.frames.len()).max();
    assert!(longest >= Some(64), "{policy:?}: {longest:?}");
}

/// Calls that end before they come to a jump or call.
fn short_calls_are_told(policy: MachineCodePolicy) {
    let mut guest = Guest::new();
    let (_, answers) = sampled(|| {
        for number in 0..1_000_000 {
            guest.call("leaf", number);
        }
    });
    assert!(!answers.is_empty(), "{policy:?}");
    for answer in &answers {
        assert_eq!(names(answer), ["leaf"], "{policy:?}");
    }
}
