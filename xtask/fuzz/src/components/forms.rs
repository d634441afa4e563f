//! Interface types: random ones, and their text in components.
//!
//! Records, variants, enumerations and flags have to be imported or exported under a name before a
//! function of a component may use them, so that they become definitions of their own.

use std::fmt::Write;
use std::sync::Arc;

use canny_component::types::{Shape, Type};

use crate::guests::Choices;

/// A type as texts of components have it.
pub enum Form {
    Simple(&'static str),
    List(Box<Form>),
    FixedList(Box<Form>, u32),
    Map(&'static str, Box<Form>),
    Tuple(Vec<Form>),
    Option(Box<Form>),
    Result(Option<Box<Form>>, Option<Box<Form>>),
    Record(Vec<(String, Form)>),
    Variant(Vec<(String, Option<Form>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
}

const SIMPLE: [&str; 13] = [
    "u8", "string", "bool", "s8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char",
];

const KEYS: [&str; 6] = ["string", "u8", "s64", "bool", "char", "u32"];

/// Names that mean something elsewhere, or are written in an unusual way.
const NAMES: [&str; 12] = [
    "none", "some", "ok", "err", "true", "false", "nan", "inf", "a-b", "x1", "LOUD", "e5",
];

/// The type that the choices stand for.
pub fn form(choices: &mut Choices<'_>, depth: usize) -> Form {
    let kinds = if depth == 0 { 3 } else { 16 };
    match choices.below(kinds) {
        3 | 4 => Form::List(Box::new(form(choices, depth - 1))),
        5 => {
            let count = 1 + choices.below(5) as u32;
            Form::FixedList(Box::new(form(choices, depth - 1)), count)
        }
        6 => Form::Map(choices.choose(&KEYS), Box::new(form(choices, depth - 1))),
        7 => Form::Tuple(several(choices, depth).collect()),
        8 => Form::Option(Box::new(form(choices, depth - 1))),
        9 => Form::Result(optional(choices, depth), optional(choices, depth)),
        10 | 11 => {
            let fields: Vec<Form> = several(choices, depth).collect();
            let names = names(choices, fields.len());
            Form::Record(names.into_iter().zip(fields).collect())
        }
        12 | 13 => {
            let count = 1 + choices.below(5);
            let names = names(choices, count).into_iter();
            let cases = names.map(|name| (name, optional(choices, depth).map(|form| *form)));
            Form::Variant(cases.collect())
        }
        14 => {
            let count = if choices.once_in(8) {
                300
            } else {
                1 + choices.below(5)
            };
            Form::Enum(names(choices, count))
        }
        15 => {
            let count = 1 + choices.below(32);
            Form::Flags(names(choices, count))
        }
        _ => Form::Simple(choices.choose(&SIMPLE)),
    }
}

fn several(choices: &mut Choices<'_>, depth: usize) -> impl Iterator<Item = Form> {
    let count = 1 + choices.below(if depth > 2 { 8 } else { 4 });
    (0..count).map(move |_| form(choices, depth - 1))
}

fn optional(choices: &mut Choices<'_>, depth: usize) -> Option<Box<Form>> {
    let has_one = choices.below(3) > 0;
    has_one.then(|| Box::new(form(choices, depth - 1)))
}

/// Different names, also if capitals count for nothing.
fn names(choices: &mut Choices<'_>, count: usize) -> Vec<String> {
    let first = choices.below(NAMES.len());
    let name = |index: usize| match NAMES.get(first + index) {
        Some(name) => (*name).to_owned(),
        None => format!("n{index}"),
    };
    (0..count).map(name).collect()
}

/// Definitions of types, under names that come from outside or go there.
pub struct Definitions {
    keyword: &'static str,
    pub text: String,
    count: usize,
}

impl Definitions {
    /// The keyword is `import` or `export`.
    pub fn new(keyword: &'static str) -> Definitions {
        Definitions {
            keyword,
            text: String::new(),
            count: 0,
        }
    }

    /// The text by which a function uses a type.
    pub fn used(&mut self, form: &Form) -> String {
        match form {
            Form::Simple(name) => (*name).to_owned(),
            Form::List(element) => format!("(list {})", self.used(element)),
            Form::FixedList(element, count) => format!("(list {} {count})", self.used(element)),
            Form::Map(key, value) => format!("(map {key} {})", self.used(value)),
            Form::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.used(part)).collect();
                format!("(tuple {})", parts.join(" "))
            }
            Form::Option(held) => format!("(option {})", self.used(held)),
            Form::Result(fine, failed) => {
                let fine = fine.as_ref().map(|form| self.used(form));
                let failed = failed.as_ref().map(|form| self.used(form));
                let failed = failed.map_or_else(String::new, |text| format!("(error {text})"));
                format!("(result {} {failed})", fine.unwrap_or_default())
            }
            Form::Record(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, form)| format!(" (field \"{name}\" {})", self.used(form)));
                let fields: String = fields.collect();
                self.defined(&format!("(record{fields})"))
            }
            Form::Variant(cases) => {
                let cases = cases.iter().map(|(name, form)| {
                    let held = form
                        .as_ref()
                        .map_or_else(String::new, |form| self.used(form));
                    format!(" (case \"{name}\" {held})")
                });
                let cases: String = cases.collect();
                self.defined(&format!("(variant{cases})"))
            }
            Form::Enum(names) => self.defined(&format!("(enum{})", quoted(names))),
            Form::Flags(names) => self.defined(&format!("(flags{})", quoted(names))),
        }
    }

    fn defined(&mut self, text: &str) -> String {
        let number = self.count;
        self.count += 1;
        // Writing to a string does not fail.
        let _ = match self.keyword {
            "import" => writeln!(
                self.text,
                "(type $t{number} {text})\n(import \"t{number}\" (type $n{number} (eq $t{number})))"
            ),
            _ => writeln!(
                self.text,
                "(type $t{number} {text})\n(export $n{number} \"t{number}\" (type $t{number}))"
            ),
        };
        format!("$n{number}")
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!(" \"{name}\"")).collect()
}

/// The type as the host has it.
pub fn kind(form: &Form) -> Arc<Type> {
    let shape = match form {
        Form::Simple(name) => simple(name),
        Form::List(element) => Shape::List(kind(element)),
        Form::FixedList(element, count) => Shape::FixedList(kind(element), *count),
        Form::Map(key, value) => {
            let entry = Shape::Tuple(vec![Arc::new(Type::new(simple(key))), kind(value)]);
            Shape::List(Arc::new(Type::new(entry)))
        }
        Form::Tuple(parts) => Shape::Tuple(parts.iter().map(kind).collect()),
        Form::Option(held) => Shape::Option(kind(held)),
        Form::Result(fine, failed) => Shape::Result(
            fine.as_ref().map(|form| kind(form)),
            failed.as_ref().map(|form| kind(form)),
        ),
        Form::Record(fields) => {
            let fields = fields.iter();
            Shape::Record(
                fields
                    .map(|(name, form)| (name.clone(), kind(form)))
                    .collect(),
            )
        }
        Form::Variant(cases) => {
            let cases = cases.iter();
            let cases = cases.map(|(name, form)| (name.clone(), form.as_ref().map(kind)));
            Shape::Variant(cases.collect())
        }
        Form::Enum(names) => Shape::Enum(names.clone()),
        Form::Flags(names) => Shape::Flags(names.clone()),
    };
    Arc::new(Type::new(shape))
}

fn simple(name: &str) -> Shape {
    match name {
        "bool" => Shape::Bool,
        "s8" => Shape::S8,
        "u8" => Shape::U8,
        "s16" => Shape::S16,
        "u16" => Shape::U16,
        "s32" => Shape::S32,
        "u32" => Shape::U32,
        "s64" => Shape::S64,
        "u64" => Shape::U64,
        "f32" => Shape::F32,
        "f64" => Shape::F64,
        "char" => Shape::Char,
        _ => Shape::String,
    }
}
