//! The samples of one run, and the warming up that they show.
//!
//! A sample is some iterations, with the time they took. Their *cost* is the lesser of wall time
//! and the process's processor time for each of them. Another process on the machine adds to the
//! first, and the specializer's thread to the second; neither is the speed of the program. Costs
//! are compared as medians of windows, since one sample may hold a collection.

use std::time::Duration;

use crate::bench::measure::median;

/// Starts the lines of samples.
const MARK: &str = "+!SAMPLE!+";
/// The lead of `current-second` over the system's clock: TAI, of which Canny says the same.
const TAI_AHEAD_OF_UTC_SECONDS: f64 = 37.0;
/// A window has at least so many samples, and takes at least that long.
const WINDOW_SAMPLES: usize = 5;
const WINDOW_SECONDS: f64 = 0.05;
/// Fast enough: this share of the peak speed.
const SHARE_OF_PEAK: f64 = 0.9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    iterations: u64,
    wall_seconds: f64,
    processor_seconds: f64,
}

impl Sample {
    fn cost(&self) -> f64 {
        self.wall_seconds.min(self.processor_seconds) / self.iterations.max(1) as f64
    }
}

/// The samples of a process, and when they began.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// From the start of the process, wall and processor time.
    begin_wall_seconds: f64,
    begin_processor_seconds: f64,
    samples: Vec<Sample>,
}

/// How a process warmed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    /// An iteration at peak speed.
    pub peak_seconds: f64,
    /// The first iteration as a multiple of that.
    pub first_ratio: f64,
    /// From the start of the process to the first iteration, wall time.
    pub begin_seconds: f64,
    /// From the start of the process to 90 % of peak speed, wall time, and the processor time of all threads.
    pub wall_seconds: f64,
    pub processor_seconds: f64,
}

impl Samples {
    /// Reads what a process printed that was started then (since the epoch).
    pub fn parse(output: &str, started: Duration) -> Result<Samples, String> {
        let mut lines = output.lines().filter_map(|line| line.strip_prefix(MARK));
        let head = lines.next().ok_or("it printed no samples")?;
        let (_, epoch, begin_processor_seconds) = fields(head)?;
        let begin_wall_seconds = epoch - TAI_AHEAD_OF_UTC_SECONDS - started.as_secs_f64();
        let samples = lines
            .map(|line| {
                let (iterations, wall_seconds, processor_seconds) = fields(line)?;
                Ok(Sample {
                    iterations,
                    wall_seconds,
                    processor_seconds,
                })
            })
            .collect::<Result<_, String>>()?;
        Ok(Samples {
            begin_wall_seconds: begin_wall_seconds.max(0.0),
            begin_processor_seconds,
            samples,
        })
    }

    /// `None` if there are too few samples to tell.
    pub fn warm_up(&self) -> Option<WarmUp> {
        let windows = self.windows();
        let peak = self.peak(&windows)?;
        let limit = peak / SHARE_OF_PEAK;
        let (mut wall, mut processor) = (self.begin_wall_seconds, self.begin_processor_seconds);
        let mut at_peak = None;
        for (sample, window) in self.samples.iter().zip(&windows) {
            if sample.cost() <= limit && *window <= limit {
                at_peak = Some((wall, processor));
                break;
            }
            wall += sample.wall_seconds;
            processor += sample.processor_seconds;
        }
        // The windows of the last quarter are not all slower than their median.
        let (wall_seconds, processor_seconds) = at_peak?;
        Some(WarmUp {
            peak_seconds: peak,
            first_ratio: self.samples.first()?.cost() / peak,
            begin_seconds: self.begin_wall_seconds,
            wall_seconds,
            processor_seconds,
        })
    }

    /// The median cost of each window, by its first sample.
    fn windows(&self) -> Vec<f64> {
        let mut windows = Vec::new();
        let mut end = 0;
        let mut seconds = 0.0;
        for start in 0..self.samples.len() {
            while end < self.samples.len()
                && (end - start < WINDOW_SAMPLES || seconds < WINDOW_SECONDS)
            {
                seconds += self.samples[end].wall_seconds;
                end += 1;
            }
            if end - start < WINDOW_SAMPLES || seconds < WINDOW_SECONDS {
                break;
            }
            let costs: Vec<f64> = self.samples[start..end].iter().map(Sample::cost).collect();
            windows.push(median(&costs));
            seconds -= self.samples[start].wall_seconds;
        }
        windows
    }

    /// The median of the windows that begin in the last quarter of the run.
    fn peak(&self, windows: &[f64]) -> Option<f64> {
        let all: f64 = self.samples.iter().map(|sample| sample.wall_seconds).sum();
        let mut before = 0.0;
        let mut last = Vec::new();
        for (sample, window) in self.samples.iter().zip(windows) {
            if before >= all * 0.75 {
                last.push(*window);
            }
            before += sample.wall_seconds;
        }
        // Long iterations: the last window that there is may begin before.
        if last.is_empty() {
            last.extend(windows.last());
        }
        (!last.is_empty()).then(|| median(&last))
    }
}

fn fields(line: &str) -> Result<(u64, f64, f64), String> {
    let wrong = || format!("`{line}` is no sample");
    let mut words = line.split_whitespace();
    let mut next = || words.next().ok_or_else(wrong);
    let iterations = next()?.parse().map_err(|_| wrong())?;
    let wall = next()?.parse().map_err(|_| wrong())?;
    let processor = next()?.parse().map_err(|_| wrong())?;
    Ok((iterations, wall, processor))
}

/// Of runs that say the same: the median of each figure.
pub fn median_warm_up(runs: &[WarmUp]) -> Option<WarmUp> {
    let of = |figure: fn(&WarmUp) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>());
    (!runs.is_empty()).then(|| WarmUp {
        peak_seconds: of(|run| run.peak_seconds),
        first_ratio: of(|run| run.first_ratio),
        begin_seconds: of(|run| run.begin_seconds),
        wall_seconds: of(|run| run.wall_seconds),
        processor_seconds: of(|run| run.processor_seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: Duration = Duration::from_secs(1000);

    fn samples(costs: &[f64]) -> Samples {
        let mut text = format!("Running\n{MARK} 0 1037.25 0.125\n");
        for cost in costs {
            // Two iterations in a sample; somebody else ran during the first half of it.
            text.push_str(&format!("{MARK} 2 {} {}\n", cost * 4.0, cost * 2.0));
        }
        Samples::parse(&text, STARTED).expect("it is well-formed")
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_first_fast_iteration_of_many_is_the_end_of_warming_up() {
        let mut costs = vec![0.1, 0.1, 0.1];
        costs.extend([0.02; 100]);
        let warm_up = samples(&costs).warm_up().expect("there are enough");
        assert!(close(warm_up.peak_seconds, 0.02), "{warm_up:?}");
        assert!(close(warm_up.first_ratio, 5.0));
        assert!(close(warm_up.begin_seconds, 0.25));
        assert!(close(warm_up.wall_seconds, 0.25 + 1.2));
        assert!(close(warm_up.processor_seconds, 0.125 + 0.6));
    }

    #[test]
    fn one_slow_sample_does_not_delay_and_one_fast_one_does_not_hasten() {
        let mut costs = vec![0.1, 0.02, 0.1, 0.1, 0.1];
        costs.extend([0.02; 50]);
        costs[6] = 0.3;
        let warm_up = samples(&costs).warm_up().expect("there are enough");
        assert!(
            close(warm_up.wall_seconds, 0.25 + 4.0 * 0.42),
            "{warm_up:?}"
        );
    }

    #[test]
    fn nine_tenths_of_the_speed_are_enough() {
        let costs = |second| {
            let mut costs = vec![2.0, second, second, second, second, second];
            costs.extend([0.9; 50]);
            costs
        };
        let enough = samples(&costs(0.99)).warm_up().expect("there are enough");
        assert!(close(enough.wall_seconds, 0.25 + 8.0));
        let slow = samples(&costs(1.01)).warm_up().expect("there are enough");
        assert!(slow.wall_seconds > 0.25 + 20.0, "{slow:?}");
    }

    #[test]
    fn a_program_that_is_fast_at_once_is_warm_when_it_begins() {
        let warm_up = samples(&[0.5; 8]).warm_up().expect("there are enough");
        assert!(close(warm_up.wall_seconds, 0.25));
        assert!(close(warm_up.processor_seconds, 0.125));
    }

    #[test]
    fn many_short_samples_are_looked_at_together() {
        // Samples of 4 and 5 milliseconds: five fast ones would fill a window that had no length in time.
        let mut costs = vec![0.00125; 20];
        costs[3..8].fill(0.001);
        costs.extend([0.001; 200]);
        let warm_up = samples(&costs).warm_up().expect("there are enough");
        let slow: f64 = costs[..20].iter().map(|cost| cost * 4.0).sum();
        assert!(close(warm_up.wall_seconds, 0.25 + slow), "{warm_up:?}");
    }

    #[test]
    fn too_few_samples_tell_nothing() {
        assert_eq!(samples(&[1.0; 4]).warm_up(), None);
        assert_eq!(samples(&[]).warm_up(), None);
        assert!(samples(&[1.0; 5]).warm_up().is_some());
    }

    #[test]
    fn other_output_is_refused() {
        assert!(Samples::parse("Hello\n", STARTED).is_err());
        assert!(Samples::parse("+!SAMPLE!+ 0 x 1\n", STARTED).is_err());
        assert!(Samples::parse("+!SAMPLE!+ 0 1037 1\n+!SAMPLE!+ 1 2\n", STARTED).is_err());
    }

    #[test]
    fn each_figure_is_the_median_of_the_runs() {
        let run = |seconds| WarmUp {
            peak_seconds: seconds,
            first_ratio: 10.0 - seconds,
            begin_seconds: 0.0,
            wall_seconds: seconds,
            processor_seconds: 1.0,
        };
        let median = median_warm_up(&[run(3.0), run(1.0), run(2.0)]).expect("there are runs");
        assert!(close(median.wall_seconds, 2.0) && close(median.first_ratio, 8.0));
        assert_eq!(median_warm_up(&[]), None);
    }
}
