//! `read`: the parser of `canny_syntax` over a port.
//!
//! Reading has two halves, since a port's lock must not be held across an allocation. Under the lock
//! the parser runs with a [`Recorder`], which notes its calls; afterwards a [`Replay`] makes the
//! objects. Both halves are loops, and the stack of finished data is on the thread's list of protected
//! values, so that nesting is limited by memory alone.
//!
//! A reference to a label whose datum is not finished becomes a box for the time being; boxes occur
//! nowhere else in data, and the boxes are replaced by a walk over the finished datum.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use canny_io::{IoError, Wait};
use canny_number::Number;
use canny_number::elements::ElementType;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::reader::{
    Builder, CharSource, Parser, Quotation, Read, ReadError, Special, ascii_run,
};
use canny_syntax::span::{SourceId, Span};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{ConditionKind, InPlace, PrimitiveFunction, Protected, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::primitives::ports::input::source;
use crate::primitives::ports::quick_data;
use crate::primitives::ports::table::TextSource;
use crate::primitives::ports::{failed, name_of, on_text_input_holding};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "read" => read;
};

fn read(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if let Some(datum) = quick_data::read(InPlace::of(thread), port) {
        return Ok(datum);
    }
    let mut recorder = Recorder::default();
    let outcome = on_text_input_holding(thread, call, port, |thread, source| {
        Ok(record(thread, source, &mut recorder))
    })?;
    match outcome {
        Ok(Read::End) => Ok(Value::EOF),
        Ok(Read::Datum(_)) => Replay::new(thread, &recorder).run(thread, call, port),
        Err(Failure::Port(error)) => Err(failed(thread, call.who, Some(port), &error)),
        Err(Failure::Syntax {
            message,
            line,
            column,
        }) => Err(syntax_condition(thread, call, port, &message, line, column)),
    }
}

/// A condition of kind `read`: its message begins with the port's name, line and column.
fn syntax_condition(
    thread: &mut Thread,
    call: Call,
    port: Value,
    message: &str,
    line: u64,
    column: u64,
) -> Raise {
    let name = string_text(name_of(thread, port)).unwrap_or_default();
    let message = format!("{name}:{line}:{column}: {message}");
    thread.raise(ConditionKind::Read, &message, &[], Some(call.who))
}

enum Failure {
    Port(IoError),
    Syntax {
        message: String,
        line: u64,
        column: u64,
    },
}

/// Parses the next datum. The port is locked; nothing is allocated.
fn record(
    thread: &mut Thread,
    source: &mut TextSource,
    recorder: &mut Recorder,
) -> Result<Read, Failure> {
    let start = source.text.location();
    source.text.hold();
    let mut parser = Parser::new(SourceId::NONE);
    parser.set_fold_case(source.folds_case);
    let mut characters = PortCharacters {
        thread,
        source,
        offset: 0,
        line_starts: Vec::new(),
        after_return: false,
    };
    let outcome = parser.read(&mut characters, recorder);
    let line_starts = characters.line_starts;
    if matches!(outcome, Err(ReadError::Source(IoError::Unserved(_)))) {
        // The whole datum is read again when there is more.
        source.text.give_back();
    } else {
        source.text.let_go();
        source.folds_case = parser.fold_case();
    }
    outcome.map_err(|error| match error {
        ReadError::Source(error) => Failure::Port(error),
        ReadError::Syntax(diagnostic) => {
            let Diagnostic { message, span, .. } = *diagnostic;
            let lines_before = line_starts.partition_point(|line_start| *line_start <= span.start);
            let column = match lines_before.checked_sub(1) {
                Some(line) => u64::from(span.start - line_starts[line]) + 1,
                None => start.column + u64::from(span.start),
            };
            Failure::Syntax {
                message,
                line: start.line + lines_before as u64,
                column,
            }
        }
    })
}

/// The characters of a port. Offsets count characters from where the datum began.
struct PortCharacters<'a> {
    thread: &'a mut Thread,
    source: &'a mut TextSource,
    offset: u32,
    line_starts: Vec<u32>,
    after_return: bool,
}

impl PortCharacters<'_> {
    /// The source would block: waits for it outside of the heap.
    #[cold]
    fn wait_and(
        &mut self,
        operation: fn(&mut TextSource, Wait<'_>) -> Result<Option<char>, IoError>,
    ) -> Result<Option<char>, IoError> {
        let interrupts = self.thread.interrupts();
        let source = &mut *self.source;
        self.thread
            .outside_heap(|| operation(source, Wait::Interruptible(interrupts.interrupt_waiting())))
    }
}

impl CharSource for PortCharacters<'_> {
    type Error = IoError;

    #[inline]
    fn peek(&mut self) -> Result<Option<char>, IoError> {
        if let Some(character) = self.source.text.peek_ascii() {
            return Ok(Some(character));
        }
        self.peek_slowly()
    }

    #[inline]
    fn next(&mut self) -> Result<Option<char>, IoError> {
        if let Some(character) = self.source.text.read_ascii() {
            self.count(character);
            return Ok(Some(character));
        }
        self.next_slowly()
    }

    #[inline]
    fn take_run(&mut self, in_run: impl Fn(u8) -> bool) -> &str {
        let decoded = &mut self.source.text;
        let run = decoded.take_decoded(|text| ascii_run(text, in_run));
        if !run.is_empty() {
            self.after_return = false;
            let length = u32::try_from(run.len()).unwrap_or(u32::MAX);
            self.offset = self.offset.saturating_add(length);
        }
        run
    }

    fn offset(&self) -> u32 {
        self.offset
    }
}

impl PortCharacters<'_> {
    #[inline(never)]
    fn peek_slowly(&mut self) -> Result<Option<char>, IoError> {
        match self.source.text.peek_char(Wait::NonBlocking) {
            Err(IoError::WouldBlock) => self.wait_and(|source, wait| source.text.peek_char(wait)),
            outcome => outcome,
        }
    }

    #[inline(never)]
    fn next_slowly(&mut self) -> Result<Option<char>, IoError> {
        let outcome = match self.source.text.read_char(Wait::NonBlocking) {
            Err(IoError::WouldBlock) => self.wait_and(|source, wait| source.text.read_char(wait)),
            outcome => outcome,
        };
        if let Ok(Some(character)) = outcome {
            self.count(character);
        }
        outcome
    }

    /// Notes that a character was taken.
    #[inline]
    fn count(&mut self, character: char) {
        // CR LF is one end of a line, which begins the next line behind the LF.
        if self.after_return && character == '\n' {
            self.line_starts.pop();
        }
        self.offset = self.offset.saturating_add(1);
        if matches!(character, '\n' | '\r') {
            self.line_starts.push(self.offset);
        }
        self.after_return = character == '\r';
    }
}

/// An event that the parser reported.
enum Event {
    Boolean(bool),
    Number(Number),
    Character(char),
    /// The text of these three is the next `usize` bytes of the recorder's text.
    String(usize),
    Symbol(usize),
    Keyword(usize),
    Special(Special),
    /// The next bytes of the recorder's bytes.
    Bytevector(usize),
    /// Likewise.
    NumericVector(ElementType, usize),
    List {
        count: usize,
        dotted: bool,
    },
    Vector(usize),
    Quotation(Quotation),
    Discard,
    FinishLabel(u64),
    LabelReference {
        label: u64,
        finished: bool,
    },
}

/// A builder that only takes notes.
#[derive(Default)]
struct Recorder {
    events: Vec<Event>,
    text: String,
    bytes: Vec<u8>,
    height: usize,
}

impl Recorder {
    fn push(&mut self, event: Event) {
        self.events.push(event);
        self.height += 1;
    }
}

impl Builder for Recorder {
    fn boolean(&mut self, value: bool, _span: Span) {
        self.push(Event::Boolean(value));
    }

    fn number(&mut self, value: Number, _span: Span) {
        self.push(Event::Number(value));
    }

    fn character(&mut self, value: char, _span: Span) {
        self.push(Event::Character(value));
    }

    fn string(&mut self, text: &str, _span: Span) {
        self.text.push_str(text);
        self.push(Event::String(text.len()));
    }

    fn symbol(&mut self, text: &str, _span: Span) {
        self.text.push_str(text);
        self.push(Event::Symbol(text.len()));
    }

    fn keyword(&mut self, text: &str, _span: Span) {
        self.text.push_str(text);
        self.push(Event::Keyword(text.len()));
    }

    fn special(&mut self, value: Special, _span: Span) {
        self.push(Event::Special(value));
    }

    fn bytevector(&mut self, bytes: &[u8], _span: Span) {
        self.bytes.extend_from_slice(bytes);
        self.push(Event::Bytevector(bytes.len()));
    }

    fn numeric_vector(&mut self, element: ElementType, bytes: &[u8], _span: Span) {
        self.bytes.extend_from_slice(bytes);
        self.push(Event::NumericVector(element, bytes.len()));
    }

    fn list(&mut self, count: usize, dotted: bool, _span: Span) {
        self.height -= count + usize::from(dotted);
        self.push(Event::List { count, dotted });
    }

    fn vector(&mut self, count: usize, _span: Span) {
        self.height -= count;
        self.push(Event::Vector(count));
    }

    fn quotation(&mut self, kind: Quotation, _prefix: Span, _span: Span) {
        self.events.push(Event::Quotation(kind));
    }

    fn discard(&mut self) {
        self.events.push(Event::Discard);
        self.height -= 1;
    }

    fn begin_label(&mut self, _label: u64) {}

    fn finish_label(&mut self, label: u64, _span: Span) {
        self.events.push(Event::FinishLabel(label));
    }

    fn label_reference(&mut self, label: u64, finished: bool, _span: Span) {
        self.push(Event::LabelReference { label, finished });
    }

    fn mark(&self) -> usize {
        self.height
    }

    /// Only called after an error, when nothing that was noted counts any more.
    fn reset(&mut self, mark: usize) {
        self.events.clear();
        self.text.clear();
        self.bytes.clear();
        self.height = mark;
    }
}

/// Makes the objects that a recorder noted.
struct Replay<'a> {
    recorder: &'a Recorder,
    /// Below everything else, to be released at the end.
    base: Protected,
    /// The stack of finished data.
    stack: Vec<Protected>,
    /// For each label its box, and from the end of its datum on the datum.
    labels: HashMap<u64, Protected>,
    has_boxes: bool,
    text_position: usize,
    byte_position: usize,
}

impl<'a> Replay<'a> {
    fn new(thread: &mut Thread, recorder: &'a Recorder) -> Replay<'a> {
        let base = thread.protect(Value::NIL);
        let mut labels = HashMap::new();
        let mut has_boxes = false;
        for event in &recorder.events {
            if let Event::LabelReference { label, finished } = event {
                has_boxes |= !finished;
                labels.entry(*label).or_insert_with(|| {
                    let placeholder = thread.make_box(Value::FALSE);
                    thread.protect(placeholder)
                });
            }
        }
        let (stack, text_position, byte_position) = (Vec::new(), 0, 0);
        Replay {
            recorder,
            base,
            stack,
            labels,
            has_boxes,
            text_position,
            byte_position,
        }
    }

    fn run(mut self, thread: &mut Thread, call: Call, port: Value) -> Result<Value, Raise> {
        let result = self.replay(thread).map(|()| self.stack.pop());
        let value = match result {
            Ok(Some(place)) => Ok(thread.protected(place)),
            Ok(None) => Ok(Value::EOF),
            Err(raise) => Err(raise),
        };
        thread.release(self.base);
        let value = value?;
        if self.has_boxes && !replace_boxes(thread, value) {
            let message = "a label names nothing but itself";
            return Err(syntax_condition(thread, call, port, message, 1, 1));
        }
        Ok(value)
    }

    fn push(&mut self, thread: &mut Thread, value: Value) {
        self.stack.push(thread.protect(value));
    }

    /// Drops the topmost data from `place` on.
    fn drop_from(&mut self, thread: &mut Thread, place: Protected, count: usize) {
        thread.release(place);
        self.stack.truncate(self.stack.len() - count);
    }

    fn next_text(&mut self, length: usize) -> &'a str {
        let start = self.text_position;
        self.text_position += length;
        &self.recorder.text[start..self.text_position]
    }

    fn replay(&mut self, thread: &mut Thread) -> Result<(), Raise> {
        let recorder = self.recorder;
        for event in &recorder.events {
            let value = match *event {
                Event::Boolean(value) => Value::boolean(value),
                Event::Number(ref number) => thread.number(number)?,
                Event::Character(character) => Value::character(character),
                Event::String(length) => string(thread, self.next_text(length))?,
                Event::Symbol(length) => thread.symbol(self.next_text(length)),
                Event::Keyword(length) => thread.keyword(self.next_text(length)),
                Event::Special(Special::Eof) => Value::EOF,
                Event::Special(Special::Unspecified) => Value::UNSPECIFIED,
                Event::Special(Special::DefaultObject) => Value::DEFAULT,
                Event::Bytevector(length) => {
                    let start = self.byte_position;
                    self.byte_position += length;
                    thread.bytevector(&recorder.bytes[start..self.byte_position])?
                }
                Event::NumericVector(element, length) => {
                    let start = self.byte_position;
                    self.byte_position += length;
                    let vector = thread.numeric_vector(element, 0, length)?;
                    if let Some(vector) = vector.as_object() {
                        vector.copy_bytes_in(0, &recorder.bytes[start..self.byte_position]);
                    }
                    vector
                }
                Event::List { count, dotted } => self.list(thread, count, dotted),
                Event::Vector(count) => self.vector(thread, count)?,
                Event::Quotation(kind) => self.quotation(thread, kind),
                Event::Discard => {
                    if let Some(place) = self.stack.pop() {
                        thread.release(place);
                    }
                    continue;
                }
                Event::FinishLabel(label) => {
                    self.finish_label(thread, label);
                    continue;
                }
                Event::LabelReference { label, .. } => self
                    .labels
                    .get(&label)
                    .map_or(Value::FALSE, |place| thread.protected(*place)),
            };
            self.push(thread, value);
        }
        Ok(())
    }

    fn list(&mut self, thread: &mut Thread, count: usize, dotted: bool) -> Value {
        let mut tail = Value::NIL;
        if dotted && let Some(place) = self.stack.pop() {
            tail = thread.protected(place);
            thread.release(place);
        }
        if count == 0 {
            return tail;
        }
        let first = self.stack[self.stack.len() - count];
        let list = thread.list_of_protected(first, tail);
        self.drop_from(thread, first, count);
        list
    }

    fn vector(&mut self, thread: &mut Thread, count: usize) -> Result<Value, Raise> {
        let vector = thread.make_vector(count, Value::FALSE)?;
        let first = self.stack.len() - count;
        for index in 0..count {
            let element = thread.protected(self.stack[first + index]);
            thread.store(vector, index, element);
        }
        if let Some(&place) = self.stack.get(first) {
            self.drop_from(thread, place, count);
        }
        Ok(vector)
    }

    fn quotation(&mut self, thread: &mut Thread, kind: Quotation) -> Value {
        let Some(place) = self.stack.pop() else {
            return Value::NIL;
        };
        let symbol = thread.symbol(kind.symbol());
        let rest = thread.cons(thread.protected(place), Value::NIL);
        let list = thread.cons(symbol, rest);
        thread.release(place);
        list
    }

    /// The datum on top of the stack is the label's: references made so far find it through the box.
    fn finish_label(&mut self, thread: &mut Thread, label: u64) {
        let (Some(&slot), Some(&top)) = (self.labels.get(&label), self.stack.last()) else {
            return;
        };
        let datum = thread.protected(top);
        let placeholder = thread.protected(slot);
        thread.store(placeholder, 0, datum);
        thread.set_protected(slot, datum);
    }
}

fn string(thread: &mut Thread, text: &str) -> Result<Value, Raise> {
    let mut builder = canny_vm::TextBuilder::new();
    builder.push_str(text);
    builder.try_finish(thread)
}

/// The datum that a box leads to; `None` when it leads back to itself.
fn resolve(placeholder: Value) -> Option<Value> {
    // A chain of labels on one datum is as long as the chain of its boxes.
    let mut seen = HashSet::new();
    let mut value = placeholder;
    while let Some(object) = value.as_kind(Kind::Box) {
        if !seen.insert(value.bits()) {
            return None;
        }
        value = object.field(0);
    }
    Some(value)
}

/// Replaces every box in a datum by what it leads to. Nothing is allocated meanwhile, so that the
/// values on the stack of the walk stay good. `false` when a box leads to nothing.
fn replace_boxes(thread: &mut Thread, root: Value) -> bool {
    if root.is_kind(Kind::Box) {
        return false;
    }
    let mut visited = HashSet::new();
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        if !(value.is_pair() || value.is_kind(Kind::Vector)) || !visited.insert(value.bits()) {
            continue;
        }
        let parts = match (value.as_pair(), value.as_kind(Kind::Vector)) {
            (Some(_), _) => 2,
            (None, Some(vector)) => vector.length(),
            (None, None) => 0,
        };
        for index in 0..parts {
            let part = match (value.as_pair(), value.as_object()) {
                (Some(pair), _) if index == 0 => pair.car(),
                (Some(pair), _) => pair.cdr(),
                (None, Some(object)) => object.field(index),
                (None, None) => Value::NIL,
            };
            if !part.is_kind(Kind::Box) {
                pending.push(part);
                continue;
            }
            let Some(target) = resolve(part) else {
                return false;
            };
            match (value.is_pair(), index) {
                (true, 0) => thread.set_car(value, target),
                (true, _) => thread.set_cdr(value, target),
                (false, _) => thread.store(value, index, target),
            }
        }
    }
    true
}
