//! The printer: objects to text, for `write`, `display` and their kin.
//!
//! Printing is a loop over a stack of remaining work, so that no nesting is too deep. Nothing here
//! allocates in the Scheme heap, which is why the stack may hold values: they stay where they are
//! until the caller parks the printer ([`Printer::park`]) in order to write out a piece of text.
//!
//! The contents of hash tables are shown at the prompt only ([`Style::Show`]).
//!
//! Labels are found beforehand by [`labels`]; data that a short look proves finite, nearly all that is
//! ever printed, does without.

mod atoms;
pub(crate) mod labels;
mod pretty;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Protected, Thread, Vm};

use crate::hash_table::Table;
use atoms::Manner;
use labels::{Labels, Visit};

pub(crate) use atoms::{is_plain, print_record_name, quotation_prefix};
pub use pretty::{pretty_shown, pretty_text, pretty_written};

/// The purpose of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// For people: strings and characters as they are. Labels for cycles.
    Display,
    /// For `read`. Labels for cycles.
    Write,
    /// For `read`. Labels for all that occurs more than once.
    WriteShared,
    /// For `read`. No labels; does not end on cycles.
    WriteSimple,
    /// For people, as a result at the prompt: as it is written, with what hash tables hold.
    Show,
}

impl Style {
    /// Whether an object is printed with other objects inside of it.
    #[inline]
    pub(crate) fn has_parts(self, value: Value) -> bool {
        labels::has_parts(value) || self == Style::Show && value.is_kind(Kind::HashTable)
    }

    fn manner(self, elements_max: usize) -> Manner {
        Manner {
            for_people: self == Style::Display,
            elements_max,
            describes: self == Style::Show || elements_max < usize::MAX,
        }
    }
}

/// The work that remains to print a datum.
#[derive(Clone, Copy, Debug)]
enum Work {
    Datum(Value),
    /// The rest of a list after its first element.
    Tail(Value),
    /// The elements of a vector or the like, from the index on top of `Printer::indices`.
    Elements(Value),
    /// So many closing parens.
    Close(usize),
    /// The arrow between a key of a hash table and its value.
    Arrow,
}

/// A piece of text is handed out when it is this long.
const PIECE_BYTES: usize = 64 * 1024;

/// A print in progress.
pub(crate) struct Printer {
    vm: Arc<Vm>,
    style: Style,
    work: Vec<Work>,
    indices: Vec<usize>,
    labels: Labels,
    text: String,
    /// Of what has no parts so many characters or elements are enough.
    elements_max: usize,
}

/// Where the values of a parked printer are.
pub(crate) struct Parked {
    places: Vec<Protected>,
    first: Protected,
}

impl Parked {
    /// The first of the places, to be released if the printer is not unparked.
    pub(crate) fn place(&self) -> Protected {
        self.first
    }
}

/// The written form of an object.
pub fn written(thread: &mut Thread, value: Value) -> String {
    text_of(thread, value, Style::Write)
}

/// The form of an object as a result of the prompt.
pub fn shown(thread: &Thread, value: Value) -> String {
    text_of(thread, value, Style::Show)
}

/// The displayed form of an object.
pub fn displayed(thread: &mut Thread, value: Value) -> String {
    text_of(thread, value, Style::Display)
}

/// The whole text of an object.
pub(crate) fn text_of(thread: &Thread, value: Value, style: Style) -> String {
    let mut printer = Printer::new(thread.vm(), value, style);
    while !printer.print_some() {}
    printer.take_text()
}

/// The text of an object that has no parts, for which there need be no printer.
pub(crate) fn text_of_atom(thread: &Thread, value: Value, style: Style) -> Option<String> {
    if style.has_parts(value) {
        return None;
    }
    let mut text = String::new();
    atoms::print(&mut text, thread.vm(), value, style.manner(usize::MAX));
    Some(text)
}

/// The text of an object, cut off after about so many bytes.
pub(crate) fn brief_text_of(
    thread: &Thread,
    value: Value,
    style: Style,
    bytes_max: usize,
) -> String {
    let mut printer = Printer::new(thread.vm(), value, style);
    // That is more than what is not cut off.
    printer.elements_max = 2 * bytes_max + 1;
    let is_done = printer.print_until(bytes_max);
    let mut text = printer.take_text();
    if !is_done || text.len() > 2 * bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

impl Printer {
    /// Prepares to print an object.
    pub(crate) fn new(vm: &Arc<Vm>, value: Value, style: Style) -> Printer {
        let labels = match style {
            Style::WriteSimple => Labels::default(),
            Style::WriteShared => Labels::of_shared(value),
            Style::Write | Style::Display => Labels::of_cycles(value),
            Style::Show => Labels::of_shown_cycles(value),
        };
        Printer {
            vm: vm.clone(),
            style,
            work: vec![Work::Datum(value)],
            indices: Vec::new(),
            labels,
            text: String::new(),
            elements_max: usize::MAX,
        }
    }

    /// Prints until everything is printed, which is `true`, or there is a good piece of text to be taken.
    pub(crate) fn print_some(&mut self) -> bool {
        // Parking costs time for each entry of the stack; the longer the stack the longer the piece.
        let piece = PIECE_BYTES.max(16 * self.work.len());
        self.print_until(piece)
    }

    fn print_until(&mut self, bytes_max: usize) -> bool {
        while let Some(work) = self.work.pop() {
            match work {
                Work::Datum(value) => self.datum(value),
                Work::Tail(value) => self.tail(value),
                Work::Elements(value) => self.next_element(value),
                Work::Close(count) => self.text.extend(std::iter::repeat_n(')', count)),
                Work::Arrow => self.text.push_str(" => "),
            }
            // Labels are found by address, so with labels there is no parking.
            if self.text.len() >= bytes_max && self.labels.is_empty() && !self.work.is_empty() {
                return false;
            }
        }
        true
    }

    /// The text since this was last called.
    pub(crate) fn take_text(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Hands the values over to the thread, so that a collection may move them.
    pub(crate) fn park(&mut self, thread: &mut Thread) -> Parked {
        let first = thread.protect(Value::FALSE);
        let places = self.work.iter().map(|work| match *work {
            Work::Datum(value) | Work::Tail(value) | Work::Elements(value) => thread.protect(value),
            Work::Close(_) | Work::Arrow => first,
        });
        Parked {
            places: places.collect(),
            first,
        }
    }

    /// Takes the values back.
    pub(crate) fn unpark(&mut self, thread: &mut Thread, parked: Parked) {
        for (work, place) in self.work.iter_mut().zip(parked.places) {
            if let Work::Datum(value) | Work::Tail(value) | Work::Elements(value) = work {
                *value = thread.protected(place);
            }
        }
        thread.release(parked.first);
    }

    fn datum(&mut self, value: Value) {
        if !self.style.has_parts(value) {
            return self.atom(value);
        }
        // Writing to a string does not fail.
        match self.labels.visit(value) {
            Visit::Plain => {}
            Visit::First(label) => {
                let _ = write!(self.text, "#{label}=");
            }
            Visit::Again(label) => {
                let _ = write!(self.text, "#{label}#");
                return;
            }
        }
        if let Some(pair) = value.as_pair() {
            if let Some((prefix, quoted)) = self.quotation(value) {
                self.text.push_str(prefix);
                self.work.push(Work::Datum(quoted));
                return;
            }
            self.text.push('(');
            self.push_tail(pair.cdr());
            self.datum_of_list(pair.car());
            return;
        }
        let Some(object) = value.as_object() else {
            return;
        };
        let start = match object.kind() {
            Kind::Vector => {
                self.text.push_str("#(");
                0
            }
            Kind::Record => {
                self.text.push_str("#<");
                atoms::print_record_name(&mut self.text, object.field(0));
                1
            }
            _ => {
                self.text.push_str("#<");
                self.text.push_str(object.kind().row().name);
                0
            }
        };
        self.indices.push(start);
        self.work.push(Work::Elements(value));
    }

    /// An element of a list: at once if it has no parts.
    fn datum_of_list(&mut self, value: Value) {
        if self.style.has_parts(value) {
            self.work.push(Work::Datum(value));
        } else {
            self.atom(value);
        }
    }

    /// An object without parts.
    fn atom(&mut self, value: Value) {
        let manner = self.style.manner(self.elements_max);
        atoms::print(&mut self.text, &self.vm, value, manner);
    }

    /// Leaves the rest of a list for later. The ends of lists that end together are one entry.
    fn push_tail(&mut self, rest: Value) {
        if !rest.is_nil() {
            self.work.push(Work::Tail(rest));
        } else if let Some(Work::Close(count)) = self.work.last_mut() {
            *count += 1;
        } else {
            self.work.push(Work::Close(1));
        }
    }

    fn tail(&mut self, mut rest: Value) {
        loop {
            if rest.is_nil() {
                self.text.push(')');
                return;
            }
            let Some(pair) = rest.as_pair().filter(|_| !self.labels.has(rest)) else {
                self.text.push_str(" . ");
                self.push_tail(Value::NIL);
                self.work.push(Work::Datum(rest));
                return;
            };
            self.text.push(' ');
            let car = pair.car();
            rest = pair.cdr();
            if self.style.has_parts(car) || self.text.len() >= PIECE_BYTES {
                self.push_tail(rest);
                self.work.push(Work::Datum(car));
                return;
            }
            self.atom(car);
        }
    }

    fn next_element(&mut self, value: Value) {
        let (Some(object), Some(&index)) = (value.as_object(), self.indices.last()) else {
            return;
        };
        if let Some(table) = Table::of(value) {
            return self.next_association(value, table, index);
        }
        if index >= object.length() {
            self.indices.pop();
            self.text.push(if object.kind() == Kind::Vector {
                ')'
            } else {
                '>'
            });
            return;
        }
        match object.kind() {
            Kind::Vector if index == 0 => {}
            Kind::Record => {
                self.text.push(' ');
                atoms::print_field_name(&mut self.text, object.field(0), index - 1);
            }
            _ => self.text.push(' '),
        }
        if let Some(top) = self.indices.last_mut() {
            *top += 1;
        }
        self.work
            .extend([Work::Elements(value), Work::Datum(object.field(index))]);
    }

    /// ` key => value`, or the end of a hash table.
    fn next_association(&mut self, value: Value, table: Table, start: usize) {
        let mut numbers = start..table.used();
        let found = numbers.find_map(|number| Some((number, table.association(number)?)));
        let Some((number, (key, associated))) = found else {
            self.indices.pop();
            self.text.push('>');
            return;
        };
        if let Some(top) = self.indices.last_mut() {
            *top = number + 1;
        }
        self.text.push(' ');
        self.work.extend([
            Work::Elements(value),
            Work::Datum(associated),
            Work::Arrow,
            Work::Datum(key),
        ]);
    }

    /// The prefix and the content of `(quote x)` and its kin.
    fn quotation(&self, value: Value) -> Option<(&'static str, Value)> {
        let pair = value.as_pair()?;
        let rest = pair.cdr().as_pair()?;
        if !rest.cdr().is_nil() || !pair.car().is_kind(Kind::Symbol) || self.labels.has(pair.cdr())
        {
            return None;
        }
        let prefix = atoms::quotation_prefix(pair.car())?;
        // `,@x` must not be printed for (unquote @x).
        let is_ambiguous = prefix == "," && atoms::begins_with_at(rest.car());
        (!is_ambiguous).then_some((prefix, rest.car()))
    }
}
