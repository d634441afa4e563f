//! Object-kind rows.
//!
//! A kind says how an object is traced and sized. Tracer, offsets for generated code, the
//! printer's `#<…>` names and heap snapshots derive from the rows.

/// How the collector treats the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Every payload word is a tagged value or looks like an immediate or a fixnum.
    Scannable,
    /// Raw bytes: no payload word is looked at.
    Leaf,
    /// Traced object-wise by a rule of its own (weak references).
    Special,
    /// Never moves; tagged words are the name, debug and parameter fields and the pool.
    Code,
}

/// One kind of object.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// Name as printed and as found in heap snapshots.
    pub name: &'static str,
    /// How the payload is traced.
    pub trace: Trace,
    /// Bytes per unit of the header's length: the payload is `length * unit_bytes` bytes.
    pub unit_bytes: u8,
    /// Field names for fixed layouts; variable parts follow.
    pub fields: &'static [&'static str],
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $id:ident $name:literal $trace:ident $unit:literal [$($field:literal)*];)*) => {
        /// The kind byte of a header.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $id),* }

        /// The rows, indexed by kind.
        pub static KINDS: &[KindRow] = &[$(KindRow {
            name: $name, trace: Trace::$trace, unit_bytes: $unit, fields: &[$($field),*],
        }),*];

        impl Kind {
            /// Every kind, in order.
            pub const ALL: &'static [Kind] = &[$(Kind::$id),*];
        }
    };
}

kinds! {
    /// A hole left by the collector; length in words.
    Filler "filler" Leaf 8 [];
    Vector "vector" Scannable 8 [];
    /// `code`, then the captured values.
    Closure "procedure" Scannable 8 ["code"];
    /// `length` as a fixnum, `data` a string8 or string32 whose length is the capacity.
    String "string" Scannable 8 ["length" "data"];
    /// Latin-1 characters.
    String8 "string-data" Leaf 1 [];
    /// UTF-32 characters.
    String32 "wide-string-data" Leaf 4 [];
    /// `name` an immutable string or, for an uninterned symbol, the same; `hash` a fixnum;
    /// `interned` a boolean, or the symbol's keyword, which interned ones have only.
    Symbol "symbol" Scannable 8 ["name" "hash" "interned"];
    Bytevector "bytevector" Leaf 1 [];
    /// A flonum that does not fit a word.
    Flonum "flonum" Leaf 8 [];
    /// 64-bit limbs, least significant first; the sign is a header flag.
    Bignum "bignum" Leaf 8 [];
    Ratnum "ratnum" Scannable 8 ["numerator" "denominator"];
    Compnum "compnum" Scannable 8 ["real" "imaginary"];
    /// A variable that is assigned and captured.
    Box "box" Scannable 8 ["value"];
    /// A global variable; `library` is a symbol naming where it lives.
    Cell "cell" Scannable 8 ["value" "name" "library"];
    /// Two or more (or zero) values on their way to a receiver.
    Values "values" Scannable 8 [];
    Record "record" Scannable 8 ["type"];
    /// See [`crate::layout::record_type`]; the types that it is derived from follow the fixed fields.
    RecordType "record-type" Scannable 8 ["name" "parent" "fields" "serial" "extension" "place"];
    /// Entries in the order of insertion, and an index into them; see the library's hash tables.
    HashTable "hash-table" Scannable 8 ["equivalence" "weakness" "count" "used" "filled" "index" "entries"
        "identity" "epoch" "full-collections" "settled" "jumped" "loose" "last-key" "last" "lock"];
    /// `id` names the host's object behind it; the collector tells the host when the port died. `loan`
    /// is the address of its loan, a raw word that looks like a fixnum; see [`crate::layout::loan`].
    /// `service` is `#f` or a procedure that makes or takes the bytes. `text`, `used` and `owner` are
    /// for string ports whose text is in the heap, `sides` is for ports for both directions.
    Port "port" Scannable 8 ["id" "flags" "name" "loan" "service" "text" "used" "owner" "sides"];
    /// An environment for `eval`; `id` names the host's object.
    Environment "environment" Scannable 8 ["id" "name"];
    Code "code" Code 1 [];
    /// The car does not keep its object alive; it becomes `#!bwp`.
    WeakPair "weak-pair" Special 8 ["car" "cdr"];
    /// The datum is alive only while the key is.
    Ephemeron "ephemeron" Special 8 ["key" "datum"];
    Keyword "keyword" Scannable 8 ["name"];
    /// The condition that primitives raise: `type` a symbol, `who` a symbol or #f, `position` a
    /// string or #f.
    Condition "condition" Scannable 8 ["type" "message" "irritants" "who" "position" "origin"];
    /// `ready` is the list of objects proven dead, in the order of the proofs.
    Guardian "guardian" Scannable 8 ["ready"];
    /// Hash-table buckets whose keys or values are weak: alternating key and value words.
    WeakEntries "weak-entries" Special 8 [];
    /// An identifier of a macro transformer: `name` a symbol, `number` what the host knows it by.
    Identifier "identifier" Scannable 8 ["name" "number"];
    /// A homogeneous numeric vector; length in bytes, the code of the element type in the flags
    /// from [`crate::layout::ELEMENT_TYPE_SHIFT`] on.
    NumericVector "numeric-vector" Leaf 1 [];
    /// An opaque host object; the collector tells the host when it died.
    External "external" Scannable 8 ["id" "name"];
}

impl Kind {
    /// The kind with this number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Kind::ALL.get(byte as usize).copied()
    }

    /// This kind's row.
    pub fn row(self) -> &'static KindRow {
        &KINDS[self as usize]
    }
}
