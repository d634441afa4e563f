//! Lists of values that blocks and functions take and give.

use super::slots_of;
use crate::types::ValueType;

/// A list of values: their number, or for each whether it is a vector.
#[derive(Clone, Debug)]
pub enum Values {
    Scalars(usize),
    Mixed(Box<[bool]>),
}

impl Values {
    pub fn of(kinds: &[ValueType]) -> Values {
        if kinds.contains(&ValueType::V128) {
            Values::Mixed(kinds.iter().map(|kind| *kind == ValueType::V128).collect())
        } else {
            Values::Scalars(kinds.len())
        }
    }

    /// A list of one value.
    pub fn one(is_vector: bool) -> Values {
        if is_vector {
            Values::Mixed(Box::new([true]))
        } else {
            Values::Scalars(1)
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Scalars(count) => *count,
            Values::Mixed(vectors) => vectors.len(),
        }
    }

    /// Whether the value at a place is a vector.
    pub fn is_vector(&self, index: usize) -> bool {
        match self {
            Values::Scalars(_) => false,
            Values::Mixed(vectors) => vectors[index],
        }
    }

    /// Slots of all values.
    pub fn slots(&self) -> u32 {
        match self {
            Values::Scalars(count) => *count as u32,
            Values::Mixed(vectors) => vectors.iter().map(|vector| slots_of(*vector)).sum(),
        }
    }
}
