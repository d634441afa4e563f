//! Messages of HTTP between components and Scheme: the machine's side of `(canny web components)`.
//!
//! A program that serves makes an exchange, begins a call of a component with it, and waits for the
//! response. For requests that components make it is the other way around. Bodies are ports; each also
//! has an object for its end. A wait parks the task.
//!
//! An exchange is closed when the call has ended: what has not come then does not come any more.

use std::sync::Arc;

use canny_component::Value as GuestValue;
use canny_io::{IoError, Wait};
use canny_locks::Mutex;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, Raise, Thread, string_text};
use canny_wasi::preview2::http::{
    BodyReader, BodyWriter, ErrorCode, Head, Headers, Request, Responding,
};

use super::modules::vector;
use super::systems::system;
use crate::arguments::Call;
use crate::host::{find, keep, kept_in_table};
use crate::list::{Builder, Walk};
use crate::primitives::ports::table::port_over;
use crate::primitives::ports::{failed, flag, put_off};

/// A request that a guest is to answer, and the response.
pub(crate) struct GuestExchange {
    arguments: Mutex<Option<[GuestValue; 2]>>,
    body: Mutex<Option<BodyWriter>>,
    response: Responding,
    answer: Mutex<Answer>,
}

/// The body of the response, if it has come.
#[derive(Default)]
struct Answer {
    body: Option<Arc<BodyReader>>,
    is_closed: bool,
}

/// A request that a guest makes, until it is answered.
pub(crate) struct GuestRequest(Mutex<Option<Request>>);

/// A body that Scheme writes, until it has ended.
pub(crate) struct GuestBodyWriter(Mutex<Option<BodyWriter>>);

/// A body that Scheme reads, until it is closed.
pub(crate) struct GuestBodyReader(Mutex<Option<Arc<BodyReader>>>);

kept_in_table!(GuestExchange);
kept_in_table!(GuestRequest);
kept_in_table!(GuestBodyWriter);
kept_in_table!(GuestBodyReader);

impl GuestExchange {
    /// The arguments for the handler, once.
    pub(super) fn take_arguments(&self) -> Option<[GuestValue; 2]> {
        self.arguments.lock().take()
    }
}

pub(super) fn exchange(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Arc<GuestExchange>, Raise> {
    let found = find::<GuestExchange>(thread, call.at(position));
    found.ok_or_else(|| call.type_error(thread, position, "request for a component"))
}

fn request(thread: &mut Thread, call: Call) -> Result<Arc<GuestRequest>, Raise> {
    let found = find::<GuestRequest>(thread, call.at(0));
    found.ok_or_else(|| call.type_error(thread, 0, "request of a component"))
}

fn writer(thread: &mut Thread, call: Call) -> Result<Arc<GuestBodyWriter>, Raise> {
    let found = find::<GuestBodyWriter>(thread, call.at(0));
    found.ok_or_else(|| call.type_error(thread, 0, "body for a component"))
}

fn reader(thread: &mut Thread, call: Call) -> Result<Arc<GuestBodyReader>, Raise> {
    let found = find::<GuestBodyReader>(thread, call.at(0));
    found.ok_or_else(|| call.type_error(thread, 0, "body of a component"))
}

/// Waits in a task or outside of one.
fn waited<R>(
    thread: &mut Thread,
    call: Call,
    mut work: impl FnMut(Wait<'_>) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let interrupts = thread.interrupts();
    let outcome = put_off(thread, || {
        work(Wait::Interruptible(interrupts.interrupt_waiting()))
    });
    outcome.map_err(|error| failed(thread, call.who, None, &error))
}

/// The fields of a list of pairs of symbols and strings. Others are left out.
fn fields_of(list: Value) -> Headers {
    let pairs = Walk::new(list).filter_map(Value::as_pair);
    let fields = pairs.filter_map(|pair| {
        let value = string_text(pair.cdr())?;
        Some((symbol_name(pair.car())?, value.into_bytes()))
    });
    fields.collect()
}

/// Pairs of symbols and strings. Values that are not UTF-8 are taken as Latin-1.
fn list_of(thread: &mut Thread, fields: &Headers) -> Result<Value, Raise> {
    let mut list = Builder::new();
    for (name, value) in fields {
        let value = match str::from_utf8(value) {
            Ok(text) => thread.string(text),
            Err(_) => thread.string_from_latin1(value)?,
        };
        let name = thread.symbol(&name.to_ascii_lowercase());
        let pair = thread.cons(name, value);
        list.push(thread, pair)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

fn text(thread: &mut Thread, call: Call, position: usize) -> Result<String, Raise> {
    let text = call.string(thread, position)?.value();
    Ok(string_text(text).unwrap_or_default())
}

fn optional_text(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Option<String>, Raise> {
    match call.at(position) {
        Value::FALSE => Ok(None),
        _ => text(thread, call, position).map(Some),
    }
}

fn keep_writer(thread: &mut Thread, body: BodyWriter) -> Result<Value, Raise> {
    keep(thread, GuestBodyWriter(Mutex::new(Some(body))), "body")
}

fn keep_reader(thread: &mut Thread, body: Arc<BodyReader>) -> Result<Value, Raise> {
    keep(thread, GuestBodyReader(Mutex::new(Some(body))), "body")
}

pub(super) fn receive(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let system = system(thread, call, 0)?;
    let head = Head {
        method: text(thread, call, 1)?,
        scheme: optional_text(thread, call, 2)?,
        authority: optional_text(thread, call, 3)?,
        path_with_query: optional_text(thread, call, 4)?,
        headers: fields_of(call.at(5)),
    };
    let world = system
        .world()
        .map_err(|message| thread.raise(ConditionKind::File, &message, &[], Some(call.who)))?;
    match world.receive(head) {
        Ok(received) => {
            let exchange = GuestExchange {
                arguments: Mutex::new(Some(received.arguments)),
                body: Mutex::new(Some(received.body)),
                response: received.response,
                answer: Mutex::default(),
            };
            keep(thread, exchange, "request")
        }
        Err(reason) => Err(super::trap(thread, call, &reason)),
    }
}

pub(super) fn response(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let exchange = exchange(thread, call, 0)?;
    match waited(thread, call, |wait| exchange.response.wait(wait))? {
        None => Ok(Value::FALSE),
        Some(Err(code)) => Ok(thread.string(code.name())),
        Some(Ok(response)) => {
            let body = Arc::new(response.body);
            {
                let mut answer = exchange.answer.lock();
                if answer.is_closed {
                    body.close();
                }
                answer.body = Some(Arc::clone(&body));
            }
            let body = keep_reader(thread, body)?;
            let fields = list_of(thread, &response.headers)?;
            vector(
                thread,
                [Value::fixnum(i64::from(response.status)), fields, body],
            )
        }
    }
}

pub(super) fn close_exchange(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let exchange = exchange(thread, call, 0)?;
    let body = {
        let mut answer = exchange.answer.lock();
        answer.is_closed = true;
        answer.body.take()
    };
    if let Some(body) = body {
        body.close();
    }
    exchange.response.close();
    Ok(Value::UNSPECIFIED)
}

pub(super) fn request_body(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let exchange = exchange(thread, call, 0)?;
    let body = exchange.body.lock().take();
    body.map_or(Ok(Value::FALSE), |body| keep_writer(thread, body))
}

pub(super) fn makes_requests(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let system = system(thread, call, 0)?;
    let makes = (system.world().ok()).is_some_and(|world| world.requests().is_some());
    Ok(Value::boolean(makes))
}

pub(super) fn next_request(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let system = system(thread, call, 0)?;
    let requests = system.world().map(|world| world.requests());
    let Ok(Some(requests)) = requests else {
        let message = "WASI was made without #:http, so that its guest makes no requests";
        return Err(thread.raise(ConditionKind::Error, message, &[], Some(call.who)));
    };
    let Some(mut request) = waited(thread, call, |wait| requests.take(wait))? else {
        return Ok(Value::FALSE);
    };
    let body = keep_reader(thread, Arc::new(request.take_body()))?;
    let fields = list_of(thread, &request.headers)?;
    let texts = [
        &request.method,
        &request.scheme,
        &request.authority,
        &request.path_with_query,
    ];
    let [method, scheme, authority, path] = texts.map(|text| thread.string(text));
    let limits = request.timeouts.map(|limit| match limit {
        Some(limit) => {
            let nanoseconds = i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX);
            thread.integer(nanoseconds)
        }
        None => Value::FALSE,
    });
    let request = keep(thread, GuestRequest(Mutex::new(Some(request))), "request")?;
    let [connection, first, between] = limits;
    let row = [
        request, method, scheme, authority, path, fields, body, connection, first, between,
    ];
    vector(thread, row)
}

pub(super) fn answer(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let request = request(thread, call)?;
    let status = u16::try_from(call.index(thread, 1)?).unwrap_or(u16::MAX);
    let taken = request.0.lock().take();
    match taken {
        None => Ok(Value::FALSE),
        Some(request) => {
            let body = request.answer(status, fields_of(call.at(2)));
            keep_writer(thread, body)
        }
    }
}

/// The code of that name, or one with the text.
fn code(name: &str, text: &str) -> ErrorCode {
    ErrorCode::named(name).unwrap_or_else(|| ErrorCode::internal(text))
}

pub(super) fn fail(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let request = request(thread, call)?;
    let code = code(&text(thread, call, 1)?, &text(thread, call, 2)?);
    if let Some(request) = request.0.lock().take() {
        request.fail(code);
    }
    Ok(Value::UNSPECIFIED)
}

pub(super) fn is_abandoned(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let request = request(thread, call)?;
    let is_abandoned = (request.0.lock().as_ref()).is_none_or(Request::is_abandoned);
    Ok(Value::boolean(is_abandoned))
}

fn ended(thread: &mut Thread, call: Call) -> Raise {
    let message = "the body has ended";
    thread.raise(ConditionKind::Error, message, &[], Some(call.who))
}

pub(super) fn output(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let body = writer(thread, call)?;
    let handle = body.0.lock().as_ref().map(BodyWriter::handle);
    match handle {
        Some(handle) => port_over(thread, handle, flag::BINARY | flag::OUTPUT),
        None => Err(ended(thread, call)),
    }
}

pub(super) fn end_output(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = optional_text(thread, call, 1)?;
    let body = writer(thread, call)?.0.lock().take();
    if let Some(body) = body {
        match name {
            None => body.finish(fields_of(call.at(2))),
            Some(name) => body.fail(code(&name, &name)),
        }
    }
    Ok(Value::UNSPECIFIED)
}

/// The body, if it was not closed.
fn open_reader(thread: &mut Thread, call: Call) -> Result<Arc<BodyReader>, Raise> {
    let found = reader(thread, call)?.0.lock().clone();
    found.ok_or_else(|| ended(thread, call))
}

pub(super) fn input(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let body = open_reader(thread, call)?;
    port_over(thread, body.handle(), flag::BINARY | flag::INPUT)
}

pub(super) fn whole(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match open_reader(thread, call)?.take_whole() {
        None => Ok(Value::FALSE),
        Some((bytes, trailers)) => {
            let bytes = thread.bytevector(&bytes)?;
            let trailers = list_of(thread, &trailers)?;
            Ok(thread.cons(bytes, trailers))
        }
    }
}

pub(super) fn await_end(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let body = open_reader(thread, call)?;
    waited(thread, call, |wait| body.await_end(wait))?;
    Ok(Value::TRUE)
}

pub(super) fn trailers(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let body = open_reader(thread, call)?;
    match waited(thread, call, |wait| body.ending(wait))? {
        Ok(trailers) => list_of(thread, &trailers),
        Err(code) => Ok(thread.string(code.name())),
    }
}

pub(super) fn close_input(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let body = reader(thread, call)?.0.lock().take();
    if let Some(body) = body {
        // Nobody learns any more how it ends.
        body.close();
    }
    Ok(Value::UNSPECIFIED)
}
