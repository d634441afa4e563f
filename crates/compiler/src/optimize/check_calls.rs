//! Warns of calls that are certain to fail because of their number of arguments.
//!
//! Looks at the unit as the programmer wrote it, before any other pass. The calls stay: the error
//! is raised at run time, if they are ever made.

use std::collections::HashMap;

use canny_syntax::core::{Expr, ExprKind, GlobalName, Lambda, TopForm, Unit, UnitKind, VarId};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::globals::Globals;
use super::known::Known;
use crate::unit::Parameters;
use crate::walk::for_each_child;

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
                && !assigned(global)
                && let Some(known) = Callee::of(unit, global.name, expr)
            {
                pass.definitions.insert(global.clone(), known);
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

/// The facts about a called procedure.
#[derive(Clone)]
struct Callee {
    name: String,
    arities: Arities,
    /// How it is called, once for each clause, and where it is defined.
    definition: Option<(Vec<String>, Span)>,
}

impl Callee {
    /// A variable that has this value.
    fn of(unit: &Unit, name: Name, value: &Expr) -> Option<Callee> {
        let clauses = match &value.kind {
            ExprKind::Lambda(lambda) => std::slice::from_ref(&**lambda),
            ExprKind::CaseLambda(clauses) => clauses,
            _ => return None,
        };
        let calls = clauses.iter().map(|clause| call_text(unit, name, clause));
        Some(Callee {
            name: name.to_string(),
            arities: clauses.iter().map(arity).collect(),
            definition: Some((calls.collect(), value.span)),
        })
    }
}

/// How a procedure is called, written as a definition has it.
fn call_text(unit: &Unit, name: Name, lambda: &Lambda) -> String {
    let name_of = |var: &VarId| unit.locals[*var].name;
    let parameters = Parameters {
        required: lambda.required.iter().map(name_of).collect(),
        optional: lambda
            .optional
            .iter()
            .map(|(var, _)| name_of(var))
            .collect(),
        keywords: lambda.keywords.iter().map(|(name, _, _)| *name).collect(),
        rest: lambda.rest.as_ref().map(name_of),
        allow_other_keys: lambda.allow_other_keys,
    };
    parameters.call_text(name.as_str())
}

struct Checker<'a> {
    unit: &'a Unit,
    globals: &'a Globals,
    locals: HashMap<VarId, Callee>,
    definitions: HashMap<GlobalName, Callee>,
    warnings: Vec<Diagnostic>,
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
                    let variable = &self.unit.locals[*var];
                    if !variable.assigned
                        && let Some(known) = Callee::of(self.unit, variable.name, init)
                    {
                        self.locals.insert(*var, known);
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
        let callee = match &operator.kind {
            ExprKind::PrimitiveRef(id) => {
                let row = id.row();
                let arity = (usize::from(row.arity_min), row.arity_max.map(usize::from));
                Callee {
                    name: row.user_name().to_owned(),
                    arities: vec![arity],
                    definition: Some((vec![row.call_text()], Span::NONE)),
                }
            }
            ExprKind::LocalRef(var) => match self.locals.get(var) {
                Some(known) => known.clone(),
                None => return,
            },
            ExprKind::GlobalRef(global) => match self.definitions.get(global) {
                Some(known) => known.clone(),
                None => match self.globals.get(global) {
                    Some(Known::Imported(procedure)) => {
                        let clauses = procedure.clauses.iter();
                        let arities = clauses.map(|clause| (clause.least, clause.greatest));
                        Callee {
                            name: global.name.to_string(),
                            arities: arities.collect(),
                            definition: None,
                        }
                    }
                    _ => return,
                },
            },
            ExprKind::Lambda(lambda) => Callee {
                name: "this procedure".to_owned(),
                arities: vec![arity(lambda)],
                definition: None,
            },
            _ => return,
        };
        let (name, arities) = (&callee.name, &callee.arities);
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
        let mut warning = Diagnostic::warning("wrong-argument-count", span, message);
        if let Some((calls, place)) = &callee.definition {
            let calls = calls.join(" or ");
            warning = if place.is_some() {
                let text = format!("{name} is defined here; it is called as {calls}");
                warning.label(*place, text)
            } else {
                warning.note(format!("{name} is called as {calls}"))
            };
        }
        self.warnings.push(warning);
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
