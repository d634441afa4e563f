//! Shared code of the compiler's integration tests.
#![allow(dead_code)]

pub mod core_text;
pub mod machine;

use canny_compiler::compile::{Compilation, Options, compile_unit};
use canny_compiler::optimize;
use canny_compiler::verifier::verify_unit;
use canny_syntax::core::UnitKind;
use canny_syntax::span::SourceMap;

pub fn compile(text: &str, passes: optimize::Options) -> Compilation {
    compile_kind(text, passes, UnitKind::Program)
}

pub fn compile_kind(text: &str, passes: optimize::Options, kind: UnitKind) -> Compilation {
    let map = SourceMap::new();
    let unit = core_text::unit_from_text(text, kind, &map);
    let options = Options {
        sources: Some(&map),
        optimize: passes,
        ..Options::default()
    };
    let compilation = compile_unit(unit, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    if let Err(error) = verify_unit(&compilation.unit) {
        let listing = canny_compiler::disassemble::disassemble_unit(&compilation.unit);
        panic!("{error}\n{listing}");
    }
    compilation
}
