//! `canny heap FILE`: what a file of heap snapshots says, as text or JSON.
//!
//! The page and the prompt are Scheme: `(canny heap server)` and `(canny heap prompt)` run in a
//! session. Everything else asks the file directly and needs no machine.

mod answer;
mod export;
mod scheme;
mod wish;

pub use self::wish::{FileWish, ROWS, Wanted};

use canny_snapshot::answers::Session;

use crate::environment::Environment;
use crate::exit_code;

/// Does what the command line asks of a file; gives the exit code.
pub fn look(wish: FileWish, environment: &'static Environment) -> u8 {
    let session = match Session::open(&wish.file) {
        Ok(session) => session,
        Err(error) => {
            let file = wish.file.display();
            crate::report::unreadable(&format!("cannot read {file}: {error}"));
            return exit_code::NO_INPUT;
        }
    };
    // Tables have the note themselves.
    if !matches!(wish.wanted, Wanted::Summary)
        && let Some(note) = session.series().note()
    {
        eprintln!("canny: {}: {note}", wish.file.display());
    }
    let answer = match &wish.wanted {
        Wanted::Prompt | Wanted::Serve { .. } => {
            if let Err(message) = session.index(wish.snapshot) {
                eprintln!("canny: {}: {message}", wish.file.display());
                return exit_code::DATA;
            }
            drop(session);
            return scheme::run(wish, environment);
        }
        Wanted::Export { format } => export::export(&session, &wish, *format),
        _ if wish.is_json => answer::json(&session, &wish),
        _ => answer::text(&session, &wish),
    };
    match answer {
        Ok(text) => {
            crate::print_all(&text);
            0
        }
        Err(message) => {
            eprintln!("canny: {}: {message}", wish.file.display());
            exit_code::DATA
        }
    }
}
