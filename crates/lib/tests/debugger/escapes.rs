//! Expressions of a debugger that do not return: the task escapes from them.

use super::*;

/// Evaluates an expression at each of its stops, and writes down where they are.
struct Escaper {
    /// For one stop after the other: an expression, or how to resume.
    actions: Mutex<VecDeque<Action>>,
    seen: Mutex<Vec<String>>,
}

#[derive(Clone, Copy)]
enum Action {
    Evaluate(&'static str),
    Resume(Command),
}

impl Client for Escaper {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let mut line = describe(stop, &["i"]);
        if stop.argument().is_true() {
            line.push_str(" evaluated");
        }
        self.seen.lock().unwrap().push(line);
        match self.actions.lock().unwrap().pop_front() {
            Some(Action::Evaluate(text)) => canny_lib::debug::begin(stop, 0, text).unwrap().0,
            Some(Action::Resume(command)) => resume(command),
            None => Resume::Continue,
        }
    }
}

const LOOP: &str = "\
(import (scheme base) (canny tasks))
(define (work i k)
  (let ((twice (* 2 i)))
    (if (> i 100)
        (k 'never))
    (+ twice 1)))
(define (again i)
  (call-with-current-continuation
   (lambda (k)
     (work i k))))
(define (run)
  (let loop ((i 0) (results '()))
    (if (= i 4)
        (reverse results)
        (loop (+ i 1) (cons (again i) results)))))
(run)
";

/// The stops of the loop, and its value.
fn escape(mode: Mode, breakpoint: Breakpoint, actions: &[Action]) -> (Vec<String>, String) {
    let (vm, mut thread) = machine(mode);
    let client = Arc::new(Escaper {
        actions: Mutex::new(actions.iter().copied().collect()),
        seen: Mutex::default(),
    });
    vm.debugger().set_client(Some(client.clone()));
    thread.set_breakpoint(breakpoint);
    let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", LOOP.as_bytes());
    let value = run(&vm, &mut thread, prepared);
    let value = written(&mut thread, value);
    let seen = std::mem::take(&mut *client.seen.lock().unwrap());
    (seen, value)
}

#[test]
fn an_expression_that_escapes_is_not_waited_for() {
    use Action::{Evaluate, Resume};
    use Command::{Continue, Over};
    for mode in &MODES[..4] {
        // At a breakpoint: each stop is met anew, in a frame at the same depth.
        let actions = [
            Evaluate("(k (list i))"),
            Evaluate("(* i 2)"),
            Resume(Continue),
            Evaluate("(begin (k 'gone) i)"),
        ];
        let (seen, value) = escape(*mode, at_line(6), &actions);
        let expected = [
            "break work:6 i=0",
            "break work:6 i=1",
            "break work:6 i=1 evaluated",
            "break work:6 i=2",
            "break work:6 i=3",
        ];
        assert_eq!(seen, expected, "{mode:?}");
        assert_eq!(value, "((0) 3 gone 7)", "{mode:?}");

        // At the end of a step, where no breakpoint notices the end of the call.
        let actions = [
            Resume(Over),
            Evaluate("(k (list i))"),
            Resume(Over),
            Evaluate("(* i 2)"),
            Resume(Continue),
            Resume(Over),
            Evaluate("(k 'gone)"),
        ];
        let (seen, value) = escape(*mode, at_line(4), &actions);
        let expected = [
            "break work:4 i=0",
            "step work:6 i=0",
            "break work:4 i=1",
            "step work:6 i=1",
            "step work:6 i=1 evaluated",
            "break work:4 i=2",
            "step work:6 i=2",
            "break work:4 i=3",
        ];
        assert_eq!(seen, expected, "{mode:?}");
        assert_eq!(value, "((0) 3 gone 7)", "{mode:?}");
    }
}

#[test]
fn a_condition_that_escapes_is_asked_again_at_the_next_hit() {
    for mode in &MODES[..4] {
        let mut breakpoint = at_line(6);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = asked.clone();
        breakpoint.condition = Some(Arc::new(move |stop: &mut Stop<'_>| {
            let i = stop.value(0, "i").and_then(Value::as_fixnum).unwrap();
            let has_answer = stop.argument().is_true();
            shared.lock().unwrap().push((i, has_answer));
            if has_answer {
                let answer = stop.argument().as_object().unwrap().field(0);
                return if answer.is_true() {
                    Verdict::Stop
                } else {
                    Verdict::Pass
                };
            }
            let text = "(if (odd? i) (k (- i)) (= i 2))";
            match canny_lib::debug::begin(stop, 0, text) {
                Ok((super::Resume::Call(procedure, argument), _)) => {
                    Verdict::Call(procedure, argument)
                }
                _ => panic!("no call"),
            }
        }));
        let (seen, value) = escape(*mode, breakpoint, &[]);
        assert_eq!(seen, ["break work:6 i=2"], "{mode:?}");
        assert_eq!(value, "(1 -1 5 -3)", "{mode:?}");
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        let expected = [
            (0, false),
            (0, true),
            (1, false),
            (2, false),
            (2, true),
            (3, false),
        ];
        assert_eq!(asked, expected, "{mode:?}");
    }
}

#[test]
fn a_breakpoint_in_an_expression_does_not_hide_its_end() {
    use Action::{Evaluate, Resume};
    use Command::{Continue, Over};
    for mode in &MODES[..4] {
        let actions = [
            Resume(Over),
            // Stops in the procedure that the expression calls; at the end of the step, too.
            Evaluate("(work (+ i 50) k)"),
            Resume(Continue),
            Resume(Continue),
            Resume(Over),
            Evaluate("(work (+ i 50) k)"),
            Resume(Over),
            Resume(Continue),
            Resume(Continue),
            Evaluate("(work (+ i 50) k)"),
            // From the call to an older frame.
            Evaluate("(k 'outer)"),
        ];
        let (seen, value) = escape(*mode, at_line(4), &actions);
        let expected = [
            "break work:4 i=0",
            "step work:6 i=0",
            "break work:4 i=50",
            "step work:6 i=0 evaluated",
            "break work:4 i=1",
            "step work:6 i=1",
            "break work:4 i=51",
            "step work:6 i=51",
            "step work:6 i=1 evaluated",
            "break work:4 i=2",
            "break work:4 i=52",
            "break work:4 i=3",
        ];
        assert_eq!(seen, expected, "{mode:?}");
        assert_eq!(value, "(1 3 outer 7)", "{mode:?}");
    }
}

#[test]
fn expressions_at_the_end_of_a_step_wait_raise_and_capture() {
    use Action::{Evaluate, Resume};
    use Command::{Continue, Over};
    for mode in &MODES[..4] {
        let actions = [
            Resume(Over),
            Evaluate("(await (start (begin (sleep 0.001) (again (+ i 10)))))"),
            Evaluate(
                "(guard (e (#t e)) (let loop ((j 0)) (if (= j 5000) (raise j) (loop (+ j 1)))))",
            ),
            Evaluate("(raise 'wrong)"),
            Evaluate("(call/cc (lambda (k) (dynamic-wind list (lambda () (k 1)) list)))"),
            Resume(Continue),
            Resume(Over),
            // It escapes after the wait.
            Evaluate("(begin (sleep 0.001) (k 'late))"),
        ];
        let mut breakpoint = at_line(4);
        // The task that the first expression starts comes there, too.
        breakpoint.condition = Some(Arc::new(|stop: &mut Stop<'_>| {
            let i = stop.value(0, "i").and_then(Value::as_fixnum);
            if i < Some(10) {
                Verdict::Stop
            } else {
                Verdict::Pass
            }
        }));
        let (seen, value) = escape(*mode, breakpoint, &actions);
        let evaluated = "step work:6 i=0 evaluated";
        let expected = [
            "break work:4 i=0",
            "step work:6 i=0",
            evaluated,
            evaluated,
            evaluated,
            evaluated,
            "break work:4 i=1",
            "step work:6 i=1",
            "break work:4 i=2",
            "break work:4 i=3",
        ];
        assert_eq!(seen, expected, "{mode:?}");
        assert_eq!(value, "(1 late 5 7)", "{mode:?}");
    }
}
