//! The vocabulary for what is known of globals: inside of a unit, and in what a compiled library tells
//! of its exports.
//!
//! Invariant: a procedure that [`decode`] gives is closed, so that a copy of it mentions no variable of
//! another one.

use std::collections::HashSet;
use std::rc::Rc;

use canny_syntax::core::{Expr, ExprKind, Lambda, PrimitiveId, VarId, VarTable};
use canny_syntax::datum::Datum;
use serde::{Deserialize, Serialize};

use crate::variables::parameters;
use crate::walk::{for_each_child, for_each_lambda_child};

/// The value of a constant global.
#[derive(Clone, Debug)]
pub enum Known {
    /// A literal.
    Constant(Datum),
    /// A primitive.
    Primitive(PrimitiveId),
    /// A procedure defined in this unit.
    Procedure,
    /// A procedure of another library, small enough to be copied.
    Imported(Rc<PortableProcedure>),
    /// Anything else.
    Value,
}

/// The facts about one export.
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
    /// It belongs to the standard library, whose frames no backtrace shows.
    pub is_standard: bool,
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
    pub(super) fn new(lambda: &Lambda) -> PortableClause {
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

/// Reads what [`describe_exports`](super::portable::describe_exports) wrote.
pub fn decode(bytes: &[u8]) -> Option<Exported> {
    let exported: Exported = postcard::from_bytes(bytes).ok()?;
    match &exported {
        Exported::Primitive(name) if canny_tables::primitives::lookup(name).is_none() => None,
        Exported::Procedure(procedure) if !is_closed(procedure) => None,
        _ => Some(exported),
    }
}

/// Whether every variable that is mentioned is bound inside, once, and has an entry in the table.
pub(super) fn is_closed(procedure: &PortableProcedure) -> bool {
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
    bound: HashSet<VarId>,
    good: bool,
}

impl ClosedCheck {
    fn bind(&mut self, var: VarId) {
        self.good &= (var.0 as usize) < self.count && self.bound.insert(var);
    }

    fn lambda(&mut self, lambda: &Lambda) {
        parameters(lambda)
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
