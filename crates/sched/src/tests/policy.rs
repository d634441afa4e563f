//! The policy under a clock of its own, with machines of 1 to 128 cores that are a few lines each.

use std::time::Duration;

use crate::policy::FIRST_WAIT;
use crate::{Decision, Observation, Policy, Reason};

const TICK: Duration = Duration::from_millis(10);

/// The work of an item.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Computes for so many ticks of one core, giving way when asked.
    Computes(u32),
    /// Blocks until nothing is queued any more.
    Blocks,
    /// The same, and says so.
    BlocksDeclared,
}

/// A machine with cores, workers and items, in steps of a tick.
struct Simulated {
    seen: Observation,
    policy: Policy,
    queue: std::collections::VecDeque<Kind>,
    /// The items of the main thread and each worker, and their start.
    running: Vec<Option<(Kind, Duration)>>,
    reasons: Vec<Reason>,
    most: usize,
}

impl Simulated {
    fn new(cores: usize) -> Simulated {
        Simulated {
            seen: Observation {
                cores,
                limit: (8 * cores).max(64),
                limit_stuck: 1024,
                ..Observation::default()
            },
            policy: Policy::new(),
            queue: std::collections::VecDeque::new(),
            running: vec![None],
            reasons: Vec::new(),
            most: 0,
        }
    }

    fn push(&mut self, kind: Kind, count: usize) {
        self.queue.extend(std::iter::repeat_n(kind, count));
    }

    /// One tick: workers take, compute and give way; then the policy looks.
    fn tick(&mut self) -> Decision {
        let now = self.seen.now + TICK;
        self.seen.now = now;
        for place in &mut self.running {
            if place.is_none()
                && let Some(kind) = self.queue.pop_front()
            {
                *place = Some((kind, now));
                self.seen.turns += 1;
            }
        }
        let mut cores = self.seen.cores;
        for place in &mut self.running {
            match place {
                Some((Kind::Computes(left), _)) if cores > 0 => {
                    cores -= 1;
                    self.seen.processor += TICK;
                    *left -= 1;
                    if *left == 0 {
                        *place = None;
                    } else if let Some(next) = self.queue.pop_front() {
                        // It is asked to yield, since others wait.
                        let (rest, _) = place.replace((next, now)).expect("it runs");
                        self.queue.push_back(rest);
                        self.seen.turns += 1;
                    }
                }
                Some((Kind::Blocks | Kind::BlocksDeclared, _)) if self.queue.is_empty() => {
                    *place = None;
                }
                _ => {}
            }
        }
        let is = |kinds: &[Kind], place: &Option<(Kind, Duration)>| {
            place.is_some_and(|(kind, _)| kinds.contains(&kind))
        };
        self.seen.queued = self.queue.len();
        self.seen.general = self.running.len() - 1;
        self.seen.idle = self.running.iter().filter(|place| place.is_none()).count();
        let blocked = [Kind::BlocksDeclared];
        self.seen.blocked = self.running.iter().filter(|it| is(&blocked, it)).count();
        self.seen.running = self.running.len() - self.seen.idle - self.seen.blocked;
        let is_stuck = |place: &Option<(Kind, Duration)>| {
            !is(&blocked, place)
                && place.is_some_and(|(_, since)| now >= since + Duration::from_millis(50))
        };
        self.seen.stuck = self.running.iter().filter(|it| is_stuck(it)).count();
        let decision = self.policy.tick(&self.seen);
        for _ in 0..decision.start {
            self.running.push(None);
            self.reasons.push(decision.reason);
        }
        self.most = self.most.max(self.running.len());
        decision
    }

    fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    fn is_done(&self) -> bool {
        self.queue.is_empty() && self.running.iter().all(Option::is_none)
    }
}

#[test]
fn computing_fills_the_cores_and_no_more() {
    for cores in [1, 2, 4, 64, 128] {
        let mut machine = Simulated::new(cores);
        machine.push(Kind::Computes(50), 4 * cores);
        machine.run(10);
        // The main thread is one of them, but there is always one besides.
        let expected = cores.max(2);
        assert_eq!(machine.running.len(), expected, "{cores} cores");
        machine.run(400);
        assert_eq!(machine.most, expected, "{cores} cores");
        assert!(machine.is_done());
    }
}

#[test]
fn little_work_gets_one_worker() {
    for cores in [1, 2, 4, 64, 128] {
        let mut machine = Simulated::new(cores);
        // The main thread computes, and a short item comes each tenth of a second.
        machine.running[0] = Some((Kind::Computes(u32::MAX), Duration::ZERO));
        for _ in 0..100 {
            machine.push(Kind::Computes(1), 1);
            machine.run(10);
        }
        assert!(machine.most <= 2, "{cores} cores: {}", machine.most);
    }
}

#[test]
fn blocked_items_get_workers_beyond_the_cores() {
    for cores in [1, 2, 4, 64, 128] {
        for count in [4 * cores, 63, 64, 500, 900] {
            for kind in [Kind::Blocks, Kind::BlocksDeclared] {
                let mut machine = Simulated::new(cores);
                machine.push(kind, count);
                machine.push(Kind::Computes(1), 1);
                machine.run(2_000);
                assert!(machine.is_done(), "{count} items on {cores} cores");
                assert!(machine.most <= count + 64 + cores, "{}", machine.most);
            }
        }
    }
}

#[test]
fn the_limit_holds_while_something_moves() {
    let mut machine = Simulated::new(2);
    machine.seen.limit = 8;
    machine.push(Kind::Blocks, 20);
    for _ in 0..500 {
        // Somebody takes an item now and then.
        machine.seen.turns += 1;
        machine.tick();
    }
    assert_eq!(machine.running.len(), 9);
    assert!(!machine.reasons.contains(&Reason::Stuck));
}

#[test]
fn a_busy_processor_is_no_reason_for_workers() {
    let mut machine = Simulated::new(2);
    machine.push(Kind::Computes(u32::MAX), 2);
    machine.run(3);
    machine.push(Kind::Blocks, 1);
    // Stuck workers that use the processor, such as long computations that do not give way.
    machine.seen.stuck = 2;
    for _ in 0..100 {
        machine.seen.now += TICK;
        machine.seen.processor += 2 * TICK;
        machine.seen.queued = 1;
        machine.seen.idle = 0;
        machine.seen.running = 2;
        assert_eq!(machine.policy.tick(&machine.seen).start, 0);
    }
}

#[test]
fn refused_threads_are_asked_for_again_after_a_while() {
    let mut policy = Policy::new();
    let mut seen = Observation {
        cores: 2,
        limit: 64,
        limit_stuck: 1024,
        queued: 1,
        running: 1,
        ..Observation::default()
    };
    assert_eq!(policy.tick(&seen).start, 0);
    seen.now += FIRST_WAIT;
    assert_eq!(policy.tick(&seen).reason, Reason::First);
    seen.refused = 1;
    let mut asked = 0;
    for _ in 0..300 {
        seen.now += TICK;
        asked += policy.tick(&seen).start;
    }
    assert!((1..=210).contains(&asked), "{asked}");
    seen.now += TICK;
    seen.refused = 2;
    assert_eq!(policy.tick(&seen).start, 0);
}

#[test]
fn what_the_main_worker_soon_takes_brings_no_other() {
    let mut policy = Policy::new();
    let mut seen = Observation {
        cores: 2,
        limit: 64,
        limit_stuck: 1024,
        running: 1,
        ..Observation::default()
    };
    for round in 0..1000 {
        seen.now += FIRST_WAIT / 2;
        seen.queued = round % 2;
        assert_eq!(policy.tick(&seen).start, 0);
    }
}

#[test]
fn workers_that_are_too_many_go_one_at_a_time() {
    let mut policy = Policy::new();
    let mut seen = Observation {
        cores: 2,
        limit: 64,
        limit_stuck: 1024,
        general: 8,
        running: 8,
        queued: 100,
        ..Observation::default()
    };
    for _ in 0..1000 {
        seen.now += TICK;
        seen.turns += 1;
        seen.processor += 2 * TICK;
        let decision = policy.tick(&seen);
        assert_eq!(decision.start, 0);
        seen.general -= usize::from(decision.retire_one);
        seen.running -= usize::from(decision.retire_one);
    }
    assert_eq!(seen.running, 2);
}

#[test]
fn a_timer_gets_a_worker_when_nobody_is_idle() {
    let mut policy = Policy::new();
    let mut seen = Observation {
        cores: 1,
        limit: 64,
        limit_stuck: 1024,
        running: 1,
        timers_queued: 1,
        ..Observation::default()
    };
    assert!(!policy.tick(&seen).start_timer);
    seen.now += TICK;
    assert!(policy.tick(&seen).start_timer);
    seen.has_timer_worker = true;
    seen.now += TICK;
    assert!(!policy.tick(&seen).start_timer);
}
