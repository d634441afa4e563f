//! The rows of the environment variables: name, kind of value, audience and meaning.
//!
//! Every `CANNY_…` variable has one row here, and parsing, `--help`, the manual page and
//! `docs/cli.md` derive from it. A row's function stores the parsed value in [`Environment`]; a
//! malformed value is an error.

use std::path::PathBuf;

use canny_compiler::optimize;
use canny_vm::specializer::compiler::CompilerOptions;

use super::{BENCH_REPORT, Environment, FORWARDED, SERVE_WORKER, TEST_REPORT};

/// The kind of value that a variable takes, and the setter for the value.
#[derive(Clone, Copy)]
pub enum Takes {
    /// 0 or 1.
    Flag(fn(&mut Environment, bool)),
    /// A whole number.
    Number(fn(&mut Environment, u64)),
    /// A whole number that may be negative and of any length, which a library in Scheme reads.
    Integer,
    /// The name of a file or directory.
    File(fn(&mut Environment, PathBuf)),
    /// The same, or nothing at all, which is a value too.
    FileOrNone(fn(&mut Environment, PathBuf)),
    /// Names of directories, separated by colons.
    Directories(fn(&mut Environment, Vec<PathBuf>)),
    /// Names of passes, separated by commas: those that there are, and what turns one off.
    Passes(fn() -> Vec<&'static str>, fn(&mut Environment, &str)),
    /// This word.
    Word(&'static str),
    /// Anything.
    Text(fn(&mut Environment, String)),
}

/// For whom a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// People who run programs.
    Users,
    /// Work on Canny itself.
    Work,
    /// Canny sets it for processes that it starts.
    Canny,
    /// Tests of Canny and its build read it.
    Tests,
}

/// A variable.
#[derive(Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    /// Stands behind the name in lists.
    pub shown: &'static str,
    pub takes: Takes,
    pub audience: Audience,
    /// One line about it, without a full stop. Code is between backquotes.
    pub meaning: &'static str,
    /// The default value or behaviour; empty where that goes without saying.
    pub default: &'static str,
}

const fn row(
    audience: Audience,
    name: &'static str,
    shown: &'static str,
    takes: Takes,
    meaning: &'static str,
    default: &'static str,
) -> Variable {
    Variable {
        name,
        shown,
        takes,
        audience,
        meaning,
        default,
    }
}

use Audience::{Canny, Tests, Users, Work};
use Takes::{Directories, File, FileOrNone, Flag, Integer, Number, Passes, Text, Word};

/// For values that a library in Scheme, a test or a build script reads.
fn elsewhere<T>(_: &mut Environment, _: T) {}
const FLAG_ELSEWHERE: Takes = Flag(elsewhere::<bool>);
const NUMBER_ELSEWHERE: Takes = Number(elsewhere::<u64>);
const FILE_ELSEWHERE: Takes = File(elsewhere::<PathBuf>);
const TEXT_ELSEWHERE: Takes = Text(|_, _| ());

/// A number for a setting of another size, which is as large as that allows.
fn at_most<T: TryFrom<u64>>(number: u64, most: T) -> T {
    T::try_from(number).unwrap_or(most)
}

/// A number of bytes or things.
fn count(number: u64) -> usize {
    at_most(number, usize::MAX)
}

/// Every variable, in the order of the lists.
#[rustfmt::skip]
pub const ROWS: &[Variable] = &[
    row(Users, "CANNY_LIBRARY_PATH", "", Directories(|to, value| to.library_path = value),
        "directories to search for libraries, separated by colons", ""),
    row(Users, "CANNY_CACHE_DIR", "", File(|to, value| to.cache_directory = Some(value)),
        "where compiled libraries, compiled programs, profiles and fetched packages are kept",
            "`canny` in `XDG_CACHE_HOME` or `~/.cache`"),
    row(Users, "CANNY_HISTORY", "", FileOrNone(|to, value| to.history = Some(value)),
        "the file of the prompt's history; empty for none",
            "`canny/history` in `XDG_STATE_HOME` or `~/.local/state`"),
    row(Users, "CANNY_JIT", "=0", Flag(|to, value| to.compiles = value),
        "as `--no-jit`", "1"),
    row(Users, "CANNY_PROFILES", "=0", Flag(|to, value| to.keeps_profiles = value),
        "as `--no-profiles`", "1"),
    row(Users, "CANNY_STATISTICS", "=FILE", File(|to, value| to.statistics = Some(value)),
        "write bytes allocated, collections and their pauses to `FILE` at the end; `canny wasm` writes \
         bytes of guests", ""),
    row(Users, "CANNY_COUNTS", "=1", Flag(|to, value| to.counts_calls = value),
        "compile code that counts its calls, for profiles with `#:counts? #t`", "0"),
    row(Users, "CANNY_COVERAGE", "=DIR", File(|to, value| to.coverage = Some(value)),
        "count lines and branches, and write them to a new file in `DIR` at the end, as `lcov` does", ""),
    row(Users, "CANNY_TEST_SEED", "=N", Integer,
        "where the random values of `(canny test properties)` begin", "another number each time"),
    row(Users, "CANNY_DEBUG_PORTS", "=1", Flag(|to, value| to.reports_open_ports = value),
        "report ports that are closed because nothing holds them any more", "0"),
    row(Users, "CANNY_DAP_TOKEN", "=TOKEN", Text(|to, value| to.debugger_token = Some(value)),
        "the token of `canny dap --listen HOST:PORT`", "a new one each time"),
    row(Users, "CANNY_POOL_CORES", "=N", Number(|to, value| to.tasks.cores = Some(count(value))),
        "run tasks on `N` threads at once", "one for each processor that the process may use"),
    row(Users, "CANNY_POOL_THREADS", "=N", Number(|to, value| to.tasks.threads_max = Some(count(value))),
        "allow `N` threads for tasks when some are blocked",
            "64, or eight for each processor if that is more"),
    row(Users, "CANNY_POOL_TRACE", "=1", Flag(|to, value| to.tasks.is_traced = value),
        "report on standard error why each thread that runs tasks starts and ends", "0"),
    row(Users, "CANNY_SPESH_LOG", "=FILE", File(|to, value| to.worker.log = Some(value)),
        "write what the specializer learns, plans, builds and retires", ""),
    row(Users, "CANNY_PERF_MAP", "=1", Flag(|to, value| to.specializer.writes_perf_map = value),
        "write `/tmp/perf-PID.map`, so that `perf` names compiled procedures", "0"),
    row(Users, "CANNY_JITDUMP", "=1", Flag(|to, value| to.specializer.writes_jitdump = value),
        "write `jit-PID.dump`, for `perf inject --jit`: compiled code and its lines", "0"),

    row(Work, "CANNY_GUEST_CODE", "=POLICY", Text(|to, value| to.guest_code = value),
        "when functions of WebAssembly guests become machine code: `never`, `hot`, `always`, or at `loops`",
        "hot"),
    row(Work, "CANNY_SPESH_BLOCKING", "=1", Flag(|to, value| to.worker.is_blocking = value),
        "let the program wait for the specializer, so that a run can be repeated", "0"),
    row(Work, "CANNY_SPESH_VERIFY", "=1", Flag(|to, value| to.compiler.verifies |= value),
        "check each graph before it is compiled, as debug builds do", "0"),
    row(Work, "CANNY_SPESH_EAGER", "=1", Flag(|to, value| to.worker.is_eager = value),
        "compile everything that ran twice, whatever it costs", "0"),
    row(Work, "CANNY_SPESH_STRESS", "=N", Number(|to, value| to.specializer.stress = value),
        "compiled code exits without a reason, once in `N` chances on the average; always for 1", "0: never"),
    row(Work, "CANNY_SPESH_CODE_BYTES",
        "=N", Number(|to, value| to.specializer.code_bytes_max = Some(count(value))),
        "allow `N` bytes of machine code, and half of that for descriptors", "256 MB"),
    row(Work, "CANNY_SPESH_LIMIT", "=N", Number(|to, value| to.worker.limit = Some(count(value))),
        "compile the first `N` plans only, to find a wrong one by bisection", "all"),
    row(Work, "CANNY_SPESH_DISABLE", "=PASS,PASS", Passes(CompilerOptions::passes, turn_off),
        "turn off passes of the specializer, such as `inline`", ""),
    row(Work, "CANNY_GC_STRESS", "=N", Number(|to, value| to.heap.stress_every = at_most(value, u32::MAX)),
        "collect at every N-th allocation", "0: only when it is due"),
    row(Work, "CANNY_GC_VERIFY", "=1", Flag(|to, value| to.heap.verify = value),
        "check the whole heap before and after each collection", "0"),
    row(Work, "CANNY_GC_POISON", "=1", Flag(|to, value| to.heap.poison = value),
        "overwrite memory that was freed", "0"),
    row(Work, "CANNY_NURSERY", "=BYTES", Number(|to, value| to.heap.nursery_bytes = count(value)),
        "bytes allocated between two collections", "16 MB"),
    row(Work, "CANNY_DEBUG_BREAKS", "=N", Number(|to, value| to.automatic.breaks = value),
        "stop `N` times at every place of the program, look around, and continue", "0: do not stop"),
    row(Work, "CANNY_DEBUG_STEPS", "=N", Number(|to, value| to.automatic.steps = value),
        "go `N` steps through the program, into everything, and continue", "0: do not step"),
    row(Work, "CANNY_DEBUG_LOG", "=FILE", File(|to, value| to.automatic.log = Some(value)),
        "write a line for each stop of these two", ""),
    row(Work, "CANNY_COMPILE_DISABLE", "=PASS,PASS",
        Passes(|| optimize::PASSES.to_vec(), |to, pass| to.optimizer.disabled.push(pass.to_owned())),
        "turn off passes of the optimizer, such as `inline`", ""),
    row(Work, "CANNY_COMPILE_LIMIT", "=N", Number(|to, value| to.optimizer.limit = Some(value)),
        "allow the optimizer `N` rewriting steps, to find a wrong one by bisection", "any number"),

    row(Canny, SERVE_WORKER, "=NAME", Text(|to, _| to.is_serve_worker = true),
        "the process serves one version of a program for `canny serve`, which listens at `NAME`", ""),
    row(Canny, FORWARDED, "=1", Text(|to, _| to.is_forwarded = true),
        "`compile-r7rs` was called by the program that `COMPILE_R7RS` names", ""),
    row(Canny, TEST_REPORT, "=FILE", File(|to, value| to.test_report = Some(value)),
        "where a suite reports to `canny test`", ""),
    row(Canny, "CANNY_TEST_FILE", "=FILE", FILE_ELSEWHERE,
        "the suite's file as `canny test` names it", ""),
    row(Canny, "CANNY_TEST_FILTER", "=TEXT", TEXT_ELSEWHERE,
        "run the tests with one of these lines in their names", "all"),
    row(Canny, "CANNY_TEST_MODE", "=list", Word("list"),
        "list tests in place of running them", ""),
    row(Canny, "CANNY_TEST_LEAKS", "=N", Number(|to, value| to.test_leaks = Some(value)),
        "run a suite `N` times in each round, and report what each round leaves behind",
            "once, without a look"),
    row(Canny, BENCH_REPORT, "=FILE", FILE_ELSEWHERE,
        "where a process reports its samples to `canny bench`", ""),
    row(Canny, "CANNY_BENCH_ONLY", "=N", Integer,
        "run the `N`th benchmark only, counted from 0; -1 lists them", "all"),
    row(Canny, "CANNY_BENCH_MICROSECONDS", "=N", NUMBER_ELSEWHERE,
        "the time of a process for samples", "500000"),

    row(Tests, "CANNY_BLESS", "=1", FLAG_ELSEWHERE,
        "tests write the output that they expect", "0"),
    row(Tests, "CANNY_RIVALS", "=1", FLAG_ELSEWHERE,
        "ask other implementations for their messages", "0"),
    row(Tests, "CANNY_BROWSER", "=required", Word("required"),
        "fail where there is no Chromium to test with", "such tests are skipped"),
    row(Tests, "CANNY_CHROMIUM", "=FILE", TEXT_ELSEWHERE,
        "the browser that tests of the page for profiles take", "`chromium`"),
    row(Tests, "CANNY_PROFILE_TOOLS", "=required", TEXT_ELSEWHERE,
        "fail where a tool is missing that opens other formats", "such tests are skipped"),
    row(Tests, "CANNY_PROFILE_NPM", "=DIR", TEXT_ELSEWHERE,
        "where the npm packages of such tools are", ""),
    row(Tests, "CANNY_DAP_LOG", "=DIR", TEXT_ELSEWHERE,
        "tests of the debug adapter keep its messages in DIR, for a check against the protocol's schema", ""),
    row(Tests, "CANNY_SNAPSHOT_NPM", "=DIR", TEXT_ELSEWHERE,
        "where the npm packages are that read exported heap snapshots", ""),
    row(Tests, "CANNY_REAL_GUESTS", "=DIR", TEXT_ELSEWHERE,
        "where the WebAssembly guests of others are that tests run", "such tests are skipped"),
    row(Tests, "CANNY_GUIDE", "=NAME", TEXT_ELSEWHERE,
        "run the examples of pages with this in their names", "all"),
    row(Tests, "CANNY_SHOW", "=LIBRARY", TEXT_ELSEWHERE,
        "print the bytecode of a library", ""),
    row(Tests, "CANNY_TEST_DISASSEMBLE", "=1", FLAG_ELSEWHERE,
        "print the bytecode of programs that test primitives", "0"),
    row(Tests, "CANNY_JIT_LISTING", "=1", FLAG_ELSEWHERE,
        "keep listings of machine code in tests of the code generator", "0"),
    row(Tests, "CANNY_TEST_POSTGRESQL", "=CONNECTION", TEXT_ELSEWHERE,
        "the server for tests of `(canny postgresql)`", "such tests are skipped"),
    row(Tests, "CANNY_FUZZ_COUNT", "=N", NUMBER_ELSEWHERE,
        "how many random programs or sessions there are", "1500"),
    row(Tests, "CANNY_FUZZ_SEED", "=N", NUMBER_ELSEWHERE,
        "the first of them", "1"),
    row(Tests, "CANNY_HEAP_SOAK", "=N", NUMBER_ELSEWHERE,
        "random programs for the collector", "6"),
    row(Tests, "CANNY_POOL_STRESS_SECONDS", "=N", NUMBER_ELSEWHERE,
        "how long the pool of threads is tested", "2"),
    row(Tests, "CANNY_POOL_STRESS_SEED", "=N", NUMBER_ELSEWHERE,
        "where the random numbers of that test begin", "1"),
    row(Tests, "CANNY_SHUTTLE_ITERATIONS", "=N", NUMBER_ELSEWHERE,
        "schedules that are tried in tests of the pool by shuttle", ""),
    row(Tests, "CANNY_SHUTTLE_REPLAY", "=SCHEDULE", TEXT_ELSEWHERE,
        "the one schedule that they run", ""),
    row(Tests, "CANNY_LAYOUT", "=0", FLAG_ELSEWHERE,
        "build with functions that run side by side, or without", "1 in release builds"),
];

/// Turns off a pass of the specializer that is known.
fn turn_off(to: &mut Environment, pass: &str) {
    let known = to.compiler.turn_off(pass);
    debug_assert!(known.is_ok(), "{pass}");
}

/// The variables of others that Canny looks at, and what they mean.
pub const OTHERS: &[(&str, &str)] = &[
    (
        "NO_COLOR",
        "do not colour messages and input; they are coloured on a terminal only",
    ),
    (
        "COMPILE_R7RS",
        "the program that `canny compile-r7rs` runs instead of itself",
    ),
];

impl Variable {
    /// Name and value as in a shell.
    pub fn term(&self) -> String {
        format!("{}{}", self.name, self.shown)
    }

    /// The meaning of the variable, for people at a terminal.
    pub fn plain_meaning(&self) -> String {
        let meaning = match self.default {
            // That it is off goes without saying.
            "" | "0" | "1" => self.meaning.to_owned(),
            default => format!("{} (default: {default})", self.meaning),
        };
        meaning.replace('`', "")
    }
}

/// The rows for people at a terminal: names with what they mean.
pub fn listed(audiences: &[Audience]) -> Vec<(String, String)> {
    ROWS.iter()
        .filter(|row| audiences.contains(&row.audience))
        .map(|row| (row.term(), row.plain_meaning()))
        .collect()
}
