//! `case`: a chain of comparisons that the compiler may turn into something better.
//!
//! Keys that `eq?` compares rightly are compared with `eq?`, others with `eqv?`; many keys in one
//! clause become one `memv`.

use crate::core::{Expr, ExprKind, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::number;
use crate::span::Span;
use crate::syntax::Syntax;

/// More keys than this in one clause are looked up in a list.
const COMPARED_KEYS_MAX: usize = 8;

/// A clause of `case`, expanded.
struct Clause {
    test: Expr,
    body: Expr,
    span: Span,
}

impl Expander<'_> {
    /// `(case key ((datum …) expression …) … [(else expression …)])`
    pub(crate) fn case(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::Case;
        let Some((key, clauses)) = operands
            .split_first()
            .filter(|(_, clauses)| !clauses.is_empty())
        else {
            return self.bad_expression(form, span, "expected a key and at least one clause");
        };
        let key_value = self.expand(key, scope);
        let variable = self.locals.add(Name::new("key"), key.span);
        if !self.enter(clauses.len(), span) {
            return Expr::unspecified(span);
        }
        let mut parts = Vec::with_capacity(clauses.len());
        let mut otherwise = None;
        let mut seen: Vec<(Datum, Span)> = Vec::new();
        for (index, clause) in clauses.iter().enumerate() {
            let Some(elements) = clause.elements().filter(|elements| elements.len() >= 2) else {
                let message = format!("clause {} is not ((datum …) expression …)", index + 1);
                self.bad_form(form, clause.span, message);
                continue;
            };
            if self.is_auxiliary(&elements[0], CoreForm::Else, scope) {
                if index + 1 != clauses.len() {
                    self.bad_form(form, clause.span, "the else clause must be the last one");
                }
                otherwise = Some(self.case_body(&elements[1..], variable, scope, clause.span));
                continue;
            }
            let Some(keys) = elements[0].elements() else {
                let message = format!(
                    "clause {} must begin with a list of data or with else",
                    index + 1
                );
                self.bad_form(form, elements[0].span, message);
                continue;
            };
            for key in &keys {
                self.note_case_key(key, &mut seen);
            }
            let test = self.case_test(&keys, variable, elements[0].span);
            let body = self.case_body(&elements[1..], variable, scope, clause.span);
            parts.push(Clause {
                test,
                body,
                span: clause.span,
            });
        }
        self.leave(clauses.len());
        let mut result = otherwise.unwrap_or_else(|| Expr::unspecified(span));
        while let Some(Clause { test, body, span }) = parts.pop() {
            result = Expr::conditional(span, test, body, result);
        }
        Expr::new(
            span,
            ExprKind::Let {
                bindings: vec![(variable, key_value)],
                body: Box::new(result),
            },
        )
    }

    /// Warns of a key that an earlier one shadows. Long `case` forms are not checked, since the
    /// check is quadratic.
    fn note_case_key(&mut self, key: &Syntax, seen: &mut Vec<(Datum, Span)>) {
        let datum = key.to_datum();
        if seen.len() > 1_000 || !compares_by_value(&datum) {
            return;
        }
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == datum) {
            let message =
                format!("case: the key `{datum}` occurs twice; the second one is never reached");
            let diagnostic = Diagnostic::warning("duplicate-key", key.span, message)
                .label(*first, "it occurs here first");
            self.report(diagnostic);
            return;
        }
        seen.push((datum, key.span));
    }

    fn case_body(
        &mut self,
        elements: &[Syntax],
        variable: VarId,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        if self.is_auxiliary(&elements[0], CoreForm::Arrow, scope) {
            let [_, receiver] = elements else {
                return self.bad_expression(CoreForm::Case, span, "one procedure must follow =>");
            };
            let receiver = self.expand(receiver, scope);
            return Expr::call(
                span,
                receiver,
                vec![Expr::new(span, ExprKind::LocalRef(variable))],
            );
        }
        self.sequence(elements, scope, span)
    }

    fn case_test(&mut self, keys: &[Syntax], variable: VarId, span: Span) -> Expr {
        let value = Expr::new(span, ExprKind::LocalRef(variable));
        if keys.len() > COMPARED_KEYS_MAX {
            let list = Datum::list(keys.iter().map(Syntax::to_datum).collect());
            return self.primitive_call("memv", vec![value, Expr::constant(span, list)], span);
        }
        let mut result = None;
        for key in keys.iter().rev() {
            let datum = key.to_datum();
            let name = if is_immediate(&datum) { "eq?" } else { "eqv?" };
            let operands = vec![value.clone(), Expr::constant(key.span, datum)];
            let test = self.primitive_call(name, operands, key.span);
            result = Some(match result {
                None => test,
                Some(rest) => {
                    let yes = Expr::constant(key.span, Datum::Boolean(true));
                    Expr::conditional(key.span, test, yes, rest)
                }
            });
        }
        result.unwrap_or_else(|| Expr::constant(span, Datum::Boolean(false)))
    }
}

/// Whether `eqv?` on two such data depends on their content alone.
fn compares_by_value(datum: &Datum) -> bool {
    is_immediate(datum) || matches!(datum, Datum::Number(_))
}

/// Whether `eq?` and `eqv?` agree on the datum.
fn is_immediate(datum: &Datum) -> bool {
    match datum {
        Datum::Nil
        | Datum::Boolean(_)
        | Datum::Character(_)
        | Datum::Symbol(_)
        | Datum::Eof
        | Datum::Unspecified
        | Datum::DefaultObject => true,
        // Fixnums have 62 bits.
        Datum::Number(number) => number::as_integer(number)
            .is_some_and(|value| (-(1_i64 << 61)..1_i64 << 61).contains(&value)),
        _ => false,
    }
}
