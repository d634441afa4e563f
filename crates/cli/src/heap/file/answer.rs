//! Answers about a file as text and as JSON.
//!
//! `canny_snapshot::text` has the tables; this module asks for them, and names the places of code.

use std::io::{self, IsTerminal};
use std::path::Path;

use canny_report::units::{bytes, count};
use canny_report::{Style, printable};
use canny_snapshot::analysis::{Column, Compared, Difference, Grouping, Row, SortKey, sort};
use canny_snapshot::answers::{Opened, Question, Session, difference_answer};
use canny_snapshot::expression;
use canny_snapshot::text;

use super::wish::{FileWish, Wanted};
use crate::table_style::table_style;

/// Types in a summary.
const SUMMARY_ROWS: usize = 20;
/// Paths to an object.
const PATHS: usize = 3;
const WIDTH_MAX: usize = 160;

/// The difference that is asked for: of two snapshots, or to another file, which is then given too.
fn difference(
    session: &Session,
    wish: &FileWish,
    before: &str,
) -> Result<(Difference, Option<Session>), String> {
    if let Ok(before) = before.parse::<usize>() {
        if before == 0 {
            return Err("snapshots are counted from 1".to_owned());
        }
        return Ok((session.difference(before, wish.after)?, None));
    }
    let path = Path::new(before);
    let other = Session::open(path).map_err(|error| format!("cannot read {before}: {error}"))?;
    let found = other.difference_to(0, session, wish.after)?;
    Ok((found, Some(other)))
}

/// A snapshot with its program and process.
fn named(session: &Session, number: usize) -> Result<String, String> {
    let number = session.index(number)? + 1;
    let info = session.series().info();
    let program = match info.program.as_str() {
        "" => "a program".to_owned(),
        program => printable(program),
    };
    Ok(format!(
        "snapshot {number} of {program}, process {}",
        info.pid
    ))
}

/// The comparison of two files for people: what is compared, the types, the paths.
fn files_text(
    found: &Difference,
    before: &Session,
    (after, number): (&Session, usize),
    style: &Style,
) -> Result<String, String> {
    let mut answer = format!("{}\nto {}\n", named(before, 0)?, named(after, number)?);
    let has_paths = found.compared == Compared::TypesAndPaths;
    answer += if has_paths {
        "Compared are sums by name: of types, and of paths of types in the dominator trees.\n"
    } else {
        "Compared are sums of types by name. Paths need the objects of both snapshots.\n"
    };
    answer += "Objects of two files cannot be followed.";
    let infos = (before.series().info(), after.series().info());
    if infos.0.is_same_process(infos.1) {
        answer += " Snapshots of one process can, if they are in one file.";
    }
    answer += &format!("\n\n{}", text::difference_table(found, style));
    if has_paths {
        answer += &match found.paths.as_slice() {
            [] => "\nno path differs by a thousandth of the heap\n".to_owned(),
            paths => format!("\n{}", text::paths_table(paths, style)),
        };
    }
    Ok(answer)
}

/// The answer as JSON.
pub fn json(session: &Session, wish: &FileWish) -> Result<String, String> {
    let snapshot = wish.snapshot;
    let count = wish.rows;
    let question = match &wish.wanted {
        Wanted::Types => Question::Types {
            snapshot,
            by: wish.by,
            sort: Column::Retained,
            filter: String::new(),
            retained: true,
            first: 0,
            count,
        },
        Wanted::Query(query) => Question::Objects {
            snapshot,
            query: query.clone(),
            sort: SortKey::Retained,
            first: 0,
            count,
        },
        Wanted::Why(id) => {
            let object = session.answer(&Question::Object { snapshot, id: *id })?;
            let paths = session.answer(&Question::Paths {
                snapshot,
                id: *id,
                count: PATHS,
            })?;
            let mut object = object;
            object["paths"] = paths["paths"].clone();
            return Ok(format!("{object:#}\n"));
        }
        Wanted::Duplicates => Question::Duplicates {
            snapshot,
            first: 0,
            count,
        },
        Wanted::Unused => Question::Unused {
            snapshot,
            first: 0,
            count,
        },
        Wanted::Compare(before) => {
            let (found, other) = difference(session, wish, before)?;
            let types = other.as_ref().unwrap_or(session).series().types();
            return Ok(format!(
                "{:#}\n",
                difference_answer(&found, types, 0, count)
            ));
        }
        Wanted::Growth => Question::Growth { count },
        _ => Question::Series,
    };
    Ok(format!("{:#}\n", session.answer(&question)?))
}

/// The answer for people.
pub fn text(session: &Session, wish: &FileWish) -> Result<String, String> {
    let style = table_style(io::stdout().is_terminal(), WIDTH_MAX, wish.rows);
    match &wish.wanted {
        Wanted::Compare(before) => {
            let (found, other) = difference(session, wish, before)?;
            return match other {
                Some(other) => files_text(&found, &other, (session, wish.after), &style),
                None => Ok(text::difference_table(&found, &style)),
            };
        }
        Wanted::Growth => return growth(session, &style),
        Wanted::Summary => return summary(session, wish, &style),
        _ => {}
    }
    let opened = session.snapshot(wish.snapshot)?;
    let analysis = opened.analysis();
    let mut answer = String::new();
    match &wish.wanted {
        Wanted::Query(query) => {
            let predicate = expression::predicate(query)?;
            session.prepare(&predicate, &opened)?;
            let page = analysis.query(&predicate, SortKey::Retained, 0, wish.rows);
            let page = page.map_err(|error| error.to_string())?;
            answer += &text::nodes_table(analysis, &page.nodes, &style);
            answer += &format!("{} objects, {}\n", count(page.count), bytes(page.bytes));
        }
        Wanted::Why(node) => {
            opened.check(*node)?;
            answer += &format!("{}\n", analysis.why_alive(*node));
            if let Some(place) = analysis.place_of(*node) {
                answer += &format!("allocated by {}\n", place.title());
            }
            for path in analysis.paths(*node, PATHS) {
                answer += &format!("\n{}", text::path_text(analysis, &path, &style));
            }
        }
        Wanted::Duplicates => {
            let found = analysis.duplicates(usize::MAX);
            let saved = found.iter().map(|one| one.saved).sum();
            answer += &text::duplicates_table(analysis, &found, &style);
            answer += &format!("{} would be saved\n", bytes(saved));
        }
        Wanted::Unused => {
            let found = analysis.unused(usize::MAX);
            let saved = found.iter().map(|one| one.bytes).sum();
            answer += &text::unused_table(analysis, &found, &style);
            answer += &format!("{} would be saved\n", bytes(saved));
        }
        _ => {
            let rows = named_rows(session, &opened, wish.by, Column::Retained);
            answer += &text::rows_table(&rows, &style);
            answer += without_samples(&rows, wish.by);
        }
    }
    Ok(answer)
}

/// Adds the place of code to the name of a type: many procedures have the same name or none.
fn name_place(session: &Session, number: u32, name: &mut String) {
    if let Some(row) = session.series().types().get(number as usize)
        && row.title() == name
    {
        *name = row.title_and_place();
    }
}

/// Sums by group for people.
fn named_rows(session: &Session, opened: &Opened, by: Grouping, column: Column) -> Vec<Row> {
    let mut rows = opened.rows(by, true).to_vec();
    for row in &mut rows {
        if let Some(number) = row.type_number {
            name_place(session, number, &mut row.name);
        }
    }
    sort(&mut rows, column);
    rows
}

/// Advice for a table by place that is empty.
fn without_samples(rows: &[Row], by: Grouping) -> &'static str {
    match by {
        Grouping::Place | Grouping::Label if rows.is_empty() => {
            "no allocations were sampled; run the program with --heap-places\n"
        }
        _ => "",
    }
}

fn growth(session: &Session, style: &Style) -> Result<String, String> {
    let whole = session.series().snapshots().len();
    if whole < 2 {
        return Err(format!(
            "the file has {whole} snapshot; growth needs two at least"
        ));
    }
    let (mut types, mut paths) = session.suspects()?;
    for one in types.iter_mut().chain(&mut paths) {
        for (number, name) in one.path.iter().zip(&mut one.names) {
            name_place(session, *number, name);
        }
    }
    let mut answer = String::new();
    let mut groups = vec![("types", types), ("paths of the dominator tree", paths)];
    let places = session.suspect_places();
    if !places.is_empty() {
        groups.push(("places that allocate", places));
    }
    for (title, found) in groups {
        answer += &format!("{title}\n");
        if found.is_empty() {
            answer += "nothing grew in most steps\n";
        } else {
            answer += &text::suspects_table(&found, style);
        }
        answer.push('\n');
    }
    answer.pop();
    Ok(answer)
}

fn summary(session: &Session, wish: &FileWish, style: &Style) -> Result<String, String> {
    let series = session.series();
    let mut answer = String::new();
    if series.snapshots().len() != 1 || series.note().is_some() {
        answer += &text::series_table(series, style);
        answer.push('\n');
    }
    let Ok(index) = session.index(wish.snapshot) else {
        if wish.snapshot > 0 || series.snapshots().is_empty() {
            return session.index(wish.snapshot).map(|_| answer);
        }
        // Sums are all there is.
        let last = &series.snapshots()[series.snapshots().len() - 1];
        return Ok(answer + &text::summary(series.info(), series.types(), last, style));
    };
    let directory = &series.snapshots()[index];
    if !series.has_graph(index) {
        return Ok(answer + &text::summary(series.info(), series.types(), directory, style));
    }
    answer += &text::head(series.info(), directory, style);
    answer.push('\n');
    let opened = session.snapshot(index + 1)?;
    let rows = named_rows(session, &opened, wish.by, Column::Bytes);
    let style = Style {
        rows_max: style.rows_max.min(SUMMARY_ROWS),
        ..*style
    };
    answer += &text::rows_table(&rows, &style);
    if let Some(note) = opened.analysis().heap().note() {
        answer += &format!("note: {note}\n");
    }
    Ok(answer)
}
