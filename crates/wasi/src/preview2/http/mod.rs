//! `wasi:http`: messages of HTTP between guests and their embedder, which does the protocol.
//!
//! An embedder that serves gives a guest a request by [`World::receive`](super::World::receive), and gets
//! the response by what that returns. One that makes requests for a guest takes them from
//! [`World::requests`](super::World::requests). Bodies are [`BodyReader`] and [`BodyWriter`].

mod bodies;
mod codes;
mod fields;
mod messages;
mod outgoing;
mod pipes;
mod uris;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use canny_component::Value;
use canny_io::{IoError, Wait};
use canny_wasm::Trap;

use self::bodies::IncomingBody;
use self::fields::Fields;
use self::messages::{IncomingRequest, ResponseOutparam};
use self::outgoing::Asking;
use self::pipes::pipe;
use self::waiting::Promise;
use super::failures::{Cause, Failure};
use super::table::Table;
use super::{Interface, Row, values};

pub use codes::ErrorCode;
pub use fields::Headers;
pub use messages::Response;
pub use outgoing::{Request, Requests};
pub use pipes::{BodyReader, BodyWriter, Ending};

const TYPES: &str = "wasi:http/types";

/// A part of the interface.
const fn part(functions: &'static [Row], resources: &'static [&'static str]) -> Interface {
    Interface {
        name: TYPES,
        functions,
        resources,
    }
}

pub(super) const INTERFACES: &[Interface] = &[
    part(ERRORS, &[]),
    part(fields::ROWS, &["fields"]),
    part(
        bodies::ROWS,
        &["incoming-body", "outgoing-body", "future-trailers"],
    ),
    part(
        messages::INCOMING,
        &[
            "incoming-request",
            "incoming-response",
            "future-incoming-response",
        ],
    ),
    part(
        messages::OUTGOING,
        &["outgoing-request", "outgoing-response", "response-outparam"],
    ),
    part(outgoing::OPTIONS, &["request-options"]),
    Interface {
        name: "wasi:http/outgoing-handler",
        functions: outgoing::HANDLER,
        resources: &[],
    },
];

const ERRORS: &[Row] = &[("http-error-code", |call| {
    let code = match &call.get::<Failure>(0)?.cause {
        Cause::Message(code) => Some(code.clone()),
        _ => None,
    };
    Ok(Some(values::optional(code)))
})];

/// The state of a guest that this module needs.
#[derive(Default)]
pub(super) struct State {
    /// The bytes of all fields.
    field_bytes: Arc<AtomicUsize>,
    /// Each body that the guest writes has a reference to it.
    bodies: Arc<()>,
    /// The queue of requests, if the guest may make some.
    asking: Option<Asking>,
}

impl State {
    pub fn new(makes_requests: bool) -> State {
        State {
            asking: makes_requests.then(Asking::new),
            ..State::default()
        }
    }

    pub fn requests(&self) -> Option<Requests> {
        self.asking.as_ref().map(Asking::requests)
    }
}

/// The head of a request for a guest.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The method.
    pub method: String,
    /// `http` or `https`.
    pub scheme: Option<String>,
    /// Host and port.
    pub authority: Option<String>,
    /// The path with the query.
    pub path_with_query: Option<String>,
    /// The fields.
    pub headers: Headers,
}

/// A request that a guest is to answer.
pub struct Received {
    /// The arguments of `handle` of `wasi:http/incoming-handler`: resources that the guest gets.
    pub arguments: [Value; 2],
    /// The body of the request, to be written.
    pub body: BodyWriter,
    /// The response.
    pub response: Responding,
}

/// A response that may not be there yet.
pub struct Responding(Arc<Promise<Result<Response, ErrorCode>>>);

impl Responding {
    /// Waits for the response. It fails with a code if the guest says so, drops the place for it, or ends
    /// with its world. Nothing is there the second time. A guest may return from `handle` and keep the
    /// place: if there is no response then, none comes.
    pub fn wait(&self, wait: Wait<'_>) -> Result<Option<Result<Response, ErrorCode>>, IoError> {
        self.0.wait(wait)
    }

    /// Ends the wait for a response that does not come any more, since the guest has ended.
    pub fn close(&self) {
        self.0.give(Err(messages::unanswered()));
    }
}

/// Makes the resources for a request.
pub(super) fn receive(table: &mut Table, state: &State, head: Head) -> Result<Received, Trap> {
    let (writer, reader) = pipe();
    let request = IncomingRequest {
        method: head.method,
        scheme: head.scheme,
        authority: head.authority,
        path_with_query: head.path_with_query,
        fields: Fields::received(head.headers, &state.field_bytes),
        body: Some(IncomingBody::new(reader)),
    };
    let promise = Arc::new(Promise::default());
    let outparam = ResponseOutparam(Arc::clone(&promise));
    let arguments = [
        Value::Own(table.add(request)?),
        Value::Own(table.add(outparam)?),
    ];
    Ok(Received {
        arguments,
        body: BodyWriter(Arc::new(writer)),
        response: Responding(promise),
    })
}
