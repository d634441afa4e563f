//! The files that the programs of `benches/io` read, the same bytes on every machine.
//!
//! They are written as they are made: what this process ever took would count as memory of the programs
//! it starts.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::programs::random::Random;
use crate::workspace;

const LINES: usize = 1_000_000;
const LINE_CHARACTERS: usize = 60;
const ROWS: usize = 1_000_000;
const RECORDS_BYTES: usize = 50_000_000;
const LOG_BYTES: usize = 100_000_000;

const WORDS: &[&str] = &[
    "alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper", "oak",
    "pine", "rowan", "spruce", "willow", "yew",
];

const NAMES: &[&str] = &[
    "alpha", "beta", "gamma", "delta", "lambda", "omega", "sigma", "theta",
];

type Writer = fn(&mut dyn Write) -> io::Result<()>;

/// Writes the files into a directory.
pub fn generate(directory: &Path) -> Result<(), String> {
    let files: [(&str, Writer); 5] = [
        ("ascii.txt", |out| lines(false, LINES, out)),
        ("mixed.txt", |out| lines(true, LINES, out)),
        ("records.json", records),
        ("rows.csv", rows),
        ("server.log", log),
    ];
    for (name, write) in files {
        let path = directory.join(name);
        let written = File::create(&path).and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        });
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    // Without gzip the program that reads such a file says so.
    if workspace::installed("gzip") {
        let status = Command::new("gzip")
            .arg("--keep")
            .arg(directory.join("server.log"))
            .stdin(Stdio::null())
            .status()
            .map_err(|error| format!("gzip does not start: {error}"))?;
        if !status.success() {
            return Err("gzip fails".to_owned());
        }
    }
    Ok(())
}

/// Lines of words, all of the same number of characters. If they are mixed, every twentieth has a
/// letter with a combining accent, one of Latin-1, a Greek word and a sign of three bytes.
fn lines(mixed: bool, count: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut random = Random::new(1, 0);
    for number in 0..count {
        let mut text = String::new();
        let mut missing = LINE_CHARACTERS;
        if mixed && number % 20 == 0 {
            let start = "cafe\u{301} déjà λόγος 5 € ";
            text.push_str(start);
            missing -= start.chars().count();
        }
        while missing > 0 {
            let word = random.choose(WORDS);
            let word = &word[..word.len().min(missing)];
            text.push_str(word);
            missing -= word.len();
            if missing > 0 {
                text.push(' ');
                missing -= 1;
            }
        }
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// An array of objects with strings, numbers, arrays, letters beyond ASCII and escapes.
fn records(out: &mut dyn Write) -> io::Result<()> {
    let mut random = Random::new(2, 0);
    out.write_all(b"[")?;
    let (mut id, mut size) = (0, 1);
    while size < RECORDS_BYTES {
        let mut text = String::new();
        id += 1;
        if id > 1 {
            text.push_str(",\n");
        }
        let (first, second) = (random.choose(WORDS), random.choose(WORDS));
        let score = random.below(1_000_000) as f64 / 1000.0;
        let active = random.once_in(2);
        let parent = match random.below(3) {
            0 => "null".to_owned(),
            _ => random.below(id).to_string(),
        };
        let _ = write!(
            text,
            "{{\"id\": {id}, \"name\": \"{first} {second}\", \"city\": \"Zürich ({second})\", \
             \"active\": {active}, \"parent\": {parent}, \"score\": {score}, \
             \"note\": \"line one\\nline \\\"two\\\" of {first} \\u00e9\", \"position\": ["
        );
        for index in 0..6 {
            let separator = if index == 0 { "" } else { ", " };
            let value = random.below(100_000_000) as f64 / 10_000.0;
            let _ = write!(text, "{separator}{value}");
        }
        text.push_str("], \"tags\": [");
        for index in 0..random.below(6) {
            let separator = if index == 0 { "" } else { ", " };
            let _ = write!(text, "{separator}\"{}\"", random.choose(NAMES));
        }
        let _ = write!(
            text,
            "], \"address\": {{\"street\": \"{second} lane {}\", \"zip\": \"{:05}\", \"country\": \"CH\"}}}}",
            random.below(200),
            random.below(100_000)
        );
        size += text.len();
        out.write_all(text.as_bytes())?;
    }
    out.write_all(b"]\n")
}

/// Rows of eight fields, every second with one that is quoted.
fn rows(out: &mut dyn Write) -> io::Result<()> {
    let mut random = Random::new(3, 0);
    for id in 0..ROWS {
        let (first, second) = (random.choose(WORDS), random.choose(NAMES));
        let (count, price) = (random.below(1000), random.below(1_000_000) as f64 / 100.0);
        let note = match id % 4 {
            0 => format!("\"{first}, {second}\""),
            2 => format!("\"the \"\"{first}\"\" one\""),
            _ => format!("{first} {second}"),
        };
        writeln!(
            out,
            "{id},{first},{note},{count},{price},Genève,2026-11-{:02},{second}",
            id % 30 + 1
        )?;
    }
    Ok(())
}

/// Requests to a server.
fn log(out: &mut dyn Write) -> io::Result<()> {
    let mut random = Random::new(4, 0);
    let (mut second, mut size) = (0, 0);
    while size < LOG_BYTES {
        let mut text = String::new();
        second += random.below(2);
        let level = match random.below(10) {
            0 => "ERROR",
            1 => "WARN",
            _ => "INFO",
        };
        let (place, name) = (random.choose(WORDS), random.choose(NAMES));
        let _ = writeln!(
            text,
            "2026-11-22T{:02}:{:02}:{:02} 10.{}.{}.{} {level} \"GET /{place}/{name}?id={}&page={} HTTP/1.1\" \
             200 {} {}ms",
            second / 3600 % 24,
            second / 60 % 60,
            second % 60,
            random.below(256),
            random.below(256),
            random.below(256),
            random.below(1_000_000),
            random.below(100),
            random.below(100_000),
            random.below(2000)
        );
        size += text.len();
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_sixty_characters() {
        let text_of = |mixed| {
            let mut bytes = Vec::new();
            lines(mixed, 100, &mut bytes).expect("memory takes everything");
            String::from_utf8(bytes).expect("it is UTF-8")
        };
        let text = text_of(true);
        assert_eq!(text.lines().count(), 100);
        let has_length = |line: &str| line.chars().count() == LINE_CHARACTERS;
        assert!(text.lines().all(has_length));
        assert!(!text.is_ascii() && text_of(false).is_ascii());
    }
}
