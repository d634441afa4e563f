//! The report at the end of a run: code that was specialized, inlined, compiled and left, and why
//! other code was not.
//!
//! Exact: compiled code, its sizes and times, exits, entries at loops, pauses. Estimated: the share of
//! calls that run compiled or inlined. Counting calls would slow down what is being looked at, so the
//! calls that were logged while the program was interpreted are taken, each asked where it would go
//! now.

mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::time::Duration;

use canny_compiler::instruction::Instruction;
use canny_spesh::graph::EntryPoint;
use canny_spesh::planner::{Obstacle, Reason};
use canny_spesh::snapshot::CodeWord;
use canny_spesh::types::Type;
use canny_value::Value;

use super::ledger::{Account, Compiled, Pause, Place};
use super::worker::WorkerAccount;
use super::{CandidateId, ExitReport, RetiredBy, Specializer};
use crate::code::CodeRef;
use crate::{Thread, Vm};
use table::{Content, Table};

/// Rows of a table that are shown.
const ROWS_MAX: usize = 40;
/// Calls and iterations from which on a procedure that is not compiled is worth a line.
const HITS_MIN: u32 = 10;

impl Vm {
    /// Reports the specializer's actions so far, and its refusals, as text for people. The ledger
    /// must have been on from the start. Waits for the worker.
    pub fn specializer_report(&self) -> String {
        self.report().text()
    }

    fn report(&self) -> Report<'_> {
        let worker = self.log_worker.account();
        let specializer = self.specializer();
        let account = specializer.ledger().account();
        let exits = account
            .compiled
            .iter()
            .filter_map(|compiled| Some((compiled.id, specializer.exit_report(compiled.id)?)))
            .collect();
        Report {
            is_enabled: specializer.is_enabled(),
            worker,
            account,
            exits,
            pauses: specializer.ledger().pauses(),
            specializer: Some(specializer),
        }
    }
}

impl Thread {
    /// Why no call of a procedure enters compiled code, as far as the ledger knows.
    pub fn why_not_compiled(&self, procedure: Value) -> String {
        let Some(code) = CodeRef::of_closure(procedure) else {
            return "it has no bytecode".to_owned();
        };
        let code = CodeWord(code.word());
        let report = self.vm.report();
        if !report.is_enabled {
            return "the specializer is off".to_owned();
        }
        let codes = report.worker.iter().flat_map(|worker| &worker.codes);
        match codes.into_iter().find(|seen| seen.code == code) {
            Some(seen) => report.why_not(code, seen.obstacle.as_ref()),
            None => "not hot enough: no call of it was logged".to_owned(),
        }
    }
}

/// Something that the specializer knows about a place.
pub(crate) struct SpecializerNote {
    pub(crate) place: Place,
    /// Word index of an instruction there, if it is about one.
    pub(crate) pc: Option<usize>,
    pub(crate) text: String,
}

/// Code that was put into use.
pub(crate) struct Compilation {
    pub(crate) title: String,
    pub(crate) at: std::time::Instant,
    pub(crate) time: Duration,
}

impl Vm {
    /// The notes of a profile about code: where compiled code was left, what was not compiled, and when code
    /// was compiled. The ledger must have been on.
    pub(crate) fn specializer_notes(&self) -> (Vec<SpecializerNote>, Vec<Compilation>) {
        let report = self.report();
        let compilations = report.account.compiled.iter().map(|compiled| Compilation {
            title: format!("{} for {}", report.title(compiled), types_text(compiled)),
            at: compiled.at,
            time: compiled.time,
        });
        let compilations = compilations.collect();
        (report.notes(), compilations)
    }
}

struct Report<'a> {
    is_enabled: bool,
    worker: Option<WorkerAccount>,
    account: Account,
    exits: HashMap<CandidateId, ExitReport>,
    pauses: Vec<Pause>,
    /// Where instructions are looked up.
    specializer: Option<&'a Specializer>,
}

/// Where logged calls would go now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shares {
    logged: u64,
    inlined: u64,
    compiled: u64,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut text = String::from("Specializer report\n\n");
        let none = match &self.worker {
            _ if !self.is_enabled => Some("The specializer is off: everything was interpreted."),
            None => {
                Some("The program ended before it had filled a log: everything was interpreted.")
            }
            Some(worker) if worker.is_off => Some("An internal error turned the specializer off."),
            Some(_) => None,
        };
        if let Some(none) = none {
            let _ = writeln!(text, "  {none}");
            self.write_memory(&mut text);
        }
        if self.is_enabled && self.worker.is_some() {
            self.write_summary(&mut text);
            self.write_section(&mut text, "Compiled", self.compiled_table());
            self.write_section(&mut text, "Inlined", self.inlined_table());
            self.write_section(&mut text, "Side exits", self.exits_table());
            self.write_section(&mut text, "Not compiled", self.missing_table());
            self.write_section(
                &mut text,
                "The program waited for the specializer",
                self.pauses_table(),
            );
        }
        text
    }

    fn write_section(&self, text: &mut String, title: &str, table: Table) {
        if table.is_empty() {
            let _ = writeln!(text, "\n{title}: nothing");
        } else {
            let _ = write!(text, "\n{title}\n{}", table.text(ROWS_MAX));
        }
    }

    fn is_live(&self, compiled: &Compiled) -> bool {
        self.exits
            .get(&compiled.id)
            .is_some_and(|exits| !exits.is_retired)
    }

    fn live(&self) -> impl Iterator<Item = &Compiled> {
        self.account
            .compiled
            .iter()
            .filter(|compiled| self.is_live(compiled))
    }

    fn write_summary(&self, text: &mut String) {
        let all = &self.account.compiled;
        let starts = all
            .iter()
            .filter(|it| it.entry == EntryPoint::Start)
            .count();
        let retired = all.len() - self.live().count();
        let inlined: usize = all.iter().map(|compiled| compiled.inlined.len()).sum();
        let _ = writeln!(
            text,
            "  compiled     {}, {}; {} in them inlined; {retired} retired",
            counted(starts, "procedure"),
            counted(all.len() - starts, "loop"),
            counted(inlined, "call"),
        );
        let bytes: usize = all.iter().map(|compiled| compiled.code_bytes).sum();
        let descriptors: usize = all.iter().map(|compiled| compiled.descriptor_bytes).sum();
        let segments: usize = all.iter().map(|compiled| compiled.segments).sum();
        let _ = writeln!(
            text,
            "  code         {} of machine code in {}, {} of descriptors",
            bytes_text(bytes),
            counted(segments, "segment"),
            bytes_text(descriptors)
        );
        self.write_memory(text);
        let refused = self.account.refused.iter().map(|refused| refused.time);
        let times: Vec<Duration> = all.iter().map(|it| it.time).chain(refused).collect();
        let _ = writeln!(
            text,
            "  compiling    {} in all, {} the longest, beside the program; {}, {} without code",
            time_text(times.iter().sum()),
            time_text(times.iter().max().copied().unwrap_or_default()),
            counted(
                self.worker
                    .as_ref()
                    .map_or(0, |worker| worker.logs as usize),
                "log"
            ),
            counted(self.account.refused.len(), "plan"),
        );
        let waited: Duration = self.pauses.iter().map(|pause| pause.total).sum();
        let longest = self.pauses.iter().map(|pause| pause.max).max();
        let _ = writeln!(
            text,
            "  waiting      {} in all, {} the longest, of the program for the specializer",
            time_text(waited),
            time_text(longest.unwrap_or_default())
        );
        if let Some(shares) = self.shares().filter(|shares| shares.logged > 0) {
            let percent = |part: u64| part as f64 * 100.0 / shares.logged.max(1) as f64;
            let _ = writeln!(
                text,
                "  calls        {:.1} % inlined, {:.1} % compiled, {:.1} % interpreted (estimate: where the \
                 {} logged \
                 calls would go",
                percent(shares.inlined),
                percent(shares.compiled),
                percent(shares.logged - shares.inlined - shares.compiled),
                shares.logged
            );
            let _ = writeln!(
                text,
                "               now; calls between compiled code are not logged)"
            );
        }
        if self.account.dropped > 0 {
            let _ = writeln!(
                text,
                "  left out     {}",
                counted(self.account.dropped, "record")
            );
        }
    }

    /// Writes the memory that machine code takes and took, if there ever was any.
    fn write_memory(&self, text: &mut String) {
        let usage = self.specializer.map(Specializer::code_usage);
        if let Some(usage) = usage.filter(|usage| usage.bytes + usage.freed_bytes > 0) {
            let _ = writeln!(
                text,
                "  memory       {} of both now, {} of that retired and not freed yet; {} freed in {}",
                bytes_text(usage.bytes),
                bytes_text(usage.retired_bytes),
                bytes_text(usage.freed_bytes),
                counted(usage.freed, "piece"),
            );
        }
    }

    /// Where the logged calls would go now.
    fn shares(&self) -> Option<Shares> {
        let worker = self.worker.as_ref()?;
        let inlined: HashSet<(CodeWord, usize, CodeWord)> = self
            .live()
            .flat_map(|compiled| &compiled.inlined)
            .filter_map(|call| {
                let (caller, pc) = call.caller?;
                Some((caller, pc, call.callee))
            })
            .collect();
        let entered: HashSet<CodeWord> = self
            .live()
            .filter(|compiled| compiled.entry == EntryPoint::Start)
            .map(|compiled| compiled.code)
            .collect();
        let mut inlined_calls: HashMap<CodeWord, u64> = HashMap::new();
        for (caller, pc, callee, count) in &worker.calls {
            if inlined.contains(&(*caller, *pc, *callee)) {
                *inlined_calls.entry(*callee).or_default() += u64::from(*count);
            }
        }
        let mut shares = Shares::default();
        for seen in &worker.codes {
            let hits = u64::from(seen.hits);
            let inlined = inlined_calls
                .get(&seen.code)
                .copied()
                .unwrap_or(0)
                .min(hits);
            shares.logged += hits;
            shares.inlined += inlined;
            if entered.contains(&seen.code) {
                shares.compiled += hits - inlined;
            }
        }
        Some(shares)
    }

    fn compiled_table(&self) -> Table {
        let mut table = Table::new(&[
            ("procedure", Content::Words),
            ("where", Content::Place),
            ("for", Content::Words),
            ("seen", Content::Number),
            ("bytes", Content::Number),
            ("inlined", Content::Number),
            ("time", Content::Number),
            ("exits", Content::Number),
            ("now", Content::Words),
        ]);
        let mut all: Vec<&Compiled> = self.account.compiled.iter().collect();
        let hits = |compiled: &Compiled| compiled.plan.as_ref().map_or(0, |plan| plan.hits);
        all.sort_by_key(|compiled| (!self.is_live(compiled), std::cmp::Reverse(hits(compiled))));
        for compiled in all {
            let exits = self.exits.get(&compiled.id);
            let taken: u64 = exits
                .iter()
                .flat_map(|report| &report.exits)
                .map(|(_, _, count)| u64::from(*count))
                .sum();
            table.add(vec![
                self.title(compiled),
                self.place_of(compiled),
                types_text(compiled),
                hits(compiled).to_string(),
                compiled.code_bytes.to_string(),
                compiled.inlined.len().to_string(),
                time_text(compiled.time),
                taken.to_string(),
                exits.map_or(String::new(), |exits| state_text(compiled, exits)),
            ]);
        }
        table
    }

    fn title(&self, compiled: &Compiled) -> String {
        let place = compiled.places.get(&compiled.code);
        let name = place.map_or("?".to_owned(), Place::name);
        match compiled.entry {
            EntryPoint::Start => name,
            EntryPoint::Loop(_) => format!("loop in {name}"),
        }
    }

    fn place_of(&self, compiled: &Compiled) -> String {
        let Some(place) = compiled.places.get(&compiled.code) else {
            return String::new();
        };
        match compiled.entry {
            EntryPoint::Start => place.definition(),
            EntryPoint::Loop(pc) => place.of_loop(pc),
        }
    }

    fn inlined_table(&self) -> Table {
        let mut table = Table::new(&[
            ("procedure", Content::Words),
            ("where", Content::Place),
            ("into", Content::Words),
            ("calls", Content::Number),
            ("at", Content::Place),
        ]);
        for compiled in self.live() {
            let mut by_callee: BTreeMap<CodeWord, Vec<Option<String>>> = BTreeMap::new();
            for call in &compiled.inlined {
                let at = call.caller.and_then(|(caller, pc)| {
                    let place = compiled.places.get(&caller)?;
                    Some(place.instruction(pc))
                });
                by_callee.entry(call.callee).or_default().push(at);
            }
            for (callee, calls) in by_callee {
                let place = compiled.places.get(&callee);
                let count = calls.len();
                let mut places: Vec<String> = calls.into_iter().flatten().collect();
                places.sort();
                places.dedup();
                table.add(vec![
                    place.map_or("?".to_owned(), Place::name),
                    place.map_or(String::new(), Place::definition),
                    self.title(compiled),
                    count.to_string(),
                    places.join(", "),
                ]);
            }
        }
        table
    }

    fn exits_table(&self) -> Table {
        let mut table = Table::new(&[
            ("times", Content::Number),
            ("where", Content::Place),
            ("because of", Content::Words),
            ("in", Content::Words),
            ("which is", Content::Words),
        ]);
        let mut sums: BTreeMap<[String; 4], u64> = BTreeMap::new();
        for compiled in &self.account.compiled {
            let Some(report) = self.exits.get(&compiled.id) else {
                continue;
            };
            for (code, pc, count) in &report.exits {
                let place = compiled.places.get(code).or(self.account.places.get(code));
                let row = [
                    place.map_or("?".to_owned(), |place| place.instruction(*pc)),
                    self.reason(*code, *pc),
                    self.title(compiled),
                    state_text(compiled, report),
                ];
                *sums.entry(row).or_default() += u64::from(*count);
            }
        }
        let mut rows: Vec<_> = sums.into_iter().collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (row, count) in rows {
            table.add(std::iter::once(count.to_string()).chain(row).collect());
        }
        table
    }

    /// The lines of the tables of exits and of missing code, as sentences.
    fn notes(&self) -> Vec<SpecializerNote> {
        let mut notes = Vec::new();
        for compiled in &self.account.compiled {
            let Some(report) = self.exits.get(&compiled.id) else {
                continue;
            };
            for (code, pc, count) in &report.exits {
                let place = compiled.places.get(code).or(self.account.places.get(code));
                if let Some(place) = place {
                    notes.push(SpecializerNote {
                        place: place.clone(),
                        pc: Some(*pc),
                        text: format!(
                            "compiled code was left {} here, because of {}; {}",
                            counted(*count as usize, "time"),
                            self.reason(*code, *pc),
                            state_text(compiled, report)
                        ),
                    });
                }
            }
        }
        let compiled: HashSet<CodeWord> = self.live().map(|compiled| compiled.code).collect();
        let seen = self.worker.iter().flat_map(|worker| &worker.codes);
        for seen in seen.filter(|seen| !compiled.contains(&seen.code)) {
            if let Some(place) = self.account.places.get(&seen.code) {
                let why = self.why_not(seen.code, seen.obstacle.as_ref());
                notes.push(SpecializerNote {
                    place: place.clone(),
                    pc: None,
                    text: format!("calls of it run interpreted: {why}"),
                });
            }
        }
        for refused in &self.account.refused {
            let mut all = self.account.compiled.iter();
            if all.any(|it| (it.code, it.entry) == (refused.code, refused.entry)) {
                // It was tried again.
                continue;
            }
            if let EntryPoint::Loop(pc) = refused.entry
                && let Some(place) = self.account.places.get(&refused.code)
            {
                notes.push(SpecializerNote {
                    place: place.clone(),
                    pc: Some(pc),
                    text: format!("a loop runs interpreted: {}", refused.why),
                });
            }
        }
        notes
    }

    /// The instruction that compiled code left at, and the types that it met there.
    fn reason(&self, code: CodeWord, pc: usize) -> String {
        let Some(specializer) = self.specializer else {
            return String::new();
        };
        let snapshot = specializer.lock().snapshot(code);
        let name = snapshot.map_or("?", |snapshot| {
            Instruction::decode(&snapshot.instructions, pc)
                .map_or("?", |instruction| instruction.opcode.row().name)
        });
        let operands = specializer.failed_operands(code, pc);
        match operands {
            Type::NONE => name.to_owned(),
            operands => format!("{name} of {operands}"),
        }
    }

    fn missing_table(&self) -> Table {
        let mut table = Table::new(&[
            ("calls", Content::Number),
            ("iterations", Content::Number),
            ("procedure", Content::Words),
            ("where", Content::Place),
            ("why", Content::Words),
        ]);
        let Some(worker) = &self.worker else {
            return table;
        };
        let compiled: HashSet<CodeWord> = self.live().map(|compiled| compiled.code).collect();
        let mut missing: Vec<_> = worker
            .codes
            .iter()
            .filter(|seen| seen.hits.saturating_add(seen.loop_hits) >= HITS_MIN)
            .filter(|seen| !compiled.contains(&seen.code))
            .collect();
        missing.sort_by_key(|seen| {
            let hits = seen.hits.saturating_add(seen.loop_hits);
            (std::cmp::Reverse(hits), seen.code)
        });
        for seen in missing {
            let place = self.account.places.get(&seen.code);
            table.add(vec![
                seen.hits.to_string(),
                seen.loop_hits.to_string(),
                place.map_or("?".to_owned(), Place::name),
                place.map_or(String::new(), Place::definition),
                self.why_not(seen.code, seen.obstacle.as_ref()),
            ]);
        }
        self.add_refused_loops(&mut table);
        table
    }

    /// Loops whose plans led to nothing.
    fn add_refused_loops(&self, table: &mut Table) {
        let mut told = HashSet::new();
        for refused in self.account.refused.iter().rev() {
            let EntryPoint::Loop(pc) = refused.entry else {
                continue;
            };
            // Retired code has its line in the section of compiled code.
            let mut compiled = self.account.compiled.iter();
            let is_compiled =
                compiled.any(|it| (it.code, it.entry) == (refused.code, refused.entry));
            if is_compiled || !told.insert((refused.code, pc)) {
                continue;
            }
            let place = self.account.places.get(&refused.code);
            table.add(vec![
                String::new(),
                String::new(),
                format!("loop in {}", place.map_or("?".to_owned(), Place::name)),
                place.map_or(String::new(), |place| place.of_loop(pc)),
                refused.why.clone(),
            ]);
        }
    }

    /// Why a code is not compiled.
    fn why_not(&self, code: CodeWord, obstacle: Option<&Obstacle>) -> String {
        let own = || {
            let compiled = self.account.compiled.iter();
            compiled.filter(move |compiled| compiled.code == code)
        };
        let refused = self.account.refused.iter();
        let refused = refused
            .filter(|refused| refused.entry == EntryPoint::Start)
            .rfind(|refused| refused.code == code);
        let retired = own().rfind(|compiled| !self.is_live(compiled));
        let is_inlined = self
            .live()
            .any(|compiled| compiled.inlined.iter().any(|call| call.callee == code));
        match (obstacle, retired, refused) {
            (Some(Obstacle::ExitedTooOften { .. } | Obstacle::TooLarge { .. }), ..) => {
                obstacle.map_or(String::new(), Obstacle::to_string)
            }
            (_, Some(compiled), _) => {
                let report = self.exits.get(&compiled.id);
                let why = report.map_or(String::new(), why_retired);
                match obstacle {
                    Some(Obstacle::NotHot { .. }) => {
                        format!("{why}; since then {}", show(obstacle))
                    }
                    _ => why,
                }
            }
            (_, _, Some(refused)) => refused.why.clone(),
            _ if is_inlined => {
                format!("its calls are inlined where it matters; {}", show(obstacle))
            }
            _ => show(obstacle),
        }
    }

    fn pauses_table(&self) -> Table {
        let mut table = Table::new(&[
            ("for", Content::Words),
            ("times", Content::Number),
            ("in all", Content::Number),
            ("longest", Content::Number),
            ("processor", Content::Number),
        ]);
        for pause in self.pauses.iter().filter(|pause| pause.count > 0) {
            table.add(vec![
                pause.cause.name().to_owned(),
                pause.count.to_string(),
                time_text(pause.total),
                time_text(pause.max),
                pause.processor_max.map_or(String::new(), time_text),
            ]);
        }
        table
    }
}

fn show(obstacle: Option<&Obstacle>) -> String {
    obstacle.map_or("not hot enough".to_owned(), Obstacle::to_string)
}

/// The fate of compiled code, in words.
fn state_text(compiled: &Compiled, exits: &ExitReport) -> String {
    match exits.retired_by {
        _ if !exits.is_retired => match compiled.entry {
            EntryPoint::Start => "in use".to_owned(),
            EntryPoint::Loop(_) => format!("entered {}×", exits.loop_entries),
        },
        Some(RetiredBy::Exits) => "retired (guards)".to_owned(),
        Some(RetiredBy::Variable) => "retired (variable)".to_owned(),
        Some(RetiredBy::Death) => "freed with its procedure".to_owned(),
        Some(RetiredBy::Request) | None => "retired".to_owned(),
    }
}

/// The same in more words.
fn why_retired(exits: &ExitReport) -> String {
    match exits.retired_by {
        Some(RetiredBy::Exits) => "retired, its guards failed too often",
        Some(RetiredBy::Variable) => "retired, a global variable that it relied on changed",
        Some(RetiredBy::Death) => "freed, the procedure is garbage",
        Some(RetiredBy::Request) | None => "retired",
    }
    .to_owned()
}

/// The types that code was compiled for.
fn types_text(compiled: &Compiled) -> String {
    let Some(plan) = &compiled.plan else {
        return String::new();
    };
    if plan.reason == Reason::Loop {
        let known = plan.parameter_types.iter().enumerate();
        let known: Vec<String> = known
            .filter(|(_, ty)| **ty != Type::ANY)
            .map(|(register, ty)| format!("r{register} {ty}"))
            .collect();
        return known.join(", ");
    }
    if compiled.arity == 0 {
        return "no arguments".to_owned();
    }
    if plan.parameter_types.is_empty() {
        return "any arguments".to_owned();
    }
    let types: Vec<String> = plan.parameter_types.iter().map(Type::to_string).collect();
    types.join(", ")
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

fn bytes_text(bytes: usize) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        _ => format!("{:.1} kB", bytes as f64 / 1e3),
    }
}

fn time_text(time: Duration) -> String {
    let microseconds = time.as_nanos() as f64 / 1e3;
    match microseconds {
        0.0..999.5 => format!("{microseconds:.1} us"),
        _ => format!("{:.2} ms", microseconds / 1e3),
    }
}
