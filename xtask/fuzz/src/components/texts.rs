//! Texts of components that pass a value of a type through or give one.
//!
//! Values come into a module and go out of it in memory or as flat words. A function that has many
//! other parameters gets all of them in memory, where its result then already is.

use canny_component::types::{FLAT_PARAMETERS_MAX, FunctionType, Type};
use canny_wasm::ValueType;

use super::forms::{Definitions, Form};

/// How strings are written.
pub const ENCODINGS: [&str; 3] = ["utf8", "utf16", "latin1+utf16"];

/// Further parameters of a function whose parameters are in memory.
pub const FILLERS: usize = FLAT_PARAMETERS_MAX + 1;

/// The place of results that a module gives.
const PLACE: u32 = 1024;

const ALLOCATOR: &str = r#"(memory (export "memory") 1)
  (global $next (mut i32) (i32.const 1024))
  (func $realloc (export "realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get 2))))
    (global.set $next (i32.add (local.get $at) (local.get 3)))
    (drop (memory.grow (i32.sub
      (i32.add (i32.div_u (global.get $next) (i32.const 65536)) (i32.const 1))
      (memory.size))))
    (local.get $at))"#;

fn words(kinds: &[ValueType]) -> String {
    let names = kinds.iter().map(|kind| match kind {
        ValueType::I64 => " i64",
        ValueType::F32 => " f32",
        ValueType::F64 => " f64",
        _ => " i32",
    });
    names.collect()
}

/// Words of a function that a module exports: its parameters and its result.
fn lifted(kind: &FunctionType) -> (Vec<ValueType>, Vec<ValueType>) {
    let parameters = if kind.has_indirect_parameters() {
        vec![ValueType::I32]
    } else {
        kind.tuple.flat.clone()
    };
    let results = match (&kind.result, kind.has_indirect_result()) {
        (_, true) => vec![ValueType::I32],
        (Some(result), false) => result.flat.clone(),
        (None, false) => Vec::new(),
    };
    (parameters, results)
}

/// Parameters and result of a function that gives what it gets, in texts.
fn signature(name: &str, has_fillers: bool) -> String {
    let fillers = (0..FILLERS).map(|number| format!(" (param \"p{number}\" u8)"));
    let fillers = if has_fillers {
        fillers.collect()
    } else {
        String::new()
    };
    format!("(param \"x\" {name}){fillers} (result {name})")
}

/// A component whose function `echo` gives its first parameter, which is in memory.
pub fn echo(form: &Form, kind: &Type, encoding: &str) -> String {
    let mut types = Definitions::new("export");
    let name = types.used(form);
    let (result, body) = match kind.flat.as_slice() {
        [word] => {
            let load = match (word, kind.size) {
                (ValueType::F32, _) => "f32.load",
                (ValueType::F64, _) => "f64.load",
                (ValueType::I64, _) => "i64.load",
                (_, 1) => "i32.load8_u",
                (_, 2) => "i32.load16_u",
                _ => "i32.load",
            };
            (words(&[*word]), format!("({load} (local.get 0))"))
        }
        _ => (" i32".to_owned(), "(local.get 0)".to_owned()),
    };
    format!(
        "(component {types}
(core module $m {ALLOCATOR}
  (func (export \"run\") (param i32) (result{result}) {body}))
(core instance $i (instantiate $m))
(func (export \"echo\") {signature}
  (canon lift (core func $i \"run\") (memory (core memory $i \"memory\"))
    (realloc (core func $i \"realloc\")) string-encoding={encoding})))",
        types = types.text,
        signature = signature(&name, true),
    )
}

/// A component whose function `pass` calls the imported function `echo`.
pub fn pass(form: &Form, function: &FunctionType, encoding: &str, has_post: bool) -> String {
    let mut types = Definitions::new("import");
    let name = types.used(form);
    let has_fillers = function.parameters.len() > 1;
    let (parameters, results) = lifted(function);
    let lowered = function.lowered();
    let mut arguments: String = (0..parameters.len())
        .map(|number| format!("(local.get {number}) "))
        .collect();
    let (mut before, mut behind) = (String::new(), "");
    if function.has_indirect_result() {
        let size = function.result.as_ref().map_or(0, |kind| kind.size);
        before = format!(
            "(local $r i32) (local.set $r (call $realloc (i32.const 0) (i32.const 0) (i32.const 16) \
             (i32.const {size})))"
        );
        arguments += "(local.get $r)";
        behind = "(local.get $r)";
    }
    let post = if has_post {
        "(post-return (core func $i \"post\"))"
    } else {
        ""
    };
    format!(
        "(component {types}
(import \"echo\" (func $echo {signature}))
(core module $lib {ALLOCATOR})
(core instance $lib (instantiate $lib))
(core func $lowered (canon lower (func $echo) (memory (core memory $lib \"memory\"))
  (realloc (core func $lib \"realloc\")) string-encoding={encoding}))
(core module $m
  (import \"lib\" \"memory\" (memory 1))
  (import \"lib\" \"realloc\" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import \"lib\" \"echo\" (func $echo (param{echo_parameters}) (result{echo_results})))
  (func (export \"run\") (param{parameters}) (result{results}) {before} (call $echo {arguments}) {behind})
  (func (export \"post\") (param{results})))
(core instance $i (instantiate $m (with \"lib\" (instance
  (export \"memory\" (memory $lib \"memory\")) (export \"realloc\" (func $lib \"realloc\"))
  (export \"echo\" (func $lowered))))))
(func (export \"pass\") {signature}
  (canon lift (core func $i \"run\") (memory (core memory $lib \"memory\"))
    (realloc (core func $lib \"realloc\")) string-encoding={encoding} {post})))",
        types = types.text,
        signature = signature(&name, has_fillers),
        echo_parameters = words(&lowered.parameters),
        echo_results = words(&lowered.results),
        parameters = words(&parameters),
        results = words(&results),
    )
}

/// A component whose function `give` gives what some bytes stand for.
pub fn give(form: &Form, kind: &Type, encoding: &str, bytes: &[u8]) -> String {
    let mut types = Definitions::new("export");
    let name = types.used(form);
    let data: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let (result, body) = match kind.flat.as_slice() {
        [word] => {
            let load = match word {
                ValueType::F32 => "f32.load",
                ValueType::F64 => "f64.load",
                ValueType::I64 => "i64.load",
                _ => "i32.load",
            };
            (words(&[*word]), format!("({load} (i32.const {PLACE}))"))
        }
        _ => (" i32".to_owned(), format!("(i32.const {PLACE})")),
    };
    format!(
        "(component {types}
(core module $m (memory (export \"memory\") 1) (data (i32.const {PLACE}) \"{data}\")
  (func (export \"run\") (result{result}) {body}))
(core instance $i (instantiate $m))
(func (export \"give\") (result {name})
  (canon lift (core func $i \"run\") (memory (core memory $i \"memory\")) string-encoding={encoding})))",
        types = types.text,
    )
}
