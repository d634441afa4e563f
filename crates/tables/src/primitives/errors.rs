//! Condition objects.
//!
//! A condition has a kind (a symbol), a message (a string), irritants (a list), the name of the
//! procedure to blame (a symbol or #f) and a position (a list of file, line and column, or #f). Kinds
//! made by the machine: `type`, `range`, `arity`, `arithmetic`, `unbound`, `not-procedure`, `escape`,
//! `immutable`, `file`, `read`, `syntax`, `memory`, `stack`, `interrupt`, `system`, `match`,
//! `assertion`, `contract`, `process`, `timeout`. `error` makes conditions of kind `error`. A condition
//! of kind `file` satisfies `file-error?`, one of kind `read` satisfies `read-error?`; every condition
//! satisfies `error-object?`.
//!
//! The position of a condition is that of the innermost frame outside the standard library at the
//! time the condition was made.

use super::rows;

rows! {
    /// Condition rows.
    ROWS slow Errors:
    "%make-condition" (4) [PURE ALLOCATES] "symbol any list any -> condition"
        "A new condition: kind, message, irritants, name to blame or #f; the position is taken from the \
         frames.";
    "error-object?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a condition.";
    "error-object-message" (1) [PURE] "condition -> string" "The message of a condition.";
    "error-object-irritants" (1) [PURE] "condition -> list" "The irritants of a condition.";
    "read-error?" (1) [PURE NEVER_RAISES] "any -> boolean" "Whether the object is a condition of the reader.";
    "file-error?" (1) [PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a condition of the file system.";
    "condition-kind" (1) [PURE] "condition -> symbol" "The kind of a condition.";
    "condition-who" (1) [PURE] "condition -> symbol-or-false" "The name of the procedure that is blamed.";
    "condition-position" (1) [PURE] "condition -> list-or-false"
        "File, line and column of a condition, and line and column of its end.";
    "condition->string" (1) [PURE ALLOCATES] "any -> string"
        "The text of a condition as it is reported, without a position; of another object, its written form.";
    "%type-error" (4) [NEVER_RETURNS] "symbol index string any -> never"
        "Raises a type condition: name to blame, argument position from 1, what was expected, what was \
         given.";
    "%range-error" (4) [NEVER_RETURNS] "symbol index string any -> never"
        "Raises a range condition with the same arguments.";
    "%match-failure" (2) [NEVER_RETURNS] "any symbol -> never"
        "Raises a match condition: the value that no pattern took, and the form to blame.";
    "%assertion-failure" (1) [NEVER_RETURNS] "list -> never"
        "Raises an assertion condition with these irritants.";
    "%contract-violation" (4) [NEVER_RETURNS] "any any list boolean -> never"
        "Raises a contract condition: name to blame, message, irritants, whether the position is that of the \
         caller.";
    "%note-task!" (2) [] "any any -> unspecified"
        "Notes in a condition in which task, of this name or #f, and in which frames it was raised.";
    "%frames-of" (2) [] "any index -> list"
        "The newest frames of a continuation, as texts, but for those of the library; nothing if it is no \
         continuation.";
    "%report-raised" (2) [] "any string-or-false -> unspecified"
        "Reports an object that is about to be handled, with the frames and a sentence.";
    "%backtrace" (0) [] "-> list"
        "The current frames outside the standard library, innermost first: name, list of file, line and \
         column or #f, pairs of variables and values.";
    "%uncaught" (2) [NEVER_RETURNS] "any boolean -> never"
        "Ends the program or REPL form: reports an object that no handler took; the flag says that it was \
         raised by raise-continuable.";
}
