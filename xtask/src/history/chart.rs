//! The history as a chart: commits from left to right, and per benchmark a panel with time, allocation and peak memory
//! on one logarithmic axis, each as a multiple of the first commit that tells it.

use super::commits::Commit;
use super::table::{Figures, History, bytes_text};
use crate::svg::{Anchor, COLOURS, LogAxis, Svg};

const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 54.0;
const PANEL_HEIGHT: f64 = 180.0;
const PANEL_GAP: f64 = 46.0;
const BOTTOM: f64 = 60.0;
const COMMIT_WIDTH: f64 = 22.0;
const PLOT_WIDTH_MIN: f64 = 420.0;
const PLOT_WIDTH_MAX: f64 = 1400.0;
/// Commits that get their names below the chart; of more, only some do.
const NAMES_MAX: usize = 60;

/// One of the three figures.
struct Metric {
    name: &'static str,
    value: fn(&Figures) -> Option<f64>,
    shown: fn(f64) -> String,
}

const METRICS: [Metric; 3] = [
    Metric {
        name: "CPU time",
        value: |figures| Some(figures.seconds),
        shown: |seconds| format!("{seconds:.3} s"),
    },
    Metric {
        name: "allocation",
        value: |figures| figures.allocated_bytes.map(|bytes| bytes as f64),
        shown: |bytes| bytes_text(bytes as u64),
    },
    Metric {
        name: "peak memory",
        value: |figures| Some(figures.peak_bytes as f64),
        shown: |bytes| bytes_text(bytes as u64),
    },
];

/// A line of the chart: per commit the figure, and the ratio to the first one; `None` where it is not known.
fn series(
    history: &History,
    commits: &[Commit],
    benchmark: &str,
    metric: &Metric,
) -> Vec<Option<(f64, f64)>> {
    let values: Vec<Option<f64>> = commits
        .iter()
        .map(|commit| {
            let figures = history.figures(&commit.hash, benchmark)?;
            (metric.value)(&figures).filter(|value| *value > 0.0)
        })
        .collect();
    let first = values.iter().flatten().next().copied().unwrap_or(1.0);
    values
        .into_iter()
        .map(|value| value.map(|value| (value, value / first)))
        .collect()
}

pub fn svg(history: &History, commits: &[Commit], benchmarks: &[&str]) -> String {
    let steps = commits.len().saturating_sub(1).max(1) as f64;
    let plot_width = (steps * COMMIT_WIDTH).clamp(PLOT_WIDTH_MIN, PLOT_WIDTH_MAX);
    let panels = benchmarks.len() as f64;
    let height = TOP + panels * (PANEL_HEIGHT + PANEL_GAP) + BOTTOM;
    let mut svg = Svg::new(LEFT + plot_width + RIGHT, height);
    svg.title("Figures by commit, as multiples of the first (logarithmic; lower is better)");
    for (index, metric) in METRICS.iter().enumerate() {
        let place = (LEFT + index as f64 * 110.0, 28.0);
        svg.legend(place, COLOURS[index], metric.name);
    }
    let x_of = |index: usize| LEFT + plot_width * index as f64 / steps;
    for (number, benchmark) in benchmarks.iter().enumerate() {
        let top = TOP + 20.0 + number as f64 * (PANEL_HEIGHT + PANEL_GAP);
        let panel = Panel {
            history,
            commits,
            benchmark,
            top,
            right: LEFT + plot_width,
        };
        panel.draw(&mut svg, x_of);
    }
    let every = commits.len().div_ceil(NAMES_MAX).max(1);
    for (index, commit) in commits.iter().enumerate().step_by(every) {
        let place = (x_of(index) + 4.0, height - BOTTOM - PANEL_GAP + 36.0);
        svg.slanted_text(place, commit.short(), &commit.subject);
    }
    svg.finish()
}

struct Panel<'a> {
    history: &'a History,
    commits: &'a [Commit],
    benchmark: &'a str,
    top: f64,
    right: f64,
}

impl Panel<'_> {
    fn draw(&self, svg: &mut Svg, x_of: impl Fn(usize) -> f64) {
        let bottom = self.top + PANEL_HEIGHT;
        let lines = METRICS
            .each_ref()
            .map(|metric| series(self.history, self.commits, self.benchmark, metric));
        let ratios = || lines.iter().flatten().flatten().map(|(_, ratio)| *ratio);
        let range = (ratios().fold(1.0, f64::min), ratios().fold(1.0, f64::max));
        let axis = LogAxis::around(range, (bottom, self.top));
        svg.text((LEFT, self.top - 6.0), Anchor::Start, self.benchmark);
        for tick in axis.ticks() {
            let y = axis.position(tick);
            let is_one = (tick - 1.0).abs() < 1e-9;
            let colour = if is_one { "#888888" } else { "#dddddd" };
            svg.line((LEFT, y), (self.right, y), colour);
            svg.text((LEFT - 6.0, y + 4.0), Anchor::End, &tick_label(tick));
        }
        for (index, commit) in self.commits.iter().enumerate() {
            if let Some(note) = self.history.note(&commit.hash, self.benchmark) {
                let hint = format!("{}: {note}", commit.short());
                svg.bar(
                    (x_of(index) - 2.0, bottom - 4.0),
                    (4.0, 8.0),
                    "#222222",
                    &hint,
                );
            }
        }
        for ((metric, line), colour) in METRICS.iter().zip(&lines).zip(COLOURS) {
            let points: Vec<(f64, f64)> = line
                .iter()
                .enumerate()
                .filter_map(|(index, point)| Some((x_of(index), axis.position(point.as_ref()?.1))))
                .collect();
            svg.path(&points, colour);
            for (index, commit) in self.commits.iter().enumerate() {
                if let Some((value, ratio)) = line[index] {
                    let hint = format!(
                        "{} {}: {} {} ({ratio:.3})",
                        commit.short(),
                        commit.subject,
                        metric.name,
                        (metric.shown)(value)
                    );
                    svg.dot((x_of(index), axis.position(ratio)), colour, &hint);
                }
            }
        }
    }
}

fn tick_label(tick: f64) -> String {
    if tick >= 1.0 {
        format!("{tick:.0}")
    } else {
        let digits = (-tick.log10()).ceil() as usize;
        format!("{tick:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Row;
    use super::*;

    fn commit(hash: &str) -> Commit {
        Commit {
            hash: hash.to_owned(),
            subject: format!("Subject of <{hash}>"),
        }
    }

    fn history(rows: Vec<Row>) -> History {
        let directory = std::env::temp_dir().join(format!(
            "xtask-chart-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&directory).expect("the directory can be made");
        let mut history = History::default();
        for row in rows {
            let path = directory.join("history.csv");
            history.append(&path, row).expect("the file can be written");
        }
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
        history
    }

    fn measured(commit: &str, seconds: f64, allocated_bytes: Option<u64>) -> Row {
        let figures = Figures {
            seconds,
            allocated_bytes,
            peak_bytes: 8_000_000,
        };
        Row::new(commit, "fib", Ok(figures))
    }

    #[test]
    fn figures_are_multiples_of_the_first_that_is_known() {
        let history = history(vec![
            measured("a", 4.0, None),
            Row::does_not_build("b", "error"),
            measured("c", 2.0, Some(100)),
            measured("d", 1.0, Some(25)),
        ]);
        let commits = ["a", "b", "c", "d"].map(commit);
        let times = series(&history, &commits, "fib", &METRICS[0]);
        assert_eq!(
            times,
            [Some((4.0, 1.0)), None, Some((2.0, 0.5)), Some((1.0, 0.25))]
        );
        let allocations = series(&history, &commits, "fib", &METRICS[1]);
        assert_eq!(
            allocations,
            [None, None, Some((100.0, 1.0)), Some((25.0, 0.25))]
        );
        let svg = svg(&history, &commits, &["fib"]);
        assert!(svg.contains("does not build: error"));
        assert!(svg.contains("Subject of &lt;a&gt;"));
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert_eq!(svg.matches("<circle").count(), 8);
    }

    #[test]
    fn a_chart_without_figures_is_a_chart() {
        let history = History::default();
        let empty = svg(&history, &[], &["fib"]);
        assert!(empty.ends_with("</svg>\n"));
        let one = svg(&history, &[commit("a")], &["fib"]);
        assert!(!one.contains("NaN") && !one.contains("inf"), "{one}");
    }

    #[test]
    fn labels_of_ticks_are_short() {
        let labels = [0.02, 0.5, 1.0, 200.0].map(tick_label);
        assert_eq!(labels, ["0.02", "0.5", "1", "200"]);
    }
}
