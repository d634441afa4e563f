//! Lines of source files around a place that a snapshot names, from files on this machine.
//!
//! Only files that types or allocating places of the file of snapshots name are read, whatever is
//! asked for. A relative name begins where the program ran, which the file does not have: the
//! working directory comes first, then the directory of the file. Names of the standard library
//! begin in a tree with its sources, if there is one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::session::Session;

/// Lines before and behind a place.
pub const LINES_AROUND: usize = 3;
/// The most lines on one side.
const AROUND_MAX: usize = 100;
/// Larger files are no sources of people.
const BYTES_MAX: u64 = 16 << 20;
/// Characters of a line.
const COLUMNS_MAX: usize = 500;
/// A file that every tree of the standard library has.
const LIBRARY_MARK: &str = "lib/scheme/base.sld";

/// A source file that was found.
struct Found {
    path: PathBuf,
    text: String,
    /// Milliseconds since 1970.
    changed: Option<u64>,
}

/// Reads a regular file. Nothing else is opened: a pipe would block.
fn read(path: &Path) -> Option<Result<Found, String>> {
    let data = fs::metadata(path).ok()?;
    if !data.is_file() {
        return None;
    }
    if data.len() > BYTES_MAX {
        let message = format!("{} is too large for a source file", path.display());
        return Some(Err(message));
    }
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(Err(format!("cannot read {}: {error}", path.display()))),
    };
    let since = data.modified().ok();
    let since = since.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(Ok(Found {
        path: path.to_owned(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
        changed: since.map(|since| since.as_millis() as u64),
    }))
}

/// Directories that may have `lib` with the sources of the standard library: the working directory,
/// and those above the program, which is there when Canny was built in its tree.
fn library_roots() -> Vec<PathBuf> {
    let mut roots = vec![PathBuf::from(".")];
    if let Ok(program) = std::env::current_exe() {
        roots.extend(program.ancestors().skip(1).map(Path::to_owned));
    }
    roots.retain(|root| root.join(LIBRARY_MARK).is_file());
    roots
}

/// A line without its tail, if it is very long.
fn cut(line: &str) -> String {
    match line.char_indices().nth(COLUMNS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl Session {
    /// Whether a file is named, and whether it belongs to the standard library.
    fn names_file(&self, file: &str) -> Option<bool> {
        let series = self.series();
        let types = series.types().iter();
        let mut types = types.filter(|row| row.file.as_deref() == Some(file));
        if let Some(row) = types.next() {
            return Some(row.is_library || types.any(|row| row.is_library));
        }
        let mut places = series.snapshots().iter().flat_map(|one| &one.places);
        let is_named = places.any(|place| place.file == file);
        is_named.then(|| file.starts_with("lib/"))
    }

    fn candidates(&self, file: &str, is_library: bool) -> Vec<PathBuf> {
        if is_library {
            let roots = library_roots().into_iter();
            return roots.map(|root| root.join(file)).collect();
        }
        let mut candidates = vec![PathBuf::from(file)];
        if let Some(directory) = self.directory() {
            candidates.push(directory.join(file));
        }
        candidates
    }

    /// The lines around a place, or a note why there are none.
    pub(super) fn source_answer(
        &self,
        file: &str,
        line: u32,
        around: usize,
    ) -> Result<Value, String> {
        let Some(is_library) = self.names_file(file) else {
            return Err(format!("no snapshot of this file names a source '{file}'"));
        };
        let without = |note: String| Ok(json!({ "file": file, "line": line, "note": note }));
        let candidates = self.candidates(file, is_library);
        let found = match candidates.iter().find_map(|path| read(path)) {
            Some(Ok(found)) => found,
            Some(Err(note)) => return without(note),
            None if is_library => {
                let note = "the sources of the standard library are not on this machine";
                return without(note.to_owned());
            }
            None => return without(format!("{file} is not on this machine")),
        };
        let has_changed = found.changed.is_some_and(|time| {
            let started = self.series().info().started;
            started > 0 && time > started
        });
        let lines: Vec<&str> = found.text.lines().collect();
        let at = line as usize;
        if at == 0 || at > lines.len() {
            return without(format!(
                "{file} has {} lines today, no line {line}",
                lines.len()
            ));
        }
        let around = around.min(AROUND_MAX);
        let first = at.saturating_sub(around).max(1);
        let last = (at + around).min(lines.len());
        let shown: Vec<String> = lines[first - 1..last].iter().map(|one| cut(one)).collect();
        let note = has_changed.then_some(
            "the file was changed after the first snapshot; the lines may be other ones",
        );
        Ok(json!({
            "file": file,
            "line": line,
            "path": found.path.display().to_string(),
            "first": first,
            "lines": shown,
            "note": note,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::Value;

    use super::*;
    use crate::file::{Info, SnapshotFacts, TypeRow, Writer};
    use crate::heap::tests::Model;

    /// A file of snapshots with procedures of three files, in a directory of its own.
    fn session(name: &str, started: u64) -> (PathBuf, Session) {
        let directory = std::env::temp_dir().join(format!("canny-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let info = Info {
            started,
            ..Info::default()
        };
        let procedure = |file: &str, is_library| TypeRow {
            family: "procedure".to_owned(),
            file: Some(file.to_owned()),
            line: Some(5),
            is_library,
            ..TypeRow::default()
        };
        let mut model = Model {
            types: vec![
                TypeRow::default(),
                procedure("app.scm", false),
                procedure("lib/none/nothing.sld", true),
                procedure("pipes", false),
            ],
            nodes: vec![(0, 0), (1, 1), (2, 1), (3, 1)],
            edges: vec![vec![(0, 1), (1, 2), (2, 3)]],
        };
        model.edges.resize(4, Vec::new());
        let mut writer = Writer::create(Vec::new(), &info).unwrap();
        model.write(&mut writer);
        writer.finish_snapshot(SnapshotFacts::default()).unwrap();
        let file = directory.join("app.heap");
        fs::write(&file, writer.into_inner()).unwrap();
        let session = Session::open(&file).unwrap();
        (directory, session)
    }

    fn source(session: &Session, file: &str, line: u32) -> Value {
        session.source_answer(file, line, LINES_AROUND).unwrap()
    }

    #[test]
    fn lines_are_found_beside_the_file_of_snapshots() {
        let (directory, session) = session("sources", 1);
        let text: String = (1..=9).map(|line| format!("line {line}\n")).collect();
        fs::write(directory.join("app.scm"), text).unwrap();
        let answer = source(&session, "app.scm", 2);
        assert_eq!(answer["first"], 1);
        assert_eq!(answer["lines"].as_array().unwrap().len(), 5);
        assert_eq!(source(&session, "app.scm", 5)["lines"][3], "line 5");
        assert_eq!(source(&session, "app.scm", 9)["lines"][3], "line 9");
        assert!(answer["note"].as_str().unwrap().contains("was changed"));
        for line in [0, 10] {
            let note = source(&session, "app.scm", line);
            assert!(note["note"].as_str().unwrap().contains("has 9 lines"));
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_older_than_the_snapshots_has_no_note() {
        let (directory, session) = session("older", u64::MAX);
        fs::write(directory.join("app.scm"), "(define a 1)").unwrap();
        assert_eq!(source(&session, "app.scm", 1)["note"], Value::Null);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn only_named_regular_files_are_read() {
        let (directory, session) = session("named", 1);
        fs::write(directory.join("other.scm"), "secret").unwrap();
        for file in ["other.scm", "../app.scm", "/etc/passwd", "", "app.heap"] {
            let error = session.source_answer(file, 1, 3).unwrap_err();
            assert!(error.contains("names"), "{error}");
        }
        // Named, but no regular file.
        fs::create_dir_all(directory.join("pipes")).unwrap();
        let missing = |file: &str| source(&session, file, 1)["note"].to_string();
        assert!(missing("pipes").contains("not on this machine"));
        assert!(missing("app.scm").contains("app.scm is not on this machine"));
        assert!(missing("lib/none/nothing.sld").contains("standard library"));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(cut("ab"), "ab");
        assert_eq!(cut(&"é".repeat(600)).chars().count(), COLUMNS_MAX + 1);
    }
}
