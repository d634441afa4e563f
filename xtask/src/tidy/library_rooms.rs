//! Libraries directly in `lib/canny` are for programs; those that only other libraries import are in
//! its directories.
//!
//! A library for programs has a page in `docs/reference`. Directories may have libraries of both kinds:
//! `(canny web server)` has a page, `(canny web server log-writer)` has none.

use std::path::{Path, PathBuf};

use super::Complaint;

const LIBRARIES: &str = "lib/canny";
const PAGES: &str = "docs/reference/canny";

/// Libraries for programs of others, not of people: their pages are elsewhere.
const WITHOUT_PAGE: &[(&str, &str)] = &[("geiser", "docs/howto/edit-with-emacs.md")];

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let directory = root.join(LIBRARIES);
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".sld").map(str::to_owned)
        })
        .collect();
    names.sort();
    let mut complaints = Vec::new();
    for name in names {
        if !root.join(page_of(&name)).exists() {
            complaints.push(Complaint {
                path: PathBuf::from(LIBRARIES).join(format!("{name}.sld")),
                line: None,
                message: format!(
                    "has no page in {PAGES}: a library that programs do not import belongs in a \
                     directory, as `{LIBRARIES}/data`"
                ),
            });
        }
    }
    Ok(complaints)
}

/// The page that tells people of a library.
fn page_of(name: &str) -> PathBuf {
    let elsewhere = WITHOUT_PAGE.iter().find(|(known, _)| *known == name);
    match elsewhere {
        Some((_, page)) => PathBuf::from(page),
        None => PathBuf::from(PAGES).join(format!("{name}.md")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_the_page_of_its_name_or_one_of_the_list() {
        assert_eq!(page_of("json"), Path::new("docs/reference/canny/json.md"));
        assert_eq!(
            page_of("geiser"),
            Path::new("docs/howto/edit-with-emacs.md")
        );
    }
}
