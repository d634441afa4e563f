//! The list of expected failures.
//!
//! ```text
//! # a comment
//! fail :: PROGRAM :: ASSERTION :: REASON
//! stop :: PROGRAM :: REASON
//! ```
//!
//! `fail` names one assertion as the suite prints it; `stop` says that a program of the suite does not
//! run to its end.

#[derive(Debug)]
struct Entry {
    program: String,
    /// `None` for a stop.
    assertion: Option<String>,
    met: bool,
}

#[derive(Debug)]
pub struct Expected {
    entries: Vec<Entry>,
}

impl Expected {
    pub fn parse(text: &str) -> Result<Expected, String> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split(" :: ").collect();
            let (program, assertion) = match fields.as_slice() {
                ["fail", program, assertion, _reason] => (program, Some((*assertion).to_owned())),
                ["stop", program, _reason] => (program, None),
                _ => return Err(format!("expected.txt:{}: malformed line", index + 1)),
            };
            entries.push(Entry {
                program: (*program).to_owned(),
                assertion,
                met: false,
            });
        }
        Ok(Expected { entries })
    }

    /// Whether the failure is listed. An assertion that occurs twice is listed twice.
    pub fn failure(&mut self, program: &str, assertion: &str) -> bool {
        self.meet(|entry| entry.program == program && entry.assertion.as_deref() == Some(assertion))
    }

    pub fn stop(&mut self, program: &str) -> bool {
        self.meet(|entry| entry.program == program && entry.assertion.is_none())
    }

    fn meet(&mut self, fits: impl Fn(&Entry) -> bool) -> bool {
        let found = self
            .entries
            .iter_mut()
            .find(|entry| !entry.met && fits(entry));
        match found {
            Some(entry) => {
                entry.met = true;
                true
            }
            None => false,
        }
    }

    /// The entries of a program that did not come true; of assertions only if it ran to its end.
    pub fn unmet(&self, program: &str, finished: bool) -> Vec<String> {
        self.entries
            .iter()
            .filter(|entry| entry.program == program && !entry.met)
            .filter(|entry| finished || entry.assertion.is_none())
            .map(|entry| {
                entry
                    .assertion
                    .clone()
                    .unwrap_or_else(|| "the whole program".to_owned())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Expected;

    #[test]
    fn entries_are_met_once_and_unmet_ones_are_told() {
        let text = "# note\nfail :: a :: (f 1) :: why\nstop :: b :: needs c\n";
        let mut expected = Expected::parse(text).expect("the text is well-formed");
        assert!(expected.failure("a", "(f 1)"));
        assert!(!expected.failure("a", "(f 1)"));
        assert!(!expected.failure("a", "(g 1)"));
        assert_eq!(expected.unmet("b", true), ["the whole program"]);
        assert!(expected.stop("b"));
        assert!(expected.unmet("b", false).is_empty());
    }

    #[test]
    fn a_reason_is_required() {
        assert!(Expected::parse("fail :: a :: (f 1)\n").is_err());
    }
}
