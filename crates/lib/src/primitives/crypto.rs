//! Primitives of `(canny crypto)`: digests, authentication codes, keys, random bytes and password
//! hashes.
//!
//! The algorithms are in `canny_secrets`; arguments are copied before the work begins. Long inputs
//! are worked on outside of the heap, and very long or costly ones by another thread that can be
//! interrupted.

use std::num::NonZeroU32;

use canny_secrets::codes::{self, Algorithm};
use canny_secrets::passwords::{Cost, Fault, hash_password, password_matches};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, Effort, implementations};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%digest" => digest;
    "%hmac" => hmac;
    "%pbkdf2" => pbkdf2;
    "%random-bytes" => random_bytes;
    "%timing-safe=?" => |thread, call: Call| {
        let (first, second) = (bytes(thread, call, 0)?, bytes(thread, call, 1)?);
        match codes::are_equal(&first, &second) {
            Some(are_equal) => Ok(Value::boolean(are_equal)),
            None => Err(failed(thread, call, Fault::NoRandomness)),
        }
    };
    "%hash-password" => hash;
    "%password-matches?" => matches;
};

/// Longer input is processed outside of the heap, so that collections do not wait for it.
const LONG: usize = 1 << 14;
/// Longer input is offloaded, so that it can be interrupted.
const VERY_LONG: usize = 1 << 24;
/// So many passes over memory, in KiB, or so many iterations take a tenth of a second and more.
const COSTLY: u64 = 1 << 17;

/// The effort of one pass over so many bytes.
fn effort_of_bytes(length: usize) -> Effort {
    match length {
        ..LONG => Effort::Short,
        LONG..VERY_LONG => Effort::Blocking,
        _ => Effort::Offloaded,
    }
}

/// More random bytes at once are certainly a mistake.
const RANDOM_MAX: usize = 1 << 24;

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
    let effort = effort_of_bytes(bytes.len());
    let digest = call.compute(thread, effort, move || codes::digest(algorithm, &bytes))?;
    thread.bytevector(&digest)
}

fn hmac(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let algorithm = algorithm(thread, call, true)?;
    let key = bytes(thread, call, 1)?;
    let bytes = bytes(thread, call, 2)?;
    let effort = effort_of_bytes(bytes.len());
    let work = move || codes::hmac(algorithm, &key, &bytes);
    let code = call.compute(thread, effort, work)?;
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
    let work = move || codes::pbkdf2(algorithm, &password, &salt, iterations, length);
    let effort = Effort::Blocking.or_offloaded(u64::from(iterations.get()) >= COSTLY);
    let key = call.compute(thread, effort, work)?;
    thread.bytevector(&key.unwrap_or_default())
}

fn random_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index_up_to(thread, 0, RANDOM_MAX)?;
    match codes::random_bytes(count) {
        Some(bytes) => thread.bytevector(&bytes),
        None => {
            let message = "the system has no random bytes";
            Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)))
        }
    }
}

/// The bytes of a bytevector, or of a string in UTF-8.
fn text_bytes(thread: &mut Thread, call: Call, position: usize) -> Result<Vec<u8>, Raise> {
    let argument = call.at(position);
    if let Some(string) = argument.as_kind(Kind::String) {
        return Ok(with_units(string, |units| units.to_text()).into_bytes());
    }
    match argument.as_kind(Kind::Bytevector) {
        Some(bytes) => Ok(bytes.with_bytes(<[u8]>::to_vec)),
        None => Err(call.type_error(thread, position, "string or bytevector")),
    }
}

fn failed(thread: &mut Thread, call: Call, fault: Fault) -> Raise {
    thread.raise(ConditionKind::Range, fault.message(), &[], Some(call.who))
}

fn hash(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let password = text_bytes(thread, call, 0)?;
    let mut number = |position| -> Result<u32, Raise> {
        Ok(u32::try_from(call.index(thread, position)?).unwrap_or(u32::MAX))
    };
    let cost = Cost {
        memory_kib: number(1)?,
        passes: number(2)?,
        lanes: number(3)?,
    };
    let is_costly = u64::from(cost.memory_kib) * u64::from(cost.passes) >= COSTLY;
    let work = move || hash_password(&password, cost);
    match call.compute(thread, Effort::Blocking.or_offloaded(is_costly), work)? {
        Ok(text) => thread.string_from_latin1(text.as_bytes()),
        Err(fault) => Err(failed(thread, call, fault)),
    }
}

fn matches(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let password = text_bytes(thread, call, 0)?;
    let hash = call.string(thread, 1)?;
    let hash = with_units(hash, |units| units.to_text());
    match thread.block_outside_heap(|| password_matches(&password, &hash)) {
        Ok(matches) => Ok(Value::boolean(matches)),
        Err(fault) => Err(failed(thread, call, fault)),
    }
}
