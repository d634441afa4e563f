//! Kinds of objects, as sets, and the facts that each primitive gives about them.
//!
//! Kinds are coarser than the types of the specializer: they are the answers of type predicates.
//! The facts of a row come from its signature; the predicates are listed here.

use std::ops::{BitAnd, BitOr, Not};
use std::sync::OnceLock;

use canny_syntax::datum::Datum;
use canny_tables::primitives::{self, Flags, Primitive, PrimitiveId};

/// A set of kinds that a value may be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

impl Kinds {
    pub const NONE: Kinds = Kinds(0);
    pub const FALSE: Kinds = Kinds(1);
    pub const TRUE: Kinds = Kinds(2);
    pub const NULL: Kinds = Kinds(4);
    pub const PAIR: Kinds = Kinds(8);
    pub const SYMBOL: Kinds = Kinds(16);
    pub const STRING: Kinds = Kinds(32);
    pub const CHARACTER: Kinds = Kinds(64);
    pub const VECTOR: Kinds = Kinds(128);
    pub const BYTEVECTOR: Kinds = Kinds(256);
    pub const EOF: Kinds = Kinds(512);
    pub const FLONUM: Kinds = Kinds(1024);
    pub const FIXNUM: Kinds = Kinds(2048);
    /// Everything else, procedures included.
    pub const OTHER: Kinds = Kinds(8192);
    pub const ALL: Kinds = Kinds(16383);
    pub const BOOLEAN: Kinds = Kinds(3);
    pub const LIST: Kinds = Kinds(12);
    pub const REAL: Kinds = Kinds(3072);
    /// With a kind of their own for numbers that are neither fixnums nor flonums.
    pub const NUMBER: Kinds = Kinds(7168);
    pub const EXACT: Kinds = Kinds(6144);

    /// Whether every kind of the set is in the other one.
    pub fn within(self, other: Kinds) -> bool {
        (self & !other) == Kinds::NONE
    }

    /// Whether no kind is in both.
    pub fn excludes(self, other: Kinds) -> bool {
        (self & other) == Kinds::NONE
    }

    /// The kinds that a literal has.
    pub fn of_datum(datum: &Datum) -> Kinds {
        match datum {
            Datum::Boolean(false) => Kinds::FALSE,
            Datum::Boolean(true) => Kinds::TRUE,
            Datum::Nil => Kinds::NULL,
            Datum::Pair(_) => Kinds::PAIR,
            Datum::Symbol(_) => Kinds::SYMBOL,
            Datum::String(_) => Kinds::STRING,
            Datum::Character(_) => Kinds::CHARACTER,
            Datum::Vector(_) => Kinds::VECTOR,
            Datum::Bytevector(_) => Kinds::BYTEVECTOR,
            Datum::Eof => Kinds::EOF,
            Datum::Number(_) => Kinds::NUMBER,
            Datum::Keyword(_) | Datum::Unspecified | Datum::DefaultObject => Kinds::OTHER,
            Datum::NumericVector(..) => Kinds::BYTEVECTOR | Kinds::OTHER,
            Datum::Labelled(..) | Datum::LabelRef(_) | Datum::Object(_) => Kinds::ALL,
        }
    }
}

impl BitAnd for Kinds {
    type Output = Kinds;
    fn bitand(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }
}

impl BitOr for Kinds {
    type Output = Kinds;
    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

impl Not for Kinds {
    type Output = Kinds;
    fn not(self) -> Kinds {
        Kinds(!self.0 & Kinds::ALL.0)
    }
}

/// A type predicate: it is true of all objects of the first kinds, and of none outside of the second.
#[derive(Clone, Copy, Debug)]
pub struct Predicate {
    pub certain: Kinds,
    pub possible: Kinds,
}

/// Type predicates that never raise, by name.
const PREDICATES: &[(&str, Kinds, Kinds)] = &[
    ("null?", Kinds::NULL, Kinds::NULL),
    ("pair?", Kinds::PAIR, Kinds::PAIR),
    ("list?", Kinds::NULL, Kinds::LIST),
    ("symbol?", Kinds::SYMBOL, Kinds::SYMBOL),
    ("string?", Kinds::STRING, Kinds::STRING),
    ("char?", Kinds::CHARACTER, Kinds::CHARACTER),
    ("vector?", Kinds::VECTOR, Kinds::VECTOR),
    ("bytevector?", Kinds::BYTEVECTOR, Kinds::BYTEVECTOR),
    ("eof-object?", Kinds::EOF, Kinds::EOF),
    ("boolean?", Kinds::BOOLEAN, Kinds::BOOLEAN),
    ("not", Kinds::FALSE, Kinds::FALSE),
    ("procedure?", Kinds::NONE, Kinds::OTHER),
    ("record?", Kinds::NONE, Kinds::OTHER),
    ("port?", Kinds::NONE, Kinds::OTHER),
    ("number?", Kinds::NUMBER, Kinds::NUMBER),
    ("complex?", Kinds::NUMBER, Kinds::NUMBER),
    ("real?", Kinds::REAL, Kinds::NUMBER),
    ("rational?", Kinds::FIXNUM, Kinds::NUMBER),
    ("integer?", Kinds::FIXNUM, Kinds::NUMBER),
    ("exact-integer?", Kinds::FIXNUM, Kinds::EXACT),
    ("exact-rational?", Kinds::FIXNUM, Kinds::EXACT),
    ("fixnum?", Kinds::FIXNUM, Kinds::FIXNUM),
    ("flonum?", Kinds::FLONUM, Kinds::FLONUM),
];

/// Primitives that read only memory that belongs to their operands, and make no object.
const READS: &[&str] = &[
    "car",
    "cdr",
    "caar",
    "cadr",
    "cdar",
    "cddr",
    "caddr",
    "cdddr",
    "cadddr",
    "vector-ref",
    "%record-ref",
    "string-ref",
    "bytevector-u8-ref",
    "list?",
    "length",
    "equal?",
    "string=?",
    "string<?",
    "string>?",
    "string<=?",
    "string>=?",
];

/// Primitives that write memory, and whose operands are of the kinds that their rows name if they
/// return.
const CHANGES: &[&str] = &[
    "set-car!",
    "set-cdr!",
    "vector-set!",
    "string-set!",
    "bytevector-u8-set!",
];

/// When two calls with the same operands give the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    Always,
    /// If nothing has written memory in between.
    UntilWrite,
    Never,
}

/// The facts that a primitive gives about its operands and its result.
#[derive(Clone, Debug)]
pub struct Row {
    pub repeats: Repeats,
    /// It may write memory, or run other code.
    pub writes: bool,
    pub never_returns: bool,
    pub predicate: Option<Predicate>,
    /// It is `eq?` or another equivalence that only objects of one kind can have.
    pub is_equivalence: bool,
    pub order: Option<Order>,
    /// Of each operand, after a call has returned; the last one is for all that follow.
    operands: Vec<Kinds>,
    pub result: Kinds,
}

/// A comparison of two operands that are ordered, or equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Less,
    LessOrEqual,
    Equal,
    Greater,
    GreaterOrEqual,
}

impl Row {
    /// The kinds that an operand has after a call has returned.
    pub fn operand(&self, index: usize) -> Kinds {
        let last = self.operands.last().copied().unwrap_or(Kinds::ALL);
        self.operands.get(index).copied().unwrap_or(last)
    }
}

/// The row of the primitive with this number.
pub fn row(id: PrimitiveId) -> &'static Row {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    let rows = ROWS.get_or_init(|| primitives::all().iter().map(|row| describe(row)).collect());
    &rows[id.0 as usize]
}

fn describe(row: &Primitive) -> Row {
    let predicate = PREDICATES.iter().find(|(name, ..)| *name == row.name);
    let allocates = row.flags.has(Flags::ALLOCATES);
    let repeats = if row.flags.has(Flags::FOLDABLE) && !allocates {
        Repeats::Always
    } else if READS.contains(&row.name) {
        Repeats::UntilWrite
    } else {
        Repeats::Never
    };
    let (operands, result) = row.signature.split_once("->").unwrap_or_default();
    let operands = operands.split_whitespace().filter(|word| *word != "...");
    Row {
        repeats,
        writes: !row.flags.has(Flags::PURE) && !row.flags.has(Flags::FOLDABLE)
            || row.flags.has(Flags::FRAME),
        never_returns: row.flags.has(Flags::NEVER_RETURNS),
        predicate: predicate.map(|(_, certain, possible)| Predicate {
            certain: *certain,
            possible: *possible,
        }),
        is_equivalence: matches!(row.name, "eq?" | "eqv?" | "equal?"),
        order: order(row.name),
        operands: match repeats {
            Repeats::Never if !CHANGES.contains(&row.name) => Vec::new(),
            _ => operands.map(kinds_of_word).collect(),
        },
        result: if row.flags.has(Flags::FRAME) {
            Kinds::ALL
        } else {
            kinds_of_word(result.trim())
        },
    }
}

fn order(name: &str) -> Option<Order> {
    match name {
        "<" | "char<?" => Some(Order::Less),
        "<=" | "char<=?" => Some(Order::LessOrEqual),
        "=" | "char=?" => Some(Order::Equal),
        ">" | "char>?" => Some(Order::Greater),
        ">=" | "char>=?" => Some(Order::GreaterOrEqual),
        _ => None,
    }
}

/// The kinds that a word of a signature stands for. Optional operands have brackets.
fn kinds_of_word(word: &str) -> Kinds {
    match word {
        "boolean" => Kinds::BOOLEAN,
        "pair" => Kinds::PAIR,
        "symbol" => Kinds::SYMBOL,
        "string" => Kinds::STRING,
        "char" => Kinds::CHARACTER,
        "fixnum" => Kinds::FIXNUM,
        "flonum" => Kinds::FLONUM,
        "number" | "real" | "rational" | "integer" | "index" | "byte" => Kinds::NUMBER,
        "pair-or-false" => Kinds::PAIR | Kinds::FALSE,
        "string-or-false" => Kinds::STRING | Kinds::FALSE,
        "symbol-or-false" => Kinds::SYMBOL | Kinds::FALSE,
        "index-or-false" | "number-or-false" | "integer-or-false" => Kinds::NUMBER | Kinds::FALSE,
        "char-or-eof" => Kinds::CHARACTER | Kinds::EOF,
        "string-or-eof" => Kinds::STRING | Kinds::EOF,
        "byte-or-eof" => Kinds::NUMBER | Kinds::EOF,
        _ => Kinds::ALL,
    }
}
