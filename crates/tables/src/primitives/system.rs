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
    "%recent-jiffy" (0) [NEVER_RAISES] "-> integer" "The same as of the system's last tick, some milliseconds ago, which costs less.";
    "jiffies-per-second" (0) [FOLDABLE PURE NEVER_RAISES] "-> integer" "The number of jiffies in a second.";
    "current-second" (0) [NEVER_RAISES] "-> real" "The current time on the TAI scale, in seconds since 1970.";
    "cpu-time" (0) [NEVER_RAISES] "-> real" "The processor time used by the process, in seconds.";
    "%processor-count" (0) [NEVER_RAISES] "-> index" "How many processors the process may use at once, limits of its group included.";
    "command-line" (0) [NEVER_RAISES] "-> list" "The program and its arguments.";
    "%live-instances" (1) [ALLOCATES] "record-type -> list" "All records of a type that are alive, after a full collection.";
    "%exit" (0, 1) [NEVER_RETURNS] "[any] -> never" "Ends the process with an exit code made of the object, output flushed, no winders run.";
    "%set-exit-hook!" (1) [] "closure -> unspecified" "What is called, without arguments, when the program ends.";
    "%take-exit-hook!" (0) [] "-> any" "That procedure, which is forgotten, or #f.";
    "get-environment-variable" (1) [] "string -> string-or-false" "The value of an environment variable, or #f.";
    "get-environment-variables" (0) [NEVER_RAISES] "-> list" "Pairs of name and value.";
    "features" (0) [NEVER_RAISES] "-> list" "The feature identifiers that cond-expand knows.";
    "%environment" (1) [] "list -> pair" "A read-only environment of the import sets in a list, and the thunks that instantiate its libraries.";
    "environment?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an environment.";
    "interaction-environment" (0) [NEVER_RAISES] "-> environment" "The environment of the REPL and of programs without import.";
    "%served-value" (0) [] "-> any" "What the program that `canny serve` ran gave; unspecified in any other.";
    "%compile" (2) [] "any environment -> list" "The thunks that evaluate a datum in an environment.";
    "%open-source" (2) [] "string environment -> loader" "Opens a source file to be loaded into an environment.";
    "%compile-next" (1) [] "loader -> list-or-eof" "The thunks of the next form of a source file; the file is closed at its end.";
    "%expand" (2) [] "any environment -> any" "The fully expanded form of a datum, for people to read.";
    "%disassemble" (1) [] "procedure -> string" "The bytecode of a procedure, for people to read.";
    "%specialize" (1, 2) [] "procedure [index] -> any" "Compiles a procedure now, for its start or for its loop of this number: #t, or a string that says why not.";
    "%specialized?" (1) [] "procedure -> boolean" "Whether calls of a procedure enter compiled code.";
    "%unspecialize" (1) [] "procedure -> boolean" "Gives up the compiled code that calls of a procedure enter: whether there was any.";
    "%implementation-version" (0) [FOLDABLE PURE NEVER_RAISES] "-> string" "The version of this implementation.";
    "%pretty-string" (2) [] "any index -> string" "The written form of an object in lines of at most so many columns where possible.";
    "%bound-names" (0) [] "-> list" "The names of the interaction environment as strings, sorted.";
    "%library-names" (0) [] "-> list" "The names of the libraries that can be imported, as strings, sorted.";
    "%library-exports" (1) [] "any -> list-or-false" "What a library exports: lists of name and kind, or #f without such a library.";
    "%library-environment" (1) [] "any -> pair" "An environment inside of a library, and the thunks that instantiate it.";
    "%name-information" (1) [] "symbol -> list-or-false" "What a name means at the prompt: kind, library or #f, signature or #f, description or #f.";
    "%procedure-parameters" (1) [] "procedure -> list" "The parameters of each clause as lists of required, optional, keywords and rest or #f.";
    "%definition-position" (1) [] "any -> list-or-false" "File, line and column where a procedure is defined.";
    "%interrupt-pending?" (0) [NEVER_RAISES] "-> boolean" "Takes note of an interrupt: whether one was pending.";
}

rows! {
    /// The collector, weak pairs, ephemerons and guardians.
    MEMORY:
    "collect-garbage" (0, 1) [] "[boolean] -> unspecified" "Collects; only the nursery when the argument is #f.";
    "%gc-statistics" (0) [] "-> list" "Association list: collections, pause times in nanoseconds, bytes live and allocated.";
    "%gc-stress!" (1) [] "index -> unspecified" "Collects at every n-th allocation; 0 for never.";
    "weak-cons" (2) [PURE NEVER_RAISES ALLOCATES] "any any -> weak-pair" "A weak pair: its car does not keep the object alive.";
    "weak-pair?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a weak pair.";
    "weak-car" (1) [PURE] "weak-pair -> any" "The car, or #f when the object is gone.";
    "weak-cdr" (1) [PURE] "weak-pair -> any" "The cdr.";
    "weak-set-car!" (2) [] "weak-pair any -> unspecified" "Stores in the weak field.";
    "weak-set-cdr!" (2) [] "weak-pair any -> unspecified" "Stores in the strong field.";
    "weak-pair-broken?" (1) [PURE] "weak-pair -> boolean" "Whether the object of the weak field is gone.";
    "make-ephemeron" (2) [PURE NEVER_RAISES ALLOCATES] "any any -> ephemeron" "An ephemeron: the datum lives while the key does (SRFI 124).";
    "ephemeron?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an ephemeron.";
    "ephemeron-key" (1) [PURE] "ephemeron -> any" "The key, or #f when it is gone.";
    "ephemeron-datum" (1) [PURE] "ephemeron -> any" "The datum, or #f when the key is gone.";
    "ephemeron-broken?" (1) [PURE] "ephemeron -> boolean" "Whether the key is gone.";
    "reference-barrier" (1) [NEVER_RAISES] "any -> unspecified" "Keeps an object alive up to this call.";
    "%make-guardian" (0) [PURE NEVER_RAISES ALLOCATES] "-> guardian" "A new guardian.";
    "%guardian-register!" (2) [] "guardian any -> unspecified" "Asks a guardian to keep an object once nothing else does.";
    "%guardian-next" (2) [] "guardian any -> any" "Takes the next object that nothing else keeps, or the default.";
}
