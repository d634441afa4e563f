//! The handlers: the work of each opcode when nothing is unusual.
//!
//! An opcode has a fast handler, may have a second one to which the fast one falls back (flonum
//! arithmetic behind fixnum arithmetic, calls with a variable number of arguments behind plain calls),
//! and always a slow stub behind that.

mod calls;
pub mod continuations;
pub mod control;
mod counting;
pub mod logging;
mod numbers;
mod objects;
mod ports;
mod variables;

use canny_tables::opcodes::{Opcode, OpcodeFlags};

use crate::dsl::Handler;

/// A function that writes a handler.
pub type Writer = fn(Opcode, &mut Handler);

/// How an opcode is implemented.
pub enum Implementation {
    /// The slow stub does everything.
    Stub,
    /// A fast handler, then the slow stub.
    Fast(Writer),
    /// The same; the fast handler forgets the instruction, which the second one finds again for the
    /// slow stub.
    Forgetful(Writer, Writer),
    /// A fast handler, then a second one, then the slow stub.
    Staged(Writer, Writer),
}

/// How an opcode is implemented; `None` if neither its row nor [`handler`] says so.
pub fn implementation(opcode: Opcode) -> Option<Implementation> {
    match (handler(opcode), opcode.has(OpcodeFlags::RUNTIME_ONLY)) {
        (Some(handler), false) => Some(handler),
        (None, true) => Some(Implementation::Stub),
        _ => None,
    }
}

/// The handlers of an opcode that the runtime does not do alone.
fn handler(opcode: Opcode) -> Option<Implementation> {
    use Implementation::{Fast, Forgetful, Staged};
    use Opcode::*;
    Some(match opcode {
        Nop | Halt | Return | Jump | Loop | JumpFalse | JumpTrue | JumpEq | JumpNotEq
        | JumpEqImmediate | JumpNotEqImmediate | JumpPair | JumpNotPair | JumpFixnum
        | JumpNotFixnum | JumpCharacter | JumpNotCharacter | JumpKind | JumpNotKind
        | JumpRecord | JumpNotRecord | CaseEntry => Fast(control::write),
        JumpFlonum | JumpNotFlonum => Staged(control::write, control::write_boxed_flonum),
        JumpLess | JumpNotLess | JumpLessEqual | JumpNotLessEqual | JumpNumberEqual
        | JumpNotNumberEqual => Staged(numbers::write_comparison, numbers::write_flonum_comparison),
        JumpLessImmediate
        | JumpNotLessImmediate
        | JumpLessEqualImmediate
        | JumpNotLessEqualImmediate
        | JumpGreaterImmediate
        | JumpNotGreaterImmediate
        | JumpGreaterEqualImmediate
        | JumpNotGreaterEqualImmediate
        | JumpNumberEqualImmediate
        | JumpNotNumberEqualImmediate => Staged(
            numbers::write_immediate_comparison,
            numbers::write_flonum_immediate_comparison,
        ),
        JumpCharacterEqual | JumpNotCharacterEqual | JumpCharacterLess | JumpNotCharacterLess => {
            Fast(numbers::write_character_comparison)
        }
        Add | Subtract | Multiply => Staged(numbers::write_arithmetic, numbers::write_flonum),
        AddImmediate => Staged(numbers::write_fixnum, numbers::write_flonum),
        Divide => Staged(numbers::write_division_of_flonums, numbers::write_flonum),
        Quotient | Remainder | Modulo | BitAnd | BitOr | BitXor | ShiftLeft => {
            Fast(numbers::write_fixnum)
        }
        Move | LoadImmediate | LoadConstant | LoadConstantFar | GlobalRef | GlobalSet
        | GlobalDefine | CellRef | CellSet | CellDefine | Free | SelfRef | MakeClosure
        | ClosureSet | MakeBox | BoxRef | BoxSet | CheckDefined => Fast(variables::write),
        Cons | Car | Cdr | Cadr | Cddr | SetCar | SetCdr | VectorRef | VectorSet | VectorLength
        | StringRef | StringLength | BytevectorRef | BytevectorSet | BytevectorLength
        | CharacterToInteger | IntegerToCharacter | RecordRef | RecordSet | ClassKey => {
            Fast(objects::write)
        }
        ReadCharacter | PeekCharacter | WriteCharacter | ReadByte | PeekByte | WriteByte => {
            Fast(ports::write)
        }
        MakeEscape => Fast(continuations::write_make_escape),
        CaptureStub => Forgetful(continuations::write_capture, continuations::write_recovery),
        ContinueStub => Forgetful(continuations::write_continue, continuations::write_recovery),
        ReturnUnderflow => Forgetful(
            continuations::write_underflow,
            continuations::write_recovery,
        ),
        Native | Stitched => Fast(control::write_native),
        Retired => Fast(control::write_retired),
        Call => Staged(calls::write_call, calls::write_variadic_call),
        TailCall => Staged(calls::write_tail_call, calls::write_variadic_tail_call),
        Count | CountCall => Fast(counting::write),
        Entry | Unpack => Fast(calls::write_entry),
        _ => return None,
    })
}

/// The fast handlers of an opcode that can be stencils, the second for what the first leaves.
pub fn stencil_writers(opcode: Opcode) -> Option<(Writer, Option<Writer>)> {
    let is_of_machine = opcode.has(OpcodeFlags::MACHINE) || opcode == Opcode::Halt;
    match handler(opcode).filter(|_| !is_of_machine)? {
        Implementation::Fast(writer) => Some((writer, None)),
        Implementation::Staged(first, second) => Some((first, Some(second))),
        Implementation::Stub | Implementation::Forgetful(..) => None,
    }
}
