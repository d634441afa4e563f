//! Making an instance of a component: its sections are carried out in their order.
//!
//! Types of resources are made anew for each instance, so that types are found out here and not when
//! a component is read.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use canny_wasm::{Error, Extern, Store, Trap};
use wasmparser::{
    CanonicalFunction, CanonicalOption, Chunk, ComponentAlias, ComponentExternalKind,
    ComponentInstance, ComponentType, ExternalKind, Instance as CoreInstance, Parser, Payload,
};

use crate::component::Component;
use crate::function::{Function, Lifted, Lowered, Operation, Outside, Source, resource_function};
use crate::imports::{Imports, ROOT};
use crate::instance::{Instance, Item};
use crate::options::{Encoding, Options};
use crate::resource::{Maker, Resource, State};
use crate::scope::{
    Nested, Provider, Scope, Scopes, Shared, Thing, Things, TypeThing, at, broken, exports,
    provide, type_thing,
};
use crate::types::FunctionType;

/// Something under construction.
struct Making<'c, 'i> {
    component: &'c Component,
    imports: &'i mut Imports,
    missing: Vec<String>,
    /// Places of calls that the embedder carries out; their numbers are these indices.
    sites: Vec<Lowered>,
    first_site: u32,
    instances: u32,
    /// Components that are being carried out, inside of each other.
    depth: u32,
}

/// Most instances of modules and components that a component may make. Few bytes can say that twice as
/// many are made at each level.
const INSTANCES_MAX: u32 = 10_000;

/// Most components that are carried out inside of each other.
const DEPTH_MAX: u32 = 100;

/// An instance that was made.
pub struct Made {
    /// The instance.
    pub instance: Instance,
    /// Functions of the embedder, by the numbers of their events. The first has the number that was
    /// given.
    pub sites: Vec<Lowered>,
}

impl Component {
    /// Makes an instance in a store. Calls of functions of the embedder are events with numbers from
    /// `first_site` on.
    pub fn instantiate(
        &self,
        store: &mut Store,
        imports: &mut Imports,
        first_site: u32,
    ) -> Result<Made, Error> {
        let mut making = Making {
            component: self,
            imports,
            missing: Vec::new(),
            sites: Vec::new(),
            first_site,
            instances: 0,
            depth: 0,
        };
        let scopes: Rc<Scopes<'_>> = Rc::default();
        let whole = Nested {
            place: 0..self.bytes().len(),
            scope: scopes.add(None, State::new(None)),
        };
        let things = making.component(store, &whole, None);
        let exports = things.map(|things| exports(&things));
        scopes.clear();
        Ok(Made {
            instance: Instance {
                exports: Arc::new(exports?),
            },
            sites: making.sites,
        })
    }
}

impl<'c> Making<'c, '_> {
    /// Counts an instance that is to be made.
    fn count_instance(&mut self) -> Result<(), Error> {
        self.instances += 1;
        if self.instances > INSTANCES_MAX {
            let text = format!("components that make more than {INSTANCES_MAX} instances");
            return Err(Error::Unsupported(text));
        }
        Ok(())
    }

    /// Carries out a component. The outermost one has no arguments, and finds its imports.
    fn component(
        &mut self,
        store: &mut Store,
        nested: &Nested<'c>,
        arguments: Option<&BTreeMap<String, Thing<'c>>>,
    ) -> Result<Things<'c>, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let text = format!("components with more than {DEPTH_MAX} inside of each other");
            return Err(Error::Unsupported(text));
        }
        let things = self.sections(store, nested, arguments)?;
        self.depth -= 1;
        Ok(things)
    }

    fn sections(
        &mut self,
        store: &mut Store,
        nested: &Nested<'c>,
        arguments: Option<&BTreeMap<String, Thing<'c>>>,
    ) -> Result<Things<'c>, Error> {
        let outer = arguments.is_some().then(|| Rc::clone(&nested.scope));
        let parent = outer
            .as_ref()
            .map(|scope| Arc::clone(&scope.borrow().state));
        let all = Rc::clone(&nested.scope.borrow().all);
        let scope = all.add(outer, State::new(parent));
        let mut exported = BTreeMap::new();
        let mut parser = Parser::new(nested.place.start as u64);
        let mut place = nested.place.start;
        let component = self.component;
        while place < nested.place.end {
            let bytes = &component.bytes()[place..nested.place.end];
            let Chunk::Parsed { consumed, payload } = parser.parse(bytes, true)? else {
                break;
            };
            place += consumed;
            match payload {
                Payload::ModuleSection {
                    unchecked_range, ..
                } => {
                    let found = component.module(unchecked_range.start as usize);
                    let module = found.cloned().ok_or_else(|| broken("module"))?;
                    scope.borrow_mut().modules.push(module);
                    place = unchecked_range.end as usize;
                }
                Payload::ComponentSection {
                    unchecked_range, ..
                } => {
                    let nested = Nested {
                        place: unchecked_range.start as usize..unchecked_range.end as usize,
                        scope: Rc::clone(&scope),
                    };
                    scope.borrow_mut().components.push(nested);
                    place = unchecked_range.end as usize;
                }
                Payload::ComponentImportSection(imports) => {
                    for import in imports {
                        let import = import?;
                        let name = import.name.name;
                        let thing = match arguments {
                            Some(arguments) => {
                                let given = arguments.get(name).cloned();
                                given.ok_or_else(|| broken("argument"))?
                            }
                            None => provide(self, &scope, &[name], import.ty)?,
                        };
                        scope.borrow_mut().push(thing);
                    }
                }
                Payload::ComponentExportSection(section) => {
                    for export in section {
                        let export = export?;
                        let name = export.name.name;
                        let thing = thing_at(&scope, export.kind, export.index)?;
                        if let Thing::Type(TypeThing::Resource(resource)) = &thing {
                            resource.name_it(name);
                        }
                        scope.borrow_mut().push(thing.clone());
                        exported.insert(name.to_owned(), thing);
                    }
                }
                payload => self.section(store, &scope, payload)?,
            }
        }
        self.check_imports()?;
        Ok(Rc::new(exported))
    }

    /// All missing imports are told at once.
    fn check_imports(&mut self) -> Result<(), Error> {
        if self.missing.is_empty() {
            Ok(())
        } else {
            Err(Error::Imports(std::mem::take(&mut self.missing)))
        }
    }

    /// Notes that something is missing. Interfaces of WASI are missing as a whole.
    fn miss(&mut self, path: &[&str], text: &str) {
        let text = match path {
            [interface, _] if interface.starts_with("wasi:") => {
                format!("the interface {interface} is missing")
            }
            _ => text.to_owned(),
        };
        if !self.missing.contains(&text) {
            self.missing.push(text);
        }
    }

    fn section(
        &mut self,
        store: &mut Store,
        scope: &Shared<'c>,
        payload: Payload<'c>,
    ) -> Result<(), Error> {
        match payload {
            Payload::InstanceSection(instances) => {
                self.check_imports()?;
                for instance in instances {
                    self.core_instance(store, scope, instance?)?;
                }
            }
            Payload::ComponentInstanceSection(instances) => {
                self.check_imports()?;
                for instance in instances {
                    let things = self.instance(store, scope, instance?)?;
                    scope.borrow_mut().instances.push(things);
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases {
                    match alias? {
                        ComponentAlias::InstanceExport {
                            instance_index,
                            name,
                            ..
                        } => scope.borrow_mut().alias_export(instance_index, name)?,
                        ComponentAlias::CoreInstanceExport {
                            instance_index,
                            name,
                            ..
                        } => alias_core(scope, instance_index, name)?,
                        ComponentAlias::Outer { kind, count, index } => {
                            scope.borrow_mut().alias_outer(kind, count, index)?;
                        }
                    }
                }
            }
            Payload::ComponentTypeSection(types) => {
                for kind in types {
                    let thing = match kind? {
                        ComponentType::Resource { dtor, .. } => {
                            let scope = scope.borrow();
                            let destructor = dtor
                                .map(|index| at(&scope.core_functions, index, "function"))
                                .transpose()?;
                            TypeThing::Resource(Resource::new(Maker::Guest {
                                state: Arc::clone(&scope.state),
                                destructor,
                            }))
                        }
                        kind => type_thing(scope, kind)?,
                    };
                    scope.borrow_mut().types.push(thing);
                }
            }
            Payload::ComponentCanonicalSection(functions) => {
                for function in functions {
                    self.canonical(store, scope, function?)?;
                }
            }
            Payload::ComponentStartSection { .. } => {
                return Err(Error::Unsupported("start functions of components".into()));
            }
            _ => {}
        }
        Ok(())
    }

    fn core_instance(
        &mut self,
        store: &mut Store,
        scope: &Shared<'c>,
        instance: CoreInstance<'c>,
    ) -> Result<(), Error> {
        self.count_instance()?;
        let made = match instance {
            CoreInstance::Instantiate { module_index, args } => {
                let module = at(&scope.borrow().modules, module_index, "module")?;
                let mut given = Vec::new();
                for import in module.imports() {
                    let mut named = args.iter().filter(|it| it.name == import.module);
                    let from = named.next().map(|it| it.index);
                    given.push(from.and_then(|index| {
                        let scope = scope.borrow();
                        let exports = scope.core_instances.get(index as usize)?;
                        exports.get(&import.name).copied()
                    }));
                }
                let (instance, start) = store.prepare(&module, &given)?;
                if let Some(start) = start {
                    store.call(start, &[])?;
                }
                instance.exports(store).into_iter().collect()
            }
            CoreInstance::FromExports(exports) => {
                let exports = exports.iter();
                let exports = exports.map(|export| {
                    Ok((
                        export.name.to_owned(),
                        core_at(scope, export.kind, export.index)?,
                    ))
                });
                exports.collect::<Result<HashMap<_, _>, Error>>()?
            }
        };
        scope.borrow_mut().core_instances.push(Rc::new(made));
        Ok(())
    }

    fn instance(
        &mut self,
        store: &mut Store,
        scope: &Shared<'c>,
        instance: ComponentInstance<'c>,
    ) -> Result<Things<'c>, Error> {
        self.count_instance()?;
        match instance {
            ComponentInstance::Instantiate {
                component_index,
                args,
            } => {
                let nested = at(&scope.borrow().components, component_index, "component")?;
                let mut arguments = BTreeMap::new();
                for argument in &args {
                    let thing = thing_at(scope, argument.kind, argument.index)?;
                    arguments.insert(argument.name.to_owned(), thing);
                }
                self.component(store, &nested, Some(&arguments))
            }
            ComponentInstance::FromExports(list) => {
                let mut things = BTreeMap::new();
                for export in &list {
                    let thing = thing_at(scope, export.kind, export.index)?;
                    things.insert(export.name.name.to_owned(), thing);
                }
                Ok(Rc::new(things))
            }
        }
    }

    fn canonical(
        &mut self,
        store: &mut Store,
        scope: &Shared<'c>,
        function: CanonicalFunction,
    ) -> Result<(), Error> {
        let state = Arc::clone(&scope.borrow().state);
        let made = match function {
            CanonicalFunction::Lift {
                core_func_index,
                type_index,
                options,
            } => {
                let lifted = {
                    let scope = scope.borrow();
                    Lifted {
                        kind: scope.function_type(type_index)?,
                        function: at(&scope.core_functions, core_func_index, "function")?,
                        options: read_options(&scope, &options)?,
                        state,
                    }
                };
                let function = Function(Source::Lifted(Arc::new(lifted)));
                scope.borrow_mut().functions.push(function);
                return Ok(());
            }
            CanonicalFunction::Lower {
                func_index,
                options,
            } => {
                let lowered = {
                    let scope = scope.borrow();
                    Lowered {
                        callee: at(&scope.functions, func_index, "function")?,
                        options: read_options(&scope, &options)?,
                        state,
                    }
                };
                self.lower(store, lowered)
            }
            CanonicalFunction::ResourceNew { resource } => {
                let resource = scope.borrow().resource_at(resource)?;
                resource_function(store, resource, state, Operation::New)
            }
            CanonicalFunction::ResourceDrop { resource } => {
                let resource = scope.borrow().resource_at(resource)?;
                resource_function(store, resource, state, Operation::Drop)
            }
            CanonicalFunction::ResourceRep { resource } => {
                let resource = scope.borrow().resource_at(resource)?;
                resource_function(store, resource, state, Operation::Representation)
            }
            _ => {
                let text = "functions of components for tasks, threads, streams and futures";
                return Err(Error::Unsupported(text.into()));
            }
        };
        scope.borrow_mut().core_functions.push(made);
        Ok(())
    }

    fn lower(&mut self, store: &mut Store, lowered: Lowered) -> canny_wasm::Function {
        if let Source::Outside(_) = lowered.callee.0 {
            let number = self.first_site + self.sites.len() as u32;
            let kind = lowered.callee.kind().lowered();
            self.sites.push(lowered);
            return store.outside_function(kind, number);
        }
        lowered.function(store)
    }

    /// The thing that the embedder has given for an import, or for a part of it.
    fn given(&self, path: &[&str]) -> Option<Item> {
        let (first, rest) = path.split_first()?;
        let mut item = self.imports.item(first)?;
        for name in rest {
            let Item::Instance(exports) = item else {
                return None;
            };
            item = exports.get(*name)?;
        }
        Some(item.clone())
    }
}

/// The interface and the name of an import.
fn split(path: &[&str]) -> (String, String) {
    match path.split_last() {
        Some((name, rest)) if !rest.is_empty() => (rest.join("/"), (*name).to_owned()),
        Some((name, _)) => (ROOT.to_owned(), (*name).to_owned()),
        None => (ROOT.to_owned(), String::new()),
    }
}

impl<'c> Provider<'c> for Making<'c, '_> {
    fn resource(&mut self, path: &[&str]) -> Resource {
        if let Some(Item::Resource(resource)) = self.given(path) {
            return resource;
        }
        let (interface, name) = split(path);
        if let Some(resource) = self.imports.resource(&interface, &name) {
            return resource;
        }
        let text = format!("the resource {} is missing", path.join("#"));
        self.miss(path, &text);
        let placeholder = Resource::new(Maker::Guest {
            state: State::new(None),
            destructor: None,
        });
        placeholder.name_it(&name);
        placeholder
    }

    fn function(&mut self, path: &[&str], kind: &Arc<FunctionType>) -> Function {
        if let Some(Item::Function(function)) = self.given(path) {
            if !function.kind().matches(kind) {
                self.missing.push(format!(
                    "{} is a {}, not a {}",
                    path.join("#"),
                    function.kind().text(),
                    kind.text()
                ));
            }
            return function;
        }
        let (interface, name) = split(path);
        if self.imports.is_outside(&interface, &name) {
            return Function(Source::Outside(Arc::new(Outside {
                kind: Arc::clone(kind),
                names: (interface, name),
            })));
        }
        if let Some(body) = self.imports.host_function(&interface, &name) {
            return Function::host(Arc::clone(kind), body);
        }
        let (name, type_text) = (path.join("#"), kind.text());
        let text = format!("the function {name} of type {type_text} is missing");
        self.miss(path, &text);
        let nothing = |_: &mut Store, _: &[crate::value::Value]| {
            Err(Trap::Host("a function that is missing was called".into()))
        };
        Function::host(Arc::clone(kind), Box::new(nothing))
    }

    fn other(&mut self, path: &[&str]) -> Thing<'c> {
        if let Some(Item::Module(module)) = self.given(path) {
            return Thing::Module(module);
        }
        let text = format!("the module or component {} is missing", path.join("#"));
        self.miss(path, &text);
        Thing::Other
    }
}

fn thing_at<'a>(
    scope: &Shared<'a>,
    kind: ComponentExternalKind,
    index: u32,
) -> Result<Thing<'a>, Error> {
    let scope = scope.borrow();
    Ok(match kind {
        ComponentExternalKind::Module => Thing::Module(at(&scope.modules, index, "module")?),
        ComponentExternalKind::Func => Thing::Function(at(&scope.functions, index, "function")?),
        ComponentExternalKind::Type => Thing::Type(at(&scope.types, index, "type")?),
        ComponentExternalKind::Instance => {
            Thing::Instance(at(&scope.instances, index, "instance")?)
        }
        ComponentExternalKind::Component => {
            Thing::Component(at(&scope.components, index, "component")?)
        }
        ComponentExternalKind::Value => return Err(broken("value")),
    })
}

fn core_at(scope: &Shared<'_>, kind: ExternalKind, index: u32) -> Result<Extern, Error> {
    let scope = scope.borrow();
    Ok(match kind {
        ExternalKind::Func | ExternalKind::FuncExact => {
            Extern::Function(at(&scope.core_functions, index, "function")?)
        }
        ExternalKind::Table => Extern::Table(at(&scope.tables, index, "table")?),
        ExternalKind::Memory => Extern::Memory(at(&scope.memories, index, "memory")?),
        ExternalKind::Global => Extern::Global(at(&scope.globals, index, "global variable")?),
        ExternalKind::Tag => Extern::Tag(at(&scope.tags, index, "tag")?),
    })
}

fn alias_core(scope: &Shared<'_>, instance: u32, name: &str) -> Result<(), Error> {
    let found = at(&scope.borrow().core_instances, instance, "instance")?;
    let export = found.get(name).ok_or_else(|| broken("export"))?;
    let mut scope = scope.borrow_mut();
    match *export {
        Extern::Function(function) => scope.core_functions.push(function),
        Extern::Table(number) => scope.tables.push(number),
        Extern::Memory(number) => scope.memories.push(number),
        Extern::Global(global) => scope.globals.push(global),
        Extern::Tag(tag) => scope.tags.push(tag),
    }
    Ok(())
}

fn read_options(scope: &Scope<'_>, options: &[CanonicalOption]) -> Result<Options, Error> {
    let mut read = Options::default();
    for option in options {
        match option {
            CanonicalOption::UTF8 => read.encoding = Encoding::Utf8,
            CanonicalOption::UTF16 => read.encoding = Encoding::Utf16,
            CanonicalOption::CompactUTF16 => read.encoding = Encoding::Compact,
            CanonicalOption::Memory(index) => {
                read.memory = Some(at(&scope.memories, *index, "memory")?);
            }
            CanonicalOption::Realloc(index) => {
                read.realloc = Some(at(&scope.core_functions, *index, "function")?);
            }
            CanonicalOption::PostReturn(index) => {
                read.post_return = Some(at(&scope.core_functions, *index, "function")?);
            }
            CanonicalOption::Async
            | CanonicalOption::Callback(_)
            | CanonicalOption::CoreType(_)
            | CanonicalOption::Gc => {
                let text = "asynchronous functions and garbage-collected values of components";
                return Err(Error::Unsupported(text.into()));
            }
        }
    }
    Ok(read)
}
