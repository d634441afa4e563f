//! Copies small procedures to their calls.
//!
//! Candidates are procedures bound for good: by `let` or fixed `letrec` to a variable that nobody
//! assigns, by a constant global of the unit, or exported by another library together with its
//! body. Procedures that may call themselves through other candidates are left out, so that
//! copying ends. A call is replaced by the binding form of its direct application; the simplifier
//! then profits. Literals and procedures among the operands raise the limit, since they usually
//! make the copy shrink.
//!
//! Holds on entry and exit: the invariants of the core, sorted `letrec`. One run does not look into
//! its own copies; the growth of a unit is bounded by [`Growth`].

use std::collections::HashMap;
use std::rc::Rc;

use canny_syntax::core::{Expr, ExprKind, GlobalName, Lambda, Unit, VarId, VarTable};

use super::beta::{apply, is_applicable};
use super::copy::copy_lambda;
use super::forms::Forms;
use super::globals::{Globals, own_procedures};
use super::inlinings::Inlinings;
use super::known::{Known, PortableProcedure};
use super::limits::{Budget, SIZE_MAX};
use super::size::{body_size, size};
use super::sort_letrec::components;
use super::workers::Workers;
use crate::walk::is_fixed;
use crate::walk::{
    for_each_child, for_each_child_mut, for_each_lambda_child, form_expr, form_expr_mut,
};

/// How much larger it may be for each literal operand.
const LITERAL_BONUS: usize = 4;
/// How much larger it may be if an operand is a procedure.
const PROCEDURE_BONUS: usize = 46;
/// Size of an entry that is worth a copy: most of it goes away.
const ENTRY_MAX: usize = 60;

/// How much a unit may still grow, over all rounds.
#[derive(Debug)]
pub struct Growth(usize);

impl Growth {
    /// The allowance of a unit, by its size before the first round.
    pub fn of(unit: &Unit) -> Growth {
        let total: usize = unit
            .body
            .iter()
            .map(|form| size(form_expr(form), usize::MAX))
            .sum();
        Growth(2000 + 2 * total)
    }
}

/// Runs one round over the active forms; adds those in which something was copied to `changed`.
#[expect(clippy::too_many_arguments)]
pub fn run(
    unit: &mut Unit,
    active: &Forms,
    globals: &Globals,
    workers: &Workers,
    growth: &mut Growth,
    inlinings: &mut Inlinings,
    budget: &mut Budget,
    changed: &mut Forms,
) {
    let candidates = Candidates::collect(unit, active, globals, workers);
    if candidates.is_empty() {
        return;
    }
    let mut pass = Inliner {
        locals: &mut unit.locals,
        candidates,
        workers,
        growth,
        inlinings,
        budget,
        changed: false,
    };
    for (index, form) in active.of_mut(&mut unit.body) {
        pass.changed = false;
        pass.visit(form_expr_mut(form));
        if pass.changed {
            changed.add(index);
        }
    }
}

/// Where a candidate's variables are.
#[derive(Clone)]
enum Source {
    /// In this unit.
    Own(Rc<Vec<Lambda>>),
    /// In a table of their own.
    Imported(Rc<PortableProcedure>),
}

#[derive(Default)]
struct Candidates {
    locals: HashMap<VarId, Source>,
    globals: HashMap<GlobalName, Source>,
}

impl Candidates {
    fn is_empty(&self) -> bool {
        self.locals.is_empty() && self.globals.is_empty()
    }

    fn collect(unit: &Unit, active: &Forms, globals: &Globals, workers: &Workers) -> Candidates {
        let mut found = Candidates::default();
        for (global, clauses) in own_procedures(unit, globals) {
            if fits(clauses) {
                found
                    .globals
                    .insert(global, Source::Own(Rc::new(clauses.to_vec())));
            }
        }
        for form in active.of(&unit.body) {
            found.collect_from(form_expr(form), &unit.locals, globals);
        }
        while found.remove_recursive(workers) {}
        found
    }

    fn collect_from(&mut self, expr: &Expr, locals: &VarTable, globals: &Globals) {
        match &expr.kind {
            ExprKind::Let { bindings, .. } => {
                for (var, init) in bindings.iter().filter(|(var, _)| !locals[*var].assigned) {
                    self.propose(*var, init);
                }
            }
            ExprKind::Letrec { bindings, .. } if is_fixed(bindings, locals) => {
                bindings
                    .iter()
                    .for_each(|(var, init)| self.propose(*var, init));
            }
            ExprKind::Call { operator, .. } => {
                if let ExprKind::GlobalRef(global) = &operator.kind
                    && let Some(Known::Imported(procedure)) = globals.get(global)
                {
                    let source = Source::Imported(procedure.clone());
                    self.globals.insert(global.clone(), source);
                }
            }
            _ => {}
        }
        for_each_child(expr, &mut |child| self.collect_from(child, locals, globals));
    }

    fn propose(&mut self, var: VarId, init: &Expr) {
        let clauses: &[Lambda] = match &init.kind {
            ExprKind::Lambda(lambda) => std::slice::from_ref(&**lambda),
            ExprKind::CaseLambda(clauses) => clauses,
            _ => return,
        };
        if fits(clauses) {
            self.locals
                .insert(var, Source::Own(Rc::new(clauses.to_vec())));
        }
    }

    /// Leaves out what may reach itself through candidates; of a cycle with workers, only these. Tells
    /// whether there may be more.
    fn remove_recursive(&mut self, workers: &Workers) -> bool {
        let locals: Vec<VarId> = self.locals.keys().copied().collect();
        let globals: Vec<GlobalName> = self.globals.keys().cloned().collect();
        let local_index: HashMap<VarId, usize> = locals
            .iter()
            .enumerate()
            .map(|(index, var)| (*var, index))
            .collect();
        let global_index: HashMap<&GlobalName, usize> = globals
            .iter()
            .enumerate()
            .map(|(index, name)| (name, locals.len() + index))
            .collect();
        let sources = locals
            .iter()
            .map(|var| &self.locals[var])
            .chain(globals.iter().map(|name| &self.globals[name]));
        let mut mentions: Vec<Vec<usize>> = Vec::new();
        for source in sources {
            let mut found = Vec::new();
            let (clauses, own): (Vec<&Lambda>, bool) = match source {
                Source::Own(clauses) => (clauses.iter().collect(), true),
                Source::Imported(procedure) => {
                    let clauses = procedure.clauses.iter();
                    (
                        clauses
                            .filter_map(|clause| clause.lambda.as_ref())
                            .collect(),
                        false,
                    )
                }
            };
            let mut visit = |expr: &Expr| match &expr.kind {
                ExprKind::LocalRef(var) if own => found.extend(local_index.get(var)),
                ExprKind::GlobalRef(name) => found.extend(global_index.get(name)),
                _ => {}
            };
            for clause in clauses {
                for_each_lambda_child(clause, &mut |child| each(child, &mut visit));
            }
            mentions.push(found);
        }
        let is_worker = |index: usize| {
            let global = index.checked_sub(locals.len()).map(|at| &globals[at]);
            global.is_some_and(|global| workers.has(global))
        };
        let mut removed_workers = false;
        for component in components(&mentions) {
            let recursive = component.len() > 1 || mentions[component[0]].contains(&component[0]);
            if !recursive {
                continue;
            }
            let has_worker = component.iter().any(|index| is_worker(*index));
            removed_workers |= has_worker;
            for index in component {
                match locals.get(index) {
                    _ if has_worker && !is_worker(index) => continue,
                    Some(var) => self.locals.remove(var),
                    None => self.globals.remove(&globals[index - locals.len()]),
                };
            }
        }
        removed_workers
    }
}

fn each<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    visit(expr);
    for_each_child(expr, &mut |child| each(child, visit));
}

fn fits(clauses: &[Lambda]) -> bool {
    const MAX: usize = SIZE_MAX + PROCEDURE_BONUS;
    clauses
        .iter()
        .all(|clause| body_size(clause, MAX + 1) <= MAX)
}

struct Inliner<'a> {
    locals: &'a mut VarTable,
    candidates: Candidates,
    workers: &'a Workers,
    growth: &'a mut Growth,
    inlinings: &'a mut Inlinings,
    budget: &'a mut Budget,
    changed: bool,
}

impl Inliner<'_> {
    fn visit(&mut self, expr: &mut Expr) {
        for_each_child_mut(expr, &mut |child| self.visit(child));
        let span = expr.span;
        let ExprKind::Call { operator, operands } = &mut expr.kind else {
            return;
        };
        let (source, name) = match &operator.kind {
            ExprKind::LocalRef(var) => (
                self.candidates.locals.get(var),
                Some(self.locals[*var].name),
            ),
            ExprKind::GlobalRef(global) => (self.candidates.globals.get(global), Some(global.name)),
            _ => (None, None),
        };
        let Some(source) = source.cloned() else {
            return;
        };
        let count = operands.len();
        let mut is_entry = false;
        let clause = match &source {
            Source::Own(clauses) => clauses
                .iter()
                .find(|clause| is_applicable(clause, operands))
                .inspect(|clause| {
                    is_entry = match &operator.kind {
                        ExprKind::GlobalRef(global) => self.workers.is_entry(global, clause),
                        _ => false,
                    };
                }),
            Source::Imported(procedure) => {
                let clause = procedure
                    .clauses
                    .iter()
                    .find(|clause| clause.accepts(count));
                let lambda = clause.and_then(|clause| clause.lambda.as_ref());
                is_entry = procedure.is_entry;
                lambda.filter(|lambda| is_applicable(lambda, operands))
            }
        };
        let Some(clause) = clause else { return };
        let cost = body_size(clause, self.growth.0 + 1);
        let allowance = if is_entry {
            ENTRY_MAX
        } else {
            self.allowance(operands)
        };
        if cost > allowance || cost > self.growth.0 || !self.budget.spend() {
            return;
        }
        self.growth.0 -= cost;
        self.changed = true;
        let mut copy = match &source {
            Source::Own(_) => {
                let mut marks = self.inlinings.copy(clause.name.or(name), span);
                let keeps = self.inlinings.is_imported(clause.span);
                let position = &mut |span| {
                    if keeps {
                        span
                    } else {
                        self.inlinings.mark(&mut marks, span)
                    }
                };
                copy_lambda(clause, None, self.locals, position)
            }
            Source::Imported(procedure) => {
                let name = name.filter(|_| !procedure.is_standard);
                let position = self.inlinings.imported(name, span);
                copy_lambda(clause, Some(&procedure.locals), self.locals, &mut |_| {
                    position
                })
            }
        };
        if is_entry {
            // The worker is called here.
            copy.body.span = span;
        }
        *expr = apply(copy, std::mem::take(operands), span);
    }

    /// How large a procedure may be that is called with these operands.
    fn allowance(&self, operands: &[Expr]) -> usize {
        let mut limit = SIZE_MAX;
        let mut procedure = false;
        for operand in operands {
            match &operand.kind {
                ExprKind::Constant(_) => limit += LITERAL_BONUS,
                ExprKind::Lambda(_) | ExprKind::PrimitiveRef(_) => procedure = true,
                ExprKind::LocalRef(var) => procedure |= self.candidates.locals.contains_key(var),
                _ => {}
            }
        }
        limit + if procedure { PROCEDURE_BONUS } else { 0 }
    }
}
