//! Codes of errors of HTTP.
//!
//! Most say all by their name. Those that hold something hold nothing known, unless a guest made them.

use canny_component::Value;

use super::super::call::{Stop, failure_with};
use super::super::failures::{Cause, End, Failure};
use super::super::values::{self, Mistake};

/// A code of `wasi:http/types.error-code`.
#[derive(Clone, PartialEq, Debug)]
pub struct ErrorCode {
    case: u32,
    held: Option<Box<Value>>,
}

/// The things that a case holds.
#[derive(Clone, Copy)]
enum Held {
    Nothing,
    Option,
    /// Two options.
    Pair,
}

/// A row for each case, in the order of the interface.
const CASES: &[(&str, Held)] = &[
    ("DNS-timeout", Held::Nothing),
    ("DNS-error", Held::Pair),
    ("destination-not-found", Held::Nothing),
    ("destination-unavailable", Held::Nothing),
    ("destination-IP-prohibited", Held::Nothing),
    ("destination-IP-unroutable", Held::Nothing),
    ("connection-refused", Held::Nothing),
    ("connection-terminated", Held::Nothing),
    ("connection-timeout", Held::Nothing),
    ("connection-read-timeout", Held::Nothing),
    ("connection-write-timeout", Held::Nothing),
    ("connection-limit-reached", Held::Nothing),
    ("TLS-protocol-error", Held::Nothing),
    ("TLS-certificate-error", Held::Nothing),
    ("TLS-alert-received", Held::Pair),
    ("HTTP-request-denied", Held::Nothing),
    ("HTTP-request-length-required", Held::Nothing),
    ("HTTP-request-body-size", Held::Option),
    ("HTTP-request-method-invalid", Held::Nothing),
    ("HTTP-request-URI-invalid", Held::Nothing),
    ("HTTP-request-URI-too-long", Held::Nothing),
    ("HTTP-request-header-section-size", Held::Option),
    ("HTTP-request-header-size", Held::Option),
    ("HTTP-request-trailer-section-size", Held::Option),
    ("HTTP-request-trailer-size", Held::Pair),
    ("HTTP-response-incomplete", Held::Nothing),
    ("HTTP-response-header-section-size", Held::Option),
    ("HTTP-response-header-size", Held::Pair),
    ("HTTP-response-body-size", Held::Option),
    ("HTTP-response-trailer-section-size", Held::Option),
    ("HTTP-response-trailer-size", Held::Pair),
    ("HTTP-response-transfer-coding", Held::Option),
    ("HTTP-response-content-coding", Held::Option),
    ("HTTP-response-timeout", Held::Nothing),
    ("HTTP-upgrade-failed", Held::Nothing),
    ("HTTP-protocol-error", Held::Nothing),
    ("loop-detected", Held::Nothing),
    ("configuration-error", Held::Nothing),
    ("internal-error", Held::Option),
];

const CONNECTION_TERMINATED: u32 = 7;
const CONNECTION_LIMIT_REACHED: u32 = 11;
const REQUEST_DENIED: u32 = 15;
const REQUEST_BODY_SIZE: u32 = 17;
const URI_INVALID: u32 = 19;
const RESPONSE_BODY_SIZE: u32 = 28;
const PROTOCOL_ERROR: u32 = 35;
const INTERNAL_ERROR: u32 = 38;

impl ErrorCode {
    /// The code with a name of the interface, such as `connection-refused`.
    pub fn named(name: &str) -> Option<ErrorCode> {
        let case = CASES.iter().position(|(known, _)| *known == name)?;
        Some(ErrorCode::plain(case as u32))
    }

    /// The code of an error that no other fits, with a text.
    pub fn internal(text: &str) -> ErrorCode {
        let text = values::some(Value::String(text.into()));
        ErrorCode {
            case: INTERNAL_ERROR,
            held: Some(Box::new(text)),
        }
    }

    /// The name in the interface.
    pub fn name(&self) -> &'static str {
        CASES[self.case as usize].0
    }

    fn plain(case: u32) -> ErrorCode {
        let nothing = Value::Option(None);
        let held = match CASES[case as usize].1 {
            Held::Nothing => None,
            Held::Option => Some(nothing),
            Held::Pair => Some(Value::Record(vec![nothing.clone(), nothing])),
        };
        ErrorCode {
            case,
            held: held.map(Box::new),
        }
    }

    pub(super) fn terminated() -> ErrorCode {
        ErrorCode::plain(CONNECTION_TERMINATED)
    }

    pub(super) fn too_many() -> ErrorCode {
        ErrorCode::plain(CONNECTION_LIMIT_REACHED)
    }

    pub(super) fn denied() -> ErrorCode {
        ErrorCode::plain(REQUEST_DENIED)
    }

    pub(super) fn wrong_uri() -> ErrorCode {
        ErrorCode::plain(URI_INVALID)
    }

    pub(super) fn protocol() -> ErrorCode {
        ErrorCode::plain(PROTOCOL_ERROR)
    }

    /// A body has so many bytes, and its message tells another number.
    pub(super) fn body_size(is_request: bool, bytes: u64) -> ErrorCode {
        let case = if is_request {
            REQUEST_BODY_SIZE
        } else {
            RESPONSE_BODY_SIZE
        };
        ErrorCode {
            case,
            held: Some(Box::new(values::some(Value::U64(bytes)))),
        }
    }

    /// The code that a guest gives.
    pub(super) fn of_value(value: &Value) -> Result<ErrorCode, Mistake> {
        let (case, held) = values::variant(value)?;
        if case as usize >= CASES.len() {
            return Err(Mistake);
        }
        let held = held.map(|held| Box::new(held.clone()));
        Ok(ErrorCode { case, held })
    }

    pub(super) fn value(&self) -> Value {
        Value::Variant(self.case, self.held.clone())
    }

    /// It as the error of a function.
    pub(super) fn stop(&self) -> Stop {
        failure_with(self.value())
    }

    /// It as the end of a stream.
    pub(super) fn end(&self) -> End {
        End::Failed(Failure {
            text: self.name().into(),
            cause: Cause::Message(self.value()),
        })
    }
}
