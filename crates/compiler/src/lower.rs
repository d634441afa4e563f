//! From the core to the code generator's input: closures, boxes and labels become explicit.
//!
//! Holds on entry: `letrec` is sorted, `call-with-values` is expanded, no procedure or call exceeds
//! the limits of the bytecode (see [`crate::optimize::fit_limits`]). On exit the invariants of
//! [`crate::ir`] hold. The unit's body is consumed.

use std::collections::HashSet;

use canny_syntax::core::{
    Expr, ExprKind, GlobalName, Lambda, TopForm, Unit, UnitKind, VarId, VarTable,
};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use crate::contify::find_labels;
use crate::ir::{Clause, Kind, Label, Node, Procedure, ProcedureId, Program};
use crate::optimize::inlinings::Inlinings;
use crate::variables::{classify, is_direct_call, parameters, primitive_row};
use crate::walk::is_fixed;

/// Lowers a unit's body; leaves the unit without body.
pub fn lower(unit: &mut Unit, inlinings: &Inlinings, keeps_last_frame: bool) -> Program {
    let last = name_last_value(unit, keeps_last_frame);
    let labels = find_labels(unit);
    let variables = classify(unit, &labels);
    let count = unit.locals.len();
    let mut pass = Lowering {
        closed_globals: closed_globals(unit),
        locals: &mut unit.locals,
        inlinings,
        labels,
        boxed: variables.boxed,
        assigned: variables.assigned,
        checking: vec![false; count],
        home: vec![ProcedureId(0); count],
        known: vec![None; count],
        procedures: Vec::new(),
        frames: Vec::new(),
    };
    let span = match unit.body.first() {
        // The whole is no copy, even where the first form is one.
        Some(TopForm::Define(_, expr) | TopForm::Expression(expr)) => Span {
            inlining: 0,
            ..expr.span
        },
        None => Span::NONE,
    };
    let entry = pass.open(None);
    let mut forms = Vec::with_capacity(unit.body.len());
    for form in std::mem::take(&mut unit.body) {
        forms.push(match form {
            TopForm::Define(global, expr) => pass.lower_definition(global, expr),
            TopForm::Expression(expr) => pass.lower(expr),
        });
    }
    if forms.is_empty() {
        forms.push(Node::new(span, Kind::Constant(Datum::Unspecified)));
    }
    if let Some(variable) = last
        && let Some(value) = forms.pop()
    {
        let at = value.span;
        let result = Node::new(at, Kind::Local(variable));
        let named = Kind::Let(vec![(variable, value)], Box::new(result));
        forms.push(Node::new(at, named));
    }
    let body = Node::new(span, Kind::Sequence(forms));
    let clause = Clause {
        required: Vec::new(),
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        body,
    };
    pass.close(entry, Some(Name::new("body")), span, vec![clause]);
    let names = pass.locals.iter().map(|(_, row)| row.name).collect();
    let bound = pass.locals.iter().map(|(_, row)| row.span).collect();
    let rows = pass.locals.iter();
    let imported = rows
        .map(|(_, row)| inlinings.is_imported(row.span))
        .collect();
    Program {
        procedures: pass.procedures.into_iter().flatten().collect(),
        entry,
        boxed: pass.boxed,
        assigned: pass.assigned,
        known: pass.known,
        names,
        bound,
        imported,
    }
}

/// A variable for the value of a program's last form. A form bound to it makes no tail calls, so
/// that backtraces show where its calls are. Forms of `eval` must stay in tail position.
fn name_last_value(unit: &mut Unit, keeps_last_frame: bool) -> Option<VarId> {
    match unit.body.last() {
        Some(TopForm::Expression(expr)) if keeps_last_frame || unit.kind != UnitKind::Toplevel => {
            Some(unit.locals.add(Name::new("result"), expr.span))
        }
        _ => None,
    }
}

/// The globals that keep the value of their definition.
fn closed_globals(unit: &Unit) -> HashSet<Name> {
    if unit.kind == UnitKind::Toplevel {
        return HashSet::new();
    }
    unit.globals
        .iter()
        .filter(|global| !global.assigned)
        .map(|global| global.name)
        .collect()
}

/// A procedure whose body is being lowered.
struct Frame {
    id: ProcedureId,
    self_variable: Option<VarId>,
    self_global: Option<GlobalName>,
    free: Vec<VarId>,
    free_set: HashSet<VarId>,
}

struct Lowering<'a> {
    closed_globals: HashSet<Name>,
    locals: &'a mut VarTable,
    inlinings: &'a Inlinings,
    labels: Vec<bool>,
    boxed: Vec<bool>,
    assigned: Vec<bool>,
    /// Variables whose group's initial values are being computed.
    checking: Vec<bool>,
    /// The procedure that binds each variable.
    home: Vec<ProcedureId>,
    known: Vec<Option<ProcedureId>>,
    procedures: Vec<Option<Procedure>>,
    frames: Vec<Frame>,
}

impl Lowering<'_> {
    fn open(&mut self, self_variable: Option<VarId>) -> ProcedureId {
        let id = ProcedureId(self.procedures.len() as u32);
        self.procedures.push(None);
        self.frames.push(Frame {
            id,
            self_variable,
            self_global: None,
            free: Vec::new(),
            free_set: HashSet::new(),
        });
        id
    }

    fn close(&mut self, id: ProcedureId, name: Option<Name>, span: Span, clauses: Vec<Clause>) {
        if let Some(frame) = self.frames.pop() {
            self.procedures[id.0 as usize] = Some(Procedure {
                name,
                span,
                enclosing: self.frames.last().map(|frame| frame.id),
                clauses,
                free: frame.free,
                self_variable: frame.self_variable,
                self_global: frame.self_global,
            });
        }
    }

    fn current(&self) -> ProcedureId {
        self.frames.last().map_or(ProcedureId(0), |frame| frame.id)
    }

    fn bind(&mut self, var: VarId) {
        self.home[var.0 as usize] = self.current();
    }

    /// Notes that the current procedure needs `var`.
    fn mention(&mut self, var: VarId) {
        let home = self.home[var.0 as usize];
        for frame in self.frames.iter_mut().rev() {
            if frame.id == home || frame.self_variable == Some(var) || !frame.free_set.insert(var) {
                break;
            }
            frame.free.push(var);
        }
    }

    /// The name for what a variable is bound to for good. That of an imported procedure's variable would
    /// say nothing to the programmer.
    fn name_of(&self, var: VarId) -> Option<Name> {
        let row = &self.locals[var];
        (!self.inlinings.is_imported(row.span)).then_some(row.name)
    }

    fn temporary(&mut self, name: &str, span: Span) -> VarId {
        let var = self.locals.add(Name::new(name), span);
        self.boxed.push(false);
        self.assigned.push(false);
        self.checking.push(false);
        self.labels.push(false);
        self.known.push(None);
        self.home.push(self.current());
        var
    }

    fn lower_definition(&mut self, global: GlobalName, expr: Expr) -> Node {
        let span = expr.span;
        let value = match expr.kind {
            ExprKind::Lambda(lambda) => {
                let closed = self.closed_globals.contains(&global.name);
                let known = closed.then(|| global.clone());
                let id = self.lower_procedure(vec![*lambda], None, known, Some(global.name));
                Node::new(span, Kind::Closure(id))
            }
            _ => self.lower(expr),
        };
        Node::new(span, Kind::DefineGlobal(global, Box::new(value)))
    }

    fn lower_procedure(
        &mut self,
        lambdas: Vec<Lambda>,
        self_variable: Option<VarId>,
        self_global: Option<GlobalName>,
        default_name: Option<Name>,
    ) -> ProcedureId {
        let id = self.open(self_variable);
        if let Some(frame) = self.frames.last_mut() {
            frame.self_global = self_global;
        }
        let name = lambdas
            .iter()
            .find_map(|lambda| lambda.name)
            .or(default_name);
        let span = lambdas
            .iter()
            .map(|lambda| lambda.span)
            .reduce(Span::to)
            .unwrap_or(Span::NONE);
        let clauses = lambdas
            .into_iter()
            .map(|lambda| self.lower_clause(lambda))
            .collect();
        self.close(id, name, span, clauses);
        id
    }

    fn lower_clause(&mut self, lambda: Lambda) -> Clause {
        parameters(&lambda)
            .into_iter()
            .for_each(|var| self.bind(var));
        let optional = lambda
            .optional
            .into_iter()
            .map(|(var, default)| (var, self.lower(default)))
            .collect();
        let keywords = lambda
            .keywords
            .into_iter()
            .map(|(name, var, default)| (name, var, self.lower(default)))
            .collect();
        Clause {
            required: lambda.required,
            optional,
            keywords,
            rest: lambda.rest,
            allow_other_keys: lambda.allow_other_keys,
            body: self.lower(lambda.body),
        }
    }

    fn lower_box(&mut self, expr: Expr) -> Box<Node> {
        Box::new(self.lower(expr))
    }

    fn lower_all(&mut self, exprs: Vec<Expr>) -> Vec<Node> {
        exprs.into_iter().map(|expr| self.lower(expr)).collect()
    }

    fn lower(&mut self, expr: Expr) -> Node {
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Constant(datum) => Kind::Constant(datum),
            ExprKind::LocalRef(var) => self.lower_reference(var),
            ExprKind::LocalSet(var, value) => {
                let value = self.lower_box(*value);
                self.mention(var);
                if self.boxed[var.0 as usize] {
                    Kind::SetBox(var, value)
                } else {
                    Kind::SetLocal(var, value)
                }
            }
            ExprKind::GlobalRef(global) => Kind::Global(global),
            ExprKind::GlobalSet(global, value) => Kind::SetGlobal(global, self.lower_box(*value)),
            ExprKind::PrimitiveRef(id) => Kind::PrimitiveValue(primitive_row(id)),
            ExprKind::If(parts) => {
                let parts = (*parts).map(|part| self.lower(part));
                Kind::If(Box::new(parts))
            }
            ExprKind::Lambda(lambda) => {
                Kind::Closure(self.lower_procedure(vec![*lambda], None, None, None))
            }
            ExprKind::CaseLambda(clauses) => {
                Kind::Closure(self.lower_procedure(clauses, None, None, None))
            }
            ExprKind::Sequence(parts) => Kind::Sequence(self.lower_all(parts)),
            ExprKind::Let { bindings, body } => return self.lower_let(span, bindings, *body),
            ExprKind::Letrec {
                star,
                bindings,
                body,
            } => {
                if is_fixed(&bindings, self.locals) {
                    return self.lower_fixed(span, bindings, *body);
                }
                return self.lower_complex(span, star, bindings, *body);
            }
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                let init = self.lower_box(*init);
                formals
                    .required
                    .iter()
                    .chain(&formals.rest)
                    .for_each(|var| self.bind(*var));
                let body = self.lower_box(*body);
                Kind::LetValues {
                    required: formals.required,
                    rest: formals.rest,
                    init,
                    body,
                }
            }
            ExprKind::Call { operator, operands } => self.lower_call(*operator, operands),
        };
        Node::new(span, kind)
    }

    fn lower_reference(&mut self, var: VarId) -> Kind {
        self.mention(var);
        if self.boxed[var.0 as usize] {
            Kind::Unbox {
                var,
                check: self.checking[var.0 as usize],
            }
        } else {
            Kind::Local(var)
        }
    }

    fn lower_call(&mut self, operator: Expr, operands: Vec<Expr>) -> Kind {
        match operator.kind {
            ExprKind::LocalRef(var) if self.labels[var.0 as usize] => Kind::Goto {
                label: var,
                arguments: self.lower_all(operands),
            },
            ExprKind::PrimitiveRef(id) if is_direct_call(id, operands.len()) => Kind::Primitive {
                id: primitive_row(id),
                operands: self.lower_all(operands),
            },
            _ => {
                let operator = self.lower_box(operator);
                Kind::Call {
                    operator,
                    operands: self.lower_all(operands),
                }
            }
        }
    }

    fn lower_let(&mut self, span: Span, bindings: Vec<(VarId, Expr)>, body: Expr) -> Node {
        let (mut values, mut closures, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (var, init) in bindings {
            self.bind(var);
            let assigned = self.locals[var].assigned;
            match init.kind {
                ExprKind::Lambda(lambda) if self.labels[var.0 as usize] => {
                    labels.push(self.lower_label(var, *lambda));
                }
                ExprKind::Lambda(lambda) if !assigned => {
                    let name = self.name_of(var);
                    let id = self.lower_procedure(vec![*lambda], None, None, name);
                    self.known[var.0 as usize] = Some(id);
                    closures.push((var, id));
                }
                _ => values.push((var, self.lower(init))),
            }
        }
        let mut node = self.lower(body);
        if !labels.is_empty() {
            node = Node::new(
                span,
                Kind::Labels {
                    labels,
                    body: Box::new(node),
                },
            );
        }
        if !closures.is_empty() {
            node = Node::new(span, Kind::Fix(closures, Box::new(node)));
        }
        if !values.is_empty() {
            node = Node::new(span, Kind::Let(values, Box::new(node)));
        }
        node
    }

    fn lower_label(&mut self, var: VarId, lambda: Lambda) -> Label {
        lambda
            .required
            .iter()
            .for_each(|parameter| self.bind(*parameter));
        Label {
            var,
            parameters: lambda.required,
            body: self.lower(lambda.body),
        }
    }

    fn lower_fixed(&mut self, span: Span, bindings: Vec<(VarId, Expr)>, body: Expr) -> Node {
        bindings.iter().for_each(|(var, _)| self.bind(*var));
        let is_label = bindings.iter().all(|(var, _)| self.labels[var.0 as usize]);
        let (mut labels, mut closures) = (Vec::new(), Vec::new());
        for (var, init) in bindings {
            match init.kind {
                ExprKind::Lambda(lambda) if is_label => labels.push(self.lower_label(var, *lambda)),
                kind => closures.push(self.lower_known(var, Expr::new(init.span, kind))),
            }
        }
        let body = self.lower_box(body);
        if is_label {
            Node::new(span, Kind::Labels { labels, body })
        } else {
            Node::new(span, Kind::Fix(closures, body))
        }
    }

    /// A procedure that is bound to `var` for good and sees it.
    fn lower_known(&mut self, var: VarId, init: Expr) -> (VarId, ProcedureId) {
        let name = self.name_of(var);
        let lambdas = match init.kind {
            ExprKind::Lambda(lambda) => vec![*lambda],
            ExprKind::CaseLambda(clauses) => clauses,
            // Only procedures are passed here; a constant thunk keeps this function total.
            kind => vec![thunk(Expr::new(init.span, kind))],
        };
        let id = self.lower_procedure(lambdas, Some(var), None, name);
        self.known[var.0 as usize] = Some(id);
        (var, id)
    }

    /// A group that mixes procedures with values that mention the group: the values live in boxes
    /// that start unbound, and mentions that may come too early are checked.
    fn lower_complex(
        &mut self,
        span: Span,
        star: bool,
        bindings: Vec<(VarId, Expr)>,
        body: Expr,
    ) -> Node {
        bindings.iter().for_each(|(var, _)| self.bind(*var));
        let (procedures, values): (Vec<_>, Vec<_>) = bindings
            .into_iter()
            .partition(|binding| is_fixed(std::slice::from_ref(binding), self.locals));
        let vars: Vec<VarId> = values.iter().map(|(var, _)| *var).collect();
        vars.iter()
            .for_each(|var| self.checking[var.0 as usize] = true);
        let closures: Vec<_> = procedures
            .into_iter()
            .map(|(var, init)| self.lower_known(var, init))
            .collect();
        let mut steps = Vec::new();
        let mut temporaries = Vec::new();
        for (var, init) in values {
            let value = self.lower(init);
            if star {
                steps.push(Node::new(value.span, Kind::SetBox(var, Box::new(value))));
            } else {
                let temporary = self.temporary("init", value.span);
                let copy = Node::new(value.span, Kind::Local(temporary));
                steps.push(Node::new(value.span, Kind::SetBox(var, Box::new(copy))));
                temporaries.push((temporary, value));
            }
        }
        vars.iter()
            .for_each(|var| self.checking[var.0 as usize] = false);
        steps.push(self.lower(body));
        let mut node = Node::new(span, Kind::Sequence(steps));
        if !temporaries.is_empty() {
            node = Node::new(span, Kind::Let(temporaries, Box::new(node)));
        }
        if !closures.is_empty() {
            node = Node::new(span, Kind::Fix(closures, Box::new(node)));
        }
        let unbound = vars
            .into_iter()
            .map(|var| (var, Node::new(span, Kind::Unbound)))
            .collect();
        Node::new(span, Kind::Let(unbound, Box::new(node)))
    }
}

fn thunk(body: Expr) -> Lambda {
    Lambda {
        name: None,
        required: Vec::new(),
        optional: Vec::new(),
        keywords: Vec::new(),
        rest: None,
        allow_other_keys: false,
        span: body.span,
        body,
    }
}
