//! Splits procedures with optional or keyword parameters in two.
//!
//! The *worker* has the body and takes every parameter in its place; the *entry*, under the procedure's
//! name, finds out which argument is which, evaluates defaults, and calls the worker. An entry is
//! small, so that calls of the procedure get a copy of it, where literal keywords are resolved: what
//! remains is a call of the worker, as of a procedure with required parameters only.
//!
//! This is done to constant globals of libraries and programs whose bodies are not copied anyway. The
//! worker is a global of its own, with the name of the procedure for those who print it.

use std::collections::HashSet;

use canny_syntax::core::{
    Expr, ExprKind, GlobalDefinition, GlobalName, Lambda, LibraryKey, TopForm, Unit, UnitKind,
    VarTable,
};
use canny_syntax::name::Name;

use super::build::{local, procedure};
use super::copy::copy_lambda;
use super::globals::{Globals, mentions};
use super::known::Known;
use super::limits::{Budget, OPERANDS_MAX, SIZE_MAX};
use super::size::body_size;
use crate::variables::parameters;
use crate::walk::{for_each_child, for_each_lambda_child, form_expr_mut};

/// Stands between the name of a procedure and a number in the name of its worker; no name in source
/// ends so, and those that macros make have other numbers.
const MARK: &str = "·0";

/// The globals that hold workers and entries.
#[derive(Debug, Default)]
pub struct Workers {
    library: Option<LibraryKey>,
    names: HashSet<Name>,
    entries: HashSet<Name>,
}

impl Workers {
    /// Whether nothing was split.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a global is a worker of the unit.
    pub fn has(&self, global: &GlobalName) -> bool {
        self.library.as_ref() == Some(&global.library) && self.names.contains(&global.name)
    }

    /// Whether the procedure of a global does nothing but find the arguments' places for its worker.
    pub fn is_entry(&self, global: &GlobalName, lambda: &Lambda) -> bool {
        let is_split =
            self.library.as_ref() == Some(&global.library) && self.entries.contains(&global.name);
        // Unless the worker was copied to the entry.
        is_split
            && matches!(&lambda.body.kind, ExprKind::Call { operator, .. }
                if matches!(&operator.kind, ExprKind::GlobalRef(worker) if self.has(worker)))
    }
}

/// Splits the procedures of a unit for which that pays.
pub fn run(unit: &mut Unit, globals: &Globals, budget: &mut Budget) -> Workers {
    let mut workers = Workers {
        library: Some(unit.name.clone()),
        ..Workers::default()
    };
    if unit.kind == UnitKind::Toplevel {
        return workers;
    }
    let mut names: HashSet<Name> = unit.globals.iter().map(|global| global.name).collect();
    let mut body = Vec::with_capacity(unit.body.len());
    for mut form in std::mem::take(&mut unit.body) {
        if let TopForm::Define(global, expr) = &form
            && let ExprKind::Lambda(lambda) = &expr.kind
            && matches!(globals.get(global), Some(Known::Procedure))
            && pays(lambda, global)
            && budget.spend()
        {
            let worker = GlobalName {
                library: global.library.clone(),
                name: worker_name(global.name, &names),
            };
            names.insert(worker.name);
            workers.names.insert(worker.name);
            workers.entries.insert(global.name);
            unit.globals.push(GlobalDefinition {
                name: worker.name,
                span: lambda.span,
                assigned: false,
                exported: false,
            });
            body.extend(split(form_expr_mut(&mut form), worker, &mut unit.locals));
        }
        body.push(form);
    }
    unit.body = body;
    workers
}

fn worker_name(procedure: Name, taken: &HashSet<Name>) -> Name {
    let mut text = format!("{procedure}{MARK}");
    while taken.contains(&Name::new(&text)) {
        text.push('0');
    }
    Name::new(&text)
}

/// Whether calls would not get a copy of the procedure as it is, and it can be split.
fn pays(lambda: &Lambda, global: &GlobalName) -> bool {
    if lambda.optional.is_empty() && lambda.keywords.is_empty() {
        return false;
    }
    let mut mentioned = Vec::new();
    for_each_lambda_child(lambda, &mut |child| mentions(child, &mut mentioned));
    let is_large = body_size(lambda, SIZE_MAX + 1) > SIZE_MAX;
    (is_large || mentioned.contains(&global)) && parameters(lambda).len() <= OPERANDS_MAX
}

/// Makes the procedure an entry; gives the definition of the worker.
fn split(expr: &mut Expr, worker: GlobalName, locals: &mut VarTable) -> Option<TopForm> {
    let ExprKind::Lambda(lambda) = &mut expr.kind else {
        return None;
    };
    let span = lambda.span;
    let vars = parameters(lambda);
    let operands = vars.iter().map(|var| local(*var, span)).collect();
    let operator = Expr::new(span, ExprKind::GlobalRef(worker.clone()));
    let body = std::mem::replace(&mut lambda.body, Expr::call(span, operator, operands));
    // The entry gets variables of its own, which nothing assigns but a default.
    **lambda = copy_lambda(lambda, None, locals, &mut |span| span);
    let mut assigned = HashSet::new();
    for_each_lambda_child(lambda, &mut |child| assignments(child, &mut assigned));
    assignments(&body, &mut assigned);
    for var in parameters(lambda).iter().chain(&vars) {
        locals[*var].assigned = assigned.contains(var);
    }
    let init = procedure(lambda.name, vars, body, span);
    Some(TopForm::Define(worker, init))
}

fn assignments(expr: &Expr, found: &mut HashSet<canny_syntax::core::VarId>) {
    if let ExprKind::LocalSet(var, _) = &expr.kind {
        found.insert(*var);
    }
    for_each_child(expr, &mut |child| assignments(child, found));
}
