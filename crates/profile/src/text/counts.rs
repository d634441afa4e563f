//! The table of exact counts: calls, times, and how the calls ran.
//!
//! The last columns before the name are the shares of calls that were interpreted, compiled and
//! inlined into their caller.

use super::style::{Colour, Style, milliseconds};
use super::table::{place_cells, right};
use crate::analysis::{FunctionCount, Place};
use crate::model::Profile;

const CALLS: usize = 12;
const AMOUNT: usize = 11;
const SHARE: usize = 7;

/// Functions with exact counts.
pub fn counts_table(profile: &Profile, counts: &[FunctionCount], style: &Style) -> String {
    let title = format!(
        "{}{}{}{}{}{}  function",
        right("calls", CALLS),
        right("self", AMOUNT),
        right("total", AMOUNT),
        right("interp", SHARE),
        right("comp", SHARE),
        right("inline", SHARE)
    );
    let used = CALLS + 2 * AMOUNT + 3 * SHARE + 2;
    let mut text = style.paint(Colour::Bold, &title) + "\n";
    for one in counts.iter().take(style.rows_max) {
        let sum = &one.sum;
        let share = |part: u64| match sum.calls {
            0 => right("-", SHARE),
            calls => right(
                &format!("{:.0} %", part as f64 * 100.0 / calls as f64),
                SHARE,
            ),
        };
        let cells = [
            right(&sum.calls.to_string(), CALLS),
            right(&milliseconds(sum.exclusive_ns), AMOUNT),
            right(&milliseconds(sum.inclusive_ns), AMOUNT),
            share(sum.interpreted),
            share(sum.compiled),
            share(sum.inlined),
            "  ".to_owned(),
            place_cells(style, profile, Place::Function(one.function), used),
        ];
        text += &(cells.concat() + "\n");
    }
    if counts.len() > style.rows_max {
        text += &format!("{} more\n", counts.len() - style.rows_max);
    }
    text
}
