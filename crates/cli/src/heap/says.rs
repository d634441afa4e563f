//! Sentences about snapshots that were written.

use std::path::Path;

use canny_vm::survey::SnapshotReport;

/// A number of bytes as people read it.
pub fn shown_bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", count / 1000),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

/// Groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A sentence about a snapshot that was written: its size, and for how long the program stood still.
pub fn of_report(report: &SnapshotReport, path: &Path) -> String {
    let milliseconds = report.stopped.as_secs_f64() * 1e3;
    let way = if report.is_in_place { ", in place" } else { "" };
    let size = match path.metadata() {
        Ok(data) if data.is_file() => format!(", which has {} now", shown_bytes(data.len())),
        _ => String::new(),
    };
    format!(
        "{} objects, {}; the program stood still for {milliseconds:.1} ms{way}; {} written to {}{size}",
        grouped(report.objects),
        shown_bytes(report.bytes),
        shown_bytes(report.written),
        path.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let texts = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }
}
