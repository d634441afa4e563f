//! Characters to tokens.
//!
//! The lexer never takes a character beyond the token it returns; one character of lookahead is
//! enough for all of the syntax. A bad token is taken whole before its error is returned, so that
//! the caller may report it and continue.

use canny_number::elements::ElementType;

use crate::diagnostic::Diagnostic;
use crate::number::{self, Number};
use crate::print::CHARACTER_NAMES;
use crate::reader::builder::{Quotation, Special};
use crate::reader::source::CharSource;
use crate::span::{SourceId, Span};

/// Why reading stopped.
#[derive(Debug)]
pub enum ReadError<E> {
    /// The source of characters failed.
    Source(E),
    /// The text is wrong, or (see [`Diagnostic::incomplete`]) not finished.
    Syntax(Box<Diagnostic>),
}

impl<E> From<Diagnostic> for ReadError<E> {
    fn from(diagnostic: Diagnostic) -> ReadError<E> {
        ReadError::Syntax(Box::new(diagnostic))
    }
}

/// A token. The text of strings, symbols and keywords is in [`LexicalState::text`], so that tokens are
/// small, which are passed on often.
#[derive(Debug)]
pub(crate) enum Token {
    /// `(` or `[`, with the character that closes it.
    Open(char),
    /// `#(`
    VectorOpen,
    /// `#u8(`
    BytevectorOpen,
    /// `#f64(` and the like
    NumericVectorOpen(ElementType),
    /// A whole bytevector, written `#u8"…"`.
    Bytes(Box<[u8]>),
    /// `)` or `]`
    Close(char),
    Quotation(Quotation),
    /// A lone `.`
    Dot,
    /// `#;`
    DatumComment,
    /// `#n=`
    LabelDefine(u64),
    /// `#n#`
    LabelRef(u64),
    Boolean(bool),
    Number(Box<Number>),
    Character(char),
    String,
    Symbol,
    Keyword,
    Special(Special),
    /// The end of the text.
    End,
}

/// The lexical state that outlives one datum.
#[derive(Clone, Debug)]
pub(crate) struct LexicalState {
    pub source: SourceId,
    pub fold_case: bool,
    /// Offset of the first character of the current line.
    pub line_start: u32,
    /// Lines begun so far.
    pub line: u32,
    /// The text of the last token that has one.
    pub text: String,
}

pub(crate) struct Lexer<'a, S> {
    pub state: &'a mut LexicalState,
    pub source: &'a mut S,
}

type Result<T, S> = std::result::Result<T, ReadError<<S as CharSource>::Error>>;

/// Whether the character ends a symbol, number or other bare token.
fn is_delimiter(character: char) -> bool {
    matches!(
        character,
        '(' | ')' | '[' | ']' | '"' | ';' | '|' | '\'' | '`' | ','
    ) || is_blank(character)
}

/// White space in the sense of the reader, with NEL, the byte order mark and Unicode's spaces.
pub(crate) fn is_blank(character: char) -> bool {
    if character.is_ascii_graphic() {
        return false;
    }
    character.is_whitespace() || character == '\u{FEFF}' || character == '\0'
}

/// Whether a byte stands for itself in a bare token: no delimiter, no bar, and printed.
#[inline]
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'(' | b')' | b'[' | b']' | b'"' | b';' | b'|' | b'\'' | b'`' | b','
        )
}

/// Whether a byte is a blank or printed: it ends no line.
#[inline]
fn is_within_line(byte: u8) -> bool {
    byte == b'\t' || byte == b' ' || byte.is_ascii_graphic()
}

impl<S: CharSource> Lexer<'_, S> {
    #[inline]
    fn peek(&mut self) -> Result<Option<char>, S> {
        self.source.peek().map_err(ReadError::Source)
    }

    #[inline]
    fn take(&mut self) -> Result<Option<char>, S> {
        let next = self.source.next().map_err(ReadError::Source)?;
        if next == Some('\n') {
            self.state.line_start = self.source.offset();
            self.state.line += 1;
        }
        Ok(next)
    }

    /// The span from `start` to the current position.
    pub fn span_from(&self, start: u32) -> Span {
        Span::new(self.state.source, start, self.source.offset().max(start))
    }

    /// Skips white space and comments other than `#;`; returns the next token and its span.
    pub fn token(&mut self) -> Result<(Token, Span), S> {
        loop {
            let start = self.source.offset();
            let Some(first) = self.peek()? else {
                return Ok((Token::End, self.span_from(start)));
            };
            if is_blank(first) {
                self.take()?;
                self.source.take_run(|byte| byte == b' ');
            } else if first == ';' {
                self.skip_line()?;
            } else if let Some(token) = self.single(first)? {
                // The commonest tokens; made here, they are not passed on from hand to hand.
                return Ok((token, self.span_from(start)));
            } else if let Some(token) = self.token_at(first, start)? {
                return Ok((token, self.span_from(start)));
            }
        }
    }

    /// The token that is `first` alone, which was not taken.
    #[inline(always)]
    fn single(&mut self, first: char) -> Result<Option<Token>, S> {
        let token = match first {
            '(' => Token::Open(')'),
            '[' => Token::Open(']'),
            ')' | ']' => Token::Close(first),
            '\'' => Token::Quotation(Quotation::Quote),
            '`' => Token::Quotation(Quotation::Quasiquote),
            _ => return Ok(None),
        };
        self.take()?;
        Ok(Some(token))
    }

    /// The token that begins with `first`, which was not taken and is none alone; `None` for a comment.
    fn token_at(&mut self, first: char, start: u32) -> Result<Option<Token>, S> {
        Ok(Some(match first {
            ',' => {
                self.take()?;
                Token::Quotation(self.unquotation(Quotation::Unquote, Quotation::UnquoteSplicing)?)
            }
            '"' => {
                self.take()?;
                let mut text = self.empty_text();
                self.quoted(&mut text, '"', start)?;
                self.state.text = text;
                Token::String
            }
            '#' => {
                self.take()?;
                return self.hash(start);
            }
            _ => self.bare(start)?,
        }))
    }

    /// `plain` or, if an `@` follows, `splicing`.
    fn unquotation(&mut self, plain: Quotation, splicing: Quotation) -> Result<Quotation, S> {
        if self.peek()? == Some('@') {
            self.take()?;
            return Ok(splicing);
        }
        Ok(plain)
    }

    fn skip_line(&mut self) -> Result<(), S> {
        while let Some(next) = self.peek()? {
            if next == '\n' || next == '\r' {
                break;
            }
            self.take()?;
            self.source.take_run(is_within_line);
        }
        Ok(())
    }

    /// Reads a token that begins with `#`, from the character behind it.
    fn hash(&mut self, start: u32) -> Result<Option<Token>, S> {
        let Some(next) = self.peek()? else {
            let message = "the text ends after `#`";
            return Err(
                Diagnostic::error("incomplete-token", self.span_from(start), message)
                    .incomplete()
                    .into(),
            );
        };
        Ok(Some(match next {
            '(' => {
                self.take()?;
                Token::VectorOpen
            }
            ';' => {
                self.take()?;
                Token::DatumComment
            }
            '|' => {
                self.take()?;
                self.skip_block_comment(start)?;
                return Ok(None);
            }
            '\\' => {
                self.take()?;
                Token::Character(self.character(start)?)
            }
            '\'' => {
                self.take()?;
                Token::Quotation(Quotation::Syntax)
            }
            '`' => {
                self.take()?;
                Token::Quotation(Quotation::Quasisyntax)
            }
            ',' => {
                self.take()?;
                Token::Quotation(
                    self.unquotation(Quotation::Unsyntax, Quotation::UnsyntaxSplicing)?,
                )
            }
            '!' => {
                self.take()?;
                return self.directive(start);
            }
            ':' => {
                self.take()?;
                let mut text = self.empty_text();
                let barred = self.bare_text(&mut text, start)?;
                if text.is_empty() && !barred {
                    return Err(self.error(
                        "bad-keyword",
                        start,
                        "a keyword needs a name after `#:`",
                    ));
                }
                self.state.text = text;
                Token::Keyword
            }
            '0'..='9' => self.label(start)?,
            _ => self.hash_word(start)?,
        }))
    }

    fn error(
        &self,
        code: &'static str,
        start: u32,
        message: impl Into<String>,
    ) -> ReadError<S::Error> {
        Diagnostic::error(code, self.span_from(start), message).into()
    }

    /// `#t`, `#false`, `#u8(`, `#x1F` and the like.
    fn hash_word(&mut self, start: u32) -> Result<Token, S> {
        let mut word = String::from("#");
        while let Some(next) = self.peek()?.filter(|&next| !is_delimiter(next)) {
            self.take()?;
            word.push(next);
        }
        match word.to_ascii_lowercase().as_str() {
            "#t" | "#true" => return Ok(Token::Boolean(true)),
            "#f" | "#false" => return Ok(Token::Boolean(false)),
            "#u8" | "#vu8" if self.peek()? == Some('(') => {
                self.take()?;
                return Ok(Token::BytevectorOpen);
            }
            "#u8" if self.peek()? == Some('"') => {
                self.take()?;
                return self.byte_string(start);
            }
            name if self.peek()? == Some('(') => {
                if let Some(element) = ElementType::from_name(&name[1..]) {
                    self.take()?;
                    return Ok(Token::NumericVectorOpen(element));
                }
            }
            _ => {}
        }
        let prefix = word.as_bytes().get(1).map(u8::to_ascii_lowercase);
        if matches!(prefix, Some(b'e' | b'i' | b'b' | b'o' | b'd' | b'x')) {
            return match number::parse(&word, 10) {
                Ok(Some(number)) => Ok(Token::Number(Box::new(number))),
                Ok(None) => {
                    Err(self.error("bad-number", start, format!("`{word}` is not a number")))
                }
                Err(problem) => Err(self.bad_number(start, &word, &problem)),
            };
        }
        if word == "#" {
            return Err(self.error(
                "bad-token",
                start,
                "`#` alone begins nothing that can be read",
            ));
        }
        let message = match prefix {
            Some(b'<') => format!(
                "`{word}…` is how an object without a readable form is printed; it cannot be read"
            ),
            _ => format!("`{word}` is not the beginning of any datum"),
        };
        let problem = Diagnostic::error("bad-token", self.span_from(start), message);
        Err(match foreign_token_note(&word) {
            Some(note) => problem.note(note),
            None => problem,
        }
        .into())
    }

    /// The error for a token that has the form of a number but no value.
    fn bad_number(
        &self,
        start: u32,
        text: &str,
        problem: &number::NumberError,
    ) -> ReadError<S::Error> {
        let shown: String = text.chars().take(40).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        self.error(
            "bad-number",
            start,
            format!("the number `{shown}{dots}` has no value: {problem}"),
        )
    }

    /// `#n=` or `#n#`; the `#` was taken.
    fn label(&mut self, start: u32) -> Result<Token, S> {
        let mut number: Option<u64> = Some(0);
        while let Some(digit) = self.peek()?.and_then(|next| next.to_digit(10)) {
            self.take()?;
            number =
                number.and_then(|number| number.checked_mul(10)?.checked_add(u64::from(digit)));
        }
        let next = self.peek()?;
        match (number, next) {
            (Some(number), Some('=')) => {
                self.take()?;
                Ok(Token::LabelDefine(number))
            }
            (Some(number), Some('#')) => {
                self.take()?;
                Ok(Token::LabelRef(number))
            }
            (Some(_), None) => {
                let message = "the text ends inside a label";
                Err(
                    Diagnostic::error("incomplete-token", self.span_from(start), message)
                        .incomplete()
                        .into(),
                )
            }
            _ => {
                self.bare_text(&mut String::new(), start)?;
                Err(self.error(
                    "bad-label",
                    start,
                    "a label is `#`, a number, and `=` or `#`",
                ))
            }
        }
    }

    /// `#!name`, and a first line that names an interpreter.
    fn directive(&mut self, start: u32) -> Result<Option<Token>, S> {
        if start == 0 && matches!(self.peek()?, Some('/' | ' ')) {
            self.skip_line()?;
            return Ok(None);
        }
        let mut word = self.empty_text();
        self.bare_text(&mut word, start)?;
        Ok(Some(match word.as_str() {
            "fold-case" => {
                self.state.fold_case = true;
                return Ok(None);
            }
            "no-fold-case" => {
                self.state.fold_case = false;
                return Ok(None);
            }
            // Names of dialects are harmless at the head of a file.
            "r6rs" | "r7rs" | "chezscheme" => return Ok(None),
            "optional" | "rest" | "key" => {
                self.state.text = word;
                Token::Keyword
            }
            "eof" => Token::Special(Special::Eof),
            "unspecific" => Token::Special(Special::Unspecified),
            "default" => Token::Special(Special::DefaultObject),
            _ => {
                return Err(self.error("bad-directive", start, format!("`#!{word}` is not known")));
            }
        }))
    }

    fn skip_block_comment(&mut self, start: u32) -> Result<(), S> {
        let open = self.span_from(start);
        let mut depth = 1;
        let mut previous = ' ';
        loop {
            let Some(next) = self.take()? else {
                let message = "this block comment is not closed by `|#`";
                return Err(Diagnostic::error("unclosed-comment", open, message)
                    .incomplete()
                    .into());
            };
            previous = match (previous, next) {
                ('|', '#') if depth == 1 => return Ok(()),
                ('|', '#') => {
                    depth -= 1;
                    ' '
                }
                ('#', '|') => {
                    depth += 1;
                    ' '
                }
                _ => next,
            };
        }
    }

    /// Reads a character behind `#\`.
    fn character(&mut self, start: u32) -> Result<char, S> {
        let Some(first) = self.take()? else {
            let message = "the text ends after `#\\`";
            return Err(
                Diagnostic::error("incomplete-token", self.span_from(start), message)
                    .incomplete()
                    .into(),
            );
        };
        let mut name = String::from(first);
        if !is_delimiter(first) || first == '\'' {
            while let Some(next) = self.peek()?.filter(|&next| !is_delimiter(next)) {
                self.take()?;
                name.push(next);
            }
        }
        if name.chars().nth(1).is_none() {
            return Ok(first);
        }
        let known = |name: &str| {
            CHARACTER_NAMES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        let folded = if self.state.fold_case {
            name.to_lowercase()
        } else {
            name.clone()
        };
        let other = match folded.as_str() {
            "nul" => Some('\0'),
            "altmode" | "esc" => Some('\u{1B}'),
            "rubout" | "del" => Some('\u{7F}'),
            "linefeed" => Some('\n'),
            "vtab" => Some('\u{B}'),
            "page" => Some('\u{C}'),
            _ => None,
        };
        if let Some(character) = known(&folded).or(other) {
            return Ok(character);
        }
        if let Some(digits) = name
            .strip_prefix(['x', 'X', 'U', 'u'])
            .filter(|digits| is_hexadecimal(digits))
        {
            return scalar_value(digits).ok_or_else(|| {
                self.error(
                    "bad-character",
                    start,
                    format!("`#\\{name}` is not a Unicode character"),
                )
            });
        }
        Err(self.error(
            "bad-character",
            start,
            format!("`#\\{name}` names no character"),
        ))
    }

    /// The buffer for a token's text, which an error drops.
    fn empty_text(&mut self) -> String {
        let mut text = std::mem::take(&mut self.state.text);
        text.clear();
        text
    }

    /// Appends the inside of a string or of a symbol in bars, up to and with the closing quote, which
    /// is dropped.
    fn quoted(&mut self, text: &mut String, quote: char, start: u32) -> Result<(), S> {
        let open = self.span_from(start);
        let mut first_error = None;
        loop {
            let is_plain =
                |byte| is_within_line(byte) && byte != b'\\' && char::from(byte) != quote;
            text.push_str(self.source.take_run(is_plain));
            let offset = self.source.offset();
            let Some(next) = self.take()? else {
                // More text would not cure an escape that is wrong.
                if let Some(error) = first_error {
                    return Err(error);
                }
                let (code, what) = match quote {
                    '"' => ("unclosed-string", "string"),
                    _ => ("unclosed-symbol", "symbol"),
                };
                let message = format!("this {what} is not closed by `{quote}`");
                return Err(Diagnostic::error(code, open, message).incomplete().into());
            };
            match next {
                _ if next == quote => break,
                '\\' => {
                    if let Err(error) = self.escape(text, offset, quote) {
                        match error {
                            ReadError::Syntax(diagnostic) if !diagnostic.incomplete => {
                                first_error.get_or_insert(ReadError::Syntax(diagnostic));
                            }
                            other => return Err(other),
                        }
                    }
                }
                '\r' => {
                    if self.peek()? == Some('\n') {
                        self.take()?;
                    }
                    text.push('\n');
                }
                _ => text.push(next),
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// A bytevector in the notation of SRFI 207, up to the closing quote: printable ASCII and the
    /// escapes of strings.
    fn byte_string(&mut self, start: u32) -> Result<Token, S> {
        let open = self.span_from(start);
        let mut text = String::new();
        loop {
            let offset = self.source.offset();
            match self.take()? {
                Some('"') => break,
                Some('\\') => self.escape(&mut text, offset, '"')?,
                Some(next @ ' '..='~') => text.push(next),
                Some(_) => {
                    let message = "bytes that are not printable ASCII are written as escapes";
                    return Err(self.error("bad-byte", offset, message));
                }
                None => {
                    let message = "this bytevector is not closed by `\"`";
                    return Err(Diagnostic::error("unclosed-string", open, message)
                        .incomplete()
                        .into());
                }
            }
        }
        let bytes: Option<Box<[u8]>> = text
            .chars()
            .map(|character| u8::try_from(u32::from(character)).ok())
            .collect();
        match bytes {
            Some(bytes) => Ok(Token::Bytes(bytes)),
            None => Err(self.error(
                "bad-byte",
                start,
                "the bytes of a bytevector are at most 255",
            )),
        }
    }

    /// Reads the rest of an escape whose backslash is at `offset`.
    fn escape(&mut self, text: &mut String, offset: u32, quote: char) -> Result<(), S> {
        let Some(next) = self.take()? else {
            let message = "the text ends inside an escape";
            return Err(
                Diagnostic::error("unclosed-string", self.span_from(offset), message)
                    .incomplete()
                    .into(),
            );
        };
        match next {
            'a' => text.push('\u{7}'),
            'b' => text.push('\u{8}'),
            't' => text.push('\t'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            '"' | '\\' | '|' => text.push(next),
            'x' | 'X' => {
                let mut digits = String::new();
                while let Some(digit) = self.peek()?.filter(|next| next.is_ascii_hexdigit()) {
                    self.take()?;
                    digits.push(digit);
                }
                if self.peek()? != Some(';') || digits.is_empty() {
                    let message =
                        "a `\\x` escape is written `\\x41;`: hexadecimal digits and a semicolon";
                    return Err(self.error("bad-escape", offset, message));
                }
                self.take()?;
                match scalar_value(&digits) {
                    Some(character) => text.push(character),
                    None => {
                        let message = format!("`\\x{digits};` is not a Unicode character");
                        return Err(self.error("bad-escape", offset, message));
                    }
                }
            }
            _ if quote == '"' && is_blank(next) => return self.line_continuation(next, offset),
            _ => {
                return Err(self.error(
                    "bad-escape",
                    offset,
                    format!("`\\{next}` is not an escape"),
                ));
            }
        }
        Ok(())
    }

    /// Backslash, blanks, line end, blanks: all of it vanishes.
    fn line_continuation(&mut self, first: char, offset: u32) -> Result<(), S> {
        let is_line_end =
            |character: char| matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}');
        let mut next = first;
        while !is_line_end(next) {
            match self.peek()?.filter(|&next| is_blank(next)) {
                Some(blank) => {
                    self.take()?;
                    next = blank;
                }
                None => {
                    return Err(self.error(
                        "bad-escape",
                        offset,
                        "`\\` and a blank: a line end must follow",
                    ));
                }
            }
        }
        if next == '\r' && self.peek()? == Some('\n') {
            self.take()?;
        }
        while self
            .peek()?
            .is_some_and(|next| is_blank(next) && !is_line_end(next))
        {
            self.take()?;
        }
        Ok(())
    }

    /// Appends the text of a bare token, with parts in bars; says whether it had such parts.
    fn bare_text(&mut self, text: &mut String, start: u32) -> Result<bool, S> {
        let mut barred = false;
        while let Some(next) = self.peek()? {
            if next == '|' {
                self.take()?;
                barred = true;
                self.quoted(text, '|', start)?;
            } else if is_delimiter(next) {
                break;
            } else {
                self.take()?;
                if self.state.fold_case {
                    text.extend(next.to_lowercase());
                } else {
                    text.push(next);
                }
                let run = self.source.take_run(is_bare);
                if self.state.fold_case {
                    text.extend(run.chars().map(|next| next.to_ascii_lowercase()));
                } else {
                    text.push_str(run);
                }
            }
        }
        Ok(barred)
    }

    /// A number, a symbol or a lone dot.
    fn bare(&mut self, start: u32) -> Result<Token, S> {
        let mut text = self.empty_text();
        if self.bare_text(&mut text, start)? {
            self.state.text = text;
            return Ok(Token::Symbol);
        }
        if text == "." {
            return Ok(Token::Dot);
        }
        if may_be_number(&text) {
            match number::parse(&text, 10) {
                Ok(Some(number)) => return Ok(Token::Number(Box::new(number))),
                Ok(None) => {}
                Err(problem) => return Err(self.bad_number(start, &text, &problem)),
            }
        }
        if text.contains(['{', '}']) {
            return Err(self.error("bad-token", start, format!("braces are reserved: `{text}`")));
        }
        if text.contains('\\') {
            return Err(self.error(
                "bad-token",
                start,
                format!("`\\` cannot stand in a symbol without bars: `{text}`"),
            ));
        }
        if number::is_malformed(&text) {
            return Err(self.error("bad-number", start, format!("`{text}` is not a number")));
        }
        self.state.text = text;
        Ok(Token::Symbol)
    }
}

/// A cheap necessary condition for a token to be a number.
fn may_be_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.'))
}

fn is_hexadecimal(digits: &str) -> bool {
    !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit())
}

fn scalar_value(digits: &str) -> Option<char> {
    u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
}
/// The advice about a token that another Scheme reads.
fn foreign_token_note(word: &str) -> Option<&'static str> {
    match word {
        "#lang" => Some(
            "it is how a file of Racket begins; write (import (scheme base) (scheme write)) in place of the \
             line",
        ),
        "#reader" | "#hash" | "#hasheq" | "#%require" | "#%provide" => {
            Some("it is Racket's, and is not read here")
        }
        _ if word.starts_with("##") => Some(
            "names that begin with ## are Gambit's own; leave the form out, or write an import",
        ),
        _ => None,
    }
}
