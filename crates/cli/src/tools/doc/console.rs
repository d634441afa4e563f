//! Blocks of Markdown files besides forms: files, commands and sessions.
//!
//! | block | |
//! |---|---|
//! | `LANGUAGE NAME` | a file of that name |
//! | `console` | lines `$ canny …` or `$ cat FILE`, perhaps with ` < FILE` behind it, and below each what it prints |
//! | `prompt` | a session: `> ` begins an input, `. ` continues with it, the rest is what is printed |
//!
//! The printed text includes errors. A line `…` stands for any number of lines, and `…` at the end
//! of a line for the rest of that. A block `console` with any other command is for people only.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::examples::{indented, wait};

/// A piece of a page, in its order.
enum Piece {
    File { name: String, text: String },
    Commands(Vec<Exchange>),
    Session(Vec<Exchange>),
}

/// Something that is typed, and the lines that come of it.
struct Exchange {
    line: usize,
    input: String,
    output: Vec<String>,
}

/// Whether a page shows files, commands or sessions.
pub fn has_pieces(text: &str) -> bool {
    !pieces_of(text).is_empty()
}

/// Writes the files of a page and runs its commands and sessions, in the order of the page. Gives how
/// many commands and sessions there are, and how many are wrong.
pub fn check(page: &str, text: &str, directory: &Scratch) -> (usize, usize) {
    let (mut count, mut wrong) = (0, 0);
    let mut compare =
        |line: usize, what: &str, printed: io::Result<String>, expected: &[String]| {
            count += 1;
            let printed = printed.unwrap_or_else(|error| format!("it cannot be run: {error}"));
            let lines: Vec<&str> = printed.lines().collect();
            if !agree(&lines, expected) {
                wrong += 1;
                eprintln!(
                    "{page}:{line}: error: the {what} prints\n{}\nnot\n{}",
                    indented(&printed),
                    indented(&expected.join("\n"))
                );
            }
        };
    for piece in pieces_of(text) {
        match piece {
            Piece::File { name, text } => {
                if let Err(error) = directory.write(&name, &text) {
                    compare(1, "page", Err(error), &[]);
                }
            }
            Piece::Commands(exchanges) => {
                for exchange in exchanges {
                    let printed = directory.run(&exchange.input);
                    compare(exchange.line, "command", printed, &exchange.output);
                }
            }
            Piece::Session(exchanges) => {
                let inputs: String = exchanges
                    .iter()
                    .map(|exchange| format!("{}\n", exchange.input))
                    .collect();
                let expected: Vec<String> = exchanges
                    .iter()
                    .flat_map(|exchange| exchange.output.clone())
                    .collect();
                let printed = directory.session(&inputs);
                compare(exchanges[0].line, "session", printed, &expected);
            }
        }
    }
    (count, wrong)
}

fn pieces_of(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            continue;
        };
        let body = lines.by_ref().map(|(_, line)| line);
        let block: Vec<&str> = body.take_while(|line| *line != "```").collect();
        match kind.split_once(' ') {
            Some((_, name)) => pieces.push(Piece::File {
                name: name.to_owned(),
                text: block.iter().map(|line| format!("{line}\n")).collect(),
            }),
            None if kind == "console" => {
                pieces.extend(commands(number + 2, &block).map(Piece::Commands));
            }
            None if kind == "prompt" => {
                pieces.extend(session(number + 2, &block).map(Piece::Session));
            }
            None => {}
        }
    }
    pieces
}

/// The commands of a block whose first line has that number; `None` if some are others' or there is none.
fn commands(first: usize, block: &[&str]) -> Option<Vec<Exchange>> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (index, line) in block.iter().enumerate() {
        match (line.strip_prefix("$ "), exchanges.last_mut()) {
            (Some(command), _) => {
                if !command.starts_with("canny ") && !command.starts_with("cat ") {
                    return None;
                }
                exchanges.push(Exchange {
                    line: first + index,
                    input: command.to_owned(),
                    output: Vec::new(),
                });
            }
            (None, Some(last)) => last.output.push((*line).to_owned()),
            (None, None) => return None,
        }
    }
    (!exchanges.is_empty()).then_some(exchanges)
}

/// The inputs of a session and what they print; `None` if it does not begin with one.
fn session(first: usize, block: &[&str]) -> Option<Vec<Exchange>> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (index, line) in block.iter().enumerate() {
        if let Some(input) = line.strip_prefix("> ") {
            exchanges.push(Exchange {
                line: first + index,
                input: input.to_owned(),
                output: Vec::new(),
            });
            continue;
        }
        let last = exchanges.last_mut()?;
        match line.strip_prefix(". ").filter(|_| last.output.is_empty()) {
            Some(more) => {
                last.input.push('\n');
                last.input.push_str(more);
            }
            None => last.output.push((*line).to_owned()),
        }
    }
    (!exchanges.is_empty()).then_some(exchanges)
}

/// Whether the lines are the expected ones, where a line `…` stands for any number of lines and `…` at
/// the end of a line for the rest of that.
pub fn agree(lines: &[&str], expected: &[impl AsRef<str>]) -> bool {
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    lines_agree(lines, &expected)
}

fn lines_agree(lines: &[&str], expected: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| lines_agree(&lines[skipped..], rest))
        }
        Some((first, rest)) => lines.split_first().is_some_and(|(line, more)| {
            let is_same = match first.strip_suffix('…') {
                Some(start) => line.starts_with(start),
                None => line == first,
            };
            is_same && lines_agree(more, rest)
        }),
    }
}

/// A directory for the files of a page; removed at the end.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> io::Result<Scratch> {
        use std::os::unix::fs::DirBuilderExt;
        for attempt in 0_u32.. {
            let name = format!("canny-doc-{}-{attempt}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A file inside of the directory; another one has nothing to do with the page.
    fn file(&self, name: &str) -> io::Result<PathBuf> {
        let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if Path::new(name).components().all(is_inside) {
            Ok(self.path.join(name))
        } else {
            Err(io::Error::other("it is not inside of the page's directory"))
        }
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.file(name)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)
    }

    /// Runs a command; gives what it prints.
    fn run(&self, line: &str) -> io::Result<String> {
        let (command, input) = line.split_once(" < ").unwrap_or((line, ""));
        let mut words = command.split(' ').filter(|word| !word.is_empty());
        if words.next() == Some("cat") {
            return words
                .map(|name| fs::read_to_string(self.file(name)?))
                .collect();
        }
        let input = match input {
            "" => Stdio::null(),
            name => fs::File::open(self.file(name)?)?.into(),
        };
        let words: Vec<&str> = words.collect();
        self.canny(&words, input)
    }

    /// Types a text at the prompt; gives what is printed.
    fn session(&self, text: &str) -> io::Result<String> {
        let path = self.path.join(".session");
        fs::write(&path, text)?;
        self.canny(&["repl"], fs::File::open(path)?.into())
    }

    /// Runs `canny` in the directory.
    fn canny(&self, words: &[&str], input: Stdio) -> io::Result<String> {
        // Both kinds of output, in the order in which they come.
        let (mut output, writer) = io::pipe()?;
        let mut child = Command::new(crate::executable::own_file()?)
            .args(words)
            .current_dir(&self.path)
            .env("NO_COLOR", "1")
            .stdin(input)
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?;
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // Output that was read before a failure counts.
            let _ = output.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        if !wait(&mut child) {
            return Err(io::Error::other("it does not end"));
        }
        Ok(reader.join().unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory for temporary files is emptied by others, too.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_stand_for_the_rest() {
        let expected: Vec<String> = ["a", "…", "b…"].map(str::to_owned).into();
        assert!(agree(&["a", "x", "y", "bc"], &expected));
        assert!(agree(&["a", "b"], &expected));
        assert!(!agree(&["a", "x"], &expected));
    }

    #[test]
    fn sessions_have_inputs_of_several_lines() {
        let found = session(3, &["> (f", ".  1)", "$1 = 2", ". x", "> 3"]).unwrap_or_default();
        let inputs: Vec<&str> = found.iter().map(|one| one.input.as_str()).collect();
        assert_eq!(inputs, ["(f\n 1)", "3"]);
        assert_eq!(found[0].output, ["$1 = 2", ". x"]);
        assert_eq!(found[1].line, 7);
        assert!(session(1, &["1"]).is_none());
    }

    #[test]
    fn commands_of_others_are_left_alone() {
        assert!(commands(1, &["$ canny run", "1"]).is_some());
        assert!(commands(1, &["$ canny run", "$ rm x"]).is_none());
        assert!(commands(1, &["1"]).is_none());
        assert!(commands(1, &[]).is_none());
    }
}
