//! Prints the operations: the CSV, a table of the groups, and the list of the slowest.
//!
//! Chez is the last engine, canny the first. The columns of the CSV are stable, since older files are
//! compared with it.

use std::fmt::Write as _;

use super::Row;

/// Chez is the last engine.
fn ratio(row: &Row) -> Option<f64> {
    row.ratio_of(0, row.times.len() - 1)
}

pub fn csv(rows: &[Row], engines: &[&str]) -> String {
    let mut out = String::from("group,name");
    for engine in engines {
        let _ = write!(out, ",{engine}_ns");
    }
    out.push_str(",ratio,cause\n");
    for row in rows {
        let _ = write!(out, "{},{}", row.group, quoted(&row.name));
        for time in &row.times {
            let _ = match time {
                Some(time) => write!(out, ",{time:.2}"),
                None => write!(out, ","),
            };
        }
        let _ = match ratio(row) {
            Some(ratio) => write!(out, ",{ratio:.2}"),
            None => write!(out, ","),
        };
        let _ = writeln!(out, ",{}", quoted(&row.cause));
    }
    out
}

fn quoted(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.contains([',', '"']) {
        format!("\"{}\"", line.replace('"', "\"\""))
    } else {
        line
    }
}

/// A row of the table by group.
#[derive(Debug, PartialEq)]
struct Figures {
    count: usize,
    mean: f64,
    above: [usize; 3],
    worst: f64,
}

const LIMITS: [f64; 3] = [2.0, 5.0, 10.0];

fn figures(ratios: &[f64]) -> Option<Figures> {
    if ratios.is_empty() {
        return None;
    }
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    Some(Figures {
        count: ratios.len(),
        mean: (logarithms / ratios.len() as f64).exp(),
        above: LIMITS.map(|limit| ratios.iter().filter(|ratio| **ratio > limit).count()),
        worst: ratios.iter().copied().fold(0.0, f64::max),
    })
}

/// A Markdown table: each group, then all of them. With a baseline, its figures stand in the last columns.
pub fn summary(rows: &[Row], engines: &[&str]) -> String {
    let mut out = String::from("canny's time as a multiple of Chez's\n\n");
    let chez = engines.len() - 1;
    let baselines = chez - 1;
    let heading = "| group | operations | geometric mean | above 2 | above 5 | above 10 | worst |";
    let _ = writeln!(
        out,
        "{heading}{}",
        " baseline: mean | above 2 | above 5 |".repeat(baselines)
    );
    let _ = writeln!(out, "|{}", "---|".repeat(7 + 3 * baselines));
    let mut groups: Vec<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    groups.dedup();
    for group in groups.iter().copied().map(Some).chain([None]) {
        let compared: Vec<&Row> = rows
            .iter()
            .filter(|row| group.is_none_or(|group| row.group == group))
            .collect();
        let ratios_of = |engine: usize| -> Vec<f64> {
            let ratios = compared.iter().filter_map(|row| row.ratio_of(engine, chez));
            ratios.collect()
        };
        let Some(it) = figures(&ratios_of(0)) else {
            continue;
        };
        let _ = write!(
            out,
            "| {} | {} | {:.2} | {} | {} | {} | {:.1} |",
            group.unwrap_or("all"),
            it.count,
            it.mean,
            it.above[0],
            it.above[1],
            it.above[2],
            it.worst
        );
        for baseline in 1..=baselines {
            let _ = match figures(&ratios_of(baseline)) {
                Some(it) => write!(out, " {:.2} | {} | {} |", it.mean, it.above[0], it.above[1]),
                None => write!(out, " – | – | – |"),
            };
        }
        out.push('\n');
    }
    let without = rows.iter().filter(|row| ratio(row).is_none()).count();
    let _ = writeln!(
        out,
        "\nnot compared, since an engine has no time: {without}"
    );
    out
}

/// The operations that take more than twice as long, the slowest first.
pub fn worst(rows: &[Row], most: usize) -> String {
    let mut slow: Vec<(f64, &Row)> = rows
        .iter()
        .filter_map(|row| Some((ratio(row)?, row)))
        .filter(|(ratio, _)| *ratio > LIMITS[0])
        .collect();
    slow.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut out = String::from("   ratio  canny ns   chez ns  group: operation; cause\n");
    for (ratio, row) in slow.iter().take(most) {
        let time = |engine: usize| row.times[engine].unwrap_or_default();
        let name: Vec<&str> = row.name.split_whitespace().collect();
        let _ = writeln!(
            out,
            "{ratio:>8.1}{:>10.1}{:>10.1}  {}: {}; {}",
            time(0),
            time(row.times.len() - 1),
            row.group,
            name.join(" "),
            row.cause
        );
    }
    if slow.len() > most {
        let _ = writeln!(out, "  … and {} more", slow.len() - most);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(group: &str, name: &str, canny: f64, chez: Option<f64>) -> Row {
        Row {
            group: group.to_owned(),
            name: name.to_owned(),
            times: vec![Some(canny), chez],
            cause: "calls, the runtime".to_owned(),
        }
    }

    #[test]
    fn groups_are_summed_up() {
        let rows = [
            row("a", "(f)", 8.0, Some(1.0)),
            row("a", "(g)", 2.0, Some(1.0)),
            row("b", "(h)", 1.0, Some(1.0)),
            row("b", "(own)", 1.0, None),
        ];
        let text = summary(&rows, &["canny", "chez"]);
        assert!(
            text.contains("| a | 2 | 4.00 | 1 | 1 | 0 | 8.0 |"),
            "{text}"
        );
        assert!(
            text.contains("| all | 3 | 2.52 | 1 | 1 | 0 | 8.0 |"),
            "{text}"
        );
        assert!(text.contains("has no time: 1"));
    }

    #[test]
    fn a_baseline_has_columns_of_its_own() {
        let mut one = row("a", "(f)", 8.0, Some(1.0));
        one.times.insert(1, Some(3.0));
        let text = summary(&[one], &["canny", "baseline", "chez"]);
        let wanted = "| a | 1 | 8.00 | 1 | 1 | 0 | 8.0 | 3.00 | 1 | 0 |";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn the_slowest_come_first() {
        let rows = [
            row("a", "(f)", 3.0, Some(1.0)),
            row("a", "(g  1\n  2)", 9.0, Some(1.0)),
            row("b", "(h)", 1.0, Some(1.0)),
        ];
        let text = worst(&rows, 10);
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].ends_with("a: (g 1 2); calls, the runtime"),
            "{text}"
        );
        assert!(worst(&rows, 1).ends_with("and 1 more\n"));
    }

    #[test]
    fn fields_of_the_csv_are_quoted() {
        let rows = [row("a", "(f \"x\")", 3.0, None)];
        assert_eq!(
            csv(&rows, &["canny", "chez"]),
            "group,name,canny_ns,chez_ns,ratio,cause\n\
             a,\"(f \"\"x\"\")\",3.00,,,\"calls, the runtime\"\n"
        );
    }
}
