//! Warnings about what a programmer wrote and can hardly have meant: variables that nobody uses, expressions
//! that are never reached, calls of variables that hide a standard procedure.
//!
//! Looks at the unit as the expander gave it. A warning is only worth its place if it is right nearly
//! always, so code that macros made is left out: the core language does not say what is a macro's, but
//! a position whose text is not the name or form in question belongs to the use of one. A name that
//! begins with `_`, `ignore` or `unused` may be unused. Calls with wrong numbers of arguments are
//! looked at by a pass of the optimizer, which knows imports.

use std::collections::{HashMap, HashSet};

use canny_syntax::core::{Expr, ExprKind, Lambda, PrimitiveId, TopForm, Unit, UnitKind, VarId};
use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::name::Name;
use canny_syntax::span::{SourceMap, Span};
use canny_tables::primitives;

use crate::walk::{for_each_child, never_returns};

/// Warnings in the order of the text.
pub fn warnings(unit: &Unit, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut pass = Pass {
        unit,
        sources,
        variables: HashMap::new(),
        globals_used: HashSet::new(),
        warnings: Vec::new(),
    };
    let mut left_at = None;
    for form in &unit.body {
        match form {
            TopForm::Define(_, expr) => {
                pass.visit(expr);
                left_at = None;
            }
            TopForm::Expression(expr) => {
                pass.visit(expr);
                pass.check_reached(&mut left_at, expr);
            }
        }
    }
    pass.check_variables();
    pass.check_globals();
    let mut warnings = pass.warnings;
    warnings.sort_by_key(|one| (one.span.source.0, one.span.start));
    warnings
}

/// How a local variable is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Binder {
    /// By `let` or an internal definition, to something else than a procedure.
    Value,
    /// By `let` or an internal definition, to a procedure.
    Procedure,
    Parameter,
}

#[derive(Debug)]
struct Use {
    binder: Binder,
    /// The form that binds it.
    form: Span,
    references: usize,
    assignments: usize,
    /// The first call of it.
    call: Option<Span>,
    /// Whether a primitive takes it that takes no procedure there.
    is_data: bool,
}

struct Pass<'a> {
    unit: &'a Unit,
    sources: &'a SourceMap,
    variables: HashMap<VarId, Use>,
    globals_used: HashSet<Name>,
    warnings: Vec<Diagnostic>,
}

/// Standard procedures whose names are usual for data too. A call of a parameter with such a name
/// means the procedure.
const NAMES_OF_DATA: [&str; 6] = ["list", "string", "vector", "bytevector", "length", "symbol"];

impl<'a> Pass<'a> {
    fn bind(&mut self, var: VarId, binder: Binder, form: Span) {
        let one = Use {
            binder,
            form,
            references: 0,
            assignments: 0,
            call: None,
            is_data: false,
        };
        self.variables.insert(var, one);
    }

    fn bind_parameters(&mut self, lambda: &Lambda) {
        let optional = lambda.optional.iter().map(|(var, _)| var);
        let keywords = lambda.keywords.iter().map(|(_, var, _)| var);
        let all = lambda.required.iter().chain(optional).chain(keywords);
        for var in all.chain(&lambda.rest) {
            self.bind(*var, Binder::Parameter, lambda.span);
        }
    }

    fn visit(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::LocalRef(var) => {
                if let Some(one) = self.variables.get_mut(var) {
                    one.references += 1;
                }
            }
            ExprKind::LocalSet(var, _) => {
                if let Some(one) = self.variables.get_mut(var) {
                    one.assignments += 1;
                }
            }
            ExprKind::GlobalRef(global) if global.library == self.unit.name => {
                self.globals_used.insert(global.name);
            }
            ExprKind::Let { bindings, .. } | ExprKind::Letrec { bindings, .. } => {
                for (var, init) in bindings {
                    let binder = match &init.kind {
                        ExprKind::Lambda(_) | ExprKind::CaseLambda(_) => Binder::Procedure,
                        _ => Binder::Value,
                    };
                    self.bind(*var, binder, expr.span);
                }
            }
            ExprKind::Lambda(lambda) => self.bind_parameters(lambda),
            ExprKind::CaseLambda(clauses) => {
                for clause in clauses {
                    self.bind_parameters(clause);
                }
                self.check_clauses(clauses);
            }
            ExprKind::Sequence(parts) => {
                let mut left_at = None;
                for part in parts {
                    self.check_reached(&mut left_at, part);
                }
            }
            ExprKind::If(parts) => self.check_test(expr, parts),
            ExprKind::Call { operator, operands } => self.visit_call(expr, operator, operands),
            _ => {}
        }
        for_each_child(expr, &mut |child| self.visit(child));
    }

    fn visit_call(&mut self, expr: &Expr, operator: &Expr, operands: &[Expr]) {
        match &operator.kind {
            ExprKind::LocalRef(var) => {
                let passes_itself = operands
                    .iter()
                    .any(|operand| matches!(&operand.kind, ExprKind::LocalRef(own) if own == var));
                if let Some(one) = self.variables.get_mut(var) {
                    one.call.get_or_insert(expr.span);
                    one.is_data |= passes_itself;
                }
            }
            ExprKind::PrimitiveRef(id) => self.note_data(*id, operands),
            _ => {}
        }
    }

    /// Notes the variables that a primitive takes for something else than a procedure.
    fn note_data(&mut self, id: PrimitiveId, operands: &[Expr]) {
        let types = id.row().signature.split("->").next().unwrap_or_default();
        let is_data = |word: &str| {
            matches!(
                word,
                "list"
                    | "pair"
                    | "string"
                    | "vector"
                    | "bytevector"
                    | "char"
                    | "symbol"
                    | "number"
                    | "integer"
                    | "real"
                    | "index"
                    | "k"
                    | "port"
            )
        };
        for (operand, word) in operands.iter().zip(types.split_whitespace()) {
            if let ExprKind::LocalRef(var) = &operand.kind
                && is_data(word)
                && let Some(one) = self.variables.get_mut(var)
            {
                one.is_data = true;
            }
        }
    }

    /// The text of a span.
    fn text(&self, span: Span) -> Option<String> {
        span.is_some().then(|| self.sources.text(span)).flatten()
    }

    /// The first word of the form that is written there.
    fn keyword(&self, span: Span) -> Option<String> {
        let text = self.text(span)?;
        let form = text.strip_prefix(['(', '['])?.trim_start();
        let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']');
        form.split(is_end).next().map(str::to_owned)
    }

    /// Whether the programmer wrote this name here.
    fn is_written(&self, name: Name, span: Span) -> bool {
        self.text(span).is_some_and(|text| text == name.as_str())
    }

    /// Whether the name stands where `define` or `let` binds one.
    fn is_bound_by_hand(&self, span: Span, form: Span) -> bool {
        let Some(source) = self.sources.get(span.source) else {
            return false;
        };
        let Some(before) = source.text.get(..span.start as usize) else {
            return false;
        };
        let before = before.trim_end();
        if is_definition(before) {
            return true;
        }
        self.keyword(form)
            .is_some_and(|word| ["let", "let*", "letrec", "letrec*"].contains(&word.as_str()))
            && before.ends_with(['(', '['])
    }

    fn check_variables(&mut self) {
        let mut found = Vec::new();
        for (var, one) in &self.variables {
            let variable = &self.unit.locals[*var];
            let (name, span) = (variable.name, variable.span);
            if one.references == 0 {
                if may_be_unused(name) || !self.is_written(name, span) {
                    continue;
                }
                let what = match one.assignments {
                    0 => "is never used",
                    _ => "is assigned, but its value is never used",
                };
                let message = format!("`{name}` {what}");
                let code = match one.binder {
                    Binder::Parameter => "unused-parameter",
                    _ if self.is_bound_by_hand(span, one.form) => "unused-variable",
                    _ => continue,
                };
                found.push(Diagnostic::warning(code, span, message));
            } else if let Some(call) = one.call
                && one.binder != Binder::Procedure
                && !variable.assigned
                && primitives::lookup(name.as_str()).is_some()
                && (one.is_data || NAMES_OF_DATA.contains(&name.as_str()))
                && self.is_written(name, span)
            {
                let message =
                    format!("the variable `{name}`, which hides the standard procedure, is called");
                let label = format!("this `{name}` is meant");
                let warning = Diagnostic::warning("shadowed-call", call, message);
                found.push(warning.label(span, label));
            }
        }
        self.warnings.extend(found);
    }

    /// Definitions at top level that nobody can use.
    fn check_globals(&mut self) {
        if self.unit.kind == UnitKind::Toplevel {
            return;
        }
        for global in &self.unit.globals {
            let name = global.name;
            let is_used = global.exported || self.globals_used.contains(&name);
            if is_used || may_be_unused(name) || !self.is_written(name, global.span) {
                continue;
            }
            let is_defined_by_hand = self
                .sources
                .get(global.span.source)
                .and_then(|source| {
                    let before = source.text.get(..global.span.start as usize)?;
                    Some(is_definition(before.trim_end()))
                })
                .unwrap_or(false);
            if is_defined_by_hand {
                let message = format!("`{name}` is never used");
                let warning = Diagnostic::warning("unused-definition", global.span, message);
                self.warnings.push(warning);
            }
        }
    }

    /// Continues behind `left_at`, the call that does not return, if there was one.
    fn check_reached(&mut self, left_at: &mut Option<Span>, expr: &Expr) {
        if let Some(place) = left_at.take() {
            let is_own = expr.span.is_some() && expr.span != place;
            if is_own && !matches!(expr.kind, ExprKind::Constant(Datum::Unspecified)) {
                let warning =
                    Diagnostic::warning("unreachable-code", expr.span, "this is never reached");
                self.warnings
                    .push(warning.label(place, "this does not return"));
            }
        } else if never_returns(expr) {
            *left_at = Some(expr.span);
        }
    }

    /// A branch that a constant test excludes.
    fn check_test(&mut self, expr: &Expr, parts: &[Expr; 3]) {
        let [test, consequent, alternative] = parts;
        let ExprKind::Constant(Datum::Boolean(value)) = &test.kind else {
            return;
        };
        let is_absent = |part: &Expr| matches!(part.kind, ExprKind::Constant(Datum::Unspecified));
        let dead = if *value { alternative } else { consequent };
        let keyword = self.keyword(expr.span).unwrap_or_default();
        let is_by_hand = ["if", "cond", "when", "unless"].contains(&keyword.as_str());
        // `(if #f #f)` is a usual way to write the unspecified value.
        if is_by_hand && !is_absent(dead) && !is_absent(alternative) && dead.span.is_some() {
            let message = "this is never reached";
            let warning = Diagnostic::warning("unreachable-code", dead.span, message);
            self.warnings
                .push(warning.label(test.span, "the test is a constant"));
        }
    }

    /// Clauses of `case-lambda` behind one that takes all their numbers of arguments.
    fn check_clauses(&mut self, clauses: &[Lambda]) {
        let range = |clause: &Lambda| {
            let least = clause.required.len();
            (least, clause.rest.is_none().then_some(least))
        };
        for (index, clause) in clauses.iter().enumerate() {
            let (least, greatest) = range(clause);
            let earlier = clauses[..index].iter().find(|earlier| {
                let (first, last) = range(earlier);
                first <= least && last.is_none_or(|last| greatest.is_some_and(|own| own <= last))
            });
            if let Some(earlier) = earlier
                && clause.span != earlier.span
            {
                let message = "this clause is never reached";
                let warning = Diagnostic::warning("unreachable-code", clause.span, message);
                self.warnings.push(
                    warning.label(earlier.span, "this one takes the same numbers of arguments"),
                );
            }
        }
    }
}

/// Whether a name says itself that it is not used.
fn may_be_unused(name: Name) -> bool {
    ["_", "ignore", "unused"]
        .iter()
        .any(|word| name.as_str().starts_with(word))
}

/// Whether a text ends where `define` has the name that it defines.
fn is_definition(before: &str) -> bool {
    let before = before.trim_end_matches(['(', '[']).trim_end();
    ["(define", "(define*", "[define"]
        .iter()
        .any(|keyword| before.ends_with(keyword))
}
