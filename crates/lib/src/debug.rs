//! Expressions that a debugger evaluates in a frame of a task that stands still.
//!
//! An expression becomes a procedure of a vector, the *request*: its first element gets the value, its
//! second one is for an object that is raised, the others are the frame's variables, which the
//! expression may assign. The task calls the procedure itself (`canny_vm::debug`), so that the
//! expression may wait, raise, and stop at breakpoints. Afterwards changed variables are stored in the
//! frame where that is possible. Names that are not in the frame are those of the program, or of the
//! library that the frame belongs to.

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_source;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;
use canny_value::Value;
use canny_vm::debug::{Assignment, Resume, Stop};

use crate::evaluation::{EnvironmentId, Evaluation, FormPosition, LibraryWords, Prepared};

/// Elements of a request before the variables.
const VARIABLES: usize = 2;

/// The prefix of the names that the procedure itself needs.
const PREFIX: &str = "debugger:";

/// An expression that is being evaluated.
#[derive(Clone, Debug)]
pub struct Expression {
    frame: usize,
    /// The variables of the frame, in the order of the request.
    names: Vec<String>,
}

impl Expression {
    /// The number of its frame.
    pub fn frame(&self) -> usize {
        self.frame
    }
}

/// The outcome of an expression.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its value, or the object that it raised.
    pub value: Result<Value, Value>,
    /// Variables that the expression has assigned, and what became of that.
    pub assigned: Vec<(String, Assignment)>,
}

/// Compiles an expression for a frame. The task calls it as the result says, and stops again with its
/// outcome. The error says what is wrong with the expression.
pub fn begin(
    stop: &mut Stop<'_>,
    frame: usize,
    text: &str,
) -> Result<(Resume, Expression), String> {
    let variables = stop.variables(frame);
    let variables: Vec<_> = variables
        .into_iter()
        .filter_map(|one| Some((one.name, one.value?)))
        .collect();
    let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
    let vm = stop.thread().vm().clone();
    let evaluation = Evaluation::of(&vm);
    let (_, read) = read_source(evaluation.sources(), "the debugger", text.as_bytes(), false);
    let complain = |diagnostics: &[canny_syntax::diagnostic::Diagnostic]| {
        let first = diagnostics.iter().find(|one| one.is_error());
        first.map_or_else(String::new, |one| one.message.to_string())
    };
    if read.diagnostics.iter().any(|one| one.is_error()) {
        return Err(complain(&read.diagnostics));
    }
    if read.forms.is_empty() {
        return Err("there is no expression".to_owned());
    }
    let unit = stop.frames(frame, 1).pop().map(|frame| frame.unit);
    let forms = [import_form(), procedure_form(&names, read.forms)];
    let prepared = stop.thread().outside_heap(|| {
        let (id, libraries) = environment_of(evaluation, &unit.unwrap_or_default())?;
        let prepared = evaluation
            .prepare_forms(id, &forms, FormPosition::Tail)
            .map_err(|diagnostics| complain(&diagnostics))?;
        Ok::<_, String>((libraries, prepared))
    });
    let (libraries, prepared) = prepared?;
    let request = request(stop, &libraries, &prepared, &variables)
        .ok_or_else(|| "there is no memory for it".to_owned())?;
    let call = stop.call(request);
    let call = call.ok_or_else(|| "the library is not loaded yet".to_owned())?;
    Ok((call, Expression { frame, names }))
}

/// The environment for expressions in a frame of a unit, and what must run before its first use.
fn environment_of(
    evaluation: &Evaluation,
    unit: &str,
) -> Result<(EnvironmentId, Option<Prepared>), String> {
    if let Some(program) = evaluation.program_environment()
        && !unit.starts_with('(')
    {
        return Ok((program, None));
    }
    let (_, name) = read_source(evaluation.sources(), "a unit", unit.as_bytes(), false);
    let words = name.forms.first().map(LibraryWords::of);
    let Some(Ok(words)) = words else {
        return Err("the names of this frame's code are not known".to_owned());
    };
    match evaluation.enter_library(&words, Span::NONE) {
        Ok((id, prepared)) => Ok((id, Some(prepared))),
        Err(_) => Err(format!("the names of {unit} are not known")),
    }
}

/// The vector: the thunks, no error yet, the values of the variables.
fn request(
    stop: &mut Stop<'_>,
    libraries: &Option<Prepared>,
    prepared: &Prepared,
    variables: &[(String, canny_vm::Protected)],
) -> Option<Value> {
    let thread = stop.thread();
    let vm = thread.vm().clone();
    let evaluation = Evaluation::of(&vm);
    let first = thread.protect(Value::NIL);
    for prepared in libraries.iter().chain([prepared]) {
        let mut thunks = evaluation.load(thread, prepared).ok()?;
        // The list stays on the native stack, which keeps it alive.
        while let Some(pair) = thunks.as_pair() {
            thread.protect(pair.car());
            thunks = pair.cdr();
        }
    }
    let thunks = thread.list_of_protected(first, Value::NIL);
    thread.release(first);
    // The first protected value was the placeholder.
    let first = thread.protect(thunks.cdr().unwrap_or(Value::NIL));
    thread.protect(Value::FALSE);
    for (_, place) in variables {
        let value = thread.protected(*place);
        thread.protect(value);
    }
    let request = thread.vector_of_protected(first).ok();
    thread.release(first);
    request
}

/// The outcome of an expression at the stop behind it; assigned variables are stored.
pub fn end(stop: &mut Stop<'_>, expression: &Expression) -> Outcome {
    let request = stop.argument();
    let field = |stop: &Stop<'_>, index: usize| {
        let request = stop.argument().as_object();
        request.map_or(Value::FALSE, |request| request.field(index))
    };
    let mut assigned = Vec::new();
    for (index, name) in expression.names.iter().enumerate() {
        let new = field(stop, VARIABLES + index);
        let old = stop.value(expression.frame, name);
        if old.is_some_and(|old| old != new) {
            let outcome = stop.assign(expression.frame, name, new);
            assigned.push((name.clone(), outcome));
        }
    }
    let raised = field(stop, 1).as_pair().map(|pair| pair.car());
    let value = match raised {
        Some(raised) => Err(raised),
        None => Ok(field(stop, 0)),
    };
    std::hint::black_box(request);
    Outcome { value, assigned }
}

fn own(word: &str) -> Syntax {
    Syntax::symbol(Span::NONE, &format!("{PREFIX}{word}"))
}

fn list(elements: Vec<Syntax>) -> Syntax {
    Syntax::list(Span::NONE, elements)
}

fn number(number: usize) -> Syntax {
    Syntax::atom(Span::NONE, Datum::integer(number as i64))
}

/// `(import (prefix (only (scheme base) lambda …) debugger:))`
fn import_form() -> Syntax {
    let word = |word: &str| Syntax::symbol(Span::NONE, word);
    let names = ["only", "lambda", "let", "vector-ref", "vector-set!"];
    let mut only: Vec<Syntax> = names.iter().map(|name| word(name)).collect();
    only.insert(1, list(vec![word("scheme"), word("base")]));
    let set = list(vec![word("prefix"), list(only), word(PREFIX)]);
    list(vec![word("import"), set])
}

/// ```text
/// (lambda (request)
///   (let ((x (vector-ref request 2)) …)
///     (let ((value (let () expression …)))
///       (vector-set! request 2 x) …
///       (vector-set! request 0 value))))
/// ```
fn procedure_form(names: &[String], expressions: Vec<Syntax>) -> Syntax {
    // No program has names with spaces.
    let request = || Syntax::symbol(Span::NONE, "debugger: request");
    let value = || Syntax::symbol(Span::NONE, "debugger: value");
    let variable = |name: &String| Syntax::symbol(Span::NONE, name);
    let mut bindings = Vec::new();
    let mut stores = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let at = || number(VARIABLES + index);
        let read = list(vec![own("vector-ref"), request(), at()]);
        bindings.push(list(vec![variable(name), read]));
        stores.push(list(vec![
            own("vector-set!"),
            request(),
            at(),
            variable(name),
        ]));
    }
    stores.push(list(vec![
        own("vector-set!"),
        request(),
        number(0),
        value(),
    ]));
    let mut body = vec![own("let"), list(Vec::new())];
    body.extend(expressions);
    let binding = list(vec![list(vec![value(), list(body)])]);
    let mut inner = vec![own("let"), binding];
    inner.extend(stores);
    let outer = list(vec![own("let"), list(bindings), list(inner)]);
    list(vec![own("lambda"), list(vec![request()]), outer])
}
