//! Elements of homogeneous numeric vectors that compiled code reads and writes itself: the integers
//! that are always fixnums, and the floats. The number crate owns the types; a test of the runtime's
//! compares its table with this one.

/// Encoding of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// An integer that is not negative.
    Unsigned,
    /// An integer.
    Signed,
    /// A float.
    Float,
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elements {
    /// The code in the flags of a vector.
    pub code: u8,
    /// Logarithm, to the base two, of the bytes of an element.
    pub size: u8,
    /// Encoding of these bytes.
    pub kind: ElementKind,
}

impl Elements {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        1 << self.size
    }

    /// The least and the greatest integer; the numbers mean nothing for floats.
    pub const fn range(self) -> (i64, i64) {
        let bits = 8 << self.size;
        match self.kind {
            ElementKind::Unsigned => (0, (1 << bits) - 1),
            ElementKind::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            ElementKind::Float => (0, 0),
        }
    }
}

const fn row(
    name: &'static str,
    code: u8,
    size: u8,
    kind: ElementKind,
) -> (&'static str, Elements) {
    (name, Elements { code, size, kind })
}

/// Every type with the name that its vectors begin with.
pub const ELEMENTS: &[(&str, Elements)] = &[
    row("s8", 1, 0, ElementKind::Signed),
    row("u16", 2, 1, ElementKind::Unsigned),
    row("s16", 3, 1, ElementKind::Signed),
    row("u32", 4, 2, ElementKind::Unsigned),
    row("s32", 5, 2, ElementKind::Signed),
    row("f32", 8, 2, ElementKind::Float),
    row("f64", 9, 3, ElementKind::Float),
];

/// The type whose vectors a primitive like `f64vector-ref` is for, and the part of its name behind
/// `vector`.
pub fn of_primitive(name: &str) -> Option<(Elements, &str)> {
    let (element, operation) = name.split_once("vector")?;
    let (_, elements) = ELEMENTS.iter().find(|(known, _)| *known == element)?;
    Some((*elements, operation))
}
