//! The machine: frames, calls, continuations, safepoints
