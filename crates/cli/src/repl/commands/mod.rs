//! Commands at the prompt: lines that begin with a comma, which no expression there does.
//!
//! One table has each command with its usage, help and function; help and completion derive from
//! it. Names follow Guile's. A command returns a [`Reply`] and never ends the process itself.

mod debug;
mod language;
mod look;
mod modules;
mod names;
mod system;
mod trace;

use canny_syntax::syntax::Syntax;

use super::frames;
use super::prompt::{Outcome, Prompt};
use super::results;

/// A command.
struct Command {
    name: &'static str,
    short: &'static [&'static str],
    argument: &'static str,
    help: &'static str,
    group: &'static str,
    run: fn(&mut Prompt, &str) -> Reply,
}

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// To be printed.
    Text(String),
    /// All was said.
    Done,
    /// The prompt continues or is left.
    Leave(Outcome),
    /// The argument is not what the command takes.
    Usage,
}

const HELP: &str = "Help";
const LIBRARIES: &str = "Libraries";
const LANGUAGE: &str = "Language";
const DEBUGGER: &str = "Debugger";
const FAILURES: &str = "After a failure";
const SYSTEM: &str = "System";

macro_rules! commands {
    ($($group:ident: $name:literal [$($short:literal)*] $argument:literal $help:literal => $run:expr;)*) => {
        const COMMANDS: &[Command] = &[$(Command {
            name: $name,
            short: &[$($short),*],
            argument: $argument,
            help: $help,
            group: $group,
            run: $run,
        }),*];
    };
}

commands! {
    HELP: "help" ["h"] "[COMMAND]" "these lines, or more about one command" => |_, rest| help(rest);
    HELP: "apropos" ["a"] "TEXT"
        "names that contain the text, also of libraries not imported" => names::apropos;
    HELP: "describe" ["d"] "EXPR"
        "what a name means, or what an object is; ?NAME does it too" => names::describe;
    LIBRARIES: "module" ["m"] "[LIBRARY]"
        "go inside of a library, with () back; or tell where this is" => modules::module;
    LIBRARIES: "import" ["use"] "SET ..." "import libraries" => modules::import;
    LIBRARIES: "load" ["l"] "FILE" "evaluate the forms of a file" => modules::load;
    LIBRARIES: "reload" ["re"] "LIBRARY" "load a library again from its source" => modules::reload;
    LIBRARIES: "binding" ["b"] "[LIBRARY]"
        "names that were defined here, or that a library exports" => names::binding;
    LIBRARIES: "in" [] "LIBRARY EXPR" "evaluate an expression inside of a library" => modules::inside;
    LANGUAGE: "expand" ["exp"] "EXPR" "an expression without macros" => language::expand;
    LANGUAGE: "optimize" ["opt"] "EXPR" "what the optimizer makes of an expression" => language::optimize;
    LANGUAGE: "disassemble" ["x"] "PROC"
        "bytecode of a procedure, graph and machine code if there are" => language::disassemble;
    LANGUAGE: "pretty-print" ["pp"] "EXPR" "all of a value, in lines" => language::pretty_print;
    LANGUAGE: "time" ["t"] "EXPR" "evaluate an expression and tell how long it took" => system::time;
    LANGUAGE: "profile" [] "EXPR" "evaluate an expression and tell where its time went" => system::profile;
    LANGUAGE: "trace" ["tr"] "EXPR"
        "tell the calls that an expression makes; of a name: from now on" => trace::trace;
    LANGUAGE: "untrace" [] "[NAME ...]" "tell calls no more" => trace::untrace;
    DEBUGGER: "break" [] "PLACE [hits COUNT] [if EXPR]"
        "stop at the beginning of a procedure, or at FILE:LINE"
        => |prompt, rest| debug::breakpoints(prompt, "break", rest);
    DEBUGGER: "watch" [] "NAME [hits COUNT] [if EXPR]"
        "stop where a variable is assigned" => |prompt, rest| debug::breakpoints(prompt, "watch", rest);
    DEBUGGER: "catch" [] "[uncaught] [KIND ...]"
        "stop where an object is raised" => |prompt, rest| debug::breakpoints(prompt, "catch", rest);
    DEBUGGER: "breakpoints" [] ""
        "list the breakpoints" => |prompt, rest| debug::breakpoints(prompt, "breakpoints", rest);
    DEBUGGER: "delete" [] "NUMBER"
        "remove a breakpoint" => |prompt, rest| debug::breakpoints(prompt, "delete", rest);
    DEBUGGER: "step" [] "EXPR" "evaluate an expression step by step" => debug::step;
    FAILURES: "backtrace" ["bt"] ""
        "the frames of the failed evaluation" => |prompt, _| Reply::Text(frames::backtrace(prompt));
    FAILURES: "frame" ["fr"] "[NUMBER]" "look at a frame" => look::frame;
    FAILURES: "up" [] "[COUNT]"
        "look at the frame that called this one" => |prompt, rest| look::up(prompt, rest);
    FAILURES: "down" [] "[COUNT]"
        "look at the frame that this one called" => |prompt, rest| look::down(prompt, rest);
    FAILURES: "locals" [] "" "the variables of the frame" => |prompt, _| Reply::Text(frames::locals(prompt));
    FAILURES: "error-message" ["error"] ""
        "what went wrong" => |prompt, _| Reply::Text(frames::message(prompt));
    SYSTEM: "gc" [] "" "collect garbage" => system::collect;
    SYSTEM: "statistics" ["stat"] "" "what the heap did" => system::statistics;
    SYSTEM: "heap" [] "[FILE]"
        "write a heap snapshot; canny-PID.heap unless a file is named" => system::heap;
    SYSTEM: "tasks" [] "[all]"
        "the tasks, and what they wait for; with all, where they stand" => modules::tasks;
    SYSTEM: "option" ["o"] "[NAME [VALUE]]" "see or change: width, length" => system::option;
    SYSTEM: "quit" ["q" "continue" "cont"] ""
        "leave the level of the last failure, or the prompt" => |prompt, _| quit(prompt);
}

/// Whether what was typed is a command.
pub fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(',')
}

/// Finds the question in a line that begins with a question mark, if it is one.
pub use names::question_of;

/// Answers `?name`; a lone `?` gets the list of commands.
pub fn answer_question(prompt: &mut Prompt, asked: &str) -> Outcome {
    let told = match asked {
        "" => help(""),
        _ => names::question(prompt, asked),
    };
    match told {
        Reply::Text(text) => results::print(&text),
        Reply::Leave(outcome) => return outcome,
        Reply::Done | Reply::Usage => {}
    }
    Outcome::Next
}

/// How a command is called, and what it does.
pub fn usage(name: &str) -> Option<(String, String)> {
    let command = find(name)?;
    let call = format!(",{} {}", command.name, command.argument);
    Some((call.trim_end().to_owned(), command.help.to_owned()))
}

/// The names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

fn find(name: &str) -> Option<&'static Command> {
    COMMANDS
        .iter()
        .find(|command| command.name == name || command.short.contains(&name))
}

/// Does what a command asks.
pub fn answer(prompt: &mut Prompt, text: &str) -> Outcome {
    let text = text.trim();
    let text = text.strip_prefix(',').unwrap_or(text);
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '\''));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let Some(command) = find(name) else {
        let shown: String = name.chars().take(40).collect();
        let near = names().find(|known| is_near(known, name));
        let near = near.map_or(String::new(), |known| format!(" Did you mean ,{known}?"));
        results::print(&format!(
            "There is no command ,{shown}.{near} ,help lists them.\n"
        ));
        return Outcome::Next;
    };
    match (command.run)(prompt, rest.trim()) {
        Reply::Text(text) => results::print(&text),
        Reply::Done => {}
        Reply::Leave(outcome) => return outcome,
        Reply::Usage => results::print(&format!("{}\n", line(command))),
    }
    Outcome::Next
}

/// Whether one name is the other but for a letter or the end.
fn is_near(known: &str, typed: &str) -> bool {
    typed.len() >= 3
        && (known.starts_with(typed)
            || canny_syntax::spelling::similar_name(
                canny_syntax::name::Name::new(typed),
                [canny_syntax::name::Name::new(known)].into_iter(),
            )
            .is_some())
}

/// The forms of an argument. Errors are reported.
fn forms_of(prompt: &mut Prompt, rest: &str) -> Result<Vec<Syntax>, Reply> {
    prompt.read_forms(rest).ok_or(Reply::Done)
}

/// The one form of an argument.
fn form_of(prompt: &mut Prompt, rest: &str) -> Result<Syntax, Reply> {
    let mut forms = forms_of(prompt, rest)?;
    match (forms.pop(), forms.is_empty()) {
        (Some(form), true) => Ok(form),
        _ => Err(Reply::Usage),
    }
}

/// The value of the one form of an argument.
fn value_of(prompt: &mut Prompt, rest: &str) -> Result<canny_value::Value, Reply> {
    let form = form_of(prompt, rest)?;
    prompt.value_of(&form).map_err(Reply::Leave)
}

/// Both ways to a reply.
fn reply(result: Result<Reply, Reply>) -> Reply {
    result.unwrap_or_else(|early| early)
}

/// The name of a file, with or without quotation marks.
fn file_name(rest: &str) -> String {
    let quoted = rest.strip_prefix('"');
    match quoted.and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\\\\", "\\").replace("\\\"", "\""),
        None => rest.to_owned(),
    }
}

fn line(command: &Command) -> String {
    let call = format!(",{} {}", command.name, command.argument);
    format!("{call:<24} {}", command.help)
}

fn help(rest: &str) -> Reply {
    let name = rest.trim_start_matches(',');
    if !name.is_empty() {
        return Reply::Text(match find(name) {
            Some(command) => {
                let short: Vec<String> = command
                    .short
                    .iter()
                    .map(|name| format!(",{name}"))
                    .collect();
                let also = if short.is_empty() {
                    String::new()
                } else {
                    format!("Also {}.\n", short.join(", "))
                };
                format!("{}\n{also}", line(command))
            }
            None => format!("There is no command ,{name}. ,help lists them.\n"),
        });
    }
    let mut text = String::new();
    for group in [HELP, LIBRARIES, LANGUAGE, FAILURES, SYSTEM] {
        text.push_str(&format!("{group}\n"));
        for command in COMMANDS.iter().filter(|command| command.group == group) {
            text.push_str(&format!("  {}\n", line(command)));
        }
    }
    Reply::Text(text)
}

fn quit(prompt: &mut Prompt) -> Reply {
    if prompt.level() > 0 {
        prompt.leave_level();
        Reply::Done
    } else {
        Reply::Leave(Outcome::Exit(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_begin_with_a_comma() {
        assert!(is_command(",help"));
        assert!(is_command("  ,optimize (f)"));
        assert!(!is_command("(f ,x)"));
        assert!(!is_command(""));
    }

    #[test]
    fn names_are_unique() {
        let mut seen = std::collections::HashSet::new();
        for command in COMMANDS {
            assert!(seen.insert(command.name), "{}", command.name);
            for short in command.short {
                assert!(seen.insert(short), "{short}");
            }
        }
    }
}
