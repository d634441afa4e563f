//! Text of data laid out in lines that fit a width.
//!
//! The written form of a datum is taken apart into nested pieces and their widths are counted, once;
//! then it is laid out from the outside to the inside, asking of each piece only whether it fits. Both
//! take linear time. For any text, no character but spaces and line ends between pieces is added or
//! lost, so cut or odd text does no harm.
//!
//! A datum that fits on a line is written on one. The well-known forms have their bodies two
//! columns in, and calls have their operands below each other. Data without structure fills lines;
//! other lists have one element on each line.

use canny_syntax::pretty::distinguished_operands;
use canny_value::Value;
use canny_vm::Thread;

use super::{Style, brief_text_of};

/// Deepest nesting that is broken into lines.
const BROKEN_DEPTH_MAX: usize = 300;
/// Greatest width of an operator whose operands stand beside it.
const OPERATOR_WIDTH_MAX: usize = 24;

/// The written form of an object in lines, cut off after about `bytes_max` bytes, and whether it was.
pub fn pretty_written(
    thread: &Thread,
    value: Value,
    width: usize,
    bytes_max: usize,
) -> (String, bool) {
    pretty_in(thread, value, Style::Write, width, bytes_max)
}

/// The same for a result of the prompt, with what hash tables hold.
pub fn pretty_shown(
    thread: &Thread,
    value: Value,
    width: usize,
    bytes_max: usize,
) -> (String, bool) {
    pretty_in(thread, value, Style::Show, width, bytes_max)
}

fn pretty_in(
    thread: &Thread,
    value: Value,
    style: Style,
    width: usize,
    bytes_max: usize,
) -> (String, bool) {
    let text = brief_text_of(thread, value, style, bytes_max);
    let is_cut = text.len() >= bytes_max && text.ends_with('…');
    (pretty_text(&text, width), is_cut)
}

/// A datum's text in lines.
pub fn pretty_text(text: &str, width: usize) -> String {
    let mut pieces = Pieces::of(text);
    let roots = std::mem::take(&mut pieces.roots);
    let mut layout = Layout {
        pieces: &pieces,
        text,
        width,
        out: String::with_capacity(text.len() + text.len() / 8),
    };
    for (index, root) in roots.into_iter().enumerate() {
        if index > 0 {
            layout.newline(0);
        }
        layout.piece(root, 0, 0, 0);
    }
    layout.out
}

/// A part of the text: an atom, or a list with what opens and closes it.
struct Piece {
    /// Byte offsets: where it begins, where its opening part ends, where its closing part begins, where
    /// it ends.
    start: usize,
    inner_start: usize,
    inner_end: usize,
    end: usize,
    /// Columns on one line.
    width: usize,
    /// The next piece of the same list.
    next: Option<usize>,
    first: Option<usize>,
    last: Option<usize>,
    count: usize,
    has_lists: bool,
    is_list: bool,
}

struct Pieces {
    pieces: Vec<Piece>,
    roots: Vec<usize>,
}

fn is_delimiter(character: char) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '[' | ']' | '"' | ';')
}

impl Pieces {
    fn of(text: &str) -> Pieces {
        let mut made = Pieces {
            pieces: Vec::new(),
            roots: Vec::new(),
        };
        // Lists that are open, and whether an angle bracket closes them.
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            if character.is_whitespace() {
                at += character.len_utf8();
                continue;
            }
            if matches!(character, ')' | ']') && !open.is_empty() {
                while let Some((piece, is_angle)) = open.pop() {
                    made.close(text, piece, at, if is_angle { at } else { at + 1 }, &open);
                    if !is_angle {
                        break;
                    }
                }
                at += 1;
                continue;
            }
            let start = at;
            at = prefix_end(text, at);
            let rest = &text[at..];
            if rest.starts_with("#<") {
                made.push(start, at + 2, true, &open);
                open.push((made.pieces.len() - 1, true));
                at += 2;
                continue;
            }
            let paren = rest.find(['(', '[']);
            if let Some(paren) = paren.filter(|paren| {
                *paren == 0
                    || rest.starts_with('#')
                        && !rest[..*paren].contains(is_delimiter)
                        && *paren <= 5
                        && !rest.starts_with("#\\")
            }) {
                made.push(start, at + paren + 1, true, &open);
                open.push((made.pieces.len() - 1, false));
                at += paren + 1;
                continue;
            }
            at = atom_end(text, at);
            let ends_angle = open.last().is_some_and(|(_, is_angle)| *is_angle)
                && text[start..at].ends_with('>')
                && !text[start..].starts_with("=> ")
                && !text[start..at].starts_with('"');
            let end = if ends_angle { at - 1 } else { at };
            if end > start {
                made.push(start, end, false, &open);
            }
            if ends_angle && let Some((piece, _)) = open.pop() {
                made.close(text, piece, end, at, &open);
            }
        }
        while let Some((piece, _)) = open.pop() {
            made.close(text, piece, text.len(), text.len(), &open);
        }
        for index in 0..made.pieces.len() {
            if !made.pieces[index].is_list {
                let piece = &made.pieces[index];
                made.pieces[index].width = text[piece.start..piece.end].chars().count();
            }
        }
        made.sum_widths(text);
        made
    }

    fn push(&mut self, start: usize, inner_start: usize, is_list: bool, open: &[(usize, bool)]) {
        let number = self.pieces.len();
        self.pieces.push(Piece {
            start,
            inner_start,
            inner_end: inner_start,
            end: inner_start,
            width: 0,
            next: None,
            first: None,
            last: None,
            count: 0,
            has_lists: false,
            is_list,
        });
        match open.last() {
            None => self.roots.push(number),
            Some((parent, _)) => {
                if let Some(last) = self.pieces[*parent].last.replace(number) {
                    self.pieces[last].next = Some(number);
                } else {
                    self.pieces[*parent].first = Some(number);
                }
                self.pieces[*parent].count += 1;
                self.pieces[*parent].has_lists |= is_list;
            }
        }
    }

    fn close(&mut self, _text: &str, piece: usize, at: usize, end: usize, _open: &[(usize, bool)]) {
        self.pieces[piece].inner_end = at;
        self.pieces[piece].end = end;
    }

    /// Pieces of a list come after it, so the widths are known from the back.
    fn sum_widths(&mut self, text: &str) {
        for index in (0..self.pieces.len()).rev() {
            if !self.pieces[index].is_list {
                continue;
            }
            let piece = &self.pieces[index];
            let opening = text[piece.start..piece.inner_start].chars().count();
            let closing = text[piece.inner_end..piece.end].chars().count();
            let mut width = opening + closing + piece.count.saturating_sub(1);
            let mut child = piece.first;
            while let Some(at) = child {
                width += self.pieces[at].width;
                child = self.pieces[at].next;
            }
            self.pieces[index].width = width;
        }
    }

    fn children(&self, piece: usize) -> impl Iterator<Item = usize> + '_ {
        let mut child = self.pieces[piece].first;
        std::iter::from_fn(move || {
            let at = child?;
            child = self.pieces[at].next;
            Some(at)
        })
    }
}

/// The end of quotation marks and of a label's definition in front of a datum.
fn prefix_end(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let digits = rest.strip_prefix('#').map_or(0, |rest| {
            rest.bytes().take_while(u8::is_ascii_digit).count()
        });
        if digits > 0 && rest[1 + digits..].starts_with('=') {
            at += digits + 2;
        } else if rest.starts_with(",@") {
            at += 2;
        } else if rest.starts_with(['\'', '`', ',']) {
            at += 1;
        } else {
            return at;
        }
    }
}

/// The end of an atom that begins here.
fn atom_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    if rest.starts_with("#\\") {
        let mut characters = rest.char_indices().skip(2);
        let Some((at, first)) = characters.next() else {
            return text.len();
        };
        let after = start + at + first.len_utf8();
        return text[after..]
            .find(is_delimiter)
            .map_or(text.len(), |end| after + end);
    }
    let mut quote = None;
    let mut is_escaped = false;
    for (at, character) in rest.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if character == '\\' => is_escaped = true,
            Some(end) if character == end => {
                quote = None;
                if end == '"' {
                    return start + at + 1;
                }
            }
            Some(_) => {}
            None if character == '|' => quote = Some('|'),
            None if character == '"' && at == 0 => quote = Some('"'),
            None if at > 0 && is_delimiter(character) => return start + at,
            None => {}
        }
    }
    text.len()
}

struct Layout<'a> {
    pieces: &'a Pieces,
    text: &'a str,
    width: usize,
    out: String,
}

impl Layout<'_> {
    fn newline(&mut self, column: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', column));
    }

    fn text_of(&self, piece: usize) -> &str {
        let piece = &self.pieces.pieces[piece];
        &self.text[piece.start..piece.end]
    }

    fn fits(&self, piece: usize, column: usize, closing: usize) -> bool {
        column + self.pieces.pieces[piece].width + closing <= self.width
    }

    /// Writes a piece at a column; `closing` characters follow it on its last line. Gives the column
    /// behind it.
    fn piece(&mut self, index: usize, column: usize, closing: usize, depth: usize) -> usize {
        let piece = &self.pieces.pieces[index];
        if !piece.is_list
            || piece.count == 0
            || depth > BROKEN_DEPTH_MAX
            || self.fits(index, column, closing)
        {
            let text = &self.text[piece.start..piece.end];
            self.out.push_str(text);
            return column + piece.width;
        }
        let opening = &self.text[piece.start..piece.inner_start];
        self.out.push_str(opening);
        let inner = column + opening.chars().count();
        let ending = &self.text[piece.inner_end..piece.end];
        let closing = closing + ending.chars().count();
        let children: Vec<usize> = self.pieces.children(index).collect();
        let end = if opening.ends_with("#<") {
            self.named(&children, inner, closing, depth)
        } else if !piece.has_lists {
            self.fill(&children, inner, closing, depth)
        } else if opening.ends_with('(') && !opening.contains('#') {
            self.form(&children, inner, closing, depth)
        } else {
            self.column(&children, inner, closing, depth)
        };
        self.out.push_str(ending);
        end + ending.chars().count()
    }

    /// Puts the pieces one below the other. A piece behind a dot stays beside it.
    fn column(&mut self, pieces: &[usize], column: usize, closing: usize, depth: usize) -> usize {
        let mut end = column;
        for (index, piece) in pieces.iter().enumerate() {
            let is_last = index + 1 == pieces.len();
            let mut at = column;
            if index > 0 && self.text_of(pieces[index - 1]) == "." {
                self.out.push(' ');
                at = end + 1;
            } else if index > 0 {
                self.newline(column);
            }
            end = self.piece(*piece, at, if is_last { closing } else { 0 }, depth + 1);
        }
        end
    }

    /// As many on each line as fit.
    fn fill(&mut self, pieces: &[usize], column: usize, closing: usize, depth: usize) -> usize {
        let mut end = column;
        for (index, piece) in pieces.iter().enumerate() {
            let behind = if index + 1 == pieces.len() {
                closing
            } else {
                0
            };
            if index > 0 {
                if self.fits(*piece, end + 1, behind) {
                    self.out.push(' ');
                    end += 1;
                } else {
                    self.newline(column);
                    end = column;
                }
            }
            end = self.piece(*piece, end, behind, depth + 1);
        }
        end
    }

    /// `#<name field value field value>`: a field and its value on each line; of a hash table `key => value`.
    fn named(&mut self, pieces: &[usize], column: usize, closing: usize, depth: usize) -> usize {
        let on_line = match pieces.get(2) {
            Some(arrow) if self.text_of(*arrow) == "=>" => 3,
            _ => 2,
        };
        let mut end = self.piece(pieces[0], column, 0, depth + 1);
        let beside = end + 1;
        for (index, piece) in pieces.iter().enumerate().skip(1) {
            let behind = if index + 1 == pieces.len() {
                closing
            } else {
                0
            };
            if index % on_line == 1 && index > 1 {
                self.newline(beside);
                end = beside;
            } else {
                self.out.push(' ');
                end += 1;
            }
            end = self.piece(*piece, end, behind, depth + 1);
        }
        end
    }

    /// A list whose first element may be an operator.
    fn form(&mut self, pieces: &[usize], column: usize, closing: usize, depth: usize) -> usize {
        let head = &self.pieces.pieces[pieces[0]];
        let name = self.text_of(pieces[0]);
        let is_name = !head.is_list
            && name.starts_with(|c: char| c.is_alphabetic() || "!$%&*+-/:<=>?^_~".contains(c));
        if !is_name || pieces.len() < 2 || head.width > OPERATOR_WIDTH_MAX {
            return self.column(pieces, column, closing, depth);
        }
        let Some(beside_count) = distinguished_operands(name) else {
            // A call, or data that looks like one.
            let beside = column + head.width + 1;
            let end = self.piece(pieces[0], column, 0, depth + 1);
            debug_assert_eq!(end + 1, beside);
            self.out.push(' ');
            return self.column(&pieces[1..], beside, closing, depth);
        };
        // The name of a named let stands beside the keyword too.
        let is_named = name == "let" && !self.pieces.pieces[pieces[1]].is_list;
        let beside_count = beside_count + usize::from(is_named);
        let mut end = self.piece(pieces[0], column, 0, depth + 1);
        for (index, piece) in pieces.iter().enumerate().skip(1) {
            let behind = if index + 1 == pieces.len() {
                closing
            } else {
                0
            };
            if index <= beside_count {
                self.out.push(' ');
                end += 1;
            } else {
                self.newline(column + 1);
                end = column + 1;
            }
            end = self.piece(*piece, end, behind, depth + 1);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::pretty_text;

    fn check(text: &str, width: usize, lines: &[&str]) {
        assert_eq!(pretty_text(text, width).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn what_fits_stays_on_its_line() {
        check("(a b (c \"d e\"))", 80, &["(a b (c \"d e\"))"]);
        check("", 80, &[]);
    }

    #[test]
    fn data_without_structure_fills_lines() {
        check("(1 2 3 4 5 6)", 7, &["(1 2 3", " 4 5 6)"]);
        check("#(1 2 3 4 5 6)", 8, &["#(1 2 3", "  4 5 6)"]);
    }

    #[test]
    fn forms_have_their_bodies_two_columns_in() {
        check(
            "(define (f x) (let loop ((i 0)) (if (< i x) (loop (+ i 1)) i)))",
            30,
            &[
                "(define (f x)",
                "  (let loop ((i 0))",
                "    (if (< i x)",
                "        (loop (+ i 1))",
                "        i)))",
            ],
        );
    }

    #[test]
    fn association_lists_have_one_pair_to_a_line() {
        check(
            "((alpha . 1) (beta . (x y)) (gamma . #f))",
            16,
            &["((alpha . 1)", " (beta . (x y))", " (gamma . #f))"],
        );
    }

    #[test]
    fn records_have_one_field_to_a_line() {
        check(
            "#<point x (1 2 3) y #<list->string>>",
            20,
            &["#<point x (1 2 3)", "        y #<list->string>>"],
        );
    }

    #[test]
    fn hash_tables_have_one_association_to_a_line() {
        check(
            "(#<hash-table a => (1 2) \"b c\" => #<hash-table x => =>> (3) => 4> y)",
            26,
            &[
                "(#<hash-table a => (1 2)",
                "              \"b c\" => #<hash-table x => =>>",
                "              (3) => 4>",
                " y)",
            ],
        );
    }

    #[test]
    fn odd_text_keeps_its_characters() {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [
            ")) a (b",
            "#<a (b #\\( c > d",
            "(\"open string",
            "#0=(a . #0#)",
            "'(a `(b ,(c) ,@d))",
            "#u8(1 2 3)",
            "|a b| (|c ) d|)",
            "#\\",
            "(a #<procedure f> b)",
            "(1 2 3…",
            "> < >>",
        ] {
            for width in [0, 1, 5, 80] {
                let pretty = pretty_text(text, width);
                let plain = |text: &str| text.replace(char::is_whitespace, "");
                assert_eq!(plain(&pretty), plain(text), "{text} {width}");
            }
            assert!(squeeze(&pretty_text(text, 80)).len() <= text.len() + 4);
        }
    }

    #[test]
    fn deep_nesting_is_no_problem() {
        let text = format!("{}x{}", "(a (b) ".repeat(20_000), ")".repeat(20_000));
        assert!(pretty_text(&text, 40).len() >= text.len());
    }
}
