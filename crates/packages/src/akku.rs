//! The files of Akku: `Akku.manifest`, which says what a package is, and `Akku.lock`, which says where
//! those it needs are.
//!
//! ```scheme
//! (akku-package ("name" "1.2.0")
//!   (synopsis "…") (license "…")
//!   (depends ("other" "^1.0") ((chibi match) "~0.7"))
//!   (depends/dev ("tester" "^1.0")))
//!
//! (projects ((name "other") (location (git "https://…")) (tag "v1.0") (revision "…")) …)
//! ```

use std::path::Path;

use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;

use crate::fields::{self, Form, shortened};
use crate::manifest::{Kind, Manifest};
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::source::{Dependency, Reference, Source, Wish, is_reference, is_sha256};
use crate::version::{Range, Version};

/// The file that says what a package is.
pub const MANIFEST_FILE: &str = "Akku.manifest";

/// The file that says where the packages are that it needs.
pub const LOCK_FILE: &str = "Akku.lock";

const CODE: &str = "bad-manifest";

/// The first operands of the forms with this word.
fn field<'a>(fields: &'a [Form], word: &str) -> Option<&'a Form> {
    fields.iter().find(|field| field.head == word)
}

/// Lists that begin with a word; anything else is an error.
pub(crate) fn forms(operands: &[Syntax], code: &'static str) -> Fallible<Vec<Form>> {
    let form = |operand: &Syntax| {
        Form::of(operand).ok_or_else(|| {
            let message = format!(
                "a field is a list that begins with a word, not `{}`",
                shortened(operand)
            );
            Problem::new(code, operand.span, message)
        })
    };
    operands.iter().map(form).collect()
}

/// Reads `Akku.manifest`. Of several packages in it, the first counts.
pub fn read_manifest(sources: &SourceMap, path: &Path) -> Fallible<Manifest> {
    let bytes = fields::read_file(path, CODE)?;
    parse_manifest(sources, &path.display().to_string(), &bytes)
}

/// Reads the text of an `Akku.manifest`.
pub fn parse_manifest(sources: &SourceMap, name: &str, bytes: &[u8]) -> Fallible<Manifest> {
    let (id, data) = fields::read_data(sources, name, bytes)?;
    let package = data
        .iter()
        .filter_map(Form::of)
        .find(|form| form.head == "akku-package");
    let Some(package) = package else {
        let span = canny_syntax::span::Span::new(id, 0, 0);
        return Err(Problem::new(
            CODE,
            span,
            "a manifest of Akku has a form `(akku-package (NAME VERSION) FIELD …)`",
        ));
    };
    let header = package
        .operands
        .first()
        .and_then(Syntax::elements)
        .unwrap_or_default();
    let [package_name, version] = header.as_slice() else {
        return Err(Problem::new(
            CODE,
            package.span,
            "`akku-package` begins with `(NAME VERSION)`",
        ));
    };
    let text = fields::string(version, CODE)?;
    let mut manifest = Manifest {
        kind: Kind::Akku,
        name: Some(PackageName::from_syntax(package_name)?),
        version: Some(
            Version::parse(&text)
                .map_err(|message| Problem::new("bad-version", version.span, message))?,
        ),
        ..Manifest::default()
    };
    let fields = forms(&package.operands[1..], CODE)?;
    manifest.description = field(&fields, "synopsis").map(Form::words);
    manifest.license = field(&fields, "license").map(Form::words);
    if let Some(depends) = field(&fields, "depends") {
        manifest.depends = dependencies(&depends.operands, CODE)?;
    }
    if let Some(depends) = field(&fields, "depends/dev") {
        manifest.test_depends = dependencies(&depends.operands, CODE)?;
    }
    Ok(manifest)
}

/// Dependencies as Akku writes them: `(NAME RANGE)`, or `(NAME FIELD …)` with the fields of a location.
pub(crate) fn dependencies(operands: &[Syntax], code: &'static str) -> Fallible<Vec<Dependency>> {
    operands
        .iter()
        .map(|operand| dependency(operand, code))
        .collect()
}

fn dependency(syntax: &Syntax, code: &'static str) -> Fallible<Dependency> {
    let elements = syntax.elements().unwrap_or_default();
    let Some((name, rest)) = elements.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Err(Problem::new(
            code,
            syntax.span,
            "a dependency of Akku is `(NAME RANGE)`",
        ));
    };
    let name = PackageName::from_syntax(name)?;
    let wish = match rest[0].as_atom() {
        Some(Datum::String(text)) => {
            let range = Range::parse(text)
                .map_err(|message| Problem::new("bad-version", rest[0].span, message))?;
            Wish::Version(range)
        }
        _ => Wish::Source(location(&forms(rest, code)?, code)?.ok_or_else(|| {
            Problem::new(code, syntax.span, "a dependency of Akku is `(NAME RANGE)`")
        })?),
    };
    Ok(Dependency {
        name,
        wish,
        span: syntax.span,
    })
}

/// The source that fields `location`, `tag`, `revision` and `content` name, if there is a location.
pub(crate) fn location(fields: &[Form], code: &'static str) -> Result<Option<Source>, Diagnostic> {
    let Some(location) = field(fields, "location") else {
        return Ok(None);
    };
    let Some(place) = Form::of(location.single(code)?) else {
        return Err(Diagnostic::error(
            code,
            location.span,
            "a location is `(git URL)`, `(url URL)` or `(directory PATH)`",
        ));
    };
    let text = place.string(code)?;
    let option = |word: &str| {
        field(fields, word)
            .map(|form| form.string(code))
            .transpose()
    };
    let (tag, revision) = (option("tag")?, option("revision")?);
    if let Some(wrong) = [&tag, &revision]
        .into_iter()
        .flatten()
        .find(|text| !is_reference(text))
    {
        return Err(Diagnostic::error(
            code,
            location.span,
            format!("`{wrong}` cannot be the name of a revision"),
        ));
    }
    Ok(Some(match place.head.as_str() {
        "git" => Source::Git {
            url: text,
            reference: match (revision, tag) {
                (Some(revision), _) => Reference::Revision(revision),
                (None, Some(tag)) => Reference::Tag(tag),
                (None, None) => Reference::Default,
            },
            path: None,
        },
        "url" => {
            let content =
                field(fields, "content").and_then(|content| Form::of(content.operands.first()?));
            let sum = content
                .filter(|form| form.head == "sha256")
                .map(|form| form.string(code))
                .transpose()?;
            Source::Archive {
                location: text,
                sha256: sum
                    .filter(|sum| is_sha256(sum))
                    .map(|sum| sum.to_ascii_lowercase()),
                path: None,
            }
        }
        "directory" => Source::Directory { path: text },
        other => {
            return Err(Diagnostic::error(
                code,
                place.span,
                format!("`{other}` is no location that is known"),
            ));
        }
    }))
}

/// Reads `Akku.lock`: names of projects and their sources.
pub fn read_lock(sources: &SourceMap, path: &Path) -> Fallible<Vec<(PackageName, Source)>> {
    let bytes = fields::read_file(path, CODE)?;
    parse_lock(sources, &path.display().to_string(), &bytes)
}

/// Reads the text of an `Akku.lock`.
pub fn parse_lock(
    sources: &SourceMap,
    name: &str,
    bytes: &[u8],
) -> Fallible<Vec<(PackageName, Source)>> {
    let (_, data) = fields::read_data(sources, name, bytes)?;
    let mut projects = Vec::new();
    for list in data
        .iter()
        .filter_map(Form::of)
        .filter(|form| form.head == "projects")
    {
        for project in &list.operands {
            let fields = forms(&project.elements().unwrap_or_default(), CODE)?;
            let name = field(&fields, "name")
                .ok_or_else(|| Problem::new(CODE, project.span, "a project has a name"))?;
            let name = PackageName::from_syntax(name.single(CODE)?)?;
            if let Some(source) = location(&fields, CODE)? {
                projects.push((name, source));
            }
        }
    }
    Ok(projects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_read() {
        let text = "#!r6rs ; -*- scheme -*-\r\n(import (akku format manifest))\r\n\
            (akku-package (\"thing\" \"0.0.0-akku.12.abc\")\r\n (synopsis \"A thing\") (authors \"A\" \"B\") \
            (license \"MIT\")\r\n\
            (depends (\"other\" \"~0.0.0-akku\") ((chibi match) \"^0.7.3\")) (depends/dev (\"tester\" \
            \"*\")) (scripts (x \"y\")))";
        let manifest = parse_manifest(&SourceMap::new(), "Akku.manifest", text.as_bytes()).unwrap();
        assert_eq!(manifest.title(), "thing 0.0.0-akku.12.abc");
        let names: Vec<String> = manifest.depends.iter().map(|one| one.text()).collect();
        assert_eq!(
            names,
            [
                "(other (version \"~0.0.0-akku\"))",
                "((chibi match) (version \"^0.7.3\"))"
            ]
        );
        assert_eq!(manifest.test_depends.len(), 1);
    }

    #[test]
    fn locks_are_read() {
        let text = "(import (akku format lockfile))\n(projects ((name \"a\") (location (git \
            \"https://x/a.git\")) (tag \"v1\") (revision \"abc\"))\n\
            ((name \"b\") (location (url \"https://x/b.tgz\")) (content (sha256 \
            \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\")))\n\
            ((name \"c\") (location (directory \"../c\"))))";
        let projects = parse_lock(&SourceMap::new(), "Akku.lock", text.as_bytes()).unwrap();
        let shown: Vec<String> = projects
            .iter()
            .map(|(name, source)| format!("{name} {}", source.to_datum()))
            .collect();
        assert_eq!(shown[0], "a (git \"https://x/a.git\" (revision \"abc\"))");
        assert!(shown[1].contains("(sha256 \"aaaa"));
        assert_eq!(shown[2], "c (directory \"../c\")");
    }

    #[test]
    fn wrong_files_are_refused() {
        for wrong in [
            "",
            "(package (name x))",
            "(akku-package)",
            "(akku-package (\"x\"))",
            "(akku-package (\"x\" \"one\"))",
            "(akku-package (\"x\" \"1\") (depends (\"y\")))",
            "(akku-package (\"x\" \"1\") 7)",
            "(akku-package",
        ] {
            assert!(
                parse_manifest(&SourceMap::new(), "m", wrong.as_bytes()).is_err(),
                "{wrong}"
            );
        }
        let wrong = "(projects ((name \"a\") (location (git \"u\")) (tag \"--upload-pack=x\")))";
        assert!(parse_lock(&SourceMap::new(), "l", wrong.as_bytes()).is_err());
    }
}
