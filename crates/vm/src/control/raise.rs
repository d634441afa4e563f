//! Calls that the machine makes in the middle of an instruction.
//!
//! A *trap frame* is pushed above everything the interrupted frame uses. Its link says where the
//! interrupted frame resumes; register 0 holds the distance down to it; at register 1 the call is made.
//! The Scheme procedure called runs like any other; when it returns, `return-trap` drops the trap frame.

use canny_syntax::core::GlobalName;
use canny_syntax::library_name::LibraryKey;
use canny_syntax::name::Name;
use canny_tables::kinds::Kind;
use canny_tables::layout::{code, frame};
use canny_tables::opcodes::{Opcode, opcode_byte};
use canny_value::Value;

use crate::code::CodeRef;
use crate::code::stubs::{TRAP_CALL_BASE, TRAP_FRAME_WORDS};
use crate::primitive::Raise;
use crate::thread::{Exit, Thread};

/// Library whose globals the machine calls by name.
const CONTROL_LIBRARY: &str = "(canny machine control)";

/// Calls a procedure that makes a primitive's work possible, then the primitive once more.
const REPEAT: &str = "%call-again";

impl Thread {
    /// Says that a primitive has done nothing and that `procedure`, a closure of one parameter, must be
    /// called with a fixnum first: when it returns, the primitive is called again with the same
    /// arguments.
    pub fn repeat_after(&mut self, procedure: Value, argument: i64) -> Raise {
        self.pending = procedure;
        self.repeat = Some(argument);
        Raise(())
    }

    /// Calls the pending procedure in the middle of the instruction, which is executed again
    /// afterwards. The frame of a primitive that was called as a procedure is not kept: the procedure's
    /// frame takes its place.
    fn begin_repeat(&mut self, argument: i64) -> *const u32 {
        let procedure = std::mem::replace(&mut self.pending, Value::FALSE);
        self.note_repetition();
        // SAFETY: slow stubs save pc behind the first word of the instruction.
        let (resume, word) = unsafe { (self.pc.sub(1), *self.pc.sub(1)) };
        if Opcode::from_byte(opcode_byte(word)) != Some(Opcode::PrimitiveStub) {
            return self.trap_call(resume, procedure, &[Value::fixnum(argument)]);
        }
        let Some(repeat) = self.machine_procedure(REPEAT) else {
            self.exit = Some(Exit::Uncaught);
            return std::ptr::null();
        };
        let count = self.argument_count as usize;
        let target = CodeRef::of_closure(repeat).expect("the machine calls closures");
        const ADDED: usize = 3;
        if let Err(raise) = self.check_stack(target, count + ADDED) {
            return self.begin_raise(raise);
        }
        // SAFETY: the current frame is that of the stub, whose first registers are its arguments; there
        // is room for more.
        unsafe {
            let primitive = Thread::closure_of(self.fp);
            for index in (0..count).rev() {
                *self.fp.add(index + ADDED) = *self.fp.add(index);
            }
            *self.fp = procedure;
            *self.fp.add(1) = Value::fixnum(argument);
            *self.fp.add(2) = primitive;
        }
        match self.enter_in_place(repeat, count + ADDED) {
            Ok(entry) => entry,
            Err(raise) => self.begin_raise(raise),
        }
    }

    /// Continues after a failed operation: calls `raise` with the pending object, or leaves the
    /// interpreter if that is under way.
    pub(crate) fn begin_raise(&mut self, _raise: Raise) -> *const u32 {
        if self.exit.is_some() {
            return std::ptr::null();
        }
        if let Some(pc) = self.tasks.switch.take() {
            return pc;
        }
        if let Some(argument) = self.repeat.take() {
            return self.begin_repeat(argument);
        }
        let Some(raise) = self.machine_procedure("raise") else {
            self.exit = Some(Exit::Uncaught);
            return std::ptr::null();
        };
        let object = std::mem::replace(&mut self.pending, Value::FALSE);
        // SAFETY: slow stubs save pc behind the first word of the instruction.
        let resume = unsafe { self.pc.sub(1) };
        self.trap_call(resume, raise, &[object])
    }

    /// Asks for the interpreter to be left; give the result to the machine as a raised condition.
    pub fn leave(&mut self, exit: Exit) -> Raise {
        self.exit = Some(exit);
        Raise(())
    }

    /// A procedure that (canny machine control) defines for the machine.
    pub(crate) fn machine_procedure(&mut self, name: &str) -> Option<Value> {
        let name = GlobalName {
            library: LibraryKey::new(CONTROL_LIBRARY),
            name: Name::new(name),
        };
        self.global_value(&name)
            .filter(|value| value.is_kind(Kind::Closure))
    }

    /// Pushes a trap frame over the current frame and enters `procedure`, whose code must take this number of
    /// arguments; the interrupted frame will resume at `resume`.
    pub(crate) fn trap_call(
        &mut self,
        resume: *const u32,
        procedure: Value,
        arguments: &[Value],
    ) -> *const u32 {
        let fp = self.fp;
        let distance = self.words_in_use() + frame::LINK_WORDS;
        let trap = self.vm.shared_roots.named("trap").unwrap_or(Value::FALSE);
        let target = CodeRef::of_closure(procedure).expect("the machine calls closures");
        debug_assert!(target.arity() == arguments.len() as u32 || target.arity() == code::VARIADIC);
        // SAFETY: the red zone leaves room above any frame for a trap frame and a small frame.
        unsafe {
            let trap_fp = fp.add(distance);
            *trap_fp.offset(frame::CLOSURE as isize) = trap;
            *trap_fp.offset(frame::RETURN_PC as isize) =
                Value::from_aligned_address(resume as usize);
            *trap_fp = Value::fixnum(distance as i64);
            let call = trap_fp.add(TRAP_CALL_BASE);
            *call = procedure;
            *call.add(1) = Value::from_aligned_address(self.vm.stubs.trap() as usize);
            let callee = call.add(frame::LINK_WORDS);
            for (index, &argument) in arguments.iter().enumerate() {
                *callee.add(index) = argument;
            }
            self.fp = callee;
        }
        const { assert!(TRAP_CALL_BASE < TRAP_FRAME_WORDS) };
        self.argument_count = arguments.len() as u64;
        target.entry()
    }

    /// Words from fp that the current frame uses: its registers, or the arguments that it has not taken yet.
    fn words_in_use(&self) -> usize {
        // SAFETY: the current frame is live.
        let closure = unsafe { Thread::closure_of(self.fp) };
        let words = CodeRef::of_closure(closure).map_or(0, CodeRef::frame_words);
        // SAFETY: slow stubs save pc behind the first word of the instruction.
        let word = unsafe { *self.pc.sub(1) };
        let takes_arguments = Opcode::from_byte(opcode_byte(word))
            .is_some_and(|opcode| opcode.row().window.reads_arguments());
        if takes_arguments {
            words.max(self.argument_count as usize)
        } else {
            words
        }
    }

    /// `return-trap`: drops the trap frame at fp and continues with the interrupted one.
    pub(crate) fn return_from_trap(&mut self) -> *const u32 {
        // SAFETY: fp is a trap frame, built by `trap_call`.
        unsafe {
            let resume = (*self.fp.offset(frame::RETURN_PC as isize)).bits() as *const u32;
            let distance = (*self.fp).as_fixnum().unwrap_or(0) as usize;
            self.fp = self.fp.sub(distance);
            self.note_return(resume);
            resume
        }
    }
}
