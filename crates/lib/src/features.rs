//! The features that `(features)` and `cond-expand` know.

/// The feature identifiers: those of R7RS, our own, and `srfi-N` for each file `lib/srfi/N.sld`.
pub const FEATURES: &[&str] = include!(concat!(env!("OUT_DIR"), "/features.rs"));
