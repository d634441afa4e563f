//! Names of parameters, from a module's section of names.
//!
//! They are read when they are asked for: most programs never ask.

use std::collections::HashMap;

use crate::module::Module;
use crate::parts::Export;

impl Module {
    /// The names that the parameters of exported functions have, by the indices of functions. A section
    /// that is not valid has no names.
    pub fn parameter_names(&self) -> HashMap<u32, Vec<Option<String>>> {
        let indices = self
            .exports()
            .iter()
            .filter_map(|(_, export)| match export {
                Export::Function(index) => Some(*index),
                _ => None,
            });
        let nameless = |index: u32| vec![None; self.function_type(index).parameters.len()];
        let mut known: HashMap<u32, Vec<Option<String>>> =
            indices.map(|index| (index, nameless(index))).collect();
        let Some(bytes) = self.custom_section("name") else {
            return known;
        };
        let reader = wasmparser::BinaryReader::new(bytes, 0);
        for part in wasmparser::NameSectionReader::new(reader) {
            let Ok(wasmparser::Name::Local(functions)) = part else {
                continue;
            };
            for function in functions.into_iter().flatten() {
                let Some(names) = known.get_mut(&function.index) else {
                    continue;
                };
                for local in function.names.flatten() {
                    if let Some(place) = names.get_mut(local.index as usize) {
                        *place = Some(local.name.to_owned());
                    }
                }
            }
        }
        known
    }
}
