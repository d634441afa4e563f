use proptest::prelude::*;

use super::*;

fn rows(text: &str, dialect: Dialect, piece_bytes: usize) -> Result<Vec<Vec<String>>, Fault> {
    let mut reader = RowReader::new(dialect);
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let mut end = (start + piece_bytes).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let (used, progress) = reader.feed(&text[start..end], end == text.len());
        start += used;
        match progress {
            Progress::NeedsMore => assert_eq!(start, end, "a piece is used up"),
            Progress::Row => {
                let mut at = 0;
                let row = reader.ends.iter().map(|&end| {
                    let field = String::from_utf8(reader.text[at..end].to_vec());
                    at = end;
                    field.expect("text is UTF-8")
                });
                rows.push(row.collect());
                reader.clear();
            }
            Progress::End => return Ok(rows),
            Progress::Fault(fault) => return Err(fault),
        }
    }
}

fn check(text: &str, dialect: Dialect, expected: &[&[&str]]) {
    for piece_bytes in [1, 2, 3, 1000] {
        assert_eq!(
            rows(text, dialect, piece_bytes).as_deref(),
            Ok(expected)
                .map(|rows: &[&[&str]]| {
                    rows.iter()
                        .map(|row| {
                            row.iter()
                                .map(|field| field.to_string())
                                .collect::<Vec<_>>()
                        })
                        .collect::<Vec<_>>()
                })
                .as_deref(),
            "{text:?} in pieces of {piece_bytes}"
        );
    }
}

#[test]
fn rows_and_fields() {
    let plain = Dialect::default();
    check("", plain, &[]);
    check("a", plain, &[&["a"]]);
    check("a,b\nc,d\n", plain, &[&["a", "b"], &["c", "d"]]);
    check("a,b\r\nc,d", plain, &[&["a", "b"], &["c", "d"]]);
    check("a\rb\r", plain, &[&["a"], &["b"]]);
    check(",\n", plain, &[&["", ""]]);
    check("\n\na\n\n", plain, &[&["a"]]);
    check("\"a,\"\"b\"\"\n\",c", plain, &[&["a,\"b\"\n", "c"]]);
    check("\"\"", plain, &[&[""]]);
    check("a\"b,c", plain, &[&["a\"b", "c"]]);
    check("é,→\n", plain, &[&["é", "→"]]);
    check("a,", plain, &[&["a", ""]]);
}

#[test]
fn dialects() {
    let spread = Dialect {
        skips_empty: false,
        ..Dialect::default()
    };
    check("\na\n\n", spread, &[&[""], &["a"], &[""]]);
    let tabs = Dialect {
        delimiter: b'\t',
        quote: None,
        ..Dialect::default()
    };
    check("a\t\"b\n", tabs, &[&["a", "\"b"]]);
    let trimmed = Dialect {
        trims: true,
        ..Dialect::default()
    };
    check(" a , \" b \" ,\tc\n", trimmed, &[&["a", " b ", "c"]]);
    let commented = Dialect {
        comment: Some(b'#'),
        ..Dialect::default()
    };
    check("#x,y\r\na,#b\n#end", commented, &[&["a", "#b"]]);
    let escaped = Dialect {
        escape: Some(b'\\'),
        ..Dialect::default()
    };
    check("\"a\\\"b\\é\",c\n", escaped, &[&["a\"bé", "c"]]);
}

#[test]
fn faults() {
    assert_eq!(rows("\"a", Dialect::default(), 1), Err(Fault::OpenQuote));
    assert_eq!(
        rows("\"a\"b,c\n", Dialect::default(), 1),
        Err(Fault::AfterQuote)
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        table in prop::collection::vec(prop::collection::vec("[a-c,;\"#\\\\ \r\né→]{0,6}", 1..5), 0..6),
        always in any::<bool>(), trims in any::<bool>(), commented in any::<bool>(), escaped in any::<bool>(),
        piece_bytes in 1usize..9,
    ) {
        let dialect = Dialect {
            trims,
            comment: commented.then_some(b'#'),
            escape: escaped.then_some(b'\\'),
            ..Dialect::default()
        };
        let mut text = String::new();
        for row in &table {
            for (index, field) in row.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                prop_assert!(write_field(field, &dialect, always, row.len() == 1, &mut text));
            }
            text.push('\n');
        }
        prop_assert_eq!(rows(&text, dialect, piece_bytes), Ok(table));
    }
}
