//! Ports, reading and writing.
//!
//! An absent port argument means the current input or output port: the value of key 0 or 1 in the
//! parameters register of the dynamic state, else the thread's default port (see `control`).
//! `current-input-port`, `current-output-port` and `current-error-port` are parameter objects made
//! in `(canny control)` over `%current-port` and `%set-default-port!`.
//!
//! Conditions: a closed port or one of the wrong direction or kind is a `type` condition; a failed
//! operation of the operating system is a `file` condition; a syntax error in `read` is a `read`
//! condition whose irritants end with the port's name, line and column.

use super::rows;

rows! {
    /// Port rows.
    ROWS:
    "%current-port" (1) [PURE] "index -> port" "The current port with a key: 0 input, 1 output, 2 error.";
    "%set-default-port!" (2) [] "index port -> unspecified" "Replaces the thread's default port with a key.";
    "port?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a port.";
    "input-port?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an input port.";
    "output-port?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an output port.";
    "textual-port?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a textual port.";
    "binary-port?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a binary port.";
    "input-port-open?" (1) [PURE] "port -> boolean" "Whether an input port is open.";
    "output-port-open?" (1) [PURE] "port -> boolean" "Whether an output port is open.";
    "close-port" (1) [] "port -> unspecified" "Closes a port; a second time does nothing.";
    "close-input-port" (1) [] "port -> unspecified" "Closes the input side of a port.";
    "close-output-port" (1) [] "port -> unspecified" "Closes the output side of a port.";
    "open-input-file" (1) [] "string -> port" "A textual port that reads a file.";
    "open-binary-input-file" (1) [] "string -> port" "A binary port that reads a file.";
    "open-output-file" (1) [] "string -> port" "A textual port that writes a file from its start, emptied first.";
    "open-binary-output-file" (1) [] "string -> port" "A binary port that writes a file from its start, emptied first.";
    "open-append-file" (1) [] "string -> port" "A textual port that writes at the end of a file.";
    "open-input-string" (1) [PURE ALLOCATES] "string -> port" "A textual port that reads a copy of a string.";
    "open-output-string" (0) [PURE NEVER_RAISES ALLOCATES] "-> port" "A textual port that collects what is written.";
    "get-output-string" (1) [PURE ALLOCATES] "port -> string" "What was written to a string port so far.";
    "open-input-bytevector" (1) [PURE ALLOCATES] "bytevector -> port" "A binary port that reads a copy of a bytevector.";
    "open-output-bytevector" (0) [PURE NEVER_RAISES ALLOCATES] "-> port" "A binary port that collects what is written.";
    "get-output-bytevector" (1) [PURE ALLOCATES] "port -> bytevector" "What was written to a bytevector port so far.";
    "read-char" (0, 1) [] "[port] -> char-or-eof" "The next character.";
    "peek-char" (0, 1) [] "[port] -> char-or-eof" "The next character, left in place.";
    "read-line" (0, 1) [] "[port] -> string-or-eof" "The characters up to the end of the line, which is dropped.";
    "char-ready?" (0, 1) [] "[port] -> boolean" "Whether read-char would not wait.";
    "read-string" (1, 2) [] "index [port] -> string-or-eof" "Up to k characters.";
    "read-u8" (0, 1) [] "[port] -> byte-or-eof" "The next byte.";
    "peek-u8" (0, 1) [] "[port] -> byte-or-eof" "The next byte, left in place.";
    "u8-ready?" (0, 1) [] "[port] -> boolean" "Whether read-u8 would not wait.";
    "read-bytevector" (1, 2) [] "index [port] -> bytevector-or-eof" "Up to k bytes.";
    "read-bytevector!" (1, 4) [] "bytevector [port] [index] [index] -> index-or-eof" "Fills a range with bytes; the number read.";
    "read" (0, 1) [] "[port] -> any" "The next datum, or the end-of-file object.";
    "%read-fold-case!" (2) [] "port boolean -> unspecified" "Whether read folds case from here on.";
    "write-char" (1, 2) [] "char [port] -> unspecified" "Writes a character.";
    "write-string" (1, 4) [] "string [port] [index] [index] -> unspecified" "Writes the characters of a range.";
    "write-u8" (1, 2) [] "byte [port] -> unspecified" "Writes a byte.";
    "write-bytevector" (1, 4) [] "bytevector [port] [index] [index] -> unspecified" "Writes the bytes of a range.";
    "newline" (0, 1) [] "[port] -> unspecified" "Writes an end of line.";
    "fresh-line" (0, 1) [] "[port] -> unspecified" "Writes an end of line unless at the start of one.";
    "write" (1, 2) [] "any [port] -> unspecified" "Writes a datum; labels only for cycles.";
    "write-shared" (1, 2) [] "any [port] -> unspecified" "Writes a datum with labels for everything shared.";
    "write-simple" (1, 2) [] "any [port] -> unspecified" "Writes a datum without labels; does not end on cycles.";
    "display" (1, 2) [] "any [port] -> unspecified" "Writes a datum for people; labels only for cycles.";
    "flush-output-port" (0, 1) [] "[port] -> unspecified" "Passes buffered output on.";
    "port-name" (1) [PURE] "port -> any" "The file name of a port, or a word for it.";
    "port-line" (1) [PURE] "port -> index-or-false" "The line number, from 1, of the next character of an input port.";
    "port-column" (1) [PURE] "port -> index-or-false" "The column, from 1, of the next character of an input port.";
    "file-exists?" (1) [] "string -> boolean" "Whether a file has the name.";
    "delete-file" (1) [] "string -> unspecified" "Removes a file.";
}
