//! The page of a profile while it grows: a server on the loopback address.
//!
//! Other users of the machine can connect to it, too. So all paths begin with a random word, which only the
//! terminal shows. The page fetches the file of the profile from the byte on that it has.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest request.
const REQUEST_BYTES_MAX: u64 = 16 << 10;
/// Time in which a client has to send its request, or to take the answer.
const CLIENT_TIME: Duration = Duration::from_secs(10);
/// Most bytes of an answer with a part of the profile.
const PART_BYTES_MAX: u64 = 16 << 20;
/// Time that a page has to fetch the end.
const END_TIME: Duration = Duration::from_secs(5);
/// Bytes of the word.
const WORD_BYTES: usize = 16;

/// A page that is being served.
pub struct Live {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    word: String,
    /// Bytes of the profile that a page has.
    fetched: AtomicU64,
    has_page: AtomicBool,
}

impl Live {
    /// Serves the page of the profile in a file, and says where.
    pub fn start(path: PathBuf) -> Result<Live, String> {
        let failed = |error: io::Error| format!("cannot serve the page: {error}");
        let mut random = [0; WORD_BYTES];
        let source = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
        source.map_err(failed)?;
        let word: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let shared = Arc::new(Shared {
            path,
            word,
            fetched: AtomicU64::new(0),
            has_page: AtomicBool::new(false),
        });
        let served = shared.clone();
        let work = move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                // Without a thread the page asks again.
                let _ = named("canny-page").spawn(move || {
                    // A page that is gone needs no answer.
                    let _ = serve(&served, &stream);
                });
            }
        };
        named("canny-page").spawn(work).map_err(failed)?;
        eprintln!("live page: http://127.0.0.1:{port}/{}/", shared.word);
        Ok(Live { shared })
    }

    /// The profile is complete: a page that is open gets some time to fetch its end.
    pub fn finish(self) {
        let begun = Instant::now();
        let is_complete = || {
            let bytes = self.shared.path.metadata().map_or(0, |data| data.len());
            self.shared.fetched.load(Ordering::SeqCst) >= bytes
        };
        let has_page = self.shared.has_page.load(Ordering::SeqCst);
        while has_page && !is_complete() && begun.elapsed() < END_TIME {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

fn serve(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_TIME))?;
    stream.set_write_timeout(Some(CLIENT_TIME))?;
    let mut reader = BufReader::new(stream.take(REQUEST_BYTES_MAX));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    // The rest of the head is of no interest, but a client may want to have sent it.
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = first.split_ascii_whitespace();
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let path = target
        .strip_prefix('/')
        .and_then(|path| path.strip_prefix(&*shared.word));
    if method != Some("GET") {
        return answer(
            stream,
            "405 Method Not Allowed",
            "text/plain",
            b"only GET\n",
        );
    }
    match path {
        Some("/") => {
            shared.has_page.store(true, Ordering::SeqCst);
            let page = canny_profile::page::bare().as_bytes();
            answer(stream, "200 OK", "text/html; charset=utf-8", page)
        }
        Some(path) if path == "/profile" || path.starts_with("/profile?") => {
            let from = path.split_once("from=").map_or("0", |(_, from)| from);
            let Ok(from) = from.parse() else {
                return answer(stream, "400 Bad Request", "text/plain", b"from=BYTES\n");
            };
            let part = part_of(&shared.path, from)?;
            answer(stream, "200 OK", "application/json", &part)?;
            let end = from.saturating_add(part.len() as u64);
            shared.fetched.fetch_max(end, Ordering::SeqCst);
            Ok(())
        }
        _ => answer(
            stream,
            "404 Not Found",
            "text/plain",
            b"there is no such page\n",
        ),
    }
}

/// The bytes of a file from one on, up to a limit.
fn part_of(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A file that is not there yet is empty.
    if let Ok(mut file) = File::open(path) {
        file.seek(SeekFrom::Start(from))?;
        file.take(PART_BYTES_MAX).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn answer(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}
