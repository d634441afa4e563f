//! Leaf functions of arithmetic and comparisons, for numbers of any kinds.
//!
//! They decline what is no number, what is an error, and long exact numbers.

use std::cmp::Ordering;

use canny_vm::InPlace;

use super::{Word, or_decline, truth};

macro_rules! arithmetic {
    ($($name:ident)*) => { $(
        pub(super) extern "C" fn $name(thread: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
            or_decline(thread.$name(x, y))
        }
    )* };
}

arithmetic! {
    add subtract multiply divide
    quotient remainder modulo floor_quotient
    bitwise_and bitwise_or bitwise_xor arithmetic_shift
}

macro_rules! comparisons {
    ($($name:ident $holds:expr;)*) => { $(
        pub(super) extern "C" fn $name(thread: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
            truth(thread.compare(x, y, $holds))
        }
    )* };
}

comparisons! {
    less Ordering::is_lt;
    less_equal Ordering::is_le;
    greater Ordering::is_gt;
    greater_equal Ordering::is_ge;
}

pub(super) extern "C" fn equal(thread: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    truth(thread.number_equal(x, y))
}
