//! Signals of the system, and the end of the program: `(canny signals)` is made of these.

use super::rows;

rows! {
    /// Signals that come in by a port; procedures that are called at the end.
    ROWS slow System:
    "%signal-port" (0) [] "-> port"
        "The binary input port that gives a byte for each watched signal that came, its number. There is \
         one; another call gives a new one in place of the old.";
    "%watch-signal!" (1) [] "any -> index"
        "Has a signal, a name or a number, come by the port from now on, in place of what it does otherwise; \
         its number.";
    "%unwatch-signal!" (1) [] "index -> unspecified" "Has it do again what it does otherwise.";
    "%raise-signal" (1) [] "index -> unspecified" "Sends a signal to this process.";
    "%set-shutdown-procedure!" (1) [] "any -> unspecified"
        "Says what is called, without arguments, when the program has ended in whatever way; #f for nothing.";
}
