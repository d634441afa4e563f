//! Every example prints what `examples/expected/NAME.txt` says, given `examples/input/NAME.txt` as its
//! standard input where that exists. `CANNY_BLESS=1` writes the expectations.

mod support;

use support::{Canny, blessing, programs, root, scratch};

#[test]
fn examples_print_what_is_expected() {
    let directory = root().join("examples");
    let examples = programs(&directory);
    assert!(
        examples.len() >= 5,
        "only {} examples were found",
        examples.len()
    );
    let mut wrong = Vec::new();
    for path in examples {
        let name = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let mut run = Canny::new(scratch(), &[path.to_str().expect("the path is UTF-8")]);
        let input = directory.join(format!("input/{name}.txt"));
        if input.exists() {
            run = run.input_file(input);
        }
        let outcome = run.run();
        let expectation = directory.join(format!("expected/{name}.txt"));
        if blessing() {
            std::fs::write(&expectation, &outcome.output).expect("the expectation can be written");
        }
        let expected = std::fs::read_to_string(&expectation).unwrap_or_default();
        if outcome.code != Some(0) || outcome.output != expected || !outcome.errors.is_empty() {
            wrong.push(format!("{name}: {outcome:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
