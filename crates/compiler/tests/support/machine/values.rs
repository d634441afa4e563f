//! Values and frames of the reference interpreter, their arithmetic and how they are written.

use std::cell::RefCell;
use std::rc::Rc;

use canny_syntax::core::GlobalName;
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_tables::layout;

#[derive(Clone)]
pub enum Value {
    /// A fixnum or immediate as its word.
    Word(u64),
    Flonum(f64),
    Object(Rc<Object>),
    Poison,
}

pub enum Object {
    Pair(RefCell<Value>, RefCell<Value>),
    String(String),
    Symbol(Name),
    Keyword(Name),
    Vector(RefCell<Vec<Value>>),
    Closure(usize, RefCell<Vec<Value>>),
    Primitive(u16),
    Box(RefCell<Value>),
    Cell(RefCell<Value>, GlobalName),
    Values(Vec<Value>),
    Record(Value, RefCell<Vec<Value>>),
    RecordType(Value),
    Continuation(Vec<Frame>),
}

#[derive(Clone)]
pub struct Frame {
    pub closure: Value,
    pub code: usize,
    pub pc: usize,
    pub registers: Vec<Value>,
    /// Register of this frame that receives the value of the call it waits for, and its live map.
    pub waiting: Option<(usize, u32)>,
}

pub type Result<T> = std::result::Result<T, String>;

pub const FALSE: Value = Value::Word(layout::FALSE);
pub const NIL: Value = Value::Word(layout::NIL);
pub const UNSPECIFIED: Value = Value::Word(layout::UNSPECIFIED);

pub fn fixnum(value: i64) -> Value {
    Value::Word((value << 2) as u64)
}

pub fn boolean(value: bool) -> Value {
    Value::Word(if value { layout::TRUE } else { layout::FALSE })
}

pub fn object(object: Object) -> Value {
    Value::Object(Rc::new(object))
}

pub fn cons(car: Value, cdr: Value) -> Value {
    object(Object::Pair(RefCell::new(car), RefCell::new(cdr)))
}

pub fn list_from(values: &[Value], tail: Value) -> Value {
    values
        .iter()
        .rev()
        .fold(tail, |tail, value| cons(value.clone(), tail))
}

pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Word(left), Value::Word(right)) => left == right,
        (Value::Object(left), Value::Object(right)) => match (&**left, &**right) {
            (Object::Symbol(left), Object::Symbol(right)) => left == right,
            _ => Rc::ptr_eq(left, right),
        },
        (Value::Flonum(left), Value::Flonum(right)) => left.to_bits() == right.to_bits(),
        _ => false,
    }
}

pub fn list_elements(list: &Value) -> Result<Vec<Value>> {
    let mut elements = Vec::new();
    let mut rest = list.clone();
    loop {
        let next = match &rest {
            Value::Word(layout::NIL) => return Ok(elements),
            Value::Object(object) => match &**object {
                Object::Pair(car, cdr) => {
                    elements.push(car.borrow().clone());
                    cdr.borrow().clone()
                }
                _ => return Err("not a list".into()),
            },
            _ => return Err("not a list".into()),
        };
        rest = next;
    }
}

pub fn number(value: &Value) -> Result<f64> {
    match value {
        Value::Word(word) if word & 3 == 0 => Ok(((*word as i64) >> 2) as f64),
        Value::Flonum(value) => Ok(*value),
        other => Err(format!("not a number: {}", show(other))),
    }
}

pub fn integer(value: &Value) -> Result<i64> {
    match value {
        Value::Word(word) if word & 3 == 0 => Ok((*word as i64) >> 2),
        other => Err(format!("not an integer: {}", show(other))),
    }
}

pub fn arithmetic(name: &str, left: &Value, right: &Value) -> Result<Value> {
    if let (Ok(left), Ok(right)) = (integer(left), integer(right)) {
        return Ok(fixnum(match name {
            "+" => left.wrapping_add(right),
            "-" => left.wrapping_sub(right),
            "*" => left.wrapping_mul(right),
            "/" | "quotient" | "remainder" | "modulo" if right == 0 => {
                return Err("division by zero".into());
            }
            "/" if left % right == 0 => left / right,
            "/" => return Ok(Value::Flonum(left as f64 / right as f64)),
            "quotient" => left / right,
            "remainder" => left % right,
            "modulo" => left.rem_euclid(right),
            "bitwise-and" => left & right,
            "bitwise-ior" => left | right,
            "bitwise-xor" => left ^ right,
            "arithmetic-shift" if right >= 0 => left << right,
            "arithmetic-shift" => left >> -right,
            _ => return Err(format!("no arithmetic {name}")),
        }));
    }
    let (left, right) = (number(left)?, number(right)?);
    Ok(Value::Flonum(match name {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        _ => return Err(format!("no arithmetic {name}")),
    }))
}

pub fn show(value: &Value) -> String {
    match value {
        Value::Poison => "poison".into(),
        Value::Flonum(value) => format!("{value:?}"),
        Value::Word(word) => match *word {
            layout::TRUE => "#t".into(),
            layout::FALSE => "#f".into(),
            layout::NIL => "()".into(),
            layout::UNSPECIFIED => "unspecified".into(),
            layout::EOF => "eof".into(),
            layout::UNBOUND => "unbound".into(),
            layout::ABSENT => "absent".into(),
            layout::DEFAULT => "default".into(),
            word if word & 3 == 0 => ((word as i64) >> 2).to_string(),
            word => format!("#\\{}", char::from_u32((word >> 8) as u32).unwrap_or('?')),
        },
        Value::Object(object) => match &**object {
            Object::Pair(..) => {
                let mut text = String::from("(");
                let mut rest = value.clone();
                loop {
                    let next = match &rest {
                        Value::Object(object) => match &**object {
                            Object::Pair(car, cdr) => {
                                if text.len() > 1 {
                                    text.push(' ');
                                }
                                text.push_str(&show(&car.borrow()));
                                cdr.borrow().clone()
                            }
                            _ => break text.push_str(&format!(" . {}", show(&rest))),
                        },
                        Value::Word(layout::NIL) => break,
                        _ => break text.push_str(&format!(" . {}", show(&rest))),
                    };
                    rest = next;
                }
                text.push(')');
                text
            }
            Object::String(text) => text.clone(),
            Object::Symbol(name) => name.to_string(),
            Object::Keyword(name) => format!("#:{name}"),
            Object::Vector(elements) => {
                let shown: Vec<String> = elements.borrow().iter().map(show).collect();
                format!("#({})", shown.join(" "))
            }
            Object::Values(values) => {
                let shown: Vec<String> = values.iter().map(show).collect();
                format!("values({})", shown.join(" "))
            }
            Object::Record(_, fields) => {
                let shown: Vec<String> = fields.borrow().iter().map(show).collect();
                format!("record({})", shown.join(" "))
            }
            Object::Closure(..) | Object::Primitive(_) | Object::Continuation(_) => {
                "procedure".into()
            }
            Object::Box(_) => "box".into(),
            Object::Cell(..) => "cell".into(),
            Object::RecordType(_) => "record-type".into(),
        },
    }
}

pub fn build(datum: &Datum) -> Value {
    match datum {
        Datum::Nil => NIL,
        Datum::Boolean(value) => boolean(*value),
        Datum::Character(value) => {
            Value::Word(u64::from(u32::from(*value)) << 8 | layout::CHARACTER_LOW_BYTE)
        }
        Datum::Number(number) => match canny_syntax::number::as_integer(number) {
            Some(value) => fixnum(value),
            None => Value::Flonum(datum.to_string().parse().unwrap()),
        },
        Datum::String(text) => object(Object::String(text.to_string())),
        Datum::Symbol(name) => object(Object::Symbol(*name)),
        Datum::Keyword(name) => object(Object::Keyword(*name)),
        Datum::Pair(pair) => cons(build(&pair.car), build(&pair.cdr)),
        Datum::Vector(elements) => object(Object::Vector(RefCell::new(
            elements.iter().map(build).collect(),
        ))),
        Datum::Eof => Value::Word(layout::EOF),
        Datum::Unspecified => UNSPECIFIED,
        Datum::DefaultObject => Value::Word(layout::DEFAULT),
        other => panic!("literal {other:?} is not used in these tests"),
    }
}

pub fn unpack(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(object) => match &**object {
            Object::Values(values) => values.clone(),
            _ => vec![value.clone()],
        },
        _ => vec![value.clone()],
    }
}

pub fn is_pair(value: &Value) -> bool {
    matches!(value, Value::Object(object) if matches!(**object, Object::Pair(..)))
}

pub fn kind_of(value: &Value) -> Option<canny_tables::kinds::Kind> {
    use canny_tables::kinds::Kind;
    let Value::Object(object) = value else {
        return None;
    };
    Some(match **object {
        Object::String(_) => Kind::String,
        Object::Symbol(_) => Kind::Symbol,
        Object::Keyword(_) => Kind::Keyword,
        Object::Vector(_) => Kind::Vector,
        Object::Closure(..) | Object::Primitive(_) => Kind::Closure,
        Object::Record(..) => Kind::Record,
        Object::Values(_) => Kind::Values,
        Object::Box(_) => Kind::Box,
        _ => return None,
    })
}

pub fn cell_value(cell: &Value) -> Result<Value> {
    let Value::Object(object) = cell else {
        panic!("no cell")
    };
    let Object::Cell(value, name) = &**object else {
        panic!("no cell")
    };
    let value = value.borrow().clone();
    if same(&value, &Value::Word(layout::UNBOUND)) {
        return Err(format!("unbound variable {}", name.name));
    }
    Ok(value)
}

pub fn set_cell(cell: &Value, value: Value) {
    let Value::Object(object) = cell else {
        panic!("no cell")
    };
    let Object::Cell(content, _) = &**object else {
        panic!("no cell")
    };
    *content.borrow_mut() = value;
}
