//! `canny serve`: a web server for development. `(canny web server serving)` defines its behaviour;
//! this module runs the user's program under it.
//!
//! A program is run as by `canny run`, with a hook in `run-server`; a library is run as a program that
//! gives its `handler`. A component is served by `(canny web components)`. With `--watch` this process
//! only keeps the socket and the files in sight, and starts itself anew for each version of the program.

use std::path::{Path, PathBuf};

use canny_component::Component;
use canny_value::Value;
use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use super::table::{LIBRARY_OPTIONS, Row, joined};
use crate::environment::Environment;
use crate::exit_code;
use crate::options::{Action, Options, Source};
use crate::session::{self, Failure, Session};

const OWN_OPTIONS: &[Row] = &[
    (
        "--port N",
        "listen at port N, 8080 unless given; 0 takes a free one",
    ),
    (
        "--host ADDRESS",
        "listen at an IP address, 127.0.0.1 unless given; 0.0.0.0 is all of this machine",
    ),
    (
        "--watch",
        "load the program again when a source has changed, and have browsers show it",
    ),
];

pub const TOOL: Tool = Tool {
    name: "serve",
    operands: "[OPTION…] FILE",
    summary: "Serves a handler or a directory while it is developed",
    options: &joined::<{ OWN_OPTIONS.len() + LIBRARY_OPTIONS.len() }>(OWN_OPTIONS, LIBRARY_OPTIONS),
    details: "FILE is a program that calls run-server of (canny web server), or ends with an expression \
        whose value is a\n\
              handler; a library that exports 'handler'; a component of WebAssembly that exports\n\
              wasi:http/incoming-handler; or a directory, whose files are served. Errors of handlers are \
              shown in the\n\
              browser, with their source: this is not for the world, which a program with run-server is \
              for.",
    run,
};

struct Wanted {
    options: Options,
    file: PathBuf,
    host: String,
    port: String,
    is_watching: bool,
}

fn parse(mut parser: Parser, environment: &'static Environment) -> Result<Wanted, String> {
    let mut options = Options::new(environment);
    let mut file = None;
    let mut host = "127.0.0.1".to_owned();
    let mut port = "8080".to_owned();
    let mut is_watching = false;
    let text_of = |error: lexopt::Error| error.to_string();
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short(option @ ('A' | 'I' | 'D')) => {
                options.take_library_option(option, &mut parser)?;
            }
            Arg::Long("replace") => options.take_replaced(&mut parser)?,
            Arg::Long("no-project") => options.uses_project = false,
            Arg::Long("watch") => is_watching = true,
            Arg::Long("port") => {
                let number = parser.value().and_then(|value| value.string());
                port = number.map_err(text_of)?;
                if port.parse::<u16>().is_err() {
                    return Err(format!("--port wants a number up to 65535, not '{port}'"));
                }
            }
            Arg::Long("host") => {
                let address = parser.value().and_then(|value| value.string());
                host = address.map_err(text_of)?;
                if host.parse::<std::net::IpAddr>().is_err() {
                    return Err(format!("--host wants an IP address, not '{host}'"));
                }
            }
            Arg::Value(value) if file.is_none() => file = Some(PathBuf::from(value)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(Wanted {
        options,
        file: file.ok_or("a file or a directory is wanted")?,
        host,
        port,
        is_watching,
    })
}

fn run(parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    // The words that start a process for a new version.
    let words: Vec<String> = std::env::args().collect();
    let mut wanted = parse(parser, environment)?;
    let is_worker = environment.is_serve_worker;
    let text = |path: &Path| path.display().to_string();
    let mut command_line = vec![text(&wanted.file), wanted.host.clone(), wanted.port.clone()];
    if wanted.is_watching && !is_worker {
        let own = crate::executable::own_file().map_err(|error| error.to_string())?;
        let directories = if wanted.file.is_dir() {
            vec![wanted.file.clone()]
        } else {
            session::directories(&wanted.options, Some(&wanted.file))
        };
        command_line.push(directories.len().to_string());
        command_line.extend(directories.iter().map(|directory| text(directory)));
        command_line.push(text(&own));
        command_line.extend(words.into_iter().skip(1));
    }
    wanted.options.command_line = command_line;
    let watches = wanted.is_watching && !is_worker;
    Ok(crate::on_large_stack(move || perform(wanted, watches)))
}

const WATCH: &str = "(import (canny web server serving)) (serve-watching)";
const DIRECTORY: &str = "(import (canny web server serving)) (serve-directory)";
const COMPONENT: &str = "(import (canny web server serving) (canny web components)
         (only (canny wasm) read-component))
 (serve-component (lambda (path) (component-handler (read-component path) #:http #t)))";
const BEGIN: &str = "(import (canny web server serving)) (begin-serving!)";
const END: &str = "(import (canny web server serving)) (serve-value)";

fn perform(wanted: Wanted, watches: bool) -> u8 {
    let Wanted {
        mut options, file, ..
    } = wanted;
    options.action = Action::Program(Source::File(file.clone()));
    // The process that only watches runs no code of the program.
    options.serves_for_development = !watches;
    let mut session = match Session::new(&options, Some(&file)) {
        Ok(session) => session,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    let result = serve(&mut session, &file, watches);
    session.end(&options, result)
}

fn serve(session: &mut Session, file: &Path, watches: bool) -> Result<u8, Failure> {
    let mut run = |name: &str, bytes: &[u8]| {
        let prepared = session.evaluation().prepare_program(name, bytes);
        session.run(prepared)
    };
    let glue = "canny serve";
    if watches {
        run(glue, WATCH.as_bytes())?;
        return Ok(0);
    }
    if file.is_dir() {
        run(glue, DIRECTORY.as_bytes())?;
        return Ok(0);
    }
    let mut bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            crate::report::unreadable(&format!("cannot read {}: {error}", file.display()));
            return Ok(exit_code::NO_INPUT);
        }
    };
    if is_component(file, &bytes) {
        run(glue, BEGIN.as_bytes())?;
        run(glue, COMPONENT.as_bytes())?;
        return Ok(0);
    }
    if let Some(name) = library_name(&bytes) {
        bytes.extend_from_slice(format!("\n(import (only {name} handler))\nhandler\n").as_bytes());
    }
    run(glue, BEGIN.as_bytes())?;
    let value: Value = run(&file.display().to_string(), &bytes)?;
    canny_lib::host::set_served_value(&session.vm, value);
    let prepared = session.evaluation().prepare_program(glue, END.as_bytes());
    session.run(prepared)?;
    Ok(0)
}

/// Whether a file is a component, in the binary or the text format.
fn is_component(file: &Path, bytes: &[u8]) -> bool {
    Component::is_component(bytes) || file.extension().is_some_and(|it| it == "wat")
}

/// The name of the library that is all of a file, as it is written there.
fn library_name(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.trim_start();
    while rest.starts_with(';') || rest.starts_with("#!") {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    let rest = rest.strip_prefix("(define-library")?.trim_start();
    let end = rest.find(')')?;
    rest.starts_with('(').then(|| rest[..=end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::library_name;

    #[test]
    fn libraries_are_told_from_programs() {
        let name = |text: &str| library_name(text.as_bytes());
        let text = ";;; A library.\n\n(define-library (my app)\n (export handler))";
        assert_eq!(name(text).as_deref(), Some("(my app)"));
        assert_eq!(name("(import (scheme base))"), None);
        assert_eq!(name(""), None);
        assert_eq!(name("(define-library"), None);
    }
}
