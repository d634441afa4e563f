//! The commands in Markdown files: blocks `console`, beside the files that the page shows before them.
//!
//! A line `$ canny …` or `$ cat FILE` is a command, perhaps with ` < FILE` behind it; the lines below it are what it prints,
//! errors included. A line `…` stands for any number of lines, and `…` at the end of a line for the rest of that. A block
//! ```` ```LANGUAGE NAME ```` is a file of that name. A block with any other command is for people only.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use super::examples::{indented, wait};

/// A piece of a page, in its order.
enum Piece {
    File { name: String, text: String },
    Commands(Vec<Exchange>),
}

/// A command, and the lines that it prints.
struct Exchange {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// Runs the commands of a page. Gives how many there are, and how many are wrong.
pub fn check(page: &str, text: &str) -> (usize, usize) {
    let pieces = pieces_of(text);
    let (mut count, mut wrong) = (0, 0);
    if !pieces.iter().any(|one| matches!(one, Piece::Commands(_))) {
        return (0, 0);
    }
    let directory = match Scratch::new() {
        Ok(directory) => directory,
        Err(error) => {
            eprintln!("{page}: error: cannot make a directory for its files: {error}");
            return (1, 1);
        }
    };
    for piece in pieces {
        match piece {
            Piece::File { name, text } => {
                let written = directory.write(&name, &text);
                if let Err(error) = written {
                    eprintln!("{page}: error: cannot write its file {name}: {error}");
                    wrong += 1;
                    count += 1;
                }
            }
            Piece::Commands(exchanges) => {
                for exchange in exchanges {
                    count += 1;
                    let printed = match directory.run(&exchange.command) {
                        Ok(printed) => printed,
                        Err(error) => format!("it cannot be run: {error}"),
                    };
                    let lines: Vec<&str> = printed.lines().collect();
                    if !agree(&lines, &exchange.output) {
                        wrong += 1;
                        eprintln!(
                            "{page}:{}: error: the command prints\n{}\nnot\n{}",
                            exchange.line,
                            indented(&printed),
                            indented(&exchange.output.join("\n"))
                        );
                    }
                }
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
                    command: command.to_owned(),
                    output: Vec::new(),
                });
            }
            (None, Some(last)) => last.output.push((*line).to_owned()),
            (None, None) => return None,
        }
    }
    (!exchanges.is_empty()).then_some(exchanges)
}

/// Whether the lines are the expected ones.
fn agree(lines: &[&str], expected: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| agree(&lines[skipped..], rest))
        }
        Some((first, rest)) => lines.split_first().is_some_and(|(line, more)| {
            let is_same = match first.strip_suffix('…') {
                Some(start) => line.starts_with(start),
                None => line == first,
            };
            is_same && agree(more, rest)
        }),
    }
}

/// A directory for the files of a page; removed at the end.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new() -> io::Result<Scratch> {
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
        match Path::new(name).components().all(is_inside) {
            true => Ok(self.path.join(name)),
            false => Err(io::Error::other("it is not inside of the page's directory")),
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
            // What came before a failure counts.
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
    fn commands_of_others_are_left_alone() {
        assert!(commands(1, &["$ canny run", "1"]).is_some());
        assert!(commands(1, &["$ canny run", "$ rm x"]).is_none());
        assert!(commands(1, &["1"]).is_none());
        assert!(commands(1, &[]).is_none());
    }
}
