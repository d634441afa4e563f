//! Oracles of the fuzzer: what must hold for any input.
//!
//! Every parser ends with a value or errors and does not panic; what it accepts survives a round
//! trip. An oracle returns a description of the violation. It reads no files but the standard
//! libraries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::compile::{Options, compile_unit};
use canny_compiler::image::{decode_unit, encode_unit};
use canny_compiler::verifier::verify_unit;
use canny_number::{eqv, parse_number, write_number};
use canny_syntax::core::{LibraryKey, LibraryName, Unit};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, LibraryLoader, Loaded, SearchPath};
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::{SourceId, SourceMap};

/// Reading ends with data or errors; the text of a datum reads as a datum of the same text.
pub fn reader(bytes: &[u8]) -> Result<(), String> {
    let map = SourceMap::new();
    let (_, result) = read_source(&map, "input", bytes, false);
    for diagnostic in &result.diagnostics {
        // Positions must lie inside the text.
        let _ = diagnostic.render(&map, false);
    }
    if result.has_errors() {
        return Ok(());
    }
    for form in &result.forms {
        let text = form.to_string();
        let again = reread(&text)?;
        // The labels of data are numbered anew in each text, so that only the second text must stay.
        let stable = if text.contains('=') {
            reread(&again)?
        } else {
            text
        };
        if again != stable {
            return Err(format!("`{stable}` reads as `{again}`"));
        }
    }
    Ok(())
}

/// The text of the one datum that a text is.
fn reread(text: &str) -> Result<String, String> {
    let result = read_text(text, SourceId::NONE, false);
    let texts: Vec<String> = result.forms.iter().map(ToString::to_string).collect();
    match <[String; 1]>::try_from(texts) {
        Ok([one]) if !result.has_errors() => Ok(one),
        other => Err(format!(
            "`{text}` does not read as one datum but as {other:?}"
        )),
    }
}

/// Finds the standard libraries and reads no other file.
struct Loader(SearchPath);

impl LibraryLoader for Loader {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        self.0.load(name)
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::other(format!(
            "{} is not read here",
            path.display()
        )))
    }
}

fn expand(bytes: &[u8]) -> (Option<Unit>, Vec<Diagnostic>, Arc<SourceMap>) {
    let map = Arc::new(SourceMap::new());
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lib");
    let loader = Loader(SearchPath {
        directories: vec![directory],
    });
    let mut libraries = Libraries::new(map.clone(), Box::new(loader), &["canny", "r7rs"]);
    let (_, source) = read_source(&map, "input", bytes, false);
    let imports = read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms;
    let key = LibraryKey::new("program");
    let expansion = expand_program(&mut libraries, key, &source.forms, &imports);
    (expansion.unit, expansion.diagnostics, map)
}

/// Expanding ends with a unit or errors; a unit compiles or is refused; compiled code is verified.
pub fn expander(bytes: &[u8]) -> Result<(), String> {
    let (unit, diagnostics, map) = expand(bytes);
    let mut errors = false;
    for diagnostic in &diagnostics {
        let _ = diagnostic.render(&map, false);
        errors |= diagnostic.is_error();
    }
    let Some(unit) = unit else {
        return if errors {
            Ok(())
        } else {
            Err("no unit and no error".to_owned())
        };
    };
    if errors {
        return Ok(());
    }
    match compile_unit(unit, &Options::default()) {
        Err(refusals) if refusals.is_empty() => Err("refused without a reason".to_owned()),
        Err(_) => Ok(()),
        Ok(compilation) => verify_unit(&compilation.unit)
            .map_err(|error| format!("the compiler's code does not verify: {error}")),
    }
}

/// The encoded unit of a program that is right.
pub fn compiled(text: &str) -> Option<Vec<u8>> {
    let (unit, _, _) = expand(text.as_bytes());
    let compilation = compile_unit(unit?, &Options::default()).ok()?;
    encode_unit(&compilation.unit).ok()
}

/// Decoding and verifying ends; an accepted unit is accepted again after encoding.
pub fn bytecode(bytes: &[u8]) -> Result<(), String> {
    let Ok(unit) = decode_unit(bytes) else {
        return Ok(());
    };
    let again = encode_unit(&unit).map_err(|error| format!("cannot be encoded: {error}"))?;
    decode_unit(&again)
        .map(|_| ())
        .map_err(|error| format!("accepted once, then refused: {error}"))
}

/// Reading ends; what is written of a number reads as the same number.
pub fn number(bytes: &[u8]) -> Result<(), String> {
    let Some((&radix, text)) = bytes.split_first() else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(text);
    let Ok(Some(number)) = parse_number(&text, u32::from(radix)) else {
        return Ok(());
    };
    let written = write_number(&number, u32::from(radix));
    match parse_number(&written, u32::from(radix)) {
        Ok(Some(again)) if eqv(&number, &again) => Ok(()),
        other => Err(format!(
            "`{text}` in radix {radix} is written `{written}`, which reads as {other:?}"
        )),
    }
}
