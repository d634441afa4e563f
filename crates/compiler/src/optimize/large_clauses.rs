//! Clauses of `case-lambda` with more parameters than a procedure can take at once.
//!
//! Splitting such a clause would make it one that takes any number of arguments from the limit on, so
//! that it would hide the clauses behind it. So all clauses that take that many arguments become one,
//! which counts the arguments and applies the procedure of the clause that fits.

use canny_syntax::core::{Expr, ExprKind, Lambda, VarId, VarTable};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::build::{bind, local, primitive};
use super::limits::OPERANDS_MAX;

/// Whether a clause has too many parameters.
pub fn is_large(clause: &Lambda) -> bool {
    clause.required.len() > OPERANDS_MAX
}

/// Whether a clause takes any number of arguments from some number on.
fn is_open(clause: &Lambda) -> bool {
    clause.rest.is_some() || !clause.keywords.is_empty() || clause.allow_other_keys
}

/// Whether a clause takes as many arguments as the merged one.
fn reaches(clause: &Lambda) -> bool {
    is_open(clause) || clause.required.len() + clause.optional.len() >= OPERANDS_MAX
}

/// A procedure that a clause stands for, and the arguments beyond the limit that it takes.
struct Choice {
    procedure: Expr,
    least: usize,
    most: Option<usize>,
}

/// The expression of some clauses, of which one at least is large.
pub fn merge(locals: &mut VarTable, clauses: Vec<Lambda>, span: Span) -> Expr {
    let mut bindings = Vec::new();
    let mut choices = Vec::new();
    let mut kept = Vec::new();
    let mut place = None;
    let name = clauses.first().and_then(|clause| clause.name);
    for clause in clauses {
        if is_large(&clause) {
            place.get_or_insert(kept.len());
            choices.push(choice(&clause, None));
            if let Some(last) = choices.last_mut() {
                last.procedure = Expr::new(clause.span, ExprKind::Lambda(Box::new(clause)));
            }
        } else if place.is_some() && reaches(&clause) {
            // It takes fewer arguments, too: both ways lead to its procedure.
            let var = locals.add(Name::new("clause"), clause.span);
            choices.push(choice(&clause, Some(var)));
            kept.push(forwarder(locals, &clause, var));
            let own = Expr::new(clause.span, ExprKind::Lambda(Box::new(clause)));
            bindings.push((var, own));
        } else {
            kept.push(clause);
        }
    }
    let merged = merged(locals, choices, (name, span));
    kept.insert(place.unwrap_or(0), merged);
    bind(bindings, Expr::new(span, ExprKind::CaseLambda(kept)), span)
}

fn choice(clause: &Lambda, var: Option<VarId>) -> Choice {
    let required = clause.required.len();
    let most = required + clause.optional.len();
    Choice {
        procedure: match var {
            Some(var) => local(var, clause.span),
            None => number(0, clause.span),
        },
        least: required.saturating_sub(OPERANDS_MAX),
        most: (!is_open(clause)).then(|| most - OPERANDS_MAX),
    }
}

/// A clause with the same required parameters that hands its arguments to a procedure.
fn forwarder(locals: &mut VarTable, clause: &Lambda, procedure: VarId) -> Lambda {
    let span = clause.span;
    let mut add = |name: &str| locals.add(Name::new(name), span);
    let required: Vec<VarId> = clause.required.iter().map(|_| add("argument")).collect();
    let rest = add("rest");
    let body = applied(local(procedure, span), &required, rest, span);
    clause_of(clause.name, required, rest, body, span)
}

/// The clause for as many arguments as the limit, or more.
fn merged(
    locals: &mut VarTable,
    choices: Vec<Choice>,
    (name, span): (Option<Name>, Span),
) -> Lambda {
    let mut add = |name: &str| locals.add(Name::new(name), span);
    let required: Vec<VarId> = (0..OPERANDS_MAX).map(|_| add("argument")).collect();
    let (rest, count) = (add("rest"), add("count"));
    let is_less = |bound: usize| {
        let operands = vec![local(count, span), number(bound, span)];
        Expr::call(span, primitive("<", span), operands)
    };
    let mut chosen: Option<Expr> = None;
    for choice in choices.into_iter().rev() {
        let Choice {
            procedure,
            least,
            most,
        } = choice;
        let Some(others) = chosen.take() else {
            // It complains if it does not fit either.
            chosen = Some(procedure);
            continue;
        };
        // The others appear once in the code: the tests are one condition.
        let too_many = match most {
            Some(most) => condition(is_less(most + 1), literal(false, span), literal(true, span)),
            None => literal(false, span),
        };
        let misses = condition(is_less(least), literal(true, span), too_many);
        chosen = Some(condition(misses, others, procedure));
    }
    let chosen = chosen.unwrap_or_else(|| number(0, span));
    let length = Expr::call(span, primitive("length", span), vec![local(rest, span)]);
    let body = applied(chosen, &required, rest, span);
    let body = bind(vec![(count, length)], body, span);
    clause_of(name, required, rest, body, span)
}

/// `(%apply procedure (append (list argument …) rest))`
fn applied(procedure: Expr, arguments: &[VarId], rest: VarId, span: Span) -> Expr {
    let arguments = arguments.iter().map(|var| local(*var, span)).collect();
    let list = Expr::call(span, primitive("list", span), arguments);
    let all = Expr::call(
        span,
        primitive("append", span),
        vec![list, local(rest, span)],
    );
    Expr::call(span, primitive("%apply", span), vec![procedure, all])
}

fn clause_of(
    name: Option<Name>,
    required: Vec<VarId>,
    rest: VarId,
    body: Expr,
    span: Span,
) -> Lambda {
    Lambda {
        name,
        required,
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: Some(rest),
        allow_other_keys: false,
        body,
        span,
    }
}

fn condition(test: Expr, consequent: Expr, alternative: Expr) -> Expr {
    let span = test.span;
    Expr::new(
        span,
        ExprKind::If(Box::new([test, consequent, alternative])),
    )
}

fn number(number: usize, span: Span) -> Expr {
    Expr::new(span, ExprKind::Constant(Datum::integer(number as i64)))
}

fn literal(value: bool, span: Span) -> Expr {
    Expr::new(span, ExprKind::Constant(Datum::Boolean(value)))
}
