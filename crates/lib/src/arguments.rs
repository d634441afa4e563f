//! Checking and unpacking the arguments of primitives, so that every message has the same form.
//!
//! A [`Call`] knows the procedure to blame. Positions are counted from 0 here, as in
//! [`Arguments::at`]; messages count from 1. An optional argument counts as not given when it is
//! missing, absent or `#!default`.

use std::ops::Range;
use std::time::{Duration, Instant};

use canny_tables::kinds::Kind;
use canny_tables::protocols::{Enumerated, Enumeration};
use canny_value::{ObjectRef, PairRef, Value};
use canny_vm::numbers::short_ratio_to_f64;
use canny_vm::strings::string_length;
use canny_vm::{Arguments, ConditionKind, Raise, Thread};

/// The call of a primitive: whom to blame, and the arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The row's name. The machine shows what users know instead of the name of an internal row.
    pub(crate) who: &'static str,
    arguments: Arguments,
}

/// The duration of a computation, and so the waiters that must not be blocked meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As long as any primitive.
    Short,
    /// Longer than a collection should wait for it.
    OutsideHeap,
    /// Longer than other tasks of the thread should wait for it.
    Blocking,
    /// So long that it has to end with an interrupt: another system thread computes it.
    Offloaded,
}

impl Effort {
    /// This effort, unless it is known to take long.
    pub(crate) fn or_offloaded(self, is_long: bool) -> Effort {
        if is_long { Effort::Offloaded } else { self }
    }
}

/// Rows of a topic: the name of each row and its function, which takes the thread and a [`Call`].
macro_rules! implementations {
    ($($name:literal => $function:expr;)*) => {
        &[$((
            $name,
            |thread, arguments| {
                let call = $crate::arguments::Call::new($name, arguments);
                $crate::arguments::run(thread, call, $function)
            },
        )),*]
    };
}
pub(crate) use implementations;

/// Runs the function of a row; that closures are passed here tells the compiler their types.
#[inline(always)]
pub(crate) fn run(
    thread: &mut Thread,
    call: Call,
    function: impl FnOnce(&mut Thread, Call) -> Result<Value, Raise>,
) -> Result<Value, Raise> {
    function(thread, call)
}

impl Call {
    /// A call of the row called `name`.
    pub(crate) const fn new(name: &'static str, arguments: Arguments) -> Call {
        Call {
            who: name,
            arguments,
        }
    }

    /// Number of arguments.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.arguments.count()
    }

    /// Argument `position`.
    #[inline(always)]
    pub(crate) fn at(self, position: usize) -> Value {
        self.arguments.at(position)
    }

    /// When an operation ends at the latest, by its timeout in seconds; `None` for `#f`.
    pub(crate) fn deadline(
        self,
        thread: &mut Thread,
        position: usize,
    ) -> Result<Option<Instant>, Raise> {
        let timeout = self.at(position);
        if timeout == Value::FALSE {
            return Ok(None);
        }
        let seconds = match timeout.as_fixnum() {
            Some(seconds) => Some(seconds as f64),
            None => timeout.as_flonum().or_else(|| short_ratio_to_f64(timeout)),
        };
        match seconds {
            // A timeout that is longer than a clock can tell is no limit.
            Some(seconds) if seconds >= 0.0 => Ok(Duration::try_from_secs_f64(seconds)
                .ok()
                .and_then(|timeout| canny_replay::now().checked_add(timeout))),
            _ => Err(self.type_error(thread, position, "number of seconds")),
        }
    }

    /// Computes what does not touch the Scheme heap, in a way that fits its effort.
    #[inline]
    pub(crate) fn compute<R: Send + 'static>(
        self,
        thread: &mut Thread,
        effort: Effort,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Raise> {
        match effort {
            Effort::Short => Ok(work()),
            Effort::OutsideHeap => Ok(thread.outside_heap(work)),
            Effort::Blocking => Ok(thread.block_outside_heap(work)),
            Effort::Offloaded => self.compute_offloaded(thread, work),
        }
    }

    /// Has another system thread do what takes long: [`Thread::compute_offloaded`].
    pub(crate) fn compute_offloaded<R: Send + 'static>(
        self,
        thread: &mut Thread,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Raise> {
        let arguments: Vec<Value> = (0..self.count())
            .map(|position| self.at(position))
            .collect();
        thread.compute_offloaded(self.who, &arguments, work)
    }

    /// An optional argument.
    #[inline(always)]
    pub(crate) fn optional(self, position: usize) -> Option<Value> {
        self.arguments
            .get(position)
            .filter(|&value| value != Value::DEFAULT && value != Value::ABSENT)
    }

    /// The condition: argument `position` is not of the expected type.
    #[cold]
    pub(crate) fn type_error(self, thread: &mut Thread, position: usize, expected: &str) -> Raise {
        thread.raise_type(self.who, position + 1, expected, self.at(position))
    }

    /// The condition: `value`, which came with argument `position`, is not of the expected type.
    #[cold]
    pub(crate) fn type_error_of(
        self,
        thread: &mut Thread,
        position: usize,
        expected: &str,
        value: Value,
    ) -> Raise {
        thread.raise_type(self.who, position + 1, expected, value)
    }

    /// The condition: argument `position` is out of range.
    #[cold]
    pub(crate) fn range_error(self, thread: &mut Thread, position: usize, expected: &str) -> Raise {
        thread.raise_range(self.who, position + 1, expected, self.at(position))
    }

    /// The condition: argument `position` is a literal, which must not be changed.
    #[cold]
    pub(crate) fn immutable_error(self, thread: &mut Thread, position: usize) -> Raise {
        thread.raise_immutable(self.who, self.at(position))
    }

    /// An object of a kind.
    #[inline(always)]
    pub(crate) fn object(
        self,
        thread: &mut Thread,
        position: usize,
        kind: Kind,
        expected: &str,
    ) -> Result<ObjectRef, Raise> {
        match self.at(position).as_kind(kind) {
            Some(object) => Ok(object),
            None => Err(self.type_error(thread, position, expected)),
        }
    }

    /// A pair.
    #[inline(always)]
    pub(crate) fn pair(self, thread: &mut Thread, position: usize) -> Result<PairRef, Raise> {
        match self.at(position).as_pair() {
            Some(pair) => Ok(pair),
            None => Err(self.type_error(thread, position, "pair")),
        }
    }

    /// A string object.
    #[inline(always)]
    pub(crate) fn string(self, thread: &mut Thread, position: usize) -> Result<ObjectRef, Raise> {
        self.object(thread, position, Kind::String, "string")
    }

    /// A string that may be changed.
    pub(crate) fn mutable_string(
        self,
        thread: &mut Thread,
        position: usize,
    ) -> Result<ObjectRef, Raise> {
        let string = self.string(thread, position)?;
        self.mutable(thread, position, string)
    }

    /// A symbol object.
    pub(crate) fn symbol(self, thread: &mut Thread, position: usize) -> Result<ObjectRef, Raise> {
        self.object(thread, position, Kind::Symbol, "symbol")
    }

    /// A vector.
    #[inline(always)]
    pub(crate) fn vector(self, thread: &mut Thread, position: usize) -> Result<ObjectRef, Raise> {
        self.object(thread, position, Kind::Vector, "vector")
    }

    /// A vector that may be changed.
    pub(crate) fn mutable_vector(
        self,
        thread: &mut Thread,
        position: usize,
    ) -> Result<ObjectRef, Raise> {
        let vector = self.vector(thread, position)?;
        self.mutable(thread, position, vector)
    }

    /// A bytevector.
    #[inline(always)]
    pub(crate) fn bytevector(
        self,
        thread: &mut Thread,
        position: usize,
    ) -> Result<ObjectRef, Raise> {
        self.object(thread, position, Kind::Bytevector, "bytevector")
    }

    /// A bytevector that may be changed.
    pub(crate) fn mutable_bytevector(
        self,
        thread: &mut Thread,
        position: usize,
    ) -> Result<ObjectRef, Raise> {
        let bytes = self.bytevector(thread, position)?;
        self.mutable(thread, position, bytes)
    }

    fn mutable(
        self,
        thread: &mut Thread,
        position: usize,
        object: ObjectRef,
    ) -> Result<ObjectRef, Raise> {
        if object.is_immutable() {
            return Err(self.immutable_error(thread, position));
        }
        Ok(object)
    }

    /// A character.
    #[inline(always)]
    pub(crate) fn character(self, thread: &mut Thread, position: usize) -> Result<char, Raise> {
        match self.at(position).as_character() {
            Some(character) => Ok(character),
            None => Err(self.type_error(thread, position, "character")),
        }
    }

    /// An optional character.
    pub(crate) fn character_or(
        self,
        thread: &mut Thread,
        position: usize,
        default: char,
    ) -> Result<char, Raise> {
        match self.optional(position) {
            Some(_) => self.character(thread, position),
            None => Ok(default),
        }
    }

    /// A byte: an exact integer from 0 to 255.
    pub(crate) fn byte(self, thread: &mut Thread, position: usize) -> Result<u8, Raise> {
        let value = self.at(position).as_fixnum();
        match value.and_then(|number| u8::try_from(number).ok()) {
            Some(byte) => Ok(byte),
            None => Err(self.type_error(thread, position, "byte")),
        }
    }

    /// An exact integer that is not negative.
    #[inline(always)]
    pub(crate) fn index(self, thread: &mut Thread, position: usize) -> Result<usize, Raise> {
        match self.at(position).as_index() {
            Some(index) => Ok(index),
            None => Err(self.not_an_index(thread, position)),
        }
    }

    #[cold]
    fn not_an_index(self, thread: &mut Thread, position: usize) -> Raise {
        let value = self.at(position);
        if value.is_fixnum() || value.is_kind(Kind::Bignum) {
            self.range_error(thread, position, "not negative and not huge")
        } else {
            self.type_error(thread, position, "exact non-negative integer")
        }
    }

    /// The case of an enumeration that a number stands for.
    #[inline]
    pub(crate) fn case<E: Enumerated>(
        self,
        thread: &mut Thread,
        position: usize,
    ) -> Result<E, Raise> {
        match self.at(position).as_fixnum().and_then(E::from_number) {
            Some(case) => Ok(case),
            None => Err(self.not_a_case(thread, position, &E::ROW)),
        }
    }

    #[cold]
    fn not_a_case(self, thread: &mut Thread, position: usize, row: &Enumeration) -> Raise {
        let cases = row.values.iter();
        let cases: Vec<String> = cases
            .map(|(name, number)| format!("{number} {name}"))
            .collect();
        let expected = format!("the number of a {}: {}", row.name, cases.join(", "));
        self.range_error(thread, position, &expected)
    }

    /// The index of one of `length` elements.
    #[inline(always)]
    pub(crate) fn index_below(
        self,
        thread: &mut Thread,
        position: usize,
        length: usize,
    ) -> Result<usize, Raise> {
        match self.at(position).as_index() {
            Some(index) if index < length => Ok(index),
            _ => Err(self.not_below(thread, position, length)),
        }
    }

    #[cold]
    fn not_below(self, thread: &mut Thread, position: usize, length: usize) -> Raise {
        if self.at(position).is_kind(Kind::Bignum) {
            return self.not_an_index(thread, position);
        }
        thread.raise_index(self.who, position + 1, self.at(position), length)
    }

    /// An index into the gaps between `length` elements: from 0 to `length`.
    pub(crate) fn index_up_to(
        self,
        thread: &mut Thread,
        position: usize,
        length: usize,
    ) -> Result<usize, Raise> {
        let index = self.index(thread, position)?;
        if index <= length {
            return Ok(index);
        }
        Err(self.range_error(thread, position, &format!("the length is {length}")))
    }

    /// Optional start and end, at `position` and the next, in a sequence of `length` elements.
    pub(crate) fn range(
        self,
        thread: &mut Thread,
        position: usize,
        length: usize,
    ) -> Result<Range<usize>, Raise> {
        let end = match self.optional(position + 1) {
            Some(_) => self.index_up_to(thread, position + 1, length)?,
            None => length,
        };
        let start = match self.optional(position) {
            Some(_) => self.index_up_to(thread, position, length)?,
            None => 0,
        };
        if start > end {
            let expected = format!("the start is above the end, which is {end}");
            return Err(self.range_error(thread, position, &expected));
        }
        Ok(start..end)
    }

    /// A string and the range in it that the arguments from `range_position` on give.
    pub(crate) fn string_range(
        self,
        thread: &mut Thread,
        position: usize,
        range_position: usize,
    ) -> Result<(ObjectRef, Range<usize>), Raise> {
        let string = self.string(thread, position)?;
        let range = self.range(thread, range_position, string_length(string))?;
        Ok((string, range))
    }

    /// A vector and the range in it that the arguments from `range_position` on give.
    pub(crate) fn vector_range(
        self,
        thread: &mut Thread,
        position: usize,
        range_position: usize,
    ) -> Result<(ObjectRef, Range<usize>), Raise> {
        let vector = self.vector(thread, position)?;
        let range = self.range(thread, range_position, vector.length())?;
        Ok((vector, range))
    }

    /// A bytevector and the range in it that the arguments from `range_position` on give.
    pub(crate) fn bytevector_range(
        self,
        thread: &mut Thread,
        position: usize,
        range_position: usize,
    ) -> Result<(ObjectRef, Range<usize>), Raise> {
        let bytes = self.bytevector(thread, position)?;
        let range = self.range(thread, range_position, bytes.length())?;
        Ok((bytes, range))
    }

    /// The number of elements of a proper list.
    pub(crate) fn list_length(self, thread: &mut Thread, position: usize) -> Result<usize, Raise> {
        match crate::list::measure(self.at(position)) {
            crate::list::Extent::Proper(length) => Ok(length),
            _ => Err(self.type_error(thread, position, "list")),
        }
    }

    /// Refuses a list of more pairs than the heap could ever hold, before it is begun.
    pub(crate) fn check_pairs(self, thread: &mut Thread, count: usize) -> Result<(), Raise> {
        const PAIR_BYTES: usize = 16;
        if count <= thread.vm().heap().limit_bytes() / PAIR_BYTES {
            return Ok(());
        }
        let irritant = Value::fixnum(count as i64);
        let message = "the heap limit does not allow a list of so many elements";
        Err(thread.raise(ConditionKind::Memory, message, &[irritant], Some(self.who)))
    }

    /// Whether `matches` holds for each pair of neighbours, once every argument is known to be what
    /// `unpack` wants. Comparison rows are of this form.
    pub(crate) fn neighbours<T>(
        self,
        thread: &mut Thread,
        unpack: impl Fn(Call, &mut Thread, usize) -> Result<T, Raise>,
        matches: impl Fn(&T, &T) -> bool,
    ) -> Result<Value, Raise> {
        let mut previous = unpack(self, thread, 0)?;
        let mut holds = true;
        for position in 1..self.count() {
            let next = unpack(self, thread, position)?;
            holds = holds && matches(&previous, &next);
            previous = next;
        }
        Ok(Value::boolean(holds))
    }
}
