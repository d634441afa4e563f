//! Databases: acknowledged changes are there after the process was killed, whenever that was.

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{Canny, program, scratch};

/// Writes one number after the other, some in transactions, and prints each once it is stored.
const WRITER: &str = r#"
(import (scheme base) (scheme write) (canny sqlite) (canny tasks))
(define db (open-database "numbers.db"))
(execute db "create table if not exists numbers (n integer primary key)")
(define (store! n)
  (if (even? n)
      (execute db "insert into numbers values (?)" n)
      (with-transaction db
        (execute db "insert into numbers values (?)" (- n))
        (execute db "insert into numbers values (?)" n)))
  (write n)
  (newline)
  (flush-output-port))
(let loop ((n (+ 1 (query-value db "select coalesce(max(n), 0) from numbers"))))
  ;; Beside the main task as well.
  (if (= 0 (modulo n 3))
      (await (start (store! n)))
      (store! n))
  (loop (+ n 1)))
"#;

const READER: &str = r#"
(import (scheme base) (scheme write) (canny sqlite))
(define db (open-database "numbers.db"))
(write (query-value db "pragma integrity_check"))
(newline)
;; A transaction is there whole or not at all.
(write (query-value db "select count(*) from numbers a where n > 0 and n % 2 = 1
                          and not exists (select 1 from numbers b where b.n = -a.n)"))
(newline)
(for-each-row (lambda (row) (write (vector-ref row 0)) (newline)) db "select n from numbers where n > 0")
"#;

#[test]
fn what_was_acknowledged_outlasts_the_process() {
    let directory = scratch();
    std::fs::write(directory.join("writer.scm"), WRITER).expect("the scratch directory is ours");
    std::fs::write(directory.join("reader.scm"), READER).expect("the scratch directory is ours");
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..8 {
        let mut command = Canny::new(directory.clone(), &["writer.scm"]).command();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("canny starts");
        let output = child.stdout.take().expect("it is a pipe");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        acknowledged.extend(lines.by_ref().take(5 + 7 * round));
        child.kill().expect("it has not ended by itself");
        child.wait().expect("it is a child of this process");
        // Lines that were printed before the kill count as well; half a line does not.
        acknowledged.extend(lines.filter(|line| line.parse::<u64>().is_ok()));
        let outcome = Canny::new(directory.clone(), &["reader.scm"]).run();
        let text = outcome.output.clone();
        let mut stored = text.lines();
        assert_eq!(stored.next(), Some("\"ok\""), "{text}");
        assert_eq!(stored.next(), Some("0"), "{text}");
        let stored: std::collections::HashSet<&str> = stored.collect();
        for number in &acknowledged {
            assert!(stored.contains(number.as_str()), "{number} is lost");
        }
    }
    assert!(acknowledged.len() > 200);
}

#[test]
fn the_place_of_an_error_is_shown() {
    program("(import (scheme base) (canny sqlite))\n(query (open-memory-database) \"select * form t\")\n")
        .run()
        .exits_with(70)
        .complains("near \"form\": syntax error: code 1 offset 9");
}
