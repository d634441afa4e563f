use crate::head::{HeadLimits, read_request, read_response};

use super::*;

fn of_request(fields: &str) -> Result<Framing, Fault> {
    of_version(fields, 1)
}

fn of_version(fields: &str, minor: u8) -> Result<Framing, Fault> {
    let text = format!("POST / HTTP/1.{minor}\r\n{fields}\r\n");
    let head = read_request(text.as_bytes(), &HeadLimits::default());
    let head = head.unwrap().expect("a whole head");
    Framing::of_request(text.as_bytes(), &head).map_err(|malformed| malformed.fault)
}

#[test]
fn bodies_are_as_long_as_they_say() {
    let body = |fields: &str| of_request(&format!("Host: a\r\n{fields}")).map(|it| it.body);
    assert_eq!(body(""), Ok(BodyLength::NONE));
    assert_eq!(body("Content-Length: 12\r\n"), Ok(BodyLength::Known(12)));
    assert_eq!(body("content-length: 0\r\n"), Ok(BodyLength::NONE));
    assert_eq!(
        body("Transfer-Encoding: chunked\r\n"),
        Ok(BodyLength::Chunked)
    );
    assert_eq!(
        body("TRANSFER-ENCODING: CHUNKED\r\n"),
        Ok(BodyLength::Chunked)
    );
}

#[test]
fn lengths_that_smuggle_are_refused() {
    let fault = |fields: &str| of_request(&format!("Host: a\r\n{fields}")).unwrap_err();
    for value in [
        "",
        "+1",
        "-1",
        "0x1",
        "1 1",
        "1,1",
        "1, 2",
        "1.0",
        "18446744073709551616",
        "１",
    ] {
        let field = format!("Content-Length: {value}\r\n");
        assert_eq!(fault(&field), Fault::ContentLength, "{value}");
    }
    assert_eq!(
        fault("Content-Length: 1\r\nContent-Length: 1\r\n"),
        Fault::ContentLength
    );
    assert_eq!(
        fault("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
        Fault::Conflict
    );
    for value in [
        "gzip",
        "identity",
        "chunked, gzip",
        "chunked, chunked",
        "xchunked",
        "chunked;q=1",
        "",
        "\"chunked\"",
    ] {
        let field = format!("Transfer-Encoding: {value}\r\n");
        assert_eq!(fault(&field), Fault::CodingOrder, "{value}");
    }
    let field = "Transfer-Encoding: gzip, chunked\r\n";
    assert_eq!(fault(field), Fault::Coding);
    let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
    assert_eq!(fault(twice), Fault::CodingOrder);
    assert_eq!(
        of_version("Transfer-Encoding: chunked\r\n", 0),
        Err(Fault::Conflict)
    );
}

#[test]
fn a_request_has_one_host() {
    assert_eq!(of_request(""), Err(Fault::Host));
    assert_eq!(of_request("Host: a\r\nHost: a\r\n"), Err(Fault::Host));
    assert!(of_version("", 0).is_ok());
    for host in [
        "a b",
        "a/b",
        "a:b",
        "u@h",
        "[::1",
        "a:123456",
        "a,b c",
        "a:99999",
        "a:65536",
        "a:8a",
        "a%00",
        "a%0d%0a",
        "a%",
        "a%2",
        "a%zz",
        "a%2f",
        "a%2Fb",
        "a%40b",
        "a%3a80",
        "a%20",
        "a%7f",
        "a%25",
        "[::::]",
        "[1.2.3.4]",
        "[]",
        "[::1]:99999",
        "[::1%25lo]",
        "[fe80::1]x",
    ] {
        assert_eq!(
            of_request(&format!("Host: {host}\r\n")),
            Err(Fault::Host),
            "{host}"
        );
    }
    for host in [
        "",
        "a",
        "a.b:80",
        "a:",
        "a:0",
        "a:65535",
        "[::1]",
        "[::1]:80",
        "[::ffff:1.2.3.4]",
        "127.0.0.1:1",
        "b%C3%BCcher.example",
        "a%2db",
        "a_b~c",
        "a!$&'()*+,;=b",
    ] {
        assert!(of_request(&format!("Host: {host}\r\n")).is_ok(), "{host}");
    }
}

#[test]
fn connections_go_on_as_their_version_has_it() {
    let keeps = |fields: &str, minor| {
        of_version(&format!("Host: a\r\n{fields}"), minor)
            .unwrap()
            .keeps_alive
    };
    assert!(keeps("", 1));
    assert!(!keeps("Connection: close\r\n", 1));
    assert!(!keeps("Connection: x , Close\r\n", 1));
    assert!(!keeps("", 0));
    assert!(keeps("Connection: Keep-Alive\r\n", 0));
    assert!(!keeps("Connection: keep-alive, close\r\n", 0));
}

#[test]
fn expectations() {
    let framing = of_request("Host: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n").unwrap();
    assert!(framing.expects_continue);
    let framing = of_request("Host: a\r\nExpect: 100-continue\r\n").unwrap();
    assert!(!framing.expects_continue);
    assert_eq!(
        of_request("Host: a\r\nExpect: more\r\n"),
        Err(Fault::Expectation)
    );
}

#[test]
fn responses_have_bodies_by_method_and_status() {
    let body = |start: &str, fields: &str, method: &str| {
        let text = format!("HTTP/1.1 {start}\r\n{fields}\r\n");
        let head = read_response(text.as_bytes(), &HeadLimits::default());
        let head = head.unwrap().expect("a whole head");
        Framing::of_response(text.as_bytes(), &head, method).map(|it| (it.body, it.keeps_alive))
    };
    let five = "Content-Length: 5\r\n";
    assert_eq!(
        body("200 OK", five, "GET"),
        Ok((BodyLength::Known(5), true))
    );
    assert_eq!(body("200 OK", five, "HEAD"), Ok((BodyLength::NONE, true)));
    assert_eq!(
        body("304 Not Modified", five, "GET"),
        Ok((BodyLength::NONE, true))
    );
    assert_eq!(
        body("204 No Content", "", "GET"),
        Ok((BodyLength::NONE, true))
    );
    assert_eq!(body("200 OK", "", "GET"), Ok((BodyLength::UntilEnd, false)));
    assert_eq!(
        body("200 OK", "", "CONNECT"),
        Ok((BodyLength::UntilEnd, false))
    );
}
