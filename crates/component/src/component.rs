//! Components as files have them: validated, with the modules that are in them.
//!
//! The sections of a component are read again for each instance, since they say how to make one.

use std::collections::HashMap;
use std::sync::Arc;

use canny_wasm::{Error, Module};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// A component. Clones are the same one.
#[derive(Clone)]
pub struct Component {
    shared: Arc<Shared>,
}

struct Shared {
    bytes: Vec<u8>,
    /// By the place where they begin.
    modules: HashMap<usize, Module>,
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
        if !Component::is_component(&bytes) {
            return Err(Error::Invalid {
                text: "this is no component".into(),
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
        for payload in Parser::new(0).parse_all(&bytes) {
            let payload = payload?;
            if let Payload::ModuleSection {
                unchecked_range, ..
            } = &payload
            {
                places.push(unchecked_range.start as usize..unchecked_range.end as usize);
            }
            // Functions are validated with their module below.
            validator.payload(&payload)?;
        }
        let mut modules = HashMap::new();
        for place in places {
            let start = place.start;
            let module = Module::new(bytes[place].to_vec()).map_err(|error| match error {
                Error::Invalid { text, offset } => Error::Invalid {
                    text,
                    offset: offset + start as u64,
                },
                error => error,
            })?;
            modules.insert(start, module);
        }
        Ok(Component {
            shared: Arc::new(Shared { bytes, modules }),
        })
    }

    /// Its modules, in the order of their places.
    pub fn modules(&self) -> Vec<&Module> {
        let mut modules: Vec<_> = self.shared.modules.iter().collect();
        modules.sort_by_key(|(place, _)| **place);
        modules.into_iter().map(|(_, module)| module).collect()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.shared.bytes
    }

    pub(crate) fn module(&self, place: usize) -> Option<&Module> {
        self.shared.modules.get(&place)
    }
}
