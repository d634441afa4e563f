//! Primitives in Rust and libraries in Scheme
