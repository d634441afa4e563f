//! The operating system: clocks, the file system, the process. `(srfi 19)`, `(srfi 112)`, `(srfi 170)` and
//! `(srfi 193)` are made of these.
//!
//! A failed operation is a `file` condition whose message ends with the system's words for the error and
//! whose irritants are the names.

use super::rows;

rows! {
    /// Clocks, files and the process.
    ROWS slow System:
    "%clock-nanoseconds" (1) [] "clock -> integer" "The nanoseconds on a clock.";
    "%system-names" (0) [] "-> list"
        "A list of `system-name`.";
    "%script-file" (0) [NEVER_RAISES] "-> any" "The absolute name of the program that is run, or #f.";
    "%set-environment-variable!" (2) [] "string any -> unspecified"
        "Gives an environment variable a value for this program, or takes it away with #f.";
    "%user-ids" (0) [NEVER_RAISES] "-> list"
        "A list of `user-id`.";
    "%supplementary-groups" (0) [] "-> list" "The numbers of the further groups.";
    "%nice" (1) [] "integer -> integer" "Adds to the niceness of the process; the new niceness.";
    "%umask" (1) [] "index -> integer" "Replaces the mask of permission bits for new files; the mask before.";
    "%current-directory" (0) [] "-> string" "The directory in which relative names are looked up.";
    "%set-current-directory!" (1) [] "string -> unspecified" "Changes that directory.";
    "%create-directory" (2) [] "string index -> unspecified" "Makes a directory with permission bits.";
    "%create-fifo" (2) [] "string index -> unspecified" "Makes a named pipe with permission bits.";
    "%create-hard-link" (2) [] "string string -> unspecified"
        "Gives the file of the first name a second name.";
    "%create-symlink" (2) [] "string string -> unspecified"
        "Makes a symbolic link to the first name, under the second.";
    "%read-symlink" (1) [] "string -> string" "The name in a symbolic link.";
    "%rename-file" (2, 3) [] "string string [boolean] -> unspecified"
        "Changes the name of a file; an existing one is replaced unless the flag is false.";
    "%delete-directory" (1) [] "string -> unspecified" "Removes an empty directory.";
    "%set-file-mode" (2) [] "string index -> unspecified" "Changes the permission bits of a file.";
    "%set-file-owner" (3) [] "string any any -> unspecified"
        "Changes user and group of a file; #f for no change.";
    "%set-file-times" (3) [] "string any any -> unspecified"
        "Changes times of access and change: nanoseconds since 1970, #t for now, #f for no change.";
    "%truncate-file" (2) [] "string index -> unspecified" "Makes a file as many bytes long.";
    "%file-info" (2) [] "string boolean -> list"
        "The fields of a `file-info-record`; of the target of a symbolic link when the flag is true.";
    "%directory-files" (1) [] "string -> list" "The names in a directory, without `.` and `..`.";
    "%real-path" (1) [] "string -> string" "The absolute name of a file without symbolic links.";
    "%file-space" (1) [] "string -> integer" "The free bytes where a file is.";
    "%open-file" (4) [] "string port-kind open-flag index -> port"
        "Opens a file with a sum of flags and with permission bits.";
    "%descriptor-port" (2) [] "index port-kind -> port" "A port over a copy of a descriptor.";
    "%terminal?" (1) [] "port -> boolean" "Whether a port is connected to a terminal.";
}
