//! Counters of the specializer that are always kept: single words, which whoever watches the machine
//! reads at any time. They cost nothing where compiled code runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Specializer;
use crate::Vm;

/// A look at the specializer. The numbers were not read at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecializerFigures {
    /// Plans that became machine code.
    pub compiled: u64,
    /// Attempts that came to nothing.
    pub refused: u64,
    /// Time that all of them took.
    pub time: Duration,
    /// How often compiled code was left for a wrong guess.
    pub deoptimizations: u64,
    /// Bytes of machine code in use.
    pub code_bytes: usize,
    /// Bytes that describe it.
    pub descriptor_bytes: usize,
}

/// Counts since the machine began.
#[derive(Debug, Default)]
pub(super) struct Counters {
    compiled: AtomicU64,
    refused: AtomicU64,
    time_ns: AtomicU64,
    deoptimizations: AtomicU64,
}

impl Counters {
    /// An attempt to compile has ended.
    pub(super) fn note_attempt(&self, is_compiled: bool, time: Duration) {
        let counter = if is_compiled {
            &self.compiled
        } else {
            &self.refused
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let time_ns = time.as_nanos() as u64;
        self.time_ns.fetch_add(time_ns, Ordering::Relaxed);
    }

    /// Compiled code was left.
    pub(super) fn note_deoptimization(&self) {
        self.deoptimizations.fetch_add(1, Ordering::Relaxed);
    }
}

impl Specializer {
    /// Numbers about its work.
    pub fn figures(&self) -> SpecializerFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (code_bytes, descriptor_bytes) = self.machine_code.used_bytes();
        SpecializerFigures {
            compiled: read(&self.counters.compiled),
            refused: read(&self.counters.refused),
            time: Duration::from_nanos(read(&self.counters.time_ns)),
            deoptimizations: read(&self.counters.deoptimizations),
            code_bytes,
            descriptor_bytes,
        }
    }
}

impl Vm {
    /// Numbers about the specializer's work.
    pub fn specializer_figures(&self) -> SpecializerFigures {
        self.specializer.figures()
    }
}
