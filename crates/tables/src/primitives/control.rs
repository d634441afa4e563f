//! Procedures, multiple values, continuations and the dynamic state.
//!
//! The dynamic state of a thread is three registers, read and written by rows of
//! [`DYNAMIC_STATE`]; `(canny machine control)` is their only user.
//!
//! | register | holds |
//! |---|---|
//! | winders | list of winder vectors `#(before after handlers parameters)`, innermost first |
//! | handlers | list of exception handlers, innermost first |
//! | parameters | association list from parameter key to value, innermost first |
//!
//! Continuations and escape procedures are closures that hold the three registers as they were, and put
//! them back when they are called. When there are winders to be run first, they leave that to
//! `%rewind-and-call` of `(canny machine control)`.
//!
//! A parameter key is the parameter's cell object, except for the current ports, whose keys are
//! the fixnums 0 (input), 1 (output) and 2 (error). A port primitive without a port argument takes
//! the value of the first entry of the parameters register with its key, and the thread's default
//! port when there is none.

use super::rows;

rows! {
    /// Procedures, values and frame operations.
    ROWS:
    "procedure?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a procedure.";
    "apply" (2 ..) [FRAME] "procedure any any ... -> any"
        "Calls, in tail position, with the arguments and the elements of the last one.";
    "%apply" (2) [FRAME] "procedure list -> any" "Calls, in tail position, with the elements of a list.";
    "values" (0 ..) [PURE NEVER_RAISES ALLOCATES] "any ... -> any"
        "The argument if there is one, else a values object of the arguments.";
    "call-with-values" (2) [FRAME] "procedure procedure -> any"
        "Calls the producer with no argument and tail-calls the consumer with its values.";
    "%apply-values" (2) [FRAME] "procedure any -> any"
        "Calls, in tail position, with the elements of a values object, or with the one object.";
    "%values?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a values object.";
    "%values->list" (1) [PURE NEVER_RAISES ALLOCATES] "any -> list"
        "The elements of a values object, or a list of the one object." slow Rare;
    "%list->values" (1) [PURE ALLOCATES] "list -> any" "values of the elements of a list." slow Rare;
    "call-with-current-continuation" (1) [FRAME] "procedure -> any"
        "Calls, in tail position, with the continuation of the call, which can be called any number of \
         times.";
    "call-with-escape-continuation" (1) [FRAME] "procedure -> any"
        "Calls with a procedure that returns from this call, as long as it has not returned.";
    "%throw" (2) [FRAME NEVER_RETURNS] "continuation any -> never"
        "Returns the object (or values object) to a continuation; runs no winders and leaves the dynamic \
         state alone.";
    "%continuation-here" (1) [PURE] "continuation -> continuation"
        "The newest continuation below the stack that is this one or its copy; this one if there is \
         none." slow Administration;
    "%graft-continuation" (6) [PURE ALLOCATES]
        "continuation continuation continuation list any list -> continuation"
            "The frames of the first one above the second one, on top of the third; words that are eq? to a \
             car of the list's pairs become its cdr, and handlers in front of the object are put on top of \
             the last list." slow Administration;
    "procedure-name" (1) [PURE] "procedure -> symbol-or-false"
        "The name a procedure was defined with." slow Rare;
    "procedure-arity" (1) [PURE ALLOCATES] "procedure -> pair"
        "Pair of the least and the greatest number of arguments; #f for any number." slow Rare;
    "%meet-threads" (0) [] "-> unspecified"
        "Waits until every other thread of the machine has come to a safepoint: what they were in the middle \
         of between two safepoints is done then." slow System;
    "%set-car-if-eq!" (3) [] "pair any any -> boolean"
        "Changes the car of a pair to the third argument if it is eq? to the second one, in one step among \
         threads; whether it did.";
    "%copy-procedure" (1) [] "procedure -> procedure"
        "Another procedure that does the same; lambda expressions that capture nothing give one procedure \
         again and again." slow Administration;
    "%set-procedure-name!" (2) [] "procedure symbol -> unspecified"
        "Changes the name shown for one closure, in messages and backtraces." slow Changes;
}

rows! {
    /// The registers of the dynamic state.
    DYNAMIC_STATE:
    "%winders" (0) [PURE NEVER_RAISES] "-> list" "The winders register.";
    "%set-winders!" (1) [NEVER_RAISES] "list -> unspecified" "Stores in the winders register.";
    "%handlers" (0) [PURE NEVER_RAISES] "-> list" "The handlers register.";
    "%set-handlers!" (1) [NEVER_RAISES] "list -> unspecified" "Stores in the handlers register.";
    "%parameters" (0) [PURE NEVER_RAISES] "-> list" "The parameters register.";
    "%set-parameters!" (1) [NEVER_RAISES] "list -> unspecified" "Stores in the parameters register.";
    "%parameter-ref" (2) [PURE NEVER_RAISES] "any any -> any"
        "The value of the first entry of the parameters register whose key is eq?, or the default.";
    "%parameter-entry" (1) [PURE NEVER_RAISES] "any -> pair-or-false"
        "The entry in which %parameter-ref finds the value, or #f.";
}
