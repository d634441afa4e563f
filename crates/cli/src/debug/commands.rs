//! The commands of the debugger's prompt: their names, their arguments, and the meaning of a line. This
//! module knows nothing of stops and frames.

use canny_lib::debug::rerun::Way;

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Break(Wish),
    /// The same, up to the first hit.
    Once(Wish),
    Log(Wish),
    Until(String),
    /// Whether only those that nobody handles, and kinds.
    Catch(bool, String),
    Breakpoints,
    Watch(Wish),
    Delete(u32),
    Continue,
    Step,
    StepExpression,
    /// The number of a call of the line, or none to list them.
    Into(Option<usize>),
    Expansion,
    /// A line.
    Jump(u32),
    Next,
    Finish,
    Backtrace,
    Frame(usize),
    Up,
    Down,
    Locals,
    List,
    Tasks,
    Task(u32),
    Pause,
    Restart,
    Back(Way),
    Print(String),
    Help,
    Quit,
}

/// A breakpoint as somebody asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub place: String,
    /// As [`canny_lib::debug::conditions::HitCount`] reads them.
    pub hits: Option<String>,
    pub condition: Option<String>,
    pub message: Option<String>,
}

/// The names of commands, their arguments, and what they do.
pub const ROWS: &[(&[&str], &str, &str)] = &[
    (
        &["break", "b"],
        "PLACE [hits COUNT] [if EXPRESSION]",
        "stop at FILE:LINE, a LINE, or the beginning of a PROCEDURE",
    ),
    (
        &["tbreak", "tb"],
        "PLACE [hits COUNT] [if EXPRESSION]",
        "the same, once",
    ),
    (
        &["log"],
        "PLACE MESSAGE",
        "write a message there; expressions stand in braces",
    ),
    (&["until", "u"], "PLACE", "run to a place, once"),
    (
        &["catch"],
        "[uncaught] [KIND…]",
        "stop where an object is raised; task-start and task-end: where tasks begin and end",
    ),
    (
        &["watch"],
        "NAME [PART…] [hits COUNT] [if EXPRESSION]",
        "stop where a variable or a part of its value changes",
    ),
    (&["breakpoints"], "", "list the breakpoints"),
    (&["delete"], "NUMBER", "remove a breakpoint"),
    (&["continue", "c"], "", "run to the next breakpoint"),
    (
        &["step", "s"],
        "",
        "run to another line, in whatever procedure",
    ),
    (
        &["stepi", "si"],
        "",
        "run to another expression, in whatever procedure",
    ),
    (
        &["next", "n"],
        "",
        "run to another line of this procedure, or to its end",
    ),
    (&["finish", "f"], "", "run to the end of this procedure"),
    (
        &["into"],
        "[NUMBER]",
        "step into a call or an expansion of this line; without a number, list them",
    ),
    (
        &["expansion", "x"],
        "",
        "step into the expansion of the macro use here; 'finish' leaves it",
    ),
    (
        &["jump"],
        "NUMBER",
        "continue at a line of this procedure, and stop there",
    ),
    (
        &["backtrace", "bt"],
        "",
        "show the procedures that are running",
    ),
    (&["frame"], "NUMBER", "look at one of them"),
    (&["up"], "", "look at the one that has called it"),
    (&["down"], "", "look at the one that it has called"),
    (&["locals", "l"], "", "show its variables"),
    (&["list"], "", "show the text around it"),
    (&["tasks"], "", "list the tasks, and what each waits for"),
    (
        &["task"],
        "NUMBER",
        "go to another task: stop it, or show where it waits",
    ),
    (
        &["pause"],
        "",
        "in an attached process: stop what runs, as Ctrl-C does",
    ),
    (
        &["reverse-step", "rs"],
        "",
        "in a replay: back to the line before",
    ),
    (
        &["reverse-next", "rn"],
        "",
        "in a replay: back to the line before in this procedure, or its call",
    ),
    (
        &["reverse-finish", "rf"],
        "",
        "in a replay: back to where this procedure was called",
    ),
    (
        &["reverse-continue", "rc"],
        "",
        "in a replay: back to the breakpoint before",
    ),
    (&["restart"], "", "begin the newest procedure again"),
    (
        &["print", "p"],
        "EXPRESSION",
        "evaluate an expression there; set! assigns variables",
    ),
    (&["help", "h"], "", "show this"),
    (
        &["quit", "q"],
        "",
        "end the program; leave an attached process, which goes on",
    ),
];

/// Reads a line; the error says what is wrong with it.
pub fn read(line: &str) -> Result<Command, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let row = ROWS.iter().find(|(names, ..)| names.contains(&word));
    let Some((names, arguments, _)) = row else {
        return Err(format!("there is no command '{word}'; try 'help'"));
    };
    let is_optional = arguments.starts_with('[');
    if !is_optional && arguments.is_empty() != rest.is_empty() {
        return Err(match arguments {
            &"" => format!("'{word}' takes nothing"),
            _ => format!("'{word}' takes {arguments}"),
        });
    }
    let number = || {
        let wrong = |_| format!("'{word}' takes a number, not '{rest}'");
        rest.parse::<u32>().map_err(wrong)
    };
    Ok(match names[0] {
        "break" => Command::Break(wish(rest)),
        "tbreak" => Command::Once(wish(rest)),
        "log" => match rest.split_once(char::is_whitespace) {
            Some((place, message)) => Command::Log(Wish {
                place: place.to_owned(),
                message: Some(message.trim().to_owned()),
                ..Wish::default()
            }),
            None => return Err(format!("'{word}' takes {arguments}")),
        },
        "until" => Command::Until(rest.to_owned()),
        "catch" => match rest.strip_prefix("uncaught") {
            Some(kinds) => Command::Catch(true, kinds.trim().to_owned()),
            None => Command::Catch(false, rest.to_owned()),
        },
        "watch" => Command::Watch(wish(rest)),
        "breakpoints" => Command::Breakpoints,
        "delete" => Command::Delete(number()?),
        "continue" => Command::Continue,
        "step" => Command::Step,
        "stepi" => Command::StepExpression,
        "into" if rest.is_empty() => Command::Into(None),
        "into" => Command::Into(Some(number()? as usize)),
        "expansion" => Command::Expansion,
        "jump" => Command::Jump(number()?),
        "next" => Command::Next,
        "finish" => Command::Finish,
        "backtrace" => Command::Backtrace,
        "frame" => Command::Frame(number()? as usize),
        "up" => Command::Up,
        "down" => Command::Down,
        "locals" => Command::Locals,
        "list" => Command::List,
        "tasks" => Command::Tasks,
        "task" => Command::Task(number()?),
        "pause" => Command::Pause,
        "restart" => Command::Restart,
        "reverse-step" => Command::Back(Way::Step),
        "reverse-next" => Command::Back(Way::Next),
        "reverse-finish" => Command::Back(Way::Finish),
        "reverse-continue" => Command::Back(Way::Continue),
        "print" => Command::Print(rest.to_owned()),
        "quit" => Command::Quit,
        _ => Command::Help,
    })
}

/// The line of a command that sets a breakpoint, for another prompt.
pub fn written(command: &Command) -> String {
    let of_wish = |word: &str, wish: &Wish| {
        let mut text = format!("{word} {}", wish.place);
        if let Some(hits) = &wish.hits {
            text.push_str(&format!(" hits {hits}"));
        }
        if let Some(condition) = &wish.condition {
            text.push_str(&format!(" if {condition}"));
        }
        if let Some(message) = &wish.message {
            text.push_str(&format!(" {message}"));
        }
        text
    };
    match command {
        Command::Break(wish) => of_wish("break", wish),
        Command::Once(wish) => of_wish("tbreak", wish),
        Command::Log(wish) => of_wish("log", wish),
        Command::Watch(wish) => of_wish("watch", wish),
        Command::Catch(true, kinds) => format!("catch uncaught {kinds}"),
        Command::Catch(false, kinds) => format!("catch {kinds}"),
        _ => String::new(),
    }
}

/// A place, and perhaps `hits` and a count, and perhaps `if` and an expression.
fn wish(text: &str) -> Wish {
    let (text, condition) = match text.split_once(" if ") {
        Some((text, condition)) => (text, Some(condition.trim().to_owned())),
        None => (text, None),
    };
    let (place, hits) = match text.split_once(" hits ") {
        Some((place, hits)) => (place, Some(hits.trim().to_owned())),
        None => (text, None),
    };
    Wish {
        place: place.trim().to_owned(),
        hits,
        condition,
        message: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let at = |place: &str| Wish {
            place: place.to_owned(),
            ..Wish::default()
        };
        assert_eq!(read("b a.scm:3"), Ok(Command::Break(at("a.scm:3"))));
        let wish = Wish {
            hits: Some("% 2".to_owned()),
            condition: Some("(if x y z)".to_owned()),
            ..at("7")
        };
        assert_eq!(
            read("break 7 hits % 2 if (if x y z)"),
            Ok(Command::Break(wish))
        );
        let wish = Wish {
            message: Some("x is {x}".to_owned()),
            ..at("look")
        };
        assert_eq!(read("log look x is {x}"), Ok(Command::Log(wish)));
        assert!(read("log look").unwrap_err().contains("MESSAGE"));
        assert_eq!(read("catch"), Ok(Command::Catch(false, String::new())));
        let kinds = Command::Catch(true, "file read".to_owned());
        assert_eq!(read("catch uncaught file read"), Ok(kinds));
        assert_eq!(
            read(" print (+ x 1) "),
            Ok(Command::Print("(+ x 1)".to_owned()))
        );
        assert_eq!(read("n"), Ok(Command::Next));
        assert!(read("next 3").unwrap_err().contains("takes nothing"));
        assert!(read("frame x").unwrap_err().contains("takes a number"));
        assert!(read("print").unwrap_err().contains("EXPRESSION"));
        assert!(read("what").unwrap_err().contains("help"));
    }

    #[test]
    fn every_row_is_a_command() {
        for (names, arguments, _) in ROWS {
            for name in *names {
                let argument = if arguments.contains("NUMBER") {
                    "1"
                } else {
                    "x"
                };
                let line = match *arguments {
                    "" => (*name).to_owned(),
                    "PLACE MESSAGE" => format!("{name} {argument} {argument}"),
                    _ => format!("{name} {argument}"),
                };
                let command = read(&line);
                let is_help = command == Ok(Command::Help);
                assert!(command.is_ok() && is_help == (names[0] == "help"), "{line}");
            }
        }
    }
}
