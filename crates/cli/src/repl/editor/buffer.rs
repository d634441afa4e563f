//! The text being edited: cursor, killing and yanking, undo.
//!
//! The cursor is a byte offset at a character's boundary. Changes at the end of the text cost what they
//! add, so that input by the megabyte is no trouble.

/// States that can be gone back to.
const UNDO_MAX: usize = 200;
/// Texts longer than this are not kept for undoing.
const UNDO_BYTES_MAX: usize = 64 * 1024;

/// A text with a cursor.
#[derive(Debug, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
    killed: String,
    undo: Vec<(String, usize)>,
    /// The last change was the typing of a character, which the next one joins.
    is_typing: bool,
    /// Bytes at the start that nothing was done to since somebody asked; at most the text's length.
    unchanged: usize,
}

impl Buffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub fn after(&self) -> &str {
        &self.text[self.cursor..]
    }

    pub fn is_at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// How many bytes at the start are what they were when this was asked last.
    pub fn take_unchanged(&mut self) -> usize {
        std::mem::replace(&mut self.unchanged, self.text.len())
    }

    /// Notes that the text behind an offset is about to change.
    fn changes_from(&mut self, start: usize) {
        self.unchanged = self.unchanged.min(start);
    }

    /// Puts another text in place, with the cursor at its end.
    pub fn set(&mut self, text: &str) {
        self.remember();
        self.changes_from(0);
        self.text = text.to_owned();
        self.cursor = self.text.len();
    }

    /// Gives the text and begins anew.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        self.changes_from(0);
        self.undo.clear();
        self.is_typing = false;
        std::mem::take(&mut self.text)
    }

    fn remember(&mut self) {
        self.is_typing = false;
        if self.text.len() > UNDO_BYTES_MAX {
            return;
        }
        if self.undo.len() >= UNDO_MAX {
            self.undo.remove(0);
        }
        self.undo.push((self.text.clone(), self.cursor));
    }

    /// Goes back to the state before the last change.
    pub fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            self.changes_from(0);
            self.text = text;
            self.cursor = cursor;
        }
        self.is_typing = false;
    }

    /// A typed character.
    pub fn type_character(&mut self, character: char) {
        if !self.is_typing {
            self.remember();
        }
        self.changes_from(self.cursor);
        self.text.insert(self.cursor, character);
        self.cursor += character.len_utf8();
        self.is_typing = !character.is_whitespace();
    }

    pub fn insert(&mut self, text: &str) {
        self.remember();
        self.changes_from(self.cursor);
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Puts a text in place of what lies between an offset and the cursor.
    pub fn replace_from(&mut self, start: usize, text: &str) {
        self.remember();
        self.changes_from(start);
        self.text.replace_range(start..self.cursor, text);
        self.cursor = start + text.len();
    }

    /// Puts a text in place of a range; the cursor goes to its end or stays where it was behind it.
    fn cut(&mut self, start: usize, end: usize, keep: bool) {
        if start == end {
            return;
        }
        self.remember();
        if keep {
            self.killed = self.text[start..end].to_owned();
        }
        self.changes_from(start);
        self.text.replace_range(start..end, "");
        self.cursor = start;
    }

    pub fn backspace(&mut self) {
        self.cut(self.previous(), self.cursor, false);
    }

    pub fn delete(&mut self) {
        let (cursor, next) = (self.cursor, self.next());
        self.cut(cursor, next, false);
    }

    pub fn kill_to_line_end(&mut self) {
        let end = self.line_end();
        let end = if end == self.cursor { self.next() } else { end };
        self.cut(self.cursor, end, true);
    }

    pub fn kill_to_line_start(&mut self) {
        self.cut(self.line_start(), self.cursor, true);
    }

    pub fn kill_word_before(&mut self) {
        self.cut(self.word_before(), self.cursor, true);
    }

    pub fn kill_word_after(&mut self) {
        let (cursor, end) = (self.cursor, self.word_after());
        self.cut(cursor, end, true);
    }

    pub fn yank(&mut self) {
        let killed = std::mem::take(&mut self.killed);
        self.insert(&killed);
        self.killed = killed;
    }

    /// Exchanges the characters around the cursor.
    pub fn transpose(&mut self) {
        let end = if self.is_at_end() {
            self.cursor
        } else {
            self.next()
        };
        let mut characters = self.text[..end].char_indices().rev();
        if let (Some((second, right)), Some((first, left))) = (characters.next(), characters.next())
        {
            self.remember();
            self.changes_from(first);
            self.text
                .replace_range(first..end, &format!("{right}{left}"));
            self.cursor = end;
            debug_assert!(second < end);
        }
    }

    fn previous(&self) -> usize {
        let last = self.before().chars().next_back();
        self.cursor - last.map_or(0, char::len_utf8)
    }

    fn next(&self) -> usize {
        let next = self.after().chars().next();
        self.cursor + next.map_or(0, char::len_utf8)
    }

    pub fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let end = self.after().find('\n');
        end.map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_before(&self) -> usize {
        let before = self.before();
        let trimmed = before.trim_end_matches(|c: char| !is_word(c));
        trimmed.trim_end_matches(is_word).len()
    }

    fn word_after(&self) -> usize {
        self.cursor + word_end(self.after())
    }

    pub fn left(&mut self) {
        self.move_to(self.previous());
    }

    pub fn right(&mut self) {
        self.move_to(self.next());
    }

    pub fn word_left(&mut self) {
        self.move_to(self.word_before());
    }

    pub fn word_right(&mut self) {
        self.move_to(self.word_after());
    }

    pub fn go_to_line_start(&mut self) {
        self.move_to(self.line_start());
    }

    pub fn go_to_line_end(&mut self) {
        self.move_to(self.line_end());
    }

    pub fn go_to_end(&mut self) {
        self.move_to(self.text.len());
    }

    pub fn go_to_start(&mut self) {
        self.move_to(0);
    }

    /// Goes a line up; `false` if this is the first.
    pub fn up(&mut self) -> bool {
        let start = self.line_start();
        let Some(end) = start.checked_sub(1) else {
            return false;
        };
        let column = self.text[start..self.cursor].chars().count();
        let above = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
        self.move_to(above + bytes_of(&self.text[above..end], column));
        true
    }

    /// Goes a line down; `false` if this is the last.
    pub fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = self.text[self.line_start()..self.cursor].chars().count();
        let below = end + 1;
        let length = self.text[below..].find('\n');
        let line_end = length.map_or(self.text.len(), |at| below + at);
        self.move_to(below + bytes_of(&self.text[below..line_end], column));
        true
    }

    fn move_to(&mut self, cursor: usize) {
        self.cursor = cursor;
        self.is_typing = false;
    }
}

/// Bytes of the first so many characters.
fn bytes_of(line: &str, characters: usize) -> usize {
    line.char_indices()
        .nth(characters)
        .map_or(line.len(), |(at, _)| at)
}

/// Where the first word of a text ends.
pub fn word_end(text: &str) -> usize {
    let rest = text.trim_start_matches(|c: char| !is_word(c));
    text.len() - rest.trim_start_matches(is_word).len()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || "!$%&*/:<=>?^_~+-.@".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> Buffer {
        let mut buffer = Buffer::default();
        text.chars().for_each(|c| buffer.type_character(c));
        buffer
    }

    #[test]
    fn words_are_killed_and_yanked() {
        let mut edited = buffer("(list-copy αβγ 'x)");
        edited.left();
        edited.left();
        edited.left();
        edited.kill_word_before();
        assert_eq!(edited.text(), "(list-copy 'x)");
        edited.go_to_start();
        edited.yank();
        assert_eq!(edited.text(), "αβγ (list-copy 'x)");
        edited.undo();
        edited.undo();
        assert_eq!(edited.text(), "(list-copy αβγ 'x)");
    }

    #[test]
    fn lines_are_walked() {
        let mut edited = buffer("ab\nλμνξ\nc");
        assert!(edited.up());
        assert_eq!(edited.after(), "μνξ\nc");
        edited.go_to_line_end();
        assert!(edited.up());
        assert_eq!(edited.after(), "\nλμνξ\nc");
        assert!(!edited.up());
        assert!(edited.down());
        assert_eq!(edited.before(), "ab\nλμ");
        edited.kill_to_line_start();
        assert_eq!(edited.text(), "ab\nνξ\nc");
        edited.go_to_end();
        assert!(!edited.down());
    }

    #[test]
    fn nothing_happens_at_the_ends() {
        let mut edited = Buffer::default();
        edited.backspace();
        edited.delete();
        edited.transpose();
        edited.kill_word_after();
        edited.kill_to_line_end();
        edited.left();
        edited.right();
        edited.undo();
        edited.yank();
        assert_eq!(edited.text(), "");
        let mut edited = buffer("ab");
        edited.transpose();
        assert_eq!(edited.text(), "ba");
    }
}
