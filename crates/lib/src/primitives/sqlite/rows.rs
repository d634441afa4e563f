//! Conversions of SQLite: Scheme objects to parameters of statements, and rows to Scheme objects.
//!
//! Rows arrive as a tape of bytes that was filled outside of the heap; objects are made of it
//! afterwards. NULL is the symbol `null`. An object that no column type holds raises before the
//! statement runs.

use canny_number::Number;
use canny_sqlite::{Cell, Parameter, Parameters, Tape};
use canny_tables::kinds::Kind;
use canny_tables::protocols::RowShape;
use canny_value::Value;
use canny_vm::numbers::{Numeric, number_of, numeric};
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, Protected, Raise, Thread, string_text};

use super::{Refusal, who};
use crate::arguments::Call;
use crate::list::{Extent, measure};

/// The symbol that stands for NULL.
const NULL: &str = "null";

/// The arguments of a statement: a list of values, or of keywords and values in turn, or of one
/// association list.
pub(super) fn parameters(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Parameters, Raise> {
    let list = call.at(position);
    if let Some(first) = list.as_pair() {
        if first.car().is_kind(Kind::Keyword) {
            return by_keywords(thread, call, list);
        }
        if first.cdr().is_nil() && is_association_list(first.car()) {
            return by_association_list(thread, call, first.car());
        }
    }
    let mut values = Vec::new();
    let mut rest = list;
    while let Some(pair) = rest.as_pair() {
        let described = values.len() + 1;
        values.push(parameter(thread, call, pair.car(), || {
            described.to_string()
        })?);
        rest = pair.cdr();
    }
    Ok(Parameters::Positional(values))
}

fn is_association_list(object: Value) -> bool {
    if !object.is_pair() || !matches!(measure(object), Extent::Proper(_)) {
        return false;
    }
    let mut rest = object;
    while let Some(pair) = rest.as_pair() {
        let is_named = pair
            .car()
            .as_pair()
            .is_some_and(|entry| name_of(entry.car()).is_some());
        if !is_named {
            return false;
        }
        rest = pair.cdr();
    }
    true
}

/// The name that a symbol, string or keyword gives.
fn name_of(object: Value) -> Option<String> {
    if let Some(keyword) = object.as_kind(Kind::Keyword) {
        return symbol_name(keyword.field(0)).map(|name| name.to_string());
    }
    match symbol_name(object) {
        Some(name) => Some(name.to_string()),
        None => string_text(object),
    }
}

fn by_keywords(thread: &mut Thread, call: Call, list: Value) -> Result<Parameters, Raise> {
    let mut values = Vec::new();
    let mut rest = list;
    while let Some(pair) = rest.as_pair() {
        let name = pair.car();
        let value = pair.cdr().as_pair().filter(|_| name.is_kind(Kind::Keyword));
        let (Some(name), Some(value)) = (name_of(name), value) else {
            let message = "named arguments are keywords and values in turn";
            return Err(refused(thread, call, message, name));
        };
        let parameter = parameter(thread, call, value.car(), || name.clone())?;
        values.push((name, parameter));
        rest = value.cdr();
    }
    Ok(Parameters::Named(values))
}

fn by_association_list(thread: &mut Thread, call: Call, list: Value) -> Result<Parameters, Raise> {
    let mut values = Vec::new();
    let mut rest = list;
    while let Some(pair) = rest.as_pair() {
        if let Some(entry) = pair.car().as_pair()
            && let Some(name) = name_of(entry.car())
        {
            let parameter = parameter(thread, call, entry.cdr(), || name.clone())?;
            values.push((name, parameter));
        }
        rest = pair.cdr();
    }
    Ok(Parameters::Named(values))
}

fn refused(thread: &mut Thread, call: Call, message: &str, object: Value) -> Raise {
    let who = who(call);
    thread.raise(ConditionKind::Type, message, &[object], Some(&who))
}

/// The SQLite value of an object. `describe` gives number or name of the argument.
fn parameter(
    thread: &mut Thread,
    call: Call,
    object: Value,
    describe: impl Fn() -> String,
) -> Result<Parameter, Raise> {
    match numeric(object) {
        Some(Numeric::Fixnum(number)) => return Ok(Parameter::Integer(number)),
        Some(Numeric::Flonum(number)) => return Ok(Parameter::Real(number)),
        Some(Numeric::Other(_)) => {
            let number = number_of(object);
            if let Some(Number::Fixnum(number)) = number {
                return Ok(Parameter::Integer(number));
            }
            if let Some(Number::Big(_)) = number {
                let message = format!(
                    "argument {} of the statement does not fit into 64 bits",
                    describe()
                );
                let who = who(call);
                return Err(thread.raise(ConditionKind::Range, &message, &[object], Some(&who)));
            }
        }
        None => {}
    }
    if object == Value::TRUE || object == Value::FALSE {
        return Ok(Parameter::Integer(i64::from(object.is_true())));
    }
    if let Some(text) = string_text(object) {
        return Ok(Parameter::Text(text));
    }
    if let Some(bytes) = object.as_kind(Kind::Bytevector) {
        return Ok(Parameter::Blob(bytes.with_bytes(<[u8]>::to_vec)));
    }
    if symbol_name(object).as_deref() == Some(NULL) {
        return Ok(Parameter::Null);
    }
    let message = format!(
        "argument {} of the statement is not a real number, a string, a bytevector, a boolean or null",
        describe()
    );
    Err(refused(thread, call, &message, object))
}

/// A number of a row: any integer of 64 bits.
pub(super) fn row_number(thread: &mut Thread, call: Call, position: usize) -> Result<i64, Raise> {
    match parameter(thread, call, call.at(position), || "row".to_owned())? {
        Parameter::Integer(row) => Ok(row),
        _ => Err(call.type_error(thread, position, "exact integer")),
    }
}

/// Takes objects out of a tape.
struct Reader<'a> {
    tape: &'a Tape,
    cell: usize,
    byte: usize,
    null: Protected,
    /// Symbols of the columns, if rows are association lists.
    names: Vec<Protected>,
}

impl<'a> Reader<'a> {
    fn new(thread: &mut Thread, tape: &'a Tape, is_named: bool) -> Reader<'a> {
        let null = thread.symbol(NULL);
        let null = thread.protect(null);
        let columns = tape.columns.iter().filter(|_| is_named);
        let names = columns
            .map(|name| {
                let name = thread.symbol(name);
                thread.protect(name)
            })
            .collect();
        Reader {
            tape,
            cell: 0,
            byte: 0,
            null,
            names,
        }
    }

    fn bytes(&mut self, length: usize) -> &'a [u8] {
        let start = self.byte;
        self.byte += length;
        &self.tape.bytes[start..self.byte]
    }

    fn value(&mut self, thread: &mut Thread) -> Result<Value, Raise> {
        let cell = self.tape.cells[self.cell];
        self.cell += 1;
        match cell {
            Cell::Null => Ok(thread.protected(self.null)),
            Cell::Integer(number) => Ok(thread.integer(number)),
            Cell::Real(number) => Ok(thread.flonum(number)),
            Cell::Text(length) => {
                let text = self.bytes(length);
                if text.is_ascii() {
                    thread.string_from_latin1(text)
                } else {
                    Ok(thread.string(&String::from_utf8_lossy(text)))
                }
            }
            Cell::Blob(length) => {
                let bytes = self.bytes(length);
                thread.bytevector(bytes)
            }
        }
    }

    fn row(&mut self, thread: &mut Thread) -> Result<Value, Raise> {
        if self.names.is_empty() {
            let row = thread.make_vector(self.tape.width, Value::FALSE)?;
            for column in 0..self.tape.width {
                let value = self.value(thread)?;
                thread.store(row, column, value);
            }
            return Ok(row);
        }
        let base = thread.protect(Value::NIL);
        let mut first = base;
        for column in 0..self.tape.width {
            let value = self.value(thread)?;
            let name = thread.protected(self.names[column]);
            let entry = thread.try_cons(name, value)?;
            let place = thread.protect(entry);
            if column == 0 {
                first = place;
            }
        }
        let row = thread.list_of_protected(first, Value::NIL);
        thread.release(base);
        Ok(row)
    }
}

/// All rows in a list.
pub(super) fn list(thread: &mut Thread, tape: &Tape, is_named: bool) -> Result<Value, Raise> {
    let mut reader = Reader::new(thread, tape, is_named);
    let base = thread.protect(Value::NIL);
    let mut first = base;
    for index in 0..tape.rows {
        let row = reader.row(thread)?;
        let place = thread.protect(row);
        if index == 0 {
            first = place;
        }
    }
    let list = match tape.rows {
        0 => Value::NIL,
        _ => thread.list_of_protected(first, Value::NIL),
    };
    thread.release(base);
    Ok(list)
}

/// The first row; `#f` if there is none.
fn first_row(thread: &mut Thread, tape: &Tape, is_named: bool) -> Result<Value, Raise> {
    match tape.rows {
        0 => Ok(Value::FALSE),
        _ => Reader::new(thread, tape, is_named).row(thread),
    }
}

/// The first value of the first row; `#f` if there is none.
fn first_value(thread: &mut Thread, tape: &Tape) -> Result<Value, Raise> {
    match tape.cells.first() {
        None => Ok(Value::FALSE),
        Some(_) => Reader::new(thread, tape, false).value(thread),
    }
}

/// The result of a statement in a shape.
pub(super) fn shaped(
    thread: &mut Thread,
    shape: RowShape,
    changes: i64,
    tape: &Tape,
) -> Result<Value, Refusal> {
    Ok(match shape {
        RowShape::Changes => thread.integer(changes),
        RowShape::Vectors => list(thread, tape, false)?,
        RowShape::Alists => list(thread, tape, true)?,
        RowShape::Vector => first_row(thread, tape, false)?,
        RowShape::Alist => first_row(thread, tape, true)?,
        RowShape::Value => first_value(thread, tape)?,
        RowShape::Nothing => Value::UNSPECIFIED,
    })
}

/// Names as symbols.
pub(super) fn symbols(thread: &mut Thread, names: &[String]) -> Value {
    let mut list = Value::NIL;
    for name in names.iter().rev() {
        let name = thread.symbol(name);
        list = thread.cons(name, list);
    }
    list
}
