//! Digests, authentication codes, keys and random bytes.

use std::num::NonZeroU32;

use canny_crypto::Algorithm;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%digest" => digest;
    "%hmac" => hmac;
    "%pbkdf2" => pbkdf2;
    "%random-bytes" => random_bytes;
    "%timing-safe=?" => |thread, call: Call| {
        let (first, second) = (bytes(thread, call, 0)?, bytes(thread, call, 1)?);
        Ok(Value::boolean(canny_crypto::are_equal(&first, &second)))
    };
};

/// What is longer is not worked on while others wait for a collection.
const LONG: usize = 1 << 14;

fn bytes(thread: &mut Thread, call: Call, position: usize) -> Result<Vec<u8>, Raise> {
    let bytes = call.bytevector(thread, position)?;
    Ok(bytes.with_bytes(<[u8]>::to_vec))
}

fn algorithm(thread: &mut Thread, call: Call, is_for_keys: bool) -> Result<Algorithm, Raise> {
    let name = symbol_name(call.symbol(thread, 0)?.value()).unwrap_or_default();
    let found = Algorithm::named(&name);
    match found.filter(|&algorithm| !is_for_keys || algorithm != Algorithm::Md5) {
        Some(algorithm) => Ok(algorithm),
        None if is_for_keys => {
            Err(call.range_error(thread, 0, "one of sha-1, sha-256, sha-384 and sha-512"))
        }
        None => Err(call.range_error(thread, 0, "one of md5, sha-1, sha-256, sha-384 and sha-512")),
    }
}

fn digest(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let algorithm = algorithm(thread, call, false)?;
    let bytes = bytes(thread, call, 1)?;
    let digest = if bytes.len() < LONG {
        canny_crypto::digest(algorithm, &bytes)
    } else {
        thread.block_outside_heap(|| canny_crypto::digest(algorithm, &bytes))
    };
    thread.bytevector(&digest)
}

fn hmac(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let algorithm = algorithm(thread, call, true)?;
    let key = bytes(thread, call, 1)?;
    let bytes = bytes(thread, call, 2)?;
    let code = if bytes.len() < LONG {
        canny_crypto::hmac(algorithm, &key, &bytes)
    } else {
        thread.block_outside_heap(|| canny_crypto::hmac(algorithm, &key, &bytes))
    };
    thread.bytevector(&code.unwrap_or_default())
}

fn pbkdf2(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let algorithm = algorithm(thread, call, true)?;
    let password = bytes(thread, call, 1)?;
    let salt = bytes(thread, call, 2)?;
    let iterations = u32::try_from(call.index(thread, 3)?).ok();
    let Some(iterations) = iterations.and_then(NonZeroU32::new) else {
        return Err(call.range_error(thread, 3, "from 1 to 4294967295"));
    };
    let length = call.index(thread, 4)?;
    if length > 1 << 16 {
        return Err(call.range_error(thread, 4, "at most 65536"));
    }
    let key = thread.block_outside_heap(|| {
        canny_crypto::pbkdf2(algorithm, &password, &salt, iterations, length)
    });
    thread.bytevector(&key.unwrap_or_default())
}

fn random_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index(thread, 0)?;
    if count > thread.vm().heap().limit_bytes() {
        return Err(call.range_error(thread, 0, "a number of bytes that the heap can hold"));
    }
    match canny_crypto::random_bytes(count) {
        Some(bytes) => thread.bytevector(&bytes),
        None => {
            let message = "the system has no random bytes";
            Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)))
        }
    }
}
