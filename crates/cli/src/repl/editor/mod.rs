//! Line editing: keys to changes of a text of one or more lines, until it is entered.
//!
//! All that was typed is taken before anything is drawn, so that a paste of megabytes is drawn a few times and not once for
//! each character. Colours, completion and indentation are the business of an [`Assistant`].

mod buffer;
mod keys;
mod screen;
mod terminal;

use std::time::{Duration, Instant};

use buffer::Buffer;
use keys::{Decoder, Key};
use screen::{Screen, View};
pub use screen::{Styled, text_width};
pub use terminal::{is_capable, is_ready, read as read_bytes, size};

use super::history::History;
use super::lexis::Scanner;

/// An Escape that is followed by nothing for so long is a key.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
/// While input keeps coming, the screen is drawn this seldom.
const DRAW_EVERY: Duration = Duration::from_millis(60);
/// And takes no more than one part in so many of the time.
const DRAW_SHARE: u32 = 10;
/// How often the window's size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A text longer than this is not looked at while more of it comes.
const LONG_BYTES: usize = 64 * 1024;
/// Ctrl-D.
const END_BYTE: u8 = 4;
/// Candidates that are listed.
const CANDIDATES_MAX: usize = 200;

/// Completions of what stands before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// Where what they complete begins.
    pub start: usize,
    pub candidates: Vec<String>,
}

/// What an [`Assistant`] found out about the beginning of a text, so that asking about each line of a long one costs linear time.
#[derive(Debug, Default)]
pub struct Known {
    /// Bytes that were scanned.
    pub length: usize,
    pub scanner: Scanner,
}

/// What knows the language.
pub trait Assistant {
    /// Whether Enter takes the text. `known` holds what was found out about the text's beginning, which has not changed since.
    fn is_complete(&self, text: &str, known: &mut Known) -> bool;
    /// The blanks that a line begins with, behind this text.
    fn indentation(&self, text: &str) -> usize;
    /// Coloured parts.
    fn styles(&self, text: &str, cursor: usize) -> Vec<Styled>;
    /// What may stand in place of the word before the cursor.
    fn completions(&self, text: &str, cursor: usize) -> Completions;
}

/// How reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

/// A search backwards through the history.
struct Search {
    pattern: String,
    /// Entries before this one are searched next.
    before: usize,
    original: String,
}

/// The editor of a prompt.
pub struct Editor {
    buffer: Buffer,
    decoder: Decoder,
    screen: Screen,
    /// The entry of the history that is shown; its length for none.
    entry: usize,
    /// What was typed before going into the history.
    draft: String,
    search: Option<Search>,
    known: Known,
    is_pasting: bool,
    below: Vec<String>,
    is_coloured: bool,
    is_done: bool,
}

enum Step {
    Go,
    Done(Input),
}

impl Editor {
    pub fn new(is_coloured: bool) -> Editor {
        let (columns, rows) = terminal::size();
        Editor {
            buffer: Buffer::default(),
            decoder: Decoder::default(),
            screen: Screen::new(columns, rows),
            entry: 0,
            draft: String::new(),
            search: None,
            known: Known::default(),
            is_pasting: false,
            below: Vec::new(),
            is_coloured,
            is_done: false,
        }
    }

    /// Reads one input.
    pub fn read(
        &mut self,
        prompt: &str,
        history: &History,
        assistant: &dyn Assistant,
    ) -> std::io::Result<Input> {
        let raw = terminal::Raw::enter()?;
        if terminal::is_ready(Some(Duration::ZERO)) {
            // Ctrl-D that was typed before came as the end of a line, which now reads as a null character.
            let typed_ahead = terminal::read()?;
            let keys: Vec<u8> = typed_ahead
                .into_iter()
                .map(|byte| if byte == 0 { END_BYTE } else { byte })
                .collect();
            self.decoder.push(&keys);
        }
        self.entry = history.entries().len();
        self.screen.forget();
        self.draw(prompt, assistant);
        let result = self.read_keys(prompt, history, assistant);
        // The cursor goes below what was typed.
        self.search = None;
        self.below.clear();
        self.buffer.go_to_end();
        self.is_done = true;
        self.draw(prompt, assistant);
        self.is_done = false;
        terminal::write("\r\n");
        drop(raw);
        let text = self.buffer.take();
        result.map(|input| match input {
            Input::Text(_) => Input::Text(text),
            other => other,
        })
    }

    fn read_keys(
        &mut self,
        prompt: &str,
        history: &History,
        assistant: &dyn Assistant,
    ) -> std::io::Result<Input> {
        let mut drawn = Instant::now();
        let mut pause = DRAW_EVERY;
        let mut is_changed = false;
        loop {
            let mut is_final = false;
            loop {
                while let Some(key) = self.decoder.next(is_final) {
                    is_changed = true;
                    if let Step::Done(input) = self.key(key, history, assistant) {
                        return Ok(input);
                    }
                }
                if self.decoder.is_empty() || is_final {
                    break;
                }
                if terminal::is_ready(Some(ESCAPE_WAIT)) {
                    break;
                }
                is_final = true;
            }
            let is_busy = terminal::is_ready(Some(Duration::ZERO));
            if is_changed && (!is_busy || drawn.elapsed() > pause) {
                let start = Instant::now();
                self.draw(prompt, assistant);
                is_changed = false;
                drawn = Instant::now();
                pause = DRAW_EVERY.max(DRAW_SHARE * (drawn - start));
            }
            while !terminal::is_ready(Some(LOOK_EVERY)) {
                let (columns, rows) = terminal::size();
                if columns != self.screen.columns() {
                    self.screen.resize(columns, rows);
                    self.draw(prompt, assistant);
                }
            }
            let bytes = terminal::read()?;
            if bytes.is_empty() {
                return Ok(Input::End);
            }
            self.decoder.push(&bytes);
        }
    }

    fn draw(&mut self, prompt: &str, assistant: &dyn Assistant) {
        let (columns, rows) = terminal::size();
        self.screen.resize(columns, rows);
        let (text, cursor) = (self.buffer.text(), self.buffer.cursor());
        let styles = if self.is_coloured {
            // What was entered shows no matching paren.
            let looked_at = if self.is_done { usize::MAX } else { cursor };
            assistant.styles(text, looked_at)
        } else {
            Vec::new()
        };
        let searching = self
            .search
            .as_ref()
            .map(|search| format!("search: {}", search.pattern));
        let below: Vec<String> = searching.into_iter().chain(self.below.clone()).collect();
        let mut out = String::new();
        let view = View {
            prompt,
            prompt_style: if self.is_coloured { "1" } else { "" },
            text,
            cursor,
            styles: &styles,
            below: &below,
        };
        self.screen.draw(&view, &mut out);
        terminal::write(&out);
    }

    fn key(&mut self, key: Key, history: &History, assistant: &dyn Assistant) -> Step {
        self.below.clear();
        if self.is_pasting {
            match key {
                Key::PasteEnd => self.is_pasting = false,
                Key::Enter => self.buffer.type_character('\n'),
                Key::Tab => self.buffer.type_character('\t'),
                Key::Char(character) => self.buffer.type_character(character),
                _ => {}
            }
            return Step::Go;
        }
        if self.search.is_some() && self.search_key(key, history) {
            return Step::Go;
        }
        match key {
            Key::Enter => return self.enter(assistant),
            Key::Meta('\r') => self.new_line(assistant),
            Key::Control('c') => return Step::Done(Input::Interrupted),
            Key::Control('d') if self.buffer.text().is_empty() => return Step::Done(Input::End),
            Key::Tab => self.complete(assistant),
            Key::Control('r') => self.begin_search(),
            Key::Control('l') => terminal::write("\x1b[H\x1b[2J"),
            Key::PasteStart => self.is_pasting = true,
            Key::Up | Key::Control('p') => {
                if !self.buffer.up() {
                    self.go_back(history);
                }
            }
            Key::Down | Key::Control('n') => {
                if !self.buffer.down() {
                    self.go_on(history);
                }
            }
            Key::PageUp | Key::Meta('p') => self.go_back(history),
            Key::PageDown | Key::Meta('n') => self.go_on(history),
            other => self.edit(other),
        }
        if key == Key::Control('l') {
            self.screen.forget();
        }
        Step::Go
    }

    /// Keys that change the text or move in it.
    fn edit(&mut self, key: Key) {
        let buffer = &mut self.buffer;
        match key {
            Key::Char(character) => buffer.type_character(character),
            Key::Backspace | Key::Control('h') => buffer.backspace(),
            Key::Delete | Key::Control('d') => buffer.delete(),
            Key::Left | Key::Control('b') => buffer.left(),
            Key::Right | Key::Control('f') => buffer.right(),
            Key::WordLeft | Key::Meta('b') => buffer.word_left(),
            Key::WordRight | Key::Meta('f') => buffer.word_right(),
            Key::Home | Key::Control('a') => buffer.go_to_line_start(),
            Key::End | Key::Control('e') => buffer.go_to_line_end(),
            Key::Meta('<') => buffer.go_to_start(),
            Key::Meta('>') => buffer.go_to_end(),
            Key::Control('k') => buffer.kill_to_line_end(),
            Key::Control('u') => buffer.kill_to_line_start(),
            Key::Control('w') | Key::MetaBackspace => buffer.kill_word_before(),
            Key::Meta('d') => buffer.kill_word_after(),
            Key::Control('y') => buffer.yank(),
            Key::Control('t') => buffer.transpose(),
            Key::Control('_') => buffer.undo(),
            _ => {}
        }
    }

    fn enter(&mut self, assistant: &dyn Assistant) -> Step {
        // In the midst of a text Enter breaks the line; at its end it asks whether that was all.
        if self.buffer.take_unchanged() < self.known.length {
            self.known = Known::default();
        }
        let is_last = self.buffer.after().trim().is_empty();
        if is_last && assistant.is_complete(self.buffer.text(), &mut self.known) {
            return Step::Done(Input::Text(String::new()));
        }
        if self.buffer.text().len() > LONG_BYTES && !self.decoder.is_empty() {
            // More is coming, and nobody looks at where this line begins.
            self.buffer.type_character('\n');
            return Step::Go;
        }
        self.new_line(assistant);
        Step::Go
    }

    fn new_line(&mut self, assistant: &dyn Assistant) {
        let indent = assistant.indentation(self.buffer.before());
        self.buffer.insert(&format!("\n{}", " ".repeat(indent)));
    }

    fn go_back(&mut self, history: &History) {
        let entries = history.entries();
        if self.entry == 0 || entries.is_empty() {
            return;
        }
        if self.entry >= entries.len() {
            self.draft = self.buffer.text().to_owned();
            self.entry = entries.len();
        }
        self.entry -= 1;
        self.buffer.set(&entries[self.entry]);
    }

    fn go_on(&mut self, history: &History) {
        let entries = history.entries();
        if self.entry >= entries.len() {
            return;
        }
        self.entry += 1;
        let text = entries.get(self.entry).unwrap_or(&self.draft).clone();
        self.buffer.set(&text);
    }

    fn begin_search(&mut self) {
        self.search = Some(Search {
            pattern: String::new(),
            before: usize::MAX,
            original: self.buffer.text().to_owned(),
        });
    }

    /// A key during a search; `false` if it ends the search and means what it always means.
    fn search_key(&mut self, key: Key, history: &History) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        match key {
            Key::Char(character) => {
                search.pattern.push(character);
                search.before = search.before.saturating_add(1);
            }
            Key::Backspace => {
                search.pattern.pop();
                search.before = usize::MAX;
            }
            Key::Control('r') => {}
            Key::Control('g') | Key::Control('c') => {
                let original = std::mem::take(&mut search.original);
                self.search = None;
                self.buffer.set(&original);
                return true;
            }
            _ => {
                self.search = None;
                return false;
            }
        }
        let entries = history.entries();
        let end = search.before.min(entries.len());
        let found = entries[..end]
            .iter()
            .rposition(|entry| entry.contains(&search.pattern));
        if let Some(found) = found {
            search.before = found;
            self.entry = found;
            self.buffer.set(&entries[found]);
        }
        true
    }

    /// Tab: completes as far as all candidates agree, and lists them if there are several. Where there is nothing to be
    /// completed it indents the line.
    fn complete(&mut self, assistant: &dyn Assistant) {
        let before = self.buffer.before();
        let line = &before[self.buffer.line_start()..];
        if line.trim().is_empty() && self.buffer.line_start() > 0 {
            let start = self.buffer.line_start();
            let indent = assistant.indentation(&before[..start - 1]);
            self.buffer.replace_from(start, &" ".repeat(indent));
            return;
        }
        let found = assistant.completions(self.buffer.text(), self.buffer.cursor());
        let Some(shared) = shared_start(&found.candidates) else {
            return;
        };
        let word = &self.buffer.before()[found.start..];
        if found.candidates.len() == 1 || shared.len() > word.len() {
            let shared = shared.to_owned();
            self.buffer.replace_from(found.start, &shared);
        }
        if found.candidates.len() > 1 {
            self.below = listed(&found.candidates, self.screen.columns());
        }
    }
}

/// What all candidates begin with.
fn shared_start(candidates: &[String]) -> Option<&str> {
    let (first, rest) = candidates.split_first()?;
    let mut length = first.len();
    for candidate in rest {
        let same = first
            .char_indices()
            .zip(candidate.chars())
            .find(|((_, left), right)| left != right);
        let shorter = first.len().min(candidate.len());
        length = length.min(same.map_or(shorter, |((at, _), _)| at));
    }
    Some(&first[..first.floor_char_boundary(length)])
}

/// Candidates in columns.
fn listed(candidates: &[String], columns: usize) -> Vec<String> {
    let shown = &candidates[..candidates.len().min(CANDIDATES_MAX)];
    let widest = shown.iter().map(|one| text_width(one)).max().unwrap_or(0) + 2;
    let across = (columns.saturating_sub(1) / widest).max(1);
    let down = shown.len().div_ceil(across);
    let mut lines: Vec<String> = (0..down)
        .map(|row| {
            let cells = shown.iter().skip(row).step_by(down);
            let padded = cells.map(|cell| {
                let blanks = widest.saturating_sub(text_width(cell));
                format!("{cell}{}", " ".repeat(blanks))
            });
            padded.collect::<String>().trim_end().to_owned()
        })
        .collect();
    if candidates.len() > shown.len() {
        lines.push(format!("… and {} more", candidates.len() - shown.len()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the bytes that it looks at to know whether a text is whole.
    #[derive(Default)]
    struct Counting(std::cell::Cell<usize>);

    impl Assistant for Counting {
        fn is_complete(&self, text: &str, known: &mut Known) -> bool {
            let new = &text[known.length..];
            self.0.set(self.0.get() + new.len());
            known.scanner.scan(new, |_| {});
            known.length = text.len();
            known.scanner.is_complete()
        }

        fn indentation(&self, text: &str) -> usize {
            assert!(
                text.len() <= LONG_BYTES,
                "nobody sees where the line begins"
            );
            0
        }

        fn styles(&self, _: &str, _: usize) -> Vec<Styled> {
            Vec::new()
        }

        fn completions(&self, _: &str, _: usize) -> Completions {
            Completions::default()
        }
    }

    /// The texts that are entered when these bytes come at once, and the bytes that were looked at.
    fn entered(bytes: &[u8]) -> (Vec<String>, usize) {
        let (mut editor, history) = (Editor::new(false), History::default());
        let assistant = Counting::default();
        let mut texts = Vec::new();
        editor.decoder.push(bytes);
        while let Some(key) = editor.decoder.next(true) {
            if let Step::Done(Input::Text(_)) = editor.key(key, &history, &assistant) {
                texts.push(editor.buffer.take());
            }
        }
        (texts, assistant.0.get())
    }

    #[test]
    fn long_texts_end_where_they_are_whole_and_are_looked_at_once() {
        let long = format!("(list {})", "1 ".repeat(100_000));
        let lines = format!("(list {})", "1\n".repeat(100_000));
        for text in [&long, &lines] {
            let (texts, looked_at) = entered(format!("{text}\n(exit)\n").as_bytes());
            assert_eq!(texts, [text.as_str(), "(exit)"]);
            // Up to the length at which lines are not indented any more each line adds to it.
            assert!(looked_at <= text.len() + 10, "{looked_at}");
        }
    }

    #[test]
    fn what_was_known_is_forgotten_when_the_text_changes_before_it() {
        // The paren that was open is deleted, and the text is entered.
        assert_eq!(entered(b"(a\x7f\x7f\n").0, [""]);
        assert_eq!(entered(b"(\n\x7f\x7fb\n").0, ["b"]);
        assert_eq!(entered(b"(\n\x01\x08\x08(b\n)\n)\n").0, ["(b\n)", ")"]);
    }

    #[test]
    fn candidates_share_their_start() {
        let words = |list: &[&str]| {
            list.iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shared_start(&words(&["string-a", "string-b"])),
            Some("string-")
        );
        assert_eq!(shared_start(&words(&["αβ", "αγ"])), Some("α"));
        assert_eq!(shared_start(&words(&["a", "ab"])), Some("a"));
        assert_eq!(shared_start(&[]), None);
    }

    #[test]
    fn candidates_are_listed_in_columns() {
        let words: Vec<String> = ["a", "bb", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(listed(&words, 13), ["a   c   e", "bb  d"]);
        assert_eq!(listed(&words, 1).len(), 5);
    }
}
