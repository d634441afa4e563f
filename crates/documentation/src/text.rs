//! Doc texts: where they stand in a source, and their form.
//!
//! A text is Markdown. In a comment an indented block is code, as people write it; here it becomes a
//! fenced block.

use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;

use crate::model::{Example, Expectation};

/// A line of a text and the line of the file that it stands on.
pub(crate) struct Line {
    pub text: String,
    pub number: u32,
}

/// A text in its final form.
#[derive(Default)]
pub(crate) struct DocText {
    pub text: String,
    pub examples: Vec<Example>,
}

/// The examples in the fenced blocks of Scheme code of a Markdown text.
pub fn markdown_examples(file: &str, source: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut block: Option<(String, Vec<u32>)> = None;
    for (index, line) in source.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, &mut block) {
            (Some(_), Some((code, numbers))) => {
                found.extend(examples(file, code, numbers));
                block = None;
            }
            (Some("scheme"), None) => block = Some((String::new(), Vec::new())),
            // Lines of another block are no code; its end looks like a block without a language.
            (Some(_), None) | (None, None) => {}
            (None, Some((code, numbers))) => {
                code.push_str(line);
                code.push('\n');
                numbers.push(index as u32 + 1);
            }
        }
    }
    found
}

/// The comment block whose last line is directly above the line that `offset` is on: lines that begin
/// with two semicolons or more. Nothing if something else stands before the offset on its line, whose
/// number is given.
pub(crate) fn comment_above(source: &str, offset: usize, line_number: usize) -> Vec<Line> {
    let line_start = source[..offset]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    if !source[line_start..offset].trim().is_empty() {
        return Vec::new();
    }
    let mut comments = Vec::new();
    let mut end = line_start;
    while end > 0 {
        let start = source[..end - 1]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let line = &source[start..end];
        if !is_doc_comment(line) {
            break;
        }
        comments.push(line);
        end = start;
    }
    comments.reverse();
    lines_of(&comments, line_number.saturating_sub(comments.len() + 1))
}

/// The comment block that a file begins with, behind `#!` lines and empty ones.
pub(crate) fn comment_at_top(source: &str) -> Vec<Line> {
    let lines: Vec<&str> = source.lines().collect();
    let is_before = |line: &&str| line.starts_with("#!") || line.trim().is_empty();
    let first = lines.iter().take_while(|line| is_before(line)).count();
    let count = lines[first..]
        .iter()
        .take_while(|line| is_doc_comment(line))
        .count();
    lines_of(&lines[first..first + count], first)
}

fn lines_of(comments: &[&str], first: usize) -> Vec<Line> {
    comments
        .iter()
        .enumerate()
        .map(|(index, line)| Line {
            text: uncommented(line).to_owned(),
            number: (first + index + 1) as u32,
        })
        .collect()
}

/// The lines of a doc string, which begins on that line of the file. The indentation that all lines but
/// the first have in common is that of the source.
pub(crate) fn string_lines(text: &str, first: u32) -> Vec<Line> {
    let indentation = text
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    text.lines()
        .enumerate()
        .map(|(index, line)| Line {
            text: match index {
                0 => line.to_owned(),
                _ => line.get(indentation..).unwrap_or_default().to_owned(),
            },
            number: first + index as u32,
        })
        .collect()
}

fn is_doc_comment(line: &str) -> bool {
    line.trim_start().starts_with(";;")
}

/// A comment line without semicolons and the blank behind them.
fn uncommented(line: &str) -> &str {
    let text = line.trim().trim_start_matches(';');
    text.strip_prefix(' ').unwrap_or(text)
}

/// Makes a text of lines: code becomes fenced blocks, rules of dashes go, the examples are found.
pub(crate) fn doc_text(file: &str, lines: &[Line]) -> DocText {
    let mut writer = Writer {
        file: file.to_owned(),
        ..Writer::default()
    };
    for line in lines {
        writer.line(line);
    }
    writer.finish()
}

#[derive(Default)]
struct Writer {
    file: String,
    done: DocText,
    /// The lines of a block of code that has not ended.
    block: Vec<Line>,
    /// The fence of that block and its word; nothing if it is indented.
    fence: Option<String>,
    /// Empty lines that were not written yet.
    blank: usize,
    in_list: bool,
}

impl Writer {
    fn line(&mut self, line: &Line) {
        let trimmed = line.text.trim();
        if let Some(fence) = &self.fence {
            if trimmed == "```" {
                let word = fence.clone();
                self.fence = None;
                self.end_block(&word);
            } else {
                self.take(line);
            }
            return;
        }
        if let Some(word) = trimmed.strip_prefix("```") {
            self.end_block("scheme");
            self.fence = Some(word.trim().to_owned());
            return;
        }
        if trimmed.is_empty() {
            self.blank += 1;
            return;
        }
        let indentation = line.text.len() - line.text.trim_start().len();
        if indentation >= 2 && !self.in_list {
            for _ in 0..std::mem::take(&mut self.blank) {
                if !self.block.is_empty() {
                    let number = line.number.saturating_sub(1);
                    self.block.push(Line {
                        text: String::new(),
                        number,
                    });
                }
            }
            self.take(line);
            return;
        }
        self.end_block("scheme");
        let is_rule = trimmed.len() > 2 && trimmed.chars().all(|one| "-=~*;".contains(one));
        if is_rule {
            return;
        }
        let is_item = trimmed.starts_with("- ")
            || trimmed.starts_with("* ")
            || trimmed
                .split_once(". ")
                .is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        self.in_list = is_item || (self.in_list && indentation > 0);
        self.separate();
        self.done.text.push_str(line.text.trim_end());
        self.done.text.push('\n');
    }

    fn take(&mut self, line: &Line) {
        self.block.push(Line {
            text: line.text.trim_end().to_owned(),
            number: line.number,
        });
    }

    /// Empty lines become one, and none at the beginning.
    fn separate(&mut self) {
        if std::mem::take(&mut self.blank) > 0 && !self.done.text.is_empty() {
            self.done.text.push('\n');
        }
    }

    fn end_block(&mut self, word: &str) {
        if self.block.is_empty() {
            return;
        }
        let block = std::mem::take(&mut self.block);
        let indentation = block
            .iter()
            .filter(|line| !line.text.is_empty())
            .map(|line| line.text.len() - line.text.trim_start().len())
            .min()
            .unwrap_or(0);
        let code: Vec<&str> = block
            .iter()
            .map(|line| line.text.get(indentation..).unwrap_or_default())
            .collect();
        let code = code.join("\n");
        let is_scheme = matches!(word, "" | "scheme" | "scm");
        let after = self.blank;
        self.blank = usize::from(!self.done.text.is_empty());
        self.separate();
        self.blank = after.max(1);
        let word = if is_scheme { "scheme" } else { word };
        self.done
            .text
            .push_str(&format!("```{word}\n{code}\n```\n"));
        if is_scheme {
            let numbers: Vec<u32> = block.iter().map(|line| line.number).collect();
            self.done
                .examples
                .extend(examples(&self.file, &code, &numbers));
        }
    }

    fn finish(mut self) -> DocText {
        if let Some(word) = self.fence.take() {
            self.end_block(&word);
        }
        self.end_block("scheme");
        let length = self.done.text.trim_end().len();
        self.done.text.truncate(length);
        self.done
    }
}

/// The forms of a block of code. A comment `; => VALUE` or `; error: TEXT` behind a form or on the line
/// below it says what it gives, comments `; prints: LINE` say what it prints. `numbers` are the lines
/// of the file.
pub(crate) fn examples(file: &str, code: &str, numbers: &[u32]) -> Vec<Example> {
    let line_at = |offset: usize| {
        let index = code[..offset].matches('\n').count();
        numbers.get(index).or(numbers.last()).copied().unwrap_or(1)
    };
    let read = read_text(code, SourceId::NONE, false);
    if read.has_errors() {
        let mut marks = ["; => ", "; error: ", "; prints:"].iter();
        let marked = marks.find_map(|mark| code.find(mark));
        let message = read
            .diagnostics
            .first()
            .map(|one| one.message.clone())
            .unwrap_or_default();
        // Without markers it is a pattern for people.
        return marked
            .map(|offset| Example {
                form: code.to_owned(),
                expectation: Some(Expectation::Unreadable(message)),
                file: file.to_owned(),
                line: line_at(offset),
            })
            .into_iter()
            .collect();
    }
    let spans: Vec<(usize, usize)> = read
        .forms
        .iter()
        .map(|form| (form.span.start as usize, form.span.end as usize))
        .collect();
    spans
        .iter()
        .enumerate()
        .map(|(index, &(start, end))| {
            let next = spans.get(index + 1).map_or(code.len(), |next| next.0);
            Example {
                form: code[start..end].to_owned(),
                expectation: code.get(end..next).and_then(expectation),
                file: file.to_owned(),
                line: line_at(start),
            }
        })
        .collect()
}

/// The expectation for a form, from the text between it and the next form.
fn expectation(between: &str) -> Option<Expectation> {
    let mut lines = between
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty());
    let comment = lines.next()?.strip_prefix(';')?;
    let comment = comment.trim_start_matches(';').trim();
    if let Some(first) = comment.strip_prefix("prints:") {
        let plain = |text: &str| text.strip_prefix(' ').unwrap_or(text).to_owned();
        let more = lines.map_while(|line| {
            let text = line.strip_prefix(';')?.trim_start_matches(';').trim_start();
            text.strip_prefix("prints:").map(plain)
        });
        let all: Vec<String> = std::iter::once(plain(first)).chain(more).collect();
        return Some(Expectation::Prints(all.join("\n")));
    }
    if let Some(value) = comment.strip_prefix("=> ") {
        return Some(Expectation::Value(value.trim().to_owned()));
    }
    comment
        .strip_prefix("error: ")
        .map(|text| Expectation::Error(text.trim().to_owned()))
}
