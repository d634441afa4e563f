//! Homogeneous numeric vectors. A bytevector counts as a vector of type `u8`. A type is an
//! `element-type` of the protocols with Scheme.

use super::rows;

rows! {
    /// Numeric vector rows.
    ROWS:
    "%numeric-vector-type" (1) [FOLDABLE PURE NEVER_RAISES] "any -> index-or-false"
        "The element type, or #f if the object is no numeric vector.";
    "%numeric-element?" (2) [FOLDABLE PURE] "element-type any -> boolean"
        "Whether vectors of that type hold the object." slow Rare;
    "%numeric-element-description" (1) [FOLDABLE PURE] "element-type -> string"
        "The kind of element that vectors of a type hold, for messages." slow Errors;
    "%make-numeric-vector" (2) [PURE ALLOCATES] "element-type index -> any"
        "A numeric vector of type and length, of zeros." slow Makes;
    "%numeric-vector-length" (1) [PURE] "any -> index" "The number of elements.";
    "%numeric-vector-ref" (2) [PURE] "any index -> number" "Element k.";
    "%numeric-vector-set!" (3) [] "any index number -> unspecified" "Stores in element k.";
    "%bytevector-element-ref" (4) [PURE] "bytevector index element-type boolean -> number"
        "The number of an element type that begins at a byte, big-endian or not." slow Rare;
    "%bytevector-element-set!" (5) [] "bytevector index number element-type boolean -> unspecified"
        "Stores such a number." slow Rare;
    "%numeric-vector-copy!" (5) [] "any index any index index -> unspecified"
        "Copies a range into another vector of the same type; ranges may overlap." slow Work;
    "%numeric-vector-fill!" (4) [] "any number index index -> unspecified"
        "Fills a range with one element." slow Work;
    "s8vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of s8 elements.";
    "s8vector-length" (1) [PURE] "s8vector -> index" "The number of elements.";
    "s8vector-ref" (2) [PURE] "s8vector index -> integer" "Element k.";
    "s8vector-set!" (3) [] "s8vector index integer -> unspecified" "Stores in element k.";
    "u16vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of u16 elements.";
    "u16vector-length" (1) [PURE] "u16vector -> index" "The number of elements.";
    "u16vector-ref" (2) [PURE] "u16vector index -> integer" "Element k.";
    "u16vector-set!" (3) [] "u16vector index integer -> unspecified" "Stores in element k.";
    "s16vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of s16 elements.";
    "s16vector-length" (1) [PURE] "s16vector -> index" "The number of elements.";
    "s16vector-ref" (2) [PURE] "s16vector index -> integer" "Element k.";
    "s16vector-set!" (3) [] "s16vector index integer -> unspecified" "Stores in element k.";
    "u32vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of u32 elements.";
    "u32vector-length" (1) [PURE] "u32vector -> index" "The number of elements.";
    "u32vector-ref" (2) [PURE] "u32vector index -> integer" "Element k.";
    "u32vector-set!" (3) [] "u32vector index integer -> unspecified" "Stores in element k.";
    "s32vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of s32 elements.";
    "s32vector-length" (1) [PURE] "s32vector -> index" "The number of elements.";
    "s32vector-ref" (2) [PURE] "s32vector index -> integer" "Element k.";
    "s32vector-set!" (3) [] "s32vector index integer -> unspecified" "Stores in element k.";
    "u64vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of u64 elements.";
    "u64vector-length" (1) [PURE] "u64vector -> index" "The number of elements.";
    "u64vector-ref" (2) [PURE] "u64vector index -> integer" "Element k.";
    "u64vector-set!" (3) [] "u64vector index integer -> unspecified" "Stores in element k.";
    "s64vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of s64 elements.";
    "s64vector-length" (1) [PURE] "s64vector -> index" "The number of elements.";
    "s64vector-ref" (2) [PURE] "s64vector index -> integer" "Element k.";
    "s64vector-set!" (3) [] "s64vector index integer -> unspecified" "Stores in element k.";
    "f32vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of f32 elements.";
    "f32vector-length" (1) [PURE] "f32vector -> index" "The number of elements.";
    "f32vector-ref" (2) [PURE] "f32vector index -> real" "Element k.";
    "f32vector-set!" (3) [] "f32vector index real -> unspecified" "Stores in element k.";
    "f64vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of f64 elements.";
    "f64vector-length" (1) [PURE] "f64vector -> index" "The number of elements.";
    "f64vector-ref" (2) [PURE] "f64vector index -> real" "Element k.";
    "f64vector-set!" (3) [] "f64vector index real -> unspecified" "Stores in element k.";
    "c64vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of c64 elements.";
    "c64vector-length" (1) [PURE] "c64vector -> index" "The number of elements.";
    "c64vector-ref" (2) [PURE] "c64vector index -> number" "Element k." slow Makes;
    "c64vector-set!" (3) [] "c64vector index number -> unspecified" "Stores in element k.";
    "c128vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a numeric vector of c128 elements.";
    "c128vector-length" (1) [PURE] "c128vector -> index" "The number of elements.";
    "c128vector-ref" (2) [PURE] "c128vector index -> number" "Element k." slow Makes;
    "c128vector-set!" (3) [] "c128vector index number -> unspecified" "Stores in element k.";
}
