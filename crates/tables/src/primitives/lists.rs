//! Lists: R7RS 6.4 and the first-order procedures of SRFI 1.
//!
//! Procedures that take a procedure argument are written in Scheme. `%member`, `%assoc` and
//! `%delete` are the forms without a predicate argument; they compare by `equal?`.

use super::rows;

rows! {
    /// List rows.
    ROWS:
    "list" (0 ..) [PURE NEVER_RAISES ALLOCATES] "any ... -> list" "A new list of the arguments.";
    "cons*" (1 ..) [PURE NEVER_RAISES ALLOCATES] "any any ... -> any"
        "The arguments consed onto the last one.";
    "make-list" (1, 2) [PURE ALLOCATES] "index [any] -> list" "A list of k equal elements.";
    "list?" (1) [PURE NEVER_RAISES] "any -> boolean" "Whether the object is a finite proper list.";
    "length" (1) [PURE] "list -> index" "The number of elements of a proper list.";
    "length+" (1) [PURE] "list -> index-or-false" "The length of a list, or #f when it is circular.";
    "%pair-count" (1) [PURE NEVER_RAISES] "any -> index-or-false"
        "The number of pairs that following the cdrs visits, or #f when it never ends." slow Work;
    "append" (0 ..) [PURE ALLOCATES] "any ... -> any" "The lists joined; the last argument is shared.";
    "append!" (0 ..) [] "any ... -> any" "The lists joined by changing their last pairs." slow Changes;
    "reverse" (1) [PURE ALLOCATES] "list -> list" "A new list with the elements in reverse order.";
    "reverse!" (1) [] "list -> list" "The same pairs linked in reverse order." slow Changes;
    "append-reverse" (2) [PURE ALLOCATES] "list any -> any"
        "The reverse of the first list in front of the second argument.";
    "append-reverse!" (2) [] "list any -> any"
        "Reverses a list in front of another object, reusing the pairs of the list." slow Changes;
    "concatenate" (1) [PURE ALLOCATES] "list -> any" "The lists in a list joined." slow Work;
    "concatenate!" (1) [] "list -> any"
        "The lists in a list joined by changing their last pairs." slow Changes;
    "list-tail" (2) [PURE] "any index -> any" "The list without its first k pairs.";
    "list-ref" (2) [PURE] "any index -> any" "Element k of a list.";
    "list-set!" (3) [] "any index any -> unspecified" "Stores in element k of a list." slow Changes;
    "list-copy" (1) [PURE ALLOCATES] "any -> any" "A copy of the pairs of a list; the tail is shared.";
    "last-pair" (1) [PURE] "pair -> pair" "The last pair of a list.";
    "last" (1) [PURE] "pair -> any" "The last element of a list.";
    "memq" (2) [PURE] "any list -> list-or-false" "The first sublist whose car is eq? to the object.";
    "memv" (2) [PURE] "any list -> list-or-false" "The first sublist whose car is eqv? to the object.";
    "%member" (2) [PURE] "any list -> list-or-false" "The first sublist whose car is equal? to the object.";
    "assq" (2) [PURE] "any list -> pair-or-false"
        "The first pair of an association list whose car is eq? to the object.";
    "assv" (2) [PURE] "any list -> pair-or-false"
        "The first pair of an association list whose car is eqv? to the object.";
    "%assoc" (2) [PURE] "any list -> pair-or-false"
        "The first pair of an association list whose car is equal? to the object.";
    "%delete" (2) [PURE ALLOCATES] "any list -> list"
        "The list without the elements equal? to the object." slow Work;
    "delq" (2) [PURE ALLOCATES] "any list -> list"
        "The list without the elements eq? to the object." slow Work;
    "iota" (1, 3) [PURE ALLOCATES] "index [number] [number] -> list"
        "A list of k numbers from a start by a step.";
    "circular-list" (1 ..) [PURE NEVER_RAISES ALLOCATES] "any any ... -> pair"
        "A circular list of the arguments." slow Rare;
    "proper-list?" (1) [PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a finite list that ends in ()." slow Work;
    "circular-list?" (1) [PURE NEVER_RAISES] "any -> boolean"
        "Whether following the cdrs never ends." slow Work;
    "dotted-list?" (1) [PURE NEVER_RAISES] "any -> boolean"
        "Whether following the cdrs ends in something other than ()." slow Work;
    "not-pair?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is not a pair.";
    "null-list?" (1) [FOLDABLE PURE] "list -> boolean"
        "Whether a list is empty; raises on what is neither pair nor ()." slow Rare;
    "first" (1) [PURE] "list -> any" "Element 0 of a list.";
    "second" (1) [PURE] "list -> any" "Element 1 of a list.";
    "third" (1) [PURE] "list -> any" "Element 2 of a list.";
    "fourth" (1) [PURE] "list -> any" "Element 3 of a list.";
    "fifth" (1) [PURE] "list -> any" "Element 4 of a list.";
    "sixth" (1) [PURE] "list -> any" "Element 5 of a list.";
    "seventh" (1) [PURE] "list -> any" "Element 6 of a list.";
    "eighth" (1) [PURE] "list -> any" "Element 7 of a list.";
    "ninth" (1) [PURE] "list -> any" "Element 8 of a list.";
    "tenth" (1) [PURE] "list -> any" "Element 9 of a list.";
    "take" (2) [PURE ALLOCATES] "any index -> list" "The first k elements.";
    "drop" (2) [PURE] "any index -> any" "The list without its first k elements.";
    "take-right" (2) [PURE] "any index -> any" "The last k pairs and the tail." slow Work;
    "drop-right" (2) [PURE ALLOCATES] "any index -> list" "The list without its last k pairs." slow Work;
    "take!" (2) [] "any index -> list" "The first k elements, cutting the list." slow Changes;
    "drop-right!" (2) [] "any index -> list" "The list cut before its last k pairs." slow Changes;
    "split-at" (2) [PURE ALLOCATES] "any index -> values(list any)" "take and drop at once." slow Work;
    "split-at!" (2) [] "any index -> values(list any)" "take! and drop at once." slow Changes;
}
