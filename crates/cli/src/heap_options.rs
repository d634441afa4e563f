//! The options of `canny run` about heap snapshots.
//!
//! A word of `--heap-snapshots` says when one is taken. How they are taken is not known here.

use std::path::PathBuf;

use canny_vm::survey::SnapshotRules;
use lexopt::Parser;

/// Largest factor of growth that makes sense.
const FACTOR_MAX: f64 = 1e6;

/// Whether a long option is one of them.
pub fn is_heap_option(option: &str) -> bool {
    [
        "heap-snapshots",
        "heap-file",
        "heap-hide-strings",
        "heap-places",
    ]
    .contains(&option)
}

/// When snapshots are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct When {
    pub rules: SnapshotRules,
    /// At each SIGUSR2.
    pub at_signal: bool,
    /// When the program has ended by itself.
    pub at_exit: bool,
}

impl When {
    /// Reads words with commas between them.
    fn read(text: &str) -> Result<When, String> {
        let mut when = When::default();
        let mut seen: Vec<&str> = Vec::new();
        for word in text.split(',') {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            if seen.contains(&name) {
                return Err(format!("--heap-snapshots has '{name}' twice"));
            }
            seen.push(name);
            when.take(name, value).ok_or_else(|| {
                format!(
                    "--heap-snapshots wants full, full=N, every=N, growth=FACTOR (above 1), limit, signal \
                     or exit, with commas between them, not '{word}'"
                )
            })?;
        }
        Ok(when)
    }

    fn take(&mut self, name: &str, value: Option<&str>) -> Option<()> {
        let count = |text: &str| text.parse::<u64>().ok().filter(|count| *count > 0);
        let factor = |text: &str| {
            let number = text.parse::<f64>().ok();
            number.filter(|number| *number > 1.0 && *number <= FACTOR_MAX)
        };
        match (name, value) {
            ("full", None) => self.rules.full_every = Some(1),
            ("full", Some(text)) => self.rules.full_every = Some(count(text)?),
            ("every", Some(text)) => self.rules.every = Some(count(text)?),
            ("growth", Some(text)) => self.rules.growth = Some(factor(text)?),
            ("limit", None) => self.rules.at_limit = true,
            ("signal", None) => self.at_signal = true,
            ("exit", None) => self.at_exit = true,
            _ => return None,
        }
        Some(())
    }
}

/// The command line's part about heap snapshots.
#[derive(Clone, Debug, Default)]
pub struct HeapWish {
    pub when: Option<When>,
    pub file: Option<PathBuf>,
    pub hides_strings: bool,
    /// Whether allocations are sampled.
    pub has_places: bool,
}

impl HeapWish {
    /// Takes one of these options.
    pub fn take(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        if option == "heap-hide-strings" {
            self.hides_strings = true;
            return Ok(());
        }
        if option == "heap-places" {
            self.has_places = true;
            return Ok(());
        }
        let value = parser.value().map_err(|error| error.to_string())?;
        if option == "heap-file" {
            self.file = Some(value.into());
        } else {
            self.when = Some(When::read(&value.to_string_lossy())?);
        }
        Ok(())
    }

    /// Checks what the command line says as a whole.
    pub fn settle(&self) -> Result<(), String> {
        if self.when.is_none() && (self.file.is_some() || self.hides_strings) {
            return Err(
                "--heap-file and --heap-hide-strings belong to --heap-snapshots".to_owned(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let when = When::read("full=3,every=100,growth=1.5,limit,signal,exit").unwrap();
        let rules = SnapshotRules {
            full_every: Some(3),
            every: Some(100),
            growth: Some(1.5),
            at_limit: true,
        };
        assert_eq!(when.rules, rules);
        assert!(when.at_signal && when.at_exit);
        assert_eq!(When::read("full").unwrap().rules.full_every, Some(1));
    }

    #[test]
    fn wrong_words_are_refused() {
        for wrong in [
            "",
            "ful",
            "full=0",
            "full=",
            "full=-1",
            "every",
            "every=x",
            "growth",
            "growth=1",
            "growth=nan",
            "growth=inf",
            "growth=-2",
            "limit=1",
            "exit,",
            ",exit",
            "exit,exit",
            "full,full=2",
            "every=99999999999999999999",
        ] {
            assert!(When::read(wrong).is_err(), "{wrong}");
        }
    }
}
