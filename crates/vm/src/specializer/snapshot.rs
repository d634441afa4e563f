//! Snapshots of code objects, which the worker reads in place of the heap.
//!
//! A snapshot is made on a mutator's thread between two of its safepoints, when objects do not
//! move. It copies bytecode, constants and cells as words, and afterwards nothing in it changes.
//! References in it are not roots: they are names of codes and constants that install checks before
//! they become machine code.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_compiler::instruction::Instruction;
use canny_spesh::snapshot::{
    CellSnapshot, CodeSnapshot, CodeWord, KeywordParameters, LazyLiveness, PoolItem,
    RecordTypeSnapshot,
};
use canny_spesh::types::Type;
use canny_tables::kinds::Kind;
use canny_tables::layout::{class_key, frame, log, record_type};
use canny_tables::opcodes::Opcode;
use canny_value::{ObjectRef, Value};

use super::Specializer;
use super::ledger::PauseCause;
use super::registry::Registry;
use crate::Vm;
use crate::code::CodeRef;
use crate::data::globals;
use crate::data::symbols::symbol_name;
use crate::runtime::entry::description as keywords;
use crate::thread::Thread;

/// The type of a value.
pub fn type_of(value: Value) -> Type {
    if let Some(ty) = Type::of_immediate(value.bits()) {
        return ty;
    }
    match value.as_object() {
        Some(object) => Type::of_kind(object.kind()),
        None => Type::PAIR,
    }
}

/// The word of the code of a closure.
fn code_of(value: Value) -> Option<CodeWord> {
    CodeRef::of_closure(value).map(|code| CodeWord(code.word()))
}

impl Thread {
    /// The snapshot of a procedure's code, made now if there is none.
    pub fn snapshot_of(&mut self, procedure: Value) -> Option<Arc<CodeSnapshot>> {
        let code = CodeRef::of_closure(procedure)?;
        self.vm.watch_cells_of(code);
        self.mutator().meet_at_safepoints();
        self.vm.snapshot_now(code)
    }

    /// Tells the specializer of a new record type.
    pub fn know_record_type(&self, record_type: Value) {
        let specializer = &self.vm.specializer;
        if let Some(record_type) = crate::data::values::record_type_of(record_type)
            && let Some(class) = class_key(record_type).filter(|class| *class < log::CLASSES_END)
            && specializer.is_enabled()
        {
            let name = symbol_name(record_type.field(record_type::NAME));
            let ancestors = record_type::ANCESTORS..record_type.length();
            let ancestors = ancestors.filter_map(|place| {
                let ancestor = crate::data::values::record_type_of(record_type.field(place))?;
                ancestor.field(record_type::SERIAL).as_fixnum()
            });
            let snapshot = RecordTypeSnapshot {
                name: name.map(|name| name.to_string()).unwrap_or_default(),
                ancestors: ancestors.collect(),
            };
            let mut known = specializer.record_types.lock();
            known.insert(class as u32, Arc::new(snapshot));
        }
    }

    /// At a safepoint: makes the snapshots that are wished for, and those of code to which these refer.
    pub(crate) fn grant_wishes(&mut self) {
        let specializer = self.vm.specializer.clone();
        if !specializer.has_wishes.swap(false, Ordering::AcqRel) {
            return;
        }
        let wishes = specializer.lock().take_wishes();
        let ledger = specializer.ledger();
        ledger.time(PauseCause::MakeSnapshots, || {
            self.grant(&specializer, &wishes);
            specializer.lock().has_granted(&wishes);
        });
    }

    fn grant(&mut self, specializer: &Specializer, wishes: &[CodeWord]) {
        let code_of = |word: &CodeWord| {
            // The word may come from a log, and its code may have died since.
            if !specializer.heap.is_code(word.0) {
                return None;
            }
            // SAFETY: there is a code object at this address now, and callers come to no safepoint
            // while they use it.
            CodeRef::of_value(unsafe { Value::from_bits(word.0) })
        };
        for code in wishes.iter().filter_map(code_of) {
            self.vm.watch_cells_of(code);
        }
        if self.has_others() {
            self.mutator().meet_at_safepoints();
        }
        for code in wishes.iter().filter_map(code_of) {
            self.vm.snapshot_now(code);
        }
    }
}

impl Vm {
    /// Watches the global variables that code mentions and of which no snapshot tells yet.
    fn watch_cells_of(&self, code: CodeRef) {
        let mut registry = self.specializer.lock();
        if registry.snapshot(CodeWord(code.word())).is_none() {
            for cell in code.pool().filter(|value| value.is_kind(Kind::Cell)) {
                registry.watches.watch(cell);
            }
        }
    }

    /// The snapshot of code whose variables are watched, as all threads have seen. Code with a large
    /// frame has no snapshot: its calls check the stack, which those of compiled code do not.
    fn snapshot_now(&self, code: CodeRef) -> Option<Arc<CodeSnapshot>> {
        let word = CodeWord(code.word());
        if let Some(known) = self.specializer.lock().snapshot(word) {
            return Some(known);
        }
        let (unit, index) = self.metadata(code)?;
        let metadata = &unit.codes[index];
        if code.frame_words() > frame::SMALL_FRAME_WORDS {
            return None;
        }
        let instructions: Arc<[u32]> = code.plain_instructions().into();
        let frame_words = code.frame_words();
        let liveness = LazyLiveness::new(instructions.clone(), frame_words);
        let mut registry = self.specializer.lock();
        let mut pool: Vec<PoolItem> = code
            .pool()
            .map(|value| pool_item(&mut registry, value))
            .collect();
        if let Ok(entry) = Instruction::decode(&instructions, 0)
            && entry.opcode == Opcode::KeywordEntry
            && let Some(slot) = entry.pool_index(pool.len())
            && let Some(parameters) = code.pool().nth(slot).and_then(keyword_parameters)
        {
            pool[slot] = PoolItem::Keywords(parameters);
        }
        let snapshot = Arc::new(CodeSnapshot {
            breaks: registry.breaks_of(word),
            word,
            entry: code.start() as u64,
            name: metadata.name.clone().unwrap_or_default(),
            instructions,
            pool,
            arity: metadata.arity,
            frame_words: frame_words as u32,
            liveness,
        });
        registry.add_snapshot(code.value(), snapshot.clone());
        drop(registry);
        self.specializer.ledger().know(word, &unit, index);
        Some(snapshot)
    }
}

/// The class key of the records of a type, if it is theirs alone.
fn class_key(record_type: ObjectRef) -> Option<i64> {
    let key = record_type.field(record_type::SERIAL).as_fixnum()?;
    (key != class_key::CROWDED).then_some(key)
}

/// Fields of the records of a type.
fn field_count(record_type: ObjectRef) -> u32 {
    let names = record_type.field(record_type::FIELDS).as_object();
    names.map_or(0, |names| names.length() as u32)
}

/// Reads a description of keyword parameters in the pool.
fn keyword_parameters(description: Value) -> Option<KeywordParameters> {
    let description = description.as_kind(Kind::Vector)?;
    let name = |index| keyword_name(description.field(index)).map(Arc::from);
    Some(KeywordParameters {
        optional: description.field(keywords::OPTIONAL_COUNT).as_index()?,
        allow_other_keys: description.field(keywords::ALLOW_OTHER_KEYS).is_true(),
        names: (keywords::KEYWORDS..description.length())
            .map(name)
            .collect::<Option<_>>()?,
    })
}

/// The name of a keyword.
fn keyword_name(value: Value) -> Option<String> {
    symbol_name(value.as_kind(Kind::Keyword)?.field(0)).map(|name| name.to_string())
}

fn pool_item(registry: &mut Registry, value: Value) -> PoolItem {
    if !value.is_reference() {
        return PoolItem::Word(value.bits());
    }
    let Some(object) = value.as_object() else {
        return PoolItem::Object {
            ty: Type::PAIR,
            code: None,
        };
    };
    match object.kind() {
        Kind::Cell => {
            // No watch begins here: others may have looked at the flag before and store afterwards.
            let number = registry.watches.number(value);
            let content = globals::cell_value(value);
            let is_bound = content != Value::UNBOUND;
            let record_type = crate::data::values::record_type_of(content);
            PoolItem::Cell(CellSnapshot {
                ty: if is_bound {
                    type_of(content)
                } else {
                    Type::NONE
                },
                code: code_of(content),
                is_watched: number.is_some(),
                word: (is_bound && !content.is_reference()).then_some(content.bits()),
                class_key: record_type.and_then(class_key),
                field_count: record_type.map_or(0, field_count),
                number: number.unwrap_or(u32::MAX),
            })
        }
        Kind::Code => PoolItem::Code(CodeWord(value.bits())),
        Kind::Filler => PoolItem::Other,
        Kind::Keyword => {
            keyword_name(value).map_or(PoolItem::Other, |name| PoolItem::Keyword(name.into()))
        }
        _ => PoolItem::Object {
            ty: type_of(value),
            code: code_of(value),
        },
    }
}
