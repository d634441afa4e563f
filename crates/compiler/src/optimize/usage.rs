//! How often each local variable is mentioned.

use canny_syntax::core::{Expr, ExprKind, TopForm, Unit, VarId, VarTable};

use super::forms::Forms;
use crate::walk::for_each_child;
use crate::walk::is_fixed;

/// Mentions of one variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All reads.
    pub reads: u32,
    /// Reads as the operator of a call.
    pub calls: u32,
    /// Whether a read may come before the variable has a value.
    pub may_be_early: bool,
}

/// Counts the mentions of every variable of these forms of a unit.
pub fn count(unit: &Unit, forms: &Forms) -> Vec<Usage> {
    let mut usage = vec![Usage::default(); unit.locals.len()];
    for form in forms.of(&unit.body) {
        match form {
            TopForm::Define(_, expr) | TopForm::Expression(expr) => {
                visit(expr, &mut usage, &unit.locals);
            }
        }
    }
    usage
}

fn visit(expr: &Expr, usage: &mut [Usage], locals: &VarTable) {
    match &expr.kind {
        ExprKind::LocalRef(var) => read(*var, usage),
        ExprKind::Call { operator, .. } => {
            if let ExprKind::LocalRef(var) = operator.kind {
                usage[var.0 as usize].calls += 1;
            }
        }
        ExprKind::Letrec { bindings, .. } if !is_fixed(bindings, locals) => {
            for (var, _) in bindings {
                usage[var.0 as usize].may_be_early = true;
            }
        }
        _ => {}
    }
    for_each_child(expr, &mut |child| visit(child, usage, locals));
}

fn read(var: VarId, usage: &mut [Usage]) {
    usage[var.0 as usize].reads += 1;
}
