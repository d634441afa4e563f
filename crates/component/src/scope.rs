//! Index spaces while an instance is made, and the types in them.
//!
//! A component or a type of instances that is inside of another sees the spaces around it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use canny_wasm::{Error, Extern, Global, Module, Tag};
use wasmparser::{
    ComponentAlias, ComponentDefinedType, ComponentFuncType, ComponentOuterAliasKind,
    ComponentType, ComponentTypeRef, ComponentValType, InstanceTypeDeclaration, PrimitiveValType,
    TypeBounds,
};

use crate::function::Function;
use crate::instance::{Exports, Item};
use crate::resource::{Resource, State};
use crate::types::{FunctionType, Shape, Type};

/// A scope that those inside of it share.
pub type Shared<'a> = Rc<RefCell<Scope<'a>>>;

/// All scopes that are made for an instance. They refer to each other in circles, and are emptied when
/// it is there.
#[derive(Default)]
pub struct Scopes<'a>(RefCell<Vec<Weak<RefCell<Scope<'a>>>>>);

impl<'a> Scopes<'a> {
    /// A new scope.
    pub fn add(self: &Rc<Scopes<'a>>, parent: Option<Shared<'a>>, state: Arc<State>) -> Shared<'a> {
        let scope = Scope::new(parent, state, Rc::clone(self));
        let scope = Rc::new(RefCell::new(scope));
        self.0.borrow_mut().push(Rc::downgrade(&scope));
        scope
    }

    /// Empties all scopes.
    pub fn clear(&self) {
        let scopes = self.0.take();
        for scope in scopes.iter().filter_map(Weak::upgrade) {
            let parts = {
                let mut scope = scope.borrow_mut();
                (
                    scope.parent.take(),
                    std::mem::take(&mut scope.types),
                    std::mem::take(&mut scope.instances),
                    std::mem::take(&mut scope.components),
                )
            };
            drop(parts);
        }
    }
}

/// Index spaces.
pub struct Scope<'a> {
    pub all: Rc<Scopes<'a>>,
    pub parent: Option<Shared<'a>>,
    pub state: Arc<State>,
    pub core_functions: Vec<canny_wasm::Function>,
    pub tables: Vec<u32>,
    pub memories: Vec<u32>,
    pub globals: Vec<Global>,
    pub tags: Vec<Tag>,
    pub modules: Vec<Module>,
    pub core_instances: Vec<Rc<HashMap<String, Extern>>>,
    pub functions: Vec<Function>,
    pub types: Vec<TypeThing<'a>>,
    pub instances: Vec<Things<'a>>,
    pub components: Vec<Nested<'a>>,
}

/// A component inside of another.
#[derive(Clone)]
pub struct Nested<'a> {
    pub place: Range<usize>,
    pub scope: Shared<'a>,
}

/// Exports of an instance, by name.
pub type Things<'a> = Rc<BTreeMap<String, Thing<'a>>>;

/// Something with a name.
#[derive(Clone)]
pub enum Thing<'a> {
    Function(Function),
    Instance(Things<'a>),
    Type(TypeThing<'a>),
    Module(Module),
    Component(Nested<'a>),
    Other,
}

/// Something in the space of types.
#[derive(Clone)]
pub enum TypeThing<'a> {
    Value(Arc<Type>),
    Function(Arc<FunctionType>),
    Resource(Resource),
    Instance(Rc<Vec<InstanceTypeDeclaration<'a>>>, Shared<'a>),
    Other,
}

/// A fault in a component that the validator should have found.
pub fn broken(text: &str) -> Error {
    Error::Invalid {
        text: format!("the component has no {text} of that index"),
        offset: 0,
    }
}

pub fn at<T: Clone>(space: &[T], index: u32, name: &str) -> Result<T, Error> {
    space
        .get(index as usize)
        .cloned()
        .ok_or_else(|| broken(name))
}

impl<'a> Scope<'a> {
    fn new(parent: Option<Shared<'a>>, state: Arc<State>, all: Rc<Scopes<'a>>) -> Scope<'a> {
        Scope {
            all,
            parent,
            state,
            core_functions: Vec::new(),
            tables: Vec::new(),
            memories: Vec::new(),
            globals: Vec::new(),
            tags: Vec::new(),
            modules: Vec::new(),
            core_instances: Vec::new(),
            functions: Vec::new(),
            types: Vec::new(),
            instances: Vec::new(),
            components: Vec::new(),
        }
    }

    /// Puts something into its space.
    pub fn push(&mut self, thing: Thing<'a>) {
        match thing {
            Thing::Function(function) => self.functions.push(function),
            Thing::Instance(things) => self.instances.push(things),
            Thing::Type(thing) => self.types.push(thing),
            Thing::Module(module) => self.modules.push(module),
            Thing::Component(nested) => self.components.push(nested),
            Thing::Other => {}
        }
    }

    /// Puts something of an outer scope into its space.
    pub fn alias_outer(
        &mut self,
        kind: ComponentOuterAliasKind,
        count: u32,
        index: u32,
    ) -> Result<(), Error> {
        if count == 0 {
            let thing = self.outer_thing(kind, index)?;
            self.push(thing);
            return Ok(());
        }
        let mut scope = self.parent.clone();
        for _ in 1..count {
            scope = scope.and_then(|scope| scope.borrow().parent.clone());
        }
        let scope = scope.ok_or_else(|| broken("outer component"))?;
        let thing = scope.borrow().outer_thing(kind, index)?;
        self.push(thing);
        Ok(())
    }

    fn outer_thing(&self, kind: ComponentOuterAliasKind, index: u32) -> Result<Thing<'a>, Error> {
        Ok(match kind {
            ComponentOuterAliasKind::CoreModule => {
                Thing::Module(at(&self.modules, index, "module")?)
            }
            ComponentOuterAliasKind::CoreType => Thing::Other,
            ComponentOuterAliasKind::Type => Thing::Type(at(&self.types, index, "type")?),
            ComponentOuterAliasKind::Component => {
                Thing::Component(at(&self.components, index, "component")?)
            }
        })
    }

    /// Puts an export of an instance into its space.
    pub fn alias_export(&mut self, instance: u32, name: &str) -> Result<(), Error> {
        let things = at(&self.instances, instance, "instance")?;
        let thing = things.get(name).cloned();
        self.push(thing.ok_or_else(|| broken("export"))?);
        Ok(())
    }

    fn value(&self, kind: ComponentValType) -> Result<Arc<Type>, Error> {
        match kind {
            ComponentValType::Primitive(kind) => Ok(Arc::new(Type::new(primitive(kind)?))),
            ComponentValType::Type(index) => match self.types.get(index as usize) {
                Some(TypeThing::Value(kind)) => Ok(Arc::clone(kind)),
                _ => Err(broken("type of values")),
            },
        }
    }

    fn optional(&self, kind: Option<ComponentValType>) -> Result<Option<Arc<Type>>, Error> {
        kind.map(|kind| self.value(kind)).transpose()
    }

    fn resource(&self, index: u32) -> Result<Resource, Error> {
        match self.types.get(index as usize) {
            Some(TypeThing::Resource(resource)) => Ok(resource.clone()),
            _ => Err(broken("type of resources")),
        }
    }

    /// A type of resources by its index.
    pub fn resource_at(&self, index: u32) -> Result<Resource, Error> {
        self.resource(index)
    }

    /// A type of functions by its index.
    pub fn function_type(&self, index: u32) -> Result<Arc<FunctionType>, Error> {
        match self.types.get(index as usize) {
            Some(TypeThing::Function(kind)) => Ok(Arc::clone(kind)),
            _ => Err(broken("type of functions")),
        }
    }

    fn defined(&self, kind: &ComponentDefinedType<'a>) -> Result<Type, Error> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let shape = match kind {
            ComponentDefinedType::Primitive(kind) => primitive(*kind)?,
            ComponentDefinedType::Record(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, kind)| Ok(((*name).to_owned(), self.value(*kind)?)));
                Shape::Record(fields.collect::<Result<_, Error>>()?)
            }
            ComponentDefinedType::Variant(cases) => {
                let cases = cases.iter();
                let cases = cases.map(|case| Ok((case.name.to_owned(), self.optional(case.ty)?)));
                Shape::Variant(cases.collect::<Result<_, Error>>()?)
            }
            ComponentDefinedType::List(kind) => Shape::List(self.value(*kind)?),
            ComponentDefinedType::Tuple(kinds) => {
                let kinds = kinds.iter().map(|kind| self.value(*kind));
                Shape::Tuple(kinds.collect::<Result<_, _>>()?)
            }
            ComponentDefinedType::Flags(flags) => Shape::Flags(names(flags)),
            ComponentDefinedType::Enum(cases) => Shape::Enum(names(cases)),
            ComponentDefinedType::Option(kind) => Shape::Option(self.value(*kind)?),
            ComponentDefinedType::Result { ok, err } => {
                Shape::Result(self.optional(*ok)?, self.optional(*err)?)
            }
            ComponentDefinedType::Own(index) => Shape::Own(self.resource(*index)?),
            ComponentDefinedType::Borrow(index) => Shape::Borrow(self.resource(*index)?),
            // A map is passed as its entries.
            ComponentDefinedType::Map(key, value) => {
                let entry = vec![self.value(*key)?, self.value(*value)?];
                Shape::List(Arc::new(Type::new(Shape::Tuple(entry))))
            }
            ComponentDefinedType::FixedLengthList(kind, count) => {
                Shape::FixedList(self.value(*kind)?, *count)
            }
            ComponentDefinedType::Future(_) | ComponentDefinedType::Stream(_) => {
                return Err(Error::Unsupported(
                    "futures and streams of components".into(),
                ));
            }
        };
        Ok(Type::new(shape))
    }

    fn function(&self, kind: &ComponentFuncType<'a>) -> Result<FunctionType, Error> {
        let parameters = kind.params.iter();
        let parameters =
            parameters.map(|(name, kind)| Ok(((*name).to_owned(), self.value(*kind)?)));
        let parameters = parameters.collect::<Result<_, Error>>()?;
        Ok(FunctionType::new(parameters, self.optional(kind.result)?))
    }
}

/// A type that is not one of resources.
pub fn type_thing<'a>(scope: &Shared<'a>, kind: ComponentType<'a>) -> Result<TypeThing<'a>, Error> {
    Ok(match kind {
        ComponentType::Defined(kind) => TypeThing::Value(Arc::new(scope.borrow().defined(&kind)?)),
        ComponentType::Func(kind) => TypeThing::Function(Arc::new(scope.borrow().function(&kind)?)),
        ComponentType::Instance(declarations) => {
            TypeThing::Instance(Rc::new(declarations.into_vec()), Rc::clone(scope))
        }
        ComponentType::Component(_) | ComponentType::Resource { .. } => TypeThing::Other,
    })
}

/// Gives the things that a type of instances demands.
pub trait Provider<'a> {
    /// A type of resources.
    fn resource(&mut self, path: &[&str]) -> Resource;
    /// A function.
    fn function(&mut self, path: &[&str], kind: &Arc<FunctionType>) -> Function;
    /// A module or a component.
    fn other(&mut self, path: &[&str]) -> Thing<'a>;
}

/// The thing for an import or an export of that type.
pub fn provide<'a>(
    provider: &mut dyn Provider<'a>,
    scope: &Shared<'a>,
    path: &[&str],
    kind: ComponentTypeRef,
) -> Result<Thing<'a>, Error> {
    Ok(match kind {
        ComponentTypeRef::Func(index) => {
            let kind = scope.borrow().function_type(index)?;
            Thing::Function(provider.function(path, &kind))
        }
        ComponentTypeRef::Type(TypeBounds::Eq(index)) => {
            Thing::Type(at(&scope.borrow().types, index, "type")?)
        }
        ComponentTypeRef::Type(TypeBounds::SubResource) => {
            Thing::Type(TypeThing::Resource(provider.resource(path)))
        }
        ComponentTypeRef::Instance(index) => {
            let found = at(&scope.borrow().types, index, "type")?;
            let TypeThing::Instance(declarations, outer) = found else {
                return Err(broken("type of instances"));
            };
            let things = provide_instance(provider, &declarations, &outer, path)?;
            Thing::Instance(Rc::new(things))
        }
        ComponentTypeRef::Module(_) | ComponentTypeRef::Component(_) => provider.other(path),
        ComponentTypeRef::Value(_) => Thing::Other,
    })
}

/// The exports that declarations of a type of instances demand.
fn provide_instance<'a>(
    provider: &mut dyn Provider<'a>,
    declarations: &[InstanceTypeDeclaration<'a>],
    outer: &Shared<'a>,
    path: &[&str],
) -> Result<BTreeMap<String, Thing<'a>>, Error> {
    let state = Arc::clone(&outer.borrow().state);
    let scope = {
        let all = Rc::clone(&outer.borrow().all);
        all.add(Some(Rc::clone(outer)), state)
    };
    let mut things = BTreeMap::new();
    for declaration in declarations {
        match declaration {
            InstanceTypeDeclaration::CoreType(_) => {}
            InstanceTypeDeclaration::Type(kind) => {
                let thing = type_thing(&scope, kind.clone())?;
                scope.borrow_mut().types.push(thing);
            }
            InstanceTypeDeclaration::Alias(ComponentAlias::Outer { kind, count, index }) => {
                scope.borrow_mut().alias_outer(*kind, *count, *index)?;
            }
            InstanceTypeDeclaration::Alias(ComponentAlias::InstanceExport {
                instance_index,
                name,
                ..
            }) => scope.borrow_mut().alias_export(*instance_index, name)?,
            InstanceTypeDeclaration::Alias(ComponentAlias::CoreInstanceExport { .. }) => {}
            InstanceTypeDeclaration::Export { name, ty } => {
                let mut inner = path.to_vec();
                inner.push(name.name);
                let thing = provide(provider, &scope, &inner, *ty)?;
                scope.borrow_mut().push(thing.clone());
                things.insert(name.name.to_owned(), thing);
            }
        }
    }
    Ok(things)
}

/// Things as the embedder has them.
pub fn exports(things: &BTreeMap<String, Thing<'_>>) -> Exports {
    let items = things.iter();
    items
        .map(|(name, thing)| (name.clone(), item(thing)))
        .collect()
}

fn item(thing: &Thing<'_>) -> Item {
    match thing {
        Thing::Function(function) => Item::Function(function.clone()),
        Thing::Instance(things) => Item::Instance(Arc::new(exports(things))),
        Thing::Type(TypeThing::Value(kind)) => Item::Type(Arc::clone(kind)),
        Thing::Type(TypeThing::Resource(resource)) => Item::Resource(resource.clone()),
        Thing::Module(module) => Item::Module(module.clone()),
        Thing::Type(_) | Thing::Component(_) | Thing::Other => Item::Other,
    }
}

fn primitive(kind: PrimitiveValType) -> Result<Shape, Error> {
    Ok(match kind {
        PrimitiveValType::Bool => Shape::Bool,
        PrimitiveValType::S8 => Shape::S8,
        PrimitiveValType::U8 => Shape::U8,
        PrimitiveValType::S16 => Shape::S16,
        PrimitiveValType::U16 => Shape::U16,
        PrimitiveValType::S32 => Shape::S32,
        PrimitiveValType::U32 => Shape::U32,
        PrimitiveValType::S64 => Shape::S64,
        PrimitiveValType::U64 => Shape::U64,
        PrimitiveValType::F32 => Shape::F32,
        PrimitiveValType::F64 => Shape::F64,
        PrimitiveValType::Char => Shape::Char,
        PrimitiveValType::String => Shape::String,
        PrimitiveValType::ErrorContext => {
            return Err(Error::Unsupported("error contexts of components".into()));
        }
    })
}
