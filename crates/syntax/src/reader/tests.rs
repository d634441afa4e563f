use proptest::prelude::*;

use super::*;
use crate::datum::Datum;
use crate::number::Number;

fn read_all(text: &str) -> SourceForms {
    read_source(&SourceMap::new(), "t", text.as_bytes(), false).1
}

#[test]
fn deep_nesting_needs_no_stack() {
    let depth = 200_000;
    let text = format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    let result = read_all(&text);
    assert_eq!(result.forms.len(), 1);
    assert_eq!(result.forms[0].to_string(), text);
    assert!(read_all(&"(".repeat(depth)).is_incomplete());
    assert!(read_all(&"#(".repeat(depth)).is_incomplete());
    assert!(read_all(&format!("{}x", "'#;".repeat(depth))).has_errors());
    assert!(
        read_all(&format!("{}x{}", "#|".repeat(depth), "|#".repeat(depth)))
            .forms
            .is_empty()
    );
    let quoted = read_all(&format!("{}x", "'".repeat(depth)));
    assert_eq!(quoted.forms[0].to_string().len(), depth + 1);
}

#[test]
fn huge_literals() {
    let digits = "1234567890".repeat(10_000);
    assert_eq!(read_all(&digits).forms[0].to_string(), digits);
    let string = format!("\"{}\"", "x".repeat(1_000_000));
    assert_eq!(read_all(&string).forms[0].to_string(), string);
    let symbol = "y".repeat(1_000_000);
    assert_eq!(read_all(&symbol).forms[0].to_string(), symbol);
}

#[test]
fn incomplete_input_is_told_from_wrong_input() {
    for text in [
        "(", "(a", "\"abc", "#|", "'", "(a . ", "#;", "#\\", "|a", "#(", "#u8(1", "#0=", "(a \"b",
        "#",
    ] {
        assert!(read_all(text).is_incomplete(), "{text}");
    }
    for text in [
        "",
        "a",
        "(a)",
        "; (",
        ")",
        "(a))",
        "#\\nope",
        "(a . b c)",
        "(]",
        "(#\\nope",
        "\"\\q",
    ] {
        assert!(!read_all(text).is_incomplete(), "{text}");
    }
}

/// A source that counts how far it was read.
struct Counting<'a>(TextSource<'a>);

impl CharSource for Counting<'_> {
    type Error = Infallible;
    fn peek(&mut self) -> Result<Option<char>, Infallible> {
        self.0.peek()
    }
    fn next(&mut self) -> Result<Option<char>, Infallible> {
        self.0.next()
    }
    fn offset(&self) -> u32 {
        self.0.offset()
    }
}

#[test]
fn nothing_is_taken_beyond_a_datum() {
    for (text, rest) in [
        ("(a b)c", "c"),
        ("abc def", " def"),
        ("\"s\"x", "x"),
        ("12;c", ";c"),
        ("'a)", ")"),
        ("#t(", "("),
        ("#\\a ", " "),
        ("#u8(1)2", "2"),
        ("|a|(", "("),
        ("#;a b c", " c"),
    ] {
        let mut source = Counting(TextSource::new(text));
        let mut builder = SyntaxBuilder::new();
        let read = Parser::new(SourceId::NONE).read(&mut source, &mut builder);
        assert!(matches!(read, Ok(Read::Datum(_))), "{text}");
        assert_eq!(&text[source.offset() as usize..], rest, "{text}");
    }
}

#[test]
fn a_reader_of_ports_stops_at_the_first_error_and_goes_on() {
    let mut source = TextSource::new("(a #\\nope) b");
    let mut parser = Parser::new(SourceId::NONE);
    let mut builder = SyntaxBuilder::new();
    let error = parser.read(&mut source, &mut builder);
    let Err(ReadError::Syntax(diagnostic)) = error else {
        panic!("an error was expected")
    };
    assert_eq!((diagnostic.span.start, diagnostic.span.end), (3, 9));
    assert_eq!(builder.mark(), 0);
    assert!(parser.read(&mut source, &mut builder).is_err());
    assert!(matches!(
        parser.read(&mut source, &mut builder),
        Ok(Read::Datum(_))
    ));
    assert_eq!(
        builder.take().map(|form| form.to_string()).as_deref(),
        Some("b")
    );
    assert!(matches!(
        parser.read(&mut source, &mut builder),
        Ok(Read::End)
    ));
}

#[test]
fn spans_cover_their_data() {
    let map = SourceMap::new();
    let (_, result) = read_source(&map, "t", "  (a . #(b \"c\")) 'd".as_bytes(), false);
    let text = |syntax: &Syntax| map.text(syntax.span).unwrap_or_default();
    assert_eq!(text(&result.forms[0]), "(a . #(b \"c\"))");
    let pair = result.forms[0].as_pair().expect("a pair");
    assert_eq!(text(&pair.car), "a");
    assert_eq!(text(&pair.cdr), "#(b \"c\")");
    assert_eq!(text(&pair.cdr.as_vector().expect("a vector")[1]), "\"c\"");
    assert_eq!(text(&result.forms[1]), "'d");
}

#[test]
fn symbols_that_look_like_numbers_get_bars() {
    for name in [
        "0..", "1.2.3", "1/0", "1/2/3", "12", "+i", "-1.5e3", "+inf.0", ".", "1e400",
    ] {
        let text = Datum::symbol(name).to_string();
        assert!(text.starts_with('|'), "{text}");
        let result = read_all(&text);
        assert!(result.diagnostics.is_empty(), "{text}");
        assert_eq!(result.forms[0].to_datum(), Datum::symbol(name));
    }
    for name in ["1+", "-1+", "...", "+", "-", "->x", "..", "2d-array"] {
        assert_eq!(Datum::symbol(name).to_string(), name);
        assert_eq!(read_all(name).forms[0].to_datum(), Datum::symbol(name));
    }
}

fn arbitrary_datum() -> impl Strategy<Value = Datum> {
    let atom = prop_oneof![
        Just(Datum::Nil),
        any::<bool>().prop_map(Datum::Boolean),
        any::<char>().prop_map(Datum::Character),
        any::<i64>().prop_map(Datum::integer),
        any::<f64>().prop_map(|value| Datum::Number(std::sync::Arc::new(Number::Flonum(value)))),
        any::<String>().prop_map(|text| Datum::String(text.into())),
        any::<String>().prop_map(|text| Datum::symbol(&text)),
        "[-+.0-9a-zA-Z#|\\\\;' @,`]{0,6}".prop_map(|text| Datum::symbol(&text)),
        any::<String>().prop_map(|text| Datum::Keyword(crate::name::Name::new(&text))),
        proptest::collection::vec(any::<u8>(), 0..8)
            .prop_map(|bytes| Datum::Bytevector(bytes.into())),
        Just(Datum::Eof),
        Just(Datum::Unspecified),
        Just(Datum::DefaultObject),
        prop_oneof![
            Just("quote"),
            Just("unquote"),
            Just("unquote-splicing"),
            Just("@x"),
            Just("...")
        ]
        .prop_map(Datum::symbol),
    ];
    atom.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Datum::list),
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Datum::vector),
            (proptest::collection::vec(inner.clone(), 1..4), inner)
                .prop_map(|(elements, tail)| Datum::list_with_tail(elements, tail)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_reads_back(datum in arbitrary_datum()) {
        let text = datum.to_string();
        let result = read_all(&text);
        prop_assert!(result.diagnostics.is_empty(), "{text}: {:?}", result.diagnostics);
        prop_assert_eq!(result.forms.len(), 1, "{}", text);
        prop_assert_eq!(result.forms[0].to_datum(), datum, "{}", text);
    }

    #[test]
    fn pretty_printing_reads_back(datum in arbitrary_datum()) {
        let text = crate::pretty::pretty(&datum, 20);
        let result = read_all(&text);
        prop_assert_eq!(result.forms.len(), 1, "{}", text);
        prop_assert_eq!(result.forms[0].to_datum(), datum, "{}", text);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let map = SourceMap::new();
        let (_, result) = read_source(&map, "t", &bytes, false);
        for diagnostic in &result.diagnostics {
            diagnostic.render(&map, true);
        }
    }

    #[test]
    fn arbitrary_syntax_never_panics(text in "[()\\[\\]#;|\"\\\\'`,@.a-f0-9=!:/+\\- \n\tλ]{0,120}") {
        let map = SourceMap::new();
        let (_, result) = read_source(&map, "t", text.as_bytes(), false);
        for diagnostic in &result.diagnostics {
            diagnostic.render(&map, false);
        }
        for form in &result.forms {
            let datum = form.to_datum();
            let bytes = postcard::to_stdvec(&datum).expect("it serialises");
            prop_assert!(postcard::from_bytes::<Datum>(&bytes).expect("it reads back") == datum);
        }
    }
}
