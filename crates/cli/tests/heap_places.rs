//! Places of allocation and memory outside of the heap, in heap snapshots.

mod support;

use std::path::Path;

use canny_snapshot::analysis::{Analysis, Column, Grouping, SortKey, growing_places};
use canny_snapshot::expression::predicate;
use canny_snapshot::file::{Directory, Fact};
use canny_snapshot::heap::Series;
use support::{Canny, scratch};

/// A cache whose pages are made in line 4, of 40 MB for each label; line 6 makes 20 MB without a label.
const PROGRAM: &str = "(import (scheme base) (scheme write) (canny heap) (canny profile) (srfi 69))
(define cache (make-hash-table))
(define (page n)
  (make-string 4000 #\\a))
(define (vectors n)
  (vector-map (lambda (x) (make-vector 19 x)) (make-vector n 1)))
(define kept (vectors 120000))
(define (fill start)
  (let loop ((i start))
    (when (< i (+ start 10000))
      (hash-table-set! cache i (page i))
      (loop (+ i 1)))))
(with-profile-label ((route \"/first\")) (fill 0))
(heap-snapshot! \"places.heap\")
(with-profile-label ((route \"/second\")) (fill 50000))
(heap-snapshot! \"places.heap\")
(define kept-length (vector-length kept))
(set! kept #f)
(heap-snapshot! \"places.heap\" #:collect? #t)
(write (list (hash-table-size cache) kept-length))
";

fn opened(path: &Path, index: usize) -> (Directory, Analysis) {
    let series = Series::open(path).expect("it is a file of snapshots");
    let heap = series.snapshot(index).expect("it has objects");
    (series.snapshots()[index].clone(), Analysis::new(heap))
}

/// Estimated bytes by name.
fn bytes(analysis: &Analysis, by: Grouping, part: &str) -> u64 {
    let rows = analysis.table(by, Column::Bytes);
    let found = rows.iter().filter(|row| row.name.contains(part));
    found.map(|row| row.bytes).sum()
}

#[track_caller]
fn is_about(bytes: u64, expected: u64) {
    // At least 150 samples: half of the sum is six times the standard deviation.
    let range = expected / 2..expected * 3 / 2;
    assert!(range.contains(&bytes), "{bytes} for {expected}");
}

#[test]
fn allocations_have_places_and_labels() {
    let directory = scratch();
    let words = ["run", "--heap-places", "program.scm"];
    let run = Canny::new(directory.clone(), &words).file("program.scm", PROGRAM);
    run.run().exits_with(0).prints("(20000 120000)");
    let path = directory.join("places.heap");
    let (before, first) = opened(&path, 0);
    is_about(bytes(&first, Grouping::Place, "program.scm:4"), 40_000_000);
    is_about(bytes(&first, Grouping::Place, "program.scm:6"), 20_000_000);
    is_about(bytes(&first, Grouping::Label, "route=/first"), 40_000_000);
    is_about(bytes(&first, Grouping::Label, "no label"), 20_000_000);
    let (after, second) = opened(&path, 1);
    is_about(bytes(&second, Grouping::Place, "program.scm:4"), 80_000_000);
    is_about(bytes(&second, Grouping::Label, "route=/second"), 40_000_000);
    let suspects = growing_places(&[before, after]);
    // The procedure may be the one into which `page` was copied.
    let line = |name: &String| name.contains("program.scm:4)");
    assert!(suspects[0].names.iter().any(line), "{suspects:?}");

    // Sums of the directory are those of the objects.
    let heap = second.heap();
    let weight: u64 = heap
        .facts()
        .iter()
        .filter(|(_, fact, _)| *fact == Fact::Weight)
        .map(|(_, _, bytes)| bytes)
        .sum();
    let places = &heap.directory().places;
    assert_eq!(weight, places.iter().map(|place| place.bytes).sum::<u64>());
    let own = places
        .iter()
        .filter(|place| place.file.ends_with("program.scm"));
    let samples: u64 = own.map(|place| place.samples).sum();

    let count = |text: &str| {
        let wanted = predicate(text).expect("it is a query");
        let page = second.query(&wanted, SortKey::Size, 0, 1);
        page.expect("it has an answer").count
    };
    assert_eq!(count("(allocated-at? \"program.scm\")"), samples);
    let at = count("(allocated-at? \"program.scm:4\")");
    assert!(at > 10 && at < samples, "{at} of {samples}");
    let with = count("(and (allocated-at? \"program.scm:4\") (label? \"/second\"))");
    assert!(with > 5 && with < at, "{with} of {at}");
    assert_eq!(count("(allocated-at? \"program.scm:1\")"), 0);

    // A dead object has no place any more.
    let (_, third) = opened(&path, 2);
    assert!(bytes(&third, Grouping::Place, "program.scm:6") < 100_000);
    is_about(bytes(&third, Grouping::Place, "program.scm:4"), 80_000_000);

    let table = Canny::new(directory.clone(), &["heap", "places.heap", "--by", "place"]);
    let table = table.run().exits_with(0);
    assert!(table.output.contains("(program.scm:4)"), "{table:?}");
}

#[test]
fn without_samples_there_is_advice() {
    let directory = scratch();
    let text = "(import (scheme base) (canny heap)) (heap-snapshot! \"plain.heap\")";
    let run = Canny::new(directory.clone(), &["program.scm"]).file("program.scm", text);
    run.run().exits_with(0);
    let table = Canny::new(directory, &["heap", "plain.heap", "--by", "label"]).run();
    assert!(table.output.contains("--heap-places"), "{table:?}");
}

#[test]
fn memory_outside_of_the_heap_belongs_to_objects() {
    const TEXT: &str = "(import (scheme base) (scheme write) (canny heap)
        (canny sqlite) (canny regexp))
(define output (open-output-bytevector))
(write-bytevector (make-bytevector 300000 1) output)
(define input (open-input-string (make-string 50000 #\\z)))
(define words (regexp \"(alpha|beta|gamma)+[0-9]*\"))
(define database (open-database \":memory:\"))
(execute database \"create table t (x)\")
(execute database \"insert into t values (zeroblob(1000000))\")
(define (sum n total) (if (= n 0) total (sum (- n 1) (+ n total))))
(do ((i 0 (+ i 1)) (all 0 (+ all (sum 1000 0)))) ((= i 20000)))
(heap-snapshot! \"outside.heap\")
(write (list (port? output) (port? input) (regexp? words) (database? database)))
";
    let directory = scratch();
    let run = Canny::new(directory.clone(), &["program.scm"]).file("program.scm", TEXT);
    run.run().exits_with(0).prints("(#t #t #t #t)");
    let (found, analysis) = opened(&directory.join("outside.heap"), 0);
    let rows = analysis.table(Grouping::Family, Column::Bytes);
    let outside = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(0, |row| row.outside)
    };
    assert!(outside("port") >= 300_000, "{rows:?}");
    assert!(outside("external") >= 1_000_000, "{rows:?}");
    assert!(outside("code") > 0, "{rows:?}");
    assert!(found.outside >= 1_300_000, "{}", found.outside);
    let count = |text: &str| {
        let wanted = predicate(text).expect("it is a query");
        let page = analysis.query(&wanted, SortKey::Size, 0, 9);
        page.expect("it has an answer").count
    };
    assert_eq!(count("(outside >= 1MB)"), 1);
    assert_eq!(count("(and (family? 'port) (outside > 200kB))"), 1);
    assert_eq!(count("(and (family? 'external) (outside > 0))"), 2);
}

#[test]
fn captured_variables_have_names() {
    const TEXT: &str = "(import (scheme base) (canny heap))
(define (keep-all first second)
  (let ((both (list first second)))
    (lambda (more) (list both more))))
(define kept (keep-all 1 (make-vector 5 'k)))
(heap-snapshot! \"named.heap\")
(kept 1)
";
    let directory = scratch();
    let run = Canny::new(directory.clone(), &["program.scm"]).file("program.scm", TEXT);
    run.run().exits_with(0);
    let (_, analysis) = opened(&directory.join("named.heap"), 0);
    let fields = analysis.heap().types().iter();
    let mut fields = fields
        .filter(|row| row.family == "procedure")
        .map(|row| &row.fields);
    assert!(fields.any(|names| names.iter().any(|name| name == "both")));
}
