//! Expands expressions: dispatches on the form, expands calls, and has helpers that take forms
//! apart.
//!
//! Every form gives an expression: after an error it is reported and a harmless expression stands
//! in its place, so that all errors of a file are found. A procedure without a name gets the name
//! of the variable that it becomes the value of.

use crate::core::{Expr, ExprKind, Lambda};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::recording::Role;
use crate::span::Span;
use crate::syntax::{Syntax, SyntaxKind};

impl Expander<'_> {
    /// Expands an expression.
    pub(crate) fn expand(&mut self, syntax: &Syntax, scope: ScopeId) -> Expr {
        self.expand_named(syntax, None, scope)
    }

    /// Expands an expression whose value, if it is a procedure without a name, gets this one.
    pub(crate) fn expand_named(
        &mut self,
        syntax: &Syntax,
        name: Option<Name>,
        scope: ScopeId,
    ) -> Expr {
        if !self.enter(1, syntax.span) {
            return Expr::unspecified(syntax.span);
        }
        let saved = self.step;
        let mut result = self.expand_inside(syntax, scope);
        if name.is_some() {
            name_procedure(&mut result, name);
        }
        self.step = saved;
        self.leave(1);
        result
    }

    fn expand_inside(&mut self, syntax: &Syntax, scope: ScopeId) -> Expr {
        let mut current = syntax.clone();
        loop {
            let head = match &current.unlabelled().kind {
                SyntaxKind::Identifier(identifier) => {
                    let identifier = *identifier;
                    match self.resolve(identifier, scope) {
                        Denotation::Macro(used) if Self::is_identifier_macro(&used) => {
                            let meaning = Denotation::Macro(used.clone());
                            self.note(identifier, current.span, Role::Reference, &meaning);
                            match self.expand_macro(&used, &current, scope) {
                                Some(result) => current = result,
                                None => return Expr::unspecified(current.span),
                            }
                            continue;
                        }
                        _ => return self.reference(identifier, current.span, scope),
                    }
                }
                SyntaxKind::Atom(datum) => return self.self_evaluating(datum, current.span),
                SyntaxKind::Vector(_) => return Expr::constant(current.span, current.to_datum()),
                SyntaxKind::Pair(pair) => pair.car.as_identifier(),
                SyntaxKind::Labelled(..) => None,
            };
            let meaning = head.map(|head| self.resolve(head, scope));
            if let (Some(head), Some(meaning @ (Denotation::Core(_) | Denotation::Macro(_)))) =
                (head, &meaning)
                && let Some(pair) = current.as_pair()
            {
                self.note(head, pair.car.span, Role::Reference, meaning);
            }
            match meaning {
                Some(Denotation::Core(form)) => return self.core_form(form, &current, scope),
                Some(Denotation::Macro(used)) => match self.expand_macro(&used, &current, scope) {
                    Some(result) => current = result,
                    None => return Expr::unspecified(current.span),
                },
                Some(Denotation::Global { name, .. }) => {
                    return match self.call_by_syntax(&name, &current, scope) {
                        Some(result) => result,
                        None => self.call(&current, scope),
                    };
                }
                meaning => {
                    if let (Some(head), Some(Denotation::Unbound(name))) = (head, &meaning)
                        && self.is_no_call(head.name, name, &current, scope)
                    {
                        return Expr::unspecified(current.span);
                    }
                    return self.call(&current, scope);
                }
            }
        }
    }

    fn self_evaluating(&mut self, datum: &Datum, span: Span) -> Expr {
        match datum {
            Datum::Nil => {
                let message = "`()` is not an expression: a call needs an operator, and the empty \
                               list is written '()";
                self.error("empty-call", span, message);
                Expr::unspecified(span)
            }
            Datum::LabelRef(_) => {
                self.error(
                    "label-in-code",
                    span,
                    "a datum label can be referred to inside literal data only",
                );
                Expr::unspecified(span)
            }
            other => Expr::constant(span, other.clone()),
        }
    }

    fn call(&mut self, syntax: &Syntax, scope: ScopeId) -> Expr {
        let parts = syntax.parts();
        if !parts.tail.is_nil() {
            let message = format!(
                "a call is a proper list, but this one ends with `. {}`",
                parts.tail
            );
            self.error("dotted-call", parts.tail.span, message);
            return Expr::unspecified(syntax.span);
        }
        let mut expressions = parts
            .elements
            .iter()
            .map(|element| self.expand(element, scope));
        let operator = expressions.next();
        let operands: Vec<Expr> = expressions.collect();
        match operator {
            Some(operator) if self.has_applicable_calls(&parts.elements[0], scope) => {
                self.applicable_call(operator, operands, syntax.span)
            }
            Some(operator) => Expr::call(syntax.span, operator, operands),
            None => Expr::unspecified(syntax.span),
        }
    }

    /// Dispatch of the core forms in expressions.
    fn core_form(&mut self, form: CoreForm, syntax: &Syntax, scope: ScopeId) -> Expr {
        let span = syntax.span;
        let Some(elements) = syntax.elements() else {
            self.bad_form(form, span, "the form is not a proper list");
            return Expr::unspecified(span);
        };
        let operands = &elements[1..];
        match form {
            CoreForm::Quote => self.quote(operands, span),
            CoreForm::Quasiquote => self.quasiquote(operands, scope, span),
            CoreForm::Lambda => self.lambda(operands, false, scope, span),
            CoreForm::LambdaStar => self.lambda(operands, true, scope, span),
            CoreForm::CaseLambda => self.case_lambda(operands, scope, span),
            CoreForm::NamedLambda => self.named_lambda(operands, scope, span),
            CoreForm::Let => self.let_form(operands, scope, span),
            CoreForm::LetStar => self.let_star(operands, scope, span),
            CoreForm::Letrec => self.letrec(operands, false, scope, span),
            CoreForm::LetrecStar => self.letrec(operands, true, scope, span),
            CoreForm::LetValues => self.let_values(operands, scope, span),
            CoreForm::LetStarValues => self.let_star_values(operands, scope, span),
            CoreForm::Receive => self.receive(operands, scope, span),
            CoreForm::LetSyntax
            | CoreForm::LetrecSyntax
            | CoreForm::SplicingLetSyntax
            | CoreForm::SplicingLetrecSyntax => self.let_syntax(operands, form, scope, span),
            CoreForm::SyntaxParameterize => self.syntax_parameterize(operands, scope, span),
            CoreForm::And => self.and(operands, scope, span),
            CoreForm::Or => self.or(operands, scope, span),
            CoreForm::When => self.when(operands, true, scope, span),
            CoreForm::Unless => self.when(operands, false, scope, span),
            CoreForm::If => self.if_form(operands, scope, span),
            CoreForm::Cond => self.cond(operands, scope, span),
            CoreForm::Case => self.case(operands, scope, span),
            CoreForm::Do => self.do_loop(operands, scope, span),
            CoreForm::Assert => self.assert(operands, scope, span),
            CoreForm::Interpolate => self.interpolate(operands, scope, span),
            CoreForm::Match => self.match_form(operands, scope, span),
            CoreForm::MatchLambda => self.match_lambda(operands, false, scope, span),
            CoreForm::MatchLambdaStar => self.match_lambda(operands, true, scope, span),
            CoreForm::MatchLet => self.match_let(operands, scope, span),
            CoreForm::MatchLetStar => self.match_let_star(operands, scope, span),
            CoreForm::MatchLetrec => self.match_letrec(operands, scope, span),
            CoreForm::Begin => self.begin(operands, scope, span),
            CoreForm::Set => match operands.first() {
                Some(keyword) => self
                    .assignment_macro(keyword, syntax, scope)
                    .unwrap_or_else(|| self.set(operands, scope, span)),
                None => self.set(operands, scope, span),
            },
            CoreForm::SyntaxCase => self.syntax_case(operands, scope, span),
            CoreForm::Syntax => self.syntax_template(form, operands, scope, span),
            CoreForm::Quasisyntax => self.syntax_template(form, operands, scope, span),
            CoreForm::CondExpand => match self.cond_expand(operands, span) {
                Some(forms) => self.sequence(&forms, scope, span),
                None => Expr::unspecified(span),
            },
            CoreForm::Include | CoreForm::IncludeCi => {
                let forms = self.include(operands, form == CoreForm::IncludeCi, span);
                self.sequence(&forms, scope, span)
            }
            CoreForm::SyntaxError => self.syntax_error(operands, syntax),
            CoreForm::Define
            | CoreForm::DefineStar
            | CoreForm::DefineValues
            | CoreForm::DefineRecordType
            | CoreForm::DefineSyntax
            | CoreForm::BeginForSyntax
            | CoreForm::DefineCallSyntax
            | CoreForm::MatchDefine
            | CoreForm::Import
            | CoreForm::DefineLibrary
            | CoreForm::SyntaxRules
            | CoreForm::Underscore
            | CoreForm::Ellipsis
            | CoreForm::Arrow
            | CoreForm::Else
            | CoreForm::Unquote
            | CoreForm::UnquoteSplicing
            | CoreForm::Unsyntax
            | CoreForm::UnsyntaxSplicing => {
                self.bad_form(form, span, misplaced(form));
                Expr::unspecified(span)
            }
        }
    }

    /// Reports a malformed core form.
    pub(crate) fn bad_form(&mut self, form: CoreForm, span: Span, message: impl AsRef<str>) {
        self.error(
            "bad-syntax",
            span,
            format!("{}: {}", form.name(), message.as_ref()),
        );
    }

    /// The same, as the value of the form.
    pub(crate) fn bad_expression(
        &mut self,
        form: CoreForm,
        span: Span,
        message: impl AsRef<str>,
    ) -> Expr {
        self.bad_form(form, span, message);
        Expr::unspecified(span)
    }

    /// Expressions in order, without definitions among them.
    pub(crate) fn sequence(&mut self, forms: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let expressions = forms.iter().map(|form| self.expand(form, scope)).collect();
        Expr::sequence(span, expressions)
    }

    fn syntax_error(&mut self, operands: &[Syntax], syntax: &Syntax) -> Expr {
        let diagnostic = self.syntax_error_diagnostic(operands, syntax);
        self.report(diagnostic);
        Expr::unspecified(syntax.span)
    }

    /// The error that `(syntax-error message irritant …)` asks for.
    pub(crate) fn syntax_error_diagnostic(
        &mut self,
        operands: &[Syntax],
        syntax: &Syntax,
    ) -> Diagnostic {
        match operands
            .split_first()
            .map(|(message, irritants)| (message.as_atom(), irritants))
        {
            Some((Some(Datum::String(message)), irritants)) => {
                super::transform::user_error(syntax, message, irritants)
            }
            _ => {
                let message = "syntax-error: the first operand must be a string, the message";
                Diagnostic::error("bad-syntax", syntax.span, message)
            }
        }
    }
}

/// The reason why a form cannot stand where an expression is expected.
fn misplaced(form: CoreForm) -> &'static str {
    match form {
        _ if form.is_definition() => {
            "a definition stands at the top level or in a body, not where an expression is expected"
        }
        _ if form.is_auxiliary() => "the keyword only has a meaning inside other forms",
        CoreForm::SyntaxRules => "it stands only where a macro is defined",
        _ => "it stands at the top level only",
    }
}

/// Gives a procedure that has no name one.
fn name_procedure(expression: &mut Expr, name: Option<Name>) {
    let fill = |lambda: &mut Lambda| lambda.name = lambda.name.or(name);
    match &mut expression.kind {
        ExprKind::Lambda(lambda) => fill(lambda),
        ExprKind::CaseLambda(clauses) => clauses.iter_mut().for_each(fill),
        // A procedure inside a let keeps the name of what it is the value of.
        ExprKind::Let { body, .. } | ExprKind::Letrec { body, .. } => {
            if matches!(body.kind, ExprKind::Lambda(_) | ExprKind::CaseLambda(_)) {
                name_procedure(body, name);
            }
        }
        _ => {}
    }
}
