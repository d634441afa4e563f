//! Symbols and keywords.

use super::rows;

rows! {
    /// Symbol rows.
    ROWS:
    "symbol?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a symbol.";
    "symbol=?" (1 ..) [FOLDABLE PURE] "symbol symbol ... -> boolean" "Whether the symbols are all the same.";
    "symbol->string" (1) [PURE] "symbol -> string" "The name of a symbol, immutable.";
    "string->symbol" (1) [PURE] "string -> symbol" "The interned symbol of a name.";
    "string->uninterned-symbol" (1) [PURE ALLOCATES] "string -> symbol"
        "A new symbol that is eq? to no other." slow Makes;
    "generate-symbol" (0, 1) [PURE ALLOCATES] "[string] -> symbol"
        "A new uninterned symbol with a name of its own." slow Makes;
    "symbol-interned?" (1) [FOLDABLE PURE] "symbol -> boolean"
        "Whether reading the symbol's name gives the symbol." slow Rare;
    "symbol-append" (0 ..) [FOLDABLE PURE] "symbol ... -> symbol"
        "The symbol whose name joins the names." slow Work;
    "symbol<?" (1 ..) [FOLDABLE PURE] "symbol symbol ... -> boolean" "Whether the names increase." slow Work;
    "keyword?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a keyword.";
    "keyword->symbol" (1) [FOLDABLE PURE] "keyword -> symbol" "The symbol with a keyword's name." slow Rare;
    "symbol->keyword" (1) [FOLDABLE PURE] "symbol -> keyword" "The keyword with a symbol's name." slow Rare;
}
