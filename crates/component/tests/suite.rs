//! Scripts of the component model's own suite, and scripts of ours (`tests/scripts`).
//!
//! `COMPONENT_SUITE` names a directory with scripts. Each fault is listed by script and line.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_component::types::{Shape, Type};
use canny_component::{Component, Imports, Instance, Item, Value};
use canny_wasm::{Error, MachineCodePolicy as Policy, Store, Trap, set_machine_code_policy};
use wast::component::WastVal;
use wast::parser::{ParseBuffer, parse};
use wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke, WastRet};

/// The outcome of a script.
#[derive(Default)]
struct Report {
    done: usize,
    unsupported: usize,
    wrong: Vec<String>,
}

/// The outcome of a directive that does not hold.
enum Fault {
    /// It needs something that scripts of ours do not use.
    Unsupported,
    Wrong(String),
}

fn wrong<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Wrong(text.into()))
}

#[derive(Default)]
struct Script {
    store: Store,
    imports: Imports,
    definitions: HashMap<String, Component>,
    instances: HashMap<String, Arc<Instance>>,
    newest: Option<Arc<Instance>>,
    newest_definition: Option<Component>,
    /// Names of definitions and instances that need what is not supported; "" is the newest.
    unsupported: HashSet<String>,
}

/// Whether an error says that a component is one of asynchronous functions, which come with WASI 0.3.
fn is_asynchronous(error: &Error) -> bool {
    let text = error.to_string();
    let features = ["async feature", "threading feature", "async builtins"];
    features.iter().any(|feature| text.contains(feature))
}

fn binary(module: &mut QuoteWat<'_>) -> Result<Vec<u8>, Error> {
    module.encode().map_err(|error| Error::Invalid {
        text: error.message(),
        offset: 0,
    })
}

impl Script {
    fn component(&mut self, module: &mut QuoteWat<'_>) -> Result<Component, Error> {
        Component::new(binary(module)?)
    }

    fn instantiate(&mut self, component: &Component) -> Result<Arc<Instance>, Error> {
        let made = component.instantiate(&mut self.store, &mut self.imports, 0)?;
        Ok(Arc::new(made.instance))
    }

    fn directive(&mut self, directive: WastDirective<'_>) -> Result<(), Fault> {
        match directive {
            WastDirective::Module(mut module) => {
                let name = module.name().map(|id| id.name().to_owned());
                self.unsupported.remove("");
                let made = self.component(&mut module).and_then(|component| {
                    let instance = self.instantiate(&component)?;
                    Ok((component, instance))
                });
                match made {
                    Ok((component, instance)) => {
                        if let Some(name) = name {
                            self.instances.insert(name.clone(), Arc::clone(&instance));
                            self.definitions.insert(name, component);
                        }
                        self.newest = Some(instance);
                        Ok(())
                    }
                    Err(error) => self.refused(name, &error),
                }
            }
            WastDirective::ModuleDefinition(mut module) => {
                let name = module.name().map(|id| id.name().to_owned());
                self.unsupported.remove("");
                match self.component(&mut module) {
                    Ok(component) => {
                        if let Some(name) = name {
                            self.definitions.insert(name, component.clone());
                        }
                        self.newest_definition = Some(component);
                        Ok(())
                    }
                    Err(error) => self.refused(name, &error),
                }
            }
            WastDirective::ModuleInstance {
                instance, module, ..
            } => {
                let wanted = module.map_or("", |id| id.name());
                if self.unsupported.contains(wanted) {
                    self.unsupported.insert(String::new());
                    let name = instance.map(|id| id.name().to_owned());
                    self.unsupported.extend(name);
                    return Err(Fault::Unsupported);
                }
                self.unsupported.remove("");
                let component = match module {
                    Some(id) => self.definitions.get(id.name()).cloned(),
                    None => self.newest_definition.clone(),
                };
                let Some(component) = component else {
                    return wrong("no such definition");
                };
                let made = self.instantiate(&component);
                let made = made.map_err(|error| Fault::Wrong(error.to_string()))?;
                if let Some(id) = instance {
                    self.instances
                        .insert(id.name().to_owned(), Arc::clone(&made));
                }
                self.newest = Some(made);
                Ok(())
            }
            WastDirective::Register { name, module, .. } => {
                let Some(instance) = self.instance(module.map(|id| id.name())) else {
                    return wrong("no such instance");
                };
                let item = Item::Instance(Arc::clone(&instance.exports));
                self.imports.add(name, item);
                Ok(())
            }
            WastDirective::AssertMalformed {
                mut module,
                message,
                ..
            }
            | WastDirective::AssertInvalid {
                mut module,
                message,
                ..
            } => match self.component(&mut module) {
                Ok(_) => wrong(format!("is valid, but should not be: {message}")),
                Err(error) if is_asynchronous(&error) => Err(Fault::Unsupported),
                // The standard demands no text.
                Err(Error::Invalid { .. } | Error::Text { .. }) => Ok(()),
                Err(error) => expect(&error.to_string(), message),
            },
            WastDirective::AssertUnlinkable {
                module, message, ..
            } => {
                let mut module = QuoteWat::Wat(module);
                let made = self.component(&mut module);
                match made.and_then(|component| self.instantiate(&component)) {
                    Ok(_) => wrong(format!("was made, but should not be: {message}")),
                    Err(Error::Imports(_)) => Ok(()),
                    Err(error) => expect(&error.to_string(), message),
                }
            }
            WastDirective::Invoke(call) => match self.invoke(&call)? {
                Ok(_) => Ok(()),
                Err(reason) => wrong(reason.to_string()),
            },
            WastDirective::AssertReturn { exec, results, .. } => match self.execute(exec)? {
                Ok((value, kind)) => check(value.as_ref(), kind.as_deref(), &results),
                Err(error) => wrong(error.to_string()),
            },
            WastDirective::AssertTrap { exec, message, .. } => match self.execute(exec)? {
                Ok(_) => wrong(format!("should trap: {message}")),
                Err(error) if is_asynchronous(&error) => Err(Fault::Unsupported),
                Err(error) => expect(&error.to_string(), message),
            },
            _ => Err(Fault::Unsupported),
        }
    }

    /// A component that is not valid here.
    fn refused(&mut self, name: Option<String>, error: &Error) -> Result<(), Fault> {
        if !is_asynchronous(error) {
            return wrong(error.to_string());
        }
        self.unsupported.insert(String::new());
        self.unsupported.extend(name);
        Err(Fault::Unsupported)
    }

    fn instance(&self, name: Option<&str>) -> Option<Arc<Instance>> {
        match name {
            Some(name) => self.instances.get(name).cloned(),
            None => self.newest.clone(),
        }
    }

    fn execute(&mut self, exec: WastExecute<'_>) -> Result<Result<Returned, Error>, Fault> {
        match exec {
            WastExecute::Invoke(call) => Ok(self.invoke(&call)?.map_err(Error::Trap)),
            WastExecute::Wat(module) => {
                let mut module = QuoteWat::Wat(module);
                let made = self.component(&mut module);
                let made = made.and_then(|component| self.instantiate(&component));
                Ok(made.map(|_| (None, None)))
            }
            WastExecute::Get { .. } => Err(Fault::Unsupported),
        }
    }

    fn invoke(&mut self, call: &WastInvoke<'_>) -> Result<Result<Returned, Trap>, Fault> {
        if self
            .unsupported
            .contains(call.module.map_or("", |id| id.name()))
        {
            return Err(Fault::Unsupported);
        }
        let instance = self.instance(call.module.map(|id| id.name()));
        let function = instance.and_then(|instance| instance.function(call.name));
        let Some(function) = function else {
            return wrong(format!("no function {}", call.name));
        };
        let kind = Arc::clone(function.kind());
        let mut values = Vec::new();
        for (argument, (_, kind)) in call.args.iter().zip(&kind.parameters) {
            let WastArg::Component(value) = argument else {
                return Err(Fault::Unsupported);
            };
            values.push(convert(value, kind)?);
        }
        let outcome = function.call(&mut self.store, &values);
        Ok(outcome.map(|value| (value, kind.result.clone())))
    }
}

/// A result and its type.
type Returned = (Option<Value>, Option<Arc<Type>>);

/// Words for the same fault: those of the suite and ours.
const FAULTS: [(&[&str], &str); 5] = [
    (
        &["`unreachable` instruction"],
        "unreachable code was reached",
    ),
    (
        &["out-of-bounds", "out of bounds", "beyond end"],
        "out of bounds",
    ),
    (&["not aligned", "unaligned"], "unaligned"),
    (&["bit pattern"], "invalid character"),
    (&["incomplete utf-8"], "invalid utf-8"),
];

/// Texts of the suite are those of another machine; the first words tell which fault is meant.
fn expect(text: &str, message: &str) -> Result<(), Fault> {
    let message = message.trim_start_matches("wasm trap: ");
    let first: Vec<&str> = message.split_whitespace().take(3).collect();
    if text.contains(&first.join(" ")) || text.contains(message) {
        return Ok(());
    }
    for (words, ours) in FAULTS {
        if words.iter().any(|words| message.contains(words)) && text.contains(ours) {
            return Ok(());
        }
    }
    wrong(format!("failed with '{text}' in place of '{message}'"))
}

fn check(value: Option<&Value>, kind: Option<&Type>, results: &[WastRet<'_>]) -> Result<(), Fault> {
    let (Some(kind), Some(value)) = (kind, value) else {
        return if results.is_empty() {
            Ok(())
        } else {
            wrong("has no result")
        };
    };
    let [WastRet::Component(expected)] = results else {
        return wrong("one result is expected");
    };
    let expected = convert(expected, kind)?;
    if same(value, &expected) {
        Ok(())
    } else {
        wrong(format!("gave {value:?} in place of {expected:?}"))
    }
}

/// Numbers that are not numbers are the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::F64(a), Value::F64(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::List(a), Value::List(b)) | (Value::Record(a), Value::Record(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Option(Some(a)), Value::Option(Some(b))) => same(a, b),
        (Value::Variant(n, Some(a)), Value::Variant(m, Some(b))) => n == m && same(a, b),
        (a, b) => a == b,
    }
}

fn convert(value: &WastVal<'_>, kind: &Type) -> Result<Value, Fault> {
    let held = |held: &Option<Box<WastVal<'_>>>, case: usize| match (held, kind.case(case)) {
        (Some(held), Some(kind)) => Ok(Some(Box::new(convert(held, kind)?))),
        (None, None) => Ok(None),
        _ => wrong("a case with another value"),
    };
    let number = |name: &str| -> Result<u32, Fault> {
        let names: Vec<&str> = match &kind.shape {
            Shape::Variant(cases) => cases.iter().map(|(name, _)| name.as_str()).collect(),
            Shape::Enum(names) => names.iter().map(String::as_str).collect(),
            _ => return wrong("no variant is expected"),
        };
        let place = names.iter().position(|known| *known == name);
        place
            .map(|place| place as u32)
            .ok_or_else(|| Fault::Wrong(format!("no case {name}")))
    };
    Ok(match value {
        WastVal::Bool(it) => Value::Bool(*it),
        WastVal::U8(it) => Value::U8(*it),
        WastVal::S8(it) => Value::S8(*it),
        WastVal::U16(it) => Value::U16(*it),
        WastVal::S16(it) => Value::S16(*it),
        WastVal::U32(it) => Value::U32(*it),
        WastVal::S32(it) => Value::S32(*it),
        WastVal::U64(it) => Value::U64(*it),
        WastVal::S64(it) => Value::S64(*it),
        WastVal::F32(it) => Value::F32(f32::from_bits(it.bits)),
        WastVal::F64(it) => Value::F64(f64::from_bits(it.bits)),
        WastVal::Char(it) => Value::Char(*it),
        WastVal::String(it) => Value::String((*it).to_owned()),
        WastVal::List(items) => {
            let (Shape::List(element) | Shape::FixedList(element, _)) = &kind.shape else {
                return wrong("no list is expected");
            };
            let items = items.iter().map(|item| convert(item, element));
            let items: Vec<Value> = items.collect::<Result<_, _>>()?;
            if let Shape::U8 = element.shape {
                let bytes = items.iter().map(|item| match item {
                    Value::U8(byte) => *byte,
                    _ => 0,
                });
                return Ok(Value::Bytes(bytes.collect()));
            }
            Value::List(items)
        }
        WastVal::Record(fields) => {
            let kinds = kind.fields();
            let fields = fields.iter().zip(kinds);
            let fields = fields.map(|((_, value), kind)| convert(value, kind));
            Value::Record(fields.collect::<Result<_, _>>()?)
        }
        WastVal::Tuple(items) => {
            let items = items.iter().zip(kind.fields());
            let items = items.map(|(value, kind)| convert(value, kind));
            Value::Record(items.collect::<Result<_, _>>()?)
        }
        WastVal::Variant(name, value) => {
            let number = number(name)?;
            Value::Variant(number, held(value, number as usize)?)
        }
        WastVal::Enum(name) => Value::Enum(number(name)?),
        WastVal::Option(value) => Value::Option(match value {
            Some(_) => held(value, 1)?,
            None => None,
        }),
        WastVal::Result(Ok(value)) => Value::Result(Ok(held(value, 0)?)),
        WastVal::Result(Err(value)) => Value::Result(Err(held(value, 1)?)),
        WastVal::Flags(set) => {
            let Shape::Flags(names) = &kind.shape else {
                return wrong("no flags are expected");
            };
            Value::Flags(
                names
                    .iter()
                    .map(|name| set.contains(&name.as_str()))
                    .collect(),
            )
        }
        WastVal::Map(entries) => {
            let Shape::List(entry) = &kind.shape else {
                return wrong("no map is expected");
            };
            let [key_kind, value_kind] = entry.fields()[..] else {
                return wrong("no map is expected");
            };
            let entries = entries.iter().map(|(key, value)| {
                Ok(Value::Record(vec![
                    convert(key, key_kind)?,
                    convert(value, value_kind)?,
                ]))
            });
            Value::List(entries.collect::<Result<_, Fault>>()?)
        }
    })
}

fn run(text: &str) -> Report {
    let mut report = Report::default();
    let buffer = match ParseBuffer::new(text) {
        Ok(buffer) => buffer,
        Err(error) => {
            report.wrong.push(error.to_string());
            return report;
        }
    };
    let script = match parse::<Wast>(&buffer) {
        Ok(script) => script,
        Err(error) => {
            report.wrong.push(error.to_string());
            return report;
        }
    };
    let mut state = Script::default();
    for directive in script.directives {
        let (line, _) = directive.span().linecol_in(text);
        match state.directive(directive) {
            Ok(()) => report.done += 1,
            Err(Fault::Unsupported) => report.unsupported += 1,
            Err(Fault::Wrong(text)) => report.wrong.push(format!("{}: {text}", line + 1)),
        }
    }
    report
}

/// Directives of the official suite that do not hold, each with the reason.
const EXCUSED: [(&str, &str); 2] = [
    // The rule that digits belong to words is younger than the validator.
    ("validation/kebab.wast:4:", "conflicts with previous name"),
    // Of asynchronous functions, in a syntax that the parser knows no longer.
    ("async/cancellable.wast:", "no longer supported"),
];

fn is_excused(text: &str) -> bool {
    let mut excused = EXCUSED.iter();
    excused.any(|(place, reason)| text.starts_with(place) && text.contains(reason))
}

fn run_all(directory: &Path) -> (Vec<String>, usize) {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|it| it == "wast") {
                files.push(path);
            }
        }
    }
    files.sort();
    let (mut wrong, mut done) = (Vec::new(), 0);
    for file in files {
        let name = file.strip_prefix(directory).unwrap().display().to_string();
        let report = run(&std::fs::read_to_string(&file).unwrap());
        done += report.done;
        eprintln!(
            "{name}: {} directives, {} wrong, {} not supported",
            report.done,
            report.wrong.len(),
            report.unsupported
        );
        let texts = report.wrong.into_iter();
        let texts = texts.map(|text| format!("{name}:{text}"));
        wrong.extend(texts.filter(|text| !is_excused(text)));
    }
    (wrong, done)
}

/// One test, since the policy is that of the process.
#[test]
fn scripts_hold_with_and_without_machine_code() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let official = std::env::var("COMPONENT_SUITE").ok().map(PathBuf::from);
    for policy in [Policy::Never, Policy::Always] {
        set_machine_code_policy(policy);
        for directory in [&own].into_iter().chain(&official) {
            let (wrong, done) = run_all(directory);
            eprintln!("{done} directives");
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            assert!(done > 0);
        }
    }
}
