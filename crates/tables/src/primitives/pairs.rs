//! Pairs: constructors, accessors and the compositions of `car` and `cdr`.

use super::rows;

rows! {
    /// Pair rows.
    ROWS:
    "cons" (2) [PURE NEVER_RAISES ALLOCATES] "any any -> pair" "A new pair.";
    "car" (1) [PURE] "pair -> any" "The first field of a pair.";
    "cdr" (1) [PURE] "pair -> any" "The second field of a pair.";
    "set-car!" (2) [] "pair any -> unspecified" "Stores in the first field of a pair.";
    "set-cdr!" (2) [] "pair any -> unspecified" "Stores in the second field of a pair.";
    "pair?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a pair.";
    "null?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is the empty list.";
    "xcons" (2) [PURE NEVER_RAISES ALLOCATES] "any any -> pair"
        "A new pair of the arguments in reverse order." slow Rare;
    "caar" (1) [PURE] "pair -> any" "The car of the car.";
    "cadr" (1) [PURE] "pair -> any" "The car of the cdr.";
    "cdar" (1) [PURE] "pair -> any" "The cdr of the car.";
    "cddr" (1) [PURE] "pair -> any" "The cdr of the cdr.";
    "caaar" (1) [PURE] "pair -> any" "The car of the car of the car.";
    "caadr" (1) [PURE] "pair -> any" "The car of the car of the cdr.";
    "cadar" (1) [PURE] "pair -> any" "The car of the cdr of the car.";
    "caddr" (1) [PURE] "pair -> any" "The car of the cdr of the cdr.";
    "cdaar" (1) [PURE] "pair -> any" "The cdr of the car of the car.";
    "cdadr" (1) [PURE] "pair -> any" "The cdr of the car of the cdr.";
    "cddar" (1) [PURE] "pair -> any" "The cdr of the cdr of the car.";
    "cdddr" (1) [PURE] "pair -> any" "The cdr of the cdr of the cdr.";
    "caaaar" (1) [PURE] "pair -> any" "The car of the car of the car of the car.";
    "caaadr" (1) [PURE] "pair -> any" "The car of the car of the car of the cdr.";
    "caadar" (1) [PURE] "pair -> any" "The car of the car of the cdr of the car.";
    "caaddr" (1) [PURE] "pair -> any" "The car of the car of the cdr of the cdr.";
    "cadaar" (1) [PURE] "pair -> any" "The car of the cdr of the car of the car.";
    "cadadr" (1) [PURE] "pair -> any" "The car of the cdr of the car of the cdr.";
    "caddar" (1) [PURE] "pair -> any" "The car of the cdr of the cdr of the car.";
    "cadddr" (1) [PURE] "pair -> any" "The car of the cdr of the cdr of the cdr.";
    "cdaaar" (1) [PURE] "pair -> any" "The cdr of the car of the car of the car.";
    "cdaadr" (1) [PURE] "pair -> any" "The cdr of the car of the car of the cdr.";
    "cdadar" (1) [PURE] "pair -> any" "The cdr of the car of the cdr of the car.";
    "cdaddr" (1) [PURE] "pair -> any" "The cdr of the car of the cdr of the cdr.";
    "cddaar" (1) [PURE] "pair -> any" "The cdr of the cdr of the car of the car.";
    "cddadr" (1) [PURE] "pair -> any" "The cdr of the cdr of the car of the cdr.";
    "cdddar" (1) [PURE] "pair -> any" "The cdr of the cdr of the cdr of the car.";
    "cddddr" (1) [PURE] "pair -> any" "The cdr of the cdr of the cdr of the cdr.";
}
