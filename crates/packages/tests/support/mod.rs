//! A directory with projects, packages and a store, and short ways to name sources and problems.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use canny_packages::fields::Platform;
use canny_packages::name::PackageName;
use canny_packages::problem::Problem;
use canny_packages::project;
use canny_packages::source::{Dependency, Reference, Source, Wish};
use canny_packages::store::Store;
use canny_packages::workplace::{Done, Workplace};
use canny_syntax::span::{SourceMap, Span};

/// A directory with projects, packages and a store.
pub struct World {
    pub directory: tempfile::TempDir,
}

pub fn platform() -> Platform {
    Platform {
        features: vec!["r7rs".to_owned(), "canny".to_owned()],
        has_library: |key| key.starts_with("(scheme ") || key == "(srfi 1)",
    }
}

impl World {
    pub fn new(files: &[(&str, &str)]) -> World {
        let world = World {
            directory: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn store(&self) -> Store {
        Store::new(self.path("store"))
    }

    pub fn place(&self) -> Workplace {
        Workplace::find(&self.path("app"), self.store(), platform(), false).unwrap()
    }

    pub fn offline(&self) -> Workplace {
        Workplace::find(&self.path("app"), self.store(), platform(), true).unwrap()
    }

    pub fn add(&self, name: &str, source: Source) -> Result<Done, Problem> {
        self.place()
            .add(&dependency(name, Wish::Source(source)), false)
    }

    /// The libraries that a run would find, with their files from the world's directory.
    pub fn libraries(&self) -> Result<Vec<String>, Problem> {
        let root = self.path("app");
        let project = project::open(&SourceMap::new(), &root, Some(&self.store()), &platform())?;
        let mut shown = Vec::new();
        for (name, path) in &project.libraries {
            assert!(path.is_file(), "{}", path.display());
            let place = path
                .strip_prefix(self.directory.path())
                .unwrap()
                .display()
                .to_string();
            let mut parts: Vec<&str> = place.split('/').collect();
            if parts[0] == "store" {
                parts.drain(1..3);
            }
            shown.push(format!("{name} {}", parts.join("/")));
        }
        Ok(shown)
    }

    /// A tar archive of files, compressed.
    pub fn archive(&self, path: &str, files: &[(&str, &str)]) {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
        let file = fs::File::create(self.path(path)).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        encoder.write_all(&builder.into_inner().unwrap()).unwrap();
        encoder.finish().unwrap();
    }

    pub fn git(&self, directory: &str, words: &[&str]) -> String {
        git(&self.path(directory), words)
    }

    /// A repository with one commit of what is in its directory.
    pub fn repository(&self, directory: &str) -> String {
        self.git(directory, &["init", "--quiet", "--initial-branch=main"]);
        self.commit(directory)
    }

    pub fn commit(&self, directory: &str) -> String {
        self.git(directory, &["add", "--all"]);
        self.git(directory, &["commit", "--quiet", "--message=x"]);
        self.git(directory, &["rev-parse", "HEAD"])
            .trim()
            .to_owned()
    }
}

pub fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub fn dependency(name: &str, wish: Wish) -> Dependency {
    Dependency {
        name: PackageName::new(name).unwrap(),
        wish,
        span: Span::NONE,
    }
}

pub fn directory(path: &str) -> Source {
    Source::Directory {
        path: path.to_owned(),
    }
}

pub fn archive(path: &str) -> Source {
    Source::Archive {
        location: path.to_owned(),
        sha256: None,
        path: None,
    }
}

pub fn repository(path: &str, reference: Reference) -> Source {
    Source::Git {
        url: path.to_owned(),
        reference,
        path: None,
    }
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, Problem>, code: &str, parts: &[&str]) {
    let problem = result.unwrap_err();
    let all: Vec<String> = problem
        .diagnostics
        .iter()
        .flat_map(|one| std::iter::once(one.message.clone()).chain(one.notes.clone()))
        .collect();
    let all = all.join("\n");
    assert_eq!(problem.code(), code, "{all}");
    for part in parts {
        assert!(all.contains(part), "no `{part}` in\n{all}");
    }
}

pub const JSON: &str = "(define-library (json) (export) (import (scheme base)))";
pub const TEXT: &str = "(define-library (text) (export) (import (scheme base)))";
pub const APP: (&str, &str) = (
    "app/package.scm",
    "(package\n  (name app)\n  (version \"0.1.0\"))\n",
);
