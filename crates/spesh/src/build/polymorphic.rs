//! Calls that enter a few different procedures: the small ones are copied, each behind a question for
//! the closure's code.
//!
//! ```text
//! is it a closure over A? ── yes ── body of A ──┐
//!     │ no                                      │
//! is it a closure over B? ── yes ── body of B ──┤
//!     │ no                                      │
//! the call (or an exit, if nothing else was ever seen) ── next instruction
//! ```
//!
//! A procedure that is too large to be copied gets no question of its own: to call it directly saves
//! less than what another segment costs, and all that are not copied share the call. Neither does one
//! that makes calls itself: copies of such save one call of two, and where they ask in their turn code
//! grows by powers of their number.

use std::sync::Arc;

use canny_compiler::instruction::{Instruction, instructions};
use canny_tables::opcodes::OpcodeFlags;

use super::calls::Site;
use super::{Activation, BuildError, Builder};
use crate::graph::{Condition, Op, Test};
use crate::snapshot::CodeSnapshot;
use crate::types::Type;

/// Procedures that are distinguished at a call.
const CALLEES_MAX: usize = 4;
/// Share of the calls that a procedure needs for a question of its own.
const SHARE_MIN: f64 = 0.15;
/// Share of the calls that have to enter copied procedures.
const SHARE_OF_ALL_MIN: f64 = 0.9;
/// Times that the call has to be made for each run of the outermost procedure.
const FREQUENCY_MIN: f64 = 0.3;
/// Calls after which a procedure that was not seen is taken for one that does not come.
const CALLS_ENOUGH: u32 = 100;

/// Procedures that are copied to a call.
pub(super) struct LikelyCallees {
    /// The procedures and their shares of the calls, the most frequent first.
    copied: Vec<(Arc<CodeSnapshot>, f64)>,
    /// Nobody else was ever called.
    are_all: bool,
}

impl LikelyCallees {
    pub(super) fn is_empty(&self) -> bool {
        self.copied.is_empty()
    }
}

impl Builder<'_> {
    /// The procedures that are worth a question at the call at hand, and small enough to be copied.
    pub(super) fn likely_callees(&self, activation: &Activation, site: &Site) -> LikelyCallees {
        let mut likely = LikelyCallees {
            copied: Vec::new(),
            are_all: false,
        };
        let is_worth_asking = site.frequency >= FREQUENCY_MIN;
        if !self.options.inline_several
            || !is_worth_asking
            || !self.ty(site.closure).may_be(Type::CLOSURE)
        {
            return likely;
        }
        let (code, pc) = (activation.code.word, activation.pc);
        let callees = self.profile.callees(code, pc);
        let mut calls = 0;
        for (callee, count) in callees.seen.iter().take(CALLEES_MAX) {
            let share = f64::from(*count) / f64::from(callees.calls.max(1));
            if share < SHARE_MIN {
                break;
            }
            let Some(snapshot) = self.source.snapshot(*callee) else {
                continue;
            };
            let frequency = site.frequency * share;
            if calls_nobody(&snapshot)
                && self.is_worth_inlining(activation, &snapshot, &site.arguments, frequency)
            {
                calls += count;
                likely.copied.push((snapshot, share));
            }
        }
        if f64::from(calls) < SHARE_OF_ALL_MIN * f64::from(callees.calls) {
            likely.copied.clear();
        }
        likely.are_all = self.options.leaves_cold_code
            && calls == callees.calls
            && calls >= CALLS_ENOUGH
            && !self.profile.is_unstable(code, pc);
        likely
    }

    /// Calls one of several procedures.
    pub(super) fn call_one_of(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        mut site: Site,
        likely: LikelyCallees,
    ) -> Result<(), BuildError> {
        if !self
            .profile
            .is_unstable(activation.code.word, activation.pc)
        {
            let is_closure = Test::Kind(canny_tables::kinds::Kind::Closure);
            site.closure = self.guard(activation, is_closure, site.closure);
        }
        for (callee, share) in likely.copied {
            let condition = Condition::Test(Test::ClosureOf(callee.word.0), site.closure);
            let [is_callee, other] = self.fork(condition);
            let mut result = Ok(());
            self.follow_aside(activation, is_callee, |builder, activation| {
                let closure = builder.push(Op::Refine(site.closure), Type::CLOSURE);
                builder.known_code.insert(closure, callee.word);
                let site = Site {
                    closure,
                    frequency: site.frequency * share,
                    ..site.clone()
                };
                result = builder.inline(activation, instruction, site, callee);
            });
            result?;
            self.block = Some(other);
        }
        if likely.are_all {
            self.exit(activation);
        } else {
            self.call_out_of_line(activation, instruction, &site, None);
        }
        Ok(())
    }
}

fn calls_nobody(code: &CodeSnapshot) -> bool {
    instructions(&code.instructions)
        .all(|instruction| instruction.is_ok_and(|it| !it.opcode.has(OpcodeFlags::CALLS)))
}
