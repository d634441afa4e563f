//! Parked words, by ticket. Each was parked by a worker for something that wakes it, and goes once:
//! back to who unparks it, or to the worker that takes its item from a queue.
//!
//! | state | → by | → state |
//! |---|---|---|
//! | free | `reserve`, a worker with a word to park | arming |
//! | arming | `wake`, the first of what it waits for | arming, woken |
//! | arming | `finish`, the same worker | parked |
//! | arming, woken | `finish`, which makes it ready | ready |
//! | arming | `cancel`, the same worker, which keeps the word | free |
//! | parked | `wake`, whoever learns of it; makes it ready | ready |
//! | parked | `unpark`, a worker, which gets the word | free |
//! | ready | `take`, the worker that took the item with the ticket | free |
//! | ready, without a word | `take` | early |
//! | early | `deposit`, the worker that brings the word and keeps it | free |
//! | parked, without a word | `disarm` | free |
//! | ready, without a word | `disarm` | dropped |
//! | dropped | `take` | free |
//!
//! A ticket may be armed before there is a word: `deposit` brings it in any of the states from parked on.
//!
//! The thread that makes a ticket ready puts exactly one item with it into a queue, afterwards and without
//! the lock. A number that is used again has another generation, so that a late wake finds no ticket.

use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

use super::Wake;
use super::names::Ticket;
use super::notice::ParkedList;
use super::sync::now;
use super::timers::{Moment, Timers};
use super::word::{Lane, Next, wake_number, wake_of_number};

/// The cleanup when a ticket wakes.
#[derive(Debug)]
pub(crate) enum Registration {
    /// A waiter at the descriptor with this number.
    Descriptor(RawFd),
    /// The same, at a descriptor of the pool's own that stands for a child.
    Child(OwnedFd),
    Notice(Arc<ParkedList>),
}

/// Those of one ticket.
pub(crate) type Registrations = Option<Box<[Registration]>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Arming,
    ArmingWoken,
    Parked,
    Ready,
    Early,
    Dropped,
}

/// The fate of a word that was brought to a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deposit {
    /// It waits.
    Parked,
    /// The event of the ticket came before; the word is still the caller's.
    Ready(Wake),
}

/// Numbers that generations take: with the index they fit in 60 bits.
const GENERATION_MASK: u32 = 0x0fff_ffff;

#[derive(Debug)]
struct Place {
    word: u64,
    has_word: bool,
    lane: Lane,
    generation: u32,
    wake: u32,
    /// When it was made ready, as [`Next::ready_us`]; zero unless that is noted.
    ready_us: u32,
    registrations: Registrations,
    state: State,
    /// The timers have an entry.
    is_timed: bool,
    /// The place is in `young`.
    is_young: bool,
}

/// The places of parked words.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    places: Vec<Place>,
    free: Vec<u32>,
    /// Places that were filled since the collector looked.
    young: Vec<u32>,
    /// While the times at which tickets become ready are noted: the beginning of the pool's clock.
    noted_since: Option<Instant>,
}

/// A moment as [`Next::ready_us`]; never zero.
pub(crate) fn ready_us(moment: Moment) -> u32 {
    ((moment / 1000) as u32).max(1)
}

impl Tickets {
    /// Puts a word into a place; nothing wakes it before it is finished.
    pub(crate) fn reserve(&mut self, word: Option<u64>, lane: Lane) -> Ticket {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.places.len()).expect("fewer than 2^32 parked words");
            self.places.push(Place {
                word: 0,
                has_word: false,
                lane: Lane::General,
                generation: 0,
                wake: 0,
                ready_us: 0,
                registrations: None,
                state: State::Free,
                is_timed: false,
                is_young: false,
            });
            index
        });
        let place = &mut self.places[index as usize];
        place.word = word.unwrap_or(0);
        place.has_word = word.is_some();
        place.lane = lane;
        place.state = State::Arming;
        place.is_timed = false;
        place.ready_us = 0;
        if !place.is_young {
            place.is_young = true;
            self.young.push(index);
        }
        Ticket {
            index,
            generation: place.generation,
        }
    }

    fn place(&mut self, ticket: Ticket) -> Option<&mut Place> {
        self.places
            .get_mut(ticket.index as usize)
            .filter(|place| place.generation == ticket.generation)
    }

    /// Whether the timers' entry of the ticket means something.
    pub(crate) fn is_timed(&self, ticket: Ticket) -> bool {
        self.places
            .get(ticket.index as usize)
            .is_some_and(|place| place.generation == ticket.generation && place.is_timed)
    }

    pub(crate) fn set_timer(&mut self, ticket: Ticket, moment: Moment, timers: &mut Timers) {
        if let Some(place) = self.place(ticket) {
            place.is_timed = true;
            timers.add(moment, ticket);
        }
    }

    /// Ends the arming. If the lane woke meanwhile and is ready now, returns it and what to undo.
    pub(crate) fn finish(
        &mut self,
        ticket: Ticket,
        registrations: Registrations,
    ) -> Option<(Lane, Registrations)> {
        let place = self.place(ticket)?;
        if place.state == State::ArmingWoken {
            place.state = State::Ready;
            return Some((place.lane, registrations));
        }
        place.state = State::Parked;
        place.registrations = registrations;
        None
    }

    /// Something that the ticket waits for has come. If that makes it ready, returns its lane and the
    /// registrations to undo.
    pub(crate) fn wake(
        &mut self,
        ticket: Ticket,
        wake: Wake,
        timers: &mut Timers,
    ) -> Option<(Lane, Registrations)> {
        let ready = self.noted_since.map_or(0, |epoch| {
            let since = now().saturating_duration_since(epoch);
            ready_us(since.as_nanos() as u64)
        });
        let place = self.place(ticket)?;
        match place.state {
            State::Arming => {
                place.state = State::ArmingWoken;
                place.wake = wake_number(Some(wake));
                place.ready_us = ready;
                None
            }
            State::Parked => {
                place.state = State::Ready;
                place.wake = wake_number(Some(wake));
                place.ready_us = ready;
                let lane = place.lane;
                let registrations = place.registrations.take();
                self.drop_timer(ticket, timers);
                Some((lane, registrations))
            }
            State::Free | State::ArmingWoken | State::Ready | State::Early | State::Dropped => None,
        }
    }

    /// Whether the times at which tickets become ready are noted from now on.
    pub(crate) fn note_times(&mut self, since: Option<Instant>) {
        self.noted_since = since;
    }

    /// A ticket that was just made ready has been so since a moment.
    pub(crate) fn was_ready_at(&mut self, ticket: Ticket, moment: Moment) {
        if self.noted_since.is_some()
            && let Some(place) = self.place(ticket)
        {
            place.ready_us = ready_us(moment);
        }
    }

    /// Takes the word of a ticket whose item came out of a queue.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Next> {
        let place = self.place(ticket)?;
        match place.state {
            State::Ready if place.has_word => {}
            State::Ready => {
                place.state = State::Early;
                return None;
            }
            State::Dropped => {
                self.release(ticket);
                return None;
            }
            _ => return None,
        }
        let next = Next {
            word: place.word,
            wake: wake_of_number(place.wake),
            ready_us: place.ready_us,
        };
        self.release(ticket);
        Some(next)
    }

    /// Brings the word of a ticket that was armed without one.
    pub(crate) fn deposit(&mut self, ticket: Ticket, word: u64) -> Deposit {
        let Some(place) = self.place(ticket) else {
            return Deposit::Ready(Wake::Ready(0));
        };
        if place.state == State::Early {
            let wake = wake_of_number(place.wake).unwrap_or(Wake::Ready(0));
            self.release(ticket);
            return Deposit::Ready(wake);
        }
        place.word = word;
        place.has_word = true;
        if !place.is_young {
            place.is_young = true;
            self.young.push(ticket.index);
        }
        Deposit::Parked
    }

    /// Gives up a ticket without a word that was made ready or taken out of its queue; whether it was one.
    pub(crate) fn drop_ready(&mut self, ticket: Ticket) -> bool {
        let Some(place) = self.place(ticket).filter(|place| !place.has_word) else {
            return false;
        };
        match place.state {
            State::Ready => place.state = State::Dropped,
            State::Early => self.release(ticket),
            _ => return false,
        }
        true
    }

    /// Takes the word back if it was not made ready.
    pub(crate) fn unpark(
        &mut self,
        ticket: Ticket,
        timers: &mut Timers,
    ) -> Option<(u64, Registrations)> {
        let place = self
            .place(ticket)
            .filter(|place| place.state == State::Parked)?;
        let word = place.word;
        let registrations = place.registrations.take();
        self.drop_timer(ticket, timers);
        self.release(ticket);
        Some((word, registrations))
    }

    /// Ends an arming that failed.
    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        if self.place(ticket).is_some() {
            self.release(ticket);
        }
    }

    fn drop_timer(&mut self, ticket: Ticket, timers: &mut Timers) {
        if let Some(place) = self.place(ticket)
            && place.is_timed
        {
            place.is_timed = false;
            timers.forget_one(|ticket| self.is_timed(ticket));
        }
    }

    /// The timers have dropped the ticket's entry themselves.
    pub(crate) fn timer_fired(&mut self, ticket: Ticket) {
        if let Some(place) = self.place(ticket) {
            place.is_timed = false;
        }
    }

    fn release(&mut self, ticket: Ticket) {
        if let Some(place) = self.place(ticket) {
            place.state = State::Free;
            place.word = 0;
            place.generation = place.generation.wrapping_add(1) & GENERATION_MASK;
            self.free.push(ticket.index);
        }
    }

    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(&mut u64), young_only: bool) {
        if !young_only {
            for place in &mut self.places {
                if place.state != State::Free {
                    visit(&mut place.word);
                }
            }
        }
        for index in self.young.drain(..) {
            let place = &mut self.places[index as usize];
            place.is_young = false;
            if young_only && place.state != State::Free {
                visit(&mut place.word);
            }
        }
        if self.young.capacity() > 4096 {
            self.young = Vec::new();
        }
    }

    /// Shows all words, and leaves it open which of them a collection has seen.
    pub(crate) fn each(&self, show: &mut dyn FnMut(u64)) {
        let used = self
            .places
            .iter()
            .filter(|place| place.state != State::Free);
        used.for_each(|place| show(place.word));
    }
}
