//! Writes heads of responses: status line, fields, `Date` and `Content-Length`.
//!
//! No field with a control character in its value or a name that is no token is written: a program
//! cannot split a response. The functions append to a buffer and send nothing.

use crate::date;
use crate::head::{is_token, value_length};

/// The reason that usually goes with a status code; empty for others.
pub fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "",
    }
}

/// Whether responses with this status have no body.
pub fn has_no_body(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}

/// Why a field was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadField {
    /// The name is no token.
    Name,
    /// The value has a control character, which might begin another field.
    Value,
}

/// Appends the status line.
pub fn push_status(output: &mut Vec<u8>, status: u16) {
    if status == 200 {
        output.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    output.extend_from_slice(b"HTTP/1.1 ");
    push_number(output, u64::from(status));
    output.push(b' ');
    output.extend_from_slice(reason(status).as_bytes());
    output.extend_from_slice(b"\r\n");
}

/// Appends a field.
pub fn push_field(output: &mut Vec<u8>, name: &[u8], value: &[u8]) -> Result<(), BadField> {
    if !is_token(name) {
        return Err(BadField::Name);
    }
    if !is_value(value) {
        return Err(BadField::Value);
    }
    output.extend_from_slice(name);
    output.extend_from_slice(b": ");
    output.extend_from_slice(value);
    output.extend_from_slice(b"\r\n");
    Ok(())
}

/// Whether bytes may be the value of a field.
pub fn is_value(value: &[u8]) -> bool {
    value_length(value) == value.len()
}

/// Appends the present date as a field.
pub fn push_date(output: &mut Vec<u8>) {
    output.extend_from_slice(b"Date: ");
    output.extend_from_slice(&date::now());
    output.extend_from_slice(b"\r\n");
}

/// Appends the length of the body as a field.
pub fn push_length(output: &mut Vec<u8>, length: u64) {
    output.extend_from_slice(b"Content-Length: ");
    push_number(output, length);
    output.extend_from_slice(b"\r\n");
}

/// Appends a number in decimal digits.
pub fn push_number(output: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    output.extend_from_slice(&digits[at..]);
}

/// A whole response in plain text, after which the connection ends.
pub fn plain_response(status: u16, text: &str) -> Vec<u8> {
    let mut output = Vec::with_capacity(256);
    push_status(&mut output, status);
    push_date(&mut output);
    output.extend_from_slice(b"Content-Type: text/plain; charset=utf-8\r\n");
    push_length(&mut output, text.len() as u64);
    output.extend_from_slice(b"Connection: close\r\n\r\n");
    output.extend_from_slice(text.as_bytes());
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_would_begin_others_are_refused() {
        let mut output = Vec::new();
        assert_eq!(
            push_field(&mut output, b"x", b"a\r\nb: c"),
            Err(BadField::Value)
        );
        assert_eq!(push_field(&mut output, b"x", b"a\0"), Err(BadField::Value));
        assert_eq!(push_field(&mut output, b"x y", b"a"), Err(BadField::Name));
        assert_eq!(push_field(&mut output, b"", b"a"), Err(BadField::Name));
        assert!(output.is_empty());
        push_field(&mut output, b"x", b"a\tb").unwrap();
        assert_eq!(output, b"x: a\tb\r\n");
    }

    #[test]
    fn numbers_and_status_lines() {
        let mut output = Vec::new();
        for number in [0, 9, 10, 1234, u64::MAX] {
            push_number(&mut output, number);
            output.push(b' ');
        }
        push_status(&mut output, 404);
        push_status(&mut output, 299);
        let text = "0 9 10 1234 18446744073709551615 HTTP/1.1 404 Not Found\r\nHTTP/1.1 299 \r\n";
        assert_eq!(output, text.as_bytes());
    }
}
