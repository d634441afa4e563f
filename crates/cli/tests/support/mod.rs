//! Running the built `canny` in tests.
#![allow(
    dead_code,
    reason = "each test target uses a part of this module, and each is a crate of its own"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A program still running after this time hangs. No test asserts that something is fast.
const TIME_LIMIT: Duration = Duration::from_secs(240);

/// The root of the working tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a directory and of all directories below it.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the directory is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// A fresh directory.
pub fn scratch() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("canny-{}-{count}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // An earlier process with the same number may have left one.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("the scratch directory can be made");
    directory
}

/// How a run ended and what it printed.
#[derive(Debug)]
pub struct Outcome {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Outcome {
    /// Asserts on the exit code; shows everything if it is another one.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> Outcome {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub fn prints(self, output: &str) -> Outcome {
        assert_eq!(self.output, output, "{self:#?}");
        self
    }

    #[track_caller]
    pub fn complains(self, part: &str) -> Outcome {
        assert!(self.errors.contains(part), "no `{part}` in {self:#?}");
        self
    }
}

/// A run of `canny` in a directory of its own.
pub struct Canny {
    pub directory: PathBuf,
    command: Command,
    input: Option<PathBuf>,
}

/// Runs `canny` with these words.
pub fn canny(words: &[&str]) -> Canny {
    Canny::new(scratch(), words)
}

/// Runs a program given as text, by the name `program.scm`.
pub fn program(text: impl AsRef<[u8]>) -> Canny {
    let run = canny(&["program.scm"]);
    run.file("program.scm", text)
}

impl Canny {
    pub fn new(directory: PathBuf, words: &[&str]) -> Canny {
        let mut command = Command::new(env!("CARGO_BIN_EXE_canny"));
        command
            .args(words)
            .current_dir(&directory)
            .env("CANNY_CACHE_DIR", directory.join("cache"))
            .env_remove("CANNY_LIBRARY_PATH")
            .env_remove("CANNY_GC_STRESS")
            .env_remove("CANNY_GC_VERIFY")
            .env_remove("CANNY_GC_POISON")
            .env_remove("CANNY_NURSERY");
        Canny {
            directory,
            command,
            input: None,
        }
    }

    /// Writes a file into the run's directory.
    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Canny {
        let path = self.directory.join(name);
        let parent = path.parent().expect("a file is in a directory");
        std::fs::create_dir_all(parent).expect("a directory can be made");
        std::fs::write(path, text).expect("a file can be written");
        self
    }

    pub fn input(mut self, text: impl AsRef<[u8]>) -> Canny {
        let path = self.directory.join("standard-input");
        std::fs::write(&path, text).expect("a file can be written");
        self.input = Some(path);
        self
    }

    pub fn input_file(mut self, path: PathBuf) -> Canny {
        self.input = Some(path);
        self
    }

    pub fn environment(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Canny {
        self.command.env(name, value);
        self
    }

    /// Starts it with output to files.
    pub fn start(mut self) -> Running {
        let open =
            |name: &str| File::create(self.directory.join(name)).expect("a file can be written");
        let input = match &self.input {
            None => Stdio::null(),
            Some(path) => File::open(path).expect("the input exists").into(),
        };
        self.command
            .stdin(input)
            .stdout(open("standard-output"))
            .stderr(open("standard-error"));
        let child = self.command.spawn().expect("canny starts");
        Running {
            child,
            directory: self.directory,
        }
    }

    pub fn run(self) -> Outcome {
        self.start().wait()
    }

    /// The command itself, for tests that connect its streams in their own way.
    pub fn command(self) -> Command {
        self.command
    }
}

pub struct Running {
    child: Child,
    directory: PathBuf,
}

impl Running {
    /// The output that it has printed so far.
    pub fn output(&self) -> String {
        read(&self.directory.join("standard-output"))
    }

    /// Waits until it has printed this.
    pub fn wait_for_output(&mut self, part: &str) {
        let start = Instant::now();
        while !self.output().contains(part) {
            let ended = self.child.try_wait().expect("waiting works");
            assert!(ended.is_none(), "ended without `{part}`: {ended:?}");
            assert!(start.elapsed() < TIME_LIMIT, "no `{part}` in time");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal by its name, such as `INT`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(status.success());
    }

    pub fn wait(self) -> Outcome {
        self.wait_within(TIME_LIMIT)
    }

    /// Waits for a program that may take long before it counts as one that hangs.
    pub fn wait_within(mut self, limit: Duration) -> Outcome {
        let status = wait_within(&mut self.child, limit);
        Outcome {
            code: status.and_then(|status| status.code()),
            output: self.output(),
            errors: read(&self.directory.join("standard-error")),
        }
    }
}

/// Waits for the end; kills what hangs and gives `None`.
pub fn wait(child: &mut Child) -> Option<ExitStatus> {
    wait_within(child, TIME_LIMIT)
}

fn wait_within(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waiting works") {
            return Some(status);
        }
        if start.elapsed() > limit {
            child.kill().expect("killing works");
            child.wait().expect("waiting works");
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// The `.scm` files directly in a directory, sorted.
pub fn programs(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "scm"))
        .collect();
    found.sort();
    found
}

/// Whether expected output is to be written anew.
pub fn blessing() -> bool {
    std::env::var_os("CANNY_BLESS").is_some_and(|value| value == "1")
}
