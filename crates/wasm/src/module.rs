//! Modules: decoded and validated bytes, and the code of functions that were called.
//!
//! The code of a function is made when it is called first, and belongs to the module.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use canny_locks::Mutex;
use canny_tables::guest::{Opcode, Runtime};
use wasmparser::{
    CompositeInnerType, DataKind, ElementItems, ElementKind, ExternalKind,
    FuncValidatorAllocations, Imports, Parser, Payload, TypeRef, ValidPayload, Validator,
    WasmFeatures,
};

use crate::code::{Code, FunctionBody, Origins};
use crate::constant::Constant;
use crate::definitions::{self, Composite, SubType};
use crate::dwarf::{self, DebugInformation, SourceFrame};
use crate::error::Error;
use crate::handlers;
use crate::machine_code::{MachineCode, Refusal};
use crate::types::{
    FieldType, FunctionType, GlobalType, HeapType, MemoryType, Storage, TableType, ValueType,
};

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

/// A module. Clones are the same one.
#[derive(Clone)]
pub struct Module {
    shared: Arc<Shared>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({:?})", self.name().unwrap_or_default())
    }
}

struct Shared {
    bytes: Box<[u8]>,
    parts: Parts,
    code: FunctionCode,
    machine_code: MachineCode,
    /// Where the instructions of functions are from that were asked for.
    origins: Mutex<HashMap<u32, Arc<Origins>>>,
    /// The file that it was read from, beside which a file with its debug information may be.
    path: OnceLock<PathBuf>,
    debug: OnceLock<Option<Debug>>,
}

/// Debug information, from the module itself or another file.
#[derive(Debug)]
struct Debug {
    information: DebugInformation,
    other: Option<Vec<u8>>,
}

/// The code of a module's own functions.
#[derive(Debug)]
struct FunctionCode {
    /// Addresses of code, which handlers read; at first those of `stubs`.
    entries: Box<[AtomicPtr<u64>]>,
    /// Three words for each function: the instruction that translates it.
    stubs: Box<[u64]>,
    translated: Mutex<Translated>,
}

/// The functions that were translated.
#[derive(Default, Debug)]
struct Translated {
    functions: HashMap<u32, FunctionBody>,
    /// Functions by the address at which they begin.
    places: BTreeMap<usize, u32>,
}

/// The first bytes of a module.
const MAGIC: &[u8] = b"\0asm";

/// Words of the instruction that translates a function.
const STUB_WORDS: usize = 3;

/// The features of the standard that modules may use.
pub fn features() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::FLOATS
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::MEMORY64
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::GC_TYPES
        | WasmFeatures::GC
        | WasmFeatures::FUNCTION_REFERENCES
        | WasmFeatures::SIMD
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::THREADS
}

/// Whether bytes begin like those of a binary.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl Module {
    /// The module with these bytes, which are those of a binary, or a text in UTF-8.
    pub fn read(bytes: Vec<u8>) -> Result<Module, Error> {
        Module::new(to_binary(bytes)?)
    }

    /// The same, of a file that gives its name to a module without one.
    pub fn read_from(bytes: Vec<u8>, file: Option<String>) -> Result<Module, Error> {
        Ok(Module::read(bytes)?.or_named(file))
    }

    /// The module, with a name if it has none, and the path of its file, if nobody else has it yet.
    pub(crate) fn or_named(mut self, file: Option<String>) -> Module {
        if let (Some(shared), Some(file)) = (Arc::get_mut(&mut self.shared), file) {
            let _ = shared.path.set(PathBuf::from(&file));
            shared.parts.name.get_or_insert(file);
        }
        self
    }

    /// Decodes and validates a module.
    pub fn new(bytes: Vec<u8>) -> Result<Module, Error> {
        Module::decode(bytes, true)
    }

    /// Decodes a module whose bytes are known to be valid. The bodies of its functions are not looked at.
    pub(crate) fn read_valid(bytes: Vec<u8>) -> Result<Module, Error> {
        Module::decode(bytes, false)
    }

    fn decode(bytes: Vec<u8>, validates_bodies: bool) -> Result<Module, Error> {
        if !bytes.starts_with(MAGIC) {
            return Err(Error::Invalid {
                text: "this is no WebAssembly module: it does not begin with \\0asm".into(),
                offset: 0,
            });
        }
        handlers::check_processor()?;
        let mut reader = Reader {
            parts: Parts::default(),
            own_types: Vec::new(),
        };
        let mut validator = Validator::new_with_features(features());
        let mut allocations = FuncValidatorAllocations::default();
        for payload in Parser::new(0).parse_all(&bytes) {
            let payload = payload?;
            if let ValidPayload::Func(function, body) = validator.payload(&payload)?
                && validates_bodies
            {
                let mut function = function.into_validator(allocations);
                function.validate(&body)?;
                allocations = function.into_allocations();
            }
            reader.read(payload)?;
        }
        let parts = reader.parts;
        let count = parts.bodies.len();
        let mut stubs = Code::default();
        for index in 0..count {
            let place = stubs.put(Opcode::Runtime(Runtime::Translate));
            stubs.set32(place, 8, index as u32);
        }
        let stubs = stubs.finish();
        let entries = stubs
            .chunks_exact(STUB_WORDS)
            .map(|stub| AtomicPtr::new(stub.as_ptr().cast_mut()))
            .collect();
        let code = FunctionCode {
            entries,
            stubs,
            translated: Mutex::default(),
        };
        Ok(Module {
            shared: Arc::new(Shared {
                bytes: bytes.into_boxed_slice(),
                parts,
                code,
                machine_code: MachineCode::of_functions(count),
                origins: Mutex::default(),
                path: OnceLock::new(),
                debug: OnceLock::new(),
            }),
        })
    }

    /// The module's imports.
    pub fn imports(&self) -> &[Import] {
        &self.shared.parts.imports
    }

    /// The module's exports.
    pub fn exports(&self) -> &[(String, Export)] {
        &self.shared.parts.exports
    }

    /// The type of an export.
    pub fn export_type(&self, export: Export) -> ExternType {
        let parts = &self.shared.parts;
        match export {
            Export::Function(index) => ExternType::Function(parts.functions[index as usize]),
            Export::Table(index) => ExternType::Table(parts.tables[index as usize]),
            Export::Memory(index) => ExternType::Memory(parts.memories[index as usize]),
            Export::Global(index) => ExternType::Global(parts.globals[index as usize]),
            Export::Tag(index) => ExternType::Tag(parts.tags[index as usize]),
        }
    }

    /// The type of a function, by its index.
    pub fn function_type(&self, index: u32) -> &'static FunctionType {
        definitions::function_type(self.shared.parts.functions[index as usize])
    }

    /// Its name, from the section of names; else that of its file.
    pub fn name(&self) -> Option<&str> {
        self.shared.parts.name.as_deref()
    }

    /// The name of a function, by its index: from the section of names, or its export.
    pub fn function_name(&self, index: u32) -> Option<&str> {
        let parts = &self.shared.parts;
        let exported = || {
            let export = parts.exports.iter();
            let mut export = export.filter(|(_, export)| *export == Export::Function(index));
            export.next().map(|(name, _)| name)
        };
        parts
            .names
            .get(&index)
            .or_else(exported)
            .map(String::as_str)
    }

    /// The machine code of its functions.
    pub(crate) fn machine_code(&self) -> &MachineCode {
        &self.shared.machine_code
    }

    /// A reference that does not keep it.
    pub(crate) fn weak(&self) -> Weak<dyn Any + Send + Sync> {
        let shared: Arc<dyn Any + Send + Sync> = Arc::clone(&self.shared) as _;
        Arc::downgrade(&shared)
    }

    /// The module that such a reference was to.
    pub(crate) fn of_any(shared: Arc<dyn Any + Send + Sync>) -> Option<Module> {
        let shared = shared.downcast().ok()?;
        Some(Module { shared })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.shared.parts
    }

    /// Its bytes; those of the binary, if it was read as text.
    pub fn bytes(&self) -> &[u8] {
        &self.shared.bytes
    }

    /// Addresses of the code of the module's own functions.
    pub(crate) fn code_entries(&self) -> &[AtomicPtr<u64>] {
        &self.shared.code.entries
    }

    /// The code of one of the module's own functions, if it was translated.
    pub(crate) fn code(&self, own_index: u32) -> Option<*const u64> {
        let translated = self.shared.code.translated.lock();
        let body = translated.functions.get(&own_index);
        body.map(FunctionBody::address)
    }

    /// Shows a function's code, if it was translated.
    pub(crate) fn with_code<T>(
        &self,
        own_index: u32,
        show: impl FnOnce(&FunctionBody) -> T,
    ) -> Option<T> {
        let translated = self.shared.code.translated.lock();
        translated.functions.get(&own_index).map(show)
    }

    /// Shows the function to which an instruction belongs: its index among the module's own ones, itself,
    /// and the number of the word there.
    pub(crate) fn with_function_at<T>(
        &self,
        address: *const u64,
        show: impl FnOnce(u32, &FunctionBody, u32) -> T,
    ) -> Option<T> {
        let translated = self.shared.code.translated.lock();
        let (start, index) = translated.places.range(..=address as usize).next_back()?;
        let body = translated.functions.get(index)?;
        let word = (address as usize - start) / 8;
        (word < body.words.len()).then(|| show(*index, body, word as u32))
    }

    /// Bytes of the code of functions that were translated.
    pub fn code_bytes(&self) -> usize {
        let translated = self.shared.code.translated.lock();
        let words = translated.functions.values().map(|body| body.words.len());
        8 * words.sum::<usize>()
    }

    /// Bytes of machine code of its functions.
    pub fn machine_code_bytes(&self) -> usize {
        self.shared.machine_code.bytes()
    }

    /// Whether a function is machine code now, by its index.
    pub fn is_machine_code(&self, index: u32) -> bool {
        let own_index = index.checked_sub(self.shared.parts.imported_functions as u32);
        own_index.is_some_and(|own_index| self.shared.machine_code.has(own_index))
    }

    /// Functions that the compiler has refused, by index, and why.
    pub fn refusals(&self) -> Vec<(u32, String)> {
        let imported = self.shared.parts.imported_functions as u32;
        let refusals = self.shared.machine_code.refusals().into_iter();
        let text = |refusal: Refusal| match refusal {
            Refusal::Unfit(why) => why.to_owned(),
            Refusal::Failed(text) => text,
        };
        refusals
            .map(|(own_index, refusal)| (imported + own_index, text(refusal)))
            .collect()
    }

    /// How many bytes it has.
    pub fn byte_count(&self) -> usize {
        self.shared.bytes.len()
    }

    /// The bytes of the first custom section of that name.
    pub fn custom_section(&self, name: &str) -> Option<&[u8]> {
        let parser = wasmparser::Parser::new(0);
        let mut payloads = parser.parse_all(&self.shared.bytes).flatten();
        payloads.find_map(|payload| match payload {
            Payload::CustomSection(section) if section.name() == name => Some(section.data()),
            _ => None,
        })
    }

    /// Says which file it is from. Only the first time counts.
    pub fn set_path(&self, path: PathBuf) {
        let _ = self.shared.path.set(path);
    }

    /// The functions whose code is at an offset in the module's bytes, as far as debug information knows
    /// them: inlined ones first.
    pub(crate) fn source_frames(&self, offset: u32) -> Arc<[SourceFrame]> {
        let find = || self.find_debug_information();
        let Some(debug) = self.shared.debug.get_or_init(find) else {
            return Arc::new([]);
        };
        let bytes = debug.other.as_deref().unwrap_or(&self.shared.bytes);
        let address = offset.checked_sub(self.shared.parts.code_start as u32);
        address.map_or_else(
            || Arc::from([]),
            |address| debug.information.frames(bytes, address),
        )
    }

    fn find_debug_information(&self) -> Option<Debug> {
        let own = &self.shared.bytes;
        if let Some(information) = DebugInformation::new(own, sections(own)) {
            let other = None;
            return Some(Debug { information, other });
        }
        let directory = self.shared.path.get()?.parent()?;
        let other = dwarf::external(self.custom_section("external_debug_info")?, directory)?;
        let information = DebugInformation::new(&other, sections(&other))?;
        let other = Some(other);
        Some(Debug { information, other })
    }

    /// The number of functions, imported ones included.
    pub fn function_count(&self) -> u32 {
        self.shared.parts.functions.len() as u32
    }

    /// Takes the code of a function, unless another thread was faster; gives the code that is in force.
    pub(crate) fn set_code(&self, own_index: u32, body: FunctionBody) -> *const u64 {
        let code = &self.shared.code;
        let translated = &mut *code.translated.lock();
        let body = translated.functions.entry(own_index).or_insert(body);
        let address = body.address();
        translated.places.insert(address as usize, own_index);
        code.entries[own_index as usize].store(address.cast_mut(), Ordering::Release);
        address
    }

    /// Where the instructions of a function are from, found if that was not asked before.
    pub(crate) fn origins(
        &self,
        own_index: u32,
        find: impl FnOnce() -> Option<Origins>,
    ) -> Option<Arc<Origins>> {
        let kept = &self.shared.origins;
        let known = kept.lock().get(&own_index).cloned();
        known.or_else(|| {
            let found = Arc::new(find()?);
            kept.lock().insert(own_index, Arc::clone(&found));
            Some(found)
        })
    }

    /// The instruction that translates a function when it is called.
    pub(crate) fn stub(&self, own_index: u32) -> *const u64 {
        self.shared.code.stubs[STUB_WORDS * own_index as usize..].as_ptr()
    }
}

/// The custom sections of a module that may not be valid: their names, and where their contents are.
fn sections(bytes: &[u8]) -> impl Iterator<Item = (String, Range<usize>)> {
    let payloads = Parser::new(0).parse_all(bytes);
    let payloads = payloads.map_while(Result::ok);
    payloads.filter_map(|payload| match payload {
        Payload::CustomSection(section) => {
            let start = section.data_offset() as usize;
            Some((
                section.name().to_owned(),
                start..start + section.data().len(),
            ))
        }
        _ => None,
    })
}

/// The binary for what may be one already, or a text in UTF-8: of a module or a component.
pub fn to_binary(bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    let text = std::str::from_utf8(&bytes).ok();
    match text.filter(|_| !bytes.starts_with(MAGIC)) {
        // An empty file or a word is rather a damaged binary.
        Some(text) if text.contains('(') => binary(text),
        _ => Ok(bytes),
    }
}

/// The binary for a module or a component in the text format.
fn binary(text: &str) -> Result<Vec<u8>, Error> {
    let failed = |error: wast::Error| {
        let (line, column) = error.span().linecol_in(text);
        Error::Text {
            text: error.message(),
            line: line + 1,
            column: column + 1,
        }
    };
    let buffer = wast::parser::ParseBuffer::new(text).map_err(failed)?;
    let mut module = wast::parser::parse::<wast::Wat>(&buffer).map_err(failed)?;
    module.encode().map_err(failed)
}

struct Reader {
    parts: Parts,
    own_types: Vec<u32>,
}

impl Reader {
    fn read(&mut self, payload: Payload) -> Result<(), Error> {
        match payload {
            Payload::TypeSection(groups) => {
                for group in groups {
                    self.group(group?)?;
                }
                self.parts.types = self.own_types.clone();
            }
            Payload::ImportSection(imports) => {
                for import in imports {
                    match import? {
                        Imports::Single(_, import) => self.import(import)?,
                        _ => return Err(unsupported("compact imports")),
                    }
                }
            }
            Payload::FunctionSection(functions) => {
                for kind in functions {
                    self.parts.functions.push(self.own_types[kind? as usize]);
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    let table = table?;
                    let value = match table.init {
                        wasmparser::TableInit::RefNull => None,
                        wasmparser::TableInit::Expr(value) => {
                            Some(Constant::read(&value, &self.own_types)?)
                        }
                    };
                    let kind = self.table_type(table.ty)?;
                    self.parts.tables.push(kind);
                    self.parts.table_values.push(value);
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    self.parts.memories.push(memory_type(memory?));
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    let kind = self.global_type(global.ty)?;
                    self.parts.globals.push(kind);
                    let value = Constant::read(&global.init_expr, &self.own_types)?;
                    self.parts.global_values.push(value);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    let what = match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => {
                            Export::Function(export.index)
                        }
                        ExternalKind::Table => Export::Table(export.index),
                        ExternalKind::Memory => Export::Memory(export.index),
                        ExternalKind::Global => Export::Global(export.index),
                        ExternalKind::Tag => Export::Tag(export.index),
                    };
                    self.parts.exports.push((export.name.to_owned(), what));
                }
            }
            Payload::TagSection(tags) => self.tags(tags)?,
            Payload::StartSection { func, .. } => self.parts.start = Some(func),
            Payload::ElementSection(segments) => {
                for segment in segments {
                    self.elements(segment?)?;
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    self.data(segment?)?;
                }
            }
            Payload::CodeSectionStart {
                unchecked_range, ..
            } => {
                self.parts.code_start = unchecked_range.start as usize;
            }
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                let range = range.start as usize..range.end as usize;
                self.parts.bodies.push(range);
            }
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Name(names) = section.as_known() {
                    self.names(names);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, segment: wasmparser::Data) -> Result<(), Error> {
        let active = match segment.kind {
            DataKind::Passive => None,
            DataKind::Active {
                memory_index,
                offset_expr,
            } => Some((memory_index, Constant::read(&offset_expr, &self.own_types)?)),
        };
        let end = segment.range.end as usize;
        let bytes = end - segment.data.len()..end;
        self.parts.data.push(Data { bytes, active });
        Ok(())
    }

    fn group(&mut self, group: wasmparser::RecGroup) -> Result<(), Error> {
        let start = self.own_types.len() as u32;
        let mut kinds = Vec::new();
        for kind in group.types() {
            kinds.push(self.sub_type(kind, start)?);
        }
        let count = kinds.len() as u32;
        let first = definitions::intern(kinds);
        self.own_types.extend(first..first + count);
        Ok(())
    }

    /// A type in a group that begins at `start`.
    fn sub_type(&self, kind: &wasmparser::SubType, start: u32) -> Result<SubType, Error> {
        let list = |types: &[wasmparser::ValType]| -> Result<Vec<ValueType>, Error> {
            types.iter().map(|kind| self.value(*kind, start)).collect()
        };
        let field = |field: &wasmparser::FieldType| -> Result<FieldType, Error> {
            let storage = match field.element_type {
                wasmparser::StorageType::I8 => Storage::I8,
                wasmparser::StorageType::I16 => Storage::I16,
                wasmparser::StorageType::Val(kind) => Storage::Value(self.value(kind, start)?),
            };
            Ok(FieldType {
                storage,
                mutable: field.mutable,
            })
        };
        let composite = match &kind.composite_type.inner {
            CompositeInnerType::Func(function) => Composite::Function(FunctionType {
                parameters: list(function.params())?,
                results: list(function.results())?,
            }),
            CompositeInnerType::Struct(kind) => {
                Composite::Struct(kind.fields.iter().map(field).collect::<Result<_, _>>()?)
            }
            CompositeInnerType::Array(kind) => Composite::Array(field(&kind.0)?),
            CompositeInnerType::Cont(_) => return Err(unsupported("types of continuations")),
        };
        let supertype = match kind.supertype_idxs.first() {
            Some(index) => {
                let index = index.as_module_index();
                Some(self.heap(
                    index.ok_or_else(|| unsupported("types of this kind"))?,
                    start,
                ))
            }
            None => None,
        };
        Ok(SubType {
            is_final: kind.is_final,
            supertype,
            composite,
        })
    }

    /// The type with an index, where types from `group` on are being defined.
    fn heap(&self, index: u32, group: u32) -> HeapType {
        match self.own_types.get(index as usize) {
            Some(number) => HeapType::Type(*number),
            None => HeapType::InGroup(index - group),
        }
    }

    /// A type of a value, where types from `group` on are being defined.
    fn value(&self, kind: wasmparser::ValType, group: u32) -> Result<ValueType, Error> {
        value_type(kind, |index| self.heap(index, group))
    }

    fn import(&mut self, import: wasmparser::Import) -> Result<(), Error> {
        let kind = match import.ty {
            TypeRef::Func(kind) | TypeRef::FuncExact(kind) => {
                let number = self.own_types[kind as usize];
                self.parts.functions.push(number);
                self.parts.imported_functions += 1;
                ExternType::Function(number)
            }
            TypeRef::Table(kind) => {
                let kind = self.table_type(kind)?;
                self.parts.tables.push(kind);
                ExternType::Table(kind)
            }
            TypeRef::Memory(kind) => {
                let kind = memory_type(kind);
                self.parts.memories.push(kind);
                ExternType::Memory(kind)
            }
            TypeRef::Global(kind) => {
                let kind = self.global_type(kind)?;
                self.parts.globals.push(kind);
                ExternType::Global(kind)
            }
            TypeRef::Tag(kind) => {
                let number = self.own_types[kind.func_type_idx as usize];
                self.parts.tags.push(number);
                ExternType::Tag(number)
            }
        };
        self.parts.imports.push(Import {
            module: import.module.to_owned(),
            name: import.name.to_owned(),
            kind,
        });
        Ok(())
    }

    fn table_type(&self, kind: wasmparser::TableType) -> Result<TableType, Error> {
        Ok(TableType {
            element: self.value(wasmparser::ValType::Ref(kind.element_type), 0)?,
            initial: kind.initial,
            maximum: kind.maximum,
            is_wide: kind.table64,
        })
    }

    fn global_type(&self, kind: wasmparser::GlobalType) -> Result<GlobalType, Error> {
        Ok(GlobalType {
            value: self.value(kind.content_type, 0)?,
            mutable: kind.mutable,
        })
    }

    fn elements(&mut self, segment: wasmparser::Element) -> Result<(), Error> {
        let mut items = Vec::new();
        match segment.items {
            ElementItems::Functions(functions) => {
                for function in functions {
                    items.push(Constant::function(function?));
                }
            }
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    items.push(Constant::read(&expression?, &self.own_types)?);
                }
            }
        }
        let is_declared = matches!(segment.kind, ElementKind::Declared);
        let active = match segment.kind {
            ElementKind::Active {
                table_index,
                offset_expr,
            } => Some((
                table_index.unwrap_or(0),
                Constant::read(&offset_expr, &self.own_types)?,
            )),
            _ => None,
        };
        self.parts.elements.push(Elements {
            items,
            active,
            is_declared,
        });
        Ok(())
    }

    fn tags(&mut self, tags: wasmparser::TagSectionReader) -> Result<(), Error> {
        for tag in tags {
            let number = self.own_types[tag?.func_type_idx as usize];
            self.parts.tags.push(number);
        }
        Ok(())
    }

    /// Takes names of functions; what is wrong with the section does not matter.
    fn names(&mut self, names: wasmparser::NameSectionReader) {
        for part in names {
            let functions = match part {
                Ok(wasmparser::Name::Function(functions)) => functions,
                Ok(wasmparser::Name::Module { name, .. }) => {
                    self.parts.name = Some(name.to_owned());
                    continue;
                }
                _ => continue,
            };
            for naming in functions.into_iter().flatten() {
                self.parts
                    .names
                    .insert(naming.index, naming.name.to_owned());
            }
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported(format!("{what} are not supported yet"))
}

fn memory_type(kind: wasmparser::MemoryType) -> MemoryType {
    MemoryType {
        initial: kind.initial,
        maximum: kind.maximum,
        is_wide: kind.memory64,
        is_shared: kind.shared,
    }
}

/// A type of a value; `concrete` gives the type with an index of the module.
fn value_type(
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
