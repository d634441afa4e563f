//! `wasi:http`, with the test as its embedder.

use std::io;

use canny_component::{Answer, Value};
use canny_io::{Handle, IoError, Wait};

use super::super::Network;
use super::super::http::{BodyReader, ErrorCode, Head, Headers, Received, Request, Requests};
use super::streams::Notes;
use super::{Guest, bytes, closed, lent, none, settings, some, text};

const READ: &str = "io/streams#[method]input-stream.blocking-read";
const WRITE: &str = "io/streams#[method]output-stream.blocking-write-and-flush";
const FINISH: &str = "http/types#[static]outgoing-body.finish";
const SET: &str = "http/types#[static]response-outparam.set";

/// Errors of fields.
const INVALID: Value = Value::Variant(0, None);
const FORBIDDEN: Value = Value::Variant(1, None);
const IMMUTABLE: Value = Value::Variant(2, None);

fn method(name: &str) -> String {
    format!("http/types#[method]{name}")
}

fn make(guest: &mut Guest, name: &str, arguments: &[Value]) -> Value {
    guest.get(&format!("http/types#[constructor]{name}"), arguments)
}

fn pair(name: &str, value: &str) -> Value {
    Value::Record(vec![text(name), bytes(value)])
}

fn fields(guest: &mut Guest, pairs: &[(&str, &str)]) -> Value {
    let pairs = pairs.iter().map(|(name, value)| pair(name, value));
    let list = Value::List(pairs.collect());
    guest.ok("http/types#[static]fields.from-list", &[list])
}

fn headers(pairs: &[(&str, &str)]) -> Headers {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).into(), value.as_bytes().into()))
        .collect()
}

fn failed(result: Value) -> bool {
    result == Value::Result(Err(None))
}

fn code(name: &str) -> ErrorCode {
    ErrorCode::named(name).unwrap()
}

/// The number of a case with nothing in it.
fn case(value: &Value) -> u32 {
    match value {
        Value::Variant(case, _) => *case,
        other => panic!("{other:?} is no variant"),
    }
}

fn all(body: &Handle) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 1000];
    loop {
        match body.read(&mut buffer, Wait::Blocking).unwrap() {
            0 => return all,
            count => all.extend_from_slice(&buffer[..count]),
        }
    }
}

fn write_all(body: &Handle, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let count = body.write(bytes, Wait::Blocking).unwrap();
        bytes = &bytes[count..];
    }
}

#[test]
fn fields_are_checked() {
    let mut guest = Guest::new(settings());
    let made = make(&mut guest, "fields", &[]);
    let append = method("fields.append");
    guest.done(&append, &[lent(&made), text("X-One"), bytes("a")]);
    guest.done(&append, &[lent(&made), text("x-one"), bytes("b\tc \u{e4}")]);
    let get = [lent(&made), text("x-ONE")];
    let values = Value::List(vec![bytes("a"), bytes("b\tc \u{e4}")]);
    assert_eq!(guest.get(&method("fields.get"), &get), values);
    let wrong = [
        ("", "x", INVALID),
        ("a b", "x", INVALID),
        ("a:", "x", INVALID),
        ("a\r\nb", "x", INVALID),
        ("a", "x\r\ny", INVALID),
        ("a", "\0", INVALID),
        ("a", "\x7f", INVALID),
        ("content-length", "x", INVALID),
        ("content-length", "+1", INVALID),
        ("content-length", "99999999999999999999", INVALID),
        ("Connection", "close", FORBIDDEN),
        ("transfer-encoding", "chunked", FORBIDDEN),
        ("Host", "x", FORBIDDEN),
    ];
    for (name, value, error) in wrong {
        let one = [lent(&made), text(name), bytes(value)];
        assert_eq!(guest.error(&append, &one), error, "{name} {value}");
        let set = [lent(&made), text(name), Value::List(vec![bytes(value)])];
        assert_eq!(
            guest.error(&method("fields.set"), &set),
            error,
            "{name} {value}"
        );
        let list = Value::List(vec![pair(name, value)]);
        let error_of_list = guest.error("http/types#[static]fields.from-list", &[list]);
        assert_eq!(error_of_list, error, "{name} {value}");
    }
    let set = [lent(&made), text("X-ONE"), Value::List(vec![bytes("c")])];
    let copy = guest.get(&method("fields.clone"), &[lent(&made)]);
    guest.done(&method("fields.set"), &set);
    let entries = guest.get(&method("fields.entries"), &[lent(&made)]);
    assert_eq!(entries, Value::List(vec![pair("X-ONE", "c")]));
    let entries = guest.get(&method("fields.entries"), &[lent(&copy)]);
    assert!(matches!(entries, Value::List(list) if list.len() == 2));
    guest.done(&method("fields.delete"), &[lent(&copy), text("x-one")]);
    let has = [lent(&copy), text("x-one")];
    assert_eq!(guest.get(&method("fields.has"), &has), Value::Bool(false));
    guest.done(&append, &[lent(&copy), text("Content-Length"), bytes("5")]);
    let second = [lent(&copy), text("content-length"), bytes("6")];
    assert_eq!(guest.error(&append, &second), INVALID);
}

#[test]
fn fields_of_a_guest_are_limited() {
    let mut guest = Guest::new(settings());
    let made = make(&mut guest, "fields", &[]);
    let append = [lent(&made), text("x"), bytes(vec![b'a'; 1 << 20])];
    let error = (0..100).find_map(|_| guest.call(&method("fields.append"), &append).err());
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("more than 16777216 bytes")
    );
    guest.drop("http/types#fields", &made).unwrap();
    let made = make(&mut guest, "fields", &[]);
    guest.done(
        &method("fields.append"),
        &[lent(&made), text("x"), bytes("small")],
    );
}

fn received() -> (Guest, Received) {
    let guest = Guest::new(settings());
    let head = Head {
        method: "POST".into(),
        scheme: Some("http".into()),
        authority: Some("example.org:8080".into()),
        path_with_query: Some("/path?query".into()),
        headers: headers(&[("Host", "example.org"), ("X-Name", "value")]),
    };
    let received = guest.world.receive(head).unwrap();
    (guest, received)
}

#[test]
fn a_guest_reads_a_request() {
    let (mut guest, received) = received();
    let [request, outparam] = &received.arguments;
    let mut told = |name: &str| {
        let name = method(&format!("incoming-request.{name}"));
        guest.get(&name, &[lent(request)])
    };
    assert_eq!(told("method"), Value::Variant(2, None));
    assert_eq!(told("scheme"), some(Value::Variant(0, None)));
    assert_eq!(told("authority"), some(text("example.org:8080")));
    assert_eq!(told("path-with-query"), some(text("/path?query")));
    let fields = told("headers");
    let entries = guest.get(&method("fields.entries"), &[lent(&fields)]);
    assert_eq!(entries, Value::List(vec![pair("X-Name", "value")]));
    let delete = [lent(&fields), text("x-name")];
    assert_eq!(guest.error(&method("fields.delete"), &delete), IMMUTABLE);
    let body = guest.ok(&method("incoming-request.consume"), &[lent(request)]);
    let again = guest.get(&method("incoming-request.consume"), &[lent(request)]);
    assert!(failed(again));
    let input = guest.ok(&method("incoming-body.stream"), &[lent(&body)]);
    assert!(failed(
        guest.get(&method("incoming-body.stream"), &[lent(&body)])
    ));
    let most = [lent(&input), Value::U64(u64::MAX)];
    assert!(matches!(guest.once(READ, &most), Ok(Answer::Wait)));
    let handle = received.body.handle();
    // More than a pipe holds, so that the embedder waits for the guest.
    let thread = std::thread::spawn(move || {
        write_all(&handle, &vec![9; 200_000]);
        received
            .body
            .finish(headers(&[("X-Sum", "1"), ("Connection", "x")]));
    });
    let mut count = 0;
    let end = loop {
        match guest.get(READ, &most) {
            Value::Result(Ok(Some(part))) => match *part {
                Value::Bytes(part) => count += part.len(),
                other => panic!("{other:?}"),
            },
            Value::Result(Err(Some(end))) => break *end,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((count, end), (200_000, closed()));
    thread.join().unwrap();
    guest.drop("io/streams#input-stream", &input).unwrap();
    let trailers = guest.get("http/types#[static]incoming-body.finish", &[body]);
    let Value::Option(Some(result)) = guest.get(&method("future-trailers.get"), &[lent(&trailers)])
    else {
        panic!("the trailers are there");
    };
    let Value::Result(Ok(Some(inner))) = *result else {
        panic!("they are taken for the first time");
    };
    let Value::Result(Ok(Some(fields))) = *inner else {
        panic!("they have come");
    };
    let Value::Option(Some(fields)) = *fields else {
        panic!("there are some");
    };
    let entries = guest.get(&method("fields.entries"), &[lent(&fields)]);
    assert_eq!(entries, Value::List(vec![pair("X-Sum", "1")]));
    let again = guest.get(&method("future-trailers.get"), &[lent(&trailers)]);
    assert_eq!(again, some(Value::Result(Err(None))));
    let error = Value::Result(Err(Some(Box::new(Value::Variant(35, None)))));
    guest.call(SET, &[outparam.clone(), error]).unwrap();
    let response = received.response.wait(Wait::Blocking).unwrap().unwrap();
    assert_eq!(
        response.err().map(|code| code.name()),
        Some("HTTP-protocol-error")
    );
}

#[test]
fn bodies_that_are_not_read_do_not_stop_the_embedder() {
    let (mut guest, received) = received();
    let [request, _] = &received.arguments;
    let body = guest.ok(&method("incoming-request.consume"), &[lent(request)]);
    let input = guest.ok(&method("incoming-body.stream"), &[lent(&body)]);
    let text = guest.trap("http/types#[static]incoming-body.finish", &[body]);
    assert!(text.contains("still there"), "{text}");
    guest.drop("io/streams#input-stream", &input).unwrap();
    // The body was passed on, so that it has no reader any more.
    let handle = received.body.handle();
    let error = handle.write(b"lost", Wait::Blocking).unwrap_err();
    assert!(matches!(error, IoError::BrokenPipe(_)));
    let (mut guest, received) = self::received();
    let [request, _] = &received.arguments;
    let body = guest.ok(&method("incoming-request.consume"), &[lent(request)]);
    let trailers = guest.get("http/types#[static]incoming-body.finish", &[body]);
    let get = [lent(&trailers)];
    assert_eq!(guest.get(&method("future-trailers.get"), &get), none());
    write_all(&received.body.handle(), &vec![0; 300_000]);
    let pollable = guest.get(&method("future-trailers.subscribe"), &get);
    assert!(!guest.is_ready(&pollable));
    received.body.fail(code("connection-terminated"));
    guest.block(&pollable);
    let failure = Value::Result(Err(Some(Box::new(Value::Variant(7, None)))));
    let result = guest.get(&method("future-trailers.get"), &get);
    assert_eq!(result, some(Value::Result(Ok(Some(Box::new(failure))))));
}

#[test]
fn full_and_empty_bodies_are_waited_for_once() {
    let (mut guest, received) = received();
    let (body, reader) = response_body(&mut guest, &received, &[]);
    let notes = std::rc::Rc::new(Notes::default());
    canny_sched::hook::with_parking(notes.clone(), || {
        let handle = received.body.handle();
        let error = loop {
            if let Err(error) = handle.write(&[0; 10_000], Wait::Blocking) {
                break error;
            }
        };
        assert!(matches!(error, IoError::Parked(_)));
        let read = reader.handle().read(&mut [0; 10], Wait::Blocking);
        assert!(matches!(read, Err(IoError::Parked(_))));
        let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
        let part = [lent(&output), bytes(vec![1; 4096])];
        for _ in 0..16 {
            guest.done(WRITE, &part);
        }
        assert!(matches!(guest.once(WRITE, &part), Ok(Answer::Wait)));
    });
    assert_eq!(notes.0.borrow().len(), 3);
}

#[test]
fn bodies_that_fail_tell_the_code() {
    let (mut guest, received) = received();
    let [request, _] = &received.arguments;
    let body = guest.ok(&method("incoming-request.consume"), &[lent(request)]);
    let input = guest.ok(&method("incoming-body.stream"), &[lent(&body)]);
    write_all(&received.body.handle(), b"part");
    drop(received.body);
    let most = [lent(&input), Value::U64(100)];
    assert_eq!(guest.ok(READ, &most), bytes("part"));
    let Value::Variant(0, Some(error)) = guest.error(READ, &most) else {
        panic!("the body failed");
    };
    let told = guest.get("http/types#http-error-code", &[lent(&error)]);
    assert_eq!(told, some(Value::Variant(7, None)));
}

/// Makes a response with a body, and sets it.
fn respond(guest: &mut Guest, outparam: &Value, pairs: &[(&str, &str)]) -> Value {
    let fields = fields(guest, pairs);
    let response = make(guest, "outgoing-response", &[fields]);
    let set = method("outgoing-response.set-status-code");
    assert!(failed(guest.get(&set, &[lent(&response), Value::U16(99)])));
    guest.done(&set, &[lent(&response), Value::U16(201)]);
    let body = guest.ok(&method("outgoing-response.body"), &[lent(&response)]);
    assert!(failed(
        guest.get(&method("outgoing-response.body"), &[lent(&response)])
    ));
    let result = Value::Result(Ok(Some(Box::new(response))));
    guest.call(SET, &[outparam.clone(), result]).unwrap();
    body
}

#[test]
fn a_guest_responds() {
    let (mut guest, received) = received();
    let [_, outparam] = &received.arguments;
    let none_yet = received.response.wait(Wait::NonBlocking);
    assert!(matches!(none_yet, Err(IoError::WouldBlock)));
    let body = respond(&mut guest, outparam, &[("Content-Type", "text/plain")]);
    let response = received
        .response
        .wait(Wait::Blocking)
        .unwrap()
        .unwrap()
        .ok()
        .unwrap();
    assert_eq!(response.status, 201);
    assert_eq!(response.headers, headers(&[("Content-Type", "text/plain")]));
    let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
    assert!(failed(
        guest.get(&method("outgoing-body.write"), &[lent(&body)])
    ));
    let handle = response.body.handle();
    let nothing = handle.read(&mut [0; 10], Wait::NonBlocking);
    assert!(matches!(nothing, Err(IoError::WouldBlock)));
    guest.done(WRITE, &[lent(&output), bytes("first")]);
    let mut buffer = [0; 10];
    assert_eq!(handle.read(&mut buffer, Wait::Blocking).unwrap(), 5);
    // The pipe becomes full, and the guest waits.
    let part = [lent(&output), bytes(vec![1; 4096])];
    for _ in 0..16 {
        guest.done(WRITE, &part);
    }
    assert!(matches!(guest.once(WRITE, &part), Ok(Answer::Wait)));
    let check = "io/streams#[method]output-stream.check-write";
    assert_eq!(guest.ok(check, &[lent(&output)]), Value::U64(0));
    let thread = std::thread::spawn(move || (all(&handle), response.body));
    guest.done(WRITE, &part);
    guest.drop("io/streams#output-stream", &output).unwrap();
    let trailers = fields(&mut guest, &[("X-Sum", "2")]);
    guest.done(FINISH, &[body, some(trailers)]);
    let (contents, body) = thread.join().unwrap();
    assert_eq!(contents.len(), 17 * 4096);
    let ending = body.ending(Wait::Blocking).unwrap();
    assert_eq!(ending, Ok(headers(&[("X-Sum", "2")])));
    assert!(received.response.wait(Wait::Blocking).unwrap().is_none());
}

fn response_body(
    guest: &mut Guest,
    received: &Received,
    pairs: &[(&str, &str)],
) -> (Value, BodyReader) {
    let body = respond(guest, &received.arguments[1], pairs);
    let response = received.response.wait(Wait::Blocking).unwrap().unwrap();
    (body, response.ok().unwrap().body)
}

#[test]
fn bodies_have_the_length_that_is_told() {
    let length = [("Content-Length", "3")];
    for (written, expected) in [("abc", Ok(Headers::new())), ("ab", Err(2))] {
        let (mut guest, received) = received();
        let (body, reader) = response_body(&mut guest, &received, &length);
        let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
        guest.done(WRITE, &[lent(&output), bytes(written)]);
        guest.drop("io/streams#output-stream", &output).unwrap();
        let finished = guest.get(FINISH, &[body, none()]);
        assert_eq!(finished == Value::Result(Ok(None)), expected.is_ok());
        let handle = reader.handle();
        let mut buffer = [0; 10];
        assert_eq!(
            handle.read(&mut buffer, Wait::Blocking).unwrap(),
            written.len()
        );
        let ending = reader.ending(Wait::Blocking).unwrap();
        match expected {
            Ok(headers) => {
                assert_eq!(ending, Ok(headers));
                assert_eq!(handle.read(&mut buffer, Wait::Blocking).unwrap(), 0);
            }
            Err(count) => {
                let error = Value::Variant(28, Some(Box::new(some(Value::U64(count)))));
                assert_eq!(finished, Value::Result(Err(Some(Box::new(error)))));
                assert_eq!(ending.unwrap_err().name(), "HTTP-response-body-size");
                assert!(handle.read(&mut buffer, Wait::Blocking).is_err());
            }
        }
    }
    let (mut guest, received) = received();
    let (body, _reader) = response_body(&mut guest, &received, &length);
    let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
    let Value::Variant(0, Some(error)) = guest.error(WRITE, &[lent(&output), bytes("abcd")]) else {
        panic!("too many bytes fail");
    };
    let told = guest.get("http/types#http-error-code", &[lent(&error)]);
    assert!(matches!(told, Value::Option(Some(code)) if case(&code) == 28));
}

#[test]
fn bodies_that_are_dropped_are_not_whole() {
    let (mut guest, received) = received();
    let (body, reader) = response_body(&mut guest, &received, &[]);
    let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
    let text = guest.trap(FINISH, &[body.clone(), none()]);
    assert!(text.contains("still there"), "{text}");
    let ending = reader.ending(Wait::Blocking).unwrap();
    assert_eq!(ending.unwrap_err().name(), "connection-terminated");
    assert_eq!(guest.error(WRITE, &[lent(&output), bytes("x")]), closed());
    let (mut guest, received) = self::received();
    let (body, reader) = response_body(&mut guest, &received, &[]);
    let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
    drop(reader);
    assert_eq!(guest.error(WRITE, &[lent(&output), bytes("x")]), closed());
}

#[test]
fn a_guest_that_does_not_respond_has_failed() {
    let (mut guest, received) = received();
    let [_, outparam] = &received.arguments;
    guest
        .drop("http/types#response-outparam", outparam)
        .unwrap();
    let response = received.response.wait(Wait::Blocking).unwrap().unwrap();
    assert_eq!(response.err().unwrap().name(), "internal-error");
    let (guest, received) = self::received();
    drop(guest);
    let response = received.response.wait(Wait::Blocking).unwrap().unwrap();
    assert_eq!(response.err().unwrap().name(), "internal-error");
    let (mut guest, received) = self::received();
    let [_, outparam] = &received.arguments;
    let informational = method("response-outparam.send-informational");
    for (status, expected) in [(103, 38), (200, 35)] {
        let fields = make(&mut guest, "fields", &[]);
        let send = [lent(outparam), Value::U16(status), fields];
        assert_eq!(case(&guest.error(&informational, &send)), expected);
    }
}

fn asking() -> (Guest, Requests) {
    let allowed = Network {
        requests: true,
        ..Network::default()
    };
    let guest = Guest::on_network(settings(), allowed);
    let requests = guest.world.requests().unwrap();
    (guest, requests)
}

/// A request of the guest for an authority.
fn request(guest: &mut Guest, authority: &str) -> Value {
    let fields = fields(guest, &[("Accept", "*/*")]);
    let request = make(guest, "outgoing-request", &[fields]);
    let set = [lent(&request), some(text(authority))];
    guest.done(&method("outgoing-request.set-authority"), &set);
    request
}

const HANDLE: &str = "http/outgoing-handler#handle";

#[test]
fn a_guest_makes_requests() {
    let (mut guest, requests) = asking();
    let made = request(&mut guest, "example.org");
    let post = Value::Variant(2, None);
    let settings = [
        ("method", post),
        ("path-with-query", some(text("/a?b"))),
        ("scheme", some(Value::Variant(0, None))),
    ];
    for (name, value) in settings {
        let set = method(&format!("outgoing-request.set-{name}"));
        guest.done(&set, &[lent(&made), value.clone()]);
        let get = method(&format!("outgoing-request.{name}"));
        assert_eq!(guest.get(&get, &[lent(&made)]), value);
    }
    let wrong = [
        ("method", Value::Variant(9, Some(Box::new(text("A B"))))),
        ("path-with-query", some(text("/a b"))),
        ("scheme", some(Value::Variant(2, Some(Box::new(text("1")))))),
        ("authority", some(text("a/b"))),
    ];
    for (name, value) in wrong {
        let set = method(&format!("outgoing-request.set-{name}"));
        assert!(failed(guest.get(&set, &[lent(&made), value])), "{name}");
    }
    let options = make(&mut guest, "request-options", &[]);
    let limit = [lent(&options), some(Value::U64(5_000_000))];
    guest.done(&method("request-options.set-first-byte-timeout"), &limit);
    let body = guest.ok(&method("outgoing-request.body"), &[lent(&made)]);
    let future = guest.ok(HANDLE, &[made, some(options)]);
    let output = guest.ok(&method("outgoing-body.write"), &[lent(&body)]);
    guest.done(WRITE, &[lent(&output), bytes("asked")]);
    guest.drop("io/streams#output-stream", &output).unwrap();
    guest.done(FINISH, &[body, none()]);
    let get = method("future-incoming-response.get");
    assert_eq!(guest.get(&get, &[lent(&future)]), none());
    let subscribe = method("future-incoming-response.subscribe");
    let pollable = guest.get(&subscribe, &[lent(&future)]);
    assert!(!guest.is_ready(&pollable));
    let thread = std::thread::spawn(move || {
        let taken: Option<Request> = requests.take(Wait::Blocking).unwrap();
        let mut taken = taken.unwrap();
        assert_eq!((&*taken.method, &*taken.scheme), ("POST", "http"));
        assert_eq!(taken.authority, "example.org");
        assert_eq!(taken.path_with_query, "/a?b");
        assert_eq!(taken.headers, headers(&[("Accept", "*/*")]));
        let limit = std::time::Duration::from_millis(5);
        assert_eq!(taken.timeouts, [None, Some(limit), None]);
        assert!(!taken.is_abandoned());
        let asked = all(&taken.take_body().handle());
        let body = taken.answer(404, headers(&[("X-A", "b")]));
        write_all(&body.handle(), b"answer to ");
        write_all(&body.handle(), &asked);
        body.finish(Headers::new());
        requests
    });
    guest.block(&pollable);
    let Value::Option(Some(result)) = guest.get(&get, &[lent(&future)]) else {
        panic!("the response is there");
    };
    let Value::Result(Ok(Some(result))) = *result else {
        panic!("it is taken for the first time");
    };
    let Value::Result(Ok(Some(response))) = *result else {
        panic!("it did not fail");
    };
    let again = guest.get(&get, &[lent(&future)]);
    assert_eq!(again, some(Value::Result(Err(None))));
    let status = guest.get(&method("incoming-response.status"), &[lent(&response)]);
    assert_eq!(status, Value::U16(404));
    let fields = guest.get(&method("incoming-response.headers"), &[lent(&response)]);
    let entries = guest.get(&method("fields.entries"), &[lent(&fields)]);
    assert_eq!(entries, Value::List(vec![pair("X-A", "b")]));
    let body = guest.ok(&method("incoming-response.consume"), &[lent(&response)]);
    let requests = thread.join().unwrap();
    let input = guest.ok(&method("incoming-body.stream"), &[lent(&body)]);
    let most = [lent(&input), Value::U64(100)];
    assert_eq!(guest.ok(READ, &most), bytes("answer to asked"));
    assert_eq!(guest.error(READ, &most), closed());
    drop(guest);
    assert!(requests.take(Wait::Blocking).unwrap().is_none());
}

#[test]
fn requests_fail_with_a_code() {
    let (mut guest, requests) = asking();
    let get = method("future-incoming-response.get");
    let terminated = Value::Variant(7, None);
    let refused = Value::Variant(6, None);
    for expected in [refused, terminated] {
        let made = request(&mut guest, "example.org");
        let future = guest.ok(HANDLE, &[made, none()]);
        let taken = requests.take(Wait::Blocking).unwrap().unwrap();
        // A body that the guest has not taken is empty.
        assert_eq!(
            taken.body.ending(Wait::NonBlocking).unwrap(),
            Ok(Headers::new())
        );
        assert_eq!((&*taken.scheme, &*taken.path_with_query), ("https", "/"));
        if case(&expected) == 6 {
            taken.fail(code("connection-refused"));
        } else {
            drop(taken);
        }
        let failure = Value::Result(Err(Some(Box::new(expected))));
        let result = guest.get(&get, &[lent(&future)]);
        assert_eq!(result, some(Value::Result(Ok(Some(Box::new(failure))))));
    }
    let made = request(&mut guest, "example.org");
    let future = guest.ok(HANDLE, &[made, none()]);
    guest
        .drop("http/types#future-incoming-response", &future)
        .unwrap();
    let taken = requests.take(Wait::Blocking).unwrap().unwrap();
    assert!(taken.is_abandoned());
    let fields = make(&mut guest, "fields", &[]);
    let without_authority = make(&mut guest, "outgoing-request", &[fields]);
    assert_eq!(case(&guest.error(HANDLE, &[without_authority, none()])), 19);
    let made = request(&mut guest, "example.org");
    let ftp = some(Value::Variant(2, Some(Box::new(text("ftp")))));
    guest.done(&method("outgoing-request.set-scheme"), &[lent(&made), ftp]);
    assert_eq!(case(&guest.error(HANDLE, &[made, none()])), 35);
    let mut guest = Guest::new(settings());
    assert!(guest.world.requests().is_none());
    let made = request(&mut guest, "example.org");
    assert_eq!(case(&guest.error(HANDLE, &[made, none()])), 15);
}

#[test]
fn bodies_and_requests_are_limited() {
    let (mut guest, _requests) = asking();
    let code = loop {
        let made = request(&mut guest, "example.org");
        if let Value::Result(Err(Some(code))) = guest.get(HANDLE, &[made, none()]) {
            break code;
        }
    };
    assert_eq!(case(&code), 11);
    let error = loop {
        let fields = make(&mut guest, "fields", &[]);
        let name = "http/types#[constructor]outgoing-response";
        if let Err(error) = guest.call(name, &[fields]) {
            break error;
        }
    };
    assert!(error.to_string().contains("more than 1024 bodies"));
}

#[test]
fn all_codes_have_a_name() {
    for name in [
        "DNS-timeout",
        "TLS-alert-received",
        "HTTP-response-timeout",
        "internal-error",
    ] {
        assert_eq!(code(name).name(), name);
    }
    assert!(ErrorCode::named("nothing").is_none());
    let error = io::Error::other(ErrorCode::internal("why").name());
    assert_eq!(error.to_string(), "internal-error");
}
