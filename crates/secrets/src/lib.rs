//! The parts that programs need to keep secrets: digests, authentication codes, keys out of
//! passwords, random bytes and hashes of passwords.
//!
//! Established crates implement the cryptography; this one gives it the shape that Canny wants.
//! Messages contain nothing of a secret.

#![forbid(unsafe_code)]

pub mod codes;
pub mod passwords;
