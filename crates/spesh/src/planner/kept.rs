//! Plans as they are kept for the next start of a program, and their return.

use canny_compiler::instruction::Instruction;
use canny_tables::layout::code::VARIADIC;

use super::{Plan, Reason, loop_head};
use crate::graph::EntryPoint;
use crate::kept::{Classes, KeptPlan, Resolved, entry_of, kept_head};
use crate::snapshot::{CodeSnapshot, CodeWord};
use crate::types::Type;

impl KeptPlan {
    /// The plan as it is kept, for the code of a row.
    pub fn of(plan: &Plan, code: u32, classes: &Classes) -> KeptPlan {
        KeptPlan {
            code,
            head: kept_head(plan.entry),
            types: plan
                .parameter_types
                .iter()
                .map(|ty| classes.bits(*ty))
                .collect(),
            counts: [plan.hits, plan.hits_of_all, plan.depth_max],
            logs: 0,
            microseconds: 0,
        }
    }

    /// The plan for a code of this process.
    pub fn plan(&self, code: CodeWord, rows: &Resolved) -> Plan {
        let parameter_types: Vec<Type> = self
            .types
            .iter()
            .map(|bits| rows.ty(*bits))
            .map(|ty| if ty.is_single() { ty } else { Type::ANY })
            .collect();
        let [hits, hits_of_all, depth_max] = self.counts;
        let is_open = parameter_types.iter().all(|ty| *ty == Type::ANY);
        Plan {
            code,
            entry: entry_of(self.head),
            reason: match self.head {
                Some(_) => Reason::Loop,
                None if is_open => Reason::Certain,
                None => Reason::Derived,
            },
            parameter_types,
            hits,
            hits_of_all,
            depth_max,
        }
    }
}

/// Whether a plan fits the code that it is for.
pub fn fits(plan: &Plan, snapshot: &CodeSnapshot) -> bool {
    let count = plan.parameter_types.len();
    match plan.entry {
        EntryPoint::Start => {
            count == 0 || snapshot.arity == VARIADIC || count == snapshot.arity as usize
        }
        EntryPoint::Loop(head) => {
            count == snapshot.frame_words as usize && is_loop_head(snapshot, head)
        }
    }
}

/// Whether some loop instruction goes back to the instruction at `head`.
fn is_loop_head(snapshot: &CodeSnapshot, head: usize) -> bool {
    let mut pc = 0;
    while let Ok(instruction) = Instruction::decode(&snapshot.instructions, pc) {
        if loop_head(snapshot, pc) == Some(head) {
            return true;
        }
        pc += instruction.opcode.words();
    }
    false
}
