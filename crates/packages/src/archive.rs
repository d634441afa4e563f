//! Tar archives, plain or compressed by gzip, to files in a directory.
//!
//! An archive may come from anybody. Every path is checked before anything is written; links become
//! copies of what they name, after all files were written, and only inside of the archive; sizes and
//! counts are limited while reading.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

use crate::problem::{Fallible, Problem};
use crate::source::join;

const CODE: &str = "bad-archive";

/// The limits of an archive.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all files together, and of the archive when it is not compressed.
    pub bytes: u64,
    /// Files and links.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes: 512 << 20,
            files: 50_000,
        }
    }
}

/// Longest path and deepest directory.
const PATH_BYTES_MAX: usize = 1024;
const DEPTH_MAX: usize = 64;

/// Gives an error when more is read than is allowed.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("it is larger than what is allowed"))?;
        Ok(count)
    }
}

/// Unpacks an archive into a directory that is empty.
pub fn unpack(mut input: impl Read, name: &str, into: &Path, limits: Limits) -> Fallible<()> {
    let bad = |message: &str| Problem::plain(CODE, format!("the archive `{name}` {message}"));
    let failed = |error: io::Error| bad(&format!("cannot be read: {error}"));
    let mut start = Vec::new();
    input
        .by_ref()
        .take(512)
        .read_to_end(&mut start)
        .map_err(failed)?;
    if start.is_empty() {
        return Err(bad("is empty"));
    }
    let is_compressed = start.starts_with(&[0x1F, 0x8B]);
    if let Some(kind) = other_kind(&start) {
        return Err(bad(&format!(
            "is {kind}; tar archives are taken, plain or compressed by gzip"
        )));
    }
    let whole = start.as_slice().chain(input);
    // Room for headers and padding.
    let left = limits.bytes.saturating_add(limits.files as u64 * 2048);
    let plain: Box<dyn Read> = if is_compressed {
        Box::new(MultiGzDecoder::new(whole))
    } else {
        Box::new(whole)
    };
    let mut archive = Archive::new(Limited { inner: plain, left });
    let mut work = Unpacking {
        into,
        limits,
        bytes: 0,
        entries: 0,
        files: 0,
        links: BTreeMap::new(),
    };
    let entries = archive.entries().map_err(failed)?;
    // Nothing begins a tar archive but a header; the reader takes a block of zeros for the end.
    for entry in entries {
        let entry = entry.map_err(|error| {
            let text = error.to_string();
            // It may quote what was read.
            let text = text.lines().next().unwrap_or_default();
            let is_strange = |c: char| c.is_control() || c == '\u{FFFD}';
            let text = text.split(is_strange).next().unwrap_or_default();
            let text = text.trim_end_matches([' ', ':']);
            bad(&format!("is damaged, or no tar archive: {text}"))
        })?;
        work.entry(entry).map_err(|message| bad(&message))?;
    }
    work.copy_links().map_err(|message| bad(&message))?;
    if work.files == 0 {
        return Err(bad("has no files"));
    }
    Ok(())
}

/// The kind of a file by its first bytes, if it is known not to be a tar archive.
fn other_kind(start: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 5] = [
        (b"PK\x03\x04", "a zip file"),
        (b"\xFD7zXZ\x00", "compressed by xz"),
        (b"BZh", "compressed by bzip2"),
        (b"\x28\xB5\x2F\xFD", "compressed by zstd"),
        (b"<", "a page of HTML or the like"),
    ];
    let found = kinds.iter().find(|(magic, _)| start.starts_with(magic));
    found.map(|(_, kind)| *kind)
}

struct Unpacking<'a> {
    into: &'a Path,
    limits: Limits,
    bytes: u64,
    /// All entries, of any kind.
    entries: usize,
    files: usize,
    /// Paths of links and what they name, both from the archive's root.
    links: BTreeMap<String, String>,
}

/// The path of an entry without `.`; the message says why it is refused.
fn checked_path(bytes: &[u8]) -> Result<String, String> {
    let shown = String::from_utf8_lossy(bytes).escape_debug().to_string();
    let path = std::str::from_utf8(bytes)
        .map_err(|_| format!("has a path that is not UTF-8: `{shown}`"))?;
    if path.starts_with('/') || (cfg!(windows) && path.contains(['\\', ':'])) {
        return Err(format!("has an absolute path: `{shown}`"));
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return Err(format!("has a path that leads out of it: `{shown}`"));
    }
    if path.len() > PATH_BYTES_MAX
        || parts.len() > DEPTH_MAX
        || parts.iter().any(|part| part.len() > 255)
    {
        return Err("has a path that is too long".to_owned());
    }
    if path.chars().any(char::is_control) {
        return Err(format!("has a path with control characters: `{shown}`"));
    }
    Ok(parts.join("/"))
}

impl Unpacking<'_> {
    fn count_file(&mut self) -> Result<(), String> {
        self.files += 1;
        if self.files > self.limits.files {
            return Err(format!("has more than {} files", self.limits.files));
        }
        Ok(())
    }

    fn entry(&mut self, mut entry: tar::Entry<'_, impl Read>) -> Result<(), String> {
        let kind = entry.header().entry_type();
        self.entries += 1;
        if self.entries > self.limits.files.saturating_mul(4) {
            return Err("has too many entries".to_owned());
        }
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let path = checked_path(&entry.path_bytes())?;
        match kind {
            EntryType::Directory => {
                self.directory(&path)?;
            }
            _ if path.is_empty() => return Err("has a file without a name".to_owned()),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.count_file()?;
                self.file(&path, &mut entry)?;
            }
            EntryType::Symlink | EntryType::Link => {
                self.count_file()?;
                let target = entry.link_name_bytes().unwrap_or_default();
                let target = String::from_utf8_lossy(&target).into_owned();
                let base = match path.rsplit_once('/') {
                    Some((parent, _)) if kind == EntryType::Symlink => parent,
                    _ => ".",
                };
                let joined = join(base, &target);
                if joined.starts_with('/') || joined == ".." || joined.starts_with("../") {
                    return Err(format!(
                        "has a link that leads out of it: `{path}` to `{}`",
                        target.escape_debug()
                    ));
                }
                self.links.insert(path, joined);
            }
            _ => return Err(format!("has something that is no file: `{path}`")),
        }
        Ok(())
    }

    fn directory(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.into.join(path);
        fs::create_dir_all(&full)
            .map_err(|error| format!("cannot be unpacked: `{path}`: {error}"))?;
        Ok(full)
    }

    fn file(&mut self, path: &str, content: &mut impl Read) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot be unpacked: `{path}`: {error}");
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent)?;
        }
        let full = self.into.join(path);
        // An archive that was added to has the newer file last.
        match fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = fs::File::create_new(&full).map_err(failed)?;
        let left = self.limits.bytes - self.bytes;
        let written =
            io::copy(&mut content.take(left.saturating_add(1)), &mut file).map_err(failed)?;
        if written > left {
            return Err(format!("has more than {} bytes", self.limits.bytes));
        }
        self.bytes += written;
        Ok(())
    }

    /// Makes copies of what links name. Links to directories and to nothing are left out.
    fn copy_links(&mut self) -> Result<(), String> {
        loop {
            let ready = self.links.iter().find(|(path, target)| {
                self.into.join(target).is_file() && !self.into.join(path).exists()
            });
            let Some((path, target)) = ready.map(|(path, target)| (path.clone(), target.clone()))
            else {
                return Ok(());
            };
            self.links.remove(&path);
            let failed = |error: io::Error| format!("cannot be unpacked: `{path}`: {error}");
            let mut content = fs::File::open(self.into.join(&target)).map_err(failed)?;
            self.file(&path, &mut content)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SMALL: Limits = Limits {
        bytes: 100_000,
        files: 20,
    };

    fn header(kind: EntryType, path: &str, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        // Not through the checks of the crate.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        header
    }

    fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (kind, path, content) in entries {
            let mut header = header(*kind, path, 0);
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
                header.set_cksum();
                builder.append(&header, io::empty()).unwrap();
            } else {
                header.set_size(content.len() as u64);
                header.set_cksum();
                builder.append(&header, content.as_bytes()).unwrap();
            }
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<tempfile::TempDir, String> {
        let directory = tempfile::tempdir().unwrap();
        let into = directory.path().join("inside");
        fs::create_dir(&into).unwrap();
        let result = unpack(bytes, "a.tgz", &into, SMALL);
        let others = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(others, 1, "something was written outside");
        result
            .map(|()| directory)
            .map_err(|problem| problem.to_string())
    }

    fn refused(bytes: &[u8], part: &str) {
        let message = unpacked(bytes).expect_err(part);
        assert!(message.contains(part), "no `{part}` in {message}");
    }

    #[test]
    fn archives_are_unpacked() {
        use EntryType::*;
        let bytes = archive(&[
            (Directory, "p-1/", ""),
            (Regular, "./p-1/src/a b.sld", "(a)"),
            (Regular, "p-1/é.scm", "2"),
            (Symlink, "p-1/link.sld", "src/a b.sld"),
            (Symlink, "p-1/again.sld", "link.sld"),
            (Symlink, "p-1/dangling", "nowhere"),
            (Link, "p-1/hard", "p-1/é.scm"),
        ]);
        for bytes in [bytes.clone(), gzip(&bytes)] {
            let directory = unpacked(&bytes).unwrap();
            let read = |path: &str| {
                fs::read_to_string(directory.path().join("inside/p-1").join(path)).unwrap()
            };
            assert_eq!(read("src/a b.sld"), "(a)");
            assert_eq!(read("link.sld"), "(a)");
            assert_eq!(read("again.sld"), "(a)");
            assert_eq!(read("hard"), "2");
            assert!(!directory.path().join("inside/p-1/dangling").exists());
        }
    }

    #[test]
    fn what_leads_out_is_refused() {
        use EntryType::*;
        refused(&archive(&[(Regular, "../x", "1")]), "leads out");
        refused(&archive(&[(Regular, "a/../../x", "1")]), "leads out");
        refused(&archive(&[(Regular, "/tmp/x", "1")]), "absolute");
        refused(&archive(&[(Regular, "a\nb", "1")]), "control");
        refused(&archive(&[(Symlink, "a", "/etc/passwd")]), "leads out");
        refused(&archive(&[(Symlink, "a/b", "../../x")]), "leads out");
        refused(&archive(&[(Link, "a/b", "../x")]), "leads out");
        refused(&archive(&[(Char, "tty", "")]), "no file");
        refused(&archive(&[(Fifo, "pipe", "")]), "no file");
        // A file below a link is a file below a directory, since no link is ever made.
        let bytes = archive(&[
            (Symlink, "d", "src"),
            (Regular, "d/x", "1"),
            (Regular, "src/y", "2"),
        ]);
        assert!(
            unpacked(&bytes)
                .unwrap()
                .path()
                .join("inside/d/x")
                .is_file()
        );
    }

    #[test]
    fn bombs_are_refused() {
        let zeros = vec![0; 50 << 20];
        let mut builder = tar::Builder::new(Vec::new());
        builder
            .append(
                &header(EntryType::Regular, "z", zeros.len() as u64),
                zeros.as_slice(),
            )
            .unwrap();
        refused(
            &gzip(&builder.into_inner().unwrap()),
            "more than 100000 bytes",
        );
        let names: Vec<String> = (0..30).map(|index| format!("f{index}")).collect();
        let many: Vec<_> = names
            .iter()
            .map(|name| (EntryType::Regular, name.as_str(), ""))
            .collect();
        refused(&archive(&many), "more than 20 files");
        let many: Vec<_> = (0..200).map(|_| (EntryType::Directory, "d/", "")).collect();
        refused(&archive(&many), "too many entries");
        // A link copies what it names, and copies count.
        let big = "x".repeat(60_000);
        refused(
            &archive(&[
                (EntryType::Regular, "a", &big),
                (EntryType::Symlink, "b", "a"),
            ]),
            "more than 100000 bytes",
        );
    }

    #[test]
    fn garbage_is_refused() {
        refused(b"", "is empty");
        refused(b"PK\x03\x04 and more", "a zip file");
        refused(b"<!DOCTYPE html><title>404</title>", "HTML");
        refused(&[0; 2048], "no files");
        refused(&vec![b'x'; 4096], "no tar archive");
        let whole = gzip(&archive(&[(
            EntryType::Regular,
            "a",
            &"text ".repeat(1000),
        )]));
        refused(&whole[..whole.len() / 2], "damaged");
        let mut broken = whole.clone();
        broken[20] ^= 0xFF;
        assert!(unpacked(&broken).is_err());
        let plain = archive(&[(EntryType::Regular, "a", &"text ".repeat(1000))]);
        assert!(unpacked(&plain[..1000]).is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
        #[test]
        fn damaged_archives_write_nothing_outside(
            position in 0usize..3000, value in proptest::prelude::any::<u8>(), cut in 0usize..3000,
        ) {
            let mut bytes = archive(&[
                (EntryType::Regular, "p/a", "one"),
                (EntryType::Symlink, "p/b", "a"),
                (EntryType::Regular, "p/c", "two"),
            ]);
            let length = bytes.len();
            bytes[position % length] = value;
            bytes.truncate(length - cut % length);
            let _ = unpacked(&bytes);
        }
    }
}
