//! Primitives of time, the process, its command line and its environment variables.
//!
//! Changes of environment variables stay in the machine: the process's own are never written, since
//! that is not safe with threads. Child processes get the changed ones. The command line is set
//! once, before code runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canny_replay::Kind as Question;
use rustix::time::ClockId;

use canny_locks::{Mutex, MutexGuard};
use canny_tables::kinds::Kind;
use canny_tables::primitives::JIFFIES_PER_SECOND;
use canny_value::Value;
use canny_vm::{Exit, PrimitiveFunction, Raise, Thread, Vm, string_text};

use super::file_names::text_of_name;
use crate::arguments::{Call, implementations};
use crate::host::{self, finish_output};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "current-jiffy" => |thread, _| Ok(thread.integer(jiffies()));
    "%recent-jiffy" => |thread, _| Ok(thread.integer(recent_jiffies()));
    "jiffies-per-second" => |_, _| Ok(Value::fixnum(JIFFIES_PER_SECOND));
    "current-second" => current_second;
    "cpu-time" => cpu_time;
    "%processor-count" => |_, _| {
        let count = canny_replay::ask(Question::Process, || {
            std::thread::available_parallelism().map_or(1, |count| count.get())
        });
        Ok(Value::fixnum(count as i64))
    };
    "command-line" => command_line;
    "%exit" => exit;
    "%set-exit-hook!" => |thread, call| {
        let hook = call.object(thread, 0, Kind::Closure, "procedure")?;
        thread.vm().set_root(EXIT_HOOK, hook.value());
        Ok(Value::UNSPECIFIED)
    };
    "%take-exit-hook!" => |thread, _| Ok(take_exit_hook(thread.vm()).unwrap_or(Value::FALSE));
    "%served-value" => |thread, _| {
        Ok(thread.vm().root(SERVED_VALUE).unwrap_or(Value::UNSPECIFIED))
    };
    "get-environment-variable" => environment_variable;
    "get-environment-variables" => environment_variables;
    "%specialize" => specialize;
    "%specialized?" => |thread, call| {
        Ok(Value::boolean(thread.specialization(call.at(0)).is_some()))
    };
    "%unspecialize" => unspecialize;
    "%implementation-version" => |thread, _| Ok(thread.literal_string(env!("CARGO_PKG_VERSION")));
    "%interrupt-pending?" => is_interrupt_pending;
};

/// TAI is ahead of UTC by this much since 2017; no further leap second is planned.
const TAI_AHEAD_OF_UTC_SECONDS: f64 = 37.0;

/// The system's monotonic clock when it was first asked here, in nanoseconds.
static START: LazyLock<i64> = LazyLock::new(|| nanoseconds(ClockId::Monotonic));

fn nanoseconds(clock: ClockId) -> i64 {
    canny_replay::ask(Question::Clock, || {
        let time = rustix::time::clock_gettime(clock);
        time.tv_sec
            .saturating_mul(JIFFIES_PER_SECOND)
            .saturating_add(time.tv_nsec)
    })
}

/// The monotonic clock in jiffies since the start.
pub(crate) fn jiffies() -> i64 {
    let start = *START;
    nanoseconds(ClockId::Monotonic) - start
}

/// The same as of the last tick of the system.
pub(crate) fn recent_jiffies() -> i64 {
    let start = *START;
    (nanoseconds(ClockId::MonotonicCoarse) - start).max(0)
}

fn current_second(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let since_epoch = canny_replay::ask(Question::Time, || {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_secs_f64(),
            Err(before) => -before.duration().as_secs_f64(),
        }
    });
    Ok(thread.flonum(since_epoch + TAI_AHEAD_OF_UTC_SECONDS))
}

fn cpu_time(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let time = canny_replay::ask(Question::Time, || {
        let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(
            time.tv_sec.max(0) as u64,
            time.tv_nsec.clamp(0, 999_999_999) as u32,
        )
    });
    Ok(thread.flonum(time.as_secs_f64()))
}

fn specialize(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let loop_number = call.optional(1).and_then(Value::as_index);
    match thread.specialize_now(call.at(0), loop_number) {
        Ok(_) => Ok(Value::TRUE),
        Err(message) => Ok(thread.string(&message)),
    }
}

fn unspecialize(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let was_specialized = thread.specialization(call.at(0)).is_some();
    while let Some(candidate) = thread.specialization(call.at(0)) {
        thread.vm().specializer().retire(candidate);
    }
    Ok(Value::boolean(was_specialized))
}

/// A list of strings.
fn list_of_strings(thread: &mut Thread, texts: &[String]) -> Value {
    let mut list = Value::NIL;
    for text in texts.iter().rev() {
        let text = thread.string(text);
        list = thread.cons(text, list);
    }
    list
}

/// The command line of a machine.
#[derive(Default)]
pub(crate) struct CommandLine {
    words: OnceLock<Vec<String>>,
    script_file: OnceLock<Option<String>>,
}

/// Sets what `(command-line)` gives: the program and its arguments. Only the first call has an effect.
pub fn set_command_line(vm: &Vm, words: Vec<String>) {
    let command_line: &CommandLine = host::state(vm);
    let _ = command_line.script_file.set(script_file_of(&words));
    let _ = command_line.words.set(words);
}

/// The program and its arguments.
pub fn command_line_words(vm: &Vm) -> Vec<String> {
    let command_line: &CommandLine = host::state(vm);
    command_line.words.get().cloned().unwrap_or_default()
}

/// The absolute name of the program of a command line. The command's own name and `-` are no programs.
/// It is found before the program runs, which may change the current directory.
fn script_file_of(words: &[String]) -> Option<String> {
    let first = words.first()?;
    if first == "canny" || first == "-" {
        return None;
    }
    let path = std::path::absolute(first).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// The absolute name of the program file, if the command line has one.
pub(super) fn script_file(vm: &Vm) -> Option<&str> {
    let command_line: &CommandLine = host::state(vm);
    command_line.script_file.get()?.as_deref()
}

fn command_line(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let words = command_line_words(thread.vm());
    Ok(list_of_strings(thread, &words))
}

/// The exit code that an object stands for. The system takes codes up to 255; a number that is none must
/// not look like success, as its low byte could.
fn exit_code(object: Option<Value>) -> i32 {
    const CODE_MAX: i32 = 255;
    const SUCCESS: i32 = 0;
    const FAILURE: i32 = 1;
    const SOFTWARE_ERROR: i32 = 70;
    match object {
        None | Some(Value::TRUE) => SUCCESS,
        Some(Value::FALSE) => FAILURE,
        Some(object) => match object.as_fixnum() {
            Some(code) => i32::try_from(code)
                .ok()
                .filter(|code| (0..CODE_MAX).contains(code))
                .unwrap_or(CODE_MAX),
            None if object.is_kind(Kind::Bignum) => CODE_MAX,
            None => SOFTWARE_ERROR,
        },
    }
}

const SERVED_VALUE: &str = "served value";

/// Keeps what a program gave, for `(canny web server serving)`.
pub fn set_served_value(vm: &Vm, value: Value) {
    vm.set_root(SERVED_VALUE, value);
}

const EXIT_HOOK: &str = "exit hook";

/// Takes the procedure to call when the program ends. It is forgotten, so that it is called once.
pub fn take_exit_hook(vm: &Vm) -> Option<Value> {
    let hook = vm.root(EXIT_HOOK).filter(|hook| hook.is_true())?;
    vm.set_root(EXIT_HOOK, Value::FALSE);
    Some(hook)
}

fn exit(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let code = exit_code(call.optional(0));
    let code = thread.outside_heap(|| finish_output(code));
    Err(thread.leave(Exit::Code(code)))
}

/// The program's changes to its environment variables: new values, and `None` for a variable that
/// it removed.
#[derive(Default)]
pub(crate) struct ChangedVariables(Mutex<HashMap<String, Option<String>>>);

/// Those of the thread's machine. Not to be held across an allocation.
fn changed_variables(thread: &Thread) -> MutexGuard<'_, HashMap<String, Option<String>>> {
    let changed: &ChangedVariables = host::state(thread.vm());
    changed.0.lock()
}

/// Changes what the program sees as an environment variable.
pub(super) fn set_environment_variable(thread: &Thread, name: String, value: Option<String>) {
    changed_variables(thread).insert(name, value);
}

fn environment_variable(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    // The system knows no such names, and asking for them is an error in some.
    if name.is_empty() || name.contains(['=', '\0']) {
        return Ok(Value::FALSE);
    }
    let changed = changed_variables(thread).get(&name).cloned();
    if let Some(changed) = changed {
        return Ok(changed.map_or(Value::FALSE, |value| thread.string(&value)));
    }
    let value = canny_replay::ask(Question::Environment, || {
        std::env::var_os(&name).map(|value| text_of_name(&value))
    });
    Ok(value.map_or(Value::FALSE, |value| thread.string(&value)))
}

/// The environment variables as the program sees them.
pub(crate) fn variables(thread: &Thread) -> BTreeMap<String, String> {
    let variables: Vec<(String, String)> = canny_replay::ask(Question::Environment, || {
        let variables = std::env::vars_os();
        let texts = variables.map(|(name, value)| (text_of_name(&name), text_of_name(&value)));
        texts.collect()
    });
    let mut variables = BTreeMap::from_iter(variables);
    for (name, value) in changed_variables(thread).iter() {
        match value {
            Some(value) => variables.insert(name.clone(), value.clone()),
            None => variables.remove(name),
        };
    }
    variables
}

fn environment_variables(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let variables = variables(thread);
    let mut list = Value::NIL;
    for (name, value) in variables.iter().rev() {
        let name = thread.string(name);
        let value = thread.string(value);
        let entry = thread.cons(name, value);
        list = thread.cons(entry, list);
    }
    Ok(list)
}

/// A list with an entry for each frame: the procedure's name or `#f`, and then file, line and column if
/// they are known.
fn is_interrupt_pending(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    Ok(Value::boolean(thread.interrupts().take_interrupt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_r7rs() {
        assert_eq!(exit_code(None), 0);
        assert_eq!(exit_code(Some(Value::TRUE)), 0);
        assert_eq!(exit_code(Some(Value::FALSE)), 1);
        assert_eq!(exit_code(Some(Value::fixnum(3))), 3);
        assert_eq!(exit_code(Some(Value::fixnum(255))), 255);
        assert_eq!(exit_code(Some(Value::fixnum(256))), 255);
        assert_eq!(exit_code(Some(Value::fixnum(1 << 40))), 255);
        assert_eq!(exit_code(Some(Value::fixnum(-1))), 255);
        assert_eq!(exit_code(Some(Value::NIL)), 70);
    }
}
