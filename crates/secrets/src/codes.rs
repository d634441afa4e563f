//! Digests, message authentication, keys derived from passwords, random bytes, and comparison whose
//! time tells nothing.
//!
//! Nothing here is implemented by us: `ring`, which TLS brings along, has all of it but MD5. SHA-1 and
//! MD5 are for formats and protocols that ask for them; they protect nobody, and there are neither
//! message authentication nor keys by MD5.

use std::num::NonZeroU32;

use md5::{Digest, Md5};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// A digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// The algorithm of a name in lower case.
    pub fn named(name: &str) -> Option<Algorithm> {
        Some(match name {
            "md5" => Algorithm::Md5,
            "sha-1" => Algorithm::Sha1,
            "sha-256" => Algorithm::Sha256,
            "sha-384" => Algorithm::Sha384,
            "sha-512" => Algorithm::Sha512,
            _ => return None,
        })
    }

    fn of_hmac(self) -> Option<hmac::Algorithm> {
        Some(match self {
            Algorithm::Md5 => return None,
            Algorithm::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Algorithm::Sha256 => hmac::HMAC_SHA256,
            Algorithm::Sha384 => hmac::HMAC_SHA384,
            Algorithm::Sha512 => hmac::HMAC_SHA512,
        })
    }

    fn of_pbkdf2(self) -> Option<pbkdf2::Algorithm> {
        Some(match self {
            Algorithm::Md5 => return None,
            Algorithm::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
            Algorithm::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Algorithm::Sha384 => pbkdf2::PBKDF2_HMAC_SHA384,
            Algorithm::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        })
    }
}

/// The digest of some bytes.
pub fn digest(algorithm: Algorithm, bytes: &[u8]) -> Vec<u8> {
    let algorithm = match algorithm {
        Algorithm::Md5 => return Md5::digest(bytes).to_vec(),
        Algorithm::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        Algorithm::Sha256 => &digest::SHA256,
        Algorithm::Sha384 => &digest::SHA384,
        Algorithm::Sha512 => &digest::SHA512,
    };
    digest::digest(algorithm, bytes).as_ref().to_vec()
}

/// The code that who has the key makes for some bytes; `None` for MD5.
pub fn hmac(algorithm: Algorithm, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let key = hmac::Key::new(algorithm.of_hmac()?, key);
    Some(hmac::sign(&key, bytes).as_ref().to_vec())
}

/// A key of so many bytes out of a password; `None` for MD5.
pub fn pbkdf2(
    algorithm: Algorithm,
    password: &[u8],
    salt: &[u8],
    iterations: NonZeroU32,
    length: usize,
) -> Option<Vec<u8>> {
    let mut key = vec![0; length];
    pbkdf2::derive(algorithm.of_pbkdf2()?, iterations, salt, password, &mut key);
    Some(key)
}

/// Bytes that nobody can foresee; `None` if the system has none.
pub fn random_bytes(count: usize) -> Option<Vec<u8>> {
    canny_replay::ask(canny_replay::Kind::Random, || {
        let mut bytes = vec![0; count];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(bytes)
    })
}

/// Whether bytes are the same, or nothing without randomness. How long this takes tells nothing of
/// them: their codes with a random key are compared.
pub fn are_equal(a: &[u8], b: &[u8]) -> Option<bool> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &random_bytes(32)?);
    Some(hmac::verify(&key, a, hmac::sign(&key, b).as_ref()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_of_the_standards() {
        assert_eq!(
            hex(&digest(Algorithm::Md5, b"abc")),
            "900150983cd24fb0d6963f7d28e17f72"
        );
        assert_eq!(
            hex(&digest(Algorithm::Sha1, b"abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        assert_eq!(
            hex(&digest(Algorithm::Sha256, b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn codes_and_keys_are_those_of_the_standards() {
        let code = hmac(Algorithm::Sha256, b"Jefe", b"what do ya want for nothing?").unwrap();
        assert_eq!(
            hex(&code),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let key = pbkdf2(
            Algorithm::Sha256,
            b"password",
            b"salt",
            NonZeroU32::new(2).unwrap(),
            32,
        );
        assert_eq!(
            hex(&key.unwrap()),
            "ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43"
        );
        assert_eq!(hmac(Algorithm::Md5, b"", b""), None);
    }

    #[test]
    fn comparison_looks_at_everything() {
        assert_eq!(are_equal(b"abc", b"abc"), Some(true));
        assert_eq!(are_equal(b"abc", b"abd"), Some(false));
        assert_eq!(are_equal(b"abc", b"ab"), Some(false));
        assert_eq!(are_equal(b"", b""), Some(true));
    }
}
