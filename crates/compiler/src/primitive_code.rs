//! The code of primitives as procedures, such as `car` in `(map car lists)`.
//!
//! It is what the procedure `(lambda (x) (car x))` has: the specializer compiles and inlines it like
//! other code. A primitive that takes several numbers of arguments has a clause for the usual ones.
//! Other numbers go to [`Opcode::PrimitiveStub`] behind the clauses.

use canny_syntax::core::VarId;
use canny_syntax::name::Name;
use canny_syntax::span::{SourceId, Span};
use canny_tables::layout::code::VARIADIC;
use canny_tables::opcodes::{Opcode, encode_abc};
use canny_tables::primitives::{Flags, PrimitiveId};

use crate::codegen::{UnitBuilder, generate_procedure, has_opcodes_of_its_name};
use crate::ir::{Clause, Kind, Node, Procedure, ProcedureId, Program};
use crate::unit::CodeBlock;

/// Clauses for numbers of arguments at most.
const CLAUSES_MAX: usize = 3;
/// Arguments of a clause at most.
const ARGUMENTS_MAX: usize = 4;

/// Returns the code of a primitive as a procedure; none if only the machine's stub can do it.
pub fn primitive_code(id: PrimitiveId) -> Option<CodeBlock> {
    let row = id.row();
    let is_special = row.flags.has(Flags::FRAME) || row.flags.has(Flags::NEVER_RETURNS);
    let is_fixed = row.arity_max == Some(row.arity_min);
    let counts = argument_counts(id);
    if is_special || counts.len() < 2 && !is_fixed {
        return None;
    }
    if !has_opcodes_of_its_name(id) {
        return Some(plain_code(id, &counts, is_fixed));
    }
    let program = program(id, &counts);
    let mut unit = UnitBuilder::new(&program, None);
    let mut code = generate_procedure(&mut unit, &program, ProcedureId(0)).ok()?;
    if !code.pool.is_empty() || !unit.constants.is_empty() {
        return None;
    }
    if !is_fixed {
        let arity_error = code.instructions.pop();
        debug_assert_eq!(arity_error, Some(encode_abc(Opcode::ArityError, 0, 0, 0)));
        code.instructions.extend(stub(id));
    }
    Some(code)
}

/// The code of a primitive without an opcode. Most primitives have none, and many are values of
/// libraries: this takes a small part of the time that the code generator needs.
fn plain_code(id: PrimitiveId, counts: &[usize], is_fixed: bool) -> CodeBlock {
    /// Words of a clause behind its `case-entry`.
    const CLAUSE_WORDS: u32 = 4;
    let mut instructions = Vec::new();
    for count in counts {
        let count = *count as u8;
        if !is_fixed {
            instructions.extend([encode_abc(Opcode::CaseEntry, count, 0, 0), CLAUSE_WORDS]);
            instructions.push(encode_abc(Opcode::Entry, count, 0, 0));
        }
        instructions.push(match count {
            1 => encode_abc(Opcode::CallPrimitive1, 0, 0, 0),
            2 => encode_abc(Opcode::CallPrimitive2, 0, 0, 1),
            _ => encode_abc(Opcode::CallPrimitive, 0, count, 0),
        });
        instructions.push(u32::from(id.0));
        instructions.push(encode_abc(Opcode::Return, 0, 0, 0));
    }
    let arity = if is_fixed { counts[0] as u32 } else { VARIADIC };
    if !is_fixed {
        instructions.extend(stub(id));
    }
    let registers = counts.iter().copied().max().unwrap_or(0).max(1);
    machine_block(&instructions, arity, registers as u32)
}

/// Code of instructions that no source text has.
pub fn machine_block(instructions: &[u32], arity: u32, frame_words: u32) -> CodeBlock {
    CodeBlock {
        name: None,
        arity,
        clauses: Vec::new(),
        frame_words,
        captured: 0,
        captured_boxes: Default::default(),
        pool: Vec::new(),
        instructions: instructions.to_vec(),
        wide_maps: Vec::new(),
        positions: Default::default(),
        expanded: Vec::new(),
        span: None,
        enclosing: None,
        variables: Vec::new(),
    }
}

/// The machine's own code for a primitive, which takes any number of arguments.
pub fn stub(id: PrimitiveId) -> [u32; 2] {
    [encode_abc(Opcode::PrimitiveStub, 0, 0, 0), u32::from(id.0)]
}

/// The numbers of arguments that get a clause, the most usual one first.
fn argument_counts(id: PrimitiveId) -> Vec<usize> {
    let row = id.row();
    let min = row.arity_min as usize;
    if row.arity_max == Some(row.arity_min) {
        return vec![min];
    }
    let mut counts: Vec<usize> = (min.max(1)..=ARGUMENTS_MAX)
        .filter(|count| row.accepts(*count))
        .take(CLAUSES_MAX)
        .collect();
    if row.arity_max.is_none() {
        // Sums and the like have two operands more often than one.
        counts.sort_by_key(|count| *count != 2);
    }
    counts
}

/// A program with one procedure, which applies the primitive to its parameters.
fn program(id: PrimitiveId, counts: &[usize]) -> Program {
    let mut variables = 0;
    let clauses = counts
        .iter()
        .map(|count| {
            let first = variables;
            variables += *count as u32;
            clause(id, (first..variables).map(VarId).collect())
        })
        .collect();
    let count = variables as usize;
    Program {
        procedures: vec![Procedure {
            name: None,
            span: Span::NONE,
            enclosing: None,
            clauses,
            free: Vec::new(),
            self_variable: None,
            self_global: None,
        }],
        entry: ProcedureId(0),
        boxed: vec![false; count],
        assigned: vec![false; count],
        known: vec![None; count],
        names: vec![Name::new("x"); count],
        bound: vec![Span::NONE; count],
        imported: vec![false; count],
    }
}

fn clause(id: PrimitiveId, required: Vec<VarId>) -> Clause {
    // Messages find at the position which call an instruction was made of. There is no text.
    let call = Span::new(SourceId(0), 0, 0);
    let operands = required
        .iter()
        .map(|variable| Node::new(Span::NONE, Kind::Local(*variable)))
        .collect();
    Clause {
        required,
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        body: Node::new(call, Kind::Primitive { id, operands }),
    }
}

#[cfg(test)]
mod tests {
    use canny_syntax::core::UnitKind;
    use canny_syntax::library_name::LibraryKey;
    use canny_tables::primitives;

    use super::*;
    use crate::instruction::instructions;
    use crate::unit::{CompiledUnit, Parameters, SourceFile};
    use crate::verifier::verify_code;

    fn unit_of(code: CodeBlock) -> CompiledUnit {
        CompiledUnit {
            name: LibraryKey::new("test"),
            kind: UnitKind::Program,
            requires: Vec::new(),
            globals: Vec::new(),
            constants: Vec::new(),
            codes: vec![code],
            entry: 0,
            sources: vec![SourceFile {
                name: String::new(),
                line_starts: Vec::new(),
                continuations: Vec::new(),
                id: SourceId(0),
                expansion: None,
            }],
            inlinings: Vec::new(),
            inlinable: Vec::new(),
        }
    }

    /// The verifier takes no code of the machine's own, so the stub is replaced as it was made.
    fn without_stub(mut code: CodeBlock, id: PrimitiveId) -> CodeBlock {
        if code.instructions.ends_with(&stub(id)) {
            code.instructions.truncate(code.instructions.len() - 2);
            code.instructions
                .push(encode_abc(Opcode::ArityError, 0, 0, 0));
        }
        code
    }

    fn parameters(count: usize) -> Parameters {
        Parameters {
            required: vec![Name::new("x"); count],
            optional: Vec::new(),
            keywords: Vec::new(),
            rest: None,
            allow_other_keys: false,
        }
    }

    #[test]
    fn the_code_of_each_primitive_is_sound() {
        let mut codes = 0;
        for (index, row) in primitives::all().iter().enumerate() {
            let id = PrimitiveId(index as u16);
            let Some(code) = primitive_code(id) else {
                continue;
            };
            codes += 1;
            let is_fixed = row.arity_max == Some(row.arity_min);
            assert_eq!(code.arity == VARIADIC, !is_fixed, "{}", row.name);
            let mut code = without_stub(code, id);
            // Parameters without names are left out; their number is looked up in the row.
            let counts = argument_counts(id);
            code.clauses = counts.into_iter().map(parameters).collect();
            let unit = unit_of(code);
            assert_eq!(verify_code(&unit, 0), Ok(()), "{}", row.name);
        }
        assert!(codes > 500, "{codes}");
    }

    #[test]
    fn sums_have_clauses_for_two_operands_first() {
        let id = primitives::lookup("+").unwrap();
        let code = primitive_code(id).unwrap();
        let opcodes: Vec<Opcode> = instructions(&code.instructions)
            .map(|instruction| instruction.unwrap().opcode)
            .collect();
        use Opcode::*;
        assert_eq!(opcodes[..4], [CaseEntry, Entry, Add, Return]);
        assert_eq!(*opcodes.last().unwrap(), PrimitiveStub);
    }
}
