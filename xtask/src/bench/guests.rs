//! WebAssembly guests: the modules of `benches/wasm`, and the engines that run them.
//!
//! A guest exports `run`, which takes a number and returns a checksum; every engine calls it from its
//! command line and prints the result, in a form of its own. `benches/wasm/guests.txt` lists the guests
//! with their results. An engine that is not installed is left out, and so is a canny that does not run
//! guests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::engines::{Engine, Prepared, compile};
use super::measure::{Cell, Row, Table};
use super::programs::{Check, Group, IDLE_GUEST, Program, START_UP};
use crate::process::Run;
use crate::workspace;

const HOST_OF_NODE: &str = include_str!("dialect/guest.js");

/// Guests of some milliseconds, which are told whole and are no part of the mean.
const WHOLE: [&str; 3] = [IDLE_GUEST, START_UP, "loop-once"];

/// The engine that the means compare with, if it is there.
const MEASURE: &str = "cranelift-compiled";

/// The WebAssembly part of a program.
#[derive(Clone, Debug)]
pub struct Guest {
    module: PathBuf,
    /// The argument of `run`; a WASI command has none.
    argument: Option<String>,
}

/// An engine for guests.
#[derive(Clone)]
pub enum Host {
    Canny(PathBuf),
    Wasmi,
    Wasm3,
    /// Wasmtime with one of its compilers, which works within the run.
    Wasmtime(&'static str),
    /// Wasmtime with code that Cranelift made before.
    Compiled,
    Node(&'static [&'static str]),
}

/// Reads `guests.txt` in a directory.
pub fn programs(directory: &Path) -> Result<Vec<Program>, String> {
    let list = directory.join("guests.txt");
    let text = workspace::read(&list)?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            parse(line, directory)
                .ok_or_else(|| format!("{}: not NAME MODULE N RESULT: {line}", list.display()))
        })
        .collect()
}

fn parse(line: &str, directory: &Path) -> Option<Program> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, module, argument, result] = words.as_slice() else {
        return None;
    };
    let argument = (*argument != "-").then(|| (*argument).to_owned());
    Some(Program {
        name: (*name).to_owned(),
        group: Group::Guests,
        scheme: String::new(),
        closing: String::new(),
        versions: Vec::new(),
        guest: Some(Guest {
            module: directory.join(module),
            argument,
        }),
        input: None,
        directory: None,
        check: Check::LastWord((*result).to_owned()),
    })
}

/// The engines: canny, `baseline` if given, and the installed peers (those of `wanted`, if given). A
/// canny that does not run `idle` is left out with a note.
pub fn engines(
    canny: &Path,
    baseline: Option<&Path>,
    wanted: Option<&[String]>,
    idle: &Program,
    directory: &Path,
) -> Result<Vec<Engine>, String> {
    const OPTIMIZING: &[&str] = &["--no-liftoff", "--no-wasm-lazy-compilation"];
    let mut engines = Vec::new();
    for (name, binary) in [(super::engines::CANNY, Some(canny)), ("baseline", baseline)] {
        let Some(binary) = binary else { continue };
        let host = Host::Canny(binary.to_path_buf());
        match refusal(&host, idle, directory)? {
            None => engines.push(Engine::host(name, host)),
            Some(complaint) => {
                eprintln!("{name} does not run WebAssembly, so its column is left out: {complaint}")
            }
        }
    }
    let peers = [
        ("wasmi", "wasmi", Host::Wasmi),
        ("wasm3", "wasm3", Host::Wasm3),
        ("winch", "wasmtime", Host::Wasmtime("winch")),
        ("cranelift", "wasmtime", Host::Wasmtime("cranelift")),
        (MEASURE, "wasmtime", Host::Compiled),
        ("node", "node", Host::Node(&[])),
        ("node-turbofan", "node", Host::Node(OPTIMIZING)),
    ];
    for (name, program, host) in peers {
        let chosen = wanted.is_none_or(|names| names.iter().any(|wanted| wanted == name));
        if chosen && workspace::installed(program) {
            engines.push(Engine::host(name, host));
        }
    }
    if engines.is_empty() {
        return Err("there is no engine for WebAssembly".to_owned());
    }
    Ok(engines)
}

/// The complaint of a host that does not run a program.
fn refusal(host: &Host, program: &Program, directory: &Path) -> Result<Option<String>, String> {
    let prepared = prepare(host, program, &directory.join("probe"))?;
    let run = Run {
        command: prepared.map_or_else(|| Command::new("false"), |prepared| prepared.command()),
        input: None,
        capture: directory.join("probe"),
        time_limit: Duration::from_secs(60),
    };
    let outcome = run.run()?;
    if outcome.succeeded() && program.check.accepts(&outcome.output_text()) {
        return Ok(None);
    }
    Ok(Some(format!(
        "{}: {}",
        outcome.ending(),
        outcome.complaint()
    )))
}

/// The command by which a host runs a guest; `None` for a program that is none.
pub fn prepare(host: &Host, program: &Program, stem: &Path) -> Result<Option<Prepared>, String> {
    let Some(guest) = &program.guest else {
        return Ok(None);
    };
    let module = guest.module.to_string_lossy();
    // The usual shape: options, FILE, N.
    let call = |before: &[&str], invoke: &[&str], module: &str| {
        let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
        if guest.argument.is_some() {
            words.extend(invoke.iter().map(|word| (*word).to_owned()));
        }
        words.push(module.to_owned());
        words.extend(guest.argument.clone());
        words
    };
    let invoke = ["--invoke", "run"];
    let (binary, words) = match host {
        Host::Canny(binary) => {
            let words = call(&["wasm"], &invoke, &module);
            (binary.to_string_lossy().into_owned(), words)
        }
        Host::Wasmi => ("wasmi".to_owned(), call(&["run"], &invoke, &module)),
        // It prints results on standard error.
        Host::Wasm3 => {
            let script = r#"exec wasm3 "$@" 2>&1"#;
            let words = call(&["-c", script, "wasm3"], &["--func", "run"], &module);
            ("sh".to_owned(), words)
        }
        Host::Wasmtime(compiler) => {
            let compiler = format!("compiler={compiler}");
            // Its cache would make the second run one of compiled code.
            let options = ["run", "-C", "cache=n", "-C", &compiler];
            let words = call(&options, &invoke, &module);
            ("wasmtime".to_owned(), words)
        }
        Host::Compiled => {
            let code = stem.with_extension("cwasm");
            let mut command = Command::new("wasmtime");
            command
                .args(["compile", "-o"])
                .arg(&code)
                .arg(&guest.module);
            compile(command, stem)?;
            let code = code.to_string_lossy();
            let words = call(&["run", "--allow-precompiled"], &invoke, &code);
            ("wasmtime".to_owned(), words)
        }
        Host::Node(options) => {
            let script = stem.with_extension("js");
            workspace::write(&script, HOST_OF_NODE)?;
            let script = script.to_string_lossy();
            let words = call(&[*options, &[&script]].concat(), &[], &module);
            ("node".to_owned(), words)
        }
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(Some(Prepared::new(binary, &words)))
}

/// Milliseconds of every engine net of its start-up, and the geometric means of the times as multiples
/// of one engine's.
pub fn text(table: &Table) -> String {
    let measure = table
        .engines
        .iter()
        .position(|name| *name == MEASURE)
        .unwrap_or(0);
    let mut out = format!(
        "WebAssembly guests: CPU milliseconds (median) net of start-up; the mean is geometric, of the\n\
         times as multiples of {}'s\n\n{:<12}",
        table.engines[measure], "guest"
    );
    for engine in &table.engines {
        let _ = write!(out, "{engine:>20}");
    }
    out.push('\n');
    let mut logarithms = vec![Vec::new(); table.engines.len()];
    let is_net = |row: &&Row| !WHOLE.contains(&row.program.as_str());
    for row in table.rows.iter().filter(is_net) {
        let _ = write!(out, "{:<12}", row.program);
        for (engine, logarithms) in logarithms.iter_mut().enumerate() {
            let net = table.net(row, engine);
            let _ = match (net, &row.cells[engine]) {
                (Some(net), _) => write!(out, "{:>20.1}", net * 1e3),
                (None, Cell::Failed(_)) => write!(out, "{:>20}", "failed"),
                (None, _) => write!(out, "{:>20}", "–"),
            };
            if let (Some(net), Some(one)) = (net, table.net(row, measure)) {
                logarithms.push((net / one).ln());
            }
        }
        out.push('\n');
    }
    let _ = write!(out, "{:<12}", "mean");
    for logarithms in &logarithms {
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        let _ = if logarithms.is_empty() {
            write!(out, "{:>20}", "–")
        } else {
            write!(out, "{:>20.2}", mean.exp())
        };
    }
    out.push_str("\n\nwhole processes: CPU milliseconds / peak MB\n\n");
    for row in table.rows.iter().filter(|row| !is_net(row)) {
        let _ = write!(out, "{:<12}", row.program);
        for cell in &row.cells {
            let text = cell.samples().map_or("failed".to_owned(), |samples| {
                let peak = samples.peak_bytes as f64 / 1e6;
                format!("{:.1} / {peak:.1}", samples.cpu() * 1e3)
            });
            let _ = write!(out, "{text:>20}");
        }
        out.push('\n');
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_guest_and_its_result() {
        let directory = Path::new("/benches");
        let program = parse("fib  fib.wasm  35  9227465", directory).expect("four words");
        assert!(program.check.accepts("Result: 9227465\n"));
        assert!(!program.check.accepts("9227466\n"));
        let guest = program.guest.expect("it is a guest");
        assert_eq!(guest.module, Path::new("/benches/fib.wasm"));
        assert_eq!(guest.argument.as_deref(), Some("35"));
        let command = parse("hello  hello.wasm  -  hello", directory).expect("four words");
        assert!(command.guest.expect("it is a guest").argument.is_none());
        assert!(parse("fib  fib.wasm  35", directory).is_none());
    }

    #[test]
    fn the_guests_of_the_tree_are_there() {
        let all = programs(&workspace::root().join("benches/wasm")).expect("the list can be read");
        for name in WHOLE {
            assert!(all.iter().any(|program| program.name == name), "{name}");
        }
        for program in all {
            let guest = program.guest.expect("it is a guest");
            let bytes = std::fs::read(&guest.module).expect("the module can be read");
            assert_eq!(bytes[..4], *b"\0asm", "{}", guest.module.display());
        }
    }
}
