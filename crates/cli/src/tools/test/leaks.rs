//! Looking for what a suite leaves behind, in the suite's own process (`canny test --leaks`).
//!
//! The file is loaded again and again, and the objects by type are counted in between. A type of which
//! each round leaves more objects becomes a failure in the suite's report. Results of the tests in these
//! runs do not count: the report is cut back to what the first run told.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use canny_vm::survey::{SummaryRow, grown};

use crate::session::{Failure, Session};

/// Runs before the first count, as they may fill caches.
const WARM_UPS: u64 = 2;
/// Rounds between which objects are counted.
const ROUNDS: u64 = 3;
/// Types that are told.
const TYPES_MAX: usize = 12;

/// Loads a file so many times in each round, and adds to the report what grew.
pub fn look(session: &mut Session, report: &Path, file: &Path, runs: u64) {
    let length = std::fs::metadata(report).map_or(0, |data| data.len());
    let line = match count(session, file, runs) {
        Ok(rows) if rows.is_empty() => "(pass (\"leaks\") 0)\n".to_owned(),
        Ok(rows) => failure(&rows, ROUNDS * runs),
        Err(_) => {
            "(problem \"leaks were not looked for: the suite cannot be loaded\")\n".to_owned()
        }
    };
    // A report that cannot be written is noticed by whoever reads it.
    let _ = rewrite(report, length, &line);
}

fn count(session: &mut Session, file: &Path, runs: u64) -> Result<Vec<SummaryRow>, Failure> {
    // Variables of a program live as long as the machine. Those of a file that is loaded again are the
    // same ones.
    let file = quoted(&file.to_string_lossy());
    let program = format!("(import (scheme base) (scheme load)) (lambda () (load {file}))");
    let prepared = session
        .evaluation()
        .prepare_program("leaks", program.as_bytes());
    // On the native stack, the procedure stays alive and where it is.
    let load = std::hint::black_box(session.run(prepared)?);
    for _ in 0..WARM_UPS {
        session.call(load)?;
    }
    let mut notes = vec![session.heap_summary()];
    for _ in 0..ROUNDS {
        for _ in 0..runs {
            session.call(load)?;
        }
        notes.push(session.heap_summary());
    }
    Ok(grown(notes, runs))
}

fn rewrite(report: &Path, length: u64, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(report)?;
    file.set_len(length)?;
    file.write_all(line.as_bytes())
}

fn failure(rows: &[SummaryRow], runs: u64) -> String {
    let mut texts: Vec<String> = rows
        .iter()
        .take(TYPES_MAX)
        .map(|row| quoted(&row.in_words(runs, "runs")))
        .collect();
    if rows.len() > TYPES_MAX {
        let more = rows.len() - TYPES_MAX;
        texts.push(quoted(&format!("and {more} more types")));
    }
    let first = texts.remove(0);
    format!(
        "(fail (\"leaks\") 0 #f \"(the suite, {runs} times)\" \"no objects left behind\" {first} ({}))\n",
        texts.join(" ")
    )
}

/// The text as a datum.
fn quoted(text: &str) -> String {
    let mut datum = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => datum.extend(['\\', character]),
            '\n' => datum.push_str("\\n"),
            other => datum.push(other),
        }
    }
    datum.push('"');
    datum
}
