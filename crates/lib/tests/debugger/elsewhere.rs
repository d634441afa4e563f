//! Parts of values that are watched, steps into one of a line's calls, and frames that continue at
//! another line.

use std::sync::{Arc, Mutex};

use canny_lib::debug::watching;
use canny_lib::evaluation::Evaluation;
use canny_vm::debug::{Breakpoint, Client, Granularity, Location, Reason, Resume, StepKind, Stop};

use super::{MODES, Mode, at_line, describe, machine, run, written};

/// An act at a stop.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Watches what paths lead to, and goes on.
    Watch(&'static [&'static str]),
    Continue,
    /// Steps into the call with this number on the line.
    Into(usize),
    /// Continues at a line.
    Jump(u32),
    Over,
}

/// Does these acts, one at each stop, and writes down what it sees.
struct Acting {
    acts: Mutex<Vec<Act>>,
    seen: Mutex<Vec<String>>,
    shown: Vec<&'static str>,
}

impl Acting {
    fn note(&self, text: String) {
        self.seen.lock().unwrap().push(text);
    }
}

impl Client for Acting {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let mut line = describe(stop, &self.shown);
        if let Reason::Breakpoints(ids) = stop.reason() {
            for id in ids {
                if let Some(change) = stop.change(id) {
                    let old = stop.thread().protect(change.old);
                    let new = written(stop.thread(), change.new);
                    let old = stop.thread().protected(old);
                    let old = written(stop.thread(), old);
                    let arrow = if change.is_done { "=>" } else { "->" };
                    line.push_str(&format!(" {old}{arrow}{new}"));
                }
            }
        }
        self.note(line);
        let act = {
            let mut acts = self.acts.lock().unwrap();
            if acts.is_empty() {
                Act::Continue
            } else {
                acts.remove(0)
            }
        };
        match act {
            Act::Continue => Resume::Continue,
            Act::Over => Resume::Step(StepKind::Over, Granularity::Line),
            Act::Watch(paths) => {
                for path in paths {
                    match watching::location(stop, 0, path) {
                        Ok(location) => {
                            let thread = stop.thread();
                            thread.set_breakpoint(Breakpoint::new(location.clone()));
                            if let Location::Part(object, _) = location {
                                thread.debug_forget(object);
                            }
                        }
                        Err(message) => self.note(message),
                    }
                }
                Resume::Continue
            }
            Act::Into(number) => {
                let calls = stop.calls();
                Resume::Into(calls[number].index)
            }
            Act::Jump(line) => match stop.jumps(line).first() {
                Some(place) => Resume::Jump(place.index),
                None => {
                    self.note(format!("no place at {line}"));
                    Resume::Continue
                }
            },
        }
    }
}

fn act(
    mode: Mode,
    text: &str,
    breakpoint: Breakpoint,
    acts: &[Act],
    shown: &[&'static str],
) -> (Vec<String>, String) {
    let (vm, mut thread) = machine(mode);
    let client = Arc::new(Acting {
        acts: Mutex::new(acts.to_vec()),
        seen: Mutex::default(),
        shown: shown.to_vec(),
    });
    vm.debugger().set_client(Some(client.clone()));
    thread.set_breakpoint(breakpoint);
    let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", text.as_bytes());
    let value = run(&vm, &mut thread, prepared);
    let value = written(&mut thread, value);
    let seen = std::mem::take(&mut *client.seen.lock().unwrap());
    (seen, value)
}

const PARTS: &str = "\
(import (scheme base))
(define-record-type box (make-box content) box? (content content set-content!))
(define v (make-vector 4 0))
(define b (make-box v))
(define l (list 1 2 3))
(define other (make-vector 4 0))
(define (fill! n)
  (let ((count 0))
    (let loop ((i 0))
      (when (< i n)
        (vector-set! v (modulo i 4) i)
        (vector-set! other 3 i)
        (loop (+ i 1))))
    (set! count 5)
    (set-car! (cddr l) 'c)
    (vector-fill! (content b) 'x)
    (set-content! b #f)
    (apply vector-set! (list v 3 'last))
    (list-copy l)
    (vector-set! v 3 'end)
    count))
(fill! 2000)
(set-content! b v)
(set-car! (cddr l) 3)
(fill! 5)
";

#[test]
fn parts_of_values_are_watched() {
    // The first call makes the code hot.
    let breakpoint = Breakpoint {
        passes: 1,
        ..Breakpoint::new(Location::Procedure("fill!".to_owned()))
    };
    for mode in &MODES[..4] {
        let watch = Act::Watch(&["v 3", "b content", "l 2", "count", "v 4", "what 1"]);
        let acts = [Act::Over, watch];
        let (seen, value) = act(*mode, PARTS, breakpoint.clone(), &acts, &["i"]);
        let expected = [
            "break fill!:8",
            "step fill!:9",
            "#(x x x end) has no part '4' that can be watched",
            "what has no value here",
            "break fill!:11 i=3 end->3",
            "break fill!:14 0->5",
            "break fill!:15 3->c",
            // Behind the primitive.
            "break fill!:17 3=>x",
            "break set-content!:2 #(x x x x)->#f",
            // The call through `apply` has no break of its own.
            "break fill!:20 last->end",
        ];
        assert_eq!(value, "5", "{mode:?}");
        assert_eq!(seen, expected, "{mode:?}");
    }
}

const LINES: &str = "\
(import (scheme base))
(define (one x)
  (+ x 1))
(define (two x)
  (* x 2))
(define (work n)
  (let ((sum (+ (one n) (two (one n)))))
    (set! log (cons sum log))
    (let ((next (two sum)))
      (set! log (cons next log))
      (set! log (cons 'end log)))))
(define log '())
(work 3)
(work 5)
log
";

#[test]
fn one_of_the_calls_of_a_line_is_stepped_into() {
    for mode in &MODES[..4] {
        for (number, stop, value) in [
            (0, "step one:3 x=3", 3),
            (1, "step one:3 x=3", 3),
            (2, "step two:5 x=4", 4),
        ] {
            let acts = [Act::Into(number), Act::Over];
            let (seen, _) = act(*mode, LINES, at_line(7), &acts, &["x"]);
            let beyond = ["break work:7", stop, "step work:7"];
            assert_eq!(seen[..3], beyond, "{mode:?} {number} {value}");
        }
    }
}

#[test]
fn a_frame_continues_at_another_line() {
    for mode in &MODES[..4] {
        // Over the second line of the body, and back to the first one.
        let acts = [
            Act::Jump(9),
            Act::Over,
            Act::Over,
            Act::Jump(8),
            Act::Continue,
        ];
        let (seen, value) = act(*mode, LINES, at_line(8), &acts, &["sum", "next"]);
        let expected = [
            "break work:8 sum=12",
            "step work:9 sum=12",
            "step work:10 sum=12 next=24",
            "step work:11 sum=12 next=24",
            "break work:8 sum=12",
            "break work:8 sum=18",
        ];
        assert_eq!(seen, expected, "{mode:?}");
        assert_eq!(value, "(end 36 18 end 24 12 24)", "{mode:?}");
        // A variable without a value, and lines of others.
        for line in [10, 3, 1, 99] {
            let (seen, value) = act(*mode, LINES, at_line(8), &[Act::Jump(line)], &[]);
            assert!(seen.contains(&format!("no place at {line}")), "{seen:?}");
            assert_eq!(value, "(end 36 18 end 24 12)", "{mode:?}");
        }
    }
}
