//! The text of conditions.

use canny_value::Value;
use canny_vm::Thread;
use canny_vm::strings::string_text;

use crate::testing::{call, failure, machine, read};

/// The report of what `error` would raise for a message and irritants.
fn reported(thread: &mut Thread, message: &str, irritants: &str) -> String {
    let kind = thread.symbol("error");
    let message = read(thread, message);
    let irritants = read(thread, irritants);
    let condition = call(
        thread,
        "%make-condition",
        [kind, message, irritants, Value::FALSE],
    );
    let text = call(thread, "condition->string", [condition]);
    string_text(text).expect("a string")
}

#[test]
fn messages_and_irritants() {
    let mut thread = machine();
    assert_eq!(
        reported(&mut thread, "\"not found\"", "(a \"b\" 3)"),
        "not found: a \"b\" 3"
    );
    assert_eq!(
        reported(&mut thread, "\"not found:\"", "(a)"),
        "not found: a"
    );
    assert_eq!(reported(&mut thread, "\"not found\"", "()"), "not found");
    assert_eq!(
        reported(&mut thread, "lookup", "(\"not found\" a)"),
        "lookup: not found: a"
    );
    assert_eq!(reported(&mut thread, "(1 2)", "(3)"), "(1 2): 3");
    let many = format!("({})", "x ".repeat(100));
    assert!(reported(&mut thread, "\"m\"", &many).ends_with("x …"));
    let long = format!("((#0=(a . #0#)) \"{}\")", "y".repeat(5000));
    let text = reported(&mut thread, "\"m\"", &long);
    assert!(
        text.starts_with("m: (#0=(a . #0#)) \"yyy") && text.len() < 2500,
        "{text}"
    );
}

#[test]
fn conditions_of_primitives_say_who_what_and_where() {
    let mut thread = machine();
    let symbol = thread.symbol("a");
    let plus = canny_tables::primitives::lookup("+").expect("a row");
    let raise = thread
        .apply_primitive(plus, [Value::fixnum(1), symbol])
        .expect_err("no number");
    let condition = thread.take_raised(raise);
    let text = call(&mut thread, "condition->string", [condition]);
    assert_eq!(
        string_text(text).expect("a string"),
        "+: argument 2 is not a number: a"
    );
    assert_eq!(call(&mut thread, "error-object?", [condition]), Value::TRUE);
    assert_eq!(call(&mut thread, "file-error?", [condition]), Value::FALSE);
    let who = call(&mut thread, "condition-who", [condition]);
    assert_eq!(who, thread.symbol("+"));
}

#[test]
fn type_and_range_errors_from_scheme() {
    let mut thread = machine();
    let who = thread.symbol("f");
    let expected = thread.string("index");
    let arguments = [who, Value::fixnum(2), expected, Value::TRUE];
    let message = failure(&mut thread, "%type-error", arguments);
    assert_eq!(message, "type f: argument 2 is not an index");
}
