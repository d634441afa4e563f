//! The options that a host chooses when it makes a heap.

/// Memory outside of the heap that counts toward its limit.
#[derive(Clone, Copy, Debug)]
pub struct OutsideMemory {
    /// Bytes in use.
    pub held_bytes: fn() -> usize,
    /// Called after each collection with the number of bytes that may be in use.
    pub allow_bytes: fn(usize),
}

/// Settings of a heap. `HeapConfig::default()` is what a program run wants.
#[derive(Clone, Debug)]
pub struct HeapConfig {
    /// Hard limit in bytes; `None` means three quarters of the memory that there is.
    pub limit: Option<usize>,
    /// Memory that the host holds outside of the heap and counts toward the limit.
    pub outside: Option<OutsideMemory>,
    /// Most bytes allocated between two collections; less where little survives. Rounded to blocks, at
    /// least a few of them.
    pub nursery_bytes: usize,
    /// The old generation is collected when it has grown to this many percent of what the last
    /// full collection left.
    pub growth_percent: usize,
    /// No full collection for growth while the old generation is below this many bytes.
    pub full_floor_bytes: usize,
    /// A full collection copies an old generation up to this many bytes and marks a larger one in
    /// place, so that peak memory stays bounded.
    pub in_place_above_bytes: usize,
    /// Collect at every n-th allocation; 0 turns the mode off.
    pub stress_every: u32,
    /// In stress mode, every n-th of those collections is a full one; 0 means none is.
    pub stress_full_every: u32,
    /// Walk the whole heap before and after each collection and abort on a broken invariant.
    pub verify: bool,
    /// Overwrite freed memory with a word that faults when it is used as a reference.
    pub poison: bool,
}

impl Default for HeapConfig {
    fn default() -> Self {
        HeapConfig {
            limit: None,
            outside: None,
            nursery_bytes: 16 << 20,
            growth_percent: 200,
            full_floor_bytes: 64 << 20,
            in_place_above_bytes: 64 << 20,
            stress_every: 0,
            stress_full_every: 4,
            verify: false,
            poison: false,
        }
    }
}
