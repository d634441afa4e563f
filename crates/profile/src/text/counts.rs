//! The table of exact counts: calls, times, and how the calls ran.
//!
//! The last columns before the name are the shares of calls that were interpreted, compiled and
//! inlined into their caller.

use canny_report::units::milliseconds;
use canny_report::{Colour, Style, printable, right};

use super::table::place_cells;
use crate::analysis::{FunctionCount, Place};
use crate::model::Profile;

const CALLS: usize = 12;
const AMOUNT: usize = 11;
const SHARE: usize = 7;

/// Callers of a function that the table of calls shows.
const CALLERS_MAX: usize = 3;

/// The callers of functions with exact counts, and their numbers of calls.
pub fn call_edges_table(profile: &Profile, counts: &[FunctionCount], style: &Style) -> String {
    let title = format!("{}  caller -> callee", right("calls", CALLS));
    let mut text = style.paint(Colour::Bold, &title) + "\n";
    let mut by_calls: Vec<&FunctionCount> = counts.iter().collect();
    by_calls.sort_by_key(|one| std::cmp::Reverse(one.sum.calls));
    for one in by_calls.into_iter().take(style.rows_max) {
        let callee = profile.function_name(one.function);
        for (caller, calls) in one.callers.iter().take(CALLERS_MAX) {
            let caller = caller.map_or("(machine)", |caller| profile.function_name(caller));
            let calls = right(&calls.to_string(), CALLS);
            text += &format!("{calls}  {} -> {}\n", printable(caller), printable(callee));
        }
        if one.callers.len() > CALLERS_MAX {
            let rest = one.callers.len() - CALLERS_MAX;
            text += &format!(
                "{}  {rest} more -> {}\n",
                right("", CALLS),
                printable(callee)
            );
        }
    }
    text
}

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
        // Nothing is known about the calls of primitives.
        let known = sum.interpreted + sum.compiled + sum.inlined;
        let share = |part: u64| match known {
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
