//! Instances of components: what they export, by name.
//!
//! Things of one instance may be given to another as its imports.

use std::collections::BTreeMap;
use std::sync::Arc;

use canny_wasm::Module;

use crate::function::Function;
use crate::resource::Resource;
use crate::types::Type;

/// Something that a component imports or exports.
#[derive(Clone)]
pub enum Item {
    /// A function.
    Function(Function),
    /// An instance, with its exports.
    Instance(Arc<Exports>),
    /// A type of values.
    Type(Arc<Type>),
    /// A type of resources.
    Resource(Resource),
    /// A module.
    Module(Module),
    /// A type of something else, or a component, of which only the component that has it makes use.
    Other,
}

/// Exports by name.
pub type Exports = BTreeMap<String, Item>;

/// An instance of a component.
pub struct Instance {
    /// Its exports.
    pub exports: Arc<Exports>,
}

impl Instance {
    /// All exported functions by the names that [`Instance::function`] takes.
    pub fn functions(&self) -> Vec<(String, Function)> {
        let mut found = Vec::new();
        for (name, item) in self.exports.iter() {
            match item {
                Item::Function(function) => found.push((name.clone(), function.clone())),
                Item::Instance(exports) => {
                    for (inner, item) in exports.iter() {
                        if let Item::Function(function) = item {
                            found.push((format!("{name}#{inner}"), function.clone()));
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// An exported function, whose name stands alone or behind that of an instance and `#`.
    pub fn function(&self, name: &str) -> Option<Function> {
        let (exports, name) = match name.split_once('#') {
            Some((instance, name)) => match self.exports.get(instance)? {
                Item::Instance(exports) => (exports, name),
                _ => return None,
            },
            None => (&self.exports, name),
        };
        match exports.get(name)? {
            Item::Function(function) => Some(function.clone()),
            _ => None,
        }
    }
}
