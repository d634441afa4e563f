//! WebAssembly guests beside another engine, wasmi: generators and oracles.
//!
//! An input is a list of bytes from which a generator makes a module: [`program`] a text with much of
//! what the translator has rules for, `wasm-smith` ([`smith`]) one with all parts of the standard. So a
//! shorter list is a smaller module, and no list is wrong. Both engines instantiate the module and
//! call what it exports, with the same arguments; results, traps, arguments of the host's functions,
//! and afterwards global variables, memories and tables have to agree. Then they make another
//! instance, which imports functions of the first one.

mod choices;
mod expressions;
mod ours;
mod program;
mod smith;
mod statements;
mod theirs;

use std::sync::atomic::{AtomicBool, Ordering};

pub use choices::Choices;
pub use ours::choose_policy;

use crate::corpus::Corpus;
use crate::random::Random;
use crate::watch;

/// A value of a guest, with the bits of a number. Of a reference to a function only is known whether
/// there is one; an object of the host is a number, or 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    I32(u32),
    I64(u64),
    F32(u32),
    F64(u64),
    V128(u128),
    Function(bool),
    Extern(u32),
}

impl Value {
    /// With one pattern for what is no number.
    fn canonical(self) -> Value {
        match self {
            Value::F32(bits) if f32::from_bits(bits).is_nan() => Value::F32(0x7fc0_0000),
            Value::F64(bits) if f64::from_bits(bits).is_nan() => Value::F64(0x7ff8_0000_0000_0000),
            value => value,
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    I32,
    I64,
    F32,
    F64,
    V128,
    Function,
    Extern,
}

/// Steps of an engine with a module, which are compared with those of the other one.
#[derive(Default, Debug)]
pub struct Record {
    pub steps: Vec<Step>,
    /// Why the rest cannot be compared: a limit that engines choose.
    pub limit: Option<String>,
}

#[derive(PartialEq, Eq, Debug)]
pub struct Step {
    what: String,
    values: Vec<Value>,
}

impl Record {
    pub fn note(&mut self, what: impl Into<String>, values: impl IntoIterator<Item = Value>) {
        self.steps.push(Step {
            what: what.into(),
            values: values.into_iter().map(Value::canonical).collect(),
        });
    }

    /// Notes the kind of a trap; whether one can go on.
    pub fn trap(&mut self, what: &str, kind: &str) -> bool {
        if ["stack-exhausted", "out-of-memory"].contains(&kind) {
            self.limit = Some(kind.to_owned());
            return false;
        }
        self.note(format!("{what}: {kind}"), []);
        true
    }
}

/// How often each function is called.
const CALLS: u64 = 3;

/// Arguments and what the host gives, the same for both engines.
pub struct Plan {
    seed: u64,
}

impl Plan {
    /// The arguments of a call.
    pub fn arguments(&self, name: &str, call: u64, kinds: &[Kind]) -> Vec<Value> {
        let mut random = Random::new(self.seed ^ hash(name.as_bytes()), call);
        kinds.iter().map(|kind| value(&mut random, *kind)).collect()
    }

    /// The value that the host gives for a type.
    pub fn given(&self, kind: Kind) -> Value {
        value(&mut Random::new(self.seed, kind as u64), kind)
    }
}

fn value(random: &mut Random, kind: Kind) -> Value {
    match kind {
        Kind::I32 => Value::I32(integer(random) as u32),
        Kind::I64 => Value::I64(integer(random)),
        Kind::F32 => Value::F32((float(random) as f32).to_bits()),
        Kind::F64 => Value::F64(float(random).to_bits()),
        Kind::V128 => Value::V128(u128::from(integer(random)) | u128::from(integer(random)) << 64),
        Kind::Function => Value::Function(false),
        Kind::Extern => Value::Extern(random.below(4) as u32),
    }
    .canonical()
}

fn integer(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.below(64) as u64,
        1 => {
            let edges = [0, 1, 1 << 31, u64::MAX, 1 << 63, 0x7fff_ffff, u64::MAX >> 1];
            *random.choose(&edges)
        }
        2 => random.below(1 << 16) as u64,
        _ => random.next(),
    }
}

fn float(random: &mut Random) -> f64 {
    match random.below(4) {
        0 => random.below(100) as f64 / 4.0,
        1 => *random.choose(&[
            0.0,
            -0.0,
            1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            2147483648.0,
            -9223372036854775808.0,
            f64::MIN_POSITIVE,
        ]),
        2 => random.next() as i64 as f64 / 65536.0,
        _ => f64::from_bits(random.next()),
    }
}

/// FNV-1a over words, for names and memories.
pub fn hash(bytes: &[u8]) -> u64 {
    let step = |state: u64, word: u64| {
        let mixed = (state ^ word).wrapping_mul(0x0100_0000_01b3_9e37);
        mixed ^ (mixed >> 29)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(0xcbf2_9ce4_8422_2325, |state, word| {
        step(state, u64::from_le_bytes(*word))
    });
    rest.iter()
        .fold(state, |state, byte| step(state, u64::from(*byte)))
}

/// Bytes from which [`program`] makes a module.
pub fn program_bytes(random: &mut Random, _: &Corpus) -> Vec<u8> {
    bytes(random, 1500)
}

/// Bytes from which `wasm-smith` makes a module.
pub fn smith_bytes(random: &mut Random, _: &Corpus) -> Vec<u8> {
    bytes(random, 4000)
}

fn bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let count = 64 + random.below(most);
    (0..count).map(|_| random.next() as u8).collect()
}

/// The text of a module.
pub fn program_module(bytes: &[u8]) -> Vec<u8> {
    program::text(bytes).into_bytes()
}

/// The same of a module of `wasm-smith`.
pub fn smith_module(bytes: &[u8]) -> Vec<u8> {
    text_of(smith::module(bytes, false))
}

/// The same of one for us alone.
pub fn alone_module(bytes: &[u8]) -> Vec<u8> {
    text_of(smith::module(bytes, true))
}

fn text_of(module: Option<Vec<u8>>) -> Vec<u8> {
    let module = module.unwrap_or_default();
    let text = wasmprinter::print_bytes(&module);
    text.map_or(module, String::into_bytes)
}

/// Both engines do the same with a program.
pub fn program(bytes: &[u8]) -> Result<(), String> {
    let text = program::text(bytes);
    let module = wat::parse_str(&text);
    let module = module.map_err(|error| format!("the generator is wrong: {error}"))?;
    compare(&module, hash(bytes))
}

/// Both engines do the same with a module of `wasm-smith`.
pub fn smith(bytes: &[u8]) -> Result<(), String> {
    match smith::module(bytes, false) {
        Some(module) => compare(&module, hash(bytes)),
        None => Ok(()),
    }
}

/// We do the same with a module, which may have more than wasmi knows, and with its plain form.
pub fn alone(bytes: &[u8]) -> Result<(), String> {
    let Some(module) = smith::module(bytes, true) else {
        return Ok(());
    };
    let plan = Plan { seed: hash(bytes) };
    let form = ours::run(&plain_form(&module)?, &plan)?;
    agree(&ours::run(&module, &plan)?, &form)
}

/// Both engines do the same with a module, which may be a text.
pub fn module(bytes: &[u8]) -> Result<(), String> {
    let module = wat::parse_bytes(bytes).map_err(|error| error.to_string())?;
    compare(&module, 0)
}

/// Both engines do the same with a module.
///
/// wasmi 2.0.0 translates some modules wrongly. So a difference is a finding only if wasmi still has it
/// for the same module with empty blocks everywhere, which its translator cannot see through, and
/// without tables of branches.
fn compare(module: &[u8], seed: u64) -> Result<(), String> {
    if compare_forms(module, module, seed) != Ok(true) {
        compare_forms(module, &plain_form(module)?, seed)?;
    }
    Ok(())
}

fn plain_form(module: &[u8]) -> Result<Vec<u8>, String> {
    let text = wasmprinter::print_bytes(module).map_err(|error| error.to_string())?;
    let form = wat::parse_str(program::plain_form(&text));
    form.map_err(|error| format!("the plain form is wrong: {error}"))
}

/// Whether wasmi runs.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether a panic is one of wasmi, which is no finding.
pub fn is_panic_of_others() -> bool {
    IS_RUNNING.load(Ordering::Relaxed)
}

/// We do the same with a module as wasmi with a form of it. False if wasmi panics.
fn compare_forms(module: &[u8], form: &[u8], seed: u64) -> Result<bool, String> {
    let plan = Plan { seed };
    let ours = ours::run(module, &plan)?;
    IS_RUNNING.store(true, Ordering::Relaxed);
    watch::note_others(true);
    let theirs = std::panic::catch_unwind(|| theirs::run(form, &plan));
    watch::note_others(false);
    IS_RUNNING.store(false, Ordering::Relaxed);
    let Ok(theirs) = theirs else {
        return Ok(false);
    };
    agree(&ours, &theirs?)?;
    Ok(true)
}

/// Both have the same steps, as far as they go.
fn agree(ours: &Record, theirs: &Record) -> Result<(), String> {
    for (ours, theirs) in ours.steps.iter().zip(&theirs.steps) {
        if ours != theirs {
            return Err(format!("we have {ours:x?}, the other is {theirs:x?}"));
        }
    }
    let is_limited = ours.limit.is_some() || theirs.limit.is_some();
    if !is_limited && ours.steps.len() != theirs.steps.len() {
        return Err(format!(
            "steps of ours {:x?}, of the other {:x?}",
            ours.steps, theirs.steps
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Product = fn(&[u8]) -> Vec<u8>;

    #[test]
    fn modules_have_what_they_are_for() {
        let texts = |of: Product| {
            let modules = (0..200).map(|case| of(&bytes(&mut Random::new(1, case), 4000)));
            let texts = modules.map(|text| String::from_utf8_lossy(&text).into_owned());
            texts.collect::<Vec<_>>().join("\n")
        };
        let parts: [(Product, &[&str]); 3] = [
            (
                program_module,
                &["br_table", "return_call_indirect", "i32.shl"],
            ),
            (smith_module, &["table.grow", "i64.load", "i8x16.shuffle"]),
            (
                alone_module,
                &[
                    "try_table",
                    "catch_ref",
                    "throw_ref",
                    "relaxed",
                    "atomic.rmw",
                    "atomic.wait",
                    "shared",
                ],
            ),
        ];
        for (of, words) in parts {
            let texts = texts(of);
            for word in words {
                assert!(texts.contains(word), "no {word}");
            }
        }
    }
}
