//! A terminal with a program in it: keys go in, and what a person would see comes out.

#![allow(
    dead_code,
    reason = "each test target uses a part of this module, and each is a crate of its own"
)]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// What does not come within this time does not come.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// A running program and its terminal.
pub struct Terminal {
    child: Child,
    keys: File,
    master: OwnedFd,
    output: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts a command in a window of this size.
    pub fn start(mut command: Command, columns: u16, rows: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal is made");
        grantpt(&master).expect("the terminal is ours");
        unlockpt(&master).expect("the terminal may be opened");
        let name = ptsname(&master, Vec::new()).expect("the terminal has a name");
        let path = name.to_str().expect("names of terminals are ASCII");
        let side = || {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).open(path);
            OwnedFd::from(file.expect("the terminal opens"))
        };
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a window has a size");
        command.stdin(side()).stdout(side()).stderr(side());
        let child = command.spawn().expect("the program starts");
        let output = Arc::new(Mutex::new(Vec::new()));
        let duplicate = || File::from(master.try_clone().expect("descriptors can be duplicated"));
        let (mut reading, keys) = (duplicate(), duplicate());
        let shared = output.clone();
        // The terminal reports an error when nobody has it open any more.
        std::thread::spawn(move || {
            let mut bytes = vec![0; 65536];
            while let Ok(count) = reading.read(&mut bytes) {
                if count == 0 {
                    return;
                }
                shared.lock().unwrap().extend(&bytes[..count]);
            }
        });
        // Both sides of the program's are closed here when the command is dropped.
        drop(command);
        Terminal {
            child,
            keys,
            master,
            output,
        }
    }

    /// Types keys.
    pub fn keys(&mut self, keys: impl AsRef<[u8]>) {
        self.keys
            .write_all(keys.as_ref())
            .expect("keys can be typed");
    }

    /// Everything that was written so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// The lines that a person sees, also those that went out at the top.
    pub fn screen(&self) -> String {
        shown(&self.written())
    }

    /// Waits until the screen satisfies the condition.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !is_so(&self.screen()) {
            assert!(
                start.elapsed() < TIME_LIMIT,
                "no {what} on the screen:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen contains a text.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the last line is a text.
    #[track_caller]
    pub fn wait_for_line(&self, line: &str) {
        self.wait_until(line, |screen| screen.lines().last() == Some(line));
    }

    /// Sends the signal of Ctrl-C, as a terminal does while no program reads keys itself.
    pub fn interrupt(&self) {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::INT).expect("the program runs");
    }

    /// Waits until the program ends; gives its exit code.
    #[track_caller]
    pub fn end(mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the program is ours") {
                return status.code();
            }
            if start.elapsed() > TIME_LIMIT {
                let screen = self.screen();
                drop(self.child.kill());
                panic!("the program does not end:\n{screen}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a terminal shows after this output: cursor movements, erasing, no colours. Lines are as long as they come.
pub fn shown(output: &str) -> String {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0usize, 0usize);
    let mut characters = output.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\u{8}' => column = column.saturating_sub(1),
            '\u{7}' => {}
            '\u{1b}' => {
                characters.next();
                let mut parameters = String::new();
                let mut last = ' ';
                for next in characters.by_ref() {
                    if ('@'..='~').contains(&next) {
                        last = next;
                        break;
                    }
                    parameters.push(next);
                }
                let count = parameters.parse().unwrap_or(1);
                match last {
                    'A' => row -= count.min(row),
                    'C' => column += count,
                    'J' => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    _ => {}
                }
            }
            other => {
                let line = &mut lines[row];
                while line.len() <= column {
                    line.push(' ');
                }
                line[column] = other;
                column += 1;
            }
        }
    }
    let lines = lines.iter().map(|line| {
        let line: String = line.iter().collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}
