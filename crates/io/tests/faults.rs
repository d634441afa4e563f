//! Faults of the system: short reads and writes, interruptions, sides that are not ready, disks
//! that are full, readers that are gone. Data that a flush has accepted is not lost, nothing is
//! written twice, and data that could not be written is reported.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use canny_io::file::{open_input, open_output};
use canny_io::port::EncodeOptions;
use canny_io::{
    Access, BinaryInput, BinaryOutput, ByteDevice, DecodeOptions, Handle, IoError, OutputMode,
    TextInput, TextOutput, Wait,
};
use proptest::prelude::*;

const WAIT: Wait<'static> = Wait::Blocking;

/// The device's behaviour at one call.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// So many bytes go through.
    Short(usize),
    Error(ErrorKind),
}

#[derive(Default)]
struct State {
    faults: Vec<Fault>,
    source: Vec<u8>,
    sink: Vec<u8>,
    closes: usize,
}

/// A device that has faults, in the order of the list, and then none.
#[derive(Clone, Default)]
struct Faulty(Arc<Mutex<State>>);

impl Faulty {
    fn new(faults: &[Fault], source: &[u8]) -> Faulty {
        let device = Faulty::default();
        let mut state = device.0.lock().unwrap();
        state.faults = faults.iter().rev().copied().collect();
        state.source = source.to_vec();
        drop(state);
        device
    }

    fn handle(&self) -> Arc<Handle> {
        Handle::from_device(Box::new(self.clone()), "device", Access::ReadWrite)
    }

    fn sink(&self) -> Vec<u8> {
        self.0.lock().unwrap().sink.clone()
    }
}

impl State {
    fn next(&mut self, wanted: usize) -> io::Result<usize> {
        match self.faults.pop() {
            None => Ok(wanted),
            Some(Fault::Short(count)) => Ok(count.clamp(1, wanted.max(1)).min(wanted)),
            Some(Fault::Error(kind)) => Err(kind.into()),
        }
    }
}

impl ByteDevice for Faulty {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        let wanted = buffer.len().min(state.source.len());
        let count = state.next(wanted)?;
        buffer[..count].copy_from_slice(&state.source[..count]);
        state.source.drain(..count);
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        let count = state.next(bytes.len())?;
        state.sink.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn close(&mut self) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.closes += 1;
        state.next(0).map(drop)
    }
}

const FULL: Fault = Fault::Error(ErrorKind::StorageFull);

#[test]
fn a_disk_that_is_full_in_the_middle() {
    let device = Faulty::new(&[Fault::Short(5), FULL, FULL], b"");
    let mut output = TextOutput::new(device.handle(), EncodeOptions::default());
    output.write_str("0123456789", WAIT).unwrap();
    let error = output.flush(WAIT).unwrap_err();
    assert_eq!(error.to_string(), "cannot write: no storage space: device");
    assert_eq!(device.sink(), b"01234");
    assert_eq!(output.pending(), 5);
    // It is still full, and then there is room: the rest follows, once.
    assert!(output.flush(WAIT).is_err());
    output.write_str("abc", WAIT).unwrap();
    output.flush(WAIT).unwrap();
    assert_eq!(device.sink(), b"0123456789abc");
}

#[test]
fn closing_reports_what_was_lost_and_closes_all_the_same() {
    let device = Faulty::new(&[FULL], b"");
    let mut output = BinaryOutput::new(device.handle());
    output.write_bytes(b"lost", WAIT).unwrap();
    assert!(output.close(WAIT).is_err());
    assert!(!output.is_open());
    assert_eq!(device.0.lock().unwrap().closes, 1);
    // The device itself may complain too.
    let device = Faulty::new(&[Fault::Short(9), Fault::Error(ErrorKind::Other)], b"");
    let mut output = BinaryOutput::new(device.handle());
    output.write_bytes(b"kept", WAIT).unwrap();
    let error = output.close(WAIT).unwrap_err();
    assert!(error.to_string().starts_with("cannot close: "));
    assert_eq!(device.sink(), b"kept");
}

#[test]
fn readers_that_are_gone_are_told_of_once() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut output = BinaryOutput::new(Handle::from_descriptor(writer, "pipe"));
    output.write_bytes(b"x", WAIT).unwrap();
    drop(reader);
    assert!(matches!(output.flush(WAIT), Err(IoError::BrokenPipe(_))));
    assert_eq!(output.pending(), 0);
    output.close(WAIT).unwrap();
}

#[test]
fn a_peer_that_resets() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let handle = Handle::from_descriptor(ours, "socket");
    handle.write(b"never read", WAIT).unwrap();
    drop(theirs);
    let error = handle.read(&mut [0; 10], WAIT).unwrap_err();
    assert!(error.to_string().contains("reset"), "{error}");
    assert!(handle.write(b"x", WAIT).is_err());
    handle.close().unwrap();
}

#[test]
fn a_terminal_that_goes_away() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let side = rustix::fs::open(&*name, flags, rustix::fs::Mode::empty()).unwrap();
    let terminal = Handle::from_descriptor(side, "terminal");
    let mut input = TextInput::new(Arc::clone(&terminal), DecodeOptions::default());
    drop(main);
    // An end or an error, but no wait.
    assert!(!matches!(input.read_line(WAIT), Ok(Some(_))));
    let mut output = TextOutput::new(terminal, EncodeOptions::default());
    assert!(output.write_str("x\n", WAIT).is_err());
    let _ = output.close(WAIT);
}

#[test]
#[cfg(target_os = "linux")]
fn the_full_device() {
    let handle = open_output("/dev/full".as_ref(), OutputMode::Overwrite, WAIT).unwrap();
    let mut output = TextOutput::new(handle, EncodeOptions::default());
    output.write_str("x", WAIT).unwrap();
    for _ in 0..2 {
        assert_eq!(
            output.flush(WAIT).unwrap_err().to_string(),
            "cannot write: No space left on device: /dev/full"
        );
    }
    assert!(output.close(WAIT).is_err());
    assert!(!output.is_open());
}

#[test]
fn files_that_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    assert!(open_input(&missing, WAIT).unwrap_err().is_file_error());
    assert!(open_input(directory.path(), WAIT).is_err());
    assert!(open_output(directory.path(), OutputMode::Truncate, WAIT).is_err());
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = prop_oneof![
        4 => (1..40_000_usize).prop_map(Fault::Short),
        2 => (1..4_usize).prop_map(Fault::Short),
        1 => Just(Fault::Error(ErrorKind::Interrupted)),
        1 => Just(Fault::Error(ErrorKind::WouldBlock)),
        1 => Just(FULL),
        1 => Just(Fault::Error(ErrorKind::Other)),
    ];
    proptest::collection::vec(fault, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each accepted piece arrives once and in order, through all faults in between. A flush that
    /// succeeds means that everything before it has arrived.
    #[test]
    fn what_was_accepted_arrives_once(
        faults in faults(),
        lengths in proptest::collection::vec(0..20_000_usize, 1..12),
    ) {
        let device = Faulty::new(&faults, b"");
        let mut output = BinaryOutput::new(device.handle());
        let mut accepted = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            let piece: Vec<u8> = (0..*length).map(|index| (index + number) as u8).collect();
            let before = output.pending();
            match output.write_bytes(&piece, Wait::NonBlocking) {
                Ok(()) => accepted.extend_from_slice(&piece),
                // An error of the system, met behind the piece or before it: `pending` tells which.
                Err(error) => {
                    let sunk = device.sink().len();
                    if sunk + output.pending() > accepted.len() {
                        prop_assert!(!error.is_retryable());
                        accepted.extend_from_slice(&piece);
                    }
                    prop_assert!(before <= accepted.len());
                }
            }
            if number % 3 == 0 && output.flush(Wait::NonBlocking).is_ok() {
                prop_assert!(device.sink() == accepted);
            }
            prop_assert!(accepted.starts_with(&device.sink()));
        }
        // The faults come to an end.
        while output.flush(Wait::NonBlocking).is_err() {}
        prop_assert!(device.sink() == accepted);
    }

    /// Input with faults in between, asked again after each error, is the input.
    #[test]
    fn what_arrives_is_read_once(
        faults in faults(),
        source in proptest::collection::vec(any::<u8>(), 0..5000),
        count in 1..3000_usize,
    ) {
        let device = Faulty::new(&faults, &source);
        let mut input = BinaryInput::new(device.handle());
        let mut read = Vec::new();
        loop {
            match input.read_bytes(count, Wait::NonBlocking) {
                Ok(Some(bytes)) => read.extend_from_slice(bytes),
                Ok(None) => break,
                Err(_) => {}
            }
        }
        prop_assert!(read == source);
    }
}
