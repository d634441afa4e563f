//! Coverage of a process, and of the processes that were started for it.
//!
//! A process that counts lines and branches writes a tracefile of `lcov` into a directory that a
//! variable names. The command that started the processes adds them up and shows the sum.

use std::fs;
use std::path::{Path, PathBuf};

use canny_compiler::counting::{Counter, Point, PointKind};
use canny_profile::coverage::{Branch, Coverage, html, lcov};
use canny_vm::profile::counts;

/// The variable that names the directory.
pub const VARIABLE: &str = "CANNY_COVERAGE";

/// Decisions of one column that are told apart.
const DECISIONS_MAX: u32 = 16;

/// The wishes of the command line about coverage.
#[derive(Clone, Debug, Default)]
pub struct CoverageOptions {
    /// The directory for pages.
    pub html: Option<PathBuf>,
    /// The tracefile.
    pub lcov: Option<PathBuf>,
    /// The least share of lines, in percent.
    pub at_least: Option<f64>,
}

/// The options, for lists of options.
pub const ROWS: &[(&str, &str)] = &[
    (
        "--coverage",
        "tell which lines and branches of the project's files ran",
    ),
    (
        "--coverage-html DIR",
        "write pages with the sources to DIR, lines that did not run in red",
    ),
    ("--coverage-lcov FILE", "write a tracefile of lcov"),
    (
        "--coverage-at-least PERCENT",
        "exit code 1 if fewer lines ran; implies --coverage, as the two above do",
    ),
];

impl CoverageOptions {
    /// Takes the option if it is one of these; gives whether it was.
    pub fn take(
        wish: &mut Option<CoverageOptions>,
        option: &str,
        parser: &mut lexopt::Parser,
    ) -> Result<bool, String> {
        let mut value = || parser.value().map_err(|error| error.to_string());
        match option {
            "coverage" => {
                wish.get_or_insert_default();
            }
            "coverage-html" => wish.get_or_insert_default().html = Some(value()?.into()),
            "coverage-lcov" => wish.get_or_insert_default().lcov = Some(value()?.into()),
            "coverage-at-least" => {
                let text = value()?.to_string_lossy().into_owned();
                let number: Option<f64> = text.trim_end_matches('%').parse().ok();
                let number = number.filter(|percent| (0.0..=100.0).contains(percent));
                let number = number.ok_or_else(|| {
                    format!("--coverage-at-least wants a number from 0 to 100, not '{text}'")
                })?;
                wish.get_or_insert_default().at_least = Some(number);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The counts of this process so far.
pub fn counted() -> Coverage {
    let counts = counts::take();
    let mut coverage = Coverage::default();
    for (first, counter) in &counts.ledger.rows {
        let Counter::Point(Point { file, line, kind }) = counter else {
            continue;
        };
        // Text of other kinds, such as that of the command line, has no path.
        let Ok(path) = fs::canonicalize(file) else {
            continue;
        };
        let path = path.to_string_lossy().into_owned();
        let file = coverage.files.entry(path).or_default();
        let count = counts.word(*first);
        match kind {
            // Several expressions begin on a line; the one that ran most often counts.
            PointKind::Line => {
                let line = file.lines.entry(*line).or_insert(0);
                *line = (*line).max(count);
            }
            PointKind::Branch {
                column,
                number,
                arm,
            } => {
                let branch = Branch {
                    line: *line,
                    decision: column * DECISIONS_MAX + number.min(&(DECISIONS_MAX - 1)),
                    arm: *arm,
                };
                *file.branches.entry(branch).or_insert(0) += count;
            }
            PointKind::Function(name) => {
                *file.functions.entry((*line, name.clone())).or_insert(0) += count;
            }
        }
    }
    coverage
}

/// Writes what this process has counted to a new file in a directory.
pub fn write_counted(directory: &Path) {
    let text = lcov::write(&counted());
    let path = directory.join(format!("{}.info", std::process::id()));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text));
    if let Err(error) = written {
        eprintln!("canny: cannot write {}: {error}", path.display());
    }
}

/// The sum of all tracefiles in a directory.
pub fn sum_of(directory: &Path) -> Result<Coverage, String> {
    let wrong = |error: std::io::Error| format!("cannot read {}: {error}", directory.display());
    let mut sum = Coverage::default();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_none_or(|extension| extension != "info") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(wrong)?;
        // A process that was killed while it wrote leaves a part.
        match lcov::read(&text) {
            Ok(part) => sum.add(&part),
            Err(message) => eprintln!("canny: {}: {message}", path.display()),
        }
    }
    Ok(sum)
}

/// The directory of the project around this one, or this one.
pub fn root() -> Result<PathBuf, String> {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    let here = here.map_err(|error| format!("cannot name the current directory: {error}"))?;
    Ok(canny_packages::project::find(&here).unwrap_or(here))
}

/// Whether a file belongs to a project: it is below its directory, and in none of other people's code.
pub fn is_of_project(path: &Path, root: &Path, is_skipped: fn(&str) -> bool) -> bool {
    let Ok(inside) = path.strip_prefix(root) else {
        return false;
    };
    let mut parts = inside.iter().map(|part| part.to_string_lossy());
    parts.all(|part| !part.starts_with('.') && !is_skipped(&part))
}

/// Shows coverage as the command line says; gives the exit code that the least share asks for.
pub fn show(coverage: &Coverage, root: &Path, wish: &CoverageOptions) -> Result<u8, String> {
    eprint!("\n{}", coverage.table(root));
    let unwritable =
        |path: &Path, error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if let Some(path) = &wish.lcov {
        let text = lcov::write(coverage);
        fs::write(path, text).map_err(|error| unwritable(path, error))?;
        eprintln!("written: {}", path.display());
    }
    if let Some(directory) = &wish.html {
        write_pages(coverage, root, directory).map_err(|error| unwritable(directory, error))?;
        eprintln!("page: {}", directory.join("index.html").display());
    }
    let percent = coverage.shares().lines.percent();
    match wish.at_least {
        Some(least) if percent < least => {
            eprintln!("canny: {percent:.1} % of the lines ran, which is less than {least} %");
            Ok(1)
        }
        _ => Ok(0),
    }
}

/// Shows what this process has counted, if the command line asks for it; gives an exit code.
pub fn show_counted(
    wish: Option<&CoverageOptions>,
    is_skipped: fn(&str) -> bool,
) -> Result<u8, String> {
    let Some(wish) = wish else {
        return Ok(0);
    };
    let root = root()?;
    let mut coverage = counted();
    coverage.retain(|path| is_of_project(path, &root, is_skipped));
    show(&coverage, &root, wish)
}

fn write_pages(coverage: &Coverage, root: &Path, directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("index.html"), html::index(coverage, root))?;
    for (number, (path, file)) in coverage.files.iter().enumerate() {
        let text = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let page = html::source_page(path, root, file, &text);
        fs::write(directory.join(html::page_name(number)), page)?;
    }
    Ok(())
}
