//! Leaf functions for memories of WebAssembly guests.

use canny_vm::InPlace;

use super::{Row, Word, or_decline};
use crate::primitives::guests::{quick_ref, quick_set};

pub(super) const FUNCTIONS: &[Row] = &[
    (
        "%wasm-memory-ref",
        4,
        leaf!(|thread, store, memory, address| {
            let [kind] = thread.further();
            or_decline(quick_ref(thread, [store, memory, address], kind))
        }),
    ),
    (
        "%wasm-memory-set!",
        5,
        leaf!(|thread, store, memory, address| {
            let [kind, value] = thread.further();
            or_decline(quick_set([store, memory, address], kind, value))
        }),
    ),
];
