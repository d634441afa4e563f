//! `cargo xtask fuzz`: builds and runs the fuzzer, a crate of its own because it links the project's
//! crates and this one must build quickly.

use crate::arguments::Arguments;
use crate::workspace;

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    let mut words = vec!["run", "--quiet", "--package", "canny-fuzz", "--"];
    let given = arguments.rest();
    words.extend(given.iter().map(String::as_str));
    workspace::cargo(&words, &[])
}
