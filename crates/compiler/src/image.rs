//! Compiled libraries as bytes: the image of the standard library, and files of the user's cache.
//!
//! An image is a list of libraries, each with its key, its interface and its unit encoded on their own,
//! so that a start decodes only what it uses. The list comes first, with the lengths of what follows,
//! so that looking a library up touches no page of another one. Bytes from a cache are not trusted:
//! they carry a checksum, decoding gives an error for anything odd, and the unit goes through the
//! verifier.

use canny_syntax::interface::Interface;
use serde::{Deserialize, Serialize};

use crate::unit::CompiledUnit;
use crate::verifier;

/// One library of an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageEntry<'a> {
    /// The library's key.
    pub key: &'a str,
    /// Encoded [`Interface`].
    pub interface: &'a [u8],
    /// Encoded [`CompiledUnit`].
    pub unit: &'a [u8],
}

/// The entry of a library in an image's list.
#[derive(Serialize, Deserialize)]
struct Listed<'a> {
    key: &'a str,
    interface_bytes: usize,
    unit_bytes: usize,
}

/// Why bytes are not the encoding of a library.
#[derive(Debug)]
pub enum ImageError {
    /// Not decodable.
    Malformed,
    /// The checksum differs.
    Checksum,
    /// Decodable, but the code breaks a rule of the machine.
    Unverified(String),
}

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ImageError::Malformed => f.write_str("malformed compiled library"),
            ImageError::Checksum => f.write_str("compiled library with a wrong checksum"),
            ImageError::Unverified(what) => write!(f, "compiled library with invalid code: {what}"),
        }
    }
}

impl std::error::Error for ImageError {}

/// Encodes an interface.
pub fn encode_interface(interface: &Interface) -> Result<Vec<u8>, ImageError> {
    postcard::to_stdvec(interface).map_err(|_| ImageError::Malformed)
}

/// Decodes an interface.
pub fn decode_interface(bytes: &[u8]) -> Result<Interface, ImageError> {
    postcard::from_bytes(bytes).map_err(|_| ImageError::Malformed)
}

/// Encodes a unit.
pub fn encode_unit(unit: &CompiledUnit) -> Result<Vec<u8>, ImageError> {
    postcard::to_stdvec(unit).map_err(|_| ImageError::Malformed)
}

/// Decodes a unit from bytes that this program was built with.
pub fn decode_trusted_unit(bytes: &[u8]) -> Result<CompiledUnit, ImageError> {
    postcard::from_bytes(bytes).map_err(|_| ImageError::Malformed)
}

/// Decodes a unit from bytes that anybody may have written.
pub fn decode_unit(bytes: &[u8]) -> Result<CompiledUnit, ImageError> {
    let unit = decode_trusted_unit(bytes)?;
    verifier::verify_unit(&unit).map_err(|error| ImageError::Unverified(error.to_string()))?;
    Ok(unit)
}

/// Encodes an image.
pub fn encode_image(entries: &[ImageEntry]) -> Result<Vec<u8>, ImageError> {
    let list: Vec<Listed> = entries
        .iter()
        .map(|entry| Listed {
            key: entry.key,
            interface_bytes: entry.interface.len(),
            unit_bytes: entry.unit.len(),
        })
        .collect();
    let mut image = postcard::to_stdvec(&list).map_err(|_| ImageError::Malformed)?;
    for entry in entries {
        image.extend_from_slice(entry.interface);
        image.extend_from_slice(entry.unit);
    }
    Ok(image)
}

/// Decodes an image's list of libraries.
pub fn decode_image(bytes: &[u8]) -> Result<Vec<ImageEntry<'_>>, ImageError> {
    let (list, mut rest): (Vec<Listed>, _) =
        postcard::take_from_bytes(bytes).map_err(|_| ImageError::Malformed)?;
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at_checked(count).ok_or(ImageError::Malformed)?;
        rest = after;
        Ok(taken)
    };
    list.into_iter()
        .map(|listed| {
            Ok(ImageEntry {
                key: listed.key,
                interface: take(listed.interface_bytes)?,
                unit: take(listed.unit_bytes)?,
            })
        })
        .collect()
}

/// Puts a checksum in front of bytes.
pub fn seal(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = checksum(bytes).to_le_bytes().to_vec();
    sealed.extend_from_slice(bytes);
    sealed
}

/// Checks and takes away the checksum.
pub fn unseal(sealed: &[u8]) -> Result<&[u8], ImageError> {
    let (sum, bytes) = sealed
        .split_first_chunk::<8>()
        .ok_or(ImageError::Malformed)?;
    if u64::from_le_bytes(*sum) == checksum(bytes) {
        Ok(bytes)
    } else {
        Err(ImageError::Checksum)
    }
}

/// FNV-1a over 64 bits: detects damage, not malice (the verifier is for that).
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Adds bytes to a digest, eight at a time: for much of which only a change is to be noticed.
pub fn digest(digest: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let length = (bytes.len() as u64).to_le_bytes();
    words
        .iter()
        .chain([&last, &length])
        .fold(digest, |hash, word| {
            let mixed = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 32
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_noticed() {
        let sealed = seal(b"some bytes");
        assert_eq!(unseal(&sealed).unwrap(), b"some bytes");
        for index in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[index] ^= 1;
            assert!(unseal(&damaged).is_err());
        }
        assert!(unseal(b"short").is_err());
    }

    #[test]
    fn images_round_trip() {
        let entries = [ImageEntry {
            key: "(a)",
            interface: &[1, 2],
            unit: &[3],
        }];
        let bytes = encode_image(&entries).unwrap();
        let decoded = decode_image(&bytes).unwrap();
        assert_eq!((decoded[0].key, decoded[0].unit), ("(a)", &[3u8][..]));
        assert!(decode_image(&bytes[..bytes.len() - 1]).is_err());
    }
}
