//! The terminal: raw mode, reading and writing.
//!
//! [`Raw`] owns the mode and restores it when dropped, when the process is stopped, and when it is
//! continued. This is the only module of the editor that makes system calls.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Bytes asked for at once.
const READ_BYTES: usize = 64 * 1024;
/// How often, and how many times, a program that asked to be stopped looks whether it was.
const STOP_LOOK_EVERY: Duration = Duration::from_millis(1);
const STOP_LOOKS_MAX: u32 = 50;

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
    /// Turns echo, line buffering and keys for signals off. Output works as before.
    pub fn enter() -> io::Result<Raw> {
        continued().store(false, Ordering::SeqCst);
        let before = make_raw()?;
        Ok(Raw { before })
    }

    /// Ctrl-Z: gives the terminal back and stops the program until the shell continues it. Tells
    /// whether it was stopped: without a shell that controls jobs nothing happens.
    pub fn suspend(&mut self) -> io::Result<bool> {
        self.give_back();
        let flag = continued();
        flag.store(false, Ordering::SeqCst);
        let mut was_stopped = false;
        if kill_current_process_group(Signal::TSTP).is_ok() {
            // The signal may be another thread's to take: then this one runs on for a moment.
            for _ in 0..STOP_LOOKS_MAX {
                was_stopped = flag.swap(false, Ordering::SeqCst);
                if was_stopped {
                    break;
                }
                std::thread::sleep(STOP_LOOK_EVERY);
            }
        }
        self.before = make_raw()?;
        Ok(was_stopped)
    }

    /// Takes the terminal again if the program was stopped by others and continued, with the terminal
    /// as the shell has it.
    pub fn resume(&mut self) -> io::Result<bool> {
        if !continued().swap(false, Ordering::SeqCst) {
            return Ok(false);
        }
        let now = tcgetattr(rustix::stdio::stdin())?;
        if !now.local_modes.contains(LocalModes::ICANON) {
            return Ok(false);
        }
        self.before = make_raw()?;
        Ok(true)
    }

    fn give_back(&self) {
        write("\x1b[?2004l");
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &self.before);
    }
}

/// Makes the terminal raw; gives the modes that it had.
fn make_raw() -> io::Result<Termios> {
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
    Ok(before)
}

/// Set when the program was continued after it was stopped.
fn continued() -> &'static Arc<AtomicBool> {
    static CONTINUED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    CONTINUED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        // Without it Ctrl-Z draws one line too many.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGCONT, flag.clone());
        flag
    })
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Whether the terminal breaks rows anew when its width changes, as most do. Those that cut rows off
/// are known by name.
pub fn reflows() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let begins = |name: &str, start: &str| {
        std::env::var_os(name).is_some_and(|value| value.to_string_lossy().starts_with(start))
    };
    let cuts = is_set("XTERM_VERSION")
        || begins("COLORTERM", "rxvt")
        || begins("TERM", "linux")
        || is_set("STY") && !is_set("TMUX");
    !cuts
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
