//! The statistics of benchmarks: pure functions on numbers, without clocks and without output.
//!
//! Measurements have two levels: processes, and the samples of each. Starts of a process differ
//! more than samples do (addresses, hashing, decisions of the specializer), so the bootstrap draws
//! processes first and then samples of these, as Kalibera and Jones propose ("Rigorous benchmarking
//! in reasonable time", 2013). A percentile interval of a few processes is too narrow; its ends are
//! moved outward by the factor that Student's distribution and the small number ask for
//! (Hesterberg, "What teachers should know about the bootstrap", 2015).
//!
//! Random numbers have a fixed seed: the same measurements give the same interval.

/// Iterations and the nanoseconds that they took together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    pub count: f64,
    pub time_ns: f64,
}

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// How many times the bootstrap draws.
const DRAWS: usize = 2000;

/// The quantile of the normal distribution for 95 %.
const NORMAL_95: f64 = 1.96;

/// The time of ratios that have no time to divide by.
const TIME_NS_MIN: f64 = 1e-3;

/// The generator SplitMix64.
struct Random {
    state: u64,
}

impl Random {
    fn new() -> Random {
        Random {
            state: 0x0bec_4a11_5eed,
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An index below `count`, which is not 0.
    fn index(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}

/// A quantile of sorted numbers, with linear interpolation; NaN of none.
fn quantile_of_sorted(sorted: &[f64], quantile: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = quantile * last as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * (place - place.floor())
}

/// The middle of some numbers; NaN of none.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, 0.5)
}

/// The arithmetic mean; NaN of none.
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Time per iteration of some samples together.
pub fn per_iteration(samples: &[Timing]) -> f64 {
    let time: f64 = samples.iter().map(|sample| sample.time_ns).sum();
    let count: f64 = samples.iter().map(|sample| sample.count).sum();
    time / count
}

/// Student's quantile for 95 % by degrees of freedom, from 1 on.
fn student_95(degrees: usize) -> f64 {
    const TABLE: [f64; 20] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    ];
    match degrees {
        0 => NORMAL_95,
        1..=20 => TABLE[degrees - 1],
        // Exact to a thousandth part.
        more => NORMAL_95 + 2.5 / more as f64,
    }
}

/// How much wider an interval of so many processes is than its percentiles.
fn widening(processes: usize) -> f64 {
    if processes < 2 {
        return 1.0;
    }
    let number = processes as f64;
    student_95(processes - 1) * (number / (number - 1.0)).sqrt() / NORMAL_95
}

/// The interval of a bootstrap around a value, for so many processes.
fn estimate(value: f64, mut drawn: Vec<f64>, processes: usize) -> Estimate {
    drawn.sort_by(f64::total_cmp);
    let factor = widening(processes);
    let end = |quantile| value + factor * (quantile_of_sorted(&drawn, quantile) - value);
    Estimate {
        value,
        low: end(0.025).min(value),
        high: end(0.975).max(value),
    }
}

/// Time per iteration of samples drawn from these.
fn redraw(samples: &[Timing], random: &mut Random) -> f64 {
    let mut sum = Timing {
        count: 0.0,
        time_ns: 0.0,
    };
    for _ in samples {
        let sample = samples[random.index(samples.len())];
        sum.count += sample.count;
        sum.time_ns += sample.time_ns;
    }
    sum.time_ns / sum.count
}

/// The mean time of an iteration over processes, each of which has samples; `None` without any.
pub fn mean_time(processes: &[Vec<Timing>]) -> Option<Estimate> {
    if processes.is_empty() || processes.iter().any(Vec::is_empty) {
        return None;
    }
    let means: Vec<f64> = processes.iter().map(|one| per_iteration(one)).collect();
    let mut random = Random::new();
    let mut drawn = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for _ in processes {
            let process = &processes[random.index(processes.len())];
            sum += redraw(process, &mut random);
        }
        drawn.push(sum / processes.len() as f64);
    }
    let found = estimate(mean(&means), drawn, processes.len());
    Some(Estimate {
        low: found.low.max(0.0),
        ..found
    })
}

/// The ratio of the time of the first to that of the second of each pair. The processes of a pair
/// ran one after the other, so that what the machine did meanwhile met both. It is the geometric
/// mean.
pub fn ratio(pairs: &[(Vec<Timing>, Vec<Timing>)]) -> Option<Estimate> {
    let is_empty = |(one, other): &(Vec<Timing>, Vec<Timing>)| one.is_empty() || other.is_empty();
    if pairs.is_empty() || pairs.iter().any(is_empty) {
        return None;
    }
    let logarithm = |one: f64, other: f64| (one.max(TIME_NS_MIN) / other.max(TIME_NS_MIN)).ln();
    let logarithms: Vec<f64> = pairs
        .iter()
        .map(|(one, other)| logarithm(per_iteration(one), per_iteration(other)))
        .collect();
    let mut random = Random::new();
    let mut drawn = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for _ in pairs {
            let (one, other) = &pairs[random.index(pairs.len())];
            sum += logarithm(redraw(one, &mut random), redraw(other, &mut random));
        }
        drawn.push(sum / pairs.len() as f64);
    }
    let found = estimate(mean(&logarithms), drawn, pairs.len());
    Some(Estimate {
        value: found.value.exp(),
        low: found.low.exp(),
        high: found.high.exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(count: f64, time_ns: f64) -> Timing {
        Timing { count, time_ns }
    }

    /// Samples of one iteration each.
    fn samples(times: &[f64]) -> Vec<Timing> {
        times.iter().map(|time| timing(1.0, *time)).collect()
    }

    #[test]
    fn middles_are_those_of_the_books() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!(quantile_of_sorted(&[0.0, 10.0], 0.25), 2.5);
    }

    #[test]
    fn samples_weigh_as_their_iterations() {
        assert_eq!(per_iteration(&[timing(1.0, 100.0), timing(9.0, 0.0)]), 10.0);
    }

    #[test]
    fn few_processes_widen_an_interval() {
        assert_eq!(widening(1), 1.0);
        // Of five: 2.776 √(5/4) / 1.96.
        assert!((widening(5) - 1.5835).abs() < 0.001);
        assert!(widening(3) > widening(4));
        assert!((widening(10_000) - 1.0).abs() < 0.001);
        // The table and the formula meet.
        assert!((student_95(20) - student_95(21)).abs() < 0.01);
    }

    #[test]
    fn equal_samples_have_an_interval_of_one_point() {
        let estimate = mean_time(&vec![samples(&[5.0; 10]); 4]).unwrap();
        assert_eq!(
            (estimate.low, estimate.value, estimate.high),
            (5.0, 5.0, 5.0)
        );
        assert!(mean_time(&[]).is_none());
        assert!(mean_time(&[samples(&[1.0]), Vec::new()]).is_none());
    }

    #[test]
    fn the_interval_is_that_of_the_processes() {
        // Processes that agree in themselves and differ by one: the deviation is 1.
        let processes: Vec<_> = [9.0, 10.0, 11.0].map(|time| samples(&[time; 20])).into();
        let estimate = mean_time(&processes).unwrap();
        assert!((estimate.value - 10.0).abs() < 1e-9);
        // Student's interval is 10 ± 2.48. Draws of three end near 9 and 11, and are widened 2.69
        // times.
        assert!((7.0..8.0).contains(&estimate.low), "{estimate:?}");
        assert!((12.0..13.0).contains(&estimate.high), "{estimate:?}");
        assert_eq!(mean_time(&processes), Some(estimate));
    }

    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        let mut random = Random::new();
        let mut normal = || {
            let uniform = (0..12).map(|_| random.index(1 << 20) as f64 / f64::from(1 << 20));
            uniform.sum::<f64>() - 6.0
        };
        let mut covered = 0;
        for _ in 0..200 {
            let processes: Vec<Vec<Timing>> = (0..5)
                .map(|_| {
                    let level = 100.0 + normal();
                    (0..10).map(|_| timing(1.0, level + normal())).collect()
                })
                .collect();
            covered += usize::from(mean_time(&processes).unwrap().contains(100.0));
        }
        assert!((180..=199).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn ratios_are_those_of_pairs() {
        // The machine becomes slower from pair to pair; the ratio stays.
        let pairs: Vec<_> = [10.0, 20.0, 40.0, 80.0]
            .map(|time| (samples(&[time * 1.1; 8]), samples(&[time; 8])))
            .into();
        let estimate = ratio(&pairs).unwrap();
        assert!((estimate.value - 1.1).abs() < 1e-9);
        assert!(!estimate.contains(1.0) && estimate.contains(estimate.value));
        let same: Vec<_> = [9.0, 10.0, 11.0]
            .map(|time| (samples(&[time, 10.0]), samples(&[10.0, time])))
            .into();
        assert!(ratio(&same).unwrap().contains(1.0));
        assert!(ratio(&[]).is_none());
    }

    #[test]
    fn no_time_at_all_has_a_ratio() {
        let zeros = || samples(&[0.0, 0.0]);
        let estimate = ratio(&[(zeros(), zeros()), (zeros(), zeros())]).unwrap();
        assert_eq!(estimate.value, 1.0);
    }
}
