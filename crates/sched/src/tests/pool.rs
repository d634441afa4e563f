//! The pool with threads. Words are indices of closures in a table of the fake host.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::{
    Host, Idle, Interest, Lane, Next, Notice, Pool, PoolConfig, Wake, WorkerId, WorkerKind,
};

/// The meaning of a word.
type Item = Box<dyn FnOnce(&Arc<Machine>, WorkerId, Next) + Send>;

/// A machine whose items are closures.
pub(super) struct Machine {
    pool: OnceLock<Weak<Pool>>,
    items: Mutex<(Vec<Option<Item>>, Vec<u64>)>,
    preempted: Mutex<Vec<Arc<AtomicBool>>>,
    pub(super) threads: AtomicUsize,
    pub(super) refuses: AtomicBool,
    me: Weak<Machine>,
}

impl Machine {
    pub(super) fn new(config: PoolConfig) -> (Arc<Machine>, Arc<Pool>) {
        let machine = Arc::new_cyclic(|me| Machine {
            pool: OnceLock::new(),
            items: Mutex::new((Vec::new(), Vec::new())),
            preempted: Mutex::new(Vec::new()),
            threads: AtomicUsize::new(0),
            refuses: AtomicBool::new(false),
            me: Weak::clone(me),
        });
        let pool = Pool::new(config, Arc::clone(&machine) as Arc<dyn Host>);
        machine.pool.set(Arc::downgrade(&pool)).unwrap();
        assert_eq!(pool.enter_main(), WorkerId::MAIN);
        if std::env::var_os("CANNY_POOL_TRACE").is_some_and(|value| value == "1") {
            pool.set_trace(Some(Arc::new(|line: &str| eprintln!("{line}"))));
        }
        (machine, pool)
    }

    pub(super) fn pool(&self) -> Arc<Pool> {
        self.pool.get().unwrap().upgrade().unwrap()
    }

    pub(super) fn word(
        &self,
        item: impl FnOnce(&Arc<Machine>, WorkerId, Next) + Send + 'static,
    ) -> u64 {
        let (items, free) = &mut *self.items.lock().unwrap();
        let word = free.pop().unwrap_or_else(|| {
            items.push(None);
            items.len() as u64 - 1
        });
        items[word as usize] = Some(Box::new(item));
        word
    }

    pub(super) fn push(
        &self,
        from: Option<WorkerId>,
        lane: Lane,
        item: impl FnOnce(&Arc<Machine>, WorkerId, Next) + Send + 'static,
    ) {
        let word = self.word(item);
        self.pool().push(from, lane, word);
    }

    pub(super) fn flag(&self, worker: WorkerId) -> Arc<AtomicBool> {
        let mut flags = self.preempted.lock().unwrap();
        while flags.len() <= worker.index() {
            flags.push(Arc::default());
        }
        Arc::clone(&flags[worker.index()])
    }

    fn run(self: &Arc<Machine>, worker: WorkerId, next: Next) {
        let item = {
            let (items, free) = &mut *self.items.lock().unwrap();
            free.push(next.word);
            items[next.word as usize].take()
        };
        self.flag(worker).store(false, Ordering::SeqCst);
        item.expect("a word comes once")(self, worker, next);
    }

    /// Serves as a worker until `is_done`; for the main one.
    pub(super) fn serve_until(
        self: &Arc<Machine>,
        pool: &Pool,
        worker: WorkerId,
        is_done: impl Fn() -> bool,
    ) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_done() {
            if let Some(next) = pool.try_next(worker) {
                self.run(worker, next);
                continue;
            }
            let soon = Instant::now() + Duration::from_millis(20);
            assert!(soon < deadline, "it takes too long: {pool:?}");
            let idle = pool.wait(worker, None, Some(soon));
            assert!(matches!(idle, Idle::Look | Idle::TimedOut), "{idle:?}");
        }
    }
}

impl Host for Machine {
    fn start_worker(&self, worker: WorkerId, _kind: WorkerKind) -> io::Result<()> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let machine = self.me.upgrade().unwrap();
        let pool = self.pool();
        self.threads.fetch_add(1, Ordering::SeqCst);
        thread::Builder::new().spawn(move || {
            loop {
                if let Some(next) = pool.try_next(worker) {
                    machine.run(worker, next);
                } else if pool.wait(worker, None, None) == Idle::Retire {
                    break;
                }
            }
            pool.leave(worker);
            machine.threads.fetch_sub(1, Ordering::SeqCst);
        })?;
        Ok(())
    }

    fn preempt(&self, worker: WorkerId) {
        self.flag(worker).store(true, Ordering::SeqCst);
    }
}

pub(super) fn config(cores: usize) -> PoolConfig {
    PoolConfig {
        cores,
        ..PoolConfig::default()
    }
}

pub(super) fn soon(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

/// Counts down to nought.
#[derive(Clone)]
pub(super) struct Countdown(pub(super) Arc<AtomicUsize>);

impl Countdown {
    pub(super) fn new(count: usize) -> Countdown {
        Countdown(Arc::new(AtomicUsize::new(count)))
    }

    pub(super) fn down(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

#[test]
fn a_pool_with_something_parked_is_not_quiet() {
    let config = PoolConfig {
        reports_quiet: true,
        ..config(2)
    };
    let (machine, pool) = Machine::new(config);
    let left = Countdown::new(2);
    let word = {
        let left = left.clone();
        machine.word(move |machine, worker, _| {
            left.down();
            let left = left.clone();
            machine.push(Some(worker), Lane::General, move |_, _, _| left.down());
        })
    };
    pool.park(word, &[], Some(soon(30)), Lane::General).unwrap();
    loop {
        if let Some(next) = pool.try_next(WorkerId::MAIN) {
            machine.run(WorkerId::MAIN, next);
        } else if pool.wait(WorkerId::MAIN, None, Some(soon(10_000))) == Idle::Quiet {
            break;
        }
    }
    assert!(left.is_done());
}

#[test]
fn the_main_worker_alone_runs_what_is_pushed() {
    let (machine, pool) = Machine::new(config(2));
    let left = Countdown::new(1000);
    for _ in 0..1000 {
        let left = left.clone();
        machine.push(Some(WorkerId::MAIN), Lane::General, move |_, _, _| {
            left.down()
        });
    }
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    pool.shut_down();
}

#[test]
fn workers_come_while_the_main_one_is_busy() {
    let (machine, pool) = Machine::new(config(2));
    let left = Countdown::new(1000);
    for _ in 0..1000 {
        let left = left.clone();
        machine.push(Some(WorkerId::MAIN), Lane::General, move |_, _, _| {
            left.down()
        });
    }
    while !left.is_done() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(pool.statistics().workers, 2);
    pool.shut_down();
}

#[test]
fn timers_wake_in_order_without_threads() {
    let (machine, pool) = Machine::new(config(2));
    let order = Arc::new(Mutex::new(Vec::new()));
    let left = Countdown::new(3);
    for delay in [30, 10, 20] {
        let order = Arc::clone(&order);
        let left = left.clone();
        let word = machine.word(move |_, _, next| {
            assert_eq!(next.wake, Some(Wake::TimedOut));
            order.lock().unwrap().push(delay);
            left.down();
        });
        pool.park(word, &[], Some(soon(delay)), Lane::Timer)
            .unwrap();
    }
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    assert_eq!(*order.lock().unwrap(), [10, 20, 30]);
    assert_eq!(machine.threads.load(Ordering::SeqCst), 0);
    pool.shut_down();
}

/// A word that was parked for a moment has been ready since then, however late it is taken.
#[test]
fn the_pool_knows_since_when_a_word_was_ready() {
    let (machine, pool) = Machine::new(config(1));
    for is_noted in [false, true] {
        pool.note_ready_times(is_noted);
        let seen = Arc::new(Mutex::new(None));
        let to = Arc::clone(&seen);
        let word = machine.word(move |machine, _, next| {
            *to.lock().unwrap() = Some(machine.pool().since_ready(&next));
        });
        let began = Instant::now();
        pool.park(word, &[], Some(began), Lane::Pinned(WorkerId::MAIN))
            .unwrap();
        // Nobody takes it meanwhile.
        let parked = Instant::now();
        thread::sleep(Duration::from_millis(20));
        let late = parked.elapsed();
        machine.serve_until(&pool, WorkerId::MAIN, || seen.lock().unwrap().is_some());
        let ago = seen.lock().unwrap().unwrap();
        assert_eq!(ago.is_some(), is_noted, "{ago:?}");
        if let Some(ago) = ago {
            let unit = Duration::from_micros(2);
            assert!(ago + unit >= late, "{ago:?}");
            assert!(ago <= began.elapsed() + unit, "{ago:?}");
        }
    }
    pool.shut_down();
}

#[test]
fn timers_come_while_all_are_busy() {
    let (machine, pool) = Machine::new(config(1));
    let left = Countdown::new(1);
    let done = left.clone();
    let word = machine.word(move |_, _, _| done.down());
    pool.park(word, &[], Some(soon(10)), Lane::Timer).unwrap();
    while !left.is_done() {
        std::hint::spin_loop();
    }
    pool.shut_down();
}

#[test]
fn descriptors_wake_both_directions_and_several() {
    use std::os::fd::AsFd;
    let (machine, pool) = Machine::new(config(2));
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    // Full, so that it cannot be written.
    while io::Write::write(&mut &near, &[0; 4096]).is_ok() {}
    let readers = Countdown::new(2);
    let writers = Countdown::new(1);
    for left in [&readers, &readers, &writers] {
        let done = left.clone();
        let interest = if Arc::ptr_eq(&left.0, &readers.0) {
            Interest::Readable(near.as_fd())
        } else {
            Interest::Writable(near.as_fd())
        };
        let word = machine.word(move |_, _, next| {
            assert_eq!(next.wake, Some(Wake::Ready(0)));
            done.down();
        });
        pool.park(word, &[interest], None, Lane::General).unwrap();
    }
    io::Write::write(&mut &far, b"x").unwrap();
    machine.serve_until(&pool, WorkerId::MAIN, || readers.is_done());
    assert!(!writers.is_done());
    let mut buffer = vec![0; 1 << 20];
    far.set_nonblocking(true).unwrap();
    while io::Read::read(&mut &far, &mut buffer).is_ok_and(|count| count > 0) {}
    machine.serve_until(&pool, WorkerId::MAIN, || writers.is_done());
    pool.shut_down();
}

#[test]
fn files_are_always_ready_and_wrong_descriptors_are_refused() {
    use std::os::fd::AsFd;
    let (machine, pool) = Machine::new(config(1));
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let left = Countdown::new(1);
    let done = left.clone();
    let word = machine.word(move |_, _, _| done.down());
    let readable = Interest::Readable(file.as_fd());
    pool.park(word, &[readable], None, Lane::General).unwrap();
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    assert_eq!(pool.statistics().parked, 0);
    pool.shut_down();
}

#[test]
fn notices_wake_parked_words_and_forget_those_that_woke_otherwise() {
    let (machine, pool) = Machine::new(config(1));
    let notice = Notice::new();
    let left = Countdown::new(2);
    for deadline in [None, Some(soon(5))] {
        let done = left.clone();
        let word = machine.word(move |_, _, next| {
            let expected = if deadline.is_some() {
                Wake::TimedOut
            } else {
                Wake::Ready(0)
            };
            assert_eq!(next.wake, Some(expected));
            done.down();
        });
        let interest = Interest::Notice(&notice, notice.look());
        pool.park(word, &[interest], deadline, Lane::General)
            .unwrap();
    }
    let one_left = left.clone();
    machine.serve_until(&pool, WorkerId::MAIN, || {
        one_left.0.load(Ordering::SeqCst) == 1
    });
    notice.give();
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    // Given before it is parked for.
    let seen = notice.look();
    notice.give();
    let left = Countdown::new(1);
    let done = left.clone();
    let word = machine.word(move |_, _, _| done.down());
    pool.park(
        word,
        &[Interest::Notice(&notice, seen)],
        None,
        Lane::General,
    )
    .unwrap();
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    pool.shut_down();
}

#[test]
fn a_closed_descriptor_wakes_by_its_notice_and_its_number_is_used_again() {
    use std::os::fd::AsFd;
    let (machine, pool) = Machine::new(config(1));
    let closed = Notice::new();
    for _ in 0..3 {
        let (reader, writer) = io::pipe().unwrap();
        // Keeps the registration alive behind the closed number.
        let other = reader.try_clone().unwrap();
        let left = Countdown::new(1);
        let done = left.clone();
        let word = machine.word(move |_, _, next| {
            assert_eq!(next.wake, Some(Wake::Ready(1)));
            done.down();
        });
        let interests = [
            Interest::Readable(reader.as_fd()),
            Interest::Notice(&closed, closed.look()),
        ];
        pool.park(word, &interests, None, Lane::General).unwrap();
        drop(reader);
        closed.give();
        machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
        // A number as before, another pipe.
        let (reader, mut new_writer) = io::pipe().unwrap();
        let left = Countdown::new(1);
        let done = left.clone();
        let word = machine.word(move |_, _, _| done.down());
        let readable = Interest::Readable(reader.as_fd());
        pool.park(word, &[readable], None, Lane::General).unwrap();
        io::Write::write_all(&mut new_writer, b"x").unwrap();
        machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
        drop((other, writer));
    }
    pool.shut_down();
}

#[test]
fn children_wake() {
    let (machine, pool) = Machine::new(config(1));
    let mut child = std::process::Command::new("sleep")
        .arg("0.05")
        .spawn()
        .unwrap();
    let pid = crate::Pid::from_raw(child.id() as i32).unwrap();
    for _ in 0..2 {
        let left = Countdown::new(1);
        let done = left.clone();
        let word = machine.word(move |_, _, _| done.down());
        pool.park(word, &[Interest::ChildEnded(pid)], None, Lane::General)
            .unwrap();
        machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    }
    assert!(child.wait().unwrap().success());
    pool.shut_down();
}

#[test]
fn unpark_takes_a_word_once() {
    let (machine, pool) = Machine::new(config(1));
    let word = machine.word(|_, _, _| panic!("it was taken back"));
    let ticket = pool
        .park(word, &[], Some(soon(60_000)), Lane::General)
        .unwrap();
    assert_eq!(pool.unpark(ticket), Some(word));
    assert_eq!(pool.unpark(ticket), None);
    let left = Countdown::new(1);
    let done = left.clone();
    let word = machine.word(move |_, _, _| done.down());
    let ticket = pool
        .park(word, &[], Some(Instant::now()), Lane::General)
        .unwrap();
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    assert_eq!(pool.unpark(ticket), None);
    assert_eq!(pool.statistics().parked, 0);
    pool.shut_down();
}

#[test]
fn offloaded_jobs_end_even_by_panic() {
    let (machine, pool) = Machine::new(config(1));
    let left = Countdown::new(3);
    for index in 0..3 {
        let done = left.clone();
        let word = machine.word(move |_, _, _| done.down());
        let job = Box::new(move || {
            if index == 1 {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
        });
        pool.offload(job, word, Lane::General).unwrap();
    }
    machine.serve_until(&pool, WorkerId::MAIN, || left.is_done());
    pool.shut_down();
}
