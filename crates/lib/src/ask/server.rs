//! The side that is asked: a thread that listens for some seconds after a signal.
//!
//! A thread of its own serves each client, so that a long answer holds up no other one. Nothing is kept
//! when nobody asks: the thread ends, and its socket is deleted.

use std::fs::{self, File};
use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use canny_vm::Vm;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::commands::COMMANDS;
use super::directory;
use super::frames::{self, Kind, Next, Reader, Request};

/// Time without a client after which the thread ends.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// Time between two looks at it.
const TICK: Duration = Duration::from_secs(1);
/// Time in which a client has to send its request.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time in which a client has to take what is sent.
const SEND_TIME: Duration = Duration::from_secs(10);
/// Clients at the same time.
const CLIENTS_MAX: usize = 8;

/// Whether a thread listens.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

/// The signal has come: starts the thread that listens, unless it runs.
pub(crate) fn listen(vm: Weak<Vm>) {
    if IS_LISTENING.swap(true, Ordering::SeqCst) {
        return;
    }
    let work = move || {
        // Without a socket the client gets no answer, and says so.
        let _ = serve(&vm);
        IS_LISTENING.store(false, Ordering::SeqCst);
    };
    let thread = std::thread::Builder::new().name("canny-ask".to_owned());
    if thread.spawn(work).is_err() {
        IS_LISTENING.store(false, Ordering::SeqCst);
    }
}

fn serve(vm: &Weak<Vm>) -> io::Result<()> {
    let place = directory::place_of(std::process::id());
    directory::prepare(&place.directory)?;
    // One that an earlier process of this number has left.
    let _ = fs::remove_file(&place.socket);
    let listener = UnixListener::bind(&place.socket)?;
    set_socket_timeout(&listener, Timeout::Recv, Some(TICK))?;
    let clients = Arc::new(AtomicUsize::new(0));
    let mut last = Instant::now();
    while last.elapsed() < IDLE_TIME {
        match listener.accept() {
            Ok((stream, _)) => {
                let clients = clients.clone();
                let vm = vm.clone();
                let is_one_too_many = clients.fetch_add(1, Ordering::SeqCst) >= CLIENTS_MAX;
                let thread = std::thread::Builder::new().name("canny-ask".to_owned());
                let counted = clients.clone();
                let spawned = thread.spawn(move || {
                    if !is_one_too_many {
                        // A client that is gone needs no message.
                        let _ = serve_client(&vm, stream);
                    }
                    clients.fetch_sub(1, Ordering::SeqCst);
                });
                if spawned.is_err() {
                    counted.fetch_sub(1, Ordering::SeqCst);
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => break,
        }
        if clients.load(Ordering::SeqCst) > 0 {
            last = Instant::now();
        }
    }
    let _ = fs::remove_file(&place.socket);
    Ok(())
}

fn serve_client(vm: &Weak<Vm>, stream: UnixStream) -> io::Result<()> {
    let peer = socket_peercred(&stream)?;
    if peer.uid != rustix::process::geteuid() {
        return Ok(());
    }
    stream.set_read_timeout(Some(REQUEST_TIME))?;
    stream.set_write_timeout(Some(SEND_TIME))?;
    let mut client = Client {
        stream,
        reader: Reader::default(),
        file: None,
        end: String::new(),
    };
    let mut input = WithFile {
        stream: &client.stream,
        file: &mut client.file,
    };
    let request = match client.reader.next(&mut input)? {
        Next::Frame(Kind::Request, content) => Request::of_bytes(&content),
        _ => None,
    };
    let answered = match (request, vm.upgrade()) {
        (None, _) => Err("the request is not understood".to_owned()),
        (_, None) => Err("the program has ended".to_owned()),
        (Some(request), Some(vm)) => {
            let command = COMMANDS.iter().find(|row| row.0 == request.command);
            match command {
                Some((_, answer)) => answer(&vm, &request, &mut client),
                None => Err(format!(
                    "the process knows no command '{}'; it may be of another version",
                    request.command
                )),
            }
        }
    };
    match answered {
        Ok(()) => frames::write(&mut client.stream, Kind::End, client.end.as_bytes()),
        Err(message) => frames::write(&mut client.stream, Kind::Failure, message.as_bytes()),
    }
}

/// The client of a command.
pub(super) struct Client {
    stream: UnixStream,
    reader: Reader,
    /// The file that came with the request.
    file: Option<File>,
    /// The text at the end of the answer.
    end: String,
}

/// Reads from a socket, and keeps the file that comes with the bytes.
struct WithFile<'c> {
    stream: &'c UnixStream,
    file: &'c mut Option<File>,
}

impl Read for WithFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let pieces = &mut [IoSliceMut::new(buffer)];
        let received = recvmsg(self.stream, pieces, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                for file in files {
                    *self.file = Some(File::from(file));
                }
            }
        }
        Ok(received.bytes)
    }
}

impl Client {
    /// The file that came with the request.
    pub(super) fn take_file(&mut self) -> Option<File> {
        self.file.take()
    }

    /// Has the answer end with a text.
    pub(super) fn end_with(&mut self, text: String) {
        self.end = text;
    }

    /// A stream for the answer.
    pub(super) fn output(&self) -> io::Result<impl io::Write + Send + use<>> {
        Ok(Answer(self.stream.try_clone()?))
    }

    /// Waits for a time, or until the client wants no more or is gone. False in the last case.
    pub(super) fn wait(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return true;
            }
            if self.stream.set_read_timeout(Some(rest)).is_err() {
                return false;
            }
            match self.reader.next(&mut self.stream) {
                Ok(Next::Nothing) => {}
                Ok(Next::Frame(Kind::Stop, _)) => return true,
                Ok(Next::Frame(..) | Next::Closed) | Err(_) => return false,
            }
        }
    }
}

/// Frames of data.
struct Answer(UnixStream);

impl io::Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        frames::write(&mut self.0, Kind::Data, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
