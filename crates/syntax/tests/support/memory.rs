//! Libraries in memory for tests: sources, and interfaces that were serialised.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_syntax::core::{LibraryKey, LibraryName};
use canny_syntax::interface::Interface;
use canny_syntax::library::{Libraries, LibraryLoader, Loaded};
use canny_syntax::span::SourceMap;

/// Files in memory, and interfaces that were serialised.
#[derive(Default)]
pub struct Memory {
    pub files: HashMap<PathBuf, String>,
    pub interfaces: HashMap<LibraryKey, Vec<u8>>,
}

impl LibraryLoader for Memory {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        if let Some(bytes) = self.interfaces.get(&name.key()) {
            let interface: Interface =
                postcard::from_bytes(bytes).expect("the interface reads back");
            return Loaded::Interface(Arc::new(interface));
        }
        let words: Vec<String> = name.parts().iter().map(ToString::to_string).collect();
        let path = PathBuf::from(format!("{}.sld", words.join("/")));
        match self.files.get(&path) {
            Some(text) => Loaded::Source {
                path,
                bytes: text.clone().into_bytes(),
            },
            None => Loaded::NotFound {
                searched: vec![path.display().to_string()],
            },
        }
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.files
            .get(path)
            .map(|text| text.clone().into_bytes())
            .ok_or(std::io::ErrorKind::NotFound.into())
    }
}

/// The libraries with `features` for tests.
pub fn registry(memory: Memory) -> Libraries {
    Libraries::new(
        Arc::new(SourceMap::new()),
        Box::new(memory),
        &["canny", "r7rs", "full-unicode"],
    )
}
