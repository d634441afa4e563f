//! Tests of printed text, also for data that is cyclic, deep or long.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::Thread;

use super::{Printer, Style, brief_text_of, text_of};
use crate::testing::{call, machine, read};

fn written(thread: &mut Thread, text: &str) -> String {
    let value = read(thread, text);
    text_of(thread, value, Style::Write)
}

/// Each text is written as it was read.
fn check_same(texts: &[&str]) {
    let mut thread = machine();
    for text in texts {
        assert_eq!(written(&mut thread, text), *text);
    }
}

#[test]
fn data_are_written_as_they_are_read() {
    check_same(&[
        "()",
        "(a b c)",
        "(a . b)",
        "(a (b . c) #(1 2 #()) . d)",
        "#u8(0 255)",
        "#u8()",
        "(#t #f #!eof #!unspecific #!default)",
        "\"a\\\\b\\\"c\\n\\t\"",
        "\"λ→é\"",
        "#\\a",
        "#\\space",
        "#\\x1",
        "#\\λ",
        "|a b|",
        "||",
        "|1|",
        "|A\\|b|",
        "...",
        "+",
        "->x",
        "|+1|",
        "1+",
        "#:key",
        "-12345678901234567890",
        "1/3",
        "1.5",
        "-0.0",
        "+inf.0",
        "+nan.0",
        "1+2i",
        "1.0e+100",
        "'a",
        "`(a ,b ,@c)",
        "(quote)",
        "(quote a b)",
        "(quote . a)",
        "(((())))",
    ]);
}

fn table_of(thread: &mut Thread, associations: &[&str]) -> Value {
    let (equivalence, weakness) = (thread.symbol("equal"), Value::FALSE);
    let room = Value::ZERO;
    let table = call(thread, "%make-hash-table", [equivalence, weakness, room]);
    for association in associations {
        let pair = read(thread, association);
        let (key, value) = (pair.car().unwrap(), pair.cdr().unwrap());
        call(thread, "%hash-table-set!", [table, key, value]);
    }
    table
}

#[test]
fn what_hash_tables_hold_is_shown_and_not_written() {
    let mut thread = machine();
    let associations = [
        "(a . (1 \"x\"))",
        "(gone . 1)",
        "(\"b\" . #\\c)",
        "((2) . #(3))",
    ];
    let table = table_of(&mut thread, &associations);
    let gone = thread.symbol("gone");
    call(&mut thread, "%hash-table-delete!", [table, gone]);
    let inner = table_of(&mut thread, &[]);
    let key = thread.symbol("inner");
    call(&mut thread, "%hash-table-set!", [table, key, inner]);
    let list = thread.cons(table, Value::NIL);
    assert_eq!(
        text_of(&thread, list, Style::Show),
        "(#<hash-table a => (1 \"x\") \"b\" => #\\c (2) => #(3) inner => #<hash-table>>)"
    );
    assert_eq!(text_of(&thread, list, Style::Write), "(#<hash-table 4>)");
}

#[test]
fn hash_tables_that_hold_themselves_get_labels() {
    let mut thread = machine();
    let table = table_of(&mut thread, &["(a . 1)"]);
    let key = thread.symbol("self");
    call(&mut thread, "%hash-table-set!", [table, key, table]);
    assert_eq!(
        text_of(&thread, table, Style::Show),
        "#0=#<hash-table a => 1 self => #0#>"
    );
    let deep = (0..100_000).fold(table, |inner, _| {
        let outer = table_of(&mut thread, &[]);
        call(&mut thread, "%hash-table-set!", [outer, Value::ZERO, inner]);
        outer
    });
    assert!(text_of(&thread, deep, Style::Show).ends_with(&">".repeat(100_001)));
}

#[test]
fn display_is_for_people() {
    let mut thread = machine();
    let value = read(&mut thread, "(\"a\\nb\" #\\c |d e| #(\"f\"))");
    assert_eq!(text_of(&thread, value, Style::Display), "(a\nb c d e #(f))");
}

#[test]
fn cycles_get_labels_and_nothing_else_does() {
    check_same(&[
        "#0=(a . #0#)",
        "#0=(a b c . #0#)",
        "#0=#(1 #0# 2)",
        "(x #0=(a #0#) y)",
        "#0=(a #1=(b #0# . #1#))",
        "(#0=(a . #0#) #0#)",
        "#0=(a #(b (c . #0#)))",
    ]);
    let mut thread = machine();
    assert_eq!(written(&mut thread, "(#0=(a) #0#)"), "((a) (a))");
    assert_eq!(written(&mut thread, "'#0=(a . #0#)"), "'#0=(a . #0#)");
    assert_eq!(
        written(&mut thread, "(1 . #0=(2 3 . #0#))"),
        "(1 . #0=(2 3 . #0#))"
    );
    assert_eq!(written(&mut thread, "#0=(quote #0#)"), "#0='#0#");
    assert_eq!(
        written(&mut thread, "(quote . #0=(a . #0#))"),
        "(quote . #0=(a . #0#))"
    );
}

#[test]
fn shared_parts_get_labels_on_demand() {
    let mut thread = machine();
    let mut shared = |text: &str| {
        let value = read(&mut thread, text);
        text_of(&thread, value, Style::WriteShared)
    };
    assert_eq!(shared("(#0=(a) #0#)"), "(#0=(a) #0#)");
    assert_eq!(shared("(a . #0=(b #0#))"), "(a . #0=(b #0#))");
    assert_eq!(
        shared("#(#0=#() #1=(b) #1# #0#)"),
        "#(#0=#() #1=(b) #1# #0#)"
    );
    assert_eq!(
        shared("(#0=(x . #1=(y)) #1# #0#)"),
        "(#0=(x . #1=(y)) #1# #0#)"
    );
    assert_eq!(shared("(a a \"b\")"), "(a a \"b\")");
}

#[test]
fn simple_writing_of_a_cycle_comes_in_pieces() {
    let mut thread = machine();
    let value = read(&mut thread, "#0=(a . #0#)");
    let mut printer = Printer::new(thread.vm(), value, Style::WriteSimple);
    for _ in 0..3 {
        assert!(!printer.print_some());
        let text = printer.take_text();
        assert!(text.len() < 1 << 20 && text.contains("a a a"));
        let parked = printer.park(&mut thread);
        thread.collect_garbage(true);
        printer.unpark(&mut thread, parked);
    }
}

#[test]
fn parking_loses_nothing() {
    let mut thread = machine();
    let elements: Vec<String> = (0..40_000)
        .map(|number| format!("({number} #(\"x\" {number}))"))
        .collect();
    let text = format!("({})", elements.join(" "));
    let value = read(&mut thread, &text);
    let mut printer = Printer::new(thread.vm(), value, Style::Write);
    let mut result = String::new();
    let mut pieces = 0;
    while !printer.print_some() {
        result.push_str(&printer.take_text());
        let parked = printer.park(&mut thread);
        thread.collect_garbage(pieces % 2 == 0);
        printer.unpark(&mut thread, parked);
        pieces += 1;
    }
    result.push_str(&printer.take_text());
    assert!(pieces > 3, "{pieces}");
    assert!(result == text);
}

#[test]
fn depth_and_length_are_no_matter() {
    let mut thread = machine();
    let mut nested = Value::NIL;
    let mut flat = Value::NIL;
    for _ in 0..1_000_000 {
        nested = thread.cons(nested, Value::NIL);
        flat = thread.cons(Value::fixnum(7), flat);
    }
    let text = text_of(&thread, nested, Style::Write);
    assert_eq!(text.len(), 2 * 1_000_001);
    assert!(text.starts_with("((((") && text.ends_with("))))"));
    assert_eq!(
        text_of(&thread, flat, Style::Write).len(),
        2 * 1_000_000 + 1
    );
    assert_eq!(
        text_of(&thread, flat, Style::WriteShared).len(),
        2 * 1_000_000 + 1
    );
    let brief = brief_text_of(&thread, flat, Style::Write, 20);
    assert!(brief.len() < 30 && brief.ends_with('…'), "{brief}");
}

#[test]
fn objects_that_cannot_be_read_back_are_described() {
    let mut thread = machine();
    let name = thread.symbol("<point>");
    let fields = read(&mut thread, "#(x y)");
    let record_type = call(
        &mut thread,
        "%make-record-type",
        [name, fields, Value::FALSE],
    );
    let string = thread.string("s");
    let point = call(
        &mut thread,
        "%record",
        [record_type, Value::fixnum(1), string],
    );
    assert_eq!(
        text_of(&thread, point, Style::Write),
        "#<point x: 1 y: \"s\">"
    );
    assert_eq!(
        text_of(&thread, point, Style::Display),
        "#<point x: 1 y: s>"
    );
    assert_eq!(
        text_of(&thread, record_type, Style::Write),
        "#<record-type <point>>"
    );
    let port = call(&mut thread, "open-output-string", []);
    assert_eq!(text_of(&thread, port, Style::Write), "#<port \"string\">");
    let weak = call(&mut thread, "weak-cons", [port, Value::NIL]);
    assert!(weak.is_kind(Kind::WeakPair));
    assert_eq!(text_of(&thread, weak, Style::Write), "#<weak-pair>");
    let procedure =
        thread.primitive_procedure(canny_tables::primitives::lookup("car").expect("a row"));
    assert_eq!(
        text_of(&thread, procedure, Style::Write),
        "#<procedure car>"
    );
    let condition = thread.condition("range", "too big", &[Value::fixnum(5)], Some("f"));
    assert_eq!(
        text_of(&thread, condition, Style::Write),
        "#<condition range: f: too big>"
    );
}

#[test]
fn a_record_that_contains_itself_ends() {
    let mut thread = machine();
    let name = thread.symbol("node");
    let fields = read(&mut thread, "#(next)");
    let record_type = call(
        &mut thread,
        "%make-record-type",
        [name, fields, Value::FALSE],
    );
    let node = call(&mut thread, "%record", [record_type, Value::FALSE]);
    thread.store(node, 1, node);
    assert_eq!(text_of(&thread, node, Style::Write), "#0=#<node next: #0#>");
}
