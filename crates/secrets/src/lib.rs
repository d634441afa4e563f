//! What programs need to keep secrets: digests, authentication codes, keys out of passwords, random
//! bytes and hashes of passwords.
//!
//! The cryptography is that of the crates that are made for it; here it gets the shape that Canny
//! wants. Nothing in messages tells of a secret.

#![forbid(unsafe_code)]

pub mod codes;
pub mod passwords;
