//! `eqv?` and `equal?` on objects.
//!
//! `equal?` keeps what it has still to compare on a stack of its own, so deep data cannot exhaust the
//! native one. It begins without any bookkeeping; data that takes many steps may be circular or may
//! share much, and from then on stretches of plain comparison alternate with stretches in which
//! compared pairs are united in a union-find structure and united ones are skipped (after Adams and
//! Dybvig, "Efficient nondestructive equality checking for trees and graphs"). Every such stretch
//! unites new pairs or empties the stack, so the comparison ends.
//!
//! Nothing here allocates in the Scheme heap, which is why values may be kept in Rust collections.

use std::collections::HashMap;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::same_number;

use crate::primitives::numeric_vectors::element_type;
use crate::text::{same_text, with_units};

/// `eqv?`
#[inline]
pub(crate) fn is_eqv(left: Value, right: Value) -> bool {
    left == right
        || match (left.as_object(), right.as_object()) {
            (Some(left), Some(right)) if is_number_kind(left.kind()) => {
                same_number(left.value(), right.value())
            }
            _ => false,
        }
}

/// Whether a value is `eqv?` to nothing but itself.
#[inline]
pub(crate) fn is_eqv_alone(value: Value) -> bool {
    !value
        .as_object()
        .is_some_and(|object| is_number_kind(object.kind()))
}

/// Whether a value is `equal?` to nothing but itself.
#[inline]
pub(crate) fn is_equal_alone(value: Value) -> bool {
    !value.is_reference() || value.is_kind(Kind::Symbol)
}

fn is_number_kind(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Flonum | Kind::Bignum | Kind::Ratnum | Kind::Compnum
    )
}

/// The result of comparing two objects without looking inside.
enum Shallow {
    Same,
    Different,
    /// Two pairs.
    Pairs,
    /// Two vectors of one length, which is not zero.
    Vectors,
}

#[inline]
fn compare_shallowly(left: Value, right: Value) -> Shallow {
    if left == right {
        return Shallow::Same;
    }
    if left.is_pair() && right.is_pair() {
        return Shallow::Pairs;
    }
    match (left.as_object(), right.as_object()) {
        (Some(left), Some(right)) => compare_objects(left, right),
        _ => Shallow::Different,
    }
}

fn compare_objects(left: ObjectRef, right: ObjectRef) -> Shallow {
    let same = match (left.kind(), right.kind()) {
        (Kind::String, Kind::String) => with_units(left, |left| {
            with_units(right, |right| same_text(left, right))
        }),
        (Kind::Vector, Kind::Vector) => {
            if left.length() == right.length() && left.length() > 0 {
                return Shallow::Vectors;
            }
            left.length() == right.length()
        }
        (Kind::Bytevector, Kind::Bytevector) => {
            left.with_bytes(|left| right.with_bytes(|right| left == right))
        }
        (Kind::NumericVector, Kind::NumericVector) => {
            element_type(left) == element_type(right)
                && left.with_bytes(|left| right.with_bytes(|right| left == right))
        }
        (left_kind, _) => is_number_kind(left_kind) && same_number(left.value(), right.value()),
    };
    if same {
        Shallow::Same
    } else {
        Shallow::Different
    }
}

/// A comparison that remains to be done.
enum Task {
    /// Two pairs or two vectors of one length.
    Nodes(Value, Value),
    /// Two vectors of one length, from an element on.
    Elements(ObjectRef, ObjectRef, usize),
}

/// Steps of a comparison before anything is remembered.
const STEPS_UNTIL_SUSPICION: u32 = 1 << 16;
/// Steps of a stretch in which compared nodes are united.
const UNITING_STEPS: u32 = 64;
/// Steps of a plain stretch once there was suspicion; a prime, lest it go in step with a circle.
const PLAIN_STEPS: u32 = 509;

struct Comparison {
    tasks: Vec<Task>,
    united: UnionFind,
    uniting: bool,
    steps_left: u32,
}

/// `equal?`
pub(crate) fn is_equal(left: Value, right: Value) -> bool {
    match compare_shallowly(left, right) {
        Shallow::Same => true,
        Shallow::Different => false,
        Shallow::Pairs | Shallow::Vectors => {
            let mut steps_left = STEPS_UNTIL_SUSPICION;
            let quick = compare_small(left, right, DEPTH_MAX, &mut steps_left);
            quick.unwrap_or_else(|| {
                Comparison {
                    tasks: vec![Task::Nodes(left, right)],
                    united: UnionFind::default(),
                    uniting: false,
                    steps_left,
                }
                .run()
            })
        }
    }
}

/// Nesting that is followed on the native stack.
const DEPTH_MAX: u32 = 100;

/// Compares what is neither deep nor large; none if it turns out to be.
fn compare_small(
    mut left: Value,
    mut right: Value,
    depth_left: u32,
    steps_left: &mut u32,
) -> Option<bool> {
    loop {
        if left == right {
            return Some(true);
        }
        if let (Some(x), Some(y)) = (left.as_pair(), right.as_pair()) {
            *steps_left = steps_left.checked_sub(1)?;
            let (inner, other) = (x.car(), y.car());
            if inner != other
                && !compare_small(inner, other, depth_left.checked_sub(1)?, steps_left)?
            {
                return Some(false);
            }
            (left, right) = (x.cdr(), y.cdr());
            continue;
        }
        let (Some(x), Some(y)) = (left.as_object(), right.as_object()) else {
            return Some(false);
        };
        return match compare_objects(x, y) {
            Shallow::Same => Some(true),
            Shallow::Vectors => {
                let depth_left = depth_left.checked_sub(1)?;
                for index in 0..x.length().min(y.length()) {
                    *steps_left = steps_left.checked_sub(1)?;
                    if !compare_small(x.field(index), y.field(index), depth_left, steps_left)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Shallow::Different | Shallow::Pairs => Some(false),
        };
    }
}

impl Comparison {
    fn run(mut self) -> bool {
        while let Some(task) = self.tasks.pop() {
            let same = match task {
                Task::Nodes(left, right) => self.compare_nodes(left, right),
                Task::Elements(left, right, start) => self.compare_elements(left, right, start),
            };
            if !same {
                return false;
            }
        }
        true
    }

    /// Counts a step. Whether the nodes are known to be equal, or to be under comparison already.
    fn is_settled(&mut self, left: Value, right: Value) -> bool {
        if self.steps_left == 0 {
            self.uniting = !self.uniting;
            self.steps_left = if self.uniting {
                UNITING_STEPS
            } else {
                PLAIN_STEPS
            };
        }
        if self.uniting && self.united.unite(left.bits(), right.bits()) {
            return true;
        }
        self.steps_left -= 1;
        false
    }

    /// Compares two pairs or two vectors of one length; what has to wait becomes a task.
    fn compare_nodes(&mut self, mut left: Value, mut right: Value) -> bool {
        loop {
            if self.is_settled(left, right) {
                return true;
            }
            let (Some(left_pair), Some(right_pair)) = (left.as_pair(), right.as_pair()) else {
                return match (left.as_object(), right.as_object()) {
                    (Some(left), Some(right)) => self.compare_elements(left, right, 0),
                    _ => false,
                };
            };
            let (left_car, right_car) = (left_pair.car(), right_pair.car());
            match compare_shallowly(left_car, right_car) {
                Shallow::Same => {}
                Shallow::Different => return false,
                _ => self.tasks.push(Task::Nodes(left_car, right_car)),
            }
            (left, right) = (left_pair.cdr(), right_pair.cdr());
            match compare_shallowly(left, right) {
                Shallow::Same => return true,
                Shallow::Different => return false,
                _ => {}
            }
        }
    }

    /// Compares the elements of two vectors of one length up to the first that has an inside.
    fn compare_elements(&mut self, left: ObjectRef, right: ObjectRef, start: usize) -> bool {
        for index in start..left.length() {
            let (left_element, right_element) = (left.field(index), right.field(index));
            match compare_shallowly(left_element, right_element) {
                Shallow::Same => {}
                Shallow::Different => return false,
                _ => {
                    if index + 1 < left.length() {
                        self.tasks.push(Task::Elements(left, right, index + 1));
                    }
                    self.tasks.push(Task::Nodes(left_element, right_element));
                    return true;
                }
            }
        }
        true
    }
}

/// Sets of words, united by rank with paths halved.
#[derive(Default)]
struct UnionFind {
    numbers: HashMap<u64, u32>,
    /// Parent and rank of each number.
    nodes: Vec<(u32, u8)>,
}

impl UnionFind {
    fn number(&mut self, word: u64) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry(word).or_insert(next);
        if number == next {
            self.nodes.push((next, 0));
        }
        number
    }

    fn root(&mut self, mut number: u32) -> u32 {
        loop {
            let parent = self.nodes[number as usize].0;
            if parent == number {
                return number;
            }
            let grandparent = self.nodes[parent as usize].0;
            self.nodes[number as usize].0 = grandparent;
            number = grandparent;
        }
    }

    /// Unites the sets of two words; whether they were one already.
    fn unite(&mut self, left: u64, right: u64) -> bool {
        let (left, right) = (self.number(left), self.number(right));
        let (left, right) = (self.root(left), self.root(right));
        if left == right {
            return true;
        }
        let (left_rank, right_rank) = (self.nodes[left as usize].1, self.nodes[right as usize].1);
        let (child, parent) = if left_rank < right_rank {
            (left, right)
        } else {
            (right, left)
        };
        self.nodes[child as usize].0 = parent;
        if left_rank == right_rank {
            self.nodes[parent as usize].1 += 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{machine, read};

    fn check(left: &str, right: &str, expected: bool) {
        let mut thread = machine();
        let left_value = read(&mut thread, left);
        let right_value = read(&mut thread, right);
        assert_eq!(
            is_equal(left_value, right_value),
            expected,
            "{left} {right}"
        );
        assert_eq!(
            is_equal(right_value, left_value),
            expected,
            "{right} {left}"
        );
    }

    #[test]
    fn structures() {
        check(
            "(1 #(2 \"drei\") #u8(4) . 5.5)",
            "(1 #(2 \"drei\") #u8(4) . 5.5)",
            true,
        );
        check("(1 2)", "(1 2 3)", false);
        check("#(1 (2))", "#(1 (3))", false);
        check("#()", "#()", true);
        check("#()", "\"\"", false);
        check("2", "2.0", false);
        check("100000000000000000000", "100000000000000000000", true);
        check("1/3", "1/3", true);
        check("0.0", "-0.0", false);
        check("+nan.0", "+nan.0", true);
    }

    #[test]
    fn circular_structures() {
        check("#0=(1 . #0#)", "#0=(1 . #0#)", true);
        check("#0=(1 . #0#)", "#0=(1 1 . #0#)", true);
        check("#0=(1 2 . #0#)", "#0=(1 1 . #0#)", false);
        check("#0=#(1 #0# 3)", "#0=#(1 #(1 #0# 3) 3)", true);
        check("#0=#(1 #0# 3)", "#0=#(1 #(1 #0# 4) 3)", false);
        check("#0=((#0# . #0#) . #0#)", "#0=(#0# . #0#)", true);
        check("#0=(a b . #0#)", "(a b a b a b)", false);
    }

    /// Lists that share so much that their unfolding has 2 to the 200th parts.
    #[test]
    fn shared_structures() {
        let mut thread = machine();
        let double = |thread: &mut canny_vm::Thread| {
            let mut value = Value::NIL;
            for _ in 0..200 {
                value = thread.cons(value, value);
            }
            value
        };
        let left = double(&mut thread);
        let right = double(&mut thread);
        assert!(is_equal(left, right));
    }

    #[test]
    fn deep_structures() {
        let mut thread = machine();
        let nest = |thread: &mut canny_vm::Thread, innermost: i64| {
            let mut value = Value::fixnum(innermost);
            for _ in 0..1_000_000 {
                value = thread.cons(value, Value::NIL);
            }
            value
        };
        let left = nest(&mut thread, 1);
        let same = nest(&mut thread, 1);
        let other = nest(&mut thread, 2);
        assert!(is_equal(left, same));
        assert!(!is_equal(left, other));
    }
}
