use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_io::socket::{Address, ListenOptions, Socket};
use canny_io::{Handle, IoError, Wait};

use super::*;

fn long() -> Wait<'static> {
    Wait::Until(Instant::now() + Duration::from_secs(20), None)
}

/// An authority and a certificate of it for `localhost`, in files.
struct Papers {
    _directory: tempfile::TempDir,
    authority: String,
    identity: Identity,
}

fn papers() -> Papers {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { directory.path().join(name) };
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    let name = format!("authority {}", directory.path().display());
    parameters
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    std::fs::write(path("authority.pem"), authority.pem()).unwrap();
    std::fs::write(path("certificate.pem"), certificate.pem()).unwrap();
    std::fs::write(path("key.pem"), key.serialize_pem()).unwrap();
    let text = |name: &str| path(name).to_string_lossy().into_owned();
    Papers {
        authority: text("authority.pem"),
        identity: Identity {
            certificates: text("certificate.pem"),
            key: text("key.pem"),
        },
        _directory: directory,
    }
}

/// Both ends of a connection.
fn connection() -> (Socket, Socket) {
    let loopback = Address::inet("127.0.0.1", 0).unwrap();
    let listener = Socket::listen(&loopback, ListenOptions::default()).unwrap();
    let address = listener.local_address().unwrap().unwrap();
    let near = Socket::connect(&[address], None, long()).unwrap();
    (near, listener.accept(long()).unwrap())
}

/// A handshake between a client, which asks for `name`, and a server.
fn handshake(
    client: &TlsContext,
    server: &TlsContext,
    name: &str,
) -> (Result<TlsSession, IoError>, Result<TlsSession, IoError>) {
    let (near, far) = connection();
    let server = server.clone();
    let far = std::thread::spawn(move || wrap(&far, &server, "", long()));
    let near = wrap(&near, client, name, long());
    (near, far.join().unwrap())
}

fn client(trust: Trust) -> TlsContext {
    TlsContext::client(&ClientOptions {
        trust,
        ..ClientOptions::default()
    })
    .unwrap()
}

fn write_all(handle: &Handle, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        bytes = &bytes[handle.write(bytes, long()).unwrap()..];
    }
}

fn read_to_end(handle: &Handle) -> Result<Vec<u8>, IoError> {
    let mut found = Vec::new();
    let mut buffer = [0; 10_000];
    loop {
        match handle.read(&mut buffer, long())? {
            0 => return Ok(found),
            count => found.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The system's part of an error, as text.
fn words<T: std::fmt::Debug>(outcome: Result<T, IoError>) -> String {
    match outcome {
        Err(IoError::System(failure)) => failure.error.to_string(),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn bytes_go_both_ways_and_end() {
    let papers = papers();
    let server = TlsContext::server(&papers.identity, None, &[]).unwrap();
    let client = client(Trust::File(papers.authority.clone()));
    let (near, far) = handshake(&client, &server, "localhost");
    let (near, far) = (near.unwrap(), far.unwrap());
    assert_eq!(near.version, "TLSv1.3");
    assert!(near.peer_certificate.is_some());
    assert_eq!(far.peer_certificate, None);
    // More than the buffers of the system hold.
    let bytes: Vec<u8> = (0..2_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 50_000];
        loop {
            match far.input.read(&mut buffer, long()).unwrap() {
                0 => break far.output.close().unwrap(),
                count => write_all(&far.output, &buffer[..count]),
            }
        }
    });
    let output = near.output.clone();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || {
        write_all(&output, &sent);
        output.close().unwrap();
    });
    assert!(read_to_end(&near.input).unwrap() == bytes);
    writer.join().unwrap();
    echo.join().unwrap();
}

#[test]
fn reading_waits_no_longer_than_wanted() {
    let papers = papers();
    let server = TlsContext::server(&papers.identity, None, &[]).unwrap();
    let (near, _far) = handshake(&client(Trust::Anybody), &server, "localhost");
    let near = near.unwrap();
    assert!(matches!(
        near.input.read(&mut [0; 10], Wait::NonBlocking),
        Err(IoError::WouldBlock)
    ));
    let soon = Wait::Until(Instant::now() + Duration::from_millis(20), None);
    let outcome = near.input.read(&mut [0; 10], soon);
    assert!(matches!(outcome, Err(IoError::TimedOut(_))), "{outcome:?}");
}

#[test]
fn a_handshake_that_is_put_off_goes_on() {
    let papers = papers();
    let server = TlsContext::server(&papers.identity, None, &[]).unwrap();
    let client = client(Trust::File(papers.authority.clone()));
    let (near, far) = connection();
    let mut near = Handshake::begin(&near, &client, "localhost").unwrap();
    let mut far = Handshake::begin(&far, &server, "").unwrap();
    let soon = Wait::Until(Instant::now() + Duration::from_millis(20), None);
    let outcome = near.proceed(soon);
    assert!(matches!(outcome, Err(IoError::TimedOut(_))), "{outcome:?}");
    let (mut near_session, mut far_session) = (None, None);
    let step = |handshake: &mut Handshake| match handshake.proceed(Wait::NonBlocking) {
        Ok(session) => Some(session),
        Err(IoError::WouldBlock) => None,
        outcome => panic!("{outcome:?}"),
    };
    while near_session.is_none() || far_session.is_none() {
        far_session = far_session.or_else(|| step(&mut far));
        near_session = near_session.or_else(|| step(&mut near));
    }
    let (near, far) = (near_session.unwrap(), far_session.unwrap());
    write_all(&near.output, b"hello");
    near.output.close().unwrap();
    assert_eq!(read_to_end(&far.input).unwrap(), b"hello");
}

#[test]
fn a_handshake_that_is_given_up_ends_the_connection() {
    let (near, far) = connection();
    let handshake = Handshake::begin(&near, &client(Trust::Anybody), "localhost").unwrap();
    drop(handshake);
    assert!(near.is_closed());
    let (input, _) = far.handles().unwrap();
    assert!(read_to_end(&input).unwrap().is_empty());
}

#[test]
fn a_connection_that_is_cut_is_no_end() {
    let papers = papers();
    let server = TlsContext::server(&papers.identity, None, &[]).unwrap();
    let (near, far) = connection();
    let far_descriptor = far.take_descriptor();
    let far_again = rustix::io::fcntl_dupfd_cloexec(far_descriptor.as_ref().unwrap(), 3).unwrap();
    drop((far, far_descriptor));
    // A peer that speaks TLS and then ends the connection without a farewell.
    let TlsContext::Server(config) = server else {
        panic!("a server");
    };
    let peer = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::from(far_again);
        stream.set_nonblocking(false).unwrap();
        let mut connection = rustls::ServerConnection::new(config).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).unwrap();
        }
        io::Write::write_all(&mut connection.writer(), b"half").unwrap();
        while connection.wants_write() {
            connection.write_tls(&mut stream).unwrap();
        }
    });
    let near = wrap(&near, &client(Trust::Anybody), "localhost", long()).unwrap();
    peer.join().unwrap();
    let mut buffer = [0; 10];
    assert_eq!(near.input.read(&mut buffer, long()).unwrap(), 4);
    assert_eq!(
        words(near.input.read(&mut buffer, long())),
        "the connection was cut before the other side ended it"
    );
}

#[test]
fn who_is_not_trusted_is_refused() {
    let papers = papers();
    let others = self::papers();
    let server = TlsContext::server(&papers.identity, None, &[]).unwrap();
    let strict = client(Trust::File(others.authority.clone()));
    let (near, far) = handshake(&strict, &server, "localhost");
    assert_eq!(
        words(near),
        "no trusted authority has signed the certificate"
    );
    assert_eq!(words(far), "the other side refused: UnknownCA");
    let trusting = client(Trust::File(papers.authority.clone()));
    let (near, _) = handshake(&trusting, &server, "example.org");
    assert_eq!(words(near), "the certificate is for another name");
    let (near, far) = handshake(&client(Trust::Anybody), &server, "example.org");
    assert!(near.is_ok() && far.is_ok());
}

#[test]
fn clients_can_be_asked_who_they_are() {
    let papers = papers();
    let authority = papers.authority.clone();
    let server = TlsContext::server(&papers.identity, Some(&authority), &[]).unwrap();
    let known = TlsContext::client(&ClientOptions {
        trust: Trust::File(authority.clone()),
        identity: Some(papers.identity.clone()),
        protocols: Vec::new(),
    })
    .unwrap();
    let (near, far) = handshake(&known, &server, "localhost");
    assert!(near.is_ok());
    assert!(far.unwrap().peer_certificate.is_some());
    let (_, far) = handshake(&client(Trust::Anybody), &server, "localhost");
    assert_eq!(words(far), "the other side has no certificate");
}

#[test]
fn protocols_are_agreed_on() {
    let papers = papers();
    let protocols = ["h2".to_owned(), "http/1.1".to_owned()];
    let server = TlsContext::server(&papers.identity, None, &protocols).unwrap();
    let client = TlsContext::client(&ClientOptions {
        trust: Trust::Anybody,
        identity: None,
        protocols: vec!["http/1.1".to_owned()],
    })
    .unwrap();
    let (near, far) = handshake(&client, &server, "localhost");
    assert_eq!(near.unwrap().protocol.as_deref(), Some("http/1.1"));
    assert_eq!(far.unwrap().protocol.as_deref(), Some("http/1.1"));
}

#[test]
fn what_is_no_tls_is_told() {
    let (near, far) = connection();
    let (_, output) = far.handles().unwrap();
    write_all(&output, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let outcome = wrap(&near, &client(Trust::Anybody), "localhost", long());
    assert_eq!(words(outcome), "what came is no TLS");
    let (near, far) = connection();
    drop(far);
    let outcome = wrap(&near, &client(Trust::Anybody), "localhost", long());
    assert_eq!(words(outcome), "the other side ended the connection");
    let (near, _far) = connection();
    let soon = Wait::Until(Instant::now() + Duration::from_millis(20), None);
    let outcome = wrap(&near, &client(Trust::Anybody), "localhost", soon);
    assert!(matches!(outcome, Err(IoError::TimedOut(_))), "{outcome:?}");
    let (near, _far) = connection();
    assert!(wrap(&near, &client(Trust::Anybody), "not a name", long()).is_err());
}

#[test]
fn files_that_are_no_papers_are_told() {
    let papers = papers();
    let server = |certificates: &str, key: &str| {
        let identity = Identity {
            certificates: certificates.to_owned(),
            key: key.to_owned(),
        };
        TlsContext::server(&identity, None, &[])
            .unwrap_err()
            .message
    };
    let Identity { certificates, key } = &papers.identity;
    assert_eq!(
        server("/no/such/file", key),
        "cannot read: No such file or directory"
    );
    assert_eq!(server(key, key), "the file has no certificate in PEM form");
    assert_eq!(
        server(certificates, certificates),
        "the file has no private key in PEM form"
    );
    let other = self::papers();
    assert_eq!(
        server(certificates, &other.identity.key),
        "the private key is not that of the certificate"
    );
}

#[test]
fn handles_of_a_session_are_shared_by_threads() {
    let papers = papers();
    let server = TlsContext::server(&papers.identity, None, &[]).unwrap();
    let (near, far) = handshake(&client(Trust::Anybody), &server, "localhost");
    let (near, far) = (Arc::new(near.unwrap()), far.unwrap());
    let writers: Vec<_> = (0..4_u8)
        .map(|letter| {
            let near = near.clone();
            std::thread::spawn(move || {
                for _ in 0..200 {
                    assert_eq!(near.output.write(&[letter; 7], long()).unwrap(), 7);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    near.output.close().unwrap();
    let found = read_to_end(&far.input).unwrap();
    for letter in 0..4 {
        assert_eq!(found.iter().filter(|&&found| found == letter).count(), 1400);
    }
    assert!(
        found
            .chunks(7)
            .all(|piece| piece.iter().all(|&byte| byte == piece[0]))
    );
}
