//! Bytevectors. A range argument pair `[index] [index]` is start and end as for strings.

use super::rows;

rows! {
    /// Bytevector rows.
    ROWS:
    "bytevector?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a bytevector.";
    "make-bytevector" (1, 2) [PURE ALLOCATES] "index [byte] -> bytevector"
        "A bytevector of k equal bytes (zero if none is given).";
    "bytevector" (0 ..) [PURE ALLOCATES] "byte ... -> bytevector" "A bytevector of the arguments.";
    "bytevector-length" (1) [FOLDABLE PURE] "bytevector -> index" "The number of bytes.";
    "bytevector-u8-ref" (2) [PURE] "bytevector index -> byte" "Byte k.";
    "bytevector-u8-set!" (3) [] "bytevector index byte -> unspecified" "Stores in byte k.";
    "bytevector-copy" (1, 3) [PURE ALLOCATES] "bytevector [index] [index] -> bytevector" "A copy of a range.";
    "bytevector-copy!" (3, 5) [] "bytevector index bytevector [index] [index] -> unspecified"
        "Copies a range into another bytevector; ranges may overlap.";
    "bytevector-append" (0 ..) [PURE ALLOCATES] "bytevector ... -> bytevector"
        "A new bytevector that joins the arguments.";
    "bytevector-fill!" (2, 4) [] "bytevector byte [index] [index] -> unspecified"
        "Fills a range with one byte.";
    "bytevector->list" (1, 3) [PURE ALLOCATES] "bytevector [index] [index] -> list"
        "The bytes of a range." slow Work;
    "list->bytevector" (1) [PURE ALLOCATES] "list -> bytevector"
        "A bytevector of the bytes of a list." slow Work;
}
