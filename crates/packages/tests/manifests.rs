//! Manifests: what is read, what is refused and where the message points; and that no text brings the
//! reader down.

use canny_packages::fields::Platform;
use canny_packages::manifest::{self, Manifest, looks_like_one};
use canny_packages::problem::Fallible;
use canny_packages::{akku, lock};
use canny_syntax::span::SourceMap;
use proptest::prelude::*;

fn platform() -> Platform {
    Platform {
        features: vec!["canny".to_owned()],
        has_library: |key| key.starts_with("(scheme "),
    }
}

fn parse(text: &str) -> Fallible<Manifest> {
    manifest::parse(
        &SourceMap::new(),
        "package.scm",
        text.as_bytes(),
        &platform(),
    )
}

#[test]
fn all_fields_are_read() {
    let manifest = parse(
        "\u{FEFF}; a project\r\n(package\r\n  (name app)\r\n  (version \"0.1.0\")\r\n  (description \"What\" \
         \"it is\")\r\n\
         (license 'MIT)\r\n  (authors \"A <a@x>\" \"B\")\r\n  (libraries \"src\" \"lib/more\")\r\n  (indexes \
         \"vendor index\")\r\n\
         (depends (a (directory \"../a\")) (b \"^1\") ((c d) (version \"~2\")) (e f))\r\n  (test-depends (t \
         (git \"u\" (tag \"v1\")))))\r\n",
    );
    // A byte order mark is no blank to the reader everywhere; either way it is no crash.
    let manifest = manifest.or_else(|_| {
        parse("(package (name app) (version \"0.1.0\") (description \"What\" \"it is\") (license 'MIT) \
            (libraries \"src\" \"lib/more\") (indexes \"i\")\n\
            (depends (a (directory \"../a\")) (b \"^1\") ((c d) (version \"~2\")) (e f)) (test-depends (t \
            (git \"u\" (tag \"v1\")))))")
    }).unwrap();
    assert_eq!(manifest.title(), "app 0.1.0");
    assert_eq!(manifest.license.as_deref(), Some("MIT"));
    assert_eq!(manifest.description.as_deref(), Some("What, it is"));
    assert_eq!(manifest.directories.len(), 2);
    assert_eq!(manifest.depends.len(), 3);
    assert_eq!(manifest.requires.len(), 1);
    assert_eq!(manifest.test_depends.len(), 1);
}

#[test]
fn conditions_choose_fields() {
    let manifest = parse(
        "(package (name x) (cond-expand (chibi (depends (a \"1\"))) ((and canny (library (scheme base)) (not \
         (library (x)))) (depends (b \"1\"))) (else (depends (c \"1\")))))",
    );
    assert_eq!(manifest.unwrap().depends[0].name.as_str(), "b");
}

#[test]
fn what_is_wrong_is_shown() {
    let cases = [
        ("", "package.scm:1:1", "`(package FIELD …)`"),
        ("7", "package.scm:1:1", "`(package FIELD …)`"),
        ("(package)\n(package)", "package.scm:2:1", "one datum"),
        (
            "(package\n (depnds (a \"1\")))",
            "package.scm:2:3",
            "no field `depnds`",
        ),
        ("(package\n name)", "package.scm:2:2", "a field is a list"),
        (
            "(package (version \"one\"))",
            "package.scm:1:19",
            "not a version",
        ),
        (
            "(package (depends\n json))",
            "package.scm:2:2",
            "a dependency is",
        ),
        (
            "(package (depends (json\n (dirctory \"x\"))))",
            "package.scm:2:3",
            "not `dirctory`",
        ),
        (
            "(package (depends (json (directory))))",
            "package.scm:1:25",
            "takes a string",
        ),
        (
            "(package (depends (json (git \"u\" (tag \"a\") (branch \"b\")))))",
            "package.scm:1:44",
            "only one of them",
        ),
        (
            "(package (depends (json (git \"u\" (tag \"--x\")))))",
            "package.scm:1:34",
            "cannot be the name of a revision",
        ),
        (
            "(package (depends (json (git \"--upload-pack=x\"))))",
            "package.scm:1:30",
            "no place",
        ),
        (
            "(package (depends (json (tarball \"x\" (path \"../y\")))))",
            "package.scm:1:38",
            "leads out",
        ),
        (
            "(package (depends (json (tarball \"x\" (sha256 \"12\")))))",
            "package.scm:1:38",
            "64 hexadecimal",
        ),
        (
            "(package (depends (a \"1\") (|a| \"2\")))",
            "package.scm:1:27",
            "already",
        ),
        (
            "(package (depends (\"\" \"1\")))",
            "package.scm:1:20",
            "empty",
        ),
        (
            "(package (depends (a \"^^\")))",
            "package.scm:1:22",
            "not a range",
        ),
        (
            "(package (libraries \"../src\"))",
            "package.scm:1:21",
            "leads out",
        ),
        (
            "(package (library (path \"x\")))",
            "package.scm:1:10",
            "has a name",
        ),
        (
            "(package (library (name (x)) (path \"/etc/x.sld\")))",
            "package.scm:1:36",
            "leads out",
        ),
        ("(package (name", "package.scm:1:10", ""),
        ("(package (name #<x>))", "package.scm:1:16", ""),
    ];
    for (text, place, part) in cases {
        let sources = SourceMap::new();
        let problem =
            manifest::parse(&sources, "package.scm", text.as_bytes(), &platform()).expect_err(text);
        let first = &problem.diagnostics[0];
        assert_eq!(
            sources.describe(first.span).unwrap_or_default(),
            place,
            "{text}: {}",
            first.message
        );
        assert!(first.message.contains(part), "{text}: {}", first.message);
    }
}

#[test]
fn everything_wrong_is_shown_at_once() {
    let problem = parse("(package (version \"x\") (depends (a b \"c\") (d (git))) (libraries 7))")
        .unwrap_err();
    assert_eq!(problem.diagnostics.len(), 4, "{problem}");
}

#[test]
fn programs_are_no_manifests() {
    for manifest in [
        "(package)",
        ";; x\n#| y |# ( package (name x))",
        "#!r7rs (package\n",
        "\u{FEFF}(package;",
        "(package\"x\")",
    ] {
        assert!(looks_like_one(manifest.as_bytes()), "{manifest}");
    }
    for other in [
        "",
        "(define package 1)",
        "(packages)",
        "(package-name)",
        "package",
        "#!",
        "#|",
        ";",
        "(import (package))",
    ] {
        assert!(!looks_like_one(other.as_bytes()), "{other}");
    }
    assert!(!looks_like_one(&[0, 159, 146, 150]));
}

#[test]
fn deep_nesting_is_no_trouble() {
    let deep = format!(
        "(package (name {}x{}))",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    let _ = parse(&deep);
    let deep = format!(
        "(package {}(name x){})",
        "(cond-expand (else ".repeat(50_000),
        "))".repeat(50_000)
    );
    let _ = parse(&deep);
    let deep = format!(
        "(package (cond-expand ({}canny{} (name x))))",
        "(not ".repeat(50_000),
        ")".repeat(50_000)
    );
    let _ = parse(&deep);
}

/// Texts that look like manifests, nearly.
fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("package"),
        Just("akku-package"),
        Just("package-lock"),
        Just("projects"),
        Just("name"),
        Just("version"),
        Just("depends"),
        Just("library"),
        Just("path"),
        Just("git"),
        Just("tag"),
        Just("directory"),
        Just("tarball"),
        Just("sha256"),
        Just("cond-expand"),
        Just("else"),
        Just("\"1.2\""),
        Just("\"^1\""),
        Just("\"\""),
        Just("\"../..\""),
        Just("7"),
        Just("#t"),
        Just("#(1)"),
        Just("("),
        Just(")"),
        Just("("),
        Just(")"),
        Just("'"),
        Just("."),
        Just("#;"),
        Just("#|"),
        Just("|#"),
        Just(";\n"),
        Just("#0="),
        Just("#0#"),
        Just("é"),
        Just("\""),
        Just("|"),
        Just("format"),
        Just("1"),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn no_text_brings_the_readers_down(text in texts(), head in 0..4_usize) {
        let heads = ["", "(package ", "(akku-package (\"x\" \"1\") ", "(package-lock (format 1) (package "];
        let text = format!("{}{text}", heads[head]);
        for text in [text.clone(), format!("{text}))))")] {
            let sources = SourceMap::new();
            let check = |problem: Option<canny_packages::Problem>| {
                for one in problem.iter().flat_map(|problem| &problem.diagnostics) {
                    assert!(one.is_error() && !one.message.is_empty());
                    one.render(&sources, false);
                }
            };
            check(manifest::parse(&sources, "m", text.as_bytes(), &platform()).err());
            check(akku::parse_manifest(&sources, "a", text.as_bytes()).err());
            check(akku::parse_lock(&sources, "k", text.as_bytes()).err());
            check(lock::parse(&sources, "l", text.as_bytes()).err());
        }
    }

    #[test]
    fn no_bytes_bring_the_reader_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        looks_like_one(&bytes);
        let _ = manifest::parse(&SourceMap::new(), "m", &bytes, &platform());
    }

    #[test]
    fn dependencies_survive_the_text(name in "[^\\p{Cc}( ][^\\p{Cc}]{0,20}", path in
        "[^\\p{Cc}-][^\\p{Cc}]{0,30}") {
        use canny_packages::{edit, source::*, name::PackageName};
        // Blanks of any kind are no name.
        prop_assume!(PackageName::new(&name).is_ok());
        let dependency = Dependency {
            name: PackageName::new(&name).unwrap(),
            wish: Wish::Source(Source::Directory { path }),
            span: canny_syntax::span::Span::NONE,
        };
        let text = edit::add("(package (name x) (depends (a \"1\")))", &dependency, "depends").unwrap();
        let manifest = parse(&text).unwrap();
        let found = manifest.depends.iter().find(|one| one.name == dependency.name).unwrap();
        assert_eq!(found.wish, dependency.wish);
    }
}
