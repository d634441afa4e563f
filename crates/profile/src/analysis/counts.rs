//! Exact counts of the instrumented profiler, by function.
//!
//! A row of the profile is a call edge. The inclusive times of edges to a recursive function contain
//! each other, so their sum may be larger than the time of the program. Edges from a function to
//! itself are left out of the inclusive sum, which makes it right for plain recursion.
//!
//! A clock at each call would cost more than the call. A profile whose counts have no times takes
//! them from its samples.

use std::collections::HashMap;

use super::{Filter, Grain, Measure, Place, Weights, totals};
use crate::model::{Count, FunctionIndex, Profile};

/// The calls of one function, over all callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCount {
    pub function: FunctionIndex,
    /// Sums; its caller is `None`.
    pub sum: Count,
    /// Calls by caller, the most first. `None` stands for calls from outside of the program.
    pub callers: Vec<(Option<FunctionIndex>, u64)>,
}

/// The functions with exact counts, the largest exclusive time first.
pub fn function_counts(profile: &Profile) -> Vec<FunctionCount> {
    type Callers = HashMap<Option<FunctionIndex>, u64>;
    let mut sums: HashMap<FunctionIndex, (Count, Callers)> = HashMap::new();
    for row in &profile.rows.counts {
        let (sum, callers) = sums.entry(row.callee).or_default();
        let is_recursive = row.caller == Some(row.callee);
        let inclusive_ns = if is_recursive { 0 } else { row.inclusive_ns };
        for (total, part) in [
            (&mut sum.calls, row.calls),
            (&mut sum.inclusive_ns, inclusive_ns),
            (&mut sum.exclusive_ns, row.exclusive_ns),
            (&mut sum.interpreted, row.interpreted),
            (&mut sum.compiled, row.compiled),
            (&mut sum.inlined, row.inlined),
            (callers.entry(row.caller).or_default(), row.calls),
        ] {
            *total = total.saturating_add(part);
        }
    }
    let counts = sums.into_iter().map(|(function, (sum, callers))| {
        let mut callers: Vec<(Option<FunctionIndex>, u64)> = callers.into_iter().collect();
        callers.sort_by_key(|(caller, calls)| (std::cmp::Reverse(*calls), *caller));
        let sum = Count {
            callee: function,
            ..sum
        };
        FunctionCount {
            function,
            sum,
            callers,
        }
    });
    let mut counts: Vec<FunctionCount> = counts.collect();
    if counts.iter().all(|one| one.sum.exclusive_ns == 0) {
        take_times_of_samples(profile, &mut counts);
    }
    counts.sort_by_key(|one| {
        let cost = (one.sum.exclusive_ns, one.sum.calls);
        (std::cmp::Reverse(cost), one.function)
    });
    counts
}

/// Fills in the times that samples tell.
fn take_times_of_samples(profile: &Profile, counts: &mut [FunctionCount]) {
    let filter = Filter::default();
    let weights = Weights::new(profile, Measure::Cpu, &filter);
    let times: HashMap<Place, (u64, u64)> = totals(&weights, Grain::Function)
        .into_iter()
        .map(|one| (one.place, (one.own.weight, one.total.weight)))
        .collect();
    for one in counts {
        if let Some((own_ns, total_ns)) = times.get(&Place::Function(one.function)) {
            one.sum.exclusive_ns = *own_ns;
            one.sum.inclusive_ns = *total_ns;
        }
    }
}
