//! Puts marks into a unit: at the beginnings of procedures, of lines and of branches.
//!
//! A line gets a mark where an expression begins on it that another line's expression contains. A
//! variable or a literal gets one only if nothing else begins its body or branch. Code that a macro
//! inserted has the position of the macro's use, and its decisions are not the programmer's: a
//! conditional counts as a decision where its own keyword stands in the text.

use std::collections::HashMap;
use std::sync::Arc;

use canny_syntax::core::{Expr, ExprKind, Lambda, TopForm, Unit, VarTable};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::{Source, SourceId, SourceMap, Span};

use super::{Counting, Ledger, MARK, Point, PointKind, function_at};
use crate::optimize::build::primitive;
use crate::walk::for_each_child_mut;

/// Keywords whose conditionals are decisions.
const DECIDING: [&str; 8] = ["if", "cond", "case", "when", "unless", "and", "or", "do"];

/// Puts the marks in.
pub fn run(unit: &mut Unit, counting: Counting, sources: &SourceMap, is_standard: bool) {
    let mut pass = Pass {
        counting,
        sources,
        is_standard,
        locals: &unit.locals,
        last: None,
        decisions: HashMap::new(),
    };
    let mut body = Vec::with_capacity(unit.body.len());
    for mut form in std::mem::take(&mut unit.body) {
        match &mut form {
            TopForm::Define(global, expr) => {
                // A mark around the procedure would hide it from the optimizer.
                if let Some(mark) = pass.line_mark(expr.span, None) {
                    body.push(TopForm::Expression(mark));
                }
                let line = pass.line(expr.span);
                pass.initial_value(expr, Some(global.name), line);
            }
            TopForm::Expression(expr) => pass.visit(expr, None, true),
        }
        body.push(form);
    }
    unit.body = body;
}

struct Pass<'a> {
    counting: Counting,
    sources: &'a SourceMap,
    is_standard: bool,
    locals: &'a VarTable,
    /// The source of the last look-up.
    last: Option<(SourceId, Arc<Source>)>,
    /// How many decisions there are at a place.
    decisions: HashMap<(u32, u32), u32>,
}

/// A line of a source: its number in the map, and the line.
type Line = Option<(u32, u32)>;

impl Pass<'_> {
    fn source(&mut self, span: Span) -> Option<Arc<Source>> {
        if !span.is_some() {
            return None;
        }
        if let Some((id, source)) = &self.last
            && *id == span.source
        {
            return Some(source.clone());
        }
        let source = self.sources.get(span.source)?;
        self.last = Some((span.source, source.clone()));
        Some(source)
    }

    fn line(&mut self, span: Span) -> Line {
        let source = self.source(span)?;
        Some((span.source.0, source.line_and_column(span.start).0))
    }

    /// A mark for the line of a span unless control has come to the line already.
    fn line_mark(&mut self, span: Span, before: Line) -> Option<Expr> {
        let line = self.line(span)?;
        if !self.counting.coverage || before == Some(line) {
            return None;
        }
        self.point(span, PointKind::Line)
    }

    fn point(&mut self, span: Span, kind: PointKind) -> Option<Expr> {
        let source = self.source(span)?;
        let point = Point {
            file: source.name.clone(),
            line: source.line_and_column(span.start).0,
            kind,
        };
        Ledger::get()
            .mark_point(point)
            .map(|mark| marking(mark, span))
    }

    /// Marks the parts of an expression, and itself if its line is new. `before` is the line to which
    /// control has come.
    fn visit(&mut self, expr: &mut Expr, before: Line, is_head: bool) {
        let span = expr.span;
        let is_plain = matches!(
            expr.kind,
            ExprKind::Constant(_)
                | ExprKind::LocalRef(_)
                | ExprKind::GlobalRef(_)
                | ExprKind::PrimitiveRef(_)
        );
        if let ExprKind::Sequence(parts) = &mut expr.kind {
            let mut is_head = is_head;
            for part in parts {
                self.visit(part, before, is_head);
                is_head = false;
            }
            return;
        }
        let mark = if is_plain && !is_head {
            None
        } else {
            self.line_mark(span, before)
        };
        let line = self.line(span).or(before);
        match &mut expr.kind {
            ExprKind::If(parts) => {
                let is_decision = self.counting.coverage && self.is_decision(span);
                let decision = is_decision.then(|| self.decision(span));
                let [test, yes, no] = &mut **parts;
                self.visit(test, line, false);
                for (arm, part) in [yes, no].into_iter().enumerate() {
                    self.visit(part, line, true);
                    if let Some((column, number)) = decision {
                        let arm = arm as u32;
                        let kind = PointKind::Branch {
                            column,
                            number,
                            arm,
                        };
                        let mark = self.point(span, kind);
                        put_before(mark, part);
                    }
                }
            }
            ExprKind::Lambda(lambda) => self.lambda(lambda, None),
            ExprKind::CaseLambda(clauses) => self.clauses(clauses, None),
            ExprKind::Let { bindings, body } | ExprKind::Letrec { bindings, body, .. } => {
                for (var, init) in bindings {
                    let name = self.locals[*var].name;
                    self.initial_value(init, Some(name), line);
                }
                self.visit(body, line, false);
            }
            _ => for_each_child_mut(expr, &mut |child| self.visit(child, line, false)),
        }
        put_before(mark, expr);
    }

    /// Marks the value that a variable gets; a procedure stays one.
    fn initial_value(&mut self, expr: &mut Expr, name: Option<Name>, line: Line) {
        match &mut expr.kind {
            ExprKind::Lambda(lambda) => self.lambda(lambda, name),
            ExprKind::CaseLambda(clauses) => self.clauses(clauses, name),
            _ => self.visit(expr, line, false),
        }
    }

    fn lambda(&mut self, lambda: &mut Lambda, name: Option<Name>) {
        self.clauses(std::slice::from_mut(lambda), name);
    }

    /// Marks procedures that are one for the programmer.
    fn clauses(&mut self, clauses: &mut [Lambda], default: Option<Name>) {
        let name = clauses.iter().find_map(|one| one.name).or(default);
        let spans = clauses.iter().map(|one| one.span);
        let span = spans.reduce(Span::to).unwrap_or(Span::NONE);
        for clause in clauses {
            for (_, default) in &mut clause.optional {
                self.visit(default, None, true);
            }
            for (_, _, default) in &mut clause.keywords {
                self.visit(default, None, true);
            }
            self.visit(&mut clause.body, None, true);
            if self.counting.coverage && self.is_definition(span) {
                let text = name.map_or("lambda", |name| name.as_str());
                let kind = PointKind::Function(text.to_owned());
                let mark = self.point(span, kind);
                put_before(mark, &mut clause.body);
            }
            if self.counting.calls {
                let function = function_at(name, span, Some(self.sources), self.is_standard);
                let function = Ledger::get().function(function);
                let mark = Ledger::get().mark_entry(function);
                put_before(mark.map(|mark| marking(mark, span)), &mut clause.body);
            }
        }
    }

    /// The column of a decision, and its number among those of the place.
    fn decision(&mut self, span: Span) -> (u32, u32) {
        let source = self.source(span);
        let column = source.map_or(0, |source| source.line_and_column(span.start).1);
        let next = self
            .decisions
            .entry((span.source.0, span.start))
            .or_insert(0);
        *next += 1;
        (column, *next - 1)
    }

    /// Whether the text at a span is a conditional, or a clause of one that begins with a test.
    fn is_decision(&mut self, span: Span) -> bool {
        let word = self.first_word(span);
        word.is_some_and(|word| word.is_empty() || DECIDING.contains(&word.as_str()))
    }

    /// Whether the text at a span makes a procedure; else a macro has inserted it.
    fn is_definition(&mut self, span: Span) -> bool {
        const DEFINING: [&str; 5] = ["lambda", "named-lambda", "case-lambda", "define", "let"];
        let word = self.first_word(span).unwrap_or_default();
        DEFINING.iter().any(|defining| word.starts_with(defining))
    }

    /// The first word of the form at a span; empty if the form begins with another one.
    fn first_word(&mut self, span: Span) -> Option<String> {
        let source = self.source(span)?;
        let text = source.text.get(span.start as usize..)?;
        let rest = text.strip_prefix(['(', '['])?;
        let is_end = |one: char| one.is_whitespace() || "()[]\";".contains(one);
        rest.split(is_end).next().map(str::to_owned)
    }
}

/// The call that is a mark.
fn marking(mark: u32, span: Span) -> Expr {
    let number = Expr::constant(span, Datum::integer(i64::from(mark)));
    Expr::call(span, primitive(MARK, span), vec![number])
}

fn put_before(mark: Option<Expr>, expr: &mut Expr) {
    if let Some(mark) = mark {
        let span = expr.span;
        let old = std::mem::replace(expr, Expr::unspecified(span));
        let parts = match old.kind {
            ExprKind::Sequence(mut parts) => {
                parts.insert(0, mark);
                parts
            }
            _ => vec![mark, old],
        };
        *expr = Expr::new(span, ExprKind::Sequence(parts));
    }
}
