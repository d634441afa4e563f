//! Types of values, functions, fields, memories and tables.
//!
//! A type that a module defines is a number here; [`crate::definitions`] has what it stands for.

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
    /// Functions, structs or arrays of one type, by its number.
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
    /// Objects of guests and small integers.
    Any,
    /// Those of them that can be compared.
    Equal,
    /// Integers of 31 bits.
    I31,
    /// Structs of all types.
    Struct,
    /// Arrays of all types.
    Array,
    /// No object.
    None,
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

/// The type of a struct's field or of an array's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldType {
    /// The kind of its value.
    pub storage: Storage,
    /// Whether it may be assigned.
    pub mutable: bool,
}

/// The kind of value that a field has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// The lower 8 bits of an integer.
    I8,
    /// The lower 16 bits of an integer.
    I16,
    /// A value.
    Value(ValueType),
}

impl Storage {
    /// Words that it takes in a struct.
    pub fn words(self) -> usize {
        match self {
            Storage::Value(kind) => kind.slots(),
            _ => 1,
        }
    }

    /// Bytes that it takes in an array.
    pub fn bytes(self) -> usize {
        match self {
            Storage::I8 => 1,
            Storage::I16 => 2,
            Storage::Value(ValueType::I32 | ValueType::F32) => 4,
            Storage::Value(kind) => 8 * kind.slots(),
        }
    }

    /// Whether it has a reference.
    pub fn is_reference(self) -> bool {
        matches!(self, Storage::Value(ValueType::Reference { .. }))
    }
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
    /// Whether instances on several threads may have it. It has a maximum then.
    pub is_shared: bool,
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
                    HeapType::Any => "any".into(),
                    HeapType::Equal => "eq".into(),
                    HeapType::I31 => "i31".into(),
                    HeapType::Struct => "struct".into(),
                    HeapType::Array => "array".into(),
                    HeapType::None => "none".into(),
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
}
