//! From a core unit to a compiled unit: the order of the passes.
//!
//! Optimizer passes run from core to core, then lowering makes closures and boxes explicit, then
//! the code generator emits bytecode. Compiling is deterministic: it depends on the unit and
//! `Options` only, so that results can be cached. Warnings come from the unoptimized unit, in the
//! order of the source.

use std::sync::Arc;

use canny_syntax::core::{GlobalName, Unit};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::interface::Interface;
use canny_syntax::library::{ExpandedLibrary, Libraries};
use canny_syntax::span::SourceMap;

use crate::assembler::AssemblyError;
use crate::codegen::{UnitBuilder, generate_procedure};
use crate::counting::{Counting, FunctionId, Ledger, function_at, instrument};
use crate::doubts;
use crate::ir::{ProcedureId, Program};
use crate::lower::lower;
use crate::optimize;
use crate::optimize::globals::Imports;
use crate::shadowing::Shadowing;
use crate::unit::CompiledUnit;

/// The options of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// Names and line starts for the unit's positions.
    pub sources: Option<&'a SourceMap>,
    /// The value of a toplevel unit's last form goes to the host: its calls need not be tail calls, so that
    /// backtraces show where they are. For `eval` they must be.
    pub keeps_last_frame: bool,
    /// Keep where variables are, and keep them live while they are in scope, for people who look into frames.
    pub keeps_variables: bool,
    /// Keep where variables are, as long as they are live anyway, for backtraces.
    pub names_variables: bool,
    /// The counters that the code gets. Such code belongs to this process and cannot be stored.
    pub counting: Counting,
    /// The options of the optimizer.
    pub optimize: optimize::Options<'a>,
}

/// A compiled unit, and the warnings about its source.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The unit.
    pub unit: CompiledUnit,
    /// Warnings, in source order.
    pub warnings: Vec<Diagnostic>,
}

/// The warnings about a unit, in source order, without compiling it: for editors. The limits of the
/// bytecode are not checked.
pub fn warnings(unit: &Unit, options: &Options) -> Vec<Diagnostic> {
    let mut warnings = match options.sources {
        Some(sources) => doubts::warnings(unit, sources),
        None => Vec::new(),
    };
    warnings.extend(optimize::warnings(unit, &options.optimize));
    warnings.sort_by_key(|one| (one.span.source.0, one.span.start));
    warnings
}

/// Compiles a unit. The errors are those of programs that exceed the limits of the bytecode.
pub fn compile_unit(mut unit: Unit, options: &Options) -> Result<Compilation, Vec<Diagnostic>> {
    let mut warnings = match options.sources {
        Some(sources) => doubts::warnings(&unit, sources),
        None => Vec::new(),
    };
    let is_standard = options.optimize.is_standard;
    if options.counting.is_on()
        && let Some(sources) = options.sources
    {
        instrument::run(&mut unit, options.counting, sources, is_standard);
    }
    let shadowing = if options.names_variables && !is_standard {
        // Without optimization no variable is removed.
        Shadowing::of(&unit, options.optimize.limit != Some(0))
    } else {
        Shadowing::default()
    };
    let report = optimize::optimize_unit(&mut unit, &options.optimize);
    warnings.extend(report.warnings);
    warnings.sort_by_key(|one| (one.span.source.0, one.span.start));
    let program = lower(&mut unit, &report.inlinings, options.keeps_last_frame);
    // No backtrace shows frames of the standard library.
    let inlinings = (!options.optimize.is_standard).then_some(report.inlinings);
    let mut builder = UnitBuilder::new(&program, inlinings);
    builder.shadowing = shadowing;
    builder.keeps_variables = options.keeps_variables;
    builder.names_variables = options.names_variables;
    let mut codes = Vec::with_capacity(program.procedures.len());
    let mut errors = Vec::new();
    builder.is_counting = options.counting.is_on();
    builder.counted_functions = options
        .counting
        .calls
        .then(|| counted_functions(&program, options));
    for (index, procedure) in program.procedures.iter().enumerate() {
        match generate_procedure(&mut builder, &program, ProcedureId(index as u32)) {
            Ok(code) => codes.push(code),
            Err(error) => {
                errors.push(Diagnostic::error(
                    "code-limit",
                    procedure.span,
                    describe(error),
                ));
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if let Some(map) = options.sources {
        builder.place_expansions(map, &mut codes);
        builder.name_sources(map);
    }
    let unit = CompiledUnit {
        name: unit.name,
        kind: unit.kind,
        requires: unit.requires,
        globals: unit.globals,
        constants: builder.constants,
        codes,
        entry: program.entry.0,
        sources: builder.sources,
        inlinings: builder.inlined,
        inlinable: report.exports,
    };
    Ok(Compilation { unit, warnings })
}

/// Compiles a library that was just expanded, telling the compilation what other libraries' exports
/// are and keeping for later ones what this one's are. Gives the interface with that added; it is
/// also the one in `libraries` from then on.
pub fn compile_library(
    libraries: &mut Libraries,
    library: &ExpandedLibrary,
    options: &Options,
) -> Result<(Compilation, Arc<Interface>), Vec<Diagnostic>> {
    let unit = library.unit.clone();
    let compilation = {
        let mut options = options.clone();
        options.optimize.imports = Some(&*libraries);
        compile_unit(unit, &options)?
    };
    let key = library.name.key();
    for (name, bytes) in &compilation.unit.inlinable {
        let global = GlobalName {
            library: key.clone(),
            name: *name,
        };
        libraries.set_inline_information(&global, bytes.clone());
    }
    let interface = libraries
        .interface_by_key(&key)
        .unwrap_or(&library.interface)
        .clone();
    Ok((compilation, interface))
}

impl Imports for Libraries {
    fn inline_information(&self, global: &GlobalName) -> Option<Vec<u8>> {
        Libraries::inline_information(self, global).map(<[u8]>::to_vec)
    }
}

/// The functions of all procedures, as counts name them.
fn counted_functions(program: &Program, options: &Options) -> Vec<FunctionId> {
    let is_standard = options.optimize.is_standard;
    let functions = program.procedures.iter().map(|procedure| {
        let (name, span) = (procedure.name, procedure.span);
        let function = function_at(name, span, options.sources, is_standard);
        Ledger::get().function(function)
    });
    functions.collect()
}

fn describe(error: AssemblyError) -> &'static str {
    match error {
        AssemblyError::TooManyRegisters => "procedure needs too many variables at once",
        AssemblyError::TooLong => "procedure is too long",
    }
}
