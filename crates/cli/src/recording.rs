//! The options of `canny profile`, the formats in which it writes, and those of continuous profiles.
//!
//! A format and the ends of file names that say it are a row of one table. How a profile is taken and
//! shown is not known here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use canny_lib::recorder::RingOptions;

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
    /// How many waits each thread notes in a second, if the command line says so; 0 for none.
    pub waits_per_second: Option<u32>,
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
    /// A running process whose profile is taken.
    pub attach: Option<u32>,
    /// How long that takes.
    pub seconds: Option<f64>,
    /// The page is served while the program runs.
    pub is_live: bool,
    /// The part of a directory of profiles that is shown.
    pub part: Part,
    /// How much earlier the part to compare with ends, if the base is a directory.
    pub base_before: Option<Duration>,
}

/// A part of the time that a directory of profiles has; the whole unless anything is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// How long it is.
    pub last: Option<Duration>,
    /// How long before the newest profile's end it ends.
    pub before: Option<Duration>,
}

/// Time of a profile of a running process, in seconds.
pub const SECONDS: f64 = 10.0;
/// Longest time.
const SECONDS_MAX: f64 = 86_400.0;
/// Longest part of a directory, and longest time that is kept.
const TIME_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Shortest time between two samples, in microseconds.
const INTERVAL_MIN_US: u64 = 50;
/// Longest time.
const INTERVAL_MAX_US: u64 = 10_000_000;

/// Most allocated bytes between two sampled objects.
const ALLOCATION_INTERVAL_MAX: usize = 1_000_000_000_000;

/// Most waits that a thread notes in a second.
const WAITS_MAX: u32 = 1_000_000_000;

/// Whether a long option is one of them.
pub fn is_recording_option(option: &str) -> bool {
    let options = [
        "output",
        "format",
        "interval",
        "allocation-interval",
        "waits-per-second",
        "base",
        "explain",
        "flame",
        "text",
        "native",
        "exact",
        "attach",
        "seconds",
        "live",
        "last",
        "before",
        "base-before",
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
            "live" => self.is_live = true,
            "attach" => {
                let text = value()?;
                let text = text.to_string_lossy();
                let process = text.parse().ok().filter(|number| *number > 0);
                let wrong = || format!("--attach wants the number of a process, not '{text}'");
                self.attach = Some(process.ok_or_else(wrong)?);
            }
            "seconds" => {
                let text = value()?;
                let text = text.to_string_lossy();
                let is_sensible = |number: &f64| *number > 0.0 && *number <= SECONDS_MAX;
                let number = text.parse().ok().filter(is_sensible);
                let wrong =
                    || format!("--seconds wants a number up to {SECONDS_MAX}, not '{text}'");
                self.seconds = Some(number.ok_or_else(wrong)?);
            }
            "last" => self.part.last = Some(time("--last", &value()?.to_string_lossy())?),
            "before" => self.part.before = Some(time("--before", &value()?.to_string_lossy())?),
            "base-before" => {
                self.base_before = Some(time("--base-before", &value()?.to_string_lossy())?);
            }
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
            "waits-per-second" => {
                let text = value()?;
                let text = text.to_string_lossy();
                let wrong =
                    || format!("--waits-per-second wants 0 to {WAITS_MAX} waits, not '{text}'");
                let number = text.parse().ok().filter(|n| *n <= WAITS_MAX);
                self.waits_per_second = Some(number.ok_or_else(wrong)?);
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
        if self.seconds.is_some() && self.attach.is_none() {
            return Err("--seconds belongs to --attach".to_owned());
        }
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

/// A length of time: a number with `s`, `m`, `h` or `d`, or of seconds.
fn time(option: &str, text: &str) -> Result<Duration, String> {
    let wrong = || format!("{option} wants a time such as 30s, 5m or 2h, not '{text}'");
    let (digits, seconds) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        Some((at, 'd')) => (&text[..at], 86_400),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let time = Duration::from_secs(number.saturating_mul(seconds));
    let is_sensible = number > 0 && time <= TIME_MAX;
    is_sensible.then_some(time).ok_or_else(wrong)
}

/// The options of `canny run` about continuous profiles.
#[derive(Clone, Debug, Default)]
pub struct RingWish {
    pub directory: Option<PathBuf>,
    keep: Option<Duration>,
    file: Option<Duration>,
}

/// Whether a long option is one of them.
pub fn is_ring_option(option: &str) -> bool {
    ["profile-continuously", "profile-keep", "profile-file"].contains(&option)
}

impl RingWish {
    /// Takes one of these options.
    pub fn take(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        let value = parser.value().map_err(|error| error.to_string())?;
        let text = value.to_string_lossy();
        match option {
            "profile-keep" => self.keep = Some(time("--profile-keep", &text)?),
            "profile-file" => self.file = Some(time("--profile-file", &text)?),
            _ => self.directory = Some(value.into()),
        }
        Ok(())
    }

    /// Checks what the command line says as a whole.
    pub fn settle(&self) -> Result<(), String> {
        if self.directory.is_none() && (self.keep.is_some() || self.file.is_some()) {
            return Err(
                "--profile-keep and --profile-file belong to --profile-continuously".to_owned(),
            );
        }
        Ok(())
    }

    /// The wanted ring, if one is wanted.
    pub fn options(&self) -> Option<RingOptions> {
        let mut options = RingOptions::new(self.directory.clone()?);
        options.keep = self.keep.unwrap_or(options.keep);
        options.file = self.file.unwrap_or(options.file);
        Some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = ["90", "30s", "5m", "2h", "1d"].map(|text| time("--last", text));
        let expected = [90, 30, 300, 7200, 86_400].map(|number| Ok(Duration::from_secs(number)));
        assert_eq!(seconds, expected);
        for wrong in [
            "",
            "m",
            "0s",
            "-5m",
            "5 m",
            "1.5h",
            "99999999999999999999d",
            "9999d",
            "5ü",
        ] {
            assert!(time("--last", wrong).is_err(), "{wrong}");
        }
    }

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
