//! Inputs of former sessions, kept in a file.
//!
//! Each input is a line of the file, with `\n` for line ends and `\\` for backslashes. New inputs
//! are appended, so that sessions side by side lose nothing; a file that has grown too long is
//! written anew beside itself and put in its place. Problems with the file do not stop the prompt:
//! an unreadable file is reported once and counts as absent; lines that cannot be written are
//! reported once and kept for this session only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Inputs that are remembered.
const ENTRIES_MAX: usize = 2000;
/// Bytes at the end of the file that are read.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Inputs longer than this are not kept in the file.
const ENTRY_BYTES_MAX: usize = 32 * 1024;

/// The inputs, oldest first.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    path: Option<PathBuf>,
}

impl History {
    /// Reads the file; also what went wrong.
    pub fn open(path: Option<PathBuf>) -> (History, Option<String>) {
        let mut history = History {
            entries: Vec::new(),
            path,
        };
        let Some(path) = &history.path else {
            return (history, None);
        };
        let problem = match read_end(path) {
            Ok((text, is_whole)) => {
                // The first line may be the end of a longer one.
                let lines = text.lines().skip(usize::from(!is_whole));
                history.entries = lines.filter_map(decoded).collect();
                let count = history.entries.len();
                if count > ENTRIES_MAX || !is_whole {
                    history.entries.drain(..count.saturating_sub(ENTRIES_MAX));
                    history.shorten_file();
                }
                None
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let message = format!("the history {} cannot be read: {error}", path.display());
                history.path = None;
                Some(message)
            }
        };
        (history, problem)
    }

    /// The inputs, oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// How the newest input that begins with a text continues; nothing for no text.
    pub fn suggestion(&self, text: &str) -> Option<&str> {
        if text.trim().is_empty() {
            return None;
        }
        let rests = self.entries.iter().rev();
        let mut rests = rests.filter_map(|entry| entry.strip_prefix(text));
        rests.find(|rest| !rest.is_empty())
    }

    /// Adds an input; gives what went wrong, the first time.
    pub fn add(&mut self, text: &str) -> Option<String> {
        let text = text.trim_end();
        if text.is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return None;
        }
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.remove(0);
        }
        self.entries.push(text.to_owned());
        if text.len() > ENTRY_BYTES_MAX {
            return None;
        }
        let path = self.path.clone()?;
        match append(&path, &format!("{}\n", encoded(text))) {
            Ok(()) => None,
            Err(error) => {
                self.path = None;
                let path = path.display();
                Some(format!("the history {path} cannot be written: {error}"))
            }
        }
    }

    /// Writes the file anew with what is remembered. It is only made shorter by this, so trouble is no
    /// matter.
    fn shorten_file(&self) {
        let Some(path) = &self.path else { return };
        let text: String = self
            .entries
            .iter()
            .map(|entry| format!("{}\n", encoded(entry)))
            .collect();
        let beside = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = private_file(&beside).and_then(|mut file| file.write_all(text.as_bytes()));
        if written.is_err() || fs::rename(&beside, path).is_err() {
            let _ = fs::remove_file(&beside);
        }
    }
}

/// The end of a file as text, and whether that is all of it.
fn read_end(path: &Path) -> io::Result<(String, bool)> {
    // A pipe or a device would be waited for.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(FILE_BYTES_MAX);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), start == 0))
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // One write for one line: other sessions append too.
    private_file(path)?.write_all(line.as_bytes())
}

/// A file to append to that others cannot read.
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

fn encoded(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

/// The input of a line; nothing for what is none.
fn decoded(line: &str) -> Option<String> {
    if line.is_empty() || line.len() > 2 * ENTRY_BYTES_MAX || line.contains('\0') {
        return None;
    }
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    Some(text)
}

/// Where the history is kept: `CANNY_HISTORY`, else in the user's state directory; nowhere if that is empty.
pub fn path(environment: &Environment) -> Option<PathBuf> {
    if let Some(path) = &environment.history {
        return (!path.as_os_str().is_empty()).then(|| path.clone());
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = match set("XDG_STATE_HOME") {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(set("HOME")?).join(".local/state"),
    };
    Some(base.join("canny").join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("canny-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory can be made");
        directory
    }

    #[test]
    fn inputs_come_back() {
        let directory = scratch("history");
        let path = directory.join("below/history");
        let (mut history, problem) = History::open(Some(path.clone()));
        assert_eq!(problem, None);
        for text in ["(a\n b)", "\"\\n\"", "\"\\n\"", "  ", "λ"] {
            assert_eq!(history.add(text), None);
        }
        let (again, problem) = History::open(Some(path));
        assert_eq!(problem, None);
        assert_eq!(again.entries(), ["(a\n b)", "\"\\n\"", "λ"]);
        fs::remove_dir_all(directory).expect("it can be removed");
    }

    #[test]
    fn damaged_and_huge_files_are_no_trouble() {
        let directory = scratch("damaged");
        let path = directory.join("history");
        let mut bytes = vec![b'x'; 3 << 20];
        bytes.extend(b"\n\xff\xfe\0\n(good)\n\\");
        fs::write(&path, bytes).expect("a file can be written");
        let (history, problem) = History::open(Some(path.clone()));
        assert_eq!(problem, None);
        assert_eq!(history.entries(), ["(good)", "\\"]);
        let length = fs::metadata(&path).expect("the file is there").len();
        assert!(length < 100, "{length}");
        fs::remove_dir_all(directory).expect("it can be removed");
    }

    #[test]
    fn what_is_no_file_is_told_once() {
        let directory = scratch("no-file");
        let (mut history, problem) = History::open(Some(directory.clone()));
        assert!(problem.is_some_and(|problem| problem.contains("cannot be read")));
        assert_eq!(history.add("(a)"), None);
        let inside = directory.join("plain");
        fs::write(&inside, "").expect("a file can be written");
        let (mut history, problem) = History::open(Some(inside.join("history")));
        assert!(problem.is_some_and(|problem| problem.contains("cannot be read")));
        assert_eq!(history.add("(a)"), None);
        assert_eq!(history.add("(b)"), None);
        assert_eq!(history.entries(), ["(a)", "(b)"]);
        fs::remove_dir_all(directory).expect("it can be removed");
    }
}
