//! Snapshots of code objects: immutable copies of everything that compilation reads.
//!
//! Code objects do not move, so their addresses, and those of their pool slots, are plain numbers here.
//! A slot that refers to a movable object is read by compiled code when it runs; a snapshot says only
//! what kind of object is there.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use canny_compiler::liveness::LivenessTable;
use canny_tables::layout::code;
use canny_tables::opcodes::{Opcode, OpcodeFlags, opcode_byte};

use crate::types::Type;

/// A code object's tagged word, which names it: code does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodeWord(pub u64);

/// An immutable view of a code object.
#[derive(Debug)]
pub struct CodeSnapshot {
    /// The code object.
    pub word: CodeWord,
    /// Address of the first instruction of the bytecode.
    pub entry: u64,
    /// Name of the procedure, for people.
    pub name: String,
    /// The bytecode, without patches.
    pub instructions: Arc<[u32]>,
    /// The pool, by slot.
    pub pool: Vec<PoolItem>,
    /// Exact number of arguments, or `layout::code::VARIADIC`; true also for code with a large frame.
    pub arity: u32,
    /// Registers.
    pub frame_words: u32,
    /// Live registers.
    pub liveness: LazyLiveness,
    /// Word indices of the instructions at which a debugger wants to be asked: compiled code leaves them
    /// to the interpreter.
    pub breaks: Arc<[usize]>,
}

/// The live registers of a code, computed at the first request: for a large procedure that takes
/// longer than the running thread, which makes the snapshot, may be kept waiting.
#[derive(Debug)]
pub struct LazyLiveness {
    instructions: Arc<[u32]>,
    frame_words: usize,
    table: OnceLock<LivenessTable>,
}

impl LazyLiveness {
    /// Of bytecode that was generated or verified.
    pub fn new(instructions: Arc<[u32]>, frame_words: usize) -> LazyLiveness {
        LazyLiveness {
            instructions,
            frame_words,
            table: OnceLock::new(),
        }
    }
}

impl Deref for LazyLiveness {
    type Target = LivenessTable;

    fn deref(&self) -> &LivenessTable {
        self.table.get_or_init(|| {
            LivenessTable::new(&self.instructions, self.frame_words)
                .expect("bytecode that runs consists of instructions")
        })
    }
}

/// Content of a pool slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolItem {
    /// A word that is no reference: fixnum, flonum in the word, immediate.
    Word(u64),
    /// A literal object or closure; a closure comes with its code.
    Object { ty: Type, code: Option<CodeWord> },
    /// The cell of a global variable.
    Cell(CellSnapshot),
    /// A code object for `make-closure`.
    Code(CodeWord),
    /// A keyword, by its name: keywords in code are interned.
    Keyword(Arc<str>),
    /// Parameters of the code's `keyword-entry`.
    Keywords(KeywordParameters),
    /// Anything else.
    Other,
}

/// Keyword parameters of a procedure, behind its required ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordParameters {
    /// How many optional parameters come before them.
    pub optional: usize,
    /// Unknown keywords are accepted.
    pub allow_other_keys: bool,
    /// Names of the keywords in the order of their registers.
    pub names: Vec<Arc<str>>,
}

/// A global variable as it was when the snapshot was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSnapshot {
    /// Type of the value; [`Type::NONE`] while the variable is unbound.
    pub ty: Type,
    /// The code of the closure that is its value.
    pub code: Option<CodeWord>,
    /// A change of the value will retract code that relied on it, so compiled code may.
    pub is_watched: bool,
    /// The word itself, if it is no reference.
    pub word: Option<u64>,
    /// The class key of the records of the record type that is its value, if they have one of their own.
    pub class_key: Option<i64>,
    /// How many fields they have, inherited ones included.
    pub field_count: u32,
    /// Names the cell to the machine, for [`crate::graph::Graph::watched`].
    pub number: u32,
}

/// A record type, which a class key names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordTypeSnapshot {
    /// Its name, for people.
    pub name: String,
    /// The class keys of the types that it is derived from, the outermost first. They never change.
    pub ancestors: Vec<i64>,
}

impl CodeSnapshot {
    /// Address of a pool slot.
    pub fn pool_address(&self, slot: usize) -> u64 {
        (self.word.0 as i64 + i64::from(code::POOL)) as u64 + 8 * slot as u64
    }

    /// The pool slot that lies `distance` words before word index `from` of the instructions.
    pub fn pool_slot(&self, from: usize, distance: usize) -> Option<usize> {
        let address = (self.entry + 4 * from as u64).checked_sub(4 * distance as u64)?;
        let slot = address.checked_sub(self.pool_address(0))? / 8;
        (slot < self.pool.len() as u64).then_some(slot as usize)
    }

    /// Whether compiled code leaves the instruction at a word index to the interpreter: an exit there is no
    /// wrong guess.
    pub fn is_left_to_interpreter(&self, pc: usize) -> bool {
        let opcode = self.instructions.get(pc).map(|word| opcode_byte(*word));
        let opcode = opcode.and_then(Opcode::from_byte);
        self.breaks.contains(&pc)
            || opcode.is_some_and(|opcode| opcode.has(OpcodeFlags::INTERPRETER))
    }

    /// Address of the instruction at a word index.
    pub fn address(&self, pc: usize) -> u64 {
        self.entry + 4 * pc as u64
    }
}

/// Whether an instruction calls a procedure or primitive.
pub fn is_call(opcode: Opcode) -> bool {
    opcode.has(OpcodeFlags::CALLS.or(OpcodeFlags::CALLS_PRIMITIVE))
}

/// Where the specializer finds the code that logs speak of.
pub trait CodeSource {
    /// The snapshot of a code object.
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>>;

    /// The record type with a class key.
    fn record_type(&self, _class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        None
    }
}

/// Codes that the calls at an instruction entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callees {
    /// Codes with the number of calls that entered them, the most frequent first; rare ones may be missing.
    pub seen: Vec<(CodeWord, u32)>,
    /// All calls.
    pub calls: u32,
}

/// Observations about code, made while the program ran.
pub trait Profile {
    /// Types seen of the value that the instruction at `pc` produced; `None` when nothing was logged there.
    fn result_type(&self, code: CodeWord, pc: usize) -> Option<Type>;
    /// The code that nearly every call at `pc` entered.
    fn callee(&self, code: CodeWord, pc: usize) -> Option<CodeWord>;
    /// All codes that calls at `pc` entered.
    fn callees(&self, _code: CodeWord, _pc: usize) -> Callees {
        Callees::default()
    }
    /// Calls made at `pc` for each time that the code ran; `None` when nobody counted.
    fn calls_per_run(&self, _code: CodeWord, _pc: usize) -> Option<f64> {
        None
    }
    /// Whether the instruction at `pc`, a call of a procedure or primitive, was never seen though its
    /// code ran often: the builder leaves there.
    fn is_cold(&self, _code: CodeWord, _pc: usize) -> bool {
        false
    }
    /// Types of operands with which speculation at `pc` failed, together; [`Type::NONE`] if it never failed.
    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type;
    /// Whether speculation at `pc` failed too often: the builder takes the general way there.
    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool;
    /// Whether what needs no guesses at `pc`, a leaf function, declined too often: the builder leaves
    /// it to the runtime.
    fn declines(&self, _code: CodeWord, _pc: usize) -> bool {
        false
    }
    /// Whether checks that were made before the loop whose head is at `pc` failed too often: they are
    /// left in the loop.
    fn fails_before_loop(&self, _code: CodeWord, _pc: usize) -> bool {
        false
    }
}

/// A profile without a guess: code that is built with it takes the general way everywhere, so wrong
/// guesses do not retire it.
pub struct WithoutGuesses<'a>(pub &'a dyn Profile);

impl Profile for WithoutGuesses<'_> {
    fn result_type(&self, _: CodeWord, _: usize) -> Option<Type> {
        None
    }

    fn callee(&self, _: CodeWord, _: usize) -> Option<CodeWord> {
        None
    }

    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        self.0.failed_operands(code, pc)
    }

    fn is_unstable(&self, _: CodeWord, _: usize) -> bool {
        true
    }

    fn declines(&self, code: CodeWord, pc: usize) -> bool {
        self.0.declines(code, pc)
    }

    fn fails_before_loop(&self, _: CodeWord, _: usize) -> bool {
        true
    }
}
