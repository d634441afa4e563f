//! XML 1.0 with namespaces. `quick-xml` cuts the text into tags, texts and references; whether it is
//! well-formed, what names stand for and what references expand to is decided here.
//!
//! Entities are those of the document's own declarations and consist of text. Nothing is fetched.
//! Their expansion is limited in all, so that a short text cannot stand for gigabytes.

use std::collections::{HashMap, HashSet};

use quick_xml::Reader;
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event as Piece};

use super::escape::is_xml_character;
use super::names::{is_name, is_name_character, is_name_start};
use super::{Event, Fault, Tape};

/// How a text is read.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Prefixes for namespaces. Without a table names are left as they are written.
    pub prefixes: Option<&'a [(String, String)]>,
    /// Elements in one another.
    pub depth_max: usize,
    /// Bytes that entities may expand to in all.
    pub expansion_max: usize,
    /// Whether texts of white space are left out.
    pub trims: bool,
}

/// Entities in one another.
const ENTITY_DEPTH_MAX: usize = 32;
const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// Reads a document.
pub fn read(text: &str, options: &Options<'_>) -> Result<Tape, Fault> {
    if let Some((offset, character)) = text
        .char_indices()
        .find(|&(_, character)| !is_xml_character(character))
    {
        let message = format!("XML has no character U+{:04X}", u32::from(character));
        return Err(Fault::new(message, offset));
    }
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut document = Document {
        text,
        offset: start,
        options,
        tape: Tape::default(),
        pending: String::new(),
        has_text: false,
        depth: 0,
        has_root: false,
        entities: HashMap::new(),
        expanded: 0,
        namespaces: HashMap::new(),
        declared: Vec::new(),
    };
    document.read(start)?;
    Ok(document.tape)
}

struct Document<'a> {
    text: &'a str,
    /// Where the piece that is looked at begins.
    offset: usize,
    options: &'a Options<'a>,
    tape: Tape,
    /// Text since the last tag.
    pending: String,
    has_text: bool,
    depth: usize,
    has_root: bool,
    /// Replacement texts; none for an entity outside of the document.
    entities: HashMap<&'a str, Option<String>>,
    expanded: usize,
    /// The namespaces that each prefix stands for, innermost last.
    namespaces: HashMap<String, Vec<String>>,
    /// The prefixes that each open element declares.
    declared: Vec<Vec<String>>,
}

impl<'a> Document<'a> {
    fn fault<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::new(message, self.offset))
    }

    fn read(&mut self, start: usize) -> Result<(), Fault> {
        let text = self.text;
        let mut reader = Reader::from_str(&text[start..]);
        let config = reader.config_mut();
        config.check_comments = true;
        config.expand_empty_elements = true;
        let mut is_first = true;
        loop {
            self.offset = start + reader.buffer_position() as usize;
            let piece = match reader.read_event() {
                Ok(piece) => piece,
                Err(error) => {
                    let offset = start + reader.error_position() as usize;
                    return Err(Fault::new(error_text(&error), offset));
                }
            };
            let offset_after = start + reader.buffer_position() as usize;
            match piece {
                Piece::Text(piece) => self.text(&piece)?,
                Piece::CData(piece) => {
                    if self.depth == 0 {
                        return self.fault("text stands outside of the root element");
                    }
                    self.has_text = true;
                    self.pending.push_str(&normal_lines(&piece));
                }
                Piece::GeneralRef(name) => {
                    if self.depth == 0 {
                        return self.fault("a reference stands outside of the root element");
                    }
                    self.has_text = true;
                    let mut text = std::mem::take(&mut self.pending);
                    let outcome = self.expand_reference(&name, &mut text, 0);
                    self.pending = text;
                    outcome?;
                }
                Piece::Start(tag) | Piece::Empty(tag) => self.start(&tag)?,
                Piece::End(_) => self.end(),
                Piece::Comment(comment) => {
                    self.flush();
                    let comment = normal_lines(&comment);
                    if comment.ends_with('-') {
                        return self.fault("a comment ends with --->");
                    }
                    self.tape.text.push_str(&comment);
                    self.tape.events.push(Event::Comment(comment.len()));
                }
                Piece::Decl(declaration) => {
                    if !is_first {
                        return self.fault("the declaration of XML is not at the beginning");
                    }
                    if let Err(error) = declaration.version() {
                        return self.fault(error_text(&error));
                    }
                    let content = declaration.trim_start_matches("xml").trim();
                    self.instruction("xml", content);
                }
                Piece::PI(instruction) => {
                    self.flush();
                    let target = instruction.target();
                    if !is_name(target, false) || target.eq_ignore_ascii_case("xml") {
                        return self.fault("a processing instruction needs another name");
                    }
                    let content = normal_lines(instruction.content().trim_start()).into_owned();
                    self.instruction(target, &content);
                }
                Piece::DocType(_) => {
                    if self.has_root {
                        return self.fault("a document type comes before the root element");
                    }
                    self.doctype(offset_after)?;
                }
                Piece::Eof => break,
            }
            is_first = false;
        }
        if self.depth > 0 {
            return self.fault("an element is not closed");
        }
        if !self.has_root {
            return self.fault("there is no element");
        }
        Ok(())
    }

    fn instruction(&mut self, target: &str, content: &str) {
        self.tape.text.push_str(target);
        self.tape.text.push_str(content);
        self.tape.events.push(Event::Instruction {
            target: target.len(),
            content: content.len(),
        });
    }

    fn text(&mut self, text: &str) -> Result<(), Fault> {
        if let Some(end) = text.find("]]>") {
            return Err(Fault::new("]]> stands in text", self.offset + end));
        }
        let is_space = is_space(text);
        if self.depth == 0 {
            if !is_space {
                return self.fault("text stands outside of the root element");
            }
            return Ok(());
        }
        self.has_text |= !is_space;
        self.pending.push_str(&normal_lines(text));
        Ok(())
    }

    /// Notes the text since the last tag.
    fn flush(&mut self) {
        if !self.pending.is_empty() && (self.has_text || !self.options.trims) {
            self.tape.text.push_str(&self.pending);
            self.tape.events.push(Event::Text(self.pending.len()));
        }
        self.pending.clear();
        self.has_text = false;
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), Fault> {
        self.flush();
        if self.depth == 0 && self.has_root {
            return self.fault("there is a second root element");
        }
        self.has_root = true;
        self.depth += 1;
        if self.depth > self.options.depth_max {
            let message = format!("elements are more than {} deep", self.options.depth_max);
            return self.fault(message);
        }
        let raw = tag.attributes_raw();
        // Two attributes need space between them, which the iterator does not ask for.
        let name = tag.name().into_inner();
        let mut attributes: Vec<(&str, String)> = Vec::new();
        let mut seen = HashSet::new();
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| {
                let (message, at) = attribute_fault(&error);
                Fault::new(message, self.offset + 1 + at)
            })?;
            let key = attribute.key.into_inner();
            self.check_name(key)?;
            if !seen.insert(key) {
                return self.fault(format!("the attribute {key} is given twice"));
            }
            let value = self.attribute_value(&attribute.value)?;
            attributes.push((key, value));
        }
        if has_joined_attributes(raw) {
            return self.fault("attributes stand side by side without space");
        }
        self.check_name(name)?;
        self.declare(&attributes)?;
        let name = self.name(name, true)?;
        let mut names = Vec::with_capacity(attributes.len());
        for (key, value) in &attributes {
            let is_declaration = *key == "xmlns" || key.starts_with("xmlns:");
            if is_declaration && self.options.prefixes.is_some() {
                continue;
            }
            names.push((self.name(key, false)?, value));
        }
        if names.len() > 1 && self.options.prefixes.is_some() {
            let mut seen = HashSet::new();
            if let Some((name, _)) = names.iter().find(|(name, _)| !seen.insert(name.as_str())) {
                return self.fault(format!("the attribute {name} is given twice"));
            }
        }
        self.tape.text.push_str(&name);
        self.tape.events.push(Event::Element {
            name: name.len(),
            attributes: names.len(),
        });
        for (name, value) in names {
            self.tape.text.push_str(&name);
            self.tape.text.push_str(value);
            self.tape.events.push(Event::Attribute {
                name: name.len(),
                value: value.len(),
            });
        }
        Ok(())
    }

    fn end(&mut self) {
        self.flush();
        self.depth = self.depth.saturating_sub(1);
        self.tape.events.push(Event::End);
        for prefix in self.declared.pop().unwrap_or_default() {
            if let Some(namespaces) = self.namespaces.get_mut(&prefix) {
                namespaces.pop();
            }
        }
    }

    fn check_name(&self, name: &str) -> Result<(), Fault> {
        let is_qualified = is_name(name, false)
            && name.split(':').all(|part| {
                part.starts_with(|character| character != ':' && is_name_start(character))
            })
            && name.matches(':').count() <= 1;
        if !is_qualified {
            return self.fault(format!("{} is no name", brief(name)));
        }
        Ok(())
    }

    /// Takes the declarations of namespaces in a tag.
    fn declare(&mut self, attributes: &[(&str, String)]) -> Result<(), Fault> {
        let mut declared = Vec::new();
        for (key, value) in attributes {
            let prefix = match *key {
                "xmlns" => "",
                key => match key.strip_prefix("xmlns:") {
                    Some(prefix) => prefix,
                    None => continue,
                },
            };
            let is_reserved = match prefix {
                "xml" => value != XML_NAMESPACE,
                "xmlns" => true,
                "" => value == XML_NAMESPACE,
                _ => value == XML_NAMESPACE || value.is_empty(),
            };
            if is_reserved || value == "http://www.w3.org/2000/xmlns/" {
                return self.fault(format!("the prefix {prefix:?} cannot stand for {value:?}"));
            }
            let stack = self.namespaces.entry(prefix.to_owned()).or_default();
            stack.push(value.clone());
            declared.push(prefix.to_owned());
        }
        self.declared.push(declared);
        Ok(())
    }

    /// The name that an element or attribute gets.
    fn name(&self, name: &str, is_element: bool) -> Result<String, Fault> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let is_declaration = !is_element && (prefix == "xmlns" || name == "xmlns");
        let namespace = match self.namespaces.get(prefix).and_then(|stack| stack.last()) {
            _ if is_declaration || prefix == "xml" => return Ok(name.to_owned()),
            _ if prefix.is_empty() && !is_element => return Ok(name.to_owned()),
            Some(namespace) => namespace.as_str(),
            None if prefix.is_empty() => "",
            None => return self.fault(format!("the prefix {prefix} is not declared")),
        };
        let Some(prefixes) = self.options.prefixes else {
            return Ok(name.to_owned());
        };
        if namespace.is_empty() {
            return Ok(local.to_owned());
        }
        let known = prefixes.iter().find(|(_, known)| known == namespace);
        Ok(match known {
            Some((prefix, _)) if prefix.is_empty() => local.to_owned(),
            Some((prefix, _)) => format!("{prefix}:{local}"),
            None => format!("{namespace}:{local}"),
        })
    }

    fn attribute_value(&mut self, raw: &str) -> Result<String, Fault> {
        let mut value = String::with_capacity(raw.len());
        self.expand(raw, &mut value, 0, true)?;
        Ok(value)
    }

    /// Appends a text with its references expanded.
    fn expand(
        &mut self,
        raw: &str,
        output: &mut String,
        depth: usize,
        is_attribute: bool,
    ) -> Result<(), Fault> {
        let raw = normal_lines(raw);
        let mut rest = &*raw;
        while let Some(at) = rest.find(['&', '<']) {
            push_text(&rest[..at], is_attribute, output);
            if rest.as_bytes()[at] == b'<' {
                return if is_attribute {
                    self.fault("the value of an attribute has a <")
                } else {
                    self.fault("an entity has markup, which is not supported")
                };
            }
            rest = &rest[at + 1..];
            let Some(end) = rest.find(';') else {
                return self.fault("a reference has no end");
            };
            let name = &rest[..end];
            rest = &rest[end + 1..];
            let mut expansion = std::mem::take(output);
            let outcome = self.expand_in(name, &mut expansion, depth, is_attribute);
            *output = expansion;
            outcome?;
        }
        push_text(rest, is_attribute, output);
        Ok(())
    }

    fn expand_reference(
        &mut self,
        name: &str,
        output: &mut String,
        depth: usize,
    ) -> Result<(), Fault> {
        self.expand_in(name, output, depth, false)
    }

    fn expand_in(
        &mut self,
        name: &str,
        output: &mut String,
        depth: usize,
        is_attribute: bool,
    ) -> Result<(), Fault> {
        if let Some(digits) = name.strip_prefix('#') {
            let code = match digits.strip_prefix('x') {
                Some(digits) => hexadecimal(digits),
                None => decimal(digits),
            };
            let character = code.and_then(char::from_u32);
            return match character.filter(|&character| is_xml_character(character)) {
                Some(character) => {
                    output.push(character);
                    Ok(())
                }
                None => self.fault(format!("&{};  is no character", brief(name))),
            };
        }
        let predefined = match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => return self.expand_entity(name, output, depth, is_attribute),
        };
        output.push(predefined);
        Ok(())
    }

    fn expand_entity(
        &mut self,
        name: &str,
        output: &mut String,
        depth: usize,
        is_attribute: bool,
    ) -> Result<(), Fault> {
        let Some(entity) = self.entities.get(name) else {
            return self.fault(format!("the entity {} is not declared", brief(name)));
        };
        let Some(replacement) = entity else {
            let message = format!("the entity {} is not in the document", brief(name));
            return self.fault(message);
        };
        if depth >= ENTITY_DEPTH_MAX {
            return self.fault("entities refer to one another too deeply or without end");
        }
        // An expansion to nothing counts too, since it takes time.
        self.expanded += replacement.len() + 1;
        if self.expanded > self.options.expansion_max {
            let message = format!(
                "entities expand to more than {} bytes",
                self.options.expansion_max
            );
            return self.fault(message);
        }
        let replacement = replacement.clone();
        self.expand(&replacement, output, depth + 1, is_attribute)
    }

    /// Takes the names and the declarations of entities in a document type, which ends at an offset.
    fn doctype(&mut self, end: usize) -> Result<(), Fault> {
        let mut scanner = Scanner {
            text: &self.text[..end],
            offset: self.offset + "<!DOCTYPE".len(),
        };
        scanner.space();
        let Some(name) = scanner.name() else {
            return Err(scanner.fault("a document type has no name"));
        };
        scanner.space();
        let (public, system) = scanner.external_identifier()?.unwrap_or(("", ""));
        self.tape.text.push_str(name);
        self.tape.text.push_str(public);
        self.tape.text.push_str(system);
        self.tape.events.push(Event::Doctype {
            name: name.len(),
            public: public.len(),
            system: system.len(),
        });
        scanner.space();
        if scanner.takes("[") {
            self.declarations(&mut scanner)?;
            scanner.space();
        }
        if !scanner.takes(">") {
            return Err(scanner.fault("a document type has something unexpected"));
        }
        Ok(())
    }

    fn declarations(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fault> {
        loop {
            scanner.space();
            if scanner.takes("]") {
                return Ok(());
            }
            if scanner.takes("<!--") {
                scanner.skip_behind("-->")?;
            } else if scanner.takes("<?") {
                scanner.skip_behind("?>")?;
            } else if scanner.takes("<!ENTITY") {
                self.entity(scanner)?;
            } else if scanner.takes("<!ELEMENT")
                || scanner.takes("<!ATTLIST")
                || scanner.takes("<!NOTATION")
            {
                scanner.skip_declaration()?;
            } else {
                return Err(scanner.fault("a document type has something unexpected"));
            }
        }
    }

    fn entity(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Fault> {
        scanner.space();
        if scanner.takes("%") {
            return Err(scanner.fault("parameter entities are not supported"));
        }
        let Some(name) = scanner.name() else {
            return Err(scanner.fault("an entity has no name"));
        };
        scanner.space();
        let replacement = if scanner.external_identifier()?.is_some() {
            scanner.skip_declaration()?;
            None
        } else {
            let Some(raw) = scanner.quoted() else {
                return Err(scanner.fault("an entity has no text"));
            };
            if raw.contains('%') {
                return Err(scanner.fault("parameter entities are not supported"));
            }
            scanner.space();
            if !scanner.takes(">") {
                return Err(scanner.fault("the declaration of an entity has no end"));
            }
            Some(self.replacement(raw)?)
        };
        // The first declaration counts.
        self.entities.entry(name).or_insert(replacement);
        Ok(())
    }

    /// The replacement text of an entity: references to characters are expanded when it is declared,
    /// others when it is used.
    fn replacement(&self, raw: &str) -> Result<String, Fault> {
        let mut text = String::new();
        let mut rest = raw;
        while let Some(at) = rest.find("&#") {
            text.push_str(&rest[..at]);
            let Some(end) = rest[at..].find(';') else {
                return self.fault("a reference has no end");
            };
            let reference = &rest[at..=at + end];
            let digits = &rest[at + 2..at + end];
            let code = match digits.strip_prefix('x') {
                Some(digits) => hexadecimal(digits),
                None => decimal(digits),
            };
            match code
                .and_then(char::from_u32)
                .filter(|&character| is_xml_character(character))
            {
                // A character of markup stays a reference, as if it had been written twice.
                Some('&' | '<') => text.push_str(reference),
                Some(character) => text.push(character),
                None => return self.fault(format!("{} is no character", brief(reference))),
            }
            rest = &rest[at + end + 1..];
        }
        text.push_str(rest);
        Ok(text)
    }
}

/// Steps through a document type.
struct Scanner<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn fault(&self, message: &str) -> Fault {
        Fault::new(message, self.offset)
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.offset += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.offset += text.len();
        }
        found
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest
            .find(|character| !is_name_character(character))
            .unwrap_or(rest.len());
        self.offset += end;
        is_name(&rest[..end], false).then_some(&rest[..end])
    }

    fn quoted(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let quote = rest
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))?;
        let end = rest[1..].find(quote)?;
        self.offset += end + 2;
        Some(&rest[1..=end])
    }

    /// The public and the system identifier, if there is one.
    fn external_identifier(&mut self) -> Result<Option<(&'a str, &'a str)>, Fault> {
        let is_public = self.takes("PUBLIC");
        if !is_public && !self.takes("SYSTEM") {
            return Ok(None);
        }
        self.space();
        let missing = |scanner: &Scanner<'_>| scanner.fault("an identifier in quotes is missing");
        let first = self.quoted().ok_or_else(|| missing(self))?;
        if !is_public {
            return Ok(Some(("", first)));
        }
        self.space();
        let second = self.quoted().ok_or_else(|| missing(self))?;
        Ok(Some((first, second)))
    }

    fn skip_behind(&mut self, end: &str) -> Result<(), Fault> {
        match self.rest().find(end) {
            Some(at) => {
                self.offset += at + end.len();
                Ok(())
            }
            None => Err(self.fault("a document type has no end")),
        }
    }

    /// Passes over a declaration, with texts in quotes.
    fn skip_declaration(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let Some(at) = rest.find(['>', '"', '\'']) else {
                return Err(self.fault("a declaration has no end"));
            };
            self.offset += at;
            if self.takes(">") {
                return Ok(());
            }
            if self.quoted().is_none() {
                return Err(self.fault("a declaration has no end"));
            }
        }
    }
}

fn is_space(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Ends of lines are line feeds.
fn normal_lines(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}

fn push_text(text: &str, is_attribute: bool, output: &mut String) {
    if is_attribute && text.contains(['\t', '\n', '\r']) {
        output.extend(text.chars().map(|character| match character {
            '\t' | '\n' | '\r' => ' ',
            character => character,
        }));
    } else {
        output.push_str(text);
    }
}

fn decimal(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Whether a value in quotes is followed by a name at once.
fn has_joined_attributes(raw: &str) -> bool {
    let mut quote = None;
    let mut is_behind = false;
    for byte in raw.bytes() {
        match quote {
            Some(open) if open == byte => {
                quote = None;
                is_behind = true;
                continue;
            }
            Some(_) => {}
            None if is_behind && !byte.is_ascii_whitespace() && byte != b'/' => return true,
            None if byte == b'"' || byte == b'\'' => quote = Some(byte),
            None => {}
        }
        is_behind = false;
    }
    false
}

/// The beginning of a long text, for messages.
fn brief(text: &str) -> String {
    const LENGTH_MAX: usize = 40;
    text.chars().take(LENGTH_MAX).collect()
}

fn error_text(error: &quick_xml::Error) -> String {
    error.to_string()
}

fn attribute_fault(error: &AttrError) -> (&'static str, usize) {
    match *error {
        AttrError::ExpectedEq(at) => ("an attribute has no value", at),
        AttrError::ExpectedValue(at) => ("an attribute has no value", at),
        AttrError::UnquotedValue(at) => ("the value of an attribute is not in quotes", at),
        AttrError::ExpectedQuote(at, _) => ("the value of an attribute has no end", at),
        AttrError::Duplicated(at, _) => ("an attribute is given twice", at),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;
    use super::*;

    fn options() -> Options<'static> {
        Options {
            prefixes: Some(&[]),
            depth_max: 1000,
            expansion_max: 10_000,
            trims: false,
        }
    }

    fn read_as(text: &str) -> String {
        shown(&read(text, &options()).unwrap_or_else(|fault| panic!("{text}: {fault:?}")))
    }

    fn fault(text: &str) -> (String, usize) {
        match read(text, &options()) {
            Ok(tape) => panic!("{text} was read: {}", shown(&tape)),
            Err(fault) => (fault.message, fault.offset),
        }
    }

    #[test]
    fn documents() {
        assert_eq!(
            read_as("<?xml version='1.0'?>\n<a x='1'>b<c/>d<!--e--><![CDATA[<&]]></a>\n"),
            "<?xml version='1.0'>(a[x=1] b(c) d{e} <&)"
        );
        assert_eq!(
            read_as("<a b='x\n&#10;y'>\r\n&#x41;&lt;</a>"),
            "(a[b=x \ny] \nA<)"
        );
        assert_eq!(
            read_as("<!DOCTYPE a [<!ENTITY e 'x&#38;y &f;'><!ENTITY f '1'>]><a b='&e;'>&e;</a>"),
            "<!a>(a[b=x&y 1] x&y 1)"
        );
    }

    #[test]
    fn namespaces() {
        assert_eq!(
            read_as("<a xmlns='u' xmlns:p='v' c='1' p:d='2'><p:e/><f xmlns=''/></a>"),
            "(u:a[c=1][v:d=2](v:e)(f))"
        );
        let prefixes = [("q".to_owned(), "v".to_owned())];
        let options = Options {
            prefixes: Some(&prefixes),
            ..options()
        };
        let tape = read("<p:a xmlns:p='v' p:b='1'/>", &options).expect("is read");
        assert_eq!(shown(&tape), "(q:a[q:b=1])");
        let options = Options {
            prefixes: None,
            ..options
        };
        let tape = read("<p:a xmlns:p='v' p:b='1'/>", &options).expect("is read");
        assert_eq!(shown(&tape), "(p:a[xmlns:p=v][p:b=1])");
    }

    #[test]
    fn what_is_not_well_formed() {
        for text in [
            "",
            "a",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><b/>",
            "<a b='1' b='2'/>",
            "<a b=1/>",
            "<a b/>",
            "<a b='<'/>",
            "<a>&x;</a>",
            "<a>&#0;</a>",
            "<a>&#xD800;</a>",
            "<a>\u{1}</a>",
            "<a>]]></a>",
            "<p:a/>",
            "<a xmlns:p=''/>",
            "<1/>",
            "<a><!-- -- --></a>",
            "x<a/>",
            "<a/>x",
            "<a>& </a>",
            "<a b='1'c='2'/>",
            "<a><?xml version='1.0'?></a>",
            "<!DOCTYPE a [<!ENTITY % x 'y'>]><a/>",
            "<a><![CDATA[x</a>",
            "<a xmlns:p='u' xmlns:q='u' p:x='' q:x=''/>",
            "<a:b:c xmlns:a='u'/>",
            "<a/><!DOCTYPE a>",
            "<!DOCTYPE a [<!ENTITY e '<b/>'>]><a>&e;</a>",
            "<",
            "<a",
            "<a b='",
            "<!",
            "<?",
            "<!--",
            "<a>&#x110000;</a>",
            "<a>&#99999999999;</a>",
            "<!DOCTYPE a [",
        ] {
            fault(text);
        }
        assert_eq!(fault("<a>\n<b></c></a>").1, 7);
    }

    #[test]
    fn entities_are_limited() {
        let mut text = "<!DOCTYPE a [<!ENTITY a0 'lol'>".to_owned();
        for level in 1..10 {
            let reference = format!("&a{};", level - 1).repeat(10);
            text += &format!("<!ENTITY a{level} '{reference}'>");
        }
        assert!(fault(&format!("{text}]><a>&a9;</a>")).0.contains("expand"));
        assert!(
            fault("<!DOCTYPE a [<!ENTITY x '&y;'><!ENTITY y '&x;'>]><a>&x;</a>")
                .0
                .contains("end")
        );
        assert!(
            fault("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>")
                .0
                .contains("not in")
        );
    }

    #[test]
    fn depth_is_limited_and_not_quadratic() {
        let options = Options {
            depth_max: usize::MAX,
            ..options()
        };
        let mut text = "<a xmlns:p='u'>".repeat(100_000);
        text += &"</a>".repeat(100_000);
        assert_eq!(
            read(&text, &options).expect("is read").events.len(),
            200_000
        );
        assert!(
            read(
                &text,
                &Options {
                    depth_max: 1000,
                    ..options
                }
            )
            .is_err()
        );
        let attributes: String = (0..100_000).map(|index| format!(" a{index}=''")).collect();
        assert!(read(&format!("<a{attributes}/>"), &options).is_ok());
    }
}
