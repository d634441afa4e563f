//! Tables about several snapshots: the list of them, a difference, and suspects.
//!
//! Growth is red and shrinkage green, as in tables of profiles.

use canny_report::units::{bytes, count, signed_bytes};
use canny_report::{Colour, Style, right};

use super::tables::{AMOUNT, COUNT, line, more, title};
use crate::analysis::{Compared, Difference, PathChange, Suspect};
use crate::heap::Series;

/// The snapshots of a file.
pub fn series_table(series: &Series, style: &Style) -> String {
    let cells = [
        right("number", 7),
        right("objects", COUNT),
        right("bytes", AMOUNT),
    ];
    let mut text = title(style, &(cells.concat() + "  reason"));
    for (index, one) in series.snapshots().iter().enumerate() {
        let is_whole = series.is_whole(index);
        let (objects, amount) = if is_whole {
            (count(one.objects), bytes(one.bytes))
        } else {
            ("-".to_owned(), "-".to_owned())
        };
        let number = right(&one.number.to_string(), 7);
        let cells = [number, right(&objects, COUNT), right(&amount, AMOUNT)];
        text += &line(style, &cells.concat(), 7 + COUNT + AMOUNT, &one.reason);
    }
    if let Some(note) = series.note() {
        text += &format!("note: {note}\n");
    }
    text
}

fn growth_cell(style: &Style, change: i64) -> String {
    let text = right(&signed_bytes(change), AMOUNT);
    match change {
        1.. => style.paint(Colour::Red, &text),
        0 => text,
        _ => style.paint(Colour::Green, &text),
    }
}

/// The types that changed, with new and gone objects where these can be followed.
pub fn difference_table(difference: &Difference, style: &Style) -> String {
    let cells = [
        right("growth", AMOUNT),
        right("after", AMOUNT),
        right("new", COUNT),
        right("gone", COUNT),
    ];
    let used = 2 * AMOUNT + 2 * COUNT;
    let mut text = title(style, &(cells.concat() + "  type"));
    let number = |objects: u64| {
        if difference.compared == Compared::Objects {
            right(&count(objects), COUNT)
        } else {
            right("-", COUNT)
        }
    };
    for one in difference.changes.iter().take(style.rows_max) {
        let cells = [
            growth_cell(style, one.growth()),
            right(&bytes(one.after.bytes), AMOUNT),
            number(one.new.objects),
            number(one.gone.objects),
        ];
        text += &line(style, &cells.concat(), used, &one.title);
    }
    text += &more(style.rows_max, difference.changes.len());
    let growth = difference.after.bytes as i64 - difference.before.bytes as i64;
    text += &format!(
        "{} to {}: {}\n",
        bytes(difference.before.bytes),
        bytes(difference.after.bytes),
        signed_bytes(growth)
    );
    if difference.compared == Compared::Objects {
        text += &format!(
            "{} objects new, {} gone, {} still there\n",
            count(difference.new.objects),
            count(difference.gone.objects),
            count(difference.surviving.objects)
        );
    }
    text
}

/// Paths of the dominator tree that differ between snapshots of two files.
pub fn paths_table(paths: &[PathChange], style: &Style) -> String {
    let cells = [
        right("growth", AMOUNT),
        right("before", AMOUNT),
        right("after", AMOUNT),
        right("objects", COUNT),
    ];
    let used = 3 * AMOUNT + COUNT;
    let mut text = title(style, &(cells.concat() + "  path, with retained bytes"));
    for one in paths.iter().take(style.rows_max) {
        let objects = match one.after.objects.checked_sub(one.before.objects) {
            Some(0) => "0".to_owned(),
            Some(more) => format!("+{}", count(more)),
            None => format!("-{}", count(one.before.objects - one.after.objects)),
        };
        let cells = [
            growth_cell(style, one.growth()),
            right(&bytes(one.before.bytes), AMOUNT),
            right(&bytes(one.after.bytes), AMOUNT),
            right(&objects, COUNT),
        ];
        let start = if one.is_end { "… → " } else { "" };
        let path = format!("{start}{}", one.names.join(" → "));
        text += &line(style, &cells.concat(), used, &path);
    }
    text + &more(style.rows_max, paths.len())
}

/// Types or paths that grew in most steps of a series.
pub fn suspects_table(suspects: &[Suspect], style: &Style) -> String {
    let cells = [
        right("score", 7),
        right("growth", AMOUNT),
        right("steps", AMOUNT),
    ];
    let mut text = title(style, &(cells.concat() + "  type or path"));
    for one in suspects.iter().take(style.rows_max) {
        let steps = format!("{}/{}", one.grown, one.bytes.len().saturating_sub(1));
        let cells = [
            right(&format!("{:.2}", one.score), 7),
            right(&format!("+{}", bytes(one.growth)), AMOUNT),
            right(&steps, AMOUNT),
        ];
        text += &line(
            style,
            &cells.concat(),
            7 + 2 * AMOUNT,
            &one.names.join(" → "),
        );
    }
    text + &more(style.rows_max, suspects.len())
}
