//! Evaluation: environments, and data or files to thunks that the Scheme caller runs in order.
//!
//! Compilation does not touch the Scheme heap, so it runs outside of it. A datum is handed to the
//! expander as syntax without positions; cycles in it become labels.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use canny_compiler::disassemble::disassemble_code;
use canny_locks::Mutex;
use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::reader::{Builder, Special, SyntaxBuilder, read_source};
use canny_syntax::span::{SourceMap, Span};
use canny_syntax::syntax::Syntax;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::condition::field::ORIGIN;
use canny_vm::numbers::number_of;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::evaluation::{
    EnvironmentId, Evaluation, FormPosition, INTERACTION, LibraryWords, Prepared,
};
use crate::features::FEATURES;
use crate::host::{
    HostKind, bare_object, find, keep, kept_in_table, number_of_object, object_with_number,
    sweep_dead, take,
};
use crate::primitives::numeric_vectors::element_type;
use crate::printer::labels::{Labels, Visit};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "features" => features;
    "%environment" => environment;
    "%library-environment" => library_environment;
    "environment?" => |_, call: Call| Ok(Value::boolean(call.at(0).is_kind(Kind::Environment)));
    "interaction-environment" => interaction_environment;
    "%compile" => compile;
    "%open-source" => open_source;
    "%compile-next" => compile_next;
    "%expand" => expand;
    "%disassemble" => disassemble;
};

fn features(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let mut list = Value::NIL;
    for feature in FEATURES.iter().rev() {
        let feature = thread.symbol(feature);
        list = thread.cons(feature, list);
    }
    Ok(list)
}

/// Environments, which the machine's [`Evaluation`] has.
pub(crate) enum Environments {}

impl HostKind for Environments {
    const KIND: Kind = Kind::Environment;

    type Table = ();

    fn sweep(thread: &mut Thread, dead: &[u64]) {
        let evaluation = Evaluation::of(thread.vm());
        let mut keys = HashSet::new();
        for number in dead {
            keys.extend(evaluation.drop_environment(EnvironmentId(*number)));
        }
        if !keys.is_empty() {
            thread
                .vm()
                .forget_variables(|library| keys.contains(library));
        }
    }
}

/// The environment that argument `position` is.
fn environment_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<EnvironmentId, Raise> {
    let object = call.object(thread, position, Kind::Environment, "environment")?;
    Ok(EnvironmentId(number_of_object(object)))
}

/// A pair of a new environment and of the list of thunks that instantiate its libraries.
fn environment(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    sweep_dead(thread);
    call.list_length(thread, 0)?;
    let mut sets = Vec::new();
    let mut rest = call.at(0);
    while let Some(pair) = rest.as_pair() {
        sets.push(syntax_of(thread, pair.car()));
        rest = pair.cdr();
    }
    thread.forget_embedded();
    let vm = thread.vm().clone();
    let made = thread.outside_heap(|| Evaluation::of(&vm).make_environment(&sets));
    let (id, prepared) = match made {
        Ok(made) => made,
        Err(diagnostics) => return Err(syntax_condition(thread, call, &diagnostics)),
    };
    let thunks = Evaluation::of(&vm).load(thread, &prepared)?;
    let object = object_with_number::<Environments>(thread, id.0, "imported")?;
    Ok(thread.cons(object, thunks))
}

/// A pair of an environment inside of a library and of the list of thunks that instantiate it.
fn library_environment(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let form = syntax_of(thread, call.at(0));
    thread.forget_embedded();
    let vm = thread.vm().clone();
    let entered: Result<_, Vec<Diagnostic>> = thread.outside_heap(|| {
        let words = LibraryWords::of(&form).map_err(|diagnostic| vec![*diagnostic])?;
        let (id, prepared) = Evaluation::of(&vm).enter_library(&words, Span::NONE)?;
        Ok((id, prepared, words.to_string()))
    });
    let (id, prepared, name): (EnvironmentId, Prepared, String) = match entered {
        Ok(entered) => entered,
        Err(diagnostics) => return Err(syntax_condition(thread, call, &diagnostics)),
    };
    let thunks = Evaluation::of(&vm).load(thread, &prepared)?;
    // The library's environment stays: others may be inside of it too.
    let object = bare_object::<Environments>(thread, id.0, &name)?;
    thread.try_cons(object, thunks)
}

fn interaction_environment(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    const ROOT: &str = "interaction-environment";
    if let Some(object) = thread.vm().root(ROOT) {
        return Ok(object);
    }
    let EnvironmentId(number) = INTERACTION;
    let object = object_with_number::<Environments>(thread, number, "interaction")?;
    thread.vm().set_root(ROOT, object);
    Ok(object)
}

fn compile(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let id = environment_at(thread, call, 1)?;
    let form = syntax_of(thread, call.at(0));
    thunks_of(thread, call, id, form)
}

/// The list of thunks that evaluate a form.
fn thunks_of(
    thread: &mut Thread,
    call: Call,
    id: EnvironmentId,
    form: Syntax,
) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let prepared: Result<Prepared, Vec<Diagnostic>> = thread
        .outside_heap(move || Evaluation::of(&vm).prepare_forms(id, &[form], FormPosition::Tail));
    let thunks = match prepared {
        Ok(prepared) => {
            let vm = thread.vm().clone();
            Evaluation::of(&vm).load(thread, &prepared)
        }
        Err(diagnostics) => Err(syntax_condition(thread, call, &diagnostics)),
    };
    thread.forget_embedded();
    thunks
}

/// The errors that a condition of kind `syntax` is about.
pub(crate) struct SyntaxErrors(pub(crate) Arc<Vec<Diagnostic>>);

kept_in_table!(SyntaxErrors);

/// A condition of kind `syntax` whose message has all the errors, one on each line. Those that stand in
/// a source go with it.
fn syntax_condition(thread: &mut Thread, call: Call, diagnostics: &[Diagnostic]) -> Raise {
    let errors = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error());
    let (text, stands_in_source) = {
        let sources = Evaluation::of(thread.vm()).sources();
        let lines: Vec<String> = errors
            .clone()
            .map(|error| described(error, sources))
            .collect();
        let mut places = errors.clone().map(|error| sources.locate(error.span));
        (lines.join("\n"), places.any(|place| place.is_some()))
    };
    let kind = ConditionKind::Syntax.name();
    let condition = thread.condition(kind, &text, &[], Some(call.who));
    let kept = thread.protect(condition);
    if stands_in_source {
        let errors = SyntaxErrors(Arc::new(errors.cloned().collect()));
        match keep(thread, errors, "syntax errors") {
            Ok(object) => {
                let list = thread.cons(object, Value::NIL);
                thread.store(thread.protected(kept), ORIGIN, list);
            }
            Err(raise) => {
                thread.release(kept);
                return raise;
            }
        }
    }
    let condition = thread.protected(kept);
    thread.release(kept);
    thread.raise_object(condition)
}

fn described(error: &Diagnostic, sources: &SourceMap) -> String {
    let Diagnostic { message, code, .. } = error;
    match sources.describe(error.span) {
        Some(place) => format!("{place}: {message} [{code}]"),
        None => format!("{message} [{code}]"),
    }
}

/// A file that is being loaded.
pub(crate) struct Loader {
    forms: Mutex<VecDeque<Syntax>>,
    environment: EnvironmentId,
}

kept_in_table!(Loader);

impl Loader {
    fn next_form(&self) -> Option<Syntax> {
        let mut forms = self.forms.lock();
        forms.pop_front()
    }
}

/// Reads the whole file, so that all its syntax errors are found before anything of it runs.
fn open_source(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    sweep_dead(thread);
    let name = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let environment = environment_at(thread, call, 1)?;
    let bytes = match thread.block_outside_heap(|| std::fs::read(Path::new(&name))) {
        Ok(bytes) => bytes,
        Err(error) => {
            let error = canny_io::IoError::from_system(canny_io::Operation::Open, &name, error);
            return Err(super::ports::failed(thread, call.who, None, &error));
        }
    };
    let vm = thread.vm().clone();
    let forms = thread.outside_heap(|| {
        let (_, forms) = read_source(Evaluation::of(&vm).sources(), &name, &bytes, false);
        forms
    });
    if forms.has_errors() {
        return Err(syntax_condition(thread, call, &forms.diagnostics));
    }
    let loader = Loader {
        forms: Mutex::new(forms.forms.into()),
        environment,
    };
    keep(thread, loader, &name)
}

fn compile_next(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.object(thread, 0, Kind::External, "loader")?;
    let loader = find::<Loader>(thread, call.at(0));
    let form = loader.and_then(|loader| Some((loader.environment, loader.next_form()?)));
    match form {
        Some((environment, form)) => thunks_of(thread, call, environment, form),
        None => {
            take::<Loader>(thread, call.at(0));
            Ok(Value::EOF)
        }
    }
}

fn expand(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let id = environment_at(thread, call, 1)?;
    let form = syntax_of(thread, call.at(0));
    thread.forget_embedded();
    let vm = thread.vm().clone();
    let expanded = thread.outside_heap(|| Evaluation::of(&vm).expand_forms_text(id, &[form]));
    match expanded {
        Ok(text) => Ok(thread.string(&text)),
        Err(diagnostics) => Err(syntax_condition(thread, call, &diagnostics)),
    }
}

fn disassemble(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let procedure = call.object(thread, 0, Kind::Closure, "procedure")?;
    let text = bytecode_text(thread, procedure.value());
    Ok(thread.string(&text.unwrap_or_default()))
}

/// The bytecode of a procedure, for people; `None` for what is none.
pub fn bytecode_text(thread: &Thread, procedure: Value) -> Option<String> {
    let unit = thread.vm().unit_of_procedure(procedure, literal)?;
    Some(disassemble_code(&unit, 0))
}

/// The datum that shows an object of a code's pool.
pub(crate) fn literal(value: Value) -> Datum {
    let mut builder = SyntaxBuilder::new();
    convert(value, &mut builder, |builder, object| {
        let kind = object
            .as_object()
            .map_or("object", |object| object.kind().row().name);
        builder.string(kind, Span::NONE);
    });
    builder
        .take()
        .map_or(Datum::Unspecified, |syntax| syntax.to_datum())
}

/// The work that remains to convert a datum.
enum Work {
    Datum(Value),
    List { count: usize, dotted: bool },
    Vector(usize),
    FinishLabel(u64),
}

/// A datum as syntax. Nothing is allocated in the heap until it is complete.
pub(super) fn syntax_of(thread: &mut Thread, datum: Value) -> Syntax {
    let mut builder = SyntaxBuilder::new();
    convert(datum, &mut builder, |builder, object| {
        builder.object(thread.embed(object));
    });
    builder.take().unwrap_or_else(|| Syntax::nil(Span::NONE))
}

/// Tells the builder what a datum consists of; objects that are no data are pushed by `push_other`.
fn convert(
    datum: Value,
    builder: &mut SyntaxBuilder,
    mut push_other: impl FnMut(&mut SyntaxBuilder, Value),
) {
    const NOWHERE: Span = Span::NONE;
    let mut labels = Labels::of_cycles(datum);
    let mut finished = HashSet::new();
    let mut pending = vec![Work::Datum(datum)];
    while let Some(work) = pending.pop() {
        let value = match work {
            Work::List { count, dotted } => {
                builder.list(count, dotted, NOWHERE);
                continue;
            }
            Work::Vector(count) => {
                builder.vector(count, NOWHERE);
                continue;
            }
            Work::FinishLabel(label) => {
                builder.finish_label(label, NOWHERE);
                finished.insert(label);
                continue;
            }
            Work::Datum(value) => value,
        };
        match labels.visit(value) {
            Visit::Plain => {}
            Visit::First(label) => {
                builder.begin_label(label as u64);
                pending.push(Work::FinishLabel(label as u64));
            }
            Visit::Again(label) => {
                let label = label as u64;
                builder.label_reference(label, finished.contains(&label), NOWHERE);
                continue;
            }
        }
        if value.is_pair() {
            push_list(value, &labels, &mut pending);
        } else if let Some(vector) = value.as_kind(Kind::Vector) {
            pending.push(Work::Vector(vector.length()));
            pending.extend(
                (0..vector.length())
                    .rev()
                    .map(|index| Work::Datum(vector.field(index))),
            );
        } else if !convert_atom(value, builder) {
            push_other(builder, value);
        }
    }
}

fn push_list(list: Value, labels: &Labels, pending: &mut Vec<Work>) {
    let mut elements = Vec::new();
    let mut rest = list;
    while let Some(pair) = rest.as_pair() {
        // A labelled tail is a datum of its own.
        if !elements.is_empty() && labels.has(rest) {
            break;
        }
        elements.push(pair.car());
        rest = pair.cdr();
    }
    let dotted = !rest.is_nil();
    pending.push(Work::List {
        count: elements.len(),
        dotted,
    });
    if dotted {
        pending.push(Work::Datum(rest));
    }
    pending.extend(elements.into_iter().rev().map(Work::Datum));
}

/// An atom as a datum, unless the object is none.
pub(crate) fn datum_of_atom(value: Value) -> Option<Datum> {
    let mut builder = SyntaxBuilder::new();
    if !convert_atom(value, &mut builder) {
        return None;
    }
    builder.take().map(|syntax| syntax.to_datum())
}

/// Pushes an atom, unless the object is no datum.
fn convert_atom(value: Value, builder: &mut SyntaxBuilder) -> bool {
    const NOWHERE: Span = Span::NONE;
    if let Some(number) = number_of(value) {
        builder.number(number, NOWHERE);
    } else if let Some(character) = value.as_character() {
        builder.character(character, NOWHERE);
    } else if let Some(text) = string_text(value) {
        builder.string(&text, NOWHERE);
    } else if let Some(name) = symbol_name(value) {
        builder.symbol(&name, NOWHERE);
    } else if let Some(keyword) = value.as_kind(Kind::Keyword) {
        builder.keyword(&symbol_name(keyword.field(0)).unwrap_or_default(), NOWHERE);
    } else if let Some(bytes) = value.as_kind(Kind::Bytevector) {
        bytes.with_bytes(|bytes| builder.bytevector(bytes, NOWHERE));
    } else if let Some(vector) = value.as_kind(Kind::NumericVector) {
        vector.with_bytes(|bytes| builder.numeric_vector(element_type(vector), bytes, NOWHERE));
    } else {
        match value {
            Value::TRUE | Value::FALSE => builder.boolean(value.is_true(), NOWHERE),
            Value::NIL => builder.list(0, false, NOWHERE),
            Value::EOF => builder.special(Special::Eof, NOWHERE),
            Value::UNSPECIFIED => builder.special(Special::Unspecified, NOWHERE),
            Value::DEFAULT => builder.special(Special::DefaultObject, NOWHERE),
            _ => return false,
        }
    }
    true
}
