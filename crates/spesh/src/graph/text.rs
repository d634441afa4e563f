//! The text of what operations are made of, written and read by the same rows.
//!
//! `n3` is a node, `[n3, n4]` a list of them, `0x1f` a word. States stand at the end of a line and are
//! no part of an operation's own text.

use std::fmt::Write;

use canny_tables::kinds::Kind;
use canny_tables::leaves::{self, LeafId};

use super::effects::Memory;
use super::{
    BlockId, Callee, Comparison, Condition, Edge, FixnumOperation, FloatFunction, FloatOperation,
    NodeId, Representation, StateId, Test,
};
use crate::elements::{ELEMENTS, Elements};
use crate::types::Type;

/// Why a text is no graph: the offset in the line, and what is wrong there.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) offset: usize,
    pub(super) message: String,
}

/// A line that is being read.
pub(super) struct Reader<'a> {
    line: &'a str,
    offset: usize,
    /// The state that stands at the end of the line.
    pub(super) state: Option<StateId>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(line: &'a str) -> Reader<'a> {
        Reader {
            line,
            offset: 0,
            state: None,
        }
    }

    /// Skips blanks and returns the rest of the line.
    pub(super) fn rest(&mut self) -> &'a str {
        let rest = &self.line[self.offset..];
        self.offset += rest.len() - rest.trim_start().len();
        rest.trim_start()
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong {
            offset: self.offset,
            message: message.into(),
        }
    }

    /// Whether this text comes next; it is taken if it does.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.offset += text.len();
        }
        is_next
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Wrong> {
        if self.take(text) {
            Ok(())
        } else {
            Err(self.wrong(format!("{text} is expected")))
        }
    }

    /// Takes the text before the first character that satisfies the condition; at least one
    /// character.
    pub(super) fn until(&mut self, is_end: impl Fn(char) -> bool) -> Result<&'a str, Wrong> {
        let rest = self.rest();
        let end = rest.find(is_end).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.wrong("something is missing"));
        }
        self.offset += end;
        Ok(&rest[..end])
    }

    /// A name, as of an operation.
    pub(super) fn name(&mut self) -> Result<&'a str, Wrong> {
        self.until(|character| !character.is_ascii_alphanumeric())
    }

    /// A number behind a letter, as in `n3`.
    pub(super) fn numbered(&mut self, letter: &str) -> Result<u32, Wrong> {
        self.expect(letter)?;
        let digits = self.until(|character| !character.is_ascii_digit())?;
        digits
            .parse()
            .map_err(|_| self.wrong(format!("{digits} is too large")))
    }

    /// Elements between brackets, with commas between them.
    pub(super) fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        mut element: impl FnMut(&mut Self) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let mut elements = Vec::new();
        self.expect(open)?;
        while !self.take(close) {
            if !elements.is_empty() {
                self.expect(",")?;
            }
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// The state at the end of the line, where one must stand.
    pub(super) fn its_state(&self) -> Result<StateId, Wrong> {
        self.state.ok_or_else(|| self.wrong("the state is missing"))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, Wrong> {
        let text = self.until(|character| ",);] ".contains(character))?;
        text.parse()
            .map_err(|_| self.wrong(format!("{text} is not such a number")))
    }
}

/// A part of a graph that has a text.
pub(super) trait Text: Sized {
    fn write(&self, out: &mut String);
    fn read(reader: &mut Reader<'_>) -> Result<Self, Wrong>;
}

/// A field of an operation's row: something with a text, or a state, which has none here.
pub(super) trait Field: Sized {
    /// Writes it behind the bracket or comma that comes before.
    fn write_next(&self, first: &mut bool, out: &mut String);
    fn read_next(first: &mut bool, reader: &mut Reader<'_>) -> Result<Self, Wrong>;
}

impl<T: Text> Field for T {
    fn write_next(&self, first: &mut bool, out: &mut String) {
        out.push_str(if *first { "(" } else { ", " });
        *first = false;
        self.write(out);
    }

    fn read_next(first: &mut bool, reader: &mut Reader<'_>) -> Result<T, Wrong> {
        reader.expect(if *first { "(" } else { "," })?;
        *first = false;
        T::read(reader)
    }
}

impl Field for StateId {
    fn write_next(&self, _: &mut bool, _: &mut String) {}

    fn read_next(_: &mut bool, reader: &mut Reader<'_>) -> Result<StateId, Wrong> {
        reader.its_state()
    }
}

impl Field for Option<StateId> {
    fn write_next(&self, _: &mut bool, _: &mut String) {}

    fn read_next(_: &mut bool, reader: &mut Reader<'_>) -> Result<Option<StateId>, Wrong> {
        Ok(reader.state)
    }
}

/// Texts of enumerations: the names in Rust, with operands that have texts themselves.
macro_rules! named {
    ($($type:ident { $($name:ident $(( $($field:ident),* ))?),* $(,)? })*) => { $(
        impl Text for $type {
            fn write(&self, out: &mut String) {
                match self { $(
                    $type::$name $(( $($field),* ))? => {
                        out.push_str(stringify!($name));
                        $( let mut first = true; $( $field.write_next(&mut first, out); )* out.push(')'); )?
                    }
                )* }
            }

            fn read(reader: &mut Reader<'_>) -> Result<$type, Wrong> {
                let name = reader.name()?;
                match name {
                    $( stringify!($name) => {
                        $( let mut first = true; $( let $field = Field::read_next(&mut first, reader)?; )* reader.expect(
                            ")")?; )?
                        Ok($type::$name $(( $($field),* ))?)
                    } )*
                    _ => Err(reader.wrong(format!("{name} is not known here"))),
                }
            }
        }
    )* };
}

named! {
    Representation { Tagged, Float, Nothing }
    Memory {
        Car, Cdr, Vector, Box, Cell, Record, Bytes, String, Dynamic, Mutability, Other, Constant,
    }
    Comparison { Less, LessEqual, Equal, Greater, GreaterEqual }
    FixnumOperation {
        Add, Subtract, Multiply, Quotient, Remainder, Modulo, And, Or, Xor, Shift,
    }
    FloatOperation { Add, Subtract, Multiply, Divide }
    FloatFunction { Absolute, SquareRoot, Floor, Ceiling, Truncate, Round, Negate }
    Test {
        Fixnum, Flonum, Pair, Character, Kind(kind), Word(word), ClosureOf(code), Elements(elements),
        Class(class),
    }
    Condition {
        Test(test, value), Same(x, y), Fixnums(order, x, y), Floats(order, x, y),
        Characters(order, x, y), RecordOf(record, kind),
    }
}

impl Text for Callee {
    fn write(&self, out: &mut String) {
        match self {
            Callee::Unknown(closure) => {
                out.push_str("Unknown(");
                closure.write(out);
            }
            Callee::Known { closure, code } => {
                out.push_str("Known(");
                closure.write(out);
                out.push_str(", ");
                code.write(out);
            }
            Callee::Capture {
                closure,
                code,
                receiver,
                repeats,
            } => {
                out.push_str(if *repeats {
                    "CaptureAgain("
                } else {
                    "Capture("
                });
                closure.write(out);
                for code in [code, receiver] {
                    out.push_str(", ");
                    code.write(out);
                }
            }
        }
        out.push(')');
    }

    fn read(reader: &mut Reader<'_>) -> Result<Callee, Wrong> {
        let codes = match reader.name()? {
            "Unknown" => 0,
            "Known" => 1,
            "Capture" => 2,
            "CaptureAgain" => 3,
            name => return Err(reader.wrong(format!("{name} is no callee"))),
        };
        reader.expect("(")?;
        let closure = NodeId::read(reader)?;
        let mut code = || {
            reader.expect(",")?;
            u64::read(reader)
        };
        let callee = match codes {
            0 => Callee::Unknown(closure),
            1 => Callee::Known {
                closure,
                code: code()?,
            },
            _ => Callee::Capture {
                closure,
                code: code()?,
                receiver: code()?,
                repeats: codes == 3,
            },
        };
        reader.expect(")")?;
        Ok(callee)
    }
}

impl Text for NodeId {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "n{}", self.0);
    }

    fn read(reader: &mut Reader<'_>) -> Result<NodeId, Wrong> {
        const MOST: u32 = 1 << 20;
        let number = reader.numbered("n")?;
        if number < MOST {
            Ok(NodeId(number))
        } else {
            Err(reader.wrong("the number of the node is too large"))
        }
    }
}

impl Text for Vec<NodeId> {
    fn write(&self, out: &mut String) {
        out.push('[');
        for (index, id) in self.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            id.write(out);
        }
        out.push(']');
    }

    fn read(reader: &mut Reader<'_>) -> Result<Vec<NodeId>, Wrong> {
        reader.list("[", "]", NodeId::read)
    }
}

/// The block, and the arguments if there are any.
impl Text for Edge {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "b{}", self.target.0);
        for (position, NodeId(number)) in self.arguments.iter().enumerate() {
            let before = if position > 0 { ", " } else { "(" };
            let _ = write!(out, "{before}n{number}");
        }
        if !self.arguments.is_empty() {
            out.push(')');
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Edge, Wrong> {
        let target = BlockId(reader.numbered("b")?);
        let arguments = if reader.rest().starts_with('(') {
            reader.list("(", ")", NodeId::read)?
        } else {
            Vec::new()
        };
        Ok(Edge { target, arguments })
    }
}

impl Text for u32 {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }

    fn read(reader: &mut Reader<'_>) -> Result<u32, Wrong> {
        reader.number()
    }
}

impl Text for i32 {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }

    fn read(reader: &mut Reader<'_>) -> Result<i32, Wrong> {
        reader.number()
    }
}

/// Words of the machine are hexadecimal.
impl Text for u64 {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self:#x}");
    }

    fn read(reader: &mut Reader<'_>) -> Result<u64, Wrong> {
        reader.expect("0x")?;
        let digits = reader.until(|character| !character.is_ascii_hexdigit())?;
        u64::from_str_radix(digits, 16).map_err(|_| reader.wrong("the word is too large"))
    }
}

/// The shortest decimal digits that give the double; the bits of what is not a number.
impl Text for f64 {
    fn write(&self, out: &mut String) {
        if self.is_nan() {
            self.to_bits().write(out);
        } else {
            let _ = write!(out, "{self:?}");
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<f64, Wrong> {
        if reader.rest().starts_with("0x") {
            u64::read(reader).map(f64::from_bits)
        } else {
            reader.number()
        }
    }
}

impl Text for Kind {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self:?}");
    }

    fn read(reader: &mut Reader<'_>) -> Result<Kind, Wrong> {
        let name = reader.name()?;
        let kind = Kind::ALL.iter().find(|kind| format!("{kind:?}") == name);
        kind.copied()
            .ok_or_else(|| reader.wrong(format!("there is no kind {name}")))
    }
}

/// The name that vectors of these elements begin with.
impl Text for Elements {
    fn write(&self, out: &mut String) {
        let row = ELEMENTS.iter().find(|(_, elements)| elements == self);
        out.push_str(row.map_or("?", |(name, _)| name));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Elements, Wrong> {
        let name = reader.name()?;
        let row = ELEMENTS.iter().find(|(known, _)| *known == name);
        row.map(|(_, elements)| *elements)
            .ok_or_else(|| reader.wrong(format!("there are no elements {name}")))
    }
}

/// The primitive and the number of arguments.
impl Text for LeafId {
    fn write(&self, out: &mut String) {
        let row = self.row();
        let _ = write!(out, "{}/{}", row.primitive, row.arguments);
    }

    fn read(reader: &mut Reader<'_>) -> Result<LeafId, Wrong> {
        let text = reader.until(|character| ",) ".contains(character))?;
        let leaf = text
            .rsplit_once('/')
            .and_then(|(primitive, arguments)| leaves::lookup(primitive, arguments.parse().ok()?));
        leaf.ok_or_else(|| reader.wrong(format!("there is no leaf function {text}")))
    }
}

impl Text for Type {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }

    fn read(reader: &mut Reader<'_>) -> Result<Type, Wrong> {
        let (ty, length) =
            Type::parse(reader.rest()).ok_or_else(|| reader.wrong("a type is expected"))?;
        reader.offset += length;
        Ok(ty)
    }
}
