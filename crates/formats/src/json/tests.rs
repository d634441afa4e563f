use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Reads a text cut into pieces, and makes a value of what the tape says.
fn read(text: &str, piece_bytes: usize) -> Result<(Option<Value>, usize), Fault> {
    let mut reader = Reader::new(Decimals::Text, 100);
    let mut stack = Vec::new();
    let mut start = 0;
    loop {
        let mut end = (start + piece_bytes).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let is_last = end == text.len();
        let (used, progress) = reader.feed(&text[start..end], is_last);
        start += used;
        replay(&reader.tape, &mut stack);
        reader.empty_tape();
        match progress {
            Progress::NeedsMore => assert_eq!(start, end, "a piece is used up"),
            Progress::Full => {}
            Progress::Done => return Ok((stack.pop(), start)),
            Progress::End => return Ok((None, start)),
            Progress::Fault { fault, .. } => return Err(fault),
        }
    }
}

fn replay(tape: &Tape, stack: &mut Vec<Value>) {
    let mut at = 0;
    let mut text = |length: usize| {
        at += length;
        String::from_utf8(tape.text[at - length..at].to_vec()).expect("text is UTF-8")
    };
    for event in &tape.events {
        let value = match *event {
            Event::Null => Value::Null,
            Event::True => Value::Bool(true),
            Event::False => Value::Bool(false),
            Event::Integer(integer) => Value::from(integer),
            Event::Flonum(flonum) => Value::from(flonum),
            Event::Number(length) => serde_json::from_str(&text(length)).expect("a number"),
            Event::String(length) | Event::Key(length) => Value::from(text(length)),
            Event::Start { .. } => continue,
            Event::Array(count) => Value::Array(stack.split_off(stack.len() - count)),
            Event::Object(count) => {
                let mut members = serde_json::Map::new();
                let mut parts = stack.split_off(stack.len() - 2 * count).into_iter();
                while let (Some(Value::String(key)), Some(value)) = (parts.next(), parts.next()) {
                    members.insert(key, value);
                }
                Value::Object(members)
            }
        };
        stack.push(value);
    }
}

/// The reference's opinion of a whole text. Integers that this reader gives as such may be written as `-0`.
fn reference(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn normal(value: Value) -> String {
    value.to_string().replace("-0,", "0,")
}

fn agrees(text: &str) {
    for piece_bytes in [1, 2, 3, 7, usize::MAX / 2] {
        let ours = read(text, piece_bytes).ok().and_then(|(value, end)| {
            value.filter(|_| text[end..].chars().all(|c| " \n\r\t".contains(c)))
        });
        let theirs = reference(text);
        assert_eq!(
            ours.is_some(),
            theirs.is_some(),
            "{text:?} in pieces of {piece_bytes}"
        );
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            assert_eq!(numbers_alike(ours), numbers_alike(theirs), "{text:?}");
        }
    }
}

/// The values with numbers as what they are, not how they are written.
fn numbers_alike(value: Value) -> String {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            match text.parse::<i64>() {
                Ok(integer) => integer.to_string(),
                Err(_) => text,
            }
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.into_iter().map(numbers_alike).collect();
            format!("[{}]", elements.join(","))
        }
        Value::Object(members) => {
            let members = members.into_iter();
            let members: Vec<String> = members
                .map(|(key, value)| format!("{key:?}:{}", numbers_alike(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        other => normal(other),
    }
}

#[test]
fn reads_what_the_reference_reads() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-1.5e+3",
        "1E400",
        "123456789012345678901234567890",
        "[]",
        "{}",
        "[1,[2,{}],\"x\"]",
        " [ 1 , 2 ] ",
        "{\"a\":1,\"b\":[null]}",
        "\"\\u00e9\\ud83d\\ude00\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"é→😀\"",
        "[1.0,2e1,3E-1]",
        "\"12345678901234567890\"",
        // Refused ones.
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "--1",
        "1-2",
        "0x1",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\ud800\\n\"",
        "\"\\udc00\"",
        "\"\\ud800\\ud800\"",
        "\"\u{1}\"",
        "\"\n\"",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "\u{feff}1",
        "é",
        "NaN",
        "Infinity",
        "[1}",
        "{]",
        "\u{c}1",
        "1 2",
        "'a'",
        "/**/1",
    ] {
        agrees(text);
    }
}

#[test]
fn one_value_is_read_and_no_more() {
    assert_eq!(read("[1] [2]", 3).map(|(_, end)| end), Ok(3));
    assert_eq!(read("12 13", 100).map(|(_, end)| end), Ok(2));
    assert_eq!(read("12,", 1).map(|(_, end)| end), Ok(2));
    for (text, place) in [
        ("12x", 'x'),
        ("truefalse", 'f'),
        ("null\"\"", '"'),
        ("1[", '['),
    ] {
        for piece_bytes in [1, 100] {
            assert_eq!(
                read(text, piece_bytes),
                Err(Fault::Unexpected(place)),
                "{text}"
            );
        }
    }
    assert_eq!(read("\"a\"x", 1).map(|(_, end)| end), Ok(3));
    assert_eq!(read("  ", 1), Ok((None, 2)));
}

#[test]
fn nesting_is_limited() {
    let deep = "[".repeat(100) + &"]".repeat(100);
    assert!(read(&deep, 8).is_ok());
    let deeper = "[".repeat(101) + &"]".repeat(101);
    assert_eq!(read(&deeper, 8), Err(Fault::Depth));
}

#[test]
fn faults_have_a_place() {
    let place = |text: &str| {
        let mut reader = Reader::new(Decimals::Flonum, 100);
        match reader.feed(text, true) {
            (at, Progress::Fault { fault, behind }) => (at, behind, fault),
            other => panic!("no fault: {other:?}"),
        }
    };
    assert_eq!(place("[1, x]"), (4, 0, Fault::Unexpected('x')));
    assert_eq!(place("[1, 01]"), (4, 0, Fault::Number));
    assert_eq!(place("[1, é]"), (4, 0, Fault::Unexpected('é')));
    assert_eq!(place("\"a\\x\""), (3, 0, Fault::Escape('x')));
    assert_eq!(place("\"a\tb\""), (2, 0, Fault::ControlCharacter('\t')));
    assert_eq!(place("[1"), (2, 0, Fault::EndOfText));
}

#[test]
fn long_arrays_come_in_several_tapes() {
    let text = format!("[{}]", vec!["[1,\"ab\"]"; 50_000].join(","));
    let (value, end) = read(&text, 4096).expect("valid");
    assert_eq!(end, text.len());
    assert_eq!(
        value.and_then(|value| value.as_array().map(Vec::len)),
        Some(50_000)
    );
}

/// Texts that are JSON or nearly so.
fn nearly_json() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        prop::sample::select(vec![
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            "null",
            "true",
            "false",
            "0",
            "-1",
            "1.5",
            "1e5",
            "-0.0e-3",
            "\"a\"",
            "\"\\n\"",
            "\"\\u0041\"",
            "\"\\ud83d\\ude00\"",
            " ",
            "\n",
            "\"",
            "\\",
            "é",
            "1",
            "-",
            ".",
            "e",
            "+",
        ])
        .prop_map(str::to_owned),
        "[0-9eE.+-]{1,12}",
        "\"[a-z\\\\u0-9é\"]{0,9}\"",
    ];
    prop::collection::vec(token, 0..14).prop_map(|tokens| tokens.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn accepts_and_refuses_as_the_reference_does(text in nearly_json()) {
        agrees(&text);
    }

    #[test]
    fn what_the_reference_writes_is_read(value in any_value(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).expect("text")
        } else {
            value.to_string()
        };
        agrees(&text);
    }

    #[test]
    fn strings_and_flonums_are_written_as_the_reference_reads_them(
        text in any::<String>(),
        ascii in any::<bool>(),
        flonum in any::<f64>(),
    ) {
        let mut written = String::new();
        write_string(&text, ascii, &mut written);
        prop_assert_eq!(serde_json::from_str::<String>(&written).expect("a string"), text);
        prop_assert!(!ascii || written.is_ascii());
        let mut written = String::new();
        if write_flonum(flonum, &mut written) {
            prop_assert_eq!(written.parse::<f64>(), Ok(flonum));
            prop_assert!(serde_json::from_str::<Value>(&written).is_ok());
        } else {
            prop_assert!(!flonum.is_finite());
        }
    }
}
