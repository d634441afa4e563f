//! Conditions, hit counts and messages of breakpoints, as people write them.
//!
//! A condition is an expression in the frame; the task evaluates it at each hit, and it is compiled
//! once. A message has expressions in braces, and the task goes on after it. An expression that fails
//! stops the task, and the failure is told.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use canny_locks::Mutex;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::Thread;
use canny_vm::condition::field;
use canny_vm::debug::{Condition, Resume, Stop, TaskKey, Verdict};
use canny_vm::symbols::symbol_name;

use super::expressions::{self, Compiled, Expression, PREFIX};
use super::parts;
use super::simple::Simple;
use crate::printer;

/// A number of hits at which a breakpoint stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitCount {
    /// From this one on.
    From(u64),
    /// At this one only.
    Only(u64),
    /// Up to this one.
    UpTo(u64),
    /// At each such multiple.
    Each(u64),
}

impl HitCount {
    /// Reads `5`, `>= 5`, `> 4`, `== 5`, `<= 5`, `< 6` or `% 5`. The error says what is wanted.
    pub fn read(text: &str) -> Result<HitCount, String> {
        let text = text.trim();
        let at = text.find(|character: char| character.is_ascii_digit());
        let (sign, number) = text.split_at(at.unwrap_or(text.len()));
        let wrong = || format!("'{text}' is no number of hits, such as 5, >= 5, == 5 or % 5");
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        Ok(match sign.trim() {
            "" | ">=" => HitCount::From(number),
            ">" => HitCount::From(number.saturating_add(1)),
            "=" | "==" => HitCount::Only(number),
            "<=" => HitCount::UpTo(number),
            "<" => HitCount::UpTo(number.saturating_sub(1)),
            "%" if number > 0 => HitCount::Each(number),
            _ => return Err(wrong()),
        })
    }

    fn admits(self, hits: u64) -> bool {
        match self {
            HitCount::From(number) => hits >= number,
            HitCount::Only(number) => hits == number,
            HitCount::UpTo(number) => hits <= number,
            HitCount::Each(number) => hits.is_multiple_of(number),
        }
    }
}

/// The wishes of somebody who sets a breakpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// An expression that must be true.
    pub condition: Option<String>,
    /// At which of the hits whose condition is true.
    pub hits: Option<HitCount>,
    /// A message in place of a stop; expressions stand in braces.
    pub message: Option<String>,
}

/// Bytes of what a condition has raised that are shown.
const RAISED_BYTES_MAX: usize = 1000;

/// Gets messages of breakpoints, and what failed.
pub type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// A message in pieces: texts, and expressions between them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Message {
    texts: Vec<String>,
    expressions: Vec<String>,
}

impl Message {
    /// Braces in expressions must match; `\{` is a brace.
    fn read(text: &str) -> Message {
        let mut message = Message::default();
        let (mut piece, mut depth) = (String::new(), 0_usize);
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match (character, depth) {
                ('\\', 0) if matches!(characters.peek(), Some('{' | '}' | '\\')) => {
                    piece.extend(characters.next());
                }
                ('{', 0) => {
                    message.texts.push(std::mem::take(&mut piece));
                    depth = 1;
                }
                ('}', 1) => {
                    message.expressions.push(std::mem::take(&mut piece));
                    depth = 0;
                }
                (other, _) => {
                    depth += usize::from(other == '{' && depth > 0);
                    depth -= usize::from(other == '}' && depth > 1);
                    piece.push(other);
                }
            }
        }
        if depth > 0 {
            // The brace was never closed: it is text.
            let before = message.texts.pop().unwrap_or_default();
            piece = format!("{before}{{{piece}");
        }
        message.texts.push(piece);
        message
    }

    fn fill(&self, values: &[String]) -> String {
        let values = values
            .iter()
            .map(String::as_str)
            .chain(std::iter::repeat(""));
        let pieces = self.texts.iter().zip(values);
        pieces
            .map(|(text, value)| format!("{text}{value}"))
            .collect()
    }
}

/// A breakpoint's condition while it is in use.
struct Judge {
    /// One expression for all: `#f`, or a list of what the message shows.
    text: Option<String>,
    /// The condition, if it can be decided without a call.
    simple: Option<Simple>,
    hits: Option<HitCount>,
    message: Option<Message>,
    sink: Sink,
    /// Whether the words of a simple condition have their usual meaning, once that is known. It is no part
    /// of the state, whose lock costs as much as a hit.
    is_usual: OnceLock<bool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    hits: u64,
    compiled: Option<Compiled>,
    /// Expressions that tasks are evaluating.
    pending: HashMap<TaskKey, Expression>,
}

/// The condition that somebody wishes; none if it is to stop always.
pub fn condition(wishes: &Wishes, sink: Sink) -> Option<Condition> {
    if *wishes == Wishes::default() {
        return None;
    }
    let message = wishes.message.as_deref().map(Message::read);
    let shown = message.iter().flat_map(|message| &message.expressions);
    let shown: Vec<String> = shown.map(|one| format!("({PREFIX}let () {one})")).collect();
    let list = format!("({PREFIX}list {})", shown.join(" "));
    let text = match &wishes.condition {
        Some(condition) => Some(format!("({PREFIX}and ({PREFIX}let () {condition}) {list})")),
        None => (!shown.is_empty()).then_some(list),
    };
    let simple = wishes.condition.as_deref().and_then(Simple::read);
    let judge = Judge {
        text,
        simple,
        hits: wishes.hits,
        message,
        sink,
        is_usual: OnceLock::new(),
        state: Mutex::default(),
    };
    Some(Arc::new(move |stop: &mut Stop<'_>| judge.judge(stop)))
}

impl Judge {
    fn judge(&self, stop: &mut Stop<'_>) -> Verdict {
        let is_answer = stop.argument() != Value::FALSE;
        let evaluated = is_answer.then(|| self.state.lock().pending.remove(&stop.task()));
        match evaluated.flatten() {
            Some(expression) => self.conclude(stop, &expression),
            None if self.is_false(stop) => Verdict::Pass,
            None => match &self.text {
                Some(text) => self.ask(stop, text),
                None => self.count(&[]),
            },
        }
    }

    /// Whether the condition is false, if that can be decided at once.
    fn is_false(&self, stop: &mut Stop<'_>) -> bool {
        let Some(simple) = &self.simple else {
            return false;
        };
        let is_usual = match self.is_usual.get() {
            Some(is_usual) => *is_usual,
            None => {
                let is_usual = expressions::are_usual(stop, 0, simple.words());
                // Another thread has found out the same.
                let _ = self.is_usual.set(is_usual);
                is_usual
            }
        };
        is_usual && simple.decide(stop) == Some(false)
    }

    /// Has the task evaluate the expression.
    fn ask(&self, stop: &mut Stop<'_>, text: &str) -> Verdict {
        let compiled = self.state.lock().compiled.clone();
        let again = compiled.and_then(|compiled| expressions::begin_again(stop, 0, &compiled));
        match again.unwrap_or_else(|| expressions::begin(stop, 0, text)) {
            Ok((Resume::Call(procedure, request), expression)) => {
                let task = stop.task();
                self.state.lock().pending.insert(task, expression);
                Verdict::Call(procedure, request)
            }
            Ok(_) => Verdict::Stop,
            Err(message) => self.complain(&message),
        }
    }

    fn conclude(&self, stop: &mut Stop<'_>, expression: &Expression) -> Verdict {
        if self.state.lock().compiled.is_none() {
            let kept = expressions::keep(stop, expression);
            self.state.lock().compiled = kept;
        }
        match expressions::end(stop, expression).value {
            Ok(Value::FALSE) => Verdict::Pass,
            Ok(list) => {
                let mut values = Vec::new();
                let mut rest = list;
                while let Some(pair) = rest.as_pair() {
                    values.push(printer::shown(stop.thread(), pair.car()));
                    rest = pair.cdr();
                }
                self.count(&values)
            }
            Err(raised) => {
                let raised = text_of_raised(stop.thread(), raised, RAISED_BYTES_MAX);
                self.complain(&format!("raised {raised}"))
            }
        }
    }

    /// The condition is true, and the message shows these values.
    fn count(&self, values: &[String]) -> Verdict {
        let hits = {
            let mut state = self.state.lock();
            state.hits += 1;
            state.hits
        };
        match &self.message {
            _ if self.hits.is_some_and(|wanted| !wanted.admits(hits)) => Verdict::Pass,
            Some(message) => {
                (self.sink)(&message.fill(values));
                Verdict::Pass
            }
            None => Verdict::Stop,
        }
    }

    fn complain(&self, message: &str) -> Verdict {
        (self.sink)(&format!("the condition of a breakpoint: {message}"));
        Verdict::Stop
    }
}

/// The kind of a condition, such as `file`, or the word `object` for anything else.
pub fn kind_of_raised(raised: Value) -> String {
    let condition = raised.as_kind(Kind::Condition);
    let kind = condition.and_then(|condition| symbol_name(condition.field(field::KIND)));
    kind.unwrap_or_else(|| "object".to_owned())
}

/// The text of an object that an expression has raised: a condition with its irritants, such as the name
/// of a variable without a value.
pub fn text_of_raised(thread: &Thread, raised: Value, bytes_max: usize) -> String {
    let mut text = parts::brief(thread, raised, bytes_max);
    let condition = raised.as_kind(Kind::Condition);
    let mut rest = condition.map_or(Value::NIL, |condition| condition.field(field::IRRITANTS));
    while let Some(pair) = rest.as_pair().filter(|_| text.len() < bytes_max) {
        text.push(' ');
        text.push_str(&parts::brief(thread, pair.car(), bytes_max - text.len()));
        rest = pair.cdr();
    }
    text
}

/// A condition on the object that is raised: nobody handles it, and it is of one of some kinds.
pub fn of_raised(only_uncaught: bool, kinds: &str) -> Condition {
    let separators = |character: char| character == ',' || character.is_whitespace();
    let kinds: Vec<String> = kinds
        .split(separators)
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned)
        .collect();
    Arc::new(move |stop: &mut Stop<'_>| {
        let raised = stop.raised();
        let is_wanted = kinds.is_empty() || kinds.contains(&kind_of_raised(raised));
        let is_caught = only_uncaught && stop.has_handlers();
        if is_wanted && !is_caught {
            Verdict::Stop
        } else {
            Verdict::Pass
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_counts_are_read() {
        assert_eq!(HitCount::read("5"), Ok(HitCount::From(5)));
        assert_eq!(HitCount::read(" > 4 "), Ok(HitCount::From(5)));
        assert_eq!(HitCount::read("==3"), Ok(HitCount::Only(3)));
        assert_eq!(HitCount::read("%2"), Ok(HitCount::Each(2)));
        for wrong in ["", "x", "% 0", ">= -1", "5 times"] {
            assert!(HitCount::read(wrong).is_err(), "{wrong}");
        }
    }

    /// Any text is read, or refused.
    #[test]
    fn no_text_is_too_strange() {
        let alphabet: Vec<char> = "0 59{}\\><=%()#λ\n\"'".chars().collect();
        let mut random: u64 = 1;
        for length in 0..2000 {
            let mut next = || {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                alphabet[(random >> 33) as usize % alphabet.len()]
            };
            let text: String = (0..length % 40).map(|_| next()).collect();
            let message = Message::read(&text);
            assert_eq!(
                message.texts.len(),
                message.expressions.len() + 1,
                "{text:?}"
            );
            if let Ok(count) = HitCount::read(&text) {
                count.admits(1);
            }
            Simple::read(&text);
        }
    }

    #[test]
    fn messages_have_expressions_in_braces() {
        let message = Message::read(r"x is {x}, \{not\} {(f #{1})}.");
        assert_eq!(message.expressions, ["x", "(f #{1})"]);
        let values = ["1".to_owned(), "2".to_owned()];
        assert_eq!(message.fill(&values), "x is 1, {not} 2.");
        let open = Message::read("an open {brace");
        assert_eq!(open.fill(&[]), "an open {brace");
        assert!(open.expressions.is_empty());
    }
}
