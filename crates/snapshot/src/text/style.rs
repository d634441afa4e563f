//! Widths, numbers and colours.
//!
//! Texts are cut before they are coloured: a cut escape sequence would colour the rest of the
//! screen.

use unicode_width::UnicodeWidthChar;

/// How texts for the terminal look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    pub is_coloured: bool,
    /// Rows of a table.
    pub rows_max: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            width: 100,
            is_coloured: false,
            rows_max: 40,
        }
    }
}

/// A colour of ANSI terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Red,
    Yellow,
    Green,
    Bold,
}

impl Style {
    pub(super) fn paint(&self, colour: Colour, text: &str) -> String {
        if !self.is_coloured || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Red => "31",
            Colour::Yellow => "33",
            Colour::Green => "32",
            Colour::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A share, red if it is large.
    pub(super) fn share(&self, part: u64, whole: u64) -> String {
        let share = part as f64 / whole.max(1) as f64;
        let text = format!("{:5.1} %", share * 100.0);
        match share {
            share if share >= 0.2 => self.paint(Colour::Red, &text),
            share if share >= 0.05 => self.paint(Colour::Yellow, &text),
            _ => text,
        }
    }
}

/// The columns of a character; of a control character those of its replacement.
fn columns_of(character: char) -> usize {
    character.width().unwrap_or(1)
}

/// The columns of a text without control characters.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A text without control characters.
pub fn printable(text: &str) -> String {
    let replace = |character: char| match character {
        '\n' => '␊',
        // Marks that turn the direction of writing around would mix up the columns.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        character if character.is_control() => '\u{fffd}',
        character => character,
    };
    text.chars().map(replace).collect()
}

/// A text of exactly so many columns: filled with spaces, or cut with an ellipsis.
pub fn fit(text: &str, width: usize) -> String {
    let text = printable(text);
    let needed = columns(&text);
    if needed <= width {
        return text + &" ".repeat(width - needed);
    }
    let mut fitting = String::new();
    let mut used = 0;
    for character in text.chars() {
        if used + columns_of(character) + 1 > width {
            break;
        }
        used += columns_of(character);
        fitting.push(character);
    }
    if width > 0 {
        fitting.push('…');
        used += 1;
    }
    fitting + &" ".repeat(width.saturating_sub(used))
}
