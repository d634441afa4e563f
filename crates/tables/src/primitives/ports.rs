//! Ports, reading and writing.
//!
//! An absent port argument means the current input or output port: the value of key 0 or 1 in the
//! parameters register of the dynamic state, else the thread's default port (see `control`).
//! `current-input-port`, `current-output-port` and `current-error-port` are parameter objects made
//! in `(canny machine control)` over `%current-port` and `%set-default-port!`.
//!
//! Conditions: a closed port or one of the wrong direction or kind is a `type` condition; a failed
//! operation of the operating system is a `file` condition; a syntax error in `read` is a `read`
//! condition whose irritants end with the port's name, line and column.

use super::rows;

rows! {
    /// Port rows.
    ROWS:
    "%current-port" (1) [PURE] "port-key -> port" "The current port with a key.";
    "%set-default-port!" (2) [] "port-key port -> unspecified"
        "Replaces the thread's default port with a key." slow Administration;
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
    "open-input-file" (1) [] "string -> port" "A textual port that reads a file." slow Makes;
    "open-binary-input-file" (1) [] "string -> port" "A binary port that reads a file." slow Makes;
    "open-output-file" (1) [] "string -> port"
        "A textual port that writes a file from its start, emptied first." slow Makes;
    "open-binary-output-file" (1) [] "string -> port"
        "A binary port that writes a file from its start, emptied first." slow Makes;
    "open-append-file" (1) [] "string -> port" "A textual port that writes at the end of a file." slow Makes;
    "open-input-string" (1) [PURE ALLOCATES] "string -> port" "A textual port that reads a copy of a string.";
    "open-output-string" (0) [PURE NEVER_RAISES ALLOCATES] "-> port"
        "A textual port that collects what is written.";
    "get-output-string" (1) [PURE ALLOCATES] "port -> string" "The text written to a string port so far.";
    "open-input-bytevector" (1) [PURE ALLOCATES] "bytevector -> port"
        "A binary port that reads a copy of a bytevector.";
    "open-output-bytevector" (0) [PURE NEVER_RAISES ALLOCATES] "-> port"
        "A binary port that collects what is written.";
    "get-output-bytevector" (1) [PURE ALLOCATES] "port -> bytevector"
        "The bytes written to a bytevector port so far.";
    "read-char" (0, 1) [] "[port] -> char-or-eof" "The next character.";
    "peek-char" (0, 1) [] "[port] -> char-or-eof" "The next character, left in place.";
    "read-line" (0, 1) [] "[port] -> string-or-eof"
        "The characters up to the end of the line, which is dropped.";
    "%read-whole-line" (0, 1) [] "[port] -> string-or-eof"
        "The characters up to the end of the line, which is kept." slow Administration;
    "char-ready?" (0, 1) [] "[port] -> boolean" "Whether read-char would not wait.";
    "read-string" (1, 2) [] "index [port] -> string-or-eof" "Up to k characters.";
    "read-u8" (0, 1) [] "[port] -> byte-or-eof" "The next byte.";
    "peek-u8" (0, 1) [] "[port] -> byte-or-eof" "The next byte, left in place.";
    "u8-ready?" (0, 1) [] "[port] -> boolean" "Whether read-u8 would not wait.";
    "read-bytevector" (1, 2) [] "index [port] -> bytevector-or-eof" "Up to k bytes.";
    "read-bytevector!" (1, 4) [] "bytevector [port] [index] [index] -> index-or-eof"
        "Fills a range with bytes; the number read.";
    "read" (0, 1) [] "[port] -> any" "The next datum, or the end-of-file object.";
    "%read-fold-case!" (2) [] "port boolean -> unspecified"
        "Whether read folds case from here on." slow Administration;
    "write-char" (1, 2) [] "char [port] -> unspecified" "Writes a character.";
    "write-string" (1, 4) [] "string [port] [index] [index] -> unspecified"
        "Writes the characters of a range.";
    "write-u8" (1, 2) [] "byte [port] -> unspecified" "Writes a byte.";
    "write-bytevector" (1, 4) [] "bytevector [port] [index] [index] -> unspecified"
        "Writes the bytes of a range.";
    "newline" (0, 1) [] "[port] -> unspecified" "Writes an end of line.";
    "fresh-line" (0, 1) [] "[port] -> unspecified"
        "Writes an end of line unless at the start of one." slow System;
    "write" (1, 2) [] "any [port] -> unspecified" "Writes a datum; labels only for cycles.";
    "write-shared" (1, 2) [] "any [port] -> unspecified"
        "Writes a datum with labels for everything shared." slow Work;
    "write-simple" (1, 2) [] "any [port] -> unspecified"
        "Writes a datum without labels; does not end on cycles." slow Work;
    "display" (1, 2) [] "any [port] -> unspecified" "Writes a datum for people; labels only for cycles.";
    "flush-output-port" (0, 1) [] "[port] -> unspecified" "Passes buffered output on.";
    "port-name" (1) [PURE] "port -> any" "The file name of a port, or a word for it." slow Administration;
    "port-line" (1) [PURE] "port -> index-or-false"
        "The line number, from 1, of the next character of an input port." slow Administration;
    "port-column" (1) [PURE] "port -> index-or-false"
        "The column, from 1, of the next character of an input port." slow Administration;
    "file-exists?" (1) [] "string -> boolean" "Whether a file has the name." slow System;
    "delete-file" (1) [] "string -> unspecified" "Removes a file." slow System;
    "%open-input" (1) [] "string -> port" "A binary port that reads a file." slow Makes;
    "%open-output" (2) [] "string output-mode -> port" "A binary port that writes a file." slow Makes;
    "%open-input/output" (2) [] "string output-mode -> port"
        "A binary port that reads and writes a file." slow Makes;
    "%join-ports" (3) [] "port port any -> port"
        "A port for both directions of one that reads and one that writes: #t if they share a position in a \
         file, or a procedure that is called before the direction changes, with `service/turn-to-read` or \
         `service/turn-to-write`." slow Makes;
    "%port-side" (2) [] "port boolean -> port"
        "The port that reads, or writes, for a port for both directions; any other port." slow Administration;
    "%port-turns" (1) [PURE] "port -> any"
        "The last argument of %join-ports for a port, or #f." slow Administration;
    "%transcode-input" (5) [] "port any any any any -> port"
        "A textual port in the place of a binary one: encoding, malformed, lines, byte order \
         mark." slow Makes;
    "%transcode-output" (5) [] "port any any any any -> port"
        "A textual port in the place of a binary one: encoding, malformed, byte order mark, \
         buffering." slow Makes;
    "%set-port-buffering!" (2) [] "port any -> unspecified"
        "Stores the buffering of an output port: a symbol." slow Administration;
    "%set-port-lines!" (2) [] "port any -> unspecified"
        "Stores the line separator of a textual input port." slow Administration;
    "%port-encoding" (1) [] "port -> any" "The name of a textual port's encoding." slow Administration;
    "%encoding-name" (1) [PURE] "string -> any" "The usual name of an encoding, or #f." slow Administration;
    "encoding-names" (0) [PURE ALLOCATES] "-> list"
        "The names of the encodings that are built in." slow Administration;
    "%port-position" (1) [] "port -> index"
        "The place of the next byte, or of the next character's first byte, from the start." slow System;
    "%set-port-position!" (2) [] "port index -> unspecified" "Continues at another position." slow System;
    "%port-seekable?" (1) [] "port -> boolean"
        "Whether the position of a port can be changed." slow Administration;
    "%truncate-port" (2) [] "port index -> unspecified"
        "Changes the length of the file behind a port." slow System;
    "%sync-port" (2) [] "port boolean -> unspecified"
        "Waits until what was written is on the disk." slow System;
    "%lock-port" (3) [] "port boolean boolean -> boolean"
        "Locks a file, exclusively or not, and waits or not; false if others have it." slow Administration;
    "unlock-port" (1) [] "port -> unspecified" "Gives the lock of a file up." slow Administration;
    "read-bytevector-at" (3) [] "port index index -> bytevector-or-eof"
        "Up to k bytes of a file from a place on; the port's own place stays." slow System;
    "port-file-length" (1) [] "port -> index" "The length in bytes of the file behind a port." slow System;
    "port-timeout" (1) [] "port -> any" "The longest wait of a port in seconds, or #f." slow Administration;
    "%set-port-timeout!" (2) [] "port any -> unspecified"
        "Limits each wait of a port to so many milliseconds; #f is no limit." slow Administration;
    "%open-channel" (3) [] "string any boolean -> port"
        "A binary port over a pipe in memory, with a procedure that serves it or #f; input or \
         output." slow Makes;
    "%port-twin" (1) [] "port -> port"
        "Another binary input port over the same channel, to feed it when something has taken the first one \
         over." slow Administration;
    "%port-service" (1) [PURE] "port -> any"
        "The procedure that makes or takes the bytes of a port, or #f." slow Administration;
    "%feed-port!" (4) [] "port any index index -> unspecified"
        "Gives an input port over a channel bytes, or characters as UTF-8." slow Administration;
    "%end-port!" (2) [] "port boolean -> unspecified"
        "Says that an input port over a channel has ended, for good or for now." slow Administration;
    "%take-port-bytes!" (1) [] "port -> bytevector"
        "Takes what was written to an output port over a channel." slow Administration;
    "%acknowledge-port!" (1) [] "port -> unspecified"
        "Says that a flush or close was served." slow Administration;
    "%try-read" (2, 3) [] "port try-read [index] -> any"
        "Reads without waiting; #f if it must wait." slow System;
    "read-available" (0, 1) [] "[port] -> any"
        "The characters or bytes that have arrived at a port; waits only if there are none." slow System;
}
