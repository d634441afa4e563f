//! Sums over a profile: which functions, lines, stacks, waits and types cost how much.
//!
//! [`Weights`] puts the selected costs of one [`Measure`] on the stacks of the profile. Totals,
//! trees, neighbours and differences are sums over these. All of them take time proportional to the
//! number of stacks, not to their depth, but for the bottom-up tree, whose depth is limited.
//!
//! Sums saturate, so that the numbers of a hostile profile cannot overflow.

mod allocation;
mod collections;
mod counts;
mod difference;
mod edges;
mod filter;
mod place;
mod totals;
mod trees;
mod waits;
mod weights;

#[cfg(test)]
pub(crate) mod tests;

pub use allocation::{AllocationSite, AllocationType, Share, allocation_sites, allocation_types};
pub use collections::{Collection, CollectionCause, collection_causes, collections};
pub use counts::{FunctionCount, function_counts};
pub use difference::{Change, functions_changed, stacks_changed};
pub use edges::{Edge, Neighbours, call_edges, neighbours};
pub use filter::{Filter, selected};
pub use place::{Grain, Place};
pub use totals::{Total, totals};
pub use trees::{Node, Tree, bottom_up, top_down};
pub use waits::{Holder, WaitPlace, wait_places};
pub use weights::{Measure, Unit, Weights};

use std::ops::AddAssign;

/// A sum of weights, and how many rows it is the sum of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Nanoseconds or bytes.
    pub weight: u64,
    pub count: u64,
}

impl Cost {
    pub fn new(weight: u64) -> Cost {
        Cost { weight, count: 1 }
    }

    /// The share of a whole, from 0 to 1.
    pub fn share_of(self, whole: Cost) -> f64 {
        match whole.weight {
            0 => 0.0,
            weight => self.weight as f64 / weight as f64,
        }
    }

    fn without(self, other: Cost) -> Cost {
        Cost {
            weight: self.weight.saturating_sub(other.weight),
            count: self.count.saturating_sub(other.count),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.weight = self.weight.saturating_add(other.weight);
        self.count = self.count.saturating_add(other.count);
    }
}
