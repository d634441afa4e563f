//! The engines: how each is made to run a program, at its best.
//!
//! Compilers run before the clock starts; canny and Lua compile within it. An engine that is not
//! installed is left out. The dialect files beside this one hold what an engine's own language lacks
//! of R7RS.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use super::guests::{self, Host};
use super::programs::{Group, Program, defined_names, without_imports};
use crate::process::{Outcome, Run};
use crate::workspace;

const CHEZ_IMPORT: &str = include_str!("dialect/chez.scm");
const CHEZ_SHIM: &str = include_str!("dialect/chez-shim.scm");
const GUILE_PRELUDE: &str = include_str!("dialect/guile.scm");
const GAMBIT_PRELUDE: &str = include_str!("dialect/gambit.scm");
const RACKET_PRELUDE: &str = include_str!("dialect/racket.scm");

pub const CANNY: &str = "canny";
const COMPILE_LIMIT: Duration = Duration::from_secs(300);

pub struct Engine {
    pub name: &'static str,
    kind: Kind,
}

enum Kind {
    Canny(PathBuf),
    /// An engine for WebAssembly.
    Host(Host),
    Guile {
        jit: bool,
    },
    Chez,
    Gambit,
    Racket,
    /// An interpreter of the program's version whose file has this extension.
    Script {
        program: &'static str,
        extension: &'static str,
        options: &'static [&'static str],
    },
}

impl Kind {
    fn script(
        program: &'static str,
        extension: &'static str,
        options: &'static [&'static str],
    ) -> Kind {
        Kind::Script {
            program,
            extension,
            options,
        }
    }
}

/// How to start a prepared program, any number of times.
pub struct Prepared {
    program: PathBuf,
    words: Vec<String>,
    environment: Vec<(String, String)>,
    /// The directory of the caches that its runs leave.
    cache: Option<PathBuf>,
    /// Runs find what earlier ones left.
    keeps_cache: bool,
}

impl Prepared {
    pub fn new(program: impl Into<PathBuf>, words: &[&str]) -> Prepared {
        Prepared {
            program: program.into(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: Vec::new(),
            cache: None,
            keeps_cache: false,
        }
    }

    /// Lets runs find what earlier ones left in the cache; otherwise each is a first run.
    pub fn keep_cache(&mut self) {
        self.keeps_cache = true;
    }

    /// Sets an environment variable for its runs.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Puts a word before the others.
    pub fn add_option(&mut self, option: &str) {
        self.words.insert(0, option.to_owned());
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(cache) = &self.cache {
            if !self.keeps_cache {
                let _ = std::fs::remove_dir_all(cache);
            }
            command.env("CANNY_CACHE_DIR", cache);
        }
        command
            .args(&self.words)
            .envs(self.environment.iter().cloned());
        command
    }
}

/// Canny first, then `baseline` if given, then the installed peers (those of `wanted`, if given).
pub fn all(canny: &Path, baseline: Option<&Path>, wanted: Option<&[String]>) -> Vec<Engine> {
    let peers = [
        ("guile-nojit", "guile", Kind::Guile { jit: false }),
        ("guile", "guile", Kind::Guile { jit: true }),
        ("chez", "chezscheme", Kind::Chez),
        ("gambit", "gsc", Kind::Gambit),
        ("racket", "racket", Kind::Racket),
        (
            "luajit-nojit",
            "luajit",
            Kind::script("luajit", "lua", &["-joff"]),
        ),
        ("luajit", "luajit", Kind::script("luajit", "lua", &[])),
        ("lua", "lua5.4", Kind::script("lua5.4", "lua", &[])),
    ];
    beside(canny, baseline, wanted, peers)
}

/// The name of the system's tools among the engines.
pub const TOOLS: &str = "tools";

/// The same with the peers of input and output.
pub fn input_output(
    canny: &Path,
    baseline: Option<&Path>,
    wanted: Option<&[String]>,
) -> Vec<Engine> {
    let peers = [
        ("node", "node", Kind::script("node", "js", &[])),
        ("python", "python3", Kind::script("python3", "py", &[])),
        ("perl", "perl", Kind::script("perl", "pl", &[])),
        ("luajit", "luajit", Kind::script("luajit", "lua", &[])),
        (TOOLS, "sh", Kind::script("sh", "sh", &[])),
    ];
    beside(canny, baseline, wanted, peers)
}

fn beside<const COUNT: usize>(
    canny: &Path,
    baseline: Option<&Path>,
    wanted: Option<&[String]>,
    peers: [(&'static str, &str, Kind); COUNT],
) -> Vec<Engine> {
    let mut engines = vec![Engine::canny(canny)];
    if let Some(path) = baseline {
        engines.push(Engine {
            name: "baseline",
            kind: Kind::Canny(path.to_path_buf()),
        });
    }
    for (name, program, kind) in peers {
        let chosen = wanted.is_none_or(|names| names.iter().any(|wanted| wanted == name));
        if chosen && workspace::installed(program) {
            engines.push(Engine { name, kind });
        }
    }
    engines
}

impl Engine {
    /// The canny of a binary.
    pub fn canny(binary: &Path) -> Engine {
        Engine {
            name: CANNY,
            kind: Kind::Canny(binary.to_path_buf()),
        }
    }

    /// An engine for WebAssembly guests.
    pub fn host(name: &'static str, host: Host) -> Engine {
        Engine {
            name,
            kind: Kind::Host(host),
        }
    }

    /// Whether it is a canny.
    pub fn is_canny(&self) -> bool {
        matches!(self.kind, Kind::Canny(_))
    }

    /// Writes and compiles the program into `directory`; `None` if the engine has no version of it.
    pub fn prepare(&self, program: &Program, directory: &Path) -> Result<Option<Prepared>, String> {
        let stem = directory.join(format!("{}.{}", program.name, self.name));
        match &self.kind {
            Kind::Canny(binary) if program.guest.is_some() => {
                guests::prepare(&Host::Canny(binary.clone()), program, &stem)
            }
            Kind::Canny(binary) => prepare_canny(binary, program, &stem).map(Some),
            Kind::Host(host) => guests::prepare(host, program, &stem),
            Kind::Guile { jit } => prepare_guile(*jit, program, &stem).map(Some),
            Kind::Chez => prepare_chez(program, &stem).map(Some),
            Kind::Gambit => prepare_gambit(program, &stem).map(Some),
            Kind::Racket => prepare_racket(program, &stem).map(Some),
            Kind::Script {
                program: interpreter,
                extension,
                options,
            } => match program.version(extension) {
                None => Ok(None),
                Some(source) => {
                    let path = with_suffix(&stem, extension);
                    workspace::write(&path, source)?;
                    let mut words = options.to_vec();
                    let path = path.to_string_lossy();
                    words.push(&path);
                    Ok(Some(Prepared::new(*interpreter, &words)))
                }
            },
        }
    }
}

fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

fn closing(program: &Program, engine: &str) -> String {
    program.closing.replace("@ENGINE@", engine)
}

/// Runs a compiler to its end.
pub fn compile(command: Command, stem: &Path) -> Result<Outcome, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let run = Run {
        command,
        input: None,
        capture: with_suffix(stem, "compile"),
        time_limit: COMPILE_LIMIT,
    };
    let outcome = run.run()?;
    if outcome.succeeded() {
        Ok(outcome)
    } else {
        Err(format!(
            "{program} does not compile it ({}): {}",
            outcome.ending(),
            outcome.complaint()
        ))
    }
}

fn prepare_canny(binary: &Path, program: &Program, stem: &Path) -> Result<Prepared, String> {
    let path = with_suffix(stem, "scm");
    let text = format!("{}\n{}", program.scheme, closing(program, CANNY));
    workspace::write(&path, text)?;
    let mut prepared = Prepared::new(binary, &[&path.to_string_lossy()]);
    prepared.cache = Some(with_suffix(stem, "cache"));
    Ok(prepared)
}

fn prepare_guile(jit: bool, program: &Program, stem: &Path) -> Result<Prepared, String> {
    let source = with_suffix(stem, "scm");
    let compiled = with_suffix(stem, "go");
    let text = format!(
        "{GUILE_PRELUDE}{}\n{}",
        without_imports(&program.scheme),
        closing(program, "guile")
    );
    workspace::write(&source, text)?;
    let mut command = Command::new("guile");
    command
        .env("GUILE_AUTO_COMPILE", "0")
        .arg("-c")
        .arg(format!(
            "(use-modules (system base compile)) \
         (compile-file {source:?} #:output-file {compiled:?} #:optimization-level 3)"
        ));
    compile(command, stem)?;
    let mut prepared = Prepared::new("guile", &["-c", &format!("(load-compiled {compiled:?})")]);
    prepared.set("GUILE_AUTO_COMPILE", "0");
    prepared.set("GC_INITIAL_HEAP_SIZE", "100000000");
    if !jit {
        prepared.set("GUILE_JIT_THRESHOLD", "-1");
    }
    Ok(prepared)
}

/// The names that `(chezscheme)` exports; a program that defines one of them must not import it.
fn chez_exports(stem: &Path) -> Result<&'static [String], String> {
    static EXPORTS: OnceLock<Result<Vec<String>, String>> = OnceLock::new();
    let exports = EXPORTS.get_or_init(|| {
        let script = with_suffix(stem, "exports.ss");
        workspace::write(
            &script,
            "(for-each (lambda (name) (display name) (newline)) (library-exports '(chezscheme)))",
        )?;
        let mut command = Command::new("chezscheme");
        command.arg("--script").arg(&script);
        let outcome = compile(command, stem)?;
        Ok(outcome.output_text().lines().map(str::to_owned).collect())
    });
    exports.as_deref().map_err(Clone::clone)
}

fn prepare_chez(program: &Program, stem: &Path) -> Result<Prepared, String> {
    let source = with_suffix(stem, "ss");
    let compiled = with_suffix(stem, "so");
    let script = with_suffix(stem, "compile.ss");
    let body = format!(
        "{}\n{}",
        without_imports(&program.scheme),
        closing(program, "chez")
    );
    let exports = chez_exports(stem)?;
    let own = defined_names(&body);
    let except: Vec<&str> = own
        .iter()
        .copied()
        .chain(
            defined_names(CHEZ_SHIM)
                .into_iter()
                .filter(|name| !own.contains(name)),
        )
        .filter(|name| *name != "define-record-type" && exports.iter().any(|export| export == name))
        .collect();
    let shim: String = top_level_forms(CHEZ_SHIM)
        .into_iter()
        .filter(|form| defined_names(form).iter().all(|name| !own.contains(name)))
        .collect();
    let import = CHEZ_IMPORT.replace("@EXCEPT@", &except.join(" "));
    workspace::write(&source, format!("{import}{shim}{body}"))?;
    workspace::write(
        &script,
        format!("(optimize-level 2) (compile-program {source:?} {compiled:?})"),
    )?;
    let mut command = Command::new("chezscheme");
    command.arg("--script").arg(&script);
    compile(command, stem)?;
    Ok(Prepared::new(
        "chezscheme",
        &["--program", &compiled.to_string_lossy()],
    ))
}

/// Splits a text before each line that starts with a parenthesis.
pub fn top_level_forms(text: &str) -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    for line in text.lines() {
        match forms.last_mut() {
            Some(form) if !line.starts_with('(') => {
                form.push_str(line);
                form.push('\n');
            }
            _ => forms.push(format!("{line}\n")),
        }
    }
    forms
}

fn prepare_gambit(program: &Program, stem: &Path) -> Result<Prepared, String> {
    let source = with_suffix(stem, "scm");
    let executable = with_suffix(stem, "exe");
    let text = format!(
        "{GAMBIT_PRELUDE}{}\n{}",
        without_imports(&program.scheme),
        closing(program, "gambit")
    );
    workspace::write(&source, text)?;
    let mut command = Command::new("gsc");
    command.arg("-o").arg(&executable).arg("-exe").arg(&source);
    compile(command, stem)?;
    Ok(Prepared::new(executable, &[]))
}

/// Whether Racket runs a program in its own language, which is its best; that language lacks pairs
/// that change.
fn runs_in_racket_base(program: &Program) -> bool {
    let changes_pairs = ["(set-car! ", "(set-cdr! "]
        .iter()
        .any(|change| program.scheme.contains(change));
    program.group == Group::Own && !changes_pairs
}

fn prepare_racket(program: &Program, stem: &Path) -> Result<Prepared, String> {
    let source = with_suffix(stem, "rkt");
    let closing = closing(program, "racket");
    let text = if runs_in_racket_base(program) {
        let own = defined_names(&program.scheme);
        let prelude: String = top_level_forms(RACKET_PRELUDE)
            .into_iter()
            .filter(|form| defined_names(form).iter().all(|name| !own.contains(name)))
            .collect();
        let body = without_imports(&program.scheme);
        format!("#lang racket/base\n{prelude}{body}\n{closing}")
    } else {
        format!("#lang r7rs\n{}\n{closing}", program.scheme)
    };
    workspace::write(&source, text)?;
    let mut command = Command::new("raco");
    command.arg("make").arg(&source);
    compile(command, stem)?;
    Ok(Prepared::new("racket", &[&source.to_string_lossy()]))
}
