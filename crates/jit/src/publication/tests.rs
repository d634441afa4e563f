//! All interleavings of one publishing thread and others that call, run loops and come to safepoints,
//! by `loom`.
//!
//! Memory that is not atomic is in cells that fail when it is read while it is written. The stop of the
//! world is written after the heap's: a thread that asks waits until every other stands at a safepoint,
//! and lets them go.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use canny_tables::opcodes::{Opcode, encode_abc};

use super::{SharedWord, Way, lead_calls, lead_on, patch, retire};

impl SharedWord<u64> for AtomicU64 {
    fn publish(&self, value: u64) {
        self.store(value, Ordering::Release);
    }
}

impl SharedWord<u32> for AtomicU32 {
    fn publish(&self, value: u32) {
        self.store(value, Ordering::Release);
    }
}

/// A word that forgets to release.
struct Careless(AtomicU64);

impl SharedWord<u64> for Careless {
    fn publish(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

trait Readable {
    fn read(&self) -> u64;
}

impl Readable for AtomicU64 {
    fn read(&self) -> u64 {
        self.load(Ordering::Acquire)
    }
}

impl Readable for Careless {
    fn read(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

const BYTECODE: Way = Way {
    entry: 1,
    native: 2,
};
const COMPILED: Way = Way {
    entry: 3,
    native: 4,
};
const NATIVE: u32 = encode_abc(Opcode::Native, 0, 0, 0);
const RETIRED: u32 = encode_abc(Opcode::Retired, 0, 0, 0);
const LOOP: u32 = encode_abc(Opcode::Loop, 0, 0, 0);
const LOOP_NATIVE: u32 = encode_abc(Opcode::LoopNative, 0, 0, 0);

/// Content of memory for code before anything is there, with code in it, and after it was freed.
const EMPTY: u64 = 0;
const CODE: u64 = 7;
const FREED: u64 = 0xcc;

/// The heap's way of stopping the world.
struct Safepoints {
    is_asked: AtomicBool,
    /// Threads that run, and whether one of them stops the others.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Safepoints {
    fn new(threads: usize) -> Safepoints {
        Safepoints {
            is_asked: AtomicBool::new(false),
            state: Mutex::new((threads, false)),
            changed: Condvar::new(),
        }
    }

    fn poll(&self) {
        if !self.is_asked.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state.lock().unwrap();
        if !state.1 {
            return;
        }
        state.0 -= 1;
        self.changed.notify_all();
        while state.1 {
            state = self.changed.wait(state).unwrap();
        }
        state.0 += 1;
    }

    /// A thread that ends is at a safepoint for ever.
    fn leave(&self) {
        self.state.lock().unwrap().0 -= 1;
        self.changed.notify_all();
    }

    fn stop_the_world(&self, work: impl FnOnce()) {
        let mut state = self.state.lock().unwrap();
        state.1 = true;
        self.is_asked.store(true, Ordering::Relaxed);
        while state.0 > 1 {
            state = self.changed.wait(state).unwrap();
        }
        work();
        self.is_asked.store(false, Ordering::Relaxed);
        state.1 = false;
        self.changed.notify_all();
    }
}

/// A code object, a descriptor, memory for code, and a loop with its place in the registry.
struct World<W> {
    entry: W,
    native: W,
    opcode: AtomicU32,
    /// Machine address in the descriptor.
    descriptor: UnsafeCell<u64>,
    memory: UnsafeCell<u64>,
    instruction: AtomicU32,
    registry: Mutex<bool>,
    safepoints: Safepoints,
}

impl<W> World<W> {
    fn new(word: impl Fn(u64) -> W, threads: usize) -> World<W> {
        World {
            entry: word(BYTECODE.entry),
            native: word(BYTECODE.native),
            opcode: AtomicU32::new(0),
            descriptor: UnsafeCell::new(EMPTY),
            memory: UnsafeCell::new(EMPTY),
            instruction: AtomicU32::new(LOOP),
            registry: Mutex::new(false),
            safepoints: Safepoints::new(threads),
        }
    }

    /// Writes code and descriptor, to which nothing leads yet.
    fn install(&self) {
        // SAFETY: loom fails if anybody else is there.
        unsafe {
            self.memory.with_mut(|there| *there = CODE);
            self.descriptor.with_mut(|there| *there = COMPILED.native);
        }
        self.opcode.store(NATIVE, Ordering::Relaxed);
    }

    fn free(&self) {
        // SAFETY: as above.
        unsafe {
            self.memory.with_mut(|there| *there = FREED);
            self.descriptor.with_mut(|there| *there = FREED);
        }
    }

    fn run(&self) {
        // SAFETY: as above.
        assert_eq!(unsafe { self.memory.with(|there| *there) }, CODE);
    }

    /// Dispatches the descriptor: compiled code, or the bytecode if it is retired.
    fn dispatch_descriptor(&self) {
        match self.opcode.load(Ordering::Acquire) {
            NATIVE => {
                // SAFETY: as above.
                let native = unsafe { self.descriptor.with(|there| *there) };
                assert_eq!(native, COMPILED.native);
                self.run();
            }
            opcode => assert_eq!(opcode, RETIRED),
        }
    }

    /// A loop of the interpreter goes round.
    fn go_round(&self) {
        if self.instruction.load(Ordering::Relaxed) == LOOP_NATIVE {
            let is_there = *self.registry.lock().unwrap();
            if is_there {
                self.dispatch_descriptor();
            }
        }
    }
}

impl<W: SharedWord<u64> + Readable> World<W> {
    /// A call by the interpreter.
    fn call(&self) {
        match self.entry.read() {
            1 => {}
            entry => {
                assert_eq!(entry, COMPILED.entry);
                self.dispatch_descriptor();
            }
        }
    }

    /// A call by compiled code.
    fn call_native(&self) {
        match self.native.read() {
            2 => {}
            native => {
                assert_eq!(native, COMPILED.native);
                self.run();
            }
        }
    }

    fn publish(&self) {
        self.install();
        let _registry = self.registry.lock().unwrap();
        lead_calls(&self.entry, &self.native, COMPILED);
    }

    fn retire(&self) {
        let _registry = self.registry.lock().unwrap();
        lead_calls(&self.entry, &self.native, BYTECODE);
        retire(&self.opcode);
    }
}

/// A thread publishes, retires and frees while others call, so often each, with a poll behind each call.
fn check<W>(word: fn(u64) -> W, calls: &'static [fn(&World<W>)], rounds: usize, stops: bool)
where
    W: SharedWord<u64> + Readable + Send + Sync + 'static,
{
    let mut model = loom::model::Builder::new();
    // All interleavings with so many switches away from a thread that could run.
    model.preemption_bound = Some(if calls.len() > 1 { 2 } else { 3 });
    model.check(move || {
        let world = Arc::new(World::new(word, 1 + calls.len()));
        let readers: Vec<_> = calls
            .iter()
            .map(|call| {
                let world = world.clone();
                thread::spawn(move || {
                    for _ in 0..rounds {
                        call(&world);
                        world.safepoints.poll();
                    }
                    world.safepoints.leave();
                })
            })
            .collect();
        world.publish();
        world.retire();
        if stops {
            world.safepoints.stop_the_world(|| world.free());
        } else {
            world.free();
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn calls_find_complete_code_and_code_is_freed_behind_all_of_them() {
    check(AtomicU64::new, &[World::call], 2, true);
    check(AtomicU64::new, &[World::call_native], 2, true);
    check(AtomicU64::new, &[World::call, World::call_native], 1, true);
}

#[test]
#[should_panic]
fn code_that_is_freed_without_a_safepoint_is_found_out() {
    check(AtomicU64::new, &[World::call], 1, false);
}

#[test]
#[should_panic]
fn a_store_that_does_not_release_is_found_out() {
    let careless = |value| Careless(AtomicU64::new(value));
    check(careless, &[World::call_native], 1, true);
}

#[test]
fn loops_enter_complete_code_or_none() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = Arc::new(World::new(AtomicU64::new, 2));
        let reader = thread::spawn({
            let world = world.clone();
            move || {
                for _ in 0..3 {
                    world.go_round();
                    world.safepoints.poll();
                }
                world.safepoints.leave();
            }
        });
        world.install();
        {
            let mut is_there = world.registry.lock().unwrap();
            *is_there = true;
            patch(&world.instruction, LOOP_NATIVE);
        }
        {
            let mut is_there = world.registry.lock().unwrap();
            *is_there = false;
            patch(&world.instruction, LOOP);
            retire(&world.opcode);
        }
        world.safepoints.stop_the_world(|| world.free());
        reader.join().unwrap();
    });
}

/// Machine address of the second candidate of a chain; the first is at that of [`COMPILED`].
const SECOND: u64 = 5;

/// A code object's native word, and two candidates with the words by which they pass calls on.
struct Chain {
    native: AtomicU64,
    memories: [UnsafeCell<u64>; 2],
    next: [AtomicU64; 2],
    safepoints: Safepoints,
}

impl Chain {
    /// A call that neither candidate is for.
    fn call(&self) {
        let mut at = self.native.read();
        while at != BYTECODE.native {
            let candidate = usize::from(at == SECOND);
            assert!(at == SECOND || at == COMPILED.native);
            // SAFETY: loom fails if anybody writes there meanwhile.
            let there = unsafe { self.memories[candidate].with(|there| *there) };
            assert_eq!(there, CODE);
            at = self.next[candidate].read();
        }
    }

    fn write(&self, candidate: usize, content: u64) {
        // SAFETY: as above.
        unsafe { self.memories[candidate].with_mut(|there| *there = content) };
    }
}

#[test]
fn calls_are_passed_on_past_candidates_that_come_and_go() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let chain = Arc::new(Chain {
            native: AtomicU64::new(COMPILED.native),
            memories: [UnsafeCell::new(CODE), UnsafeCell::new(EMPTY)],
            next: [BYTECODE.native, 0].map(AtomicU64::new),
            safepoints: Safepoints::new(2),
        });
        let entry = AtomicU64::new(COMPILED.entry);
        let reader = thread::spawn({
            let chain = chain.clone();
            move || {
                for _ in 0..3 {
                    chain.call();
                    chain.safepoints.poll();
                }
                chain.safepoints.leave();
            }
        });
        // A second candidate, behind the first.
        chain.write(1, CODE);
        lead_on(&chain.next[1], BYTECODE.native);
        lead_on(&chain.next[0], SECOND);
        // The first is retired; it still leads on.
        let second = Way {
            entry: SECOND,
            native: SECOND,
        };
        lead_calls(&entry, &chain.native, second);
        chain.safepoints.stop_the_world(|| chain.write(0, FREED));
        // And the second.
        lead_calls(&entry, &chain.native, BYTECODE);
        chain.safepoints.stop_the_world(|| chain.write(1, FREED));
        reader.join().unwrap();
    });
}

/// Machine address of the code through which a link leads that has no candidate.
const ADAPTER: u64 = 6;

#[test]
fn links_lead_to_complete_code_or_by_way_of_the_code_object() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = Arc::new(World::new(AtomicU64::new, 2));
        let link = Arc::new(AtomicU64::new(ADAPTER));
        let reader = thread::spawn({
            let (world, link) = (world.clone(), link.clone());
            move || {
                for _ in 0..3 {
                    match link.read() {
                        ADAPTER => world.call_native(),
                        native => {
                            assert_eq!(native, COMPILED.native);
                            world.run();
                        }
                    }
                    world.safepoints.poll();
                }
                world.safepoints.leave();
            }
        });
        world.publish();
        lead_on(&*link, COMPILED.native);
        world.retire();
        lead_on(&*link, ADAPTER);
        world.safepoints.stop_the_world(|| world.free());
        reader.join().unwrap();
    });
}

#[test]
#[should_panic]
fn a_link_that_is_not_led_back_is_found_out() {
    loom::model(|| {
        let world = Arc::new(World::new(AtomicU64::new, 2));
        world.install();
        let link = Arc::new(AtomicU64::new(COMPILED.native));
        let reader = thread::spawn({
            let (world, link) = (world.clone(), link.clone());
            move || {
                for _ in 0..2 {
                    if link.read() == COMPILED.native {
                        world.run();
                    }
                    world.safepoints.poll();
                }
                world.safepoints.leave();
            }
        });
        world.retire();
        world.safepoints.stop_the_world(|| world.free());
        reader.join().unwrap();
    });
}
