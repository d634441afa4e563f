//! Where the warm-up of a process ends: a pure function on the times of its samples.
//!
//! The logarithms of the times are divided into segments of one level each, such that the squared
//! deviations and a penalty for each segment are least (optimal partitioning, as in Barrett and
//! others, "Virtual machine warmup blows hot and cold", 2017). The steady level is that of the
//! segment with the most samples in the second half. The steady state begins with the first segment
//! that is as fast. It is steady if at most a tenth of the later samples have another level.
//!
//! Single samples that stand out are smoothed away first, and levels within the noise are one.

use super::statistics::{mean, median};

/// The result for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Index of the first sample of the steady state.
    pub start: usize,
    /// Whether the level stays the same from there on, but for bursts.
    pub is_steady: bool,
}

/// With fewer samples nothing can be told.
const SAMPLES_MIN: usize = 8;

/// The least deviation that counts, as a part of the time.
const DEVIATION_MIN: f64 = 0.005;

/// Levels that differ by less are one, as a part of the time.
const TOLERANCE_MIN: f64 = 0.03;

/// Samples of other levels that a steady state may have, as a part of its samples.
const OTHERS_PART_MAX: f64 = 0.1;

/// Times below are as good as none, in nanoseconds.
const TIME_NS_MIN: f64 = 1e-3;

/// Samples of one level.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: usize,
    end: usize,
    level: f64,
}

/// Finds the steady state in the times per iteration of samples, in their order.
pub fn find(times_ns: &[f64]) -> Steady {
    if times_ns.len() < SAMPLES_MIN {
        return Steady {
            start: times_ns.len() / 2,
            is_steady: false,
        };
    }
    let logarithms: Vec<f64> = times_ns
        .iter()
        .map(|time| time.max(TIME_NS_MIN).ln())
        .collect();
    let deviation = noise(&logarithms).max(DEVIATION_MIN);
    let segments = partition(&smooth(&logarithms), deviation);
    let half = times_ns.len() / 2;
    let in_second_half = |segment: &&Segment| segment.end.saturating_sub(segment.start.max(half));
    // There is a segment, and one that reaches into the second half.
    let level = segments
        .iter()
        .max_by_key(in_second_half)
        .map_or(0.0, |segment| segment.level);
    let tolerance = TOLERANCE_MIN.max(2.0 * deviation);
    let is_fast = |segment: &&Segment| segment.level <= level + tolerance;
    let start = segments
        .iter()
        .find(is_fast)
        .map_or(half, |segment| segment.start);
    let later = segments.iter().filter(|segment| segment.start >= start);
    let others = later.filter(|segment| (segment.level - level).abs() > tolerance);
    let other_samples: usize = others.map(|segment| segment.end - segment.start).sum();
    Steady {
        start,
        is_steady: other_samples as f64 <= OTHERS_PART_MAX * (times_ns.len() - start) as f64,
    }
}

/// The deviation of neighbors from each other, which changes of the level hardly touch.
fn noise(numbers: &[f64]) -> f64 {
    let steps: Vec<f64> = numbers
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    // Of a normal distribution the median is 0.6745 deviations; a step has √2 of them.
    median(&steps) / 0.6745 / std::f64::consts::SQRT_2
}

/// Each number becomes the median of itself and its neighbors; the ends stay.
fn smooth(numbers: &[f64]) -> Vec<f64> {
    let mut smoothed = numbers.to_vec();
    for (at, window) in numbers.windows(3).enumerate() {
        smoothed[at + 1] = median(window);
    }
    smoothed
}

/// Divides numbers into segments of one level each.
fn partition(numbers: &[f64], deviation: f64) -> Vec<Segment> {
    let count = numbers.len();
    let penalty = 10.0 * (count as f64).ln() * deviation * deviation;
    // Sums of the numbers and of their squares up to an index.
    let mut sums = vec![(0.0, 0.0)];
    for number in numbers {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + number, squares + number * number));
    }
    let cost = |start: usize, end: usize| {
        let sum = sums[end].0 - sums[start].0;
        sums[end].1 - sums[start].1 - sum * sum / (end - start) as f64
    };
    // The least cost up to an index, and where its last segment begins.
    let mut best = vec![(0.0, 0)];
    for end in 1..=count {
        let costs = (0..end).map(|start| (best[start].0 + cost(start, end) + penalty, start));
        let least = costs.min_by(|one, other| one.0.total_cmp(&other.0));
        best.push(least.unwrap_or_default());
    }
    let mut segments = Vec::new();
    let mut end = count;
    while end > 0 {
        let start = best[end].1;
        segments.push(Segment {
            start,
            end,
            level: mean(&numbers[start..end]),
        });
        end = start;
    }
    segments.reverse();
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times around levels, with a deviation of about a hundredth.
    fn times(levels: &[(usize, f64)]) -> Vec<f64> {
        let levels = levels
            .iter()
            .flat_map(|(count, level)| vec![*level; *count]);
        let noise = [0.99, 1.01, 1.0, 1.008, 0.995, 1.004, 0.992];
        levels
            .enumerate()
            .map(|(at, level)| level * noise[at % noise.len()])
            .collect()
    }

    fn steady(start: usize) -> Steady {
        Steady {
            start,
            is_steady: true,
        }
    }

    #[test]
    fn warm_up_is_told_from_the_steady_state() {
        assert_eq!(find(&times(&[(60, 10.0)])), steady(0));
        assert_eq!(find(&times(&[(7, 100.0), (60, 10.0)])), steady(7));
        assert_eq!(
            find(&times(&[(5, 900.0), (12, 100.0), (40, 10.0)])),
            steady(17)
        );
        // A tenth faster.
        assert_eq!(find(&times(&[(20, 11.0), (40, 10.0)])), steady(20));
    }

    #[test]
    fn a_sample_that_stands_out_is_no_level() {
        let mut numbers = times(&[(7, 100.0), (60, 10.0)]);
        numbers[30] = 500.0;
        numbers[50] = 30.0;
        assert_eq!(find(&numbers), steady(7));
    }

    #[test]
    fn a_short_burst_of_noise_is_no_other_level() {
        let numbers = times(&[(7, 100.0), (40, 10.0), (3, 12.0), (30, 10.0)]);
        assert_eq!(find(&numbers), steady(7));
        let numbers = times(&[(7, 100.0), (40, 10.0), (12, 12.0), (30, 10.0)]);
        assert!(!find(&numbers).is_steady);
    }

    #[test]
    fn a_level_that_changes_again_is_not_steady() {
        let found = find(&times(&[(7, 100.0), (30, 10.0), (20, 20.0)]));
        assert_eq!((found.start, found.is_steady), (7, false));
        let found = find(&times(&[(40, 20.0), (25, 10.0)]));
        assert_eq!((found.start, found.is_steady), (40, true));
    }

    #[test]
    fn few_samples_tell_nothing() {
        let half = |start| Steady {
            start,
            is_steady: false,
        };
        assert_eq!(find(&[]), half(0));
        assert_eq!(find(&[1.0]), half(0));
        assert_eq!(find(&[3.0, 1.0, 1.0]), half(1));
    }

    #[test]
    fn no_time_at_all_is_steady() {
        assert_eq!(find(&[0.0; 40]), steady(0));
        assert_eq!(find(&times(&[(3, 10.0), (40, 0.0)])), steady(3));
    }
}
