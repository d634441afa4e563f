//! Time, process, evaluation, and the memory that the program may look at.
//!
//! Evaluation never runs Scheme code inside a Rust frame: `%compile` and `%compile-next` return a
//! list of thunks that the Scheme caller runs in order, first the bodies of libraries that are not
//! yet instantiated, last the form itself, whose value is the result.

use super::rows;

rows! {
    /// Time, process and evaluation rows.
    ROWS:
    "current-jiffy" (0) [NEVER_RAISES] "-> integer" "The monotonic clock in jiffies since the start.";
    "%recent-jiffy" (0) [NEVER_RAISES] "-> integer"
        "The same as of the system's last tick, some milliseconds ago, which costs less.";
    "jiffies-per-second" (0) [FOLDABLE PURE NEVER_RAISES] "-> integer"
        "The number of jiffies in a second." slow Administration;
    "current-second" (0) [NEVER_RAISES] "-> real"
        "The current time on the TAI scale, in seconds since 1970." slow System;
    "cpu-time" (0) [NEVER_RAISES] "-> real" "The processor time used by the process, in seconds." slow System;
    "%processor-count" (0) [NEVER_RAISES] "-> index"
        "The number of processors that the process may use at once, limits of its group \
         included." slow Administration;
    "command-line" (0) [NEVER_RAISES] "-> list" "The program and its arguments." slow Administration;
    "%live-instances" (1) [ALLOCATES] "record-type -> list"
        "All records of a type that are alive, after a full collection." slow Administration;
    "%exit" (0, 1) [NEVER_RETURNS] "[any] -> never"
        "Ends the process with an exit code made of the object, output flushed, no winders \
         run." slow Administration;
    "%set-exit-hook!" (1) [] "closure -> unspecified"
        "Stores the procedure that is called, without arguments, when the program ends." slow Administration;
    "%take-exit-hook!" (0) [] "-> any"
        "Removes and returns the procedure called at the end of the program, or #f." slow Administration;
    "get-environment-variable" (1) [] "string -> string-or-false"
        "The value of an environment variable, or #f." slow System;
    "get-environment-variables" (0) [NEVER_RAISES] "-> list" "Pairs of name and value." slow System;
    "features" (0) [NEVER_RAISES] "-> list"
        "The feature identifiers that cond-expand knows." slow Administration;
    "%environment" (1) [] "list -> pair"
        "A read-only environment of the import sets in a list, and the thunks that instantiate its \
         libraries." slow Administration;
    "environment?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is an environment." slow Administration;
    "interaction-environment" (0) [NEVER_RAISES] "-> environment"
        "The environment of the REPL and of programs without import." slow Administration;
    "%served-value" (0) [] "-> any"
        "The value of the program that `canny serve` ran; unspecified in any other." slow Administration;
    "%compile" (2) [] "any environment -> list"
        "The thunks that evaluate a datum in an environment." slow Expansion;
    "%open-source" (2) [] "string environment -> loader"
        "Opens a source file to be loaded into an environment." slow Expansion;
    "%compile-next" (1) [] "loader -> list-or-eof"
        "The thunks of the next form of a source file; the file is closed at its end." slow Expansion;
    "%expand" (2) [] "any environment -> any"
        "The fully expanded form of a datum, for people to read." slow Expansion;
    "%disassemble" (1) [] "procedure -> string"
        "The bytecode of a procedure, for people to read." slow Expansion;
    "%specialize" (1, 2) [] "procedure [index] -> any"
        "Compiles a procedure now, for its start or for its loop of this number: #t, or a string that says \
         why not." slow Administration;
    "%specialized?" (1) [] "procedure -> boolean"
        "Whether calls of a procedure enter compiled code." slow Administration;
    "%unspecialize" (1) [] "procedure -> boolean"
        "Gives up the compiled code that calls of a procedure enter: whether there was \
         any." slow Administration;
    "%implementation-version" (0) [FOLDABLE PURE NEVER_RAISES] "-> string"
        "The version of this implementation." slow Administration;
    "%start-profile" (6) [] "string index index boolean index boolean -> string-or-false"
        "Begins a profile in a file, with so many microseconds between samples, so many waits in a second \
         before some are chosen, with the names of native functions or not, with so many allocated bytes \
         between sampled objects, and with counts of calls or not: #f, or a string that says \
         why not." slow Administration;
    "%stop-profile" (0) [] "-> any"
        "Ends the profile: #t, #f if none is being taken, or a string that says what \
         failed." slow Administration;
    "%start-profile-ring" (5) [] "string index index index index -> string-or-false"
        "Begins to keep profiles in a directory, with so many microseconds between samples, for so many \
         seconds, in files of so many seconds, with so many waits in a second: #f, or a string that says \
         why not." slow Administration;
    "%start-profile-in-memory" (1) [] "index -> string-or-false"
        "Begins a profile in memory, with so many microseconds between samples: #f, or a string that says \
         why not." slow Administration;
    "%stop-profile-in-memory" (1) [] "string -> any"
        "Ends the profile in memory: its bytes in a format (profile, pprof or html), #f if none is being \
         taken, or a string that says what failed." slow Administration;
    "%profiling?" (0) [NEVER_RAISES] "-> boolean" "Whether a profile is being taken." slow Administration;
    "%heap-snapshot" (6) [] "string string boolean boolean boolean boolean -> any"
        "Writes a snapshot of the heap to a file, to the end if it has some of this process: with a reason, \
         with previews of strings or not, after a full collection or not, in place or by a copy of the \
         process, and in place of snapshots of another process or not. A number for %heap-job-result, or a \
         string that says what failed." slow Administration;
    "%watch-heap" (7) [] "string index index any boolean boolean boolean -> string-or-false"
        "Begins to write snapshots of the heap to a file: after each so many full collections, or 0, and \
         after each so many of any kind, or 0; when the heap has grown by a factor, a flonum, or #f; near \
         the limit or not; with previews of strings or not; in place of snapshots of another process or \
         not. #f, or a string that says why not." slow Administration;
    "%end-heap-watch" (0) [] "-> any"
        "Ends what %watch-heap began, which waits for the snapshot that is being written. A number for \
         %heap-job-result, or a string that says what failed." slow Administration;
    "%heap-job-result" (1) [] "index -> any"
        "Waits for the end of a job, and forgets it. Of %heap-snapshot a vector (snapshot-report of \
         protocols), or a string that says what failed; of %end-heap-watch a vector (heap-watch-report), or \
         #f if nothing had been begun." slow Administration;
    "%heap-file-open" (1) [] "string -> any"
        "Opens a file of heap snapshots: an object, or a string that says why not." slow Administration;
    "%heap-file-ask" (2) [] "any string -> any"
        "The answer to a question about a file of heap snapshots, both in JSON, or a list with a \
         message." slow Administration;
    "%heap-file-compare" (6) [] "any index any index index index -> any"
        "The difference of a snapshot of a file, by number, to one of another file: rows from an index on, \
         at most so many; JSON or a list with a message." slow Administration;
    "%heap-file-page" (0) [] "-> string"
        "The page on which a person looks at a file of heap snapshots." slow Administration;
    "%heap-summary" (0) [] "-> list"
        "Collects fully; the objects by type as vectors (type-sum of protocols), the most bytes \
         first." slow Administration;
    "%note-heap!" (1) [] "boolean -> unspecified"
        "Collects fully, and notes the objects by type outside of the heap; given #t it forgets earlier \
         notes." slow Administration;
    "%heap-growth" (1) [] "index -> list"
        "Types of which each note has at least so many objects more than the one before, as vectors \
         (type-sum of protocols) with what came from the first note to the last." slow Administration;
    "%set-profile-task-type!" (1) [] "any -> unspecified"
        "Says which record type tasks have, for profiles that begin while tasks wait." slow Administration;
    "%set-profile-labels-key!" (1) [] "any -> unspecified"
        "Says under which key the parameters register has the labels of profiles." slow Administration;
    "%count!" (1) [] "index -> unspecified"
        "Counts that control comes here; the compiler puts it into code whose runs are \
         counted." slow Administration;
    "%count-call!" (3) [] "any index index -> unspecified"
        "Counts a call of a procedure at a call site, with so many arguments; for compiled code.";
    "%pretty-string" (2) [] "any index -> string"
        "The written form of an object in lines of at most so many columns where possible." slow Work;
    "%bound-names" (0) [] "-> list"
        "The names of the interaction environment as strings, sorted." slow Administration;
    "%library-names" (0) [] "-> list"
        "The names of the libraries that can be imported, as strings, sorted." slow Administration;
    "%library-exports" (1) [] "any -> list-or-false"
        "The exports of a library: lists of name and kind, or #f without such a library." slow Administration;
    "%library-environment" (1) [] "any -> pair"
        "An environment inside of a library, and the thunks that instantiate it." slow Administration;
    "%name-information" (1) [] "symbol -> list-or-false"
        "The meaning of a name at the prompt: a list of `name-information`." slow Administration;
    "%procedure-parameters" (1) [] "procedure -> list"
        "The parameters of each clause: a list of `parameter-list`." slow Administration;
    "%definition-position" (1) [] "any -> list-or-false"
        "The place of a procedure's definition: a list of `definition-position`." slow Administration;
    "%interrupt-pending?" (0) [NEVER_RAISES] "-> boolean"
        "Takes note of an interrupt: whether one was pending." slow Administration;
}

rows! {
    /// The collector, weak pairs, ephemerons and guardians.
    MEMORY:
    "collect-garbage" (0, 1) [] "[boolean] -> unspecified"
        "Collects; only the nursery when the argument is #f." slow Work;
    "%gc-statistics" (0) [] "-> list"
        "Association list: collections, pause times in nanoseconds, bytes live and \
         allocated." slow Administration;
    "%gc-pauses" (0) [] "-> list"
        "Lengths of collections, two lists: of those that left the old generation alone, and of full \
         ones. Each has the sum in nanoseconds and pairs of a bound in nanoseconds, #f at last, and the \
         number of collections up to it." slow Administration;
    "%heap-census" (0) [] "-> list"
        "Objects by kind after the last full collection: lists of a symbol, their number and their bytes. \
         Empty until a full collection has come after the first call." slow Administration;
    "%specializer-statistics" (0) [] "-> list"
        "Association list of numbers about compiled code." slow Administration;
    "%gc-stress!" (1) [] "index -> unspecified"
        "Collects at every n-th allocation; 0 for never." slow Administration;
    "weak-cons" (2) [PURE NEVER_RAISES ALLOCATES] "any any -> weak-pair"
        "A weak pair: its car does not keep the object alive." slow Makes;
    "weak-pair?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a weak pair.";
    "weak-car" (1) [PURE] "weak-pair -> any" "The car, or #f when the object is gone." slow Rare;
    "weak-cdr" (1) [PURE] "weak-pair -> any" "The cdr." slow Rare;
    "weak-set-car!" (2) [] "weak-pair any -> unspecified" "Stores in the weak field." slow Changes;
    "weak-set-cdr!" (2) [] "weak-pair any -> unspecified" "Stores in the strong field." slow Changes;
    "weak-pair-broken?" (1) [PURE] "weak-pair -> boolean"
        "Whether the object of the weak field is gone." slow Rare;
    "make-ephemeron" (2) [PURE NEVER_RAISES ALLOCATES] "any any -> ephemeron"
        "An ephemeron: the datum lives while the key does (SRFI 124)." slow Makes;
    "ephemeron?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an ephemeron.";
    "ephemeron-key" (1) [PURE] "ephemeron -> any" "The key, or #f when it is gone." slow Rare;
    "ephemeron-datum" (1) [PURE] "ephemeron -> any" "The datum, or #f when the key is gone." slow Rare;
    "ephemeron-broken?" (1) [PURE] "ephemeron -> boolean" "Whether the key is gone." slow Rare;
    "reference-barrier" (1) [NEVER_RAISES] "any -> unspecified"
        "Keeps an object alive up to this call." slow Rare;
    "%make-guardian" (0) [PURE NEVER_RAISES ALLOCATES] "-> guardian" "A new guardian." slow Makes;
    "%guardian-register!" (2) [] "guardian any -> unspecified"
        "Asks a guardian to keep an object once nothing else does." slow Changes;
    "%guardian-next" (2) [] "guardian any -> any"
        "Takes the next object that nothing else keeps, or the default." slow Rare;
}
