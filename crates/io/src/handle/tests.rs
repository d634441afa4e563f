//! Tests of handles: pipes, terminals, interrupts, closing.

use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use super::*;
use crate::port::{Buffering, TextInput, TextOutput};

const WAIT: Wait<'static> = Wait::Blocking;

fn pipe() -> (Arc<Handle>, Arc<Handle>) {
    let (reader, writer) = std::io::pipe().unwrap();
    (
        Handle::from_descriptor(reader, "pipe"),
        Handle::from_descriptor(writer, "pipe"),
    )
}

fn read(handle: &Handle, wait: Wait<'_>) -> Result<Vec<u8>, IoError> {
    let mut buffer = vec![0; 1 << 16];
    let count = handle.read(&mut buffer, wait)?;
    buffer.truncate(count);
    Ok(buffer)
}

fn write_all(handle: &Handle, mut bytes: &[u8], wait: Wait<'_>) -> Result<(), IoError> {
    while !bytes.is_empty() {
        bytes = &bytes[handle.write(bytes, wait)?..];
    }
    Ok(())
}

#[test]
fn pipes_carry_bytes_until_the_writer_closes() {
    let (reader, writer) = pipe();
    assert_eq!(reader.access(), Access::Read);
    assert_eq!(writer.access(), Access::Write);
    assert!(matches!(
        read(&reader, Wait::NonBlocking),
        Err(IoError::WouldBlock)
    ));
    writer.write(b"abc", WAIT).unwrap();
    assert_eq!(read(&reader, Wait::NonBlocking).unwrap(), b"abc");
    assert_eq!(reader.tell().unwrap(), 3);
    assert!(matches!(
        reader.seek(SeekFrom::Start(0)),
        Err(IoError::Unsupported(_))
    ));
    writer.close().unwrap();
    assert_eq!(read(&reader, WAIT).unwrap(), b"");
}

#[test]
fn much_goes_through_a_pipe_between_threads() {
    let (reader, writer) = pipe();
    let bytes: Vec<u8> = (0..1_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let expected = bytes.clone();
    let thread = thread::spawn(move || {
        write_all(&writer, &bytes, WAIT).unwrap();
        writer.close().unwrap();
    });
    let mut received = Vec::new();
    loop {
        let piece = read(&reader, WAIT).unwrap();
        if piece.is_empty() {
            break;
        }
        received.extend(piece);
    }
    thread.join().unwrap();
    assert!(received == expected);
}

#[test]
fn a_pipe_that_nobody_reads_is_a_kind_of_its_own() {
    let (reader, writer) = pipe();
    reader.close().unwrap();
    drop(reader);
    let error = writer.write(b"x", WAIT).unwrap_err();
    assert!(matches!(error, IoError::BrokenPipe(_)));
    assert_eq!(error.to_string(), "cannot write: Broken pipe: pipe");
}

#[test]
fn closing_is_idempotent_and_final() {
    let (reader, writer) = pipe();
    for handle in [
        reader,
        writer,
        Handle::memory(vec![1]),
        Handle::channel("channel"),
    ] {
        handle.close().unwrap();
        handle.close().unwrap();
        assert!(handle.is_closed());
        if handle.access().reads() {
            let error = read(&handle, WAIT).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("cannot read: port is closed: {}", handle.name())
            );
        }
        if handle.access().writes() {
            assert!(matches!(handle.write(b"x", WAIT), Err(IoError::Closed(_))));
        }
        assert!(matches!(
            handle.seek(SeekFrom::Start(0)),
            Err(IoError::Closed(_))
        ));
        assert!(matches!(
            handle.flush(Wait::Blocking),
            Err(IoError::Closed(_))
        ));
    }
}

#[test]
fn closing_ends_a_read_that_waits() {
    for (reader, _writer) in [pipe(), (Handle::channel("a"), Handle::channel("b"))] {
        let waiting = Arc::clone(&reader);
        let thread = thread::spawn(move || read(&waiting, WAIT));
        thread::sleep(Duration::from_millis(20));
        reader.close().unwrap();
        assert!(matches!(thread.join().unwrap(), Err(IoError::Closed(_))));
    }
}

#[test]
fn a_reader_that_waits_does_not_delay_the_writer() {
    let handle = Handle::channel("channel");
    let waiting = Arc::clone(&handle);
    let thread = thread::spawn(move || read(&waiting, WAIT));
    thread::sleep(Duration::from_millis(20));
    handle.write(b"now", WAIT).unwrap();
    assert_eq!(thread.join().unwrap().unwrap(), b"now");
}

#[test]
fn the_flag_ends_waiting_reads_and_writes() {
    let (reader, writer) = pipe();
    let flag = Arc::new(AtomicBool::new(false));
    let setter = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            flag.store(true, Ordering::Release);
        })
    };
    let wait = Wait::Interruptible(&flag);
    assert!(matches!(read(&reader, wait), Err(IoError::Interrupted)));
    setter.join().unwrap();
    // The pipe fills up, and then the flag, which is still set, counts.
    let outcome = write_all(&writer, &vec![7; 1 << 22], wait);
    assert!(matches!(outcome, Err(IoError::Interrupted)));
    // Bytes that are there are delivered all the same.
    assert!(!read(&reader, wait).unwrap().is_empty());
}

#[test]
fn waits_end_at_a_deadline_and_at_the_timeout_of_the_handle() {
    let (reader, writer) = pipe();
    let soon = || WAIT.with_deadline(Instant::now() + Duration::from_millis(10));
    for handle in [Arc::clone(&reader), Handle::channel("channel")] {
        let error = read(&handle, soon()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot read: timed out: {}", handle.name())
        );
        assert!(error.is_retryable());
        handle.set_timeout(Some(Duration::from_millis(10)));
        assert!(matches!(read(&handle, WAIT), Err(IoError::TimedOut(_))));
        assert!(matches!(
            read(&handle, Wait::NonBlocking),
            Err(IoError::WouldBlock)
        ));
    }
    writer.set_timeout(Some(Duration::from_millis(10)));
    let full = write_all(&writer, &vec![7; 1 << 22], WAIT);
    assert!(matches!(full, Err(IoError::TimedOut(_))));
    // Bytes that are there count before the deadline.
    let past = WAIT.with_deadline(Instant::now());
    assert!(!read(&reader, past).unwrap().is_empty());
    reader.set_timeout(None);
    assert_eq!(reader.timeout(), None);
    // The request of an interrupt counts as before.
    let flag = AtomicBool::new(true);
    let empty = Handle::channel("channel");
    let wait = Wait::Interruptible(&flag).with_deadline(Instant::now());
    assert!(matches!(read(&empty, wait), Err(IoError::Interrupted)));
}

#[test]
fn a_signal_ends_a_waiting_read_only_if_it_sets_the_flag() {
    let (reader, writer) = pipe();
    let flag = Arc::new(AtomicBool::new(false));
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&flag)).unwrap();
    signal_hook::flag::register(signal_hook::consts::SIGUSR2, Arc::clone(&ignored)).unwrap();
    let thread = thread::spawn(move || {
        let wait = Wait::Interruptible(&flag);
        let first = read(&reader, wait);
        (first, read(&reader, wait))
    });
    let send = |signal| {
        thread::sleep(Duration::from_millis(30));
        rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
    };
    send(rustix::process::Signal::USR2);
    thread::sleep(Duration::from_millis(30));
    assert!(ignored.load(Ordering::Acquire));
    writer.write(b"still reading", WAIT).unwrap();
    send(rustix::process::Signal::USR1);
    let (first, second) = thread.join().unwrap();
    assert_eq!(first.unwrap(), b"still reading");
    assert!(matches!(second, Err(IoError::Interrupted)));
}

/// A device whose operations fail as configured before they succeed.
struct Reluctant {
    errors: Vec<io::ErrorKind>,
}

impl ByteDevice for Reluctant {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.errors.pop() {
            Some(kind) => Err(kind.into()),
            None => {
                buffer[0] = b'x';
                Ok(1)
            }
        }
    }

    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match self.errors.pop() {
            Some(kind) => Err(kind.into()),
            None => Ok(0),
        }
    }
}

#[test]
fn devices_may_be_interrupted_and_not_ready() {
    let device = |errors: &[io::ErrorKind]| {
        Handle::from_device(
            Box::new(Reluctant {
                errors: errors.to_vec(),
            }),
            "device",
            Access::ReadWrite,
        )
    };
    use io::ErrorKind::{Interrupted, StorageFull, WouldBlock};
    let unset = AtomicBool::new(false);
    let set = AtomicBool::new(true);
    for wait in [WAIT, Wait::Interruptible(&unset)] {
        let handle = device(&[Interrupted, WouldBlock, Interrupted]);
        assert_eq!(read(&handle, wait).unwrap(), b"x");
    }
    assert!(matches!(
        read(&device(&[Interrupted]), Wait::Interruptible(&set)),
        Err(IoError::Interrupted)
    ));
    assert_eq!(read(&device(&[]), Wait::Interruptible(&set)).unwrap(), b"x");
    assert!(matches!(
        read(&device(&[WouldBlock]), Wait::NonBlocking),
        Err(IoError::WouldBlock)
    ));
    let error = device(&[StorageFull]).write(b"x", WAIT).unwrap_err();
    assert_eq!(error.to_string(), "cannot write: no storage space: device");
    let error = device(&[]).write(b"x", WAIT).unwrap_err();
    assert_eq!(error.to_string(), "cannot write: write zero: device");
}

#[test]
fn descriptors_that_are_non_blocking_already_are_waited_for() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(&reader).unwrap();
    rustix::fs::fcntl_setfl(&reader, flags | OFlags::NONBLOCK).unwrap();
    let reader = Handle::from_descriptor(reader, "pipe");
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        writer.write_all(b"late").unwrap();
    });
    assert_eq!(read(&reader, WAIT).unwrap(), b"late");
    thread.join().unwrap();
}

#[test]
fn memory_is_a_file() {
    let handle = Handle::memory(b"hello".to_vec());
    assert_eq!(read(&handle, WAIT).unwrap(), b"hello");
    assert_eq!(read(&handle, WAIT).unwrap(), b"");
    handle.write(b"!", WAIT).unwrap();
    assert_eq!(handle.seek(SeekFrom::Start(1)).unwrap(), 1);
    assert_eq!(read(&handle, WAIT).unwrap(), b"ello!");
    assert_eq!(handle.tell().unwrap(), 6);
    assert!(matches!(
        handle.seek(SeekFrom::Current(-9)),
        Err(IoError::System(_))
    ));
}

#[test]
fn standard_descriptors_stay_open() {
    let handle = Handle::standard_error();
    assert_eq!(handle.name(), "standard error");
    handle.close().unwrap();
    assert!(rustix::fs::fstat(rustix::stdio::stderr()).is_ok());
}

#[test]
fn terminals_deliver_lines_and_go_on_after_their_end_of_input() {
    let main =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY)
            .unwrap();
    rustix::pty::grantpt(&main).unwrap();
    rustix::pty::unlockpt(&main).unwrap();
    let name = rustix::pty::ptsname(&main, Vec::new()).unwrap();
    let side = rustix::fs::open(
        &*name,
        OFlags::RDWR | OFlags::NOCTTY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let terminal = Handle::from_descriptor(side, "terminal");
    assert!(terminal.is_terminal());
    assert_eq!(terminal.access(), Access::ReadWrite);

    let mut output = TextOutput::new(Arc::clone(&terminal), Default::default());
    assert_eq!(output.buffering(), Buffering::Line);
    output.write_str("name? ", WAIT).unwrap();
    assert_eq!(output.pending(), 6);
    let output = output.share();
    let mut input = TextInput::new(terminal, Default::default());
    input.tie_output(&output);
    assert!(!input.char_ready().unwrap());
    assert_eq!(output.lock().pending(), 0);

    rustix::io::write(main.as_fd(), b"abc\n\x04def\n").unwrap();
    assert_eq!(input.read_line(WAIT).unwrap().unwrap().as_str(), "abc");
    assert_eq!(input.peek_char(WAIT).unwrap(), None);
    assert!(input.char_ready().unwrap());
    assert_eq!(input.read_char(WAIT).unwrap(), None);
    assert_eq!(input.read_line(WAIT).unwrap().unwrap().as_str(), "def");
}

#[test]
fn what_closing_reports_is_an_error_of_the_port() {
    use super::closing::tests::FAULT;
    let (_reader, writer) = std::io::pipe().unwrap();
    let mut output = crate::BinaryOutput::new(Handle::from_descriptor(writer, "full"));
    output.write_bytes(b"lost", Wait::Blocking).unwrap();
    FAULT.set(Some(Errno::DQUOT));
    let error = output.close(Wait::Blocking).unwrap_err();
    assert_eq!(error.operation(), Some(Operation::Close));
    assert_eq!(error.os_code(), Some(Errno::DQUOT.raw_os_error()));
    assert!(!output.is_open());
    output.close(Wait::Blocking).unwrap();
    // Of two handles on a descriptor the last one has it.
    let (end, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let (input, output) = Handle::pair_from_descriptor(end, "pair");
    FAULT.set(Some(Errno::IO));
    output.close().unwrap();
    assert!(input.close().is_err());
    assert!(FAULT.take().is_none());
}
