//! Telling the calls of procedures that were defined at the prompt.
//!
//! A traced procedure's variable holds a procedure of `(canny trace)` that calls the other. Inside of a
//! library that is what the library defines. Procedures that were imported are not traced: code may
//! refer to them by other ways than variables.

use canny_lib::evaluation::NameKind;
use canny_syntax::core::GlobalName;
use canny_syntax::library_name::LibraryKey;
use canny_syntax::name::Name;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;
use canny_tables::kinds::Kind;
use canny_value::Value;

use super::{Reply, form_of, forms_of, reply};
use crate::repl::prompt::Prompt;
use crate::repl::results;

/// The root with a list of `(symbol original . wrapper)`.
const ROOT: &str = "traced procedures";
/// The variable that holds the procedure that wraps. No program can name it.
const WRAPPER: &str = " traced";

/// `,trace EXPR`, or a name
pub(super) fn trace(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).and_then(|form| {
        if let Some(name) = form.as_identifier() {
            let name = name.name.as_str();
            return Ok(match wrap(prompt, name) {
                Some(()) => Reply::Text(format!(
                    "Calls of {name} are traced; ,untrace {name} ends that.\n"
                )),
                None => Reply::Text(format!(
                    "{name} is no procedure that was defined here; others cannot be traced.\n"
                )),
            });
        }
        let before = traced(prompt);
        let own = own_procedures(prompt);
        for name in own.iter().filter(|name| !before.contains(name)) {
            wrap(prompt, name);
        }
        let value = prompt.value_of(&form);
        for name in own.iter().filter(|name| !before.contains(name)) {
            unwrap(prompt, name);
        }
        prompt.show(value.map_err(Reply::Leave)?);
        Ok(Reply::Done)
    }))
}

/// `,untrace [NAME ...]`
pub(super) fn untrace(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(forms_of(prompt, rest).map(|forms| {
        let names: Vec<String> = if forms.is_empty() {
            traced(prompt)
        } else {
            let named = forms.iter().filter_map(Syntax::as_identifier);
            named.map(|name| name.name.as_str().to_owned()).collect()
        };
        for name in names {
            if !unwrap(prompt, &name) {
                results::print(&format!("{name} is not traced.\n"));
            }
        }
        Reply::Done
    }))
}

/// The variable behind a name that was defined where the prompt is.
fn variable(prompt: &Prompt, name: &str) -> Option<GlobalName> {
    let info = prompt
        .session
        .evaluation()
        .name_info(prompt.environment(), name)?;
    let (library, name) = info.owner?;
    let is_own = info.kind == NameKind::Variable && info.library.is_none();
    is_own.then(|| GlobalName {
        library: LibraryKey::new(&library),
        name: Name::new(&name),
    })
}

/// The names of procedures that were defined here.
fn own_procedures(prompt: &Prompt) -> Vec<String> {
    let names = prompt
        .session
        .evaluation()
        .bound_names(prompt.environment());
    names
        .into_iter()
        .filter(|name| {
            let value =
                variable(prompt, name).and_then(|own| prompt.session.thread.global_value(&own));
            !name.starts_with('$') && value.is_some_and(|value| value.is_kind(Kind::Closure))
        })
        .collect()
}

/// The names of what is traced.
fn traced(prompt: &Prompt) -> Vec<String> {
    let mut names = Vec::new();
    let mut list = prompt.session.vm.root(ROOT).unwrap_or(Value::NIL);
    while let Some(pair) = list.as_pair() {
        names.extend(pair.car().car().and_then(canny_vm::symbols::symbol_name));
        list = pair.cdr();
    }
    names.into_iter().map(|name| name.to_string()).collect()
}

/// Puts a procedure that tells its calls in place of another.
fn wrap(prompt: &mut Prompt, name: &str) -> Option<()> {
    let own = variable(prompt, name)?;
    let original = prompt.session.thread.global_value(&own)?;
    if !original.is_kind(Kind::Closure) || traced(prompt).iter().any(|one| one == name) {
        return original.is_kind(Kind::Closure).then_some(());
    }
    let symbol = |text: &str| Syntax::symbol(Span::NONE, text);
    provide_wrapper(prompt)?;
    let quoted = Syntax::list(Span::NONE, vec![symbol("quote"), symbol(name)]);
    let call = Syntax::list(Span::NONE, vec![symbol(WRAPPER), quoted, symbol(name)]);
    let wrapper = prompt.value_of(&call).ok()?;
    let thread = &mut prompt.session.thread;
    let key = thread.symbol(name);
    let pair = thread.try_cons(original, wrapper).ok()?;
    let entry = thread.try_cons(key, pair).ok()?;
    let list = thread.vm().root(ROOT).unwrap_or(Value::NIL);
    let list = thread.try_cons(entry, list).ok()?;
    thread.vm().set_root(ROOT, list);
    thread.define_global(&own, wrapper);
    Some(())
}

/// Loads the library and gives its procedure the name that calls use.
fn provide_wrapper(prompt: &mut Prompt) -> Option<()> {
    let evaluation = prompt.session.evaluation();
    let global = evaluation.name_result(prompt.environment(), WRAPPER);
    if prompt.session.thread.global_value(&global).is_some() {
        return Some(());
    }
    let words = ["canny", "trace"].map(|word| Syntax::symbol(Span::NONE, word));
    let library = Syntax::list(Span::NONE, words.into());
    let (environment, prepared) = evaluation.make_environment(&[library]).ok()?;
    prompt.session.run(Ok(prepared)).ok()?;
    let form = Syntax::symbol(Span::NONE, "traced");
    let value = crate::repl::prompt::evaluate_form(&mut prompt.session, environment, &form).ok()?;
    prompt.session.thread.define_global(&global, value);
    Some(())
}

/// Puts a procedure back, unless its variable was given something else meanwhile; whether it was traced.
fn unwrap(prompt: &mut Prompt, name: &str) -> bool {
    let mut list = prompt.session.vm.root(ROOT).unwrap_or(Value::NIL);
    let mut kept = Value::NIL;
    let mut found = None;
    while let Some(pair) = list.as_pair() {
        let entry = pair.car();
        let symbol = entry.car().and_then(canny_vm::symbols::symbol_name);
        if found.is_none() && symbol.is_some_and(|symbol| *symbol == *name) {
            found = entry.cdr();
        } else {
            kept = prompt.session.thread.cons(entry, kept);
        }
        list = pair.cdr();
    }
    prompt.session.vm.set_root(ROOT, kept);
    let Some((original, wrapper)) = found.and_then(|pair| Some((pair.car()?, pair.cdr()?))) else {
        return false;
    };
    if let Some(own) = variable(prompt, name)
        && prompt.session.thread.global_value(&own) == Some(wrapper)
    {
        prompt.session.thread.define_global(&own, original);
    }
    true
}
