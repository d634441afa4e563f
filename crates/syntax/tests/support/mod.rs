//! A small evaluator of the core language, so that tests can state what a program means instead of
//! what it looks like after expansion. Slow and partial on purpose; it knows only the primitives
//! that tests use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use canny_syntax::core::{
    Expr, ExprKind, Formals, GlobalName, Lambda, LibraryKey, TopForm, Unit, VarId,
};
use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::expander::expand_program;
use canny_syntax::interface::Interface;
use canny_syntax::library::Libraries;
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::SourceId;

#[derive(Clone)]
pub enum Value {
    Atom(Datum),
    Pair(Rc<(Value, Value)>),
    Vector(Rc<Vec<Value>>),
    Closure(Rc<Vec<Lambda>>, Environment),
    Primitive(&'static str),
    Values(Vec<Value>),
    Record(Rc<RefCell<Vec<Value>>>),
}

type Cell = Rc<RefCell<Option<Value>>>;

#[derive(Clone, Default)]
pub struct Environment(Option<Rc<Node>>);

struct Node {
    cells: HashMap<VarId, Cell>,
    parent: Environment,
}

impl Environment {
    fn extend(&self, variables: impl IntoIterator<Item = (VarId, Option<Value>)>) -> Environment {
        let cells = variables
            .into_iter()
            .map(|(variable, value)| (variable, Rc::new(RefCell::new(value))))
            .collect();
        Environment(Some(Rc::new(Node {
            cells,
            parent: self.clone(),
        })))
    }

    fn cell(&self, variable: VarId) -> Result<Cell, String> {
        let mut environment = self;
        while let Some(node) = &environment.0 {
            if let Some(cell) = node.cells.get(&variable) {
                return Ok(cell.clone());
            }
            environment = &node.parent;
        }
        Err(format!("variable {variable:?} is out of scope"))
    }
}

#[derive(Default)]
pub struct Machine {
    globals: HashMap<GlobalName, Value>,
}

type Outcome = Result<Value, String>;

impl Machine {
    /// Runs a unit; the values of its expressions.
    pub fn run(&mut self, unit: &Unit) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        for form in &unit.body {
            match form {
                TopForm::Define(name, value) => {
                    assert_eq!(name.library, unit.name);
                    let value = self.evaluate(value, &Environment::default())?;
                    self.globals.insert(name.clone(), value);
                }
                TopForm::Expression(value) => {
                    values.push(self.evaluate(value, &Environment::default())?);
                }
            }
        }
        Ok(values)
    }

    fn evaluate(&mut self, expression: &Expr, environment: &Environment) -> Outcome {
        match &expression.kind {
            ExprKind::Constant(datum) => Ok(from_datum(datum)),
            ExprKind::LocalRef(variable) => {
                let cell = environment.cell(*variable)?;
                let value = cell.borrow().clone();
                value.ok_or_else(|| "a variable is used before it is initialised".to_owned())
            }
            ExprKind::LocalSet(variable, value) => {
                let value = self.evaluate(value, environment)?;
                *environment.cell(*variable)?.borrow_mut() = Some(value);
                Ok(Value::Atom(Datum::Unspecified))
            }
            ExprKind::GlobalRef(name) => self
                .globals
                .get(name)
                .cloned()
                .ok_or_else(|| format!("unbound variable {name}")),
            ExprKind::GlobalSet(name, value) => {
                let value = self.evaluate(value, environment)?;
                if !self.globals.contains_key(name) {
                    return Err(format!("unbound variable {name}"));
                }
                self.globals.insert(name.clone(), value);
                Ok(Value::Atom(Datum::Unspecified))
            }
            ExprKind::PrimitiveRef(id) => Ok(Value::Primitive(id.row().name)),
            ExprKind::If(parts) => {
                let test = self.evaluate(&parts[0], environment)?;
                self.evaluate(&parts[if is_true(&test) { 1 } else { 2 }], environment)
            }
            ExprKind::Lambda(lambda) => Ok(closure(std::slice::from_ref(lambda), environment)),
            ExprKind::CaseLambda(clauses) => Ok(closure(clauses, environment)),
            ExprKind::Sequence(parts) => {
                let mut last = Value::Atom(Datum::Unspecified);
                for part in parts {
                    last = self.evaluate(part, environment)?;
                }
                Ok(last)
            }
            ExprKind::Let { bindings, body } => {
                let mut cells = Vec::new();
                for (variable, value) in bindings {
                    cells.push((*variable, Some(self.evaluate(value, environment)?)));
                }
                self.evaluate(body, &environment.extend(cells))
            }
            ExprKind::Letrec { bindings, body, .. } => {
                let inner =
                    environment.extend(bindings.iter().map(|(variable, _)| (*variable, None)));
                for (variable, value) in bindings {
                    let value = self.evaluate(value, &inner)?;
                    *inner.cell(*variable)?.borrow_mut() = Some(value);
                }
                self.evaluate(body, &inner)
            }
            ExprKind::LetValues {
                formals,
                init,
                body,
            } => {
                let values = match self.evaluate(init, environment)? {
                    Value::Values(values) => values,
                    single => vec![single],
                };
                let cells = bind_values(formals, values)?;
                self.evaluate(body, &environment.extend(cells))
            }
            ExprKind::Call { operator, operands } => {
                let operator = self.evaluate(operator, environment)?;
                let mut arguments = Vec::new();
                for operand in operands {
                    arguments.push(self.evaluate(operand, environment)?);
                }
                self.apply(operator, arguments)
            }
        }
    }

    fn apply(&mut self, operator: Value, arguments: Vec<Value>) -> Outcome {
        match operator {
            Value::Closure(clauses, environment) => {
                let fits = |lambda: &&Lambda| {
                    let least = lambda.required.len();
                    arguments.len() == least
                        || (arguments.len() > least
                            && (lambda.rest.is_some() || !lambda.optional.is_empty()))
                };
                let lambda = clauses
                    .iter()
                    .find(fits)
                    .ok_or("wrong number of arguments")?;
                let mut environment = environment.extend(
                    lambda
                        .required
                        .iter()
                        .copied()
                        .zip(arguments.iter().cloned().map(Some)),
                );
                let mut rest = arguments.into_iter().skip(lambda.required.len());
                for (variable, default) in &lambda.optional {
                    let value = match rest.next() {
                        Some(value) => value,
                        None => self.evaluate(default, &environment)?,
                    };
                    environment = environment.extend([(*variable, Some(value))]);
                }
                if let Some(variable) = lambda.rest {
                    environment = environment.extend([(variable, Some(list(rest.collect())))]);
                }
                self.evaluate(&lambda.body, &environment)
            }
            Value::Primitive(name) => self.primitive(name, arguments),
            other => Err(format!("{} is not a procedure", show(&other))),
        }
    }

    fn primitive(&mut self, name: &'static str, mut arguments: Vec<Value>) -> Outcome {
        let integer = |value: &Value| match value {
            Value::Atom(Datum::Number(number)) => {
                canny_syntax::number::as_integer(number).ok_or("not a small integer".to_owned())
            }
            other => Err(format!("{} is not a number", show(other))),
        };
        let numbers = || {
            arguments
                .iter()
                .map(integer)
                .collect::<Result<Vec<i64>, String>>()
        };
        let truth = |value| Ok(Value::Atom(Datum::Boolean(value)));
        let number = |value| Ok(Value::Atom(Datum::integer(value)));
        match (name, arguments.as_slice()) {
            ("+", _) => number(numbers()?.iter().sum()),
            ("*", _) => number(numbers()?.iter().product()),
            ("-", [only]) => number(-integer(only)?),
            ("-", [first, ..]) => number(integer(first)? * 2 - numbers()?.iter().sum::<i64>()),
            ("=", [left, right]) => truth(integer(left)? == integer(right)?),
            ("<", [left, right]) => truth(integer(left)? < integer(right)?),
            ("not", [value]) => truth(!is_true(value)),
            ("null?", [value]) => truth(matches!(value, Value::Atom(Datum::Nil))),
            ("pair?", [value]) => truth(matches!(value, Value::Pair(_))),
            ("eq?" | "eqv?" | "equal?", [left, right]) => truth(show(left) == show(right)),
            ("cons", [car, cdr]) => Ok(Value::Pair(Rc::new((car.clone(), cdr.clone())))),
            ("car", [Value::Pair(pair)]) => Ok(pair.0.clone()),
            ("cdr", [Value::Pair(pair)]) => Ok(pair.1.clone()),
            ("list", _) => Ok(list(arguments)),
            ("cons*", [.., _]) => {
                let tail = arguments.pop().ok_or("no arguments")?;
                Ok(arguments
                    .into_iter()
                    .rev()
                    .fold(tail, |cdr, car| Value::Pair(Rc::new((car, cdr)))))
            }
            ("append", [left, right]) => {
                let mut result = right.clone();
                for element in elements(left)?.into_iter().rev() {
                    result = Value::Pair(Rc::new((element, result)));
                }
                Ok(result)
            }
            ("reverse", [value]) => {
                let mut all = elements(value)?;
                all.reverse();
                Ok(list(all))
            }
            ("memv" | "memq", [wanted, rest]) => {
                let mut rest = rest.clone();
                while let Value::Pair(pair) = rest.clone() {
                    if show(&pair.0) == show(wanted) {
                        return Ok(rest);
                    }
                    rest = pair.1.clone();
                }
                truth(false)
            }
            ("vector", _) => Ok(Value::Vector(Rc::new(arguments))),
            ("list->vector", [value]) => Ok(Value::Vector(Rc::new(elements(value)?))),
            ("vector-ref", [Value::Vector(all), index]) => all
                .get(integer(index)? as usize)
                .cloned()
                .ok_or("index".to_owned()),
            ("values", [single]) => Ok(single.clone()),
            ("values", _) => Ok(Value::Values(arguments)),
            ("apply", [operator, values]) => {
                let (operator, values) = (operator.clone(), elements(values)?);
                self.apply(operator, values)
            }
            ("%make-record-type", _) => Ok(list(arguments)),
            ("%record", _) => Ok(Value::Record(Rc::new(RefCell::new(arguments)))),
            ("%record?", [value, _]) => truth(matches!(value, Value::Record(_))),
            ("%record-ref", [Value::Record(fields), _, index, _]) => {
                Ok(fields.borrow()[integer(index)? as usize + 1].clone())
            }
            ("%record-set!", [Value::Record(fields), _, index, value, _]) => {
                fields.borrow_mut()[integer(index)? as usize + 1] = value.clone();
                Ok(Value::Atom(Datum::Unspecified))
            }
            _ => Err(format!(
                "({name} …) is not known to the evaluator of the tests"
            )),
        }
    }
}

fn closure(
    clauses: &[impl Clone + std::borrow::Borrow<Lambda>],
    environment: &Environment,
) -> Value {
    let clauses = clauses
        .iter()
        .map(|clause| clause.borrow().clone())
        .collect();
    Value::Closure(Rc::new(clauses), environment.clone())
}

fn bind_values(
    formals: &Formals,
    values: Vec<Value>,
) -> Result<Vec<(VarId, Option<Value>)>, String> {
    let wanted = formals.required.len();
    if values.len() < wanted || (formals.rest.is_none() && values.len() > wanted) {
        return Err("wrong number of values".to_owned());
    }
    let mut values = values.into_iter();
    let mut cells: Vec<(VarId, Option<Value>)> = formals
        .required
        .iter()
        .map(|variable| (*variable, values.next()))
        .collect();
    cells.extend(
        formals
            .rest
            .map(|rest| (rest, Some(list(values.collect())))),
    );
    Ok(cells)
}

fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Atom(Datum::Boolean(false)))
}

fn list(values: Vec<Value>) -> Value {
    values
        .into_iter()
        .rev()
        .fold(Value::Atom(Datum::Nil), |cdr, car| {
            Value::Pair(Rc::new((car, cdr)))
        })
}

fn elements(value: &Value) -> Result<Vec<Value>, String> {
    let (mut result, mut rest) = (Vec::new(), value.clone());
    while let Value::Pair(pair) = rest {
        result.push(pair.0.clone());
        rest = pair.1.clone();
    }
    Ok(result)
}

fn from_datum(datum: &Datum) -> Value {
    match datum {
        Datum::Pair(pair) => Value::Pair(Rc::new((from_datum(&pair.car), from_datum(&pair.cdr)))),
        Datum::Vector(all) => Value::Vector(Rc::new(all.iter().map(from_datum).collect())),
        other => Value::Atom(other.clone()),
    }
}

fn to_datum(value: &Value) -> Datum {
    match value {
        Value::Atom(datum) => datum.clone(),
        Value::Pair(pair) => Datum::cons(to_datum(&pair.0), to_datum(&pair.1)),
        Value::Vector(all) => Datum::vector(all.iter().map(to_datum).collect()),
        Value::Closure(..) => Datum::symbol("procedure"),
        Value::Primitive(name) => Datum::symbol(name),
        Value::Values(all) => Datum::list(all.iter().map(to_datum).collect()),
        Value::Record(_) => Datum::symbol("record"),
    }
}

/// A value as text.
pub fn show(value: &Value) -> String {
    to_datum(value).to_string()
}

/// The outcome of a program: the values of its expressions, or its diagnostics.
pub struct Run {
    pub values: Vec<String>,
    pub diagnostics: Vec<Diagnostic>,
    pub text: String,
    pub units: Vec<Unit>,
    pub interfaces: Vec<Arc<Interface>>,
}

impl Run {
    /// The value of the last expression, or what went wrong.
    pub fn last(&self) -> String {
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return self.text.clone();
        }
        self.values.last().cloned().unwrap_or_default()
    }
}

/// Expands and runs a program that imports the core forms and primitives unless it says otherwise.
/// `before` are units to run first.
pub fn run(program: &str, libraries: &mut Libraries, before: &[Unit]) -> Run {
    let map = libraries.sources().clone();
    let (_, source) = read_source(&map, "program.scm", program.as_bytes(), false);
    let imports = read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms;
    let expansion = expand_program(
        libraries,
        LibraryKey::new("program"),
        &source.forms,
        &imports,
    );
    let mut diagnostics = source.diagnostics;
    diagnostics.extend(expansion.diagnostics);
    let mut result = Run {
        values: Vec::new(),
        text: diagnostics
            .iter()
            .map(|one| one.render(&map, false))
            .collect(),
        diagnostics,
        units: Vec::new(),
        interfaces: Vec::new(),
    };
    for library in libraries.take_units() {
        result.units.push(library.unit);
        result.interfaces.push(library.interface);
    }
    let mut machine = Machine::default();
    let all = before.iter().chain(&result.units).chain(&expansion.unit);
    for unit in all {
        match machine.run(unit) {
            Ok(values) => result.values = values.iter().map(show).collect(),
            Err(message) => result.values = vec![format!("error: {message}")],
        }
    }
    result
}
