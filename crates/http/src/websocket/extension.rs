//! Agreeing on permessage-deflate (RFC 7692): the offer of a client, the answer of a server, and
//! the check that an answer belongs to the offer. A malformed or unknown element is passed over in
//! offers, as if it were not there, and is a fault in answers.

use canny_formats::compression::MessageWindow;

/// The windows with which the two sides compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    pub server: MessageWindow,
    pub client: MessageWindow,
}

const NAME: &str = "permessage-deflate";

const SERVER_CONTEXT: &str = "server_no_context_takeover";
const CLIENT_CONTEXT: &str = "client_no_context_takeover";
const SERVER_BITS: &str = "server_max_window_bits";
const CLIENT_BITS: &str = "client_max_window_bits";

const BITS_MAX: u8 = 15;

/// The parameters of an offer or an answer.
#[derive(Clone, Copy, Default)]
struct Parameters {
    server_forgets: bool,
    client_forgets: bool,
    server_bits: Option<u8>,
    /// A client may just say that it knows of this.
    client_bits: Option<Option<u8>>,
}

/// Cuts at a separator that is not in a quoted string.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character| {
        let is_plain = !std::mem::take(&mut is_escaped);
        match character {
            '"' if is_plain => is_quoted = !is_quoted,
            '\\' if is_quoted => is_escaped = is_plain,
            _ => {}
        }
        character == separator && !is_quoted
    })
    .map(str::trim)
}

/// The number of a parameter: from 8 to 15, without noughts before it.
fn bits(value: &str) -> Option<u8> {
    let value = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .unwrap_or(value);
    match value {
        "8" | "9" | "10" | "11" | "12" | "13" | "14" | "15" => value.parse().ok(),
        _ => None,
    }
}

/// Reads one element of the list: `None` if it is another extension, or malformed.
fn parameters(element: &str) -> Option<Parameters> {
    let mut parts = split(element, ';');
    if !parts.next()?.eq_ignore_ascii_case(NAME) {
        return None;
    }
    let mut found = Parameters::default();
    for part in parts {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part, None),
        };
        let is_new = match (name.to_ascii_lowercase().as_str(), value) {
            (SERVER_CONTEXT, None) => !std::mem::replace(&mut found.server_forgets, true),
            (CLIENT_CONTEXT, None) => !std::mem::replace(&mut found.client_forgets, true),
            (SERVER_BITS, Some(value)) => found.server_bits.replace(bits(value)?).is_none(),
            (CLIENT_BITS, None) => found.client_bits.replace(None).is_none(),
            (CLIENT_BITS, Some(value)) => found.client_bits.replace(Some(bits(value)?)).is_none(),
            _ => false,
        };
        if !is_new {
            return None;
        }
    }
    Some(found)
}

/// A server's answer to the offers of a client, and the agreement: the first offer that it can
/// keep, if there is one. It keeps contexts if the client allows that, or has neither side do so.
pub fn accept(offers: &str, keeps_context: bool) -> Option<(String, Agreement)> {
    let offer = split(offers, ',')
        .filter_map(parameters)
        // A window of 256 bytes cannot be made.
        .find(|offer| offer.server_bits != Some(8))?;
    let server = MessageWindow {
        bits: offer.server_bits.unwrap_or(BITS_MAX),
        keeps_context: keeps_context && !offer.server_forgets,
    };
    let client = MessageWindow {
        bits: offer.client_bits.flatten().unwrap_or(BITS_MAX),
        keeps_context: keeps_context && !offer.client_forgets,
    };
    let mut answer = NAME.to_owned();
    for (is_said, name) in [
        (!server.keeps_context, SERVER_CONTEXT),
        (!client.keeps_context, CLIENT_CONTEXT),
    ] {
        if is_said {
            answer.push_str("; ");
            answer.push_str(name);
        }
    }
    if let Some(bits) = offer.server_bits {
        answer.push_str(&format!("; {SERVER_BITS}={bits}"));
    }
    Some((answer, Agreement { server, client }))
}

/// The offer of a client.
pub fn offer(keeps_context: bool) -> String {
    if keeps_context {
        format!("{NAME}; {CLIENT_BITS}")
    } else {
        format!("{NAME}; {SERVER_CONTEXT}; {CLIENT_CONTEXT}; {CLIENT_BITS}")
    }
}

/// The agreement in a server's answer to [`offer`]: `None` if it is no answer to that offer.
pub fn agreed(answer: &str, keeps_context: bool) -> Option<Agreement> {
    let answer = parameters(answer)?;
    let is_answer = (keeps_context || answer.server_forgets) && answer.client_bits != Some(None);
    is_answer.then_some(Agreement {
        server: MessageWindow {
            bits: answer.server_bits.unwrap_or(BITS_MAX),
            keeps_context: !answer.server_forgets,
        },
        client: MessageWindow {
            bits: answer.client_bits.flatten().unwrap_or(BITS_MAX),
            keeps_context: keeps_context && !answer.client_forgets,
        },
    })
}
