//! The values that the debugger shows, against those that the program itself has noted.
//!
//! A program is run twice: with notes of all variables in scope, also of the frames below, and in the
//! debugger, which stops where the notes were made. A value that the debugger shows is right. Optimized
//! code may have no value for a variable. Code that is compiled for debugging must have one for each
//! variable of the procedure.

mod faults;
mod generate;
mod instrument;

use std::sync::{Arc, Mutex};

use canny_vm::debug::{Breakpoint, BreakpointId, Client, DebugFrame, Location, Resume, Stop};

use self::instrument::{Instrumented, Kept, instrument};
use super::{Mode, machine_for, run, written};

/// Longer texts of values are cut off.
const TEXT_BYTES: usize = 200;

/// Examples without objects that can be called, which change the meaning of calls.
const EXAMPLES: [&str; 2] = ["life", "ray-tracer"];

/// Variables with the texts of their values, none if unknown; whether the procedure binds them.
type Variables = Vec<(String, Option<String>, bool)>;

/// A place of a run, with its variables.
#[derive(Debug, Default)]
struct Note {
    number: i64,
    variables: Variables,
    /// Calls in progress, newest first: line and column.
    calls: Vec<((u32, u32), Variables)>,
}

/// Reads what the program has written.
fn notes(text: &str, calls: &[(u32, u32)]) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').expect("a word");
        if word == "note" {
            let number = rest.parse().expect("a number");
            notes.push(Note {
                number,
                ..Note::default()
            });
            continue;
        }
        let note = notes.last_mut().expect("a note");
        if word == "call" {
            let number: usize = rest.parse().expect("a number");
            note.calls.push((calls[number], Variables::new()));
            continue;
        }
        let (owner, rest) = rest.split_once(' ').expect("an owner");
        let (name, value) = match word {
            "value" => {
                let (name, value) = rest.split_once(' ').expect("a value");
                (name, Some(text_of(value)))
            }
            _ => (rest, None),
        };
        let variables = match note.calls.last_mut() {
            Some((_, variables)) => variables,
            None => &mut note.variables,
        };
        variables.push((name.to_owned(), value, owner == "own"));
    }
    notes
}

/// The text of a value, comparable: procedures have no numbers, long texts are cut off.
fn text_of(value: &str) -> String {
    let value = value.replace('\n', " ");
    let value = value.split("#<").next().unwrap_or_default();
    value.chars().take(TEXT_BYTES).collect()
}

/// Looks at frames and variables where the program assigns `%at`.
struct Looking {
    kept: Kept,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// That of the assignments, when it is set.
    breakpoint: Option<BreakpointId>,
    met: u64,
    notes: Vec<Note>,
}

impl Client for Looking {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let mut seen = self.seen.lock().unwrap();
        let Some((_, _, new)) = stop.assignment() else {
            // It is late.
            if seen.breakpoint.is_none() {
                seen.breakpoint = Some(stop.thread().set_breakpoint(at_assignments()));
            }
            return Resume::Continue;
        };
        seen.met += 1;
        if let Some(breakpoint) = seen.breakpoint
            && seen.met >= self.kept.many
        {
            stop.thread().remove_breakpoint(breakpoint);
        }
        if !self.kept.keeps(seen.met) {
            return Resume::Continue;
        }
        let frames = stop.frames(0, 4 * self.kept.frames);
        let of_program = |frame: &&DebugFrame| !frame.is_library;
        let mut note = Note {
            number: new.as_fixnum().expect("a number"),
            variables: shown(stop, 0),
            calls: Vec::new(),
        };
        for (number, frame) in frames.iter().enumerate().skip(1) {
            if of_program(&frame)
                && let Some(position) = &frame.position
            {
                let place = (position.line, position.column);
                note.calls.push((place, shown(stop, number)));
            }
        }
        seen.notes.push(note);
        Resume::Continue
    }
}

fn shown(stop: &mut Stop<'_>, frame: usize) -> Variables {
    let variables = stop.variables(frame).into_iter().map(|one| {
        let value = one.value.map(|value| {
            let value = stop.thread().protected(value);
            text_of(&written(stop.thread(), value))
        });
        (one.name, value, false)
    });
    variables.collect()
}

fn at_assignments() -> Breakpoint {
    Breakpoint::new(Location::Assignment("%at".to_owned()))
}

/// The notes of the program when nobody looks at it.
fn noted(program: &Instrumented) -> Vec<Note> {
    let (vm, mut thread) = machine_for(Mode::Interpreted, false);
    let prepared = canny_lib::evaluation::Evaluation::of(&vm)
        .prepare_program("/tmp/test.scm", program.noting.as_bytes());
    let value = run(&vm, &mut thread, prepared);
    let text = canny_lib::printer::displayed(&mut thread, value);
    notes(&text, &program.calls)
}

/// The same as the debugger shows it.
fn seen(program: &Instrumented, mode: Mode, is_for_debugging: bool, kept: Kept) -> Vec<Note> {
    let (vm, mut thread) = machine_for(mode, is_for_debugging);
    let looking = Arc::new(Looking {
        kept,
        seen: Mutex::default(),
    });
    vm.debugger().set_client(Some(looking.clone()));
    if kept.from_beginning {
        let breakpoint = thread.set_breakpoint(at_assignments());
        looking.seen.lock().unwrap().breakpoint = Some(breakpoint);
    } else {
        thread.set_breakpoint(Breakpoint::new(Location::Procedure("%late".to_owned())));
    }
    let prepared = canny_lib::evaluation::Evaluation::of(&vm)
        .prepare_program("/tmp/test.scm", program.marked.as_bytes());
    run(&vm, &mut thread, prepared);
    let mut seen = looking.seen.lock().unwrap();
    std::mem::take(&mut seen.notes)
}

/// How much was compared.
#[derive(Debug, Default)]
struct Sum {
    notes: usize,
    right: usize,
    unknown: usize,
    frames: usize,
}

/// Compares the variables of a frame; gives what is wrong.
fn compare_variables(
    expected: &Variables,
    shown: &Variables,
    must_be_there: bool,
    sum: &mut Sum,
) -> Option<String> {
    for (name, value, _) in shown {
        let Some((_, right, _)) = expected.iter().find(|(known, ..)| known == name) else {
            if value.is_some() {
                return Some(format!("{name} is not in scope: {value:?}"));
            }
            continue;
        };
        match value {
            None => sum.unknown += 1,
            Some(_) if value == right => sum.right += 1,
            Some(_) => return Some(format!("{name} is {right:?}, shown as {value:?}")),
        }
    }
    if must_be_there {
        for (name, right, is_own) in expected {
            let has_value = |(known, value, _): &(String, Option<String>, bool)| {
                known == name && value.is_some()
            };
            if *is_own && right.is_some() && !shown.iter().any(has_value) {
                return Some(format!("{name} has no value, it is {right:?}"));
            }
        }
    }
    None
}

/// Compares what was seen with what was noted; gives what is wrong.
fn compare(
    calls: &[(u32, u32)],
    expected: &[Note],
    seen: &[Note],
    must_be_there: bool,
    sum: &mut Sum,
) -> Option<String> {
    for (index, (expected, seen)) in expected.iter().zip(seen).enumerate() {
        let told =
            |wrong: String| Some(format!("note {index}, number {}: {wrong}", expected.number));
        if expected.number != seen.number {
            return told(format!("stopped at {}", seen.number));
        }
        sum.notes += 1;
        let (noted, shown) = (&expected.variables, &seen.variables);
        if let Some(wrong) = compare_variables(noted, shown, must_be_there, sum) {
            return told(wrong);
        }
        let mut rest = expected.calls.iter();
        for (place, shown) in seen.calls.iter().filter(|(place, _)| calls.contains(place)) {
            // The compiler may have made one frame of several, or none.
            let found = rest.find(|(noted, _)| must_be_there || noted == place);
            let Some((noted, variables)) = found else {
                break;
            };
            if noted != place {
                return told(format!("a call at {noted:?} is not shown, but {place:?}"));
            }
            sum.frames += 1;
            if let Some(wrong) = compare_variables(variables, shown, must_be_there, sum) {
                return told(format!("frame at {place:?}: {wrong}"));
            }
        }
    }
    if expected.len() != seen.len() {
        return Some(format!("{} notes, {} stops", expected.len(), seen.len()));
    }
    None
}

/// Compares a program in many ways of running.
fn check(text: &str, kept: Kept, rarity: (usize, usize), seed: u64, sum: &mut Sum) -> Vec<String> {
    let program = instrument(text, kept, rarity, seed);
    let expected = noted(&program);
    let ways = [
        (Mode::Interpreted, true),
        (Mode::Eager, true),
        (Mode::Served, true),
        (Mode::Optimized, false),
        (Mode::OptimizedInterpreted, false),
        (Mode::OptimizedUsual, false),
    ];
    let mut wrong = Vec::new();
    for (mode, is_for_debugging) in ways {
        let seen = seen(&program, mode, is_for_debugging, kept);
        let is_optimized = !matches!(mode, Mode::Interpreted | Mode::Eager);
        let must_be_there = is_for_debugging && !is_optimized;
        if let Some(what) = compare(&program.calls, &expected, &seen, must_be_there, sum) {
            wrong.push(format!("{mode:?} {is_for_debugging}: {what}"));
        }
    }
    wrong
}

/// Compares programs; those that differ are kept in files.
fn check_all(programs: impl IntoIterator<Item = (String, String, Kept, (usize, usize))>) {
    let (mut sum, mut wrong) = (Sum::default(), Vec::new());
    for (seed, (name, text, kept, rarity)) in programs.into_iter().enumerate() {
        let found = check(&text, kept, rarity, seed as u64 + 1, &mut sum);
        if !found.is_empty() {
            let path = format!("{}/variables-{name}.scm", env!("CARGO_TARGET_TMPDIR"));
            let program = instrument(&text, kept, rarity, seed as u64 + 1);
            std::fs::write(&path, program.marked).expect("the program can be written");
            wrong.push(format!("{path}:\n{}", found.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        sum.right > 2 * sum.unknown && sum.frames > sum.notes,
        "{sum:?}"
    );
}

/// All notes of a short program.
const ALL: Kept = Kept {
    from_beginning: true,
    few: 300,
    every: 97,
    many: 3000,
    frames: 6,
};

fn number_of(variable: &str, default: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

#[test]
fn random_programs_show_what_they_have() {
    let (first, count) = (
        number_of("CANNY_FUZZ_SEED", 1),
        number_of("CANNY_FUZZ_COUNT", 4),
    );
    check_all((first..first + count).map(|seed| {
        let is_late = seed % 2 == 0;
        let kept = Kept {
            from_beginning: !is_late,
            few: 60,
            every: 13,
            many: 700,
            frames: 6,
        };
        let text = generate::program(seed, if is_late { 3000 } else { 40 });
        (format!("random-{seed}"), text, kept, (3, 9))
    }));
}

#[test]
fn examples_show_what_they_have() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    check_all(EXAMPLES.iter().map(|name| {
        let text = std::fs::read_to_string(format!("{examples}/{name}.scm"));
        let text = text.expect("the example is there");
        ((*name).to_owned(), text, ALL, (1, 6))
    }));
}

#[test]
fn programs_that_once_showed_wrong_values() {
    let programs = faults::PROGRAMS.iter();
    check_all(programs.map(|(name, text)| ((*name).to_owned(), (*text).to_owned(), ALL, (1, 1))));
}
