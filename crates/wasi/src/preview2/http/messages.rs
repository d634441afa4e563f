//! Requests and responses as resources.
//!
//! A message that a guest makes has its body from the beginning, so that the embedder can read it from the
//! moment on at which it gets the message.

use std::sync::Arc;

use canny_component::Value;

use super::super::Row;
use super::super::call::{Call, Outcome, Stop, failure, success, success_with};
use super::super::poll::subscribe;
use super::super::table::Resource;
use super::super::values::{self, Mistake};
use super::bodies::{IncomingBody, OutgoingBody, once};
use super::codes::ErrorCode;
use super::fields::{Fields, Headers, is_token};
use super::pipes::{BodyReader, Reader};
use super::uris::{is_authority, is_path, is_scheme};
use super::waiting::Promise;

pub const INCOMING: &[Row] = &[
    ("[method]incoming-request.method", |call| {
        let request = call.get::<IncomingRequest>(0)?;
        Ok(Some(method_value(&request.method)))
    }),
    ("[method]incoming-request.path-with-query", |call| {
        let request = call.get::<IncomingRequest>(0)?;
        Ok(Some(text_value(&request.path_with_query)))
    }),
    ("[method]incoming-request.scheme", |call| {
        let request = call.get::<IncomingRequest>(0)?;
        Ok(Some(scheme_value(&request.scheme)))
    }),
    ("[method]incoming-request.authority", |call| {
        let request = call.get::<IncomingRequest>(0)?;
        Ok(Some(text_value(&request.authority)))
    }),
    ("[method]incoming-request.headers", |call| {
        let fields = call.get::<IncomingRequest>(0)?.fields.fixed();
        call.give(fields).map(Some)
    }),
    ("[method]incoming-request.consume", |call| {
        let body = call.get::<IncomingRequest>(0)?.body.take();
        success_with(call.give(body.ok_or_else(failure)?)?)
    }),
    ("[method]incoming-response.status", |call| {
        let response = call.get::<IncomingResponse>(0)?;
        Ok(Some(Value::U16(response.status)))
    }),
    ("[method]incoming-response.headers", |call| {
        let fields = call.get::<IncomingResponse>(0)?.fields.fixed();
        call.give(fields).map(Some)
    }),
    ("[method]incoming-response.consume", |call| {
        let body = call.get::<IncomingResponse>(0)?.body.take();
        success_with(call.give(body.ok_or_else(failure)?)?)
    }),
    ("[method]future-incoming-response.subscribe", |call| {
        let promise = Arc::clone(&call.get::<FutureResponse>(0)?.0);
        subscribe(call, promise)
    }),
    ("[method]future-incoming-response.get", |call| {
        let answer = match call.get::<FutureResponse>(0)?.0.take() {
            None => return Ok(Some(Value::Option(None))),
            Some(None) => return Ok(Some(values::some(Value::Result(Err(None))))),
            Some(Some(answer)) => answer,
        };
        let answer = match answer {
            Ok(answer) => {
                let fields = Fields::received(answer.headers, &call.state.http.field_bytes);
                let response = IncomingResponse {
                    status: answer.status,
                    fields,
                    body: Some(IncomingBody::new(answer.body)),
                };
                Ok(call.give(response)?)
            }
            Err(code) => Err(code),
        };
        Ok(Some(once(answer)))
    }),
];

pub const OUTGOING: &[Row] = &[
    ("[constructor]outgoing-request", |call| {
        let fields: Fields = call.take(0)?;
        let body = OutgoingBody::new(call, &fields, true)?;
        let request = OutgoingRequest {
            method: "GET".into(),
            path_with_query: None,
            scheme: None,
            authority: None,
            message: Message::new(fields, body),
        };
        call.give(request).map(Some)
    }),
    ("[method]outgoing-request.method", |call| {
        let request = call.get::<OutgoingRequest>(0)?;
        Ok(Some(method_value(&request.method)))
    }),
    ("[method]outgoing-request.set-method", |call| {
        let method = method(call.value(1)?)?;
        let request = call.get::<OutgoingRequest>(0)?;
        request.method = method.ok_or_else(failure)?;
        success()
    }),
    ("[method]outgoing-request.path-with-query", |call| {
        let request = call.get::<OutgoingRequest>(0)?;
        Ok(Some(text_value(&request.path_with_query)))
    }),
    ("[method]outgoing-request.set-path-with-query", |call| {
        let path = text(call, is_path)?;
        call.get::<OutgoingRequest>(0)?.path_with_query = path;
        success()
    }),
    ("[method]outgoing-request.scheme", |call| {
        let request = call.get::<OutgoingRequest>(0)?;
        Ok(Some(scheme_value(&request.scheme)))
    }),
    ("[method]outgoing-request.set-scheme", |call| {
        let scheme = values::option(call.value(1)?)?;
        let scheme = scheme.map(scheme_of).transpose()?;
        call.get::<OutgoingRequest>(0)?.scheme = scheme;
        success()
    }),
    ("[method]outgoing-request.authority", |call| {
        let request = call.get::<OutgoingRequest>(0)?;
        Ok(Some(text_value(&request.authority)))
    }),
    ("[method]outgoing-request.set-authority", |call| {
        let authority = text(call, is_authority)?;
        call.get::<OutgoingRequest>(0)?.authority = authority;
        success()
    }),
    ("[method]outgoing-request.headers", |call| {
        let fields = call.get::<OutgoingRequest>(0)?.message.fields.fixed();
        call.give(fields).map(Some)
    }),
    ("[method]outgoing-request.body", |call| {
        let body = call.get::<OutgoingRequest>(0)?.message.body.take();
        success_with(call.give(body.ok_or_else(failure)?)?)
    }),
    ("[constructor]outgoing-response", |call| {
        let fields: Fields = call.take(0)?;
        let body = OutgoingBody::new(call, &fields, false)?;
        let response = OutgoingResponse {
            status: 200,
            message: Message::new(fields, body),
        };
        call.give(response).map(Some)
    }),
    ("[method]outgoing-response.status-code", |call| {
        let response = call.get::<OutgoingResponse>(0)?;
        Ok(Some(Value::U16(response.status)))
    }),
    ("[method]outgoing-response.set-status-code", |call| {
        let status = values::short(call.value(1)?)?;
        let response = call.get::<OutgoingResponse>(0)?;
        if !(100..=999).contains(&status) {
            return Err(failure());
        }
        response.status = status;
        success()
    }),
    ("[method]outgoing-response.headers", |call| {
        let fields = call.get::<OutgoingResponse>(0)?.message.fields.fixed();
        call.give(fields).map(Some)
    }),
    ("[method]outgoing-response.body", |call| {
        let body = call.get::<OutgoingResponse>(0)?.message.body.take();
        success_with(call.give(body.ok_or_else(failure)?)?)
    }),
    ("[method]response-outparam.send-informational", |call| {
        call.get::<ResponseOutparam>(0)?;
        let status = values::short(call.value(1)?)?;
        let _: Fields = call.take(2)?;
        Err(match status {
            100..=199 => ErrorCode::internal("informational responses are not sent").stop(),
            _ => ErrorCode::protocol().stop(),
        })
    }),
    ("[static]response-outparam.set", set),
];

/// A request that the guest answers.
pub struct IncomingRequest {
    pub method: String,
    pub scheme: Option<String>,
    pub authority: Option<String>,
    pub path_with_query: Option<String>,
    pub fields: Fields,
    pub body: Option<IncomingBody>,
}

impl Resource for IncomingRequest {
    const NAME: &'static str = "incoming-request";
}

/// A response that the guest gets.
struct IncomingResponse {
    status: u16,
    fields: Fields,
    body: Option<IncomingBody>,
}

impl Resource for IncomingResponse {
    const NAME: &'static str = "incoming-response";
}

/// The head of a response that the embedder gives, and the side of its body that the guest reads.
pub struct Answered {
    pub status: u16,
    pub headers: Headers,
    pub body: Reader,
}

/// A response to a request of the guest, which may not be there yet.
pub struct FutureResponse(pub Arc<Promise<Result<Answered, ErrorCode>>>);

impl Resource for FutureResponse {
    const NAME: &'static str = "future-incoming-response";
}

/// The parts of a message that the guest makes.
pub struct Message {
    pub fields: Fields,
    /// The body, until the guest takes it.
    body: Option<OutgoingBody>,
    reader: Reader,
}

impl Message {
    fn new(fields: Fields, (body, reader): (OutgoingBody, Reader)) -> Message {
        Message {
            fields,
            body: Some(body),
            reader,
        }
    }

    /// Headers and body for the embedder. A body that the guest has not taken is empty.
    pub fn sent(self) -> (Headers, BodyReader) {
        if let Some(body) = self.body {
            body.finish_empty();
        }
        (
            self.fields.list().clone(),
            BodyReader(Arc::new(self.reader)),
        )
    }
}

/// A request that the guest makes.
pub struct OutgoingRequest {
    pub method: String,
    pub path_with_query: Option<String>,
    pub scheme: Option<String>,
    pub authority: Option<String>,
    pub message: Message,
}

impl Resource for OutgoingRequest {
    const NAME: &'static str = "outgoing-request";
}

/// A response that the guest makes.
struct OutgoingResponse {
    status: u16,
    message: Message,
}

impl Resource for OutgoingResponse {
    const NAME: &'static str = "outgoing-response";
}

/// A response of a guest.
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its fields.
    pub headers: Headers,
    /// Its body.
    pub body: BodyReader,
}

/// The place for the response to a request. The embedder gets an error if nothing is put there.
pub struct ResponseOutparam(pub Arc<Promise<Result<Response, ErrorCode>>>);

impl Resource for ResponseOutparam {
    const NAME: &'static str = "response-outparam";
}

impl Drop for ResponseOutparam {
    fn drop(&mut self) {
        self.0.give(Err(unanswered()));
    }
}

/// The code for a request without a response.
pub fn unanswered() -> ErrorCode {
    ErrorCode::internal("the guest has not answered the request")
}

fn set(call: &mut Call<'_>) -> Outcome {
    let outparam: ResponseOutparam = call.take(0)?;
    let response = match call.value(1)? {
        Value::Result(Ok(Some(response))) => match **response {
            Value::Own(number) => {
                let response: OutgoingResponse = call.state.table.take(number)?;
                let (headers, body) = response.message.sent();
                Ok(Response {
                    status: response.status,
                    headers,
                    body,
                })
            }
            _ => return Err(Mistake.into()),
        },
        Value::Result(Err(Some(code))) => Err(ErrorCode::of_value(code)?),
        _ => return Err(Mistake.into()),
    };
    outparam.0.give(response);
    Ok(None)
}

/// Methods with a case of their own.
const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

fn method_value(method: &str) -> Value {
    match METHODS.iter().position(|known| *known == method) {
        Some(case) => Value::Variant(case as u32, None),
        None => values::holding(METHODS.len() as u32, Value::String(method.into())),
    }
}

/// A method; nothing if it cannot be one.
fn method(value: &Value) -> Result<Option<String>, Mistake> {
    match values::variant(value)? {
        (_, Some(other)) => {
            let other = values::text(other)?;
            Ok(is_token(other).then(|| other.into()))
        }
        (case, None) => {
            let known = METHODS.get(case as usize).ok_or(Mistake)?;
            Ok(Some((*known).into()))
        }
    }
}

fn scheme_value(scheme: &Option<String>) -> Value {
    values::optional(scheme.as_deref().map(|scheme| match scheme {
        "http" => Value::Variant(0, None),
        "https" => Value::Variant(1, None),
        other => values::holding(2, Value::String(other.into())),
    }))
}

/// A scheme in small letters.
fn scheme_of(value: &Value) -> Result<String, Stop> {
    match values::variant(value)? {
        (0, None) => Ok("http".into()),
        (1, None) => Ok("https".into()),
        (2, Some(other)) => {
            let other = values::text(other)?;
            is_scheme(other)
                .then(|| other.to_ascii_lowercase())
                .ok_or_else(failure)
        }
        _ => Err(Mistake.into()),
    }
}

fn text_value(text: &Option<String>) -> Value {
    values::optional(text.clone().map(Value::String))
}

/// The second argument, a text that must be right if there is one.
fn text(call: &Call<'_>, is_right: fn(&str) -> bool) -> Result<Option<String>, Stop> {
    match values::option(call.value(1)?)? {
        None => Ok(None),
        Some(value) => {
            let text = values::text(value)?;
            is_right(text)
                .then(|| Some(text.into()))
                .ok_or_else(failure)
        }
    }
}
