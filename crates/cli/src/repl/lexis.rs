//! Tokens of what is being typed: for highlighting, matching of parens, indentation, and to know
//! whether a form is whole.
//!
//! The scanner takes text in pieces that end at line ends and never looks back, so that input of
//! any length costs linear time. It does not know what a token means to the reader; the reader
//! decides.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A paren or bracket, also with `#` or `#u8` before it.
    Open,
    Close,
    /// A string or a part of one.
    String,
    Comment,
    Character,
    /// `#t`, a number, a keyword and the like.
    Constant,
    Symbol,
    /// `'` and its kin, and `#;`.
    Prefix,
}

/// A token and the bytes it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub range: Range<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Plain,
    /// In a string or a symbol between bars, by what ends it.
    Quoted(u8),
    /// In so many block comments.
    Block(usize),
}

/// The state between pieces of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanner {
    mode: Mode,
    /// Parens that are open.
    depth: usize,
    /// More parens were closed than opened.
    has_excess: bool,
    /// A prefix stands before nothing so far.
    is_awaiting: bool,
    /// There was something besides blanks and comments.
    has_content: bool,
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b'[' | b']' | b'"' | b';')
}

impl Scanner {
    /// Whether what was scanned so far may be whole.
    pub fn is_complete(&self) -> bool {
        self.has_excess
            || (self.depth == 0
                && self.mode == Mode::Plain
                && (!self.is_awaiting || !self.has_content))
    }

    /// Whether the text ends inside of a string or of a symbol between bars.
    pub fn is_in_quotes(&self) -> bool {
        matches!(self.mode, Mode::Quoted(_))
    }

    /// Scans a piece; `visit` gets its tokens, with offsets in the piece.
    pub fn scan(&mut self, text: &str, mut visit: impl FnMut(Token)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            let kind = match self.mode {
                Mode::Quoted(end) => {
                    at = self.quoted(bytes, at, end);
                    Some(if end == b'"' {
                        TokenKind::String
                    } else {
                        TokenKind::Symbol
                    })
                }
                Mode::Block(_) => {
                    at = self.block(bytes, at);
                    Some(TokenKind::Comment)
                }
                Mode::Plain => {
                    let (kind, end) = self.plain(bytes, at);
                    at = end;
                    kind
                }
            };
            // Offsets of bytes of one character belong together.
            while !text.is_char_boundary(at) {
                at += 1;
            }
            if let Some(kind) = kind {
                let range = start..at;
                visit(Token { kind, range });
            }
        }
    }

    fn quoted(&mut self, bytes: &[u8], mut at: usize, end: u8) -> usize {
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                byte if byte == end => {
                    self.mode = Mode::Plain;
                    return at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        bytes.len()
    }

    fn block(&mut self, bytes: &[u8], mut at: usize) -> usize {
        let Mode::Block(mut depth) = self.mode else {
            return at;
        };
        while at < bytes.len() {
            if bytes[at..].starts_with(b"|#") {
                at += 2;
                depth -= 1;
                if depth == 0 {
                    self.mode = Mode::Plain;
                    return at;
                }
            } else if bytes[at..].starts_with(b"#|") {
                at += 2;
                depth += 1;
            } else {
                at += 1;
            }
        }
        self.mode = Mode::Block(depth);
        bytes.len()
    }

    /// A token outside of strings and comments; `None` for blanks.
    fn plain(&mut self, bytes: &[u8], at: usize) -> (Option<TokenKind>, usize) {
        let first = bytes[at];
        if first.is_ascii_whitespace() {
            return (None, at + 1);
        }
        if first == b';' {
            let end = bytes[at..].iter().position(|byte| *byte == b'\n');
            let end = end.map_or(bytes.len(), |end| at + end);
            return (Some(TokenKind::Comment), end);
        }
        if bytes[at..].starts_with(b"#|") {
            self.mode = Mode::Block(1);
            let end = self.block(bytes, at + 2);
            return (Some(TokenKind::Comment), end);
        }
        self.has_content = true;
        let (kind, end) = self.datum(bytes, at);
        self.is_awaiting = kind == TokenKind::Prefix;
        (Some(kind), end)
    }

    fn datum(&mut self, bytes: &[u8], at: usize) -> (TokenKind, usize) {
        let rest = &bytes[at..];
        for prefix in [
            b"#,@".as_slice(),
            b",@",
            b"#'",
            b"#`",
            b"#,",
            b"#;",
            b"'",
            b"`",
            b",",
        ] {
            if rest.starts_with(prefix) {
                return (TokenKind::Prefix, at + prefix.len());
            }
        }
        for open in [b"(".as_slice(), b"[", b"#(", b"#u8(", b"#vu8("] {
            if rest.starts_with(open) {
                self.depth += 1;
                return (TokenKind::Open, at + open.len());
            }
        }
        match rest[0] {
            b')' | b']' => {
                self.has_excess |= self.depth == 0;
                self.depth = self.depth.saturating_sub(1);
                return (TokenKind::Close, at + 1);
            }
            b'"' => {
                self.mode = Mode::Quoted(b'"');
                return (TokenKind::String, self.quoted(bytes, at + 1, b'"'));
            }
            _ => {}
        }
        if rest.starts_with(b"#\\") {
            // The first character belongs to the token even if it is a delimiter; the next
            // delimiter ends it.
            let mut end = (at + 3).min(bytes.len());
            while end < bytes.len() && !is_delimiter(bytes[end]) {
                end += 1;
            }
            return (TokenKind::Character, end);
        }
        let mut end = at;
        while end < bytes.len() && !is_delimiter(bytes[end]) {
            if bytes[end] == b'|' {
                self.mode = Mode::Quoted(b'|');
                end = self.quoted(bytes, end + 1, b'|');
                if self.mode != Mode::Plain {
                    break;
                }
            } else {
                end += 1;
            }
        }
        let kind = match rest[0] {
            b'#' | b'0'..=b'9' => TokenKind::Constant,
            b'+' | b'-' | b'.' if rest.len() > 1 && rest[1].is_ascii_digit() => TokenKind::Constant,
            _ => TokenKind::Symbol,
        };
        (kind, end.max(at + 1))
    }
}

/// The tokens of a whole text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    Scanner::default().scan(text, |token| tokens.push(token));
    tokens
}

/// The token that matches the paren at or just before the cursor, and that paren.
pub fn matching(tokens: &[Token], cursor: usize) -> Option<(usize, usize)> {
    let is_paren = |token: &Token| matches!(token.kind, TokenKind::Open | TokenKind::Close);
    let before = tokens
        .iter()
        .position(|token| token.range.end == cursor && token.kind == TokenKind::Close);
    let at = before.or_else(|| {
        tokens
            .iter()
            .position(|token| token.range.contains(&cursor) && is_paren(token))
    })?;
    let mut depth = 0i64;
    let mut step = |token: &Token| {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    let found = if tokens[at].kind == TokenKind::Open {
        (at..tokens.len()).find(|index| step(&tokens[*index]))
    } else {
        (0..=at).rev().find(|index| step(&tokens[*index]))
    };
    found.map(|found| (at, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a text may be whole.
    fn is_complete(text: &str) -> bool {
        let mut scanner = Scanner::default();
        scanner.scan(text, |_| {});
        scanner.is_complete()
    }

    #[test]
    fn whole_forms() {
        for text in [
            "",
            "  ",
            "(a b)",
            "a",
            "\"x\"",
            "#\\(",
            "#\\\"",
            "(a #;(b) c)",
            "; (",
            "#| ( |#",
            "'a",
            "(a))",
            "#u8(1 2)",
            "|a (|",
            "[a]",
            ")",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in [
            "(", "(a", "\"x", "\"\\\"", "#|", "#| #| |#", "'", "a '", "#;", "(a #\\)", "|a",
            "#u8(", "(a ; )", "(\")\"",
        ] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let text = "(define s \"a\nb)\" #| c\n #| d |# ( |# |x\n y|)\n";
        let mut scanner = Scanner::default();
        for line in text.split_inclusive('\n') {
            scanner.scan(line, |_| {});
        }
        let mut whole = Scanner::default();
        whole.scan(text, |_| {});
        assert_eq!(scanner, whole);
        assert!(whole.is_complete());
    }

    #[test]
    fn parens_match() {
        let tokens = tokens("(a #\\) \")\" (b))");
        let at = |cursor| {
            matching(&tokens, cursor)
                .map(|(from, to)| (tokens[from].range.start, tokens[to].range.start))
        };
        assert_eq!(at(0), Some((0, 14)));
        assert_eq!(at(15), Some((14, 0)));
        assert_eq!(at(14), Some((13, 11)));
        assert_eq!(at(2), None);
    }

    #[test]
    fn any_bytes_are_scanned() {
        for text in [
            "é\"λ",
            "#\\λx",
            "日本|語",
            "#",
            "'é",
            "#\u{1F600}(",
            "\\",
            "\"\\",
        ] {
            let tokens = tokens(text);
            assert!(
                tokens
                    .iter()
                    .all(|token| text.get(token.range.clone()).is_some())
            );
        }
    }
}
