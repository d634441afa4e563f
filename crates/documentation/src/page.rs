//! Documentation of a library in a Markdown file of its own.
//!
//! ```text
//! # (my library)
//!
//! The purpose of the library.
//!
//! ## A section
//!
//! ### `(name parameter ...)`
//!
//! The effect and the result of the procedure.
//!
//! ### `(first-name parameter ...)`, `(second-name)`, `third-name`
//!
//! - `first-name`: The first one's description.
//! - `second-name`: The second one's description. An item may have several sentences,
//!   and lines that are indented continue with it.
//! - `third-name`: The third one's description.
//!
//! A text about all of them.
//! ```
//!
//! A heading of the third level lists uses of one name or of several. The text below a heading with
//! several names begins with a list that has an item for each name. The text of a name is its item and
//! then what follows the list. Everything else is Markdown.

use std::collections::HashMap;

use crate::model::{Document, Entry, Example, Group, Kind, Parameter, Role, Section, Signature};
use crate::text::{self, Line};

/// A page about a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The library's name as it is written.
    pub name: String,
    /// The file.
    pub file: String,
    /// The purpose of the library.
    pub text: String,
    /// The examples in that.
    pub examples: Vec<Example>,
    /// Its sections, in order.
    pub sections: Vec<Section>,
    /// The page's entries about names, in order.
    pub entries: Vec<PageEntry>,
}

/// An entry of a page about one or several names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    /// The uses in the heading, as they are written there.
    pub uses: Vec<String>,
    /// The section that it stands in; may be empty.
    pub section: String,
    /// The texts about single names: the items of the list at the beginning.
    pub items: Vec<PageItem>,
    /// The text behind the items.
    pub text: String,
    /// The examples in the text.
    pub examples: Vec<Example>,
    /// The line of the heading.
    pub line: u32,
}

/// An item about one of the names of a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageItem {
    /// The name.
    pub name: String,
    /// The text, which is one paragraph.
    pub text: String,
    /// The line that it begins on.
    pub line: u32,
}

impl PageEntry {
    /// The names in the heading, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for text in &self.uses {
            let name = used_name(text);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The text about a name: its own, and then what is said about all names of the heading.
    fn text_of(&self, name: &str) -> String {
        let own = self.items.iter().find(|item| item.name == name);
        match own {
            Some(own) if self.text.is_empty() => own.text.clone(),
            Some(own) => format!("{}\n\n{}", own.text, self.text),
            None => self.text.clone(),
        }
    }

    /// Mistakes in the items, each with its line: a name without an item, and an item without a
    /// name.
    fn complaints(&self) -> Vec<(u32, String)> {
        let names = self.names();
        let mut complaints = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            let is_again = self.items[..index].iter().any(|it| it.name == item.name);
            if !names.contains(&item.name.as_str()) || is_again {
                let message = format!(
                    "the heading above does not ask for an item about {}",
                    item.name
                );
                complaints.push((item.line, message));
            }
        }
        for name in names.iter().filter(|_| names.len() > 1) {
            if !self.items.iter().any(|item| item.name == *name) {
                let message =
                    format!("the heading has several names and there is no item about {name}");
                complaints.push((self.line, message));
            }
        }
        complaints
    }
}

/// The items that the text below a heading begins with, and how many lines they take.
fn items(lines: &[Line]) -> (Vec<PageItem>, usize) {
    let mut items: Vec<PageItem> = Vec::new();
    let mut count = 0;
    for (index, line) in lines.iter().enumerate() {
        let item = line
            .text
            .strip_prefix("- `")
            .and_then(|rest| rest.split_once("`: "));
        match (item, items.last_mut()) {
            (Some((name, text)), _) => items.push(PageItem {
                name: name.to_owned(),
                text: text.trim_end().to_owned(),
                line: line.number,
            }),
            (None, Some(last)) if line.text.starts_with("  ") => {
                last.text.push('\n');
                last.text.push_str(line.text.trim());
            }
            (None, None) if line.text.trim().is_empty() => continue,
            _ => break,
        }
        count = index + 1;
    }
    (items, count)
}

/// The name in a use such as `(name parameter)` or `name`.
fn used_name(text: &str) -> &str {
    let inner = text.strip_prefix('(').unwrap_or(text);
    let end = inner.find([' ', ')']).unwrap_or(inner.len());
    &inner[..end]
}

impl Page {
    /// Reads a page; nothing if its first heading is not the name of a library.
    pub fn read(file: &str, source: &str) -> Option<Page> {
        let mut page: Option<Page> = None;
        let mut lines: Vec<Line> = Vec::new();
        let mut is_fenced = false;
        // The level of the heading above.
        let mut above = 0;
        for (index, line) in source.lines().enumerate() {
            let number = index as u32 + 1;
            is_fenced ^= line.trim_start().starts_with("```");
            let heading = (!is_fenced).then(|| heading(line)).flatten();
            let Some((level, title)) = heading else {
                lines.push(Line {
                    text: line.to_owned(),
                    number,
                });
                continue;
            };
            if let Some(page) = &mut page {
                page.end_text(above, &lines);
            }
            above = level;
            lines.clear();
            match (level, &mut page) {
                (1, None) => {
                    if !title.starts_with('(') {
                        return None;
                    }
                    page = Some(Page {
                        name: title.to_owned(),
                        file: file.to_owned(),
                        text: String::new(),
                        examples: Vec::new(),
                        sections: Vec::new(),
                        entries: Vec::new(),
                    });
                }
                (3, Some(page)) => page.entries.push(PageEntry {
                    uses: title
                        .split('`')
                        .skip(1)
                        .step_by(2)
                        .map(str::to_owned)
                        .collect(),
                    section: page
                        .sections
                        .last()
                        .map(|section| section.title.clone())
                        .unwrap_or_default(),
                    items: Vec::new(),
                    text: String::new(),
                    examples: Vec::new(),
                    line: number,
                }),
                (_, Some(page)) => page.sections.push(Section {
                    title: title.to_owned(),
                    text: String::new(),
                    examples: Vec::new(),
                }),
                // A text above the name of the library belongs to nothing.
                (_, None) => {}
            }
        }
        let mut page = page?;
        page.end_text(above, &lines);
        Some(page)
    }

    /// Ends the text below a heading of that level.
    fn end_text(&mut self, level: usize, lines: &[Line]) {
        let mut lines = lines;
        if let (3, Some(entry)) = (level, self.entries.last_mut())
            && entry.names().len() > 1
        {
            let (items, count) = items(lines);
            entry.items = items;
            lines = &lines[count..];
        }
        let found = text::doc_text(&self.file, lines);
        let place = match level {
            1 => Some((&mut self.text, &mut self.examples)),
            3 => {
                let entry = self.entries.last_mut();
                entry.map(|entry| (&mut entry.text, &mut entry.examples))
            }
            _ => {
                let section = self.sections.last_mut();
                section.map(|section| (&mut section.text, &mut section.examples))
            }
        };
        let Some((text, examples)) = place else {
            return;
        };
        *text = found.text;
        *examples = found.examples;
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let title = line.get(level..)?.strip_prefix(' ')?;
    (1..=3).contains(&level).then(|| (level, title.trim()))
}

/// Adds the texts of pages to documents: to the page's library and to every other that exports the
/// same things. Returns complaints for people about pages and names that fit no library.
pub fn complete(documents: &mut [Document], pages: &[Page]) -> Vec<String> {
    let mut complaints = Vec::new();
    // Entries of pages for exported things, wherever they are exported.
    let mut known: HashMap<(String, String), Entry> = HashMap::new();
    // The same by the name that a page has for it, for things that several names mean.
    let mut named: HashMap<((String, String), &str), Entry> = HashMap::new();
    for page in pages {
        let Some(document) = documents.iter_mut().find(|one| one.name == page.name) else {
            complaints.push(format!(
                "{}:1: there is no library {}",
                page.file, page.name
            ));
            continue;
        };
        if !page.text.is_empty() {
            document.text.clone_from(&page.text);
            document.examples.clone_from(&page.examples);
        }
        document.sections.clone_from(&page.sections);
        for told in &page.entries {
            for (line, message) in told.complaints() {
                complaints.push(format!("{}:{line}: {message}", page.file));
            }
            for name in told.names() {
                let Some(entry) = document.entries.iter_mut().find(|entry| entry.name == name)
                else {
                    complaints.push(format!(
                        "{}:{}: {} does not export {name}",
                        page.file, told.line, page.name
                    ));
                    continue;
                };
                let defined = entry.signatures.clone();
                apply(entry, told, name);
                if matches!(entry.kind, Kind::Procedure) && !fit(&entry.signatures, &defined) {
                    complaints.push(format!(
                        "{}:{}: {name} does not take all arguments that the heading shows",
                        page.file, told.line
                    ));
                }
                let identity = identity(&page.name, entry);
                named.insert((identity.clone(), name), entry.clone());
                // Another name of a thing says less than its own.
                if identity.1 == name {
                    known.insert(identity, entry.clone());
                } else {
                    known.entry(identity).or_insert_with(|| entry.clone());
                }
            }
        }
    }
    for document in documents {
        let page = pages.iter().find(|page| page.name == document.name);
        let told: Vec<&str> = page
            .map(|page| page.entries.iter().flat_map(PageEntry::names).collect())
            .unwrap_or_default();
        // Names of the page stand in its order, the rest behind them.
        document.entries.sort_by_key(|entry| {
            let found = told.iter().position(|name| *name == entry.name);
            found.unwrap_or(told.len())
        });
        for entry in &mut document.entries {
            if told.contains(&entry.name.as_str()) {
                continue;
            }
            let identity = identity(&document.name, entry);
            let found = known.get(&identity);
            if let Some(found) = named.get(&(identity, entry.name.as_str())).or(found) {
                let mut copy = found.clone();
                copy.section = String::new();
                copy.group = None;
                copy.place.clone_from(&entry.place);
                copy.origin.clone_from(&entry.origin);
                copy.rename(&entry.name);
                *entry = copy;
            }
        }
    }
    complaints
}

/// The library and the name that tell what an export of a library is.
fn identity(library: &str, entry: &Entry) -> (String, String) {
    match &entry.origin {
        Some(origin) => (origin.library.clone(), origin.name.clone()),
        None => (library.to_owned(), entry.name.clone()),
    }
}

fn apply(entry: &mut Entry, told: &PageEntry, name: &str) {
    entry.text = told.text_of(name);
    entry.group = told
        .items
        .iter()
        .find(|item| item.name == name)
        .map(|own| Group {
            line: told.line,
            own: own.text.clone(),
            shared: told.text.clone(),
        });
    entry.section.clone_from(&told.section);
    entry.examples.clone_from(&told.examples);
    let calls = told
        .uses
        .iter()
        .filter(|text| text.starts_with('(') && used_name(text) == name);
    let result = entry.signatures.first().and_then(|it| it.result.clone());
    let signatures: Vec<Signature> = calls
        .map(|text| {
            let mut signature = match entry.kind {
                Kind::Syntax => Signature::of_syntax(text.clone()),
                _ => written_call(text),
            };
            signature.result.clone_from(&result);
            signature
        })
        .collect();
    if !signatures.is_empty() {
        entry.signatures = signatures;
        if matches!(entry.kind, Kind::Variable) {
            entry.kind = Kind::Procedure;
        }
    }
}

/// A call as a page has it: `(name required [optional] rest ... [#:key value])`.
fn written_call(text: &str) -> Signature {
    let mut parameters: Vec<Parameter> = Vec::new();
    let inner = text.strip_prefix('(').unwrap_or(text);
    let inner = inner.strip_suffix(')').unwrap_or(inner);
    // How many brackets are open, and whether a keyword has come in the last one, which its value follows.
    let (mut depth, mut has_keyword) = (0_usize, false);
    for word in inner.split_whitespace().skip(1) {
        let opened = word.len() - word.trim_start_matches('[').len();
        depth += opened;
        let name = word.trim_matches(['[', ']']);
        if opened > 0 {
            has_keyword = false;
        }
        let role = match name.strip_prefix("#:") {
            Some(_) => Some(Role::Keyword),
            None if name == "..." || name == "…" => {
                if let Some(last) = parameters.last_mut() {
                    last.role = Role::Rest;
                }
                None
            }
            None if depth > 0 && has_keyword => None,
            None if depth > 0 => Some(Role::Optional),
            None => Some(Role::Required),
        };
        has_keyword |= role == Some(Role::Keyword);
        if let Some(role) = role {
            parameters.push(Parameter {
                name: name.strip_prefix("#:").unwrap_or(name).to_owned(),
                role,
                default: None,
            });
        }
        depth = depth.saturating_sub(word.len() - word.trim_end_matches(']').len());
    }
    Signature {
        text: text.to_owned(),
        parameters,
        result: None,
    }
}

/// Whether calls that are shown are such that are defined, as far as these are known. `name ...` may
/// mean one or more, and keywords with their values.
fn fit(shown: &[Signature], defined: &[Signature]) -> bool {
    let (Some(few), Some(few_defined)) = (positional(shown), positional(defined)) else {
        return true;
    };
    let least = few.0 + usize::from(few.1.is_none());
    let parameters = || defined.iter().flat_map(|signature| &signature.parameters);
    let has_keywords = parameters().any(|one| one.role == Role::Keyword);
    let is_below = |most| few.1.map_or(has_keywords, |shown| shown <= most);
    let takes = |wanted: &Parameter| {
        parameters()
            .any(|one| one.role == Role::Rest || one.role == wanted.role && one.name == wanted.name)
    };
    let mut keywords = shown
        .iter()
        .flat_map(|signature| &signature.parameters)
        .filter(|parameter| parameter.role == Role::Keyword);
    least >= few_defined.0 && few_defined.1.is_none_or(is_below) && keywords.all(takes)
}

/// How few and how many arguments by position calls have; nothing in place of the latter if there is no
/// limit.
fn positional(signatures: &[Signature]) -> Option<(usize, Option<usize>)> {
    let of_one = |signature: &Signature| {
        let count = |role| {
            let parameters = signature.parameters.iter();
            parameters
                .filter(|parameter| parameter.role == role)
                .count()
        };
        let least = count(Role::Required);
        let most = (count(Role::Rest) == 0).then(|| least + count(Role::Optional));
        (least, most)
    };
    let all: Vec<_> = signatures.iter().map(of_one).collect();
    let least = all.iter().map(|(least, _)| *least).min()?;
    let most: Option<Vec<usize>> = all.iter().map(|(_, most)| *most).collect();
    Some((least, most.and_then(|most| most.into_iter().max())))
}
