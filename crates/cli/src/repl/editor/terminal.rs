//! The terminal: raw mode, size, bytes in and out.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};

/// Bytes asked for at once.
const READ_BYTES: usize = 64 * 1024;

/// Whether standard input and output are a terminal that can move its cursor.
pub fn is_capable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !is_dumb && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The terminal in raw mode, until this is dropped.
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Turns echo, line buffering and keys for signals off. Output goes on as before.
    pub fn enter() -> io::Result<Raw> {
        let input = rustix::stdio::stdin();
        let before = tcgetattr(input)?;
        let mut raw = before.clone();
        raw.input_modes -= InputModes::BRKINT
            | InputModes::ICRNL
            | InputModes::INPCK
            | InputModes::ISTRIP
            | InputModes::IXON;
        raw.local_modes -=
            LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(input, OptionalActions::Drain, &raw)?;
        // Pasted text comes between marks.
        write("\x1b[?2004h");
        Ok(Raw { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        write("\x1b[?2004l");
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &self.before);
    }
}

/// Columns and rows of the window.
pub fn size() -> (usize, usize) {
    match tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_col > 0 => {
            let rows = if size.ws_row > 0 { size.ws_row } else { 24 };
            (size.ws_col.into(), rows.into())
        }
        _ => (80, 24),
    }
}

/// Writes a text; a terminal that went away is noticed by reading.
pub fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Whether there is something to read within a time; always if none is given.
pub fn is_ready(wait: Option<Duration>) -> bool {
    let time = wait.map(|wait| Timespec {
        tv_sec: wait.as_secs() as i64,
        tv_nsec: wait.subsec_nanos().into(),
    });
    let input = rustix::stdio::stdin();
    let mut descriptors = [PollFd::new(&input, PollFlags::IN)];
    // A signal ends the waiting early; the caller looks again.
    poll(&mut descriptors, time.as_ref()).is_ok_and(|count| count > 0)
}

/// Reads what there is; nothing at the end of input.
pub fn read() -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; READ_BYTES];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Ok(count) => {
                bytes.truncate(count);
                return Ok(bytes);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
