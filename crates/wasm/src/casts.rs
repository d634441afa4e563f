//! Tests of references: whether one is of a type.
//!
//! The translator packs a type into two numbers of the instruction. All types of one test belong to the
//! same hierarchy, which validation has made sure of.

use canny_tables::guest::{Reason, Runtime};

use crate::definitions::{Composite, definition};
use crate::error::Trap;
use crate::heap;
use crate::record::FunctionRecord;
use crate::store::Store;
use crate::types::HeapType;

/// The object of a guest or of the host to which a reference is, unless it is null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Referent {
    /// An integer of 31 bits.
    I31(i32),
    /// A struct.
    Struct,
    /// An array.
    Array,
    /// An exception.
    Exception,
    /// An object of the host.
    Extern,
}

/// Whether null passes.
const NULLABLE: u32 = 1;

/// The kind of a test, behind whether null passes.
const KIND_SHIFT: u32 = 8;
const NOTHING: u32 = 0;
const EVERYTHING: u32 = 1;
const EQUAL: u32 = 2;
const I31: u32 = 3;
const STRUCT: u32 = 4;
const ARRAY: u32 = 5;
const OBJECT: u32 = 6;
const FUNCTION: u32 = 7;

/// How many supertypes the type has, if it has a number.
const DEPTH_SHIFT: u32 = 16;

/// The numbers that stand for a type in an instruction.
pub fn pack(heap: HeapType, nullable: bool) -> [u32; 2] {
    let (number, kind, depth) = match heap {
        HeapType::NoFunction
        | HeapType::NoExtern
        | HeapType::NoException
        | HeapType::None
        | HeapType::InGroup(_) => (0, NOTHING, 0),
        HeapType::Any | HeapType::Function | HeapType::Extern | HeapType::Exception => {
            (0, EVERYTHING, 0)
        }
        HeapType::Equal => (0, EQUAL, 0),
        HeapType::I31 => (0, I31, 0),
        HeapType::Struct => (0, STRUCT, 0),
        HeapType::Array => (0, ARRAY, 0),
        HeapType::Type(number) => {
            let definition = definition(number);
            let kind = match definition.composite {
                Composite::Function(_) => FUNCTION,
                _ => OBJECT,
            };
            (number, kind, definition.depth() as u32)
        }
    };
    let flags = kind << KIND_SHIFT | depth << DEPTH_SHIFT;
    [number, flags | if nullable { NULLABLE } else { 0 }]
}

impl Store {
    /// The kind of object for a word of a type in the hierarchy of `any`, of `extern` or of `exn`.
    pub fn referent(&self, word: u64) -> Referent {
        if heap::is_i31(word) {
            // The sign is the 31st bit.
            return Referent::I31((word as i32) << 1 >> 1);
        }
        match self
            .heap
            .get(word)
            .map(|object| object.definition.element())
        {
            Some(Some(_)) => Referent::Array,
            Some(None) => Referent::Struct,
            None if self.exceptions.number(word).is_some() => Referent::Exception,
            None => Referent::Extern,
        }
    }

    /// The word for an integer, if it has 31 bits.
    pub fn i31(&self, value: i32) -> Option<u64> {
        let fits = value << 1 >> 1 == value;
        fits.then(|| heap::I31 | u64::from(value as u32) & heap::I31_BITS)
    }

    /// Carries a test or a cast out; gives the bits of its result.
    pub(crate) fn cast(
        &self,
        operation: Runtime,
        word: u64,
        numbers: [u32; 2],
    ) -> Result<u64, Trap> {
        let passes = self.passes(word, numbers);
        match operation {
            Runtime::ReferenceTest => Ok(u64::from(passes)),
            _ if passes => Ok(word),
            _ => Err(Reason::CastFailure.into()),
        }
    }

    pub(crate) fn passes(&self, word: u64, [number, flags]: [u32; 2]) -> bool {
        if word == 0 {
            return flags & NULLABLE != 0;
        }
        let depth = (flags >> DEPTH_SHIFT) as usize;
        let object = || self.heap.get(word).map(|object| object.definition);
        match flags >> KIND_SHIFT & 0xff {
            NOTHING => false,
            EVERYTHING => true,
            EQUAL => heap::is_i31(word) || object().is_some(),
            I31 => heap::is_i31(word),
            STRUCT => object().is_some_and(|kind| kind.element().is_none()),
            ARRAY => object().is_some_and(|kind| kind.element().is_some()),
            OBJECT => object().is_some_and(|kind| kind.is_below(number, depth)),
            _ => {
                // SAFETY: validated: the word refers to a function of this store.
                let function = unsafe { &*(word as *const FunctionRecord) };
                function.definition.is_below(number, depth)
            }
        }
    }
}
