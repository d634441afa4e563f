//! Where the expander finds libraries: the standard ones in the image, others on the search path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use canny_compiler::image::{self, ImageEntry};
use canny_syntax::core::LibraryName;
use canny_syntax::library::{LibraryLoader, Loaded, SearchPath};

static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/standard-library.image"));

/// The standard libraries by key.
fn standard_libraries() -> &'static HashMap<&'static str, ImageEntry<'static>> {
    static LIBRARIES: OnceLock<HashMap<&'static str, ImageEntry<'static>>> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        let entries = image::decode_image(IMAGE).unwrap_or_default();
        entries.into_iter().map(|entry| (entry.key, entry)).collect()
    })
}

/// A library of the image.
pub(crate) fn standard_library(key: &str) -> Option<&'static ImageEntry<'static>> {
    standard_libraries().get(key)
}

/// Finds standard libraries in the image and others in directories.
#[derive(Debug)]
pub(crate) struct StandardLoader {
    path: SearchPath,
}

impl StandardLoader {
    pub(crate) fn new(directories: Vec<PathBuf>) -> StandardLoader {
        StandardLoader { path: SearchPath { directories } }
    }
}

impl LibraryLoader for StandardLoader {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        match standard_library(name.key().as_str()) {
            Some(entry) => match image::decode_interface(entry.interface) {
                Ok(interface) => Loaded::Interface(Arc::new(interface)),
                Err(error) => Loaded::Failed(error.to_string()),
            },
            None => self.path.load(name),
        }
    }

    fn exists(&mut self, name: &LibraryName) -> bool {
        standard_library(name.key().as_str()).is_some() || self.path.exists(name)
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.path.read_file(path)
    }
}
