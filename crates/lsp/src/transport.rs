//! Answers to requests of the protocol, and why there is none.

use serde_json::{Value, json};

/// Codes of errors.
pub mod code {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// JSON, but no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Nobody knows the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters make no sense.
    pub const INVALID_PARAMETERS: i64 = -32602;
    /// A request before `initialize`.
    pub const NOT_INITIALIZED: i64 = -32002;
    /// The request makes sense, but cannot be fulfilled.
    pub const REQUEST_FAILED: i64 = -32803;
    /// The client took it back.
    pub const CANCELLED: i64 = -32800;
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A code of [`code`].
    pub code: i64,
    /// A sentence.
    pub message: String,
}

impl Failure {
    /// The request makes sense, but cannot be fulfilled.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure {
            code: code::REQUEST_FAILED,
            message: message.into(),
        }
    }

    /// The parameters make no sense.
    pub fn parameters(message: impl Into<String>) -> Failure {
        Failure {
            code: code::INVALID_PARAMETERS,
            message: message.into(),
        }
    }
}

/// The answer to a request.
pub fn response(id: &Value, result: Result<Value, Failure>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(failure) => json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": failure.code, "message": failure.message},
        }),
    }
}
