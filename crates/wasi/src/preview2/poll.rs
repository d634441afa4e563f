//! `wasi:io/poll`: waiting for one of several things.
//!
//! A pollable has a thing that can be asked whether it is ready, and for the events to wait for.

use std::sync::Arc;

use canny_component::Value;

use super::call::{Call, Outcome, Stop, trap};
use super::table::Resource;
use super::values;
use super::waits::Waits;
use super::{Interface, Row};

pub const INTERFACES: &[Interface] = &[Interface {
    name: "wasi:io/poll",
    functions: ROWS,
    resources: &["pollable"],
}];

const ROWS: &[Row] = &[
    ("[method]pollable.ready", |call| {
        let pollable = call.get::<Pollable>(0)?;
        Ok(Some(Value::Bool(pollable.0.is_ready())))
    }),
    ("[method]pollable.block", |call| {
        let pollable = call.get::<Pollable>(0)?.clone();
        match ready(&[pollable]) {
            Ok(_) => Ok(None),
            Err(waits) => Err(Stop::Wait(waits)),
        }
    }),
    ("poll", poll),
];

/// Most pollables of one poll: more than a guest can have resources.
const POLLABLES_MAX: usize = 1 << 16;

/// A thing that becomes ready.
pub trait Ready: Send + Sync {
    /// Whether it is ready.
    fn is_ready(&self) -> bool;

    /// Adds the events after which it may be. They are those since this call, so that it is asked
    /// afterwards whether it is ready.
    fn await_ready(&self, waits: &mut Waits);
}

/// A pollable. It keeps alive what it needs, so that its parent may be dropped first.
#[derive(Clone)]
pub struct Pollable(Arc<dyn Ready>);

impl Resource for Pollable {
    const NAME: &'static str = "pollable";
}

/// A thing that is ready always.
pub struct Always;

impl Ready for Always {
    fn is_ready(&self) -> bool {
        true
    }

    fn await_ready(&self, _: &mut Waits) {}
}

/// A new pollable, as the result of a function.
pub fn subscribe(call: &mut Call<'_>, ready: Arc<dyn Ready>) -> Outcome {
    call.give(Pollable(ready)).map(Some)
}

/// The numbers of those that are ready, or the events to wait for.
fn ready(pollables: &[Pollable]) -> Result<Vec<Value>, Waits> {
    let numbers = || -> Vec<Value> {
        let all = pollables.iter().enumerate();
        let ready = all.filter(|(_, pollable)| pollable.0.is_ready());
        ready.map(|(index, _)| Value::U32(index as u32)).collect()
    };
    let found = numbers();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut waits = Waits::default();
    for pollable in pollables {
        pollable.0.await_ready(&mut waits);
    }
    let found = numbers();
    if found.is_empty() {
        Err(waits)
    } else {
        Ok(found)
    }
}

fn poll(call: &mut Call<'_>) -> Outcome {
    let list = values::list(call.value(0)?)?;
    if list.is_empty() {
        return Err(trap("a poll needs at least one pollable"));
    }
    if list.len() > POLLABLES_MAX {
        return Err(trap(format!(
            "a poll has more than {POLLABLES_MAX} pollables"
        )));
    }
    let mut pollables = Vec::with_capacity(list.len());
    for value in list {
        let number = values::resource(value)?;
        pollables.push(call.state.table.get::<Pollable>(number)?.clone());
    }
    match ready(&pollables) {
        Ok(numbers) => Ok(Some(Value::List(numbers))),
        Err(waits) => Err(Stop::Wait(waits)),
    }
}
