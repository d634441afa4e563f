//! Vectors of bytes and of words as one piece of an encoding.
//!
//! The derived encoding goes through the elements one by one, which is most of the work of a start.
//! The functions are for `#[serde(with = …)]`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<u8>, D::Error> {
    source.deserialize_byte_buf(Bytes)
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

/// Words as four bytes each, the lowest first.
pub(crate) mod words {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        words: &[u32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<u32>, D::Error> {
        source.deserialize_byte_buf(Words)
    }

    struct Words;

    impl Visitor<'_> for Words {
        type Value = Vec<u32>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("words of four bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u32>, E> {
            let (words, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(E::invalid_length(bytes.len(), &self));
            }
            Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
        }
    }
}

/// Pairs of something and bytes.
pub(crate) mod pairs {
    use super::*;

    #[derive(Serialize)]
    struct Lent<'a, T>(&'a T, #[serde(with = "super")] &'a [u8]);

    #[derive(Deserialize)]
    struct Owned<T>(T, #[serde(with = "super")] Vec<u8>);

    pub(crate) fn serialize<S: Serializer, T: Serialize>(
        pairs: &[(T, Vec<u8>)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|(what, bytes)| Lent(what, bytes)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        source: D,
    ) -> Result<Vec<(T, Vec<u8>)>, D::Error> {
        let pairs = Vec::<Owned<T>>::deserialize(source)?;
        Ok(pairs.into_iter().map(|one| (one.0, one.1)).collect())
    }
}
