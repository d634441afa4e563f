use proptest::prelude::*;

use super::*;

fn limits() -> HeadLimits {
    HeadLimits::default()
}

fn fault_of(text: &str) -> (Fault, usize) {
    let malformed = read_request(text.as_bytes(), &limits()).expect_err(text);
    (malformed.fault, malformed.position)
}

#[test]
fn a_head_is_where_its_parts_are() {
    let text = b"GET /a/b?c=d HTTP/1.1\r\nHost: x.org\r\nEmpty:\r\nA:\t b c \t\r\n\r\nbody";
    let head = read_request(text, &limits()).unwrap().unwrap();
    assert_eq!(&text[head.method.clone()], b"GET");
    assert_eq!(&text[head.target.clone()], b"/a/b?c=d");
    assert_eq!((head.minor, head.length), (1, text.len() - 4));
    let fields: Vec<_> = head
        .fields
        .iter()
        .map(|field| (&text[field.name()], &text[field.value()]))
        .collect();
    let wanted: [(&[u8], &[u8]); 3] = [(b"Host", b"x.org"), (b"Empty", b""), (b"A", b"b c")];
    assert_eq!(fields, wanted);
    for field in head.fields {
        assert_eq!(Field::from_bytes(field.to_bytes()), field);
    }
}

#[test]
fn every_beginning_of_a_head_is_incomplete() {
    let text = b"\r\nPOST http://a.b:80/c HTTP/1.0\r\nA: b\r\nC: d\te\r\n\r\n";
    for end in 0..text.len() {
        assert_eq!(read_request(&text[..end], &limits()), Ok(None), "{end}");
    }
    assert!(read_request(text, &limits()).unwrap().is_some());
}

#[test]
fn what_could_be_understood_in_two_ways_is_refused() {
    let cases = [
        ("GET / HTTP/1.1\nA: b\r\n\r\n", Fault::LineEnd, 14),
        ("GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", Fault::LineEnd, 20),
        ("GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", Fault::LineEnd, 20),
        ("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", Fault::Folded, 22),
        ("GET / HTTP/1.1\r\n A: b\r\n\r\n", Fault::Folded, 16),
        ("GET / HTTP/1.1\r\nA : b\r\n\r\n", Fault::FieldName, 17),
        ("GET / HTTP/1.1\r\n: b\r\n\r\n", Fault::FieldName, 16),
        ("GET / HTTP/1.1\r\nA\r\n\r\n", Fault::FieldName, 17),
        ("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", Fault::FieldValue, 20),
        (
            "GET / HTTP/1.1\r\nA: 12345678\u{7f}\r\n\r\n",
            Fault::FieldValue,
            27,
        ),
        ("GET  / HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("GET / HTTP/1.1 \r\n\r\n", Fault::LineEnd, 14),
        ("GET /\r\n\r\n", Fault::Version, 5),
        ("GET / http/1.1\r\n\r\n", Fault::Version, 6),
        ("GET / HTTP/1.\r\n\r\n", Fault::Version, 6),
        ("GET / HTTP/2.0\r\n\r\n", Fault::OtherVersion, 6),
        ("G(T / HTTP/1.1\r\n\r\n", Fault::Method, 1),
        (" / HTTP/1.1\r\n\r\n", Fault::Method, 0),
        ("\n\nGET / HTTP/1.1\r\n\r\n", Fault::Method, 0),
        ("GET /a\tb HTTP/1.1\r\n\r\n", Fault::Target, 6),
        ("GET /\u{e9} HTTP/1.1\r\n\r\n", Fault::Target, 5),
        ("GET /a#b HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("GET a HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("GET * HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("GET http:// HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("GET http://u@h/ HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("GET ftp://h/ HTTP/1.1\r\n\r\n", Fault::Target, 4),
        ("CONNECT / HTTP/1.1\r\n\r\n", Fault::Target, 8),
        ("CONNECT h HTTP/1.1\r\n\r\n", Fault::Target, 8),
    ];
    for (text, fault, position) in cases {
        assert_eq!(fault_of(text), (fault, position), "{text:?}");
    }
}

#[test]
fn the_forms_of_targets() {
    for (method, target) in [
        ("GET", "/"),
        ("GET", "/%zz?%"),
        ("OPTIONS", "*"),
        ("GET", "http://a.b"),
        ("GET", "HTTP://a.b:8080?x"),
        ("GET", "https://[::1]:1/"),
        ("CONNECT", "a.b:443"),
        ("CONNECT", "[::1]:443"),
    ] {
        let text = format!("{method} {target} HTTP/1.1\r\n\r\n");
        assert!(read_request(text.as_bytes(), &limits()).is_ok(), "{text}");
    }
}

#[test]
fn heads_have_limits() {
    let small = HeadLimits {
        bytes: 64,
        fields: 2,
        target: 8,
    };
    let fault = |text: &str| read_request(text.as_bytes(), &small).unwrap_err().fault;
    assert_eq!(fault("GET /12345678 HTTP/1.1\r\n\r\n"), Fault::TargetLength);
    assert_eq!(fault("GET /123456789012"), Fault::TargetLength);
    assert_eq!(
        fault("GET / HTTP/1.1\r\nA: b\r\nA: b\r\nA: b\r\n\r\n"),
        Fault::FieldCount
    );
    assert_eq!(
        fault(&format!("GET / HTTP/1.1\r\nA: {}", "b".repeat(64))),
        Fault::Length
    );
    let whole = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(41));
    assert_eq!(whole.len(), 64);
    assert!(read_request(whole.as_bytes(), &small).unwrap().is_some());
}

#[test]
fn responses() {
    let text = b"HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n";
    let head = read_response(text, &limits()).unwrap().unwrap();
    assert_eq!(
        (head.status, &text[head.reason.clone()]),
        (404, &b"Not Found"[..])
    );
    for text in ["HTTP/1.1 200\r\n\r\n", "HTTP/1.0 200 \r\n\r\n"] {
        let head = read_response(text.as_bytes(), &limits()).unwrap().unwrap();
        assert_eq!((head.status, head.reason.len()), (200, 0));
    }
    for text in [
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
    ] {
        let fault = read_response(text.as_bytes(), &limits()).unwrap_err().fault;
        assert_eq!(fault, Fault::Status, "{text}");
    }
}

#[test]
fn the_end_of_a_head_is_found_wherever_it_is_cut() {
    let text = b"GET / HTTP/1.1\r\nA: b\r\n\r\n";
    for cut in 0..text.len() {
        let mut search = EndSearch::default();
        assert!(!search.may_have_ended(&text[..cut]));
        assert!(search.may_have_ended(text), "{cut}");
    }
}

/// Bytes of a head, and its fields.
type Parts = (usize, Vec<(Vec<u8>, Vec<u8>)>);

/// The parts of a head according to the reference, or nothing if it refuses the head.
fn reference(bytes: &[u8]) -> Option<Option<Parts>> {
    let mut fields = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => {
            let fields = request.headers.iter();
            let fields = fields.map(|field| (field.name.into(), field.value.into()));
            Some(Some((length, fields.collect())))
        }
        Ok(httparse::Status::Partial) => Some(None),
        Err(_) => None,
    }
}

/// Heads that are nearly right.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => Just("\r\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("\r".to_owned()),
        2 => Just(": ".to_owned()),
        2 => Just(":".to_owned()),
        2 => Just(" ".to_owned()),
        1 => Just("\t".to_owned()),
        6 => "[A-Za-z-]{1,12}",
        3 => "[ -~]{0,20}",
        1 => any::<char>().prop_map(String::from),
        1 => Just("HTTP/1.1".to_owned()),
    ];
    let start = prop_oneof![
        6 => Just("GET /path HTTP/1.1\r\n".to_owned()),
        1 => Just(String::new()),
        1 => "[A-Z]{1,7} /[ -~]{0,10} HTTP/1\\.[01]\r\n",
    ];
    (start, prop::collection::vec(piece, 0..24))
        .prop_map(|(start, pieces)| (start + &pieces.concat()).into_bytes())
}

proptest! {
    /// The reference takes every head that is taken here, and in the same way. It takes more.
    #[test]
    fn what_is_taken_the_reference_takes(bytes in heads()) {
        match read_request(&bytes, &limits()) {
            Ok(Some(head)) => {
                let (length, fields) = reference(&bytes).flatten().expect("the reference takes it");
                prop_assert_eq!(head.length, length);
                let ours: Vec<(Vec<u8>, Vec<u8>)> = head
                    .fields
                    .iter()
                    .map(|field| (bytes[field.name()].to_vec(), bytes[field.value()].to_vec()))
                    .collect();
                prop_assert_eq!(ours, fields);
            }
            // The reference may know already that it is wrong, in what is not looked at here yet.
            Ok(None) => prop_assert!(!matches!(reference(&bytes), Some(Some(_)))),
            Err(malformed) => prop_assert!(malformed.position <= bytes.len()),
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_request(&bytes, &limits());
        let _ = read_response(&bytes, &limits());
        let _ = read_trailers(&bytes, &limits());
    }
}
