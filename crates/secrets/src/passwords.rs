//! Password hashes by Argon2id, as texts in the usual format with parameters and salt.
//!
//! Hashing is slow by design, and the caller runs it where that blocks nobody. A stored hash may
//! come from elsewhere; it cannot ask for more memory or passes than the limits here. Comparison
//! takes constant time.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{CustomizedPasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::codes::random_bytes;

/// Why something was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The system gave no random bytes.
    NoRandomness,
    /// Memory, passes or lanes are not such that a hash can be made with them.
    Parameters,
    /// A stored hash is not one of Argon2.
    NoHash,
    /// A stored hash asks for more memory or passes than is sensible.
    TooCostly,
    /// There is not enough memory for a hash.
    Memory,
}

impl Fault {
    /// The message for people.
    pub fn message(self) -> &'static str {
        match self {
            Fault::NoRandomness => "the system gives no random bytes",
            Fault::Parameters => "memory, passes and lanes of a hash do not fit together",
            Fault::NoHash => "a text is no hash of a password",
            Fault::TooCostly => "a hash of a password takes more memory or passes than is sensible",
            Fault::Memory => "there is not enough memory for the hash of a password",
        }
    }
}

/// The cost of making a hash of a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

/// A stored hash may ask for no more.
const MEMORY_KIB_MAX: u32 = 1 << 20;
const PASSES_MAX: u32 = 1 << 10;
const SALT_BYTES: usize = 16;

/// The hash of a password with a random salt, by Argon2id, as a text that tells how it was made.
pub fn hash_password(password: &[u8], cost: Cost) -> Result<String, Fault> {
    if cost.memory_kib > MEMORY_KIB_MAX || cost.passes > PASSES_MAX {
        return Err(Fault::TooCostly);
    }
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, None)
        .map_err(|_| Fault::Parameters)?;
    let salt = random_bytes(SALT_BYTES).ok_or(Fault::NoRandomness)?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone())
        .hash_password_customized(password, &salt, None, None, params)
        .map(|hash| hash.to_string())
        .map_err(|_| Fault::Memory)
}

/// Whether a password is the one that a hash was made of.
pub fn password_matches(password: &[u8], hash: &str) -> Result<bool, Fault> {
    let hash = PasswordHash::new(hash).map_err(|_| Fault::NoHash)?;
    Algorithm::try_from(hash.algorithm.as_str()).map_err(|_| Fault::NoHash)?;
    let params = Params::try_from(&hash).map_err(|_| Fault::NoHash)?;
    if hash.hash.is_none() || hash.salt.is_none() {
        return Err(Fault::NoHash);
    }
    if params.m_cost() > MEMORY_KIB_MAX || params.t_cost() > PASSES_MAX {
        return Err(Fault::TooCostly);
    }
    Ok(Argon2::default().verify_password(password, &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_match_their_hashes_only() {
        let cost = Cost {
            memory_kib: 64,
            passes: 1,
            lanes: 1,
        };
        let hash = hash_password("pässword".as_bytes(), cost).expect("a hash");
        assert!(hash.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{hash}");
        assert_eq!(password_matches("pässword".as_bytes(), &hash), Ok(true));
        assert_eq!(password_matches(b"password", &hash), Ok(false));
        assert_ne!(hash_password(b"x", cost), hash_password(b"x", cost));
        for text in [
            "",
            "x",
            "$argon2id$v=19$m=64,t=1,p=1$",
            "$scrypt$ln=1$YWJjZGVmZ2g$YWJjZGVmZ2hpams",
        ] {
            assert_eq!(password_matches(b"x", text), Err(Fault::NoHash), "{text}");
        }
        let greedy = hash.replace("m=64", "m=4000000");
        assert_eq!(password_matches(b"x", &greedy), Err(Fault::TooCostly));
        let lanes = Cost { lanes: 100, ..cost };
        assert_eq!(hash_password(b"x", lanes), Err(Fault::Parameters));
    }
}
