//! Static sites from Markdown: pages with navigation, highlighted Scheme, search, and no dead link.
//!
//! A [`Site`] is groups of pages and other files. [`render`] gives the files of the site: HTML without
//! anything from elsewhere, which works from a server and from a directory. The same site gives the
//! same bytes. Links are those of the sources: to other Markdown files, to files, to headings. One that
//! leads nowhere is a [`Problem`].
//!
//! The crate knows nothing of Scheme beyond its lexis, and touches no file.
#![forbid(unsafe_code)]

mod anchor;
mod highlight;
mod links;
mod markdown;
mod search;
mod template;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use markdown::Rendered;

/// A site to be made.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The name of the site, which all pages show.
    pub title: String,
    /// The page that is `index.html`, outside of the groups.
    pub home: Page,
    /// The groups, in the order of the navigation.
    pub groups: Vec<Group>,
    /// Other files that pages may link to, such as pictures, by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Paths that links may name although the site does not have them: their text stays, the link goes.
    pub elsewhere: BTreeSet<String>,
}

/// Pages that belong together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The text in the navigation.
    pub title: String,
    /// The pages; the first one is what the group's name leads to.
    pub pages: Vec<Page>,
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The path of its source, which links begin at: `guide/match.md`.
    pub path: String,
    /// The text.
    pub markdown: String,
    /// A heading above it in the navigation, shared with its neighbours; may be empty.
    pub section: String,
}

/// Something that is wrong with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path of the page's source.
    pub path: String,
    /// The message about it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

/// A page with what the others need to know of it.
struct Finished<'s> {
    page: &'s Page,
    /// The group, or nothing for the home page.
    group: Option<usize>,
    /// The path in the site.
    target: String,
    rendered: Rendered,
}

/// The files of the site by path, or what is wrong.
pub fn render(site: &Site) -> Result<BTreeMap<String, Vec<u8>>, Vec<Problem>> {
    let mut finished = vec![finish(&site.home, None)];
    for (index, group) in site.groups.iter().enumerate() {
        finished.extend(group.pages.iter().map(|page| finish(page, Some(index))));
    }
    let problems = links::resolve(site, &mut finished);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (index, page) in finished.iter().enumerate() {
        let html = template::page(site, &finished, index);
        files.insert(page.target.clone(), html.into_bytes());
    }
    let assets = [
        ("assets/style.css", include_str!("style.css").to_owned()),
        ("assets/script.js", include_str!("script.js").to_owned()),
        ("assets/search.js", search::index(&finished)),
    ];
    files.extend(assets.map(|(path, text)| (path.to_owned(), text.into_bytes())));
    files.extend(links::used_files(site, &finished));
    Ok(files)
}

fn finish(page: &Page, group: Option<usize>) -> Finished<'_> {
    Finished {
        page,
        group,
        target: match group {
            Some(_) => target_path(&page.path),
            None => "index.html".to_owned(),
        },
        rendered: markdown::render(&page.markdown, page.path.starts_with("reference/")),
    }
}

/// The path of a page in the site: `guide/match.html`; a `README.md` is its directory's `index.html`.
fn target_path(path: &str) -> String {
    let stem = path.strip_suffix(".md").unwrap_or(path);
    match stem.strip_suffix("README") {
        Some(directory) if directory.is_empty() || directory.ends_with('/') => {
            format!("{directory}index.html")
        }
        _ => format!("{stem}.html"),
    }
}

/// The way from a file of the site to another: `../guide/match.html`.
fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = to.split('/').collect();
    let common = from[..from.len() - 1]
        .iter()
        .zip(&to[..to.len() - 1])
        .take_while(|(left, right)| left == right)
        .count();
    let mut way = "../".repeat(from.len() - 1 - common);
    way.push_str(&to[common..].join("/"));
    way
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            one => html.push(one),
        }
    }
    html
}
