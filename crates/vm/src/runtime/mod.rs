//! Runtime entries: the work that generated handlers leave to Rust, one entry per opcode.
//!
//! A slow stub has saved pc (behind the first instruction word) and fp in the thread block. An entry does the
//! instruction's whole work, or raises, and gives the address to resume at; null leaves the interpreter.

mod arithmetic;
mod calls;
mod compiled;
mod control;
mod data;
pub(crate) mod entry;

use std::sync::atomic::Ordering;

use canny_compiler::unit::{Written, find_written};
use canny_llint::RuntimeEntry;
use canny_tables::kinds::Kind;
use canny_tables::opcodes::{
    LOG_FULL_ENTRY, Opcode, OpcodeFlags, TABLE_ENTRIES, field_a, field_b, field_c, field_wide,
};
use canny_value::Value;

use crate::code::CodeRef;
use crate::primitive::Raise;
use crate::thread::Thread;

use arithmetic::Relation;
pub(crate) use calls::Passed;

/// An instruction whose slow path is being taken.
pub(crate) struct Site<'t> {
    pub(crate) thread: &'t mut Thread,
    word: u32,
}

/// Result of a slow path: where to continue.
pub(crate) type Next = Result<*const u32, Raise>;

impl Site<'_> {
    pub(crate) fn register(&self, index: usize) -> Value {
        // SAFETY: verified code names registers of its frame only.
        unsafe { *self.thread.fp.add(index) }
    }

    pub(crate) fn set_register(&mut self, index: usize, value: Value) {
        // SAFETY: as for `register`.
        unsafe { *self.thread.fp.add(index) = value }
    }

    pub(crate) fn a_index(&self) -> usize {
        field_a(self.word) as usize
    }

    pub(crate) fn b_index(&self) -> usize {
        field_b(self.word) as usize
    }

    pub(crate) fn c_index(&self) -> usize {
        field_c(self.word) as usize
    }

    pub(crate) fn c_signed(&self) -> i64 {
        i64::from(field_c(self.word) as i8)
    }

    pub(crate) fn wide_signed(&self) -> i64 {
        i64::from(field_wide(self.word) as i16)
    }

    pub(crate) fn ra(&self) -> Value {
        self.register(self.a_index())
    }

    pub(crate) fn rb(&self) -> Value {
        self.register(self.b_index())
    }

    pub(crate) fn rc(&self) -> Value {
        self.register(self.c_index())
    }

    pub(crate) fn set_a(&mut self, value: Value) {
        self.set_register(self.a_index(), value);
    }

    /// The opcode's name.
    pub(crate) fn name(&self) -> &'static str {
        self.opcode().row().name
    }

    pub(crate) fn opcode(&self) -> Opcode {
        Opcode::from_byte(self.word as u8).expect("verified code has known opcodes")
    }

    /// Extension word `index`.
    pub(crate) fn extension(&self, index: usize) -> u32 {
        // SAFETY: verified code has the extension words that its rows say.
        unsafe { *self.thread.pc.add(index) }
    }

    /// The pool slot that the 16-bit field names.
    pub(crate) fn pool_wide(&self) -> Value {
        // SAFETY: verified distances lead to a pool slot.
        unsafe {
            *self
                .thread
                .pc
                .sub(field_wide(self.word) as usize)
                .cast::<Value>()
        }
    }

    /// The pool slot that extension word `index` names.
    pub(crate) fn pool_extension(&self, index: usize) -> Value {
        let distance = self.extension(index) as usize;
        // SAFETY: as for `pool_wide`; distances count from the end of the extension word.
        unsafe { *self.thread.pc.add(index + 1).sub(distance).cast::<Value>() }
    }

    /// How the call is written that this instruction was made of. It takes a while: for messages.
    pub(crate) fn written(&self) -> Written {
        // SAFETY: the frame is live, so its closure is.
        let closure = unsafe { Thread::closure_of(self.thread.fp) };
        let Some(code) = CodeRef::of_closure(closure) else {
            return Written::default();
        };
        let Some((unit, index)) = self.thread.vm.metadata(code) else {
            return Written::default();
        };
        let distance = (self.thread.pc as usize).wrapping_sub(code.start() as usize);
        let word = (distance / 4).wrapping_sub(1) as u32;
        find_written(&unit.codes[index].positions, word)
    }

    /// The next instruction.
    pub(crate) fn next(&self) -> *const u32 {
        // SAFETY: verified code does not fall off its end.
        unsafe { self.thread.pc.add(self.opcode().row().extensions.len()) }
    }

    /// The same instruction.
    pub(crate) fn again(&self) -> *const u32 {
        // SAFETY: pc is behind the first word.
        unsafe { self.thread.pc.sub(1) }
    }

    /// Takes the branch of extension word 0 or not.
    pub(crate) fn branch(&self, taken: bool) -> *const u32 {
        let offset = if taken { self.extension(0) as i32 } else { 0 };
        // SAFETY: verified branches lead to instructions of the same code.
        unsafe { self.thread.pc.add(1).offset(offset as isize) }
    }
}

/// Runs an entry's work and raises what it raises.
fn run(thread: *mut u8, word: u32, work: fn(&mut Site) -> Next) -> *const u32 {
    // SAFETY: generated code passes the block of the thread that runs, and nothing else borrows it.
    let thread = unsafe { &mut *thread.cast::<Thread>() };
    let mut site = Site { thread, word };
    let next = match work(&mut site) {
        Ok(next) => next,
        Err(raise) => {
            debug_assert!(site.opcode().has(OpcodeFlags::RAISES), "{}", site.name());
            site.thread.begin_raise(raise)
        }
    };
    // A request for a safepoint may come from the thread that retired code that this thread runs, while
    // it was in here.
    let is_asked = site.thread.limit.load(Ordering::Relaxed) == 0;
    if (std::mem::take(&mut site.thread.specializer.code_was_retired) || is_asked)
        && !next.is_null()
    {
        return site.thread.detour(next);
    }
    next
}

/// The entries of opcodes. The build fails for an opcode whose row says that it has an entry if the
/// opcode is neither listed here nor done by a primitive of its row. It also fails for a listed
/// opcode whose row says that it has none.
macro_rules! entries {
    ($($opcode:ident => $work:expr;)*) => {
        mod wrapped {
            use super::*;
            $(
                #[allow(non_snake_case)]
                pub(super) unsafe extern "C" fn $opcode(
                    thread: *mut u8, _fp: *mut u64, _pc: *const u32, word: u32,
                ) -> *const u32 {
                    run(thread, word, $work)
                }
            )*
        }

        const fn entry(opcode: Opcode) -> Option<RuntimeEntry> {
            match opcode {
                $(Opcode::$opcode => Some(wrapped::$opcode),)*
                _ if !opcode.row().primitives.is_empty() => Some(by_primitive),
                _ => None,
            }
        }
    };
}

entries! {
    Loop => control::safepoint;
    JumpRecord => |site| control::record_test(site, true);
    JumpNotRecord => |site| control::record_test(site, false);
    JumpFlonum => |site| control::flonum_test(site, true);
    JumpNotFlonum => |site| control::flonum_test(site, false);
    JumpLess => |site| arithmetic::comparison(site, Relation::Less, false);
    JumpNotLess => |site| arithmetic::comparison(site, Relation::Less, true);
    JumpLessEqual => |site| arithmetic::comparison(site, Relation::LessEqual, false);
    JumpNotLessEqual => |site| arithmetic::comparison(site, Relation::LessEqual, true);
    JumpNumberEqual => |site| arithmetic::comparison(site, Relation::Equal, false);
    JumpNotNumberEqual => |site| arithmetic::comparison(site, Relation::Equal, true);
    JumpLessImmediate => |site| arithmetic::comparison(site, Relation::Less, false);
    JumpNotLessImmediate => |site| arithmetic::comparison(site, Relation::Less, true);
    JumpLessEqualImmediate => |site| arithmetic::comparison(site, Relation::LessEqual, false);
    JumpNotLessEqualImmediate => |site| arithmetic::comparison(site, Relation::LessEqual, true);
    JumpGreaterImmediate => |site| arithmetic::comparison(site, Relation::Greater, false);
    JumpNotGreaterImmediate => |site| arithmetic::comparison(site, Relation::Greater, true);
    JumpGreaterEqualImmediate => |site| arithmetic::comparison(site, Relation::GreaterEqual, false);
    JumpNotGreaterEqualImmediate => |site| arithmetic::comparison(site, Relation::GreaterEqual, true);
    JumpNumberEqualImmediate => |site| arithmetic::comparison(site, Relation::Equal, false);
    JumpNotNumberEqualImmediate => |site| arithmetic::comparison(site, Relation::Equal, true);
    JumpCharacterEqual => |site| control::same_character(site, true);
    JumpNotCharacterEqual => |site| control::same_character(site, false);
    JumpCharacterLess => |site| control::character_before(site, true);
    JumpNotCharacterLess => |site| control::character_before(site, false);
    Entry => entry::entry;
    KeywordEntry => entry::keyword_entry;
    ArityError => entry::arity_error;
    GlobalRef => |site| { let cell = site.pool_wide(); data::global(site, cell) };
    GlobalSet => |site| {
        let (cell, value) = (site.pool_wide(), site.ra());
        data::assign(site, cell, value)
    };
    GlobalDefine => |site| {
        let (cell, value) = (site.pool_wide(), site.ra());
        data::define(site, cell, value)
    };
    CellRef => |site| { let cell = site.rb(); data::global(site, cell) };
    CellSet => |site| { let (cell, value) = (site.ra(), site.rb()); data::assign(site, cell, value) };
    CellDefine => |site| { let (cell, value) = (site.ra(), site.rb()); data::define(site, cell, value) };
    MakeClosure => data::make_closure;
    MakeBox => data::make_box;
    CheckDefined => data::check_defined;
    Cons => data::cons;
    Car => |site| data::pair_ref(site, Value::car);
    Cdr => |site| data::pair_ref(site, Value::cdr);
    Cadr => |site| data::pair_ref(site, |x| x.cdr()?.car());
    Cddr => |site| data::pair_ref(site, |x| x.cdr()?.cdr());
    SetCar => |site| data::pair_set(site, Thread::set_car);
    SetCdr => |site| data::pair_set(site, Thread::set_cdr);
    Add => |site| arithmetic::binary(site, Thread::add);
    Subtract => |site| arithmetic::binary(site, Thread::subtract);
    Multiply => |site| arithmetic::binary(site, Thread::multiply);
    Divide => |site| arithmetic::binary(site, Thread::divide);
    AddImmediate => arithmetic::add_immediate;
    Quotient => |site| arithmetic::binary(site, Thread::quotient);
    Remainder => |site| arithmetic::binary(site, Thread::remainder);
    Modulo => |site| arithmetic::binary(site, Thread::modulo);
    BitAnd => |site| arithmetic::binary(site, Thread::bitwise_and);
    BitOr => |site| arithmetic::binary(site, Thread::bitwise_or);
    BitXor => |site| arithmetic::binary(site, Thread::bitwise_xor);
    ShiftLeft => |site| arithmetic::binary(site, Thread::arithmetic_shift);
    VectorRef => |site| data::element(site, Kind::Vector);
    VectorSet => |site| data::set_element(site, Kind::Vector);
    VectorLength => |site| data::length(site, Kind::Vector);
    StringRef => |site| data::element(site, Kind::String);
    StringLength => |site| data::length(site, Kind::String);
    BytevectorRef => |site| data::element(site, Kind::Bytevector);
    BytevectorSet => |site| data::set_element(site, Kind::Bytevector);
    BytevectorLength => |site| data::length(site, Kind::Bytevector);
    CharacterToInteger => data::character_to_integer;
    IntegerToCharacter => data::integer_to_character;
    RecordRef => data::record_ref;
    RecordSet => data::record_set;
    ClassKey => data::class_key;
    MakeRecord => data::make_record;
    Call => calls::call;
    TailCall => calls::tail_call;
    CallPrimitive => calls::call_primitive;
    CallPrimitive1 => calls::call_primitive_1;
    CallPrimitive2 => calls::call_primitive_2;
    CaseEntry => control::case_entry;
    Unpack => calls::unpack;
    CountCall => |site| {
        let (callee, number) = (site.ra(), site.extension(0));
        site.thread.count_call(callee, number, site.b_index());
        Ok(site.next())
    };
    TailApply => calls::tail_apply;
    TailCallValues => calls::tail_call_values;
    ApplyStub => calls::apply_stub;
    CaptureStub => control::capture;
    ContinueStub => control::continue_stub;
    EscapeStub => control::escape_stub;
    ThrowStub => control::throw;
    MakeEscape => control::make_escape;
    PrimitiveStub => calls::primitive_stub;
    ReturnUnderflow => control::underflow;
    ReturnBarrier => control::barrier;
    ReturnTrap => control::trap;
    ReturnExit => control::exit;
    Leave => compiled::leave;
    LoopNative => compiled::loop_native;
    Break => |site| Ok(site.again());
}

/// The runtime entries by opcode. The panic is the build's, for an opcode whose row and entry do not agree.
pub(crate) static ENTRIES: [RuntimeEntry; TABLE_ENTRIES] = {
    let mut table = [no_entry as RuntimeEntry; TABLE_ENTRIES];
    let mut number = 0;
    while number < Opcode::ALL.len() {
        let opcode = Opcode::ALL[number];
        match (entry(opcode), opcode.has_runtime_entry()) {
            (Some(entry), true) => table[number] = entry,
            (None, false) => {}
            _ => panic!("{}", opcode.row().name),
        }
        number += 1;
    }
    table[LOG_FULL_ENTRY] = log_full;
    table[Opcode::Break as usize] = debug;
    table
};

/// A break, or any instruction while the thread is stepped through; see `debug_stub` of the generator.
unsafe extern "C" fn debug(
    thread: *mut u8,
    _fp: *mut u64,
    _pc: *const u32,
    word: u32,
) -> *const u32 {
    // SAFETY: generated code passes the block of the thread that runs, and nothing else borrows it.
    unsafe { &mut *thread.cast::<Thread>() }.debug_instruction(word)
}

/// Does what the first primitive does that the opcode stands for, with the registers that the
/// instruction reads.
unsafe extern "C" fn by_primitive(
    thread: *mut u8,
    _fp: *mut u64,
    _pc: *const u32,
    word: u32,
) -> *const u32 {
    run(thread, word, calls::row_primitive)
}

/// The specializer's log is full; the instruction begins again.
unsafe extern "C" fn log_full(
    thread: *mut u8,
    _fp: *mut u64,
    _pc: *const u32,
    word: u32,
) -> *const u32 {
    run(thread, word, |site| {
        site.thread.hand_log_over();
        site.thread.note_repetition();
        Ok(site.again())
    })
}

/// In the places of opcodes that have no entry: no stub leads here, since the generator makes none for them.
unsafe extern "C" fn no_entry(_: *mut u8, _: *mut u64, _: *const u32, _: u32) -> *const u32 {
    eprintln!("canny: internal error: an instruction without a slow path took one");
    std::process::abort()
}
