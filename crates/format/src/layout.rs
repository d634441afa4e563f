//! Writing tokens with their line ends and indentation.
//!
//! One pass from left to right with a stack of open lists. The head of a list decides its shape.
//! The columns of a form up to its first line end are known beforehand ([`Extents`]), so that lines
//! that would become too long are broken in front of a form rather than inside of it. A form with a
//! body that was written on one line and does not fit has its body below.
//!
//! The author's indentation counts for nothing, but for one thing: calls whose operands were indented
//! by two columns are taken for forms with a body, since nothing else tells about the macros of a
//! program.

use canny_syntax::pretty::{body_operands, is_guessed};

use crate::ErrorAt;
use crate::extents::Extents;
use crate::tokens::{Kind, Token};

/// An operand that does not fit any line gets one of its own if that gives it as many columns more.
const WORTHWHILE_GAIN: usize = 8;

/// A text, and for each line with a comment behind its code: the line's number, where the comment
/// begins, and how many columns the code takes.
pub(crate) struct LaidOut {
    pub text: String,
    pub trailing: Vec<(usize, usize, usize)>,
}

/// The shape of a list, which gives its elements their roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Nothing but elements, one below the other.
    Elements,
    /// An operator and operands.
    Call,
    /// A keyword, some operands, and a body.
    Body(usize),
}

/// An open list.
struct List<'t> {
    /// The column of the paren, and of what follows it.
    column: usize,
    inner: usize,
    /// The column of the paren in the source.
    source_column: usize,
    /// The first element, if it is an atom.
    head: &'t str,
    shape: Shape,
    /// Elements so far, comments not counted.
    count: usize,
    /// The column of the first operand, if it stands on the operator's line.
    operand: Option<usize>,
    /// Elements from this one on begin lines.
    breaks_from: usize,
    /// No element began a line in the source yet.
    is_first_line: bool,
    /// How many line ends had been made before the last element.
    breaks_before: usize,
}

impl List<'_> {
    /// The column of an element that begins a line.
    fn indentation(&self) -> usize {
        match self.shape {
            _ if self.count == 0 => self.inner,
            Shape::Elements => self.inner,
            // Of a form that is only called like one with a body nobody knows where that begins.
            Shape::Body(_) if self.operand.is_none() && is_guessed(self.head) => self.column + 2,
            Shape::Body(beside) if self.count <= beside => self.column + 4,
            Shape::Body(0) => self.operand.unwrap_or(self.column + 2),
            Shape::Body(_) => self.column + 2,
            Shape::Call => self.operand.unwrap_or(self.inner),
        }
    }

    /// Whether the next element belongs to the body of a form.
    fn is_at_body(&self) -> bool {
        matches!(self.shape, Shape::Body(beside) if self.count > beside)
    }
}

struct Writer<'t> {
    source: &'t str,
    tokens: &'t [Token],
    extents: Extents,
    text: String,
    column: usize,
    line: usize,
    lists: Vec<List<'t>>,
    /// Where the token before ends in the source, and in which column.
    source_end: usize,
    source_column: usize,
    trailing: Vec<(usize, usize, usize)>,
    /// Line ends that are not in the source.
    breaks: usize,
    /// The token before.
    before: Option<Kind>,
    /// A quotation stands directly before the next token.
    is_quoted: bool,
    /// Prefixes since the last element; only the first of them begins it.
    is_prefixed: bool,
}

/// Lays tokens out.
pub(crate) fn layout(source: &str, tokens: &[Token]) -> Result<LaidOut, ErrorAt> {
    let mut writer = Writer {
        source,
        tokens,
        extents: Extents::of(source, tokens)?,
        text: String::with_capacity(source.len() + source.len() / 8),
        column: 0,
        line: 0,
        lists: Vec::new(),
        source_end: 0,
        source_column: 0,
        trailing: Vec::new(),
        breaks: 0,
        before: None,
        is_quoted: false,
        is_prefixed: false,
    };
    for index in 0..tokens.len() {
        writer.token(index);
    }
    if !writer.text.is_empty() {
        writer.text.push('\n');
    }
    Ok(LaidOut {
        text: writer.text,
        trailing: writer.trailing,
    })
}

impl<'t> Writer<'t> {
    fn token(&mut self, index: usize) {
        let token = self.tokens[index];
        self.source_column = column_behind(
            &self.source[self.source_end..token.start],
            self.source_column,
        );
        self.take_indentation_for_a_body(&token);
        match token.kind {
            Kind::Close => self.close(&token),
            Kind::LineComment => self.line_comment(index),
            Kind::BlockComment => {
                self.begin(index);
                self.write(&token);
            }
            Kind::Prefix => {
                if !self.is_prefixed {
                    self.begin(index);
                    self.is_prefixed = true;
                } else if self.before == Some(Kind::LineComment) {
                    self.end_line(&token);
                }
                let text = &self.source[token.start..token.end];
                self.is_quoted = text == "'";
                self.write(&token);
            }
            Kind::Atom => {
                self.begin_element(index);
                self.write(&token);
                self.count();
            }
            Kind::Open => self.open(index),
        }
        self.before = Some(token.kind);
        let text = &self.source[token.start..token.end];
        self.source_column = column_behind(text, self.source_column);
        self.source_end = token.end;
    }

    /// Takes a call for a form with a body, if the first operand that begins a line is indented like that.
    fn take_indentation_for_a_body(&mut self, token: &Token) {
        let column = self.source_column;
        if token.newlines > 0
            && token.kind != Kind::Close
            && let Some(list) = self.lists.last_mut()
            && list.shape == Shape::Call
            && list.is_first_line
            && list.operand.is_some()
        {
            if column == list.source_column + 2 && !is_call_always(list.head) {
                list.shape = Shape::Body(list.count.saturating_sub(1));
            }
            list.is_first_line = false;
        }
    }

    /// Goes to where an element begins, unless a prefix went there.
    fn begin_element(&mut self, index: usize) {
        if !self.is_prefixed {
            self.begin(index);
        } else if matches!(self.before, Some(Kind::LineComment | Kind::BlockComment)) {
            // A comment stands between the prefix and this.
            let token = self.tokens[index];
            if self.before == Some(Kind::LineComment) {
                self.end_line(&token);
            } else {
                self.blank();
            }
        }
        self.is_prefixed = false;
    }

    fn count(&mut self) {
        self.is_quoted = false;
        if let Some(list) = self.lists.last_mut() {
            list.count += 1;
        }
    }

    fn open(&mut self, index: usize) {
        self.begin_element(index);
        let token = self.tokens[index];
        let column = self.column;
        self.write(&token);
        let inner = self.column;
        let head = match self.tokens.get(index + 1) {
            Some(head) if head.kind == Kind::Atom => &self.source[head.start..head.end],
            _ => "",
        };
        let is_data = self.is_quoted || token.end - token.start > 1 || self.is_list_of_names();
        let shape = match head {
            "" => Shape::Elements,
            _ if is_data => Shape::Elements,
            _ => shape_of(head),
        };
        self.count();
        // A named let has its name beside the keyword too; a variable of a macro for all bindings
        // stands alone.
        let is_named = head == "let"
            && matches!(
                self.tokens.get(index + 2..index + 4),
                Some([name, next]) if name.kind == Kind::Atom && next.newlines == 0
            );
        let shape = match shape {
            Shape::Body(1) if is_named => Shape::Body(2),
            _ => shape,
        };
        let fits = self.extents.fits(index, column);
        let breaks_from = match shape {
            _ if fits => usize::MAX,
            Shape::Elements if head.is_empty() => 1,
            Shape::Body(beside) if self.extents.is_one_line(index) => beside + 1,
            Shape::Call if is_call_always(head) && self.extents.is_one_line(index) => 2,
            _ => usize::MAX,
        };
        self.lists.push(List {
            column,
            inner,
            source_column: self.source_column,
            head,
            shape,
            count: 0,
            operand: None,
            breaks_from,
            is_first_line: true,
            breaks_before: self.breaks,
        });
    }

    /// Whether the list that begins here has parameters or literals of the form around it.
    fn is_list_of_names(&self) -> bool {
        self.lists.last().is_some_and(|list| {
            list.count == 1 && matches!(list.head, "lambda" | "lambda*" | "syntax-rules")
        })
    }

    fn close(&mut self, token: &Token) {
        if self.before == Some(Kind::LineComment) {
            let column = self.lists.last().map_or(0, |list| list.inner);
            self.start_line(column, false);
        }
        self.lists.pop();
        self.write(token);
        self.is_prefixed = false;
        self.is_quoted = false;
    }

    fn line_comment(&mut self, index: usize) {
        let token = self.tokens[index];
        if self.before.is_none() {
            self.write(&token);
            return;
        }
        if token.newlines > 0 || self.before == Some(Kind::LineComment) {
            self.end_line(&token);
        } else {
            self.trailing
                .push((self.line, self.text.len() + 1, self.column));
            self.blank();
        }
        self.write(&token);
    }

    /// Begins a line where the next element of the innermost list belongs.
    fn end_line(&mut self, token: &Token) {
        let column = self.lists.last().map_or(0, List::indentation);
        self.breaks += usize::from(token.newlines == 0);
        self.start_line(column, token.newlines > 1);
    }

    fn start_line(&mut self, column: usize, with_empty_line: bool) {
        if with_empty_line {
            self.text.push('\n');
            self.line += 1;
        }
        self.text.push('\n');
        self.line += 1;
        self.text.extend(std::iter::repeat_n(' ', column));
        self.column = column;
    }

    fn blank(&mut self) {
        self.text.push(' ');
        self.column += 1;
    }

    /// Goes from the token before to an element or comment: on the same line or on a new one.
    fn begin(&mut self, index: usize) {
        self.go_to(index);
        let breaks = self.breaks;
        if let Some(list) = self.lists.last_mut() {
            list.breaks_before = breaks;
        }
    }

    fn go_to(&mut self, index: usize) {
        let token = self.tokens[index];
        let Some(before) = self.before else { return };
        if before == Kind::LineComment {
            self.end_line(&token);
            return;
        }
        if before == Kind::Open {
            // An element behind a paren stands beside it.
            return;
        }
        let Some(list) = self.lists.last() else {
            if token.newlines > 0 {
                self.start_line(0, token.newlines > 1);
            } else {
                self.blank();
            }
            return;
        };
        // Behind an element that had to be broken nothing stands.
        let is_behind_broken = list.breaks_before < self.breaks;
        // The tail of a dotted list stays beside its dot.
        let is_tail = self.text.ends_with(" .");
        let must_break = list.count >= list.breaks_from || is_behind_broken;
        if token.newlines > 0 || must_break && !is_tail {
            self.end_line(&token);
            return;
        }
        if !is_tail && self.should_break(index, list) {
            self.end_line(&token);
            self.note_break();
            return;
        }
        self.blank();
        let column = self.column;
        if let Some(list) = self.lists.last_mut()
            && list.count == 1
            && token.kind != Kind::BlockComment
        {
            list.operand = Some(column);
        }
    }

    /// An element of the innermost list was brought to a line of its own.
    fn note_break(&mut self) {
        if let Some(list) = self.lists.last_mut()
            && list.is_at_body()
        {
            list.breaks_from = list.count;
        }
    }

    /// Whether an element would make its line too long, and a line of its own helps.
    fn should_break(&self, index: usize, list: &List) -> bool {
        if self.extents.fits(index, self.column + 1) {
            return false;
        }
        // The first operand tells what a form is about.
        let is_known = is_call_always(list.head)
            || matches!(list.shape, Shape::Body(_)) && !is_guessed(list.head);
        if is_known && (list.count == 1 || list.head == "let" && !list.is_at_body()) {
            return false;
        }
        let column = list.indentation();
        let helps = self.extents.is_one_line(index) && column + WORTHWHILE_GAIN <= self.column;
        column < self.column + 1 && (self.extents.fits(index, column) || helps)
    }

    fn write(&mut self, token: &Token) {
        let text = &self.source[token.start..token.end];
        let text = match token.kind {
            Kind::LineComment => text.trim_end(),
            _ => text,
        };
        self.text.push_str(text);
        self.line += text.matches('\n').count();
        self.column = column_behind(text, self.column);
    }
}

/// The column behind a text that begins in a column.
fn column_behind(text: &str, column: usize) -> usize {
    match text.rfind('\n') {
        Some(end) => text[end + 1..].chars().count(),
        None => column + text.chars().count(),
    }
}

/// Keywords whose operands are laid out like those of a call, whatever the author did; on several lines
/// all of them begin one.
fn is_call_always(head: &str) -> bool {
    matches!(head, "if" | "cond" | "and" | "or")
}

/// The shape of a list with this head.
fn shape_of(head: &str) -> Shape {
    let first = head.as_bytes()[0];
    if first == b'"' || first == b'#' || first.is_ascii_digit() {
        return Shape::Elements;
    }
    match body_operands(head) {
        Some(beside) => Shape::Body(beside),
        None => Shape::Call,
    }
}
