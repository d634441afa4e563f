//! `canny wasm`: calls functions of WebAssembly modules, and validates modules.
//!
//! Arguments are read by the types of the function's parameters.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use canny_wasm::{
    Error, Extern, ExternType, FunctionType, Imports, Limits, Module, Store, ValueType,
};
use lexopt::{Arg, Parser};

use super::Tool;
use crate::environment::Environment;
use crate::exit_code;

pub const TOOL: Tool = Tool {
    name: "wasm",
    operands: "[OPTION…] FILE [ARGUMENT…]",
    summary: "Calls a function of a WebAssembly module, or says what the module has",
    options: &[
        (
            "--invoke NAME",
            "call the exported function of that name with the arguments",
        ),
        ("--disassemble", "print the register code of all functions"),
        ("--validate", "say only whether the module is valid"),
        (
            "--fuel COUNT",
            "stop after so many jumps and calls; no limit unless given",
        ),
    ],
    details: "Arguments are numbers, or vectors such as i32x4:1,2,3,4; results are printed, one in a line.\n\
        Without an option, imports and exports are listed with their types.\n\
        Modules that need WASI or other imports are not run yet, nor those with exceptions,\n\
        garbage-collected objects or threads.",
    run,
};

fn run(mut parser: Parser, _: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut name = None;
    let mut validates = false;
    let mut disassembles = false;
    let mut limits = Limits::default();
    let mut file: Option<PathBuf> = None;
    while file.is_none() {
        match parser.next().map_err(text_of)? {
            Some(Arg::Long("invoke")) => {
                let value = parser.value().map_err(text_of)?;
                name = Some(value.to_string_lossy().into_owned());
            }
            Some(Arg::Long("disassemble")) => disassembles = true,
            Some(Arg::Long("validate")) => validates = true,
            Some(Arg::Long("fuel")) => {
                let text = parser.value().map_err(text_of)?;
                let fuel = text.to_string_lossy().parse();
                limits.fuel = Some(fuel.map_err(|_| "'--fuel' takes a number".to_owned())?);
            }
            Some(Arg::Value(value)) => file = Some(value.into()),
            Some(argument) => return Err(argument.unexpected().to_string()),
            None => break,
        }
    }
    let file = file.ok_or("which file?")?;
    let arguments: Vec<OsString> = parser.raw_args().map_err(text_of)?.collect();
    let bytes = match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("canny wasm: cannot read {}: {error}", file.display());
            return Ok(exit_code::NO_INPUT);
        }
    };
    let module = match Module::read(bytes) {
        Ok(module) => module,
        Err(error) => return Ok(complain(&file, &error)),
    };
    if validates {
        return Ok(0);
    }
    if disassembles {
        return Ok(match disassembly(&module) {
            Ok(text) => {
                crate::print_all(&text);
                0
            }
            Err(error) => complain(&file, &error),
        });
    }
    match name {
        Some(name) => invoke(&file, &module, &name, &arguments, limits),
        None if arguments.is_empty() => {
            crate::print_all(&listing(&module));
            Ok(0)
        }
        None => Err("arguments need '--invoke NAME'".to_owned()),
    }
}

/// The register code of all functions, each behind a line with its index and name.
fn disassembly(module: &Module) -> Result<String, Error> {
    let mut text = String::new();
    for index in 0..module.function_count() {
        let Some(listing) = canny_wasm::listing(module, index)? else {
            continue;
        };
        let name = module.function_name(index).unwrap_or("");
        let _ = writeln!(text, "function {index} {name}\n{listing}");
    }
    Ok(text)
}

fn complain(file: &Path, error: &Error) -> u8 {
    eprintln!("canny wasm: {}: {error}", file.display());
    match error {
        Error::Invalid { .. } | Error::Text { .. } | Error::Unsupported(_) => exit_code::DATA,
        _ => exit_code::SOFTWARE,
    }
}

fn invoke(
    file: &Path,
    module: &Module,
    name: &str,
    arguments: &[OsString],
    limits: Limits,
) -> Result<u8, String> {
    let mut store = Store::new();
    let instance = match store.instantiate(module, &Imports::default()) {
        Ok(instance) => instance,
        Err(error) => return Ok(complain(file, &error)),
    };
    let Some(Extern::Function(function)) = instance.export(&store, name) else {
        return Err(format!("the module exports no function '{name}'"));
    };
    let kind = store.function_type(function);
    let arguments = parse_arguments(&kind, arguments)?;
    match store.call_within(function, &arguments, limits) {
        Ok(results) => {
            let mut text = String::new();
            let mut words = results.as_slice();
            for kind in &kind.results {
                let (value, rest) = words.split_at(kind.slots());
                words = rest;
                // Writing to a string does not fail.
                let _ = writeln!(text, "{}", value_text(*kind, value));
            }
            crate::print_all(&text);
            Ok(0)
        }
        Err(trap) => Ok(complain(file, &Error::Trap(trap))),
    }
}

/// The bits of arguments.
fn parse_arguments(kind: &FunctionType, words: &[OsString]) -> Result<Vec<u64>, String> {
    if words.len() != kind.parameters.len() {
        return Err(format!(
            "the function is of type {}; it was given {} arguments",
            kind.text(),
            words.len()
        ));
    }
    let mut values = Vec::new();
    for (kind, word) in kind.parameters.iter().zip(words) {
        let word = word.to_string_lossy();
        let value = match kind {
            ValueType::V128 => {
                parse_vector(&word).map(|bits| vec![bits as u64, (bits >> 64) as u64])
            }
            _ => parse_argument(*kind, &word).map(|bits| vec![bits]),
        };
        let wrong = || format!("'{word}' is no value of type {}", kind.text());
        values.extend(value.ok_or_else(wrong)?);
    }
    Ok(values)
}

fn parse_argument(kind: ValueType, word: &str) -> Option<u64> {
    match kind {
        // Without a sign, too.
        ValueType::I32 => {
            let signed = word.parse::<i32>().map(|number| number as u32);
            signed.or_else(|_| word.parse()).map(u64::from).ok()
        }
        ValueType::I64 => {
            let signed = word.parse::<i64>().map(|number| number as u64);
            signed.or_else(|_| word.parse()).ok()
        }
        ValueType::F32 => word.parse::<f32>().ok().map(|x| u64::from(x.to_bits())),
        ValueType::F64 => word.parse::<f64>().ok().map(f64::to_bits),
        ValueType::V128 | ValueType::Reference { .. } => None,
    }
}

/// The bits of a vector such as `i32x4:1,2,3,4`.
fn parse_vector(word: &str) -> Option<u128> {
    let (lanes, numbers) = word.split_once(':')?;
    let (count, is_float) = match lanes {
        "i8x16" => (16, false),
        "i16x8" => (8, false),
        "i32x4" => (4, false),
        "i64x2" => (2, false),
        "f32x4" => (4, true),
        "f64x2" => (2, true),
        _ => return None,
    };
    let width = 128 / count;
    let mut bits = 0;
    let mut found = 0;
    for number in numbers.split(',') {
        if found == count {
            return None;
        }
        let lane = match (is_float, width) {
            (true, 32) => u64::from(number.parse::<f32>().ok()?.to_bits()),
            (true, _) => number.parse::<f64>().ok()?.to_bits(),
            (false, _) => parse_lane(number, width)?,
        };
        bits |= u128::from(lane) << (width * found);
        found += 1;
    }
    (found == count).then_some(bits)
}

/// The bits of an integer of so many bits, with a sign or without.
fn parse_lane(number: &str, width: u32) -> Option<u64> {
    let number: i128 = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?.into(),
        None => number.parse().ok()?,
    };
    let range = -(1i128 << (width - 1))..1i128 << width;
    let mask = u64::MAX >> (64 - width);
    range.contains(&number).then_some(number as u64 & mask)
}

/// A value of one word, or of two if it is a vector.
fn value_text(kind: ValueType, words: &[u64]) -> String {
    let bits = words[0];
    match kind {
        ValueType::I32 => (bits as i32).to_string(),
        ValueType::I64 => (bits as i64).to_string(),
        ValueType::F32 => f32::from_bits(bits as u32).to_string(),
        ValueType::F64 => f64::from_bits(bits).to_string(),
        ValueType::V128 => {
            let lanes = words
                .iter()
                .flat_map(|word| [*word as u32, (word >> 32) as u32]);
            let lanes: Vec<String> = lanes.map(|lane| format!("{lane:#010x}")).collect();
            format!("i32x4:{}", lanes.join(","))
        }
        ValueType::Reference { .. } if bits == 0 => "null".to_owned(),
        ValueType::Reference { .. } => "a reference".to_owned(),
    }
}

/// Imports and exports with their types.
fn listing(module: &Module) -> String {
    let mut text = String::new();
    for import in module.imports() {
        let what = match &import.kind {
            ExternType::Function(number) => {
                format!("function {}", canny_wasm::function_type(*number).text())
            }
            ExternType::Table(_) => "table".to_owned(),
            ExternType::Memory(_) => "memory".to_owned(),
            ExternType::Global(kind) => format!("global {}", kind.value.text()),
        };
        let _ = writeln!(text, "import {} {}: {what}", import.module, import.name);
    }
    for (name, export) in module.exports() {
        let what = match export {
            canny_wasm::Export::Function(index) => {
                format!("function {}", module.function_type(*index).text())
            }
            canny_wasm::Export::Table(_) => "table".to_owned(),
            canny_wasm::Export::Memory(_) => "memory".to_owned(),
            canny_wasm::Export::Global(_) => "global".to_owned(),
        };
        let _ = writeln!(text, "export {name}: {what}");
    }
    text
}
