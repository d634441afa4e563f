use super::*;

fn read(text: &str) -> String {
    let map = SourceMap::new();
    let (_, result) = read_source(&map, "t", text.as_bytes(), false);
    let mut lines: Vec<String> = result.forms.iter().map(Syntax::to_string).collect();
    lines.extend(result.diagnostics.iter().map(|one| {
        let place = map.describe(one.span).unwrap_or_default();
        format!("{place} {} {}", one.code, one.message)
    }));
    lines.join("\n")
}

fn check(text: &str, expect: &str) {
    assert_eq!(read(text), expect, "reading {text}");
}

#[test]
fn atoms() {
    check("abc |a b| |a\\x41;\\n| ||", "abc\n|a b|\n|aA\\n|\n||");
    check("#t #true #f #false #T", "#t\n#t\n#f\n#f\n#t");
}

#[test]
fn deep_nesting_needs_no_stack() {
    let depth = 200_000;
    let text = format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    let map = SourceMap::new();
    let (_, result) = read_source(&map, "t", text.as_bytes(), false);
    assert_eq!(result.forms.len(), 1);
    assert_eq!(result.forms[0].to_string(), text);
    let (_, result) = read_source(&map, "t", "(".repeat(depth).as_bytes(), false);
    assert!(result.is_incomplete());
    let (_, result) = read_source(
        &map,
        "t",
        format!("{}x", "'#;#0=#(".repeat(depth)).as_bytes(),
        false,
    );
    assert!(result.has_errors());
}
