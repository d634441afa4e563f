//! Steps over and out whose callees run at full speed: recursions, escapes, waits, and frames that come
//! back.

use super::Command::{Continue, In, Out, Over};
use super::*;

#[test]
fn a_step_over_a_deep_recursion_ends_in_its_own_frame() {
    const DEEP: &str = "\
(import (scheme base))
(define (count n)
  (if (= n 0)
      0
      (let ((below (count (- n 1))))
        (+ below 1))))
(define (tree n)
  (if (< n 2)
      n
      (+ (tree (- n 1))
         (tree (- n 2)))))
(define (all)
  (let* ((a (count 20000))
         (b (tree 20)))
    (list a
          b)))
(all)
";
    check(
        &MODES[..4],
        DEEP,
        &[at_line(13)],
        &[Over, Over, Out],
        &["a", "b"],
        &[
            "break all:13",
            "step all:14 a=20000",
            "step all:15 a=20000 b=6765",
            "step program:17",
        ],
    );
    // Into the recursion, over the rest of it, and out of all of it, one by one.
    let mut breakpoint = at_line(3);
    breakpoint.condition = Some(Arc::new(|stop: &mut Stop<'_>| {
        let is_it = stop.value(0, "n") == Some(Value::fixnum(19_998));
        if is_it { Verdict::Stop } else { Verdict::Pass }
    }));
    check(
        &MODES[..4],
        DEEP,
        &[breakpoint],
        &[Over, Over, Out, Out, Out, Over],
        &["n", "below", "a"],
        &[
            "break count:3 n=19998",
            "step count:5 n=19998",
            "step count:6 n=19998 below=19997",
            "step count:6 n=19999 below=19998",
            "step count:6 n=20000 below=19999",
            "step all:14 a=20000",
            "step all:15 a=20000",
        ],
    );
}

#[test]
fn a_step_over_a_call_that_escapes_ends_in_the_frame_that_is_left() {
    const ESCAPES: &str = "\
(import (scheme base) (canny tasks))
(define (leave k n)
  (if (= n 0)
      (k 'left)
      (+ 1 (leave k (- n 1)))))
(define (inner k)
  (let ((x (leave k 1000)))
    (list x)))
(define (full)
  (let ((y (call-with-current-continuation
            (lambda (k)
              (inner k)))))
    (list y
          1)))
(define (wind)
  (let ((y (call-with-current-continuation
            (lambda (k)
              (dynamic-wind
               (lambda () 'in)
               (lambda () (inner k))
               (lambda () 'out))))))
    (list y
          2)))
(define (own)
  (let ((saved #f)
        (count 0))
    (call-with-current-continuation
     (lambda (k)
       (set! saved k)))
    (set! count (+ count 1))
    (if (< count 3)
        (leave saved 1000))
    (list count
          3)))
(list (full)
      (wind)
      (own))
";
    // Two frames older.
    check(
        &MODES[..4],
        ESCAPES,
        &[at_line(7)],
        &[Over, Over, Continue],
        &["x", "y"],
        &[
            "break inner:7",
            "step full:14 y=left",
            "step full:13 y=left",
            "break inner:7",
        ],
    );
    // To an older frame, past a winder.
    let mut breakpoint = at_line(7);
    breakpoint.passes = 1;
    check(
        &MODES[..4],
        ESCAPES,
        &[breakpoint],
        &[Over, Over],
        &["x", "y"],
        &[
            "break inner:7",
            "step wind:23 y=left",
            "step wind:22 y=left",
        ],
    );
    // To another place of the frame.
    check(
        &MODES[..4],
        ESCAPES,
        &[at_line(32)],
        &[Over, Over, Over, Over, Over],
        &["count"],
        &[
            "break own:32 count=1",
            "step own:30 count=1",
            "step own:31 count=2",
            "break own:32 count=2",
            "step own:30 count=2",
            "step own:31 count=3",
        ],
    );
}

#[test]
fn a_step_over_a_guard_that_takes_an_object() {
    const GUARDS: &str = "\
(import (scheme base))
(define (fail n)
  (if (= n 0)
      (raise 'wrong)
      (+ 1 (fail (- n 1)))))
(define (safe n)
  (guard (e ((symbol? e) e))
    (fail n)))
(define (bad n)
  (if (= n 0)
      (car n)
      (+ 1 (bad (- n 1)))))
(define (again n)
  (with-exception-handler
   (lambda (e) 42)
   (lambda ()
     (+ 1 (raise-continuable n)))))
(define (all)
  (let* ((a (safe 1000))
         (b (guard (e (#t 'caught))
              (bad 100)
              1))
         (c (again 1)))
    (list a
          b
          c)))
(all)
";
    check(
        &MODES[..4],
        GUARDS,
        &[at_line(19)],
        &[Over, Over, Over, Over, Over],
        &["a", "b", "c"],
        &[
            "break all:19",
            "step all:20 a=wrong",
            "step all:23 a=wrong b=caught",
            "step all:24 a=wrong b=caught c=43",
            "step all:25 a=wrong b=caught c=43",
            "step all:26 a=wrong b=caught c=43",
        ],
    );
}

#[test]
fn a_step_over_a_call_that_waits() {
    const WAITS: &str = "\
(import (scheme base) (canny tasks))
(define (slow n)
  (let ((value (await (start (begin (sleep 0.005) n)))))
    (let loop ((i 0))
      (if (< i 10000)
          (loop (+ i 1))
          (+ i value)))))
(define (both n)
  (let* ((a (slow n))
         (b (slow (+ n 1))))
    (list a
          b)))
(let ((first (start (both 1)))
      (second (start (both 2))))
  (list (await first)
        (await second)))
";
    for mode in &MODES[..4] {
        let mut breakpoint = at_line(9);
        breakpoint.condition = Some(Arc::new(|stop: &mut Stop<'_>| {
            let is_it = stop.value(0, "n") == Some(Value::fixnum(2));
            if is_it { Verdict::Stop } else { Verdict::Pass }
        }));
        let commands = [Over, Over, Continue];
        let (seen, value) = debug(*mode, WAITS, &[breakpoint], &commands, &["n", "a", "b"]);
        let expected = [
            "break both:9 n=2",
            "step both:10 n=2 a=10002",
            "step both:11 n=2 a=10002 b=10003",
        ];
        assert_eq!(seen, expected, "{mode:?}");
        assert_eq!(value, "((10001 10002) (10002 10003))", "{mode:?}");
    }
}

#[test]
fn a_step_over_a_generator_that_yields() {
    const GENERATOR: &str = "\
(import (scheme base))
(define (make n)
  (define return #f)
  (define resume #f)
  (define (yield value)
    (call-with-current-continuation
     (lambda (k)
       (set! resume k)
       (return value))))
  (define (begin-again)
    (let loop ((i 0))
      (yield (* i i))
      (loop (+ i 1))))
  (lambda ()
    (call-with-current-continuation
     (lambda (k)
       (set! return k)
       (if resume
           (resume #f)
           (begin-again))))))
(define (use next)
  (let* ((a (next))
         (b (next))
         (c (next)))
    (list a
          b
          c)))
(use (make 1))
";
    check(
        &MODES[..4],
        GENERATOR,
        &[at_line(21)],
        &[Over, Over, Over, Over, Over],
        &["a", "b", "c"],
        &[
            "break use:22",
            "step use:23 a=0",
            "step use:24 a=0 b=1",
            "step use:25 a=0 b=1 c=4",
            "step use:26 a=0 b=1 c=4",
            "step use:27 a=0 b=1 c=4",
        ],
    );
}

#[test]
fn steps_out_of_what_compiled_code_and_the_library_call() {
    const CALLERS: &str = "\
(import (scheme base))
(define (leaf x)
  (if (= x 4999)
      (mark x)
      x))
(define (mark x)
  (+ x 1))
(define (sum n)
  (let loop ((i 0) (s 0))
    (if (= i n)
        s
        (loop (+ i 1)
              (+ s (leaf i))))))
(define (mapped)
  (let ((l (map (lambda (x)
                  (mark x))
                '(1 2 3))))
    (list l
          (sum 5000))))
(list (sum 5000)
      (mapped))
";
    // The loop has been compiled by then. The rest of it runs to the same place in the second call.
    check(
        &MODES[..4],
        CALLERS,
        &[at_line(4)],
        &[Over, Out, Continue, Out, Out],
        &["x", "i"],
        &[
            "break leaf:4 x=4999",
            "step sum:13 i=4999",
            "step program:21",
            "break leaf:4 x=4999",
            "step sum:13 i=4999",
            "step mapped:18",
        ],
    );
    check(
        &MODES[..4],
        CALLERS,
        &[at_line(16)],
        &[In, Out, Over, In, Out, Out, Continue],
        &["x"],
        &[
            "break lambda:16 x=1",
            "step mark:7 x=1",
            "break lambda:16 x=2",
            "break lambda:16 x=3",
            "step mark:7 x=3",
            "step mapped:19",
            "step program:20",
        ],
    );
}

#[test]
fn a_breakpoint_in_a_callee_ends_a_step_over() {
    const NESTED: &str = "\
(import (scheme base))
(define (down n)
  (if (= n 0)
      0
      (+ 1 (down (- n 1)))))
(define (twice n)
  (let* ((a (down n))
         (b (down n)))
    (+ a b)))
(list (twice 300)
      (twice 300)
      (twice 300))
";
    check(
        &MODES[..4],
        NESTED,
        &[at_line(7), at_line(4)],
        &[Over, Out, Over, Out, Continue],
        &["n", "a"],
        &[
            "break twice:7 n=300",
            "break down:4 n=0",
            "step down:5 n=1",
            "step down:5 n=2",
            "step down:5 n=3",
            "break down:4 n=0",
            "break twice:7 n=300",
            "break down:4 n=0",
            "break down:4 n=0",
            "break twice:7 n=300",
            "break down:4 n=0",
            "break down:4 n=0",
        ],
    );
}

#[test]
fn steps_over_calls_that_a_loop_or_the_library_repeats() {
    const REPEATED: &str = "\
(import (scheme base))
(define (fib n)
  (if (< n 2)
      n
      (+ (fib (- n 1)) (fib (- n 2)))))
(define (spin n)
  (do ((n n (- n 1)))
      ((= n 0) 'spun)
    (fib 3)))
(define (total v)
  (let ((sum 0))
    (vector-for-each
     (lambda (x)
       (set! sum
             (+ sum (fib x))))
     v)
    sum))
(spin 2)
(total (vector 5 6))
";
    // A loop begins again right behind the call.
    check(
        &MODES[..4],
        REPEATED,
        &[at_line(9)],
        &[Over, Over, Over, Over],
        &["n"],
        &[
            "break spin:9 n=2",
            "step spin:7 n=2",
            "step spin:8 n=1",
            "break spin:9 n=1",
            "step spin:7 n=1",
        ],
    );
    check(
        &MODES[..4],
        REPEATED,
        &[at_line(15)],
        &[Over, Over, Over, Over],
        &["x", "sum"],
        &[
            "break lambda:15 x=5 sum=0",
            "break lambda:15 x=6 sum=5",
            "step total:17 sum=13",
            "step program:19",
        ],
    );
}

/// Steps over a call that does not return, and ends it when the task is paused.
struct Pausing {
    vm: Arc<Vm>,
    seen: Mutex<Vec<String>>,
}

impl Client for Pausing {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let mut seen = self.seen.lock().unwrap();
        seen.push(describe(stop, &[]));
        if seen.len() > 1 {
            return Resume::Return(Value::fixnum(42));
        }
        let (vm, task) = (self.vm.clone(), stop.task());
        std::thread::spawn(move || {
            // Long enough for the loop to be compiled.
            std::thread::sleep(std::time::Duration::from_millis(100));
            vm.debugger().pause(task);
        });
        Resume::Step(StepKind::Over, Granularity::Line)
    }
}

#[test]
fn a_pause_ends_a_step_over_a_call_that_does_not_return() {
    const ENDLESS: &str = "\
(import (scheme base))
(define (spin v)
  (let loop ((i 0))
    (vector-set! v 0 i) (if (eq? i 'never) i (loop (if (> i 1000) 0 (+ i 1))))))
(define (call)
  (let ((x (spin (vector 0))))
    (list x)))
(call)
";
    for mode in &MODES[..4] {
        let (vm, mut thread) = machine(*mode);
        let client = Arc::new(Pausing {
            vm: vm.clone(),
            seen: Mutex::default(),
        });
        vm.debugger().set_client(Some(client.clone()));
        thread.set_breakpoint(at_line(6));
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", ENDLESS.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        assert_eq!(written(&mut thread, value), "(42)", "{mode:?}");
        let seen = std::mem::take(&mut *client.seen.lock().unwrap());
        assert_eq!(seen, ["break call:6", "step spin:4"], "{mode:?}");
    }
}
