//! Tokens of source text for the formatter.
//!
//! Unlike the reader it keeps comments, prefixes and the spelling of each datum. Tokens in order,
//! with blanks between them, are the whole text: no other byte is lost. Unfinished strings and
//! comments are errors.

use crate::ErrorAt;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `(`, `[`, `#(`, `#u8(` and the like.
    Open,
    /// `)` or `]`
    Close,
    /// Anything that is one datum: also strings and characters.
    Atom,
    /// `'`, `` ` ``, `,`, `,@`, their kin for syntax, `#;` and `#0=`: belongs to what follows.
    Prefix,
    /// From `;` to the end of the line; also a `#!` line at the beginning of the text.
    LineComment,
    /// `#| … |#`
    BlockComment,
}

/// A token and the bytes that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// Line ends between the token before and this one.
    pub newlines: u32,
}

/// Whether a byte ends an atom.
fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b'[' | b']' | b'"' | b';' | b'\'')
}

/// All tokens of a text.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, ErrorAt> {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        place: 0,
    };
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut newlines = 0;
    if text.starts_with('\u{feff}') {
        scanner.place = '\u{feff}'.len_utf8();
    }
    if text[scanner.place..].starts_with("#!/") || text[scanner.place..].starts_with("#! ") {
        let start = scanner.place;
        scanner.skip_line();
        tokens.push(Token {
            kind: Kind::LineComment,
            start,
            end: scanner.place,
            newlines,
        });
    }
    while let Some(byte) = scanner.peek() {
        if byte == b'\n' {
            newlines += 1;
            scanner.place += 1;
        } else if byte.is_ascii_whitespace() || scanner.skip_wide_blank(text) {
            scanner.place += usize::from(byte.is_ascii_whitespace());
        } else {
            let start = scanner.place;
            let kind = scanner.token()?;
            tokens.push(Token {
                kind,
                start,
                end: scanner.place,
                newlines,
            });
            newlines = 0;
        }
    }
    Ok(tokens)
}

struct Scanner<'t> {
    bytes: &'t [u8],
    place: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.place).copied()
    }

    fn at(&self, offset: usize) -> Option<u8> {
        self.bytes.get(self.place + offset).copied()
    }

    /// Skips a blank outside of ASCII, if one is here.
    fn skip_wide_blank(&mut self, text: &str) -> bool {
        if self.bytes[self.place].is_ascii() {
            return false;
        }
        match text[self.place..].chars().next() {
            Some(next) if next.is_whitespace() => {
                self.place += next.len_utf8();
                true
            }
            _ => false,
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.place += 1;
        }
        // The carriage return belongs to the line end.
        if self.bytes[..self.place].ends_with(b"\r") {
            self.place -= 1;
        }
    }

    fn token(&mut self) -> Result<Kind, ErrorAt> {
        let start = self.place;
        let byte = self.bytes[start];
        self.place += 1;
        match byte {
            b'(' | b'[' => Ok(Kind::Open),
            b')' | b']' => Ok(Kind::Close),
            b'\'' | b'`' => Ok(Kind::Prefix),
            b',' => {
                self.place += usize::from(self.peek() == Some(b'@'));
                Ok(Kind::Prefix)
            }
            b';' => {
                self.skip_line();
                Ok(Kind::LineComment)
            }
            b'"' => self.quoted(start, b'"', "string").map(|()| Kind::Atom),
            b'#' => self.hash(start),
            _ => {
                self.place = start;
                self.atom(start)
            }
        }
    }

    /// Reads a token that begins with the `#` at `start`.
    fn hash(&mut self, start: usize) -> Result<Kind, ErrorAt> {
        match self.peek() {
            Some(b'|') => {
                self.place += 1;
                self.block_comment(start)
            }
            Some(b';' | b'\'' | b'`') => {
                self.place += 1;
                Ok(Kind::Prefix)
            }
            Some(b',') => {
                self.place += 1 + usize::from(self.at(1) == Some(b'@'));
                Ok(Kind::Prefix)
            }
            Some(b'\\') => {
                // At least one character, whatever it is.
                self.place += 1;
                if self.peek().is_none() {
                    return Err(ErrorAt {
                        offset: start,
                        message: "the text ends after `#\\`".to_owned(),
                    });
                }
                self.take_character();
                while self.peek().is_some_and(|byte| !is_delimiter(byte)) {
                    self.place += 1;
                }
                Ok(Kind::Atom)
            }
            Some(b'0'..=b'9') => {
                let mut offset = 0;
                while self.at(offset).is_some_and(|byte| byte.is_ascii_digit()) {
                    offset += 1;
                }
                if self.at(offset) == Some(b'=') {
                    self.place += offset + 1;
                    return Ok(Kind::Prefix);
                }
                self.atom(start)
            }
            _ => self.atom(start),
        }
    }

    fn take_character(&mut self) {
        let Some(first) = self.peek() else { return };
        let length = match first {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        self.place = (self.place + length).min(self.bytes.len());
    }

    /// An atom without quotes around it; a paren at the end of `#u8` and the like belongs to it.
    fn atom(&mut self, start: usize) -> Result<Kind, ErrorAt> {
        while let Some(byte) = self.peek() {
            match byte {
                b'|' => {
                    let bar = self.place;
                    self.place += 1;
                    self.quoted(bar, b'|', "symbol")?;
                }
                b'(' | b'[' if self.bytes[start] == b'#' => {
                    self.place += 1;
                    return Ok(Kind::Open);
                }
                b'"' if self.bytes[start] == b'#' => {
                    self.place += 1;
                    self.quoted(start, b'"', "string")?;
                }
                byte if is_delimiter(byte) => break,
                _ => self.place += 1,
            }
        }
        if self.place == start {
            // Not reached by text that the dispatch above understands.
            self.place += 1;
        }
        Ok(Kind::Atom)
    }

    /// The rest of a string or of a symbol between bars.
    fn quoted(&mut self, start: usize, end: u8, what: &str) -> Result<(), ErrorAt> {
        while let Some(byte) = self.peek() {
            self.place += 1;
            if byte == end {
                return Ok(());
            }
            if byte == b'\\' {
                self.place = (self.place + 1).min(self.bytes.len());
            }
        }
        Err(ErrorAt {
            offset: start,
            message: format!("this {what} does not end"),
        })
    }

    fn block_comment(&mut self, start: usize) -> Result<Kind, ErrorAt> {
        let mut depth = 1;
        while depth > 0 {
            match (self.peek(), self.at(1)) {
                (Some(b'|'), Some(b'#')) => {
                    depth -= 1;
                    self.place += 2;
                }
                (Some(b'#'), Some(b'|')) => {
                    depth += 1;
                    self.place += 2;
                }
                (Some(_), _) => self.place += 1,
                (None, _) => {
                    return Err(ErrorAt {
                        offset: start,
                        message: "this comment does not end".to_owned(),
                    });
                }
            }
        }
        Ok(Kind::BlockComment)
    }
}
