//! Resolves the links of all pages, and reports those that lead nowhere.
//!
//! A link is relative to the page's source. It may name a page, an anchor, or a file beside the
//! documents, and both page and anchor must exist. It runs after all pages were rendered, since
//! only then all anchors are known.

use std::collections::{BTreeMap, HashMap};

use crate::markdown::{LINK_END, LINK_START};
use crate::{Finished, Problem, Site, escaped, relative};

/// Gives the links of all pages their targets; tells which lead nowhere.
pub(crate) fn resolve(site: &Site, pages: &mut [Finished]) -> Vec<Problem> {
    let mut targets: HashMap<String, (String, Vec<String>)> = HashMap::new();
    let mut problems = Vec::new();
    for page in pages.iter() {
        let known = (page.target.clone(), page.rendered.anchors.clone());
        if targets.insert(page.page.path.clone(), known).is_some() {
            problems.push(Problem {
                path: page.page.path.clone(),
                message: "there are two pages of this name".to_owned(),
            });
        }
    }
    for page in pages {
        let (path, from) = (page.page.path.clone(), page.target.clone());
        for link in &mut page.rendered.links {
            match target(site, &targets, &path, &from, &link.target) {
                Ok(None) if link.is_picture => problems.push(Problem {
                    path: path.clone(),
                    message: format!("the picture {} is not among the files", link.target),
                }),
                Ok(resolved) => link.resolved = resolved,
                Err(message) => problems.push(Problem {
                    path: path.clone(),
                    message,
                }),
            }
        }
        page.rendered.html = with_links(page);
    }
    problems
}

/// The link's target in the site; nothing for what the site does not have although it exists.
fn target(
    site: &Site,
    targets: &HashMap<String, (String, Vec<String>)>,
    path: &str,
    from: &str,
    link: &str,
) -> Result<Option<String>, String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(Some(link.to_owned()));
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let wanted = match file {
        "" => path.to_owned(),
        file => {
            join(path, file).ok_or_else(|| format!("the link to {link} leads out of the site"))?
        }
    };
    // A link to a directory means its index.
    let directory = wanted.trim_end_matches('/');
    let index = format!("{directory}/README.md");
    let found = targets.get(&wanted).or_else(|| targets.get(&index));
    if let Some((target, anchors)) = found {
        if !anchor.is_empty() && !anchors.iter().any(|known| known == anchor) {
            return Err(format!("the link to {link} leads to no heading"));
        }
        let mut way = match file {
            "" => String::new(),
            _ => relative(from, target),
        };
        if !anchor.is_empty() {
            way.push('#');
            way.push_str(anchor);
        }
        return Ok(Some(way));
    }
    if site.files.contains_key(&wanted) {
        return Ok(Some(relative(from, &wanted)));
    }
    if site.elsewhere.contains(directory) {
        return Ok(None);
    }
    Err(format!("the link to {link} leads nowhere"))
}

/// The path that a link from a page names.
fn join(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            // Above the root stands what is beside the documents.
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(".."),
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The page with targets in place of marks.
fn with_links(page: &Finished) -> String {
    let html = &page.rendered.html;
    let mut done = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while let Some((before, after)) = rest.split_once(LINK_START) {
        let Some((number, after)) = after.split_once(LINK_END) else {
            break;
        };
        let link = number
            .parse::<usize>()
            .ok()
            .and_then(|number| page.rendered.links.get(number));
        rest = after;
        match link.and_then(|link| link.resolved.as_deref()) {
            Some(target) => {
                done.push_str(before);
                done.push_str(&escaped(target));
            }
            None => {
                // An anchor without a target is no link.
                done.push_str(before.strip_suffix("href=\"").unwrap_or(before));
                rest = rest.strip_prefix('"').unwrap_or(rest);
            }
        }
    }
    done.push_str(rest);
    done
}

/// The files that pages link to.
pub(crate) fn used_files(site: &Site, pages: &[Finished]) -> BTreeMap<String, Vec<u8>> {
    let mut used = BTreeMap::new();
    for page in pages {
        for link in &page.rendered.links {
            let path = link.target.split('#').next().unwrap_or_default();
            let Some(wanted) = join(&page.page.path, path) else {
                continue;
            };
            if let Some(content) = site.files.get(&wanted) {
                used.insert(wanted, content.clone());
            }
        }
    }
    used
}
