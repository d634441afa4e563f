//! A server between the system and those who keep it: sockets and notices of systemd, descriptors that
//! run out, and the program of `docs/guide/web-service.md` as it is deployed there.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::{canny, root, scratch, wait};

const SERVER: &str = r#"
(import (scheme base) (scheme process-context) (canny web server) (canny web message)
        (canny systemd) (canny process))
(define listeners (systemd-listeners "http" #:otherwise '("127.0.0.1:0")))
(run-server
 (lambda (request body)
   (if (string=? "/children" (request-path request))
       (run->string '("sh" "-c" "echo fds=$LISTEN_FDS pid=$LISTEN_PID; ls -l /proc/self/fd"))
       "Hello"))
 #:listen listeners)
"#;

/// A program of a shell that becomes `canny program.scm`, in a directory of its own.
fn shell(script: &str, program: &str) -> (Command, PathBuf) {
    let directory = scratch();
    std::fs::write(directory.join("program.scm"), program).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(&directory)
        .env("CANNY", env!("CARGO_BIN_EXE_canny"))
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        .stderr(std::fs::File::create(directory.join("errors")).unwrap());
    (command, directory)
}

/// A server that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(client: &mut TcpStream, target: &str) -> String {
    client
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    exchange(client, target)
}

fn exchange(client: &mut (impl Read + Write), target: &str) -> String {
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = client.read(&mut buffer).unwrap();
        answer.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            length.is_some_and(|length| length.parse() == Ok(body.len()))
        });
        if whole || count == 0 {
            return text;
        }
    }
}

/// Asks it to end, and waits; whether it did so in order, which is with 143 although its text comes to
/// its end as well.
fn end(mut running: Running) -> bool {
    let status = Command::new("kill")
        .args(["-s", "TERM", &running.0.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    let code = wait(&mut running.0).and_then(|status| status.code());
    code == Some(143)
}

fn errors(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("errors")).unwrap()
}

fn notice(socket: &UnixDatagram) -> String {
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut buffer = [0; 256];
    let count = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

#[test]
fn a_socket_that_listens_already_is_served_and_is_no_childs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http; \
                  export LISTEN_PID LISTEN_FDS LISTEN_FDNAMES; \
                  exec \"$CANNY\" program.scm 3<&0 0</dev/null";
    let (mut command, directory) = shell(script, SERVER);
    let server = command
        .stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())))
        .spawn()
        .map(Running)
        .unwrap();
    // The connection waits in the socket until the program is there.
    let mut client = TcpStream::connect(address).unwrap();
    assert!(ask(&mut client, "/").ends_with("Hello"));
    let children = ask(&mut client, "/children");
    assert!(children.contains("fds= pid="), "{children}");
    assert!(!children.contains("socket:"), "{children}");
    drop(client);
    assert!(end(server), "{}", errors(&directory));
    // It is still there for who comes next.
    let waiting = TcpStream::connect(address);
    assert!(waiting.is_ok());
}

#[test]
fn sockets_for_another_process_are_not_taken() {
    let program = r#"
(import (scheme base) (scheme write) (canny systemd))
(write (systemd-listeners #:otherwise 'none))
(write (systemd-notify 'ready))
(write (systemd-watchdog-seconds))
"#;
    canny(&["program.scm"])
        .file("program.scm", program)
        .environment("LISTEN_PID", "1")
        .environment("LISTEN_FDS", "1")
        .environment("WATCHDOG_USEC", "1000")
        .environment("WATCHDOG_PID", "1")
        .run()
        .exits_with(0)
        .prints("none#f#f");
    // The variable lies: nothing is there.
    let (mut command, directory) = shell(
        "LISTEN_PID=$$ LISTEN_FDS=1; export LISTEN_PID LISTEN_FDS; exec \"$CANNY\" program.scm",
        program,
    );
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    assert_eq!(wait(&mut child).and_then(|status| status.code()), Some(70));
    assert!(
        errors(&directory).contains("descriptor 3"),
        "{}",
        errors(&directory)
    );
}

#[test]
fn a_server_tells_when_it_is_ready_alive_and_stopping() {
    let directory = scratch();
    let name = format!("canny-notices-{}", std::process::id());
    let in_file = UnixDatagram::bind(directory.join("notices")).unwrap();
    let abstracted =
        UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let path = directory.join("notices");
    for (socket, name) in [
        (&in_file, path.to_str().unwrap().to_owned()),
        (&abstracted, format!("@{name}")),
    ] {
        let (mut command, directory) = shell("exec \"$CANNY\" program.scm", SERVER);
        let server = command
            .stdin(Stdio::null())
            .env("NOTIFY_SOCKET", &name)
            .env("WATCHDOG_USEC", "100000")
            .spawn()
            .map(Running)
            .unwrap();
        let mut notices = Vec::new();
        while !["READY=1", "WATCHDOG=1"]
            .iter()
            .all(|wanted| notices.iter().any(|notice| notice == wanted))
        {
            notices.push(notice(socket));
        }
        assert!(end(server), "{}", errors(&directory));
        while notices.last().is_none_or(|last| last != "STOPPING=1") {
            notices.push(notice(socket));
        }
    }
}

#[test]
fn a_server_without_descriptors_waits_for_some() {
    let program = r#"
(import (scheme base) (scheme write) (canny web server))
(define server (start-server (lambda (request body) "Hello") #:port 0))
(display (car (server-addresses server)))
(newline)
(flush-output-port (current-output-port))
(server-wait server)
"#;
    let (mut command, directory) = shell("ulimit -n 40; exec \"$CANNY\" program.scm", program);
    let output = std::fs::File::create(directory.join("output")).unwrap();
    let mut server = command
        .stdin(Stdio::null())
        .stdout(output)
        .spawn()
        .map(Running)
        .unwrap();
    let address = loop {
        let output = std::fs::read_to_string(directory.join("output")).unwrap();
        if let Some(address) = output.strip_suffix('\n') {
            break address.to_owned();
        }
        assert_eq!(server.0.try_wait().unwrap(), None, "{}", errors(&directory));
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut clients: Vec<TcpStream> = (0..60)
        .map(|_| TcpStream::connect(&*address).unwrap())
        .collect();
    while !errors(&directory).contains("connections cannot be accepted, and wait") {
        assert_eq!(server.0.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(5));
    }
    // Those that it has are served, and the others when these have ended.
    assert!(ask(&mut clients[0], "/").ends_with("Hello"));
    let mut last = clients.pop().unwrap();
    clients.clear();
    assert!(ask(&mut last, "/").ends_with("Hello"));
    assert_eq!(
        errors(&directory).lines().count(),
        1,
        "{}",
        errors(&directory)
    );
    // Nothing was registered for its end.
    assert!(!end(server));
}

/// The files of the guide, the blocks with a name, in a directory of their own.
fn guide() -> PathBuf {
    let page = std::fs::read_to_string(root().join("docs/guide/web-service.md")).unwrap();
    let directory = scratch();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            continue;
        };
        let block: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| format!("{line}\n"))
            .collect();
        if let Some((_, name)) = kind.split_once(' ') {
            std::fs::write(directory.join(name), block).unwrap();
        }
    }
    std::fs::write(
        directory.join("guests.key"),
        "a key of at least thirty-two bytes\n",
    )
    .unwrap();
    directory
}

/// A command of a shell in the guide's directory.
fn in_guide(directory: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(directory)
        .env("CANNY", env!("CARGO_BIN_EXE_canny"))
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(directory.join("errors")).unwrap());
    command
}

#[test]
fn the_guides_program_listens_where_the_environment_says() {
    let directory = guide();
    let name = format!("canny-guests-{}", std::process::id());
    let server = in_guide(&directory, "exec \"$CANNY\" main.scm")
        .env("GUESTS_LISTEN", format!("unix:@{name}"))
        .env("GUESTS_TLS", "no")
        .spawn()
        .map(Running);
    let mut server = server.unwrap();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let mut client = loop {
        if let Ok(client) = UnixStream::connect_addr(&address) {
            break client;
        }
        assert_eq!(server.0.try_wait().unwrap(), None, "{}", errors(&directory));
        std::thread::sleep(Duration::from_millis(5));
    };
    client
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let page = exchange(&mut client, "/");
    assert!(page.contains("<h1>Guest book</h1>"), "{page}");
    assert!(page.contains("Set-Cookie: session="), "{page}");
    let health = exchange(&mut client, "/health");
    assert!(health.contains(r#"{"status":"ok","checks""#), "{health}");
    assert!(end(server), "{}", errors(&directory));
    assert!(errors(&directory).contains(r#""GET /health HTTP/1.1" 200"#));
    // The database was closed, so that all of it is in its file.
    assert!(directory.join("guests.db").exists());
    assert!(!directory.join("guests.db-wal").exists());
}

#[test]
fn the_guides_program_in_one_file_takes_the_socket_that_was_passed() {
    let directory = guide();
    let compiled = in_guide(&directory, "exec \"$CANNY\" compile main.scm -o guests").status();
    assert!(compiled.unwrap().success(), "{}", errors(&directory));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = "LISTEN_PID=$$ LISTEN_FDS=1; export LISTEN_PID LISTEN_FDS; \
                  exec ./guests 3<&0 0</dev/null";
    let serve = || {
        in_guide(&directory, script)
            .stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())))
            .spawn()
            .map(Running)
            .unwrap()
    };
    let server = serve();
    let page = ask(&mut TcpStream::connect(address).unwrap(), "/");
    assert!(page.contains("Secure; HttpOnly"), "{page}");
    assert!(end(server), "{}", errors(&directory));
    // A client that comes between two of them waits.
    let mut waiting = TcpStream::connect(address).unwrap();
    let server = serve();
    assert!(ask(&mut waiting, "/health").starts_with("HTTP/1.1 200"));
    let check = |address: String| {
        in_guide(&directory, "exec ./guests check")
            .env("GUESTS_LISTEN", address)
            .status()
            .unwrap()
            .code()
    };
    assert_eq!(check(address.to_string()), Some(0));
    drop(waiting);
    assert!(end(server), "{}", errors(&directory));
    // Nobody listens at a name that was never given.
    assert_eq!(check("127.0.0.1:1".to_owned()), Some(70));
}
