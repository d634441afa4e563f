//! WebAssembly components: damaged ones, values that go through guests and come back, and values as text.
//!
//! An input of the latter two is a list of bytes from which a type ([`forms`]), values of it
//! ([`values`]) and components ([`texts`]) are made. So a shorter list is a smaller case.

mod binary;
mod forms;
mod texts;
mod values;

use std::sync::Arc;

use canny_component::types::{FunctionType, Type};
use canny_component::{
    Answer, Component, Destructor, Function, Host, HostFunction, Imports, Item, Value, wave,
};
use canny_wasm::{Error, Store};

use crate::corpus::Corpus;
use crate::guests::{self, Choices};
use crate::random::Random;

/// Jumps and calls of a guest, which may loop.
const FUEL: u64 = 1_000_000;

/// Bytes of a guest's memories and tables.
const MEMORY_BYTES: u64 = 64 << 20;

/// Bytes that values of a call may take in the host, with some for their types.
const HOST_BYTES: u64 = 600 << 20;

fn store() -> Store {
    let mut store = Store::new();
    store.set_fuel(Some(FUEL));
    store.set_memory_limit(Some(MEMORY_BYTES));
    store
}

/// A host that has everything: its functions give their first argument.
struct Everything;

impl Host for Everything {
    fn function(&self, _: &str, _: &str) -> Option<HostFunction> {
        Some(Box::new(|_, values| {
            Ok(Answer::Done(values.first().cloned()))
        }))
    }

    fn resource(&self, _: &str, _: &str) -> Option<Destructor> {
        Some(Box::new(|_, _| Ok(())))
    }
}

/// A component that was damaged, or random bytes behind the beginning of one.
pub fn damaged(random: &mut Random, corpus: &Corpus) -> Vec<u8> {
    let start = match random.below(4) {
        0 => {
            let bytes = choice_bytes(random, corpus);
            let case = Case::new(&mut Choices::new(&bytes));
            let text = case.pass_text(random.once_in(2));
            canny_wasm::to_binary(text.into_bytes()).unwrap_or_default()
        }
        _ => random.choose(&corpus.components).clone(),
    };
    binary::damaged(random, start, corpus)
}

/// Reading a component, making an instance and calling its functions may fail, and do nothing worse.
pub fn component(bytes: &[u8]) -> Result<(), String> {
    guests::choose_policy(bytes);
    let Ok(component) = Component::new(bytes.to_vec()) else {
        return Ok(());
    };
    let mut store = store();
    let mut imports = Imports::default();
    imports.add_host(Arc::new(Everything));
    let Ok(made) = component.instantiate(&mut store, &mut imports, 0) else {
        return Ok(());
    };
    let mut choices = Choices::new(bytes);
    for (_, function) in made.instance.functions() {
        let parameters = function.kind().parameters.iter();
        let arguments: Vec<Value> = parameters
            .map(|(_, kind)| values::value(&mut choices, kind))
            .collect();
        if let (Ok(Some(value)), Some(kind)) = (
            function.call(&mut store, &arguments),
            &function.kind().result,
        ) {
            check_weight(&value)?;
            wave::text(kind, &value);
        }
    }
    Ok(())
}

/// Choices for types and values.
pub fn choice_bytes(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let count = 16 + random.below(600);
    (0..count).map(|_| random.next() as u8).collect()
}

/// A type, and the way in which values of it go through guests.
struct Case {
    form: forms::Form,
    kind: Arc<Type>,
    encodings: [&'static str; 2],
    /// From guest to guest in memory, or by the host in flat words.
    is_in_memory: bool,
    has_post_return: bool,
}

impl Case {
    fn new(choices: &mut Choices<'_>) -> Case {
        let encodings = std::array::from_fn(|_| choices.choose(&texts::ENCODINGS));
        let is_in_memory = choices.once_in(2);
        let has_post_return = choices.once_in(3);
        let depth = choices.below(4);
        let form = forms::form(choices, depth);
        Case {
            kind: forms::kind(&form),
            form,
            encodings,
            is_in_memory,
            has_post_return,
        }
    }

    fn function(&self) -> FunctionType {
        let mut parameters = vec![("x".to_owned(), Arc::clone(&self.kind))];
        if self.is_in_memory {
            let filler = forms::kind(&forms::Form::Simple("u8"));
            let fillers = (0..texts::FILLERS).map(|n| (format!("p{n}"), Arc::clone(&filler)));
            parameters.extend(fillers);
        }
        FunctionType::new(parameters, Some(Arc::clone(&self.kind)))
    }

    fn pass_text(&self, has_post_return: bool) -> String {
        texts::pass(
            &self.form,
            &self.function(),
            self.encodings[0],
            has_post_return,
        )
    }

    /// The function that gives what it gets.
    fn pass(&self, store: &mut Store) -> Result<Function, String> {
        let mut imports = Imports::default();
        if self.is_in_memory {
            let text = texts::echo(&self.form, &self.kind, self.encodings[1]);
            let echo = function(store, &text, "echo", &mut Imports::default())?;
            imports.add("echo", Item::Function(echo));
        } else {
            imports.add_host(Arc::new(Everything));
        }
        function(
            store,
            &self.pass_text(self.has_post_return),
            "pass",
            &mut imports,
        )
    }

    fn arguments(&self, value: &Value) -> Vec<Value> {
        let mut arguments = vec![value.clone()];
        arguments.resize(self.function().parameters.len(), Value::U8(255));
        arguments
    }
}

/// A function of a component that is given as text, which is valid.
fn function(
    store: &mut Store,
    text: &str,
    name: &str,
    imports: &mut Imports,
) -> Result<Function, String> {
    let made = canny_wasm::to_binary(text.as_bytes().to_vec())
        .and_then(Component::new)
        .and_then(|component| component.instantiate(store, imports, 0));
    let made = made.map_err(|error: Error| format!("{error}\n{text}"))?;
    let function = made.instance.function(name);
    function.ok_or_else(|| format!("no function {name} in\n{text}"))
}

/// Values come back from guests as they went in. A guest that gives anything at all makes no more than an
/// error of it.
pub fn passed(bytes: &[u8]) -> Result<(), String> {
    guests::choose_policy(bytes);
    let mut choices = Choices::new(bytes);
    let case = Case::new(&mut choices);
    let mut store = store();
    let pass = case.pass(&mut store)?;
    for _ in 0..3 {
        let value = values::value(&mut choices, &case.kind);
        let back = pass.call(&mut store, &case.arguments(&value));
        let back = back.map_err(|trap| format!("{value:?}: {trap}"))?;
        check_same(&value, back.as_ref())?;
    }
    let data = binary::data(&mut choices);
    let text = texts::give(&case.form, &case.kind, case.encodings[0], &data);
    let give = function(&mut store, &text, "give", &mut Imports::default())?;
    let Ok(Some(value)) = give.call(&mut store, &[]) else {
        return Ok(());
    };
    check_weight(&value)?;
    // It may be too large for another guest.
    if let Ok(back) = pass.call(&mut store, &case.arguments(&value)) {
        check_same(&value, back.as_ref())?;
    }
    Ok(())
}

/// The component through which values of a case go.
pub fn passed_text(bytes: &[u8]) -> Vec<u8> {
    let case = Case::new(&mut Choices::new(bytes));
    case.pass_text(case.has_post_return).into_bytes()
}

fn check_same(value: &Value, back: Option<&Value>) -> Result<(), String> {
    if back.is_some_and(|back| values::same(value, back)) {
        return Ok(());
    }
    Err(format!("{value:?} comes back as {back:?}"))
}

fn check_weight(value: &Value) -> Result<(), String> {
    let bytes = values::weight(value);
    if bytes <= HOST_BYTES {
        return Ok(());
    }
    Err(format!("a guest gives a value of {bytes} bytes"))
}

/// A text stands for the value that it was written for, and a damaged one for nothing worse than an error.
pub fn text(bytes: &[u8]) -> Result<(), String> {
    let mut choices = Choices::new(bytes);
    let kind = Case::new(&mut choices).kind;
    let value = values::value(&mut choices, &kind);
    let text = wave::text(&kind, &value);
    let parsed = wave::parse(&kind, &text).map_err(|error| format!("{text}: {error}"))?;
    check_same(&value, Some(&parsed)).map_err(|problem| format!("{text}: {problem}"))?;
    let damaged = binary::damaged_text(&mut choices, &text);
    if let Ok(value) = wave::parse(&kind, &damaged) {
        let text = wave::text(&kind, &value);
        let parsed = wave::parse(&kind, &text).map_err(|error| format!("{text}: {error}"))?;
        check_same(&value, Some(&parsed)).map_err(|problem| format!("{text}: {problem}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_all_types_and_ways() {
        let corpus = Corpus::default();
        let texts = (0..400).map(|case| {
            let bytes = choice_bytes(&mut Random::new(1, case), &corpus);
            String::from_utf8_lossy(&passed_text(&bytes)).into_owned()
        });
        let texts: String = texts.collect();
        for word in [
            "(list string)",
            "(map ",
            "(option ",
            "(variant ",
            "(flags ",
            "(enum ",
            "(record ",
            "(tuple ",
            "(error ",
            "latin1+utf16",
            "utf8",
            "post-return",
            "\"p16\"",
            "(param f64)",
            "\"n299\"",
        ] {
            assert!(texts.contains(word), "no {word}");
        }
    }

    /// Values go through guests, and guests give some, so that the targets look at what they are for.
    #[test]
    fn many_cases_give_values() {
        let corpus = Corpus::default();
        let mut given = 0;
        for case in 0..300 {
            let bytes = choice_bytes(&mut Random::new(1, case), &corpus);
            let mut choices = Choices::new(&bytes);
            let case = Case::new(&mut choices);
            let data = binary::data(&mut choices);
            let text = texts::give(&case.form, &case.kind, case.encodings[0], &data);
            let mut store = store();
            let give = function(&mut store, &text, "give", &mut Imports::default()).unwrap();
            given += u32::from(give.call(&mut store, &[]).is_ok());
        }
        assert!((30..290).contains(&given), "{given}");
    }
}
