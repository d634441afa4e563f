//! Versions and ranges of them.
//!
//! A version is numbers with dots between, and perhaps more: `1.2`, `1.2.3-beta.1+build`, `0.9rc1`. So
//! both those of Snow, which are any text, and those of SemVer, which Akku has, are read. Missing
//! numbers count as zero; what stands behind the numbers makes an early version of them, as in SemVer;
//! what stands behind a plus does not count.
//!
//! Ranges are written as npm and Akku write them: `^1.2`, `~1.2.3`, `>=1 <2`, `1.x`, `1.2 - 1.4`,
//! `1 || 2`, `*`.

use std::cmp::Ordering;
use std::fmt;

/// Longest text of a version or range.
const TEXT_BYTES_MAX: usize = 200;

/// A version.
#[derive(Clone, Debug)]
pub struct Version {
    text: String,
    numbers: Vec<u64>,
    /// The parts behind the numbers.
    early: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    /// Reads a version; the message says what is wrong.
    pub fn parse(text: &str) -> Result<Version, String> {
        let wrong = || format!("`{text}` is not a version; that is like 1.2.3 or 1.0-beta.1");
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!("a version has at most {TEXT_BYTES_MAX} bytes"));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(wrong());
        }
        let plain = text.split_once('+').map_or(text, |(plain, _)| plain);
        let end = plain
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(plain.len());
        let numbers = plain[..end].trim_end_matches('.');
        let mut parsed = Vec::new();
        for digits in numbers.split('.') {
            parsed.push(digits.parse().map_err(|_| wrong())?);
        }
        let rest = plain[numbers.len()..].trim_start_matches(['-', '.']);
        if rest.is_empty() && numbers.len() != plain.len() {
            return Err(wrong());
        }
        let early = rest.split('.').filter(|part| !part.is_empty());
        let part = |part: &str| match part.parse() {
            Ok(number) => Part::Number(number),
            Err(_) => Part::Word(part.to_owned()),
        };
        Ok(Version {
            text: text.to_owned(),
            numbers: parsed,
            early: early.map(part).collect(),
        })
    }

    fn of_numbers(numbers: Vec<u64>) -> Version {
        let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Version {
            text: words.join("."),
            numbers,
            early: Vec::new(),
        }
    }

    /// The version as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn number(&self, index: usize) -> u64 {
        self.numbers.get(index).copied().unwrap_or(0)
    }

    fn compare_numbers(&self, other: &Version) -> Ordering {
        let count = self.numbers.len().max(other.numbers.len());
        (0..count)
            .map(|index| self.number(index).cmp(&other.number(index)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        self.compare_numbers(other).then_with(|| {
            match (self.early.is_empty(), other.early.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.early.cmp(&other.early),
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// A set of versions.
#[derive(Clone, Debug)]
pub struct Range {
    text: String,
    /// One of these must hold, each as a whole.
    choices: Vec<Vec<Comparison>>,
}

#[derive(Clone, Debug)]
struct Comparison {
    operator: Operator,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

impl Range {
    /// Reads a range; the message says what is wrong.
    pub fn parse(text: &str) -> Result<Range, String> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(format!(
                "a range of versions has at most {TEXT_BYTES_MAX} bytes"
            ));
        }
        let choices = text
            .split("||")
            .map(|choice| parse_choice(choice.trim()))
            .collect::<Option<_>>();
        Ok(Range {
            text: text.to_owned(),
            choices: choices.ok_or_else(|| {
                format!("`{text}` is not a range of versions; that is like ^1.2, ~1.2.3, >=1 <2, 1.x or *")
            })?,
        })
    }

    /// Every version.
    pub fn any() -> Range {
        Range {
            text: "*".to_owned(),
            choices: vec![Vec::new()],
        }
    }

    /// Whether a version is in it. An early version counts only where the range names one of the same
    /// numbers.
    pub fn contains(&self, version: &Version) -> bool {
        self.choices.iter().any(|choice| {
            let named = |one: &Comparison| {
                !one.version.early.is_empty() && one.version.compare_numbers(version).is_eq()
            };
            choice.iter().all(|one| one.holds(version))
                && (version.early.is_empty() || choice.iter().any(named) || choice.is_empty())
        })
    }

    /// The range as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Range {
    fn eq(&self, other: &Range) -> bool {
        self.text == other.text
    }
}

impl Eq for Range {}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp(&self.version);
        match self.operator {
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Equal => order.is_eq(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Greater => order.is_gt(),
        }
    }
}

/// A version of which trailing numbers may be missing or `x`.
struct Partial {
    version: Version,
    /// Numbers that were written.
    written: usize,
}

fn parse_partial(text: &str) -> Option<Partial> {
    let text = text.strip_prefix('v').unwrap_or(text);
    if matches!(text, "*" | "x" | "X" | "") {
        return Some(Partial {
            version: Version::of_numbers(Vec::new()),
            written: 0,
        });
    }
    let mut plain = text;
    while let Some(shorter) = [".x", ".X", ".*"]
        .iter()
        .find_map(|wild| plain.strip_suffix(wild))
    {
        plain = shorter;
    }
    let version = Version::parse(plain).ok()?;
    // Three numbers are a whole version, and so is what has a word.
    let is_whole =
        plain.len() == text.len() && (version.numbers.len() >= 3 || !version.early.is_empty());
    let written = if is_whole {
        usize::MAX
    } else {
        version.numbers.len()
    };
    Some(Partial { version, written })
}

/// The first version behind all those that begin with the first `count` numbers.
fn behind(version: &Version, count: usize) -> Option<Version> {
    let mut numbers: Vec<u64> = (0..count).map(|index| version.number(index)).collect();
    let last = numbers.last_mut()?;
    *last = last.checked_add(1)?;
    Some(Version::of_numbers(numbers))
}

fn parse_choice(text: &str) -> Option<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    let mut add = |operator, version| comparisons.push(Comparison { operator, version });
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [first, "-", last] = words.as_slice() {
        let (first, last) = (parse_partial(first)?, parse_partial(last)?);
        add(Operator::GreaterOrEqual, first.version);
        match last.written {
            0 => {}
            usize::MAX => add(Operator::LessOrEqual, last.version),
            count => add(Operator::Less, behind(&last.version, count)?),
        }
        return Some(comparisons);
    }
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let end = word
            .find(|c: char| !matches!(c, '<' | '>' | '=' | '^' | '~'))
            .unwrap_or(word.len());
        let (operator, mut rest) = word.split_at(end);
        if rest.is_empty() {
            // `>= 1.2` in two words.
            rest = words.next()?;
            if rest.starts_with(['<', '>', '=', '^', '~']) {
                return None;
            }
        }
        let Partial { version, written } = parse_partial(rest)?;
        let is_whole = written == usize::MAX;
        match operator {
            _ if written == 0 && matches!(operator, "" | "=" | "^" | "~" | ">=" | "<=") => {}
            "" | "=" if is_whole => add(Operator::Equal, version),
            "" | "=" => {
                let end = behind(&version, written)?;
                add(Operator::GreaterOrEqual, version);
                add(Operator::Less, end);
            }
            "<" => add(Operator::Less, version),
            ">=" => add(Operator::GreaterOrEqual, version),
            "<=" if is_whole => add(Operator::LessOrEqual, version),
            "<=" => add(Operator::Less, behind(&version, written)?),
            ">" if is_whole => add(Operator::Greater, version),
            ">" if written > 0 => add(Operator::GreaterOrEqual, behind(&version, written)?),
            "^" => {
                let count = version.numbers.len();
                let kept = (0..count).find(|index| version.number(*index) > 0);
                let end = behind(&version, kept.map_or(count, |index| index + 1))?;
                add(Operator::GreaterOrEqual, version);
                add(Operator::Less, end);
            }
            "~" => {
                let end = behind(&version, version.numbers.len().min(2))?;
                add(Operator::GreaterOrEqual, version);
                add(Operator::Less, end);
            }
            _ => return None,
        }
    }
    Some(comparisons)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn versions_are_in_order() {
        let ordered = [
            "0.0.0-akku.2.abc",
            "0.0.0-akku.10",
            "0",
            "0.1-alpha",
            "0.1",
            "0.9rc1",
            "0.9",
            "0.10",
            "1.0.0-1",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta",
            "1",
            "1.0.0.1",
            "1.2.3",
            "2024.01.05",
        ];
        for (index, earlier) in ordered.iter().enumerate() {
            for later in &ordered[index + 1..] {
                assert!(version(earlier) < version(later), "{earlier} < {later}");
            }
        }
        assert_eq!(version("1.2"), version("1.2.0+build.7"));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for wrong in [
            "",
            ".",
            "1.",
            "1..2",
            "x",
            "v1",
            "1 2",
            "-1",
            "1-",
            "99999999999999999999",
            "1.2\n",
        ] {
            assert!(Version::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn ranges_hold() {
        let check = |range: &str, inside: &[&str], outside: &[&str]| {
            let parsed = Range::parse(range).unwrap();
            for text in inside {
                assert!(parsed.contains(&version(text)), "{text} in {range}");
            }
            for text in outside {
                assert!(!parsed.contains(&version(text)), "{text} not in {range}");
            }
        };
        check(
            "^1.2.3",
            &["1.2.3", "1.9", "1.2.3+x"],
            &["1.2.2", "2.0.0", "2.0.0-alpha", "1.3.0-beta"],
        );
        check("^0.2.3", &["0.2.3", "0.2.9"], &["0.3.0", "0.2.2"]);
        check("^0.0.3", &["0.0.3"], &["0.0.4"]);
        check("^0", &["0.0.1", "0.9"], &["1.0"]);
        check("~1.2.3", &["1.2.3", "1.2.9"], &["1.3.0"]);
        check("~1", &["1.0", "1.9"], &["2.0"]);
        check(
            "~0.0.0-akku",
            &["0.0.0-akku.280.ab", "0.0.1"],
            &["0.1.0", "0.0.1-akku"],
        );
        check(">=1 <2", &["1", "1.9.9"], &["0.9", "2"]);
        check(">= 1.2", &["1.2", "3"], &["1.1"]);
        check(">1.2", &["1.3"], &["1.2", "1.2.5"]);
        check("<=1.2", &["1.2.9"], &["1.3"]);
        check("1.2", &["1.2.0", "1.2.7"], &["1.3", "1.1"]);
        check("1.x", &["1.0", "1.9"], &["2"]);
        check("1.2.3", &["1.2.3"], &["1.2.4"]);
        check("1.2 - 1.4", &["1.2", "1.4.9"], &["1.5", "1.1"]);
        check("1 || 3", &["1.5", "3.0"], &["2.0"]);
        check("*", &["0.1", "7", "1.0-beta"], &[]);
        check("", &["0.1"], &[]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in [
            "one",
            "^",
            "><1",
            ">= <2",
            "1 - ",
            "!1",
            ">*",
            "^99999999999999999999",
        ] {
            assert!(Range::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
