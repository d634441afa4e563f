use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;

fn loopback() -> Address {
    Address::inet("127.0.0.1", 0).unwrap()
}

fn soon() -> Wait<'static> {
    Wait::Until(Instant::now() + Duration::from_millis(30), None)
}

fn long() -> Wait<'static> {
    Wait::Until(Instant::now() + Duration::from_secs(20), None)
}

fn listener() -> (Socket, Address) {
    let listener = Socket::listen(&loopback(), ListenOptions::default()).unwrap();
    let address = listener.local_address().unwrap().unwrap();
    (listener, address)
}

type Ends = (Arc<Handle>, Arc<Handle>);

/// Both sides of a connection.
fn connection() -> (Ends, Ends, Socket, Socket) {
    let (listener, address) = listener();
    let near = Socket::connect(&[address], None, long()).unwrap();
    let far = listener.accept(long()).unwrap();
    (near.handles().unwrap(), far.handles().unwrap(), near, far)
}

fn write_all(handle: &Handle, mut bytes: &[u8]) -> Result<(), IoError> {
    while !bytes.is_empty() {
        bytes = &bytes[handle.write(bytes, long())?..];
    }
    Ok(())
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

#[test]
fn closing_the_output_ends_the_other_sides_input() {
    let ((near_in, near_out), (far_in, far_out), near, _) = connection();
    write_all(&near_out, b"question").unwrap();
    near_out.close().unwrap();
    assert_eq!(read_to_end(&far_in).unwrap(), b"question");
    // The other direction is still open.
    write_all(&far_out, b"answer").unwrap();
    assert!(!near.is_closed());
    far_out.close().unwrap();
    assert_eq!(read_to_end(&near_in).unwrap(), b"answer");
    near_in.close().unwrap();
    assert!(near.is_closed());
    assert!(matches!(near.peer_address(), Err(IoError::Closed(_))));
}

#[test]
fn more_than_fits_goes_through_while_both_sides_write() {
    let ((near_in, near_out), (far_in, far_out), ..) = connection();
    let bytes: Vec<u8> = (0..3_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    let sent = bytes.clone();
    let echo = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        loop {
            match far_in.read(&mut buffer, long()).unwrap() {
                0 => break far_out.close().unwrap(),
                count => write_all(&far_out, &buffer[..count]).unwrap(),
            }
        }
    });
    let writer = std::thread::spawn(move || {
        write_all(&near_out, &sent).unwrap();
        near_out.close().unwrap();
    });
    assert!(read_to_end(&near_in).unwrap() == bytes);
    writer.join().unwrap();
    echo.join().unwrap();
}

#[test]
fn directions_are_one_way() {
    let ((near_in, near_out), ..) = connection();
    assert!(matches!(
        near_in.write(b"x", Wait::NonBlocking),
        Err(IoError::Unsupported(_))
    ));
    assert!(matches!(
        near_out.read(&mut [0], Wait::NonBlocking),
        Err(IoError::Unsupported(_))
    ));
}

#[test]
fn silence_ends_with_the_deadline() {
    let (listener, _) = listener();
    assert!(matches!(listener.accept(soon()), Err(IoError::TimedOut(_))));
    assert!(matches!(
        listener.accept(Wait::NonBlocking),
        Err(IoError::WouldBlock)
    ));
    let ((near_in, _), _far, ..) = connection();
    assert!(matches!(
        near_in.read(&mut [0], soon()),
        Err(IoError::TimedOut(_))
    ));
}

#[test]
fn a_peer_that_resets_is_told() {
    let ((near_in, near_out), (far_in, far_out), _, far) = connection();
    write_all(&near_out, b"never read").unwrap();
    far.set_option(OptionName::Linger, OptionValue::Number(0))
        .unwrap();
    // A connection that is closed with bytes unread is reset.
    drop((far_in, far_out));
    let outcome = read_to_end(&near_in);
    let is_reset = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionReset;
    assert!(
        matches!(&outcome, Err(IoError::System(failure)) if is_reset(&failure.error)),
        "{outcome:?}"
    );
}

#[test]
fn closing_wakes_who_accepts() {
    let (listener, _) = listener();
    let listener = Arc::new(listener);
    let acceptor = std::thread::spawn({
        let listener = listener.clone();
        move || listener.accept(long()).map(|_| ())
    });
    std::thread::sleep(Duration::from_millis(50));
    listener.close();
    listener.close();
    let outcome = acceptor.join().unwrap();
    assert!(matches!(outcome, Err(IoError::Closed(_))), "{outcome:?}");
}

#[test]
fn refused_addresses_give_way_to_the_next() {
    let (listener, address) = listener();
    let refused = {
        let (gone, address) = self::listener();
        gone.close();
        address
    };
    let connection = Socket::connect(&[refused.clone(), address.clone()], None, long()).unwrap();
    assert_eq!(connection.peer_address().unwrap(), Some(address));
    listener.accept(long()).unwrap();
    let outcome = Socket::connect(std::slice::from_ref(&refused), None, long());
    let Err(IoError::System(failure)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(failure.operation, Operation::Connect);
    assert_eq!(*failure.name, *refused.to_string());
    assert_eq!(failure.error.kind(), io::ErrorKind::ConnectionRefused);
    assert!(Socket::connect(&[], None, long()).is_err());
}

/// Proceeds without waiting until there is an outcome.
fn by_steps<R>(mut step: impl FnMut(Wait<'static>) -> Result<R, IoError>) -> Result<R, IoError> {
    loop {
        match step(Wait::NonBlocking) {
            Err(IoError::WouldBlock) => std::thread::yield_now(),
            outcome => return outcome,
        }
    }
}

#[test]
fn a_connection_that_is_put_off_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let address = Address::Unix(UnixName::Path(path));
    let options = ListenOptions {
        backlog: 0,
        ..ListenOptions::default()
    };
    let listener = Socket::listen(&address, options).unwrap();
    let first = Socket::connect(std::slice::from_ref(&address), None, long()).unwrap();
    // The listener has no more room until a connection is accepted.
    let mut connecting = Connecting::new(vec![address.clone()], None);
    assert!(connecting.is_to(&[address], None) && !connecting.is_to(&[], None));
    let outcome = connecting.proceed(Wait::NonBlocking);
    assert!(matches!(outcome, Err(IoError::WouldBlock)), "{outcome:?}");
    let outcome = connecting.proceed(soon());
    assert!(matches!(outcome, Err(IoError::TimedOut(_))), "{outcome:?}");
    listener.accept(long()).unwrap();
    let second = by_steps(|wait| connecting.proceed(wait)).unwrap();
    let far = listener.accept(long()).unwrap();
    let (far_in, _) = far.handles().unwrap();
    drop((first, second));
    assert!(read_to_end(&far_in).unwrap().is_empty());
}

#[test]
fn a_connection_that_is_given_up_is_closed() {
    let (listener, address) = listener();
    let mut connecting = Connecting::new(vec![address], None);
    // It is there when its socket is closed, or the outcome is known at once.
    let outcome = connecting.proceed(Wait::NonBlocking);
    let far = listener.accept(long()).unwrap();
    drop((outcome, connecting));
    let (far_in, _) = far.handles().unwrap();
    assert!(read_to_end(&far_in).unwrap().is_empty());
}

#[test]
fn look_ups_that_are_put_off_go_on() {
    let mut many: Vec<Resolving> = (0..100)
        .map(|port| Resolving::begin("localhost", port, Family::Any).unwrap())
        .collect();
    // Nobody waits for half of the answers.
    many.truncate(50);
    for (port, resolving) in many.iter_mut().enumerate() {
        assert!(resolving.is_for("localhost", port as u16, Family::Any));
        let found = by_steps(|wait| resolving.proceed(wait)).unwrap();
        assert!(!found.is_empty());
    }
}

#[test]
fn an_address_in_use_is_refused() {
    let (_listener, address) = listener();
    let outcome = Socket::listen(&address, ListenOptions::default());
    assert!(
        matches!(&outcome, Err(IoError::System(failure)) if failure.error.kind() == io::ErrorKind::AddrInUse),
        "{outcome:?}"
    );
}

#[test]
fn sockets_in_the_file_system() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let address = Address::Unix(UnixName::Path(path.clone()));
    let listener = Socket::listen(&address, ListenOptions::default()).unwrap();
    let near = Socket::connect(std::slice::from_ref(&address), None, long()).unwrap();
    assert_eq!(near.peer_address().unwrap(), Some(address));
    let far = listener.accept(long()).unwrap();
    assert_eq!(
        far.peer_address().unwrap(),
        Some(Address::Unix(UnixName::None))
    );
    let ((_, near_out), (far_in, _)) = (near.handles().unwrap(), far.handles().unwrap());
    write_all(&near_out, b"hello").unwrap();
    near_out.close().unwrap();
    assert_eq!(read_to_end(&far_in).unwrap(), b"hello");
    let long_name = Address::Unix(UnixName::Path("x".repeat(300).into()));
    assert!(Socket::listen(&long_name, ListenOptions::default()).is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn sockets_with_abstract_names() {
    let name = format!("canny-test-{}", std::process::id());
    let address = Address::Unix(UnixName::Abstract(name.clone().into_bytes()));
    let listener = Socket::listen(&address, ListenOptions::default()).unwrap();
    assert_eq!(listener.name(), format!("unix:@{name}"));
    let near = Socket::connect(std::slice::from_ref(&address), None, long()).unwrap();
    assert_eq!(near.peer_address().unwrap(), Some(address));
}

#[test]
fn datagrams_arrive_whole_or_cut() {
    let receiver = Socket::datagram(Family::Any, Some(&loopback())).unwrap();
    let target = receiver.local_address().unwrap().unwrap();
    let sender = Socket::datagram(Family::Any, Some(&loopback())).unwrap();
    assert_eq!(sender.send(b"hello", Some(&target), long()).unwrap(), 5);
    let datagram = receiver.receive(100, long()).unwrap();
    assert_eq!(datagram.bytes, b"hello");
    assert_eq!(datagram.sender, sender.local_address().unwrap());
    assert!(!datagram.truncated);
    sender.connect_datagrams(&target).unwrap();
    sender.send(b"much longer", None, long()).unwrap();
    sender.send(b"", None, long()).unwrap();
    let datagram = receiver.receive(4, long()).unwrap();
    assert_eq!(datagram.bytes, b"much");
    assert!(datagram.truncated);
    assert_eq!(receiver.receive(4, long()).unwrap().bytes, b"");
    assert!(matches!(
        receiver.receive(4, soon()),
        Err(IoError::TimedOut(_))
    ));
    let too_large = vec![0; 70_000];
    assert!(sender.send(&too_large, None, long()).is_err());
}

#[test]
fn options_keep_what_they_are_set_to() {
    let (listener, address) = listener();
    let near = Socket::connect(&[address], None, long()).unwrap();
    for name in OptionName::names() {
        let option = OptionName::by_name(name).unwrap();
        if option == OptionName::Ipv6Only {
            assert!(near.option(option).is_err());
        } else if option.is_flag() {
            near.set_option(option, OptionValue::Flag(true)).unwrap();
            assert_eq!(
                near.option(option).unwrap(),
                OptionValue::Flag(true),
                "{name}"
            );
            assert!(
                near.set_option(option, OptionValue::Number(1)).is_err(),
                "{name}"
            );
        } else {
            near.set_option(option, OptionValue::Number(30)).unwrap();
            let OptionValue::Number(number) = near.option(option).unwrap() else {
                panic!("{name}");
            };
            // The system rounds sizes of buffers up.
            assert!(number >= 30, "{name}: {number}");
        }
    }
    near.set_option(OptionName::Linger, OptionValue::Flag(false))
        .unwrap();
    assert_eq!(
        near.option(OptionName::Linger).unwrap(),
        OptionValue::Flag(false)
    );
    assert_eq!(OptionName::by_name("no-such-option"), None);
    drop(listener);
}

#[test]
fn names_are_looked_up_on_another_thread() {
    let found = resolve("localhost", 80, Family::Any, long()).unwrap();
    assert!(found.iter().all(|address| matches!(
        address,
        Address::Inet(address) if address.ip().is_loopback() && address.port() == 80
    )));
    let found = resolve("::1", 5, Family::Inet6, long()).unwrap();
    assert_eq!(found, [Address::inet("::1", 5).unwrap()]);
    let outcome = resolve("127.0.0.1", 5, Family::Inet6, long());
    assert!(matches!(outcome, Err(IoError::System(_))), "{outcome:?}");
    assert!(matches!(
        resolve("localhost", 80, Family::Any, Wait::NonBlocking),
        Err(IoError::WouldBlock)
    ));
}

#[test]
fn addresses_are_read_as_they_are_shown() {
    let texts = [
        "127.0.0.1:80",
        "[::1]:0",
        "unix:/run/a",
        "unix:relative",
        "unix:@b",
        "unix:./@c",
        "unix:",
    ];
    for text in texts {
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
    }
    for text in [
        "",
        "127.0.0.1",
        "localhost:80",
        "::1:80",
        "127.0.0.1:65536",
        "unix:a\0b",
    ] {
        assert_eq!(text.parse::<Address>(), Err(NoAddress), "{text}");
    }
    let odd = Address::Unix(UnixName::Path("@d".into()));
    assert_eq!(odd.to_string(), "unix:./@d");
}

#[test]
fn a_connection_can_be_taken_back_from_its_handles() {
    let ((near_in, near_out), (far_in, _far_out), near, _far) = connection();
    near_out.write(b"plain", long()).unwrap();
    near.take_back().unwrap();
    near_out.close().unwrap();
    near_in.close().unwrap();
    assert!(!near.is_closed());
    assert!(matches!(
        near_out.write(b"x", long()),
        Err(IoError::Closed(_))
    ));
    // The other side noticed nothing.
    let (again_in, again_out) = near.handles().unwrap();
    again_out.write(b"again", long()).unwrap();
    drop(again_in);
    again_out.close().unwrap();
    let mut found = Vec::new();
    let mut buffer = [0; 100];
    loop {
        match far_in.read(&mut buffer, long()).unwrap() {
            0 => break,
            count => found.extend_from_slice(&buffer[..count]),
        }
    }
    assert_eq!(found, b"plainagain");
    assert!(matches!(near.take_back(), Err(IoError::Closed(_))));
}
