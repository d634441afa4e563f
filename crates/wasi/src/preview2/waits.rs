//! Events that functions wait for.
//!
//! They own what they are about, so that they are waited for without a lock.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use canny_io::Pending;
use canny_sched::{Interest, Notice, Seen, Wake};
use std::os::fd::AsFd;

use super::table::Opened;

/// An event.
enum Event {
    Readable(Arc<Opened>),
    Writable(Arc<Opened>),
    Given(Arc<Notice>, Seen),
    Handle(Pending),
}

/// Events, and a time at which to look without one.
#[derive(Default)]
pub struct Waits {
    events: Vec<Event>,
    until: Option<Instant>,
}

impl fmt::Debug for Waits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} events", self.events.len())
    }
}

impl Waits {
    /// Bytes can be read from a descriptor, or a connection accepted.
    pub fn readable(&mut self, descriptor: &Arc<Opened>) {
        self.events.push(Event::Readable(Arc::clone(descriptor)));
    }

    /// Bytes can be written to a descriptor.
    pub fn writable(&mut self, descriptor: &Arc<Opened>) {
        self.events.push(Event::Writable(Arc::clone(descriptor)));
    }

    /// A notice is given, or was since now.
    pub fn notice(&mut self, notice: &Arc<Notice>) {
        let seen = notice.look();
        self.events.push(Event::Given(Arc::clone(notice), seen));
    }

    /// An operation on a handle can be tried again.
    pub fn handle(&mut self, pending: Pending) {
        if let Some(slice) = pending.slice() {
            self.until(Instant::now() + slice);
        }
        self.events.push(Event::Handle(pending));
    }

    /// A time has come.
    pub fn until(&mut self, time: Instant) {
        self.until = Some(self.until.map_or(time, |until| until.min(time)));
    }

    /// Waits, and says whether one of the events may have happened. It is not known if the wait was put
    /// off, or ended by the patience of a thread that cannot be parked.
    pub fn wait(&self, patience: Option<Instant>) -> bool {
        let mut interests: Vec<Interest<'_>> = Vec::with_capacity(self.events.len());
        for event in &self.events {
            match event {
                Event::Readable(descriptor) => {
                    interests.push(Interest::Readable(descriptor.as_fd()));
                }
                Event::Writable(descriptor) => {
                    interests.push(Interest::Writable(descriptor.as_fd()));
                }
                Event::Given(notice, seen) => interests.push(Interest::Notice(notice, *seen)),
                Event::Handle(pending) => interests.extend(pending.interests()),
            }
        }
        let deadline = [self.until, patience].into_iter().flatten().min();
        match canny_sched::wait(&interests, deadline, None) {
            Wake::Ready(_) => true,
            Wake::TimedOut => self.until.is_some_and(|until| until <= Instant::now()),
            Wake::Interrupted | Wake::Parked => false,
        }
    }
}
