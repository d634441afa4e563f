//! Allocation as the runtime and primitives use it.
//!
//! Small objects always succeed: at the heap limit they come from the reserve, and the thread raises
//! the heap condition at its next safepoint. Allocation of objects that may be large has a `try_`
//! form that raises at once. It does not raise for small objects in a critical section, since that
//! would leave locks held.

use canny_heap::HeapExhausted;
use canny_number::elements::ElementType;
use canny_tables::kinds::Kind;
use canny_tables::layout::ELEMENT_TYPE_SHIFT;
use canny_value::{Header, Value};

use crate::control::condition::ConditionKind;
use crate::data::symbols::INTERNED;
use crate::primitive::Raise;
use crate::thread::Thread;

/// Payloads up to this are small for the heap, whatever their header and padding.
const SMALL_BYTES: usize = 1 << 13;

impl Thread {
    /// A pair.
    #[inline(always)]
    pub fn cons(&mut self, car: Value, cdr: Value) -> Value {
        self.mutator().pair(car, cdr)
    }

    /// A pair, for loops that make many: raises at the heap limit.
    #[inline(always)]
    pub fn try_cons(&mut self, car: Value, cdr: Value) -> Result<Value, Raise> {
        if self.is_critical() {
            return Ok(self.cons(car, cdr));
        }
        match self.mutator().try_pair(car, cdr) {
            Ok(pair) => Ok(pair),
            Err(exhausted) => Err(self.raise_memory(exhausted.requested_bytes)),
        }
    }

    /// A scannable object that is usually small. A small one is never refused: past the heap limit it
    /// comes from beyond, and the thread raises at its next safepoint. A large one ends the process
    /// when it is refused.
    pub(crate) fn object(&mut self, kind: Kind, flags: u8, length: usize, fill: Value) -> Value {
        if 8 * length <= SMALL_BYTES {
            return self.mutator().small_object(kind, flags, length, fill);
        }
        match self.mutator().object(kind, flags, length, fill) {
            Ok(object) => object,
            Err(exhausted) => self.out_of_memory(exhausted),
        }
    }

    /// A leaf object that is usually small; as [`Thread::object`].
    pub(crate) fn leaf(&mut self, kind: Kind, flags: u8, length: usize) -> Value {
        if length * usize::from(kind.row().unit_bytes) <= SMALL_BYTES {
            return self.mutator().small_leaf(kind, flags, length);
        }
        match self.mutator().leaf(kind, flags, length) {
            Ok(object) => object,
            Err(exhausted) => self.out_of_memory(exhausted),
        }
    }

    /// Ends the process: a text that the machine itself makes does not fit the limit.
    fn out_of_memory(&self, exhausted: HeapExhausted) -> ! {
        eprintln!("canny: out of memory: {exhausted}");
        std::process::exit(71)
    }

    /// A scannable object of any size.
    pub fn try_object(
        &mut self,
        kind: Kind,
        flags: u8,
        length: usize,
        fill: Value,
    ) -> Result<Value, Raise> {
        if length > Header::LENGTH_MAX {
            return Err(self.raise_memory(length.saturating_mul(8)));
        }
        if self.is_critical() && 8 * length <= SMALL_BYTES {
            return Ok(self.object(kind, flags, length, fill));
        }
        self.mutator()
            .object(kind, flags, length, fill)
            .map_err(|exhausted| self.raise_memory(exhausted.requested_bytes))
    }

    /// A leaf object of any size, zeroed.
    pub fn try_leaf(&mut self, kind: Kind, flags: u8, length: usize) -> Result<Value, Raise> {
        if length > Header::LENGTH_MAX {
            return Err(self.raise_memory(length));
        }
        if self.is_critical() && length * usize::from(kind.row().unit_bytes) <= SMALL_BYTES {
            return Ok(self.leaf(kind, flags, length));
        }
        self.mutator()
            .leaf(kind, flags, length)
            .map_err(|exhausted| self.raise_memory(exhausted.requested_bytes))
    }

    /// The same for an object all of which is written next.
    pub fn try_leaf_to_fill(
        &mut self,
        kind: Kind,
        flags: u8,
        length: usize,
    ) -> Result<Value, Raise> {
        if length > Header::LENGTH_MAX {
            return Err(self.raise_memory(length));
        }
        self.mutator()
            .leaf_to_fill(kind, flags, length)
            .map_err(|exhausted| self.raise_memory(exhausted.requested_bytes))
    }

    fn raise_memory(&mut self, bytes: usize) -> Raise {
        let irritant = self.integer(bytes.min(i64::MAX as usize) as i64);
        self.raise(
            ConditionKind::Memory,
            "the heap limit does not allow an object of so many bytes",
            &[irritant],
            None,
        )
    }

    /// Stores field `index` of an object.
    #[inline(always)]
    pub fn store(&mut self, object: Value, index: usize, value: Value) {
        self.mutator().store(object, index, value);
    }

    /// Stores a word that is no reference in a field of an object while every other thread stands at a
    /// safepoint, or is outside of the heap. May wait, and collections may come first.
    pub fn store_while_alone(&mut self, object: Value, index: usize, value: Value) {
        self.mutator().store_while_alone(object, index, value);
    }

    /// Stores `new` in field `index` of an object if it holds `old`, as one step; gives what it held.
    pub fn compare_and_swap(
        &mut self,
        object: Value,
        index: usize,
        old: Value,
        new: Value,
    ) -> Value {
        self.mutator().compare_and_swap(object, index, old, new)
    }

    /// Stores field `index` of an object if it still is the expected one, as a single step among
    /// threads; whether it was.
    pub fn store_if(&mut self, object: Value, index: usize, expected: Value, value: Value) -> bool {
        self.mutator().store_if(object, index, expected, value)
    }

    /// Stores the car of a pair as [`Thread::store_if`] does.
    pub fn set_car_if(&mut self, pair: Value, expected: Value, value: Value) -> bool {
        self.mutator().set_car_if(pair, expected, value)
    }

    /// Stores the car of a pair.
    #[inline(always)]
    pub fn set_car(&mut self, pair: Value, value: Value) {
        self.mutator().set_car(pair, value);
    }

    /// Stores the cdr of a pair.
    #[inline(always)]
    pub fn set_cdr(&mut self, pair: Value, value: Value) {
        self.mutator().set_cdr(pair, value);
    }

    /// A vector of `length` elements.
    pub fn make_vector(&mut self, length: usize, fill: Value) -> Result<Value, Raise> {
        self.try_object(Kind::Vector, 0, length, fill)
    }

    /// A bytevector with these bytes.
    pub fn bytevector(&mut self, bytes: &[u8]) -> Result<Value, Raise> {
        let object = self.try_leaf_to_fill(Kind::Bytevector, 0, bytes.len())?;
        object.as_object().expect("a leaf").copy_bytes_in(0, bytes);
        Ok(object)
    }

    /// A homogeneous numeric vector of so many zero bytes.
    pub fn numeric_vector(
        &mut self,
        element: ElementType,
        flags: u8,
        byte_count: usize,
    ) -> Result<Value, Raise> {
        let flags = flags | (element as u8) << ELEMENT_TYPE_SHIFT;
        self.try_leaf(Kind::NumericVector, flags, byte_count)
    }

    /// A box, as assigned variables have them.
    pub fn make_box(&mut self, value: Value) -> Value {
        self.object(Kind::Box, 0, 1, value)
    }

    /// A list of the protected values from `first` on (made by [`Thread::protect`]), ending in `tail`.
    pub fn list_of_protected(&mut self, first: crate::Protected, tail: Value) -> Value {
        let mut list = tail;
        for index in (first.index()..self.scratch.len()).rev() {
            let value = self.scratch[index];
            list = self.cons(value, list);
        }
        list
    }

    /// A keyword object.
    pub fn keyword(&mut self, name: &str) -> Value {
        // Keywords are interned through their symbol: equal names give the same object.
        let symbol = self.symbol(name);
        self.keyword_of_symbol(symbol)
    }

    fn keyword_of_symbol(&mut self, symbol: Value) -> Value {
        let object = symbol.as_kind(Kind::Symbol).expect("a symbol");
        let known = object.field(INTERNED);
        if known.is_kind(Kind::Keyword) {
            return known;
        }
        let place = self.protect(symbol);
        let keyword = self.object(Kind::Keyword, 0, 1, self.protected(place));
        let symbol = self.protected(place);
        self.release(place);
        // Another thread may have made one meanwhile.
        let symbols = self.vm.symbols.clone();
        let _lock = symbols.lock();
        match symbol
            .as_kind(Kind::Symbol)
            .map(|object| object.field(INTERNED))
        {
            Some(known) if known.is_kind(Kind::Keyword) => known,
            _ => {
                self.store(symbol, INTERNED, keyword);
                keyword
            }
        }
    }

    /// Asks for `id` to be reported once `object` is dead.
    pub fn register_external(&mut self, object: Value, id: u64) {
        self.mutator().register_external(object, id);
    }

    /// Asks for `object` to be put on a guardian's ready list once nothing else holds it.
    pub fn register_guardian(&mut self, object: Value, guardian: Value) {
        self.mutator().register_guardian(object, guardian);
    }

    /// Collects now.
    pub fn collect_garbage(&mut self, full: bool) {
        self.mutator().collect(full);
    }

    /// Runs `work`, which must not touch the Scheme heap, so that collections need not wait for it.
    pub fn outside_heap<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let _region = self.mutator().enter_native();
        work()
    }
}
