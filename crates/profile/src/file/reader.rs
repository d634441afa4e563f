//! From bytes to a profile whose references are valid.
//!
//! Each reference is checked against the rows that earlier lines defined, so nothing behind the
//! reader has to check one. A last line that does not parse was cut, as was compressed data without
//! its end.

use std::sync::Arc;

use serde_json::error::Category;

use super::lines::{self, Line};
use super::{Error, Problem, compressed};
use crate::model::{
    Allocation, Count, Event, EventKind, Frame, Function, Group, Header, Label, Mode, Note,
    Profile, Sample, Stack, StackKind, StringIndex, Task, Thread, Tier, Wait, WaitKind,
};

/// The profile of a file's bytes, compressed or not.
///
/// # Errors
/// Names the first line that is no line of a profile: no JSON (but the last line), columns of
/// different lengths, a reference to a row that no earlier line defines.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    if compressed::is_compressed(bytes) {
        let (text, is_cut) = compressed::gunzip(bytes)?;
        let mut profile = read_text(&text)?;
        profile.is_incomplete |= is_cut;
        return Ok(profile);
    }
    read_text(bytes)
}

fn read_text(text: &[u8]) -> Result<Profile, Error> {
    let mut reader = Reader::default();
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .peekable();
    let mut is_first = true;
    let mut is_cut = false;
    while let Some((index, line)) = lines.next() {
        let fail = |problem| Error {
            line: index + 1,
            problem,
        };
        let line: Line = match serde_json::from_slice(line) {
            Ok(line) => line,
            Err(_) if is_first => return Err(fail(Problem::NotAProfile)),
            Err(error) if lines.peek().is_none() && error.classify() != Category::Data => {
                is_cut = true;
                break;
            }
            Err(error) => return Err(fail(Problem::Json(json_message(&error)))),
        };
        match (is_first, line.profile) {
            (true, None) => return Err(fail(Problem::NotAProfile)),
            (true, Some(1)) | (false, _) => {}
            (true, Some(version)) => return Err(fail(Problem::Version(version))),
        }
        if is_first {
            reader.profile.header = header(&line);
            is_first = false;
        }
        reader.line(line).map_err(fail)?;
    }
    if is_first {
        return Err(Error {
            line: 1,
            problem: Problem::NotAProfile,
        });
    }
    let mut profile = reader.profile;
    profile.is_incomplete = is_cut || profile.end_ns.is_none();
    Ok(profile)
}

/// Serde counts each line of the file as line 1; only the column helps.
fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line 1 column ") {
        Some(end) => format!("{} at column {}", &message[..end], error.column()),
        None => message,
    }
}

fn header(line: &Line) -> Header {
    let modes = line.modes.iter().flatten();
    Header {
        program: line.program.clone().unwrap_or_default(),
        arguments: line.arguments.clone().unwrap_or_default(),
        canny: line.canny.clone().unwrap_or_default(),
        pid: line.pid.unwrap_or(0),
        started_ns: line.started.unwrap_or(0),
        interval_ns: line.interval.unwrap_or(0),
        allocation_interval_bytes: line.allocation_interval,
        modes: modes.map(|word| Mode::of_word(word)).collect(),
    }
}

#[derive(Default)]
struct Reader {
    profile: Profile,
    /// The time of the last sample.
    sampled_ns: i64,
}

/// Checks references from one table.
#[derive(Clone, Copy)]
struct From(&'static str);

impl From {
    fn row<T: std::convert::From<u32>>(
        self,
        to: &'static str,
        rows: usize,
        row: u32,
    ) -> Result<T, Problem> {
        if (row as usize) < rows {
            return Ok(T::from(row));
        }
        Err(Problem::Reference {
            from: self.0,
            to,
            row: u64::from(row),
            rows,
        })
    }

    fn optional<T: std::convert::From<u32>>(
        self,
        to: &'static str,
        rows: usize,
        row: Option<u32>,
    ) -> Result<Option<T>, Problem> {
        row.map(|row| self.row(to, rows, row)).transpose()
    }
}

/// A row of a column that may be missing.
fn late(column: &[Option<u32>], row: usize) -> Option<u32> {
    column.get(row).copied().flatten()
}

fn rows_of(table: &'static str, rows: Option<usize>) -> Result<(usize, From), Problem> {
    match rows {
        Some(rows) => Ok((rows, From(table))),
        None => Err(Problem::Columns { table }),
    }
}

impl Reader {
    fn line(&mut self, line: Line) -> Result<(), Problem> {
        let rows = &mut self.profile.rows;
        if let Some(strings) = line.strings {
            rows.strings
                .extend(strings.into_iter().map(Arc::<str>::from));
        }
        line.functions.map_or(Ok(()), |one| self.functions(&one))?;
        line.frames.map_or(Ok(()), |one| self.frames(&one))?;
        line.stacks.map_or(Ok(()), |one| self.stacks(&one))?;
        line.threads.map_or(Ok(()), |one| self.threads(&one))?;
        line.tasks.map_or(Ok(()), |one| self.tasks(&one))?;
        line.labels.map_or(Ok(()), |one| self.labels(one))?;
        line.samples.map_or(Ok(()), |one| self.samples(&one))?;
        line.waits.map_or(Ok(()), |one| self.waits(&one))?;
        line.allocations
            .map_or(Ok(()), |one| self.allocations(&one))?;
        line.events.map_or(Ok(()), |one| self.events(&one))?;
        line.counts.map_or(Ok(()), |one| self.counts(&one))?;
        line.notes.map_or(Ok(()), |one| self.notes(&one))?;
        self.profile
            .rows
            .freed
            .extend(line.freed.into_iter().flatten());
        self.profile.lost = self.profile.lost.saturating_add(line.lost.unwrap_or(0));
        self.profile.end_ns = line.end.or(self.profile.end_ns);
        Ok(())
    }

    fn functions(&mut self, table: &lines::Functions) -> Result<(), Problem> {
        let (count, from) = rows_of("functions", table.rows())?;
        let rows = &mut self.profile.rows;
        let strings = rows.strings.len();
        for row in 0..count {
            rows.functions.push(Function {
                name: from.row("strings", strings, table.name[row])?,
                file: from.optional("strings", strings, table.file[row])?,
                line: table.line[row],
                group: Group::of_number(table.group[row]),
            });
        }
        Ok(())
    }

    fn frames(&mut self, table: &lines::Frames) -> Result<(), Problem> {
        let (count, from) = rows_of("frames", table.rows())?;
        let rows = &mut self.profile.rows;
        for row in 0..count {
            rows.frames.push(Frame {
                function: from.row("functions", rows.functions.len(), table.function[row])?,
                line: table.line[row],
                column: table.column[row],
                tier: Tier::of_number(table.tier[row]),
                is_tail: table.tail[row] != 0,
            });
        }
        Ok(())
    }

    fn stacks(&mut self, table: &lines::Stacks) -> Result<(), Problem> {
        let (count, from) = rows_of("stacks", table.rows())?;
        let rows = &mut self.profile.rows;
        for row in 0..count {
            rows.stacks.push(Stack {
                // A parent may be on the same line, but never later than its child.
                parent: from.optional("stacks", rows.stacks.len(), table.parent[row])?,
                frame: from.row("frames", rows.frames.len(), table.frame[row])?,
                kind: StackKind::of_number(table.kind[row]),
            });
        }
        Ok(())
    }

    fn threads(&mut self, table: &lines::Threads) -> Result<(), Problem> {
        let (count, from) = rows_of("threads", table.rows())?;
        let rows = &mut self.profile.rows;
        for row in 0..count {
            rows.threads.push(Thread {
                id: table.id[row],
                name: from.row("strings", rows.strings.len(), table.name[row])?,
            });
        }
        Ok(())
    }

    fn tasks(&mut self, table: &lines::Tasks) -> Result<(), Problem> {
        let (count, from) = rows_of("tasks", table.rows())?;
        let rows = &mut self.profile.rows;
        for row in 0..count {
            rows.tasks.push(Task {
                number: table.number[row],
                name: from.optional("strings", rows.strings.len(), table.name[row])?,
                starter: from.optional("tasks", rows.tasks.len(), table.starter[row])?,
                started_ns: table.started[row],
            });
        }
        Ok(())
    }

    fn labels(&mut self, sets: Vec<Vec<(u32, u32)>>) -> Result<(), Problem> {
        let from = From("labels");
        let rows = &mut self.profile.rows;
        let strings = rows.strings.len();
        for set in sets {
            let labels = set.into_iter().map(|(key, value)| {
                Ok(Label {
                    key: from.row("strings", strings, key)?,
                    value: from.row("strings", strings, value)?,
                })
            });
            rows.labels.push(labels.collect::<Result<_, Problem>>()?);
        }
        Ok(())
    }

    fn samples(&mut self, table: &lines::Samples) -> Result<(), Problem> {
        let (count, from) = rows_of("samples", table.rows())?;
        let rows = &mut self.profile.rows;
        rows.samples.reserve(count);
        for row in 0..count {
            let at = self.sampled_ns.checked_add(table.at[row]);
            let at = at.filter(|at| *at >= 0).ok_or(Problem::Time)?;
            self.sampled_ns = at;
            rows.samples.push(Sample {
                at_ns: at.unsigned_abs(),
                thread: from.row("threads", rows.threads.len(), table.thread[row])?,
                task: from.row("tasks", rows.tasks.len(), table.task[row])?,
                label: from.row("labels", rows.labels.len(), table.label[row])?,
                stack: from.optional("stacks", rows.stacks.len(), table.stack[row])?,
                weight_ns: table.weight[row],
            });
        }
        Ok(())
    }

    fn waits(&mut self, table: &lines::Waits) -> Result<(), Problem> {
        let (count, from) = rows_of("waits", table.rows())?;
        let rows = &mut self.profile.rows;
        let strings = rows.strings.len();
        for row in 0..count {
            let kind: StringIndex = from.row("strings", strings, table.kind[row])?;
            rows.waits.push(Wait {
                task: from.row("tasks", rows.tasks.len(), table.task[row])?,
                label: from.row("labels", rows.labels.len(), table.label[row])?,
                stack: from.optional("stacks", rows.stacks.len(), table.stack[row])?,
                from_ns: table.from[row],
                ready_ns: table.ready[row],
                resumed_ns: table.resumed[row],
                kind: WaitKind::of_word(&rows.strings[kind.row()]),
                on: from.optional("strings", strings, table.on[row])?,
                holder: from.optional("tasks", rows.tasks.len(), late(&table.holder, row))?,
                holder_stack: from.optional(
                    "stacks",
                    rows.stacks.len(),
                    late(&table.holder_stack, row),
                )?,
                weight: table.weight.get(row).copied().unwrap_or(1),
            });
        }
        Ok(())
    }

    fn allocations(&mut self, table: &lines::Allocations) -> Result<(), Problem> {
        let (count, from) = rows_of("allocations", table.rows())?;
        let rows = &mut self.profile.rows;
        let strings = rows.strings.len();
        for row in 0..count {
            rows.allocations.push(Allocation {
                at_ns: table.at[row],
                thread: from.row("threads", rows.threads.len(), table.thread[row])?,
                task: from.row("tasks", rows.tasks.len(), table.task[row])?,
                label: from.row("labels", rows.labels.len(), table.label[row])?,
                stack: from.optional("stacks", rows.stacks.len(), table.stack[row])?,
                type_name: from.row("strings", strings, table.type_name[row])?,
                size_bytes: table.size[row],
                weight_bytes: table.weight[row],
                reason: from.optional("strings", strings, table.reason[row])?,
                id: table.id[row],
            });
        }
        Ok(())
    }

    fn events(&mut self, table: &lines::Events) -> Result<(), Problem> {
        let (count, from) = rows_of("events", table.rows())?;
        let rows = &mut self.profile.rows;
        let strings = rows.strings.len();
        for row in 0..count {
            let kind: StringIndex = from.row("strings", strings, table.kind[row])?;
            rows.events.push(Event {
                at_ns: table.at[row],
                duration_ns: table.duration[row],
                thread: from.optional("threads", rows.threads.len(), table.thread[row])?,
                kind: EventKind::of_word(&rows.strings[kind.row()]),
                text: from.row("strings", strings, table.text[row])?,
                stack: from.optional("stacks", rows.stacks.len(), table.stack[row])?,
            });
        }
        Ok(())
    }

    fn counts(&mut self, table: &lines::Counts) -> Result<(), Problem> {
        let (count, from) = rows_of("counts", table.rows())?;
        let rows = &mut self.profile.rows;
        let functions = rows.functions.len();
        for row in 0..count {
            rows.counts.push(Count {
                caller: from.optional("functions", functions, table.caller[row])?,
                callee: from.row("functions", functions, table.callee[row])?,
                calls: table.calls[row],
                inclusive_ns: table.inclusive[row],
                exclusive_ns: table.exclusive[row],
                interpreted: table.interpreted[row],
                compiled: table.compiled[row],
                inlined: table.inlined[row],
            });
        }
        Ok(())
    }

    fn notes(&mut self, table: &lines::Notes) -> Result<(), Problem> {
        let (count, from) = rows_of("notes", table.rows())?;
        let rows = &mut self.profile.rows;
        for row in 0..count {
            rows.notes.push(Note {
                function: from.optional("functions", rows.functions.len(), table.function[row])?,
                line: table.line[row],
                text: from.row("strings", rows.strings.len(), table.text[row])?,
            });
        }
        Ok(())
    }
}
