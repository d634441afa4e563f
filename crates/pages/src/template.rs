//! The HTML around a page's text: header, navigation, contents, and links to the neighbours.
//!
//! All pages have the same frame. Links in it are relative, so that a site works in any directory
//! and from a disk.

use std::fmt::Write;

use crate::{Finished, Site, escaped, relative};

/// The HTML of a page.
pub(crate) fn page(site: &Site, pages: &[Finished], index: usize) -> String {
    let page = &pages[index];
    let to = |target: &str| relative(&page.target, target);
    let title = &page.rendered.title;
    let full_title = match page.group {
        None => site.title.clone(),
        Some(_) => format!("{title} · {}", site.title),
    };
    let kind = if page.group.is_none() {
        " class=\"home\""
    } else {
        ""
    };
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <link rel=\"stylesheet\" href=\"{}\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <script>try{{var t=localStorage.getItem('theme');if(t)document.documentElement.dataset.theme=t}}catch(e){{}}</script>\n\
         </head>\n<body{kind} data-root=\"{}\">\n",
        escaped(&full_title),
        to("assets/style.css"),
        to("index.html")
            .strip_suffix("index.html")
            .unwrap_or_default(),
    );
    header(&mut html, site, pages, page);
    html.push_str("<div class=\"columns\">\n");
    if page.group.is_some() {
        navigation(&mut html, site, pages, page);
    }
    let _ = write!(
        html,
        "<main id=\"main\">\n<article>\n{}</article>\n",
        page.rendered.html
    );
    neighbours(&mut html, pages, index);
    html.push_str("</main>\n");
    contents(&mut html, page);
    let _ = write!(
        html,
        "</div>\n<script src=\"{}\"></script>\n</body>\n</html>\n",
        to("assets/script.js")
    );
    html
}

fn header(html: &mut String, site: &Site, pages: &[Finished], page: &Finished) {
    let home = relative(&page.target, "index.html");
    let _ = write!(
        html,
        "<a class=\"skip\" href=\"#main\">Skip to the text</a>\n<header>\n<a class=\"brand\" href=\"{home}\">\
         <span class=\"logo\" aria-hidden=\"true\">(λ)</span>{}</a>\n<nav class=\"groups\" \
         aria-label=\"Parts\">",
        escaped(&site.title)
    );
    for (number, group) in site.groups.iter().enumerate() {
        let Some(first) = pages.iter().find(|one| one.group == Some(number)) else {
            continue;
        };
        let current = if page.group == Some(number) {
            " aria-current=\"true\""
        } else {
            ""
        };
        let _ = write!(
            html,
            "<a href=\"{}\"{current}>{}</a>",
            relative(&page.target, &first.target),
            escaped(&group.title)
        );
    }
    html.push_str(
        "</nav>\n<div class=\"tools\"><div class=\"search\" role=\"search\">\
         <input type=\"search\" id=\"query\" placeholder=\"Search\" aria-label=\"Search\" \
         autocomplete=\"off\" spellcheck=\"false\">\
         <kbd>/</kbd><ol id=\"results\" hidden></ol></div>\
         <button id=\"theme\" type=\"button\" aria-label=\"Light or dark\">◐</button></div>\n</header>\n",
    );
}

/// The pages of the group.
fn navigation(html: &mut String, site: &Site, pages: &[Finished], page: &Finished) {
    let Some(group) = page.group else {
        return;
    };
    let _ = write!(
        html,
        "<nav class=\"side\" aria-label=\"{0}\">\n<details class=\"menu\" \
         open><summary>{0}</summary>\n<ul>\n",
        escaped(&site.groups[group].title)
    );
    let mut section = "";
    for other in pages.iter().filter(|other| other.group == Some(group)) {
        if other.page.section != section {
            section = &other.page.section;
            let _ = writeln!(html, "<li class=\"section\">{}</li>", escaped(section));
        }
        let current = if other.target == page.target {
            " aria-current=\"page\""
        } else {
            ""
        };
        let _ = writeln!(
            html,
            "<li><a href=\"{}\"{current}>{}</a></li>",
            relative(&page.target, &other.target),
            escaped(&other.rendered.title)
        );
    }
    html.push_str("</ul>\n</details>\n</nav>\n");
}

/// Writes the table of contents of a page.
fn contents(html: &mut String, page: &Finished) {
    if page.rendered.headings.len() < 3 || page.group.is_none() {
        return;
    }
    html.push_str("<aside class=\"contents\">\n<p>On this page</p>\n<ul>\n");
    for heading in &page.rendered.headings {
        let _ = writeln!(
            html,
            "<li class=\"level{}\"><a href=\"#{}\">{}</a></li>",
            heading.level, heading.anchor, heading.html
        );
    }
    html.push_str("</ul>\n</aside>\n");
}

/// The pages before and behind it in its group.
fn neighbours(html: &mut String, pages: &[Finished], index: usize) {
    let page = &pages[index];
    if page.group.is_none() {
        return;
    }
    let same = |other: Option<&Finished>| {
        other
            .filter(|other| other.group == page.group)
            .map(|other| {
                (
                    relative(&page.target, &other.target),
                    escaped(&other.rendered.title),
                )
            })
    };
    let before = same(index.checked_sub(1).and_then(|index| pages.get(index)));
    let behind = same(pages.get(index + 1));
    if before.is_none() && behind.is_none() {
        return;
    }
    html.push_str("<nav class=\"neighbours\" aria-label=\"Neighbours\">");
    if let Some((target, title)) = before {
        let _ = write!(
            html,
            "<a class=\"before\" rel=\"prev\" href=\"{target}\"><small>Previous</small>{title}</a>"
        );
    }
    if let Some((target, title)) = behind {
        let _ = write!(
            html,
            "<a class=\"behind\" rel=\"next\" href=\"{target}\"><small>Next</small>{title}</a>"
        );
    }
    html.push_str("</nav>\n");
}
