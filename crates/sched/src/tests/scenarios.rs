//! The faults that the pool of another language had before it got a new one, each as a program that
//! shows them absent, and what a pool can be asked to bear otherwise.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::pool::{Countdown, Machine, config, soon};
use crate::{Interest, Lane, PoolConfig, WorkerId};

/// A gate that blocks threads until it is opened.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn pass(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }

    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

/// Fault 1: each use of a child process made threads, up to the limit.
#[test]
fn a_thousand_waits_for_children_and_timers_make_few_threads() {
    let (machine, pool) = Machine::new(config(2));
    for _ in 0..50 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = crate::Pid::from_raw(child.id() as i32).unwrap();
        let left = Countdown::new(2);
        for interests in [&[Interest::ChildEnded(pid)][..], &[]] {
            let done = left.clone();
            let word = machine.word(move |_, _, _| done.down());
            pool.park(word, interests, Some(soon(1)), Lane::General)
                .unwrap();
        }
        machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
        child.wait().unwrap();
    }
    // Besides the main thread: one worker and the steward.
    assert!(pool.statistics().workers_max <= 2, "{pool:?}");
    pool.shut_down();
}

/// Fault 2: timers waited behind everything else.
#[test]
fn timers_are_not_behind_a_flood() {
    let (machine, pool) = Machine::new(config(1));
    // Ten thousand items of a tenth of a millisecond are a second of work; the timer comes before most of it.
    let left = Countdown::new(10_000);
    let left_at_timer = Arc::new(Mutex::new(None));
    for _ in 0..10_000 {
        let left = left.clone();
        machine.push(Some(WorkerId::MAIN), Lane::General, move |_, _, _| {
            let end = Instant::now() + Duration::from_micros(100);
            while Instant::now() < end {}
            left.down();
        });
    }
    let (seen, at_timer) = (left.clone(), Arc::clone(&left_at_timer));
    let word = machine.word(move |_, _, _| {
        *at_timer.lock().unwrap() = Some(seen.0.load(Ordering::SeqCst));
    });
    pool.park(word, &[], Some(soon(5)), Lane::Timer).unwrap();
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    let left_at_timer = left_at_timer.lock().unwrap().expect("the timer came");
    assert!(left_at_timer > 1000, "{left_at_timer} were left");
    pool.shut_down();
}

/// Fault 3 and 6: tasks that block their threads wait for work behind them.
fn blocked_items_end(count: usize, declared: bool) {
    // Short queues, so that the last item is reached late.
    let (machine, pool) = Machine::new(PoolConfig {
        local_queue: 1,
        ..config(2)
    });
    let gate = Arc::new(Gate::default());
    let left = Countdown::new(count + 1);
    for _ in 0..count {
        let (left, gate) = (left.clone(), Arc::clone(&gate));
        machine.push(None, Lane::General, move |machine, worker, _| {
            if declared {
                machine.pool().begin_blocking(worker);
            }
            gate.pass();
            if declared {
                machine.pool().end_blocking(worker);
            }
            left.down();
        });
    }
    let done = left.clone();
    machine.push(None, Lane::General, move |_, _, _| {
        gate.open();
        done.down();
    });
    // The main thread computes something else.
    let deadline = soon(100_000);
    while !left.is_done() {
        assert!(Instant::now() < deadline, "it takes too long: {pool:?}");
        thread::sleep(Duration::from_millis(1));
    }
    pool.shut_down();
}

#[test]
fn eight_items_that_block_end() {
    blocked_items_end(8, false);
}

#[test]
fn sixty_three_items_that_block_end() {
    blocked_items_end(63, false);
}

#[test]
fn sixty_four_items_that_block_end() {
    blocked_items_end(64, false);
}

#[test]
fn five_hundred_items_that_block_end() {
    blocked_items_end(500, false);
}

#[test]
fn five_hundred_items_that_say_that_they_block_end() {
    blocked_items_end(500, true);
}

/// Runs so long, and gives way when asked to.
fn compute(machine: &Arc<Machine>, worker: WorkerId, until: Instant, left: Countdown) {
    let flag = machine.flag(worker);
    while Instant::now() < until {
        if flag.load(Ordering::SeqCst) {
            let word =
                machine.word(move |machine, worker, _| compute(machine, worker, until, left));
            machine.pool().yield_word(worker, Lane::General, word);
            return;
        }
    }
    left.down();
}

/// Fault 4, 5 and 7: as many workers as cores for what computes, however much waits.
#[test]
fn computing_items_get_as_many_workers_as_there_are_cores() {
    let cores = thread::available_parallelism().unwrap().get();
    let (machine, pool) = Machine::new(config(cores));
    let left = Countdown::new(4 * cores);
    let until = soon(700);
    for _ in 0..4 * cores {
        let left = left.clone();
        machine.push(
            Some(WorkerId::MAIN),
            Lane::General,
            move |machine, worker, _| {
                compute(machine, worker, until, left);
            },
        );
    }
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    let statistics = pool.statistics();
    assert!(statistics.workers_max <= cores + 1, "{statistics:?}");
    assert!(statistics.preempted > 0, "{statistics:?}");
    pool.shut_down();
}

#[test]
fn pinned_words_run_on_their_worker_which_is_interrupted_for_them() {
    let (machine, pool) = Machine::new(config(2));
    let left = Countdown::new(100);
    let flag = machine.flag(WorkerId::MAIN);
    for _ in 0..100 {
        let done = left.clone();
        machine.push(None, Lane::Pinned(WorkerId::MAIN), move |_, worker, _| {
            assert_eq!(worker, WorkerId::MAIN);
            done.down();
        });
    }
    // The main thread is in a long item until it is asked to yield.
    while !flag.load(Ordering::SeqCst) {
        std::hint::spin_loop();
    }
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    pool.shut_down();
}

#[test]
fn refused_threads_are_told_and_the_main_worker_goes_on() {
    let (machine, pool) = Machine::new(config(4));
    machine.refuses.store(true, Ordering::SeqCst);
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    pool.set_trace(Some(Arc::new(move |line: &str| {
        sink.lock().unwrap().push(line.to_owned());
    })));
    let left = Countdown::new(100);
    for _ in 0..100 {
        let left = left.clone();
        machine.push(Some(WorkerId::MAIN), Lane::General, move |_, _, _| {
            left.down()
        });
    }
    // It is counted first and reported then.
    while lines.lock().unwrap().is_empty() {
        thread::yield_now();
    }
    assert!(pool.statistics().refused > 0);
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    assert_eq!(pool.statistics().started, 0);
    assert!(lines.lock().unwrap()[0].contains("no worker starts"));
    pool.shut_down();
}

#[test]
fn idle_workers_go_but_the_last_one() {
    let retire_after = Duration::from_millis(20);
    let (machine, pool) = Machine::new(PoolConfig {
        retire_after,
        ..config(4)
    });
    let gate = Arc::new(Gate::default());
    let left = Countdown::new(5);
    for _ in 0..4 {
        let (done, gate) = (left.clone(), Arc::clone(&gate));
        machine.push(None, Lane::General, move |_, _, _| {
            gate.pass();
            done.down();
        });
    }
    let done = left.clone();
    machine.push(None, Lane::General, move |_, _, _| {
        gate.open();
        done.down();
    });
    while !left.is_done() || machine.threads.load(Ordering::SeqCst) > 1 {
        thread::sleep(Duration::from_millis(1));
    }
    let statistics = pool.statistics();
    assert!(statistics.workers_max > 2, "{statistics:?}");
    assert!(statistics.retired > 0, "{statistics:?}");
    pool.shut_down();
    while machine.threads.load(Ordering::SeqCst) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn nothing_wakes_when_nothing_happens() {
    let (machine, pool) = Machine::new(config(2));
    let left = Countdown::new(100);
    for _ in 0..100 {
        let left = left.clone();
        machine.push(None, Lane::General, move |_, _, _| left.down());
    }
    let far = machine.word(|_, _, _| {});
    pool.park(far, &[], Some(soon(3_600_000)), Lane::Timer)
        .unwrap();
    while !left.is_done() {
        thread::sleep(Duration::from_millis(1));
    }
    // It calms down once, and then looks around no more.
    let mut ticks = pool.statistics().ticks;
    let mut calm = 0;
    while calm < 5 {
        thread::sleep(Duration::from_millis(40));
        let now = pool.statistics().ticks;
        calm = if now == ticks { calm + 1 } else { 0 };
        ticks = now;
    }
    pool.shut_down();
}

#[test]
fn a_visit_sees_each_word_once_wherever_it_is() {
    let (machine, pool) = Machine::new(PoolConfig {
        local_queue: 8,
        ..config(1)
    });
    // Nobody else takes them.
    machine.refuses.store(true, Ordering::SeqCst);
    let mut expected = Vec::new();
    let mut word = 1u64;
    for lane in [Lane::General, Lane::Timer, Lane::Pinned(WorkerId::MAIN)] {
        for from in [None, Some(WorkerId::MAIN)] {
            for _ in 0..20 {
                pool.push(from, lane, word);
                expected.push(word);
                word += 1;
            }
        }
    }
    pool.hand_over(WorkerId::MAIN, word);
    expected.push(word);
    for _ in 0..20 {
        word += 1;
        pool.park(word, &[], Some(soon(3_600_000)), Lane::General)
            .unwrap();
        expected.push(word);
    }
    let visited = |young_only: bool| {
        let mut seen = Vec::new();
        pool.visit_words(
            &mut |word| {
                seen.push(*word);
                *word += 1_000_000 * u64::from(!young_only);
            },
            young_only,
        );
        seen.sort_unstable();
        seen
    };
    // A look from outside leaves it open what a collection has seen.
    let mut looked = Vec::new();
    pool.each_word(&mut |word| looked.push(word));
    looked.sort_unstable();
    assert_eq!(looked, expected);
    assert_eq!(visited(true), expected);
    // The words of rings are shown each time.
    assert!(visited(true).len() <= 10);
    assert_eq!(visited(false), expected);
    let changed: Vec<_> = expected.iter().map(|word| word + 1_000_000).collect();
    assert_eq!(visited(false), changed);
    pool.shut_down();
}
