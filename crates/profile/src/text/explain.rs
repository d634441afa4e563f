//! The remarks of the machine about the hottest places.
//!
//! A remark about a line has the line's own share, one about a function that of the function.

use std::collections::{HashMap, HashSet};

use canny_report::{Style, printable};

use crate::analysis::{Grain, Place, Weights, totals};
use crate::model::StringIndex;

/// Places that are explained.
const PLACES_MAX: usize = 10;
/// Sentences for a place.
const NOTES_MAX: usize = 5;

/// Sentences with shares for the ten hottest places that have notes, then the notes about the whole
/// program.
pub fn explain(weights: &Weights, style: &Style) -> String {
    let profile = weights.profile;
    let mut by_place: HashMap<Place, Vec<StringIndex>> = HashMap::new();
    let mut of_program: Vec<StringIndex> = Vec::new();
    let mut seen = HashSet::new();
    for note in &profile.rows.notes {
        if !seen.insert((note.function, note.line, note.text)) {
            continue;
        }
        match note.function {
            Some(function) if note.line == 0 => {
                by_place
                    .entry(Place::Function(function))
                    .or_default()
                    .push(note.text);
            }
            Some(function) => {
                by_place
                    .entry(Place::Line(function, note.line))
                    .or_default()
                    .push(note.text);
            }
            None => of_program.push(note.text),
        }
    }
    let mut text = String::new();
    let mut places = 0;
    // A note about a whole function is shown once, with its share.
    let functions = totals(weights, Grain::Function);
    let lines = totals(weights, Grain::Line);
    let mut all: Vec<_> = functions.iter().chain(&lines).collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.own), one.place));
    for one in all {
        let Some(notes) = by_place.get(&one.place) else {
            continue;
        };
        if places == PLACES_MAX || one.own.count == 0 {
            break;
        }
        places += 1;
        let location = one.place.location(profile);
        for note in notes.iter().take(NOTES_MAX) {
            let at = if location.is_empty() {
                String::new()
            } else {
                format!(" ({location})")
            };
            text += &format!(
                "{}  {}{}: {}\n",
                style.fraction(one.own.share_of(weights.total)),
                printable(one.place.name(profile)),
                printable(&at),
                sentence(profile.string(*note))
            );
        }
    }
    for note in of_program {
        text += &format!("{}\n", sentence(profile.string(note)));
    }
    text
}

/// A note with the full stop that it may lack.
fn sentence(note: &str) -> String {
    let note = printable(note.trim());
    let ends = note.ends_with(['.', '!', '?']);
    if ends { note } else { note + "." }
}
