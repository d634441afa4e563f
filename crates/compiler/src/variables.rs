//! Decides which local variables live in boxes.
//!
//! A variable that is assigned and captured by a closure needs a box, since the closure and the
//! frame share it. So does one that is assigned and live across a call, even when no closure
//! captures it: the continuation of the call may be captured and entered twice, which copies the
//! frame's registers but must not copy the variable. Only an assigned variable in whose scope no
//! call is made except in tail position stays in a register.
//!
//! Holds on entry: `letrec` is sorted and `labels` says which procedures become labels.

use canny_syntax::core::{Expr, ExprKind, Lambda, PrimitiveId, TopForm, Unit, VarId, VarTable};
use canny_tables::primitives::{Flags, PrimitiveId as Row};

use crate::walk::for_each_child;
use crate::walk::is_fixed;

/// The storage of each local variable.
#[derive(Debug)]
pub struct Variables {
    /// Whether it lives in a box.
    pub boxed: Vec<bool>,
    /// Whether it is assigned while it lives in a register.
    pub assigned: Vec<bool>,
}

/// Classifies the variables of a unit.
pub fn classify(unit: &Unit, labels: &[bool]) -> Variables {
    let count = unit.locals.len();
    let mut pass = Classifier {
        locals: &unit.locals,
        labels,
        home: vec![0; count],
        procedure: 0,
        procedures: 0,
        calls: 0,
        boxed: vec![false; count],
    };
    for form in &unit.body {
        match form {
            TopForm::Define(_, expr) | TopForm::Expression(expr) => pass.visit(expr, false),
        }
    }
    let boxed = pass.boxed;
    let assigned = unit
        .locals
        .iter()
        .map(|(var, row)| row.assigned && !boxed[var.0 as usize])
        .collect();
    Variables { boxed, assigned }
}

/// Whether a call of `primitive` with this many operands is done without a procedure call.
pub fn is_direct_call(primitive: PrimitiveId, operands: usize) -> bool {
    let row = primitive_row(primitive).row();
    row.accepts(operands) && !row.flags.has(Flags::FRAME)
}

/// The row's number as the tables know it.
pub fn primitive_row(primitive: PrimitiveId) -> Row {
    Row(primitive.0)
}

struct Classifier<'a> {
    locals: &'a VarTable,
    labels: &'a [bool],
    /// The procedure in which each variable is bound.
    home: Vec<u32>,
    procedure: u32,
    procedures: u32,
    /// Calls so far in this procedure that are not in tail position.
    calls: u32,
    boxed: Vec<bool>,
}

impl Classifier<'_> {
    fn bind(&mut self, var: VarId) {
        self.home[var.0 as usize] = self.procedure;
    }

    fn mention(&mut self, var: VarId) {
        if self.home[var.0 as usize] != self.procedure && self.locals[var].assigned {
            self.boxed[var.0 as usize] = true;
        }
    }

    /// Visits the scope of `vars` and boxes those that are assigned if a call happens in it.
    fn scope(&mut self, vars: &[VarId], visit: impl FnOnce(&mut Self)) {
        let before = self.calls;
        visit(self);
        if self.calls > before {
            for var in vars {
                self.boxed[var.0 as usize] |= self.locals[*var].assigned;
            }
        }
    }

    fn visit_lambda(&mut self, lambda: &Lambda) {
        let (outer, calls) = (self.procedure, self.calls);
        self.procedures += 1;
        self.procedure = self.procedures;
        let parameters = parameters(lambda);
        parameters.iter().for_each(|var| self.bind(*var));
        self.scope(&parameters, |pass| {
            lambda
                .optional
                .iter()
                .for_each(|(_, default)| pass.visit(default, false));
            lambda
                .keywords
                .iter()
                .for_each(|(_, _, default)| pass.visit(default, false));
            pass.visit(&lambda.body, true);
        });
        (self.procedure, self.calls) = (outer, calls);
    }

    fn visit(&mut self, expr: &Expr, tail: bool) {
        match &expr.kind {
            ExprKind::LocalRef(var) => self.mention(*var),
            ExprKind::LocalSet(var, value) => {
                self.visit(value, false);
                self.mention(*var);
            }
            ExprKind::If(parts) => {
                self.visit(&parts[0], false);
                self.visit(&parts[1], tail);
                self.visit(&parts[2], tail);
            }
            ExprKind::Lambda(lambda) => self.visit_lambda(lambda),
            ExprKind::CaseLambda(clauses) => clauses.iter().for_each(|c| self.visit_lambda(c)),
            ExprKind::Sequence(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.visit(part, tail && index + 1 == parts.len());
                }
            }
            ExprKind::Let { bindings, body } => self.visit_bindings(bindings, body, tail),
            ExprKind::Letrec { bindings, body, .. } => {
                if !is_fixed(bindings, self.locals) {
                    for (var, init) in bindings {
                        let fixed =
                            matches!(init.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_))
                                && !self.locals[*var].assigned;
                        self.boxed[var.0 as usize] |= !fixed;
                    }
                }
                self.visit_bindings(bindings, body, tail);
            }
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                self.visit(init, false);
                let vars: Vec<VarId> = formals
                    .required
                    .iter()
                    .copied()
                    .chain(formals.rest)
                    .collect();
                vars.iter().for_each(|var| self.bind(*var));
                self.scope(&vars, |pass| pass.visit(body, tail));
            }
            ExprKind::Call { operator, operands } => {
                self.visit(operator, false);
                operands
                    .iter()
                    .for_each(|operand| self.visit(operand, false));
                let jump = match operator.kind {
                    ExprKind::LocalRef(var) => self.labels[var.0 as usize],
                    ExprKind::PrimitiveRef(id) => is_direct_call(id, operands.len()),
                    _ => false,
                };
                self.calls += u32::from(!tail && !jump);
            }
            _ => for_each_child(expr, &mut |child| self.visit(child, false)),
        }
    }

    fn visit_bindings(&mut self, bindings: &[(VarId, Expr)], body: &Expr, tail: bool) {
        let vars: Vec<VarId> = bindings.iter().map(|(var, _)| *var).collect();
        vars.iter().for_each(|var| self.bind(*var));
        self.scope(&vars, |pass| {
            for (var, init) in bindings {
                match &init.kind {
                    ExprKind::Lambda(lambda) if pass.labels[var.0 as usize] => {
                        lambda
                            .required
                            .iter()
                            .for_each(|parameter| pass.bind(*parameter));
                        pass.scope(&lambda.required, |pass| pass.visit(&lambda.body, tail));
                    }
                    _ => pass.visit(init, false),
                }
            }
            pass.visit(body, tail);
        });
    }
}

/// All parameters of a procedure.
pub fn parameters(lambda: &Lambda) -> Vec<VarId> {
    let required = lambda.required.iter().copied();
    let optional = lambda.optional.iter().map(|(var, _)| *var);
    let keywords = lambda.keywords.iter().map(|(_, var, _)| *var);
    required
        .chain(optional)
        .chain(keywords)
        .chain(lambda.rest)
        .collect()
}
