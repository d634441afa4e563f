//! Every way to take a heap snapshot: `canny run --heap-snapshots`, a signal, `canny heap --attach`, the
//! prompt, `(canny heap)`, and `/debug/heap` of web servers.

#[path = "support/asked.rs"]
mod asked;
mod support;

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use asked::{Program, command, get, outcome, status, wait_until};
use canny_snapshot::file::{Directory, Way};
use canny_snapshot::heap::Series;
use support::{canny, program};

/// Keeps what it is told to keep, and ends at a line.
const WAIT: &str = "(import (scheme base) (scheme write))
(define keep (string-append \"sesame\" \" \" \"open\"))
(display \"ready\\n\")
(flush-output-port)
(read-line)
(display keep)
";

const FILL: &str = "(import (scheme base) (scheme write))
(define keep '())
(define (fill i)
  (if (> i 0)
      (begin (set! keep (cons (make-string 30 #\\a) keep)) (fill (- i 1)))))
(fill 200000)
(display \"done\\n\")
";

const SERVER: &str = "(import (scheme base) (scheme write) (canny web server) (canny web router)
        (canny web message) (canny web diagnostics))
(define keep (make-vector 300000 #f))
(define secret (string-append \"sesame\" \" \" \"open\"))
(vector-fill! keep (list secret))
(let loop ((i 0))
  (if (< i 300000)
      (begin (vector-set! keep i (list i secret)) (loop (+ i 1)))))
(define-routes app
  (GET \"/\" (lambda (request body) (make-response #:body \"hello\")))
  (GET \"/size\" (lambda (request body)
                 (make-response #:body (number->string (vector-length keep)))))
  (GET \"/debug/heap\" (debug-heap-handler))
  (GET \"/guarded\" (debug-heap-handler #:token \"sesame\" #:previews? #f)))
(define server (start-server (router-handler app) #:port 0))
(display (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
";

fn series(path: &Path) -> Series {
    Series::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn reasons(path: &Path) -> Vec<String> {
    let series = series(path);
    let reason = |directory: &Directory| directory.reason.clone();
    series.snapshots().iter().map(reason).collect()
}

/// Whether some text of the last snapshot contains this.
fn has_text(path: &Path, part: &str) -> bool {
    let series = series(path);
    let heap = series
        .snapshot(series.snapshots().len() - 1)
        .expect("it is whole");
    let mut texts = heap.texts().iter();
    texts.any(|(_, text)| text.preview.contains(part))
}

/// Starts a program by `canny run`, and waits for its first line.
fn start(text: &str, words: &[&str]) -> (Program, String) {
    Program::start(text, &[&["run"], words].concat())
}

#[test]
fn rules_of_the_command_line_write_series() {
    let run = canny(&["run", "--heap-snapshots", "every=1,exit", "program.scm"]);
    let directory = run.directory.clone();
    let outcome = run.file("program.scm", FILL).run().exits_with(0);
    let path = directory.join("program.heap");
    let reasons = reasons(&path);
    assert!(reasons.len() >= 2, "{reasons:?}");
    assert_eq!(reasons.last().map(String::as_str), Some("exit"));
    assert!(
        reasons[..reasons.len() - 1]
            .iter()
            .all(|it| it == "collection")
    );
    let line = format!("{} heap snapshots in ", reasons.len());
    let outcome = outcome.prints("done\n").complains(&line);
    assert!(!outcome.errors.contains("failed"), "{outcome:?}");
    let whole = series(&path);
    let last = whole.snapshots().len() - 1;
    assert!(whole.is_whole(last));
    assert!(whole.snapshots()[last].way == Way::Fork);
    assert!(whole.snapshot(last).expect("it is whole").len() > 400_000);
    // A new run overwrites the file.
    let words = ["--heap-snapshots=exit", "program.scm"];
    let again = support::Canny::new(directory, &words).run().exits_with(0);
    again.complains("1 heap snapshot in ");
    assert_eq!(self::reasons(&path), ["exit"]);
}

#[test]
fn a_heap_that_grows_or_nears_its_limit_is_told() {
    let words = [
        "--heap-snapshots=limit,growth=1.5",
        "--heap-limit=24M",
        "--heap-file=all.heap",
        "program.scm",
    ];
    let run = canny(&words);
    let path = run.directory.join("all.heap");
    let text = FILL.replace("200000", "9000000");
    let outcome = run.file("program.scm", text).run().exits_with(70);
    outcome
        .complains("out-of-memory")
        .complains("heap snapshot");
    let reasons = reasons(&path);
    assert!(reasons.contains(&"limit".to_owned()), "{reasons:?}");
}

#[test]
fn wrong_words_are_refused() {
    for (words, part) in [
        (&["--heap-snapshots", "often"][..], "not 'often'"),
        (&["--heap-snapshots", "growth=0.5"], "not 'growth=0.5'"),
        (&["--heap-snapshots", "exit,exit"], "'exit' twice"),
        (&["--heap-file", "x.heap"], "belong to --heap-snapshots"),
        (&["--heap-hide-strings"], "belong to --heap-snapshots"),
    ] {
        let mut words = words.to_vec();
        words.push("program.scm");
        let run = canny(&words).file("program.scm", WAIT);
        run.run().exits_with(64).complains(part);
    }
    for words in [
        &["heap"][..],
        &["heap", "--attach", "x"],
        &["heap", "--attach", "0"],
        &["heap", "--attach", "-1"],
        &["heap", "--attack", "1"],
        &["repl", "--heap-snapshots", "exit"],
    ] {
        canny(words).run().exits_with(64);
    }
}

#[test]
fn other_files_are_never_overwritten() {
    let run = canny(&["--heap-snapshots=exit", "program.scm"]);
    let path = run.directory.join("program.heap");
    let run = run.file("program.scm", WAIT).file("program.heap", "mine");
    run.run()
        .exits_with(71)
        .complains("is not overwritten")
        .prints("");
    assert_eq!(std::fs::read_to_string(path).expect("it is there"), "mine");
    let words = [
        "--heap-snapshots=exit",
        "--heap-file=no/such.heap",
        "program.scm",
    ];
    let run = canny(&words).file("program.scm", WAIT);
    run.run()
        .exits_with(71)
        .complains("no/such.heap: it cannot be written");
}

#[test]
fn a_full_disk_is_reported_once_and_the_program_goes_on() {
    let words = [
        "--heap-snapshots=every=1,exit",
        "--heap-file=/dev/full",
        "program.scm",
    ];
    let outcome = canny(&words).file("program.scm", FILL).run().exits_with(0);
    let outcome = outcome
        .prints("done\n")
        .complains("no heap snapshot was written, ");
    let count = outcome.errors.matches("No space left on device").count();
    assert_eq!(count, 1, "{outcome:?}");
}

#[test]
fn previews_can_be_left_out() {
    let run = |words: &[&str]| {
        let mut words = words.to_vec();
        words.extend(["--heap-snapshots=exit", "--heap-file=x.heap", "program.scm"]);
        let run = canny(&words).file("program.scm", WAIT);
        let path = run.directory.join("x.heap");
        run.run().exits_with(0);
        path
    };
    assert!(has_text(&run(&[]), "sesame open"));
    let hidden = run(&["--heap-hide-strings"]);
    assert!(!has_text(&hidden, "sesame"));
    // The rest is there.
    assert!(has_text(&hidden, "keep"));
}

/// A memory of 64 pages, and an array of the guest of 3 MB.
const GUEST: &str = "(import (scheme base) (canny wasm))
(define store (make-store))
(define memory (make-memory store 64))
(define module (compile-module \"(module
  (type $bytes (array (mut i8)))
  (global $kept (mut (ref null $bytes)) (ref.null $bytes))
  (func (export \\\"fill\\\")
    (global.set $kept (array.new_default $bytes (i32.const 3000000)))))\"))
(define guest (instantiate module #:store store))
(call-export guest \"fill\")
";

#[test]
fn memories_and_objects_of_guests_are_outside_of_the_heap() {
    let run = canny(&["run", "--heap-snapshots", "exit", "program.scm"]);
    let directory = run.directory.clone();
    run.file("program.scm", GUEST).run().exits_with(0);
    let path = directory.join("program.heap");
    let path = path.to_str().expect("the path is a text");
    let found = |query: &str| {
        let outcome = canny(&["heap", "--query", query, path]).run().exits_with(0);
        outcome.output.contains("store")
    };
    // Memory and array are one sum.
    assert!(found("(outside > 7.1MB)"));
    assert!(!found("(outside > 7.5MB)"));
}

#[test]
fn a_signal_asks_for_a_snapshot() {
    let (program, _) = start(WAIT, &["--heap-snapshots", "signal"]);
    let path = program.directory.join("program.heap");
    let count = || Series::open(&path).map_or(0, |series| series.snapshots().len());
    program.signal("USR2");
    wait_until("the first one is there", || count() == 1);
    program.signal("USR2");
    // The end waits for it.
    wait_until("the second one is there", || {
        count() >= 2 || {
            program.signal("USR2");
            false
        }
    });
    let errors = program.end();
    assert!(errors.contains("heap snapshots in "), "{errors}");
    assert!(reasons(&path).iter().all(|reason| reason == "signal"));
}

#[test]
fn a_process_is_asked_from_outside() {
    let (program, _) = start(WAIT, &[]);
    let asked = program.attach("heap", &["-o", "x.heap"]).exits_with(0);
    asked
        .complains("objects, ")
        .complains("stood still for")
        .complains("x.heap, which has");
    let path = program.directory.join("x.heap");
    assert!(has_text(&path, "sesame open"));
    assert_eq!(u64::from(program.child.id()), series(&path).info().pid);
    // The file gets one more, which shares what is there.
    let length = path.metadata().expect("it is there").len();
    program
        .attach("heap", &["-o", "x.heap", "--collect"])
        .exits_with(0);
    assert_eq!(reasons(&path), ["asked", "asked"]);
    assert!(path.metadata().expect("it is there").len() < 2 * length);
    let words = ["--in-place", "--hide-strings"];
    program
        .attach("heap", &words)
        .exits_with(0)
        .complains("in place");
    let own = format!("canny-{}.heap", program.child.id());
    let own = program.directory.join(own);
    assert!(!has_text(&own, "sesame"));
    assert!(series(&own).snapshots()[0].way == Way::InPlace);
    // Wrong files.
    let full = program.attach("heap", &["-o", "/dev/full"]).exits_with(71);
    full.complains("No space left on device");
    std::fs::write(program.directory.join("mine"), "mine").expect("it can be written");
    program
        .attach("heap", &["-o", "mine"])
        .exits_with(71)
        .complains("is not overwritten");
    program
        .attach("heap", &["-o", "."])
        .exits_with(71)
        .complains("cannot write");
    let (other, _) = start(WAIT, &[]);
    let words = ["-o", path.to_str().expect("it is text")];
    let refused = other.attach("heap", &words).exits_with(71);
    refused
        .complains("snapshots of another process")
        .complains("expected a new file");
    assert_eq!(reasons(&path).len(), 2);
    // A refusal leaves no file.
    let nobody = outcome(command(&program.directory).args(["heap", "--attach", "4194305"]));
    nobody
        .exits_with(71)
        .complains("there is no process 4194305");
    assert!(!program.directory.join("canny-4194305.heap").exists());
}

#[test]
fn a_killed_program_leaves_a_file_that_can_be_read() {
    let text = FILL.replace(
        "(display \"done\\n\")",
        "(display \"done\\n\") (flush-output-port) (read-line)",
    );
    let (mut program, _) = start(&text, &["--heap-snapshots", "signal"]);
    let path = program.directory.join("program.heap");
    program.signal("USR2");
    wait_until("it is being written", || {
        path.metadata().is_ok_and(|data| data.len() > 0)
    });
    program.child.kill().expect("it runs");
    program.child.wait().expect("it has ended");
    // The copy of the process goes on, or had ended before.
    wait_until("it is whole", || {
        Series::open(&path).is_ok_and(|series| {
            series.snapshots().len() == 1 && series.is_whole(0) && series.note().is_none()
        })
    });
    assert!(series(&path).snapshot(0).expect("it is whole").len() > 400_000);
}

#[test]
fn where_no_copy_can_be_made_the_program_writes_itself() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    // Only the administrator can start a process for which the limit counts.
    let identity = Command::new("id").arg("-u").output().expect("id is there");
    if identity.stdout != b"0\n" || Command::new("prlimit").arg("-V").output().is_err() {
        return;
    }
    let directory = PathBuf::from(format!("/tmp/canny-no-fork-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&directory, open).expect("it is ours");
    std::fs::write(directory.join("program.scm"), WAIT).expect("it can be written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .args([
            "--no-cache",
            "--no-project",
            "--heap-snapshots=exit",
            "program.scm",
        ])
        .current_dir(&directory)
        .uid(65534)
        .gid(65534)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("it was asked for"));
    output.read_line(&mut line).expect("a line");
    let process = child.id().to_string();
    let limited = Command::new("prlimit")
        .args(["--pid", &process, "--nproc=1:1"])
        .uid(65534)
        .gid(65534)
        .status();
    assert!(limited.expect("it is there").success());
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let series = series(&directory.join("program.heap"));
    assert!(series.snapshots()[0].way == Way::InPlace);
    std::fs::remove_dir_all(&directory).expect("it is ours");
}

/// Tasks on four threads allocate, and each takes a snapshot now and then.
const CROWD: &str = "(import (scheme base) (scheme write) (canny tasks) (canny heap))
(define (churn n)
  (let loop ((i 0) (kept '()))
    (if (= i n)
        (length kept)
        (loop (+ i 1)
              (if (= 0 (modulo i 7)) (cons (vector i (number->string i)) kept) kept)))))
(define (work k)
  (let loop ((i 0) (sum 0))
    (if (= i ROUNDS)
        sum
        (begin
          (if (even? i)
              (heap-snapshot! (if (even? k) \"a.heap\" \"b.heap\")))
          (loop (+ i 1) (+ sum (churn SIZE)))))))
(define tasks (map (lambda (k) (start (work k))) '(0 1 2 3 4 5)))
(write (map await tasks))
";

fn crowd(rounds: &str, size: &str) -> support::Canny {
    let text = CROWD.replace("ROUNDS", rounds).replace("SIZE", size);
    program(text).environment("CANNY_POOL_CORES", "4")
}

#[test]
fn tasks_may_take_snapshots_at_once_while_others_allocate() {
    let run = crowd("8", "70000");
    let directory = run.directory.clone();
    let outcome = run.environment("CANNY_GC_VERIFY", "1").run();
    let sum = (0..70_000).filter(|i| i % 7 == 0).count() * 8;
    let sums = vec![sum.to_string(); 6].join(" ");
    outcome.exits_with(0).prints(&format!("({sums})"));
    for name in ["a.heap", "b.heap"] {
        let series = series(&directory.join(name));
        assert_eq!(series.snapshots().len(), 12, "{name}");
        for index in [0, 5, 11] {
            let heap = series.snapshot(index).expect("it is whole");
            assert!(heap.is_whole() && heap.len() > 1000);
        }
    }
}

#[test]
fn snapshots_survive_collections_at_every_turn() {
    let run = crowd("2", "700").environment("CANNY_GC_STRESS", "50");
    let run = run.environment("CANNY_GC_POISON", "1");
    let sum = (0..700).filter(|i| i % 7 == 0).count() * 2;
    let sums = vec![sum.to_string(); 6].join(" ");
    run.run().exits_with(0).prints(&format!("({sums})"));
}

#[test]
fn programs_watch_their_heap() {
    let text = "(import (scheme base) (scheme write) (canny heap)
        (only (canny base) condition->string))
(define (fill n)
  (let loop ((i 0) (kept '()))
    (if (< i n) (loop (+ i 1) (cons (make-string 30 #\\a) kept)) (length kept))))
(define-syntax refused
  (syntax-rules ()
    ((_ e) (guard (object (#t (display (condition->string object)) (newline)))
             e (display \"fine?\\n\")))))
(watch-heap! \"w.heap\" #:every 1 #:growth 2 #:limit? #t)
(refused (watch-heap! \"v.heap\" #:full 1))
(fill 200000)
(define report (stop-watching-heap!))
(write (and (> (cdr (assq 'written report)) 0) (cdr (assq 'failed report))))
(newline)
(write (stop-watching-heap!))
(newline)
(refused (watch-heap! \"v.heap\"))
(refused (watch-heap! 'a #:full 1))
(refused (watch-heap! \"v.heap\" #:full 0))
(refused (watch-heap! \"v.heap\" #:every 1.5))
(refused (watch-heap! \"v.heap\" #:growth 1))
(refused (watch-heap! \"v.heap\" #:growth +nan.0))
(refused (watch-heap! \"program.scm\" #:full 1))
(refused (heap-snapshot! \"program.scm\" #:replace? #t))
(refused (heap-snapshot! \"/dev/full\"))
(refused (heap-snapshot! \"w.heap\" #:reason 1))
(heap-snapshot! \"w.heap\" #:reason \"mine\")
";
    let run = program(text);
    let directory = run.directory.clone();
    let outcome = run.run().exits_with(0);
    assert!(!outcome.output.contains("fine?"), "{outcome:?}");
    for part in [
        "being watched already",
        "\n0\n#f\n",
        "no rule is given",
        "not a string: a",
        "#:full is not a number of collections: 0",
        "#:every is not a number of collections: 1.5",
        "#:growth is not a number above 1: 1",
        "is not overwritten",
        "No space left on device",
        "#:reason is not a string: 1",
    ] {
        assert!(outcome.output.contains(part), "{part}: {outcome:?}");
    }
    let reasons = reasons(&directory.join("w.heap"));
    assert_eq!(reasons.last().map(String::as_str), Some("mine"));
    assert!(!directory.join("v.heap").exists());
    // A later process is refused, unless it replaces what is there.
    let text = "(import (scheme base) (scheme write) (canny heap))
(write (guard (object (#t 'refused)) (heap-snapshot! \"w.heap\")))
(write (guard (object (#t 'refused)) (watch-heap! \"w.heap\" #:full 1)))
(heap-snapshot! \"w.heap\" #:replace? #t)
(heap-snapshot! \"w.heap\" #:replace? #t)";
    std::fs::write(directory.join("later.scm"), text).expect("it can be written");
    let later = support::Canny::new(directory.clone(), &["later.scm"]).run();
    later.exits_with(0).prints("refusedrefused");
    assert_eq!(self::reasons(&directory.join("w.heap")).len(), 2);
}

#[test]
fn the_prompt_takes_snapshots() {
    let run =
        canny(&["repl"]).input(",heap \"a b.heap\"\n,heap a b.heap\n,heap standard-input\n,heap\n");
    let directory = run.directory.clone();
    let outcome = run.run().exits_with(0);
    assert_eq!(
        outcome.output.matches("stood still for").count(),
        3,
        "{outcome:?}"
    );
    assert!(outcome.output.contains("is not overwritten"), "{outcome:?}");
    assert_eq!(reasons(&directory.join("a b.heap")), ["asked", "asked"]);
}

#[test]
fn a_server_answers_with_a_snapshot() {
    let (program, address) = start(SERVER, &[]);
    let path = program.directory.join("answer.heap");
    let answer = get(&address, "/debug/heap", "");
    assert_eq!(status(&answer), "200");
    assert!(
        answer.0.contains("application/octet-stream"),
        "{}",
        answer.0
    );
    assert!(
        answer.0.contains("attachment; filename=\"canny.heap\""),
        "{}",
        answer.0
    );
    std::fs::write(&path, &answer.1).expect("it can be written");
    assert!(has_text(&path, "sesame open"));
    assert!(series(&path).snapshots()[0].objects > 600_000);
    for (target, fields) in [
        ("/debug/heap?strings=no", ""),
        ("/guarded?strings=yes", "Authorization: Bearer sesame\r\n"),
    ] {
        let answer = get(&address, target, fields);
        assert_eq!(status(&answer), "200", "{target}");
        std::fs::write(&path, &answer.1).expect("it can be written");
        assert!(!has_text(&path, "sesame open"), "{target}");
    }
    for (target, fields, wanted) in [
        ("/debug/heap?strings=maybe", "", "400"),
        ("/debug/heap", "X-Forwarded-For: 192.0.2.1\r\n", "403"),
        ("/guarded", "", "401"),
        ("/guarded", "Authorization: Bearer open\r\n", "401"),
    ] {
        let answer = get(&address, target, fields);
        assert_eq!(status(&answer), wanted, "{target} {fields}");
    }
    assert_eq!(get(&address, "/size", "").1, b"300000");
}

#[test]
fn a_server_serves_meanwhile_and_its_socket_ends_with_it() {
    let (mut program, address) = start(SERVER, &["--heap-snapshots", "signal"]);
    let path = program.directory.join("program.heap");
    program.signal("USR2");
    wait_until("it is being written", || {
        path.metadata().is_ok_and(|data| data.len() > 0)
    });
    for _ in 0..20 {
        assert_eq!(get(&address, "/", "").1, b"hello");
    }
    wait_until("it is whole", || {
        Series::open(&path).is_ok_and(|series| series.is_whole(0))
    });
    program.signal("USR2");
    let length = path.metadata().expect("it is there").len();
    wait_until("another one is being written", || {
        path.metadata().is_ok_and(|data| data.len() > length)
    });
    program.child.kill().expect("it runs");
    program.child.wait().expect("it has ended");
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    TcpListener::bind(host).expect("the address is free");
    assert!(TcpStream::connect(host).is_err());
}
