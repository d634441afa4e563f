//! `wasi:io`.

use std::io::{Read, Write};

use canny_component::{Answer, Value};
use canny_io::Handle;

use super::{Guest, bytes, closed, lent, settings};

const READ: &str = "io/streams#[method]input-stream.read";
const BLOCKING_READ: &str = "io/streams#[method]input-stream.blocking-read";
const CHECK: &str = "io/streams#[method]output-stream.check-write";
const WRITE: &str = "io/streams#[method]output-stream.write";
const BLOCKING_WRITE: &str = "io/streams#[method]output-stream.blocking-write-and-flush";
const SUBSCRIBE_INPUT: &str = "io/streams#[method]input-stream.subscribe";
const SUBSCRIBE_OUTPUT: &str = "io/streams#[method]output-stream.subscribe";

/// A guest whose input and output are pipes, with the streams and the test's ends.
fn piped() -> (
    Guest,
    Value,
    Value,
    std::io::PipeWriter,
    std::io::PipeReader,
) {
    let (input, to_guest) = std::io::pipe().unwrap();
    let (from_guest, output) = std::io::pipe().unwrap();
    let mut guest = Guest::with_streams([
        Some(Handle::from_descriptor(input, "input")),
        Some(Handle::from_descriptor(output, "output")),
        None,
    ]);
    let stdin = guest.get("cli/stdin#get-stdin", &[]);
    let stdout = guest.get("cli/stdout#get-stdout", &[]);
    (guest, stdin, stdout, to_guest, from_guest)
}

#[test]
fn reads_give_what_is_there() {
    let (mut guest, stdin, _, mut to_guest, _keep) = piped();
    let huge = [lent(&stdin), Value::U64(u64::MAX)];
    assert_eq!(guest.ok(READ, &huge), bytes(""));
    assert!(matches!(guest.once(BLOCKING_READ, &huge), Ok(Answer::Wait)));
    let pollable = guest.get(SUBSCRIBE_INPUT, &[lent(&stdin)]);
    assert!(!guest.is_ready(&pollable));
    to_guest.write_all(b"hello").unwrap();
    guest.block(&pollable);
    assert_eq!(
        guest.ok(BLOCKING_READ, &[lent(&stdin), Value::U64(2)]),
        bytes("he")
    );
    let skipped = guest.ok(
        "io/streams#[method]input-stream.skip",
        &[lent(&stdin), Value::U64(2)],
    );
    assert_eq!(skipped, Value::U64(2));
    assert_eq!(guest.ok(READ, &[lent(&stdin), Value::U64(0)]), bytes(""));
    assert_eq!(guest.ok(READ, &huge), bytes("o"));
    drop(to_guest);
    assert_eq!(guest.error(BLOCKING_READ, &huge), closed());
    assert_eq!(guest.error(READ, &huge), closed());
    assert!(guest.is_ready(&pollable));
    guest.drop("io/streams#input-stream", &stdin).unwrap();
    assert!(guest.is_ready(&pollable));
}

#[test]
fn a_wait_ends_when_another_thread_writes() {
    let (mut guest, stdin, _, mut to_guest, _keep) = piped();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        to_guest.write_all(b"late").unwrap();
    });
    let read = guest.ok(BLOCKING_READ, &[lent(&stdin), Value::U64(10)]);
    assert_eq!(read, bytes("late"));
    thread.join().unwrap();
}

#[test]
fn channels_are_ready_when_something_was_written() {
    let channel = Handle::channel("input");
    let mut guest = Guest::with_streams([Some(channel.clone()), None, None]);
    let stdin = guest.get("cli/stdin#get-stdin", &[]);
    let pollable = guest.get(SUBSCRIBE_INPUT, &[lent(&stdin)]);
    assert!(!guest.is_ready(&pollable));
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        channel.feed_channel(b"bytes").unwrap();
        channel.end_input();
    });
    guest.block(&pollable);
    guest.drop("io/streams#input-stream", &stdin).unwrap();
    // Another stream on the same input has the bytes that were looked at.
    let stdin = guest.get("cli/stdin#get-stdin", &[]);
    let most = [lent(&stdin), Value::U64(3)];
    assert_eq!(guest.ok(READ, &most), bytes("byt"));
    assert_eq!(guest.ok(READ, &most), bytes("es"));
    thread.join().unwrap();
    assert_eq!(guest.error(BLOCKING_READ, &most), closed());
}

#[test]
fn a_full_pipe_allows_no_bytes_and_loses_none() {
    let (mut guest, _, stdout, _keep, mut from_guest) = piped();
    let pollable = guest.get(SUBSCRIBE_OUTPUT, &[lent(&stdout)]);
    let mut written = 0;
    loop {
        let Value::U64(allowed) = guest.ok(CHECK, &[lent(&stdout)]) else {
            panic!("a number");
        };
        assert_eq!(guest.is_ready(&pollable), allowed > 0);
        if allowed == 0 {
            break;
        }
        let part = bytes(vec![7; allowed as usize]);
        guest.done(WRITE, &[lent(&stdout), part]);
        written += allowed as usize;
        assert!(written < 1 << 22);
    }
    assert!(
        guest
            .trap(WRITE, &[lent(&stdout), bytes("x")])
            .contains("allowed 0")
    );
    let last = [lent(&stdout), bytes("last")];
    for _ in 0..2 {
        assert!(matches!(
            guest.once(BLOCKING_WRITE, &last),
            Ok(Answer::Wait)
        ));
    }
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        from_guest.read_to_end(&mut all).unwrap();
        all
    });
    guest.done(BLOCKING_WRITE, &last);
    // A stream that is dropped before its bytes are taken loses nothing.
    let zeroes = guest.ok(CHECK, &[lent(&stdout)]);
    let zeroes = match zeroes {
        Value::U64(0) => {
            guest.block(&pollable);
            guest.ok(CHECK, &[lent(&stdout)])
        }
        zeroes => zeroes,
    };
    guest.done(
        "io/streams#[method]output-stream.write-zeroes",
        &[lent(&stdout), zeroes.clone()],
    );
    guest.drop("io/streams#output-stream", &stdout).unwrap();
    while !matches!(guest.world.finish(), Ok(Answer::Done(_))) {}
    drop(guest);
    let all = thread.join().unwrap();
    let Value::U64(zeroes) = zeroes else {
        panic!("a number");
    };
    assert_eq!(all.len(), written + 4 + zeroes as usize);
    assert!(all[..written].iter().all(|byte| *byte == 7));
    assert_eq!(&all[written..written + 4], b"last");
}

#[test]
fn a_pipe_without_reader_is_closed() {
    let (mut guest, _, stdout, _keep, from_guest) = piped();
    drop(from_guest);
    let write = [lent(&stdout), bytes("lost")];
    assert_eq!(guest.error(BLOCKING_WRITE, &write), closed());
    assert_eq!(guest.error(CHECK, &[lent(&stdout)]), closed());
    assert_eq!(guest.error(BLOCKING_WRITE, &write), closed());
}

#[test]
fn long_writes_that_wait_are_traps() {
    let mut guest = Guest::new(settings());
    let stdout = guest.get("cli/stdout#get-stdout", &[]);
    let write = [lent(&stdout), bytes(vec![0; 5000])];
    assert!(
        guest
            .trap(BLOCKING_WRITE, &write)
            .contains("longer than 4096")
    );
    for name in ["write-zeroes", "blocking-write-zeroes-and-flush"] {
        let name = format!("io/streams#[method]output-stream.{name}");
        guest.trap(&name, &[lent(&stdout), Value::U64(u64::MAX)]);
    }
}

#[test]
fn splices_move_bytes() {
    let output = Handle::channel("output");
    let input = Handle::memory(vec![3; 100_000]);
    let mut guest = Guest::with_streams([Some(input), Some(output.clone()), None]);
    let stdin = guest.get("cli/stdin#get-stdin", &[]);
    let stdout = guest.get("cli/stdout#get-stdout", &[]);
    let mut moved = 0;
    let names = ["splice", "blocking-splice"].into_iter().cycle();
    for name in names {
        let name = format!("io/streams#[method]output-stream.{name}");
        let splice = [lent(&stdout), lent(&stdin), Value::U64(u64::MAX)];
        match guest.ok(&name, &splice) {
            Value::U64(count) if count > 0 => moved += count,
            other => panic!("{other:?}"),
        }
        if moved >= 100_000 {
            break;
        }
    }
    assert_eq!(moved, 100_000);
    assert_eq!(output.take_channel().len(), 100_000);
    let splice = [lent(&stdout), lent(&stdin), Value::U64(1)];
    let name = "io/streams#[method]output-stream.blocking-splice";
    assert_eq!(guest.error(name, &splice), closed());
}

#[test]
fn numbers_of_other_resources_are_traps() {
    let mut guest = Guest::new(settings());
    let stdin = guest.get("cli/stdin#get-stdin", &[]);
    let text = guest.trap(CHECK, &[lent(&stdin)]);
    assert!(text.contains("is no output-stream"), "{text}");
    let text = guest.trap(READ, &[Value::Borrow(77), Value::U64(1)]);
    assert!(text.contains("resource 77"), "{text}");
    let text = guest.trap("io/poll#poll", &[Value::List(vec![lent(&stdin)])]);
    assert!(text.contains("is no pollable"), "{text}");
    guest.trap("io/poll#poll", &[Value::List(Vec::new())]);
    assert!(guest.drop("io/streams#output-stream", &stdin).is_err());
    guest.drop("io/streams#input-stream", &stdin).unwrap();
    assert!(guest.drop("io/streams#input-stream", &stdin).is_err());
    guest.trap(READ, &[lent(&stdin), Value::U64(1)]);
}

#[test]
fn resources_are_limited() {
    let mut guest = Guest::new(settings());
    let error = loop {
        if let Err(error) = guest.call("cli/stdin#get-stdin", &[]) {
            break error;
        }
    };
    assert!(error.to_string().contains("more than 65536 resources"));
}

/// Takes note of waits in place of a pool: the number of interests, and whether there is a deadline.
#[derive(Default)]
pub struct Notes(pub std::cell::RefCell<Vec<(usize, bool)>>);

impl canny_sched::hook::Parking for Notes {
    fn park(
        &self,
        interests: &[canny_sched::Interest<'_>],
        deadline: Option<std::time::Instant>,
    ) -> bool {
        self.0
            .borrow_mut()
            .push((interests.len(), deadline.is_some()));
        true
    }
}

#[test]
fn waits_are_parked_where_tasks_can_be() {
    let (mut guest, stdin, _, mut to_guest, _keep) = piped();
    let input = guest.get(SUBSCRIBE_INPUT, &[lent(&stdin)]);
    let timer = guest.get(
        "clocks/monotonic-clock#subscribe-duration",
        &[Value::U64(3_600_000_000_000)],
    );
    let notes = std::rc::Rc::new(Notes::default());
    let read = [lent(&stdin), Value::U64(10)];
    let list = [Value::List([&timer, &input].map(lent).into())];
    canny_sched::hook::with_parking(notes.clone(), || {
        for _ in 0..2 {
            assert!(matches!(guest.once(BLOCKING_READ, &read), Ok(Answer::Wait)));
        }
        assert!(matches!(
            guest.once("io/poll#poll", &list),
            Ok(Answer::Wait)
        ));
        to_guest.write_all(b"now").unwrap();
        let ready = guest.get("io/poll#poll", &list);
        assert_eq!(ready, Value::List(vec![Value::U32(1)]));
        assert_eq!(guest.ok(BLOCKING_READ, &read), bytes("now"));
    });
    // The pipe and the handle; the timer as well for the poll.
    assert_eq!(*notes.0.borrow(), [(2, false), (2, false), (2, true)]);
}
