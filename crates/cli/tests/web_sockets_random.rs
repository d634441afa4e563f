//! WebSockets by chance: frames and mutations of them, sent to a server in parts of any size; what
//! comes back is compared with a model of RFC 6455 and of compressed messages (RFC 7692).
//! `CANNY_FUZZ_COUNT` is how many sessions there are, `CANNY_FUZZ_SEED` where they begin.

#[path = "web_sockets_random/deflate.rs"]
mod deflate;
#[path = "web_sockets_random/generator.rs"]
mod generator;
#[path = "web_sockets_random/model.rs"]
mod model;
mod support;

use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deflate::{Reader, Stop, TAIL, Window, Writer};
use generator::{Random, parts, session};
use model::{Said, answers};
use support::{Canny, scratch};

/// A server that has not ended the connection after this time hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client's request, and the compression that results from it.
struct Setup {
    path: &'static str,
    offer: &'static str,
    /// The windows that the server and the client compress with.
    windows: Option<(Window, Window)>,
}

const fn setup(
    path: &'static str,
    offer: &'static str,
    windows: Option<(u32, bool, u32, bool)>,
) -> Setup {
    let windows = match windows {
        None => None,
        Some((bits, keeps_context, client_bits, client_keeps_context)) => Some((
            Window {
                bits,
                keeps_context,
            },
            Window {
                bits: client_bits,
                keeps_context: client_keeps_context,
            },
        )),
    };
    Setup {
        path,
        offer,
        windows,
    }
}

const SETUPS: [Setup; 8] = [
    setup("/", "", None),
    setup("/", "permessage-deflate", None),
    setup(
        "/context",
        "permessage-deflate; client_max_window_bits=20",
        None,
    ),
    setup("/alone", "permessage-deflate", Some((15, false, 15, false))),
    setup(
        "/alone",
        "permessage-deflate; server_max_window_bits=10",
        Some((10, false, 15, false)),
    ),
    setup("/context", "permessage-deflate", Some((15, true, 15, true))),
    setup(
        "/context",
        "permessage-deflate; server_max_window_bits=9; client_max_window_bits=10",
        Some((9, true, 10, true)),
    ),
    setup(
        "/context",
        "permessage-deflate; server_no_context_takeover; client_max_window_bits=8",
        Some((15, false, 8, true)),
    ),
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| {
        let wrong = |_| panic!("{name} wants a number, not '{text}'");
        text.parse().unwrap_or_else(wrong)
    })
}

/// All that a server sends behind its head.
fn exchange(
    address: &str,
    setup: &Setup,
    bytes: &[u8],
    parts: &[usize],
) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Setup { path, offer, .. } = setup;
    let handshake = format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Extensions: {offer}\r\n\r\n"
    );
    stream.write_all(handshake.as_bytes())?;
    let mut rest = bytes;
    for &part in parts {
        let (part, behind) = rest.split_at(part);
        stream.write_all(part)?;
        rest = behind;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let head = head.ok_or_else(|| std::io::Error::other("no head"))?;
    Ok(answer.split_off(head + 4))
}

/// The frames of a server.
fn frames(mut bytes: &[u8]) -> Result<Vec<(u8, &[u8])>, String> {
    let mut frames = Vec::new();
    while let [first, length, rest @ ..] = bytes {
        let count = match length {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let (number, rest) = rest.split_at_checked(count).ok_or("half a head")?;
        let length = match count {
            0 => usize::from(*length),
            _ => number
                .iter()
                .fold(0, |number, byte| number * 256 + usize::from(*byte)),
        };
        let (payload, rest) = rest.split_at_checked(length).ok_or("half a frame")?;
        frames.push((*first, payload));
        bytes = rest;
    }
    match bytes {
        [] => Ok(frames),
        _ => Err("half a head".to_owned()),
    }
}

/// The first byte of a frame and its payload.
type Frame<'a> = (u8, Cow<'a, [u8]>);

/// The same with messages decompressed.
fn decompressed<'a>(
    frames: Vec<(u8, &'a [u8])>,
    window: Option<Window>,
) -> Result<Vec<Frame<'a>>, String> {
    let mut reader = window.map(Reader::new);
    let mut messages = Vec::new();
    for (first, payload) in frames {
        if first & 0x40 == 0 {
            messages.push((first, payload.into()));
            continue;
        }
        let reader = reader.as_mut().ok_or("a compressed message")?;
        let bytes = [payload, &TAIL].concat();
        let (content, stop) = reader.read(&bytes, model::LIMIT);
        if stop != Stop::Between {
            return Err(format!("compressed data: {stop:?}"));
        }
        reader.end_message(&bytes, &content);
        messages.push((first & !0x40, content.into()));
    }
    Ok(messages)
}

/// Whether a frame of the server is what the model has it say.
fn is_said(frame: (u8, &[u8]), said: &Said) -> bool {
    match (frame, said) {
        ((0x81, payload), Said::Text(text)) => payload == text,
        ((0x82, payload), Said::Binary(bytes)) => payload == bytes,
        ((0x8A, payload), Said::Pong(bytes)) => payload == bytes,
        ((0x88, payload), Said::Answer(bytes)) => payload == bytes,
        ((0x88, [high, low, ..]), Said::Refusal(code)) => {
            u16::from_be_bytes([*high, *low]) == *code
        }
        _ => false,
    }
}

/// A complaint about a server's answer that differs from the model's.
fn complaint(setup: &Setup, expected: &[Said], answer: &[u8]) -> Option<String> {
    let frames = frames(answer)
        .and_then(|frames| decompressed(frames, setup.windows.map(|(server, _)| server)));
    let frames = match frames {
        Ok(frames) => frames,
        Err(message) => return Some(message),
    };
    let count = frames
        .iter()
        .zip(expected)
        .take_while(|((first, payload), said)| is_said((*first, payload), said))
        .count();
    let is_doubtful = expected.get(count) == Some(&Said::Anything);
    if is_doubtful || count == frames.len() && count == expected.len() {
        return None;
    }
    let short = |text: String| text.chars().take(200).collect::<String>();
    Some(format!(
        "answer {count}: {} in place of {}",
        short(format!("{:x?}", frames.get(count))),
        short(format!("{:x?}", expected.get(count)))
    ))
}

#[test]
fn servers_answer_as_the_model_does() {
    let first = number("CANNY_FUZZ_SEED", 1);
    let count = number("CANNY_FUZZ_COUNT", 1500);
    let mut server = Canny::new(scratch(), &["echo.scm"])
        .file("echo.scm", include_str!("web_sockets_random/echo.scm"))
        .start();
    server.wait_for_output("\n");
    let output = server.output();
    let address = output.trim();
    let (next, complaints) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    let doubtful = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || complaints.lock().expect("a lock").len() > 4 {
                        break;
                    }
                    let mut random = Random::new(seed);
                    let setup = random.choose(&SETUPS);
                    let writer = setup.windows.map(|(_, client)| Writer::new(client));
                    let bytes = session(&mut random, writer);
                    let parts = parts(&mut random, bytes.len());
                    let expected = answers(&bytes, setup.windows.map(|(_, client)| client));
                    if expected.contains(&Said::Anything) {
                        doubtful.fetch_add(1, Ordering::Relaxed);
                    }
                    let complaint = match exchange(address, setup, &bytes, &parts) {
                        Ok(answer) => complaint(setup, &expected, &answer),
                        Err(error) => Some(error.to_string()),
                    };
                    if let Some(complaint) = complaint {
                        let mut complaints = complaints.lock().expect("a lock");
                        complaints.push(format!("seed {seed} ({}): {complaint}", setup.offer));
                    }
                }
            });
        }
    });
    server.signal("TERM");
    let outcome = server.wait();
    let complaints = complaints.into_inner().expect("a lock");
    assert!(
        complaints.is_empty(),
        "{}\n{}",
        complaints.join("\n"),
        outcome.errors
    );
    assert_eq!(outcome.errors, "");
    // The model knows what to expect.
    let doubtful = doubtful.into_inner();
    assert!(
        count < 1000 || doubtful * 20 <= count,
        "{doubtful} of {count} are doubtful"
    );
}
