//! Types of the binary format as those of the machine.
//!
//! A type of the module's own is given by its index there.

use crate::error::Error;
use crate::types::{HeapType, MemoryType, ValueType};

pub fn unsupported(what: &str) -> Error {
    Error::Unsupported(format!("{what} are not supported yet"))
}

pub fn memory_type(kind: wasmparser::MemoryType) -> MemoryType {
    MemoryType {
        initial: kind.initial,
        maximum: kind.maximum,
        is_wide: kind.memory64,
        is_shared: kind.shared,
    }
}

/// A type of a value; `concrete` gives the type with an index of the module.
pub fn value_type(
    kind: wasmparser::ValType,
    concrete: impl Fn(u32) -> HeapType,
) -> Result<ValueType, Error> {
    use wasmparser::ValType;
    Ok(match kind {
        ValType::I32 => ValueType::I32,
        ValType::I64 => ValueType::I64,
        ValType::F32 => ValueType::F32,
        ValType::F64 => ValueType::F64,
        ValType::V128 => ValueType::V128,
        ValType::Ref(reference) => ValueType::Reference {
            nullable: reference.is_nullable(),
            heap: heap_type(reference.heap_type(), concrete)?,
        },
    })
}

/// The same of what a reference refers to.
pub fn heap_type(
    kind: wasmparser::HeapType,
    concrete: impl Fn(u32) -> HeapType,
) -> Result<HeapType, Error> {
    use wasmparser::{AbstractHeapType, HeapType as Heap};
    Ok(match kind {
        Heap::Abstract { ty, .. } => match ty {
            AbstractHeapType::Func => HeapType::Function,
            AbstractHeapType::NoFunc => HeapType::NoFunction,
            AbstractHeapType::Extern => HeapType::Extern,
            AbstractHeapType::NoExtern => HeapType::NoExtern,
            AbstractHeapType::Exn => HeapType::Exception,
            AbstractHeapType::NoExn => HeapType::NoException,
            AbstractHeapType::Any => HeapType::Any,
            AbstractHeapType::Eq => HeapType::Equal,
            AbstractHeapType::I31 => HeapType::I31,
            AbstractHeapType::Struct => HeapType::Struct,
            AbstractHeapType::Array => HeapType::Array,
            AbstractHeapType::None => HeapType::None,
            AbstractHeapType::Cont | AbstractHeapType::NoCont => {
                return Err(unsupported("continuations"));
            }
        },
        Heap::Concrete(index) | Heap::Exact(index) => {
            let index = index.as_module_index();
            concrete(index.ok_or_else(|| unsupported("types of this kind"))?)
        }
    })
}
