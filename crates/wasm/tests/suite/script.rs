//! Carrying a script out, directive by directive.

use std::collections::HashMap;

use canny_wasm::{
    Error, Extern, FunctionType, GlobalType, Imports, Instance, MemoryType, Module, Outcome,
    Referent, Store, TableType, Trap, ValueType,
};
use wast::core::{NanPattern, V128Pattern, WastArgCore, WastRetCore};
use wast::parser::{self, ParseBuffer};
use wast::token::{F32, F64, Id};
use wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke, WastRet, Wat};

/// The outcome of a script.
#[derive(Default)]
pub struct Report {
    pub done: usize,
    pub unsupported: usize,
    /// Lines with what is wrong.
    pub wrong: Vec<String>,
}

/// Why a directive does not hold.
enum Failure {
    /// The machine says that it does not support this.
    Unsupported,
    Wrong(String),
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::Wrong(text.into())
}

struct Script {
    store: Store,
    imports: Imports,
    named: HashMap<String, Instance>,
    definitions: HashMap<String, Module>,
    current: Option<Instance>,
    /// Whether a module was left out since the machine does not support it: others miss its exports.
    is_incomplete: bool,
    last_definition: Option<Module>,
}

/// The message for an import that no module exports.
const UNKNOWN: &str = "unknown import";

/// Runs a script.
pub fn run(text: &str) -> Report {
    let mut report = Report::default();
    let mut lexer = wast::lexer::Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    let buffer = match ParseBuffer::new_with_lexer(lexer) {
        Ok(buffer) => buffer,
        Err(error) => {
            report.wrong.push(error.to_string());
            return report;
        }
    };
    let script: Wast = match parser::parse(&buffer) {
        Ok(script) => script,
        Err(error) => {
            report.wrong.push(error.to_string());
            return report;
        }
    };
    let mut state = Script::new();
    for directive in script.directives {
        let (line, _) = directive.span().linecol_in(text);
        let is_module = matches!(
            directive,
            WastDirective::Module(_) | WastDirective::ModuleDefinition(_)
        );
        match state.directive(directive) {
            Ok(()) => report.done += 1,
            Err(Failure::Unsupported) => {
                report.unsupported += 1;
                state.is_incomplete |= is_module;
            }
            Err(Failure::Wrong(text)) if state.is_incomplete && text.contains(UNKNOWN) => {
                report.unsupported += 1;
            }
            Err(Failure::Wrong(text)) => report.wrong.push(format!("{}: {text}", line + 1)),
        }
    }
    report
}

/// Values with their bits.
type Values = Vec<(ValueType, u128)>;

impl Script {
    fn new() -> Script {
        let mut store = Store::new();
        let mut imports = Imports::default();
        let lists: [(&str, &[ValueType]); 7] = [
            ("print", &[]),
            ("print_i32", &[ValueType::I32]),
            ("print_i64", &[ValueType::I64]),
            ("print_f32", &[ValueType::F32]),
            ("print_f64", &[ValueType::F64]),
            ("print_i32_f32", &[ValueType::I32, ValueType::F32]),
            ("print_f64_f64", &[ValueType::F64, ValueType::F64]),
        ];
        for (name, parameters) in lists {
            let kind = FunctionType {
                parameters: parameters.to_vec(),
                results: Vec::new(),
            };
            let function = store.host_function(kind, Box::new(|_, _, _| Ok(Outcome::Done)));
            imports.add("spectest", name, Extern::Function(function));
        }
        for (name, value, bits) in [
            ("global_i32", ValueType::I32, 666),
            ("global_i64", ValueType::I64, 666),
            ("global_f32", ValueType::F32, u64::from(666.6f32.to_bits())),
            ("global_f64", ValueType::F64, 666.6f64.to_bits()),
        ] {
            let kind = GlobalType {
                value,
                mutable: false,
            };
            let global = store.global(kind, u128::from(bits));
            imports.add("spectest", name, Extern::Global(global));
        }
        for (name, is_wide) in [("table", false), ("table64", true)] {
            let kind = TableType {
                element: ValueType::FUNCTION,
                initial: 10,
                maximum: Some(20),
                is_wide,
            };
            let table = store.table(kind).unwrap();
            imports.add("spectest", name, Extern::Table(table));
        }
        for (name, is_shared) in [("memory", false), ("shared_memory", true)] {
            let kind = MemoryType {
                initial: 1,
                maximum: Some(2),
                is_wide: false,
                is_shared,
            };
            let memory = store.memory(kind).unwrap();
            imports.add("spectest", name, Extern::Memory(memory));
        }
        Script {
            store,
            imports,
            named: HashMap::new(),
            definitions: HashMap::new(),
            current: None,
            is_incomplete: false,
            last_definition: None,
        }
    }

    fn directive(&mut self, directive: WastDirective) -> Result<(), Failure> {
        match directive {
            WastDirective::Module(mut module) => {
                let name = module.name().map(|id| id.name().to_owned());
                self.current = None;
                let module = decode(&mut module)?;
                self.last_definition = Some(module.clone());
                self.instantiate(&module, name)
            }
            WastDirective::ModuleDefinition(mut module) => {
                let name = module.name().map(|id| id.name().to_owned());
                let module = decode(&mut module)?;
                if let Some(name) = name {
                    self.definitions.insert(name, module.clone());
                }
                self.last_definition = Some(module);
                Ok(())
            }
            WastDirective::ModuleInstance {
                instance, module, ..
            } => {
                let module = match module {
                    Some(id) => self.definitions.get(id.name()).cloned(),
                    None => self.last_definition.clone(),
                };
                let module = module.ok_or(Failure::Unsupported)?;
                self.instantiate(&module, instance.map(|id| id.name().to_owned()))
            }
            WastDirective::Register { name, module, .. } => {
                let instance = self.instance(module)?;
                for (export, item) in instance.exports(&self.store) {
                    self.imports.add(name, &export, item);
                }
                Ok(())
            }
            WastDirective::Invoke(invoke) => match self.invoke(invoke)? {
                Ok(_) => Ok(()),
                Err(trap) => Err(wrong(format!("unexpected trap: {trap}"))),
            },
            WastDirective::AssertReturn { exec, results, .. } => match self.execute(exec)? {
                Ok(values) => self.compare(&values, &results),
                Err(trap) => Err(wrong(format!("unexpected trap: {trap}"))),
            },
            WastDirective::AssertTrap { exec, message, .. } => match self.execute(exec)? {
                Ok(values) => Err(wrong(format!("gave {values:?}, should trap: {message}"))),
                Err(trap) => expect_message(&trap.to_string(), message),
            },
            WastDirective::AssertException { exec, .. } => match self.execute(exec)? {
                Ok(values) => Err(wrong(format!("gave {values:?}, should raise an exception"))),
                Err(Trap::Exception(_)) => Ok(()),
                Err(trap) => Err(wrong(format!("unexpected trap: {trap}"))),
            },
            WastDirective::AssertExhaustion { call, message, .. } => match self.invoke(call)? {
                Ok(values) => Err(wrong(format!("gave {values:?}, should trap: {message}"))),
                Err(trap) => expect_message(&trap.to_string(), message),
            },
            WastDirective::AssertMalformed {
                mut module,
                message,
                ..
            }
            | WastDirective::AssertInvalid {
                mut module,
                message,
                ..
            } => match module.encode() {
                Err(_) => Ok(()),
                Ok(bytes) => match Module::new(bytes) {
                    // The scripts for threads are older than version 3.0, which allows that.
                    Ok(_) if ["multiple memories", "multiple tables"].contains(&message) => {
                        Err(Failure::Unsupported)
                    }
                    Ok(_) => Err(wrong(format!("was taken, should be wrong: {message}"))),
                    Err(_) => Ok(()),
                },
            },
            WastDirective::AssertUnlinkable {
                module: mut wat,
                message,
                ..
            } => {
                let bytes = wat.encode().map_err(|error| wrong(error.to_string()))?;
                let module = new_module(bytes)?;
                match self.store.instantiate(&module, &self.imports) {
                    Ok(_) => Err(wrong(format!("was linked, should not: {message}"))),
                    Err(error) => expect_message(&error.to_string(), message),
                }
            }
            _ => Err(Failure::Unsupported),
        }
    }

    fn instantiate(&mut self, module: &Module, name: Option<String>) -> Result<(), Failure> {
        let instance = self
            .store
            .instantiate(module, &self.imports)
            .map_err(|error| wrong(error.to_string()))?;
        self.current = Some(instance);
        if let Some(name) = name {
            self.named.insert(name, instance);
        }
        Ok(())
    }

    fn instance(&self, name: Option<Id>) -> Result<Instance, Failure> {
        let instance = match name {
            Some(id) => self.named.get(id.name()).copied(),
            None => self.current,
        };
        // A module that could not be made was told about already.
        instance.ok_or(Failure::Unsupported)
    }

    fn execute(&mut self, execute: WastExecute) -> Result<Result<Values, Trap>, Failure> {
        match execute {
            WastExecute::Invoke(invoke) => self.invoke(invoke),
            WastExecute::Get { module, global, .. } => {
                let instance = self.instance(module)?;
                match instance.export(&self.store, global) {
                    Some(Extern::Global(global)) => {
                        let canny_wasm::ExternType::Global(kind) =
                            self.store.extern_type(Extern::Global(global))
                        else {
                            return Err(wrong("no global"));
                        };
                        Ok(Ok(vec![(kind.value, self.store.global_value(global))]))
                    }
                    _ => Err(wrong(format!("no global {global}"))),
                }
            }
            WastExecute::Wat(mut wat) => {
                let bytes = encode(&mut wat)?;
                let module = new_module(bytes)?;
                match self.store.instantiate(&module, &self.imports) {
                    Ok(_) => Ok(Ok(Vec::new())),
                    Err(Error::Trap(trap)) => Ok(Err(trap)),
                    Err(error) => Ok(Err(Trap::Host(error.to_string()))),
                }
            }
        }
    }

    fn invoke(&mut self, invoke: WastInvoke) -> Result<Result<Values, Trap>, Failure> {
        let instance = self.instance(invoke.module)?;
        let Some(Extern::Function(function)) = instance.export(&self.store, invoke.name) else {
            return Err(wrong(format!("no function {}", invoke.name)));
        };
        let mut arguments = Vec::new();
        for argument in invoke.args {
            add_words(argument, &mut arguments)?;
        }
        let kinds = &self.store.function_type(function).results;
        let results = self.store.call(function, &arguments);
        Ok(results.map(|words| {
            let mut words = words.into_iter();
            let mut word = || u128::from(words.next().unwrap_or(0));
            let values = kinds.iter().map(|kind| match kind {
                ValueType::V128 => (*kind, word() | word() << 64),
                _ => (*kind, word()),
            });
            values.collect()
        }))
    }

    fn compare(&self, values: &Values, wanted: &[WastRet]) -> Result<(), Failure> {
        if values.len() != wanted.len() {
            return Err(wrong(format!("gave {values:?}, should give {wanted:?}")));
        }
        for ((kind, bits), wanted) in values.iter().zip(wanted) {
            let WastRet::Core(wanted) = wanted else {
                return Err(Failure::Unsupported);
            };
            if !matches(&self.store, *kind, *bits, wanted)? {
                return Err(wrong(format!("gave {bits:#x}, should give {wanted:?}")));
            }
        }
        Ok(())
    }
}

fn encode(wat: &mut Wat) -> Result<Vec<u8>, Failure> {
    wat.encode().map_err(|error| wrong(error.to_string()))
}

fn decode(module: &mut QuoteWat) -> Result<Module, Failure> {
    let bytes = module.encode().map_err(|error| wrong(error.to_string()))?;
    new_module(bytes)
}

fn new_module(bytes: Vec<u8>) -> Result<Module, Failure> {
    let module = Module::new(bytes);
    let module = module.and_then(|module| canny_wasm::translate_all(&module).map(|_| module));
    module.map_err(|error| {
        let text = error.to_string();
        let unsupported = ["not supported", "not enabled", "required for", "proposal"];
        if unsupported.iter().any(|part| text.contains(part)) {
            Failure::Unsupported
        } else {
            wrong(text)
        }
    })
}

fn expect_message(found: &str, wanted: &str) -> Result<(), Failure> {
    // The suite's messages may say less or more than the machine's.
    let same = found.contains(wanted) || wanted.contains(found);
    if same {
        Ok(())
    } else {
        Err(wrong(format!(
            "message is \"{found}\", should be \"{wanted}\""
        )))
    }
}

/// Adds the words of an argument; that of an object of the host is 0 for null.
fn add_words(argument: WastArg, words: &mut Vec<u64>) -> Result<(), Failure> {
    let WastArg::Core(argument) = argument else {
        return Err(Failure::Unsupported);
    };
    let word = match argument {
        WastArgCore::I32(value) => u64::from(value as u32),
        WastArgCore::I64(value) => value as u64,
        WastArgCore::F32(value) => u64::from(value.bits),
        WastArgCore::F64(value) => value.bits,
        WastArgCore::RefNull(_) => 0,
        WastArgCore::RefExtern(number) | WastArgCore::RefHost(number) => u64::from(number) + 1,
        WastArgCore::V128(vector) => {
            let bits = u128::from_le_bytes(vector.to_le_bytes());
            words.push(bits as u64);
            (bits >> 64) as u64
        }
    };
    words.push(word);
    Ok(())
}

fn matches_f32(bits: u32, pattern: &NanPattern<F32>) -> bool {
    match pattern {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff == 0x7fc0_0000,
        NanPattern::ArithmeticNan => bits & 0x7fc0_0000 == 0x7fc0_0000,
        NanPattern::Value(value) => bits == value.bits,
    }
}

fn matches_f64(bits: u64, pattern: &NanPattern<F64>) -> bool {
    match pattern {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff_ffff_ffff == 0x7ff8_0000_0000_0000,
        NanPattern::ArithmeticNan => bits & 0x7ff8_0000_0000_0000 == 0x7ff8_0000_0000_0000,
        NanPattern::Value(value) => bits == value.bits,
    }
}

fn matches_vector(bits: u128, wanted: &V128Pattern) -> bool {
    let bytes = bits.to_le_bytes();
    let word = |lane: usize| (bits >> (32 * lane)) as u32;
    match wanted {
        V128Pattern::I8x16(lanes) => bytes == lanes.map(|lane| lane as u8),
        V128Pattern::I16x8(lanes) => (0..8).all(|i| (bits >> (16 * i)) as i16 == lanes[i]),
        V128Pattern::I32x4(lanes) => (0..4).all(|i| word(i) as i32 == lanes[i]),
        V128Pattern::I64x2(lanes) => (0..2).all(|i| (bits >> (64 * i)) as i64 == lanes[i]),
        V128Pattern::F32x4(lanes) => (0..4).all(|i| matches_f32(word(i), &lanes[i])),
        V128Pattern::F64x2(lanes) => {
            (0..2).all(|i| matches_f64((bits >> (64 * i)) as u64, &lanes[i]))
        }
    }
}

fn matches(
    store: &Store,
    kind: ValueType,
    bits: u128,
    wanted: &WastRetCore,
) -> Result<bool, Failure> {
    Ok(match wanted {
        WastRetCore::I32(value) => kind == ValueType::I32 && bits as u32 == *value as u32,
        WastRetCore::I64(value) => kind == ValueType::I64 && bits as u64 == *value as u64,
        WastRetCore::F32(pattern) => kind == ValueType::F32 && matches_f32(bits as u32, pattern),
        WastRetCore::F64(pattern) => kind == ValueType::F64 && matches_f64(bits as u64, pattern),
        WastRetCore::V128(pattern) => kind == ValueType::V128 && matches_vector(bits, pattern),
        WastRetCore::RefNull(_) => bits == 0,
        WastRetCore::RefExtern(Some(number)) | WastRetCore::RefHost(number) => {
            bits == u128::from(*number) + 1
        }
        WastRetCore::RefExtern(None) | WastRetCore::RefFunc(None) | WastRetCore::RefAny => {
            bits != 0
        }
        WastRetCore::RefEq => bits != 0 && store.referent(bits as u64) != Referent::Extern,
        WastRetCore::RefArray => store.referent(bits as u64) == Referent::Array,
        WastRetCore::RefStruct => store.referent(bits as u64) == Referent::Struct,
        WastRetCore::RefI31 => matches!(store.referent(bits as u64), Referent::I31(_)),
        WastRetCore::Either(choices) => {
            for choice in choices {
                if matches(store, kind, bits, choice)? {
                    return Ok(true);
                }
            }
            false
        }
        _ => return Err(Failure::Unsupported),
    })
}
