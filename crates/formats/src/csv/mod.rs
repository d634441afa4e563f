//! Rows of fields as text: RFC 4180 and its relatives.
//!
//! A [`RowReader`] is fed text piece by piece and reads one row; the fields' texts stand one after the
//! other in `text`, and `ends` says where each ends. A row ends at CR LF, LF or CR outside of quotes.

#[cfg(test)]
mod tests;

/// How rows are written. Everything is ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: u8,
    /// Around fields; two of them inside of a quoted field stand for one. `None`: quotes are ordinary.
    pub quote: Option<u8>,
    /// In front of a character inside of a quoted field that stands for itself.
    pub escape: Option<u8>,
    /// A row that begins with it is passed over.
    pub comment: Option<u8>,
    /// Blanks and tabs around fields, outside of quotes, are dropped.
    pub trims: bool,
    /// Rows without any character are passed over.
    pub skips_empty: bool,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect {
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            comment: None,
            trims: false,
            skips_empty: true,
        }
    }
}

/// Why a text has no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text ends inside of a quoted field.
    OpenQuote,
    /// Something stands behind the quote that ends a field.
    AfterQuote,
}

/// Where the reader stopped, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    NeedsMore,
    /// A row is complete.
    Row,
    /// There is no further row.
    End,
    Fault(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    RowStart,
    FieldStart,
    Plain,
    Quoted,
    AfterEscape,
    AfterQuote,
    /// Blanks were passed over behind the quote.
    AfterQuotedBlank,
    Comment,
    /// Behind a carriage return; the flag says that a row ends there.
    AfterReturn(bool),
}

/// See the module's description.
#[derive(Debug)]
pub struct RowReader {
    dialect: Dialect,
    /// Bytes that an ordinary field does not contain.
    ends_plain: [bool; 256],
    phase: Phase,
    pub text: Vec<u8>,
    pub ends: Vec<usize>,
    /// Where the text of the field begins that is being read.
    field_start: usize,
}

impl RowReader {
    pub fn new(dialect: Dialect) -> RowReader {
        let mut ends_plain = [false; 256];
        for byte in [dialect.delimiter, b'\n', b'\r'] {
            ends_plain[usize::from(byte)] = true;
        }
        RowReader {
            dialect,
            ends_plain,
            phase: Phase::RowStart,
            text: Vec::new(),
            ends: Vec::new(),
            field_start: 0,
        }
    }

    /// How the rows are written.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Forgets a row that was taken.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.field_start = 0;
        self.phase = Phase::RowStart;
    }

    fn end_field(&mut self, was_quoted: bool) {
        if self.dialect.trims && !was_quoted {
            while self.text.len() > self.field_start
                && matches!(self.text.last(), Some(b' ' | b'\t'))
            {
                self.text.pop();
            }
        }
        self.ends.push(self.text.len());
        self.field_start = self.text.len();
    }

    /// Takes the ordinary characters that a field continues with; gives their length.
    fn take_run(&mut self, rest: &[u8]) -> usize {
        let (quote, escape) = (self.dialect.quote, self.dialect.escape);
        let run = match self.phase {
            Phase::Plain => rest
                .iter()
                .position(|&byte| self.ends_plain[usize::from(byte)]),
            Phase::Quoted => rest
                .iter()
                .position(|&byte| Some(byte) == quote || Some(byte) == escape),
            _ => return 0,
        };
        let run = run.unwrap_or(rest.len());
        self.text.extend_from_slice(&rest[..run]);
        run
    }

    /// Reads on. `is_last` says that nothing comes after the piece. Gives how much of it was used.
    pub fn feed(&mut self, piece: &str, is_last: bool) -> (usize, Progress) {
        let bytes = piece.as_bytes();
        let mut at = 0;
        loop {
            at += self.take_run(&bytes[at..]);
            let Some(&byte) = bytes.get(at) else {
                return (
                    at,
                    if is_last {
                        self.finish()
                    } else {
                        Progress::NeedsMore
                    },
                );
            };
            match self.phase {
                Phase::RowStart => match byte {
                    b'\n' | b'\r' if self.dialect.skips_empty => at += 1,
                    _ if Some(byte) == self.dialect.comment => self.phase = Phase::Comment,
                    _ => self.phase = Phase::FieldStart,
                },
                Phase::FieldStart => match byte {
                    b' ' | b'\t' if self.dialect.trims && byte != self.dialect.delimiter => at += 1,
                    _ if Some(byte) == self.dialect.quote => {
                        at += 1;
                        self.phase = Phase::Quoted;
                    }
                    _ => self.phase = Phase::Plain,
                },
                Phase::Plain | Phase::AfterQuote | Phase::AfterQuotedBlank => {
                    let was_quoted = self.phase != Phase::Plain;
                    if byte == self.dialect.delimiter {
                        at += 1;
                        self.end_field(was_quoted);
                        self.phase = Phase::FieldStart;
                    } else if byte == b'\n' {
                        self.end_field(was_quoted);
                        return (at + 1, Progress::Row);
                    } else if byte == b'\r' {
                        at += 1;
                        self.end_field(was_quoted);
                        self.phase = Phase::AfterReturn(true);
                    } else if Some(byte) == self.dialect.quote && self.phase == Phase::AfterQuote {
                        // Two quotes, of which the first did not end the field after all.
                        at += 1;
                        self.text.push(byte);
                        self.phase = Phase::Quoted;
                    } else if self.dialect.trims && matches!(byte, b' ' | b'\t') {
                        at += 1;
                        self.phase = Phase::AfterQuotedBlank;
                    } else {
                        return (at, Progress::Fault(Fault::AfterQuote));
                    }
                }
                Phase::Quoted => {
                    at += 1;
                    self.phase = if Some(byte) == self.dialect.escape {
                        Phase::AfterEscape
                    } else {
                        Phase::AfterQuote
                    };
                }
                Phase::AfterEscape => {
                    // The whole character; its first byte is no quote.
                    let character = piece[at..].chars().next().unwrap_or_default();
                    let end = at + character.len_utf8();
                    self.text.extend_from_slice(&bytes[at..end]);
                    at = end;
                    self.phase = Phase::Quoted;
                }
                Phase::Comment => {
                    let end = bytes[at..]
                        .iter()
                        .position(|byte| matches!(byte, b'\n' | b'\r'));
                    match end {
                        Some(length) => {
                            at += length + 1;
                            self.phase = if bytes[at - 1] == b'\r' {
                                Phase::AfterReturn(false)
                            } else {
                                Phase::RowStart
                            };
                        }
                        None => at = bytes.len(),
                    }
                }
                Phase::AfterReturn(is_row) => {
                    if byte == b'\n' {
                        at += 1;
                    }
                    if is_row {
                        return (at, Progress::Row);
                    }
                    self.phase = Phase::RowStart;
                }
            }
        }
    }

    /// Handles the end of the text.
    fn finish(&mut self) -> Progress {
        match self.phase {
            Phase::RowStart | Phase::Comment | Phase::AfterReturn(false) => Progress::End,
            Phase::AfterReturn(true) => Progress::Row,
            Phase::Quoted | Phase::AfterEscape => Progress::Fault(Fault::OpenQuote),
            Phase::FieldStart | Phase::Plain | Phase::AfterQuote | Phase::AfterQuotedBlank => {
                let was_quoted = matches!(self.phase, Phase::AfterQuote | Phase::AfterQuotedBlank);
                self.end_field(was_quoted);
                Progress::Row
            }
        }
    }
}

/// Appends a field, in quotes if it must or `always` is set. `false` when the dialect cannot write it.
pub fn write_field(
    text: &str,
    dialect: &Dialect,
    always: bool,
    alone: bool,
    output: &mut String,
) -> bool {
    let is_special = |byte: u8| {
        byte == dialect.delimiter || matches!(byte, b'\n' | b'\r') || Some(byte) == dialect.quote
    };
    let needs_quotes = text.bytes().any(is_special)
        || alone && text.is_empty()
        || text
            .bytes()
            .next()
            .is_some_and(|byte| Some(byte) == dialect.comment)
        || dialect.trims && text.trim_matches([' ', '\t']).len() != text.len();
    if !needs_quotes && !always {
        output.push_str(text);
        return true;
    }
    let Some(quote) = dialect.quote.map(char::from) else {
        output.push_str(text);
        return !needs_quotes || alone && text.is_empty();
    };
    let escape = dialect.escape.map(char::from);
    output.push(quote);
    let mark = escape.unwrap_or(quote);
    let mut rest = text;
    while let Some(at) = rest.find([quote, mark]) {
        let (before, behind) = rest.split_at(at);
        output.push_str(before);
        output.push(mark);
        // Both are characters of ASCII.
        output.push_str(&behind[..1]);
        rest = &behind[1..];
    }
    output.push_str(rest);
    output.push(quote);
    true
}
