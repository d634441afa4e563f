//! Warns of calls that are certain to fail because of their number of arguments.
//!
//! Looks at the unit as the programmer wrote it, before any other pass. The calls stay: the error
//! is raised at run time, if they are ever made.

use std::collections::HashMap;

use canny_syntax::core::{Expr, ExprKind, GlobalName, Lambda, TopForm, Unit, UnitKind, VarId};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::span::Span;

use super::globals::{Globals, Known};
use super::walk::for_each_child;

/// Warnings in the order of the calls.
pub fn run(unit: &Unit, globals: &Globals) -> Vec<Diagnostic> {
    let mut pass = Checker {
        unit,
        globals,
        locals: HashMap::new(),
        definitions: HashMap::new(),
        warnings: Vec::new(),
    };
    if unit.kind != UnitKind::Toplevel {
        let assigned = |global: &GlobalName| {
            unit.globals
                .iter()
                .any(|row| row.name == global.name && row.assigned)
        };
        for form in &unit.body {
            if let TopForm::Define(global, expr) = form
                && let (Some(arities), false) = (arities(expr), assigned(global))
            {
                pass.definitions.insert(global.clone(), arities);
            }
        }
    }
    for form in &unit.body {
        match form {
            TopForm::Define(_, expr) | TopForm::Expression(expr) => pass.visit(expr),
        }
    }
    pass.warnings
}

/// Least and greatest number of arguments of each clause.
type Arities = Vec<(usize, Option<usize>)>;

struct Checker<'a> {
    unit: &'a Unit,
    globals: &'a Globals,
    locals: HashMap<VarId, Arities>,
    definitions: HashMap<GlobalName, Arities>,
    warnings: Vec<Diagnostic>,
}

fn arities(expr: &Expr) -> Option<Arities> {
    match &expr.kind {
        ExprKind::Lambda(lambda) => Some(vec![arity(lambda)]),
        ExprKind::CaseLambda(clauses) => Some(clauses.iter().map(arity).collect()),
        _ => None,
    }
}

fn arity(lambda: &Lambda) -> (usize, Option<usize>) {
    let least = lambda.required.len();
    let open = lambda.rest.is_some() || !lambda.keywords.is_empty() || lambda.allow_other_keys;
    (least, (!open).then(|| least + lambda.optional.len()))
}

impl Checker<'_> {
    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Let { bindings, .. } | ExprKind::Letrec { bindings, .. } => {
                for (var, init) in bindings {
                    if let (Some(arities), false) = (arities(init), self.unit.locals[*var].assigned)
                    {
                        self.locals.insert(*var, arities);
                    }
                }
            }
            ExprKind::Call { operator, operands } => {
                self.check(operator, operands.len(), expr.span);
            }
            _ => {}
        }
        for_each_child(expr, &mut |child| self.visit(child));
    }

    fn check(&mut self, operator: &Expr, count: usize, span: Span) {
        let (name, arities) = match &operator.kind {
            ExprKind::PrimitiveRef(id) => {
                let row = id.row();
                let arity = (usize::from(row.arity_min), row.arity_max.map(usize::from));
                (row.user_name().to_owned(), vec![arity])
            }
            ExprKind::LocalRef(var) => match self.locals.get(var) {
                Some(arities) => (self.unit.locals[*var].name.to_string(), arities.clone()),
                None => return,
            },
            ExprKind::GlobalRef(global) => match self.definitions.get(global) {
                Some(arities) => (global.name.to_string(), arities.clone()),
                None => match self.globals.get(global) {
                    Some(Known::Imported(procedure)) => {
                        let clauses = procedure.clauses.iter();
                        let arities = clauses
                            .map(|clause| (clause.least, clause.greatest))
                            .collect();
                        (global.name.to_string(), arities)
                    }
                    _ => return,
                },
            },
            ExprKind::Lambda(lambda) => ("this procedure".to_owned(), vec![arity(lambda)]),
            _ => return,
        };
        let accepts = |(least, greatest): &(usize, Option<usize>)| {
            count >= *least && greatest.is_none_or(|greatest| count <= greatest)
        };
        if arities.is_empty() || arities.iter().any(accepts) {
            return;
        }
        let expected: Vec<String> = arities.iter().map(describe).collect();
        let message = format!(
            "`{name}` takes {} but is called with {count}",
            expected.join(" or ")
        );
        self.warnings
            .push(Diagnostic::warning("wrong-argument-count", span, message));
    }
}

fn describe(arity: &(usize, Option<usize>)) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    match *arity {
        (least, Some(greatest)) if least == greatest => {
            format!("{least} argument{}", plural(least))
        }
        (least, Some(greatest)) => format!("{least} to {greatest} arguments"),
        (least, None) => format!("at least {least} argument{}", plural(least)),
    }
}
