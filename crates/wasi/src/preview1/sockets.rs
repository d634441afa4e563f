//! Functions on sockets. Preview 1 has no way to make one: a guest has those that it was given, and
//! the connections that it accepts there.

use std::sync::Arc;

use canny_io::socket::Shutdown;

use super::Row;
use super::call::{Call, Stop, put_off, waiting};
use super::entries::{ALL_RIGHTS, Entry, NON_BLOCKING, What};
use super::errno::Errno;
use super::files::{read_stream, write_stream};

pub const ROWS: &[Row] = &[
    ("sock_accept", "iii", accept),
    ("sock_recv", "iiiiii", |call| {
        let places = call.places(call.number(1), call.number(2))?;
        let number = call.number(0);
        let entry = call.state.entries.get(number)?;
        let is_non_blocking = entry.flags & NON_BLOCKING != 0;
        let What::Connection { input, .. } = &entry.what else {
            return Err(Errno::NOT_SOCKET.into());
        };
        // Looking at bytes without taking them.
        if call.arguments[3] & 1 != 0 {
            return Err(Errno::NOT_SUPPORTED.into());
        }
        let input = Arc::clone(input);
        let count = read_stream(call, &input, &places, None, is_non_blocking)?;
        call.write32(call.number(4), count as u32)?;
        call.write(call.number(5), [0; 2])?;
        Ok(())
    }),
    ("sock_send", "iiiii", |call| {
        let places = call.places(call.number(1), call.number(2))?;
        let number = call.number(0);
        let entry = call.state.entries.get(number)?;
        let is_non_blocking = entry.flags & NON_BLOCKING != 0;
        let What::Connection { output, .. } = &entry.what else {
            return Err(Errno::NOT_SOCKET.into());
        };
        let output = Arc::clone(output);
        let count = write_stream(call, &output, &places, is_non_blocking)?;
        call.write32(call.number(4), count as u32)?;
        Ok(())
    }),
    ("sock_shutdown", "ii", |call| {
        let how = match call.number(1) {
            1 => Shutdown::Read,
            2 => Shutdown::Write,
            3 => Shutdown::Both,
            _ => return Err(Errno::INVALID.into()),
        };
        let number = call.number(0);
        match &call.state.entries.get(number)?.what {
            What::Connection { socket, .. } => {
                socket.shut_down(how).map_err(|error| Stop::from(&error))
            }
            _ => Err(Errno::NOT_SOCKET.into()),
        }
    }),
];

fn accept(call: &mut Call<'_>) -> Result<(), Stop> {
    let number = call.number(0);
    let flags = call.number(1) as u16;
    let entry = call.state.entries.get(number)?;
    let is_non_blocking = entry.flags & NON_BLOCKING != 0;
    let What::Listener(listener) = &entry.what else {
        return Err(Errno::NOT_SOCKET.into());
    };
    let socket = listener.accept(waiting(is_non_blocking));
    let socket = socket.map_err(|error| put_off(&error))?;
    let (input, output) = socket.handles().map_err(|error| Stop::from(&error))?;
    let entry = Entry {
        what: What::Connection {
            input,
            output,
            socket: Arc::new(socket),
        },
        flags,
        rights: ALL_RIGHTS,
        read_only: false,
    };
    let number = call.state.entries.add(entry)?;
    call.write32(call.number(2), number)?;
    Ok(())
}
