//! Tests of queries as text: their meaning, and messages that quote the wrong part.

use proptest::prelude::*;

use super::*;

#[test]
fn expressions_have_meanings() {
    let entry = || Predicate::Type("entry".to_owned());
    for text in [
        "(type? 'entry)",
        "(type? (quote entry))",
        "(type? \"entry\")",
    ] {
        assert_eq!(predicate(text), Ok(entry()), "{text}");
    }
    assert_eq!(
        predicate("(and (type? 'entry) (retained > 1MB))"),
        Ok(Predicate::All(vec![
            entry(),
            Predicate::RetainedAtLeast(1_000_001)
        ]))
    );
    assert_eq!(
        predicate(" (or (size <= 64kB) (< size 1KiB)) "),
        Ok(Predicate::Any(vec![
            Predicate::SizeAtMost(64_000),
            Predicate::SizeAtMost(1023)
        ]))
    );
    assert_eq!(
        predicate("(held-by? (not virtual?))"),
        Ok(Predicate::HeldBy(Box::new(Predicate::Not(Box::new(
            Predicate::IsVirtual
        )))))
    );
    assert_eq!(
        predicate(r#"(text? "a\n\"\x41;")"#),
        Ok(Predicate::TextContains("a\n\"A".to_owned()))
    );
    assert_eq!(predicate("(new-since? 2)"), Ok(Predicate::NewSince(1)));
    assert_eq!(
        predicate("(type? |a b|)"),
        Ok(Predicate::Type("a b".to_owned()))
    );
}

#[test]
fn sizes_have_units() {
    assert_eq!(size("1.5MB"), Some(1_500_000));
    assert_eq!(size("3GiB"), Some(3 << 30));
    assert_eq!(size("18446744073709551615"), Some(u64::MAX));
    for wrong in ["", "MB", "1MX", "1.2.3kB", "99999999999TB"] {
        assert_eq!(size(wrong), None, "{wrong}");
    }
}

#[test]
fn messages_quote_the_wrong_part() {
    for (text, message) in [
        ("", "ends too early"),
        ("(and (type? 'a)", "missing in (and (type? 'a)"),
        ("(retained > 1MX)", "in (retained > 1MX): 1MX is no size"),
        ("(and (foo? 1))", "(foo? 1) is no query"),
        ("(size ~ 3)", "~ is no comparison"),
        ("(type?)", "in (type?): expected a name, got 0 arguments"),
        ("(text? 3)", "expected a string, got 3"),
        ("(new-since? 0)", "counted from 1"),
        ("(type? 'a) x", "followed by x"),
        (")", "closing parenthesis too much"),
        ("\"abc", "\" is missing"),
    ] {
        let error = predicate(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
    let deep = "(not ".repeat(1000);
    assert!(predicate(&deep).unwrap_err().contains("deeper"));
    assert!(predicate(&"'".repeat(1000)).unwrap_err().contains("deeper"));
}

proptest! {
    #[test]
    fn any_text_has_an_answer(text in r#"[()'"|\\x;#a-z0-9 >=.?é]{0,40}"#) {
        let _ = predicate(&text);
    }
}
