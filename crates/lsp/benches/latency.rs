//! How long answers take on a text of 5,000 lines: `cargo bench -p canny-lsp`. It asserts nothing.
//!
//! Each kind of question is asked many times, and the time from the message to its answer is taken at
//! the client. Some are asked of a text at rest, others right behind a change, when the change is not
//! expanded yet.

#[path = "../tests/client/mod.rs"]
mod client;

use std::fmt::Write;
use std::time::{Duration, Instant};

use client::Client;
use serde_json::{Value, json};

const LINES: usize = 5_000;

/// Procedures, loops, records, macros and matches, about as people write them.
fn program() -> String {
    let mut text = String::from(
        "(import (scheme base) (scheme write) (scheme char) (canny match) (srfi 1))\n\n\
         (define-syntax while\n  (syntax-rules ()\n    ((_ test body ...)\n     \
         (let again () (when test body ... (again))))))\n\n",
    );
    let mut number = 0;
    while text.lines().count() < LINES {
        let n = number;
        let before = number.max(1) - 1;
        write!(
            text,
            ";; The area of shape {n}.\n\
             (define (area-{n} width height)\n  (let* ((twice (* 2 width))\n         (whole (* twice \
             height)))\n    \
             (if (< whole 0)\n        (error \"a negative area\" whole)\n        (quotient whole 2))))\n\n\
             (define-record-type point-{n}\n  (make-point-{n} x y)\n  point-{n}?\n  (x point-{n}-x \
             set-point-{n}-x!)\n  \
             (y point-{n}-y))\n\n\
             (define (sum-{n} points)\n  (let loop ((rest points) (total 0))\n    (cond\n      ((null? rest) \
             total)\n      \
             ((point-{n}? (car rest))\n       (loop (cdr rest)\n             (+ total (area-{n} (point-{n}-x \
             (car rest))\n                              \
             (point-{n}-y (car rest))))))\n      (else (loop (cdr rest) total)))))\n\n\
             (define (show-{n} value)\n  (match value\n    ((list a b) (display (+ a b)))\n    \
             ((? string? text) (display (string-upcase text)))\n    (other (write other)))\n  \
             (let ((count 0))\n    (while (< count 3)\n      (set! count (+ count (area-{before} 1 \
             2))))\n    \
             (for-each (lambda (one) (display one) (newline))\n              (filter even? (iota \
             count)))))\n\n"
        )
        .expect("a string takes all");
        number += 1;
    }
    text.push_str("(show-1 (sum-2 (list (make-point-2 1 2))))\n");
    text
}

/// Processor time of this process, the client's included.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let field = |number: usize| {
        let found = after_name.split_whitespace().nth(number - 3);
        found
            .and_then(|one| one.parse::<u64>().ok())
            .unwrap_or_default()
    };
    Duration::from_millis((field(14) + field(15)) * 10)
}

fn shown(what: &str, mut times: Vec<Duration>, processor: Duration) {
    times.sort_unstable();
    let count = times.len();
    let at = |share: usize| times[(count * share / 100).min(count - 1)].as_secs_f64() * 1e3;
    println!(
        "{what:<44} {count:>4} times: median {:7.1} ms, 95 % {:7.1}, 99 % {:7.1}, longest {:7.1}; processor \
         {:6.1} ms each",
        at(50),
        at(95),
        at(99),
        at(100),
        processor.as_secs_f64() * 1e3 / count as f64
    );
}

fn measure(what: &str, count: usize, mut one: impl FnMut(usize) -> Duration) {
    let before = processor_time();
    let times = (0..count).map(&mut one).collect();
    shown(what, times, processor_time() - before);
}

const FILE: &str = "large.scm";

fn ask(client: &mut Client, method: &str, marked: &str, more: Value) -> Duration {
    let mut params = client.place(FILE, marked);
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    let start = Instant::now();
    let found = client.request(&format!("textDocument/{method}"), params);
    let time = start.elapsed();
    assert!(!found.is_null(), "{method} at {marked} has an answer");
    time
}

fn main() {
    let mut client = Client::impatient();
    let text = program();
    println!("{} lines, {} bytes", text.lines().count(), text.len());
    let (start, before) = (Instant::now(), processor_time());
    client.open(FILE, &text);
    let took = vec![start.elapsed()];
    shown("opened, until diagnostics", took, processor_time() - before);

    let at_rest = [
        ("hover", "(^area-", json!({})),
        ("definition", "(total (^area", json!({})),
        ("completion", "(^area-", json!({})),
        ("signatureHelp", "(area-{} ^", json!({})),
        ("prepareRename", "(^area-", json!({})),
    ];
    for (method, _, more) in &at_rest {
        measure(&format!("{method}, at rest"), 100, |n| {
            let marked = format!("total (are^a-{} (p", n + 1);
            let marked = match *method {
                "signatureHelp" => format!("total (area-{} ^(p", n + 1),
                _ => marked,
            };
            ask(&mut client, method, &marked, more.clone())
        });
    }
    // A name is typed, letter by letter, with a question behind each letter.
    for method in ["hover", "definition", "completion", "signatureHelp"] {
        measure(&format!("{method}, right after a change"), 100, |n| {
            let at = format!("(define (sum-{n} points)");
            client.replace(FILE, &at, &format!("(define (sum-{n} points . more-{n})"));
            let marked = match method {
                "signatureHelp" => format!("total (area-{n} ^(p"),
                _ => format!("total (are^a-{n} (p"),
            };
            let time = ask(&mut client, method, &marked, json!({}));
            client.replace(FILE, &format!(" . more-{n}"), "");
            time
        });
    }
    client.wait_for_diagnostics(FILE);
    measure("a change, until diagnostics", 10, |n| {
        let start = Instant::now();
        client.replace(FILE, "(* 2 width)", &format!("(* {} width)", n + 3));
        client.wait_for_diagnostics(FILE);
        let time = start.elapsed();
        client.replace(FILE, &format!("(* {} width)", n + 3), "(* 2 width)");
        client.wait_for_diagnostics(FILE);
        time
    });
    let uri = client.uri(FILE);
    for method in ["documentSymbol", "semanticTokens/full", "foldingRange"] {
        measure(&format!("{method}, at rest"), 20, |_| {
            let start = Instant::now();
            let params = json!({"textDocument": {"uri": uri}});
            client.request(&format!("textDocument/{method}"), params);
            start.elapsed()
        });
    }
    measure("rename of a local variable", 20, |n| {
        let marked = format!("(define (area-{n} wi^dth height)");
        ask(&mut client, "rename", &marked, json!({"newName": "broad"}))
    });
    measure("rename of a procedure", 20, |n| {
        let marked = format!("(define (are^a-{n} width height)");
        ask(
            &mut client,
            "rename",
            &marked,
            json!({"newName": format!("surface-{n}")}),
        )
    });
    measure("rename to a name that is in use", 20, |n| {
        let marked = format!("(define (area-{n} wi^dth height)");
        ask(
            &mut client,
            "rename",
            &marked,
            json!({"newName": "broad-height"}),
        ) + ask(&mut client, "rename", &marked, json!({"newName": "points"}))
    });
    assert!(client.end(), "the session ended as it should");
}
