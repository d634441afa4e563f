//! The table of waits.

use super::style::{Colour, Style, fit, milliseconds};
use super::table::{place_cells, right};
use crate::analysis::WaitPlace;
use crate::model::Profile;

const AMOUNT: usize = 11;
const NUMBER: usize = 9;
const KIND: usize = 22;

/// Waits by kind, thing and place.
pub fn waits_table(profile: &Profile, waits: &[WaitPlace], style: &Style) -> String {
    let used = 3 * AMOUNT + NUMBER + KIND + 3;
    let title = format!(
        "{}{}{}{}  {} place",
        right("waiting", AMOUNT),
        right("number", NUMBER),
        right("longest", AMOUNT),
        right("runnable", AMOUNT),
        fit("for", KIND)
    );
    let mut text = style.paint(Colour::Bold, &title) + "\n";
    for one in waits.iter().take(style.rows_max) {
        let thing = match one.on {
            Some(on) => format!("{} {}", one.kind.word(), profile.string(on)),
            None => one.kind.word().to_owned(),
        };
        let cells = [
            right(&milliseconds(one.waiting_ns), AMOUNT),
            right(&one.count.to_string(), NUMBER),
            right(&milliseconds(one.longest_ns), AMOUNT),
            right(&milliseconds(one.runnable_ns), AMOUNT),
            format!("  {} ", fit(&thing, KIND)),
            place_cells(style, profile, one.place, used),
        ];
        text += &(cells.concat().trim_end().to_owned() + "\n");
    }
    if waits.len() > style.rows_max {
        text += &format!("{} more\n", waits.len() - style.rows_max);
    }
    text
}
