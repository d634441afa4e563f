//! `canny compile`: programs as executable files.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{Canny, canny, scratch};

const LIBRARY: &str = "(define-library (greeting)
  (export greet twice)
  (import (scheme base) (scheme write) (canny syntax-case))
  (begin
    (define (greet name) (display \"hello \") (display name) (newline))
    (define-syntax twice
      (lambda (form) (syntax-case form () ((_ e) #'(begin e e)))))))";

const PROGRAM: &str =
    "(import (scheme base) (scheme write) (scheme process-context) (scheme eval) \
    (greeting) (srfi 1))
(twice (greet (last (command-line))))
(eval '(greet \"again\") (environment '(greeting)))
(exit (length (command-line)))";

/// Compiles a program with its library; gives where the executable file is, in a directory of its own.
fn compiled(program: &str) -> PathBuf {
    let run = canny(&["compile", "program.scm", "-o", "out/app"])
        .file("program.scm", program)
        .file("greeting.sld", LIBRARY)
        .file("out/empty", "");
    let made = run.directory.join("out/app");
    run.run().exits_with(0).complains("the program");
    let elsewhere = scratch().join("app");
    std::fs::rename(made, &elsewhere).expect("the executable file was made");
    elsewhere
}

fn start(app: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(app);
    command.args(words).stdin(Stdio::null());
    command.current_dir(app.parent().expect("it is in a directory"));
    command.output().expect("it starts")
}

#[test]
fn an_executable_file_needs_no_sources() {
    let app = compiled(PROGRAM);
    let outcome = start(&app, &["--help", "you"]);
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert_eq!(text, "hello you\nhello you\nhello again\n", "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(3), "{outcome:?}");
    assert!(outcome.stderr.is_empty(), "{outcome:?}");
    let size = |path: &Path| std::fs::metadata(path).map(|data| data.len()).unwrap_or(0);
    assert!(size(&app) < size(Path::new(env!("CARGO_BIN_EXE_canny"))));
}

#[test]
fn what_ports_of_the_program_hold_is_written_at_the_end() {
    const PROGRAM: &str = "(import (scheme base) (canny io))
(define port
  (make-textual-output \"kept\"
                       (lambda (text start count)
                         (write-string (substring text start (+ start count)))
                         count)))
(write-string \"kept until the end\\n\" port)";
    let outcome = start(&compiled(PROGRAM), &[]);
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert_eq!(text, "kept until the end\n", "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
}

#[test]
fn errors_have_their_positions() {
    let app = compiled("(import (scheme base))\n(define (f x)\n  (car x))\n(f 5)\n");
    let outcome = start(&app, &[]);
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(70), "{text}");
    assert!(text.contains("program.scm:3:3"), "{text}");
}

#[test]
fn a_damaged_program_is_refused() {
    let app = compiled(PROGRAM);
    let mut content = std::fs::read(&app).expect("it is there");
    let place = content.len() - 100;
    content[place] ^= 1;
    let damaged = app.with_file_name("damaged");
    std::fs::write(&damaged, content).expect("it can be written");
    let permissions = std::fs::metadata(&app).expect("it is there").permissions();
    std::fs::set_permissions(&damaged, permissions).expect("it is ours");
    let outcome = start(&damaged, &[]);
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(71), "{text}");
    assert!(text.contains("damaged"), "{text}");
}

/// Runs an executable file in a namespace of its own, where something is mounted over `/proc`. `None`
/// where the system does not let us.
fn without_proc(words: &[&str]) -> Option<Output> {
    let run = |script: &str, words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        command.arg(format!("mount -t tmpfs none /proc && {script}"));
        command.arg("sh").args(words).stdin(Stdio::null());
        command.output().ok()
    };
    run("true", &[]).filter(|output| output.status.success())?;
    run("exec \"$@\"", words)
}

#[test]
fn a_program_without_proc_is_not_canny() {
    let app = compiled(PROGRAM);
    let path = app.to_str().expect("a path in UTF-8");
    let Some(outcome) = without_proc(&[path, "--version"]) else {
        // Not by `eprintln`, which tests keep to themselves.
        let text = "SKIPPED: there are no namespaces here, nothing was run without /proc\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        return;
    };
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(text.starts_with("hello --version\n"), "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
}

#[test]
fn a_program_that_lost_its_end_is_not_canny() {
    let app = compiled(PROGRAM);
    let content = std::fs::read(&app).expect("it is there");
    let permissions = std::fs::metadata(&app).expect("it is there").permissions();
    for (name, end) in [
        ("short", content.len() - 1),
        ("shorter", content.len() - 50),
    ] {
        let cut = app.with_file_name(name);
        std::fs::write(&cut, &content[..end]).expect("it can be written");
        std::fs::set_permissions(&cut, permissions.clone()).expect("it is ours");
        let outcome = start(&cut, &["--version"]);
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.status.code(), Some(71), "{outcome:?}");
        assert!(text.contains("damaged"), "{text}");
    }
}

#[test]
fn a_loader_may_be_called_for_a_program() {
    let app = compiled(PROGRAM);
    let loader = Path::new("/lib64/ld-linux-x86-64.so.2");
    if !loader.exists() {
        return;
    }
    let outcome = start(loader, &[app.to_str().expect("a path in UTF-8"), "you"]);
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(text.starts_with("hello you\n"), "{outcome:?}");
}

#[test]
fn no_directory_of_the_repository_is_in_it() {
    let app = compiled(PROGRAM);
    let content = std::fs::read(&app).expect("it is there");
    let root = support::root().canonicalize().expect("it is there");
    for part in ["lib/", "crates/"] {
        let path = root.join(part);
        let path = path.as_os_str().as_encoded_bytes();
        let found = content.windows(path.len()).any(|window| window == path);
        assert!(!found, "{part}");
    }
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_written() {
    let refused = |run: Canny, code: i32, part: &str| {
        let directory = run.directory.clone();
        run.run().exits_with(code).complains(part);
        assert!(!directory.join("program").exists());
    };
    let bad = canny(&["compile", "program.scm"]).file("program.scm", "(car");
    refused(bad, 65, "program.scm:1:1");
    refused(
        canny(&["compile", "program.scm"]),
        66,
        "cannot read program.scm",
    );
    refused(canny(&["compile"]), 64, "which file?");
    let good = || canny(&["compile", "program.scm", "-o", "none/app"]).file("program.scm", "1");
    refused(good(), 71, "cannot write none/app");
    let directory = canny(&["compile", "program.scm", "-o", "out"]);
    refused(
        directory.file("program.scm", "1").file("out/x", ""),
        71,
        "cannot write out",
    );
}

/// The command line of SRFI 138.
mod compile_r7rs {
    use std::path::Path;
    use std::process::{Command, Output};

    use crate::support::{Canny, canny, scratch};

    const PROGRAM: &str = "(import (scheme base) (scheme write) (my thing))\n\
        (cond-expand (tiger (display \"tiger \")) (else (display \"none \")))\n(display value)\n";

    /// A directory with a program, a library in `lib`, and a link to `canny` with the name of the SRFI.
    fn place() -> std::path::PathBuf {
        let directory = scratch();
        let library = "(define-library (my thing) (export value) (import (scheme base)) \
                       (begin (define value 42)))";
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::create_dir_all(path.parent().expect("it has one"))
                .expect("a directory can be made");
            std::fs::write(path, text).expect("a file can be written");
        };
        write("src/app.scm", PROGRAM);
        write("lib/my/thing.sld", library);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_canny"), directory.join("compile-r7rs"))
            .expect("a link can be made");
        directory
    }

    fn run(directory: &Path, words: &[&str], other: &str) -> Output {
        Command::new(directory.join("compile-r7rs"))
            .args(words)
            .current_dir(directory)
            .env("COMPILE_R7RS", other)
            .output()
            .expect("it starts")
    }

    fn prints(program: &Path) -> String {
        let output = Command::new(program).output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn a_link_of_that_name_compiles() {
        let directory = place();
        let output = run(&directory, &["-D", "tiger", "-I", "lib", "src/app.scm"], "");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(prints(&directory.join("src/app")), "tiger 42");
        let output = run(&directory, &["-A", "lib", "-o", "other", "src/app.scm"], "");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(prints(&directory.join("other")), "none 42");
    }

    #[test]
    fn so_does_the_command() {
        let directory = place();
        Canny::new(directory.clone(), &["compile-r7rs", "-Ilib", "src/app.scm"])
            .run()
            .exits_with(0);
        assert_eq!(prints(&directory.join("src/app")), "none 42");
        canny(&["compile-r7rs"]).run().exits_with(0);
        canny(&["compile-r7rs", "gone.scm"]).run().exits_with(66);
        canny(&["compile-r7rs", "half.scm"])
            .file("half.scm", "(display")
            .run()
            .exits_with(65);
        canny(&["compile-r7rs", "-z"]).run().exits_with(64);
    }

    #[test]
    fn another_compiler_may_be_named() {
        let directory = place();
        let output = run(&directory, &["-o", "a b", "c.scm"], "/bin/echo");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "-o a b c.scm\n");
        Canny::new(directory.clone(), &["compile-r7rs", "-o", "x"])
            .environment("COMPILE_R7RS", "echo")
            .run()
            .exits_with(0)
            .prints("-o x\n");
        // Itself, by any name, is no other.
        let link = directory.join("compile-r7rs");
        for name in [
            link.to_str().expect("it is UTF-8"),
            env!("CARGO_BIN_EXE_canny"),
            "./compile-r7rs",
        ] {
            let output = run(&directory, &["-I", "lib", "src/app.scm"], name);
            assert!(output.status.success(), "{name}: {output:?}");
        }
        // A script that comes back does not go round.
        let script = directory.join("script");
        std::fs::write(&script, "#!/bin/sh\nexec ./compile-r7rs \"$@\"\n")
            .expect("it can be written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("it is ours");
        let output = run(&directory, &["-I", "lib", "src/app.scm"], "./script");
        assert!(output.status.success(), "{output:?}");
        let output = run(&directory, &["src/app.scm"], "no-such-compiler");
        assert_eq!(output.status.code(), Some(71), "{output:?}");
    }
}
