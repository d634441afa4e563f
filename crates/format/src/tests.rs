use proptest::prelude::*;

use super::{WIDTH, format};

#[track_caller]
fn check(text: &str, expected: &str) {
    let once = format(text).expect("the text is balanced");
    assert_eq!(once, expected);
    assert_eq!(format(&once).as_deref(), Ok(expected), "twice");
}

#[test]
fn indentation_follows_the_form() {
    check(
        "(define (f x)\n(if x\n1\n2))",
        "(define (f x)\n  (if x\n      1\n      2))\n",
    );
    check(
        "(let loop ((i 0)\n(j 1))\n(g\ni))",
        "(let loop ((i 0)\n           (j 1))\n  (g\n   i))\n",
    );
    check(
        "(do ((i 0 (+ i 1)))\n((= i 3))\n(f i))",
        "(do ((i 0 (+ i 1)))\n    ((= i 3))\n  (f i))\n",
    );
    check(
        "(cond\n((a) 1)\n(else\n2))",
        "(cond\n ((a) 1)\n (else\n  2))\n",
    );
    check(
        "(cond ((a)\n1)\n(else 2))",
        "(cond ((a)\n       1)\n      (else 2))\n",
    );
    check("'(define a\nb)", "'(define a\n  b)\n");
    check("#(1\n2)", "#(1\n  2)\n");
    check("(list \"a\nb\" c\nd)", "(list \"a\nb\" c\n      d)\n");
    check("(with-thing x\ny)", "(with-thing x\n  y)\n");
    check("(let bindings\n(f))", "(let bindings\n  (f))\n");
    check("(named-lambda (f x)\n(g))", "(named-lambda (f x)\n  (g))\n");
}

#[test]
fn what_only_looks_like_a_form_with_a_body() {
    check(
        "(with-exception-handler\n(lambda (e) 1)\n(lambda () 2))",
        "(with-exception-handler\n  (lambda (e) 1)\n  (lambda () 2))\n",
    );
    check(
        "(define-all\n(a 1)\n(b 2))",
        "(define-all\n  (a 1)\n  (b 2))\n",
    );
    check("(let\n((a 1))\nb)", "(let\n    ((a 1))\n  b)\n");
}

#[test]
fn bodies_without_operands_begin_below_the_keyword_or_beside_it() {
    check("(begin (a)\n(b))", "(begin (a)\n       (b))\n");
    check("(begin\n(a)\n(b))", "(begin\n  (a)\n  (b))\n");
    check("(cond-expand\n(r7rs 1))", "(cond-expand\n  (r7rs 1))\n");
}

#[test]
fn names_are_no_calls() {
    check("(lambda (a b\nc)\nd)", "(lambda (a b\n         c)\n  d)\n");
    check(
        "(syntax-rules (a b\nc)\n(d e))",
        "(syntax-rules (a b\n               c)\n  (d e))\n",
    );
}

#[test]
fn the_author_says_what_has_a_body() {
    check(
        "(my-form (x y) z\n  (a)\n  (b))",
        "(my-form (x y) z\n  (a)\n  (b))\n",
    );
    check("(f (my-form x\n     (a)))", "(f (my-form x\n     (a)))\n");
    check(" (my-form x\n   (a)\n b)", "(my-form x\n  (a)\n  b)\n");
    // The first line decides, keywords are known, and without an operand beside there is no question.
    check(
        "(my-form x\n         (a)\n  b)",
        "(my-form x\n         (a)\n         b)\n",
    );
    check("(if a\n  b\n  c)", "(if a\n    b\n    c)\n");
    check("(f\n  a)", "(f\n a)\n");
    check("'(f a\n  b)", "'(f a\n  b)\n");
}

#[test]
fn blanks_are_made_one() {
    check("( f   a\t b )", "(f a b)\n");
    check("(f a\n)\n\n\n\n(g)\n\n", "(f a)\n\n(g)\n");
    check("(f\n  a)", "(f\n a)\n");
    check("(\nf a)", "(f a)\n");
    check("' a", "'a\n");
    check("#;  (a b) c", "#;(a b) c\n");
    check("", "");
    check("\n\n(a)\r\n(b)\r\n", "(a)\n(b)\n");
}

#[test]
fn nothing_is_lost() {
    check("; a\n(f ; b\n x)\n;;; c", "; a\n(f ; b\n x)\n;;; c\n");
    check("(f x ; last\n)", "(f x ; last\n )\n");
    check("(f #| in |# x)", "(f #| in |# x)\n");
    check("#!/usr/bin/env canny\n(f)", "#!/usr/bin/env canny\n(f)\n");
    check(
        "(f #\\( #\\space |a b| #u8(1 2) #\\x)",
        "(f #\\( #\\space |a b| #u8(1 2) #\\x)\n",
    );
    check("(a . b)", "(a . b)\n");
    check("#0=(a . #0#)", "#0=(a . #0#)\n");
    check(
        "`(a ,b ,@c #'d #`e #,f #,@g)",
        "`(a ,b ,@c #'d #`e #,f #,@g)\n",
    );
    check("(f ; one\n\n; two\n\nx)", "(f ; one\n\n ; two\n\n x)\n");
}

#[test]
fn comments_behind_neighbouring_lines_stand_in_one_column() {
    check(
        "(define a 1) ; one\n(define abc 2) ; two\n\n(b) ; three",
        "(define a 1)   ; one\n(define abc 2) ; two\n\n(b) ; three\n",
    );
}

#[test]
fn long_lines_are_broken() {
    let word = "a".repeat(30);
    check(
        &format!("(f {word} {word} {word} {word})"),
        &format!("(f {word} {word} {word}\n   {word})\n"),
    );
    check(
        &format!("(define (f x) (g {word}) (g {word}) (g {word}))"),
        &format!("(define (f x)\n  (g {word})\n  (g {word})\n  (g {word}))\n"),
    );
    check(
        &format!("(let ((a {word}) (b {word}) (c {word})) a)"),
        &format!("(let ((a {word})\n      (b {word})\n      (c {word}))\n  a)\n"),
    );
    check(
        &format!("(x (if {word} {word} {word} {word}))"),
        &format!("(x (if {word}\n       {word}\n       {word}\n       {word}))\n"),
    );
    check(
        &format!("(define long-name (lambda (x) (g {word}) (g {word}) (h)))"),
        &format!("(define long-name\n  (lambda (x) (g {word}) (g {word}) (h)))\n"),
    );
    // Nothing stands behind what was broken, and a keyword not alone.
    check(
        &format!("(g (lambda (x) {word} (f {word} {word})) {word})"),
        &format!("(g (lambda (x)\n     {word}\n     (f {word} {word}))\n   {word})\n"),
    );
    check(
        &format!("(x (if (f {word} {word} {word}) 1 2))"),
        &format!("(x (if (f {word} {word}\n          {word})\n       1\n       2))\n"),
    );
    check(
        &format!("(let ((a {word})) (f {word} {word}) . body)"),
        &format!("(let ((a {word}))\n  (f {word} {word})\n  . body)\n"),
    );
    // A form that fits nowhere begins where it has more room.
    check(
        &format!("(f {word} (g {word} {word} {word} {word}))"),
        &format!("(f {word}\n   (g {word} {word} {word}\n      {word}))\n"),
    );
}

#[test]
fn what_does_not_match_up_is_told() {
    let error = |text: &str| format(text).expect_err("not balanced").to_string();
    assert_eq!(error("(a\n(b)"), "1:1: this paren is never closed");
    assert_eq!(error("(a))"), "1:4: this paren closes nothing");
    assert_eq!(
        error("(a\n ]"),
        "2:2: the list is opened by `(`, so `)` has to close it"
    );
    assert_eq!(error("\"a\n"), "1:1: this string does not end");
    assert_eq!(error("#| #| |#"), "1:1: this comment does not end");
    assert_eq!(error("(')"), "1:2: this stands before nothing");
    assert_eq!(error("a '"), "1:3: this stands before nothing");
}

#[test]
fn deep_nesting_is_no_problem() {
    let depth = 200_000;
    let text = format!("{}{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(format(&text), Ok(format!("{text}\n")));
}

/// Pieces of source text that may stand side by side.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("("),
        Just("("),
        Just(")"),
        Just(")"),
        Just("["),
        Just("]"),
        Just("'"),
        Just(",@"),
        Just("#;"),
        Just("#("),
        Just("define"),
        Just("let"),
        Just("x"),
        Just("lambda"),
        Just("\"s\nt\""),
        Just("; c\n"),
        Just(";\n"),
        Just("#|b\n|#"),
        Just("\n"),
        Just("\n\n\n"),
        Just(" "),
        Just("#\\("),
        Just("."),
        Just("a-long-name-that-takes-much-room-on-its-line"),
        Just("|a b|"),
        Just("#1="),
    ];
    proptest::collection::vec((piece, "[ \n]"), 0..60).prop_map(|pieces| {
        pieces
            .iter()
            .map(|(piece, blank)| format!("{piece}{blank}"))
            .collect()
    })
}

/// The tokens of a text as they are written.
fn words(text: &str) -> Vec<&str> {
    let tokens = super::tokens::tokens(text).expect("the text is balanced");
    tokens
        .iter()
        .map(|token| text[token.start..token.end].trim_end())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_keeps_its_tokens_and_needs_no_second_time(text in pieces()) {
        if let Ok(once) = format(&text) {
            prop_assert_eq!(words(&text), words(&once));
            prop_assert_eq!(format(&once), Ok(once.clone()));
            for line in once.lines() {
                prop_assert_eq!(line.trim_end(), line);
            }
        }
    }

    #[test]
    fn any_bytes_are_laid_out_or_refused(text in "\\PC*") {
        if let Ok(once) = format(&text) {
            prop_assert_eq!(format(&once), Ok(once.clone()));
        }
    }
}

/// The line end that is put behind the last token would be the character.
#[test]
fn a_character_that_is_missing_is_an_error() {
    assert!(format("#\\").is_err());
    assert_eq!(format("#\\\n"), Ok("#\\\n\n".to_owned()));
    assert_eq!(format("#\\ "), Ok("#\\ \n".to_owned()));
}

#[test]
fn the_width_is_what_the_documents_say() {
    assert_eq!(WIDTH, 100);
}
