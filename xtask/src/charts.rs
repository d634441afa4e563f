//! `cargo xtask charts`: figures over time, drawn from the CSV files of `docs/measurements`.
//!
//! A chart has a panel for each thing that was measured at two commits or more. A panel has a line
//! for each program that was measured. Commits stand in the order in which the file names them
//! first. The same file gives the same chart; `cargo xtask tidy` compares them.

use std::path::Path;

use crate::arguments::Arguments;
use crate::svg::{Anchor, COLOURS, LogAxis, Svg};
use crate::workspace;

const HELP: &str = "\
usage: cargo xtask charts

Draws web.svg, lines.svg and r7rs-benchmarks.svg in docs/measurements from the CSV files there. Run it after \
new figures.
";

const DIRECTORY: &str = "docs/measurements";
const LEFT: f64 = 74.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 54.0;
const PANEL_WIDTH: f64 = 260.0;
const PANEL_HEIGHT: f64 = 150.0;
const PANEL_GAP: f64 = 64.0;
const COLUMNS: usize = 2;
const GRID: &str = "#88888855";

/// A chart: a CSV file, and which of its columns say what.
struct Chart {
    /// Of the files, without their endings.
    name: &'static str,
    title: &'static str,
    /// The column whose values are panels, if there are several panels.
    panel: Option<&'static str>,
    /// The column whose values are lines.
    line: &'static str,
    /// Only these lines; all of them if there are none here.
    lines: &'static [&'static str],
    figure: &'static str,
}

const CHARTS: [Chart; 3] = [
    Chart {
        name: "web",
        title: "Requests for each second of processor time (higher is better)",
        panel: Some("page"),
        line: "server",
        lines: &[],
        figure: "requests_per_cpu_second",
    },
    Chart {
        name: "lines",
        title: "Reading a million lines, median of processor seconds (lower is better)",
        panel: Some("file"),
        line: "program",
        lines: &[],
        figure: "median_cpu_seconds",
    },
    Chart {
        name: "r7rs-benchmarks",
        title: "Processor time as a multiple of that of Chez Scheme (lower is better)",
        panel: None,
        line: "program",
        lines: &["geometric mean"],
        figure: "cpu_ratio_to_chez",
    },
];

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    arguments.finish()?;
    let directory = workspace::root().join(DIRECTORY);
    for chart in &CHARTS {
        let path = directory.join(format!("{}.svg", chart.name));
        workspace::write(&path, drawn(&directory, chart)?)?;
    }
    Ok(())
}

/// The charts, relative to the root, that are not what their CSV files say.
pub fn stale(root: &Path) -> Result<Vec<String>, String> {
    let mut stale = Vec::new();
    for chart in &CHARTS {
        let path = format!("{DIRECTORY}/{}.svg", chart.name);
        let committed = workspace::read(&root.join(&path)).unwrap_or_default();
        if committed != drawn(&root.join(DIRECTORY), chart)? {
            stale.push(path);
        }
    }
    Ok(stale)
}

fn drawn(directory: &Path, chart: &Chart) -> Result<String, String> {
    let path = directory.join(format!("{}.csv", chart.name));
    let series = series(&workspace::read(&path)?, chart)
        .map_err(|message| format!("{}: {message}", path.display()))?;
    Ok(svg(chart, &series))
}

/// The figures of a chart.
#[derive(Debug, Default, PartialEq)]
struct Series {
    commits: Vec<String>,
    panels: Vec<Panel>,
}

#[derive(Debug, PartialEq)]
struct Panel {
    name: String,
    lines: Vec<Line>,
}

#[derive(Debug, PartialEq)]
struct Line {
    name: String,
    /// By commit; the least figure where a commit has several.
    figures: Vec<Option<f64>>,
}

/// Takes the figures out of a CSV file without quoted fields. Rows without a commit or a figure are skipped.
fn series(text: &str, chart: &Chart) -> Result<Series, String> {
    let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    let column = |name: &str| {
        let found = header.iter().position(|column| *column == name);
        found.ok_or_else(|| format!("has no column `{name}`"))
    };
    let commit_column = column("commit")?;
    let panel_column = chart.panel.map(column).transpose()?;
    let (line_column, figure_column) = (column(chart.line)?, column(chart.figure)?);
    let mut series = Series::default();
    for row in rows {
        let field = |index: usize| row.get(index).copied().unwrap_or_default();
        let (commit, line) = (field(commit_column), field(line_column));
        let wanted = chart.lines.is_empty() || chart.lines.contains(&line);
        let Some(figure) = field(figure_column).parse::<f64>().ok() else {
            continue;
        };
        if commit.is_empty() || !wanted || figure <= 0.0 {
            continue;
        }
        let index = position_or_push(
            &mut series.commits,
            |known| known == commit,
            || commit.to_owned(),
        );
        let panel = panel_column.map_or("", field);
        let new = || Panel {
            name: panel.to_owned(),
            lines: Vec::new(),
        };
        let panel = position_or_push(&mut series.panels, |known| known.name == panel, new);
        let lines = &mut series.panels[panel].lines;
        let new = || Line {
            name: line.to_owned(),
            figures: Vec::new(),
        };
        let line = position_or_push(lines, |known| known.name == line, new);
        let figures = &mut lines[line].figures;
        figures.resize(figures.len().max(index + 1), None);
        let least = figures[index].map_or(figure, |known| known.min(figure));
        figures[index] = Some(least);
    }
    let is_over_time = |panel: &Panel| {
        let mut counts = panel
            .lines
            .iter()
            .map(|line| line.figures.iter().flatten().count());
        counts.any(|count| count > 1)
    };
    series.panels.retain(is_over_time);
    Ok(series)
}

fn position_or_push<T>(
    known: &mut Vec<T>,
    is_it: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> usize {
    known.iter().position(is_it).unwrap_or_else(|| {
        known.push(new());
        known.len() - 1
    })
}

fn svg(chart: &Chart, series: &Series) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in series.panels.iter().flat_map(|panel| &panel.lines) {
        position_or_push(&mut names, |known| *known == line.name, || &line.name);
    }
    let columns = series.panels.len().clamp(1, COLUMNS);
    let rows = series.panels.len().div_ceil(columns);
    let width = columns as f64 * (LEFT + PANEL_WIDTH + RIGHT);
    let height = TOP + rows as f64 * (PANEL_HEIGHT + PANEL_GAP);
    let mut svg = Svg::in_both_themes(width.max(480.0), height);
    svg.title(chart.title);
    if names.len() > 1 {
        for (index, name) in names.iter().enumerate() {
            svg.legend((LEFT + index as f64 * 76.0, 28.0), colour(index), name);
        }
    }
    for (number, panel) in series.panels.iter().enumerate() {
        let left = (number % columns) as f64 * (LEFT + PANEL_WIDTH + RIGHT) + LEFT;
        let top = TOP + 14.0 + (number / columns) as f64 * (PANEL_HEIGHT + PANEL_GAP);
        draw_panel(&mut svg, (left, top), panel, &series.commits, &names);
    }
    svg.finish()
}

/// The last colours of the table are a light and a dark grey, which one of the themes hides.
fn colour(index: usize) -> &'static str {
    COLOURS[index % (COLOURS.len() - 2)]
}

fn draw_panel(
    svg: &mut Svg,
    (left, top): (f64, f64),
    panel: &Panel,
    commits: &[String],
    names: &[&str],
) {
    let (right, bottom) = (left + PANEL_WIDTH, top + PANEL_HEIGHT);
    let figures = || {
        panel
            .lines
            .iter()
            .flat_map(|line| line.figures.iter().flatten())
    };
    let least = figures().copied().fold(f64::MAX, f64::min);
    let greatest = figures().copied().fold(f64::MIN_POSITIVE, f64::max);
    let axis = LogAxis::around((least, greatest), (bottom, top));
    svg.text((left, top - 6.0), Anchor::Start, &panel.name);
    for tick in axis.ticks() {
        let y = axis.position(tick);
        svg.line((left, y), (right, y), GRID);
        svg.text((left - 8.0, y + 4.0), Anchor::End, &number_text(tick));
    }
    let steps = commits.len().saturating_sub(1).max(1) as f64;
    let x_of = |index: usize| left + PANEL_WIDTH * index as f64 / steps;
    for (index, commit) in commits.iter().enumerate() {
        svg.line((x_of(index), top), (x_of(index), bottom), GRID);
        svg.slanted_text((x_of(index) + 4.0, bottom + 12.0), commit, "");
    }
    for line in &panel.lines {
        let colour = colour(
            names
                .iter()
                .position(|name| *name == line.name)
                .unwrap_or(0),
        );
        let mut points = Vec::new();
        for (index, figure) in line.figures.iter().enumerate() {
            if let Some(figure) = figure {
                let point = (x_of(index), axis.position(*figure));
                let hint = format!(
                    "{}, {}: {}",
                    line.name,
                    commits[index],
                    number_text(*figure)
                );
                svg.dot(point, colour, &hint);
                points.push(point);
            }
        }
        svg.path(&points, colour);
    }
}

/// A figure without digits that say nothing.
fn number_text(number: f64) -> String {
    if number >= 10.0 {
        return format!("{number:.0}");
    }
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHART: Chart = Chart {
        name: "a",
        title: "A < B",
        panel: Some("page"),
        line: "server",
        lines: &[],
        figure: "figure",
    };

    const TEXT: &str = "commit,page,server,figure\n\
                        c1,p,x,4\nc1,p,x,2\nc2,p,x,1\nc2,p,y,8\n,p,x,9\nc2,q,x,5\nc3,p,y,\n";

    #[test]
    fn figures_are_sorted_into_panels_and_lines() {
        let series = series(TEXT, &CHART).unwrap();
        assert_eq!(series.commits, ["c1", "c2"]);
        let [panel] = &series.panels[..] else {
            panic!("{series:?}");
        };
        assert_eq!(panel.lines[0].figures, [Some(2.0), Some(1.0)]);
        assert_eq!(panel.lines[1].figures, [None, Some(8.0)]);
    }

    #[test]
    fn a_missing_column_is_an_error() {
        let message = series("commit,page\n", &CHART).unwrap_err();
        assert_eq!(message, "has no column `server`");
    }

    #[test]
    fn a_chart_has_a_dot_for_each_figure() {
        let svg = svg(&CHART, &series(TEXT, &CHART).unwrap());
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("A &lt; B") && svg.contains("prefers-color-scheme"));
    }

    #[test]
    fn numbers_have_no_useless_digits() {
        assert_eq!(number_text(50_000.0), "50000");
        assert_eq!(number_text(0.02), "0.02");
        assert_eq!(number_text(1.0), "1");
    }
}
