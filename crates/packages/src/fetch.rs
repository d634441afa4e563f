//! Getting the files of a package: from directories and archives here, through `curl` and `git` from
//! elsewhere.
//!
//! `git` gets the revisions into a bare repository of ours, without hooks, and hands out their files as
//! an archive, which is unpacked like any other: no file of a package is checked out by `git`, no
//! program of it is run. `git` asks for no password.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::archive::{self, Limits};
use crate::problem::{Fallible, Problem};
use crate::source::{Reference, Source, is_url};
use crate::store::Store;
use crate::tree;

const CODE: &str = "unreachable-package";

/// Largest archive that is fetched.
const DOWNLOAD_BYTES_MAX: u64 = 256 << 20;

/// Longest download, in seconds.
const DOWNLOAD_SECONDS_MAX: u32 = 600;

/// How packages are fetched.
#[derive(Debug)]
pub struct Fetcher {
    /// Where they are kept.
    pub store: Store,
    /// The project's directory.
    pub root: PathBuf,
    /// Nothing may be fetched from elsewhere, nor from repositories.
    pub is_offline: bool,
    /// Copies of packages that the project has, by their checksums.
    pub copies: HashMap<String, PathBuf>,
    /// The newest of what was asked for, which one command looks up once.
    newest: RefCell<HashMap<String, Fetched>>,
}

/// Files of a package.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Their directory.
    pub tree: PathBuf,
    /// Their checksum.
    pub sha256: String,
    /// The revision of the repository they are from.
    pub revision: Option<String>,
}

/// Earlier fetched files, as a lockfile names them.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The checksum of the files.
    pub sha256: &'a str,
    /// The revision of the repository.
    pub revision: Option<&'a str>,
}

impl Fetcher {
    /// A fetcher for the project in a directory.
    pub fn new(store: Store, root: PathBuf, is_offline: bool) -> Fetcher {
        Fetcher {
            store,
            root,
            is_offline,
            copies: HashMap::new(),
            newest: RefCell::default(),
        }
    }

    /// The files of a package: those that the lockfile names, if there are any, else the newest.
    pub fn fetch(&self, source: &Source, known: Option<Known<'_>>) -> Fallible<Fetched> {
        if let Source::Directory { path } = source {
            let tree = self.root.join(path);
            if !tree.is_dir() {
                let what = if tree.exists() {
                    "is not a directory"
                } else {
                    "is not there"
                };
                return Err(Problem::plain(
                    CODE,
                    format!("the directory `{path}` {what}"),
                ));
            }
            return Ok(Fetched {
                sha256: tree::digest(&tree)?,
                tree,
                revision: None,
            });
        }
        if let Some(known) = known
            && self.store.tree(known.sha256).is_dir()
        {
            return Ok(Fetched {
                tree: self.store.tree(known.sha256),
                sha256: known.sha256.to_owned(),
                revision: known.revision.map(str::to_owned),
            });
        }
        if let Some(known) = known
            && let Some(copy) = self.copies.get(known.sha256)
            && tree::digest(copy).is_ok_and(|found| found == known.sha256)
        {
            return Ok(Fetched {
                tree: copy.clone(),
                sha256: known.sha256.to_owned(),
                revision: known.revision.map(str::to_owned),
            });
        }
        let key = source.to_datum().to_string();
        if known.is_none()
            && let Some(fetched) = self.newest.borrow().get(&key)
        {
            return Ok(fetched.clone());
        }
        let incoming = self.store.incoming()?;
        let files = incoming.path().join("files");
        fs::create_dir(&files).map_err(|error| Problem::unwritable(&files, &error))?;
        let mut revision = None;
        let mut tree = files.clone();
        match source {
            Source::Directory { .. } => {}
            Source::Archive {
                location, sha256, ..
            } => {
                let archive = self.archive(location, incoming.path())?;
                if let Some(expected) = sha256 {
                    check_archive(&archive, location, expected)?;
                }
                let file = fs::File::open(&archive)
                    .map_err(|error| Problem::unreadable(&archive, &error))?;
                archive::unpack(
                    io::BufReader::new(file),
                    location,
                    &files,
                    Limits::default(),
                )?;
                tree = single_directory(&files)?;
            }
            Source::Git { url, reference, .. } => {
                let found =
                    self.revision(url, reference, known.and_then(|known| known.revision))?;
                self.unpack_revision(url, &found, &files)?;
                revision = Some(found);
            }
        }
        let sha256 = self.store.admit(&tree)?;
        if let Some(known) = known
            && known.sha256 != sha256
        {
            let message = format!("the content of `{}` is not what was locked", place(source));
            return Err(Problem::plain("changed-package", message).note(format!(
                "locked is the checksum {}, its content has {sha256}",
                known.sha256
            )));
        }
        let fetched = Fetched {
            tree: self.store.tree(&sha256),
            sha256,
            revision,
        };
        if known.is_none() {
            self.newest.borrow_mut().insert(key, fetched.clone());
        }
        Ok(fetched)
    }

    /// The file of an archive; it is downloaded if it is elsewhere.
    fn archive(&self, location: &str, incoming: &Path) -> Fallible<PathBuf> {
        if let Some(path) = location.strip_prefix("file://") {
            let path = decoded(path.strip_prefix("localhost").unwrap_or(path));
            return readable(PathBuf::from(path));
        }
        if !is_url(location) {
            return readable(self.root.join(location));
        }
        if !location.starts_with("https://") {
            return Err(Problem::plain(
                CODE,
                format!("`{location}` is not fetched: only `https` and `file` are"),
            ));
        }
        self.check_online(location)?;
        let file = incoming.join("archive");
        let mut curl = Command::new("curl");
        curl.args([
            "--fail",
            "--silent",
            "--show-error",
            "--location",
            "--max-redirs",
            "10",
        ])
        .args(["--proto", "=https", "--proto-redir", "=https"])
        .args(["--max-time", &DOWNLOAD_SECONDS_MAX.to_string()])
        .args(["--max-filesize", &DOWNLOAD_BYTES_MAX.to_string()])
        .arg("--output")
        .arg(&file)
        .arg("--")
        .arg(location);
        run(curl, "curl", &format!("cannot fetch `{location}`"))?;
        readable(file)
    }

    fn check_online(&self, place: &str) -> Fallible<()> {
        if !self.is_offline {
            return Ok(());
        }
        Err(Problem::plain(
            CODE,
            format!("`{place}` is not on this machine yet, and nothing is fetched offline"),
        )
        .note("run the command without `--offline`"))
    }

    /// The full hash of a revision, which is in our copy of the repository afterwards.
    fn revision(&self, url: &str, reference: &Reference, known: Option<&str>) -> Fallible<String> {
        if url.starts_with("http://") || url.contains("::") {
            return Err(Problem::plain(
                CODE,
                format!("`{url}` is not fetched: `https`, `ssh`, `git` and `file` are"),
            ));
        }
        let repository = self.store.repository(url);
        let wanted = known.or(match reference {
            Reference::Revision(hash) => Some(hash.as_str()),
            _ => None,
        });
        if let Some(wanted) = wanted
            && repository.is_dir()
            && let Some(found) = self.parsed(&repository, wanted)
        {
            return Ok(found);
        }
        self.check_online(url)?;
        fs::create_dir_all(&repository)
            .map_err(|error| Problem::unwritable(&repository, &error))?;
        // One process at a time works on it; the others wait.
        let lock = fs::File::open(&repository)
            .map_err(|error| Problem::unreadable(&repository, &error))?;
        let _ = lock.lock();
        if !repository.join("HEAD").is_file() {
            let mut init = self.git(None);
            init.args(["init", "--quiet", "--bare", "--template=", "--"])
                .arg(&repository);
            run(init, "git", "cannot make a repository")?;
        }
        let place = if is_url(url) {
            OsString::from(url)
        } else {
            self.root.join(url).into_os_string()
        };
        let fetch = |what: &[&str]| {
            let mut fetch = self.git(Some(&repository));
            fetch.args([
                "fetch",
                "--quiet",
                "--force",
                "--prune",
                "--no-tags",
                "--no-recurse-submodules",
                "--",
            ]);
            fetch.arg(&place).args(what);
            run(fetch, "git", &format!("cannot fetch from `{url}`"))
        };
        fetch(&[
            "+HEAD:refs/canny/head",
            "+refs/heads/*:refs/heads/*",
            "+refs/tags/*:refs/tags/*",
        ])?;
        let name = match (wanted, reference) {
            (Some(hash), _) => hash.to_owned(),
            (None, Reference::Tag(tag)) => format!("refs/tags/{tag}"),
            (None, Reference::Branch(branch)) => format!("refs/heads/{branch}"),
            (None, _) => "refs/canny/head".to_owned(),
        };
        if let Some(found) = self.parsed(&repository, &name) {
            return Ok(found);
        }
        if let Some(hash) = wanted
            && fetch(&[hash]).is_ok()
            && let Some(found) = self.parsed(&repository, hash)
        {
            return Ok(found);
        }
        let what = match reference {
            _ if wanted.is_some() => format!("revision `{}`", wanted.unwrap_or_default()),
            Reference::Tag(tag) => format!("tag `{tag}`"),
            Reference::Branch(branch) => format!("branch `{branch}`"),
            _ => "commit".to_owned(),
        };
        Err(Problem::plain(
            CODE,
            format!("the repository `{url}` has no {what}"),
        ))
    }

    /// The hash of a commit, if the repository has it.
    fn parsed(&self, repository: &Path, name: &str) -> Option<String> {
        let mut parse = self.git(Some(repository));
        parse
            .args(["rev-parse", "--quiet", "--verify", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"));
        let output = parse.stderr(Stdio::null()).output().ok()?;
        let hash = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        (output.status.success() && is_hash).then_some(hash)
    }

    fn unpack_revision(&self, url: &str, revision: &str, into: &Path) -> Fallible<()> {
        let mut git = self.git(Some(&self.store.repository(url)));
        git.args(["archive", "--format=tar", revision]);
        git.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().map_err(|error| cannot_run("git", &error))?;
        let result = match child.stdout.take() {
            Some(output) => {
                archive::unpack(io::BufReader::new(output), url, into, Limits::default())
            }
            None => Ok(()),
        };
        // A child whose output is not read any more ends by itself.
        let output = child
            .wait_with_output()
            .map_err(|error| cannot_run("git", &error))?;
        if !output.status.success() && result.is_err() && !output.stderr.is_empty() {
            return Err(failed(
                &format!("cannot read the files of `{url}`"),
                &output.stderr,
            ));
        }
        result
    }

    /// The command `git`, which shall ask nothing, run nothing, and take no setting from a repository
    /// around us.
    fn git(&self, repository: Option<&Path>) -> Command {
        let mut git = Command::new("git");
        for variable in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_NAMESPACE",
            "GIT_COMMON_DIR",
        ] {
            git.env_remove(variable);
        }
        git.env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "file:git:https:ssh")
            .env("LC_ALL", "C")
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "gc.auto=0",
                "-c",
                "core.fsmonitor=false",
            ])
            .args([
                "-c",
                "core.attributesFile=/dev/null",
                "-c",
                "core.autocrlf=false",
            ])
            .stdin(Stdio::null());
        if let Some(repository) = repository {
            let mut option = OsString::from("--git-dir=");
            option.push::<&OsStr>(repository.as_os_str());
            git.arg(option);
        }
        git
    }
}

/// A source for people.
pub fn place(source: &Source) -> &str {
    match source {
        Source::Directory { path } => path,
        Source::Archive { location, .. } => location,
        Source::Git { url, .. } => url,
    }
}

fn readable(path: PathBuf) -> Fallible<PathBuf> {
    if path.is_file() {
        return Ok(path);
    }
    let what = if path.exists() {
        "is not a file"
    } else {
        "is not there"
    };
    Err(Problem::plain(
        CODE,
        format!("the archive `{}` {what}", path.display()),
    ))
}

fn check_archive(path: &Path, location: &str, expected: &str) -> Fallible<()> {
    let mut file = fs::File::open(path).map_err(|error| Problem::unreadable(path, &error))?;
    let mut sum = tree::Checksum::default();
    io::copy(&mut file, &mut sum).map_err(|error| Problem::unreadable(path, &error))?;
    let found = sum.finish();
    if found == expected {
        return Ok(());
    }
    Err(Problem::plain(
        "changed-package",
        format!("the archive `{location}` has another checksum than is asked for"),
    )
    .note(format!("asked for is {expected}, the archive has {found}")))
}

/// An archive often has one directory with everything in it.
fn single_directory(files: &Path) -> Fallible<PathBuf> {
    let failed = |error: io::Error| Problem::unreadable(files, &error);
    let mut entries = fs::read_dir(files).map_err(failed)?;
    let first = entries
        .next()
        .transpose()
        .map_err(failed)?
        .map(|entry| entry.path());
    Ok(match first {
        Some(path) if path.is_dir() && entries.next().is_none() => path,
        _ => files.to_owned(),
    })
}

fn cannot_run(program: &str, error: &io::Error) -> Problem {
    let problem = Problem::plain(CODE, format!("cannot run `{program}`: {error}"));
    match error.kind() {
        io::ErrorKind::NotFound => problem.note(format!(
            "install `{program}`, which fetches packages from elsewhere"
        )),
        _ => problem,
    }
}

fn failed(message: &str, errors: &[u8]) -> Problem {
    const LINES_MAX: usize = 5;
    let text = String::from_utf8_lossy(errors);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let first = lines.len().saturating_sub(LINES_MAX);
    lines[first..]
        .iter()
        .fold(Problem::plain(CODE, message), |problem, line| {
            problem.note(*line)
        })
}

/// Runs a program to its end, without input.
fn run(mut command: Command, program: &str, message: &str) -> Fallible<()> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| cannot_run(program, &error))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(failed(message, &output.stderr))
    }
}

/// The text of a URL's path without `%20` and the like.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let digits = bytes
            .get(index + 1..index + 3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits
            .filter(|_| bytes[index] == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            Some(byte) => {
                plain.push(byte);
                index += 3;
            }
            None => {
                plain.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}
