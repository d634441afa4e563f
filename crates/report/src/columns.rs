//! Texts in columns of a terminal: without control characters, filled and cut.
//!
//! Wide characters count as two columns; a cut never leaves half of one.

use unicode_width::UnicodeWidthChar;

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

/// A text whose end matters more: cut at its beginning.
pub fn fit_end(text: &str, width: usize) -> String {
    let text = printable(text);
    let mut skipped = text.as_str();
    if columns(skipped) <= width {
        return fit(skipped, width);
    }
    while columns(skipped) + 1 > width {
        let mut rest = skipped.chars();
        if rest.next().is_none() {
            return fit("", width);
        }
        skipped = rest.as_str();
    }
    fit(&format!("…{skipped}"), width)
}

/// A text at the right end of a column.
pub fn right(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    " ".repeat(missing) + text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit() {
        let check = |text: &str, width: usize, expect: &str, expect_end: &str| {
            assert_eq!(fit(text, width), expect);
            assert_eq!(fit_end(text, width), expect_end);
        };
        check("abc", 5, "abc  ", "abc  ");
        check("abcdef", 4, "abc…", "…def");
        check("宽宽宽", 4, "宽… ", "…宽 ");
        check("ab", 1, "…", "…");
        check("ab", 0, "", "");
        check("a\nb", 3, "a␊b", "a␊b");
    }

    #[test]
    fn figures_end_at_the_same_column() {
        assert_eq!(right("12", 4), "  12");
        assert_eq!(right("宽", 3), " 宽");
        assert_eq!(right("12345", 4), "12345");
    }

    #[test]
    fn nothing_moves_the_cursor() {
        let text = printable("\u{1b}[2J\u{202e}a\tb");
        assert_eq!(text, "\u{fffd}[2J\u{fffd}a\u{fffd}b");
    }
}
