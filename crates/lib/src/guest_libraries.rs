//! WebAssembly modules as libraries: the source of `(wasm "FILE")`.
//!
//! The library has one instance, which is made with WASI if the module imports that. Its exports have
//! the names that they have in the module. Those of functions are procedures with the names of their
//! parameters, as far as the module has them. Names of the library's own begin with `guest:`, so that
//! they are in nobody's way.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use canny_component::Component;
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_wasm::{Export, ExternType, Module, to_binary};

/// The module of the functions of WASI.
const WASI: &str = "wasi_snapshot_preview1";

/// The file of the module whose library has this key.
pub(crate) fn file_of_key(key: &str) -> Option<&str> {
    key.strip_prefix("(wasm \"")?.strip_suffix("\")")
}

/// The source of the library of a module; else what is wrong with that.
pub(crate) fn source(file: &Path, bytes: Vec<u8>) -> Result<String, String> {
    let bytes = to_binary(bytes).map_err(|error| error.to_string())?;
    if Component::is_component(&bytes) {
        let component = Component::new(bytes).map_err(|error| error.to_string())?;
        return source_of_component(file, &component);
    }
    let module = Module::new(bytes).map_err(|error| error.to_string())?;
    check_imports(&module)?;
    let names = module.exports().iter().map(|(name, _)| symbol(name));
    let names: Vec<String> = names.collect();
    let file = Datum::String(file.display().to_string().into());
    let mut text = format!(
        "(define-library (wasm {file})\n\
         (export {})\n\
         (import (prefix (only (scheme base) define) guest:) (prefix (canny wasm libraries) guest:))\n\
         (begin\n(guest:define guest:instance (guest:instance-of-file {file}))\n",
        names.join(" ")
    );
    let parameters = module.parameter_names();
    for (number, (name, export)) in module.exports().iter().enumerate() {
        let given = Datum::String(name.as_str().into());
        let get = format!("(guest:instance-export guest:instance {given})");
        let name = symbol(name);
        // Writing to a text cannot fail.
        let _ = match export {
            Export::Function(index) => {
                let names = parameters.get(index).map_or(&[][..], Vec::as_slice);
                let names = distinct(names).join(" ");
                writeln!(
                    text,
                    "(guest:define guest:{number} {get})\n\
                     (guest:define ({name} {names}) (guest:{number} {names}))",
                )
            }
            _ => writeln!(text, "(guest:define {name} {get})"),
        };
    }
    text.push_str("))\n");
    Ok(text)
}

/// The same of a component: procedures for its exported functions. Those of interfaces have their own name,
/// or the interface's before it if there are several of that name.
fn source_of_component(file: &Path, component: &Component) -> Result<String, String> {
    let listing = component.listing();
    let missing: Vec<&str> = listing
        .imports
        .iter()
        .map(|row| match row.interface.as_str() {
            "" => row.name.as_str(),
            interface => interface,
        })
        .filter(|name| !name.starts_with("wasi:"))
        .collect();
    if let Some(first) = missing.first() {
        return Err(format!(
            "the component imports {first:?}, which `instantiate-component` can give it"
        ));
    }
    let functions: Vec<(String, &str)> = component_names(component);
    let names: Vec<String> = functions.iter().map(|(name, _)| symbol(name)).collect();
    let file = Datum::String(file.display().to_string().into());
    let mut text = format!(
        "(define-library (wasm {file})\n\
         (export {})\n\
         (import (prefix (only (scheme base) define) guest:) (prefix (canny wasm libraries) guest:))\n\
         (begin\n(guest:define guest:instance (guest:instance-of-component {file}))\n",
        names.join(" ")
    );
    let rows = listing.exports.iter().filter(|row| is_function(&row.text));
    for (number, (row, name)) in rows.zip(&names).enumerate() {
        let full = match row.interface.as_str() {
            "" => row.name.clone(),
            interface => format!("{interface}#{}", row.name),
        };
        let given = Datum::String(full.into());
        let parameters = row.parameters.iter().map(|name| Some(name.clone()));
        let parameters = distinct(&parameters.collect::<Vec<_>>()).join(" ");
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "(guest:define guest:{number} (guest:instance-export guest:instance {given}))\n\
             (guest:define ({name} {parameters}) (guest:{number} {parameters}))",
        );
    }
    text.push_str("))\n");
    Ok(text)
}

fn is_function(text: &str) -> bool {
    text.starts_with("func(")
}

/// The names of a component's functions in its library, with their types.
fn component_names(component: &Component) -> Vec<(String, &str)> {
    let rows = component.listing().exports.iter();
    let rows: Vec<_> = rows.filter(|row| is_function(&row.text)).collect();
    let mut named = Vec::new();
    for row in &rows {
        let same = rows.iter().filter(|other| other.name == row.name).count();
        let name = match row.interface.as_str() {
            "" => row.name.clone(),
            _ if same == 1 => row.name.clone(),
            interface => format!("{interface}#{}", row.name),
        };
        named.push((name, row.text.as_str()));
    }
    named
}

/// Refuses a module that imports something other than functions of WASI.
fn check_imports(module: &Module) -> Result<(), String> {
    let is_wasi = |kind: &ExternType| matches!(kind, ExternType::Function(_));
    let missing: Vec<String> = module
        .imports()
        .iter()
        .filter(|import| import.module != WASI || !is_wasi(&import.kind))
        .map(|import| format!("{:?} {:?}", import.module, import.name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the module imports {}, which `instantiate` can give it",
        missing.join(", ")
    ))
}

fn symbol(name: &str) -> String {
    Datum::Symbol(Name::new(name)).to_string()
}

/// Names of parameters, each another one: those that the module has, or numbers behind a letter.
fn distinct(names: &[Option<String>]) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let usual = format!("p{}", index + 1);
        let name = name.as_deref().filter(|name| !name.starts_with("guest:"));
        let mut name = name.unwrap_or(&usual).to_owned();
        while name.is_empty() || !seen.insert(name.clone()) {
            name.push('*');
        }
        found.push(symbol(&name));
    }
    found
}

/// The kind and type of an export of a module, for people.
pub fn description(library: &str, export: &str) -> Option<String> {
    let file = file_of_key(library)?;
    let bytes = to_binary(std::fs::read(file).ok()?).ok()?;
    if Component::is_component(&bytes) {
        let component = Component::new(bytes).ok()?;
        let names = component_names(&component);
        let (_, kind) = names.iter().find(|(name, _)| name == export)?;
        return Some(format!("a function {kind} of the component {file}"));
    }
    let module = Module::new(bytes).ok()?;
    let (_, kind) = module.exports().iter().find(|(name, _)| name == export)?;
    Some(match kind {
        Export::Function(index) => {
            let kind = module.function_type(*index).text();
            format!("a function {kind} of the guest {file}")
        }
        Export::Memory(_) => format!("a memory of the guest {file}"),
        Export::Table(_) => format!("a table of the guest {file}"),
        Export::Global(_) => format!("a global variable of the guest {file}"),
        Export::Tag(_) => format!("a tag of the guest {file}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{distinct, file_of_key, source};
    use std::path::Path;

    #[test]
    fn parameters_have_names_of_their_own() {
        let names = ["x", "", "x", "guest:0", "a b"].map(|name| Some(name.to_owned()));
        assert_eq!(distinct(&names), ["x", "*", "x*", "p4", "|a b|"]);
        assert_eq!(distinct(&[None, None]), ["p1", "p2"]);
    }

    #[test]
    fn keys_have_files() {
        assert_eq!(file_of_key("(wasm \"/a b/c.wasm\")"), Some("/a b/c.wasm"));
        assert_eq!(file_of_key("(wasm c)"), None);
    }

    #[test]
    fn modules_are_written_as_libraries() {
        let text = b"(module (memory (export \"a memory\") 1)
            (func (export \"define\") (param $x i32) (param f32)))";
        let written = source(Path::new("/f.wasm"), text.to_vec()).unwrap();
        assert!(
            written.starts_with("(define-library (wasm \"/f.wasm\")\n(export |a memory| define)")
        );
        assert!(
            written.contains("(guest:define (define x p2) (guest:1 x p2))"),
            "{written}"
        );
        let other = b"(module (import \"env\" \"f\" (func)) (import \"env\" \"m\" (memory 1)))";
        let message = source(Path::new("/f.wasm"), other.to_vec()).unwrap_err();
        assert!(
            message.starts_with("the module imports \"env\" \"f\", \"env\" \"m\""),
            "{message}"
        );
    }
}
