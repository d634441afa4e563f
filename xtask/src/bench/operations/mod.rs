//! `cargo xtask bench --operations`: small operations, one by one, beside Chez Scheme.
//!
//! A process measures all operations of a group on one engine; rounds interleave the engines. The
//! time of an operation is the least of several repetitions, less that of an empty loop; rounds are
//! joined by their median. Answers are compared with those of the data. The causes come from further
//! runs, one for each slow operation, so that the specializer's report is about that one alone.

mod causes;
mod report;
mod source;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::engines::{CANNY, Engine, Prepared};
use super::measure::median;
use super::programs::{Check, Program};
use crate::arguments::Arguments;
use crate::process::Run;
use crate::workspace::{self, Profile};
use source::{Language, Work};
use table::{Group, Operation};

const HELP: &str = "\
usage: cargo xtask bench --operations [OPTION…]

  --rounds N      rounds to take the median of (3)
  --only A,B      only these groups: names of files in benches/operations
  --timeout N     seconds after which the process of a group is stopped (600)
  --canny PATH    the binary to measure; without it, cargo builds a release binary
  --baseline PATH another canny to compare with
  --above N       look for the causes of what takes more than N times as long (2)
  --no-causes     look for no causes
  --check         compare the answers only
  --bless         write missing answers into the files where both engines agree

CSV and lists are written to target/bench/operations.csv and .txt.
";

/// Below this, times are noise: less counts as this long.
const SHORTEST_NANOSECONDS: f64 = 0.5;

/// The times of one operation in nanoseconds, one for each engine; `None` if it was not measured.
pub struct Row {
    pub group: String,
    pub name: String,
    pub times: Vec<Option<f64>>,
    pub cause: String,
}

impl Row {
    /// The time of an engine as a multiple of another's.
    pub fn ratio_of(&self, engine: usize, other: usize) -> Option<f64> {
        let least = |time: f64| time.max(SHORTEST_NANOSECONDS);
        Some(least(self.times[engine]?) / least(self.times[other]?))
    }
}

struct Options {
    rounds: usize,
    time_limit: Duration,
    directory: PathBuf,
    check_only: bool,
}

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let rounds = arguments.number("--rounds", 3)?.max(1) as usize;
    let only = super::list(arguments.option("--only")?);
    let time_limit = Duration::from_secs(arguments.number("--timeout", 600)?);
    let baseline = arguments.path("--baseline")?;
    let above = arguments.number("--above", 2)? as f64;
    let bless = arguments.flag("--bless");
    let check_only = arguments.flag("--check") || bless;
    let causes_wanted = !arguments.flag("--no-causes") && !check_only;
    let files = workspace::root().join("benches").join("operations");
    let groups = table::read(&files, only.as_deref())?;
    if !workspace::installed("chezscheme") {
        return Err(
            "`chezscheme` is not on the search path, and the operations are compared with it; \
             install Chez Scheme (Debian and Ubuntu: `apt install chezscheme`)"
                .to_owned(),
        );
    }
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;
    let options = Options {
        rounds: if check_only { 1 } else { rounds },
        time_limit,
        directory: workspace::scratch_directory("operations")?,
        check_only,
    };
    let engines = engines(&canny, baseline.as_deref());
    let mut rows = Vec::new();
    let mut complaints = Vec::new();
    for group in &groups {
        let measured = match measure_group(group, &engines, &options) {
            Ok(measured) => measured,
            Err(error) => {
                complaints.push(error);
                continue;
            }
        };
        complaints.extend(measured.complaints);
        if bless {
            bless_group(group, &measured.answers, &files)?;
        }
        if check_only {
            continue;
        }
        let mut found = rows_of(group, &engines, &measured.times);
        if causes_wanted {
            let slow = |row: &Row| {
                row.ratio_of(0, engines.len() - 1)
                    .is_some_and(|it| it > above)
            };
            for (index, row) in found.iter_mut().enumerate().filter(|(_, row)| slow(row)) {
                eprint!(
                    "\r{:<70}",
                    workspace::shortened(&format!("why: {}", row.name), 68)
                );
                row.cause = causes::find(&canny, group, index, &options)?;
            }
        }
        rows.extend(found);
    }
    eprint!("\r{:<70}\r", "");
    if !check_only {
        write_results(&rows, &engines)?;
    }
    match complaints.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} operations gave wrong answers or were not measured:\n  {}",
            complaints.join("\n  ")
        )),
    }
}

fn write_results(rows: &[Row], engines: &[(Engine, Language)]) -> Result<(), String> {
    let names: Vec<&str> = engines.iter().map(|(engine, _)| engine.name).collect();
    let out = workspace::target_directory().join("bench");
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    workspace::write(&out.join("operations.csv"), report::csv(rows, &names))?;
    workspace::write(&out.join("operations.txt"), report::worst(rows, usize::MAX))?;
    print!(
        "{}\n{}",
        report::summary(rows, &names),
        report::worst(rows, 40)
    );
    println!(
        "written: {0}/operations.csv, {0}/operations.txt",
        out.display()
    );
    Ok(())
}

/// Canny first, Chez last.
fn engines(canny: &Path, baseline: Option<&Path>) -> Vec<(Engine, Language)> {
    let chez = ["chez".to_owned()];
    super::engines::all(canny, baseline, Some(&chez))
        .into_iter()
        .map(|engine| match engine.name {
            "chez" => (engine, Language::Chez),
            _ => (engine, Language::Canny),
        })
        .collect()
}

struct Measured {
    /// For each engine and operation: its net times, one for each round.
    times: Vec<Vec<Vec<f64>>>,
    /// For each engine and operation, if it gave one.
    answers: Vec<Vec<Option<String>>>,
    /// The same after all times were measured.
    later: Vec<Vec<Option<String>>>,
    /// For each engine, whether its process failed.
    failed: Vec<bool>,
    complaints: Vec<String>,
}

fn measure_group(
    group: &Group,
    engines: &[(Engine, Language)],
    options: &Options,
) -> Result<Measured, String> {
    let indices: Vec<usize> = (0..group.operations.len()).collect();
    let mut measured = Measured {
        times: vec![vec![Vec::new(); indices.len()]; engines.len()],
        answers: vec![vec![None; indices.len()]; engines.len()],
        later: vec![vec![None; indices.len()]; engines.len()],
        failed: vec![false; engines.len()],
        complaints: Vec::new(),
    };
    let work = if options.check_only {
        Work::Check
    } else {
        Work::TimeAll
    };
    let prepared: Vec<Prepared> = engines
        .iter()
        .map(|(engine, language)| {
            eprint!(
                "\r{:<70}",
                format!("compiling {} for {}", group.name, engine.name)
            );
            let text = source::program(group, *language, &indices, work);
            prepare(engine, &group.name, text, &options.directory)
                .map_err(|error| format!("{} on {}: {error}", group.name, engine.name))
        })
        .collect::<Result<_, _>>()?;
    for round in 1..=options.rounds {
        for (index, (engine, _)) in engines.iter().enumerate() {
            let progress = format!("round {round}: {} on {}", group.name, engine.name);
            eprint!("\r{progress:<70}");
            let (output, failure) = run_once(&prepared[index], options)?;
            let lines = Output::parse(&output, indices.len());
            for (operation, time) in lines.net_times(group).into_iter().enumerate() {
                measured.times[index][operation].extend(time);
            }
            if round == 1 {
                measured.answers[index] = lines.answers;
                measured.later[index] = lines.later;
                measured.failed[index] = failure.is_some();
                let failure =
                    failure.map(|why| format!("{} on {}: {why}", group.name, engine.name));
                measured.complaints.extend(failure);
            }
        }
    }
    complain(group, engines, &mut measured);
    Ok(measured)
}

fn prepare(
    engine: &Engine,
    name: &str,
    scheme: String,
    directory: &Path,
) -> Result<Prepared, String> {
    let program = Program {
        name: name.to_owned(),
        group: super::programs::Group::Own,
        scheme,
        closing: String::new(),
        versions: Vec::new(),
        guest: None,
        input: None,
        directory: None,
        check: Check::Output(String::new()),
    };
    let mut prepared = engine
        .prepare(&program, directory)?
        .ok_or("there is no version of it")?;
    if engine.name == CANNY {
        prepared.add_option("--no-warnings");
    }
    Ok(prepared)
}

/// The output of a process, and the reason of its failure if it failed.
fn run_once(prepared: &Prepared, options: &Options) -> Result<(String, Option<String>), String> {
    let run = Run {
        command: prepared.command(),
        input: None,
        capture: options.directory.join("output"),
        time_limit: options.time_limit,
    };
    let outcome = run.run()?;
    let failure =
        (!outcome.succeeded()).then(|| format!("{}: {}", outcome.ending(), outcome.complaint()));
    Ok((outcome.output_text(), failure))
}

struct Output {
    /// Nanoseconds of the empty loops by the number of their operands.
    empty: Vec<f64>,
    times: Vec<Option<f64>>,
    answers: Vec<Option<String>>,
    later: Vec<Option<String>>,
}

impl Output {
    fn parse(text: &str, operations: usize) -> Output {
        let mut output = Output {
            empty: Vec::new(),
            times: vec![None; operations],
            answers: vec![None; operations],
            later: vec![None; operations],
        };
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(kind), Some(index), Some(rest)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Ok(index) = index.parse::<usize>() else {
                continue;
            };
            match (kind, rest.parse::<f64>()) {
                ("empty", Ok(time)) if index == output.empty.len() => output.empty.push(time),
                ("time", Ok(time)) if index < operations => output.times[index] = Some(time),
                ("answer", _) if index < operations => {
                    output.answers[index] = Some(rest.to_owned());
                }
                ("later", _) if index < operations => {
                    output.later[index] = Some(rest.to_owned());
                }
                _ => {}
            }
        }
        output
    }

    fn net_times(&self, group: &Group) -> Vec<Option<f64>> {
        let empty = |operands: usize| self.empty.get(operands).copied();
        let operations = group.operations.iter().zip(&self.times);
        operations
            .map(|(one, time)| Some(((*time)? - empty(one.operands.len())?).max(0.0)))
            .collect()
    }
}

/// Adds wrong answers, and operations without one, and drops their times.
fn complain(group: &Group, engines: &[(Engine, Language)], measured: &mut Measured) {
    for (engine, (one, language)) in engines.iter().enumerate() {
        for (index, operation) in group.operations.iter().enumerate() {
            if *language == Language::Chez && operation.for_chez().is_none() {
                continue;
            }
            let first = measured.answers[engine][index].as_deref();
            if first.is_none() && measured.failed[engine] {
                // That the process failed is listed already.
                continue;
            }
            let later = measured.later[engine][index].as_deref();
            if let Some(wrong) = wrong_answer(operation, first, later) {
                measured.times[engine][index].clear();
                measured.complaints.push(format!(
                    "{}:{} {} on {}: {wrong}",
                    group.name, operation.line, operation.expression, one.name
                ));
            }
        }
    }
}

/// The fault of the answers before and after the loops were timed.
fn wrong_answer(operation: &Operation, first: Option<&str>, later: Option<&str>) -> Option<String> {
    let first = first.unwrap_or("no answer");
    let Some(wanted) = operation.answer.as_deref() else {
        return Some(format!("{first}, and the file states no answer"));
    };
    if first != wanted || first.starts_with("raised ") {
        return Some(format!("{first}, not {wanted}"));
    }
    let later = later.filter(|later| !operation.changes && *later != wanted)?;
    Some(format!("{later} after it was timed, not {wanted}"))
}

fn bless_group(group: &Group, answers: &[Vec<Option<String>>], files: &Path) -> Result<(), String> {
    let path = files.join(format!("{}.txt", group.name));
    let chez = answers.len() - 1;
    let mut new = Vec::new();
    for (index, operation) in group.operations.iter().enumerate() {
        let Some(answer) = &answers[0][index] else {
            continue;
        };
        let agree = operation.for_chez().is_none() || answers[chez][index].as_ref() == Some(answer);
        if operation.answer.is_none() && agree && !answer.starts_with("raised ") {
            new.push((operation.line, answer.clone()));
        }
    }
    let text = workspace::read(&path)?;
    workspace::write(&path, table::with_answers(&text, &new))
}

fn rows_of(group: &Group, engines: &[(Engine, Language)], times: &[Vec<Vec<f64>>]) -> Vec<Row> {
    let row = |index: usize, name: &str| Row {
        group: group.name.clone(),
        name: name.to_owned(),
        times: (0..engines.len())
            .map(|engine| &times[engine][index])
            .map(|rounds| (!rounds.is_empty()).then(|| median(rounds)))
            .collect(),
        cause: String::new(),
    };
    let operations = group.operations.iter().enumerate();
    operations
        .map(|(index, operation)| row(index, &operation.expression))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_net_of_the_empty_loop() {
        let text = "operands a 1 2 3 4\noperands b 1 2 3 4\n(+ a b)\n(f)\n(- a)";
        let group = table::parse("g", text).expect("the text is right");
        let output = "empty 0 1.0\nempty 1 1.5\nempty 2 2.0\nanswer 0 each (2 4 6 8)\n\
                      time 0 5.0\nanswer 1 raised \"no\"\nnonsense\ntime 2 1.0\n";
        let output = Output::parse(output, 3);
        assert_eq!(output.net_times(&group), [Some(3.0), None, Some(0.0)]);
        assert_eq!(output.answers[0].as_deref(), Some("each (2 4 6 8)"));
    }

    #[test]
    fn answers_are_compared_before_and_after() {
        let text = "(f) ==> 1\n(g) ==> first 1\n(h)";
        let group = table::parse("g", text).expect("the text is right");
        let wrong = |index: usize, first, later| {
            wrong_answer(&group.operations[index], Some(first), Some(later))
        };
        assert_eq!(wrong(0, "1", "1"), None);
        assert_eq!(wrong(0, "2", "1").as_deref(), Some("2, not 1"));
        let compiled = wrong(0, "1", "2");
        assert_eq!(compiled.as_deref(), Some("2 after it was timed, not 1"));
        assert_eq!(wrong(1, "1", "2"), None);
        assert!(wrong(2, "1", "1").is_some());
        assert!(wrong_answer(&group.operations[0], None, None).is_some());
    }

    #[test]
    fn ratios_of_noise_are_one() {
        let row = |canny, chez| Row {
            group: String::new(),
            name: String::new(),
            times: vec![canny, chez],
            cause: String::new(),
        };
        assert_eq!(row(Some(0.4), Some(0.1)).ratio_of(0, 1), Some(1.0));
        assert_eq!(row(Some(10.0), Some(2.0)).ratio_of(0, 1), Some(5.0));
        assert_eq!(row(Some(10.0), None).ratio_of(0, 1), None);
    }

    fn all_groups() -> Vec<Group> {
        let files = workspace::root().join("benches").join("operations");
        table::read(&files, None).expect("the files are right")
    }

    #[test]
    fn each_operation_has_an_answer() {
        let groups = all_groups();
        let count: usize = groups.iter().map(|group| group.operations.len()).sum();
        assert!(count >= 1000, "there are {count} operations");
        for group in &groups {
            for operation in &group.operations {
                assert!(
                    operation.answer.is_some(),
                    "{}:{}: `--bless` writes the answer",
                    group.name,
                    operation.line
                );
            }
        }
    }

    #[test]
    fn all_procedures_of_the_standard_are_measured() {
        const LIBRARIES: [&str; 14] = [
            "base",
            "case-lambda",
            "char",
            "complex",
            "cxr",
            "eval",
            "file",
            "inexact",
            "lazy",
            "process-context",
            "read",
            "repl",
            "time",
            "write",
        ];
        // Syntax that is no expression or has no code of its own, what ends the program or changes
        // files, and what only a prompt needs.
        const LEFT_OUT: &str = "cond-expand define define-record-type define-syntax include \
            include-ci let-syntax letrec-syntax quasiquote quote syntax-error syntax-rules unquote \
            unquote-splicing ... _ => else emergency-exit exit delete-file interaction-environment";
        let left_out: Vec<&str> = LEFT_OUT.split_whitespace().collect();
        let groups = all_groups();
        let mut used: Vec<&str> = Vec::new();
        used.extend(groups.iter().flat_map(|group| table::words(&group.canny)));
        for operation in groups.iter().flat_map(|group| &group.operations) {
            used.extend(table::words(&operation.expression));
        }
        for library in LIBRARIES {
            let path = workspace::root().join(format!("lib/scheme/{library}.sld"));
            let text = workspace::read(&path).expect("the library is there");
            let (_, rest) = text.split_once("(export").expect("it exports names");
            let (exports, _) = rest.split_once("(import").expect("it imports names");
            for name in table::words(exports) {
                let is_known = used.contains(&name) || left_out.contains(&name);
                assert!(is_known, "no operation uses {name} of (scheme {library})");
            }
        }
    }
}
