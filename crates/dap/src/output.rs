//! Messages to the client: responses, each to its request, and events. A request is answered once, even
//! if nobody can do what it asks.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use canny_locks::Mutex;
use canny_messages::write_message;
use serde_json::{Value as Json, json};

/// The way to the client, for all threads.
pub struct Output {
    stream: Mutex<Box<dyn Write + Send>>,
    sequence: AtomicI64,
}

impl Output {
    /// Writes to a stream.
    pub fn new(stream: Box<dyn Write + Send>) -> Arc<Output> {
        Arc::new(Output {
            stream: Mutex::new(stream),
            sequence: AtomicI64::new(0),
        })
    }

    /// Sends a message, with the next number. A client that is gone gets nothing; its reader notices.
    pub fn send(&self, mut message: Json) {
        let mut stream = self.stream.lock();
        message["seq"] = (1 + self.sequence.fetch_add(1, Ordering::Relaxed)).into();
        let _ = write_message(&mut *stream, &message);
    }

    /// Sends an event.
    pub fn event(&self, name: &str, body: Json) {
        self.send(json!({"type": "event", "event": name, "body": body}));
    }

    /// Shows a line of text.
    pub fn say(&self, category: &str, text: &str) {
        self.event(
            "output",
            json!({"category": category, "output": format!("{text}\n")}),
        );
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number.
    pub sequence: i64,
    /// Its name.
    pub command: String,
    /// An object, or null.
    pub arguments: Json,
}

impl Request {
    /// A message as a request; none if it is something else.
    pub fn of(message: &Json) -> Option<Request> {
        if message["type"] != "request" {
            return None;
        }
        Some(Request {
            sequence: message["seq"].as_i64()?,
            command: message["command"].as_str()?.to_owned(),
            arguments: message["arguments"].clone(),
        })
    }

    /// An argument that is a number.
    pub fn number(&self, name: &str) -> Result<i64, String> {
        let wrong = || format!("'{}' wants a number '{name}'", self.command);
        self.arguments[name].as_i64().ok_or_else(wrong)
    }

    /// An argument that is a text.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        let wrong = || format!("'{}' wants a text '{name}'", self.command);
        self.arguments[name].as_str().ok_or_else(wrong)
    }

    /// An argument that may be missing.
    pub fn count(&self, name: &str) -> Option<usize> {
        let number = self.arguments[name].as_u64()?;
        usize::try_from(number).ok()
    }
}

/// The duty to answer a request. One that is forgotten is answered with a failure.
pub struct Answer {
    output: Arc<Output>,
    sequence: i64,
    command: String,
    is_given: bool,
}

impl Answer {
    /// Of a request.
    pub fn to(output: &Arc<Output>, request: &Request) -> Answer {
        Answer {
            output: output.clone(),
            sequence: request.sequence,
            command: request.command.clone(),
            is_given: false,
        }
    }

    /// Answers.
    pub fn give(mut self, result: Result<Json, String>) {
        self.send(result);
    }

    /// The number of the request.
    pub fn number(&self) -> i64 {
        self.sequence
    }

    /// Somebody else answers.
    pub fn leave(mut self) {
        self.is_given = true;
    }

    fn send(&mut self, result: Result<Json, String>) {
        self.is_given = true;
        let mut message = json!({
            "type": "response",
            "request_seq": self.sequence,
            "command": self.command,
            "success": result.is_ok(),
        });
        match result {
            Ok(Json::Null) => {}
            Ok(body) => message["body"] = body,
            Err(text) => {
                message["message"] = text.clone().into();
                message["body"] = json!({"error": {"id": 1, "format": text, "showUser": false}});
            }
        }
        self.output.send(message);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_given {
            self.send(Err("the task runs again".to_owned()));
        }
    }
}
