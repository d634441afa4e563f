//! Types that modules define, numbered once for the whole process.
//!
//! Types of different modules are the same if their recursion groups are. So groups are interned, and a
//! type is a number that all modules share: comparing two types is comparing numbers. A type knows all
//! its supertypes by their depth, so that testing for one of them is one comparison too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use canny_locks::Mutex;

use crate::types::{FieldType, FunctionType, HeapType, Storage, ValueType};

/// The kind of things that a type describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Composite {
    /// Functions.
    Function(FunctionType),
    /// Structs with these fields.
    Struct(Vec<FieldType>),
    /// Arrays with such elements.
    Array(FieldType),
}

/// A type in a group that is to be interned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SubType {
    pub is_final: bool,
    pub supertype: Option<HeapType>,
    pub composite: Composite,
}

/// Most supertypes that a type may have, itself included.
pub const DEPTH_MAX: usize = 64;

/// Numbers of a function's supertypes by depth; handlers read them if a function has another type than
/// is wanted.
pub type Display = [u32; DEPTH_MAX];

/// The display of types without supertypes. Their own number was compared before.
static NO_SUPERTYPES: Display = [u32::MAX; DEPTH_MAX];

/// A type that has a number.
#[derive(Debug)]
pub struct Definition {
    /// Numbers of its supertypes from the outermost one on, and its own.
    pub supertypes: Box<[u32]>,
    pub composite: Composite,
    pub display: &'static Display,
    /// Words of a struct.
    pub words: usize,
    /// The first word of each of its fields.
    pub places: Box<[u32]>,
    /// Those of them that are references.
    pub references: Box<[u32]>,
}

impl Definition {
    fn new(number: u32, supertype: Option<u32>, composite: Composite, known: &Known) -> Definition {
        let above = supertype.map(|number| &known.types[number as usize].supertypes);
        let mut supertypes = above.map_or(Vec::new(), |above| above.to_vec());
        supertypes.push(number);
        let display = match (&composite, supertype) {
            (Composite::Function(_), Some(_)) => {
                let mut display = Box::new(NO_SUPERTYPES);
                display[..supertypes.len()].copy_from_slice(&supertypes);
                Box::leak(display)
            }
            _ => &NO_SUPERTYPES,
        };
        let (mut words, mut places, mut references) = (0, Vec::new(), Vec::new());
        if let Composite::Struct(fields) = &composite {
            for field in fields {
                places.push(words as u32);
                if field.storage.is_reference() {
                    references.push(words as u32);
                }
                words += field.storage.words();
            }
        }
        Definition {
            supertypes: supertypes.into(),
            composite,
            display,
            words,
            places: places.into(),
            references: references.into(),
        }
    }

    /// Whether it is the type with this number or below it, where that has so many supertypes.
    pub fn is_below(&self, number: u32, depth: usize) -> bool {
        self.supertypes.get(depth) == Some(&number)
    }

    /// How many supertypes it has.
    pub fn depth(&self) -> usize {
        self.supertypes.len() - 1
    }

    /// The kind of elements that an array has.
    pub fn element(&self) -> Option<Storage> {
        self.element_type().map(|element| element.storage)
    }

    /// The type of elements that an array has.
    pub fn element_type(&self) -> Option<FieldType> {
        match &self.composite {
            Composite::Array(element) => Some(*element),
            _ => None,
        }
    }

    /// The fields of a struct.
    pub fn fields(&self) -> &[FieldType] {
        match &self.composite {
            Composite::Struct(fields) => fields,
            _ => &[],
        }
    }
}

#[derive(Default)]
struct Known {
    /// They live as long as the process.
    types: Vec<&'static Definition>,
    /// The number of a group's first type.
    groups: HashMap<Vec<SubType>, u32>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The number of the first type of a group, whose types refer to each other by their place in it.
pub fn intern(group: Vec<SubType>) -> u32 {
    let mut known = KNOWN.lock();
    if let Some(first) = known.groups.get(&group) {
        return *first;
    }
    let first = known.types.len() as u32;
    for (place, kind) in group.iter().enumerate() {
        let composite = match &kind.composite {
            Composite::Function(kind) => Composite::Function(FunctionType {
                parameters: kind
                    .parameters
                    .iter()
                    .map(|it| outside(*it, first))
                    .collect(),
                results: kind.results.iter().map(|it| outside(*it, first)).collect(),
            }),
            Composite::Struct(fields) => {
                Composite::Struct(fields.iter().map(|it| field_outside(*it, first)).collect())
            }
            Composite::Array(element) => Composite::Array(field_outside(*element, first)),
        };
        let supertype = match kind.supertype {
            Some(HeapType::InGroup(place)) => Some(first + place),
            Some(HeapType::Type(number)) => Some(number),
            _ => None,
        };
        let number = first + place as u32;
        let definition = Definition::new(number, supertype, composite, &known);
        known.types.push(Box::leak(Box::new(definition)));
    }
    known.groups.insert(group, first);
    first
}

/// A type of a value in a group, as it is outside of the group.
fn outside(kind: ValueType, first: u32) -> ValueType {
    match kind {
        ValueType::Reference {
            nullable,
            heap: HeapType::InGroup(place),
        } => ValueType::Reference {
            nullable,
            heap: HeapType::Type(first + place),
        },
        kind => kind,
    }
}

fn field_outside(field: FieldType, first: u32) -> FieldType {
    match field.storage {
        Storage::Value(kind) => FieldType {
            storage: Storage::Value(outside(kind, first)),
            ..field
        },
        _ => field,
    }
}

/// The number of a type of functions that stands alone.
pub fn intern_function(kind: FunctionType) -> u32 {
    intern(vec![SubType {
        is_final: true,
        supertype: None,
        composite: Composite::Function(kind),
    }])
}

thread_local! {
    /// Types that this thread has asked for, and those before. Numbers do not change.
    static SEEN: RefCell<Vec<&'static Definition>> = const { RefCell::new(Vec::new()) };
}

/// The type with a number.
pub fn definition(number: u32) -> &'static Definition {
    SEEN.with_borrow_mut(|seen| {
        if number as usize >= seen.len() {
            let known = KNOWN.lock();
            seen.extend_from_slice(&known.types[seen.len()..]);
        }
        seen[number as usize]
    })
}

/// The type of functions with a number.
pub fn function_type(number: u32) -> &'static FunctionType {
    match &definition(number).composite {
        Composite::Function(kind) => kind,
        _ => FunctionType::none(),
    }
}

/// Whether a type is another one or below it.
pub fn is_below(number: u32, other: u32) -> bool {
    number == other || definition(number).is_below(other, definition(other).depth())
}

/// The kinds of things to which references may be; no two have a value in common but null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hierarchy {
    /// Functions.
    Function,
    /// Objects of the host.
    Extern,
    /// Exceptions.
    Exception,
    /// Objects of guests and small integers.
    Any,
}

impl HeapType {
    /// The hierarchy that it belongs to.
    pub fn hierarchy(self) -> Hierarchy {
        match self {
            HeapType::Function | HeapType::NoFunction => Hierarchy::Function,
            HeapType::Extern | HeapType::NoExtern => Hierarchy::Extern,
            HeapType::Exception | HeapType::NoException => Hierarchy::Exception,
            HeapType::Type(number) => match definition(number).composite {
                Composite::Function(_) => Hierarchy::Function,
                _ => Hierarchy::Any,
            },
            _ => Hierarchy::Any,
        }
    }

    /// Whether only arrays are of this type.
    pub fn is_array(self) -> bool {
        match self {
            HeapType::Array => true,
            HeapType::Type(number) => definition(number).element().is_some(),
            _ => false,
        }
    }

    /// Whether nothing but null is of this type.
    pub fn is_empty(self) -> bool {
        matches!(
            self,
            HeapType::NoFunction | HeapType::NoExtern | HeapType::NoException | HeapType::None
        )
    }

    fn is_below(self, other: HeapType) -> bool {
        if self == other {
            return true;
        }
        if self.hierarchy() != other.hierarchy() {
            return false;
        }
        if self.is_empty() {
            return true;
        }
        let composite = |number: u32| &definition(number).composite;
        match (self, other) {
            (HeapType::Type(number), HeapType::Type(other)) => is_below(number, other),
            (_, HeapType::Any | HeapType::Function | HeapType::Extern | HeapType::Exception) => {
                true
            }
            (HeapType::I31 | HeapType::Struct | HeapType::Array, HeapType::Equal)
            | (HeapType::Type(_), HeapType::Equal) => true,
            (HeapType::Type(number), HeapType::Struct) => {
                matches!(composite(number), Composite::Struct(_))
            }
            (HeapType::Type(number), HeapType::Array) => {
                matches!(composite(number), Composite::Array(_))
            }
            _ => false,
        }
    }
}

impl ValueType {
    /// Whether values of this type may be where those of another are wanted.
    pub fn is_subtype_of(self, other: ValueType) -> bool {
        match (self, other) {
            (
                ValueType::Reference { nullable, heap },
                ValueType::Reference {
                    nullable: may_be_null,
                    heap: wanted,
                },
            ) => heap.is_below(wanted) && (may_be_null || !nullable),
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Composite, SubType, definition, intern, is_below};
    use crate::types::{FieldType, HeapType, Storage, ValueType};

    fn reference(heap: HeapType) -> ValueType {
        ValueType::Reference {
            nullable: false,
            heap,
        }
    }

    fn pair() -> Vec<SubType> {
        let field = |heap| FieldType {
            storage: Storage::Value(reference(heap)),
            mutable: true,
        };
        let number = FieldType {
            storage: Storage::I8,
            mutable: false,
        };
        vec![
            SubType {
                is_final: false,
                supertype: None,
                composite: Composite::Struct(vec![number, field(HeapType::InGroup(1))]),
            },
            SubType {
                is_final: true,
                supertype: Some(HeapType::InGroup(0)),
                composite: Composite::Struct(vec![
                    number,
                    field(HeapType::InGroup(1)),
                    field(HeapType::InGroup(0)),
                ]),
            },
        ]
    }

    #[test]
    fn groups_that_are_the_same_have_the_same_types() {
        let first = intern(pair());
        assert_eq!(intern(pair()), first);
        let mut other = pair();
        other[1].is_final = false;
        assert_ne!(intern(other), first);
        assert!(is_below(first + 1, first));
        assert!(!is_below(first, first + 1));
        let below = definition(first + 1);
        assert_eq!((below.words, &*below.references), (3, &[1, 2][..]));
        assert_eq!(below.depth(), 1);
    }

    #[test]
    fn references_follow_their_hierarchy() {
        let first = intern(pair());
        let of = |heap| reference(heap);
        let below = of(HeapType::Type(first + 1));
        for above in [
            HeapType::Type(first),
            HeapType::Struct,
            HeapType::Equal,
            HeapType::Any,
        ] {
            assert!(below.is_subtype_of(of(above)), "{above:?}");
            assert!(of(HeapType::None).is_subtype_of(of(above)));
            assert!(!of(above).is_subtype_of(below));
        }
        for other in [
            HeapType::Array,
            HeapType::I31,
            HeapType::Function,
            HeapType::Extern,
        ] {
            assert!(!below.is_subtype_of(of(other)), "{other:?}");
        }
        assert!(of(HeapType::I31).is_subtype_of(of(HeapType::Equal)));
        assert!(!of(HeapType::NoExtern).is_subtype_of(of(HeapType::Any)));
        let or_null = ValueType::Reference {
            nullable: true,
            heap: HeapType::Struct,
        };
        assert!(below.is_subtype_of(or_null));
        assert!(!or_null.is_subtype_of(of(HeapType::Struct)));
    }
}
