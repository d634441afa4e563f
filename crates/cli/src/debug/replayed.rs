//! Replays in this process: at the prompt, or for an editor. The next run is another process, by which
//! this one replaces itself.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use canny_lib::debug::rerun::{Rerun, Resumption};
use canny_vm::Thread;

use super::console::Console;

/// How runs of a recording are started.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The recording.
    pub recording: PathBuf,
    /// The socket of the adapter, if an editor debugs it.
    pub socket: Option<PathBuf>,
}

impl Replayed {
    /// Replaces this process by the next run; comes back with a message if that is not possible.
    pub fn run(&self, resumption: &Resumption) -> String {
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return format!("This program is not found: {error}"),
        };
        let mut command = Command::new(program);
        command.args(["replay", "-t", "--resume", &resumption.text()]);
        if let Some(socket) = &self.socket {
            command.arg("--connect").arg(socket);
        }
        let error = command.arg(&self.recording).exec();
        format!("The program cannot be run anew: {error}")
    }
}

/// Has a replay stop at its goal, the beginning of the program if there is no other, and go backwards from
/// there on. None if the goal cannot be read.
pub fn begin_replay(
    thread: &mut Thread,
    program: &str,
    recording: &Path,
    resumption: Option<&str>,
) -> Option<Arc<Console>> {
    let resumption = match resumption {
        Some(text) => Resumption::read(text)?,
        None => Resumption::beginning(vec!["catch uncaught".to_owned()]),
    };
    let replayed = Replayed {
        recording: recording.to_owned(),
        socket: None,
    };
    let rerun = Rerun::new(Some(&resumption));
    let console = Console::of_replay(program, thread, rerun, replayed, &resumption.breakpoints);
    let console = Arc::new(console);
    thread.vm().debugger().set_client(Some(console.clone()));
    console.prepare(thread);
    Some(console)
}

/// A line of standard input, and nothing behind it; none at its end.
pub fn read_line() -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(1) => line.push(byte[0]),
            Err(rustix::io::Errno::INTR) => continue,
            _ if line.is_empty() => return None,
            _ => break,
        }
        if byte[0] == b'\n' {
            break;
        }
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}
