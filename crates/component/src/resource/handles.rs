//! The table of an instance's handles.
//!
//! Places that are free again are used first, the newest of them before the others, as the standard says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use canny_wasm::Trap;

use super::Resource;

/// How many handles a call has lent to an instance that it has not dropped yet.
pub type Borrows = Arc<AtomicU32>;

/// A handle.
struct Handle {
    resource: Resource,
    representation: u32,
    /// The call that has lent it; none if it is owned.
    scope: Option<Borrows>,
    /// Calls to which it is lent.
    lends: u32,
}

/// The handles of an instance. Index 0 is none.
#[derive(Default)]
pub struct Handles {
    entries: Vec<Option<Handle>>,
    free: Vec<u32>,
}

/// Most handles of an instance.
const HANDLES_MAX: usize = 1 << 20;

fn trap(text: String) -> Trap {
    Trap::Host(text)
}

impl Handles {
    fn add(&mut self, handle: Handle) -> Result<u32, Trap> {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(handle);
            return Ok(index);
        }
        if self.entries.is_empty() {
            self.entries.push(None);
        }
        if self.entries.len() > HANDLES_MAX {
            return Err(trap(format!("an instance may have {HANDLES_MAX} handles")));
        }
        self.entries.push(Some(handle));
        Ok(self.entries.len() as u32 - 1)
    }

    /// A handle that owns a resource.
    pub fn own(&mut self, resource: &Resource, representation: u32) -> Result<u32, Trap> {
        self.add(Handle {
            resource: resource.clone(),
            representation,
            scope: None,
            lends: 0,
        })
    }

    /// A handle that a call lends.
    pub fn borrow(
        &mut self,
        resource: &Resource,
        representation: u32,
        scope: &Borrows,
    ) -> Result<u32, Trap> {
        let index = self.add(Handle {
            resource: resource.clone(),
            representation,
            scope: Some(Arc::clone(scope)),
            lends: 0,
        })?;
        scope.fetch_add(1, Ordering::Relaxed);
        Ok(index)
    }

    fn get(&mut self, index: u32, resource: &Resource) -> Result<&mut Handle, Trap> {
        let found = self.entries.get_mut(index as usize);
        let Some(handle) = found.and_then(Option::as_mut) else {
            return Err(trap(format!("unknown handle index {index}")));
        };
        if handle.resource != *resource {
            return Err(trap(format!(
                "handle index {index} used with the wrong type: it is {}, not {}",
                handle.resource.name(),
                resource.name()
            )));
        }
        Ok(handle)
    }

    /// The representation of a resource.
    pub fn representation(&mut self, index: u32, resource: &Resource) -> Result<u32, Trap> {
        Ok(self.get(index, resource)?.representation)
    }

    /// Lends a resource to a call.
    pub fn lend(&mut self, index: u32, resource: &Resource) -> Result<u32, Trap> {
        let handle = self.get(index, resource)?;
        handle.lends += 1;
        Ok(handle.representation)
    }

    /// Ends what a call was lent.
    pub fn take_back(&mut self, lent: &[u32]) {
        for index in lent {
            if let Some(Some(handle)) = self.entries.get_mut(*index as usize) {
                handle.lends -= 1;
            }
        }
    }

    fn remove(&mut self, index: u32, resource: &Resource) -> Result<Handle, Trap> {
        if self.get(index, resource)?.lends > 0 {
            return Err(trap(format!(
                "cannot remove owned resource while borrowed: handle {index}"
            )));
        }
        self.free.push(index);
        let handle = self.entries[index as usize].take();
        handle.ok_or_else(|| trap(format!("unknown handle index {index}")))
    }

    /// Takes an owned resource out.
    pub fn give(&mut self, index: u32, resource: &Resource) -> Result<u32, Trap> {
        if self.get(index, resource)?.scope.is_some() {
            return Err(trap(format!(
                "cannot lift own resource from a borrow: handle {index}"
            )));
        }
        Ok(self.remove(index, resource)?.representation)
    }

    /// Drops a handle; gives the representation of a resource that ends with it.
    pub fn end(&mut self, index: u32, resource: &Resource) -> Result<Option<u32>, Trap> {
        let handle = self.remove(index, resource)?;
        match handle.scope {
            Some(scope) => {
                scope.fetch_sub(1, Ordering::Relaxed);
                Ok(None)
            }
            None => Ok(Some(handle.representation)),
        }
    }
}
