//! Each kind of value and of mistake, and that the table is what sources and documents say.

use std::fs;
use std::path::{Path, PathBuf};

use super::table::{Audience, OTHERS, Variable};
use super::*;

fn parsed(variables: &[(&str, &str)]) -> Parsed {
    parse(
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    )
}

/// The errors that these variables cause; there are no warnings.
fn errors(variables: &[(&str, &str)]) -> Vec<String> {
    let parsed = parsed(variables);
    assert_eq!(parsed.warnings, [""; 0]);
    parsed.errors
}

fn values(variables: &[(&str, &str)]) -> Environment {
    assert_eq!(errors(variables), [""; 0]);
    parsed(variables).environment
}

#[test]
fn values_are_where_they_belong() {
    let environment = values(&[
        ("CANNY_LIBRARY_PATH", "/a::b"),
        ("CANNY_JIT", "0"),
        ("CANNY_POOL_CORES", "3"),
        ("CANNY_POOL_TRACE", "1"),
        ("CANNY_SPESH_LOG", "log"),
        ("CANNY_SPESH_LIMIT", "0"),
        ("CANNY_SPESH_STRESS", "7"),
        ("CANNY_SPESH_CODE_BYTES", "65536"),
        ("CANNY_GC_STRESS", "99999999999"),
        ("CANNY_GC_VERIFY", "1"),
        ("CANNY_NURSERY", "262144"),
        ("CANNY_COMPILE_DISABLE", " inline, simplify,"),
        ("CANNY_COMPILE_LIMIT", "12"),
        ("CANNY_TEST_SEED", "-123456789012345678901234567890"),
        ("CANNY_TEST_MODE", "list"),
        ("CANNY_SERVE_WORKER", "@name"),
        ("HOME", "/"),
        ("CANNYX", "no variable of ours"),
    ]);
    let directories = [PathBuf::from("/a"), PathBuf::from("b")];
    assert_eq!(environment.library_path, directories);
    assert!(!environment.compiles);
    assert_eq!(environment.tasks.cores, Some(3));
    assert_eq!(environment.tasks.threads_max, None);
    assert!(environment.tasks.is_traced);
    assert_eq!(environment.worker.log, Some("log".into()));
    assert_eq!(environment.worker.limit, Some(0));
    assert_eq!(environment.specializer.stress, 7);
    assert_eq!(environment.specializer.code_bytes_max, Some(65536));
    assert_eq!(environment.heap.stress_every, u32::MAX);
    assert!(environment.heap.verify && !environment.heap.poison);
    assert_eq!(environment.heap.nursery_bytes, 262_144);
    assert_eq!(environment.optimizer.disabled, ["inline", "simplify"]);
    assert_eq!(environment.optimizer.limit, Some(12));
    assert!(environment.is_serve_worker && !environment.is_forwarded);
}

#[test]
fn an_empty_value_is_none() {
    let all: Vec<(&str, &str)> = ROWS.iter().map(|row| (row.name, "")).collect();
    let environment = values(&all);
    // But for the history, where it means that there is none.
    assert_eq!(environment.history, Some(PathBuf::new()));
    let expected = Environment {
        history: Some(PathBuf::new()),
        ..Environment::default()
    };
    assert_eq!(format!("{environment:?}"), format!("{expected:?}"));
}

#[test]
fn every_row_refuses_what_it_does_not_take() {
    for row in ROWS {
        let expected = match row.takes {
            Takes::Flag(_) => "0 or 1",
            Takes::Number(_) => "a whole number",
            Takes::Integer => "an integer",
            Takes::Word(word) => &format!("'{word}'"),
            Takes::Passes(..) => {
                let errors = errors(&[(row.name, "nonsense")]);
                let expected =
                    format!("{}: there is no pass 'nonsense'; the passes are ", row.name);
                assert!(errors[0].starts_with(&expected), "{errors:?}");
                continue;
            }
            Takes::File(_) | Takes::FileOrNone(_) | Takes::Directories(_) | Takes::Text(_) => {
                assert_eq!(errors(&[(row.name, "nonsense")]), [""; 0]);
                continue;
            }
        };
        let expected = format!("{} wants {expected}, not 'nonsense'", row.name);
        assert_eq!(errors(&[(row.name, "nonsense")]), [expected]);
    }
}

#[test]
fn every_row_but_those_read_elsewhere_sets_something() {
    let plain = format!("{:?}", Environment::default());
    for row in ROWS {
        // Debug builds verify anyway.
        if row.name == "CANNY_SPESH_VERIFY" {
            continue;
        }
        let value = match row.takes {
            Takes::Flag(_) if row.shown == "=0" => "0",
            Takes::Passes(known, _) => known()[0],
            Takes::Word(word) => word,
            _ => "1",
        };
        let environment = values(&[(row.name, value)]);
        let is_read_here = match row.audience {
            Audience::Users | Audience::Work => !matches!(row.takes, Takes::Integer),
            Audience::Canny => {
                [SERVE_WORKER, FORWARDED, TEST_REPORT, "CANNY_TEST_LEAKS"].contains(&row.name)
            }
            Audience::Tests => false,
        };
        let is_changed = format!("{environment:?}") != plain;
        assert_eq!(is_changed, is_read_here, "{}", row.name);
    }
}

#[test]
fn numbers_and_bytes_that_are_none_are_refused() {
    for wrong in ["-1", "1.5", "12M", " 1", "99999999999999999999999"] {
        assert_eq!(
            errors(&[("CANNY_NURSERY", wrong)]),
            [format!("CANNY_NURSERY wants a whole number, not '{wrong}'")]
        );
    }
    assert_eq!(
        errors(&[("CANNY_TEST_SEED", "-")]),
        ["CANNY_TEST_SEED wants an integer, not '-'"]
    );
    let bytes = OsStr::from_bytes(b"\xff1").to_owned();
    let parsed = parse([("CANNY_POOL_CORES".into(), bytes)]);
    assert_eq!(
        parsed.errors,
        ["CANNY_POOL_CORES wants a whole number, not '\u{fffd}1'"]
    );
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let wrong = errors(&[("CANNY_SPESH_STRESS", "x"), ("CANNY_JIT", "maybe")]);
    assert_eq!(
        wrong,
        [
            "CANNY_JIT wants 0 or 1, not 'maybe'",
            "CANNY_SPESH_STRESS wants a whole number, not 'x'"
        ]
    );
    let wrong = errors(&[("CANNY_SPESH_DISABLE", "number,inlin")]);
    assert!(
        wrong[0].starts_with(
            "CANNY_SPESH_DISABLE: there is no pass 'inlin'; did you mean 'inline'? The passes are inline, "
        ),
        "{wrong:?}"
    );
}

#[test]
fn names_without_a_row_are_reported() {
    let both = [("CANNY_SPESH_LOGG", "x"), ("CANNY_UTTERLY_OTHER", "")];
    assert_eq!(
        parsed(&both).warnings,
        [
            "there is no variable 'CANNY_SPESH_LOGG'; did you mean 'CANNY_SPESH_LOG'?",
            "there is no variable 'CANNY_UTTERLY_OTHER'; 'canny man' lists those there are"
        ]
    );
    assert_eq!(parsed(&both).errors, [""; 0]);
    // The process that started this one has reported them.
    for name in INHERITED {
        assert_eq!(parsed(&[both[0], (name, "1")]).warnings, [""; 0]);
        assert_eq!(parsed(&[("CANNY_JIT", "x"), (name, "1")]).errors.len(), 1);
    }
}

#[test]
fn rows_are_in_order() {
    for (at, row) in ROWS.iter().enumerate() {
        assert!(row.name.as_bytes().starts_with(PREFIX), "{}", row.name);
        let is_new = ROWS[..at].iter().all(|other| other.name != row.name);
        assert!(is_new, "{} twice", row.name);
        assert!(!row.meaning.is_empty() && !row.meaning.ends_with('.'));
        assert!(row.shown.is_empty() || row.shown.starts_with('='));
        assert_eq!(row.meaning.matches('`').count() % 2, 0, "{}", row.name);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a directory with one of these endings.
fn files(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).expect("a directory of the tree");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let is_file_with = |ending: &&str| path.extension().is_some_and(|end| end == *ending);
        if path.is_dir() && !path.ends_with("target") {
            files(&path, endings, found);
        } else if endings.iter().any(is_file_with) {
            found.push(path);
        }
    }
}

/// The names of ours in a text, with where they begin.
fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("CANNY_").filter_map(|(at, _)| {
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let begins = !text[..at].ends_with(|c: char| is_part(c) || c.is_ascii_alphanumeric());
        let rest = &text[at..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        (begins && end > "CANNY_".len()).then(|| (at, rest[..end].trim_end_matches('_')))
    })
}

#[test]
fn the_tree_knows_no_other_names_and_reads_them_here_only() {
    let root = root();
    let mut found = vec![root.join(".ci/run"), root.join("CONTRIBUTING.md")];
    for directory in ["crates", "xtask", "lib", "docs", "examples", "benches"] {
        files(
            &root.join(directory),
            &["rs", "scm", "sld", "sls", "md", "toml", "expected"],
            &mut found,
        );
    }
    assert!(found.len() > 1000, "{}", found.len());
    let mut complaints = Vec::new();
    for path in found {
        let shown = path.strip_prefix(&root).expect("below the root");
        let is_here = shown.starts_with("crates/cli/src/environment")
            || shown.starts_with("crates/cli/tests/environment.rs");
        if is_here {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let is_product = shown.components().any(|part| part.as_os_str() == "src")
            && !shown.components().any(|part| part.as_os_str() == "tests")
            && !shown.starts_with("xtask");
        for (at, name) in names(&text) {
            // `CANNY_GC_*` and the like stand for several.
            let is_known = ROWS.iter().any(|row| row.name == name)
                || text[at + name.len()..].starts_with("_*");
            if !is_known {
                complaints.push(format!("{}: {name} has no row", shown.display()));
            }
            let before = text[..at].trim_end_matches(['"', '(', ' ', '\n']);
            if is_product && (before.ends_with("env::var") || before.ends_with("env::var_os")) {
                complaints.push(format!("{} reads {name} itself", shown.display()));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A table in Markdown.
fn markdown(rows: impl Iterator<Item = (String, String, String)>) -> String {
    let lines = rows.map(|(term, meaning, default)| {
        let default = match default.as_str() {
            "" => String::new(),
            text => format!(" {text}"),
        };
        format!("| `{term}` | {meaning} |{default} |\n")
    });
    let lines: String = lines.collect();
    format!("| variable | meaning | unless set |\n|---|---|---|\n{lines}")
}

/// The section about variables of docs/cli.md.
fn section() -> String {
    let cells = |row: &Variable| (row.term(), row.meaning.to_owned(), row.default.to_owned());
    let rows = |audience: Audience| {
        let rows = ROWS.iter().filter(move |row| row.audience == audience);
        rows.map(cells)
    };
    let others = OTHERS.iter();
    let others =
        others.map(|&(name, meaning)| (name.to_owned(), meaning.to_owned(), String::new()));
    format!(
        "{HEADING}\n\n\
         Canny checks its variables when it starts, and so do programs made by `canny compile`. A value\n\
         that a variable does not take is an error, with exit code 64. A name that begins with `CANNY_`\n\
         and is not on this page gives a warning. An empty value is the same as none, except for\n\
         `CANNY_HISTORY`.\n\n\
         {}\nVariables that begin with `OTEL_` are those of [telemetry](reference/canny/telemetry.md), for\n\
         programs that import it.\n\nThese are for work on Canny itself:\n\n{}\n\
         Canny sets these for processes that it starts:\n\n{}\n\
         Tests of Canny and its build read these:\n\n{}\n",
        markdown(rows(Audience::Users).chain(others)),
        markdown(rows(Audience::Work)),
        markdown(rows(Audience::Canny)),
        markdown(rows(Audience::Tests)),
    )
}

const HEADING: &str = "## Environment variables";

#[test]
fn the_page_has_the_table() {
    let path = root().join("docs/cli.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let start = page.find(HEADING).expect("the section is there");
    let end = page[start..].find("\n## At the prompt").expect("a section") + start + 1;
    let expected = section();
    if std::env::var_os("CANNY_BLESS").is_some_and(|value| value == "1") {
        let new = [&page[..start], &expected, &page[end..]].concat();
        fs::write(&path, new).expect("the page can be written");
    } else {
        assert!(
            page[start..end] == expected,
            "docs/cli.md has other variables than the table; CANNY_BLESS=1 writes them:\n{expected}"
        );
    }
}
