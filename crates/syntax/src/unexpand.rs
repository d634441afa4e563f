//! The core language as readable Scheme-like text, for `canny expand` and for tests.
//!
//! Local variables are written with a number (`x.1`) that makes them unique in their unit; globals
//! of the unit and primitives are written as they are, globals of other libraries as
//! `(@ library name)`. A global of the unit with the name of a primitive is written `(@ name)`.
//! The output can be read back by the reader, and depends on nothing but the unit.

use std::collections::HashMap;

use canny_tables::primitives;

use crate::core::{
    Expr, ExprKind, Formals, GlobalName, Lambda, LibraryKey, TopForm, Unit, UnitKind, VarId,
    VarTable,
};
use crate::datum::Datum;
use crate::name::Name;
use crate::pretty::pretty;

/// Lines are broken so that they are no longer than this where possible.
const LINE_WIDTH: usize = 90;

/// The unit as text: a comment line on what it is, then its forms.
pub fn unexpand(unit: &Unit) -> String {
    let mut out = String::new();
    let kind = match unit.kind {
        UnitKind::Library => "library",
        UnitKind::Program => "program",
        UnitKind::Toplevel => "toplevel",
    };
    out.push_str(&format!(";; {kind} {}\n", unit.name));
    if !unit.requires.is_empty() {
        let names: Vec<String> = unit.requires.iter().map(ToString::to_string).collect();
        out.push_str(&format!(";; requires {}\n", names.join(" ")));
    }
    let flagged = |flag: fn(&crate::core::GlobalDefinition) -> bool| -> Vec<&str> {
        unit.globals
            .iter()
            .filter(|global| flag(global))
            .map(|global| global.name.as_str())
            .collect()
    };
    for (label, names) in [
        ("assigned", flagged(|global| global.assigned)),
        ("exported", flagged(|global| global.exported)),
    ] {
        if !names.is_empty() {
            out.push_str(&format!(";; {label} {}\n", names.join(" ")));
        }
    }
    let writer = Writer::new(&unit.locals, Some(&unit.name));
    for form in &unit.body {
        out.push_str(&pretty(&writer.top_form(form), LINE_WIDTH));
        out.push('\n');
    }
    out
}

/// One expression as text, without a final newline.
pub fn unexpand_expression(expression: &Expr, locals: &VarTable) -> String {
    pretty(
        &Writer::new(locals, None).expression(expression),
        LINE_WIDTH,
    )
}

/// One expression as data.
pub fn expression_datum(expression: &Expr, locals: &VarTable) -> Datum {
    Writer::new(locals, None).expression(expression)
}

struct Writer<'a> {
    own: Option<&'a LibraryKey>,
    names: Vec<Name>,
}

fn word(text: &str) -> Datum {
    Datum::symbol(text)
}

fn list(parts: impl IntoIterator<Item = Datum>) -> Datum {
    Datum::list(parts.into_iter().collect())
}

impl<'a> Writer<'a> {
    fn new(locals: &VarTable, own: Option<&'a LibraryKey>) -> Writer<'a> {
        let mut counts: HashMap<Name, u32> = HashMap::new();
        let number = |(_, variable): (VarId, &crate::core::Variable)| {
            let count = counts.entry(variable.name).or_insert(0);
            *count += 1;
            Name::new(&format!("{}.{count}", variable.name))
        };
        Writer {
            own,
            names: locals.iter().map(number).collect(),
        }
    }

    fn variable(&self, id: VarId) -> Datum {
        match self.names.get(id.0 as usize) {
            Some(name) => Datum::Symbol(*name),
            None => word(&format!("unknown.{}", id.0)),
        }
    }

    fn global(&self, global: &GlobalName) -> Datum {
        if self.own == Some(&global.library) {
            if primitives::lookup(global.name.as_str()).is_none() {
                return Datum::Symbol(global.name);
            }
            return list([word("@"), Datum::Symbol(global.name)]);
        }
        list([
            word("@"),
            word(global.library.as_str()),
            Datum::Symbol(global.name),
        ])
    }

    fn top_form(&self, form: &TopForm) -> Datum {
        match form {
            TopForm::Define(name, value) => {
                list([word("define"), self.global(name), self.expression(value)])
            }
            TopForm::Expression(value) => self.expression(value),
        }
    }

    fn expression(&self, expression: &Expr) -> Datum {
        match &expression.kind {
            ExprKind::Constant(datum) => constant(datum),
            ExprKind::LocalRef(variable) => self.variable(*variable),
            ExprKind::LocalSet(variable, value) => list([
                word("set!"),
                self.variable(*variable),
                self.expression(value),
            ]),
            ExprKind::GlobalRef(name) => self.global(name),
            ExprKind::GlobalSet(name, value) => {
                list([word("set!"), self.global(name), self.expression(value)])
            }
            ExprKind::PrimitiveRef(id) => word(id.row().name),
            ExprKind::If(parts) => {
                let mut whole = vec![word("if")];
                whole.extend(parts.iter().map(|part| self.expression(part)));
                Datum::list(whole)
            }
            ExprKind::Lambda(lambda) => self.lambda(lambda),
            ExprKind::CaseLambda(clauses) => {
                let clause =
                    |lambda: &Lambda| list([self.formals(lambda), self.expression(&lambda.body)]);
                list(std::iter::once(word("case-lambda")).chain(clauses.iter().map(clause)))
            }
            ExprKind::Sequence(parts) => self.prefixed("begin", parts),
            ExprKind::Let { bindings, body } => self.binding_form("let", bindings, body),
            ExprKind::Letrec {
                star,
                bindings,
                body,
            } => self.binding_form(if *star { "letrec*" } else { "letrec" }, bindings, body),
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                let binding = list([self.value_formals(formals), self.expression(init)]);
                list([word("let-values"), list([binding]), self.expression(body)])
            }
            ExprKind::Call { operator, operands } => {
                let operator = std::iter::once(self.expression(operator));
                list(operator.chain(operands.iter().map(|operand| self.expression(operand))))
            }
        }
    }

    fn prefixed(&self, head: &str, parts: &[Expr]) -> Datum {
        list(std::iter::once(word(head)).chain(parts.iter().map(|part| self.expression(part))))
    }

    fn binding_form(&self, head: &str, bindings: &[(VarId, Expr)], body: &Expr) -> Datum {
        let pair = |(variable, value): &(VarId, Expr)| {
            list([self.variable(*variable), self.expression(value)])
        };
        list([
            word(head),
            list(bindings.iter().map(pair)),
            self.expression(body),
        ])
    }

    fn lambda(&self, lambda: &Lambda) -> Datum {
        let plain =
            lambda.optional.is_empty() && lambda.keywords.is_empty() && !lambda.allow_other_keys;
        let head = word(if plain { "lambda" } else { "lambda*" });
        list([head, self.formals(lambda), self.expression(&lambda.body)])
    }

    fn formals(&self, lambda: &Lambda) -> Datum {
        let keyword = |text: &str| Datum::Keyword(Name::new(text));
        let mut parts: Vec<Datum> = lambda
            .required
            .iter()
            .map(|variable| self.variable(*variable))
            .collect();
        if !lambda.optional.is_empty() {
            parts.push(keyword("optional"));
        }
        for (variable, default) in &lambda.optional {
            parts.push(list([self.variable(*variable), self.expression(default)]));
        }
        if !lambda.keywords.is_empty() || lambda.allow_other_keys {
            parts.push(keyword("key"));
        }
        for (name, variable, default) in &lambda.keywords {
            parts.push(list([
                self.variable(*variable),
                self.expression(default),
                Datum::Keyword(*name),
            ]));
        }
        if lambda.allow_other_keys {
            parts.push(keyword("allow-other-keys"));
        }
        let tail = lambda.rest.map_or(Datum::Nil, |rest| self.variable(rest));
        Datum::list_with_tail(parts, tail)
    }

    fn value_formals(&self, formals: &Formals) -> Datum {
        let parts = formals
            .required
            .iter()
            .map(|variable| self.variable(*variable))
            .collect();
        let tail = formals.rest.map_or(Datum::Nil, |rest| self.variable(rest));
        Datum::list_with_tail(parts, tail)
    }
}

/// A literal as it has to be written in an expression.
fn constant(datum: &Datum) -> Datum {
    match datum {
        Datum::Symbol(_)
        | Datum::Pair(_)
        | Datum::Nil
        | Datum::Labelled(..)
        | Datum::LabelRef(_)
        | Datum::Vector(_) => list([word("quote"), datum.clone()]),
        other => other.clone(),
    }
}
