//! Work that takes long, as the client is told of it: it can show that something goes on, and cancel it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::output::Output;

/// Time after which work is long.
const PATIENCE: Duration = Duration::from_millis(500);

/// Work that is going on. It has ended when this is dropped.
pub struct Progress {
    _end: Sender<()>,
}

impl Progress {
    /// Work for a request begins; if it takes long, the client is told.
    pub fn begin(output: &Arc<Output>, request: i64, title: &str) -> Option<Progress> {
        let (end, ended) = channel();
        let output = output.clone();
        let title = title.to_owned();
        let watcher = thread::Builder::new().name("canny-progress".to_owned());
        let watcher = watcher.spawn(move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let number = name_of(request);
            output.event(
                "progressStart",
                json!({
                    "progressId": number,
                    "title": title,
                    "requestId": request,
                    "cancellable": true,
                }),
            );
            // Nothing is sent: the sender goes.
            let _ = ended.recv();
            output.event("progressEnd", json!({"progressId": number}));
        });
        watcher.ok().map(|_| Progress { _end: end })
    }
}

/// The client's name for the work of a request.
fn name_of(request: i64) -> String {
    format!("request {request}")
}

/// The request whose work has a name.
pub fn request_of(name: &str) -> Option<i64> {
    name.strip_prefix("request ")?.parse().ok()
}
