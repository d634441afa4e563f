//! The state of an instance of a component: its handles, and whether it may be entered and left.
//!
//! An instance is entered by one call at a time. A call that a trap has ended leaves it entered, since
//! nobody knows what the call has left behind.

use std::sync::Arc;

use canny_locks::Mutex;
use canny_wasm::Trap;

use super::Handles;

/// The state of an instance.
pub struct State {
    parent: Option<Arc<State>>,
    flags: Mutex<Flags>,
    /// The handles of the instance.
    pub handles: Mutex<Handles>,
}

struct Flags {
    is_entered: bool,
    may_leave: bool,
}

impl State {
    pub fn new(parent: Option<Arc<State>>) -> Arc<State> {
        Arc::new(State {
            parent,
            flags: Mutex::new(Flags {
                is_entered: false,
                may_leave: true,
            }),
            handles: Mutex::default(),
        })
    }

    /// Itself and the instances in which it was made, without those of a caller.
    fn entered<'a>(self: &'a Arc<State>, caller: Option<&Arc<State>>) -> Vec<&'a Arc<State>> {
        let of_caller: Vec<&Arc<State>> = caller.map_or_else(Vec::new, State::line);
        let mut line = self.line();
        line.retain(|state| !of_caller.iter().any(|other| Arc::ptr_eq(state, other)));
        line
    }

    fn line(self: &Arc<State>) -> Vec<&Arc<State>> {
        std::iter::successors(Some(self), |state| state.parent.as_ref()).collect()
    }

    /// Fails if one of two instances was made inside of the other: they may not call each other.
    pub fn check_apart(self: &Arc<State>, caller: &Arc<State>) -> Result<(), Trap> {
        let within =
            |state: &Arc<State>, outer| state.line().iter().any(|it| Arc::ptr_eq(it, outer));
        if within(self, caller) || within(caller, self) {
            let text = "cannot enter component instance: it is the caller, or one is in the other";
            return Err(Trap::Host(text.to_owned()));
        }
        Ok(())
    }

    /// Begins a call.
    pub fn enter(self: &Arc<State>, caller: Option<&Arc<State>>) -> Result<(), Trap> {
        let entered = self.entered(caller);
        if entered.iter().any(|state| state.flags.lock().is_entered) {
            let text =
                "cannot enter component instance: a call is in progress or was ended by a trap";
            return Err(Trap::Host(text.to_owned()));
        }
        for state in entered {
            state.flags.lock().is_entered = true;
        }
        Ok(())
    }

    /// Ends a call.
    pub fn exit(self: &Arc<State>, caller: Option<&Arc<State>>) {
        for state in self.entered(caller) {
            state.flags.lock().is_entered = false;
        }
    }

    /// Forbids or allows calls of imported functions.
    pub fn set_may_leave(&self, may_leave: bool) {
        self.flags.lock().may_leave = may_leave;
    }

    /// Fails if imported functions may not be called now.
    pub fn check_may_leave(&self) -> Result<(), Trap> {
        if self.flags.lock().may_leave {
            Ok(())
        } else {
            Err(Trap::Host("cannot leave component instance".to_owned()))
        }
    }
}
