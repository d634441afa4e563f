//! Other programs: `(canny process)` is made of these.

use super::rows;

rows! {
    /// Starting programs, talking to them, their ends.
    ROWS slow System:
    "%spawn" (1) [] "vector -> list"
        "Starts a program with a vector of `spawn-setting`. A list of `spawned`.";
    "%process-id" (0, 1) [] "[any] -> integer" "The number of a process, of this one without an argument.";
    "%process-ending" (1) [] "any -> any"
        "The exit code of a process, or the negative number of the signal that ended it; #f while it runs.";
    "%process-wait" (2) [] "any any -> any" "The same, after waiting for at most so many seconds unless #f.";
    "%end-with-program" (1) [] "any -> unspecified" "Has a process ended when the program ends.";
    "%process-signal" (3) [] "any any boolean -> boolean"
        "Sends a signal, a name or a number, to a process or to its group; #f if it had ended.";
    "%signal-name" (1) [] "index -> any" "The symbol for the signal with a number, or #f.";
    "%pipe" (1) [] "port-kind -> pair" "A pipe: an input port of a kind and a binary output port.";
    "%port-duplicable?" (1) [] "port -> boolean" "Whether another program can use what is behind a port.";
    "%exchange" (6) [] "any bytevector index any any any -> any"
        "Writes a part of bytes from an index on to the binary output port, or reads from one of two binary \
         input ports, each of which may be #f, what is possible first, within so many seconds unless #f. A \
         pair: `exchange/input` and the number of bytes written or #f if nobody reads; `exchange/output` or \
         `exchange/error` and bytes or the end of input. #f when the time was over.";
}
