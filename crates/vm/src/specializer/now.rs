//! Compiles a procedure at once on the running thread, for tests and for looking at code.
//!
//! It skips statistics and plan: the profile knows only which guards failed before. Installing and
//! publishing are the worker's own functions, so the code is what the worker would install for such
//! a plan.

use canny_spesh::build::{Options, build};
use canny_spesh::graph::EntryPoint;
use canny_spesh::snapshot::{CodeSnapshot, CodeWord, Profile};
use canny_spesh::types::Type;
use canny_tables::opcodes::{Opcode, field_far};
use canny_value::Value;

use super::{CandidateId, Specializer};
use crate::thread::Thread;

/// A profile that knows only where guesses failed.
struct Failures<'s>(&'s Specializer);

impl Profile for Failures<'_> {
    fn result_type(&self, _: CodeWord, _: usize) -> Option<Type> {
        None
    }

    fn callee(&self, _: CodeWord, _: usize) -> Option<CodeWord> {
        None
    }

    fn fails_before_loop(&self, code: CodeWord, pc: usize) -> bool {
        self.0.fails_before_loop(code, pc)
    }

    fn declines(&self, code: CodeWord, pc: usize) -> bool {
        self.0.declines(code, pc)
    }

    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        self.0.failed_operands(code, pc)
    }

    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        self.0.is_unstable(code, pc)
    }
}

/// Rounds of building, each with the snapshots that the one before missed.
const ROUNDS: usize = 8;

impl Thread {
    /// Compiles a procedure for its start, or for its loop of this number in the order of their heads,
    /// and puts the code into use.
    pub fn specialize_now(
        &mut self,
        procedure: Value,
        loop_number: Option<usize>,
    ) -> Result<CandidateId, String> {
        let specializer = self.vm.specializer.clone();
        let code = self
            .snapshot_of(procedure)
            .ok_or_else(|| "not a procedure with bytecode".to_owned())?;
        let entry = match loop_number {
            None => EntryPoint::Start,
            Some(number) => {
                let heads = loop_heads(&code);
                let head = heads.get(number);
                EntryPoint::Loop(*head.ok_or_else(|| format!("there are {} loops", heads.len()))?)
            }
        };
        let view = specializer.view();
        let profile = Failures(&specializer);
        for round in 1.. {
            let graph = build(
                code.clone(),
                entry,
                &[],
                &profile,
                &view,
                &Options::default(),
            )
            .map_err(|error| error.to_string())?;
            if round < ROUNDS && specializer.has_wishes() {
                self.grant_wishes();
                continue;
            }
            return specializer
                .install(&graph, &[], &view)
                .map_err(|error| error.to_string());
        }
        unreachable!("the last round returns")
    }

    /// The first candidate that calls of a procedure enter.
    pub fn specialization(&self, procedure: Value) -> Option<CandidateId> {
        let code = crate::code::CodeRef::of_closure(procedure)?;
        self.vm.specializer.entered(CodeWord(code.word()))
    }
}

/// Where `loop` instructions lead, in ascending order.
fn loop_heads(code: &CodeSnapshot) -> Vec<usize> {
    let mut heads = Vec::new();
    let mut at = 0;
    while let Some(word) = code.instructions.get(at) {
        let Some(opcode) = Opcode::from_byte(*word as u8) else {
            break;
        };
        if opcode == Opcode::Loop {
            heads.push((at as i64 + 1 + i64::from(field_far(*word))) as usize);
        }
        at += opcode.words();
    }
    heads.sort_unstable();
    heads.dedup();
    heads
}
