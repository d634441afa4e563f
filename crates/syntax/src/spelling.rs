//! Finds the name that is most like a misspelt one, for the suggestions of messages.

use crate::name::Name;

/// The name most like `wanted`, if one is close enough to be what was meant.
pub fn similar_name(wanted: Name, names: impl Iterator<Item = Name>) -> Option<Name> {
    let text = wanted.as_str();
    let allowed = match text.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        6..=10 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, Name)> = None;
    for name in names {
        let distance = edit_distance(text, name.as_str(), allowed);
        let closer =
            |&(least, other): &(usize, Name)| (distance, name.as_str()) < (least, other.as_str());
        if distance > 0 && distance <= allowed && best.as_ref().is_none_or(closer) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// How many insertions, deletions, replacements and swaps of neighbours lead from one text to the
/// other; anything more than `limit` is `limit + 1`.
fn edit_distance(left: &str, right: &str, limit: usize) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len().abs_diff(right.len()) > limit {
        return limit + 1;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, character) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(character != other);
            let mut least = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && left[row - 1] == *other && right[column - 1] == *character {
                least = least.min(before_last[column - 1] + 1);
            }
            current.push(least);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()].min(limit + 1)
}
