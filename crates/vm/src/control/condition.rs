//! Condition objects: values that primitives and instructions raise.
//!
//! `field` names the payload words of a condition: kind (a symbol), message, irritants, the
//! procedure to blame, position and origin. Programs see the symbols of `ConditionKind::name`. A
//! condition's text is made in `lib` when it is printed.

use std::borrow::Cow;

use canny_number::NumberError;
use canny_tables::kinds::Kind;
use canny_tables::primitives::lookup;
use canny_value::Value;

use crate::primitive::Raise;
use crate::thread::Thread;

/// The kinds of conditions that the machine and primitives make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// Raised by `error`.
    Error,
    /// An argument of the wrong type.
    Type,
    /// An index or number out of range.
    Range,
    /// The wrong number of arguments.
    Arity,
    /// Division by zero and the like.
    Arithmetic,
    /// A variable without a value.
    Unbound,
    /// A call of what is no procedure.
    NotProcedure,
    /// An escape from a call that has returned.
    Escape,
    /// A change of a literal.
    Immutable,
    /// The file system refused.
    File,
    /// A syntax error in what `read` reads.
    Read,
    /// A syntax error in what is evaluated.
    Syntax,
    /// The heap limit.
    Memory,
    /// The stack limit.
    Stack,
    /// Ctrl-C.
    Interrupt,
    /// The operating system refused something else.
    System,
    /// The other side did not answer in time.
    Timeout,
    /// No pattern takes a value.
    Match,
}

impl ConditionKind {
    /// The symbol that a program sees.
    pub fn name(self) -> &'static str {
        match self {
            ConditionKind::Error => "error",
            ConditionKind::Type => "type",
            ConditionKind::Range => "range",
            ConditionKind::Arity => "arity",
            ConditionKind::Arithmetic => "arithmetic",
            ConditionKind::Unbound => "unbound",
            ConditionKind::NotProcedure => "not-procedure",
            ConditionKind::Escape => "escape",
            ConditionKind::Immutable => "immutable",
            ConditionKind::File => "file",
            ConditionKind::Read => "read",
            ConditionKind::Syntax => "syntax",
            ConditionKind::Memory => "memory",
            ConditionKind::Stack => "stack",
            ConditionKind::Interrupt => "interrupt",
            ConditionKind::System => "system",
            ConditionKind::Timeout => "timeout",
            ConditionKind::Match => "match",
        }
    }
}

/// Payload words of a condition.
pub mod field {
    /// Symbol: the kind.
    pub const KIND: usize = 0;
    /// String: the message.
    pub const MESSAGE: usize = 1;
    /// List: the irritants.
    pub const IRRITANTS: usize = 2;
    /// Symbol or `#f`: the procedure to blame.
    pub const WHO: usize = 3;
    /// Vector: the places of the newest frames ([`Thread::condition_position`]).
    pub const POSITION: usize = 4;
    /// List of strings, or `#f`: in which tasks it was raised, the innermost one last. Behind them may
    /// stand an object of the host's with syntax errors.
    pub const ORIGIN: usize = 5;
}

impl Thread {
    /// A condition object; irritants are read at once and need no protection. A procedure of the
    /// library that users do not know is not blamed, but the one that they know and that called it.
    pub fn condition(
        &mut self,
        kind: &str,
        message: &str,
        irritants: &[Value],
        who: Option<&str>,
    ) -> Value {
        let blame = who.map(|who| self.blame(kind, who));
        let (message, who) = match (&blame, who) {
            (Some(Blame::Another(name)), _) => (of_another(message), name.as_deref()),
            (Some(Blame::Known(name)), _) => (message.into(), Some(*name)),
            (None, who) => (message.into(), who),
        };
        let first = self.protect(Value::NIL);
        for &irritant in irritants {
            self.scratch.push(irritant);
        }
        let mut list = Value::NIL;
        for index in (first.index() + 1..self.scratch.len()).rev() {
            let irritant = self.scratch[index];
            list = self.cons(irritant, list);
        }
        self.set_protected(first, list);
        let kind = self.symbol(kind);
        let kind = self.protect(kind);
        let message = self.string(&message);
        let message = self.protect(message);
        let who = match who {
            Some(name) => self.symbol(name),
            None => Value::FALSE,
        };
        let who = self.protect(who);
        let condition = self.make_condition(
            self.protected(kind),
            self.protected(message),
            self.protected(first),
            self.protected(who),
        );
        self.release(first);
        condition
    }

    /// Chooses the procedure to blame where a primitive or an instruction blames one.
    fn blame<'a>(&self, kind: &str, who: &'a str) -> Blame<'a> {
        let internal = who
            .strip_prefix('%')
            .filter(|rest| !rest.is_empty() && lookup(who).is_some());
        let name = internal.unwrap_or(who);
        let Some(is_public) = self.vm.public_names.get() else {
            return Blame::Known(name);
        };
        // A procedure that is called in a wrong way is blamed by its own name: it may be the program's.
        let checks_arguments =
            kind == ConditionKind::Type.name() || kind == ConditionKind::Range.name();
        if is_public(name) || (internal.is_none() && !checks_arguments) {
            return Blame::Known(name);
        }
        const FRAMES_LOOKED_AT: usize = 16;
        let frames = self.describe_frames_and_tail_calls(FRAMES_LOOKED_AT);
        let mut library = frames
            .iter()
            .take_while(|frame| frame.is_library)
            .peekable();
        if internal.is_none() && library.peek().is_none() {
            return Blame::Known(name);
        }
        let is_public = |name: &&str| is_public(name);
        let known = library.find_map(|frame| {
            let callers = frame.tail_callers.iter().filter(|caller| caller.is_library);
            let callers = callers.filter_map(|caller| caller.name.as_deref());
            let mut names = frame.name.as_deref().into_iter().chain(callers);
            names.find(is_public).map(str::to_owned)
        });
        Blame::Another(known)
    }

    /// A condition object of ready parts; the position is that of the innermost frame of the program.
    pub fn make_condition(
        &mut self,
        kind: Value,
        message: Value,
        irritants: Value,
        who: Value,
    ) -> Value {
        let first = self.protect(kind);
        self.scratch.extend([message, irritants, who]);
        let position = self.places();
        self.scratch.push(position);
        let condition = self.object(Kind::Condition, 0, 6, Value::FALSE);
        for index in 0..5 {
            let value = self.scratch[first.index() + index];
            self.store(condition, index, value);
        }
        self.release(first);
        condition
    }

    /// Makes an object pending.
    pub fn raise_object(&mut self, object: Value) -> Raise {
        self.pending = object;
        Raise(())
    }

    /// Raises a condition.
    pub fn raise(
        &mut self,
        kind: ConditionKind,
        message: &str,
        irritants: &[Value],
        who: Option<&str>,
    ) -> Raise {
        let condition = self.condition(kind.name(), message, irritants, who);
        self.raise_object(condition)
    }

    /// Raises: argument `position` (from 1) of `who` is not what was expected.
    pub fn raise_type(
        &mut self,
        who: &str,
        position: usize,
        expected: &str,
        given: Value,
    ) -> Raise {
        let message = format!("argument {position} is not {}", with_article(expected));
        self.raise(ConditionKind::Type, &message, &[given], Some(who))
    }

    /// Raises: argument `position` (from 1) of `who` is outside the range.
    pub fn raise_range(
        &mut self,
        who: &str,
        position: usize,
        expected: &str,
        given: Value,
    ) -> Raise {
        let message = format!("argument {position} is out of range: {expected}");
        self.raise(ConditionKind::Range, &message, &[given], Some(who))
    }

    /// Raises what the numeric tower refused, with the operands as irritants.
    pub fn raise_number(&mut self, who: &str, error: &NumberError, operands: &[Value]) -> Raise {
        self.raise(
            ConditionKind::Arithmetic,
            &error.to_string(),
            operands,
            Some(who),
        )
    }
}

/// The procedure that a condition blames.
enum Blame<'a> {
    /// The procedure of this name.
    Known(&'a str),
    /// A procedure that called the one at fault, if it is known.
    Another(Option<String>),
}

/// A message about an argument where another procedure is blamed than the one that was given it.
fn of_another(message: &str) -> Cow<'_, str> {
    let rest = message
        .strip_prefix("argument ")
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    match rest {
        Some(rest) => format!("an argument{rest}").into(),
        None => message.into(),
    }
}

/// "a pair", "an exact integer".
fn with_article(noun: &str) -> String {
    let has_article = ["a ", "an ", "the "]
        .iter()
        .any(|article| noun.starts_with(article));
    if has_article {
        return noun.to_owned();
    }
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u', 'I']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_syntax::messages;

    #[test]
    fn every_kind_has_a_code() {
        // A kind that is added here shows up in the match of `name` too.
        let kinds = [
            ConditionKind::Error,
            ConditionKind::Type,
            ConditionKind::Range,
            ConditionKind::Arity,
            ConditionKind::Arithmetic,
            ConditionKind::Unbound,
            ConditionKind::NotProcedure,
            ConditionKind::Escape,
            ConditionKind::Immutable,
            ConditionKind::File,
            ConditionKind::Read,
            ConditionKind::Syntax,
            ConditionKind::Memory,
            ConditionKind::Stack,
            ConditionKind::Interrupt,
            ConditionKind::System,
            ConditionKind::Timeout,
        ];
        for kind in kinds {
            let code = messages::code_of_raised(Some(kind.name()));
            assert_ne!(code, messages::OTHER_CONDITION, "{}", kind.name());
        }
    }
}
