//! Statistics and plans as text for people, for `CANNY_SPESH_LOG`.
//!
//! The layout resembles the log of MoarVM's spesh: by code, by callsite, by type tuple. Graphs have
//! a text of their own in `graph::display`.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use canny_compiler::instruction::Instruction;

use crate::graph::EntryPoint;
use crate::planner::{Plan, Reason};
use crate::snapshot::{CodeSnapshot, CodeSource, CodeWord, PoolItem};
use crate::statistics::{CodeStatistics, Histogram, SiteStatistics, Sites, Statistics};
use crate::types::Type;

/// Instructions of one type tuple that are shown. Code may have a hundred thousand, and each log names them.
const SITES_MAX: usize = 200;

/// The line between the parts.
const RULE: &str = "==========\n\n";

/// Describes the statistics of these codes, those with the most hits first.
pub fn statistics_text(
    statistics: &Statistics,
    codes: impl IntoIterator<Item = CodeWord>,
    source: &dyn CodeSource,
) -> String {
    let mut found: Vec<(CodeWord, &CodeStatistics)> = codes
        .into_iter()
        .filter_map(|code| statistics.code(code).map(|of_code| (code, of_code)))
        .collect();
    found.sort_by_key(|(code, of_code)| {
        let hits = of_code.hits.saturating_add(of_code.loop_hits);
        (std::cmp::Reverse(hits), *code)
    });
    let mut text = String::new();
    for (code, of_code) in found {
        // Writing to a string does not fail.
        let _ = write_code(&mut text, code, of_code, source);
        text.push_str(RULE);
    }
    text
}

/// A plan.
pub fn plan_text(plan: &Plan, source: &dyn CodeSource) -> String {
    let mut text = String::new();
    let _ = write_plan(&mut text, plan, source);
    text.push_str(RULE);
    text
}

/// How people know a code.
pub fn code_title(code: CodeWord, source: &dyn CodeSource) -> String {
    match source.snapshot(code) {
        Some(snapshot) => format!(
            "'{}' (code {:#x}, {} words)",
            shown_name(&snapshot),
            code.0,
            snapshot.instructions.len()
        ),
        None => format!("code {:#x} (cold)", code.0),
    }
}

fn shown_name(snapshot: &CodeSnapshot) -> &str {
    if snapshot.name.is_empty() {
        "anonymous"
    } else {
        &snapshot.name
    }
}

fn short_title(code: CodeWord, source: &dyn CodeSource) -> String {
    match source.snapshot(code) {
        Some(snapshot) => format!("'{}' ({:#x})", shown_name(&snapshot), code.0),
        None => format!("{:#x}", code.0),
    }
}

fn write_code(
    out: &mut String,
    code: CodeWord,
    statistics: &CodeStatistics,
    source: &dyn CodeSource,
) -> fmt::Result {
    let snapshot = source.snapshot(code);
    let site_writer = SiteWriter {
        statistics,
        snapshot: snapshot.as_deref(),
        source,
    };
    writeln!(out, "Latest statistics for {}\n", code_title(code, source))?;
    writeln!(out, "Total hits: {}", statistics.hits)?;
    if statistics.loop_hits > 0 {
        writeln!(out, "Loop hits: {}", statistics.loop_hits)?;
    }
    out.push('\n');
    for callsite in &statistics.callsites {
        writeln!(
            out,
            "Callsite of {}\n",
            arguments(callsite.argument_count.into())
        )?;
        writeln!(out, "    Callsite hits: {}\n", callsite.hits)?;
        if callsite.loop_hits > 0 {
            writeln!(out, "    Loop hits: {}\n", callsite.loop_hits)?;
        }
        writeln!(out, "    Maximum stack depth: {}\n", callsite.depth_max)?;
        for (index, tuple) in callsite.tuples.iter().enumerate() {
            writeln!(out, "    Type tuple {index}")?;
            let count = tuple.types.argument_count();
            write_types(out, 8, tuple.types.types(), count, source)?;
            writeln!(out, "        Hits: {}", tuple.hits)?;
            if tuple.loop_hits > 0 {
                writeln!(out, "        Loop hits: {}", tuple.loop_hits)?;
            }
            writeln!(out, "        Maximum stack depth: {}", tuple.depth_max)?;
            site_writer.write(out, 8, &tuple.sites)?;
            out.push('\n');
        }
        let told: u32 = callsite.tuples.iter().map(|tuple| tuple.hits).sum();
        if told < callsite.hits {
            let others = callsite.hits - told;
            writeln!(out, "    Other type tuples: {others} hits\n")?;
        }
    }
    for (address, of_loop) in &statistics.loops {
        writeln!(out, "Loop {}", site_writer.place(*address))?;
        writeln!(out, "    Hits: {}", of_loop.hits)?;
        let live = snapshot
            .as_deref()
            .zip(statistics.pc(*address))
            .map(|(snapshot, pc)| snapshot.liveness.live_before(&snapshot.instructions, pc));
        for (register, types) in of_loop.registers.iter().enumerate() {
            if live.as_ref().is_some_and(|live| live.contains(register)) {
                writeln!(out, "    Register {register}: {}", shares(types))?;
            }
        }
        out.push('\n');
    }
    if !statistics.sites.is_empty() {
        out.push_str("Outside of logged calls\n");
        site_writer.write(out, 4, &statistics.sites)?;
        out.push('\n');
    }
    Ok(())
}

/// Writes what happened at instructions of one code.
struct SiteWriter<'a> {
    statistics: &'a CodeStatistics,
    snapshot: Option<&'a CodeSnapshot>,
    source: &'a dyn CodeSource,
}

impl SiteWriter<'_> {
    /// Word index and mnemonic of an instruction.
    fn place(&self, address: u64) -> String {
        let Some(pc) = self.statistics.pc(address) else {
            return format!("at {address:#x}");
        };
        let name = self
            .snapshot
            .and_then(|snapshot| Instruction::decode(&snapshot.instructions, pc).ok())
            .map_or("?", |instruction| instruction.opcode.row().name);
        format!("{pc} {name}")
    }

    fn write(&self, out: &mut String, indent: usize, sites: &Sites) -> fmt::Result {
        if sites.is_empty() {
            return Ok(());
        }
        writeln!(out, "{:indent$}Logged at offset:", "")?;
        let mut sorted: Vec<_> = sites.iter().collect();
        sorted.sort_by_key(|(address, _)| **address);
        for (address, site) in sorted.into_iter().take(SITES_MAX) {
            writeln!(
                out,
                "{:width$}{}:",
                "",
                self.place(*address),
                width = indent + 4
            )?;
            self.write_site(out, indent + 8, site)?;
        }
        if let Some(more) = sites.len().checked_sub(SITES_MAX + 1) {
            writeln!(out, "{:indent$}    and {} more", "", more + 1)?;
        }
        Ok(())
    }

    fn write_site(&self, out: &mut String, indent: usize, site: &SiteStatistics) -> fmt::Result {
        for (ty, count) in site.types.sorted() {
            let ty = type_text(ty, self.source);
            writeln!(out, "{:indent$}{count} x type {ty}", "")?;
        }
        for (callee, count) in site.callees.sorted() {
            let title = short_title(callee, self.source);
            let made_here = if self.makes(callee) {
                " (made here)"
            } else {
                ""
            };
            writeln!(out, "{:indent$}{count} x code {title}{made_here}", "")?;
        }
        if site.callees.others() > 0 {
            writeln!(out, "{:indent$}{} x other code", "", site.callees.others())?;
        }
        for (tuple, count) in site.arguments.sorted() {
            writeln!(out, "{:indent$}{count} x type tuple:", "")?;
            write_types(
                out,
                indent + 4,
                tuple.types(),
                tuple.argument_count(),
                self.source,
            )?;
        }
        if site.arguments.others() > 0 {
            writeln!(
                out,
                "{:indent$}{} x other type tuples",
                "",
                site.arguments.others()
            )?;
        }
        Ok(())
    }

    /// Whether this code makes closures over the callee.
    fn makes(&self, callee: CodeWord) -> bool {
        self.snapshot
            .is_some_and(|snapshot| snapshot.pool.contains(&PoolItem::Code(callee)))
    }
}

/// A type, with the names of record types.
pub fn type_text(ty: Type, source: &dyn CodeSource) -> String {
    let text = ty.to_string();
    let class = ty.record_class();
    match class.and_then(|class| Some((class, source.record_type(class)?))) {
        Some((class, record_type)) => {
            let name = format!("record {}", record_type.name);
            text.replace(&format!("record<{class}>"), &name)
        }
        None => text,
    }
}

fn write_types(
    out: &mut String,
    indent: usize,
    types: &[Type],
    count: usize,
    source: &dyn CodeSource,
) -> fmt::Result {
    for (index, ty) in types.iter().enumerate() {
        let ty = type_text(*ty, source);
        writeln!(out, "{:indent$}Type {index}: {ty}", "")?;
    }
    if count > types.len() {
        writeln!(out, "{:indent$}and {} not logged", "", count - types.len())?;
    }
    Ok(())
}

fn arguments(count: usize) -> String {
    if count == 1 {
        "1 argument".to_owned()
    } else {
        format!("{count} arguments")
    }
}

fn percent(part: u32, whole: u32) -> u64 {
    u64::from(part) * 100 / u64::from(whole.max(1))
}

/// Types with their shares.
fn shares(types: &Histogram<Type>) -> String {
    let total = types.total();
    let shown: Vec<String> = types
        .sorted()
        .into_iter()
        .map(|(ty, count)| format!("{ty} {} %", percent(count, total)))
        .collect();
    shown.join(", ")
}

fn write_plan(out: &mut String, plan: &Plan, source: &dyn CodeSource) -> fmt::Result {
    let title = code_title(plan.code, source);
    let count = plan.parameter_types.len();
    let share = percent(plan.hits, plan.hits_of_all);
    let kind = match plan.reason {
        Reason::Observed => "Observed type specialization",
        Reason::Derived => "Derived type specialization",
        Reason::Certain => "Certain specialization",
        Reason::Loop => "Loop specialization",
    };
    writeln!(out, "{kind} of {title}\n")?;
    if let EntryPoint::Loop(pc) = plan.entry {
        writeln!(out, "The specialization is for the loop at {pc}.\n")?;
        writeln!(out, "It was planned for the registers:")?;
        for (register, ty) in plan.parameter_types.iter().enumerate() {
            if *ty != Type::ANY {
                writeln!(out, "    Register {register}: {ty}")?;
            }
        }
        writeln!(out, "These types received {} iterations.\n", plan.hits)?;
    } else {
        let is_variadic = source
            .snapshot(plan.code)
            .is_some_and(|code| code.arity == canny_tables::layout::code::VARIADIC);
        let callsites = if is_variadic {
            "callsites of any number of arguments".to_owned()
        } else {
            format!("callsite of {}", arguments(count))
        };
        writeln!(out, "The specialization is for the {callsites}.\n")?;
        if plan.reason == Reason::Certain {
            writeln!(out, "It was planned for any types.")?;
        } else {
            writeln!(out, "It was planned for the type tuple:")?;
            write_types(out, 4, &plan.parameter_types, count, source)?;
        }
        let (hits, all) = (plan.hits, plan.hits_of_all);
        writeln!(
            out,
            "These types received {hits} hits ({share}% of the {all} callsite hits).\n"
        )?;
    }
    writeln!(out, "The maximum stack depth is {}.\n", plan.depth_max)
}
