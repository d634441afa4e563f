//! A terminal with a program in it: keys go in, and what a person would see comes out.

#![allow(
    dead_code,
    reason = "each test target uses a part of this module, and each is a crate of its own"
)]

#[path = "screen.rs"]
mod screen;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use screen::Screen;

/// Output that does not come within this time does not come.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The modes that a shell sets for a terminal.
const COOKED: LocalModes = LocalModes::ECHO
    .union(LocalModes::ICANON)
    .union(LocalModes::ISIG);

/// A running program and its terminal.
pub struct Terminal {
    child: Child,
    keys: File,
    master: OwnedFd,
    path: String,
    /// Whether the program reads keys itself; lines, otherwise, as on a dumb terminal.
    reads_keys: bool,
    output: Arc<Mutex<Output>>,
}

/// The bytes that the program wrote, and the screen that they make.
struct Output {
    bytes: Vec<u8>,
    screen: Screen,
}

impl Terminal {
    /// Starts a command in a window of this size.
    pub fn start(command: Command, columns: u16, rows: u16) -> Terminal {
        Terminal::start_with(command, columns, rows, true)
    }

    /// The same with a terminal that breaks rows anew when its width changes, or cuts them off.
    pub fn start_with(mut command: Command, columns: u16, rows: u16, reflows: bool) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal is made");
        grantpt(&master).expect("the terminal is ours");
        unlockpt(&master).expect("the terminal may be opened");
        let name = ptsname(&master, Vec::new()).expect("the terminal has a name");
        let path = name
            .to_str()
            .expect("names of terminals are ASCII")
            .to_owned();
        let side = || {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).open(&path);
            OwnedFd::from(file.expect("the terminal opens"))
        };
        set_size(&master, columns, rows);
        let is_dumb = |(name, value)| name == "TERM" && value == Some("dumb".as_ref());
        let reads_keys = !command.get_envs().any(is_dumb);
        // Ctrl-Z stops the group of the program's process.
        command.process_group(0);
        command.stdin(side()).stdout(side()).stderr(side());
        let child = command.spawn().expect("the program starts");
        let output = Arc::new(Mutex::new(Output {
            bytes: Vec::new(),
            screen: Screen::new(columns.into(), rows.into(), reflows),
        }));
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
                let mut output = shared.lock().unwrap();
                output.bytes.extend(&bytes[..count]);
                output.screen.feed(&bytes[..count]);
            }
        });
        // Both sides of the program's are closed here when the command is dropped.
        drop(command);
        Terminal {
            child,
            keys,
            master,
            path,
            reads_keys,
            output,
        }
    }

    /// Types keys. A control key that the terminal itself would take, as Ctrl-R while a program
    /// computes, waits until the program reads keys.
    #[track_caller]
    pub fn keys(&mut self, keys: impl AsRef<[u8]>) {
        let keys = keys.as_ref();
        let is_taken = |key: &u8| key.is_ascii_control() && !b"\t\r\n\x1b".contains(key);
        if self.reads_keys && keys.iter().any(is_taken) {
            self.wait_until("prompt that reads keys", |_| !self.is_cooked());
        }
        self.keys.write_all(keys).expect("keys can be typed");
    }

    /// Everything that was written so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap().bytes).into_owned()
    }

    /// The rows that a person sees, also those that went out at the top.
    pub fn screen(&self) -> String {
        self.rows().join("\n").trim_end().to_owned()
    }

    /// The same, each for itself; the last is the cursor's or stands below that.
    pub fn rows(&self) -> Vec<String> {
        self.output.lock().unwrap().screen.all_rows()
    }

    /// The cursor's row, counted as those of `rows`, and its column.
    pub fn cursor(&self) -> (usize, usize) {
        self.output.lock().unwrap().screen.cursor()
    }

    /// The dim text of the cursor's row.
    pub fn dim_text(&self) -> String {
        self.output.lock().unwrap().screen.dim_text()
    }

    /// Gives the window another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut output = self.output.lock().unwrap();
        output.screen.resize(columns.into(), rows.into());
        set_size(&self.master, columns, rows);
    }

    /// Another program, such as the shell, writes to the terminal.
    pub fn print(&self, text: &str) {
        let file = OpenOptions::new().write(true).open(&self.path);
        let mut file = file.expect("the terminal opens");
        file.write_all(text.as_bytes()).expect("it can be written");
    }

    /// Whether the terminal echoes what is typed and hands on lines, as it does for a shell.
    pub fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.master).expect("a terminal has modes");
        modes.local_modes.contains(COOKED)
    }

    /// Makes the terminal so, as a shell does.
    pub fn cook(&self) {
        let mut modes = tcgetattr(&self.master).expect("a terminal has modes");
        modes.local_modes |= COOKED;
        tcsetattr(&self.master, OptionalActions::Now, &modes).expect("modes can be set");
    }

    /// Stops the program without its doing.
    pub fn stop(&self) {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::STOP).expect("the program is there");
    }

    /// Waits until the program has been stopped, as by Ctrl-Z.
    #[track_caller]
    pub fn wait_until_stopped(&self) {
        let start = Instant::now();
        let id = Pid::from_child(&self.child);
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        while !waitpid(Some(id), options)
            .expect("the program is ours")
            .is_some_and(|(_, status)| status.stopped())
        {
            assert!(start.elapsed() < TIME_LIMIT, "it runs:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Resumes a stopped program, as `fg` does.
    pub fn go_on(&self) {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::CONT).expect("the program is there");
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
                panic!("the program does not end:\n{screen}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A test that fails leaves no program behind.
impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn set_size(terminal: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("a window has a size");
}
