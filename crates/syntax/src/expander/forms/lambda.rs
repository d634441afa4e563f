//! Expands `lambda`, `lambda*`, `case-lambda`, `named-lambda` and procedure definitions.
//!
//! Parameters come in the order required, optional, keyword, rest; each is bound before the next
//! default is expanded, so that a default sees only those before it. Duplicate and misplaced
//! parameters are reported, and the rest of the list is still read.

use crate::core::{Expr, ExprKind, Lambda, VarId};
use crate::core_form::CoreForm;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::body::ProcedureSource;
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::name::Name;
use crate::recording::Role;
use crate::span::Span;
use crate::syntax::{Identifier, Syntax};

/// The kind of parameter that comes next in a parameter list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Required,
    Optional,
    Keyword,
    /// After `#:rest` and its parameter, or `#:allow-other-keys`.
    Finished,
}

/// The parameters of a procedure, being collected.
#[derive(Default)]
struct Parameters {
    required: Vec<VarId>,
    optional: Vec<(VarId, Expr)>,
    keywords: Vec<(Name, VarId, Expr)>,
    rest: Option<VarId>,
    allow_other_keys: bool,
    seen: Vec<(Identifier, Span)>,
}

impl Expander<'_> {
    /// Makes an identifier a local variable of a scope.
    pub(crate) fn bind_variable(
        &mut self,
        identifier: Identifier,
        span: Span,
        scope: ScopeId,
    ) -> VarId {
        let variable = self.locals.add(identifier.name, span);
        let meaning = Denotation::Local(variable);
        self.note(identifier, span, Role::Definition, &meaning);
        self.scopes.bind(scope, identifier, meaning);
        variable
    }

    /// `(lambda formals body …)`
    pub(crate) fn lambda(
        &mut self,
        operands: &[Syntax],
        star: bool,
        scope: ScopeId,
        span: Span,
    ) -> Expr {
        let form = if star {
            CoreForm::LambdaStar
        } else {
            CoreForm::Lambda
        };
        let Some((formals, body)) = operands.split_first() else {
            return self.bad_expression(form, span, "expected parameters and a body");
        };
        let lambda = self.lambda_parts(form, None, formals, body.to_vec(), star, scope, span);
        Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
    }

    /// `(named-lambda (name . formals) body …)`
    pub(crate) fn named_lambda(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let head = operands.first().and_then(|head| head.as_pair());
        let (Some(head), Some(body)) = (head, operands.get(1..)) else {
            return self.bad_expression(
                CoreForm::NamedLambda,
                span,
                "expected (name . parameters) and a body",
            );
        };
        let Some(name) = head.car.as_identifier() else {
            let message = format!("`{}` is not a name", head.car);
            return self.bad_expression(CoreForm::NamedLambda, head.car.span, message);
        };
        let form = CoreForm::NamedLambda;
        let lambda = self.lambda_parts(
            form,
            Some(name.name),
            &head.cdr,
            body.to_vec(),
            false,
            scope,
            span,
        );
        Expr::new(span, ExprKind::Lambda(Box::new(lambda)))
    }

    /// The procedure of `(define (name . formals) body …)`.
    pub(crate) fn procedure(&mut self, source: &ProcedureSource, scope: ScopeId) -> Expr {
        if !self.enter(1, source.span) {
            return Expr::unspecified(source.span);
        }
        let form = if source.star {
            CoreForm::DefineStar
        } else {
            CoreForm::Define
        };
        let body = source.body.parts().elements;
        let name = Some(source.name);
        let lambda = self.lambda_parts(
            form,
            name,
            &source.formals,
            body,
            source.star,
            scope,
            source.span,
        );
        self.leave(1);
        Expr::new(source.span, ExprKind::Lambda(Box::new(lambda)))
    }

    /// `(case-lambda (formals body …) …)`
    pub(crate) fn case_lambda(&mut self, operands: &[Syntax], scope: ScopeId, span: Span) -> Expr {
        let form = CoreForm::CaseLambda;
        let mut clauses = Vec::with_capacity(operands.len());
        for clause in operands {
            match clause.elements().filter(|parts| !parts.is_empty()) {
                Some(mut parts) => {
                    let formals = parts.remove(0);
                    clauses.push(self.lambda_parts(
                        form,
                        None,
                        &formals,
                        parts,
                        false,
                        scope,
                        clause.span,
                    ));
                }
                None => self.bad_form(form, clause.span, "a clause must be (parameters body …)"),
            }
        }
        Expr::new(span, ExprKind::CaseLambda(clauses))
    }

    #[allow(clippy::too_many_arguments)]
    fn lambda_parts(
        &mut self,
        form: CoreForm,
        name: Option<Name>,
        formals: &Syntax,
        body: Vec<Syntax>,
        star: bool,
        scope: ScopeId,
        span: Span,
    ) -> Lambda {
        let inner = self.scopes.add_local(scope);
        let parameters = self.parameters(form, formals, star, inner);
        let body = self.body(body, inner, form.name(), span);
        Lambda {
            name,
            required: parameters.required,
            optional: parameters.optional,
            keywords: parameters.keywords,
            rest: parameters.rest,
            allow_other_keys: parameters.allow_other_keys,
            body,
            span,
        }
    }

    fn parameters(
        &mut self,
        form: CoreForm,
        formals: &Syntax,
        star: bool,
        scope: ScopeId,
    ) -> Parameters {
        let mut parameters = Parameters::default();
        let parts = formals.parts();
        let mut section = Section::Required;
        let mut elements = parts.elements.iter();
        while let Some(element) = elements.next() {
            if let (true, Some(Datum::Keyword(marker))) = (star, element.as_atom()) {
                match (marker.as_str(), section) {
                    ("optional", Section::Required) => section = Section::Optional,
                    ("key", Section::Required | Section::Optional) => section = Section::Keyword,
                    ("allow-other-keys", Section::Keyword) => parameters.allow_other_keys = true,
                    ("rest", _) if parameters.rest.is_none() => {
                        match elements
                            .next()
                            .and_then(|rest| rest.as_identifier().map(|name| (name, rest.span)))
                        {
                            Some((name, at)) => {
                                parameters.rest = Some(self.parameter(
                                    form,
                                    name,
                                    at,
                                    &mut parameters.seen,
                                    scope,
                                ));
                            }
                            None => {
                                self.bad_form(form, element.span, "a name must follow `#:rest`")
                            }
                        }
                        section = section.max(Section::Finished);
                    }
                    (other, _) => {
                        let message = format!("`#:{other}` cannot stand here in a parameter list");
                        self.bad_form(form, element.span, message);
                    }
                }
                continue;
            }
            match section {
                Section::Required => match element.as_identifier() {
                    Some(name) => {
                        let variable =
                            self.parameter(form, name, element.span, &mut parameters.seen, scope);
                        parameters.required.push(variable);
                    }
                    None => self.bad_parameter(form, element, star),
                },
                Section::Optional | Section::Keyword => {
                    self.defaulted_parameter(form, element, section, &mut parameters, scope);
                }
                Section::Finished => self.bad_form(
                    form,
                    element.span,
                    "no parameter may follow the rest parameter",
                ),
            }
        }
        if let Some(name) = parts.tail.as_identifier() {
            if parameters.rest.is_some() {
                self.bad_form(form, parts.tail.span, "there are two rest parameters");
            }
            parameters.rest =
                Some(self.parameter(form, name, parts.tail.span, &mut parameters.seen, scope));
        } else if !parts.tail.is_nil() {
            self.bad_parameter(form, &parts.tail, star);
        }
        parameters
    }

    fn bad_parameter(&mut self, form: CoreForm, element: &Syntax, star: bool) {
        let message = format!("{}: the parameter `{element}` is not a name", form.name());
        let mut diagnostic = Diagnostic::error("bad-syntax", element.span, message);
        if !star && matches!(element.as_atom(), Some(Datum::Keyword(_))) {
            diagnostic = diagnostic.note("optional and keyword parameters need lambda* or define*");
        }
        self.report(diagnostic);
    }

    /// Binds a parameter; reports a second one of the same name.
    fn parameter(
        &mut self,
        form: CoreForm,
        name: Identifier,
        span: Span,
        seen: &mut Vec<(Identifier, Span)>,
        scope: ScopeId,
    ) -> VarId {
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == name) {
            let message = format!(
                "{}: the parameter `{}` occurs twice",
                form.name(),
                name.name
            );
            let diagnostic = Diagnostic::error("duplicate-parameter", span, message)
                .label(*first, "it occurs here first");
            self.report(diagnostic);
        }
        seen.push((name, span));
        self.bind_variable(name, span, scope)
    }

    /// `name`, `(name default)` or, for keyword parameters, `(name default #:keyword)`.
    fn defaulted_parameter(
        &mut self,
        form: CoreForm,
        element: &Syntax,
        section: Section,
        parameters: &mut Parameters,
        scope: ScopeId,
    ) {
        let parts = match element.as_identifier() {
            Some(_) => vec![element.clone()],
            None => element.elements().unwrap_or_default(),
        };
        let (name, default, keyword) = match parts.as_slice() {
            [name] => (name, None, None),
            [name, default] => (name, Some(default), None),
            [name, default, keyword] if section == Section::Keyword => {
                (name, Some(default), Some(keyword))
            }
            _ => {
                self.bad_form(
                    form,
                    element.span,
                    "a parameter with a default must be (name default)",
                );
                return;
            }
        };
        let Some(identifier) = name.as_identifier() else {
            self.bad_parameter(form, name, true);
            return;
        };
        let keyword = match keyword.map(|keyword| keyword.as_atom()) {
            None => identifier.name,
            Some(Some(Datum::Keyword(keyword))) => *keyword,
            Some(_) => {
                self.bad_form(
                    form,
                    element.span,
                    "the third part of a keyword parameter must be its keyword",
                );
                identifier.name
            }
        };
        // The default sees the parameters before it only.
        let default = match default {
            Some(default) => self.expand(default, scope),
            None => Expr::constant(element.span, Datum::Boolean(false)),
        };
        let variable = self.parameter(form, identifier, name.span, &mut parameters.seen, scope);
        if section == Section::Optional {
            parameters.optional.push((variable, default));
        } else {
            parameters.keywords.push((keyword, variable, default));
        }
    }
}
