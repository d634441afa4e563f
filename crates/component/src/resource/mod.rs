//! Types of resources, the handles by which an instance knows resources, and its state.
//!
//! A handle is an index into the table of an instance. A resource is a number, its *representation*,
//! that only its maker understands.

mod handles;
mod state;

use std::sync::{Arc, OnceLock};

use canny_locks::Mutex;
use canny_wasm::Function;

use crate::host::Destructor;

pub use handles::{Borrows, Handles};
pub use state::State;

/// A type of resources. Two are the same only if one is a clone of the other.
#[derive(Clone)]
pub struct Resource(Arc<Kind>);

struct Kind {
    name: OnceLock<String>,
    maker: Maker,
}

/// The maker of the resources of a type.
pub(crate) enum Maker {
    /// The host.
    Host {
        destructor: Mutex<Destructor>,
        /// Whether it is the embedder, who has functions outside of the store.
        is_outside: bool,
    },
    /// An instance, whose function is called at the end of each resource.
    Guest {
        state: Arc<State>,
        destructor: Option<Function>,
    },
}

impl Resource {
    pub(crate) fn new(maker: Maker) -> Resource {
        Resource(Arc::new(Kind {
            name: OnceLock::new(),
            maker,
        }))
    }

    /// Gives it the name under which it is imported or exported first.
    pub(crate) fn name_it(&self, name: &str) {
        // One that has a name keeps it.
        let _ = self.0.name.set(name.to_owned());
    }

    /// The name under which it is imported or exported.
    pub fn name(&self) -> &str {
        self.0
            .name
            .get()
            .map_or("a resource without a name", String::as_str)
    }

    pub(crate) fn maker(&self) -> &Maker {
        &self.0.maker
    }

    /// Whether the embedder makes the resources.
    pub fn is_outside(&self) -> bool {
        matches!(
            self.maker(),
            Maker::Host {
                is_outside: true,
                ..
            }
        )
    }

    /// A number that no other type of resources has while this one is in use.
    pub fn number(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Whether the resources were made by the instance with that state.
    pub(crate) fn is_of(&self, state: &Arc<State>) -> bool {
        matches!(self.maker(), Maker::Guest { state: maker, .. } if Arc::ptr_eq(maker, state))
    }
}

impl PartialEq for Resource {
    fn eq(&self, other: &Resource) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Resource({:?})", self.name())
    }
}
