//! Leaf functions, as `canny_tables::leaves` describes them, and their operations on a thread: they
//! make objects in place, without a collection, and look symbols up.
//!
//! The type [`InPlace`] enforces that: it is the thread, with nothing on it that collects, raises
//! or enters the machine.

mod changes;
mod lent;
mod lines;
pub(crate) mod numbers;
mod strings;
mod tasks;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use canny_tables::kinds::Kind;
use canny_tables::layout::{hash_table, port};
use canny_tables::leaves::{ARGUMENTS_MAX, IN_REGISTERS};
use canny_value::{ObjectRef, Value};

use crate::thread::Thread;

/// A leaf function; arguments that its row does not have are any words. Those that do not come in
/// registers are [`InPlace::further`].
pub type LeafFunction = extern "C" fn(&mut InPlace, Value, Value, Value) -> Value;

/// Pairs that a leaf function makes at most: the nursery grows beyond its budget meanwhile.
const PAIRS_MAX: usize = 1 << 12;
/// Words of an object that a leaf function makes at most.
const WORDS_MAX: usize = 1 << 10;

/// Bytes of a string that a leaf function makes at most.
const BYTES_MAX: usize = 1 << 12;
/// Bytes of an object that a leaf function makes at most for a purpose of the machine's own.
const LONG_BYTES_MAX: usize = 1 << 16;
/// Characters of a string that is not ASCII and that a leaf function makes at most.
const CHARACTERS_MAX: usize = 1 << 11;

/// Where the units of a leaf object are.
fn payload<Unit>(object: Value) -> Option<*mut Unit> {
    Some(object.as_object()?.payload_address() as *mut Unit)
}

/// A thread that must not collect.
#[repr(transparent)]
pub struct InPlace(pub(crate) Thread);

impl InPlace {
    /// The thread, restricted.
    pub fn of(thread: &mut Thread) -> &mut InPlace {
        // SAFETY: the same object, `repr(transparent)`.
        unsafe { &mut *std::ptr::from_mut(thread).cast::<InPlace>() }
    }

    /// The arguments of the running leaf function behind those in registers, of which it has so many.
    #[inline(always)]
    pub fn further<const COUNT: usize>(&self) -> [Value; COUNT] {
        const { assert!(COUNT <= ARGUMENTS_MAX - IN_REGISTERS) };
        let mut arguments = [Value::ZERO; COUNT];
        for (argument, word) in arguments.iter_mut().zip(&self.0.carried) {
            // SAFETY: the caller of a leaf function of so many arguments put them there, words that it
            // holds itself, and nothing is collected while the function runs.
            *argument = unsafe { Value::from_bits(*word) };
        }
        arguments
    }

    /// Puts arguments where a leaf function finds those behind the ones in registers: what compiled code
    /// does before such a call.
    pub fn set_further(&mut self, arguments: &[Value]) {
        for (word, argument) in self.0.carried.iter_mut().zip(arguments) {
            *word = argument.bits();
        }
    }

    /// The elements of a list in reverse order in front of a tail. None for a value that is no
    /// list, or is a long one.
    pub fn reverse_onto(&mut self, list: Value, tail: Value) -> Option<Value> {
        let (mut rest, mut result) = (list, tail);
        let mutator = self.0.mutator();
        for _ in 0..PAIRS_MAX {
            let Some(pair) = rest.as_pair() else {
                return rest.is_nil().then_some(result);
            };
            result = mutator.pair_in_place(pair.car(), result);
            rest = pair.cdr();
        }
        None
    }

    /// A copy of a list in front of a tail. None for a value that is no list, or is a long one.
    pub fn copy_onto(&mut self, list: Value, tail: Value) -> Option<Value> {
        let mutator = self.0.mutator();
        let Some(pair) = list.as_pair() else {
            return list.is_nil().then_some(tail);
        };
        let head = mutator.pair_in_place(pair.car(), tail);
        let (mut rest, mut last) = (pair.cdr(), head);
        for _ in 1..PAIRS_MAX {
            let Some(pair) = rest.as_pair() else {
                return rest.is_nil().then_some(head);
            };
            let next = mutator.pair_in_place(pair.car(), tail);
            // SAFETY: a pair made since the last collection, and nothing collects meanwhile: it is
            // young, so the store needs no barrier.
            unsafe { *((last.address() + 8) as *mut Value) = next };
            (rest, last) = (pair.cdr(), next);
        }
        None
    }

    /// A vector. None for a large one.
    pub fn vector(&mut self, length: usize, fill: Value) -> Option<Value> {
        if length == 0 || length > WORDS_MAX {
            return None;
        }
        let mutator = self.0.mutator();
        Some(mutator.object_in_place(Kind::Vector, 0, length, fill))
    }

    /// A list of a few elements.
    pub fn list(
        &mut self,
        elements: impl DoubleEndedIterator<Item = Value> + ExactSizeIterator,
    ) -> Value {
        assert!(elements.len() <= PAIRS_MAX);
        let mutator = self.0.mutator();
        elements.rev().fold(Value::NIL, |list, element| {
            mutator.pair_in_place(element, list)
        })
    }

    /// A vector of these elements. None for a large one, and for none, since the empty vector is one object.
    pub fn vector_of(&mut self, elements: impl ExactSizeIterator<Item = Value>) -> Option<Value> {
        let vector = self.vector(elements.len(), Value::UNSPECIFIED)?;
        for (index, element) in elements.enumerate() {
            self.set_new(vector, index, element);
        }
        Some(vector)
    }

    /// A vector of elements of another one, with the same exceptions.
    pub fn vector_of_range(&mut self, source: ObjectRef, range: Range<usize>) -> Option<Value> {
        let vector = self.vector(range.len(), Value::UNSPECIFIED)?;
        let is_alone = !self.0.has_others();
        self.0
            .mutator()
            .copy_fields(source, range, vector.as_object()?, 0, is_alone);
        Some(vector)
    }

    /// A vector of the first elements of a list, from the last one on if it is reversed.
    pub fn vector_of_list(
        &mut self,
        list: Value,
        length: usize,
        is_reversed: bool,
    ) -> Option<Value> {
        let vector = self.vector(length, Value::UNSPECIFIED)?;
        let mut rest = list;
        for index in 0..length {
            // Another thread may shorten the list.
            let pair = rest.as_pair()?;
            let place = if is_reversed {
                length - 1 - index
            } else {
                index
            };
            self.set_new(vector, place, pair.car());
            rest = pair.cdr();
        }
        Some(vector)
    }

    /// Stores in an object that was just made, by a leaf function that is still running.
    fn set_new(&mut self, object: Value, index: usize, value: Value) {
        let object = object.as_object().expect("an object");
        assert!(index < object.length());
        // SAFETY: the index is that of a word of the object. The object is young, since nothing has
        // collected after it was made, so that the store needs no barrier.
        unsafe { *(object.slot_address(index) as *mut Value) = value };
    }

    /// A bytevector of these pieces. None for a long one.
    pub fn bytes(&mut self, pieces: &[&[u8]]) -> Option<Value> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length > BYTES_MAX {
            return None;
        }
        let mutator = self.0.mutator();
        Some(match pieces {
            [piece] => mutator.copy_in_place(Kind::Bytevector, 0, piece),
            _ => mutator.bytes_in_place(Kind::Bytevector, 0, pieces),
        })
    }

    /// Several values as one, or none.
    #[inline]
    pub fn values(&mut self, values: &[Value]) -> Value {
        let mutator = self.0.mutator();
        let object = mutator.object_in_place(Kind::Values, 0, values.len(), Value::UNSPECIFIED);
        let place = payload::<Value>(object).expect("an object");
        // SAFETY: the object was just made with so many words and is young, so that the stores need no
        // barrier.
        unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        object
    }

    /// A fresh bytevector of so many bytes, which `fill` puts in the place of zeros. None for a long one.
    pub fn bytes_with(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Option<Value> {
        if length > BYTES_MAX {
            return None;
        }
        let mutator = self.0.mutator();
        let bytes = mutator.leaf_in_place(Kind::Bytevector, 0, length);
        // SAFETY: the object was just made, so that nobody else knows it, it has so many bytes, and
        // `fill` cannot collect.
        fill(unsafe { std::slice::from_raw_parts_mut(payload(bytes)?, length) });
        Some(bytes)
    }

    /// A bytevector of zeros, of at most [`BYTES_MAX`] bytes.
    pub fn bytevector(&mut self, length: usize) -> Value {
        assert!(length <= BYTES_MAX);
        self.0.mutator().leaf_in_place(Kind::Bytevector, 0, length)
    }

    /// A vector for a purpose of the machine's own, which may be longer. None for one of more than
    /// [`LONG_BYTES_MAX`] bytes.
    pub fn long_vector(&mut self, length: usize, fill: Value) -> Option<Value> {
        let mutator = self.0.mutator();
        (8 * length <= LONG_BYTES_MAX).then(|| mutator.long_vector_in_place(length, fill))
    }

    /// A bytevector of zeros, with the same limit.
    pub fn long_bytevector(&mut self, length: usize) -> Option<Value> {
        let mutator = self.0.mutator();
        (length <= LONG_BYTES_MAX).then(|| mutator.long_bytevector_in_place(length))
    }

    /// The object of a hash table with these fields.
    pub fn hash_table(&mut self, fields: [Value; hash_table::WORDS]) -> Value {
        let mutator = self.0.mutator();
        mutator.fields_in_place(Kind::HashTable, fields)
    }

    /// A port object with these fields.
    pub fn port(&mut self, fields: [Value; port::COUNT]) -> Value {
        self.0.mutator().fields_in_place(Kind::Port, fields)
    }

    /// A copy of the first units of a bytevector or of the data of a string, as an object of the same
    /// kind that promises nothing about them. None for a long one.
    pub fn copy_of_units(&mut self, units: ObjectRef, length: usize) -> Option<Value> {
        let mutator = self.0.mutator();
        if units.kind() != Kind::String32 {
            return units.with_bytes(|bytes| {
                let bytes = bytes.get(..length)?;
                (length <= BYTES_MAX).then(|| mutator.copy_in_place(units.kind(), 0, bytes))
            });
        }
        if length > CHARACTERS_MAX {
            return None;
        }
        let copy = mutator.leaf_in_place(Kind::String32, 0, length);
        units.with_utf32(|units| {
            let units = units.get(..length)?;
            // SAFETY: the object was just made with so many units, which are aligned, and is another one.
            unsafe { payload::<u32>(copy)?.copy_from_nonoverlapping(units.as_ptr(), length) };
            Some(copy)
        })
    }

    /// The flag by which the thread is known to lenders.
    #[inline]
    pub fn loan_flag(&self) -> &Arc<AtomicU64> {
        self.0.loan_flag()
    }

    /// Changes a word of an object that no program can reach.
    #[inline(always)]
    pub fn store(&mut self, object: Value, index: usize, value: Value) {
        self.0.store(object, index, value);
    }

    /// Whether other threads may use the same objects.
    #[inline(always)]
    pub fn has_others(&self) -> bool {
        self.0.has_others()
    }

    /// The heap's epoch, which a collection changes.
    pub fn heap_epoch(&self) -> u64 {
        self.0.vm().heap().epoch()
    }

    /// The number of full collections so far.
    pub fn full_collections(&self) -> u64 {
        self.0.vm().heap().statistics().full_collections
    }

    /// The first entry of the parameters register with this key.
    pub fn parameter_entry(&self, key: Value) -> Option<Value> {
        self.0.parameter_entry(key)
    }

    /// The current port with a key: 0 for input, 1 for output, 2 for errors. None until it is open.
    pub fn current_port(&self, key: Value) -> Option<Value> {
        let key = usize::try_from(key.as_fixnum()?).ok()?;
        let port = (key < self.0.dynamic.default_ports.len()).then(|| self.0.current_port(key))?;
        port.is_true().then_some(port)
    }

    /// Changes the car of a pair if it is the word that was expected; whether it did. None for a value
    /// that is no pair.
    pub fn set_car_if(&mut self, pair: Value, expected: Value, value: Value) -> Option<bool> {
        pair.is_pair()
            .then(|| self.0.set_car_if(pair, expected, value))
    }

    /// The interned symbol with a name, if there is one.
    pub fn find_symbol(&self, name: &str) -> Option<Value> {
        self.0.vm.symbols.find(name)
    }
}
