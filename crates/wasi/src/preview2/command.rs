//! `wasi:cli`: arguments, environment, the standard streams, the end of the guest.
//!
//! All streams that a guest gets for one of the standard streams are the same one.

use canny_component::Value;
use canny_wasm::Trap;

use super::call::{Call, Outcome, Stop};
use super::table::Resource;
use super::values::{self, Mistake};
use super::{Interface, Row};

/// An interface of `wasi:cli`.
const fn interface(
    name: &'static str,
    functions: &'static [Row],
    resources: &'static [&'static str],
) -> Interface {
    Interface {
        name,
        functions,
        resources,
    }
}

pub const INTERFACES: &[Interface] = &[
    interface("wasi:cli/environment", ENVIRONMENT, &[]),
    interface("wasi:cli/exit", EXIT, &[]),
    interface("wasi:cli/stdin", &[("get-stdin", input)], &[]),
    interface(
        "wasi:cli/stdout",
        &[("get-stdout", |call| output(call, 0))],
        &[],
    ),
    interface(
        "wasi:cli/stderr",
        &[("get-stderr", |call| output(call, 1))],
        &[],
    ),
    interface("wasi:cli/terminal-input", &[], &["terminal-input"]),
    interface("wasi:cli/terminal-output", &[], &["terminal-output"]),
    interface(
        "wasi:cli/terminal-stdin",
        &[("get-terminal-stdin", |call| {
            terminal(call, 0, TerminalInput)
        })],
        &[],
    ),
    interface(
        "wasi:cli/terminal-stdout",
        &[("get-terminal-stdout", |call| {
            terminal(call, 1, TerminalOutput)
        })],
        &[],
    ),
    interface(
        "wasi:cli/terminal-stderr",
        &[("get-terminal-stderr", |call| {
            terminal(call, 2, TerminalOutput)
        })],
        &[],
    ),
];

const ENVIRONMENT: &[Row] = &[
    ("get-environment", |call| {
        let variables = call.state.environment.iter();
        let pairs = variables.map(|(name, value)| {
            Value::Record(vec![
                Value::String(name.clone()),
                Value::String(value.clone()),
            ])
        });
        Ok(Some(Value::List(pairs.collect())))
    }),
    ("get-arguments", |call| {
        let arguments = call.state.arguments.iter().cloned();
        Ok(Some(Value::List(arguments.map(Value::String).collect())))
    }),
    // A guest knows directories that were given to it only.
    ("initial-cwd", |_| Ok(Some(Value::Option(None)))),
];

const EXIT: &[Row] = &[
    ("exit", |call| match call.value(0)? {
        Value::Result(status) => {
            let code = u32::from(status.is_err());
            Err(Stop::Trap(Trap::Exit(code)))
        }
        _ => Err(Mistake.into()),
    }),
    ("exit-with-code", |call| {
        let code = values::byte(call.value(0)?)?;
        Err(Stop::Trap(Trap::Exit(code.into())))
    }),
];

/// A terminal that the guest reads.
struct TerminalInput;

impl Resource for TerminalInput {
    const NAME: &'static str = "terminal-input";
}

/// A terminal that the guest writes.
struct TerminalOutput;

impl Resource for TerminalOutput {
    const NAME: &'static str = "terminal-output";
}

fn input(call: &mut Call<'_>) -> Outcome {
    let input = call.state.input.clone();
    call.give(input).map(Some)
}

fn output(call: &mut Call<'_>, index: usize) -> Outcome {
    let output = call.state.outputs[index].clone();
    call.give(output).map(Some)
}

fn terminal(call: &mut Call<'_>, number: usize, terminal: impl Resource) -> Outcome {
    let is_terminal = call.state.are_terminals[number];
    let given = is_terminal.then(|| call.give(terminal)).transpose()?;
    Ok(Some(values::optional(given)))
}
