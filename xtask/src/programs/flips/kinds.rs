//! The kinds of values that a place holds before and after it flips, with literals of each.
//!
//! Kinds that the specializer speculates on occur more often. A kind can be told apart by output,
//! so that a wrong value shows.

use crate::programs::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fixnum,
    Flonum,
    Bignum,
    Rational,
    /// An inexact complex number.
    Complex,
    /// A complex number with exact parts.
    ExactComplex,
    Boolean,
    Null,
    List,
    Vector,
    Text,
    /// A string with characters that need more than a byte.
    WideText,
    Character,
    Symbol,
    Bytes,
    /// A vector of bare flonums.
    Floats,
    /// A procedure from one value to a value.
    Closure,
    Record,
    /// A record of another type, whose fields are in another order.
    OtherRecord,
    Box,
    Table,
    Promise,
    Eof,
    Unspecified,
}

use Kind::{
    Bignum, Boolean, Box, Bytes, Character, Closure, Complex, Eof, ExactComplex, Fixnum, Floats,
    Flonum, List, Null, OtherRecord, Promise, Rational, Record, Symbol, Table, Text, Unspecified,
    Vector, WideText,
};

/// Every kind once.
pub const KINDS: &[Kind] = &[
    Fixnum,
    Flonum,
    Bignum,
    Rational,
    Complex,
    ExactComplex,
    Boolean,
    Null,
    List,
    Vector,
    Text,
    WideText,
    Character,
    Symbol,
    Bytes,
    Floats,
    Closure,
    Record,
    OtherRecord,
    Box,
    Table,
    Promise,
    Eof,
    Unspecified,
];

/// The kinds on which code speculates most, more than once.
const FREQUENT: &[Kind] = &[
    Fixnum, Fixnum, Fixnum, Flonum, Flonum, Flonum, Flonum, Boolean, Boolean, List, Vector,
    Closure, Record, Complex, Bignum, Text, Character,
];

impl Kind {
    /// A kind that code is warmed up with.
    pub fn usual(random: &mut Random) -> Kind {
        if random.once_in(4) {
            *random.choose(KINDS)
        } else {
            *random.choose(FREQUENT)
        }
    }

    /// A kind that comes later.
    pub fn unusual(random: &mut Random) -> Kind {
        match random.below(4) {
            0 => Boolean,
            1 => *random.choose(FREQUENT),
            _ => *random.choose(KINDS),
        }
    }

    pub fn is_number(self) -> bool {
        matches!(
            self,
            Fixnum | Flonum | Bignum | Rational | Complex | ExactComplex
        )
    }

    /// Values written without anything in scope. Those that can be changed are made anew.
    pub fn literals(self) -> &'static [&'static str] {
        match self {
            Fixnum => &[
                "0",
                "1",
                "2",
                "3",
                "-1",
                "7",
                "-13",
                "100",
                "65536",
                "1152921504606846975",
            ],
            Flonum => &[
                "1.5", "0.0", "-0.0", "2.5", "-3.25", "1e10", "1e300", "3.0", "+nan.0", "+inf.0",
            ],
            Bignum => &[
                "100000000000000000000",
                "-36893488147419103232",
                "9223372036854775808",
            ],
            Rational => &["1/2", "-7/3", "22/7"],
            Complex => &["1.5+2.5i", "-0.5-0.25i", "(make-rectangular 0.25 -1.0)"],
            ExactComplex => &["1+2i", "-3-1/2i"],
            Boolean => &["#f", "#f", "#t"],
            Null => &["'()"],
            List => &[
                "'(1 2 3)",
                "(list 1 2)",
                "(list 1.5 2.5)",
                "(cons 1 2)",
                "'(a b)",
                "(list #f 'a \"s\")",
            ],
            Vector => &[
                "(vector 1 2 3)",
                "(vector 1.5 2.5)",
                "'#(1 2 3)",
                "(make-vector 4 0)",
                "(vector 'a #f)",
                "(vector)",
            ],
            Text => &[
                "\"abc\"",
                "(string #\\a #\\b)",
                "\"\"",
                "(make-string 3 #\\z)",
            ],
            WideText => &[
                "\"a\u{3bb}b\"",
                "(string #\\a #\\x1d11e)",
                "(make-string 2 #\\x3bb)",
            ],
            Character => &["#\\a", "#\\Z", "#\\x3bb", "#\\0", "#\\x1d11e"],
            Symbol => &["'a", "'b", "'quite-long"],
            Bytes => &["(bytevector 1 2 3)", "(make-bytevector 4 255)", "#u8(7 8)"],
            Floats => &["(f64vector 1.5 2.5 3.5)", "(make-f64vector 4 0.25)"],
            Closure => &[
                "(lambda (x) x)",
                "(lambda (x) 1)",
                "(lambda (x) 1.5)",
                "list",
                "not",
            ],
            Record => &[
                "(make-point 1 2)",
                "(make-point 0.5 'none)",
                "(make-point #f 1.5)",
            ],
            OtherRecord => &["(make-pixel 1 2 3)", "(make-pixel 'a 0.5 #t)"],
            Box => &["(box 1)", "(box 1.5)", "(box #f)"],
            Table => &["(table-of 'a 1)", "(table-of 'a 1.5)"],
            Promise => &["(make-promise 1)", "(delay 1.5)"],
            Eof => &["(eof-object)"],
            Unspecified => &["(if #f #f)"],
        }
    }

    pub fn literal(self, random: &mut Random) -> String {
        (*random.choose(self.literals())).to_owned()
    }
}
