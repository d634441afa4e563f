//! Regular expressions of `regex_automata` over Canny's strings.
//!
//! Places are indexes of characters. A range that is ASCII is searched where it is. Of another range a
//! copy in UTF-8 is made, which the caller keeps for the next search of the same range together with a
//! byte of the copy and the index of the character there, so that counting characters continues where
//! the last search ended.
//!
//! The compiled expressions are the host's; a thread keeps some at hand.

mod expression;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::string_data;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread, string_text};
use regex_automata::PatternID;
use regex_automata::util::captures::Captures;
use regex_syntax::Error as SyntaxError;

use crate::arguments::{Call, implementations};
use crate::host::{keep, kept_in_table, number_of_object, table};
use crate::primitives::ports::{failed, flag, on_text_input, required_port};
use crate::text::{Units, with_units};

pub(crate) use self::expression::Expression;
use self::expression::{Refused, Spans};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%regex-compile" => compile;
    "%regex-groups" => groups;
    "%regex-search" => search;
    "%regex-find-line" => find_line;
};

kept_in_table!(Expression, |expression| Some(expression.memory_bytes()));

fn compile(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pattern = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    match Expression::new(&pattern) {
        Ok(expression) => keep(thread, expression, "regexp"),
        Err(refused) => Ok(thread.string(&message(&pattern, &refused))),
    }
}

/// The error in a pattern, and its place.
fn message(pattern: &str, refused: &Refused) -> String {
    let error = match refused {
        Refused::Syntax(error) => error,
        Refused::TooLarge => return "the regular expression is too large".into(),
    };
    let (what, offset) = match &**error {
        SyntaxError::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        SyntaxError::Translate(error) => (error.kind().to_string(), error.span().start.offset),
        _ => return "the regular expression is too large".into(),
    };
    let index = pattern
        .get(..offset)
        .map_or(0, |before| before.chars().count());
    format!("{what}, at index {index}")
}

/// Expressions that a thread keeps at hand.
const RECENT: usize = 8;

struct Known {
    number: u64,
    regex: Arc<Expression>,
    captures: Captures,
}

thread_local! {
    static KNOWN: RefCell<[Option<Known>; RECENT]> = const { RefCell::new([const { None }; RECENT]) };
}

/// Runs `work` on the expression that argument 0 is. `work` must not come back here.
fn with_regex<R>(
    thread: &mut Thread,
    call: Call,
    work: impl FnOnce(&mut Thread, &Expression, &mut Captures) -> R,
) -> Result<R, Raise> {
    let object = call.object(thread, 0, Kind::External, "regular expression")?;
    let number = number_of_object(object);
    KNOWN.with_borrow_mut(|known| {
        let slot = &mut known[number as usize % RECENT];
        if slot.as_ref().is_none_or(|known| known.number != number) {
            let Some(regex) = table::<Expression>(thread).find(number) else {
                return Err(call.type_error(thread, 0, "regular expression"));
            };
            let captures = regex.regex().create_captures();
            *slot = Some(Known {
                number,
                regex,
                captures,
            });
        }
        match slot {
            Some(known) => Ok(work(thread, &known.regex, &mut known.captures)),
            None => Err(call.type_error(thread, 0, "regular expression")),
        }
    })
}

fn groups(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let names: Vec<Option<String>> = with_regex(thread, call, |_, regex, _| {
        let names = regex.regex().group_info().pattern_names(PatternID::ZERO);
        names.map(|name| name.map(str::to_owned)).collect()
    })?;
    let mut list = Value::NIL;
    for name in names.iter().rev() {
        let name = match name {
            Some(name) => thread.string(name),
            None => Value::FALSE,
        };
        list = thread.cons(name, list);
    }
    Ok(list)
}

/// Searches bytes; a test gives no spans.
fn find(
    regex: &Expression,
    captures: &mut Captures,
    bytes: &[u8],
    start: usize,
    is_test: bool,
) -> Option<Spans> {
    if is_test {
        return regex.is_match(bytes, start).then(Spans::new);
    }
    regex.find(captures, bytes, start)
}

/// A range shorter than this is looked at again each time.
const SHORT: usize = 256;

/// Whether a range of a string is ASCII. `known` is what was found out about it before.
fn is_ascii(string: ObjectRef, range: &Range<usize>, known: Option<Value>) -> bool {
    if string_data(string).is_ascii() {
        return true;
    }
    if range.len() > SHORT
        && let Some(known) = known
    {
        return known == Value::TRUE;
    }
    with_units(string, |units| match units {
        Units::Narrow(bytes) => bytes[range.clone()].is_ascii(),
        Units::Wide(_) => false,
    })
}

/// `(%regex-search regex string start end place state)`. The state is `#f` for a mere test, `()` for a
/// single search, or a vector of three: `#f` at first, then `#t` for a range that is ASCII, or the
/// copy, one of its bytes, and the character there, counted from the start of the range.
fn search(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 1, 2)?;
    let place = call.index_up_to(thread, 4, range.end)?;
    let place = place.max(range.start) - range.start;
    let state = call
        .at(5)
        .as_kind(Kind::Vector)
        .filter(|state| state.length() == 3);
    let is_test = call.at(5) == Value::FALSE;
    let known = state
        .map(|state| state.field(0))
        .filter(|known| known.is_true());
    if is_ascii(string, &range, known) {
        if let Some(state) = state
            && known.is_none()
        {
            thread.store(state.value(), 0, Value::TRUE);
        }
        let spans = with_regex(thread, call, |_, regex, captures| {
            with_units(string, |units| match units {
                Units::Narrow(bytes) => {
                    find(regex, captures, &bytes[range.clone()], place, is_test)
                }
                Units::Wide(_) => None,
            })
        })?;
        return places(thread, spans, is_test, |byte| range.start + byte);
    }
    let Some(state) = state else {
        let text = with_units(string, |units| units.slice(range.clone()).to_text());
        let spans = with_regex(thread, call, |_, regex, captures| {
            let start = byte_of(text.as_bytes(), 0, 0, place);
            find(regex, captures, text.as_bytes(), start, is_test)
        })?;
        return places(thread, spans, is_test, |byte| {
            range.start + count_characters(&text.as_bytes()[..byte])
        });
    };
    search_copy(thread, call, string, range, place, state)
}

/// Searches the copy that the state has or gets.
fn search_copy(
    thread: &mut Thread,
    call: Call,
    string: ObjectRef,
    range: Range<usize>,
    place: usize,
    state: ObjectRef,
) -> Result<Value, Raise> {
    let known = state.field(0).as_kind(Kind::Bytevector);
    let state = thread.protect(state.value());
    let copy = match known {
        Some(copy) => copy,
        None => {
            let text = with_units(string, |units| units.slice(range.clone()).to_text());
            let copy = thread.bytevector(text.as_bytes())?;
            let kept = thread.protected(state);
            thread.store(kept, 0, copy);
            thread.store(kept, 1, Value::ZERO);
            thread.store(kept, 2, Value::ZERO);
            match copy.as_kind(Kind::Bytevector) {
                Some(copy) => copy,
                None => return Ok(Value::FALSE),
            }
        }
    };
    let kept = thread.protected(state);
    let number = |index: usize| {
        let field = kept.as_object().map(|kept| kept.field(index));
        field.and_then(Value::as_index).unwrap_or(0)
    };
    let (mut byte, mut character) = (number(1), number(2));
    if character > place {
        (byte, character) = (0, 0);
    }
    // Places of groups are in no order, but none is before the search began.
    let (spans, start) = with_regex(thread, call, |_, regex, captures| {
        copy.with_bytes(|bytes| {
            let start = byte_of(bytes, byte.min(bytes.len()), character, place);
            (find(regex, captures, bytes, start, false), start)
        })
    })?;
    let (mut last_byte, mut last_character) = (start, place);
    let bytes_between =
        |from: usize, to: usize| copy.with_bytes(|bytes| count_characters(&bytes[from..to]));
    let mut indexes = std::collections::HashMap::new();
    if let Some(spans) = &spans {
        let mut sorted: Vec<usize> = spans
            .iter()
            .flatten()
            .flat_map(|span| [span.start, span.end])
            .collect();
        sorted.sort_unstable();
        for byte in sorted {
            last_character += bytes_between(last_byte.min(byte), byte);
            last_byte = byte;
            indexes.insert(byte, last_character);
        }
        if let Some(Some(whole)) = spans.first() {
            last_byte = whole.end;
            last_character = indexes.get(&whole.end).copied().unwrap_or(place);
        }
    }
    thread.store(kept, 1, Value::fixnum(last_byte as i64));
    thread.store(kept, 2, Value::fixnum(last_character as i64));
    thread.release(state);
    places(thread, spans, false, |byte| {
        range.start + indexes.get(&byte).copied().unwrap_or(0)
    })
}

fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// The byte where a character begins, counted on from one that is known.
fn byte_of(bytes: &[u8], byte: usize, character: usize, wanted: usize) -> usize {
    let mut left = wanted - character;
    for (index, &unit) in bytes[byte..].iter().enumerate() {
        if unit & 0xc0 != 0x80 {
            if left == 0 {
                return byte + index;
            }
            left -= 1;
        }
    }
    bytes.len()
}

/// The vector of the places of a match.
fn places(
    thread: &mut Thread,
    spans: Option<Spans>,
    is_test: bool,
    index_of: impl Fn(usize) -> usize,
) -> Result<Value, Raise> {
    let Some(spans) = spans else {
        return Ok(Value::FALSE);
    };
    if is_test {
        return Ok(Value::TRUE);
    }
    let vector = thread.make_vector(2 * spans.len(), Value::FALSE)?;
    for (group, span) in spans.iter().enumerate() {
        if let Some(span) = span {
            thread.store(
                vector,
                2 * group,
                Value::fixnum(index_of(span.start) as i64),
            );
            thread.store(
                vector,
                2 * group + 1,
                Value::fixnum(index_of(span.end) as i64),
            );
        }
    }
    Ok(vector)
}

/// Lines that are searched before others get their turn.
const LINES: usize = 4096;

/// `(%regex-find-line regex port)`. Lines without a match become no strings.
fn find_line(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    enum Found {
        Line(TextBuilder),
        End,
        NotYet,
    }
    let port = required_port(thread, call, 1, flag::TEXTUAL | flag::INPUT)?;
    let found = with_regex(thread, call, |thread, regex, _| {
        on_text_input(thread, call, port, |source, wait| {
            for _ in 0..LINES {
                let Some(line) = source.text.read_line(wait)? else {
                    return Ok(Found::End);
                };
                if regex.is_match(line.as_str().as_bytes(), 0) {
                    let mut builder = TextBuilder::new();
                    builder.push_str(line.as_str());
                    return Ok(Found::Line(builder));
                }
            }
            Ok(Found::NotYet)
        })
    })??;
    match found {
        Found::Line(line) => line.try_finish(thread),
        Found::End => Ok(Value::EOF),
        Found::NotYet => {
            if thread.safepoint() {
                let error = canny_io::IoError::Interrupted;
                return Err(failed(thread, call.who, None, &error));
            }
            Ok(Value::FALSE)
        }
    }
}
