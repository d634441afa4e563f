//! The pool's own sources once more, over the threads and locks of `shuttle`, which tries interleavings
//! at random. A word that is lost, or a wake-up, ends in a deadlock, which it reports with the seed
//! that repeats it.
//!
//! Time stands still here, and no sleep ends by itself. In a test without a steward, nothing repairs a lost
//! wake-up.

#![allow(clippy::duplicate_mod, dead_code, unused_imports)]

#[path = "../blocking.rs"]
mod blocking;
#[path = "../interest.rs"]
mod interest;
#[path = "../names.rs"]
mod names;
#[path = "../notice.rs"]
mod notice;
#[path = "../offload.rs"]
mod offload;
#[path = "../parking.rs"]
mod parking;
#[path = "../partners.rs"]
mod partners;
#[path = "../policy.rs"]
mod policy;
#[path = "../poller.rs"]
mod poller;
#[path = "../pool/mod.rs"]
mod pool;
#[path = "../queues.rs"]
mod queues;
#[path = "../slices.rs"]
mod slices;
#[path = "../statistics.rs"]
mod statistics;
#[path = "../tickets.rs"]
mod tickets;
#[path = "../timers.rs"]
mod timers;
#[path = "../word.rs"]
mod word;
#[path = "../workers.rs"]
mod workers;

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use interest::{Interest, Wake};
use names::WorkerId;
use notice::Notice;
use pool::{Host, Idle, Pool, PoolConfig};
use queues::{Item, NextSlot, Ring, SharedLine};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;
use word::{Lane, Next};
use workers::WorkerKind;

mod sync {
    use std::sync::atomic::Ordering;
    use std::sync::{OnceLock, PoisonError};
    use std::time::{Duration, Instant};

    use shuttle::sync::MutexGuard;

    /// The mutex of `shuttle` with the interface of the pool's own.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Mutex<T> {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(crate) const fn new() -> Condvar {
            Condvar(shuttle::sync::Condvar::new())
        }

        pub(crate) fn wait<'lock, T>(&self, guard: MutexGuard<'lock, T>) -> MutexGuard<'lock, T> {
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn wait_timeout<'lock, T>(
            &self,
            guard: MutexGuard<'lock, T>,
            patience: Duration,
        ) -> (MutexGuard<'lock, T>, bool) {
            let waited = self.0.wait_timeout(guard, patience);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            (guard, timeout.timed_out())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    pub(crate) mod atomic {
        pub(crate) use shuttle::sync::atomic::{
            AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }

    /// Whether threads of the pool's own can be made.
    pub(crate) static SPAWNS: std::sync::atomic::AtomicBool =
        std::sync::atomic::AtomicBool::new(false);

    pub(crate) fn now() -> Instant {
        static START: OnceLock<Instant> = OnceLock::new();
        *START.get_or_init(Instant::now)
    }

    pub(crate) fn processor_time() -> Duration {
        Duration::ZERO
    }

    pub(crate) fn thread_number() -> u32 {
        0
    }

    pub(crate) fn is_blocked(_thread: u32) -> Option<bool> {
        None
    }

    pub(crate) fn spawn(_name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        if !SPAWNS.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        shuttle::thread::spawn(body);
        Ok(())
    }
}

fn check(iterations: usize, body: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("CANNY_SHUTTLE_ITERATIONS").map_or(iterations, |text| {
        text.parse()
            .expect("CANNY_SHUTTLE_ITERATIONS wants a number")
    });
    if let Ok(schedule) = std::env::var("CANNY_SHUTTLE_REPLAY") {
        return shuttle::replay(body, &schedule);
    }
    shuttle::check_random(body, iterations);
}

fn config() -> PoolConfig {
    PoolConfig {
        cores: 2,
        local_queue: 2,
        polls: false,
        ..PoolConfig::default()
    }
}

struct NoHost;

impl Host for NoHost {
    fn start_worker(&self, _: WorkerId, _: WorkerKind) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn preempt(&self, _: WorkerId) {}
}

/// The words that were taken, each once.
#[derive(Default)]
struct Taken(Mutex<Vec<u64>>);

impl Taken {
    fn add(&self, word: u64) -> usize {
        let mut taken = self.0.lock().unwrap();
        assert!(!taken.contains(&word), "the word {word} came twice");
        taken.push(word);
        taken.len()
    }
}

/// Serves as a worker until the pool is shut down.
fn serve(pool: &Pool, worker: WorkerId, run: impl Fn(&Pool, WorkerId, Next)) {
    loop {
        if let Some(next) = pool.try_next(worker) {
            run(pool, worker, next);
        } else if pool.wait(worker, None, None) == Idle::Retire {
            pool.leave(worker);
            return;
        }
    }
}

/// So many workers run what `start` puts in, until so many words were taken. There is no steward.
fn run_without_steward(
    workers: usize,
    words: usize,
    start: impl FnOnce(&Arc<Pool>) + Send + 'static,
    run: impl Fn(&Pool, WorkerId, Next) + Send + Sync + 'static,
) {
    let pool = Pool::new(config(), Arc::new(NoHost));
    let taken = Arc::new(Taken::default());
    let run = Arc::new(run);
    let main = pool.enter_main();
    let threads: Vec<_> = (0..workers)
        .map(|index| {
            let worker = match index {
                0 => main,
                _ => pool.workers.claim(WorkerKind::General).unwrap(),
            };
            let (pool, taken, run) = (Arc::clone(&pool), Arc::clone(&taken), Arc::clone(&run));
            thread::spawn(move || {
                serve(&pool, worker, |pool, worker, next| {
                    run(pool, worker, next);
                    if taken.add(next.word) == words {
                        pool.shut_down();
                    }
                });
            })
        })
        .collect();
    start(&pool);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(taken.0.lock().unwrap().len(), words);
}

#[test]
fn the_main_worker_learns_that_nothing_can_happen() {
    check(3_000, || {
        let config = PoolConfig {
            reports_quiet: true,
            ..config()
        };
        let pool = Pool::new(config, Arc::new(NoHost));
        let taken = Arc::new(Taken::default());
        let main = pool.enter_main();
        let run = |pool: &Pool, worker: WorkerId, next: Next, taken: &Taken| {
            taken.add(next.word);
            if next.word < 10 {
                pool.push(Some(worker), Lane::General, next.word + 10);
                pool.push(None, Lane::Pinned(WorkerId::MAIN), next.word + 20);
            }
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let worker = pool.workers.claim(WorkerKind::General).unwrap();
                let (pool, taken) = (Arc::clone(&pool), Arc::clone(&taken));
                thread::spawn(move || {
                    serve(&pool, worker, |pool, worker, next| {
                        run(pool, worker, next, &taken);
                    });
                })
            })
            .collect();
        pool.push(Some(main), Lane::General, 1);
        pool.push(None, Lane::General, 2);
        loop {
            if let Some(next) = pool.try_next(main) {
                run(&pool, main, next, &taken);
            } else if pool.wait(main, None, None) == Idle::Quiet {
                break;
            }
        }
        assert_eq!(taken.0.lock().unwrap().len(), 6);
        pool.shut_down();
        for thread in others {
            thread.join().unwrap();
        }
    });
}

#[test]
fn thieves_and_owner_share_a_ring() {
    check(5_000, || {
        let rings = Arc::new([Ring::new(4), Ring::new(4)]);
        let line = Arc::new(SharedLine::default());
        let taken = Arc::new(Taken::default());
        let thief = {
            let (rings, taken) = (Arc::clone(&rings), Arc::clone(&taken));
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(next) = rings[0].steal_into(&rings[1]) {
                        taken.add(next.word);
                    }
                    while let Some(next) = rings[1].pop() {
                        taken.add(next.word);
                    }
                }
            })
        };
        for word in 0..7 {
            let next = Next::new(word);
            if rings[0].push(next).is_err() {
                rings[0].overflow(&line);
                if let Err(next) = rings[0].push(next) {
                    line.push_back(next.into());
                }
            }
            if word % 3 == 2
                && let Some(next) = rings[0].pop()
            {
                taken.add(next.word);
            }
        }
        thief.join().unwrap();
        while let Some(next) = rings[0].pop() {
            taken.add(next.word);
        }
        while let Some(Item::Word(word)) = line.pop_front() {
            taken.add(word);
        }
        assert_eq!(taken.0.lock().unwrap().len(), 7);
    });
}

#[test]
fn a_slot_gives_each_word_once() {
    check(5_000, || {
        let slot = Arc::new(NextSlot::default());
        let taken = Arc::new(Taken::default());
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let (slot, taken) = (Arc::clone(&slot), Arc::clone(&taken));
                thread::spawn(move || {
                    if let Some(next) = slot.take() {
                        taken.add(next.word);
                    }
                })
            })
            .collect();
        for word in 0..3 {
            if let Some(before) = slot.put(word) {
                taken.add(before.word);
            }
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        if let Some(next) = slot.take() {
            taken.add(next.word);
        }
        assert_eq!(taken.0.lock().unwrap().len(), 3);
    });
}

#[test]
fn no_wake_up_is_lost_for_words_from_outside() {
    check(1_000, || {
        run_without_steward(
            2,
            4,
            |pool| {
                for word in 0..4 {
                    pool.push(None, Lane::General, word);
                }
            },
            |_, _, _| {},
        );
    });
}

#[test]
fn no_wake_up_is_lost_for_words_of_workers() {
    check(1_000, || {
        run_without_steward(
            3,
            7,
            |pool| pool.push(None, Lane::General, 1),
            // A tree: each of the first three pushes two more.
            |pool, worker, next| {
                if next.word < 4 {
                    for child in [2 * next.word, 2 * next.word + 1] {
                        pool.push(Some(worker), Lane::General, child);
                    }
                }
            },
        );
    });
}

#[test]
fn no_wake_up_is_lost_in_any_lane() {
    check(1_000, || {
        run_without_steward(
            2,
            4,
            |pool| {
                let lanes = [
                    Lane::Timer,
                    Lane::Pinned(WorkerId::MAIN),
                    Lane::General,
                    Lane::Timer,
                ];
                for (word, lane) in lanes.into_iter().enumerate() {
                    pool.push(None, lane, word as u64);
                }
            },
            |_, _, _| {},
        );
    });
}

#[test]
fn a_notice_wakes_a_parked_word_or_unpark_takes_it() {
    check(1_000, || {
        let taken_back = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&taken_back);
        run_without_steward(
            2,
            2,
            move |pool| {
                let notice = Arc::new(Notice::new());
                let given = Arc::clone(&notice);
                let giver = thread::spawn(move || given.give());
                let interest = Interest::Notice(&notice, notice.look());
                // The giver may have been first.
                let looked = notice.look();
                let ticket = pool.park(1, &[interest], None, Lane::General).unwrap();
                if let Some(word) = pool.unpark(ticket) {
                    assert_eq!(word, 1);
                    seen.fetch_add(1, Ordering::SeqCst);
                    pool.push(None, Lane::General, 1);
                }
                let _ = looked;
                giver.join().unwrap();
                pool.push(None, Lane::General, 2);
            },
            |_, _, _| {},
        );
        assert!(taken_back.load(Ordering::SeqCst) <= 1);
    });
}

#[test]
fn a_notice_that_races_with_parking_is_not_lost() {
    check(1_000, || {
        run_without_steward(
            1,
            2,
            |pool| {
                let notices = Arc::new([Notice::new(), Notice::new()]);
                let seen = [notices[0].look(), notices[1].look()];
                let given = Arc::clone(&notices);
                let giver = thread::spawn(move || {
                    given[0].give();
                    given[1].give();
                });
                for word in 1..3 {
                    let interests = [
                        Interest::Notice(&notices[0], seen[0]),
                        Interest::Notice(&notices[1], seen[1]),
                    ];
                    pool.park(word, &interests, None, Lane::General).unwrap();
                }
                giver.join().unwrap();
            },
            |_, _, next| assert!(next.wake.is_some()),
        );
    });
}

/// Words that end only when all of them run.
#[derive(Default)]
struct Meeting(Mutex<usize>, Condvar);

impl Meeting {
    fn meet(&self, count: usize) {
        let mut present = self.0.lock().unwrap();
        *present += 1;
        self.1.notify_all();
        while *present < count {
            present = self.1.wait(present).unwrap();
        }
    }
}

#[test]
fn words_from_outside_run_at_once_on_all_workers() {
    check(1_000, || {
        let meeting = Arc::new(Meeting::default());
        run_without_steward(
            3,
            4,
            |pool| {
                for word in 0..4 {
                    pool.push(None, Lane::General, word);
                }
            },
            // One ends, the others meet.
            move |_, _, next| {
                if next.word > 0 {
                    meeting.meet(3);
                }
            },
        );
    });
}

#[test]
fn words_of_a_worker_run_at_once_on_all_workers() {
    check(1_000, || {
        let meeting = Arc::new(Meeting::default());
        run_without_steward(
            3,
            4,
            |pool| pool.push(None, Lane::General, 0),
            move |pool, worker, next| {
                if next.word == 0 {
                    for word in 1..4 {
                        pool.push(Some(worker), Lane::General, word);
                    }
                } else {
                    meeting.meet(3);
                }
            },
        );
    });
}

#[test]
fn words_that_a_notice_wakes_run_at_once_on_all_workers() {
    check(1_000, || {
        let meeting = Arc::new(Meeting::default());
        run_without_steward(
            2,
            2,
            |pool| {
                let notice = Notice::new();
                for word in 0..2 {
                    let interest = Interest::Notice(&notice, notice.look());
                    pool.park(word, &[interest], None, Lane::General).unwrap();
                }
                notice.give();
            },
            move |_, _, _| meeting.meet(2),
        );
    });
}
