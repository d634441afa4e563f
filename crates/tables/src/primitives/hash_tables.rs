//! Hash tables with the four built-in equivalences, and hash functions.
//!
//! Tables with an equivalence written in Scheme are built on an `eqv` table by `(srfi 69)`.
//! A table keyed by identity is rehashed when the collector has moved keys.

use super::rows;

rows! {
    /// Hash table rows.
    ROWS:
    "%make-hash-table" (3) [PURE ALLOCATES] "symbol any index -> hash-table"
        "A new table: equivalence eq, eqv, equal or string; weakness #f, key, value or ephemeral; expected \
         size.";
    "%hash-table?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a built-in hash table.";
    "%hash-table-equivalence" (1) [FOLDABLE PURE] "hash-table -> symbol"
        "The equivalence of a table." slow Rare;
    "%hash-table-weakness" (1) [FOLDABLE PURE] "hash-table -> any" "The weakness of a table." slow Rare;
    "%hash-table-ref" (3) [PURE] "hash-table any any -> any" "The value of a key, or the default.";
    "%hash-table-set!" (3) [] "hash-table any any -> unspecified" "Associates a value with a key.";
    "%hash-table-delete!" (2) [] "hash-table any -> boolean" "Removes a key; whether it was there.";
    "%hash-table-contains?" (2) [PURE] "hash-table any -> boolean" "Whether a key has a value.";
    "%hash-table-count" (1) [PURE] "hash-table -> index" "The number of associations.";
    "%hash-table-clear!" (1) [] "hash-table -> unspecified" "Removes every association." slow Work;
    "%hash-table-pop!" (1) [ALLOCATES] "hash-table -> pair-or-false"
        "Removes the newest association and gives it as a pair; #f if there is none." slow Changes;
    "%hash-table-copy" (1) [PURE ALLOCATES] "hash-table -> hash-table"
        "A table of its own with the same associations." slow Work;
    "%hash-table-keys" (1) [PURE ALLOCATES] "hash-table -> list" "The keys." slow Work;
    "%hash-table-values" (1) [PURE ALLOCATES] "hash-table -> list" "The values." slow Work;
    "%hash-table-entries" (1) [PURE ALLOCATES] "hash-table -> vector"
        "The number of associations, then each key and its value; elements behind them mean \
         nothing." slow Work;
    "%hash-table->alist" (1) [PURE ALLOCATES] "hash-table -> list" "Fresh pairs of key and value." slow Work;
    "hash" (1, 2) [PURE] "any [integer] -> integer" "A hash that respects equal?, below the bound.";
    "string-hash" (1, 2) [PURE] "string [integer] -> integer"
        "A hash that respects string=?, below the bound.";
    "string-ci-hash" (1, 2) [PURE] "string [integer] -> integer"
        "A hash that respects string-ci=?, below the bound." slow Work;
    "hash-by-identity" (1, 2) [PURE] "any [integer] -> integer"
        "A hash that respects eq? and lasts as long as the object, below the bound." slow Rare;
    "hash-by-eqv" (1, 2) [PURE] "any [integer] -> integer"
        "A hash that respects eqv? and lasts as long as the object, below the bound." slow Rare;
    "symbol-hash" (1) [FOLDABLE PURE] "symbol -> integer" "The hash of a symbol's name." slow Rare;
}
