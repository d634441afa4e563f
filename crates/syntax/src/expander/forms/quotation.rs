//! Expands `quote` and `quasiquote`.
//!
//! A part of a template without `unquote` stays one literal, at any depth and without recursion.
//! Other parts become calls that build a list or vector; elements are evaluated from left to right.
//! Calls take at most `CALL_OPERANDS_MAX` operands.

use crate::core::Expr;
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::expander::Expander;
use crate::expander::scope::ScopeId;
use crate::span::Span;
use crate::syntax::{Syntax, SyntaxKind};

/// More elements than this are joined by several calls, to keep calls short.
const CALL_OPERANDS_MAX: usize = 16;

/// A part of a quasiquoted template.
enum Quasi {
    /// Nothing in it is evaluated.
    Constant(Syntax),
    Value(Expr),
}

/// An element of a quasiquoted list or vector.
enum Element {
    Constant(Syntax),
    Value(Expr),
    /// The elements of a list value.
    Splice(Expr),
}

impl Expander<'_> {
    /// `(quote datum)`
    pub(crate) fn quote(&mut self, operands: &[Syntax], span: Span) -> Expr {
        match operands {
            [datum] => self.quoted(datum, CoreForm::Quote, span),
            _ => self.bad_expression(CoreForm::Quote, span, "expected one datum"),
        }
    }

    /// A literal, which a label around the quotation cannot be part of.
    fn quoted(&mut self, datum: &Syntax, form: CoreForm, span: Span) -> Expr {
        let datum = datum.to_datum();
        if datum.has_open_labels() {
            return self.bad_expression(form, span, "a label refers to a datum around this one");
        }
        Expr::constant(span, datum)
    }

    /// `(quasiquote template)`
    pub(crate) fn quasiquote(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let [template] = operands else {
            return self.bad_expression(CoreForm::Quasiquote, span, "expected one template");
        };
        // Data without a place to evaluate may be nested to any depth.
        if !self.has_unquote(template, scope) {
            return self.quoted(template, CoreForm::Quasiquote, span);
        }
        let result = self.quasi(template, 1, scope);
        quasi_value(result)
    }

    /// Whether an `unquote` of any level occurs. A loop, because the template may be deep.
    fn has_unquote(&mut self, template: &Syntax, scope: ScopeId) -> bool {
        let mut pending = vec![template];
        while let Some(syntax) = pending.pop() {
            match &syntax.kind {
                SyntaxKind::Identifier(_) => {
                    if self.is_auxiliary(syntax, CoreForm::Unquote, scope)
                        || self.is_auxiliary(syntax, CoreForm::UnquoteSplicing, scope)
                    {
                        return true;
                    }
                }
                SyntaxKind::Pair(pair) => pending.extend([&pair.cdr, &pair.car]),
                SyntaxKind::Vector(parts) | SyntaxKind::Labelled(_, parts) => {
                    pending.extend(parts.as_slice())
                }
                SyntaxKind::Atom(_) => {}
            }
        }
        false
    }

    /// The operand of `(keyword operand)`.
    fn quasi_operand(&mut self, syntax: &Syntax, form: CoreForm, scope: ScopeId) -> Option<Syntax> {
        let pair = syntax.as_pair()?;
        let rest = pair.cdr.as_pair()?;
        let fits = rest.cdr.is_nil() && self.is_auxiliary(&pair.car, form, scope);
        fits.then(|| rest.car.clone())
    }

    fn quasi(&mut self, template: &Syntax, level: usize, scope: ScopeId) -> Quasi {
        if !self.enter(1, template.span) {
            return Quasi::Constant(template.clone());
        }
        let result = self.quasi_inside(template, level, scope);
        self.leave(1);
        result
    }

    fn quasi_inside(&mut self, template: &Syntax, level: usize, scope: ScopeId) -> Quasi {
        if let Some(elements) = template.as_vector() {
            let elements = elements.to_vec();
            let parts: Vec<Element> = elements
                .iter()
                .map(|element| self.quasi_element(element, level, scope))
                .collect();
            if parts
                .iter()
                .all(|part| matches!(part, Element::Constant(_)))
            {
                return Quasi::Constant(template.clone());
            }
            let list = self.join(
                parts,
                Quasi::Constant(Syntax::nil(template.span)),
                template.span,
            );
            return Quasi::Value(self.primitive_call("list->vector", vec![list], template.span));
        }
        if template.as_pair().is_none() {
            return Quasi::Constant(template.clone());
        }
        if let Some(operand) = self.quasi_operand(template, CoreForm::Unquote, scope) {
            if level == 1 {
                return Quasi::Value(self.expand(&operand, scope));
            }
            return self.rebuild(template, &operand, level - 1, scope);
        }
        if self
            .quasi_operand(template, CoreForm::UnquoteSplicing, scope)
            .is_some()
            && level == 1
        {
            let message = "it splices into the list or vector around it, but there is none here";
            self.bad_form(CoreForm::UnquoteSplicing, template.span, message);
            return Quasi::Constant(template.clone());
        }
        if let Some(operand) = self.quasi_operand(template, CoreForm::Quasiquote, scope) {
            return self.rebuild(template, &operand, level + 1, scope);
        }
        self.quasi_list(template, level, scope)
    }

    /// `(keyword operand)` with the operand's expansion at another level.
    fn rebuild(
        &mut self,
        template: &Syntax,
        operand: &Syntax,
        level: usize,
        scope: ScopeId,
    ) -> Quasi {
        let element = self.quasi_element(operand, level, scope);
        if let Element::Constant(_) = element {
            return Quasi::Constant(template.clone());
        }
        let Some(pair) = template.as_pair() else {
            return Quasi::Constant(template.clone());
        };
        let parts = vec![Element::Constant(pair.car.clone()), element];
        let end = Quasi::Constant(Syntax::nil(template.span));
        Quasi::Value(self.join(parts, end, template.span))
    }

    fn quasi_list(&mut self, template: &Syntax, level: usize, scope: ScopeId) -> Quasi {
        let mut parts = Vec::new();
        let mut rest = template;
        let mut first = true;
        // `(a . ,b)` is `(a unquote b)`: what remains of a list may be a form of its own.
        let tail = loop {
            let special = [
                CoreForm::Unquote,
                CoreForm::Quasiquote,
                CoreForm::UnquoteSplicing,
            ];
            if !first
                && special
                    .iter()
                    .any(|form| self.quasi_operand(rest, *form, scope).is_some())
            {
                break self.quasi(rest, level, scope);
            }
            first = false;
            match rest.as_pair() {
                Some(pair) => {
                    parts.push(self.quasi_element(&pair.car, level, scope));
                    rest = &pair.cdr;
                }
                None => break self.quasi(rest, level, scope),
            }
        };
        let constant = parts
            .iter()
            .all(|part| matches!(part, Element::Constant(_)))
            && matches!(tail, Quasi::Constant(_));
        if constant {
            return Quasi::Constant(template.clone());
        }
        Quasi::Value(self.join(parts, tail, template.span))
    }

    fn quasi_element(&mut self, element: &Syntax, level: usize, scope: ScopeId) -> Element {
        if let Some(operand) = self.quasi_operand(element, CoreForm::UnquoteSplicing, scope) {
            if level == 1 {
                return Element::Splice(self.expand(&operand, scope));
            }
            return match self.rebuild(element, &operand, level - 1, scope) {
                Quasi::Constant(syntax) => Element::Constant(syntax),
                Quasi::Value(value) => Element::Value(value),
            };
        }
        match self.quasi(element, level, scope) {
            Quasi::Constant(syntax) => Element::Constant(syntax),
            Quasi::Value(value) => Element::Value(value),
        }
    }

    /// The list of the elements, ending with `tail`.
    fn join(&mut self, parts: Vec<Element>, tail: Quasi, span: Span) -> Expr {
        let mut rest = tail;
        // Elements in front of `rest` that are not joined to it yet, last first.
        let mut waiting: Vec<Expr> = Vec::new();
        for part in parts.into_iter().rev() {
            match part {
                Element::Constant(syntax)
                    if waiting.is_empty() && matches!(rest, Quasi::Constant(_)) =>
                {
                    if let Quasi::Constant(end) = rest {
                        rest = Quasi::Constant(Syntax::cons(span, syntax, end));
                    }
                }
                Element::Constant(syntax) => waiting.push(quasi_value(Quasi::Constant(syntax))),
                Element::Value(value) => waiting.push(value),
                Element::Splice(list) => {
                    let end = self.join_waiting(&mut waiting, rest, span);
                    let is_empty = matches!(&end, Quasi::Constant(syntax) if syntax.is_nil());
                    // A list at the very end is the tail itself, which need not be a list.
                    rest = Quasi::Value(if is_empty {
                        list
                    } else {
                        self.primitive_call("append", vec![list, quasi_value(end)], span)
                    });
                }
            }
            if waiting.len() == CALL_OPERANDS_MAX {
                rest = self.join_waiting(&mut waiting, rest, span);
            }
        }
        quasi_value(self.join_waiting(&mut waiting, rest, span))
    }

    fn join_waiting(&mut self, waiting: &mut Vec<Expr>, rest: Quasi, span: Span) -> Quasi {
        if waiting.is_empty() {
            return rest;
        }
        let mut operands: Vec<Expr> = waiting.drain(..).rev().collect();
        if matches!(&rest, Quasi::Constant(syntax) if syntax.is_nil()) {
            return Quasi::Value(self.primitive_call("list", operands, span));
        }
        let name = if operands.len() == 1 { "cons" } else { "cons*" };
        operands.push(quasi_value(rest));
        Quasi::Value(self.primitive_call(name, operands, span))
    }
}

fn quasi_value(part: Quasi) -> Expr {
    match part {
        Quasi::Constant(syntax) => {
            let datum: Datum = syntax.to_datum();
            Expr::constant(syntax.span, datum)
        }
        Quasi::Value(value) => value,
    }
}
