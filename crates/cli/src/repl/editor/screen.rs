//! The content of the screen: the prompt and the text in rows as wide as the window.
//!
//! The screen knows in which of its rows the cursor is, and nothing of what is above them. It draws as
//! many rows as the window has, those around the cursor. Lines after the first begin below the text of
//! the first.
//!
//! When the window's width changes, most terminals break what they show anew: a row that was drawn then
//! takes several, or one again. The screen knows the widths of its rows, and so how many the terminal
//! has made of them.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// Colours and the like for a part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Styled {
    pub range: Range<usize>,
    /// Parameters of an SGR sequence.
    pub style: &'static str,
}

/// The content to show.
#[derive(Debug)]
pub struct View<'a> {
    pub prompt: &'a str,
    pub prompt_style: &'static str,
    pub text: &'a str,
    pub cursor: usize,
    /// In the order of the text, without overlaps.
    pub styles: &'a [Styled],
    /// Lines below the text.
    pub below: &'a [String],
}

/// Where the screen's rows are.
#[derive(Debug, Default)]
pub struct Screen {
    /// Row and column of the terminal's cursor among the rows that were drawn.
    cursor: (usize, usize),
    /// The widths of the rows of text, and the columns that the window had. None if nothing is drawn.
    widths: Vec<usize>,
    drawn_columns: usize,
    /// Whether there are rows below the cursor's.
    has_below: bool,
    columns: usize,
    rows: usize,
    /// Whether the terminal breaks rows anew when its width changes.
    reflows: bool,
}

/// A row: bytes of the text, and the columns before it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    range: Range<usize>,
    indent: usize,
}

impl Screen {
    /// A screen for a window of this size.
    pub fn new(columns: usize, rows: usize, reflows: bool) -> Screen {
        Screen {
            columns: columns.max(1),
            rows: rows.max(1),
            reflows,
            ..Screen::default()
        }
    }

    pub fn resize(&mut self, columns: usize, rows: usize) {
        self.columns = columns.max(1);
        self.rows = rows.max(1);
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of the terminal above its cursor that are the screen's, and whether there are some below.
    fn rows_around(&self) -> (usize, bool) {
        let (row, column) = self.cursor;
        if !self.reflows || self.columns == self.drawn_columns {
            return (row, self.has_below);
        }
        let taken = |width: usize| width.div_ceil(self.columns).max(1);
        let above: usize = self
            .widths
            .iter()
            .take(row)
            .map(|width| taken(*width))
            .sum();
        let own = self.widths.get(row).map_or(1, |width| taken(*width));
        let within = (column / self.columns).min(own - 1);
        (above + within, self.has_below || within + 1 < own)
    }

    /// Writes what shows the view in place of what was shown before.
    pub fn draw(&mut self, view: &View, out: &mut String) {
        self.erase(out);
        let prompt = self.prompt_of(view.prompt);
        let (rows, cursor) = self.rows_of(prompt, view);
        let (first, end) = self.window(&rows, cursor.0, view.below.len());
        let mut styles = view.styles;
        self.widths.clear();
        for (number, row) in rows[first..end].iter().enumerate() {
            self.widths
                .push(row.indent + text_width(&view.text[row.range.clone()]));
            if number > 0 {
                out.push_str("\r\n");
            }
            if first + number == 0 {
                styled(prompt, view.prompt_style, out);
            } else {
                out.extend(std::iter::repeat_n(' ', row.indent));
            }
            styles = show(view.text, row.range.clone(), styles, self.columns, out);
        }
        let mut last = end - 1 - first;
        for line in view.below.iter().take(self.rows.saturating_sub(last + 1)) {
            out.push_str("\r\n");
            out.extend(fitting(line, self.columns.saturating_sub(1)));
            last += 1;
        }
        let row = cursor.0 - first;
        if last > row {
            out.push_str(&format!("\x1b[{}A", last - row));
        }
        out.push('\r');
        if cursor.1 > 0 {
            out.push_str(&format!("\x1b[{}C", cursor.1));
        }
        self.cursor = (row, cursor.1);
        self.has_below = last > row;
        self.drawn_columns = self.columns;
    }

    /// Clears what was drawn; the cursor is where it began. The first row is cleared for itself: there
    /// are terminals that keep what is cleared from the window's first place on.
    pub fn erase(&mut self, out: &mut String) {
        out.push('\r');
        let (above, has_below) = self.rows_around();
        if above > 0 {
            out.push_str(&format!("\x1b[{above}A"));
        }
        out.push_str(if self.widths.is_empty() {
            "\x1b[J"
        } else if above > 0 || has_below {
            "\x1b[K\x1b[B\x1b[J\x1b[A"
        } else {
            "\x1b[K"
        });
        self.forget();
    }

    /// Forgets what was drawn: the cursor is at the start of a fresh line.
    pub fn forget(&mut self) {
        self.cursor = (0, 0);
        self.widths.clear();
        self.has_below = false;
    }

    /// Moves the cursor to the start of a line, below earlier output if the current line is not
    /// empty. It writes blanks as wide as the window: from the start of a line they stay on it,
    /// from elsewhere the last of them are on the next one.
    pub fn begin_line(&self, out: &mut String) {
        out.extend(std::iter::repeat_n(' ', self.columns));
        out.push_str("\r\x1b[J");
    }

    /// The prompt, unless the window is too narrow for one.
    fn prompt_of<'a>(&self, prompt: &'a str) -> &'a str {
        if text_width(prompt) * 2 > self.columns {
            ""
        } else {
            prompt
        }
    }

    /// Splits the text into rows; also row and column of the cursor.
    fn rows_of(&self, prompt: &str, view: &View) -> (Vec<Row>, (usize, usize)) {
        let indent = text_width(prompt);
        let mut rows = Vec::new();
        let mut cursor = (0, 0);
        let mut start = 0;
        let mut column = indent;
        for (at, character) in view.text.char_indices() {
            let width = shown_width(character, self.columns);
            if character != '\n' && column + width > self.columns {
                rows.push(Row {
                    range: start..at,
                    indent,
                });
                start = at;
                column = indent;
            }
            if at == view.cursor {
                cursor = (rows.len(), column);
            }
            if character == '\n' {
                rows.push(Row {
                    range: start..at,
                    indent,
                });
                start = at + 1;
                column = indent;
            } else {
                column += width;
            }
        }
        if view.cursor >= view.text.len() {
            if column >= self.columns {
                rows.push(Row {
                    range: start..view.text.len(),
                    indent,
                });
                start = view.text.len();
                column = indent;
            }
            cursor = (rows.len(), column.min(self.columns - 1));
        }
        rows.push(Row {
            range: start..view.text.len(),
            indent,
        });
        cursor.1 = cursor.1.min(self.columns - 1);
        (rows, cursor)
    }

    /// The rows to draw, so that the cursor's is among them and the lines below have room if there is any.
    fn window(&self, rows: &[Row], cursor: usize, below: usize) -> (usize, usize) {
        let room = self.rows.saturating_sub(below.min(self.rows / 2)).max(1);
        if rows.len() <= room {
            return (0, rows.len());
        }
        let first = (cursor + 1).saturating_sub(room);
        (first, (first + room).min(rows.len()))
    }
}

/// Columns of a character as it is shown.
fn shown_width(character: char, columns: usize) -> usize {
    if character == '\n' {
        0
    } else if character.is_control() {
        1
    } else {
        // A character wider than the window is shown as a question mark.
        character.width().unwrap_or(1).min(columns)
    }
}

/// Columns of a text without line ends.
pub fn text_width(text: &str) -> usize {
    text.chars().map(|c| shown_width(c, usize::MAX)).sum()
}

/// The start of a line that fits so many columns.
fn fitting(line: &str, columns: usize) -> impl Iterator<Item = char> + '_ {
    let mut column = 0;
    line.chars().take_while(move |c| {
        column += shown_width(*c, columns);
        column <= columns
    })
}

fn styled(text: &str, style: &str, out: &mut String) {
    if style.is_empty() || text.is_empty() {
        out.push_str(text);
    } else {
        out.push_str(&format!("\x1b[{style}m{text}\x1b[0m"));
    }
}

/// Writes a part of the text; gives the styles that were not used up.
fn show<'s>(
    text: &str,
    range: Range<usize>,
    mut styles: &'s [Styled],
    columns: usize,
    out: &mut String,
) -> &'s [Styled] {
    let mut is_on = false;
    for (offset, character) in text[range.clone()].char_indices() {
        let at = range.start + offset;
        while let Some(first) = styles.first()
            && first.range.end <= at
        {
            styles = &styles[1..];
            if is_on {
                out.push_str("\x1b[0m");
                is_on = false;
            }
        }
        if let Some(first) = styles.first()
            && first.range.start <= at
            && !is_on
        {
            out.push_str(&format!("\x1b[{}m", first.style));
            is_on = true;
        }
        if character == '\t' {
            out.push(' ');
        } else if character.is_control() {
            out.push('\u{b7}');
        } else if character.width().unwrap_or(1) > columns {
            out.push('?');
        } else {
            out.push(character);
        }
    }
    if is_on {
        out.push_str("\x1b[0m");
    }
    styles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str, cursor: usize) -> View<'_> {
        View {
            prompt: "> ",
            prompt_style: "",
            text,
            cursor,
            styles: &[],
            below: &[],
        }
    }

    fn drawn(columns: usize, rows: usize, text: &str, cursor: usize) -> String {
        let mut out = String::new();
        Screen::new(columns, rows, true).draw(&view(text, cursor), &mut out);
        out.replace("\x1b[J", "").replace("\r\n", "|")
    }

    #[test]
    fn lines_begin_below_each_other() {
        assert_eq!(drawn(80, 24, "(a\n b)", 6), "\r> (a|   b)\r\x1b[5C");
    }

    #[test]
    fn long_lines_are_wrapped() {
        assert_eq!(drawn(6, 24, "abcdefgh", 8), "\r> abcd|  efgh|  \r\x1b[2C");
        assert_eq!(
            drawn(6, 24, "abcdefgh", 1),
            "\r> abcd|  efgh\x1b[1A\r\x1b[3C"
        );
    }

    #[test]
    fn a_window_shows_the_rows_around_the_cursor() {
        assert_eq!(drawn(80, 2, "a\nb\nc\nd", 7), "\r  c|  d\r\x1b[3C");
        assert_eq!(drawn(80, 2, "a\nb\nc\nd", 0), "\r> a|  b\x1b[1A\r\x1b[2C");
    }

    #[test]
    fn narrow_windows_have_no_prompt() {
        assert_eq!(drawn(1, 24, "ab", 2), "\ra|b|\r");
        assert_eq!(drawn(1, 1, "日本", 6), "\r\r");
        assert_eq!(drawn(1, 3, "日本", 3), "\r?|?\r");
    }

    #[test]
    fn a_window_of_another_width_is_erased_from_where_its_rows_begin() {
        // A row of 8 columns and one of 5, with the cursor behind them.
        let risen = |reflows, columns| {
            let mut screen = Screen::new(80, 24, reflows);
            screen.draw(&view("abcdef\ng 8", 10), &mut String::new());
            screen.resize(columns, 24);
            let mut out = String::new();
            screen.erase(&mut out);
            out
        };
        let from = |rows: usize| format!("\r\x1b[{rows}A\x1b[K\x1b[B\x1b[J\x1b[A");
        assert_eq!(risen(true, 80), from(1));
        assert_eq!(risen(true, 9), from(1));
        assert_eq!(risen(true, 5), from(2));
        assert_eq!(risen(true, 4), from(3));
        assert_eq!(risen(true, 3), from(4));
        assert_eq!(risen(false, 3), from(1));
    }

    #[test]
    fn colours_end_with_their_rows() {
        let mut out = String::new();
        let styles = [Styled {
            range: 1..3,
            style: "31",
        }];
        let mut shown = view("abcd", 0);
        shown.styles = &styles;
        Screen::new(4, 9, true).draw(&shown, &mut out);
        assert!(
            out.contains("a\x1b[31mb\x1b[0m\r\n  \x1b[31mc\x1b[0md"),
            "{out:?}"
        );
    }
}
