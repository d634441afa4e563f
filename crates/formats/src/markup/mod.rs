//! Markup: HTML and XML read into events on a tape, and what writing them safely takes.
//!
//! - [`escape`]: text and values of attributes, with characters that mean something written as references.
//! - [`names`]: which elements have no content, whose content is raw, which attributes are URLs or code.
//! - [`html`]: pages as browsers read them; the algorithm is that of `html5ever`, the tree is ours.
//! - [`xml`]: well-formed XML with namespaces and the entities of the document itself; `quick-xml` cuts
//!   it into pieces.
//!
//! Nothing recurses along the nesting of the input: trees are arrays of nodes, and readers have a stack
//! of open elements.

pub mod escape;
pub mod html;
pub mod names;
pub mod xml;

use canny_io::Location;

/// An event of a reader of markup. Texts are the next so many bytes of [`Tape::text`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// An element begins: length of its name, number of its attributes, which follow.
    Element {
        name: usize,
        attributes: usize,
    },
    /// Lengths of name and value.
    Attribute {
        name: usize,
        value: usize,
    },
    Text(usize),
    Comment(usize),
    /// Lengths of target and content.
    Instruction {
        target: usize,
        content: usize,
    },
    /// Lengths of name, public and system identifier.
    Doctype {
        name: usize,
        public: usize,
        system: usize,
    },
    /// The innermost element ends.
    End,
}

/// Events and the texts that they tell the lengths of.
#[derive(Default, Debug)]
pub struct Tape {
    pub events: Vec<Event>,
    pub text: String,
}

/// Why a text was not read, and at which byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub message: String,
    pub offset: usize,
}

impl Fault {
    fn new(message: impl Into<String>, offset: usize) -> Fault {
        Fault {
            message: message.into(),
            offset,
        }
    }

    /// The place for people: lines and columns from 1, the offset in characters.
    pub fn location(&self, text: &str) -> Location {
        let mut offset = self.offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        Location {
            line: before.matches('\n').count() as u64 + 1,
            column: before[line_start..].chars().count() as u64 + 1,
            byte_offset: before.chars().count() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tape in a short form.
    pub(super) fn shown(tape: &Tape) -> String {
        let mut rest = tape.text.as_str();
        let mut next = |length: usize| {
            let (text, after) = rest.split_at(length);
            rest = after;
            text
        };
        let mut shown = String::new();
        for event in &tape.events {
            shown += &match *event {
                Event::Element { name, .. } => format!("({}", next(name)),
                Event::Attribute { name, value } => {
                    let name = next(name);
                    format!("[{name}={}]", next(value))
                }
                Event::Text(length) => format!(" {}", next(length)),
                Event::Comment(length) => format!("{{{}}}", next(length)),
                Event::Instruction { target, content } => {
                    let target = next(target);
                    format!("<?{target} {}>", next(content))
                }
                Event::Doctype {
                    name,
                    public,
                    system,
                } => format!("<!{}{}{}>", next(name), next(public), next(system)),
                Event::End => ")".to_owned(),
            };
        }
        shown
    }
}
