//! Words that a worker keeps for itself, since its items wait soon after they made them ready.

use std::io;
use std::sync::Arc;

use crate::pool::steward::Round;
use crate::workers::WorkerState;
use crate::{Host, Lane, Pool, PoolConfig, WorkerId, WorkerKind};

struct Nobody;

impl Host for Nobody {
    fn start_worker(&self, _: WorkerId, _: WorkerKind) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn preempt(&self, _: WorkerId) {}
}

/// A pool with two workers, the second of which is idle, without a steward's thread.
fn pool() -> (Arc<Pool>, WorkerId) {
    let config = PoolConfig {
        cores: 2,
        polls: false,
        ..PoolConfig::default()
    };
    let pool = Pool::new(config, Arc::new(Nobody));
    pool.steward.replace();
    pool.pretend(1);
    pool.enter_main();
    let other = pool.workers.claim(WorkerKind::General).unwrap();
    pool.arrive(other);
    go_idle(&pool, other);
    (pool, other)
}

fn go_idle(pool: &Pool, worker: WorkerId) {
    pool.idle.enter(worker, pool.workers.get(worker));
}

fn is_idle(pool: &Pool, worker: WorkerId) -> bool {
    pool.workers.get(worker).state() == WorkerState::Idle
}

/// The main worker's item makes a partner ready and waits, so often; how often the other worker was
/// woken for that.
fn exchange(pool: &Pool, other: WorkerId, times: usize) -> usize {
    let mut woken = 0;
    for _ in 0..times {
        pool.push(Some(WorkerId::MAIN), Lane::General, 1);
        assert!(pool.try_next(WorkerId::MAIN).is_some());
        if !is_idle(pool, other) {
            woken += 1;
            assert!(pool.try_next(other).is_none());
            go_idle(pool, other);
        }
    }
    woken
}

#[test]
fn nobody_is_woken_for_partners() {
    let (pool, other) = pool();
    assert_eq!(exchange(&pool, other, 32), 32);
    assert_eq!(exchange(&pool, other, 1000), 0);
    // Two words are not one.
    pool.push(Some(WorkerId::MAIN), Lane::General, 1);
    assert!(is_idle(&pool, other));
    pool.push(Some(WorkerId::MAIN), Lane::General, 2);
    assert!(!is_idle(&pool, other));
}

#[test]
fn a_partner_that_has_to_wait_is_given_to_others() {
    let (pool, other) = pool();
    let mut round = Round::new();
    let mut needed = 32;
    for _ in 0..5 {
        assert_eq!(exchange(&pool, other, needed), needed);
        pool.push(Some(WorkerId::MAIN), Lane::General, 1);
        assert!(is_idle(&pool, other));
        round.tick(&pool);
        assert!(is_idle(&pool, other), "it may be taken soon");
        assert!(round.patience(&pool).as_micros() <= 50);
        round.tick(&pool);
        assert!(!is_idle(&pool, other), "its item keeps running");
        assert!(pool.try_next(other).is_some());
        go_idle(&pool, other);
        needed *= 2;
    }
}

#[test]
fn who_was_right_for_long_needs_less() {
    let (pool, other) = pool();
    let mut round = Round::new();
    exchange(&pool, other, 32);
    pool.push(Some(WorkerId::MAIN), Lane::General, 1);
    round.tick(&pool);
    round.tick(&pool);
    assert!(pool.try_next(other).is_some());
    go_idle(&pool, other);
    assert_eq!(exchange(&pool, other, 64 * 64), 64);
    exchange(&pool, other, 64);
    pool.push(Some(WorkerId::MAIN), Lane::General, 1);
    round.tick(&pool);
    round.tick(&pool);
    assert!(pool.try_next(other).is_some());
    go_idle(&pool, other);
    assert_eq!(
        exchange(&pool, other, 1000),
        64,
        "twice what it needed at first"
    );
}

#[test]
fn the_steward_does_not_disturb_partners() {
    let (pool, other) = pool();
    let mut round = Round::new();
    exchange(&pool, other, 32);
    for _ in 0..100 {
        pool.push(Some(WorkerId::MAIN), Lane::General, 1);
        round.tick(&pool);
        assert!(pool.try_next(WorkerId::MAIN).is_some());
        assert!(is_idle(&pool, other));
        assert_eq!(exchange(&pool, other, 10), 0);
    }
}
