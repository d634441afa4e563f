//! Sixteen threads that share handles of every kind: nothing is lost, nothing comes twice, and closing
//! wakes everybody.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use canny_io::file::{open_input, open_output};
use canny_io::{
    BinaryInput, BinaryOutput, DecodeOptions, Handle, IoError, OutputMode, SharedPort, TextInput,
    Wait,
};

const WAIT: Wait<'static> = Wait::Blocking;
const THREADS: usize = 16;
const RECORDS: usize = 300;
const RECORD_BYTES: usize = 64;

/// Record `number` of thread `writer`, of letters and digits.
fn record(writer: usize, number: usize) -> Vec<u8> {
    let mut text = format!("{writer}-{number}-");
    while text.len() < RECORD_BYTES {
        text.push('x');
    }
    text.into_bytes()
}

fn expected(writers: usize) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = (0..writers)
        .flat_map(|writer| (0..RECORDS).map(move |number| record(writer, number)))
        .collect();
    records.sort();
    records
}

fn write_records(output: &SharedPort<BinaryOutput>, writer: usize) {
    for number in 0..RECORDS {
        let mut output = output.lock();
        output.write_bytes(&record(writer, number), WAIT).unwrap();
        if number % 7 == 0 {
            output.flush(WAIT).unwrap();
        }
    }
    output.lock().flush(WAIT).unwrap();
}

/// Reads records until somebody has taken each of them.
fn read_records(input: &SharedPort<BinaryInput>, left: &AtomicI64) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while left.fetch_sub(1, Ordering::Relaxed) > 0 {
        let mut input = input.lock();
        let bytes = input.read_bytes(RECORD_BYTES, WAIT).unwrap();
        records.push(bytes.expect("a record for each claim").to_vec());
    }
    records
}

fn collect(threads: Vec<thread::JoinHandle<Vec<Vec<u8>>>>) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    records.sort();
    records
}

/// Half of the threads write to one end, half read from the other.
fn check_stream(reader: Arc<Handle>, writer: Arc<Handle>) {
    let input = Arc::new(SharedPort::new(BinaryInput::new(reader)));
    let output = BinaryOutput::new(writer).share();
    let left = Arc::new(AtomicI64::new((THREADS / 2 * RECORDS) as i64));
    let readers = (0..THREADS / 2)
        .map(|_| {
            let (input, left) = (Arc::clone(&input), Arc::clone(&left));
            thread::spawn(move || read_records(&input, &left))
        })
        .collect();
    let writers: Vec<_> = (0..THREADS / 2)
        .map(|writer| {
            let output = Arc::clone(&output);
            thread::spawn(move || write_records(&output, writer))
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert!(collect(readers) == expected(THREADS / 2));
}

fn pipe() -> (Arc<Handle>, Arc<Handle>) {
    let (reader, writer) = std::io::pipe().unwrap();
    (
        Handle::from_descriptor(reader, "pipe"),
        Handle::from_descriptor(writer, "pipe"),
    )
}

fn sockets() -> (Arc<Handle>, Arc<Handle>) {
    let (left, right) = UnixStream::pair().unwrap();
    (
        Handle::from_descriptor(left, "socket"),
        Handle::from_descriptor(right, "socket"),
    )
}

/// Data that is written to the second is read from the first, unchanged as long as it has no ends
/// of lines.
fn terminal() -> (Arc<Handle>, Arc<Handle>) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let main: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let side = rustix::fs::open(&*name, flags, rustix::fs::Mode::empty()).unwrap();
    (
        Handle::from_descriptor(main, "terminal"),
        Handle::from_descriptor(side, "terminal"),
    )
}

#[test]
fn pipes() {
    let (reader, writer) = pipe();
    check_stream(reader, writer);
}

#[test]
fn sockets_of_both_ends() {
    let (reader, writer) = sockets();
    check_stream(reader, writer);
}

#[test]
fn terminals() {
    let (reader, writer) = terminal();
    check_stream(reader, writer);
}

#[test]
fn channels() {
    let handle = Handle::channel("channel");
    check_stream(Arc::clone(&handle), handle);
}

/// All threads write, and afterwards all read.
fn check_storage(open: impl Fn(bool) -> Arc<Handle>) {
    let output = BinaryOutput::new(open(true)).share();
    let writers: Vec<_> = (0..THREADS)
        .map(|writer| {
            let output = Arc::clone(&output);
            thread::spawn(move || write_records(&output, writer))
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let handle = open(false);
    handle.seek(std::io::SeekFrom::Start(0)).unwrap();
    let input = Arc::new(SharedPort::new(BinaryInput::new(handle)));
    let left = Arc::new(AtomicI64::new((THREADS * RECORDS) as i64));
    let readers = (0..THREADS)
        .map(|_| {
            let (input, left) = (Arc::clone(&input), Arc::clone(&left));
            thread::spawn(move || read_records(&input, &left))
        })
        .collect();
    assert!(collect(readers) == expected(THREADS));
}

#[test]
fn files_and_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    check_storage(|writes| {
        if writes {
            open_output(&path, OutputMode::Append, WAIT).unwrap()
        } else {
            open_input(&path, WAIT).unwrap()
        }
    });
    let memory = Handle::memory(Vec::new());
    check_storage(|_| Arc::clone(&memory));
    // Places of a file are read without a position that threads could fight for.
    let handle = open_input(&path, WAIT).unwrap();
    let threads: Vec<_> = (0..THREADS)
        .map(|reader| {
            let handle = Arc::clone(&handle);
            thread::spawn(move || {
                for number in (reader..THREADS * RECORDS).step_by(THREADS) {
                    let mut buffer = [0; RECORD_BYTES];
                    let offset = (number * RECORD_BYTES) as u64;
                    assert_eq!(handle.read_at(&mut buffer, offset).unwrap(), RECORD_BYTES);
                    assert!(buffer.ends_with(b"xx"));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(handle.tell().unwrap(), 0);
}

#[test]
fn lines_of_one_port() {
    let text: String = (0..THREADS * RECORDS)
        .map(|number| format!("{number} λ\n"))
        .collect();
    let input = TextInput::new(Handle::memory(text.into_bytes()), DecodeOptions::default());
    let input = Arc::new(SharedPort::new(input));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let input = Arc::clone(&input);
            thread::spawn(move || {
                let mut sum = 0;
                while let Some(line) = input.lock().read_line(WAIT).unwrap() {
                    let number = line.as_str().strip_suffix(" λ").unwrap();
                    sum += number.parse::<usize>().unwrap();
                }
                sum
            })
        })
        .collect();
    let sum: usize = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    assert_eq!(sum, (0..THREADS * RECORDS).sum());
}

#[test]
fn closing_wakes_all_who_wait() {
    let mut kept = Vec::new();
    for (reader, writer) in [
        pipe(),
        sockets(),
        terminal(),
        (Handle::channel("a"), Handle::channel("b")),
    ] {
        let waiting: Vec<_> = (0..THREADS - 1)
            .map(|_| {
                let reader = Arc::clone(&reader);
                thread::spawn(move || reader.read(&mut [0; 10], WAIT))
            })
            .collect();
        thread::sleep(Duration::from_millis(20));
        reader.close().unwrap();
        for thread in waiting {
            assert!(matches!(thread.join().unwrap(), Err(IoError::Closed(_))));
        }
        kept.push(writer);
    }
}
