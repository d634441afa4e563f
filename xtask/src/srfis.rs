//! `cargo xtask srfis`: the table of SRFIs in the documents, made from the libraries and from runs of
//! their tests.
//!
//! Our tests are `tests/srfi/N.scm`. `tests/srfi/upstream/N.scm` drives the suite of the SRFI's
//! repository, which is read from where the caller keeps it; its results are kept in a file, so
//! that the table can be made without it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arguments::Arguments;
use crate::process::Run;
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask srfis [OPTION…]

Writes docs/srfis.md: which SRFIs there are, and how many of their tests pass.
  --suites DIR   also run the suites of the SRFIs' repositories, checkouts named DIR/srfi-N
  --timeout N    seconds for one program (120)
  --canny PATH   the binary to ask; without it, cargo builds a release binary
";

const TABLE: &str = "docs/srfis.md";
const UPSTREAM_RESULTS: &str = "docs/measurements/srfi-suites.csv";

/// How many tests of a program passed and failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    passed: u32,
    failed: u32,
}

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let suites = arguments.path("--suites")?;
    let time_limit = Duration::from_secs(arguments.number("--timeout", 120)?);
    let canny = workspace::canny(arguments, Profile::Release)?;
    arguments.finish()?;
    let root = workspace::root();
    let scratch = workspace::scratch_directory("srfis")?;
    let runner = Runner {
        canny,
        scratch,
        time_limit,
        root: root.clone(),
    };
    let srfis = libraries(&root)?;
    let mut own = BTreeMap::new();
    for number in srfis.keys() {
        let program = root.join(format!("tests/srfi/{number}.scm"));
        if program.exists() {
            let counts = runner.counts(&program, None)?;
            let counts =
                counts.ok_or_else(|| format!("{} does not end well", program.display()))?;
            own.insert(*number, counts);
        }
    }
    let upstream = match suites {
        Some(suites) => run_upstream(&runner, &srfis, &suites)?,
        None => read_results(&workspace::read(&root.join(UPSTREAM_RESULTS)).unwrap_or_default())?,
    };
    let text = table(&srfis, &own, &upstream);
    workspace::write(&root.join(TABLE), &text)?;
    println!("{TABLE}: {} SRFIs", srfis.len());
    Ok(())
}

/// The faults of the table, for `tidy`: it lists exactly the libraries that there are.
pub fn stale_rows(root: &Path) -> Result<Vec<String>, String> {
    let text = workspace::read(&root.join(TABLE))?;
    let srfis = libraries(root)?;
    let listed: BTreeMap<u32, &str> = text.lines().filter_map(row).collect();
    let mut complaints = Vec::new();
    for (number, title) in &srfis {
        match listed.get(number) {
            None => complaints.push(format!("SRFI {number} is missing; run cargo xtask srfis")),
            Some(listed) if listed != title => {
                complaints.push(format!("SRFI {number} is called `{title}` in its library"));
            }
            Some(_) => {}
        }
    }
    for number in listed.keys().filter(|number| !srfis.contains_key(number)) {
        complaints.push(format!("there is no library for SRFI {number}"));
    }
    Ok(complaints)
}

/// Number and title of a row of the table.
fn row(line: &str) -> Option<(u32, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let number = cells.next()?.parse().ok()?;
    Some((number, cells.next()?))
}

/// The titles of the SRFIs, from the first lines of their libraries.
fn libraries(root: &Path) -> Result<BTreeMap<u32, String>, String> {
    let directory = root.join("lib/srfi");
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(number) = stem.and_then(|stem| stem.parse().ok()) else {
            continue;
        };
        if path.extension().is_none_or(|extension| extension != "sld") {
            continue;
        }
        let text = workspace::read(&path)?;
        let first = text.lines().next().unwrap_or_default();
        let title = title(first).ok_or_else(|| {
            format!(
                "{}: the first line is not `;;; (srfi {number}): TITLE.`",
                path.display()
            )
        })?;
        found.insert(number, title.to_owned());
    }
    Ok(found)
}

fn title(line: &str) -> Option<&str> {
    let (head, title) = line.split_once("): ")?;
    head.starts_with(";;; (srfi ")
        .then(|| title.trim_end().trim_end_matches('.'))
}

/// Runs programs and reads their last lines.
struct Runner {
    canny: PathBuf,
    scratch: PathBuf,
    time_limit: Duration,
    root: PathBuf,
}

impl Runner {
    /// The counts of a program that ends with `P passed, F failed`; `None` when it does not.
    fn counts(&self, program: &Path, suites: Option<&Path>) -> Result<Option<Counts>, String> {
        let mut command = std::process::Command::new(&self.canny);
        command.arg("--no-warnings");
        for directory in ["tests/srfi/upstream", "tests/support"] {
            command.arg("-A").arg(self.root.join(directory));
        }
        command
            .arg(program)
            .current_dir(&self.scratch)
            .env("CANNY_CACHE_DIR", self.scratch.join("cache"));
        if let Some(suites) = suites {
            command.env("SRFI_SUITES", suites);
        }
        let outcome = Run {
            command,
            input: None,
            capture: self.scratch.join("capture"),
            time_limit: self.time_limit,
        }
        .run()?;
        let text = outcome.output_text();
        Ok(text.lines().rev().find_map(counts_of))
    }
}

/// `12 passed, 0 failed`, perhaps with the suite's name and a colon before.
fn counts_of(line: &str) -> Option<Counts> {
    let counts = line.rsplit_once(": ").map_or(line, |(_, counts)| counts);
    let (passed, failed) = counts
        .trim()
        .strip_suffix(" failed")?
        .split_once(" passed, ")?;
    Some(Counts {
        passed: passed.parse().ok()?,
        failed: failed.parse().ok()?,
    })
}

fn run_upstream(
    runner: &Runner,
    srfis: &BTreeMap<u32, String>,
    suites: &Path,
) -> Result<BTreeMap<u32, Counts>, String> {
    let suites =
        std::fs::canonicalize(suites).map_err(|error| format!("{}: {error}", suites.display()))?;
    let mut results = BTreeMap::new();
    let mut csv = String::from("srfi,passed,failed\n");
    for number in srfis.keys() {
        let driver = runner
            .root
            .join(format!("tests/srfi/upstream/{number}.scm"));
        if !driver.exists() {
            continue;
        }
        match runner.counts(&driver, Some(&suites))? {
            Some(counts) => {
                let Counts { passed, failed } = counts;
                println!("SRFI {number}: {passed} passed, {failed} failed");
                let _ = writeln!(csv, "{number},{passed},{failed}");
                results.insert(*number, counts);
            }
            None => println!("SRFI {number}: its suite does not run to its end"),
        }
    }
    workspace::write(&runner.root.join(UPSTREAM_RESULTS), &csv)?;
    Ok(results)
}

fn read_results(csv: &str) -> Result<BTreeMap<u32, Counts>, String> {
    let mut results = BTreeMap::new();
    for line in csv.lines().skip(1) {
        let numbers: Vec<u32> = line
            .split(',')
            .map(|word| word.parse())
            .collect::<Result<_, _>>()
            .map_err(|_| format!("{UPSTREAM_RESULTS}: `{line}` is not three numbers"))?;
        let [number, passed, failed] = numbers[..] else {
            return Err(format!("{UPSTREAM_RESULTS}: `{line}` is not three numbers"));
        };
        results.insert(number, Counts { passed, failed });
    }
    Ok(results)
}

fn table(
    srfis: &BTreeMap<u32, String>,
    own: &BTreeMap<u32, Counts>,
    upstream: &BTreeMap<u32, Counts>,
) -> String {
    let total = |counts: &BTreeMap<u32, Counts>| -> (u32, u32) {
        counts.values().fold((0, 0), |(passed, all), one| {
            (passed + one.passed, all + one.passed + one.failed)
        })
    };
    let cell = |counts: Option<&Counts>| match counts {
        Some(Counts { passed, failed: 0 }) => format!("all {passed}"),
        Some(Counts { passed, failed }) => format!("{passed} of {}", passed + failed),
        None => String::new(),
    };
    let (own_passed, own_all) = total(own);
    let (upstream_passed, upstream_all) = total(upstream);
    let mut text = format!(
        "# SRFIs\n\n\
         {} SRFIs. Each has the names `(srfi N)` and `(srfi srfi-N)`; `cond-expand` knows `srfi-N`.\n\n\
         Written by `cargo xtask srfis`, which runs the tests that it counts: ours, of which {own_passed} of \
         {own_all}\n\
         pass, and where there is one that can be run, the suite of the SRFI's own repository\n\
         ({upstream_passed} of {upstream_all}). The driver of such a suite, in `tests/srfi/upstream`, says\n\
         what its failures mean. SRFIs of a few lines are tested together, in `tests/srfi/small.scm`.\n\n\
         | SRFI | about | our tests that pass | of its repository |\n|---|---|---|---|\n",
        srfis.len()
    );
    for (number, title) in srfis {
        let _ = writeln!(
            text,
            "| {number} | {title} | {} | {} |",
            cell(own.get(number)),
            cell(upstream.get(number))
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_suite_is_read() {
        let counts = Counts {
            passed: 12,
            failed: 3,
        };
        assert_eq!(counts_of("12 passed, 3 failed"), Some(counts));
        assert_eq!(counts_of("srfi-1: 12 passed, 3 failed"), Some(counts));
        assert_eq!(counts_of("12 passed"), None);
        assert_eq!(counts_of("FAIL 1 passed, 0 failed"), None);
    }

    #[test]
    fn titles_come_from_first_lines() {
        assert_eq!(title(";;; (srfi 9): records."), Some("records"));
        assert_eq!(title(";;; (srfi 160 f64): vectors."), Some("vectors"));
        assert_eq!(title(";;; SRFI 9: records."), None);
    }

    #[test]
    fn a_table_can_be_read_back() {
        let srfis = BTreeMap::from([(9, "records".to_owned()), (1, "lists".to_owned())]);
        let own = BTreeMap::from([(
            1,
            Counts {
                passed: 4,
                failed: 1,
            },
        )]);
        let text = table(&srfis, &own, &BTreeMap::new());
        let rows: Vec<(u32, &str)> = text.lines().filter_map(row).collect();
        assert_eq!(rows, [(1, "lists"), (9, "records")]);
        assert!(text.contains("| 1 | lists | 4 of 5 |  |"), "{text}");
    }

    #[test]
    fn results_are_numbers() {
        assert_eq!(
            read_results("srfi,passed,failed\n1,2,0\n").map(|all| all.len()),
            Ok(1)
        );
        assert!(read_results("srfi,passed,failed\n1,x,0\n").is_err());
    }
}
