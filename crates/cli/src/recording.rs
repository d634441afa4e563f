//! The options of `canny profile`, and the formats in which it writes.
//!
//! A format and the ends of file names that say it are a row of one table. How a profile is taken and
//! shown is not known here.

use std::path::{Path, PathBuf};

use lexopt::Parser;

/// A format of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Canny's own.
    Profile,
    Html,
    Pprof,
    Speedscope,
    Firefox,
    Chrome,
    Collapsed,
    Callgrind,
}

/// Formats, their names, and the ends of file names that say them.
const FORMATS: &[(Format, &str, &[&str])] = &[
    (Format::Html, "html", &[".html"]),
    (Format::Profile, "profile", &[".profile"]),
    (Format::Pprof, "pprof", &[".pb.gz", ".pprof"]),
    (Format::Speedscope, "speedscope", &[".speedscope.json"]),
    (Format::Firefox, "firefox", &[".firefox.json"]),
    (Format::Chrome, "chrome", &[".trace.json"]),
    (Format::Collapsed, "collapsed", &[".folded", ".collapsed"]),
    (Format::Callgrind, "callgrind", &[".callgrind"]),
];

impl Format {
    /// The names of all formats.
    pub fn names() -> Vec<&'static str> {
        FORMATS.iter().map(|(_, name, _)| *name).collect()
    }

    /// The format with a name.
    pub fn named(name: &str) -> Option<Format> {
        let mut rows = FORMATS.iter();
        rows.find(|row| row.1 == name).map(|row| row.0)
    }

    /// The format that a file name says.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_string_lossy();
        if name.starts_with("callgrind.out") {
            return Some(Format::Callgrind);
        }
        let ends = |row: &&(Format, &str, &[&str])| row.2.iter().any(|end| name.ends_with(end));
        FORMATS.iter().find(ends).map(|row| row.0)
    }
}

/// The command line's part about the profile.
#[derive(Clone, Debug, Default)]
pub struct RecordingOptions {
    /// The file to write, in the format that its name or `format` says.
    pub output: Option<PathBuf>,
    pub format: Option<Format>,
    pub interval_us: Option<u64>,
    /// Allocated bytes between two sampled objects; 0 for no samples.
    pub allocation_interval_bytes: Option<usize>,
    /// A profile to compare with.
    pub base: Option<PathBuf>,
    pub explains: bool,
    pub shows_flame_graph: bool,
    /// No page is opened, nor written unless that was asked for.
    pub is_text_only: bool,
    /// Functions of the machine are told apart.
    pub names_native: bool,
    /// Calls are counted.
    pub counts_calls: bool,
}

/// Shortest time between two samples, in microseconds.
const INTERVAL_MIN_US: u64 = 50;
/// Longest time.
const INTERVAL_MAX_US: u64 = 10_000_000;

/// Most allocated bytes between two sampled objects.
const ALLOCATION_INTERVAL_MAX: usize = 1_000_000_000_000;

/// Whether a long option is one of them.
pub fn is_recording_option(option: &str) -> bool {
    let options = [
        "output",
        "format",
        "interval",
        "allocation-interval",
        "base",
        "explain",
        "flame",
        "text",
        "native",
        "exact",
    ];
    options.contains(&option)
}

impl RecordingOptions {
    /// Takes one of these options.
    pub fn take(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        let mut value = || parser.value().map_err(|error| error.to_string());
        match option {
            "explain" => self.explains = true,
            "flame" => self.shows_flame_graph = true,
            "text" => self.is_text_only = true,
            "native" => self.names_native = true,
            "exact" => self.counts_calls = true,
            "output" => self.output = Some(value()?.into()),
            "base" => self.base = Some(value()?.into()),
            "format" => {
                let text = value()?;
                let text = text.to_string_lossy();
                let wrong = || {
                    let names = Format::names().join(", ");
                    format!("--format wants one of {names}, not '{text}'")
                };
                self.format = Some(Format::named(&text).ok_or_else(wrong)?);
            }
            "allocation-interval" => {
                let text = value()?;
                let text = text.to_string_lossy();
                let number = text.parse().ok().filter(|n| *n <= ALLOCATION_INTERVAL_MAX);
                self.allocation_interval_bytes = Some(number.ok_or_else(|| {
                    format!(
                        "--allocation-interval wants 0 to {ALLOCATION_INTERVAL_MAX} bytes, \
                         not '{text}'"
                    )
                })?);
            }
            _ => {
                let text = value()?;
                let text = text.to_string_lossy();
                let is_sensible =
                    |number: &u64| (INTERVAL_MIN_US..=INTERVAL_MAX_US).contains(number);
                let wrong = || {
                    format!(
                        "--interval wants {INTERVAL_MIN_US} to {INTERVAL_MAX_US} microseconds, \
                         not '{text}'"
                    )
                };
                let number = text.parse().ok().filter(is_sensible);
                self.interval_us = Some(number.ok_or_else(wrong)?);
            }
        }
        Ok(())
    }

    /// Checks what the command line says as a whole.
    pub fn settle(&mut self) -> Result<(), String> {
        if let Some(output) = &self.output
            && self.format.is_none()
        {
            let format = Format::of_path(output);
            let names = Format::names().join(", ");
            self.format = Some(format.ok_or_else(|| {
                format!(
                    "the name of {} says no format; give --format with one of {names}",
                    output.display()
                )
            })?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_formats() {
        let cases = [
            ("a.html", Some(Format::Html)),
            ("b/c.speedscope.json", Some(Format::Speedscope)),
            ("callgrind.out.77", Some(Format::Callgrind)),
            ("x.pb.gz", Some(Format::Pprof)),
            ("x.json", None),
            ("x", None),
        ];
        for (name, format) in cases {
            assert_eq!(Format::of_path(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn every_format_has_a_name_of_its_own() {
        for (format, name, ends) in FORMATS {
            assert_eq!(Format::named(name), Some(*format));
            for end in *ends {
                let name = format!("some{end}");
                assert_eq!(Format::of_path(Path::new(&name)), Some(*format));
            }
        }
    }
}
