use std::time::Duration;

use super::*;
use crate::exchange::{Exchanged, exchange};
use crate::handle::Handle;

fn shell(script: &str) -> Start {
    Start {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: None,
        directory: None,
        input: Stream::Null,
        output: Stream::Null,
        error: Stream::Null,
        group: Group::Same,
        terminal: None,
    }
}

/// All bytes of a stream.
fn contents(descriptor: Option<OwnedFd>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = std::fs::File::from(descriptor.expect("a pipe"));
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("readable");
    bytes
}

#[test]
fn endings_are_told() {
    let started = start(shell("exit 3")).expect("a shell");
    let process = started.process;
    assert_eq!(
        process.wait(None, Wait::Blocking).expect("a status"),
        Some(Ending::Code(3))
    );
    // It is known from then on, and signals go nowhere.
    assert_eq!(process.ending().expect("known"), Some(Ending::Code(3)));
    assert!(!process.signal(Signal::KILL, false).expect("allowed"));
    let started = start(shell("kill -9 $$")).expect("a shell");
    assert_eq!(
        started.process.wait(None, Wait::Blocking).expect("status"),
        Some(Ending::Signal(9))
    );
}

#[test]
fn a_wait_ends_with_its_deadline_and_with_an_interrupt() {
    let started = start(shell("sleep 60")).expect("a shell");
    let soon = Instant::now() + Duration::from_millis(20);
    let outcome = started.process.wait(Some(soon), Wait::Blocking);
    assert_eq!(outcome.expect("no error"), None);
    let flag = std::sync::atomic::AtomicBool::new(true);
    let outcome = started.process.wait(None, Wait::Interruptible(&flag));
    assert_eq!(
        outcome.expect_err("interrupted").kind(),
        io::ErrorKind::Interrupted
    );
    assert!(started.process.signal(Signal::TERM, false).expect("alive"));
    assert_eq!(
        started.process.wait(None, Wait::Blocking).expect("status"),
        Some(Ending::Signal(15))
    );
}

#[test]
fn a_group_is_signalled_as_a_whole() {
    let mut with_child = shell("sleep 60 & echo; wait");
    with_child.group = Group::New;
    with_child.output = Stream::Pipe;
    let started = start(with_child).expect("a shell");
    let output = Handle::from_descriptor(started.output.expect("a pipe"), "pipe");
    let mut line = [0; 8];
    assert_eq!(output.read(&mut line, Wait::Blocking).expect("a line"), 1);
    assert!(started.process.signal(Signal::KILL, true).expect("alive"));
    // The grandchild holds the pipe, too: its end means that both are gone.
    assert_eq!(output.read(&mut line, Wait::Blocking).expect("the end"), 0);
}

#[test]
fn error_goes_where_output_goes() {
    let mut both = shell("echo out; echo error >&2");
    both.output = Stream::Pipe;
    both.error = Stream::Output;
    let started = start(both).expect("a shell");
    assert_eq!(contents(started.output), b"out\nerror\n");
}

#[test]
fn streams_are_served_at_once() {
    let mut cat = shell("cat; echo end >&2");
    cat.input = Stream::Pipe;
    cat.output = Stream::Pipe;
    cat.error = Stream::Pipe;
    let started = start(cat).expect("a shell");
    let mut input = started.input.map(|it| Handle::from_descriptor(it, "in"));
    let mut sources =
        [started.output, started.error].map(|it| it.map(|it| Handle::from_descriptor(it, "out")));
    let sent = vec![7; 3_000_000];
    let mut written = 0;
    let mut received = [Vec::new(), Vec::new()];
    while sources.iter().any(Option::is_some) {
        let target = input.as_ref().map(|input| (input, &sent[written..]));
        let views: Vec<Option<&Arc<Handle>>> = sources.iter().map(Option::as_ref).collect();
        match exchange(target, &views, None, Wait::Blocking).expect("no error") {
            Exchanged::Written(count) => {
                written += count;
                if written == sent.len() {
                    input = None;
                }
            }
            Exchanged::Read(index, bytes) if bytes.is_empty() => sources[index] = None,
            Exchanged::Read(index, bytes) => received[index].extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(received[0], sent);
    assert_eq!(received[1], b"end\n");
}

#[test]
fn a_terminal_is_a_terminal() {
    let mut test = shell("test -t 0 && test -t 2 && stty size < /dev/tty");
    test.terminal = Some((24, 81));
    let started = start(test).expect("a shell");
    let output = Handle::from_descriptor(started.output.expect("a terminal"), "terminal");
    let mut text: Vec<u8> = Vec::new();
    let mut chunk = [0; 100];
    loop {
        // The end of the other side is an end, not an error.
        let count = output.read(&mut chunk, Wait::Blocking).expect("readable");
        if count == 0 {
            break;
        }
        text.extend(&chunk[..count]);
    }
    assert_eq!(text, b"24 81\r\n");
}

#[test]
fn what_cannot_be_started_is_told() {
    let mut none = shell("");
    none.program = "/nonexistent/program".into();
    assert_eq!(
        start(none).expect_err("none").kind(),
        io::ErrorKind::NotFound
    );
    let mut nowhere = shell("");
    nowhere.directory = Some("/nonexistent".into());
    assert_eq!(
        start(nowhere).expect_err("none").kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn dropped_processes_leave_no_zombie() {
    let started = start(shell("exec sleep 0.05")).expect("a shell");
    let id = started.process.id();
    drop(started);
    let stays = || std::path::Path::new(&format!("/proc/{id}")).exists();
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(10));
        bury_orphans();
        if !stays() {
            return;
        }
    }
    panic!("process {id} is still there");
}

#[test]
fn companions_end_with_the_program() {
    let mut stubborn = shell("trap '' TERM; echo; while :; do sleep 0.01; done");
    stubborn.output = Stream::Pipe;
    let stubborn = start(stubborn).expect("a shell");
    let output = Handle::from_descriptor(stubborn.output.expect("a pipe"), "pipe");
    output.read(&mut [0; 8], Wait::Blocking).expect("a line");
    let other = start(shell("exec sleep 60")).expect("a shell");
    let processes = [Arc::new(stubborn.process), Arc::new(other.process)];
    for process in &processes {
        end_with_program(process);
    }
    end_companions();
    let endings = processes.map(|process| process.wait(None, Wait::Blocking).expect("a status"));
    assert_eq!(endings, [Some(Ending::Signal(9)), Some(Ending::Signal(15))]);
}

#[test]
fn signals_have_names() {
    assert_eq!(signal_of_name("SIGTERM"), Some(Signal::TERM));
    assert_eq!(signal_of_name("kill"), Some(Signal::KILL));
    assert_eq!(signal_of_name("sig"), None);
    assert_eq!(name_of_signal(9).as_deref(), Some("sigkill"));
    assert_eq!(name_of_signal(0), None);
}
