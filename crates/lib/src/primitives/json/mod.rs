//! JSON: objects out of what the reader of `canny_formats` notes, and the other way round in [`write`].
//!
//! A tape is filled under the port's lock, or while a string's characters are borrowed, and emptied
//! without either, since objects are made then. The stack of finished values is on the thread's list of
//! protected values.

mod write;

use canny_formats::json::{Decimals, Event, Fault, Progress, Reader};
use canny_io::Location;
use canny_locks::Mutex;
use canny_number::parse_number;
use canny_tables::kinds::Kind;
use canny_tables::protocols::JsonObjects as Objects;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Protected, Raise, TextBuilder, Thread};

use crate::arguments::{Call, implementations};
use crate::hash_table::{Equivalence, Table, Weakness};
use crate::host::{find, keep, kept_in_table};
use crate::misplaced::raise_misplaced;
use crate::primitives::ports::{flag, on_text_input, required_port};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%json-read" => read;
    "%string->json" => read_string;
    "%make-json-reader" => make_reader;
    "%json-events" => events;
    "%json-write" => write::write;
    "%json->string" => write::to_string;
};

/// The Scheme forms of JSON values.
struct Shapes {
    objects: Objects,
    null: Protected,
}

/// Arguments 1 to 4: how objects are made, what `null` is, whether decimals are exact, the greatest depth.
fn settings(thread: &mut Thread, call: Call) -> Result<(Shapes, Reader), Raise> {
    let objects = call.case(thread, 1)?;
    let reader = reader_of(thread, call, 3)?;
    let null = thread.protect(call.at(2));
    Ok((Shapes { objects, null }, reader))
}

/// A reader as two arguments from `position` on describe it.
fn reader_of(thread: &mut Thread, call: Call, position: usize) -> Result<Reader, Raise> {
    let decimals = if call.at(position).is_true() {
        Decimals::Text
    } else {
        Decimals::Flonum
    };
    let depth_max = match call.at(position + 1) {
        Value::FALSE => usize::MAX,
        _ => call.index(thread, position + 1)?,
    };
    Ok(Reader::new(decimals, depth_max))
}

/// A fault and where it is.
struct Misplaced {
    fault: Fault,
    location: Location,
}

/// Feeds the reader what the port has decoded, waiting until there is something.
fn feed_from_port(
    thread: &mut Thread,
    call: Call,
    port: Value,
    reader: &mut Reader,
) -> Result<Result<Progress, Misplaced>, Raise> {
    on_text_input(thread, call, port, |source, wait| {
        let is_last = source.text.peek_char(wait)?.is_none();
        let mut progress = Progress::NeedsMore;
        source.text.take_decoded(|text| {
            let (used, reached) = reader.feed(text, is_last);
            progress = reached;
            used
        });
        if let Progress::Fault { fault, behind } = progress {
            let mut location = source.text.location();
            location.column = location.column.saturating_sub(behind as u64).max(1);
            location.byte_offset = location.byte_offset.saturating_sub(behind as u64);
            return Ok(Err(Misplaced { fault, location }));
        }
        Ok(Ok(progress))
    })
}

/// The condition: what was read is not JSON. The irritants say where.
fn misplaced(thread: &mut Thread, call: Call, misplaced: &Misplaced) -> Raise {
    let Misplaced { fault, location } = misplaced;
    raise_misplaced(thread, call, "json", &fault.message(), location)
}

fn read(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL | flag::INPUT)?;
    let base = thread.protect(Value::NIL);
    let outcome = read_from_port(thread, call, port);
    thread.release(base);
    outcome
}

fn read_from_port(thread: &mut Thread, call: Call, port: Value) -> Result<Value, Raise> {
    let (shapes, mut reader) = settings(thread, call)?;
    let mut replay = Replay::new(thread, shapes)?;
    loop {
        let progress = match feed_from_port(thread, call, port, &mut reader)? {
            Ok(progress) => progress,
            Err(wrong) => return Err(misplaced(thread, call, &wrong)),
        };
        if progress != Progress::NeedsMore || reader.tape.events.len() > 1 << 10 {
            replay.run(thread, call, &reader)?;
            reader.empty_tape();
        }
        match progress {
            Progress::Done => return Ok(replay.finish(thread)),
            Progress::End => return Ok(Value::EOF),
            _ => {}
        }
    }
}

/// The only value in a string.
fn read_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let base = thread.protect(Value::NIL);
    // A copy is read: another thread may change the string meanwhile.
    let text = with_units(string, |units| units.to_text());
    let outcome = read_from_string(thread, call, &text);
    thread.release(base);
    outcome
}

fn read_from_string(thread: &mut Thread, call: Call, text: &str) -> Result<Value, Raise> {
    let (shapes, mut reader) = settings(thread, call)?;
    let mut replay = Replay::new(thread, shapes)?;
    let mut start = 0;
    loop {
        let mut feed = || {
            let start_before = start.min(text.len());
            let (used, progress) = reader.feed(&text[start_before..], true);
            start = start_before + used;
            let (fault, behind) = match progress {
                Progress::Fault { fault, behind } => (fault, behind),
                Progress::End => (Fault::EndOfText, 0),
                Progress::Done => {
                    let rest = text[start..].trim_start_matches([' ', '\n', '\r', '\t']);
                    let Some(character) = rest.chars().next() else {
                        return Ok(true);
                    };
                    start = text.len() - rest.len();
                    (Fault::Unexpected(character), 0)
                }
                _ => return Ok(false),
            };
            let before = &text[..start.saturating_sub(behind)];
            let line_start = before.rfind('\n').map_or(0, |index| index + 1);
            let location = Location {
                line: before.matches('\n').count() as u64 + 1,
                column: before[line_start..].chars().count() as u64 + 1,
                byte_offset: before.chars().count() as u64,
            };
            Err(Misplaced { fault, location })
        };
        let is_done = match feed() {
            Ok(is_done) => is_done,
            Err(wrong) => return Err(misplaced(thread, call, &wrong)),
        };
        replay.run(thread, call, &reader)?;
        reader.empty_tape();
        if is_done {
            return Ok(replay.finish(thread));
        }
    }
}

/// A reader whose events are given out one after the other. It is taken out while it is used.
pub(crate) struct EventReader(Mutex<Option<Box<Reader>>>);

kept_in_table!(EventReader);

fn make_reader(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut reader = reader_of(thread, call, 0)?;
    reader.notes_starts = true;
    let reader = EventReader(Mutex::new(Some(Box::new(reader))));
    keep(thread, reader, "json-reader")
}

/// The next events in a list; none at the end of the value or of the text.
fn events(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.object(thread, 0, Kind::External, "reader of JSON")?;
    let port = required_port(thread, call, 1, flag::TEXTUAL | flag::INPUT)?;
    let slot = find::<EventReader>(thread, call.at(0));
    let exchange = |slot: &EventReader, reader: Option<Box<Reader>>| {
        let mut slot = slot.0.lock();
        std::mem::replace(&mut *slot, reader)
    };
    let taken = slot.as_ref().and_then(|slot| exchange(slot, None));
    let (Some(slot), Some(mut reader)) = (slot, taken) else {
        return Err(call.type_error(thread, 0, "reader of JSON that nobody else uses"));
    };
    let outcome = next_events(thread, call, port, &mut reader);
    reader.empty_tape();
    exchange(&slot, Some(reader));
    outcome
}

fn next_events(
    thread: &mut Thread,
    call: Call,
    port: Value,
    reader: &mut Reader,
) -> Result<Value, Raise> {
    if reader.is_done() {
        return Ok(Value::NIL);
    }
    loop {
        let fed = feed_from_port(thread, call, port, reader)?;
        if reader.tape.events.is_empty() {
            match fed {
                Ok(Progress::Done | Progress::End) => return Ok(Value::NIL),
                Ok(_) => continue,
                Err(wrong) => return Err(misplaced(thread, call, &wrong)),
            }
        }
        let base = thread.protect(Value::NIL);
        let outcome = event_list(thread, call, reader);
        thread.release(base);
        return outcome;
    }
}

/// The events of a tape: symbols for the ends of structures, scalars as such.
fn event_list(thread: &mut Thread, call: Call, reader: &Reader) -> Result<Value, Raise> {
    let first = thread.protect(Value::NIL);
    let mut is_first = true;
    let mut at = 0;
    for &event in &reader.tape.events {
        let value = match event {
            Event::Array(_) => thread.symbol("array-end"),
            Event::Object(_) => thread.symbol("object-end"),
            Event::Start { is_object: false } => thread.symbol("array-start"),
            Event::Start { is_object: true } => thread.symbol("object-start"),
            Event::Null => thread.symbol("null"),
            event => scalar(thread, call, event, &reader.tape.text, &mut at)?,
        };
        if is_first {
            thread.set_protected(first, value);
            is_first = false;
        } else {
            thread.protect(value);
        }
    }
    Ok(thread.list_of_protected(first, Value::NIL))
}

/// A string object of UTF-8.
fn string_of(thread: &mut Thread, text: &[u8]) -> Result<Value, Raise> {
    if text.is_ascii() {
        return thread.string_from_latin1(text);
    }
    let mut builder = TextBuilder::new();
    // The reader copied whole characters and wrote others of its own.
    builder.push_str(std::str::from_utf8(text).unwrap_or_default());
    builder.try_finish(thread)
}

/// The object for what is neither a structure nor `null`.
fn scalar(
    thread: &mut Thread,
    call: Call,
    event: Event,
    text: &[u8],
    at: &mut usize,
) -> Result<Value, Raise> {
    let mut next = |length: usize| {
        *at += length;
        &text[*at - length..*at]
    };
    match event {
        Event::True => Ok(Value::TRUE),
        Event::False => Ok(Value::FALSE),
        Event::Integer(integer) => Ok(Value::fixnum(integer)),
        Event::Flonum(flonum) => Ok(thread.flonum(flonum)),
        Event::String(length) | Event::Key(length) => string_of(thread, next(length)),
        Event::Number(length) => {
            let digits = std::str::from_utf8(next(length)).unwrap_or_default();
            match parse_number(&format!("#e{digits}"), 10) {
                Ok(Some(number)) => thread.number(&number),
                _ => {
                    let kind = canny_vm::ConditionKind::Range;
                    let message = "a number is too large to be exact";
                    let brief = &digits[..digits.len().min(40)];
                    let digits = thread.string(brief);
                    Err(thread.raise(kind, message, &[digits], Some(call.who)))
                }
            }
        }
        Event::Null | Event::Array(_) | Event::Object(_) | Event::Start { .. } => Ok(Value::NIL),
    }
}

/// Keys that are kept at hand, since they come again and again.
const KEYS: usize = 256;

/// Makes the objects that a tape tells of.
struct Replay {
    shapes: Shapes,
    /// A vector of the objects for the keys in `names`.
    keys: Protected,
    names: Vec<Box<[u8]>>,
    /// The stack of finished values.
    stack: Vec<Protected>,
}

impl Replay {
    fn new(thread: &mut Thread, shapes: Shapes) -> Result<Replay, Raise> {
        let keys = thread.make_vector(KEYS, Value::FALSE)?;
        let keys = thread.protect(keys);
        Ok(Replay {
            shapes,
            keys,
            names: vec![Box::default(); KEYS],
            stack: Vec::new(),
        })
    }

    fn finish(mut self, thread: &mut Thread) -> Value {
        match self.stack.pop() {
            Some(place) => thread.protected(place),
            None => Value::EOF,
        }
    }

    fn run(&mut self, thread: &mut Thread, call: Call, reader: &Reader) -> Result<(), Raise> {
        let text = &reader.tape.text;
        let mut at = 0;
        for &event in &reader.tape.events {
            let value = match event {
                Event::Null => thread.protected(self.shapes.null),
                Event::Array(count) => self.array(thread, count)?,
                Event::Object(count) => match self.shapes.objects {
                    Objects::Tables => self.table(thread, count)?,
                    _ => self.association_list(thread, count)?,
                },
                Event::Key(length) => {
                    at += length;
                    self.key(thread, &text[at - length..at])
                }
                event => scalar(thread, call, event, text, &mut at)?,
            };
            self.stack.push(thread.protect(value));
        }
        Ok(())
    }

    /// The symbol or string for a key.
    fn key(&mut self, thread: &mut Thread, name: &[u8]) -> Value {
        let hash = name.iter().fold(name.len() as u32, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let slot = (hash ^ hash >> 16) as usize % KEYS;
        let keys = thread.protected(self.keys);
        if *self.names[slot] == *name
            && let Some(known) = keys.as_object().map(|keys| keys.field(slot))
            && known.is_true()
        {
            return known;
        }
        let text = std::str::from_utf8(name).unwrap_or_default();
        let key = match self.shapes.objects {
            Objects::Symbols => thread.symbol(text),
            Objects::Strings | Objects::Tables => thread.literal_string(text),
        };
        const NAME_BYTES_MAX: usize = 64;
        if name.len() <= NAME_BYTES_MAX {
            self.names[slot] = name.into();
            let keys = thread.protected(self.keys);
            thread.store(keys, slot, key);
        }
        key
    }

    /// Drops the topmost values.
    fn drop_top(&mut self, thread: &mut Thread, count: usize) {
        let first = self.stack.len() - count;
        if let Some(&place) = self.stack.get(first) {
            thread.release(place);
        }
        self.stack.truncate(first);
    }

    fn array(&mut self, thread: &mut Thread, count: usize) -> Result<Value, Raise> {
        let vector = thread.make_vector(count, Value::FALSE)?;
        let first = self.stack.len() - count;
        for index in 0..count {
            let element = thread.protected(self.stack[first + index]);
            thread.store(vector, index, element);
        }
        self.drop_top(thread, count);
        Ok(vector)
    }

    fn association_list(&mut self, thread: &mut Thread, count: usize) -> Result<Value, Raise> {
        let mut list = Value::NIL;
        for _ in 0..count {
            let top = self.stack.len();
            let (key, value) = (self.stack[top - 2], self.stack[top - 1]);
            let pair = thread.try_cons(thread.protected(key), thread.protected(value))?;
            list = thread.try_cons(pair, list)?;
            self.drop_top(thread, 2);
        }
        Ok(list)
    }

    fn table(&mut self, thread: &mut Thread, count: usize) -> Result<Value, Raise> {
        let table = Table::make(thread, Equivalence::Equal, Weakness::None, count)?;
        let table = thread.protect(table);
        let first = self.stack.len() - 2 * count;
        for index in 0..count {
            let key = thread.protected(self.stack[first + 2 * index]);
            let value = thread.protected(self.stack[first + 2 * index + 1]);
            if let Some(table) = Table::of(thread.protected(table)) {
                table.set(thread, key, value)?;
            }
        }
        let value = thread.protected(table);
        thread.release(table);
        self.drop_top(thread, 2 * count);
        Ok(value)
    }
}
