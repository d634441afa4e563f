//! `canny expand` and `canny disasm`.

use std::path::Path;

use canny_lib::evaluation::Evaluation;
use canny_syntax::core::Unit;

use crate::exit_code;
use crate::options::Options;
use crate::report;

/// Expands a program and hands it on; the exit code when that fails.
fn expanded(options: &Options, file: &Path) -> Result<(Unit, Evaluation), u8> {
    let bytes = std::fs::read(file).map_err(|error| {
        report::unreadable(&format!("cannot read {}: {error}", file.display()));
        exit_code::NO_INPUT
    })?;
    let config = crate::project::configuration(options, file).map_err(|message| {
        eprintln!("canny: {message}");
        exit_code::DATA
    })?;
    let evaluation = Evaluation::new(&config);
    match evaluation.expand_program_text(&file.display().to_string(), &bytes) {
        Ok(unit) => Ok((unit, evaluation)),
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, evaluation.sources());
            Err(exit_code::DATA)
        }
    }
}

/// Prints a program fully expanded.
pub fn expand(options: &Options, file: &Path) -> u8 {
    match expanded(options, file) {
        Ok((unit, _)) => {
            crate::print_all(&canny_syntax::unexpand::unexpand(&unit));
            0
        }
        Err(code) => code,
    }
}

/// Prints a program's bytecode.
pub fn disassemble(options: &Options, file: &Path) -> u8 {
    let (unit, evaluation) = match expanded(options, file) {
        Ok(expanded) => expanded,
        Err(code) => return code,
    };
    match evaluation.compile_program(unit) {
        Ok(unit) => {
            crate::print_all(&canny_compiler::disassemble::disassemble_unit(&unit));
            0
        }
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, evaluation.sources());
            exit_code::DATA
        }
    }
}
