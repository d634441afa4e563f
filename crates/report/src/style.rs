//! Widths and colours.
//!
//! Texts are cut before they are coloured: a cut escape sequence would colour the rest of the
//! screen.

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
    Grey,
    Bold,
}

impl Style {
    /// A text in a colour, if colours are wanted. It must fit already.
    pub fn paint(&self, colour: Colour, text: &str) -> String {
        if !self.is_coloured || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Red => "31",
            Colour::Yellow => "33",
            Colour::Green => "32",
            Colour::Grey => "90",
            Colour::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// The share of a part in a whole, red if it is large.
    pub fn share(&self, part: u64, whole: u64) -> String {
        self.fraction(part as f64 / whole.max(1) as f64)
    }

    /// A share between 0 and 1, red if it is large.
    pub fn fraction(&self, share: f64) -> String {
        let text = format!("{:5.1} %", share * 100.0);
        match share {
            share if share >= 0.2 => self.paint(Colour::Red, &text),
            share if share >= 0.05 => self.paint(Colour::Yellow, &text),
            _ => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_written_only_where_they_are_wanted() {
        let plain = Style::default();
        assert_eq!(plain.paint(Colour::Red, "a"), "a");
        let coloured = Style {
            is_coloured: true,
            ..plain
        };
        assert_eq!(coloured.paint(Colour::Red, "a"), "\u{1b}[31ma\u{1b}[0m");
        assert_eq!(coloured.paint(Colour::Red, ""), "");
    }

    #[test]
    fn large_shares_have_colours() {
        let style = Style {
            is_coloured: true,
            ..Style::default()
        };
        assert_eq!(Style::default().share(1, 3), " 33.3 %");
        assert_eq!(Style::default().share(0, 0), "  0.0 %");
        assert!(style.share(1, 3).contains("[31m"));
        assert!(style.share(1, 10).contains("[33m"));
        assert_eq!(style.fraction(0.01), "  1.0 %");
    }
}
