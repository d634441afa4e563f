//! Primitives of `(canny base64)`: between bytevectors and texts in base 64 and base 16.
//!
//! The codec is in `canny_formats`. This module checks arguments, and converts in pieces without a
//! copy of the whole. Errors give the index of the character that is wrong.

use canny_formats::base64::{
    Alphabet, Fault, Padding, decode_hex, decode_pieces, decoded_length, encode_hex, encode_into,
    encoded_length,
};
use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_ASCII;
use canny_tables::protocols;
use canny_value::Value;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::text::{Units, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%base64-encode" => encode_row;
    "%base64-decode" => decode_row;
    "%hex-encode" => encode_hex_row;
    "%hex-decode" => decode_hex_row;
};

fn alphabet(call: Call, position: usize) -> Alphabet {
    if call.at(position).is_true() {
        Alphabet::UrlSafe
    } else {
        Alphabet::Standard
    }
}

/// A text that takes some milliseconds to be made.
const LONG: usize = 1 << 22;

/// Bytes that are encoded at once, a multiple of three.
const PIECE: usize = 3 * 1024;

fn encode_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    let (alphabet, padded) = (alphabet(call, 1), call.at(2).is_true());
    let length = encoded_length(bytes.length(), padded);
    if length >= LONG {
        let bytes = bytes.with_bytes(<[u8]>::to_vec);
        let text = call.compute_offloaded(thread, move || {
            let mut text = vec![0; length];
            encode_into(&bytes, alphabet, padded, &mut text);
            text
        })?;
        return thread.string_from_latin1(&text);
    }
    let data = thread.try_leaf_to_fill(Kind::String8, FLAG_ASCII, length)?;
    if let Some(text) = data.as_object() {
        bytes.with_bytes(|bytes| {
            let mut buffer = [0; 4 * (PIECE / 3)];
            for (index, piece) in bytes.chunks(PIECE).enumerate() {
                let place = &mut buffer[..encoded_length(piece.len(), padded)];
                encode_into(piece, alphabet, padded, place);
                text.copy_bytes_in(index * 4 * (PIECE / 3), place);
            }
        });
    }
    Ok(thread.string_of_data(data, length, 0))
}

/// A character that is in no alphabet.
const OUTSIDE: u8 = 0x80;

/// Runs `work` on the characters of argument 0, where what is not Latin-1 is some other character that
/// is wrong too, so that indexes count characters. Nothing may be allocated meanwhile.
fn with_characters<R>(
    thread: &mut Thread,
    call: Call,
    work: impl FnOnce(&[u8]) -> R,
) -> Result<R, Raise> {
    let string = call.string(thread, 0)?;
    Ok(with_units(string, |units| match units {
        Units::Narrow(bytes) => work(bytes),
        Units::Wide(units) => {
            let narrow = units
                .iter()
                .map(|&unit| u8::try_from(unit).unwrap_or(OUTSIDE));
            work(&narrow.collect::<Vec<u8>>())
        }
    }))
}

fn decode_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let padding = match call.case(thread, 2)? {
        protocols::Padding::Required => Padding::Required,
        protocols::Padding::Optional => Padding::Optional,
        protocols::Padding::Refused => Padding::Refused,
    };
    let (alphabet, skips_space) = (alphabet(call, 1), call.at(3).is_true());
    let length = with_characters(thread, call, |text| decoded_length(text, skips_space))?;
    let bytes = thread.try_leaf_to_fill(Kind::Bytevector, 0, length)?;
    let decoded = with_characters(thread, call, |text| {
        let mut at = 0;
        decode_pieces(text, alphabet, padding, skips_space, |piece| {
            // A text that turns out to be wrong may have more of them.
            let fits = &piece[..piece.len().min(length - at)];
            if let Some(bytes) = bytes.as_object() {
                bytes.copy_bytes_in(at, fits);
            }
            at += fits.len();
        })
    })?;
    match decoded {
        Ok(()) => Ok(bytes),
        Err(fault) => Err(wrong(thread, call, fault)),
    }
}

fn encode_hex_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    let upper = call.at(1).is_true();
    let text = bytes.with_bytes(|bytes| encode_hex(bytes, upper));
    thread.string_from_latin1(&text)
}

fn decode_hex_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let skips_space = call.at(1).is_true();
    match with_characters(thread, call, |text| decode_hex(text, skips_space))? {
        Ok(bytes) => thread.bytevector(&bytes),
        Err(fault) => Err(wrong(thread, call, fault)),
    }
}

fn wrong(thread: &mut Thread, call: Call, Fault { index, message }: Fault) -> Raise {
    let message = format!("{message}, at index");
    let irritants = [Value::fixnum(index as i64)];
    thread.raise(ConditionKind::Range, &message, &irritants, Some(call.who))
}
