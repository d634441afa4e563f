//! Handles the forms that are special in a body or at top level: definitions, `begin`,
//! `let-syntax`, imports.
//!
//! A body is scanned before its expressions are expanded. So definitions bind their names here, and
//! their right sides are deferred until all names of the body are known. A bad definition still
//! declares its name, so that uses of it are no further errors.

use crate::core::Expr;
use crate::core_form::CoreForm;
use crate::diagnostic::Diagnostic;
use crate::expander::Expander;
use crate::expander::body::{DeferredKind, Item, ProcedureSource, Scan};
use crate::expander::denotation::Denotation;
use crate::expander::scope::ScopeId;
use crate::syntax::Syntax;

impl Expander<'_> {
    /// Handles a core form in a body or at top level. False when it is an expression.
    pub(crate) fn scan_core(&mut self, form: CoreForm, syntax: &Syntax, scan: &mut Scan) -> bool {
        let handled = form.is_definition()
            || matches!(
                form,
                CoreForm::Begin
                    | CoreForm::Include
                    | CoreForm::IncludeCi
                    | CoreForm::CondExpand
                    | CoreForm::SyntaxError
            )
            || (scan.scope == ScopeId::TOP && form == CoreForm::BeginForSyntax)
            || (scan.scope == ScopeId::TOP
                && matches!(form, CoreForm::Import | CoreForm::DefineLibrary));
        if matches!(
            form,
            CoreForm::LetSyntax
                | CoreForm::LetrecSyntax
                | CoreForm::SplicingLetSyntax
                | CoreForm::SplicingLetrecSyntax
        ) {
            return self.splice_let_syntax(form, syntax, scan);
        }
        if !handled {
            return false;
        }
        let Some(elements) = syntax.elements() else {
            // A definition may be `(define (f . x) …)` but is itself a proper list always.
            self.bad_form(form, syntax.span, "the form is not a proper list");
            return true;
        };
        let operands = &elements[1..];
        match form {
            CoreForm::Define => self.define(form, operands, syntax, scan),
            CoreForm::DefineStar => self.define(form, operands, syntax, scan),
            CoreForm::MatchDefine => self.match_define(operands, syntax.span, scan),
            CoreForm::DefineValues => self.define_values(operands, syntax.span, scan),
            CoreForm::DefineRecordType => self.define_record_type(operands, syntax.span, scan),
            CoreForm::DefineCallSyntax => self.define_call_syntax(operands, syntax.span, scan),
            CoreForm::DefineSyntax => match operands {
                [name, spec] => self.declare_syntax(name, spec, form.name(), scan),
                _ => self.bad_form(form, syntax.span, "expected a keyword and a transformer"),
            },
            CoreForm::Begin => scan.push_forms(operands.to_vec(), self.step),
            CoreForm::Include | CoreForm::IncludeCi => {
                let forms = self.include(operands, form == CoreForm::IncludeCi, syntax.span);
                scan.push_forms(forms, self.step);
            }
            CoreForm::CondExpand => {
                if let Some(forms) = self.cond_expand(operands, syntax.span) {
                    scan.push_forms(forms, self.step);
                }
            }
            CoreForm::SyntaxError => {
                let diagnostic = self.syntax_error_diagnostic(operands, syntax);
                self.report(diagnostic);
            }
            CoreForm::BeginForSyntax => self.begin_for_syntax(operands, syntax.span),
            CoreForm::Import => self.import_form(syntax),
            CoreForm::DefineLibrary => {
                self.declare_library(syntax);
                self.ensure_declared_library(syntax);
            }
            _ => return false,
        }
        true
    }

    /// A `let-syntax` whose body ends with a definition has no value; its definitions belong to
    /// the body around it, as in R6RS. Any other is an expression whose body is a scope of its
    /// own, as R5RS and R7RS have it. False in the latter case. The forms of SRFI 188 are always
    /// part of the body around them.
    fn splice_let_syntax(&mut self, form: CoreForm, syntax: &Syntax, scan: &mut Scan) -> bool {
        let Some(elements) = syntax.elements().filter(|elements| elements.len() > 2) else {
            return false;
        };
        let errors_before = self.diagnostics.len();
        let recursive = matches!(
            form,
            CoreForm::LetrecSyntax | CoreForm::SplicingLetrecSyntax
        );
        let splicing = matches!(
            form,
            CoreForm::SplicingLetSyntax | CoreForm::SplicingLetrecSyntax
        );
        let inner = self.bind_keywords(form, &elements[1], recursive, scan.current);
        let last = splicing
            || elements
                .last()
                .is_some_and(|last| self.is_definition(last, inner));
        if !last || self.diagnostics.len() > errors_before {
            // The expression will be looked at again, and its errors found again.
            self.forget_errors(errors_before);
            return self.aborted;
        }
        if scan.scope == ScopeId::TOP {
            for opened in self.scopes.macros(inner) {
                self.keep_local_macro(&opened, syntax.span);
            }
        }
        scan.push_forms_in(elements[2..].to_vec(), self.step, inner);
        true
    }

    /// Whether a form is a definition, after expansion of the macro it may be a use of.
    fn is_definition(&mut self, syntax: &Syntax, scope: ScopeId) -> bool {
        let saved = self.step;
        let errors_before = self.diagnostics.len();
        let mut current = syntax.clone();
        let result = loop {
            let Some(pair) = current.as_pair() else {
                break false;
            };
            let Some(head) = pair.car.as_identifier() else {
                break false;
            };
            match self.resolve(head, scope) {
                Denotation::Macro(used) => match self.expand_macro(&used, &current, scope) {
                    Some(result) => current = result,
                    None => break false,
                },
                Denotation::Core(CoreForm::Begin) => match current.parts().elements.pop() {
                    Some(last) if last.as_pair().is_some() => current = last,
                    _ => break false,
                },
                Denotation::Core(form) => break form.is_definition(),
                _ => break false,
            }
        };
        self.step = saved;
        self.forget_errors(errors_before);
        result
    }

    /// Drops the errors of an attempt that will be made again, unless it ended everything.
    pub(crate) fn forget_errors(&mut self, count: usize) {
        if !self.aborted {
            self.diagnostics.truncate(count);
        }
    }

    /// `(define name value)`, `(define name)` and `(define (name . formals) body …)`.
    fn define(&mut self, form: CoreForm, operands: &[Syntax], syntax: &Syntax, scan: &mut Scan) {
        let Some((head, rest)) = operands.split_first() else {
            self.bad_form(
                form,
                syntax.span,
                "expected a name and a value, or (name . parameters) and a body",
            );
            return;
        };
        if let Some(pair) = head.as_pair() {
            let Some(identifier) = pair.car.as_identifier() else {
                let message = format!("`{}` is not a name", pair.car);
                self.bad_form(form, pair.car.span, message);
                return;
            };
            let Some(target) = self.declare(&pair.car, form.name(), scan) else {
                return;
            };
            let source = ProcedureSource {
                name: identifier.name,
                formals: pair.cdr.clone(),
                body: Syntax::list(syntax.span, rest.to_vec()),
                star: form == CoreForm::DefineStar,
                span: syntax.span,
            };
            let value = self.deferred(DeferredKind::Procedure(source), scan.current);
            scan.items.push(Item::Define {
                target,
                value,
                span: syntax.span,
            });
            return;
        }
        let kind = match rest {
            [] => DeferredKind::Ready(Expr::unspecified(syntax.span)),
            [value] => {
                let name = head.as_identifier().map(|identifier| identifier.name);
                DeferredKind::Expression(value.clone(), name)
            }
            [_, extra, ..] => {
                let message = "a definition of a variable has one value; to define a procedure, put \
                    parentheses \
                               around the name and its parameters";
                let diagnostic = Diagnostic::error(
                    "bad-syntax",
                    syntax.span,
                    format!("{}: more than one value", form.name()),
                )
                .label(extra.span, "this is one too many")
                .note(message);
                self.report(diagnostic);
                // The name is declared nevertheless, so that its uses are no further errors.
                self.declare(head, form.name(), scan);
                return;
            }
        };
        let Some(target) = self.declare(head, form.name(), scan) else {
            return;
        };
        let value = self.deferred(kind, scan.current);
        scan.items.push(Item::Define {
            target,
            value,
            span: syntax.span,
        });
    }
}
