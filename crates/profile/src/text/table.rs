//! Tables of functions, of callers and callees, and of changes between two profiles.
//!
//! Numbers come first, in columns of fixed width; the name and the location share the rest.

use canny_report::units::{bytes, milliseconds};
use canny_report::{Colour, Style, fit, fit_end, right};

use crate::analysis::{Change, Cost, Neighbours, Place, Total, Unit, Weights};
use crate::model::{FunctionIndex, Profile};

/// Columns for shares and amounts.
const SHARE: usize = 8;
const AMOUNT: usize = 11;

/// Splits what is left of a line between a name and a location.
pub(super) fn split(style: &Style, used: usize) -> (usize, usize) {
    let rest = style.width.saturating_sub(used + 1);
    let location = rest * 2 / 5;
    (rest - location, location)
}

/// A weight for people: milliseconds, or bytes with a prefix.
pub(super) fn amount(weight: u64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => milliseconds(weight),
        Unit::Bytes => bytes(weight),
    }
}

/// A share in its column; escapes for colours take no room.
fn share_cell(style: &Style, cost: Cost, whole: Cost) -> String {
    format!(" {}", style.fraction(cost.share_of(whole)))
}

/// A name and its location at the end of a line.
pub(super) fn place_cells(style: &Style, profile: &Profile, place: Place, used: usize) -> String {
    let (name, location) = split(style, used);
    let tail = fit_end(&place.location(profile), location);
    let line = format!(
        "{} {}",
        fit(place.name(profile), name),
        style.paint(Colour::Grey, &tail)
    );
    line.trim_end().to_owned()
}

fn unit_title(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "time",
        Unit::Bytes => "bytes",
    }
}

/// Functions or lines with their own and total shares.
pub fn functions_table(weights: &Weights, totals: &[Total], style: &Style) -> String {
    let unit = weights.measure.unit();
    let used = 2 * SHARE + AMOUNT + 2;
    let title = format!(
        "{}{}{}  function",
        right("self", SHARE),
        right("total", SHARE),
        right(unit_title(unit), AMOUNT)
    );
    let mut text = style.paint(Colour::Bold, &title) + "\n";
    for one in totals.iter().take(style.rows_max) {
        let cells = [
            share_cell(style, one.own, weights.total),
            share_cell(style, one.total, weights.total),
            right(&amount(one.own.weight, unit), AMOUNT),
            "  ".to_owned(),
            place_cells(style, weights.profile, one.place, used),
        ];
        text += &(cells.concat() + "\n");
    }
    if totals.len() > style.rows_max {
        text += &format!("{} more\n", totals.len() - style.rows_max);
    }
    let total = amount(weights.total.weight, unit);
    text + &format!("{} in {} samples\n", total, weights.total.count)
}

/// The callers above a function and its callees below.
pub fn callers_table(
    weights: &Weights,
    function: FunctionIndex,
    neighbours: &Neighbours,
    style: &Style,
) -> String {
    let unit = weights.measure.unit();
    let used = SHARE + AMOUNT + 4;
    let row = |cost: Cost, mark: &str, place: Option<Place>| {
        let cells = [
            share_cell(style, cost, weights.total),
            right(&amount(cost.weight, unit), AMOUNT),
            format!(" {mark} "),
            match place {
                Some(place) => place_cells(style, weights.profile, place, used),
                None => "(beginning of the stack)".to_owned(),
            },
        ];
        cells.concat() + "\n"
    };
    let mut text = String::new();
    for (place, cost) in neighbours.callers.iter().take(style.rows_max) {
        text += &row(*cost, "↓", *place);
    }
    let focus = row(neighbours.total, "●", Some(Place::Function(function)));
    text += &focus;
    text += &(share_cell(style, neighbours.own, weights.total)
        + &right(&amount(neighbours.own.weight, unit), AMOUNT)
        + "   (itself)\n");
    for (place, cost) in neighbours.callees.iter().take(style.rows_max) {
        text += &row(*cost, "→", Some(*place));
    }
    text
}

/// The differences of two profiles in percentage points.
pub fn changes_table(changes: &[Change], style: &Style) -> String {
    let title = format!(
        "{}{}{}  function",
        right("before", SHARE),
        right("after", SHARE),
        right("change", SHARE + 2)
    );
    let mut text = style.paint(Colour::Bold, &title) + "\n";
    for one in changes.iter().take(style.rows_max) {
        let growth = one.own_growth();
        let shown = format!("{:+9.1} p", growth * 100.0);
        let shown = match growth {
            growth if growth >= 0.01 => style.paint(Colour::Red, &shown),
            growth if growth <= -0.01 => style.paint(Colour::Green, &shown),
            _ => shown,
        };
        let (name, location) = split(style, 3 * SHARE + 5);
        let path = one.path.join(" → ");
        let line = format!(
            "{:6.1} %{:6.1} %{shown}  {} {}",
            one.own_before * 100.0,
            one.own_after * 100.0,
            if one.path.len() > 1 {
                fit_end(&path, name)
            } else {
                fit(&path, name)
            },
            style.paint(
                Colour::Grey,
                &fit_end(one.file.as_deref().unwrap_or(""), location)
            )
        );
        text += &(line.trim_end().to_owned() + "\n");
    }
    text
}
