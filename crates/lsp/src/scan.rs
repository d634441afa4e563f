//! Tokens of a text that may be wrong anywhere, and what is open around a place.
//!
//! The reader is the authority on the meaning of a text. This scanner is for colours, for folding,
//! and for text that is being typed.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Open,
    Close,
    String,
    Comment,
    /// A number.
    Number,
    /// A character or a word that begins with `#`.
    Constant,
    /// `'` and its kin.
    Prefix,
    Symbol,
}

/// A token and the bytes that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// A string, symbol or comment whose end is missing.
    pub is_open: bool,
}

/// Whether a character can be part of a symbol without bars.
pub fn is_constituent(character: char) -> bool {
    !character.is_whitespace()
        && !matches!(
            character,
            '(' | ')' | '[' | ']' | '"' | ';' | '\'' | '`' | ','
        )
}

/// All tokens of a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut place = 0;
    while place < bytes.len() {
        let start = place;
        let byte = bytes[place];
        if byte.is_ascii_whitespace() {
            place += 1;
            continue;
        }
        let mut is_open = false;
        let kind = match byte {
            b'(' | b'[' => {
                place += 1;
                Kind::Open
            }
            b')' | b']' => {
                place += 1;
                Kind::Close
            }
            b'\'' | b'`' => {
                place += 1;
                Kind::Prefix
            }
            b',' => {
                place += 1 + usize::from(bytes.get(place + 1) == Some(&b'@'));
                Kind::Prefix
            }
            b';' => {
                place = line_end(bytes, place);
                Kind::Comment
            }
            b'"' => {
                (place, is_open) = quoted(bytes, place + 1, b'"');
                Kind::String
            }
            b'#' => {
                let kind;
                (kind, place, is_open) = hash(text, place);
                kind
            }
            _ => {
                place = word_end(text, place);
                if place == start {
                    // A blank outside of ASCII.
                    place += text[place..].chars().next().map_or(1, char::len_utf8);
                    continue;
                }
                let word = &text[start..place];
                is_open = word.matches('|').count() % 2 == 1;
                if word.starts_with(|c: char| c.is_ascii_digit())
                    || (word.len() > 1
                        && word.starts_with(['+', '-', '.'])
                        && word[1..].starts_with(|c: char| c.is_ascii_digit()))
                {
                    Kind::Number
                } else {
                    Kind::Symbol
                }
            }
        };
        tokens.push(Token {
            kind,
            start,
            end: place,
            is_open,
        });
    }
    tokens
}

/// Scans a token that begins with a `#`: its kind, its end, and whether its end is missing.
fn hash(text: &str, start: usize) -> (Kind, usize, bool) {
    let bytes = text.as_bytes();
    match bytes.get(start + 1) {
        Some(b'|') => {
            let (end, is_open) = block_comment(bytes, start);
            (Kind::Comment, end, is_open)
        }
        Some(b';') => (Kind::Prefix, start + 2, false),
        Some(b'!') if start == 0 && matches!(bytes.get(2), Some(b'/' | b' ')) => {
            (Kind::Comment, line_end(bytes, start), false)
        }
        Some(b'\'' | b'`' | b',') => (Kind::Prefix, start + 2, false),
        Some(b'\\') => {
            let place = start + 2;
            let place = place + text[place..].chars().next().map_or(0, char::len_utf8);
            (Kind::Constant, word_end(text, place), false)
        }
        _ => {
            let place = word_end(text, start + 1);
            match bytes.get(place) {
                Some(b'(') => (Kind::Open, place + 1, false),
                Some(b'"') => {
                    let (end, is_open) = quoted(bytes, place + 1, b'"');
                    (Kind::String, end, is_open)
                }
                _ => (Kind::Constant, place, false),
            }
        }
    }
}

fn line_end(bytes: &[u8], place: usize) -> usize {
    let rest = &bytes[place..];
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    place + end.unwrap_or(rest.len())
}

fn quoted(bytes: &[u8], mut place: usize, end: u8) -> (usize, bool) {
    while let Some(&byte) = bytes.get(place) {
        place += 1;
        if byte == end {
            return (place, false);
        }
        if byte == b'\\' && place < bytes.len() {
            place += 1;
        }
    }
    (bytes.len(), true)
}

fn block_comment(bytes: &[u8], mut place: usize) -> (usize, bool) {
    let mut depth = 0;
    while place < bytes.len() {
        match (bytes[place], bytes.get(place + 1)) {
            (b'|', Some(b'#')) => {
                depth -= 1;
                place += 2;
                if depth == 0 {
                    return (place, false);
                }
            }
            (b'#', Some(b'|')) => {
                depth += 1;
                place += 2;
            }
            _ => place += 1,
        }
    }
    (bytes.len(), true)
}

/// The end of a word; blanks and parens between bars belong to it.
fn word_end(text: &str, start: usize) -> usize {
    let mut in_bars = false;
    for (offset, character) in text[start..].char_indices() {
        if character == '|' {
            in_bars = !in_bars;
        } else if character == '\n' && in_bars || !in_bars && !is_constituent(character) {
            return start + offset;
        }
    }
    text.len()
}

/// A list that is open at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenList {
    /// Where its paren stands.
    pub start: usize,
    /// Its first element, if that is a symbol.
    pub head: Option<(usize, usize)>,
    /// How many elements begin before the place, the head among them.
    pub elements: usize,
    /// The keywords (`#:name`) among the elements.
    pub keywords: Vec<(usize, usize)>,
    /// Whether a quotation mark stands before it.
    pub is_quoted: bool,
}

/// The lists and the token around a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The open lists, outermost first.
    pub lists: Vec<OpenList>,
    /// The comment, string or word that the place lies in or touches with its end.
    pub token: Option<Token>,
}

/// The surroundings of the byte at `place`.
pub fn surroundings(text: &str, tokens: &[Token], place: usize) -> Surroundings {
    let mut found = Surroundings::default();
    let mut before: Option<Token> = None;
    for token in tokens {
        if token.start >= place {
            break;
        }
        let is_inside = place < token.end
            || (place == token.end && (token.is_open || is_word(token.kind)))
            || (place == token.end
                && token.kind == Kind::Comment
                && text[token.start..].starts_with(';'));
        if is_inside && !matches!(token.kind, Kind::Open | Kind::Close | Kind::Prefix) {
            found.token = Some(*token);
        }
        match token.kind {
            Kind::Open => {
                count_element(text, &mut found.lists, token);
                let is_quoted = before.is_some_and(|before| {
                    before.kind == Kind::Prefix
                        && text[before.start..before.end].starts_with(['\'', '`'])
                });
                found.lists.push(OpenList {
                    start: token.start,
                    head: None,
                    elements: 0,
                    keywords: Vec::new(),
                    is_quoted,
                });
            }
            Kind::Close => {
                found.lists.pop();
            }
            Kind::Comment | Kind::Prefix => {}
            _ => count_element(text, &mut found.lists, token),
        }
        if token.kind != Kind::Comment {
            before = Some(*token);
        }
    }
    found
}

fn is_word(kind: Kind) -> bool {
    matches!(kind, Kind::Symbol | Kind::Number | Kind::Constant)
}

fn count_element(text: &str, lists: &mut [OpenList], token: &Token) {
    let Some(list) = lists.last_mut() else { return };
    if list.elements == 0 && token.kind == Kind::Symbol {
        list.head = Some((token.start, token.end));
    }
    if token.kind == Kind::Constant && text[token.start..].starts_with("#:") {
        list.keywords.push((list.elements, token.start));
    }
    list.elements += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(text: &str) -> Vec<String> {
        let place = text.find('^').expect("the place is marked");
        let text = text.replace('^', "");
        let found = surroundings(&text, &tokens(&text), place);
        found
            .lists
            .iter()
            .map(|list| {
                let head = list.head.map_or("", |(start, end)| &text[start..end]);
                format!("{head}/{}", list.elements)
            })
            .collect()
    }

    #[test]
    fn open_lists_are_found() {
        assert_eq!(
            heads("(define (f x) (g 1 \"(\" ; (\n #| ( |# #\\( ^"),
            ["define/3", "g/4"]
        );
        assert_eq!(heads("(a) ^"), Vec::<String>::new());
        assert_eq!(heads(") (a '(b ^"), ["a/2", "b/1"]);
    }

    #[test]
    fn nothing_is_too_strange() {
        for text in [
            "",
            "\"",
            "#|",
            "#",
            "#\\",
            "|",
            "\\",
            "#(",
            "#;",
            "a|b c",
            "\u{a0}x",
            "#\"",
            ",@",
            "é\u{3000}",
        ] {
            let found = tokens(text);
            assert!(
                found
                    .iter()
                    .all(|token| token.start < token.end && token.end <= text.len()),
                "{text}"
            );
            surroundings(text, &found, text.len());
        }
    }
}
