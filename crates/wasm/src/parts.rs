//! The contents of a module's sections: imports, exports, segments, and the places of bodies.
//!
//! Types are numbers of the process, so that they are compared at once.

use std::collections::HashMap;
use std::ops::Range;

use crate::constant::Constant;
use crate::types::{GlobalType, MemoryType, TableType};

/// Things that can be imported and exported.
#[derive(Clone, PartialEq, Debug)]
pub enum ExternType {
    /// A function of a type with this number.
    Function(u32),
    /// A table.
    Table(TableType),
    /// A memory.
    Memory(MemoryType),
    /// A global variable.
    Global(GlobalType),
    /// A tag of exceptions, whose type with this number has their values as parameters.
    Tag(u32),
}

/// An import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module that it is from.
    pub module: String,
    /// Its name there.
    pub name: String,
    /// The type that it has to have.
    pub kind: ExternType,
}

/// An export: its kind, and its index among the things of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Export {
    /// A function.
    Function(u32),
    /// A table.
    Table(u32),
    /// A memory.
    Memory(u32),
    /// A global variable.
    Global(u32),
    /// A tag of exceptions.
    Tag(u32),
}

/// Where a segment goes when an instance is made: an index and an offset.
pub type Active = Option<(u32, Constant)>;

/// A segment of elements.
#[derive(Debug)]
pub struct Elements {
    pub items: Vec<Constant>,
    pub active: Active,
    /// Whether it is only there to declare functions.
    pub is_declared: bool,
}

/// A segment of data: a range of the module's bytes.
#[derive(Debug)]
pub struct Data {
    pub bytes: Range<usize>,
    pub active: Active,
}

/// The contents of a module's sections.
#[derive(Default, Debug)]
pub struct Parts {
    /// Numbers of the module's types.
    pub types: Vec<u32>,
    pub imports: Vec<Import>,
    /// Numbers of the types of all functions, imported ones first.
    pub functions: Vec<u32>,
    pub imported_functions: usize,
    pub tables: Vec<TableType>,
    /// Initial elements of the module's own tables.
    pub table_values: Vec<Option<Constant>>,
    pub memories: Vec<MemoryType>,
    pub globals: Vec<GlobalType>,
    /// Initial values of the module's own global variables.
    pub global_values: Vec<Constant>,
    /// Numbers of the types of tags.
    pub tags: Vec<u32>,
    pub exports: Vec<(String, Export)>,
    pub elements: Vec<Elements>,
    pub data: Vec<Data>,
    pub start: Option<u32>,
    /// Where the contents of the code section begin.
    pub code_start: usize,
    /// Bytes of the bodies of the module's own functions.
    pub bodies: Vec<Range<usize>>,
    /// The module's name and those of functions, from the section of names.
    pub name: Option<String>,
    pub names: HashMap<u32, String>,
}
