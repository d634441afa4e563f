//! Tables of functions and lines of guests, whose code is no code of the machine.
//!
//! A row says how the function or line was running in most of its time: interpreted, or as machine code.

use canny_report::{Colour, Style, right};

use super::table::{amount, place_cells};
use crate::analysis::{Cost, Grain, Place, Total, Weights, totals};
use crate::model::{FunctionIndex, Group, StackIndex, Tier};

/// Columns for shares, amounts and ways of running.
const SHARE: usize = 8;
const AMOUNT: usize = 11;
const TIER: usize = 14;

/// Functions of guests with how they were running, and their lines if those are known. Empty without any.
pub fn guests_tables(weights: &Weights, style: &Style) -> String {
    let profile = weights.profile;
    let is_guest = |function: FunctionIndex| profile.function(function).group == Group::Foreign;
    let of_guests = |grain| -> Vec<Total> {
        let mut found = totals(weights, grain);
        found.retain(|total| total.place.function().is_some_and(is_guest));
        found
    };
    let functions = of_guests(Grain::Function);
    if functions.is_empty() {
        return String::new();
    }
    let mut text = table(weights, &functions, "guest function", style);
    let mut lines = of_guests(Grain::Line);
    lines.retain(|total| {
        matches!(total.place, Place::Line(_, line) if line > 0) && total.own.count > 0
    });
    if !lines.is_empty() {
        text.push('\n');
        text += &table(weights, &lines, "line of a guest", style);
    }
    text
}

fn table(weights: &Weights, rows: &[Total], title: &str, style: &Style) -> String {
    let used = 2 * SHARE + AMOUNT + TIER + 4;
    let heading = format!(
        "{}{}{}  {}{title}",
        right("self", SHARE),
        right("total", SHARE),
        right("time", AMOUNT),
        "code".to_owned() + &" ".repeat(TIER - 4)
    );
    let mut text = style.paint(Colour::Bold, &heading) + "\n";
    for one in rows.iter().take(style.rows_max) {
        let share = |cost: Cost| format!(" {}", style.fraction(cost.share_of(weights.total)));
        let tier = tier(weights, one.place);
        text += &share(one.own);
        text += &share(one.total);
        text += &right(&amount(one.own.weight, weights.measure.unit()), AMOUNT);
        text += &format!("  {tier:TIER$}");
        text += &place_cells(style, weights.profile, one.place, used);
        text.push('\n');
    }
    if rows.len() > style.rows_max {
        text += &format!("{} more\n", rows.len() - style.rows_max);
    }
    text
}

/// How a function or line was running in most of its own time. If it has none, in that of its callees.
fn tier(weights: &Weights, place: Place) -> &'static str {
    let rows = &weights.profile.rows;
    let grain = match place {
        Place::Line(..) => Grain::Line,
        _ => Grain::Function,
    };
    let (mut own, mut inclusive) = ([0_u64; 2], [0_u64; 2]);
    for (number, stack) in rows.stacks.iter().enumerate() {
        let frame = weights.profile.frame(stack.frame);
        if Place::of(frame, grain) == place {
            let index = StackIndex::new(number);
            let column = usize::from(frame.tier == Tier::Compiled);
            let add = |sums: &mut [u64; 2], cost: Cost| {
                sums[column] = sums[column].saturating_add(cost.weight);
            };
            add(&mut own, weights.own(index));
            add(&mut inclusive, weights.inclusive(index));
        }
    }
    let sums = if own == [0, 0] { inclusive } else { own };
    match sums {
        [0, 0] => "",
        [interpreted, compiled] if compiled >= interpreted => "machine code",
        _ => "interpreted",
    }
}
