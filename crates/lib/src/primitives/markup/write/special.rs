//! Writes SXML nodes that are neither text nor elements: documents, comments, instructions,
//! document types.
//!
//! A node that the format cannot express is refused, not changed: for example a comment with `--`.
//! Namespaces of a document are declared here and valid in the whole document.

use canny_formats::markup::escape::{Dialect, is_xml_character};
use canny_formats::markup::names::is_name;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::symbols::symbol_name;

use super::{Allowed, Head, Kept, NOWHERE, Open, Refusal, Writer, refuse};
use crate::text::with_units;

impl Writer {
    pub(super) fn top(
        &mut self,
        node: Value,
        rest: Value,
        allowed: Allowed,
    ) -> Result<(), Refusal> {
        if !self.stack.iter().all(|open| open.kept == Kept::Splice) {
            return refuse("*TOP* stands inside of an element", node);
        }
        let mut rest = rest;
        // (@ (*NAMESPACES* (prefix "uri") ...)), also in (@@ ...).
        while let Some(pair) = rest.as_pair()
            && let Some(list) = pair.car().as_pair()
            && list.car().is_kind(Kind::Symbol)
            && matches!(
                self.name(list.car()).head,
                Head::Attributes | Head::Annotations
            )
        {
            self.top_annotations(list.cdr())?;
            rest = pair.cdr();
        }
        self.open(node, rest, Kept::Splice, NOWHERE, allowed)
    }

    fn top_annotations(&mut self, annotations: Value) -> Result<(), Refusal> {
        let mut rest = annotations;
        while let Some(pair) = rest.as_pair() {
            rest = pair.cdr();
            let Some(list) = pair.car().as_pair() else {
                continue;
            };
            if !list.car().is_kind(Kind::Symbol) || self.name(list.car()).head != Head::Namespaces {
                continue;
            }
            let mut entries = list.cdr();
            while let Some(entry) = entries.as_pair() {
                entries = entry.cdr();
                let parts = entry.car().as_pair().and_then(|entry| {
                    let prefix = symbol_name(entry.car())?;
                    let uri = entry.cdr().car()?.as_kind(Kind::String)?;
                    Some((prefix, with_units(uri, |units| units.to_text())))
                });
                let Some((prefix, uri)) = parts else {
                    return refuse(
                        "an association of a namespace is (prefix \"uri\")",
                        entry.car(),
                    );
                };
                if !is_name(&prefix, false) || prefix.contains(':') || uri.is_empty() {
                    return refuse(
                        "an association of a namespace is (prefix \"uri\")",
                        entry.car(),
                    );
                }
                self.namespaces.push((prefix, uri));
                self.declares_all = true;
            }
        }
        Ok(())
    }

    /// `(*attribute* name value ...)`, which templates have for attributes that are not known before.
    pub(super) fn template_attribute(&mut self, node: Value, rest: Value) -> Result<(), Refusal> {
        let is_in_template = matches!(
            self.stack.last(),
            Some(Open {
                kept: Kept::Template { .. },
                ..
            })
        );
        match rest.as_pair() {
            Some(pair) if is_in_template && pair.car().is_kind(Kind::Symbol) => {
                let name = self.name(pair.car());
                self.attribute(name, pair.cdr(), node)
            }
            _ => refuse("a node is out of place", node),
        }
    }

    pub(super) fn comment(
        &mut self,
        node: Value,
        rest: Value,
        allowed: Allowed,
    ) -> Result<(), Refusal> {
        if !matches!(allowed, Allowed::Nodes | Allowed::Plain) {
            return refuse("a comment stands where only text can be", node);
        }
        self.begin_content();
        self.output.extend_from_slice(b"<!--");
        let start = self.output.len();
        self.each_text(rest)?;
        let text = &self.output[start..];
        let is_wrong = text.windows(2).any(|pair| pair == b"--")
            || text.starts_with(b">")
            || text.starts_with(b"->")
            || text.ends_with(b"-")
            || allowed == Allowed::Plain && text.contains(&b'<')
            || !self.is_written(start);
        if is_wrong {
            return refuse("the text of a comment would end it", node);
        }
        self.output.extend_from_slice(b"-->");
        Ok(())
    }

    /// Whether what was written as it is from `start` on has a form in XML.
    fn is_written(&self, start: usize) -> bool {
        self.dialect == Dialect::Html
            || std::str::from_utf8(&self.output[start..])
                .is_ok_and(|text| text.chars().all(is_xml_character))
    }

    pub(super) fn instruction(
        &mut self,
        node: Value,
        rest: Value,
        allowed: Allowed,
    ) -> Result<(), Refusal> {
        let target = rest.car().and_then(symbol_name);
        let (Some(target), Some(pair)) = (target, rest.as_pair()) else {
            return refuse(
                "a processing instruction is (*PI* target \"content\")",
                node,
            );
        };
        if !matches!(allowed, Allowed::Nodes) || !is_name(&target, false) {
            return refuse(
                "a processing instruction is out of place or has no name",
                node,
            );
        }
        self.begin_content();
        self.output.extend_from_slice(b"<?");
        self.output.extend_from_slice(target.as_bytes());
        let start = self.output.len();
        if pair.cdr().is_pair() {
            self.output.push(b' ');
        }
        self.each_text(pair.cdr())?;
        let text = &self.output[start..];
        if text.contains(&b'>') && self.dialect == Dialect::Html
            || text.windows(2).any(|pair| pair == b"?>")
            || !self.is_written(start)
        {
            return refuse("the text of a processing instruction would end it", node);
        }
        let end: &[u8] = match self.dialect {
            Dialect::Html => b">",
            Dialect::Xml => b"?>",
        };
        self.output.extend_from_slice(end);
        Ok(())
    }

    /// `(*DOCTYPE* name)`, `(*DOCTYPE* name system)` or `(*DOCTYPE* name public system)`.
    pub(super) fn doctype(&mut self, node: Value, rest: Value) -> Result<(), Refusal> {
        let mut parts = Vec::new();
        let mut rest = rest;
        while let Some(pair) = rest.as_pair() {
            let text = match pair.car().as_kind(Kind::String) {
                Some(string) => Some(with_units(string, |units| units.to_text())),
                None => symbol_name(pair.car()),
            };
            parts.push(text.unwrap_or_default());
            rest = pair.cdr();
            if parts.len() > 3 {
                break;
            }
        }
        let is_inside = !self.stack.iter().all(|open| open.kept == Kept::Splice);
        let is_text = |text: &String| {
            !text.contains(['"', '<', '>', '&']) && text.chars().all(is_xml_character)
        };
        let is_fine = !is_inside
            && rest.is_nil()
            && (1..=3).contains(&parts.len())
            && is_name(&parts[0], false)
            && parts.iter().all(is_text);
        if !is_fine {
            return refuse("a document type is (*DOCTYPE* name public system)", node);
        }
        let text = match &parts[..] {
            [name, system] => format!("<!DOCTYPE {name} SYSTEM \"{system}\">"),
            [name, public, system] => {
                format!("<!DOCTYPE {name} PUBLIC \"{public}\" \"{system}\">")
            }
            _ => format!("<!DOCTYPE {}>", parts[0]),
        };
        self.output.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
