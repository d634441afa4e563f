//! The facts about the exports of a compiled library, for the compilation of its importers.
//!
//! The bytes are made once, when the library is compiled, travel in its interface, and are read by
//! the compilation of every importer. Bytes that cannot be decoded tell nothing. A procedure is
//! portable when it is small and mentions only parameters, its own variables, globals, primitives
//! and atomic literals: a copy of a literal string or list would not be the same object.

use std::collections::{HashMap, HashSet};

use canny_syntax::core::{Expr, ExprKind, GlobalName, Lambda, TopForm, Unit, UnitKind, VarTable};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::copy::copy_lambda;
use super::globals::{Globals, mentions};
use super::known::{Exported, Known, PortableClause, PortableProcedure, is_closed};
use super::limits::PORTABLE_SIZE_MAX;
use super::size::body_size;
use super::workers::Workers;
use crate::walk::{for_each_child, for_each_lambda_child};

/// The procedures of a unit that can travel, by name.
pub type Portable = HashMap<Name, PortableProcedure>;

/// The exported procedures of a library that can travel, as they are now. This is asked for before
/// inlining: calls of small helpers are worth more to an importer than copies of them.
pub fn collect_portable(unit: &Unit, workers: &Workers, is_standard: bool) -> Portable {
    let mut result = Portable::new();
    if unit.kind != UnitKind::Library {
        return result;
    }
    let exported: HashSet<Name> = unit
        .globals
        .iter()
        .filter(|global| global.exported && !global.assigned)
        .map(|global| global.name)
        .collect();
    for form in &unit.body {
        if let TopForm::Define(global, expr) = form
            && exported.contains(&global.name)
            && let Some(procedure) = portable(global, expr, unit, workers)
        {
            let procedure = PortableProcedure {
                is_standard,
                ..procedure
            };
            result.insert(global.name, procedure);
        }
    }
    result
}

/// The globals that importers will mention when they copy these procedures.
pub fn mentioned_globals(portable: &Portable) -> HashSet<Name> {
    let mut found = Vec::new();
    for clause in portable.values().flat_map(|procedure| &procedure.clauses) {
        if let Some(lambda) = &clause.lambda {
            for_each_lambda_child(lambda, &mut |child| mentions(child, &mut found));
        }
    }
    found.into_iter().map(|global| global.name).collect()
}

/// Encodes a fact about each export of an optimized unit, and each global its portable procedures
/// mention.
pub fn describe_exports(
    unit: &Unit,
    globals: &Globals,
    mut portable: Portable,
    mentioned: &HashSet<Name>,
) -> Vec<(Name, Vec<u8>)> {
    if unit.kind != UnitKind::Library {
        return Vec::new();
    }
    let defined: HashSet<Name> = unit
        .body
        .iter()
        .filter_map(|form| match form {
            TopForm::Define(global, _) => Some(global.name),
            TopForm::Expression(_) => None,
        })
        .collect();
    let mut result = Vec::new();
    for definition in &unit.globals {
        if definition.assigned || !(definition.exported || mentioned.contains(&definition.name)) {
            continue;
        }
        let global = GlobalName {
            library: unit.name.clone(),
            name: definition.name,
        };
        let exported = match globals.get(&global) {
            Some(Known::Constant(datum)) if is_atomic(datum) => Exported::Constant(datum.clone()),
            Some(Known::Primitive(id)) => Exported::Primitive(id.row().name.to_owned()),
            Some(Known::Procedure) => portable
                .remove(&definition.name)
                .map_or(Exported::Value, Exported::Procedure),
            // After the unit was instantiated every definition has run.
            _ if defined.contains(&definition.name) => Exported::Value,
            _ => continue,
        };
        if let Ok(bytes) = postcard::to_allocvec(&exported) {
            result.push((definition.name, bytes));
        }
    }
    result
}

fn portable(
    global: &GlobalName,
    expr: &Expr,
    unit: &Unit,
    workers: &Workers,
) -> Option<PortableProcedure> {
    let clauses: &[Lambda] = match &expr.kind {
        ExprKind::Lambda(lambda) => std::slice::from_ref(&**lambda),
        ExprKind::CaseLambda(clauses) => clauses,
        _ => return None,
    };
    let mut procedure = PortableProcedure {
        locals: VarTable::default(),
        clauses: Vec::new(),
        is_entry: clauses
            .iter()
            .all(|lambda| workers.is_entry(global, lambda)),
        is_standard: false,
    };
    for lambda in clauses {
        let mut clause = PortableClause::new(lambda);
        let mut can_travel = body_size(lambda, PORTABLE_SIZE_MAX + 1) <= PORTABLE_SIZE_MAX;
        for_each_lambda_child(lambda, &mut |child| {
            can_travel = can_travel && travels(child)
        });
        if can_travel {
            let nowhere = &mut |_| Span::NONE;
            let copy = copy_lambda(lambda, Some(&unit.locals), &mut procedure.locals, nowhere);
            clause.lambda = Some(copy);
        }
        procedure.clauses.push(clause);
    }
    is_closed(&procedure).then_some(procedure)
}

fn travels(expr: &Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Constant(datum) => is_atomic(datum),
        ExprKind::GlobalSet(..) => false,
        _ => true,
    };
    let mut all = own;
    for_each_child(expr, &mut |child| all = all && travels(child));
    all
}

fn is_atomic(datum: &Datum) -> bool {
    !matches!(
        datum,
        Datum::Pair(_)
            | Datum::Vector(_)
            | Datum::String(_)
            | Datum::Bytevector(_)
            | Datum::NumericVector(..)
            | Datum::Labelled(..)
            | Datum::LabelRef(_)
    )
}
