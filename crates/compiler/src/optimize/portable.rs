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
use super::globals::{Globals, Known, mentions};
use super::size::body_size;
use super::walk::{for_each_child, for_each_lambda_child};
use super::workers::Workers;

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
    pub clauses: Vec<PortableClause>,
    /// It only finds the places of its arguments, for a worker.
    pub is_entry: bool,
}

/// One clause.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PortableClause {
    /// Least number of arguments.
    pub least: usize,
    /// Greatest number of arguments, if there is one.
    pub greatest: Option<usize>,
    /// The clause itself, if it can travel.
    pub lambda: Option<Lambda>,
}

impl PortableClause {
    fn new(lambda: &Lambda) -> PortableClause {
        let least = lambda.required.len();
        let open = lambda.rest.is_some() || !lambda.keywords.is_empty() || lambda.allow_other_keys;
        let greatest = (!open).then(|| least + lambda.optional.len());
        PortableClause {
            least,
            greatest,
            lambda: None,
        }
    }

    /// Whether the clause takes so many arguments.
    pub fn accepts(&self, count: usize) -> bool {
        count >= self.least && self.greatest.is_none_or(|greatest| count <= greatest)
    }
}

/// The procedures of a unit that can travel, by name.
pub type Portable = HashMap<Name, PortableProcedure>;

/// Reads what [`describe_exports`] wrote.
pub fn decode(bytes: &[u8]) -> Option<Exported> {
    let exported: Exported = postcard::from_bytes(bytes).ok()?;
    match &exported {
        Exported::Primitive(name) if canny_tables::primitives::lookup(name).is_none() => None,
        Exported::Procedure(procedure) if !is_closed(procedure) => None,
        _ => Some(exported),
    }
}

/// The exported procedures of a library that can travel, as they are now. This is asked for before
/// inlining: calls of small helpers are worth more to an importer than copies of them.
pub fn collect_portable(unit: &Unit, workers: &Workers) -> Portable {
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

/// What to tell about each export of an optimized unit, and about what its portable procedures mention.
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

/// Whether every variable that is mentioned is bound inside, once, and has an entry in the table.
fn is_closed(procedure: &PortableProcedure) -> bool {
    let mut check = ClosedCheck {
        count: procedure.locals.len(),
        bound: HashSet::new(),
        good: true,
    };
    for lambda in procedure
        .clauses
        .iter()
        .filter_map(|clause| clause.lambda.as_ref())
    {
        check.lambda(lambda);
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
