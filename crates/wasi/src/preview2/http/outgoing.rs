//! `wasi:http/outgoing-handler`: requests of guests, which the embedder makes.
//!
//! | shared state | touched by | condition |
//! |---|---|---|
//! | `Queue` | the guest adds, the embedder takes | under its lock |
//! | `changed` | the guest, and the end of its world | given after a change |

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use canny_component::Value;
use canny_io::{IoError, Wait};
use canny_locks::Mutex;
use canny_sched::Notice;

use super::super::Row;
use super::super::call::{Call, Outcome, success, success_with};
use super::super::table::Resource;
use super::super::values::{self, Mistake};
use super::codes::ErrorCode;
use super::fields::Headers;
use super::messages::{Answered, FutureResponse, OutgoingRequest};
use super::pipes::{BodyReader, BodyWriter, pipe};
use super::waiting::{Promise, wait_for};

pub const HANDLER: &[Row] = &[("handle", handle)];

pub const OPTIONS: &[Row] = &[
    ("[constructor]request-options", |call| {
        call.give(Options::default()).map(Some)
    }),
    ("[method]request-options.connect-timeout", |call| {
        told(call, 0)
    }),
    ("[method]request-options.set-connect-timeout", |call| {
        set(call, 0)
    }),
    ("[method]request-options.first-byte-timeout", |call| {
        told(call, 1)
    }),
    ("[method]request-options.set-first-byte-timeout", |call| {
        set(call, 1)
    }),
    ("[method]request-options.between-bytes-timeout", |call| {
        told(call, 2)
    }),
    (
        "[method]request-options.set-between-bytes-timeout",
        |call| set(call, 2),
    ),
];

/// Most requests that wait for the embedder.
const REQUESTS_MAX: usize = 1024;

/// Time limits of a request, in nanoseconds.
#[derive(Default)]
struct Options([Option<u64>; 3]);

impl Resource for Options {
    const NAME: &'static str = "request-options";
}

fn told(call: &mut Call<'_>, index: usize) -> Outcome {
    let limit = call.get::<Options>(0)?.0[index];
    Ok(Some(values::optional(limit.map(Value::U64))))
}

fn set(call: &mut Call<'_>, index: usize) -> Outcome {
    let limit = values::option(call.value(1)?)?;
    let limit = limit.map(values::wide).transpose()?;
    call.get::<Options>(0)?.0[index] = limit;
    success()
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    has_ended: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notice,
}

/// The requests of a guest, for its embedder. Clones are the same ones.
#[derive(Clone)]
pub struct Requests(Arc<Shared>);

impl Requests {
    /// The next request. There is none when the guest's world has ended.
    pub fn take(&self, wait: Wait<'_>) -> Result<Option<Request>, IoError> {
        wait_for(&self.0.changed, wait, || {
            let mut queue = self.0.queue.lock();
            match queue.requests.pop_front() {
                Some(request) => Some(Some(request)),
                None => queue.has_ended.then_some(None),
            }
        })
    }
}

/// The guest's side of the queue, which ends it.
pub struct Asking(Arc<Shared>);

impl Asking {
    pub fn new() -> Asking {
        Asking(Arc::default())
    }

    pub fn requests(&self) -> Requests {
        Requests(Arc::clone(&self.0))
    }

    fn ask(&self, request: Request) -> Result<(), ErrorCode> {
        let mut queue = self.0.queue.lock();
        if queue.requests.len() >= REQUESTS_MAX {
            return Err(ErrorCode::too_many());
        }
        queue.requests.push_back(request);
        drop(queue);
        self.0.changed.give();
        Ok(())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.queue.lock().has_ended = true;
        self.0.changed.give();
    }
}

/// A request of a guest. One that is dropped has failed.
pub struct Request {
    /// The method.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Host and port.
    pub authority: String,
    /// The path with the query.
    pub path_with_query: String,
    /// The fields.
    pub headers: Headers,
    /// The body.
    pub body: BodyReader,
    /// The longest time for the connection, before the first byte, and between two bytes.
    pub timeouts: [Option<Duration>; 3],
    reply: Reply,
}

impl Request {
    /// Answers it. The body follows by what this gives.
    pub fn answer(self, status: u16, headers: Headers) -> BodyWriter {
        let (writer, body) = pipe();
        self.reply.0.give(Ok(Answered {
            status,
            headers,
            body,
        }));
        BodyWriter(Arc::new(writer))
    }

    /// Has it fail.
    pub fn fail(self, code: ErrorCode) {
        self.reply.0.give(Err(code));
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.reply.0) == 1
    }

    /// Takes the body, so that it can be read while and after the request is answered.
    pub fn take_body(&mut self) -> BodyReader {
        let (_, nothing) = pipe();
        std::mem::replace(&mut self.body, BodyReader(Arc::new(nothing)))
    }
}

struct Reply(Arc<Promise<Result<Answered, ErrorCode>>>);

impl Drop for Reply {
    fn drop(&mut self) {
        self.0.give(Err(ErrorCode::terminated()));
    }
}

fn handle(call: &mut Call<'_>) -> Outcome {
    let request: OutgoingRequest = call.take(0)?;
    let options = match values::option(call.value(1)?)? {
        None => Options::default(),
        Some(Value::Own(number)) => call.state.table.take(*number)?,
        Some(_) => return Err(Mistake.into()),
    };
    let Some(asking) = &call.state.http.asking else {
        return Err(ErrorCode::denied().stop());
    };
    let scheme = request.scheme.unwrap_or_else(|| "https".into());
    if !matches!(&*scheme, "http" | "https") {
        return Err(ErrorCode::protocol().stop());
    }
    let authority = request
        .authority
        .ok_or_else(|| ErrorCode::wrong_uri().stop())?;
    let path = request.path_with_query.filter(|path| !path.is_empty());
    let path_with_query = path.unwrap_or_else(|| "/".into());
    let promise = Arc::new(Promise::default());
    let (headers, body) = request.message.sent();
    let asked = asking.ask(Request {
        method: request.method,
        scheme,
        authority,
        path_with_query,
        headers,
        body,
        timeouts: options.0.map(|limit| limit.map(Duration::from_nanos)),
        reply: Reply(Arc::clone(&promise)),
    });
    asked.map_err(|code| code.stop())?;
    success_with(call.give(FutureResponse(promise))?)
}
