//! Scheme sources are laid out by `canny fmt`.
//!
//! Looked at are the directories below. Elsewhere the layout is part of what is tested or shown:
//! filetests of the crates, the wrong programs of `docs/messages`, what `xtask` itself feeds to other
//! implementations.

use std::path::Path;

use super::{Complaint, relative};
use crate::workspace;

const DIRECTORIES: &[&str] = &["benches", "examples", "lib", "tests"];

/// Files that stay as they are: their odd layout is what they test.
const AS_THEY_ARE: &[&str] = &[];

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for directory in DIRECTORIES {
        for extension in ["scm", "sld"] {
            for path in workspace::files(&root.join(directory), extension) {
                let shown = relative(root, &path);
                if AS_THEY_ARE.iter().any(|kept| shown == Path::new(kept)) {
                    continue;
                }
                let text = workspace::read(&path)?;
                complaints.extend(complaint(&text).map(|(line, message)| Complaint {
                    path: shown,
                    line,
                    message,
                }));
            }
        }
    }
    for kept in AS_THEY_ARE {
        if !root.join(kept).exists() {
            complaints.push(Complaint {
                path: Path::new(kept).to_path_buf(),
                line: None,
                message: "is in the list of files that are not laid out, and not there".to_owned(),
            });
        }
    }
    Ok(complaints)
}

/// The fault of a text's layout, and its line.
fn complaint(text: &str) -> Option<(Option<usize>, String)> {
    let laid_out = match canny_format::format(text) {
        Ok(laid_out) => laid_out,
        Err(error) => return Some((Some(error.line), error.message)),
    };
    if laid_out == text {
        return None;
    }
    let same = laid_out.lines().zip(text.lines());
    let line = same.take_while(|(one, other)| one == other).count() + 1;
    Some((
        Some(line),
        "is laid out otherwise by `canny fmt`".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(complaint("(a)\n(b\n c)\n"), None);
        let (line, _) = complaint("(a)\n(b\n    c)\n").expect("it differs");
        assert_eq!(line, Some(3));
        let (line, message) = complaint("(a)\n(b\n").expect("it is not balanced");
        assert_eq!(
            (line, message.as_str()),
            (Some(2), "this paren is never closed")
        );
    }
}
