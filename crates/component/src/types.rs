//! Types of values of components, with their layout in memory and as flat words.
//!
//! Sizes and alignments are those of the canonical ABI for memories with addresses of 32 bits.

use std::sync::Arc;

use canny_wasm::ValueType;

use crate::resource::Resource;

/// Most flat words of parameters; more are passed in memory.
pub const FLAT_PARAMETERS_MAX: usize = 16;

/// Most flat words of a result.
pub const FLAT_RESULTS_MAX: usize = 1;

/// A type of values.
#[derive(Debug)]
pub struct Type {
    /// Its form.
    pub shape: Shape,
    /// Bytes in memory.
    pub size: u64,
    /// Its address is a multiple of this.
    pub alignment: u64,
    /// Flat words; no more than one above the most parameters.
    pub flat: Vec<ValueType>,
}

/// Types by name, as of fields.
pub type Fields = Vec<(String, Arc<Type>)>;

/// The form of a type.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names are those of the standard")]
pub enum Shape {
    Bool,
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
    Char,
    String,
    List(Arc<Type>),
    FixedList(Arc<Type>, u32),
    Record(Fields),
    Tuple(Vec<Arc<Type>>),
    Variant(Vec<(String, Option<Arc<Type>>)>),
    Enum(Vec<String>),
    Option(Arc<Type>),
    Result(Option<Arc<Type>>, Option<Arc<Type>>),
    Flags(Vec<String>),
    Own(Resource),
    Borrow(Resource),
}

/// The type of a function.
#[derive(Debug)]
pub struct FunctionType {
    /// Names and types of parameters.
    pub parameters: Fields,
    /// The type of the result, if there is one.
    pub result: Option<Arc<Type>>,
    /// The parameters as a tuple, as which they are passed if they are many.
    pub tuple: Type,
}

impl FunctionType {
    /// A type of functions.
    pub fn new(parameters: Fields, result: Option<Arc<Type>>) -> FunctionType {
        let kinds = parameters.iter().map(|(_, kind)| Arc::clone(kind));
        let tuple = Type::new(Shape::Tuple(kinds.collect()));
        FunctionType {
            parameters,
            result,
            tuple,
        }
    }

    /// Whether parameters are passed in memory.
    pub fn has_indirect_parameters(&self) -> bool {
        self.tuple.flat.len() > FLAT_PARAMETERS_MAX
    }

    /// Whether the result is passed in memory.
    pub fn has_indirect_result(&self) -> bool {
        let result = self.result.as_ref();
        result.is_some_and(|result| result.flat.len() > FLAT_RESULTS_MAX)
    }

    /// The type of the function of a module by which it is imported.
    pub fn lowered(&self) -> canny_wasm::FunctionType {
        let mut parameters = if self.has_indirect_parameters() {
            vec![ValueType::I32]
        } else {
            self.tuple.flat.clone()
        };
        let results = if self.has_indirect_result() {
            parameters.push(ValueType::I32);
            Vec::new()
        } else {
            self.result
                .as_ref()
                .map_or_else(Vec::new, |kind| kind.flat.clone())
        };
        canny_wasm::FunctionType {
            parameters,
            results,
        }
    }

    /// The type in the notation of WIT.
    pub fn text(&self) -> String {
        let parameters = self.parameters.iter();
        let parameters: Vec<String> = parameters
            .map(|(name, kind)| format!("{name}: {}", kind.text()))
            .collect();
        let result = self.result.as_ref();
        let result = result.map_or_else(String::new, |kind| format!(" -> {}", kind.text()));
        format!("func({}){result}", parameters.join(", "))
    }

    /// Whether values of this type are passed as those of another.
    pub fn matches(&self, other: &FunctionType) -> bool {
        let result = match (&self.result, &other.result) {
            (Some(a), Some(b)) => a.matches(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        result && self.tuple.matches(&other.tuple)
    }
}

impl Type {
    /// The type of that form.
    pub fn new(shape: Shape) -> Type {
        let mut made = Type {
            size: 0,
            alignment: 1,
            flat: Vec::new(),
            shape,
        };
        let (size, alignment, flat) = layout(&made);
        made.size = size;
        made.alignment = alignment;
        made.flat = flat;
        made
    }

    /// How many cases a variant has, or what is like one.
    pub fn case_count(&self) -> usize {
        match &self.shape {
            Shape::Variant(cases) => cases.len(),
            Shape::Enum(names) => names.len(),
            Shape::Option(_) | Shape::Result(..) => 2,
            _ => 0,
        }
    }

    /// The type of a case of a variant.
    pub fn case(&self, number: usize) -> Option<&Arc<Type>> {
        match &self.shape {
            Shape::Variant(cases) => cases.get(number)?.1.as_ref(),
            Shape::Option(kind) => (number == 1).then_some(kind),
            Shape::Result(fine, failed) => match number {
                0 => fine.as_ref(),
                _ => failed.as_ref(),
            },
            _ => None,
        }
    }

    /// Bytes of the number of a case.
    pub fn discriminant_size(&self) -> u64 {
        match self.case_count() {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        }
    }

    /// Where the value of a case is, behind the number of the case.
    pub fn payload_offset(&self) -> u64 {
        let alignment = self.cases().map(|kind| kind.alignment).max().unwrap_or(1);
        self.discriminant_size().next_multiple_of(alignment)
    }

    fn cases(&self) -> impl Iterator<Item = &Arc<Type>> {
        (0..self.case_count()).filter_map(|number| self.case(number))
    }

    /// The fields of a record or the elements of a tuple.
    pub fn fields(&self) -> Vec<&Arc<Type>> {
        match &self.shape {
            Shape::Record(fields) => fields.iter().map(|(_, kind)| kind).collect(),
            Shape::Tuple(kinds) => kinds.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether values of this type are passed as those of another.
    pub fn matches(&self, other: &Type) -> bool {
        let same = |a: &Arc<Type>, b: &Arc<Type>| a.matches(b);
        let optional = |a: &Option<Arc<Type>>, b: &Option<Arc<Type>>| match (a, b) {
            (Some(a), Some(b)) => a.matches(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        match (&self.shape, &other.shape) {
            (Shape::List(a), Shape::List(b)) | (Shape::Option(a), Shape::Option(b)) => same(a, b),
            (Shape::FixedList(a, n), Shape::FixedList(b, m)) => n == m && same(a, b),
            (Shape::Record(a), Shape::Record(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
            }
            (Shape::Tuple(a), Shape::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Shape::Variant(a), Shape::Variant(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .all(|(a, b)| a.0 == b.0 && optional(&a.1, &b.1))
            }
            (Shape::Enum(a), Shape::Enum(b)) | (Shape::Flags(a), Shape::Flags(b)) => a == b,
            (Shape::Result(a, c), Shape::Result(b, d)) => optional(a, b) && optional(c, d),
            (Shape::Own(a), Shape::Own(b)) | (Shape::Borrow(a), Shape::Borrow(b)) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// The type in the notation of WIT, with the parts of those that have names there.
    pub fn text(&self) -> String {
        let optional = |kind: &Option<Arc<Type>>| match kind {
            Some(kind) => kind.text(),
            None => "_".to_owned(),
        };
        let list = |texts: Vec<String>| texts.join(", ");
        match &self.shape {
            Shape::Bool => "bool".into(),
            Shape::S8 => "s8".into(),
            Shape::U8 => "u8".into(),
            Shape::S16 => "s16".into(),
            Shape::U16 => "u16".into(),
            Shape::S32 => "s32".into(),
            Shape::U32 => "u32".into(),
            Shape::S64 => "s64".into(),
            Shape::U64 => "u64".into(),
            Shape::F32 => "f32".into(),
            Shape::F64 => "f64".into(),
            Shape::Char => "char".into(),
            Shape::String => "string".into(),
            Shape::List(kind) => format!("list<{}>", kind.text()),
            Shape::FixedList(kind, count) => format!("list<{}, {count}>", kind.text()),
            Shape::Record(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, kind)| format!("{name}: {}", kind.text()));
                format!("record {{ {} }}", list(fields.collect()))
            }
            Shape::Tuple(kinds) => {
                format!(
                    "tuple<{}>",
                    list(kinds.iter().map(|kind| kind.text()).collect())
                )
            }
            Shape::Variant(cases) => {
                let cases = cases.iter().map(|(name, kind)| match kind {
                    Some(kind) => format!("{name}({})", kind.text()),
                    None => name.clone(),
                });
                format!("variant {{ {} }}", list(cases.collect()))
            }
            Shape::Enum(names) => format!("enum {{ {} }}", names.join(", ")),
            Shape::Flags(names) => format!("flags {{ {} }}", names.join(", ")),
            Shape::Option(kind) => format!("option<{}>", kind.text()),
            Shape::Result(None, None) => "result".into(),
            Shape::Result(fine, None) => format!("result<{}>", optional(fine)),
            Shape::Result(fine, failed) => {
                format!("result<{}, {}>", optional(fine), optional(failed))
            }
            Shape::Own(resource) => resource.name().to_owned(),
            Shape::Borrow(resource) => format!("borrow<{}>", resource.name()),
        }
    }
}

/// Size, alignment and flat words of a type whose parts have them.
fn layout(kind: &Type) -> (u64, u64, Vec<ValueType>) {
    use ValueType::{F32, F64, I32, I64};
    match &kind.shape {
        Shape::Bool | Shape::S8 | Shape::U8 => (1, 1, vec![I32]),
        Shape::S16 | Shape::U16 => (2, 2, vec![I32]),
        Shape::S32 | Shape::U32 | Shape::Char | Shape::Own(_) | Shape::Borrow(_) => {
            (4, 4, vec![I32])
        }
        Shape::S64 | Shape::U64 => (8, 8, vec![I64]),
        Shape::F32 => (4, 4, vec![F32]),
        Shape::F64 => (8, 8, vec![F64]),
        Shape::String | Shape::List(_) => (8, 4, vec![I32, I32]),
        Shape::FixedList(element, count) => {
            let mut flat = Vec::new();
            for _ in 0..(*count).min(FLAT_PARAMETERS_MAX as u32 + 1) {
                flat.extend_from_slice(&element.flat);
                flat.truncate(FLAT_PARAMETERS_MAX + 1);
            }
            let size = element.size.saturating_mul(u64::from(*count));
            (size, element.alignment, flat)
        }
        Shape::Record(_) | Shape::Tuple(_) => {
            let (mut size, mut alignment, mut flat) = (0_u64, 1, Vec::new());
            for field in kind.fields() {
                size = size
                    .next_multiple_of(field.alignment)
                    .saturating_add(field.size);
                alignment = alignment.max(field.alignment);
                flat.extend_from_slice(&field.flat);
                flat.truncate(FLAT_PARAMETERS_MAX + 1);
            }
            (size.next_multiple_of(alignment), alignment, flat)
        }
        Shape::Flags(names) => {
            let size = match names.len() {
                0..=8 => 1,
                9..=16 => 2,
                _ => 4,
            };
            (size, size, vec![I32])
        }
        Shape::Variant(_) | Shape::Enum(_) | Shape::Option(_) | Shape::Result(..) => {
            let number = kind.discriminant_size();
            let alignment = kind.cases().map(|case| case.alignment).max();
            let alignment = alignment.unwrap_or(1).max(number);
            let largest = kind.cases().map(|case| case.size).max().unwrap_or(0);
            let size = kind.payload_offset().saturating_add(largest);
            let mut flat = vec![I32];
            for case in kind.cases() {
                for (index, word) in case.flat.iter().enumerate() {
                    match flat.get_mut(index + 1) {
                        Some(joined) => *joined = join(*joined, *word),
                        None => flat.push(*word),
                    }
                }
            }
            flat.truncate(FLAT_PARAMETERS_MAX + 1);
            (size.next_multiple_of(alignment), alignment, flat)
        }
    }
}

fn join(a: ValueType, b: ValueType) -> ValueType {
    use ValueType::{F32, I32, I64};
    match (a, b) {
        (a, b) if a == b => a,
        (I32, F32) | (F32, I32) => I32,
        _ => I64,
    }
}
