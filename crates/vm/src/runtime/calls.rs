//! Slow paths of calls: calls of primitives, calls whose fast path did not apply, and spreading of
//! lists and values.
//!
//! Runs when a handler or compiled code cannot finish by itself: the callee takes optional
//! arguments, is no closure, or its frame does not fit the stack. The functions prepare the
//! callee's frame in the VM stack and return to the dispatcher; they never call Scheme code from
//! Rust. Arguments stay in registers of frames throughout, so a collection finds them.

use std::sync::LazyLock;

use canny_tables::kinds::Kind;
use canny_tables::layout::{code, frame};
use canny_tables::opcodes::{Opcode, opcode_byte};
use canny_tables::primitives::{PrimitiveId, lookup};
use canny_value::Value;

use super::{Next, Site};
use crate::code::CodeRef;
use crate::control::condition::ConditionKind;
use crate::primitive::{Arguments, Raise};
use crate::thread::Thread;

/// Where the arguments of a call are that is about to be made.
#[derive(Clone, Copy)]
pub(crate) enum Passed {
    /// In registers of the current frame from this one on.
    Registers(usize),
    /// The first ones are in registers, the others in a proper list.
    List {
        first: usize,
        positional: usize,
        list: Value,
    },
    /// They are several values, or one value.
    Values(Value),
    /// They are not made yet.
    Unmade,
}

/// Polls before a call, unless it comes from compiled code with other arguments than the instruction has,
/// as `apply` does: the collector knows only the registers that are live by the instruction.
fn poll_before_call(site: &mut Site) -> Result<Option<*const u32>, Raise> {
    // SAFETY: pc is behind the first word of an instruction of bytecode.
    let written = unsafe { *site.thread.pc.sub(1) };
    if written != site.word && opcode_byte(written) != Opcode::Break as u8 {
        return Ok(None);
    }
    site.thread.poll()
}

pub(crate) fn call(site: &mut Site) -> Next {
    if let Some(interrupt) = poll_before_call(site)? {
        return Ok(interrupt);
    }
    let base = site.a_index();
    let count = site.b_index();
    let callee = site.ra();
    let arguments = Passed::Registers(base + frame::LINK_WORDS);
    let target = site.thread.check_callee(callee, count, arguments)?;
    site.thread
        .check_stack(target, base + frame::LINK_WORDS + count)?;
    let return_pc = site.next();
    site.set_register(base + 1, Value::from_aligned_address(return_pc as usize));
    let thread = &mut *site.thread;
    thread.argument_count = count as u64;
    // SAFETY: the callee's frame begins above its link words; room was checked.
    thread.fp = unsafe { thread.fp.add(base + frame::LINK_WORDS) };
    Ok(target.entry())
}

pub(crate) fn tail_call(site: &mut Site) -> Next {
    if let Some(interrupt) = poll_before_call(site)? {
        return Ok(interrupt);
    }
    let base = site.a_index();
    let count = site.b_index();
    let callee = site.ra();
    let arguments = Passed::Registers(base + frame::LINK_WORDS);
    let target = site.thread.check_callee(callee, count, arguments)?;
    site.thread.check_stack(target, count)?;
    for index in 0..count {
        let argument = site.register(base + frame::LINK_WORDS + index);
        site.set_register(index, argument);
    }
    site.thread.enter_in_place(callee, count)
}

pub(crate) fn call_primitive(site: &mut Site) -> Next {
    let id = PrimitiveId(site.extension(0) as u16);
    let first = site.a_index();
    // SAFETY: the registers are operands of this instruction, hence live and precise roots.
    let arguments = unsafe { Arguments::new(site.thread.fp.add(first), site.b_index()) };
    let value = site.thread.enter_primitive(id, arguments)?;
    site.set_a(value);
    Ok(site.next())
}

pub(crate) fn call_primitive_1(site: &mut Site) -> Next {
    let id = PrimitiveId(site.extension(0) as u16);
    // SAFETY: as for `call_primitive`.
    let arguments = unsafe { Arguments::new(site.thread.fp.add(site.b_index()), 1) };
    let value = site.thread.enter_primitive(id, arguments)?;
    site.set_a(value);
    Ok(site.next())
}

pub(crate) fn call_primitive_2(site: &mut Site) -> Next {
    let id = PrimitiveId(site.extension(0) as u16);
    let operands = [site.rb(), site.rc()];
    // The operands stay in their registers too, which keeps their objects alive; the copies lie on the
    // native stack, which pins them.
    // SAFETY: the array outlives the call.
    let arguments = unsafe { Arguments::new(operands.as_ptr(), 2) };
    let value = site.thread.enter_primitive(id, arguments)?;
    site.set_a(value);
    Ok(site.next())
}

/// The first primitive that an opcode stands for by its row.
fn primitive_of(opcode: Opcode) -> PrimitiveId {
    static IDS: LazyLock<Vec<Option<PrimitiveId>>> = LazyLock::new(|| {
        let names = Opcode::ALL.iter().map(|it| it.row().primitives.first());
        names.map(|name| lookup(name?)).collect()
    });
    IDS[opcode as usize].expect("a test finds the primitives of all rows")
}

/// The most registers that an instruction reads by its fields.
const OPERANDS_MAX: usize = 3;

/// Does the work of the primitive that the opcode stands for: the operands are the registers that
/// the fields name.
pub(crate) fn row_primitive(site: &mut Site) -> Next {
    let opcode = site.opcode();
    let fields = [site.a_index(), site.b_index(), site.c_index()];
    let mut operands = [Value::FALSE; OPERANDS_MAX];
    let mut count = 0;
    for (operand, register) in opcode.row().operands.iter().zip(fields) {
        if operand.is_read() {
            operands[count] = site.register(register);
            count += 1;
        }
    }
    // SAFETY: as for `call_primitive_2`.
    let arguments = unsafe { Arguments::new(operands.as_ptr(), count) };
    let value = site
        .thread
        .enter_primitive(primitive_of(opcode), arguments)?;
    if opcode.row().operands[0].is_written() {
        site.set_a(value);
    }
    Ok(site.next())
}

pub(crate) fn primitive_stub(site: &mut Site) -> Next {
    let id = PrimitiveId(site.extension(0) as u16);
    let count = site.thread.argument_count as usize;
    if !id.row().accepts(count) {
        // SAFETY: the current frame is live.
        let closure = unsafe { Thread::closure_of(site.thread.fp) };
        return Err(site
            .thread
            .raise_arity(closure, count, Passed::Registers(0)));
    }
    // SAFETY: the arguments are this frame's first registers; stubs keep them live.
    let arguments = unsafe { Arguments::new(site.thread.fp, count) };
    let value = site.thread.enter_primitive(id, arguments)?;
    Ok(site.thread.return_value(value))
}

pub(crate) fn unpack(site: &mut Site) -> Next {
    let (first, count, rest) = (site.a_index(), site.b_index(), site.c_index() == 1);
    let value = site.ra();
    let values = value.as_kind(Kind::Values);
    let available = values.map_or(1, |values| values.length());
    if available < count || (available > count && !rest) {
        return Err(site.thread.raise_value_count(count, rest, available));
    }
    let element = |value: Value, index: usize| match value.as_kind(Kind::Values) {
        Some(values) => values.field(index),
        None => value,
    };
    let mut list = Value::NIL;
    if rest {
        for index in (count..available).rev() {
            // R[a] is live until it is overwritten below.
            let item = element(site.ra(), index);
            list = site.thread.cons(item, list);
        }
    }
    let value = site.ra();
    for index in 0..count {
        site.set_register(first + index, element(value, index));
    }
    if rest {
        site.set_register(first + count, list);
    }
    Ok(site.next())
}

pub(crate) fn tail_apply(site: &mut Site) -> Next {
    let (callee, list) = (site.ra(), site.rb());
    site.thread.apply_list(callee, 0, list)
}

pub(crate) fn tail_call_values(site: &mut Site) -> Next {
    let (callee, value) = (site.ra(), site.rb());
    let count = value
        .as_kind(Kind::Values)
        .map_or(1, |values| values.length());
    let target = site
        .thread
        .check_callee(callee, count, Passed::Values(value))?;
    site.thread.check_stack(target, count)?;
    match value.as_kind(Kind::Values) {
        Some(values) => {
            for index in 0..count {
                site.set_register(index, values.field(index));
            }
        }
        None => site.set_register(0, value),
    }
    site.thread.enter_in_place(callee, count)
}

/// `(apply f x … list)`: R0 the procedure, then the arguments.
pub(crate) fn apply_stub(site: &mut Site) -> Next {
    let count = site.thread.argument_count as usize;
    if count < 2 {
        // SAFETY: the current frame is live.
        let closure = unsafe { Thread::closure_of(site.thread.fp) };
        return Err(site
            .thread
            .raise_arity(closure, count, Passed::Registers(0)));
    }
    let (callee, list) = (site.register(0), site.register(count - 1));
    let positional = count - 2;
    site.thread.check_apply(callee, 1, positional, list)?;
    for index in 0..positional {
        let argument = site.register(index + 1);
        site.set_register(index, argument);
    }
    site.thread.apply_list(callee, positional, list)
}

impl Thread {
    /// Calls a primitive whose arguments have the right number.
    #[inline]
    pub(crate) fn enter_primitive(
        &mut self,
        id: PrimitiveId,
        arguments: Arguments,
    ) -> Result<Value, Raise> {
        let function = self.primitives[id.0 as usize];
        function(self, arguments)
    }

    /// Returns a value from the current frame, as `return` does.
    pub(crate) fn return_value(&mut self, value: Value) -> *const u32 {
        // SAFETY: the current frame has its link; the call instruction lies before the return address.
        unsafe {
            let return_pc = (*self.fp.offset(frame::RETURN_PC as isize)).bits() as *const u32;
            *self.fp.offset(frame::CLOSURE as isize) = value;
            let base = *return_pc.cast::<u8>().sub(7) as usize;
            self.fp = self.fp.sub(base + frame::LINK_WORDS);
            return_pc
        }
    }

    /// The code of a callee that takes this number of arguments, or raises.
    pub(crate) fn check_callee(
        &mut self,
        callee: Value,
        count: usize,
        arguments: Passed,
    ) -> Result<CodeRef, Raise> {
        let Some(target) = CodeRef::of_closure(callee) else {
            let message = "the object called is not a procedure";
            return Err(self.raise(ConditionKind::NotProcedure, message, &[callee], None));
        };
        match target.arity() {
            code::VARIADIC => Ok(target),
            code::LARGE_FRAME if self.true_arity(target) == count => Ok(target),
            arity if arity as usize == count => Ok(target),
            _ => Err(self.raise_arity(callee, count, arguments)),
        }
    }

    fn true_arity(&self, target: CodeRef) -> usize {
        self.vm
            .metadata(target)
            .map_or(usize::MAX, |(unit, index)| unit.codes[index].arity as usize)
    }

    /// Raises unless a frame of the code fits with its registers `above` words over fp.
    pub(crate) fn check_stack(&mut self, target: CodeRef, above: usize) -> Result<(), Raise> {
        let words = above + target.frame_words();
        while words > frame::SMALL_FRAME_WORDS && self.stack_is_full(words) {
            if !self.borrows_reserve() {
                return Err(self.raise_stack_overflow());
            }
        }
        Ok(())
    }

    /// Enters a callee in place of the current frame; its arguments are in the first registers.
    pub(crate) fn enter_in_place(&mut self, callee: Value, count: usize) -> Next {
        let target = CodeRef::of_closure(callee).expect("the callee was checked");
        // SAFETY: the current frame has its link.
        unsafe { *self.fp.offset(frame::CLOSURE as isize) = callee };
        self.argument_count = count as u64;
        Ok(target.entry())
    }

    /// Number of elements of the proper list that `apply` spreads.
    fn apply_length(&mut self, list: Value) -> Result<usize, Raise> {
        let mut count = 0usize;
        let mut rest = list;
        let mut slow = list;
        while let Some(pair) = rest.as_pair() {
            count += 1;
            rest = pair.cdr();
            if count.is_multiple_of(2) {
                slow = slow.cdr().unwrap_or(Value::NIL);
                if slow == rest && rest.is_pair() {
                    return Err(self.raise_type("apply", 2, "list", list));
                }
            }
        }
        if rest.is_nil() {
            Ok(count)
        } else {
            Err(self.raise_type("apply", 2, "list", list))
        }
    }

    /// The number of arguments of a call whose first ones are in registers from `first` on. Raises if the
    /// callee does not take so many.
    fn check_apply(
        &mut self,
        callee: Value,
        first: usize,
        positional: usize,
        list: Value,
    ) -> Result<usize, Raise> {
        let count = positional + self.apply_length(list)?;
        let arguments = Passed::List {
            first,
            positional,
            list,
        };
        let target = self.check_callee(callee, count, arguments)?;
        self.check_stack(target, count)?;
        Ok(count)
    }

    /// Calls, in place of the current frame, with `positional` arguments already in the first registers
    /// and the elements of a list.
    fn apply_list(&mut self, callee: Value, positional: usize, list: Value) -> Next {
        let count = self.check_apply(callee, 0, positional, list)?;
        let mut rest = list;
        for index in positional..count {
            let pair = rest.as_pair().expect("the list was counted");
            // SAFETY: room for so many registers was checked.
            unsafe { *self.fp.add(index) = pair.car() };
            rest = pair.cdr();
        }
        self.enter_in_place(callee, count)
    }

    /// Raises: the procedure does not take this number of arguments. Irritants are the procedure and
    /// the first arguments.
    pub(crate) fn raise_arity(&mut self, callee: Value, count: usize, arguments: Passed) -> Raise {
        let (expected, name) = self.arity_description(callee);
        let given = if count == 1 {
            "1 argument".to_owned()
        } else {
            format!("{count} arguments")
        };
        let subject = if name.is_some() {
            ""
        } else {
            "anonymous procedure "
        };
        let message = format!("{subject}called with {given}, but {expected}");
        let mut irritants = vec![callee];
        irritants.extend(self.passed(arguments, count.min(ARGUMENTS_KEPT_MAX)));
        self.raise(ConditionKind::Arity, &message, &irritants, name.as_deref())
    }

    /// The first `count` arguments of a call; there are so many.
    fn passed(&self, arguments: Passed, count: usize) -> Vec<Value> {
        let registers = |first: usize, count: usize| {
            // SAFETY: the registers hold arguments of the call, which are live.
            (first..first + count).map(|index| unsafe { *self.fp.add(index) })
        };
        match arguments {
            Passed::Registers(first) => registers(first, count).collect(),
            Passed::Unmade => Vec::new(),
            Passed::Values(value) => match value.as_kind(Kind::Values) {
                Some(values) => (0..count).map(|index| values.field(index)).collect(),
                None => vec![value],
            },
            Passed::List {
                first,
                positional,
                list,
            } => {
                let pairs = std::iter::successors(list.as_pair(), |pair| pair.cdr().as_pair());
                registers(first, positional)
                    .chain(pairs.map(|pair| pair.car()))
                    .take(count)
                    .collect()
            }
        }
    }

    fn arity_description(&self, callee: Value) -> (String, Option<String>) {
        let Some((unit, index)) =
            CodeRef::of_closure(callee).and_then(|code| self.vm.metadata(code))
        else {
            return ("takes another number".to_owned(), None);
        };
        let metadata = &unit.codes[index];
        if let Some(id) = metadata.primitive {
            let row = PrimitiveId(id).row();
            let max = row.arity_max.map(usize::from);
            return (
                format!("takes {}", range_text(row.arity_min.into(), max)),
                Some(row.name.to_owned()),
            );
        }
        let mut texts: Vec<String> = metadata
            .clauses
            .iter()
            .map(|clause| range_text(clause.arguments_min(), clause.arguments_max()))
            .collect();
        texts.dedup();
        let text = match texts.as_slice() {
            [] => "has no clause".to_owned(),
            [only] => format!("takes {only}"),
            [first @ .., last] => format!("takes {} or {last}", first.join(", ")),
        };
        (text, self.vm.procedure_name(callee))
    }

    fn raise_value_count(&mut self, count: usize, rest: bool, available: usize) -> Raise {
        let least = if rest { "at least " } else { "" };
        let message = format!("{available} values received where {least}{count} are expected");
        self.raise(ConditionKind::Arity, &message, &[], None)
    }
}

/// How many arguments of a call with a wrong number of them are kept.
const ARGUMENTS_KEPT_MAX: usize = 20;

fn range_text(min: usize, max: Option<usize>) -> String {
    match max {
        Some(max) if max == min => min.to_string(),
        Some(max) => format!("{min} to {max}"),
        None => format!("at least {min}"),
    }
}
