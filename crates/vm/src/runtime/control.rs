//! Runtime entries of safepoints, tests, continuations, escapes and the machine's return addresses.
//!
//! The return addresses (`underflow`, `barrier`, `trap`, `exit`) are instructions of stubs:
//! returning to one runs its entry, which installs the next frame or leaves the interpreter. An
//! entry may move the stack's frames, and reads its registers before that.

use canny_tables::kinds::Kind;
use canny_tables::layout::continuation;
use canny_tables::opcodes::field_far;

use super::calls::Passed;
use super::{Next, Site};
use crate::data::values::{is_instance, record_type_of};
use crate::primitive::Raise;
use crate::thread::Thread;

/// `loop` whose handler was replaced by a request.
pub(crate) fn safepoint(site: &mut Site) -> Next {
    Ok(match site.thread.poll()? {
        Some(interrupt) => interrupt,
        None => {
            // SAFETY: verified offsets lead to an instruction of the same code.
            let head = unsafe { site.thread.pc.offset(field_far(site.word) as isize) };
            site.thread
                .stitched_loop(head)
                .unwrap_or_else(|| site.again())
        }
    })
}

pub(crate) fn record_test(site: &mut Site, wants: bool) -> Next {
    let wanted = site.rb();
    if record_type_of(wanted).is_none() {
        return Err(site.thread.raise_type("%record?", 2, "record type", wanted));
    }
    let holds = is_instance(site.ra(), wanted);
    Ok(site.branch(holds == wants))
}

/// `case-entry` of compiled code; the interpreter's handler never comes here.
pub(crate) fn case_entry(site: &mut Site) -> Next {
    let (wanted, open) = (site.a_index(), site.b_index() == 1);
    let count = site.thread.argument_count as usize;
    let fits = count == wanted || (open && count > wanted);
    Ok(site.branch(!fits))
}

pub(crate) fn flonum_test(site: &mut Site, wants: bool) -> Next {
    let holds = site.ra().as_flonum().is_some();
    Ok(site.branch(holds == wants))
}

pub(crate) fn same_character(site: &mut Site, wants: bool) -> Next {
    if let (Some(x), Some(y)) = (site.ra().as_character(), site.rb().as_character()) {
        return Ok(site.branch((x == y) == wants));
    }
    let is_exchanged = site.written().is_exchanged;
    Err(raise_no_character(site, "char=?", is_exchanged))
}

pub(crate) fn character_before(site: &mut Site, wants: bool) -> Next {
    if let (Some(x), Some(y)) = (site.ra().as_character(), site.rb().as_character()) {
        return Ok(site.branch((x < y) == wants));
    }
    let written = site.written();
    let who = match (written.is_opposite, written.is_exchanged) {
        (false, false) => "char<?",
        (false, true) => "char>?",
        (true, true) => "char<=?",
        (true, false) => "char>=?",
    };
    Err(raise_no_character(site, who, written.is_exchanged))
}

/// Raises: one of two operands, which may stand in the other order in the program, is no character.
fn raise_no_character(site: &mut Site, who: &str, is_exchanged: bool) -> Raise {
    let (x, y) = (site.ra(), site.rb());
    let (x, y) = if is_exchanged { (y, x) } else { (x, y) };
    let (position, wrong) = if x.is_character() { (2, y) } else { (1, x) };
    debug_assert!(!wrong.is_character());
    site.thread.raise_type(who, position, "character", wrong)
}

pub(crate) fn capture(site: &mut Site) -> Next {
    // The code takes exactly one argument, so its callers do not say how many there are.
    site.thread.argument_count = 1;
    let receiver = site.register(0);
    site.thread.check_callee(receiver, 1, Passed::Unmade)?;
    let continuation = site.thread.capture()?;
    // The stub's frame may have moved to the base of the stack.
    let receiver = site.register(0);
    site.set_register(0, continuation);
    site.thread.enter_in_place(receiver, 1)
}

pub(crate) fn continue_stub(site: &mut Site) -> Next {
    let value = site.thread.arguments_as_values()?;
    // SAFETY: the current frame is live.
    let continuation = unsafe { Thread::closure_of(site.thread.fp) };
    let continuation = continuation.as_object().expect("the closure being called");
    if continuation.field(continuation::WINDERS) != site.thread.dynamic.winders {
        return site.thread.rewind_and_call(value);
    }
    Ok(site.thread.continue_with(continuation, value))
}

pub(crate) fn throw(site: &mut Site) -> Next {
    if site.thread.argument_count != 2 {
        let count = site.thread.argument_count as usize;
        // SAFETY: the current frame is live.
        let closure = unsafe { Thread::closure_of(site.thread.fp) };
        return Err(site
            .thread
            .raise_arity(closure, count, Passed::Registers(0)));
    }
    let (continuation, value) = (site.register(0), site.register(1));
    site.thread.throw(continuation, value)
}

pub(crate) fn make_escape(site: &mut Site) -> Next {
    let escape = site.thread.make_escape();
    site.set_a(escape);
    Ok(site.next())
}

pub(crate) fn escape_stub(site: &mut Site) -> Next {
    let value = site.thread.arguments_as_values()?;
    // SAFETY: the current frame is live.
    let closure = unsafe { Thread::closure_of(site.thread.fp) };
    site.thread.escape(closure, value)
}

/// The stub's call instruction says a = 0: fp is where the value was put.
pub(crate) fn underflow(site: &mut Site) -> Next {
    let value = site.register(0);
    Ok(site.thread.return_to_sealed(value))
}

pub(crate) fn barrier(site: &mut Site) -> Next {
    Ok(site.thread.return_through_barrier())
}

pub(crate) fn trap(site: &mut Site) -> Next {
    Ok(site.thread.return_from_trap())
}

pub(crate) fn exit(site: &mut Site) -> Next {
    let value = site.register(0);
    debug_assert!(!value.is_kind(Kind::Filler));
    site.thread.result = value.bits();
    Ok(std::ptr::null())
}
