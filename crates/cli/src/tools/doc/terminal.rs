//! Markdown as plain text for a terminal: wrapped, with bold headings and code.
//!
//! It knows what doc texts use: headings, paragraphs, lists, fenced code, tables, code spans, emphasis,
//! links.

use unicode_width::UnicodeWidthStr;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// The text with lines of at most `width` columns where words allow it.
pub fn render(markdown: &str, width: usize, is_styled: bool) -> String {
    let mut page = Page {
        width,
        is_styled,
        text: String::new(),
        paragraph: String::new(),
        first_indentation: String::new(),
        indentation: String::new(),
    };
    let mut is_code = false;
    for line in markdown.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            page.end_paragraph();
            is_code = !is_code;
        } else if is_code {
            page.code_line(line);
        } else if trimmed.is_empty() {
            page.end_paragraph();
            page.blank();
        } else if trimmed == "---" {
            page.end_paragraph();
            page.line(&"─".repeat(width));
        } else if let Some(title) = trimmed.strip_prefix('#') {
            page.end_paragraph();
            let title = title.trim_start_matches('#').trim();
            let title = page.spans(title, false);
            page.line(&page.styled(BOLD, &title));
        } else if trimmed.starts_with('|') {
            page.end_paragraph();
            page.line(&page.spans(trimmed, is_styled));
        } else {
            page.add(line);
        }
    }
    page.end_paragraph();
    format!("{}\n", page.text.trim_end())
}

struct Page {
    width: usize,
    is_styled: bool,
    text: String,
    paragraph: String,
    /// The indentation of the first line of the paragraph, and below that of the others.
    first_indentation: String,
    indentation: String,
}

impl Page {
    fn styled(&self, style: &str, text: &str) -> String {
        if self.is_styled {
            format!("{style}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn code_line(&mut self, line: &str) {
        let is_comment = line.trim_start().starts_with(';');
        let line = if is_comment {
            self.styled(DIM, line)
        } else {
            line.to_owned()
        };
        self.line(&format!("    {line}"));
    }

    /// Adds a line to the paragraph; an item of a list begins one.
    fn add(&mut self, line: &str) {
        let outer = " ".repeat(line.len() - line.trim_start().len());
        let trimmed = line.trim();
        let bullet = trimmed
            .strip_prefix("- ")
            .or_else(|| trimmed.strip_prefix("* "));
        let numbered = trimmed
            .split_once(". ")
            .filter(|(number, _)| number.parse::<u8>().is_ok());
        if let Some(item) = bullet {
            self.end_paragraph();
            self.first_indentation = format!("{outer}• ");
            self.indentation = format!("{outer}  ");
            self.paragraph.push_str(item);
        } else if let Some((number, item)) = numbered {
            self.end_paragraph();
            self.first_indentation = format!("{outer}{number}. ");
            self.indentation = format!("{outer}   ");
            self.paragraph.push_str(item);
        } else {
            if !self.paragraph.is_empty() {
                self.paragraph.push(' ');
            }
            self.paragraph.push_str(trimmed);
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let mut line = std::mem::take(&mut self.first_indentation);
        let indentation = std::mem::take(&mut self.indentation);
        let mut is_empty = true;
        for word in words(&paragraph) {
            let shown = self.spans(&word, false);
            let columns = line.width() + usize::from(!is_empty) + shown.width();
            if !is_empty && columns > self.width {
                self.finish_line(&line);
                line.clone_from(&indentation);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(&word);
            is_empty = false;
        }
        if !is_empty {
            self.finish_line(&line);
        }
    }

    fn finish_line(&mut self, line: &str) {
        let line = self.spans(line, self.is_styled);
        self.line(&line);
    }

    /// A text without the marks of code, emphasis and links; with styles instead if wanted.
    fn spans(&self, text: &str, is_styled: bool) -> String {
        let mut shown = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['`', '*', '[']) {
            shown.push_str(&rest[..at]);
            let found = &rest[at..];
            let marked = |mark: &str| {
                let inner = found.strip_prefix(mark)?;
                let end = inner.find(mark).filter(|end| *end > 0)?;
                Some((&inner[..end], &inner[end + mark.len()..]))
            };
            let link = || {
                let (label, after) = found.strip_prefix('[')?.split_once("](")?;
                let (_, after) = after.split_once(')')?;
                (!label.contains('[')).then_some((label, after))
            };
            // Two backticks are around what has one in it.
            let double = || {
                let inner = found.strip_prefix("`` ")?;
                let end = inner.find(" ``")?;
                Some((&inner[..end], &inner[end + 3..]))
            };
            let code = double().or_else(|| marked("`"));
            let strong = || marked("**");
            let emphasis = || marked("*").filter(|(inner, _)| !inner.starts_with([' ', ')']));
            let (inner, after, style) = if let Some((inner, after)) = code {
                (inner, after, BOLD)
            } else if let Some((inner, after)) = strong() {
                (inner, after, BOLD)
            } else if let Some((inner, after)) = emphasis() {
                (inner, after, "")
            } else if let Some((inner, after)) = link() {
                (inner, after, "")
            } else {
                shown.push_str(&found[..1]);
                rest = &found[1..];
                continue;
            };
            if is_styled && !style.is_empty() {
                shown.push_str(&format!("{style}{inner}{PLAIN}"));
            } else {
                shown.push_str(inner);
            }
            rest = after;
        }
        shown.push_str(rest);
        shown
    }
}

/// The words of a paragraph; a code span or a link is one word.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_code = false;
    let mut is_link = false;
    for one in text.chars() {
        match one {
            '`' => is_code = !is_code,
            '[' if !is_code => is_link = true,
            ')' | ']' if !is_code => is_link = one == ']' && is_link,
            _ => {}
        }
        let last = words.len() - 1;
        if one == ' ' && !is_code && !is_link {
            if !words[last].is_empty() {
                words.push(String::new());
            }
        } else {
            words[last].push(one);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, width: usize, expected: &str) {
        assert_eq!(render(markdown, width, false), expected);
    }

    #[test]
    fn paragraphs_are_wrapped() {
        check(
            "one two\nthree `four five` six\n\n\nseven",
            12,
            "one two\nthree\nfour five\nsix\n\nseven\n",
        );
    }

    #[test]
    fn lists_hang() {
        check(
            "- one two three\n- four\n  five\n\n2. six seven eight",
            10,
            "• one two\n  three\n• four\n  five\n\n2. six\n   seven\n   eight\n",
        );
    }

    #[test]
    fn code_is_kept() {
        check(
            "text\n```scheme\n(f   1)\n; => 2\n```\n",
            20,
            "text\n    (f   1)\n    ; => 2\n",
        );
    }

    #[test]
    fn marks_become_styles() {
        assert_eq!(
            render("# A `b`\n*c* **d** [e](f) 2 * 3 * 4", 40, true),
            "\x1b[1mA b\x1b[0m\nc \x1b[1md\x1b[0m e 2 * 3 * 4\n"
        );
        check("a * b `c* d*` [x", 40, "a * b c* d* [x\n");
    }
}
