//! The table of waits, and sentences about contended locks.
//!
//! Below a place the table says where the tasks were that had the lock, and how long others waited.

use canny_report::units::{count, milliseconds};
use canny_report::{Colour, Style, fit, printable, right};

use super::table::place_cells;
use crate::analysis::{Holder, Place, WaitPlace};
use crate::model::{Profile, WaitKind};

const AMOUNT: usize = 11;
const NUMBER: usize = 9;
const KIND: usize = 22;

/// Places of those that had a thing are shown for a place.
const HOLDERS_MAX: usize = 3;
/// Locks that are explained.
const LOCKS_MAX: usize = 10;
/// A lock is explained from this part of all waiting on.
const PART_MIN: f64 = 0.01;

fn held_by(profile: &Profile, holder: &Holder) -> String {
    match holder.tasks {
        1 => format!("held by {}", printable(&profile.task_name(holder.task))),
        tasks => format!("held by {tasks} tasks"),
    }
}

/// Sentences about the locks that are waited for the longest: how many tasks wait, and who has them.
pub fn explain_locks(profile: &Profile, waits: &[WaitPlace], style: &Style) -> String {
    let all_ns: u64 = waits.iter().map(|one| one.waiting_ns).sum();
    let share = |time_ns: u64| time_ns as f64 / all_ns.max(1) as f64;
    let locks = waits.iter().filter(|one| {
        let is_lock = one.kind == WaitKind::Lock || !one.holders.is_empty();
        is_lock && share(one.waiting_ns) >= PART_MIN
    });
    let mut text = String::new();
    for one in locks.take(LOCKS_MAX) {
        let name = one.on.map_or("lock", |on| profile.string(on));
        let tasks = match one.tasks {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        let holder = one.holders.first().map_or(String::new(), |holder| {
            format!(
                "; mostly {}{}",
                held_by(profile, holder),
                at(profile, holder.place)
            )
        });
        text += &format!(
            "{}  {}{}: {} waited here for {}, {} in all{}.\n",
            style.fraction(share(one.waiting_ns)),
            printable(one.place.name(profile)),
            printable(&location(profile, one.place)),
            tasks,
            printable(name),
            milliseconds(one.waiting_ns),
            holder
        );
    }
    text
}

fn location(profile: &Profile, place: Place) -> String {
    match place.location(profile) {
        location if location.is_empty() => location,
        location => format!(" ({location})"),
    }
}

fn at(profile: &Profile, place: Place) -> String {
    if place == Place::Unknown {
        return String::new();
    }
    let place = format!(" in {}{}", place.name(profile), location(profile, place));
    printable(&place)
}

/// Waits by kind, thing and place, and below those for locks who had them.
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
        for holder in one.holders.iter().take(HOLDERS_MAX) {
            let cells = [
                right(&milliseconds(holder.waiting_ns), AMOUNT),
                right(&holder.count.to_string(), NUMBER),
                " ".repeat(2 * AMOUNT + 2),
                format!("  {} ", fit(&held_by(profile, holder), KIND - 2)),
                place_cells(style, profile, holder.place, used),
            ];
            text += &(cells.concat().trim_end().to_owned() + "\n");
        }
    }
    let all: u64 = waits.iter().map(|one| one.count).sum();
    let noted: u64 = waits.iter().map(|one| one.noted).sum();
    if noted < all {
        let [noted, all] = [noted, all].map(count);
        text += &format!("{noted} of about {all} waits were noted; they stand for the others\n");
    }
    if waits.len() > style.rows_max {
        text += &format!("{} more\n", waits.len() - style.rows_max);
    }
    text
}
