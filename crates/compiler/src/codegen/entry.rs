//! Generates the code of a procedure: entry instructions of its clauses, defaults, boxes, then the
//! body.
//!
//! Parameters are in the first registers, in the order of the call; scratch registers lie above all
//! of them. Defaults are evaluated in order and see only the parameters before theirs.

use std::collections::HashMap;

use canny_syntax::core::VarId;
use canny_syntax::name::Name;
use canny_tables::layout::{self, code::VARIADIC};
use canny_tables::opcodes::Opcode;

use super::{Destination, Generator, JumpTarget, Outcome, UnitBuilder, register};
use crate::assembler::{Assembler, AssemblyError};
use crate::codegen::closures::{Captures, captures};
use crate::ir::{Clause, Node, Procedure, ProcedureId, Program};
use crate::unit::{
    CodeBlock, KeywordParameters, Parameters, PoolEntry, VariablePlace, VariableScope,
};

/// Generates the code of one procedure.
pub(crate) fn generate_procedure(
    unit: &mut UnitBuilder,
    program: &Program,
    id: ProcedureId,
) -> Result<CodeBlock, AssemblyError> {
    let procedure = &program.procedures[id.0 as usize];
    let captures = captures(unit, program, procedure);
    let free = captures.places().collect();
    let mut generator = Generator {
        unit,
        program,
        procedure,
        id,
        assembler: Assembler::default(),
        registers: HashMap::new(),
        free,
        labels: HashMap::new(),
        self_target: None,
        kept: Vec::new(),
        ahead: Vec::new(),
        counted: Default::default(),
    };
    let fixed = match procedure.clauses.as_slice() {
        [clause] if clause.is_fixed() => Some(clause.required.len()),
        _ => None,
    };
    match procedure.clauses.as_slice() {
        [clause] => generator.clause(clause, fixed.is_some())?,
        clauses => generator.case_clauses(clauses)?,
    }
    generator.keep_captured(&captures);
    let span = generator.unit.unit_span(procedure.span);
    let enclosing = known_surroundings(generator.unit, program, procedure).map(|id| id.0);
    let assembled = generator.assembler.finish(fixed.unwrap_or(0))?;
    generator.unit.expanded.push(assembled.expanded);
    Ok(CodeBlock {
        name: procedure.name,
        arity: fixed.map_or(VARIADIC, |count| count as u32),
        clauses: procedure
            .clauses
            .iter()
            .map(|clause| parameters(program, clause))
            .collect(),
        frame_words: assembled.frame_words as u32,
        captured: captures.slots() as u32,
        captured_boxes: captures.boxes,
        pool: assembled.pool,
        instructions: assembled.instructions,
        wide_maps: assembled.wide_maps,
        positions: assembled.positions,
        expanded: Vec::new(),
        span,
        enclosing,
        variables: assembled.variables,
    })
}

/// The nearest procedure around one that an imported procedure brought which came with none.
fn known_surroundings(
    unit: &UnitBuilder,
    program: &Program,
    procedure: &Procedure,
) -> Option<ProcedureId> {
    let mut found = None;
    let mut inner = procedure;
    while unit.is_imported(inner.span) {
        found = inner.enclosing;
        inner = &program.procedures[found?.0 as usize];
    }
    found
}

fn parameters(program: &Program, clause: &Clause) -> Parameters {
    let name = |var: &VarId| program.names[var.0 as usize];
    Parameters {
        required: clause.required.iter().map(name).collect(),
        optional: clause.optional.iter().map(|(var, _)| name(var)).collect(),
        keywords: clause
            .keywords
            .iter()
            .map(|(keyword, _, _)| *keyword)
            .collect(),
        rest: clause.rest.as_ref().map(name),
        allow_other_keys: clause.allow_other_keys,
    }
}

impl Clause {
    /// Whether the clause takes required parameters only.
    fn is_fixed(&self) -> bool {
        self.optional.is_empty() && !self.has_keywords() && self.rest.is_none()
    }

    fn has_keywords(&self) -> bool {
        !self.keywords.is_empty() || self.allow_other_keys
    }
}

impl Generator<'_> {
    fn case_clauses(&mut self, clauses: &[Clause]) -> Outcome {
        for clause in clauses {
            let next = self.assembler.label();
            let (count, rest) = (
                byte(clause.required.len())?,
                u8::from(clause.rest.is_some()),
            );
            self.assembler.branch(Opcode::CaseEntry, count, rest, next);
            self.registers.clear();
            self.clause(clause, false)?;
            self.assembler.bind(next);
        }
        self.position(self.procedure.span);
        self.assembler.abc(Opcode::ArityError, 0, 0, 0);
        Ok(())
    }

    /// Generates a clause from its entry instruction to its last return.
    fn clause(&mut self, clause: &Clause, fixed: bool) -> Outcome {
        self.begin_counted(&clause.body);
        let required = clause.required.len();
        let optional = clause.optional.len();
        let named = clause.keywords.len();
        let count = required + optional + named;
        register(count + usize::from(clause.rest.is_some()))?;
        if !fixed {
            self.entry(clause)?;
        }
        if fixed {
            let label = self.assembler.label();
            self.assembler.bind(label);
            let parameters = (0..required as u8).collect();
            self.self_target = Some(JumpTarget {
                label,
                parameters,
                function: self.function(),
            });
        }
        // Defaults see the parameters before theirs, and scratch must lie above all parameters.
        let top = count + usize::from(clause.rest.is_some());
        let mut next = 0;
        for var in &clause.required {
            self.bind_parameter(*var, &mut next);
        }
        for (var, default) in &clause.optional {
            self.default(next, default, top)?;
            self.bind_parameter(*var, &mut next);
        }
        for (_, var, default) in &clause.keywords {
            self.default(next, default, top)?;
            self.bind_parameter(*var, &mut next);
        }
        if let Some(var) = clause.rest {
            self.bind_parameter(var, &mut next);
        }
        let named = clause.keywords.iter().map(|(_, var, _)| *var);
        let optional = clause.optional.iter().map(|(var, _)| *var);
        let parameters = clause.required.iter().copied().chain(optional).chain(named);
        let variables = parameters.chain(clause.rest).enumerate();
        let variables: Vec<_> = variables.map(|(at, var)| (var, at as u8)).collect();
        let span = self.procedure.span;
        self.scope(&variables, &clause.body, Destination::Return, top, span)
    }

    /// Keeps for people what the closure captured.
    fn keep_captured(&mut self, captures: &Captures) {
        if !self.unit.keeps_variables && !self.unit.names_variables {
            return;
        }
        let inlining = self.unit.copy_number(self.procedure.span);
        for (slot, var) in captures.direct.iter().enumerate() {
            if self.program.imported[var.0 as usize] {
                continue;
            }
            let scope = VariableScope {
                name: self.program.names[var.0 as usize],
                place: VariablePlace::Captured(slot as u16),
                is_boxed: self.program.boxed[var.0 as usize],
                start: 0,
                end: 0,
                inlining,
            };
            self.place_variable(*var, scope);
        }
    }

    fn entry(&mut self, clause: &Clause) -> Outcome {
        let required = byte(clause.required.len())?;
        let rest = u8::from(clause.rest.is_some());
        let named = byte(clause.optional.len() + clause.keywords.len())?;
        self.position(self.procedure.span);
        if clause.has_keywords() {
            let description = KeywordParameters {
                optional_count: clause.optional.len() as u32,
                names: clause
                    .keywords
                    .iter()
                    .map(|(name, _, _)| *name)
                    .collect::<Vec<Name>>(),
                allow_other_keys: clause.allow_other_keys,
            };
            let entry = PoolEntry::Keywords(description);
            self.assembler
                .pool_far(Opcode::KeywordEntry, required, named, rest, entry);
        } else {
            self.assembler.abc(Opcode::Entry, required, named, rest);
        }
        Ok(())
    }

    fn bind_parameter(&mut self, var: VarId, next: &mut usize) {
        let at = *next as u8;
        self.registers.insert(var, at);
        if self.program.boxed[var.0 as usize] {
            self.assembler.abc(Opcode::MakeBox, at, at, 0);
        }
        *next += 1;
    }

    /// Replaces an absent argument by its default.
    fn default(&mut self, at: usize, default: &Node, top: usize) -> Outcome {
        let at = register(at)?;
        let given = self.assembler.label();
        self.assembler
            .branch_wide(Opcode::JumpNotEqImmediate, at, layout::ABSENT as i16, given);
        self.node(default, Destination::Register(at), top)?;
        self.assembler.bind(given);
        Ok(())
    }
}

pub(super) fn byte(count: usize) -> Result<u8, AssemblyError> {
    u8::try_from(count).map_err(|_| AssemblyError::TooManyRegisters)
}
