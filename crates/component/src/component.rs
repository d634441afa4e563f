//! Components as files have them: validated, with the modules that are in them.
//!
//! The sections of a component are read again for each instance, since they say how to make one.

use std::collections::HashMap;
use std::sync::Arc;

use canny_wasm::{Error, Module};
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};

use crate::listing::Listing;

/// A component. Clones are the same one.
#[derive(Clone)]
pub struct Component {
    shared: Arc<Shared>,
}

struct Shared {
    bytes: Vec<u8>,
    /// By the place where they begin.
    modules: HashMap<usize, Module>,
    listing: Listing,
}

/// The beginning of a component: magic, version and layer.
const BEGINNING: &[u8] = b"\0asm\x0d\0\x01\0";

impl Component {
    /// Whether bytes are those of a component rather than of a module.
    pub fn is_component(bytes: &[u8]) -> bool {
        bytes.starts_with(BEGINNING)
    }

    /// Decodes and validates a component, and the modules in it.
    pub fn new(bytes: Vec<u8>) -> Result<Component, Error> {
        Component::read_with(bytes, Module::new)
    }

    /// The same, with modules that are read by a function of the caller.
    pub fn read_with(
        bytes: Vec<u8>,
        read: impl Fn(Vec<u8>) -> Result<Module, Error>,
    ) -> Result<Component, Error> {
        if !Component::is_component(&bytes) {
            let text = if bytes.starts_with(b"\0asm") {
                "this is a module and no component"
            } else {
                "this is no component: it does not begin with \\0asm"
            };
            return Err(Error::Invalid {
                text: text.into(),
                offset: 0,
            });
        }
        let features = canny_wasm::features()
            | WasmFeatures::COMPONENT_MODEL
            | WasmFeatures::CM_MAP
            | WasmFeatures::CM_FIXED_LENGTH_LISTS
            | WasmFeatures::CM_IMPLEMENTS;
        let mut validator = Validator::new_with_features(features);
        let mut places = Vec::new();
        // Components inside of others, and names of the outermost one.
        let (mut depth, mut imports, mut exports) = (0, Vec::new(), Vec::new());
        let mut listing = Listing::default();
        for payload in Parser::new(0).parse_all(&bytes) {
            let payload = payload?;
            match &payload {
                Payload::ModuleSection {
                    unchecked_range, ..
                } => {
                    places.push(unchecked_range.start as usize..unchecked_range.end as usize);
                    depth += 1;
                }
                Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth -= 1,
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section.clone() {
                        imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section.clone() {
                        exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
            // Functions are validated with their module below.
            if let ValidPayload::End(types) = validator.payload(&payload)?
                && depth < 0
            {
                listing = Listing::new(&types, &imports, &exports);
            }
        }
        let mut modules = HashMap::new();
        for place in places {
            let start = place.start;
            let module = read(bytes[place].to_vec()).map_err(|error| match error {
                Error::Invalid { text, offset } => Error::Invalid {
                    text,
                    offset: offset + start as u64,
                },
                error => error,
            })?;
            modules.insert(start, module);
        }
        Ok(Component {
            shared: Arc::new(Shared {
                bytes,
                modules,
                listing,
            }),
        })
    }

    /// Its modules, in the order of their places.
    pub fn modules(&self) -> Vec<&Module> {
        let mut modules: Vec<_> = self.shared.modules.iter().collect();
        modules.sort_by_key(|(place, _)| **place);
        modules.into_iter().map(|(_, module)| module).collect()
    }

    /// Its imports and exports.
    pub fn listing(&self) -> &Listing {
        &self.shared.listing
    }

    /// The bytes of the component.
    pub fn byte_count(&self) -> usize {
        self.shared.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.shared.bytes
    }

    pub(crate) fn module(&self, place: usize) -> Option<&Module> {
        self.shared.modules.get(&place)
    }
}
