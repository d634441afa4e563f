//! Profiles of processes that run: `canny profile --attach`, `--live`, `canny run --profile-continuously`,
//! and `/debug/profile` of web servers.

#[path = "support/asked.rs"]
mod asked;
mod support;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Duration;

use asked::{Program, get, outcome, spawned, status, wait_until};
use canny_profile::file;
use canny_profile::model::{Group, Profile, WaitKind};
use support::scratch;

const LOOP: &str = "(import (scheme base) (scheme write))
(define (step x) (modulo (+ (* x 1103) 12345) 65536))
(define (burn n x) (if (= n 0) x (burn (- n 1) (step x))))
(display \"ready\\n\")
(flush-output-port)
(let loop () (burn 20000 1) (loop))
";

const WAIT: &str = "(import (scheme base) (scheme write) (canny tasks))
(define (napper) (sleep 0.05) (napper))
(define (sleeper) (sleep 1000))
(define tasks (list (start (napper)) (start (sleeper))))
(display \"ready\\n\")
(flush-output-port)
(map await tasks)
";

const SERVER: &str = "(import (scheme base) (scheme write) (canny web server) (canny web router)
        (canny web message) (canny web diagnostics))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (work request body)
  (make-response #:body (number->string (fib (route-parameter request 'n)))))
(define-routes app
  (GET \"/count/:n<integer>\" work)
  (GET \"/debug/profile\" (debug-profile-handler))
  (GET \"/guarded\" (debug-profile-handler #:token \"sesame\" #:seconds-max 1)))
(define server (start-server (router-handler app) #:port 0))
(display (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
";

fn read(path: &Path) -> Profile {
    let bytes = std::fs::read(path).expect("the profile was written");
    file::read(&bytes).expect("it can be read")
}

/// Names of the program's functions that have processor time.
fn program_functions(profile: &Profile) -> Vec<String> {
    let stacks = profile.rows.samples.iter().map(|sample| sample.stack);
    let mut names: Vec<String> = stacks
        .flat_map(|stack| profile.walk(stack, true))
        .filter(|step| profile.function(step.frame.function).group == Group::Program)
        .map(|step| profile.function_name(step.frame.function).to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_program_that_computes_is_profiled_from_outside() {
    let (program, _) = Program::start(LOOP, &[]);
    let outcome = program.attach("profile", &["--seconds", "0.5", "-o", "out.profile"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    let profile = read(&program.directory.join("out.profile"));
    assert_eq!(profile.header.pid, u64::from(program.child.id()));
    assert!(profile.end_ns.is_some() && !profile.is_incomplete);
    let names = program_functions(&profile);
    assert!(names.contains(&"step".to_owned()), "{names:?}");
    // Another one afterwards is a profile of its own.
    let outcome = program.attach("profile", &["--seconds", "0.2", "--text"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    assert!(outcome.errors.contains("burn"), "{}", outcome.errors);
    let session = program.directory.join("session/canny");
    let mode = std::fs::metadata(session)
        .expect("it was made")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
}

#[test]
fn a_program_that_waits_is_profiled_from_outside() {
    let (program, _) = Program::start(WAIT, &[]);
    let outcome = program.attach("profile", &["--seconds", "0.5", "-o", "out.profile"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    let profile = read(&program.directory.join("out.profile"));
    let places: Vec<String> = profile
        .rows
        .waits
        .iter()
        .flat_map(|wait| profile.walk(wait.stack, false))
        .map(|step| profile.function_name(step.frame.function).to_owned())
        .collect();
    assert!(places.contains(&"napper".to_owned()), "{places:?}");
    // These have waited before, and do so afterwards.
    assert!(places.contains(&"sleeper".to_owned()), "{places:?}");
    let sleeps = |wait: &canny_profile::model::Wait| {
        let mut walk = profile.walk(wait.stack, false);
        wait.kind == WaitKind::Timer
            && walk.any(|step| profile.function_name(step.frame.function) == "sleeper")
    };
    assert!(profile.rows.waits.iter().any(sleeps));
    let main = profile
        .rows
        .waits
        .iter()
        .filter(|wait| wait.task.row() == 0);
    assert_eq!(main.count(), 1);
}

#[test]
fn one_profile_is_taken_at_a_time() {
    let (program, _) = Program::start(LOOP, &["profile", "-o", "own.profile"]);
    let outcome = program.attach("profile", &["--seconds", "0.2", "-o", "out.profile"]);
    assert_eq!(outcome.code, Some(71));
    assert!(
        outcome.errors.contains("is being taken already"),
        "{}",
        outcome.errors
    );
    assert!(!program.directory.join("out.profile").exists());
}

#[test]
fn a_program_that_ends_meanwhile_leaves_a_part() {
    let (mut program, _) = Program::start(LOOP, &[]);
    let client = spawned(&mut program.attach_command(
        "profile",
        &["--seconds", "60", "--text", "-o", "out.profile"],
    ));
    let path = program.directory.join("out.profile");
    wait_until("there are samples", || {
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(9).any(|window| window == b"\"samples\"")
    });
    program.child.kill().expect("it runs");
    let output = client.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(71), "{errors}");
    assert!(
        errors.contains("ended before its answer was complete"),
        "{errors}"
    );
    assert!(errors.contains("burn"), "{errors}");
    let profile = read(&path);
    assert!(!profile.rows.samples.is_empty() && profile.end_ns.is_none());
}

#[test]
fn a_client_that_goes_away_ends_its_profile() {
    let (program, _) = Program::start(LOOP, &[]);
    let mut client =
        spawned(&mut program.attach_command("profile", &["--seconds", "600", "-o", "out.profile"]));
    let path = program.directory.join("out.profile");
    wait_until("the profile begins", || path.exists());
    client.kill().expect("it runs");
    client.wait().expect("it has ended");
    wait_until("another one can be taken", || {
        program
            .attach("profile", &["--seconds", "0.1", "--text"])
            .code
            == Some(0)
    });
}

#[test]
fn an_interrupted_client_shows_what_it_has() {
    let (program, _) = Program::start(LOOP, &[]);
    let client =
        spawned(&mut program.attach_command("profile", &["--seconds", "600", "-o", "out.profile"]));
    let path = program.directory.join("out.profile");
    wait_until("the profile begins", || path.exists());
    let process = client.id().to_string();
    let sent = Command::new("kill").args(["-INT", &process]).status();
    assert!(sent.expect("kill is there").success());
    let output = client.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(read(&path).end_ns.is_some());
}

#[test]
fn other_processes_are_refused() {
    let directory = scratch();
    let attach = |process: &str| {
        let mut command = asked::command(&directory);
        command.args(["profile", "--attach", process, "--seconds", "0.1"]);
        outcome(&mut command)
    };
    let outcome = attach("4194305");
    assert_eq!(outcome.code, Some(71));
    assert!(
        outcome.errors.contains("there is no process 4194305"),
        "{}",
        outcome.errors
    );
    // This process does not catch the signal, and is unharmed.
    let own = std::process::id().to_string();
    let outcome = attach(&own);
    assert_eq!(outcome.code, Some(71));
    assert!(
        outcome.errors.contains("is no program that runs with"),
        "{}",
        outcome.errors
    );
    let mut ended = Command::new("true").spawn().expect("it starts");
    // It is not waited for, so that its number stays.
    wait_until("it has ended", || {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", ended.id()));
        status.is_ok_and(|text| text.contains(") Z "))
    });
    let outcome = attach(&ended.id().to_string());
    assert!(
        outcome.errors.contains("there is no process"),
        "{}",
        outcome.errors
    );
    ended.wait().expect("it has ended");
    for wrong in ["x", "0", "-1", "99999999999"] {
        let outcome = attach(wrong);
        assert_eq!(outcome.code, Some(64), "{wrong}: {}", outcome.errors);
    }
    let outcome = attach("1").errors;
    let is_refused = outcome.contains("another user") || outcome.contains("is no program");
    assert!(is_refused, "{outcome}");
}

#[test]
fn a_process_of_another_user_is_refused() {
    // Only the administrator can start one.
    let identity = Command::new("id").arg("-u").output().expect("id is there");
    if identity.stdout != b"0\n" {
        return;
    }
    use std::os::unix::process::CommandExt;
    let directory = scratch();
    let program = "(import (scheme base) (scheme write) (canny tasks))
(display \"ready\\n\") (flush-output-port) (sleep 1000)";
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .args(["--no-cache", "-e", program])
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("it was asked for");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let mut command = asked::command(&directory);
    command.args(["profile", "--attach", &child.id().to_string()]);
    let outcome = outcome(&mut command);
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    assert_eq!(outcome.code, Some(71));
    assert!(
        outcome.errors.contains("belongs to another user"),
        "{}",
        outcome.errors
    );
}

#[test]
fn an_open_directory_is_not_used() {
    let (program, _) = Program::start(LOOP, &[]);
    let sockets = program.directory.join("session/canny");
    std::fs::create_dir(&sockets).expect("it can be made");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&sockets, open).expect("it is ours");
    let outcome = program.attach("profile", &["--seconds", "0.1"]);
    assert_eq!(outcome.code, Some(71));
    let text = "is no directory that its user alone may open";
    assert!(outcome.errors.contains(text), "{}", outcome.errors);
}

#[test]
fn a_ring_keeps_the_last_files() {
    let words = [
        "run",
        "--profile-continuously",
        "ring",
        "--profile-file",
        "1s",
        "--profile-keep",
        "2s",
    ];
    let (mut program, _) = Program::start(LOOP, &words);
    let ring = program.directory.join("ring");
    let names = || {
        let entries = std::fs::read_dir(&ring).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let first = names();
    assert_eq!(first.len(), 1, "{first:?}");
    wait_until("the first file is deleted", || {
        let names = names();
        names.len() >= 2 && !names.contains(&first[0])
    });
    program.child.kill().expect("it runs");
    program.child.wait().expect("it has ended");
    let names = names();
    assert!((2..=3).contains(&names.len()), "{names:?}");
    for name in &names[..names.len() - 1] {
        let profile = read(&ring.join(name));
        assert!(profile.end_ns.is_some(), "{name}");
        let names = program_functions(&profile);
        assert!(names.contains(&"step".to_owned()), "{names:?}");
    }
    let show = |words: &[&str]| {
        let mut command = asked::command(&program.directory);
        command.args(["profile", "--text"]).args(words);
        outcome(&mut command)
    };
    let outcome = show(&["ring"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    assert!(outcome.errors.contains("step"), "{}", outcome.errors);
    let outcome = show(&[
        "--last",
        "1s",
        "--base",
        "ring",
        "--base-before",
        "1s",
        "ring",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    assert!(outcome.errors.contains(": 1.000 s, "), "{}", outcome.errors);
    let outcome = show(&["--before", "1d", "ring"]);
    assert!(
        outcome
            .errors
            .contains("no profile in ring is of that time"),
        "{}",
        outcome.errors
    );
    let outcome = show(&["session"]);
    assert!(
        outcome.errors.contains("there is no profile in session"),
        "{}",
        outcome.errors
    );
}

#[test]
fn a_ring_that_cannot_be_written_is_reported_once() {
    let words = [
        "run",
        "--profile-continuously",
        "ring",
        "--profile-file",
        "1s",
    ];
    let (mut program, _) = Program::start(LOOP, &words);
    let ring = program.directory.join("ring");
    std::fs::remove_dir_all(&ring).expect("it is there");
    std::fs::write(&ring, "").expect("a file can be written");
    let mut errors = BufReader::new(program.child.stderr.take().expect("it was asked for"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    assert!(line.contains("cannot write profiles to ring"), "{line}");
    // The next attempt fails silently; the one after that works.
    std::thread::sleep(Duration::from_millis(1500));
    std::fs::remove_file(&ring).expect("it is there");
    std::fs::create_dir(&ring).expect("a directory can be made");
    let count = || std::fs::read_dir(&ring).map_or(0, |entries| entries.count());
    wait_until("a file is there again", || count() > 0);
    program.child.kill().expect("it runs");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("it ends");
    assert_eq!(rest, "");
}

#[test]
fn a_ring_is_begun_by_a_program() {
    let directory = scratch();
    let program = "(import (scheme base) (canny profile) (canny tasks))
(define (f n) (if (> n 0) (f (- n 1)) n))
(start-profiling! \"ring\" #:keep 1 #:file 1)
(f 30000000)
(sleep 1.2)
(f 30000000)
(stop-profiling!)
";
    std::fs::write(directory.join("program.scm"), program).expect("a file can be written");
    let mut command = asked::command(&directory);
    command.arg("program.scm");
    let outcome = outcome(&mut command);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    let entries = std::fs::read_dir(directory.join("ring")).expect("it was made");
    let profiles: Vec<Profile> = entries.flatten().map(|entry| read(&entry.path())).collect();
    assert!(profiles.len() >= 2);
    assert!(profiles.iter().all(|profile| profile.end_ns.is_some()));
    let in_f = |profile: &Profile| program_functions(profile).contains(&"f".to_owned());
    assert!(profiles.iter().any(in_f));
}

#[test]
fn a_page_is_served_while_the_profile_grows() {
    let (program, _) = Program::start(LOOP, &[]);
    let mut client = spawned(&mut program.attach_command(
        "profile",
        &["--seconds", "600", "--live", "-o", "out.profile"],
    ));
    let mut line = String::new();
    let mut errors: BufReader<ChildStderr> =
        BufReader::new(client.stderr.take().expect("it was asked for"));
    errors.read_line(&mut line).expect("a line");
    let url = line
        .trim()
        .strip_prefix("live page: http://")
        .expect("an address");
    let (address, path) = url.split_at(url.find('/').expect("a path"));
    let page = get(address, path, "");
    assert_eq!(status(&page), "200");
    assert!(page.1.starts_with(b"<!"));
    let mut bytes = Vec::new();
    wait_until("samples come", || {
        let target = format!("{path}profile?from={}", bytes.len());
        let part = get(address, &target, "");
        assert_eq!(status(&part), "200");
        bytes.extend(part.1);
        bytes.windows(9).any(|window| window == b"\"samples\"")
    });
    assert!(file::read(&bytes).is_ok());
    for (target, wanted) in [
        ("/".to_owned(), "404"),
        ("/profile".to_owned(), "404"),
        (format!("{path}other"), "404"),
        (format!("{path}profile?from=x"), "400"),
    ] {
        assert_eq!(status(&get(address, &target, "")), wanted, "{target}");
    }
    client.kill().expect("it runs");
    client.wait().expect("it has ended");
}

#[test]
fn a_server_answers_with_a_profile_and_routes_as_labels() {
    let (mut program, address) = Program::start(SERVER, &[]);
    let busy = std::sync::atomic::AtomicBool::new(true);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            while busy.load(std::sync::atomic::Ordering::Relaxed) {
                get(&address, "/count/22", "");
            }
        });
        let answer = get(&address, "/debug/profile?seconds=0.7", "");
        busy.store(false, std::sync::atomic::Ordering::Relaxed);
        answer
    });
    assert_eq!(status(&answer), "200");
    let profile = file::read(&answer.1).expect("it can be read");
    let labels: Vec<(&str, &str)> = profile
        .rows
        .samples
        .iter()
        .filter(|sample| {
            let mut walk = profile.walk(sample.stack, false);
            walk.any(|step| profile.function_name(step.frame.function) == "fib")
        })
        .flat_map(|sample| profile.label_set(sample.label))
        .collect();
    assert!(labels.contains(&("route", "/count/:n")), "{labels:?}");
    assert!(labels.contains(&("method", "GET")), "{labels:?}");

    let page = get(&address, "/debug/profile?seconds=0.1&format=html", "");
    assert!(
        page.1
            .windows(18)
            .any(|window| window == b"id=\"canny-profile\"")
    );
    let pprof = get(&address, "/debug/profile?seconds=0.1&format=pprof", "");
    assert!(pprof.1.starts_with(b"\x1f\x8b"));
    for (target, fields, wanted) in [
        ("/debug/profile?seconds=0", "", "400"),
        ("/debug/profile?seconds=1e9", "", "400"),
        ("/debug/profile?seconds=+nan.0", "", "400"),
        ("/debug/profile?seconds=1&format=x", "", "400"),
        (
            "/debug/profile?seconds=0.1",
            "X-Forwarded-For: 192.0.2.1\r\n",
            "403",
        ),
        ("/guarded?seconds=0.1", "", "401"),
        (
            "/guarded?seconds=0.1",
            "Authorization: Bearer open\r\n",
            "401",
        ),
        (
            "/guarded?seconds=0.1",
            "Authorization: Bearer sesame\r\n",
            "200",
        ),
        (
            "/guarded?seconds=2",
            "Authorization: Bearer sesame\r\n",
            "400",
        ),
    ] {
        let answer = get(&address, target, fields);
        assert_eq!(status(&answer), wanted, "{target} {fields}");
    }
    // One that is being taken refuses another.
    let both = std::thread::scope(|scope| {
        let one = scope.spawn(|| get(&address, "/debug/profile?seconds=1", ""));
        let other = scope.spawn(|| get(&address, "/debug/profile?seconds=1", ""));
        [one, other].map(|one| one.join().expect("it answers"))
    });
    let mut statuses = both.iter().map(status).collect::<Vec<_>>();
    statuses.sort_unstable();
    assert_eq!(statuses, ["200", "503"]);
    // The server is asked from outside, too.
    let outcome = program.attach("profile", &["--seconds", "0.2", "--text"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    // Its output ends with it.
    program.child.kill().expect("it runs");
    let mut rest = String::new();
    program.output.read_to_string(&mut rest).expect("it ends");
}

#[test]
fn wrong_options_are_refused() {
    let directory = scratch();
    for words in [
        &["profile", "--seconds", "1", "a.scm"][..],
        &["profile", "--attach", "1", "--seconds", "0"],
        &["profile", "--attach", "1", "a.scm"],
        &["profile", "--last", "soon", "a.profile"],
        &["run", "--profile-keep", "5m", "a.scm"],
        &[
            "run",
            "--profile-continuously",
            "d",
            "--profile-file",
            "0s",
            "a.scm",
        ],
        &["run", "--attach", "1"],
    ] {
        let mut command = asked::command(&directory);
        command.args(words);
        let outcome = outcome(&mut command);
        assert_eq!(outcome.code, Some(64), "{words:?}: {}", outcome.errors);
    }
}
