//! The rows of the commands that run, show or explain programs.
//!
//! Only usage and options are here. `options` parses them and `main` performs them, since they
//! share all options of a machine.

use lexopt::Parser;

use super::Tool;
use super::table::{LIBRARY_OPTIONS, Row, joined};
use crate::environment::Environment;
use crate::options::{self, Verb};

const MACHINE_OPTIONS: &[Row] = &[
    (
        "--heap-limit N",
        "use at most N bytes of heap (suffixes K, M, G)",
    ),
    (
        "--stack-limit N",
        "use at most N bytes of frames; 1G unless given",
    ),
    ("--no-jit", "do not compile code that runs often"),
    (
        "--spesh-report",
        "report at the end what was compiled to machine code, what was not, and why",
    ),
    (
        "--no-cache",
        "neither read nor write compiled libraries and profiles in the cache directory",
    ),
    (
        "--no-profiles",
        "neither read nor write what the specializer learns of a program",
    ),
    (
        "-W WARNING",
        "show a warning (its code), or not (no-CODE); all, none; error: refuse such programs",
    ),
    ("--no-warnings", "as -W none"),
    ("--no-values", "show no values of variables in backtraces"),
    (
        "--message-format text|json",
        "write messages as text, or as JSON",
    ),
];

/// Options of a machine and of messages.
pub const EVALUATION_OPTIONS: &[Row] =
    &joined::<{ LIBRARY_OPTIONS.len() + MACHINE_OPTIONS.len() }>(LIBRARY_OPTIONS, MACHINE_OPTIONS);

const EXPRESSION_OPTIONS: &[Row] = &[
    ("-e EXPR", "evaluate EXPR; may be given several times"),
    (
        "-V, --version",
        "print the version and what SRFI 176 asks for",
    ),
];

const PROFILE_OPTIONS: &[Row] = &[
    (
        "-o, --output FILE",
        "write the profile; the end of the name says in which format",
    ),
    (
        "--format html|profile|pprof|speedscope|firefox|chrome|collapsed|callgrind",
        "the format of the file, if its name does not say it",
    ),
    (
        "--interval MICROSECONDS",
        "time between samples; 1000 unless given",
    ),
    (
        "--allocation-interval BYTES",
        "allocated bytes between sampled objects; 524288 unless given, 0 for none, 1 for all",
    ),
    (
        "--waits-per-second NUMBER",
        "waits that each thread notes before it chooses among them; 4000 unless given, 0 for none",
    ),
    ("--base FILE", "compare with a profile that was kept"),
    (
        "--exact",
        "count every call, by caller and callee; the program is compiled for it",
    ),
    (
        "--explain",
        "say why the hottest places are slow, as far as the machine knows",
    ),
    ("--flame", "print a flame graph as text"),
    ("--text", "print tables only, and make no page"),
    ("--native", "tell the functions of the machine itself apart"),
    (
        "--attach PID",
        "take a profile of a process of yours that runs already",
    ),
    ("--seconds N", "how long that takes; 10 unless given"),
    (
        "--live",
        "serve the page on this machine while the profile is taken",
    ),
    (
        "--last TIME",
        "of a directory of profiles show this much, such as 5m",
    ),
    (
        "--before TIME",
        "let that part end this much before the newest profile does",
    ),
    (
        "--base-before TIME",
        "the same for the directory that --base names",
    ),
];

const RING_OPTIONS: &[Row] = &[
    (
        "--profile-continuously DIR",
        "keep profiles of the last hour in DIR, at 100 samples per second",
    ),
    (
        "--profile-keep TIME",
        "keep this much, such as 30m or 2d, in place of an hour",
    ),
    (
        "--profile-file TIME",
        "begin a new file after this much; 1m unless given",
    ),
];

const LISTEN_OPTIONS: &[Row] = &[(
    "--listen HOST:PORT",
    "serve editors that speak nREPL; PORT alone is at 127.0.0.1, and 0 takes a free one",
)];

const HEAP_OPTIONS: &[Row] = &[
    (
        "--heap-snapshots WHEN",
        "write heap snapshots: full, full=N, every=N, growth=FACTOR, limit, signal, exit; with commas",
    ),
    (
        "--heap-file FILE",
        "write them to FILE; the program's name with .heap unless given",
    ),
    (
        "--heap-hide-strings",
        "leave the beginnings of strings out of them",
    ),
    (
        "--heap-places",
        "sample allocations, so that all heap snapshots of the process have their places",
    ),
];

const RECORD_OPTIONS: &[Row] =
    &joined::<{ RING_OPTIONS.len() + HEAP_OPTIONS.len() }>(RING_OPTIONS, HEAP_OPTIONS);

const LONG_RUN_OPTIONS: &[Row] = &joined::<{ RECORD_OPTIONS.len() + crate::coverage::ROWS.len() }>(
    RECORD_OPTIONS,
    crate::coverage::ROWS,
);

const PROGRAM_OPTIONS: &[Row] = &joined::<{ EXPRESSION_OPTIONS.len() + LONG_RUN_OPTIONS.len() }>(
    EXPRESSION_OPTIONS,
    LONG_RUN_OPTIONS,
);

const RUN_OPTIONS: &[Row] = &joined::<{ EVALUATION_OPTIONS.len() + PROGRAM_OPTIONS.len() }>(
    EVALUATION_OPTIONS,
    PROGRAM_OPTIONS,
);

pub const RUN: Tool = Tool {
    name: "run",
    operands: "[OPTION…] FILE [ARGUMENT…]",
    summary: "Runs a program",
    options: RUN_OPTIONS,
    details: "The word 'run' may be left out. FILE may be - for standard input. Arguments behind FILE belong \
        to the program.",
    run: |parser, environment| perform(parser, environment, Verb::Run),
};

pub const PROFILE: Tool = Tool {
    name: "profile",
    operands: "[OPTION…] FILE [ARGUMENT…]",
    summary: "Runs a program and shows where its time and memory go",
    options: &joined::<{ PROFILE_OPTIONS.len() + EVALUATION_OPTIONS.len() }>(
        PROFILE_OPTIONS,
        EVALUATION_OPTIONS,
    ),
    details: "Arguments behind FILE belong to the program. With --attach there is no FILE.\n\
        A profile that was kept may be given in place of a program, or a directory of them.",
    run: |parser, environment| perform(parser, environment, Verb::Profile),
};

const DEBUG_OPTIONS: &[(&str, &str)] = &[
    ("-t", "ask at the prompt, as it does without --connect"),
    (
        "--attach PID|HOST:PORT|PID@HOST:PORT",
        "ask at the prompt for a process that runs: one of yours, or one where 'canny dap' listens",
    ),
    (
        "--connect SOCKET",
        "be debugged by the adapter at this socket; 'canny dap' starts programs so",
    ),
];

pub const DEBUG: Tool = Tool {
    name: "debug",
    operands: "[OPTION…] FILE [ARGUMENT…]",
    summary: "Runs a program that stops at breakpoints, goes step by step, and shows its variables",
    options: &joined::<{ DEBUG_OPTIONS.len() + EVALUATION_OPTIONS.len() }>(
        DEBUG_OPTIONS,
        EVALUATION_OPTIONS,
    ),
    details: "Arguments behind FILE belong to the program. It stops at its first line; 'help' at the prompt \
        lists\nthe commands, which are read from standard input. With --attach there is no FILE, and the \
        process\ngoes on.",
    run: |parser, environment| perform(parser, environment, Verb::Debug),
};

const REPLAYABLE_OPTIONS: &[(&str, &str)] = &[(
    "-o FILE",
    "write the recording to this file, unless to canny.recording",
)];

pub const RECORD: Tool = Tool {
    name: "record",
    operands: "[OPTION…] FILE [ARGUMENT…]",
    summary: "Runs a program and keeps what comes from outside, for 'canny replay'",
    options: &joined::<{ REPLAYABLE_OPTIONS.len() + EVALUATION_OPTIONS.len() }>(
        REPLAYABLE_OPTIONS,
        EVALUATION_OPTIONS,
    ),
    details: "Arguments behind FILE belong to the program. All of its tasks run on one thread.\n\
        The recording has the text of the program and everything that it read.",
    run: |parser, environment| perform(parser, environment, Verb::Record),
};

pub const REPL: Tool = Tool {
    name: "repl",
    operands: "[OPTION…]",
    summary: "Reads, evaluates and prints; with --listen also for editors",
    options: &joined::<{ EVALUATION_OPTIONS.len() + LISTEN_OPTIONS.len() }>(
        EVALUATION_OPTIONS,
        LISTEN_OPTIONS,
    ),
    details: "Without 'repl' and without operands 'canny' does the same if standard input is a terminal, \
        and\n\
              runs standard input as a program if not.",
    run: |parser, environment| perform(parser, environment, Verb::Repl),
};

pub const EXPAND: Tool = Tool {
    name: "expand",
    operands: "[OPTION…] FILE",
    summary: "Prints the program fully expanded",
    options: EVALUATION_OPTIONS,
    details: "",
    run: |parser, environment| perform(parser, environment, Verb::Expand),
};

pub const DISASM: Tool = Tool {
    name: "disasm",
    operands: "[OPTION…] FILE",
    summary: "Prints the program's bytecode",
    options: EVALUATION_OPTIONS,
    details: "",
    run: |parser, environment| perform(parser, environment, Verb::Disassemble),
};

pub const EXPLAIN: Tool = Tool {
    name: "explain",
    operands: "[CODE]",
    summary: "Tells what the code of a message means; without CODE lists all",
    options: &[],
    details: "",
    run: |parser, environment| perform(parser, environment, Verb::Explain),
};

fn perform(parser: Parser, environment: &'static Environment, verb: Verb) -> Result<u8, String> {
    Ok(crate::perform(options::parse_rest(
        parser,
        Some(verb),
        environment,
    )?))
}
