//! Blanks comments and literals in Rust source, and finds words and braces in the rest.
//!
//! Offsets and line numbers stay as they were. It knows just enough of the lexical grammar for
//! that and is no parser: a file with wrong syntax gives some answer and no error.

/// The text with the contents of comments, strings and character literals replaced by spaces. Newlines
/// stay, and so does every byte offset.
pub fn without_comments_and_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = vec![b' '; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        if end > at {
            at = end;
        } else {
            out[at] = bytes[at];
            at += 1;
        }
    }
    for (index, byte) in bytes.iter().enumerate() {
        if *byte == b'\n' {
            out[index] = b'\n';
        }
        // Identifiers are ASCII here; other characters would be cut in two.
        if !out[index].is_ascii() {
            out[index] = b' ';
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The end of the comment or literal that starts at `at`; `at` itself if none does.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let after_word = at > 0 && is_word(bytes[at - 1]);
    if rest.starts_with(b"//") {
        return find(bytes, at, b"\n").unwrap_or(bytes.len());
    }
    if rest.starts_with(b"/*") {
        return block_comment_end(bytes, at);
    }
    if rest[0] == b'"' {
        return string_end(bytes, at + 1);
    }
    if !after_word {
        for prefix in [&b"r"[..], b"br", b"cr"] {
            if let Some(end) = raw_string_end(bytes, at, prefix) {
                return end;
            }
        }
    }
    if rest[0] == b'\'' {
        return character_end(bytes, at).unwrap_or(at);
    }
    at
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    bytes[from..]
        .windows(wanted.len())
        .position(|window| window == wanted)
        .map(|position| from + position)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_string_end(bytes: &[u8], start: usize, prefix: &[u8]) -> Option<usize> {
    let rest = bytes[start..].strip_prefix(prefix)?;
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.extend(std::iter::repeat_n(b'#', hashes));
    let content = start + prefix.len() + hashes + 1;
    Some(find(bytes, content, &closing).map_or(bytes.len(), |end| end + closing.len()))
}

/// A character literal and not a lifetime.
fn character_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start + 1) == Some(&b'\\') {
        return bytes[start + 3..]
            .iter()
            .position(|byte| *byte == b'\'')
            .map(|position| start + 3 + position + 1);
    }
    let text = std::str::from_utf8(&bytes[start + 1..]).ok()?;
    let length = text.chars().next()?.len_utf8();
    (bytes.get(start + 1 + length) == Some(&b'\'')).then_some(start + length + 2)
}

/// The offset after the brace that closes the one at `open`, in text without literals.
pub fn closing_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The offsets where `word` stands as a whole word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).filter_map(move |(offset, _)| {
        let before = offset > 0 && is_word(code.as_bytes()[offset - 1]);
        let after = code
            .as_bytes()
            .get(offset + word.len())
            .is_some_and(|byte| is_word(*byte));
        (!before && !after).then_some(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blanked(text: &str) -> String {
        without_comments_and_literals(text)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        assert_eq!(blanked("a /* x /* y */ */ b // c\nd"), "a b d");
        assert_eq!(
            blanked("f(\"a\\\"{\", '{', '\\'', '\\u{7b}') {"),
            "f( , , , ) {"
        );
        assert_eq!(blanked("r#\"a\" {\"# + br\"{\" + \"λ\""), "+ +");
        assert_eq!(
            blanked("fn f<'a>(x: &'a str) {}"),
            "fn f<'a>(x: &'a str) {}"
        );
        assert_eq!(blanked("for_r\"x\""), "for_r");
    }

    #[test]
    fn offsets_stay() {
        let text = "let a = \"λλ\"; // λ\nlet b;";
        let code = without_comments_and_literals(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.find("let b"), text.find("let b"));
    }

    #[test]
    fn braces_are_matched() {
        assert_eq!(closing_brace("a { b { } } c", 2), Some(11));
        assert_eq!(closing_brace("a { b", 2), None);
    }
}
