//! Reads the report of a process that measured: lines that `(canny bench)` writes, each a datum.
//! A line that is damaged or cut off is skipped, since the process may have been killed.

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use canny_syntax::syntax::Syntax;

use super::statistics::Timing;

/// A sample as it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub timing: Timing,
    pub bytes: f64,
    pub collections: f64,
    pub pause_ns: f64,
}

impl Sample {
    pub fn per_iteration_ns(&self) -> f64 {
        self.timing.time_ns / self.timing.count
    }
}

/// The report of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The library was loaded.
    pub has_library: bool,
    /// Names of benchmarks, if they were listed.
    pub names: Vec<String>,
    pub samples: Vec<Sample>,
    /// Bytes and items of an iteration, if the benchmark has such a number.
    pub bytes: Option<f64>,
    pub items: Option<f64>,
    /// Nanoseconds for which the thread was ready and had no processor.
    pub waited_ns: Option<f64>,
    /// How often the processor was taken from it.
    pub switches: Option<f64>,
    /// The benchmark came to its end.
    pub has_end: bool,
}

/// Reads a report; lines that were cut off or are damaged are left out.
pub fn read(bytes: &[u8]) -> Report {
    let mut report = Report::default();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let text = String::from_utf8_lossy(&bytes[..whole.map_or(0, |end| end + 1)]);
    for form in &read_text(&text, SourceId::NONE, false).forms {
        let _ = take(form, &mut report);
    }
    report
}

fn take(form: &Syntax, report: &mut Report) -> Option<()> {
    let elements = form.elements()?;
    let at = |index: usize| elements.get(index).and_then(number);
    match elements.first()?.as_identifier()?.name.as_str() {
        "library" => report.has_library = true,
        "benchmark" => report.names.push(string(elements.get(1)?)?),
        "bytes" => report.bytes = at(1),
        "items" => report.items = at(1),
        "waited" => report.waited_ns = at(1),
        "switches" => report.switches = at(1),
        "end" => report.has_end = true,
        "sample" => report.samples.push(Sample {
            timing: Timing {
                count: at(1).filter(|count| *count >= 1.0)?,
                time_ns: at(2)?,
            },
            bytes: at(3)?,
            collections: at(4)?,
            pause_ns: at(5)?,
        }),
        _ => {}
    }
    Some(())
}

fn string(form: &Syntax) -> Option<String> {
    match form.as_atom()? {
        Datum::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn number(form: &Syntax) -> Option<f64> {
    match form.as_atom()? {
        Datum::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_a_half_one_is_not() {
        let text = "(library)\n(benchmark \"a\\n\\x1;\")\n(items 2.5)\n(sample 4 80 32768 1 9)\n\
            (switches 3)\n(sample 0 1 2 3 4)\n(sample 5 x)\n(end)\n(sample 8 16";
        let report = read(text.as_bytes());
        assert!(report.has_library && report.has_end);
        assert_eq!(report.names, ["a\n\u{1}"]);
        assert_eq!((report.items, report.bytes), (Some(2.5), None));
        assert_eq!((report.switches, report.waited_ns), (Some(3.0), None));
        assert_eq!(report.samples.len(), 1);
        assert_eq!(report.samples[0].per_iteration_ns(), 20.0);
        assert_eq!(read(b"(library"), Report::default());
        assert_eq!(read(b")\n\x01\n(17)\n"), Report::default());
    }
}
