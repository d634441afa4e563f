//! Simplifies calls: direct application, constant folding, `apply` of known lists, calls with one
//! operand that do nothing.
//!
//! Folding uses the flags of the table of primitives and the numeric tower. A call that would raise
//! is left as it is, so that the error occurs when the program runs. Limits keep literal lists from
//! becoming long code.

use canny_syntax::core::{Expr, ExprKind, Formals, Lambda, PrimitiveId, VarId};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::number::as_integer;
use canny_syntax::span::Span;
use canny_tables::primitives::Flags;

use super::{Context, Simplifier, take};
use crate::literals::has_word_identity;
use crate::optimize::beta::{apply, is_applicable, select_clause};
use crate::optimize::build::{local, primitive};
use crate::optimize::effects::{has_no_effect, primitive_call};
use crate::optimize::expand_values::{is_call_with_values, rewrite};
use crate::optimize::known::Known;

/// Longest literal list that `apply` is spread over.
const SPREAD_MAX: usize = 64;
/// Greatest length of a literal list that is looked into.
const ELEMENTS_MAX: usize = 256;

impl Simplifier<'_> {
    pub(super) fn visit_call(&mut self, expr: &mut Expr, context: Context) {
        let span = expr.span;
        if let ExprKind::Call { operator, .. } = &mut expr.kind {
            self.resolve_operator(operator, span);
        }
        if self.apply_directly(expr) {
            return self.visit(expr, context);
        }
        if is_call_with_values(expr) && self.spend() {
            rewrite(expr, self.locals);
            return self.visit(expr, context);
        }
        if let Some(call) = self.spread_apply(expr) {
            *expr = call;
            return self.visit_call(expr, context);
        }
        let primitive = primitive_call(expr).map(|(id, _)| id);
        let Some(id) = primitive else {
            return self.visit_children(expr);
        };
        let ExprKind::Call { operands, .. } = &mut expr.kind else {
            return;
        };
        let inner = match id.row().name {
            "not" => Context::Test,
            _ if context == Context::Effect && has_no_effect(id) => Context::Effect,
            _ => Context::Value,
        };
        for operand in operands.iter_mut() {
            self.visit(operand, inner);
        }
        self.reduce(expr, id, context);
    }

    /// Replaces an operator that is a variable by what is known of it.
    fn resolve_operator(&mut self, operator: &mut Expr, call: Span) {
        match &operator.kind {
            ExprKind::LocalRef(var) => {
                let var = *var;
                if let Some(mut kind) = self.pending.remove(&var) {
                    self.mark_moved(var, &mut kind, call);
                    operator.kind = kind;
                } else {
                    self.visit(operator, Context::Value);
                }
            }
            ExprKind::GlobalRef(_) => self.visit(operator, Context::Value),
            _ => {}
        }
    }

    /// Marks the expressions of a procedure that moves to its only call. The parameter of an imported
    /// procedure is no name that the programmer knows: what it is bound to stays part of its surroundings.
    fn mark_moved(&mut self, var: VarId, kind: &mut ExprKind, call: Span) {
        let row = &self.locals[var];
        let is_imported = self.inlinings.is_imported(row.span);
        let clauses = match kind {
            ExprKind::Lambda(lambda) => std::slice::from_mut(&mut **lambda),
            ExprKind::CaseLambda(clauses) => clauses.as_mut_slice(),
            _ => return,
        };
        for clause in clauses {
            let is_unnamed = is_imported && clause.name.is_none();
            if is_unnamed || self.inlinings.is_imported(clause.span) {
                continue;
            }
            let mut marks = self.inlinings.copy(clause.name.or(Some(row.name)), call);
            self.inlinings.mark_lambda(&mut marks, clause);
        }
    }

    /// Turns the call of a procedure expression into a binding form, and takes bindings and
    /// sequences out of the operator.
    fn apply_directly(&mut self, expr: &mut Expr) -> bool {
        let span = expr.span;
        let ExprKind::Call { operator, operands } = &mut expr.kind else {
            return false;
        };
        let count = operands.len();
        let applicable = match &operator.kind {
            ExprKind::Lambda(lambda) => is_applicable(lambda, operands),
            ExprKind::CaseLambda(clauses) => select_clause(clauses, count).is_some(),
            ExprKind::Let { .. } | ExprKind::Letrec { .. } | ExprKind::LetValues { .. } => true,
            ExprKind::Sequence(parts) => !parts.is_empty(),
            _ => false,
        };
        if !applicable || !self.budget.spend() {
            return false;
        }
        self.changed = true;
        let operands = std::mem::take(operands);
        let operator = take(operator);
        *expr = match operator.kind {
            ExprKind::Lambda(lambda) => apply(*lambda, operands, span),
            ExprKind::CaseLambda(mut clauses) => {
                let clause: Lambda = match select_clause(&clauses, count) {
                    Some(index) => clauses.swap_remove(index),
                    None => return false,
                };
                apply(clause, operands, span)
            }
            mut kind => {
                let inner = match &mut kind {
                    ExprKind::Let { body, .. }
                    | ExprKind::Letrec { body, .. }
                    | ExprKind::LetValues { body, .. } => &mut **body,
                    ExprKind::Sequence(parts) => match parts.last_mut() {
                        Some(last) => last,
                        None => return false,
                    },
                    _ => return false,
                };
                let procedure = take(inner);
                *inner = Expr::call(span, procedure, operands);
                Expr::new(span, kind)
            }
        };
        true
    }

    /// `(apply f a (list b c))` as `(f a b c)`, also with a literal list at the end.
    fn spread_apply(&mut self, expr: &mut Expr) -> Option<Expr> {
        let (id, operands) = primitive_call(expr)?;
        if !matches!(id.row().name, "apply" | "%apply") {
            return None;
        }
        let last = operands.last()?;
        let spreads = match &last.kind {
            ExprKind::Constant(datum) => {
                literal_elements(datum).is_some_and(|all| all.len() <= SPREAD_MAX)
            }
            _ => primitive_call(last).is_some_and(|(id, _)| id.row().name == "list"),
        };
        if !spreads || !self.budget.spend() {
            return None;
        }
        self.changed = true;
        let span = expr.span;
        let ExprKind::Call { operands, .. } = &mut expr.kind else {
            return None;
        };
        let last = operands.pop()?;
        let mut arguments = std::mem::take(operands);
        let procedure = arguments.remove(0);
        match last.kind {
            ExprKind::Constant(datum) => {
                let elements = literal_elements(&datum).unwrap_or_default();
                arguments.extend(
                    elements
                        .into_iter()
                        .map(|one| Expr::constant(last.span, one)),
                );
            }
            ExprKind::Call { operands, .. } => arguments.extend(operands),
            _ => {}
        }
        Some(Expr::call(span, procedure, arguments))
    }

    /// `(%apply-values f (values a b))` as `(f a b)`, and any values for `list` as a list.
    fn apply_values(&mut self, expr: &mut Expr) {
        let span = expr.span;
        let ExprKind::Call { operands, .. } = &mut expr.kind else {
            return;
        };
        let [consumer, values] = operands.as_mut_slice() else {
            return;
        };
        let names = |expr: &Expr, name| match expr.kind {
            ExprKind::PrimitiveRef(id) => id.row().name == name,
            _ => false,
        };
        let are_known = primitive_call(values).is_some_and(|(id, _)| id.row().name == "values");
        if !(are_known || names(consumer, "list")) || !self.budget.spend() {
            return;
        }
        self.changed = true;
        let (consumer, values) = (take(consumer), take(values));
        *expr = match values.kind {
            ExprKind::Call { operands, .. } if are_known => Expr::call(span, consumer, operands),
            kind => {
                let all = self.locals.add(Name::new("values"), span);
                let formals = Formals {
                    required: Vec::new(),
                    rest: Some(all),
                };
                let init = Box::new(Expr::new(values.span, kind));
                let body = Box::new(local(all, span));
                Expr::new(
                    span,
                    ExprKind::LetValues {
                        formals,
                        init,
                        body,
                    },
                )
            }
        };
    }

    /// Simplifies a primitive call whose operands have been visited.
    fn reduce(&mut self, expr: &mut Expr, id: PrimitiveId, context: Context) {
        let span = expr.span;
        let ExprKind::Call { operands, .. } = &mut expr.kind else {
            return;
        };
        let literals: Vec<&Datum> = operands
            .iter()
            .filter_map(|operand| match &operand.kind {
                ExprKind::Constant(datum) => Some(datum),
                _ => None,
            })
            .collect();
        let row = id.row();
        let folds = row.flags.has(Flags::FOLDABLE)
            || matches!(row.name, "list" | "append") && operands.is_empty()
            || row.name == "equal?";
        if folds
            && literals.len() == operands.len()
            && let Some(value) = self.folder.fold(id, &literals)
        {
            if self.spend() {
                *expr = Expr::constant(span, value);
            }
            return;
        }
        if context == Context::Effect && has_no_effect(id) {
            if self.spend() {
                let mut parts = std::mem::take(operands);
                parts.push(Expr::unspecified(span));
                *expr = self.sequence(parts, span);
            }
            return;
        }
        match (row.name, operands.as_mut_slice()) {
            ("values", [_]) if self.budget.spend() => {
                self.changed = true;
                if let Some(operand) = operands.pop() {
                    *expr = operand;
                }
            }
            ("eqv?" | "equal?", [left, right]) if is_identity(left) || is_identity(right) => {
                if self.spend()
                    && let ExprKind::Call { operator, .. } = &mut expr.kind
                {
                    **operator = primitive("eq?", span);
                }
            }
            ("procedure?", [operand]) if self.is_procedure(operand) && self.spend() => {
                *expr = Expr::constant(span, Datum::Boolean(true));
            }
            (
                "char?" | "string?" | "vector?" | "pair?" | "null?" | "symbol?" | "number?"
                | "boolean?" | "fixnum?" | "exact-integer?",
                [operand],
            ) if self.is_procedure(operand) && self.spend() => {
                *expr = Expr::constant(span, Datum::Boolean(false));
            }
            ("not", [operand]) => {
                let inner = match primitive_call(operand) {
                    Some((inner, [_])) => inner.row().name == "not",
                    _ => false,
                };
                if inner && context == Context::Test && self.spend() {
                    *expr = take_operand(take_operand(take(expr)));
                }
            }
            (
                "memq" | "memv" | "%member" | "assq" | "assv" | "%assoc",
                [
                    _,
                    Expr {
                        kind: ExprKind::Constant(_),
                        ..
                    },
                ],
            ) if context != Context::Effect => self.search_literal(expr, context),
            ("%apply-values", [_, _]) => self.apply_values(expr),
            ("list->vector", [_]) => self.vector_of_list(expr),
            ("length", [_]) => self.length_of_list(expr),
            ("append", [_]) if self.spend() => *expr = take_operand(take(expr)),
            ("list-tail", [_, count]) if is_zero(count) && self.spend() => {
                operands.pop();
                *expr = take_operand(take(expr));
            }
            // The type of the one operand is still checked.
            ("bitwise-and", [_]) if self.spend() => operands.push(integer(-1, span)),
            ("bitwise-ior" | "bitwise-xor", [_]) if self.spend() => operands.push(integer(0, span)),
            _ => {}
        }
    }
}

impl Simplifier<'_> {
    /// Whether reading it gives a procedure and does nothing else.
    fn is_procedure(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::LocalRef(var) => self.procedures.contains(var),
            ExprKind::GlobalRef(global) => matches!(
                self.globals.get(global),
                Some(Known::Procedure | Known::Imported(_))
            ),
            kind => matches!(
                kind,
                ExprKind::Lambda(_) | ExprKind::CaseLambda(_) | ExprKind::PrimitiveRef(_)
            ),
        }
    }
}

fn is_identity(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(datum) => has_word_identity(datum),
        _ => false,
    }
}

fn is_zero(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(Datum::Number(number)) => as_integer(number) == Some(0),
        _ => false,
    }
}

fn integer(value: i64, span: Span) -> Expr {
    Expr::constant(span, Datum::integer(value))
}

fn take_operand(expr: Expr) -> Expr {
    let span = expr.span;
    match expr.kind {
        ExprKind::Call { mut operands, .. } => operands.pop().unwrap_or(Expr::unspecified(span)),
        kind => Expr::new(span, kind),
    }
}

/// The elements of a short literal list of atoms. An element with an identity of its own must not
/// become a literal by itself, which would be another object.
pub(super) fn literal_elements(datum: &Datum) -> Option<Vec<Datum>> {
    let mut elements = Vec::new();
    let mut rest = datum;
    while let Datum::Pair(pair) = rest {
        let is_atom = has_word_identity(&pair.car) || matches!(pair.car, Datum::Number(_));
        if elements.len() == ELEMENTS_MAX || !is_atom {
            return None;
        }
        elements.push(pair.car.clone());
        rest = &pair.cdr;
    }
    matches!(rest, Datum::Nil).then_some(elements)
}
