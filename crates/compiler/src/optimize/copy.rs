//! Copies procedures with fresh variables, for inlining.
//!
//! A variable is bound only once in its unit, and every pass relies on that; so each copy binds new
//! variables. Variables bound outside keep their numbers. The caller maps positions, so that a copy
//! can be attributed to its call.

use std::collections::HashMap;

use canny_syntax::core::{Expr, ExprKind, Formals, Lambda, VarId, VarTable};
use canny_syntax::span::Span;

/// A copy of a procedure whose variables are added to `to`. The original's are in `from`, or in
/// `to` itself if that is `None`; variables bound outside the procedure keep their numbers.
/// `position` gives the position in the copy for one in the original.
pub fn copy_lambda(
    lambda: &Lambda,
    from: Option<&VarTable>,
    to: &mut VarTable,
    position: &mut dyn FnMut(Span) -> Span,
) -> Lambda {
    Copier {
        from,
        to,
        position,
        renamed: HashMap::new(),
    }
    .lambda(lambda)
}

struct Copier<'a> {
    /// The table of the original; `to` itself if there is none.
    from: Option<&'a VarTable>,
    to: &'a mut VarTable,
    position: &'a mut dyn FnMut(Span) -> Span,
    renamed: HashMap<VarId, VarId>,
}

impl Copier<'_> {
    fn bind(&mut self, var: VarId) -> VarId {
        let row = match self.from {
            Some(table) => table[var].clone(),
            None => self.to[var].clone(),
        };
        let fresh = self.to.add(row.name, (self.position)(row.span));
        self.to[fresh].assigned = row.assigned;
        self.renamed.insert(var, fresh);
        fresh
    }

    fn var(&self, var: VarId) -> VarId {
        self.renamed.get(&var).copied().unwrap_or(var)
    }

    fn lambda(&mut self, lambda: &Lambda) -> Lambda {
        let required = lambda.required.iter().map(|var| self.bind(*var)).collect();
        let mut optional = Vec::with_capacity(lambda.optional.len());
        for (var, default) in &lambda.optional {
            let default = self.expr(default);
            optional.push((self.bind(*var), default));
        }
        let mut keywords = Vec::with_capacity(lambda.keywords.len());
        for (name, var, default) in &lambda.keywords {
            let default = self.expr(default);
            keywords.push((*name, self.bind(*var), default));
        }
        let rest = lambda.rest.map(|var| self.bind(var));
        Lambda {
            name: lambda.name,
            required,
            optional,
            keywords,
            rest,
            allow_other_keys: lambda.allow_other_keys,
            body: self.expr(&lambda.body),
            span: (self.position)(lambda.span),
        }
    }

    fn boxed(&mut self, expr: &Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn all(&mut self, exprs: &[Expr]) -> Vec<Expr> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn expr(&mut self, expr: &Expr) -> Expr {
        let kind = match &expr.kind {
            ExprKind::Constant(datum) => ExprKind::Constant(datum.clone()),
            ExprKind::LocalRef(var) => ExprKind::LocalRef(self.var(*var)),
            ExprKind::LocalSet(var, value) => {
                let value = self.boxed(value);
                ExprKind::LocalSet(self.var(*var), value)
            }
            ExprKind::GlobalRef(global) => ExprKind::GlobalRef(global.clone()),
            ExprKind::GlobalSet(global, value) => {
                ExprKind::GlobalSet(global.clone(), self.boxed(value))
            }
            ExprKind::PrimitiveRef(id) => ExprKind::PrimitiveRef(*id),
            ExprKind::If(parts) => {
                let [test, consequent, alternative] = &**parts;
                let parts = [
                    self.expr(test),
                    self.expr(consequent),
                    self.expr(alternative),
                ];
                ExprKind::If(Box::new(parts))
            }
            ExprKind::Lambda(lambda) => ExprKind::Lambda(Box::new(self.lambda(lambda))),
            ExprKind::CaseLambda(clauses) => {
                ExprKind::CaseLambda(clauses.iter().map(|clause| self.lambda(clause)).collect())
            }
            ExprKind::Sequence(parts) => ExprKind::Sequence(self.all(parts)),
            ExprKind::Let { bindings, body } => {
                let mut copies = Vec::with_capacity(bindings.len());
                for (var, init) in bindings {
                    let init = self.expr(init);
                    copies.push((self.bind(*var), init));
                }
                ExprKind::Let {
                    bindings: copies,
                    body: self.boxed(body),
                }
            }
            ExprKind::Letrec {
                star,
                bindings,
                body,
            } => {
                let vars: Vec<VarId> = bindings.iter().map(|(var, _)| self.bind(*var)).collect();
                let inits: Vec<Expr> = bindings.iter().map(|(_, init)| self.expr(init)).collect();
                let bindings = vars.into_iter().zip(inits).collect();
                ExprKind::Letrec {
                    star: *star,
                    bindings,
                    body: self.boxed(body),
                }
            }
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                let init = self.boxed(init);
                let required = formals.required.iter().map(|var| self.bind(*var)).collect();
                let rest = formals.rest.map(|var| self.bind(var));
                let formals = Formals { required, rest };
                ExprKind::LetValues {
                    formals,
                    init,
                    body: self.boxed(body),
                }
            }
            ExprKind::Call { operator, operands } => {
                let operator = self.boxed(operator);
                ExprKind::Call {
                    operator,
                    operands: self.all(operands),
                }
            }
        };
        Expr::new((self.position)(expr.span), kind)
    }
}
