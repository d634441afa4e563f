//! The examples of the guides are true: a `scheme` block whose lines say `;=> value` is evaluated form by form, in one session
//! for each guide, and what is printed has to be those values.

mod support;

use support::{Canny, root, scratch};

/// Marks what an expression prints, its value above all.
const MARK: &str = ";=> ";

/// The text of all `scheme` blocks of a page.
fn scheme_blocks(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line.trim_end() {
            "```scheme" => inside = true,
            "```" => inside = false,
            code if inside => {
                text.push_str(code);
                text.push('\n');
            }
            _ => {}
        }
    }
    text
}

#[test]
fn guides_tell_the_truth() {
    let directory = root().join("docs/guide");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&directory).expect("there are guides") {
        let path = entry.expect("the directory is readable").path();
        let page = std::fs::read_to_string(&path).expect("a guide is text");
        let program = scheme_blocks(&page);
        let expected: String = program
            .lines()
            .filter_map(|line| line.split_once(MARK))
            .map(|(_, value)| format!("{}\n", value.trim_end()))
            .collect();
        if expected.is_empty() {
            continue;
        }
        checked += 1;
        let outcome = Canny::new(scratch(), &["-e", &program]).run();
        if outcome.code != Some(0) || outcome.output != expected || !outcome.errors.is_empty() {
            wrong.push(format!(
                "{}: expected\n{expected}but got {outcome:#?}",
                path.display()
            ));
        }
    }
    assert!(checked > 0, "no guide has an example with `{MARK}`");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
