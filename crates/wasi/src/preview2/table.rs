//! The resources of a guest, by their numbers. A number of another kind of resource is a trap.
//!
//! The table also counts the descriptors that the resources hold, wherever these are kept.

use std::any::Any;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use canny_wasm::Trap;
use rustix::io::Errno;

/// Most resources of a guest.
const RESOURCES_MAX: usize = 1 << 16;

/// Most descriptors that they have open.
const DESCRIPTORS_MAX: usize = 4096;

/// A kind of resources.
pub trait Resource: Any + Send {
    /// Its name in its interface.
    const NAME: &'static str;
}

struct Entry {
    name: &'static str,
    resource: Box<dyn Any + Send>,
}

#[derive(Default)]
pub struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// Each open descriptor has a reference to it.
    descriptors: Arc<()>,
}

/// Something that counts as a descriptor of the guest's as long as it is there.
pub struct Counted {
    _count: Arc<()>,
}

/// A descriptor that counts as one of the guest's.
pub struct Opened {
    descriptor: OwnedFd,
    _counted: Counted,
}

impl AsFd for Opened {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Table {
    /// Counts a descriptor. There may be too many.
    pub fn count(&self) -> Result<Counted, Errno> {
        if Arc::strong_count(&self.descriptors) > DESCRIPTORS_MAX {
            return Err(Errno::MFILE);
        }
        Ok(Counted {
            _count: Arc::clone(&self.descriptors),
        })
    }

    /// Has a descriptor count as one of the guest's.
    pub fn open(&self, descriptor: OwnedFd) -> Result<Arc<Opened>, Errno> {
        let _counted = self.count()?;
        Ok(Arc::new(Opened {
            descriptor,
            _counted,
        }))
    }

    pub fn add<T: Resource>(&mut self, resource: T) -> Result<u32, Trap> {
        let entry = Some(Entry {
            name: T::NAME,
            resource: Box::new(resource),
        });
        if let Some(number) = self.free.pop() {
            self.entries[number as usize] = entry;
            return Ok(number);
        }
        if self.entries.len() >= RESOURCES_MAX {
            let text = format!("a guest of WASI has more than {RESOURCES_MAX} resources");
            return Err(Trap::Host(text));
        }
        self.entries.push(entry);
        Ok(self.entries.len() as u32 - 1)
    }

    pub fn get<T: Resource>(&mut self, number: u32) -> Result<&mut T, Trap> {
        let entry = self.entries.get_mut(number as usize);
        let entry = entry.and_then(Option::as_mut);
        let resource = entry.and_then(|entry| entry.resource.downcast_mut());
        resource.ok_or_else(|| wrong(number, T::NAME))
    }

    pub fn take<T: Resource>(&mut self, number: u32) -> Result<T, Trap> {
        let resource = self.remove(number, T::NAME)?;
        let resource = resource.downcast().map_err(|_| wrong(number, T::NAME))?;
        Ok(*resource)
    }

    /// Removes a resource of the kind with that name.
    pub fn remove(&mut self, number: u32, name: &'static str) -> Result<Box<dyn Any + Send>, Trap> {
        let entry = self.entries.get_mut(number as usize);
        let entry = entry.and_then(|entry| entry.take_if(|entry| entry.name == name));
        let entry = entry.ok_or_else(|| wrong(number, name))?;
        self.free.push(number);
        Ok(entry.resource)
    }
}

fn wrong(number: u32, name: &str) -> Trap {
    Trap::Host(format!("resource {number} of a guest of WASI is no {name}"))
}
