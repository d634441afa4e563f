//! Commands about names: `,apropos`, `,binding`, `,describe`, and questions such as `?name`.
//!
//! They look at the environment and the documentation without importing anything. Lists are cut at
//! `NAMES_MAX`. An unknown name is answered with libraries that export it.

use canny_lib::evaluation::{NameInfo, NameKind};
use canny_lib::printer::pretty_shown;
use canny_syntax::foreign_names;
use canny_syntax::name::Name;
use canny_syntax::spelling::similar_name;
use canny_tables::kinds::Kind;
use canny_value::Value;

use super::modules::library_of;
use super::{Reply, form_of, reply};
use crate::repl::prompt::Prompt;

/// Names that a command lists at most.
const NAMES_MAX: usize = 100;

fn kind_text(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Form => "form",
        NameKind::Macro => "macro",
        NameKind::Primitive => "procedure",
        NameKind::Variable => "variable",
    }
}

/// `,apropos TEXT`
pub(super) fn apropos(prompt: &mut Prompt, rest: &str) -> Reply {
    let wanted = rest.trim_matches('"');
    if wanted.is_empty() {
        return Reply::Usage;
    }
    let environment = prompt.environment();
    let evaluation = prompt.session.evaluation();
    let bound: Vec<String> = evaluation
        .bound_names(environment)
        .into_iter()
        .filter(|name| name.contains(wanted))
        .collect();
    let mut lines = Vec::new();
    for name in &bound {
        if let Some(info) = evaluation.name_info(environment, name) {
            let place = info.library.as_deref().unwrap_or("defined here");
            lines.push(format!("  {name}  {}, {place}", kind_text(info.kind)));
        }
    }
    let mut elsewhere = Vec::new();
    for (library, exports) in evaluation.known_exports() {
        for info in exports {
            if info.name.contains(wanted) && !bound.contains(&info.name) {
                elsewhere.push(format!(
                    "  {}  {}, import {library}",
                    info.name,
                    kind_text(info.kind)
                ));
            }
        }
    }
    elsewhere.sort();
    lines.extend(elsewhere);
    Reply::Text(match lines.len() {
        0 => format!("No name contains {wanted}.\n"),
        _ => cut(lines),
    })
}

/// Lines, but not too many.
fn cut(mut lines: Vec<String>) -> String {
    let count = lines.len();
    lines.truncate(NAMES_MAX);
    if count > NAMES_MAX {
        lines.push(format!("  … and {} more", count - NAMES_MAX));
    }
    format!("{}\n", lines.join("\n"))
}

/// `,binding [LIBRARY]`
pub(super) fn binding(prompt: &mut Prompt, rest: &str) -> Reply {
    if rest.is_empty() {
        let environment = prompt.environment();
        let evaluation = prompt.session.evaluation();
        let own = |name: &String| {
            let info = evaluation.name_info(environment, name)?;
            let is_result = name
                .strip_prefix('$')
                .is_some_and(|n| n.parse::<u64>().is_ok());
            (info.library.is_none() && !is_result)
                .then(|| format!("  {name}  {}", kind_text(info.kind)))
        };
        let names = evaluation.bound_names(environment);
        let lines: Vec<String> = names.iter().filter_map(own).collect();
        return Reply::Text(if lines.is_empty() {
            "Nothing was defined here.\n".to_owned()
        } else {
            cut(lines)
        });
    }
    reply(form_of(prompt, rest).and_then(|form| {
        let words = library_of(prompt, &form)?;
        let exports = prompt.session.evaluation().library_exports(&words);
        Ok(Reply::Text(match exports {
            Some(exports) => {
                let line = |info: &NameInfo| format!("  {}  {}", info.name, kind_text(info.kind));
                cut(exports.iter().map(line).collect())
            }
            None => format!("There is no library {words} that can be imported.\n"),
        }))
    }))
}

/// `,describe EXPR`
pub(super) fn describe(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).and_then(|form| {
        let environment = prompt.environment();
        let mut info = None;
        if let Some(name) = form.as_identifier() {
            let name = name.name.as_str();
            info = prompt.session.evaluation().name_info(environment, name);
            if info.is_none() {
                return Ok(Reply::Text(unknown_text(prompt, name)));
            }
        }
        let mut text = String::new();
        if let Some(info) = &info {
            let place = match &info.library {
                Some(library) => format!("imported from {library}"),
                None => "defined at the prompt".to_owned(),
            };
            text.push_str(&format!(
                "{}: {}, {place}\n",
                info.name,
                kind_text(info.kind)
            ));
            let told = info.library.as_deref().and_then(|library| {
                let width = prompt.printing.columns();
                crate::tools::doc::description(library, &info.name, width)
            });
            let of_guest = info
                .library
                .as_deref()
                .and_then(|library| canny_lib::guest_libraries::description(library, &info.name));
            if let Some(told) = of_guest {
                text.push_str(&format!("  {told}\n"));
            } else if let Some(told) = told {
                text.push_str(&told);
            } else if let Some((signature, documentation)) = info.documentation {
                text.push_str(&format!("  {signature}\n  {documentation}\n"));
            }
            if info.kind != NameKind::Variable {
                return Ok(Reply::Text(text));
            }
        }
        let value = prompt.value_of(&form).map_err(Reply::Leave)?;
        text.push_str(&object_text(prompt, value));
        Ok(Reply::Text(text))
    }))
}

/// The answer about a name that means nothing here: which libraries export it, or which name may
/// have been meant.
fn unknown_text(prompt: &Prompt, name: &str) -> String {
    let evaluation = prompt.session.evaluation();
    let exporters: Vec<(String, NameInfo)> = evaluation
        .known_exports()
        .into_iter()
        .filter_map(|(library, exports)| {
            let info = exports.into_iter().find(|info| info.name == name)?;
            Some((library, info))
        })
        .collect();
    let width = prompt.printing.columns();
    if let Some((library, info)) = exporters.first() {
        let libraries: Vec<&str> = exporters.iter().map(|(library, _)| &**library).collect();
        let mut text = format!(
            "{name}: {}, not imported; exported by {}: (import {library})\n",
            kind_text(info.kind),
            libraries.join(", ")
        );
        let told = libraries
            .iter()
            .find_map(|library| crate::tools::doc::description(library, name, width));
        text.push_str(&told.unwrap_or_default());
        return text;
    }
    let names = evaluation.bound_names(prompt.environment());
    let similar = similar_name(Name::new(name), names.iter().map(|name| Name::new(name)));
    let note = match (foreign_names::replacement(name), similar) {
        (Some(note), _) => format!(" In Scheme {note}."),
        (None, Some(similar)) => format!(" Did you mean {}?", similar.as_str()),
        (None, None) => String::new(),
    };
    format!("{name} means nothing here.{note} ,apropos finds names that contain a text.\n")
}

/// The text behind the question mark of `?name`, `?(a library)` or a lone `?`. The name of a
/// variable may begin with a question mark too.
pub fn question_of(prompt: &Prompt, text: &str) -> Option<String> {
    let text = text.trim();
    let asked = text.strip_prefix('?')?.trim_start();
    let is_library = asked.starts_with('(') && asked.ends_with(')');
    let is_delimiter = |c: char| c.is_whitespace() || "()[]\"';`,".contains(c);
    if !is_library && asked.contains(is_delimiter) {
        return None;
    }
    let evaluation = prompt.session.evaluation();
    let is_variable = evaluation.name_info(prompt.environment(), text).is_some();
    (!is_variable).then(|| asked.to_owned())
}

/// `?NAME` and `?(LIBRARY …)`
pub(super) fn question(prompt: &mut Prompt, asked: &str) -> Reply {
    if !asked.starts_with('(') {
        return describe(prompt, asked);
    }
    reply(form_of(prompt, asked).and_then(|form| {
        let library = library_of(prompt, &form)?.to_string();
        let width = prompt.printing.columns();
        Ok(
            match crate::tools::doc::overview_of_library(&library, width) {
                Some(text) => Reply::Text(text),
                None => binding(prompt, asked),
            },
        )
    }))
}

/// Describes an object: a closure by its calls and its definition, any other by value and kind.
fn object_text(prompt: &Prompt, value: Value) -> String {
    let vm = &prompt.session.vm;
    if !value.is_kind(Kind::Closure) {
        let width = prompt.printing.columns();
        let length = prompt.printing.length_max;
        let (text, _) = pretty_shown(&prompt.session.thread, value, width, length);
        return format!("{text}\n{}\n", kind_of(value));
    }
    let name = vm.procedure_name(value);
    let shown = name.as_deref().unwrap_or("it");
    let mut text = String::new();
    for call in vm.procedure_calls(value) {
        text.push_str(&format!("  {call}\n"));
    }
    if let Some(place) = prompt.session.thread.definition(value) {
        text.push_str(&format!(
            "  {shown} is defined at {}:{}:{}\n",
            place.file, place.line, place.column
        ));
    }
    text
}

/// The kind of an object that is no procedure.
fn kind_of(value: Value) -> String {
    if value.is_pair() {
        return "  a pair".to_owned();
    }
    if value.as_fixnum().is_some() {
        return "  an exact integer".to_owned();
    }
    if value.as_character().is_some() {
        return "  a character".to_owned();
    }
    if value.as_inline_flonum().is_some() {
        return "  an inexact number".to_owned();
    }
    match value.as_object() {
        Some(object) => format!("  a {}", object.kind().row().name),
        None => "  a constant".to_owned(),
    }
}
