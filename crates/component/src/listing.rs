//! What a component imports and exports, as its types say, without an instance.

use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentDefinedType, ComponentEntityType, ComponentFuncTypeId,
    ComponentValType,
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
}

/// Imports and exports.
#[derive(Default)]
pub struct Listing {
    /// What it needs.
    pub imports: Vec<Row>,
    /// What it gives.
    pub exports: Vec<Row>,
}

impl Listing {
    pub(crate) fn new(types: &Types, imports: &[String], exports: &[String]) -> Listing {
        let types = types.as_ref();
        let mut listing = Listing::default();
        for name in imports {
            if let Some(item) = types.component_item_for_import(name) {
                add(&mut listing.imports, types, "", name, item.ty);
            }
        }
        for name in exports {
            if let Some(item) = types.component_item_for_export(name) {
                add(&mut listing.exports, types, "", name, item.ty);
            }
        }
        listing
    }
}

fn add(
    rows: &mut Vec<Row>,
    types: TypesRef<'_>,
    interface: &str,
    name: &str,
    kind: ComponentEntityType,
) {
    let text = match kind {
        ComponentEntityType::Func(id) => function(types, id),
        ComponentEntityType::Instance(id) if interface.is_empty() => {
            let exports = &types[id].exports;
            for (inner, item) in exports {
                add(rows, types, name, inner, item.ty);
            }
            if !exports.is_empty() {
                return;
            }
            "instance".to_owned()
        }
        ComponentEntityType::Instance(_) => "instance".to_owned(),
        ComponentEntityType::Type { created, .. } => match created {
            ComponentAnyTypeId::Resource(_) => "resource".to_owned(),
            ComponentAnyTypeId::Defined(id) => {
                format!("type = {}", defined(types, &types[id], 0))
            }
            _ => "type".to_owned(),
        },
        ComponentEntityType::Module(_) => "module".to_owned(),
        ComponentEntityType::Component(_) => "component".to_owned(),
        ComponentEntityType::Value(kind) => format!("value {}", value(types, kind, 0)),
    };
    rows.push(Row {
        interface: interface.to_owned(),
        name: name.to_owned(),
        text,
    });
}

fn function(types: TypesRef<'_>, id: ComponentFuncTypeId) -> String {
    let kind = &types[id];
    let parameters = kind.params.iter();
    let parameters: Vec<String> = parameters
        .map(|(name, kind)| format!("{name}: {}", value(types, *kind, 0)))
        .collect();
    let result = kind
        .result
        .map_or_else(String::new, |kind| format!(" -> {}", value(types, kind, 0)));
    format!("func({}){result}", parameters.join(", "))
}

/// Types inside of each other that are written out.
const DEPTH_MAX: usize = 4;

fn value(types: TypesRef<'_>, kind: ComponentValType, depth: usize) -> String {
    match kind {
        ComponentValType::Primitive(kind) => kind.to_string(),
        ComponentValType::Type(_) if depth > DEPTH_MAX => "…".to_owned(),
        ComponentValType::Type(id) => defined(types, &types[id], depth + 1),
    }
}

fn defined(types: TypesRef<'_>, kind: &ComponentDefinedType, depth: usize) -> String {
    let value = |kind: ComponentValType| value(types, kind, depth);
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
            format!(
                "tuple<{}>",
                list(tuple.types.iter().map(|kind| value(*kind)).collect())
            )
        }
        ComponentDefinedType::Flags(names) => {
            format!(
                "flags {{ {} }}",
                list(names.iter().map(ToString::to_string).collect())
            )
        }
        ComponentDefinedType::Enum(names) => {
            format!(
                "enum {{ {} }}",
                list(names.iter().map(ToString::to_string).collect())
            )
        }
        ComponentDefinedType::Option { ty, .. } => format!("option<{}>", value(*ty)),
        ComponentDefinedType::Result {
            ok: None,
            err: None,
            ..
        } => "result".to_owned(),
        ComponentDefinedType::Result { ok, err, .. } => {
            format!("result<{}, {}>", optional(*ok), optional(*err))
        }
        ComponentDefinedType::Own(_) => "resource".to_owned(),
        ComponentDefinedType::Borrow(_) => "borrow".to_owned(),
        ComponentDefinedType::Future { .. } => "future".to_owned(),
        ComponentDefinedType::Stream { .. } => "stream".to_owned(),
    }
}
