//! Frames of continuations with their variables, expressions in such frames, and the parts of objects:
//! people look into them.

use super::rows;

rows! {
    /// Rows for people who look into frames and objects.
    ROWS slow Errors:
    "%continuation-frames" (3) [] "any index index -> list"
        "The frames of a continuation from one on, so many of them, newest first: lists of name, list of \
         file, line and column or #f, whether it belongs to the library, and the procedures that led on \
         by tail calls, as pairs of text and place. Nothing if it is no continuation.";
    "%continuation-variables" (2) [] "any index -> list"
        "The variables of a frame of a continuation, innermost first: lists of name, the symbol box, \
         register or closure that says where it is, and the value; the value is missing where the code has \
         let go of it.";
    "%continuation-assign!" (4) [] "any index string any -> symbol"
        "Changes a variable of a frame of a continuation: done, gone, never-assigned if it is a copy, or \
         in-continuation if it has no box.";
    "%frame-procedure" (4) [] "any index list string -> list-or-string"
        "Compiles an expression for a frame of a continuation with variables of these names: a list of \
         thunks, the last of which gives a procedure of a vector. The value comes into the vector's first \
         element, the variables are those from the fourth one on. A string says what is wrong.";
    "%object-shape" (2) [] "any index -> list"
        "The text of an object, of about so many bytes at most, a word for what it is, the number of its \
         fields and that of its elements.";
    "%object-parts" (4) [] "any boolean index index -> list"
        "The fields of an object if the flag is true, else its elements, from one on and so many of them: \
         lists of name, whether it is only a text, and the object or text.";
}
