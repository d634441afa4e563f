//! `canny lsp`: runs the language server on standard input and output.
//!
//! The server is `canny_lsp`; this module parses the options and tells it how to find the project
//! around a directory. Nothing but messages of the protocol goes to standard output.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use crate::environment::Environment;
use crate::exit_code;

pub const TOOL: Tool = Tool {
    name: "lsp",
    operands: "",
    summary: "Serves editors: errors as you type, completion, definitions, renaming and more",
    options: &[
        (
            "-I DIR",
            "search DIR for libraries before the directories of the document",
        ),
        ("-A DIR", "search DIR for libraries after them"),
        ("-D FEATURE", "let cond-expand know FEATURE"),
        (
            "--stdio",
            "talk on standard input and output, as it always does",
        ),
    ],
    details: "It speaks the Language Server Protocol 3.17. Editors start it; docs/howto says how.\n\
              Exit code 1: the client went away without `shutdown`.",
    run,
};

fn run(mut parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut options = canny_lsp::Options {
        project_around: Some(Arc::new(move |directory: &Path| {
            crate::project::around(directory, environment)
        })),
        optimizer: environment.optimizer.clone(),
        ..canny_lsp::Options::default()
    };
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short('I') => options
                .first_directories
                .push(parser.value().map_err(text_of)?.into()),
            Arg::Short('A') => options
                .last_directories
                .push(parser.value().map_err(text_of)?.into()),
            Arg::Short('D') => {
                let feature = parser
                    .value()
                    .and_then(|value| value.string())
                    .map_err(text_of)?;
                options.features.push(feature);
            }
            Arg::Long("stdio") => {}
            other => return Err(other.unexpected().to_string()),
        }
    }
    let directories = environment.library_path.iter().cloned();
    options.last_directories.splice(0..0, directories);
    options.cache = environment
        .cache_directory()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("canny-{}", std::process::id())));
    // Paths of documents are absolute.
    let absolute = |path: &mut PathBuf| {
        if let Ok(found) = std::path::absolute(&*path) {
            *path = found;
        }
    };
    options
        .first_directories
        .iter_mut()
        .chain(&mut options.last_directories)
        .for_each(absolute);
    match canny_lsp::serve(std::io::stdin(), std::io::stdout(), options) {
        Ok(true) => Ok(0),
        Ok(false) => Ok(1),
        Err(error) => {
            eprintln!("canny lsp: cannot start: {error}");
            Ok(exit_code::OS)
        }
    }
}
