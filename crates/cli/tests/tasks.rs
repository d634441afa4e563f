//! Tasks: how programs with tasks end, what they tell, and tasks in the modes that try the machine.

mod support;

use support::{Canny, Outcome, program, root, scratch};

const HEAD: &str = "(import (scheme base) (scheme write) (scheme process-context) (canny tasks))\n";

fn run(text: &str) -> Outcome {
    program(format!("{HEAD}{text}")).run()
}

/// Runs the program that tries tasks hard, with these variables.
#[track_caller]
fn passes_with(variables: &[(&str, &str)]) {
    let path = root().join("tests/torture/tasks.scm");
    let word = path.to_str().expect("paths of the project are UTF-8");
    let mut canny = Canny::new(scratch(), &[word])
        .environment("CANNY_GC_VERIFY", "1")
        .environment("CANNY_GC_POISON", "1");
    for (name, value) in variables {
        canny = canny.environment(name, value);
    }
    canny.run().exits_with(0);
}

#[test]
fn tasks_with_collections_all_the_time() {
    passes_with(&[("CANNY_GC_STRESS", "97")]);
    passes_with(&[("CANNY_GC_STRESS", "97"), ("CANNY_JIT", "0")]);
}

#[test]
fn tasks_with_a_small_nursery_and_code_that_is_left_without_a_reason() {
    passes_with(&[("CANNY_NURSERY", "262144"), ("CANNY_SPESH_STRESS", "3")]);
}

#[test]
fn tasks_that_never_wait_hold_up_nobody() {
    run(
        "(define hogs (map (lambda (i) (start (let loop () (loop)))) '(1 2 3 4 5 6 7 8)))
         (define (ticks n) (if (> n 0) (begin (sleep 0.001) (ticks (- n 1))) 'ticked))
         (display (await (start (ticks 20))))
         (display (await (start (begin (yield) 'ran))))
         (display (length hogs))",
    )
    .exits_with(0)
    .prints("tickedran8");
}

#[test]
fn a_task_ends_the_program() {
    run("(start (exit 7)) (sleep 100)").exits_with(7);
}

#[test]
fn what_is_to_be_done_at_the_end_is_done_though_the_text_ends_meanwhile() {
    // The text waits for what the signal ends first, as a server does.
    let text = "(import (canny signals))
         (define stopped (make-future))
         (on-shutdown (lambda () (sleep 0.05) (display \"last\")))
         (on-shutdown (lambda () (future-resolve! stopped #t) (display \"first \")))
         (start (raise-signal 'sigterm))
         (await stopped)";
    run(text).exits_with(143).prints("first last");
}

#[test]
fn the_end_of_the_program_ends_its_tasks() {
    run("(start (sleep 100)) (start (let loop () (loop))) (display 'over)")
        .exits_with(0)
        .prints("over");
}

#[test]
fn an_error_tells_the_task_that_raised_it() {
    run("(define (broken) (+ 1 (vector-ref (vector 1 2) 3)))
         (await (spawn (lambda () (broken) 1) #:name 'worker))")
    .exits_with(70)
    .complains("it was raised in the task worker")
    .complains("broken (program.scm:2:");
}

#[test]
fn tasks_that_all_wait_for_each_other_are_told() {
    run("(define first (make-future))
         (define second (start (await first)))
         (future-then second (lambda (x) (future-resolve! first x)))
         (display 'waiting)
         (await second)")
    .exits_with(70)
    .prints("waiting")
    .complains("error[deadlock]");
    run("(define forever (make-future))
         (display (guard (e ((deadlock-error? e) 'first)) (await forever)))
         (display (guard (e ((deadlock-error? e) 'second)) (await forever)))
         (display (await (start (sleep 0.001) 'alive)))")
    .exits_with(0)
    .prints("firstsecondalive");
}

#[test]
fn an_interrupt_ends_the_wait_of_the_program() {
    let text = "(define task (start (sleep 100)))
         (display \"waits\") (newline) (flush-output-port)
         (guard (e (#t (display \"interrupted\") (newline))) (await task))";
    let mut running = program(format!("{HEAD}{text}")).start();
    running.wait_for_output("waits\n");
    running.signal("INT");
    running.wait().exits_with(0).prints("waits\ninterrupted\n");
}
