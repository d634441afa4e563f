//! Strings: R7RS 6.7 and the first-order procedures of SRFI 13 and 130 that programs want.
//!
//! A range argument pair `[index] [index]` is start (inclusive, default 0) and end (exclusive,
//! default the length).

use super::rows;

rows! {
    /// String rows.
    ROWS:
    "string?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a string.";
    "make-string" (1, 2) [PURE ALLOCATES] "index [char] -> string"
        "A string of k equal characters (spaces if none is given).";
    "string" (0 ..) [PURE ALLOCATES] "any ... -> string"
        "A string of the characters; other arguments contribute their display text.";
    "string-length" (1) [FOLDABLE PURE] "string -> index" "The number of characters.";
    "string-ref" (2) [PURE] "string index -> char" "Character k.";
    "string-set!" (3) [] "string index char -> unspecified" "Stores a character.";
    "string=?" (1 ..) [PURE] "string string ... -> boolean" "Whether the strings have the same characters.";
    "string<?" (1 ..) [PURE] "string string ... -> boolean" "Whether the strings increase by scalar values.";
    "string>?" (1 ..) [PURE] "string string ... -> boolean" "Whether the strings decrease by scalar values.";
    "string<=?" (1 ..) [PURE] "string string ... -> boolean" "Whether the strings never decrease.";
    "string>=?" (1 ..) [PURE] "string string ... -> boolean" "Whether the strings never increase.";
    "string-ci=?" (1 ..) [PURE] "string string ... -> boolean" "string=? after full folding.";
    "string-ci<?" (1 ..) [PURE] "string string ... -> boolean" "string<? after full folding.";
    "string-ci>?" (1 ..) [PURE] "string string ... -> boolean" "string>? after full folding.";
    "string-ci<=?" (1 ..) [PURE] "string string ... -> boolean" "string<=? after full folding.";
    "string-ci>=?" (1 ..) [PURE] "string string ... -> boolean" "string>=? after full folding.";
    "string-upcase" (1, 3) [PURE ALLOCATES] "string [index] [index] -> string"
        "The full upper-case mapping of a range.";
    "string-downcase" (1, 3) [PURE ALLOCATES] "string [index] [index] -> string"
        "The full lower-case mapping of a range, with final sigma.";
    "string-foldcase" (1) [PURE ALLOCATES] "string -> string" "The full case folding.";
    "substring" (2, 3) [PURE ALLOCATES] "string index [index] -> string" "A copy of a range.";
    "string-append" (0 ..) [PURE ALLOCATES] "string ... -> string" "A new string that joins the arguments.";
    "string-concatenate" (1) [PURE ALLOCATES] "list -> string"
        "A new string that joins the strings of a list.";
    "string->list" (1, 3) [PURE ALLOCATES] "string [index] [index] -> list" "The characters of a range.";
    "list->string" (1) [PURE ALLOCATES] "list -> string" "A string of the characters of a list.";
    "%reverse-list->string" (1) [PURE ALLOCATES] "list -> string"
        "A string of the characters of a list, last first.";
    "string->vector" (1, 3) [PURE ALLOCATES] "string [index] [index] -> vector"
        "The characters of a range in a vector.";
    "vector->string" (1, 3) [PURE ALLOCATES] "vector [index] [index] -> string"
        "The characters in a range of a vector as a string.";
    "string-copy" (1, 3) [PURE ALLOCATES] "string [index] [index] -> string" "A copy of a range.";
    "string-copy!" (3, 5) [] "string index string [index] [index] -> unspecified"
        "Copies a range into another string; ranges may overlap.";
    "string-fill!" (2, 4) [] "string char [index] [index] -> unspecified"
        "Fills a range with one character.";
    "string->utf8" (1, 3) [PURE ALLOCATES] "string [index] [index] -> bytevector"
        "The UTF-8 bytes of a range.";
    "utf8->string" (1, 3) [PURE ALLOCATES] "bytevector [index] [index] -> string"
        "The string of UTF-8 bytes; malformed ones raise.";
    "string-null?" (1) [FOLDABLE PURE] "string -> boolean" "Whether a string is empty.";
    "string-join" (1, 2) [PURE ALLOCATES] "list [string] -> string"
        "The strings of a list joined with a delimiter (a space if none is given).";
    "string-split" (1, 2) [PURE ALLOCATES] "string [any] -> list"
        "The parts between occurrences of a character or string; runs of white space if none is \
         given." slow Work;
    "string-contains" (2, 4) [PURE] "string string [index] [index] -> index-or-false"
        "The index of the first occurrence of the second string in a range of the first, or #f.";
    "string-search-forward" (3) [PURE] "string string index -> index-or-false"
        "The index of the first occurrence of a pattern in a string from an index on, or #f.";
    "string-search-backward" (3) [PURE] "string string index -> index-or-false"
        "The end of the last occurrence of a pattern that ends at or before an index." slow Work;
    "string-search-all" (2) [PURE ALLOCATES] "string string -> list"
        "Every index at which a pattern occurs in a string." slow Work;
    "%string-index" (2, 4) [PURE] "string char [index] [index] -> index-or-false"
        "The first index of a character in a range.";
    "%string-rindex" (2, 4) [PURE] "string char [index] [index] -> index-or-false"
        "The last index of a character in a range.";
    "string-prefix?" (2) [PURE] "string string -> boolean" "Whether the second string starts with the first.";
    "string-suffix?" (2) [PURE] "string string -> boolean" "Whether the second string ends with the first.";
    "string-reverse" (1, 3) [PURE ALLOCATES] "string [index] [index] -> string"
        "The characters of a range in reverse order.";
    "string-pad-left" (2, 3) [PURE ALLOCATES] "string index [char] -> string"
        "The string right-justified to a width.";
    "string-pad-right" (2, 3) [PURE ALLOCATES] "string index [char] -> string"
        "The string left-justified to a width.";
    "string-trim" (1) [PURE ALLOCATES] "string -> string"
        "The string without white space at its start." slow Work;
    "string-trim-right" (1) [PURE ALLOCATES] "string -> string"
        "The string without white space at its end." slow Work;
    "string-trim-both" (1) [PURE ALLOCATES] "string -> string"
        "The string without white space at both ends." slow Work;
    "string-repeat" (2) [PURE ALLOCATES] "string index -> string" "The string k times." slow Work;
    "string-normalize-nfc" (1) [PURE ALLOCATES] "string -> string" "The canonical composition." slow Work;
    "string-normalize-nfd" (1) [PURE ALLOCATES] "string -> string" "The canonical decomposition." slow Work;
    "string-normalize-nfkc" (1) [PURE ALLOCATES] "string -> string"
        "The compatibility composition." slow Work;
    "string-normalize-nfkd" (1) [PURE ALLOCATES] "string -> string"
        "The compatibility decomposition." slow Work;
    "%string-normalized?" (2) [PURE] "string normal-form -> boolean"
        "Whether a string is in a normalization form." slow Work;
    "%text-boundaries" (2, 4) [PURE ALLOCATES] "string division [index] [index] -> vector"
        "The indexes at which the parts of a range begin and end." slow Work;
    "%grapheme-count" (1, 3) [PURE] "string [index] [index] -> index"
        "The number of graphemes in a range." slow Work;
    "%text-width" (1, 3) [PURE] "string [index] [index] -> index"
        "The columns of a range in a terminal." slow Work;
}
