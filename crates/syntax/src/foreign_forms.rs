//! Forms of other Schemes that mean nothing here, with the line to write instead.
//!
//! A form is looked at when nothing binds its operator, so programs may give these names a meaning of
//! their own.

use crate::diagnostic::Diagnostic;
use crate::foreign_libraries;
use crate::library::{is_r6rs_library, r6rs_library};
use crate::syntax::Syntax;

/// Imports of every suggested program: nobody has to ask where these forms come from.
const BASE: &str = "(scheme base) (scheme write)";

/// The error of a form that belongs to another Scheme; `None` for any other form.
pub(crate) fn found(form: &Syntax) -> Option<Diagnostic> {
    if is_r6rs_library(form) {
        return Some(r6rs_library(form.span));
    }
    let elements = form.elements()?;
    let (head, operands) = elements.split_first()?;
    let name = head.as_identifier()?.name;
    let (whose, instead) = replaced(name.as_str(), operands)?;
    let message = format!("`{name}` is {whose}, and means nothing here");
    Some(Diagnostic::error("foreign-form", form.span, message).note(instead))
}

/// The origin of a form, and the advice to its writer.
fn replaced(name: &str, operands: &[Syntax]) -> Option<(&'static str, String)> {
    let first = operands.first();
    let write = |text: String| format!("write {text}");
    let imports = || write(import_line(operands));
    Some(match name {
        "use-modules" => ("how Guile imports modules", imports()),
        "require" => ("how Racket imports modules", imports()),
        "use" => ("how Gauche and older Chicken import modules", imports()),
        "require-extension" | "require-library" | "import-for-syntax" => {
            ("how Chicken imports modules", imports())
        }
        "load-option" => ("how MIT Scheme imports libraries", imports()),
        "define-module" => ("how Guile defines a module", write(guile_module(operands)?)),
        "module" => {
            let module = first?;
            let module = match module.as_identifier() {
                Some(_) => format!("({module})"),
                None => module.to_string(),
            };
            let library = library_text(&module, "…", BASE);
            (
                "how Racket, Chez and Chicken define a module",
                write(library),
            )
        }
        "provide" => {
            let exports = listed(operands);
            let library = library_text("(NAME)", &exports, BASE);
            ("how Racket exports names", write(library))
        }
        "top-level-program" => (
            "how Chez begins a program",
            "leave it out: the forms of the file are the program".to_owned(),
        ),
        "declare" | "namespace" | "declaim" => (
            "for the compiler of another Scheme",
            "leave it out".to_owned(),
        ),
        "define-structure" | "define-record" | "struct" | "define-struct" => {
            let record = write(record_text(operands)?);
            ("how other Schemes define a type of records", record)
        }
        "define-syntax-rule" => {
            let (pattern, template) = (first?, operands.get(1)?);
            let macro_name = pattern.as_pair()?.car.clone();
            let text =
                format!("(define-syntax {macro_name} (syntax-rules () ({pattern} {template})))");
            ("how Racket and Guile define a short macro", write(text))
        }
        "define-macro" | "defmacro" | "define-syntax-parser" => (
            "how other Schemes define a macro",
            "write (define-syntax NAME (syntax-rules () ((NAME OPERAND …) TEMPLATE)))".to_owned(),
        ),
        "define-constant" | "define-integrable" | "define-inline" => (
            "how other Schemes define what does not change",
            "write `define`: the compiler sees whether it changes".to_owned(),
        ),
        "cons-stream" => (
            "how MIT Scheme makes a stream",
            "write `stream-cons` of (srfi 41)".to_owned(),
        ),
        _ => return None,
    })
}

fn listed(forms: &[Syntax]) -> String {
    let texts: Vec<String> = forms.iter().map(ToString::to_string).collect();
    texts.join(" ")
}

fn library_text(name: &str, exports: &str, imports: &str) -> String {
    format!("(define-library {name} (export {exports}) (import {imports}) (begin DEFINITION …))")
}

/// `(import …)` with what is here in place of these modules.
fn import_line(modules: &[Syntax]) -> String {
    format!("(import {})", import_sets(modules))
}

fn import_sets(modules: &[Syntax]) -> String {
    let mut sets: Vec<String> = BASE
        .split_inclusive(')')
        .map(|one| one.trim().to_owned())
        .collect();
    for module in modules {
        let set = import_set(module);
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets.join(" ")
}

/// The import set for one module of another Scheme.
fn import_set(module: &Syntax) -> String {
    let text = module.to_string();
    if let Some(found) = foreign_libraries::replacement(&text) {
        return found;
    }
    let elements = module.elements().unwrap_or_default();
    let head = elements
        .first()
        .and_then(Syntax::as_identifier)
        .map(|head| head.name);
    match (head.as_ref().map(|head| head.as_str()), &elements[..]) {
        // `'format` of MIT Scheme
        (Some("quote"), [_, quoted]) => import_set(quoted),
        // Racket's
        (Some("only-in"), [_, module, names @ ..]) => {
            format!("(only {} {})", import_set(module), listed(names))
        }
        (Some("prefix-in"), [_, prefix, module]) => {
            format!("(prefix {} {prefix})", import_set(module))
        }
        (Some("except-in"), [_, module, names @ ..]) => {
            format!("(except {} {})", import_set(module), listed(names))
        }
        // Chicken's
        (Some(modifier @ ("only" | "except" | "prefix" | "rename")), [_, module, rest @ ..]) => {
            format!("({modifier} {} {})", import_set(module), listed(rest))
        }
        // Guile's `((ice-9 format) #:select (format))`
        (None, [module, options @ ..]) if module.as_pair().is_some() => {
            guile_set(&import_set(module), options)
        }
        (None, []) if module.as_identifier().is_some() => format!("({text})"),
        // A file of Racket's.
        (None, []) if text.starts_with('"') => {
            let path = text.trim_matches('"');
            let path = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
            format!("({})", path.replace('/', " "))
        }
        _ => text,
    }
}

/// A set with Guile's options.
fn guile_set(library: &str, options: &[Syntax]) -> String {
    let mut set = library.to_owned();
    for option in options.chunks(2) {
        let [keyword, operand] = option else {
            return set;
        };
        match keyword.to_string().as_str() {
            "#:select" => {
                let names = operand.elements().unwrap_or_default();
                set = format!("(only {set} {})", listed(&names));
            }
            "#:prefix" => set = format!("(prefix {set} {operand})"),
            _ => {}
        }
    }
    set
}

/// `(define-module (a b) #:use-module (c) #:export (d e))` as a library.
fn guile_module(operands: &[Syntax]) -> Option<String> {
    let (name, options) = operands.split_first()?;
    name.as_pair()?;
    let (mut used, mut exports) = (Vec::new(), Vec::new());
    for option in options.chunks(2) {
        let [keyword, operand] = option else { break };
        match keyword.to_string().as_str() {
            "#:use-module" => used.push(operand.clone()),
            "#:export" | "#:export-syntax" | "#:replace" | "#:re-export" => {
                exports.extend(operand.elements().unwrap_or_default());
            }
            _ => {}
        }
    }
    Some(library_text(
        &name.to_string(),
        &listed(&exports),
        &import_sets(&used),
    ))
}

/// `point x y` or `point (x y)` as a `define-record-type`.
fn record_text(operands: &[Syntax]) -> Option<String> {
    let (name, rest) = operands.split_first()?;
    let name = match name.as_pair() {
        Some(pair) => pair.car.clone(),
        None => name.clone(),
    };
    name.as_identifier()?;
    let fields = match rest.first().and_then(Syntax::elements) {
        Some(fields) => fields,
        None => rest.to_vec(),
    };
    // A field may have options.
    let fields: Vec<String> = fields
        .iter()
        .map(|field| match field.as_pair() {
            Some(pair) => pair.car.to_string(),
            None => field.to_string(),
        })
        .filter(|field| !field.starts_with('#'))
        .collect();
    let parts: String = fields
        .iter()
        .map(|field| format!(" ({field} {name}-{field})"))
        .collect();
    let fields = fields.join(" ");
    let constructor = format!("(make-{name} {fields})");
    Some(format!(
        "(define-record-type {name} {} {name}?{parts})",
        constructor.replace(" )", ")")
    ))
}
