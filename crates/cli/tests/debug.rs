//! `canny debug`: a program with a prompt, driven by commands from standard input.

mod support;

use support::{Canny, Outcome, root, scratch};

const PROGRAM: &str = "\
(import (scheme base) (scheme write))
(define (factorial n)
  (if (= n 0)
      1
      (* n
         (factorial (- n 1)))))
(define (note x)
  (let ((y (* 2 x)))
    (display y)
    (newline)
    y))
(note (factorial 3))
(guard (e (#t (display \"caught\")))
  (error \"wrong\" 1))
";

fn debugged(commands: &[&str]) -> Outcome {
    let words = ["debug", "program.scm"];
    Canny::new(scratch(), &words)
        .file("program.scm", PROGRAM)
        .input(commands.join("\n") + "\n")
        .run()
}

/// The lines of the prompt, without the prompt itself.
fn lines(outcome: &Outcome) -> Vec<String> {
    let text = outcome.errors.replace("(debug) ", "");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_program_stops_shows_and_continues() {
    let outcome = debugged(&[
        "break 4",
        "break note",
        "continue",
        "backtrace",
        "print (+ n (vector-length (vector 1 2)))",
        "delete 1",
        "up",
        "locals",
        "continue",
        "next",
        "print (set! y (+ y x))",
        "continue",
    ])
    .exits_with(0)
    .prints("18\ncaught");
    assert_eq!(
        lines(&outcome),
        [
            "the program at program.scm:2:1",
            "    2  (define (factorial n)",
            "Breakpoint 1 at line 4.",
            "Breakpoint 2 at note.",
            "Breakpoint 1, factorial at program.scm:4:7",
            "    4        1",
            "*  0  factorial at program.scm:4:7",
            "   1  factorial at program.scm:6:10",
            "   2  factorial at program.scm:6:10",
            "   3  factorial at program.scm:6:10",
            "   4  the program at program.scm:12:7",
            "2",
            "factorial at program.scm:6:10",
            "    6           (factorial (- n 1)))))",
            "n = 1",
            "Breakpoint 2, note at program.scm:8:15",
            "    8    (let ((y (* 2 x)))",
            "note at program.scm:9:5",
            "    9      (display y)",
            "y was changed for this frame; closures keep what they had",
        ]
    );
}

#[test]
fn raised_objects_stop_the_program() {
    let outcome = debugged(&["catch", "continue", "quit"]).exits_with(0);
    let lines = lines(&outcome);
    let raised = lines.iter().position(|line| line.starts_with("Raised: "));
    let raised = raised.expect("it stopped");
    assert!(lines[raised].contains("wrong"), "{lines:?}");
    assert!(lines[raised + 1].contains("program.scm:14:3"), "{lines:?}");
}

#[test]
fn wrong_commands_are_told() {
    let outcome = debugged(&[
        "what",
        "frame 1000",
        "print",
        "print (",
        "break nowhere.scm:3",
    ]);
    let text = outcome.errors;
    for expected in [
        "there is no command 'what'",
        "There is no such frame.",
        "'print' takes EXPRESSION",
        "Breakpoint 1 waits for code that is loaded later.",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The end of the commands ends the program.
    assert_eq!(outcome.output, "");
}

#[test]
fn wrong_numbers_are_told_and_nothing_is_printed_for_no_value() {
    let outcome = debugged(&[
        "delete 7",
        "frame 99",
        "print (if #f #f)",
        "print 5",
        "quit",
    ]);
    let lines = lines(&outcome);
    assert_eq!(lines[2], "There is no breakpoint 7.", "{outcome:?}");
    assert_eq!(lines[3], "There is no such frame.", "{outcome:?}");
    assert_eq!(lines[4], "5", "{outcome:?}");
}

/// Conditions, hit counts and messages; a place that is run to once; a list of breakpoints.
#[test]
fn breakpoints_have_conditions_counts_and_messages() {
    let outcome = debugged(&[
        "break 4 hits == 1 if (= n 0)",
        "break 5 hits often",
        "log 6 n is {n}, twice {(* 2 n)}",
        "continue",
        "list",
        "breakpoints",
        "until note",
        "locals",
        "until 99",
        "catch uncaught",
        "catch file read",
        "tasks",
        "continue",
    ])
    .exits_with(0)
    .prints("12\ncaught");
    let lines = lines(&outcome);
    let expected = [
        "n is 3, twice 6",
        "n is 1, twice 2",
        "Breakpoint 1, factorial at program.scm:4:7",
        ">   4        1",
        "  1  at 4 hits == 1 if (= n 0), met 1 times",
        "  2  at 6 log n is {n}, twice {(* 2 n)}, met 3 times",
        "x = 6",
        "There is no code there.",
    ];
    for line in expected {
        assert!(
            lines.iter().any(|one| one.ends_with(line)),
            "{line}: {lines:#?}"
        );
    }
    let wrong = "'often' is no number of hits, such as 5, >= 5, == 5 or % 5";
    assert!(lines.iter().any(|line| line == wrong), "{lines:#?}");
    let no_tasks = lines
        .iter()
        .any(|line| line == "The program uses no tasks.");
    assert!(no_tasks, "{lines:#?}");
}

/// Stopping one task of two shows a race: both have read the same balance.
#[test]
fn tasks_are_listed() {
    let program = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define balance 100)
(define done (make-channel 10))
(define (withdraw amount)
  (let ((before balance))
    (yield)
    (set! balance (- before amount))
    (channel-send! done #t)))
(start (withdraw 10))
(start (withdraw 20))
(channel-receive done)
(channel-receive done)
(display balance)
";
    let commands = [
        "break 7",
        "continue",
        "tasks",
        "print before",
        "continue",
        "print before",
    ];
    let outcome = Canny::new(scratch(), &["debug", "-t", "program.scm"])
        .file("program.scm", program)
        .input(commands.join("\n") + "\ncontinue\n")
        .run()
        .exits_with(0);
    // The withdrawal that is written last is the only one, which is the race.
    assert!(
        ["80", "90"].contains(&outcome.output.as_str()),
        "{outcome:?}"
    );
    let lines = lines(&outcome);
    // It may not wait yet.
    let main = lines.iter().any(|line| line.starts_with("   0  main"));
    assert!(main, "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.ends_with("stands still here")),
        "{lines:#?}"
    );
    let read = lines.iter().filter(|line| line.as_str() == "100").count();
    assert_eq!(read, 2, "{lines:#?}");
}

/// Conditions that the debugger decides by itself are true where the program finds them true.
#[test]
fn conditions_mean_the_same_with_and_without_a_call() {
    let program = "\
(import (scheme base))
(define (look i x)
  (let ((v (vector i)))
    (vector-ref v 0)))
(let loop ((i -9))
  (if (< i 10)
      (begin
        (look i (if (even? i) (list i) (list i i)))
        (look i i)
        (look i '())
        (loop (+ i 1)))))
";
    let conditions = [
        "(= (modulo (* i 3) 7) 2)",
        "(= (modulo i -4) -1)",
        "(< (quotient i 2) (remainder i 5))",
        "(not (or (zero? i) (positive? i)))",
        "(and (odd? i) (negative? i))",
        "(and (pair? x) (null? (cdr x)))",
        "(and (pair? x) (pair? (cdr x)) (= (cadr x) (car x) 3))",
        "(and (pair? x) (> (car x) 7))",
        "(or (vector? x) (symbol? x) (null? x))",
        "(and (vector? v) (= (- (vector-length v) i) 0))",
        "(> (* (* (* i 2000000000) 2000000000) 2000000000) (- 5 2))",
        "(eqv? (+ i 1) (- 5 i))",
    ];
    let hits = |condition: &str| {
        let outcome = Canny::new(scratch(), &["debug", "program.scm"])
            .file("program.scm", program)
            .input(format!(
                "break 4 if {condition}\ncontinue\n{}",
                "print (list i x)\ncontinue\n".repeat(60)
            ))
            .run()
            .exits_with(0);
        let lines = lines(&outcome).into_iter();
        let values = lines.filter(|line| line.starts_with('('));
        values.collect::<Vec<String>>()
    };
    for condition in conditions {
        let own = hits(condition);
        assert_eq!(own, hits(&format!("(let () {condition})")), "{condition}");
        assert!(!own.is_empty() && own.len() < 57, "{condition}: {own:?}");
    }
}

/// Both tasks stand still at the same time, and the prompt goes from one to the other. A place where a
/// program stops once is forgotten.
#[test]
fn the_prompt_goes_from_task_to_task() {
    let program = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define requests (make-channel))
(define (serve name)
  (let ((own (list name)))
    (channel-receive requests)
    (car own)))
(define one (start (serve 'one)))
(define two (start (serve 'two)))
(sleep 0.01)
(channel-send! requests 1)
(channel-send! requests 2)
(display (list (await one) (await two)))
";
    let commands = [
        "tbreak 12",
        "break 6",
        "continue",
        "task 1",
        "locals",
        "task 2",
        "locals",
        "task 0",
        "breakpoints",
        "continue",
        "continue",
        "continue",
    ];
    let outcome = Canny::new(scratch(), &["debug", "program.scm"])
        .file("program.scm", program)
        .input(commands.join("\n") + "\n")
        .run()
        .exits_with(0)
        .prints("(one two)");
    let lines = lines(&outcome);
    for line in ["own = (one)", "own = (two)"] {
        assert!(lines.iter().any(|one| one == line), "{line}: {lines:#?}");
    }
    let listed = lines.iter().any(|line| line.starts_with("  2  at 6, met"));
    let once = lines.iter().any(|line| line.starts_with("  1  at 12"));
    assert!(listed && !once, "{lines:#?}");
}

/// A variable of the program is watched: who assigns it, and what it becomes.
#[test]
fn assignments_of_variables_stop_the_program() {
    let program = "\
(import (scheme base) (scheme write))
(define total 0)
(define (add x)
  (set! total (+ total x)))
(let loop ((i 0))
  (if (< i 100000)
      (begin (add i) (loop (+ i 1)))))
(display total)
";
    let commands = [
        "watch total if (= x 77777)",
        "continue",
        "print x",
        "finish",
        "print total",
    ];
    let outcome = Canny::new(scratch(), &["debug", "program.scm"])
        .file("program.scm", program)
        .input(commands.join("\n") + "\ncontinue\n")
        .run()
        .exits_with(0)
        .prints("4999950000");
    let lines = lines(&outcome);
    let told = "total is 3024591976, will be 3024669753";
    for line in [told, "77777", "3024669753"] {
        assert!(lines.iter().any(|one| one == line), "{line}: {lines:#?}");
    }
}

/// The end of an expression is noticed, whatever became of the breakpoint at which the task stands.
#[test]
fn expressions_end_where_a_breakpoint_was_removed_or_set() {
    let outcome = debugged(&[
        "break 9",
        "continue",
        "delete 1",
        "print (* x 1000)",
        "break 9",
        "print (* y 1000)",
        "finish",
        "print (+ 1 1)",
        "continue",
    ])
    .exits_with(0)
    .prints("12\ncaught");
    let lines = lines(&outcome);
    for line in ["6000", "12000", "2"] {
        assert!(lines.iter().any(|one| one == line), "{line}: {lines:#?}");
    }
}

/// Examples print what they always do with a breakpoint on each of their lines, whose condition is false.
#[test]
fn breakpoints_on_every_line_change_nothing() {
    let examples = root().join("examples");
    for name in ["algebra", "interpreter", "life", "sudoku"] {
        let path = examples.join(format!("{name}.scm"));
        let text = std::fs::read_to_string(&path).expect("the example is there");
        let commands: Vec<String> = (1..=text.lines().count())
            .map(|line| format!("break {line} if #f\n"))
            .chain(["breakpoints\n".to_owned(), "continue\n".to_owned()])
            .collect();
        let outcome = Canny::new(scratch(), &["debug", path.to_str().expect("UTF-8")])
            .input(commands.concat())
            .run()
            .exits_with(0);
        let expected = examples.join(format!("expected/{name}.txt"));
        let expected = std::fs::read_to_string(expected).expect("what it prints is known");
        assert_eq!(outcome.output, expected, "{name}: {}", outcome.errors);
        let places = outcome.errors.matches("met 0 times").count();
        assert!(places > 10, "{name}: {}", outcome.errors);
    }
}

/// A debugger without people stops at each place of a program, or steps through it.
#[test]
fn programs_do_not_notice_a_debugger_without_people() {
    let program = "\
(import (scheme base) (scheme write))
(define (square x)
  (* x x))
(define (sum n)
  (let loop ((i 0) (s 0))
    (if (= i n)
        s
        (loop (+ i 1) (+ s (square i))))))
(display (sum 300000))
";
    for (variable, verb) in [
        ("CANNY_DEBUG_BREAKS", "run"),
        ("CANNY_DEBUG_BREAKS", "debug"),
        ("CANNY_DEBUG_STEPS", "run"),
        ("CANNY_DEBUG_STEPS", "debug"),
    ] {
        let directory = scratch();
        let log = directory.join("stops");
        Canny::new(directory, &[verb, "program.scm"])
            .file("program.scm", program)
            .environment(variable, "40")
            .environment("CANNY_DEBUG_LOG", log.to_str().expect("UTF-8"))
            .run()
            .exits_with(0)
            .prints("8999955000050000");
        let stops = std::fs::read_to_string(&log).expect("there is a log");
        let stops: Vec<&str> = stops.lines().collect();
        assert!(stops.len() >= 40, "{variable} {verb}: {stops:#?}");
        let is_inside = |stop: &&str| stop.ends_with("program.scm:8");
        assert!(stops.iter().any(is_inside), "{variable} {verb}: {stops:#?}");
    }
}

const MACROS: &str = "\
(import (scheme base) (scheme write) (srfi 211 explicit-renaming))
(define-syntax while
  (syntax-rules ()
    ((_ test body ...)
     (let loop ()
       (when test
         body ...
         (loop))))))
(define-syntax swap!
  (er-macro-transformer
   (lambda (form rename same?)
     (let ((a (cadr form)) (b (car (cddr form))))
       `(,(rename 'let) ((,(rename 'tmp) ,a))
         (,(rename 'set!) ,a ,b)
         (,(rename 'set!) ,b ,(rename 'tmp)))))))
(define (count n tmp)
  (while (< tmp n)
    (swap! n tmp)
    (display tmp)
    (set! n (- n 9))))
(count 1 0)
";

/// The expansion of a macro is shown and stepped through; steps elsewhere stay in the program.
#[test]
fn expansions_of_macros_are_stepped_into() {
    let commands = [
        "break 18",
        "continue",
        "delete 1",
        "into",
        "expansion",
        "list",
        "next",
        "next",
        "stepi",
        "finish",
    ];
    let outcome = Canny::new(scratch(), &["debug", "program.scm"])
        .file("program.scm", MACROS)
        .input(commands.join("\n") + "\n")
        .run()
        .exits_with(0)
        .prints("1");
    let expected = [
        "Breakpoint 1, count at program.scm:18:5",
        "   18      (swap! n tmp)",
        "  1  the expansion of while",
        "  2  the expansion of swap!",
        "count at program.scm:18:5, in the expansion of while",
        "    4      (swap! n tmp)",
        "           ^^^^^^^^^^^^^",
        "    1  (let loop",
        "    2    ()",
        "    3    (when (< tmp n)",
        ">   4      (swap! n tmp)",
        "    5      (display tmp)",
        "    6      (set! n (- n 9))",
        "    7      (loop)))",
        "count at program.scm:19:5, in the expansion of while",
        "    5      (display tmp)",
        "           ^^^^^^^^^^^^^",
        "count at program.scm:20:13, in the expansion of while",
        "    6      (set! n (- n 9))",
        "           ^^^^^^^^^^^^^^^^",
    ];
    assert_eq!(lines(&outcome)[3..][..expected.len()], expected);
}

/// A transformer that is a procedure has an expansion, too; a variable of it has a name of its own.
#[test]
fn expansions_of_procedures_are_stepped_into() {
    let commands = [
        "break 18", "continue", "delete 1", "into 2", "list", "stepi", "next", "finish", "into",
        "next",
    ];
    let outcome = Canny::new(scratch(), &["debug", "program.scm"])
        .file("program.scm", MACROS)
        .input(commands.join("\n") + "\n")
        .run()
        .exits_with(0)
        .prints("1");
    let expected = [
        "Breakpoint 1, count at program.scm:18:5",
        "   18      (swap! n tmp)",
        "count at program.scm:18:5, in the expansion of swap!",
        "    1  (let ((tmp.1 n))",
        "                    ^",
        ">   1  (let ((tmp.1 n))",
        "    2    (set! n tmp)",
        "    3    (set! tmp tmp.1))",
        "count at program.scm:18:5, in the expansion of swap!",
        "    2    (set! n tmp)",
        "                 ^^^",
        "count at program.scm:18:5, in the expansion of swap!",
        "    3    (set! tmp tmp.1))",
        "                   ^^^^^",
        "count at program.scm:19:5",
        "   19      (display tmp)",
        "  1  the expansion of while",
    ];
    assert_eq!(lines(&outcome)[3..][..expected.len()], expected);
}
