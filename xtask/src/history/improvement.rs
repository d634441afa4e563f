//! Compares the figures of two commits, as lines of Markdown.
//!
//! Only benchmarks that both commits were measured with are compared. Figures come from the
//! measured CSV; nothing is run here.

use super::commits::short;
use super::table::{Figures, History};

/// One line for each benchmark that both commits were measured with, or for those named.
pub fn lines(
    history: &History,
    before: &str,
    after: &str,
    names: &[String],
) -> Result<String, String> {
    let all = history.benchmarks();
    if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(format!("`{unknown}` was not measured"));
    }
    let wanted = |name: &&str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let mut text = String::new();
    for name in all.into_iter().filter(wanted) {
        if let (Some(from), Some(to)) =
            (history.figures(before, name), history.figures(after, name))
        {
            text.push_str(&line(name, &from, &to, before, after));
        }
    }
    if !text.is_empty() {
        return Ok(text);
    }
    let lacks = |commit: &str| {
        !history
            .benchmarks()
            .iter()
            .any(|name| history.figures(commit, name).is_some())
    };
    match [before, after].into_iter().find(|commit| lacks(commit)) {
        Some(commit) => Err(format!("{} was not measured", short(commit))),
        None => Err("the two commits were measured with different benchmarks".to_owned()),
    }
}

fn line(name: &str, from: &Figures, to: &Figures, before: &str, after: &str) -> String {
    let allocation = match (from.allocated_bytes, to.allocated_bytes) {
        (Some(from), Some(to)) => change(from as f64, to as f64),
        _ => "not known".to_owned(),
    };
    format!(
        "**Improvement** of `{name}`: Allocations: {allocation} Memory: {} Time: {} (Commits `{}...{}`)\n\n",
        change(from.peak_bytes as f64, to.peak_bytes as f64),
        change(from.seconds, to.seconds),
        short(before),
        short(after)
    )
}

/// How much more, in percent: negative where there is less.
fn change(from: f64, to: f64) -> String {
    if from == to {
        return "±0.00%".to_owned();
    }
    if from == 0.0 {
        return "not known".to_owned();
    }
    format!("{:+.2}%", (to / from - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::table::Row;
    use super::*;

    fn history() -> History {
        let directory = std::env::temp_dir().join(format!(
            "xtask-improvement-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&directory).expect("the directory can be made");
        let path = directory.join("history.csv");
        let mut history = History::default();
        let mut add = |commit: &str, name: &str, seconds, allocated_bytes, peak_bytes| {
            let figures = Figures {
                seconds,
                allocated_bytes,
                peak_bytes,
            };
            let row = Row::new(commit, name, Ok(figures));
            history.append(&path, row).expect("the file can be written");
        };
        add("de9f4f8000", "loop", 2640.0, Some(1000), 6_700);
        add("5406efd000", "loop", 3.6, Some(4), 2);
        add("5406efd000", "fib", 1.0, Some(4), 2);
        add("0000000000", "fib", 1.5, None, 2);
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
        history
    }

    #[test]
    fn less_is_negative() {
        assert_eq!(
            lines(&history(), "de9f4f8000", "5406efd000", &[]),
            Ok(
                "**Improvement** of `loop`: Allocations: -99.60% Memory: -99.97% Time: -99.86% \
                 (Commits `de9f4f8...5406efd`)\n\n"
                    .to_owned()
            )
        );
    }

    #[test]
    fn what_is_not_known_is_said() {
        assert_eq!(
            lines(&history(), "5406efd000", "0000000000", &["fib".to_owned()]),
            Ok(
                "**Improvement** of `fib`: Allocations: not known Memory: ±0.00% Time: +50.00% \
                 (Commits `5406efd...0000000`)\n\n"
                    .to_owned()
            )
        );
        let missing = lines(&history(), "5406efd000", "1111111111", &[]);
        assert_eq!(missing, Err("1111111 was not measured".to_owned()));
        let other = lines(&history(), "de9f4f8000", "0000000000", &[]);
        assert!(other.is_err());
        assert!(lines(&history(), "5406efd000", "0000000000", &["tak".to_owned()]).is_err());
    }
}
