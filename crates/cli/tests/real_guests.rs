//! Guests of others: esbuild, Ruby and Python, interpreted and with machine code.
//!
//! `CANNY_REAL_GUESTS` is the directory that docs/howto/run-real-guests.md says how to fill. A guest that
//! is missing there is skipped with a message.

mod support;

use std::path::PathBuf;

use support::{Canny, scratch};

const POLICIES: [&str; 2] = ["never", "hot"];

fn guest(name: &str) -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("CANNY_REAL_GUESTS").map(PathBuf::from) else {
        eprintln!("skipped: CANNY_REAL_GUESTS is not set");
        return None;
    };
    let path = directory.join(name);
    if !path.is_file() {
        eprintln!("skipped: {} is missing", path.display());
        return None;
    }
    Some(path)
}

/// A run of `canny` with a guest beside its files, in a directory of its own.
fn run(name: &str, words: &[&str], policy: &str) -> Option<Canny> {
    let path = guest(name)?;
    let directory = scratch();
    std::os::unix::fs::symlink(path, directory.join(name)).expect("a link can be made");
    std::fs::create_dir(directory.join("data")).expect("a directory can be made");
    Some(Canny::new(directory, words).environment("CANNY_GUEST_CODE", policy))
}

/// The bundle is that of esbuild 0.27.2 for the processor.
#[test]
fn esbuild_makes_a_bundle() {
    for policy in POLICIES {
        let words = [
            "wasm",
            "--dir",
            ".::/",
            "esbuild.wasm",
            "data/main.tsx",
            "--bundle",
            "--target=es2015",
        ];
        let Some(canny) = run("esbuild.wasm", &words, policy) else {
            return;
        };
        let outcome = canny
            .file(
                "data/main.tsx",
                "import { square } from './square'\nimport values from './values.json'\n\
                 console.log(square(3), values.list, <p id=\"a\">{values.name}</p>)\n",
            )
            .file(
                "data/square.ts",
                "export const square = (n: number): number => n ** 2\n\
                 export const unused = () => 'left out'\n",
            )
            .file(
                "data/values.json",
                r#"{ "name": "values", "list": [1, 2, 3] }"#,
            )
            .run();
        outcome
            .exits_with(0)
            .prints(include_str!("real_guests/bundle.js"));
    }
}

const RUBY: &str = r#"6765
[["the", 3], ["brown", 1], ["dog", 1]]
{"a":[1,2.5,null],"b":{"c":"ü"}}
caught
[1, 2]
7
14400376622525549608547603031202889616850944000000000000
from Ruby
abc246def
2
(status 0)
"#;

#[test]
fn ruby_runs_a_program() {
    for policy in POLICIES {
        let Some(canny) = run("ruby.wasm", &["ruby.scm"], policy) else {
            return;
        };
        let outcome = canny
            .file("ruby.scm", include_str!("real_guests/ruby.scm"))
            .file("hello.rb", include_str!("real_guests/hello.rb"))
            .run();
        outcome.exits_with(0).prints(RUBY).complains("to stderr");
    }
}

const PYTHON: &str = r#"{"words": 3, "sha": "ba7816bf8f01cfea"}
sum 199999
file content
['in.txt', 'out.txt']
caught 'x'
"#;

#[test]
fn python_runs_a_program() {
    for policy in POLICIES {
        let words = ["wasm", "--dir", "data::/data", "python.wasm"];
        let Some(canny) = run("python.wasm", &words, policy) else {
            return;
        };
        let outcome = canny
            .file("data/in.txt", "content\n")
            .input("one two three\n")
            .run();
        outcome.exits_with(0).prints(PYTHON).complains("to stderr");
    }
}
