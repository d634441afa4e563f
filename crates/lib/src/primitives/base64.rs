//! Bytes as text in base 64 and base 16.

use canny_formats::base64::{Alphabet, Fault, Padding, decode, decode_hex, encode, encode_hex};
use canny_value::Value;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};

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

fn encode_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    let (alphabet, padded) = (alphabet(call, 1), call.at(2).is_true());
    let text = bytes.with_bytes(|bytes| encode(bytes, alphabet, padded));
    thread.string_from_latin1(&text)
}

fn decode_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let text = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let padding = match call.index(thread, 2)? {
        0 => Padding::Required,
        1 => Padding::Optional,
        _ => Padding::Refused,
    };
    let decoded = decode(
        text.as_bytes(),
        alphabet(call, 1),
        padding,
        call.at(3).is_true(),
    );
    bytevector(thread, call, &text, decoded)
}

fn encode_hex_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?;
    let upper = call.at(1).is_true();
    let text = bytes.with_bytes(|bytes| encode_hex(bytes, upper));
    thread.string_from_latin1(&text)
}

fn decode_hex_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let text = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let decoded = decode_hex(text.as_bytes(), call.at(1).is_true());
    bytevector(thread, call, &text, decoded)
}

fn bytevector(
    thread: &mut Thread,
    call: Call,
    text: &str,
    decoded: Result<Vec<u8>, Fault>,
) -> Result<Value, Raise> {
    match decoded {
        Ok(bytes) => thread.bytevector(&bytes),
        Err(Fault { index, message }) => {
            // The index counts bytes; what stands before a character that is wrong may be anything.
            let index = text
                .get(..index)
                .map_or(index, |before| before.chars().count());
            let message = format!("{message}, at index");
            let irritants = [Value::fixnum(index as i64)];
            Err(thread.raise(ConditionKind::Range, &message, &irritants, Some(call.who)))
        }
    }
}
