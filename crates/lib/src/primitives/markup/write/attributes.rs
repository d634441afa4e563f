//! Writes attributes of SXML elements: each name at most once, values from one or several texts.
//!
//! Every value is escaped for its place. A URL that a reader would run as a program is refused
//! unless it is marked as trusted. Values that hold programs (`onclick` and the like) are refused
//! in the same way.

use std::collections::HashSet;

use canny_formats::markup::escape::{Dialect, NoForm, Place};
use canny_formats::markup::names::{Value as Taken, is_program, refreshes_to_program};
use canny_tables::kinds::Kind;
use canny_value::Value;

use super::{FEW_ATTRIBUTES, Head, LIST_MAX, Name, Refresh, Refusal, Writer, refuse};

const PROGRAM_IN_URL: &str = "a URL that is a program has to be marked by *trusted*";

impl Writer {
    pub(super) fn attributes(&mut self, list: Value) -> Result<(), Refusal> {
        let mut rest = list;
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        let mut many: HashSet<u64> = HashSet::new();
        self.refresh = Refresh::default();
        while let Some(pair) = rest.as_pair() {
            rest = pair.cdr();
            let attribute = pair.car();
            if attribute == Value::FALSE || attribute.is_nil() {
                continue;
            }
            let Some(entry) = attribute
                .as_pair()
                .filter(|entry| entry.car().is_kind(Kind::Symbol))
            else {
                return refuse("an attribute is (name value)", attribute);
            };
            let name = self.name(entry.car());
            match name.head {
                Head::Element => {}
                // Annotations in the manner of earlier versions of SXML.
                Head::Attributes | Head::Annotations | Head::Namespaces => continue,
                _ => return refuse("an attribute is (name value)", attribute),
            }
            let is_new = if seen.len() < FEW_ATTRIBUTES {
                !seen.contains(&name.symbol)
            } else {
                if many.is_empty() {
                    many.extend(seen.iter().map(|symbol| symbol.bits()));
                }
                many.insert(name.symbol.bits())
            };
            if !is_new {
                return refuse("an attribute is given twice", attribute);
            }
            seen.push(name.symbol);
            self.attribute(name, entry.cdr(), attribute)?;
            if self.refresh.is_named && self.refresh.leads_to_program {
                return refuse(PROGRAM_IN_URL, attribute);
            }
        }
        self.seen = seen;
        if rest.is_nil() {
            Ok(())
        } else {
            refuse("attributes are a proper list", rest)
        }
    }

    /// An attribute with the list of the parts of its value.
    #[inline]
    pub(super) fn attribute(
        &mut self,
        name: Name,
        parts: Value,
        attribute: Value,
    ) -> Result<(), Refusal> {
        let first = match parts.as_pair() {
            None => Value::TRUE,
            Some(pair) => pair.car(),
        };
        let is_single = parts.is_nil() || parts.cdr().is_some_and(|rest| rest.is_nil());
        if is_single && first == Value::FALSE {
            return Ok(());
        }
        let spelling = if name.is_attribute {
            name.spelling
        } else {
            self.qualified(name)?
        };
        let mut range = spelling.attribute();
        if is_single && first == Value::TRUE {
            self.put(range);
            if self.dialect == Dialect::Xml {
                self.output.extend_from_slice(b"=\"");
                self.put(spelling.bare());
                self.output.push(b'"');
            }
            return Ok(());
        }
        range.end += 2;
        self.put(range);
        let value_start = self.output.len();
        let mut is_trusted = false;
        let mut rest = parts;
        let mut count = 0_usize;
        while let Some(pair) = rest.as_pair() {
            rest = pair.cdr();
            count += 1;
            if count > LIST_MAX {
                return refuse("a list has no end", Value::FALSE);
            }
            is_trusted |= self.attribute_part(pair.car(), attribute, count == 1)?;
        }
        if !rest.is_nil() {
            return refuse("an attribute is (name value)", attribute);
        }
        if name.taken == Taken::Header {
            let value = self.output[value_start..].trim_ascii();
            self.refresh.is_named = value.eq_ignore_ascii_case(b"refresh");
        } else if !is_trusted {
            match name.taken {
                Taken::Text | Taken::Header => {}
                Taken::Code => {
                    if self.dialect == Dialect::Html {
                        return refuse(
                            "an attribute that is a program or a page has to be marked by *trusted*",
                            attribute,
                        );
                    }
                }
                Taken::Url => {
                    if is_program(&self.output[value_start..]) {
                        return refuse(PROGRAM_IN_URL, attribute);
                    }
                }
                Taken::HeaderValue => {
                    let value = &self.output[value_start..];
                    self.refresh.leads_to_program = refreshes_to_program(value);
                }
            }
        }
        self.output.push(b'"');
        Ok(())
    }

    /// Appends a part of a value; whether it makes the whole value trusted.
    #[inline]
    fn attribute_part(
        &mut self,
        part: Value,
        attribute: Value,
        is_first: bool,
    ) -> Result<bool, Refusal> {
        if let Some(string) = part.as_kind(Kind::String) {
            return match self.string(string, Place::Attribute) {
                Ok(()) => Ok(false),
                Err(NoForm(character)) => refuse(
                    "XML has no form for a character",
                    Value::character(character),
                ),
            };
        }
        let Some(pair) = part.as_pair() else {
            if part == Value::FALSE || part.is_nil() {
                return Ok(false);
            }
            self.atom(part, Place::Attribute)?;
            return Ok(false);
        };
        let head = if pair.car().is_kind(Kind::Symbol) {
            self.name(pair.car()).head
        } else {
            Head::Element
        };
        let content = pair
            .cdr()
            .as_pair()
            .filter(|content| content.cdr().is_nil());
        match (head, content) {
            (Head::Trusted, Some(content)) if !content.car().is_pair() => {
                self.attribute_part(content.car(), attribute, is_first)?;
                // The text behind a trusted beginning cannot turn the value into a program.
                Ok(is_first)
            }
            _ => refuse("the value of an attribute is text", attribute),
        }
    }
}
