//! `canny compile`: a program with its libraries and the machine as one executable file.
//!
//! The file is a copy of `canny` itself with the compiled program behind it, and at the very end a
//! *trailer* that says how long the program is. The copy's mark says the same ([`executable`]). A start
//! looks at the mark before anything else. Of the copy, only what the system loads is taken: symbols
//! and debug information stay behind.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use canny_compiler::image;
use canny_lib::evaluation::Evaluation;
use lexopt::{Arg, Parser};

use super::table::{LIBRARY_OPTIONS, Row, joined};
use super::{Tool, files};
use crate::environment::Environment;
use crate::executable::{self, Carried};
use crate::options::{Options, Source};
use crate::session::Session;
use crate::{exit_code, report};

const OUTPUT_OPTIONS: &[Row] = &[(
    "-o PROGRAM",
    "the file to write; FILE without its ending unless given",
)];

/// The options of `compile` and `compile-r7rs`.
pub const OPTIONS: &[Row] =
    &joined::<{ LIBRARY_OPTIONS.len() + OUTPUT_OPTIONS.len() }>(LIBRARY_OPTIONS, OUTPUT_OPTIONS);

pub const TOOL: Tool = Tool {
    name: "compile",
    operands: "[OPTION…] FILE [-o PROGRAM]",
    summary: "Makes one executable file of a program, its libraries and the machine",
    options: OPTIONS,
    details: "The file runs on machines of the same kind without Canny and without the sources. All its \
        arguments\n\
              are the program's. Files that the program loads or includes while it runs are not part of it.",
    run,
};

/// The end of an executable file that carries a program.
const MAGIC: [u8; 16] = *b"canny program 1\n";

/// Bytes of the trailer: length, checksum, [`MAGIC`].
const TRAILER_BYTES: usize = Carried::BYTES + MAGIC.len();

fn run(parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let Words {
        options,
        file,
        output,
    } = parse(parser, environment)?;
    let file = file.ok_or("which file?")?;
    let output = match output {
        Some(output) => output,
        None if file.extension().is_some() => {
            PathBuf::from(file.with_extension("").file_name().unwrap_or_default())
        }
        None => return Err("a file without an ending needs -o".to_owned()),
    };
    Ok(crate::on_large_stack(move || {
        compile(&options, &file, &output)
    }))
}

/// A command line.
pub struct Words {
    pub options: Options,
    pub file: Option<PathBuf>,
    pub output: Option<PathBuf>,
}

/// Parses a command line with [`OPTIONS`].
pub fn parse(mut parser: Parser, environment: &'static Environment) -> Result<Words, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut words = Words {
        options: Options::new(environment),
        file: None,
        output: None,
    };
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short('o') => words.output = Some(parser.value().map_err(text_of)?.into()),
            Arg::Short(option @ ('A' | 'I' | 'D')) => {
                words.options.take_library_option(option, &mut parser)?;
            }
            Arg::Long("replace") => words.options.take_replaced(&mut parser)?,
            Arg::Long("no-project") => words.options.uses_project = false,
            Arg::Value(path) if words.file.is_none() => words.file = Some(path.into()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(words)
}

/// Compiles a program into an executable file; gives the exit code.
pub fn compile(options: &Options, file: &Path, output: &Path) -> u8 {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("canny compile: cannot read {}: {error}", file.display());
            return exit_code::NO_INPUT;
        }
    };
    let config = match crate::project::configuration(options, file) {
        Ok(config) => config,
        Err(message) => {
            eprintln!("canny compile: {message}");
            return exit_code::DATA;
        }
    };
    let evaluation = Evaluation::new(&config);
    let name = file.display().to_string();
    let (program, warnings) = match evaluation.bundle_program(&name, &bytes) {
        Ok(bundle) => bundle,
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, evaluation.sources());
            return exit_code::DATA;
        }
    };
    report::diagnostics(&warnings, evaluation.sources());
    match write_executable(output, &program) {
        Ok(bytes) => {
            eprintln!(
                "{}: {:.1} MB, {} kB of them the program",
                output.display(),
                bytes as f64 / 1e6,
                program.len().div_ceil(1000)
            );
            0
        }
        Err(error) => {
            eprintln!("canny compile: cannot write {}: {error}", output.display());
            exit_code::OS
        }
    }
}

/// Writes the machine and the program; gives the file's size.
fn write_executable(output: &Path, program: &[u8]) -> io::Result<usize> {
    let mut content = fs::read(executable::own_file()?)?;
    keep_loadable(&mut content);
    let carried = Carried {
        length: program.len() as u64,
        checksum: image::checksum(program),
    };
    if !executable::set_mark(&mut content, carried) {
        return Err(io::Error::other("canny's own file has no place for it"));
    }
    content.extend_from_slice(program);
    content.extend_from_slice(&carried.to_bytes());
    content.extend_from_slice(&MAGIC);
    files::write_executable(output, &content)?;
    Ok(content.len())
}

/// Cuts off what the system does not load, if this is a 64-bit little-endian ELF file: sections with
/// symbols and debug information, and the table of sections.
fn keep_loadable(content: &mut Vec<u8>) {
    let Some(end) = loadable_end(content) else {
        return;
    };
    content.truncate(end);
    // No table of sections any more: its place, its length, and the section with the names.
    content[40..48].fill(0);
    content[60..64].fill(0);
}

/// Where the last part ends that the headers of an ELF file tell the system to load.
fn loadable_end(content: &[u8]) -> Option<usize> {
    let is_elf = content.starts_with(b"\x7fELF\x02\x01");
    let word = |at: usize, bytes: usize| -> Option<usize> {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(content.get(at..at + bytes)?);
        usize::try_from(u64::from_le_bytes(word)).ok()
    };
    let (headers, size, count) = (word(32, 8)?, word(54, 2)?, word(56, 2)?);
    let mut end = headers.checked_add(size * count)?;
    for index in 0..count {
        let header = headers + index * size;
        end = end.max(word(header + 8, 8)?.checked_add(word(header + 32, 8)?)?);
    }
    (is_elf && count > 0 && end >= 64 && end <= content.len()).then_some(end)
}

/// Decodes a trailer; `None` if it is not one.
fn read_trailer(trailer: &[u8]) -> Option<Carried> {
    let (numbers, magic) = trailer.split_at_checked(Carried::BYTES)?;
    (magic == MAGIC).then(|| Carried::from_bytes(numbers))?
}

/// The program that the file of this process carries, or why it cannot be used; `None` when it is just
/// `canny`.
pub fn carried_program() -> Option<Result<Vec<u8>, String>> {
    let carried = executable::carried()?;
    Some(find_program(carried, &executable::own_names()))
}

/// Reads a program from the first of some files that has it.
fn find_program(carried: Carried, names: &[PathBuf]) -> Result<Vec<u8>, String> {
    let mut is_found = false;
    for name in names {
        let Ok(mut file) = fs::File::open(name) else {
            continue;
        };
        is_found = true;
        if trailer_of(&mut file) == Some(carried) {
            return read_program(&mut file, carried);
        }
    }
    Err(if is_found {
        "the program in this file is damaged".to_owned()
    } else {
        "this program does not find its own file: mount /proc, or start it by its path".to_owned()
    })
}

/// Reads the trailer at the end of a file, if there is one.
fn trailer_of(file: &mut fs::File) -> Option<Carried> {
    let mut trailer = [0; TRAILER_BYTES];
    file.seek(SeekFrom::End(-(TRAILER_BYTES as i64))).ok()?;
    file.read_exact(&mut trailer).ok()?;
    read_trailer(&trailer)
}

fn read_program(file: &mut fs::File, carried: Carried) -> Result<Vec<u8>, String> {
    let Carried { length, checksum } = carried;
    let damaged = || "the program in this file is damaged".to_owned();
    let behind = i64::try_from(length)
        .ok()
        .and_then(|length| length.checked_add(TRAILER_BYTES as i64));
    file.seek(SeekFrom::End(-behind.ok_or_else(damaged)?))
        .map_err(|_| damaged())?;
    let mut program = Vec::new();
    file.take(length)
        .read_to_end(&mut program)
        .map_err(|error| format!("cannot read the program: {error}"))?;
    if image::checksum(&program) != checksum {
        return Err(damaged());
    }
    Ok(program)
}

/// Runs a program that came with the executable file; all arguments are the program's.
pub fn run_carried(
    program: &[u8],
    command_line: Vec<String>,
    environment: &'static Environment,
) -> u8 {
    let mut options = Options::new(environment);
    options.action = crate::options::Action::Program(Source::StandardInput);
    // All its libraries are in it.
    options.uses_project = false;
    let name = command_line.first().cloned().unwrap_or_default();
    options.command_line = command_line;
    let mut session = match Session::new(&options, None) {
        Ok(session) => session,
        Err(message) => {
            eprintln!("{name}: {message}");
            return exit_code::OS;
        }
    };
    let prepared = match session.evaluation().prepare_bundle(program) {
        Ok(prepared) => prepared,
        Err(message) => {
            eprintln!("{name}: {message}");
            return exit_code::OS;
        }
    };
    let result = session.run(Ok(prepared)).map(|_| 0);
    session.end(&options, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_trailers_count() {
        let carried = Carried {
            length: 40,
            checksum: 3,
        };
        let trailer = [&carried.to_bytes()[..], &MAGIC].concat();
        assert_eq!(read_trailer(&trailer), Some(carried));
        assert_eq!(read_trailer(&trailer[1..]), None);
        assert_eq!(read_trailer(b"short"), None);
    }

    #[test]
    fn a_program_is_read_from_the_file_that_has_it() {
        let directory = std::env::temp_dir().join(format!("canny-carried-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let carried = Carried {
            length: 7,
            checksum: image::checksum(b"program"),
        };
        let whole = [&b"machine program"[..], &carried.to_bytes(), &MAGIC].concat();
        let names = ["missing", "other", "whole"].map(|name| directory.join(name));
        fs::write(&names[1], "some other file").unwrap();
        fs::write(&names[2], &whole).unwrap();
        assert_eq!(find_program(carried, &names), Ok(b"program".to_vec()));
        let message = find_program(carried, &names[..2]).unwrap_err();
        assert!(message.contains("damaged"), "{message}");
        let message = find_program(carried, &names[..1]).unwrap_err();
        assert!(message.contains("/proc"), "{message}");
        let mut changed = whole;
        changed[10] ^= 1;
        fs::write(&names[2], changed).unwrap();
        assert!(find_program(carried, &names).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_is_no_elf_file_stays_whole() {
        for text in [&b""[..], b"#!/bin/sh", b"\x7fELF\x02\x01 and too short"] {
            let mut content = text.to_vec();
            keep_loadable(&mut content);
            assert_eq!(content, text);
        }
    }
}
