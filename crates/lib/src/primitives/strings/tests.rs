//! String rows against Rust's strings, on texts of both widths.

use canny_value::Value;
use canny_vm::Thread;
use canny_vm::strings::string_text;
use proptest::prelude::*;

use crate::testing::{call, failure, machine, stressed_machine, written};

/// A text, ASCII, Latin-1 or wide.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab ]{0,12}", "[abäß]{0,12}", "[aäλ日𝒳]{0,12}"]
}

fn index(number: usize) -> Value {
    Value::fixnum(number as i64)
}

fn text_of(string: Value) -> String {
    string_text(string).expect("a string")
}

fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// A range in a text of so many characters, from two numbers.
fn range(length: usize, one: usize, other: usize) -> std::ops::Range<usize> {
    let (one, other) = (one % (length + 1), other % (length + 1));
    one.min(other)..one.max(other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn copies_and_changes(
        left in text(),
        right in text(),
        one in any::<usize>(),
        other in any::<usize>(),
        fill in any::<char>(),
    ) {
        let mut thread = stressed_machine();
        let thread = &mut *thread;
        let (mut model, source) = (characters(&left), characters(&right));
        let target = thread.string(&left);
        let string = thread.string(&right);
        let part = range(source.len(), one, other);
        let copy = call(thread, "substring", [string, index(part.start), index(part.end)]);
        prop_assert_eq!(characters(&text_of(copy)), &source[part.clone()]);
        let joined = call(thread, "string-append", [target, string, target]);
        prop_assert_eq!(text_of(joined), format!("{left}{right}{left}"));
        if part.len() <= model.len() {
            let at = other % (model.len() - part.len() + 1);
            call(thread, "string-copy!", [target, index(at), string, index(part.start), index(part.end)]);
            model[at..at + part.len()].copy_from_slice(&source[part]);
            prop_assert_eq!(characters(&text_of(target)), &model[..]);
        }
        let part = range(model.len(), other, one);
        call(thread, "string-fill!", [target, Value::character(fill), index(part.start), index(part.end)]);
        model[part.clone()].fill(fill);
        prop_assert_eq!(characters(&text_of(target)), &model[..]);
        if !model.is_empty() {
            // Overlapping, in either direction.
            let at = one % (model.len() - part.len() + 1);
            call(thread, "string-copy!", [target, index(at), target, index(part.start), index(part.end)]);
            model.copy_within(part, at);
            prop_assert_eq!(characters(&text_of(target)), &model[..]);
        }
        let bytes = call(thread, "string->utf8", [target]);
        let back = call(thread, "utf8->string", [bytes]);
        prop_assert_eq!(call(thread, "string=?", [back, target]), Value::TRUE);
        let list = call(thread, "string->list", [target]);
        let back = call(thread, "list->string", [list]);
        prop_assert_eq!(call(thread, "equal?", [back, target]), Value::TRUE);
        let vector = call(thread, "string->vector", [target]);
        let back = call(thread, "vector->string", [vector]);
        prop_assert_eq!(text_of(back), text_of(target));
    }

    #[test]
    fn comparisons(left in text(), right in text()) {
        let mut thread = machine();
        let thread = &mut *thread;
        let (one, other) = (thread.string(&left), thread.string(&right));
        for (name, expected) in [
            ("string=?", left == right),
            ("string<?", left < right),
            ("string<=?", left <= right),
            ("string>?", left > right),
            ("string>=?", left >= right),
            ("string-prefix?", right.starts_with(&left)),
            ("string-suffix?", right.ends_with(&left)),
        ] {
            prop_assert_eq!(call(thread, name, [one, other]), Value::boolean(expected), "{}", name);
        }
        let upper = call(thread, "string-upcase", [one]);
        prop_assert_eq!(call(thread, "string-ci=?", [one, upper]), Value::TRUE);
    }

    #[test]
    fn searches(text in "[abλ]{0,20}", pattern in "[abλ]{0,3}") {
        let mut thread = machine();
        let thread = &mut *thread;
        let (haystack, needle) = (characters(&text), characters(&pattern));
        let found: Vec<usize> = (0..=haystack.len())
            .filter(|&start| haystack[start..].starts_with(&needle))
            .collect();
        let position = |found: Option<&usize>| found.map_or(Value::FALSE, |&found| index(found));
        let (string, wanted) = (thread.string(&text), thread.string(&pattern));
        prop_assert_eq!(call(thread, "string-contains", [string, wanted]), position(found.first()));
        let middle = haystack.len() / 2;
        let forward = call(thread, "string-search-forward", [wanted, string, index(middle)]);
        prop_assert_eq!(forward, position(found.iter().find(|&&start| start >= middle)));
        let backward = call(thread, "string-search-backward", [wanted, string, index(middle)]);
        let ends: Vec<usize> = found.iter().map(|start| start + needle.len()).collect();
        prop_assert_eq!(backward, position(ends.iter().rfind(|&&end| end <= middle)));
        let all = call(thread, "string-search-all", [wanted, string]);
        let expected: Vec<String> = found.iter().map(usize::to_string).collect();
        prop_assert_eq!(written(thread, all), format!("({})", expected.join(" ")));
        if !pattern.is_empty() {
            let parts = call(thread, "string-split", [string, wanted]);
            let expected: Vec<String> = text.split(&pattern).map(|part| format!("{part:?}")).collect();
            prop_assert_eq!(written(thread, parts), format!("({})", expected.join(" ")));
            let joined = call(thread, "string-join", [parts, wanted]);
            prop_assert_eq!(text_of(joined), text);
        }
    }
}

fn check(thread: &mut Thread, name: &str, text: &str, expected: &str) {
    let string = thread.string(text);
    let result = call(thread, name, [string]);
    assert_eq!(written(thread, result), expected, "{name} {text}");
}

#[test]
fn case_mappings() {
    let mut thread = machine();
    let thread = &mut *thread;
    check(thread, "string-upcase", "Straße", "\"STRASSE\"");
    check(
        thread,
        "string-downcase",
        "ΧΑΟΣ ΧΑΟΣΣ. Σ",
        "\"χαος χαοσς. σ\"",
    );
    check(thread, "string-foldcase", "ΧΑΟΣΣ", "\"χαοσσ\"");
    check(thread, "string-foldcase", "Straße", "\"strasse\"");
    check(thread, "string-upcase", "ŉ ﬁ", "\"ʼN FI\"");
}

#[test]
fn trimming_and_padding() {
    let mut thread = machine();
    let thread = &mut *thread;
    check(thread, "string-trim", " \u{3000}a b ", "\"a b \"");
    check(thread, "string-trim-right", " a b\t", "\" a b\"");
    check(thread, "string-trim-both", " a b\n", "\"a b\"");
    check(thread, "string-trim-both", "  ", "\"\"");
    check(thread, "string-split", "  ab c  ", "(\"ab\" \"c\")");
    check(thread, "string-reverse", "aλb", "\"bλa\"");
    let string = thread.string("abc");
    for (name, width, expected) in [
        ("string-pad-left", 5, "  abc"),
        ("string-pad-left", 2, "bc"),
        ("string-pad-right", 5, "abc  "),
        ("string-pad-right", 2, "ab"),
        ("string-repeat", 3, "abcabcabc"),
    ] {
        let result = call(thread, name, [string, Value::fixnum(width)]);
        assert_eq!(text_of(result), expected, "{name}");
    }
    let padded = call(
        thread,
        "string-pad-left",
        [string, Value::fixnum(4), Value::character('λ')],
    );
    assert_eq!(text_of(padded), "λabc");
}

#[test]
fn refusals() {
    let mut thread = machine();
    let thread = &mut *thread;
    let literal = thread.literal_string("abc");
    let (one, nine) = (Value::fixnum(1), Value::fixnum(9));
    assert_eq!(
        failure(thread, "string-set!", [literal, one, Value::character('x')]),
        "immutable string-set!: a literal cannot be changed"
    );
    assert_eq!(
        failure(thread, "substring", [literal, nine]),
        "range substring: argument 2 is out of range: the length is 3"
    );
    assert_eq!(
        failure(thread, "substring", [literal, Value::fixnum(2), one]),
        "range substring: argument 2 is out of range: the start is above the end, which is 1"
    );
    assert_eq!(
        failure(thread, "string-ref", [literal, Value::fixnum(-1)]),
        "range string-ref: argument 2 is out of range: the indices are 0 to 2"
    );
    assert_eq!(
        failure(thread, "string-append", [literal, one]),
        "type string-append: argument 2 is not a string"
    );
    let huge = Value::fixnum(1 << 50);
    assert!(failure(thread, "make-string", [huge]).starts_with("memory"));
    assert!(failure(thread, "string-repeat", [literal, huge]).starts_with("memory"));
    let bytes = thread.bytevector(b"ab\xff").expect("room");
    assert_eq!(
        failure(thread, "utf8->string", [bytes]),
        "range utf8->string: the bytes from index 2 on are not UTF-8"
    );
}

#[test]
fn short_equal_literals_are_one_object_until_a_collection() {
    let mut thread = machine();
    let first = thread.shared_literal("a literal");
    assert_eq!(thread.shared_literal("a literal"), first);
    assert_ne!(thread.shared_literal("another literal"), first);
    let name = thread.symbol("a symbol");
    let name = call(&mut thread, "symbol->string", [name]);
    let shared = thread.shared_literal("a symbol");
    assert_eq!(string_text(shared), string_text(name));
    assert_eq!(thread.shared_literal("a symbol"), shared);
    let long = "x".repeat(65);
    let first = thread.shared_literal(&long);
    assert_ne!(thread.shared_literal(&long), first);
    thread.collect_garbage(true);
    let again = thread.shared_literal("a literal");
    assert_eq!(string_text(again).as_deref(), Some("a literal"));
}
