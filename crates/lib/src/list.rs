//! Walking and building lists in Rust.
//!
//! Every walk ends, on circular lists too, and nothing recurses. A walk in progress must stay in a
//! local variable, since the collector finds references on the native stack only.

use canny_value::Value;
use canny_vm::{Raise, Thread};

/// The list of a row of `canny_tables::protocols`: each value is at the position before it, and
/// each position of the row has a value.
pub(crate) fn list_at<const COUNT: usize>(
    thread: &mut Thread,
    fields: [(usize, Value); COUNT],
) -> Value {
    let mut values = [Value::FALSE; COUNT];
    for (position, value) in fields {
        values[position] = value;
    }
    let mut list = Value::NIL;
    for value in values.into_iter().rev() {
        list = thread.cons(value, list);
    }
    list
}

/// The result of following the cdrs of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// So many pairs, then `()`.
    Proper(usize),
    /// So many pairs (perhaps none), then something else.
    Dotted(usize),
    /// It never ends.
    Circular,
}

/// Measures a list.
pub(crate) fn measure(list: Value) -> Extent {
    let mut walk = Walk::new(list);
    let mut length = 0;
    while walk.next_pair().is_some() {
        length += 1;
    }
    match walk.end() {
        End::Nil => Extent::Proper(length),
        End::Other(_) => Extent::Dotted(length),
        End::Circular => Extent::Circular,
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At `()`.
    Nil,
    /// At something else that is no pair.
    Other(Value),
    /// It came back to a pair where it had been.
    Circular,
}

/// Visits the pairs of a list in order. A circular list may be visited up to three times before the
/// circle is noticed (Brent's algorithm: a mark is compared with every pair, and is moved to the
/// current pair after 2, 4, 8 … steps).
///
/// The walk must stay in a local variable: what it holds is not seen elsewhere by the collector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    rest: Value,
    mark: Value,
    steps_left: usize,
    lap: usize,
    circular: bool,
}

impl Walk {
    pub(crate) fn new(list: Value) -> Walk {
        Walk {
            rest: list,
            mark: Value::FALSE,
            steps_left: 16,
            lap: 16,
            circular: false,
        }
    }

    /// The next pair.
    #[inline(always)]
    pub(crate) fn next_pair(&mut self) -> Option<Value> {
        let pair = self.rest.as_pair()?;
        if self.rest == self.mark {
            self.circular = true;
            return None;
        }
        self.steps_left -= 1;
        if self.steps_left == 0 {
            self.lap *= 2;
            self.steps_left = self.lap;
            self.mark = self.rest;
        }
        self.rest = pair.cdr();
        Some(pair.value())
    }

    /// How the walk ended, once there is no next pair.
    #[inline(always)]
    pub(crate) fn end(&self) -> End {
        if self.circular {
            End::Circular
        } else if self.rest.is_nil() {
            End::Nil
        } else {
            End::Other(self.rest)
        }
    }
}

/// The elements of the list.
impl Iterator for Walk {
    type Item = Value;

    #[inline(always)]
    fn next(&mut self) -> Option<Value> {
        self.next_pair().and_then(Value::car)
    }
}

/// Builds a list from its first element to its last.
///
/// The builder must stay in a local variable: what it holds is not seen elsewhere by the collector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builder {
    head: Value,
    last: Value,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder {
            head: Value::NIL,
            last: Value::NIL,
        }
    }

    /// Appends an element.
    #[inline(always)]
    pub(crate) fn push(&mut self, thread: &mut Thread, element: Value) -> Result<(), Raise> {
        let pair = thread.try_cons(element, Value::NIL)?;
        if self.last.is_nil() {
            self.head = pair;
        } else {
            thread.set_cdr(self.last, pair);
        }
        self.last = pair;
        Ok(())
    }

    /// The list, ending in `tail`.
    pub(crate) fn finish(self, thread: &mut Thread, tail: Value) -> Value {
        if self.last.is_nil() {
            return tail;
        }
        thread.set_cdr(self.last, tail);
        self.head
    }
}

/// Pairs that the quick walks below visit at most, lest they never end.
pub(crate) const QUICK_PAIRS_MAX: usize = 1 << 16;

/// The first sublist of a proper list whose car is the same, or `#f`. `None` for an object that is
/// no list, or is a long one. `is_alone` says that the wanted object is the same as nothing but
/// itself.
#[inline(always)]
pub(crate) fn find_member(
    wanted: Value,
    list: Value,
    is_alone: bool,
    same: impl Fn(Value, Value) -> bool,
) -> Option<Value> {
    if is_alone {
        return first_member(list, |element| element == wanted);
    }
    first_member(list, |element| same(wanted, element))
}

#[inline(always)]
fn first_member(list: Value, is_wanted: impl Fn(Value) -> bool) -> Option<Value> {
    let mut rest = list;
    for _ in 0..QUICK_PAIRS_MAX {
        let Some(pair) = rest.as_pair() else {
            return rest.is_nil().then_some(Value::FALSE);
        };
        if is_wanted(pair.car()) {
            return Some(rest);
        }
        rest = pair.cdr();
    }
    None
}

/// The first pair of an association list whose car is the same, or `#f`. None for what is no such list,
/// or is a long one.
#[inline(always)]
pub(crate) fn find_association(
    wanted: Value,
    list: Value,
    is_alone: bool,
    same: impl Fn(Value, Value) -> bool,
) -> Option<Value> {
    if is_alone {
        return first_association(list, |key| key == wanted);
    }
    first_association(list, |key| same(wanted, key))
}

#[inline(always)]
fn first_association(list: Value, is_wanted: impl Fn(Value) -> bool) -> Option<Value> {
    let mut rest = list;
    for _ in 0..QUICK_PAIRS_MAX {
        let Some(pair) = rest.as_pair() else {
            return rest.is_nil().then_some(Value::FALSE);
        };
        let entry = pair.car();
        if is_wanted(entry.as_pair()?.car()) {
            return Some(entry);
        }
        rest = pair.cdr();
    }
    None
}

/// The number of elements of a proper list. None for what is no list, or is a long one.
#[inline]
pub(crate) fn length_quickly(list: Value) -> Option<usize> {
    let mut rest = list;
    for length in 0..QUICK_PAIRS_MAX {
        let Some(pair) = rest.as_pair() else {
            return rest.is_nil().then_some(length);
        };
        rest = pair.cdr();
    }
    None
}

/// The pair after `count` pairs, or the end of the list; `None` when the list is shorter. A circular
/// list counts as shorter when the count is beyond any reason.
pub(crate) fn tail(list: Value, count: usize) -> Option<Value> {
    const REASONABLE: usize = 1 << 26;
    if count > REASONABLE && measure(list) == Extent::Circular {
        return None;
    }
    let mut rest = list;
    for _ in 0..count {
        rest = rest.cdr()?;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, failure, machine, read, written};

    #[test]
    fn extents() {
        let mut thread = machine();
        for (text, expected) in [
            ("()", Extent::Proper(0)),
            ("(1 2 3)", Extent::Proper(3)),
            ("7", Extent::Dotted(0)),
            ("(1 2 . 3)", Extent::Dotted(2)),
            ("#0=(1 . #0#)", Extent::Circular),
            ("(1 2 3 . #0=(4 5 . #0#))", Extent::Circular),
        ] {
            let list = read(&mut thread, text);
            assert_eq!(measure(list), expected, "{text}");
        }
        let mut long = Value::NIL;
        for _ in 0..100_000 {
            long = thread.cons(Value::NIL, long);
        }
        assert_eq!(measure(long), Extent::Proper(100_000));
    }

    #[test]
    fn results() {
        let mut thread = machine();
        let thread = &mut *thread;
        let one = Value::fixnum(1);
        for (name, text, expected) in [
            ("append", "(1 2 . 3)", "(1 2 . 3)"),
            ("list-copy", "(1 2 . 3)", "(1 2 . 3)"),
            ("reverse", "(1 2 3)", "(3 2 1)"),
            ("reverse!", "(1 2 3)", "(3 2 1)"),
            ("concatenate", "((1 2) () (3) 4)", "(1 2 3 . 4)"),
            ("concatenate!", "(() (1 2) () (3) 4)", "(1 2 3 . 4)"),
            ("last-pair", "(1 2 . 3)", "(2 . 3)"),
            ("length+", "#0=(1 . #0#)", "#f"),
            ("third", "(1 2 3)", "3"),
        ] {
            let list = read(thread, text);
            let result = call(thread, name, [list]);
            assert_eq!(written(thread, result), expected, "{name} {text}");
        }
        for (name, text, expected) in [
            ("take", "(1 2 3)", "(1)"),
            ("take!", "(1 2 3)", "(1)"),
            ("drop", "(1 2 3)", "(2 3)"),
            ("take-right", "(1 2 . 3)", "(2 . 3)"),
            ("drop-right", "(1 2 . 3)", "(1)"),
            ("drop-right!", "(1 2 . 3)", "(1)"),
            ("list-tail", "(1 2)", "(2)"),
            ("list-ref", "(1 2)", "2"),
        ] {
            let list = read(thread, text);
            let result = call(thread, name, [list, one]);
            assert_eq!(written(thread, result), expected, "{name} {text}");
        }
        let numbers = call(thread, "iota", [Value::fixnum(4), one, Value::fixnum(-2)]);
        assert_eq!(written(thread, numbers), "(1 -1 -3 -5)");
        let half = thread.flonum(0.5);
        let numbers = call(thread, "iota", [Value::fixnum(3), one, half]);
        assert_eq!(written(thread, numbers), "(1.0 1.5 2.0)");
    }

    #[test]
    fn failures() {
        let mut thread = machine();
        let thread = &mut *thread;
        let circle = read(thread, "#0=(1 2 . #0#)");
        let short = read(thread, "(1 2)");
        let nine = Value::fixnum(9);
        assert_eq!(
            failure(thread, "length", [circle]),
            "type length: argument 1 is not a list"
        );
        assert_eq!(
            failure(thread, "list-copy", [circle]),
            "type list-copy: argument 1 is not a finite list"
        );
        assert_eq!(
            failure(thread, "append", [circle, nine]),
            "type append: argument 1 is not a list"
        );
        assert_eq!(
            failure(thread, "memq", [nine, circle]),
            "type memq: argument 2 is not a list"
        );
        assert_eq!(
            failure(thread, "list-ref", [short, nine]),
            "range list-ref: argument 2 is out of range: the length of the list is 2"
        );
        assert_eq!(
            failure(thread, "reverse!", [nine]),
            "type reverse!: argument 1 is not a list"
        );
        assert_eq!(
            failure(thread, "caddr", [short]),
            "type caddr: argument 1 is not an object that has a caddr"
        );
        assert_eq!(
            failure(thread, "append!", [short, short, short, nine]),
            "type append!: argument 3 is not a list"
        );
        let huge = Value::fixnum(1 << 60);
        assert!(failure(thread, "make-list", [huge, nine]).starts_with("memory make-list"));
    }
}
