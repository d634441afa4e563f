//! Running the program of a command line: a file, standard input, or expressions whose values are printed.
//!
//! It gives the process's exit code and owns nothing: the machine is made by the session, and an error
//! was reported when this returns.

use std::path::Path;

use canny_lib::debug::rerun::Resumption;
use canny_lib::evaluation::Prepared;
use canny_lib::recorder::{Recorder, Ring};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::name::Name;
use canny_syntax::spelling::similar_name;
use canny_value::Value;
use canny_vm::Exit;

use crate::debug::Replayed;
use crate::exit_code;
use crate::options::{Options, Source};
use crate::replays::ReplayWish;
use crate::report;
use crate::session::{Failure, Session};
use crate::tools::{files, test};

/// Runs a program to its end; gives the exit code.
pub fn run(options: &Options, source: &Source) -> u8 {
    let file = match source {
        Source::File(path) => Some(path.as_path()),
        _ => None,
    };
    if let (Some(wish), Some(file)) = (&options.recording, file)
        && let Some(code) = crate::profile::show_kept(file, wish)
    {
        return code;
    }
    if let Err(message) = crate::replays::begin(&options.replay, &options.command_line) {
        eprintln!("canny: {message}");
        return exit_code::NO_INPUT;
    }
    let (name, bytes) = match read(source) {
        Ok(program) => program,
        Err(message) => {
            report::unreadable(&message);
            return exit_code::NO_INPUT;
        }
    };
    let project = match crate::project::find(options, file) {
        Ok(project) => project,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::DATA;
        }
    };
    let mut session = match Session::in_project(options, file, project.as_ref()) {
        Ok(session) => session,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    let records = match Records::begin(&mut session, options) {
        Ok(records) => records,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    if options.environment.automatic.is_wanted() {
        options.environment.automatic.begin(&mut session.thread);
    }
    let result = if matches!(source, Source::Expressions(_)) {
        crate::repl::evaluate_and_print(&mut session, &name, &bytes)
    } else {
        let evaluation = session.evaluation();
        let result = match file {
            Some(_) if options.debugs => match run_debugged(&mut session, options, &name, &bytes) {
                Ok(result) => result,
                Err(code) => return code,
            },
            Some(file) => {
                let prepared = evaluation.prepare_program_file(file, &name, &bytes);
                session.run_program(options, file, prepared)
            }
            None => {
                let prepared = evaluation.prepare_program(&name, &bytes);
                session.run(prepared)
            }
        };
        result.map(|_| ())
    };
    if let (Ok(()), Some(file)) = (&result, file) {
        look_for_leaks(&mut session, options, file);
    }
    records.end(&mut session);
    let code = session.end(options, result.map(|()| 0));
    crate::replays::end(&options.replay);
    match crate::coverage::show_counted(options.coverage.as_ref(), files::is_skipped) {
        Ok(least) if code == 0 => least,
        Ok(_) => code,
        Err(message) => {
            eprintln!("canny: {message}");
            exit_code::OS
        }
    }
}

/// Runs a program in the debugger; the error is an exit code, if that does not start.
fn run_debugged(
    session: &mut Session,
    options: &Options,
    name: &str,
    bytes: &[u8],
) -> Result<Result<Value, Failure>, u8> {
    let evaluation = session.evaluation();
    // The recorded program had no debugger.
    let debugger = canny_replay::aside(|| evaluation.prepare_debugger());
    let prepared = evaluation.prepare_program(name, bytes);
    canny_replay::aside(|| session.run(debugger)).map_err(|failure| failure.exit_code())?;
    Ok(match (&options.debug_socket, &options.replay) {
        (Some(socket), ReplayWish::Replay(recording)) => {
            let replayed = Replayed {
                recording: recording.clone(),
                socket: Some(socket.clone()),
            };
            let resumption = options.resumption.as_deref();
            let resumption = resumption.and_then(Resumption::read);
            run_for_adapter(session, socket, prepared, Some((replayed, resumption)))
        }
        (Some(socket), _) => run_for_adapter(session, socket, prepared, None),
        (None, ReplayWish::Replay(recording)) => {
            let mut console = None;
            let resumption = options.resumption.as_deref();
            let result = session.run_after(prepared, |thread| {
                console = crate::debug::begin_replay(thread, name, recording, resumption);
                if console.is_some() {
                    return Ok(());
                }
                eprintln!("canny: --resume wants a place that the prompt has named");
                Err(Failure::Exit(Exit::Code(exit_code::USAGE.into())))
            });
            if let Some(console) = console {
                console.end(&mut session.thread);
            }
            result
        }
        (None, _) => {
            if !options.environment.automatic.is_wanted() {
                crate::debug::begin(&mut session.thread, name);
            }
            session.run(prepared)
        }
    })
}

/// Runs a program that an editor debugs, when its breakpoints are set.
fn run_for_adapter(
    session: &mut Session,
    socket: &Path,
    prepared: Result<Prepared, Vec<Diagnostic>>,
    replay: Option<(Replayed, Option<Resumption>)>,
) -> Result<Value, Failure> {
    // A program that cannot be loaded does not connect, by which the adapter knows.
    session.run_after(prepared, |thread| {
        let vm = thread.vm().clone();
        let server = match crate::debug::connect(&vm, socket, replay) {
            Ok(server) => server,
            Err(message) => {
                eprintln!("canny: cannot reach the debug adapter: {message}");
                return Err(Failure::Exit(Exit::Uncaught));
            }
        };
        if crate::debug::wait_for_client(thread, &server) {
            Ok(())
        } else {
            Err(Failure::Exit(Exit::Code(0)))
        }
    })
}

/// Profiles and snapshots that are made while a program runs.
struct Records {
    recording: Option<crate::profile::Recording>,
    ring: Option<Ring>,
    /// Samples for heap snapshots.
    places: Option<Recorder>,
    heap: Option<crate::heap::HeapRun>,
}

impl Records {
    fn begin(session: &mut Session, options: &Options) -> Result<Records, String> {
        Ok(Records {
            recording: crate::profile::begin(session, options)?,
            ring: crate::profile::begin_ring(session, options)?,
            places: crate::heap::begin_places(session, options)?,
            heap: crate::heap::begin(session, options)?,
        })
    }

    fn end(self, session: &mut Session) {
        if let Some(heap) = self.heap {
            heap.end(session);
        }
        if let Some(places) = self.places {
            // Its output is nothing, which does not fail.
            let _ = places.finish(&mut session.thread);
        }
        if let Some(ring) = self.ring {
            ring.finish();
        }
        if let Some(recording) = self.recording {
            recording.end(session);
        }
    }
}

/// Loads a suite again and again if `canny test` wants to know what it leaves behind.
fn look_for_leaks(session: &mut Session, options: &Options, file: &Path) {
    let environment = options.environment;
    if let (Some(report), Some(runs)) = (&environment.test_report, environment.test_leaks) {
        test::look_for_leaks(session, report, file, runs);
    }
}

/// Name and text of a program.
fn read(source: &Source) -> Result<(String, Vec<u8>), String> {
    match source {
        Source::File(path) => {
            let bytes = canny_replay::source(path, || std::fs::read(path));
            let bytes = bytes.map_err(|error| unreadable(path, &error))?;
            Ok((path.display().to_string(), bytes))
        }
        Source::StandardInput => {
            use std::io::Read;
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| format!("cannot read standard input: {error}"))?;
            Ok(("standard input".to_owned(), bytes))
        }
        Source::Expressions(texts) => {
            Ok(("command line".to_owned(), texts.join("\n").into_bytes()))
        }
    }
}

/// The message for a program that cannot be read. A path that resembles a command's name gets that
/// command as a suggestion.
fn unreadable(path: &Path, error: &std::io::Error) -> String {
    let message = format!("cannot read {}: {error}", path.display());
    let word = path.to_str().unwrap_or_default();
    let commands = crate::tools::TOOLS.iter().map(|tool| Name::new(tool.name));
    match similar_name(Name::new(word), commands) {
        Some(command) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("{message}; did you mean the command '{command}'?")
        }
        _ => message,
    }
}
