//! Attacks on the web server: each has its outcome, and none is followed by anything but a server that
//! works as before. The list is the table of docs/security.md; `CANNY_BLESS=1` writes that.

#[path = "web_attacks/list.rs"]
mod list;
mod support;

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use list::{Attack, Outcome, attacks};
use support::{Canny, blessing, root, scratch};

/// A server that has neither answered nor ended the connection after this time hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between drops of what is sent slowly.
const PAUSE: Duration = Duration::from_millis(300);

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PAUSE)).expect("an option");
    stream.set_write_timeout(Some(PATIENCE)).expect("an option");
    stream
}

/// Waits until the server, however busy it is, has sent what fits the connection's buffers, and then
/// for longer than its time limit of one second: a client that reads sooner lets it resume.
fn wait_until_full(stream: &TcpStream) {
    let start = Instant::now();
    let (mut unread, mut since) = (None, start);
    while since.elapsed() < Duration::from_secs(5) && start.elapsed() < PATIENCE {
        std::thread::sleep(PAUSE);
        let now = rustix::io::ioctl_fionread(stream).expect("a socket tells what is unread");
        if unread.replace(now) != Some(now) {
            since = Instant::now();
        }
    }
}

/// The server's bytes until it ends the connection; with a note at the end where it does not.
fn exchange(address: &str, attack: &Attack) -> Vec<u8> {
    let mut stream = connect(address);
    // The server may end the connection before everything was sent.
    let mut is_open = stream.write_all(&attack.bytes).is_ok();
    let start = Instant::now();
    if attack.never_reads {
        wait_until_full(&stream);
    }
    let mut answer = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return answer,
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if let Some(drops) = attack.drop_by_drop
                    && is_open
                {
                    is_open = stream.write_all(drops).is_ok();
                }
            }
            Err(_) => return answer,
        }
        if start.elapsed() > PATIENCE {
            answer.extend_from_slice(b"... and the connection is still open");
            return answer;
        }
    }
}

fn status(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

/// The code of the farewell at the end of a WebSocket's frames.
fn close_code(answer: &[u8]) -> Option<u16> {
    let begin = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let mut frames = answer.get(begin..)?;
    loop {
        let [first, length, rest @ ..] = frames else {
            return None;
        };
        let (length, rest) = match length {
            126 => (
                u16::from_be_bytes([*rest.first()?, *rest.get(1)?]),
                &rest[2..],
            ),
            short => (u16::from(*short), rest),
        };
        let payload = rest.get(..usize::from(length))?;
        if *first == 0x88 {
            return Some(u16::from_be_bytes([*payload.first()?, *payload.get(1)?]));
        }
        frames = &rest[payload.len()..];
    }
}

/// A complaint about a wrong answer.
fn complaint(attack: &Attack, answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let lower = text.to_lowercase();
    let answers = text.matches("HTTP/1.1 ").count();
    let has_ended = !text.ends_with("still open");
    let is_right = has_ended
        && match attack.outcome {
            Outcome::Refused(code) => status(&text) == Some(code) && answers == 1,
            // Bytes that were sent before may have arrived.
            Outcome::Dropped => attack.never_reads || answer.is_empty(),
            Outcome::Harmless(code, part) => {
                status(&text) == Some(code) && answers == 1 && lower.contains(part)
            }
            Outcome::Without(code, part) => {
                status(&text) == Some(code) && answers == 1 && !lower.contains(part)
            }
            Outcome::Closed(code) => status(&text) == Some(101) && close_code(answer) == Some(code),
            Outcome::Open => status(&text) == Some(101) && close_code(answer) == Some(1000),
        };
    (!is_right).then(|| {
        let shown: String = text.chars().take(300).collect();
        format!(
            "{}, {}: {shown:?} in place of {:?}",
            attack.group, attack.name, attack.outcome
        )
    })
}

#[test]
fn attacks_come_to_nothing() {
    let directory = scratch();
    std::fs::write(directory.join("secret.txt"), "secret\n").expect("a file");
    let public = directory.join("public");
    std::fs::create_dir(&public).expect("a directory");
    std::fs::write(public.join("a.txt"), "public\n").expect("a file");
    std::fs::write(public.join(".hidden"), "secret\n").expect("a file");
    std::os::unix::fs::symlink("../secret.txt", public.join("link.txt")).expect("a link");
    std::os::unix::fs::symlink("..", public.join("out")).expect("a link");
    let program = include_str!("web_attacks/attacked.scm");
    let mut server = Canny::new(directory, &["attacked.scm"])
        .file("attacked.scm", program)
        .start();
    server.wait_for_output("\n");
    let output = server.output();
    let address = output.trim();

    let attacks = attacks();
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(attack) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let answer = exchange(address, attack);
                    if let Some(complaint) = complaint(attack, &answer) {
                        complaints.lock().expect("a lock").push(complaint);
                    }
                }
            });
        }
    });
    let seen = list::attacks().pop().map(|attack| Attack {
        bytes: b"GET /seen HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_vec(),
        outcome: Outcome::Harmless(200, "0 smuggled"),
        ..attack
    });
    let seen = seen.expect("there are attacks");
    let mut complaints = complaints.into_inner().expect("a lock");
    complaints.extend(complaint(&seen, &exchange(address, &seen)));
    server.signal("TERM");
    let outcome = server.wait();
    assert!(
        complaints.is_empty(),
        "{}\n{}",
        complaints.join("\n"),
        outcome.errors
    );
    assert!(!outcome.errors.contains("panicked"), "{}", outcome.errors);
}

/// The outcome in words.
fn words(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused(code) => format!("{code}, connection closed"),
        Outcome::Dropped => "connection closed".into(),
        Outcome::Harmless(404, _) => "404".into(),
        Outcome::Harmless(code, _) => format!("{code}, taken as it was meant"),
        Outcome::Without(code, _) => format!("{code}, nothing got through"),
        Outcome::Closed(code) => format!("closed with {code}"),
        Outcome::Open => "answered".into(),
    }
}

fn table() -> String {
    let mut text = String::new();
    let mut group = "";
    for attack in attacks() {
        if attack.group != group {
            group = attack.group;
            let _ = write!(text, "\n### {group}\n\n| attack | outcome |\n|---|---|\n");
        }
        let _ = writeln!(text, "| {} | {} |", attack.name, words(attack.outcome));
    }
    text
}

#[test]
fn the_page_has_the_list() {
    const BEGIN: &str = "<!-- the list of attacks -->\n";
    const END: &str = "\n<!-- the end of the list -->\n";
    let path = root().join("docs/security.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("a place for the list");
    let (_, after) = rest.split_once(END).expect("an end of the list");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", table());
    if blessing() {
        std::fs::write(&path, &wanted).expect("the page can be written");
    }
    assert!(
        page == wanted || blessing(),
        "docs/security.md has another list; CANNY_BLESS=1 writes it"
    );
}
