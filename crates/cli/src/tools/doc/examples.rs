//! Running the examples in documentation.
//!
//! The examples of a document are a program that another process runs, so that nothing they do is felt
//! here. The examples of one text share their definitions. If the program does not reach its end, each
//! text is tried alone.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use canny_documentation::{Document, Example, Expectation, Page};

use super::find::{self, Found};
use super::{Failure, console, files};
use crate::options::Options;

/// Seconds that the examples of one document may take.
const SECONDS_MAX: u64 = 60;
/// The character that begins a line of results.
const MARK: char = '\u{1}';
/// The character that stands for a line end in a result.
const LINE_END: char = '\u{2}';

/// Examples that are run with the same definitions in reach.
struct Suite {
    /// Import sets that come before those of the examples.
    imports: Vec<String>,
    /// Program text that comes before the examples.
    before: String,
    /// A directory to look for libraries in.
    directory: Option<PathBuf>,
    /// The directory that the program runs in; the current one if there is none.
    working: Option<PathBuf>,
    groups: Vec<Vec<Example>>,
    /// Whether the groups are parts of one program; else each has its own definitions.
    is_one_program: bool,
}

/// The results of examples, by group and number.
type Results = BTreeMap<(usize, usize), String>;

/// Runs the examples of what the operands mean.
pub fn test(options: &Options, operands: &[String]) -> Result<u8, Failure> {
    let here = [".".to_owned()];
    let operands = if operands.is_empty() {
        &here[..]
    } else {
        operands
    };
    let (mut suites, mut pages) = (Vec::new(), Vec::new());
    for operand in operands {
        collect(options, operand, &mut suites, &mut pages)?;
    }
    let mut seen = HashSet::new();
    let (mut count, mut wrong) = (0, 0);
    for page in &pages {
        let (run, failed) = test_page(options, page)?;
        count += run;
        wrong += failed;
    }
    for suite in &mut suites {
        // A text that several libraries have is run once.
        for group in &mut suite.groups {
            group.retain(|one| seen.insert((one.file.clone(), one.line, one.form.clone())));
        }
        suite
            .groups
            .retain(|group| group.iter().any(|one| one.expectation.is_some()));
        let (run, failed) = run_suite(options, suite);
        count += run;
        wrong += failed;
    }
    let plural = if count == 1 { "" } else { "s" };
    if wrong == 0 {
        println!("{count} example{plural}, all as they say");
        return Ok(0);
    }
    eprintln!("{count} example{plural}, {wrong} not as they say");
    Ok(1)
}

/// Finds the examples of an operand, and the Markdown files there.
fn collect(
    options: &Options,
    operand: &str,
    suites: &mut Vec<Suite>,
    pages: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let path = Path::new(operand);
    if operand.starts_with('(') || !path.exists() {
        for found in find::find(options, &[operand.to_owned()])? {
            match found {
                Found::Document(document) => suites.push(of_library(&document, None)),
                Found::Name { entry, libraries } => {
                    for found in find::find(options, &[libraries[0].clone()])? {
                        if let Found::Document(document) = found {
                            let mut suite = of_library(&document, None);
                            suite.groups = vec![entry.examples.clone()];
                            suites.push(suite);
                        }
                    }
                }
                // A search is no place for examples.
                Found::Matches(_) => {}
            }
        }
        return Ok(());
    }
    let mut paths = Vec::new();
    files::collect(path, &mut paths).map_err(|error| Failure::of_file("read", path, &error))?;
    if path.is_dir() {
        files::collect_ending(path, &["md"], &mut paths)
            .map_err(|error| Failure::of_file("read", path, &error))?;
    }
    for path in &paths {
        if path.extension().is_some_and(|extension| extension == "md") {
            match of_library_page(options, path)? {
                Some(suite) => suites.push(suite),
                None => pages.push(path.clone()),
            }
            continue;
        }
        let mut extractor = find::extractor(options);
        for document in find::documents_of_file(&mut extractor, path)? {
            suites.push(if document.is_library {
                of_library(&document, Some(path))
            } else {
                of_program(&document, path)?
            });
        }
    }
    Ok(())
}

/// The examples in the texts of a library, which run with the library and `(scheme base)`.
fn of_library(document: &Document, path: Option<&Path>) -> Suite {
    let groups = document.examples_in_order();
    let mut imports = vec![document.name.clone()];
    for name in ["(scheme base)", "(scheme write)"] {
        if name == document.name {
            continue;
        }
        // The library's own names come first.
        let own: Vec<&str> = canny_reference::document(name)
            .into_iter()
            .flat_map(|base| &base.entries)
            .map(|entry| entry.name.as_str())
            .filter(|name| document.entry(name).is_some())
            .collect();
        imports.push(if own.is_empty() {
            name.to_owned()
        } else {
            format!("(except {name} {})", own.join(" "))
        });
    }
    Suite {
        imports,
        before: String::new(),
        directory: path.and_then(|path| library_root(&document.name, path)),
        working: None,
        groups,
        is_one_program: false,
    }
}

/// The directory that a library's name begins at: `src` for `(a b)` in `src/a/b.sld`.
fn library_root(name: &str, path: &Path) -> Option<PathBuf> {
    let count = name.split(' ').count();
    let root = path.ancestors().nth(count)?;
    let is_root = root.as_os_str().is_empty();
    Some(if is_root {
        PathBuf::from(".")
    } else {
        root.to_owned()
    })
}

/// The examples in the texts of a program, which run behind it.
fn of_program(document: &Document, path: &Path) -> Result<Suite, Failure> {
    let groups = document.examples_in_order();
    let text = std::fs::read(path).map_err(|error| Failure::of_file("read", path, &error))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let first = text
        .lines()
        .map(str::trim_start)
        .find(|line| !line.is_empty() && !line.starts_with([';', '#']));
    let imports = if first.is_some_and(|line| line.starts_with("(import")) {
        Vec::new()
    } else {
        vec!["(canny base)".to_owned()]
    };
    Ok(Suite {
        imports,
        before: text,
        directory: path.parent().map(Path::to_owned),
        working: None,
        groups,
        is_one_program: false,
    })
}

/// A Markdown file's name and text.
fn markdown(path: &Path) -> Result<(String, String), Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::of_file("read", path, &error))?;
    let name = path.display().to_string();
    Ok((name.strip_prefix("./").unwrap_or(&name).to_owned(), text))
}

/// The examples of a page about a library; nothing for any other Markdown file.
fn of_library_page(options: &Options, path: &Path) -> Result<Option<Suite>, Failure> {
    let (name, text) = markdown(path)?;
    let Some(page) = Page::read(&name, &text) else {
        return Ok(None);
    };
    let found = find::find(options, std::slice::from_ref(&page.name))?;
    let Some(Found::Document(document)) = found.first() else {
        return Err(Failure::no_input(format!(
            "there is no library {}",
            page.name
        )));
    };
    let mut suite = of_library(document, None);
    let sections = page.sections.into_iter().map(|section| section.examples);
    let entries = page.entries.into_iter().map(|entry| entry.examples);
    suite.groups = sections.chain(entries).collect();
    // As they stand on the page; what has none runs as nothing.
    let line = |group: &Vec<Example>| group.first().map_or(0, |example| example.line);
    suite.groups.sort_by_key(line);
    suite.groups.insert(0, page.examples);
    Ok(Some(suite))
}

/// Tests a Markdown file that is not about a library. Its blocks are one program, or one for each
/// section of the second level if it says so. The program runs behind the files, commands and sessions,
/// which have a directory of their own.
fn test_page(options: &Options, path: &Path) -> Result<(usize, usize), Failure> {
    let (name, text) = markdown(path)?;
    if text.contains(NOT_RUN) {
        return Ok((0, 0));
    }
    let directory = if console::has_pieces(&text) {
        let made = console::Scratch::new();
        Some(made.map_err(|error| Failure::of_file("make a directory for", path, &error))?)
    } else {
        None
    };
    let (mut count, mut wrong) = (0, 0);
    for part in programs_of(&text) {
        if let Some(directory) = &directory {
            let (run, failed) = console::check(&name, &part, directory);
            count += run;
            wrong += failed;
        }
        let examples = canny_documentation::markdown_examples(&name, &part);
        // A program without imports has the names of the prompt.
        let imports = if examples.iter().any(is_import) {
            Vec::new()
        } else {
            vec!["(canny base)".to_owned()]
        };
        let suite = Suite {
            imports,
            before: String::new(),
            directory: None,
            working: directory.as_ref().map(|directory| directory.path.clone()),
            groups: vec![examples],
            is_one_program: true,
        };
        if suite.groups[0].iter().any(|one| one.expectation.is_some()) {
            let (run, failed) = run_suite(options, &suite);
            count += run;
            wrong += failed;
        }
    }
    Ok((count, wrong))
}

/// A mark for pages whose examples are for readers only.
const NOT_RUN: &str = "<!-- the examples are not run -->";
/// A mark for pages whose sections are programs of their own.
const SECTIONS: &str = "<!-- each section is a program -->";

/// The parts of a page that are one program, each with empty lines in place of the others so that lines
/// keep their numbers.
fn programs_of(text: &str) -> Vec<String> {
    if !text.contains(SECTIONS) {
        return vec![text.to_owned()];
    }
    let mut parts = vec![String::new()];
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        is_fenced ^= line.starts_with("```");
        if !is_fenced && line.starts_with("## ") {
            parts.push("\n".repeat(index));
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

/// Runs the examples of a suite and tells what is wrong. Gives how many there are, and how many are wrong.
fn run_suite(options: &Options, suite: &Suite) -> (usize, usize) {
    if suite.groups.is_empty() {
        return (0, 0);
    }
    let all: Vec<usize> = (0..suite.groups.len()).collect();
    let (mut results, mut errors, ended) = run(options, suite, &all);
    let mut errors_of: BTreeMap<usize, String> = BTreeMap::new();
    if !ended && suite.groups.len() > 1 {
        for group in all {
            let (found, errors, ended) = run(options, suite, &[group]);
            results.extend(found);
            if !ended {
                errors_of.insert(group, errors);
            }
        }
    } else if !ended {
        errors_of.insert(0, std::mem::take(&mut errors));
    }
    let (mut count, mut wrong) = (0, 0);
    for (group, examples) in suite.groups.iter().enumerate() {
        for (number, example) in examples.iter().enumerate() {
            let Some(expectation) = &example.expectation else {
                continue;
            };
            count += 1;
            let complaint = match (expectation, results.get(&(group, number))) {
                (Expectation::Unreadable(message), _) => {
                    Some(format!("the example cannot be read: {message}"))
                }
                (_, None) => {
                    // One message for all that did not run.
                    let errors = errors_of.remove(&group);
                    errors
                        .map(|errors| format!("the example does not run\n{}", indented(&errors)))
                        .or_else(|| Some("the example does not run".to_owned()))
                }
                (expected, Some(result)) => difference(expected, result),
            };
            if let Some(complaint) = complaint {
                wrong += 1;
                eprintln!("{}:{}: error: {complaint}", example.file, example.line);
            }
        }
    }
    (count, wrong)
}

pub(super) fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn difference(expected: &Expectation, result: &str) -> Option<String> {
    let (is_value, text) = (result.starts_with('V'), result.get(1..).unwrap_or_default());
    let is_like = |expected: &String| console::agree(&[text], std::slice::from_ref(expected));
    match expected {
        Expectation::Value(value) if is_value && is_like(value) => None,
        Expectation::Error(message) if !is_value && is_like(message) => None,
        Expectation::Value(value) if is_value => {
            Some(format!("the example gives {text}, not {value}"))
        }
        Expectation::Value(value) => Some(format!(
            "the example raises `{text}` and does not give {value}"
        )),
        Expectation::Error(message) if !is_value => {
            Some(format!("the example raises `{text}`, not `{message}`"))
        }
        Expectation::Error(message) => Some(format!(
            "the example gives {text} and does not raise `{message}`"
        )),
        Expectation::Prints(expected) => {
            // A line end is one character here.
            let printed = text.replace(LINE_END, "\n");
            let printed = printed.trim_end_matches('\n');
            let lines: Vec<&str> = printed.lines().collect();
            let wanted: Vec<&str> = expected.trim_end_matches('\n').lines().collect();
            if !result.starts_with('P') {
                return Some(format!(
                    "the example raises `{text}` and does not print what it says"
                ));
            }
            (!console::agree(&lines, &wanted)).then(|| {
                format!(
                    "the example prints\n{}\nnot\n{}",
                    indented(printed),
                    indented(expected)
                )
            })
        }
        Expectation::Unreadable(_) => None,
    }
}

/// Defines what runs an example: `(%doc-run "PLACE" thunk)`, and `%doc-print` for one that says what it
/// prints.
const RUNNER: &str = r#"
(%doc-define (%doc-line text)
  (%doc-string-map (%doc-lambda (one) (%doc-if (%doc-char=? one #\newline) #\space one)) text))
(%doc-define (%doc-run place thunk)
  (%doc-define result #f)
  (%doc-with-output-to-string
    (%doc-lambda ()
      (%doc-set! result
        (%doc-call-with-current-continuation
          (%doc-lambda (k)
            (%doc-with-exception-handler
              (%doc-lambda (e) (k (%doc-string-append "E" (%doc-condition->string e))))
              (%doc-lambda ()
                (%doc-call-with-values thunk
                  (%doc-lambda values
                    (%doc-apply %doc-string-append "V"
                      (%doc-let %doc-loop ((rest values) (gap ""))
                        (%doc-if (%doc-null? rest)
                            (%doc-quote ())
                            (%doc-cons gap
                              (%doc-cons (%doc-call-with-output-string
                                          (%doc-lambda (port) (%doc-write (%doc-car rest) port)))
                                (%doc-loop (%doc-cdr rest) " "))))))))))))))) 
  (%doc-display (%doc-string-append "\x1;" place " " (%doc-line result) "\n")))
(%doc-define (%doc-print place thunk)
  (%doc-define problem #f)
  (%doc-define text
    (%doc-with-output-to-string
      (%doc-lambda ()
        (%doc-set! problem
          (%doc-call-with-current-continuation
            (%doc-lambda (k)
              (%doc-with-exception-handler
                (%doc-lambda (e) (k (%doc-string-append "E" (%doc-condition->string e))))
                (%doc-lambda () (thunk) #f))))))))
  (%doc-display
    (%doc-string-append "\x1;" place " "
      (%doc-if problem
          (%doc-line problem)
          (%doc-string-append "P"
            (%doc-string-map
              (%doc-lambda (one) (%doc-if (%doc-char=? one #\newline) #\x2 one)) text)))
      "\n")))
"#;

/// The program of some groups.
fn program(suite: &Suite, groups: &[usize]) -> String {
    let examples = || groups.iter().flat_map(|group| &suite.groups[*group]);
    let mut text = String::from("(import (prefix (canny base) %doc-))\n");
    for set in &suite.imports {
        let _ = writeln!(text, "(import {set})");
    }
    let mut seen = HashSet::new();
    for example in examples().filter(|one| is_import(one)) {
        if seen.insert(&example.form) {
            let _ = writeln!(text, "{}", example.form);
        }
    }
    let _ = writeln!(text, "{}\n{RUNNER}", suite.before);
    for group in groups {
        if !suite.is_one_program {
            text.push_str("(%doc-let ()\n");
            // This line keeps the output of earlier texts apart.
            let _ = writeln!(
                text,
                "(%doc-define %doc-start (%doc-display \"{MARK}text\\n\"))"
            );
        }
        for (number, example) in suite.groups[*group].iter().enumerate() {
            let form = &example.form;
            let is_definition = form.contains("define")
                && form.starts_with('(')
                && form[1..]
                    .split([' ', '\n', '('])
                    .next()
                    .is_some_and(|head| head.contains("define"));
            let _ = match &example.expectation {
                _ if is_import(example) => Ok(()),
                Some(Expectation::Unreadable(_)) => Ok(()),
                None if is_definition || suite.is_one_program => writeln!(text, "{form}"),
                None => writeln!(text, "(%doc-define %doc-{number} (%doc-begin {form}\n #f))"),
                Some(Expectation::Prints(_)) => writeln!(
                    text,
                    "(%doc-define %doc-{number} (%doc-print \"{group} {number}\" (%doc-lambda () {form}\n)))"
                ),
                Some(_) => writeln!(
                    text,
                    "(%doc-define %doc-{number} (%doc-run \"{group} {number}\" (%doc-lambda () {form}\n)))"
                ),
            };
        }
        if !suite.is_one_program {
            text.push_str("#t)\n");
        }
    }
    let _ = writeln!(text, "(%doc-display \"{MARK}end\\n\")");
    text
}

fn is_import(example: &Example) -> bool {
    example.form.starts_with("(import ")
}

/// Runs the program of some groups: what the examples gave, what was said on standard error, and
/// whether it reached its end.
fn run(options: &Options, suite: &Suite, groups: &[usize]) -> (Results, String, bool) {
    let failed = |message: String| (Results::new(), message, false);
    let program = program(suite, groups);
    let Ok(executable) = crate::executable::own_file() else {
        return failed("canny does not find itself".to_owned());
    };
    let mut command = Command::new(executable);
    command.arg("--no-warnings");
    match &suite.working {
        // The page's own files come first, and then what is found from here.
        Some(working) => {
            command.current_dir(working);
            for directory in crate::session::directories(options, None) {
                let directory = std::path::absolute(&directory).unwrap_or(directory);
                command.arg("-A").arg(directory);
            }
        }
        None => {
            for directory in &options.first_directories {
                command.arg("-I").arg(directory);
            }
            for directory in suite.directory.iter().chain(&options.last_directories) {
                command.arg("-A").arg(directory);
            }
        }
    }
    for feature in &options.features {
        command.arg("-D").arg(feature);
    }
    for name in &options.replaced {
        command.arg("--replace").arg(name.to_string());
    }
    if !options.uses_project {
        command.arg("--no-project");
    }
    let child = command
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(format!("cannot start canny: {error}")),
    };
    if let Some(mut input) = child.stdin.take() {
        // A process that does not read it says why.
        let _ = input.write_all(program.as_bytes());
    }
    let output = reader(child.stdout.take());
    let errors = reader(child.stderr.take());
    let in_time = wait(&mut child);
    let output = output.join().unwrap_or_default();
    let mut errors = errors.join().unwrap_or_default();
    if !in_time {
        errors.push_str(&format!("it takes more than {SECONDS_MAX} seconds\n"));
    }
    let (results, ended) = results_in(&output);
    (results, errors, ended)
}

/// The results in the output of a program, and whether it reached its end. Output of forms without
/// an expectation belongs to the next example of their text that says what is printed.
fn results_in(output: &str) -> (Results, bool) {
    let mut results = Results::new();
    let mut ended = false;
    let mut printed = String::new();
    for line in output.lines() {
        let Some((before, line)) = line.split_once(MARK) else {
            printed.push_str(line);
            printed.push(LINE_END);
            continue;
        };
        printed.push_str(before);
        let printed = std::mem::take(&mut printed);
        ended |= line == "end";
        let mut words = line.splitn(3, ' ');
        let place = (words.next(), words.next());
        if let (Some(group), Some(number)) = place
            && let (Ok(group), Ok(number)) = (group.parse(), number.parse())
        {
            let text = words.next().unwrap_or_default().trim_end();
            let text = match text.strip_prefix('P') {
                Some(text) => format!("P{printed}{text}"),
                None => text.to_owned(),
            };
            results.insert((group, number), text);
        }
    }
    (results, ended)
}

/// Reads a stream to its end while others are at work.
fn reader(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // Output that was read before a failure counts.
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process, and ends it when its time is over; whether it ended itself.
pub(super) fn wait(child: &mut Child) -> bool {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if start.elapsed() > Duration::from_secs(SECONDS_MAX) => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}
