//! Markup: SXML out of what the readers of `canny_formats` note, and the other way round in [`write`].
//!
//! A text is copied, read to its end, and only then objects are made. The stack of finished values is
//! on the thread's list of protected values.

mod write;

use std::collections::HashMap;

use canny_formats::markup::escape::Dialect;
use canny_formats::markup::{Event, Fault, Tape, html, xml};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Protected, Raise, TextBuilder, Thread};

use crate::arguments::{Call, implementations};
use crate::misplaced::raise_misplaced;
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%sxml->html" => |thread, call| write::write(thread, call, Dialect::Html);
    "%sxml->xml" => |thread, call| write::write(thread, call, Dialect::Xml);
    "%html->sxml" => read_html;
    "%xml->sxml" => read_xml;
};

fn text(thread: &mut Thread, call: Call, position: usize) -> Result<String, Raise> {
    let string = call.string(thread, position)?;
    Ok(with_units(string, |units| units.to_text()))
}

/// A number at a position, or the greatest for `#f`.
fn limit(thread: &mut Thread, call: Call, position: usize) -> Result<usize, Raise> {
    match call.at(position) {
        Value::FALSE => Ok(usize::MAX),
        _ => call.index(thread, position),
    }
}

/// `(%html->sxml text context depth-limit strict?)`: the context is a string or #f.
fn read_html(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let source = text(thread, call, 0)?;
    let context = match call.at(1) {
        Value::FALSE => None,
        _ => Some(text(thread, call, 1)?),
    };
    let options = html::Options {
        context: context.as_deref(),
        depth_max: limit(thread, call, 2)?,
        is_strict: call.at(3).is_true(),
    };
    let outcome = html::read(&source, &options);
    finish(thread, call, &source, outcome)
}

/// `(%xml->sxml text prefixes depth-limit expansion-limit trim?)`: the prefixes are a list of strings,
/// prefix and name of the namespace in turn, or #f.
fn read_xml(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let source = text(thread, call, 0)?;
    let mut names = Vec::new();
    let mut rest = call.at(1);
    while let Some(pair) = rest.as_pair() {
        let Some(name) = pair.car().as_kind(Kind::String) else {
            return Err(call.type_error_of(thread, 1, "list of strings", pair.car()));
        };
        names.push(with_units(name, |units| units.to_text()));
        rest = pair.cdr();
    }
    let prefixes: Vec<(String, String)> = names
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect();
    let options = xml::Options {
        prefixes: (call.at(1) != Value::FALSE).then_some(&prefixes),
        depth_max: limit(thread, call, 2)?,
        expansion_max: limit(thread, call, 3)?,
        trims: call.at(4).is_true(),
    };
    let outcome = xml::read(&source, &options);
    finish(thread, call, &source, outcome)
}

fn finish(
    thread: &mut Thread,
    call: Call,
    source: &str,
    outcome: Result<Tape, Fault>,
) -> Result<Value, Raise> {
    let base = thread.protect(Value::NIL);
    let result = match outcome {
        Ok(tape) => Replay::default().run(thread, &tape),
        Err(fault) => {
            let location = fault.location(source);
            Err(raise_misplaced(
                thread,
                call,
                "markup",
                &fault.message,
                &location,
            ))
        }
    };
    thread.release(base);
    result
}

/// Makes the objects that a tape tells of.
#[derive(Default)]
struct Replay<'a> {
    /// Where the symbols of names are protected.
    names: HashMap<&'a str, Protected>,
    rest: &'a str,
}

impl<'a> Replay<'a> {
    fn next(&mut self, length: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        text
    }

    /// All names are made symbols before anything else, so that their places are below the stack.
    fn make_names(&mut self, thread: &mut Thread, tape: &'a Tape) {
        self.rest = &tape.text;
        for event in &tape.events {
            let name = match *event {
                Event::Element { name, .. } => self.next(name),
                Event::Attribute { name, value } => {
                    let name = self.next(name);
                    self.next(value);
                    name
                }
                Event::Instruction { target, content } => {
                    let target = self.next(target);
                    self.next(content);
                    target
                }
                Event::Text(length) | Event::Comment(length) => {
                    self.next(length);
                    continue;
                }
                Event::Doctype {
                    name,
                    public,
                    system,
                } => {
                    self.next(name + public + system);
                    continue;
                }
                Event::End => continue,
            };
            if !self.names.contains_key(name) {
                let symbol = thread.symbol(name);
                self.names.insert(name, thread.protect(symbol));
            }
        }
    }

    fn symbol(&self, thread: &Thread, name: &str) -> Value {
        match self.names.get(name) {
            Some(&place) => thread.protected(place),
            None => Value::FALSE,
        }
    }

    fn run(mut self, thread: &mut Thread, tape: &'a Tape) -> Result<Value, Raise> {
        self.make_names(thread, tape);
        let mut words = Vec::new();
        for word in ["@", "*COMMENT*", "*PI*", "*DOCTYPE*", "*TOP*"] {
            let symbol = thread.symbol(word);
            words.push(thread.protect(symbol));
        }
        self.rest = &tape.text;
        // The first value of each open list.
        let mut open: Vec<Protected> = Vec::new();
        let top = thread.protect(thread.protected(words[4]));
        let mut attributes_left = 0;
        let mut attributes: Option<Protected> = None;
        for event in &tape.events {
            match *event {
                Event::Element {
                    name,
                    attributes: count,
                } => {
                    let name = self.next(name);
                    let symbol = self.symbol(thread, name);
                    open.push(thread.protect(symbol));
                    attributes_left = count;
                    if count > 0 {
                        attributes = Some(thread.protect(thread.protected(words[0])));
                    }
                }
                Event::Attribute { name, value } => {
                    let symbol = self.next(name);
                    let symbol = self.symbol(thread, symbol);
                    let first = thread.protect(symbol);
                    self.push_string(thread, value)?;
                    reduce(thread, first);
                    attributes_left -= 1;
                    if attributes_left == 0
                        && let Some(first) = attributes.take()
                    {
                        reduce(thread, first);
                    }
                }
                Event::Text(length) => self.push_string(thread, length)?,
                Event::Comment(length) => {
                    let first = thread.protect(thread.protected(words[1]));
                    self.push_string(thread, length)?;
                    reduce(thread, first);
                }
                Event::Instruction { target, content } => {
                    let first = thread.protect(thread.protected(words[2]));
                    let target = self.next(target);
                    let target = self.symbol(thread, target);
                    thread.protect(target);
                    self.push_string(thread, content)?;
                    reduce(thread, first);
                }
                Event::Doctype {
                    name,
                    public,
                    system,
                } => {
                    let first = thread.protect(thread.protected(words[3]));
                    self.push_string(thread, name)?;
                    if public + system > 0 {
                        self.push_string(thread, public)?;
                        self.push_string(thread, system)?;
                    }
                    reduce(thread, first);
                }
                Event::End => {
                    if let Some(first) = open.pop() {
                        reduce(thread, first);
                    }
                }
            }
        }
        Ok(thread.list_of_protected(top, Value::NIL))
    }

    /// Pushes the string of the next bytes.
    fn push_string(&mut self, thread: &mut Thread, length: usize) -> Result<(), Raise> {
        let text = self.next(length);
        let string = if text.is_ascii() {
            thread.string_from_latin1(text.as_bytes())?
        } else {
            let mut builder = TextBuilder::new();
            builder.push_str(text);
            builder.try_finish(thread)?
        };
        thread.protect(string);
        Ok(())
    }
}

/// Makes one list of the values from `first` on.
fn reduce(thread: &mut Thread, first: Protected) {
    let list = thread.list_of_protected(first, Value::NIL);
    thread.release(first);
    thread.protect(list);
}
