//! Events for the thread that answers the client.

use std::sync::Arc;

use canny_messages::Incoming;
use serde_json::Value;

use crate::catalog::Catalog;
use crate::places::Search;
use crate::snapshot::Snapshot;
use crate::transport::Failure;

/// An event for the thread that answers.
pub enum Event {
    /// The client said something.
    Incoming(Incoming),
    /// The client is gone.
    End,
    /// The worker has looked at a version.
    Analyzed {
        uri: String,
        generation: u64,
        snapshot: Arc<Snapshot>,
    },
    /// The worker has done something else.
    Idle,
    /// A request was answered elsewhere.
    Answered {
        id: Value,
        result: Result<Value, Failure>,
    },
    /// The standard libraries have been looked through.
    Catalog(Arc<Catalog>),
    /// The user's libraries, too.
    FullCatalog(Arc<Search>, Arc<Catalog>),
}
