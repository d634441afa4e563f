//! The costs of the pool: pushing and taking, waking, parking.
//! `cargo run --profile quick -p canny-sched --example pool_costs`
//!
//! Each figure is the least of several rounds, since other work of the machine only adds to it.

use std::io;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use canny_sched::{Host, Idle, Interest, Lane, Pool, PoolConfig, WorkerId, WorkerKind};

const MAIN: WorkerId = WorkerId::MAIN;

/// Workers count the words that they take, and park some anew.
#[derive(Default)]
struct Counting {
    pool: OnceLock<Weak<Pool>>,
    taken: AtomicU64,
    taken_at: AtomicU64,
    epoch: OnceLock<Instant>,
}

impl Counting {
    fn pool() -> (Arc<Counting>, Arc<Pool>) {
        let host = Arc::new(Counting::default());
        let pool = Pool::new(PoolConfig::default(), Arc::clone(&host) as Arc<dyn Host>);
        host.pool.set(Arc::downgrade(&pool)).expect("set once");
        host.epoch.set(Instant::now()).expect("set once");
        pool.enter_main();
        (host, pool)
    }

    fn now(&self) -> u64 {
        self.epoch.get().expect("set").elapsed().as_nanos() as u64
    }
}

impl Host for Counting {
    fn start_worker(&self, worker: WorkerId, _: WorkerKind) -> io::Result<()> {
        let pool = self
            .pool
            .get()
            .and_then(Weak::upgrade)
            .expect("the pool is there");
        thread::Builder::new().spawn(move || {
            // The example's host lives as long as the pool.
            let host = HOST.get().expect("set");
            loop {
                if pool.try_next(worker).is_some() {
                    host.taken_at.store(host.now(), Ordering::SeqCst);
                    host.taken.fetch_add(1, Ordering::SeqCst);
                } else if pool.wait(worker, None, None) == Idle::Retire {
                    break;
                }
            }
            pool.leave(worker);
        })?;
        Ok(())
    }

    fn preempt(&self, _: WorkerId) {}
}

static HOST: OnceLock<Arc<Counting>> = OnceLock::new();

fn least(rounds: usize, mut round: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds for each of `count` calls.
fn each(count: u64, mut call: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for index in 0..count {
        call(index);
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

/// A pool whose host refuses threads.
struct Alone;

impl Host for Alone {
    fn start_worker(&self, _: WorkerId, _: WorkerKind) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn preempt(&self, _: WorkerId) {}
}

fn alone() -> Arc<Pool> {
    let pool = Pool::new(PoolConfig::default(), Arc::new(Alone));
    pool.enter_main();
    pool
}

fn queues() {
    let pool = alone();
    let pairs = |name: &str, push: &dyn Fn(u64)| {
        let nanoseconds = least(200, || {
            each(4_000, |word| {
                push(word);
                pool.try_next(MAIN).expect("it was pushed");
            })
        });
        println!("{name:<46}{nanoseconds:>9.1} ns");
    };
    pairs("push and take, own queue", &|word| {
        pool.push(Some(MAIN), Lane::General, word)
    });
    pairs("push and take, handed over", &|word| {
        pool.hand_over(MAIN, word)
    });
    pairs("yield and take", &|word| {
        pool.yield_word(MAIN, Lane::General, word)
    });
    pairs("push and take, injector", &|word| {
        pool.push(None, Lane::General, word)
    });
    pairs("push and take, timer lane", &|word| {
        pool.push(None, Lane::Timer, word)
    });
    pairs("push and take, pinned", &|word| {
        pool.push(None, Lane::Pinned(MAIN), word)
    });
    let nanoseconds = least(100, || {
        each(4, |_| {
            for word in 0..1000 {
                pool.push(Some(MAIN), Lane::General, word);
            }
            for _ in 0..1000 {
                pool.try_next(MAIN).expect("it was pushed");
            }
        }) / 1000.0
    });
    println!(
        "{:<46}{nanoseconds:>9.1} ns",
        "push and take, own queue, 1000 at a time"
    );
    pool.shut_down();
}

fn parking() {
    let pool = alone();
    let far = Instant::now() + Duration::from_secs(3600);
    let nanoseconds = least(100, || {
        each(2_000, |word| {
            let ticket = pool
                .park(word, &[], Some(far), Lane::General)
                .expect("parked");
            pool.unpark(ticket).expect("not ready");
        })
    });
    println!(
        "{:<46}{nanoseconds:>9.1} ns",
        "park with a deadline and unpark"
    );
    let notice = canny_sched::Notice::new();
    let nanoseconds = least(100, || {
        each(2_000, |word| {
            let interest = Interest::Notice(&notice, notice.look());
            pool.park(word, &[interest], None, Lane::General)
                .expect("parked");
            notice.give();
            pool.try_next(MAIN).expect("it was woken");
        })
    });
    println!(
        "{:<46}{nanoseconds:>9.1} ns",
        "park for a notice, give it, take"
    );
    let (reader, _writer) = io::pipe().expect("a pipe");
    let nanoseconds = least(100, || {
        each(2_000, |word| {
            let readable = Interest::Readable(reader.as_fd());
            let ticket = pool
                .park(word, &[readable], None, Lane::General)
                .expect("parked");
            pool.unpark(ticket).expect("not ready");
        })
    });
    println!(
        "{:<46}{nanoseconds:>9.1} ns",
        "park for a descriptor and unpark"
    );
    pool.shut_down();
}

/// Memory of the process, in kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn a_million_timers() {
    const COUNT: u64 = 1_000_000;
    let pool = alone();
    let before = resident();
    let start = Instant::now();
    for word in 0..COUNT {
        // Spread over one second from now, in no order.
        let delay = Duration::from_nanos(word * 7_919_333 % 1_000_000_000);
        pool.park(
            word,
            &[],
            Some(start + Duration::from_secs(1) + delay),
            Lane::Timer,
        )
        .expect("parked");
    }
    let parked = start.elapsed();
    let kilobytes = resident() - before;
    println!(
        "{:<46}{:>9.1} ns each, {} bytes each",
        "a million timers: parking",
        parked.as_nanos() as f64 / COUNT as f64,
        kilobytes * 1024 / COUNT
    );
    let mut words = 0;
    let visit = Instant::now();
    pool.visit_words(&mut |_| words += 1, true);
    let first = visit.elapsed();
    let visit = Instant::now();
    pool.visit_words(&mut |_| words += 1, true);
    println!(
        "{:<46}{:>9.1} ms, again {:.3} ms",
        "a visit to them, young only",
        first.as_nanos() as f64 / 1e6,
        visit.elapsed().as_nanos() as f64 / 1e6
    );
    thread::sleep((start + Duration::from_millis(2100)).saturating_duration_since(Instant::now()));
    let start = Instant::now();
    let mut taken = 0;
    while taken < COUNT {
        if pool.try_next(MAIN).is_some() {
            taken += 1;
        } else {
            pool.wait(MAIN, None, None);
        }
    }
    println!(
        "{:<46}{:>9.1} ns each",
        "firing and taking them, once all are due",
        start.elapsed().as_nanos() as f64 / COUNT as f64
    );
    pool.shut_down();
}

fn waking() {
    let (host, pool) = Counting::pool();
    let _ = HOST.set(Arc::clone(&host));
    let mut latencies = Vec::new();
    for _ in 0..2000 {
        let before = host.taken.load(Ordering::SeqCst);
        // Let the worker fall asleep.
        thread::sleep(Duration::from_micros(300));
        let pushed = host.now();
        pool.push(None, Lane::General, 0);
        while host.taken.load(Ordering::SeqCst) == before {
            std::hint::spin_loop();
        }
        latencies.push(host.taken_at.load(Ordering::SeqCst).saturating_sub(pushed));
    }
    latencies.sort_unstable();
    println!(
        "{:<46}{:>9.1} us median, {:.1} us of 99 %",
        "from a push until a sleeping worker has it",
        latencies[latencies.len() / 2] as f64 / 1e3,
        latencies[latencies.len() * 99 / 100] as f64 / 1e3
    );
    let count = 1_000_000;
    let before = host.taken.load(Ordering::SeqCst);
    let start = Instant::now();
    for word in 0..count {
        pool.push(Some(MAIN), Lane::General, word);
    }
    while host.taken.load(Ordering::SeqCst) < before + count {
        if pool.try_next(MAIN).is_some() {
            host.taken.fetch_add(1, Ordering::SeqCst);
        }
    }
    println!(
        "{:<46}{:>9.1} ns each",
        "a million words of one worker, served by two",
        start.elapsed().as_nanos() as f64 / count as f64
    );
    pool.shut_down();
}

/// A worker that floods its own queue, and one that parks for each next hundredth of a second.
struct Flooded {
    pool: OnceLock<Weak<Pool>>,
    me: Weak<Flooded>,
    epoch: Instant,
    next: AtomicU64,
    late: canny_locks::Mutex<Vec<u64>>,
    is_over: std::sync::atomic::AtomicBool,
}

const FLOOD: u64 = 1;
const TIMER: u64 = 2;

impl Flooded {
    fn run(&self, pool: &Pool, worker: WorkerId, word: u64) {
        if self.is_over.load(Ordering::SeqCst) {
            return;
        }
        if word == FLOOD {
            let end = Instant::now() + Duration::from_micros(100);
            while Instant::now() < end {}
            return pool.push(Some(worker), Lane::General, FLOOD);
        }
        let now = self.epoch.elapsed().as_nanos() as u64;
        let due = self.next.fetch_add(10_000_000, Ordering::SeqCst);
        let mut late = self.late.lock();
        late.push(now.saturating_sub(due));
        let next = self.epoch + Duration::from_nanos(due + 10_000_000);
        pool.park(TIMER, &[], Some(next), Lane::Timer)
            .expect("parked");
    }
}

impl Host for Flooded {
    fn start_worker(&self, worker: WorkerId, _: WorkerKind) -> io::Result<()> {
        let pool = self
            .pool
            .get()
            .and_then(Weak::upgrade)
            .expect("the pool is there");
        let host = self.me.upgrade().expect("the host is there");
        thread::Builder::new().spawn(move || {
            loop {
                if let Some(next) = pool.try_next(worker) {
                    host.run(&pool, worker, next.word);
                } else if pool.wait(worker, None, None) == Idle::Retire {
                    break;
                }
            }
            pool.leave(worker);
        })?;
        Ok(())
    }

    fn preempt(&self, _: WorkerId) {}
}

fn lateness() {
    let host = Arc::new_cyclic(|me| Flooded {
        pool: OnceLock::new(),
        me: Weak::clone(me),
        epoch: Instant::now(),
        next: AtomicU64::new(10_000_000),
        late: canny_locks::Mutex::default(),
        is_over: false.into(),
    });
    let pool = Pool::new(PoolConfig::default(), Arc::clone(&host) as Arc<dyn Host>);
    host.pool.set(Arc::downgrade(&pool)).expect("set once");
    pool.enter_main();
    let first = host.epoch + Duration::from_millis(10);
    pool.park(TIMER, &[], Some(first), Lane::Timer)
        .expect("parked");
    pool.push(None, Lane::General, FLOOD);
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        if let Some(next) = pool.try_next(MAIN) {
            host.run(&pool, MAIN, next.word);
        } else {
            pool.wait(MAIN, None, Some(end));
        }
    }
    host.is_over.store(true, Ordering::SeqCst);
    let statistics = pool.statistics();
    pool.shut_down();
    let mut late = host.late.lock();
    late.sort_unstable();
    println!(
        "{:<46}{:>9.1} us median, {:.1} us of 99 %, {} workers",
        "how late timers are in a flood",
        late[late.len() / 2] as f64 / 1e3,
        late[late.len() * 99 / 100] as f64 / 1e3,
        statistics.workers_max.max(1)
    );
}

/// The same by a thread that does nothing but sleep, beside one that computes: the lateness that the system
/// causes.
fn lateness_of_the_system() {
    let end = Instant::now() + Duration::from_secs(5);
    let flood = thread::spawn(move || while Instant::now() < end {});
    let mut due = Instant::now();
    let mut late = Vec::new();
    while due < end {
        due += Duration::from_millis(10);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        late.push(due.elapsed().as_nanos() as u64);
    }
    flood.join().expect("the thread ends");
    late.sort_unstable();
    println!(
        "{:<46}{:>9.1} us median, {:.1} us of 99 %",
        "the same by a thread that sleeps",
        late[late.len() / 2] as f64 / 1e3,
        late[late.len() * 99 / 100] as f64 / 1e3
    );
}

/// One byte to and fro between a thread that blocks and a word that parks.
fn echo() {
    let pool = alone();
    let (near, mut far) = std::os::unix::net::UnixStream::pair().expect("a pair");
    const COUNT: u64 = 20_000;
    let peer = thread::spawn(move || {
        let mut byte = [0];
        let start = Instant::now();
        for _ in 0..COUNT {
            far.write_all(b"x").expect("written");
            far.read_exact(&mut byte).expect("read");
        }
        start.elapsed().as_nanos() as f64 / COUNT as f64
    });
    for _ in 0..COUNT {
        let readable = Interest::Readable(near.as_fd());
        pool.park(0, &[readable], None, Lane::General)
            .expect("parked");
        while pool.try_next(MAIN).is_none() {
            pool.wait(MAIN, None, None);
        }
        let mut byte = [0];
        (&near).read_exact(&mut byte).expect("read");
        (&near).write_all(&byte).expect("written");
    }
    let nanoseconds = peer.join().expect("the peer ends");
    let ticks = pool.statistics().ticks;
    println!(
        "{:<46}{:>9.1} us, {ticks} ticks of the steward",
        "a byte to and fro through the poller",
        nanoseconds / 1e3
    );
    pool.shut_down();
}

fn main() {
    queues();
    parking();
    a_million_timers();
    waking();
    echo();
    lateness();
    lateness_of_the_system();
}
