//! `read` over string ports: what is read, what is refused and where.

use canny_value::Value;
use canny_vm::Thread;
use canny_vm::condition::field;

use crate::printer::{Style, text_of};
use crate::testing::{call, machine, stressed_machine};

fn port_on(thread: &mut Thread, text: &str) -> Value {
    let text = thread.string(text);
    call(thread, "open-input-string", [text])
}

/// Everything in a text, each datum written again.
fn read_all(thread: &mut Thread, text: &str) -> Vec<String> {
    let port = port_on(thread, text);
    let mut data = Vec::new();
    loop {
        let datum = call(thread, "read", [port]);
        if datum == Value::EOF {
            return data;
        }
        data.push(text_of(thread, datum, Style::Write));
    }
}

/// The message and the place of the error in a text.
fn error_in(thread: &mut Thread, text: &str) -> (String, String) {
    let port = port_on(thread, text);
    let read = canny_tables::primitives::lookup("read").expect("a row");
    loop {
        match thread.apply_primitive(read, [port]) {
            Ok(datum) => assert!(datum != Value::EOF, "{text} has no error"),
            Err(raise) => {
                let condition = thread.take_raised(raise);
                let fields = condition.as_object().expect("a condition");
                let kind = text_of(thread, fields.field(field::KIND), Style::Display);
                assert_eq!(kind, "read");
                let message = text_of(thread, fields.field(field::MESSAGE), Style::Display);
                let place = text_of(thread, fields.field(field::IRRITANTS), Style::Display);
                return (message, place);
            }
        }
    }
}

#[test]
fn data_comments_and_directives() {
    let mut thread = machine();
    let all = read_all(
        &mut thread,
        "a #;(b c) #| block #| nested |# |# (d #;e . f) ; line\n#!fold-case ABC #!no-fold-case ABC",
    );
    assert_eq!(all, ["a", "(d . f)", "abc", "ABC"]);
    assert_eq!(read_all(&mut thread, " ; nothing\n"), Vec::<String>::new());
    assert_eq!(
        read_all(&mut thread, "#\\x41 #\\( #true"),
        ["#\\A", "#\\(", "#t"]
    );
}

#[test]
fn labels_make_shared_and_circular_structure() {
    for mut thread in [machine(), stressed_machine()] {
        let port = port_on(
            &mut thread,
            "(#0=(a) #0#) #1=(x . #1#) #2=#(#2# #3=(#2# #3#)) #0=b",
        );
        let shared = call(&mut thread, "read", [port]);
        let second = shared.cdr().and_then(Value::car);
        assert!(shared.car().is_some() && shared.car() == second);
        let circle = call(&mut thread, "read", [port]);
        assert_eq!(circle.cdr(), Some(circle));
        let vector = call(&mut thread, "read", [port]);
        assert_eq!(
            text_of(&thread, vector, Style::Write),
            "#0=#(#0# #1=(#0# #1#))"
        );
        let plain = call(&mut thread, "read", [port]);
        assert_eq!(text_of(&thread, plain, Style::Write), "b");
    }
}

#[test]
fn everything_survives_collections() {
    let mut thread = stressed_machine();
    let text =
        "(a (b #(c \"d\" 12345678901234567890 1/3 1.5) . e) #u8(1 2) 'f #:g (h (i (j (k)))))";
    assert_eq!(read_all(&mut thread, text), [text]);
}

#[test]
fn nesting_is_limited_by_memory_alone() {
    let mut thread = machine();
    let depth = 200_000;
    let text = format!("{}{}", "(".repeat(depth), ")".repeat(depth));
    let port = port_on(&mut thread, &text);
    let mut datum = call(&mut thread, "read", [port]);
    let mut found = 0;
    while let Some(car) = datum.car() {
        datum = car;
        found += 1;
    }
    assert_eq!(found, depth - 1);
    let text = format!("{}a", "'".repeat(depth));
    let port = port_on(&mut thread, &text);
    assert!(call(&mut thread, "read", [port]).is_pair());
}

#[test]
fn errors_say_where() {
    let mut thread = machine();
    let (message, irritants) = error_in(&mut thread, "a\n (b\n  c");
    assert!(message.contains("not closed"), "{message}");
    assert!(message.starts_with("string:2:2: "), "{message}");
    assert_eq!(irritants, "()");
    for (text, place) in [
        ("abc\r\ndef )", "string:2:5: "),
        ("(λλ\n\n λ . a b)", "string:3:8: "),
        ("x )", "string:1:3: "),
    ] {
        let (message, _) = error_in(&mut thread, text);
        assert!(message.starts_with(place), "{message}");
    }
    error_in(&mut thread, "#0=#0#");
    error_in(&mut thread, "#0=#1=#0#");
    error_in(&mut thread, "(#5#)");
    error_in(&mut thread, "\"abc");
    error_in(&mut thread, "#|");
    error_in(&mut thread, "(1 . )");
    error_in(&mut thread, "#u8(256)");
}

#[test]
fn reading_goes_on_behind_an_error() {
    let mut thread = machine();
    let port = port_on(&mut thread, "a ) b");
    let read = canny_tables::primitives::lookup("read").expect("a row");
    assert!(thread.apply_primitive(read, [port]).is_ok());
    let raise = thread
        .apply_primitive(read, [port])
        .expect_err("a stray paren");
    thread.take_raised(raise);
    let datum = call(&mut thread, "read", [port]);
    assert_eq!(text_of(&thread, datum, Style::Write), "b");
}
