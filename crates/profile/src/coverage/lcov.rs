//! The tracefiles of `lcov`, written and read.
//!
//! One record per file: `SF` its path, `FN` and `FNDA` procedures, `BRDA` branches, `DA` lines, and
//! sums. A branch of a decision that was never met has `-` for its count. Line breaks in names would
//! end a line, so a control character becomes a space.

use super::{Branch, Coverage, FileCoverage};
use crate::export::one_line;

/// The text of a tracefile.
pub fn write(coverage: &Coverage) -> String {
    let mut text = String::from("TN:\n");
    for (path, file) in &coverage.files {
        text += &format!("SF:{}\n", one_line(path));
        for (line, name) in file.functions.keys() {
            text += &format!("FN:{line},{}\n", one_line(name));
        }
        for ((_, name), count) in &file.functions {
            text += &format!("FNDA:{count},{}\n", one_line(name));
        }
        let shares = file.shares();
        text += &format!(
            "FNF:{}\nFNH:{}\n",
            shares.functions.found, shares.functions.hit
        );
        for (branch, count) in &file.branches {
            let count = if is_met(file, branch) {
                count.to_string()
            } else {
                "-".to_owned()
            };
            let Branch {
                line,
                decision,
                arm,
            } = branch;
            text += &format!("BRDA:{line},{decision},{arm},{count}\n");
        }
        text += &format!(
            "BRF:{}\nBRH:{}\n",
            shares.branches.found, shares.branches.hit
        );
        for (line, count) in &file.lines {
            text += &format!("DA:{line},{count}\n");
        }
        text += &format!(
            "LF:{}\nLH:{}\nend_of_record\n",
            shares.lines.found, shares.lines.hit
        );
    }
    text
}

/// Whether any way of a branch's decision was taken.
fn is_met(file: &FileCoverage, branch: &Branch) -> bool {
    let mut others = file.branches_of(branch.line);
    others.any(|(other, count)| other.decision == branch.decision && *count > 0)
}

/// Reads a tracefile; what it has of other kinds is passed over. The error names the line.
pub fn read(text: &str) -> Result<Coverage, String> {
    let mut coverage = Coverage::default();
    let mut path = None;
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("line {} is none of a tracefile: {line}", number + 1);
        let (kind, rest) = line.split_once(':').unwrap_or((line, ""));
        if kind == "SF" {
            path = Some(rest.to_owned());
            coverage.files.entry(rest.to_owned()).or_default();
            continue;
        }
        if kind == "end_of_record" {
            path = None;
            continue;
        }
        let Some(file) = path.as_ref().and_then(|path| coverage.files.get_mut(path)) else {
            continue;
        };
        take(file, kind, rest).ok_or_else(wrong)?;
    }
    Ok(coverage)
}

/// Takes a line of a record.
fn take(file: &mut FileCoverage, kind: &str, rest: &str) -> Option<()> {
    match kind {
        "DA" => {
            let mut fields = rest.split(',');
            let line = fields.next()?.parse().ok()?;
            *file.lines.entry(line).or_default() += fields.next()?.parse::<u64>().ok()?;
        }
        "FN" => {
            let (line, name) = rest.split_once(',')?;
            let line = line.parse().ok()?;
            file.functions.entry((line, name.to_owned())).or_default();
        }
        "FNDA" => {
            let (count, name) = rest.split_once(',')?;
            let count: u64 = count.parse().ok()?;
            // Several procedures of a name come in the order of their lines, each once.
            let mut same = file.functions.iter_mut().filter(|row| row.0.1 == name);
            let first = same.find(|row| *row.1 == 0);
            *first?.1 = count;
        }
        "BRDA" => {
            let fields: Vec<&str> = rest.split(',').collect();
            let [line, decision, arm, count] = fields[..] else {
                return None;
            };
            let branch = Branch {
                line: line.parse().ok()?,
                decision: decision.parse().ok()?,
                arm: arm.parse().ok()?,
            };
            let count: u64 = match count {
                "-" => 0,
                count => count.parse().ok()?,
            };
            *file.branches.entry(branch).or_default() += count;
        }
        _ => {}
    }
    Some(())
}
