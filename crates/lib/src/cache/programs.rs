//! Compiled programs kept in the user's cache directory, so that a second run of a file need not be
//! read, expanded and compiled.
//!
//! A file holds the code of one program, which is named by its path and by the name that messages
//! give it. It counts only for the same text, the same includes and the same imported libraries.
//! Programs are left out that define libraries, include a file that was found by searching, or run
//! transformers that are procedures. Warnings are kept beside the code, and given again. There are
//! at most [`FILES_MAX`] files; the oldest go first. Code from the cache goes through the verifier.

use std::fs;
use std::path::{Path, PathBuf};

use canny_compiler::image;
use canny_compiler::unit::CompiledUnit;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::{Gathered, Libraries};
use canny_syntax::messages;
use canny_syntax::name::Name;
use canny_syntax::span::{SourceId, SourceMap, Span};
use serde::{Deserialize, Serialize};

use super::libraries::LibraryCache;
use super::{Origins, OtherLibraries, make_room, write_whole};

/// Files of programs.
const FILES_MAX: usize = 200;
/// Bytes of a file.
const BYTES_MAX: usize = 16 << 20;
/// The directory in that of the cache.
const DIRECTORY: &str = "programs";

/// The contents of a file of the cache, sealed with a checksum.
#[derive(Serialize, Deserialize)]
struct CachedProgram {
    /// The checksum of the program's text.
    text: u64,
    origins: Origins,
    unit: Vec<u8>,
    warnings: Vec<KeptWarning>,
}

/// A program as the cache has it.
pub(crate) struct FoundProgram {
    pub unit: CompiledUnit,
    /// A digest of the code.
    pub digest: u64,
    /// The warnings that its compilation gave.
    pub warnings: Vec<Diagnostic>,
}

/// A program that may be in the cache.
pub(crate) struct ProgramFile<'a> {
    path: PathBuf,
    name: &'a str,
    text: &'a [u8],
    cache: &'a LibraryCache,
}

impl<'a> ProgramFile<'a> {
    /// The place for the program of a file; none without a cache.
    pub(crate) fn new(
        cache: &'a LibraryCache,
        file: &Path,
        name: &'a str,
        text: &'a [u8],
    ) -> Option<ProgramFile<'a>> {
        let directory = cache.directory()?.join(DIRECTORY);
        let absolute = fs::canonicalize(file).ok()?;
        let features = cache.features().join(" ");
        let identity = format!("{}\0{name}\0{features}", absolute.display());
        let number = image::checksum(identity.as_bytes());
        Some(ProgramFile {
            path: directory.join(format!("{number:016x}.program")),
            name,
            text,
            cache,
        })
    }

    /// The program, if the cache has it in its present state. Its text becomes one of the sources.
    pub(crate) fn find(
        &self,
        sources: &SourceMap,
        others: &mut dyn OtherLibraries,
    ) -> Option<FoundProgram> {
        let bytes = fs::read(&self.path).ok()?;
        let cached: CachedProgram = postcard::from_bytes(image::unseal(&bytes).ok()?).ok()?;
        if cached.text != image::checksum(self.text)
            || !cached.origins.hold(self.cache.features(), others)
        {
            return None;
        }
        let unit = image::decode_unit(&cached.unit).ok()?;
        let text = str::from_utf8(self.text).ok()?;
        let mut texts = Texts {
            ids: vec![Some(sources.add(self.name, text))],
            sources,
            files: cached.origins.files().collect(),
        };
        let warnings = cached.warnings.into_iter();
        Some(FoundProgram {
            unit,
            digest: image::digest(0, &cached.unit),
            warnings: warnings
                .map(|warning| warning.restore(&mut texts))
                .collect::<Option<_>>()?,
        })
    }

    /// Keeps a program that was compiled just now, if that is possible.
    pub(crate) fn keep(
        &self,
        unit: &CompiledUnit,
        warnings: &[Diagnostic],
        gathered: &Gathered,
        libraries: &Libraries,
    ) {
        if gathered.has_searched || libraries.has_run_procedures() {
            return;
        }
        let origins = Origins::new(
            self.cache.features(),
            &gathered.files,
            &unit.requires,
            &gathered.asked,
            |import| self.cache.stamp_of_file(import),
        );
        let place = |span: Span| {
            let source = libraries.sources().get(span.source)?;
            let is_it = |file: &PathBuf| source.name == file.display().to_string();
            let text = if source.name == self.name {
                0
            } else {
                1 + gathered.files.iter().position(is_it)?
            };
            Some((text, span.start, span.end))
        };
        let warnings = warnings.iter();
        let warnings: Option<_> = warnings
            .map(|warning| KeptWarning::new(warning, place))
            .collect();
        let (Some(origins), Ok(unit), Some(warnings)) =
            (origins, image::encode_unit(unit), warnings)
        else {
            return;
        };
        let cached = CachedProgram {
            text: image::checksum(self.text),
            origins,
            unit,
            warnings,
        };
        let Ok(bytes) = postcard::to_stdvec(&cached) else {
            return;
        };
        if bytes.len() > BYTES_MAX {
            return;
        }
        if let (Some(directory), false) = (self.path.parent(), self.path.exists()) {
            make_room(directory, FILES_MAX);
        }
        write_whole(&self.path, &image::seal(&bytes));
    }
}

/// A span of a warning: which text it is in, the program's or an included one, and its bytes.
type Place = (usize, u32, u32);

/// A warning without the numbers that sources have in one run.
#[derive(Serialize, Deserialize)]
struct KeptWarning {
    code: String,
    message: String,
    at: Place,
    labels: Vec<(Place, String)>,
    notes: Vec<String>,
    missing_name: Option<Name>,
    similar: Option<String>,
    expansion: Vec<(Name, Place)>,
}

impl KeptWarning {
    /// The warning; nothing if it is about another text.
    fn new(
        warning: &Diagnostic,
        place: impl Fn(Span) -> Option<Place> + Copy,
    ) -> Option<KeptWarning> {
        let labels = warning.labels.iter();
        let expansion = warning.expansion.iter();
        Some(KeptWarning {
            code: warning.code.to_owned(),
            message: warning.message.clone(),
            at: place(warning.span)?,
            labels: labels
                .map(|(span, text)| Some((place(*span)?, text.clone())))
                .collect::<Option<_>>()?,
            notes: warning.notes.clone(),
            missing_name: warning.missing_name,
            similar: warning.similar.clone(),
            expansion: expansion
                .map(|(name, span)| Some((*name, place(*span)?)))
                .collect::<Option<_>>()?,
        })
    }

    fn restore(self, texts: &mut Texts) -> Option<Diagnostic> {
        let code = messages::find(&self.code)?.code;
        let mut warning = Diagnostic::warning(code, texts.span(self.at)?, self.message);
        for (place, text) in self.labels {
            warning.labels.push((texts.span(place)?, text));
        }
        for (name, place) in self.expansion {
            warning.expansion.push((name, texts.span(place)?));
        }
        warning.notes = self.notes;
        warning.missing_name = self.missing_name;
        warning.similar = self.similar;
        Some(warning)
    }
}

/// The texts that warnings are about: the program's, then those of the included files.
struct Texts<'a> {
    sources: &'a SourceMap,
    files: Vec<&'a Path>,
    /// Those that are among the sources already.
    ids: Vec<Option<SourceId>>,
}

impl Texts<'_> {
    fn span(&mut self, (text, start, end): Place) -> Option<Span> {
        self.ids.resize(1 + self.files.len(), None);
        let id = match self.ids.get(text)? {
            Some(id) => *id,
            None => {
                let path = self.files[text - 1];
                let content = fs::read_to_string(path).ok()?;
                let id = self.sources.add(&path.display().to_string(), content);
                self.ids[text] = Some(id);
                id
            }
        };
        // A file that changed since it was compared has no such place perhaps.
        let source = self.sources.get(id)?;
        source.text.get(start as usize..end as usize)?;
        Some(Span::new(id, start, end))
    }
}
