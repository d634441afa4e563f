//! `wasi:clocks`: the time of day, a clock that only goes forward, and timers.
//!
//! The time zone of guests is UTC.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_component::Value;
use rustix::time::{ClockId, Timespec};

use super::call::{Call, Outcome};
use super::poll::{Ready, subscribe};
use super::waits::Waits;
use super::{Interface, Row};

pub const INTERFACES: &[Interface] = &[
    Interface {
        name: "wasi:clocks/wall-clock",
        functions: WALL,
        resources: &[],
    },
    Interface {
        name: "wasi:clocks/monotonic-clock",
        functions: MONOTONIC,
        resources: &[],
    },
    Interface {
        name: "wasi:clocks/timezone",
        functions: ZONE,
        resources: &[],
    },
];

const WALL: &[Row] = &[
    ("now", |_| {
        Ok(Some(datetime(rustix::time::clock_gettime(
            ClockId::Realtime,
        ))))
    }),
    ("resolution", |_| {
        Ok(Some(datetime(rustix::time::clock_getres(
            ClockId::Realtime,
        ))))
    }),
];

const MONOTONIC: &[Row] = &[
    ("now", |_| Ok(Some(Value::U64(now())))),
    ("resolution", |_| {
        let time = rustix::time::clock_getres(ClockId::Monotonic);
        Ok(Some(Value::U64(nanoseconds(time))))
    }),
    ("subscribe-instant", |call| {
        let rest = call.wide(0)?.saturating_sub(now());
        subscribe_after(call, rest)
    }),
    ("subscribe-duration", |call| {
        let rest = call.wide(0)?;
        subscribe_after(call, rest)
    }),
];

const ZONE: &[Row] = &[
    ("display", |_| {
        Ok(Some(Value::Record(vec![
            Value::S32(0),
            Value::String("UTC".into()),
            Value::Bool(false),
        ])))
    }),
    ("utc-offset", |_| Ok(Some(Value::S32(0)))),
];

/// A time of the system as a record. There is none before 1970.
pub fn datetime(time: Timespec) -> Value {
    Value::Record(vec![
        Value::U64(u64::try_from(time.tv_sec).unwrap_or(0)),
        Value::U32(time.tv_nsec as u32),
    ])
}

fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

fn now() -> u64 {
    nanoseconds(rustix::time::clock_gettime(ClockId::Monotonic))
}

/// A time; none if it is later than clocks can tell.
struct Timer(Option<Instant>);

impl Ready for Timer {
    fn is_ready(&self) -> bool {
        self.0.is_some_and(|time| time <= Instant::now())
    }

    fn await_ready(&self, waits: &mut Waits) {
        if let Some(time) = self.0 {
            waits.until(time);
        }
    }
}

fn subscribe_after(call: &mut Call<'_>, nanoseconds: u64) -> Outcome {
    let time = Instant::now().checked_add(Duration::from_nanos(nanoseconds));
    subscribe(call, Arc::new(Timer(time)))
}
