//! A region of address space for machine code and descriptors, twice in view.
//!
//! ```text
//! one reservation of address space            another view of the code's memory
//! | code (read, execute) | data (read, write) |   | code (read, write) |
//! ```
//!
//! No address is ever writable and executable: code is written through the second view. Descriptors are
//! data, which code refers to relative to its own address.

use std::io;
use std::ops::Range;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

use canny_locks::Mutex;

use crate::JitError;
use crate::arguments::{self, REGISTERS};
use crate::assembler::TRAP;
use crate::jitdump::{CodeLine, JitDump};
use crate::machine::FunctionCode;
use crate::perf_map::PerfMap;
use crate::places::PlaceMap;
use crate::ranges::FreeRanges;
use crate::relocation::Stub;

/// Places in code and data are multiples of this.
pub(crate) const ALIGNMENT: usize = 64;

/// The region, with the stubs that all code shares.
#[derive(Debug)]
pub(crate) struct Region {
    /// Start of the code where it is executed.
    executable: usize,
    /// Start of the code where it is written.
    writable: usize,
    code_bytes: usize,
    /// Bytes of data, behind the executable view.
    data_bytes: usize,
    free: Mutex<Free>,
    dispatch: usize,
    runtime: usize,
    to_interpreter: usize,
    adapters: [usize; REGISTERS + 1],
    perf_map: Option<PerfMap>,
    dump: Option<&'static JitDump>,
    places: Mutex<PlaceMap>,
}

#[derive(Debug)]
struct Free {
    code: FreeRanges,
    data: FreeRanges,
}

impl Region {
    fn lock(&self) -> canny_locks::MutexGuard<'_, Free> {
        self.free.lock()
    }

    /// Maps memory for code and descriptors.
    pub(crate) fn map(
        code_bytes: usize,
        data_bytes: usize,
        perf_map: Option<PerfMap>,
        dump: Option<&'static JitDump>,
    ) -> Result<Region, JitError> {
        let mut region = map(code_bytes, data_bytes).map_err(JitError::Memory)?;
        region.perf_map = perf_map;
        region.dump = dump;
        Ok(region)
    }

    /// Addresses of code and descriptors.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.executable..self.executable + self.code_bytes + self.data_bytes
    }

    /// The places that code was made for.
    pub(crate) fn places(&self) -> canny_locks::MutexGuard<'_, PlaceMap> {
        self.places.lock()
    }

    /// Bytes of memory for code and for descriptors.
    pub(crate) fn capacities(&self) -> (usize, usize) {
        (self.code_bytes, self.data_bytes)
    }

    /// Bytes of code in use.
    pub(crate) fn used_code_bytes(&self) -> usize {
        self.code_bytes - self.lock().code.free_bytes()
    }

    /// Bytes of descriptors in use.
    pub(crate) fn used_data_bytes(&self) -> usize {
        self.data_bytes - self.lock().data.free_bytes()
    }

    /// Puts a stub into the region.
    pub(crate) fn write_stub(
        &mut self,
        stub: Stub,
        name: &str,
        function: FunctionCode,
    ) -> Result<(), JitError> {
        if !function.relocations.is_empty() {
            return Err(JitError::CodeGenerator("a stub has relocations".into()));
        }
        let address = self.take_code(function.bytes.len())?;
        // SAFETY: the range was just taken, and nothing runs in it yet.
        unsafe { self.write_code(address, &function.bytes) };
        self.list(name, address, &function.bytes, Vec::new);
        let place = match stub {
            Stub::Dispatch => &mut self.dispatch,
            Stub::Runtime => &mut self.runtime,
            Stub::Return => &mut self.to_interpreter,
        };
        *place = address + function.entry;
        Ok(())
    }

    /// Puts the adapters into the region; see [`Region::adapter`].
    pub(crate) fn write_adapters(&mut self) -> Result<(), JitError> {
        let mut code = Vec::new();
        let mut places = [0; REGISTERS + 1];
        for (count, place) in places.iter_mut().enumerate() {
            code.resize(code.len().next_multiple_of(16), TRAP);
            *place = code.len();
            code.extend(arguments::adapter(count));
        }
        let address = self.take_code(code.len())?;
        // SAFETY: the range was just taken, and nothing runs in it yet.
        unsafe { self.write_code(address, &code) };
        self.list("adapters", address, &code, Vec::new);
        self.adapters = places.map(|place| address + place);
        Ok(())
    }

    /// Where calls of known code go that has no candidate for them, by the number of arguments in registers.
    pub(crate) fn adapter(&self, count: usize) -> usize {
        self.adapters[count]
    }

    /// Address of a stub.
    pub(crate) fn stub(&self, stub: Stub) -> usize {
        match stub {
            Stub::Dispatch => self.dispatch,
            Stub::Runtime => self.runtime,
            Stub::Return => self.to_interpreter,
        }
    }

    /// Takes memory for code; gives the address where it will run.
    pub(crate) fn take_code(&self, bytes: usize) -> Result<usize, JitError> {
        let place = self.lock().code.take(bytes.next_multiple_of(ALIGNMENT));
        place.ok_or(JitError::MemoryExhausted)
    }

    /// Gives memory of code back.
    pub(crate) fn give_code(&self, address: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        self.lock().code.give(address, bytes);
    }

    /// Takes memory for data.
    pub(crate) fn take_data(&self, bytes: usize) -> Result<usize, JitError> {
        let place = self.lock().data.take(bytes.next_multiple_of(ALIGNMENT));
        place.ok_or(JitError::MemoryExhausted)
    }

    /// Gives memory of data back.
    pub(crate) fn give_data(&self, address: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        self.lock().data.give(address, bytes);
    }

    /// Writes code that will run at an address.
    ///
    /// # Safety
    /// The range was taken from this region, and no thread runs in it.
    pub(crate) unsafe fn write_code(&self, address: usize, code: &[u8]) {
        let to = (self.writable + (address - self.executable)) as *mut u8;
        // SAFETY: the range lies in the region, whose writable view is as long as the executable one.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), to, code.len()) };
    }

    /// Lists code for profilers, with its lines if they are wanted.
    pub(crate) fn list(
        &self,
        name: &str,
        address: usize,
        code: &[u8],
        lines: impl FnOnce() -> Vec<CodeLine>,
    ) {
        if let Some(map) = &self.perf_map {
            map.add(address, code.len(), name);
        }
        if let Some(dump) = self.dump {
            dump.add(address, code, name, &lines());
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: these are this region's mappings, and every holder of code in it holds the region
        // too.
        unsafe {
            libc::munmap(
                self.executable as *mut libc::c_void,
                self.code_bytes + self.data_bytes,
            );
            libc::munmap(self.writable as *mut libc::c_void, self.code_bytes);
        }
    }
}

/// Maps memory twice: anonymous memory, since profilers look up names of procedures only in memory that
/// belongs to no file, or a file in memory where that cannot be mapped a second time, as under
/// valgrind.
#[cfg(target_os = "linux")]
fn map(code_bytes: usize, data_bytes: usize) -> io::Result<Region> {
    let private = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_ANONYMOUS;
    let executable = map_anywhere(code_bytes + data_bytes, private, -1)?;
    let writable = second_view(executable, code_bytes)
        .or_else(|_| views_of_file(executable, code_bytes))
        .inspect_err(|_| unmap(executable, code_bytes + data_bytes))?;
    let data = executable + code_bytes;
    Ok(Region {
        executable,
        writable,
        code_bytes,
        data_bytes,
        free: Mutex::new(Free {
            code: FreeRanges::new(executable, code_bytes),
            data: FreeRanges::new(data, data_bytes),
        }),
        dispatch: 0,
        runtime: 0,
        to_interpreter: 0,
        adapters: [0; REGISTERS + 1],
        perf_map: None,
        dump: None,
        places: Mutex::default(),
    })
}

/// Puts anonymous memory in the place of the start of a mapping that nothing refers to, to be executed
/// there; where it can be written to.
#[cfg(target_os = "linux")]
fn second_view(executable: usize, bytes: usize) -> io::Result<usize> {
    let shared = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_ANONYMOUS;
    let writable = map_anywhere(bytes, shared, -1)?;
    // SAFETY: an old size of zero makes a second mapping of shared memory, here over the start of the
    // first one, which nothing refers to yet; then the protection of this mapping changes.
    let is_mapped = unsafe {
        let place = executable as *mut libc::c_void;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let second = libc::mremap(writable as *mut libc::c_void, 0, bytes, flags, place);
        second == place && libc::mprotect(place, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0
    };
    if is_mapped {
        return Ok(writable);
    }
    let error = io::Error::last_os_error();
    unmap(writable, bytes);
    Err(error)
}

/// The same with a file in memory.
#[cfg(target_os = "linux")]
fn views_of_file(executable: usize, bytes: usize) -> io::Result<usize> {
    // SAFETY: the name is a string of C, and the result is a descriptor that nobody else has.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"canny code".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        std::fs::File::from_raw_fd(descriptor)
    };
    file.set_len(bytes as u64)?;
    let writable = map_anywhere(bytes, libc::MAP_SHARED, file.as_raw_fd())?;
    // SAFETY: nothing refers yet to the mapping that this one replaces the start of.
    let second = unsafe {
        let place = executable as *mut libc::c_void;
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        libc::mmap(place, bytes, protection, flags, file.as_raw_fd(), 0)
    };
    if second == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        unmap(writable, bytes);
        return Err(error);
    }
    Ok(writable)
}

/// Maps memory that can be read and written.
#[cfg(target_os = "linux")]
fn map_anywhere(bytes: usize, flags: libc::c_int, descriptor: libc::c_int) -> io::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the system chooses the address.
    let address = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
    if address == libc::MAP_FAILED {
        Err(io::Error::last_os_error())
    } else {
        Ok(address as usize)
    }
}

#[cfg(target_os = "linux")]
fn unmap(address: usize, bytes: usize) {
    // SAFETY: a mapping made here that nothing refers to.
    unsafe { libc::munmap(address as *mut libc::c_void, bytes) };
}

#[cfg(not(target_os = "linux"))]
fn map(_: usize, _: usize) -> io::Result<Region> {
    Err(io::ErrorKind::Unsupported.into())
}
