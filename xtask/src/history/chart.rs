//! The history as a chart: commits from left to right, and per benchmark a panel with time, allocation
//! and peak memory on one logarithmic axis, each as a multiple of the first commit that tells it. Above
//! each panel are the first and the last figures themselves. Many panels stand in two columns.

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
/// More panels than this stand in two columns, if the commits are not too many for that.
const PANELS_IN_COLUMN: usize = 3;
const PLOT_WIDTH_MIN: f64 = 460.0;
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
fn series(history: &History, commits: &[Commit], benchmark: &str, metric: &Metric) -> Line {
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
    let layout = Layout::new(commits.len(), benchmarks.len());
    let mut svg = Svg::new(layout.width(), layout.height());
    svg.title("Figures by commit, as multiples of the first (logarithmic; lower is better)");
    for (index, metric) in METRICS.iter().enumerate() {
        let place = (LEFT + index as f64 * 110.0, 28.0);
        svg.legend(place, COLOURS[index], metric.name);
    }
    for (number, benchmark) in benchmarks.iter().enumerate() {
        let panel = Panel {
            history,
            commits,
            benchmark,
            place: layout.place(number),
        };
        panel.draw(&mut svg);
        // The commits are named below the last panel of each column.
        if number + layout.columns >= benchmarks.len() {
            panel.name_commits(&mut svg);
        }
    }
    svg.finish()
}

/// Where panels stand.
struct Layout {
    columns: usize,
    rows: usize,
    plot_width: f64,
    commits: usize,
}

impl Layout {
    fn new(commits: usize, panels: usize) -> Layout {
        let steps = commits.saturating_sub(1).max(1) as f64;
        let plot_width = (steps * COMMIT_WIDTH).clamp(PLOT_WIDTH_MIN, PLOT_WIDTH_MAX);
        let fits = 2.0 * plot_width <= PLOT_WIDTH_MAX;
        let columns = if panels > PANELS_IN_COLUMN && fits {
            2
        } else {
            1
        };
        Layout {
            columns,
            rows: panels.div_ceil(columns),
            plot_width,
            commits,
        }
    }

    fn column_width(&self) -> f64 {
        LEFT + self.plot_width + RIGHT
    }

    fn width(&self) -> f64 {
        self.columns as f64 * self.column_width()
    }

    fn height(&self) -> f64 {
        TOP + self.rows as f64 * (PANEL_HEIGHT + PANEL_GAP) + BOTTOM
    }

    fn place(&self, number: usize) -> Place {
        let (row, column) = (number / self.columns, number % self.columns);
        let left = column as f64 * self.column_width() + LEFT;
        Place {
            left,
            right: left + self.plot_width,
            top: TOP + 20.0 + row as f64 * (PANEL_HEIGHT + PANEL_GAP),
            commits: self.commits,
        }
    }
}

/// Where a panel stands.
struct Place {
    left: f64,
    right: f64,
    top: f64,
    commits: usize,
}

impl Place {
    fn bottom(&self) -> f64 {
        self.top + PANEL_HEIGHT
    }

    fn x_of(&self, commit: usize) -> f64 {
        let steps = self.commits.saturating_sub(1).max(1) as f64;
        self.left + (self.right - self.left) * commit as f64 / steps
    }
}

struct Panel<'a> {
    history: &'a History,
    commits: &'a [Commit],
    benchmark: &'a str,
    place: Place,
}

/// Per commit a figure and its ratio to the first.
type Line = Vec<Option<(f64, f64)>>;

impl Panel<'_> {
    fn draw(&self, svg: &mut Svg) {
        let Place {
            left, right, top, ..
        } = self.place;
        let lines = METRICS
            .each_ref()
            .map(|metric| series(self.history, self.commits, self.benchmark, metric));
        let ratios = || lines.iter().flatten().flatten().map(|(_, ratio)| *ratio);
        let range = (ratios().fold(1.0, f64::min), ratios().fold(1.0, f64::max));
        let axis = LogAxis::around(range, (self.place.bottom(), top));
        svg.text((left, top - 8.0), Anchor::Start, self.benchmark);
        svg.text((right, top - 8.0), Anchor::End, &first_and_last(&lines));
        for index in 0..self.commits.len() {
            let x = self.place.x_of(index);
            svg.line((x, top), (x, self.place.bottom()), "#f2f2f2");
        }
        for tick in axis.ticks() {
            let y = axis.position(tick);
            let is_one = (tick - 1.0).abs() < 1e-9;
            let colour = if is_one { "#888888" } else { "#dddddd" };
            svg.line((left, y), (right, y), colour);
            svg.text((left - 8.0, y + 4.0), Anchor::End, &tick_label(tick));
        }
        self.draw_notes(svg);
        for ((metric, line), colour) in METRICS.iter().zip(&lines).zip(COLOURS) {
            self.draw_line(svg, metric, line, colour, axis);
        }
    }

    /// A mark for each commit without figures.
    fn draw_notes(&self, svg: &mut Svg) {
        for (index, commit) in self.commits.iter().enumerate() {
            if let Some(note) = self.history.note(&commit.hash, self.benchmark) {
                let hint = format!("{}: {note}", commit.short());
                let corner = (self.place.x_of(index) - 2.0, self.place.bottom() - 4.0);
                svg.bar(corner, (4.0, 8.0), "#222222", &hint);
            }
        }
    }

    fn draw_line(&self, svg: &mut Svg, metric: &Metric, line: &Line, colour: &str, axis: LogAxis) {
        let points: Vec<(f64, f64)> = line
            .iter()
            .enumerate()
            .filter_map(|(index, point)| {
                Some((self.place.x_of(index), axis.position(point.as_ref()?.1)))
            })
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
                let point = (self.place.x_of(index), axis.position(ratio));
                svg.dot(point, colour, &hint);
            }
        }
    }

    fn name_commits(&self, svg: &mut Svg) {
        let every = self.commits.len().div_ceil(NAMES_MAX).max(1);
        for (index, commit) in self.commits.iter().enumerate().step_by(every) {
            let place = (self.place.x_of(index) + 4.0, self.place.bottom() + 16.0);
            svg.slanted_text(place, commit.short(), &commit.subject);
        }
    }
}

/// The figures at both ends, one if they are the same: `4.603 s → 2.497 s, 1.89 GB, 365.0 MB → 372.3 MB`.
fn first_and_last(lines: &[Line]) -> String {
    let texts: Vec<String> = METRICS
        .iter()
        .zip(lines)
        .filter_map(|(metric, line)| {
            let mut values = line.iter().flatten().map(|(value, _)| *value);
            let first = values.next()?;
            let last = values.next_back().unwrap_or(first);
            let (first, last) = ((metric.shown)(first), (metric.shown)(last));
            Some(if first == last {
                first
            } else {
                format!("{first} → {last}")
            })
        })
        .collect();
    texts.join(", ")
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
        assert!(
            svg.contains("4.000 s → 1.000 s, 0.1 kB → 0.0 kB, 8.0 MB<"),
            "{svg}"
        );
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert_eq!(svg.matches("<circle").count(), 8);
    }

    #[test]
    fn many_panels_stand_in_two_columns_and_all_commits_are_named_in_both() {
        let history = history(vec![measured("a", 4.0, None), measured("b", 2.0, None)]);
        let commits = ["a", "b"].map(commit);
        let svg = svg(&history, &commits, &["fib", "tak", "ack", "sort", "loop"]);
        let named = |hash: &str| svg.matches(&format!(">{hash}<title>Subject")).count();
        assert_eq!((named("a"), named("b")), (2, 2));
        let two = Layout::new(2, 5);
        assert_eq!((two.columns, two.rows), (2, 3));
        assert!(two.place(1).left > two.place(0).right);
        assert_eq!(two.place(2).left, two.place(0).left);
        // A thousand commits need the whole width.
        assert_eq!(Layout::new(1000, 5).columns, 1);
        assert_eq!(Layout::new(2, 3).columns, 1);
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
