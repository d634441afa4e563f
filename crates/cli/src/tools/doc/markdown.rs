//! Renders documents as Markdown: for the terminal, and as pages of the reference.
//!
//! The same functions serve `canny doc`, `?name` at the prompt and the site. Names of one heading
//! stay together. Rendering reads only [`Document`], never a source.

use std::fmt::Write;
use std::path::Path;

use canny_documentation::{Document, Entry, Kind, Signature};
use canny_syntax::library_name::Family;

use super::Failure;
use super::find::public_libraries;
use super::search::Matches;

/// The standard libraries with a line about each.
pub fn list_of_libraries() -> String {
    let mut text = String::from("# Standard libraries\n\n");
    for document in public_libraries() {
        let _ = writeln!(
            text,
            "- `{}`: {}",
            document.name,
            one_line(document.summary())
        );
    }
    text.push_str(
        "\n`canny doc '(scheme base)'` shows a library, `canny doc vector-map` a name.\n",
    );
    text
}

/// A document for the terminal: its text, then a line for each name.
pub fn overview(document: &Document) -> String {
    let mut text = format!("# {}\n\n{}\n", document.name, document.text);
    for (title, about, entries) in sections(document) {
        if !title.is_empty() {
            let _ = write!(text, "\n## {title}\n");
        }
        if !about.is_empty() {
            let _ = write!(text, "\n{about}\n");
        }
        text.push('\n');
        for entry in entries {
            let uses = uses(entry);
            let use_text = uses.first().cloned().unwrap_or_else(|| entry.name.clone());
            let _ = write!(text, "- `{use_text}`");
            if uses.is_empty() && !matches!(entry.kind, Kind::Variable) {
                let _ = write!(text, " {}", entry.kind.label());
            }
            let summary = one_line(entry.summary());
            if !summary.is_empty() {
                let _ = write!(text, ": {summary}");
            }
            text.push('\n');
        }
    }
    text
}

/// Everything about a name, and which libraries have it.
pub fn entry_page(entry: &Entry, libraries: &[String]) -> String {
    let mut text = format!("# {}\n\n", entry.name);
    let mut kind = kind_text(entry);
    if !libraries.is_empty() {
        let names: Vec<String> = libraries.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(kind, " of {}", names.join(", "));
    }
    let _ = writeln!(text, "{kind}\n");
    text.push_str(&entry_text(entry));
    text
}

/// The text about the results of a search.
pub fn matches(matches: &Matches) -> String {
    let mut text = format!(
        "# {}\n\nNo library exports such a name. Related entries:\n\n",
        matches.words
    );
    for one in &matches.shown {
        let _ = write!(text, "- {}", code(&one.usage));
        if let Some(library) = &one.library {
            let _ = write!(text, " of `{library}`");
        }
        let summary = one_line(&one.summary);
        if !summary.is_empty() {
            let _ = write!(text, ": {summary}");
        }
        text.push('\n');
    }
    if matches.others > 0 {
        let _ = write!(
            text,
            "\nThere are {} more; another word says more exactly what is meant.\n",
            matches.others
        );
    }
    text
}

/// How a name is used, and the text about it.
pub fn entry_text(entry: &Entry) -> String {
    let mut text = String::new();
    let uses = uses_with_results(entry);
    if !uses.is_empty() {
        let _ = writeln!(text, "```text\n{}\n```\n", uses.join("\n"));
    }
    text.push_str(&entry.text);
    text.push('\n');
    text
}

/// A page of a site about a document, with everything about every name.
pub fn full_page(document: &Document) -> String {
    let mut text = format!("# {}\n\n{}\n", document.name, document.text);
    if let Some(number) = srfi_number(&document.name)
        && !document.text.contains("srfi.schemers.org")
    {
        let _ = write!(
            text,
            "\nIts document: [SRFI {number}](https://srfi.schemers.org/srfi-{number}/).\n"
        );
    }
    for (title, about, entries) in sections(document) {
        if !title.is_empty() {
            let _ = write!(text, "\n## {title}\n");
        }
        if !about.is_empty() {
            let _ = write!(text, "\n{about}\n");
        }
        let mut rest = entries.as_slice();
        while let Some(entry) = rest.first() {
            // Names of one heading stay together.
            let same = rest
                .iter()
                .take_while(|other| other.name == entry.name || in_one_group(entry, other))
                .count();
            text.push_str(&section_of(&rest[..same]));
            rest = &rest[same..];
        }
    }
    text
}

/// Whether two entries of a section stand below the same heading of its page.
fn in_one_group(left: &Entry, right: &Entry) -> bool {
    match (&left.group, &right.group) {
        (Some(left), Some(right)) => left.line == right.line,
        _ => false,
    }
}

/// A heading with the uses of some names, and the text about them.
fn section_of(entries: &[&Entry]) -> String {
    let heads: Vec<String> = entries.iter().flat_map(|entry| heads(entry)).collect();
    let mut text = format!("\n### {}\n\n", heads.join(", "));
    let [first, others @ ..] = entries else {
        return text;
    };
    let place = place_text(first);
    if place != "procedure" && others.iter().all(|other| place_text(other) == place) {
        let _ = writeln!(text, "*{place}*\n");
    }
    match &first.group {
        Some(group) if !others.is_empty() => {
            for entry in entries {
                let own = entry.group.as_ref().map_or("", |group| &group.own);
                let _ = writeln!(
                    text,
                    "- {}: {}",
                    code(&entry.name),
                    own.replace('\n', "\n  ")
                );
            }
            if !group.shared.is_empty() {
                let _ = writeln!(text, "\n{}", group.shared);
            }
        }
        _ if !first.text.is_empty() => {
            let _ = writeln!(text, "{}", first.text);
        }
        _ => {}
    }
    text
}

/// The number of the SRFI that a library is of.
fn srfi_number(name: &str) -> Option<u32> {
    let words = name.strip_prefix("(srfi ")?.trim_end_matches(')');
    words.split(' ').next()?.parse().ok()
}

/// The code spans of an entry's heading.
fn heads(entry: &Entry) -> Vec<String> {
    let mut uses = uses_with_results(entry);
    if uses.is_empty() {
        uses.push(entry.name.clone());
    }
    uses.iter().map(|text| code(text)).collect()
}

/// A code span; a text with a backtick needs more of them around it.
fn code(text: &str) -> String {
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

fn uses(entry: &Entry) -> Vec<String> {
    entry
        .signatures
        .iter()
        .map(|signature| signature.text.clone())
        .collect()
}

/// The uses, with the kind of object that each gives where that is known and tells something.
fn uses_with_results(entry: &Entry) -> Vec<String> {
    let use_text = |signature: &Signature| match signature.result.as_deref() {
        None | Some("any" | "unspecified" | "never") => signature.text.clone(),
        Some(result) => format!("{} → {result}", signature.text),
    };
    entry.signatures.iter().map(use_text).collect()
}

/// The kind of an entry, and its origin if that is another library that people use.
fn place_text(entry: &Entry) -> String {
    let mut text = kind_text(entry);
    if let Some(origin) = &entry.origin
        && Family::of(&origin.library) != Family::Canny
    {
        let _ = write!(text, ", from {}", origin.library);
    }
    text
}

fn kind_text(entry: &Entry) -> String {
    match &entry.kind {
        Kind::RecordPart { record, .. } => format!("{} of `{record}`", entry.kind.label()),
        Kind::Constant { value } => format!("constant, {}", code(value)),
        kind => kind.label().to_owned(),
    }
}

/// Title, text and entries of each section: as the page has them, else in the order of their first
/// entries; what is in no section comes last.
fn sections(document: &Document) -> Vec<(&str, &str, Vec<&Entry>)> {
    let mut sections: Vec<(&str, &str, Vec<&Entry>)> = document
        .sections
        .iter()
        .map(|section| (section.title.as_str(), section.text.as_str(), Vec::new()))
        .collect();
    for entry in document
        .entries
        .iter()
        .filter(|it| !it.name.starts_with('%'))
    {
        let found = sections
            .iter_mut()
            .find(|(title, ..)| *title == entry.section);
        match found {
            Some((.., entries)) => entries.push(entry),
            None => sections.push((&entry.section, "", vec![entry])),
        }
    }
    sections.retain(|(_, text, entries)| !text.is_empty() || !entries.is_empty());
    if sections.len() > 1 {
        for (title, ..) in &mut sections {
            if title.is_empty() {
                *title = "Other names";
            }
        }
        sections.sort_by_key(|(title, ..)| *title == "Other names");
    }
    sections
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a page about each public standard library, `scheme/base.md` and the like, and one that lists them.
pub fn write_reference(directory: &Path) -> Result<u8, Failure> {
    let mut index = String::from(
        "# Reference\n\nEvery standard library, with every name that it exports. `canny doc` shows the same \
         at the terminal.\n",
    );
    let titles = [
        (
            "(scheme ",
            "R7RS",
            "Those of R7RS-small, and the names that R7RS-large gives to SRFIs.",
        ),
        ("(canny ", "Canny", "Additions to the standard."),
        ("(srfi ", "SRFIs", "Scheme Requests for Implementation."),
    ];
    for (prefix, title, text) in titles {
        let _ = write!(
            index,
            "\n## {title}\n\n{text}\n\n| library | |\n|---|---|\n"
        );
        for document in public_libraries().filter(|it| it.name.starts_with(prefix)) {
            let path = page_path(&document.name);
            let summary = one_line(document.summary()).replace('|', "\\|");
            // A link in a summary begins at the library's own page.
            let summary = without_links(&summary);
            let _ = writeln!(index, "| [`{}`]({path}) | {summary} |", document.name);
            write_page(directory, &path, &full_page(document))?;
        }
    }
    write_page(directory, "README.md", &index)?;
    Ok(0)
}

/// The path of a library's page.
pub fn page_path(name: &str) -> String {
    let words = name.trim_matches(['(', ')']).replace(' ', "/");
    format!("{words}.md")
}

/// A text whose links are their labels.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((label, behind)) = after.split_once("](") else {
            break;
        };
        let Some((_, behind)) = behind.split_once(')') else {
            break;
        };
        plain.push_str(before);
        plain.push_str(label);
        rest = behind;
    }
    plain + rest
}

fn write_page(directory: &Path, path: &str, text: &str) -> Result<(), Failure> {
    let path = directory.join(path);
    let write = || {
        std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
        std::fs::write(&path, text)
    };
    write().map_err(|error| Failure::of_file("write", &path, &error))
}
