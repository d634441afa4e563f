//! Packs a compiled program with its libraries into bytes, to run where their sources are not.
//!
//! `canny compile` writes bundles and the executable reads them. Standard libraries are left out,
//! since every binary has them in its image. Libraries are in the order of their instantiation.
//! Bytes that do not decode give an error.

use std::sync::Arc;

use canny_compiler::image;
use canny_syntax::core::LibraryKey;
use canny_syntax::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};

use super::{Evaluation, Prepared};

/// The contents of a bundle. Standard libraries are left out: every host that runs the program has
/// them.
#[derive(Serialize, Deserialize)]
struct Bundle {
    program: Vec<u8>,
    /// In the order in which they are instantiated.
    libraries: Vec<BundledLibrary>,
}

#[derive(Serialize, Deserialize)]
struct BundledLibrary {
    key: String,
    interface: Vec<u8>,
    unit: Vec<u8>,
}

fn malformed(error: impl std::fmt::Display) -> String {
    format!("the program is damaged: {error}")
}

impl Evaluation {
    /// Compiles a program with the libraries that it needs; gives the bytes, and warnings.
    pub fn bundle_program(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<(Vec<u8>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let prepared = self.prepare_program(name, bytes)?;
        let failed = |message: String| {
            let span = canny_syntax::span::Span::NONE;
            vec![Diagnostic::error("image", span, message)]
        };
        let inner = self.lock();
        let mut bundle = Bundle {
            program: Vec::new(),
            libraries: Vec::new(),
        };
        let Some(((program, _), libraries)) = prepared.units.split_last() else {
            return Err(failed("the program is empty".to_owned()));
        };
        bundle.program = image::encode_unit(program).map_err(|error| failed(error.to_string()))?;
        for (unit, is_standard) in libraries {
            let interface = inner.libraries.interface_by_key(&unit.name);
            let (false, Some(interface)) = (*is_standard, interface) else {
                continue;
            };
            let encoded = image::encode_interface(interface)
                .and_then(|interface| Ok((interface, image::encode_unit(unit)?)));
            let (interface, unit_bytes) = encoded.map_err(|error| failed(error.to_string()))?;
            bundle.libraries.push(BundledLibrary {
                key: unit.name.as_str().to_owned(),
                interface,
                unit: unit_bytes,
            });
        }
        let bytes = postcard::to_stdvec(&bundle).map_err(|error| failed(error.to_string()))?;
        Ok((bytes, prepared.warnings))
    }

    /// Prepares a program from its bytes. The libraries that came with it can be imported by
    /// `environment` too.
    pub fn prepare_bundle(&self, bytes: &[u8]) -> Result<Prepared, String> {
        let bundle: Bundle = postcard::from_bytes(bytes).map_err(malformed)?;
        let program = image::decode_unit(&bundle.program).map_err(malformed)?;
        let mut inner = self.lock();
        for library in bundle.libraries {
            let interface = image::decode_interface(&library.interface).map_err(malformed)?;
            let unit = image::decode_unit(&library.unit).map_err(malformed)?;
            let key = LibraryKey::new(&library.key);
            inner.units.adopt(vec![(key, Arc::new(unit))]);
            inner.libraries.add_interface(Arc::new(interface));
        }
        inner
            .prepare_unit(Arc::new(program))
            .map_err(|diagnostics| {
                malformed(diagnostics.first().map_or("", |first| &first.message))
            })
    }
}
