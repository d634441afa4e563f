//! Where a package comes from, and what a dependency asks for.
//!
//! In a manifest a dependency is `(NAME PLACE)`:
//!
//! ```scheme
//! (json (directory "../json"))
//! (text (tarball "https://example.org/text-1.2.tgz" (sha256 "…") (path "lib")))
//! (parser (git "https://example.org/parser.git" (tag "v1.0") (path "lib")))
//! (match (version "^1.2"))
//! ```
//!
//! `(NAME "^1.2")` is the same as the last. Paths are relative to the directory of the manifest; in a
//! lockfile to that of the project.

use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;

use crate::fields::{Form, shortened, string};
use crate::name::PackageName;
use crate::version::Range;

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory, used where it is.
    Directory {
        /// Its path.
        path: String,
    },
    /// A tar archive, perhaps compressed.
    Archive {
        /// A path, or a URL of `https` or `file`.
        location: String,
        /// The checksum of the archive, if its author gave one.
        sha256: Option<String>,
        /// The package's directory inside of it.
        path: Option<String>,
    },
    /// A revision of a git repository.
    Git {
        /// An argument for `git clone`.
        url: String,
        /// The revision.
        reference: Reference,
        /// The package's directory inside of it.
        path: Option<String>,
    },
}

/// Names a revision of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The revision that the repository shows first.
    Default,
    /// A tag.
    Tag(String),
    /// A branch.
    Branch(String),
    /// A revision by its hash.
    Revision(String),
}

/// The demand of a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// This very package.
    Source(Source),
    /// A version that an index has.
    Version(Range),
}

/// A dependency of a package.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The name of the package.
    pub name: PackageName,
    /// The demand.
    pub wish: Wish,
    /// Where it stands.
    pub span: Span,
}

/// The base of relative paths in a manifest.
#[derive(Clone, Debug)]
pub enum Base {
    /// A directory, by its path from the project.
    Directory(String),
    /// A package that was fetched.
    Fetched(Source),
}

const CODE: &str = "bad-manifest";

/// Whether a location is a URL or the like, not a path.
pub fn is_url(location: &str) -> bool {
    let scheme = location.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        !scheme.is_empty()
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    }) || is_remote_shell(location)
}

/// `user@host:path`, as git has it.
fn is_remote_shell(location: &str) -> bool {
    location
        .split_once(':')
        .is_some_and(|(host, _)| host.contains('@') && !host.contains(['/', '\\']))
}

fn is_local(location: &str) -> bool {
    !is_url(location) || location.starts_with("file://")
}

/// Joins paths by their text; `..` takes away what is before it.
pub fn join(base: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let is_absolute = base.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => drop(parts.pop()),
                _ if is_absolute => {}
                _ => parts.push(".."),
            },
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// The path of a directory inside of a package, if it is inside.
fn inner_path(base: Option<&str>, path: &str) -> Option<Option<String>> {
    let joined = join(base.unwrap_or("."), path);
    let is_inside = !joined.starts_with('/') && joined != ".." && !joined.starts_with("../");
    is_inside.then(|| Some(joined).filter(|joined| joined != "."))
}

impl Source {
    /// The directory of the package inside of what is fetched.
    pub fn inner(&self) -> Option<&str> {
        match self {
            Source::Directory { .. } => None,
            Source::Archive { path, .. } | Source::Git { path, .. } => path.as_deref(),
        }
    }

    fn with_inner(&self, inner: Option<String>) -> Source {
        let mut source = self.clone();
        match &mut source {
            Source::Directory { .. } => {}
            Source::Archive { path, .. } | Source::Git { path, .. } => *path = inner,
        }
        source
    }

    fn is_local(&self) -> bool {
        match self {
            Source::Directory { .. } => true,
            Source::Archive { location, .. } => is_local(location),
            Source::Git { url, .. } => is_local(url),
        }
    }

    /// The same with paths relative to the project. The message says why there is none.
    pub fn placed(&self, base: &Base) -> Result<Source, String> {
        match base {
            Base::Directory(directory) => {
                let place = |path: &str| {
                    if is_url(path) {
                        path.to_owned()
                    } else {
                        join(directory, path)
                    }
                };
                let mut source = self.clone();
                match &mut source {
                    Source::Directory { path } => *path = join(directory, path),
                    Source::Archive { location, .. } => *location = place(location),
                    Source::Git { url, .. } => *url = place(url),
                }
                Ok(source)
            }
            Base::Fetched(fetched) => match self {
                Source::Directory { path } => match inner_path(fetched.inner(), path) {
                    Some(inner) => Ok(fetched.with_inner(inner)),
                    None => Err(format!(
                        "the directory `{path}` is outside of the package that asks for it"
                    )),
                },
                Source::Archive {
                    location: place, ..
                }
                | Source::Git { url: place, .. } => {
                    let is_allowed = is_url(place) || place.starts_with('/');
                    if is_allowed && (!is_local(place) || fetched.is_local()) {
                        Ok(self.clone())
                    } else {
                        Err(format!(
                            "`{place}` is a place on this machine, which a package from elsewhere cannot ask \
                             for"
                        ))
                    }
                }
            },
        }
    }

    /// The base of relative paths in the manifest of a package from here.
    pub fn base(&self) -> Base {
        match self {
            Source::Directory { path } => Base::Directory(path.clone()),
            other => Base::Fetched(other.clone()),
        }
    }

    /// The source that a form names, if it names one.
    pub fn from_form(form: &Form, code: &'static str) -> Option<Result<Source, Diagnostic>> {
        matches!(form.head.as_str(), "directory" | "tarball" | "git").then(|| parse(form, code))
    }

    /// As it stands in a manifest.
    pub fn to_datum(&self) -> Datum {
        let text = |text: &str| Datum::String(text.into());
        let list = |head: &str, value: &str| Datum::list(vec![Datum::symbol(head), text(value)]);
        let mut parts;
        match self {
            Source::Directory { path } => return list("directory", path),
            Source::Archive {
                location, sha256, ..
            } => {
                parts = vec![Datum::symbol("tarball"), text(location)];
                parts.extend(sha256.iter().map(|sum| list("sha256", sum)));
            }
            Source::Git { url, reference, .. } => {
                parts = vec![Datum::symbol("git"), text(url)];
                parts.extend(match reference {
                    Reference::Default => None,
                    Reference::Tag(name) => Some(list("tag", name)),
                    Reference::Branch(name) => Some(list("branch", name)),
                    Reference::Revision(hash) => Some(list("revision", hash)),
                });
            }
        }
        parts.extend(self.inner().map(|path| list("path", path)));
        Datum::list(parts)
    }
}

/// Whether a text is a checksum.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn parse(form: &Form, code: &'static str) -> Result<Source, Diagnostic> {
    let bad = |span: Span, message: String| Err(Diagnostic::error(code, span, message));
    let Some((first, options)) = form.operands.split_first() else {
        return bad(
            form.span,
            format!("`{}` takes a string that says where", form.head),
        );
    };
    let place = string(first, code)?;
    if place.is_empty() || place.starts_with('-') || place.chars().any(char::is_control) {
        return bad(first.span, "this is no place of a package".to_owned());
    }
    let (mut sha256, mut path, mut reference) = (None, None, Reference::Default);
    for option in options {
        let Some(option_form) = Form::of(option) else {
            return bad(option.span, format!("`{}` is no option", shortened(option)));
        };
        let value = option_form.string(code)?;
        match (form.head.as_str(), option_form.head.as_str()) {
            ("tarball", "sha256") if is_sha256(&value) => sha256 = Some(value.to_ascii_lowercase()),
            ("tarball", "sha256") => {
                return bad(
                    option.span,
                    "a SHA-256 checksum has 64 hexadecimal digits".to_owned(),
                );
            }
            ("tarball" | "git", "path") => match inner_path(None, &value) {
                Some(inner) => path = inner,
                None => {
                    return bad(
                        option.span,
                        format!("the path `{value}` leads out of the package"),
                    );
                }
            },
            ("git", "tag" | "branch" | "revision") if reference != Reference::Default => {
                return bad(
                    option.span,
                    "a tag, a branch or a revision: only one of them".to_owned(),
                );
            }
            ("git", "tag" | "branch" | "revision") if !is_reference(&value) => {
                return bad(
                    option.span,
                    format!("`{value}` cannot be the name of a revision"),
                );
            }
            ("git", "tag") => reference = Reference::Tag(value),
            ("git", "branch") => reference = Reference::Branch(value),
            ("git", "revision") => reference = Reference::Revision(value),
            (head, word) => return bad(option.span, format!("`{head}` has no option `{word}`")),
        }
    }
    Ok(match form.head.as_str() {
        "directory" => Source::Directory { path: place },
        "tarball" => Source::Archive {
            location: place,
            sha256,
            path,
        },
        _ => Source::Git {
            url: place,
            reference,
            path,
        },
    })
}

/// Whether git may be given a text as the name of a revision.
pub fn is_reference(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.contains("..")
        && !text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c))
}

impl Wish {
    /// As it stands in a manifest.
    pub fn to_datum(&self) -> Datum {
        match self {
            Wish::Source(source) => source.to_datum(),
            Wish::Version(range) => Datum::list(vec![
                Datum::symbol("version"),
                Datum::String(range.as_str().into()),
            ]),
        }
    }
}

impl Dependency {
    /// Whether a datum in a list of dependencies is one, and not the name of a library.
    pub fn is_one(syntax: &Syntax) -> bool {
        syntax.elements().is_some_and(|elements| {
            let is_place = |one: &Syntax| {
                one.as_pair().is_some() || matches!(one.as_atom(), Some(Datum::String(_)))
            };
            elements.len() >= 2 && elements[1..].iter().any(is_place)
        })
    }

    /// Reads a dependency.
    pub fn from_syntax(syntax: &Syntax, code: &'static str) -> Result<Dependency, Diagnostic> {
        let elements = syntax.elements().unwrap_or_default();
        let [name, place] = elements.as_slice() else {
            let message =
                "a dependency is `(NAME PLACE)`, such as `(json (directory \"../json\"))`";
            return Err(Diagnostic::error(code, syntax.span, message));
        };
        let name = PackageName::from_syntax(name).map_err(|mut error| {
            error.code = code;
            error
        })?;
        Ok(Dependency {
            name,
            wish: wish(place, code)?,
            span: syntax.span,
        })
    }

    /// As it stands in a manifest.
    pub fn text(&self) -> String {
        format!("({} {})", self.name, self.wish.to_datum())
    }
}

fn wish(place: &Syntax, code: &'static str) -> Result<Wish, Diagnostic> {
    let range = |text: &str, span: Span| {
        Range::parse(text)
            .map(Wish::Version)
            .map_err(|message| Diagnostic::error(code, span, message))
    };
    if let Some(Datum::String(text)) = place.as_atom() {
        return range(text, place.span);
    }
    let known = "`directory`, `tarball`, `git` or `version`";
    let Some(form) = Form::of(place) else {
        let message = format!("a place is {known}, not `{}`", shortened(place));
        return Err(Diagnostic::error(code, place.span, message));
    };
    if form.head == "version" {
        let text = form.string(code)?;
        return range(&text, form.span);
    }
    match Source::from_form(&form, code) {
        Some(source) => source.map(Wish::Source),
        None => {
            let mut error = Diagnostic::error(
                code,
                form.head_span,
                format!("a place is {known}, not `{}`", form.head),
            );
            error.similar =
                crate::fields::unknown(&form, &["directory", "tarball", "git", "version"], CODE)
                    .and_then(|other| other.similar);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_by_their_text() {
        for (base, path, expected) in [
            (".", "../json", "../json"),
            ("../json", "../text", "../text"),
            ("../json", "sub", "../json/sub"),
            (".", ".", "."),
            ("a/b", "../../..", ".."),
            ("/a", "../../b", "/b"),
            ("a", "/b c", "/b c"),
        ] {
            assert_eq!(join(base, path), expected);
        }
    }

    #[test]
    fn fetched_packages_stay_where_they_are() {
        let git = Source::Git {
            url: "https://example.org/all.git".to_owned(),
            reference: Reference::Default,
            path: Some("one".to_owned()),
        };
        let directory = |path: &str| Source::Directory {
            path: path.to_owned(),
        };
        let two = directory("../two").placed(&git.base()).unwrap();
        assert_eq!(two.inner(), Some("two"));
        assert!(directory("../..").placed(&git.base()).is_err());
        assert!(directory("/etc").placed(&git.base()).is_err());
        let local = Source::Archive {
            location: "file:///tmp/x.tgz".to_owned(),
            sha256: None,
            path: None,
        };
        assert!(local.placed(&git.base()).is_err());
        assert!(local.placed(&local.base()).is_ok());
    }

    #[test]
    fn urls_are_told_from_paths() {
        for url in ["https://a/b", "file:///x", "git@host:me/x.git", "ssh://h/x"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["a b/c.tgz", "./a:b", "../x", "C:/x", "a@b/c:d"] {
            assert!(!is_url(path), "{path}");
        }
    }
}
