//! Why an operation is slow, as far as the specializer's log and report can say it.
//!
//! The operation runs alone. The log has the graph of each version that was compiled; the newest
//! graph of the operation's loop says which primitives and procedures it calls out of line. The
//! report says what was not compiled and why, what was retired, and which guards failed how often.

use std::path::Path;

use super::source::{self, Language, Work};
use super::{Options, prepare};
use crate::bench::engines::Engine;
use crate::bench::operations::table::Group;
use crate::process::Run;
use crate::workspace;

/// Fewer failures of a guard than these are no cause: they happen once, while a program warms up.
const EXITS_MIN: u64 = 20;

/// Code that ran rarely is no cause either.
const COLD: &str = "not hot enough";

/// Not more than this many of a kind are named.
const NAMES_MAX: usize = 4;

pub fn find(
    canny: &Path,
    group: &Group,
    index: usize,
    options: &Options,
) -> Result<String, String> {
    let engine = Engine::canny(canny);
    let alone = source::program(group, Language::Canny, &[index], Work::Time);
    let mut prepared = prepare(&engine, "single", alone, &options.directory)?;
    let log = options.directory.join("single.log");
    // A log that an earlier operation left would be about that one.
    let _ = std::fs::remove_file(&log);
    prepared.set("CANNY_SPESH_LOG", &log.to_string_lossy());
    prepared.add_option("--spesh-report");
    let run = Run {
        command: prepared.command(),
        input: None,
        capture: options.directory.join("single"),
        time_limit: options.time_limit,
    };
    let outcome = run.run()?;
    if !outcome.succeeded() {
        return Ok(format!("{} when it ran alone", outcome.ending()));
    }
    let log = if log.exists() {
        workspace::read(&log)?
    } else {
        String::new()
    };
    Ok(explain(
        &log,
        &outcome.errors_text(),
        &format!("op-{index}"),
    ))
}

fn explain(log: &str, report: &str, procedure: &str) -> String {
    let mut parts = Vec::new();
    let graphs = newest_graphs(log);
    let own = graphs.iter().find(|(name, _)| *name == procedure);
    match own {
        None => parts.push("its loop was not compiled".to_owned()),
        Some((_, graph)) => {
            let called = out_of_line(graph);
            parts.extend(listed("runtime:", &called.primitives));
            parts.extend(listed("calls:", &called.procedures));
            let mut behind = Vec::new();
            for (name, graph) in &graphs {
                if *name != procedure && !is_of_the_harness(name) {
                    for primitive in out_of_line(graph).primitives {
                        add(&mut behind, primitive);
                    }
                }
            }
            behind.retain(|name| !called.primitives.contains(name));
            parts.extend(listed("runtime in what it calls:", &behind));
            parts.extend(listed("leaf functions:", &called.leaves));
            parts.extend(listed("numbers of any kind:", &called.numbers));
            if parts.is_empty() {
                parts.extend(listed("allocates:", &called.allocations));
            }
        }
    }
    let mut exits = Vec::new();
    for row in section(report, "Side exits") {
        let times = row.first().and_then(|times| times.parse::<u64>().ok());
        if let (Some(times), Some(why)) = (times, row.get(2))
            && times >= EXITS_MIN
        {
            exits.push(format!("{times} {why}"));
        }
    }
    parts.extend(listed("side exits:", &exits));
    let retired = report
        .lines()
        .find_map(|line| line.strip_prefix("  compiled "))
        .and_then(|line| line.trim().strip_suffix(" retired"))
        .and_then(|line| line.rsplit(' ').next());
    if let Some(count) = retired.filter(|count| *count != "0") {
        parts.push(format!("{count} versions retired"));
    }
    let mut missing = Vec::new();
    for row in section(report, "Not compiled") {
        if let (Some(name), Some(why)) = (row.get(2), row.last())
            && !is_of_the_harness(name.trim_start_matches("loop in "))
            && !why.starts_with(COLD)
        {
            add(&mut missing, format!("{name} ({why})"));
        }
    }
    parts.extend(listed("not compiled:", &missing));
    if parts.is_empty() {
        "compiled code that calls nothing".to_owned()
    } else {
        parts.join("; ")
    }
}

/// Procedures of the program around the operation.
fn is_of_the_harness(name: &str) -> bool {
    let known = [
        "taken",
        "calibrated",
        "least",
        "check",
        "clock",
        "tell",
        "answer",
        "time-operation",
        "same-turns?",
        "message-of",
        "the program",
    ];
    known.contains(&name) || name.starts_with("show")
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn names_once(names: &mut Vec<String>, name: Option<&str>) {
    if let Some(name) = name {
        add(names, name.to_owned());
    }
}

fn listed(what: &str, names: &[String]) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).map(String::as_str).collect();
    let rest = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    (!names.is_empty()).then(|| format!("{what} {}{rest}", shown.join(", ")))
}

/// The last graph of each procedure that the log has, with its name.
fn newest_graphs(log: &str) -> Vec<(&str, &str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for part in log.split("\ngraph of ").skip(1) {
        let graph = part.split("\n\n").next().unwrap_or(part);
        let name = graph.split([' ', ',', '\n']).next().unwrap_or_default();
        found.retain(|(known, _)| *known != name);
        found.push((name, graph));
    }
    found
}

#[derive(Debug, Default, PartialEq)]
struct OutOfLine {
    primitives: Vec<String>,
    procedures: Vec<String>,
    leaves: Vec<String>,
    /// Arithmetic with a path for each kind of number.
    numbers: Vec<String>,
    allocations: Vec<String>,
}

/// The callees of a graph's nodes: `Runtime : TYPE  [PROCEDURE OFFSET INSTRUCTION OPERAND; …]`,
/// `Call(…) : TYPE  […]`, `Leaf(NAME/COUNT, …)` and `Number(NAME/COUNT, …)`, which are conditions
/// too.
fn out_of_line(graph: &str) -> OutOfLine {
    let mut found = OutOfLine::default();
    for line in graph.lines() {
        for (node, names) in [
            ("Leaf(", &mut found.leaves),
            ("Number(", &mut found.numbers),
        ] {
            for (at, _) in line.match_indices(node) {
                let name = line[at + node.len()..].split([',', ')']).next();
                let name = name.and_then(|name| name.rsplit_once('/'));
                names_once(names, name.map(|(name, _)| name));
            }
        }
        let Some((_, operation)) = line.split_once(" = ") else {
            continue;
        };
        let node = operation.split(['(', ' ']).next();
        let allocates = node.filter(|node| ["Cons", "Allocate", "Box"].contains(node));
        names_once(&mut found.allocations, allocates);
        let place = operation.rsplit_once('[').map_or("", |(_, place)| place);
        let place = place.split([';', ']']).next().unwrap_or_default();
        let place = place.rsplit(": ").next().unwrap_or(place);
        let words: Vec<&str> = place.split_whitespace().skip(2).collect();
        if operation.starts_with("Runtime") {
            let instruction = words.first().copied().unwrap_or("?");
            let name = match words.get(1) {
                Some(primitive) if instruction.starts_with("call-primitive") => primitive,
                _ => instruction,
            };
            add(&mut found.primitives, name.to_owned());
        } else if let Some(callee) = operation.strip_prefix("Call(") {
            let kind = callee.split(['(', ',', ' ']).next().unwrap_or_default();
            add(&mut found.procedures, kind.to_lowercase());
        }
    }
    found
}

/// The cells of a table of the report. Columns are two spaces apart.
fn section<'a>(report: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let mut lines = report.lines().skip_while(|line| *line != title).skip(2);
    let mut rows = Vec::new();
    for line in lines.by_ref().take_while(|line| line.starts_with(' ')) {
        let cells = line.split("  ").map(str::trim);
        rows.push(cells.filter(|cell| !cell.is_empty()).collect());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Specializer report

  compiled     0 procedures, 2 loops; 0 calls in them inlined; 3 retired

Side exits
  times  where          because of      in            which is
    101  /tmp/o.scm:10  add of flonum   loop in op-1  retired (guards)
      1  /tmp/o.scm:12  less of fixnum  loop in op-1  entered 1×

Not compiled
  calls  iterations  procedure  where    why
   1611           0  throw      machine  refused: not supported: its first instructions
     12           0  setup      o.scm:2  not hot enough: 12 of 150 calls

The program waited for the specializer
";

    const LOG: &str = "\
graph of op-1, entered at the loop at 2
  b0:
    n1 = Runtime : any  [op-1 2 call-primitive-1 old; r1=n1]

Candidate 1
\ngraph of op-1, entered at the loop at 2
  b0:
    n16 = Runtime : fixnum|flonum  [op-1 9 call-primitive-2 max; r1=n1 r2=n15]
    n17 = Runtime : any  [f1: run 3 make-closure; r1=n1]
    n18 = Number(+/2, n16, n17) : any  [op-1 8 add; r1=n16]
    if Leaf(memq/2, [n18, n1]) then b2 else b3
    n25 = Call(Known(n22, 0x7f), [n24]) : any  [op-1 9 call; r2=n20]

Candidate 2
";

    #[test]
    fn the_newest_graph_and_the_report_are_summed_up() {
        assert_eq!(
            explain(&format!("\n{LOG}"), REPORT, "op-1"),
            "runtime: max, make-closure; calls: known; leaf functions: memq; \
             numbers of any kind: +; side exits: 101 add of flonum; 3 versions retired; \
             not compiled: throw (refused: not supported: its first instructions)"
        );
    }

    #[test]
    fn an_empty_log_says_that_nothing_was_compiled() {
        assert_eq!(explain("", "", "op-1"), "its loop was not compiled");
    }

    #[test]
    fn many_names_are_cut() {
        let names: Vec<String> = (0..6).map(|index| index.to_string()).collect();
        assert_eq!(
            listed("x:", &names).as_deref(),
            Some("x: 0, 1, 2, 3 and 2 more")
        );
        assert_eq!(listed("x:", &[]), None);
    }
}
