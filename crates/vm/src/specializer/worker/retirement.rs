//! Retired specializations and the reasons, as text for the specializer's log.
//!
//! The worker learns of retirements when it takes in the next log. A candidate whose code died or was
//! freed meanwhile leaves no reason.

use std::fmt::Write;

use canny_compiler::instruction::Instruction;
use canny_spesh::dump::{code_title, type_text};
use canny_spesh::graph::EntryPoint;
use canny_spesh::planner::Plan;
use canny_spesh::types::Type;

use super::{Machine, Named, Snapshots};
use crate::specializer::{ExitReport, RetiredBy};

/// Exits of a candidate that are shown, the most frequent.
const EXITS_MAX: usize = 10;

/// A specialization that is in use no more.
#[derive(Clone, Debug)]
pub struct Retired {
    /// The plan.
    pub plan: Plan,
    /// Its fate, if that is still known.
    pub report: Option<ExitReport>,
}

/// Describes the fate of a specialization.
pub(super) fn retired_text(retired: &Retired, machine: &dyn Machine) -> String {
    let Retired { plan, report } = retired;
    let mut snapshots = Snapshots::default();
    let exits = report.iter().flat_map(|report| &report.exits);
    for code in exits.map(|(code, ..)| *code).chain([plan.code]) {
        if let Some(snapshot) = machine.snapshot(code) {
            snapshots.0.insert(code, snapshot);
        }
    }
    let source = Named {
        snapshots: &snapshots,
        machine,
    };
    let mut text = format!("Retired: {}", code_title(plan.code, &source));
    // Writing to a string does not fail.
    if let EntryPoint::Loop(pc) = plan.entry {
        let _ = write!(text, ", the loop at {pc}");
        text.push_str(&place(machine.place(plan.code, pc)));
    } else {
        text.push_str(&place(machine.place(plan.code, 0)));
        for (index, ty) in plan.parameter_types.iter().enumerate() {
            if *ty != Type::ANY {
                let _ = write!(text, "\n    Type {index}: {}", type_text(*ty, &source));
            }
        }
    }
    let _ = writeln!(text, "\n    {}", reason(report.as_ref()));
    let mut exits = report.as_ref().map_or(Vec::new(), |it| it.exits.clone());
    exits.sort_by_key(|(code, pc, count)| (std::cmp::Reverse(*count), *code, *pc));
    for (code, pc, count) in exits.into_iter().take(EXITS_MAX) {
        let snapshot = snapshots.0.get(&code);
        let name = snapshot
            .and_then(|it| Instruction::decode(&it.instructions, pc).ok())
            .map_or("?", |instruction| instruction.opcode.row().name);
        let title = code_title(code, &source);
        let place = place(machine.place(code, pc));
        let _ = writeln!(text, "        {count} x at {pc} {name} of {title}{place}");
    }
    text.push_str("\n==========\n\n");
    text
}

fn place(place: Option<String>) -> String {
    place.map_or(String::new(), |place| format!(" in {place}"))
}

fn reason(report: Option<&ExitReport>) -> &'static str {
    match report.and_then(|report| report.retired_by) {
        Some(RetiredBy::Exits) => "Its guesses failed too often:",
        Some(RetiredBy::Variable) => "A global variable that it relied on changed.",
        Some(RetiredBy::Request) => "Somebody asked for it.",
        Some(RetiredBy::Death) => "Nobody has the procedure any more.",
        None => "The reason is not known any more: its code was freed.",
    }
}
