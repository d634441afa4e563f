//! Lines from rows, as the rows become known.
//!
//! A line has [`ROWS_MAX`] rows at most: a killed program loses little, and a reader needs little
//! memory for a line. Kinds of waits and of events are strings of the file. A builder need not have
//! them among its strings; the writer adds them ([`Words`]).

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use crate::model::{Builder, EventKind, Header, Profile, Rows, StringIndex, WaitKind};

/// Rows of a line.
const ROWS_MAX: usize = 4096;

/// The numbers of strings in the file.
///
/// The words of kinds are written between the strings of the builder, whenever one is first needed.
/// So a string of the builder has a number in the file that is larger by the words before it.
#[derive(Debug, Default)]
struct Words {
    /// The number in the file for each string of the builder.
    numbers: Vec<u32>,
    words: HashMap<&'static str, u32>,
    /// Strings in the file.
    written: u32,
}

impl Words {
    fn number(&self, index: StringIndex) -> u32 {
        // A string that was never given to the writer has no number; the reader will say so.
        self.numbers.get(index.row()).copied().unwrap_or(u32::MAX)
    }

    fn word(&self, word: &str) -> u32 {
        self.words.get(word).copied().unwrap_or(u32::MAX)
    }
}

/// Writes a profile while it grows.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    line: Vec<u8>,
    words: Words,
    sampled_ns: u64,
}

/// Writes a whole profile.
///
/// # Errors
/// Those of the output.
pub fn write<W: Write>(output: W, profile: &Profile) -> io::Result<W> {
    let mut writer = Writer::new(output, &profile.header)?;
    writer.rows(&profile.rows)?;
    writer.lost(profile.lost)?;
    match profile.end_ns {
        Some(end_ns) => writer.finish(end_ns),
        None => Ok(writer.output),
    }
}

impl<W: Write> Writer<W> {
    /// Writes the first line.
    ///
    /// # Errors
    /// Those of the output, as for all other operations.
    pub fn new(output: W, header: &Header) -> io::Result<Writer<W>> {
        let mut writer = Writer {
            output,
            line: Vec::new(),
            words: Words::default(),
            sampled_ns: 0,
        };
        writer.header(header)?;
        Ok(writer)
    }

    /// Writes the new rows of a builder and makes them readable for others.
    ///
    /// A machine that must not hold its builder for so long takes the rows itself.
    pub fn flush(&mut self, builder: &mut Builder) -> io::Result<()> {
        self.rows(&builder.take())?;
        self.output.flush()
    }

    /// Writes the rows that follow on those of the last call.
    pub fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.strings(rows)?;
        self.tables(rows)?;
        self.measurements(rows)
    }

    /// Notes that so many samples could not be kept.
    pub fn lost(&mut self, samples: u64) -> io::Result<()> {
        if samples == 0 {
            return Ok(());
        }
        writeln!(self.output, "{{\"lost\":{samples}}}")
    }

    /// Writes the last line and flushes.
    pub fn finish(mut self, end_ns: u64) -> io::Result<W> {
        writeln!(self.output, "{{\"end\":{end_ns}}}")?;
        self.output.flush()?;
        Ok(self.output)
    }

    fn header(&mut self, header: &Header) -> io::Result<()> {
        let line = serde_json::json!({
            "profile": 1,
            "program": header.program,
            "arguments": header.arguments,
            "canny": header.canny,
            "pid": header.pid,
            "started": header.started_ns,
            "interval": header.interval_ns,
            "allocation_interval": header.allocation_interval_bytes,
            "modes": header.modes.iter().map(|mode| mode.word()).collect::<Vec<_>>(),
        });
        writeln!(self.output, "{line}")
    }

    fn strings(&mut self, rows: &Rows) -> io::Result<()> {
        let mut new: Vec<&str> = Vec::new();
        for text in &rows.strings {
            self.words.numbers.push(self.words.written);
            if let Some(word) = word_of_kind(text) {
                self.words.words.entry(word).or_insert(self.words.written);
            }
            self.words.written += 1;
            new.push(Arc::as_ref(text));
        }
        let waits = rows.waits.iter().map(|wait| wait.kind.word());
        let events = rows.events.iter().map(|event| event.kind.word());
        for word in waits.chain(events) {
            if !self.words.words.contains_key(word) {
                self.words.words.insert(word, self.words.written);
                self.words.written += 1;
                new.push(word);
            }
        }
        for some in new.chunks(ROWS_MAX) {
            self.output.write_all(b"{\"strings\":")?;
            serde_json::to_writer(&mut self.output, some)?;
            self.output.write_all(b"}\n")?;
        }
        Ok(())
    }

    /// The tables that others refer to.
    fn tables(&mut self, rows: &Rows) -> io::Result<()> {
        let Writer {
            output,
            line,
            words,
            ..
        } = self;
        for some in rows.functions.chunks(ROWS_MAX) {
            let mut table = Table::new("functions", line);
            table.column("name", some, |row| words.number(row.name));
            table.optional("file", some, |row| row.file.map(|file| words.number(file)));
            table.column("line", some, |row| row.line);
            table.column("group", some, |row| row.group.number());
            table.end(output)?;
        }
        for some in rows.frames.chunks(ROWS_MAX) {
            let mut table = Table::new("frames", line);
            table.column("function", some, |row| row.function.number());
            table.column("line", some, |row| row.line);
            table.column("column", some, |row| row.column);
            table.column("tier", some, |row| row.tier.number());
            table.column("tail", some, |row| u8::from(row.is_tail));
            table.end(output)?;
        }
        for some in rows.stacks.chunks(ROWS_MAX) {
            let mut table = Table::new("stacks", line);
            table.optional("parent", some, |row| {
                row.parent.map(|parent| parent.number())
            });
            table.column("frame", some, |row| row.frame.number());
            table.column("kind", some, |row| row.kind.number());
            table.end(output)?;
        }
        for some in rows.threads.chunks(ROWS_MAX) {
            let mut table = Table::new("threads", line);
            table.column("id", some, |row| row.id);
            table.column("name", some, |row| words.number(row.name));
            table.end(output)?;
        }
        for some in rows.tasks.chunks(ROWS_MAX) {
            let mut table = Table::new("tasks", line);
            table.column("number", some, |row| row.number);
            table.optional("name", some, |row| row.name.map(|name| words.number(name)));
            table.optional("starter", some, |row| row.starter.map(|task| task.number()));
            table.column("started", some, |row| row.started_ns);
            table.end(output)?;
        }
        for some in rows.labels.chunks(ROWS_MAX) {
            let sets = some.iter().map(|set| {
                let pairs = set.iter();
                let pairs = pairs.map(|label| (words.number(label.key), words.number(label.value)));
                pairs.collect::<Vec<(u32, u32)>>()
            });
            output.write_all(b"{\"labels\":")?;
            serde_json::to_writer(&mut *output, &sets.collect::<Vec<_>>())?;
            output.write_all(b"}\n")?;
        }
        Ok(())
    }

    /// The tables that refer to others.
    fn measurements(&mut self, rows: &Rows) -> io::Result<()> {
        self.samples(rows)?;
        self.waits_and_allocations(rows)?;
        let Writer {
            output,
            line,
            words,
            ..
        } = self;
        for some in rows.events.chunks(ROWS_MAX) {
            let mut table = Table::new("events", line);
            table.column("at", some, |row| row.at_ns);
            table.column("duration", some, |row| row.duration_ns);
            table.optional("thread", some, |row| {
                row.thread.map(|thread| thread.number())
            });
            table.column("kind", some, |row| words.word(row.kind.word()));
            table.column("text", some, |row| words.number(row.text));
            table.optional("stack", some, |row| row.stack.map(|stack| stack.number()));
            table.end(output)?;
        }
        for some in rows.counts.chunks(ROWS_MAX) {
            let mut table = Table::new("counts", line);
            table.optional("caller", some, |row| {
                row.caller.map(|caller| caller.number())
            });
            table.column("callee", some, |row| row.callee.number());
            table.column("calls", some, |row| row.calls);
            table.column("inclusive", some, |row| row.inclusive_ns);
            table.column("exclusive", some, |row| row.exclusive_ns);
            table.column("interpreted", some, |row| row.interpreted);
            table.column("compiled", some, |row| row.compiled);
            table.column("inlined", some, |row| row.inlined);
            table.end(output)?;
        }
        for some in rows.notes.chunks(ROWS_MAX) {
            let mut table = Table::new("notes", line);
            table.optional("function", some, |row| row.function.map(|one| one.number()));
            table.column("line", some, |row| row.line);
            table.column("text", some, |row| words.number(row.text));
            table.end(output)?;
        }
        Ok(())
    }

    fn samples(&mut self, rows: &Rows) -> io::Result<()> {
        for some in rows.samples.chunks(ROWS_MAX) {
            let mut before = self.sampled_ns;
            let mut table = Table::new("samples", &mut self.line);
            table.name("at");
            for sample in some {
                // Files have 63 bits for a time, three centuries.
                let at = sample.at_ns.min(i64::MAX.unsigned_abs());
                table.difference(before, at);
                before = at;
            }
            table.end_column();
            table.column("thread", some, |row| row.thread.number());
            table.column("task", some, |row| row.task.number());
            table.column("label", some, |row| row.label.number());
            table.optional("stack", some, |row| row.stack.map(|stack| stack.number()));
            table.column("weight", some, |row| row.weight_ns);
            table.end(&mut self.output)?;
            self.sampled_ns = before;
        }
        Ok(())
    }

    fn waits_and_allocations(&mut self, rows: &Rows) -> io::Result<()> {
        let Writer {
            output,
            line,
            words,
            ..
        } = self;
        for some in rows.waits.chunks(ROWS_MAX) {
            let mut table = Table::new("waits", line);
            table.column("task", some, |row| row.task.number());
            table.column("label", some, |row| row.label.number());
            table.optional("stack", some, |row| row.stack.map(|stack| stack.number()));
            table.column("from", some, |row| row.from_ns);
            table.column("ready", some, |row| row.ready_ns);
            table.column("resumed", some, |row| row.resumed_ns);
            table.column("kind", some, |row| words.word(row.kind.word()));
            table.optional("on", some, |row| row.on.map(|on| words.number(on)));
            table.optional("holder", some, |row| {
                row.holder.map(|holder| holder.number())
            });
            table.optional("holder_stack", some, |row| {
                row.holder_stack.map(|stack| stack.number())
            });
            table.column("weight", some, |row| row.weight);
            table.end(output)?;
        }
        for some in rows.allocations.chunks(ROWS_MAX) {
            let mut table = Table::new("allocations", line);
            table.column("at", some, |row| row.at_ns);
            table.column("thread", some, |row| row.thread.number());
            table.column("task", some, |row| row.task.number());
            table.column("label", some, |row| row.label.number());
            table.optional("stack", some, |row| row.stack.map(|stack| stack.number()));
            table.column("type", some, |row| words.number(row.type_name));
            table.column("size", some, |row| row.size_bytes);
            table.column("weight", some, |row| row.weight_bytes);
            table.optional("reason", some, |row| {
                row.reason.map(|one| words.number(one))
            });
            table.column("id", some, |row| row.id);
            table.end(output)?;
        }
        for some in rows.freed.chunks(ROWS_MAX) {
            output.write_all(b"{\"freed\":")?;
            serde_json::to_writer(&mut *output, some)?;
            output.write_all(b"}\n")?;
        }
        Ok(())
    }
}

/// The word of a kind that a text is.
fn word_of_kind(text: &str) -> Option<&'static str> {
    let waits = WaitKind::ALL.iter().map(|kind| kind.word());
    let events = EventKind::ALL.iter().map(|kind| kind.word());
    waits.chain(events).find(|word| *word == text)
}

/// A line of columns, written to a buffer first.
struct Table<'line> {
    line: &'line mut Vec<u8>,
    /// A comma stands before the next column or value.
    has_before: bool,
}

impl<'line> Table<'line> {
    fn new(name: &str, line: &'line mut Vec<u8>) -> Table<'line> {
        line.clear();
        line.extend_from_slice(b"{\"");
        line.extend_from_slice(name.as_bytes());
        line.extend_from_slice(b"\":{");
        Table {
            line,
            has_before: false,
        }
    }

    fn comma(&mut self) {
        if self.has_before {
            self.line.push(b',');
        }
        self.has_before = true;
    }

    fn name(&mut self, name: &str) {
        self.comma();
        self.line.push(b'"');
        self.line.extend_from_slice(name.as_bytes());
        self.line.extend_from_slice(b"\":[");
        self.has_before = false;
    }

    fn end_column(&mut self) {
        self.line.push(b']');
        self.has_before = true;
    }

    fn column<R, N: Into<u64>>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> N) {
        self.name(name);
        for row in rows {
            self.comma();
            decimal(self.line, value(row).into());
        }
        self.end_column();
    }

    fn optional<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> Option<u32>) {
        self.name(name);
        for row in rows {
            self.comma();
            match value(row) {
                Some(number) => decimal(self.line, u64::from(number)),
                None => self.line.extend_from_slice(b"null"),
            }
        }
        self.end_column();
    }

    fn difference(&mut self, before: u64, now: u64) {
        self.comma();
        if now < before {
            self.line.push(b'-');
        }
        decimal(self.line, now.abs_diff(before));
    }

    fn end<W: Write>(self, output: &mut W) -> io::Result<()> {
        self.line.extend_from_slice(b"}}\n");
        output.write_all(self.line)
    }
}

/// The digits of a number.
fn decimal(line: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[start..]);
}
