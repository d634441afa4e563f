//! Code of the program: bytecode and machine code as text, the calls of a line, and the places where a
//! frame can continue.

use std::path::Path;
use std::sync::Arc;

use canny_lib::debug::listing;
use canny_vm::Thread;
use canny_vm::debug::{Ahead, Resume, TaskKey};
use serde_json::{Value as Json, json};

use crate::numbers::Target;
use crate::output::{Answer, Request};
use crate::queues::Next;
use crate::shared::Shared;
use crate::stops::task_of;

/// Instructions that are sent at once.
const INSTRUCTIONS_MAX: usize = 5000;
/// Characters of a call that are shown.
const CALL_CHARACTERS: usize = 60;

/// An address as a client writes it.
pub fn read_address(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Shared {
    /// `disassemble`: instructions around an address, exactly as many as are wanted.
    pub fn disassemble(&self, request: &Request) -> Result<Json, String> {
        let reference = request.text("memoryReference")?;
        let base = read_address(reference);
        let base = base.ok_or("'disassemble' wants the address of an instruction")?;
        let number = |name: &str| request.arguments[name].as_i64().unwrap_or(0);
        let base = base.wrapping_add_signed(number("offset"));
        let count = usize::try_from(request.number("instructionCount")?).unwrap_or(0);
        let rows = self.with_thread(|thread| self.instructions(thread, base))?;
        let rows = rows.ok_or("there is no code at this address")?;
        let own = rows.partition_point(|(address, _)| *address <= base);
        let own = own.saturating_sub(1) as i64;
        let first = own.saturating_add(number("instructionOffset"));
        let invalid = |index: i64| {
            // Addresses grow from row to row.
            let (start, _) = rows[0];
            let (last, _) = rows[rows.len() - 1];
            let address = if index < 0 {
                start.wrapping_add_signed(4 * index)
            } else {
                last.wrapping_add_signed(4 * (index - rows.len() as i64 + 1))
            };
            json!({
                "address": format!("{address:#x}"),
                "instruction": "",
                "presentationHint": "invalid",
            })
        };
        let wanted = (first..).take(count.min(INSTRUCTIONS_MAX));
        let instructions: Vec<Json> = wanted
            .map(|index| {
                let row = usize::try_from(index)
                    .ok()
                    .and_then(|index| rows.get(index));
                row.map_or_else(|| invalid(index), |(_, row)| row.clone())
            })
            .collect();
        Ok(json!({"instructions": instructions}))
    }

    /// The instructions of the code that an address is in, with their addresses.
    fn instructions(&self, thread: &mut Thread, address: u64) -> Option<Vec<(u64, Json)>> {
        let Some((name, lines)) = listing::bytecode_at(thread, address) else {
            let (start, bytes) = thread.vm().specializer().machine_code_at(address)?;
            return Some(machine_rows(start, &bytes));
        };
        let rows = lines.into_iter().enumerate().map(|(index, line)| {
            let mut row = json!({
                "address": format!("{:#x}", line.address),
                "instruction": line.text,
            });
            if index == 0 {
                row["symbol"] = name.as_str().into();
            } else if let Some(label) = line.label {
                row["symbol"] = format!("L{label}").into();
            }
            if let Some(position) = &line.position {
                let mut place = json!({});
                self.place(&mut place, position);
                row["location"] = place["source"].take();
                for name in ["line", "column", "endLine", "endColumn"] {
                    row[name] = place[name].take();
                }
            }
            (line.address, row)
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then_some(rows)
    }

    /// `stepInTargets`: the calls and expansions of the line.
    pub fn calls_of_line(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let Some((task, frame)) = self.frame_of(request, "frameId") else {
            return answer.give(Err("there is no such frame".to_owned()));
        };
        self.ask_task(task, answer, move |shared, stop, answer| {
            // Only the newest frame has calls to come before it is left.
            let calls = if frame == 0 { stop.calls() } else { Vec::new() };
            let mut targets = shared.targets(task, &calls);
            if frame == 0 {
                targets.extend(shared.targets_in_expansions(stop));
            }
            answer.give(Ok(json!({"targets": targets})));
            Next::Stay
        });
    }

    /// `gotoTargets`: where the newest frame of a task that stands still can continue on a line.
    pub fn places_of_line(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let source = &request.arguments["source"];
        let file = source["path"].as_str().or_else(|| source["name"].as_str());
        let line = self.line_of_client(&request.arguments["line"]);
        let (Some(file), Some(line)) = (file.map(str::to_owned), line) else {
            return answer.give(Err("'gotoTargets' wants a source and a line".to_owned()));
        };
        let Some(task) = self.tasks.lock().stopped_last() else {
            return answer.give(Err("no task stands still".to_owned()));
        };
        self.ask_task(task, answer, move |shared, stop, answer| {
            let is_there = |ahead: &Ahead| is_same_file(&ahead.position.file, &file);
            let mut places = stop.jumps(line);
            places.retain(is_there);
            // The first instruction of a line does all of it.
            places.truncate(1);
            let targets = shared.targets(task, &places);
            answer.give(Ok(json!({"targets": targets})));
            Next::Stay
        });
    }

    /// `goto`: the newest frame continues at one of these.
    pub fn go_to(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let task = request.number("threadId").map(task_of);
        let target = request.number("targetId");
        let (task, target) = match (task, target) {
            (Ok(task), Ok(target)) => (task, target),
            (Err(message), _) | (_, Err(message)) => return answer.give(Err(message)),
        };
        let known = self.instruction(target);
        self.ask_task(task, answer, move |_, stop, answer| match known {
            Some((of, index)) if of == stop.task() => {
                answer.give(Ok(Json::Null));
                Next::Resume(Resume::Jump(index))
            }
            _ => {
                answer.give(Err("there is no such place any more".to_owned()));
                Next::Stay
            }
        });
    }

    /// The instruction that a number of a target means.
    pub fn instruction(&self, number: i64) -> Option<(TaskKey, u32)> {
        match self.numbers.lock().target(number)? {
            (task, Target::Instruction(index)) => Some((task, index)),
            _ => None,
        }
    }

    fn targets(&self, task: TaskKey, places: &[Ahead]) -> Vec<Json> {
        let targets = places.iter().map(|ahead| {
            let target = Target::Instruction(ahead.index);
            let number = self.numbers.lock().of_target(task, target);
            let mut row = json!({"id": number, "label": self.label(ahead)});
            self.place(&mut row, &ahead.position);
            if let Some(row) = row.as_object_mut() {
                row.remove("source");
            }
            row
        });
        targets.collect()
    }

    /// The text of an expression on one line.
    fn label(&self, ahead: &Ahead) -> String {
        let place = &ahead.position;
        let text = self.source_text(&place.file);
        let text = text.or_else(|| std::fs::read_to_string(&place.file).ok());
        let text = text.unwrap_or_default();
        place.text_in(&text, CALL_CHARACTERS)
    }
}

/// Whether two names of files mean the same one.
fn is_same_file(name: &str, asked: &str) -> bool {
    let absolute = |name: &str| std::path::absolute(Path::new(name)).ok();
    name == asked || absolute(name).is_some_and(|name| Some(name) == absolute(asked))
}

/// Machine code as rows.
#[cfg(target_arch = "x86_64")]
fn machine_rows(start: u64, bytes: &[u8]) -> Vec<(u64, Json)> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
    let mut formatter = IntelFormatter::new();
    let decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let rows = decoder.into_iter().map(|instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let from = (instruction.ip() - start) as usize;
        let own = &bytes[from..from + instruction.len()];
        let hex: Vec<String> = own.iter().map(|byte| format!("{byte:02x}")).collect();
        let row = json!({
            "address": format!("{:#x}", instruction.ip()),
            "instructionBytes": hex.join(" "),
            "instruction": text,
        });
        (instruction.ip(), row)
    });
    rows.collect()
}

/// Machine code as rows: plain words, since there is no decoder for this processor.
#[cfg(not(target_arch = "x86_64"))]
fn machine_rows(start: u64, bytes: &[u8]) -> Vec<(u64, Json)> {
    let words = bytes.chunks(4).enumerate().map(|(index, word)| {
        let address = start + 4 * index as u64;
        let hex: Vec<String> = word.iter().map(|byte| format!("{byte:02x}")).collect();
        let row = json!({"address": format!("{address:#x}"), "instruction": hex.join(" ")});
        (address, row)
    });
    words.collect()
}
