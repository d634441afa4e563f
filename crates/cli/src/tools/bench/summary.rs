//! The figures of a benchmark from the samples of its processes, and the verdict of a comparison.
//! All functions are pure; `statistics` and `steady` do the computing.

use super::report::Sample;
use super::statistics::{self, Estimate, Timing};
use super::steady::{self, Steady};

/// The measurements of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    pub samples: Vec<Sample>,
    /// Bytes and items of an iteration.
    pub bytes: Option<f64>,
    pub items: Option<f64>,
    pub waited_ns: Option<f64>,
    pub switches: Option<f64>,
    pub processor_ns: Option<f64>,
}

/// The kinds of things that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A `benchmark` form, which has a warm-up in each process.
    Benchmark,
    /// A whole program. Each process is one iteration.
    Program,
}

/// The figures of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Nanoseconds per iteration in the steady state.
    pub mean: Estimate,
    pub median_ns: f64,
    /// The first iteration of a process, and the time up to the steady state: medians over the
    /// processes.
    pub first_ns: f64,
    pub warm_up_ns: f64,
    pub processes: usize,
    /// Processes whose times stayed at one level.
    pub steady_processes: usize,
    pub samples: usize,
    /// The rest is about the steady state.
    pub iterations: f64,
    pub bytes_per_iteration: f64,
    pub collections: f64,
    /// The part of the time that collections took.
    pub pause_part: f64,
    pub bytes_per_second: Option<f64>,
    pub items_per_second: Option<f64>,
    /// The part of the time in which the process was ready and had no processor.
    pub waited_part: Option<f64>,
    pub switches: Option<f64>,
    pub processor_ns: Option<f64>,
}

/// The heap counts whole blocks of this size, and reading its statistics allocates some bytes.
/// Amounts below that are none.
const BLOCK_BYTES: f64 = 65_536.0;
const SAMPLE_BYTES: f64 = 512.0;

/// Where the warm-up of a process ends.
fn steady_of(process: &Process, kind: Kind) -> Steady {
    if kind == Kind::Program {
        return Steady {
            start: 0,
            is_steady: true,
        };
    }
    let times: Vec<f64> = process
        .samples
        .iter()
        .map(Sample::per_iteration_ns)
        .collect();
    steady::find(&times)
}

/// The timings of a process behind its warm-up.
pub fn steady_timings(process: &Process, kind: Kind) -> Vec<Timing> {
    let start = steady_of(process, kind).start;
    let samples = process.samples[start..].iter();
    samples.map(|sample| sample.timing).collect()
}

/// The figures of some processes; `None` if no process has a sample.
pub fn summarize(processes: &[Process], kind: Kind) -> Option<Summary> {
    let processes: Vec<&Process> = processes
        .iter()
        .filter(|process| !process.samples.is_empty())
        .collect();
    let first = processes.first()?;
    let steady: Vec<Steady> = processes.iter().map(|one| steady_of(one, kind)).collect();
    let parts = || {
        let both = processes.iter().zip(&steady);
        both.map(|(process, steady)| process.samples.split_at(steady.start))
    };
    let timings: Vec<Vec<Timing>> = parts()
        .map(|(_, samples)| samples.iter().map(|sample| sample.timing).collect())
        .collect();
    let mean = statistics::mean_time(&timings)?;
    let samples: Vec<Sample> = parts().flat_map(|(_, samples)| samples.to_vec()).collect();
    let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let iterations = sum(|sample| sample.timing.count);
    let time_ns = sum(|sample| sample.timing.time_ns);
    let bytes = sum(|sample| sample.bytes);
    let least = BLOCK_BYTES * processes.len() as f64 + SAMPLE_BYTES * samples.len() as f64;
    let is_amount = kind == Kind::Program || bytes > least;
    let firsts: Vec<f64> = processes
        .iter()
        .map(|process| process.samples[0].per_iteration_ns())
        .collect();
    let warm_ups: Vec<f64> = parts()
        .map(|(samples, _)| samples.iter().map(|sample| sample.timing.time_ns).sum())
        .collect();
    let times: Vec<f64> = samples.iter().map(Sample::per_iteration_ns).collect();
    let total_ns: f64 = processes
        .iter()
        .flat_map(|process| &process.samples)
        .map(|sample| sample.timing.time_ns)
        .sum();
    let per_second = |amount: Option<f64>| amount.map(|amount| amount * 1e9 / mean.value);
    let over = |of: fn(&Process) -> Option<f64>| {
        let numbers: Option<Vec<f64>> = processes.iter().map(|process| of(process)).collect();
        numbers.map(|numbers| numbers.iter().sum::<f64>())
    };
    Some(Summary {
        mean,
        median_ns: statistics::median(&times),
        first_ns: statistics::median(&firsts),
        warm_up_ns: statistics::median(&warm_ups),
        processes: processes.len(),
        steady_processes: steady.iter().filter(|steady| steady.is_steady).count(),
        samples: samples.len(),
        iterations,
        bytes_per_iteration: if is_amount { bytes / iterations } else { 0.0 },
        collections: sum(|sample| sample.collections),
        pause_part: (sum(|sample| sample.pause_ns) / time_ns.max(1.0)).min(1.0),
        bytes_per_second: per_second(first.bytes),
        items_per_second: per_second(first.items),
        waited_part: over(|process| process.waited_ns)
            .map(|waited| (waited / total_ns.max(1.0)).min(1.0)),
        switches: over(|process| process.switches),
        processor_ns: over(|process| process.processor_ns)
            .map(|time| time / processes.len() as f64),
    })
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Slower,
    Faster,
    NoDifference,
}

/// The ratio of the times of two sides, by pairs of processes in their order.
pub fn ratio(own: &[Process], baseline: &[Process], kind: Kind) -> Option<Estimate> {
    let has_samples = |process: &Process| !process.samples.is_empty();
    let pairs = own.iter().zip(baseline);
    let pairs = pairs.filter(|(one, other)| has_samples(one) && has_samples(other));
    let pairs: Vec<_> = pairs
        .map(|(one, other)| (steady_timings(one, kind), steady_timings(other, kind)))
        .collect();
    statistics::ratio(&pairs)
}

/// The verdict of a ratio. There is no difference if the ratio may as well be 1, or if there is one
/// pair of processes only.
pub fn verdict(ratio: &Estimate, pairs: usize) -> Verdict {
    if pairs < 2 || ratio.contains(1.0) {
        Verdict::NoDifference
    } else if ratio.value > 1.0 {
        Verdict::Slower
    } else {
        Verdict::Faster
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: f64, time_ns: f64, bytes: f64) -> Sample {
        Sample {
            timing: Timing { count, time_ns },
            bytes,
            collections: 1.0,
            pause_ns: time_ns / 4.0,
        }
    }

    /// A process with a warm-up of three samples, and then iterations of `time_ns`.
    fn process(time_ns: f64) -> Process {
        let mut samples = vec![
            sample(1.0, 9000.0, 0.0),
            sample(2.0, 9000.0, 0.0),
            sample(4.0, 9000.0, 0.0),
        ];
        samples.extend([sample(1000.0, 1000.0 * time_ns, 48_000.0); 40]);
        Process {
            samples,
            items: Some(10.0),
            waited_ns: Some(100.0),
            ..Process::default()
        }
    }

    #[test]
    fn figures_are_those_of_the_steady_state() {
        let summary = summarize(&[process(10.0), process(12.0)], Kind::Benchmark).unwrap();
        assert_eq!(summary.mean.value, 11.0);
        assert_eq!((summary.first_ns, summary.warm_up_ns), (9000.0, 27_000.0));
        assert_eq!((summary.samples, summary.iterations), (80, 80_000.0));
        assert_eq!(summary.bytes_per_iteration, 48.0);
        assert_eq!((summary.collections, summary.pause_part), (80.0, 0.25));
        assert_eq!(
            summary.items_per_second.map(f64::round),
            Some(909_090_909.0)
        );
        assert_eq!((summary.processes, summary.steady_processes), (2, 2));
        assert!(summarize(&[Process::default()], Kind::Benchmark).is_none());
    }

    #[test]
    fn what_reading_the_statistics_allocates_does_not_count() {
        let mut one = process(10.0);
        for sample in &mut one.samples {
            sample.bytes = 300.0;
        }
        let summary = summarize(&[one], Kind::Benchmark).unwrap();
        assert_eq!(summary.bytes_per_iteration, 0.0);
    }

    #[test]
    fn verdicts_need_confidence() {
        let own = [process(11.0), process(11.1), process(11.2)];
        let baseline = [process(10.0), process(10.1), process(10.2)];
        let found = ratio(&own, &baseline, Kind::Benchmark).unwrap();
        assert_eq!(verdict(&found, 3), Verdict::Slower);
        assert_eq!(verdict(&found, 1), Verdict::NoDifference);
        let found = ratio(&baseline, &own, Kind::Benchmark).unwrap();
        assert_eq!(verdict(&found, 3), Verdict::Faster);
        let found = ratio(&own, &own, Kind::Benchmark).unwrap();
        assert_eq!(verdict(&found, 3), Verdict::NoDifference);
        assert!(ratio(&own, &[], Kind::Benchmark).is_none());
    }
}
