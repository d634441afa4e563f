//! Identifiers of macro transformers.

use super::rows;

rows! {
    /// Identifier rows.
    ROWS slow Expansion:
    "%identifier?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an identifier.";
    "%identifier-name" (1) [PURE] "identifier -> symbol" "The symbol of an identifier.";
    "%template-identifier" (3) [ALLOCATES] "symbol any any -> identifier"
        "An identifier of a template: its symbol, what to look up, and where.";
    "%rename-identifier" (1) [ALLOCATES] "symbol -> identifier"
        "The identifier that a symbol is where the macro was defined.";
    "%plain-identifier" (1) [ALLOCATES] "symbol -> identifier"
        "The identifier that a symbol is in the text of the program.";
    "%identifier-like" (2) [ALLOCATES] "any symbol -> identifier"
        "The identifier that a symbol is where another identifier was written.";
    "%fresh-identifier" (1) [ALLOCATES] "symbol -> identifier" "An identifier that no other one equals.";
    "%bound-identifier=?" (2) [PURE] "any any -> boolean" "Whether two identifiers would bind each other.";
    "%free-identifier=?" (2) [] "any any -> boolean"
        "Whether two identifiers mean the same where the macro is used.";
    "%macro-value" (0) [NEVER_RAISES] "-> any"
        "The form or transformer that the machine for macros works on.";
    "%macro-transformer" (0) [NEVER_RAISES] "-> index" "The number of the transformer to be applied.";
    "%note-violation" (2) [] "string any -> unspecified" "Notes what is wrong with a part of the macro use.";
}
