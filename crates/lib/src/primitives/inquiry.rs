//! Primitives that tell editors and prompts what names, libraries and procedures mean.
//!
//! They only look: nothing is imported or changed. The answers are lists of symbols and strings,
//! made from the expander's tables and the rows of primitives.

use canny_compiler::unit::Parameters;
use canny_syntax::name::Name;
use canny_syntax::syntax::Syntax;
use canny_tables::kinds::Kind;
use canny_tables::protocols::parameter_list;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use super::evaluation::syntax_of;
use crate::arguments::{Call, implementations};
use crate::evaluation::Evaluation;
use crate::evaluation::{INTERACTION, LibraryWords, NameInfo, NameKind};
use crate::list::list_at;
use crate::printer::pretty_written;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%pretty-string" => pretty_string;
    "%bound-names" => bound_names;
    "%library-names" => library_names;
    "%library-exports" => library_exports;
    "%name-information" => name_information;
    "%procedure-parameters" => procedure_parameters;
    "%definition-position" => definition_position;
};

fn pretty_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let width = call.index(thread, 1)?;
    let (text, _) = pretty_written(thread, call.at(0), width, usize::MAX / 4);
    Ok(thread.string(&text))
}

/// A list made from its last element on.
fn list_of<T>(
    thread: &mut Thread,
    items: impl DoubleEndedIterator<Item = T>,
    mut make: impl FnMut(&mut Thread, T) -> Result<Value, Raise>,
) -> Result<Value, Raise> {
    let mut list = Value::NIL;
    for item in items.rev() {
        let element = make(thread, item)?;
        list = thread.try_cons(element, list)?;
    }
    Ok(list)
}

fn strings(thread: &mut Thread, texts: &[String]) -> Result<Value, Raise> {
    list_of(thread, texts.iter(), |thread, text| Ok(thread.string(text)))
}

fn bound_names(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let names = thread.outside_heap(|| Evaluation::of(&vm).bound_names(INTERACTION));
    strings(thread, &names)
}

fn library_names(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let names = thread.outside_heap(|| Evaluation::of(&vm).library_names());
    strings(thread, &names)
}

fn kind_name(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Form => "form",
        NameKind::Macro => "macro",
        NameKind::Primitive => "primitive",
        NameKind::Variable => "variable",
    }
}

fn library_exports(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let form: Syntax = syntax_of(thread, call.at(0));
    thread.forget_embedded();
    let vm = thread.vm().clone();
    let exports: Option<Vec<NameInfo>> = thread.outside_heap(|| {
        let words = LibraryWords::of(&form).ok()?;
        Evaluation::of(&vm).library_exports(&words)
    });
    let Some(exports) = exports else {
        return Ok(Value::FALSE);
    };
    list_of(thread, exports.iter(), |thread, info| {
        let kind = thread.symbol(kind_name(info.kind));
        let kind = thread.try_cons(kind, Value::NIL)?;
        let name = thread.symbol(&info.name);
        thread.try_cons(name, kind)
    })
}

fn name_information(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    use canny_tables::protocols::name_information as row;
    let name = call.symbol(thread, 0)?;
    let name = symbol_name(name.value()).unwrap_or_default();
    let vm = thread.vm().clone();
    let info = thread.outside_heap(|| Evaluation::of(&vm).name_info(INTERACTION, &name));
    let Some(info) = info else {
        return Ok(Value::FALSE);
    };
    let (signature, documentation) = info.documentation.unzip();
    let text = |thread: &mut Thread, text: Option<&str>| match text {
        Some(text) => thread.string(text),
        None => Value::FALSE,
    };
    let fields = [
        (row::KIND, thread.symbol(kind_name(info.kind))),
        (row::LIBRARY, text(thread, info.library.as_deref())),
        (row::SIGNATURE, text(thread, signature)),
        (row::DESCRIPTION, text(thread, documentation)),
    ];
    Ok(list_at::<{ row::COUNT }>(thread, fields))
}

fn procedure_parameters(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let procedure = call.object(thread, 0, Kind::Closure, "procedure")?.value();
    let vm = thread.vm().clone();
    let clauses = vm
        .procedure_parameters(procedure)
        .or_else(|| {
            vm.procedure_primitive(procedure)
                .map(|row| vec![of_row(row)])
        })
        .unwrap_or_default();
    list_of(thread, clauses.iter(), clause_list)
}

fn clause_list(thread: &mut Thread, clause: &Parameters) -> Result<Value, Raise> {
    let rest = match clause.rest {
        Some(name) => thread.symbol(name.as_str()),
        None => Value::FALSE,
    };
    let names = |thread: &mut Thread, names: &[Name]| {
        list_of(thread, names.iter(), |thread, name| {
            Ok(thread.symbol(name.as_str()))
        })
    };
    let fields = [
        (parameter_list::REQUIRED, names(thread, &clause.required)?),
        (parameter_list::OPTIONAL, names(thread, &clause.optional)?),
        (parameter_list::KEYWORDS, names(thread, &clause.keywords)?),
        (parameter_list::REST, rest),
    ];
    Ok(list_at::<{ parameter_list::COUNT }>(thread, fields))
}

/// The parameters of a primitive, called as its signature calls their types.
fn of_row(row: &canny_tables::primitives::Primitive) -> Parameters {
    let before = row.signature.split("->").next().unwrap_or("");
    let mut parameters = Parameters::default();
    let words = before
        .split_whitespace()
        .map(|word| Name::new(word.trim_matches(['[', ']'])));
    let names: Vec<Name> = words.filter(|word| word.as_str() != "...").collect();
    let least = usize::from(row.arity_min).min(names.len());
    let greatest = row
        .arity_max
        .map_or(names.len(), usize::from)
        .min(names.len());
    parameters.required = names[..least].to_vec();
    parameters.optional = names[least..greatest.max(least)].to_vec();
    if row.arity_max.is_none() {
        parameters.rest = parameters.optional.pop().or(Some(Name::new("rest")));
    }
    parameters
}

fn definition_position(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    use canny_tables::protocols::definition_position as row;
    let Some(position) = thread.definition(call.at(0)) else {
        return Ok(Value::FALSE);
    };
    let fields = [
        (row::FILE, thread.string(&position.file)),
        (row::LINE, Value::fixnum(position.line.into())),
        (row::COLUMN, Value::fixnum(position.column.into())),
    ];
    Ok(list_at::<{ row::COUNT }>(thread, fields))
}
