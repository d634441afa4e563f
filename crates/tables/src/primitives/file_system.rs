//! Files beyond `posix`: `(canny fs)` is made of these and of those.

use super::rows;

rows! {
    /// Kinds, copies, temporary files, watches.
    ROWS slow System:
    "%file-type" (2) [] "string boolean -> any"
        "The bits of the mode that tell the kind of a file, of the target of a symbolic link when the flag \
         is true; #f if there is none.";
    "%file-access?" (2) [] "string file-access -> boolean" "Whether a file may be used, for a sum of flags.";
    "%directory-list" (1) [] "string -> list"
        "Pairs of a name in a directory and the bits for its kind, 0 if unknown, sorted.";
    "%copy-file" (3) [] "string string boolean -> unspecified"
        "Copies a regular file; the flag allows that another is replaced.";
    "%sync-file" (1) [] "string -> unspecified" "Waits until what a file or directory has is on the disk.";
    "%delete-tree" (1) [] "string -> unspecified" "Removes a file or a directory with everything in it.";
    "%disk-space" (1) [] "string -> list"
        "Bytes of the file system that a file is on: all, free, free for this user.";
    "%delete-at-exit" (2) [] "string boolean -> unspecified"
        "Remembers that a file or directory is deleted when the program ends; forgets it with #f.";
    "%name->bytevector" (1) [] "string -> bytevector" "The bytes of the name of a file.";
    "%bytevector->name" (1) [] "bytevector -> string" "The name of a file with these bytes.";
    "%watch-open" (0) [] "-> any" "A new watch, of nothing.";
    "%open-watcher" (2) [] "any string -> index" "Watches a file or directory; its number.";
    "%watch-remove" (2) [] "any index -> unspecified" "Watches it no more.";
    "%watch-read" (2) [] "any any -> any"
        "Waits for events, at most so many seconds unless #f: a list of lists of number, bits, number of a \
         move, name; #f when the time was over.";
    "%watch-close" (1) [] "any -> unspecified" "Closes a watch.";
}
