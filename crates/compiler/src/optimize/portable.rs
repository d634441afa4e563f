//! What a compiled library tells the compiler about its exports.
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
use serde::{Deserialize, Serialize};

use super::copy::copy_lambda;
use super::globals::{Globals, Known};
use super::size::{body_size, lambda_size};
use super::walk::{for_each_child, for_each_lambda_child};

/// Greatest size of a procedure that travels.
pub const PORTABLE_SIZE_MAX: usize = 80;

/// What is told about one export.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Exported {
    /// It is this literal.
    Constant(Datum),
    /// It is the primitive of this name: numbers differ between builds.
    Primitive(String),
    /// It is this procedure.
    Procedure(PortableProcedure),
    /// It keeps its value.
    Value,
}

/// A procedure with variables of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PortableProcedure {
    /// Its variables.
    pub locals: VarTable,
    /// Its clauses.
    pub clauses: Vec<Lambda>,
}

/// Reads what [`describe_exports`] wrote.
pub fn decode(bytes: &[u8]) -> Option<Exported> {
    let exported: Exported = postcard::from_bytes(bytes).ok()?;
    match &exported {
        Exported::Primitive(name) if canny_tables::primitives::lookup(name).is_none() => None,
        Exported::Procedure(procedure) if !is_closed(procedure) => None,
        _ => Some(exported),
    }
}

/// What to tell about each export of an optimized unit.
pub fn describe_exports(unit: &Unit, globals: &Globals) -> Vec<(Name, Vec<u8>)> {
    if unit.kind != UnitKind::Library {
        return Vec::new();
    }
    let mut definitions: HashMap<Name, &Expr> = HashMap::new();
    for form in &unit.body {
        if let TopForm::Define(global, expr) = form {
            definitions.insert(global.name, expr);
        }
    }
    let mut result = Vec::new();
    for definition in &unit.globals {
        if definition.assigned || !definition.exported {
            continue;
        }
        let global = GlobalName {
            library: unit.name.clone(),
            name: definition.name,
        };
        let exported = match globals.get(&global) {
            Some(Known::Constant(datum)) if is_atomic(datum) => Exported::Constant(datum.clone()),
            Some(Known::Primitive(id)) => Exported::Primitive(id.row().name.to_owned()),
            Some(Known::Procedure) => definitions
                .get(&definition.name)
                .and_then(|expr| portable(expr, unit))
                .map_or(Exported::Value, Exported::Procedure),
            // After the unit was instantiated every definition has run.
            _ if definitions.contains_key(&definition.name) => Exported::Value,
            _ => continue,
        };
        if let Ok(bytes) = postcard::to_allocvec(&exported) {
            result.push((definition.name, bytes));
        }
    }
    result
}

fn portable(expr: &Expr, unit: &Unit) -> Option<PortableProcedure> {
    let clauses: &[Lambda] = match &expr.kind {
        ExprKind::Lambda(lambda) => std::slice::from_ref(&**lambda),
        ExprKind::CaseLambda(clauses) => clauses,
        _ => return None,
    };
    let size: usize = clauses
        .iter()
        .map(|clause| lambda_size(clause, PORTABLE_SIZE_MAX + 1))
        .sum();
    let fits = clauses
        .iter()
        .all(|clause| body_size(clause, PORTABLE_SIZE_MAX + 1) <= PORTABLE_SIZE_MAX);
    if size > 2 * PORTABLE_SIZE_MAX || !fits {
        return None;
    }
    let mut can_travel = true;
    for clause in clauses {
        for_each_lambda_child(clause, &mut |child| can_travel &= travels(child));
    }
    if !can_travel {
        return None;
    }
    let mut locals = VarTable::default();
    let clauses = clauses
        .iter()
        .map(|clause| copy_lambda(clause, Some(&unit.locals), &mut locals, Some(Span::NONE)))
        .collect();
    let procedure = PortableProcedure { locals, clauses };
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
            | Datum::Labelled(..)
            | Datum::LabelRef(_)
    )
}

/// Whether every variable that is mentioned is bound inside, once, and has an entry in the table.
fn is_closed(procedure: &PortableProcedure) -> bool {
    let mut check = ClosedCheck {
        count: procedure.locals.len(),
        bound: HashSet::new(),
        good: true,
    };
    for clause in &procedure.clauses {
        check.lambda(clause);
    }
    check.good
}

struct ClosedCheck {
    count: usize,
    bound: HashSet<canny_syntax::core::VarId>,
    good: bool,
}

impl ClosedCheck {
    fn bind(&mut self, var: canny_syntax::core::VarId) {
        self.good &= (var.0 as usize) < self.count && self.bound.insert(var);
    }

    fn lambda(&mut self, lambda: &Lambda) {
        crate::variables::parameters(lambda)
            .into_iter()
            .for_each(|var| self.bind(var));
        for_each_lambda_child(lambda, &mut |child| self.visit(child));
    }

    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::LocalRef(var) | ExprKind::LocalSet(var, _) => {
                self.good &= self.bound.contains(var);
            }
            ExprKind::Sequence(parts) => self.good &= !parts.is_empty(),
            ExprKind::Lambda(lambda) => return self.lambda(lambda),
            ExprKind::CaseLambda(clauses) => {
                return clauses.iter().for_each(|clause| self.lambda(clause));
            }
            ExprKind::Let { bindings, .. } | ExprKind::Letrec { bindings, .. } => {
                bindings.iter().for_each(|(var, _)| self.bind(*var));
            }
            ExprKind::LetValues { formals, .. } => {
                formals
                    .required
                    .iter()
                    .chain(&formals.rest)
                    .for_each(|var| self.bind(*var));
            }
            _ => {}
        }
        for_each_child(expr, &mut |child| self.visit(child));
    }
}
