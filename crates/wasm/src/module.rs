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
    FuncValidatorAllocations, Parser, Payload, ValidPayload, Validator, WasmFeatures,
};

use crate::code::{Code, FunctionBody, Origins};
use crate::definitions;
use crate::dwarf::{self, DebugInformation, SourceFrame};
use crate::error::Error;
use crate::handlers;
use crate::machine_code::{MachineCode, Refusal};
use crate::parts::{Export, ExternType, Import, Parts};
use crate::sections::Reader;
use crate::types::FunctionType;

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
        if bytes.get(6) == Some(&1) {
            return Err(Error::Invalid {
                text: "this is a component and no module".into(),
                offset: 6,
            });
        }
        handlers::check_processor()?;
        let mut reader = Reader::default();
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
