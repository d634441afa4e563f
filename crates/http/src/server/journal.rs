//! The log of a server: lines that were made and not taken yet.
//!
//! A thread that answers a request appends its line to one buffer; the writer of the log takes whole
//! buffers and waits for the bell, which is rung when there is something after there was nothing. When
//! nobody takes lines for long, new ones are dropped and counted.
//!
//! Nothing that a client sent can look like something else in a line: quotes, backslashes and control
//! characters are escaped.

use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canny_locks::Mutex;
use canny_replay::Kind;
use rustix::event::{EventfdFlags, eventfd};

use super::observer::{Outcome, Texts};
use crate::date::date;
use crate::response::push_number;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// That of most servers.
    Common,
    /// The same with where the client came from, and what it is.
    Combined,
    /// An object of JSON.
    Json,
}

/// So much may wait to be taken.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A line to be.
pub(super) struct Entry<'a> {
    pub(super) texts: &'a Texts,
    pub(super) is_request: bool,
    pub(super) client: Option<IpAddr>,
    pub(super) version: &'static str,
    pub(super) status: u16,
    pub(super) bytes: u64,
    pub(super) duration: Duration,
    pub(super) request_id: Option<&'a [u8]>,
    pub(super) outcome: Outcome,
}

/// The result of an attempt to take lines of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// Whole lines.
    Lines(Vec<u8>),
    /// Nothing yet: the bell is to be waited for.
    Nothing,
    /// Nothing will come any more.
    End,
}

#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    stamp: Stamp,
    dropped: u64,
    is_closed: bool,
}

/// A second as lines have it, which is made once for all lines of that second.
#[derive(Debug)]
struct Stamp {
    second: i64,
    text: Vec<u8>,
}

impl Default for Stamp {
    fn default() -> Stamp {
        Stamp {
            second: i64::MIN,
            text: Vec::new(),
        }
    }
}

impl Stamp {
    fn at(&mut self, second: i64, format: LogFormat) -> &[u8] {
        if second == self.second {
            return &self.text;
        }
        self.second = second;
        self.text.clear();
        // `Sun, 06 Nov 1994 08:49:37 GMT`
        let date = date(second);
        let (day, month, year, clock) = (&date[5..7], &date[8..11], &date[12..16], &date[17..25]);
        if format == LogFormat::Json {
            const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
            let number = MONTHS.chunks(3).position(|name| name == month);
            let number = number.unwrap_or_default() + 1;
            self.text.extend_from_slice(year);
            push(&mut self.text, format_args!("-{number:02}-"));
            self.text.extend_from_slice(day);
            self.text.push(b'T');
        } else {
            for part in [day, b"/", month, b"/", year, b":"] {
                self.text.extend_from_slice(part);
            }
        }
        self.text.extend_from_slice(clock);
        &self.text
    }
}

/// The log of a server.
#[derive(Debug)]
pub struct Journal {
    format: LogFormat,
    lines: Mutex<Lines>,
    bell: OwnedFd,
}

impl Journal {
    pub(super) fn new(format: LogFormat) -> io::Result<Journal> {
        Ok(Journal {
            format,
            lines: Mutex::default(),
            bell: canny_replay::ask_for_descriptor(Kind::Watch, || {
                eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            })?,
        })
    }

    /// A descriptor that becomes readable when there is something to take.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn ring(&self) {
        // It fails only when it was rung 2^64 times.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    pub(super) fn log(&self, entry: &Entry<'_>) {
        let now = canny_replay::ask(Kind::Time, || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.unwrap_or_default()
        });
        let time = now.saturating_sub(entry.duration);
        let mut lines = self.lines.lock();
        if lines.bytes.len() >= WAITING_BYTES_MAX || lines.is_closed {
            lines.dropped += 1;
            return;
        }
        let is_first = lines.bytes.is_empty();
        let Lines { bytes, stamp, .. } = &mut *lines;
        let stamp = stamp.at(time.as_secs() as i64, self.format);
        match self.format {
            LogFormat::Json => push_json(bytes, entry, stamp, time.subsec_micros()),
            LogFormat::Common => push_common(bytes, entry, stamp, false),
            LogFormat::Combined => push_common(bytes, entry, stamp, true),
        }
        if is_first {
            self.ring();
        }
    }

    /// Takes all lines that there are.
    pub fn take(&self) -> Taken {
        let mut lines = self.lines.lock();
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        if !lines.bytes.is_empty() {
            return Taken::Lines(std::mem::take(&mut lines.bytes));
        }
        if lines.is_closed {
            Taken::End
        } else {
            Taken::Nothing
        }
    }

    /// How many lines were dropped since this was asked last.
    pub fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.lines.lock().dropped)
    }

    /// Nothing is appended any more.
    pub fn close(&self) {
        self.lines.lock().is_closed = true;
        self.ring();
    }
}

/// Appends what is written, which cannot fail.
fn push(output: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = output.write_fmt(text);
}

/// Appends a number of six digits.
fn push_micros(output: &mut Vec<u8>, micros: u32) {
    let mut digits = [b'0'; 6];
    let mut rest = micros;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    output.extend_from_slice(&digits);
}

fn push_address(output: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            for (at, octet) in address.octets().into_iter().enumerate() {
                if at > 0 {
                    output.push(b'.');
                }
                push_number(output, octet.into());
            }
        }
        IpAddr::V6(address) => push(output, format_args!("{address}")),
    }
}

/// Appends a text as it may stand between quotes.
fn push_quoted(output: &mut Vec<u8>, text: &[u8]) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.iter().all(is_plain) {
        output.extend_from_slice(text);
        return;
    }
    for byte in text {
        match byte {
            b'"' | b'\\' => output.extend_from_slice(&[b'\\', *byte]),
            byte if is_plain(byte) => output.push(*byte),
            _ => push(output, format_args!("\\x{byte:02x}")),
        }
    }
}

fn push_common(output: &mut Vec<u8>, entry: &Entry<'_>, stamp: &[u8], is_combined: bool) {
    match entry.client {
        Some(client) => push_address(output, client),
        None => output.push(b'-'),
    }
    output.extend_from_slice(b" - - [");
    output.extend_from_slice(stamp);
    output.extend_from_slice(b" +0000] \"");
    if entry.is_request {
        push_quoted(output, entry.texts.method());
        output.push(b' ');
        push_quoted(output, entry.texts.target());
        output.extend_from_slice(b" HTTP/");
        output.extend_from_slice(entry.version.as_bytes());
    } else {
        let line = entry.texts.line();
        push_quoted(output, if line.is_empty() { b"-" } else { line });
    }
    output.extend_from_slice(b"\" ");
    if entry.status == 0 {
        output.extend_from_slice(b"000");
    } else {
        push_number(output, entry.status.into());
    }
    output.push(b' ');
    push_number(output, entry.bytes);
    if is_combined {
        for field in [entry.texts.referer(), entry.texts.agent()] {
            output.extend_from_slice(b" \"");
            push_quoted(output, field.unwrap_or(b"-"));
            output.push(b'"');
        }
    }
    output.push(b'\n');
}

/// Appends a string of JSON: bytes that are no UTF-8 as if they were Latin-1.
fn push_string(output: &mut Vec<u8>, text: &[u8]) {
    output.push(b'"');
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.iter().all(is_plain) {
        output.extend_from_slice(text);
        output.push(b'"');
        return;
    }
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '"' | '\\' => output.extend_from_slice(&[b'\\', char as u8]),
                // Ends of lines for some readers are beyond ASCII.
                '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                    push(output, format_args!("\\u{:04x}", u32::from(char)));
                }
                _ => output.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for byte in chunk.invalid() {
            push(output, format_args!("\\u{byte:04x}"));
        }
    }
    output.push(b'"');
}

fn push_member(output: &mut Vec<u8>, name: &str, text: Option<&[u8]>) {
    output.extend_from_slice(b",\"");
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b"\":");
    match text {
        Some(text) => push_string(output, text),
        None => output.extend_from_slice(b"null"),
    }
}

fn push_json(output: &mut Vec<u8>, entry: &Entry<'_>, stamp: &[u8], micros: u32) {
    output.extend_from_slice(b"{\"time\":\"");
    output.extend_from_slice(stamp);
    output.push(b'.');
    push_micros(output, micros);
    output.extend_from_slice(b"Z\"");
    let texts = entry.texts;
    match entry.client {
        Some(client) => {
            output.extend_from_slice(b",\"peer\":\"");
            push_address(output, client);
            output.push(b'"');
        }
        None => push_member(output, "peer", None),
    }
    let of_request = |text| entry.is_request.then_some(text);
    push_member(output, "method", of_request(texts.method()));
    push_member(output, "target", of_request(texts.target()));
    push_member(output, "version", of_request(entry.version.as_bytes()));
    if !entry.is_request {
        push_member(output, "line", Some(texts.line()));
    }
    output.extend_from_slice(b",\"status\":");
    match entry.status {
        0 => output.extend_from_slice(b"null"),
        status => push_number(output, status.into()),
    }
    output.extend_from_slice(b",\"bytes\":");
    push_number(output, entry.bytes);
    output.extend_from_slice(b",\"duration\":");
    push_number(output, entry.duration.as_secs());
    output.push(b'.');
    push_micros(output, entry.duration.subsec_micros());
    push_member(output, "referer", texts.referer());
    push_member(output, "user_agent", texts.agent());
    push_member(output, "request_id", entry.request_id);
    push_member(output, "outcome", Some(entry.outcome.name().as_bytes()));
    output.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::RequestHead;
    use crate::server::ServerOptions;
    use crate::server::observer::Observer;

    fn observer(format: LogFormat) -> Observer {
        let options = ServerOptions {
            log: Some(format),
            ..ServerOptions::default()
        };
        Observer::new(&options).unwrap().unwrap()
    }

    fn lines(observer: &Observer) -> Vec<u8> {
        match observer.journal().unwrap().take() {
            Taken::Lines(lines) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_byte_stays_in_its_line() {
        for format in [LogFormat::Common, LogFormat::Combined, LogFormat::Json] {
            let observer = observer(format);
            for byte in 0..=255 {
                let bytes = [b'a', byte, b'"', byte];
                let record = observer.begin_refused(&bytes, Outcome::Refused);
                observer.finish(&record, None, 0, Outcome::Refused);
                let line = lines(&observer);
                assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
                assert_eq!(line.last(), Some(&b'\n'));
                let text = str::from_utf8(&line).unwrap();
                let is_shown = |char: char| char == '\n' || !char.is_control();
                assert!(text.chars().all(is_shown), "{text:?}");
            }
        }
    }

    #[test]
    fn lines_are_taken_together_and_end_once() {
        let observer = observer(LogFormat::Common);
        let journal = observer.journal().unwrap().clone();
        assert_eq!(journal.take(), Taken::Nothing);
        let bytes = b"GET /a HTTP/1.1";
        let head = RequestHead {
            length: bytes.len(),
            method: 0..3,
            target: 4..6,
            minor: 1,
            fields: Vec::new(),
        };
        for _ in 0..3 {
            let mut record = observer.begin(bytes, &head, "1.1", None);
            observer.answer(&mut record, b"HTTP/1.1 204 No Content\r\n\r\n", 0);
            observer.finish(&record, None, 27, Outcome::Complete);
        }
        let text = String::from_utf8(lines(&observer)).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.ends_with("] \"GET /a HTTP/1.1\" 204 0\n"), "{text}");
        journal.close();
        assert_eq!(journal.take(), Taken::End);
        let record = observer.begin(bytes, &head, "1.1", None);
        observer.finish(&record, None, 0, Outcome::ClientGone);
        assert_eq!((journal.take(), journal.take_dropped()), (Taken::End, 1));
    }
}
