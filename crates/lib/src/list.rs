//! Walking and building lists. Every walk ends, on circular lists too, and nothing recurses.

use canny_value::Value;
use canny_vm::{Raise, Thread};

/// What following the cdrs of an object finds.
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
    while walk.next().is_some() {
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
