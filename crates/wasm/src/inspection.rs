//! Frames of a run that waits for an answer, for people who look into it.
//!
//! Interpreted functions have their local variables in slots, where they are read as text. Where machine
//! code has them is not known.

use std::collections::HashMap;

use canny_tables::guest::LINK_WORDS;
use wasmparser::{BinaryReader, FunctionBody, Name, NameSectionReader, ValType};

use crate::activation::RunId;
use crate::backtrace::each_frame;
use crate::definitions;
use crate::error::GuestFrame;
use crate::module::Module;
use crate::store::Store;
use crate::types::ValueType;

/// A frame, its module, and its local variables.
#[derive(Clone, Debug)]
pub struct InspectedFrame {
    pub frame: GuestFrame,
    pub module: Module,
    /// The local variables of an interpreted function, parameters first. Those of machine code are in
    /// registers that are not known, and inlined functions have none.
    pub locals: Vec<GuestLocal>,
}

/// A local variable of a function.
#[derive(Clone, Debug)]
pub struct GuestLocal {
    /// Its name and type, such as `count: i32` or `local3: f64`.
    pub name: String,
    /// The value as text.
    pub value: String,
}

/// Most local variables of a frame that are read.
const LOCALS_MAX: usize = 1000;

impl Store {
    /// The frames of a run that was left and has not ended, the newest first; of many the newest.
    pub fn inspect(&self, id: RunId, most: usize) -> Vec<InspectedFrame> {
        let mut frames = Vec::new();
        if let Some(run) = self.runs.iter().find(|run| run.id == id) {
            each_frame(&run.activation, &mut |walked| {
                let Some(located) = &walked.function else {
                    return true;
                };
                let module = &located.module;
                frames.extend(located.frames().into_iter().map(|frame| InspectedFrame {
                    locals: match walked.slots {
                        // SAFETY: the run was left, and this is a frame of the function.
                        Some(slots) if !frame.is_inlined => unsafe {
                            locals(module, located.own_index, slots)
                        },
                        _ => Vec::new(),
                    },
                    module: module.clone(),
                    frame,
                }));
                frames.len() < most
            });
        }
        frames.truncate(most);
        frames
    }
}

/// The local variables of an interpreted function.
///
/// # Safety
/// The slots are those of a frame of the function.
unsafe fn locals(module: &Module, own_index: u32, slots: *const u64) -> Vec<GuestLocal> {
    let parts = module.parts();
    let function = parts.imported_functions as u32 + own_index;
    let kind = definitions::function_type(parts.functions[function as usize]);
    let names = names(module, function);
    let mut found = Vec::new();
    let mut add = |slot: usize, kind: Shown| {
        let number = found.len() as u32;
        let name = names.get(&number).cloned();
        let name = name.unwrap_or_else(|| format!("local{number}"));
        // SAFETY: the function has this local variable there.
        let words = unsafe { [slots.add(slot).read(), second(slots, slot, kind)] };
        found.push(GuestLocal {
            name: format!("{name}: {}", kind.name()),
            value: kind.text(words),
        });
        slot + kind.slots()
    };
    let mut next = 0;
    for parameter in &kind.parameters {
        next = add(next, Shown::of(*parameter));
    }
    next = kind.link() + LINK_WORDS;
    let range = parts.bodies[own_index as usize].clone();
    let reader = BinaryReader::new(&module.bytes()[range.clone()], range.start as u64);
    let groups = FunctionBody::new(reader).get_locals_reader();
    for (count, kind) in groups.into_iter().flatten().flatten() {
        for _ in 0..count {
            if next > LOCALS_MAX {
                return found;
            }
            next = add(next, Shown::of_declared(kind));
        }
    }
    found
}

/// The second word of a vector.
///
/// # Safety
/// As above.
unsafe fn second(slots: *const u64, slot: usize, kind: Shown) -> u64 {
    match kind {
        // SAFETY: a vector has two slots.
        Shown::V128 => unsafe { slots.add(slot + 1).read() },
        _ => 0,
    }
}

/// Names of local variables, from the section of names.
fn names(module: &Module, function: u32) -> HashMap<u32, String> {
    let mut known = HashMap::new();
    let Some(bytes) = module.custom_section("name") else {
        return known;
    };
    for part in NameSectionReader::new(BinaryReader::new(bytes, 0)) {
        let Ok(Name::Local(functions)) = part else {
            continue;
        };
        let mut own = functions.into_iter().flatten();
        if let Some(own) = own.find(|one| one.index == function) {
            let names = own.names.flatten();
            known.extend(names.map(|name| (name.index, name.name.to_owned())));
        }
    }
    known
}

/// A type of values, as far as it matters for showing them.
#[derive(Clone, Copy)]
enum Shown {
    I32,
    I64,
    F32,
    F64,
    V128,
    Reference,
}

impl Shown {
    fn of(kind: ValueType) -> Shown {
        match kind {
            ValueType::I32 => Shown::I32,
            ValueType::I64 => Shown::I64,
            ValueType::F32 => Shown::F32,
            ValueType::F64 => Shown::F64,
            ValueType::V128 => Shown::V128,
            ValueType::Reference { .. } => Shown::Reference,
        }
    }

    fn of_declared(kind: ValType) -> Shown {
        match kind {
            ValType::I32 => Shown::I32,
            ValType::I64 => Shown::I64,
            ValType::F32 => Shown::F32,
            ValType::F64 => Shown::F64,
            ValType::V128 => Shown::V128,
            ValType::Ref(_) => Shown::Reference,
        }
    }

    fn slots(self) -> usize {
        1 + usize::from(matches!(self, Shown::V128))
    }

    fn name(self) -> &'static str {
        match self {
            Shown::I32 => "i32",
            Shown::I64 => "i64",
            Shown::F32 => "f32",
            Shown::F64 => "f64",
            Shown::V128 => "v128",
            Shown::Reference => "ref",
        }
    }

    fn text(self, [low, high]: [u64; 2]) -> String {
        match self {
            Shown::I32 => (low as i32).to_string(),
            Shown::I64 => (low as i64).to_string(),
            Shown::F32 => f32::from_bits(low as u32).to_string(),
            Shown::F64 => f64::from_bits(low).to_string(),
            Shown::V128 => format!("{low:#018x} {high:#018x}"),
            Shown::Reference if low == 0 => "null".to_owned(),
            Shown::Reference => format!("{low:#x}"),
        }
    }
}
