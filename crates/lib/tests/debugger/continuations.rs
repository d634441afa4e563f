//! Frames of continuations that a program keeps: names, places, variables, assignments.

use canny_vm::debug::Assignment;

use super::*;

const CAPTURE: &str = "\
(import (scheme base) (canny tasks))
(define (capture thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
      (lambda (object)
        (call-with-current-continuation return))
      thunk))))
(define (repeat n thunk)
  (if (> n 1) (begin (capture thunk) (repeat (- n 1) thunk)) (capture thunk)))
";

/// Runs a program whose value is a continuation.
fn continuation_of(mode: Mode, text: &str) -> (Arc<Vm>, Box<Thread>, Value) {
    let (vm, mut thread) = machine(mode);
    let text = format!("{CAPTURE}{text}");
    let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", text.as_bytes());
    let value = run(&vm, &mut thread, prepared);
    (vm, thread, value)
}

/// The frames of the program: number, name and line of each.
fn frames_of(thread: &Thread, continuation: Value) -> Vec<(usize, String, u32)> {
    let frames = thread.frames_of_continuation(continuation, 0, 1000);
    let frames = frames.expect("a continuation").into_iter().enumerate();
    let own = frames.filter(|(_, frame)| !frame.is_library);
    own.map(|(number, frame)| {
        let name = match frame.name {
            _ if frame.is_program => "program".to_owned(),
            name => name.unwrap_or_else(|| "lambda".to_owned()),
        };
        (number, name, frame.position.map_or(0, |at| at.line))
    })
    .collect()
}

/// The number of the frame of a procedure.
fn frame_of(thread: &Thread, continuation: Value, name: &str) -> usize {
    let frames = frames_of(thread, continuation);
    let found = frames.iter().find(|(_, found, _)| found == name);
    found.unwrap_or_else(|| panic!("no {name} in {frames:?}")).0
}

/// The variables of a frame as text, sorted.
fn variables_of(thread: &mut Thread, continuation: Value, frame: usize) -> Vec<String> {
    let first = thread.protect(continuation);
    let variables = thread.variables_of_continuation(continuation, frame);
    let mut texts: Vec<String> = Vec::new();
    for variable in variables {
        let value = variable.value.map(|place| thread.protected(place));
        let value = value.map_or_else(|| "gone".to_owned(), |value| written(thread, value));
        texts.push(format!("{}={value}", variable.name));
    }
    thread.release(first);
    texts.sort();
    texts
}

const TOTAL: &str = "\
(define (total items bonus)
  (let* ((count (vector-length items))
         (seen 0))
    (define (note!) (set! seen (+ seen 1)))
    (note!)
    (let ((last (vector-ref items count)))
      (note!)
      (list bonus seen last count items))))
(define (outer n)
  (let ((items (vector n 2)))
    (+ n (length (total items 'b)))))
";

#[test]
fn frames_of_a_raise_have_their_variables() {
    for mode in MODES {
        let text = format!("{TOTAL}(repeat 300 (lambda () (outer 7)))");
        let (_vm, mut thread, continuation) = continuation_of(mode, &text);
        let frames = frames_of(&thread, continuation);
        let named: Vec<(&str, u32)> = frames
            .iter()
            .map(|(_, name, line)| (name.as_str(), *line))
            .filter(|(name, _)| *name != "lambda")
            .collect();
        let at = |name: &str, line: u32| named.contains(&(name, line));
        assert!(at("total", 16) && at("outer", 21), "{mode:?}: {frames:?}");
        let total = frame_of(&thread, continuation, "total");
        let outer = frame_of(&thread, continuation, "outer");
        let variables = variables_of(&mut thread, continuation, total);
        let expected = ["bonus=b", "count=2", "items=#(7 2)", "seen=1"];
        if mode == Mode::Optimized {
            // The optimizer may have let go of some, and has replaced others by their values.
            assert!(variables.contains(&"seen=1".to_owned()), "{variables:?}");
            let known = |one: &String| expected.contains(&one.as_str()) || one.ends_with("=gone");
            let own = variables.iter().filter(|one| !one.starts_with("note!="));
            assert!(own.clone().all(known), "{variables:?}");
            continue;
        }
        for one in expected {
            assert!(
                variables.contains(&one.to_owned()),
                "{mode:?}: {variables:?}"
            );
        }
        let variables = variables_of(&mut thread, continuation, outer);
        assert_eq!(variables, ["items=#(7 2)", "n=7"], "{mode:?}");
        assert!(variables_of(&mut thread, continuation, 1000).is_empty());
    }
}

#[test]
fn frames_of_a_task_that_has_waited_have_their_variables() {
    const SLOW: &str = "\
(define (slow n)
  (let ((half (quotient n 2)))
    (sleep 0.001)
    (+ half (car half))))
(define (around n)
  (let ((text \"around\"))
    (list (slow n) text)))
(await (start (repeat 20 (lambda () (list 1 (around 8))))))
";
    for mode in &MODES[..4] {
        let (_vm, mut thread, continuation) = continuation_of(*mode, SLOW);
        let slow = frame_of(&thread, continuation, "slow");
        let around = frame_of(&thread, continuation, "around");
        let variables = variables_of(&mut thread, continuation, slow);
        assert_eq!(variables, ["half=4", "n=8"], "{mode:?}");
        let variables = variables_of(&mut thread, continuation, around);
        assert_eq!(variables, ["n=8", "text=\"around\""], "{mode:?}");
    }
}

#[test]
fn deep_frames_are_read_one_page_at_a_time() {
    const DEEP: &str = "\
(define (deep n)
  (if (= n 0)
      (car n)
      (+ 1 (deep (- n 1)))))
(capture (lambda () (deep 30000)))
";
    for mode in &MODES[..3] {
        let (_vm, mut thread, continuation) = continuation_of(*mode, DEEP);
        let newest = frame_of(&thread, continuation, "deep");
        let frames = thread.frames_of_continuation(continuation, newest + 20_000, 3);
        let names: Vec<_> = frames.unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, vec![Some("deep".to_owned()); 3], "{mode:?}");
        let variables = variables_of(&mut thread, continuation, newest + 20_000);
        assert_eq!(variables, ["n=20000"], "{mode:?}");
    }
}

#[test]
fn only_variables_with_a_box_are_assigned() {
    for mode in &MODES[..4] {
        let text = format!("{TOTAL}(repeat 3 (lambda () (outer 7)))");
        let (_vm, mut thread, continuation) = continuation_of(*mode, &text);
        let total = frame_of(&thread, continuation, "total");
        let mut assign = |name: &str| {
            let value = thread.string("new");
            thread.assign_in_continuation(continuation, total, name, value)
        };
        assert_eq!(assign("seen"), Assignment::Done, "{mode:?}");
        assert_eq!(assign("count"), Assignment::InContinuation, "{mode:?}");
        assert_eq!(assign("none"), Assignment::Gone, "{mode:?}");
        let variables = variables_of(&mut thread, continuation, total);
        for one in ["seen=\"new\"", "count=2"] {
            assert!(
                variables.contains(&one.to_owned()),
                "{mode:?}: {variables:?}"
            );
        }
    }
}

#[test]
fn other_objects_have_no_frames() {
    let (_vm, mut thread, value) = continuation_of(Mode::Interpreted, "(lambda () 1)");
    assert!(thread.frames_of_continuation(value, 0, 10).is_none());
    assert!(thread.frames_of_continuation(Value::NIL, 0, 10).is_none());
    assert!(thread.variables_of_continuation(value, 0).is_empty());
    let outcome = thread.assign_in_continuation(value, 0, "x", Value::NIL);
    assert_eq!(outcome, Assignment::Gone);
}
