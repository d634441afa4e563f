//! Writing SXML as HTML or XML, with a stack of open lists instead of recursion.
//!
//! All is written to memory and nothing is allocated on the heap meanwhile, so that values in Rust
//! collections stay what they are. Names are checked and spelled once for each symbol and writing. When
//! something cannot be written the tree is gone through again with siblings counted, which tells the
//! path to it.

mod attributes;
mod special;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use canny_formats::markup::escape::{
    Dialect, NoForm, Place, push_character, push_latin1, push_utf8,
};
use canny_formats::markup::names::{
    self, Content, Value as Taken, drops_line_feed, ends_raw, is_name,
};
use canny_number::write_number;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::number_of;
use canny_vm::symbols::symbol_name;
use canny_vm::{Raise, TextBuilder, Thread};

use crate::arguments::Call;
use crate::decimal::{DIGITS_MAX, digits};
use crate::text::{Units, character, with_units};

/// Slots of the table of names, at first.
const SLOTS: usize = 256;
/// The depth at which a list is first compared with those around it.
const FIRST_COMPARED_DEPTH: usize = 256;
/// Attributes that are compared with one another; more are looked up in a set.
const FEW_ATTRIBUTES: usize = 16;

/// The role of a symbol at the head of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    Element,
    Top,
    Instruction,
    Comment,
    Entity,
    Namespaces,
    Attributes,
    Annotations,
    Raw,
    Doctype,
    Template,
    Attribute,
    Trusted,
}

/// Where a name is spelled in [`Writer::spelled`], as `<name></name> name="`, so that each use is one copy.
#[derive(Clone, Copy)]
struct Spelling {
    start: usize,
    length: usize,
}

impl Spelling {
    fn bare(self) -> Range<usize> {
        self.start + 1..self.start + 1 + self.length
    }

    /// The start tag without its end.
    fn start_tag(self) -> Range<usize> {
        self.start..self.start + 1 + self.length
    }

    fn end_tag(self) -> Range<usize> {
        self.start + 2 + self.length..self.start + 5 + 2 * self.length
    }

    /// An attribute without value; two more bytes begin one.
    fn attribute(self) -> Range<usize> {
        self.start + 5 + 2 * self.length..self.start + 6 + 3 * self.length
    }
}

/// The facts about a symbol.
#[derive(Clone, Copy)]
struct Name {
    symbol: Value,
    spelling: Spelling,
    head: Head,
    content: Content,
    taken: Taken,
    is_element: bool,
    is_attribute: bool,
    /// Whether it begins with the name of a namespace.
    is_universal: bool,
    drops_line_feed: bool,
}

/// The kinds of open list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// An element with its end tag to be written.
    Element,
    /// A list of nodes that stands among others.
    Splice,
    /// Texts as they are and nodes, one after the other.
    Template { is_text_next: bool },
}

struct Open {
    list: Value,
    rest: Value,
    /// An earlier rest, to find a list without an end.
    earlier: Value,
    count: usize,
    kept: Kept,
    /// Of an element.
    spelling: Spelling,
    /// The content that is allowed here.
    allowed: Allowed,
    /// Declarations of namespaces that hold outside.
    namespaces: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Nodes,
    /// Texts and elements that every reader reads alike.
    Plain,
    /// Text with references.
    Text,
    /// Text as it is, which begins here.
    Raw(usize),
    /// Text as it is without any markup.
    PlainRaw(usize),
    Nothing,
}

pub(super) struct Refusal {
    message: &'static str,
    object: Value,
}

fn refuse<T>(message: &'static str, object: Value) -> Result<T, Refusal> {
    Err(Refusal { message, object })
}

pub(super) struct Writer {
    pub(super) output: Vec<u8>,
    dialect: Dialect,
    stack: Vec<Open>,
    names: Vec<Name>,
    /// One more than the index of a name, at a place that its symbol's word tells or behind it; 0 for
    /// no name.
    slots: Vec<u32>,
    spelled: Vec<u8>,
    compared_depth: usize,
    /// Prefixes and what they stand for, in the open elements.
    namespaces: Vec<(String, String)>,
    /// How many of them were written.
    prefixes_made: usize,
    declares_all: bool,
    seen: Vec<Value>,
    /// The findings in the element's attributes about the header `refresh`.
    refresh: Refresh,
    /// Steps to where the writer is, and how often each name was met at each depth; when a refusal has
    /// to be placed.
    steps: Option<Vec<Step>>,
}

/// Whether an element is the header `refresh`, and its value leads to a program that nobody has marked.
#[derive(Clone, Copy, Default)]
struct Refresh {
    is_named: bool,
    leads_to_program: bool,
}

#[derive(Default)]
struct Step {
    name: String,
    position: usize,
    children: HashMap<u64, usize>,
}

impl Writer {
    pub(super) fn new(dialect: Dialect, places: bool) -> Writer {
        Writer {
            output: Vec::new(),
            dialect,
            stack: Vec::new(),
            names: Vec::new(),
            slots: vec![0; SLOTS],
            spelled: Vec::new(),
            compared_depth: FIRST_COMPARED_DEPTH,
            namespaces: Vec::new(),
            prefixes_made: 0,
            declares_all: false,
            seen: Vec::new(),
            refresh: Refresh::default(),
            steps: places.then(|| vec![Step::default()]),
        }
    }

    /// Writes a node and all below it.
    pub(super) fn write(&mut self, node: Value) -> Result<(), Refusal> {
        self.node(node, Allowed::Nodes)?;
        while let Some(open) = self.stack.last_mut() {
            let rest = open.rest;
            if let Some(pair) = rest.as_pair() {
                open.rest = pair.cdr();
                open.count += 1;
                if open.rest == open.earlier {
                    return refuse("a list has no end", Value::FALSE);
                }
                if open.count.is_power_of_two() {
                    open.earlier = open.rest;
                }
                let allowed = open.allowed;
                if let Kept::Template { is_text_next } = &mut open.kept {
                    let is_text = *is_text_next;
                    *is_text_next = !is_text;
                    if is_text {
                        self.raw(pair.car())?;
                        continue;
                    }
                }
                self.node(pair.car(), allowed)?;
            } else if rest.is_nil() {
                self.close()?;
            } else {
                return refuse("a node is a proper list", rest);
            }
        }
        Ok(())
    }

    #[inline]
    fn name(&mut self, symbol: Value) -> Name {
        let mask = self.slots.len() - 1;
        let mut slot = slot_of(symbol) & mask;
        loop {
            let Some(index) = (self.slots[slot] as usize).checked_sub(1) else {
                return self.new_name(symbol, slot);
            };
            let name = self.names[index];
            if name.symbol == symbol {
                return name;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn new_name(&mut self, symbol: Value, slot: usize) -> Name {
        let name = self.look_at(symbol);
        self.names.push(name);
        self.slots[slot] = self.names.len() as u32;
        if 2 * self.names.len() > self.slots.len() {
            let mask = 2 * self.slots.len() - 1;
            self.slots = vec![0; mask + 1];
            for (index, name) in self.names.iter().enumerate() {
                let mut slot = slot_of(name.symbol) & mask;
                while self.slots[slot] != 0 {
                    slot = (slot + 1) & mask;
                }
                self.slots[slot] = index as u32 + 1;
            }
        }
        name
    }

    fn spell(&mut self, text: &str) -> Spelling {
        let start = self.spelled.len();
        self.spelled
            .extend_from_slice(format!("<{text}></{text}> {text}=\"").as_bytes());
        Spelling {
            start,
            length: text.len(),
        }
    }

    /// Appends a part of a spelled name.
    #[inline(always)]
    fn put(&mut self, range: Range<usize>) {
        self.output.extend_from_slice(&self.spelled[range]);
    }

    #[cold]
    fn look_at(&mut self, symbol: Value) -> Name {
        let text = symbol_name(symbol).unwrap_or_default();
        let is_html = self.dialect == Dialect::Html;
        let is_universal = text
            .rsplit_once(':')
            .is_some_and(|(prefix, _)| prefix.contains([':', '/']));
        Name {
            symbol,
            spelling: self.spell(&text),
            head: match text.as_str() {
                "*TOP*" => Head::Top,
                "*PI*" => Head::Instruction,
                "*COMMENT*" => Head::Comment,
                "*ENTITY*" => Head::Entity,
                "*NAMESPACES*" => Head::Namespaces,
                "@" => Head::Attributes,
                "@@" => Head::Annotations,
                "*raw*" => Head::Raw,
                "*DOCTYPE*" => Head::Doctype,
                "*template*" => Head::Template,
                "*attribute*" => Head::Attribute,
                "*trusted*" => Head::Trusted,
                _ => Head::Element,
            },
            content: if is_html {
                names::content(&text)
            } else {
                Content::Usual
            },
            taken: names::attribute_value(&text),
            is_element: is_name(&text, false) && !is_universal,
            is_attribute: is_name(&text, is_html) && !is_universal,
            is_universal,
            drops_line_feed: is_html && drops_line_feed(&text),
        }
    }

    /// Writes a node, or its beginning.
    #[inline]
    fn node(&mut self, node: Value, allowed: Allowed) -> Result<(), Refusal> {
        if let Some(pair) = node.as_pair() {
            let head = pair.car();
            if head.is_kind(Kind::Symbol) {
                return self.tagged(node, head, pair.cdr(), allowed);
            }
            return self.open(node, node, Kept::Splice, NOWHERE, allowed);
        }
        if node.is_nil() || node == Value::FALSE {
            return Ok(());
        }
        match allowed {
            Allowed::Nodes | Allowed::Plain | Allowed::Text => self.atom(node, Place::Content),
            Allowed::Raw(_) | Allowed::PlainRaw(_) => self.raw(node),
            Allowed::Nothing => refuse("an element without content has some", node),
        }
    }

    fn open(
        &mut self,
        list: Value,
        rest: Value,
        kept: Kept,
        spelling: Spelling,
        allowed: Allowed,
    ) -> Result<(), Refusal> {
        let depth = self.stack.len();
        if depth >= self.compared_depth {
            self.compared_depth *= 2;
            // A list in itself is open more than once.
            let mut seen = HashSet::new();
            if !self.stack.iter().all(|open| seen.insert(open.list.bits())) {
                return refuse("a node contains itself", Value::FALSE);
            }
        }
        self.stack.push(Open {
            list,
            rest,
            earlier: Value::FALSE,
            count: 0,
            kept,
            spelling,
            allowed,
            namespaces: self.namespaces.len(),
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refusal> {
        let Some(open) = self.stack.pop() else {
            return Ok(());
        };
        if open.kept != Kept::Element {
            return Ok(());
        }
        self.check_raw(&open)?;
        if let Some(steps) = &mut self.steps {
            steps.pop();
        }
        if self.dialect == Dialect::Xml {
            self.namespaces.truncate(open.namespaces);
            if self.output.last() == Some(&b'\0') {
                // Nothing stands in it.
                self.output.pop();
                self.output.extend_from_slice(b"/>");
                return Ok(());
            }
        }
        if open.allowed == Allowed::Nothing {
            return Ok(());
        }
        self.put(open.spelling.end_tag());
        Ok(())
    }

    /// Refuses content of an element of raw text that would not stay in it.
    fn check_raw(&self, open: &Open) -> Result<(), Refusal> {
        let (start, is_plain) = match open.allowed {
            Allowed::Raw(start) => (start, false),
            Allowed::PlainRaw(start) => (start, true),
            _ => return Ok(()),
        };
        let content = &self.output[start..];
        let name = String::from_utf8_lossy(&self.spelled[open.spelling.bare()]);
        if ends_raw(content, &name) || is_plain && content.iter().any(|byte| b"<&".contains(byte)) {
            return refuse(
                "the content of an element that is written as it is would be read as markup",
                Value::FALSE,
            );
        }
        Ok(())
    }

    fn begin_content(&mut self) {
        if self.dialect == Dialect::Xml && self.output.last() == Some(&b'\0') {
            self.output.pop();
            self.output.push(b'>');
        }
    }

    /// Text that stands for itself.
    fn atom(&mut self, atom: Value, place: Place) -> Result<(), Refusal> {
        if place == Place::Content {
            self.begin_content();
        }
        let dialect = self.dialect;
        let no_form = |NoForm(character)| Refusal {
            message: "XML has no form for a character",
            object: Value::character(character),
        };
        if let Some(string) = atom.as_kind(Kind::String) {
            return self.string(string, place).map_err(no_form);
        }
        if let Some(fixnum) = atom.as_fixnum() {
            let mut text = [0; DIGITS_MAX];
            self.output.extend_from_slice(digits(fixnum, &mut text));
            return Ok(());
        }
        if let Some(character) = atom.as_character() {
            return push_character(character, dialect, place, &mut self.output).map_err(no_form);
        }
        let text = match symbol_name(atom) {
            Some(text) => text,
            None => match number_of(atom) {
                Some(number) => write_number(&number, 10),
                None => return refuse("an object is no SXML", atom),
            },
        };
        for character in text.chars() {
            push_character(character, dialect, place, &mut self.output).map_err(no_form)?;
        }
        Ok(())
    }

    #[inline]
    fn string(&mut self, string: ObjectRef, place: Place) -> Result<(), NoForm> {
        let (dialect, output) = (self.dialect, &mut self.output);
        with_units(string, |units| match units {
            Units::Narrow(bytes) => push_latin1(bytes, dialect, place, output),
            Units::Wide(units) => units
                .iter()
                .try_for_each(|&unit| push_character(character(unit), dialect, place, output)),
        })
    }

    /// Text as it is.
    fn raw(&mut self, text: Value) -> Result<(), Refusal> {
        self.begin_content();
        let Some(string) = text.as_kind(Kind::String) else {
            if text.is_fixnum() || text.as_character().is_some() || number_of(text).is_some() {
                return self.atom(text, Place::Content);
            }
            return refuse("text that is written as it is is a string", text);
        };
        self.raw_string(string);
        Ok(())
    }

    fn raw_string(&mut self, string: ObjectRef) {
        let output = &mut self.output;
        with_units(string, |units| match units {
            Units::Narrow(bytes) => {
                let start = output.len();
                output.extend_from_slice(bytes);
                if !output[start..].is_ascii() {
                    let copy = output.split_off(start);
                    copy.iter()
                        .for_each(|&byte| push_utf8(char::from(byte), output));
                }
            }
            Units::Wide(units) => units
                .iter()
                .for_each(|&unit| push_utf8(character(unit), output)),
        });
    }

    fn tagged(
        &mut self,
        node: Value,
        symbol: Value,
        rest: Value,
        allowed: Allowed,
    ) -> Result<(), Refusal> {
        let name = self.name(symbol);
        match name.head {
            Head::Element => self.element(node, name, rest, allowed),
            Head::Top => self.top(node, rest, allowed),
            Head::Template => {
                if !matches!(allowed, Allowed::Nodes | Allowed::Plain) {
                    return refuse("a template cannot stand in an element of text", node);
                }
                let kept = Kept::Template { is_text_next: true };
                self.begin_content();
                self.open(node, rest, kept, NOWHERE, allowed)
            }
            Head::Raw => {
                if allowed == Allowed::Nothing {
                    return refuse("an element without content has some", node);
                }
                self.each_text(rest)
            }
            Head::Attribute => self.template_attribute(node, rest),
            Head::Comment => self.comment(node, rest, allowed),
            Head::Instruction => self.instruction(node, rest, allowed),
            Head::Doctype => self.doctype(node, rest),
            Head::Entity => refuse("an entity outside of the document has no form", node),
            Head::Annotations => Ok(()),
            Head::Attributes => refuse(
                "attributes come directly behind the name of an element",
                node,
            ),
            Head::Namespaces | Head::Trusted => refuse("a node is out of place", node),
        }
    }

    /// The strings of a list, as they are.
    fn each_text(&mut self, list: Value) -> Result<(), Refusal> {
        let mut rest = list;
        let mut count = 0_usize;
        while let Some(pair) = rest.as_pair() {
            self.raw(pair.car())?;
            rest = pair.cdr();
            count += 1;
            if count > LIST_MAX {
                return refuse("a list has no end", Value::FALSE);
            }
        }
        if rest.is_nil() {
            Ok(())
        } else {
            refuse("a node is a proper list", rest)
        }
    }

    #[inline]
    fn element(
        &mut self,
        node: Value,
        name: Name,
        rest: Value,
        allowed: Allowed,
    ) -> Result<(), Refusal> {
        if let Some(steps) = &mut self.steps {
            place_step(steps, name.symbol);
        }
        self.begin_content();
        let is_plain = allowed == Allowed::Plain;
        if !(is_plain || allowed == Allowed::Nodes) {
            return refuse("an element stands where only text can be", node);
        }
        let outer = self.namespaces.len();
        let spelling = if name.is_element {
            name.spelling
        } else {
            self.qualified(name)?
        };
        self.put(spelling.start_tag());
        let mut rest = rest;
        if let Some(pair) = rest.as_pair()
            && let Some(list) = pair.car().as_pair()
            && list.car().is_kind(Kind::Symbol)
            && self.name(list.car()).head == Head::Attributes
        {
            self.attributes(list.cdr())?;
            rest = pair.cdr();
        }
        if self.dialect == Dialect::Xml {
            return self.element_of_xml(node, rest, outer, spelling);
        }
        self.output.push(b'>');
        let allowed = match name.content {
            Content::Usual => allowed,
            Content::Foreign => Allowed::Plain,
            Content::Void => Allowed::Nothing,
            Content::Raw if is_plain => Allowed::PlainRaw(self.output.len()),
            Content::Raw => Allowed::Raw(self.output.len()),
            // In a picture a title may have elements, and is no such element.
            Content::Text if is_plain && !name.drops_line_feed => allowed,
            Content::Text => Allowed::Text,
            Content::Endless => return refuse("an element has no end in HTML", node),
        };
        if name.drops_line_feed
            && let Some(first) = rest.car().and_then(|first| first.as_kind(Kind::String))
            && with_units(first, |units| {
                units.length() > 0 && units.at(0) == u32::from('\n')
            })
        {
            self.output.push(b'\n');
        }
        self.open(node, rest, Kept::Element, spelling, allowed)
    }

    fn element_of_xml(
        &mut self,
        node: Value,
        rest: Value,
        outer: usize,
        spelling: Spelling,
    ) -> Result<(), Refusal> {
        let first = if std::mem::take(&mut self.declares_all) {
            0
        } else {
            outer
        };
        for (prefix, uri) in self.namespaces[first..].iter() {
            self.output.extend_from_slice(b" xmlns:");
            self.output.extend_from_slice(prefix.as_bytes());
            self.output.extend_from_slice(b"=\"");
            for character in uri.chars() {
                let place = Place::Attribute;
                if push_character(character, Dialect::Xml, place, &mut self.output).is_err() {
                    return refuse(
                        "XML has no form for a character",
                        Value::character(character),
                    );
                }
            }
            self.output.push(b'"');
        }
        // Stands for the end of the tag until it is known whether something comes behind it.
        self.output.push(b'\0');
        self.open(node, rest, Kept::Element, spelling, Allowed::Nodes)?;
        if let Some(open) = self.stack.last_mut() {
            open.namespaces = outer;
        }
        Ok(())
    }

    /// The spelling of a name with a namespace, which gets a prefix.
    #[cold]
    fn qualified(&mut self, name: Name) -> Result<Spelling, Refusal> {
        let text = String::from_utf8_lossy(&self.spelled[name.spelling.bare()]).into_owned();
        let parts = match self.dialect {
            Dialect::Xml if name.is_universal => text.rsplit_once(':'),
            _ => None,
        };
        let Some((uri, local)) = parts.filter(|(_, local)| is_name(local, false)) else {
            return refuse("a name cannot be written", name.symbol);
        };
        let known = self.namespaces.iter().find(|(_, known)| known == uri);
        let prefix = match known {
            Some((prefix, _)) => prefix.clone(),
            None => loop {
                self.prefixes_made += 1;
                let prefix = format!("ns{}", self.prefixes_made);
                if !self.namespaces.iter().any(|(known, _)| *known == prefix) {
                    self.namespaces.push((prefix.clone(), uri.to_owned()));
                    break prefix;
                }
            },
        };
        Ok(self.spell(&format!("{prefix}:{local}")))
    }

    /// The path to where the writer is, as `html/body/p[2]`.
    fn path(&self) -> String {
        let mut path = String::new();
        let steps = self.steps.as_deref().unwrap_or_default();
        for (depth, step) in steps.iter().enumerate().skip(1) {
            if (PATH_STEPS..steps.len().saturating_sub(PATH_STEPS)).contains(&depth) {
                if depth == PATH_STEPS {
                    path.push_str("/...");
                }
                continue;
            }
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(&step.name);
            if step.position > 1 {
                path.push_str(&format!("[{}]", step.position));
            }
        }
        path
    }
}

/// Steps at the beginning and at the end of a path that are shown.
const PATH_STEPS: usize = 12;
/// Longer lists of texts are taken for endless.
const LIST_MAX: usize = 10_000_000;

/// The spelling of what has no name.
const NOWHERE: Spelling = Spelling {
    start: 0,
    length: 0,
};

/// Where a symbol is looked for first.
#[inline]
fn slot_of(symbol: Value) -> usize {
    let bits = symbol.bits();
    (bits >> 4 ^ bits >> 12) as usize
}

/// Goes down to a child with a name.
fn place_step(steps: &mut Vec<Step>, symbol: Value) {
    let Some(parent) = steps.last_mut() else {
        return;
    };
    let position = parent.children.entry(symbol.bits()).or_insert(0);
    *position += 1;
    let position = *position;
    steps.push(Step {
        name: symbol_name(symbol).unwrap_or_default(),
        position,
        children: HashMap::new(),
    });
}

/// `(%sxml->html node prefix bytes?)` and `(%sxml->xml node prefix bytes?)`.
pub(super) fn write(thread: &mut Thread, call: Call, dialect: Dialect) -> Result<Value, Raise> {
    let prefix = call.string(thread, 1)?;
    let mut writer = Writer::new(dialect, false);
    writer.raw_string(prefix);
    if let Err(refusal) = writer.write(call.at(0)) {
        return Err(refused(thread, call, dialect, &refusal));
    }
    let output = writer.output;
    if call.at(2).is_true() {
        return thread.bytevector(&output);
    }
    if output.is_ascii() {
        return thread.string_from_latin1(&output);
    }
    let mut builder = TextBuilder::new();
    // Only whole characters were written.
    builder.push_str(&String::from_utf8_lossy(&output));
    builder.try_finish(thread)
}

/// The condition: the irritants are the object and the path to it.
#[cold]
fn refused(thread: &mut Thread, call: Call, dialect: Dialect, refusal: &Refusal) -> Raise {
    let mut again = Writer::new(dialect, true);
    let _ = again.write(call.at(0));
    let path = again.path();
    let base = thread.protect(refusal.object);
    let path = thread.literal_string(&path);
    let path = thread.protect(path);
    let word = thread.symbol("path");
    let (object, path) = (thread.protected(base), thread.protected(path));
    let condition = thread.condition(
        "markup",
        refusal.message,
        &[object, word, path],
        Some(call.who),
    );
    thread.release(base);
    thread.raise_object(condition)
}
