//! The pool and its steward under a server, in time of the test's own. The very code of the pool decides
//! what runs on each core, when it is asked to give way, and what comes next. Cores, requests and the tasks
//! of a server are a few lines each.
//!
//! The server does what `lib/canny/web/server.sld` does. A seed decides what each request costs and
//! when it comes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::{io, iter};

use crate::pool::steward::{Round, TICK};
use crate::slices::SLICE_MIN;
use crate::timers::Moment;
use crate::workers::WorkerState;
use crate::{Host, Lane, Pool, PoolConfig, WorkerId, WorkerKind};

const MILLISECOND: Moment = 1_000_000;

/// The longest slice.
const SLICE: Moment = 10 * MILLISECOND;

/// How exact the simulation is.
const STEP: Moment = 20_000;

/// Workers that are asked to yield.
#[derive(Default)]
struct Asked([AtomicBool; 8]);

impl Host for Asked {
    fn start_worker(&self, _: WorkerId, _: WorkerKind) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn preempt(&self, worker: WorkerId) {
        self.0[worker.index()].store(true, Ordering::SeqCst);
    }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn between(&mut self, least: Moment, most: Moment) -> Moment {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        least + self.0 % (most - least + 1)
    }
}

/// How the server's tasks behave.
#[derive(Clone, Copy, PartialEq)]
enum Rules {
    /// As they are.
    Present,
    /// A standby is spawned behind everything else, a task that was away serves on, and steps are not marked.
    Former,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    client: usize,
    came: Moment,
    left: Moment,
    /// The handler waits for so long when it has computed half of it.
    waits: Moment,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Looks for a request; it was called at a place.
    Looks(Option<usize>),
    /// Handles one since this step.
    Handles(Request, u64),
    /// Computes for ever and belongs to no server.
    Computes,
}

struct Server {
    rules: Rules,
    tasks: Vec<State>,
    ready: VecDeque<Request>,
    called: Vec<bool>,
    spares: Vec<usize>,
    waiter: Option<usize>,
    /// Handlers that wait, and until when.
    sleeping: Vec<(Moment, usize)>,
    begun: usize,
    most_begun: usize,
}

struct Machine {
    pool: Arc<Pool>,
    asked: Arc<Asked>,
    round: Round,
    next_tick: Moment,
    workers: Vec<WorkerId>,
    running: Vec<Option<usize>>,
    server: Server,
    now: Moment,
    /// Client and duration of what was answered.
    answered: Vec<(usize, Moment)>,
}

impl Machine {
    fn new(cores: usize, rules: Rules) -> Machine {
        static START: OnceLock<std::time::Instant> = OnceLock::new();
        START.get_or_init(std::time::Instant::now);
        let asked = Arc::new(Asked::default());
        let config = PoolConfig {
            cores,
            polls: false,
            ..PoolConfig::default()
        };
        let pool = Pool::new(config, Arc::clone(&asked) as Arc<dyn Host>);
        pool.steward.replace();
        pool.pretend(1);
        let mut workers = vec![pool.enter_main()];
        workers.extend(
            iter::repeat_with(|| {
                let worker = pool.workers.claim(WorkerKind::General).unwrap();
                pool.arrive(worker);
                worker
            })
            .take(cores - 1),
        );
        let mut machine = Machine {
            pool,
            asked,
            round: Round::new(),
            next_tick: 0,
            running: vec![None; cores],
            workers,
            server: Server {
                rules,
                tasks: vec![State::Looks(None)],
                ready: VecDeque::new(),
                called: vec![false; if rules == Rules::Present { cores } else { 1 }],
                spares: Vec::new(),
                waiter: None,
                sleeping: Vec::new(),
                begun: 0,
                most_begun: 0,
            },
            now: 1,
            answered: Vec::new(),
        };
        machine.pool.push(None, Lane::General, 0);
        machine.run(20 * MILLISECOND);
        assert!(
            machine.server.waiter.is_some(),
            "somebody waits for requests"
        );
        machine
    }

    fn ask(&mut self, client: usize, cost: Moment) {
        self.ask_waiting(client, cost, 0);
    }

    fn ask_waiting(&mut self, client: usize, cost: Moment, waits: Moment) {
        self.server.ready.push_back(Request {
            client,
            came: self.now,
            left: cost,
            waits,
        });
        if let Some(task) = self.server.waiter.take() {
            self.pool.push(None, Lane::General, task as u64);
        }
    }

    /// A task that computes beside the server.
    fn compute(&mut self) {
        self.server.tasks.push(State::Computes);
        self.pool
            .push(None, Lane::General, self.server.tasks.len() as u64 - 1);
    }

    fn run(&mut self, duration: Moment) {
        let end = self.now + duration;
        while self.now < end {
            self.now += STEP;
            self.pool.pretend(self.now);
            let woken: Vec<_> = self
                .server
                .sleeping
                .extract_if(.., |(at, _)| *at <= self.now)
                .collect();
            for (_, task) in woken {
                self.pool.push(None, Lane::General, task as u64);
            }
            if self.now >= self.next_tick {
                self.round.tick(&self.pool);
                let patience = self.round.patience(&self.pool).min(TICK);
                self.next_tick = self.now + patience.as_nanos() as Moment;
            }
            for core in 0..self.workers.len() {
                self.run_core(core);
            }
        }
    }

    /// One step of a core.
    fn run_core(&mut self, core: usize) {
        let (pool, id) = (Arc::clone(&self.pool), self.workers[core]);
        let worker = pool.workers.get(id);
        let mut left = STEP;
        // Work that takes no time of the simulation ends some time.
        for _ in 0..1000 {
            let Some(task) = self.running[core] else {
                if worker.state() == WorkerState::Idle {
                    if worker.is_idle.load(Ordering::SeqCst) && !pool.has_work_for(worker) {
                        return;
                    }
                    pool.idle.leave(id, worker, true);
                }
                match pool.try_next(id) {
                    Some(next) => {
                        self.asked.0[id.index()].store(false, Ordering::SeqCst);
                        self.running[core] = Some(next.word as usize);
                    }
                    None => return pool.idle.enter(id, worker),
                }
                continue;
            };
            if self.asked.0[id.index()].swap(false, Ordering::SeqCst) {
                pool.yield_word(id, Lane::General, task as u64);
                self.running[core] = None;
                continue;
            }
            match self.server.tasks[task] {
                State::Computes => return,
                State::Looks(place) => self.look(core, task, place),
                State::Handles(mut request, step) => {
                    let spent = left.min(request.left);
                    left -= spent;
                    request.left -= spent;
                    if request.waits > 0 && left > 0 {
                        let until = self.now + std::mem::take(&mut request.waits);
                        request.left = request.left.max(STEP);
                        self.server.sleeping.push((until, task));
                        self.running[core] = None;
                    }
                    self.server.tasks[task] = State::Handles(request, step);
                    if request.left > 0 && self.running[core].is_some() {
                        return;
                    } else if request.left == 0 {
                        self.answered
                            .push((request.client, self.now - request.came));
                        self.server.begun -= 1;
                        self.server.tasks[task] = State::Looks(None);
                        let is_away = self.pool.shall_step_aside(id, step);
                        if self.server.rules == Rules::Present && is_away {
                            self.server.spares.push(task);
                            self.running[core] = None;
                        }
                    }
                }
            }
        }
        panic!("it does not end");
    }

    /// The task takes the next request, waits for one, or stands by.
    fn look(&mut self, core: usize, task: usize, place: Option<usize>) {
        if let Some(place) = place {
            self.server.called[place] = false;
        }
        if let Some(request) = self.server.ready.pop_front() {
            let id = self.workers[core];
            let step = match self.server.rules {
                Rules::Present => self.pool.begin_step(id, self.server.ready.len()),
                Rules::Former => 0,
            };
            self.server.tasks[task] = State::Handles(request, step);
            self.server.begun += 1;
            self.server.most_begun = self.server.most_begun.max(self.server.begun);
            self.call(core);
            return;
        }
        self.server.tasks[task] = State::Looks(None);
        self.running[core] = None;
        match self.server.waiter {
            None => self.server.waiter = Some(task),
            Some(_) => self.server.spares.push(task),
        }
    }

    /// Calls a task to stand by.
    fn call(&mut self, core: usize) {
        let place = core % self.server.called.len();
        if std::mem::replace(&mut self.server.called[place], true) {
            return;
        }
        let id = self.workers[core];
        let (task, is_new) = match self.server.spares.pop() {
            Some(task) => (task, false),
            None => (self.server.tasks.len(), true),
        };
        if is_new {
            self.server.tasks.push(State::Looks(None));
        }
        self.server.tasks[task] = State::Looks(Some(place));
        if is_new && self.server.rules == Rules::Former {
            self.pool.push(Some(id), Lane::General, task as u64);
        } else {
            self.pool.hand_over(id, task as u64);
        }
    }

    /// The durations of a client's answers.
    fn of(&self, client: usize) -> impl Iterator<Item = Moment> {
        let answered = self.answered.iter();
        answered
            .filter(move |(of, _)| *of == client)
            .map(|(_, duration)| *duration)
    }
}

/// The clients that are looked at.
const GOOD: usize = 1_000_000;

/// So many handlers that compute, and now and then a good client. How long it waited at most for each
/// of the times: right behind the others, and later.
fn beside_computing(seed: u64, cores: usize, count: usize, rules: Rules) -> (Moment, Moment) {
    let mut random = Random::new(seed);
    let mut machine = Machine::new(cores, rules);
    for client in 0..count {
        machine.ask(client, random.between(2_000, 4_000) * MILLISECOND);
        if random.between(0, 3) == 0 {
            machine.run(random.between(1, 20) * STEP);
        }
    }
    let mut worst = [0, 0];
    for turn in 0..10 {
        machine.answered.clear();
        machine.ask(GOOD, 100_000);
        // The former rules take too long to watch.
        machine.run(1_000 * MILLISECOND);
        let duration = machine.of(GOOD).next().unwrap_or(1_000 * MILLISECOND);
        let worst = &mut worst[usize::from(turn > 0)];
        *worst = duration.max(*worst);
        machine.run(random.between(1, 30) * MILLISECOND);
    }
    (worst[0], worst[1])
}

#[test]
fn a_new_request_comes_soon_whatever_computes() {
    for seed in 1..=12 {
        for cores in [1, 2, 3, 4] {
            for count in [1, 3, 12, 32] {
                let (first, later) = beside_computing(seed, cores, count, Rules::Present);
                let place = format!("seed {seed}, {cores} cores, {count} that compute");
                // Two slices, and two ticks to learn that there is something.
                let bound = 2 * SLICE + 2 * TICK.as_nanos() as Moment;
                assert!(later <= bound, "{place}: {later}");
                // Those before it are begun one after the other, each in a slice and a half of hardly
                // twice the shortest.
                let begun = (count as Moment).div_ceil(cores as Moment) * 4 * SLICE_MIN;
                let bound = bound + TICK.as_nanos() as Moment + begun;
                assert!(first <= bound, "{place}: {first}");
                assert!(cores < 2 || first <= 50 * MILLISECOND, "{place}: {first}");
            }
        }
    }
}

#[test]
fn the_former_rules_admit_one_in_a_round_of_all() {
    let (former, _) = beside_computing(1, 2, 32, Rules::Former);
    let (present, _) = beside_computing(1, 2, 32, Rules::Present);
    assert!(former > 5 * present, "{former} against {present}");
}

/// Clients that ask again as soon as they have their answer, for pages that cost a fifth of a
/// millisecond and seldom more.
struct Saturated {
    median: Moment,
    ninety_ninth: Moment,
    longest: Moment,
    most_begun: usize,
    preempted: u64,
}

fn saturated(seed: u64, cores: usize, clients: usize, rules: Rules) -> Saturated {
    let mut random = Random::new(seed);
    let mut machine = Machine::new(cores, rules);
    let mut cost = move || match random.between(0, 999) {
        // The system has taken the core away, or a collection was due.
        0 => random.between(2, 12) * MILLISECOND / 2,
        _ => random.between(150_000, 250_000),
    };
    for client in 0..clients {
        machine.ask(client, cost());
    }
    let mut durations = Vec::new();
    let end = machine.now + 3_000 * MILLISECOND;
    while machine.now < end {
        machine.run(STEP);
        for (client, duration) in std::mem::take(&mut machine.answered) {
            durations.push(duration);
            machine.ask(client, cost());
        }
    }
    durations.sort_unstable();
    let at = |hundredths: usize| durations[(durations.len() - 1) * hundredths / 100];
    Saturated {
        median: at(50),
        ninety_ninth: at(99),
        longest: at(100),
        most_begun: machine.server.most_begun,
        preempted: machine.pool.statistics().preempted,
    }
}

#[test]
fn at_saturation_nobody_waits_much_longer_than_others() {
    for seed in 1..=8 {
        for cores in [1, 2, 3, 4] {
            let seen = saturated(seed, cores, 100, Rules::Present);
            let place = format!("seed {seed}, {cores} cores");
            assert!(seen.ninety_ninth <= 3 * seen.median, "{place}");
            assert!(seen.longest <= 8 * seen.median, "{place}: {}", seen.longest);
            // Handlers that are short are not interrupted, so that hardly more are begun than there are
            // cores.
            assert!(seen.most_begun <= 3 * cores, "{place}: {}", seen.most_begun);
            assert!(seen.preempted < 200, "{place}: {}", seen.preempted);
        }
    }
}

#[test]
fn the_former_rules_leave_begun_requests_behind() {
    let seen = saturated(1, 2, 100, Rules::Former);
    assert!(seen.longest > 8 * seen.median, "{}", seen.longest);
}

/// A handler that computes for long and tasks beside the server have their share, whatever is asked for
/// meanwhile.
#[test]
fn what_was_begun_goes_on_beside_a_flood_of_new_requests() {
    for seed in 1..=8 {
        for cores in [1, 2, 4] {
            let mut random = Random::new(seed);
            let mut machine = Machine::new(cores, Rules::Present);
            for _ in 0..cores {
                machine.compute();
            }
            machine.ask(GOOD, 50 * MILLISECOND);
            let begun = machine.now;
            for client in 0..100 {
                machine.ask(client, random.between(150_000, 250_000));
            }
            while machine.of(GOOD).next().is_none() {
                machine.run(STEP);
                let again: Vec<_> = machine
                    .answered
                    .extract_if(.., |(of, _)| *of != GOOD)
                    .collect();
                for (client, _) in again {
                    // Some wait for something else meanwhile.
                    let waits = random.between(0, 1) * MILLISECOND;
                    machine.ask_waiting(client, random.between(150_000, 250_000), waits);
                }
                let spent = machine.now - begun;
                assert!(spent < 1_000 * MILLISECOND, "seed {seed}, {cores} cores");
            }
        }
    }
}
