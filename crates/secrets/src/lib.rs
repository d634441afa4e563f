//! What programs need to keep secrets: random bytes, digests, authentication codes and hashes of passwords.
//!
//! The cryptography is that of `ring` and `argon2`; here it gets the shape that Canny wants. Nothing in messages tells of a
//! secret, and what is compared with a secret is compared in constant time.

#![forbid(unsafe_code)]

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{CustomizedPasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

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
    /// What people are told.
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

/// Fills memory with bytes that nobody can guess.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), Fault> {
    SystemRandom::new()
        .fill(bytes)
        .map_err(|_| Fault::NoRandomness)
}

/// A way to make digests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Digest {
    Sha256,
    Sha384,
    Sha512,
    /// No protection any more; protocols ask for it.
    Sha1,
}

/// The digest of some bytes.
pub fn digest_of(algorithm: Digest, bytes: &[u8]) -> Vec<u8> {
    let algorithm = match algorithm {
        Digest::Sha256 => &digest::SHA256,
        Digest::Sha384 => &digest::SHA384,
        Digest::Sha512 => &digest::SHA512,
        Digest::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
    };
    digest::digest(algorithm, bytes).as_ref().to_vec()
}

/// The authentication code of some bytes, HMAC with SHA-256.
pub fn authentication_code(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, bytes).as_ref().to_vec()
}

/// Whether a code is that of some bytes; how long this takes does not tell how much of it is right.
pub fn is_authentic(key: &[u8], bytes: &[u8], code: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::verify(&key, bytes, code).is_ok()
}

/// Whether two texts are the same. How long this takes tells nothing of them; their codes with a random key are compared.
pub fn are_same(left: &[u8], right: &[u8]) -> Result<bool, Fault> {
    let mut key = [0; 32];
    fill_random(&mut key)?;
    Ok(is_authentic(&key, left, &authentication_code(&key, right)))
}

/// What making a hash of a password costs.
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
    let mut salt = [0; SALT_BYTES];
    fill_random(&mut salt)?;
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

    fn hexadecimal(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn codes_and_digests_are_those_of_the_standards() {
        // RFC 4231, case 2.
        let code = authentication_code(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(
            hexadecimal(&code),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert!(is_authentic(
            b"Jefe",
            b"what do ya want for nothing?",
            &code
        ));
        assert!(!is_authentic(
            b"Jefe",
            b"what do ya want for nothing?",
            &code[1..]
        ));
        assert!(!is_authentic(
            b"Jeff",
            b"what do ya want for nothing?",
            &code
        ));
        assert_eq!(
            hexadecimal(&digest_of(Digest::Sha256, b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(are_same(b"a", b"a"), Ok(true));
        assert_eq!(are_same(b"a", b"ab"), Ok(false));
    }

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
