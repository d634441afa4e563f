//! `wasi:random`. All bytes come from the generator of the system, those called insecure too.

use canny_component::Value;
use rustix::rand::{GetRandomFlags, getrandom};

use super::call::{Call, Outcome, Stop, trap};
use super::{Interface, Row};

pub const INTERFACES: &[Interface] = &[
    Interface {
        name: "wasi:random/random",
        functions: &[
            ("get-random-bytes", bytes),
            ("get-random-u64", |_| Ok(Some(Value::U64(number()?)))),
        ],
        resources: &[],
    },
    Interface {
        name: "wasi:random/insecure",
        functions: &[
            ("get-insecure-random-bytes", bytes),
            ("get-insecure-random-u64", |_| {
                Ok(Some(Value::U64(number()?)))
            }),
        ],
        resources: &[],
    },
    Interface {
        name: "wasi:random/insecure-seed",
        functions: SEED,
        resources: &[],
    },
];

const SEED: &[Row] = &[("insecure-seed", |_| {
    let seed = vec![Value::U64(number()?), Value::U64(number()?)];
    Ok(Some(Value::Record(seed)))
})];

/// Most random bytes of one call, which cannot give fewer than it is asked for.
const BYTES_MAX: u64 = 1 << 26;

fn fill(bytes: &mut [u8]) -> Result<(), Stop> {
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(trap(format!("there are no random bytes: {error}"))),
        }
    }
    Ok(())
}

fn number() -> Result<u64, Stop> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn bytes(call: &mut Call<'_>) -> Outcome {
    let length = call.wide(0)?;
    if length > BYTES_MAX {
        return Err(trap(format!(
            "{length} random bytes are more than one call can give ({BYTES_MAX})"
        )));
    }
    let mut bytes = vec![0; length as usize];
    fill(&mut bytes)?;
    Ok(Some(Value::Bytes(bytes)))
}
