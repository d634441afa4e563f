//! Characters: Unicode scalar values.

use super::rows;

rows! {
    /// Character rows.
    ROWS:
    "char?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a character.";
    "char->integer" (1) [FOLDABLE PURE] "char -> integer" "The scalar value of a character.";
    "integer->char" (1) [FOLDABLE PURE] "integer -> char" "The character of a scalar value.";
    "char=?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "Whether the characters are the same.";
    "char<?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "Whether the scalar values increase.";
    "char>?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "Whether the scalar values decrease.";
    "char<=?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "Whether the scalar values never decrease.";
    "char>=?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "Whether the scalar values never increase.";
    "char-ci=?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "char=? after folding.";
    "char-ci<?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "char<? after folding.";
    "char-ci>?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "char>? after folding.";
    "char-ci<=?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "char<=? after folding.";
    "char-ci>=?" (1 ..) [FOLDABLE PURE] "char char ... -> boolean" "char>=? after folding.";
    "char-upcase" (1) [FOLDABLE PURE] "char -> char" "The simple upper-case mapping.";
    "char-downcase" (1) [FOLDABLE PURE] "char -> char" "The simple lower-case mapping.";
    "char-foldcase" (1) [FOLDABLE PURE] "char -> char" "The simple case folding.";
    "char-titlecase" (1) [FOLDABLE PURE] "char -> char" "The simple title-case mapping.";
    "char-alphabetic?" (1) [FOLDABLE PURE] "char -> boolean"
        "Whether a character has the Alphabetic property.";
    "char-numeric?" (1) [FOLDABLE PURE] "char -> boolean" "Whether a character is a decimal digit.";
    "char-whitespace?" (1) [FOLDABLE PURE] "char -> boolean"
        "Whether a character has the White_Space property.";
    "char-upper-case?" (1) [FOLDABLE PURE] "char -> boolean"
        "Whether a character has the Uppercase property.";
    "char-lower-case?" (1) [FOLDABLE PURE] "char -> boolean"
        "Whether a character has the Lowercase property.";
    "digit-value" (1) [FOLDABLE PURE] "char -> integer-or-false" "The value of a decimal digit, or #f.";
    "%char-terminal-width" (2) [FOLDABLE PURE] "char any -> integer"
        "The columns of a character in a terminal: 0, 1 or 2; the flag makes ambiguous characters \
         wide." slow Rare;
    "char-general-category" (1) [FOLDABLE PURE] "char -> symbol"
        "The Unicode general category, such as Lu." slow Rare;
    "%character-ranges" (1) [PURE ALLOCATES] "list -> vector"
        "The starts and ends, by turns, of the ranges of characters with a general category of the list, \
         or with the property lower-case or upper-case." slow Makes;
}
