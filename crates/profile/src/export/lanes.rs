//! Rows of slices: which of several times that overlap can stand in one row.
//!
//! Formats for timelines want the slices of a row either nested or apart.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The lane of each time, from its beginning to its end, in order of the beginnings.
///
/// Times in the same lane do not overlap. Lanes are numbered from 0 and as few as possible.
pub fn lanes(times: &[(u64, u64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|index| times[*index]);
    let mut busy: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut count = 0;
    let mut lanes = vec![0; times.len()];
    for index in order {
        let (from, to) = times[index];
        while let Some(Reverse((end, lane))) = busy.peek().copied() {
            if end > from {
                break;
            }
            busy.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or(count, |Reverse(lane)| lane);
        count = count.max(lane + 1);
        lanes[index] = lane;
        busy.push(Reverse((to.max(from), lane)));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(times: &[(u64, u64)], expect: &[usize]) {
        assert_eq!(lanes(times), expect);
    }

    #[test]
    fn times_that_overlap_have_different_lanes() {
        check(&[], &[]);
        check(&[(0, 5), (5, 9)], &[0, 0]);
        check(&[(0, 5), (4, 9), (5, 6)], &[0, 1, 0]);
        check(&[(4, 9), (0, 5), (9, 9)], &[1, 0, 0]);
        check(&[(0, 9), (1, 9), (2, 9)], &[0, 1, 2]);
    }
}
