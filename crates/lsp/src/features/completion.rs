//! Completion: names in scope, names that could be imported, libraries, files.
//!
//! The text may be newer than what is known of it; places are carried over the change between the two.

use std::collections::HashSet;

use canny_syntax::name::Name;
use canny_syntax::recording::{LocalKind, Meaning};
use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::scan::{Kind, Surroundings, surroundings};
use crate::snapshot::Snapshot;
use crate::text::Text;
use crate::view::View;

/// More proposals than these are cut off.
const ITEMS_MAX: usize = 300;

/// The answer to `textDocument/completion`.
pub fn complete(view: &View, offset: usize, catalog: &Catalog) -> Value {
    let (snapshot, text) = (&*view.snapshot, &view.text);
    let content = &*text.content;
    let around = surroundings(content, text.tokens(), offset);
    if let Some(token) = around.token {
        match token.kind {
            Kind::Comment => return Value::Array(Vec::new()),
            Kind::String => return files(snapshot, text, &around, token.start, offset),
            _ => {}
        }
    }
    let start = match around.token {
        Some(token) => token.start,
        None => offset,
    };
    let word = &content[start..offset];
    let mut items = Items {
        text,
        start,
        offset,
        word: word.to_lowercase(),
        seen: HashSet::new(),
        found: Vec::new(),
    };
    if let Some(depth) = import_depth(content, &around) {
        imports(&mut items, content, &around, depth, catalog);
        return items.finish();
    }
    let known = view.back(start);
    for (name, meaning) in snapshot.locals_at(known) {
        items.bound(name, meaning, None, '1');
    }
    if let Some(unit) = snapshot.unit_at(known) {
        for top in &unit.names {
            let from = top.imported_from.as_ref().map(ToString::to_string);
            let order = if from.is_some() { '3' } else { '2' };
            items.bound(top.name, &top.meaning, from, order);
        }
    }
    if !word.is_empty() {
        let importer = Importer::new(text, offset);
        for (name, exports) in catalog.names() {
            items.importable(name, exports, &importer);
        }
    }
    items.finish()
}

struct Items<'t> {
    text: &'t Text,
    start: usize,
    offset: usize,
    /// In small letters.
    word: String,
    seen: HashSet<String>,
    found: Vec<(String, Value)>,
}

impl Items<'_> {
    /// How well a name fits what was typed; `None` if it does not.
    fn quality(&self, name: &str) -> Option<char> {
        let begins = name
            .get(..self.word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(&self.word));
        if begins {
            return Some('a');
        }
        (self.word.len() > 1 && name.to_lowercase().contains(&self.word)).then_some('b')
    }

    fn add(&mut self, name: &str, order: char, quality: char, mut item: Value) {
        item["label"] = name.into();
        item["sortText"] = format!("{quality}{order}{name}").into();
        item["filterText"] = name.into();
        item["textEdit"] = self.text.edit(self.start, self.offset, name);
        self.found.push((format!("{quality}{order}{name}"), item));
    }

    fn bound(&mut self, name: Name, meaning: &Meaning, from: Option<String>, order: char) {
        let text = name.as_str();
        // Names with these beginnings belong to the system.
        if text.starts_with(['%', ' ']) && !self.word.starts_with('%') {
            return;
        }
        let Some(quality) = self.quality(text) else {
            return;
        };
        if !self.seen.insert(text.to_owned()) {
            return;
        }
        let kind = kind_of(meaning);
        let detail = match (&from, meaning) {
            (Some(library), _) => library.clone(),
            (None, Meaning::Local { .. }) => "local".to_owned(),
            (None, _) => String::new(),
        };
        self.add(
            text,
            order,
            quality,
            json!({"kind": kind, "detail": detail}),
        );
    }

    fn importable(
        &mut self,
        name: &str,
        exports: &[crate::catalog::Export],
        importer: &Importer<'_>,
    ) {
        let Some(quality @ 'a') = self.quality(name) else {
            return;
        };
        if self.seen.contains(name) {
            return;
        }
        for export in exports.iter().take(2) {
            let kind = export.meaning.as_ref().map_or(3, kind_of);
            let Some(edit) = importer.edit(&export.library) else {
                continue;
            };
            self.add(
                name,
                '5',
                quality,
                json!({
                    "kind": kind,
                    "detail": format!("import {}", export.library),
                    "additionalTextEdits": [edit],
                }),
            );
        }
    }

    fn finish(mut self) -> Value {
        self.found.sort_by(|left, right| left.0.cmp(&right.0));
        let is_incomplete = self.found.len() > ITEMS_MAX;
        self.found.truncate(ITEMS_MAX);
        let items: Vec<Value> = self.found.into_iter().map(|(_, item)| item).collect();
        json!({"isIncomplete": is_incomplete, "items": items})
    }
}

/// The protocol's number for a kind of thing.
fn kind_of(meaning: &Meaning) -> u32 {
    match meaning {
        Meaning::Core(_) => 14,
        Meaning::Macro(_) => 15,
        Meaning::Primitive(_) | Meaning::Global(_) => 3,
        Meaning::Local {
            kind: LocalKind::Keyword,
            ..
        } => 15,
        Meaning::Local {
            kind: LocalKind::Field,
            ..
        } => 5,
        Meaning::Local { .. } => 6,
        Meaning::Library(_) => 9,
        Meaning::Unbound(_) => 1,
    }
}

/// The position of the `import` form among the open lists, if the place is inside of one.
fn import_depth(content: &str, around: &Surroundings) -> Option<usize> {
    around.lists.iter().position(|list| {
        list.head
            .is_some_and(|(start, end)| &content[start..end] == "import")
            && !list.is_quoted
    })
}

/// The words of library names, or names that an import set can list.
fn imports(
    items: &mut Items<'_>,
    content: &str,
    around: &Surroundings,
    depth: usize,
    catalog: &Catalog,
) {
    let inner = &around.lists[depth + 1..];
    let head = |list: &crate::scan::OpenList| list.head.map(|(start, end)| &content[start..end]);
    // Inside of `(only (library) …)` behind the library.
    if let Some(list) = inner.last()
        && matches!(head(list), Some("only" | "except" | "rename"))
        && list.elements > 1
        && let Some(library) = library_text(content, list.start)
    {
        for name in catalog.exports_of(&library) {
            if let Some(quality) = items.quality(name) {
                items.add(name, '1', quality, json!({"kind": 3, "detail": library}));
            }
        }
        return;
    }
    let (open, words) = match inner.last() {
        Some(list) => (list.start + 1, list.start),
        None => (items.start, items.start),
    };
    let typed: Vec<&str> = content[open..items.offset].split_whitespace().collect();
    let typed = typed.join(" ");
    let wants_blank = content[open..items.offset].ends_with(' ');
    let prefix = if wants_blank {
        format!("({typed} ")
    } else {
        format!("({typed}")
    };
    let prefix = if inner.is_empty() {
        "("
    } else {
        prefix.as_str()
    };
    for library in catalog.libraries() {
        if !library.starts_with(prefix) || !items.seen.insert(library.to_owned()) {
            continue;
        }
        // The closing paren may be there.
        let closed = content[items.offset..].trim_start().starts_with(')') && !inner.is_empty();
        let new = if closed {
            &library[..library.len() - 1]
        } else {
            library
        };
        let edit = items.text.edit(words, items.offset, new);
        let item = json!({
            "label": library,
            "kind": 9,
            "filterText": new,
            "sortText": library,
            "textEdit": edit,
        });
        items.found.push((library.to_owned(), item));
    }
    for modifier in ["only", "except", "prefix", "rename"] {
        if typed.is_empty() || modifier.starts_with(&typed) {
            items.add(modifier, '9', 'b', json!({"kind": 14}));
        }
    }
}

/// The library in the import set that begins at a place.
fn library_text(content: &str, start: usize) -> Option<String> {
    let rest = &content[start + 1..];
    let open = rest.find('(')?;
    let close = rest[open..].find(')')? + open;
    let inside = &rest[open + 1..close];
    if inside.contains('(') {
        library_text(content, start + 1 + open)
    } else {
        Some(format!(
            "({})",
            inside.split_whitespace().collect::<Vec<_>>().join(" ")
        ))
    }
}

/// Files, in a string of `include`, `load` and the like.
fn files(
    snapshot: &Snapshot,
    text: &Text,
    around: &Surroundings,
    string: usize,
    offset: usize,
) -> Value {
    let content = &*text.content;
    let head = around.lists.last().and_then(|list| list.head);
    let is_file = head.is_some_and(|(start, end)| {
        let head = &content[start..end];
        head.starts_with("include")
            || matches!(
                head,
                "load" | "open-input-file" | "call-with-input-file" | "with-input-from-file"
            )
    });
    let empty = Value::Array(Vec::new());
    if !is_file || string + 1 > offset {
        return empty;
    }
    let typed = &content[string + 1..offset];
    let (directory, word) = typed
        .rsplit_once('/')
        .map_or(("", typed), |(directory, word)| (directory, word));
    let Some(base) = snapshot.path.parent() else {
        return empty;
    };
    let Ok(entries) = std::fs::read_dir(base.join(directory)) else {
        return empty;
    };
    let mut items: Vec<Value> = Vec::new();
    for entry in entries.flatten().take(ITEMS_MAX) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || !name.starts_with(word) {
            continue;
        }
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let kind = if is_directory { 19 } else { 17 };
        let edit = text.edit(offset - word.len(), offset, &name);
        items.push(json!({"label": name, "kind": kind, "textEdit": edit}));
    }
    items.sort_by_key(|item| item["label"].as_str().unwrap_or_default().to_owned());
    items.into()
}

/// Adds imports to a text.
pub struct Importer<'t> {
    text: &'t Text,
    /// The end of the last import set, whether sets stand below each other, and the column.
    last: Option<(usize, Option<usize>)>,
    /// Where an import form can be put.
    top: Option<usize>,
}

impl<'t> Importer<'t> {
    /// For the unit that a place belongs to.
    pub fn new(text: &'t Text, offset: usize) -> Importer<'t> {
        let content = &*text.content;
        let scanned = text.tokens();
        let around = surroundings(content, scanned, offset);
        let library = around.lists.first().filter(|list| {
            list.head
                .is_some_and(|(start, end)| &content[start..end] == "define-library")
        });
        // The import form is found in the text as it is now.
        let (mut depth, wanted) = (0usize, usize::from(library.is_some()));
        let from = library.map_or(0, |list| list.start);
        let mut form: Option<(usize, Vec<(usize, usize)>)> = None;
        let mut is_form = false;
        let mut last = None;
        for token in scanned.iter().filter(|token| token.start >= from) {
            match token.kind {
                Kind::Open => {
                    if depth == wanted {
                        is_form = content[token.end..].trim_start().starts_with("import")
                            && content[token.start..].starts_with('(');
                        form = is_form.then(|| (token.start, Vec::new()));
                    } else if depth == wanted + 1
                        && let Some((_, sets)) = &mut form
                    {
                        sets.push((token.start, token.end));
                    }
                    depth += 1;
                }
                Kind::Close => {
                    depth = depth.saturating_sub(1);
                    if depth == wanted + 1
                        && let Some((_, sets)) = &mut form
                        && let Some(set) = sets.last_mut()
                    {
                        set.1 = token.end;
                    }
                    if depth == wanted
                        && is_form
                        && let Some((_, sets)) = form.take()
                    {
                        last = sets.last().map(|(start, end)| {
                            let below = sets.len() > 1
                                && text.line_of(sets[0].0) != text.line_of(*start)
                                || sets.len() > 6;
                            let column = sets[0].0 - text.line_start(text.line_of(sets[0].0));
                            (*end, below.then_some(column))
                        });
                    }
                    if wanted == 1 && depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        // A program without imports has those of (canny base); a library has a place only if it imports
        // something.
        let first = scanned.iter().find(|token| token.kind != Kind::Comment);
        let top = (wanted == 0).then(|| {
            first.map_or(content.len(), |token| {
                text.line_start(text.line_of(token.start))
            })
        });
        Importer { text, last, top }
    }

    /// The edit that imports a library.
    pub fn edit(&self, library: &str) -> Option<Value> {
        if let Some((end, column)) = self.last {
            let blank = match column {
                Some(column) => format!("\n{}", " ".repeat(column)),
                None => " ".to_owned(),
            };
            return Some(self.text.edit(end, end, &format!("{blank}{library}")));
        }
        let top = self.top?;
        let text = format!("(import (canny base) {library})\n");
        Some(self.text.edit(top, top, &text))
    }
}
