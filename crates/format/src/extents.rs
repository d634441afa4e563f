//! Measures forms before they are laid out: where each ends, and how many columns it takes on one
//! line.
//!
//! One pass over the tokens fills tables by token, so that each later question takes constant time
//! and the layout is linear. Parentheses that do not match are an error here, before anything is
//! written.

use crate::tokens::{Kind, Token};
use crate::{ErrorAt, WIDTH};

/// For each token, what belongs to it and where it would stand if the whole text were one line.
pub(crate) struct Extents {
    /// Columns before and behind each token on that line.
    starts: Vec<usize>,
    ends: Vec<usize>,
    /// The last token of what begins with a token: the closing paren of a list, what a prefix stands before.
    lasts: Vec<usize>,
    /// The next token that begins a line, or the number of tokens.
    breaks: Vec<usize>,
    /// Columns of the closing parens directly behind each token.
    closings: Vec<usize>,
}

impl Extents {
    /// Fails when parens do not match up.
    pub(crate) fn of(source: &str, tokens: &[Token]) -> Result<Extents, ErrorAt> {
        let lasts = lasts(source, tokens)?;
        let count = tokens.len();
        let mut starts = Vec::with_capacity(count);
        let mut ends = Vec::with_capacity(count);
        let mut column = 0;
        let mut is_glued = true;
        for token in tokens {
            column += usize::from(!is_glued && token.kind != Kind::Close);
            starts.push(column);
            let text = &source[token.start..token.end];
            let first_line = text.split('\n').next().unwrap_or_default();
            column += first_line.chars().count();
            ends.push(column);
            is_glued = matches!(token.kind, Kind::Open | Kind::Prefix);
        }
        let mut breaks = vec![count; count];
        let mut closings = vec![0; count];
        for index in (0..count.saturating_sub(1)).rev() {
            let next = &tokens[index + 1];
            let own = &tokens[index];
            let ends_line = own.kind == Kind::LineComment
                || (next.newlines > 0 && next.kind != Kind::Close)
                || source[own.start..own.end].contains('\n');
            breaks[index] = if ends_line {
                index + 1
            } else {
                breaks[index + 1]
            };
            if next.kind == Kind::Close {
                closings[index] = next.end - next.start + closings[index + 1];
            }
        }
        Ok(Extents {
            starts,
            ends,
            lasts,
            breaks,
            closings,
        })
    }

    /// Whether the author wrote what begins with a token on one line.
    pub(crate) fn is_one_line(&self, index: usize) -> bool {
        self.breaks[index] > self.lasts[index]
    }

    /// Whether what begins with a token fits its line up to its first line end, if it begins in this column.
    pub(crate) fn fits(&self, index: usize, column: usize) -> bool {
        let last = self.lasts[index];
        let (end, behind) = match self.breaks[index] {
            line_start if line_start <= last => (self.ends[line_start - 1], 0),
            _ => (self.ends[last], self.closings[last]),
        };
        column + (end - self.starts[index]) + behind <= WIDTH
    }
}

/// The last token of what begins with each token.
fn lasts(source: &str, tokens: &[Token]) -> Result<Vec<usize>, ErrorAt> {
    let error = |token: &Token, message: &str| ErrorAt {
        offset: token.start,
        message: message.to_owned(),
    };
    let mut lasts: Vec<usize> = (0..tokens.len()).collect();
    let mut open: Vec<usize> = Vec::new();
    // Prefixes that wait for what they stand before, and how many lists are open there.
    let mut prefixes: Vec<(usize, usize)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let finished = match token.kind {
            Kind::Open => {
                open.push(index);
                continue;
            }
            Kind::Prefix => {
                prefixes.push((index, open.len()));
                continue;
            }
            Kind::LineComment | Kind::BlockComment => continue,
            Kind::Atom => index,
            Kind::Close => {
                if let Some((prefix, depth)) = prefixes.last()
                    && *depth == open.len()
                {
                    return Err(error(&tokens[*prefix], "this stands before nothing"));
                }
                let Some(opening) = open.pop() else {
                    return Err(error(token, "this paren closes nothing"));
                };
                let brackets = source[..tokens[opening].end].ends_with('[');
                if brackets != (&source[token.start..token.end] == "]") {
                    let (own, other) = if brackets { ("[", "]") } else { ("(", ")") };
                    let message =
                        format!("the list is opened by `{own}`, so `{other}` has to close it");
                    return Err(error(token, &message));
                }
                lasts[opening] = index;
                opening
            }
        };
        let last = lasts[finished];
        while let Some((prefix, depth)) = prefixes.last().copied()
            && depth == open.len()
        {
            // `#;` takes one datum; what stands before it waits on.
            prefixes.pop();
            lasts[prefix] = last;
            if &source[tokens[prefix].start..tokens[prefix].end] == "#;" {
                break;
            }
        }
    }
    if let Some(opening) = open.last() {
        return Err(error(&tokens[*opening], "this paren is never closed"));
    }
    if let Some((prefix, _)) = prefixes.last() {
        return Err(error(&tokens[*prefix], "this stands before nothing"));
    }
    Ok(lasts)
}
