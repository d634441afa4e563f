//! Line editing: keys to changes of a text of one or more lines, until it is entered.
//!
//! All that was typed is taken before anything is drawn, so that a paste of megabytes is drawn a few
//! times and not once for each character. Colours, completion and indentation are the business of an
//! [`Assistant`].

mod buffer;
mod candidates;
mod keys;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use buffer::Buffer;
pub use candidates::{Completions, What};
use keys::{Decoder, Key};
use screen::{Screen, View};
pub use screen::{Styled, text_width};
pub use terminal::{is_capable, is_ready, read as read_bytes};

use super::history::History;
use super::lexis::Scanner;
use crate::terminal_size::terminal_size;

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
/// How a suggestion from the history is shown.
const SUGGESTION: &str = "2";

/// Facts about the beginning of a text, kept by an [`Assistant`] so that asking about each line of
/// a long text costs linear time.
#[derive(Debug, Default)]
pub struct Known {
    /// Bytes that were scanned.
    pub length: usize,
    pub scanner: Scanner,
}

/// Knowledge of the language, for the editor.
pub trait Assistant {
    /// Whether Enter takes the text. `known` holds what was found out about the text's beginning, which
    /// has not changed since.
    fn is_complete(&self, text: &str, known: &mut Known) -> bool;
    /// The blanks that a line begins with, behind this text.
    fn indentation(&self, text: &str) -> usize;
    /// Coloured parts.
    fn styles(&self, text: &str, cursor: usize) -> Vec<Styled>;
    /// The candidates to replace the word before the cursor.
    fn completions(&self, text: &str, cursor: usize) -> Completions;
    /// How a candidate is used, and a sentence about it.
    fn about(&self, what: What, candidate: &str) -> Option<(String, String)>;
    /// Ends a line that the program has begun meanwhile; whether there was one.
    fn end_line_of_program(&self) -> bool;
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
    /// The text that was typed before going into the history.
    draft: String,
    search: Option<Search>,
    known: Known,
    is_pasting: bool,
    below: Vec<String>,
    is_coloured: bool,
    /// The input is over, for now: nothing but the text is shown, and the cursor stands behind it.
    is_done: bool,
    /// The text from the history that the screen shows behind the input; a key accepts it.
    suggestion: String,
}

/// The prompt, the history and the assistant, which drawing needs besides the text.
struct Shown<'a> {
    prompt: &'a str,
    history: &'a History,
    assistant: &'a dyn Assistant,
}

enum Step {
    Go,
    /// Ctrl-Z.
    Suspend,
    Done(Input),
}

impl Editor {
    pub fn new(is_coloured: bool) -> Editor {
        let (columns, rows) = terminal_size();
        Editor {
            buffer: Buffer::default(),
            decoder: Decoder::default(),
            screen: Screen::new(columns, rows, terminal::reflows()),
            entry: 0,
            draft: String::new(),
            search: None,
            known: Known::default(),
            is_pasting: false,
            below: Vec::new(),
            is_coloured,
            is_done: false,
            suggestion: String::new(),
        }
    }

    /// Reads one input.
    pub fn read(
        &mut self,
        prompt: &str,
        history: &History,
        assistant: &dyn Assistant,
    ) -> std::io::Result<Input> {
        let mut raw = terminal::Raw::enter()?;
        self.entry = history.entries().len();
        self.screen.forget();
        if terminal::is_ready(Some(Duration::ZERO)) {
            // Ctrl-D that was typed before came as the end of a line, which now reads as a null character.
            let typed_ahead = terminal::read()?;
            let keys: Vec<u8> = typed_ahead
                .into_iter()
                .map(|byte| if byte == 0 { END_BYTE } else { byte })
                .collect();
            self.decoder.push(&keys);
        } else {
            // Nothing was typed and shown, so what stands on the line was written, by whatever program.
            let (columns, rows) = terminal_size();
            self.screen.resize(columns, rows);
            let mut out = String::new();
            self.screen.begin_line(&mut out);
            terminal::write(&out);
        }
        let view = Shown {
            prompt,
            history,
            assistant,
        };
        self.draw(&view);
        let result = self.read_keys(&view, &mut raw);
        self.search = None;
        self.leave(&view);
        terminal::write("\r\n");
        drop(raw);
        let text = self.buffer.take();
        result.map(|input| match input {
            Input::Text(_) => Input::Text(text),
            other => other,
        })
    }

    /// Shows nothing but the text, with the cursor below what was typed.
    fn leave(&mut self, view: &Shown) {
        self.below.clear();
        self.is_done = true;
        self.draw(view);
        self.is_done = false;
    }

    /// Ctrl-Z: stops the program until the shell continues it, and shows the text again.
    fn suspend(&mut self, view: &Shown, raw: &mut terminal::Raw) -> std::io::Result<()> {
        self.leave(view);
        if raw.suspend()? {
            self.screen.forget();
        }
        self.draw(view);
        Ok(())
    }

    fn read_keys(&mut self, view: &Shown, raw: &mut terminal::Raw) -> std::io::Result<Input> {
        let mut drawn = Instant::now();
        let mut pause = DRAW_EVERY;
        let mut is_changed = false;
        loop {
            let mut is_final = false;
            loop {
                while let Some(key) = self.decoder.next(is_final) {
                    is_changed = true;
                    match self.key(key, view.history, view.assistant) {
                        Step::Go => {}
                        Step::Suspend => self.suspend(view, raw)?,
                        Step::Done(input) => return Ok(input),
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
                self.draw(view);
                is_changed = false;
                drawn = Instant::now();
                pause = DRAW_EVERY.max(DRAW_SHARE * (drawn - start));
            }
            while !terminal::is_ready(Some(LOOK_EVERY)) {
                if raw.resume()? {
                    self.screen.forget();
                    self.draw(view);
                } else if terminal_size() != (self.screen.columns(), self.screen.rows()) {
                    self.draw(view);
                }
            }
            let bytes = terminal::read()?;
            if bytes.is_empty() {
                return Ok(Input::End);
            }
            self.decoder.push(&bytes);
        }
    }

    fn draw(&mut self, shown: &Shown) {
        let (columns, rows) = terminal_size();
        self.screen.resize(columns, rows);
        if shown.assistant.end_line_of_program() {
            self.screen.forget();
        }
        self.suggest(shown.history);
        let mut text = self.buffer.text().to_owned();
        let cursor = if self.is_done {
            text.len()
        } else {
            self.buffer.cursor()
        };
        let mut styles = if self.is_coloured {
            // An entered text shows no matching paren.
            let looked_at = if self.is_done { usize::MAX } else { cursor };
            shown.assistant.styles(&text, looked_at)
        } else {
            Vec::new()
        };
        if let Some(line) = self.suggestion.lines().next() {
            let start = text.len();
            text.push_str(line);
            if line.len() < self.suggestion.len() {
                text.push_str(" …");
            }
            styles.push(Styled {
                range: start..text.len(),
                style: SUGGESTION,
            });
        }
        let searching = self
            .search
            .as_ref()
            .map(|search| format!("search: {}", search.pattern));
        let below: Vec<String> = searching.into_iter().chain(self.below.clone()).collect();
        let mut out = String::new();
        let view = View {
            prompt: shown.prompt,
            prompt_style: if self.is_coloured { "1" } else { "" },
            text: &text,
            cursor,
            styles: &styles,
            below: &below,
        };
        self.screen.draw(&view, &mut out);
        terminal::write(&out);
    }

    /// Looks for an input of the past that begins with what was typed. Without colours nothing would
    /// tell it from that.
    fn suggest(&mut self, history: &History) {
        self.suggestion.clear();
        let is_wanted = self.is_coloured
            && !self.is_done
            && !self.is_pasting
            && self.search.is_none()
            && self.buffer.is_at_end();
        if is_wanted && let Some(rest) = history.suggestion(self.buffer.text()) {
            self.suggestion.push_str(rest);
        }
    }

    /// Takes what was suggested, or a word of it, if the key asks for that.
    fn take_suggestion(&mut self, key: Key) -> bool {
        let suggestion = std::mem::take(&mut self.suggestion);
        if suggestion.is_empty() || !self.buffer.is_at_end() {
            return false;
        }
        match key {
            Key::Right | Key::Control('f') | Key::End | Key::Control('e') => {
                self.buffer.insert(&suggestion);
            }
            Key::WordRight | Key::Meta('f') => {
                let end = buffer::word_end(&suggestion);
                self.buffer.insert(&suggestion[..end]);
            }
            _ => return false,
        }
        true
    }

    fn key(&mut self, key: Key, history: &History, assistant: &dyn Assistant) -> Step {
        self.below.clear();
        if self.take_suggestion(key) {
            return Step::Go;
        }
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
            Key::Control('z') => return Step::Suspend,
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
        // Where the cursor stands is no matter: what is whole is taken.
        if self.buffer.take_unchanged() < self.known.length {
            self.known = Known::default();
        }
        if assistant.is_complete(self.buffer.text(), &mut self.known) {
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

    /// Tab: completes as far as all candidates agree, and lists them if there are several. Where there
    /// is nothing to be completed it indents the line.
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
        let Some(shared) = candidates::shared_start(&found.candidates) else {
            return;
        };
        let word = &self.buffer.before()[found.start..];
        if found.candidates.len() == 1 || shared.len() > word.len() {
            let shared = shared.to_owned();
            self.buffer.replace_from(found.start, &shared);
        }
        let word = &self.buffer.before()[found.start..];
        let room = (self.screen.columns(), self.screen.rows());
        self.below = candidates::told(&found, word, room, |candidate| {
            assistant.about(found.what, candidate)
        });
    }
}
