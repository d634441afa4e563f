//! Bodies of messages as resources, with their streams and trailers.
//!
//! A body is finished by its guest, or has failed. A stream of it must be dropped before.

use std::sync::Arc;

use canny_component::Value;

use super::super::Row;
use super::super::call::{Call, Outcome, Stop, failure, success, success_with, trap};
use super::super::poll::subscribe;
use super::super::streams::{Input, Output};
use super::super::table::Resource;
use super::super::values;
use super::codes::ErrorCode;
use super::fields::{Fields, Headers, passed};
use super::pipes::{BodySink, BodySource, Reader, Writer, pipe};

pub const ROWS: &[Row] = &[
    ("[method]incoming-body.stream", |call| {
        let body = call.get::<IncomingBody>(0)?;
        if std::mem::replace(&mut body.gave_stream, true) {
            return Err(failure());
        }
        let source = BodySource {
            reader: Arc::clone(&body.reader),
            _is_read: Arc::clone(&body.is_read),
        };
        success_with(call.give(Input::new(source))?)
    }),
    ("[static]incoming-body.finish", |call| {
        let body: IncomingBody = call.take(0)?;
        if Arc::strong_count(&body.is_read) > 1 {
            return Err(trap("a body is finished whose stream is still there"));
        }
        body.reader.discard();
        let trailers = FutureTrailers {
            reader: body.reader,
            is_taken: false,
        };
        call.give(trailers).map(Some)
    }),
    ("[method]future-trailers.subscribe", |call| {
        let reader = Arc::clone(&call.get::<FutureTrailers>(0)?.reader);
        subscribe(call, reader)
    }),
    ("[method]future-trailers.get", trailers),
    ("[method]outgoing-body.write", |call| {
        let body = call.get::<OutgoingBody>(0)?;
        if body.output.is_some() {
            return Err(failure());
        }
        let output = Output::new(BodySink {
            writer: Arc::clone(&body.writer),
            length: body.length,
            is_request: body.is_request,
        });
        body.output = Some(output.clone());
        success_with(call.give(output)?)
    }),
    ("[static]outgoing-body.finish", finish),
];

/// Most bodies that a guest has at a time.
const BODIES_MAX: usize = 1024;

/// A body that the guest reads.
pub struct IncomingBody {
    reader: Arc<Reader>,
    gave_stream: bool,
    /// The stream has another reference to it.
    is_read: Arc<()>,
}

impl Resource for IncomingBody {
    const NAME: &'static str = "incoming-body";
}

impl IncomingBody {
    pub fn new(reader: Reader) -> IncomingBody {
        IncomingBody {
            reader: Arc::new(reader),
            gave_stream: false,
            is_read: Arc::default(),
        }
    }
}

struct FutureTrailers {
    reader: Arc<Reader>,
    is_taken: bool,
}

impl Resource for FutureTrailers {
    const NAME: &'static str = "future-trailers";
}

fn trailers(call: &mut Call<'_>) -> Outcome {
    let future = call.get::<FutureTrailers>(0)?;
    let Some(ending) = future.reader.ending() else {
        return Ok(Some(Value::Option(None)));
    };
    if std::mem::replace(&mut future.is_taken, true) {
        return Ok(Some(values::some(Value::Result(Err(None)))));
    }
    let ending = match ending {
        Ok(trailers) if trailers.is_empty() => Ok(Value::Option(None)),
        Ok(trailers) => {
            let fields = Fields::received(trailers, &call.state.http.field_bytes);
            Ok(values::some(call.give(fields)?))
        }
        Err(code) => Err(code),
    };
    Ok(Some(once(ending)))
}

/// The result of a future that is taken for the first time.
pub fn once(result: Result<Value, ErrorCode>) -> Value {
    let result = match result {
        Ok(value) => Ok(Some(Box::new(value))),
        Err(code) => Err(Some(Box::new(code.value()))),
    };
    values::some(Value::Result(Ok(Some(Box::new(Value::Result(result))))))
}

/// A body that the guest writes, or may write.
pub struct OutgoingBody {
    writer: Arc<Writer>,
    output: Option<Output>,
    length: Option<u64>,
    is_request: bool,
    is_finished: bool,
    _counted: Arc<()>,
}

impl Resource for OutgoingBody {
    const NAME: &'static str = "outgoing-body";
}

impl OutgoingBody {
    /// The body of a message with such fields, and its other side.
    pub fn new(
        call: &mut Call<'_>,
        fields: &Fields,
        is_request: bool,
    ) -> Result<(OutgoingBody, Reader), Stop> {
        let count = &call.state.http.bodies;
        if Arc::strong_count(count) > BODIES_MAX {
            return Err(trap(format!(
                "a guest has more than {BODIES_MAX} bodies of HTTP"
            )));
        }
        let (writer, reader) = pipe();
        let body = OutgoingBody {
            writer: Arc::new(writer),
            output: None,
            length: fields.content_length(),
            is_request,
            is_finished: false,
            _counted: Arc::clone(count),
        };
        Ok((body, reader))
    }

    /// Ends a body that the guest has not asked for: it is empty.
    pub fn finish_empty(mut self) {
        self.end(Ok(Headers::new()));
    }

    fn end(&mut self, ending: Result<Headers, ErrorCode>) {
        self.is_finished = true;
        self.writer.end(ending);
    }
}

impl Drop for OutgoingBody {
    fn drop(&mut self) {
        if !self.is_finished {
            self.writer.end(Err(ErrorCode::terminated()));
        }
    }
}

fn finish(call: &mut Call<'_>) -> Outcome {
    let mut body: OutgoingBody = call.take(0)?;
    let trailers = passed(call, values::option(call.value(1)?)?)?;
    if body.output.as_ref().is_some_and(Output::is_shared) {
        return Err(trap("a body is finished whose stream is still there"));
    }
    let written = body.writer.written();
    if body.length.is_some_and(|length| length != written) {
        let code = ErrorCode::body_size(body.is_request, written);
        body.end(Err(code.clone()));
        return Err(code.stop());
    }
    body.end(Ok(trailers.unwrap_or_default()));
    success()
}
