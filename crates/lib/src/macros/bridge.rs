//! The expander's side of macros that are procedures: compiling their code, sending it to the machine, and
//! applying transformers.

use std::collections::HashSet;
use std::sync::Arc;

use canny_compiler::compile::compile_unit;
use canny_compiler::counting::Counting;
use canny_compiler::image;
use canny_compiler::unit::{CompiledUnit, PoolEntry};
use canny_locks::Mutex;
use canny_syntax::core::{LibraryKey, Unit};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::{Libraries, MacroHost};
use canny_syntax::procedural::{Hygiene, MacroFailure, MadeTransformer, ProcedureTransformer};
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::{AliasId, Syntax};
use canny_vm::InterruptState;

use super::machine::{IdentifierEquality, MacroMachine, Registered, Reply, Request};
use crate::evaluation::{EvaluationConfig, compiler_options};
use crate::library_units::LibraryUnits;

/// The machine, once a macro needed it.
type SharedMachine = Arc<Mutex<MacroMachine>>;

/// Runs transformers for an evaluation.
pub(crate) struct MacroBridge {
    config: EvaluationConfig,
    sources: Arc<SourceMap>,
    units: Arc<LibraryUnits>,
    machine: Option<SharedMachine>,
    /// Where an interrupt finds the machine.
    interrupts: Arc<Mutex<Option<Arc<InterruptState>>>>,
    /// Libraries whose definitions for transformers have run.
    defined: HashSet<LibraryKey>,
}

impl MacroBridge {
    pub(crate) fn new(
        config: EvaluationConfig,
        sources: Arc<SourceMap>,
        units: Arc<LibraryUnits>,
        interrupts: Arc<Mutex<Option<Arc<InterruptState>>>>,
    ) -> MacroBridge {
        MacroBridge {
            config,
            sources,
            units,
            machine: None,
            interrupts,
            defined: HashSet::new(),
        }
    }

    fn machine(&mut self) -> Result<SharedMachine, MacroFailure> {
        if let Some(machine) = &self.machine {
            return Ok(machine.clone());
        }
        let machine = MacroMachine::start(self.config.clone()).map_err(|message| MacroFailure {
            message,
            ..MacroFailure::default()
        })?;
        let mut place = self.interrupts.lock();
        *place = Some(machine.interrupts.clone());
        drop(place);
        let machine = Arc::new(Mutex::new(machine));
        self.machine = Some(machine.clone());
        Ok(machine)
    }

    /// Compiles a unit; the libraries whose globals it mentions become its requirements.
    fn compile(&self, libraries: &mut Libraries, unit: Unit) -> Result<CompiledUnit, MacroFailure> {
        let mut diagnostics = Vec::new();
        self.units
            .compile_expanded(libraries, &self.sources, &mut diagnostics);
        if let Some(failure) = failed(&diagnostics, &self.sources) {
            return Err(failure);
        }
        let mut options = compiler_options(
            &self.sources,
            false,
            &self.config.optimizer,
            // Only what the program itself does is counted.
            Counting::default(),
        );
        options.optimize.imports = Some(libraries);
        let mut compiled = match compile_unit(unit, &options) {
            Ok(compilation) => compilation.unit,
            Err(errors) => {
                let failure = failed(&errors, &self.sources);
                return Err(failure.unwrap_or_default());
            }
        };
        let mut requires = Vec::new();
        for entry in compiled.codes.iter().flat_map(|code| &code.pool) {
            let PoolEntry::Global(name) = entry else {
                continue;
            };
            if let Some(interface) = libraries.interface_by_key(&name.library)
                && !requires.contains(&interface.name)
            {
                requires.push(interface.name.clone());
            }
        }
        compiled.requires = requires;
        Ok(compiled)
    }

    fn load_unit(
        &mut self,
        unit: CompiledUnit,
        registers: bool,
    ) -> Result<Option<Arc<dyn ProcedureTransformer>>, MacroFailure> {
        let shared = self.machine()?;
        let request = Request::Load {
            libraries: self.units.needed_by(&unit),
            unit: Arc::new(unit),
            registers,
        };
        let machine = shared.lock();
        match machine.ask(request) {
            Some(Reply::Loaded(Ok(registered))) => {
                drop(machine);
                Ok(registered.map(|transformer| {
                    let machine = shared;
                    Arc::new(RemoteTransformer {
                        machine,
                        transformer,
                    }) as Arc<dyn ProcedureTransformer>
                }))
            }
            Some(Reply::Loaded(Err(failure))) => Err(failure),
            _ => Err(machine_is_gone()),
        }
    }

    fn load_code(
        &mut self,
        code: &[u8],
        registers: bool,
    ) -> Result<Option<Arc<dyn ProcedureTransformer>>, MacroFailure> {
        let unit = image::decode_unit(code).map_err(|error| MacroFailure {
            message: error.to_string(),
            ..MacroFailure::default()
        })?;
        self.load_unit(unit, registers)
    }
}

fn machine_is_gone() -> MacroFailure {
    MacroFailure {
        message: "the machine for macros has ended".to_owned(),
        ..MacroFailure::default()
    }
}

fn no_transformer() -> MacroFailure {
    MacroFailure {
        message: "it is no transformer".to_owned(),
        ..MacroFailure::default()
    }
}

/// The first error as a failure.
fn failed(diagnostics: &[Diagnostic], sources: &SourceMap) -> Option<MacroFailure> {
    let error = diagnostics.iter().find(|one| one.is_error())?;
    let message = match sources.describe(error.span) {
        Some(place) => format!("{place}: {}", error.message),
        None => error.message.clone(),
    };
    Some(MacroFailure {
        message,
        ..MacroFailure::default()
    })
}

fn encode(unit: &CompiledUnit) -> Result<Arc<[u8]>, MacroFailure> {
    let bytes = image::encode_unit(unit).map_err(|error| MacroFailure {
        message: error.to_string(),
        ..MacroFailure::default()
    })?;
    Ok(bytes.into())
}

impl MacroHost for MacroBridge {
    fn make(
        &mut self,
        libraries: &mut Libraries,
        unit: Unit,
    ) -> Result<MadeTransformer, MacroFailure> {
        let unit = self.compile(libraries, unit)?;
        let code = encode(&unit)?;
        let transformer = self.load_unit(unit, true)?.ok_or_else(no_transformer)?;
        Ok(MadeTransformer { transformer, code })
    }

    fn load(
        &mut self,
        _libraries: &mut Libraries,
        code: &[u8],
    ) -> Result<Arc<dyn ProcedureTransformer>, MacroFailure> {
        self.load_code(code, true)?.ok_or_else(no_transformer)
    }

    fn define(&mut self, libraries: &mut Libraries, unit: Unit) -> Result<Arc<[u8]>, MacroFailure> {
        // A user who defines something here has its earlier definitions already.
        self.defined.insert(unit.name.clone());
        let unit = self.compile(libraries, unit)?;
        let code = encode(&unit)?;
        self.load_unit(unit, false)?;
        Ok(code)
    }

    fn define_again(
        &mut self,
        _libraries: &mut Libraries,
        code: &[Vec<u8>],
        library: &LibraryKey,
    ) -> Result<(), MacroFailure> {
        let key = LibraryKey::new(&format!("{library} for syntax"));
        if code.is_empty() || !self.defined.insert(key) {
            return Ok(());
        }
        for unit in code {
            self.load_code(unit, false)?;
        }
        Ok(())
    }
}

/// A transformer in the machine for macros.
struct RemoteTransformer {
    machine: SharedMachine,
    transformer: Registered,
}

impl ProcedureTransformer for RemoteTransformer {
    fn transform(&self, form: &Syntax, hygiene: &mut dyn Hygiene) -> Result<Syntax, MacroFailure> {
        let machine = self.machine.lock();
        let mut reply = machine.ask(Request::Step {
            transformer: self.transformer,
            form: form.clone(),
            epoch: hygiene.epoch(),
        });
        loop {
            match reply {
                Some(Reply::Compare(equality, left, right)) => {
                    let answer = match equality {
                        IdentifierEquality::Bound => {
                            hygiene.identifier(&left) == hygiene.identifier(&right)
                        }
                        IdentifierEquality::Free => hygiene.compare(&left, &right),
                    };
                    reply = machine.ask(Request::Answer(answer));
                }
                Some(Reply::Stepped(Ok(raw))) => {
                    let identifiers = &raw.identifiers;
                    return Ok(raw.syntax.map_identifiers(&mut |identifier| {
                        if identifier.alias == AliasId::NONE {
                            return identifier;
                        }
                        match identifiers.get(identifier.alias.0 as usize - 1) {
                            Some(described) => hygiene.identifier(described),
                            None => identifier,
                        }
                    }));
                }
                Some(Reply::Stepped(Err(failure))) => return Err(failure),
                Some(Reply::Loaded(_)) | None => return Err(machine_is_gone()),
            }
        }
    }

    fn takes_identifier(&self) -> bool {
        self.transformer.takes_identifier
    }

    fn takes_assignment(&self) -> bool {
        self.transformer.takes_assignment
    }
}
