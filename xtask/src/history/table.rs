//! The measured figures, and the CSV file that keeps them.
//!
//! The file only grows: a row is written when everything about it is known. A row that was cut
//! short is left out when the file is read, and measured again.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

const HEADER: &str = "commit,benchmark,cpu_seconds,allocated_bytes,peak_bytes,note";

/// The least figures of a program on a commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub seconds: f64,
    /// `None` for commits that do not tell it.
    pub allocated_bytes: Option<u64>,
    pub peak_bytes: u64,
}

impl Figures {
    pub fn least(self, other: Figures) -> Figures {
        Figures {
            seconds: self.seconds.min(other.seconds),
            allocated_bytes: match (self.allocated_bytes, other.allocated_bytes) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            peak_bytes: self.peak_bytes.min(other.peak_bytes),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub commit: String,
    /// Empty in the row of a commit that does not build.
    pub benchmark: String,
    /// The figures, or why there are none.
    pub result: Result<Figures, String>,
}

impl Row {
    pub fn new(commit: &str, benchmark: &str, result: Result<Figures, String>) -> Row {
        Row {
            commit: commit.to_owned(),
            benchmark: benchmark.to_owned(),
            result,
        }
    }

    pub fn does_not_build(commit: &str, complaint: &str) -> Row {
        Row::new(commit, "", Err(format!("does not build: {complaint}")))
    }

    pub fn for_people(&self) -> String {
        match &self.result {
            Ok(figures) => format!(
                "{:.3} s, {} allocated, {} peak",
                figures.seconds,
                figures.allocated_bytes.map_or("?".to_owned(), bytes_text),
                bytes_text(figures.peak_bytes)
            ),
            Err(note) => note.clone(),
        }
    }

    fn csv(&self) -> String {
        let (seconds, allocated, peak, note) = match &self.result {
            Ok(figures) => (
                format!("{:.6}", figures.seconds),
                figures
                    .allocated_bytes
                    .map_or(String::new(), |bytes| bytes.to_string()),
                figures.peak_bytes.to_string(),
                "",
            ),
            Err(note) => (String::new(), String::new(), String::new(), note.as_str()),
        };
        let fields = [
            &self.commit,
            &self.benchmark,
            &seconds,
            &allocated,
            &peak,
            note,
        ];
        fields.map(quoted).join(",")
    }

    /// The row of a line; `None` if it is none, or was cut short.
    fn parse(line: &str) -> Option<Row> {
        let fields = split(line)?;
        let [commit, benchmark, seconds, allocated, peak, note] = fields.as_slice() else {
            return None;
        };
        let result = if seconds.is_empty() {
            Err(note.clone())
        } else {
            Ok(Figures {
                seconds: seconds.parse().ok()?,
                allocated_bytes: match allocated.as_str() {
                    "" => None,
                    text => Some(text.parse().ok()?),
                },
                peak_bytes: peak.parse().ok()?,
            })
        };
        Some(Row::new(commit, benchmark, result))
    }
}

pub fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

fn quoted(field: &str) -> String {
    let field = field.replace(['\n', '\r'], " ");
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// The fields of a line; `None` if a quote is not closed.
fn split(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut()?;
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            other => field.push(other),
        }
    }
    (!is_quoted).then_some(fields)
}

/// The rows measured so far.
#[derive(Debug, Default)]
pub struct History {
    rows: Vec<Row>,
}

impl History {
    /// Reads the file; a missing one is empty.
    pub fn load(path: &Path) -> Result<History, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => History::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(History::default()),
            Err(error) => Err(error.to_string()),
        }
        .map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<History, String> {
        // A line without its end was being written when the run was interrupted.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = complete.lines();
        match lines.next() {
            None | Some(HEADER) => Ok(History {
                rows: lines.filter_map(Row::parse).collect(),
            }),
            Some(_) => Err("this is no file of `cargo xtask history`".to_owned()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for row in &self.rows {
            text.push_str(&row.csv());
            text.push('\n');
        }
        text
    }

    /// Whether a benchmark was measured on a commit, or is known not to be measurable there.
    pub fn has(&self, commit: &str, benchmark: &str) -> bool {
        self.rows.iter().any(|row| {
            row.commit == commit && (row.benchmark == benchmark || row.benchmark.is_empty())
        })
    }

    /// Whether nothing is known that says that a commit does not build.
    pub fn builds(&self, commit: &str) -> bool {
        let is_refusal = |row: &Row| row.commit == commit && row.benchmark.is_empty();
        !self.rows.iter().any(is_refusal)
    }

    /// The figures of a benchmark on a commit, the newest if there are several.
    pub fn figures(&self, commit: &str, benchmark: &str) -> Option<Figures> {
        let row = self
            .rows
            .iter()
            .rfind(|row| row.commit == commit && row.benchmark == benchmark)?;
        row.result.as_ref().ok().copied()
    }

    /// Why a benchmark has no figures on a commit.
    pub fn note(&self, commit: &str, benchmark: &str) -> Option<&str> {
        let row = self.rows.iter().rfind(|row| {
            row.commit == commit && (row.benchmark == benchmark || row.benchmark.is_empty())
        })?;
        row.result.as_ref().err().map(String::as_str)
    }

    /// Benchmarks in the order of their first rows.
    pub fn benchmarks(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !row.benchmark.is_empty() && !names.contains(&row.benchmark.as_str()) {
                names.push(&row.benchmark);
            }
        }
        names
    }

    /// Adds a row, and writes it at once.
    pub fn append(&mut self, path: &Path, row: Row) -> Result<(), String> {
        let failure = |error: std::io::Error| format!("{}: {error}", path.display());
        // The first row of a run also takes away what an interrupted one left.
        self.rows.push(row);
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        let is_whole = kept.ends_with('\n')
            && History::parse(&kept).is_ok_and(|old| old.rows.len() + 1 == self.rows.len());
        if !is_whole {
            return std::fs::write(path, self.text()).map_err(failure);
        }
        let line = self
            .rows
            .last()
            .map_or(String::new(), |row| format!("{}\n", row.csv()));
        let mut file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(failure)?;
        file.write_all(line.as_bytes()).map_err(failure)
    }
}

/// The bytes allocated, from the file that `CANNY_STATISTICS` names.
pub fn allocated_bytes(statistics: &str) -> Option<u64> {
    let mut lines = statistics.lines();
    lines
        .find_map(|line| line.strip_prefix("bytes-allocated "))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(seconds: f64, allocated: Option<u64>, peak: u64) -> Figures {
        Figures {
            seconds,
            allocated_bytes: allocated,
            peak_bytes: peak,
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            Row::new("aaaa", "fib", Ok(figures(1.5, None, 9_000_000))),
            Row::does_not_build("bbbb", "error: expected `;`, found \"x\"\nand more"),
            Row::new("cccc", "fib", Ok(figures(0.25, Some(1234), 8_000_000))),
            Row::new("cccc", "suite:ray", Err("exit code 70".to_owned())),
        ]
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let history = History { rows: rows() };
        let read = History::parse(&history.text()).expect("it is such a file");
        assert_eq!(read.rows[0], history.rows[0]);
        assert_eq!(read.rows[2..], history.rows[2..]);
        assert_eq!(
            read.note("bbbb", "fib"),
            Some("does not build: error: expected `;`, found \"x\" and more")
        );
    }

    #[test]
    fn a_row_that_was_cut_short_is_measured_again() {
        let text = History { rows: rows() }.text();
        for cut in 1..30 {
            let history = History::parse(&text[..text.len() - cut]).expect("it is such a file");
            assert_eq!(history.rows.len(), 3, "without the last {cut} bytes");
            assert!(!history.has("cccc", "suite:ray"));
            assert!(history.has("cccc", "fib"));
        }
    }

    #[test]
    fn a_commit_that_does_not_build_is_not_built_again() {
        let history = History { rows: rows() };
        assert!(history.has("bbbb", "fib"));
        assert!(history.has("bbbb", "tak"));
        assert!(!history.has("aaaa", "tak"));
        assert!(!history.builds("bbbb") && history.builds("aaaa"));
        assert_eq!(history.figures("bbbb", "fib"), None);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(History::parse("a,b\n1,2\n").is_err());
        assert!(History::parse("").is_ok());
    }

    #[test]
    fn rows_are_appended_behind_what_an_interrupted_run_left() {
        let directory = std::env::temp_dir().join(format!("xtask-history-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("the directory can be made");
        let path = directory.join("history.csv");
        std::fs::write(&path, format!("{HEADER}\naaaa,fib,1.5,,90,\nbbbb,fib,0."))
            .expect("the file can be written");
        let mut history = History::load(&path).expect("it is such a file");
        for commit in ["bbbb", "cccc"] {
            let row = Row::new(commit, "fib", Ok(figures(2.0, Some(5), 6)));
            history.append(&path, row).expect("the file can be written");
        }
        let text = std::fs::read_to_string(&path).expect("the file is there");
        assert_eq!(
            text,
            format!(
                "{HEADER}\naaaa,fib,1.500000,,90,\nbbbb,fib,2.000000,5,6,\ncccc,fib,2.000000,5,6,\n"
            )
        );
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
    }

    #[test]
    fn each_figure_is_the_least() {
        let least = figures(2.0, Some(7), 5).least(figures(1.0, Some(9), 6));
        assert_eq!(least, figures(1.0, Some(7), 5));
        assert_eq!(
            figures(2.0, None, 5).least(figures(3.0, Some(9), 4)),
            figures(2.0, Some(9), 4)
        );
    }

    #[test]
    fn statistics_are_lines_of_name_and_number() {
        assert_eq!(
            allocated_bytes("collections 3\nbytes-allocated 48000\n"),
            Some(48000)
        );
        assert_eq!(allocated_bytes(""), None);
    }
}
