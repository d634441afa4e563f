//! Leaf rows: calls of primitives that compiled code makes without letting anybody look at its frame.
//!
//! A leaf function takes up to [`ARGUMENTS_MAX`] tagged words and gives a word. The first
//! [`IN_REGISTERS`] come in registers, the others in the carried words of the thread block
//! (`layout::thread::CARRIED`). It never collects, never raises and never calls Scheme, so its caller
//! keeps its values in registers and stores nothing else. It writes no word of a pair, vector, box, cell
//! or record that a program can reach and that existed before, unless its row says `at_times`; a hash
//! table's inner vector is out of reach. Before it has changed
//! anything, it declines work that it does not do itself (`layout::DECLINED`), errors above all;
//! the primitive is called instead.
//!
//! A row names a primitive and a number of arguments; the number of the row is its [`LeafId`].

use std::collections::HashMap;
use std::sync::OnceLock;

/// Greatest number of arguments.
pub const ARGUMENTS_MAX: usize = 8;
/// Number of those that come in registers.
pub const IN_REGISTERS: usize = 3;

const _: () = assert!(ARGUMENTS_MAX - IN_REGISTERS <= crate::layout::thread::CARRIED_WORDS);

/// Type of a leaf function's result if it does not decline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Any object.
    Any,
    /// `#t` or `#f`.
    Boolean,
    /// A fixnum.
    Fixnum,
    /// A number.
    Number,
    /// A flonum.
    Flonum,
    /// An exact integer.
    ExactInteger,
    /// A character.
    Character,
    /// A pair or `#f`.
    PairOrFalse,
    /// A pair or `()`.
    List,
    /// A string.
    String,
    /// A symbol.
    Symbol,
    /// A vector.
    Vector,
    /// A hash table.
    HashTable,
}

/// One leaf function.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// The primitive.
    pub primitive: &'static str,
    /// Number of arguments.
    pub arguments: usize,
    /// Its value.
    pub gives: Gives,
    /// It declines now and then though its operands are what they always are, since a buffer is empty
    /// or full or somebody else has a lock: its caller has another way at hand, and concludes
    /// nothing from that. For compiled code it is a call of the primitive, which may change
    /// everything: changes by other threads are seen behind a lock. So it may change vectors too.
    pub declines_at_times: bool,
}

/// The number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeafId(pub u16);

impl LeafId {
    /// The row. Panics when there is none.
    pub fn row(self) -> &'static Leaf {
        &ROWS[self.0 as usize]
    }
}

macro_rules! leaves {
    ($($name:literal $arguments:literal $gives:ident $($declines:ident)?;)*) => {
        /// Every row, in the order of the numbers.
        pub static ROWS: &[Leaf] = &[
            $(Leaf {
                primitive: $name,
                arguments: $arguments,
                gives: Gives::$gives,
                declines_at_times: leaves!(@flag $($declines)?),
            },)*
        ];
    };
    (@flag) => { false };
    (@flag at_times) => { true };
}

leaves! {
    "%count-call!" 3 Any;
    "%hash-table-ref" 3 Any;
    "%hash-table-set!" 3 Any;
    "%hash-table-delete!" 2 Boolean;
    "%hash-table-contains?" 2 Boolean;
    "%hash-table-count" 1 Fixnum;
    "%parameter-ref" 2 Any;
    "%parameter-entry" 1 PairOrFalse;
    "%set-car-if-eq!" 3 Boolean at_times;
    "memq" 2 PairOrFalse;
    "memv" 2 PairOrFalse;
    "%member" 2 PairOrFalse;
    "assq" 2 PairOrFalse;
    "assv" 2 PairOrFalse;
    "%assoc" 2 PairOrFalse;
    "length" 1 Fixnum;
    "list?" 1 Boolean;
    "list-tail" 2 Any;
    "list-ref" 2 Any;
    "last-pair" 1 Any;
    "reverse" 1 List;
    "append" 2 Any;
    "list-copy" 1 Any;
    "make-vector" 1 Vector;
    "make-vector" 2 Vector;
    "eqv?" 2 Boolean;
    "equal?" 2 Boolean;
    "+" 2 Number;
    "-" 2 Number;
    "*" 2 Number;
    "/" 2 Number;
    "quotient" 2 Number;
    "remainder" 2 Number;
    "modulo" 2 Number;
    "floor-quotient" 2 Number;
    "bitwise-and" 2 ExactInteger;
    "bitwise-ior" 2 ExactInteger;
    "bitwise-xor" 2 ExactInteger;
    "arithmetic-shift" 2 ExactInteger;
    "<" 2 Boolean;
    "<=" 2 Boolean;
    "=" 2 Boolean;
    ">" 2 Boolean;
    ">=" 2 Boolean;
    "number?" 1 Boolean;
    "integer?" 1 Boolean;
    "exact-integer?" 1 Boolean;
    "symbol->string" 1 String;
    "string->symbol" 1 Symbol;
    "string=?" 2 Boolean;
    "string<?" 2 Boolean;
    "string>?" 2 Boolean;
    "string-set!" 3 Any;
    "substring" 3 String;
    "string-copy" 1 String;
    "string-append" 2 String;
    "string-append" 3 String;
    "string-downcase" 1 String;
    "string-upcase" 1 String;
    "number->string" 1 String;
    "read-line" 1 Any at_times;
    "char-alphabetic?" 1 Boolean;
    "char-numeric?" 1 Boolean;
    "char-whitespace?" 1 Boolean;
    "char-upper-case?" 1 Boolean;
    "char-lower-case?" 1 Boolean;
    "char-upcase" 1 Character;
    "char-downcase" 1 Character;
    "%numeric-vector-ref" 2 Any;
    "%numeric-vector-set!" 3 Any;
    "s8vector-ref" 2 Any;
    "s8vector-set!" 3 Any;
    "u16vector-ref" 2 Any;
    "u16vector-set!" 3 Any;
    "s16vector-ref" 2 Any;
    "s16vector-set!" 3 Any;
    "u32vector-ref" 2 Any;
    "u32vector-set!" 3 Any;
    "s32vector-ref" 2 Any;
    "s32vector-set!" 3 Any;
    "u64vector-ref" 2 Any;
    "u64vector-set!" 3 Any;
    "s64vector-ref" 2 Any;
    "s64vector-set!" 3 Any;
    "f32vector-ref" 2 Any;
    "f32vector-set!" 3 Any;
    "f64vector-ref" 2 Any;
    "f64vector-set!" 3 Any;
    "c64vector-set!" 3 Any;
    "c128vector-set!" 3 Any;
    "open-output-string" 0 Any;
    "get-output-string" 1 String;
    "write-char" 2 Any at_times;
    "newline" 1 Any at_times;
    "write-string" 2 Any at_times;
    "display" 2 Any at_times;
    "write" 2 Any at_times;
    "values" 0 Any;
    "values" 2 Any;
    "values" 3 Any;
    "current-jiffy" 0 Fixnum;
    "%recent-jiffy" 0 Fixnum;
    "%current-task" 0 Any;
    "%set-current-task!" 1 Any;
    "%enter-critical!" 0 Any at_times;
    "%leave-critical!" 0 Any at_times;
    "%lock!" 1 Any at_times;
    "%unlock!" 1 Any at_times;
    "%claim!" 1 Boolean at_times;
    "%make-ready!" 2 Any at_times;
    "real?" 1 Boolean;
    "complex?" 1 Boolean;
    "rational?" 1 Boolean;
    "exact-rational?" 1 Boolean;
    "exact-nonnegative-integer?" 1 Boolean;
    "exact?" 1 Boolean;
    "inexact?" 1 Boolean;
    "nan?" 1 Boolean;
    "finite?" 1 Boolean;
    "infinite?" 1 Boolean;
    "even?" 1 Boolean;
    "odd?" 1 Boolean;
    "=" 3 Boolean;
    "<" 3 Boolean;
    ">" 3 Boolean;
    "<=" 3 Boolean;
    ">=" 3 Boolean;
    "min" 2 Number;
    "min" 3 Number;
    "max" 2 Number;
    "max" 3 Number;
    "abs" 1 Number;
    "magnitude" 1 Number;
    "cube" 1 Number;
    "numerator" 1 Number;
    "denominator" 1 Number;
    "gcd" 2 Number;
    "lcm" 2 Number;
    "gcd" 3 Number;
    "lcm" 3 Number;
    "floor/" 2 Any;
    "truncate/" 2 Any;
    "exact-integer-sqrt" 1 Any;
    "exact-floor" 1 ExactInteger;
    "exact-ceiling" 1 ExactInteger;
    "exact-truncate" 1 ExactInteger;
    "exact-round" 1 ExactInteger;
    "sqrt" 1 Number;
    "exp" 1 Number;
    "sin" 1 Number;
    "cos" 1 Number;
    "tan" 1 Number;
    "atan" 1 Number;
    "asin" 1 Number;
    "acos" 1 Number;
    "log" 1 Number;
    "log" 2 Number;
    "rationalize" 2 Number;
    "%flonum-function" 2 Flonum;
    "%flonum-operation" 3 Flonum;
    "%flonum-multiply-add" 3 Flonum;
    "atan" 2 Number;
    "expt" 2 Number;
    "bitwise-not" 1 ExactInteger;
    "bitwise-if" 3 ExactInteger;
    "bit-count" 1 Fixnum;
    "integer-length" 1 Fixnum;
    "first-set-bit" 1 Fixnum;
    "bit-set?" 2 Boolean;
    "copy-bit" 3 ExactInteger;
    "bit-field" 3 ExactInteger;
    "number->string" 2 String;
    "string->number" 1 Any;
    "string->number" 2 Any;
    "-" 1 Number;
    "/" 1 Number;
    "exact" 1 Number;
    "inexact" 1 Number;
    "floor" 1 Number;
    "ceiling" 1 Number;
    "truncate" 1 Number;
    "round" 1 Number;
    "make-rectangular" 2 Number;
    "make-polar" 2 Number;
    "real-part" 1 Number;
    "imag-part" 1 Number;
    "angle" 1 Number;
    "char=?" 3 Boolean;
    "char<?" 3 Boolean;
    "char>?" 3 Boolean;
    "char<=?" 3 Boolean;
    "char>=?" 3 Boolean;
    "char-ci=?" 2 Boolean;
    "char-ci<?" 2 Boolean;
    "char-ci>?" 2 Boolean;
    "char-ci<=?" 2 Boolean;
    "char-ci>=?" 2 Boolean;
    "char-foldcase" 1 Character;
    "char-titlecase" 1 Character;
    "digit-value" 1 Any;
    "symbol=?" 2 Boolean;
    "symbol=?" 3 Boolean;
    "boolean=?" 2 Boolean;
    "boolean=?" 3 Boolean;
    "string<=?" 2 Boolean;
    "string>=?" 2 Boolean;
    "string=?" 3 Boolean;
    "string-ci=?" 2 Boolean;
    "string-ci<?" 2 Boolean;
    "string-ci>?" 2 Boolean;
    "string-ci<=?" 2 Boolean;
    "string-ci>=?" 2 Boolean;
    "string-null?" 1 Boolean;
    "string-prefix?" 2 Boolean;
    "string-suffix?" 2 Boolean;
    "%string-index" 2 Any;
    "%string-rindex" 2 Any;
    "make-string" 1 String;
    "make-string" 2 String;
    "string" 1 String;
    "string" 2 String;
    "string" 3 String;
    "substring" 2 String;
    "string-copy" 2 String;
    "string-copy" 3 String;
    "string-append" 1 String;
    "string-reverse" 1 String;
    "string-foldcase" 1 String;
    "string-pad-left" 2 String;
    "string-pad-right" 2 String;
    "string->list" 1 List;
    "string->vector" 1 Vector;
    "list->string" 1 String;
    "%reverse-list->string" 1 String;
    "vector->string" 1 String;
    "string->utf8" 1 Any;
    "utf8->string" 1 String;
    "append" 3 Any;
    "make-list" 1 List;
    "make-list" 2 List;
    "iota" 1 List;
    "iota" 2 List;
    "take" 2 List;
    "drop" 2 Any;
    "last" 1 Any;
    "first" 1 Any;
    "second" 1 Any;
    "third" 1 Any;
    "fourth" 1 Any;
    "fifth" 1 Any;
    "length+" 1 Any;
    "append-reverse" 2 Any;
    "vector->list" 1 List;
    "vector->list" 2 List;
    "vector->list" 3 List;
    "list->vector" 1 Vector;
    "%reverse-list->vector" 1 Vector;
    "vector-copy" 1 Vector;
    "vector-copy" 2 Vector;
    "vector-copy" 3 Vector;
    "subvector" 3 Vector;
    "vector-append" 2 Vector;
    "vector-append" 3 Vector;
    "make-bytevector" 1 Any;
    "make-bytevector" 2 Any;
    "bytevector" 0 Any;
    "bytevector" 1 Any;
    "bytevector" 2 Any;
    "bytevector" 3 Any;
    "bytevector-copy" 1 Any;
    "bytevector-copy" 2 Any;
    "bytevector-copy" 3 Any;
    "bytevector-append" 2 Any;
    "input-port?" 1 Boolean;
    "output-port?" 1 Boolean;
    "textual-port?" 1 Boolean;
    "binary-port?" 1 Boolean;
    "caaar" 1 Any;
    "cdaar" 1 Any;
    "caaaar" 1 Any;
    "caaadr" 1 Any;
    "caadar" 1 Any;
    "caaddr" 1 Any;
    "cadaar" 1 Any;
    "cadadr" 1 Any;
    "caddar" 1 Any;
    "cdaaar" 1 Any;
    "cdaadr" 1 Any;
    "cdadar" 1 Any;
    "cdaddr" 1 Any;
    "cddaar" 1 Any;
    "cddadr" 1 Any;
    "cdddar" 1 Any;
    "sixth" 1 Any;
    "seventh" 1 Any;
    "eighth" 1 Any;
    "ninth" 1 Any;
    "tenth" 1 Any;
    "%numeric-vector-type" 1 Any;
    "%numeric-vector-length" 1 Fixnum;
    "s8vector?" 1 Boolean;
    "s8vector-length" 1 Fixnum;
    "u16vector?" 1 Boolean;
    "u16vector-length" 1 Fixnum;
    "s16vector?" 1 Boolean;
    "s16vector-length" 1 Fixnum;
    "u32vector?" 1 Boolean;
    "u32vector-length" 1 Fixnum;
    "s32vector?" 1 Boolean;
    "s32vector-length" 1 Fixnum;
    "u64vector?" 1 Boolean;
    "u64vector-length" 1 Fixnum;
    "s64vector?" 1 Boolean;
    "s64vector-length" 1 Fixnum;
    "f32vector?" 1 Boolean;
    "f32vector-length" 1 Fixnum;
    "f64vector?" 1 Boolean;
    "f64vector-length" 1 Fixnum;
    "c64vector?" 1 Boolean;
    "c64vector-length" 1 Fixnum;
    "c128vector?" 1 Boolean;
    "c128vector-length" 1 Fixnum;
    "%current-port" 1 Any;
    "read-char" 1 Any at_times;
    "peek-char" 1 Any at_times;
    "char-ready?" 1 Boolean at_times;
    "read-string" 2 Any at_times;
    "read-u8" 1 Any at_times;
    "peek-u8" 1 Any at_times;
    "u8-ready?" 1 Boolean at_times;
    "write-u8" 2 Any at_times;
    "read-bytevector" 2 Any at_times;
    "read-bytevector!" 2 Any at_times;
    "write-bytevector" 2 Any at_times;
    "write-bytevector" 3 Any at_times;
    "open-input-string" 1 Any at_times;
    "open-input-bytevector" 1 Any at_times;
    "open-output-bytevector" 0 Any;
    "get-output-bytevector" 1 Any at_times;
    "close-port" 1 Any at_times;
    "close-input-port" 1 Any at_times;
    "close-output-port" 1 Any at_times;
    "input-port-open?" 1 Boolean at_times;
    "output-port-open?" 1 Boolean at_times;
    "string" 4 String;
    "string" 5 String;
    "string" 6 String;
    "string" 7 String;
    "string" 8 String;
    "string-append" 4 String;
    "string-append" 5 String;
    "string-append" 6 String;
    "string-concatenate" 1 String;
    "string-join" 2 String;
    "string-search-forward" 3 Any;
    "string-contains" 2 Any;
    "string-contains" 3 Any;
    "string-contains" 4 Any;
    "string->list" 2 List;
    "string->list" 3 List;
    "string->vector" 2 Vector;
    "string->vector" 3 Vector;
    "vector->string" 2 String;
    "vector->string" 3 String;
    "string->utf8" 2 Any;
    "string->utf8" 3 Any;
    "utf8->string" 2 String;
    "utf8->string" 3 String;
    "string<?" 3 Boolean;
    "string>?" 3 Boolean;
    "string<=?" 3 Boolean;
    "string>=?" 3 Boolean;
    "char-ci=?" 3 Boolean;
    "char-ci<?" 3 Boolean;
    "char-ci>?" 3 Boolean;
    "char-ci<=?" 3 Boolean;
    "char-ci>=?" 3 Boolean;
    "string-copy!" 3 Any;
    "string-copy!" 4 Any;
    "string-copy!" 5 Any;
    "string-fill!" 2 Any;
    "string-fill!" 3 Any;
    "string-fill!" 4 Any;
    "bytevector-copy!" 3 Any;
    "bytevector-copy!" 4 Any;
    "bytevector-copy!" 5 Any;
    "bytevector-fill!" 2 Any;
    "bytevector-fill!" 3 Any;
    "bytevector-fill!" 4 Any;
    "vector-copy!" 3 Any at_times;
    "vector-copy!" 4 Any at_times;
    "vector-copy!" 5 Any at_times;
    "vector-fill!" 2 Any at_times;
    "vector-fill!" 3 Any at_times;
    "vector-fill!" 4 Any at_times;
    "read" 1 Any at_times;
    "write-string" 3 Any at_times;
    "write-string" 4 Any at_times;
    "write-bytevector" 4 Any at_times;
    "read-bytevector!" 3 Any at_times;
    "read-bytevector!" 4 Any at_times;
    "flush-output-port" 1 Any at_times;
    "%make-hash-table" 3 HashTable;
    "drop-right" 2 List;
    "take-right" 2 Any;
    "split-at" 2 Any;
    "list-set!" 3 Any at_times;
    "vector-swap!" 3 Any at_times;
    "string-hash" 1 Fixnum;
    "hash" 1 Fixnum;
    "%wasm-memory-ref" 4 Number at_times;
    "%wasm-memory-set!" 5 Any at_times;
}

/// The leaf function of a primitive for a number of arguments, if there is one.
pub fn lookup(primitive: &str, arguments: usize) -> Option<LeafId> {
    static INDEX: OnceLock<HashMap<(&str, usize), LeafId>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let rows = ROWS.iter().enumerate();
        rows.map(|(number, row)| ((row.primitive, row.arguments), LeafId(number as u16)))
            .collect()
    });
    index.get(&(primitive, arguments)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{self, Flags};

    #[test]
    fn rows_name_primitives_that_take_so_many_arguments() {
        for (position, leaf) in ROWS.iter().enumerate() {
            let id = primitives::lookup(leaf.primitive).expect(leaf.primitive);
            assert!(id.row().accepts(leaf.arguments), "{}", leaf.primitive);
            assert!(!id.row().flags.has(Flags::FRAME), "{}", leaf.primitive);
            assert!(leaf.arguments <= ARGUMENTS_MAX, "{}", leaf.primitive);
            let found = lookup(leaf.primitive, leaf.arguments);
            assert_eq!(found, Some(LeafId(position as u16)), "{}", leaf.primitive);
        }
        assert_eq!(lookup("memq", 3), None);
    }
}
