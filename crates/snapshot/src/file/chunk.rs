//! Chunks: a header with a checksum, and bytes that may be compressed.
//!
//! Lengths are checked before memory is reserved for them.

use std::io::Cursor;

use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, FrameCompressor};
use twox_hash::XxHash64;

use super::error::Error;
use super::matcher::BlockMatcher;

pub const SIGNATURE: [u8; 8] = *b"\x89CHEAP\r\n";
pub const HEADER_BYTES: usize = 24;
/// Unpacked bytes of a chunk.
pub const CHUNK_BYTES_MAX: usize = 16 << 20;
/// Less than this is not worth compressing.
const PACK_MIN: usize = 64;

const STORED: u32 = 0;
const ZSTANDARD: u32 = 1;

pub type Tag = [u8; 4];
pub const INFO: Tag = *b"INFO";
pub const TYPE: Tag = *b"TYPE";
pub const NODE: Tag = *b"NODE";
pub const TEXT: Tag = *b"TEXT";
pub const FACT: Tag = *b"FACT";
pub const WEAK: Tag = *b"WEAK";
pub const ADDR: Tag = *b"ADDR";
pub const MOVE: Tag = *b"MOVE";
pub const SAME: Tag = *b"SAME";
pub const SNAP: Tag = *b"SNAP";
pub const TAIL: Tag = *b"TAIL";

/// The part of a chunk before its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub tag: Tag,
    method: u32,
    pub stored_length: u32,
    pub length: u32,
    /// The first node that the chunk is about.
    pub first: u32,
    checksum: u32,
}

fn checksum(start: &[u8], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(start);
    hasher.update(stored);
    hasher.finalize()
}

impl Header {
    fn start(&self) -> [u8; HEADER_BYTES - 4] {
        let mut bytes = [0; HEADER_BYTES - 4];
        bytes[..4].copy_from_slice(&self.tag);
        let fields = [self.method, self.stored_length, self.length, self.first];
        for (index, field) in fields.into_iter().enumerate() {
            bytes[4 + 4 * index..][..4].copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..HEADER_BYTES - 4].copy_from_slice(&self.start());
        bytes[HEADER_BYTES - 4..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub fn read(bytes: &[u8; HEADER_BYTES], offset: u64) -> Result<Header, Error> {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let header = Header {
            tag: [bytes[0], bytes[1], bytes[2], bytes[3]],
            method: word(4),
            stored_length: word(8),
            length: word(12),
            first: word(16),
            checksum: word(20),
        };
        let is_length_right = match header.method {
            STORED => header.stored_length == header.length,
            ZSTANDARD => header.stored_length as usize <= CHUNK_BYTES_MAX + (1 << 16),
            _ => return Err(Error::damaged(offset, "an unknown compression")),
        };
        if !is_length_right || header.length as usize > CHUNK_BYTES_MAX {
            return Err(Error::damaged(offset, "a chunk of an impossible length"));
        }
        Ok(header)
    }

    /// Checks the stored bytes and unpacks them.
    pub fn unpack(&self, stored: &[u8], offset: u64) -> Result<Vec<u8>, Error> {
        if checksum(&self.start(), stored) != self.checksum {
            return Err(Error::damaged(offset, "a checksum is wrong"));
        }
        if self.method == STORED {
            return Ok(stored.to_vec());
        }
        let mut bytes = vec![0; self.length as usize];
        let mut decoder = FrameDecoder::new();
        let length = decoder
            .decode_all(stored, &mut bytes)
            .map_err(|error| Error::damaged(offset, format!("Zstandard: {error}")))?;
        if length != bytes.len() {
            return Err(Error::damaged(offset, "a chunk of another length"));
        }
        Ok(bytes)
    }
}

/// The hash by which equal chunks are found.
pub fn content_hash(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// Makes chunks; it keeps the tables of the compressor.
pub struct Packer {
    compressor: FrameCompressor<Cursor<Vec<u8>>, Vec<u8>, BlockMatcher>,
}

impl Packer {
    pub fn new() -> Packer {
        let matcher = BlockMatcher::new();
        Packer {
            compressor: FrameCompressor::new_with_matcher(matcher, CompressionLevel::Fastest),
        }
    }

    /// A chunk with its header. `bytes` are empty afterwards, with the room that they had.
    pub fn chunk(&mut self, tag: Tag, first: u32, bytes: &mut Vec<u8>) -> Vec<u8> {
        let mut header = Header {
            tag,
            method: STORED,
            stored_length: bytes.len() as u32,
            length: bytes.len() as u32,
            first,
            checksum: 0,
        };
        let mut chunk = Vec::with_capacity(HEADER_BYTES + bytes.len() / 2);
        chunk.resize(HEADER_BYTES, 0);
        if bytes.len() >= PACK_MIN {
            self.compressor
                .set_source(Cursor::new(std::mem::take(bytes)));
            self.compressor.set_drain(chunk);
            self.compressor.compress();
            chunk = self.compressor.take_drain().unwrap_or_default();
            *bytes = match self.compressor.take_source() {
                Some(source) => source.into_inner(),
                None => Vec::new(),
            };
        }
        if chunk.len() > HEADER_BYTES && chunk.len() < HEADER_BYTES + bytes.len() {
            header.method = ZSTANDARD;
            header.stored_length = (chunk.len() - HEADER_BYTES) as u32;
        } else {
            chunk.truncate(HEADER_BYTES);
            chunk.extend_from_slice(bytes);
        }
        header.checksum = checksum(&header.start(), &chunk[HEADER_BYTES..]);
        chunk[..HEADER_BYTES].copy_from_slice(&header.bytes());
        bytes.clear();
        chunk
    }
}
