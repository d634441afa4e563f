//! Recognizes a conformance suite by its files, and lists the processes that run it.
//!
//! Suites are other projects' and stay unchanged: files that have to differ are written to a
//! scratch directory. A job has the name by which `expected.txt` lists its failures.

use std::path::{Path, PathBuf};

use super::below;
use super::verdict::Format;
use crate::workspace;

/// One process.
pub struct Job {
    /// Its name in the list of expected failures.
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<PathBuf>,
    pub library_directories: Vec<PathBuf>,
    pub directory: PathBuf,
    pub format: Format,
    pub reference: Option<String>,
}

const R5RS_PRELUDE: &str = include_str!("r5rs-prelude.scm");
const NUMBERS: &str = include_str!("numbers.scm");
const JSON: &str = include_str!("json.scm");
const UNICODE: &str = include_str!("unicode.scm");

/// Test files of the Unicode Character Database that tell about graphemes, words, sentences and
/// normalization.
const UNICODE_TESTS: [&str; 4] = [
    "GraphemeBreakTest.txt",
    "WordBreakTest.txt",
    "SentenceBreakTest.txt",
    "NormalizationTest.txt",
];

/// The programs of the suite at `path`, which is recognized by what it contains.
pub fn jobs(path: &Path, scratch: &Path) -> Result<Vec<Job>, String> {
    if path.join("tests/r7rs-tests.scm").is_file() {
        chibi(path, scratch)
    } else if path.join("test/R7RS/Lib/tests").is_dir() {
        larceny(&path.join("test/R7RS/Lib"), scratch)
    } else if !workspace::files(&path.join("data"), "txt").is_empty() {
        let files = workspace::files(&path.join("data"), "txt");
        on_files("numbers", NUMBERS, files, &[], scratch)
    } else if path.join("test_parsing").is_dir() {
        on_files("json", JSON, vec![path.join("test_parsing")], &[], scratch)
    } else if let files = unicode_tests(path)
        && !files.is_empty()
    {
        let mut ages = workspace::files(path, "txt");
        ages.retain(|file| file.ends_with("DerivedAge.txt"));
        on_files("unicode", UNICODE, files, &ages, scratch)
    } else {
        Err(format!("{} is no suite that is known here", path.display()))
    }
}

/// Our libraries under the names that chibi's tests import.
fn support() -> PathBuf {
    workspace::root().join("tests/support")
}

fn chibi(path: &Path, scratch: &Path) -> Result<Vec<Job>, String> {
    let job = |name: &str, program: PathBuf, format: Format| Job {
        name: format!("chibi/{name}"),
        program,
        arguments: Vec::new(),
        library_directories: vec![support()],
        directory: scratch.to_path_buf(),
        format,
        reference: None,
    };
    let tests = path.join("tests");
    let r5rs = scratch.join("r5rs-tests.scm");
    let r5rs_tests = workspace::read(&below(&tests, "r5rs-tests.scm"))?;
    workspace::write(&r5rs, format!("{R5RS_PRELUDE}{r5rs_tests}"))?;
    let mut jobs = vec![
        job(
            "r7rs-tests",
            below(&tests, "r7rs-tests.scm"),
            Format::Counted,
        ),
        job("r5rs-tests", r5rs, Format::Marked),
        job(
            "division-tests",
            below(&tests, "division-tests.scm"),
            Format::Counted,
        ),
    ];
    // Only there so that (scheme division), which the tests import, is found.
    jobs[2].library_directories.push(path.join("lib"));
    for program in workspace::files(&tests.join("basic"), "scm") {
        let reference = workspace::read(&program.with_extension("res"))?;
        let name = stem(&program);
        let mut basic = job(&format!("basic/{name}"), program, Format::Reference);
        basic.reference = Some(reference);
        jobs.push(basic);
    }
    for library in workspace::files(&path.join("lib"), "sld") {
        if let Some(words) = test_library(&path.join("lib"), &library) {
            let name = words.join(" ");
            let program = scratch.join(format!("{}.scm", words.join("-")));
            let text = format!("(import (scheme base) (chibi test) ({name}))\n(run-tests)\n");
            workspace::write(&program, text)?;
            let mut job = job(
                &format!("lib/{}", words.join("/")),
                program,
                Format::Counted,
            );
            job.library_directories.push(path.join("lib"));
            jobs.push(job);
        }
    }
    Ok(jobs)
}

/// The name of the library in this file, if it is one of tests: `…/test.sld` or `…/NAME-test.sld`.
fn test_library(root: &Path, file: &Path) -> Option<Vec<String>> {
    let name = stem(file);
    if (name != "test" && !name.ends_with("-test")) || file.ends_with("chibi/test.sld") {
        return None;
    }
    let relative = file.strip_prefix(root).ok()?.with_extension("");
    Some(
        relative
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect(),
    )
}

/// Works on a copy: the tests of `include` name files relative to the directory of the suite, where
/// Canny looks beside the including file, so the copy has a link there that leads back.
fn larceny(original: &Path, scratch: &Path) -> Result<Vec<Job>, String> {
    let path = scratch.join("larceny");
    std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    workspace::copy_directory(original, &path)?;
    let link = path.join("tests/scheme/tests");
    std::os::unix::fs::symlink(path.join("tests"), &link)
        .map_err(|error| format!("{}: {error}", link.display()))?;
    // The walk would follow the link for ever if it started higher.
    let programs = workspace::files(&path.join("tests/scheme/run"), "sps");
    Ok(programs
        .into_iter()
        .map(|program| Job {
            name: format!("larceny/{}", stem(&program)),
            program,
            arguments: Vec::new(),
            library_directories: vec![path.clone()],
            directory: path.clone(),
            format: Format::Larceny,
            reference: None,
        })
        .collect())
}

fn unicode_tests(path: &Path) -> Vec<PathBuf> {
    let mut files = workspace::files(path, "txt");
    files.retain(|file| UNICODE_TESTS.iter().any(|name| file.ends_with(name)));
    files
}

/// A program of ours that is run with each of the suite's files of data, or a directory of them, and
/// with further files behind that.
fn on_files(
    suite: &str,
    text: &str,
    files: Vec<PathBuf>,
    further: &[PathBuf],
    scratch: &Path,
) -> Result<Vec<Job>, String> {
    let program = scratch.join(format!("{suite}.scm"));
    workspace::write(&program, text)?;
    Ok(files
        .into_iter()
        .map(|data| Job {
            name: format!("{suite}/{}", stem(&data)),
            program: program.clone(),
            arguments: [&[data], further].concat(),
            library_directories: Vec::new(),
            directory: scratch.to_path_buf(),
            format: Format::Counted,
            reference: None,
        })
        .collect())
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
