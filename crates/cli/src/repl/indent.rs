//! The column at which the next line of an incomplete form begins, in the layout of `canny fmt`.
//!
//! It looks at the text before the cursor only. Inside of a string the column is zero, since blanks
//! would become part of it.

use canny_syntax::pretty::body_operands;

use super::lexis::{Scanner, Token, TokenKind};

/// Texts longer than this are not looked at.
const BYTES_MAX: usize = 64 * 1024;

/// An open paren.
struct Open {
    column: usize,
    /// The operator, its column and whether it is a symbol.
    head: Option<(usize, String)>,
    /// The column of the second element, and whether it is on the line of the first.
    second: Option<usize>,
    count: usize,
}

/// The column for a line that follows the text. Inside of a string blanks would be a part of it.
pub fn indentation(text: &str) -> usize {
    if text.len() > BYTES_MAX {
        return 0;
    }
    let (mut scanner, mut tokens) = (Scanner::default(), Vec::new());
    scanner.scan(text, |token| tokens.push(token));
    if scanner.is_in_quotes() {
        return 0;
    }
    let mut open: Vec<Open> = Vec::new();
    let mut line_start = 0;
    let mut scanned_to = 0;
    for Token { kind, range } in tokens {
        if let Some(newline) = text[scanned_to..range.start].rfind('\n') {
            line_start = scanned_to + newline + 1;
        }
        let column = text[line_start..range.start].chars().count();
        scanned_to = range.start;
        match kind {
            TokenKind::Comment | TokenKind::Prefix => {}
            TokenKind::Close => {
                open.pop();
            }
            kind => {
                let word = &text[range.clone()];
                note(&mut open, column, kind, word);
                if kind == TokenKind::Open {
                    let inner = column + word.chars().count() - 1;
                    open.push(Open {
                        column: inner,
                        head: None,
                        second: None,
                        count: 0,
                    });
                }
            }
        }
        if let Some(newline) = text[range.clone()].rfind('\n') {
            line_start = range.start + newline + 1;
            scanned_to = line_start;
        }
    }
    let Some(innermost) = open.last() else {
        return 0;
    };
    column_in(innermost)
}

/// An element begins in the innermost open list.
fn note(open: &mut [Open], column: usize, kind: TokenKind, word: &str) {
    let Some(list) = open.last_mut() else { return };
    list.count += 1;
    match list.count {
        1 if kind == TokenKind::Symbol => list.head = Some((column, word.to_owned())),
        2 if list.head.is_some() => list.second = Some(column),
        _ => {}
    }
}

fn column_in(list: &Open) -> usize {
    let Some((head_column, head)) = &list.head else {
        return list.column + 1;
    };
    let has_body = body_operands(head).is_some();
    match list.second {
        _ if has_body => list.column + 2,
        Some(second) if second > *head_column => second,
        // The operator stands alone on its line.
        _ => list.column + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::indentation;

    #[test]
    fn forms_have_bodies_and_calls_have_operands() {
        for (text, column) in [
            ("(define (f x)", 2),
            ("(define (f x)\n  (let ((a 1)", 8),
            ("(define (f x)\n  (let ((a 1))", 4),
            ("(list 1", 6),
            ("(list\n 1", 1),
            ("(list", 1),
            ("(cond ((a) 1)", 6),
            ("'(1 2", 2),
            ("#(1 2", 2),
            ("(f \"a\nb\" c", 3),
            ("(if a\n    b", 4),
            ("(lambda (x) ; comment", 2),
            ("(test-group \"a\"", 2),
            ("(call-with-current-continuation", 1),
            ("(match-let ((a b))", 2),
            ("(a)", 0),
            ("(f \"a", 0),
            ("(f |a", 0),
            ("", 0),
            (")))", 0),
        ] {
            assert_eq!(indentation(text), column, "{text}");
        }
    }
}
