//! Tasks: `(canny tasks)` is made of these.
//!
//! The machine knows the first fields of two record types of that library, the rows
//! [`waiter`](crate::protocols::waiter) and [`task`](crate::protocols::task). A waiter stands for
//! one wait of a task.
//!
//! A ticket is a wait for the world outside: a point in time, a descriptor. It gives the number of a
//! [`TicketOutcome`](crate::protocols::TicketOutcome).

use super::rows;

rows! {
    /// Tasks, their queues and locks.
    ROWS slow Administration:
    "%begin-tasks!" (3) [] "procedure procedure procedure -> unspecified"
        "Says what workers run, a procedure that serves; what waits for a ticket that an operation needs; \
         and what raises if the current task is to end, a procedure whose argument is of no use. Workers \
         begin with the default ports of this thread.";
    "%set-idle-procedures!" (2) [] "procedure procedure -> unspecified"
        "Says what the main thread runs, as no task, when all tasks wait for each other, and when it is \
         interrupted while it is idle; both end by serving.";
    "%set-kinds-of-waits!" (1) [] "list -> unspecified"
        "Says what tasks wait for, for profiles: a list of vectors, the wait-rows of protocols.";
    "%pool-statistics" (0) [] "-> list"
        "Numbers about the workers and what waits for them: pairs of a symbol and an integer.";
    "%trace-pool!" (1) [] "boolean -> unspecified"
        "Tells on standard error, or does not, why each worker comes and goes.";
    "%current-task" (0) [NEVER_RAISES] "-> any" "The task that runs; #f if there is none.";
    "%set-current-task!" (1) [NEVER_RAISES] "any -> unspecified"
        "Says which task runs; #f while the thread must not be given to another.";
    "%enter-critical!" (0) [NEVER_RAISES] "-> unspecified"
        "Begins a section in which the thread is not given to another task.";
    "%leave-critical!" (0) [NEVER_RAISES] "-> unspecified" "Ends it.";
    "%lock!" (1) [] "record -> unspecified"
        "Locks a record by its field 0 and enters a critical section; waits actively.";
    "%unlock!" (1) [] "record -> unspecified" "Unlocks it and leaves the section.";
    "%claim!" (1) [] "record -> boolean"
        "Changes field 0 of a record from #f to #t as one step; #t to the one that did.";
    "%compare-and-swap!" (4) [] "record index any any -> any"
        "Stores the last object in a field if that holds the one before it, as one step; what the field \
         held.";
    "%make-ready!" (2) [] "record boolean -> unspecified"
        "Hands a claimed waiter to the workers, behind all others if the flag says so.";
    "%hand-over!" (1) [] "record -> unspecified"
        "Makes a claimed waiter stand by on this worker, for when nothing else is ready there: nobody is \
         woken for it.";
    "%serve" (0) [NEVER_RETURNS] "-> never" "Drops what the thread runs, and serves tasks from then on.";
    "%preempted-in-library?" (0) [NEVER_RAISES] "-> boolean"
        "Whether the preempt procedure was called in the middle of a procedure of the standard library; \
         asked once.";
    "%preempt-all!" (0) [] "-> unspecified"
        "Has every worker that runs a task run the preempt procedure soon.";
    "%arm-timer" (1) [] "integer -> index" "A ticket for so many nanoseconds from now on.";
    "%stood-still" (0) [NEVER_RAISES] "-> integer"
        "Nanoseconds in which a task has stood still in a debugger.";
    "%park-ticket!" (2) [] "index record -> any"
        "Has a ticket wake a waiter; gives #f, or at once what the ticket gives.";
    "%disarm-ticket!" (1) [] "index -> unspecified" "Gives a ticket up.";
    "%ticket-over!" (2) [] "index index -> unspecified"
        "An operation can be done again, since its ticket gave the second number; raises if there was a time \
         and it is over.";
    "%set-expired!" (1) [NEVER_RAISES] "any -> unspecified" "Puts back what %expired? gave.";
    "%expired?" (0) [NEVER_RAISES] "-> any"
        "The ticket of the operation about to be done again, which is over and has kept what was begun; #f \
         if there is none.";
    "%worker" (0) [] "-> index" "The number of the worker that this is.";
    "%new-task-number" (0) [] "-> index" "A number that no other task has; the first is 0.";
    "%set-failure-procedure!" (1) [] "procedure -> unspecified"
        "Says what reports, at the end of the program, failures of tasks that nobody waited for.";
    "%report-failure" (1) [] "any -> unspecified"
        "Reports an object that a task raised and that nobody waits for.";
    "%new-account" (1) [] "any -> index"
        "The number of a new account of memory, with a limit in bytes of its own unless #f.";
    "%child-account" (0) [] "-> index"
        "The account for a task that is started now: a new one, or the one in use if that has a limit of its \
         own.";
    "%begin-account!" (1) [] "any -> boolean"
        "Gives the current task a new account, with a limit in bytes of its own unless #f. Whether what has \
         been there for long takes most of the heap.";
    "%end-account!" (0) [] "-> unspecified"
        "Closes the account of the current task, which continues with the exempt one.";
    "%set-account!" (1) [] "index -> unspecified"
        "Changes the account to which goes what is allocated now, for the current task.";
    "%close-account!" (2) [] "index boolean -> unspecified"
        "Says that an account is of no use any more; unless the flag says so, one with a limit stays.";
    "%heap-short?" (0) [NEVER_RAISES] "-> boolean"
        "Whether what has been there for long takes most of the heap.";
    "%task-counted!" (1) [] "index -> index" "Adds to the number of tasks that have not ended; the sum.";
}
