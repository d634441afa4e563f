//! Vectors. A range argument pair `[index] [index]` is start and end as for strings.

use super::rows;

rows! {
    /// Vector rows.
    ROWS:
    "vector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a vector.";
    "make-vector" (1, 2) [PURE ALLOCATES] "index [any] -> vector"
        "A vector of k equal elements (unspecified if none is given).";
    "vector" (0 ..) [PURE NEVER_RAISES ALLOCATES] "any ... -> vector" "A vector of the arguments.";
    "vector-length" (1) [FOLDABLE PURE] "vector -> index" "The number of elements.";
    "vector-ref" (2) [PURE] "vector index -> any" "Element k.";
    "vector-set!" (3) [] "vector index any -> unspecified" "Stores in element k.";
    "vector->list" (1, 3) [PURE ALLOCATES] "vector [index] [index] -> list" "The elements of a range.";
    "list->vector" (1) [PURE ALLOCATES] "list -> vector" "A vector of the elements of a list.";
    "%reverse-list->vector" (1) [PURE ALLOCATES] "list -> vector"
        "A vector of the elements of a list, last first.";
    "vector-fill!" (2, 4) [] "vector any [index] [index] -> unspecified"
        "Fills a range with one object.";
    "vector-copy" (1, 3) [PURE ALLOCATES] "vector [index] [index] -> vector" "A copy of a range.";
    "vector-copy!" (3, 5) [] "vector index vector [index] [index] -> unspecified"
        "Copies a range into another vector; ranges may overlap.";
    "vector-append" (0 ..) [PURE ALLOCATES] "vector ... -> vector" "A new vector that joins the arguments.";
    "subvector" (3) [PURE ALLOCATES] "vector index index -> vector" "A copy of a range.";
    "vector-grow" (2) [PURE ALLOCATES] "vector index -> vector"
        "A longer copy; new elements are unspecified." slow Work;
    "vector-swap!" (3) [] "vector index index -> unspecified" "Exchanges two elements.";
    "%sort-vector!" (4) [] "vector index index sort-order -> boolean"
        "Sorts a range by a standard order, keeping the order of equal elements, if all elements are of one \
         kind; whether it did." slow Work;
    "vector-reverse!" (1, 3) [] "vector [index] [index] -> unspecified"
        "Reverses a range in place." slow Changes;
}
