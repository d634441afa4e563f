//! Primitives that compare strings, by scalar values or after full case folding.
//!
//! Strings are compared unit by unit without making folded copies. Full folding may turn one
//! character into three: texts with such characters are compared as streams.

use std::cmp::Ordering;

use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::character_facts::{Case, Facts};
use crate::text::{Units, compare_text, same_text, with_both};
use crate::unicode::fold_fully;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "string=?" => |thread, call| call.neighbours(thread, Call::string, is_same);
    "string<?" => |thread, call| compare(thread, call, Ordering::is_lt);
    "string>?" => |thread, call| compare(thread, call, Ordering::is_gt);
    "string<=?" => |thread, call| compare(thread, call, Ordering::is_le);
    "string>=?" => |thread, call| compare(thread, call, Ordering::is_ge);
    "string-ci=?" => |thread, call| compare_folded(thread, call, Ordering::is_eq);
    "string-ci<?" => |thread, call| compare_folded(thread, call, Ordering::is_lt);
    "string-ci>?" => |thread, call| compare_folded(thread, call, Ordering::is_gt);
    "string-ci<=?" => |thread, call| compare_folded(thread, call, Ordering::is_le);
    "string-ci>=?" => |thread, call| compare_folded(thread, call, Ordering::is_ge);
};

fn is_same(left: &ObjectRef, right: &ObjectRef) -> bool {
    with_both(*left, *right, same_text)
}

fn compare(thread: &mut Thread, call: Call, wanted: fn(Ordering) -> bool) -> Result<Value, Raise> {
    call.neighbours(thread, Call::string, |&left, &right| {
        wanted(with_both(left, right, compare_text))
    })
}

fn compare_folded(
    thread: &mut Thread,
    call: Call,
    wanted: fn(Ordering) -> bool,
) -> Result<Value, Raise> {
    call.neighbours(thread, Call::string, |&left, &right| {
        wanted(with_both(left, right, compare_folded_text))
    })
}

/// Compares two texts after full folding. Characters that fold to one each are compared one by one, from
/// the first other one on the texts are streams.
pub(crate) fn compare_folded_text(left: Units<'_>, right: Units<'_>) -> Ordering {
    match (left, right) {
        (Units::Narrow(left), Units::Narrow(right)) => {
            let units = left.iter().zip(right);
            let units = units.map(|(left, right)| (u32::from(*left), u32::from(*right)));
            compare_folded_units(left.len(), right.len(), units)
        }
        (Units::Wide(left), Units::Wide(right)) => {
            let units = left.iter().zip(right);
            let units = units.map(|(left, right)| (*left, *right));
            compare_folded_units(left.len(), right.len(), units)
        }
        _ => {
            let units = left.iter().zip(right.iter());
            compare_folded_units(left.length(), right.length(), units)
        }
    }
    .unwrap_or_else(|index| {
        let left = left.slice(index..left.length());
        let right = right.slice(index..right.length());
        Folded::of(left).cmp(Folded::of(right))
    })
}

/// Compares texts of these lengths by the pairs of their units, or gives the index of a pair one of
/// which does not fold to one character.
#[inline(always)]
fn compare_folded_units(
    left_length: usize,
    right_length: usize,
    units: impl Iterator<Item = (u32, u32)>,
) -> Result<Ordering, usize> {
    for (index, (left, right)) in units.enumerate() {
        if left == right {
            continue;
        }
        let (Some(left), Some(right)) = (folded_unit(left), folded_unit(right)) else {
            return Err(index);
        };
        if left != right {
            return Ok(left.cmp(&right));
        }
    }
    // Each of the characters left folds to at least one.
    Ok(left_length.cmp(&right_length))
}

#[inline(always)]
fn folded_unit(unit: u32) -> Option<char> {
    let character = crate::text::character(unit);
    if character.is_ascii() {
        return Some(character.to_ascii_lowercase());
    }
    Facts::of(character).mapped(Case::Folded)
}

/// The characters of a text after full folding.
pub(crate) struct Folded<'a> {
    units: Units<'a>,
    next: usize,
    /// The folding of the last character, and the number of its characters that were given.
    pending: [char; Folded::LENGTH_MAX],
    given: usize,
    count: usize,
}

impl<'a> Folded<'a> {
    /// No character folds to more.
    const LENGTH_MAX: usize = 3;

    pub(crate) fn of(units: Units<'a>) -> Folded<'a> {
        Folded {
            units,
            next: 0,
            pending: ['\0'; Folded::LENGTH_MAX],
            given: 0,
            count: 0,
        }
    }
}

impl Iterator for Folded<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.given == self.count {
            if self.next == self.units.length() {
                return None;
            }
            let character = crate::text::character(self.units.at(self.next));
            self.next += 1;
            (self.given, self.count) = (0, 0);
            fold_fully(character, |folded| {
                if let Some(place) = self.pending.get_mut(self.count) {
                    *place = folded;
                    self.count += 1;
                }
            });
        }
        self.given += 1;
        Some(self.pending[self.given - 1])
    }
}
