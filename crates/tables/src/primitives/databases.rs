//! Databases. `(canny sqlite)` is made of these.
//!
//! The first argument of most is the procedure's name for errors. A refused operation returns a
//! condition, which the caller raises after it has released its lock. `token` is a number by which
//! a running operation can be interrupted.

use super::rows;

rows! {
    /// Databases.
    ROWS slow System:
    "%sqlite-version" (0) [] "-> string" "The version of SQLite.";
    "%sqlite-open" (5) [] "symbol string database-mode index index -> any"
        "A connection: milliseconds to wait for locks, number of statements kept.";
    "%sqlite-close" (1) [] "external -> unspecified" "Ends all statements of a connection and closes it.";
    "%sqlite-open?" (1) [] "external -> boolean" "Whether a connection is open.";
    "%sqlite-run" (6) [] "symbol external string list row-shape index -> any"
        "Runs a statement with arguments: token.";
    "%sqlite-script" (4) [] "symbol external string index -> any" "Runs all statements of a text: token.";
    "%sqlite-columns" (3) [] "symbol external string -> any"
        "The names of the columns that a statement gives, as symbols.";
    "%sqlite-cursor" (4) [] "symbol external string list -> any"
        "Begins a statement whose rows are fetched by and by.";
    "%sqlite-fetch" (5) [] "symbol external index boolean index -> any"
        "The next rows of a cursor, at most so many, as association lists if the flag is set: token. None at \
         the end.";
    "%sqlite-cursor-close" (1) [] "external -> unspecified" "Ends a cursor.";
    "%sqlite-ticket" (1) [] "external -> index"
        "The ticket of an offloaded operation: an operation that is offloaded gives the symbol `offloaded`.";
    "%sqlite-abandon!" (1) [] "external -> unspecified" "Asks an offloaded operation to end.";
    "%sqlite-finish" (3) [] "symbol external row-shape -> any"
        "Waits for an offloaded operation and gives its result.";
    "%sqlite-state" (3) [] "symbol external database-state -> any" "A property of a connection.";
    "%sqlite-interrupt!" (2) [] "external any -> boolean"
        "Ends what a connection runs, with #f or if it was begun with this token; whether there was \
         something.";
    "%sqlite-backup" (4) [] "symbol external string index -> any" "Copies a whole database to a file: token.";
    "%sqlite-blob-size" (5) [] "symbol external string string integer -> any"
        "Number of bytes of a blob: table, column, number of the row.";
    "%sqlite-blob-read" (7) [] "symbol external string string integer index index -> any"
        "Bytes of a blob: offset and how many at most.";
    "%sqlite-blob-write" (7) [] "symbol external string string integer index bytevector -> any"
        "Replaces bytes of a blob from an offset on.";
}
