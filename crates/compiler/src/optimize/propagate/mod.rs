//! Propagates what tests and calls have shown to the code behind them: tests whose answer is known
//! become literals, and values that a variable has already are read from it.
//!
//! Each pure expression gets a *number*. Two expressions with the same number have the same value:
//! they call the same primitive with operands of the same numbers, and, if it reads memory, nothing was
//! written in between. Numbers of reads contain the *epoch*, which changes at every effect, so no fact
//! has to be forgotten. The kinds of objects that a number may stand for are known in the code that the
//! test or call dominates. The tree gives dominance: what the test of a conditional shows holds in its
//! branches, what an expression of a sequence shows holds behind it, and what one branch shows holds
//! behind the conditional if the other one does not return.
//!
//! Facts of variables that never change enter the bodies of procedures, since they hold for ever. Facts
//! of memory do not, and neither do variables that hold values: a procedure captures nothing for this
//! pass. Operands of one call tell nothing to each other, as their order is open.
//!
//! An expression is only dropped if it is certain that evaluating it has no effect and raises nothing,
//! because it was evaluated before or because it cannot raise. The simplifier removes what becomes of
//! the dropped tests.

mod kinds;

use canny_syntax::core::{
    Expr, ExprKind, GlobalName, Lambda, LibraryKey, PrimitiveId, Unit, UnitKind, VarId,
};
use canny_syntax::datum::Datum;
use canny_syntax::name::Name;
use canny_tables::hashing::{SeededMap, SeededSet};

use super::effects::{Facts, primitive_call};
use super::forms::Forms;
use super::globals::Globals;
use super::limits::Budget;
use super::usage::count;
use crate::walk::{for_each_lambda_child_mut, form_expr_mut, never_returns};
use kinds::{Kinds, Order, Repeats, Row};

/// Propagates facts through a unit; gives the forms in which something changed.
pub fn run(unit: &mut Unit, globals: &Globals, budget: &mut Budget) -> Forms {
    let all = Forms::all(unit.body.len());
    let mut changed = Forms::none(unit.body.len());
    let usage = count(unit, &all);
    let is_closed = unit.kind != UnitKind::Toplevel;
    let own = unit
        .globals
        .iter()
        .filter(|global| is_closed && !global.assigned);
    let mut pass = Propagator {
        facts: Facts {
            locals: &unit.locals,
            usage: &usage,
            globals,
        },
        settled: own.map(|global| global.name).collect(),
        unit: &unit.name,
        budget,
        numbers: SeededMap::default(),
        definitions: Vec::new(),
        known: Vec::new(),
        trail: Vec::new(),
        aliases: SeededMap::default(),
        variables: SeededMap::default(),
        epoch: 0,
        epochs: 0,
        depth: 0,
        changed: false,
    };
    for (index, form) in unit.body.iter_mut().enumerate() {
        let mark = pass.trail.len();
        pass.changed = false;
        pass.visit(form_expr_mut(form), Context::Value);
        pass.forget(mark);
        pass.write();
        if pass.changed {
            changed.add(index);
        }
    }
    changed
}

/// Stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Number(u32);

/// Greatest number of operands of a call that has a number.
const OPERANDS_MAX: usize = 4;

/// A variable, literal or call that has a number.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Local(VarId),
    Global(GlobalName),
    Integer(i64),
    Character(char),
    Symbol(Name),
    Boolean(bool),
    Nil,
    Call(PrimitiveId, [Option<Number>; OPERANDS_MAX], u32),
}

/// The call that a number stands for.
type Definition = Option<(PrimitiveId, [Option<Number>; OPERANDS_MAX])>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Value,
    /// Only whether it is `#f` matters.
    Test,
}

/// The findings of a visit to an expression.
struct Seen {
    number: Option<Number>,
    /// It consists of variables, literals and calls with numbers only: if these calls were evaluated
    /// before, evaluating it again does nothing.
    is_plain: bool,
    never_returns: bool,
    claim: Claim,
}

/// The facts that hold if an expression is true.
enum Claim {
    Nothing,
    Is(Number),
    Both(Box<Claim>, Box<Claim>),
    Either(Box<Claim>, Box<Claim>),
}

impl Seen {
    fn nothing() -> Seen {
        Seen {
            number: None,
            is_plain: false,
            never_returns: false,
            claim: Claim::Nothing,
        }
    }

    fn number(number: Option<Number>, is_plain: bool) -> Seen {
        Seen {
            number,
            is_plain,
            never_returns: false,
            claim: number.map_or(Claim::Nothing, Claim::Is),
        }
    }
}

/// A variable that has the value of a number. It is read only in the procedure that binds it, and not
/// behind a call, where it would have to be kept for that alone.
#[derive(Clone, Copy)]
struct Holder {
    var: VarId,
    depth: u32,
    epoch: u32,
}

struct Propagator<'a> {
    facts: Facts<'a>,
    /// Globals of this unit that have one value once they have one.
    settled: SeededSet<Name>,
    unit: &'a LibraryKey,
    budget: &'a mut Budget,
    numbers: SeededMap<Key, Number>,
    /// By number.
    definitions: Vec<Definition>,
    /// By number: the kinds that it may have here. A number with an entry was evaluated on all
    /// paths that lead here, or would be without an error.
    known: Vec<Option<Kinds>>,
    /// The entries of `known` that were changed, with what they were.
    trail: Vec<(Number, Option<Kinds>)>,
    /// Numbers of variables that are bound to expressions with numbers.
    aliases: SeededMap<VarId, Number>,
    /// Variables in scope that have the value of a number.
    variables: SeededMap<Number, Holder>,
    /// State of memory.
    epoch: u32,
    /// The last epoch that there was.
    epochs: u32,
    /// Procedures around the expression.
    depth: u32,
    changed: bool,
}

impl Propagator<'_> {
    /// Memory was written.
    fn write(&mut self) {
        self.epochs += 1;
        self.epoch = self.epochs;
    }

    fn spend(&mut self) -> bool {
        let granted = self.budget.spend();
        self.changed |= granted;
        granted
    }

    fn number_of(&mut self, key: Key, definition: Definition) -> Number {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.fresh(definition);
        self.numbers.insert(key, number);
        number
    }

    fn fresh(&mut self, definition: Definition) -> Number {
        let number = Number(self.definitions.len() as u32);
        self.definitions.push(definition);
        self.known.push(None);
        number
    }

    fn kinds(&self, number: Number) -> Kinds {
        self.known[number.0 as usize].unwrap_or(Kinds::ALL)
    }

    fn was_evaluated(&self, number: Number) -> bool {
        self.known[number.0 as usize].is_some()
    }

    /// Narrows the kinds of a number from here on.
    fn narrow(&mut self, number: Number, kinds: Kinds) {
        let entry = &mut self.known[number.0 as usize];
        let narrowed = entry.unwrap_or(Kinds::ALL) & kinds;
        if *entry != Some(narrowed) {
            self.trail.push((number, *entry));
            *entry = Some(narrowed);
        }
    }

    /// Goes back to what was known at a length of the trail; gives what is forgotten.
    fn forget(&mut self, mark: usize) -> Vec<(Number, Kinds)> {
        let mut forgotten = Vec::with_capacity(self.trail.len() - mark);
        while self.trail.len() > mark {
            let Some((number, before)) = self.trail.pop() else {
                break;
            };
            let entry = &mut self.known[number.0 as usize];
            forgotten.extend(entry.map(|kinds| (number, kinds)));
            *entry = before;
        }
        forgotten
    }

    fn recall(&mut self, facts: Vec<(Number, Kinds)>) {
        for (number, kinds) in facts {
            self.narrow(number, kinds);
        }
    }

    /// Whether the value of a number is true here.
    fn truth(&self, number: Number) -> Option<bool> {
        let kinds = self.kinds(number);
        if kinds == Kinds::NONE {
            // Nothing comes here.
            return None;
        }
        if kinds.within(Kinds::FALSE) {
            return Some(false);
        }
        kinds.excludes(Kinds::FALSE).then_some(true)
    }

    fn assume(&mut self, claim: &Claim, truth: bool) {
        match claim {
            Claim::Nothing => {}
            Claim::Is(number) => self.assume_number(*number, truth),
            Claim::Both(first, second) if truth => {
                self.assume(first, true);
                self.assume(second, true);
            }
            Claim::Either(first, second) if !truth => {
                self.assume(first, false);
                self.assume(second, false);
            }
            Claim::Both(..) | Claim::Either(..) => {}
        }
    }

    fn assume_number(&mut self, number: Number, truth: bool) {
        let of_truth = if truth { !Kinds::FALSE } else { Kinds::FALSE };
        self.narrow(number, of_truth);
        let Some((id, operands)) = self.definitions[number.0 as usize] else {
            return;
        };
        let row = kinds::row(id);
        let [Some(first), second, third, _] = operands else {
            return;
        };
        if let (Some(predicate), None) = (row.predicate, second) {
            let kinds = if truth {
                predicate.possible
            } else {
                !predicate.certain
            };
            self.narrow(first, kinds);
            if id.row().name == "not" {
                self.assume_number(first, !truth);
            }
        }
        let (Some(second), None) = (second, third) else {
            return;
        };
        if row.is_equivalence && truth {
            let both = self.kinds(first) & self.kinds(second);
            self.narrow(first, both);
            self.narrow(second, both);
        }
        if let Some(order) = row.order
            && truth
        {
            self.assume_order(id, order, first, second);
        }
    }

    /// Notes the consequences of a comparison that is true. A false one has no consequences, as its
    /// operands may not be numbers that are ordered.
    fn assume_order(&mut self, id: PrimitiveId, order: Order, first: Number, second: Number) {
        let [less, less_or_equal, equal] = if id.row().name.starts_with("char") {
            ["char<?", "char<=?", "char=?"]
        } else {
            ["<", "<=", "="]
        };
        let implied: &[(&str, bool, bool)] = match order {
            // Name, whether the operands are exchanged, the answer.
            Order::Less => &[
                (less, true, false),
                (less_or_equal, false, true),
                (less_or_equal, true, false),
                (equal, false, false),
                (equal, true, false),
            ],
            Order::LessOrEqual => &[(less, true, false)],
            Order::Equal => &[
                (less, false, false),
                (less, true, false),
                (less_or_equal, false, true),
                (less_or_equal, true, true),
                (equal, true, true),
            ],
            // Those have numbers of the exchanged ones.
            Order::Greater | Order::GreaterOrEqual => &[],
        };
        for (name, exchanged, answer) in implied {
            let Some(id) = canny_tables::primitives::lookup(name) else {
                continue;
            };
            let (a, b) = if *exchanged {
                (second, first)
            } else {
                (first, second)
            };
            let operands = [Some(a), Some(b), None, None];
            let number = self.number_of(Key::Call(id, operands, 0), Some((id, operands)));
            self.narrow(number, if *answer { Kinds::TRUE } else { Kinds::FALSE });
        }
    }

    fn visit(&mut self, expr: &mut Expr, context: Context) -> Seen {
        match &mut expr.kind {
            ExprKind::Constant(datum) => {
                let number = constant_key(datum).map(|key| self.number_of(key, None));
                if let Some(number) = number {
                    self.narrow(number, Kinds::of_datum(datum));
                }
                Seen::number(number, true)
            }
            ExprKind::PrimitiveRef(_) => Seen::nothing(),
            ExprKind::LocalRef(var) => {
                let var = *var;
                self.visit_local(expr, var, context)
            }
            ExprKind::GlobalRef(global) => {
                let is_settled = self.facts.globals.is_constant(global)
                    || global.library == *self.unit && self.settled.contains(&global.name);
                let number = is_settled.then(|| self.number_of(Key::Global(global.clone()), None));
                Seen::number(number, true)
            }
            ExprKind::LocalSet(_, value) | ExprKind::GlobalSet(_, value) => {
                let seen = self.visit(value, Context::Value);
                Seen {
                    never_returns: seen.never_returns,
                    ..Seen::nothing()
                }
            }
            ExprKind::If(_) => self.visit_if(expr, context),
            ExprKind::Lambda(lambda) => {
                self.visit_lambda(lambda);
                Seen::nothing()
            }
            ExprKind::CaseLambda(clauses) => {
                clauses.iter_mut().for_each(|c| self.visit_lambda(c));
                Seen::nothing()
            }
            ExprKind::Sequence(parts) => self.visit_sequence(parts, context),
            ExprKind::Let { bindings, body } => self.visit_let(bindings, body, context),
            ExprKind::Letrec { bindings, body, .. } => {
                for (_, init) in bindings {
                    self.visit(init, Context::Value);
                }
                self.not_plain(body, context)
            }
            ExprKind::LetValues { init, body, .. } => {
                self.visit(init, Context::Value);
                self.not_plain(body, context)
            }
            ExprKind::Call { .. } => self.visit_call(expr, context),
        }
    }

    fn not_plain(&mut self, body: &mut Expr, context: Context) -> Seen {
        let seen = self.visit(body, context);
        Seen {
            is_plain: false,
            ..seen
        }
    }

    fn visit_lambda(&mut self, lambda: &mut Lambda) {
        let (mark, epoch) = (self.trail.len(), self.epoch);
        self.depth += 1;
        self.write();
        for_each_lambda_child_mut(lambda, &mut |child| {
            self.visit(child, Context::Value);
        });
        self.depth -= 1;
        self.epoch = epoch;
        self.forget(mark);
    }

    fn visit_local(&mut self, expr: &mut Expr, var: VarId, context: Context) -> Seen {
        if !self.facts.is_stable(var) {
            return Seen::nothing();
        }
        let number = match self.aliases.get(&var) {
            Some(number) => *number,
            None => self.number_of(Key::Local(var), None),
        };
        match self.truth(number) {
            Some(false) if self.spend() => expr.kind = boolean(false),
            Some(true) if context == Context::Test && self.spend() => expr.kind = boolean(true),
            _ => {}
        }
        Seen::number(Some(number), true)
    }

    fn visit_sequence(&mut self, parts: &mut [Expr], context: Context) -> Seen {
        let mut never_returns = false;
        let mut seen = Seen::nothing();
        let count = parts.len();
        for (index, part) in parts.iter_mut().enumerate() {
            let is_last = index + 1 == count;
            seen = self.visit(part, if is_last { context } else { Context::Value });
            never_returns |= seen.never_returns;
        }
        Seen {
            never_returns,
            is_plain: false,
            ..seen
        }
    }

    fn visit_let(
        &mut self,
        bindings: &mut [(VarId, Expr)],
        body: &mut Expr,
        context: Context,
    ) -> Seen {
        let inits = bindings.iter_mut().map(|(_, init)| init);
        let (seen, never_returns) = self.visit_operands(inits);
        let mut hidden = Vec::new();
        for ((var, _), seen) in bindings.iter().zip(&seen) {
            let Some(number) = seen.number else {
                continue;
            };
            if !self.facts.is_stable(*var) {
                continue;
            }
            self.aliases.insert(*var, number);
            if self.definitions[number.0 as usize].is_some() && self.holder(number).is_none() {
                let holder = Holder {
                    var: *var,
                    depth: self.depth,
                    epoch: self.epoch,
                };
                hidden.push((number, self.variables.insert(number, holder)));
            }
        }
        let seen = self.visit(body, context);
        for (number, before) in hidden.into_iter().rev() {
            match before {
                Some(before) => drop(self.variables.insert(number, before)),
                None => drop(self.variables.remove(&number)),
            }
        }
        Seen {
            is_plain: false,
            never_returns: never_returns || seen.never_returns,
            ..seen
        }
    }

    /// The variable to read in place of computing a value again.
    fn holder(&self, number: Number) -> Option<VarId> {
        let holder = self.variables.get(&number)?;
        (holder.depth == self.depth && holder.epoch == self.epoch).then_some(holder.var)
    }

    /// Visits expressions whose order is open. The facts that each one shows hold behind them all.
    fn visit_operands<'e>(
        &mut self,
        operands: impl Iterator<Item = &'e mut Expr>,
    ) -> (Vec<Seen>, bool) {
        let before = self.epoch;
        let mut facts = Vec::new();
        let mut all = Vec::new();
        let mut never_returns = false;
        for operand in operands {
            let mark = self.trail.len();
            let seen = self.visit(operand, Context::Value);
            facts.push(self.forget(mark));
            never_returns |= seen.never_returns;
            all.push(seen);
        }
        if self.epoch != before {
            self.write();
        }
        facts.into_iter().for_each(|facts| self.recall(facts));
        (all, never_returns)
    }

    fn visit_if(&mut self, expr: &mut Expr, context: Context) -> Seen {
        let ExprKind::If(parts) = &mut expr.kind else {
            return Seen::nothing();
        };
        let [test, consequent, alternative] = &mut **parts;
        let tested = self.visit(test, Context::Test);
        let (mark, epoch) = (self.trail.len(), self.epoch);
        self.assume(&tested.claim, true);
        let first = self.visit(consequent, context);
        let first_facts = self.forget(mark);
        let first_epoch = std::mem::replace(&mut self.epoch, epoch);
        self.assume(&tested.claim, false);
        let second = self.visit(alternative, context);
        // If only one branch returns, its facts hold behind the conditional.
        if !first.never_returns {
            let second_epoch = self.epoch;
            self.forget(mark);
            if second.never_returns {
                self.recall(first_facts);
                self.epoch = first_epoch;
            } else if first_epoch != second_epoch {
                self.write();
            }
        }
        let literal = |part: &Expr| match part.kind {
            ExprKind::Constant(Datum::Boolean(value)) => Some(value),
            _ => None,
        };
        let claim = match (literal(consequent), literal(alternative)) {
            (None, Some(false)) => Claim::Both(Box::new(tested.claim), Box::new(first.claim)),
            (Some(true), None) => Claim::Either(Box::new(tested.claim), Box::new(second.claim)),
            (Some(true), Some(false)) => tested.claim,
            _ => Claim::Nothing,
        };
        Seen {
            number: None,
            is_plain: false,
            never_returns: tested.never_returns || first.never_returns && second.never_returns,
            claim,
        }
    }

    fn visit_call(&mut self, expr: &mut Expr, context: Context) -> Seen {
        let leaves = never_returns(expr);
        let ExprKind::Call { operator, operands } = &mut expr.kind else {
            return Seen::nothing();
        };
        let callee = match &operator.kind {
            ExprKind::PrimitiveRef(_) => None,
            _ => Some(&mut **operator),
        };
        let skipped = usize::from(callee.is_some());
        let (seen, operand_leaves) = self.visit_operands(callee.into_iter().chain(operands));
        let seen = &seen[skipped..];
        let never_returns = leaves || operand_leaves;
        let Some((id, _)) = primitive_call(expr) else {
            self.write();
            return Seen {
                never_returns,
                ..Seen::nothing()
            };
        };
        let row = kinds::row(id);
        let number = self.call_number(id, row, seen);
        let is_plain = number.is_some() && seen.iter().all(|seen| seen.is_plain);
        if is_plain
            && let Some(number) = number
            && self.replace(expr, number, context)
        {
            return Seen::number(Some(number), true);
        }
        if row.writes {
            self.write();
        }
        for (index, seen) in seen.iter().enumerate() {
            let kinds = row.operand(index);
            if let Some(operand) = seen.number
                && kinds != Kinds::ALL
            {
                self.narrow(operand, kinds);
            }
        }
        let number = number.unwrap_or_else(|| self.fresh(None));
        self.narrow(number, row.result);
        Seen {
            never_returns: never_returns || row.never_returns,
            ..Seen::number(Some(number), is_plain)
        }
    }

    /// The number of a call whose value another call may have.
    fn call_number(&mut self, id: PrimitiveId, row: &Row, seen: &[Seen]) -> Option<Number> {
        let epoch = match row.repeats {
            Repeats::Always => 0,
            Repeats::UntilWrite => self.epoch + 1,
            Repeats::Never => return None,
        };
        if seen.is_empty() || seen.len() > OPERANDS_MAX {
            return None;
        }
        let mut operands = [None; OPERANDS_MAX];
        for (to, seen) in operands.iter_mut().zip(seen) {
            *to = Some(seen.number?);
        }
        let exchanged = match (id.row().name, seen.len()) {
            (">", 2) => Some("<"),
            (">=", 2) => Some("<="),
            ("char>?", 2) => Some("char<?"),
            ("char>=?", 2) => Some("char<=?"),
            _ => None,
        };
        let id = match exchanged.and_then(canny_tables::primitives::lookup) {
            Some(other) => {
                operands.swap(0, 1);
                other
            }
            None => id,
        };
        Some(self.number_of(Key::Call(id, operands, epoch), Some((id, operands))))
    }

    /// Replaces a call by its value, if that is known.
    fn replace(&mut self, expr: &mut Expr, number: Number, context: Context) -> bool {
        if let Some(truth) = self.answer(expr, number)
            && (!truth || context == Context::Test || self.kinds(number).within(Kinds::BOOLEAN))
            && self.spend()
        {
            self.narrow(number, if truth { !Kinds::FALSE } else { Kinds::FALSE });
            expr.kind = boolean(truth);
            return true;
        }
        if self.was_evaluated(number)
            && let Some(var) = self.holder(number)
            && self.spend()
        {
            expr.kind = ExprKind::LocalRef(var);
            return true;
        }
        false
    }

    /// Whether a call is true, if that is known and the call need not be evaluated.
    fn answer(&mut self, expr: &Expr, number: Number) -> Option<bool> {
        if self.was_evaluated(number)
            && let Some(truth) = self.truth(number)
        {
            return Some(truth);
        }
        let (id, [Some(operand), None, ..]) = self.definitions[number.0 as usize]? else {
            return None;
        };
        let predicate = kinds::row(id).predicate?;
        let (_, operands) = primitive_call(expr)?;
        let kinds = self.kinds(operand);
        let is_dropped = self.was_evaluated(operand) || self.facts.is_discardable(&operands[0]);
        if !is_dropped || kinds == Kinds::NONE {
            return None;
        }
        let answer = if kinds.within(predicate.certain) {
            true
        } else if kinds.excludes(predicate.possible) {
            false
        } else {
            return None;
        };
        self.narrow(number, Kinds::BOOLEAN);
        Some(answer)
    }
}

fn boolean(value: bool) -> ExprKind {
    ExprKind::Constant(Datum::Boolean(value))
}

/// The key of a literal that has no identity.
fn constant_key(datum: &Datum) -> Option<Key> {
    Some(match datum {
        Datum::Nil => Key::Nil,
        Datum::Boolean(value) => Key::Boolean(*value),
        Datum::Character(character) => Key::Character(*character),
        Datum::Symbol(name) => Key::Symbol(*name),
        Datum::Number(number) => Key::Integer(number.to_i64()?),
        _ => return None,
    })
}
