//! Expressions that a debugger evaluates in a frame of a task that stands still.
//!
//! An expression becomes a procedure of a vector, the *request*: its first element gets the value, its
//! second one is for an object that is raised, its third one gets the procedure, the others are the
//! frame's variables, which the expression may assign. The task calls the procedure itself
//! (`canny_vm::debug`), so that the expression may wait, raise, and stop at breakpoints. Afterwards
//! changed variables are stored in the frame where that is possible. Names that are not in the frame
//! are those of the program, or of the library that the frame belongs to.

use std::sync::Arc;

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_source;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;
use canny_value::Value;
use canny_vm::debug::{Assignment, DebugFrame, Kept, Resume, Stop};
use canny_vm::{Protected, Thread, Vm};

use crate::evaluation::{
    EnvironmentId, Evaluation, FormPosition, LibraryWords, Prepared, is_standard_library,
};

/// Elements of a request before the variables.
const VARIABLES: usize = 3;
/// The element with the procedure.
const PROCEDURE: usize = 2;

/// The prefix of the names that the procedure itself needs.
pub(super) const PREFIX: &str = "debugger:";

/// An expression that is being evaluated.
#[derive(Clone, Debug)]
pub struct Expression {
    frame: usize,
    variables: Arc<Variables>,
}

/// The variables of a frame at an instruction.
#[derive(Debug)]
struct Variables {
    /// Those with values, in the order of the request.
    names: Vec<String>,
    /// The others.
    missing: Vec<String>,
    /// The address of the instruction, in the newest frame.
    address: Option<usize>,
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

/// An expression that was compiled, to be evaluated again in frames with the same variables.
#[derive(Clone, Debug)]
pub struct Compiled {
    variables: Arc<Variables>,
    procedure: Kept,
}

impl Compiled {
    /// The procedure, to be forgotten when it is not needed any more.
    pub fn procedure(&self) -> Kept {
        self.procedure
    }
}

impl Variables {
    /// Those of a frame, and their values.
    fn of(stop: &mut Stop<'_>, frame: usize) -> (Variables, Vec<Protected>) {
        let mut variables = Variables {
            names: Vec::new(),
            missing: Vec::new(),
            address: (frame == 0).then(|| stop.address()),
        };
        let mut values = Vec::new();
        for one in stop.variables(frame) {
            match one.value {
                Some(value) => {
                    variables.names.push(one.name);
                    values.push(value);
                }
                None => variables.missing.push(one.name),
            }
        }
        (variables, values)
    }

    /// The values of these variables where the newest frame stands at the same instruction; none if it does
    /// not, or if others have values now. No frame is walked for it.
    fn again(&self, stop: &mut Stop<'_>, frame: usize) -> Option<Vec<Protected>> {
        if frame > 0 || self.address != Some(stop.address()) {
            return None;
        }
        if self
            .missing
            .iter()
            .any(|name| stop.value(0, name).is_some())
        {
            return None;
        }
        let values = self.names.iter().map(|name| {
            let value = stop.value(0, name)?;
            Some(stop.thread().protect(value))
        });
        values.collect()
    }
}

/// Compiles an expression for a frame. The task calls it as the result says, and stops again with its
/// outcome. The error says what is wrong with the expression.
pub fn begin(
    stop: &mut Stop<'_>,
    frame: usize,
    text: &str,
) -> Result<(Resume, Expression), String> {
    let (variables, values) = Variables::of(stop, frame);
    let described = stop.frames(frame, 1).pop();
    if described.as_ref().is_some_and(DebugFrame::is_guest) {
        return Err("a frame of a guest has no variables of Scheme".to_owned());
    }
    let unit = described.map(|frame| frame.unit);
    let names = &variables.names;
    let thunks = procedure_for(stop.thread(), &unit.unwrap_or_default(), names, text)?;
    let request = request(stop, thunks, Value::FALSE, &values).ok_or_else(no_memory)?;
    let call = stop.call(request).ok_or_else(not_loaded)?;
    let variables = Arc::new(variables);
    Ok((call, Expression { frame, variables }))
}

/// Compiles an expression for frames of a unit with variables of these names. Gives a list of thunks,
/// whose last one gives a procedure of a request. The error says what is wrong with the expression.
pub fn procedure_for(
    thread: &mut Thread,
    unit: &str,
    names: &[String],
    text: &str,
) -> Result<Value, String> {
    let vm = thread.vm().clone();
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
    let forms = [import_form(), procedure_form(names, read.forms)];
    let prepared = thread.outside_heap(|| {
        let (id, libraries) = environment_of(&vm, unit)?;
        let prepared = evaluation
            .prepare_forms(id, &forms, FormPosition::Tail)
            .map_err(|diagnostics| complain(&diagnostics))?;
        Ok::<_, String>((libraries, prepared))
    });
    let (libraries, prepared) = prepared?;
    thunks(thread, &libraries, &prepared).ok_or_else(no_memory)
}

/// As [`begin`] does, with an expression that was compiled before; none if the frame has other variables.
pub fn begin_again(
    stop: &mut Stop<'_>,
    frame: usize,
    compiled: &Compiled,
) -> Option<Result<(Resume, Expression), String>> {
    let values = match compiled.variables.again(stop, frame) {
        Some(values) => values,
        None => {
            let (variables, values) = Variables::of(stop, frame);
            if variables.names != compiled.variables.names {
                return None;
            }
            values
        }
    };
    let procedure = stop.thread().debug_kept(compiled.procedure);
    let request = request(stop, Value::NIL, procedure, &values);
    let call = request
        .ok_or_else(no_memory)
        .and_then(|request| stop.call(request).ok_or_else(not_loaded));
    let variables = compiled.variables.clone();
    Some(call.map(|call| (call, Expression { frame, variables })))
}

fn no_memory() -> String {
    "there is no memory for it".to_owned()
}

fn not_loaded() -> String {
    "the library is not loaded yet".to_owned()
}

/// The environment for expressions in a frame of a unit, and what must run before its first use.
fn environment_of(vm: &Vm, unit: &str) -> Result<(EnvironmentId, Option<Prepared>), String> {
    let evaluation = Evaluation::of(vm);
    let is_program = !unit.starts_with('(') && !unit.is_empty();
    let program = is_program.then(|| {
        let again = || evaluation.read_program_again(unit, &vm.source_of_unit(unit)?);
        evaluation.program_environment(unit).or_else(again)
    });
    if let Some(program) = program.flatten() {
        return Ok((program, None));
    }
    let (_, name) = read_source(evaluation.sources(), "a unit", unit.as_bytes(), false);
    let words = name.forms.first().map(LibraryWords::of);
    // The names of a program whose file is gone are not known, those of the standard library are.
    let standard = || LibraryWords::of(&list(vec![symbol("scheme"), symbol("base")]));
    let words = match words {
        Some(Ok(words)) => Ok(words),
        _ => standard(),
    };
    let words = words.map_err(|_| format!("the names of {unit} are not known"))?;
    match evaluation.enter_library(&words, Span::NONE) {
        Ok((id, prepared)) => Ok((id, Some(prepared))),
        Err(_) => Err(format!("the names of {unit} are not known")),
    }
}

/// Whether words have their usual meaning in a frame: that of the standard library, or none.
pub(super) fn are_usual(stop: &mut Stop<'_>, frame: usize, words: &[&str]) -> bool {
    let variables = stop.variables(frame);
    if variables
        .iter()
        .any(|one| words.contains(&one.name.as_str()))
    {
        return false;
    }
    let vm = stop.thread().vm().clone();
    let evaluation = Evaluation::of(&vm);
    environment_in_frame(stop, frame).is_some_and(|id| {
        words
            .iter()
            .all(|word| match evaluation.name_info(id, word) {
                Some(info) => info
                    .library
                    .is_some_and(|library| is_standard_library(&library)),
                None => false,
            })
    })
}

/// Names that an expression in a frame can use, those of the program or library.
pub fn names_in_force(stop: &mut Stop<'_>, frame: usize) -> Vec<String> {
    let vm = stop.thread().vm().clone();
    let environment = environment_in_frame(stop, frame);
    environment.map_or_else(Vec::new, |id| Evaluation::of(&vm).bound_names(id))
}

/// The environment of the program or library that a frame belongs to.
pub(super) fn environment_in_frame(stop: &mut Stop<'_>, frame: usize) -> Option<EnvironmentId> {
    let unit = stop.frames(frame, 1).pop().map(|frame| frame.unit);
    let vm = stop.thread().vm().clone();
    let environment = environment_of(&vm, &unit.unwrap_or_default());
    environment.ok().map(|(id, _)| id)
}

/// The list of thunks whose last one gives the procedure.
fn thunks(thread: &mut Thread, libraries: &Option<Prepared>, prepared: &Prepared) -> Option<Value> {
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
    Some(thunks.cdr().unwrap_or(Value::NIL))
}

/// The vector: the thunks, no error yet, the procedure if it is known, the values of the variables.
fn request(
    stop: &mut Stop<'_>,
    thunks: Value,
    procedure: Value,
    variables: &[Protected],
) -> Option<Value> {
    let thread = stop.thread();
    let first = thread.protect(thunks);
    thread.protect(Value::FALSE);
    thread.protect(procedure);
    for place in variables {
        let value = thread.protected(*place);
        thread.protect(value);
    }
    let request = thread.vector_of_protected(first).ok();
    thread.release(first);
    request
}

/// Keeps what was compiled for an expression, at the stop behind it.
pub fn keep(stop: &mut Stop<'_>, expression: &Expression) -> Option<Compiled> {
    let request = stop.argument().as_object()?;
    let procedure = request.field(PROCEDURE);
    let procedure = stop.thread().debug_keep(procedure)?;
    Some(Compiled {
        variables: expression.variables.clone(),
        procedure,
    })
}

/// The outcome of an expression at the stop behind it; assigned variables are stored.
pub fn end(stop: &mut Stop<'_>, expression: &Expression) -> Outcome {
    let request = stop.argument();
    let field = |stop: &Stop<'_>, index: usize| {
        let request = stop.argument().as_object();
        request.map_or(Value::FALSE, |request| request.field(index))
    };
    let mut assigned = Vec::new();
    for (index, name) in expression.variables.names.iter().enumerate() {
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

fn symbol(word: &str) -> Syntax {
    Syntax::symbol(Span::NONE, word)
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
    let names = [
        "only",
        "lambda",
        "let",
        "and",
        "list",
        "vector-ref",
        "vector-set!",
    ];
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
