//! Components for `canny wasm`: commands, calls of functions, listings.
//!
//! Arguments and results of functions are written in the notation that tools for components share.

use std::ffi::OsString;
use std::fmt::Write;

use canny_component::{Answer, Component, Error, Function, Imports, Instance, Value, wave};
use canny_wasi::preview2::{Network, World};
use canny_wasm::{Store, Trap};

use super::wasm::{
    Request, begin_profile, complain, disassembly, on_large_stack, print_backtrace,
    write_statistics,
};
use crate::environment::Environment;
use crate::profile::GuestProfile;

/// Does what is asked for with a component.
pub fn run(
    component: Component,
    mut request: Request,
    environment: &'static Environment,
) -> Result<u8, String> {
    if request.disassembles {
        let mut text = String::new();
        for (index, module) in component.modules().into_iter().enumerate() {
            let name = module.name().unwrap_or("");
            // Writing to a string does not fail.
            let _ = writeln!(text, "module {index} {name}\n");
            match disassembly(module) {
                Ok(functions) => text.push_str(&functions),
                Err(error) => return Ok(complain(&request.file, &error)),
            }
        }
        crate::print_all(&text);
        return Ok(0);
    }
    let mut exports = component.listing().exports.iter();
    let is_command = exports.any(|row| is_run(&row.interface, &row.name));
    if request.profile.is_some() {
        if !is_command {
            return Err("the component is no WASI command".to_owned());
        }
        return Ok(on_large_stack(move || {
            let mut profile = begin_profile(&mut request, environment)?;
            let code = call(&component, request, Some(&mut profile));
            profile.end();
            code
        }));
    }
    if request.invoked.is_some() || is_command && !request.lists {
        return call(&component, request, None);
    }
    if !request.arguments.is_empty() {
        let text = "the component is no WASI command; arguments need '--invoke NAME'";
        return Err(text.to_owned());
    }
    crate::print_all(&listing(&component));
    Ok(0)
}

fn is_run(interface: &str, name: &str) -> bool {
    interface.starts_with("wasi:cli/run@") && name == "run"
}

fn listing(component: &Component) -> String {
    let listing = component.listing();
    let mut text = String::new();
    let sides = [("import", &listing.imports), ("export", &listing.exports)];
    for (side, rows) in sides {
        for row in rows {
            let place = match row.interface.as_str() {
                "" => String::new(),
                interface => format!("{interface} "),
            };
            let _ = writeln!(text, "{side} {place}{}: {}", row.name, row.text);
        }
    }
    text
}

/// An exported function by its name, which may leave the interface away.
fn find(instance: &Instance, name: &str) -> Result<Function, String> {
    if let Some(function) = instance.function(name) {
        return Ok(function);
    }
    let functions = instance.functions();
    let mut found = functions
        .iter()
        .filter(|(full, _)| full.rsplit('#').next() == Some(name));
    match (found.next(), found.next()) {
        (Some((_, function)), None) => Ok(function.clone()),
        (Some((one, _)), Some((other, _))) => Err(format!("'{name}' may be {one} or {other}")),
        _ => Err(format!("the component exports no function '{name}'")),
    }
}

/// Runs a command, or calls the function that is asked for.
fn call(
    component: &Component,
    mut request: Request,
    profile: Option<&mut GuestProfile>,
) -> Result<u8, String> {
    let invoked = request.invoked.take();
    let given = std::mem::take(&mut request.arguments);
    let mut arguments = vec![request.file.clone().into_os_string()];
    if invoked.is_none() {
        arguments.extend(given.iter().cloned());
    }
    let network = Network {
        sockets: request.network,
        names: request.network,
        requests: false,
    };
    let world = World::new(request.settings(arguments), network)?;
    let mut store = Store::new();
    store.set_memory_limit(request.memory_limit);
    store.set_fuel(request.limits.fuel);
    store.set_stack_bytes(request.limits.stack_bytes);
    let mut imports = Imports::default();
    imports.add_host(std::sync::Arc::new(world.clone()));
    let instance = match component.instantiate(&mut store, &mut imports, 0) {
        Ok(made) => made.instance,
        Err(Error::Trap(Trap::Exit(code))) => return Ok(code as u8),
        Err(error) => return Ok(complain(&request.file, &error)),
    };
    let function = match &invoked {
        Some(name) => find(&instance, name)?,
        None => {
            let mut functions = instance.functions().into_iter();
            let found = functions.find(|(name, _)| {
                let parts = name.split_once('#');
                parts.is_some_and(|(interface, name)| is_run(interface, name))
            });
            found.ok_or("the component exports no function 'run'")?.1
        }
    };
    let values = match invoked {
        Some(_) => arguments_of(&function, &given)?,
        None => Vec::new(),
    };
    let outcome = match profile {
        Some(profile) => function.begin(&mut store, &values).and_then(|begun| {
            let (lowered, _, call) = begun;
            profile.call(&mut store, lowered)?;
            let words = store.results().to_vec();
            function.finish(&mut store, &call, &words)
        }),
        None => function.call(&mut store, &values),
    };
    finish(&world);
    let modules = component.modules();
    write_statistics(request.statistics, &modules, &store);
    Ok(match outcome {
        Ok(Some(Value::Result(result))) if invoked.is_none() => u8::from(result.is_err()),
        Ok(value) => {
            if let (Some(value), Some(kind)) = (value, &function.kind().result) {
                crate::print_all(&format!("{}\n", wave::text(kind, &value)));
            }
            0
        }
        Err(Trap::Exit(code)) => code as u8,
        Err(trap) => {
            let code = complain(&request.file, &Error::Trap(trap));
            print_backtrace(&store);
            code
        }
    })
}

/// The values of texts for the parameters of a function.
fn arguments_of(function: &Function, given: &[OsString]) -> Result<Vec<Value>, String> {
    let kind = function.kind();
    if given.len() != kind.parameters.len() {
        return Err(format!(
            "the function is of type {}; it was given {} arguments",
            kind.text(),
            given.len()
        ));
    }
    let given = given.iter().zip(&kind.parameters);
    let values = given.map(|(text, (name, kind))| {
        let text = text.to_string_lossy();
        wave::parse(kind, &text)
            .map_err(|error| format!("'{text}' for the parameter '{name}': {error}"))
    });
    values.collect()
}

/// Sends what the guest has written.
fn finish(world: &World) {
    while let Ok(Answer::Wait) = world.finish() {}
}
