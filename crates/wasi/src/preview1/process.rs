//! Arguments, environment, random bytes, the end of the guest.

use super::Row;
use super::call::{Call, Stop, Way};
use super::errno::Errno;

pub const ROWS: &[Row] = &[
    ("args_get", "ii", |call| {
        let texts = std::mem::take(&mut call.state.arguments);
        let done = give(call, &texts);
        call.state.arguments = texts;
        done
    }),
    ("args_sizes_get", "ii", |call| {
        let sizes = sizes(&call.state.arguments);
        give_sizes(call, sizes)
    }),
    ("environ_get", "ii", |call| {
        let texts = std::mem::take(&mut call.state.environment);
        let done = give(call, &texts);
        call.state.environment = texts;
        done
    }),
    ("environ_sizes_get", "ii", |call| {
        let sizes = sizes(&call.state.environment);
        give_sizes(call, sizes)
    }),
    ("random_get", "ii", |call| {
        let (address, length) = (call.number(0), call.number(1));
        let mut done = 0;
        loop {
            // There is no such place if the end is beyond all addresses.
            let start = address.checked_add(done).ok_or(Errno::FAULT)?;
            let count = call.transfer((start, length - done), Way::In, |bytes| {
                rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty())
            })??;
            done += count as u32;
            if done == length {
                return Ok(());
            }
        }
    }),
    ("proc_exit", "i", |call| Err(Stop::Exit(call.number(0)))),
    ("proc_raise", "i", |_| Err(Errno::NOT_SUPPORTED.into())),
    ("sched_yield", "", |_| Ok(())),
];

fn sizes(texts: &[Vec<u8>]) -> (u32, u32) {
    let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
    (texts.len() as u32, bytes as u32)
}

fn give_sizes(call: &mut Call<'_>, (count, bytes): (u32, u32)) -> Result<(), Stop> {
    call.write32(call.number(0), count)?;
    call.write32(call.number(1), bytes)?;
    Ok(())
}

/// Writes texts that end with zero bytes, and the list of their addresses.
fn give(call: &mut Call<'_>, texts: &[Vec<u8>]) -> Result<(), Stop> {
    let (mut list, mut address) = (call.number(0), call.number(1));
    for text in texts {
        call.write32(list, address)?;
        let length = text.len() as u32;
        call.write_bytes(address, text)?;
        call.write(address.wrapping_add(length), [0])?;
        list = list.wrapping_add(4);
        address = address.wrapping_add(length + 1);
    }
    Ok(())
}
