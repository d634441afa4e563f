//! `wasi:cli`, `wasi:random` and `wasi:clocks`.

use std::time::{Duration, Instant};

use canny_component::Value;
use canny_io::Handle;
use canny_wasm::Trap;

use super::{Guest, bytes, lent, none, settings, text};
use crate::Settings;

#[test]
fn a_guest_has_the_arguments_and_variables_that_were_given() {
    let mut guest = Guest::new(Settings {
        arguments: vec!["program".into(), "one".into()],
        environment: vec![("NAME".into(), "value".into())],
        ..settings()
    });
    let arguments = guest.get("cli/environment#get-arguments", &[]);
    assert_eq!(arguments, Value::List(vec![text("program"), text("one")]));
    let variables = guest.get("cli/environment#get-environment", &[]);
    let pair = Value::Record(vec![text("NAME"), text("value")]);
    assert_eq!(variables, Value::List(vec![pair]));
    assert_eq!(guest.get("cli/environment#initial-cwd", &[]), none());
}

#[test]
fn a_guest_ends_itself() {
    let mut guest = Guest::new(settings());
    for (status, expected) in [(Ok(None), 0), (Err(None), 1)] {
        let end = guest.call("cli/exit#exit", &[Value::Result(status)]);
        assert!(matches!(end, Err(Trap::Exit(code)) if code == expected));
    }
    let end = guest.call("cli/exit#exit-with-code", &[Value::U8(42)]);
    assert!(matches!(end, Err(Trap::Exit(42))));
}

#[test]
fn standard_streams_are_those_of_the_settings() {
    let output = Handle::channel("output");
    let input = Handle::memory(b"input".to_vec());
    let mut guest = Guest::with_streams([Some(input), Some(output.clone()), None]);
    let stdin = guest.get("cli/stdin#get-stdin", &[]);
    let read = guest.ok(
        "io/streams#[method]input-stream.blocking-read",
        &[lent(&stdin), Value::U64(100)],
    );
    assert_eq!(read, bytes("input"));
    for name in ["cli/stdout#get-stdout", "cli/stderr#get-stderr"] {
        let stream = guest.get(name, &[]);
        guest.done(
            "io/streams#[method]output-stream.blocking-write-and-flush",
            &[lent(&stream), bytes(name)],
        );
        guest.drop("io/streams#output-stream", &stream).unwrap();
    }
    assert_eq!(output.take_channel(), b"cli/stdout#get-stdout");
    for name in [
        "cli/terminal-stdin#get-terminal-stdin",
        "cli/terminal-stdout#get-terminal-stdout",
        "cli/terminal-stderr#get-terminal-stderr",
    ] {
        assert_eq!(guest.get(name, &[]), none());
    }
}

#[test]
fn random_bytes_are_as_many_as_asked_for_within_limits() {
    let mut guest = Guest::new(settings());
    for name in [
        "random/random#get-random-bytes",
        "random/insecure#get-insecure-random-bytes",
    ] {
        let Value::Bytes(bytes) = guest.get(name, &[Value::U64(1000)]) else {
            panic!("{name} gives bytes");
        };
        assert_eq!(bytes.len(), 1000);
        assert!(bytes.iter().any(|byte| *byte != bytes[0]));
        assert!(
            guest
                .trap(name, &[Value::U64(u64::MAX)])
                .contains("more than")
        );
    }
    let first = guest.get("random/random#get-random-u64", &[]);
    assert_ne!(first, guest.get("random/random#get-random-u64", &[]));
    let seed = guest.get("random/insecure-seed#insecure-seed", &[]);
    assert!(matches!(seed, Value::Record(fields) if fields.len() == 2));
}

#[test]
fn timers_become_ready_in_their_order() {
    let mut guest = Guest::new(settings());
    let Value::U64(now) = guest.get("clocks/monotonic-clock#now", &[]) else {
        panic!("a clock tells a number");
    };
    let begun = Instant::now();
    let soon = guest.get(
        "clocks/monotonic-clock#subscribe-duration",
        &[Value::U64(20_000_000)],
    );
    let never = guest.get(
        "clocks/monotonic-clock#subscribe-duration",
        &[Value::U64(u64::MAX)],
    );
    let past = guest.get(
        "clocks/monotonic-clock#subscribe-instant",
        &[Value::U64(now)],
    );
    assert!(!guest.is_ready(&never));
    let list = Value::List([&never, &soon].map(lent).into());
    let ready = guest.get("io/poll#poll", &[list]);
    assert_eq!(ready, Value::List(vec![Value::U32(1)]));
    assert!(begun.elapsed() >= Duration::from_millis(20));
    let list = Value::List([&past, &never, &soon].map(lent).into());
    let ready = guest.get("io/poll#poll", &[list]);
    assert_eq!(ready, Value::List(vec![Value::U32(0), Value::U32(2)]));
}

#[test]
fn clocks_tell_the_time() {
    let mut guest = Guest::new(settings());
    let Value::Record(fields) = guest.get("clocks/wall-clock#now", &[]) else {
        panic!("a record");
    };
    let seconds = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs();
    assert!(matches!(fields[0], Value::U64(told) if told.abs_diff(seconds) < 60));
    assert!(matches!(fields[1], Value::U32(nanoseconds) if nanoseconds < 1_000_000_000));
    let when = Value::Record(fields);
    let offset = guest.get("clocks/timezone#utc-offset", &[when]);
    assert_eq!(offset, Value::S32(0));
}
