//! The cost of a pool at rest, when nothing happens.
//! `strace -f -c target/quick/examples/pool_idle 10` shows the calls of the system; the program tells
//! its processor time and how often the steward looked around.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use canny_sched::{Host, Idle, Interest, Lane, Notice, Pool, PoolConfig, WorkerId, WorkerKind};

#[derive(Default)]
struct Machine {
    pool: OnceLock<Weak<Pool>>,
}

impl Host for Machine {
    fn start_worker(&self, worker: WorkerId, _: WorkerKind) -> io::Result<()> {
        let pool = self
            .pool
            .get()
            .and_then(Weak::upgrade)
            .expect("the pool is there");
        thread::Builder::new().spawn(move || {
            loop {
                if pool.try_next(worker).is_none() && pool.wait(worker, None, None) == Idle::Retire
                {
                    break;
                }
            }
            pool.leave(worker);
        })?;
        Ok(())
    }

    fn preempt(&self, _: WorkerId) {}
}

fn processor_milliseconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let machine = Arc::new(Machine::default());
    let pool = Pool::new(PoolConfig::default(), Arc::clone(&machine) as Arc<dyn Host>);
    machine.pool.set(Arc::downgrade(&pool)).expect("set once");
    let main = pool.enter_main();
    // Some work, so that there are a worker and a steward, and some words that are parked for long.
    for word in 0..1000 {
        pool.push(Some(main), Lane::General, word);
    }
    let notice = Notice::new();
    let interest = Interest::Notice(&notice, notice.look());
    let hour = Instant::now() + Duration::from_secs(3600);
    pool.park(1, &[interest], Some(hour), Lane::Timer)
        .expect("parked");
    thread::sleep(Duration::from_millis(200));
    let (before, ticks) = (processor_milliseconds(), pool.statistics().ticks);
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(30));
    while Instant::now() < end {
        if pool.try_next(main).is_none() {
            pool.wait(main, None, Some(end));
        }
    }
    println!(
        "{:.3} ms of the processor, {} ticks, {:?}",
        processor_milliseconds() - before,
        pool.statistics().ticks - ticks,
        pool.statistics()
    );
    pool.shut_down();
}
