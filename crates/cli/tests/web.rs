//! The web server under collections at every few allocations.

mod support;

use support::canny;

#[test]
fn connections_survive_collections_wherever_they_happen() {
    for suite in ["web-websocket.scm", "web-http2.scm"] {
        let suite = format!(
            "{}/../../tests/conformance/{suite}",
            env!("CARGO_MANIFEST_DIR")
        );
        canny(&["test", &suite])
            .environment("CANNY_GC_STRESS", "101")
            .environment("CANNY_GC_VERIFY", "1")
            .environment("CANNY_GC_POISON", "1")
            .run()
            .exits_with(0);
    }
}
