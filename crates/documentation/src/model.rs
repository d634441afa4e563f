//! The data types of documentation: documents, sections, entries, signatures, examples.
//!
//! They are plain data and serialise, since the reference is extracted when Canny is built and is
//! part of the binary. Texts are Markdown. Renderers read only these types.

use serde::{Deserialize, Serialize};

/// The documentation of a library, or of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The library's name as it is written, such as `(canny match)`; the file's name for a program.
    pub name: String,
    /// Whether it is a library; else a program.
    pub is_library: bool,
    /// Its purpose, in Markdown; may be empty.
    pub text: String,
    /// The examples in the text, in order.
    pub examples: Vec<Example>,
    /// The sections of a page of documentation, in order.
    pub sections: Vec<Section>,
    /// The exports of a library, in the order of its export declarations; the definitions of a
    /// program, in order.
    pub entries: Vec<Entry>,
    /// The definitions that a library makes for itself only, in order.
    pub internal: Vec<Entry>,
    /// Where it begins.
    pub place: Option<Place>,
}

/// A part of a page of documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// The text above its first name, in Markdown; may be empty.
    pub text: String,
    /// The examples in the text, in order.
    pub examples: Vec<Example>,
}

/// One name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The name under which it is exported.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// How it is called or used, one for each way.
    pub signatures: Vec<Signature>,
    /// Its description, in Markdown; may be empty.
    pub text: String,
    /// How the text is put together if it stands below a heading with several names.
    pub group: Option<Group>,
    /// The examples in the text, in order.
    pub examples: Vec<Example>,
    /// The heading that it stands under in a page of documentation; empty without a page.
    pub section: String,
    /// Where an export that the library does not define itself is defined.
    pub origin: Option<Origin>,
    /// Where it is defined.
    pub place: Option<Place>,
}

/// A heading of a page that several names stand in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The line of the heading, which tells the groups of a page apart.
    pub line: u32,
    /// The part of the text about this name only.
    pub own: String,
    /// The part about all names of the heading; may be empty.
    pub shared: String,
}

/// The kind of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A procedure.
    Procedure,
    /// A keyword.
    Syntax,
    /// A record type, with its fields.
    RecordType {
        /// The names of the fields that the definition lists.
        fields: Vec<String>,
    },
    /// A procedure that the definition of a record type makes.
    RecordPart {
        /// The record type.
        record: String,
        /// Its role in the record type.
        part: Part,
    },
    /// A parameter object.
    Parameter,
    /// A variable whose definition is a literal, and that literal.
    Constant {
        /// The literal as it is written.
        value: String,
    },
    /// Any other variable.
    Variable,
}

/// A procedure of a record type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// Makes a record.
    Constructor,
    /// Tells its records from other objects.
    Predicate,
    /// Gives the value of that field.
    Accessor(String),
    /// Changes the value of that field.
    Modifier(String),
}

/// One way to call or use something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The call as people write it down, such as `(string-pad string width [char])`.
    pub text: String,
    /// The parameters of a procedure; empty for syntax.
    pub parameters: Vec<Parameter>,
    /// The type of the result, where that is known: only for procedures that are built in.
    pub result: Option<String>,
}

/// A parameter of a procedure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name; the name of a type for procedures that are built in.
    pub name: String,
    /// How an argument comes to it.
    pub role: Role,
    /// The expression that gives its value when there is no argument.
    pub default: Option<String>,
}

/// How an argument comes to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// By its place; there must be one.
    Required,
    /// By its place; there may be one.
    Optional,
    /// By a keyword.
    Keyword,
    /// All arguments that are left, as a list.
    Rest,
}

/// A form in a text, and what it gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The form as it is written.
    pub form: String,
    /// The result; nothing for a form that the ones behind it need, such as a definition.
    pub expectation: Option<Expectation>,
    /// The file.
    pub file: String,
    /// The line of the file that the form begins on.
    pub line: u32,
}

/// The result of a form in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// A value that `write` shows so.
    Value(String),
    /// A condition with that text.
    Error(String),
    /// The block has markers but cannot be read, for that reason.
    Unreadable(String),
    /// The output to the current output port, without the last line end.
    Prints(String),
}

/// Where something is defined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The library.
    pub library: String,
    /// The name there.
    pub name: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file's name as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Document {
    /// The examples of each text, in the order of the texts.
    pub fn examples_in_order(&self) -> Vec<Vec<Example>> {
        let mut groups = vec![self.examples.clone()];
        let mut sections = self.sections.as_slice();
        for entry in &self.entries {
            let own = sections
                .iter()
                .position(|section| section.title == entry.section);
            if let Some(own) = own {
                let (before, behind) = sections.split_at(own + 1);
                groups.extend(before.iter().map(|section| section.examples.clone()));
                sections = behind;
            }
            groups.push(entry.examples.clone());
        }
        groups.extend(sections.iter().map(|section| section.examples.clone()));
        groups
    }

    /// The export, or the definition of a program, of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The export or the definition of that name.
    pub fn definition(&self, name: &str) -> Option<&Entry> {
        let internal = self.internal.iter().find(|entry| entry.name == name);
        self.entry(name).or(internal)
    }

    /// The first sentence or line of the text.
    pub fn summary(&self) -> &str {
        summary(&self.text)
    }
}

impl Entry {
    /// The first sentence of the text, without line ends; may be empty.
    pub fn summary(&self) -> &str {
        summary(&self.text)
    }
}

impl Entry {
    /// Gives it another name, in its signatures too.
    pub(crate) fn rename(&mut self, name: &str) {
        for Signature { text, .. } in &mut self.signatures {
            let end = text.find([' ', ')']).unwrap_or(text.len());
            if text.starts_with('(') {
                text.replace_range(1..end, name);
            }
        }
        name.clone_into(&mut self.name);
    }
}

impl Kind {
    /// One word or two for people.
    pub fn label(&self) -> &'static str {
        match self {
            Kind::Procedure => "procedure",
            Kind::Syntax => "syntax",
            Kind::RecordType { .. } => "record type",
            Kind::RecordPart { part, .. } => match part {
                Part::Constructor => "constructor",
                Part::Predicate => "predicate",
                Part::Accessor(_) => "accessor",
                Part::Modifier(_) => "modifier",
            },
            Kind::Parameter => "parameter",
            Kind::Constant { .. } => "constant",
            Kind::Variable => "variable",
        }
    }
}

/// The first paragraph up to its first full stop.
fn summary(text: &str) -> &str {
    let text = text.trim_start();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let stop = paragraph
        .match_indices(". ")
        .map(|(at, _)| at)
        .chain(paragraph.find(".\n"))
        .min();
    match stop {
        Some(at) => &paragraph[..=at],
        None => paragraph.trim_end(),
    }
}
