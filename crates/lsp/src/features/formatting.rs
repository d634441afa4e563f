//! Formats a document or a range, by the layout of `canny fmt`.
//!
//! A range is widened to whole forms at top level. The answer is one small edit, or none if nothing
//! changes; line ends stay as the text has them. A text that does not parse is not touched.

use serde_json::Value;

use crate::scan::Kind;
use crate::text::Text;
use crate::transport::Failure;

/// The answer to `textDocument/formatting`.
pub fn whole(text: &Text) -> Result<Value, Failure> {
    let content = &*text.content;
    let new = laid_out(content, content)?;
    Ok(edits(text, 0, content.len(), &new))
}

/// The answer to `textDocument/rangeFormatting`: the forms at top level that the range touches.
pub fn range(text: &Text, start: usize, end: usize) -> Result<Value, Failure> {
    let content = &*text.content;
    let mut depth = 0usize;
    let mut form_start = 0;
    let mut chosen: Option<(usize, usize)> = None;
    for token in text.tokens() {
        if depth == 0 && token.kind != Kind::Close {
            form_start = token.start;
        }
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && form_start <= end && token.end >= start {
            let first = chosen.map_or(form_start, |(first, _)| first.min(form_start));
            chosen = Some((first, token.end));
        }
    }
    let Some((first, last)) = chosen else {
        return Ok(Value::Array(Vec::new()));
    };
    // Whole lines, so that the first form stands where it does.
    let first = text.line_start(text.line_of(first));
    let last_line = text.line_of(last);
    let last = text.line_start(last_line) + text.line(last_line).len();
    let new = laid_out(&content[first..last], content)?;
    let new = new.trim_end_matches(['\n', '\r']).to_owned();
    Ok(edits(text, first, last, &new))
}

/// A piece of a text in its layout, with the line ends that the text has.
fn laid_out(piece: &str, whole: &str) -> Result<String, Failure> {
    let refused = |error: canny_format::FormatError| {
        Failure::refused(format!(
            "{}:{}: {}",
            error.line, error.column, error.message
        ))
    };
    let crlf = whole.contains("\r\n");
    let new = if crlf {
        canny_format::format(&piece.replace("\r\n", "\n")).map_err(refused)?
    } else {
        canny_format::format(piece).map_err(refused)?
    };
    Ok(if crlf { new.replace('\n', "\r\n") } else { new })
}

/// One edit for the lines that differ; none if nothing does.
fn edits(text: &Text, start: usize, end: usize, new: &str) -> Value {
    let old = &text.content[start..end];
    if old == new {
        return Value::Array(Vec::new());
    }
    let line_ends =
        |text: &str, same: usize| text[..same].rfind('\n').map_or(0, |newline| newline + 1);
    let same = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(old, new)| old == new)
        .count();
    let before = line_ends(old, old.floor_char_boundary(same));
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let same = old_rest
        .bytes()
        .rev()
        .zip(new_rest.bytes().rev())
        .take_while(|(old, new)| old == new)
        .count();
    // A common end that begins behind a line end.
    let mut behind = same.min(old_rest.len()).min(new_rest.len());
    while behind > 0
        && !(old_rest.is_char_boundary(old_rest.len() - behind)
            && old_rest[..old_rest.len() - behind].ends_with('\n')
            && new_rest.is_char_boundary(new_rest.len() - behind)
            && new_rest[..new_rest.len() - behind].ends_with('\n'))
    {
        behind -= 1;
    }
    let edit = text.edit(
        start + before,
        end - behind,
        &new_rest[..new_rest.len() - behind],
    );
    Value::Array(vec![edit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Encoding;

    /// The text after the edits that a client would make.
    fn edited(text: &Text, edits: &Value) -> String {
        let mut content = text.content.to_string();
        for edit in edits.as_array().into_iter().flatten().rev() {
            let (start, end) = text.offsets(&edit["range"]).unwrap();
            content.replace_range(start..end, edit["newText"].as_str().unwrap_or_default());
        }
        content
    }

    #[test]
    fn edits_give_the_layout() {
        for content in [
            "(define (f x)\nx)\n(g)\n",
            "(a\n b)\n",
            "; é\n(define  (f\tλ)\n    λ )\n\n\n\n(h)",
            "(define (f x)\r\n      x)\r\n(g)\r\n",
        ] {
            let text = Text::new(content, Encoding::Utf16);
            let new = edited(&text, &whole(&text).unwrap());
            let expected = laid_out(content, content).unwrap();
            assert_eq!(new, expected);
        }
    }

    #[test]
    fn a_range_takes_whole_forms() {
        let text = Text::new("(a   b)\n(c   d)\n(e   f)\n", Encoding::Utf16);
        let at = text.content.find('d').unwrap();
        let edits = range(&text, at, at).unwrap();
        assert_eq!(edited(&text, &edits), "(a   b)\n(c d)\n(e   f)\n");
        let text = Text::new("(a (b", Encoding::Utf16);
        assert!(whole(&text).is_err());
    }
}
