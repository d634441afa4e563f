//! The costs of each function or line, itself and with its callees.
//!
//! A function that is on a stack several times counts once: only its oldest frame adds to the
//! total.

use std::collections::HashMap;

use super::weights::Visit;
use super::{Cost, Grain, Place, Weights};

/// The costs of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    pub place: Place,
    /// Where the place is the newest frame.
    pub own: Cost,
    /// Where it is on the stack.
    pub total: Cost,
}

/// The costs of all places, the largest of their own first.
pub fn totals(weights: &Weights, grain: Grain) -> Vec<Total> {
    let mut sums: HashMap<Place, (Total, usize)> = HashMap::new();
    weights.visit(|visit| {
        let (Visit::Enter(stack) | Visit::Leave(stack)) = visit;
        let place = weights.place(stack, grain);
        let (sum, on_path) = sums.entry(place).or_insert((Total::new(place), 0));
        match visit {
            Visit::Enter(stack) => {
                sum.own += weights.own(stack);
                if *on_path == 0 {
                    sum.total += weights.inclusive(stack);
                }
                *on_path += 1;
            }
            Visit::Leave(_) => *on_path -= 1,
        }
    });
    let mut totals: Vec<Total> = sums.into_values().map(|(sum, _)| sum).collect();
    if weights.unknown.count > 0 {
        totals.push(Total {
            place: Place::Unknown,
            own: weights.unknown,
            total: weights.unknown,
        });
    }
    totals.sort_by(|a, b| {
        let by_cost = (b.own, b.total).cmp(&(a.own, a.total));
        by_cost.then(a.place.cmp(&b.place))
    });
    totals
}

impl Total {
    fn new(place: Place) -> Total {
        Total {
            place,
            own: Cost::default(),
            total: Cost::default(),
        }
    }
}
