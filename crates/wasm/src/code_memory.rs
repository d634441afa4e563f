//! Memory for machine code, and what is known of code by its address.
//!
//! The memory is in view twice, so that no address is writable and executable at once. One region serves
//! the process; signal handlers ask for its bounds only.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Weak};

use canny_locks::Mutex;
use canny_tables::guest::Reason;

use crate::code_origins::CodeOrigins;

/// Most bytes of machine code in a process.
const BYTES: usize = 256 << 20;

/// Code begins at multiples of this.
const ALIGNMENT: usize = 64;

/// The purpose of a piece of code.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// One of a module's own functions, by its index; the module may be gone.
    Function(Weak<dyn Any + Send + Sync>, u32),
    /// The interpreter calls machine code by it.
    FromInterpreter,
    /// Machine code calls interpreted functions by it.
    ToInterpreter,
}

/// A piece of code, as far as it is known.
#[derive(Debug)]
pub struct Piece {
    pub purpose: Purpose,
    /// Offsets of instructions that trap, in order.
    pub traps: Box<[(u32, Reason)]>,
    /// Where its instructions are from in the module's bytes.
    pub origins: CodeOrigins,
    pub landings: Landings,
}

/// The calls of a function that end with an exception there.
#[derive(Default, Debug)]
pub struct Landings {
    /// Bytes from the stack pointer to the base pointer.
    pub frame_bytes: u32,
    /// Where the frame has the instance, from the stack pointer on.
    pub instance: u32,
    /// Calls by the offsets to which they return, in order.
    pub calls: Box<[Landing]>,
}

/// Where a call goes on that ends with an exception.
#[derive(Debug)]
pub struct Landing {
    /// The offset to which it returns otherwise.
    pub after: u32,
    /// The offset of code that asks which clause it is.
    pub handler: u32,
    /// The clauses of the blocks around it, those of inner blocks first.
    pub clauses: Box<[CaughtBy]>,
}

/// A clause that catches exceptions.
#[derive(Clone, Copy, Debug)]
pub struct CaughtBy {
    /// The module's tag, if it does not catch all exceptions.
    pub tag: Option<u32>,
    /// Whether it takes the exception itself, behind its values.
    pub takes_reference: bool,
}

struct Region {
    executable: usize,
    writable: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Free ranges: their offsets and lengths.
    free: BTreeMap<usize, usize>,
    /// Pieces by their addresses, with their lengths.
    pieces: BTreeMap<usize, (usize, Arc<Piece>)>,
}

static REGION: LazyLock<Option<Region>> = LazyLock::new(map);

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn map() -> Option<Region> {
    None
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn map() -> Option<Region> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    // SAFETY: plain calls of the system with valid arguments; the descriptor is new.
    unsafe {
        let file = libc::memfd_create(c"canny-guest-code".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return None;
        }
        let file = OwnedFd::from_raw_fd(file);
        if libc::ftruncate(file.as_raw_fd(), BYTES as i64) != 0 {
            return None;
        }
        let view = |protection| {
            let address = libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                protection,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            );
            (address != libc::MAP_FAILED).then_some(address as usize)
        };
        let executable = view(libc::PROT_READ | libc::PROT_EXEC)?;
        let writable = view(libc::PROT_READ | libc::PROT_WRITE)?;
        let mut state = State::default();
        state.free.insert(0, BYTES);
        Some(Region {
            executable,
            writable,
            state: Mutex::new(state),
        })
    }
}

/// A piece of code in memory, which is free again when this is dropped.
#[derive(Debug)]
pub struct Code {
    address: usize,
    bytes: usize,
}

impl Code {
    /// Where it begins.
    pub fn address(&self) -> usize {
        self.address
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(region) = &*REGION {
            let mut state = region.state.lock();
            state.pieces.remove(&self.address);
            state.give_back(self.address - region.executable, self.bytes);
        }
    }
}

impl State {
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let mut fitting = self.free.iter().filter(|(_, length)| **length >= bytes);
        let (offset, length) = fitting.next().map(|(offset, length)| (*offset, *length))?;
        self.free.remove(&offset);
        if length > bytes {
            self.free.insert(offset + bytes, length - bytes);
        }
        Some(offset)
    }

    fn give_back(&mut self, mut offset: usize, mut bytes: usize) {
        if let Some(behind) = self.free.remove(&(offset + bytes)) {
            bytes += behind;
        }
        if let Some((&before, &length)) = self.free.range(..offset).next_back()
            && before + length == offset
        {
            offset = before;
            bytes += length;
        }
        self.free.insert(offset, bytes);
    }
}

/// Copies code into memory; `link` gets it with its address before that.
pub fn install(
    mut code: Vec<u8>,
    piece: Piece,
    link: impl FnOnce(&mut [u8], usize),
) -> Option<Code> {
    let region = REGION.as_ref()?;
    let bytes = code.len().next_multiple_of(ALIGNMENT);
    let mut state = region.state.lock();
    let offset = state.take(bytes)?;
    let address = region.executable + offset;
    link(&mut code, address);
    // Nothing falls through to what was there before.
    code.resize(bytes, 0xcc);
    // SAFETY: the range was just taken, so that nothing runs in it or writes there.
    unsafe {
        let target = (region.writable + offset) as *mut u8;
        std::ptr::copy_nonoverlapping(code.as_ptr(), target, bytes);
    }
    state.pieces.insert(address, (bytes, Arc::new(piece)));
    Some(Code { address, bytes })
}

/// Where machine code may be; a signal handler may ask once [`is_ready`] was asked.
pub fn bounds() -> Range<usize> {
    match LazyLock::get(&REGION) {
        Some(Some(region)) => region.executable..region.executable + BYTES,
        _ => 0..0,
    }
}

/// Whether there is memory for machine code.
pub fn is_ready() -> bool {
    REGION.is_some()
}

/// The piece that has an address, and the offset there.
pub fn find(address: usize) -> Option<(Arc<Piece>, u32)> {
    let region = REGION.as_ref()?;
    let state = region.state.lock();
    let (start, (length, piece)) = state.pieces.range(..=address).next_back()?;
    (address < start + length).then(|| (Arc::clone(piece), (address - start) as u32))
}

/// The trap that an instruction is there for.
pub fn trap_at(address: usize) -> Option<Reason> {
    let (piece, offset) = find(address)?;
    let place = piece.traps.binary_search_by_key(&offset, |(at, _)| *at);
    place.ok().map(|index| piece.traps[index].1)
}
