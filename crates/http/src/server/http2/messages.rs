//! Heads of HTTP/2 as those of HTTP/1, and the other way round, so that there is one reading of
//! requests and one form of responses.
//!
//! A request's head is written out as HTTP/1 would have it and read by the same strict reader, with the
//! same limits. Nothing in it can begin another field, since a value with a line's end is refused
//! before, and the number of fields is compared.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};

use crate::framing::{BodyLength, Framing};
use crate::head::{
    Fault, HEAD_BYTES_MAX, HeadLimits, Malformed, RequestHead, read_request, read_response,
};

/// Appends to a buffer of a certain size.
struct Writer<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl Writer<'_> {
    /// Appends bytes. If they do not fit, the head is too long.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let end = self.length + bytes.len();
        let Some(place) = self.bytes.get_mut(self.length..end) else {
            return Err(malformed(Fault::Length));
        };
        place.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }

    fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        self.push(name)?;
        self.push(b": ")?;
        self.push(value)?;
        self.push(b"\r\n")
    }
}

fn malformed(fault: Fault) -> Malformed {
    Malformed { fault, position: 0 }
}

/// Writes the head of a request as HTTP/1 has it and reads that.
pub(super) fn read_head(
    parts: &Parts,
    bytes: &mut [u8],
    limits: &HeadLimits,
    has_body: bool,
) -> Result<(RequestHead, Framing), Malformed> {
    let mut writer = Writer { bytes, length: 0 };
    let mut count = 0;
    writer.push(parts.method.as_str().as_bytes())?;
    writer.push(b" ")?;
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    let authority = authority.filter(|text| !text.is_empty());
    if let Some(scheme) = parts.uri.scheme_str()
        && !(scheme == "http" || scheme == "https")
    {
        return Err(malformed(Fault::Target));
    }
    match parts.uri.path_and_query() {
        Some(target) => {
            if target.as_str().len() > limits.target {
                return Err(malformed(Fault::TargetLength));
            }
            writer.push(target.as_str().as_bytes())?;
        }
        // That is so for CONNECT only.
        None => writer.push(authority.unwrap_or_default().as_bytes())?,
    }
    writer.push(b" HTTP/1.1\r\n")?;
    if let Some(authority) = authority {
        writer.field(b"host", authority.as_bytes())?;
        count += 1;
    }
    let mut has_cookies = false;
    for (name, value) in &parts.headers {
        if *name == HOST
            && let Some(authority) = authority
        {
            // It says the same, or it could be understood in two ways.
            if !value.as_bytes().eq_ignore_ascii_case(authority.as_bytes()) {
                return Err(malformed(Fault::Host));
            }
            continue;
        }
        if *name == COOKIE {
            // Each may have a field of its own (RFC 9113, 8.2.3).
            if std::mem::replace(&mut has_cookies, true) {
                continue;
            }
            writer.push(b"cookie: ")?;
            for (index, value) in parts.headers.get_all(COOKIE).iter().enumerate() {
                writer.push(if index > 0 { b"; " } else { b"" })?;
                writer.push(value.as_bytes())?;
            }
            writer.push(b"\r\n")?;
        } else {
            writer.field(name.as_str().as_bytes(), value.as_bytes())?;
        }
        count += 1;
    }
    writer.push(b"\r\n")?;
    let bytes = &writer.bytes[..writer.length];
    let head = read_request(bytes, limits)?.ok_or(malformed(Fault::FieldValue))?;
    if head.fields.len() != count || head.length != bytes.len() {
        return Err(malformed(Fault::FieldValue));
    }
    let mut framing = Framing::of_request(bytes, &head)?;
    if framing.body == BodyLength::Chunked {
        return Err(malformed(Fault::Conflict));
    }
    framing.keeps_alive = true;
    framing.upgrades = false;
    framing.expects_continue = has_body && parts.headers.contains_key(EXPECT);
    if !has_body {
        framing.body = BodyLength::NONE;
    } else if !parts.headers.contains_key(CONTENT_LENGTH) {
        // Its end is that of the stream.
        framing.body = BodyLength::Chunked;
    }
    Ok((head, framing))
}

/// The head at the start of a response as HTTP/1 has it, and its length. Fields that concern the
/// connection are left out.
pub(super) fn response_of(bytes: &[u8]) -> Option<(Response<()>, usize)> {
    let limits = HeadLimits {
        bytes: HEAD_BYTES_MAX,
        fields: usize::MAX,
        target: 0,
    };
    let head = read_response(bytes, &limits).ok()??;
    // The values are parts of one piece of memory.
    let bytes = Bytes::copy_from_slice(&bytes[..head.length]);
    let mut fields = HeaderMap::with_capacity(head.fields.len());
    for field in &head.fields {
        let name = HeaderName::from_bytes(&bytes[field.name()]).ok()?;
        if is_of_connection(&name) {
            continue;
        }
        let value = HeaderValue::from_maybe_shared(bytes.slice(field.value())).ok()?;
        fields.append(name, value);
    }
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status).ok()?;
    *response.headers_mut() = fields;
    Some((response, head.length))
}

/// Fields that HTTP/2 does not have (RFC 9113, 8.2.2).
fn is_of_connection(name: &HeaderName) -> bool {
    use http::header::{CONNECTION, TRANSFER_ENCODING, UPGRADE};
    [CONNECTION, TRANSFER_ENCODING, UPGRADE].contains(name)
        || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

/// Fields as lines, and an empty one.
pub(super) fn lines_of(fields: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in fields {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value.as_bytes());
        lines.extend_from_slice(b"\r\n");
    }
    lines.extend_from_slice(b"\r\n");
    lines
}

/// Lines as fields; lines that are no fields are left out.
pub(super) fn fields_of(lines: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        if let Some(colon) = memchr::memchr(b':', line)
            && let Ok(name) = HeaderName::from_bytes(&line[..colon])
            && let Ok(value) = HeaderValue::from_bytes(line[colon + 1..].trim_ascii_start())
        {
            fields.append(name, value);
        }
    }
    fields
}
