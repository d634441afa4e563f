//! Writes a static site about the libraries and programs of a project.
//!
//! Documents become pages; `canny_pages` makes HTML, navigation and search of them, and checks
//! links. The output directory is written only after all pages were made.

use std::path::Path;

use canny_documentation::Document;
use canny_pages::{Group, Page, Site, render};

use super::{Failure, find, markdown};
use crate::exit_code;
use crate::options::Options;

/// Writes a site about what is documented in files and directories.
pub fn write(options: &Options, operands: &[String], directory: &Path) -> Result<u8, Failure> {
    let mut extractor = find::extractor(options);
    let here = [".".to_owned()];
    let operands = if operands.is_empty() {
        &here[..]
    } else {
        operands
    };
    let mut documents = Vec::new();
    for operand in operands {
        documents.extend(find::documents_of(&mut extractor, Path::new(operand))?);
    }
    documents.sort_by(|left, right| left.name.cmp(&right.name));
    documents.dedup_by(|left, right| left.name == right.name);
    let group = |title: &str, is_library: bool| Group {
        title: title.to_owned(),
        pages: documents
            .iter()
            .filter(|document| document.is_library == is_library)
            .map(|document| page(document))
            .collect(),
    };
    let mut groups = vec![group("Libraries", true), group("Programs", false)];
    groups.retain(|group| !group.pages.is_empty());
    let title = project_name();
    let mut home = format!("# {title}\n\nThe libraries and programs of this project.\n");
    for group in &groups {
        home.push_str(&format!("\n## {}\n\n", group.title));
        for page in &group.pages {
            let name = page.markdown.lines().next().unwrap_or_default();
            let found = documents.iter().find(|document| name[2..] == document.name);
            let summary = found.map(|document| document.summary()).unwrap_or_default();
            let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
            home.push_str(&format!("- [{}](<{}>) {summary}\n", &name[2..], page.path));
        }
    }
    let site = Site {
        title,
        home: Page {
            path: "index.md".to_owned(),
            markdown: home,
            section: String::new(),
        },
        groups,
        ..Site::default()
    };
    let files = render(&site).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure {
            message: format!("dead links\n{}", lines.join("\n")),
            code: exit_code::DATA,
        }
    })?;
    for (path, content) in &files {
        let path = directory.join(path);
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
            std::fs::write(&path, content)
        };
        write().map_err(|error| Failure::of_file("write", &path, &error))?;
    }
    println!(
        "{}: {} pages",
        directory.join("index.html").display(),
        documents.len()
    );
    Ok(0)
}

fn page(document: &Document) -> Page {
    let path = if document.is_library {
        format!("reference/{}", markdown::page_path(&document.name))
    } else {
        // A file's directories are no directories of the site's.
        format!(
            "reference/program/{}.md",
            document.name.replace(['/', '\\', ':'], "-")
        )
    };
    Page {
        path,
        markdown: markdown::full_page(document),
        section: String::new(),
    }
}

/// The name of the directory that this is.
fn project_name() -> String {
    let here = std::env::current_dir().ok();
    here.as_deref().and_then(Path::file_name).map_or_else(
        || "Documentation".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
