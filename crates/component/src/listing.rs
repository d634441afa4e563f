//! Imports and exports of a component, as its types say, without an instance.
//!
//! Types with a name are written out where they get it, and by their name elsewhere.

use std::collections::HashMap;

use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentDefinedType, ComponentDefinedTypeId, ComponentEntityType,
    ComponentFuncTypeId, ComponentValType, ResourceId,
};
use wasmparser::types::{Types, TypesRef};

/// An import or an export, or a part of one that is an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The name of the instance, or nothing.
    pub interface: String,
    /// The name there.
    pub name: String,
    /// Its type in the notation of WIT.
    pub text: String,
    /// The names of parameters, if it is a function.
    pub parameters: Vec<String>,
}

/// Imports and exports.
#[derive(Default)]
pub struct Listing {
    /// The things that it needs.
    pub imports: Vec<Row>,
    /// The things that it gives.
    pub exports: Vec<Row>,
}

impl Listing {
    pub(crate) fn new(types: &Types, imports: &[String], exports: &[String]) -> Listing {
        let mut writer = Writer {
            types: types.as_ref(),
            values: HashMap::new(),
            resources: HashMap::new(),
        };
        let mut listing = Listing::default();
        for name in imports {
            if let Some(item) = types.component_item_for_import(name) {
                writer.add(&mut listing.imports, "", name, item.ty);
            }
        }
        for name in exports {
            if let Some(item) = types.component_item_for_export(name) {
                writer.add(&mut listing.exports, "", name, item.ty);
            }
        }
        listing
    }
}

/// Writes types. Those that have a name are written out where they get it.
struct Writer<'a> {
    types: TypesRef<'a>,
    values: HashMap<ComponentDefinedTypeId, String>,
    resources: HashMap<ResourceId, String>,
}

/// Types inside of each other that are written out.
const DEPTH_MAX: usize = 4;

impl Writer<'_> {
    fn add(&mut self, rows: &mut Vec<Row>, interface: &str, name: &str, kind: ComponentEntityType) {
        let text = match kind {
            ComponentEntityType::Func(id) => self.function(id),
            ComponentEntityType::Instance(id) if interface.is_empty() => {
                let types = self.types;
                let exports = &types[id].exports;
                for (inner, item) in exports {
                    self.add(rows, name, inner, item.ty);
                }
                if !exports.is_empty() {
                    return;
                }
                "instance".to_owned()
            }
            ComponentEntityType::Instance(_) => "instance".to_owned(),
            ComponentEntityType::Type { created, .. } => match created {
                ComponentAnyTypeId::Resource(id) => {
                    let names = self.resources.entry(id.resource());
                    names.or_insert_with(|| name.to_owned());
                    "resource".to_owned()
                }
                ComponentAnyTypeId::Defined(id) => {
                    let text = self.value_of(id, 0);
                    self.values.insert(id, name.to_owned());
                    format!("type = {text}")
                }
                _ => "type".to_owned(),
            },
            ComponentEntityType::Module(_) => "module".to_owned(),
            ComponentEntityType::Component(_) => "component".to_owned(),
            ComponentEntityType::Value(kind) => format!("value {}", self.value(kind, 0)),
        };
        let parameters = match kind {
            ComponentEntityType::Func(id) => {
                let parameters = self.types[id].params.iter();
                parameters.map(|(name, _)| name.to_string()).collect()
            }
            _ => Vec::new(),
        };
        rows.push(Row {
            interface: interface.to_owned(),
            name: name.to_owned(),
            text,
            parameters,
        });
    }

    fn function(&self, id: ComponentFuncTypeId) -> String {
        let kind = &self.types[id];
        let parameters = kind.params.iter();
        let parameters: Vec<String> = parameters
            .map(|(name, kind)| format!("{name}: {}", self.value(*kind, 0)))
            .collect();
        let result = kind
            .result
            .map_or_else(String::new, |kind| format!(" -> {}", self.value(kind, 0)));
        format!("func({}){result}", parameters.join(", "))
    }

    fn value(&self, kind: ComponentValType, depth: usize) -> String {
        match kind {
            ComponentValType::Primitive(kind) => kind.to_string(),
            ComponentValType::Type(_) if depth > DEPTH_MAX => "…".to_owned(),
            ComponentValType::Type(id) => self.value_of(id, depth + 1),
        }
    }

    /// The name of a type, or of what it is another name of.
    fn value_of(&self, id: ComponentDefinedTypeId, depth: usize) -> String {
        let mut next = Some(id);
        while let Some(id) = next {
            if let Some(name) = self.values.get(&id) {
                return name.clone();
            }
            next = self.types.peel_alias(id);
        }
        self.defined(&self.types[id], depth)
    }

    fn resource(&self, id: ResourceId) -> String {
        let name = self.resources.get(&id);
        name.cloned().unwrap_or_else(|| "resource".to_owned())
    }

    fn defined(&self, kind: &ComponentDefinedType, depth: usize) -> String {
        let value = |kind: ComponentValType| self.value(kind, depth);
        let optional = |kind: Option<ComponentValType>| kind.map_or_else(|| "_".to_owned(), value);
        let list = |texts: Vec<String>| texts.join(", ");
        match kind {
            ComponentDefinedType::Primitive(kind) => kind.to_string(),
            ComponentDefinedType::Record(record) => {
                let fields = record.fields.iter();
                let fields = fields.map(|(name, kind)| format!("{name}: {}", value(*kind)));
                format!("record {{ {} }}", list(fields.collect()))
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter().map(|(name, case)| match case.ty {
                    Some(kind) => format!("{name}({})", value(kind)),
                    None => name.to_string(),
                });
                format!("variant {{ {} }}", list(cases.collect()))
            }
            ComponentDefinedType::List { element, .. } => format!("list<{}>", value(*element)),
            ComponentDefinedType::Map {
                key, value: held, ..
            } => {
                format!("map<{}, {}>", value(*key), value(*held))
            }
            ComponentDefinedType::FixedLengthList {
                element, length, ..
            } => {
                format!("list<{}, {length}>", value(*element))
            }
            ComponentDefinedType::Tuple(tuple) => {
                let kinds = tuple.types.iter().map(|kind| value(*kind));
                format!("tuple<{}>", list(kinds.collect()))
            }
            ComponentDefinedType::Flags(names) => {
                let names = names.iter().map(ToString::to_string);
                format!("flags {{ {} }}", list(names.collect()))
            }
            ComponentDefinedType::Enum(names) => {
                let names = names.iter().map(ToString::to_string);
                format!("enum {{ {} }}", list(names.collect()))
            }
            ComponentDefinedType::Option { ty, .. } => format!("option<{}>", value(*ty)),
            ComponentDefinedType::Result {
                ok: None,
                err: None,
                ..
            } => "result".to_owned(),
            ComponentDefinedType::Result { ok, err: None, .. } => {
                format!("result<{}>", optional(*ok))
            }
            ComponentDefinedType::Result { ok, err, .. } => {
                format!("result<{}, {}>", optional(*ok), optional(*err))
            }
            ComponentDefinedType::Own(id) => self.resource(id.resource()),
            ComponentDefinedType::Borrow(id) => format!("borrow<{}>", self.resource(id.resource())),
            ComponentDefinedType::Future { .. } => "future".to_owned(),
            ComponentDefinedType::Stream { .. } => "stream".to_owned(),
        }
    }
}
