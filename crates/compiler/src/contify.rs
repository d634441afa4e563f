//! Finds the procedures that are only ever called with one and the same continuation.
//!
//! Such a procedure needs no closure and no frame: its parameters become registers of the
//! procedure around it and calls become jumps. Loops written as named `let` or `do`, and the join
//! points that inlining leaves, are the usual cases.
//!
//! Each expression is visited with the number of its *context*: two expressions have the same one
//! exactly if they are in tail position of the same evaluation. Every candidate's body starts a
//! context of its own; when the candidate turns out to be called from its binding's context and
//! from its group's bodies only, these contexts become one (union-find). Inner bindings are decided
//! before outer ones, so that a loop inside a loop works.
//!
//! Holds on entry: `letrec` is sorted. The core is not changed; the result is a set of variables.

use canny_syntax::core::{Expr, ExprKind, Lambda, TopForm, Unit, VarId, VarTable};

use crate::walk::is_fixed;
use crate::walk::{for_each_child, for_each_lambda_child, has_plain_parameters};

/// For each local variable, whether the procedure bound to it becomes a label.
pub fn find_labels(unit: &Unit) -> Vec<bool> {
    let count = unit.locals.len();
    let mut pass = Contifier {
        locals: &unit.locals,
        candidates: (0..count).map(|_| None).collect(),
        parents: Vec::new(),
        labels: vec![false; count],
    };
    for form in &unit.body {
        match form {
            TopForm::Define(_, expr) | TopForm::Expression(expr) => pass.visit_apart(expr),
        }
    }
    pass.labels
}

type Context = u32;

struct Candidate {
    arity: usize,
    /// Contexts of the calls; `None` once the procedure was used in any other way.
    calls: Option<Vec<Context>>,
}

struct Contifier<'a> {
    locals: &'a VarTable,
    candidates: Vec<Option<Candidate>>,
    /// Union-find over contexts.
    parents: Vec<Context>,
    labels: Vec<bool>,
}

impl Contifier<'_> {
    fn new_context(&mut self) -> Context {
        let context = self.parents.len() as Context;
        self.parents.push(context);
        context
    }

    fn find(&mut self, mut context: Context) -> Context {
        while self.parents[context as usize] != context {
            let above = self.parents[context as usize];
            self.parents[context as usize] = self.parents[above as usize];
            context = above;
        }
        context
    }

    fn visit_apart(&mut self, expr: &Expr) {
        let context = self.new_context();
        self.visit(expr, context);
    }

    fn visit_lambda(&mut self, lambda: &Lambda) {
        for_each_lambda_child(lambda, &mut |child| self.visit_apart(child));
    }

    fn visit(&mut self, expr: &Expr, context: Context) {
        match &expr.kind {
            ExprKind::LocalRef(var) => self.spoil(*var),
            ExprKind::If(parts) => {
                self.visit_apart(&parts[0]);
                self.visit(&parts[1], context);
                self.visit(&parts[2], context);
            }
            ExprKind::Sequence(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index + 1 == parts.len() {
                        self.visit(part, context);
                    } else {
                        self.visit_apart(part);
                    }
                }
            }
            ExprKind::Let { bindings, body } => self.visit_let(bindings, body, context),
            ExprKind::Letrec { bindings, body, .. } => {
                if is_fixed(bindings, self.locals) {
                    self.visit_fixed(bindings, body, context);
                } else {
                    bindings.iter().for_each(|(_, init)| self.visit_apart(init));
                    self.visit(body, context);
                }
            }
            ExprKind::LetValues { init, body, .. } => {
                self.visit_apart(init);
                self.visit(body, context);
            }
            ExprKind::Call { operator, operands } => {
                match operator.kind {
                    ExprKind::LocalRef(var) => self.call(var, operands.len(), context),
                    _ => self.visit_apart(operator),
                }
                operands
                    .iter()
                    .for_each(|operand| self.visit_apart(operand));
            }
            _ => for_each_child(expr, &mut |child| self.visit_apart(child)),
        }
    }

    /// Marks `var` as used other than by a call.
    fn spoil(&mut self, var: VarId) {
        if let Some(candidate) = &mut self.candidates[var.0 as usize] {
            candidate.calls = None;
        }
    }

    fn call(&mut self, var: VarId, arguments: usize, context: Context) {
        if let Some(candidate) = &mut self.candidates[var.0 as usize] {
            if candidate.arity == arguments {
                if let Some(calls) = &mut candidate.calls {
                    calls.push(context);
                }
            } else {
                candidate.calls = None;
            }
        }
    }

    fn propose(&mut self, var: VarId, lambda: &Lambda) {
        let candidate = Candidate {
            arity: lambda.required.len(),
            calls: Some(Vec::new()),
        };
        self.candidates[var.0 as usize] = Some(candidate);
    }

    fn visit_let(&mut self, bindings: &[(VarId, Expr)], body: &Expr, context: Context) {
        let mut bodies = Vec::new();
        for (var, init) in bindings {
            match &init.kind {
                ExprKind::Lambda(lambda)
                    if has_plain_parameters(lambda) && !self.locals[*var].assigned =>
                {
                    let inner = self.new_context();
                    self.visit(&lambda.body, inner);
                    self.propose(*var, lambda);
                    bodies.push((*var, inner));
                }
                _ => self.visit_apart(init),
            }
        }
        self.visit(body, context);
        for (var, inner) in bodies {
            self.decide(&[(var, inner)], context, false);
        }
    }

    fn visit_fixed(&mut self, bindings: &[(VarId, Expr)], body: &Expr, context: Context) {
        let mut bodies = Vec::new();
        for (var, init) in bindings {
            if let ExprKind::Lambda(lambda) = &init.kind
                && has_plain_parameters(lambda)
            {
                self.propose(*var, lambda);
            }
        }
        for (var, init) in bindings {
            match &init.kind {
                ExprKind::Lambda(lambda) if has_plain_parameters(lambda) => {
                    let inner = self.new_context();
                    self.visit(&lambda.body, inner);
                    bodies.push((*var, inner));
                }
                ExprKind::Lambda(lambda) => self.visit_lambda(lambda),
                _ => self.visit_apart(init),
            }
        }
        self.visit(body, context);
        if bodies.len() == bindings.len() {
            self.decide(&bodies, context, true);
        }
    }

    /// Makes labels of a group if every call comes from `context` or, for a recursive group, from
    /// one of its bodies.
    fn decide(&mut self, group: &[(VarId, Context)], context: Context, recursive: bool) {
        let home = self.find(context);
        let inner: Vec<Context> = group.iter().map(|(_, inner)| self.find(*inner)).collect();
        for (var, _) in group {
            let Some(calls) = self.candidates[var.0 as usize]
                .take()
                .and_then(|candidate| candidate.calls)
            else {
                return;
            };
            for call in calls {
                let from = self.find(call);
                if from != home && !(recursive && inner.contains(&from)) {
                    return;
                }
            }
        }
        for (var, _) in group {
            self.labels[var.0 as usize] = true;
        }
        for context in inner {
            self.parents[context as usize] = home;
        }
    }
}
