//! Operations of primitives on the world outside, in recordings: the values that they gave, or the
//! conditions that they raised.
//!
//! Files, ports and sockets ask the system by way of [`canny_replay`] themselves. Here are primitives
//! whose whole answer is plain data: numbers, texts, lists of those. When a program is replayed they
//! do nothing and give what they gave.

use canny_replay::{Answer, Kind, Mode, Reading};
use canny_tables::kinds::Kind as ObjectKind;
use canny_value::Value;
use canny_vm::condition::field;
use canny_vm::symbols::symbol_name;
use canny_vm::{Raise, Thread, string_text};

use crate::arguments::Call;

/// Rows of a topic that ask the system for plain data: like `implementations`, and recorded.
macro_rules! recorded_implementations {
    ($($name:literal => $function:expr;)*) => {
        $crate::arguments::implementations! {
            $($name => |thread, call| {
                if canny_replay::mode() == canny_replay::Mode::Live {
                    return $crate::arguments::run(thread, call, $function);
                }
                $crate::outside::kept(thread, call, |thread, call| {
                    $crate::arguments::run(thread, call, $function)
                })
            };)*
        }
    };
}
pub(crate) use recorded_implementations;

/// Words that are the same in each run.
const CONSTANTS: &[Value] = &[
    Value::FALSE,
    Value::TRUE,
    Value::NIL,
    Value::EOF,
    Value::UNSPECIFIED,
];

/// Plain data.
#[derive(Clone, Debug, PartialEq)]
enum Datum {
    /// One of the constants.
    Constant(u8),
    Fixnum(i64),
    Flonum(f64),
    Character(u32),
    String(String),
    Symbol(String),
    Bytes(Vec<u8>),
    /// Elements, and what is behind the last one.
    List(Vec<Datum>, Box<Datum>),
    /// Something that a recording cannot keep.
    Other,
}

/// The end of a call: a value, or the parts of a condition.
type Outcome = Result<Datum, [Datum; 4]>;

impl Datum {
    fn of(value: Value) -> Datum {
        if let Some(text) = string_text(value) {
            return Datum::String(text);
        }
        if value.as_pair().is_some() {
            let mut elements = Vec::new();
            let mut rest = value;
            while let Some(pair) = rest.as_pair() {
                elements.push(Datum::of(pair.car()));
                rest = pair.cdr();
            }
            return Datum::List(elements, Box::new(Datum::of(rest)));
        }
        if let Some(constant) = CONSTANTS.iter().position(|constant| *constant == value) {
            return Datum::Constant(constant as u8);
        }
        if let Some(number) = value.as_fixnum() {
            return Datum::Fixnum(number);
        }
        if let Some(number) = value.as_flonum() {
            return Datum::Flonum(number);
        }
        if let Some(character) = value.as_character() {
            return Datum::Character(character.into());
        }
        if let Some(name) = value
            .is_kind(ObjectKind::Symbol)
            .then(|| symbol_name(value))
            .flatten()
        {
            return Datum::Symbol(name);
        }
        if let Some(bytes) = value.as_kind(ObjectKind::Bytevector) {
            return Datum::Bytes(bytes.with_bytes(<[u8]>::to_vec));
        }
        Datum::Other
    }

    /// The value, made anew; nothing for what a recording cannot keep.
    fn value(&self, thread: &mut Thread) -> Option<Value> {
        Some(match self {
            Datum::Constant(constant) => *CONSTANTS.get(usize::from(*constant))?,
            Datum::Fixnum(number) => Value::try_fixnum(*number)?,
            Datum::Flonum(number) => thread.flonum(*number),
            Datum::Character(character) => Value::character(char::from_u32(*character)?),
            Datum::String(text) => thread.string(text),
            Datum::Symbol(name) => thread.symbol(name),
            Datum::Bytes(bytes) => thread.bytevector(bytes).ok()?,
            Datum::List(elements, rest) => {
                let mut list = rest.value(thread)?;
                for element in elements.iter().rev() {
                    let element = element.value(thread)?;
                    list = thread.cons(element, list);
                }
                list
            }
            Datum::Other => return None,
        })
    }
}

impl Answer for Datum {
    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Datum::Other => 0u8.write(bytes),
            Datum::Constant(constant) => (1u8, *constant).write(bytes),
            Datum::Fixnum(number) => (2u8, *number).write(bytes),
            Datum::Flonum(number) => (3u8, *number).write(bytes),
            Datum::Character(character) => (4u8, *character).write(bytes),
            Datum::String(text) => (5u8, text.clone()).write(bytes),
            Datum::Symbol(name) => (6u8, name.clone()).write(bytes),
            Datum::Bytes(content) => (7u8, content.clone()).write(bytes),
            Datum::List(elements, rest) => {
                (8u8, elements.len()).write(bytes);
                elements.iter().for_each(|element| element.write(bytes));
                rest.write(bytes);
            }
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Datum> {
        Some(match u8::read(bytes)? {
            0 => Datum::Other,
            1 => Datum::Constant(u8::read(bytes)?),
            2 => Datum::Fixnum(i64::read(bytes)?),
            3 => Datum::Flonum(f64::read(bytes)?),
            4 => Datum::Character(u32::read(bytes)?),
            5 => Datum::String(String::read(bytes)?),
            6 => Datum::Symbol(String::read(bytes)?),
            7 => Datum::Bytes(Vec::read(bytes)?),
            8 => {
                let elements = Vec::read(bytes)?;
                Datum::List(elements, Box::new(Datum::read(bytes)?))
            }
            _ => return None,
        })
    }
}

/// An outcome as it is kept.
struct Kept(Outcome);

impl Answer for Kept {
    fn write(&self, bytes: &mut Vec<u8>) {
        match &self.0 {
            Ok(datum) => {
                true.write(bytes);
                datum.write(bytes);
            }
            Err(parts) => {
                false.write(bytes);
                parts.iter().for_each(|part| part.write(bytes));
            }
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Kept> {
        if bool::read(bytes)? {
            return Datum::read(bytes).map(|datum| Kept(Ok(datum)));
        }
        let mut part = || Datum::read(bytes);
        Some(Kept(Err([part()?, part()?, part()?, part()?])))
    }
}

/// Calls a primitive and keeps its outcome, or gives the outcome that it had.
pub(crate) fn kept(
    thread: &mut Thread,
    call: Call,
    function: impl FnOnce(&mut Thread, Call) -> Result<Value, Raise>,
) -> Result<Value, Raise> {
    if !canny_replay::is_replaying() {
        canny_replay::step_aside();
        let outcome = function(thread, call);
        canny_replay::come_back();
        let (outcome, kept) = match outcome {
            Ok(value) => (Ok(value), Ok(Datum::of(value))),
            Err(raise) => {
                let object = thread.take_raised(raise);
                let parts = parts_of(object);
                (Err(thread.raise_object(object)), Err(parts))
            }
        };
        if canny_replay::mode() == Mode::Recording {
            canny_replay::ask(Kind::Primitive, || Kept(kept));
        }
        return outcome;
    }
    let Kept(outcome) = canny_replay::ask(Kind::Primitive, || Kept(Ok(Datum::Other)));
    match outcome {
        Ok(datum) => match datum.value(thread) {
            Some(value) => Ok(value),
            None => {
                canny_replay::give_up(&format!("{} gave what a recording cannot keep", call.who))
            }
        },
        Err(parts) => Err(raised(thread, &parts)),
    }
}

/// Kind, message, irritants and procedure of a condition.
fn parts_of(object: Value) -> [Datum; 4] {
    let fields = [field::KIND, field::MESSAGE, field::IRRITANTS, field::WHO];
    match object.as_kind(ObjectKind::Condition) {
        Some(condition) => fields.map(|index| Datum::of(condition.field(index))),
        None => fields.map(|_| Datum::Other),
    }
}

/// Raises a condition of such parts.
fn raised(thread: &mut Thread, parts: &[Datum; 4]) -> Raise {
    // Values in local variables stay alive.
    let values = parts.each_ref().map(|part| part.value(thread));
    let [kind, message, irritants, who] = values.map(|value| value.unwrap_or(Value::FALSE));
    let condition = thread.make_condition(kind, message, irritants, who);
    thread.raise_object(condition)
}
