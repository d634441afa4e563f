//! Texts with lines, and positions as clients count them.
//!
//! A client counts lines from zero and, within a line, UTF-16 units or bytes, whichever was agreed on.
//! Inside of the server a place is a byte offset.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::changes::Change;
use crate::scan::{Token, tokens};
use crate::transport::Failure;

/// The unit in which a client counts positions within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, which every client understands.
    Utf16,
}

/// A text with the offsets of its lines.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub content: Arc<str>,
    starts: Arc<[u32]>,
    tokens: Arc<OnceLock<Vec<Token>>>,
    encoding: Encoding,
}

impl Text {
    /// A text as a client with this encoding sees it.
    pub fn new(content: impl Into<Arc<str>>, encoding: Encoding) -> Text {
        let content = content.into();
        let bytes = content.as_bytes();
        let mut starts = vec![0];
        for (index, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(index + 1) != Some(&b'\n')) {
                starts.push(index as u32 + 1);
            }
        }
        Text {
            content,
            starts: starts.into(),
            tokens: Arc::default(),
            encoding,
        }
    }

    /// Another text for the same client.
    pub fn like(&self, content: impl Into<Arc<str>>) -> Text {
        Text::new(content, self.encoding)
    }

    /// Its tokens.
    pub fn tokens(&self) -> &[Token] {
        self.tokens.get_or_init(|| tokens(&self.content))
    }

    /// How many lines there are; a text that ends with a line end has an empty one behind it.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// Where a line begins.
    pub fn line_start(&self, line: usize) -> usize {
        self.starts
            .get(line)
            .map_or(self.content.len(), |start| *start as usize)
    }

    /// The line that an offset lies in.
    pub fn line_of(&self, offset: usize) -> usize {
        match self.starts.binary_search(&(offset as u32)) {
            Ok(line) => line,
            Err(next) => next - 1,
        }
    }

    /// A line without its end.
    pub fn line(&self, line: usize) -> &str {
        let text = &self.content[self.line_start(line)..self.line_start(line + 1)];
        text.trim_end_matches(['\r', '\n'])
    }

    /// The offset of a position; what lies behind the end of a line or of the text counts as that end.
    pub fn offset(&self, position: &Value) -> Result<usize, Failure> {
        let number = |member: &str| position[member].as_u64();
        let (Some(line), Some(character)) = (number("line"), number("character")) else {
            return Err(Failure::parameters("a position has a line and a character"));
        };
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        if line >= self.line_count() {
            return Ok(self.content.len());
        }
        let text = self.line(line);
        let start = self.line_start(line);
        let character = usize::try_from(character).unwrap_or(usize::MAX);
        if self.encoding == Encoding::Utf8 {
            return Ok(start + text.floor_char_boundary(character.min(text.len())));
        }
        let mut units = 0;
        for (offset, one) in text.char_indices() {
            units += one.len_utf16();
            if units > character {
                return Ok(start + offset);
            }
        }
        Ok(start + text.len())
    }

    /// The offsets of a range.
    pub fn offsets(&self, range: &Value) -> Result<(usize, usize), Failure> {
        let start = self.offset(&range["start"])?;
        let end = self.offset(&range["end"])?;
        Ok((start.min(end), start.max(end)))
    }

    /// Line and character of an offset.
    pub fn line_and_character(&self, offset: usize) -> (usize, usize) {
        let offset = self.content.floor_char_boundary(offset);
        let line = self.line_of(offset);
        let before = &self.content[self.line_start(line)..offset];
        let character = match self.encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 if before.is_ascii() => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        (line, character)
    }

    /// The position of an offset.
    pub fn position(&self, offset: usize) -> Value {
        let (line, character) = self.line_and_character(offset);
        json!({"line": line, "character": character})
    }

    /// The range of two offsets.
    pub fn range(&self, start: usize, end: usize) -> Value {
        json!({"start": self.position(start), "end": self.position(end)})
    }

    /// How long a piece of the text is for the client.
    pub fn units(&self, start: usize, end: usize) -> usize {
        let piece = self.content.get(start..end).unwrap_or_default();
        match self.encoding {
            Encoding::Utf8 => piece.len(),
            Encoding::Utf16 => piece.chars().map(char::len_utf16).sum(),
        }
    }

    /// The text after a change as `textDocument/didChange` describes it, and what the change was.
    pub fn changed(&self, change: &Value) -> Result<(Text, Change), Failure> {
        let Some(new) = change["text"].as_str() else {
            return Err(Failure::parameters("a change has a text"));
        };
        if change["range"].is_null() {
            let change = Change::between(&self.content, new);
            return Ok((Text::new(new, self.encoding), change));
        }
        let (start, end) = self.offsets(&change["range"])?;
        let mut text = String::with_capacity(self.content.len() + new.len());
        text.push_str(&self.content[..start]);
        text.push_str(new);
        text.push_str(&self.content[end..]);
        let length = new.len();
        Ok((
            Text::new(text, self.encoding),
            Change { start, end, length },
        ))
    }

    /// An edit that replaces a piece of the text.
    pub fn edit(&self, start: usize, end: usize, new: &str) -> Value {
        json!({"range": self.range(start, end), "newText": new})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64, character: u64) -> Value {
        json!({"line": line, "character": character})
    }

    #[test]
    fn units_are_those_of_the_encoding() {
        let content = "(é 𝄞 x)\r\n\u{1F600}a\rb\n";
        let wide = Text::new(content, Encoding::Utf16);
        let narrow = Text::new(content, Encoding::Utf8);
        let x = content.find('x').unwrap();
        assert_eq!(wide.position(x), at(0, 6));
        assert_eq!(narrow.position(x), at(0, x as u64));
        assert_eq!(wide.offset(&at(0, 6)).unwrap(), x);
        assert_eq!(narrow.offset(&at(0, x as u64)).unwrap(), x);
        // The middle of a surrogate pair is its beginning.
        assert_eq!(wide.offset(&at(0, 4)).unwrap(), content.find('𝄞').unwrap());
        let a = content.find('a').unwrap();
        assert_eq!(wide.position(a), at(1, 2));
        assert_eq!(wide.position(content.find('b').unwrap()), at(2, 0));
        assert_eq!(wide.line_count(), 4);
        // Behind the end of a line is its end, not the next line.
        assert_eq!(
            wide.offset(&at(0, 99)).unwrap(),
            content.find('\r').unwrap()
        );
        assert_eq!(wide.offset(&at(99, 0)).unwrap(), content.len());
        assert!(wide.offset(&json!({"line": -1, "character": 0})).is_err());
    }

    #[test]
    fn changes_are_applied() {
        let text = Text::new("ab\ncd\n", Encoding::Utf16);
        let change = json!({"range": {"start": at(0, 1), "end": at(1, 1)}, "text": "λ\n"});
        let (text, change) = text.changed(&change).unwrap();
        assert_eq!(&*text.content, "aλ\nd\n");
        assert_eq!((change.start, change.end, change.length), (1, 4, 3));
        let (text, _) = text.changed(&json!({"text": ""})).unwrap();
        assert_eq!(&*text.content, "");
        assert!(text.changed(&json!({})).is_err());
    }
}
