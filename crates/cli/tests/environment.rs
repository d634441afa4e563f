//! Warnings about environment variables that the command does not know, and errors about malformed
//! values.

mod support;

use support::{canny, program, scratch};

const HELLO: &str = "(import (scheme base) (scheme write))\n(display \"hello\")\n(newline)\n";

#[test]
fn a_malformed_value_ends_every_command() {
    for (name, value, message) in [
        (
            "CANNY_JIT",
            "maybe",
            "canny: CANNY_JIT wants 0 or 1, not 'maybe'\n",
        ),
        (
            "CANNY_SPESH_STRESS",
            "x",
            "canny: CANNY_SPESH_STRESS wants a whole number, not 'x'\n",
        ),
        (
            "CANNY_TEST_SEED",
            "soon",
            "canny: CANNY_TEST_SEED wants an integer, not 'soon'\n",
        ),
        (
            "CANNY_BROWSER",
            "please",
            "canny: CANNY_BROWSER wants 'required', not 'please'\n",
        ),
        (
            "CANNY_COMPILE_DISABLE",
            "nopass",
            "canny: CANNY_COMPILE_DISABLE: there is no pass 'nopass'; the passes are check-calls, \
             split-entries, \
             simplify, inline, propagate, remove-globals\n",
        ),
    ] {
        let outcome = program(HELLO).environment(name, value).run();
        assert_eq!(outcome.exits_with(64).prints("").errors, message);
    }
    canny(&["fmt", "--check", "program.scm"])
        .file("program.scm", HELLO)
        .environment("CANNY_SPESH_DISABLE", "inlin")
        .run()
        .exits_with(64)
        .complains(
            "there is no pass 'inlin'; did you mean 'inline'? The passes are inline, number",
        );
}

#[test]
fn an_unknown_name_is_reported_and_the_program_runs() {
    let outcome = program(HELLO)
        .environment("CANNY_SPESH_LOGG", "log")
        .run()
        .exits_with(0)
        .prints("hello\n");
    assert_eq!(
        outcome.errors,
        "canny: warning: there is no variable 'CANNY_SPESH_LOGG'; did you mean 'CANNY_SPESH_LOG'?\n"
    );
}

#[test]
fn a_compiled_program_checks_them_in_its_own_name() {
    let directory = scratch();
    support::Canny::new(
        directory.clone(),
        &["compile", "program.scm", "-o", "hello"],
    )
    .file("program.scm", HELLO)
    .run()
    .exits_with(0);
    let run = |name: &str, value: &str| {
        let output = std::process::Command::new("./hello")
            .current_dir(&directory)
            .env(name, value)
            .output()
            .expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    assert_eq!(
        run("CANNY_GC_VERIFY", "1"),
        (Some(0), "hello\n".into(), String::new())
    );
    assert_eq!(
        run("CANNY_GC_VERIFY", "yes"),
        (
            Some(64),
            String::new(),
            "./hello: CANNY_GC_VERIFY wants 0 or 1, not 'yes'\n".into()
        )
    );
    assert_eq!(
        run("CANNY_GC_VERIFI", "1"),
        (
            Some(0),
            "hello\n".into(),
            "./hello: warning: there is no variable 'CANNY_GC_VERIFI'; did you mean \
             'CANNY_GC_VERIFY'?\n"
                .into()
        )
    );
}

#[test]
fn suites_do_not_repeat_the_warnings_of_their_command() {
    let outcome = canny(&["test", "suite.scm"])
        .file(
            "suite.scm",
            "(import (scheme base) (canny test))\n(test \"one\" 1 1)\n",
        )
        .environment("CANNY_POOL_TRACER", "1")
        .run()
        .exits_with(0);
    let warnings = outcome.errors.matches("CANNY_POOL_TRACER").count()
        + outcome.output.matches("CANNY_POOL_TRACER").count();
    assert_eq!(warnings, 1, "{outcome:?}");
}

#[test]
fn passes_turned_off_are_not_kept_for_other_runs() {
    let directory = scratch();
    let size = |passes: &str| {
        support::Canny::new(directory.clone(), &["-I", ".", "-e", "(import (lib))"])
            .file(
                "lib.sld",
                "(define-library (lib) (export f) (import (scheme base)) (begin (define (f x) x)))",
            )
            .environment("CANNY_COMPILE_DISABLE", passes)
            .run()
            .exits_with(0);
        let cache = walk(&directory.join("cache"));
        cache.len()
    };
    // A library compiled in another way is another file of the cache.
    let first = size("");
    assert!(first > 0);
    assert_eq!(size(""), first);
    assert!(size("inline") > first);
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(walk(&path))
        } else {
            files.push(path)
        }
    }
    files
}
