//! Things that a component is given for its imports.
//!
//! Types of resources of the host are made here, once for all components that get the same things.

use std::collections::HashMap;
use std::sync::Arc;

use canny_locks::Mutex;

use crate::host::{Destructor, Host, HostFunction};
use crate::instance::Item;
use crate::resource::{Maker, Resource};

/// The interface of imports that stand alone.
pub const ROOT: &str = "";

/// Things for imports, searched in this order: those given by name, interfaces of the host, and
/// functions of the embedder.
///
/// Types of resources of the host are the same for all components that are made with one of these.
#[derive(Default)]
pub struct Imports {
    items: HashMap<String, Item>,
    hosts: Vec<Arc<dyn Host>>,
    outside: Box<dyn OutsideNames>,
    resources: HashMap<(String, String), Resource>,
}

/// Says which functions the embedder carries out.
pub trait OutsideNames: Send {
    /// Whether the function of that interface is one of them. Imports that stand alone have the
    /// interface [`ROOT`].
    fn has(&self, interface: &str, name: &str) -> bool;

    /// The destructor of a type of resources that the embedder makes, or nothing.
    fn resource(&self, interface: &str, name: &str) -> Option<Destructor>;
}

struct NoNames;

impl OutsideNames for NoNames {
    fn has(&self, _: &str, _: &str) -> bool {
        false
    }

    fn resource(&self, _: &str, _: &str) -> Option<Destructor> {
        None
    }
}

impl Default for Box<dyn OutsideNames> {
    fn default() -> Self {
        Box::new(NoNames)
    }
}

impl Imports {
    /// Adds the thing that is imported under a name.
    pub fn add(&mut self, name: &str, item: Item) {
        self.items.insert(name.to_owned(), item);
    }

    /// Adds interfaces of the host.
    pub fn add_host(&mut self, host: Arc<dyn Host>) {
        self.hosts.push(host);
    }

    /// Sets which functions the embedder carries out.
    pub fn set_outside(&mut self, names: Box<dyn OutsideNames>) {
        self.outside = names;
    }

    pub(crate) fn item(&self, name: &str) -> Option<&Item> {
        self.items.get(name)
    }

    pub(crate) fn is_outside(&self, interface: &str, name: &str) -> bool {
        self.outside.has(interface, name)
    }

    pub(crate) fn host_function(&self, interface: &str, name: &str) -> Option<HostFunction> {
        self.hosts
            .iter()
            .find_map(|host| host.function(interface, name))
    }

    /// A type of resources of the host. All versions of an interface have the same.
    pub(crate) fn resource(&mut self, interface: &str, name: &str) -> Option<Resource> {
        let unversioned = interface.split('@').next().unwrap_or(interface);
        let key = (unversioned.to_owned(), name.to_owned());
        if let Some(resource) = self.resources.get(&key) {
            return Some(resource.clone());
        }
        let outside = self.outside.resource(interface, name);
        let is_outside = outside.is_some();
        let mut hosts = self.hosts.iter();
        let destructor =
            outside.or_else(|| hosts.find_map(|host| host.resource(interface, name)))?;
        let resource = Resource::new(Maker::Host {
            destructor: Mutex::new(destructor),
            is_outside,
        });
        resource.name_it(name);
        self.resources.insert(key, resource.clone());
        Some(resource)
    }
}
