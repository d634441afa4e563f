//! Names and positions of the places of a chain.
//!
//! A place gives no frame, one, or several: a copy of a library's procedure without a name has none, and
//! procedures that were inlined by the compiler of bytecode have one each.

use canny_compiler::instruction::Instruction;
use canny_profile::model::{Builder, FrameIndex, FunctionIndex, Group, Tier};
use canny_tables::primitives::{PrimitiveId, by_id};

use super::native::{self, NativeName};
use super::places::Site;
use super::walk::{Execution, Link, code_around};
use crate::code::{CodeRef, UnitMetadata};
use crate::frames::FrameDescription;
use crate::thread::Thread;

/// Adds the frames of a place to the tables, the newest first; none for a place that is not shown.
pub(super) fn frames_of(
    thread: &Thread,
    link: Link,
    names_native: bool,
    to: &mut Builder,
) -> Vec<FrameIndex> {
    match link {
        Link::Cut => Vec::new(),
        Link::Loading => {
            let what = "reading, expanding and compiling the program";
            vec![native_frame(to, what, Group::Compiler)]
        }
        Link::Native(address) => {
            let NativeName { name, group } = native::name_at(address);
            if names_native {
                return vec![native_frame(to, &name, group)];
            }
            let purpose = purpose_of(group);
            let frame = purpose.map(|purpose| native_frame(to, purpose, group));
            frame.into_iter().collect()
        }
        Link::Kernel(address) => {
            let mut frames = vec![native_frame(to, "operating system", Group::Kernel)];
            if names_native {
                let NativeName { name, group } = native::name_at(address);
                frames.push(native_frame(to, &name, group));
            }
            frames
        }
        Link::Operation(pc) => operation(thread, pc as usize)
            .map(|name| native_frame(to, name, Group::Machine))
            .into_iter()
            .collect(),
        Link::Frame(pc, execution) => described(thread, pc as usize, execution, to),
    }
}

/// The purpose of a part of the machine, if it says more than the primitive that called it.
fn purpose_of(group: Group) -> Option<&'static str> {
    match group {
        Group::Collector => Some("memory and garbage collection"),
        Group::Compiler => Some("compiler and expander"),
        Group::InputOutput => Some("input and output"),
        Group::Network => Some("HTTP and TLS"),
        Group::Database => Some("database"),
        Group::Scheduler => Some("scheduler"),
        _ => None,
    }
}

fn native_frame(to: &mut Builder, name: &str, group: Group) -> FrameIndex {
    let function = to.function(name, None, 0, group);
    to.frame(function, 0, 0, Tier::Native, false)
}

/// The places of the tail calls that led from an older place to a newer one, the last one first.
pub(super) fn tail_calls(thread: &Thread, older: Link, newer: Link) -> Vec<Link> {
    let (Link::Frame(older, _), Link::Frame(newer, _)) = (older, newer) else {
        return Vec::new();
    };
    let codes = code_around(thread, older as usize).zip(code_around(thread, newer as usize));
    let Some((caller, running)) = codes else {
        return Vec::new();
    };
    let calls = thread.certain_tail_calls(caller, older as *const u32, running);
    let link = |pc: *const u32| Link::Frame(pc as u64, Execution::Left);
    calls.into_iter().map(link).collect()
}

/// The name of the primitive that the instruction whose first word ends before `pc` calls.
fn operation(thread: &Thread, pc: usize) -> Option<&'static str> {
    let code = code_around(thread, pc)?;
    let words = code.plain_instructions();
    let index = ((pc - code.start() as usize) / 4).checked_sub(1)?;
    let instruction = Instruction::decode(&words, index).ok()?;
    let (id, _) = instruction.primitive_call()?;
    if id as usize >= canny_tables::primitives::count() {
        return None;
    }
    Some(by_id(PrimitiveId(id as u16)).name)
}

/// The frames at an address of bytecode.
fn described(
    thread: &Thread,
    pc: usize,
    execution: Execution,
    to: &mut Builder,
) -> Vec<FrameIndex> {
    let Some(code) = code_around(thread, pc) else {
        let function = to.function("code that is gone", None, 0, Group::Foreign);
        return vec![to.frame(function, 0, 0, Tier::Unknown, false)];
    };
    let Some((unit, index)) = thread.vm.metadata(code) else {
        return vec![native_frame(to, "the machine's own code", Group::Machine)];
    };
    let shown = shown_frames(thread, code, (&unit, index), pc);
    let tier = |frame: &FrameDescription| match (execution, frame.copy) {
        (Execution::Left, _) => Tier::Unknown,
        (Execution::Interpreted, _) => Tier::Interpreted,
        (Execution::Inlined, _) | (Execution::Compiled, Some(_)) => Tier::Inlined,
        (Execution::Compiled, None) => Tier::Compiled,
    };
    shown
        .iter()
        .map(|frame| {
            let own = frame.copy.is_none().then_some(index);
            let definition = unit.definition_line(own, frame.name.as_deref());
            let file = match (&frame.position, &definition) {
                (Some(position), _) => Some(position.file.as_str()),
                (None, Some((file, _))) => Some(file.as_str()),
                (None, None) => None,
            };
            let defined_at = definition.as_ref().map_or(0, |(_, line)| *line);
            let group = group_of(frame.is_library);
            let name = name_of(frame);
            let file = file.or(unit.is_library.then_some(unit.name.as_str()));
            let function = to.function(name, file, defined_at, group);
            let (line, column) = match &frame.position {
                Some(position) => (position.line, position.column),
                None => (0, 0),
            };
            let is_tail = execution == Execution::Left;
            to.frame(function, line, column, tier(frame), is_tail)
        })
        .collect()
}

/// The frames at an address of a code that are shown, the newest first.
fn shown_frames(
    thread: &Thread,
    code: CodeRef,
    (unit, index): (&UnitMetadata, usize),
    pc: usize,
) -> Vec<FrameDescription> {
    let mut frames = Vec::new();
    let name = unit.codes[index].name.clone();
    thread.describe_code(code, pc as *const u32, name, &mut frames);
    crate::frames::hide_stand_ins(&mut frames);
    frames.retain(|frame| !is_hidden(frame));
    frames
}

/// The place in the source of the newest frame of the program at a link, else of the newest frame with a
/// position; and whether it belongs to the standard library.
pub(super) fn site_of(thread: &Thread, link: Link) -> Option<(Site, bool)> {
    let Link::Frame(pc, _) = link else {
        return None;
    };
    let code = code_around(thread, pc as usize)?;
    let (unit, index) = thread.vm.metadata(code)?;
    let frames = shown_frames(thread, code, (&unit, index), pc as usize);
    let mut placed = frames.iter().filter(|frame| frame.position.is_some());
    let newest = placed.clone().next();
    let frame = placed.find(|frame| !frame.is_library).or(newest)?;
    let position = frame.position.as_ref()?;
    let site = Site {
        file: position.file.clone(),
        line: position.line,
        procedure: name_of(frame).to_owned(),
    };
    Some((site, frame.is_library))
}

/// A copy of a procedure of the standard library whose name nobody knows: its time is the caller's.
fn is_hidden(frame: &FrameDescription) -> bool {
    frame.copy.is_some() && frame.name.is_none() && frame.is_library
}

fn group_of(is_library: bool) -> Group {
    if is_library {
        Group::Library
    } else {
        Group::Program
    }
}

/// The function of a code, and the line of an instruction in it.
pub(super) fn function_of(
    unit: &UnitMetadata,
    index: usize,
    pc: Option<usize>,
    to: &mut Builder,
) -> (FunctionIndex, u32) {
    let definition = unit.definition_line(Some(index), None);
    let name = match &unit.codes[index].name {
        Some(name) => name,
        None if index == unit.entry => "body of the program",
        None => "lambda",
    };
    let file = definition.as_ref().map(|(file, _)| file.as_str());
    let file = file.or(unit.is_library.then_some(unit.name.as_str()));
    let defined_at = definition.as_ref().map_or(0, |(_, line)| *line);
    let function = to.function(name, file, defined_at, group_of(unit.is_library));
    let line = pc.and_then(|pc| unit.line_at(index, pc));
    (function, line.map_or(defined_at, |(_, line)| line))
}

fn name_of(frame: &FrameDescription) -> &str {
    match (&frame.name, frame.is_program) {
        (Some(name), _) => name,
        (None, true) => "body of the program",
        (None, false) => "lambda",
    }
}
