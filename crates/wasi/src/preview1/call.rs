//! A call of a function: its arguments, and the guest's memory, which is reached with checks.
//!
//! Numbers in memory are little-endian and need not be aligned.

use canny_io::{IoError, Wait};
use canny_wasm::Memory;

use super::State;
use super::errno::Errno;
use crate::patience::patience;

/// Why a function gives no results.
#[derive(Debug)]
pub enum Stop {
    /// It gives this error.
    Error(Errno),
    /// It is to be called again.
    Wait,
    /// The guest ends itself.
    Exit(u32),
}

impl<E: Into<Errno>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Error(error.into())
    }
}

/// The way of bytes between the memory and the system.
#[derive(Clone, Copy)]
pub enum Way {
    /// Into the memory.
    In,
    /// Out of it.
    Out,
}

/// A call.
pub struct Call<'a> {
    pub state: &'a mut State,
    /// The number of the store.
    pub store: u64,
    pub memory: &'a mut Memory,
    pub arguments: &'a [u64],
}

/// How an operation on a stream may wait.
pub fn waiting(is_non_blocking: bool) -> Wait<'static> {
    match (is_non_blocking, patience()) {
        (true, _) => Wait::NonBlocking,
        (false, Some(deadline)) => Wait::Until(deadline, None),
        (false, None) => Wait::Blocking,
    }
}

/// The meaning of a failure of such an operation.
pub fn put_off(error: &IoError) -> Stop {
    match error {
        IoError::Parked(_) | IoError::TimedOut(_) | IoError::Interrupted => Stop::Wait,
        error => Stop::Error(error.into()),
    }
}

impl Call<'_> {
    /// An argument of 32 bits.
    pub fn number(&self, index: usize) -> u32 {
        self.arguments[index] as u32
    }

    /// An argument of 64 bits.
    pub fn wide(&self, index: usize) -> u64 {
        self.arguments[index]
    }

    /// Writes bytes to an address.
    pub fn write_bytes(&mut self, address: u32, bytes: &[u8]) -> Result<(), Errno> {
        let is_there = self.memory.write(address.into(), bytes);
        is_there.then_some(()).ok_or(Errno::FAULT)
    }

    /// A copy of bytes.
    fn copy(&self, address: u32, length: u32) -> Result<Vec<u8>, Errno> {
        let bytes = self.memory.copy(address.into(), length.into());
        bytes.ok_or(Errno::FAULT)
    }

    /// Has a function of the system fill bytes of the memory, or read them, and say how many. Other threads
    /// may change a shared memory meanwhile, so that the function gets a copy of that.
    pub fn transfer(
        &mut self,
        (address, length): (u32, u32),
        way: Way,
        work: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>,
    ) -> Result<rustix::io::Result<usize>, Errno> {
        if let Some(bytes) = self.memory.bytes_mut() {
            let start = address as usize;
            let bytes = bytes.get_mut(start..start + length as usize);
            return Ok(work(bytes.ok_or(Errno::FAULT)?));
        }
        let mut bytes = self.copy(address, length)?;
        let count = work(&mut bytes);
        if let (Way::In, Ok(count)) = (way, count) {
            self.write_bytes(address, &bytes[..count])?;
        }
        Ok(count)
    }

    /// A path or another text that two arguments name: address and length.
    pub fn text(&self, index: usize) -> Result<Vec<u8>, Errno> {
        self.copy(self.number(index), self.number(index + 1))
    }

    pub fn read<const SIZE: usize>(&self, address: u32) -> Result<[u8; SIZE], Errno> {
        let mut bytes = [0; SIZE];
        let is_there = self.memory.read(address.into(), &mut bytes);
        is_there.then_some(bytes).ok_or(Errno::FAULT)
    }

    pub fn read32(&self, address: u32) -> Result<u32, Errno> {
        Ok(u32::from_le_bytes(self.read(address)?))
    }

    pub fn write<const SIZE: usize>(
        &mut self,
        address: u32,
        bytes: [u8; SIZE],
    ) -> Result<(), Errno> {
        self.write_bytes(address, &bytes)
    }

    pub fn write32(&mut self, address: u32, number: u32) -> Result<(), Errno> {
        self.write(address, number.to_le_bytes())
    }

    pub fn write64(&mut self, address: u32, number: u64) -> Result<(), Errno> {
        self.write(address, number.to_le_bytes())
    }

    /// The places of memory that a list of address and length names: its address and how many.
    pub fn places(&self, list: u32, count: u32) -> Result<Vec<(u32, u32)>, Errno> {
        let mut places = Vec::new();
        for index in 0..count {
            let at = index.checked_mul(8).and_then(|at| list.checked_add(at));
            let at = at.ok_or(Errno::FAULT)?;
            let place = (self.read32(at)?, self.read32(at.saturating_add(4))?);
            let end = u64::from(place.0) + u64::from(place.1);
            if end > self.memory.size() {
                return Err(Errno::FAULT);
            }
            places.push(place);
        }
        Ok(places)
    }

    /// The bytes of places one after the other.
    pub fn gather(&self, places: &[(u32, u32)]) -> Result<Vec<u8>, Errno> {
        let mut bytes = Vec::new();
        for (address, length) in places {
            bytes.extend_from_slice(&self.copy(*address, *length)?);
        }
        Ok(bytes)
    }

    /// Puts bytes into places one after the other.
    pub fn scatter(&mut self, places: &[(u32, u32)], mut bytes: &[u8]) -> Result<(), Errno> {
        for (address, length) in places {
            let count = bytes.len().min(*length as usize);
            let (part, rest) = bytes.split_at(count);
            self.write_bytes(*address, part)?;
            bytes = rest;
        }
        Ok(())
    }
}

/// Bytes of all places together.
pub fn sum(places: &[(u32, u32)]) -> usize {
    places.iter().map(|(_, length)| *length as usize).sum()
}
