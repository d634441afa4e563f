//! Descriptors of what is closed: ports, files, sockets, processes, databases, watches, connections of
//! a server. None of them waits for the collector.

mod support;

use support::canny;

#[test]
fn what_is_closed_is_closed_at_once() {
    canny(&["closed.scm"])
        .file("closed.scm", include_str!("descriptors/closed.scm"))
        // No check that takes a collection counts; with this there are few.
        .environment("CANNY_NURSERY", "64000000")
        .run()
        .exits_with(0)
        .prints("done\n");
}
