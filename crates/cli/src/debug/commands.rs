//! The commands of the debugger's prompt: their names, their arguments, and the meaning of a line. This
//! module knows nothing of stops and frames.

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Break(String),
    Catch,
    Delete(u32),
    Continue,
    Step,
    StepExpression,
    Next,
    Finish,
    Backtrace,
    Frame(usize),
    Up,
    Down,
    Locals,
    Print(String),
    Help,
    Quit,
}

/// The names of commands, their arguments, and what they do.
pub const ROWS: &[(&[&str], &str, &str)] = &[
    (
        &["break", "b"],
        "FILE:LINE|LINE|PROCEDURE",
        "stop at a line, or at the beginning of a procedure",
    ),
    (&["catch"], "", "stop where an object is raised"),
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
        &["backtrace", "bt"],
        "",
        "show the procedures that are running",
    ),
    (&["frame"], "NUMBER", "look at one of them"),
    (&["up"], "", "look at the one that has called it"),
    (&["down"], "", "look at the one that it has called"),
    (&["locals", "l"], "", "show its variables"),
    (
        &["print", "p"],
        "EXPRESSION",
        "evaluate an expression there; set! assigns variables",
    ),
    (&["help", "h"], "", "show this"),
    (&["quit", "q"], "", "end the program"),
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
    if arguments.is_empty() != rest.is_empty() {
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
        "break" => Command::Break(rest.to_owned()),
        "catch" => Command::Catch,
        "delete" => Command::Delete(number()?),
        "continue" => Command::Continue,
        "step" => Command::Step,
        "stepi" => Command::StepExpression,
        "next" => Command::Next,
        "finish" => Command::Finish,
        "backtrace" => Command::Backtrace,
        "frame" => Command::Frame(number()? as usize),
        "up" => Command::Up,
        "down" => Command::Down,
        "locals" => Command::Locals,
        "print" => Command::Print(rest.to_owned()),
        "quit" => Command::Quit,
        _ => Command::Help,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        assert_eq!(read("b a.scm:3"), Ok(Command::Break("a.scm:3".to_owned())));
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
                    _ => format!("{name} {argument}"),
                };
                let command = read(&line);
                let is_help = command == Ok(Command::Help);
                assert!(command.is_ok() && is_help == (names[0] == "help"), "{line}");
            }
        }
    }
}
