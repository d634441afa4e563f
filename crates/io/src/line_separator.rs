//! Line separators, and the search for one in text that is still arriving.
//!
//! A search never decides too early: where more text could change the answer, it says where to
//! resume. The exception is a carriage return at the end of the text, which ends the line at once;
//! a following line feed is skipped later. Text and separators are UTF-8.

use memchr::{memchr, memchr2};

/// The separators that end a line. They are never part of the line that is delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LineSeparator {
    /// Line feed, carriage return, or a carriage return followed by a line feed, as R7RS defines the
    /// end of a line for `read-line`.
    #[default]
    Any,
    /// Line feed only; a carriage return before it belongs to the line.
    LineFeed,
    /// Any of these strings. If several match at the same place, the longest one counts. Empty strings are
    /// disregarded.
    Strings(Vec<Box<str>>),
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// The line ends at `start`; the next one begins at `end`.
    Found { start: usize, end: usize },
    /// The line ends at `start` with a carriage return, the last byte known. If a line feed comes next,
    /// it belongs to this separator. (Waiting for it would make a line typed at some terminals, and a
    /// reply of some servers, wait for the following one.)
    FoundCarriageReturn { start: usize },
    /// No separator begins before `resume`; continue there when there is more text.
    NotFound { resume: usize },
}

impl LineSeparator {
    /// Finds the first separator in `text` at or behind `from`. `end` says that nothing follows.
    pub(crate) fn search(&self, text: &str, from: usize, end: bool) -> Search {
        let bytes = text.as_bytes();
        match self {
            LineSeparator::LineFeed => match memchr(b'\n', &bytes[from..]) {
                Some(offset) => Search::Found {
                    start: from + offset,
                    end: from + offset + 1,
                },
                None => Search::NotFound {
                    resume: bytes.len(),
                },
            },
            LineSeparator::Any => match memchr2(b'\n', b'\r', &bytes[from..]) {
                None => Search::NotFound {
                    resume: bytes.len(),
                },
                Some(offset) => {
                    let start = from + offset;
                    match (bytes[start], bytes.get(start + 1)) {
                        (b'\r', Some(b'\n')) => Search::Found {
                            start,
                            end: start + 2,
                        },
                        (b'\r', None) if !end => Search::FoundCarriageReturn { start },
                        _ => Search::Found {
                            start,
                            end: start + 1,
                        },
                    }
                }
            },
            LineSeparator::Strings(separators) => search_strings(separators, bytes, from, end),
        }
    }
}

fn search_strings(separators: &[Box<str>], bytes: &[u8], from: usize, end: bool) -> Search {
    let separators = || {
        let all = separators.iter().map(|separator| separator.as_bytes());
        all.filter(|separator| !separator.is_empty())
    };
    let mut begins_separator = [false; 256];
    for separator in separators() {
        begins_separator[usize::from(separator[0])] = true;
    }
    let mut from = from;
    while let Some(offset) = bytes[from..]
        .iter()
        .position(|byte| begins_separator[usize::from(*byte)])
    {
        let start = from + offset;
        let rest = &bytes[start..];
        let is_open =
            |separator: &[u8]| separator.len() > rest.len() && separator.starts_with(rest);
        if !end && separators().any(is_open) {
            return Search::NotFound { resume: start };
        }
        if let Some(length) = separators()
            .filter(|separator| rest.starts_with(separator))
            .map(<[u8]>::len)
            .max()
        {
            return Search::Found {
                start,
                end: start + length,
            };
        }
        from = start + 1;
    }
    Search::NotFound {
        resume: bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(separator: &LineSeparator, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut position = 0;
        loop {
            match separator.search(&text[position..], 0, true) {
                Search::Found { start, end } => {
                    lines.push(text[position..position + start].to_owned());
                    position += end;
                }
                Search::FoundCarriageReturn { .. } => panic!("nothing follows the end"),
                Search::NotFound { .. } => {
                    lines.push(text[position..].to_owned());
                    return lines;
                }
            }
        }
    }

    fn strings(separators: &[&str]) -> LineSeparator {
        LineSeparator::Strings(
            separators
                .iter()
                .map(|separator| Box::from(*separator))
                .collect(),
        )
    }

    #[test]
    fn any_ends_lines_as_r7rs_says() {
        assert_eq!(
            lines(&LineSeparator::Any, "a\nb\rc\r\nd\n\re\r"),
            ["a", "b", "c", "d", "", "e", ""]
        );
    }

    #[test]
    fn linefeed_keeps_carriage_returns() {
        assert_eq!(
            lines(&LineSeparator::LineFeed, "a\r\nb\rc"),
            ["a\r", "b\rc"]
        );
    }

    #[test]
    fn the_longest_string_counts_at_the_first_place() {
        assert_eq!(
            lines(&strings(&["--", "-->", ""]), "a-b--c-->d--"),
            ["a-b", "c", "d", ""]
        );
        assert_eq!(lines(&strings(&["é", "éé"]), "1éé2é3"), ["1", "2", "3"]);
        assert_eq!(lines(&strings(&[]), "a\nb"), ["a\nb"]);
    }

    #[test]
    fn an_open_separator_waits() {
        let separator = strings(&["\r\n", "\r"]);
        assert_eq!(
            separator.search("ab\r", 0, false),
            Search::NotFound { resume: 2 }
        );
        assert_eq!(
            separator.search("ab\r", 2, true),
            Search::Found { start: 2, end: 3 }
        );
        assert_eq!(
            separator.search("ab\r\n", 2, false),
            Search::Found { start: 2, end: 4 }
        );
        assert_eq!(
            separator.search("ab\rc", 2, false),
            Search::Found { start: 2, end: 3 }
        );
        let carriage_return = Search::FoundCarriageReturn { start: 2 };
        assert_eq!(LineSeparator::Any.search("ab\r", 0, false), carriage_return);
    }
}
