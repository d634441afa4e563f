//! The simplifier: copy propagation, constant folding, dead code, direct application.
//!
//! Holds on entry and on exit: the invariants of the core, sorted `letrec`. Nothing is copied but
//! atoms (literals, variables, primitives), so that the program never grows; procedures called
//! once are moved to their call. Each expression is visited once, from the outside in, with the
//! context that its value goes to. Counts of mentions are made before the pass and only ever err
//! on the high side while it runs.
//!
//! An error that the program would raise is never lost, and effects keep their order.

mod bindings;
mod calls;
mod conditionals;
mod lists;
mod membership;

use std::collections::{HashMap, HashSet};

use canny_syntax::core::{Expr, ExprKind, Lambda, Unit, VarId, VarTable};
use canny_syntax::datum::Datum;
use canny_syntax::span::Span;

use super::effects::Facts;
use super::fold::Folder;
use super::forms::Forms;
use super::globals::Globals;
use super::inlinings::Inlinings;
use super::limits::Budget;
use super::usage::{Usage, count};
use crate::walk::{for_each_child_mut, for_each_lambda_child_mut};

/// The use of an expression's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// It is used.
    Value,
    /// Only whether it is `#f` matters.
    Test,
    /// It is dropped.
    Effect,
}

/// Simplifies the active forms of a unit; adds those in which something changed to `changed`.
pub fn run(
    unit: &mut Unit,
    active: &Forms,
    globals: &Globals,
    folder: &dyn Folder,
    inlinings: &mut Inlinings,
    budget: &mut Budget,
    changed: &mut Forms,
) {
    let usage = count(unit, active);
    let size = usage.len();
    let mut pass = Simplifier {
        locals: &mut unit.locals,
        usage,
        globals,
        folder,
        inlinings,
        budget,
        replacement: vec![None; size],
        pending: HashMap::new(),
        procedures: HashSet::new(),
        truths: HashMap::new(),
        changed: false,
    };
    let last = unit.body.len().saturating_sub(1);
    for (index, form) in active.of_mut(&mut unit.body) {
        pass.changed = false;
        match form {
            canny_syntax::core::TopForm::Define(_, expr) => pass.visit(expr, Context::Value),
            canny_syntax::core::TopForm::Expression(expr) => {
                let context = if index == last {
                    Context::Value
                } else {
                    Context::Effect
                };
                pass.visit(expr, context);
            }
        }
        if pass.changed {
            changed.add(index);
        }
    }
}

struct Simplifier<'a> {
    locals: &'a mut VarTable,
    usage: Vec<Usage>,
    globals: &'a Globals,
    folder: &'a dyn Folder,
    inlinings: &'a mut Inlinings,
    budget: &'a mut Budget,
    /// Atoms that stand for variables whose bindings are gone.
    replacement: Vec<Option<ExprKind>>,
    /// Procedures on their way to their only call.
    pending: HashMap<VarId, ExprKind>,
    /// Variables that are certainly procedures.
    procedures: HashSet<VarId>,
    /// Variables known to be true or false here.
    truths: HashMap<VarId, bool>,
    changed: bool,
}

impl Simplifier<'_> {
    fn facts(&self) -> Facts<'_> {
        Facts {
            locals: self.locals,
            usage: &self.usage,
            globals: self.globals,
        }
    }

    /// Asks for permission to rewrite something.
    fn spend(&mut self) -> bool {
        let granted = self.budget.spend();
        self.changed |= granted;
        granted
    }

    fn usage(&self, var: VarId) -> Usage {
        let unknown = Usage {
            reads: u32::MAX,
            calls: 0,
            may_be_early: false,
        };
        self.usage.get(var.0 as usize).copied().unwrap_or(unknown)
    }

    fn visit(&mut self, expr: &mut Expr, context: Context) {
        match &mut expr.kind {
            ExprKind::Constant(_) | ExprKind::PrimitiveRef(_) => {}
            ExprKind::LocalRef(var) => {
                let var = *var;
                self.visit_local(expr, var, context);
            }
            ExprKind::GlobalRef(global) => {
                if let Some(kind) = self.globals.replacement(global)
                    && self.spend()
                {
                    expr.kind = kind;
                }
            }
            ExprKind::LocalSet(_, value) | ExprKind::GlobalSet(_, value) => {
                self.visit(value, Context::Value);
            }
            ExprKind::If(_) => self.visit_if(expr, context),
            ExprKind::Lambda(lambda) => self.visit_lambda(lambda),
            ExprKind::CaseLambda(clauses) => clauses.iter_mut().for_each(|c| self.visit_lambda(c)),
            ExprKind::Sequence(_) => self.visit_sequence(expr, context),
            ExprKind::Let { .. } => self.visit_let(expr, context),
            ExprKind::Letrec { .. } => self.visit_letrec(expr, context),
            ExprKind::LetValues { .. } => self.visit_let_values(expr, context),
            ExprKind::Call { .. } => self.visit_call(expr, context),
        }
    }

    fn visit_lambda(&mut self, lambda: &mut Lambda) {
        // Facts that hold here need not hold when the procedure is called, except for variables
        // that never change.
        for_each_lambda_child_mut(lambda, &mut |child| self.visit(child, Context::Value));
    }

    fn visit_local(&mut self, expr: &mut Expr, var: VarId, context: Context) {
        if let Some(kind) = self.replacement.get(var.0 as usize).and_then(Clone::clone) {
            if let ExprKind::LocalRef(other) = kind
                && let Some(usage) = self.usage.get_mut(other.0 as usize)
            {
                usage.reads = usage.reads.saturating_add(1);
            }
            expr.kind = kind;
            if let ExprKind::LocalRef(other) = expr.kind {
                self.visit_truth(expr, other, context);
            }
            return;
        }
        self.visit_truth(expr, var, context);
    }

    /// Uses what tests around the expression say of the variable.
    fn visit_truth(&mut self, expr: &mut Expr, var: VarId, context: Context) {
        let known = match self.truths.get(&var) {
            Some(false) => false,
            Some(true) if context == Context::Test => true,
            _ => return,
        };
        if self.spend() {
            expr.kind = ExprKind::Constant(Datum::Boolean(known));
        }
    }

    fn visit_sequence(&mut self, expr: &mut Expr, context: Context) {
        let span = expr.span;
        let ExprKind::Sequence(parts) = std::mem::replace(&mut expr.kind, NOTHING) else {
            return;
        };
        let count = parts.len();
        let mut visited = Vec::with_capacity(count);
        for (index, mut part) in parts.into_iter().enumerate() {
            let last = index + 1 == count;
            self.visit(&mut part, if last { context } else { Context::Effect });
            visited.push(part);
        }
        *expr = self.sequence(visited, span);
    }

    /// A sequence of visited expressions, flat and without parts that do nothing.
    fn sequence(&mut self, parts: Vec<Expr>, span: Span) -> Expr {
        let mut flat = Vec::with_capacity(parts.len());
        let count = parts.len();
        for (index, part) in parts.into_iter().enumerate() {
            let last = index + 1 == count;
            match part.kind {
                ExprKind::Sequence(inner) => {
                    let inner_count = inner.len();
                    for (at, one) in inner.into_iter().enumerate() {
                        let is_value = last && at + 1 == inner_count;
                        if is_value || !self.facts().is_discardable(&one) {
                            flat.push(one);
                        }
                    }
                }
                _ if !last && self.facts().is_discardable(&part) => {}
                _ => flat.push(part),
            }
        }
        self.changed |= flat.len() != count;
        Expr::sequence(span, flat)
    }

    fn visit_children(&mut self, expr: &mut Expr) {
        for_each_child_mut(expr, &mut |child| self.visit(child, Context::Value));
    }
}

/// Stands for an expression that is being rebuilt.
const NOTHING: ExprKind = ExprKind::Constant(Datum::Unspecified);

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::new(Span::NONE, NOTHING))
}
