//! Refuses circles among the modules of a crate: top-level modules that use each other, directly or
//! through others.
//!
//! A module with the modules below it is one node. An arrow is a path that begins with `crate::`,
//! or with enough `super::`, and leads into another top-level module; code of tests counts not.
//! Names that `lib.rs` passes on from a module are not followed. Crates with circles are listed,
//! and only while they have one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::rust_source::{closing_brace, words};
use super::{Complaint, RustFile, line_of};

/// Crates whose modules still form circles. Add none.
const EXCEPTIONS: [&str; 2] = ["lib", "vm"];

/// For each module the modules that it uses, with the first place that says so.
type Arrows = BTreeMap<String, BTreeMap<String, (PathBuf, usize)>>;

pub fn check(files: &[RustFile]) -> Vec<Complaint> {
    let mut crates: BTreeMap<&str, Vec<&RustFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        if module_path(&file.path).is_some() {
            crates.entry(file.crate_name()).or_default().push(file);
        }
    }
    let mut complaints = Vec::new();
    for (name, files) in crates {
        let arrows = arrows(&files);
        match circle(&arrows) {
            Some(circle) if !EXCEPTIONS.contains(&name) => {
                let (path, line) = &arrows[&circle[0]][&circle[1]];
                complaints.push(Complaint {
                    path: path.clone(),
                    line: Some(*line),
                    message: format!(
                        "modules use each other in a circle: {}{}",
                        circle.join(" → "),
                        others(&arrows, &circle)
                    ),
                });
            }
            None if EXCEPTIONS.contains(&name) => complaints.push(Complaint {
                path: PathBuf::from("xtask/src/tidy/circles.rs"),
                line: None,
                message: format!("`{name}` has no circle any more: take it off the list"),
            }),
            _ => {}
        }
    }
    complaints
}

/// The modules from the crate's root to a file of `src`; nothing for the root itself and for others.
fn module_path(path: &Path) -> Option<Vec<String>> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let source = parts.iter().position(|part| *part == "src")?;
    let mut modules: Vec<String> = parts[source + 1..]
        .iter()
        .map(|part| part.trim_end_matches(".rs").to_owned())
        .collect();
    modules.pop_if(|last| last == "mod");
    let is_root = modules.len() == 1 && ["lib", "main"].contains(&modules[0].as_str());
    (!modules.is_empty() && !is_root && modules[0] != "bin").then_some(modules)
}

fn arrows(files: &[&RustFile]) -> Arrows {
    let tops: BTreeSet<String> = files
        .iter()
        .filter_map(|file| module_path(&file.path)?.into_iter().next())
        .collect();
    let mut arrows = Arrows::new();
    for file in files {
        let Some(modules) = module_path(&file.path) else {
            continue;
        };
        for (offset, target) in targets(&without_tests(&file.code), modules.len()) {
            if target != modules[0] && tops.contains(&target) {
                let place = (file.path.clone(), line_of(&file.code, offset));
                let from = arrows.entry(modules[0].clone()).or_default();
                from.entry(target).or_insert(place);
            }
        }
    }
    arrows
}

/// The code with each item behind `#[cfg(test)]` replaced by spaces.
fn without_tests(code: &str) -> String {
    let mut code = code.to_owned();
    while let Some(start) = code.find("#[cfg(test)]") {
        let brace = code[start..].find('{').map(|offset| start + offset);
        let semicolon = code[start..].find(';').map(|offset| start + offset);
        let end = match (brace, semicolon) {
            (Some(brace), semicolon) if semicolon.is_none_or(|semicolon| brace < semicolon) => {
                closing_brace(&code, brace)
            }
            (_, semicolon) => semicolon.map(|semicolon| semicolon + 1),
        };
        let end = end.unwrap_or(code.len());
        let blank: String = code[start..end]
            .chars()
            .map(|c| if c == '\n' { c } else { ' ' })
            .collect();
        code.replace_range(start..end, &blank);
    }
    code
}

/// The names that follow the root of the crate in the paths of a module that is `depth` below it.
fn targets(code: &str, depth: usize) -> Vec<(usize, String)> {
    let to_parent = "super::".repeat(depth);
    let of_crate = words(code, "crate").map(|offset| (offset, offset + "crate".len()));
    let of_parents = code
        .match_indices(&to_parent)
        .filter(|(offset, _)| !code[..*offset].ends_with("::"))
        .map(|(offset, found)| (offset, offset + found.len() - "::".len()));
    let mut targets = Vec::new();
    for (offset, end) in of_crate.chain(of_parents) {
        let Some(rest) = code[end..].strip_prefix("::") else {
            continue;
        };
        match rest.strip_prefix('{') {
            Some(_) => {
                let close = closing_brace(rest, 0).unwrap_or(rest.len());
                let names = heads(&rest[1..close]);
                targets.extend(names.into_iter().map(|name| (offset, name)));
            }
            None => targets.push((offset, word(rest))),
        }
    }
    targets
}

/// The first words of the parts of a `use` list.
fn heads(list: &str) -> Vec<String> {
    let mut heads = vec![word(list.trim_start())];
    let mut depth = 0usize;
    for (offset, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => heads.push(word(list[offset + 1..].trim_start())),
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    text.chars().take_while(is_part).collect()
}

/// The shortest circle through the first module that is in one, with that module at both ends.
fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    arrows.keys().find_map(|start| {
        let mut reached: BTreeMap<&String, &String> = BTreeMap::new();
        let mut pending = VecDeque::from([start]);
        while let Some(module) = pending.pop_front() {
            for next in arrows.get(module).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    let mut path = vec![start.clone(), module.clone()];
                    let mut at = module;
                    while at != start {
                        at = reached[at];
                        path.push(at.clone());
                    }
                    path.reverse();
                    return Some(path);
                }
                if !reached.contains_key(next) {
                    reached.insert(next, module);
                    pending.push_back(next);
                }
            }
        }
        None
    })
}

/// The modules beyond a circle that use it and are used by it, in words.
fn others(arrows: &Arrows, circle: &[String]) -> String {
    let is_other = |module: &String| {
        !circle.contains(module) && reached_from(arrows, module).contains(&circle[0])
    };
    let mut others: Vec<String> = reached_from(arrows, &circle[0]).into_iter().collect();
    others.retain(is_other);
    match others.as_slice() {
        [] => String::new(),
        others => format!("; in circles with them: {}", others.join(", ")),
    }
}

fn reached_from(arrows: &Arrows, start: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start.to_owned()];
    while let Some(module) = pending.pop() {
        for next in arrows.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.clone()) {
                pending.push(next.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, code: &str) -> RustFile {
        RustFile {
            path: PathBuf::from(path),
            text: code.to_owned(),
            code: code.to_owned(),
        }
    }

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<RustFile> = files.iter().map(|(path, code)| file(path, code)).collect();
        let complaints = check(&files).into_iter();
        complaints.map(|complaint| complaint.message).collect()
    }

    #[test]
    fn circles_are_found() {
        let files = [
            ("crates/new/src/a.rs", "use crate::b::c::D;"),
            ("crates/new/src/b/mod.rs", "mod c;"),
            ("crates/new/src/b/c.rs", "use crate::{d::E, f};"),
            ("crates/new/src/d.rs", "use super::a;"),
            ("crates/new/src/f.rs", ""),
        ];
        let expected = "modules use each other in a circle: a → b → d → a";
        assert_eq!(complaints(&files), [expected]);
        let mut more = files.to_vec();
        more[4].1 = "use crate::g;";
        more.push(("crates/new/src/g.rs", "use crate::d;"));
        assert_eq!(
            complaints(&more),
            [format!("{expected}; in circles with them: f, g")]
        );
    }

    #[test]
    fn tests_and_roots_count_not() {
        let files = [
            ("crates/new/src/lib.rs", "mod a; mod b; use crate::a::A;"),
            ("crates/new/src/a.rs", "use crate::b::B;"),
            (
                "crates/new/src/b.rs",
                "#[cfg(test)]\nmod tests { use crate::a::A; }",
            ),
            ("crates/new/src/b/tests.rs", "use crate::a::A;"),
        ];
        assert!(complaints(&files).is_empty());
    }

    #[test]
    fn an_exception_without_a_circle_is_found() {
        let found = complaints(&[("crates/vm/src/a.rs", "")]);
        assert!(found[0].contains("take it off the list"));
    }
}
