//! Records and record types. The accessor rows take the name of the accessor for messages.

use super::rows;

rows! {
    /// Record rows.
    ROWS:
    "%make-record-type" (3) [PURE ALLOCATES] "any vector any -> record-type"
        "A new record type: name, vector of field names, parent type or #f." slow Makes;
    "%record" (1 ..) [PURE ALLOCATES] "record-type any ... -> record"
        "A new record with the field values, parent's fields first.";
    "%record?" (2) [FOLDABLE PURE] "any record-type -> boolean"
        "Whether the object is a record of the type or of a child of it.";
    "%record-ref" (4) [PURE] "any record-type index symbol -> any"
        "A field of a record of the type; the symbol is blamed.";
    "%record-set!" (5) [] "any record-type index any symbol -> unspecified"
        "Stores in a field of a record of the type; the symbol is blamed.";
    "record?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a record of any type.";
    "record-type-descriptor" (1) [FOLDABLE PURE] "record -> record-type" "The type of a record.";
    "record-type?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a record type.";
    "record-type-name" (1) [FOLDABLE PURE] "record-type -> symbol" "The name of a record type." slow Rare;
    "record-type-field-names" (1) [PURE] "record-type -> vector"
        "The names of all fields, parent's first." slow Rare;
    "%record-type-extension" (1) [] "record-type -> any"
        "The object that libraries attached to the type, or #f.";
    "%set-record-type-extension!" (2) [] "record-type any -> unspecified"
        "Attaches an object to the type." slow Administration;
    "%class-key" (1) [FOLDABLE PURE NEVER_RAISES] "any -> fixnum"
        "The number of an object's class: of its record type, or of its kind.";
    "%record-type-key" (1) [FOLDABLE PURE] "record-type -> fixnum"
        "The class key of the records of the type.";
    "record-type-parent" (1) [FOLDABLE PURE] "record-type -> any" "The parent type, or #f." slow Rare;
}
