//! Tokens to data, without recursion: open lists, quotations, labels and datum comments are frames
//! on an explicit stack, so nesting is limited by memory alone.

use std::collections::HashMap;

use canny_number::elements::{ElementType, encode_element};

use crate::diagnostic::Diagnostic;
use crate::reader::builder::{Builder, Quotation};
use crate::reader::lexer::{Lexer, LexicalState, ReadError, Token};
use crate::reader::source::CharSource;
use crate::span::{SourceId, Span};

/// The result of a successful read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// One datum is on the builder's stack; this is its span.
    Datum(Span),
    /// The text ended before a datum began.
    End,
}

/// A reader of data: the state that belongs to one source (`#!fold-case`, the line for error
/// messages). Reads one datum at a time.
#[derive(Clone, Debug)]
pub struct Parser {
    state: LexicalState,
    /// Report errors in tokens and continue, instead of stopping at the first one.
    recovering: bool,
    diagnostics: Vec<Diagnostic>,
    /// Take the end of the text for the end of all that is open.
    closing: bool,
    /// After an unclosed form: where the text outside it seems to continue.
    resume_at: Option<u32>,
}

/// The kinds of datum that are open around the current token.
enum Frame {
    List {
        open: Opening,
        close: char,
        count: usize,
        dot: Dot,
    },
    Vector {
        open: Opening,
        count: usize,
    },
    /// A numeric vector; one of bytes is a bytevector.
    Numbers {
        open: Opening,
        element: ElementType,
        bytes: Vec<u8>,
    },
    Quotation {
        kind: Quotation,
        prefix: Span,
    },
    Label {
        label: u64,
        start: Span,
    },
    Comment {
        start: Span,
    },
}

/// Where a list or vector was opened, and what its line and column say about its end.
struct Opening {
    span: Span,
    line: u32,
    column: u32,
    /// The first token on a later line that stands no further right than the opening.
    outdented: Option<Span>,
    /// The first opening bracket that begins a later line in the column of this one, as what follows a
    /// list does.
    sibling: Option<Span>,
}

/// A list that was closed behind what looks like its next sibling: perhaps by a bracket that was meant
/// for the list around it.
struct Suspect {
    span: Span,
    close: char,
    sibling: Span,
}

/// How far a dotted tail has got.
#[derive(PartialEq)]
enum Dot {
    None,
    Seen(Span),
    Filled,
    /// An error was reported; what follows is dropped.
    Spoiled,
}

impl Parser {
    /// A reader that stops at the first error, for ports.
    pub fn new(source: SourceId) -> Parser {
        Parser {
            state: LexicalState {
                source,
                fold_case: false,
                line_start: 0,
                line: 0,
                text: String::new(),
            },
            recovering: false,
            diagnostics: Vec::new(),
            closing: false,
            resume_at: None,
        }
    }

    /// A reader that collects the errors it can continue after (see [`Parser::take_diagnostics`]).
    pub fn recovering(source: SourceId) -> Parser {
        Parser {
            recovering: true,
            ..Parser::new(source)
        }
    }

    /// A reader that also takes the end of the text for the end of everything that is open.
    pub(crate) fn closing(source: SourceId) -> Parser {
        Parser {
            closing: true,
            ..Parser::recovering(source)
        }
    }

    /// Whether symbols are folded to lower case.
    pub fn fold_case(&self) -> bool {
        self.state.fold_case
    }

    /// Sets whether symbols are folded to lower case.
    pub fn set_fold_case(&mut self, fold_case: bool) {
        self.state.fold_case = fold_case;
    }

    /// The errors after which parsing continued.
    pub fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.diagnostics)
    }

    /// After an error about an unclosed form: the place from which reading may continue, if the
    /// indentation tells.
    pub(crate) fn take_resume_at(&mut self) -> Option<u32> {
        self.resume_at.take()
    }

    /// Tells the parser that the source was moved to `offset`, the beginning of a line.
    pub(crate) fn moved_to(&mut self, offset: u32) {
        self.state.line_start = offset;
    }

    /// Reads one datum. After an error the builder's stack is as before, and the source stands
    /// behind the offending token.
    pub fn read<S: CharSource, B: Builder>(
        &mut self,
        source: &mut S,
        builder: &mut B,
    ) -> Result<Read, ReadError<S::Error>> {
        let mark = builder.mark();
        let (recovering, closing) = (self.recovering, self.closing);
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        let mut run = Run {
            lexer: Lexer {
                state: &mut self.state,
                source,
            },
            builder,
            frames: Vec::new(),
            labels: HashMap::new(),
            recovering,
            closing,
            diagnostics: &mut diagnostics,
            resume_at: None,
            last_line: u32::MAX,
            suspect: None,
        };
        let result = run.datum();
        let resume_at = run.resume_at;
        self.resume_at = resume_at;
        self.diagnostics = diagnostics;
        if result.is_err() {
            builder.reset(mark);
        }
        result
    }
}

/// One call of [`Parser::read`].
struct Run<'a, S, B> {
    lexer: Lexer<'a, S>,
    builder: &'a mut B,
    frames: Vec<Frame>,
    /// Labels of this datum, and whether their datum is finished.
    labels: HashMap<u64, bool>,
    recovering: bool,
    closing: bool,
    diagnostics: &'a mut Vec<Diagnostic>,
    resume_at: Option<u32>,
    /// The line of the token before the current one.
    last_line: u32,
    /// The first of this datum.
    suspect: Option<Suspect>,
}

impl<S: CharSource, B: Builder> Run<'_, S, B> {
    fn datum(&mut self) -> Result<Read, ReadError<S::Error>> {
        loop {
            let (token, span) = match self.lexer.token() {
                Ok(token) => token,
                Err(ReadError::Syntax(diagnostic)) if !diagnostic.incomplete => {
                    let span = diagnostic.span;
                    self.report(*diagnostic)?;
                    self.builder.boolean(false, span);
                    if self.finish(span)? {
                        return Ok(Read::Datum(span));
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            if matches!(token, Token::End) {
                if self.frames.is_empty() {
                    return Ok(Read::End);
                }
                if self.closing {
                    return self.close_all(span);
                }
                return Err(self.unfinished(span).into());
            }
            let opens = matches!(
                token,
                Token::Open(_)
                    | Token::VectorOpen
                    | Token::BytevectorOpen
                    | Token::NumericVectorOpen(_)
            );
            self.note_indentation(span, opens);
            if let Some(finished) = self.token(token, span)?
                && self.finish(finished)?
            {
                return Ok(Read::Datum(finished));
            }
        }
    }

    /// Closes everything that is open at the end of the text.
    fn close_all(&mut self, end: Span) -> Result<Read, ReadError<S::Error>> {
        loop {
            let closer = self.frames.iter().rev().find_map(|frame| match frame {
                Frame::List { close, .. } => Some(*close),
                Frame::Vector { .. } | Frame::Numbers { .. } => Some(')'),
                _ => None,
            });
            let Some(closer) = closer else {
                self.frames.clear();
                return Ok(Read::End);
            };
            if let Some(finished) = self.close(closer, end)?
                && self.finish(finished)?
            {
                return Ok(Read::Datum(finished));
            }
        }
    }

    /// Stops with the error, or keeps it and continues.
    fn report(&mut self, diagnostic: Diagnostic) -> Result<(), ReadError<S::Error>> {
        if !self.recovering {
            return Err(diagnostic.into());
        }
        self.diagnostics.push(diagnostic);
        Ok(())
    }

    /// Handles one token. `Some` when a datum was pushed: its span.
    fn token(&mut self, token: Token, span: Span) -> Result<Option<Span>, ReadError<S::Error>> {
        match token {
            Token::Open(close) => {
                let open = self.opening(span);
                self.frames.push(Frame::List {
                    open,
                    close,
                    count: 0,
                    dot: Dot::None,
                });
                return Ok(None);
            }
            Token::VectorOpen => {
                let open = self.opening(span);
                self.frames.push(Frame::Vector { open, count: 0 });
                return Ok(None);
            }
            Token::BytevectorOpen => return Ok(self.open_numbers(ElementType::U8, span)),
            Token::NumericVectorOpen(element) => return Ok(self.open_numbers(element, span)),
            Token::Quotation(kind) => {
                self.frames.push(Frame::Quotation { kind, prefix: span });
                return Ok(None);
            }
            Token::DatumComment => {
                self.frames.push(Frame::Comment { start: span });
                return Ok(None);
            }
            Token::LabelDefine(label) => {
                if self.labels.insert(label, false).is_some() {
                    self.report(Diagnostic::error(
                        "duplicate-label",
                        span,
                        format!("`#{label}=` occurs twice"),
                    ))?;
                }
                self.builder.begin_label(label);
                self.frames.push(Frame::Label { label, start: span });
                return Ok(None);
            }
            Token::LabelRef(label) => return self.label_reference(label, span),
            Token::Close(close) => return self.close(close, span),
            Token::Dot => {
                self.dot(span)?;
                return Ok(None);
            }
            Token::Number(number) => {
                if let Some(Frame::Numbers { element, bytes, .. }) = self.frames.last_mut()
                    && let Some(encoded) = encode_element(*element, &number)
                {
                    bytes.extend_from_slice(&encoded[..element.bytes()]);
                    return Ok(None);
                }
                self.builder.number(*number, span);
            }
            Token::Bytes(bytes) => self.builder.bytevector(&bytes, span),
            Token::Boolean(value) => self.builder.boolean(value, span),
            Token::Character(value) => self.builder.character(value, span),
            Token::String => self.builder.string(&self.lexer.state.text, span),
            Token::Symbol => self.builder.symbol(&self.lexer.state.text, span),
            Token::Keyword => self.builder.keyword(&self.lexer.state.text, span),
            Token::Special(value) => self.builder.special(value, span),
            Token::End => return Ok(None),
        }
        Ok(Some(span))
    }

    fn open_numbers(&mut self, element: ElementType, span: Span) -> Option<Span> {
        let open = self.opening(span);
        self.frames.push(Frame::Numbers {
            open,
            element,
            bytes: Vec::new(),
        });
        None
    }

    fn label_reference(
        &mut self,
        label: u64,
        span: Span,
    ) -> Result<Option<Span>, ReadError<S::Error>> {
        let Some(&finished) = self.labels.get(&label) else {
            let message = format!("`#{label}#` refers to no `#{label}=` before it in this datum");
            self.report(Diagnostic::error("unknown-label", span, message))?;
            self.builder.boolean(false, span);
            return Ok(Some(span));
        };
        if let Some(Frame::Label { label: current, .. }) = self.frames.last()
            && *current == label
        {
            let message = format!("`#{label}=#{label}#` names nothing");
            self.report(Diagnostic::error("empty-label", span, message))?;
            self.builder.boolean(false, span);
            return Ok(Some(span));
        }
        self.builder.label_reference(label, finished, span);
        Ok(Some(span))
    }

    /// A datum was pushed: closes what it completes. True when nothing is open any more.
    fn finish(&mut self, mut span: Span) -> Result<bool, ReadError<S::Error>> {
        loop {
            match self.frames.last_mut() {
                None => return Ok(true),
                Some(Frame::Quotation { kind, prefix }) => {
                    let (kind, prefix) = (*kind, *prefix);
                    span = prefix.to(span);
                    self.builder.quotation(kind, prefix, span);
                    self.frames.pop();
                }
                Some(Frame::Label { label, start }) => {
                    let label = *label;
                    span = start.to(span);
                    self.builder.finish_label(label, span);
                    self.labels.insert(label, true);
                    self.frames.pop();
                }
                Some(Frame::Comment { .. }) => {
                    self.builder.discard();
                    self.frames.pop();
                    return Ok(false);
                }
                Some(Frame::Vector { count, .. }) => {
                    *count += 1;
                    return Ok(false);
                }
                Some(Frame::Numbers { element, .. }) => {
                    let message = match *element {
                        ElementType::U8 => {
                            "the elements of a bytevector are exact integers from 0 to 255".into()
                        }
                        element => format!(
                            "each element of `#{}(` is: {}",
                            element.name(),
                            element.description()
                        ),
                    };
                    self.builder.discard();
                    self.report(Diagnostic::error("bad-byte", span, message))?;
                    return Ok(false);
                }
                Some(Frame::List { count, dot, .. }) => {
                    match dot {
                        Dot::None => *count += 1,
                        Dot::Seen(_) => *dot = Dot::Filled,
                        Dot::Filled => {
                            *dot = Dot::Spoiled;
                            self.builder.discard();
                            let message = "only one datum may follow the dot of a list";
                            self.report(Diagnostic::error("bad-dot", span, message))?;
                        }
                        Dot::Spoiled => self.builder.discard(),
                    }
                    return Ok(false);
                }
            }
        }
    }

    fn dot(&mut self, span: Span) -> Result<(), ReadError<S::Error>> {
        let problem = match self.frames.last_mut() {
            Some(Frame::List { count, dot, .. }) => match dot {
                Dot::None if *count > 0 => {
                    *dot = Dot::Seen(span);
                    return Ok(());
                }
                Dot::None => "a dot needs a datum before it",
                Dot::Filled => {
                    *dot = Dot::Spoiled;
                    "a list has one dot at most"
                }
                Dot::Seen(_) => "a list has one dot at most",
                Dot::Spoiled => return Ok(()),
            },
            _ => "a dot stands only inside a list, before its last datum",
        };
        self.report(Diagnostic::error("bad-dot", span, problem))
    }

    fn close(&mut self, close: char, span: Span) -> Result<Option<Span>, ReadError<S::Error>> {
        // Prefixes that still wait for their datum.
        while let Some(Frame::Quotation { .. } | Frame::Label { .. } | Frame::Comment { .. }) =
            self.frames.last()
        {
            let (what, start) = match self.frames.pop() {
                Some(Frame::Quotation { kind, prefix }) => (kind.prefix().to_owned(), prefix),
                Some(Frame::Label { label, start }) => (format!("#{label}="), start),
                Some(Frame::Comment { start }) => ("#;".to_owned(), start),
                _ => break,
            };
            self.report(Diagnostic::error(
                "missing-datum",
                start,
                format!("`{what}` is followed by no datum"),
            ))?;
        }
        match self.frames.pop() {
            None => {
                let message = format!("unexpected `{close}`: nothing is open here");
                self.report(Diagnostic::error("unexpected-close", span, message))?;
                Ok(None)
            }
            Some(Frame::List {
                open,
                close: expected,
                count,
                dot,
            }) => {
                self.check_close(&open, expected, close, span)?;
                if let (Some(sibling), None) = (open.sibling, &self.suspect) {
                    self.suspect = Some(Suspect {
                        span: open.span,
                        close: expected,
                        sibling,
                    });
                }
                if let Dot::Seen(at) = dot {
                    self.report(Diagnostic::error(
                        "bad-dot",
                        at,
                        "a dot needs a datum behind it",
                    ))?;
                }
                let whole = open.span.to(span);
                self.builder
                    .list(count, matches!(dot, Dot::Filled | Dot::Spoiled), whole);
                Ok(Some(whole))
            }
            Some(Frame::Vector { open, count }) => {
                self.check_close(&open, ')', close, span)?;
                let whole = open.span.to(span);
                self.builder.vector(count, whole);
                Ok(Some(whole))
            }
            Some(Frame::Numbers {
                open,
                element,
                bytes,
            }) => {
                self.check_close(&open, ')', close, span)?;
                let whole = open.span.to(span);
                match element {
                    ElementType::U8 => self.builder.bytevector(&bytes, whole),
                    element => self.builder.numeric_vector(element, &bytes, whole),
                }
                Ok(Some(whole))
            }
            Some(Frame::Quotation { .. } | Frame::Label { .. } | Frame::Comment { .. }) => Ok(None),
        }
    }

    fn check_close(
        &mut self,
        open: &Opening,
        expected: char,
        close: char,
        span: Span,
    ) -> Result<(), ReadError<S::Error>> {
        if expected == close {
            return Ok(());
        }
        let message = format!("`{close}` where `{expected}` was expected");
        self.report(
            Diagnostic::error("mismatched-close", span, message)
                .label(open.span, "this is what it would close"),
        )
    }

    fn opening(&self, span: Span) -> Opening {
        let column = span.start.saturating_sub(self.lexer.state.line_start);
        Opening {
            span,
            line: self.lexer.state.line,
            column,
            outdented: None,
            sibling: None,
        }
    }

    /// Notes for every open list whether this token, the first of its line, stands left enough to
    /// suggest that the list was meant to be closed before it.
    fn note_indentation(&mut self, span: Span, opens: bool) {
        let line = self.lexer.state.line;
        if line == self.last_line || span.start < self.lexer.state.line_start {
            return;
        }
        self.last_line = line;
        let column = span.start - self.lexer.state.line_start;
        for frame in self.frames.iter_mut().rev() {
            if let Frame::List { open, .. }
            | Frame::Vector { open, .. }
            | Frame::Numbers { open, .. } = frame
            {
                if open.line == line {
                    continue;
                }
                if open.column < column {
                    break;
                }
                if opens && open.column == column {
                    open.sibling = open.sibling.or(Some(span));
                }
                if open.outdented.is_some() {
                    break;
                }
                open.outdented = Some(span);
            }
        }
    }

    /// The error for a text that ends while something is open.
    fn unfinished(&mut self, end: Span) -> Diagnostic {
        let mut best: Option<&Opening> = None;
        let mut resume_at = None;
        for frame in &self.frames {
            let (Frame::List { open, .. }
            | Frame::Vector { open, .. }
            | Frame::Numbers { open, .. }) = frame
            else {
                continue;
            };
            // The innermost list that the indentation says was meant to end; else the innermost.
            if open.outdented.is_some() || best.is_none_or(|best| best.outdented.is_none()) {
                best = Some(open);
            }
            if let Some(span) = open.outdented.filter(|_| open.column == 0) {
                resume_at = resume_at.or(Some(span.start));
            }
        }
        self.resume_at = resume_at;
        // One that was closed too late comes before what lacks its bracket for that reason.
        if let Some(suspect) = &self.suspect
            && best.is_none_or(|best| {
                best.span.start < suspect.span.start
                    && best
                        .outdented
                        .is_none_or(|span| suspect.sibling.start < span.start)
            })
        {
            return unclosed(suspect.span, suspect.close, Some(suspect.sibling));
        }
        let Some(open) = best else {
            // Only prefixes are open: the last one lacks its datum.
            let span = match self.frames.last() {
                Some(Frame::Quotation { prefix, .. }) => *prefix,
                Some(Frame::Label { start, .. } | Frame::Comment { start }) => *start,
                _ => end,
            };
            let message = "the text ends where a datum must follow this";
            return Diagnostic::error("missing-datum", span, message).incomplete();
        };
        let closer = self.frames.iter().rev().find_map(|frame| match frame {
            Frame::List {
                open: own, close, ..
            } if own.span == open.span => Some(*close),
            _ => None,
        });
        unclosed(open.span, closer.unwrap_or(')'), open.outdented)
    }
}

/// The error for a list without its closing bracket; the indentation may tell where that was meant to be.
fn unclosed(open: Span, closer: char, outdented: Option<Span>) -> Diagnostic {
    let message = format!("this is not closed: a `{closer}` is missing");
    let diagnostic = Diagnostic::error("unclosed", open, message).incomplete();
    match outdented {
        Some(span) => diagnostic.label(
            span,
            "the indentation suggests that it was meant to end before this",
        ),
        None => diagnostic,
    }
}
