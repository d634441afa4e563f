//! Reading the sections of a module, which the validator has seen.
//!
//! Types are interned, and constant expressions become steps.

use wasmparser::{
    CompositeInnerType, DataKind, ElementItems, ElementKind, ExternalKind, Imports, Payload,
    TypeRef,
};

use crate::binary_types::{memory_type, unsupported, value_type};
use crate::constant::Constant;
use crate::definitions::{self, Composite, SubType};
use crate::error::Error;
use crate::parts::{Data, Elements, Export, ExternType, Import, Parts};
use crate::types::{FieldType, FunctionType, GlobalType, HeapType, Storage, TableType, ValueType};

/// Collects the parts of a module from its sections.
#[derive(Default)]
pub struct Reader {
    pub parts: Parts,
    own_types: Vec<u32>,
}

impl Reader {
    pub fn read(&mut self, payload: Payload) -> Result<(), Error> {
        match payload {
            Payload::TypeSection(groups) => {
                for group in groups {
                    self.group(group?)?;
                }
                self.parts.types = self.own_types.clone();
            }
            Payload::ImportSection(imports) => {
                for import in imports {
                    match import? {
                        Imports::Single(_, import) => self.import(import)?,
                        _ => return Err(unsupported("compact imports")),
                    }
                }
            }
            Payload::FunctionSection(functions) => {
                for kind in functions {
                    self.parts.functions.push(self.own_types[kind? as usize]);
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    let table = table?;
                    let value = match table.init {
                        wasmparser::TableInit::RefNull => None,
                        wasmparser::TableInit::Expr(value) => {
                            Some(Constant::read(&value, &self.own_types)?)
                        }
                    };
                    let kind = self.table_type(table.ty)?;
                    self.parts.tables.push(kind);
                    self.parts.table_values.push(value);
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    self.parts.memories.push(memory_type(memory?));
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    let kind = self.global_type(global.ty)?;
                    self.parts.globals.push(kind);
                    let value = Constant::read(&global.init_expr, &self.own_types)?;
                    self.parts.global_values.push(value);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    let what = match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => {
                            Export::Function(export.index)
                        }
                        ExternalKind::Table => Export::Table(export.index),
                        ExternalKind::Memory => Export::Memory(export.index),
                        ExternalKind::Global => Export::Global(export.index),
                        ExternalKind::Tag => Export::Tag(export.index),
                    };
                    self.parts.exports.push((export.name.to_owned(), what));
                }
            }
            Payload::TagSection(tags) => self.tags(tags)?,
            Payload::StartSection { func, .. } => self.parts.start = Some(func),
            Payload::ElementSection(segments) => {
                for segment in segments {
                    self.elements(segment?)?;
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    self.data(segment?)?;
                }
            }
            Payload::CodeSectionStart {
                unchecked_range, ..
            } => {
                self.parts.code_start = unchecked_range.start as usize;
            }
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                let range = range.start as usize..range.end as usize;
                self.parts.bodies.push(range);
            }
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Name(names) = section.as_known() {
                    self.names(names);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, segment: wasmparser::Data) -> Result<(), Error> {
        let active = match segment.kind {
            DataKind::Passive => None,
            DataKind::Active {
                memory_index,
                offset_expr,
            } => Some((memory_index, Constant::read(&offset_expr, &self.own_types)?)),
        };
        let end = segment.range.end as usize;
        let bytes = end - segment.data.len()..end;
        self.parts.data.push(Data { bytes, active });
        Ok(())
    }

    fn group(&mut self, group: wasmparser::RecGroup) -> Result<(), Error> {
        let start = self.own_types.len() as u32;
        let mut kinds = Vec::new();
        for kind in group.types() {
            kinds.push(self.sub_type(kind, start)?);
        }
        let count = kinds.len() as u32;
        let first = definitions::intern(kinds);
        self.own_types.extend(first..first + count);
        Ok(())
    }

    /// A type in a group that begins at `start`.
    fn sub_type(&self, kind: &wasmparser::SubType, start: u32) -> Result<SubType, Error> {
        let list = |types: &[wasmparser::ValType]| -> Result<Vec<ValueType>, Error> {
            types.iter().map(|kind| self.value(*kind, start)).collect()
        };
        let field = |field: &wasmparser::FieldType| -> Result<FieldType, Error> {
            let storage = match field.element_type {
                wasmparser::StorageType::I8 => Storage::I8,
                wasmparser::StorageType::I16 => Storage::I16,
                wasmparser::StorageType::Val(kind) => Storage::Value(self.value(kind, start)?),
            };
            Ok(FieldType {
                storage,
                mutable: field.mutable,
            })
        };
        let composite = match &kind.composite_type.inner {
            CompositeInnerType::Func(function) => Composite::Function(FunctionType {
                parameters: list(function.params())?,
                results: list(function.results())?,
            }),
            CompositeInnerType::Struct(kind) => {
                Composite::Struct(kind.fields.iter().map(field).collect::<Result<_, _>>()?)
            }
            CompositeInnerType::Array(kind) => Composite::Array(field(&kind.0)?),
            CompositeInnerType::Cont(_) => return Err(unsupported("types of continuations")),
        };
        let supertype = match kind.supertype_idxs.first() {
            Some(index) => {
                let index = index.as_module_index();
                Some(self.heap(
                    index.ok_or_else(|| unsupported("types of this kind"))?,
                    start,
                ))
            }
            None => None,
        };
        Ok(SubType {
            is_final: kind.is_final,
            supertype,
            composite,
        })
    }

    /// The type with an index, where types from `group` on are being defined.
    fn heap(&self, index: u32, group: u32) -> HeapType {
        match self.own_types.get(index as usize) {
            Some(number) => HeapType::Type(*number),
            None => HeapType::InGroup(index - group),
        }
    }

    /// A type of a value, where types from `group` on are being defined.
    fn value(&self, kind: wasmparser::ValType, group: u32) -> Result<ValueType, Error> {
        value_type(kind, |index| self.heap(index, group))
    }

    fn import(&mut self, import: wasmparser::Import) -> Result<(), Error> {
        let kind = match import.ty {
            TypeRef::Func(kind) | TypeRef::FuncExact(kind) => {
                let number = self.own_types[kind as usize];
                self.parts.functions.push(number);
                self.parts.imported_functions += 1;
                ExternType::Function(number)
            }
            TypeRef::Table(kind) => {
                let kind = self.table_type(kind)?;
                self.parts.tables.push(kind);
                ExternType::Table(kind)
            }
            TypeRef::Memory(kind) => {
                let kind = memory_type(kind);
                self.parts.memories.push(kind);
                ExternType::Memory(kind)
            }
            TypeRef::Global(kind) => {
                let kind = self.global_type(kind)?;
                self.parts.globals.push(kind);
                ExternType::Global(kind)
            }
            TypeRef::Tag(kind) => {
                let number = self.own_types[kind.func_type_idx as usize];
                self.parts.tags.push(number);
                ExternType::Tag(number)
            }
        };
        self.parts.imports.push(Import {
            module: import.module.to_owned(),
            name: import.name.to_owned(),
            kind,
        });
        Ok(())
    }

    fn table_type(&self, kind: wasmparser::TableType) -> Result<TableType, Error> {
        Ok(TableType {
            element: self.value(wasmparser::ValType::Ref(kind.element_type), 0)?,
            initial: kind.initial,
            maximum: kind.maximum,
            is_wide: kind.table64,
        })
    }

    fn global_type(&self, kind: wasmparser::GlobalType) -> Result<GlobalType, Error> {
        Ok(GlobalType {
            value: self.value(kind.content_type, 0)?,
            mutable: kind.mutable,
        })
    }

    fn elements(&mut self, segment: wasmparser::Element) -> Result<(), Error> {
        let mut items = Vec::new();
        match segment.items {
            ElementItems::Functions(functions) => {
                for function in functions {
                    items.push(Constant::function(function?));
                }
            }
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    items.push(Constant::read(&expression?, &self.own_types)?);
                }
            }
        }
        let is_declared = matches!(segment.kind, ElementKind::Declared);
        let active = match segment.kind {
            ElementKind::Active {
                table_index,
                offset_expr,
            } => Some((
                table_index.unwrap_or(0),
                Constant::read(&offset_expr, &self.own_types)?,
            )),
            _ => None,
        };
        self.parts.elements.push(Elements {
            items,
            active,
            is_declared,
        });
        Ok(())
    }

    fn tags(&mut self, tags: wasmparser::TagSectionReader) -> Result<(), Error> {
        for tag in tags {
            let number = self.own_types[tag?.func_type_idx as usize];
            self.parts.tags.push(number);
        }
        Ok(())
    }

    /// Takes names of functions; what is wrong with the section does not matter.
    fn names(&mut self, names: wasmparser::NameSectionReader) {
        for part in names {
            let functions = match part {
                Ok(wasmparser::Name::Function(functions)) => functions,
                Ok(wasmparser::Name::Module { name, .. }) => {
                    self.parts.name = Some(name.to_owned());
                    continue;
                }
                _ => continue,
            };
            for naming in functions.into_iter().flatten() {
                self.parts
                    .names
                    .insert(naming.index, naming.name.to_owned());
            }
        }
    }
}
