//! Types of functions and values, numbered once for the whole process.
//!
//! Types of different modules are the same if their recursion groups are. So groups are interned, and a
//! type is a number that all modules share: comparing two types is comparing numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use canny_locks::Mutex;

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueType {
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// A vector of 128 bits.
    V128,
    /// A reference.
    Reference {
        /// Whether it may be null.
        nullable: bool,
        /// To what.
        heap: HeapType,
    },
}

/// To what a reference refers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HeapType {
    /// Functions of all types.
    Function,
    /// Functions of one type, by its number.
    Type(u32),
    /// No function.
    NoFunction,
    /// Objects of the host.
    Extern,
    /// No object of the host.
    NoExtern,
    /// Exceptions.
    Exception,
    /// No exception.
    NoException,
    /// While a group is interned: the type that it has at a place.
    InGroup(u32),
}

/// The type of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionType {
    /// Of parameters.
    pub parameters: Vec<ValueType>,
    /// Of results.
    pub results: Vec<ValueType>,
}

/// The type of a global variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlobalType {
    /// Of its value.
    pub value: ValueType,
    /// Whether it may be assigned.
    pub mutable: bool,
}

/// The type of a memory; sizes are in pages of 64 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryType {
    /// Pages that it has at least.
    pub initial: u64,
    /// Pages that it may have at most.
    pub maximum: Option<u64>,
    /// Whether addresses have 64 bits.
    pub is_wide: bool,
}

/// The type of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableType {
    /// Of its elements.
    pub element: ValueType,
    /// Elements that it has at least.
    pub initial: u64,
    /// Elements that it may have at most.
    pub maximum: Option<u64>,
    /// Whether indices have 64 bits.
    pub is_wide: bool,
}

impl FunctionType {
    /// The type of functions without parameters and results.
    pub(crate) fn none() -> &'static FunctionType {
        static NONE: FunctionType = FunctionType {
            parameters: Vec::new(),
            results: Vec::new(),
        };
        &NONE
    }

    /// Slots before the link of a frame: for parameters and for results.
    pub fn link(&self) -> usize {
        self.parameter_slots().max(self.result_slots())
    }

    /// Words of all arguments: two for a vector, one for anything else.
    pub fn parameter_slots(&self) -> usize {
        self.parameters.iter().map(|kind| kind.slots()).sum()
    }

    /// Words of all results.
    pub fn result_slots(&self) -> usize {
        self.results.iter().map(|kind| kind.slots()).sum()
    }

    /// The text that messages have, such as `[i32 i64] -> [f32]`.
    pub fn text(&self) -> String {
        let list = |types: &[ValueType]| {
            let texts: Vec<String> = types.iter().map(|kind| kind.text()).collect();
            texts.join(" ")
        };
        format!("[{}] -> [{}]", list(&self.parameters), list(&self.results))
    }
}

impl ValueType {
    /// References to functions that may be null.
    pub const FUNCTION: ValueType = ValueType::Reference {
        nullable: true,
        heap: HeapType::Function,
    };

    /// References to objects of the host that may be null.
    pub const EXTERN: ValueType = ValueType::Reference {
        nullable: true,
        heap: HeapType::Extern,
    };

    /// Words of a value: a vector has its lower lanes in the first of two.
    pub fn slots(self) -> usize {
        match self {
            ValueType::V128 => 2,
            _ => 1,
        }
    }

    /// The name in the text format.
    pub fn text(self) -> String {
        match self {
            ValueType::I32 => "i32".into(),
            ValueType::I64 => "i64".into(),
            ValueType::F32 => "f32".into(),
            ValueType::F64 => "f64".into(),
            ValueType::V128 => "v128".into(),
            ValueType::Reference { nullable, heap } => {
                let heap = match heap {
                    HeapType::Function => "func".into(),
                    HeapType::Extern => "extern".into(),
                    HeapType::NoFunction => "nofunc".into(),
                    HeapType::NoExtern => "noextern".into(),
                    HeapType::Exception => "exn".into(),
                    HeapType::NoException => "noexn".into(),
                    HeapType::Type(number) | HeapType::InGroup(number) => number.to_string(),
                };
                if nullable {
                    format!("(ref null {heap})")
                } else {
                    format!("(ref {heap})")
                }
            }
        }
    }

    /// Whether values of this type may be where those of another are wanted.
    pub fn is_subtype_of(self, other: ValueType) -> bool {
        let (
            ValueType::Reference { nullable, heap },
            ValueType::Reference {
                nullable: may_be_null,
                heap: wanted,
            },
        ) = (self, other)
        else {
            return self == other;
        };
        let fits = heap == wanted
            || matches!(
                (heap, wanted),
                (HeapType::Type(_) | HeapType::NoFunction, HeapType::Function)
                    | (HeapType::NoFunction, HeapType::Type(_))
                    | (HeapType::NoExtern, HeapType::Extern)
                    | (HeapType::NoException, HeapType::Exception)
            );
        fits && (may_be_null || !nullable)
    }
}

#[derive(Default)]
struct Known {
    /// They live as long as the process.
    types: Vec<&'static FunctionType>,
    /// The number of a group's first type.
    groups: HashMap<Vec<FunctionType>, u32>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The number of the first type of a group, whose types refer to each other by their place in it.
pub fn intern(group: Vec<FunctionType>) -> u32 {
    let mut known = KNOWN.lock();
    if let Some(first) = known.groups.get(&group) {
        return *first;
    }
    let first = known.types.len() as u32;
    for kind in &group {
        let outside = |kind: &ValueType| match *kind {
            ValueType::Reference {
                nullable,
                heap: HeapType::InGroup(place),
            } => ValueType::Reference {
                nullable,
                heap: HeapType::Type(first + place),
            },
            kind => kind,
        };
        let kind = FunctionType {
            parameters: kind.parameters.iter().map(outside).collect(),
            results: kind.results.iter().map(outside).collect(),
        };
        known.types.push(Box::leak(Box::new(kind)));
    }
    known.groups.insert(group, first);
    first
}

/// The type with a number.
pub fn function_type(number: u32) -> &'static FunctionType {
    KNOWN.lock().types[number as usize]
}
