//! Types of two files under common numbers, so that two processes or releases can be compared.
//!
//! Types are the same if family, name, file and line are. Lines move when a source is edited: a file
//! in which any type with a name has moved is compared without lines. Procedures without a name
//! are then one type for each such file. A file that only one of them has is taken for the one of
//! the same name in another directory, if there is exactly one. Main programs are the same file.

use std::collections::{HashMap, HashSet};

use crate::file::TypeRow;

/// The types of two files under common numbers.
pub struct Matching {
    /// The common number of each type of the first file, and of the second.
    pub before: Vec<u32>,
    pub after: Vec<u32>,
    /// By common number.
    pub types: Vec<CommonType>,
}

/// Types that count as the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonType {
    pub name: String,
    /// With file and line, as far as they are common.
    pub title: String,
    /// The type of the first file, if it has exactly one of them, with the same line.
    pub type_before: Option<u32>,
}

/// A family, a name, a file and a line.
type Key<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<u32>);

fn last_part(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

fn files(types: &[TypeRow]) -> HashSet<&str> {
    types.iter().filter_map(|row| row.file.as_deref()).collect()
}

/// Files by their last parts, those only that no other one shares.
fn by_last_part<'a>(files: impl Iterator<Item = &'a str>) -> HashMap<&'a str, &'a str> {
    let mut found: HashMap<&str, Option<&str>> = HashMap::new();
    for file in files {
        let entry = found.entry(last_part(file));
        entry.and_modify(|one| *one = None).or_insert(Some(file));
    }
    let single = |(part, file): (&'a str, Option<&'a str>)| Some((part, file?));
    found.into_iter().filter_map(single).collect()
}

/// Files of the second table with their names in the first one, where these differ.
fn moved_files<'a>(
    before: &'a [TypeRow],
    after: &'a [TypeRow],
    [old_program, new_program]: [&'a str; 2],
) -> HashMap<&'a str, &'a str> {
    let (old, new) = (files(before), files(after));
    let only_old = by_last_part(old.difference(&new).copied());
    let only_new = by_last_part(new.difference(&old).copied());
    let moved = only_new.into_iter();
    let moved = moved.filter_map(|(part, file)| Some((file, *only_old.get(part)?)));
    let mut moved: HashMap<&str, &str> = moved.collect();
    if !new.contains(old_program) && !old.contains(new_program) {
        moved.insert(new_program, old_program);
    }
    moved
}

/// A row with the name of its file in the first table of types.
type Placed<'a> = (&'a TypeRow, Option<&'a str>);

/// Lines of types with a name that stands once in its file.
fn lines<'a>(rows: &[Placed<'a>]) -> HashMap<Key<'a>, u32> {
    let mut found: HashMap<Key, Option<u32>> = HashMap::new();
    for (row, file) in rows {
        if let (Some(name), Some(line)) = (&row.name, row.line) {
            let key = (row.family.as_str(), Some(name.as_str()), *file, None);
            let entry = found.entry(key).or_insert(Some(line));
            if *entry != Some(line) {
                *entry = None;
            }
        }
    }
    let single = |(key, line): (Key<'a>, Option<u32>)| Some((key, line?));
    found.into_iter().filter_map(single).collect()
}

fn title(row: &TypeRow, file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", row.title()),
        (Some(file), None) => format!("{} ({file})", row.title()),
        _ => row.title().to_owned(),
    }
}

impl Matching {
    /// `programs` are the main files of both processes, which count as the same file.
    pub fn new(before: &[TypeRow], after: &[TypeRow], programs: [&str; 2]) -> Matching {
        let moved = moved_files(before, after, programs);
        let old: Vec<Placed> = before
            .iter()
            .map(|row| (row, row.file.as_deref()))
            .collect();
        let new_file = |file| *moved.get(file).unwrap_or(&file);
        let new: Vec<Placed> = after
            .iter()
            .map(|row| (row, row.file.as_deref().map(new_file)))
            .collect();
        let (old_lines, new_lines) = (lines(&old), lines(&new));
        let edited: HashSet<Option<&str>> = old_lines
            .iter()
            .filter(|(key, line)| new_lines.get(*key).is_some_and(|other| other != *line))
            .map(|(key, _)| key.2)
            .collect();

        let mut types: Vec<CommonType> = Vec::new();
        let mut known: HashMap<Key, u32> = HashMap::new();
        let mut numbers = Vec::new();
        for &(row, file) in old.iter().chain(&new) {
            let line = row.line.filter(|_| !edited.contains(&file));
            let key = (row.family.as_str(), row.name.as_deref(), file, line);
            numbers.push(*known.entry(key).or_insert_with(|| {
                types.push(CommonType {
                    name: row.title().to_owned(),
                    title: title(row, file, line),
                    type_before: None,
                });
                types.len() as u32 - 1
            }));
        }
        let after = numbers.split_off(old.len());
        let before = numbers;
        let mut counts = vec![0; types.len()];
        for (index, ((row, file), common)) in old.iter().zip(&before).enumerate() {
            let common = *common as usize;
            counts[common] += 1;
            let is_exact = counts[common] == 1 && (row.line.is_none() || !edited.contains(file));
            types[common].type_before = is_exact.then_some(index as u32);
        }
        Matching {
            before,
            after,
            types,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(family: &str, name: &str, place: &str) -> TypeRow {
        let (file, line) = place.split_once(':').unwrap_or((place, ""));
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        TypeRow {
            family: family.to_owned(),
            name: some(name),
            file: some(file),
            line: line.parse().ok(),
            ..TypeRow::default()
        }
    }

    /// For each type of both tables its common title.
    fn titles(before: &[TypeRow], after: &[TypeRow]) -> [Vec<String>; 2] {
        let matching = Matching::new(before, after, ["old.scm", "new.scm"]);
        let title = |number: &u32| matching.types[*number as usize].title.clone();
        [&matching.before, &matching.after].map(|side| side.iter().map(title).collect())
    }

    #[test]
    fn types_are_the_same_by_name_whatever_their_numbers_and_fields_are() {
        let mut grown = row("record", "entry", "");
        grown.fields.push("more".to_owned());
        let before = [row("pair", "", ""), row("record", "entry", "")];
        let after = [grown, row("pair", "", ""), row("record", "item", "")];
        let matching = Matching::new(&before, &after, [""; 2]);
        assert_eq!(matching.before, [0, 1]);
        assert_eq!(matching.after, [1, 0, 2]);
        let found: Vec<_> = matching.types.iter().map(|one| one.type_before).collect();
        assert_eq!(found, [Some(0), Some(1), None]);
    }

    #[test]
    fn procedures_without_names_are_told_apart_by_lines_of_an_unchanged_file() {
        let before = [
            row("procedure", "serve", "app.scm:3"),
            row("procedure", "", "app.scm:5"),
            row("procedure", "", "app.scm:9"),
        ];
        let [old, new] = titles(&before, &before);
        assert_eq!(old, new);
        assert_eq!(old[2], "procedure (app.scm:9)");
    }

    #[test]
    fn an_edited_file_is_compared_without_lines() {
        let before = [
            row("procedure", "serve", "app.scm:3"),
            row("procedure", "", "app.scm:5"),
            row("procedure", "", "other.scm:5"),
        ];
        let after = [
            row("procedure", "serve", "app.scm:4"),
            row("procedure", "", "app.scm:6"),
            row("procedure", "", "app.scm:8"),
            row("procedure", "", "other.scm:5"),
        ];
        let [old, new] = titles(&before, &after);
        assert_eq!(
            old,
            [
                "serve (app.scm)",
                "procedure (app.scm)",
                "procedure (other.scm:5)"
            ]
        );
        assert_eq!(new[1..], [&old[1], &old[1], &old[2]].map(String::clone));
        let matching = Matching::new(&before, &after, [""; 2]);
        assert_eq!(
            matching.types[0].type_before, None,
            "its line is another one"
        );
    }

    #[test]
    fn files_are_found_in_other_directories_and_programs_by_their_role() {
        let before = [
            row("procedure", "f", "/srv/1.2/app.scm:3"),
            row("procedure", "g", "lib/a.sld:1"),
        ];
        let after = [
            row("procedure", "f", "/srv/1.3/app.scm:3"),
            row("procedure", "g", "lib/a.sld:1"),
        ];
        let [old, new] = titles(&before, &after);
        assert_eq!(old, new);
        let before_main = [row("procedure", "f", "old.scm:3")];
        let [old, new] = titles(&before_main, &[row("procedure", "f", "new.scm:3")]);
        assert_eq!(old, new);
        // Two candidates are none.
        let after = [
            row("procedure", "f", "/a/app.scm:3"),
            row("procedure", "f", "/b/app.scm:3"),
        ];
        let [old, new] = titles(&before, &after);
        assert!(!new.contains(&old[0]));
    }
}
