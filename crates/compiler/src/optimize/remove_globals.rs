//! Removes definitions that nobody mentions.
//!
//! Holds on exit: every definition that was removed is a procedure or literal, not exported, and
//! not reachable from a form that does something.

use std::collections::{HashMap, HashSet};

use canny_syntax::core::{ExprKind, TopForm, Unit, UnitKind};
use canny_syntax::name::Name;

use super::globals::mentions;
use super::limits::Budget;

/// Removes unused definitions of a library or program. Other units will mention `kept`.
pub fn run(unit: &mut Unit, kept: &HashSet<Name>, budget: &mut Budget) {
    if unit.kind == UnitKind::Toplevel {
        return;
    }
    let exported: HashSet<Name> = unit
        .globals
        .iter()
        .filter(|global| global.exported)
        .map(|global| global.name)
        .chain(kept.iter().copied())
        .collect();
    let mut pending: Vec<usize> = Vec::new();
    let mut definitions: HashMap<Name, Vec<usize>> = HashMap::new();
    for (index, form) in unit.body.iter().enumerate() {
        match form {
            TopForm::Define(global, _) if !exported.contains(&global.name) && is_idle(form) => {
                definitions.entry(global.name).or_default().push(index);
            }
            _ => pending.push(index),
        }
    }
    let mut needed = vec![false; unit.body.len()];
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut needed[index], true) {
            continue;
        }
        let (TopForm::Define(_, expr) | TopForm::Expression(expr)) = &unit.body[index];
        let mut found = Vec::new();
        mentions(expr, &mut found);
        for global in found.iter().filter(|global| global.library == unit.name) {
            pending.extend(definitions.get(&global.name).into_iter().flatten());
        }
    }
    let mut index = 0;
    let mut removed = HashSet::new();
    unit.body.retain(|form| {
        let keep = needed[index] || !budget.spend();
        index += 1;
        if let (false, TopForm::Define(global, _)) = (keep, form) {
            removed.insert(global.name);
        }
        keep
    });
    unit.globals
        .retain(|global| !removed.contains(&global.name));
}

/// Whether executing the form does nothing but define.
fn is_idle(form: &TopForm) -> bool {
    match form {
        TopForm::Define(_, expr) => matches!(
            expr.kind,
            ExprKind::Lambda(_)
                | ExprKind::CaseLambda(_)
                | ExprKind::Constant(_)
                | ExprKind::PrimitiveRef(_)
        ),
        TopForm::Expression(_) => false,
    }
}
