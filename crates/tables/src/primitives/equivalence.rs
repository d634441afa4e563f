//! Equivalence and booleans, and the predicates of values that have no other home.

use super::rows;

rows! {
    /// Equivalence and boolean rows.
    ROWS:
    "eq?" (2) [FOLDABLE PURE NEVER_RAISES] "any any -> boolean" "Whether the words are the same.";
    "eqv?" (2) [FOLDABLE PURE NEVER_RAISES] "any any -> boolean"
        "Whether the objects are the same, numbers by exactness and value.";
    "equal?" (2) [PURE NEVER_RAISES] "any any -> boolean"
        "Whether the objects print alike; ends on circular ones.";
    "not" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "#t for #f, else #f.";
    "boolean?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is #t or #f.";
    "boolean=?" (1 ..) [FOLDABLE PURE] "boolean boolean ... -> boolean"
        "Whether the booleans are all the same.";
    "void" (0 ..) [FOLDABLE PURE NEVER_RAISES] "any ... -> unspecified"
        "The unspecified value, whatever the arguments.";
    "%unspecified?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is the unspecified value.";
    "%default-object?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object marks an argument that was not given.";
    "eof-object" (0) [FOLDABLE PURE NEVER_RAISES] "-> eof" "The end-of-file object.";
    "eof-object?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is the end-of-file object.";
}
