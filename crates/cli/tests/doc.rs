//! `canny doc`: what it shows, and that examples are run.

mod support;

use support::{Canny, canny, root};

const LIBRARY: &str = ";;; (shapes): things with an area.

(define-library (shapes)
  (export area make-square square? square-side unit twice)
  (import (scheme base))
  (begin
    ;; A square.
    (define-record-type <square> (make-square side) square? (side square-side))

    ;; The length of what has no length.
    (define unit 1)

    (define (area shape)
      \"The area of a shape.

      ```scheme
      (area (make-square 3))
      ; => 9
      (area 'x)
      ; error: square-side: argument 1 is not a record of type square: x
      ```\"
      (* (square-side shape) (square-side shape)))

    ;; Twice a number.
    ;;
    ;;   (define n 4)
    ;;   (twice n)   ; => 8
    (define (twice n) (* 2 n))))
";

#[test]
fn a_library_is_listed() {
    canny(&["doc", "shapes.sld"])
        .file("shapes.sld", LIBRARY)
        .run()
        .exits_with(0)
        .prints(
            "(shapes)

Things with an area.

• (area shape): The area of a shape.
• (make-square side): Makes a square of the values of its fields.
• (square? object): Whether an object is a square.
• (square-side square): The field side of a square.
• unit constant: The length of what has no length.
• (twice n): Twice a number.
",
        );
}

#[test]
fn a_library_is_found_by_its_name() {
    for words in [&["doc", "(shapes)"][..], &["doc", "(shapes)", "-I", "."]] {
        let outcome = canny(words).file("shapes.sld", LIBRARY).run();
        let outcome = outcome.exits_with(0);
        assert!(outcome.output.starts_with("(shapes)\n"), "{outcome:?}");
    }
    let outcome = canny(&["doc", "scheme", "char"]).run().exits_with(0);
    assert!(outcome.output.starts_with("(scheme char)\n"), "{outcome:?}");
}

#[test]
fn a_name_is_shown_with_its_libraries() {
    canny(&["doc", "list-copy"]).run().exits_with(0).prints(
        "list-copy

procedure of (scheme base), (scheme list), (canny base), (srfi 1)

    (list-copy object)

Copies the pairs of a list. Any other object is returned as it is.
",
    );
}

#[test]
fn what_is_not_there_is_guessed() {
    canny(&["doc", "vector-mapp"])
        .run()
        .exits_with(66)
        .complains("no library exports that name; did you mean 'vector-map'?");
    canny(&["doc", "(scheme bas)"])
        .run()
        .exits_with(66)
        .complains("there is no library (scheme bas); did you mean (scheme base)?");
    canny(&["doc", "(scheme"])
        .run()
        .exits_with(66)
        .complains("'(scheme' is not the name of a library");
    canny(&["doc", "--frobnicate"]).run().exits_with(64);
}

#[test]
fn each_name_of_a_group_has_its_own_text() {
    let text = |name: &str| canny(&["doc", name]).run().exits_with(0).output;
    assert!(text("database-open?").contains("\nWhether a database is open.\n"));
    assert!(text("close-database").contains("\nCloses a database; a second time does nothing.\n"));
    // The text about all names of the heading follows.
    assert!(text("database-open?").contains("closed by a later"));
    let library = text("(canny sqlite)");
    assert!(library.contains("• (database-open? database): Whether a database is open.\n"));
}

#[test]
fn words_of_a_library_come_before_directories() {
    let run = canny(&["doc", "canny", "json"]).file("canny/readme.txt", "");
    let outcome = run.file("json/a.scm", "(define a 1)").run().exits_with(0);
    assert!(outcome.output.starts_with("(canny json)\n"), "{outcome:?}");
    // A word that can only be a path is one.
    canny(&["doc", "./json"])
        .file("json/a.scm", "(define a 1)")
        .run()
        .exits_with(0)
        .prints("json/a.scm\n\n• a constant\n");
}

#[test]
fn libraries_of_the_project_are_found() {
    let project = |words: &[&str]| {
        canny(words)
            .file(
                "package.scm",
                "(package (name areas) (libraries \"src\"))\n",
            )
            .file("src/shapes.sld", LIBRARY)
    };
    let outcome = project(&["doc", "shapes"]).run().exits_with(0);
    assert!(outcome.output.starts_with("(shapes)\n"), "{outcome:?}");
    let outcome = project(&["doc", "make-square"]).run().exits_with(0);
    assert!(
        outcome
            .output
            .contains("constructor of <square> of (shapes)\n"),
        "{outcome:?}"
    );
    // A directory of that name is in nobody's way.
    let outcome = project(&["doc", "shapes"]).file("shapes/a.scm", "1");
    let outcome = outcome.run().exits_with(0);
    assert!(outcome.output.starts_with("(shapes)\n"), "{outcome:?}");
    let outcome = project(&["doc", "--test", "shapes"]).run();
    outcome
        .exits_with(0)
        .prints("3 examples, all as they say\n");
}

#[test]
fn words_that_are_no_name_are_searched_for() {
    let outcome = canny(&["doc", "semaphore"]).run().exits_with(0);
    let lines: Vec<&str> = outcome.output.lines().collect();
    assert_eq!(lines[0], "semaphore");
    assert!(
        outcome
            .output
            .contains("• (make-semaphore count [#:name name]) of (canny sync): ")
    );
    let outcome = canny(&["doc", "json"]).run().exits_with(0);
    let first = outcome.output.lines().find(|line| line.starts_with('•'));
    assert!(first.is_some_and(|line| line.starts_with("• (canny json): Reads and writes JSON")));
    // All words have to be there, in the name or in the text.
    let outcome = canny(&["doc", "reverse graphemes"]).run().exits_with(0);
    assert!(
        outcome
            .output
            .contains("• (string-grapheme-reverse string) of (canny text): ")
    );
    assert!(!outcome.output.contains("(reverse list)"));
    // A library of the project is searched, too.
    let outcome = canny(&["doc", "square-s"]).file("shapes.sld", LIBRARY);
    let outcome = outcome.run().exits_with(0);
    assert!(outcome.output.contains(" of (shapes): "), "{outcome:?}");
    canny(&["doc", "qqqqqqqqqqqq"])
        .run()
        .exits_with(66)
        .complains("there is no file 'qqqqqqqqqqqq', and no library exports that name");
    canny(&["doc", "src/semaphore.sld"])
        .run()
        .exits_with(66)
        .complains("there is no file 'src/semaphore.sld'");
}

#[test]
fn odd_files_are_told() {
    canny(&["doc", "binary.scm"])
        .file("binary.scm", b"(a)\n\xff\xfe")
        .run()
        .exits_with(66)
        .complains("binary.scm is not UTF-8 from byte 4 on");
    canny(&["doc", "half.scm"])
        .file("half.scm", "(define (f x) x)\n(define (g")
        .run()
        .exits_with(0)
        .prints("half.scm\n\n• (f x)\n");
    canny(&["doc", "empty"])
        .file("empty/readme.txt", "")
        .run()
        .exits_with(66)
        .complains("there are no Scheme files in empty");
}

#[test]
fn examples_are_run() {
    canny(&["doc", "--test"])
        .file("src/shapes.sld", LIBRARY)
        .run()
        .exits_with(0)
        .prints("3 examples, all as they say\n");
}

#[test]
fn wrong_examples_are_told_with_their_place() {
    let wrong = LIBRARY
        .replace("; => 9", "; => 10")
        .replace("; => 8", "; => 7");
    canny(&["doc", "--test", "shapes.sld"])
        .file("shapes.sld", wrong)
        .run()
        .exits_with(1)
        .complains("shapes.sld:17: error: the example gives 9, not 10\n")
        .complains("shapes.sld:27: error: the example gives 8, not 7\n")
        .complains("3 examples, 2 not as they say");
}

#[test]
fn examples_that_do_not_run_spoil_no_others() {
    let program = ";; One.\n;;   (one)  ; => 1\n(define (one) 1)\n\
                   ;; Two.\n;;   (exit 3)  ; => 2\n(define (two) 2)\n\
                   ;; Three.\n;;   (three  ; => 3\n(define (three) 3)\n\
                   ;; Four.\n;;   (let ((x)) x)  ; => 4\n(define (four) 4)\n";
    canny(&["doc", "--test", "program.scm"])
        .file("program.scm", program)
        .run()
        .exits_with(1)
        .complains("program.scm:5: error: the example does not run")
        .complains("program.scm:8: error: the example cannot be read")
        .complains("program.scm:11: error: the example does not run\n    standard input:")
        .complains("4 examples, 3 not as they say");
}

#[test]
fn pages_show_what_is_printed() {
    let page = "# Page\n\n```scheme tool.scm\n(display \"hello\")\n(newline)\n(display \
        (read))\n(newline)\n```\n\n\
                ```text input\n(a b)\n```\n\n\
                ```console\n$ canny tool.scm < input\nhello\n(a b)\n$ cat input\n(a b)\n$ canny tool.scm < \
                input\n…\n```\n\n\
                ```console\n$ rm -r somewhere\n```\n\n\
                ```scheme\n(begin (display 1) (newline) (display \"two\"))\n; prints: 1\n; prints: \
                two\n```\n";
    canny(&["doc", "--test", "page.md"])
        .file("page.md", page)
        .run()
        .exits_with(0)
        .prints("4 examples, all as they say\n");
    let wrong = page
        .replace("hello\n(a b)", "hello\n(b a)")
        .replace("prints: two", "prints: three");
    canny(&["doc", "--test", "page.md"])
        .file("page.md", wrong)
        .run()
        .exits_with(1)
        .complains("page.md:15: error: the command prints\n    hello\n    (a b)\nnot\n    hello\n    (b a)\n")
        .complains("error: the example prints\n    1\n    two\nnot\n    1\n    three\n");
}

#[test]
fn pages_have_files_and_sessions_for_their_programs() {
    let page = "# Page\n\n```text garden.txt\nbeans 30\n```\n\n\
                ```scheme\n(import (canny base) (canny files) (shapes))\n\
                (display \"two \")\n(display (twice 2))\n(newline)\n; prints: two 4\n\
                (file->lines \"garden.txt\")\n; => (\"beans 30\")\n\
                (string->file \"x\" \"new.txt\")\n(list 1 2)\n; => (1 …\n```\n\n\
                ```prompt\n> (define (f x)\n.   (* 2 x))\n> (f 3)\n$1 = 6\n> (car 1)\n…\n```\n";
    let run = canny(&["doc", "--test", "page.md"])
        .file("shapes.sld", LIBRARY)
        .file("page.md", page);
    let directory = run.directory.clone();
    run.run()
        .exits_with(0)
        .prints("4 examples, all as they say\n");
    // The files that the page shows and writes are nowhere else.
    assert!(!directory.join("garden.txt").exists() && !directory.join("new.txt").exists());
    let wrong = page.replace("two 4", "4").replace("$1 = 6", "$1 = 7");
    canny(&["doc", "--test", "page.md"])
        .file("shapes.sld", LIBRARY)
        .file("page.md", wrong)
        .run()
        .exits_with(1)
        .complains("page.md:11: error: the example prints\n    two 4\nnot\n    4\n")
        .complains("page.md:21: error: the session prints\n")
        .complains("4 examples, 2 not as they say");
}

#[test]
fn sections_of_a_page_may_be_programs() {
    let page = "# Page\n\n<!-- each section is a program -->\n\n\
                ## One\n\n```scheme\n(import (scheme base))\n(define x 1)\nx\n; => 1\n```\n\n\
                ## Two\n\n```scheme\n(sort '(2 1) <)\n; => (1 2)\nx\n; error: the variable has no value: \
                x\n```\n";
    canny(&["doc", "--test", "page.md"])
        .file("page.md", page)
        .run()
        .exits_with(0)
        .prints("3 examples, all as they say\n");
    let wrong = page.replace("; => (1 2)", "; => (2 1)");
    canny(&["doc", "--test", "page.md"])
        .file("page.md", wrong)
        .run()
        .exits_with(1)
        .complains("page.md:17: error: the example gives (1 2), not (2 1)");
    let unmarked = page.replace("; => 1", "; => 2") + "\n<!-- the examples are not run -->\n";
    canny(&["doc", "--test", "page.md"])
        .file("page.md", unmarked)
        .run()
        .exits_with(0)
        .prints("0 examples, all as they say\n");
}

#[test]
fn the_tutorial_and_the_guides_say_what_is_true() {
    for (name, least) in [("tutorial", 280), ("guide", 260)] {
        let path = root().join("docs").join(name);
        let path = path.to_str().expect("the path is UTF-8");
        let outcome = canny(&["doc", "--test", path]).run().exits_with(0);
        let count = outcome.output.split(' ').next().unwrap_or_default();
        let count: usize = count.parse().expect("it begins with a number");
        assert!(count >= least, "{name}: {count} examples");
    }
}

#[test]
fn a_site_is_written() {
    let run = canny(&["doc", "--html", "site", "src"])
        .file("src/shapes.sld", LIBRARY)
        .file("src/main.scm", ";; The main program.\n(import (shapes))\n");
    let directory = run.directory.join("site");
    run.run().exits_with(0);
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("it is there");
    assert!(read("index.html").contains("<a href=\"reference/shapes.html\">(shapes)</a>"));
    assert!(read("reference/shapes.html").contains("<code>(<b>twice</b> n)</code>"));
    assert!(read("assets/search.js").contains("\"twice\""));
}

#[test]
fn the_reference_says_what_is_true() {
    let directory = root().join("docs/reference");
    let path = directory.to_str().expect("the path is UTF-8");
    let run = Canny::new(support::scratch(), &["doc", "--test", path]);
    let outcome = run.run().exits_with(0);
    let count = outcome.output.split(' ').next().unwrap_or_default();
    let count: usize = count.parse().expect("it begins with a number");
    assert!(count >= 70, "{count} examples");
}

#[test]
fn the_prompt_shows_the_same_texts() {
    let outcome = canny(&["repl"]).input(",describe vector-map\n").run();
    assert!(
        outcome
            .output
            .contains("(vector-map procedure vector1 vector2 ...)"),
        "{outcome:?}"
    );
    assert!(
        outcome
            .output
            .contains("Calls the procedure with the elements of the vectors and")
    );
    // Of a name that shares a heading with others, its own text.
    let outcome = canny(&["repl"]).input(",describe cddr\n").run();
    let own = "The cdr of the cdr of a pair; for a list, the rest after its";
    assert!(outcome.output.contains(own), "{outcome:?}");
}
