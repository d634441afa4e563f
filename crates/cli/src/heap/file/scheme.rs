//! The page and the prompt of a file, which are programs in Scheme.
//!
//! The text of each is made here, with the file and the snapshot in it.

use std::path::Path;

use super::wish::{FileWish, Wanted};
use crate::environment::Environment;
use crate::exit_code;
use crate::options::{Action, Options};
use crate::session::Session;

/// Serves the page or runs the prompt; gives the exit code.
pub fn run(wish: FileWish, environment: &'static Environment) -> u8 {
    let mut options = Options::new(environment);
    options.uses_project = false;
    match wish.wanted {
        Wanted::Serve { port, opens } => {
            crate::on_large_stack(move || serve(&wish, port, opens, options))
        }
        _ => {
            options.action = Action::Repl;
            options.first_forms = prompt_forms(&wish);
            crate::perform(options)
        }
    }
}

/// A string as Scheme reads it.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for character in path.to_string_lossy().chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            character if character.is_control() => {
                text += &format!("\\x{:x};", u32::from(character));
            }
            character => text.push(character),
        }
    }
    text + "\""
}

/// The number of the snapshot, or `#f` for the one that the file would choose.
fn number(wish: &FileWish) -> String {
    match wish.snapshot {
        0 => "#f".to_owned(),
        number => number.to_string(),
    }
}

fn prompt_forms(wish: &FileWish) -> String {
    let (file, number) = (quoted(&wish.file), number(wish));
    format!(
        "(import (canny heap analysis) (canny heap prompt))\n\
         (define heap (open-heap {file} #:snapshot {number}))\n\
         (use-heap! heap)"
    )
}

fn serve(wish: &FileWish, port: u16, opens: bool, options: Options) -> u8 {
    let mut session = match Session::new(&options, None) {
        Ok(session) => session,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    let (file, number) = (quoted(&wish.file), number(wish));
    let opens = if opens { "#t" } else { "#f" };
    let text = format!("(import (canny heap server)) (serve-heap {file} {number} {port} {opens})");
    let prepared = session.evaluation();
    let prepared = prepared.prepare_program("canny heap", text.as_bytes());
    let result = session.run(prepared).map(|_| 0);
    session.end(&options, result)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn paths_are_quoted() {
        assert_eq!(super::quoted(Path::new("a\"\\\n")), "\"a\\\"\\\\\\xa;\"");
    }
}
