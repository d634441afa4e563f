//! Memory for machine code and descriptors.
//!
//! The memory lies in one region, with the stubs that all code shares.

use std::ops::Range;
use std::sync::Arc;

use crate::JitError;
use crate::compiled::Compiled;
use crate::install::{self, Installed, InstalledStitches, StitchedCode};
use crate::jitdump::JitDump;
use crate::perf_map::PerfMap;
use crate::places::{CodePlace, LineOf};
use crate::region::Region;
use crate::relocation::Stub;
use crate::stubs;

/// Limits of the memory, and whether a profiler is notified about it.
#[derive(Clone, Debug)]
pub struct MemoryOptions {
    /// Most bytes of machine code.
    pub code_bytes_max: usize,
    /// Most bytes of descriptors.
    pub data_bytes_max: usize,
    /// Whether code is listed in a file for the `perf` profiler.
    pub writes_perf_map: bool,
    /// Whether code and its lines are written to a file for `perf inject --jit`.
    pub writes_jitdump: bool,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        MemoryOptions {
            code_bytes_max: 256 << 20,
            data_bytes_max: 128 << 20,
            writes_perf_map: false,
            writes_jitdump: false,
        }
    }
}

/// Memory for the code of a machine. Clones are the same memory.
#[derive(Clone, Debug)]
pub struct CodeMemory {
    region: Arc<Region>,
}

impl CodeMemory {
    /// Reserves address space and writes the shared stubs.
    pub fn new(options: &MemoryOptions) -> Result<CodeMemory, JitError> {
        let page = 4096;
        let code_bytes = options.code_bytes_max.next_multiple_of(page);
        let data_bytes = options.data_bytes_max.next_multiple_of(page);
        // Displacements from code to data and stubs have 32 bits.
        if code_bytes == 0 || code_bytes.saturating_add(data_bytes) > 1 << 30 {
            return Err(JitError::TooLarge);
        }
        let perf_map = options.writes_perf_map.then(PerfMap::open).flatten();
        let dump = options.writes_jitdump.then(JitDump::of_process).flatten();
        let mut region = Region::map(code_bytes, data_bytes, perf_map, dump)?;
        region.write_stub(Stub::Dispatch, "dispatch", stubs::dispatch()?)?;
        region.write_stub(Stub::Runtime, "runtime", stubs::runtime()?)?;
        region.write_stub(Stub::Return, "return", stubs::to_interpreter()?)?;
        region.write_adapters()?;
        Ok(CodeMemory {
            region: Arc::new(region),
        })
    }

    /// Copies a procedure's code into the memory and makes its descriptors. The candidate's number is
    /// what exits report. Lines are for profilers of others.
    pub fn install(
        &self,
        compiled: &Compiled,
        candidate: u64,
        line_of: LineOf,
    ) -> Result<Installed, JitError> {
        install::install(&self.region, compiled, candidate, line_of)
    }

    /// Copies stitched code into the memory and makes its descriptors.
    pub fn install_stitched(
        &self,
        code: &StitchedCode,
        line_of: LineOf,
    ) -> Result<InstalledStitches, JitError> {
        install::install_stitched(&self.region, code, line_of)
    }

    /// Addresses of code and descriptors.
    pub fn addresses(&self) -> Range<usize> {
        self.region.addresses()
    }

    /// The place that compiled code at an address was made for; none for other addresses.
    pub fn place_of(&self, address: usize) -> Option<CodePlace> {
        self.region.places().find(address, 0)
    }

    /// The same of the object at an offset of the memory that the code at an address takes.
    pub fn place_of_object(&self, address: usize, offset: usize) -> Option<CodePlace> {
        self.region.places().find(address, offset)
    }

    /// Whether one part in `share` of the memory for code or descriptors is in use.
    pub fn is_used_to(&self, share: usize) -> bool {
        let (code, data) = self.region.capacities();
        self.used_code_bytes() > code / share || self.used_data_bytes() > data / share
    }

    /// Bytes of code memory in use.
    pub fn used_code_bytes(&self) -> usize {
        self.region.used_code_bytes()
    }

    /// Bytes of descriptor memory in use.
    pub fn used_data_bytes(&self) -> usize {
        self.region.used_data_bytes()
    }
}
