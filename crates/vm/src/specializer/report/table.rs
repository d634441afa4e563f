//! Lays out the tables of the specializer's report in columns.
//!
//! No line is longer than `LINE_WIDTH_MAX`. Numbers are never cut; columns of words shrink to a
//! minimum and mark where they were cut.

/// Characters of the longest line.
pub(super) const LINE_WIDTH_MAX: usize = 120;
/// Columns of words are not made narrower than this.
const COLUMN_WIDTH_MIN: usize = 8;
const GAP: usize = 2;

/// The content of a column, which decides how its cells are aligned and cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Numbers, aligned at their ends and never cut.
    Number,
    /// Words, of which the end is cut if need be.
    Words,
    /// Places in files, of which the beginning is cut if need be.
    Place,
}

/// A table; the first row is its header.
pub(super) struct Table {
    columns: Vec<Content>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(columns: &[(&str, Content)]) -> Table {
        Table {
            columns: columns.iter().map(|(_, content)| *content).collect(),
            rows: vec![columns.iter().map(|(name, _)| (*name).to_owned()).collect()],
        }
    }

    pub(super) fn add(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].chars().count());
                cells.max().unwrap_or(0)
            })
            .collect();
        let room = LINE_WIDTH_MAX - GAP * self.columns.len();
        while widths.iter().sum::<usize>() > room {
            let elastic = |column: &usize| self.columns[*column] != Content::Number;
            let widest = (0..widths.len())
                .filter(elastic)
                .max_by_key(|column| widths[*column]);
            match widest {
                Some(column) if widths[column] > COLUMN_WIDTH_MIN => widths[column] -= 1,
                _ => break,
            }
        }
        widths
    }

    /// The table with so many rows at most, each on a line that begins with a gap.
    pub(super) fn text(&self, rows_max: usize) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in self.rows.iter().take(rows_max + 1) {
            let mut line = String::new();
            for ((cell, width), content) in row.iter().zip(&widths).zip(&self.columns) {
                let cell = cut(cell, *width, *content);
                line.push_str(&" ".repeat(GAP));
                match content {
                    Content::Number => line.push_str(&format!("{cell:>width$}")),
                    _ => line.push_str(&format!("{cell:<width$}")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let left_out = (self.rows.len() - 1).saturating_sub(rows_max);
        if left_out > 0 {
            text.push_str(&format!("  … and {left_out} more\n"));
        }
        text
    }
}

fn cut(cell: &str, width: usize, content: Content) -> String {
    let count = cell.chars().count();
    if count <= width {
        return cell.to_owned();
    }
    let kept = width.saturating_sub(1);
    match content {
        Content::Place => {
            let end: String = cell.chars().skip(count - kept).collect();
            format!("…{end}")
        }
        _ => {
            let start: String = cell.chars().take(kept).collect();
            format!("{start}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let mut table = Table::new(&[
            ("name", Content::Words),
            ("calls", Content::Number),
            ("where", Content::Place),
        ]);
        assert!(table.is_empty());
        table.add(vec!["f".into(), "12".into(), "a.scm:1".into()]);
        table.add(vec!["factorial".into(), "3".into(), "b.scm:20".into()]);
        assert_eq!(
            table.text(9),
            "  name       calls  where\n  f             12  a.scm:1\n  factorial      3  b.scm:20\n"
        );
        assert_eq!(
            table.text(1),
            "  name       calls  where\n  f             12  a.scm:1\n  … and 1 more\n"
        );
    }

    #[test]
    fn no_line_is_too_long_and_no_number_is_cut() {
        let mut table = Table::new(&[
            ("name", Content::Words),
            ("calls", Content::Number),
            ("where", Content::Place),
        ]);
        let long = "x".repeat(90);
        let place = format!("/{}/file.scm:12", "directory/".repeat(12));
        table.add(vec![long, "123456789012".into(), place]);
        let text = table.text(9);
        for line in text.lines() {
            assert!(line.chars().count() <= LINE_WIDTH_MAX, "{line}");
        }
        assert!(text.contains("xxx…"));
        assert!(text.contains("123456789012"));
        assert!(text.contains("/file.scm:12"));
    }
}
