//! Comments behind code: those of neighbouring lines stand in one column.

use crate::WIDTH;
use crate::layout::LaidOut;

/// A line with a comment behind its code.
#[derive(Clone, Copy)]
struct Trailing {
    /// Where the comment begins in the text.
    offset: usize,
    /// Columns of the code and of the comment.
    code: usize,
    comment: usize,
}

/// The text with its comments aligned.
pub(crate) fn align(laid_out: LaidOut) -> String {
    let LaidOut { text, trailing } = laid_out;
    if trailing.len() < 2 {
        return text;
    }
    let mut result = String::with_capacity(text.len() + text.len() / 16);
    let mut copied = 0;
    let mut group: Vec<Trailing> = Vec::new();
    let mut last_line = usize::MAX;
    for (line, offset, code) in trailing {
        if !group.is_empty() && line != last_line + 1 {
            copied = write_group(&text, &mut result, copied, &group);
            group.clear();
        }
        let end = text[offset..]
            .find('\n')
            .map_or(text.len(), |at| offset + at);
        group.push(Trailing {
            offset,
            code,
            comment: text[offset..end].chars().count(),
        });
        last_line = line;
    }
    copied = write_group(&text, &mut result, copied, &group);
    result.push_str(&text[copied..]);
    result
}

/// Copies the text up to the last comment of a group; gives how far.
fn write_group(text: &str, result: &mut String, mut copied: usize, group: &[Trailing]) -> usize {
    let widest = group.iter().map(|line| line.code).max().unwrap_or(0);
    let fits = group.iter().all(|line| widest + 1 + line.comment <= WIDTH);
    for line in group {
        result.push_str(&text[copied..line.offset]);
        copied = line.offset;
        if fits {
            result.extend(std::iter::repeat_n(' ', widest - line.code));
        }
    }
    copied
}
