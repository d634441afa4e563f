//! Random bytes, digests, authentication codes and hashes of passwords.
//!
//! Hashing a password takes long by design, so it is done outside of the heap, with copies: nobody waits for it but the task that
//! asked.

use canny_secrets::{
    Cost, Digest, Fault, are_same, authentication_code, digest_of, fill_random, hash_password,
    is_authentic, password_matches,
};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%random-bytes" => random_bytes;
    "%digest" => digest;
    "%hmac" => hmac;
    "%hmac-valid?" => is_valid;
    "%secret=?" => same;
    "%hash-password" => hash;
    "%password-matches?" => matches;
};

/// The bytes of a bytevector, or of a string in UTF-8.
fn bytes(thread: &mut Thread, call: Call, position: usize) -> Result<Vec<u8>, Raise> {
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

fn random_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    const COUNT_MAX: usize = 1 << 20;
    let count = call.index_up_to(thread, 0, COUNT_MAX)?;
    let mut bytes = vec![0; count];
    match fill_random(&mut bytes) {
        Ok(()) => thread.bytevector(&bytes),
        Err(fault) => Err(failed(thread, call, fault)),
    }
}

fn digest(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let algorithm = match call.index_below(thread, 0, 4)? {
        0 => Digest::Sha256,
        1 => Digest::Sha384,
        2 => Digest::Sha512,
        _ => Digest::Sha1,
    };
    let bytes = bytes(thread, call, 1)?;
    thread.bytevector(&digest_of(algorithm, &bytes))
}

fn hmac(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (key, bytes) = (bytes(thread, call, 0)?, bytes(thread, call, 1)?);
    thread.bytevector(&authentication_code(&key, &bytes))
}

fn is_valid(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (key, text) = (bytes(thread, call, 0)?, bytes(thread, call, 1)?);
    let code = bytes(thread, call, 2)?;
    Ok(Value::boolean(is_authentic(&key, &text, &code)))
}

fn same(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (left, right) = (bytes(thread, call, 0)?, bytes(thread, call, 1)?);
    match are_same(&left, &right) {
        Ok(is_same) => Ok(Value::boolean(is_same)),
        Err(fault) => Err(failed(thread, call, fault)),
    }
}

fn hash(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let password = bytes(thread, call, 0)?;
    let mut number = |position| -> Result<u32, Raise> {
        Ok(u32::try_from(call.index(thread, position)?).unwrap_or(u32::MAX))
    };
    let cost = Cost {
        memory_kib: number(1)?,
        passes: number(2)?,
        lanes: number(3)?,
    };
    match thread.block_outside_heap(|| hash_password(&password, cost)) {
        Ok(text) => thread.string_from_latin1(text.as_bytes()),
        Err(fault) => Err(failed(thread, call, fault)),
    }
}

fn matches(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let password = bytes(thread, call, 0)?;
    let hash = call.string(thread, 1)?;
    let hash = with_units(hash, |units| units.to_text());
    match thread.block_outside_heap(|| password_matches(&password, &hash)) {
        Ok(matches) => Ok(Value::boolean(matches)),
        Err(fault) => Err(failed(thread, call, fault)),
    }
}
