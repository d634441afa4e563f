//! Everything at once at random, with a collector that changes all words in between.
//!
//! The low half of a word says what it is, the high half at which visit the collector first saw it.
//! Workers hold a lock for reading while they are in the heap, and the collector takes it for writing.
//! A word that was in the pool during a visit must have been shown at the first one.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Host, Idle, Interest, Lane, Notice, Pool, PoolConfig, Ticket, WorkerId, WorkerKind};

const WORDS: u64 = 3000;

struct Stress {
    pool: OnceLock<Weak<Pool>>,
    me: Weak<Stress>,
    heap: RwLock<()>,
    visits: AtomicU64,
    /// For each word the visits before it was put in, and one; zero while it was not put in.
    put_at: Vec<AtomicU64>,
    notice: Notice,
    tickets: Mutex<Vec<Ticket>>,
    is_ending: AtomicBool,
    ended: AtomicU64,
    turns: AtomicU64,
    seed: AtomicU64,
}

/// A generator of random numbers that is good enough here.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

impl Stress {
    fn pool(&self) -> Arc<Pool> {
        self.pool.get().unwrap().upgrade().unwrap()
    }

    fn random(&self) -> Random {
        Random(self.seed.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::SeqCst) | 1)
    }

    /// Puts a word somewhere at random. The caller is in the heap.
    fn put(&self, worker: Option<WorkerId>, name: u64, random: &mut Random) {
        let pool = self.pool();
        let previous = self.put_at[name as usize]
            .swap(self.visits.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
        assert_eq!(previous, 0, "the word {name} is put in twice");
        let lane = match random.below(8) {
            0 => Lane::Timer,
            1 => Lane::Pinned(WorkerId::MAIN),
            _ => Lane::General,
        };
        let soon = Instant::now() + Duration::from_micros(random.below(3000));
        match (random.below(6), worker) {
            (0, _) => {
                let interest = Interest::Notice(&self.notice, self.notice.look());
                let ticket = pool.park(name, &[interest], Some(soon), lane).unwrap();
                let mut tickets = self.tickets.lock().unwrap();
                if tickets.len() < 50 {
                    tickets.push(ticket);
                }
            }
            (1, _) => {
                pool.park(name, &[], Some(soon), lane).unwrap();
            }
            (2, Some(worker)) if lane == Lane::General => pool.hand_over(worker, name),
            (3, _) if random.below(20) == 0 => {
                let nap = Duration::from_micros(random.below(500));
                pool.offload(Box::new(move || thread::sleep(nap)), name, lane)
                    .unwrap();
            }
            _ => pool.push(worker, lane, name),
        }
    }

    /// A word has come out.
    fn check(&self, word: u64) -> u64 {
        let (name, seen) = (word & 0xFFFF_FFFF, word >> 32);
        let put_at = self.put_at[name as usize].swap(0, Ordering::SeqCst);
        assert_ne!(put_at, 0, "the word {name} comes twice");
        let visits = self.visits.load(Ordering::SeqCst);
        let expected = if visits >= put_at { put_at } else { 0 };
        assert_eq!(seen, expected, "the word {name} was not shown when it came");
        name
    }

    fn run(&self, worker: WorkerId, word: u64) {
        let pool = self.pool();
        let random = &mut self.random();
        let name = self.check(word);
        self.turns.fetch_add(1, Ordering::SeqCst);
        match random.below(40) {
            0 => self.notice.give(),
            1 => {
                let ticket = self.tickets.lock().unwrap().pop();
                if let Some(word) = ticket.and_then(|ticket| pool.unpark(ticket)) {
                    let name = self.check(word);
                    self.put(Some(worker), name, random);
                }
            }
            _ => {}
        }
        if self.is_ending.load(Ordering::SeqCst) {
            self.ended.fetch_add(1, Ordering::SeqCst);
        } else {
            self.put(Some(worker), name, random);
        }
    }

    fn serve(&self, pool: &Pool, worker: WorkerId, is_main: bool) {
        let mut random = self.random();
        loop {
            {
                let _in_heap = self.heap.read().unwrap();
                if let Some(next) = pool.try_next(worker) {
                    self.run(worker, next.word);
                    continue;
                }
            }
            if is_main && self.ended.load(Ordering::SeqCst) == WORDS {
                return;
            }
            if random.below(50) == 0 {
                pool.begin_blocking(worker);
                thread::sleep(Duration::from_micros(random.below(300)));
                pool.end_blocking(worker);
            }
            let until = is_main.then(|| Instant::now() + Duration::from_millis(5));
            if pool.wait(worker, None, until) == Idle::Retire {
                pool.leave(worker);
                return;
            }
        }
    }
}

impl Host for Stress {
    fn start_worker(&self, worker: WorkerId, _: WorkerKind) -> io::Result<()> {
        let (stress, pool) = (self.me.upgrade().unwrap(), self.pool());
        thread::Builder::new().spawn(move || stress.serve(&pool, worker, false))?;
        Ok(())
    }

    fn preempt(&self, _: WorkerId) {}
}

#[test]
fn words_are_neither_lost_nor_doubled_nor_hidden_from_the_collector() {
    let variable = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| {
            let wrong = |_| panic!("{name} wants a number, not '{text}'");
            text.parse().unwrap_or_else(wrong)
        })
    };
    let seconds = variable("CANNY_POOL_STRESS_SECONDS", 2);
    let seed = variable("CANNY_POOL_STRESS_SEED", 1);
    let stress = Arc::new_cyclic(|me| Stress {
        pool: OnceLock::new(),
        me: Weak::clone(me),
        heap: RwLock::new(()),
        visits: AtomicU64::new(0),
        put_at: (0..WORDS).map(|_| AtomicU64::new(0)).collect(),
        notice: Notice::new(),
        tickets: Mutex::new(Vec::new()),
        is_ending: AtomicBool::new(false),
        ended: AtomicU64::new(0),
        turns: AtomicU64::new(0),
        seed: AtomicU64::new(seed),
    });
    let config = PoolConfig {
        cores: 4,
        retire_after: Duration::from_millis(3),
        local_queue: 16,
        ..PoolConfig::default()
    };
    let pool = Pool::new(config, Arc::clone(&stress) as Arc<dyn Host>);
    stress.pool.set(Arc::downgrade(&pool)).unwrap();
    let main = pool.enter_main();
    let mut random = stress.random();
    for name in 0..WORDS {
        stress.put(Some(main), name, &mut random);
    }
    let collector = {
        let (stress, pool) = (Arc::clone(&stress), Arc::clone(&pool));
        thread::spawn(move || {
            let mut random = stress.random();
            let end = Instant::now() + Duration::from_secs(seconds);
            while Instant::now() < end {
                thread::sleep(Duration::from_micros(random.below(2000)));
                let _stopped = stress.heap.write().unwrap();
                let visit = stress.visits.fetch_add(1, Ordering::SeqCst) + 1;
                let mut outside: u64 = 0;
                let mut mark = |word: &mut u64| {
                    outside += 1;
                    if *word >> 32 == 0 {
                        *word |= visit << 32;
                    }
                };
                let young_only = random.below(4) > 0;
                pool.visit_words(&mut mark, young_only);
                if !young_only {
                    assert_eq!(outside, WORDS, "all words are in the pool");
                }
            }
            stress.is_ending.store(true, Ordering::SeqCst);
        })
    };
    stress.serve(&pool, main, true);
    collector.join().unwrap();
    eprintln!(
        "{} turns, {} visits, {:?}",
        stress.turns.load(Ordering::SeqCst),
        stress.visits.load(Ordering::SeqCst),
        pool.statistics()
    );
    assert_eq!(pool.statistics().queued, 0);
    assert_eq!(pool.statistics().parked, 0);
    pool.shut_down();
}
