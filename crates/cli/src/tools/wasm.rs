//! `canny wasm`: runs WASI commands, calls functions of WebAssembly modules, and validates modules.
//!
//! Arguments of functions are read by the types of the function's parameters.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use canny_component::Component;
use canny_io::Handle;
use canny_io::socket::{Address, ListenOptions, Socket};
use canny_wasi::{Directory, Settings, Wasi};
use canny_wasm::{
    Error, Extern, ExternType, Function, FunctionType, Imports, Instance, Limits, Module, Store,
    Trap, ValidModules, ValueType,
};
use lexopt::{Arg, Parser};

use super::{Tool, components};
use crate::environment::Environment;
use crate::exit_code;
use crate::profile::GuestProfile;
use crate::recording::RecordingOptions;
use crate::session::set_guest_code;

pub const TOOL: Tool = Tool {
    name: "wasm",
    operands: "[OPTION…] [profile] FILE [ARGUMENT…]",
    summary: "Runs a WebAssembly module, calls a function of it, profiles it, or says what it has",
    options: &[
        (
            "--invoke NAME",
            "call the exported function of that name with the arguments",
        ),
        (
            "--list",
            "list imports and exports with their types, whatever the module has",
        ),
        (
            "--dir PATH[::NAME]",
            "a directory that the guest may use, and what the guest calls it",
        ),
        (
            "--read-only-dir PATH[::NAME]",
            "the same without changing anything in it",
        ),
        (
            "--env NAME[=VALUE]",
            "a variable of the guest's environment; its value here unless given",
        ),
        (
            "--listen HOST:PORT",
            "a listening socket for the guest, behind the directories",
        ),
        ("--network", "let a component use sockets and look names up"),
        (
            "--memory-limit BYTES",
            "the bytes that memories, tables and objects may have",
        ),
        ("--disassemble", "print the register code of all functions"),
        ("--validate", "say only whether the module is valid"),
        (
            "--fuel COUNT",
            "stop after so many jumps and calls; no limit unless given",
        ),
    ],
    details: "'canny wasm profile' takes a profile of a WASI command, and has the options -o, --format,\n\
        --interval, --base, --flame, --text, --native and --live of 'canny profile' behind that word.\n\
        A file of that name is run by './profile'.\n\
        A module that exports '_start' is a WASI command: it is run with the arguments, the\n\
        standard streams, and the directories and variables that options name. Its code is the exit\n\
        code. Other modules are listed, unless '--invoke' names a function. Then arguments are\n\
        numbers, or vectors such as i32x4:1,2,3,4; results are printed, one in a line.\n\
        A component that exports 'wasi:cli/run' is a command, too; arguments and results of its\n\
        other functions are written like 5, \"text\", [1, 2], {name: \"a\"} and some(1).\n\
        FILE is a binary or in the text format.",
    run,
};

/// The command line.
#[derive(Default)]
pub(super) struct Request {
    pub(super) invoked: Option<String>,
    validates: bool,
    pub(super) disassembles: bool,
    pub(super) lists: bool,
    pub(super) network: bool,
    pub(super) limits: Limits,
    pub(super) memory_limit: Option<u64>,
    directories: Vec<Directory>,
    environment: Vec<(OsString, OsString)>,
    listeners: Vec<Socket>,
    pub(super) file: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// The profile to be taken.
    pub(super) profile: Option<RecordingOptions>,
    /// Where the bytes that guests have taken are written at the end.
    pub(super) statistics: Option<&'static Path>,
}

impl Request {
    /// The settings of a guest, whose arguments begin with the name of the program.
    pub(super) fn settings(&mut self, arguments: Vec<OsString>) -> Settings {
        Settings {
            arguments,
            environment: std::mem::take(&mut self.environment),
            directories: std::mem::take(&mut self.directories),
            listeners: std::mem::take(&mut self.listeners),
            streams: [
                Some(Handle::standard_input()),
                Some(Handle::standard_output()),
                Some(Handle::standard_error()),
            ],
        }
    }
}

/// Options of profiles that those of guests have.
const PROFILE_OPTIONS: &[&str] = &[
    "output", "format", "interval", "base", "flame", "text", "native", "live",
];

fn read_request(mut parser: Parser) -> Result<Request, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut request = Request::default();
    let mut file: Option<PathBuf> = None;
    while file.is_none() {
        match parser.next().map_err(text_of)? {
            Some(Arg::Long("invoke")) => {
                let value = parser.value().map_err(text_of)?;
                request.invoked = Some(value.to_string_lossy().into_owned());
            }
            Some(Arg::Long("disassemble")) => request.disassembles = true,
            Some(Arg::Long("validate")) => request.validates = true,
            Some(Arg::Long("list")) => request.lists = true,
            Some(Arg::Long("network")) => request.network = true,
            Some(Arg::Long("fuel")) => {
                request.limits.fuel = Some(number("--fuel", parser.value().map_err(text_of)?)?);
            }
            Some(Arg::Long("memory-limit")) => {
                let value = parser.value().map_err(text_of)?;
                request.memory_limit = Some(number("--memory-limit", value)?);
            }
            Some(Arg::Long("dir")) => {
                let value = parser.value().map_err(text_of)?;
                request.directories.push(directory(&value, false));
            }
            Some(Arg::Long("read-only-dir")) => {
                let value = parser.value().map_err(text_of)?;
                request.directories.push(directory(&value, true));
            }
            Some(Arg::Long("env")) => {
                let value = parser.value().map_err(text_of)?;
                request.environment.push(variable(value));
            }
            Some(Arg::Long("listen")) => {
                let value = parser.value().map_err(text_of)?;
                request.listeners.push(listener(&value.to_string_lossy())?);
            }
            Some(Arg::Value(value)) if value == "profile" && request.profile.is_none() => {
                request.profile = Some(RecordingOptions::default());
            }
            Some(Arg::Value(value)) => file = Some(value.into()),
            Some(Arg::Short('o')) if let Some(profile) = &mut request.profile => {
                profile.take("output", &mut parser)?;
            }
            Some(Arg::Long(option))
                if PROFILE_OPTIONS.contains(&option)
                    && let Some(profile) = &mut request.profile =>
            {
                let option = option.to_owned();
                profile.take(&option, &mut parser)?;
            }
            Some(argument) => return Err(argument.unexpected().to_string()),
            None => break,
        }
    }
    request.file = file.ok_or("which file?")?;
    if let Some(profile) = &mut request.profile {
        profile.settle()?;
        let others = [request.validates, request.disassembles, request.lists];
        if request.invoked.is_some() || others.contains(&true) {
            return Err("a profile is one of a WASI command".into());
        }
    }
    request.arguments = parser.raw_args().map_err(text_of)?.collect();
    Ok(request)
}

fn number(option: &str, value: OsString) -> Result<u64, String> {
    let number = value.to_string_lossy().parse();
    number.map_err(|_| format!("'{option}' takes a number"))
}

/// A directory and its name for the guest, which stands behind `::`.
fn directory(value: &OsStr, read_only: bool) -> Directory {
    let text = value.to_string_lossy();
    let (path, name) = match text.split_once("::") {
        Some((path, name)) => (PathBuf::from(path), name.to_owned()),
        None => (PathBuf::from(value), text.into_owned()),
    };
    Directory {
        path,
        name,
        read_only,
    }
}

fn variable(value: OsString) -> (OsString, OsString) {
    let text = value.to_string_lossy();
    match text.split_once('=') {
        Some((name, value)) => (name.into(), value.into()),
        None => {
            let here = std::env::var_os(&value).unwrap_or_default();
            (value, here)
        }
    }
}

fn listener(place: &str) -> Result<Socket, String> {
    let parts = place.rsplit_once(':');
    let address = parts.and_then(|(host, port)| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Address::inet(host, port.parse().ok()?)
    });
    let address = address.ok_or_else(|| format!("'{place}' is no address such as 127.0.0.1:80"))?;
    Socket::listen(&address, ListenOptions::default()).map_err(|error| error.to_string())
}

fn run(parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let mut request = read_request(parser)?;
    request.statistics = environment.statistics.as_deref();
    set_guest_code(environment.compiles, environment);
    let bytes = match std::fs::read(&request.file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!(
                "canny wasm: cannot read {}: {error}",
                request.file.display()
            );
            return Ok(exit_code::NO_INPUT);
        }
    };
    let bytes = match canny_wasm::to_binary(bytes) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(complain(&request.file, &error)),
    };
    let known = environment.cache_directory().filter(|_| !request.validates);
    let known = known.map(|directory| ValidModules::in_cache(&directory));
    let read = |bytes: Vec<u8>| match &known {
        Some(known) => known.read(bytes),
        None => Module::new(bytes),
    };
    if Component::is_component(&bytes) {
        return match Component::read_with(bytes, read) {
            Ok(_) if request.validates => Ok(0),
            Ok(component) => components::run(component, request, environment),
            Err(error) => Ok(complain(&request.file, &error)),
        };
    }
    let module = match read(bytes) {
        Ok(module) => module,
        Err(error) => return Ok(complain(&request.file, &error)),
    };
    module.set_path(request.file.clone());
    if request.validates {
        return Ok(0);
    }
    if request.disassembles {
        return Ok(match disassembly(&module) {
            Ok(text) => {
                crate::print_all(&text);
                0
            }
            Err(error) => complain(&request.file, &error),
        });
    }
    let mut exports = module.exports().iter();
    let is_command = exports.any(|(name, _)| name == START);
    match &request.invoked {
        Some(name) => invoke(&module, name, &request),
        None if is_command && request.profile.is_some() => {
            let run = move || profile_command(&module, request, environment);
            Ok(on_large_stack(run))
        }
        None if request.profile.is_some() => Err("the module is no WASI command".to_owned()),
        None if is_command && !request.lists => {
            let mut call = |store: &mut Store, function| store.call(function, &[]).map(drop);
            run_command(&module, request, &mut call)
        }
        None if request.arguments.is_empty() => {
            crate::print_all(&listing(&module));
            Ok(0)
        }
        None => Err("the module is no WASI command; arguments need '--invoke NAME'".to_owned()),
    }
}

/// The function that is the program of a WASI command.
const START: &str = "_start";

/// An instance with WASI, whose start function has not been called, and that function.
fn instantiate(
    store: &mut Store,
    module: &Module,
    wasi: &Wasi,
) -> Result<(Instance, Option<Function>), Error> {
    let imports: Vec<Option<Extern>> = module
        .imports()
        .iter()
        .map(|import| {
            let is_known = import.module == canny_wasi::MODULE;
            let function = is_known
                .then(|| wasi.function(store, &import.name))
                .flatten();
            function.map(Extern::Function)
        })
        .collect();
    let (instance, start) = store.prepare(module, &imports)?;
    wasi.bind(store, instance);
    Ok((instance, start))
}

/// The same while a profile is taken.
fn profile_command(
    module: &Module,
    mut request: Request,
    environment: &'static Environment,
) -> Result<u8, String> {
    let mut profile = begin_profile(&mut request, environment)?;
    let code = run_command(module, request, &mut |store, function| {
        profile.call(store, function)
    });
    profile.end();
    code
}

/// Begins the profile that is asked for.
pub(super) fn begin_profile(
    request: &mut Request,
    environment: &'static Environment,
) -> Result<GuestProfile, String> {
    let wish = request.profile.take().unwrap_or_default();
    let words = request.arguments.iter().map(OsString::as_os_str);
    let words = std::iter::once(request.file.as_os_str()).chain(words);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    GuestProfile::begin(wish, words.collect(), environment)
}

/// Does something on a stack that has room for a machine of Scheme, for profiles.
pub(super) fn on_large_stack(run: impl FnOnce() -> Result<u8, String> + Send + 'static) -> u8 {
    crate::on_large_stack(move || match run() {
        Ok(code) => code,
        Err(message) => {
            eprintln!("canny wasm: {message}");
            exit_code::SOFTWARE
        }
    })
}

/// Runs a WASI command. Functions are called as `call` does it.
fn run_command(
    module: &Module,
    mut request: Request,
    call: &mut dyn FnMut(&mut Store, Function) -> Result<(), Trap>,
) -> Result<u8, String> {
    let mut arguments = vec![request.file.clone().into_os_string()];
    arguments.append(&mut request.arguments);
    let wasi = Wasi::new(request.settings(arguments))?;
    let mut store = Store::new();
    store.set_memory_limit(request.memory_limit);
    store.set_fuel(request.limits.fuel);
    store.set_stack_bytes(request.limits.stack_bytes);
    let outcome = instantiate(&mut store, module, &wasi).and_then(|(instance, start)| {
        if let Some(start) = start {
            call(&mut store, start)?;
        }
        if let Some(Extern::Function(start)) = instance.export(&store, START) {
            call(&mut store, start)?;
        }
        Ok(())
    });
    write_statistics(request.statistics, &[module], &store);
    Ok(match outcome {
        Ok(()) => 0,
        Err(Error::Trap(Trap::Exit(code))) => code as u8,
        Err(error) => {
            let code = complain(&request.file, &error);
            print_backtrace(&store);
            code
        }
    })
}

/// Writes how many bytes memories, tables and translated code have taken, if somebody asks.
pub(super) fn write_statistics(request: Option<&Path>, modules: &[&Module], store: &Store) {
    let Some(path) = request else { return };
    let code: usize = modules.iter().map(|module| module.code_bytes()).sum();
    let bytes = store.memory_bytes() + code as u64;
    if let Err(error) = std::fs::write(path, format!("bytes-allocated {bytes}\n")) {
        eprintln!("canny wasm: cannot write {}: {error}", path.display());
    }
}

/// The functions whose calls a trap has ended.
pub(super) fn print_backtrace(store: &Store) {
    for frame in store.backtrace() {
        eprintln!("  in {}", frame.text());
    }
}

/// The register code of all functions, each behind a line with its index and name.
pub(super) fn disassembly(module: &Module) -> Result<String, Error> {
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

pub(super) fn complain(file: &Path, error: &Error) -> u8 {
    eprintln!("canny wasm: {}: {error}", file.display());
    match error {
        Error::Invalid { .. } | Error::Text { .. } | Error::Unsupported(_) => exit_code::DATA,
        _ => exit_code::SOFTWARE,
    }
}

fn invoke(module: &Module, name: &str, request: &Request) -> Result<u8, String> {
    let file = &request.file;
    let mut store = Store::new();
    store.set_memory_limit(request.memory_limit);
    let instance = match store.instantiate(module, &Imports::default()) {
        Ok(instance) => instance,
        Err(error) => return Ok(complain(file, &error)),
    };
    let Some(Extern::Function(function)) = instance.export(&store, name) else {
        return Err(format!("the module exports no function '{name}'"));
    };
    let kind = store.function_type(function);
    let arguments = parse_arguments(kind, &request.arguments)?;
    let outcome = store.call_within(function, &arguments, request.limits);
    write_statistics(request.statistics, &[module], &store);
    match outcome {
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
        Err(trap) => {
            let code = complain(file, &Error::Trap(trap));
            print_backtrace(&store);
            Ok(code)
        }
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
            ExternType::Tag(number) => {
                format!("tag {}", canny_wasm::function_type(*number).text())
            }
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
            canny_wasm::Export::Tag(_) => "tag".to_owned(),
        };
        let _ = writeln!(text, "export {name}: {what}");
    }
    text
}
