//! Pages for people: one with all files, one for each file with its source. They need no script and
//! ask no other host for anything.

use std::path::Path;

use super::{Coverage, FileCoverage, Share, Shares, shown_path};

const STYLE: &str = "\
:root{color-scheme:light dark;--good:#d7f5dd;--bad:#fbdcdc;--part:#fdf0c4;--line:#8886}
@media(prefers-color-scheme:dark){:root{--good:#12401f;--bad:#561e1e;--part:#4d4010}}
body{font:15px system-ui,sans-serif;margin:2em;max-width:75em}
table{border-collapse:collapse}
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid var(--line)}
td:first-child,th:first-child{text-align:left}
.source td{border:0;padding:0 .6em;font:13px/1.45 ui-monospace,monospace;white-space:pre}
.source td:nth-child(-n+2){color:#888;text-align:right;user-select:none}
.source td:last-child{text-align:left;width:100%}
.good{background:var(--good)}.bad{background:var(--bad)}.part{background:var(--part)}
meter{width:8em}";

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            control if control.is_control() && control != '\t' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n{body}</html>\n",
        title = escaped(title)
    )
}

fn cells(shares: Shares) -> String {
    let cell = |share: Share| match share.found {
        0 => "<td>-<td>".to_owned(),
        found => format!("<td>{:.1} %<td>{} of {found}", share.percent(), share.hit),
    };
    [shares.lines, shares.branches, shares.functions]
        .map(cell)
        .concat()
}

const HEADS: &str = "<th colspan=2>lines<th colspan=2>branches<th colspan=2>procedures";

/// The page of all files, and the name of each file's page.
pub fn index(coverage: &Coverage, root: &Path) -> String {
    let mut body = format!("<table><tr><th>file{HEADS}<th>\n");
    for (number, (path, file)) in coverage.files.iter().enumerate() {
        let shares = file.shares();
        body += &format!(
            "<tr><td><a href=\"{}\">{}</a>{}<td><meter max=100 low=60 high=80 optimum=100 \
             value={:.1}></meter>\n",
            page_name(number),
            escaped(shown_path(path, root)),
            cells(shares),
            shares.lines.percent()
        );
    }
    body += &format!("<tr><th>all{}<td></table>\n", cells(coverage.shares()));
    page("Coverage", &body)
}

/// The name of the page of a file, by its place among the files.
pub fn page_name(number: usize) -> String {
    format!("{number}.html")
}

/// The page of a file.
pub fn source_page(path: &str, root: &Path, file: &FileCoverage, text: &str) -> String {
    let mut body = format!(
        "<p><a href=\"index.html\">All files</a></p>\n<table><tr><th>{HEADS}\n<tr><td>{}</table>\n\
         <p><span class=good> ran </span> <span class=part> some branches only </span> \
         <span class=bad> did not run </span></p>\n<table class=source>\n",
        cells(file.shares())
    );
    for (index, line) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let missing = missing_branches(file, number);
        let (class, count) = match file.lines.get(&number) {
            None => ("", String::new()),
            Some(0) => (" class=bad", "0".to_owned()),
            Some(count) if missing.is_empty() => (" class=good", count.to_string()),
            Some(count) => (" class=part", count.to_string()),
        };
        let title = match missing.as_str() {
            "" => String::new(),
            missing => format!(" title=\"{}\"", escaped(missing)),
        };
        body += &format!(
            "<tr{class}{title}><td id=L{number}>{number}<td>{count}<td>{}\n",
            escaped(line)
        );
    }
    body += "</table>\n";
    page(shown_path(path, root), &body)
}

/// A sentence about the branches of a line that were not taken.
fn missing_branches(file: &FileCoverage, line: u32) -> String {
    let mut decisions: Vec<(u32, u64, u64)> = Vec::new();
    for (branch, count) in file.branches_of(line) {
        let taken = u64::from(*count > 0);
        match decisions.last_mut() {
            Some((decision, found, hit)) if *decision == branch.decision => {
                *found += 1;
                *hit += taken;
            }
            _ => decisions.push((branch.decision, 1, taken)),
        }
    }
    let found: u64 = decisions.iter().map(|row| row.1).sum();
    let hit: u64 = decisions.iter().map(|row| row.2).sum();
    if found == hit {
        return String::new();
    }
    format!("{} of {found} branches were not taken", found - hit)
}
